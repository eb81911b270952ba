"The adapter for fastNLP, which is not installed"
import io, sys
from functools import partial
from types import SimpleNamespace
import learnloop, numpy as np, pytest, torch
from helpers import CANCEL_OF, LR, TRAIN, act, batches, cover, listener, mk_model, quiet, same
from learnloop import CheckpointCallback, DataLoaders, Learner, MixedPrecision, SanityCheck, ValidateCallback
from learnloop.interop import as_cb
from learnloop.interop.core import HookTable
from learnloop.interop.fastnlp import Callback, EarlyStopException, Event, FastNLP, Filter, Trainer, on
from torch import nn
from torch.nn import functional as F

HOOKS = ['on_after_trainer_initialized', 'on_sanity_check_begin', 'on_sanity_check_end', 'on_train_begin', 'on_train_end', 'on_train_epoch_begin', 'on_train_epoch_end',
    'on_fetch_data_begin', 'on_fetch_data_end', 'on_train_batch_begin', 'on_train_batch_end', 'on_exception', 'on_save_model', 'on_load_model', 'on_save_checkpoint',
    'on_load_checkpoint', 'on_before_backward', 'on_after_backward', 'on_before_optimizers_step', 'on_after_optimizers_step', 'on_before_zero_grad', 'on_after_zero_grad',
    'on_evaluate_begin', 'on_evaluate_end']  # typed from its documents
FETCH = ['on_fetch_data_begin', 'on_fetch_data_end']
STEP  = ['on_before_optimizers_step', 'on_after_optimizers_step', 'on_before_zero_grad', 'on_after_zero_grad']
BATCH = ['on_train_batch_begin', 'on_before_backward', 'on_after_backward', *STEP, 'on_train_batch_end']
EVAL  = ['on_evaluate_begin', 'on_evaluate_end']
EPOCH = ['on_train_epoch_begin', *(FETCH+BATCH)*3, *FETCH, 'on_train_epoch_end', *EVAL]
STOPS = [k for k in HOOKS if k in EPOCH or k=='on_train_begin']

class Recorder(Callback):
    "Keeps each call, and acts in the `n`-th of `hook`"
    def __init__(self, hook=None, what=None, n=1, rows=None): self.rows,self.hook,self.what,self.n = [] if rows is None else rows,hook,what,n
    def hear(self, hook, trainer, args):
        self.rows.append((hook, *args))
        self.n -= hook==self.hook
        if hook==self.hook and self.n==0: act(trainer.learn if callable(self.what) else None, self.what)
    @property
    def names(self): return [o[0] for o in self.rows]
def _method(k): return lambda self, trainer, *args: self.hear(k, trainer, args)
for _k in HOOKS:
    if 'checkpoint' not in _k: setattr(Recorder, _k, _method(_k))

def mk_learner(cbs=(), train=TRAIN, valid=None, model=None, **kwargs):
    dls = DataLoaders(train, batches(2, seed=1) if valid is None else valid or None, device='cpu')
    opt = kwargs.pop('opt_func', torch.optim.SGD)
    lr,metrics = None if isinstance(opt, dict) else LR,[] if valid is False else [F.l1_loss]
    return Learner(dls, model or mk_model(), F.mse_loss, opt, lr=lr, metrics=metrics, cbs=cbs, **kwargs)

def fit(n_epoch=1, cbs=(), learn=None, **kwargs):
    learn = learn or mk_learner(**kwargs)
    return quiet(learn, n_epoch, cbs=cbs)

def test_all_hooks_of_the_documents_are_there_and_heard():
    assert {h.name for h in FastNLP.hooks}==set(HOOKS)=={k for c in Callback.__mro__ for k in vars(c) if k.startswith('on_')} and not FastNLP.missing
    text = str(HookTable(FastNLP, Callback))
    assert 'on_train_batch_begin(trainer, batch, indices)' in text and 'on_evaluate_end(trainer, results)' in text
    rec = Recorder()
    fit(2, [rec, SanityCheck(1)])
    assert rec.names==['on_after_trainer_initialized', 'on_sanity_check_begin', 'on_sanity_check_end', 'on_train_begin', *EPOCH*2, 'on_train_end']

