"Weight averaging: matches PyTorch's AveragedModel and formulas, does not change training, and always restores live weights"
from functools import partial
import pytest, torch
from helpers import act, covering, ending, listener, quiet, same, weights
from learnloop import EMA, SWA, Callback, DataLoaders, GradientAccumulation, Learner, MixedPrecision, Recorder, TrainEvalCallback, WeightAveraging
from torch import nn
from torch.nn import functional as F
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn, get_swa_multi_avg_fn, update_bn

cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason='needs CUDA')
devices = pytest.mark.parametrize('device', ['cpu', pytest.param('cuda', marks=cuda)])
KINDS = dict(mean=WeightAveraging, ema=partial(EMA, .9), swa=partial(SWA, .5))
kinds = pytest.mark.parametrize('kind', KINDS)
N,BS = 8,4

def mk_model(norm=False, seed=0):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(3, 8), *[nn.BatchNorm1d(8)]*norm, nn.ReLU(), nn.Linear(8, 1))
def data(n=N, seed=1):
    g = torch.Generator().manual_seed(seed)
    xs = [torch.randn(BS, 3, generator=g) for _ in range(n)]
    return [(x, x.sum(1, keepdim=True)) for x in xs]
def mk_learner(cbs=(), model=None, device='cpu', dls=None, **kwargs):
    dls = DataLoaders(*(dls or (data(), data(2, seed=2))), device=device)
    return Learner(dls, model or mk_model(), F.mse_loss, torch.optim.Adam, lr=.05, cbs=[TrainEvalCallback(), Recorder(), *cbs], default_cbs=False, **kwargs)

def params(m): return [p.detach().clone() for p in m.parameters()]
def live_in(cb, model): return [cb.live[k] for k,_ in model.named_parameters()]
def avgs_in(cb, model): return [cb.averages[k] for k,_ in model.named_parameters()]
def snapshots(learn, n_epoch=3, **kwargs):
    "Weights after each optimizer step of a fit"
    res = []
    quiet(learn, n_epoch, cbs=Callback(name='snap', after_zero_grad=lambda cb: res.append(params(cb.learn.model))), **kwargs)
    return res

# --- the arithmetic

@devices
@pytest.mark.parametrize('cb,fn', [(partial(EMA, .9, warmup=False), get_ema_multi_avg_fn(.9)), (WeightAveraging, get_swa_multi_avg_fn())])
@pytest.mark.parametrize('every', [1, 3])
def test_averages_match_pytorch(cb, fn, every, device):
    learn,ref = mk_learner([cb := cb(every_steps=every)], device=device),AveragedModel(mk_model().to(device), multi_avg_fn=fn)
    for i,ps in enumerate(snapshots(learn)):
        if (i+1)%every: continue
        m = mk_model().to(device)
        for p,q in zip(m.parameters(), ps, strict=True): p.data.copy_(q)
        ref.update_parameters(m)
    assert cb.n_averaged==3*N//every and same(avgs_in(cb, learn.model), params(ref.module)) and same(params(learn.model), params(ref.module))

def test_half_life_counts_optimizer_steps():
    assert EMA(half_life=10).decay**10==pytest.approx(.5) and EMA(half_life=10, every_steps=5).decay**2==pytest.approx(.5)

@pytest.mark.parametrize('dtype', [torch.bfloat16, torch.float16])
def test_weights_in_16_bits_are_averaged_in_float32(dtype):
    "In bfloat16, an average stands still as soon as the share of a new weight is below its resolution"
    p = nn.Parameter(torch.ones(3, dtype=dtype))
    model = nn.Module()
    model.p = p
    mk_learner([ema := EMA(.999, warmup=False)], model=model)
    want = torch.ones(3, dtype=torch.float64)
    ema.update()
    for i in range(1, 50):
        p.data.fill_(1+i/8)
        want = .999*want + .001*p.data.double()
        ema.update()
    assert ema.averages['p'].dtype is torch.float32
    torch.testing.assert_close(ema.averages['p'].double(), want, rtol=1e-5, atol=0)
    live = p.data.clone()
    with ema.swapped(): assert torch.equal(p.data, ema.averages['p'].to(dtype))
    assert torch.equal(p.data, live)

# --- when

