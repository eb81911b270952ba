"Callbacks that other packages have for fastai, and fastai's loggers, write the same in fastai and in learnloop"
import csv, json, sys
from functools import partial
from pathlib import Path
sys.path.insert(0, str(Path(__file__).parents[2]))
import pytest, torch
from fastai.callback.core import Callback
from fastai.callback.progress import ProgressCallback
from fastai.callback.tracker import SaveModelCallback
from fastai.data.core import DataLoaders as TheirDataLoaders
from fastai.data.load import DataLoader as TheirDataLoader
from fastai.learner import Learner as TheirLearner
from fastai.optimizer import OptimWrapper
from helpers import LR, TRAIN, VALID, mk_model, same, silent
from learnloop import DataLoaders, Learner
from torch.nn import functional as F
from wild import comet_messages, compare_scripts, emissions, same_emissions, scalars, tried

pytestmark = pytest.mark.filterwarnings('ignore')
torch.set_num_threads(1)

def items(batches): return [(x, y) for xs,ys in batches for x,y in zip(xs, ys, strict=True)]
SGD = partial(torch.optim.SGD, momentum=.9)

def ours(path, valid=VALID, **kwargs):
    loaders = [torch.utils.data.DataLoader(items(o), 4) for o in (TRAIN, valid)]
    return silent(Learner(DataLoaders(*loaders), mk_model(), F.mse_loss, SGD, lr=LR, path=path, metrics=F.l1_loss, **kwargs))
def theirs(path, valid=VALID, **kwargs):
    dls = TheirDataLoaders(*(TheirDataLoader(items(o), bs=4) for o in (TRAIN, valid)), device='cpu')
    learn = TheirLearner(dls, mk_model(), F.mse_loss, partial(OptimWrapper, opt=SGD), lr=LR, path=path, metrics=F.l1_loss, **kwargs)
    return silent(learn.remove_cb(ProgressCallback))

def both(tmp_path, mk_cbs, n_epoch=3, fit='fit', **kwargs):
    "Fit both learners, each with `mk_cbs(folder)` as its callbacks and a separate folder"
    res = []
    for f in (ours, theirs):
        path = tmp_path/f.__name__
        path.mkdir()
        learn = f(path, **kwargs)
        getattr(learn, fit)(n_epoch, cbs=mk_cbs(path))
        res += [learn, path]
    assert same(res[0].model, res[2].model)
    return res

# ---------------------------------------------------------------- optuna
def prunes(mk, path, callback, monitor):
    "Return how each trial of a study ended, and what it reported at each step"
    import optuna
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    def objective(trial):
        learn = mk(path)
        learn.fit(5, lr=trial.suggest_float('lr', 1e-4, .3, log=True), cbs=callback(trial, monitor))
        return learn.recorder.values[-1][1]
    pruner = optuna.pruners.MedianPruner(n_startup_trials=2, n_warmup_steps=1)
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(3), pruner=pruner)
    study.optimize(objective, n_trials=10)
    return [o.state.name for o in study.trials],[o.intermediate_values for o in study.trials]

@pytest.mark.parametrize('name', ['FastAIV2PruningCallback', 'FastAIPruningCallback'])
@pytest.mark.parametrize('monitor', ['valid_loss', 'l1_loss'])
def test_optuna(tmp_path, name, monitor):
    import optuna_integration
    with tried('fastai', 'optuna-integration', name):
        (states,a),(others,b) = (prunes(f, tmp_path, getattr(optuna_integration, name), monitor) for f in (ours, theirs))
        assert states==others and {*states}=={'COMPLETE','PRUNED'}
        for p,q in zip(a, b, strict=True): assert p==pytest.approx(q, rel=1e-6)  # the steps are the same, but fastai takes the mean of floats, learnloop of tensors

# ---------------------------------------------------------------- DVC
def live_files(folder):
    "Return what DVCLive wrote, without times"
    rows = {o.name if o.parent.name=='metrics' else f'{o.parent.name}/{o.name}': [*csv.DictReader(o.open(), delimiter='\t')] for o in folder.rglob('*.tsv')}
    metrics = {k:[(int(r['step']), float(r[Path(k).stem])) for r in rs] for k,rs in rows.items()}
    return metrics,json.loads((folder/'metrics.json').read_text()),(folder/'params.yaml').read_text()

