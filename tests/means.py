"Losses of many kinds, data for them, and the step and evaluation of all items at once"
import torch, warnings
from functools import partial
from helpers import Module, silent
from learnloop import CrossEntropyLossFlat, DataLoaders, DiceLoss, FocalLossFlat, LabelSmoothingCrossEntropyFlat, Learner
from torch import nn
from torch.nn import functional as F

C,T,F64 = 4,6,torch.float64
W,NEAR = torch.tensor([.2, 1., 3., .7], dtype=F64),torch.tensor([1., 1.001, 1., .999], dtype=F64)

class Net(Module):
    "Scores of classes: for items (n, c), tokens (n, t, c), pixels (n, c, t) or in CTC's order (t, n, c)"
    def __init__(self, kind):
        self.kind,self.lin = kind,nn.Linear(5, C, dtype=F64)
    def forward(self, x):
        out = self.lin(x)
        return dict(ctc=lambda: out.transpose(0, 1).log_softmax(-1), pixels=lambda: out.transpose(1, 2), logs=lambda: out.log_softmax(-1),
            probs=lambda: out.sigmoid(), bf16=lambda: out.bfloat16()).get(self.kind, lambda: out)()

def _ignored(y, g, share=.4, value=-100):
    y = y.masked_fill(torch.rand(y.shape, generator=g)<share, value)
    y.view(-1)[0] = 1
    return y

def mk_data(kind, n, g):
    "Inputs and targets of `n` items"
    def rand(*shape): return torch.randn(*shape, generator=g, dtype=F64)
    def ints(*shape): return torch.randint(C, shape, generator=g)
    x = rand(n, 5) if kind not in ('tokens', 'ragged', 'pixels', 'ctc') else rand(n, T, 5)
    if kind in ('classes', 'logs', 'bf16'): return x,ints(n)
    if kind=='ignored': return x,_ignored(ints(n), g)
    if kind in ('numbers', 'pairs'): return x,rand(n, C)
    if kind=='soft': return x,rand(n, C).softmax(1)
    if kind in ('flags', 'probs'): return x,ints(n, C).clamp(0, 1).double()
    if kind=='weighted': return x,rand(n, C),torch.rand(n, 1, generator=g, dtype=F64)+.1
    if kind in ('tokens', 'pixels'): return x,_ignored(ints(n, T), g)
    if kind=='ragged':
        lengths = torch.randint(1, T+1, (n,), generator=g)
        return x,ints(n, T).masked_fill(torch.arange(T)>=lengths[:, None], -100)
    return x,torch.randint(1, C, (n, 2), generator=g),torch.full((n,), T),torch.randint(1, 3, (n,), generator=g)

def rmse(p, y): return F.mse_loss(p, y).sqrt()
def weighted(p, y): return F.cross_entropy(p, y, W.to(p.dtype))
def near_one(p, y): return F.cross_entropy(p, y, NEAR.to(p.dtype))
def plain(p, y): return F.cross_entropy(p, y)
def plain_ctc(p, *y): return F.ctc_loss(p, *y)
def plain_dict(p, y): return dict(loss=F.mse_loss(p, y)+F.l1_loss(p, y), l1=F.l1_loss(p, y))
def masked_tokens(p, y):
    m = (y!=-100).to(p.dtype)
    return (F.cross_entropy(p.transpose(1, 2), y, reduction='none')*m).sum()/m.sum()
