"skorch's callbacks, and those that people add to it, do the same in `learn.fit` as in a net: files, runs and trials are equal"
import json, os
from functools import partial
from importlib.util import find_spec
import optuna, pytest, test_interop_skorch as ts, torch
from test_interop_skorch import TRAIN, both, clean, equal_weights, fit, mk_learner, mk_net
from skorch.callbacks import (BatchScoring, Callback, Checkpoint, EarlyStopping, EpochScoring, EpochTimer, Freezer, GradientNormClipping, Initializer,
    InputShapeSetter, LoadInitState, LRScheduler, MlflowLogger, NeptuneLogger, ParamMapper, PassthroughScoring, PrintLog, ProgressBar, SacredLogger,
    TensorBoard, Unfreezer, WandbLogger)
from torch import nn
from torch.optim.lr_scheduler import StepLR
from wild import emissions, same_emissions, scalars, tried

pytestmark = pytest.mark.filterwarnings('ignore')
quiet = dict(sink=lambda *_, **__: None)
IGNORED = ['dur', 'valid_acc']

OWN = dict(EpochTimer=lambda: [EpochTimer()], BatchScoring=lambda: [BatchScoring('accuracy', name='acc')],
    EpochScoring=lambda: [EpochScoring('f1_macro', lower_is_better=False)], PassthroughScoring=lambda: [PassthroughScoring('train_loss', on_train=True)],
    EarlyStopping=lambda: [EarlyStopping(patience=1, load_best=True, **quiet)], LRScheduler=lambda: [LRScheduler(StepLR, step_size=1, gamma=.5)],
    WarmRestartLR=lambda: [LRScheduler('WarmRestartLR')], GradientNormClipping=lambda: [GradientNormClipping(.1)],
    Freezer=lambda: [Freezer('0.*')], Unfreezer=lambda: [Freezer('0.*'), Unfreezer('0.*', at=3)],
    Initializer=lambda: [Initializer('3.bias', fn=partial(nn.init.constant_, val=.3), at=2)],
    ParamMapper=lambda: [ParamMapper('3.weight', fn=lambda p: p.data.clamp_(-.2, .2), at=2)])
@pytest.mark.parametrize('name', OWN)
def test_history_and_weights_of_those_that_steer_or_score(name):
    with tried('skorch', 'skorch', name): both(OWN[name], 5, lr=.4)

@pytest.mark.parametrize('name', ['Checkpoint', 'TrainEndCheckpoint'])
def test_files(name, tmp_path):
    with tried('skorch', 'skorch', name): ts.test_checkpoints(tmp_path)

def test_load_init_state(tmp_path):
    with tried('skorch', 'skorch', 'LoadInitState'):
        cp = Checkpoint(dirname=str(tmp_path), monitor=None)
        mk_net([cp], 2).fit(TRAIN, None)
        real = mk_net([LoadInitState(cp)], 2).fit(TRAIN, None)
        learn = mk_learner()
        net = fit(learn, 2, [LoadInitState(cp)])
        assert clean(net.history)==clean(real.history) and len(net.history)==4 and equal_weights(learn.model, real.module_)

def test_print_log():
    theirs,ours = [],[]
    with tried('skorch', 'skorch', 'PrintLog'):
        mk_net([PrintLog(keys_ignored=IGNORED, sink=theirs.append)], 2).fit(TRAIN, None)
        fit(mk_learner(), 2, [PrintLog(keys_ignored=IGNORED, sink=ours.append)])
        assert ours==theirs and len(ours)==4

def test_progress_bar(capsys):
    theirs,ours = ProgressBar(),ProgressBar()
    with tried('skorch', 'skorch', 'ProgressBar'):
        mk_net([theirs], 2).fit(TRAIN, None)
        fit(mk_learner(), 2, [ours])
        for k in ('n','total','postfix'): assert getattr(ours.pbar_, k)==getattr(theirs.pbar_, k)
        assert ours.pbar_.total==10