def compare_live(a, b):
    (m,s,p),(n,t,q) = (live_files(o/'dvc') for o in (a, b))
    assert {*m}=={*n}=={'train/loss.tsv','eval/loss.tsv','l1_loss.tsv'} and p==q and 'batch_size: 4' in p and 'batch_per_epoch: 3' in p
    for k in ('eval/loss.tsv','l1_loss.tsv'): assert m[k]==[(i, pytest.approx(v, rel=1e-6)) for i,v in n[k]]
    assert [i for i,_ in m['train/loss.tsv']]==[i for i,_ in n['train/loss.tsv']] and s['step']==t['step']
    return m

def test_dvclive(tmp_path):
    from dvclive import Live
    from dvclive.fastai import DVCLiveCallback
    with tried('fastai', 'dvclive', 'DVCLiveCallback'):
        def mk_cbs(path): return DVCLiveCallback(live=Live(str(path/'dvc'), save_dvc_exp=False, dvcyaml=None))
        learn,a,_,b = both(tmp_path, mk_cbs)
        metrics = compare_live(a, b)
        assert [v for _,v in metrics['train/loss.tsv']]==pytest.approx([o[0] for o in learn.recorder.values])  # the epoch's mean; fastai's is the smoothed loss

# ---------------------------------------------------------------- Weights & Biases
def logged(fit, path):
    "Return what `fit` logs to an offline run at each step, and the configuration of the run"
    import wandb
    rows,run = {},wandb.init(dir=str(path), mode='offline', project='x', settings=wandb.Settings(silent=True))
    def log(data, step=None, log=wandb.log):
        rows.setdefault(step, {}).update(data)
        log(data, step=step)
    try:
        with pytest.MonkeyPatch.context() as m:
            m.setattr(wandb, 'log', log)
            fit()
        assert run.step==max(o for o in rows if o is not None)+1
        return [{k:None if v is None else float(v) for k,v in o.items() if k!='train_samples_per_sec'} for o in rows.values()],dict(run.config)
    finally: run.finish()

EXTRA = {f'{k}_0' for k in 'dampening nesterov maximize foreach differentiable fused'.split()}  # fastai logs these of a torch optimizer

def test_wandb(tmp_path, monkeypatch):
    from fastai.callback import wandb as fw
    with tried('fastai', 'fastai', 'WandbCallback') as t:
        paths = [tmp_path/o for o in ('ours', 'theirs')]
        for path in paths: path.mkdir()
        with pytest.raises(TypeError, match='must have __dict__'): logged(partial(theirs(paths[1]).fit, 1, cbs=fw.WandbCallback(log_preds=False)), paths[1])
        t.refuses(lambda: ours(paths[0]).fit(1, cbs=fw.WandbCallback(log_preds=False)), "fails in fastai as well, .*__dict__.*; use learnloop's WandbCallback")
        # both log the same numbers
        monkeypatch.setattr(fw, 'init_args', lambda o, old=fw.init_args: old(o) if hasattr(o, '__dict__') else {})
        def fits(f, path): return logged(partial(f(path).fit, 3, cbs=[fw.WandbCallback(log_preds=False, log_model=True), SaveModelCallback()]), path)
        (a,config),(b,_) = map(fits, (ours, theirs), paths)  # wandb makes no configuration of fastai's learner
        assert len(a)==len(b)==10 and {'train_loss','raw_loss','lr_0','mom_0','valid_loss','l1_loss'}<={*a[2]}
        for p,q in zip(a, b, strict=True): assert p==pytest.approx({k:v for k,v in q.items() if k not in EXTRA}, rel=1e-5)  # fastai smooths the loss in float32
        got = config['Learner']['lr'],config['Learner']['wd'],config['batch size'],config['input 1 dim 2'],config['model parameters'],config['frozen']
        assert got==(LR, None, 4, 2, 3, False)

# ---------------------------------------------------------------- Comet
def messages(path):
    "Return the metrics and parameters of an offline experiment, without those of fastai's wrapper of torch optimizers"
    msgs,mets = comet_messages(path)
    params = [o['payload']['param'] for o in msgs if o['type']=='parameter_msg']
    rows = [(o['metricName'], o['step'], o['epoch'], o['metricValue']) for o in mets if f"{o['metricName'].rpartition('.')[2]}_0" not in EXTRA]
    return rows,{o['paramName']:o['paramValue'] for o in params},sum(o['type']=='file_upload' for o in msgs)

