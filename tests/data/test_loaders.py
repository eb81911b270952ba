"Kinds of batches and loaders: what the loader keeps and refuses, and that looking at a batch leaves no trace"
import random
from collections import OrderedDict, UserDict, defaultdict, namedtuple
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from types import MappingProxyType, SimpleNamespace
import numpy as np, pytest, torch
from torch import tensor
from torch.nn.utils.rnn import pack_sequence, unpack_sequence
from torch.utils.data import BatchSampler, DataLoader, IterableDataset, RandomSampler, TensorDataset
from helpers import plainly
from learnloop.data.batch import *
from learnloop.data.rng import *
from learnloop.data.loaders import *
from learnloop.data.begin import Endless
from learnloop import Learner

Pair = namedtuple('Pair', 'x y')

@dataclass(frozen=True)
class Frozen:
    x: torch.Tensor
    name: str = 'a'
    n: int = field(init=False, default=3)

class Stream(IterableDataset):
    def __init__(self, n=10): self.n = n
    def __iter__(self): return iter(torch.arange(self.n))

class SizedStream(Stream):
    def __len__(self): return self.n

class NoLen:
    def __len__(self): raise NotImplementedError
    def __iter__(self): return iter([1])

def ds(n=10): return TensorDataset(torch.arange(n))
def first(o): return torch.stack([i[0] for i in o])

def x(*shape): return torch.ones(*shape or (4,2))

# Batches

BATCHES = dict(tensor=x(), list=[x(),x()], tuple=(x(),x()), dict=dict(x=x(), s='a'), ordered=OrderedDict(x=x()),
    user=UserDict(x=x()), default=defaultdict(list, x=x()), named=Pair(x(),x()), frozen=Frozen(x()),
    nested=[dict(a=(x(),)), Pair(Frozen(x()),None), 'a', 1],
    proxy=MappingProxyType(dict(x=x())), parameter=[torch.nn.Parameter(x())], packed=pack_sequence([x(4), x(2)]))

def leaves(b):
    "All tensors in `b`, found by other means than the library's"
    if isinstance(b, torch.Tensor): yield b
    elif isinstance(b, list|tuple):                   yield from (t for o in b for t in leaves(o))
    elif hasattr(b, 'keys'):                          yield from (t for k in b.keys() for t in leaves(b[k]))
    elif isinstance(b, Frozen):                       yield b.x

@pytest.mark.parametrize('k', [o for o in BATCHES if o!='packed'])  # whose sizes stay on the CPU: below
def test_to_device_moves_all_and_keeps_type(k):
    b = BATCHES[k]
    before = describe(b)
    new = to_device(b, 'meta')
    assert type(new) is type(b) or isinstance(b, torch.Tensor)
    assert list(leaves(b)) and all(t.is_meta for t in leaves(new)) and not any(t.is_meta for t in leaves(b))
    assert describe(new).replace(' meta', '')==before==describe(b)

def test_default_device_has_index(monkeypatch):
    monkeypatch.setattr(torch.accelerator, 'current_accelerator', lambda check_available=False: torch.device('cuda'))
    monkeypatch.setattr(torch.accelerator, 'current_device_index', lambda: 1)
    assert default_device()==torch.device('cuda:1')==DataLoaders([1], device='cuda').device
    assert DataLoaders([1], device='cuda:0').device==torch.device('cuda:0')
    assert DataLoaders([1], device='cpu').device==torch.device('cpu')

@pytest.mark.parametrize('b,n_inp,want', [
    ((1,2), None, ((1,),(2,))), ([1,2], None, ((1,),(2,))), (Pair(1,2), None, ((1,),(2,))), ((1,), None, ((1,),())),
    ((1,2,3), None, ((1,2),(3,))), ((1,2,3), 1, ((1,),(2,3))), ((1,2,3), 3, ((1,2,3),())), ((1,None), None, ((1,),(None,))),
    (dict(a=1), None, (({'a':1},),())), (UserDict(a=1), 1, ((UserDict(a=1),),())), ('ab', None, (('ab',),())),
    (None, None, ((None,),()))])
def test_split_batch(b, n_inp, want):
    got = split_batch(b, n_inp)
    assert got==want and [type(o) for o in got]==[tuple,tuple]

@pytest.mark.parametrize('b,n_inp,match', [
    ((), None, r'empty batch \(\).*collate_fn'), ([], 1, 'empty batch'),
    ((x(),1), 3, r'n_inp=3 for a batch of 2, \(float32 \(4, 2\), int\).*from 1 to 2'),
    ((1,2), 0, 'n_inp=0'), ((1,2), -1, 'n_inp=-1')])
