"Several loaders: the batches of hand-written loops, and fits that resume in the middle"
import random, warnings
import pytest, torch
from helpers import Boom, Module, covering
from learnloop import Alternate, Callback, DataLoaders, Learner, LimitBatches, Zip, in_order, list_checkpoints, set_seed
from learnloop.data.batch import split_batch, to_device, unpack
from learnloop.data.begin import goes_by_state, inexact_reason
from learnloop.data.loaders import batch_len
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset
with warnings.catch_warnings(action='ignore'): from torchdata.stateful_dataloader import StatefulDataLoader

pytestmark = pytest.mark.filterwarnings('ignore:.set_vital. is deprecated')  # which torchdata calls

def tensors(n, seed):
    g = torch.Generator().manual_seed(seed)
    return TensorDataset(torch.randn(n, 3, generator=g), torch.randn(n, 1, generator=g))

class Noisy(Dataset):
    def __init__(self, n, seed): self.ds = tensors(n, seed)
    def __len__(self): return len(self.ds)
    def __getitem__(self, i):
        x,y = self.ds[i]
        return x + .1*torch.randn(3) + .1*random.random(),y

class Stream(IterableDataset):
    def __init__(self, n, seed): self.n,self.seed = n,seed
    def __iter__(self):
        w = torch.utils.data.get_worker_info()
        items = [*tensors(self.n, self.seed)]
        return iter(items[w.id::w.num_workers] if w else items)

class OwnState:
    "A loader whose position persists across passes, with a state"
    def __init__(self, n, seed): self.ds,self.n,self.at,self.left = tensors(4, seed),n,0,None
    def __iter__(self):
        if self.left is None: self.left = self.n
        while self.left:
            i,self.at,self.left = self.at%5%4,self.at+1,self.left-1
            yield tuple(o[i:i+1] for o in self.ds.tensors)
        self.left = None
    def state_dict(self): return dict(at=self.at, left=self.left)
    def load_state_dict(self, sd): self.at,self.left = sd['at'],sd['left']

class ByEpoch(Dataset):
    "Items that depend on the epoch"
    def __init__(self, n, seed): self.ds,self.epoch = tensors(n, seed),0
    def __len__(self): return len(self.ds)
    def set_epoch(self, e): self.epoch = e
    def __getitem__(self, i): return self.ds[i][0]*(1+self.epoch%7),self.ds[i][1]

def dl(ds=tensors, n=12, bs=2, seed=0, cls=DataLoader, **kw):
    if 'generator' in kw: kw['generator'] = torch.Generator().manual_seed(seed)
    return cls(ds(n, seed), batch_size=bs, **kw)

def mk_a(kind):
    kw = dict(shuffle=True)
    return dict(shuffled=lambda: dl(n=5, **kw), generator=lambda: dl(n=5, generator=1, **kw), noisy=lambda: dl(Noisy, 5, **kw), stream=lambda: dl(Stream, 5),
        own=lambda: OwnState(3, 5), epoch=lambda: dl(ByEpoch, 5, **kw), list=lambda: [*dl(n=5)], stateful=lambda: dl(n=5, cls=StatefulDataLoader, **kw),
        workers=lambda: dl(n=5, num_workers=2, **kw), persistent=lambda: dl(n=5, num_workers=1, persistent_workers=True, **kw))[kind]()
def mk_b(): return dl(Noisy, 13, seed=7, shuffle=True)

MADE = dict(zip=lambda a: Zip(a, mk_b(), stop='longest' if batch_len(a) else 1), short=lambda a: Zip(mk_b(), a), named=lambda a: Zip(a=a, b=mk_b(), stop='b'),
    turns=lambda a: Alternate(a, mk_b()), weighted=lambda a: Alternate(a=a, b=mk_b(), weights=dict(a=2, b=1.5), stop='b'),
    nested=lambda a: Zip(Alternate(a, dl(n=3, shuffle=True)), mk_b(), stop=1))

class Model(Module):
    def __init__(self):
        self.f = nn.Sequential(nn.Linear(3, 6), nn.Dropout(.4), nn.Linear(6, 1))
    def forward(self, *xs, a=None, b=None): return [self.f(x) for x in (*xs, a, b) if x is not None]
def loss_func(preds, *ys): return sum(F.mse_loss(p, y) for p,y in zip(preds, ys, strict=True))

FITS = dict(fit=dict(n_epoch=2), steps=dict(n_epoch=None, max_steps=9), per_epoch=dict(n_epoch=2, steps_per_epoch=5))
def mk_learner(mk, cbs=()):
    set_seed(3)
    loader,model = mk(),Model()
    return Learner((loader, [*dl(n=4)]), model, loss_func, torch.optim.AdamW, lr=.01, cbs=list(cbs))

