"Any number of processes share the same batches in the same order"
import math, numpy as np, pytest, random, torch
from collections import namedtuple
from functools import partial
from learnloop.data.batch import find_bs
from learnloop.data.begin import iter_from
from learnloop.data.loaders import batch_len
from learnloop.data.rng import read_rngs, write_rngs
from learnloop.data.multi import Alternate, Zip
from learnloop.data.tensors import TensorLoader
from learnloop.scale.share import _is_sharded, _part_of, narrow_batch, share
from share_team import Stand, each_rank, passes, seed
from torch.utils.data import DataLoader, Dataset, IterableDataset, RandomSampler, TensorDataset, WeightedRandomSampler
from torch.utils.data.distributed import DistributedSampler

class Items(Dataset):
    def __init__(self, n): self.n = n
    def __len__(self): return self.n
    def __getitem__(self, i):
        if not 0<=i<self.n: raise IndexError
        return i

class AtStart:
    "A batch sampler that shuffles when it begins"
    def __init__(self, n, bs): self.n,self.bs = n,bs
    def __len__(self): return math.ceil(self.n/self.bs)
    def __iter__(self):
        idxs = list(range(self.n))
        random.shuffle(idxs)
        return iter([idxs[i:i+self.bs] for i in range(0, self.n, self.bs)])
class AtFirst(AtStart):
    "One that shuffles when it is first asked"
    def __iter__(self): yield from super().__iter__()
class Lazy(AtStart):
    "One that draws each batch when it is asked for"
    def __iter__(self):
        for _ in range(len(self)): yield torch.randint(self.n, (self.bs,)).tolist()

def alone(mk, n=2):
    "Return the batches of one process"
    seed(0)
    dl,res = mk(),[]
    for _ in range(n):
        res.append([b.tolist() for b in dl])
        torch.rand(1)
    return res

def gen(): return torch.Generator().manual_seed(5)
def dl_of(n, **kw): return lambda: DataLoader(Items(n), **kw)
LOADERS = dict(
    plain=lambda n,bs: dl_of(n, batch_size=bs),
    shuffled=lambda n,bs: dl_of(n, batch_size=bs, shuffle=True),
    drop_last=lambda n,bs: dl_of(n, batch_size=bs, shuffle=True, drop_last=True),
    own_generator=lambda n,bs: lambda: DataLoader(Items(n), batch_size=bs, shuffle=True, generator=gen()),
    replacement=lambda n,bs: lambda: DataLoader(Items(n), batch_size=bs, sampler=RandomSampler(range(n), replacement=True)),
    weighted=lambda n,bs: lambda: DataLoader(Items(n), batch_size=bs, sampler=WeightedRandomSampler(torch.arange(1., n+1), n)),
    at_start=lambda n,bs: lambda: DataLoader(Items(n), batch_sampler=AtStart(n, bs)),
    at_first=lambda n,bs: lambda: DataLoader(Items(n), batch_sampler=AtFirst(n, bs)))

def together(per_rank, n_pass):
    "Join the parts of the ranks to whole batches"
    res = []
    for p in range(n_pass):
        rows = [r[p] for r in per_rank]
        assert len({len(b) for b,_,_ in rows})==1 and len({tuple(s) for _,s,_ in rows})==1 and len({c for *_,c in rows})==1
        sizes = rows[0][1]
        res.append([[v for r,(b,_,_) in enumerate(rows) if r<n for v in b[i].tolist()] for i,n in enumerate(sizes)])
        assert [len(b) for b in res[-1]]==sizes
    return res

@pytest.mark.parametrize('kind', LOADERS)
@pytest.mark.filterwarnings('ignore:a batch of .* items is skipped')
def test_the_parts_put_together_are_the_batches_of_one_process(kind):
    for n,bs in ((3,5), (11,5), (24,6)):
        mk = LOADERS[kind](n, bs)
        want = alone(mk)
        for world in (1, 2, 5) if n==11 else (2, 5):
            for training in (False, True):
                got = together(each_rank(mk, world, passes(), training), 2)
                assert got==[[b for b in p if not training or len(b)>=world] for p in want], (n, bs, world, training)
                dl = share(mk(), Stand(0, world, []), training)
                if kind[:3]!='at_': assert len(dl)==len(got[0])