def test_split_batch_refuses(b, n_inp, match):
    with pytest.raises(ValueError, match=match): split_batch(b, n_inp)

@pytest.mark.parametrize('b,want', [
    (x(), 4), ((x(3),x(5)), 5), ([x()], 4), (dict(s='abc', x=x()), 4), (Pair(None, x()), 4), (Frozen(x(6)), 6),
    (BATCHES['packed'], 2), ((BATCHES['packed'], x(2)), 2), ([tensor(1.), x(7)], 7), ([[], [dict(a=x(5))]], 1),
    (['a','b','c'], 3), ('abc', 3), ((), 0), (3, 1), (None, 1), (tensor(3.), 1), ([tensor(3.)], 1)], ids=plainly)
def test_find_bs(b, want): assert find_bs(b)==want

@pytest.mark.parametrize('bs,want', [
    ([x(2,3), x(1,3)], x(3,3)), ([tensor(1.), tensor(2.)], tensor([1.,2.])), ([x(0,3), x(2,3)], x(2,3)), (iter([x(1)]), x(1)),
    ([(x(2),), (x(1),)], (x(3),)), ([[x(2)], [x(1)]], [x(3)]), ([(), ()], ()), ([dict(a=x(2)), dict(a=x(1))], dict(a=x(3))),
    ([dict(a=1, b=x(1)), dict(b=x(1), a=2)], dict(a=[1,2], b=x(2))), ([Pair(x(2), 'a'), Pair(x(1), 'b')], Pair(x(3), ['a','b'])),
    ([1, 2], [1, 2]), ([None, None], [None, None]), ([['a','b'], ['c']], ['a','b','c'])], ids=plainly)
def test_to_concat(bs, want):
    got = to_concat(bs)
    assert type(got) is type(want)
    if isinstance(want, dict): assert got.keys()==want.keys()
    else: assert describe(got)==describe(want)
    assert all(torch.equal(a, b) for a,b in zip(leaves(got), leaves(want), strict=True))

def test_to_concat_along_another_dim():
    assert to_concat([x(2,3), x(2,4)], dim=1).shape==to_concat([x(2,3), x(2,4)], dim=-1).shape==(2,7)
    assert to_concat([Frozen(x(2)), Frozen(x(1))]).x.shape==(3,)
    layers,steps = [x(1, 3, 2), x(1, 3, 2)],[x(5, 3), x(5, 2)]  # of an RNN's state, and in time
    assert to_concat(layers, sizes=[3, 3]).shape==(1, 6, 2) and to_concat(steps, sizes=[3, 2]).shape==(5, 5)
    assert to_concat([x(0, 3), x(2, 3)], sizes=[0, 2]).shape==(2, 3)
    nodes,tokens = [x(5, 3), x(4, 3)],[x(6, 3), x(6, 3)]  # of 3 graphs each, and of 3 sequences of 2 tokens
    assert to_concat(nodes, sizes=[3, 3]).shape==(9, 3) and to_concat(tokens, sizes=[3, 3]).shape==(12, 3)

def test_to_concat_joins_packed_sequences():
    seqs = [torch.arange(1., 1+n) for n in (2, 1, 3, 4, 2)]
    packed = [pack_sequence(seqs[:3], False), pack_sequence(seqs[3:])]
    assert all(map(torch.equal, unpack_sequence(to_concat(packed)), seqs))

@pytest.mark.parametrize('bs,dim,match', [
    ([x(2,3), x(2,4)], 0, r'\(2, 3\), \(2, 4\) along dim 0.*concat_dim'), ([x(2), x(2,2)], 0, r'\(2,\), \(2, 2\)'),
    ([x(2), tensor(1.)], 0, r'\(2,\), \(\)'), ([x(2), x(2)], 1, 'along dim 1'), ([], 0, 'no batches'),
    ([(x(2),x(2)), (x(2),)], 0, r'different structures: \(float32 \(2\), float32 \(2\)\), \(float32 \(2\)\)'),
    ([dict(a=x(1)), dict(b=x(1))], 0, 'different structures'), ([(x(1),), x(1)], 0, 'different structures'),
    ([[x(1)], (x(1),)], 0, 'different structures')])
def test_to_concat_refuses(bs, dim, match):
    with pytest.raises(ValueError, match=match): to_concat(bs, dim)

# Loaders

