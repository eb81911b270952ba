"Callbacks that people add to transformers' Trainer write the same in `learn.fit` as in `Trainer`. Run by `make interop`"
import io, json, warnings
from contextlib import redirect_stdout
import pytest, real_transformers, torch
from learnloop import DataLoaders, GradientClip, Learner
from learnloop.interop.core import coverage
from learnloop.interop.transformers import Transformers
from torch.utils.data import DataLoader
from wild import comet_messages, compare_scripts, live_rows, mlflow_metrics, same_emissions, scalars, tried, wandb_records, wandb_values
with warnings.catch_warnings(action='ignore'):
    from transformers import BertConfig, BertForSequenceClassification, TrainerCallback, TrainerControl, TrainerState, TrainingArguments, integrations
    from transformers import DefaultFlowCallback, EarlyStoppingCallback, PrinterCallback, ProgressCallback
    from transformers.utils.notebook import NotebookProgressCallback

@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    "Some packages write into the current folder, whatever their settings"
    monkeypatch.chdir(tmp_path)

def data(n, seed):
    x = torch.randint(20, (n, 6), generator=torch.Generator().manual_seed(seed))
    return [dict(input_ids=o, labels=(o.sum()%2)) for o in x]
def collate(items): return {k:torch.stack([o[k] for o in items]) for k in items[0]}
TRAIN,VALID = data(28, 1),data(10, 2)

def mk_model():
    torch.manual_seed(0)
    return BertForSequenceClassification(BertConfig(vocab_size=20, hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16,
        max_position_embeddings=8, hidden_dropout_prob=0, attention_probs_dropout_prob=0))

def theirs(folder, cbs, n_epoch=2, lr=.05, **kwargs):
    args = dict(output_dir=folder, learning_rate=lr, weight_decay=.1, label_names=None) | kwargs
    return real_transformers.theirs(folder, cbs, n_epoch, train=TRAIN, valid=VALID, model=mk_model, collate=collate, **args)

def no_decay(model):
    "Return the groups of Trainer: biases and norms don't decay"
    def decays(k): return k.endswith('weight') and 'LayerNorm' not in k
    return [[p for k,p in model.named_parameters() if decays(k)], [p for k,p in model.named_parameters() if not decays(k)]]

def ours(folder, cbs, n_epoch=2, lr=.05, **kwargs):
    dls = DataLoaders(DataLoader(TRAIN, 4, collate_fn=collate), DataLoader(VALID, 4, collate_fn=collate), device='cpu')
    def opt_func(groups, **_):
        for g,wd in zip(groups, (.1, 0.), strict=True): g['weight_decay'] = wd
        return torch.optim.SGD(groups, lr=lr)
    learn = Learner(dls, mk_model(), opt_func=opt_func, splitter=no_decay, cbs=[GradientClip(1.)])
    cbs = [Transformers(o, output_dir=folder, **kwargs, name=f't{i}') for i,o in enumerate(cbs)]
    with learn.no_logging(): learn.fit(n_epoch, cbs=cbs)
    return learn

TIMES = 'runtime','samples_per_second','steps_per_second'
def untimed(d): return {k:v for k,v in d.items() if not k.endswith(TIMES) and 'total_flos' not in k}

def alike(a, b):
    "Check that `a` of learnloop and `b` of Trainer are equal, up to rounding: Trainer sums losses in another order"
    if isinstance(a, dict): assert {*a}=={*b}, {*a}^{*b}
    if isinstance(a, dict): a,b = zip(*((a[k], b[k]) for k in a), strict=True) if a else ((), ())
    if isinstance(a, (list,tuple)):
        for x,y in zip(a, b, strict=True): alike(x, y)
    else: assert a==(pytest.approx(b, rel=2e-6) if isinstance(b, float) else b)

# Arguments that differ: our fit logs NaN as NaN, restores the states of callbacks, always sets `eval_steps`, and has no token to hide
OTHERWISE = {'hub_token', 'use_cache', 'eval_steps', 'output_dir', 'logging_nan_inf_filter', 'log_on_each_node', 'disable_tqdm', 'restore_callback_states_from_checkpoint', 'local_rank'}
def same_arguments(ours, theirs):
    "Check that the arguments that learnloop reports are equal to those of Trainer"
    shared = {k for k in ours if k in theirs} - OTHERWISE
    assert len(shared)>40 and {*ours}<={*theirs}
    alike({k:ours[k] for k in sorted(shared)}, {k:theirs[k] for k in sorted(shared)})
    for k in ('learning_rate', 'num_train_epochs', 'per_device_train_batch_size', 'weight_decay', 'max_grad_norm'): assert k in shared, k