def test_arguments():
    rec,opt_ids = Recorder(),[]
    learn = fit(1, rec)
    args = {k:a for k,*a in rec.rows}
    assert {k:len(a) for k,a in args.items() if a}=={'on_after_trainer_initialized':1, 'on_train_batch_begin':2, 'on_before_backward':1, **dict.fromkeys(STEP, 1), 'on_evaluate_end':1}
    batch,indices = args['on_train_batch_begin']
    assert isinstance(batch, tuple) and [o.shape for o in batch]==[(4, 2), (4, 1)] and indices is None
    [out] = args['on_before_backward']
    assert set(out)=={'pred', 'loss'} and out['pred'].shape==(4, 1) and out['loss'].shape==() and out['loss'].requires_grad
    for k in STEP:
        [optimizers] = args[k]
        opt_ids += [optimizers[0], *optimizers]
        assert optimizers.param_groups is learn.opt.param_groups and len(optimizers)==1
    assert all(o is learn.opt for o in opt_ids)
    [res] = args['on_evaluate_end']
    assert res==dict(zip(['valid_loss', 'l1_loss'], learn.recorder.values[0][1:], strict=True)) and all(type(o) is float for o in res.values())
    assert args['on_after_trainer_initialized'][0].model is learn.model

@pytest.mark.parametrize('kwargs,want', [(dict(n_epoch=2), (2, 6, 3)), (dict(max_steps=4), (2, 4, 3)), (dict(n_epoch=2, steps_per_epoch=4), (2, 8, 4))], ids=str)
@pytest.mark.parametrize('length', [True, False])
def test_lengths_are_known_before_training(kwargs, want, length):
    rows = []
    @on(Event.on_train_begin())
    def f(t): rows.append((t.n_epochs, t.n_batches, t.num_batches_per_epoch))
    learn = mk_learner(train=TRAIN if length else type('Stream', (), dict(__iter__=lambda self: iter(TRAIN)))())
    if not length and 'steps_per_epoch' not in kwargs:
        with pytest.raises(ValueError, match=r'trainer\.num_batches_per_epoch: the training loader has no length'): learn.fit(**kwargs, cbs=f)
        return
    with learn.no_logging(): learn.fit(**kwargs, cbs=f)
    assert rows==[want]

def test_n_epochs_may_be_set():
    @on(Event.on_train_epoch_end(once=2))
    def f(t): t.n_epochs = 2
    assert len(fit(9, f).recorder.values)==2

def test_attributes_of_driver_and_evaluator():
    t = FastNLP.Trainer(mk_learner())
    assert (t.fp16, t.driver.fp16, t.driver.local_rank, t.evaluator.model_use_eval_mode)==(False, False, 0, True)
    assert t.evaluator.model is t.learn.model and t.evaluator.driver.model is t.learn.model
    assert FastNLP.Trainer(mk_learner(cbs=MixedPrecision('fp16'))).fp16 and not FastNLP.Trainer(mk_learner(cbs=MixedPrecision('bf16'))).fp16
    for o in (t.driver, t.evaluator):
        with pytest.raises(AttributeError, match='setting it would change nothing'): o.shared = 1

def test_attributes_of_the_trainer():
    def f(t):
        learn,d = t.learn,t.driver
        assert t.model is d.model is d.unwrap_model() is learn.model and t.optimizers==d.optimizers==[learn.opt]
        assert t.train_dataloader is t.dataloader is learn.dls.train and t.evaluate_dataloaders is learn.dls.valid
        assert t.device==t.model_device==t.data_device==d.model_device==d.data_device==torch.device('cpu')
        assert (d.is_distributed(), d.get_local_rank(), d.global_rank, d.world_size)==(False, 0, 0, 1)
        assert (t.accumulation_steps, t.monitor, t.larger_better)==(1, None, True)
        assert t.move_data_to_device(dict(x=torch.ones(1)))['x']==1 and type(d).__name__=='Driver' and isinstance(d, type(d))
        d.grad_scaler.unscale_(learn.opt)
        with pytest.raises(ValueError, match="mode is 'test'"): d.set_model_mode('test')
        assert t.optimizers.defaults['lr']==LR
        seen.append(t)
    seen = []
    fit(1, on(Event.on_train_begin())(f))
    assert len(seen)==1

