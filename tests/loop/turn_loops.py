"""Training loops of eight kinds, each as a learner writes it, with `learn.turn`, and by hand

`Hand` and its subclasses are plain torch: a batch is what the generator `turns` yields, turn by turn, and a subclass adds one feature. Both sides
call the same losses, which know nothing of a loop."""
from collections import Counter
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cache, partial
import torch
from learnloop import DataLoaders, Learner, Phase, Recorder, TrainEvalCallback, in_phase
from torch import nn
from torch.nn import functional as F
from torch.nn.utils import clip_grad_norm_, clip_grad_value_
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

N,BS,LR = 12,6,.05
SGD,LBFGS = partial(torch.optim.SGD, lr=LR, momentum=.9),torch.optim.LBFGS

# --- losses, of a model and tensors

def noise(n): return torch.randn(n, 3)
def uniform(n): return torch.rand(n, 1)
def critic_loss(m, x, fake): return F.relu(1-m.critic(x)).mean() + F.relu(1+m.critic(fake)).mean()
def gen_loss(m, fake): return -m.critic(fake).mean()
def penalty(m, x, fake):
    t = uniform(len(x))
    mid = (t*x + (1-t)*fake).detach().requires_grad_()
    g, = torch.autograd.grad(m.critic(mid).sum(), mid, create_graph=True)
    return ((g.float().norm(2, dim=1)-1)**2).mean()
def wgan_loss(m, x, fake): return m.critic(fake).mean() - m.critic(x).mean() + 10*penalty(m, x, fake)
def tasks(pred, y): return [F.mse_loss(pred[:,i], y[:,i]) for i in range(2)]
def surgery(losses, params):
    "Yu et al. 2020: of two tasks' gradients that conflict, each without its part along the other"
    a,b = (torch.autograd.grad(o, params, retain_graph=True) for o in losses)
    dot = sum((x*y).sum() for x,y in zip(a, b, strict=True))
    if dot>=0: return [x+y for x,y in zip(a, b, strict=True)]
    aa,bb = (sum((x*x).sum() for x in o) for o in (a, b))
    return [x+y - dot/bb*y - dot/aa*x for x,y in zip(a, b, strict=True)]
def two_views(m, x, weak, strong, y):
    "Sohn et al. 2020: sure predictions of a weak view are targets of the strong one"
    sure,guess = m(weak).detach().float().softmax(1).max(1)
    return F.cross_entropy(m(x).float(), y) + ((sure>.4)*F.cross_entropy(m(strong).float(), guess, reduction='none')).mean()

# --- models and data, the same at each call

class Gan(nn.Module):
    def __init__(self):
        super().__init__()
        self.gen,self.critic = mlp(3, 2),mlp(2, 1)
def mlp(i, o): return nn.Sequential(nn.Linear(i, 8), nn.Tanh(), nn.Linear(8, o))
def seeded(f):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return f()
def two_opts(m): return dict(critic=SGD(m.critic.parameters()), gen=SGD(m.gen.parameters(), lr=2*LR))
def mk_data(*kinds, n=N, bs=BS):
    "Batches with an `x` for each two, a class for `c`, two floats for `f`"
    def one(k): return torch.randint(3, (bs,)) if k=='c' else torch.randn(bs, 2)
    return seeded(lambda: [tuple(one(k) for k in kinds) for _ in range(n)])

# --- the loops: as a learner, and as turns of a loop by hand

@dataclass
class T:
    "A turn of a loop by hand"
    key:str|None # Name of the optimizer
    loss:object  # Function of the batch
    counts:bool = True
    grads:object = None # Function that returns gradients
    closure:bool = False

class GanLearner(Learner):
    def train_batch(self):
        m = self.model
        self.turn(lambda: critic_loss(m, self.x, m.gen(noise(self.bs)).detach()), opt='critic', counts=False)
        self.turn(lambda: gen_loss(m, m.gen(noise(self.bs))), opt='gen')
def gan_turns(m, b):
    yield T('critic', lambda b: critic_loss(m, b[0], m.gen(noise(len(b[0]))).detach()), counts=False)
    yield T('gen', lambda b: gen_loss(m, m.gen(noise(len(b[0])))))

class WganLearner(Learner):
    def train_batch(self):
        m = self.model
        for _ in range(5):
            self.turn(lambda: wgan_loss(m, self.x, m.gen(noise(self.bs)).detach()), opt='critic', counts=False)
        self.turn(lambda: gen_loss(m, m.gen(noise(self.bs))), opt='gen')
def wgan_turns(m, b):
    for _ in range(5): yield T('critic', lambda b: wgan_loss(m, b[0], m.gen(noise(len(b[0]))).detach()), counts=False)
    yield T('gen', lambda b: gen_loss(m, m.gen(noise(len(b[0])))))

class DcganLearner(Learner):
    def train_batch(self):
        fake = self.model.gen(noise(self.bs))
        self.turn(lambda: critic_loss(self.model, self.x, fake.detach()), opt='critic', counts=False)
        self.turn(lambda: gen_loss(self.model, fake), opt='gen')
