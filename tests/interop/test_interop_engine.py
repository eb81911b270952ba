"Callbacks of a TrainingEngine: compared to its documented order, written as a loop; stops, errors and state"
import math
from collections.abc import Mapping
from functools import partial
import numpy as np, pytest, torch
from helpers import LR, TRAIN, VALID, covering, ending, listener, mk_learner as _mk_learner, mk_model, same
from helpers import reread
from learnloop import (
    Callback as Ours, CancelBatchException, CancelEpochException, CancelFitException,
    CancelTrainException, CancelValidException, GradientAccumulation, MixedPrecision, TorchScheduler)
from learnloop.interop import as_cb
from learnloop.interop.engine import Callback, TrainingEngine
from torch.nn import functional as F
from torch.optim.lr_scheduler import StepLR

ELEVEN = ('on_train_start', 'on_epoch_start', 'on_batch_start', 'on_train_step_end', 'on_batch_end', 'on_validation_start', 'on_validation_end',
    'on_save_checkpoint', 'on_epoch_end', 'on_exception', 'on_train_end')
HOOKS = *ELEVEN,'on_optimizer_step'

def plain(v):
    if isinstance(v, torch.Tensor): return ('tensor', tuple(v.shape), round(v.item(), 5))
    if isinstance(v, Mapping): return {k:plain(o) for k,o in v.items()}
    return round(v, 5) if type(v) is float else v

class Recording(Callback):
    "Record every call with its arguments"
    def __init__(self, hooks=HOOKS, trace=None, name='', hear=None):
        super().__init__()
        self.trace,self.name,self.hear = [] if trace is None else trace,name,hear
        for k in hooks: setattr(self, k, partial(self._record, k))
    def _record(self, hook, **kwargs):
        self.trace.append((hook, {k:plain(v) for k,v in kwargs.items()}))
        if self.hear: self.hear(self, hook, kwargs)
    @property
    def names(self): return [o[0] for o in self.trace]

class Everything(Callback):
    "Has all hooks as methods, and state; tests/test_contract.py makes an adapter of it"
    n = 0
    def _count(self, **kwargs): self.n += 1
    for _k in HOOKS: locals()[_k] = _count
    def get_checkpoint_state(self): return dict(n=self.n)
    def load_checkpoint_state(self, state): self.n = state['n']

class Saver(Ours):
    "Save after each epoch, after all other callbacks, as checkpoints are saved"
    order = math.inf
    def __init__(self, folder): self.folder = folder
    def after_epoch(self): self.learn.save(self.folder/'model')

class Documented:
    "A loop in the order that the engine documents, with the hooks and accumulation of its later version"
    def __init__(self, cbs, n_epoch, train=TRAIN, valid=VALID, n_acc=1, save=True, step_size=None):
        self.cbs,self.n_epoch,self.train,self.valid,self.n_acc,self.save,self.model = cbs,n_epoch,train,valid,n_acc,save,mk_model()
        self.opt,self.should_stop_training = torch.optim.SGD(self.model.parameters(), lr=LR),False
        self.scheduler = StepLR(self.opt, step_size, .5) if step_size else None
        for o in cbs: o.set_engine(self)
    def tell(self, hook, **kwargs):
        for o in self.cbs: getattr(o, hook)(**kwargs)

    def run(self):
        self.tell('on_train_start')
        try:
            for e in range(self.n_epoch):
                self.tell('on_epoch_start', epoch=e)
                logs = dict(avg_loss=self.train_epoch(e))
                val_loss = self.valid_epoch(e)
                if val_loss is not None: logs['val_loss'] = val_loss
                if self.scheduler: self.scheduler.step()
                if self.save: self.tell('on_save_checkpoint', epoch=e)
                self.tell('on_epoch_end', epoch=e, logs=logs)
                if self.should_stop_training: break  # the engine itself would first run one epoch more
        except Exception as exc:
            self.tell('on_exception', exception=exc)
            raise
        finally: self.tell('on_train_end')

    def train_epoch(self, e):
        losses,window = [],0
        for i,(xb,yb) in enumerate(self.train):
            at = dict(epoch=e, batch_idx=i)
            self.tell('on_batch_start', **at)
            loss = F.mse_loss(self.model(xb), yb)
            (loss/self.n_acc).backward()
            window += 1
            if window==self.n_acc or i+1==len(self.train):
                for p in self.model.parameters(): p.grad *= self.n_acc/window
                self.opt.step()
                window = 0
                self.tell('on_optimizer_step', **at)
            self.tell('on_train_step_end', **at, loss=loss, metrics=dict(loss=loss.item()))
            if not window: self.opt.zero_grad()
            losses.append(loss.item())
            self.tell('on_batch_end', **at)
        return sum(losses)/len(losses)

    def valid_epoch(self, e):
        if self.valid is None: return  # validation isn't enabled
        self.tell('on_validation_start', epoch=e)
        with torch.no_grad(): losses = [F.mse_loss(self.model(xb), yb).item() for xb,yb in self.valid or ()]
        res = sum(losses)/len(losses) if losses else None
        self.tell('on_validation_end', epoch=e, logs=dict(val_loss=res))
        return res