def test_driver_numbers():
    d = Trainer(mk_learner()).driver
    b = dict(a=torch.tensor([1., 3.]), b=(torch.ones(1), [torch.zeros(())]), c='c')
    assert d.tensor_to_numeric(b)==dict(a=[1., 3.], b=(1., [0.]), c='c') and d.tensor_to_numeric(b['a'], 'mean')==2. and d.tensor_to_numeric(None) is None

def test_several_optimizers_are_a_list():
    model = mk_model()
    opts = dict(a=torch.optim.SGD([model.weight], lr=.1), b=torch.optim.SGD([model.bias], lr=.1))
    seen = []
    @on(Event.on_after_optimizers_step(once=1))
    def f(t, optimizers): seen.extend(optimizers)
    fit(1, f, model=model, opt_func=opts)
    assert seen==list(opts.values())
    with pytest.raises(AttributeError, match="a list of 2 optimizers has no attribute 'param_groups'"): fit(1, on(Event.on_after_optimizers_step())(lambda t, o: o.param_groups), model=model, opt_func=opts)

# Stopping and errors

@pytest.mark.every(2)
@pytest.mark.parametrize('hook', STOPS)
def test_early_stop_in_any_hook(hook):
    e = EarlyStopException('why')
    first,second = Recorder(hook, e),Recorder()
    learn = fit(3, [first, as_cb(second, name='second')])
    assert learn.outcome['fit']=='cancelled' and e.msg=='why'
    assert first.names[-3:]==[hook, 'on_exception', 'on_train_end'] and second.names[-2:]==['on_exception', 'on_train_end']
    assert first.rows[-2][1] is second.rows[-2][1] is e and second.names.count(hook)==0
    fit(1, learn=learn)

PAIRS = {f'{k}_begin':f'{k}_end' for k in ('on_train', 'on_train_epoch', 'on_fetch_data', 'on_train_batch', 'on_evaluate', 'on_sanity_check')}
GRADS = ['batch', 'backward', 'step', 'zero_grad']
INSIDE = dict(fit=['epoch', 'train', 'validate', 'fetch', *GRADS, 'evaluate', 'sanity'], epoch=['epoch', 'train', 'validate', 'fetch', *GRADS, 'evaluate'],
    train=['train', 'fetch', *GRADS, 'evaluate'], validate=['validate', 'fetch', 'batch'], batch=[*GRADS, 'evaluate'], evaluate=['evaluate', 'validate', 'batch'])
CANCELS = [(p, f'{a}_{o}') for p,phases in INSIDE.items() for o in phases for a in ('before', 'after', 'cleanup')] + [(p, 'after_loss') for p in INSIDE]

# the first is where the batch itself is cut short before their callback hears that it ended
@pytest.mark.every(2)
@pytest.mark.parametrize('p,e,order', dict.fromkeys([('batch', 'after_batch', -1), *cover((*o, order) for o in CANCELS for order in (-1, 99))]))
def test_each_hook_that_began_is_ended_after_a_cancel(p, e, order):
    "…unless it ends the fit, and with it everything: then there is `on_train_end` alone, as in fastNLP"
    calls,raised = [0],[]
    def stop(cb, _):
        learn = cb.learn
        calls[0] += 'sanity' in e or (learn.phases['sanity'] not in learn.open and (learn.training or p!='batch' or 'evaluate' in e))
        if calls[0]<1+('sanity' not in e) or raised or learn.phases[p] not in learn.open: return
        raised.append(1)
        raise getattr(learnloop, CANCEL_OF[p])
    rec = Recorder()
    learn = fit(3, [rec, ValidateCallback(every_steps=2), SanityCheck(1), listener('stop', [e], stop, order=order)])
    begun = []
    for k in rec.names:
        if k in PAIRS: begun.append(k)
        elif k in PAIRS.values():
            if p=='fit' and k=='on_train_end': del begun[1:]
            assert PAIRS[begun.pop()]==k, rec.names
    assert raised and begun in ([], ['on_sanity_check_begin']*(p=='fit' and 'sanity' in e)), (begun, rec.names)
    assert (learn.outcome['fit']=='cancelled')==(p=='fit') and (rec.names[-1]=='on_train_end' or 'sanity' in e)

