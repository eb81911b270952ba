"What a turn does with closures, graphs, gradients of its own, several optimizers, and who interrupts it; and the errors of those who take it wrongly"
import warnings
from collections import Counter
from functools import partial
import pytest, torch
from helpers import Callback, all_events, batches, listener, mk_learner, same, weights
from learnloop import (
    EMA, SAM, CancelStepException, GradientAccumulation, GradientClip, Learner, MicroBatch, MixedPrecision, RNNCallback, RNNRegularizer)
from torch import nn
from torch.nn import functional as F
from torch.nn.utils import clip_grad_norm_
from turn_loops import (
    BS, LOOPS, LR, SCALE, SGD, Accumulated, Clipped, Fp16, Gan, GanLearner, Hand, Loop, T, critic_loss, gen_loss, gan_turns, mlp, mk_data, noise,
    seeded, tasks, two_opts, whole)

def fit(learn, *args, **kwargs):
    torch.manual_seed(0)
    with learn.no_logging(): learn.fit(*args or (1,), **kwargs)
    return learn

def counted(opt):
    "Counts the steps of each optimizer in `opt`"
    res = Counter()
    for k,o in opt.items(): o.register_step_post_hook(lambda *_, k=k: res.update([k]))
    return res

# --- the table: twenty batches of a GAN

TWENTY = mk_data('x', n=20)
def gan(*cbs, **kwargs): return LOOPS['gan'].learner(cbs, bs=TWENTY, **kwargs)

def test_windows_are_of_each_optimizer():
    learn = gan(GradientAccumulation(n_batches=2))
    steps = counted(learn.opt_func)
    assert fit(learn).count.opt_steps==10 and steps==dict(critic=10, gen=10)

@pytest.mark.parametrize('cb', [SAM(), MicroBatch(2), MicroBatch(8)], ids=repr)
def test_both_move(cb):
    learn = gan(cb)
    was = {k:weights(getattr(learn.model, k)) for k in ('gen','critic')}
    fit(learn)
    for k in was: assert all(not torch.equal(a, b) for a,b in zip(was[k], weights(getattr(learn.model, k)), strict=True))

def test_a_norm_is_of_the_turns_own_gradients():
    clip = GradientClip(100.)
    norms,by_hand = [],[]
    def note(cb, e):
        norms.append(clip.grad_norm.item())
        model = cb.learn.model
        part = model.gen if cb.learn.turn_name=='gen' else model.critic
        by_hand.append(torch.cat([p.grad.flatten() for p in part.parameters()]).norm().item())
    learn = fit(gan(clip, listener('note', ['after_step'], note, order=99)))
    assert len(norms)==40 and norms==pytest.approx(by_hand)
    # the generator's loss reaches the critic's weights, too, which are none of its turn
    assert all(p.grad is None for p in learn.model.parameters())

def test_averages_have_as_many_updates_as_there_are_steps_that_count(): assert fit(gan(ema := EMA())) and ema.n_averaged==20

def test_autocast_is_on_in_turns_and_between_them_and_off_in_steps():
    on = []
    def is_on(): return torch.is_autocast_enabled('cpu')
    class L(GanLearner):
        def train_batch(self):
            on.append(('before', is_on()))
            self.turn(lambda: on.append(('critic', is_on())) or critic_loss(self.model, self.x, self.model.gen(noise(6)).detach()), opt='critic')
            on.append(('between', is_on()))
            self.turn(lambda: on.append(('gen', is_on())) or gen_loss(self.model, self.model.gen(noise(6))), opt='gen')
            on.append(('after', is_on()))
    learn = Loop(L, None).learner([MixedPrecision('bf16'), Callback(before_step=lambda cb: on.append(('step', is_on())))])
    fit(learn)
    assert dict(on)=={k:k!='step' for k in ('before','critic','between','gen','after','step')} and len(set(on))==6
    assert not is_on()

