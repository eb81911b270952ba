"Callbacks written for pytorch-accelerated, which is not installed"
import importlib.util, inspect, pickle, re
from collections import defaultdict
from contextlib import suppress
from operator import attrgetter
import numpy as np, pytest, torch
from helpers import TRAIN, VALID, act, listener, mk_learner, mk_model, quiet, reread, same, silent
from learnloop import Callback, DataLoaders, GradientAccumulation, GradientClip, Learner, MixedPrecision, ValidateCallback, as_cb
from learnloop.loop.flow import Event
from learnloop.interop import accelerated
from learnloop.interop.accelerated import (Accelerated, CallbackHandler, InMemoryRunHistory, LogMetricsCallback, RunHistory, StopTrainingError, Trainer,
    TrainerCallback, TrainerRunConfig)
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

HOOKS = [k for k in dir(accelerated.TrainerCallback) if k.startswith('on_')]
STEP = ['on_train_step_start', 'on_train_step_end']
EVAL = ['on_eval_epoch_start', *['on_eval_step_start', 'on_eval_step_end']*2, 'on_eval_epoch_end']
EPOCH = ['on_train_epoch_start', *STEP*3, 'on_train_epoch_end', *EVAL, 'on_training_run_epoch_end']

def mk_learn(cbs=None, **kwargs):
    return silent(mk_learner(cbs, defaults=True, **kwargs))

def recording(tag='a', trace=None, do=None):
    "A callback that notes every hook; `do` has what it does in some"
    trace = [] if trace is None else trace
    def _hook(name):
        def _f(self, trainer, **kwargs):
            trace.append((name, tag, kwargs))
            if do and name in do: act(self, (lambda cb: do[name](trainer)) if callable(do[name]) and not isinstance(do[name], type) else do[name])
        return _f
    cb = type(f'Recording{tag.title()}', (TrainerCallback,), {k:_hook(k) for k in HOOKS})()
    cb.trace = trace
    return cb
def names(cb): return [o[0] for o in cb.trace]

def test_arguments():
    cb = recording()
    learn = mk_learn()
    learn.fit(1, cbs=[cb])
    steps = [k for n,_,k in cb.trace if n=='on_train_step_end']
    assert [o['step'] for o in steps]==[0, 1, 2]
    for o,(x,y) in zip(steps, TRAIN, strict=True):
        assert set(o)=={'batch', 'batch_output', 'step'} and all(map(torch.equal, o['batch'], (x, y)))
        assert set(o['batch_output'])=={'loss', 'model_outputs', 'batch_size'}
        out = o['batch_output']
        assert out['loss'].shape==() and out['model_outputs'].shape==(4, 1) and out['batch_size']==4
        torch.testing.assert_close(out['loss'], F.mse_loss(out['model_outputs'], y))
    evals = [k for n,_,k in cb.trace if n=='on_eval_step_end']
    assert all(set(o)=={'batch', 'batch_output'} for o in evals) and len(evals)==2
    assert [k for n,_,k in cb.trace if n in ('on_eval_epoch_start', 'on_eval_epoch_end')]==[dict(is_intermediate=False)]*2
    others = [k for n,_,k in cb.trace if n not in ('on_train_step_end', *EVAL)]
    assert len(others)>5 and not any(others)

# The run history

def test_without_validation():
    cb = recording()
    a = as_cb(cb)
    mk_learn(dls=DataLoaders(TRAIN)).fit(1, cbs=[a])
    assert names(cb)==['on_init_end', 'on_training_run_start', 'on_train_epoch_start', *STEP*3, 'on_train_epoch_end', 'on_training_run_epoch_end', 'on_training_run_end']
    assert list(a.trainer.run_history.get_metric_names())==['train_loss_epoch']
    with pytest.raises(ValueError, match=r"no values of 'eval_loss_epoch'; did you mean 'train_loss_epoch'\?"): a.trainer.run_history.get_latest_metric('eval_loss_epoch')

