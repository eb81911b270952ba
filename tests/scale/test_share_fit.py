"Fits of two processes with loaders of all kinds see the same data as one process"
import datasets, pytest, torch, warnings
from datasets.distributed import split_dataset_by_node
from learnloop import Alternate, DataLoaders, Learner, Zip, set_seed
from together import ALL, LIMIT, together
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset, WeightedRandomSampler
with warnings.catch_warnings(action='ignore'): from torchdata.stateful_dataloader import StatefulDataLoader

pytestmark = pytest.mark.filterwarnings('ignore:.set_vital. is deprecated')  # which torchdata calls
datasets.disable_progress_bars()
N = 22
X = torch.linspace(-1, 1, N)[:,None].repeat(1, 3)
Y = (X.sum(1)>0).long()

class Items(Dataset):
    def __len__(self): return N
    def __getitem__(self, i): return X[i],Y[i]
class Stream(IterableDataset):
    def __iter__(self): return ((X[i],Y[i]) for i in torch.randperm(N).tolist())
class Foreign:
    def __iter__(self):
        for i in torch.randperm(N).split(4): yield dict(x=X[i], y=Y[i])
class Named(nn.Module):
    def __init__(self):
        super().__init__()
        self.m = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 2))
    def forward(self, *xs, x=None): return self.m(xs[0] if x is None else x)

LOADERS = dict(
    shuffled=lambda: DataLoader(TensorDataset(X, Y), 4, shuffle=True),
    generator=lambda: DataLoader(Items(), 8, shuffle=True, generator=torch.Generator().manual_seed(5)),
    weighted=lambda: DataLoader(Items(), 4, sampler=WeightedRandomSampler(torch.arange(1., N+1), N)),
    workers=lambda: DataLoader(Items(), 4, shuffle=True, num_workers=1, persistent_workers=True),
    stateful=lambda: StatefulDataLoader(TensorDataset(X, Y), 4, shuffle=True),
    ready=lambda: [(X[i:i+4], Y[i:i+4]) for i in range(0, N, 4)],
    named=Foreign,
    stream=lambda: DataLoader(Stream(), 4),
    zipped=lambda: Zip(DataLoader(Items(), 4, shuffle=True), DataLoader(Items(), 4, shuffle=True), n_inp=1),
    turns=lambda: Alternate(a=DataLoader(Items(), 4, shuffle=True), b=DataLoader(Items(), 6, shuffle=True)))

class Both(Named):
    def forward(self, x, y): return self.m(x)
def both_loss(pred, y, z): return F.cross_entropy(pred, y)

def fit(kind, several, steps=None):
    set_seed(3)
    train = LOADERS[kind]()
    if kind=='zipped': model,loss = Both(),both_loss
    else: model,loss = Named(),F.cross_entropy
    dls = DataLoaders(train, [dict(x=X[:5], y=Y[:5])] if kind=='named' else None, targ='y' if kind=='named' else None)
    learn = Learner(dls, model, loss, lr=.01)
    if several: learn.to_ddp(timeout=LIMIT)
    with learn.no_logging(), learn.no_bar(): learn.fit(2, steps_per_epoch=steps)
    return [p.detach().clone() for p in model.parameters()],[learn.count.samples, learn.count.batches, learn.count.opt_steps]

def all_fits(several): return {(k,n):fit(k, several, n) for i,k in enumerate(LOADERS) for n in ((None, 4) if ALL else ((None, 4)[i%2],))}

def _own(shards, n):
    ds = datasets.Dataset.from_dict(dict(x=X[:n].tolist(), y=Y[:n].tolist())).with_format('torch').to_iterable_dataset(num_shards=shards)
    def _collate(b): return torch.stack([o['x'] for o in b]),torch.stack([o['y'] for o in b])
    def _f():
        set_seed(3)
        learn = Learner([], Named(), F.cross_entropy, lr=.01).to_ddp(timeout=LIMIT)
        learn.dls.train = StatefulDataLoader(split_dataset_by_node(ds, learn.team.rank, learn.team.world), 4, collate_fn=_collate)
        with learn.no_logging(), learn.no_bar(), warnings.catch_warnings(record=True, action='always') as ws: learn.fit(1)
        said = [str(w.message) for w in ws if 'different numbers' in str(w.message)]
        return [p.detach().clone() for p in learn.model.parameters()],learn.count.samples,learn.count.batches,said
    return _f

def on_two():
    return all_fits(True),_own(4, 22)(),_own(3, 17)()

def test_fits_of_two_processes_train_as_one():
    want,per_rank = all_fits(False),together(on_two)
    for k,(params,counts) in want.items():
        (a,n),(b,m) = (fits[k] for fits,*_ in per_rank)
        assert n==m==counts, k
        assert all(map(torch.equal, a, b)), k
        for p,q in zip(a, params, strict=True): torch.testing.assert_close(p, q, atol=2e-6, rtol=0, msg=str(k))
    (a,n,n_batches,_),(b,m,*_) = (o[1] for o in per_rank)
    assert all(map(torch.equal, a, b)) and (n,m,n_batches)==(22,22,3)
    (a,n,n_batches,said),(b,m,*_) = (o[2] for o in per_rank)
    assert all(map(torch.equal, a, b)) and (n,m,n_batches)==(16,16,2) and len(said)==1