def cached(config): return config | dict(use_cache=None)  # Trainer sets it in the model's config

# Callbacks of transformers

class Sees(TrainerCallback):
    def on_train_begin(self, args, state, control, model, **kwargs): self.found = args,state,control,model.config.to_dict()
    def on_log(self, args, state, control, **kwargs): self.args,self.json = args.to_dict(),args.to_json_string()

def test_arguments_are_of_their_classes_and_say_what_theirs_say(tmp_path):
    with tried('transformers', 'transformers', 'TrainerCallback'):
        a,b = Sees(),Sees()
        ours(tmp_path, [a], run_name='first')
        theirs(tmp_path, [b], run_name='first')
        for o,cls in zip(a.found, (TrainingArguments, TrainerState, TrainerControl), strict=False): assert isinstance(o, cls)
        same_arguments(a.args, b.args)
        assert json.loads(a.json)==a.args and cached(a.found[3])==cached(b.found[3]) and coverage('transformers').n_neither==0
        alike(*({k:v for k,v in o.found[0].to_sanitized_dict().items() if k in ('train_batch_size', 'eval_batch_size', 'eval_strategy', 'run_name')} for o in (a, b)))

class Saves(TrainerCallback):
    def on_train_end(self, args, state, control, **kwargs): state.save_to_json(f'{args.output_dir}.json')

def test_state_as_json(tmp_path):
    "As it is at the end. Trainer has the states of callbacks as they were at the last save"
    with tried('transformers', 'transformers', 'TrainerState.save_to_json'):
        for o,f in (('ours', ours), ('theirs', theirs)): f(tmp_path/o, [EarlyStoppingCallback(3), Saves()])
        a,b = (json.loads((tmp_path/f'{o}.json').read_text()) for o in ('ours', 'theirs'))
        for o in (a, b): o['log_history'] = [untimed(x) for x in o['log_history']]
        states,_ = a.pop('stateful_callbacks'),b.pop('stateful_callbacks')
        assert {*states}=={'EarlyStoppingCallback', 'TrainerControl'} and {*b}-{*a}=={'num_input_tokens_seen', 'total_flos'}
        alike(a, {k:b[k] for k in a})
        assert TrainerState.load_from_json(tmp_path/'ours.json').global_step==14

class Draws(TrainerCallback):
    def __init__(self, cb): self.cb = cb
    def on_evaluate(self, args, state, control, **kwargs): self.table = self.cb.training_tracker.inner_table

@pytest.mark.parametrize('cls', [DefaultFlowCallback, EarlyStoppingCallback, PrinterCallback, ProgressCallback, NotebookProgressCallback])
def test_their_own(tmp_path, cls):
    with tried('transformers', 'transformers', cls.__name__):
        out = []
        for f in (ours, theirs):
            cbs = [cb := cls(), Sees()]
            if cls is NotebookProgressCallback: cbs.append(Draws(cb))
            with redirect_stdout(io.StringIO()) as printed: f(tmp_path, cbs, 3)
            state = cbs[1].found[1]
            out.append((state.global_step, [untimed(o) for o in state.log_history], cbs[2:] and cbs[2].table))
            if f is ours: assert ("{'loss': " in printed.getvalue())==(cls in (PrinterCallback, ProgressCallback))
        alike(*out)

def test_what_needs_their_trainer_is_refused(tmp_path):
    from transformers.trainer_jit_checkpoint import JITCheckpointCallback
    with tried('transformers', 'transformers', 'JITCheckpointCallback') as t:
        t.refuses(lambda: ours(tmp_path, [JITCheckpointCallback()]), match=r"can't be used in learnloop: learn.fit\(…, resume=folder\)")

# Trackers

def both(tmp_path, mk, **kwargs):
    "Fit with `mk(folder)` in learnloop and in Trainer, each in a separate folder; return both folders"
    for o,f in (('ours', ours), ('theirs', theirs)):
        (tmp_path/o).mkdir()
        f(tmp_path/o/'out', mk(tmp_path/o), **kwargs)
    return tmp_path/'ours',tmp_path/'theirs'

