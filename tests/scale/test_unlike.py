"If the fits of processes differ, all processes raise an error before the first step"
import torch
from helpers import silent
from learnloop import Callback, Learner
from together import LIMIT, ending, same, together
from torch import nn
from torch.nn import functional as F

def mk(n=4, frozen=False):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, n), nn.Linear(n, 1))
    if frozen: model[0].requires_grad_(False)
    return silent(Learner([(torch.ones(4, 3), torch.ones(4, 1))]*2, model, F.mse_loss, lr=.1)).to_ddp(timeout=LIMIT)

def unlike():
    "Return the errors of fits that differ in the second process, and the steps of a fit afterwards"
    learn,steps = mk(),[]
    rank = learn.team.rank
    def _fit(learn, n=1): return ending(lambda: learn.fit(n, cbs=Callback(after_step=lambda cb: steps.append(1))))
    res = dict(frozen=_fit(mk(frozen=rank==1)), epochs=_fit(mk(), 1+rank), shape=_fit(mk(4+rank)))
    assert not steps
    learn.fit(1)
    return res,learn.count.opt_steps

def test_case_82_differences_are_named_before_the_first_step():
    res,n = same(together(unlike))
    of = '0.weight is [4, 3] torch.float32, requires_grad=True on rank 0, and '
    want = dict(frozen=of+'[4, 3] torch.float32, requires_grad=False on rank 1', epochs='n_epoch is 1 on rank 0, and 2 on rank 1',
        shape=of+'[5, 3] torch.float32, requires_grad=True on rank 1')
    for k,text in want.items(): assert res[k][0]=='ValueError' and text in res[k][1], res[k]
    assert n==2, 'the processes are disconnected'