def dcgan_turns(m, b):
    fake = m.gen(noise(len(b[0])))
    yield T('critic', lambda b: critic_loss(m, b[0], fake.detach()), counts=False)
    yield T('gen', lambda b: gen_loss(m, fake))

class OwnPhases(Learner, phases=[Phase('critic_step', inside='batch'), Phase('gen_step', inside='batch')]):
    @in_phase('critic_step')
    def train_critic(self):
        self.turn(lambda: critic_loss(self.model, self.x, self.model.gen(noise(self.bs)).detach()), opt='critic', counts=False)
    @in_phase('gen_step')
    def train_gen(self): self.turn(lambda: gen_loss(self.model, self.model.gen(noise(self.bs))), opt='gen')
    def train_batch(self):
        self.train_critic()
        self.train_gen()

class PcgradLearner(Learner):
    def train_batch(self):
        def loss():
            self.tasks = tasks(self.forward(), self.y)
            return sum(self.tasks)
        self.turn(loss, grads=lambda: surgery(self.tasks, [*self.open_turn.params]))
def pcgrad_turns(m, b):
    now = []
    def loss(b):
        now[:] = tasks(m(b[0]).float(), b[1])
        return sum(now)
    yield T(None, loss, grads=lambda: surgery(now, [*m.parameters()]))

class FixMatchLearner(Learner):
    def train_batch(self): self.turn(lambda: two_views(self.model, *self.xb, self.y))
def fixmatch_turns(m, b): yield T(None, lambda b: two_views(m, *b))

def one_turn(m, b, **kw): yield T(None, lambda b: F.cross_entropy(m(b[0]).float(), b[1]), **kw)

@dataclass
class Loop:
    cls:type
    turns:object
    model:object = Gan
    opt:object = two_opts
    data:str = 'x'
    loss_func:object = None
    n_opt_steps:int = N
    def mk_model(self): return seeded(self.model)
    def batches(self, n=N): return mk_data(*self.data, n=n)
    def learner(self, cbs=(), bs=None, **kwargs):
        m = self.mk_model()
        dls = DataLoaders(bs or self.batches(), None)
        dls.n_inp = len(self.data)-1 or 1
        return self.cls(dls, m, self.loss_func, self.opt(m), cbs=[TrainEvalCallback(), Recorder(), *cbs], default_cbs=False, **kwargs)

def whole(f, **kw): return lambda m: f(m.parameters(), **kw)
CLASSES = dict(model=partial(mlp, 2, 3), data='xc', loss_func=F.cross_entropy)
LOOPS = dict(
    one=Loop(Learner, one_turn, opt=whole(SGD), **CLASSES),
    gan=Loop(GanLearner, gan_turns),
    wgan=Loop(WganLearner, wgan_turns),
    dcgan=Loop(DcganLearner, dcgan_turns),
    lbfgs=Loop(Learner, partial(one_turn, closure=True), opt=whole(LBFGS, lr=.1, max_iter=4, history_size=3), **CLASSES),
    wolfe=Loop(Learner, partial(one_turn, closure=True), opt=whole(LBFGS, max_iter=4, history_size=3, line_search_fn='strong_wolfe'), **CLASSES),
    pcgrad=Loop(PcgradLearner, pcgrad_turns, partial(mlp, 2, 2), whole(SGD), 'xf', F.mse_loss),
    fixmatch=Loop(FixMatchLearner, fixmatch_turns, partial(mlp, 2, 3), whole(SGD), 'xxxc', F.cross_entropy),
    phases=Loop(OwnPhases, gan_turns))

# --- by hand

class Hand:
    "The loop itself"
    autocast = nullcontext
    def __init__(self, loop):
        self.model,self.turns = loop.mk_model(),loop.turns
        self.opt = loop.opt(self.model)
        self.steps,self.losses = Counter(),[]
    def opt_of(self, t): return self.opt if t.key is None else self.opt[t.key]
    def params(self, t): return [p for g in self.opt_of(t).param_groups for p in g['params']]

    def fit(self, batches):
        torch.manual_seed(0)
        for i,b in enumerate(batches):
            b = self.begin(i, b)
            turns = self.turns(self.model, b)
            while (t := self.next_turn(turns)) is not None: self.take(t, b)
        return self
    def begin(self, i, b): return b
    def next_turn(self, turns):
        with self.autocast(): return next(turns, None)
    def take(self, t, b):
        self.backward(t, b)
        if t.counts: self.losses.append(self.loss)
        self.step(t, b)
        self.zero(t)
    def calc(self, t, b):
        with self.autocast(): loss = t.loss(b)
        self.loss = loss.item()
        return loss
    def backward(self, t, b, k=1.):
        loss,ps = self.calc(t, b)*k,self.params(t)
        gs = [None if g is None else g*k for g in t.grads()] if t.grads else torch.autograd.grad(loss, ps, allow_unused=True)
        for p,g in zip(ps, gs, strict=True):
            if g is not None: p.grad = g if p.grad is None else p.grad+g
        return loss.detach()
    def step(self, t, b):
        if t.closure: self.opt_of(t).step(partial(self.closure, t, b))
        else: self.opt_of(t).step()
        self.stepped(t)
    def closure(self, t, b):
        self.zero(t)
        loss = self.backward(t, b)
        self.mend(t)
        return loss
    def mend(self, t): "What becomes of gradients before the step, if it is done in the closure, too"
    def stepped(self, t): self.steps[t.key] += 1
    def zero(self, t): self.opt_of(t).zero_grad()