def text(folder, k):
    "Return the JSON that a TensorBoard log has under the tag `k`"
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    return json.loads(EventAccumulator(str(folder)).Reload().Tensors(f'{k}/text_summary')[0].tensor_proto.string_val[0])

def test_tensorboard(tmp_path):
    with tried('transformers', 'tensorboard', 'TensorBoardCallback'):
        logs = [next(o.glob('out/runs/*')) for o in both(tmp_path, lambda o: [integrations.TensorBoardCallback()])]
        a,b = (untimed(scalars(o)) for o in logs)
        alike(a, b)
        c,d = (cached(text(o, 'model_config')) for o in logs)
        assert len(a)==6 and c==d
        same_arguments(*(text(o, 'args') for o in logs))

def test_tensorboardx(tmp_path):
    with tried('transformers', 'tensorboardX', 'TensorBoardCallback(SummaryWriter)'):
        from tensorboardX import SummaryWriter
        def mk(folder): return [integrations.TensorBoardCallback(SummaryWriter(str(folder/'tb'), comet_config=dict(disabled=True)))]
        a,b = (untimed(scalars(o/'tb')) for o in both(tmp_path, mk))
        alike(a, b)
        assert len(a)==6

def test_wandb(tmp_path, monkeypatch):
    with tried('transformers', 'wandb', 'WandbCallback'):
        import wandb
        for k,v in dict(WANDB_MODE='offline', WANDB_SILENT='true').items(): monkeypatch.setenv(k, v)
        class Run(integrations.WandbCallback):
            def __init__(self, folder):
                monkeypatch.setenv('WANDB_DIR', str(folder))
                super().__init__()
            def on_train_end(self, *args, **kwargs):
                wandb.finish()
                wandb.teardown()  # W&B writes the end of a file only now; without it, the next run would also go to this folder
        folders = both(tmp_path, lambda o: [Run(o)], run_name='first')
        found = []
        for o in folders:
            rows,config,names = [],{},[]
            for r in wandb_records(o):
                if r.HasField('history'): rows.append({k:v for k,v in untimed(wandb_values(r.history.item)).items() if k[0]!='_'})
                if r.HasField('run'): names.append(r.run.display_name)
                if r.HasField('config'): config |= wandb_values(r.config.update)
            found.append((rows, config, {*names}))
        (a,x,m),(b,y,n) = found
        alike(a, b)
        assert len(a)==5 and 'first' in m and m==n and x['model/num_parameters']==y['model/num_parameters']
        same_arguments({k:v for k,v in x.items() if k in y and k!='_wandb'}, y)

def test_wandb_refuses_to_upload_a_model_that_is_not_saved(tmp_path, monkeypatch):
    monkeypatch.setenv('WANDB_LOG_MODEL', 'end')
    with tried('transformers', 'wandb', 'WandbCallback, WANDB_LOG_MODEL') as t: t.refuses(lambda: ours(tmp_path, [integrations.WandbCallback()]), match='unset WANDB_LOG_MODEL')

def test_mlflow(tmp_path, monkeypatch):
    with tried('transformers', 'mlflow', 'MLflowCallback'):
        import mlflow
        uri = f'sqlite:///{tmp_path}/runs.db'
        mlflow.set_tracking_uri(uri)
        client,found = mlflow.MlflowClient(uri),[]
        try:
            for o,f in (('ours', ours), ('theirs', theirs)):
                f(tmp_path/o, [integrations.MLflowCallback()], run_name=o)
                run, = client.search_runs(['0'], f"attributes.run_name = '{o}'")
                found.append((untimed(mlflow_metrics(uri, run.info.run_id)[0]), run.data.params))
                assert run.info.status=='FINISHED'
        finally: mlflow.set_tracking_uri(None)
        (a,x),(b,y) = found
        alike(a, b)
        assert len(a)==6
        same_arguments({k:v for k,v in x.items() if k!='run_name'}, y)

