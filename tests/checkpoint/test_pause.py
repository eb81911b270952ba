"A fit that stops in a process resumes there bit-identically; a failed batch can be replayed"
import gc, random, weakref
from itertools import product
import numpy as np, pytest, torch
from helpers import Boom, FIT, VALID, batches, check, cover, mk_learner as mk_line, same, usual_events
from learnloop import (Callback, CheckFinite, CheckpointCallback, EMA, GradientAccumulation, GradientClip, Learner, MixedPrecision, accuracy, event,
    list_checkpoints, on, set_seed)
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset, TensorDataset, default_collate

N_EPOCH,SIX = 2,batches(6)

class Noisy(Dataset):
    "Items with noise of all three generators; `at(i)` is called for each"
    def __init__(self, n=14, at=None): self.x,self.at = torch.linspace(-1, 1, n)[:,None].repeat(1, 3),at
    def __len__(self): return len(self.x)
    def __getitem__(self, i):
        x = self.x[i] + .1*torch.randn(3) + .1*random.random() + .1*float(np.random.rand())  # noqa: NPY002  what datasets use
        if self.at: self.at(i)
        return x,(self.x[i].sum()>0).long()

def plain(n=14):
    x = torch.linspace(-1, 1, n)[:,None].repeat(1, 3)
    return TensorDataset(x, (x.sum(1)>0).long())

