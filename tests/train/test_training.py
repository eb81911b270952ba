"Accumulation, clipping, frozen statistics, memory formats, checkpointing, SAM: each compared to a computation by hand"
import math
from contextlib import nullcontext
from copy import deepcopy
from functools import partial
import pytest, torch
from fastcore.basics import camel2snake
from torch import nn
from torch.nn import functional as F
from torch.nn.utils import clip_grad_norm_
from torch.testing import assert_close
from helpers import LR, Module, act, batches, covering, listener, mk_learner, mk_model, same, weights
from learnloop import Checks, Callback, CancelBackwardException, DataLoaders, MixedPrecision, event, on
from learnloop.train.clip import *
from learnloop.train.training import *

SIZES = dict(even=[4]*8, tail=[4]*7, short_last=[4]*6+[2], uneven=[1, 5, 2, 8, 3, 3, 7, 4, 1], bigger_than_window=[20, 3, 30, 1])
SGD,Adam = torch.optim.SGD,torch.optim.Adam
def momentum(ps, **kw): return SGD(ps, momentum=.9, **kw)

def data(sizes, seed=0, exact=False):
    "Batches of these sizes; of small whole numbers if `exact`"
    g = torch.Generator().manual_seed(seed)
    def mk(*shape): return torch.randint(-2, 3, shape, generator=g).float() if exact else torch.randn(*shape, generator=g)
    return [(mk(n, 2), mk(n, 1)) for n in sizes]
def cat(bs): return tuple(map(torch.cat, zip(*bs, strict=True)))

class NoLength:
    "A loader without a length"
    def __init__(self, bs): self.bs = bs
    def __iter__(self): return iter(self.bs)
class Longer(NoLength):
    "A loader that gives fewer batches than its length"
    def __len__(self): return len(self.bs)+2

def windows(bs, n_acc=None, n_batches=None, size=lambda b: len(b[0])):
    "What accumulates, by hand: lists of batches"
    res,open_ = [],[]
    for b in bs:
        open_.append(b)
        if (len(open_)>=n_batches) if n_batches else sum(map(size, open_))>=n_acc:
            res.append(open_)
            open_ = []
    return res + [open_]*bool(open_)

def by_hand(wins, opt_func=SGD, n_epoch=1, clip=None, loss_func=F.mse_loss, model=None, lr=LR):
    "One step on the union of each window"
    model = mk_model() if model is None else model
    opt = opt_func(model.parameters(), lr=lr)
    for x,y in [cat(w) for w in wins]*n_epoch:
        loss_func(model(x), y).backward()
        if clip: clip_grad_norm_(model.parameters(), clip)
        opt.step()
        opt.zero_grad()
    return model

def fitted(dl, *cbs, n_epoch=1, opt_func=SGD, **kw):
    learn = mk_learner([*cbs], dls=DataLoaders(dl), opt_func=opt_func, **kw)
    learn.fit(n_epoch)
    return learn

# --- accumulation: rows 3 and 4 of the pain list, invariant 6

small_windows = pytest.mark.filterwarnings('ignore:GradientAccumulation. n_acc is')

@pytest.mark.every(2)
@small_windows
@covering(2, loader=[list, NoLength],
    clip=[None, .5],
    opt_func=[SGD, momentum, Adam],
    kw=[dict(n_acc=8), dict(n_acc=10), dict(n_batches=3), dict(n_batches=1)],
    sizes=SIZES)
def test_weights_are_those_of_the_big_batch(sizes, kw, opt_func, clip, loader):
    bs = data(SIZES[sizes])
    wins = windows(bs, **kw)
    learn = fitted(loader(bs), GradientAccumulation(**kw), *[GradientClip(clip)]*bool(clip), opt_func=opt_func, n_epoch=2)
    want = by_hand(wins, opt_func, 2, clip)
    # sums are in another order, and Adam divides by small ones
    assert_close(weights(learn.model), weights(want), rtol=1e-4, atol=1e-5)
    assert learn.count.opt_steps==2*len(wins) and learn.count.batches==2*len(bs)
    assert all(p.grad is None for p in learn.model.parameters())

