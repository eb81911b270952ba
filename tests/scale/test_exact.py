"One, two and four processes train on the same batches, and end with the same weights"
import math
from functools import partial
from helpers import cover
import pytest, torch, turn_loops
from learnloop import (Callback, CheckFinite, EMA, GradientAccumulation, GradientCheckpointing, GradientClip, GradualUnfreezing,
    MicroBatch, MixedPrecision, ReloadLoaders, SAM, SWA, SpikeDetection, TimeLimit,
    ValidateCallback, ValidateEvery)
from learnloop.data.checks import replaced
from learnloop.scale.share import _part_of
from learnloop.scale.team import find_team
from runs import TOL, check_alike, differ, mk_dls, mk_learner, mlp, result, tensor_dls, train
from together import ending, together
from where import noted, where
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook

def groups(m): return [[*m[0].parameters()], [*m[2].parameters()]]
def masked(p, y):
    m = (y>0).float()
    return ((p-y)**2*m).sum()/m.sum()
def n_masked(learn): return (learn.y>0).sum()
masked.denominator = lambda p, y: (y>0).sum()
class Spoilt(Callback):
    "Scales the loss of the last process in two batches"
    rank_invariant,order = True,5
    def __init__(self, k, graph_alone=False): self.k,self.graph_alone = k,graph_alone
    def after_loss(self):
        learn = self.learn
        if not learn.training or learn.train_iter not in (7, 8) or learn.team.rank!=learn.team.world-1: return
        learn.loss_grad = learn.loss_grad*self.k
        if not self.graph_alone: learn.loss = learn.loss*self.k

def switch(cb):
    if cb.learn.epoch==1: cb.learn.switch_opt(torch.optim.Adam, lr=.01)
def add_group(cb):
    if cb.learn.epoch!=1: return
    last = cb.learn.model[2].requires_grad_(True)
    cb.learn.opt.add_param_group(dict(params=[*last.parameters()]))
def half_frozen():
    m = mlp()
    m[2].requires_grad_(False)
    return m

COUNTED = dict(cbs=lambda: [GradientAccumulation(20, count=n_masked)], loss=masked)
double = dict(dtype=torch.float64)
LBFGS = partial(torch.optim.LBFGS, max_iter=4, history_size=3, line_search_fn='strong_wolfe')
# `test_callbacks` tests others
SETUPS = dict(tensors=dict(dls=tensor_dls), adam=dict(opt=torch.optim.AdamW, lr=.01),
    items=dict(cbs=lambda: [GradientAccumulation(20)]), counted=COUNTED,
    parts=dict(cbs=lambda: [MicroBatch(1)]), windows_of_parts=dict(cbs=lambda: [MicroBatch(1), GradientAccumulation(n_batches=4)]),
    sam_windows=dict(cbs=lambda: [SAM(), GradientAccumulation(n_batches=2)]), clip=dict(cbs=lambda: [GradientClip(.1)]),
    clip_inf=dict(cbs=lambda: [GradientClip(.1, norm_type=math.inf)]), clip_value=dict(cbs=lambda: [GradientClip(.01, algorithm='value')]),
    clip_adaptive=dict(cbs=lambda: [GradientClip(.05, algorithm='adaptive')]), clip_skip=dict(cbs=lambda: [Spoilt(math.nan, True), GradientClip(skip_nonfinite=True)]),
    finite_skip=dict(cbs=lambda: [Spoilt(math.nan), CheckFinite('skip')]),
    finite_grads=dict(cbs=lambda: [Spoilt(math.nan, True), CheckFinite('skip')]), finite_loss=dict(cbs=lambda: [Spoilt(math.inf), CheckFinite('skip', grads=False)]),
    finite_stop=dict(cbs=lambda: [Spoilt(math.nan), CheckFinite('stop')]), spikes=dict(cbs=lambda: [Spoilt(100.), SpikeDetection(3, 3)]),
    no_time=dict(cbs=lambda: [TimeLimit(seconds=1e-9)]), ema=dict(cbs=lambda: [EMA(.9)]),
    unfreeze=dict(cbs=lambda: [GradualUnfreezing({0:-1, 1:0})], splitter=groups),
    reload=dict(cbs=lambda: [ReloadLoaders(1, lambda learn: mk_dls(16+8*int(torch.randint(4, ()))).train)]),
    validate=dict(cbs=lambda: [ValidateCallback(every_steps=3), ValidateEvery(2)]),
    asked=dict(cbs=lambda: [ValidateCallback(when=lambda learn: learn.team.rank==1)]),
    recomputed=dict(cbs=lambda: [GradientCheckpointing(nn.Linear)]), switch=dict(cbs=lambda: [Callback(before_epoch=switch)]),
    group=dict(cbs=lambda: [Callback(before_epoch=add_group)], model=half_frozen),
    wolfe=double|dict(opt=LBFGS),
    fp16=dict(cbs=lambda: [Spoilt(math.nan, True), MixedPrecision('fp16', init_scale=128.)], tol=.01), bf16=dict(cbs=lambda: [MixedPrecision('bf16')], tol=.02),
    few=dict(dls=lambda: mk_dls(40, 1)), one_batch=dict(dls=lambda: mk_dls(5, 3)))
