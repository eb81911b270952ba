"""A compiled step never differs silently from an uncompiled one, and never fails where the uncompiled one works

Each program trains with and without `learn.fuse()`, and ends with the same weights. The fuser's own comparison is off, so guards alone must
detect changes. Most run operation by operation here. `make sound` runs all of them with the real compiler; without it, only two drawn ones do."""
import abc, argparse, builtins, logging, math, multiprocessing, os, re, sys, threading, time, types, warnings
from collections import OrderedDict, defaultdict
from copy import deepcopy
from dataclasses import dataclass
from functools import cache as cache_results
from functools import partial
from itertools import count
import numpy as np
import pytest, torch
from helpers import batches, mk_learner
from hypothesis import given, settings
from hypothesis import strategies as st
from learnloop import Callback, DataLoaders, EMA, GradientAccumulation, GradientClip, Learner, MixedPrecision, SAM
from learnloop.loop.callback import InGraph
from learnloop.scale.guards import strict_guards
from torch import nn
from torch.nn import functional as F
from torch.utils._pytree import tree_leaves, tree_map
from torch.utils.checkpoint import checkpoint

SGD,Adam,AdamW = torch.optim.SGD,torch.optim.Adam,torch.optim.AdamW
REAL = 'LEARNLOOP_FUSE_REAL' in os.environ
BACKEND = 'inductor' if REAL else 'aten'
FEW = 100 if REAL else 12 if os.environ.get('ALL_CASES') else 2  # drawn examples
DATA,NUMBERS = batches(12, bs=8),count()

class Net(nn.Module):
    "Two layers, and between them a function that may read anything from the model"
    def __init__(self, f=None, **held):
        super().__init__()
        self.a,self.b = nn.Linear(2, 8),nn.Linear(8, 1)
        for k,v in held.items(): setattr(self, k, v)
        self.f = f or (lambda m, x: x)
    def forward(self, x): return self.b(self.f(self, self.a(x)).tanh())

@pytest.fixture(scope='module')
def cache(tmp_path_factory): return None if REAL else tmp_path_factory.mktemp('sound')  # LEARNLOOP_FUSE_CACHE

def trained(make, fuse, backend='aten', cache=None, check_every=None, n=2):
    "Make a learner from the arguments that `make` returns, train it, and return it"
    as_at_first()
    torch.manual_seed(0)
    given = make()
    then,fit = given.pop('then', None),given.pop('fit', None)
    data = given.pop('data', None) or [tuple(o.clone() for o in b) for b in DATA]
    cbs = given.pop('cbs', [])
    kw = dict(opt_func=SGD, lr=.05) | given
    if 'dls' not in kw: kw['dls'] = (data,)
    learn = mk_learner(cbs, **kw)
    if fuse: learn.fuse(backend=backend, check_every=check_every, cache=cache)
    with warnings.catch_warnings():
        warnings.filterwarnings('ignore', message=r'learn.fuse\(\)|The .grad attribute')  # the latter is of torch.compile
        torch.manual_seed(1)
        (fit or (lambda learn: learn.fit(n)))(learn)
        if then:
            then(learn)
            learn.fit(1)
    return learn

def tensors(learn):
    states = [s for s in learn.opt.state.values() if isinstance(s, dict)]
    return learn.model.state_dict() | {f'{k}.{i}':v for i,s in enumerate(states) for k,v in s.items() if isinstance(v, torch.Tensor)}

def same(make, tol=2e-5, **kw):
    "Train both ways, compare the results, and return the fused learner"
    b,random = trained(make, False),torch.get_rng_state()
    a = trained(make, True, **kw)
    assert torch.equal(random, torch.get_rng_state()), a.fuse_report()
    x,y = (tensors(o) if tol<1e-3 else o.model.state_dict() for o in (a, b))  # gradients of low precision differ more
    assert x.keys()==y.keys()
    for k in x: torch.testing.assert_close(x[k], y[k], atol=tol, rtol=1e-3, equal_nan=True, msg=lambda m, k=k: f'{k}: {m}\n{a.fuse_report()}')
    assert vars(a.count)==vars(b.count) and [g['lr'] for g in a.opt.param_groups]==[g['lr'] for g in b.opt.param_groups]
    return a

def at(i, f):
    "Return a callback that calls `f` with the learner before training batch `i`"
    def before_batch(cb):
        if cb.learn.training and cb.train_iter==i: f(cb.learn)
    return Callback(f'at_{next(NUMBERS)}', before_batch=before_batch)
def each(f):
    "Return a callback that calls `f` with the learner and the batch number before each training batch"
    return Callback(f'each_{next(NUMBERS)}', before_batch=lambda cb: f(cb.learn, cb.train_iter) if cb.learn.training else None)

# ---- values that forward reads, and a callback changes

class Gauge:
    v = 1.
    def __float__(self): return self.v
class Scope:
    def __init__(self): self.v = 1.
    def __enter__(self): return self.v
    def __exit__(self, *exc): return False
@dataclass
class Config: v:float = 1.
class Lazy:
    def __init__(self): self.v = 1.
    @property
    def twice(self): return 2*self.v
class Slots:
    __slots__ = 'v',
    def __init__(self): self.v = 1.
G = dict(v=1.)
CALC_LOSS = Learner.calc_loss
SCALE = 1.
knobs = types.ModuleType('fuse_knobs')
knobs.v = 1.

def inside(m, x):
    import fuse_knobs
    return x*fuse_knobs.v
def default(m, x, held={'v':1.}): return x*held['v']  # noqa: B006
def of_function(m, x): return x*of_function.v
of_function.v = 1.
def in_with(m, x):
    with m.o as v: return x*v
def set_item(o, v): o['v'] = v
def set_v(o, v): o.v = v
def set_scale(v): globals().update(SCALE=v)
class Shared(Net): k = 1.

def closure():
    v = 1.
    def f(m, x): return x*v
    def put(new):
        nonlocal v
        v = new
    return f,put

class Backward(torch.autograd.Function):
    "Reads an attribute of its class in the backward pass"
    v = 1.
    @staticmethod
    def forward(ctx, x): return x.clone()
    @staticmethod
    def backward(ctx, g): return g*Backward.v

def held(f, o, put): return lambda: (Net(f, o=o()), lambda m, v: put(m.o, v))
def outside(f, put): return lambda: (Net(f), lambda m, v: put(v))
def of_closure():
    f,put = closure()
    return Net(f),lambda m, v: put(v)
