"Loaders whose items are their own numbers, and fits that note the rows of each batch"
import random, torch
from helpers import Boom
from learnloop import Alternate, Callback, DataLoaders, Learner, Zip, set_seed
from learnloop.data.begin import Endless
from learnloop.data.loaders import Until
from torch import nn
from torch.nn import functional as F
from torch.utils.data import BatchSampler, DataLoader, Dataset, IterableDataset, RandomSampler, Sampler, Subset, TensorDataset, WeightedRandomSampler

N = 38
X = torch.arange(N, dtype=torch.float32)[:,None]

class Plain(Dataset):
    "Items that may draw random numbers"
    def __len__(self): return N
    def __getitem__(self, i): return X[i],X[i]
class Whole(Plain):
    def __getitems__(self, idxs): return [self[i] for i in idxs]

class Stream(IterableDataset):
    def __iter__(self): return iter([(*o, i) for i,o in enumerate(Plain())])
class Own(Sampler):
    "Draws as it goes; repeats some items, leaves out others"
    def __len__(self): return N
    def __iter__(self): return (random.randrange(N) for _ in range(N))
class OwnBatches(Own):
    def __len__(self): return 6
    def __iter__(self): return iter([[3,3,9], (4,), torch.tensor([1,2,30,4]), range(7, 12), [0,5], [6,6,1,7]])

DATA = dict(tensors=lambda: TensorDataset(X, X), plain=Plain, whole=Whole, subset=lambda: Subset(Plain(), range(N-1, 1, -2)),
    nested=lambda: Subset(Subset(TensorDataset(X, X), range(4, N)), [5,1,9,9,12,0]))
SAMPLERS = dict(order=lambda ds: dict(batch_size=4), shuffled=lambda ds: dict(batch_size=4, shuffle=True),
    seeded=lambda ds: dict(batch_size=4, shuffle=True, generator=torch.Generator().manual_seed(3)),
    dropped=lambda ds: dict(batch_size=4, shuffle=True, drop_last=True),
    weighted=lambda ds: dict(batch_size=5, sampler=WeightedRandomSampler(torch.ones(len(ds)), 17)),
    replaced=lambda ds: dict(batch_size=5, sampler=RandomSampler(ds, replacement=True, num_samples=23)),
    batched=lambda ds: dict(batch_sampler=BatchSampler(RandomSampler(ds), 3, False)))
OWN = dict(own=lambda ds: dict(batch_size=4, sampler=Own()), own_batches=lambda ds: dict(batch_sampler=OwnBatches()))
WORKERS = {'no workers':{}, '2 workers':dict(num_workers=2), 'persistent':dict(num_workers=1, persistent_workers=True)}
# what is made of a loader
MADE = dict(itself=lambda dl: dl, endless=Endless, until=lambda dl: Until(dl, bool), alternate=lambda dl: Alternate(a=dl, b=mk('plain', 'shuffled')),
    zipped=lambda dl: Zip(dl, mk('tensors', 'shuffled')), named=lambda dl: Zip(a=dl, b=mk('tensors', 'order'), stop='longest'))

def mk(data='plain', sampler='shuffled', workers='no workers', cls=DataLoader):
    ds = DATA[data]()
    return cls(ds, **(SAMPLERS | OWN)[sampler](ds), **WORKERS[workers])

class Scale(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.ones(()))
    def forward(self, *xs, a=None, b=None): return [x*self.w for x in (*xs, a, b) if x is not None]
def loss_func(preds, *ys): return sum(F.mse_loss(p, y) for p,y in zip(preds, ys, strict=True))

def check(learn):
    "Assert that `rows` names the items that are in the batch, or in the part that a turn takes; returns them"
    def values(dl, rows): return [float(dl.dataset[i][1]) for i in rows]
    dl,rows = learn.dl,learn.rows
    while not hasattr(dl, 'parts') and not isinstance(dl, DataLoader): dl = dl.dl
    ys = [y.flatten().tolist() for y in learn.yb]
    if isinstance(dl, Alternate): want,got = [values(dl.parts[learn.source], rows)],ys
    elif isinstance(dl, Zip):
        assert type(rows) is (dict if dl.is_named else tuple)
        each = rows if dl.is_named else dict(zip(dl.parts, rows, strict=True))
        want,got = [values(dl.parts[k], o) for k,o in each.items()],ys
    else: want,got = [values(dl, rows)],ys
    # a process that has no part of a batch goes along with an item that doesn't count
    assert got==want or not learn.bs and rows==[], (got, want)
    if learn.open_turn: assert learn.open_turn.rows==rows
    return rows

def fit(loader, at=None, cbs=(), to=lambda learn: learn, evaluate=True, **kwargs):
    "Return the rows of each batch of two epochs, checked; with `at`, until batch `at`"
    seen,at = [],[at]  # a list, as resuming compares the attributes of callbacks
    def stop(cb):
        if cb.learn.training and [cb.learn.count.batches]==at: raise Boom
    def see(cb):
        rows = check(cb.learn)
        if cb.learn.training: seen.append((cb.learn.source, rows))
    def see_again(cb): check(cb.learn)
    def after(cb): assert cb.learn.rows is None
    set_seed(3)
    learn = Learner(DataLoaders(loader(), mk('tensors', 'order') if evaluate else None, device='cpu'), Scale(), loss_func, torch.optim.SGD, lr=1e-6,
        cbs=[*cbs, Callback('see', before_fetch=stop, before_batch=see, after_loss=see_again, after_batch=see_again,
            between_batches=after)])
    to(learn)
    with learn.no_logging(), learn.no_bar():
        if isinstance(learn.dls.train, Endless): kwargs['steps_per_epoch'] = 7
        try: learn.fit(2, **kwargs)
        except Boom: pass
    return seen
