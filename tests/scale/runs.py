"Learners for fits that give the same results in one process and in several"
import torch, torch._dynamo, torch.distributed.fsdp  # here, as each process would take 2 s to import them
from functools import partial
from helpers import silent
from learnloop import DataLoaders, Learner
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset

TOL = 2e-5
SGD = partial(torch.optim.SGD, lr=.05, momentum=.9)

class Line(Dataset):
    "Points near a plane"
    def __init__(self, n, seed, dtype):
        g = torch.Generator().manual_seed(seed)
        self.x = torch.randn(n, 5, generator=g, dtype=dtype)
        self.y = self.x@torch.tensor([[.5], [-.2], [.1], [.3], [-.4]], dtype=dtype) + .1*torch.randn(n, 1, generator=g, dtype=dtype)
    def __len__(self): return len(self.x)
    def __getitem__(self, i): return self.x[i],self.y[i]

def mlp(): return nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 1))

def mk_dls(n=45, n_valid=13, bs=8, dtype=torch.float32):
    "Loaders whose last batches are small, of 5 items"
    return DataLoaders(DataLoader(Line(n, 0, dtype), bs, shuffle=True), DataLoader(Line(n_valid, 1, dtype), bs))

def tensor_dls():
    "The same batches, from tensors"
    sets = [Line(n, i, torch.float32) for i,n in enumerate((45, 13))]
    return DataLoaders.from_tensors(*((o.x, o.y) for o in sets), bs=8)

def mk_learner(cbs=(), model=mlp, opt=SGD, loss=F.mse_loss, cls=Learner, dtype=torch.float32, dls=None, **kwargs):
    torch.manual_seed(0)
    return silent(cls(mk_dls(dtype=dtype) if dls is None else dls(), model().to(dtype), loss, opt, cbs=[*cbs], **kwargs))

def weights(model):
    "Return copies of a model's parameters and buffers, unsharded"
    return [getattr(o, 'full_tensor', lambda o=o: o)().detach().clone() for o in model.state_dict().values()]

def result(learn):
    "Return what must be equal for one process and several"
    return dict(weights=weights(learn.model), counts=vars(learn.count).copy(), outcome=dict(learn.outcome))

def train(mk, how='ddp', fit=lambda learn: learn.fit(2)):
    "Fit the learner that `mk()` returns, by all processes together"
    learn = mk()
    getattr(learn, f'to_{how}')()
    came = fit(learn)
    return result(learn) | dict(came=came)

def differ(a, b):
    "Return the largest difference between two lists of tensors"
    assert len(a)==len(b)
    return max(float((x-y).abs().max()) for x,y in zip(a, b, strict=True))

def near(a, b, tol=TOL):
    "Are plain data and tensors equal, but for differences of numbers up to `tol`?"
    if isinstance(a, torch.Tensor): return a.shape==b.shape and a.dtype==b.dtype and bool(((a-b).abs()<=tol).all() if a.is_floating_point() else (a==b).all())
    if isinstance(a, dict): return a.keys()==b.keys() and all(near(v, b[k], tol) for k,v in a.items())
    if isinstance(a, list|tuple): return len(a)==len(b) and all(near(*o, tol) for o in zip(a, b, strict=True))
    return abs(a-b)<=tol if isinstance(a, float) else a==b
equal = partial(near, tol=0)

def check_alike(ranks, one, tol=TOL, but=()):
    "Assert that ranks have the same weights, bit for bit, and those of one process, within rounding"
    for r in ranks:
        assert all(map(torch.equal, r['weights'], ranks[0]['weights'])), 'the weights of the ranks differ'
        assert differ(r['weights'], one['weights'])<=tol
        for k in ('counts', 'outcome'):
            if k not in but: assert r[k]==one[k], k
