"Switching optimizers or adding groups during a fit: equal to a hand-written loop and to an uninterrupted run, or refused by name"
import sys, warnings
from copy import deepcopy
from functools import cache, partial
import pytest, torch
from helpers import StopAt, batches, check, fail, mk_learner as mk_line, weights
from learnloop import (SWA, Callback, CheckpointCallback, GradientAccumulation, Learner, ParamScheduler, SchedCos,
    SchedLin, TorchScheduler, get_hypers)
from learnloop.loop.optimizer import opt_recipe, opts, remake_func
from torch import nn
from torch.nn import functional as F
from torch.optim import SGD, Adagrad, Adam, AdamW
from torch.optim.lr_scheduler import CosineAnnealingLR, CyclicLR, ExponentialLR, LambdaLR, LinearLR, OneCycleLR, SequentialLR, StepLR

SIX,VALID,N = batches(6),batches(2, seed=1),4

class Lion(torch.optim.Optimizer):
    "One that isn't torch's: the sign of momentum"
    def __init__(self, params, lr=1e-3, beta=.9): super().__init__(params, dict(lr=lr, beta=beta))
    @torch.no_grad()
    def step(self):
        for g in self.param_groups:
            for p in (p for p in g['params'] if p.grad is not None):
                m = self.state[p].setdefault('m', torch.zeros_like(p))
                m.lerp_(p.grad, 1-g['beta'])
                p.sub_(m.sign(), alpha=g['lr'])

class Odd(Lion):
    "An optimizer that can't be made from its defaults"
    def __init__(self, params, base): super().__init__(params, base.defaults['lr'])

class Do(Callback):
    "Calls `f(learn)` at `event`, when so many batches are done"
    def __init__(self, f, n=9, event='after_batch'):
        super().__init__(name='do', **{event: Do.go})
        self.f,self.n,self.done = f,n,False
    def go(self):
        if self.learn.count.batches!=self.n or not self.learn.training and self.learn.inside('batch'): return
        self.f(self.learn)

def to(*args, n=9, event='after_batch', **kwargs): return Do(lambda learn: learn.switch_opt(*args, **kwargs), n, event)

def net(seed=0):
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 1))
def two(m): return [list(m[0].parameters()), list(m[2].parameters())]

def mk_learner(opt=AdamW, lr=.02, **kwargs):
    return Learner((SIX, VALID), net(), F.mse_loss, opt, lr=lr, **kwargs)

def fit(learn, n=N, cbs=(), how='fit', **kwargs):
    with learn.no_logging(): getattr(learn, how)(n, cbs=[*cbs], **kwargs)
    return learn

def groups(learn): return [{k:v for k,v in g.items() if k!='params'} for g in learn.opt.param_groups]
def state(learn):
    "Return the state by which two runs are compared"
    os = opts(learn.opt)
    return dict(model=dict(learn.model.state_dict()), cls=[type(o).__name__ for o in os], opt=[o.state_dict() for o in os], lrs=learn.recorder.lrs,
        raw=learn.recorder.raw_losses, count=vars(learn.count), frozen=[n for n,p in learn.model.named_parameters() if not p.requires_grad])

def by_hand(opt, lrs, n=N, new=None, at=9):
    "The loop: `opt(params)`, then `new(params)` after `at` steps; `lrs(i)` is the rate of step i, None for the optimizer's own"
    m = net()
    o,i = opt(m.parameters()),0
    for _ in range(n):
        for x,y in SIX:
            if (lr := lrs(i)) is not None:
                for g in o.param_groups: g['lr'] = lr
            F.mse_loss(m(x), y).backward()
            o.step()
            o.zero_grad()
            i += 1
            if i==at and new: o = new(m.parameters())
    return m,o

# --- schedules

class _Rates(Callback):
    order = 90
    def before_step(self): self.learn.rates = [*getattr(self.learn, 'rates', []), self.learn.opt.param_groups[0]['lr']]

@pytest.mark.parametrize('event', ['after_batch', 'before_batch', 'after_pred', 'after_loss', 'before_backward', 'after_backward',
    'after_zero_grad', 'between_batches', 'after_fetch'])
