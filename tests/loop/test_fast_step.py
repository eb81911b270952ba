"The fast step is bit-identical to PyTorch's in every setting, and leaves unknown cases to PyTorch"
from copy import deepcopy
from functools import partial
import pytest, torch
from torch import nn
from torch.nn import functional as F
from torch.optim import SGD, Adam, AdamW
from learnloop.loop.fast_step import fast_backward, fast_step
from learnloop.loop.optimizer import zero_grad

SETTINGS = dict(
    sgd=partial(SGD, lr=.1), sgd_wd=partial(SGD, lr=.1, weight_decay=.01), momentum=partial(SGD, lr=.1, momentum=.9),
    nesterov=partial(SGD, lr=.1, momentum=.9, nesterov=True, weight_decay=1e-3), lr_int=partial(SGD, lr=1, momentum=.5),
    adam=partial(Adam, lr=.01), adam_wd=partial(Adam, lr=.01, weight_decay=.1), adam_eps=partial(Adam, lr=.01, eps=1, betas=(.5, .8)),
    adam_decoupled=partial(Adam, lr=.01, weight_decay=.1, decoupled_weight_decay=True), not_foreach=partial(Adam, lr=.01, foreach=False),
    adamw=partial(AdamW, lr=.01))
each = pytest.mark.parametrize('make', SETTINGS.values(), ids=SETTINGS)

class Net(nn.Module):
    "A frozen layer, a weight that is in no loss, one that is in every second, a scalar, and an empty one"
    def __init__(self):
        super().__init__()
        self.a,self.b,self.c,self.bn = nn.Linear(5, 7),nn.Linear(7, 7),nn.Linear(7, 3),nn.BatchNorm1d(7)
        self.scale,self.empty = nn.Parameter(torch.tensor(1.5)),nn.Parameter(torch.zeros(0, 3))
        self.unused = nn.Linear(2, 2)
        self.b.requires_grad_(False)
    def forward(self, x, more=True):
        x = F.relu(self.bn(self.a(x)))
        if more: x = x+self.b(x)*self.scale
        return self.c(x)

def net(seed=0, dtype=torch.float32):
    torch.manual_seed(seed)
    return Net().to(dtype)
def groups(m): return [dict(params=[*m.a.parameters(), *m.b.parameters()], weight_decay=.05), dict(params=[*m.c.parameters(), m.scale, m.empty]),
    dict(params=[*m.unused.parameters(), *m.bn.parameters()], lr=.003)]

class Pair:
    "The same model and optimizer twice, stepped by us and by torch"
    def __init__(self, make, split=lambda m: m.parameters(), dtype=torch.float32):
        self.models = net(dtype=dtype),net(dtype=dtype)
        self.opts = [make(split(m)) for m in self.models]
        self.gen,self.n,self.n_direct,self.dtype = torch.Generator().manual_seed(1),0,0,dtype
    def each(self, f):
        for m,o in zip(self.models, self.opts, strict=True): f(m, o)
    def back(self):
        x,y = torch.randn(8, 5, generator=self.gen, dtype=self.dtype),torch.randn(8, 3, generator=self.gen, dtype=self.dtype)
        self.n += 1
        self.each(lambda m,_: F.mse_loss(m(x, self.n%2), y).backward())
    def step(self):
        ours,theirs = self.opts
        before = [p._version for p in self.models[0].parameters()]
        self.n_direct += fast_step(ours) or bool(ours.step())
        theirs.step()
        after = [p._version for p in self.models[0].parameters()]
        assert all(a==b or b>a for a,b in zip(before, after, strict=True)) and before!=after  # autograd sees that they changed
    def run(self, n, k=1):
        for _ in range(n):
            for _ in range(k): self.back()
            self.step()
            for o in self.opts: zero_grad(o)
        return self
    def check(self, n_direct=None):
        a,b = self.models
        same(a.state_dict(), b.state_dict())
        same(*(o.state_dict() for o in self.opts))
        if n_direct is not None: assert self.n_direct==n_direct
        return self

def same(a, b):
    if isinstance(a, torch.Tensor): assert a.dtype==b.dtype and torch.equal(a.nan_to_num(7.), b.nan_to_num(7.)) and a.shape==b.shape
    elif isinstance(a, dict):
        assert [*a]==[*b]
        for k in a: same(a[k], b[k])
    elif isinstance(a, (list,tuple)):
        assert len(a)==len(b)
        for o in zip(a, b, strict=True): same(*o)
    else: assert a==b

@pytest.mark.every(2)
@each
@pytest.mark.parametrize('split,k', [(lambda m: m.parameters(), 1), (groups, 2)], ids=['one','three_accumulated'])
def test_60_steps_are_bit_identical(make, split, k): assert Pair(make, split).run(60, k).check().n_direct>=56

# --- what may change between two steps

def _lr(m, o):
    for i,g in enumerate(o.param_groups): g['maximize'],g['lr'] = False,g['lr']*(.7+.1*i)
def _momentum(m, o):
    for g in o.param_groups: g.update(momentum=.7) if 'momentum' in g else g.update(betas=(.6,.7))
def _flags(m, o):
    for g in o.param_groups: g['maximize'],g['weight_decay'] = not g['maximize'],.3
def _data(m, o): m.a.weight.data = m.a.weight.data.clone()*2
def _same_address(m, o): m.a.weight.data = m.a.weight.data.view(5, 7).T
def _loaded(m, o):
    sd = deepcopy(o.state_dict())
    for s in sd['state'].values():
        for k,v in s.items(): s[k] = v*2 if k=='step' or v is None else v+.5
    o.load_state_dict(sd)