def mk_learner(ds=None, opt=torch.optim.AdamW, cbs=(), metrics=accuracy, **kwargs):
    "A learner of 4 batches, with dropout and batch norm, the same at each call"
    set_seed(3)
    model = nn.Sequential(nn.Linear(3, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(.3), nn.Linear(8, 2))
    dl = DataLoader(ds or plain(), batch_size=4, shuffle=True, **kwargs)
    return Learner((dl, DataLoader(plain(8), 4)), model, F.cross_entropy, opt, lr=.01, cbs=list(cbs), metrics=metrics)

def state(learn):
    "All that two runs are compared by"
    r = learn.recorder
    return dict(model={k:v.clone() for k,v in learn.model.state_dict().items()}, opt=learn.opt and learn.opt.state_dict()['state'], raw=r.raw_losses,
        lrs=r.lrs, values=r.values, iters=r.iters, count=vars(learn.count), cbs={o.name:sd for o in learn.cbs if (sd := o.state_dict())},
        rng=torch.get_rng_state(), python=random.getstate(), numpy=str(np.random.get_state()))  # noqa: NPY002

class At(Callback):
    "Calls `f(learn)` at the calls `ns` of the event `name`; it isn't heard in other learners' runs"
    order = 65
    def __init__(self, name, *ns, f):
        super().__init__(name=f'at_{name}', **{name: At.hit})
        self.ns,self.f,self.seen = ns,f,0
    def hit(self):
        self.seen += 1
        if self.seen in self.ns: self.f(self.learn)

class Tally(Callback):
    "Has state of its own, in counters of filters, too"
    def __init__(self): self.n = 0
    @on(event.after_batch, every=3)
    def third(self): self.n += 1
    def before_fit(self): self.n = 0
    def state_dict(self): return Callback.state_dict(self) | dict(n=self.n)
    def load_state_dict(self, sd):
        Callback.load_state_dict(self, sd)
        self.n = sd['n']

SETUPS = dict(plain=mk_learner, noisy=lambda: mk_learner(Noisy()), accum=lambda: mk_learner(cbs=[GradientAccumulation(7), GradientClip(.5), Tally()]),
    ema=lambda: mk_learner(Noisy(), cbs=[EMA(.8)]), bf16=lambda: mk_learner(cbs=[MixedPrecision('bf16')]))

FITS = dict(fit=lambda learn, **kw: learn.fit(N_EPOCH, **kw), one_cycle=lambda learn, **kw: learn.fit_one_cycle(N_EPOCH, **kw),
    max_steps=lambda learn, **kw: learn.fit(None, max_steps=6, **kw), steps_per_epoch=lambda learn, **kw: learn.fit(N_EPOCH, steps_per_epoch=3, **kw))

def quiet(learn, f, *args, **kwargs):
    with learn.no_logging(): return f(learn, *args, **kwargs)
def go_on(learn): quiet(learn, Learner.resume)

_wholes = {}
def whole(setup, fit='fit'):
    "The state at the end of the run that nothing interrupts"
    if (setup, fit) not in _wholes:
        quiet(learn := SETUPS[setup](), FITS[fit])
        _wholes[setup,fit] = state(learn)
    return _wholes[setup,fit]

EVENTS = usual_events(FIT)

def boom(learn): raise Boom

def stopped(learn, fit, *cbs, error=Boom, **kwargs):
    with pytest.raises(error): quiet(learn, FITS[fit], cbs=list(cbs), **kwargs)
    assert learn.open==[] and not learn.keeper.signals
    return learn

@pytest.mark.every(2)
@pytest.mark.parametrize('name', [o for o in EVENTS if o!='before_fit'])
def test_a_fit_with_keep_failed_resumes_after_an_error_at_any_event(name):
    setup,fit = [('ema','fit'), ('accum','one_cycle'), ('noisy','max_steps'), ('bf16','steps_per_epoch')][EVENTS.index(name)%4]
    learn = stopped(SETUPS[setup](), fit, cb := At(name, 1, 3, f=boom), keep_failed=True)
    while learn.paused:
        try: go_on(learn)
        except Boom: pass
    assert cb.seen>=min(3, N_EPOCH) or name in ('after_fit','cleanup_fit')
    check(state(learn), whole(setup, fit))
    assert learn.failed is None

@pytest.mark.parametrize('n', [0, 1, 3])
@pytest.mark.parametrize('ds', [None, Noisy()], ids=['plain', 'noisy'])
def test_a_resumed_fit_logs_how_it_reached_its_batch(n, ds, capsys):
    learn = stopped(mk_learner(ds), 'fit', At('before_batch', n+1, f=boom), keep_failed=True)
    learn.logger = lambda *args: None
    learn.resume()
    how = 'skipping indices' if ds is None else f'making {n} batches again'
    assert f'epoch 0, batch {n}{f" ({how})" if n else ""}\n' in capsys.readouterr().out

def test_an_error_in_before_fit_leaves_nothing_to_resume():
    learn = stopped(mk_learner(), 'fit', At('before_fit', 1, f=boom), keep_failed=True)
    with pytest.raises(RuntimeError, match='nothing to resume'): learn.resume()

def failing(n):
    "A function for `Noisy` in which item number `n` fails, once"
    left = [n]
    def _f(i):
        left[0] -= 1
        if not left[0]: raise Boom
    return _f

@pytest.mark.parametrize('fit', FITS)
@pytest.mark.parametrize('how', ['alone', 'keep_failed', 'saver'])
def test_an_error_in_a_fetch_that_may_draw_resumes_exactly_or_not_at_all(how, fit, tmp_path):
    cbs = [CheckpointCallback(tmp_path)]*(how=='saver')
    learn = stopped(mk_learner(Noisy(at=failing(9))), fit, *cbs, keep_failed=how=='keep_failed')
    if how!='alone':
        go_on(learn)
        return check(state(learn), whole('noisy', fit))
    with pytest.raises(RuntimeError, match='while it fetched batch 2 of epoch 0 in this process, by code that may have drawn.*keep_failed=True.*resume=folder'): learn.resume()
    learn.fit(1)
    with pytest.raises(RuntimeError, match='the last fit ended'): learn.resume()

def noisy_collate(at, f):
    "Return a collate function with noise, which calls `f` in the middle of batch `at`"
    seen = []
    def _f(b):
        seen.append(1)
        x,y = default_collate(b)
        x = x+.1*torch.randn_like(x)
        if len(seen)==at: f()
        return x+.1*torch.randn_like(x),y
    return _f

def test_numbers_that_a_failed_fetch_drew_are_not_saved(tmp_path):
    def fail(): raise Boom
    def mk(at=None):
        learn = mk_learner()
        learn.dls.train = DataLoader(plain(), 4, shuffle=True, collate_fn=noisy_collate(at, fail))
        return learn
    saver = dict(cbs=[CheckpointCallback(tmp_path, every_steps=2, keep=None)])
    with pytest.raises(Boom): quiet(mk(4), FITS['fit'], **saver)
    assert [o.step for o in list_checkpoints(tmp_path)]==[2]
    quiet(got := mk(), FITS['fit'], **saver, resume=tmp_path, accept='data')
    quiet(want := mk(), FITS['fit'])
    assert same(got.model, want.model)

class Raises(Noisy):
    def __getitem__(self, i):
        if i==5: raise Boom
        return super().__getitem__(i)

@pytest.mark.parametrize('keep', [False, True])
@pytest.mark.parametrize('kind', ['generator', 'workers'])
def test_a_failed_fetch_from_an_iterator_is_not_resumed(kind, keep):
    "After the error, a generator is exhausted, and an iterator with workers has skipped the batch"
    learn = mk_learner()
    learn.dls.train = it = (b for b in DataLoader(Raises(14), 4)) if kind=='generator' else iter(DataLoader(Raises(14), 4, num_workers=1))
    stopped(learn, 'fit', keep_failed=keep)
    with pytest.raises(RuntimeError, match='of epoch 0 from .*which returns each batch only once'): learn.resume()
    if kind=='workers': it._shutdown_workers()  # collected as garbage, with its queues, it would take five seconds

def test_an_error_in_the_middle_of_a_batch_says_what_to_do():
    learn = stopped(mk_learner(), 'fit', At('before_step', 2, f=boom))
    with pytest.raises(RuntimeError, match='keep_failed=True.*resume=folder'): learn.resume()
    learn.fit(1)
    with pytest.raises(RuntimeError, match='the last fit ended'): learn.resume()

def test_an_error_after_a_fetch_from_an_iterator_leaves_no_pause():
    "Its place can't be gone back to: better no pause than one batch less"
    x,y = torch.randn(24, 3),torch.randint(2, (24,))
    learn = Learner((((x[i:i+4], y[i:i+4]) for i in range(0, 24, 4)), None), nn.Linear(3, 2), F.cross_entropy)
    with pytest.raises(Boom), learn.no_logging(): learn.fit(1, cbs=At('after_fetch', 3, f=boom))
    assert learn.paused is None and learn.count.batches==2

@pytest.mark.parametrize('batch', [1, 3])
def test_an_error_while_resuming_keeps_the_pause(batch):
    learn = stopped(mk_learner(Noisy()), 'fit', At('before_batch', batch+4, f=boom), keep_failed=True)
    once = At('before_train', 1, f=boom)
    learn.add_cb(once)
    with pytest.raises(Boom): go_on(learn)
    learn.remove_cb(once)
    go_on(learn)
    check(state(learn), whole('noisy'))

@pytest.mark.parametrize('keep', [False, True])
def test_a_pause_holds_no_graph(keep):
    "The pause holds no graph, no batch unless asked to, and goes when the fit has ended"
    refs,kept = [],[]
    def note(learn): refs.extend(map(weakref.ref, (learn.pred, learn.xb[0])))
    learn = mk_learner(cbs=[At('after_loss', 2, f=note)])
    stopped(learn, 'fit', At(*(('after_batch', 2) if keep else ('before_fetch', 3)), f=boom), keep_failed=keep)
    gc.collect()
    assert [r() for r in refs]==[None, None] and bool(learn.failed)==keep
    def tensors(o):
        if isinstance(o, torch.Tensor): kept.append(o)
        elif isinstance(o, dict): [tensors(v) for v in o.values()]
        elif isinstance(o, (list,tuple)): [tensors(v) for v in o]
    tensors(learn.paused.state)
    assert kept and not any(o.grad_fn for o in kept)
    go_on(learn)
    assert learn.paused is learn.failed is None

REPLAYED = dict(SETUPS, workers=lambda: mk_learner(Noisy(), num_workers=2))

@pytest.mark.parametrize('setup,fit', [*cover(product(SETUPS, FITS)), ('workers', 'fit')])
def test_a_failed_batch_is_replayed_without_a_trace(setup, fit):
    learn,seen = REPLAYED[setup](),[]
    def note(cb): seen.append((cb.learn.xb, cb.learn.yb, cb.learn.pred, cb.learn.loss, cb.learn.iter))
    name,n = [('after_loss', 3), ('after_backward', 4), ('after_batch', 2)][list(FITS).index(fit)%3]
    stopped(learn, fit, Callback(name='note', **{name:note}), At(name, n, f=boom), keep_failed=True)
    want = state(learn)
    for _ in range(3): res = learn.replay_batch()
    xb,yb,pred,loss,i = seen[n-1]
    assert all(map(torch.equal, (*res.xb, *res.yb, res.pred, res.loss), (*xb, *yb, pred, loss))) and i==seen[-1][4]==n-1
    assert res.pred.grad_fn is None and res.grads.keys()=={n for n,_ in learn.model.named_parameters()}
    assert {'note', f'at_{name}'}<={*res.callbacks[name]} and 'recorder' in res.callbacks['after_batch']
    check(state(learn), want)
    if setup=='workers': return
    go_on(learn)
    check(state(learn), whole(setup, fit))

def test_a_replayed_error_is_raised_again_with_its_inputs():
    def bad(cb): raise Boom
    learn = stopped(mk_learner(), 'fit', Callback(after_loss=bad), keep_failed=True)
    for _ in range(2):
        with pytest.raises(Boom): learn.replay_batch()
        assert learn.failed.replay.loss is None or learn.failed.replay.xb[0].shape==(4, 3)
    learn.failed.args['cbs'] = []
    assert learn.replay_batch().loss>0 and learn.count.opt_steps==0 and learn.paused

def test_replay_without_a_failed_batch_is_an_error():
    learn = stopped(mk_learner(), 'fit', At('before_step', 2, f=boom))
    with pytest.raises(RuntimeError, match='keep_failed=True'): learn.replay_batch()
    learn = stopped(mk_learner(), 'fit', At('before_validate', 1, f=boom), keep_failed=True)
    with pytest.raises(RuntimeError, match='no failed training batch'): learn.replay_batch()

class Bad(Callback):
    "Spoils the loss of the training batches `at`: its value and so its gradient, or its value alone"
    def __init__(self, *at, by=float('nan'), grad=True): self.at,self.by,self.by_grad = at,by,grad
    def after_loss(self):
        learn = self.learn
        if not learn.training or learn.train_iter not in self.at: return
        learn.loss = learn.loss*self.by
        if self.by_grad: learn.loss_grad = learn.loss_grad*self.by

def line(dl, cbs=(), n_epoch=1, **kwargs):
    learn = mk_line(dls=(dl, VALID), defaults=True)
    with learn.no_logging(): learn.fit(n_epoch, cbs=list(cbs), **kwargs)
    return learn

@pytest.mark.filterwarnings('ignore:a callback set learn.loss, but')
@pytest.mark.parametrize('by,grad', [(float('nan'), True), (float('inf'), True), (float('inf'), False)])
def test_case_35_a_nan_loss_is_an_error_before_the_step(by, grad):
    learn = mk_line(dls=(SIX, VALID), defaults=True)
    with learn.no_logging(), pytest.raises(FloatingPointError, match=f'loss is {by}, in epoch 0, batch 3 of training; lr 0.1, 3 steps taken'):
        learn.fit(1, cbs=[Bad(3, by=by, grad=grad), CheckFinite()], keep_failed=True)
    assert same(learn.model, line(SIX[:3]).model)
    for _ in range(2):
        with pytest.raises(FloatingPointError): learn.replay_batch()
    learn.paused.args['cbs'] = []
    go_on(learn)
    assert same(learn.model, line(SIX).model)

@pytest.mark.filterwarnings('ignore:a callback set learn.loss, but')
@pytest.mark.parametrize('at', [(2,), (3,), (2, 3)])
@pytest.mark.parametrize('by,grad', [(float('nan'), True), (float('inf'), False)])
def test_case_40_a_window_with_a_nan_loss_is_dropped_whole(at, by, grad):
    acc = GradientAccumulation(n_batches=2)
    learn = line(SIX, [acc, Bad(*at, by=by, grad=grad), check := CheckFinite('skip')])
    assert same(learn.model, line(SIX[:2]+SIX[4:], [acc]).model) and check.skipped==1 and learn.count.opt_steps==2

def test_skipping_stops_after_patience_batches():
    learn = line(SIX, [Bad(*range(1, 6)), check := CheckFinite('skip', patience=3)])
    assert learn.count.opt_steps==1 and learn.count.batches==3 and '3 in a row' in check.stop_reason and same(learn.model, line(SIX[:1]).model)

def test_a_batch_with_a_nan_gradient_is_skipped_unless_grads_is_false():
    def spoil(cb):
        if cb.learn.iter==2: cb.learn.model.weight.grad.fill_(float('inf'))
    spoiler = Callback(name='spoil', after_backward=spoil)
    assert same(line(SIX, [spoiler, CheckFinite('skip')]).model, line(SIX[:2]+SIX[3:]).model)
    assert not line(SIX, [spoiler, CheckFinite('skip', grads=False)]).model.weight.isfinite().all()

def test_case_36_an_overflow_that_the_scaler_skips_is_not_counted():
    learn = line(SIX, [amp := MixedPrecision('fp16', init_scale=2.**20), check := CheckFinite('skip')])
    assert amp.skipped>0 and check.skipped==0 and learn.count.opt_steps==6-amp.skipped

def test_an_unknown_action_is_refused():
    with pytest.raises(ValueError, match="action is 'ignore': it must be raise, skip or stop"): CheckFinite('ignore')