READS = dict(
    attribute=lambda: (Net(lambda m, x: x*m.k, k=1.), lambda m, v: setattr(m, 'k', v)),
    int_attribute=lambda: (Net(lambda m, x: x*m.k, k=1), lambda m, v: setattr(m, 'k', round(3*v))),
    dict_item=held(lambda m, x: x*m.o['v'], lambda: dict(v=1.), set_item),
    nested=held(lambda m, x: x*m.o['a'][0].v, lambda: dict(a=[Config()]), lambda o, v: set_v(o['a'][0], v)),
    length=held(lambda m, x: x*(1+len(m.o)/9), lambda: [1], lambda o, v: o.append(1)),
    float_of=held(lambda m, x: x*float(m.o), Gauge, set_v), with_object=held(in_with, Scope, set_v),
    simple=held(lambda m, x: x*m.o.v, lambda: types.SimpleNamespace(v=1.), set_v),
    property=held(lambda m, x: x*m.o.twice, Lazy, set_v), slots=held(lambda m, x: x*m.o.v, Slots, set_v),
    value=held(lambda m, x: x*m.o.value, lambda: multiprocessing.Value('d', 1.), lambda o, v: setattr(o, 'value', v)),
    array=held(lambda m, x: x*float(m.o[0]), lambda: np.ones(1), lambda o, v: o.fill(v)),
    array_tensor=held(lambda m, x: x*torch.from_numpy(m.o), lambda: np.ones(8, dtype='float32'), lambda o, v: o.fill(v)),
    new_tensor=held(lambda m, x: x*m.o[0], lambda: [torch.ones(())], lambda o, v: o.__setitem__(0, torch.tensor(v))),
    callable=held(lambda m, x: x*m.o[0](), lambda: [lambda: 1.], lambda o, v: o.__setitem__(0, lambda: v)),
    part=held(lambda m, x: m.o(x), lambda: partial(lambda x, v: x*v, v=1.), lambda o, v: o.keywords.update(v=v)),
    a_global=outside(lambda m, x: x*SCALE, set_scale), global_dict=outside(lambda m, x: x*G['v'], partial(set_item, G)),
    import_inside=outside(inside, partial(set_v, knobs)),
    default=outside(default, lambda v: default.__defaults__[0].update(v=v)), of_function=outside(of_function, partial(set_v, of_function)),
    closure=of_closure,
    in_backward=outside(lambda m, x: Backward.apply(x), partial(set_v, Backward)),
    class_attribute=lambda: (Shared(lambda m, x: x*m.k), lambda m, v: setattr(Shared, 'k', v)),
    dropout=lambda: (Net(lambda m, x: m.drop(x), drop=nn.Dropout(.1)), lambda m, v: setattr(m.drop, 'p', v/4)),
    evaluated=lambda: (Net(lambda m, x: m.norm(x), norm=nn.BatchNorm1d(8)), lambda m, v: m.norm.train(v!=2.)),
    dtype=lambda: (Net(lambda m, x: x*(2. if torch.get_default_dtype() is torch.float64 else 1.)),
        lambda m, v: torch.set_default_dtype(torch.float64 if v==2. else torch.float32)),
    method=lambda: (Net(lambda m, x: m.act(x), act=nn.ReLU()), lambda m, v: setattr(m.act, 'forward', lambda x: x*v)))

def as_at_first():
    set_scale(1.)
    G['v'] = knobs.v = of_function.v = default.__defaults__[0]['v'] = Backward.v = Shared.k = Gauge.v = 1.
    torch.set_default_dtype(torch.float32)
    nn.modules.module._global_forward_hooks.clear()
    Learner.calc_loss = CALC_LOSS

@pytest.fixture(autouse=True)
def as_it_was(monkeypatch):
    monkeypatch.setitem(sys.modules, 'fuse_knobs', knobs)
    yield as_at_first()
    as_at_first()

def reading(name, when, opt_func=SGD):
    as_at_first()
    model,put = READS[name]()
    def change(learn, i):
        if when=='once' and i==5: put(model, 2.)
        elif when=='back' and i in (5,9): put(model, 2. if i==5 else 1.)
        elif when=='each': put(model, 1.+i/20)
    return dict(model=model, cbs=[each(change)], opt_func=opt_func)

@pytest.mark.every(6)
@pytest.mark.parametrize('name', READS)
def test_anything_that_forward_reads_may_change(name, cache):
    for when in ('back',) if not REAL else ('once','back','each'):
        same(partial(reading, name, when), backend=BACKEND, cache=cache)

# ---- edits of model, optimizer and loop

def named(learn, k): return dict(learn.model.named_parameters())[k]
def new_param(learn):
    learn.model.a.weight = nn.Parameter(learn.model.a.weight.detach()*2)
    learn.opt.param_groups[0]['params'] = [*learn.model.parameters()]
def new_state(learn): learn.opt.state = defaultdict(dict, {p:deepcopy(s) for p,s in learn.opt.state.items()})
def post_hook(learn): learn.opt.register_step_post_hook(lambda opt, *args: [p.data.mul_(.99) for g in opt.param_groups for p in g['params']])
def hooked_weight(learn): return named(learn, 'a.weight').requires_grad_()  # torch puts no hook on a frozen one
def hook_weight(learn): hooked_weight(learn).register_hook(lambda g: g*2)
def hook_late(learn): hooked_weight(learn).register_post_accumulate_grad_hook(lambda p: (p.grad.mul_(2), None)[1])
def hook_layer(learn): learn.model.a.register_forward_hook(lambda m, i, o: o*2)
def hook_backward(learn): learn.model.b.register_full_backward_hook(lambda m, gi, go: (gi[0]*2,))
def all_hooked(learn):
    nn.modules.module.register_module_forward_hook(lambda m, i, o: o*1.5 if isinstance(m, nn.Linear) else None)
def assign(learn): learn.model.load_state_dict({k:v*.5 for k,v in learn.model.state_dict().items()}, assign=True)
def freeze(learn): learn.model.a.requires_grad_(False)
def thaw(learn): learn.model.a.requires_grad_(True)
def set_group(**kw): return lambda learn: [g.update(kw) for g in learn.opt.param_groups]
def load(learn):
    sd = deepcopy(learn.opt.state_dict())
    for s in sd['state'].values():
        for k,v in s.items(): s[k] = v*2 if k!='step' else v
    learn.opt.load_state_dict(sd)
def lost_count(learn): next(iter(learn.opt.state.values()))['step'].fill_(1.)
def share_count(learn):
    every = [*learn.opt.state.values()]
    for s in every: s['step'] = every[0]['step']
def to_double(learn):
    learn.model.double()
    for o in learn.opt.state.values(): o.update({k:v.double() for k,v in o.items() if k!='step'})
    def widen(learn, i): learn.xb,learn.yb = tree_map(torch.Tensor.double, (learn.xb, learn.yb))
    learn.add_cb(each(widen))
    widen(learn, 0)
def data_swapped(learn): named(learn, 'a.weight').data = named(learn, 'a.weight').detach().clone()*.5
def transposed(learn): named(learn, 'a.weight').data = named(learn, 'a.weight').detach().t().contiguous().t()
def new_layer(learn):
    learn.model.b = nn.Linear(8, 1, dtype=learn.model.b.weight.dtype)  # after another edit, perhaps float64
    with torch.no_grad(): learn.model.b.weight.fill_(.1)
    learn.opt.param_groups[0]['params'] = [*learn.model.parameters()]