@pytest.mark.parametrize('rows', [None, torch.arange(2, 13)])
def test_each_process_takes_its_rows_of_tensors(rows):
    def theirs():
        ds = TensorDataset(torch.arange(13) if rows is None else rows)
        return DataLoader(ds, batch_size=4, shuffle=True, collate_fn=lambda items: torch.stack([i for i, in items]))
    class Ours(TensorLoader):
        def __iter__(self): return super().__iter__()
    want = alone(theirs)
    for world in (2, 3):
        def taken(dl, team): return [([b for b, in bs], sizes, crc) for bs,sizes,crc in passes()(dl, team)]
        for cls in (TensorLoader, Ours):  # the second one's batches are cut
            mk = partial(cls, (torch.arange(13),), 4, True, rows=rows)
            assert together(each_rank(mk, world, taken, training=False), 2)==want

@pytest.mark.parametrize('n', [1, 7, 8, 16, 17, 24])
@pytest.mark.filterwarnings('ignore:a batch of .* items is skipped')
def test_batches_per_process_are_put_together(n):
    mk = dl_of(n, batch_size=4, shuffle=True)
    items = [sum(p, []) for p in alone(mk)]
    for world in (2, 3):
        got = together(each_rank(mk, world, passes(), False, per_process=True), 2)
        assert got==[[p[i:i+4*world] for i in range(0, n, 4*world)] for p in items]
        dl = share(mk(), Stand(0, world, []), True, per_process=True)
        assert len(dl)==sum(len(b)>=world for b in got[0])

def test_training_skips_a_batch_with_fewer_items_than_processes_and_warns_once():
    with pytest.warns(UserWarning, match='a batch of 1 items is skipped in training, since each of the 3 processes') as ws:
        each_rank(dl_of(10, batch_size=3, shuffle=True), 3, passes(3))
    assert len(ws)==1

def test_batches_too_small_for_all_processes_are_refused():
    with pytest.raises(ValueError, match='batch_size=2 with 3 processes.*per_process=True'): share(dl_of(10, batch_size=2)(), Stand(0, 3, []), True)
    share(dl_of(10, batch_size=2)(), Stand(0, 3, []), False)

def test_the_checksum_differs_for_a_sampler_that_draws_lazily():
    crcs = [r[0][2] for r in each_rank(lambda: DataLoader(Items(20), batch_sampler=Lazy(20, 4)), 2, passes(1))]
    assert crcs[0]!=crcs[1]
    dl = share(DataLoader(Items(20), batch_sampler=Lazy(20, 4)), Stand(0, 2, []), True)
    assert not dl.is_sure and share(dl_of(20, batch_size=4, shuffle=True)(), Stand(0, 2, []), True).is_sure

def test_other_ranks_keep_their_random_state():
    def _f(dl, team):
        state = torch.get_rng_state(),random.getstate()
        list(dl)
        return torch.equal(torch.get_rng_state(), state[0]) and random.getstate()==state[1]
    assert each_rank(dl_of(20, batch_size=4, shuffle=True), 3, _f)==[False, True, True]

class Noisy(Items):
    gen = None
    def __getitem__(self, i):
        own = torch.rand(1, generator=self.gen).item() if self.gen else random.random()
        return torch.tensor([i, torch.rand(1).item(), np.random.rand(), own])  # noqa: NPY002

def by_seed(i): np.random.seed(torch.initial_seed()%2**32)  # noqa: NPY002
def by_number(i):
    torch.manual_seed(i)
    np.random.seed(i+2)  # noqa: NPY002
    random.seed(i+4)