def test_run_history():
    h = RunHistory()
    assert InMemoryRunHistory is RunHistory and h.current_epoch==1 and h.get_metric_values('x')==[] and not h.get_metric_names()
    for k,v in (('b', 1), ('a', 2), ('b', 3)): h.update_metric(k, v)
    assert list(h.get_metric_names())==['b', 'a'] and h.get_metric_names()-{'b'}=={'a'}
    assert h.get_metric_values('b')==[1, 3] and h.get_latest_metric('b')==3
    for k in h.get_metric_names(): h.update_metric(f'{k}_2', 0)  # get_metric_names returns a copy
    h.set_metric_name_prefix('ema_')
    h.update_metric('a', 5)
    assert h.metric_name_prefix=='ema_' and h.get_latest_metric('ema_a')==5 and h.get_latest_metric('a')==2
    h.delete_metric('b')
    assert 'b' not in h.get_metric_names()
    h._increment_epoch()
    assert h.current_epoch==2
    h.reset()
    assert h.current_epoch==1 and not h.get_metric_names() and h.metric_name_prefix==''

def test_a_learner_without_a_recorder_is_refused():
    learn = mk_learner()
    for f in (lambda: learn.fit(1, cbs=[recording()]), lambda: learn.validate(cbs=[recording()])):
        with pytest.raises(ValueError, match='this learner has none: add a Recorder'): f()

def test_metrics_are_logged_by_the_beginning_of_their_names():
    "A 'train' elsewhere in the name doesn't count"
    log = []
    class Updates(TrainerCallback):
        def on_train_epoch_end(self, trainer, **kwargs): trainer.run_history.update_metric('train_acc', 1)
        def on_eval_epoch_end(self, trainer, **kwargs): trainer.run_history.update_metric('constrained_acc', 2)
    class Logs(LogMetricsCallback):
        def log_metrics(self, trainer, metrics): log.append(list(metrics))
    mk_learn().fit(1, cbs=[Updates, Logs])
    assert log==[['train_loss_epoch', 'train_acc'], ['eval_loss_epoch', 'constrained_acc']]
    log.clear()
    mk_learn().fit(1, cbs=[Logs, Updates])  # they run in the order passed, so these metrics come too late
    assert log==[['train_loss_epoch'], ['eval_loss_epoch']]

# The run config
def test_run_config():
    got = {}
    class Look(TrainerCallback):
        def on_init_end(self, trainer, **kwargs): got['before'] = trainer.run_config
        def on_training_run_start(self, trainer, **kwargs): got['fit'] = trainer.run_config
        def on_train_epoch_end(self, trainer, **kwargs): assert trainer.run_config is got['fit']
        def on_evaluation_run_start(self, trainer, **kwargs): got['evaluation'] = trainer.run_config
    clip = GradientClip(.5, algorithm='value')
    learn = mk_learn(cbs=[Look, GradientAccumulation(n_batches=2), clip])
    learn.fit(2)
    learn.validate()
    c = got['fit']
    assert got['before'] is None and isinstance(c, TrainerRunConfig)
    assert c.num_epochs==c['num_epochs']==2 and c.gradient_accumulation_steps==2 and c.num_update_steps_per_epoch==2 and c.gradient_clip_value==.5
    assert c.train_per_device_batch_size==4 and c.train_total_batch_size==8 and c.eval_total_batch_size==4 and c.max_num_train_steps is None
    assert c.is_world_process_zero is c.is_local_process_zero is True and c.is_distributed is False and c.num_processes==1 and c.mixed_precision=='no'
    assert c.to_dict()==vars(c) and c.to_dict() is not vars(c)
    with pytest.raises(AttributeError): c.num_epochs = 3
    with pytest.raises(KeyError, match="did you mean 'num_epochs'"): c['n_epochs']
    assert (got['evaluation'].num_epochs, got['evaluation'].gradient_accumulation_steps)==(1, 1)
    learn.fit(3)
    assert got['fit'].num_epochs==3

