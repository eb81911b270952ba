"Handlers that people install for ignite, and ignite's loggers, write the same in ignite and in our fit"
import json, math, os, re
import pytest, torch
from ignite.engine import Events
from learnloop.interop.ignite import Ignite
from test_interop_ignite import TRAIN, Ours, Theirs, both, mk_model
from wild import compare_scripts, mlflow_metrics, scalars, tried

pytestmark = pytest.mark.filterwarnings('ignore::DeprecationWarning', 'ignore::ResourceWarning')

def log_all(t, log):
    "Attach what a logger of ignite usually logs: losses, metrics, the learning rate"
    from ignite.handlers import global_step_from_engine
    log.attach_output_handler(t.trainer, Events.ITERATION_COMPLETED(every=2), 'training', output_transform=lambda loss: dict(loss=loss))
    log.attach_output_handler(t.evaluator, Events.EPOCH_COMPLETED, 'validation', metric_names='all', global_step_transform=global_step_from_engine(t.trainer))
    log.attach_opt_params_handler(t.trainer, Events.ITERATION_STARTED(every=4), t.opt)
    t.trainer.add_event_handler(Events.COMPLETED, lambda: log.close())

def test_optuna():
    import optuna
    from optuna_integration import PyTorchIgnitePruningHandler
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    def search(cls):
        def objective(trial):
            def attach(t): t.evaluator.add_event_handler(Events.COMPLETED, PyTorchIgnitePruningHandler(trial, 'mae', t.trainer))
            return cls(attach, n_epoch=5, lr=trial.suggest_float('lr', 1e-4, .3, log=True)).evaluator.state.metrics['mae']
        study = optuna.create_study(sampler=optuna.samplers.RandomSampler(0), pruner=optuna.pruners.MedianPruner(2, 1))
        study.optimize(objective, 10)
        return [(o.state.name, o.value, o.params, o.intermediate_values) for o in study.trials]
    with tried('ignite', 'optuna-integration', 'PyTorchIgnitePruningHandler'):
        theirs,ours = search(Theirs),search(Ours)
        assert ours==theirs and {o[0] for o in ours}=={'COMPLETE', 'PRUNED'}

def test_tensorboardx(tmp_path):
    from tensorboardX import SummaryWriter
    def attach(t):
        w = SummaryWriter(str(tmp_path/type(t).__name__))
        t.trainer.add_event_handler(Events.ITERATION_COMPLETED, lambda e: w.add_scalar('loss', e.state.output, e.state.iteration))
        t.evaluator.add_event_handler(Events.COMPLETED, lambda e: w.add_scalar('mae', e.state.metrics['mae'], t.trainer.state.epoch))
        t.trainer.add_event_handler(Events.COMPLETED, lambda: w.close())
    with tried('ignite', 'tensorboardX', 'SummaryWriter in handlers'):
        both(attach)
        theirs,ours = (scalars(tmp_path/o) for o in ('Theirs', 'Ours'))
        assert ours==theirs and len(ours['loss'])==12 and len(ours['mae'])==3

def test_tensorboard_logger(tmp_path):
    from ignite.handlers import TensorboardLogger
    with tried('ignite', 'pytorch-ignite', 'TensorboardLogger'):
        both(lambda t: log_all(t, TensorboardLogger(str(tmp_path/type(t).__name__))))
        theirs,ours = (scalars(tmp_path/o) for o in ('Theirs', 'Ours'))
        assert ours==theirs and len(ours)==3

def test_wandb(tmp_path, monkeypatch):
    monkeypatch.setenv('WANDB_MODE', 'offline')
    monkeypatch.setenv('WANDB_SILENT', 'true')
    from ignite.handlers import WandBLogger
    def attach(t):
        rows = []
        log = WandBLogger(project='p', dir=str(tmp_path), config=dict(lr=.1), reinit='finish_previous')
        run,was = log._wandb.run,log._wandb.run.log
        monkeypatch.setattr(run, 'log', lambda data, *args, **kwargs: (rows.append((data, kwargs.get('step'))), was(data, *args, **kwargs)), raising=False)
        log_all(t, log)
        t.trainer.add_event_handler(Events.STARTED, lambda: rows.append(dict(run.config)))
        summary = {}
        t.trainer.add_event_handler(Events.EPOCH_COMPLETED, lambda: summary.update(dict(run.summary)))
        return rows,summary
    def plain(rows): return [(dict(o[0]), o[1]) if isinstance(o, tuple) else o for o in rows]
    with tried('ignite', 'wandb', 'WandBLogger'):
        theirs,ours = both(attach)
        keep = {k for k in theirs.kept[1] if k[0]!='_'}
        assert plain(ours.kept[0])==plain(theirs.kept[0]) and {k:ours.kept[1][k] for k in keep}=={k:theirs.kept[1][k] for k in keep} and keep
        assert len(list(tmp_path.glob('wandb/offline-run-*')))==2