def _replaced(m, o):
    for s in o.state.values():
        for k,v in s.items():
            if v is not None: s[k] = v.clone()+1
def _removed(m, o): o.state.pop(o.param_groups[0]['params'].pop(0), None)
def _swapped(m, o): o.param_groups[0]['params'].reverse()
def _other(m, o):
    o.state.pop(m.a.weight, None)
    new = m.a.weight = nn.Parameter(m.a.weight.detach()*.5)
    o.param_groups[0]['params'][0] = new
def _frozen(m, o): m.a.weight.requires_grad_(False)
def _thawed(m, o): m.b.requires_grad_(True)
def _cleared(m, o): o.state.clear()
def _one_cleared(m, o): o.state.pop(m.c.weight, None)
def _added(m, o):
    m.extra = nn.Parameter(torch.ones(3))
    m.c.bias = None
    m.c.register_parameter('bias', m.extra)
    o.add_param_group(dict(params=[m.extra], lr=.2))
def _tied(m, o): m.unused.bias.data = m.c.bias.data[:2]
def _odd_steps(m, o):
    for i,s in enumerate(o.state.values()):
        if 'step' in s: s['step'] += i
def _shared_step(m, o):
    first = next(iter(o.state.values()), {}).get('step')
    for s in o.state.values() if first is not None else (): s['step'] = first
def _half(m, o): m.half().float()
def _ints(m, o):
    for g in o.param_groups: g['lr'],g['weight_decay'] = 1,0
CHANGES = (_lr,_momentum,_flags,_data,_same_address,_loaded,_replaced,_removed,_swapped,_other,_frozen,_thawed,_cleared,_one_cleared,_added,
    _tied,_odd_steps,_shared_step,_half,_ints)

@each
@pytest.mark.parametrize('change', CHANGES, ids=lambda f: f.__name__[1:])
def test_changes_between_steps_are_seen(make, change):
    pair = Pair(make, groups).run(4)
    pair.each(change)
    if change is _same_address: pair.each(lambda m,_: zero_grad(_))
    pair.run(4).check()
    pair.each(_lr)
    assert pair.run(3).check().n_direct

# --- what torch does itself

class Wrapped(torch.Tensor): "A kind of tensor"

@pytest.mark.parametrize('kw', [dict(foreach=True), dict(fused=True), dict(differentiable=True), dict(capturable=True), dict(maximize=True), dict(amsgrad=True),
    dict(dampening=.3), dict(lr=torch.tensor(.1))],
    ids=lambda o: next(iter(o)))
def test_options_are_left_to_torch(kw):
    p = nn.Parameter(torch.ones(3))
    if 'dampening' in kw:
        p,o = _plain_sgd(p, momentum=.9, **kw)
        o.state[p] = dict(momentum_buffer=torch.ones(3))
        assert not fast_step(o) and p.eq(1).all()
        return
    o = Adam([p], **(dict(lr=.1) | kw))
    o.state[p] = dict(step=torch.tensor(1.), exp_avg=torch.zeros(3), exp_avg_sq=torch.zeros(3))
    p.grad = torch.ones(3)
    assert not fast_step(o) and p.eq(1).all() and o.state[p]['step']==1

def _plain_sgd(p=None, **kw):
    p = nn.Parameter(torch.ones(3)) if p is None else p
    p.grad = torch.ones_like(p)
    return p,SGD([p], **(dict(lr=.1) | kw))

def test_kinds_of_weights_and_gradients_are_left_to_torch():
    for p in (nn.Parameter(torch.ones(3, dtype=torch.bfloat16)), nn.Parameter(torch.ones(3, dtype=torch.cfloat)),
        nn.Parameter(torch.ones(3, device='meta')), torch.ones(3).as_subclass(Wrapped).requires_grad_()):
        p,o = _plain_sgd(p)
        assert not fast_step(o)
    p,o = _plain_sgd()
    q = nn.Parameter(torch.ones(2, dtype=torch.float64))
    o.add_param_group(dict(params=[q]))
    assert not fast_step(o)
    p,o = _plain_sgd()
    p.grad = p.grad.as_subclass(Wrapped)
    assert not fast_step(o)
    p.grad = torch.ones(3).to_sparse()
    assert not fast_step(o) and p.eq(1).all()

def test_grad_mode_is_as_it_was_after_an_error(monkeypatch):
    p,o = _plain_sgd()
    def fails(*args, **kwargs): raise RuntimeError('no memory')
    monkeypatch.setattr(torch, '_foreach_add_', fails)
    with pytest.raises(RuntimeError, match='no memory'): fast_step(o)
    assert torch.is_grad_enabled()

def test_the_fast_backward_matches_pytorch():
    for shape in ((), (1,)):
        a,b = (torch.ones(3, requires_grad=True) for _ in range(2))
        (a*torch.arange(3.)).sum().reshape(shape).backward()
        fast_backward((b*torch.arange(3.)).sum().reshape(shape))
        assert torch.equal(a.grad, b.grad)

def test_the_fast_backward_keeps_the_log_and_errors_of_pytorch(caplog):
    with caplog.at_level('DEBUG', logger='torch.autograd.graph'): fast_backward((torch.ones(3, requires_grad=True)*2).sum())
    assert 'Executing' in caplog.text
    with pytest.raises(RuntimeError, match='does not require grad'): fast_backward(torch.ones(()))
    with pytest.raises(RuntimeError, match='scalar'): fast_backward(torch.ones(2, requires_grad=True)*2)
