"Lightning callbacks do the same in `learn.fit` as in Lightning: its own, its loggers, Optuna, DVCLive, Ray, W&B, MLflow, Comet, CodeCarbon"
import csv, json, os, re, subprocess, sys
from pathlib import Path
import pytest, torch
from fastcore.basics import listify
from learnloop import SanityCheck
from learnloop.interop.lightning import Lightning
import real_lightning
from real_lightning import VALID, Line, loader, mk_learner, mk_trainer, pl
from lightning.pytorch import callbacks as C, loggers as L
from torch import nn
from wild import comet_messages, compare_scripts, emissions, live_rows, mlflow_metrics, same_emissions, scalars, tried, wandb_rows

pytestmark = pytest.mark.filterwarnings('ignore')

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        with torch.random.fork_rng():
            torch.manual_seed(0)
            self.body,self.head = nn.Sequential(nn.Linear(2, 4), nn.BatchNorm1d(4), nn.ReLU()),nn.Linear(4, 1)
    def forward(self, x): return self.head(self.body(x))

class LitNet(Line):
    "`Net`, as Lightning has it: the layers are the module's"
    def __init__(self):
        pl.LightningModule.__init__(self)
        net = Net()
        self.body,self.head = net.body,net.head
    def forward(self, x): return Net.forward(self, x)

class Log:
    "A logger that keeps its rows"
    save_dir,log_dir,root_dir,name,version,group_separator = None,None,None,'','','/'
    def __init__(self): self.rows = []
    def log_metrics(self, metrics, step=None): self.rows.append((step, {k:float(v) for k,v in metrics.items()}))
    def __getattr__(self, k): return lambda *args, **kwargs: None

def ours(cbs, n_epoch=3, sanity=0, **settings):
    learn = mk_learner([SanityCheck(sanity)] if sanity else [])
    learn.model,learn.dls.train = Net(),loader(5, 0)
    learn.fit(n_epoch, cbs=[Lightning(o, **settings) for o in listify(cbs)])
    return learn

def theirs(cbs, n_epoch=3, sanity=0, **kwargs):
    bar = any(isinstance(o, C.ProgressBar) for o in listify(cbs))
    trainer = mk_trainer(listify(cbs), n_epoch, num_sanity_val_steps=sanity, enable_progress_bar=bar, **kwargs)
    trainer.fit(LitNet(), loader(5, 0), loader(*VALID))
    return trainer

def same_weights(learn, trainer):
    a,b = learn.model.state_dict(),trainer.lightning_module.state_dict()
    assert a.keys()==b.keys() and all(torch.equal(a[k], b[k]) for k in a)

def alike(a, b):
    "Check that rows are the same. Lightning sums the means of an epoch in another order, so the last bit may differ"
    assert [(i, list(r)) for i,r in a]==[(i, list(r)) for i,r in b]
    for (_,x),(_,y) in zip(a, b, strict=True): assert list(x.values())==pytest.approx(list(y.values()), rel=1e-6)

# Lightning's own

def test_early_stopping():
    with tried('lightning', 'lightning', 'EarlyStopping'):
        real_lightning.test_early_stopping()

def test_model_checkpoint(tmp_path):
    with tried('lightning', 'lightning', 'ModelCheckpoint'):
        a,b = (C.ModelCheckpoint(tmp_path/o, '{epoch}-{val_loss:.4f}', monitor='val_loss', save_top_k=2, save_last=True) for o in 'ab')
        same_weights(ours(a), theirs(b))
        assert sorted(os.listdir(tmp_path/'a'))==sorted(os.listdir(tmp_path/'b')) and len(os.listdir(tmp_path/'a'))==3
        x,y = (torch.load(o.best_model_path, weights_only=True)['state_dict'] for o in (a, b))
        assert x.keys()==y.keys() and all(torch.equal(x[k], y[k]) for k in y)

def test_learning_rate_monitor():
    with tried('lightning', 'lightning', 'LearningRateMonitor'):
        a,b,x,y = C.LearningRateMonitor(),C.LearningRateMonitor(),Log(),Log()
        ours(a, logger=x, log_every_n_steps=2)
        theirs(b, logger=y, log_every_n_steps=2)
        assert a.lrs==b.lrs and len(x.rows)>9
        alike(x.rows, y.rows)

