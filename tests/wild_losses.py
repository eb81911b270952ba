"Losses as users write them, with suitable data, and learners that train with them"
import functools, math, torch, warnings
from learnloop import CrossEntropyLossFlat, DataLoaders, Learner
from means import C, F64, T, W
from torch import nn
from torch.nn import functional as F

N = 17
class Out:
    "An object that holds scores"
    def __init__(self, o): self.scores = o

def rand(g, *shape): return torch.randn(*shape, generator=g, dtype=F64)
def ints(g, *shape, of=C): return torch.randint(of, shape, generator=g)
def some(y, v):
    "`y` with `v` in the last item only"
    y[-1, 1:] = v
    return y
DATA = dict(classes=lambda g: (rand(g, N, 5), ints(g, N)), numbers=lambda g: (rand(g, N, 5), rand(g, N, C)),
    missing=lambda g: (rand(g, N, 5), some(rand(g, N, C), math.nan)), marked=lambda g: (rand(g, N, 5), some(rand(g, N, C), -9.)),
    pixels=lambda g: (rand(g, N, T, 5), some(ints(g, N, T), 255)), rare=lambda g: (rand(g, N, 5), (ints(g, N, C, of=9)==0).double()),
    teacher=lambda g: (rand(g, N, 5), ints(g, N), rand(g, N, C)), times=lambda g: (rand(g, N, 5), rand(g, N), ints(g, N, of=2)),
    masks=lambda g: (rand(g, N, T, 5), ints(g, N, T), (torch.arange(T)<1+ints(g, N, 1, of=T)).double()))

def masked(p, y, m): return (F.cross_entropy(p.transpose(1, 2), y, reduction='none')*m).sum()/m.sum()
def masked_by_item(p, y, m): return ((F.cross_entropy(p.transpose(1, 2), y, reduction='none')*m).sum(1)/m.sum(1)).mean()
def distilled(p, y, t, how='batchmean'): return F.cross_entropy(p, y)+4*F.kl_div((p/2).log_softmax(1), (t/2).softmax(1), reduction=how)
def cox(p, t, e):
    "Loss of Cox's proportional hazards model"
    order = t.argsort(descending=True)
    r,e = p[order, 0],e[order]
    return -((r-r.logcumsumexp(0))*e).sum()/e.sum().clamp(1)
def present(p, y): return F.mse_loss(p[~y.isnan()], y[~y.isnan()])
def unmarked(p, y): return F.mse_loss(p[y!=-9], y[y!=-9])
def by_positives(p, y): return F.binary_cross_entropy_with_logits(p, y, reduction='sum')/y.sum().clamp(min=1)
def balanced(p, y): return F.binary_cross_entropy_with_logits(p, y, torch.where(y>0, 1-y.mean(), y.mean()))
def inverse_frequency(p, y): return F.cross_entropy(p, y, 1/torch.bincount(y, minlength=C).clamp(1).to(p))
def supervised_contrastive(p, y):
    same,z = (y[:, None]==y).to(p),F.normalize(p)
    return -(same*(z@z.T).log_softmax(1)).sum()/same.sum()
def hard_ones(p, y):
    loss = F.cross_entropy(p, y, reduction='none')
    return loss[loss>1.2].sum()/(loss>1.2).sum().clamp(1)
def two_heads(p, y): return F.cross_entropy(p['out'], y, ignore_index=255)+.4*F.cross_entropy(p['out']*2, y, ignore_index=255)
def focal(p, y):
    ce = F.cross_entropy(p, y, reduction='none')
    return ((1-(-ce).exp())**2*ce).mean()
@functools.wraps(F.cross_entropy)
def root(p, y): return F.cross_entropy(p, y).sqrt()
class MSELoss(nn.MSELoss):
    "A class with the same name as one of torch"
    def __call__(self, p, y): return super().__call__(p, y).sqrt()
class Balanced(nn.CrossEntropyLoss):
    "A class that only adds arguments"
    def __init__(self): super().__init__(W)