def grads_left(learn): named(learn, 'a.weight').grad = torch.ones(8, 2)
def patched_step(learn):
    right = learn.opt.step
    learn.opt.step = lambda *args: (right(*args), [p.data.mul_(.9) for p in learn.model.parameters()])
def patched_class(learn):
    right = Learner.calc_loss
    def calc_loss(self):
        right(self)
        self.loss_grad = self.loss_grad*2
    Learner.calc_loss = calc_loss
EDITS = dict(parameter=new_param, of_class=patched_class, state=new_state,
    cleared=lambda learn: learn.opt.state.clear(),
    post_hook=post_hook, weight_hook=hook_weight, late_hook=hook_late, layer_hook=hook_layer, backward_hook=hook_backward, all_hooked=all_hooked,
    freeze=freeze, lr0=set_group(lr=0.), lr=set_group(lr=.01), wd=set_group(weight_decay=.1), maximize=set_group(maximize=True, lr=1e-4), load=load,
    double=to_double, data=data_swapped, transposed=transposed, layer=new_layer, grads=grads_left, step=patched_step,
    new_loss=lambda learn: setattr(learn, 'loss_func', F.l1_loss), eval=lambda learn: learn.model.eval(),
    assign=assign, apart=lambda learn: learn.add_cb(GradientClip(.1)), ema=lambda learn: learn.add_cb(EMA()),
    windows=lambda learn: learn.add_cb(GradientAccumulation(n_batches=2)))
OPTS = dict(sgd=SGD, momentum=partial(SGD, momentum=.9), adam=Adam, adamw=AdamW)
COUNTED = dict(count=lost_count, shared=share_count, betas=set_group(betas=(.5,.9)), eps=set_group(eps=1e-3))

def edited(opt, edits):
    "Return arguments for a fit with `edits`: pairs of a batch number and the name of an edit"
    cbs = [at(i, (EDITS | COUNTED)[nm]) for i,nm in edits]
    return dict(model=Net(), opt_func=OPTS[opt], lr=.01, cbs=cbs)

@pytest.mark.every(6)
@pytest.mark.parametrize('name', EDITS)
def test_model_optimizer_and_loop_may_be_edited(name, cache):
    for opt in ('momentum','adam') if REAL else ('adam',):
        same(partial(edited, opt, [(5, name)]), backend=BACKEND, cache=cache)
@pytest.mark.every(3)
@pytest.mark.parametrize('name', COUNTED)
def test_the_state_of_adam_may_be_edited(name, cache): same(partial(edited, 'adam', [(5, name)]), backend=BACKEND, cache=cache)

def test_a_layer_that_was_frozen_for_some_steps(cache):
    "Its weights have had fewer steps than the others"
    same(lambda: dict(model=Net(), opt_func=Adam, lr=.01, cbs=[at(3, freeze), at(9, thaw)]), backend=BACKEND, cache=cache)

def test_another_loss_function_between_fits():
    learn = same(lambda: dict(model=Net(), then=lambda learn: setattr(learn, 'loss_func', F.l1_loss)))
    assert len(learn.fuse_report().graphs)==2

def test_channels_last_in_the_middle_of_a_fit(cache):
    def last(cb): cb.model.to(memory_format=torch.channels_last)
    same(lambda: dict(model=MODELS['conv'](), cbs=[Callback(before_epoch=lambda cb: last(cb) if cb.epoch else None)]), backend=BACKEND, cache=cache)

def test_a_batch_that_forward_changes_in_place():
    class InPlace(Net):
        def forward(self, x): return super().forward(x.sub_(x.mean(0)).mul_(1.1))
    same(lambda: dict(model=InPlace()))
    rows = lambda: [torch.cat([x, y], 1) for x,y in DATA]
    same(lambda: dict(model=InPlace(), data=[(b[:,:2], b[:,1:2]) for b in rows()]))  # it changes the targets, too

def test_a_tensor_that_is_parameter_and_prediction():
    class Itself(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.ones(8, 1))
        def forward(self, x): return self.w
    same(lambda: dict(model=Itself()))

def test_a_mask_that_is_replaced():
    def f(m, x): return x*m.mask
    def model():
        m = Net(f)
        m.register_buffer('mask', torch.ones(8))
        return m
    def new(learn, i): learn.model.mask = (torch.arange(8)<4+i%4).float()
    learn = same(lambda: dict(model=model(), cbs=[each(new)]))
    assert learn.fuse_report().fused['whole']==23

def test_methods_that_are_replaced(monkeypatch):
    class Helper:
        def scale(self, x): return x
    def swap(learn): Helper.scale = lambda self, x: x*2
    def make():
        Helper.scale = lambda self, x: x
        return dict(model=Net(lambda m, x: m.h.scale(x), h=Helper()), cbs=[at(6, swap)])
    same(make)

def test_a_step_that_is_replaced_in_the_class(monkeypatch):
    def swap(learn):
        def step(self, closure=None):
            with torch.no_grad(): [p.sub_(p.grad*.01) for g in self.param_groups for p in g['params']]
        monkeypatch.setattr(SGD, 'step', step)
    def make():
        monkeypatch.undo()
        return dict(model=Net(), cbs=[at(6, swap)])
    same(make)
    def between():
        monkeypatch.undo()
        return dict(model=Net(), then=swap)
    same(between)

def test_hooks_of_saved_tensors():
    class Scaled(Callback):
        def before_batch(self):
            self.hooks = torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t*1.1)
            if self.learn.training and self.train_iter>5: self.hooks.__enter__()
        def after_batch(self):
            if self.learn.training and self.train_iter>6: self.hooks.__exit__()
    same(lambda: dict(model=Net(), cbs=[Scaled()]))

# ---- programs that try to break it

PROGRAMS = {}
def program(f): PROGRAMS[f.__name__] = f

@program
def other_bases():
    class A:
        def scale(self, x): return x
    class B:
        def scale(self, x): return x*2
    class H(A): pass
    return dict(model=Net(lambda m, x: m.h.scale(x), h=H()), cbs=[at(5, lambda learn: setattr(H, '__bases__', (B,)))])
@program
def autocast_by_a_callback():
    class Cast(Callback):
        def before_batch(self):
            self.block = torch.autocast('cpu', dtype=torch.bfloat16, enabled=self.learn.training and self.learn.train_iter>4)
            self.block.__enter__()
        def after_batch(self): self.block.__exit__(None, None, None)
    return dict(model=Net(), cbs=[Cast()])
@program
def half(): return dict(model=Net().bfloat16(), opt_func=Adam, data=[(x.bfloat16(), y.bfloat16()) for x,y in DATA])
@program
def ties():
    m = Net(lambda m, x: m.d(m.c(x)), c=nn.Linear(8, 8), d=nn.Linear(8, 8))
    return dict(model=m, opt_func=Adam, cbs=[at(5, lambda learn: setattr(m.d, 'weight', m.c.weight))])