def test_a_schedule_continues_for_the_new_optimizer(event):
    adam,sgd = partial(Adam, lr=.02),partial(SGD, lr=.5, momentum=.9)
    learn = mk_learner(Adam)
    fit(learn, cbs=[ParamScheduler(dict(lr=SchedLin(.1, 0.))), to(sgd, n=9-(event=='after_zero_grad'), event=event), _Rates()])
    plain = fit(mk_learner(Adam), cbs=[ParamScheduler(dict(lr=SchedLin(.1, 0.))), _Rates()])
    assert learn.rates==plain.rates
    m,o = by_hand(adam, lambda i: learn.rates[i], new=sgd)
    check(weights(learn.model), weights(m))
    check({k:v for k,v in learn.opt.state_dict()['state'].items()}, o.state_dict()['state'])
    assert learn.count.opt_steps==24 and get_hypers(learn.opt)[0]['lr']==.5 and learn.lr==.5

def test_a_schedule_ends_if_the_new_optimizer_lacks_its_hyper_parameter():
    learn = mk_learner()
    with pytest.warns(UserWarning, match='Adagrad has no mom, so its schedule ends'):
        fit(learn, how='fit_one_cycle', cbs=[to(partial(Adagrad, lr=.2))])
    assert get_hypers(learn.opt)[0]['lr']==.2

def test_an_instance():
    learn = mk_learner(SGD)
    mine = Adam(learn.model.parameters(), lr=.05)
    fit(learn, how='fit_one_cycle', cbs=[to(mine)])
    assert learn.opt is mine and mine.param_groups[0]['lr']==.05
    given = SGD((m := net()).parameters(), lr=.3)
    learn = Learner((SIX, VALID), m, F.mse_loss, given)
    fit(learn, how='fit_one_cycle', cbs=[to(Adam, lr=.01)])
    assert learn.opt.param_groups[0]['lr']==.01

scheds = dict(step=(partial(StepLR, step_size=5, gamma=.5), 'step'), cosine=(partial(CosineAnnealingLR, T_max=24), 'step'),
    exp=(partial(ExponentialLR, gamma=.5), 'epoch'), lam=(partial(LambdaLR, lr_lambda=lambda i: 1/(1+i)), 'step'),
    seq=(lambda o: SequentialLR(o, [LinearLR(o, .1, total_iters=4), CosineAnnealingLR(o, 20)], [4]), 'step'),
    one=(partial(OneCycleLR, max_lr=.1, total_steps=24), 'step'), cyc=(partial(CyclicLR, base_lr=.01, max_lr=.1, step_size_up=7), 'step'))

@pytest.mark.parametrize('nm', scheds)
def test_pytorch_schedulers_continue(nm):
    def run(*cbs):
        with warnings.catch_warnings():
            warnings.filterwarnings('ignore', '.*scheduler.step.*')  # SequentialLR's own
            return fit(mk_learner(AdamW), cbs=[TorchScheduler(*scheds[nm]), _Rates(), *cbs])
    learn,plain = run(to(partial(SGD, lr=.4, momentum=.7, weight_decay=0))),run()
    torch.testing.assert_close(learn.rates, plain.rates, rtol=1e-12, atol=0)
    g = learn.opt.param_groups[0]
    assert (g['lr'],g['momentum'])==(.4, .7) and 'initial_lr' not in g and 'step' not in vars(learn.opt)
    learn = run(to(SGD, lr=.4))
    assert learn.rates[9:]==[.4]*15 and learn.opt.param_groups[0]['lr']==.4 and 'initial_lr' not in learn.opt.param_groups[0]

# --- refusals

@pytest.mark.parametrize('event', ['before_step', 'after_opt_step', 'after_step', 'cleanup_step'])
def test_not_inside_a_step(event):
    learn = mk_learner()
    with pytest.raises(RuntimeError, match="switch_opt inside 'step'"): fit(learn, cbs=[to(SGD, n=3, event=event)])
    assert type(learn.opt) is AdamW
    fit(learn, 1)

