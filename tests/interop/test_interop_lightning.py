"Lightning's hooks, from its documentation: order, arguments, stops, errors, state, and errors for unsupported names"
import math
from collections import namedtuple
from copy import deepcopy
from enum import Enum
from functools import partial
from pathlib import Path
import numpy as np, pytest, torch
from helpers import TRAIN, VALID, act, batches, covering, listener, mk_learner as _mk_learner, mk_model, silent
from learnloop import Callback as Ours, FetchPredsCallback
from learnloop import (
    FastDevRun, GradientAccumulation, GradientClip, LimitBatches, MixedPrecision,
    SanityCheck, TorchScheduler, ValidateCallback, ValidateEvery)
from learnloop.interop import as_cb
from learnloop.interop.lightning import Callback, Lightning, MetricLog, Module, Trainer
from torch.nn import functional as F

HOOKS = [k for k in dir(Callback) if k.startswith('on_') or k in ('setup', 'teardown')]
ENDS = {'on_sanity_check_end', 'on_train_end', 'on_train_epoch_end', 'on_train_batch_end', 'on_fit_end', 'teardown'} | {k for k in HOOKS if k.endswith('_end')}

class Everything(Callback):
    "Has all hooks as methods, and state; tests/test_contract.py makes an adapter of it"
    def __init__(self): self.n = 0
    def _count(self, trainer, *args, **kwargs): self.n += trainer.state.fn=='fit'  # only calls in a fit count
    for _k in HOOKS: locals()[_k] = _count
    def state_dict(self): return dict(n=self.n)
    def load_state_dict(self, state_dict): self.n = state_dict['n']

class Told(Callback):
    "Record each hook with its arguments, and call `hear`"
    def __init__(self, hear=None, trace=None, who=None, hooks=HOOKS):
        self.trace,self.hear,self.who,self.args = [] if trace is None else trace,hear,who,[]
        for k in hooks: setattr(self, k, self._teller(k))
    def _teller(self, k):
        def f(trainer, pl_module, *args, **kwargs):
            self.trace.append(k if self.who is None else (self.who, k))
            self.args.append((k, args, kwargs))
            if self.hear: self.hear(k, trainer, pl_module, args)
        return f
    def count(self, *names): return [sum(o==k for o in self.trace) for k in names]

def mk_learner(*args, **kwargs):
    return silent(_mk_learner(*args, **dict(defaults=True) | kwargs))
def at(k, do, n=1):
    "Return a `hear` that does `do(trainer)` at the `n`-th call of the hook `k`"
    seen = []
    def hear(hook, trainer, pl_module, args):
        seen.append(hook)
        if hook==k and seen.count(k)==n: do(trainer)
    return hear
def stop(trainer): trainer.should_stop = True

BATCH = ['on_train_batch_start', 'on_before_zero_grad', 'on_before_backward', 'on_after_backward', 'on_before_optimizer_step', 'on_train_batch_end']
def evaluation(name, n=2):
    return [f'on_{name}_start', f'on_{name}_epoch_start', *[f'on_{name}_batch_start', f'on_{name}_batch_end']*n, f'on_{name}_epoch_end', f'on_{name}_end']
EVAL = evaluation('validation')
EPOCH = ['on_train_epoch_start', *BATCH*3, *EVAL, 'on_train_epoch_end']
START,END = ['setup', 'on_fit_start', 'on_train_start'],['on_train_end', 'on_fit_end', 'teardown']

# What is called, and with what