def test_timer(monkeypatch):
    with tried('lightning', 'lightning', 'Timer'):
        now = [0.]
        monkeypatch.setattr('lightning.pytorch.callbacks.timer.time.monotonic', lambda: now[0])
        def steps(f):
            now[0] = 0.
            timer = C.Timer(dict(seconds=35))
            late = C.LambdaCallback(on_train_batch_start=lambda *_: now.__setitem__(0, now[0]+10))
            f([timer, late])
            return now[0],timer.time_elapsed('train')
        assert steps(ours)==steps(theirs) and now[0]==40

def test_lambda_callback():
    with tried('lightning', 'lightning', 'LambdaCallback'):
        a,b = [],[]
        def mk(seen): return C.LambdaCallback(on_train_epoch_end=lambda t, m: seen.append((t.current_epoch, t.global_step, t.num_training_batches)))
        ours(mk(a))
        theirs(mk(b))
        assert a==b==[(0, 5, 5), (1, 10, 5), (2, 15, 5)]

BAR = r'(Epoch \d+(?:/\d+)?|Validation(?: DataLoader 0)?|Sanity Checking(?: DataLoader 0)?)[^\n\r]*?(\d+/\d+)'
@pytest.mark.parametrize('name', ['TQDMProgressBar', 'RichProgressBar'])
def test_progress_bars(name, capfd):
    with tried('lightning', 'lightning', name):
        shown = []
        class Shown(pl.Callback):
            def on_train_batch_end(self, trainer, pl_module, *_): pl_module.log('shown', trainer.global_step, prog_bar=True)
            def on_train_epoch_end(self, trainer, pl_module): shown.append(trainer.progress_bar_callback.get_metrics(trainer, pl_module))
        found = []
        for f in (ours, theirs):
            f([getattr(C, name)(), Shown()], 2, sanity=1)
            out = capfd.readouterr()
            found.append(set(re.findall(BAR, out.out+out.err)))
        assert found[0]==found[1] and '5/5' in [n for _,n in found[0]] and shown==[dict(shown=5.), dict(shown=10.)]*2

@pytest.mark.parametrize('name', ['ModelSummary', 'RichModelSummary'])
def test_model_summary(name, capfd, monkeypatch):
    with tried('lightning', 'lightning', name):
        monkeypatch.setattr('lightning.pytorch.callbacks.model_summary.log.info', print)
        ours(getattr(C, name)(2), 1)
        a = capfd.readouterr().out
        theirs(getattr(C, name)(2), 1)
        b = capfd.readouterr().out
        assert 'body.0' in a and 'BatchNorm1d' in a and '25' in a
        assert [o for o in a.splitlines() if 'mode' not in o]==[o for o in b.splitlines() if 'mode' not in o]

@pytest.mark.parametrize('mk', [C.DeviceStatsMonitor, lambda: C.ThroughputMonitor(lambda b: len(b[0]), window_size=2)], ids=['device', 'throughput'])
def test_monitors_of_the_machine(mk):
    with tried('lightning', 'lightning', type(mk()).__name__):
        a,b = Log(),Log()
        ours(mk(), sanity=1, logger=a, log_every_n_steps=1)
        theirs(mk(), sanity=1, logger=b, log_every_n_steps=1)
        counts = 'batches', 'samples', 'epoch'  # the other values are times and the load of the machine
        def plain(rows): return [(i, {k:v if k.split('/')[-1] in counts or 'loss' in k else 0 for k,v in r.items()}) for i,r in rows]
        alike(plain(a.rows), plain(b.rows))
        assert len(a.rows)>20

def test_model_pruning(tmp_path):
    with tried('lightning', 'lightning', 'ModelPruning'):
        def mk(o): return [C.ModelPruning('l1_unstructured', amount=.3), C.ModelCheckpoint(tmp_path/o, '{epoch}')]
        a,b = ours(mk('a')),theirs(mk('b'))
        same_weights(a, b)
        assert (a.model.head.weight==0).any()
        x,y = (torch.load(tmp_path/o/'epoch=2.ckpt', weights_only=True)['state_dict'] for o in 'ab')
        assert x.keys()==y.keys() and all(torch.equal(x[k], y[k]) for k in y)

