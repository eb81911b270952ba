"Bad rows are named, also when two processes with workers trained, and went on after an error"
import torch
from learnloop import Callback, DataLoaders, Learner
from learnloop.see.flight import FlightRecorder, find_blame
from together import together
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

N,N_BAD = 20_000,20
BAD = torch.randperm(N, generator=torch.Generator().manual_seed(1))[:N_BAD].tolist()

class Boom(Exception): pass
class Rows(TensorDataset):
    def __getitems__(self, idxs): return [t[idxs] for t in self.tensors]

def data():
    g = torch.Generator().manual_seed(0)
    x = torch.randn(N, 8, generator=g)
    y = (x[:,0]+.3*torch.randn(N, generator=g)>0).long()
    x[BAD,0] = 3.*(1-2*y[BAD])  # which says clearly that the label is wrong
    return Rows(x, y)

def train(path, at=None, several=False):
    torch.manual_seed(0)
    dls = DataLoaders(DataLoader(data(), 200, shuffle=True, num_workers=1, collate_fn=tuple), device='cpu')
    learn = Learner(dls, nn.Linear(8, 2), F.cross_entropy, torch.optim.SGD, lr=.1, path=path)
    learn.logger = lambda row: None
    if several: learn.to_ddp()
    def stop(cb):
        if cb.learn.count.batches==at: raise Boom
    with learn.no_bar():
        try: learn.fit(2, cbs=[FlightRecorder(), Callback('stop', before_fetch=stop)], resume=f'{path}/run', accept=True)
        except Exception:
            if at is None: raise
    return learn.blame(40).rows if several and at is None else None

def test_twenty_bad_rows_are_among_forty_named(tmp_path):
    together(train, tmp_path, 70, True)
    a,b = together(train, tmp_path, None, True)
    assert a==b==find_blame(tmp_path, 40).rows and len(a)==40 and set(BAD)<={*a}