def run(mk, fit, at=None, in_fetch=False, learn=None, cbs=(), **kw):
    "Fit; with `at`, until batch `at`; the learner, and the sources of its batches"
    learn = learn or mk_learner(mk, cbs)
    srcs = []
    def stop(cb):
        if cb.learn.training and cb.learn.count.batches==at: raise Boom
    def note(cb):
        if cb.learn.training: srcs.append(cb.learn.source)
    cb = Callback('stop', **{'before_fetch': stop}, after_batch=note)
    with learn.no_logging(), learn.no_bar(): learn.fit(**FITS[fit], cbs=cb, **kw)
    return learn,srcs
def params(learn): return [p.detach().clone() for p in learn.model.parameters()]

@pytest.mark.every(2)
@covering(kind=['shuffled','generator','noisy','stream','own','epoch','list','stateful','workers','persistent'], how=[*MADE, 'itself'], fit=FITS, early=[True, False], limit=[None, 2])
def test_a_fit_resumes_exactly(kind, how, fit, early, limit, tmp_path):
    def mk(): return MADE[how](mk_a(kind)) if how!='itself' else mk_a(kind)
    def cbs(): return [LimitBatches(limit)]*bool(limit)
    learn,srcs = run(mk, fit, cbs=cbs())
    n,want = learn.count.batches,params(learn)
    at = 3 if early else n-3
    with pytest.raises(Boom): run(mk, fit, at, cbs=cbs(), resume=tmp_path)
    assert list_checkpoints(tmp_path)[-1].manifest['next']=='train'
    got,rest = run(mk, fit, cbs=cbs(), resume=tmp_path)
    assert all(map(torch.equal, params(got), want)) and got.count.batches==n and rest==srcs[at:]

# Loops written by hand

class Two(Module):
    def __init__(self):
        self.f = nn.Linear(3, 1)
    def forward(self, labelled, unlabelled): return self.f(labelled),*map(self.f, unlabelled)
def semi(pred, y): return F.mse_loss(pred[0], y) + F.mse_loss(pred[1].detach(), pred[2])

def test_labelled_and_unlabelled_as_by_hand():
    def setup():
        set_seed(5)
        return dl(n=6, shuffle=True),dl(n=14, seed=1, shuffle=True),Two()
    few,many,model = setup()
    many = DataLoader(TensorDataset(many.dataset.tensors[0], many.dataset.tensors[0]+.1), 2, shuffle=True)
    opt = torch.optim.SGD(model.parameters(), .1)
    for _ in range(2):
        its = iter(many),iter(few)  # as `Zip` begins them: in the order that they are given
        for weak,strong in its[0]:
            try: x,y = next(its[1])
            except StopIteration:
                its = its[0],iter(few)
                x,y = next(its[1])
            semi(model(x, (weak, strong)), y).backward()
            opt.step()
            opt.zero_grad()
    few,many,mine = setup()
    many = DataLoader(TensorDataset(many.dataset.tensors[0], many.dataset.tensors[0]+.1), 2, shuffle=True)
    both = Zip(unlabelled=many, labelled=few, stop='unlabelled', n_inp=dict(unlabelled=2))
    Learner(both, mine, semi, torch.optim.SGD, lr=.1).fit(2)
    assert all(map(torch.equal, mine.parameters(), model.parameters()))

@pytest.mark.parametrize('mk,want', [
    (lambda: Zip([1,2,3], [4,5]), [(1,4), (2,5)]), (lambda: Zip([1,2,3], [4,5], stop='longest'), [(1,4), (2,5), (3,4)]),
    (lambda: Zip(a=[1,2,3], b=[4], stop='a'), [dict(a=1, b=4), dict(a=2, b=4), dict(a=3, b=4)]), (lambda: Zip([1,2], [3], stop=1), [(1,3)]),
    (lambda: Zip(Stream(3, 0), [4], stop='longest'), 3), (lambda: Zip([4], Stream(3, 0), stop=-1), 3), (lambda: Zip(Stream(2, 0), [1,2,3]), 2),
    (lambda: Alternate([1,2,3], [4]), [1,4,2,3]), (lambda: Alternate([1,2,3], [4], stop='longest'), [1,4,2,4,3,4]),
    (lambda: Alternate([1,2,3], [4,5], stop='shortest'), [1,4,2,5,3]), (lambda: Alternate([1,2,3], [4,5], stop=0, weights=[1, 2]), [4,1,5,4,2,5,4,3,5,4]),
    (lambda: Alternate(a=[1,2,3,4], b=[5,6], weights='lengths'), [1,2,5,3,4,6]), (lambda: Alternate([1,2], Stream(1, 0)), 3),
    (lambda: Alternate([None, 1], [2]), [None,2,1])])
