"A turn that runs out of memory runs again in halves: the same step, with the same random numbers"
import warnings
from functools import partial
import pytest, torch
from helpers import Module, batches, check, covering, silent
from learnloop import GradientAccumulation, GradientClip, HealMemory, Learner, MicroBatch, set_seed
from torch import nn
from torch.nn import functional as F

class Room(Module):
    "Raises what CUDA raises, above so many items, in forward or in backward"
    def __init__(self, room=99, where='forward', drop=0., norm=None):
        self.room,self.where,self.sizes = room,where,[]
        self.net = nn.Sequential(nn.Linear(2, 8), norm or nn.Identity(), nn.Tanh(), nn.Dropout(drop), nn.Linear(8, 3))
    def fails(self, x):
        if self.training and len(x)>self.room: raise torch.OutOfMemoryError('CUDA out of memory')
    def forward(self, x):
        self.sizes.append(len(x))
        x = self.net[:2](x)
        if self.where=='forward': self.fails(x)
        elif x.requires_grad: x.register_hook(lambda g: self.fails(g))
        return self.net[2:](x)

def data(n=5, bs=7):
    return [(x, (y[:,0]>.5).long()+(x[:,0]>0)) for x,y in batches(n, bs)]

def weighted(pred, y): return F.cross_entropy(pred, y, torch.tensor([.2, 1., 3.]))
weighted.denominator = lambda pred, y: torch.tensor([.2, 1., 3.])[y].sum()
LOSSES = dict(plain=F.cross_entropy, weight=nn.CrossEntropyLoss(torch.tensor([.2, 1., 3.])), ignore=nn.CrossEntropyLoss(ignore_index=0), declared=weighted)
CBS = dict(none=list, accum=lambda: [GradientAccumulation(14), GradientClip(.1)])

def run(room, cbs=(), loss=F.cross_entropy, where='forward', n_epoch=2, **kwargs):
    set_seed(1)
    learn = silent(Learner((data(), data(2)), Room(room, where, **kwargs), loss, partial(torch.optim.SGD, momentum=.9), lr=.1, cbs=[*cbs]))
    learn.fit(n_epoch)
    return learn

def weights(learn): return {k:v.clone() for k,v in learn.model.state_dict().items()}

@covering(2, room=[4, 2, 1], loss=[*LOSSES], cbs=[*CBS], where=['forward', 'backward'])
def test_it_is_the_step_of_the_whole_batch(where, room, loss, cbs):
    whole = run(99, CBS[cbs](), LOSSES[loss])
    with warnings.catch_warnings(record=True, action='always') as ws:
        learn = run(room, [HealMemory(), *CBS[cbs]()], LOSSES[loss], where)
    assert [str(o.message).split(': CUDA')[0] for o in ws]==[f'HealMemory: out of memory with {n} items, so each step now takes parts of {m} items'
        for n,m in ((7, 4), (4, 2), (2, 1)) if n>room]
    for k,v in weights(learn).items(): torch.testing.assert_close(v, weights(whole)[k], rtol=1e-4, atol=1e-6)
    torch.testing.assert_close(torch.tensor(learn.recorder.raw_losses), torch.tensor(whole.recorder.raw_losses), rtol=1e-4, atol=1e-6)
    assert vars(learn.count)==vars(whole.count)

@pytest.mark.parametrize('where', ['forward', 'backward'])
@pytest.mark.parametrize('room,size', [(4, 4), (3, 2)])
@pytest.mark.filterwarnings('ignore:HealMemory')
def test_random_numbers_are_those_of_the_turn_that_failed(where, room, size):
    a,b = run(room, [heal := HealMemory()], where=where, drop=.5),run(99, [MicroBatch(size)], drop=.5)
    check(weights(a), weights(b))
    assert heal.size==size

def test_a_run_with_enough_memory_is_the_one_without_it():
    check(weights(run(99, [HealMemory()], drop=.5)), weights(run(99, drop=.5)))

@pytest.mark.filterwarnings('ignore:HealMemory')
def test_batches_that_cannot_be_split_are_named():
    def contrast(pred, y): return (pred@pred.T).logsumexp(1).mean()
    with pytest.raises(ValueError, match='HealMemory: the loss function .*contrast is not a mean'): run(4, [HealMemory()], contrast)
    with pytest.warns(UserWarning, match='with net.1 in training mode'): run(4, [HealMemory()], norm=nn.BatchNorm1d(8))
    with pytest.warns(UserWarning, match='Evaluation'): run(99, [HealMemory()], contrast)  # nothing to split

@pytest.mark.filterwarnings('ignore:HealMemory')
def test_other_errors_and_too_little_memory_are_raised():
    for cb in (HealMemory(), HealMemory(min_size=4)):
        with pytest.raises(torch.OutOfMemoryError): run(0, [cb])
    def boom(pred, y): raise OSError('boom')
    with pytest.raises(OSError): run(9, [HealMemory()], boom)
    class Full(torch.optim.SGD):
        def step(self, *args): raise torch.OutOfMemoryError('no room for the state')
    set_seed(1)
    learn = silent(Learner(data(), Room(), F.cross_entropy, Full, cbs=[HealMemory()]))
    with pytest.raises(torch.OutOfMemoryError, match='state'): learn.fit(1)