def own_generator(i): torch.utils.data.get_worker_info().dataset.gen = torch.Generator().manual_seed(torch.initial_seed())

@pytest.mark.every(2)
@pytest.mark.parametrize('init,persistent', [(None, False), (None, True), (by_seed, False), (by_number, False), (own_generator, False)])
def test_workers_of_each_rank_draw_other_numbers(init, persistent):
    mk = lambda: DataLoader(Noisy(8), batch_size=4, num_workers=2, shuffle=True, persistent_workers=persistent, worker_init_fn=init)
    res = each_rank(mk, 2, passes(2 if init is None else 1))
    for p in range(len(res[0])):
        a,b = (torch.cat(r[p][0]) for r in res)
        assert sorted(torch.cat([a, b])[:,0].tolist())==list(range(8))
        assert [len(o.unique()) for o in torch.cat([a, b]).T]==[8]*4
    seed(0)
    assert [b[:2,0].tolist() for b in mk()]==[b[:,0].tolist() for b in res[0][0][0]]

# ---- batches as they come

Named = namedtuple('Named', 'x y')
@pytest.mark.parametrize('b,want', [(torch.arange(5), [3,4]), (np.arange(5), [3,4]), (list('abcde'), ['d','e']), ([3,4,5,6,7], [6,7])])
def test_batches_of_many_types_are_split(b, want):
    at = _part_of(5, 1, 2)
    def _list(o): return o if isinstance(o, list) else o.tolist()
    assert _list(narrow_batch(b, at, 5))==want
    nested = narrow_batch(Named(b, dict(y=[torch.zeros(5, 2), 'all'], mask=torch.zeros(3, 3))), at, 5)
    assert type(nested) is Named and _list(nested.x)==want
    assert nested.y['y'][0].shape==(2,2) and nested.y['y'][1]=='all' and nested.y['mask'].shape==(3,3)

def test_a_batch_that_cannot_be_split_is_refused():
    with pytest.raises(TypeError, match="can't be split.*is_sharded"): narrow_batch(dict(n=4, o=object()), slice(2), 4)

def test_a_list_of_as_many_equal_images_as_items_is_ambiguous():
    images = [torch.rand(3, 4, 4) for _ in range(3)]
    with pytest.warns(UserWarning, match='a list of 3 equal tensors.*may be 3 items, or 3 inputs'): narrow_batch((images, torch.zeros(3)), slice(2), 3)
    x,_ = narrow_batch((images[:2], torch.zeros(2)), slice(1), 2)
    assert len(x)==1 and x[0] is images[0]
    narrow_batch((tuple(images), torch.zeros(3)), slice(2), 3)

def test_joined_lists_have_the_items_of_all_batches():
    batches = [([torch.full((3, 2), float(i)), torch.full((3, 2), i+.5)], torch.zeros(2)) for i in range(4)]
    for r,got in enumerate(each_rank(lambda: batches, 2, lambda dl, team: [b for b in dl], per_process=True)):
        assert [[float(o[0, 0]) for o in x] for x,_ in got]==[[i+r, i+r+.5] for i in (0, 2)]

class Stream(IterableDataset):
    def __init__(self, n, draw=None): self.n,self.draw = n,draw
    def __iter__(self):
        idxs = list(range(self.n))
        if self.draw: random.shuffle(idxs)
        for i in idxs: yield i if self.draw!='noise' else i+torch.rand(1).item()

def chunks(n, bs): return [torch.arange(i, min(i+bs, n)) for i in range(0, n, bs)]
class Foreign:
    "A custom loader that shuffles when its first batch is requested"
    def __init__(self, n, bs): self.n,self.bs = n,bs
    def __iter__(self): yield from (torch.arange(self.n)[torch.randperm(self.n)]).split(self.bs)