# Stopping
@pytest.mark.every(2)
@pytest.mark.parametrize('hook', [o for o in HOOKS if o not in ('on_init_end', 'on_stop_training_error', 'on_training_run_end') and 'evaluation_run' not in o])
def test_stop_from_every_hook(hook, capsys):
    "Including `on_training_run_start`. All callbacks that have begun get the stop and the end"
    trace = []
    a,b = recording('a', trace, {hook:StopTrainingError('enough')}),recording('b', trace)
    learn = mk_learn()
    learn.fit(3, cbs=[a, b])
    assert learn.outcome['fit']=='cancelled' and learn.epoch==0 and capsys.readouterr().out=='enough\n'
    at = [n for n,_,_ in trace].index(hook)
    rest = [(n, t) for n,t,_ in trace[at:]]
    assert rest[0]==(hook, 'a') or (hook, 'b') not in rest  # the other callback is skipped, as in the package
    end = [('on_stop_training_error', 'a'), ('on_stop_training_error', 'b'), ('on_training_run_end', 'a'), ('on_training_run_end', 'b')]
    assert rest[1:]==(end if hook!='on_training_run_start' else end[:3])  # b has not begun
    learn.fit(1)
    assert learn.outcome['fit']=='done'

def test_an_exit_stops_the_run_and_not_the_process():
    trace = []
    def _exit(trainer): raise SystemExit('Exiting due to NaN loss')
    a,b = recording('a', trace, dict(on_training_run_end=_exit)),recording('b', trace)
    learn = mk_learn()
    with pytest.warns(UserWarning, match=r'RecordingA \(pytorch-accelerated\) asked to exit \(Exiting due to NaN loss\)'): learn.fit(1, cbs=[a, b])
    assert trace[-1][:2]==('on_training_run_end', 'b')  # the other callbacks still end
    with pytest.warns(UserWarning, match='asked to exit'): learn.fit(2, cbs=[recording(do=dict(on_train_step_end=_exit))])
    assert learn.outcome['fit']=='cancelled'

# Evaluation

def test_an_evaluation_within_a_fit_is_intermediate():
    cb = as_cb(recording(do=dict(on_eval_epoch_end=lambda tr: tr.run_history.update_metric('acc', len(tr.run_history.get_metric_values('acc'))))))
    class Mode(TrainerCallback):
        def on_train_step_start(self, trainer, **kwargs): assert trainer.model.training
    learn = mk_learn()
    learn.fit(2, cbs=[cb, Mode, ValidateCallback(every_steps=2)])
    ends = [k['is_intermediate'] for n,_,k in cb.foreign.trace if n=='on_eval_epoch_end']
    assert ends==[True, False, True, True, False] and not any('evaluation_run' in n for n in names(cb.foreign))
    h = cb.trainer.run_history
    assert h.get_metric_values('acc')==[0, 1] and set(h.get_metric_names())=={'train_loss_epoch', 'eval_loss_epoch', 'acc'}

def test_a_callback_evaluates_another_model_with_other_callbacks():
    "An average of the weights is evaluated so: only its callbacks are called, and its metrics have a prefix"
    inner = recording('inner')
    class Average(TrainerCallback):
        def on_training_run_start(self, trainer, **kwargs): self.model = mk_model(seed=1)
        def on_eval_epoch_end(self, trainer, **kwargs):
            model,handler,prefix = trainer.model,trainer.callback_handler,trainer.run_history.metric_name_prefix
            trainer.model,trainer.callback_handler = self.model,CallbackHandler([inner])
            trainer.run_history.set_metric_name_prefix('ema_')
            trainer._run_eval_epoch(trainer._eval_dataloader)
            trainer.model,trainer.callback_handler = model,handler
            trainer.run_history.set_metric_name_prefix(prefix)
    outer,cb = recording('outer'),as_cb(Average())
    learn = mk_learn(metrics=[F.l1_loss])
    learn.fit(1, cbs=[cb, outer])
    assert names(outer)[2:-1]==EPOCH and names(inner)==EVAL
    want = sum(F.mse_loss(cb.foreign.model(x), y).item() for x,y in VALID)/2
    h = cb.trainer.run_history
    assert h.get_latest_metric('ema_eval_loss_epoch')==pytest.approx(want) and h.get_latest_metric('eval_loss_epoch')==learn.recorder.values[0][1]
    assert learn.model is not cb.foreign.model and same(cb.foreign.model, mk_model(seed=1)) and len(learn.recorder.values[0])==3