def mk_learner(*args, **kwargs): return _mk_learner(*args, **dict(defaults=True) | kwargs)

def traced_fit(learn, *args, hear=None, hooks=HOOKS, cbs=(), **kwargs):
    "Fit, and return a callback that recorded the hooks and how the fit ended"
    cb = Recording(hooks, hear=hear)
    end = ending(lambda: learn.fit(*args, cbs=[cb, *cbs], **kwargs))
    cb.end = end
    return cb

@pytest.mark.parametrize('case', ['plain', 'save', 'no loader', 'empty loader', 'accumulation', 'schedule'])
@pytest.mark.filterwarnings('ignore:nothing was evaluated')
def test_trace_is_that_of_the_documented_loop(case, tmp_path):
    cbs = dict(save=[Saver(tmp_path)], accumulation=[GradientAccumulation(n_batches=2)], schedule=[TorchScheduler(partial(StepLR, step_size=1, gamma=.5), 'epoch')])
    dls = (TRAIN, {'no loader': None, 'empty loader': []}.get(case, VALID))
    theirs,ours = Recording(),Recording()
    ref = Documented([theirs], 3, *dls, save=case=='save', n_acc=2 if case=='accumulation' else 1, step_size=1 if case=='schedule' else None)
    ref.run()
    (learn := mk_learner(dls=dls)).fit(3, cbs=[ours, *cbs.get(case, ())])
    assert len(theirs.trace)>30 and ours.trace==theirs.trace
    assert same(ref.model, learn.model)

def test_arguments():
    seen = {}
    learn = mk_learner(metrics=F.l1_loss)
    traced_fit(learn, 1, hear=lambda cb, hook, kw: seen.setdefault(hook, kw))
    loss,metrics = (seen['on_train_step_end'][k] for k in ('loss', 'metrics'))
    assert seen['on_train_start']=={}==seen['on_train_end'] and seen['on_epoch_start']==dict(epoch=0)==seen['on_validation_start']
    assert all(seen[k]==dict(epoch=0, batch_idx=0) for k in ('on_batch_start', 'on_batch_end', 'on_optimizer_step'))
    assert loss.shape==() and not loss.requires_grad and loss.item()==learn.recorder.raw_losses[0]
    assert isinstance(metrics, dict) and metrics['loss']==loss.item() and type(metrics['loss']) is float and set(metrics)=={'loss', 'l1_loss'}
    row = dict(zip(learn.recorder.columns, learn.recorder.values[0], strict=True))
    assert seen['on_validation_end']['logs']==dict(val_loss=row['valid_loss'], l1_loss=row['l1_loss'])
    assert seen['on_epoch_end']['logs']==dict(avg_loss=row['train_loss'], val_loss=row['valid_loss'], l1_loss=row['l1_loss'])
    assert all(type(v) is float for k in ('on_validation_end', 'on_epoch_end') for v in seen[k]['logs'].values())

def test_metrics_are_taken_off_the_device_when_they_are_read(monkeypatch):
    n,item = [],torch.Tensor.item
    cb = Recording(['on_train_step_end'])
    cb._record = lambda hook, **kw: cb.trace.append(kw['metrics'])
    cb.on_train_step_end = partial(cb._record, '')
    learn = mk_learner(cbs=[cb])
    learn.fit(1)
    first,second,third = cb.trace
    monkeypatch.setattr(torch.Tensor, 'item', lambda self: n.append(1) or item(self))
    assert 'loss' in first and len(first)==1 and [*first]==['loss'] and not n
    losses = learn.recorder.raw_losses
    assert first['loss']==losses[0]==first['loss'] and len(n)==1
    assert dict(second)=={'loss': losses[1]}=={**second} and [*second.values()]==[losses[1]] and str(third)==str({'loss': losses[2]})

