"Mixes match the papers' equations, and leave no trace after any end"
from contextlib import nullcontext
from functools import partial
import helpers, pytest, torch
from helpers import EVENTS, act, covering, listener, same
from learnloop.loop.callback import Callback, before_batch_cb
from learnloop.data.loaders import DataLoaders
from learnloop.measure.losses import *
from learnloop.train.mixup import *
from torch import nn
from torch.distributions import Beta
from torch.nn import functional as F

N,SEED = 6,7
def mk_learner(cbs=None, dls=(), device='cpu', **kwargs): return helpers.mk_learner(cbs, dls=DataLoaders(*dls, device=device), **kwargs)
def no_reduction(pred, y): return F.cross_entropy(pred, y)

def images(n=2, c=3, seed=0, targ='index'):
    "Batches of images, and targets of some kind"
    g = torch.Generator().manual_seed(seed)
    def _targ():
        y = torch.randint(c, (N,), generator=g)
        return dict(index=y, soft=F.one_hot(y, c).float(), multi=F.one_hot(y, c), numbers=torch.randn(N, c, generator=g))[targ]
    return [(torch.randn(N, 1, 4, 5, generator=g), _targ()) for _ in range(n)]

def net(seed=0):
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return nn.Sequential(nn.Flatten(), nn.Linear(20, 3))

def run(cb, loss_func, targ='index', cbs=(), n_epoch=1, bs=None, **kwargs):
    "Train on mixed batches: the learner, and xb, yb, loss and gradients of each batch"
    seen = []
    def after_backward(self): seen.append((self.x, self.y, self.loss, [p.grad.clone() for p in self.model.parameters()]))
    bs = bs or images(targ=targ)
    learn = mk_learner([cb, *cbs, Callback(after_backward=after_backward)], dls=(bs, bs[:1]), model=net(), loss_func=loss_func, **kwargs)
    torch.manual_seed(SEED)
    learn.fit(n_epoch)
    return learn,seen

def draws(alpha, n=N):
    lam = Beta(torch.tensor(alpha), torch.tensor(alpha)).sample((n,))
    lam = torch.max(lam, 1-lam)
    return lam,torch.randperm(N)

def by_hand(alpha, loss, targ='index', per_item=True):
    "Zhang et al. 2018, eq. 1, for the batches of `run`: `loss(pred, y, y_partner, lam)`"
    model,res = net(),[]
    opt = torch.optim.SGD(model.parameters(), lr=.1)
    torch.manual_seed(SEED)
    for x,y in images(targ=targ):
        lam,perm = draws(alpha, N if per_item else 1)
        w = lam.view(-1, 1, 1, 1)
        x = w*x + (1-w)*x[perm]
        l = loss(model(x), y, y[perm], lam)
        l.backward()
        res.append((x, y, l.detach(), [p.grad.clone() for p in model.parameters()]))
        opt.step()
        opt.zero_grad()
    return res

def agree(a, b):
    assert len(a)==len(b)
    for (x,_,l,g),(x2,_,l2,g2) in zip(a, b, strict=True):
        assert torch.equal(x, x2) and torch.equal(l, l2), (l, l2)
        assert all(map(torch.equal, g, g2))

def two_losses(f, reduce): return lambda pred, y, y2, lam: reduce(lam*f(pred, y, reduction='none') + (1-lam)*f(pred, y2, reduction='none'))
ce_sum = partial(F.cross_entropy, reduction='sum')
W = torch.tensor([1., 2., 5.])

@pytest.mark.parametrize('f,reduce', [(F.cross_entropy, torch.mean), (ce_sum, torch.sum), (nn.CrossEntropyLoss(), torch.mean),
    (nn.CrossEntropyLoss(reduction='sum'), torch.sum), (CrossEntropyLossFlat(), torch.mean)], ids=['function', 'partial', 'module', 'module sum', 'flat'])
def test_mixup_of_classes_mixes_the_losses_of_items(f, reduce): agree(run(MixUp(), f)[1], by_hand(.4, two_losses(F.cross_entropy, reduce)))

@pytest.mark.parametrize('f', [LabelSmoothingCrossEntropy(), FocalLoss()])
def test_mixup_works_with_any_loss_of_classes(f):
    def _each(pred, y, reduction): return type(f)(reduction=reduction)(pred, y)
    agree(run(MixUp(), f)[1], by_hand(.4, two_losses(_each, torch.mean)))

def box_of(new, old): return (new!=old).flatten(0, 1).any(0).nonzero()
@pytest.mark.parametrize('seed', range(6))
def test_cutmix_share_is_the_area_that_was_kept(seed):
    torch.manual_seed(seed)
    x,perm = torch.zeros(3, 2, 9, 11) + torch.arange(3.)[:,None,None,None],torch.tensor([1, 2, 0])
    lam = torch.rand(1)
    (new,),own = CutMix().mix((x,), perm, lam)
    kept,box = (new==x).float().mean((1, 2, 3)),box_of(new, x)
    torch.testing.assert_close(kept, torch.full((3,), own))
    if len(box):
        lo,hi = box.min(0).values,box.max(0).values+1
        assert torch.equal(new[...,lo[0]:hi[0],lo[1]:hi[1]], x[perm][...,lo[0]:hi[0],lo[1]:hi[1]])
        assert (hi-lo).prod()==len(box)  # a full box
        sides = torch.tensor([9, 11])*(1-lam).sqrt()  # Yun et al. 2019, section 3: both sides by sqrt(1-λ), clipped at the edges
        assert ((hi-lo)<=sides.round()).all()
        inside = (lo>0) & (hi<torch.tensor([9, 11]))
        assert ((hi-lo)==sides.round())[inside].all()

