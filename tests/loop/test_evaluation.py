"Evaluations: nested, with their own random numbers, beside an existing recorder, and without side effects"
import random
import numpy as np, pytest, torch
from helpers import Module, TRAIN, VALID, batches, check, covering, listener, silent, weights
from hypothesis import given, strategies as st
from learnloop import (Callback, CancelBatchException, CheckpointCallback, DataLoaders, EarlyStoppingCallback, GatherPredsCallback, Learner, LimitBatches,
    MCDropoutCallback, MixedPrecision, list_checkpoints, mae, set_seed)
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset, TensorDataset

OTHER = batches(3, 5, seed=9)

def mk(cbs=None, dls=(TRAIN,VALID), p=0., metrics=mae, **kwargs):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Dropout(p), nn.Linear(8, 1))
    return silent(Learner(DataLoaders(*dls), model, kwargs.pop('loss_func', F.mse_loss), torch.optim.AdamW, lr=.05, metrics=metrics, cbs=cbs, **kwargs))

# Point 10: one inside another

KINDS = dict(
    validate=lambda o: o.validate(dl=OTHER), get_preds=lambda o: o.get_preds(dl=OTHER), losses=lambda o: o.get_preds(dl=OTHER, with_input=True, with_loss=True),
    predict=lambda o: o.predict(torch.ones(2)), limited=lambda o: o.validate(dl=OTHER, cbs=LimitBatches(valid=2)),
    gathered=lambda o: (cb := GatherPredsCallback(), o.validate(dl=OTHER, cbs=cb), cb.preds)[1:])
OUTER = dict(KINDS, fit=lambda o: (o.fit(2), weights(o.model), o.recorder.values, o.recorder.raw_losses)[1:],
    own=lambda o: o.validate(), limits=lambda o: o.get_preds(cbs=LimitBatches(valid=1), with_loss=True))
EVALUATED = [f'{a}_{p}' for p in ('evaluate', 'validate', 'fetch', 'batch') for a in ('before', 'after', 'cleanup')] + ['after_pred', 'after_loss']
FITTED = [f'{a}_{p}' for p in ('fit', 'epoch', 'train', 'backward', 'step', 'zero_grad') for a in ('before', 'after', 'cleanup')]
LOSSES = dict(function=F.mse_loss, module=nn.MSELoss())

class Asks(Callback):
    "Evaluates in `event`, unless that is what it is heard from"
    def __init__(self, event, kinds, order, name):
        super().__init__(name=name, **{event: Asks.ask})
        self.kinds,self.order,self.got,self.busy = kinds,order,[],False
    def ask(self):
        if self.busy: return
        self.busy = True
        self.got += [(k, KINDS[k](self.learn)) for k in self.kinds]
        self.busy = False

ASKED = st.tuples(st.sampled_from(EVALUATED+FITTED), st.sampled_from([[o] for o in KINDS]), st.sampled_from([-20, 0, 49, 70]))

@given(st.sampled_from([*OUTER]), st.lists(ASKED, min_size=1, max_size=2), st.sampled_from([*LOSSES]), st.booleans(), st.sampled_from(['learner', 'fit']))
def test_point_10_results_are_those_of_evaluations_that_are_not_nested(outer, asks, loss, mixed, where):
    def run(cbs):
        extra = [MixedPrecision('bf16')] if mixed else []
        return mk([*extra, *cbs], loss_func=LOSSES[loss])
    cbs = [Asks(*o, f'asks{i}') for i,o in enumerate(asks)]
    plain,learn = run([]),run(cbs)
    if outer=='validate': assert len(run([]).validate())==2
    check([OUTER[outer](plain), plain.validate()], [OUTER[outer](learn), learn.validate()])
    assert [o.name for o in learn.cbs]==[*(o.name for o in plain.cbs), *(o.name for o in cbs)]
    assert not learn.open and all(o.run for o in learn.cbs) and not hasattr(learn, 'gather_preds')
    if outer=='fit': return  # the weights change with every step: alone, they would have to be those
    for k,got in (o for cb in cbs for o in cb.got): check(KINDS[k](run([])), got, k)

def test_point_10_callbacks_are_set_up_once():
    seen = []
    cb = listener('files', ['before_fit', 'after_fit', 'cleanup_fit'], lambda cb, e: seen.append(e))
    bare = listener('bare', ['before_fit'], lambda cb, e: seen.append('bare'))
    learn = mk([cb, bare, Asks('after_batch', ['validate', 'get_preds'], 0, 'asks')])
    learn.validate()
    assert seen==['before_fit', 'bare', 'after_fit', 'cleanup_fit']
    seen.clear()
    cb.remove_on_fetch = True  # set up by the inner one, as it doesn't hear the outer
    learn.get_preds()
    assert seen[:2]==['bare', 'before_fit'] and seen.count('before_fit')==seen.count('cleanup_fit')==len(VALID) and seen.count('bare')==1