def test_it_counts_real_optimizer_steps_alone_with_accumulation_and_its_flush():
    learn = mk_learner([ema := EMA(), GradientAccumulation(n_batches=3)])
    quiet(learn, 2)
    assert ema.n_steps==ema.n_averaged==learn.count.opt_steps==2*3  # of 8 batches: 3, 3 and the rest

def test_skipped_amp_steps_are_not_averaged():
    learn = mk_learner([ema := EMA(), mp := MixedPrecision(init_scale=2.**40)])
    quiet(learn, 3)
    assert mp.skipped>5 and ema.n_steps==learn.count.opt_steps==3*N-mp.skipped

def test_cancelled_steps_are_not_averaged():
    for order in (0, 99):
        learn = mk_learner([ema := EMA(), listener('stop', ['before_step'], lambda cb, e: act(cb, 'CancelStepException'), order=order)])
        quiet(learn, 1)
        assert ema.averages is None and ema.live is None and ema.state_dict()=={}

def test_loaders_without_a_length():
    def gen():
        while True: yield from data()
    for avg,n in ((WeightAveraging(start_pct=.5), 16), (SWA(.75), 2)):
        quiet(mk_learner([avg], dls=(gen(), data(2))), 4, steps_per_epoch=N)
        assert avg.n_averaged==n
    quiet(mk_learner([avg := WeightAveraging(start_pct=.5)], dls=(gen(), data(2))), max_steps=2*N)
    assert avg.n_averaged>=8
    stream = mk_learner([SWA(.5, swa_lr=.01)], dls=(iter(data()), data(2)))
    with pytest.raises(ValueError, match='swa_lr needs the length'): quiet(stream, 2)

# --- training isn't changed

@kinds
def test_training_is_the_same_bit_for_bit_over_several_fits(kind):
    plain,learn = mk_learner(),mk_learner([cb := KINDS[kind]()])
    for _ in range(3):
        for o in (plain, learn): quiet(o, 2)
        learn.validate()
        assert same(params(plain.model), live_in(cb, learn.model)) and not same(plain.model, learn.model)

# --- swapped in

STOPS = ['CancelBatchException', 'CancelValidException', 'CancelEpochException', 'CancelFitException', 'ValueError', 'KeyboardInterrupt']
@pytest.mark.every(2)
@covering(order=[-20, 99],
    what=STOPS,
    e=['before_validate', 'before_fetch', 'before_batch', 'after_pred', 'after_loss', 'after_batch', 'after_validate', 'cleanup_validate'])
def test_live_weights_come_back_however_a_validation_ends(e, what, order):
    plain = mk_learner()
    quiet(plain, 1)
    def hear(cb, _):
        if not cb.learn.training and cb.learn.epoch==0: act(cb, what)
    learn = mk_learner([ema := EMA(at_end=False), listener('stop', [e], hear, order=order)])
    ending(lambda: quiet(learn, 1))
    assert ema.live is None and ema._mine==[] and same(plain.model, learn.model)
    quiet(learn, 0)

def test_no_fit_inside_swapped():
    learn = mk_learner([ema := EMA(at_end=False)])
    quiet(learn, 1)
    before = params(learn.model)
    with pytest.raises(RuntimeError, match='swapped'), ema.swapped(): quiet(learn, 1)
    assert same(before, params(learn.model))
    with pytest.raises(RuntimeError, match='averages are in the model'), ema.swapped(): ema.update()
    quiet(learn, 1)

def test_averages_of_another_model_are_refused():
    learn = mk_learner([ema := EMA(at_end=False)])
    quiet(learn, 1)
    learn.model[2] = nn.Linear(8, 2)
    for f in (learn.validate, lambda: learn.fit(1, reset_opt=True)):
        with pytest.raises(ValueError, match=r'2.weight.*reset\(\)'): f()
    with pytest.raises(ValueError), ema.swapped(): pass
    assert ema.live is None and ema._mine==[]

# --- buffers