def test_mlflow_refuses_to_upload_a_model_that_is_not_saved(tmp_path, monkeypatch):
    monkeypatch.setenv('HF_MLFLOW_LOG_ARTIFACTS', '1')
    with tried('transformers', 'mlflow', 'MLflowCallback, HF_MLFLOW_LOG_ARTIFACTS') as t:
        t.refuses(lambda: ours(tmp_path, [integrations.MLflowCallback()]), match='unset HF_MLFLOW_LOG_ARTIFACTS')

def live_of(folder):
    from dvclive import Live
    return Live(str(folder/'live'), save_dvc_exp=False, dvcyaml=None)
def same_live(a, b):
    "Check that DVCLive wrote the same metrics and parameters to both folders"
    import yaml
    x,y = (untimed({k.removesuffix('.tsv'):v for k,v in live_rows(o).items()}) for o in (a, b))
    alike(x, y)
    assert len(x)==6
    same_arguments(*(yaml.safe_load((o/'params.yaml').read_text()) for o in (a, b)))

def test_dvclive(tmp_path):
    with tried('transformers', 'dvclive', 'transformers.integrations.DVCLiveCallback'):
        a,b = both(tmp_path, lambda o: [integrations.DVCLiveCallback(live_of(o))])
        same_live(a/'live', b/'live')

def test_dvclives_own(tmp_path):
    with tried('transformers', 'dvclive', 'dvclive.huggingface.DVCLiveCallback'):
        from dvclive.huggingface import DVCLiveCallback
        a,b = both(tmp_path, lambda o: [DVCLiveCallback(live_of(o))])
        same_live(a/'live', b/'live')

def test_dvclive_refuses_to_upload_a_model_that_is_not_saved(tmp_path):
    with tried('transformers', 'dvclive', 'DVCLiveCallback(log_model=True)') as t:
        t.refuses(lambda: ours(tmp_path, [integrations.DVCLiveCallback(live_of(tmp_path), log_model=True)]), match="log_model='all' logs all that is saved")

def test_comet(tmp_path, monkeypatch):
    with tried('transformers', 'comet-ml', 'CometCallback'):
        for k,v in dict(COMET_START_ONLINE='0', COMET_DISABLE_AUTO_LOGGING='1', COMET_PROJECT_NAME='p', COMET_MODE='create').items(): monkeypatch.setenv(k, v)
        class Ends(integrations.CometCallback):
            def __init__(self, folder):
                monkeypatch.setenv('COMET_OFFLINE_DIRECTORY', str(folder))
                super().__init__()
            def on_train_end(self, *args, **kwargs):
                super().on_train_end(*args, **kwargs)
                self._experiment.end()
        found = []
        for o in both(tmp_path, lambda o: [Ends(o)], run_name='first'):
            messages,metrics = comet_messages(o)
            vals = [(m['metricName'], m.get('step'), float(m['metricValue'])) for m in metrics]
            params = [m['payload'].get('param') or {} for m in messages if m['type']=='parameter_msg']
            params = {o['paramName']:o['paramValue'] for o in params if o}
            found.append((sorted(o for o in vals if untimed({o[0]:0})), params))
        (a,x),(b,y) = found
        alike(a, b)
        assert len(a)>8
        same_arguments(*({k.removeprefix('args|'):v for k,v in o.items() if k.startswith('args|') and k[5:] in dir(TrainingArguments)} for o in (x, y)))

def test_codecarbon(tmp_path, monkeypatch):
    with tried('transformers', 'codecarbon', 'CodeCarbonCallback'):
        import codecarbon
        from functools import partial
        offline = partial(codecarbon.OfflineEmissionsTracker, country_iso_code='FRA', log_level='critical', allow_multiple_runs=True)
        monkeypatch.setattr(codecarbon, 'EmissionsTracker', offline)  # the original asks the network where it is
        for o in ('ours', 'theirs'): (tmp_path/o/'out').mkdir(parents=True)
        for o,f in (('ours', ours), ('theirs', theirs)): f(tmp_path/o/'out', [integrations.CodeCarbonCallback()])
        same_emissions(tmp_path/'ours/out', tmp_path/'theirs/out')

def test_neptune(tmp_path):
    with tried('transformers', 'neptune', 'NeptuneCallback(log_checkpoints)') as t, warnings.catch_warnings(action='ignore'):
        t.refuses(lambda: ours(tmp_path, [integrations.NeptuneCallback(log_checkpoints='last')]), match='omit log_checkpoints')