@program
def late_buffer():
    def f(m, x): return x*m.k if 'k' in m._buffers else x
    return dict(model=Net(f), cbs=[at(5, lambda learn: learn.model.register_buffer('k', torch.full((8,), 2.)))])
@program
def late_parametrization():
    def add(learn):
        nn.utils.parametrizations.weight_norm(learn.model.a)
        learn.opt.param_groups[0]['params'] = [*learn.model.parameters()]
    return dict(model=Net(), cbs=[at(5, add)])
@program
def group_added():
    m = Net(lambda m, x: m.d(x), d=nn.Linear(8, 8).requires_grad_(False))
    def add(learn): learn.opt.add_param_group(dict(params=[*m.d.requires_grad_(True).parameters()], lr=.02))
    return dict(model=m, opt_func=lambda ps, lr: Adam([p for p in m.parameters() if p.requires_grad], lr=lr), cbs=[at(5, add)])
@program
def other_settings_of_clipping():
    clip = GradientClip(.1)
    return dict(model=Net(), lr=.01, cbs=[clip, at(5, lambda learn: setattr(clip, 'norm_type', 1.)), at(9, lambda learn: setattr(clip, 'algorithm', 'value'))])
@program
def rates_in_a_tensor():
    def opt(ps, lr): return Adam(ps, lr=torch.tensor(lr), foreach=False)
    return dict(model=Net(), opt_func=opt, lr=.01, cbs=[at(8, lambda learn: learn.opt.param_groups[0]['lr'].mul_(.1))])
@program
def rows_chosen_by_value(): return dict(model=Net(lambda m, x: x+.01*x[x[:,0]>0].sum(0)))
@program
def thread_local():
    v = threading.local()
    v.k = 1.
    return dict(model=Net(lambda m, x: x*v.k), cbs=[at(5, lambda learn: setattr(v, 'k', 2.))])
@program
def twice():
    def double(learn): learn.opt.param_groups[0]['params'].append(named(learn, 'a.weight'))
    return dict(model=Net(), opt_func=partial(SGD, momentum=.9, foreach=True), lr=.01, cbs=[at(5, double)])
@program
def hooked_before():
    w = nn.Parameter(torch.ones(8, 2))
    def swap(learn):
        learn.model.a.weight = w
        learn.opt.param_groups[0]['params'] = [*learn.model.parameters()]
    return dict(model=Net(), lr=.01, cbs=[at(4, lambda learn: w.register_hook(lambda g: g*3)), at(7, swap)])
@pytest.mark.every(6)
@pytest.mark.parametrize('name', PROGRAMS)
def test_a_program_trains_the_same_compiled(name, cache):
    tol = 2e-2 if name in ('half','autocast_by_a_callback') else 2e-5
    assert same(PROGRAMS[name], tol, backend=BACKEND, cache=cache).fuse_report().fused['whole']

# ---- what Dynamo treats as constant: `guards` adds guards for it

class Item: pass
class Answers:
    def __getattr__(self, k):
        if k=='late': return 1.
        raise AttributeError(k)
def later(o): return lambda: setattr(o, 'late', 2.)
def tried(o):
    def f(m, x):
        try: return x*o.late
        except AttributeError: return x
    return f,later(o)
def has(o): return (lambda m, x: x*2 if hasattr(o, 'late') else x),later(o)
def get(o): return (lambda m, x: x*getattr(o, 'late', 1.)),later(o)
def contained(o): return (lambda m, x: x*2 if 'late' in o else x),later(o)
def answered(o): return (lambda m, x: x*o.late),later(o)
def key():
    d = {}
    def f(m, x):
        try: return x*d['k']
        except KeyError: return x
    return f,lambda: d.update(k=2.)
def registered(kinds, ask=isinstance):
    kind,item = abc.ABCMeta('Kind', (), {}),type('Item', (), {})
    asked,kinds = item() if ask is isinstance else item,kinds(kind)
    return (lambda m, x: x*2 if ask(asked, kinds) else x),lambda: kind.register(item)
def in_closure():
    cls,item = Item,Item()
    def f(m, x): return x*2 if isinstance(item, cls) else x
    def put():
        nonlocal cls
        cls = Gauge
    return f,put
def shadowed():
    own = dict(__name__='shadowed')
    exec('def f(m, x): return x*abs(-1.)', own)
    return own['f'],lambda: own.update(abs=lambda v: 2.)
def replaced():
    vars(builtins)['learnloop_test'] = lambda: 1.
    return (lambda m, x: x*learnloop_test()),lambda: vars(builtins).update(learnloop_test=lambda: 2.)  # noqa: F821
def moved():
    d = OrderedDict(a=1., b=2.)
    return (lambda m, x: x*next(iter(d.values()))),lambda: d.move_to_end('a')
def of_a_thread():
    class Local(threading.local): v = 1.
    o = Local()
    return (lambda m, x: x*o.v),lambda: setattr(o, 'v', 2.)
CONSTANTS = dict(object=lambda: tried(Item()), module=lambda: tried(types.ModuleType('m')), function=lambda: tried(lambda: 1),
    has=lambda: has(types.ModuleType('m')), has_function=lambda: has(lambda: 1), get=lambda: get(types.ModuleType('m')),
    namespace=lambda: contained(argparse.Namespace()),
    answered=lambda: answered(Answers()), key=key, registered=lambda: registered(lambda k: k), one_of=lambda: registered(lambda k: (int,k)),
    union=lambda: registered(lambda k: int|k), subclass=lambda: registered(lambda k: k, issubclass),
    a_partial=lambda: has(partial(min)), a_dict=lambda: has(type('D', (dict,), {})()), closure=in_closure, shadowed=shadowed,
    replaced=replaced, thread=of_a_thread, moved=moved)

@pytest.mark.every(6)
@pytest.mark.parametrize('name', CONSTANTS)
def test_a_change_of_what_dynamo_treats_as_constant_is_noticed(name):
    def make():
        f,change = CONSTANTS[name]()
        return dict(model=Net(f), cbs=[at(6, lambda learn: change())])
    report = same(make).fuse_report()
    # a name that is shadowed makes the rest eager; torch can't guard the attributes of some objects
    assert report.fused['whole']==(0 if name in ('a_partial','a_dict','thread') else 5 if name=='shadowed' else 23), report

def test_a_compilation_of_the_user_has_no_other_guards():
    "Dynamo's own functions are restored, even after a step that can't be traced"
    from torch._dynamo import variables as vs
    def own(): return vs.BuiltinVariable.call_isinstance,vs.GetAttrBuiltinVariable.call_function,vs.BuiltinVariable.call_function_handler_cache
    before = own()
    with strict_guards(None): assert not any(a is b for a,b in zip(own(), before, strict=True))
    trained(lambda: dict(model=Net(prints)), True)
    assert all(a is b for a,b in zip(own(), before, strict=True))

# ---- tensors that share memory

def two(m, x):
    m.o[0].mul_(.9).add_(x.detach().mean(0)*.1)
    m.o[1].mul_(.8).add_(x.detach().amax(0)*.1)
    return x-m.o[0]*m.o[1]
