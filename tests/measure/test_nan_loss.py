"A NaN training loss: one warning by the end of the epoch names its first batch, unless a callback handles it"
import math, warnings
import pytest, torch
from learnloop import Callback, CheckFinite, DataLoaders, Learner, SpikeDetection, TerminateOnNaNCallback
from torch import nn
from torch.nn import functional as F

N = 6  # batches in an epoch
DATA = [(torch.randn(4, 2, generator=torch.Generator().manual_seed(i)), torch.randn(4, 1, generator=torch.Generator().manual_seed(9+i))) for i in range(N)]

class Spoil(Callback):
    "Make the loss NaN in the batches `at`, pairs of epoch and batch"
    order = -5
    def __init__(self, *at): self.at = at
    def after_loss(self):
        if self.learn.training and (self.learn.epoch, self.learn.iter) in self.at:
            self.learn.loss_grad = self.learn.loss_grad*math.nan
            self.learn.loss = self.learn.loss_grad.detach().clone()

def mk(dl=DATA, **kw):
    torch.manual_seed(0)
    return Learner(DataLoaders(dl, DATA[:1], device='cpu'), nn.Linear(2, 1), F.mse_loss, torch.optim.SGD, lr=1e-3, **kw)

def said(*cbs, n_epoch=3, dl=DATA, **kw):
    "The warnings of a fit, each with the epoch and the batch in which it came"
    learn,seen = mk(dl),[]
    with warnings.catch_warnings(action='always'):
        warnings.showwarning = lambda m, *args: seen.append((str(m), learn.epoch, learn.iter))
        with learn.no_logging(), learn.no_bar(): learn.fit(n_epoch, cbs=[*cbs], **kw)
    return seen

@pytest.mark.parametrize('cb', [CheckFinite('skip'), CheckFinite('stop'), SpikeDetection(warmup=1), TerminateOnNaNCallback()], ids=lambda o: f'{type(o).__name__} {getattr(o, "action", "")}')
def test_callbacks_that_handle_nan_losses_are_left_alone(cb): assert said(cb, Spoil((0, 2), (1, N-1)))==[]
