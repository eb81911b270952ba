"Keras callbacks do the same in `learn.fit` as in Keras: its own, and those of Optuna, MLflow, Comet, CodeCarbon and, with TensorFlow, W&B, DVCLive and Ray"
import os
os.environ['KERAS_BACKEND'] = 'torch'
os.environ.setdefault('TF_CPP_MIN_LOG_LEVEL', '3')
import csv, http.server, json, threading
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import parse_qs
import numpy as np, pytest, real_keras as rk
from real_keras import VALID, keras, keras_fit, kc, mk_learner, mk_model, our_fit, same, torch_learner
from wild import comet_messages, compare_scripts, emissions, live_rows, mlflow_metrics, same_emissions, tried, wandb_records, wandb_rows

pytestmark = pytest.mark.filterwarnings('ignore')
needs_tensorflow = pytest.mark.skipif(find_spec('tensorflow') is None, reason='it imports TensorFlow')

def both(mk, n_epoch=3, **kwargs):
    "Fit with `mk(name)` in Keras and in learnloop; check that the weights are the same; return both callbacks, Keras' first"
    cbs = mk('theirs'),mk('ours')
    m,learn = keras_fit(n_epoch, [cbs[0]], **kwargs),our_fit(n_epoch, cbs[1], **kwargs)
    assert same(m, learn.model)
    return cbs

def alike(a, b):
    "Check that two dicts of numbers are the same, up to Keras' means in float32"
    assert [*a]==[*b] and [*a.values()]==pytest.approx([*b.values()], rel=1e-5)

# Keras' own

def test_callbacks_that_steer(capsys):
    with tried('keras', 'keras', 'EarlyStopping'): rk.test_early_stopping(rk.BEST, .5, True)
    with tried('keras', 'keras', 'ReduceLROnPlateau'): rk.test_reduce_lr_on_plateau({})
    with tried('keras', 'keras', 'LearningRateScheduler'): both(lambda o: kc.LearningRateScheduler(lambda epoch, lr: lr/2))
    with tried('keras', 'keras', 'TerminateOnNaN'): rk.test_terminate_on_nan(capsys)

def test_csv_logger(tmp_path):
    with tried('keras', 'keras', 'CSVLogger'):
        both(lambda o: kc.CSVLogger(tmp_path/o))
        a,b = (list(csv.DictReader(open(tmp_path/o))) for o in ('ours', 'theirs'))
        for x,y in zip(a, b, strict=True): alike({k:float(v) for k,v in x.items()}, {k:float(v) for k,v in y.items()})

def test_history():
    with tried('keras', 'keras', 'History'):
        theirs,ours = both(lambda o: kc.History())
        assert ours.epoch==theirs.epoch==[0, 1, 2] and [*ours.history]==[*theirs.history] and len(ours.history)==4
        for k in theirs.history: assert ours.history[k]==pytest.approx(theirs.history[k], rel=1e-5)
        assert ours.model.history is ours  # the History that was passed; without one, the recorder makes it
        our_fit(3, last := kc.Callback())
        found = last.model.history
        assert type(found) is kc.History and found.history==ours.history and found.epoch==ours.epoch

def test_lambda_callback():
    with tried('keras', 'keras', 'LambdaCallback'):
        seen = dict(ours=[], theirs=[])
        both(lambda o: kc.CallbackList([kc.LambdaCallback(on_epoch_end=lambda epoch, logs: seen[o].append((epoch, [*logs])))]) if o=='ours'
            else kc.LambdaCallback(on_epoch_end=lambda epoch, logs: seen[o].append((epoch, [*logs]))))
        assert seen['ours']==seen['theirs'] and len(seen['ours'])==3

def test_progress_bar(capsys):
    with tried('keras', 'keras', 'ProgbarLogger'):
        import re
        keras_fit(2, [kc.ProgbarLogger()])
        theirs = capsys.readouterr().out
        mk_learner().fit(2, cbs=kc.ProgbarLogger())
        ours = capsys.readouterr().out
        def steps(s): return re.findall(r'Epoch \d/\d|\d/3(?=\x1b| )', s)
        assert {'Epoch 1/2', 'Epoch 2/2'}<={*steps(ours)} and ('3/3' in ours) and (not theirs or steps(ours)==steps(theirs))