# Order

# Evaluation

def test_nested_evaluations_are_not_heard():
    rec = Recorder()
    test = batches(1, seed=2)
    def more(cb, _):
        if cb.learn.phases['evaluate'] not in cb.learn.open:
            cb.learn.validate(dl=test)
            cb.learn.get_preds()
    fit(2, [rec, listener('more', ['before_validate', 'after_validate', 'after_epoch'], more)])
    assert rec.names==['on_after_trainer_initialized', 'on_train_begin', *EPOCH*2, 'on_train_end']

def test_evaluator_runs_without_hooks():
    rec,res = Recorder(),[]
    @on(Event.on_train_epoch_end())
    def f(t):
        assert t.evaluate_dataloaders is not None
        res.append(t.evaluator.run())
        with pytest.raises(ValueError, match='num_eval_batch_per_dl=2'): t.evaluator.run(2)
    learn = fit(2, [rec, f])
    assert rec.names[1:-1]==['on_train_begin', *EPOCH*2] and res==[o[1] for o in rec.rows if o[0]=='on_evaluate_end'] and len(learn.recorder.values)==2

def test_results_need_a_recorder():
    learn = mk_learner(default_cbs=False, cbs=[learnloop.TrainEvalCallback()])
    with pytest.raises(ValueError, match='Recorder .fastNLP. needs the results of validation, but this learner has no Recorder'): fit(1, Recorder(), learn)
    @on(Event.on_train_epoch_end())
    def f(t): seen.append(1)
    seen = []
    fit(1, f, learn)
    assert seen==[1]

def test_unknown_monitors_are_refused_before_training():
    class Watch(Callback):
        def __init__(self, monitor): self.monitor = monitor
        def on_evaluate_end(self, t, results): pass
    with pytest.raises(ValueError, match=r"Watch \(fastNLP\) monitors 'l2_loss', but validation returns valid_loss, l1_loss; did you mean 'l1_loss'\?"): fit(1, Watch('l2_loss'))
    with pytest.raises(ValueError, match="monitors 'l1_loss', but there is no validation loader"): fit(1, Watch('l1_loss'), valid=False)
    for o in ('l1_loss', None, len): fit(1, Watch(o))

# Steps

# What hooks may change

def test_a_list_batch_may_be_changed_in_place():
    @on(Event.on_train_batch_begin())
    def f(t, batch, indices):
        assert isinstance(batch, list)
        batch[0] = batch[0]*2
        batch[1] = batch[1]+1
    learn = fit(2, f, train=[list(o) for o in TRAIN])
    assert same(learn.model, fit(2, train=[(2*x, y+1) for x,y in TRAIN]).model)

def test_every_once_and_filter_fn():
    calls,executed = dict(every=[], once=[], fn=[], plain=[]),[]
    @on(Event.on_train_batch_end(every=4))
    def every(t): calls['every'].append(t.global_forward_batches)
    @on(Event.on_train_batch_end(once=3))
    def once(t): calls['once'].append(t.global_forward_batches)
    def third(flt, t):
        executed.append(flt.num_executed)
        return flt.num_called%5==0 and t.cur_epoch_idx==1
    @on(Event.on_train_batch_end(filter_fn=third))
    def fn(t): calls['fn'].append(t.global_forward_batches)
    @on(Event.on_train_epoch_end())
    def plain(t): calls['plain'].append(t.cur_epoch_idx)
    for _ in range(2): fit(3, [every, once, fn, plain])  # the counters are those of a fit's own callback
    assert calls==dict(every=[4, 8]*2, once=[3]*2, fn=[5]*2, plain=[1, 2, 3]*2) and executed==[*[0]*5, *[1]*4]*2

