"Rules of optimizers: as near to torch's own steps as numbers allow, and none where a step does more than its rule"
import copy, inspect
from functools import partial
import pytest, torch
from torch import nn, optim
from torch.optim import optimizer as torch_optim
from torch.fx.experimental.proxy_tensor import make_fx
from learnloop.scale import rules
from learnloop.scale.rules import RULES, fused_rule, has_state, missing_state, n_steps, step_by_rules, why_no_rule

SHAPES = (3,4),(4,),(),(2,1,3)
SETTINGS = dict(
    SGD=[dict(), dict(weight_decay=.1), dict(momentum=.9), dict(momentum=.9, nesterov=True, weight_decay=.01), dict(momentum=.8, dampening=.3),
        dict(momentum=.9, maximize=True, weight_decay=.1)],
    Adam=[dict(), dict(weight_decay=.1), dict(amsgrad=True), dict(maximize=True, weight_decay=.1), dict(betas=(.3,.5)), dict(betas=(0.,.9), eps=1e-3),
        dict(weight_decay=.1, decoupled_weight_decay=True)],
    AdamW=[dict(), dict(weight_decay=0), dict(amsgrad=True, maximize=True), dict(betas=(.5,.7))],
    RMSprop=[dict(), dict(weight_decay=.1), dict(momentum=.9), dict(centered=True), dict(centered=True, momentum=.5, weight_decay=.1, maximize=True),
        dict(alpha=.3, centered=True)],
    Adagrad=[dict(), dict(lr_decay=.1), dict(weight_decay=.1, maximize=True, initial_accumulator_value=.5)],
    Adamax=[dict(), dict(weight_decay=.1), dict(maximize=True, betas=(.4,.6))],
    NAdam=[dict(), dict(weight_decay=.1), dict(weight_decay=.1, decoupled_weight_decay=True), dict(momentum_decay=.1, maximize=True), dict(betas=(.2,.9))],
    RAdam=[dict(), dict(weight_decay=.1), dict(weight_decay=.1, decoupled_weight_decay=True, maximize=True), dict(betas=(.2,.6))])
ALL = [(nm,kw) for nm,kws in SETTINGS.items() for kw in kws]
def name(o): return '-'.join(map(str, o.items())) or 'plain' if isinstance(o, dict) else None

def pair(nm, kw, dtype=torch.float64):
    "Two optimizers of the same weights in two groups, the second with settings of its own"
    torch.manual_seed(0)
    ws = [torch.randn(s, dtype=dtype) for s in SHAPES]
    def _f():
        ps = [nn.Parameter(w.clone()) for w in ws]
        return getattr(optim, nm)([dict(params=ps[:2]), dict(params=ps[2:], lr=.003)], **dict(lr=.01)|kw)
    return _f(),_f()

def grads(opts, gen):
    for ps in zip(*[[p for g in o.param_groups for p in g['params']] for o in opts], strict=True):
        g = torch.randn(ps[0].shape, dtype=ps[0].dtype, generator=gen)
        for p in ps: p.grad = g.clone()

def by_rules(o): step_by_rules(o) if has_state(o) else o.step()

def go(opts, n, seed=1, then=lambda i, o: None):
    gen = torch.Generator().manual_seed(seed)
    for i in range(n):
        for o in opts:
            for g in o.param_groups: g['lr'] *= .97  # a schedule
            then(i, o)
        grads(opts, gen)
        opts[0].step()
        by_rules(opts[1])

def same(opts, rtol=1e-12, atol=0.):
    "Are weights and states of both the same, to the key?"
    for gs in zip(*[o.param_groups for o in opts], strict=True):
        for a,b in zip(*[g['params'] for g in gs], strict=True):
            torch.testing.assert_close(b, a, rtol=rtol, atol=atol)
            sa,sb = opts[0].state.get(a, {}),opts[1].state.get(b, {})
            assert sa.keys()==sb.keys()
            for k in sa:
                if sa[k] is not None: torch.testing.assert_close(sb[k], sa[k], rtol=rtol, atol=atol)

