"With any loader, stopped at any batch, a resumed fit sees the same batches as an undisturbed one, or says why it can't"
import csv, json, os, queue, random, threading, warnings
from copy import deepcopy
from functools import cache, partial
from itertools import chain
import numpy as np, pytest, torch
from helpers import Boom, Module, check, cover, covering
from learnloop import Alternate, Callback, CheckpointCallback, Learner, SeededItems, Zip, list_checkpoints, set_seed
from learnloop.checkpoint.passes import parts_of, try_loader
from learnloop.checkpoint.storage import new_checkpoint
from learnloop.data.loaders import batch_len
from learnloop.data.rng import read_rngs
from torch import nn
from torch.nn import functional as F
from torch.utils.data import ChainDataset, DataLoader, Dataset, IterableDataset, RandomSampler, TensorDataset
with warnings.catch_warnings(action='ignore'):
    from torchdata import nodes
    from torchdata.stateful_dataloader import StatefulDataLoader

N,BS,N_EPOCH = 18,4,2
X = torch.arange(float(N))[:,None].repeat(1, 3)/N
Y = (torch.arange(N)%2).long()
TABLE = TensorDataset(X, Y)

pytestmark = pytest.mark.filterwarnings('ignore:.set_vital. is deprecated')

def batch(idxs): return X[list(idxs)],Y[list(idxs)]
def in_batches(idxs): return [batch(idxs[i:i+BS]) for i in range(0, len(idxs), BS)]
def order(seed): return np.random.default_rng(seed).permutation(N).tolist()

class Noisy(Dataset):
    "Noise of the global generators"
    def __len__(self): return N
    def __getitem__(self, i): return X[i]+.1*torch.randn(3)+random.random(),Y[i]
class Augment:
    "A transform with a generator of its own, as medical and image packages have"
    def __init__(self, seed=0): self.R = np.random.RandomState(seed)
    def __call__(self, x): return x+float(self.R.rand())
class Transformed(Dataset):
    def __init__(self, f): self.transforms = [f]
    def __len__(self): return N
    def __getitem__(self, i): return self.transforms[0](X[i]),Y[i]
class Shared:
    "A transform whose generator belongs to its class"
    R = np.random.RandomState(0)
    def __call__(self, x): return x+float(self.R.rand())
def augmented(b, f): return f(torch.stack([x for x,_ in b])),torch.stack([y for _,y in b])
class Mixed(Noisy):
    "Each item has a part of the item before"
    last = X[0]
    def __getitem__(self, i):
        x,self.last = X[i]+.1*self.last,X[i]
        return x,Y[i]
class Passes:
    "Counts its passes, and shuffles by that: a shuffle that is called deterministic"
    def __init__(self): self.epoch = -1
    def __iter__(self):
        self.epoch += 1
        yield from in_batches(order(self.epoch))
class CountingSampler:
    def __init__(self): self.epoch = -1
    def __len__(self): return N
    def __iter__(self):
        self.epoch += 1
        return iter(order(self.epoch))
class ByEpoch(Passes):
    "The same, with `set_epoch`"
    def set_epoch(self, epoch): self.epoch = epoch-1
class Drawing(CountingSampler):
    "Draws each index from a generator that dropout also uses"
    def __iter__(self): return (int(torch.randint(N, ())) for _ in range(N))
class Forever(CountingSampler):
    "Has no length, and draws one order after another from `g`"
    def __init__(self, g=None): self.g = g
    def __len__(self): raise TypeError('endless')
    def __iter__(self):
        while True: yield from torch.randperm(N, generator=self.g).tolist()
class Going(CountingSampler):
    "Keeps its order in a generator, which continues in the next pass"
    def __init__(self): self.it = (i for k in range(9) for i in order(k))
    def __iter__(self): return (next(self.it) for _ in range(N))
class Restarting(CountingSampler):
    "Has a place, and starts again at the end of a pass, in another order"
    def __init__(self): self.i,self.epoch = 0,0
    def __iter__(self):
        while self.i<N:
            self.i += 1
            yield order(self.epoch)[self.i-1]
        self.i,self.epoch = 0,self.epoch+1
    def state_dict(self): return dict(i=self.i, epoch=self.epoch)
    def load_state_dict(self, sd): self.i,self.epoch = sd['i'],sd['epoch']
