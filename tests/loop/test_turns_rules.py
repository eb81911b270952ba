"Turns with closures, graphs, supplied gradients, several optimizers and cancels; errors for wrong use"
import warnings
from collections import Counter
from functools import partial
import learnloop, pytest, torch
from helpers import Callback, batches, check, listener, mk_learner, quiet, same, usual_events, weights
from learnloop import (
    EMA, SAM, CancelTurnException, CheckFinite, GradientAccumulation, GradientClip, Learner, MicroBatch, MixedPrecision, MixUp,
    SpikeDetection)
from torch import nn
from torch.nn import functional as F
from torch.nn.utils import clip_grad_norm_
from turn_loops import (
    LOOPS, SGD, Accumulated, Clipped, Fp16, Gan, GanLearner, Hand, Loop, T, critic_loss, gen_loss, gan_turns, mlp, mk_data, noise,
    seeded, tasks, two_opts, whole)

def fit(learn, *args, **kwargs):
    torch.manual_seed(0)
    return quiet(learn, *args or (1,), **kwargs)

# --- the table: twenty batches of a GAN

TWENTY = mk_data('x', n=20)
def gan(*cbs, **kwargs): return LOOPS['gan'].learner(cbs, bs=TWENTY, **kwargs)

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
    forwards,model = n['forward'],hand_closures(partial(torch.optim.LBFGS, lr=.5, max_iter=5), bs, mk=mk)
    assert same(learn.model, model) and forwards==n['forward']-forwards-len(bs)>len(bs) and learn.count.opt_steps==len(bs)

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
def hand_closures(opt_class, bs, max_norm=None, mk=small):
    model = mk()
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
def test_a_closure_that_is_optional_and_a_closure_called_twice(opt_class, max_norm):
    class L(Learner):
        def train_batch(self): self.turn(closure=True if opt_class is Lookahead else None)
    bs = batches(8)
    learn = mk_learner(cls=L, dls=(bs, None), model=small(), opt_func=opt_class, lr=.1, cbs=[GradientClip(max_norm)] if max_norm else [])
    fit(learn)
    assert same(learn.model, hand_closures(opt_class, bs, max_norm)) and learn.count.opt_steps==8
    plain = fit(mk_learner(dls=(bs, None), model=small(), opt_func=opt_class, lr=.1))
    assert same(plain.model, learn.model)==(opt_class is Twice and max_norm is None)

@pytest.mark.parametrize('cb', [GradientAccumulation(n_batches=2), SAM(), MicroBatch(2), MixedPrecision('fp16')], ids=repr)
def test_callbacks_that_cannot_use_closures_refuse_them(cb):
    class L(Learner):
        def train_batch(self): self.turn(closure=True)
    learn = mk_learner(cls=L, model=small(), opt_func=Lookahead, cbs=[cb])
    was = weights(learn.model)
    with pytest.raises(ValueError, match="can't be used with Lookahead"): fit(learn)
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
    fit(learn)  # torch would warn of gradients with a graph that nobody drops
    assert same(learn.model, hutchinson(bs, n_acc)) and all(p.grad is None for p in learn.model.parameters())
    with pytest.raises(RuntimeError, match='does not require grad|element 0 of tensors'):
        fit(mk_learner(dls=(bs, None), model=small(), opt_func=Hutchinson, lr=.1))

@pytest.mark.parametrize('cb', [SAM(), MixedPrecision('fp16')], ids=repr)
def test_callbacks_that_change_weights_or_gradients_refuse_create_graph(cb):
    learn = mk_learner(cls=SecondOrder, model=small(), opt_func=Hutchinson, lr=.1, cbs=[cb])
    was = weights(learn.model)
    with pytest.raises(ValueError, match=f'{cb.label}.*create_graph'): fit(learn)
    assert same(learn.model, was)

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

