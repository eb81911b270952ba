"Groups, hyper-parameters, weight decay and freezing for every PyTorch optimizer, compared to hand-written loops"
import math
from functools import partial
import pytest, torch
from torch import nn
from torch.optim import SGD, ASGD, Adadelta, Adafactor, Adagrad, Adam, Adamax, AdamW, Muon, NAdam, RAdam, RMSprop
from learnloop.loop.optimizer import freeze_to, get_hypers, make_opt, n_groups, opts, set_hypers, zero_grad, get_hyper

# optimizer -> its torch names of (mom, sqr_mom), None where it has none
NAMES = {SGD: ('momentum',None), Adam: ('betas','betas'), AdamW: ('betas','betas'), NAdam: ('betas','betas'), RAdam: ('betas','betas'),
    Adamax: ('betas','betas'), RMSprop: ('momentum','alpha'), Adagrad: (None,None), Adadelta: (None,'rho'), ASGD: (None,None)}
each_opt = pytest.mark.parametrize('cls', NAMES, ids=lambda c: c.__name__)

def net(seed=0):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(4,8), nn.LayerNorm(8), nn.Linear(8,3))
def body_head(m): return [[*m[0].parameters(), *m[1].parameters()], m[2].parameters()]
def three(m): return [list(o.parameters()) for o in m]
def train(m, opt, n=5, seed=1):
    g = torch.Generator().manual_seed(seed)
    for _ in range(n):
        m(torch.randn(6,4, generator=g)).pow(2).mean().backward()
        for o in opts(opt): o.step()
        zero_grad(opt)
def same(a, b): return all(torch.equal(p, q) for p,q in zip(a.parameters(), b.parameters(), strict=True))
def snapshot(opt): return [{**g, 'params':[(id(p), p.requires_grad) for p in g['params']]} for o in opts(opt) for g in o.param_groups]

# --- bit for bit a hand-written loop

def hand_groups(m, wd, lrs=(None,None)):
    gs = []
    for ps,lr in zip(body_head(m), lrs, strict=True):
        ps = list(ps)
        off = [p for p in ps if p.ndim==1]
        kw = {} if lr is None else dict(lr=lr)
        gs += [dict(params=[p for p in ps if p.ndim==2], weight_decay=wd, **kw), dict(params=off, weight_decay=0., **kw)]
    return gs

@pytest.mark.parametrize('f', [partial(SGD, momentum=0.9), AdamW], ids=['SGD','AdamW'])
@pytest.mark.parametrize('lr,lrs', [(0.1,(0.1,0.1)), ([0.01,0.1],(0.01,0.1)), (slice(0.01,0.1),(0.01,0.1)), (slice(0.1),(0.01,0.1))])
def test_equals_a_hand_written_loop(f, lr, lrs):
    a,b = net(),net()
    opt,ref = make_opt(f, a, body_head, lr=lr, wd=0.05),f(hand_groups(b, 0.05, lrs), lr=0.1)
    assert [g['lr'] for g in opt.param_groups]==[g['lr'] for g in ref.param_groups]
    g = torch.Generator().manual_seed(1)
    for _ in range(5):
        ref.zero_grad()
        b(torch.randn(6,4, generator=g)).pow(2).mean().backward()
        ref.step()
    train(a, opt)
    assert same(a, b) and not same(a, net())

# --- make_opt

def test_function_that_makes_several_optimizers():
    def muon_adam(groups, lr):
        two = [{**g, 'params':[p for p in g['params'] if p.ndim==2]} for g in groups]
        rest = [{**g, 'params':[p for p in g['params'] if p.ndim!=2]} for g in groups]
        return dict(muon=Muon(two, lr=lr), adam=AdamW(rest, lr=lr))
    m = net()
    opt = make_opt(muon_adam, m, body_head, lr=[0.1,0.2], wd=0.1)
    assert n_groups(opt)==2 and [g['lr'] for o in opts(opt) for g in o.param_groups]==[0.1,0.2]*2
    assert all(g['weight_decay']==0 for g in opt['adam'].param_groups)
    set_hypers(opt, m, sqr_mom=0.9)
    assert opt['adam'].param_groups[0]['betas']==(0.9,0.9)
    train(m, opt)
    assert freeze_to(opt, 1)==1 and not m[0].weight.requires_grad and not m[0].bias.requires_grad

def test_opt_func_that_returns_none():
    with pytest.raises(TypeError, match='returned None'): make_opt(lambda ps: None, net())