def with_two(view=False):
    a = torch.zeros(8)
    return Net(two, o=[a, a.view(8) if view else torch.zeros(8)])
def share_state(learn):
    a,b = (learn.opt.state[named(learn, k)] for k in ('a.bias','b.weight'))
    a['exp_avg'] = b['exp_avg'].view(8)
def flat():
    m = Net()
    parts = torch.cat([p.detach().flatten() for p in m.parameters()]).split([p.numel() for p in m.parameters()])
    for p,v in zip(m.parameters(), parts, strict=True): p.data = v.view_as(p)
    return m
def share_bias(learn): named(learn, 'a.bias').data = learn.model.o[0]
MEMORY = dict(at_first=(lambda: with_two(True), None), later=(with_two, lambda learn: learn.model.o.__setitem__(1, learn.model.o[0].view(8))),
    parameter=(with_two, share_bias), state=(Net, share_state), parts=(flat, None))
@pytest.mark.every(3)
@pytest.mark.parametrize('name', MEMORY)
def test_tensors_that_share_memory(name, cache):
    make,f = MEMORY[name]
    learn = same(lambda: dict(model=make(), opt_func=Adam, lr=.01, cbs=[at(6, f)] if f else []), backend=BACKEND, cache=cache)
    assert learn.fuse_report().fused['whole']==(23 if name=='parts' else 5 if f else 0)

class Owners(Net):
    "Reads, and perhaps writes to, a buffer, the batch, a tensor of the loss and one of a callback"
    def __init__(self, writers):
        super().__init__()
        self.register_buffer('buf', torch.zeros(8))
        self.writers,self.of_loss,self.of_graph = writers,torch.zeros(8),torch.zeros(8)
    def written(self, o, name):
        if name in self.writers:
            with torch.no_grad(): o.mul_(.9)
    def forward(self, x):
        h = self.a(x*1)+self.buf
        self.written(x, 'x')
        self.written(self.buf, 'buf')
        return self.b(h.tanh())
    def loss(self, pred, y):
        loss = F.mse_loss(pred, y+self.of_loss[:,None])
        self.written(y, 'y')
        self.written(self.of_loss, 'of_loss')
        return loss
class InTheGraph(Callback):
    def scaled(self, numbers, loss):
        m = self.learn.model
        res = loss*(1+m.of_graph.mean())
        m.written(m.of_graph, 'of_graph')
        return res
    def after_loss(self): self.learn.loss_grad = self.scaled((), self.learn.loss_grad)
    def in_graph(self, event): return InGraph(self.scaled)
def place(learn, name, o):
    "Let the owner `name` hold the memory `o`, of 16 numbers"
    m,part = learn.model,o[:8].data
    if name=='x': learn.xb = o.data.view(8, 2),
    elif name=='y': learn.yb = part[:,None],
    elif name=='parameter': m.a.bias.data = part
    elif name=='state': learn.opt.state[m.a.bias]['exp_avg'] = part
    else: setattr(m, name, part)
OWNERS = 'x','y','buf','of_loss','of_graph','parameter','state'

def sharing(owners, writers, offsets, start):
    "Return arguments for a fit in which two owners hold parts of one memory"
    model,memory = Owners(writers),torch.rand(24, generator=torch.Generator().manual_seed(3))
    def share(learn, i):
        if i<start: return
        for name,k in zip(owners, offsets, strict=True):
            if i==start or name in 'xy': place(learn, name, memory[k:k+16])
    return dict(model=model, loss_func=model.loss, opt_func=Adam, lr=.01, cbs=[InTheGraph(), each(share)])

@given(st.permutations(OWNERS).map(lambda o: o[:2]), st.sets(st.sampled_from(OWNERS[:5])), st.tuples(*[st.integers(0, 8)]*2), st.sampled_from([1,5]))
@settings(max_examples=2*FEW, deadline=None)
def test_any_two_owners_that_share_memory(owners, writers, offsets, start):
    same(partial(sharing, owners, writers, offsets, start), backend=BACKEND)

def test_a_batch_that_is_part_of_a_buffer():
    "The step writes to the buffer after the loss has read it"
    class Kept(Net):
        def __init__(self):
            super().__init__()
            self.register_buffer('rows', torch.cat([y for _,y in DATA]))
        def forward(self, x):
            self.rows.mul_(.9)
            return super().forward(x)
    def make():
        model = Kept()
        return dict(model=model, data=[(x, model.rows[8*i:8*i+8]) for i,(x,_) in enumerate(DATA)])
    report = same(make).fuse_report()
    assert not report.fused and 'two tensors share memory' in str(report)

def test_a_prediction_may_be_a_view_of_batch_or_buffer():
    "A callback changes it in place, and by that the buffer and the data"
    class Both(Net):
        def __init__(self):
            super().__init__()
            self.register_buffer('last', torch.zeros(8, 2))
        def forward(self, x):
            self.last.copy_(x)
            return super().forward(x+self.last*.1),x,self.last[:,1:]
    def grow(cb): [o.mul_(1.1) for o in cb.pred[1:]]
    def make(cbs=()): return dict(model=Both(), loss_func=lambda pred, y: F.mse_loss(pred[0], y), cbs=[Callback(after_batch=grow), *cbs])
    assert same(make).fuse_report().fused['whole']==23
    def looks(cb): assert cb.learn.open_turn.params
    assert 'is a view of an input' in str(same(lambda: make([Callback(before_step=looks)])).fuse_report())

def test_tensors_may_be_swapped():
    same(lambda: dict(model=Net(), cbs=[at(9, lambda learn: torch.utils.swap_tensors(named(learn, 'a.weight'), nn.Parameter(torch.ones(8, 2))))]))

def test_a_graph_that_fails_leaves_no_trace(monkeypatch):
    "Neither in weights nor in random numbers"
    def failing(gm):
        def run(args):
            gm.forward(*args)
            raise RuntimeError('no')
        return run
    monkeypatch.setattr('learnloop.scale.fuse.replayed', failing)
    learn = same(lambda: dict(model=Net(lambda m, x: F.dropout(x, .3)), opt_func=Adam))
    assert not learn.fuse_report().fused

# ---- custom optimizers

class Custom(SGD):
    "An optimizer whose subclasses update one parameter: `p` of the group `g`, with the state `s`"
    scale = 1.
    def update(self, p, g, s): p.sub_(p.grad*g['lr']*self.scale)
    def begin(self, g): pass
    @torch.no_grad()
    def step(self, closure=None):
        for g in self.param_groups:
            self.begin(g)
            for p in g['params']:
                if p.grad is not None: self.update(p, g, self.state[p])
class Lion(Custom):
    def update(self, p, g, s):
        if not s: s['m'] = torch.zeros_like(p)
        p.mul_(1-g['lr']*.01).add_((s['m']*.9+p.grad*.1).sign(), alpha=-g['lr'])
        s['m'] = s['m']*.99+p.grad*.01