@pytest.mark.parametrize('grads,why', [(lambda ps: ps[:1], 'or None, for each of the 2 parameters'), (lambda ps: 3., 'grads returned'),
    (lambda ps: dict(wieght=ps[0]), "'wieght' is not a parameter.*did you mean 'weight'"), (lambda ps: [ps[1], ps[0]], r'float32 \(1\), float32 \(1, 2\)\]: it must be a list'),
    (lambda ps: [1., None], 'float'), (lambda ps: None, 'grads returned None')])
def test_gradients_that_fit_nothing_are_refused(grads, why):
    class L(Learner):
        def train_batch(self): self.turn(grads=lambda: grads([torch.ones_like(p) for p in self.open_turn.params]))
    learn = mk_learner(cls=L, model=small())
    was = weights(learn.model)
    with pytest.raises(ValueError, match=why): fit(learn)
    assert same(learn.model, was)

# --- several optimizers

def test_a_turn_of_all_optimizers_at_once():
    class L(Learner):
        def train_batch(self): self.turn(lambda: critic_loss(self.model, self.x, self.model.gen(noise(self.bs))), name='both')
    def hand(n_acc=1, max_norm=None):
        torch.manual_seed(0)
        m = seeded(Gan)
        opt,ps = two_opts(m),[*m.critic.parameters(), *m.gen.parameters()]
        for i,(x,) in enumerate(TWENTY):
            (critic_loss(m, x, m.gen(noise(len(x))))/n_acc).backward()
            if (i+1)%n_acc: continue
            if max_norm: clip_grad_norm_(ps, max_norm)
            for o in opt.values():
                o.step()
                o.zero_grad()
        return m
    for kw,cbs in (({}, []), (dict(max_norm=.1), [GradientClip(.1)]), (dict(n_acc=2, max_norm=.1), [GradientAccumulation(n_batches=2), GradientClip(.1)])):
        learn = fit(Loop(L, None).learner(cbs, bs=TWENTY))
        assert same(learn.model, hand(**kw)) and learn.count.opt_steps==20/kw.get('n_acc', 1)

class Odd(Accumulated):
    "With a last window that is not full, whose gradient weighs as much"
    def fit(self, batches):
        super().fit(batches)
        for k,n in self.n.items():
            if n%2==0: continue
            t = T(k, None)
            for p in self.params(t): p.grad *= 2
            Hand.step(self, t, None)
            Hand.zero(self, t)
        return self

@pytest.mark.parametrize('name', ['one','gan','wgan','phases','fixmatch'])
def test_a_window_that_is_left_at_the_end_is_stepped_for_each_optimizer(name):
    loop = LOOPS[name]
    learn,hand = fit(loop.learner([GradientAccumulation(n_batches=2)], bs=loop.batches(7))),Odd(loop).fit(loop.batches(7))
    assert same(learn.model, hand.model) and learn.count.opt_steps==4 and all(p.grad is None for p in learn.model.parameters())

def test_turns_of_which_none_counts():
    class L(Learner):
        def train_batch(self): self.turn(lambda: critic_loss(self.model, self.x, self.model.gen(noise(self.bs)).detach()), opt='critic', counts=False)
    ema = EMA()
    with warnings.catch_warnings():
        warnings.simplefilter('error')  # it took steps
        learn = fit(Loop(L, None).learner([ema], bs=TWENTY))
    hand = Hand(Loop(None, lambda m, b: [t for t in gan_turns(m, b) if t.key=='critic'].__iter__()))
    assert same(learn.model, hand.fit(TWENTY).model)
    assert learn.count.opt_steps==0 and ema.n_averaged==0 and learn.recorder.raw_losses==[] and learn.count.batches==20

# --- interruptions

CANCELS = dict(Batch='batch', Turn='turn', Backward='backward', Step='step', ZeroGrad='zero_grad', Train='train', Epoch='epoch', Fit='fit')
INNER = 'turn','backward','step','zero_grad'
EVENTS = [o for o in usual_events(INNER) if o!='after_pred']
def may(cancel, event):
    "Is the phase that takes the cancel open then?"
    order,phase = ['turn', 'backward', 'step', 'zero_grad'],event.split('_', 1)[1]
    inside = dict(loss='turn', opt_step='step').get(phase, phase)
    return CANCELS[cancel] not in order or CANCELS[cancel] in ('turn', inside)