class RestartsEarly(Restarting):
    "A loader that knows its last batch, and starts again before it returns that"
    def __len__(self): return (N+BS-1)//BS
    def __iter__(self):
        over = False
        while not over:
            b = in_batches(order(self.epoch))[self.i//BS]
            self.i += BS
            if over := self.i>=N: self.i,self.epoch = 0,self.epoch+1
            yield b
class Reads(Dataset):
    "Items that depend on the number of earlier reads"
    def __init__(self, f): self.f,self.n = f,[0]
    def __len__(self): return N
    def __getitem__(self, i): return X[i]+self.f(self.n),Y[i]
def count(n):
    n[0] += 1
    return n[0]/100
class Unseeded:
    def __iter__(self): return iter(in_batches(random.SystemRandom().sample(range(N), N)))
class Stream(IterableDataset):
    def __iter__(self): return ((X[i]+.1*torch.randn(3), Y[i]) for i in range(N))

class WithState:
    "A loader with a state and an order that its epoch seeds; `fault` names an error of its state"
    def __init__(self, fault=''): self.fault,self.n,self.epoch,self.start = fault,0,-1,None
    def __iter__(self):
        if self.start is None or self.fault=='forgets': self.epoch,self.n = self.epoch+1,0
        else: self.epoch,self.n = max(self.start[0], 0),self.start[1]
        self.start = None
        idxs = random.SystemRandom().sample(range(N), N) if self.fault=='reshuffles' else order(self.epoch)
        bs = in_batches(idxs)
        while self.n<len(bs):
            self.n += 1
            yield bs[self.n-1]
    def state_dict(self):
        n = self.n + dict(ahead=1, behind=-1).get(self.fault, 0)
        if self.fault=='empty': return {}
        return dict(n=max(n, 0), epoch=0 if self.fault=='first epoch' else self.epoch)
    def load_state_dict(self, sd):
        if sd: self.start = sd['epoch'],sd['n']
class Pinned(WithState):
    "Its state can be set before it is asked for it, and no more after that"
    is_pinned = False
    def state_dict(self):
        self.is_pinned = True
        return super().state_dict()
    def load_state_dict(self, sd):
        if not self.is_pinned: super().load_state_dict(sd)
class Bare:
    "Takes no attributes, and its state says nothing"
    __slots__ = ()
    def __len__(self): return len(in_batches(range(N)))
    def __iter__(self): return iter(in_batches(range(N)))
    def state_dict(self): return {}
    def load_state_dict(self, sd): pass
class OwnPlace(IterableDataset):
    "A stream that knows its place, or says another one"
    def __init__(self, fault=''): self.fault,self.n,self.start = fault,0,0
    def __iter__(self):
        self.n,self.start = self.start%N,0
        while self.n<N:
            self.n += 1
            yield X[self.n-1],Y[self.n-1]
    def state_dict(self): return dict(n=0 if self.fault else self.n)
    def load_state_dict(self, sd): self.start = sd['n']

class Early(RestartsEarly):
    "The same, without a length"
    __len__ = None
class Buffered(IterableDataset):
    "A buffer that global random numbers shuffle; its remaining items decide later batches"
    def __init__(self, below): self.below = below
    def __iter__(self):
        held = list(range(8))
        for i in range(8, N+8):
            j,held = held.pop(self.below(len(held))),held + [i]*(i<N)
            yield X[j],Y[j]
class LateOrder(IterableDataset):
    "Draws its order when it is reached"
    def __iter__(self): return ((X[i],Y[i]) for i in torch.randperm(N).tolist())
class PassesOf(IterableDataset):
    "Counts its passes, at the end of each"
    def __init__(self): self.k = 0
    def __iter__(self):
        yield from ((X[i],Y[i]) for i in order(self.k))
        self.k += 1
class Kept(CountingSampler):
    "Shuffles a list in place; it may well begin with the same batch twice"
    def __init__(self): self.all = [[i, i+1] for i in range(0, N, 2)]
    def __len__(self): return len(self.all)
    def __iter__(self):
        random.shuffle(self.all)
        return iter([*self.all])
class Ended(CountingSampler):
    "Counts its passes when they end"
    def __init__(self): self.k = 0
    def __iter__(self):
        yield from order(self.k)
        self.k += 1

def node_loader(g=None):
    node = nodes.SamplerWrapper(RandomSampler(range(N), generator=g))
    return nodes.Loader(nodes.Mapper(nodes.Batcher(node, BS, drop_last=False), batch))

EXACT = dict(  # chkstyle: ignore-node
    list=lambda: in_batches(range(N)), tensors=lambda: DataLoader(TABLE, BS, shuffle=True), noisy=lambda: DataLoader(Noisy(), BS, shuffle=True),
    seeded=lambda: DataLoader(SeededItems(Noisy()), BS, shuffle=True), generator=lambda: DataLoader(TABLE, BS, shuffle=True, generator=torch.Generator().manual_seed(5)),
    stream=lambda: DataLoader(Stream(), BS), by_epoch=ByEpoch, zipped=lambda: Zip(DataLoader(Noisy(), BS, shuffle=True), DataLoader(TABLE, BS, shuffle=True)),
    buffered_python=lambda: DataLoader(Buffered(random.randrange), BS), buffered_numpy=lambda: DataLoader(Buffered(np.random.randint), BS),
    stateful=lambda: StatefulDataLoader(TABLE, BS, shuffle=True), stateful_noisy=lambda: StatefulDataLoader(Noisy(), BS, shuffle=True),
    restarting=lambda: StatefulDataLoader(TABLE, BS, sampler=Restarting()), early=RestartsEarly, zip_early=lambda: Zip(RestartsEarly(), ByEpoch()),
    alternate=lambda: Alternate(StatefulDataLoader(TABLE, BS, sampler=Drawing()), DataLoader(TABLE, BS, shuffle=True)),
    own_place=lambda: StatefulDataLoader(OwnPlace(), BS), with_state=WithState, pinned=Pinned, nodes=lambda: node_loader(seeded(1)), drawn_nodes=node_loader,
    drawing=lambda: DataLoader(TABLE, BS, sampler=Drawing()), stateful_drawing=lambda: StatefulDataLoader(TABLE, BS, sampler=Drawing()))
ENDLESS = dict(forever=lambda: DataLoader(TABLE, BS, sampler=Forever(seeded(1))), forever_drawn=lambda: DataLoader(TABLE, BS, sampler=Forever()))
FAULTY = dict(  # chkstyle: ignore-node
    passes=Passes, counting_sampler=lambda: DataLoader(TABLE, BS, sampler=CountingSampler()), unseeded=Unseeded,
    augmented=lambda: DataLoader(Transformed(Augment()), BS), class_generator=lambda: DataLoader(Transformed(Shared()), BS),
    collated=lambda: DataLoader(TABLE, BS, collate_fn=partial(augmented, f=Augment())),
    going=lambda: DataLoader(TABLE, BS, sampler=Going()), counted=lambda: DataLoader(Reads(count), BS),
    mixed=lambda: StatefulDataLoader(Mixed(), BS, sampler=Drawing()), early_stream=Early, buffered=lambda: DataLoader(Buffered(lambda n: torch.randint(n, ()).item()), BS), chained=lambda: DataLoader(ChainDataset([Stream(), LateOrder()]), BS),
    chained_passes=lambda: DataLoader(ChainDataset([Stream(), PassesOf()]), BS), ended=lambda: DataLoader(TABLE, BS, sampler=Ended()),
    stateful_ended=lambda: StatefulDataLoader(TABLE, BS, sampler=Ended()),
    zipped_passes=lambda: Zip(Passes(), DataLoader(TABLE, BS)), wrong_place=lambda: StatefulDataLoader(OwnPlace('zero'), BS), bare=Bare,
    **{o:lambda o=o: WithState(o) for o in ('forgets', 'reshuffles', 'ahead', 'behind', 'empty', 'first epoch')})

def seeded(s): return torch.Generator().manual_seed(s)

def fit(make, folder=None, at=None, resume=None, more=(), **limit):
    "Fit as a new process would; return the batches, each with the weights before it"
    set_seed(3)
    Shared.R = np.random.RandomState(0)
    seen,learn = [],Learner((make(), None), Net(), lambda pred, *ys: F.cross_entropy(pred, ys[-1]), lr=.01)
    def stop(cb):
        if (cb.learn.epoch, cb.learn.n_done)==at: raise Boom
    cbs = [Callback(name='look', before_batch=lambda cb: seen.append(deepcopy([*cb.learn.batch, cb.learn.model.lin.weight.detach()]))),
        Callback(name='stop', before_fetch=stop), *more]
    if folder: cbs.append(CheckpointCallback(folder))
    with learn.no_logging(), learn.no_bar(): learn.fit(N_EPOCH, cbs=cbs, resume=folder if resume else None, **limit)
    return seen

class Net(Module):
    def __init__(self):
        self.lin,self.drop = nn.Linear(3, 2),nn.Dropout(.3)
    def forward(self, *xs): return self.drop(self.lin(xs[0]))

def flat(o): return [o] if isinstance(o, torch.Tensor) else [t for p in o for t in flat(p)]
def same(a, b): return len(a)==len(b) and all(map(torch.equal, flat(a), flat(b)))

def outcome(make, at, folder, whole, **limit):
    "Return 'same', or the text of an error or of a warning about the loader"
    with warnings.catch_warnings(record=True, action='always') as ws:
        with pytest.raises(Boom): fit(make, folder, at, **limit)
        try: got = fit(make, folder, resume=True, **limit)
        except ValueError as e: return str(e)
    said = [str(o.message) for o in ws if 'exact' in str(o.message)]
    if same(got, whole()[at[0]*limit.get('steps_per_epoch', batch_len(make()) or -(-N//BS))+at[1]:]): return 'same' if not said else f'same, but {said[0]}'
    return said[0] if said else 'OTHER BATCHES, IN SILENCE'

PLACES = cover((e, i) for e in range(N_EPOCH) for i in range(-(-N//BS)+1))
def places_of(kind, kinds, places=PLACES):
    "Return one of `places`, the next one for the next of `kinds`; with `ALL_CASES=1`, all"
    return places if os.environ.get('ALL_CASES') else [places[[*kinds].index(kind)%len(places)]]

@pytest.mark.every(2)
@pytest.mark.parametrize('kind', EXACT)
def test_a_resumed_fit_sees_the_same_batches(kind, tmp_path):
    whole = cache(partial(fit, EXACT[kind]))
    assert {at:o for at in places_of(kind, EXACT) if (o := outcome(EXACT[kind], at, tmp_path/f'{at}', whole))!='same'}=={}

@pytest.mark.every(4)
@covering(kind=[*EXACT, *ENDLESS], limit=[dict(max_steps=8), dict(steps_per_epoch=3), dict(steps_per_epoch=7)])
def test_a_resumed_fit_with_a_number_of_steps_sees_the_same_batches(kind, limit, tmp_path):
    make,exact = {**EXACT, **ENDLESS}[kind],['same']
    # it draws the order of later batches, which can't be drawn again
    if kind in ('forever_drawn', 'drawing', 'restarting'): exact.append(f'{type(make()).__name__} returns other batches')
    whole,places = cache(partial(fit, make, **limit)),[(0, 0), (0, min(5, limit.get('steps_per_epoch', 5))), (1, 0), (1, 1)]
    if kind in (*ENDLESS, 'alternate') and 'max_steps' in limit: places = places[:2]  # the first epoch is longer
    some = places_of(kind, {**EXACT, **ENDLESS}, places)
    assert {at:o for at in some if not (o := outcome(make, at, tmp_path/f'{at}', whole, **limit)).startswith(tuple(exact))}=={}

LATE = 'mixed','buffered','chained','chained_passes' # whose first epoch or first batches are exact
DRAWN = 'tensors','noisy','stream','zipped','stateful','generator'
@pytest.mark.parametrize('kind', DRAWN)
def test_a_callback_may_draw_between_the_start_of_a_pass_and_its_first_batch(kind, tmp_path):
    make,more = EXACT[kind],[Callback(name='draws', between_batches=lambda cb: torch.rand(1))]
    whole = cache(partial(fit, make, more=more))
    assert {at:o for at in places_of(kind, DRAWN, [(0, 1), (0, 3), (1, 0), (1, 2)]) if (o := outcome(make, at, tmp_path/f'{at}', whole, more=more))!='same'}=={}

SOLVED = 'augmented','class_generator','collated','wrong_place','bare' # generators inside objects are saved, and batches of a loader with a wrong state are made again

@pytest.mark.every(2)
@pytest.mark.parametrize('kind', FAULTY)
def test_a_fit_that_would_see_other_batches_says_why(kind, tmp_path):
    whole = cache(partial(fit, FAULTY[kind]))
    for at in places_of(kind, FAULTY, PLACES if os.environ.get('ALL_CASES') else [(1, 2)]):
        said = outcome(FAULTY[kind], at, tmp_path/f'{at}', whole)
        if kind in SOLVED: assert said=='same', at
        else:
            name = 'Passes' if kind=='zipped_passes' else type(FAULTY[kind]()).__name__
            assert name in said and 'resumes_exactly = True' in said and 'set_epoch' in said, at
            if at[0] and at[1] and kind not in LATE:
                n = at[1]-1
                assert said.startswith(f'{name} returns other batches than before the interruption: batch {n} of'), at

def test_a_list_shuffled_in_place_is_named_whatever_batch_it_begins_with():
    for s in range(30, 54):
        set_seed(s)
        assert 'will not be exact' in try_loader(DataLoader(TABLE, batch_sampler=Kept()))[1]

class Pools(CountingSampler):
    "Shuffles `k` batches at a time, by global random numbers"
    def __init__(self, k): self.k = k
    def __iter__(self): return iter([s+i] for s in range(0, N, self.k) for i in torch.randperm(min(self.k, N-s)).tolist())

@pytest.mark.parametrize('k', [2, 4, 8])
def test_a_sampler_that_draws_for_several_batches_at_once_is_named(k):
    assert 'will not be exact' in try_loader(DataLoader(TABLE, batch_sampler=Pools(k), num_workers=1))[1]

@pytest.mark.filterwarnings('ignore:.*will not be exact')
def test_other_batches_are_refused_before_anything_changes_unless_accepted(tmp_path):
    with pytest.raises(Boom): fit(Passes, tmp_path, (1, 2))
    with pytest.raises(ValueError, match=r"^Passes returns other batches than .*: batch 1 of the pass was float32 \(4, 3\) with .*; int64 \(4,\) with .*, but is now float32.*accept=\['batches'\]"):
        fit(Passes, tmp_path, resume=True)
    learn = Learner((Passes(), None), Net(), lambda pred, y: F.cross_entropy(pred, y), lr=.01)
    cbs = [Callback(name='look', before_batch=lambda cb: None), Callback(name='stop', before_fetch=lambda cb: None)]
    others = 'callbacks','settings.loss'  # these functions are written again here
    with learn.no_logging(), pytest.raises(ValueError, match='other batches'): learn.fit(N_EPOCH, cbs=cbs, resume=tmp_path, accept=others)
    assert learn.count.batches==7 and learn.keeper.savers==[] and list_checkpoints(tmp_path)[-1].step==7
    for accept in (['batches', *others], True):
        with learn.no_logging(): learn.fit(N_EPOCH, cbs=cbs, resume=tmp_path, accept=accept)
        assert learn.count.batches==2*-(-N//BS)

@pytest.mark.parametrize('make,accept', [(Unseeded, ()), (Unseeded, 'batches'), (Passes, ()), (EXACT['noisy'], ()), (EXACT['tensors'], ()), (EXACT['drawing'], ())])
@pytest.mark.filterwarnings('ignore:.*will not be exact')
def test_a_pass_is_checked_in_the_same_process_too(make, accept):
    "By its first batch, as a fit that saves nothing is to lose no time"
    def mk(*at):
        at = [*at]
        set_seed(3)
        seen,learn = [],Learner((make(), None), Net(), lambda pred, y: F.cross_entropy(pred, y), lr=.01)
        def stop(cb):
            if at and (cb.learn.epoch, cb.learn.n_done)==at[-1]:
                at.pop()
                raise Boom
        cbs = [Callback(name='look', before_batch=lambda cb: seen.append(deepcopy(cb.learn.batch))), Callback(name='stop', before_fetch=stop)]
        return learn,seen,cbs
    learn,seen,cbs = mk((0, 3))
    with learn.no_logging(), pytest.raises(Boom): learn.fit(2, cbs=cbs)
    if make in (Unseeded, Passes) and not accept:
        with pytest.raises(ValueError, match=f'^{make.__name__} returns other batches than before the interruption: batch 0'): learn.resume()
        assert learn.paused and len(seen)==3
    else:
        with learn.no_logging(): learn.resume(accept=accept)
        ref,want,cbs = mk()
        with ref.no_logging(): ref.fit(2, cbs=cbs)
        assert len(seen)==len(want) and (accept or same(seen, want))

@pytest.mark.parametrize('kind', [*EXACT, *FAULTY])
def test_trying_a_loader_leaves_everything_as_it_was(kind):
    def state():
        plain = [{k:v for k,v in getattr(o, '__dict__', {}).items() if isinstance(v, int|str|tuple)} for o in parts_of(dl)]
        return read_rngs([dl]),plain,Shared.R.get_state(legacy=False)
    set_seed(3)
    dl = {**EXACT, **FAULTY}[kind]()
    before = deepcopy(state())
    for o in parts_of(dl): try_loader(o)
    check(state(), before)
    set_seed(3)
    ref = {**EXACT, **FAULTY}[kind]()
    if kind not in ('unseeded', 'reshuffles', 'class_generator'):
        set_seed(4)
        a = [*iter(dl)]
        set_seed(4)
        assert same(a, [*iter(ref)])

def test_a_checkpoint_without_the_last_batch_can_be_resumed(tmp_path):
    with pytest.raises(Boom): fit(EXACT['tensors'], tmp_path, (1, 2))
    c = list_checkpoints(tmp_path)[-1]
    state = json.loads((c.path/'state.json').read_text())
    assert state.pop('last_batch')
    with new_checkpoint(tmp_path, c.step, **{k:v for k,v in c.manifest.items() if k in ('epoch', 'next', 'batch', 'error')}) as write:
        for nm in ('model.pt', 'opt.pt', 'tensors.pt'): write(nm, c.read(nm), True)
        write('state.json', state, True)
    assert same(fit(EXACT['tensors'], tmp_path, resume=True), fit(EXACT['tensors'])[7:])

class Loud(WithState):
    "Cannot be copied: it has a lock, as loaders with threads have"
    def __init__(self):
        super().__init__()
        self.lock = threading.Lock()

def test_a_loader_that_cannot_be_tried_is_named(tmp_path):
    with pytest.warns(UserWarning, match=r'^Loud could not be tried \(TypeError: .*lock.*\), so a resumed fit may not be exact: .*resumes_exactly = True'), pytest.raises(Boom):
        fit(Loud, tmp_path, (1, 2))

# ---- facts about loaders that hold places and threads

class Ahead:
    "A thread makes the batches; it, or the loader itself, draws from the global generators"
    def __init__(self, who): self.who = who
    def __iter__(self):
        made = queue.Queue(2)
        if self.who=='loader': torch.randperm(9)
        def work():
            for i in range(24): made.put((batch([i%N])[0] + (torch.rand(()) if self.who=='thread' else 0), Y[:1]))
            made.put(None)
        threading.Thread(target=work, daemon=True).start()
        while (b := made.get()) is not None: yield b
class AheadDL(DataLoader):
    __iter__ = Ahead.__iter__
    who = 'thread'
class AheadAll(DataLoader):
    "As prefetch_generator's: a thread takes the batches of torch's own iterator"
    def __iter__(self):
        made,it = queue.Queue(2),super().__iter__()
        threading.Thread(target=lambda: [made.put(b) for b in chain(it, [None])], daemon=True).start()
        while (b := made.get()) is not None: yield b

@pytest.mark.parametrize('dl,draws', [(Ahead('thread'), True), (AheadDL(TABLE), True), (Ahead('loader'), False), (Ahead(''), False),
    (AheadAll(range(200), BS, shuffle=True, generator=seeded(1)), True), (AheadAll(range(200), BS), False)])
def test_threads_that_draw_are_named(dl, draws):
    why = try_loader(dl)[1]
    assert type(dl).__name__ in why and 'be exact' in why if draws else why==''

class Held(IterableDataset):
    def __init__(self, o): self.o = o
    def __iter__(self): return iter(TABLE)
class HeldItems(Noisy):
    def __init__(self, o): self.o = o
def running(): return (i for i in range(3))
class Vain:
    def __reduce__(self): raise TypeError('its generator cannot be pickled')

@pytest.mark.parametrize('cls,mk,named', [(Held, running, True), (Held, lambda: map(int, running()), True), (Held, lambda: open(__file__), True),
    (Held, lambda: csv.reader(['a']), True), (HeldItems, running, True), (HeldItems, lambda: open(__file__, 'rb'), False), (Held, Vain, False),
    (Held, threading.Lock, False)])
def test_a_dataset_that_holds_an_iterator_is_named(cls, mk, named):
    ds = cls(mk())
    try: assert ('DataLoader could not be tried' in try_loader(DataLoader(ds, BS))[1])==named
    finally: getattr(ds.o, 'close', bool)()

class Stretch(IterableDataset):
    "A stream that continues where the last pass stopped; with `n`, it begins again after so many items"
    def __init__(self, n=None): self.i,self.n = 0,n
    def __iter__(self):
        for _ in range(10):
            i,self.i = self.i,self.i+1
            yield X[i%N]+i,Y[i%N]
            if self.n and self.i==self.n:
                self.i = 0
                return

def test_a_stream_that_keeps_its_place_is_exact_if_it_begins_again_or_is_read_once(tmp_path):
    assert try_loader(DataLoader(Stretch(10), BS))[1]==try_loader(DataLoader(Stretch(), BS), once=True)[1]==''
    assert 'will not be exact' in try_loader(DataLoader(Stretch(), BS))[1]
    def run(at=None, resume=None):
        set_seed(3)
        seen,learn = [],Learner((DataLoader(Stretch(), BS), None), Net(), lambda pred, y: F.cross_entropy(pred, y), lr=.01)
        def look(cb):
            if len(seen)==at: raise Boom
            seen.append(cb.learn.batch)
        cbs = [Callback(name='look', before_batch=look), CheckpointCallback(tmp_path, every_steps=1)]
        with learn.no_logging(), learn.no_bar(): learn.fit(1, cbs=cbs, resume=resume, accept='callbacks')
        return seen
    with pytest.raises(Boom): run(2)
    assert same(run(resume=tmp_path), [*DataLoader(Stretch(), BS)][2:])

CLOCK = [0] # Seconds

class Slow:
    "A loader with a state, whose batches take a second each by `CLOCK`"
    i = 0
    def __iter__(self):
        while self.i<100:
            self.i += 1
            CLOCK[0] += 1
            yield batch([self.i%N])
        self.i = 0
    def state_dict(self): return dict(i=self.i)
    def load_state_dict(self, sd): self.i = sd['i']

@pytest.mark.parametrize('speed,n', [(1, range(6, 25)), (0, range(100, 999))])
def test_trying_a_slow_loader_takes_seconds_not_a_pass(speed, n, monkeypatch):
    monkeypatch.setattr('learnloop.checkpoint.passes.monotonic', lambda: CLOCK[0]*speed)
    start = CLOCK[0]
    assert try_loader(Slow())==(True, '') and CLOCK[0]-start in n