@pytest.mark.parametrize('mk', [lambda: chunks(11, 4), lambda: Foreign(11, 4), lambda: DataLoader(Stream(11), 4), lambda: DataLoader(Stream(11, 'order'), 4),
    lambda: DataLoader(Stream(11, 'order'), 4, num_workers=1), lambda: DataLoader(Items(11), batch_size=None, sampler=[[1,2,3],[4,5]], collate_fn=torch.tensor)],
    ids=['list', 'foreign', 'stream', 'shuffled', 'workers', 'index_lists'])
def test_batches_of_other_loaders_are_split(mk):
    class Whole(Items): __getitem__ = lambda self, i: i
    if isinstance(dl := mk(), DataLoader) and dl.batch_sampler is None and isinstance(dl.dataset, Items):
        mk = lambda: DataLoader(Whole(11), batch_size=None, sampler=[[1,2,3],[4,5]], collate_fn=torch.tensor)
    want = alone(mk)
    for world in (2, 3):
        got = together(each_rank(mk, world, passes(), training=False), 2)
        assert got[0]==want[0] and [sorted(sum(p, [])) for p in got]==[sorted(sum(p, [])) for p in want]

def several(cls, *mks): return lambda: cls(**dict(zip('abc', (mk() for mk in mks), strict=False)))
DRAWN = {k:f(11, 4) for k,f in LOADERS.items()} | dict(foreign=lambda: Foreign(11, 4), stream=lambda: DataLoader(Stream(11, 'order'), 4))
DRAWN |= dict(alternate=several(Alternate, DRAWN['shuffled'], DRAWN['foreign'], DRAWN['stream']), zip=several(Zip, DRAWN['foreign'], DRAWN['at_first'], DRAWN['stream']),
    nested=several(Alternate, several(Zip, DRAWN['at_start'], DRAWN['stream']), DRAWN['shuffled']))

@pytest.mark.parametrize('kind', DRAWN)
def test_the_order_is_that_of_one_process_whatever_other_code_draws(kind):
    "Callbacks draw before the first batch, and dropout draws after each one: others in each process"
    def _f(dl, team=None):
        res,rank = [],team.rank if team else 0
        for _ in range(2):
            it = iter(dl)
            for i in range(99):
                torch.rand(1+rank)
                random.seed(random.random()+rank)
                if (b := next(it, None)) is None: break
                res.append((dl.n_items(i) if team else find_bs(b), [o.tolist() for o in (b.values() if isinstance(b, dict) else [b])]))
        return res,dl.crc if team else None
    seed(0)
    want,_ = _f(DRAWN[kind]())
    (a,crc),(b,other) = each_rank(DRAWN[kind], 2, _f, training=False)
    assert crc==other and [(n, [p+q for p,q in zip(x, y, strict=True)]) for (n,x),(_,y) in zip(a, b, strict=True)]==want

def test_the_checksum_differs_for_a_stream_that_shards_itself_undeclared():
    class Mine(IterableDataset):
        def __init__(self, rank): self.rank = rank
        def __iter__(self): return iter([torch.tensor([i+.5]) for i in range(self.rank, 12, 2)])
    said = []
    a,b = (share(DataLoader(Mine(r), 2), Stand(r, 2, said), True) for r in range(2))
    list(a), list(b)
    assert a.crc!=b.crc

@pytest.mark.parametrize('a,b', [(['a','b'], ['a','c']), (dict(x=['a'], y=torch.ones(2)), dict(x=['a'], y=torch.zeros(2))), ((np.arange(3),), (np.arange(1, 4),))])
def test_different_batches_have_different_checksums(a, b):
    crcs = []
    for o in (a, a, b):
        dl = share([o], Stand(0, 1, []), False)
        list(dl)
        crcs.append(dl.crc)
    assert crcs[0]==crcs[1]!=crcs[2]

def test_lists_of_different_lengths_are_refused():
    said = []
    list(share(chunks(8, 4), Stand(0, 2, said), True))
    with pytest.raises(ValueError, match='list has 2 batches on rank 0, and 3 on rank 1'): list(share(chunks(12, 4), Stand(1, 2, said), True))