def test_all_or_nothing():
    learn,seen = mk_learner(splitter=two),[]
    def one(ps): return SGD([p for g in ps for p in g['params']])
    def switch(l):
        was = l.opt,l.opt_func,groups(l),l.lr
        for args,why in ((('adam',), 'is not an optimizer'), ((one,), '2 values for 1')):
            with pytest.raises((ValueError, TypeError), match=why): l.switch_opt(*args)
        assert l.opt is was[0] and l.opt_func is was[1] and groups(l)==was[2] and l.lr==was[3]
        seen.append(1)
    fit(learn, how='fit_one_cycle', lr_max=slice(.01, .1), cbs=[Do(switch), _Rates()])
    plain = fit(mk_learner(splitter=two), how='fit_one_cycle', lr_max=slice(.01, .1), cbs=[_Rates()])
    check(state(learn), state(plain))
    assert seen

def test_nothing_changes_if_a_pytorch_scheduler_refuses():
    def switch(l):
        with pytest.raises(ValueError, match='momentum'): l.switch_opt(Adagrad)
    a,b = (fit(mk_learner(), cbs=[TorchScheduler(*scheds['one']), *cbs]) for cbs in ([Do(switch)], []))
    check(state(a), state(b))

# --- new groups

def add(learn, lr=.003):
    learn.model[0].requires_grad_(True)
    learn.opt.add_param_group(dict(params=list(learn.model[0].parameters()), lr=lr))
def frozen(opt=AdamW, **kwargs):
    learn = mk_learner(opt, **kwargs)
    learn.model[0].requires_grad_(False)
    return learn

def test_an_added_group_has_the_schedule_of_the_last():
    learn = fit(frozen(SGD), cbs=[ParamScheduler(dict(lr=[SchedLin(.1, 0.)])), Do(add), _Rates()])
    m = net()
    o = SGD(m[2].parameters(), lr=.1)
    for i in range(24):
        if i==9: o.add_param_group(dict(params=list(m[0].parameters())))
        for g in o.param_groups: g['lr'] = learn.rates[i]
        F.mse_loss(m(SIX[i%6][0]), SIX[i%6][1]).backward()
        if i<9: m[0].zero_grad()
        o.step()
        o.zero_grad()
    check(weights(learn.model), weights(m))
    assert [g['lr'] for g in learn.opt.param_groups]==[.02, .003]

def test_pytorch_schedulers_refuse_new_groups_by_name():
    learn = frozen(SGD)
    with pytest.raises(ValueError, match='StepLR was made for 1 parameter group.*has 2'): fit(learn, cbs=[TorchScheduler(*scheds['step']), Do(add)])
    assert 'initial_lr' not in learn.opt.param_groups[0]

# --- LBFGS

def lbfgs(**kwargs): return Learner((SIX, VALID), net(), F.mse_loss, partial(torch.optim.LBFGS, max_iter=3, history_size=4), lr=.5, **kwargs)

def test_lbfgs_has_one_group():
    learn = fit(lbfgs(), 1, how='fit_flat_cos')
    assert len(learn.opt.param_groups)==1 and learn.opt.param_groups[0]['lr']==.5
    with pytest.raises(ValueError, match="unknown hyper-parameter 'wd' for LBFGS"): fit(lbfgs(), 1, wd=.1)
    with pytest.raises(ValueError, match="unknown hyper-parameter 'wd' for LBFGS"): fit(lbfgs(wd=.1), 1)
    with pytest.raises(ValueError, match='LBFGS'): fit(lbfgs(splitter=two), 1)

# --- resuming

def cosine(): return ParamScheduler(dict(lr=SchedCos(.1, .001)))
def by_epoch(*args, **kwargs): return Callback(name='by_epoch', before_epoch=lambda cb: cb.learn.epoch==2 and cb.learn.switch_opt(*args, **kwargs))

def mk_two():
    m = net()
    return Learner((SIX, VALID), m, F.mse_loss, dict(a=Adam(m[0].parameters(), lr=.01), b=SGD(m[2].parameters(), lr=.1)))
