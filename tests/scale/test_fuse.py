"Compiled steps give the weights and events of uncompiled ones, and a step that a graph can't represent is not compiled"
import gc, os, random, re, sys, threading, warnings, weakref
from copy import deepcopy
from functools import partial
from types import FunctionType
import pytest, torch
from helpers import batches, ending, mk_learner, mk_model, players, same
from hypothesis import given, settings
from torch import nn
from torch.nn import functional as F
from learnloop import (
    CSVLogger, Callback, CheckFinite, CheckpointCallback, DataLoaders, EMA, GradientAccumulation, GradientClip, Learner, MicroBatch, MixUp, MixedPrecision, SAM,
    SWA, Tracer, TruePrecision)
from learnloop.loop.engines import Engine
from learnloop.loop.place import Plain
from test_properties import programs
from together import together
from where import tells_where

SGD,Adam,AdamW = torch.optim.SGD,torch.optim.Adam,torch.optim.AdamW

@pytest.fixture(autouse=True)
def all_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        yield

class Small(nn.Module):
    "Batch norm, dropout, an unused layer and a frozen one"
    def __init__(self, p=.3):
        super().__init__()
        # the gradient of a bias before the norm would be rounding errors only
        self.a,self.norm,self.drop,self.b = nn.Linear(2, 8, bias=False),nn.BatchNorm1d(8),nn.Dropout(p),nn.Linear(8, 1)
        self.unused,self.frozen = nn.Linear(3, 3),nn.Linear(8, 8)
        self.frozen.requires_grad_(False)
    def forward(self, x): return self.b(self.frozen(self.drop(self.norm(self.a(x)).relu())))

def small(seed=0):
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return Small()

DATA = batches(40, bs=8)

def fitted(fuse=True, n=1, model=small, cbs=(), dls=(DATA,), before=None, seed=3, backend='aten', **kwargs):
    "Return a learner that has trained; `fuse` holds arguments, or is False"
    learn = mk_learner([*(cbs() if callable(cbs) else cbs)], model=model(), dls=dls, **kwargs)
    if fuse is not False: learn.fuse(backend=backend, **(fuse if isinstance(fuse, dict) else {}))
    if before: before(learn)
    torch.manual_seed(seed)
    learn.fit(n)
    return learn

def near(a, b, atol=2e-6, rtol=1e-4):
    for (k,x),(_,y) in zip(a.model.state_dict().items(), b.model.state_dict().items(), strict=True):
        torch.testing.assert_close(x, y, atol=atol, rtol=rtol, msg=lambda m, k=k: f'{k}: {m}')

def n_fused(learn): return sum(learn.fuse_report().fused.values())

def both(min_fused=30, fuse=True, **kwargs):
    "Train compiled and uncompiled, compare the results, and return the fused learner"
    a,b = fitted(fuse, **kwargs),fitted(False, **kwargs)
    with tells_where(partial(fitted, fuse, **kwargs), partial(fitted, False, **kwargs), tol=1e-4): near(a, b)
    assert vars(a.count)==vars(b.count)
    assert n_fused(a)>=min_fused, a.fuse_report()
    assert all(p.grad is None for p in a.model.parameters())
    return a

OPTS = dict(sgd=SGD, momentum=partial(SGD, momentum=.9), nesterov=partial(SGD, momentum=.9, nesterov=True, weight_decay=.01),
    dampening=partial(SGD, momentum=.8, dampening=.3, maximize=False), adam=Adam, amsgrad=partial(Adam, amsgrad=True), adamw=AdamW,
    rmsprop=torch.optim.RMSprop, adagrad=torch.optim.Adagrad, nadam=torch.optim.NAdam)

@pytest.mark.every(3)
@pytest.mark.parametrize('name', OPTS)
def test_compiled_steps_give_the_weights_of_uncompiled_ones(name):
    learn = both(opt_func=OPTS[name], lr=.01, n=2)
    assert learn.fuse_report().fused.keys()=={'whole'}