def test_batches_and_lengths(mk, want):
    both = mk()
    for _ in range(2):
        got = [*both]
        assert got==want if isinstance(want, list) else len(got)==want
        assert batch_len(both) in (None, len(got)) and (batch_len(both) is not None or 'Stream' in str([type(o) for o in both.parts.values()]))

# What the model gets

def test_inputs_and_targets_of_each():
    x,y,u,v = (torch.full((2, 1), float(i)) for i in range(4))
    for both,xb,yb in ((Zip([(x, y)], [u]), (x, u), (y,)), (Zip([(x, y)], [(u, v)]), (x, u), (y, v)), (Zip([(x, y)], [(u, v)], n_inp=(1, 2)), (x, u, v), (y,)),
        (Zip(Zip([(x, y)], [[u]]), [(u, v)]), (x, u, u), (y, v)), (Zip([dict(a=x)], [dict(b=y)]), (dict(a=x), dict(b=y)), ())):
        b, = both
        assert isinstance(b, tuple) and unpack(b, torch.device('cpu'))==(xb, yb, 2)
        assert split_batch(to_device(b, 'meta'))[0][0] is not x and len(split_batch(to_device(b, 'meta'))[0])==len(xb)
    b, = Zip(l=[(x, y)], u=[(u, v)], n_inp=dict(u=2))
    assert b['u'][1] is v and unpack(b, torch.device('cpu'))==((dict(l=x, u=(u, v)),), (y,), 2) and list(split_batch(to_device(b, 'meta'))[0][0])==['l', 'u']
    b, = Zip(l=[dict(x=x, y=y)], u=[dict(x=u)])
    assert split_batch(b, targ='y')==((dict(l=dict(x=x), u=dict(x=u)),), (y,))

class Sum(Module):
    def __init__(self):
        self.f = nn.Linear(3, 1)
    def forward(self, *xs): return sum(map(self.f, xs))
def one_target(pred, y, *_): return F.mse_loss(pred, y)

def test_validation_and_predictions():
    both = Zip(dl(n=6, shuffle=True), dl(n=6, seed=1, shuffle=True, drop_last=True))
    learn = Learner((both, Zip(dl(n=6), dl(n=8, seed=1))), Sum(), one_target, metrics=one_target)
    learn.fit(1)
    assert learn.validate()[0]==pytest.approx(learn.validate()[1])
    set_seed(2)
    b,rng = DataLoaders(both).one_batch(),torch.get_rng_state()
    set_seed(2)
    assert torch.equal(rng, torch.get_rng_state()) and torch.equal(next(iter(both))[0][0], b[0][0])
    preds,targs = learn.get_preds(0)
    x,y = both.parts['0'].dataset.tensors
    assert torch.equal(targs[0], y)
    torch.testing.assert_close(preds, learn.model(x, both.parts['1'].dataset.tensors[0]).detach())
    assert in_order(learn.dls.valid) is learn.dls.valid and in_order(both) is not both

def test_evaluating_on_the_training_loader_does_not_change_its_pass():
    def fit(look, **kw):
        def check(cb):
            if look and cb.learn.training and cb.learn.iter==2: cb.learn.validate(dl=cb.learn.dls.train)
        set_seed(1)
        learn = Learner(Alternate(Zip(dl(Noisy, 6, shuffle=True, **kw), dl(ByEpoch, 4)), dl(n=4, shuffle=True), stop='longest'), Sum(), one_target, lr=.1)
        learn.fit(2, cbs=Callback(after_batch=check))
        return params(learn)
    for kw in ({}, dict(num_workers=1, persistent_workers=True)): assert all(map(torch.equal, fit(True, **kw), fit(False, **kw)))

# Resuming in the same process

@pytest.mark.parametrize('kw', [dict(keep_failed=True), {}])
@pytest.mark.parametrize('fit', FITS)
def test_a_fit_resumes_after_an_error_in_a_fetch(fit, kw):
    "One loader has yielded its batch, the second has started again, and the third fails"
    class Fails(Noisy):
        def __getitem__(self, i):
            if self.at and self.at.pop(): raise Boom
            return super().__getitem__(i)
        at = None
    def mk(): return Zip(dl(n=6, shuffle=True), OwnState(2, 0), Alternate(a=dl(n=2, shuffle=True), b=dl(Fails, 9, shuffle=True)), stop='longest')
    learn,srcs = run(mk, fit)
    want,first = params(learn),mk_learner(mk)
    first.dls.train.parts['2'].parts['b'].dataset.at = [True] + [False]*5
    with pytest.raises(Boom) as err: run(None, fit, learn=first, **kw)
    notes = ' '.join(err.value.__notes__)
    assert "in the loader 'b' of Alternate" in notes and "in the loader '2' of Zip" in notes and 'fetching item' in notes
    n = first.count.batches
    assert n==3
    with first.no_logging(), first.no_bar(): first.resume()
    assert all(map(torch.equal, params(first), want))