@pytest.fixture
def server():
    "A server: yield the list of what was posted to it, and its address"
    posted = []
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            posted.append(parse_qs(self.rfile.read(int(self.headers['Content-Length'])).decode()))
            self.send_response(200)
            self.end_headers()
        def log_message(self, *args): pass
    s = http.server.HTTPServer(('127.0.0.1', 0), Handler)
    t = threading.Thread(target=s.serve_forever, daemon=True)
    t.start()
    yield posted,f'http://127.0.0.1:{s.server_port}'
    s.shutdown()
    s.server_close()
    t.join(10)

def test_remote_monitor(server):
    with tried('keras', 'keras', 'RemoteMonitor'):
        posted,root = server
        both(lambda o: kc.RemoteMonitor(root))
        rows = [json.loads(o['data'][0]) for o in posted]
        assert len(rows)==6 and rows[3]['epoch']==0
        for x,y in zip(rows[3:], rows[:3], strict=True): alike(dict(sorted(x.items())), dict(sorted(y.items())))

def read_weights(file):
    m = mk_model()
    m.load_weights(file)
    return m.get_weights()

@pytest.mark.parametrize('kwargs', [dict(monitor='val_loss', save_best_only=True), dict(save_weights_only=True), dict(save_freq=2)], ids=['best', 'weights', 'batches'])
def test_model_checkpoint(tmp_path, kwargs):
    with tried('keras', 'keras', 'ModelCheckpoint'):
        file = '{epoch}.weights.h5' if 'save_weights_only' in kwargs else '{epoch}.keras'
        both(lambda o: kc.ModelCheckpoint(tmp_path/o/file, **kwargs), lr=.5)
        names = [sorted(p.name for p in (tmp_path/o).iterdir()) for o in ('ours', 'theirs')]
        assert names[0]==names[1] and names[0]
        for k in names[0]:
            for x,y in zip(*(read_weights(tmp_path/o/k) for o in ('ours', 'theirs')), strict=True): np.testing.assert_array_equal(x, y)

def test_a_checkpoint_of_a_torch_model_is_refused(tmp_path):
    with pytest.raises(TypeError, match=r'ModelCheckpoint \(Keras\) can.t be used in learnloop: the model is a Linear, .* use SaveModelCallback'):
        torch_learner().fit(1, cbs=kc.ModelCheckpoint(tmp_path/'x.keras'))

def orbax(): return type('Saves', (kc.OrbaxCheckpoint,), dict(__init__=lambda self: None))()  # the original needs orbax
@pytest.mark.parametrize('name,mk,why', [('BackupAndRestore', lambda: kc.BackupAndRestore('x'), 'use SaveModelCallback'), ('TensorBoard', lambda: kc.TensorBoard('x'), 'use TensorBoardCallback'),
    ('SwapEMAWeights', kc.SwapEMAWeights, 'use EMA'), ('OrbaxCheckpoint', orbax, 'use SaveModelCallback')])
def test_what_is_refused(name, mk, why):
    with tried('keras', 'keras', name) as t: t.refuses(lambda: our_fit(1, mk()), why)

def test_no_callback_of_keras_is_left_out():
    rows = Path(__file__).read_text()
    for k,o in vars(kc).items():
        if isinstance(o, type) and k not in ('Callback', 'CallbackList'): assert f"'{k}'" in rows, k

# Searches

def search(mk, f):
    import optuna
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    def objective(trial):
        lr,last = trial.suggest_categorical('lr', [.1, .01, 1e-4, 1e-5, 1e-6]),[]
        f(4, [mk(trial), kc.LambdaCallback(on_train_end=lambda logs: last.append(logs['val_loss']))], lr=lr)
        return last[0]
    study = optuna.create_study(sampler=optuna.samplers.GridSampler(dict(lr=[.1, .01, 1e-4, 1e-5, 1e-6]), seed=0), pruner=optuna.pruners.MedianPruner(2, 1))
    study.optimize(objective)
    return study.trials

@pytest.mark.parametrize('name', ['KerasPruningCallback', pytest.param('TFKerasPruningCallback', marks=needs_tensorflow)])
def test_optuna(name):
    with tried('keras', 'optuna-integration', name):
        import optuna_integration
        def mk(trial): return getattr(optuna_integration, name)(trial, 'val_loss')
        a,b = (search(mk, f) for f in (our_fit, keras_fit))
        for x,y in zip(a, b, strict=True):
            assert (x.params, x.state)==(y.params, y.state)
            alike(x.intermediate_values, y.intermediate_values)
        assert {'PRUNED', 'COMPLETE'}=={o.state.name for o in a}

# Trackers