@pytest.mark.parametrize('what', ['model', 'callback_handler'])
@pytest.mark.parametrize('err', [None, StopTrainingError, ValueError])
def test_a_replaced_model_or_handler_is_restored(what, err):
    def _replace(trainer):
        setattr(trainer, what, mk_model() if what=='model' else CallbackHandler())
        if err: raise err('x')
    cb,learn = as_cb(recording(do=dict(on_train_epoch_end=_replace))),mk_learn()
    with learn.no_logging():
        if err is StopTrainingError: learn.fit(1, cbs=[cb])
        else:
            with pytest.raises(err or TypeError, match='x' if err else f'set trainer.{what} in on_train_epoch_end without resetting it'): learn.fit(1, cbs=[cb])
    assert cb.trainer.model is learn.model and cb.trainer._handler is None

def test_a_stop_inside_an_evaluation_by_a_callback():
    class Inner(TrainerCallback):
        def on_eval_step_end(self, trainer, **kwargs): raise StopTrainingError()
    class Average(TrainerCallback):
        def on_train_epoch_end(self, trainer, **kwargs):
            trainer.callback_handler = CallbackHandler([Inner])
            trainer._run_eval_epoch(trainer._eval_dataloader)
    cb = recording()
    learn = quiet(mk_learn(), 1, cbs=[Average, cb])
    assert learn.outcome['fit']=='cancelled' and names(cb)[-2:]==['on_stop_training_error', 'on_training_run_end']

# Custom events
class VerifyingLearner(Learner, phases=[Event('verify_train_batch', 'batch')]):
    def before_batch(self):
        if self.training: self('verify_train_batch', xb=self.x, yb=self.y)

@pytest.mark.parametrize('kw', [True,False])
def test_call_event_calls_all_that_have_the_method_in_order(kw):
    calls = []
    def _mk(tag): return type(tag, (TrainerCallback,), dict(verify=lambda self, trainer, name: calls.append((tag, type(trainer), name))))
    class Call(TrainerCallback):
        def on_train_epoch_start(self, trainer, **kwargs):
            f = trainer.callback_handler.call_event
            f('verify', trainer=trainer, name=3) if kw else f('verify', trainer, name=3)
            f('no_callback_has_this', trainer)
    mk_learn().fit(1, cbs=[_mk('B'), recording(), Call, _mk('A')])
    assert calls==[('B', Trainer, 3), ('A', Trainer, 3)]

def test_stop_in_a_custom_event():
    class Verifies(TrainerCallback):
        def verify_train_batch(self, trainer, xb, yb): raise StopTrainingError('bad batch')
    assert quiet(mk_learn(cls=VerifyingLearner), 1, cbs=[Verifies()]).outcome['fit']=='cancelled'