@pytest.mark.parametrize('mk', [C.WeightAveraging, lambda: C.EMAWeightAveraging(decay=.5, update_starting_at_step=2)], ids=['mean', 'ema'])
def test_weight_averaging(tmp_path, mk):
    with tried('lightning', 'lightning', type(mk()).__name__):
        rows = Log(),Log()
        same_weights(ours([mk(), C.ModelCheckpoint(tmp_path/'a', '{epoch}')], logger=rows[0], log_every_n_steps=1),
            theirs([mk(), C.ModelCheckpoint(tmp_path/'b', '{epoch}')], logger=rows[1], log_every_n_steps=1))
        x,y = (torch.load(tmp_path/o/'epoch=2.ckpt', weights_only=True) for o in 'ab')
        for part in ('state_dict', 'current_model_state', 'averaging_state'):
            assert x[part].keys()==y[part].keys() and all(torch.equal(x[part][k], y[part][k]) for k in y[part])
        alike(rows[0].rows, rows[1].rows)  # validations log the loss of the averaged weights
        learn = mk_learner([mk()])
        learn.model = Net()
        learn.load(tmp_path/'a'/'epoch=2.ckpt')
        assert all(torch.equal(learn.model.state_dict()[k], y['state_dict'][k]) for k in y['state_dict'])

class Fails(pl.Callback):
    def on_train_batch_start(self, trainer, *_):
        if trainer.global_step==7: raise ValueError('a test')

def test_on_exception_checkpoint(tmp_path):
    with tried('lightning', 'lightning', 'OnExceptionCheckpoint'):
        for o,f in (('a', ours), ('b', theirs)):
            with pytest.raises(ValueError): f([C.OnExceptionCheckpoint(tmp_path/o), Fails()])
        x,y = (torch.load(tmp_path/o/'on_exception.ckpt', weights_only=True) for o in 'ab')
        assert x['global_step']==y['global_step']==7 and all(torch.equal(x['state_dict'][k], y['state_dict'][k]) for k in y['state_dict'])
        ours(C.OnExceptionCheckpoint(tmp_path/'a'))
        assert not list((tmp_path/'a').iterdir())  # a fit that succeeds removes it

def test_spike_detection(tmp_path):
    with tried('lightning', 'lightning', 'SpikeDetection'):
        from lightning.fabric.utilities.spike import TrainingSpikeException
        found = []
        for o,f in (('a', ours), ('b', theirs)):
            (tmp_path/o).mkdir()
            with pytest.raises(TrainingSpikeException) as e: f(C.SpikeDetection(warmup=1, rtol=.01, exclude_batches_path=tmp_path/o/'bad.json'), 9)
            found.append((str(e.value), (tmp_path/o/'bad.json').read_text()))
        assert found[0]==found[1]

class Writer(C.BasePredictionWriter): pass
class Freezes(C.BaseFinetuning): pass
@pytest.mark.parametrize('mk,name,why', [(lambda: C.StochasticWeightAveraging(.1), 'StochasticWeightAveraging', 'use SWA'), (C.LearningRateFinder, 'LearningRateFinder', r'learn\.lr_find'),
    (C.BatchSizeFinder, 'BatchSizeFinder', r'learn\.find_batch_size'), (lambda: C.GradientAccumulationScheduler({0: 2}), 'GradientAccumulationScheduler', 'use GradientAccumulation'),
    (C.BackboneFinetuning, 'BackboneFinetuning', 'use GradualUnfreezing'), (Freezes, 'BaseFinetuning', 'use GradualUnfreezing'), (Writer, 'BasePredictionWriter', r'learn\.get_preds')])
def test_what_is_refused(mk, name, why):
    with tried('lightning', 'lightning', name) as t: t.refuses(lambda: mk_learner().fit(1, cbs=[mk()]), why)

def test_no_callback_of_lightning_is_left_out():
    rows = Path(__file__).read_text()
    for k in C.__all__:
        if k not in ('Callback', 'Checkpoint', 'ProgressBar'): assert f"'{k}'" in rows or f'C.{k}' in rows, k

# Loggers