# Functions and filters

@pytest.mark.parametrize('kwargs', [dict(every=0), dict(every=-1), dict(every=True), dict(every=1.5), dict(once=0), dict(once='1'), dict(filter_fn=3)], ids=str)
def test_bad_filters(kwargs):
    for f in (Event.on_train_begin, Filter):
        with pytest.raises((ValueError, TypeError), match=next(iter(kwargs))): f(**kwargs)

def test_events_have_all_hooks_and_no_other():
    assert all(getattr(Event, k)(every=3).value==k and getattr(Event, k)(3).every==3 for k in HOOKS)
    with pytest.raises(AttributeError): Event.on_trian_begin()
    with pytest.raises(ValueError, match="'on_trian_begin' is not a hook of fastNLP; did you mean 'on_train_begin'"): Event('on_trian_begin')
    assert repr(Event.on_train_begin(once=2))=='Event.on_train_begin(once=2)'

def test_on_checks_its_arguments():
    with pytest.raises(TypeError, match=r"f would be called as on_train_begin\(trainer\)"):
        @on(Event.on_train_begin())
        def f(): pass
    with pytest.raises(TypeError, match='it takes an event'): on('on_train_begin')
    with pytest.raises(ValueError, match="marker='all': pass the function"): Trainer.on(Event.on_train_begin(), marker='all')
    class Theirs:
        value,every,once,filter_fn = 'on_train_begin',1,2,None
    Theirs.__name__ = 'Event'
    with pytest.raises(ValueError, match='every, once given'): on(Theirs())(lambda t: None)
    Theirs.once = None
    assert on(Theirs())(lambda t: None).fastnlp_events[0].every==1

def test_filters_decorate_methods():
    class Some(Callback):
        def __init__(self): self.seen = []
        @Filter(filter_fn=lambda flt, t: t.cur_epoch_idx==1)
        def on_train_batch_end(self, t): self.seen.append(t.global_forward_batches)
    cb = Some()
    fit(2, ad := as_cb(cb))
    assert cb.seen==[4, 5, 6] and ad.state_dict()=={'Some': dict(filter_states=dict(on_train_batch_end=[dict(num_called=6, num_executed=3)]))}

def test_functions_added_from_a_hook_are_there_until_the_fit_ends():
    rows = []
    def note(t): rows.append((t.cur_epoch_idx, t.batch_idx_in_epoch))
    def end(t): rows.append('end')
    class Add(Callback):
        def on_train_epoch_end(self, t):
            if t.cur_epoch_idx==1:
                t.add_callback_fn(Event.on_train_batch_end(every=2), note)
                t.add_callback_fn(Event.on_train_end(), end)
    learn = fit(2, Add())
    assert rows==[(1, 2), 'end'] and [o.name for o in learn.cbs]==[o.name for o in mk_learner().cbs] and not hasattr(note, 'fastnlp_events')
    as_cb(on(Event.on_train_begin())(note)).load_state_dict({})

# State

class Stateful(Callback):
    def __init__(self): self.n,self.trainers = 0,[]
    def on_train_batch_end(self, t): self.n += 1
    def on_save_checkpoint(self, t):
        self.trainers.append(t)
        return dict(n=np.int64(self.n), w=torch.ones(2), l=[np.float32(.5)])
    def on_load_checkpoint(self, t, states):
        self.trainers.append(t)
        self.n = states['n']