def test_point_10_a_mute_inside_ends_with_it_and_one_outside_holds():
    seen = []
    class Mutes(Callback):
        def before_validate(self):
            if len([o for o in self.learn.open if o.name=='evaluate'])==2: self.learn.other.run = False
    other = Callback(name='other', after_batch=lambda cb: seen.append(len([o for o in cb.learn.open if o.name=='evaluate'])))
    learn = mk([Mutes, other, Asks('after_batch', ['validate'], 0, 'asks')])
    learn.validate()
    assert seen==[1]*len(VALID)
    seen.clear()
    learn = mk([listener('mute', ['before_evaluate'], lambda cb, e: setattr(cb.learn.off, 'run', False)), Callback(name='off', after_batch=lambda cb: seen.append(1)),
        Asks('after_validate', ['validate'], 0, 'asks')])
    learn.validate()
    assert seen==[] and learn.off.run

# Point 11

@pytest.mark.every(2)
@covering(f=[lambda o: o.get_preds(), lambda o: o.predict(torch.ones(2)), lambda o: o.get_preds(dl=[x for x,_ in OTHER])],
    e=['before_fit', 'before_epoch', 'before_train', 'before_fetch', 'after_fetch', 'before_batch'])
def test_a_fit_with_metrics_may_predict_before_its_first_batch(e, f):
    for order in (-20, 0, 70):
        learn = mk(listener('look', [e], lambda cb, _: cb.training and f(cb.learn) or e in ('before_fit', 'before_epoch') and f(cb.learn) and None, order=order))
        learn.fit(1)
        assert learn.recorder.values[0][2] is not None

# Point 12: random numbers

class Augmented(Dataset):
    "Items with noise, of all kinds of generators"
    def __init__(self, own=None): self.rng,self.x = own,torch.linspace(-1, 1, 8)
    def __len__(self): return 8
    def __getitem__(self, i):
        noise = DRAWS[type(self.rng)](self.rng) if self.rng is not None else torch.randn(()).item()+random.random()+np.random.rand()  # noqa: NPY002
        return (self.x[i]+noise).repeat(2),self.x[i][None]

DRAWS = {random.Random: lambda g: g.random(), torch.Generator: lambda g: torch.randn((), generator=g).item(),
    np.random.Generator: lambda g: g.normal(), np.random.RandomState: lambda g: g.normal()}
OWN = dict(shared=lambda: None, python=lambda: random.Random(1), torch=lambda: torch.Generator().manual_seed(1),
    state=lambda: np.random.RandomState(1), philox=lambda: np.random.Generator(np.random.Philox(1)))

@pytest.mark.parametrize('own', [*OWN])
def test_each_evaluation_draws_new_numbers_and_does_not_change_training(own):
    other = mk(p=.5)
    def run(n, n_other=0):
        set_seed(3)
        ds = Augmented(OWN[own]())
        learn = mk(dls=(DataLoader(ds, 4, shuffle=True), DataLoader(ds, 4)), p=.5)
        preds = []
        def look(cb):
            for _ in range(n_other): other.get_preds()
            preds.extend(learn.get_preds()[0] for _ in range(n))
        learn.add_cb(Callback(after_batch=lambda cb: look(cb) if cb.training else None, before_epoch=look))
        look(None)
        learn.fit(2)
        look(None)
        return preds,weights(learn.model),learn.recorder.values,torch.get_rng_state(),random.getstate()
    one,two = run(2),run(2)
    check(one, two)  # the same program draws the same
    check(one[1:], run(0)[1:])
    check(one, run(2, 1))  # another learner in this process doesn't matter
    assert not any(torch.equal(a, b) for a,b in zip(one[0][::2], one[0][1::2], strict=True))

@pytest.mark.parametrize('cb', [MCDropoutCallback, lambda: Callback(before_batch=lambda cb: setattr(cb.learn, 'xb', (cb.x+torch.randn_like(cb.x),)))], ids=['dropout', 'noise'])
def test_point_12_monte_carlo_samples_differ(cb):
    def run():
        set_seed(5)
        learn = mk(p=.5)
        return [learn.get_preds(cbs=cb())[0] for _ in range(4)] + [learn.predict(torch.ones(2))[1], learn.validate(cbs=cb()), learn.validate(cbs=cb())]
    a,b = run(),run()
    check(a, b)
    assert len({str(o) for o in a})==len(a)