@pytest.mark.parametrize('nm,kw', ALL, ids=name)
def test_as_torch_in_doubles(nm, kw):
    opts = pair(nm, kw)
    go(opts, 50)
    same(opts, atol=1e-14)  # what is near zero by cancelling has no relative accuracy, in torch neither

@pytest.mark.parametrize('nm,kw', ALL, ids=name)
def test_as_torch_in_floats(nm, kw):
    "Rounding may differ by a bit in each of 50 steps, as a compiler fuses multiplications with additions"
    opts = pair(nm, kw, torch.float32)
    go(opts, 50)
    same(opts, rtol=1e-6, atol=1e-6)

@pytest.mark.parametrize('nm,kw', ALL, ids=name)
def test_a_rule_is_traced_as_part_of_a_graph(nm, kw):
    "All values are inputs, so that the graph of one step makes the steps after it"
    opts = pair(nm, kw)
    go(opts, 3)
    rule = RULES[type(opts[0])]
    g = opts[1].param_groups[0]
    p,flags = g['params'][0],rule.flags(g)
    names = rule.state(flags)
    def f(p, grad, h, *st):
        rule.update(p, grad, dict(zip(names, st, strict=True)), list(h), flags)
        return p
    def args(n): return p.detach(),p.grad,torch.tensor(rule.hypers(g, n), dtype=p.dtype),*[opts[1].state[p][k] for k in names]
    graph = make_fx(torch.func.functionalize(f, remove='mutations_and_views'), tracing_mode='fake')(*copy.deepcopy(args(4)))
    gen = torch.Generator().manual_seed(1)
    for n in range(4, 12):
        grads(opts, gen)
        opts[0].step()
        graph(*args(n))
    a,b = opts[0].param_groups[0]['params'][0],p
    torch.testing.assert_close(b, a, rtol=1e-12, atol=1e-14)
    for k in names: torch.testing.assert_close(opts[1].state[b][k], opts[0].state[a][k], rtol=1e-12, atol=1e-14)

@pytest.mark.parametrize('nm,kw', ALL, ids=name)
def test_flags_and_hypers_are_plain(nm, kw):
    "Flags can be a key; hypers are floats, as many at every step"
    o = pair(nm, kw)[0]
    rule,g = RULES[type(o)],o.param_groups[0]
    hash(rule.flags(g))
    hs = [rule.hypers(g, n) for n in (1,2,7,1000)]
    assert {len(h) for h in hs}=={len(hs[0])} and all(isinstance(float(x), float) for h in hs for x in h)

# ---- planted faults: the same comparison sees each of them
FAULTS = [('Adam', '_adam_hypers', '1-b1**step', '1-b1**(step+1)'), ('Adam', '_adam_hypers', '1-b2**step)**0.5', '1-b2**step)'), ('SGD', '_sgd_hypers', "1-g['dampening']", '1'),
    ('SGD', '_sgd', 'g+buf*mom if nesterov', 'buf if nesterov'), ('Adam', '_adam', 'torch.maximum', 'torch.minimum'), ('AdamW', '_adam_hypers', '1-lr*wd,wd', '1-wd,wd'),
    ('RMSprop', '_rmsprop', 'v-avg*avg', 'v'), ('Adagrad', '_adagrad_hypers', 'step-1', 'step'), ('Adamax', '_adamax', 'g.abs()+eps', 'g.abs()'), ('NAdam', '_nadam_hypers', 'step+1)', 'step)'),
    ('RAdam', '_radam_hypers', 'rho>5', 'rho>4'), ('Adam', '_adam', "state['step'].add_(1)", 'pass'), ('Adam', '_decay', 'g = -g', 'g = g'), ('NAdam', '_nadam', 'prod.mul_(', 'prod.add_(0*')]