def test_the_optimizer_state_is_that_of_uncompiled_steps():
    a,b = (fitted(fuse, opt_func=AdamW, lr=.01) for fuse in (True, False))
    x,y = a.opt.state_dict(),b.opt.state_dict()
    assert x['state'].keys()==y['state'].keys() and x['param_groups']==y['param_groups']
    for k in x['state']:
        for n,v in x['state'][k].items(): torch.testing.assert_close(v, y['state'][k][n], atol=1e-6, rtol=1e-4)

# ---- the rest of the loop

def test_frozen_and_unused_weights_stay_the_same():
    a,start = both(),small()
    assert torch.equal(a.model.frozen.weight, start.frozen.weight) and torch.equal(a.model.unused.weight, start.unused.weight)

def test_layers_may_be_frozen_during_a_fit():
    class Thaw(Callback):
        def before_epoch(self): self.model.a.requires_grad_(self.epoch!=1)
    learn = both(n=3, cbs=lambda: [Thaw()])
    assert len(learn.fuse_report().graphs)==2  # the first one is used again

def test_schedules_need_no_new_graph():
    def slower(cb): cb.learn.set_hypers(lr=.1/(1+cb.train_iter))
    learn = both(n=2, cbs=lambda: [Callback(before_batch=slower)])
    assert len(learn.fuse_report().graphs)==1

def test_a_listener_may_come_and_go():
    class Other(Callback):
        def after_loss(self): self.learn.loss_grad = self.learn.loss_grad*2
    class Comes(Callback):
        def before_batch(self):
            if self.iter%5==0 and not any(isinstance(o, Other) for o in self.learn.cbs): self.learn.add_cb(Other())
        def after_batch(self):
            if self.iter%5==0: self.learn.remove_cb(Other)
    both(opt_func=AdamW, lr=.01, min_fused=60, n=2, cbs=lambda: [Comes()], before=quiet)

def quiet(learn):
    if learn.engines.fuser: learn.engines.fuser._tell = lambda why: None

@pytest.mark.every(2)
@pytest.mark.parametrize('cbs', [lambda: [EMA()], lambda: [SWA(start_epoch=1)], lambda: [GradientClip(3.)],
    lambda: [GradientClip(.1, norm_type=1.), EMA()], lambda: [CheckFinite()], lambda: [GradientClip(.1, algorithm='value')]], ids=['ema','swa','clip','norm1','finite','value'])
def test_callbacks_that_run_in_the_graph(cbs):
    learn = both(n=3, cbs=cbs)
    assert set(learn.fuse_report().fused)=={'grads' if any(isinstance(o, CheckFinite) for o in learn.cbs) else 'whole'}
    for a,b in zip(learn.cbs[1:], fitted(False, n=3, cbs=cbs).cbs[1:], strict=True):
        if hasattr(a, 'averages'): assert a.n_averaged==b.n_averaged
        if hasattr(a, 'grad_norm'): torch.testing.assert_close(a.grad_norm, b.grad_norm, atol=1e-5, rtol=1e-4)

@pytest.mark.every(2)
@pytest.mark.parametrize('cbs', [lambda: [GradientAccumulation(24)], lambda: [GradientAccumulation(n_batches=3), GradientClip(.1)], lambda: [SAM()],
    lambda: [GradientAccumulation(20, count=lambda learn: learn.bs)]], ids=['samples','batches','sam','counted'])
def test_callbacks_that_need_gradients(cbs):
    learn = both(n=2, cbs=cbs)
    assert set(learn.fuse_report().fused)=={'grads'}

def test_gradients_may_be_edited():
    def edit(cb):
        for p in cb.open_turn.params:
            if p.grad is not None: p.grad.mul_(.5)
    assert set(both(cbs=lambda: [Callback(before_step=edit)]).fuse_report().fused)=={'grads'}