def test_mlflow(tmp_path):
    from ignite.handlers import MLflowLogger
    uri = f'sqlite:///{tmp_path}/mlflow.db'
    def attach(t):
        log = MLflowLogger(uri)
        log_all(t, log)
        return log.active_run.info.run_id
    with tried('ignite', 'mlflow', 'MLflowLogger'):
        theirs,ours = (mlflow_metrics(uri, o.kept)[0] for o in both(attach))
        assert ours==theirs and len(ours)==3 and len(ours['training loss'])==6

def test_dvclive(tmp_path, monkeypatch):
    from dvclive import Live
    monkeypatch.chdir(tmp_path)
    def attach(t):
        live = Live(str(tmp_path/type(t).__name__), save_dvc_exp=False, dvcyaml=None)
        @t.evaluator.on(Events.COMPLETED)
        def log(engine):
            live.log_metric('loss', t.trainer.state.output)
            live.log_metric('mae', engine.state.metrics['mae'])
            live.next_step()
        t.trainer.add_event_handler(Events.COMPLETED, lambda: live.end())
    with tried('ignite', 'dvclive', 'Live in handlers'):
        both(attach)
        theirs,ours = (json.loads((tmp_path/o/'metrics.json').read_text()) for o in ('Theirs', 'Ours'))
        assert ours==theirs and ours['step']==2

def test_comet(tmp_path):
    import comet_ml
    def attach(t):
        exp = comet_ml.OfflineExperiment(project_name='p', offline_directory=str(tmp_path), log_code=False, log_graph=False, log_git_metadata=False,
            log_git_patch=False, log_env_details=False, auto_output_logging=False, display_summary_level=0)
        t.trainer.add_event_handler(Events.ITERATION_COMPLETED, lambda e: exp.log_metric('loss', e.state.output, step=e.state.iteration))
        t.evaluator.add_event_handler(Events.COMPLETED, lambda e: exp.log_metrics(e.state.metrics, step=t.trainer.state.iteration, epoch=t.trainer.state.epoch))
        seen = []
        def end():
            seen.append({k:exp.get_metric(k) for k in ('loss', 'mae')})
            exp.end()
        t.evaluator.add_event_handler(Events.COMPLETED(event_filter=lambda *_: t.trainer.state.epoch==3), end)
        return seen
    with tried('ignite', 'comet-ml', 'OfflineExperiment in handlers'):
        theirs,ours = both(attach)
        assert ours.kept==theirs.kept and len(ours.kept)==1 and len(list(tmp_path.glob('*.zip')))==2

def test_codecarbon(tmp_path):
    from codecarbon import OfflineEmissionsTracker
    def attach(t):
        tracker = OfflineEmissionsTracker(country_iso_code='DEU', output_dir=str(tmp_path), output_file=f'{type(t).__name__}.csv', log_level='critical',
            measure_power_secs=60, allow_multiple_runs=True, force_cpu_power=10)
        t.trainer.add_event_handler(Events.STARTED, lambda: tracker.start())
        t.trainer.add_event_handler(Events.COMPLETED, lambda: tracker.stop())
    with tried('ignite', 'codecarbon', 'OfflineEmissionsTracker in handlers'):
        both(attach)
        theirs,ours = ((tmp_path/f'{o}.csv').read_text().splitlines() for o in ('Theirs', 'Ours'))
        assert ours[0]==theirs[0] and len(ours)==len(theirs)==2 and float(dict(zip(ours[0].split(','), ours[1].split(','), strict=False))['duration'])>0