class Counting(Custom):
    "Counts in Python"
    def update(self, p, g, s):
        if not s: s.update(n=0, m=torch.zeros_like(p))
        s['n'] += 1
        s['m'].lerp_(p.grad, .1)
        p.sub_(g['lr']*s['m']/math.sqrt(1-.9**s['n']))
class InGroup(Custom):
    def begin(self, g): g['k'] = g.get('k', 0)+1
    def update(self, p, g, s): p.sub_(p.grad*g['lr']/g['k'])
class Counts(Custom):
    def begin(self, g): self.scale /= 2
class Sets(Custom):
    "Has an attribute from its second step on"
    def begin(self, g):
        self.scale = .5 if hasattr(self, 'late') else 1.
        if g['lr']<.005: self.late = True
class InTensors(Custom):
    "Keeps no dict for a parameter"
    @torch.no_grad()
    def step(self, closure=None):
        for g in self.param_groups:
            for p in g['params']:
                if p.grad is None: continue
                if p not in self.state: self.state[p] = torch.zeros_like(p)
                p.sub_(self.state[p].mul_(.9).add_(p.grad)*g['lr'])
class Super(Adam):
    @torch.no_grad()
    def step(self, closure=None):
        super().step(closure)
        for g in self.param_groups:
            for p in g['params']: p.mul_(.999)
class Decides(Custom):
    def update(self, p, g, s): p.sub_(p.grad*g['lr']*(2. if p.grad.norm()>.1 else 1.))
def scaled(learn): learn.opt.scale = 3.
OWN = dict(lion=Lion, counting=Counting, in_group=InGroup, attribute=Custom, counts=Counts, sets=Sets, super=Super, decides=Decides,
    in_tensors=InTensors, asgd=torch.optim.ASGD, rprop=torch.optim.Rprop, adadelta=torch.optim.Adadelta, adamax=torch.optim.Adamax,
    foreach=partial(Adam, foreach=True), amsgrad=partial(Adam, amsgrad=True), fused=partial(Adam, fused=True),
    tensor_lr=lambda ps, lr: Adam(ps, lr=torch.tensor(lr)),
    nesterov=partial(SGD, momentum=.9, nesterov=True), rmsprop=partial(torch.optim.RMSprop, momentum=.9, centered=True), nadam=torch.optim.NAdam,
    capturable=partial(Adam, capturable=False), radam=torch.optim.RAdam, adafactor=torch.optim.Adafactor)
WHOLE = {'nesterov','rmsprop','nadam','lion','attribute','rprop','adadelta','adamax','foreach','amsgrad','capturable','tensor_lr'}

@pytest.mark.every(6)
@pytest.mark.parametrize('name', OWN)
def test_an_optimizer_is_traced_or_runs_uncompiled(name, cache):
    cbs = lambda: [at(6, scaled), at(9, set_group(lr=.001))] if name!='tensor_lr' else []
    learn = same(lambda: dict(model=Net(), opt_func=OWN[name], lr=.01, cbs=cbs()), backend=BACKEND, cache=cache)
    report = learn.fuse_report()
    assert report.fused.keys()==({'whole'} if name in WHOLE else {'whole','grads'} if name=='sets' else {'grads'}), report

# ---- what the loop does, and a graph would not

def leaf(): return torch.ones((), requires_grad=True)
def by_hand(o):
    "Return a callback that trains the tensor `o`, which no optimizer holds"
    def after_batch(cb):
        if o.grad is not None: o.data.sub_(o.grad*.1)
        o.grad = None
        cb.learn.model.got.append(o.item())
    return Callback(after_batch=after_batch)
def attribute():
    o = leaf()
    return dict(model=Net(lambda m, x: x*m.o[0], o=[o], got=[]), cbs=[by_hand(o)])
def of_the_loss():
    o = leaf()
    return dict(model=Net(got=[]), loss_func=lambda pred, y: F.mse_loss(pred*o, y), cbs=[by_hand(o)])
class Shrinks(SGD):
    def zero_grad(self, set_to_none=True):
        super().zero_grad(set_to_none)
        for g in self.param_groups:
            for p in g['params']: p.data.mul_(.95)
def of_instance():
    def put(learn):
        opt,learn.opt.zero_grad = learn.opt,lambda set_to_none=True: Shrinks.zero_grad(opt, set_to_none)
    return dict(model=Net(), opt_func=type('Own', (Shrinks,), dict(zero_grad=SGD.zero_grad)), cbs=[at(5, put)])
def cached():
    held = [1.]
    @cache_results
    def read(): return held[0]
    return dict(model=Net(lambda m, x: x*read()), cbs=[at(5, lambda learn: held.__setitem__(0, 2.))])
def assigns(m, x):
    m.b.weight.data = m.b.weight.data*.99
    return x
def negated(): return torch.complex(torch.ones(8), torch.ones(8)).conj().imag
def overlapping(m, x):
    m.o[0].mul_(.9)
    return x*m.o[0][0]
LOOP = dict(attribute=(attribute, 'model.o\\[0\\] requires gradients, but no optimizer trains it'), of_the_loss=(of_the_loss, 'requires gradients, but no optimizer trains it'),
    zero_grad=(lambda: dict(model=Net(), opt_func=Shrinks), None), of_instance=(of_instance, None), cached=(cached, 'a cache keeps the results of read.*read\\(\\)'),
    assigns=(lambda: dict(model=Net(assigns)), 'sets the data of a tensor'), negated=(lambda: dict(model=Net(lambda m, x: x*m.o[0], o=[negated()])), 'call resolve_conj'),
    overlapping=(lambda: dict(model=Net(overlapping, o=[torch.ones(9).as_strided((2, 8), (1, 1))])), 'whose elements share memory'))
@pytest.mark.every(2)
@pytest.mark.parametrize('name', LOOP)
def test_no_graph_replaces_code_that_it_would_leave_out(name):
    make,why = LOOP[name]
    report = same(make).fuse_report()
    assert not report.fused and re.search(why, str(report)) if why else report.fused['grads']>17, report

def test_anomalies_are_found():
    def fit(learn):
        learn.fit(1)
        learn.model.o[0].zero_()
        with torch.autograd.set_detect_anomaly(True), pytest.raises(RuntimeError, match='returned nan'): learn.fit(1)
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')  # of anomaly detection
        same(lambda: dict(model=Net(lambda m, x: (x.abs()*m.o[0]).sqrt()+x, o=[torch.ones(1)]), fit=fit))

# ---- drawn programs: any model, loss, optimizer, batches, callbacks and edits

def mk(f, **kw): return lambda: Net(f, **{k:make() for k,make in kw.items()})
def reads_number(m, x): return m.part(x)*(x.mean().item()+torch.full((2,), x.amax().item()).sum())
def layers(m, x):
    for o in m.part: x = o(x).relu() if o.weight.requires_grad else o(x)
    return x
def tied():
    m = Net(lambda m, x: m.d(m.part(x).relu()), part=nn.Linear(8, 8), d=nn.Linear(8, 8))
    m.d.weight = m.part.weight
    return m