def test_arguments():
    learn,cb = mk_learner(),Told()
    learn.fit(1, cbs=[cb])
    of = {}
    for k,args,kwargs in cb.args: of.setdefault(k, []).append((args, kwargs))
    assert of['setup']==of['teardown']==[((), dict(stage='fit'))]
    for k in ('on_fit_start', 'on_train_start', 'on_train_epoch_start', 'on_after_backward', 'on_validation_start', 'on_train_epoch_end'): assert of[k][0]==((), {})
    assert [a for a,_ in of['on_train_batch_start']]==[(b, i) for i,b in enumerate(TRAIN)]  # the very tensors, in the loader's own structure
    assert [(a[1:]) for a,_ in of['on_train_batch_end']]==[(b, i) for i,b in enumerate(TRAIN)]
    assert [a[0]['loss'].item() for a,_ in of['on_train_batch_end']]==learn.recorder.raw_losses
    assert not any(a[0]['loss'].requires_grad for a,_ in of['on_train_batch_end']) and all(a[0].requires_grad for a,_ in of['on_before_backward'])
    assert [a[0].item() for a,_ in of['on_before_backward']]==learn.recorder.raw_losses
    for k in ('on_before_zero_grad', 'on_before_optimizer_step'): assert [a for a,_ in of[k]]==[(learn.opt,)]*3
    assert [a for a,_ in of['on_validation_batch_start']]==[(b, i) for i,b in enumerate(VALID)]
    assert [a[0].shape for a,_ in of['on_validation_batch_end']]==[torch.Size([])]*2
    assert sum(a[0].item() for a,_ in of['on_validation_batch_end'])/2==pytest.approx(learn.recorder.values[0][1])

Pair = namedtuple('Pair', 'x y')
@pytest.mark.parametrize('wrap', [list, tuple, lambda b: Pair(*b)], ids=['list', 'tuple', 'namedtuple'])
def test_batches_keep_their_type_when_callbacks_change_them(wrap):
    class Double(Ours):
        def before_batch(self): self.learn.xb = (self.learn.x*2,)
    cb = Told(hooks=['on_train_batch_start', 'on_train_batch_end'])
    mk_learner(dls=([wrap(b) for b in TRAIN],None)).fit(1, cbs=[cb, Double])
    b = cb.args[0][1][0]
    assert type(b) is type(wrap(TRAIN[0])) and torch.equal(b[0], TRAIN[0][0]*2) and b[1] is TRAIN[0][1]