class Scores(pl.Callback):
    "Log values of steps, of epochs and of both, and metrics of torchmetrics, as a module does by `self.log`"
    def __init__(self):
        from torchmetrics import MeanSquaredError
        self.mse,self.val_mse = MeanSquaredError(),MeanSquaredError()
    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        pl_module.log('twice', float(batch_idx), on_step=True, on_epoch=True, batch_size=1)
        pl_module.log('once', outputs['loss'])
        self.mse(batch[0][:, :1], batch[1])
        pl_module.log('mse', self.mse, on_step=False, on_epoch=True, metric_attribute='mse')
    def on_validation_batch_end(self, trainer, pl_module, outputs, batch, batch_idx, dataloader_idx=0):
        pl_module.log('val_n', float(len(batch[0])), batch_size=len(batch[0]))
        self.val_mse(batch[0][:, :1], batch[1])
        pl_module.log('val_mse', self.val_mse, metric_attribute='val_mse')
    def on_train_epoch_end(self, trainer, pl_module): pl_module.log('epochs', float(trainer.current_epoch))

def test_csv_logger(tmp_path):
    with tried('lightning', 'lightning', 'CSVLogger'):
        logs = [L.CSVLogger(tmp_path, o) for o in 'ab']
        ours(C.LearningRateMonitor(), logger=logs[0], log_every_n_steps=2)
        theirs(C.LearningRateMonitor(), logger=logs[1], log_every_n_steps=2)
        a,b = ([(i, {k:float(v) for k,v in sorted(r.items()) if v}) for i,r in enumerate(csv.DictReader(open(o.log_dir+'/metrics.csv')))] for o in logs)
        alike(a, b)
        assert len(a)>5

def curves(log):
    "Return (step, value) by name as rows for `alike`"
    return [(k, {f'{i} {step}':v for i,(step,v) in enumerate(vs)}) for k,vs in log.items()]

def test_tensorboard_logger(tmp_path):
    with tried('lightning', 'lightning', 'TensorBoardLogger'):
        logs = [L.TensorBoardLogger(tmp_path, o) for o in 'ab']
        ours([C.LearningRateMonitor(), Scores()], logger=logs[0], log_every_n_steps=2)
        theirs([C.LearningRateMonitor(), Scores()], logger=logs[1], log_every_n_steps=2)
        a,b = (curves(scalars(o.log_dir)) for o in logs)
        alike(a, b)
        assert len(a)>9

def test_tensorboardx(tmp_path):
    with tried('lightning', 'tensorboardX', 'SummaryWriter, in a callback'):
        from tensorboardX import SummaryWriter
        class Writes(pl.Callback):
            def __init__(self, folder): self.folder = folder
            def setup(self, trainer, pl_module, stage): self.writer = SummaryWriter(self.folder)
            def on_train_epoch_end(self, trainer, pl_module):
                for k,v in trainer.logged_metrics.items(): self.writer.add_scalar(k, v, trainer.global_step)
                for k,p in pl_module.named_parameters(): self.writer.add_histogram(k, p.detach().numpy(), trainer.global_step)
            def teardown(self, trainer, pl_module, stage): self.writer.close()
        ours(Writes(str(tmp_path/'a')))
        theirs(Writes(str(tmp_path/'b')))
        a,b = ([o for o in curves(scalars(tmp_path/x)) if o[0] in ('train_loss_step', 'val_loss')] for x in 'ab')
        alike(a, b)
        assert len(a)==2

def test_wandb_logger(tmp_path, monkeypatch):
    with tried('lightning', 'wandb', 'WandbLogger'):
        import wandb
        monkeypatch.setenv('WANDB_MODE', 'offline')
        monkeypatch.setenv('WANDB_SILENT', 'true')
        for o,f in (('a', ours), ('b', theirs)):
            (tmp_path/o).mkdir()
            log = L.WandbLogger('run', tmp_path/o, offline=True)
            class Watch(pl.Callback):
                def on_fit_start(self, trainer, pl_module): trainer.logger.watch(pl_module, log='gradients', log_freq=1)
                def on_fit_end(self, trainer, pl_module): trainer.logger.experiment.unwatch(pl_module)
            f([C.LearningRateMonitor(), Watch()], logger=log, log_every_n_steps=2)
            log.experiment.finish()
        wandb.teardown()  # W&B writes the end of a file only now
        found = [wandb_rows(tmp_path/o) for o in 'ab']
        number = [[(i, {k:v for k,v in r.items() if isinstance(v, (int,float))}) for i,r in rows] for rows in found]
        alike(*number)
        assert len(number[0])>5 and any('gradients' in k for _,r in found[0] for k in r)