class Own(Net):
    def forward(self, x, y): return dict(loss=F.mse_loss(pred := super().forward(x), y), logits=pred)
class Rescaled(Callback):
    "Scales the loss, in the graph, by a number that changes, and in another way from batch 8 on"
    def before_batch(self): self.k,self.late = 1+self.learn.train_iter%4/10,self.learn.train_iter>7
    def scaled(self, h, loss): return loss*(h[0]*.5 if self.late else h[0])
    def after_loss(self): self.learn.loss_grad = self.scaled((self.k,), self.learn.loss_grad)
    def in_graph(self, event): return InGraph(self.scaled, flags=lambda: (self.late,), hypers=lambda: (self.k,))
def flag(learn, i): learn.model.flag = bool(tree_leaves(learn.xb)[0].sum()>0)
def halve(cb): [p.grad.mul_(.5) for p in cb.open_turn.params if p.grad is not None]
def short(n): return [tuple(o[:5 if i%n==n-1 else 8].clone() for o in b) for i,b in enumerate(DATA)]
def swap_part(learn):
    learn.model.part = deepcopy(learn.model.part)
    learn.opt.param_groups[0]['params'] = [*learn.model.parameters()]
def swap_f(learn): learn.model.f = lambda m, x, f=learn.model.f: f(m, x)*.5
MODELS = dict(net=mk(lambda m, x: m.part(x), part=nn.Tanh), tied=tied, layers=mk(layers, part=lambda: nn.ModuleList([nn.Linear(8, 8) for _ in range(3)])),
    conv=mk(lambda m, x: m.part(x.view(-1, 2, 2, 2)).flatten(1),
        part=lambda: nn.Sequential(nn.Conv2d(2, 2, 3, padding=1, bias=False), nn.BatchNorm2d(2), nn.ReLU())),
    lstm=mk(lambda m, x: m.part(x.view(-1, 4, 2))[0].flatten(1), part=lambda: nn.LSTM(2, 2, batch_first=True)),
    embedding=mk(lambda m, x: m.part(x+m.e((x[:,0]>0).long())), e=lambda: nn.Embedding(2, 8), part=lambda: nn.Sequential(nn.LayerNorm(8), nn.Dropout(.1))),
    flag=mk(lambda m, x: m.part(x*2 if m.flag else x), part=nn.Tanh, flag=bool), rows=mk(lambda m, x: setattr(m, 'n_rows', len(x)) or m.part(x), part=nn.Tanh),
    number=mk(reads_number, part=nn.Tanh))
LOSSES = dict(mse=F.mse_loss, huber=partial(F.smooth_l1_loss, beta=.5), parts=lambda pred, y: dict(a=F.mse_loss(pred, y), b=(pred-y).abs().mean()), own=None)
BATCHES = dict(plain=lambda: short(99), last=lambda: short(12), mixed=lambda: short(3))
CBS = dict(clip=lambda: GradientClip(.1), value=lambda: GradientClip(.05, algorithm='value'), windows=lambda: GradientAccumulation(n_batches=2),
    bf16=lambda: MixedPrecision('bf16'), ema=EMA, sam=SAM, scaled=Rescaled, halve=lambda: Callback('halve', before_step=halve), flag=lambda: each(flag),
    rates=lambda: each(lambda learn, i: learn.set_hypers(lr=.02/(1+i))))
MORE = dict(part_eval=lambda learn: learn.model.part.eval(), part_frozen=lambda learn: learn.model.part.requires_grad_(False), swap_f=swap_f,
    buffers=lambda learn: [o.fill_(1) for o in learn.model.buffers()], swap_part=swap_part,
    hook_part=lambda learn: learn.model.part.register_forward_pre_hook(lambda m, args: (args[0]*1.2,)))
ANY = EDITS | COUNTED | MORE
PROGRAM = (*map(st.sampled_from, ([*MODELS], [*LOSSES], [*OPTS, *OWN], [*BATCHES])), st.booleans(), st.lists(st.sampled_from([*CBS]), unique=True, max_size=2),
    st.lists(st.tuples(st.integers(1, 18), st.sampled_from([*ANY])), max_size=3, unique_by=lambda o: o[1]).map(sorted))

def drawn(seen, ended, model, loss, opt, batch, is_dict, cbs, edits):
    "Return arguments for a fit that appends the loss of each batch to `seen`, and the error that ends it to `ended`"
    model,data = MODELS[model](),BATCHES[batch]()
    if loss=='own': model.__class__ = Own
    if is_dict or loss=='own': data = [dict(x=x, y=y) for x,y in data]
    def fit(learn):
        try: learn.fit(2)
        except Exception as e: ended.append(repr(e))
    return dict(model=model, loss_func=LOSSES[loss], opt_func=(OPTS | OWN)[opt], lr=.01, dls=DataLoaders(data, targ='y' if is_dict and loss!='own' else None), fit=fit,
        cbs=[*[CBS[k]() for k in cbs], *[at(i, ANY[k]) for i,k in edits], Callback('notes', after_batch=lambda cb: seen.append(cb.loss.item()))])

def check_program(program, **kw):
    runs,tol = [],2e-2 if 'bf16' in program[-2] else 2e-5
    learn = same(lambda: runs.append(([],[])) or drawn(*runs[-1], *program), tol, **kw)
    (losses,ended),(other,end) = runs
    assert ended==end and losses==pytest.approx(other, rel=100*tol, abs=10*tol, nan_ok=True), learn.fuse_report()
    return learn.fuse_report()

@given(st.tuples(*PROGRAM))
@settings(max_examples=FEW, deadline=None)
def test_any_program(program): check_program(program, backend=BACKEND)

@pytest.mark.every(2)
@pytest.mark.parametrize('program', [('embedding','mse','adamw','plain', True, ['clip','rates'], [(5, 'load')]), ('number','own','momentum','last', False, [], [(9, 'wd')])],
    ids=['embedding','number'])
def test_drawn_programs_on_the_real_compiler(program, cache): assert check_program(program, backend='inductor', cache=cache).fused['whole']>20

# ---- changes that only the comparison finds

def env(m, x): return x*float(os.getenv('LEARNLOOP_TEST_SCALE'))
def clock(m, x): return x*(1+time.monotonic()%1)
def noise(m, x): return F.gumbel_softmax(x)*torch.rand_like(x)

def test_the_comparison_finds_an_environment_variable(monkeypatch):
    monkeypatch.setenv('LEARNLOOP_TEST_SCALE', '1')
    def change(learn): monkeypatch.setenv('LEARNLOOP_TEST_SCALE', '3')
    def make():
        monkeypatch.setenv('LEARNLOOP_TEST_SCALE', '1')
        return dict(model=Net(env), cbs=[at(8, change)])
    learn = trained(make, True, check_every=4)
    why, = [o for o in learn.fuse_report().eager if 'computes another' in o]
    assert 'the compiled step computes another' in why