@small_windows
@pytest.mark.parametrize('loader', [list, NoLength])
@pytest.mark.parametrize('sizes', [[4]*8, [2, 2, 4]*2, [4, 4, 4], [8, 8, 4, 4]], ids=str)
def test_weights_are_exactly_those_of_the_big_batch_where_numbers_are_exact(sizes, loader):
    "Whole numbers, and sums, means and rates by powers of two: nothing is rounded"
    bs = data(sizes, exact=True)
    def model():
        m = nn.Linear(2, 1)
        for p in m.parameters(): nn.init.ones_(p)
        return m
    learn = fitted(loader(bs), GradientAccumulation(8), lr=.25, model=model())
    assert same(learn.model, by_hand(windows(bs, 8), lr=.25, model=model()))

def test_two_epochs_of_tails_leak_nothing_into_the_next_fastai():
    "fastai: 8 batches, windows of 3: steps at (0,2) (0,5) (1,0) …, and gradients left after the fit"
    bs,steps = data([4]*8),[]
    log = listener('log', ['after_batch'], lambda cb, e: cb.learn.outcome['step']=='done' and steps.append((cb.learn.epoch, cb.learn.iter)))
    learn = fitted(bs, GradientAccumulation(12), log, n_epoch=2)
    assert steps==[(e, i) for e in (0, 1) for i in (2, 5, 7)]
    assert all(p.grad is None for p in learn.model.parameters())

@pytest.mark.parametrize('order', [5, 99])
def test_point_7_a_sampler_runs_once_a_step_under_accumulation_its_last_flush_included(order):
    bs,steps,every = data([4]*8),[],[]
    log = listener('log', ['after_opt_step'], lambda cb, e: steps.append((cb.learn.epoch, cb.learn.iter, cb.learn.model.weight.grad is not None)), order=order)
    @on(event.after_opt_step, every=2)
    def sample(cb): every.append(cb.learn.count.opt_steps)
    learn = fitted(NoLength(bs), GradientAccumulation(12), log, sample, n_epoch=2)
    assert steps==[(e, i, True) for e in (0, 1) for i in (2, 5, 7)] and every==[2, 4, 6]==[*range(2, learn.count.opt_steps+1, 2)]

@pytest.mark.parametrize('order', [5, 99])
def test_a_step_cancelled_in_after_opt_step_ends_its_window(order):
    bs = data([4]*8)
    learn = fitted(bs, GradientAccumulation(n_batches=2), listener('stop', ['after_opt_step'], lambda cb, e: act(cb, 'CancelStepException'), order=order))
    assert learn.count.opt_steps==4
    assert_close(weights(learn.model), weights(by_hand(windows(bs, n_batches=2))))

def test_a_batch_without_tokens_adds_nothing():
    "Its mean loss is 0/0"
    bs = [(torch.randn(4, 2), torch.tensor(y)) for y in ([1, 2, 0, 1], [0]*4, [2, 0, 0, 0], [0]*4)]
    def loss_func(pred, y): return F.cross_entropy(pred, y, ignore_index=0)
    model = nn.Linear(2, 3)
    for kw in (dict(n_acc=4), dict(n_batches=2)):
        learn = fitted(bs, GradientAccumulation(**kw, count=lambda learn: (learn.y!=0).sum()), model=deepcopy(model), loss_func=loss_func)
        assert_close(weights(learn.model), weights(by_hand([bs], loss_func=loss_func, model=deepcopy(model))))
        assert learn.count.opt_steps==1
    learn = fitted(bs[1:2], GradientAccumulation(4, count=lambda learn: (learn.y!=0).sum()), model=deepcopy(model), loss_func=loss_func)
    assert learn.count.opt_steps==0 and same(learn.model, model)

@pytest.mark.parametrize('loader', [NoLength, Longer])
def test_window_left_open_by_the_loader_is_stepped(loader):
    bs = data([4]*4)
    learn = mk_learner([GradientAccumulation(12), Checks()], dls=DataLoaders(loader(bs)))
    with pytest.warns(UserWarning, match='returned 4 batches') if loader is Longer else nullcontext(): learn.fit(1)
    assert_close(weights(learn.model), weights(by_hand(windows(bs, 12))))
    assert learn.count.opt_steps==2