def test_optimizer_without_lr():
    class NoLR(torch.optim.Optimizer):
        def __init__(self, params): super().__init__(params, {})
    with pytest.warns(UserWarning, match=r'lr=0.1 is ignored.*pass lr=None'): make_opt(NoLR, net(), lr=0.1)
    opt = make_opt(NoLR, net())
    assert get_hypers(opt)==[{}]
    with pytest.raises(ValueError, match="unknown hyper-parameter 'lr' for NoLR"): set_hypers(opt, net(), lr=1.)

@pytest.mark.parametrize('splitter,exc,msg', [
    (lambda m: [m.parameters(), [m[2].bias]], ValueError, 'appear in more than one parameter group'),
    (lambda m: [], ValueError, r'none of the 0 parameters.*requires_grad_\(True\)'),
    (lambda m: None, TypeError, r'the splitter returned a NoneType: return a list'),
    (lambda m: set(m.parameters()), TypeError, r'returned a set: return a list'),
    (lambda m: [m[0], m[2]], TypeError, r'the splitter returned a Linear: return a list'),
    (lambda m: [[m[0]], [m[2]]], TypeError, 'can only optimize Tensors'),
    (lambda m: [m[0].weight, [m[0].bias]], TypeError, r'the splitter returned a Parameter')])
def test_bad_splitters(splitter, exc, msg):
    with pytest.raises(exc, match=msg): make_opt(SGD, net(), splitter)

def test_parameters_in_no_group_are_named():
    m = net()
    with pytest.warns(UserWarning, match=r'4 parameters .* in no group.*: 0.weight, 0.bias, 1.weight, …; add'): make_opt(SGD, m, lambda m: m[2].parameters())
    with pytest.warns(UserWarning, match='6 parameters .* in no group'): make_opt(SGD(net().parameters()), m)
    make_opt(SGD(net().parameters()), net().requires_grad_(False))
    m[:2].requires_grad_(False)
    make_opt(SGD, m)

# --- hypers

@each_opt
def test_every_hyper_reaches_torch(cls):
    m = net()
    opt = make_opt(cls, m, body_head, lr=0.1)
    mom,sqr = NAMES[cls]
    want = dict(lr=0.03, wd=0.02) | ({} if cls is SGD or cls is ASGD else dict(eps=1e-4))
    if mom: want['mom'] = 0.8
    if sqr: want['sqr_mom'] = 0.85
    set_hypers(opt, m, **want)
    assert get_hypers(opt)==[want]*2 and all(type(v) is float for h in get_hypers(opt) for v in h.values())
    for g in opt.param_groups:
        assert g['lr']==0.03 and g['weight_decay']==(0.02 if g['decay'] else 0)
        if mom: assert (g[mom][0] if mom=='betas' else g[mom])==0.8
        if sqr: assert (g[sqr][1] if sqr=='betas' else g[sqr])==0.85
    if not mom:
        with pytest.raises(ValueError, match=f"unknown hyper-parameter 'mom' for {cls.__name__}"): set_hypers(opt, m, mom=0.9)
    train(m, opt)
    assert all(p.isfinite().all() for p in m.parameters())

def test_adafactor_eps_is_a_pair():
    m = net()
    opt = make_opt(Adafactor, m)
    set_hypers(opt, m, eps=(None,1e-2), beta2_decay=-0.7)
    assert opt.param_groups[0]['eps']==(None,1e-2) and opt.param_groups[0]['beta2_decay']==-0.7
    with pytest.raises(ValueError, match=r'eps=0.1: it must be a tuple of 2 numbers'): set_hypers(opt, m, eps=0.1)

@pytest.mark.parametrize('hypers,msg', [
    (dict(lr=True), 'lr=True: it must be a finite number, 0 or more'), (dict(lr=None), 'lr=None: .* omit it'),
    (dict(lr='1'), "lr='1': it must be a finite number"), (dict(lr=-0.1), 'lr=-0.1: .* 0 or more'), (dict(lr=math.nan), 'lr=nan'),
    (dict(lr=math.inf), 'lr=inf: it must be a finite'), (dict(wd=-1), 'wd=-1: .* 0 or more'), (dict(mom=1.), 'mom=1.0: .* from 0 to below 1'),
    (dict(sqr_mom=-0.1), 'sqr_mom=-0.1'), (dict(betas=(0.9,2)), 'betas=2: .* below 1'), (dict(lr=torch.ones(2)), 'lr=tensor'),
    (dict(lr=[0.1]), r'lr=\[0.1\] has 1 values for 2 parameter group\(s\): give 1 or 2'),
    (dict(lr=[0.1,0.2,0.3]), 'has 3 values for 2'), (dict(lr=[0.1,'x']), "lr='x'"), (dict(lr=slice(None)), r'must be slice\(last\)'),
    (dict(lr=slice(0,1.)), 'both above 0'), (dict(lr=slice(0.1,1.,2)), 'must be slice'), (dict(lr=slice('a')), "lr='a'"),
    (dict(weight_decy=0.1), "unknown hyper-parameter 'weight_decy' for AdamW, which has lr, wd, mom, .*; did you mean 'weight_decay'?"),
    (dict(params=[]), "unknown hyper-parameter 'params'"), (dict(amsgrad=True), "unknown hyper-parameter 'amsgrad'"),
    (dict(group=3), "unknown hyper-parameter 'group'"), (dict(zzz=3), "unknown hyper-parameter 'zzz'")])
