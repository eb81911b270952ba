"Losses as users write them: parts of a batch give its step and its mean, or a message names the loss"
import functools, math, os, pytest, torch, warnings
from copy import deepcopy
from learnloop import Callback, CrossEntropyLossFlat, DataLoaders, GradientAccumulation, Learner, MicroBatch, MixUp
from means import C, F64, T, W, apart, cut, sizes_of
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
def two_heads(p, y): return F.cross_entropy(p['out'], y, ignore_index=255)+.4*F.cross_entropy(p['out']*2, y, ignore_index=255)
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

MEANS = dict(distilled=('teacher', distilled), balanced_ce=('classes', Balanced()),
    vae=('numbers', lambda p,y: F.mse_loss(p, y, reduction='sum')/len(p)+(p.exp()-p).sum(1).mean()), learned=('classes', Learned()), by_item=('masks', masked_by_item),
    gaussian=('numbers', lambda p,y: F.gaussian_nll_loss(p, y, torch.ones_like(p), full=True)), poisson=('rare', nn.PoissonNLLLoss(full=True)),
    embedding=('classes', lambda p,y: F.cosine_embedding_loss(p, p*W+1, 2*(y%2)-1)), triplet=('numbers', lambda p,y: F.triplet_margin_loss(p, y, y.flip(1))),
    parts=('numbers', lambda p,y: dict(a=F.mse_loss(p, y), b=F.l1_loss(p, y))), ignored=('pixels', nn.CrossEntropyLoss(W, ignore_index=255)))
