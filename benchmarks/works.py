"""Models with their batches and optimizers, trained by hand and by a learner

The loop by hand is what a good engineer writes: forward, loss, backward, clipping if there is any, step, `zero_grad`, over the same loader.
"""
import torch
from functools import partial
from typing import NamedTuple
from torch import nn
from torch.nn import functional as F
from torch.optim import SGD, Adam, AdamW

class Work(NamedTuple):
    model: object # Makes it
    batch: object # Makes a batch, from a generator
    opt: object   # Makes an optimizer from parameters and `lr`
    lr: float
    loss: object = F.cross_entropy
    wd: float|None = None   # Weight decay of all parameters but biases and those of norms
    clip: float|None = None # Largest norm of the gradients
    n: int = 500            # Batches of an epoch when two versions are compared
    limit: float = 1.       # Maximum cost of a step of learnloop, relative to the loop by hand
    fused: float = 1.       # The same for a compiled step
    is_random: bool = False # Does it draw random numbers? Then weights differ between ways of training

def _mlp(*ns):
    layers = [o for i,j in zip(ns, ns[1:], strict=False) for o in (nn.Linear(i,j), nn.ReLU())]
    return nn.Sequential(*layers[:-1])

def _cnn():
    def block(i, o): return nn.Conv2d(i, o, 3, stride=2, padding=1), nn.BatchNorm2d(o), nn.ReLU()
    return nn.Sequential(*block(1,8), *block(8,16), *block(16,32), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32,10))

class Transformer(nn.Module):
    "Predicts the next token"
    def __init__(self, n_tokens=64, length=32, d=64, n_layers=2, n_heads=4, drop=.1):
        super().__init__()
        self.tokens,self.places = nn.Embedding(n_tokens, d),nn.Parameter(.02*torch.randn(length, d))
        self.blocks = nn.ModuleList(nn.TransformerEncoderLayer(d, n_heads, 4*d, drop, batch_first=True, norm_first=True) for _ in range(n_layers))
        self.norm,self.head = nn.LayerNorm(d),nn.Linear(d, n_tokens)
        self.register_buffer('mask', nn.Transformer.generate_square_subsequent_mask(length))
    def forward(self, x):
        x = self.tokens(x)+self.places
        for o in self.blocks: x = o(x, src_mask=self.mask, is_causal=True)
        return self.head(self.norm(x))

class Recurrent(nn.Module):
    "Classifies sequences by an LSTM's last output"
    def __init__(self, n_in=16, n_hidden=32, n_out=10):
        super().__init__()
        self.rnn,self.head = nn.LSTM(n_in, n_hidden, batch_first=True),nn.Linear(n_hidden, n_out)
    def forward(self, x): return self.head(self.rnn(x)[0][:,-1])

class Residual(nn.Module):
    "Two convolutions with batch norm, and a skip connection"
    def __init__(self, n):
        super().__init__()
        def conv(): return nn.Conv2d(n, n, 3, padding=1, bias=False), nn.BatchNorm2d(n)
        self.layers = nn.Sequential(*conv(), nn.ReLU(), *conv())
    def forward(self, x): return F.relu(x+self.layers(x))

def _resnet(n=16):
    stem = nn.Conv2d(3, n, 3, stride=2, padding=1, bias=False),nn.BatchNorm2d(n),nn.ReLU()
    return nn.Sequential(*stem, Residual(n), Residual(n), Residual(n), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(n, 10))

def _rows(bs, shape, n_out, g): return torch.randn(bs, *shape, generator=g),torch.randint(n_out, (bs,), generator=g)
def text_batch(bs, length, n_tokens, g):
    x = torch.randint(n_tokens, (bs, length+1), generator=g)
    return x[:,:-1].contiguous(),x[:,1:].contiguous()
def tokens_loss(pred, y): return F.cross_entropy(pred.flatten(0, 1), y.flatten())

_momentum = partial(SGD, momentum=.9)
_tiny = Work(partial(_mlp, 10, 32, 2), partial(_rows, 32, (10,), 2), SGD, 1e-2, n=2000, limit=.85, fused=.23)
WORKS = {
    'tiny': _tiny,
    'tiny, Adam': _tiny._replace(opt=Adam, lr=1e-3, limit=.8, fused=.23),
    'tiny, momentum': _tiny._replace(opt=_momentum, limit=.82),
    'mlp': Work(partial(_mlp, 784, 256, 256, 10), partial(_rows, 64, (784,), 10), SGD, 1e-2, n=500, fused=.72),
    'cnn': Work(_cnn, partial(_rows, 32, (1,28,28), 10), SGD, 1e-2, n=150, fused=.68),
    'transformer': Work(Transformer, partial(text_batch, 4, 32, 64), AdamW, 1e-3, loss=tokens_loss, wd=.01, clip=1., n=100, limit=.95, fused=.38, is_random=True),
    'lstm': Work(Recurrent, partial(_rows, 16, (16,16), 10), Adam, 1e-3, n=200, limit=.92, fused=.48),
    'resnet': Work(_resnet, partial(_rows, 16, (3,16,16), 10), _momentum, 1e-2, n=100, fused=.8)}

def new_model(work, seed):
    torch.manual_seed(seed)
    return work.model()

def new_batches(work, seed, n=None):
    g = torch.Generator().manual_seed(seed)
    return [work.batch(g) for _ in range(work.n if n is None else n)]

def new_opt(work, model):
    "Make the optimizer of the loop by hand; with weight decay, it has two groups"
    if work.wd is None: return work.opt(model.parameters(), lr=work.lr)
    norms = {p for m in model.modules() if isinstance(m, (nn.LayerNorm, nn.BatchNorm2d)) for p in m.parameters(recurse=False)}
    none = [p for n,p in model.named_parameters() if n.endswith('bias') or p in norms]
    some = [p for p in model.parameters() if not any(p is o for o in none)]
    return work.opt([dict(params=some, weight_decay=work.wd), dict(params=none, weight_decay=0.)], lr=work.lr)

def by_hand(work, model, dl, n_epoch=1, opt=None):
    "Train with a loop written by hand"
    opt = opt or new_opt(work, model)
    loss_func,clip = work.loss,work.clip
    for _ in range(n_epoch):
        model.train()
        for xb,yb in dl:
            loss = loss_func(model(xb), yb)
            loss.backward()
            if clip: nn.utils.clip_grad_norm_(model.parameters(), clip)
            opt.step()
            opt.zero_grad()

def new_learner(work, model, dl, cbs=(), **kwargs):
    "Make a learner that does the same, with its default callbacks"
    from learnloop import DataLoaders, GradientClip, Learner
    cbs = [*cbs, *([GradientClip(work.clip)] if work.clip else [])]
    return Learner(DataLoaders(dl, device='cpu'), model, work.loss, opt_func=work.opt, lr=work.lr, wd=work.wd, cbs=cbs, **kwargs)

def by_learner(work, model, dl, cbs=(), prepare=None, bar=False, **kwargs):
    "Train with a learner, after calling `prepare` with it"
    learn = new_learner(work, model, dl, cbs, **kwargs)
    if prepare: prepare(learn)
    if bar: learn.fit(1)
    else:
        with learn.no_bar(), learn.no_logging(): learn.fit(1)
    return learn