def test_bad_hypers_change_nothing(hypers, msg):
    m = net()
    opt = make_opt(AdamW, m, body_head)
    before = snapshot(opt)
    with pytest.raises(ValueError, match=msg): set_hypers(opt, m, eps=1e-3, **hypers)
    with pytest.raises(ValueError, match=msg): set_hypers(opt, m, **hypers, eps=1e-3)
    assert snapshot(opt)==before

@pytest.mark.parametrize('lr', [-1., math.nan, '1', True, [0.1,0.2]])
def test_make_opt_checks_lr(lr):
    with pytest.raises(ValueError, match='lr='): make_opt(SGD, net(), lr=lr)

def test_momentum_of_rmsprop_switched_on_midway():
    a,b = net(),net()
    opt,ref = make_opt(RMSprop, a, lr=0.01),RMSprop(b.parameters(), lr=0.01, momentum=1e-30)
    train(a, opt, 2)
    set_hypers(opt, a, mom=0.9)
    train(a, opt)
    train(b, ref, 2)
    ref.param_groups[0]['momentum'] = 0.9
    for st in ref.state.values(): st['momentum_buffer'].zero_()
    train(b, ref)
    for p,q in zip(a.parameters(), b.parameters(), strict=True): torch.testing.assert_close(p, q)

# --- tensor learning rates

def test_shared_tensor_lr_is_told_apart():
    m = net()
    opt = make_opt(partial(AdamW, foreach=False), m, body_head, lr=torch.tensor(0.5))
    set_hypers(opt, m, lr=[0.25,0.75])
    assert [(g['group'], g['lr'].item()) for g in opt.param_groups]==[(0,0.25),(0,0.25),(1,0.75),(1,0.75)]
    held = [g['lr'] for g in opt.param_groups]
    set_hypers(opt, m, lr=[0.5,1.])
    assert all(g['lr'] is o for g,o in zip(opt.param_groups, held, strict=True)) and [o.item() for o in held]==[0.5,0.5,1.,1.]

# --- freezing

@pytest.mark.parametrize('n', [3, -4, 1.0, True, None, '1'])
def test_freeze_to_out_of_range(n):
    opt = make_opt(AdamW, net(), three)
    before = snapshot(opt)
    with pytest.raises(ValueError) as e: freeze_to(opt, n)
    assert f'freeze_to({n!r}): n must be an integer from -3 to 2, for 3 parameter group' in str(e.value) and snapshot(opt)==before

def test_integer_weights_stay_frozen():
    m = net()
    m[0].weight = nn.Parameter(torch.ones(8,4, dtype=torch.int8), requires_grad=False)
    freeze_to(make_opt(SGD, m, three), 0)
    assert not m[0].weight.requires_grad and m[0].bias.requires_grad

# --- gradients

def test_one_hyper_is_read_for_each_group_and_can_be_set_again():
    m = net()
    opt = make_opt(dict(a=SGD(m[0].parameters(), lr=torch.tensor(.5)), b=torch.optim.Adagrad(m[1:].parameters(), lr=.1)), m)
    assert get_hyper(opt, 'lr')==[.5, .1] and get_hyper(opt, 'mom')==[0, 0]  # Adagrad has none, and is given SGD's
    adam = make_opt(torch.optim.Adam, m)
    for k in ('lr', 'betas', 'mom', 'weight_decay'):
        was = get_hyper(adam, k)
        set_hypers(adam, m, **{k:(.5, .6) if k=='betas' else .25})
        set_hypers(adam, m, **{k:was})
        assert get_hyper(adam, k)==was
    with pytest.raises(ValueError, match="unknown hyper-parameter 'momm' for Adam.*did you mean 'mom'"): get_hyper(adam, 'momm')