@pytest.mark.parametrize('buffers', ['copy', 'average', 'recompute'])
def test_buffers(buffers):
    learn = mk_learner([avg := WeightAveraging(buffers=buffers)], model=mk_model(norm=True))
    stats = []
    quiet(learn, 2, cbs=Callback(after_zero_grad=lambda cb: stats.append(cb.learn.model[1].running_mean.clone())))
    bn,plain = learn.model[1],mk_learner(model=mk_model(norm=True))
    quiet(plain, 2)
    if buffers=='copy': assert torch.equal(bn.running_mean, plain.model[1].running_mean)
    if buffers=='average': torch.testing.assert_close(bn.running_mean, torch.stack(stats).mean(0))
    if buffers=='recompute':
        m = mk_model(norm=True)
        m.load_state_dict(avg.averages, strict=False)
        update_bn(data(), m)
        for a,b in zip(m[1].buffers(), bn.buffers(), strict=True): assert torch.equal(a, b)
    assert [m.training for m in learn.model.modules()]==[False]*5 and bn.momentum==.1
    learn.fit(0)  # puts the live weights and buffers in, and averages again
    with learn.removed_cbs(avg): before = learn.validate()
    avg._swap_out(learn.model)
    assert same(learn.model, plain.model) and before

def test_an_error_while_recomputing_leaves_everything_as_it_was():
    class Fails:
        def __init__(self): self.fails = False
        def __iter__(self):
            yield from data(3)
            if self.fails: raise OSError('disk')
    dl = Fails()
    learn = mk_learner([avg := WeightAveraging(buffers='recompute', at_end=False)], model=mk_model(norm=True), dls=(dl, data(2)))
    quiet(learn, 1)
    before,dl.fails,avg.stats = weights(learn.model),True,None
    with pytest.raises(OSError, match='disk'): learn.validate()
    assert same(before, weights(learn.model)) and learn.model[1].momentum==.1 and avg.live is None and avg._mine==[]

def test_an_error_while_recomputing_at_the_end_leaves_the_live_weights():
    dl = data()
    def spoil(cb): cb.learn.dls.train[3] = None
    learn = mk_learner([avg := WeightAveraging(buffers='recompute'), Callback(after_epoch=spoil)], model=mk_model(norm=True), dls=(dl, None))
    plain = mk_learner(model=mk_model(norm=True), dls=(data(), None))
    with pytest.raises(TypeError): quiet(learn, 1)
    quiet(plain, 1)
    assert same(learn.model, plain.model) and avg.live is None

def test_recompute_needs_a_loader_that_can_be_iterated_again():
    with pytest.raises(ValueError, match='recompute'): mk_learner([SWA(buffers='recompute')], model=mk_model(norm=True), dls=(iter(data()), data())).fit(1)

# --- SWA's learning rate

def test_swa_lr_by_groups():
    def split(m): return [list(m[0].parameters()), list(m[2].parameters())]
    learn = mk_learner([SWA(.5, swa_lr=[.01, .02])], splitter=split)
    lrs = []
    quiet(learn, 2, lr=[.1, .2], cbs=Callback(before_backward=lambda cb: lrs.append([g['lr'] for g in cb.learn.opt.param_groups])))
    assert lrs[0]==[.1, .2] and lrs[-1]==pytest.approx([.01, .02])
    with pytest.raises(ValueError, match='3 values for 2'): mk_learner([SWA(swa_lr=[1., 2., 3.])], splitter=split).fit(1)

def test_swa_lr_has_one_owner():
    class Sched(Callback):
        owns = {'lr'}
    with pytest.raises(ValueError, match='both set lr'): mk_learner([SWA(swa_lr=.1), Sched()]).fit(1)
    quiet(mk_learner([SWA(), Sched()]), 1)

@pytest.mark.parametrize('cls,kwargs', [(EMA, dict(decay=1.)), (EMA, dict(decay=-.1)), (EMA, dict(half_life=0)), (EMA, dict(half_life=3, every_epochs=1)),
    (WeightAveraging, dict(every_steps=0.5)), (WeightAveraging, dict(every_steps=1, every_epochs=1)), (WeightAveraging, dict(start_pct=1.)),
    (WeightAveraging, dict(start_step=-1)), (WeightAveraging, dict(buffers='move')), (SWA, dict(anneal_pct=0)), (SWA, dict(start_pct=-1))])
def test_wrong_settings_fail_in_the_constructor(cls, kwargs):
    with pytest.raises(ValueError): cls(**kwargs)