def test_lbfgs_by_hand_and_no_forward_wasted():
    n = Counter()
    class Model(nn.Linear):
        def forward(self, x):
            n['forward'] += 1
            return super().forward(x)
    bs = batches(8)
    def mk(): return seeded(lambda: Model(2, 1))
    learn = mk_learner(dls=(bs, None), model=mk(), opt_func=partial(torch.optim.LBFGS, max_iter=5), lr=.5)
    fit(learn)
    forwards,model = n['forward'],mk()
    opt = torch.optim.LBFGS(model.parameters(), lr=.5, max_iter=5)
    for x,y in bs:
        def closure(x=x, y=y):
            opt.zero_grad()
            loss = F.mse_loss(model(x), y)
            loss.backward()
            return loss
        opt.step(closure)
    assert same(learn.model, model) and forwards==n['forward']-forwards>len(bs) and learn.count.opt_steps==len(bs)

# --- closures

class Lookahead(torch.optim.Optimizer):
    "Asks for the gradient where it isn't: a closure is optional, and the first that it asks for is at other weights"
    def __init__(self, params, lr=.1): super().__init__(params, dict(lr=lr))
    @torch.no_grad()
    def step(self, closure=None):
        ps = [p for g in self.param_groups for p in g['params']]
        moves = [self.param_groups[0]['lr']*p.grad for p in ps]
        if closure is not None:
            for p,d in zip(ps, moves, strict=True): p.sub_(d)
            closure()
            for p,d in zip(ps, moves, strict=True): p.add_(d)
        for p in ps: p.sub_(self.param_groups[0]['lr']*p.grad)

class Twice(torch.optim.Optimizer):
    "Needs its closure, and asks twice at once, before it looks at any gradient"
    def __init__(self, params, lr=.1): super().__init__(params, dict(lr=lr))
    @torch.no_grad()
    def step(self, closure):
        for _ in range(2):
            closure()
            for g in self.param_groups:
                for p in g['params']: p.sub_(g['lr']*p.grad)

def small(): return seeded(lambda: nn.Linear(2, 1))
def hand_closures(opt_class, bs, max_norm=None):
    model = small()
    opt = opt_class(model.parameters())
    for x,y in bs:
        @torch.enable_grad()
        def closure(x=x, y=y):
            opt.zero_grad()
            loss = F.mse_loss(model(x), y)
            loss.backward()
            if max_norm: clip_grad_norm_(model.parameters(), max_norm)
            return loss
        closure()
        opt.step(closure)
        opt.zero_grad()
    return model

@pytest.mark.parametrize('opt_class', [Lookahead, Twice])
@pytest.mark.parametrize('max_norm', [None, .1])
def test_a_closure_for_who_can_do_without_and_for_one_that_asks_twice(opt_class, max_norm):
    class L(Learner):
        def train_batch(self): self.turn(closure=True if opt_class is Lookahead else None)
    bs = batches(8)
    learn = mk_learner(cls=L, dls=(bs, None), model=small(), opt_func=opt_class, lr=.1, cbs=[GradientClip(max_norm)] if max_norm else [])
    fit(learn)
    assert same(learn.model, hand_closures(opt_class, bs, max_norm)) and learn.count.opt_steps==8
    plain = fit(mk_learner(dls=(bs, None), model=small(), opt_func=opt_class, lr=.1))
    assert same(plain.model, learn.model)==(opt_class is Twice and max_norm is None)

@pytest.mark.parametrize('cb', [GradientAccumulation(n_batches=2), SAM(), MicroBatch(2), MixedPrecision('fp16')], ids=repr)
def test_who_cannot_act_on_a_closure_that_a_turn_asks_for_says_so(cb):
    class L(Learner):
        def train_batch(self): self.turn(closure=True)
    learn = mk_learner(cls=L, model=small(), opt_func=Lookahead, cbs=[cb])
    was = weights(learn.model)
    with pytest.raises(ValueError, match="can't act on Lookahead"): fit(learn)
    assert same(learn.model, was)