@pytest.mark.parametrize('cancel', CANCELS)
@pytest.mark.parametrize('turn', ['critic','gen'])
def test_a_cancel_at_any_event_of_a_turn(cancel, turn):
    for event in EVENTS:
        if not may(cancel, event) or (turn, event)==('critic', 'after_opt_step'): continue
        trace,stale = [],[]
        def hear(cb, e, event=event, trace=trace, stale=stale):
            trace.append((e, cb.learn.turn_name))
            if e=='before_batch': stale.append([p.grad for p in cb.learn.model.parameters() if p.grad is not None])
            if e==event and cb.learn.turn_name==turn and cb.learn.iter==2: raise getattr(learnloop, f'Cancel{cancel}Exception')
        phases = 'batch',*INNER
        cb = listener('hear', [f'{o}_{p}' for p in phases for o in ('before','cleanup')] + [event]*(not event.startswith(('before','cleanup'))), hear)
        learn = fit(LOOPS['gan'].learner([cb], bs=TWENTY[:6]))
        assert learn.open==[] and learn.open_turn is None
        for p in phases:
            n = Counter(e for e,_ in trace)
            assert n[f'before_{p}']==n[f'cleanup_{p}'], (event, p)
        keeps = (cancel, event)==('ZeroGrad', 'before_zero_grad')  # that is what it is for
        assert not any(o for o in stale) or keeps, event
        if cancel in ('Train','Epoch','Fit'): assert learn.count.batches<=3
        else:
            assert len(stale)==6
            later = [o for o in trace if o[0]=='before_turn'][-6:]  # those of the batches after it
            assert later==[('before_turn', 'critic'), ('before_turn', 'gen')]*3

# --- taken wrongly

def refused(train_batch, error, match, cls=Learner, **kwargs):
    learn = Loop(type('L', (cls,), dict(train_batch=train_batch)), None).learner(**kwargs)
    was = weights(learn.model)
    with pytest.raises(error, match=match): fit(learn)
    assert same(learn.model, was) and learn.open==[] and learn.open_turn is None

def test_a_turn_in_a_turn_is_refused():
    def train_batch(self): self.turn(lambda: self.turn(lambda: gen_loss(self.model, self.model.gen(noise(2))), opt='gen'), opt='critic')
    refused(train_batch, RuntimeError, r"turn: Turn\('critic'\) is still open: end it")

def test_a_turn_outside_of_training_is_refused():
    learn = gan()
    with pytest.raises(RuntimeError, match='outside training'): learn.turn()
    class L(Learner):
        def valid_batch(self): self.turn()
    learn = mk_learner(cls=L)
    with learn.no_logging(), pytest.raises(RuntimeError, match='outside training: in validation, compute the loss in valid_batch'): learn.validate()

def test_the_name_of_an_optimizer_where_there_is_one_is_refused():
    class L(Learner):
        def train_batch(self): self.turn(opt='gen')
    with pytest.raises(ValueError, match='learn.opt has one SGD: omit opt'): fit(mk_learner(cls=L))

@pytest.mark.parametrize('loss,match', [(lambda: None, r"Turn\('gen'\): its loss function returned None"), (lambda: 1., 'the loss is 1.0, a float'), (lambda: torch.ones(()), 'does not require gradients'),
    (lambda: torch.ones(2, requires_grad=True), 'has shape')])
def test_objects_that_are_no_losses_are_refused(loss, match):
    refused(lambda self: self.turn(loss, opt='gen'), (ValueError, TypeError), match)

def test_a_turn_whose_parameters_are_frozen_is_refused():
    def train_batch(self):
        self.model.gen.requires_grad_(False)
        self.turn(lambda: gen_loss(self.model, self.model.gen(noise(2))), opt='gen')
    refused(train_batch, ValueError, r"Turn\('gen'\): none of its parameters requires gradients")

# --- who watches losses and gradients

