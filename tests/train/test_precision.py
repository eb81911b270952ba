"Precision: bit-identical to the hand-written torch.amp loop; autocast never leaks; skipped steps are no steps; state resumes"
import pytest, torch
from helpers import act, covering, ending, listener, same
from learnloop import Callback, DataLoaders, GradientAccumulation, GradientClip, Learner, MixedPrecision, TrainEvalCallback, TruePrecision
from torch import nn
from torch.nn import functional as F

cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason='needs CUDA')
devices = pytest.mark.parametrize('device', ['cpu', pytest.param('cuda', marks=cuda)])
INNER = ['before_batch', 'after_pred', 'after_loss', 'before_backward', 'after_backward', 'before_step', 'after_step', 'before_zero_grad', 'after_zero_grad', 'after_batch']
N,BS = 12,4

def mk_model(device='cpu', seed=0):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 1)).to(device)
def data(n=N, device='cpu', seed=1):
    g = torch.Generator().manual_seed(seed)
    xs = [torch.randn(BS, 3, generator=g) for _ in range(n)]
    return [(x.to(device), x.sum(1, keepdim=True).to(device)) for x in xs]
def mk_learner(cbs=(), device='cpu', model=None, opt_func=None, loss_func=F.mse_loss, **kwargs):
    opt_func = opt_func or (lambda ps, lr: torch.optim.Adam(ps, lr=lr))
    dls = DataLoaders(data(device=device), data(2, device, seed=2), device=device)
    lr = None if isinstance(opt_func, dict) else .05  # those made have rates of their own
    return Learner(dls, model or mk_model(device), loss_func, opt_func, lr=lr, cbs=[TrainEvalCallback(), *cbs], default_cbs=False, **kwargs)
def autocasts(): return [torch.is_autocast_enabled(o) for o in ('cpu', 'cuda')]

class Overflow(Callback):
    "Gradients that overflow, in the loss of some batches: multiplying the loss moves no finite gradient of the others"
    order,run_valid = -1,False
    def __init__(self, at): self.at,self.n = at,0
    def after_loss(self):
        if self.n in self.at: self.learn.loss_grad = self.learn.loss_grad*1e38*1e38
        self.n += 1

def by_hand(dtype, n_epoch, device='cpu', scaler=None, overflow=(), n_acc=1, clip=None, opt=None):
    "The loop of torch's docs"
    model = mk_model(device)
    opt = torch.optim.Adam(model.parameters(), lr=.05) if opt is None else opt(model)
    scaler = torch.amp.GradScaler(device, **(scaler or {}), enabled=dtype is torch.float16)
    n = skipped = 0
    for _ in range(n_epoch):
        for x,y in data(device=device):
            with torch.autocast(device, dtype): loss = F.mse_loss(model(x).float(), y)
            if n in overflow: loss = loss*1e38*1e38
            scaler.scale(loss/n_acc).backward()
            n += 1
            if n%n_acc: continue
            scaler.unscale_(opt)
            if clip: nn.utils.clip_grad_norm_(model.parameters(), clip)
            before = scaler.get_scale()
            scaler.step(opt)
            scaler.update()
            skipped += scaler.get_scale()<before
            opt.zero_grad()
    return model,scaler,skipped

@devices
def test_bf16_equals_the_loop_by_hand(device):
    learn = mk_learner([MixedPrecision('bf16')], device)
    learn.fit(3)
    assert same(learn.model, by_hand(torch.bfloat16, 3, device)[0])

@devices
@covering(2, clip=[None, .5], n_acc=[1, 4], init_scale=[2.**10, 2.**40])
def test_fp16_equals_the_loop_by_hand_with_overflows_accumulation_and_clipping(device, init_scale, n_acc, clip):
    cfg,overflow = dict(init_scale=init_scale, growth_interval=5),{7, 20, 21}
    mp = MixedPrecision('fp16', **cfg)
    learn = mk_learner([mp, Overflow(overflow), GradientAccumulation(n_batches=n_acc), *[GradientClip(clip)]*bool(clip)], device)
    learn.fit(8)
    model,scaler,skipped = by_hand(torch.float16, 8, device, cfg, overflow, n_acc, clip)
    assert same(learn.model, model) and all(o.isfinite().all() for o in model.parameters())
    assert mp.scaler.state_dict()==scaler.state_dict() and mp.skipped==skipped>0 and learn.count.opt_steps==8*N//n_acc-skipped

def test_case_36_skipped_steps_are_no_optimizer_steps():
    outcomes = []
    learn = mk_learner([mp := MixedPrecision(init_scale=8.), Overflow({0, 5}), Callback(after_step=lambda cb: outcomes.append(cb.learn.outcome['step']))])
    learn.fit(1)
    assert mp.skipped==2 and learn.count.opt_steps==N-2 and learn.count.batches==N
    assert [i for i,o in enumerate(outcomes) if o!='done']==[0, 5]