def test_bare_callbacks_and_those_of_the_project_itself():
    real = type('Callback', (), {k:lambda self, **kwargs: None for k in HOOKS} | dict(__module__='llm.training.core.callbacks', set_engine=lambda self, e: setattr(self, 'engine', e)))
    class Mine(real):
        n = 0
        def on_batch_end(self, epoch, batch_idx): self.n += 1
    a,b,c = Mine(),Mine(),Everything()
    learn = mk_learner()
    learn.fit(1, cbs=[a, as_cb(b, name='other'), c])
    assert (a.n,b.n)==(3,3) and c.n>3 and a.engine is b.engine is c.engine and a.engine.model is learn.model
    assert isinstance(as_cb(Everything), TrainingEngine) and not as_cb(Mine()).hears('on_batch_start') and as_cb(Mine()).hears('on_batch_end')
    copied = type('Callback', (), dict(on_epoch_end=lambda self, epoch, logs: None, __module__='mine'))
    with pytest.raises(TypeError, match="it has on_epoch_end, like callbacks of TrainingEngine .*: pass the system, as_cb.…, system='engine' or"): as_cb(copied())
    assert as_cb(copied(), system='engine').hears('on_epoch_end')

def test_a_custom_base_class_needs_the_name_of_the_system():
    class Base:
        def set_engine(self, engine): self.engine = engine
    class Mine(Base):
        def on_train_start(self, logs=None): seen.append(self.engine)
        def on_optimizer_step(self, epoch, batch_idx, logs=None): seen.append(batch_idx)
    seen = []
    for o in (Mine(), Mine, [Mine()]):
        with pytest.raises(TypeError, match=r"Mine.* it has on_train_start, on_optimizer_step, like callbacks of TrainingEngine: pass the system, as_cb\(…, system='engine'\)"):
            mk_learner().fit(1, cbs=o)
    mk_learner().fit(1, cbs=as_cb(Mine(), system='engine'))
    assert seen[1:]==[0, 1, 2] and seen[0].epoch==0

# The engine

def test_scaler_is_that_of_mixed_precision():
    seen = []
    def look(o, hook, kwargs):
        if hook=='on_train_step_end': seen.append((o.engine.scaler is learn.mixed_precision.scaler, o.engine.scaler.get_scale()))
    learn = mk_learner(cbs=[MixedPrecision(init_scale=8., growth_interval=1)])
    traced_fit(learn, 1, hear=look)
    assert seen==[(True, 16.), (True, 32.), (True, 64.)], 'the scaler is updated before the hook, as documented'

def test_a_step_that_overflowed_is_no_step():
    learn = mk_learner(cbs=[MixedPrecision(init_scale=8.), Ours(name='boom', after_loss=lambda cb: boom(cb))])
    def boom(cb):
        if cb.learn.training and cb.learn.iter==1: cb.learn.loss_grad = cb.learn.loss_grad*math.inf
    steps = []
    cb = traced_fit(learn, 1, hear=lambda o, hook, kw: steps.append((o.engine.global_step, kw['batch_idx'])) if hook in ('on_optimizer_step', 'on_batch_end') else None)
    at = [kw['batch_idx'] for k,kw in cb.trace if k=='on_optimizer_step']
    assert learn.mixed_precision.skipped==1 and at==[0, 2] and cb.names.count('on_train_step_end')==3
    assert steps==[(0,0), (1,0), (1,1), (1,2), (2,2)], 'a step is counted after the hooks that report it'

def test_an_engine_has_one_optimizer():
    model = mk_model()
    learn = mk_learner(model=model, opt_func=dict(a=torch.optim.SGD([model.weight], LR), b=torch.optim.SGD([model.bias], LR)))
    def look(o, hook, kwargs): o.engine.optimizer  # noqa: B018
    with pytest.raises(ValueError, match='one optimizer, but this learner has a, b'): learn.fit(1, cbs=Recording(['on_train_start'], hear=look))

def test_callback_without_an_engine_says_so():
    with pytest.raises(RuntimeError, match='Everything has no engine yet'): Everything().engine  # noqa: B018
    cb = Everything()
    learn = mk_learner().add_cb(cb)
    assert cb.engine.learn is learn, 'a callback that is added later also gets its engine'

# Stopping