LOADERS = dict(list=lambda: [1,2,3], tuple=lambda: (1,2,3), generator=lambda: (i for i in range(3)), loader=lambda: DataLoader(ds(), 4),
    unsized=lambda: DataLoader(Stream(), 4), sized=lambda: DataLoader(SizedStream(), 4), no_len=NoLen, endless=lambda: Endless([1,2]))

@pytest.mark.parametrize('kind,want', list(zip(LOADERS, (3,3,None,3,None,3,None,None), strict=True)))
def test_any_iterable_is_a_loader(kind, want):
    dl = LOADERS[kind]()
    dls = DataLoaders(dl, [1])
    assert batch_len(dl)==want and dls.train is dl is dls[0] is dls['train'] is dls.loaders[0]
    assert f"train: {'?' if want is None else want}, valid: 1; {dls.device}" in repr(dls)

@pytest.mark.parametrize('k,err,match', [
    (1, IndexError, r"no loader 1: there are 0 'train', 2 'test'"), (7, IndexError, 'no loader 7: there are'),
    (-4, IndexError, 'no loader -4'),
    ('tset', KeyError, "did you mean 'test'"), ('valid', KeyError, "no loader 'valid'"),
    ('zzz', KeyError, "no loader 'zzz': there are 0 'train', 2 'test'\"")])
def test_unknown_loader(k, err, match):
    with pytest.raises(err, match=match): DataLoaders([1], test=[2])[k]

@pytest.mark.parametrize('o,fix', [
    (ds(), 'train=TensorDataset is not a loader.*DataLoaders.from_dsets'),
    (3, 'train=int'), ('data', 'train=str'), (x(), r'train=float32 \(4, 2\)'),
    (dict(train=[1]), 'is not a loader'), (list, 'is not a loader')], ids=plainly)
def test_objects_that_are_no_loaders_are_refused(o, fix):
    with pytest.raises(TypeError, match=fix): DataLoaders(o)
    with pytest.raises(TypeError, match='is not a loader'): mk_dls(o)

@pytest.mark.parametrize('args,kw,err,match', [
    (([1],), dict(train=[1]), TypeError, "'train' was passed twice"), (([1],[1],[1]), dict(dl2=[1]), TypeError, "'dl2' was passed twice"),
    (([1],), dict(loaders=[1]), ValueError, "'loaders' can't name a loader.*choose another"), (([1],), dict(to=[1]), ValueError, "'to'"),
    (([1],), dict(one_batch=[1]), ValueError, "'one_batch'"),
    (([1],), dict(_names=[1]), ValueError, "'_names'"), (([1],), dict(test=None), TypeError, 'test=None is not a loader'),
    (([1],), dict(target='y'), TypeError, "target=str is not a loader.*did you mean 'targ'"), (([1],), dict(target=['a', 'b']), TypeError, "did you mean 'targ'")])
def test_bad_names(args, kw, err, match):
    with pytest.raises(err, match=match): DataLoaders(*args, **kw)

def test_mk_dls():
    trn,val = [(x(),x())],[(x(),x())]
    dls = DataLoaders(trn)
    assert mk_dls(dls) is dls
    other = SimpleNamespace(train=trn, valid=val)
    assert mk_dls(other) is other
    for o,want in [((trn,val), [trn,val]), ((trn,None), [trn]), (trn, [trn]), ((trn,val,trn), [trn,val,trn])]:
        assert mk_dls(o).loaders==want
    assert mk_dls(o := tuple(trn)).train is o
    assert mk_dls(DataLoader(ds())).valid is None and len(mk_dls(None))==0

@pytest.mark.parametrize('o,match', [
    ((x(),x()), r'train=float32 \(4, 2\) is not a loader.*such as \[\(xb, yb\)\]'), ((ds(),ds()), 'makes loaders of datasets'),
    *((o, r'may be batches, or a pair of training and validation data: .*DataLoaders.from_tensors') for o in (((x(),x()),(x(),x())), ([x(),x()],[x(),x()]), (dict(x=x()),dict(x=x())))),
    (SimpleNamespace(train=True), 'is not a loader'), (torch.nn.Linear(1,1), 'is not a loader')], ids=['batch','datasets','tuples','lists','dicts','flag','method'])
def test_mk_dls_refuses(o, match):
    with pytest.raises(TypeError, match=match): mk_dls(o)

# One batch, and no trace of it

def rng(): return torch.get_rng_state(), random.getstate(), np.random.get_state()[1].tolist()  # noqa: NPY002
def draw(): return torch.rand(1)+random.random()+np.random.rand()  # noqa: NPY002
def seed():
    torch.manual_seed(0)
    random.seed(0)
    np.random.seed(0)  # noqa: NPY002