def swap(learn):
    m = learn.model
    learn.switch_opt(dict(a=SGD(m[0].parameters(), lr=.02, momentum=.9), b=Adam(m[2].parameters(), lr=.03)))

ways = dict(  # learner, callbacks, name of the fit
    sgd=(mk_learner, lambda: [to(partial(SGD, lr=.3, momentum=.9))], 'fit_one_cycle'),
    given=(mk_learner, lambda: [cosine(), to(SGD, lr=.03)], 'fit'),
    epoch=(mk_learner, lambda: [cosine(), by_epoch(SGD, wd=.1)], 'fit'),
    twice=(mk_learner, lambda: [cosine(), to(SGD), by_epoch(Adam, lr=.01)], 'fit'),
    lion=(partial(mk_learner, splitter=two), lambda: [cosine(), to(Lion, lr=slice(.001, .01))], 'fit'),
    instance=(mk_learner, lambda: [cosine(), Do(lambda l: l.switch_opt(SGD(l.model.parameters(), lr=.04)))], 'fit'),
    plain=(mk_learner, lambda: [to(SGD)], 'fit'),
    same=(mk_learner, lambda: [cosine(), to(AdamW, lr=.05, wd=.2)], 'fit'),
    torch=(mk_learner, lambda: [TorchScheduler(*scheds['cosine']), to(SGD, lr=None)], 'fit'),
    one=(mk_learner, lambda: [TorchScheduler(*scheds['one']), to(partial(SGD, lr=.3, momentum=.9))], 'fit'),
    torch_ends=(mk_learner, lambda: [TorchScheduler(*scheds['cosine']), to(SGD, lr=.05)], 'fit'),
    swa=(mk_learner, lambda: [SWA(start_pct=.6, swa_lr=.05, every_steps=2), to(SGD, lr=.2)], 'fit'),
    accumulate=(mk_learner, lambda: [cosine(), GradientAccumulation(n_batches=2), to(SGD, n=5, event='before_backward')], 'fit'),
    two=(mk_two, lambda: [cosine(), Do(swap)], 'fit'),
    two_torch=(mk_two, lambda: [TorchScheduler(*scheds['cosine']), Do(swap)], 'fit'),
    group=(frozen, lambda: [Do(add)], 'fit_one_cycle'),
    group_plain=(partial(frozen, SGD), lambda: [Do(add)], 'fit'),
    group_swa=(frozen, lambda: [SWA(start_pct=.6, swa_lr=.05, every_steps=2), Do(add)], 'fit'),
    group_switch=(frozen, lambda: [Do(add, 3), by_epoch(SGD, lr=.1)], 'fit_one_cycle'))

def run(way, n=N, more=(), learn=None, **kwargs):
    mk,cbs,how = ways[way]
    return fit(learn or mk(), n, cbs=[*cbs(), *more], how=how, **kwargs)

@cache
def whole(way):
    "Return the state of the uninterrupted run, and the `lr` and `wd` of later fits"
    learn = run(way)
    return deepcopy(state(learn)),(learn.lr, learn.wd)

@pytest.mark.every(2)
@pytest.mark.parametrize('way', ways)
def test_another_learner_resumes_exactly(way, tmp_path):
    early = [*ways].index(way)%4==0  # the fit stops before the switch, not after it
    stop = (5, 14)[not early] if way!='accumulate' else (4, 8)[not early]
    with pytest.raises(MemoryError): run(way, more=[CheckpointCallback(tmp_path, every_steps=3), StopAt(stop, fail)])
    learn = run(way, resume=tmp_path)
    check((state(learn), (learn.lr, learn.wd)), whole(way))
    done = ways[way][0]()
    done.load_checkpoint(tmp_path)
    if 'swa' not in way: check(dict(done.model.state_dict()), whole(way)[0]['model'])  # else it is the average
    if not any(isinstance(o, TorchScheduler) for o in ways[way][1]()): check(state(done)['opt'], whole(way)[0]['opt'])  # whose marks a fit takes out