# ---- loaders that are already sharded

def test_a_distributed_sampler_is_kept():
    ds = Items(10)
    sampler = DistributedSampler(ds, 3, 1, shuffle=False)
    dl = share(DataLoader(ds, 2, sampler=sampler), Stand(1, 3, []), True)
    assert torch.cat(list(dl)).tolist()==list(sampler) and dl.n_items(0) is None and not dl.is_sure and len(dl)==2
    with pytest.raises(ValueError, match='DistributedSampler is for process 1 of 3, but this is 0 of 2'): share(DataLoader(ds, 2, sampler=sampler), Stand(0, 2, []), True)
    with pytest.warns(UserWarning, match='repeats 2 items'): share(DataLoader(ds, 2, sampler=DistributedSampler(ds, 3, 0)), Stand(0, 3, []), False)

def test_a_loader_that_declares_is_sharded_is_kept():
    class Mine(Stream): is_sharded = True
    assert _is_sharded(DataLoader(Mine(4))) and not _is_sharded(DataLoader(Stream(4))) and not _is_sharded([1])
    assert [b.tolist() for b in share(DataLoader(Mine(5), 2), Stand(1, 2, []), True)]==[[0,1],[2,3],[4]]
    f = Foreign(5, 2)
    f.is_sharded = True
    dl = share(f, Stand(1, 2, []), True)
    assert torch.cat(list(dl)).sort().values.tolist()==list(range(5)) and batch_len(dl) is None and not dl.is_sure

# ---- loaders of loaders

@pytest.mark.parametrize('at', [0, 1, 3, 5, 7])
@pytest.mark.parametrize('how', ['again', 'longest', 'nested'])
def test_several_loaders_resume_where_they_were(how, at):
    def mk():
        a,b,c = (DataLoader(Items(n), m, shuffle=True) for n,m in ((9, 3), (40, 5), (14, 2)))
        if how=='nested': return Alternate(x=Zip(a=a, b=b, stop='longest'), c=c)
        return Zip(a=a, b=b, stop='b' if how=='again' else 'longest')
    def _of(b): return [o.tolist() for o in (b.values() if isinstance(b, dict) else [b])]
    def _whole(dl, team): return [_of(b) for _ in range(2) for b in dl]
    states = []
    def _stop(dl, team):
        it = iter(dl)
        for _ in range(at): next(it)
        states.append((dl.state_dict(), read_rngs()))
    def _go_on(dl, team):
        dl.load_state_dict(states[team.rank][0])
        it = iter(dl)
        write_rngs(states[team.rank][1])  # as a resumed fit does
        return [_of(b) for b in it]
    want = each_rank(mk, 2, _whole)
    each_rank(mk, 2, _stop)
    n = len(want[0])//2 if how!='nested' else None
    for w,got in zip(want, each_rank(mk, 2, _go_on), strict=True): assert got==w[at:at+len(got)] and (n is None or len(got)==max(n-at, 0)), how

# ---- resuming in the middle of a pass

@pytest.mark.parametrize('workers', [0, 2])
@pytest.mark.parametrize('n', [0, 1, 2])
def test_a_pass_begins_at_any_batch(n, workers):
    ds = TensorDataset(torch.arange(11))
    mk = lambda: DataLoader(ds, batch_size=4, shuffle=True, num_workers=workers)
    want = [[b.tolist() for b, in p] for p in [r[0][0] for r in each_rank(mk, 2, passes(1))]]
    def _f(dl, team):
        batches,how = iter_from(dl, n)
        assert how=='skipping indices'
        return [(b.tolist(), dl.n_items(i+n)) for i,(b,) in enumerate(batches)]
    res = each_rank(mk, 2, _f)
    assert [[b for b,_ in r] for r in res]==[w[n:] for w in want] and [s for _,s in res[0]]==[4,4,3][n:]