def test_the_comparison_finds_a_hook_of_an_autograd_node():
    model = Net()
    node = model.a.weight.expand_as(model.a.weight).grad_fn.next_functions[0][0]
    node.register_prehook(lambda grads: (grads[0]*3,))
    why, = [o for o in trained(lambda: dict(model=model), True, check_every=4).fuse_report().eager if 'computes another' in o]
    assert 'a.weight' in why

def test_a_clock_is_refused():
    why, = [o for o in trained(lambda: dict(model=Net(clock)), True).fuse_report().eager if 'time' in o]
    assert 'reads a clock' in why and 'test_fuse_sound.py' in why

def like(x): return torch.empty_like(x)
DRAWS = dict(noise=noise, exponential=lambda m, x: x*like(x).exponential_(), cauchy=lambda m, x: x+like(x).cauchy_()*.01,
    log_normal=lambda m, x: x*like(x).log_normal_(0, .1), geometric=lambda m, x: x*like(x).geometric_(.5)*.1, rrelu=lambda m, x: F.rrelu(x, training=True),
    bernoulli=lambda m, x: x*torch.bernoulli(x.detach(), p=.7), uniform=lambda m, x: x*like(x).uniform_(.5, 1),
    normal=lambda m, x: x+torch.normal(x.detach(), .1),
    permuted=lambda m, x: x[torch.randperm(8)], poisson=lambda m, x: x+torch.poisson(like(x).fill_(1.)),
    category=lambda m, x: x[torch.multinomial(torch.ones(8), 8, replacement=True)])
@pytest.mark.every(5)
@pytest.mark.parametrize('name', DRAWS)
def test_compiled_steps_draw_the_same_random_numbers(name, cache):
    learn = same(lambda: dict(model=Net(DRAWS[name])), backend=BACKEND if name=='noise' else 'aten', cache=cache)
    assert learn.fuse_report().fused['whole']==23

# ---- reasons are sentences, with the user's line and what to change

def scripted():
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        return torch.jit.script(nn.Linear(8, 8))
def keeps(m, x):
    m.last = x
    return x
def appends(m, x):
    m.o.append(1)
    return x
def logs(m, x):
    logging.getLogger('fuse').info('x')
    return x
def hooked():
    layer = nn.Linear(8, 8)
    layer.register_full_backward_hook(lambda m, gi, go: (gi[0]*2,))
    return layer
def prints(m, x):
    print('x')
    return x
def wastes(m, x):
    torch.rand(3)
    return x
class Asked(type):
    k = 1.
    def __instancecheck__(cls, o): return True
class Kind(metaclass=Asked): pass
REASONS = dict(asked=(lambda m, x: x*2 if isinstance(m, Kind) else x, None, 'isinstance asks code of Kind'), meta=(lambda m, x: x*Kind.k, None, 'Kind.k is an attribute of a metaclass'),
    decides=(lambda m, x: x if x.sum()>0 else -x, None, 'reads the value of a tensor.*torch.where'), appends=(appends, list, r'forward changes model.o \(.*m.o.append\(1\)\): keep it in a buffer'),
    keeps=(keeps, list, 'keeps or returns a tensor with its graph.*detach it'), logs=(logs, None, 'writes to a log.*callback'), prints=(prints, None, 'prints or opens a file.*callback'),
    hooked=(lambda m, x: m.o(x), hooked, 'a module has a backward hook'),
    index=(lambda m, x: x*m.o[0][m.o[1]], lambda: [torch.ones(3), torch.tensor(1)], 'torch.index_select for an index'),
    dropped=(lambda m, x: checkpoint(F.dropout, x, use_reentrant=False), None, 'activation checkpointing'),
    scripted=(lambda m, x: m.o(x), scripted, 'ScriptModule.*use the module itself'), observer=(lambda m, x: m.o(x), torch.ao.quantization.MinMaxObserver, 'observer.*remove it'),
    array=(lambda m, x: x*torch.from_numpy(m.o), lambda: np.ones(8, dtype='float32'), 'reads the NumPy array model.o: make it a tensor'),
    wastes=(wastes, None, 'draws random numbers that it does not use'),
    generator=(lambda m, x: x*torch.rand(8, generator=m.o[0]), lambda: [torch.Generator()], "aren't torch's own"))
@pytest.mark.every(4)
@pytest.mark.parametrize('name', REASONS)
def test_a_reason_is_a_sentence(name, capsys):
    f,make,why = REASONS[name]
    learn = trained(lambda: dict(model=Net(f, o=make() if make else None)), True)
    said = [o for o in learn.fuse_report().eager if 'first step' not in o]
    assert len(said)==1 and re.search(why, said[0]) and not learn.fuse_report().fused, said
    if name not in ('array','keeps','index','dropped','wastes'): assert 'test_fuse_sound.py, line' in said[0]

@pytest.mark.parametrize('name,why', [('loguru','writes to a log'), ('einops','call of einops: use reshape')])
def test_a_reason_names_the_line_that_calls_a_package(name, why, monkeypatch):
    "Dynamo knows einops by its version"
    package = types.ModuleType(name)
    exec(compile("import sys\n__version__ = '0.8.2'\ndef call(): return sys._getframe(1)", f'/site-packages/{name}/__init__.py', 'exec'), vars(package))
    monkeypatch.setitem(sys.modules, name, package)
    def f(m, x):
        package.call()
        return x
    said = [o for o in trained(lambda: dict(model=Net(f)), True).fuse_report().eager if 'first step' not in o]
    assert len(said)==1 and re.search(rf'{why}.*test_fuse_sound.py.*package.call\(\)', said[0]), said

def test_a_compiled_model_is_fused():
    inner = torch.compile(nn.Linear(8, 8), backend='eager')
    assert set(same(lambda: dict(model=Net(lambda m, x: m.o(x), o=deepcopy(inner)))).fuse_report().fused)=={'whole'}

@pytest.mark.skipif(not torch.cuda.is_available(), reason='there is no GPU')
def test_a_step_on_a_gpu():
    a,b = (trained(lambda: dict(model=Net(), opt_func=Adam, lr=.01, device='cuda'), fuse, backend=None) for fuse in (True, False))
    assert sum(a.fuse_report().fused.values())==23, a.fuse_report()
    for x,y in zip(a.model.parameters(), b.model.parameters(), strict=True): torch.testing.assert_close(x, y, atol=2e-5, rtol=1e-3)

@dataclass
class Result:
    loss:torch.Tensor|None = None
    logits:torch.Tensor|None = None
def test_a_model_may_return_an_object_of_its_own():
    class Own(Net):
        def forward(self, x, y):
            res = Result()
            res.logits = super().forward(x)
            res.loss = F.mse_loss(res.logits, y)
            return res
    data = lambda: [dict(x=x.clone(), y=y.clone()) for x,y in DATA]
    learn = same(lambda: dict(model=Own(), loss_func=None, data=data()))
    assert set(learn.fuse_report().fused)=={'whole'}, learn.fuse_report()