@pytest.mark.parametrize('e', ['before_step', 'after_step', 'after_cancel_step'])
def test_a_step_that_a_later_callback_cancels_leaves_the_scaler_in_order(e):
    stop = listener('stop', [e], lambda cb, _: act(cb, 'CancelStepException'), order=20)
    learn = mk_learner([MixedPrecision(init_scale=8., growth_interval=3), Overflow({2}), stop])
    learn.fit(1)
    assert learn.mixed_precision.scaler.get_scale()==4*2**3

@covering(order=[-20, 20], at=[*((True, e) for e in INNER), *((False, e) for e in INNER[:3]+INNER[-1:])],
    what=['CancelBatchException', 'CancelEpochException', 'CancelFitException', 'ValueError', 'KeyboardInterrupt'])
def test_autocast_never_leaks_out_of_a_cancelled_or_failed_batch(what, at, order):
    training,e = at
    seen = []
    stop = listener('stop', [e], lambda cb, _: cb.learn.training==training and act(cb, what), order=order)
    after = listener('after', ['after_batch', 'cleanup_batch', 'cleanup_fit'], lambda cb, e: seen.append(any(autocasts()) and e!='cleanup_batch'), order=-30)
    learn = mk_learner([MixedPrecision('bf16'), stop, after])
    ending(lambda: learn.fit(1))
    assert not any(autocasts()) and not any(seen)
    learn.remove_cb(stop)
    learn.fit(1)
    assert learn.outcome['fit']=='done'
@pytest.mark.parametrize('e', ['before_batch', 'after_pred', 'after_loss'])
def test_validate_within_a_batch_changes_no_gradient(e):
    "Autocast keeps cast weights, and those that it cast without a graph would cut the gradients"
    models = []
    for inner in (False, True):
        cb = Callback(**{e:lambda cb, inner=inner: cb.learn.training and inner and cb.learn.validate()})
        cb.order = 20
        learn = mk_learner([MixedPrecision('bf16'), cb])
        learn.fit(1)
        assert not any(autocasts())
        models.append(learn.model)
    assert same(*models) and not same(models[0], mk_model())

# --- errors

def test_gradients_that_are_no_numbers_end_the_fit():
    learn = mk_learner([MixedPrecision()], loss_func=lambda p, y: F.mse_loss(p, y)*float('nan'))
    with pytest.raises(FloatingPointError, match='inf or nan before any scaling'): learn.fit(9)
    assert learn.count.opt_steps==0 and all(o.isfinite().all() for o in learn.model.parameters())

@pytest.mark.parametrize('args,kwargs,exc', [(['fp61'], {}, ValueError), ([None], {}, ValueError), (['bf16'], dict(init_scale=2.), TypeError),
    (['fp16'], dict(init_scal=2.), TypeError), (['fp16'], dict(growth_factor=.5), AssertionError)])
def test_wrong_settings_fail_in_the_constructor(args, kwargs, exc):
    with pytest.raises(exc): MixedPrecision(*args, **kwargs)

def test_weights_in_float16_and_fp16_are_refused_before_training():
    with pytest.raises(ValueError, match=r'0.weight is in float16.*learn.model.float\(\)'): mk_learner([MixedPrecision()], model=mk_model().half()).fit(1)
    learn = mk_learner([MixedPrecision(init_scale=8.)], model=mk_model().bfloat16())
    learn.fit(1)  # float32's range: scaling does no harm
    assert learn.count.opt_steps==N

def test_methods_replace_one_another():
    learn = mk_learner()
    assert learn.to_fp16(init_scale=4.) is learn and learn.mixed_precision.kwargs==dict(init_scale=4.)
    assert learn.to_bf16().mixed_precision.amp_mode=='bf16'
    assert not hasattr(learn.to_fp32(), 'mixed_precision') and learn.to_fp32() is learn

# --- true precision

@pytest.mark.parametrize('dtype', [torch.bfloat16, torch.float64])
def test_true_precision_equals_the_loop_by_hand(dtype):
    learn = mk_learner([TruePrecision(dtype)])
    learn.fit(2)
    model,loss_dtype = mk_model().to(dtype),torch.float64 if dtype is torch.float64 else torch.float32
    opt = torch.optim.Adam(model.parameters(), lr=.05)
    for _ in range(2):
        for x,y in data():
            F.mse_loss(model(x.to(dtype)).to(loss_dtype), y.to(loss_dtype)).backward()
            opt.step()
            opt.zero_grad()
    assert same(learn.model, model) and learn.model[0].weight.dtype is dtype

def test_true_precision_evaluates_too():
    learn = mk_learner([TruePrecision()])
    assert learn.get_preds()[0].dtype is torch.float32 and learn.model[0].weight.dtype is torch.bfloat16
    with pytest.raises(ValueError, match='must be one of'): TruePrecision(torch.int8)