FITS = dict(one_cycle=lambda learn: learn.fit_one_cycle(2, .1), steps=lambda learn: learn.fit(max_steps=11, steps_per_epoch=4),
    tuned=lambda learn: learn.fine_tune(1),
    searched=lambda learn: tuple(learn.lr_find(num_it=30, show_plot=False)))
SETUPS |= dict.fromkeys(FITS, dict(splitter=groups))
# Setups that treat sharded gradients or weights differently
OF_FSDP = 'adam counted sam_windows clip_inf clip_skip ema unfreeze recomputed fp16 few tuned'.split()
OF_4 = 'items counted windows_of_parts finite_skip reload asked few one_batch'.split()
NAMES = {(2, 'ddp'):[*SETUPS], (4, 'ddp'):OF_4, (2, 'fsdp'):OF_FSDP}

def run(nm, how):
    kw = dict(SETUPS[nm])
    cbs,_ = kw.pop('cbs', list),kw.pop('tol', None)
    return train(lambda: mk_learner(cbs(), **kw), how, FITS.get(nm, lambda learn: learn.fit(2)))
def runs(how, names): return {nm:run(nm, how) for nm in names}
def noted_run(nm, how, folder): noted(folder, run, nm, how)

@pytest.mark.parametrize('n,how', NAMES)
def test_processes_train_as_one_process(n, how):
    names = NAMES[n,how]
    ranks,one = together(runs, how, names, n=n),runs(how, names)
    bad = {}
    for nm in names:
        try:
            check_alike([o[nm] for o in ranks], one[nm], SETUPS[nm].get('tol', TOL))
            assert all(o[nm]['came']==one[nm]['came'] for o in ranks)
        except AssertionError as e:
            bad[nm] = str(e)[:300],differ(ranks[0][nm]['weights'], one[nm]['weights']),where(partial(together, noted_run, nm, how, n=n), partial(noted_run, nm, how), TOL)
    assert not bad, bad

def losses(how=None):
    learn = mk_learner(COUNTED['cbs'](), loss=masked)
    if how: getattr(learn, f'to_{how}')()
    learn.fit(2)
    return learn.recorder.raw_losses,[v[:1] for v in learn.recorder.values]

def test_losses_of_counted_items_are_those_of_one_process():
    "A part of a batch without counted items has a loss of NaN"
    one = losses()
    for got in together(losses, 'ddp', n=4):
        for a,b in zip(got, one, strict=True): torch.testing.assert_close(torch.tensor(a), torch.tensor(b), atol=TOL, rtol=0)

# --- turns

class Numbers:
    "Random numbers of the run: each process takes its part, and one process takes all"
    def __init__(self): self.g = torch.Generator().manual_seed(0)
    def __call__(self, draw, n, width):
        team = find_team()
        world,rank = (team.world,team.rank) if team else (1, 0)
        every = draw(n*world, width, generator=self.g, dtype=torch.float64)
        return every[_part_of(n*world, rank, world)]

# PCGrad changes the gradients of a part, so results depend on the number of processes
LOOPS = [nm for nm in turn_loops.LOOPS if nm!='pcgrad']
AMID = dict(alone=list, clip=lambda: [GradientClip(.1)], windows=lambda: [GradientAccumulation(n_batches=2)], ema=lambda: [EMA(.9)])

def mk_turns(nm, cbs):
    numbers,loop = Numbers(),turn_loops.LOOPS[nm]
    turn_loops.noise = lambda n: numbers(torch.randn, n, 3)
    turn_loops.uniform = lambda n: numbers(torch.rand, n, 1)
    bs = [tuple(t.double() if t.is_floating_point() else t for t in b) for b in loop.batches(6)]
    learn = loop.learner(cbs(), bs)
    learn.model.double()  # some loops amplify rounding errors
    learn.logger = lambda *args: None
    return learn

