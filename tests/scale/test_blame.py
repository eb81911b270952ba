"Bad rows are named, also after two processes with workers resumed after an error"
import torch
from helpers import Boom, silent
from learnloop import Callback, DataLoaders, Learner
from learnloop.see.flight import FlightRecorder, find_blame
from together import together
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

N,N_BAD = 12_000,20
BAD = torch.randperm(N, generator=torch.Generator().manual_seed(1))[:N_BAD].tolist()

class Rows(TensorDataset):
    def __getitems__(self, idxs): return [t[idxs] for t in self.tensors]

def data():
    g = torch.Generator().manual_seed(0)
    x = torch.randn(N, 8, generator=g)
    y = (x[:,0]+.3*torch.randn(N, generator=g)>0).long()
    x[BAD,0] = 3.*(1-2*y[BAD])  # so the label is clearly wrong
    return Rows(x, y)

def train(path, at=None, several=False):
    torch.manual_seed(0)
    dls = DataLoaders(DataLoader(data(), 200, shuffle=True, num_workers=1, collate_fn=tuple), device='cpu')
    learn = silent(Learner(dls, nn.Linear(8, 2), F.cross_entropy, torch.optim.SGD, lr=.1, path=path))
    if several: learn.to_ddp()
    def stop(cb):
        if cb.learn.count.batches==at: raise Boom
    with learn.no_bar():
        try: learn.fit(2, cbs=[FlightRecorder(), Callback('stop', before_fetch=stop)], resume=f'{path}/run', accept=True)
        except Exception:
            if at is None: raise
    return learn.blame(40).rows if several and at is None else None

def test_twenty_bad_rows_are_among_forty_named(tmp_path):
    together(train, tmp_path, 50, True)
    a,b = together(train, tmp_path, None, True)
    assert a==b==find_blame(tmp_path, 40).rows and len(a)==40 and set(BAD)<={*a}

# ---- Batches of unlike parts

def whole_loss(pred, y): return F.cross_entropy(pred, y)*1.
LOSSES = dict(by_row=F.cross_entropy, of_batch=whole_loss)

def named(path, nm):
    torch.manual_seed(0)
    g = torch.Generator().manual_seed(1)
    x,y = torch.randn(47, 5, generator=g)*torch.logspace(0, 3, 47)[:, None],torch.randint(3, (47,), generator=g)
    learn = silent(Learner(DataLoaders(DataLoader(TensorDataset(x.double(), y), 6, shuffle=True), device='cpu'), nn.Linear(5, 3).double(), LOSSES[nm],
        torch.optim.SGD, lr=.001, path=path/nm))
    learn.to_ddp()
    with learn.no_bar(): learn.fit(2, cbs=FlightRecorder())
    b = learn.blame(40)
    return b.rows,b.losses,b.steps

def each_named(path): return {nm:named(path, nm) for nm in LOSSES}

def test_blame_orders_rows_by_one_scale_for_all_processes(tmp_path):
    one = each_named(tmp_path/'1')
    for n in (2, 3):
        for got in together(each_named, tmp_path/str(n), n=n):
            for nm,(rows,losses,steps) in one.items():
                assert {*zip(got[nm][2], got[nm][0], strict=True)}=={*zip(steps, rows, strict=True)}, nm
                torch.testing.assert_close(got[nm][1], losses)
                assert nm=='of_batch' or got[nm][0]==rows