def same_rng(a, b): return torch.equal(a[0], b[0]) and a[1:]==b[1:]

class Noisy(torch.utils.data.Dataset):
    def __len__(self): return 8
    def __getitem__(self, i): return draw()

def own_sampler(): return RandomSampler(Noisy(), generator=torch.Generator())
NOISY = dict(list=lambda: [x()], stream=lambda: DataLoader(Stream(), 4), shuffled=lambda: DataLoader(Noisy(), 4, shuffle=True),
    workers=lambda: DataLoader(Noisy(), 4, shuffle=True, num_workers=2), sampler=lambda: DataLoader(Noisy(), sampler=own_sampler()),
    generator=lambda: DataLoader(Noisy(), 4, shuffle=True, generator=torch.Generator()),
    batch_sampler=lambda: DataLoader(Noisy(), batch_sampler=BatchSampler(own_sampler(), 4, False)))

@pytest.mark.parametrize('mk', NOISY.values(), ids=NOISY)
def test_one_batch_leaves_no_trace(mk):
    dl,before = mk(),rng()
    DataLoaders(dl, device='cpu').one_batch()
    assert same_rng(before, rng())
    seed()
    owners = dl,getattr(dl, 'sampler', None),getattr(getattr(dl, 'batch_sampler', None), 'sampler', None)
    gens = [o.generator for o in owners if getattr(o, 'generator', None)]
    for g in gens: g.manual_seed(0)
    states = [g.get_state() for g in gens]
    first = DataLoaders(dl, device='cpu').one_batch()
    assert all(torch.equal(g.get_state(), s) for g,s in zip(gens, states, strict=True))
    if getattr(dl, 'num_workers', 0)==0: assert torch.equal(first, next(iter(dl)))

@pytest.mark.parametrize('dl,err,match', [
    (iter([1]), TypeError, 'the list_iterator, which returns each batch only once: pass a list or a DataLoader'), ((i for i in [1]), TypeError, 'batch of the generator'),
    ([], ValueError, 'list yielded no batch'), (DataLoader(ds(3), 8, drop_last=True), ValueError,
        'over 3 items, batch_size=8, drop_last=True yielded no batch: use a smaller batch_size or drop_last=False'),
    (None, ValueError, r'no training loader.*DataLoaders\(train\)')], ids=plainly)
def test_one_batch_refuses(dl, err, match):
    with pytest.raises(err, match=match): DataLoaders(dl, valid=[1]).one_batch()

def test_to_returns_self():
    dls = DataLoaders([x()], device='cpu')
    assert dls.to('meta') is dls and dls.device==torch.device('meta') and dls.one_batch().is_meta

@pytest.mark.parametrize('fail', [False, True])
def test_preserve_rng(fail):
    before = rng()
    try:
        with preserve_rng():
            draw()
            assert not same_rng(before, rng())
            if fail: raise RuntimeError('inside')
    except RuntimeError as e: assert fail and str(e)=='inside'
    assert same_rng(before, rng())

@pytest.mark.parametrize('started', [True, False])
def test_preserve_rng_of_accelerators(monkeypatch, started):
    state = [1]
    dev = SimpleNamespace(is_initialized=lambda: started, get_rng_state_all=lambda: list(state),
        set_rng_state_all=lambda s: state.__setitem__(slice(None), s))
    monkeypatch.setattr(torch.accelerator, 'is_available', lambda: True)
    monkeypatch.setattr(torch, 'get_device_module', lambda: dev)
    with preserve_rng(): state[0] = 2
    assert state==[1 if started else 2]

# Datasets

@pytest.mark.parametrize('train,kw,want', [
    (ds(), dict(shuffle=False), range(10)), (Stream(), {}, range(10)), (ds(), dict(sampler=[3,1]), [3,1]),
    (ds(), dict(batch_sampler=[[5],[2,1]]), [5,2,1]), (ds(), dict(shuffle=False, bs=None), range(10))],
    ids=['in order','stream','sampler','batch_sampler','no batching'])
def test_from_dsets_order_of_training(train, kw, want):
    dls = DataLoaders.from_dsets(train, ds(5), device='cpu', **kw)
    assert torch.cat([b[0].reshape(-1) if isinstance(b, list|tuple) else b for b in dls.train]).tolist()==list(want)
    assert torch.cat([b[0].reshape(-1) for b in dls.valid]).tolist()==list(range(5))