def test_mlflow_logger(tmp_path):
    with tried('lightning', 'mlflow', 'MLFlowLogger'):
        uri = f'sqlite:///{tmp_path}/runs.db'
        found = []
        for o,f in (('a', ours), ('b', theirs)):
            log = L.MLFlowLogger(o, tracking_uri=uri, artifact_location=str(tmp_path/o))
            f([C.LearningRateMonitor(), Scores()], logger=log, log_every_n_steps=2)
            vals,run = mlflow_metrics(uri, log.run_id)
            found.append(curves(vals))
            assert run.info.status=='FINISHED'
        alike(*found)
        assert len(found[0])>8

def test_comet_logger(tmp_path, monkeypatch):
    with tried('lightning', 'comet-ml', 'CometLogger'):
        import comet_ml
        monkeypatch.setenv('COMET_DISABLE_AUTO_LOGGING', '1')
        found = []
        for o,f in (('a', ours), ('b', theirs)):
            log = L.CometLogger(online=False, project='p')
            log._experiment = comet_ml.OfflineExperiment(project_name='p', offline_directory=str(tmp_path/o))  # with online=False, the original writes nothing
            f(C.LearningRateMonitor(), logger=log, log_every_n_steps=2)
            log.experiment.end()
            found.append([(m['metricName'], {str(m.get('step')):float(m['metricValue'])}) for m in comet_messages(tmp_path/o)[1]])
        alike(*[sorted(o, key=str) for o in found])
        assert len(found[0])>8

def test_dvclive_logger(tmp_path):
    with tried('lightning', 'dvclive', 'DVCLiveLogger'):
        from dvclive.lightning import DVCLiveLogger
        for o,f in (('a', ours), ('b', theirs)):
            f([C.LearningRateMonitor(), C.ModelCheckpoint(tmp_path/o/'models', monitor='val_loss')], log_every_n_steps=2,
                logger=DVCLiveLogger(dir=str(tmp_path/o), save_dvc_exp=False, dvcyaml=None))
        a,b = ([(file, o) for file,rows in live_rows(tmp_path/o).items() for o in rows] for o in 'ab')
        alike(a, b)
        assert len(dict(a))>3
        a,b = (json.loads((tmp_path/o/'metrics.json').read_text()) for o in 'ab')
        assert a.keys()==b.keys() and a['step']==b['step']

def test_codecarbon(tmp_path):
    with tried('lightning', 'codecarbon', 'OfflineEmissionsTracker, in a callback'):
        for o,f in (('a', ours), ('b', theirs)):
            (tmp_path/o).mkdir()
            f(emissions(pl.Callback, 'on_fit_start', 'on_fit_end')(tmp_path/o))
        same_emissions(tmp_path/'a', tmp_path/'b')

# Searches

def test_optuna():
    with tried('lightning', 'optuna-integration', 'PyTorchLightningPruningCallback'):
        import optuna
        from optuna_integration import PyTorchLightningPruningCallback
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        rates = [.1, .01, 1e-4, 1e-5, 1e-6]
        def search(f):
            def objective(trial):
                lr = trial.suggest_categorical('lr', rates)
                class Slow(pl.Callback):
                    def on_train_start(self, trainer, pl_module): trainer.optimizers[0].param_groups[0]['lr'] = lr
                seen = []
                end = C.LambdaCallback(on_train_end=lambda t, m: seen.append(t.callback_metrics['val_loss'].item()))
                f([Slow(), PyTorchLightningPruningCallback(trial, 'val_loss'), end], 4, sanity=1)
                return seen[0]
            study = optuna.create_study(sampler=optuna.samplers.GridSampler(dict(lr=rates), seed=0), pruner=optuna.pruners.MedianPruner(2, 1))
            study.optimize(objective)
            return [(t.params['lr'], t.state.name, t.intermediate_values) for t in study.trials]
        a,b = search(ours),search(theirs)
        assert [(lr, state, list(vals)) for lr,state,vals in a]==[(lr, state, list(vals)) for lr,state,vals in b]
        for x,y in zip(a, b, strict=True): assert list(x[2].values())==pytest.approx(list(y[2].values()), rel=1e-6)
        assert {'PRUNED', 'COMPLETE'}=={state for _,state,_ in a}