@pytest.mark.parametrize('kwargs', [{}, dict(log_every_epoch=False, log_every_n_steps=2)], ids=['epochs', 'steps'])
def test_mlflow(tmp_path, kwargs):
    with tried('keras', 'mlflow', 'MlflowCallback'):
        import mlflow
        from mlflow.keras.callback import MlflowCallback
        mlflow.set_tracking_uri(uri := f'sqlite:///{tmp_path}/runs.db')
        mlflow.set_experiment(experiment_id=mlflow.create_experiment('e', artifact_location=str(tmp_path/'files')))
        found = {}
        for o,f in (('theirs', keras_fit), ('ours', our_fit)):
            with mlflow.start_run() as run: f(3, [MlflowCallback(**kwargs)])
            mlflow.flush_async_logging()
            vals,run = mlflow_metrics(uri, run.info.run_id)
            found[o] = {f'{k} {step} {i}':v for k,vs in vals.items() for i,(step,v) in enumerate(vs)},run.data.params
            text = Path(mlflow.MlflowClient().download_artifacts(run.info.run_id, 'model_summary.txt')).read_text()
            assert 'dense' in text and 'Trainable params: 3' in text.replace('\x1b[1m', '').replace('\x1b[0m', '')
        mlflow.set_tracking_uri(None)
        (a,x),(b,y) = found['ours'],found['theirs']
        alike(a, b)
        assert len(a)>8 and {*y}<={*x} and all(x[k]==v for k,v in y.items() if k.split('_', 1)[1] not in ('name', 'momentum', 'ema_momentum'))

def test_comet(tmp_path, monkeypatch):
    with tried('keras', 'comet-ml', 'CometKerasCallback'):
        import comet_ml
        monkeypatch.setenv('COMET_DISABLE_AUTO_LOGGING', '1')
        found = []
        for o,f in (('ours', our_fit), ('theirs', keras_fit)):
            exp = comet_ml.OfflineExperiment(project_name='p', offline_directory=str(tmp_path/o), auto_metric_logging=True, auto_param_logging=True,
                auto_histogram_weight_logging=True, log_env_details=False, log_code=False, log_git_metadata=False, auto_output_logging=False)
            exp.disabled_monkey_patching = True
            f(3, [exp.get_callback('keras')])
            exp.end()
            messages,metrics = comet_messages(tmp_path/o)
            params = [m['payload']['param'] for m in messages if m['type']=='parameter_msg']
            metrics = [m for m in metrics if 'duration' not in m['metricName']]
            others = {m['payload']['key']:m['payload']['value'] for m in messages if m['type']=='log_other'}
            found.append(({f"{m['metricName']} {m.get('step')} {i}":float(m['metricValue']) for i,m in enumerate(metrics)}, {m['paramName']:m['paramValue'] for m in params}, others))
        (a,x,p),(b,y,q) = found
        alike(a, b)
        assert len(a)>9 and x['SGD_learning_rate']==y['SGD_learning_rate'] and {*y}<={*x} and p['trainable_params']==q['trainable_params']==3 and sum(m['type']=='file_upload' for m in messages)==8

def test_codecarbon(tmp_path):
    with tried('keras', 'codecarbon', 'OfflineEmissionsTracker, in a callback'):
        for o in ('ours', 'theirs'): (tmp_path/o).mkdir()
        both(lambda o: emissions(kc.Callback, 'on_train_begin', 'on_train_end')(tmp_path/o), 2)
        same_emissions(tmp_path/'ours', tmp_path/'theirs')

# Callbacks that import TensorFlow

@needs_tensorflow
def test_dvclive(tmp_path):
    with tried('keras', 'dvclive', 'DVCLiveCallback'):
        from dvclive.keras import DVCLiveCallback
        both(lambda o: DVCLiveCallback(dir=str(tmp_path/o), save_dvc_exp=False, dvcyaml=None))
        a,b = (live_rows(tmp_path/o) for o in ('ours', 'theirs'))
        assert a.keys()==b.keys() and len(a)==4
        for k in a:
            for x,y in zip(a[k], b[k], strict=True): alike(x, y)

@pytest.fixture
def wandb_run(tmp_path, monkeypatch):
    "Return a function that fits in an offline run of W&B, once in Keras and once in learnloop, and returns both folders"
    monkeypatch.setenv('WANDB_MODE', 'offline')
    monkeypatch.setenv('WANDB_SILENT', 'true')
    def _run(mk):
        import wandb
        for o,f in (('theirs', keras_fit), ('ours', our_fit)):
            (tmp_path/o).mkdir()
            run = wandb.init(project='p', dir=tmp_path/o)
            f(3, [mk(tmp_path/o), kc.LearningRateScheduler(lambda epoch, lr: lr/2)])
            run.finish()
        wandb.teardown()  # W&B writes the end of a file only now
        return [tmp_path/o for o in ('ours', 'theirs')]
    return _run