def turns(cases): return {(nm, k):train(partial(mk_turns, nm, AMID[k]), fit=lambda learn: learn.fit(1)) for nm,k in cases}

def test_loops_with_several_turns_train_as_in_one_process(monkeypatch):
    for k in ('noise', 'uniform'): monkeypatch.setattr(turn_loops, k, None)  # restored in the end
    cases = cover((nm, k) for nm in LOOPS for k in AMID if not (k=='windows' and nm in ('lbfgs', 'wolfe')))  # which is refused
    ranks,one = together(turns, cases),turns(cases)
    bad = {}
    for k,o in one.items():
        try: check_alike([r[k] for r in ranks], o)
        except AssertionError as e: bad[k] = str(e)[:200], differ(ranks[0][k]['weights'], o['weights'])
    assert not bad, bad

# --- how often gradients are exchanged

class Reduces:
    "Counts the exchanges in backward passes"
    n = 0
def hook(state, bucket):
    Reduces.n += 1
    return allreduce_hook(state, bucket)

def n_exchanges(cbs):
    "Return the numbers of exchanges and steps in a fit of 12 batches"
    learn = mk_learner(cbs(), dls=lambda: mk_dls(96))
    learn.to_ddp()
    Reduces.n,made = 0,torch.nn.parallel.DistributedDataParallel.__init__
    def init(self, *args, **kwargs):
        made(self, *args, **kwargs)
        self.register_comm_hook(None, hook)
    with replaced(torch.nn.parallel.DistributedDataParallel, '__init__', init): learn.fit(1)
    return Reduces.n,learn.count.opt_steps

WAYS = (list, lambda: [GradientAccumulation(n_batches=4)], lambda: [GradientAccumulation(32)], lambda: [MicroBatch(2)],
    lambda: [MicroBatch(2), GradientAccumulation(n_batches=4)], lambda: [SAM()])
def exchanges(): return [n_exchanges(o) for o in WAYS]

def test_gradients_are_exchanged_only_before_a_step():
    a,b = together(exchanges)
    assert a==b==[(12, 12), (3, 3), (3, 3), (12, 12), (3, 3), (24, 12)]

# --- random numbers, statistics

class Dropped(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner,self.drop,self.norm,self.seen = mlp(),nn.Dropout(.5),nn.BatchNorm1d(5),[]
    def forward(self, x):
        if self.training: self.seen.append(self.drop(torch.ones(64)).tolist())
        return self.inner(self.drop(self.norm(x)))

def drops():
    "Return the dropout masks and the results of fits that draw"
    res = []
    for cbs in (list, lambda: [EMA(.9, buffers='average')], lambda: [SWA(.5, buffers='recompute')]):
        learn = mk_learner(cbs(), model=Dropped).to_ddp()
        learn.fit(2)
        res.append(dict(seen=learn.model.seen, weights=result(learn)['weights'], valid=list(learn.validate())))
    return res

def test_each_process_draws_its_own_numbers_and_repeats_them():
    first,again = together(drops),together(drops)
    for a,b in zip(first, again, strict=True):
        for x,y in zip(a, b, strict=True): assert x['seen']==y['seen'] and all(map(torch.equal, x['weights'], y['weights']))
    for i,(x,y) in enumerate(zip(*first, strict=True)):
        same = [u==v for u,v in zip(x['seen'], y['seen'], strict=True)]
        # buffers='recompute' runs whole batches, as one process does
        assert sum(same)==(12 if i==2 else 0) and len(same)>=12
        assert all(map(torch.equal, x['weights'], y['weights'])), 'weights or statistics of batch norms differ'
        assert x['valid']==y['valid']

# --- refused

def refusals():
    def lbfgs(): train(lambda: mk_learner(opt=LBFGS), 'fsdp')
    def size(): mk_learner().to_ddp().find_batch_size(lambda bs: mk_dls(bs=bs).train)
    return [ending(f) for f in (size, lbfgs)]

def test_find_batch_size_and_sharded_lbfgs_are_refused():
    for size,lbfgs in together(refusals):
        assert size[0]=='RuntimeError' and 'find_batch_size in 2 processes' in size[1]
        assert lbfgs[0]=='ValueError' and 'LBFGS needs all weights as one vector' in lbfgs[1]