@pytest.mark.every(2)
@pytest.mark.parametrize('batch', [1, 3, 4, 5])
def test_a_resumed_fit_has_its_counters_and_state(tmp_path, batch):
    rows = []
    class Note(Stateful):
        callback_name = 'note'
        def on_train_begin(self, t): rows.append(('begin', t.cur_epoch_idx))
        def on_train_batch_begin(self, t, batch, indices): rows.append((t.cur_epoch_idx, t.global_forward_batches, t.batch_idx_in_epoch, self.n))
        def on_evaluate_end(self, t, results): rows.append((t.cur_epoch_idx, t.global_forward_batches, results))
    @on(Event.on_train_batch_end(every=4))
    def fourth(t): rows.append(('fourth', t.global_forward_batches))
    def start(cb):
        learn = mk_learner(path=tmp_path)
        with learn.no_logging(): learn.fit(3, cbs=[Note(), fourth, cb, CheckpointCallback(tmp_path/'run', every_steps=1)], resume=tmp_path/'run')
    fit(3, [Note(), fourth])
    whole,rows[:] = list(rows),[]
    def crash(n): return listener('crash', ['before_batch'], lambda cb, _: act(cb, 'KeyboardInterrupt' if cb.learn.train_iter==n else None), order=60, run_valid=False)
    with pytest.raises(KeyboardInterrupt): start(crash(batch))
    before,rows[:] = list(rows),[]
    start(crash(-1))
    first = whole.index(rows[1])
    assert 0<first and rows[0][0]=='begin' and rows[1:]==whole[first:] and before[:first]==whole[:first], (before, rows)

@pytest.mark.parametrize('batch', [2, 3, 4])  # in an epoch, before its end is met, and after it
def test_point_30_on_load_checkpoint_comes_when_all_is_restored(tmp_path, batch):
    seen,saved = [],[]
    def look(t):
        opt = t.optimizers[0]
        at = t.cur_epoch_idx,t.global_forward_batches,t.batch_idx_in_epoch
        return [o.tolist() for o in t.model.state_dict().values()],opt.param_groups[0]['lr'],len(opt.state),vars(t.learn.count).copy(),at
    class Loads(Callback):
        def on_train_begin(self, t): seen.append('begin')
        def on_save_checkpoint(self, t):
            saved.append(look(t))
            return dict(n=len(saved))
        def on_load_checkpoint(self, t, states):
            seen.append(look(t))
            t.optimizers[0].param_groups[0]['lr'] = .0625
            torch.nn.init.zeros_(t.model.bias)
        def on_train_batch_begin(self, t, batch, indices): seen.append((t.optimizers[0].param_groups[0]['lr'], t.model.bias.item(), t.global_forward_batches))
    def run(at):
        stop = listener('stop', ['before_batch'], lambda cb, _: act(cb, 'KeyboardInterrupt' if cb.learn.count.batches==at else None), order=60, run_valid=False)
        learn = mk_learner(opt_func=partial(torch.optim.SGD, momentum=.9))
        with learn.no_logging(): learn.fit(3, cbs=[Loads(), CheckpointCallback(tmp_path, every_steps=1), stop], resume=tmp_path)
    with pytest.raises(KeyboardInterrupt): run(batch)
    kept = [o for o in saved if o[3]['batches']==batch]
    seen.clear()
    run(-1)
    loads = [o for o in seen if len(o)==5 and o!='begin']
    assert loads and all(o in kept for o in loads) and seen.index(loads[0])<seen.index('begin')
    assert next(o for o in seen if len(o)==3)==(.0625, 0., batch), 'what it sets stays'

def test_point_30_functions_marked_by_fastnlps_own_trainer(monkeypatch):
    def f(trainer): seen.append(trainer.cur_epoch_idx)
    def other(trainer): pass
    seen,event = [],type('Event', (), dict(value='on_train_epoch_begin', every=2, once=None, filter_fn=None))()
    real = type('Trainer', (), dict(_custom_callbacks={None:[(event, f)], 'all':[]}))
    monkeypatch.setitem(sys.modules, 'fastNLP', SimpleNamespace(Trainer=real))
    fit(4, [f])
    assert seen==[1, 3]
    with pytest.raises(TypeError, match='is not a callback'): mk_learner([other])

# Files