class Sub(nn.CrossEntropyLoss):
    def forward(self, p, y): return super().forward(p.movedim(1, -1).flatten(0, -2), y.flatten())
class Learned(nn.Module):
    "A loss with a parameter"
    def __init__(self):
        super().__init__()
        self.s = nn.Parameter(torch.zeros((), dtype=F64))
    def forward(self, p, y): return F.cross_entropy(p, y)*(-self.s).exp()+self.s

def replaced(f):
    f.forward = root
    return f
def hooked(f, mod):
    mod.register_forward_hook(lambda m, args, loss: loss.sqrt())
    return f

MEANS = dict(focal=('classes', focal), distilled=('teacher', distilled), balanced_ce=('classes', Balanced()),
    vae=('numbers', lambda p,y: F.mse_loss(p, y, reduction='sum')/len(p)+(p.exp()-p).sum(1).mean()), learned=('classes', Learned()), by_item=('masks', masked_by_item),
    gaussian=('numbers', lambda p,y: F.gaussian_nll_loss(p, y, torch.ones_like(p), full=True)), poisson=('rare', nn.PoissonNLLLoss(full=True)),
    embedding=('classes', lambda p,y: F.cosine_embedding_loss(p, p*W+1, 2*(y%2)-1)), triplet=('numbers', lambda p,y: F.triplet_margin_loss(p, y, y.flip(1))),
    parts=('numbers', lambda p,y: dict(a=F.mse_loss(p, y), b=F.l1_loss(p, y))), ignored=('pixels', nn.CrossEntropyLoss(W, ignore_index=255)))
OTHERS = dict(masked=('masks', masked), distilled_sum=('teacher', functools.partial(distilled, how='sum')), cox=('times', cox),
    same_name=('numbers', MSELoss()), missing=('missing', present), marked=('marked', unmarked), by_positives=('rare', by_positives), balanced=('rare', balanced),
    inverse=('classes', inverse_frequency), contrastive=('classes', supervised_contrastive), hard=('classes', hard_ones), heads=('pixels', two_heads), wrapped=('classes', root),
    sub=('pixels', Sub(ignore_index=255)), weighted=('classes', functools.partial(lambda w, p, y: F.cross_entropy(p, y, w.to(p)), W)),
    objects=('classes', lambda o,y: F.cross_entropy(o.scores, y, W)), summed=('numbers', lambda p,y: F.mse_loss(p, y, reduction='sum')),
    hooked=('numbers', hooked(f := nn.MSELoss(), f)), inside=('classes', hooked(f := CrossEntropyLossFlat(), f.func)), outside=('classes', hooked(f := CrossEntropyLossFlat(), f)),
    replaced=('classes', replaced(CrossEntropyLossFlat())),
    roots=('numbers', lambda p,y: dict(a=F.mse_loss(p, y).sqrt(), b=F.l1_loss(p, y))))

class Net(nn.Module):
    def __init__(self, name, kind):
        super().__init__()
        self.name,self.kind,self.lin = name,kind,nn.Linear(5, C, dtype=F64)
    def forward(self, x):
        out = self.lin(x)
        if self.kind=='pixels': out = out.movedim(-1, 1)
        return dict(out=out) if self.name=='heads' else Out(out) if self.name=='objects' else out

def mk(model, loss, batches, cbs=(), **kwargs):
    learn = Learner(DataLoaders(batches, device='cpu', n_inp=1), model, loss, torch.optim.SGD, lr=.1, cbs=cbs, **kwargs)
    learn.logger = lambda row: None
    return learn
def said(f, *args, **kwargs):
    "Call `f`; return its result and its warnings, or None and the message of its ValueError"
    with warnings.catch_warnings(record=True, action='always') as ws:
        try: res = f(*args, **kwargs)
        except ValueError as e: return None,str(e)
    return res,' '.join(str(o.message) for o in ws)
def seeded(f, *args):
    torch.manual_seed(1)
    return f(*args)
