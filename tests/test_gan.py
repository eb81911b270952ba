"Several named optimizers, each with a turn and a phase of its own, compared to a hand-written loop (the tutorial is nbs/tutorials/04_gan.ipynb)"
import pytest, torch
from functools import partial
from helpers import Module, quiet, same
from learnloop import Callback, DataLoaders, EMA, GradientAccumulation, Learner, Logger, Phase, on
from torch import nn
from torch.nn import functional as F

CRITIC,GEN = Phase('critic_step', inside='batch'),Phase('gen_step', inside='batch')

class Pair(Module):
    def __init__(self):
        self.gen,self.critic = nn.Linear(2, 2),nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 1))
    def forward(self, x): return self.gen(x)

def part_loss(part, model, made, real):
    if part=='gen': return F.softplus(-model.critic(made)).mean()
    return F.softplus(-model.critic(real)).mean() + F.softplus(model.critic(made.detach())).mean()

class GAN(Learner, phases=[CRITIC, GEN]):
    def train_batch(self):
        for part in ('critic','gen'): self.with_events(f'{part}_step', self.turn, partial(self.part_loss, part), part, counts=part=='gen')
    def part_loss(self, part): return part_loss(part, self.model, self.forward(), self.y)

def batches(n=6, seed=0):
    g = torch.Generator().manual_seed(seed)
    return [(torch.randn(8, 2, generator=g), torch.randn(8, 2, generator=g)+1) for _ in range(n)]

def mk_opts(model): return dict(gen=torch.optim.Adam(model.gen.parameters(), lr=.1), critic=torch.optim.SGD(model.critic.parameters(), lr=.2, momentum=.9))
def mk_gan(cbs=None, **kwargs):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = Pair()
    return GAN(DataLoaders(batches(), batches(2, 1), device='cpu'), model, F.mse_loss, opt_func=mk_opts(model), cbs=cbs, **kwargs)

def by_hand(n_epoch, skip=lambda i: False):
    "Weights after `n_epoch`, the generator's turn skipped in batches where `skip(i)`, `i` counted from 0 over all"
    model = mk_gan().model
    opts,i = mk_opts(model),0
    for _ in range(n_epoch):
        for x,y in batches():
            made = model(x)
            for part in ['critic', *['gen']*(not skip(i))]:
                part_loss(part, model, made, y).backward()
                opts[part].step()
                for o in opts.values(): o.zero_grad()
            i += 1
    return model

@pytest.mark.parametrize('k', [2, 3, 5])
def test_the_generators_turn_is_skipped_by_its_exception(k):
    def skip(cb): raise GEN.cancel
    learn = quiet(mk_gan(), 3, cbs=on('before_gen_step', every=k)(skip))
    assert same(learn.model, by_hand(3, lambda i: i%k==k-1))
    assert learn.count.batches==18 and learn.count.opt_steps==18-18//k

def test_evaluation_leaves_no_trace_and_runs_no_turn():
    learn = mk_gan(Callback('never', before_critic_step=lambda cb: cb.learn.training or 1/0))
    a = quiet(learn, 2, cbs=Callback(after_gen_step=lambda cb: (cb.learn.validate(), cb.learn.get_preds())))
    assert same(a.model, by_hand(2))
    preds,targs = learn.get_preds()
    assert preds.shape==targs.shape==(16, 2) and learn.recorder.values==quiet(mk_gan(), 2).recorder.values

def test_step_intervals_count_only_counted_steps():
    "Averages and points of a log come with the generator's steps, none where its turn is skipped"
    points = []
    class Points(Logger):
        def log_metrics(self, metrics, step): points.append(step)
    def skip(cb): raise GEN.cancel
    learn = quiet(mk_gan(), 1, cbs=[ema := EMA(), Points(every_steps=1), on('before_gen_step', every=2)(skip)])
    assert learn.count.opt_steps==ema.n_steps==3 and [o for o in points if o]==[1, 2, 3, 3]  # the last is the epoch's

# ---- the same without phases of one's own, without a loss_func

class Turns(Learner):
    def train_batch(self):
        for part in ('critic','gen'): self.turn(partial(self.part_loss, part), part, counts=part=='gen')
    def part_loss(self, part): return part_loss(part, self.model, self.forward(), self.y)

def mk_turns(**kwargs):
    a = mk_gan()
    return Turns(a.dls, a.model, opt_func=a.opt_func, **kwargs)

def test_without_a_loss_function_metrics_judge_and_the_loss_is_that_of_the_turn_that_counts():
    gens = []
    def note(cb):
        if cb.turn_name=='gen': gens.append(cb.loss)
    learn = quiet(mk_turns(metrics=F.mse_loss), 1, cbs=Callback('note', after_turn=note))
    row = dict(zip(learn.recorder.metric_names[1:-1], learn.recorder.values[0], strict=True))
    assert row['valid_loss'] is None and row['train_loss']==row['train_gen']==pytest.approx(torch.stack(gens).mean().item())
    pred,y = learn.get_preds()
    assert row['mse_loss']==pytest.approx(F.mse_loss(pred, y).item())

@pytest.mark.parametrize('e', ['before_backward', 'before_step', 'cleanup_turn'])
def test_an_error_names_the_turn_that_it_was_in(e):
    def bug(cb):
        if cb.turn_name=='gen': raise RuntimeError('bug')
    with pytest.raises(RuntimeError, match='bug') as err: quiet(mk_turns(), 1, cbs=Callback(**{e: bug}))
    assert f'Callback(bug).{e}; epoch 0, batch 0 of training' in (note := err.value.__notes__[0]) and "turn 'gen'" in note

@pytest.mark.parametrize('cbs', [(), GradientAccumulation(n_batches=2)])
def test_a_loss_that_is_for_another_optimizer_is_refused(cbs):
    class Wrong(Turns):
        def train_batch(self): self.turn(lambda: F.softplus(-self.model.critic(self.y)).mean(), 'gen')
    a = mk_gan()
    learn = Wrong(a.dls, a.model, opt_func=a.opt_func, cbs=cbs)
    with pytest.raises(ValueError, match=r"Turn\('gen'\): its loss depends on none of the parameters of optimizer 'gen'"): quiet(learn, 1)
    assert same(a.model, mk_gan().model)
