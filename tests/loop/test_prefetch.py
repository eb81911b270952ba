"Prefetched batches: the same fit, bit for bit, and no thread left"
import os, re, signal, threading
from copy import deepcopy
from itertools import product
import pytest, torch
from helpers import Boom, check, covering, silent
from learnloop import (
    CancelEpochException, CancelFitException, CancelTrainException, Callback, CheckpointCallback, DataLoaders, Learner, Prefetch, TensorLoader, TimeLimit,
    Zip, set_seed)
from learnloop.data.begin import Endless, batches_draw
from learnloop.data.loaders import Until
from learnloop.loop.prefetch import prefetch_blocker
from torch import nn
from torch.nn import functional as F
from torch.utils.data import (BatchSampler, DataLoader, Dataset, IterableDataset, RandomSampler, Sampler, SubsetRandomSampler,
    TensorDataset, WeightedRandomSampler)

NAME = 'learnloop prefetch'
def threads(): return [t for t in threading.enumerate() if t.name==NAME]

@pytest.fixture(autouse=True)
def none_left():
    yield
    assert not threads()

def xy(n=14):
    x = torch.linspace(-1, 1, n)[:,None].repeat(1, 3)
    return x,(x.sum(1)>0).long()

class Items(Dataset):
    "Items that draw nothing, of which nobody knows; `at(i)` is called for each"
    def __init__(self, at=lambda i: None): self.xy,self.at = xy(),at
    def __len__(self): return 14
    def __getitem__(self, i):
        self.at(i)
        return self.xy[0][i],self.xy[1][i]

class Noisy(Items):
    def __getitem__(self, i): return self.xy[0][i]+.1*torch.randn(3),self.xy[1][i]

class Own(Sampler):
    def __iter__(self): return iter(torch.randperm(14).tolist())
    def __len__(self): return 14

class Mine(DataLoader):
    def __iter__(self): yield from super().__iter__()

class Stated(DataLoader):
    def state_dict(self): return {}
    def load_state_dict(self, sd): pass

class Stream(IterableDataset):
    def __iter__(self): return iter(Items())

def gen(): return torch.Generator().manual_seed(3)
def of(ds=None, **kwargs): return lambda: DataLoader(ds or TensorDataset(*xy()), 4, **kwargs)
LOADERS = dict(plain=of(), shuffled=of(shuffle=True), generator=of(shuffle=True, generator=gen()), dropped=of(shuffle=True, drop_last=True),
    own=of(Items(), shuffle=True), own_generator=of(Items(), shuffle=True, generator=gen()),
    rows=lambda: TensorLoader(xy(), 4, True), rows_generator=lambda: TensorLoader(xy(), 4, True, generator=gen()),
    exact=lambda: TensorLoader(xy(12), 4, True, generator=gen()),
    subset=lambda: DataLoader(TensorDataset(*xy()), 4, sampler=SubsetRandomSampler(range(3, 14), generator=gen())),
    weighted=lambda: DataLoader(TensorDataset(*xy()), 4, sampler=WeightedRandomSampler(torch.arange(1., 15), 14, generator=gen())))