OTHERS = dict(masked=('masks', masked), distilled_sum=('teacher', functools.partial(distilled, how='sum')), cox=('times', cox),
    same_name=('numbers', MSELoss()), missing=('missing', present), marked=('marked', unmarked), by_positives=('rare', by_positives), balanced=('rare', balanced),
    inverse=('classes', inverse_frequency), heads=('pixels', two_heads), wrapped=('classes', root),
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

@pytest.mark.parametrize('name', MEANS|OTHERS)
def test_parts_of_a_batch_give_its_step_or_the_loss_is_named(name):
    kind,loss = (MEANS|OTHERS)[name]
    for seed in range(2 if os.environ.get('ALL_CASES') else 1):
        g = torch.Generator().manual_seed(seed)
        whole = DATA[kind](g)
        batches = cut(whole, sizes_of(N, 4, g))
        def fit(batches, *cbs):
            learn = mk(seeded(Net, name, kind), deepcopy(loss), batches, cbs)
            return learn,said(learn.fit, 1)[1]
        one,_ = fit([whole])
        for learn,msg in (fit(batches, GradientAccumulation(n_batches=4)), fit([whole], MicroBatch(4))):
            assert 'mean over something else' in msg or apart(learn.model, one.model)<1e-9, msg
            assert not msg or name not in MEANS
        learn = mk(seeded(Net, name, kind), loss, batches)
        (got,*_),msg = said(learn.validate, dl=batches)
        assert 'mean over something else' in msg or got==pytest.approx(learn.validate(dl=[whole])[0], rel=1e-6)
        (*_,losses),msg = said(learn.get_preds, dl=batches, with_loss=True)
        if losses is None: assert 'cannot compute the losses of items' in msg
        else:
            alone = torch.tensor([learn.validate(dl=[b])[0] for b in cut(whole, [1]*N)])
            torch.testing.assert_close(losses.nan_to_num(0.).to(alone), alone.nan_to_num(0.))

def compiled(f): return torch.compile(f, backend='eager', dynamic=True)
def scripted(f):
    with warnings.catch_warnings():
        warnings.simplefilter('ignore', DeprecationWarning)
        return torch.jit.script(f)

@pytest.mark.parametrize('wrap', [compiled, scripted])
def test_a_compiled_or_scripted_loss_is_recognized_or_named(wrap):
    batches = cut(DATA['classes'](torch.Generator().manual_seed(0)), [3, 2, 5, 7])
    one,many = (mk(seeded(Net, '', ''), wrap(nn.CrossEntropyLoss(W)), bs, GradientAccumulation(n_batches=len(bs)))
        for bs in ([tuple(map(torch.cat, zip(*batches, strict=True)))], batches))
    msg = [said(o.fit, 1)[1] for o in (one, many)][1]  # torch warns while it compiles
    assert 'mean over something else' in msg if wrap is scripted else 'mean over' not in msg and apart(one.model, many.model)<1e-12
    (*_,losses),_ = said(one.get_preds, dl=batches, with_loss=True)
    plain = mk(one.model, nn.CrossEntropyLoss(W), batches)
    assert losses.tolist()==pytest.approx(plain.get_preds(dl=batches, with_loss=True)[-1].tolist())

RAGGED = dict(mse=nn.MSELoss(), l1=F.l1_loss, huber=functools.partial(F.huber_loss, delta=.3), smooth=nn.SmoothL1Loss(), bce=nn.BCEWithLogitsLoss(pos_weight=W),
    many=nn.MultiLabelSoftMarginLoss(), unreduced=nn.MSELoss(reduction='none'), unknown=lambda p,y: (p-y).square().mean())

@pytest.mark.parametrize('name', RAGGED)
def test_batches_of_other_lengths_count_by_their_elements(name):
    g,loss = torch.Generator().manual_seed(0),RAGGED[name]
    def mean(cb): cb.learn.loss_grad = cb.learn.loss_grad.mean()
    batches = [(rand(g, n, t, 5), rand(g, n, t, C).sigmoid()) for n,t in ((3, 6), (2, 2), (5, 4), (7, 3))]
    whole = tuple(torch.cat([o.flatten(0, 1) for o in b]) for b in zip(*batches, strict=True))
    one,many = (mk(seeded(Net, name, ''), loss, bs, [Callback('mean', after_loss=mean), GradientAccumulation(n_batches=len(bs))]) for bs in ([whole], batches))
    one.fit(1)
    msg = said(many.fit, 1)[1]
    if name=='unknown': assert 'may be a mean over items or over elements, since the shapes of batches differ: (3, 6, 4), (2, 2, 4)' in msg
    else: assert not msg and apart(one.model, many.model)<1e-12 and many.recorder.values[0][0]==pytest.approx(one.recorder.values[0][0])

def test_a_denominator_is_one_of_items_where_all_have_as_many_elements():
    seen,g = [],torch.Generator().manual_seed(0)
    learn = mk(seeded(Net, '', ''), F.mse_loss, cut(DATA['numbers'](g), [3, 2, 5, 7]))
    def note(cb): seen.append(cb.learn.denominator)
    learn.fit(1, cbs=[Callback(after_batch=note), MicroBatch(2)])
    assert seen==[3, 2, 5, 7]

class Own(nn.Module):
    "A model with an untrained head, which computes a loss with class weights"
    def __init__(self, kind):
        super().__init__()
        self.kind,self.lin = kind,nn.Linear(5, C, dtype=F64)
        for p in self.parameters(): nn.init.zeros_(p)
    def forward(self, x, labels):
        p = self.lin(x)
        if self.kind=='only in training' and not self.training: return p
        loss = F.cross_entropy(p, labels, W)
        return (loss, p) if self.kind=='tuple' else dict(loss=loss, logits=p)

@pytest.mark.parametrize('kind', ['dict', 'tuple', 'only in training'])
def test_the_loss_of_an_untrained_model_is_named(kind):
    x,y = DATA['classes'](torch.Generator().manual_seed(0))
    batches = [dict(x=a, labels=b) for a,b in cut((x, y), [5, 12])]
    learn = mk(Own(kind), None, batches, GradientAccumulation(n_batches=2))
    assert 'the loss that Own returns' in said(learn.fit, 1)[1]

def per_box(p, ts): return torch.cat([F.cross_entropy(o['out'].expand(len(t['labels']), C), t['labels'], reduction='none') for o,t in zip(p, ts, strict=True)]).mean()
def per_image(p, ts): return torch.stack([per_box([o], [t]) for o,t in zip(p, ts, strict=True)]).mean()
@pytest.mark.parametrize('loss', [per_box, per_image])
def test_lists_of_items(loss):
    g = torch.Generator().manual_seed(0)
    class Each(Net):
        def forward(self, xs): return [dict(out=self.lin(x)) for x in xs]
    xs,ts = [rand(g, 5) for _ in range(12)],[dict(labels=ints(g, 1+i%3)) for i in range(12)]
    one = mk(seeded(Each, '', ''), loss, [(xs, ts)])
    one.fit(1)
    for batches,cb in (([(xs[:4], ts[:4]), (xs[4:], ts[4:])], GradientAccumulation(n_batches=2)), ([(xs, ts)], MicroBatch(4))):
        learn = mk(seeded(Each, '', ''), loss, batches, cb)
        msg = said(learn.fit, 1)[1]
        assert 'per_box' in msg if loss is per_box else not msg and apart(one.model, learn.model)<1e-12

@pytest.mark.parametrize('per_item', [True, False])
@pytest.mark.parametrize('loss', [nn.CrossEntropyLoss(W), functools.partial(F.cross_entropy, weight=W), nn.CrossEntropyLoss(ignore_index=2)])
def test_mixed_targets_count_by_their_classes(loss, per_item):
    seen,mix = [],MixUp(per_item=per_item)
    x,y = DATA['classes'](torch.Generator().manual_seed(0))
    def note(cb): seen.append((cb.learn.xb[0], cb.learn.yb[0], mix._partner[0], torch.as_tensor(mix._lam)))
    learn = mk(seeded(Net, '', ''), loss, cut((x, y), [3, 2, 5, 7]), [mix, GradientAccumulation(n_batches=4), Callback(before_turn=note)])
    learn.fit(1)
    net,w = seeded(Net, '', ''),torch.tensor([1., 1., 0., 1.], dtype=F64) if isinstance(loss, nn.Module) and loss.weight is None else W
    def add(f): return sum((k*f(x, y)+(1-k)*f(x, z)).sum() for x,y,z,k in seen)
    (add(lambda x, y: F.cross_entropy(net(x), y, w, reduction='none'))/add(lambda x, y: w[y])).backward()
    with torch.no_grad():
        for p in net.parameters(): p -= .1*p.grad
    assert apart(learn.model, net)<1e-9

def test_metrics_that_are_losses_are_those_of_all():
    x,y = DATA['classes'](torch.Generator().manual_seed(0))
    fs = nn.CrossEntropyLoss(W),functools.partial(F.cross_entropy, reduction='sum')
    learn = mk(seeded(Net, '', ''), F.cross_entropy, [], metrics=[*fs])
    assert learn.validate(dl=cut((x, y), [3, 2, 5, 7]))[1:]==pytest.approx([f(learn.model(x), y).item() for f in fs])

def test_a_callback_that_reduces_the_loss_in_its_own_way_is_named():
    def weigh(cb): cb.learn.loss_grad = (cb.learn.loss_grad*W[cb.learn.y]).sum()/W[cb.learn.y].sum()
    cbs = [Callback('weigh', after_loss=weigh), GradientAccumulation(n_batches=2)]
    learn = mk(seeded(Net, '', ''), nn.CrossEntropyLoss(reduction='none'), cut(DATA['classes'](torch.Generator()), [3, 14]), cbs)
    assert 'CrossEntropyLoss is reduced by a callback, but not to its mean' in said(learn.fit, 1)[1]