class Uncertain(Callback):
    "Monte-Carlo predictions after each epoch, and how far they are apart"
    order,epoch_columns = 49,{'spread':'less'}
    def after_epoch(self):
        preds = torch.stack([self.learn.get_preds(cbs=MCDropoutCallback())[0] for _ in range(3)])
        self.learn.recorder.row['spread'] = preds.std(0).mean().item()

@pytest.fixture
def resumable():
    def make(folder=None, every=1):
        set_seed(2)
        x = torch.randn(22, 2, generator=torch.Generator().manual_seed(0))
        ds = TensorDataset(x, x.sum(1, keepdim=True))
        stop = EarlyStoppingCallback('spread', patience=2)
        cbs = [Uncertain, stop, Callback(name='peek', before_step=lambda cb: cb.learn.count.batches%3==1 and cb.learn.validate(cbs=MCDropoutCallback()))]
        saver = [CheckpointCallback(folder, every_steps=every, every_epochs=1, keep=None)] if folder else []
        return mk([*cbs, *saver], dls=(DataLoader(ds, 5, shuffle=True), DataLoader(ds, 8)), p=.4)
    return make

def ended(learn): return weights(learn.model),learn.recorder.values,learn.recorder.raw_losses,learn.epoch,torch.get_rng_state(),vars(learn.count)

@pytest.mark.filterwarnings('ignore:.*Early')
def test_point_12_a_fit_that_stops_by_monte_carlo_is_the_same_from_each_checkpoint(resumable, tmp_path):
    whole = resumable()
    whole.fit(6)
    want = ended(whole)
    first = resumable(tmp_path/'run')
    first.fit(6)
    check(want, ended(first))  # saving draws nothing
    there = list_checkpoints(tmp_path/'run')
    assert len(there)>=6 and len(want[1])>2
    for i,c in enumerate(there[::len(there)//2]):
        folder = tmp_path/f'from{i}'
        folder.mkdir()
        (folder/c.path.name).symlink_to(c.path, target_is_directory=True)
        learn = resumable()
        for _ in range(i): learn.get_preds()  # what another process has evaluated has no part in it
        learn.fit(6, resume=folder, accept=True)
        check(want, ended(learn), c.path.name)

# Point 13

@pytest.mark.parametrize('where', ['learner', 'call', 'fit', 'attribute'])
def test_point_13_one_that_the_user_added_keeps_its_name(where):
    mine,seen = GatherPredsCallback(),[]
    look = Callback(name='look', before_validate=lambda cb: seen.append(cb.learn.gather_preds is mine))
    learn = mk([mine, look] if where=='learner' else [look])
    if where=='attribute': learn.gather_preds = mine = 'something else'
    if where=='fit': learn.fit(1, cbs=[mine, Callback(after_epoch=lambda cb: cb.learn.get_preds())])
    else: preds = learn.get_preds(cbs=mine if where=='call' else None)[0]
    assert seen and all(seen)
    if where in ('learner', 'call'): assert torch.equal(mine.preds, preds)

# Point 18: what nobody hears is not fired

def test_point_18_the_fast_path_equals_the_slow_one():
    long = Callback(before_batch=lambda cb: None)
    named = [dict(input=x) for x,_ in VALID]
    ragged = [*VALID, tuple(o[:1] for o in TRAIN[0])]
    for dl in (VALID, [list(o) for o in VALID], [x for x,_ in VALID], [(x,) for x,_ in VALID], named, [*VALID, *OTHER], ragged):
        for kw in ({}, dict(with_input=True), dict(with_preds=False), dict(with_targs=False), dict(cbs=MCDropoutCallback), dict(with_decoded=True)):
            a,b = (mk(dls=(TRAIN,VALID)) for _ in range(2))
            if dl is named: a.model = b.model = nn.Linear(2, 1)
            set_seed(1)
            short = a.get_preds(dl=dl, **kw)
            set_seed(1)
            check(short, b.get_preds(dl=dl, **kw | dict(cbs=[long, *([kw['cbs']] if 'cbs' in kw else [])])))

class Own(Learner):
    def _do_one_batch(self):
        super()._do_one_batch()
        self.pred = self.pred*0

def test_point_18_a_piece_of_the_loop_that_is_overridden_is_used():
    with torch.random.fork_rng(): learn = Own(DataLoaders(TRAIN, VALID), nn.Linear(2, 1), F.mse_loss)
    assert not learn.get_preds()[0].any()

@pytest.mark.parametrize('what', ['model', 'loader', 'cancel', 'late'])
def test_point_18_errors_are_the_same(what):
    seen = []
    class Fails(nn.Linear):
        def forward(self, x):
            if what=='model' and len(seen)==0: raise ValueError('bad')
            if what=='cancel': raise CancelBatchException
            if what=='late' and not seen:
                seen.append('added')
                learn.add_cb(Callback(name='late', before_fetch=lambda cb: seen.append('heard')))
            return super().forward(x)
    def load():
        yield VALID[0]
        if what=='loader': raise ValueError('bad')
        yield VALID[1]
    with torch.random.fork_rng(): model = Fails(2, 1)
    learn = Learner(DataLoaders(TRAIN, VALID), model, F.mse_loss, cbs=listener('told', ['after_exception'], lambda cb, e: seen.append([o.name for o in cb.learn.open][-1])))
    if what in ('cancel', 'late'):
        preds = learn.get_preds()[0]
        assert preds is None if what=='cancel' else len(preds)==8 and seen[-2:]==['heard']*2
        return
    with pytest.raises(ValueError, match='bad') as e: learn.get_preds(dl=load())
    notes = ' '.join(e.value.__notes__)
    assert seen==['batch' if what=='model' else 'fetch'] and ('in evaluation, batch 0 of validation' if what=='model' else 'got 1 of ? batches') in notes
    assert learn.batch is learn.xb is learn.pred is None and not learn.open

# Predictions fit their inputs, and what draws is known

@covering(2, order=[-5, 5], event=['before_batch', 'after_pred', 'after_loss'], at=[0, 1])
def test_point_10_inputs_are_those_of_the_predictions_when_a_batch_is_skipped(event, order, at):
    def skip(cb):
        if cb.learn.iter==at: raise CancelBatchException
    cb = Callback(name='skips', **{event: skip})
    cb.order = order
    learn = mk()
    x,preds,targs = learn.get_preds(0, with_input=True, cbs=cb)
    assert len(x)==len(preds)==len(targs)
    with torch.no_grad(): torch.testing.assert_close(learn.model(x), preds)  # of all at once, which rounds otherwise

class Draws(Dataset):
    "Draws from a generator of its own, in workers, too"
    def __init__(self): self.g = torch.Generator().manual_seed(1)
    def __len__(self): return 8
    def __getitem__(self, i): return torch.randn(2, generator=self.g),torch.zeros(1)

@pytest.mark.parametrize('workers', [0, 1])
def test_generators_of_datasets_draw_new_numbers_in_workers(workers):
    dl = DataLoader(Draws(), 4, num_workers=workers)
    learn = mk(dls=(TRAIN, dl))
    seen = [learn.get_preds(with_input=True)[0] for _ in range(3)]
    assert not any(torch.equal(seen[i], seen[i-1]) for i in range(3))

# Gradients in validation

class Slope(Module):
    "Whose prediction is the gradient of what it computes"
    def __init__(self):
        self.f = nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 1))
    def forward(self, x):
        x = x.detach().requires_grad_()
        return torch.autograd.grad(self.f(x).sum(), x, create_graph=True)[0].sum(1, keepdim=True)

