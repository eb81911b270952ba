"A compiled fit that goes back is one without the detour, within rounding: some of its steps are compared with ordinary ones, which are taken"
import torch
from fastcore.basics import noop
from learnloop import Callback, CheckpointCallback, DataLoaders, Learner, Place, Snapshots
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

def mk():
    torch.manual_seed(0)
    x = torch.randn(40, 4)
    model = nn.Sequential(nn.Linear(4, 8), nn.Dropout(.2), nn.ReLU(), nn.Linear(8, 1))
    learn = Learner(DataLoaders(DataLoader(TensorDataset(x, x.sum(1, True)), 4, shuffle=True), [(x, x.sum(1, True))]), model, F.mse_loss, torch.optim.AdamW, lr=.02)
    learn.logger = noop
    return learn

def go_back(at, **how):
    def _f(cb):
        learn = cb.learn
        if learn.training and (learn.epoch, learn.iter)==at and not learn.keeper.attempt: learn.rewind(**how)
    return Callback('goes', after_batch=_f)

TO = [((2, 3), dict(to=Place(1, 'train', 2))), ((0, 9), dict(to=Place(0)))]

def fit(*cbs):
    learn = mk()
    learn.fuse()
    learn.fit_one_cycle(3, cbs=[*cbs])
    assert sum(g.n for g in learn.fuser.graphs)>20
    return learn

def test_a_compiled_fit_goes_back(tmp_path):
    plain = fit()
    for i,(at,how) in enumerate(TO):
        keeps = [Snapshots(4, keep=9), *[CheckpointCallback(tmp_path/str(i), every_steps=4, keep=9)]*(i<1)]  # no checkpoint is as early as the last place
        for o in keeps:
            learn = fit(o, go_back(at, **how))
            assert learn.keeper.attempt and vars(learn.count)==vars(plain.count)
            torch.testing.assert_close([*map(torch.Tensor.detach, learn.model.parameters())], [*map(torch.Tensor.detach, plain.model.parameters())], rtol=0, atol=1e-6)
