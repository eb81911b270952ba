"Calls that only one process makes are errors that name the call"
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from learnloop import *
from together import ending, together

def learner():
    ds = TensorDataset(torch.randn(16, 4), torch.randn(16, 1))
    return Learner(DataLoaders(DataLoader(ds, 4), DataLoader(ds, 4)), nn.Linear(4, 1), nn.functional.mse_loss).to_ddp()

def in_one_only():
    learn = learner()
    if learn.team.is_first: return ending(learn.validate)

def meets_inside_first():
    learn = learner()
    res = ending(learn.team.first, lambda: learn.team.gather(1))
    return res,learn.team.gather(learn.team.rank)

def test_a_process_that_has_ended_is_named():
    (kind,text),other = together(in_one_only)
    assert kind=='PeerError' and 'rank 1 has already reached the end of its program' in text and 'killed' not in text
    assert other is None

def test_no_exchange_inside_of_first():
    for (kind,text),every in together(meets_inside_first):
        assert kind in ('RuntimeError', 'PeerError') and "'gather' inside team.first" in text
        assert every==[0, 1]  # the processes are still connected