@pytest.mark.parametrize('what', ['CancelStepException', 'CancelTurnException', 'CancelBatchException', 'CancelTrainException', ValueError('x')], ids=str)
def test_a_later_evaluation_that_is_cancelled_leaves_the_weights_that_the_step_began_with(what):
    "A line search is somewhere on its way: neither where it began nor where it ends"
    seen,states = Counter(),[]
    def hear(cb, e):
        if e=='before_batch': states.append(weights(cb.learn.model))
        seen['losses'] += e=='after_loss' and cb.learn.inside('step')
        if e=='after_loss' and seen['losses']==8:
            seen['losses'] += 1
            if isinstance(what, Exception): raise what
            import learnloop
            raise getattr(learnloop, what)
        if e=='cleanup_batch' and seen['losses']>=9 and 'left' not in seen:
            seen['left'] = 1
            states.append('cancelled')
            states.append(weights(cb.learn.model))
    learn = LOOPS['wolfe'].learner([listener('hear', ['before_batch','after_loss','cleanup_batch'], hear)])
    if isinstance(what, Exception):
        with pytest.raises(ValueError, match='x'): fit(learn)
    else: fit(learn)
    i = states.index('cancelled')
    assert same(states[i-1], states[i+1]) and learn.open==[] and learn.open_turn is None
    assert all(p.grad is None for p in learn.model.parameters())

# --- graphs

class Hutchinson(torch.optim.Optimizer):
    "A step by the gradient over an estimate of the diagonal of the Hessian, which needs the gradient's graph"
    def __init__(self, params, lr=.1): super().__init__(params, dict(lr=lr))
    def step(self, closure=None):
        ps = [p for g in self.param_groups for p in g['params']]
        zs = [torch.randint(0, 2, p.shape)*2.-1 for p in ps]
        hz = torch.autograd.grad([p.grad for p in ps], ps, zs)
        with torch.no_grad():
            for p,z,h in zip(ps, zs, hz, strict=True): p.sub_(self.param_groups[0]['lr']*p.grad/((z*h).abs()+1))

class SecondOrder(Learner):
    def train_batch(self): self.turn(create_graph=True)
def hutchinson(bs, n_acc=1, max_norm=None):
    torch.manual_seed(0)
    model = seeded(partial(mlp, 2, 1))
    opt,ps = Hutchinson(model.parameters()),[*model.parameters()]
    for i,(x,y) in enumerate(bs):
        gs = torch.autograd.grad(F.mse_loss(model(x), y)/n_acc, ps, create_graph=True)
        for p,g in zip(ps, gs, strict=True): p.grad = g if p.grad is None else p.grad+g
        if (i+1)%n_acc: continue
        if max_norm: clip_grad_norm_(ps, max_norm)
        opt.step()
        opt.zero_grad()
    return model

@pytest.mark.parametrize('n_acc', [1, 2])
def test_an_optimizer_of_second_order(n_acc):
    bs = batches(8)
    cbs = [GradientAccumulation(n_batches=n_acc)] if n_acc>1 else []
    learn = mk_learner(cls=SecondOrder, dls=(bs, None), model=seeded(partial(mlp, 2, 1)), opt_func=Hutchinson, lr=.1, cbs=cbs)
    with warnings.catch_warnings():
        warnings.simplefilter('error')  # torch warns of gradients with a graph that nobody drops
        fit(learn)
    assert same(learn.model, hutchinson(bs, n_acc)) and all(p.grad is None for p in learn.model.parameters())
    with pytest.raises(RuntimeError, match='does not require grad|element 0 of tensors'):
        fit(mk_learner(dls=(bs, None), model=small(), opt_func=Hutchinson, lr=.1))

def test_clipped_gradients_with_a_graph():
    bs = batches(8)
    learn = fit(mk_learner(cls=SecondOrder, dls=(bs, None), model=seeded(partial(mlp, 2, 1)), opt_func=Hutchinson, lr=.1, cbs=[GradientClip(.1)]))
    assert same(learn.model, hutchinson(bs, max_norm=.1))

@pytest.mark.parametrize('cb', [SAM(), MixedPrecision('fp16')], ids=repr)
def test_who_changes_weights_or_gradients_under_a_graph_refuses_it(cb):
    learn = mk_learner(cls=SecondOrder, model=small(), opt_func=Hutchinson, lr=.1, cbs=[cb])
    was = weights(learn.model)
    with pytest.raises(ValueError, match=f'{cb.label}.*create_graph'): fit(learn)
    assert same(learn.model, was)

class Heads(nn.Module):
    def __init__(self):
        super().__init__()
        self.body,self.a,self.b = mlp(2, 4),nn.Linear(4, 1),nn.Linear(4, 1)
