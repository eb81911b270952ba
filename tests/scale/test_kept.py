"Nothing is lost with several processes: checkpoints, signals, errors, and going on with another number of them"
import io, os, signal, time, warnings
import pytest, torch
from contextlib import suppress
from pathlib import Path
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset
from learnloop import (
    Callback, CancelSaveException, CheckpointCallback, Learner, PeerError, SaveModelCallback, accuracy, list_checkpoints, set_seed)
from learnloop.keep.interrupt import Terminated
from together import ending, same, together

N,LIMIT = 46,60
X = torch.linspace(-1, 1, N)[:,None].repeat(1, 3)
Y = (X.sum(1)>0).long()

def mk(kind=None, drop=0., path='.', **kwargs):
    set_seed(3)
    model = nn.Sequential(nn.Linear(3, 8), nn.Dropout(drop), nn.Linear(8, 2))
    dls = DataLoader(TensorDataset(X, Y), 8, shuffle=True),DataLoader(TensorDataset(X, Y), 16)
    learn = Learner(dls, model, F.cross_entropy, torch.optim.AdamW, lr=.02, metrics=accuracy, path=path, model_dir='.', **kwargs)
    learn.logger = lambda *a: None
    if kind: getattr(learn, f'to_{kind}')(timeout=30)
    return learn

def whole(t): return getattr(t, 'full_tensor', lambda: t)().detach().clone()
def weights(learn): return {k:whole(v) for k,v in learn.model.state_dict().items()}
def state_of(learn):
    "Plain data that says how training went; equal if it went the same way"
    opt = {f'{i}.{k}':whole(v) for i,s in learn.opt.state_dict()['state'].items() for k,v in s.items()}
    r = learn.recorder
    return dict(weights=weights(learn), opt=opt, raw=list(r.raw_losses), values=[*map(list, r.values)], count=dict(vars(learn.count)))

def is_equal(a, b):
    if isinstance(a, torch.Tensor): return torch.equal(a, b)
    if isinstance(a, dict): return a.keys()==b.keys() and all(is_equal(v, b[k]) for k,v in a.items())
    return a==b

def is_near(a, b, tol=2e-5):
    if isinstance(a, torch.Tensor): return torch.allclose(a, b, atol=tol, rtol=0)
    if isinstance(a, dict): return a.keys()==b.keys() and all(is_near(v, b[k]) for k,v in a.items())
    if isinstance(a, list|tuple): return len(a)==len(b) and all(map(is_near, a, b))
    return abs(a-b)<=tol if isinstance(a, float) else a==b

class At(Callback):
    "Does something after batch `n` of the fit, in one process"
    run_valid,agrees,only_looks = False,True,True
    def __init__(self, n, f, rank=0): self.n,self.f,self.rank = n,f,rank
    def after_batch(self):
        if self.learn.count.batches+1==self.n and self.learn.peers.rank==self.rank: self.f()

class Before(At):
    "The same between two batches"
    def after_batch(self): pass
    def between_batches(self):
        if self.learn.count.batches==self.n and self.learn.peers.rank==self.rank: self.f()

def boom(): raise ValueError('boom')
def kill(sig): return lambda: os.kill(os.getpid(), sig)

def fit(folder, kind=None, n=3, cbs=(), drop=0., every=1, said=None, path='.', **kwargs):
    learn = mk(kind, drop, path=path)
    saver = [CheckpointCallback(folder, every_steps=every, keep=None, **kwargs)] if folder else []
    with warnings.catch_warnings(record=True, action='always') as ws: learn.fit(n, cbs=[*saver, *cbs], resume=folder)
    if said is not None: said += [str(w.message) for w in ws]
    return learn

def part(folder, kind, at, drop=0.):
    "A run that stops between two batches, after batch `at`"
    with suppress(ValueError, PeerError): fit(folder, kind, cbs=[Before(at, boom)], drop=drop)

# ---- the same number of processes, bit for bit

def all_same_number(root, kind):
    "A whole run, and one that is begun again after an error of both between batches, at the end of an epoch, and in the middle"
    want = state_of(fit(None, kind, drop=.4))
    res = []
    for at in (3, 8):
        folder = f'{root}/{kind}-{at}'
        part_as_all(folder, kind, at, .4)
        learn = fit(folder, kind, drop=.4)
        res.append(is_equal(state_of(learn), want))
    return res,want

class Stop(Exception): told = True

def part_as_all(folder, kind, at, drop=0.):
    "A run that all processes stop in, after batch `at`"
    def _stop(): raise Stop
    with suppress(Stop): mkfit = fit(folder, kind, cbs=[BeforeAll(at, _stop)], drop=drop)

class BeforeAll(Before):
    def between_batches(self):
        if self.learn.count.batches==self.n: self.f()

@pytest.mark.parametrize('kind', ['ddp', 'fsdp'])
def test_a_run_goes_on_bit_for_bit_with_dropout_in_the_middle_of_an_epoch(kind, tmp_path):
    (a,w),(b,v) = together(all_same_number, tmp_path, kind, timeout=LIMIT)
    assert a==b==[True, True]
    assert is_equal(w, v), 'processes have the same weights, losses and counts'