def test_handler():
    cbs = [recording('a'), recording('b')]
    adapters = [as_cb(o) for o in cbs]
    mk_learn(cbs=adapters)
    handler = adapters[0].trainer.callback_handler
    assert list(handler)==cbs and adapters[1].trainer is adapters[0].trainer
    handler.add_callback(recording('c'))  # outside of a fit, it remains
    assert handler.callback_list==['RecordingA', 'RecordingB', 'RecordingC'] and names(list(handler)[-1])==['on_init_end']
    own = CallbackHandler([TrainerCallback, cbs[0]])
    own.call_event('on_train_epoch_end', None)
    assert names(cbs[0])==['on_init_end', 'on_train_epoch_end'] and len(own.callbacks)==2
    with pytest.raises(TypeError, match='removed by learn.remove_cb'): handler.clear_callbacks()
    own.clear_callbacks()
    assert own.callback_list==[]

RUN = ['on_training_run_start', *EPOCH, 'on_training_run_end']
@pytest.mark.every(2)
@pytest.mark.parametrize('end', ['runs', 'stops', 'fails'])
@pytest.mark.parametrize('hook', list(dict.fromkeys(RUN))[:-1])
def test_a_callback_added_by_another_takes_part_until_the_end_of_the_fit(hook, end):
    trace,learn = [],mk_learn()
    def add(trainer):
        if not [o for o in trainer.callback_handler if type(o).__name__=='RecordingLate']: trainer.callback_handler.add_callback(recording('late', trace))
    does = {'on_training_run_epoch_end': dict(runs=lambda trainer: None, stops=StopTrainingError('enough'), fails=ValueError('bug'))[end]}
    for _ in range(2):
        trace.clear()
        with suppress(ValueError): learn.fit(1, cbs=[recording('a', trace, {hook: add}), recording('b', trace, does)])
        a,b,late = ([n for n,tag,_ in trace if tag==t] for t in ('a', 'b', 'late'))
        missed = {'on_training_run_epoch_end'} - {hook} if end!='runs' else ()  # the callback before it raised in this hook
        assert late==['on_init_end', *(o for o in a[a.index(hook):] if o not in missed)] and a==b
        assert [tag for _,tag,_ in trace][-3:]==['a', 'b', 'late'] and [n for n,*_ in trace][-3:]==['on_training_run_end']*3
        assert not [o for o in learn.cbs if isinstance(o, Accelerated)]

# Unknown names
@pytest.mark.parametrize('system,name,here', [('accelerated', 'PrintProgressCallback', 'it is Recorder here'), ('accelerated', 'ProgressBarCallback', 'it is ProgressCallback here'),
    ('accelerated', 'SaveBestModelCallback', 'it is SaveModelCallback here'), ('accelerated', 'TerminateOnNaNCallback', 'from learnloop import TerminateOnNaNCallback'),
    ('accelerated', 'MoveModulesToDeviceCallback', 'from learnloop import MoveModulesToDeviceCallback'), ('accelerated', 'RunHistry', "did you mean 'RunHistory'"),
    ('fastnlp', 'ProgressBarCallback', 'it is ProgressCallback here'), ('fastnlp', 'LRSchedCallback', 'it is TorchScheduler here'),
    ('engine', 'TensorBoardLogger', 'it is TensorBoardCallback here'), ('fastai', 'CSVLogger', 'from learnloop import CSVLogger'),
    ('keras', 'ModelCheckpoint', 'it is '), ('lightning', 'LearningRateMonitor', 'it is '), ('transformers', 'PrinterCallback', 'it is ')])
def test_the_error_for_a_builtin_callback_names_the_alternative(system, name, here):
    m = importlib.import_module(f'learnloop.interop.{system}')
    with pytest.raises(AttributeError, match=f"has no attribute '{name}'.*{re.escape(here)}"): getattr(m, name)
    with pytest.raises(ImportError, match=f"cannot import name '{name}'"): exec(f'from learnloop.interop.{system} import {name}')
    assert not hasattr(m, name)
def test_typos_in_hooks_are_refused():
    for slip,want in (('on_training_epoch_end', 'on_train_epoch_end'), ('on_train_step', 'on_train_step_end'), ('on_eval_begin_epoch', 'on_eval')):
        cls = type('Slip', (TrainerCallback,), {slip: lambda self, trainer, **kwargs: None})
        if want in HOOKS:
            with pytest.raises(TypeError, match=f'Slip.*{slip} is not a hook.*did you mean {want!r}'): mk_learn().fit(1, cbs=[cls])
        else: as_cb(cls)  # different enough to be a custom event