def test_batches_of_other_kinds():
    class Own(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.lin = mk_model()
        def forward(self, x=None, y=None, **kwargs): return dict(loss=F.mse_loss(self.lin(x), torch.zeros(len(x), 1)))
    for bs in ([dict(x=x, y=y) for x,y in TRAIN], [x for x,_ in TRAIN]):
        cb = Told(hooks=['on_train_batch_end'])
        mk_learner(dls=(bs,None), model=Own(), loss_func=None).fit(1, cbs=[cb])
        got = [args[1] for _,args,_ in cb.args]
        if isinstance(bs[0], dict): assert [o.keys() for o in got]==[o.keys() for o in bs] and got[0]['x'] is bs[0]['x']
        else: assert all(a is b for a,b in zip(got, bs, strict=True))

# Stops

@pytest.mark.every(2)
@pytest.mark.parametrize('k,n,want', [
    ('setup', 1, ['setup', 'on_fit_start', 'on_fit_end', 'teardown']), ('on_fit_start', 1, ['setup', 'on_fit_start', 'on_fit_end', 'teardown']),
    ('on_train_start', 1, [*START, *END]), ('on_train_epoch_start', 1, [*START, 'on_train_epoch_start', 'on_train_epoch_end', *END]),
    *[(k, 2, [*START, 'on_train_epoch_start', *BATCH*2, *EVAL, 'on_train_epoch_end', *END]) for k in BATCH],
    *[(k, 1, [*START, *EPOCH, *END]) for k in (*dict.fromkeys(EVAL), 'on_train_epoch_end')], ('on_train_end', 1, [*START, *EPOCH*3, *END])])
def test_stop(k, n, want):
    cb,other = Told(at(k, stop, n)),Told()
    learn = mk_learner()
    learn.fit(3, cbs=[as_cb(cb, name='a'), as_cb(other, name='b')])
    assert cb.trace==other.trace==want and learn.open==[] and learn.outcome['fit']==('done' if k=='on_train_end' else 'cancelled')
    cb.hear,cb.trace[:] = None,[]
    learn.fit(1, cbs=[cb])
    assert cb.trace==[*START, *EPOCH, *END]  # a request is for one fit

@pytest.mark.every(3)
@covering(2, what=['CancelBatchException', 'CancelTrainException', 'CancelEpochException', 'CancelFitException'],
    e=['before_batch', 'after_pred', 'after_loss', 'before_backward', 'after_step', 'before_zero_grad', 'after_batch'],
    order=[-5, 99])
def test_hooks_come_in_pairs_after_a_cancel(e, what, order):
    def hear(o, _):
        if o.learn.training and o.learn.iter==1 and o.learn.epoch==0: act(o, what)
    cb = Told()
    learn = mk_learner([listener('cancel', [e], hear, order=order)])
    learn.fit(2, cbs=[cb])
    for a,b in (('setup', 'teardown'), ('on_train_start', 'on_train_end'), *[(k.replace('_end', '_start'), k) for k in ENDS if k.startswith(('on_train_', 'on_val', 'on_fit'))]):
        assert len(set(cb.count(a, b)))==1, (a, b, cb.trace)
    assert cb.count('on_train_epoch_end')==[1 if what=='CancelFitException' else 2]

# Errors

# Evaluations

def test_trainer_in_evaluations():
    seen = []
    def hear(k, t, m, args):
        if k.endswith('_end'): seen.append((k, t.state.fn, t.state.stage, t.validating, t.testing, t.predicting, t.training, sorted(t.callback_metrics)))
    learn = mk_learner([Told(hear, hooks=['on_validation_end', 'on_test_end', 'on_predict_end'])], dls=(TRAIN,VALID,VALID[:1]), metrics=F.l1_loss)
    for f in (learn.validate, lambda: learn.validate(2), learn.get_preds): f()
    names = ['l1_loss', 'val_l1_loss', 'val_loss', 'valid_loss']
    assert seen==[('on_validation_end', 'validate', 'validate', True, False, False, False, names),
        ('on_test_end', 'test', 'test', False, True, False, False, ['test_l1_loss', 'test_loss']), ('on_predict_end', 'predict', 'predict', False, False, True, False, [])]

def test_evaluations_inside_a_fit_are_not_heard():
    class Look(Ours):
        def after_epoch(self):
            self.learn.validate()
            self.learn.get_preds()
            self.learn.validate(dl=batches(1))
        def after_batch(self):
            if not self.learn.training: return
            self.learn.get_preds()
            self.learn.validate(0)
    cb = Told()
    mk_learner([Look(), FetchPredsCallback()]).fit(1, cbs=[cb])
    assert cb.trace==[*START, *EPOCH, *END]

# The trainer and the module

def seen_by(f, hooks=HOOKS, fit=lambda learn: learn.fit(2), **kwargs):
    "What `f(trainer, pl_module)` returns in each hook"
    seen = []
    learn = mk_learner([Told(lambda k, t, m, args: seen.append((k, f(t, m))), hooks=hooks)], **kwargs)
    fit(learn)
    return learn,seen

def test_metrics_are_tensors_and_made_when_read():
    learn,seen = seen_by(lambda t, m: (t.callback_metrics is t.callback_metrics, t.logged_metrics is t.callback_metrics,
        all(isinstance(o, torch.Tensor) and o.dim()==0 for o in t.callback_metrics.values())))
    assert {o for _,o in seen}=={(True, False, True)}
    learn = mk_learner()
    cb = Lightning(Told(hooks=['on_train_batch_end']))
    learn.fit(1, cbs=[cb])
    assert cb.trainer._metrics.keys()=={'train_loss', 'train_loss_step', 'train_loss_epoch', 'val_loss', 'valid_loss'}

def test_limits_and_loaders():
    learn,seen = seen_by(lambda t, m: (t.max_epochs, t.num_training_batches, t.num_val_batches, t.enable_validation, t.check_val_every_n_epoch,
        t.val_check_interval, t.train_dataloader is t.learn.dls.train, t.val_dataloaders is t.learn.dls.valid), hooks=['setup', 'on_train_batch_end'])
    assert {str(o) for _,o in seen}=={str((2, 3, [2], True, 1, 1., True, True))}
    _,seen = seen_by(lambda t, m: (t.max_epochs, t.num_training_batches, t.num_val_batches, t.enable_validation), hooks=['setup'], dls=(iter(TRAIN),None),
        fit=lambda learn: learn.fit(max_steps=2))
    assert seen==[('setup', (-1, math.inf, [], False))]
    _,seen = seen_by(lambda t, m: (t.check_val_every_n_epoch, t.val_check_interval), hooks=['setup'],
        fit=lambda learn: learn.fit(1, cbs=[ValidateEvery(2), ValidateCallback(every_steps=2)]))
    assert seen==[('setup', (2, 2))]

def test_last_batch():
    _,seen = seen_by(lambda t, m: (t.fit_loop.epoch_loop.batch_progress.is_last_batch, t.fit_loop.epoch_loop.batch_idx, t.fit_loop.batch_idx), hooks=['on_train_batch_end'])
    assert [o for _,o in seen]==[(False, 0, 0), (False, 1, 1), (True, 2, 2)]*2

def test_strategy(tmp_path):
    t = Trainer(mk_learner())
    (f := tmp_path/'x').write_text('')
    t.strategy.remove_checkpoint(f)
    t.strategy.remove_checkpoint(f)
    assert not f.exists() and t.strategy.broadcast(3)==3 and t.strategy.reduce_boolean_decision(True, all=False) and t.strategy.barrier() is None
    assert t.strategy.root_device==t.learn.device and (t.world_size, t.global_rank, t.is_global_zero)==(1, 0, True)

def set_up(t, m):
    return dict(clip=(t.gradient_clip_val, t.gradient_clip_algorithm), steps=(t.accumulate_grad_batches, t.estimated_stepping_batches),
        limits=(t.limit_train_batches, t.limit_val_batches), n=(t.num_training_batches, t.num_val_batches, t.num_sanity_val_batches),
        format=(t.precision, m.dtype, t.scaler), check=t.val_check_batch, data=t.datamodule)

def test_the_trainer_shows_its_settings():
    _,seen = seen_by(set_up, hooks=['setup'])
    assert seen==[('setup', dict(clip=(None, None), steps=(1, 6), limits=(1., 1.), n=(3, [2], [0]), format=('32-true', torch.float32, None), check=3, data=None))]
    cbs = [GradientClip(.5, algorithm='value'), GradientAccumulation(n_batches=2), LimitBatches(train=2, valid=.5), SanityCheck(5), MixedPrecision('bf16')]
    learn,seen = mk_learner(cbs),[]
    learn.fit(3, cbs=Told(lambda k, t, m, args: seen.append(set_up(t, m)), hooks=['on_train_batch_end']))
    want = dict(clip=(.5, 'value'), steps=(2, 3), limits=(2, .5), n=(2, [1], [1]), format=('bf16-mixed', torch.float32, None), check=2, data=None)
    assert len(seen)==6 and all(o==want for o in seen)
    t = Trainer(mk_learner(model=mk_model().double()))
    assert (t.precision, t.lightning_module.dtype)==('64-true', torch.float64)

def test_the_trainer_shows_the_steps_of_the_fit():
    def f(t, m): return t.max_steps, t.estimated_stepping_batches, t.max_epochs
    learn,seen = seen_by(f, hooks=['setup', 'on_train_batch_end'], fit=lambda learn: (learn.fit(1), learn.fit(max_steps=2), learn.fit(2, max_steps=5)))
    assert list(dict.fromkeys(o for _,o in seen))==[(-1, 3, 1), (5, 2, -1), (10, 5, 2)]
    _,seen = seen_by(lambda t, m: t.fast_dev_run, hooks=['on_train_start'], fit=lambda learn: (learn.fit(1), learn.fit(1, cbs=FastDevRun())))
    assert [o for _,o in seen][:1]==[False] and all(o for _,o in seen[1:])

def test_states_and_stops():
    _,seen = seen_by(lambda t, m: (t.state.status, t.state.finished, t.interrupted, t.received_sigterm, t._accelerator_connector.is_distributed), hooks=['setup', 'on_train_batch_end', 'teardown'])
    assert {o for _,o in seen}=={('running', False, False, False, False)}
    seen = []
    cb = Told(lambda k, t, m, args: seen.append((k, t.state.status, t.interrupted, t.received_sigterm)), hooks=['on_train_start', 'on_exception'])
    for e in (KeyboardInterrupt, SystemExit):
        def hear(o, _, e=e): raise e
        learn = mk_learner([listener('stop', ['after_loss'], hear)])
        with pytest.raises(e): learn.fit(1, cbs=[cb])
    assert seen==[('on_train_start', 'running', False, False), ('on_exception', 'interrupted', True, False), ('on_train_start', 'running', False, False), ('on_exception', 'interrupted', True, True)]
    t = Trainer(mk_learner())
    assert (t.state.status, t.state.finished, t.state.stopped)==('initializing', False, False)

def test_progress_of_the_loops():
    def n(p): return p.total.ready, p.total.completed, p.current.ready, p.current.completed
    def f(t, m):
        loop = t.fit_loop.epoch_loop
        return n(loop.batch_progress),n(loop.val_loop.batch_progress),t.fit_loop.total_batch_idx,t.is_last_batch
    _,seen = seen_by(f, hooks=['on_train_epoch_start', 'on_train_batch_start', 'on_validation_batch_end', 'on_train_epoch_end'])
    def of(k, i): return [o[i] for h,o in seen if h==k]
    assert of('on_train_epoch_start', 0)==[(0, 0, 0, 0), (3, 3, 3, 3)] and of('on_train_epoch_end', 0)==[(3, 3, 3, 3), (6, 6, 3, 3)]
    assert of('on_train_batch_start', 0)==[(1, 0, 1, 0), (2, 1, 2, 1), (3, 2, 3, 2), (4, 3, 1, 0), (5, 4, 2, 1), (6, 5, 3, 2)] and of('on_train_batch_start', 2)==[*range(6)]
    assert of('on_train_batch_start', 3)==[False, False, True]*2
    assert of('on_validation_batch_end', 1)==[(1, 0, 1, 0), (2, 1, 2, 1)]*2

def test_the_trainer_shows_pytorch_schedulers():
    make = partial(torch.optim.lr_scheduler.StepLR, step_size=1)
    def f(t, m): return [(type(o.scheduler).__name__, o.interval, o.frequency, m.lr_schedulers() is o.scheduler) for o in t.lr_scheduler_configs]
    _,seen = seen_by(f, hooks=['on_train_start'], fit=lambda learn: learn.fit(1, cbs=TorchScheduler(make, 'step')))
    assert seen==[('on_train_start', [('StepLR', 'step', 1, True)])]

def test_logged_values_go_to_the_loggers_and_the_bar():
    log,bars = type('Log', (MetricLog,), {})(),[]  # a plain `MetricLog` is the trainer's own
    class Sum:
        "What `log` needs of a metric of torchmetrics"
        def __init__(self): self.n = 0
        def compute(self): return torch.tensor(float(self.n))
        def reset(self): self.n = 0
    count = Sum()
    def hear(k, t, m, args):
        if k=='on_train_batch_end':
            count.n += 1
            m.log('both', float(args[2]), on_step=True, on_epoch=True, batch_size=1, prog_bar=True)
            m.log('count', count, on_step=False, on_epoch=True)
            m.log('quiet', 1., logger=False)
        if k=='on_validation_batch_end': m.log('v', float(args[2]), batch_size=1)
        if k=='on_train_epoch_end':
            m.log('end', t.current_epoch)
            bars.append(t.progress_bar_metrics)
    mk_learner().fit(2, cbs=[Lightning(Told(hear), logger=log, log_every_n_steps=2)])
    def rows(k): return [(o['step'], o[k]) for o in log.history if k in o]
    assert rows('both_step')==[(1, 1.), (3, 0.), (5, 2.)] and rows('both_epoch')==[(2, 1.), (5, 1.)] and rows('count')==[(2, 3.), (5, 3.)]
    assert rows('v')==[(2, .5), (5, .5)] and rows('end')==[(2, 0.), (5, 1.)] and rows('quiet')==[]
    assert bars==[dict(both_step=2., both_epoch=1.)]*2

def test_module_is_copied_and_frozen():
    learn = mk_learner()
    m = Trainer(learn).lightning_module
    new = deepcopy(m)
    assert isinstance(new, Module) and new.weight is not m.weight and torch.equal(new(TRAIN[0][0]), m(TRAIN[0][0])) and new.device==m.device
    m.freeze()
    assert not any(p.requires_grad for p in learn.model.parameters()) and not learn.model.training
    m.unfreeze()
    assert all(p.requires_grad for p in learn.model.parameters()) and all(p.requires_grad for p in new.parameters())
    m.training,m._mark = False,1
    assert not learn.model.training and learn.model._mark==1
    del m._mark
    assert not hasattr(learn.model, '_mark') and m.hparams=={} and m.example_input_array is None

@pytest.mark.parametrize('get,why', [(lambda t: t.fit, "Lightning's Trainer has no attribute 'fit': use learn.fit"), (lambda t: t.curent_epoch, "did you mean 'current_epoch'"),
    (lambda t: t.lightning_module.training_step, "Module has no attribute 'training_step': learn runs the loops"), (lambda t: t.strategy.accelerator, 'import that first'),
    (lambda t: t.fit_loop.epoch_loop.val_loop.run, '_EvalLoop has no attribute'), (lambda t: t.strategy.checkpoint_io, 'use trainer.save_checkpoint'), (lambda t: setattr(t, 'limit_val_batches', 2), 'setting it would change nothing'),
    (lambda t: setattr(t.lightning_module, 'example', 2), 'setting it would change nothing')])
def test_other_attributes_are_refused(get, why):
    cb = Told(lambda k, t, m, args: get(t), hooks=['on_train_start'])
    with pytest.raises(AttributeError, match=why): mk_learner().fit(1, cbs=[cb])

def test_log():
    seen = {}
    def hear(k, t, m, args):
        if k=='on_train_batch_end':
            m.log('last', args[2])
            m.log('mean', float(args[2]), on_epoch=True, batch_size=1+args[2], prog_bar=True)
        if k=='on_validation_batch_end': m.log('val_mean', torch.tensor([float(args[2])]), sync_dist=True)
        if k=='on_train_epoch_end': m.log_dict(dict(epochs=t.current_epoch), logger=False)
        if k=='on_train_end': seen.update({o:t.callback_metrics[o].item() for o in ('last', 'mean', 'val_mean', 'epochs')})
    mk_learner([Told(hear)]).fit(2)
    assert seen==dict(last=2, mean=pytest.approx(8/6), val_mean=.5, epochs=1)
    m = Trainer(mk_learner()).lightning_module
    with pytest.raises(TypeError, match="unknown argument 'prog_bars'; did you mean 'prog_bar'"): m.log('a', 1, prog_bars=True)
    with pytest.raises(ValueError, match="reduce_fx is 'max'"): m.log('a', 1, reduce_fx='max')

# Loggers and settings

def test_settings():
    cb,other = Lightning(Told(), name='a', default_root_dir='/some/folder', log_every_n_steps=3, logger=False),as_cb(Told(), name='b')
    learn = mk_learner([other, cb])
    t = learn.b.trainer
    assert t is learn.a.trainer and (t.default_root_dir, t.log_every_n_steps, t.loggers, t.logger, t.log_dir)==('/some/folder', 3, [], None, '/some/folder')
    with pytest.raises(TypeError, match="no setting 'max_epochs'; did you mean 'min_epochs'"): Lightning(Told(), max_epochs=3)
    t = Trainer(mk_learner(path='x'))
    assert t.default_root_dir==t.log_dir==str(Path('x').absolute()) and isinstance(t.logger, MetricLog)
    assert [[t._logger_connector.should_update_logs for t.learn.count.opt_steps in (0, 48, 49, 99)]]==[[False, False, True, True]]

def test_callbacks_of_the_trainer():
    class EarlyStopping(Told): pass
    class Checkpoint(Told): pass
    cbs = [Told(), EarlyStopping(), Checkpoint()]
    t = mk_learner(cbs).lightning_told.trainer
    assert t.callbacks==cbs and t.early_stopping_callback is cbs[1] and t.checkpoint_callbacks==[cbs[2]] and t.checkpoint_callback is cbs[2]

# State and files

class Kind(Enum): A = 'a'
class Stateful(Callback):
    def __init__(self, key=None): self.key,self.n,self.loaded = key,0,None
    def on_train_batch_end(self, *args): self.n += 1
    def state_dict(self): return dict(n=np.int64(self.n), x=np.float32(.5), kind=Kind.A, path=Path('a/b'), t=torch.ones(1), nested=[(np.float64(2.), None)], d={1: 'x'})
    def load_state_dict(self, state_dict): self.n,self.loaded = state_dict['n'],state_dict
    @property
    def state_key(self): return self._generate_state_key(monitor=self.key, mode='min') if self.key else super().state_key

def test_state_round_trip(tmp_path):
    cb = as_cb(Stateful())
    mk_learner().fit(1, cbs=[cb])
    torch.save(cb.state_dict(), tmp_path/'x')
    new = as_cb(Stateful())
    new.load_state_dict(sd := torch.load(tmp_path/'x', weights_only=True))
    assert new.foreign.n==3 and sd=={'Stateful': dict(n=3, x=.5, kind='a', path='a/b', t=torch.ones(1), nested=[(2., None)], d={1: 'x'})}
    assert type(sd['Stateful']['n']) is int and as_cb(Told()).state_dict()=={}

def test_names():
    assert [as_cb(o).name for o in (Stateful(), Stateful('val_loss'), Told(), Callback())]==['lightning_stateful', 'lightning_stateful_val_loss', 'lightning_told', 'lightning_callback']
    learn = mk_learner([Stateful('a'), Stateful('b')])
    learn.fit(1)
    assert learn.lightning_stateful_a.own_name=="Stateful{'monitor': 'a', 'mode': 'min'}"
    with pytest.raises(ValueError, match='give each a different state_key'): mk_learner([Stateful('a'), Stateful('a')])
    with pytest.raises(ValueError, match='give each a different state_key'): mk_learner([as_cb(Stateful('a')), as_cb(Stateful('a'), name='other')])
    assert [o.name for o in mk_learner([Told(), Told()]).cbs[-2:]]==['lightning_told', 'lightning_told_2']  # without state, the name is all

class Saver(Callback):
    def __init__(self, path, weights_only=False): self.path,self.weights_only,self.saved,self.loaded = path,weights_only,None,None
    def on_train_epoch_end(self, trainer, pl_module): trainer.save_checkpoint(self.path, self.weights_only)
    def on_save_checkpoint(self, trainer, pl_module, checkpoint):
        self.saved = dict(checkpoint)
        checkpoint['mine'] = dict(seen=[1, 2])
    def on_load_checkpoint(self, trainer, pl_module, checkpoint): self.loaded = checkpoint['mine']

def test_checkpoints_of_weights_alone_have_no_hooks(tmp_path):
    cb = Saver(tmp_path/'a.ckpt', True)
    mk_learner().fit(1, cbs=[cb, Stateful()])
    sd = torch.load(tmp_path/'a.ckpt', weights_only=True)
    assert cb.saved is None and set(sd)=={'model', 'state_dict', 'epoch', 'global_step'}
    new = mk_learner([other := Saver(None)])
    new.load(tmp_path/'a.ckpt', with_opt=False)
    assert other.loaded is None
    with pytest.raises(TypeError, match='storage_options'): Trainer(new).save_checkpoint('x', storage_options={})

def test_weights_that_a_callback_puts_into_a_checkpoint_are_written(tmp_path):
    class Swap(Callback):
        def on_save_checkpoint(self, trainer, pl_module, checkpoint): checkpoint['state_dict'] = {k:v*0 for k,v in checkpoint['state_dict'].items()}
    learn = mk_learner([Swap()])
    learn.fit(1)
    learn.save(tmp_path/'a')
    assert learn.model.weight.abs().sum()>0
    learn.load(tmp_path/'a')
    assert learn.model.weight.abs().sum()==0

def test_data_that_needs_code_to_load_is_refused(tmp_path):
    class Bad(Callback):
        def on_save_checkpoint(self, trainer, pl_module, checkpoint): checkpoint['odd'] = dict(x=object())
    with pytest.raises(TypeError, match=r"\['odd'\]\['x'\] is a builtins.object"): mk_learner([Bad()]).save(tmp_path/'a')

def test_checkpoints_of_whole_runs_keep_their_own_names():
    def fire(learn, phase, saved):
        learn.saved = saved
        try: learn.with_events(phase, lambda: None)
        finally: learn.saved = None
        return saved
    learn = mk_learner([cb := Saver(None), st := Stateful()])
    learn.create_opt()
    weights,states = dict(w=torch.ones(1)),dict(lightning_stateful=dict(n=5))
    saved = fire(learn, 'save', dict(loop={}, model=weights, opt={}, callbacks=states))
    assert saved==dict(loop={}, model=weights, opt={}, callbacks=states, lightning=dict(epoch=0, global_step=0, mine=dict(seen=[1, 2])))
    assert saved['callbacks'] is states and cb.saved.keys()=={'state_dict', 'epoch', 'global_step', 'callbacks'}
    fire(learn, 'load', saved)
    assert cb.loaded==dict(seen=[1, 2]) and st.n==0  # the loader of a whole run also loads the state of callbacks
    fire(learn, 'load', dict(loop={}, callbacks=states))
    assert fire(learn, 'save', dict(other=1))==dict(other=1)

# What is refused

def test_each_missing_hook_is_refused_with_a_reason():
    for k,why in Lightning.missing.items():
        with pytest.raises(TypeError) as e: mk_learner().fit(1, cbs=[type('Old', (Callback,), {k: lambda self, *args: None})()])
        assert k in str(e.value) and why in str(e.value) and 'Old (Lightning)' in str(e.value)

def test_several_optimizers():
    class Step(Callback):
        def on_before_optimizer_step(self, trainer, pl_module, optimizer): pass
    model = mk_model()
    learn = mk_learner(model=model, opt_func=dict(a=torch.optim.SGD([model.weight], .1), b=torch.optim.SGD([model.bias], .1)))
    with pytest.raises(TypeError, match='Step .Lightning.: on_before_optimizer_step receives one optimizer, but this learner has 2'): learn.fit(1, cbs=[Step()])
    learn.fit(1, cbs=[Stateful()])
    assert len(Trainer(learn).optimizers)==2 and Trainer(learn).lightning_module.optimizers()==list(learn.opt.values())

# The rest
