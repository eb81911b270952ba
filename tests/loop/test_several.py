"Several loaders: the batches of loops written by hand, and a fit that goes on in the middle as if nothing had been"
import random, warnings
from collections import namedtuple
import pytest, torch
from helpers import covering
from learnloop import (Alternate, Callback, CheckpointCallback, DataLoaders, Learner, SeededItems, Zip, in_order, list_checkpoints, set_seed)
from learnloop.loop.batch import split_batch, to_device, unpack
from learnloop.loop.begin import goes_by_state, why_inexact
from learnloop.loop.data import Endless, batch_len, why_empty
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset
with warnings.catch_warnings(action='ignore'): from torchdata.stateful_dataloader import StatefulDataLoader

pytestmark = pytest.mark.filterwarnings('ignore:.set_vital. is deprecated')  # which torchdata calls

@pytest.fixture(autouse=True)
def fast(monkeypatch): monkeypatch.setattr('os.fsync', lambda fd: None)

class Boom(Exception): pass

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
    "A loader that goes on over passes, and knows where it is"
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
    "Items that depend on the number that it is told"
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

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(3, 6), nn.Dropout(.4), nn.Linear(6, 1))
    def forward(self, *xs, a=None, b=None): return [self.f(x) for x in (*xs, a, b) if x is not None]
def loss_func(preds, *ys): return sum(F.mse_loss(p, y) for p,y in zip(preds, ys, strict=True))

FITS = dict(fit=dict(n_epoch=2), steps=dict(n_epoch=None, max_steps=12), per_epoch=dict(n_epoch=3, steps_per_epoch=5))
def mk_learner(mk, cbs=()):
    set_seed(3)
    loader,model = mk(),Model()
    return Learner((loader, [*dl(n=4)]), model, loss_func, torch.optim.AdamW, lr=.01, cbs=list(cbs))

def run(mk, fit, at=None, in_fetch=False, learn=None, **kw):
    "Fit; with `at`, until batch `at`; the learner, and the sources of its batches"
    learn = learn or mk_learner(mk)
    srcs = []
    def stop(cb):
        if cb.learn.training and cb.learn.count.batches==at: raise Boom
    def note(cb):
        if cb.learn.training: srcs.append(cb.learn.source)
    cb = Callback('stop', **{'before_fetch': stop}, after_batch=note)
    with learn.no_logging(), learn.no_bar(): learn.fit(**FITS[fit], cbs=cb, **kw)
    return learn,srcs
def params(learn): return [p.detach().clone() for p in learn.model.parameters()]

@covering(2, kind=['shuffled','generator','noisy','stream','own','epoch','list','stateful','workers','persistent'], how=MADE, fit=FITS)
def test_a_fit_goes_on_exactly(kind, how, fit, tmp_path):
    def mk(): return MADE[how](mk_a(kind))
    learn,srcs = run(mk, fit)
    n,want = learn.count.batches,params(learn)
    for i,at in enumerate([3, n-3] if 'work' not in kind and 'pers' not in kind else [n-3]):
        with pytest.raises(Boom): run(mk, fit, at, resume=tmp_path/str(i))
        assert list_checkpoints(tmp_path/str(i))[-1].manifest['next']=='train'
        got,rest = run(mk, fit, resume=tmp_path/str(i))
        assert all(map(torch.equal, params(got), want)) and got.count.batches==n and rest==srcs[at:]