def test_comet(tmp_path):
    import comet_ml
    from comet_ml.callbacks._fastai import CometFastAICallback
    with tried('fastai', 'comet-ml', 'CometFastAICallback'):
        def fits(f):
            (path := tmp_path/f.__name__).mkdir()
            quiet = dict(log_code=False, log_git_metadata=False, log_git_patch=False, log_env_details=False, auto_output_logging=False, display_summary_level=0)
            exp = comet_ml.OfflineExperiment(project_name='x', workspace='w', offline_directory=str(path), **quiet)
            f(path).fit(2, cbs=CometFastAICallback(exp))
            exp.end()
            return messages(path)
        (a,mine,n),(b,their,m) = map(fits, (ours, theirs))
        assert n==m==2 and their.items()<=mine.items() and (mine['n_epoch'], mine['batch_size'], mine['n_inp'], mine['frozen idx'])==('2', 4, 1, 0)
        assert len(a)==len(b)>30 and [o[:3] for o in sorted(a)]==[o[:3] for o in sorted(b)]
        differ = [(p, q) for p,q in zip(sorted(a), sorted(b), strict=True) if p[3]!=pytest.approx(q[3], rel=1e-5)]
        assert [p[0] for p,_ in differ]==['epoch__train_loss']*2  # the epoch's mean; fastai's is the smoothed loss

# ---------------------------------------------------------------- TensorBoard, emissions
def curves(path):
    "Return what TensorBoard shows of the log in `path`, rounded, because the two sum in different orders"
    return {k:[(step, pytest.approx(v, rel=1e-5)) for step,v in vs] for k,vs in scalars(path/'tb').items()}

def test_tensorboard(tmp_path):
    from fastai.callback.tensorboard import TensorBoardCallback
    class Plain(TensorBoardCallback):
        "In fastai, some hyper-parameters of a torch optimizer are None, which TensorBoard can't show"
        def after_batch(self): self.writer.add_scalar('train_loss', self.smooth_loss, self.train_iter)
    with tried('fastai', 'fastai', 'TensorBoardCallback'):
        both(tmp_path, lambda path: Plain(path/'tb', trace_model=False, log_preds=False))
        a,b = (curves(tmp_path/o) for o in ('ours', 'theirs'))
        assert a==b and {*a}=={'train_loss','valid_loss','l1_loss'} and len(a['train_loss'])==3*5
        ours(tmp_path).fit(1, cbs=TensorBoardCallback(tmp_path/'tb', log_preds=False))
        from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
        assert EventAccumulator(str(tmp_path/'tb')).Reload().Tags()['graph'] and {'lr_0','mom_0','wd_0'}<={*curves(tmp_path)}

class Writes(Callback):
    "A user's callback that writes scalars with tensorboardX"
    order = 60
    def __init__(self, folder): self.folder = folder
    def before_fit(self):
        from tensorboardX import SummaryWriter
        self.writer = SummaryWriter(str(self.folder))
    def after_batch(self):
        if self.training: self.writer.add_scalar('loss', self.loss.item(), self.train_iter)
    def after_epoch(self):
        for k,v in zip(self.recorder.metric_names[2:-1], self.recorder.log[2:-1], strict=True): self.writer.add_scalar(k, v, self.epoch)
    def after_fit(self): self.writer.close()

def test_tensorboardx(tmp_path):
    with tried('fastai', 'tensorboardX', 'SummaryWriter in an own callback'):
        both(tmp_path, lambda path: Writes(path/'tb'))
        a,b = (curves(tmp_path/o) for o in ('ours', 'theirs'))
        assert a==b and {*a}=={'loss','valid_loss','l1_loss'} and len(a['loss'])==9

def test_codecarbon(tmp_path):
    with tried('fastai', 'codecarbon', 'OfflineEmissionsTracker in an own callback'):
        _,a,_,b = both(tmp_path, emissions(Callback, 'before_fit', 'after_fit'), n_epoch=2)
        same_emissions(a, b)

# ---------------------------------------------------------------- scripts
@pytest.mark.parametrize('topic', ['digits', 'schedule', 'transfer'])
def test_script(topic): compare_scripts('fastai', topic, tol=1e-7)  # the weights are the same, but fastai takes means in float32