def mk_learner(dl, cbs=(), valid=True):
    set_seed(3)
    model = nn.Sequential(nn.Linear(3, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(.3), nn.Linear(8, 2))
    return silent(Learner(DataLoaders(dl, of(shuffle=True)() if valid else None, device='cpu'), model, F.cross_entropy, lr=.01, cbs=cbs))

def end(learn):
    g = [o.get_state() for o in {id(o):o for o in (getattr(learn.dls.train, 'generator', None), getattr(learn.dls.train.sampler, 'generator', None)) if o}.values()]
    return ({k:v.clone() for k,v in learn.model.state_dict().items()}, learn.opt.state_dict()['state'], torch.get_rng_state(), learn.recorder.values,
        learn.recorder.raw_losses, vars(learn.count), g)

def ahead(dl, n=1): return Prefetch(n, draws=False if batches_draw(dl) else None)
def fresh(kind):
    "A loader with a generator as at the start"
    dl = LOADERS[kind]()
    for o in (dl, dl.sampler):
        if getattr(o, 'generator', None): o.generator.manual_seed(3)
    return dl

@pytest.mark.every(4)
@covering(kind=LOADERS, n=[1, 3], kwargs=[dict(n_epoch=3), dict(max_steps=6), dict(max_steps=6, cbs=TimeLimit(hours=1))])
def test_a_fit_is_the_same_with_prefetch(kind, n, kwargs):
    res = []
    for with_it in (False, True):
        learn = mk_learner(fresh(kind))
        seen = []
        def after_batch(cb, seen=seen): seen.append(len(threads()))
        more = [deepcopy(kwargs['cbs'])] if 'cbs' in kwargs else []
        learn.fit(**kwargs | dict(cbs=[Callback(name='seen', after_batch=after_batch), *more, *([ahead(learn.dls.train, n)] if with_it else [])]))
        assert bool(sum(seen))==with_it
        res.append(end(learn))
    check(*res)

def stop(at, e=Boom, name='between_batches'):
    def f(cb):
        if cb.learn.training and cb.learn.count.batches==at: raise e
    cb = Callback(name='stop', **{name:f})
    cb.read_only = True
    return cb

@pytest.mark.every(2, 1)
@covering(kind=['shuffled', 'generator', 'own_generator', 'rows_generator', 'exact', 'weighted'], at=[1, 2, 3, 4, 6],
    with_it=[(True, True), (False, True), (True, False)])
def test_a_run_resumes_exactly_with_prefetch_or_without(kind, at, with_it, tmp_path):
    def new(): return mk_learner(fresh(kind))
    whole = new()
    whole.fit(3)
    def cbs(yes): return [ahead(whole.dls.train)] if yes else []
    with pytest.raises(Boom): new().fit(3, resume=tmp_path, cbs=[stop(at), *cbs(with_it[0])])
    learn = new()
    torch.rand(5)
    learn.fit(3, resume=tmp_path, cbs=cbs(with_it[1]))
    check(end(learn), end(whole))

@pytest.mark.every(2)
@covering(kind=['shuffled', 'generator', 'rows'], at=[1, 3, 4, 7])
def test_ctrl_c_and_resume(kind, at):
    whole = mk_learner(fresh(kind))
    whole.fit(3)
    want,learn = end(whole),mk_learner(fresh(kind))
    def after_batch(cb):
        if cb.learn.training and cb.learn.count.batches==at: signal.raise_signal(signal.SIGINT)
    cb = Callback(name='stop', after_batch=after_batch)
    with pytest.raises(KeyboardInterrupt): learn.fit(3, cbs=[cb, Prefetch()])
    assert not threads()
    learn.resume()
    check(end(learn), want)

@pytest.mark.parametrize('saves', [False, True])
def test_ctrl_c_while_the_fit_waits_for_the_thread(saves, tmp_path):
    "It acts at once where the batch can be made once more, and else when that is made"
    waits,told = threading.Event(),[]
    def kill(i):
        if threading.current_thread().name==NAME and not told and i==learn.last:
            assert waits.wait(100)
            told.append(i)
            os.kill(os.getpid(), signal.SIGINT)
    def before_fetch(cb):
        if cb.learn.training and cb.learn.count.batches==2: waits.set()
    def new(at=lambda i: None, cbs=()):
        learn = mk_learner(DataLoader(Items(at), 4), cbs, valid=False)
        learn.last = 9
        return learn
    whole = new()
    whole.fit(3)
    want,learn = end(whole),None
    learn = new(kill, [CheckpointCallback(tmp_path)] if saves else [])
    look = Callback(name='look', before_fetch=before_fetch)
    look.read_only = True
    with pytest.raises(KeyboardInterrupt): learn.fit(3, cbs=[look, Prefetch(draws=False)])
    assert told and not threads() and learn.count.batches==(2 if saves else 3)
    learn.resume()
    check(end(learn), want)
    if saves:
        learn = new()
        learn.fit(3, resume=tmp_path, accept='data', cbs=Prefetch(draws=False))
        check(end(learn), want)

@pytest.mark.every(2)
@pytest.mark.parametrize('at,n', [*product((0, 5, 9, 13), (1, 3))])
def test_an_error_of_an_item_is_raised_at_its_batch_with_its_note(at, n):
    def fail(i):
        if i==at: raise Boom('in an item')
    res = []
    for with_it in (False, True):
        learn = mk_learner(DataLoader(Items(fail), 4))
        with pytest.raises(Boom) as e: learn.fit(1, cbs=Prefetch(n, draws=False) if with_it else None)
        res.append((e.value.__notes__, learn.count.batches, str(e.value), {k:v.clone() for k,v in learn.model.state_dict().items()}))
    check(*res)
    assert any(f'item {at}, of items' in o for o in res[1][0]) and not threads()

def test_a_forgotten_next_is_no_end():
    def fail(i):
        if i==9: next(iter([]))
    learn = mk_learner(DataLoader(Items(fail), 4))
    with pytest.raises(RuntimeError, match='StopIteration was raised while fetching item 9, of items 8 to 11'): learn.fit(1, cbs=Prefetch(draws=False))
    assert learn.count.batches==2

@pytest.mark.parametrize('e', [CancelTrainException, CancelEpochException, CancelFitException])
@pytest.mark.parametrize('name', ['between_batches', 'before_batch', 'after_batch'])
def test_a_cancelled_pass_leaves_nothing(e, name):
    res = []
    for with_it in (False, True):
        learn = mk_learner(fresh('generator'))
        def f(cb):
            if cb.learn.training and cb.learn.n_done==2: raise e
        alive = []
        cbs = [Callback(name='stop', **{name:f}), Callback(name='seen', after_train=lambda cb, alive=alive: alive.append(len(threads())))]
        learn.fit(3, cbs=[*cbs, *([Prefetch(2)] if with_it else [])])
        assert not sum(alive)
        res.append(end(learn)[:-1])
    check(*res)

@pytest.mark.parametrize('mk,why', [(of(Noisy()), 'items of Noisy may draw.*num_workers=1'), (of(collate_fn=lambda b: torch.utils.data.default_collate(b)), 'its collate_fn'),
    (lambda: DataLoader(Stream(), 4), 'items of Stream'), (lambda: [xy()], ''), (lambda: iter([xy()]), 'not a DataLoader'),
    (lambda: DataLoader(TensorDataset(*xy()), 4, sampler=RandomSampler(range(14), replacement=True, generator=gen())), 'during the pass'),
    (lambda: DataLoader(TensorDataset(*xy()), batch_sampler=BatchSampler(RandomSampler(range(14)), 4, False)), ''),
    (of(num_workers=1, shuffle=True, generator=gen()), 'during the pass'), (lambda: DataLoader(TensorDataset(*xy()), 4, sampler=Own()), 'its sampler may draw'),
    (lambda: Mine(TensorDataset(*xy()), 4), 'Mine.__iter__ may draw'), (lambda: Stated(TensorDataset(*xy()), 4), 'Stated has its own state'), (lambda: Endless(of()()), 'would lose prefetched batches'), (lambda: Until(of()(), bool), ''),
    (lambda: Zip(of()(), of()()), 'not a DataLoader')])
def test_prefetch_blockers(mk, why):
    got = prefetch_blocker(mk())
    assert bool(got)==bool(why)
    assert re.search(why, got)

def test_batches_that_draw_are_not_prefetched():
    def end_of(*cbs):
        learn = mk_learner(of(Noisy(), shuffle=True)(), valid=False)
        learn.fit(2, cbs=[*cbs, Callback(name='look', after_batch=lambda cb: threads() and 1/0)])
        return end(learn)
    with pytest.warns(UserWarning, match='Prefetch skips DataLoader: items of Noisy') as told: res = end_of(Prefetch())
    assert len(told)==1
    check(res, end_of())

def test_a_wrong_draws_argument_is_found():
    learn = mk_learner(of(Noisy(), shuffle=True)())
    with pytest.raises(ValueError, match=r'making a batch of Noisy drew random numbers \(torch\)'): learn.fit(1, cbs=Prefetch(draws=False))
    assert learn.count.batches==1
    for kwargs in (dict(draws=True), dict(n=0)):
        with pytest.raises(ValueError): Prefetch(**kwargs)

def test_a_muted_prefetch_fetches_nothing(tmp_path):
    cb = Prefetch()
    cb.run = False
    learn = mk_learner(fresh('plain'), [CheckpointCallback(tmp_path)])
    learn.fit(1, cbs=[cb, Callback(name='look', after_batch=lambda cb: threads() and 1/0)])

@pytest.mark.skipif(not torch.cuda.is_available(), reason='needs a GPU')
@pytest.mark.parametrize('kind', ['shuffled', 'own', 'list'])
def test_on_a_gpu_batches_are_there_already(kind):
    res = []
    for with_it in (False, True):
        set_seed(3)
        dl = [xy()]*3 if kind=='list' else fresh(kind)
        learn = Learner(DataLoaders(dl, device='cuda'), nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 2)), F.cross_entropy, lr=.01)
        where = []
        learn.fit(3, cbs=[Callback(name='look', after_fetch=lambda cb, where=where: cb.learn.batch and where.append(cb.learn.batch[0].device.type)),
            *([Prefetch(2, draws=False)] if with_it else [])])
        assert {*where}=={'cuda' if with_it else 'cpu'}
        res.append({k:v.clone() for k,v in learn.model.state_dict().items()})
    check(*res)