# Order

def test_in_order_needs_a_batch_size():
    with pytest.raises(ValueError, match='list has no `batch_size`.*add it'): in_order(DataLoader(ds(), batch_sampler=[[3,1],[2]]))

# Endless

@pytest.mark.parametrize('kind', ['list','tuple','loader','unsized'])
def test_endless_resumes_where_it_stopped(kind):
    dl = LOADERS[kind]()
    if kind in ('loader','unsized'): batches = [b[0].tolist() if kind=='loader' else b.tolist() for b in dl]
    else: batches = list(dl)
    stream,got = Endless(dl),[]
    for n in (2,2,3,1): got += list(islice(stream, n))
    got = [b if isinstance(b, int) else b[0].tolist() if kind=='loader' else b.tolist() for b in got]
    assert got==(batches*3)[:8]

def test_endless_repeats_a_pass_of_persistent_workers():
    def mk(): return Endless(DataLoader(ds(), 4, shuffle=True, num_workers=1, persistent_workers=True))
    stream,other = mk(),mk()
    list(islice(stream, 4))
    other.load_state_dict(stream.state_dict())  # in the second pass, so workers ran before it
    assert [b[0].tolist() for b in islice(other, 2)]==[b[0].tolist() for b in islice(stream, 2)]

@pytest.mark.parametrize('n_before', [0, 3])
def test_endless_resumes_from_older_checkpoints(n_before):
    dl = lambda: DataLoader(ds(), 4, shuffle=True)
    torch.manual_seed(5)
    stream = Endless(dl())
    list(islice(iter(stream), n_before+2))
    feed,now = stream.feed,torch.get_rng_state()
    old = dict(n=feed.n, rng=feed.rngs[0], warm=False, passes=feed.n_pass)
    want = [b[0].tolist() for b in islice(iter(stream), 4)]
    again = Endless(dl())
    again.load_state_dict(old)
    torch.set_rng_state(now)
    assert [b[0].tolist() for b in islice(iter(again), 4)]==want and again.feed.n_pass==feed.n_pass

def test_endless_has_no_length_and_takes_no_batch_too_many():
    taken = []
    def gen():
        for i in range(4):
            taken.append(i)
            yield i
    stream = Endless(gen())
    assert batch_len(stream) is None and repr(stream)=='Endless(generator, ? batches a pass)'
    assert [b for _,b in zip(range(2), stream, strict=False)]==[0,1]
    assert taken==[0,1]

@pytest.mark.parametrize('dl,want,match', [
    ((i for i in [1,2]), [1,2], 'generator is an exhausted iterator: pass a list or a DataLoader'), (iter([]), [], 'exhausted'),
    ([], [], 'list yielded no batch'), (DataLoader(ds(3), 8, drop_last=True), [], 'over 3 items.*drop_last=False')],
    ids=['generator','iterator','list','drop_last'])
def test_endless_ends_with_an_error(dl, want, match):
    got = []
    with pytest.raises(ValueError, match=match):
        for b in Endless(dl): got.append(b)
    assert got==want

@pytest.mark.parametrize('xb,b,want', [(({'a':1},), {'a':1}, True), ((1,), {'a':1}, False), ((1, 2), {'a':1}, False), (({'a':1},), (1, 2), True), (({'a':1},), 1, True),
    (({'a':1},), ({'a':1}, 2), False), (({'a':1}, 2), ({'a':1}, 2, 3), False), ([{'a':1}], {'a':1}, True), ((), {'a':1}, False)])
def test_models_take_dicts_by_name(xb, b, want): assert by_name(xb, b)==want

@pytest.mark.parametrize('targ', ['y', ('y',), ['z', 'y'], None])
def test_point_17_apart_and_together(targ):
    b = dict(x=torch.ones(2, 1), y=torch.zeros(2), z=torch.ones(2))
    names = [targ] if isinstance(targ, str) else list(targ or ())
    xb,yb,n = unpack(b, torch.device('cpu'), None, targ)
    assert list(xb[0])==[k for k in b if k not in names] and [id(o) for o in yb]==[id(b[k]) for k in names] and n==2
    assert join_batch(xb, yb, b, targ)==b and list(b)==['x', 'y', 'z'], 'the batch itself is whole'
    assert join_batch((1,), (2,), (1, 2), targ)==(1, 2)

# Generators that a loader holds

class Adds:
    "A transform with a generator of its own"
    def __init__(self, g): self.g = g
    def __call__(self, x): return x+self.g.random()
    def collate(self, xs): return [self(x) for x in xs]