@pytest.mark.parametrize('e', ['after_opt_step', 'after_step'])
@pytest.mark.parametrize('order', [5, 99])
def test_a_step_that_was_taken_is_not_taken_again_when_training_is_cancelled_after_it(order, e):
    "Whoever cancels comes before accumulation, which then doesn't hear of `after_step`, or after it"
    def hear(cb, _):
        if cb.learn.count.opt_steps==2: act(cb, 'CancelTrainException')
    bs = data([4]*8)
    learn = fitted(bs, GradientAccumulation(n_batches=2), listener('stop', [e], hear, order=order))
    assert learn.count.opt_steps==2 and all(p.grad is None for p in learn.model.parameters()) and not learn.gradient_accumulation._windows
    assert_close(weights(learn.model), weights(by_hand(windows(bs[:4], n_batches=2))))

@covering(what=['CancelEpochException', 'CancelFitException', 'ValueError', 'KeyboardInterrupt'], e=['before_batch', 'after_loss', 'after_backward', 'cleanup_batch'])
def test_cancelled_epoch_or_error_drops_the_window(e, what):
    bs = data([4]*5)
    stop = listener('stop', [e], lambda cb, _: act(cb, what if cb.learn.training and cb.learn.iter==3 and cb.learn.epoch==0 else None), order=99)
    acc = GradientAccumulation(12)
    learn = mk_learner([acc, stop], dls=DataLoaders(bs))
    try: learn.fit(1)
    except (ValueError, KeyboardInterrupt): pass
    assert_close(weights(learn.model), weights(by_hand([bs[:3]])))
    assert acc.state_dict()=={} and all(p.grad is None for p in learn.model.parameters())
    learn.remove_cb(stop)
    learn.fit(1)
    assert_close(weights(learn.model), weights(by_hand([bs[:3], *windows(bs, 12)])))

# --- frozen batch norm

def bn_model(affine=True):
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3, affine=affine), nn.Linear(3, 3), nn.BatchNorm1d(3), nn.Linear(3, 1))

@pytest.mark.parametrize('freeze', [True, False])
def test_frozen_batch_norm_stays_as_it_is(freeze):
    model = bn_model()
    model[:2].requires_grad_(False)
    look = listener('look', ['after_batch'], lambda cb, e: cb.learn.training and cb.learn.validate(dl=batches(2)))  # in the middle of an epoch
    before = [b.clone() for b in model[1].buffers()],[b.clone() for b in model[3].buffers()]
    fitted(data([4]*3), *[BnFreeze()]*freeze, look, model=model, n_epoch=2)
    same_ = [all(map(torch.equal, b, m.buffers())) for b,m in zip(before, (model[1], model[3]), strict=True)]
    assert same_==[freeze, False]

# --- channels last

def conv_model(d=2):
    torch.manual_seed(0)
    conv,bn,pool = (nn.Conv2d, nn.BatchNorm2d, nn.AdaptiveAvgPool2d) if d==2 else (nn.Conv3d, nn.BatchNorm3d, nn.AdaptiveAvgPool3d)
    return nn.Sequential(conv(3, 4, 3), bn(4), nn.ReLU(), conv(4, 2, 3), pool(1), nn.Flatten(), nn.Linear(2, 1))

@pytest.mark.parametrize('d', [2, 3])
def test_channels_last_is_the_same_training(d):
    bs = [(torch.randn(2, 3, *[7]*d), torch.randn(2, 1)) for _ in range(3)]
    fmt,seen = (torch.channels_last, torch.channels_last_3d)[d-2],[]
    def look(cb, e): seen.append([t.is_contiguous(memory_format=fmt) for t in (cb.learn.x, cb.learn.model[0].weight, cb.learn.model[3].weight)])
    def run(cbs): return fitted(bs, *cbs, model=conv_model(d), opt_func=momentum, n_epoch=2)
    a,b = run([ChannelsLast(), listener('look', ['after_pred'], look)]),run([])
    assert_close(weights(a.model), weights(b.model), rtol=1e-4, atol=1e-5)  # another order of sums
    assert seen and all(map(all, seen))
    assert all(p.is_contiguous() for p in a.model.parameters()), 'then restored'
    seen.clear()
    a.get_preds(dl=bs)
    assert seen and all(map(all, seen)) and all(p.is_contiguous() for p in a.model.parameters())