def test_read_only_callbacks_see_prediction_and_loss():
    seen = []
    class Look(Callback):
        read_only = True
        def after_pred(self): seen.append(self.pred.detach().clone())
        def after_loss(self): seen.append(self.loss.clone())
    assert set(both(cbs=lambda: [Look()]).fuse_report().fused)=={'grads'}
    assert len(seen)==160 and seen[2].shape==(8, 1)
    torch.testing.assert_close(seen[2:6], seen[82:86], atol=1e-6, rtol=1e-4)

def micro():
    cb = MicroBatch(4)
    cb._has_told = True  # of the batch norm
    return [cb]

def uncompiled(why, run=fitted, **kwargs):
    "Check that a fit warns once why its steps run uncompiled, and that they do; return its learner"
    with pytest.warns(UserWarning, match=why) as told: learn = run(True, **kwargs)
    assert sum('run uncompiled' in str(o.message) for o in told)==1 and not n_fused(learn)
    assert same(learn.model, run(False, **kwargs).model)
    return learn

@pytest.mark.parametrize('cbs', [lambda: [MixUp(.4)], micro, lambda: [MixedPrecision('fp16')]], ids=['mixup','micro','fp16'])
def test_callbacks_that_change_the_forward_pass_leave_steps_uncompiled(cbs): uncompiled('these steps run uncompiled', cbs=cbs)

@pytest.mark.parametrize('cbs,lr,atol,rtol', [(lambda: [MixedPrecision('bf16')], .01, 3e-3, 3e-2), (lambda: [TruePrecision(torch.float64)], .1, 1e-9, 1e-4)], ids=['bf16','true'])
def test_other_precisions(cbs, lr, atol, rtol):
    "bfloat16 has 8 bits, and a graph keeps more of them between operations"
    a,b = (fitted(fuse, cbs=cbs, lr=lr) for fuse in (True, False))
    assert set(a.fuse_report().fused)=={'whole'} and n_fused(a)==39
    near(a, b, atol=atol, rtol=rtol)
    assert not torch.is_autocast_enabled('cpu')

def test_tracer_and_logs(tmp_path):
    both(cbs=lambda: [Tracer(), CSVLogger(tmp_path/'log.csv')], n=2, defaults=True)

def test_events_outside_the_compiled_part_are_the_same():
    names = 'before_batch','after_batch','before_turn','after_turn','cleanup_batch','before_fetch','after_train'
    def events(fuse):
        got = []
        cbs = [Callback(nm, **{nm:lambda cb, nm=nm: got.append((nm, cb.iter, dict(cb.outcome)))}) for nm in names]
        fitted(fuse, cbs=cbs)
        return got
    assert events(True)==events(False)

# ---- data and losses

def test_dict_batches():
    class Named(Small):
        def forward(self, x, k=1, more=None): return super().forward(x)*k+more['z']
    data = [dict(x=x, k=2, more=dict(z=torch.ones(8, 1)), y=y) for x,y in DATA]
    both(dls=DataLoaders(data, targ='y'), model=partial(seeded, Named))

def seeded(cls, *args):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return cls(*args)

def test_each_number_in_a_batch_has_its_own_graph():
    class Named(Small):
        def forward(self, x, k): return super().forward(x)*k
    data = [dict(x=x, k=1+i%2, y=y) for i,(x,y) in enumerate(DATA)]
    learn = both(dls=DataLoaders(data, targ='y'), model=partial(seeded, Named))
    assert len(learn.fuse_report().graphs)==2

def test_several_shapes():
    data = [b for i in range(10) for b in (*batches(2, 8, seed=i), *batches(2, 5, seed=100+i))]
    learn = both(dls=(data,), fuse=dict(max_shapes=2))
    assert len(learn.fuse_report().graphs)==2
    with pytest.warns(UserWarning, match='more than max_shapes=1 shapes'): a = fitted(dict(max_shapes=1), dls=(data,))
    near(a, fitted(False, dls=(data,)))
    assert n_fused(a)==19