@pytest.mark.every(2, 1)
@pytest.mark.parametrize('way', ways)
@pytest.mark.parametrize('keep', [False, True])
def test_the_same_learner_resumes_exactly(way, keep):
    learn,left = ways[way][0](),[7 if way=='accumulate' else 14]
    def once(cb):
        if left and cb.learn.training and cb.learn.count.opt_steps==left[0]: left.clear() or fail()
    event = 'after_loss' if keep else 'between_batches'
    with pytest.raises(MemoryError): run(way, learn=learn, more=[Callback(name='once', **{event:once})], keep_failed=keep)
    if keep:
        was = state(learn)
        assert learn.replay_batch().grads is not None
        check(state(learn), was)
    with learn.no_logging(): learn.resume()
    check(state(learn), whole(way)[0])

def test_an_optimizer_that_cannot_be_recreated_is_named(tmp_path):
    def odd(ps): return Odd(ps, SGD(ps[0]['params'], lr=.01))
    def go(learn, **kwargs): return fit(learn, cbs=[cosine(), to(odd)], **kwargs)
    want = state(go(mk_learner()))
    with pytest.raises(MemoryError): fit(mk_learner(), cbs=[cosine(), to(odd), CheckpointCallback(tmp_path, every_steps=4), StopAt(15, fail)])
    learn = mk_learner()
    with pytest.raises(ValueError, match=r"Odd, which can't be made again.*call learn.switch_opt"): go(learn, resume=tmp_path)
    assert type(learn.opt) is AdamW
    learn.switch_opt(odd)
    go(learn, resume=tmp_path)
    check(state(learn), want)

def test_an_optimizer_that_differs_without_a_switch_is_refused(tmp_path):
    fit(mk_learner(SGD), 1, resume=tmp_path)
    with pytest.raises(ValueError, match=r"optimizer was \['SGD'\] and is \['AdamW'\].*switch_opt"): fit(mk_learner(), 2, resume=tmp_path)

def test_no_code_is_run_for_a_recipe():
    for path in ('os:system', 'builtins:eval', 'torch.nn:Linear', 'antigravity:fly', 'torch.optim:nothing', 'x'):
        with pytest.raises(ValueError, match='not a torch optimizer|not in any imported module'): remake_func(dict(cls=path, defaults={}))
    assert 'antigravity' not in sys.modules
    o = Adam([torch.ones(1)], lr=torch.tensor(.1), betas=(.5, .6), capturable=False)
    r = opt_recipe(o)
    o2 = remake_func(r)([torch.ones(1)])
    assert o2.defaults['betas']==(.5, .6) and isinstance(r['defaults']['lr'], float)

# --- files

def test_a_switched_optimizer_is_saved_and_loaded(tmp_path):
    learn = run('sgd')
    other = mk_learner()
    other.load(learn.save(tmp_path/'after'))
    assert type(other.opt) is SGD
    check(other.opt.state_dict(), learn.opt.state_dict())
    plain = fit(mk_learner(), 1)
    before = plain.save(tmp_path/'before')
    sd = torch.load(before)
    assert 'made' not in sd['opt']
    learn.load(before)  # and back
    assert type(learn.opt) is AdamW and learn.lr==.02
    check(learn.opt.state_dict(), plain.opt.state_dict())
    with pytest.raises(ValueError, match='is a different one'): mk_learner(SGD).load(before)

def test_a_learner_without_the_added_layer_refuses(tmp_path):
    class More(nn.Sequential): pass
    learn = mk_line(defaults=True, model=More(net(), nn.Linear(1, 1)), splitter=lambda m: list(m[0].parameters()))
    learn.model[1].requires_grad_(False)
    fit(learn, 1, cbs=[Do(lambda l: l.opt.add_param_group(dict(params=[*l.model[1].requires_grad_(True).parameters()])), 2)])
    file = learn.save(tmp_path/'m')
    other = mk_line(defaults=True, model=net())
    with pytest.raises(ValueError, match='different'): other.load(file)