def test_to_channelslast_and_back():
    learn = mk_learner()
    assert learn.to_channelslast() is learn and any(isinstance(o, ChannelsLast) for o in learn.cbs)
    assert learn.to_contiguous() is learn and not any(isinstance(o, ChannelsLast) for o in learn.cbs)

# --- gradient checkpointing

def net(p=0., norm=False):
    torch.manual_seed(0)
    def block(): return nn.Sequential(nn.Linear(8, 8), nn.GELU(), *[nn.BatchNorm1d(8)]*norm, nn.Dropout(p), nn.Linear(8, 8))
    return nn.Sequential(nn.Linear(2, 8), block(), block(), nn.Linear(8, 1))
def blocks(model): return list(model)[1:3]
def blocks_of(model): return [o for o in model.modules() if isinstance(o, nn.Sequential)]

@pytest.mark.parametrize('p,norm', [(0., False), (.5, False), (.5, True)])
@pytest.mark.parametrize('modules', [blocks, nn.Sequential, nn.Linear], ids=['function', 'class', 'another class'])
def test_checkpointing_does_not_change_training(modules, p, norm):
    "Gradients, statistics and generators: bit for bit"
    def run(cbs):
        model = net(p, norm)
        torch.manual_seed(1)
        fitted(data([4]*3), *cbs, model=model, n_epoch=2, opt_func=Adam)
        return [*weights(model), torch.get_rng_state()]
    if modules is nn.Sequential: modules = blocks_of
    assert same(run([GradientCheckpointing(modules)]), run([]))

@pytest.mark.parametrize('what', [None, 'CancelFitException', 'ValueError', 'KeyboardInterrupt'])
def test_checkpointing_is_removed_after_the_fit(what):
    model = net()
    own = model[2].forward
    model[2].forward = own  # somebody's own, which stays
    learn = mk_learner([GradientCheckpointing(blocks), listener('bad', ['after_loss'], lambda cb, e: act(cb, what))], model=model)
    try: learn.fit(1)
    except (ValueError, KeyboardInterrupt): pass
    assert 'forward' not in vars(model[1]) and model[2].forward is own

def test_checkpointing_in_a_compiled_model():
    torch._dynamo.reset()
    model = net(norm=False)
    learn = mk_learner([GradientCheckpointing(blocks)], model=model)
    learn.forward_model = torch.compile(model, backend='eager')
    learn.fit(1)
    want = mk_learner(model=net())
    want.fit(1)
    assert same(learn.model, want.model)
    torch._dynamo.reset()

# --- other modules

class Loss(Module):
    def __init__(self):
        self.scale = nn.Parameter(torch.ones(1))
        self.moved = []
    def forward(self, pred, y): return F.mse_loss(pred, y)*self.scale
    def to(self, *args, **kwargs):
        self.moved.append(args)
        return super().to(*args, **kwargs)

@pytest.mark.parametrize('how', ['fit', 'validate', 'get_preds'])
def test_modules_on_the_learner_are_moved(how):
    learn = mk_learner([MoveModulesToDeviceCallback()], loss_func=Loss())
    learn.teacher,learn.teachers = Loss(),[Loss()]
    learn.fit(1) if how=='fit' else getattr(learn, how)()
    moved = [(learn.device,)]
    assert learn.teacher.moved==learn.loss_func.moved==moved and learn.teachers[0].moved==[]

# --- parts of a batch

@pytest.mark.parametrize('opt_func', [SGD, Adam], ids=['sgd', 'adam'])
@pytest.mark.parametrize('size', [1, 3, 4, 5, 8, 20])
def test_parts_give_the_step_of_the_batch(size, opt_func):
    bs = data([8, 8, 5])
    learn = fitted(bs, MicroBatch(size), GradientClip(.5), opt_func=opt_func, n_epoch=2)
    assert_close(weights(learn.model), weights(by_hand([[b] for b in bs], opt_func, 2, .5)), rtol=1e-4, atol=1e-5)
    assert learn.count.opt_steps==learn.count.batches==6 and learn.count.samples==42