def test_typos_in_hooks_of_the_packages_own_base_are_errors():
    "Its `__getattr__` raises a custom error, which the package's trainer swallows"
    class CallbackMethodNotImplementedError(Exception): pass
    def _getattr(self, item): raise CallbackMethodNotImplementedError
    def _hook(self, trainer, **kwargs): pass
    base = type('TrainerCallback', (), dict(__module__='pytorch_accelerated.callbacks', __getattr__=_getattr, on_train_step_end=_hook))
    class Typo(base):
        def __init__(self): self.threshold = 1
        def on_train_step_end(self, trainer, **kwargs): return self.treshold
    with pytest.raises(AttributeError, match="Typo.* reads an attribute that it does not have: see the last line") as e: mk_learn().fit(1, cbs=[Typo()])
    assert type(e.value.__cause__).__name__=='CallbackMethodNotImplementedError'
    cb = as_cb(base())
    assert cb.name=='accelerated_trainer' and not cb.hears('on_train_step_end') and cb.state_dict()=={}
    learn = mk_learn(cbs=[cb])
    learn.fit(1)

def test_data_sets_are_those_of_the_loaders():
    ds = [TensorDataset(torch.randn(4, 1), torch.randn(4, 1)) for _ in range(2)]
    trainer = Accelerated.Trainer(Learner(DataLoaders(*(DataLoader(o, 2) for o in ds)), nn.Linear(1, 1), F.mse_loss))
    assert trainer.train_dataset is ds[0] and trainer.eval_dataset is ds[1]
    trainer.learn.dls = DataLoaders([(torch.ones(2, 1), torch.ones(2, 1))])
    with pytest.raises(AttributeError, match="no attribute 'train_dataset': the loader, a list, has no dataset"): attrgetter('train_dataset')(trainer)

def test_attributes_of_the_accelerator():
    acc = Accelerated.Trainer(mk_learn(cbs=[MixedPrecision('bf16')]))._accelerator
    assert (acc.mixed_precision, acc.is_last_process, acc.use_distributed, acc.local_process_index)==('bf16', True, False, 0)
    assert Accelerated.Trainer(mk_learn())._accelerator.mixed_precision=='no'

def test_point_30_modules_of_the_learner_are_the_trainers():
    "As its own `MoveModulesToDeviceCallback` looks for them"
    moved,learn = [],mk_learn()
    class Teacher(nn.Linear):
        def to(self, device):
            moved.append(device)
            return self
    learn.teacher,learn._own,teacher = (t := Teacher(1, 1)),Teacher(1, 1),t
    def move(tr):
        for k,o in inspect.getmembers(tr, lambda o: isinstance(o, nn.Module)):
            if k!='model': o.to(tr.device)
        assert tr.teacher is teacher and 'teacher' in dir(tr)
        tr.teacher = Teacher(2, 2)
    learn.fit(1, cbs=[recording(do=dict(on_training_run_start=move))])
    assert moved==[learn.device] and learn.teacher is not teacher, 'and what is set is set there'

def test_methods_of_a_trainer():
    def _look(tr):
        learn = tr.learn
        assert tr.model is learn.model is tr.get_model() is tr._accelerator.unwrap_model(tr.model)
        assert tr.optimizer is learn.opt and tr.loss_func is learn.loss_func
        assert tr.device==learn.device==tr._accelerator.device and tr.scheduler is None and len(tr._train_dataloader)==3 and len(tr._eval_dataloader)==2
        a = tr._accelerator
        assert (a.is_main_process, a.is_local_main_process, a.num_processes, a.process_index, a.wait_for_everyone())==(True, True, 1, 0, None)
        with pytest.raises(AttributeError, match="no attribute 'clip_grad_norm_'"): a.__getattr__('clip_grad_norm_')
    mk_learn().fit(1, cbs=[recording(do=dict(on_training_run_start=_look, on_train_step_start=_look, on_eval_epoch_end=_look))])

