"One, two and four processes see the same batches, and end with the same weights"
import math
from functools import partial
import pytest, torch
import turn_loops
from learnloop import (Callback, CheckFinite, DataLoaders, EMA, GradientAccumulation, GradientCheckpointing, GradientClip, GradualUnfreezing, Learner, LimitBatches,
    MicroBatch, MixedPrecision, OverfitBatches, ReduceLROnPlateau, ReloadLoaders, SAM, SWA, SpikeDetection, TimeLimit, TorchScheduler, ValidateCallback, ValidateEvery)
from learnloop.scale.share import part_of
from runs import SGD, TOL, check_alike, differ, mk_dls, mk_learner, mlp, result, train
from together import ending, together
from torch import nn
from torch.nn import functional as F

def groups(m): return [[*m[0].parameters()], [*m[2].parameters()]]
def masked(p, y):
    m = (y>0).float()
    return ((p-y)**2*m).sum()/m.sum()
def n_masked(learn): return (learn.y>0).sum()
class Spoilt(Callback):
    "Makes the loss of one process odd, in two batches: of rank 1, or of the one that is alone"
    agrees,order = True,5
    def __init__(self, k, graph_alone=False): self.k,self.graph_alone = k,graph_alone
    def after_loss(self):
        learn = self.learn
        if not learn.training or learn.train_iter not in (7, 8) or learn.peers.rank!=learn.peers.world-1: return
        learn.loss_grad = learn.loss_grad*self.k
        if not self.graph_alone: learn.loss = learn.loss*self.k

def switch(cb):
    if cb.learn.epoch==1: cb.learn.switch_opt(torch.optim.Adam, lr=.01)
def add_group(cb):
    if cb.learn.epoch==1: cb.learn.opt.add_param_group(dict(params=[*cb.learn.model[2].parameters()]))
def first_only(m): return [*m[0].parameters()]

double = dict(dtype=torch.float64)
LBFGS = partial(torch.optim.LBFGS, max_iter=4, history_size=3, line_search_fn='strong_wolfe')
SETUPS = dict(plain={}, adam=dict(opt=torch.optim.AdamW, lr=.01), batches=dict(cbs=lambda: [GradientAccumulation(n_batches=4)]),
    items=dict(cbs=lambda: [GradientAccumulation(20)]), counted=dict(cbs=lambda: [GradientAccumulation(20, count=n_masked)], loss=masked),
    parts=dict(cbs=lambda: [MicroBatch(1)]), windows_of_parts=dict(cbs=lambda: [MicroBatch(1), GradientAccumulation(n_batches=4)]), sam=dict(cbs=lambda: [SAM()]),
    sam_windows=dict(cbs=lambda: [SAM(), GradientAccumulation(n_batches=2)]), clip=dict(cbs=lambda: [GradientClip(.1)]),
    clip_inf=dict(cbs=lambda: [GradientClip(.1, norm_type=math.inf)]), clip_value=dict(cbs=lambda: [GradientClip(.01, algorithm='value')]),
    clip_adaptive=dict(cbs=lambda: [GradientClip(.05, algorithm='adaptive')]), clip_skip=dict(cbs=lambda: [Spoilt(math.nan, True), GradientClip(skip_nonfinite=True)]),
    finite=dict(cbs=lambda: [CheckFinite()]), finite_skip=dict(cbs=lambda: [Spoilt(math.nan), CheckFinite('skip')]),
    finite_grads=dict(cbs=lambda: [Spoilt(math.nan, True), CheckFinite('skip')]), finite_loss=dict(cbs=lambda: [Spoilt(math.inf), CheckFinite('skip', grads=False)]),
    finite_stop=dict(cbs=lambda: [Spoilt(math.nan), CheckFinite('stop')]), spikes=dict(cbs=lambda: [Spoilt(100.), SpikeDetection(3, 3)]),
    time=dict(cbs=lambda: [TimeLimit(hours=1)]), no_time=dict(cbs=lambda: [TimeLimit(seconds=1e-9)]), ema=dict(cbs=lambda: [EMA(.9)]),
    swa=dict(cbs=lambda: [SWA(.5, swa_lr=.01)]), unfreeze=dict(cbs=lambda: [GradualUnfreezing({0:-1, 1:0})], splitter=groups),
    torchsched=dict(cbs=lambda: [TorchScheduler(partial(torch.optim.lr_scheduler.StepLR, step_size=3), 'step')]), limit=dict(cbs=lambda: [LimitBatches(.5, 1)]),
    overfit=dict(cbs=lambda: [OverfitBatches(2)]), reload=dict(cbs=lambda: [ReloadLoaders(1, lambda learn: mk_dls(16+8*int(torch.randint(4, ()))).train)]),
    validate=dict(cbs=lambda: [ValidateCallback(every_steps=3), ValidateEvery(2)]), asked=dict(cbs=lambda: [ValidateCallback(when=lambda learn: learn.peers.rank==1)]),
    recomputed=dict(cbs=lambda: [GradientCheckpointing(nn.Linear)]), switch=dict(cbs=lambda: [Callback(before_epoch=switch)]),
    frozen=dict(cbs=lambda: [Callback(before_epoch=add_group)], model=lambda: frozen(mlp()), splitter=first_only),
    lbfgs=double|dict(opt=partial(torch.optim.LBFGS, lr=.1, max_iter=4)), wolfe=double|dict(opt=LBFGS),
    fp16=dict(cbs=lambda: [Spoilt(math.nan, True), MixedPrecision('fp16', init_scale=128.)], tol=.01), bf16=dict(cbs=lambda: [MixedPrecision('bf16')], tol=.02),
    few=dict(dls=lambda: mk_dls(40, 1)), fewer=dict(dls=lambda: mk_dls(40, 17)), one_batch=dict(dls=lambda: mk_dls(5, 3)))
FITS = dict(one_cycle=lambda learn: learn.fit_one_cycle(2, .1), steps=lambda learn: learn.fit(max_steps=11, steps_per_epoch=4), tuned=lambda learn: learn.fine_tune(1),
    flat=lambda learn: learn.fit_flat_cos(2), searched=lambda learn: tuple(learn.lr_find(num_it=30, show_plot=False)))
SETUPS |= dict.fromkeys(FITS, dict(splitter=groups))
NOT_FSDP = 'lbfgs','wolfe','frozen'

def frozen(m):
    m[2].requires_grad_(False)
    m[2].requires_grad_(True)
    return m

def run(nm, how):
    kw = dict(SETUPS[nm])
    cbs,_ = kw.pop('cbs', list),kw.pop('tol', None)
    return train(lambda: mk_learner(cbs(), **kw), how, FITS.get(nm, lambda learn: learn.fit(3)))
def runs(how, names): return {nm:run(nm, how) for nm in names}

@pytest.mark.parametrize('n,how', [(2, 'ddp'), (4, 'ddp'), (2, 'fsdp')])
def test_as_one_process(n, how):
    names = [nm for nm in SETUPS if how=='ddp' or nm not in NOT_FSDP]
    ranks,one = together(runs, how, names, n=n, timeout=100),runs(how, names)
    bad = {}
    for nm in names:
        try:
            check_alike([o[nm] for o in ranks], one[nm], SETUPS[nm].get('tol', TOL))
            assert all(o[nm]['came']==one[nm]['came'] for o in ranks)
        except AssertionError as e: bad[nm] = str(e)[:300], differ(ranks[0][nm]['weights'], one[nm]['weights'])
    assert not bad, bad