def test_parts_keep_autocast():
    dtypes = []
    class M(nn.Linear):
        def forward(self, x):
            out = super().forward(x)
            dtypes.append(out.dtype)
            return out
    fitted(data([8]), MicroBatch(4), MixedPrecision('bf16'), model=M(2, 1), loss_func=lambda p, y: F.mse_loss(p.float(), y))
    assert {*dtypes}=={torch.bfloat16} and not torch.is_autocast_enabled('cpu')

def test_parts_of_dict_batches():
    class M(Module):
        def __init__(self):
            self.lin = mk_model()
        def forward(self, x, y, k):
            assert k=='all' and len(x)==len(y)
            return dict(loss=F.mse_loss(self.lin(x), y))
    bs = data([8, 5])
    learn = fitted([dict(x=x, y=y, k='all') for x,y in bs], MicroBatch(3), model=M(), loss_func=None)
    assert_close(weights(learn.model), weights(by_hand([[b] for b in bs])))

# --- SAM

def sam_by_hand(bs, model, opt, rho, loss_func=F.mse_loss, n_epoch=1, clip=None):
    "The double step, without events"
    for x,y in bs*n_epoch:
        rng = torch.get_rng_state()
        loss_func(model(x), y).backward()
        ps = list(model.parameters())
        home,grads = [p.detach().clone() for p in ps],[p.grad for p in ps]
        up = rho/torch.stack([g.norm() for g in grads]).norm()
        with torch.no_grad():
            for p,g in zip(ps, grads, strict=True): p += g*up
        model.zero_grad()
        torch.set_rng_state(rng)
        stats = [b.clone() for b in model.buffers()]
        loss_func(model(x), y).backward()
        for b,v in zip(model.buffers(), stats, strict=True): b.copy_(v)
        with torch.no_grad():
            for p,w in zip(ps, home, strict=True): p.copy_(w)
        if clip: clip_grad_norm_(ps, clip)
        opt.step()
        opt.zero_grad()
    return model

@pytest.mark.parametrize('clip', [None, .1])
@pytest.mark.parametrize('p,norm', [(0., False), (.5, False), (.5, True)], ids=['plain', 'dropout', 'dropout, batch norm'])
@pytest.mark.parametrize('opt_func', [SGD, momentum, Adam], ids=['sgd', 'momentum', 'adam'])
def test_sam_is_the_loop_by_hand(opt_func, p, norm, clip):
    bs,(a,b) = data([4, 4, 3]),(net(p, norm), net(p, norm))
    torch.manual_seed(1)
    learn = fitted(bs, SAM(.3), *[GradientClip(clip)]*bool(clip), model=a, opt_func=opt_func, n_epoch=2)
    rng = torch.get_rng_state()
    torch.manual_seed(1)
    sam_by_hand(bs, b, opt_func(b.parameters(), lr=LR), .3, n_epoch=2, clip=clip)
    assert same(a, b) and torch.equal(torch.get_rng_state(), rng)
    assert learn.count.opt_steps==learn.count.batches==6

@pytest.mark.every(3)
@covering(2, e=['before_turn', 'after_loss', 'before_backward', 'after_backward', 'before_step', 'after_opt_step', 'before_zero_grad', 'after_turn'],
    what=['Backward', 'Step', 'ZeroGrad', 'Turn', 'Batch', 'Train'], order=[-9, 20, 95, 101])
def test_a_cancel_in_micro_batches_equals_one_in_the_whole_batch(e, what, order):
    if what in ('Backward','Step','ZeroGrad') and camel2snake(what) not in e.replace('opt_step', 'step'): what = 'Turn'
    models = []
    for cbs in ([], [MicroBatch(3)]):
        cb = listener('stop', [e], lambda cb, _: act(cb, f'Cancel{what}Exception' if cb.learn.training and cb.learn.train_iter in (1, 2) else None), order=order)
        models.append(fitted(data([8, 7, 8, 5], exact=True), *cbs, cb, n_epoch=2, model=net()).model)
    for a,b in zip(*(o.parameters() for o in models), strict=True): assert_close(a, b)

@covering(what=['CancelBackwardException', 'CancelBatchException', 'CancelEpochException', 'CancelFitException', 'ValueError', 'KeyboardInterrupt'],
    e=['after_pred', 'after_loss', 'before_backward', 'after_backward', 'cleanup_backward'])