def head_opts(m): return dict(a=SGD(m.a.parameters()), rest=SGD([*m.body.parameters(), *m.b.parameters()]))
class HeadsLearner(Learner):
    def train_batch(self):
        m = self.model
        h = m.body(self.x)
        self.turn(lambda: F.mse_loss(m.a(h), self.y), opt='a', retain_graph=True)
        self.turn(lambda: F.mse_loss(m.b(h), -self.y), opt='rest')

def test_two_turns_over_one_graph():
    bs = batches(8)
    model = seeded(Heads)
    learn = mk_learner(cls=HeadsLearner, dls=(bs, None), model=model, opt_func=head_opts(model), loss_func=None)
    fit(learn)
    m = seeded(Heads)
    opt = head_opts(m)
    for x,y in bs:
        h = m.body(x)
        F.mse_loss(m.a(h), y).backward(inputs=[*m.a.parameters()], retain_graph=True)
        opt['a'].step()
        F.mse_loss(m.b(h), -y).backward(inputs=[*m.body.parameters(), *m.b.parameters()])
        opt['rest'].step()
        for o in opt.values(): o.zero_grad()
    assert same(learn.model, m) and learn.count.opt_steps==2*len(bs)

# --- gradients of its own

def own(m, x, y): return [torch.sign(g) for g in torch.autograd.grad(sum(tasks(m(x).float(), y)), [*m.parameters()])]
HOW = dict(list=lambda m, gs: gs, tuple=lambda m, gs: tuple(gs), none=lambda m, gs: [*gs[:2], None, gs[3]],
    dict=lambda m, gs: dict(zip([n for n,_ in m.named_parameters()], gs, strict=True)),
    part=lambda m, gs: {'2.bias':gs[3], '0.weight':gs[0]})
def as_list(m, gs): return gs if isinstance(gs, (list,tuple)) else [gs.get(n) for n,_ in m.named_parameters()]
class AllOfThem(Accumulated, Fp16): max_norm,norms,mend = Clipped.max_norm,(),Clipped.mend
FP16 = partial(MixedPrecision, 'fp16', init_scale=64., growth_interval=4)
WITH = dict(plain=(list, Hand), accumulation=(lambda: [GradientAccumulation(n_batches=2)], Accumulated), clip=(lambda: [GradientClip(.1)], Clipped),
    fp16=(lambda: [FP16()], Fp16), all=(lambda: [GradientAccumulation(n_batches=2), FP16(), GradientClip(.1)], AllOfThem))

@pytest.mark.parametrize('feature', WITH)
@pytest.mark.parametrize('how', HOW)
def test_gradients_of_its_own(how, feature, monkeypatch):
    monkeypatch.setattr('turn_loops.SCALE', 64.)
    cbs,kind = WITH[feature]
    class L(Learner):
        def train_batch(self): self.turn(grads=lambda: HOW[how](self.model, own(self.model, self.x, self.y)))
    def turns(m, b):
        yield T(None, lambda b: F.mse_loss(m(b[0]).float(), b[1]), grads=lambda: as_list(m, HOW[how](m, own(m, *b))))
    loop = Loop(L, turns, partial(mlp, 2, 2), whole(SGD), 'xf', F.mse_loss)
    hand = kind(loop).fit(loop.batches())
    learn = fit(loop.learner(cbs()))
    assert same(learn.model, hand.model) and learn.count.opt_steps==hand.steps[None]>0

@pytest.mark.parametrize('grads,why', [(lambda ps: ps[:1], 'list with a tensor or None for each of the 2 parameters'), (lambda ps: 3., 'grads returned'),
    (lambda ps: dict(wieght=ps[0]), "'wieght' is no parameter.*did you mean 'weight'"), (lambda ps: [ps[1], ps[0]], r'for a parameter of shape \(1, 2\)'),
    (lambda ps: [1., None], 'float'), (lambda ps: None, 'grads returned None')])
def test_gradients_that_fit_nothing_are_refused(grads, why):
    class L(Learner):
        def train_batch(self): self.turn(grads=lambda: grads([torch.ones_like(p) for p in self.turn_params]))
    learn = mk_learner(cls=L, model=small())
    was = weights(learn.model)
    with pytest.raises(ValueError, match=why): fit(learn)
    assert same(learn.model, was)