def test_wrappers_are_taken_off():
    wrap = type('DistributedDataParallel', (nn.Module,), {})
    model,outer = mk_model(),wrap()
    outer.module = model
    tr = Trainer(mk_learn(model=model))
    assert tr._accelerator.unwrap_model(outer) is model
    compiled = nn.Module()
    compiled._orig_mod = outer
    assert tr._accelerator.unwrap_model(compiled) is compiled and tr._accelerator.unwrap_model(compiled, keep_torch_compile=False) is model

# Several processes
def test_gather_alone():
    tr = Trainer(mk_learn())
    t = torch.tensor([1, -1, 2])
    assert tr.gather(t) is t and torch.equal(tr.gather(t, padding_value=-1), t)  # none is lost that looks like padding
    assert tr.gather({'a':[t, 3]})=={'a':[t, 3]}

# Checkpoints
class KeepsBest(TrainerCallback):
    "Saves the best, and loads it at the end, as the package's callback does"
    def __init__(self, save_path): self.save_path,self.best_metric = save_path,None
    def on_training_run_start(self, trainer, **kwargs): self.best_metric = None
    def on_training_run_epoch_end(self, trainer, **kwargs):
        loss = trainer.run_history.get_latest_metric('eval_loss_epoch')
        if self.best_metric is None or loss<self.best_metric:
            self.best_metric = loss
            trainer.save_checkpoint(self.save_path, dict(loss=loss))
    def on_training_run_end(self, trainer, **kwargs): self.loaded = trainer.load_checkpoint(self.save_path)

def test_the_best_is_saved_and_loaded(tmp_path):
    cb,learn = KeepsBest(tmp_path/'new'/'best.pt'),mk_learn(lr=.9, opt_func=torch.optim.Adam)
    best = []
    class Weights(Callback):
        order = 60
        def after_epoch(self): best.append((self.recorder.values[-1][1], {k:v.clone() for k,v in self.model.state_dict().items()}))
    learn.fit(6, cbs=[cb, Weights])
    i = min(range(6), key=lambda i: best[i][0])
    assert i<5 and all(torch.equal(v, learn.model.state_dict()[k]) for k,v in best[i][1].items())
    assert cb.loaded['loss']==best[i][0] and set(cb.loaded)=={'model_state_dict', 'optimizer_state_dict', 'loss'}
    assert learn.opt.state_dict()['state'][0]['step']==(i+1)*3 and [o.name for o in (tmp_path/'new').iterdir()]==['best.pt']

def test_a_file_of_another_run_is_not_loaded(tmp_path):
    mk_learn().fit(1, cbs=[KeepsBest(tmp_path/'best.pt')])
    learn = mk_learn()
    with pytest.warns(UserWarning, match='nothing was saved to .*best.pt in this run'), learn.no_logging():
        learn.fit(1, cbs=[KeepsBest(tmp_path/'best.pt'), recording(do=dict(on_train_epoch_start=StopTrainingError()))])
    assert same(learn.model, mk_model())

def test_a_write_that_fails_leaves_the_file_as_it_was(tmp_path):
    tr = Trainer(mk_learn())
    tr.learn.create_opt()
    tr.save_checkpoint(tmp_path/'a.pt')
    before = (tmp_path/'a.pt').read_bytes()
    with pytest.raises((AttributeError,pickle.PicklingError), match='lambda'): tr.save_checkpoint(tmp_path/'a.pt', dict(x=lambda: None))
    assert (tmp_path/'a.pt').read_bytes()==before and [o.name for o in tmp_path.iterdir()]==['a.pt']