def test_persistent_workers_start_again_with_the_same_seeds():
    def mk(): return Zip(dl(n=6, num_workers=1, persistent_workers=True, shuffle=True), dl(n=8, shuffle=True))
    todo = [Boom, None]
    def fail(cb):
        if cb.learn.count.batches==1 and todo and (e := todo.pop(0)): raise e
    want,first = params(run(mk, 'fit')[0]),mk_learner(mk, [Callback('fail', before_fetch=fail)])
    with pytest.raises(Boom): run(None, 'fit', learn=first)
    with first.no_logging(), first.no_bar(): first.resume()
    assert all(map(torch.equal, params(first), want))

def test_a_batch_that_failed_is_replayed_with_its_source():
    seen = []
    def fail(cb):
        if cb.learn.training: seen.append((cb.learn.source, float(cb.learn.y.sum())))
        if len(seen)==2: raise Boom
    learn = Learner(Alternate(a=dl(n=4), b=dl(n=4, seed=1, shuffle=True)), nn.Linear(3, 1), F.mse_loss, cbs=Callback('fail', after_loss=fail))
    with pytest.raises(Boom): learn.fit(1, keep_failed=True)
    learn.replay_batch()
    assert seen[1]==seen[2] and seen[1][0]=='b' and learn.source is None

# What is refused

@pytest.mark.parametrize('f,exc,match', [
    (lambda: Zip(), ValueError, 'no loader'), (lambda: Zip([1], iter([2])), TypeError, "'1' of Zip is an iterator.*each batch only once"),
    (lambda: Zip(a=[1], b=3), TypeError, "'b' of Zip=int is not a loader"),
    (lambda: Zip([1], b=[2]), TypeError, 'not both'), (lambda: Alternate(a=[1], stop='b'), ValueError, "stop='b' of Alternate.*one of shortest, longest, a"),
    (lambda: Zip([1], stop=1), ValueError, 'or an index'),
    (lambda: Zip(labelled=[1], stop='labeled'), ValueError, 'longest, labelled'),
    (lambda: Zip(shortest=[1]), ValueError, 'named like a value of stop'), (lambda: Zip([1], stop=None), ValueError, 'stop=None'),
    (lambda: Zip([1], n_inp=(1, 2)), ValueError, 'one number for each'), (lambda: Zip(a=[1], n_inp=dict(b=2)), ValueError, "'b'.*one number for each of a"),
    (lambda: Zip([1], n_inp=0), ValueError, '1 or more'),
    (lambda: Alternate([1], [2], weights=[1]), ValueError, 'a positive number for each of 0, 1'),
    (lambda: Alternate([1], [2], weights=[1, 0]), ValueError, 'a positive number'),
    (lambda: Alternate([1], [2], weights=[1, float('nan')]), ValueError, 'positive'),
    (lambda: Alternate(Stream(1, 0), weights='lengths'), ValueError, 'with a length'),
    (lambda: [*Zip([1], [], stop=0)], ValueError, "'1' can't start again")])
def test_bad_input(f, exc, match):
    with pytest.raises(exc, match=match): f()

def test_the_same_loader_twice_is_refused():
    d = dl()
    with pytest.raises(ValueError, match='the same loader twice'): Zip(Alternate(d, [1]), d)

def test_an_error_names_the_empty_loader():
    with pytest.raises(ValueError, match="Zip yielded no batch, because 'b' ended: DataLoader over 1 items.*drop_last"): Learner(Zip(a=[1], b=dl(n=1, drop_last=True)), Sum(), one_target).fit(1)
    with pytest.raises(ValueError, match="Zip yielded no batch, because 'b' ended"): Learner(Zip(a=[1], b=dl(Stream, 0)), Sum(), one_target).fit(1)

def test_a_resumed_run_with_other_loaders_is_refused(tmp_path):
    def fit(bs, **kw): Learner(Zip(dl(n=12, bs=2), dl(n=12, bs=bs, drop_last=True)), Sum(), one_target, lr=.1).fit(1, resume=tmp_path, **kw)
    fit(2)
    with pytest.raises(ValueError, match='parts was.*accept='): fit(3)

def test_inexact_resuming_has_a_reason():
    assert inexact_reason(Zip(a=dl(), b=dl(Noisy, num_workers=1, persistent_workers=True))).startswith("of loader 'b', its workers persist")
    assert not inexact_reason(Zip(dl(), Alternate(dl(num_workers=2)))) and goes_by_state(Zip(dl()))