def test_a_shape_that_comes_once_gets_no_graph():
    learn = both(dls=(DATA[:20]+batches(1, 3),), n=2)
    assert len(learn.fuse_report().graphs)==1

def test_tensors_of_the_loss_function_are_inputs():
    k = torch.ones(())
    class Weighted(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer('w', torch.ones(1))
            self.scale = nn.Parameter(torch.ones(1))
        def forward(self, pred, y): return ((pred-y)**2*self.w*k).mean()*self.scale.exp()
    def grow(cb):
        cb.loss_func.w.add_(.01)
        k.mul_(.99)
    def run(fuse):
        k.fill_(1.)
        return fitted(fuse, loss_func=Weighted(), cbs=[Callback(after_batch=grow)])
    a,b = run(True),run(False)
    assert n_fused(a)==39
    near(a, b)
    torch.testing.assert_close(a.loss_func.scale, b.loss_func.scale)

def test_parts_of_the_loss():
    def loss(pred, y): return dict(mse=F.mse_loss(pred, y), l1=.1*(pred-y).abs().mean())
    def run(fuse):
        got = []
        learn = fitted(fuse, loss_func=loss, defaults=True, cbs=[Callback(after_batch=lambda cb: got.append(dict(cb.loss_parts)))])
        return learn,got
    (a,x),(b,y) = run(True),run(False)
    assert n_fused(a)==39
    near(a, b)
    assert [o.keys() for o in x]==[o.keys() for o in y]
    torch.testing.assert_close(x[-1], y[-1])

class Waits(Small):
    "Has a layer that gets its shape in the first batch, and one outside of `modules()` that never does"
    def __init__(self):
        super().__init__()
        self.beside = [nn.LazyLinear(1)]  # in a list, so it is no submodule
        self.last = nn.LazyLinear(1)
    def forward(self, x): return super().forward(x)+self.last(x)

def test_layers_that_get_their_shape_in_the_first_batch():
    def seeded():
        torch.manual_seed(0)
        return Waits()
    assert list(both(model=seeded).fuse_report().eager)==['parameters have no shape before a batch']

def test_a_model_may_return_its_loss():
    class Own(Small):
        def forward(self, x, y): return dict(loss=F.mse_loss(super().forward(x), y), logits=x)
    both(model=partial(seeded, Own), loss_func=None, dls=([dict(x=x, y=y) for x,y in DATA],))

# ---- saving, resuming, copies

def test_a_run_may_resume_compiled_or_uncompiled(tmp_path):
    whole = fitted(False, n=4, opt_func=AdamW, lr=.01)
    for i,(first,then) in enumerate([(True, False), (False, True)]):
        fitted(first, n=2, opt_func=AdamW, lr=.01, cbs=[CheckpointCallback(tmp_path/str(i))])
        learn = mk_learner([], model=small(), dls=(DATA,), opt_func=AdamW, lr=.01)
        if then: learn.fuse(backend='aten')
        learn.fit(4, resume=tmp_path/str(i))
        near(learn, whole)

def test_a_graph_uses_optimizer_state_that_was_loaded():
    def load(learn):
        sd = deepcopy(learn.opt.state_dict())
        for o in sd['state'].values(): o['exp_avg'].zero_()
        learn.opt.load_state_dict(sd)
    def run(fuse):
        learn = fitted(fuse, opt_func=Adam, lr=.01)
        load(learn)
        torch.manual_seed(4)
        learn.fit(1)
        return learn
    near(run(True), run(False))

def test_a_learner_that_is_fused_can_be_copied():
    learn = fitted()
    twin = deepcopy(learn)
    for o in (learn, twin):
        torch.manual_seed(9)
        o.fit(1)
    near(learn, twin)  # the copy has no graph: its first step runs compiled and uncompiled

def test_replaying_a_batch():
    learn = mk_learner([], model=small(), dls=(DATA,)).fuse(backend='aten')
    def bad(cb):
        if cb.iter==5: raise ValueError('bad')
    with pytest.raises(ValueError, match='bad'): learn.fit(1, cbs=[Callback(after_batch=bad)], keep_failed=True)
    with pytest.raises(ValueError, match='bad'): learn.replay_batch()
    assert learn.engines.fuser is not None

def test_versions_of_weights_go_up():
    learn = fitted(dict(check_every=None))
    v = learn.model.a.weight._version
    learn.fit(1)
    assert learn.model.a.weight._version>=v+40

def test_unfuse_and_report():
    learn = fitted()
    assert '39 of 40 steps were fused' in str(learn.fuse_report()) and '| whole |' in learn.fuse_report()._repr_markdown_()
    learn.fit(1, fuse=False)
    with pytest.raises(ValueError, match='was not fused'): learn.fuse_report()

def test_wrong_arguments():
    learn = mk_learner()
    with pytest.raises(ValueError, match="backend='indctor'.*did you mean 'inductor'"): learn.fuse(backend='indctor')
    with pytest.raises(ValueError, match='max_shapes'): learn.fuse(max_shapes=0)
    with pytest.raises(ValueError, match='check_every'): learn.fuse(check_every=-1)

# ---- steps that can't be fused

class Counts(Small):
    "Changes an attribute in forward"
    k = 0
    def __init__(self):
        super().__init__()
        self.k = 0
    def forward(self, x):
        self.k += 1
        return super().forward(x)*(1+self.k/100)

class Draws(Small):
    def forward(self, x): return super().forward(x)*(1+random.random())
class Items(Small):
    "Its numbers have no gradient, and stay the same when the tensor changes"
    def forward(self, x):
        y,k = super().forward(x),self.norm.running_var[:1].item()
        self.norm.running_var.data.mul_(.9)
        return y*(k+torch.full((2,), y.mean().item()).sum())
n_calls = 0
class Global(Small):
    def forward(self, x):
        global n_calls
        n_calls += 1
        return super().forward(x)*(1+n_calls%3)
class Sparse(Small):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(4, 8, sparse=True)
    def forward(self, x): return super().forward(x)+self.emb((x[:, 0]>0).long()).sum(1, keepdim=True)
class Batches(Small):
    "Replaces a buffer in each step"
    def __init__(self):
        super().__init__()
        self.register_buffer('mean', torch.zeros(2))
    def forward(self, x):
        self.mean = self.mean*.9+x.mean(0)*.1
        return super().forward(x-self.mean)

def hooked(learn): learn.model.a.register_forward_hook(lambda m, i, o: o*1.1)
def pre_hooked(learn): learn.model.a.register_forward_pre_hook(lambda m, i: (i[0]*1.1,))
def grad_hooked(learn): learn.model.a.weight.register_hook(lambda g: g*.5)
def wrapped(learn): learn.forward_model = Wrapped(learn.model)
class Wrapped(nn.Module):
    def __init__(self, m):
        super().__init__()
        self.m = m
    def forward(self, x): return self.m(x)*1.1
class Halves(Plain):  # its `allows_fusing` doesn't hold for this `body`
    level = 20
    def body(self, learn, phase, f):
        for p in learn.open_turn.params:
            if p.grad is not None: p.grad.mul_(.5)
        return f()
class Skips(Engine):
    takes,level = 'turn',50
    def take(self, learn, what, inner): return learn.iter%2==0 or inner(learn, what)
class Padded(Small):
    def forward(self, x): return super().forward(x.to_padded_tensor(0.).mean(1))
def nested():
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        return [(torch.nested.nested_tensor([o.expand(1+i%3, 2) for i,o in enumerate(x)]), y) for x,y in DATA]
def two(model):
    a = [p for n,p in model.named_parameters() if n[0]=='a' and p.requires_grad]
    b = [p for n,p in model.named_parameters() if n[0]!='a' and p.requires_grad]
    return dict(a=SGD(a, lr=.1), b=SGD(b, lr=.05))

UNFUSABLE = dict(
    counts=(dict(model=partial(seeded, Counts)), r'forward changes model.k \(test_fuse.py, line \d+: self.k \+= 1\): keep it in a buffer'),
    python_random=(dict(model=partial(seeded, Draws)), 'asks random|random numbers'),
    changes_global=(dict(model=partial(seeded, Global)), 'n_calls'),
    buffer=(dict(model=partial(seeded, Batches)), 'forward changes a buffer of model'),
    sparse=(dict(model=partial(seeded, Sparse)), 'sparse'),
    nested=(dict(model=partial(seeded, Padded), dls=DataLoaders(nested(), bs_of=lambda b: 8)), 'a nested tensor'),
    engine=(dict(before=lambda learn: learn.engines.append(Halves())), 'Halves runs around the turn'),
    taker=(dict(before=lambda learn: learn.engines.append(Skips())), 'Skips runs around the turn'),
    grad_hook=(dict(before=grad_hooked), 'hook'))

@pytest.mark.parametrize('name', UNFUSABLE)
def test_a_model_that_cannot_be_fused_trains_uncompiled(name):
    kwargs,why = UNFUSABLE[name]
    def run(fuse):
        global n_calls
        random.seed(0)
        n_calls = 0
        return fitted(fuse, **kwargs)
    a = uncompiled(why, run)
    if hasattr(a.model, 'k'): assert a.model.k==40

def called(fuse):
    "Return the names of the learner's methods that the later batches of a fit call"
    names = {f.__code__:k for k in dir(Learner) if isinstance(f := getattr(Learner, k, None), FunctionType)}
    found,n = set(),[0]
    def look(frame, what, arg):
        if what=='call' and frame.f_code in names: found.add(names[frame.f_code])
    def begin(cb):
        n[0] += 1
        if n[0]==20: sys.setprofile(look)
    try: learn = fitted(fuse, cbs=[Callback(between_batches=begin)])
    finally: sys.setprofile(None)
    assert fuse is False or n_fused(learn)>30
    return found

def test_a_method_that_compiled_steps_bypass_may_not_be_overridden():
    bypassed = called(False)-called(True)
    assert 'calc_loss' in bypassed and 'one_batch' not in bypassed
    for k in bypassed-{'train_batch'}:  # an override is called, and each of its turns may be compiled
        def own(self, *args, k=k, **kwargs): return getattr(Learner, k)(self, *args, **kwargs)
        Own = type('Own', (Learner,), {k:own})
        with pytest.warns(UserWarning, match=f'overrides {k}'): assert not n_fused(fitted(cls=Own)), k

@pytest.mark.parametrize('before', [hooked, pre_hooked, wrapped])
def test_hooks_and_wrappers_are_part_of_the_graph(before): assert set(both(before=before).fuse_report().fused)=={'whole'}

def test_several_optimizers():
    def run(fuse):
        model = small()
        return fitted(fuse, model=lambda: model, opt_func=two(model))
    uncompiled('several optimizers', run)

def test_forward_may_call_item(): both(model=partial(seeded, Items), lr=.01)

def test_an_attribute_has_a_graph_for_each_of_a_few_values():
    class Scaled(Small):
        k = 1.
        def forward(self, x): return super().forward(x)*self.k
    def grow(cb): cb.model.k = 1.+cb.epoch
    learn = both(n=3, model=partial(seeded, Scaled), cbs=lambda: [Callback(before_epoch=grow)], min_fused=119, lr=.01)
    assert len(learn.fuse_report().graphs)==3

def test_an_attribute_that_changes_in_each_step_leaves_steps_uncompiled():
    class Scaled(Small):
        k = 1.
        def forward(self, x): return super().forward(x)*self.k
    def grow(cb): cb.model.k = 1.+cb.train_iter/100
    def run(fuse): return fitted(fuse, model=partial(seeded, Scaled), cbs=[Callback(before_batch=grow)])
    with pytest.warns(UserWarning, match='k keeps changing'): a = run(True)
    assert n_fused(a)<=4
    near(a, run(False))

def test_no_compiler(monkeypatch):
    monkeypatch.setenv('CXX', 'no-such-compiler')
    uncompiled('no C\\+\\+ compiler', backend='inductor')

@pytest.mark.parametrize('backend', ['inductor','aten'])
def test_another_version_of_torch(backend, monkeypatch):
    monkeypatch.setattr('torch.__version__', '2.14.1+cpu')
    uncompiled(re.escape('compiled steps need torch 2.13, and torch 2.14.1+cpu is installed'), backend=backend)

def test_a_compiler_that_fails(monkeypatch):
    def fails(*args, **kwargs): raise RuntimeError('no space left on device')
    monkeypatch.setattr('learnloop.scale.fuse.build', fails)
    uncompiled('no space left', backend='inductor')

# ---- the comparison of compiled and uncompiled steps

def wrong_bias(args, kept): return [args[0]*1.02, *args[1:]]
def stale(args, kept): return [*args[:3], *[kept.setdefault(i, o.detach().clone()) if o.shape==(8,) else o for i,o in enumerate(args[3:])]]

@pytest.mark.parametrize('fault', [wrong_bias, stale])
@pytest.mark.parametrize('at', [2, 16])
def test_the_comparison_finds_a_wrong_graph(fault, at):
    learn = mk_learner([], model=small(), dls=(DATA,), opt_func=Adam, lr=.01).fuse(backend='aten', check_every=8)
    kept = {}
    def plant(cb):
        for g in cb.learn.engines.fuser.graphs:
            if cb.train_iter==at: g.call = lambda args, right=g.call: right(fault(args, kept))
    torch.manual_seed(3)
    with pytest.warns(UserWarning, match='the compiled step computes another') as told: learn.fit(3, cbs=[Callback(before_batch=plant)])
    assert len(told)==1 and n_fused(learn)<60

def test_the_comparison_finds_a_lost_dropout_mask(monkeypatch):
    import learnloop.scale.inductor as inductor
    monkeypatch.setattr(inductor, '_bernoulli', lambda x, p=.5, generator=None: torch.ones_like(x))
    with pytest.warns(UserWarning, match='draws other random numbers|computes another'): a = fitted()
    assert n_fused(a)<=3
    near(a, fitted(False))

def test_correct_steps_pass_each_comparison():
    learn = fitted(dict(check_every=1), n=3, opt_func=AdamW, lr=.01)
    assert n_fused(learn)==119

def test_complex_weights():
    class Waves(nn.Module):
        def __init__(self):
            super().__init__()
            self.w,self.out = nn.Parameter(torch.randn(2, 6, dtype=torch.cfloat)),nn.Linear(6, 1)
        def forward(self, x): return self.out((x.to(torch.cfloat)@self.w).abs())
    assert set(both(model=partial(seeded, Waves), lr=.01).fuse_report().fused)=={'grads'}

def test_no_batch_is_held():
    refs = []
    class Fresh:
        def __iter__(self):
            for x,y in DATA:
                x = x.clone()
                refs.append(weakref.ref(x))
                yield x,y
    learn = fitted(dls=(Fresh(),))
    gc.collect()
    assert n_fused(learn)==39 and not any(o() is not None for o in refs)

# ---- programs

OUTSIDE = ['before_fit','before_epoch','before_train','before_batch','after_batch','cleanup_batch','before_turn','after_turn','cleanup_turn',
    'before_fetch','after_fetch','before_validate','after_validate','after_train','after_epoch','after_fit']
SHARED = {}

def start_anew(learn):
    "Reset the learner, but keep its graphs"
    learn.model.load_state_dict(mk_model().state_dict())
    for p in learn.model.parameters(): p.grad = None
    for k in vars(learn.count): setattr(learn.count, k, 0)
    return learn

def program(fuse, cbs, acts, **kwargs):
    key = fuse,*kwargs.values()
    if key not in SHARED:
        SHARED[key] = mk_learner()
        if fuse:
            SHARED[key].fuse(**kwargs)
            SHARED[key].engines.fuser._tell = lambda why: None  # callbacks that listen are the subject here
    learn,trace = start_anew(SHARED[key]),[]
    end = ending(lambda: learn.fit(2, cbs=players(cbs, acts, trace)))
    return learn,trace,end

def compare_programs(cbs, acts, **kwargs):
    (a,trace,end),(b,want,wanted) = program(True, cbs, acts, **kwargs),program(False, cbs, acts)
    assert trace==want and end==wanted
    assert vars(a.count)==vars(b.count)
    near(a, b, atol=1e-6)

MANY = (5 if os.environ.get('ALL_CASES') else 1)*settings.default.max_examples

def test_programs():
    @given(programs())
    @settings(max_examples=MANY)
    def run(program): compare_programs(*program, backend='aten')
    run()
    report = SHARED[True, 'aten'].fuse_report()
    assert report.fused['whole']>20 and report.fused['grads']>5, report

# ---- the real compiler

@pytest.fixture(scope='module')
def library(tmp_path_factory):
    "Return a folder with the compiled step of the default learner of these tests; this fails without a compiler"
    folder = tmp_path_factory.mktemp('fuse')
    learn = mk_learner().fuse(cache=folder)
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        learn.fit(2)
    graph, = learn.fuse_report().graphs
    assert graph['was there'] is False and len(list(folder.glob('*.so')))==1
    return folder

def test_programs_on_a_compiled_step(library):
    @given(programs(OUTSIDE))
    @settings(max_examples=MANY)
    def run(program): compare_programs(*program, cache=library)
    run()
    report = SHARED[True, library].fuse_report()
    assert report.fused['whole']>40 and not report.fused['grads'] and report.graphs[0]['was there']

def test_a_compiled_library_is_read_from_disk(library):
    learn = mk_learner().fuse(cache=library)
    learn.fit(2)
    assert learn.fuse_report().graphs[0]['was there'] and n_fused(learn)==5
    near(learn, (lambda o: o.fit(2) or o)(mk_learner()))

def test_built_in_the_background(library):
    learn = mk_learner().fuse(cache=library, background=True)
    learn.fit(2)
    for t in threading.enumerate():
        if t.name=='learn.fuse': t.join(60)
    learn.fit(2)
    report = learn.fuse_report()
    assert report.fused['whole']>=6 and sum(report.eager.values())+sum(report.fused.values())==12
    near(learn, (lambda o: o.fit(2) or o.fit(2) or o)(mk_learner()))

def test_an_argument_of_fit_decides_whether_to_fuse(library):
    learn = mk_learner()
    learn.fit(1, fuse=dict(cache=library))
    learn.fit(1, fuse=True)
    assert n_fused(learn)==5
    learn.fit(1, fuse=False)
    assert learn.engines.fuser is None
    with pytest.raises(TypeError, match="fuse is 'yes'"): learn.fit(1, fuse='yes')

def test_steps_of_several_processes_stay_uncompiled_with_a_warning():
    def run():
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter('always')
            learn = mk_learner([], model=small(), dls=(DATA,)).to_ddp(find_unused_parameters=True).fuse(backend='aten')
            torch.manual_seed(3)
            learn.fit(1)
        return [str(o.message) for o in told if 'fuse' in str(o.message)],n_fused(learn)
    for told,n in together(run): assert len(told)==1 and 'several processes' in told[0] and not n

def test_successive_fits_with_the_default_callbacks_share_a_graph():
    learn = fitted(defaults=True)
    with learn.no_logging(), learn.no_bar():
        for _ in range(2): learn.fit(1)
    assert n_fused(learn)==3*len(DATA)-1 and learn.count.opt_steps==3*len(DATA)
    assert str(learn.fuse_report()).count('whole  ((')==1