@pytest.mark.parametrize('nm,func,good,bad', FAULTS, ids=[f'{o[0]}-{o[3]}' for o in FAULTS])
def test_planted_faults_are_seen(nm, func, good, bad, monkeypatch):
    src = inspect.getsource(getattr(rules, func))
    assert src.count(good)==1
    src = '\n'.join(l for l in src.replace(good, bad).splitlines() if not l.startswith(('@', '    state=[')))
    space = dict(vars(rules))
    exec(src, space)
    cls = getattr(optim, nm)
    rule = RULES[cls]
    for k in 'flags','hypers','update':
        if getattr(rule, k).__name__==func: rule = rule._replace(**{k:space[func]})
    if func=='_decay': monkeypatch.setattr(rules, func, space[func])
    monkeypatch.setitem(RULES, cls, rule)
    def differs(kw):
        opts = pair(nm, kw)
        try:
            go(opts, 10)
            same(opts, atol=1e-14)
        except (AssertionError, ValueError): return True
        return False
    assert any(differs(kw) for kw in SETTINGS[nm])

# ---- what happens to an optimizer between steps
@pytest.mark.parametrize('nm,kw', [('SGD', dict(momentum=.9)), ('Adam', {}), ('RAdam', {}), ('NAdam', {})], ids=name)
def test_eager_steps_in_between_and_saved_states(nm, kw):
    opts = pair(nm, kw)
    go(opts, 5)
    grads(opts, torch.Generator().manual_seed(7))
    for o in opts: o.step()                     # an eager step in between
    go(opts, 3, seed=3)
    new = pair(nm, kw)
    for o,n in zip(opts, new, strict=True):
        n.load_state_dict(copy.deepcopy(o.state_dict()))
        for a,b in zip(o.param_groups, n.param_groups, strict=True):
            for p,q in zip(a['params'], b['params'], strict=True): q.data.copy_(p.data)
    go(new, 5, seed=4)
    same(new)
    assert n_steps(new[1])==([14,14] if nm!='SGD' else [0,0])

def test_a_new_group_has_steps_of_its_own():
    opts = pair('Adam', {})
    go(opts, 3)
    for o in opts: o.add_param_group(dict(params=[nn.Parameter(torch.ones(3, dtype=torch.float64))], lr=.1))
    assert len(missing_state(opts[1]))==1 and n_steps(opts[1])==[3,3,0]
    go(opts, 4)
    assert n_steps(opts[1])==[7,7,4]
    same(opts)

def test_weights_of_a_group_that_have_made_other_numbers_of_steps():
    o = pair('Adam', {})[0]
    go((o, pair('Adam', {})[1]), 3)
    o.state[o.param_groups[1]['params'][0]]['step'].fill_(9)
    with pytest.raises(ValueError, match='weights of group 1 have made 3, 9 steps: a rule needs one'): n_steps(o)
    o.param_groups[1]['params'][0].requires_grad_(False)  # what doesn't train doesn't count
    assert n_steps(o)==[3,3]

def test_cleared_state_and_changed_flags_are_the_optimizers_own():
    opts = pair('SGD', {})
    assert has_state(opts[0]) and n_steps(opts[0])==[0,0]
    go(opts, 2)
    def on(i, o):
        for g in o.param_groups: g['momentum'] = .9 if i<4 else .3
    on(0, opts[1])
    assert len(missing_state(opts[1]))==4
    go(opts, 6, then=on)
    same(opts)
    for o in opts: o.state.clear()
    assert not has_state(opts[1])
    go(opts, 3)
    same(opts)
    def no(i, o):
        for g in o.param_groups: g.update(momentum=0, weight_decay=.1)
    go(opts, 3, then=no)
    same(opts)

def test_weights_without_gradients_are_left_alone():
    opts = pair('AdamW', {})
    gen = torch.Generator().manual_seed(1)
    for i in range(4):
        grads(opts, gen)
        for o in opts: o.param_groups[0]['params'][1].grad = None
        opts[0].step()
        step_by_rules(opts[1]) if i else opts[1].step()
    assert len(missing_state(opts[1]))==1 and n_steps(opts[1])==[4,4]
    same(opts)

def test_stepped_without_state_is_an_error():
    o = pair('Adam', {})[0]
    grads([o], torch.Generator())
    with pytest.raises(ValueError, match=r'a weight \(3, 4\) has no state: call opt.step\(\) first'): step_by_rules(o)