RAY = """
import os, sys, warnings
warnings.simplefilter('ignore')
import ray
from ray import train, tune
from ray.train.v2.api.data_parallel_trainer import DataParallelTrainer
folder = sys.argv[1]
def trial(config):
    import wild_lightning as w
    from ray.train.lightning import RayTrainReportCallback
    from ray.tune.integration.pytorch_lightning import TuneReportCallback, TuneReportCheckpointCallback
    mk = dict(report=lambda: TuneReportCallback({'val_loss': 'val_loss'}), checkpoint=lambda: TuneReportCheckpointCallback('val_loss'), train=RayTrainReportCallback)
    getattr(w, config['who'])([mk[config['what']]()], 3, sanity=1)
def show(who, what, o):
    files = os.listdir(o.checkpoint.path) if o.checkpoint else []
    print('row', what, who, ','.join(files), *o.metrics_dataframe.val_loss)
ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, configure_logging=False, object_store_memory=80_000_000)
tuner = tune.Tuner(trial, param_space=dict(what=tune.grid_search(['report', 'checkpoint']), who=tune.grid_search(['ours', 'theirs'])),
    run_config=tune.RunConfig(storage_path=folder, name='r', verbose=0), tune_config=tune.TuneConfig(reuse_actors=True, max_concurrent_trials=1))
for o in tuner.fit():
    assert o.error is None, o.error
    show(o.config['who'], o.config['what'], o)
for who in ('ours', 'theirs'):
    o = DataParallelTrainer(trial, train_loop_config=dict(who=who, what='train'), scaling_config=train.ScalingConfig(num_workers=1),
        run_config=train.RunConfig(storage_path=folder, name=who)).fit()
    show(who, 'train', o)
ray.shutdown()
"""
@pytest.fixture(scope='module')
def ray_rows(tmp_path_factory):
    "Return, for each of Ray's callbacks, the files of the last checkpoint and the reported losses"
    tmp_path = tmp_path_factory.mktemp('ray')
    (tmp_path/'s.py').write_text(RAY)
    env = os.environ | dict(RAY_USAGE_STATS_ENABLED='0', RAY_AIR_NEW_OUTPUT='0', OMP_NUM_THREADS='1',
        PYTHONPATH=os.pathsep.join([str(Path(__file__).parent), *filter(None, sys.path)]))
    out = subprocess.run([sys.executable, tmp_path/'s.py', tmp_path], capture_output=True, text=True, timeout=400, env=env, cwd=tmp_path)
    rows = [o.split(' ')[1:] for o in out.stdout.splitlines() if o.startswith('row')]
    assert len(rows)==6, out.stdout[-2000:]+out.stderr[-3000:]
    return {(what, who):(files, [float(o) for o in vals]) for what,who,files,*vals in rows}

@pytest.mark.parametrize('what,cls,files', [('report', 'TuneReportCallback', ''), ('checkpoint', 'TuneReportCheckpointCallback', 'checkpoint'),
    ('train', 'RayTrainReportCallback', 'checkpoint.ckpt')])
def test_ray(ray_rows, what, cls, files):
    with tried('lightning', 'ray', cls):
        a,b = (ray_rows[what, o] for o in ('ours', 'theirs'))
        assert a[0]==b[0]==files and len(a[1])==3 and a[1]==pytest.approx(b[1], rel=1e-6)

# Scripts

# Lightning sums the means of an epoch in another order, so the last bits differ. The autoencoder logs losses of single batches
@pytest.mark.parametrize('topic,tol', [('digits', 1e-6), ('schedule', 1e-6), ('autoencoder', 0)])
def test_scripts(topic, tol): compare_scripts('lightning', topic, tol)