class Namespace(dict):
    "A namespace that keeps what is sent to Neptune"
    def __missing__(self, k):
        class Series(list):
            def log(self, v, step): self.append((step, v))
        return self.setdefault(k, Series())

def test_neptune_logs(tmp_path):
    with tried('transformers', 'neptune', 'NeptuneCallback'), warnings.catch_warnings(action='ignore'):
        import neptune
        class Sends(integrations.NeptuneCallback):
            _metadata_namespace = property(lambda self: self.sent)
        found = []
        for f in (ours, theirs):
            cb = Sends(run=neptune.init_run(mode='debug'))
            cb.sent = Namespace()
            f(tmp_path, [cb])
            args,config = cb.sent.pop('trainer_parameters'),cb.sent.pop('model_parameters')
            found.append((untimed(cb.sent), args, config))
        (a,x,c),(b,y,d) = found
        alike(a, b)
        assert len(a)==6 and {*c}=={*d}
        same_arguments({k:v for k,v in x.items() if k in y}, y)

def test_kubeflow(tmp_path, monkeypatch):
    monkeypatch.setenv('KUBEFLOW_TRAINER_SERVER_URL', 'https://nowhere.invalid')
    class Sends(integrations.KubeflowCallback):
        def _update_status(self, progress_percent=None, metrics=None, **kwargs): self.sent.append((progress_percent, untimed(metrics or {})))
    with tried('transformers', 'transformers', 'KubeflowCallback'):
        a,b = Sends(),Sends()
        a.sent,b.sent = [],[]
        ours(tmp_path, [a])
        theirs(tmp_path, [b])
        alike(a.sent, b.sent)
        assert len(a.sent)>14 and a.sent[-1][0]==100

# Searches

def test_ray(tmp_path):
    from ray.train.huggingface.transformers import RayTrainReportCallback
    with tried('transformers', 'ray', 'RayTrainReportCallback') as t: t.refuses(lambda: ours(tmp_path, [RayTrainReportCallback()]), match=r'call ray.train.report\(metrics, checkpoint=…\)')

def test_ray_tune(tmp_path, monkeypatch):
    "A user's callback reports the same to Ray Tune"
    from ray import tune
    class Reports(TrainerCallback):
        def on_evaluate(self, args, state, control, metrics, **kwargs): tune.report(untimed(metrics))
    with tried('transformers', 'ray', 'tune.report, in a callback'):
        rows = []
        monkeypatch.setattr(tune, 'report', lambda metrics: rows[-1].append(metrics))  # a real trial starts processes
        for f in (ours, theirs):
            rows.append([])
            f(tmp_path, [Reports()], 3)
        alike(*rows)
        assert len(rows[0])==3

def test_optuna(tmp_path):
    "A user's callback prunes the same trials after the same epochs"
    import optuna
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    class Prunes(TrainerCallback):
        def __init__(self, trial): self.trial = trial
        def on_evaluate(self, args, state, control, metrics, **kwargs):
            self.trial.report(metrics['eval_loss'], round(state.epoch))
            if self.trial.should_prune(): raise optuna.TrialPruned
    def study(f):
        res = optuna.create_study(pruner=optuna.pruners.MedianPruner(n_startup_trials=1), sampler=optuna.samplers.RandomSampler(0))
        def objective(trial):
            f(tmp_path, [Prunes(trial), end := Sees()], 3, lr=trial.suggest_float('lr', .01, .1))
            return min(o['eval_loss'] for o in end.found[1].log_history if 'eval_loss' in o)
        res.optimize(objective, 4)
        return [(o.state.name, o.params, o.intermediate_values) for o in res.trials]
    with tried('transformers', 'optuna', 'trial.report, in a callback'):
        a,b = study(ours),study(theirs)
        alike(a, b)
        assert {'PRUNED', 'COMPLETE'}=={o for o,*_ in a}

# Scripts

# Trainer takes the mean over the batches of an evaluation in float32. In `text`, it sums the gradients of two batches in another order, and the difference grows
@pytest.mark.parametrize('topic,tol', [('digits', 4e-7), ('best', 4e-7), ('text', 1e-5)])
def test_scripts(topic, tol): compare_scripts('transformers', topic, tol)
