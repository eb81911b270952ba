"Pairs of callbacks that once interfered with each other"
import pytest, torch
from helpers import Module, quiet
from learnloop import *
from torch import nn
from torch.nn import functional as F

def mk(cbs=(), n=8, classes=False, model=None, dls=None, **kwargs):
    torch.manual_seed(3)
    model = model or nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3 if classes else 1))
    xs = [torch.randn(4, 4) for _ in range(n)]
    bs = [(x, torch.randint(3, (4,)) if classes else x.sum(1, keepdim=True)) for x in xs]
    loss = F.cross_entropy if classes else F.mse_loss
    return Learner(DataLoaders(*(dls or (bs, bs[:2])), device='cpu'), model, loss, torch.optim.SGD, lr=.05, cbs=list(cbs), **kwargs)

def fitted(learn, *args, **kwargs):
    torch.manual_seed(5)
    return quiet(learn, *args, **kwargs)
def ws(learn): return torch.cat([p.detach().flatten() for p in learn.model.parameters()])

@pytest.mark.parametrize('cb', [MixUp, lambda: CutMix(ndim=1), lambda: MixUp(per_item=False)], ids=['mixup', 'cutmix', 'one share'])
def test_sam_climbs_and_steps_on_the_same_mixed_batch(cb):
    # a radius that is next to nothing: the second pass is the first one, but for rounding in float32
    def learner(cbs): return fitted(mk(cbs, classes=True, model=Net()), 1)
    class Net(Module):
        def __init__(self):
            torch.manual_seed(3)
            self.m = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3))
        def forward(self, x): return self.m(x)
    torch.testing.assert_close(ws(learner([cb()])), ws(learner([cb(), SAM(1e-6)])), rtol=0, atol=1e-5)

def test_two_averages_are_refused():
    with pytest.raises(ValueError, match='EMA and SWA in one fit'): fitted(mk([EMA(), SWA()]), 1)

def test_gradients_that_are_kept_after_unscaling_fit_those_that_come():
    class Every2(Callback):
        order,run_valid = 15,False
        def before_step(self):
            if self.iter%2==0: raise CancelStepException
        def before_zero_grad(self):
            if self.iter%2==0: raise CancelZeroGradException
    plain,fp16 = fitted(mk([Every2()]), 2),fitted(mk([Every2(), MixedPrecision('fp16', init_scale=2.**10)]), 2)
    torch.testing.assert_close(ws(plain), ws(fp16), rtol=0, atol=5e-3)  # the precision of float16

@pytest.mark.parametrize('order', [0, 55])
def test_an_epoch_may_be_skipped(order):
    @on(event.before_epoch, when=lambda learn: learn.epoch<2)
    def skip(cb): raise CancelEpochException
    cb = Callback(before_epoch=skip)
    cb.order = order
    learn = fitted(mk([cb]), 3)
    assert [o[0] is None for o in learn.recorder.values]==[True, True, False] and learn.count.batches==8

@pytest.mark.parametrize('e', [CancelValidException, CancelTrainException])
def test_a_skipped_phase_shows_no_values_of_the_epoch_before(e):
    phase = 'validate' if e is CancelValidException else 'train'
    @on(f'before_{phase}', when=lambda learn: learn.epoch==1)
    def skip(cb): raise e
    learn = fitted(mk([Callback(**{f'before_{phase}':skip})]), 2)
    i = int(phase=='validate')
    assert learn.recorder.values[0][i] is not None and learn.recorder.values[1][i] is None

def test_a_cancelled_part_leaves_no_gradients():
    @on(event.after_pred, once=2)
    def cancel(cb): raise CancelBatchException
    seen = []
    look = Callback(after_batch=lambda cb: seen.append(cb.learn.model[0].weight.grad is not None) if cb.learn.training else None)
    skip = Callback(after_pred=cancel)
    skip.run_valid = False
    fitted(mk([MicroBatch(2), skip, look]), 1)
    assert not any(seen)

@pytest.mark.parametrize('length', [True, False])
def test_steps_at_the_end_of_a_loader_are_seen_with_and_without_a_length(length):
    bs = [(torch.ones(4, 4), torch.ones(4, 1))]*7
    class Stream:
        def __iter__(self): return iter(bs)
    val = ValidateCallback(every_steps=3, name='test', dl=bs[:1])
    sched = TorchScheduler(lambda opt: torch.optim.lr_scheduler.ExponentialLR(opt, .5), unit='step')
    learn = fitted(mk([GradientAccumulation(n_batches=3), val, sched], dls=(bs if length else Stream(), bs[:1])), 2)
    assert [o['step'] for o in learn.recorder.records]==[3, 6] and learn.recorder.lrs[7]==pytest.approx(.05*.5**3)

def test_numbers_of_files_are_never_used_twice(tmp_path):
    learn = mk([SaveModelCallback(every_epoch=True)], path=tmp_path)
    fitted(learn, 4, start_epoch=2)
    fitted(learn, 2)
    assert sorted(o.stem for o in (tmp_path/'models').iterdir())==['model_2', 'model_3', 'model_4', 'model_5']

@pytest.mark.parametrize('kwargs,what', [(dict(moms=.9), 'moms is 0.9'), (dict(moms=(.9, .8)), 'must be three')])
def test_moms_are_three(kwargs, what):
    with pytest.raises(ValueError, match=what): mk().fit_one_cycle(1, **kwargs)

@pytest.mark.parametrize('kwargs', [dict(lr_mult=0), dict(base_lr=slice(1e-3))])
def test_fine_tune_checks_before_it_trains(kwargs):
    with pytest.raises(ValueError, match='fine_tune'): mk().fine_tune(1, **kwargs)

class Kept(Module):
    "A model with a memory, set to zero in place"
    def __init__(self):
        self.lin,self.h = nn.Linear(4, 1),torch.zeros(4, 1)
    def forward(self, x):
        self.h = .5*self.h.detach() + self.lin(x)
        return self.h
    def reset(self): self.h = self.h.detach().clone().zero_() if self.h.grad_fn else self.h.zero_()

def test_evaluations_leave_a_memory_that_is_zeroed_in_place():
    sums = []
    for cbs in ([], [ValidateCallback(every_steps=2)]):
        torch.manual_seed(0)
        seen,learn = [],mk([ModelResetter(), *cbs], model=Kept())
        fitted(learn, 1, cbs=Callback(before_batch=lambda cb, seen=seen: seen.append(cb.learn.model.h.sum().item()) if cb.learn.training else None))
        sums.append(seen)
    assert sums[0]==sums[1] and any(sums[0])

class Ones(torch.utils.data.Dataset):
    def __len__(self): return 10
    def __getitem__(self, i): return torch.full((4,), float(i)),torch.zeros(1)

def test_predicting_inside_a_validation_leaves_the_workers_of_it_alone():
    dl = torch.utils.data.DataLoader(Ones(), 2, num_workers=1, persistent_workers=True)
    seen = []
    @on(event.after_batch, when=lambda learn: not learn.training and learn.phases['evaluate'] not in learn.open)
    def look(cb):
        seen.append(cb.learn.iter)
        if cb.learn.iter==1: cb.learn.get_preds()
    fitted(mk([Callback(after_batch=look)], dls=([(torch.ones(2, 4), torch.ones(2, 1))], dl)), 1)
    assert seen==[0, 1, 2, 3, 4]