def test_input_shape_setter():
    with tried('skorch', 'skorch', 'InputShapeSetter') as t: t.refuses(lambda: mk_learner().fit(1, cbs=InputShapeSetter()), match='nn.LazyLinear')

def in_both(mk, n=3, **kwargs):
    "Fit a skorch net with `mk('theirs')`, and a learner with `mk('ours')`"
    mk_net([mk('theirs')], n, **kwargs).fit(TRAIN, None)
    fit(mk_learner(), n, [mk('ours')])

@pytest.mark.parametrize('package', ['tensorboard', 'tensorboardX'])
def test_tensorboard(package, tmp_path):
    if package=='tensorboard': from torch.utils.tensorboard import SummaryWriter
    else: from tensorboardX import SummaryWriter
    with tried('skorch', package, 'TensorBoard'):
        in_both(lambda o: TensorBoard(SummaryWriter(str(tmp_path/o)), keys_ignored=IGNORED))
        theirs,ours = (scalars(tmp_path/o) for o in ('theirs', 'ours'))
        assert ours==theirs and {*ours}=={'Loss/train_loss', 'Loss/valid_loss'}

def test_mlflow(tmp_path):
    import mlflow
    from mlflow.tracking import MlflowClient
    with tried('skorch', 'mlflow', 'MlflowLogger'):
        client,runs = MlflowClient(f'sqlite:///{tmp_path}/runs.db'),{}
        where = client.create_experiment('x', artifact_location=(tmp_path/'files').as_uri())
        mlflow.set_tracking_uri(f'sqlite:///{tmp_path}/runs.db')
        def mk(o):
            runs[o] = client.create_run(where)
            return MlflowLogger(runs[o], client, keys_ignored=IGNORED, log_on_batch_end=True)
        in_both(mk)
        def read(o):
            run = client.get_run(runs[o].info.run_id)
            hist = {k:[(m.step, m.value) for m in client.get_metric_history(run.info.run_id, k)] for k in run.data.metrics}
            return hist,run.info.status,sorted(f.path for f in client.list_artifacts(run.info.run_id))
        assert read('ours')==read('theirs') and len(read('ours')[0]['train_loss_batch'])==21 and len(read('ours')[2])==4

def test_wandb(tmp_path, monkeypatch):
    import wandb
    monkeypatch.setenv('WANDB_MODE', 'offline')
    with tried('skorch', 'wandb', 'WandbLogger'):
        runs,logged = {},dict(ours=[], theirs=[])
        def mk(o):
            runs[o] = wandb.init(project='x', dir=str(tmp_path), settings=wandb.Settings(console='off'), reinit='create_new')
            log = runs[o].log
            monkeypatch.setattr(runs[o], 'log', lambda d, *args, **kwargs: (logged[o].append(d), log(d, *args, **kwargs)))
            return WandbLogger(runs[o], keys_ignored=IGNORED)
        in_both(mk)
        weights = {o:torch.load(os.path.join(runs[o].dir, 'best_model.pth')) for o in runs}
        summaries = {o:{k:v for k,v in dict(runs[o].summary).items() if k in ('train_loss', 'valid_loss')} for o in runs}
        for o in runs.values(): o.finish()
        assert logged['ours']==logged['theirs'] and len(logged['ours'])==3 and summaries['ours']==summaries['theirs'] and len(summaries['ours'])==2
        assert all(torch.equal(a, b) for a,b in zip(weights['ours'].values(), weights['theirs'].values(), strict=True))

def test_neptune():
    import neptune
    with tried('skorch', 'neptune', 'NeptuneLogger'):
        runs = {}
        def mk(o):
            runs[o] = neptune.init_run(mode='debug', capture_stdout=False, capture_stderr=False, capture_hardware_metrics=False, git_ref=False)
            seen = runs[o].seen = []
            class Noted(NeptuneLogger):
                def _log_metric(self, name, logs, batch):
                    seen.append((name, logs[name], batch))
                    return super()._log_metric(name, logs, batch)
            return Noted(runs[o], keys_ignored=IGNORED, log_on_batch_end=True)
        in_both(mk)
        assert runs['ours'].seen==runs['theirs'].seen and len(runs['ours'].seen)>40