def mk_slope(**kwargs):
    set_seed(0)
    return silent(Learner((TRAIN, VALID), Slope(), kwargs.pop('loss_func', F.mse_loss), lr=.05, **kwargs))

@pytest.mark.parametrize('f', [lambda o: o.fit(1), lambda o: o.validate(), lambda o: o.get_preds(), lambda o: o.predict(torch.ones(2))])
def test_gradients_in_validation_are_an_error_that_says_how(f):
    with pytest.raises(RuntimeError, match='require grad') as e: f(mk_slope())
    assert 'learn.valid_grad = True' in ' '.join(e.value.__notes__)

def test_validation_with_gradients_keeps_no_graph():
    import gc, weakref
    graphs = []
    def whole(pred, y): return (pred - y).abs()
    def own(pred, y): return torch.autograd.grad((pred - y).square().sum(), pred, retain_graph=True)[0].abs().mean()
    def watch(cb):
        gc.collect()
        alive = [r for r in graphs if r() is not None]
        assert not alive, 'a graph outlives its batch'
        if cb.learn.pred is not None: graphs.append(weakref.ref(cb.learn.pred.grad_fn))
    def look(cb): graphs.append(weakref.ref(cb.learn.pred))
    learn = mk_slope(metrics=[mae, own])
    learn.valid_grad = True
    learn.fit(1, cbs=Callback('look', before_batch=watch, after_loss=look))
    with torch.enable_grad():
        n = sum(len(o[0]) for o in VALID)
        x,y = (torch.cat(o) for o in zip(*VALID, strict=True))
        want = F.mse_loss(learn.model(x), y)
    assert learn.validate()[0]==pytest.approx(want.item()) and len(x)==n
    preds,targs,losses = learn.get_preds(with_loss=True)
    assert not preds.requires_grad and not losses.requires_grad and not learn.predict(x[0])[1].requires_grad
    torch.testing.assert_close(preds, learn.model(x).detach())
    assert all(p.grad is None for p in learn.model.parameters()) and torch.is_grad_enabled()