def spoilt(turn, at, where='after_backward'):
    "Makes a gradient of `turn` infinite in batches `at`"
    def spoil(cb):
        if cb.learn.turn_name==turn and cb.learn.iter in at: next(iter(cb.learn.open_turn.params)).grad.fill_(torch.inf)
    return Callback(**{where:spoil})

def test_skipped_in_a_row_is_of_each_turn():
    learn = fit(gan(spoilt('critic', range(5, 20)), CheckFinite('skip', patience=3)))
    assert learn.count.batches==7 and learn.check_finite.skipped==3
    assert "gradient of critic.0.weight is not finite, in epoch 0, batch 7 of training, turn 'critic'" in learn.check_finite.stop_reason

def test_a_skipped_step_leaves_the_window_of_another_turn():
    "The critic's window is open when a step of the generator, whose batches are windows, is skipped"
    class Half(GanLearner):
        def train_batch(self):
            super().train_batch()
            self.turn(lambda: gen_loss(self.model, self.model.gen(noise(self.bs))), opt='gen')
    def turns(m, b):
        yield from gan_turns(m, b)
        yield T('gen', lambda b: gen_loss(m, m.gen(noise(len(b[0])))))
    class Bad(Accumulated):
        i = -1
        def begin(self, i, b):
            self.i = i
            return b
        def stepped(self, t): self.steps[t.key] += 1
        def step(self, t, b):
            if (t.key, self.i)!=('gen', 2) or self.n['gen']%2==0: super().step(t, b)
            else: self.n[t.key] += 1
    loop = Loop(Half, turns)
    def spoil(cb):
        if cb.learn.turn_name=='gen' and cb.learn.iter==2: next(iter(cb.learn.open_turn.params)).grad.fill_(torch.inf)
    learn = fit(loop.learner([GradientAccumulation(n_batches=2), Callback(after_backward=spoil), CheckFinite('skip')], bs=TWENTY))
    assert same(learn.model, Bad(loop).fit(TWENTY).model) and learn.check_finite.skipped==1

def test_spikes_are_of_each_turn():
    "Losses of one are a hundred times those of the other, and no spikes for that"
    at = []
    class L(Learner):
        def train_batch(self):
            m,k = self.model,30. if self.iter in at else 1.
            self.turn(lambda: 100*critic_loss(m, self.x, m.gen(noise(self.bs)).detach()), opt='critic', counts=False)
            self.turn(lambda: (k*(2+m.critic(m.gen(noise(self.bs))))).mean(), opt='gen')
    def slow(m): return dict(critic=SGD(m.critic.parameters(), lr=1e-5), gen=SGD(m.gen.parameters(), lr=1e-3))
    quiet = fit(Loop(L, None, opt=slow).learner([SpikeDetection(warmup=3, rtol=5.)], bs=TWENTY))
    assert quiet.spike_detection.spikes==[] and quiet.count.opt_steps==20
    at.append(12)
    learn = fit(Loop(L, None, opt=slow).learner([SpikeDetection(warmup=3, rtol=5.)], bs=TWENTY))
    assert [(o['iter'], o['turn']) for o in learn.spike_detection.spikes]==[(12, 'gen')] and learn.count.opt_steps==19

def test_losses_of_a_line_search_are_no_spikes():
    seen = []
    note = Callback(after_loss=lambda cb: seen.append(cb.learn.inside('step')))
    learn = fit(LOOPS['wolfe'].learner([SpikeDetection(warmup=1, rtol=1e9), note]))
    assert sum(seen)>len(seen)/2 and learn.spike_detection.seen==len(seen)-sum(seen)==learn.count.opt_steps

# --- who looks into the loss

def test_mixup_of_a_loss_with_parts():
    def parts(pred, y): return dict(ce=F.cross_entropy(pred, y), l2=.1*pred.pow(2).mean())
    loop = LOOPS['one']
    a,b = (fit(Loop(Learner, None, loop.model, loop.opt, 'xc', f).learner([MixUp(per_item=False)])) for f in (parts, lambda *o: sum(parts(*o).values())))
    for x,y in zip(weights(a.model), weights(b.model), strict=True): torch.testing.assert_close(x, y)