def test_sam_restores_weights_after_any_cancel_or_error(e, what):
    if what=='CancelBackwardException' and not e.endswith('backward'): what = 'CancelBatchException'
    n,n_calls = [0],1 if e in ('after_backward','cleanup_backward') else 2
    def hear(cb, _):
        n[0] += 1
        act(cb, what if n[0]==n_calls and cb.learn.training else None)
    model = net(norm=True)
    learn = mk_learner([SAM(5.), listener('bad', [e], hear, order=5)], model=model, dls=DataLoaders(data([4])), lr=0.)
    try: learn.fit(1)
    except (ValueError, KeyboardInterrupt): pass
    assert n[0]>=n_calls
    assert all(torch.equal(*o) for o in zip(model.parameters(), net(norm=True).parameters(), strict=True)) and learn.sam._home==[]
    assert model[1][2].num_batches_tracked==1

@pytest.mark.parametrize('mk,match', [
    *((partial(GradientAccumulation, **{k:v}), 'n_acc|n_batches') for k,v in (('n_acc', 0), ('n_acc', 2.5), ('n_acc', True), ('n_acc', None), ('n_batches', -1), ('n_batches', '3'))),
    *((partial(GradientAccumulation, 8, count=lambda learn, v=v: v), 'count returned') for v in (-1, math.nan, 'three', None)),
    (partial(GradientAccumulation, n_batches=lambda e: 0), 'function of the epoch'), *((partial(MicroBatch, o), 'size') for o in (0, -1, 2.5, None)),
    *((partial(SAM, o), 'rho') for o in (0, -1., math.inf, 'wide')), (lambda: [SAM(), MicroBatch(2)], 'MicroBatch'),
    *((partial(GradientCheckpointing, o), 'finds no modules in Linear') for o in (nn.Conv2d, [], lambda model: []))])
def test_wrong_arguments_are_refused(mk, match):
    with pytest.raises(ValueError, match=match): mk_learner(dls=DataLoaders(data([4]))).fit(1, cbs=mk())

def test_all_at_once():
    "Double steps in windows, clipped, recomputed: the same training as without recomputing"
    bs = data([4, 2, 6, 4])
    def run(*cbs): return fitted(bs, SAM(.25), GradientAccumulation(n_batches=2), GradientClip(.5), *cbs, model=net(.5, True), n_epoch=2).model
    torch.manual_seed(1)
    a = run(GradientCheckpointing(blocks))
    torch.manual_seed(1)
    assert same(a, run())

# --- a handler that computes the gradients again

def ordered(order, **fs):
    cb = Callback(**fs)
    cb.order = order
    return cb

@pytest.mark.parametrize('cbs', [GradientAccumulation(16), MicroBatch(3), SAM()], ids=lambda o: o.name)
def test_a_repeat_inside_backward_belongs_to_the_same_batch(cbs):
    def twice(cb):
        if [o.name for o in cb.learn.open].count('backward')>1 or cb.learn.open_turn.repeats: return
        for p in cb.model.parameters(): p.grad = None
        cb.learn.calc_loss()
        cb.learn.backward()
    bs = data([8]*4)
    again,once = (fitted(bs, deepcopy(cbs), *also) for also in ([ordered(-60, after_backward=twice)], []))
    assert again.count.opt_steps==once.count.opt_steps

@pytest.mark.parametrize('e', ['after_pred', 'after_loss', 'before_backward'])
@pytest.mark.parametrize('cbs', [(MicroBatch(3),), (SAM(), GradientAccumulation(n_batches=2))], ids=lambda o: o[0].name)
def test_a_backward_that_is_cancelled_in_a_repeat_leaves_no_gradients(cbs, e):
    def cancel(cb):
        if cb.iter==1 and cb.learn.open_turn.repeats: raise CancelBackwardException
    bs = data([8]*3)
    learn = fitted(bs, *map(deepcopy, cbs), ordered(200, **{e:cancel}))
    def first(cb):
        if cb.iter==1: raise CancelBackwardException
    first = ordered(-200, before_backward=first)
    assert same(learn.model, fitted(bs, *map(deepcopy, cbs), first).model)