# ---- what has no rule, and why
class Own(optim.SGD): pass
def opt(**kw): return optim.Adam(nn.Linear(2, 1).parameters(), **kw)
def hooked(nm):
    o = opt()
    getattr(o, nm)(lambda *a: None)
    return o
def stepped_else():
    o = opt()
    o.step = lambda: None
    return o
def scaled():
    o = opt()
    o.grad_scale = torch.ones(())
    return o
class Sub(torch.Tensor): pass

WHY = {
    'Own has no rule': lambda: Own(nn.Linear(2, 1).parameters()),
    'dict is not one torch optimizer': lambda: dict(a=opt()),
    'group 0 is stepped with foreach=True': lambda: opt(foreach=True),
    'group 0 is stepped with fused=True': lambda: opt(fused=True),
    'group 0 is stepped with capturable=True': lambda: opt(capturable=True),
    'group 0 is stepped with differentiable=True': lambda: opt(differentiable=True),
    'lr of group 0 is a tensor': lambda: opt(lr=torch.tensor(.1)),
    'betas of group 0 is a tensor': lambda: opt(betas=(torch.tensor(.9),torch.tensor(.99)), capturable=False, foreach=False),
    "another function has taken the place of Adam.step": stepped_else,
    'Adam is given the scale of a GradScaler': scaled,
    'a weight is not of real numbers': lambda: optim.Adam([nn.Parameter(torch.ones(2, dtype=torch.complex64))]),
    'a weight is a Sub': lambda: optim.Adam([torch.ones(2).as_subclass(Sub).requires_grad_()]),
    'weights are of several dtypes (torch.float32, torch.float64)': lambda: optim.Adam([nn.Parameter(torch.ones(2)), nn.Parameter(torch.ones(2).double())]),
    'weights are of several devices (cpu, meta)': lambda: optim.Adam([nn.Parameter(torch.ones(2)), nn.Parameter(torch.ones(2, device='meta'))])}

@pytest.mark.parametrize('why', WHY)
def test_why_no_rule(why): assert why_no_rule(WHY[why]())==why

@pytest.mark.parametrize('nm', ['register_step_pre_hook', 'register_step_post_hook'])
def test_hooks_of_a_step(nm): assert why_no_rule(hooked(nm))=='Adam has hooks of its step'

@pytest.mark.parametrize('nm', ['register_optimizer_step_pre_hook', 'register_optimizer_step_post_hook'])
def test_hooks_of_all_optimizers(nm):
    h = getattr(torch_optim, nm)(lambda *a: None)
    try: assert why_no_rule(opt())=='there are hooks of all optimizers'
    finally: h.remove()
    assert not why_no_rule(opt())

def test_a_step_replaced_in_the_class(monkeypatch):
    real = optim.SGD.step
    def step(self, closure=None): return real(self, closure)
    o = optim.SGD(nn.Linear(2, 1).parameters())
    monkeypatch.setattr(optim.SGD, 'step', step)
    assert 'taken the place' in why_no_rule(o)

def test_the_wrapper_of_a_scheduler_only_counts():
    o = opt()
    optim.lr_scheduler.StepLR(o, 3)
    assert 'step' in vars(o) and not why_no_rule(o)
    o = stepped_else()
    o.step = optim.Adam.step.__get__(o)
    def mine(self): pass
    o.step = mine.__get__(o)
    optim.lr_scheduler.StepLR(o, 3)
    assert 'taken the place' in why_no_rule(o)

def test_sparse_and_frozen_weights():
    o = opt()
    o.param_groups[0]['params'][0] = nn.Parameter(torch.eye(2).to_sparse())
    assert why_no_rule(o)=='a weight is not dense'
    o.param_groups[0]['params'][0].requires_grad_(False)
    assert not why_no_rule(o)

def test_foreach_false_is_what_a_rule_does(): assert not why_no_rule(opt(foreach=False, fused=False))

def test_fused_rule_wants_the_class_of_an_optimizer():
    with pytest.raises(TypeError, match='give the class of a torch optimizer'): fused_rule(partial(optim.SGD), hypers=lambda g, n: ())
    with pytest.raises(TypeError, match='give the class of a torch optimizer'): fused_rule(nn.Linear, hypers=lambda g, n: ())