@needs_tensorflow
@pytest.mark.parametrize('freq', ['epoch', 'batch', 2])
def test_wandb_metrics_logger(wandb_run, freq):
    with tried('keras', 'wandb', 'WandbMetricsLogger'):
        from wandb.integration.keras import WandbMetricsLogger
        a,b = ([{k:v for k,v in r.items() if isinstance(v, (int,float))} for _,r in wandb_rows(o)] for o in wandb_run(lambda folder: WandbMetricsLogger(freq)))
        for x,y in zip(a, b, strict=True): alike(x, y)
        rates = [v for r in a for k,v in r.items() if 'learning_rate' in k]
        assert len({*rates})==3 and len(a)==dict(epoch=3).get(freq, 3+3*(3 if freq=='batch' else 2))

def artifacts(folder):
    found = [r.request.log_artifact.artifact if r.HasField('request') and r.request.HasField('log_artifact') else r.artifact for r in wandb_records(folder)]
    return [(o.type, [*o.aliases], [e.path for e in o.manifest.contents]) for o in found if o.type]

@needs_tensorflow
def test_wandb_model_checkpoint(wandb_run):
    with tried('keras', 'wandb', 'WandbModelCheckpoint'):
        from wandb.integration.keras import WandbModelCheckpoint
        ours,theirs = wandb_run(lambda folder: WandbModelCheckpoint(folder/'{epoch}.weights.h5', save_weights_only=True))
        files = sorted(o.name for o in ours.glob('*.h5'))
        assert files==sorted(o.name for o in theirs.glob('*.h5'))==['1.weights.h5', '2.weights.h5', '3.weights.h5']
        for k in files:
            for x,y in zip(*(read_weights(o/k) for o in (ours, theirs)), strict=True): np.testing.assert_array_equal(x, y)
        assert artifacts(ours)==artifacts(theirs) and len(artifacts(ours))==3
        with pytest.raises(TypeError, match='use SaveModelCallback'):
            import wandb
            with wandb.init(project='p', dir=ours): torch_learner().fit(1, cbs=WandbModelCheckpoint(ours/'x.keras'))

@needs_tensorflow
def test_wandb_eval_callback(wandb_run):
    with tried('keras', 'wandb', 'WandbEvalCallback'):
        from wandb.integration.keras import WandbEvalCallback
        tables = []
        class Evaluates(WandbEvalCallback):
            def __init__(self): super().__init__(['idx', 'y'], ['epoch', 'idx', 'pred'])
            def add_ground_truth(self, logs=None):
                for i,y in enumerate(VALID[1].tolist()): self.data_table.add_data(i, *y)
            def add_model_predictions(self, epoch, logs=None):
                for i,p in enumerate(self.model.predict(VALID[0].numpy(), verbose=0).tolist()): self.pred_table.add_data(epoch, i, *p)
                tables.append(self.pred_table.data)
            def log_data_table(self, *args, **kwargs): pass  # the original waits for the server
        ours,theirs = wandb_run(lambda folder: Evaluates())
        assert len(tables)==6 and np.allclose(tables[3:], tables[:3], rtol=1e-5)
        assert artifacts(ours)==artifacts(theirs) and len(artifacts(ours))==3

@needs_tensorflow
def test_ray(tmp_path, monkeypatch):
    with tried('keras', 'ray', 'ReportCheckpointCallback'):
        import ray.train
        from ray.train.tensorflow.keras import ReportCheckpointCallback
        reported = []
        def report(metrics, checkpoint=None):
            file = Path(checkpoint.path)/'model.keras'
            reported.append((dict(metrics), [] if not checkpoint else keras.saving.load_model(file).get_weights()))
        monkeypatch.setattr(ray.train, 'report', report)  # the original needs a cluster
        both(lambda o: ReportCheckpointCallback())
        assert len(reported)==6
        for (x,v),(y,w) in zip(reported[3:], reported[:3], strict=True):
            alike(x, y)
            for a,b in zip(v, w, strict=True): np.testing.assert_array_equal(a, b)

# Scripts

@pytest.mark.parametrize('topic', ['schedule', 'losses'])
def test_scripts(topic): compare_scripts('keras', topic, tol=1e-6)  # Keras takes means in float32