@pytest.mark.parametrize('f', [F.cross_entropy, nn.CrossEntropyLoss(W), no_reduction], ids=['function', 'weights', 'no reduction'])
def test_cutmix_mixes_two_losses_by_that_share(f):
    seen,shares = [],[]
    class Spy(CutMix):
        def mix(self, xb, perm, lam):
            res = super().mix(xb, perm, lam)
            shares.append((perm, res[1]))
            return res
    learn,seen = run(Spy(), f)
    model = net()
    for (x,y,l,g),(_,y0),(perm,own) in zip(seen[:1], images(), shares[:1], strict=False):
        pred = model(x)
        loss = own*f(pred, y0) + (1-own)*f(pred, y0[perm])
        assert torch.equal(l, loss) and torch.equal(y, y0)
        assert all(map(torch.equal, g, torch.autograd.grad(loss, list(model.parameters()))))

@covering(what=['CancelBatchException', 'CancelTrainException', 'CancelEpochException', 'CancelFitException', 'ValueError', 'KeyboardInterrupt'],
    e=[o for o in EVENTS if o.split('_')[-1] in ('batch', 'pred', 'loss', 'backward', 'step') and 'cancel' not in o],
    order=[-1, 1])
def test_cancel_epoch_leaves_loss_func_swapped(e, what, order):
    cb = MixUp()
    learn = mk_learner([cb, listener('stop', [e], lambda cb, _: act(cb, what) if cb.learn.training else None, order=order)],
        dls=(images(), images(1)), model=net(), loss_func=F.cross_entropy)
    with pytest.raises((ValueError, KeyboardInterrupt)) if what in ('ValueError', 'KeyboardInterrupt') else nullcontext(): learn.fit(1)
    assert learn.loss_func is F.cross_entropy and cb._partner is None and cb._own is None and cb._lam is None

@pytest.mark.parametrize('e', ['before_batch', 'after_pred', 'after_loss', 'after_batch'])
def test_evaluation_in_the_middle_of_a_batch_has_the_plain_loss(e):
    losses = []
    def hear(cb, _):
        if not cb.learn.training or cb.learn.iter: return
        with torch.no_grad(): want = F.cross_entropy(cb.learn.model(valid[0]), valid[1])
        class Note(Callback):
            def after_loss(self): losses.append(torch.equal(self.loss, want))
        cb.learn.validate(cbs=Note())
    valid = images(1, seed=1)[0]
    def go(cbs):
        learn = mk_learner([MixUp(), *cbs], dls=(images(), [valid]), model=net(), loss_func=F.cross_entropy)
        torch.manual_seed(SEED)
        learn.fit(1)
        return learn.model
    assert same(go([listener('spy', [e], hear, order=1)]), go([])) and losses==[True]

def refuses(match, cb, exc=ValueError, bs=None, loss_func=F.cross_entropy, model=None, cbs=()):
    learn = mk_learner([cb, *cbs], dls=(bs or images(),), model=model or net(), loss_func=loss_func)
    with pytest.raises(exc, match=match): learn.fit(1)
    assert learn.loss_func is loss_func

def test_what_cannot_be_mixed_is_an_error():
    x,y = images(1)[0]
    refuses('needs a loss_func', MixUp(), loss_func=None)
    refuses('no targets', MixUp(), bs=[(x,)])
    refuses('an input is int64', MixUp(), TypeError, bs=[((x*100).long(), y)])
    refuses('only tensors', MixUp(), TypeError, bs=[(x, ['a']*N)])
    refuses('first dimension', MixUp(), bs=[(x, y[:3])])
    refuses('MixUp and CutMix in one fit', MixUp(), cbs=[CutMix()])
    refuses('do not share', CutMix(), bs=[(torch.randn(N, 20), y)])
    refuses('a share for each item', MixHandler(mix=lambda xb, perm, lam: (xb, torch.rand(N))), loss_func=no_reduction)
    refuses("with reduction='none'", MixUp(), loss_func=lambda pred, y, reduction='mean': F.cross_entropy(pred, y))
    for a in (0, -1, float('inf'), float('nan')):
        with pytest.raises(ValueError, match='above 0'): MixUp(a)
    with pytest.raises(TypeError, match='give mix'): MixHandler()

def test_cutmix_takes_images_of_bytes():
    x,y = images(1)[0]
    to_float = before_batch_cb(lambda cb, xb, yb: ((xb[0].float(),), yb))
    mk_learner([CutMix(), to_float], dls=([((x*100).byte(), y)],), model=net(), loss_func=F.cross_entropy).fit(1)