@pytest.mark.every(2)
@pytest.mark.parametrize('hook', [o for o in HOOKS if o not in ('on_exception', 'on_train_end')])
def test_stop_takes_effect_at_once(hook, tmp_path):
    "The original engine would run one more epoch, without saving or ending it"
    def stop(cb, k, kwargs):
        if k==hook and kwargs.get('epoch', 1)==1 and kwargs.get('batch_idx', 1)==1: cb.engine.should_stop_training = True
    learn,heard = mk_learner(),[]
    cb = traced_fit(learn, 5, hear=stop, cbs=[Saver(tmp_path), listener('late', ['after_epoch', 'cleanup_epoch'], lambda cb, e: heard.append(e), order=99)])
    epoch,n = dict(on_train_start=(0,0), on_epoch_start=(1,0)).get(hook, (1, 2 if 'batch' in hook or 'step' in hook else 3))
    assert cb.end=='returns' and learn.outcome['fit']=='cancelled' and learn.epoch==epoch and learn.train_iter==3*epoch+n
    assert cb.names[-5:]==['on_validation_start', 'on_validation_end', 'on_save_checkpoint', 'on_epoch_end', 'on_train_end'] and cb.trace[-2][1]['epoch']==epoch
    assert heard==['after_epoch', 'cleanup_epoch']*(epoch+1) and len(learn.recorder.values)==epoch+1
    assert cb.names.count('on_batch_start')==cb.names.count('on_batch_end')==3*epoch+n

# Pairs, errors

PAIRS = dict(on_train_end='on_train_start', on_epoch_end='on_epoch_start', on_batch_end='on_batch_start', on_validation_end='on_validation_start')
def check_pairs(names, failed):
    "Check that each end has its start, innermost first; after an error, only the fit is ended"
    is_open = []
    for k in names:
        if k in PAIRS.values(): is_open.append(k)
        elif k in PAIRS:
            while failed and is_open and is_open[-1]!=PAIRS[k]: is_open.pop()
            assert is_open and is_open.pop()==PAIRS[k], (k, names)
    assert not is_open and names.count('on_train_end')==names.count('on_train_start')

CUTS = [CancelBatchException, CancelTrainException, CancelEpochException, CancelValidException, CancelFitException]
@covering(exc=[*CUTS, ValueError, KeyboardInterrupt],
    e='before_fit before_epoch before_train before_batch after_loss after_step after_batch before_validate after_validate after_train after_epoch before_fetch'.split(),
    order=[-5, 99])
def test_ends_match_starts_wherever_a_fit_is_cut(e, exc, order):
    hits = []
    def cut(cb, _):
        hits.append(1)
        if len(hits)==2 or e.endswith('fit'): raise exc
    learn = mk_learner()
    res = traced_fit(learn, 3, cbs=[listener('cut', [e], cut, order=order)])
    failed = res.end!='returns'
    check_pairs(res.names, failed)
    assert res.names.count('on_exception')==int(failed and not (e=='before_fit' and order<0)), 'a callback that has not started gets no exception'
    if failed and res.names: assert res.names[-2:]==['on_exception', 'on_train_end']
    again = traced_fit(learn, 1)
    assert again.end=='returns' and again.names[-1]=='on_train_end' and not any(isinstance(o, TrainingEngine) for o in learn.cbs)

def test_without_a_recorder_logs_are_none():
    cb = traced_fit(_mk_learner(), 1)
    assert [kw['logs'] for k,kw in cb.trace if 'logs' in kw]==[dict(val_loss=None), dict(avg_loss=None)]

# Order, fits, state

class Stateful(Callback):
    "Is reset when training starts, like the engine's callbacks"
    def __init__(self, n=0): self.n,self.given,self.best = n,[],None
    def on_train_start(self, logs=None): self.n = 0
    def on_epoch_end(self, epoch, logs=None): self.n,self.best = self.n+1,np.float64(logs['avg_loss'])
    def get_checkpoint_state(self): return dict(n=np.int64(self.n), best=self.best, seen=[np.float32(.5), torch.ones(2)])
    def load_checkpoint_state(self, state):
        self.n,self.best = state['n'],state['best']
        self.given.append(self.engine.epoch)

def test_state_is_kept_under_the_callback_s_own_name():
    cb,new = as_cb(Stateful()),as_cb(Stateful())
    learn = mk_learner(cbs=[cb])
    learn.fit(2)
    state = reread(cb.state_dict())
    assert [*state]==['Stateful'] and state['Stateful']['n']==2 and type(state['Stateful']['best']) is float and state['Stateful']['seen'][0]==.5
    new.load_state_dict(state)
    assert new.foreign.given==[] and str(new.state_dict())==str(state), 'the state waits until the callback has an engine'
    learn = mk_learner(cbs=[new])
    assert new.foreign.n==2 and new.foreign.given==[0]
    learn.fit(1)
    assert new.foreign.n==3, 'on_train_start did not reset it'
    learn.fit(1)
    assert new.foreign.n==1, 'the state is loaded once: the next fit starts from 0'

def test_no_state_no_entry():
    assert as_cb(Callback()).state_dict()=={}
    cb = as_cb(type('Plain', (), dict(on_train_end=lambda self: None))(), system='engine')
    cb.load_state_dict(dict(Plain=dict(a=1)))
    assert cb.state_dict()=={}