# --- who goes by steps

def test_windows_of_optimizers_that_share_parameters_are_refused():
    class L(GanLearner):
        def train_batch(self):
            self.turn(lambda: gen_loss(self.model, self.model.gen(noise(self.bs))), opt='gen')
            self.turn(lambda: critic_loss(self.model, self.x, self.model.gen(noise(self.bs))), name='all')
    refused(L.train_batch, ValueError, "GradientAccumulation: turns of 'gen' and of all optimizers share parameters", cbs=[GradientAccumulation(n_batches=2)])

# --- what a turn leaves behind

class Named(Learner):
    def train_batch(self): self.turn(name='only')

@pytest.mark.parametrize('event', ['after_backward', 'before_step'])
@pytest.mark.parametrize('bad', [2, 3])
def test_a_turn_cancelled_in_a_window_leaves_the_window_as_it_was(bad, event):
    def skip(cb):
        if cb.iter==bad: raise CancelTurnException
    learn = mk_learner([GradientAccumulation(n_batches=2), listener('skip', [event], lambda cb, e: skip(cb), order=-1)], cls=Named, dls=([*batches(7, 1)],))
    hand = mk_learner([GradientAccumulation(n_batches=2)], cls=Named, dls=([o for i,o in enumerate(batches(7, 1)) if i!=bad],))
    for o in (learn, hand): o.fit(1)
    assert same(learn.model, hand.model) and learn.count.opt_steps==hand.count.opt_steps==3

def test_a_step_cancelled_in_a_line_search_leaves_the_state_of_the_optimizer():
    from copy import deepcopy
    n,knew = Counter(),[]
    def stop(cb, e):
        n[cb.iter] += 1
        if cb.iter==2 and n[2]==1: knew.append(deepcopy(cb.learn.opt.state_dict()))
        if cb.iter==2 and n[2]==3: raise learnloop.CancelStepException
    def look(cb, e): knew.append(deepcopy(cb.learn.opt.state_dict()))
    learn = mk_learner([listener('stop', ['before_step'], stop), listener('look', ['after_cancel_step'], look)], opt_func=partial(torch.optim.LBFGS, max_iter=5), lr=.3)
    learn.fit(1)
    assert len(knew)==2
    check(*knew)

@pytest.mark.parametrize('cb', [SAM(), MicroBatch(2)], ids=repr)
def test_gradients_supplied_with_a_cancel_are_refused_by_sam_and_micro_batch(cb):
    def own(cb, e):
        for p in cb.learn.model.parameters(): p.grad = torch.ones_like(p)
        raise learnloop.CancelBackwardException
    learn = mk_learner([cb, listener('own', ['before_backward'], own)])
    was = weights(learn.model)
    with pytest.raises(ValueError, match='learn.turn.*grads=f'): learn.fit(1)
    assert same(learn.model, was)

@pytest.mark.parametrize('kept', [False, True], ids=['supplied', 'kept from a window'])
def test_fp16_refuses_unscaled_gradients_but_takes_those_of_a_window(kept):
    def own(cb, e):
        if cb.iter==0: return
        if not kept:
            for p in cb.learn.model.parameters(): p.grad = torch.ones_like(p)
        raise learnloop.CancelBackwardException
    def wait(cb, e):
        if cb.iter==0: raise learnloop.CancelStepException
    def keep(cb, e):
        if cb.iter==0: raise learnloop.CancelZeroGradException
    cbs = [MixedPrecision('fp16', init_scale=8.), listener('own', ['before_backward'], own), listener('wait', ['before_step'], wait, order=-1),
        listener('keep', ['before_zero_grad'], keep)]
    learn = mk_learner(cbs, dls=(batches(2),))
    if kept: learn.fit(1)
    else:
        with pytest.raises(ValueError, match='which are not scaled'): learn.fit(1)
    assert learn.count.opt_steps==kept