def test_torchmetrics():
    import torchmetrics
    def attach(t):
        m,seen = torchmetrics.MeanAbsoluteError(),[]
        t.evaluator.add_event_handler(Events.STARTED, lambda: m.reset())
        t.evaluator.add_event_handler(Events.ITERATION_COMPLETED, lambda e: m.update(*e.state.output))
        t.evaluator.add_event_handler(Events.COMPLETED, lambda e: seen.append((m.compute().item(), e.state.metrics['mae'])))
        return seen
    with tried('ignite', 'torchmetrics', 'a metric in handlers'):
        theirs,ours = both(attach)
        assert ours.kept==theirs.kept and all(math.isclose(*o, rel_tol=1e-6) for o in ours.kept)

def test_lr_finder():
    from ignite.handlers import FastaiLRFinder
    ig,model = Ignite(),mk_model()
    def find():
        with FastaiLRFinder().attach(ig.trainer, dict(model=model, optimizer=torch.optim.SGD(model.parameters(), .1))) as t: t.run(TRAIN)
    with tried('ignite', 'pytorch-ignite', 'FastaiLRFinder') as t: t.refuses(find, match='learn.lr_find')

def test_progress_bar(capsys):
    from ignite.handlers import ProgressBar
    with tried('ignite', 'pytorch-ignite', 'ProgressBar'):
        both(lambda t: ProgressBar(persist=True).attach(t.trainer))
        assert len(re.findall(r'Epoch \[\d/3\]: \[4/4\]', capsys.readouterr().err))==6

def test_averaged_weights():
    from ignite.handlers import EMAHandler
    def attach(t):
        res = EMAHandler(t.model, momentum=.1)
        res.attach(t.trainer)
        return res.ema_model
    with tried('ignite', 'pytorch-ignite', 'EMAHandler'):
        theirs,ours = both(attach)
        assert all(map(torch.equal, theirs.kept.parameters(), ours.kept.parameters()))

def test_profiler():
    from ignite.handlers import HandlersTimeProfiler
    def attach(t):
        (res := HandlersTimeProfiler()).attach(t.trainer)
        return res
    with tried('ignite', 'pytorch-ignite', 'HandlersTimeProfiler'):
        theirs,ours = both(attach)
        assert len(ours.kept.processing_times)==len(theirs.kept.processing_times)==12

def mk_handler(name, t, folder):
    "A handler with state, and the event to which it is attached"
    from ignite import handlers
    def _score(engine): return -engine.state.metrics['mae']
    if name=='Checkpoint': return handlers.Checkpoint(dict(model=t.model), str(folder), n_saved=2, score_name='mae', score_function=_score),t.evaluator,Events.COMPLETED
    if name=='EarlyStopping': return handlers.EarlyStopping(1, _score, t.trainer, threshold=.5),t.evaluator,Events.COMPLETED
    return handlers.LRScheduler(torch.optim.lr_scheduler.ExponentialLR(t.opt, .5)),t.trainer,Events.ITERATION_COMPLETED

@pytest.mark.parametrize('name', ['Checkpoint', 'EarlyStopping', 'LRScheduler'])
def test_handlers_with_a_state(name, tmp_path):
    def attach(t):
        o,engine,event = mk_handler(name, t, tmp_path/type(t).__name__)
        engine.add_event_handler(event, o)
        return o
    with tried('ignite', 'pytorch-ignite', name):
        theirs,ours = both(attach)
        assert str(theirs.kept.state_dict())==str(ours.kept.state_dict()) and theirs.trainer.state.epoch==ours.trainer.state.epoch
        assert (ours.trainer.state.epoch<3)==(name=='EarlyStopping')
        if name=='Checkpoint': assert sorted(os.listdir(tmp_path/'Theirs'))==sorted(os.listdir(tmp_path/'Ours'))!=[]

# Ignite sums the losses in another order, so means may differ by 1e-6. The last test shows that the steps are bit-identical
def test_script_digits(): compare_scripts('ignite', 'digits', tol=1e-6)
def test_script_schedule(): compare_scripts('ignite', 'schedule', tol=1e-6)
def test_script_step(): compare_scripts('ignite', 'step')