SHARED,GIVEN = Adds(random.Random(0)),Adds(random.Random(0))
def by_global(xs): return SHARED.collate(xs)
def by_default(xs, f=GIVEN): return f.collate(xs)
def by_closure(f):
    def _collate(xs): return f.collate(xs)
    return _collate
class OfClass(Adds):
    shared = random.Random(0)
    def __init__(self): "Has none itself"
    def __call__(self, xs): return [x+self.shared.random() for x in xs]
class ByMethod(OfClass):
    def __call__(self, xs): return SHARED.collate(xs)

def adds(): return Adds(random.Random(0))
HOLDERS = dict(attribute=lambda: adds().collate, partial=lambda: partial(Adds.collate, adds()), closure=lambda: by_closure(adds()),
    default=lambda: by_default, variable=lambda: by_global, of_class=OfClass, method=ByMethod,
    listed=lambda: partial(lambda fs, xs: fs[0].collate(xs), [adds()]), by_name=lambda: partial(lambda fs, xs: fs['a'].collate(xs), dict(a=adds())))

@pytest.mark.parametrize('how', HOLDERS)
def test_generators_are_found_wherever_a_loader_holds_them(how):
    dl = DataLoader(range(8), 4, collate_fn=HOLDERS[how]())
    with preserve_rng(dl): want = list(dl)
    states = read_rngs([dl])
    assert list(dl)==want!=list(dl)
    write_rngs(states, [dl])
    assert list(dl)==want

# Targets that are inputs

def test_targets_of_a_tuple_by_number():
    b = x(3),x(3, 2),x(3, 4)
    for kw,xb,yb in ((dict(n_inp=2, targ=1), b[:2], b[1:2]), (dict(n_inp=3, targ=(1, 2)), b, b[1:]), (dict(n_inp=1, targ=-1), b[:1], b[2:]),
        (dict(targ=0), b[:2], b[:1])):
        dls = DataLoaders([b], **kw)
        for got in (split_batch(b, dls.n_inp, dls.targ), unpack(b, torch.device('cpu'), dls.n_inp, dls.targ)[:2]):
            assert [[id(o) for o in t] for t in got]==[[id(o) for o in t] for t in (xb, yb)]
    assert [id(o) for o in join_batch(b[:2], b[1:2], b, 1)]==[id(o) for o in b[:2]]
    assert split_batch(b[:1], 1, (1,))==(b[:1], ()), 'for inference'
    with pytest.raises(ValueError, match='no target'): Learner(DataLoaders([b[:1]], targ=1), torch.nn.Linear(3, 1), lambda p: p.mean()).fit(1)

def test_targets_of_a_dict_stay_if_asked():
    b = dict(x=x(), y=x())
    dls = DataLoaders.from_dsets([b], targ=['y'], targ_is_inp=True)
    xb,yb = split_batch(b, dls.n_inp, dls.targ)
    assert xb[0] is b and yb[0] is b['y'] and join_batch(xb, yb, b, dls.targ)==b
    assert DataLoaders([b], targ='y').targ==dls.targ==('y',) and split_batch(dict(x=1), targ=dls.targ)==((dict(x=1),), ())

@pytest.mark.parametrize('targ', [['y', 1.5], True, [None]], ids=repr)
def test_targets_that_are_none(targ):
    with pytest.raises(TypeError, match='targ=.*the index of an element'): DataLoaders([x()], targ=targ)

class Detects(torch.nn.Module):
    "Losses in training, and boxes otherwise, as torchvision's"
    def __init__(self):
        super().__init__()
        self.f = torch.nn.Linear(2, 2)
    def forward(self, images, targets):
        out = torch.stack([self.f(o) for o in images])
        return dict(loss=(out - torch.stack([t['boxes'] for t in targets])).square().mean(), out=out)

def test_metrics_of_a_detector_get_its_targets():
    b = [x(2), x(2)],[dict(boxes=torch.zeros(2)), dict(boxes=torch.ones(2))]
    got = []
    def error(pred, targets):
        got.append(targets)
        return (pred['out'] - torch.stack([t['boxes'] for t in targets])).square().mean()
    learn = Learner(DataLoaders([b], [b], n_inp=2, targ=1), Detects(), metrics=error)
    learn.fit(1)
    loss,metric = learn.validate()
    assert loss==pytest.approx(metric) and got[0][1]['boxes'] is b[1][1]['boxes']
    assert learn.get_preds()[1][0]['boxes'].shape==(2,)