@pytest.mark.skipif(find_spec('sacred') is None, reason='it is not installed')
def test_sacred():
    from sacred import Experiment
    with tried('skorch', 'sacred', 'SacredLogger'):
        logged = dict(ours=[], theirs=[])
        def run(o, f):
            ex = Experiment(o, save_git_info=False)
            @ex.main
            def main():
                log = ex.log_scalar
                ex.log_scalar = lambda *args: (logged[o].append(args), log(*args))
                f(SacredLogger(ex, keys_ignored=IGNORED, log_on_batch_end=True))
            ex.run()
        run('theirs', lambda cb: mk_net([cb], 3).fit(TRAIN, None))
        run('ours', lambda cb: fit(mk_learner(), 3, [cb]))
        assert logged['ours']==logged['theirs'] and len(logged['ours'])>30

def test_optuna():
    from optuna_integration import SkorchPruningCallback
    with tried('skorch', 'optuna-integration', 'SkorchPruningCallback'):
        def study(train):
            def objective(trial):
                history = train(trial.suggest_float('lr', 1e-5, 1, log=True), SkorchPruningCallback(trial, 'valid_loss'))
                return history[-1, 'valid_loss']
            optuna.logging.disable_default_handler()
            res = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=1), pruner=optuna.pruners.MedianPruner(n_startup_trials=2))
            res.optimize(objective, n_trials=10)
            return [(t.state, t.params, t.value, t.intermediate_values) for t in res.trials]
        ours = study(lambda lr, cb: fit(mk_learner(lr), 4, [cb]).history)
        theirs = study(lambda lr, cb: mk_net([cb], 4, lr).fit(TRAIN, None).history)
        assert ours==theirs and {o[0].name for o in ours}=={'COMPLETE', 'PRUNED'}

def test_torchmetrics():
    from torchmetrics.classification import MulticlassAccuracy
    class Accuracy(Callback):
        "A user's callback with a metric of torchmetrics"
        def __init__(self): self.metric = MulticlassAccuracy(3, average='micro')
        def on_batch_end(self, net, batch, training, y_pred, **kwargs):
            if not training: self.metric.update(y_pred, batch[1])
        def on_epoch_end(self, net, **kwargs):
            net.history.record('acc', self.metric.compute().item())
            self.metric.reset()
    with tried('skorch', 'torchmetrics', 'MulticlassAccuracy'):
        _,net,*_ = both(lambda: [Accuracy()])
        assert len(net.history[:, 'acc'])==4

def test_codecarbon(tmp_path):
    with tried('skorch', 'codecarbon', 'OfflineEmissionsTracker'):
        for o in ('ours', 'theirs'): (tmp_path/o).mkdir()
        in_both(lambda o: emissions(Callback, 'on_train_begin', 'on_train_end')(tmp_path/o))
        same_emissions(tmp_path/'ours', tmp_path/'theirs')

def test_dvclive(tmp_path):
    from dvclive import Live
    class Logs(Callback):
        "dvclive has no callback for skorch"
        def __init__(self, folder): self.folder = str(folder)
        def on_train_begin(self, net, **kwargs): self.live_ = Live(self.folder, dvcyaml=None, save_dvc_exp=False, report=None)
        def on_epoch_end(self, net, **kwargs):
            for k in ('train_loss', 'valid_loss'): self.live_.log_metric(k, net.history[-1, k])
            self.live_.next_step()
        def on_train_end(self, net, **kwargs): self.live_.end()
    with tried('skorch', 'dvclive', 'Live'):
        in_both(lambda o: Logs(tmp_path/o))
        def read(o): return json.loads((tmp_path/o/'metrics.json').read_text())
        assert read('ours')==read('theirs') and 'valid_loss' in read('ours')