def test_parts_of_a_checkpoint(tmp_path):
    tr = Trainer(mk_learn())
    tr.learn.create_opt()
    tr.save_checkpoint(tmp_path/'a.pt', save_optimizer=False)
    assert set(tr.load_checkpoint(tmp_path/'a.pt'))=={'model_state_dict'}
    torch.save(dict(model_state_dict=tr.model.state_dict(), scheduler_state_dict={}), tmp_path/'b.pt')
    with pytest.raises(ValueError, match='has the state of a scheduler'): tr.load_checkpoint(tmp_path/'b.pt')
    tr.load_checkpoint(tmp_path/'b.pt', load_scheduler=False)

@pytest.mark.parametrize('name', [*accelerated.Accelerated.unfit])
def test_callbacks_that_change_the_loop_are_refused(name):
    cls = type(name, (TrainerCallback,), dict(__module__='pytorch_accelerated.callbacks'))
    for o in (cls, type('Mine', (cls,), {})):
        with pytest.raises(TypeError, match=re.escape(accelerated.Accelerated.unfit[name])): as_cb(o)

# State
class Counts(TrainerCallback):
    def __init__(self, every=1): self.every,self.n,self.rows,self.ema,self.f,self.np = every,0,defaultdict(list),None,len,None
    def on_training_run_start(self, trainer, **kwargs): self.ema = nn.Linear(1, 1)
    def on_train_step_end(self, trainer, batch_output, **kwargs):
        self.n += 1
        self.rows['loss'].append(batch_output['loss'])
        self.np = np.float32(self.n)

def test_state_round_trip():
    learn,cb = mk_learn(),as_cb(Counts())
    learn.fit(1, cbs=[cb])
    sd = reread(cb.state_dict())
    assert set(sd['Counts'])=={'attrs', 'modules', 'history'} and set(sd['Counts']['attrs'])=={'n', 'rows', 'np'}
    new = as_cb(Counts(every=7))
    new.load_state_dict(sd)
    assert (new.foreign.n, new.foreign.np, new.foreign.every, len(new.foreign.rows['loss']), new.foreign.rows['new'])==(3, 3., 7, 3, [])
    del new.foreign.rows['new']
    assert str(new.state_dict())==str(sd)
    learn.add_cb(new)
    assert new.trainer.run_history.get_metric_values('eval_loss_epoch')==[learn.recorder.values[0][1]] and new.trainer.run_history.current_epoch==2
    learn.fit(1)
    assert same(new.foreign.ema, cb.foreign.ema) and new.foreign.n==6

# In the learner

@pytest.mark.parametrize('at', ['after_epoch', 'before_batch'])
def test_a_resumed_run_has_its_history_and_its_best(tmp_path, at):
    pytest.importorskip('learnloop.checkpoint.checkpoint')
    class Metric(TrainerCallback):
        def __init__(self): self.n = 0
        def on_train_step_end(self, trainer, **kwargs): self.n += 1
        def on_eval_epoch_end(self, trainer, **kwargs): trainer.run_history.update_metric('n', self.n)
    def _run(tag, resume=None, err=None):
        def _fail(cb, e):
            if cb.learn.epoch==2: act(cb, err)
        stop = listener('stop', [at], _fail, order=70)
        cbs = [as_cb(Metric()), as_cb(KeepsBest(tmp_path/f'{tag}.pt'))]
        learn = mk_learn(opt_func=torch.optim.Adam)
        return quiet(learn, 4, cbs=[*cbs, stop], resume=resume).model,cbs[0].trainer.run_history,cbs[1].foreign.best_metric
    model,history,best = _run('a')
    with pytest.raises(KeyboardInterrupt): _run('b', tmp_path/'run', KeyboardInterrupt())
    again = _run('b', tmp_path/'run')
    assert same(model, again[0]) and best==again[2]
    assert history._metrics==again[1]._metrics and history.current_epoch==again[1].current_epoch==5