def item_weights(p, y, w): return ((p-y).square()*w).sum()/w.sum()
def batch_dice(p, y): return 1-2*(p*y).sum()/(p.sum()+y.sum())
def item_dice(p, y): return (1-2*(p*y).sum(1)/(p.sum(1)+y.sum(1)+1)).mean()
def hardest(p, y): return F.mse_loss(p, y, reduction='none').mean(1).topk(max(len(y)//2, 1)).values.mean()
def contrastive(p, y): return F.cross_entropy(F.normalize(p)@F.normalize(y).T, torch.arange(len(y)))
def noisy(p, y): return F.mse_loss(p+torch.randn_like(p), y)
def noisy_rmse(p, y): return noisy(p, y).sqrt()
def bf16_weighted(p, y): return F.cross_entropy(p, y, W.to(p.dtype)).double()
class WarmsUp:
    "A term whose weight is 0 at first"
    def __init__(self): self.n = 0
    def __call__(self, p, y):
        self.n += 1
        return F.mse_loss(p, y)+(self.n-1)*F.mse_loss(p, y).sqrt()
class Odd(CrossEntropyLossFlat):
    "A subclass whose loss is another one"
    def forward(self, pred, targ): return super().forward(pred, targ).sqrt()

ce = nn.CrossEntropyLoss
KNOWN = dict(ce=(ce, 'classes'), ce_weights=(partial(ce, W), 'classes'), ce_near_one=(partial(ce, NEAR), 'classes'), ce_ignored=(ce, 'ignored'),
    ce_both=(partial(ce, W, ignore_index=2), 'classes'), functional=(lambda: partial(F.cross_entropy, weight=W), 'ignored'),
    two_partials=(lambda: partial(partial(F.cross_entropy, ignore_index=0), label_smoothing=.1), 'classes'), smoothed=(partial(ce, W, label_smoothing=.1), 'ignored'),
    soft=(partial(ce, W, label_smoothing=.1), 'soft'), total=(partial(ce, reduction='sum'), 'classes'), mse=(nn.MSELoss, 'numbers'), huber=(lambda: F.huber_loss, 'numbers'),
    total_mse=(lambda: partial(F.mse_loss, reduction='sum'), 'numbers'), bce=(partial(nn.BCEWithLogitsLoss, pos_weight=W), 'flags'), bce_probs=(nn.BCELoss, 'probs'),
    nll=(partial(nn.NLLLoss, W, ignore_index=1), 'logs'), kl=(partial(nn.KLDivLoss, reduction='batchmean'), 'soft'),
    margin=(partial(nn.MultiMarginLoss, weight=W), 'classes'), soft_margin=(partial(nn.MultiLabelSoftMarginLoss, weight=W), 'flags'), ctc=(nn.CTCLoss, 'ctc'),
    ctc_sum=(partial(nn.CTCLoss, reduction='sum'), 'ctc'), ctc_function=(lambda: partial(F.ctc_loss, zero_infinity=True), 'ctc'),
    flat=(partial(CrossEntropyLossFlat, weight=W), 'ignored'), tokens=(CrossEntropyLossFlat, 'tokens'), ragged=(CrossEntropyLossFlat, 'ragged'),
    pixels=(partial(ce, W), 'pixels'), flat_pixels=(partial(CrossEntropyLossFlat, weight=W, axis=1), 'pixels'), focal=(partial(FocalLossFlat, weight=W), 'ignored'),
    flat_smoothed=(partial(LabelSmoothingCrossEntropyFlat, weight=W), 'ignored'), dice=(DiceLoss, 'classes'), dice_mean=(partial(DiceLoss, reduction='mean'), 'classes'))
MEANS = dict(plain=(lambda: plain, 'classes'), plain_ctc=(lambda: plain_ctc, 'ctc'), plain_dict=(lambda: plain_dict, 'numbers'), item_dice=(lambda: item_dice, 'probs'))
REFUTED = {o.__name__:((lambda o=o: o), k) for o,k in ((rmse, 'numbers'), (weighted, 'classes'), (near_one, 'classes'), (masked_tokens, 'tokens'), (masked_tokens, 'ragged'),
    (item_weights, 'weighted'), (batch_dice, 'probs'), (hardest, 'numbers'), (contrastive, 'numbers'), (noisy_rmse, 'numbers'), (bf16_weighted, 'bf16'))}
REFUTED |= dict(WarmsUp=(WarmsUp, 'numbers'), Odd=(partial(Odd, weight=W), 'classes'))
DECLARED = dict(weighted=dict(denominator=lambda p, y: W[y].sum()), near_one=dict(denominator=lambda p, y: NEAR[y].sum()),
    masked_tokens=dict(denominator=lambda p, y: (y!=-100).sum()), item_weights=dict(denominator=lambda p, y, w: w.sum()), bf16_weighted={})

def cut(whole, sizes):
    "Batches of these sizes; padding that no item of a batch needs is left out"
    return [tuple(o) for o in zip(*(t.split(sizes) for t in whole), strict=True)]
def trimmed(b):
    x,y = b
    n = int((y!=-100).sum(1).max())
    return x[:, :max(n, 1)],y[:, :max(n, 1)]

def sizes_of(n, k, g):
    "Sizes of `k` batches with `n` items in all, drawn"
    at = torch.randperm(n-1, generator=g)[:k-1].add(1).sort().values.tolist()
    return [b-a for a,b in zip([0, *at], [*at, n], strict=True)]

def mk(loss, kind, batches, cbs=(), **kwargs):
    torch.manual_seed(1)
    dls = DataLoaders(batches, device='cpu', n_inp=1)
    return silent(Learner(dls, Net(kind), loss, torch.optim.SGD, lr=.1, cbs=cbs, **kwargs))

def fitted(*args, how='', **kwargs):
    "A learner after an epoch, and what it said: warnings, or the error that it was refused with"
    learn = mk(*args, **kwargs)
    if how: getattr(learn, f'to_{how}')()
    with warnings.catch_warnings(record=True, action='always') as ws:
        try: learn.fit(1)
        except ValueError as e: return learn,f'refused: {e}'
    return learn,' '.join(str(w.message) for w in ws)

def main(res):
    "The loss of what a loss function returned"
    return res['loss'] if isinstance(res, dict) else res

def by_hand(loss, kind, whole):
    "Weights after one step on the whole, and its loss before and after that"
    torch.manual_seed(1)
    net = Net(kind)
    before = main(loss(net(whole[0]), *whole[1:]))
    before.backward()
    with torch.no_grad():
        for p in net.parameters(): p -= .1*p.grad
        return net,before.item(),main(loss(net(whole[0]), *whole[1:])).item()

def apart(a, b):
    "By how much the weights of two models differ"
    pairs = zip(a.parameters(), b.parameters(), strict=True)
    return max(float((getattr(p, 'full_tensor', lambda p=p: p)()-q).detach().abs().max()) for p,q in pairs)