class Accumulated(Hand):
    "A step for each two turns of an optimizer"
    def __init__(self, loop):
        super().__init__(loop)
        self.n = Counter()
    def backward(self, t, b, k=1.): return super().backward(t, b, k/2)
    def step(self, t, b):
        self.n[t.key] += 1
        if self.n[t.key]%2==0: super().step(t, b)
    def zero(self, t):
        if self.n[t.key]%2==0: super().zero(t)

class Clipped(Hand):
    max_norm,norms = .1,()
    def step(self, t, b):
        self.mend(t)
        super().step(t, b)
    def mend(self, t): self.norms = [*self.norms, clip_grad_norm_(self.params(t), self.max_norm).item()]
class ClippedValue(Clipped):
    def mend(self, t): clip_grad_value_(self.params(t), .01)
class ClippedAdaptive(Clipped):
    def mend(self, t):
        for p in self.params(t):
            norm = partial(torch.linalg.vector_norm, dim=tuple(range(1, p.dim())) or None, keepdim=True)
            most = .05*norm(p.detach()).clamp(min=1e-3)
            p.grad.mul_((most/norm(p.grad)).clamp(max=1))
class Sharp(Hand):
    "SAM: the gradient at the worst place near the weights"
    def backward(self, t, b, k=1.):
        rng = torch.get_rng_state()
        loss,shown = super().backward(t, b, k),self.loss
        ps = self.params(t)
        home = [p.detach().clone() for p in ps]
        up = .05/torch.nn.utils.get_total_norm([p.grad for p in ps]).clamp(min=1e-12)
        for p in ps: p.data += p.grad*up
        self.zero(t)
        torch.set_rng_state(rng)
        super().backward(t, b, k)
        for p,w in zip(ps, home, strict=True): p.data.copy_(w)
        self.loss = shown
        return loss

class InParts(Hand):
    "Each batch in halves"
    def backward(self, t, b, k=1.):
        shown = 0.
        for i in (0, BS//2):
            super().backward(t, tuple(o[i:i+BS//2] for o in b), k*.5)
            shown += self.loss*(BS//2)
        self.loss = shown/BS

class Averaged(Hand):
    "Of the steps that count"
    fn = staticmethod(get_ema_multi_avg_fn(.9))
    def __init__(self, loop):
        super().__init__(loop)
        self.avg,self.n_avg,self.n_counted = AveragedModel(self.model, multi_avg_fn=self.fn),0,0
    def stepped(self, t):
        super().stepped(t)
        if not t.counts: return
        self.n_counted += 1
        self.avg.update_parameters(self.model)
        self.n_avg += 1

class Bf16(Hand):
    autocast = staticmethod(partial(torch.autocast, 'cpu', torch.bfloat16))

class Fp16(Hand):
    "Scaled losses, and no step by gradients that overflow; `clip` between unscaling and the step"
    autocast = staticmethod(partial(torch.autocast, 'cpu', torch.float16))
    def __init__(self, loop):
        super().__init__(loop)
        self.scalers,self.n_skipped = {},0
    def scaler(self, t):
        if t.key not in self.scalers: self.scalers[t.key] = torch.amp.GradScaler('cpu', init_scale=SCALE, growth_interval=4)
        return self.scalers[t.key]
    def backward(self, t, b, k=1.): return super().backward(t, b, k*self.scaler(t).scale(torch.ones(())))
    def step(self, t, b):
        s,opt,was = self.scaler(t),self.opt_of(t),self.scaler(t).get_scale()
        s.unscale_(opt)
        self.mend(t)
        s.step(opt)
        s.update()
        if s.get_scale()<was: self.n_skipped += 1
        else: self.stepped(t)
SCALE = 2.**20

class Mixed(Hand):
    "MixUp with a λ for each batch; classes by their two losses, floats by their mean"
    def begin(self, i, b):
        (*xs,y),lam = b,torch.distributions.Beta(.4, .4).sample((1,))
        lam,perm = torch.max(lam, 1-lam),torch.randperm(BS)
        def blend(o): return lam.view(1, 1)*o + (1-lam.view(1, 1))*o[perm]
        self.pair,self.lam = y[perm],lam.view(())
        return *map(blend, xs),(blend(y) if y.is_floating_point() else y)
    def calc(self, t, b):
        if b[-1].is_floating_point(): return super().calc(t, b)
        x,y = b
        pred = self.model(x).float()
        loss = self.lam*F.cross_entropy(pred, y) + (1-self.lam)*F.cross_entropy(pred, self.pair)
        self.loss = loss.item()
        return loss

@cache
def by_hand(name, kind=Hand): return kind(LOOPS[name]).fit(LOOPS[name].batches())
