"MicroBatch names models whose predictions for an item depend on other items of the batch, and no others"
import warnings
import pytest, torch
from torch import nn
from torch.nn import functional as F
from learnloop import Learner, MicroBatch

class Apply(nn.Module):
    "Apply the function `f` to the output of the layer `m`"
    def __init__(self, f, m=None):
        super().__init__()
        self.m,self.f = m or nn.Linear(6, 4),f
    def forward(self, x): return self.f(self.m(x))

def attention(batch_first): return nn.TransformerEncoderLayer(6, 2, 8, batch_first=batch_first)
def route(p):
    "A mixture of two experts with a loss that balances their loads, as in Switch Transformers"
    load = F.one_hot(p.argmax(-1), 4).float().mean(0)
    return p,(load*p.softmax(-1).mean(0)).sum()

X = torch.randn(8, 3, 6, generator=torch.Generator().manual_seed(3))
INTERACT = dict(centered=lambda: Apply(lambda p: p-p.mean(0)), standardized=lambda: Apply(lambda p: p/(p.std(0)+1)),
    attention=lambda: Apply(lambda p: p, attention(False)), rnn=lambda: Apply(lambda p: p[0], nn.LSTM(6, 4)),
    graph=lambda: Apply(lambda p: p+p.roll(1, 0)), routed=lambda: Apply(route), largest=lambda: Apply(lambda p: p/p.abs().max()))
ALONE = dict(linear=lambda: Apply(lambda p: p), attention=lambda: Apply(lambda p: p, attention(True)),
    rnn=lambda: Apply(lambda p: p[0], nn.GRU(6, 4, batch_first=True)), dropout=lambda: Apply(F.dropout),
    sampled=lambda: Apply(lambda p: p+torch.randn_like(p)), scalar=lambda: Apply(lambda p: (p, p.square().mean())),
    time_first=lambda: Apply(lambda p: p.transpose(0, 1)), norm=lambda: Apply(nn.LayerNorm(4)), constant=lambda: Apply(lambda p: (p, torch.ones(2))),
    complex=lambda: nn.Sequential(Apply(lambda p: p+0j, nn.Linear(6, 6)), nn.Linear(6, 4, dtype=torch.complex64)), half=lambda: Apply(lambda p: p.bfloat16()),
    compiled=lambda: torch.compile(nn.Linear(6, 4), backend='eager'), state=lambda: nn.LSTM(6, 4, batch_first=True))

def told_of(make, size=4):
    "Return the warnings of a fit in parts"
    torch.manual_seed(1)
    def loss(pred, yb): return (pred[0] if isinstance(pred, tuple) else pred).float().mean()*yb.mean()
    loss.denominator = lambda pred, yb: len(yb)
    learn = Learner([(X, X)]*2, make(), loss, lr=.01)
    with warnings.catch_warnings(record=True) as told, learn.no_logging():
        warnings.simplefilter('always')
        learn.fit(1, cbs=MicroBatch(size))
    return [str(o.message) for o in told if 'other items of the batch' in str(o.message)]

@pytest.mark.parametrize('name', INTERACT)
@pytest.mark.parametrize('size', [4, 1])
def test_a_model_whose_items_interact_is_named(name, size): assert len(told_of(INTERACT[name], size))==1

@pytest.mark.parametrize('name', ALONE)
def test_other_models_are_not(name): assert not told_of(ALONE[name])

def test_a_batch_in_one_part_is_not_tried(): assert not told_of(INTERACT['centered'], 8)