def test_models_are_saved_and_loaded(tmp_path):
    rec = Recorder()
    buf,seen = io.BytesIO(),[]
    class Save(Callback):
        def on_train_epoch_end(self, t):
            if t.cur_epoch_idx==1: t.save_model(buf)
            t.save_model(str(tmp_path/f'e{t.cur_epoch_idx}'))
            t.save_model(tmp_path, model_save_fn=lambda folder: seen.append(folder))
        def on_train_end(self, t):
            buf.seek(0)
            t.load_model(buf)
            t.load_model(tmp_path, model_load_fn=seen.append)
    learn = mk_learner()
    fit(2, [rec, Save()], learn)
    assert rec.names.count('on_save_model')==5 and rec.names.count('on_load_model')==2 and seen==[tmp_path]*3
    other = mk_learner()
    other.load(tmp_path/'e1/fastnlp_model.pkl.tar', with_opt=False)
    assert same(other.model, learn.model)
    t = Trainer(other)
    t.load_model(tmp_path/'e2')
    assert not same(other.model, learn.model)
    for f in (t.save_model, t.save_checkpoint, t.load_model):
        with pytest.raises(ValueError, match='only_state_dict=False'): f(tmp_path, only_state_dict=False)
    with pytest.raises(TypeError, match='foo'): t.save_model(tmp_path, foo=1)

def test_checkpoints_of_the_trainer(tmp_path):
    rec = Recorder()
    @on(Event.on_train_epoch_end(once=2))
    def save(t):
        t.save_checkpoint(tmp_path)
        with pytest.raises(ValueError, match='model_save_fn'): t.save_checkpoint(tmp_path, model_save_fn=len)
    learn = fit(2, [save, rec, Stateful()], opt_func=partial(torch.optim.SGD, momentum=.9))
    assert 'on_save_model' not in rec.names
    new = mk_learner([cb := Stateful(), rec := Recorder()], opt_func=partial(torch.optim.SGD, momentum=.9))
    new.fastnlp_stateful.trainer.load_checkpoint(tmp_path)
    assert cb.n==6 and same(new.model, learn.model) and 'on_load_model' not in rec.names
    fit(1, learn=new)
    fit(1, learn=learn)
    assert same(new.model, learn.model)

# In the learner

def test_point_17_a_dict_batch_is_whole_and_its_targets_may_be_changed_in_place():
    class Edits(Callback):
        def on_train_batch_begin(self, trainer, batch, indices):
            seen.append(sorted(batch))
            batch['y'] = batch['x'].sum(1, keepdim=True)+1
    class Model(nn.Linear):
        def forward(self, x): return super().forward(x)
    def run(data, cbs=()):
        torch.manual_seed(0)
        learn = Learner(DataLoaders(data, device='cpu', targ='y'), Model(2, 1), F.mse_loss, torch.optim.SGD, lr=LR)
        return fit(1, cbs, learn).model
    seen,data = [],[dict(x=x, y=y) for x,y in TRAIN]
    edited = run(data, Edits())
    assert same(edited, run([dict(x=x, y=x.sum(1, keepdim=True)+1) for x,_ in TRAIN])) and not same(edited, run(data))
    assert seen==[['x', 'y']]*3

@pytest.mark.parametrize('hook', ['on_train_begin', 'on_train_epoch_begin', 'on_train_batch_begin', 'on_evaluate_end'])
def test_a_callback_that_another_adds_takes_part_to_the_end_of_the_fit(hook):
    class Late(Callback):
        def __init__(self): self.heard = []
        def on_after_trainer_initialized(self, trainer, driver): self.heard.append('added')
        def on_train_epoch_end(self, trainer): self.heard.append('epoch')
        def on_train_end(self, trainer): self.heard.append('end')
    def add(self, trainer, *args):
        if late is not None and not late.heard: trainer.callback_handler.add_callback(late)
    cls,learn = type('Adds', (Callback,), {hook: add}),mk_learner(valid=TRAIN)
    for _ in range(2):
        late = Late()
        learn.fit(2, cbs=cls())
        assert late.heard==['added', *['epoch']*(1 if hook=='on_evaluate_end' else 2), 'end'] and not [o for o in learn.cbs if isinstance(o, FastNLP)]
