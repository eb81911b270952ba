"Schedules compared to PyTorch's, to formulas and to hand-written loops; `lr_find` leaves no trace"
import math
from contextlib import nullcontext, suppress
from copy import deepcopy
from functools import partial
import numpy as np, pytest, torch
from helpers import FIT, Module, VALID, act, batches, covering, events_of, mk_learner, mk_model, same, silent, weights
from learnloop import (AvgMetric, Callback, CancelEpochException, CancelFitException, CancelStepException, DataLoaders, GradualUnfreezing,
    Learner, LRFinder, ParamScheduler, SchedCos, SchedExp, SchedLin, SchedNo, SchedPoly, Scheduler, TorchScheduler, annealer, combine_scheds,
    combined_cos, event, get_hypers, on)
from learnloop.loop.optimizer import get_hyper
from learnloop.train.lr_find import SuggestionMethod, minimum, slide
from torch import nn
from torch.nn import functional as F
from torch.optim import lr_scheduler as tls
from torch.utils.data import DataLoader, IterableDataset, TensorDataset

SGD,ADAM = torch.optim.SGD,torch.optim.Adam  # without weight decay, which would spare biases here, but not in a loop by hand
PCTS = np.linspace(0, 1, 21).tolist()
FOUR = batches(4)  # with two epochs, eighths: `pct_train` is exact

def mk(cbs=None, n=4, **kwargs): return silent(mk_learner(cbs, **dict(dls=(batches(n), VALID), defaults=True) | kwargs))
def two_groups(m): return [[m.weight], [m.bias]]
def lrs(learn): return [g['lr'] for g in learn.opt.param_groups]
def seen(k='lr'):
    "A callback that notes a hyper-parameter of the torch groups at each step"
    got = []
    cb = Callback('see', before_step=lambda cb: got.append([g[k] for g in cb.opt.param_groups]))
    cb.order = -5  # before those that skip steps
    return cb,got
def values(learn, *args, k='lr', how='fit', **kwargs):
    "What hyper-parameter `k` of the last torch group is at each step"
    cb,got = seen(k)
    getattr(learn, how)(*args, cbs=[cb, *kwargs.pop('cbs', [])], **kwargs)
    return [o[-1] for o in got]
def close(a, b, **kwargs): return torch.testing.assert_close(torch.tensor(a, dtype=torch.float64), torch.tensor(b, dtype=torch.float64), **kwargs)

def by_hand(n_epoch, before_batch, opt_func=SGD, data=FOUR, after_step=None, after_epoch=None, lr=.1):
    "Train without learnloop: `before_batch(opt, i)` sets what is scheduled; returns the model"
    model = mk_model()
    opt = opt_func(model.parameters(), lr=lr)
    after = after_step(opt) if after_step else None
    i = 0
    for _ in range(n_epoch):
        for x,y in data:
            if before_batch: before_batch(opt, i)
            F.mse_loss(model(x), y).backward()
            opt.step()
            opt.zero_grad()
            if after: after()
            i += 1
        if after_epoch: after_epoch(opt)
    return model

# Shapes

@pytest.mark.parametrize('f,want', [
    (SchedLin(2, 5), lambda p: 2 + 3*p), (SchedCos(2, 5), lambda p: 3.5 - 1.5*math.cos(math.pi*p)), (SchedNo(2, 5), lambda p: 2),
    (SchedExp(2, 5), lambda p: 2**(1-p)*5**p), (SchedPoly(2, 5, 3), lambda p: 2 + 3*p**3), (SchedPoly(2, 5, power=.5), lambda p: 2 + 3*p**.5)])
def test_shapes_are_their_closed_forms(f, want): close([f(p) for p in PCTS], [float(want(p)) for p in PCTS])

@pytest.mark.parametrize('f,exc,match', [
    (lambda: SchedLin([1, 2], [1, 2, 3]), ValueError, 'give as many'), (lambda: SchedLin('1', 2), TypeError, "'1'"),
    (lambda: SchedLin(slice(1, 2), 3), TypeError, 'slice'), (lambda: SchedCos(1, None), TypeError, 'None'), (lambda: SchedLin(True, 1), TypeError, 'True'),
    (lambda: SchedExp(0, 1), ValueError, 'same sign'), (lambda: SchedExp(1, -1), ValueError, 'same sign'),
    (lambda: combine_scheds([.5, .4], [SchedLin(0, 1)]*2), ValueError, 'sum to 0.9'), (lambda: combine_scheds([1.5, -.5], [SchedLin(0, 1)]*2), ValueError, '0 or more'),
    (lambda: combine_scheds([.5, .5], [SchedLin(0, 1)]), ValueError, '2 fractions for 1'), (lambda: combine_scheds([], []), ValueError, 'sum'),
    (lambda: combine_scheds([.5, .5], [SchedLin(0, 1), .1]), TypeError, 'not a function'), (lambda: combined_cos(1.5, 0, 1, 0), ValueError, '0 or more')])
def test_schedules_that_make_no_sense_are_errors(f, exc, match):
    with pytest.raises(exc, match=match): f()

def test_annealer_passes_extra_arguments_to_the_formula():
    @annealer
    def SchedSteps(start, end, pct, n=2): return start + (end-start)*math.floor(pct*n)/n
    assert [SchedSteps(0, 4)(.6), SchedSteps(0, 4, 4)(.8), SchedSteps(0, 4, n=4)(.3)]==[2, 3, 1]

# Hyper-parameters

def test_one_cycle_is_fastais_formula():
    def cos(a, b, p): return a + (1 + math.cos(math.pi*(1-p)))*(b-a)/2
    def cycle(p, a, b, c): return cos(a, b, p/.25) if p<.25 else cos(b, c, (p-.25)/.75)
    def step(opt, i): opt.param_groups[0].update(lr=cycle(i/8, .3/25, .3, .3/1e5), betas=(cycle(i/8, .95, .85, .95), .999))
    learn = mk(opt_func=ADAM)
    learn.fit_one_cycle(2, .3)
    assert same(learn.model, by_hand(2, step, ADAM))
    assert learn.recorder.hps['lr']==learn.recorder.lrs==[cycle(i/8, .3/25, .3, .3/1e5) for i in range(8)]
    assert learn.recorder.hps['mom']==[cycle(i/8, .95, .85, .95) for i in range(8)]

@pytest.mark.parametrize('how', ['fit_one_cycle', 'fit_flat_cos', 'fit_wsd'])
def test_a_fit_from_start_epoch_is_the_end_of_the_whole(how):
    assert values(mk(), 4, .1, how=how, start_epoch=3)==values(mk(), 4, .1, how=how)[12:]

def test_sgdr_matches_pytorch():
    opt = SGD([nn.Parameter(torch.zeros(1))], lr=.1)
    for mult,n in ((1, 3), (2, 7), (3, 13)):  # fastai divides by zero for 1
        for g in opt.param_groups: g.update(lr=.1, initial_lr=.1)
        s,want = tls.CosineAnnealingWarmRestarts(opt, 4, mult),[]
        for _ in range(4*n):
            want.append(opt.param_groups[0]['lr'])
            opt.step()
            s.step()
        close(values(mk(), 3, 1, .1, how='fit_sgdr', cycle_mult=mult), want, rtol=1e-9, atol=1e-12)

@pytest.mark.parametrize('kwargs', [dict(n_cycles=0, cycle_len=1), dict(n_cycles=1, cycle_len=.5), dict(n_cycles=1, cycle_len=1, cycle_mult=0)])
def test_sgdr_takes_whole_cycles(kwargs):
    with pytest.raises(ValueError, match='whole number'): mk().fit_sgdr(**kwargs)

@pytest.mark.parametrize('kwargs', [dict(div=0), dict(div_final=-1.), dict(pct_start=2), dict(moms=(1., .9, 1.))])
def test_one_cycles_that_make_no_sense_are_errors(kwargs):
    learn = mk(opt_func=ADAM)
    with pytest.raises(ValueError): learn.fit_one_cycle(1, **kwargs)
    assert learn.count.batches==0

def test_any_hyper_of_any_group():
    learn = mk(splitter=two_groups, opt_func=partial(SGD, momentum=.5, dampening=.1))
    scheds = dict(lr=[SchedLin(1, 0), SchedLin(2, 0)], mom=SchedLin([.1, .2], [.3, .4]), dampening=SchedNo(.25, .25), wd=SchedLin(0, .1))
    got = []
    see = Callback('see', before_step=lambda cb: got.append([{k:g[k] for k in ('lr', 'momentum', 'dampening', 'weight_decay')} for g in cb.opt.param_groups]))
    learn.fit(2, cbs=[ParamScheduler(scheds), see])
    assert [o['lr'] for o in got[4]]==[.5, 1.] and [o['momentum'] for o in got[4]]==[.2, pytest.approx(.3)] and got[4][0]['dampening']==.25
    assert [o['weight_decay'] for o in got[4]]==[.05, 0.]  # biases don't decay

@pytest.mark.parametrize('scheds,exc,match', [
    ({'lrr': SchedLin(1, 0)}, ValueError, "unknown hyper-parameter 'lrr'.*did you mean 'lr'"), ({'mom': SchedLin(0, 1.)}, ValueError, 'below 1'),
    ({'lr': [SchedLin(1, 0)]*3}, ValueError, '3 values for 2'), ({'lr': SchedLin([1, 2, 3], 0)}, ValueError, '3 values for 2'),
    ({'lr': lambda p: None}, TypeError, "schedule of 'lr' returned None"), ({'lr': lambda p: 'a'}, TypeError, "'a'"), ({'lr': [lambda p: .1, lambda p: None]}, TypeError, 'None'),
    ({'lr': SchedLin(.1, -.1)}, ValueError, '0 or more'), ({'lr': lambda p: math.nan}, ValueError, 'finite'),
    ({'model.wait': SchedLin(1, 0)}, AttributeError, "did you mean 'weight'"), ({'nothing.p': SchedLin(1, 0)}, AttributeError, 'nothing')])
def test_wrong_schedules_are_refused_before_training(scheds, exc, match):
    learn = mk(splitter=two_groups)
    with pytest.raises(exc, match=match): learn.fit(1, cbs=ParamScheduler(scheds))
    assert learn.count.batches==0 and same(learn.model, mk_model()) and lrs(learn)==[.1, .1]

@pytest.mark.parametrize('args,exc', [(({},), TypeError), ((SchedLin(0, 1),), TypeError), (({'lr': .1},), TypeError), (({'lr': [.1, .2]},), TypeError),
    (({'lr': SchedLin(0, 1)}, 0), ValueError), (({'lr': SchedLin(0, 1)}, 2.5), ValueError)])
def test_arguments_are_checked(args, exc):
    with pytest.raises(exc): ParamScheduler(*args)

STOPS = [CancelFitException, CancelEpochException, ValueError, KeyboardInterrupt]

@pytest.mark.every(3)
@covering(what=STOPS, e=[o for x in FIT for o in events_of(x) if 'cancel' not in o])
def test_hyper_parameters_are_put_back_after_any_end(e, what):
    def stop(cb): raise what
    learn = mk(opt_func=ADAM, splitter=two_groups)
    learn.fit(1)
    before = deepcopy(get_hypers(learn.opt))
    try: learn.fit(1, cbs=[ParamScheduler({'lr': SchedLin(1, 0), 'mom': [SchedLin(.5, 0)]*2, 'model.bias.mark': SchedLin(1, 0)}), Callback(**{e: stop})])
    except BaseException as err: assert 'UncaughtCancel' in repr(err) or isinstance(err, (what, AttributeError)), err
    assert get_hypers(learn.opt)==before

# Where the schedule is

class Stream(IterableDataset):
    def __init__(self, data): self.data = data
    def __iter__(self): return iter(self.data)
def no_length(data=FOUR): return DataLoader(Stream(data), batch_size=None)

@pytest.mark.parametrize('how', ['fit_one_cycle', 'fit_flat_cos', 'fit_wsd'])
def test_loaders_without_length_need_a_total(how):  # FEATURES 4, row 17
    learn = mk(dls=(no_length(), VALID))
    with pytest.raises(ValueError, match='no length.*max_steps.*total_steps'): getattr(learn, how)(2, .1)
    assert learn.count.batches==0
    want = values(mk(), 2, .1, how=how)
    for n,kwargs in ((2, dict(total_steps=8)), (2, dict(steps_per_epoch=4)), (None, dict(max_steps=8)), (2, dict(max_steps=8))):
        assert values(mk(dls=(no_length(), VALID)), n, .1, how=how, **kwargs)==want, kwargs

def test_a_total_is_taken_up_where_it_was():
    sched,states = ParamScheduler({'lr': SchedLin(1, 0)}, total_steps=8),[]
    learn = mk(dls=(no_length(), VALID))
    learn.fit(1, cbs=[sched, Callback(cleanup_epoch=lambda cb: states.append(deepcopy(sched.state_dict())))])
    assert sched.state_dict()=={} and states==[dict(first=0)]
    for when in ('before', 'in'):
        new = ParamScheduler({'lr': SchedLin(1, 0)}, total_steps=8)
        other = mk(dls=(no_length(), VALID))
        other.count.opt_steps = 4
        if when=='before': new.load_state_dict(states[0])
        load = Callback(before_epoch=lambda cb, new=new, when=when: new.load_state_dict(states[0]) if when=='in' else None)
        assert values(other, 2, start_epoch=1, cbs=[new, load])==[1-i/8 for i in range(4, 8)]

# Owners

def test_two_owners_are_an_error_that_names_both():  # FEATURES 4, row 18
    other = ParamScheduler({'lr': SchedLin(1, 0), 'wd': SchedNo(.1, .1)})
    learn = mk(cbs=other)
    with pytest.raises(ValueError, match='fit_schedule.*param_scheduler.*lr|param_scheduler.*fit_schedule.*lr'): learn.fit_one_cycle(1)
    assert learn.count.batches==0
    other.run = False
    learn.fit_one_cycle(1)
    learn.remove_cb(other)
    learn.fit_one_cycle(1, cbs=ParamScheduler({'wd': SchedLin(0, .1)}))
    assert set(learn.recorder.hps)=={'lr', 'mom', 'wd'}

class Rise(Scheduler):
    "Momentum by what the learner says, a value for each group"
    owns,needs_length = {'mom', 'model.bias.mark'},False
    def values(self): return {'mom': [.1, .1+self.learn.iter/10], 'model.bias.mark': self.learn.iter}

def test_a_custom_schedule_is_set_recorded_and_put_back():
    learn = mk(splitter=two_groups, opt_func=partial(SGD, momentum=.7))
    learn.model.bias.mark = 9
    assert values(learn, 2, k='momentum', cbs=[Rise()])==pytest.approx([.1, .2, .3, .4]*2)
    assert learn.recorder.hps['mom']==pytest.approx([.1, .2, .3, .4]*2) and learn.recorder.hps['model.bias.mark']==[0, 1, 2, 3]*2
    assert get_hyper(learn.opt, 'mom')==[.7, .7] and learn.model.bias.mark==9
    with pytest.raises(ValueError, match='both set mom'): mk(opt_func=ADAM).fit_one_cycle(1, cbs=type('Mom', (Rise,), dict(owns={'mom'}))())

# Schedules of one's own

@pytest.mark.parametrize('attrs,exc,match', [
    (dict(values=lambda self: dict(lr=.1)), ValueError, 'a dict of mom'), (dict(values=lambda self: None), ValueError, 'returned None'),
    (dict(), NotImplementedError, 'define values'), (dict(owns={'momm'}), ValueError, "did you mean 'mom'"), (dict(values=lambda self: dict(mom=2)), ValueError, 'below 1')])
def test_a_custom_schedule_that_makes_no_sense_is_an_error(attrs, exc, match):
    learn = mk(opt_func=partial(SGD, momentum=.7))
    with pytest.raises(exc, match=match): learn.fit(1, cbs=type('Own', (Scheduler,), dict(owns={'mom'})|attrs)())
    assert get_hyper(learn.opt, 'mom')==[.7] and learn.count.opt_steps==0

# torch's schedulers

STEP = [partial(tls.StepLR, step_size=3, gamma=.5), partial(tls.MultiStepLR, milestones=[2, 5]), partial(tls.ExponentialLR, gamma=.9),
    partial(tls.OneCycleLR, max_lr=.2, total_steps=9), partial(tls.LambdaLR, lr_lambda=lambda i: 1/(1+i)), partial(tls.CosineAnnealingLR, T_max=8),
    partial(tls.CyclicLR, base_lr=.01, max_lr=.1, step_size_up=2), partial(tls.CosineAnnealingWarmRestarts, T_0=3), partial(tls.LinearLR, total_iters=4),
    partial(tls.PolynomialLR, total_iters=6),
    lambda opt: tls.SequentialLR(opt, [tls.LinearLR(opt, total_iters=2), tls.CosineAnnealingLR(opt, 6)], [2]),
    lambda opt: tls.ChainedScheduler([tls.LinearLR(opt, total_iters=2), tls.ExponentialLR(opt, .9)])]
MOM = partial(SGD, momentum=.9)
each_sched = pytest.mark.parametrize('sched', STEP, ids=lambda o: getattr(getattr(o, 'func', o), '__name__', 'f'))

@pytest.mark.every(2)
@each_sched
def test_pytorch_schedulers_by_step_match_a_loop_by_hand_in_a_resumed_fit(sched, tmp_path):
    def fit(at=None):
        stop = Callback(name='stop', before_batch=lambda cb: act(cb, 'MemoryError' if cb.count.batches==at else None))
        (learn := mk(opt_func=MOM)).fit(2, cbs=[TorchScheduler(sched, unit='step'), stop], resume=tmp_path)
        return learn.model
    with pytest.raises(MemoryError): fit(5)
    assert same(fit(), by_hand(2, None, MOM, after_step=lambda opt: sched(opt).step))

@pytest.mark.every(2)
@each_sched
def test_pytorch_schedulers_by_epoch_match_a_loop_by_hand(sched):
    made = {}
    learn = mk(opt_func=MOM)
    learn.fit(4, cbs=TorchScheduler(sched, unit='epoch'))
    def first(opt, i):
        if 's' not in made: made['s'] = sched(opt)
    assert same(learn.model, by_hand(4, first, MOM, after_epoch=lambda opt: made['s'].step()))

def test_a_scheduler_steps_only_after_real_steps():
    def skip(cb):
        if cb.iter%2==0: raise CancelStepException
    halve = partial(tls.StepLR, step_size=1, gamma=.5)
    for unit,want in (('step', [.1, .1, .05, .05, .025, .025, .0125, .0125]), ('epoch', [.1]*4 + [.05]*4)):
        assert values(mk(cbs=Callback('skip', before_step=skip)), 2, cbs=[TorchScheduler(halve, unit=unit)])==want
    def never(cb): raise CancelStepException
    for unit in ('step', 'epoch', 'validate'):
        assert values(mk(cbs=Callback('never', before_step=never)), 2, cbs=[TorchScheduler(halve, unit=unit)])==[.1]*8

def test_validations_within_an_epoch_are_heard():
    got = []
    class Plateau(tls.ReduceLROnPlateau):
        def step(self, metrics): got.append(metrics)
    def check(cb): cb.learn.recorder.record('valid', dict(valid_loss=float(cb.count.opt_steps)))
    learn = mk()
    learn.fit(1, cbs=[TorchScheduler(Plateau, unit='validate'), Callback('check', after_step=on(event.after_step, every=2)(check))])
    assert got==[2., 4.]  # the epoch's own validation comes after no further step

@pytest.mark.parametrize('kwargs,match', [
    (dict(unit='step'), "use unit='validate'"), (dict(unit='epoch'), "use unit='validate'"), (dict(unit='validate', monitor='valid_los'), "did you mean 'valid_loss'")])
def test_plateau_with_the_wrong_interval_is_an_error(kwargs, match):  # FEATURES 4, row 18
    learn = mk()
    with pytest.raises(ValueError, match=match): learn.fit(1, cbs=TorchScheduler(tls.ReduceLROnPlateau, **kwargs))
    assert learn.count.batches==0 and lrs(learn)==[.1] and 'initial_lr' not in learn.opt.param_groups[0]

@pytest.mark.parametrize('monitor,mode', [('valid_loss', 'max'), ('score', 'min'), ('score', 'max'), ('undeclared', 'min')])
def test_plateau_in_the_wrong_direction_is_an_error(monitor, mode):
    learn = mk(metrics=[AvgMetric(lambda p, y: (p*0).mean(), k, better=b) for k,b in (('score', 'more'), ('undeclared', None))])
    wrong = pytest.raises(ValueError, match=f"Plateau has mode='{mode}', but .* of '{monitor}' is better: give it mode=")
    with wrong if (monitor, mode) in (('valid_loss', 'max'), ('score', 'min')) else nullcontext():
        learn.fit(2, cbs=TorchScheduler(partial(tls.ReduceLROnPlateau, mode=mode), unit='validate', monitor=monitor))

def test_units_are_explicit():
    step = partial(tls.StepLR, step_size=1)
    with pytest.raises(TypeError): TorchScheduler(step)
    with pytest.raises(ValueError, match="'step', 'epoch' or 'validate'"): TorchScheduler(step, unit='batch')
    with pytest.raises(TypeError, match='StepLR'): TorchScheduler(step(SGD(mk_model().parameters(), lr=1.)), unit='step')
    with pytest.raises(TypeError, match='not a scheduler'): mk().fit(1, cbs=TorchScheduler(lambda opt: None, unit='step'))
    with pytest.raises(ValueError, match='no validation loader'): mk(dls=(FOUR, None)).fit(1, cbs=TorchScheduler(step, unit='validate'))
    with pytest.raises(ValueError, match='recorder'): mk_learner(dls=(FOUR, VALID)).fit(1, cbs=TorchScheduler(tls.ReduceLROnPlateau, unit='validate'))

def test_a_scheduler_that_sets_momentum_owns_it():
    cycle = TorchScheduler(partial(tls.OneCycleLR, max_lr=.1, total_steps=4), unit='step')
    with pytest.raises(ValueError, match='both set mom'): mk(opt_func=MOM).fit(1, cbs=[cycle, ParamScheduler({'mom': SchedNo(.9, .9)})])
    learn = mk(opt_func=MOM)
    assert len(set(values(learn, 1, k='momentum', cbs=[TorchScheduler(cycle.sched, unit='step')])))==3 and learn.opt.param_groups[0]['momentum']==.9

def test_schedulers_of_several_optimizers():
    m = mk_model()
    def opt_func(): return dict(w=SGD([m.weight], lr=.1), b=SGD([m.bias], lr=.2))
    halve,got = partial(tls.StepLR, step_size=1, gamma=.5),[]
    see = Callback('see', before_step=lambda cb: got.append([o.param_groups[0]['lr'] for o in cb.opt.values()]))
    mk(model=m, opt_func=opt_func()).fit(1, cbs=[see, TorchScheduler(halve, unit='step')])
    assert got[3]==[.1/8, .2/8]
    mk(model=m, opt_func=opt_func()).fit(1, cbs=[see, TorchScheduler(dict(b=halve), unit='step')])
    assert got[-1]==[.1, .2/8]
    with pytest.raises(ValueError, match="no optimizer 'c'"): mk(model=m, opt_func=opt_func()).fit(1, cbs=TorchScheduler(dict(c=halve), unit='step'))

# Values that a user sets in a fit

class Steps(Scheduler):
    "Counts how often it is asked"
    owns,needs_length,n = ['lr', 'wd'],False,0
    def values(self):
        self.n += 1
        return dict(lr=.1*.9**self.n, wd=[.1])

SCHEDULES = [None, Steps, lambda: ParamScheduler(dict(lr=SchedExp(.1, .01))), *(partial(TorchScheduler, o, 'step') for o in STEP)]

@pytest.mark.parametrize('sched', SCHEDULES, ids=lambda o: getattr(getattr(getattr(o, 'args', [o])[0], 'func', o), '__name__', 'f'))
@pytest.mark.parametrize('ends', [False, True])
def test_a_value_lasts_and_a_schedule_is_scaled_or_ended(sched, ends):
    def run(text=''):
        says = Callback('says', after_batch=lambda cb: cb.learn.tell(text) if text and cb.training and cb.learn.count.batches==5 else None)
        return torch.tensor(values(mk(opt_func=MOM), 2, cbs=[says, *([sched()] if sched else [])]), dtype=torch.float64)
    plain,told = run(),run('lr=.02'+' end'*ends)
    assert torch.equal(told[:5], plain[:5]) and told[5].item()==pytest.approx(.02, rel=1e-9)
    torch.testing.assert_close(told[5:], torch.full((3,), .02, dtype=torch.float64) if ends or not sched else plain[5:]*.02/plain[5], rtol=1e-6, atol=1e-9)

# Fine-tuning

def test_fine_tune_freezes_then_unfreezes():
    learn,got = mk(splitter=two_groups, train_bn=False),[]
    learn.fine_tune(2, .02, cbs=Callback('see', before_step=lambda cb: got.append((cb.model.weight.requires_grad, *lrs(cb.learn)))))
    assert [o[0] for o in got]==[False]*4 + [True]*8
    frozen,whole = combined_cos(.99, .02/25, .02, .02/1e5),combined_cos(.3, .01/5, .01, .01/1e5)
    close([o[2] for o in got], [*(frozen(i/4) for i in range(4)), *(whole(i/8) for i in range(8))])
    close([o[1] for o in got[4:]], [o[2]/100 for o in got[4:]], rtol=1e-9, atol=0.)

def test_fine_tune_says_that_one_group_has_nothing_to_freeze():
    learn = mk()
    with pytest.warns(UserWarning, match='one group, so nothing is frozen'): learn.fine_tune(1, freeze_epochs=1)
    assert learn.count.epochs==2 and not same(learn.model, mk_model())

@pytest.mark.parametrize('start', [0, 1, 2, 3])
def test_gradual_unfreezing_is_right_at_any_start_epoch(start):
    learn,got = mk(splitter=two_groups),{}
    see = Callback('see', before_batch=lambda cb: got.update({cb.epoch:cb.model.weight.requires_grad}))
    learn.fit(4, start_epoch=start, cbs=[GradualUnfreezing({2:0, 0:-1}), see])
    assert got=={e:e>=2 for e in range(start, 4)}

def test_gradual_unfreezing_is_checked_before_training():
    for at in ({}, {0:'a'}, {0.5:1}, [0], {True:0}):
        with pytest.raises(TypeError, match='a dict from epochs to groups'): GradualUnfreezing(at)
    with pytest.raises(ValueError, match='no group -3'): mk(splitter=two_groups).fit(1, cbs=GradualUnfreezing({0:-3}))

# Finding learning rates

class Net(Module):
    "Buffers of all kinds, dropout, and state that is no parameter"
    def __init__(self):
        self.lin,self.bn,self.drop,self.n,self.hidden = nn.Linear(2, 3),nn.BatchNorm1d(3),nn.Dropout(.5),0,[torch.zeros(3)]
        self.out = nn.Linear(3, 1)
        self.register_buffer('calls', torch.zeros(()), persistent=False)
        self.register_buffer('replaced', torch.zeros(3))
    def forward(self, x):
        h = self.drop(self.bn(self.lin(x)))
        self.calls += 1
        self.n += 1
        self.replaced = h.detach().mean(0)
        self.hidden[0] = self.hidden[0]+1
        return self.out(h)

def mk_net(seed=0):
    torch.manual_seed(seed)
    return Net()

class Own(Callback):
    "Has state in each form"
    def __init__(self): self.n,self.seen,self.avg = 0,[],torch.zeros(1)
    def after_batch(self):
        self.n += 1
        self.seen.append(self.n)
        self.avg += 1

def shuffled(**kwargs):
    x = torch.cat([o[0] for o in batches(6)])
    return DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), 4, shuffle=True, **kwargs)

def everything(learn):
    "All that a fit may change, and the identity of what should stay the same object"
    m,opt = learn.model,learn.opt
    held = [opt, *opt.param_groups, *(t for st in opt.state.values() for t in st.values())] if opt else []
    names = 'n_epoch', 'epoch', 'iter', 'train_iter', 'pct_train', 'bs', 'loss', 'n_iter', 'training', 'final_record'
    return deepcopy(dict(ids=list(map(id, [m, *m.parameters(), *m.buffers(), m.hidden, *held])), names=[o.name for o in learn.cbs],
        model=m.state_dict(), calls=m.calls, n=m.n, hidden=m.hidden, modes=[o.training for o in m.modules()],
        ps=[(p.requires_grad, p.grad) for p in m.parameters()], opt=opt and [opt.state_dict(), sorted(vars(opt))], count=vars(learn.count),
        rec=learn.recorder.state_dict(), own=(learn.own.n, learn.own.seen, learn.own.avg), attrs={k:getattr(learn, k) for k in names},
        rng=torch.get_rng_state(), gen=learn.dls.train.generator.get_state()))

def is_same(a, b):
    if isinstance(a, torch.Tensor): return isinstance(b, torch.Tensor) and torch.equal(a, b)
    if isinstance(a, dict): return isinstance(b, dict) and a.keys()==b.keys() and all(is_same(a[k], b[k]) for k in a)
    if isinstance(a, (list,tuple)): return len(a)==len(b) and all(map(is_same, a, b))
    return a==b
def unchanged(a, b): assert {k for k in a if not is_same(a[k], b[k])}==set()

def mk_finder(fitted=True, **kwargs):
    gen = torch.Generator().manual_seed(3)
    learn = silent(Learner(DataLoaders(shuffled(generator=gen), VALID), mk_net(), F.mse_loss, lr=.01, metrics=F.l1_loss, cbs=[Own()], **kwargs))
    if fitted: learn.fit(2)
    return learn

@pytest.mark.every(2)
@pytest.mark.parametrize('opt_func', [ADAM, MOM, partial(ADAM, amsgrad=True), torch.optim.RMSprop])
@pytest.mark.parametrize('fitted', [True, False])
def test_lr_find_leaves_everything_as_it_was(fitted, opt_func):  # runner-up of FEATURES 4
    learn = mk_finder(fitted, opt_func=opt_func)
    for p in learn.model.parameters(): p.grad = torch.ones_like(p)
    learn.model.bn.eval()
    before = everything(learn)
    res = learn.lr_find(num_it=30, stop_div=False, show_plot=False)
    unchanged(before, everything(learn))
    assert 1e-7<=res.valley<=10 and len(learn.recorder.lr_finder.lrs)>5

@covering(what=[ValueError, KeyboardInterrupt], e=[o for x in FIT for o in events_of(x) if 'cancel' not in o])
@pytest.mark.every(3)
def test_an_error_in_lr_find_leaves_no_trace(e, what):  # in fastai, the weights stay changed
    def stop(cb):
        if cb.train_iter>=3 or e in ('before_fit', 'before_epoch', 'before_train'): raise what
    learn = mk_finder()
    learn.add_cb(Callback('stop', **{e: stop}))
    before = everything(learn)
    try: learn.lr_find(num_it=20, show_plot=False)
    except what: pass
    unchanged(before, everything(learn))
    assert learn.open==[] and not learn.training

@pytest.mark.parametrize('fails', ['inf', 'nan'])
def test_a_loss_that_is_not_finite_leaves_no_trace(fails):
    learn = mk_finder()
    learn.loss_func = lambda p, y: F.mse_loss(p, y)*(float(fails) if learn.train_iter>12 else 1)
    before = everything(learn)
    assert all(map(math.isfinite, [*learn.lr_find(num_it=40, show_plot=False)]))
    unchanged(before, everything(learn))
    assert len(learn.recorder.lr_finder.losses)==13
    learn.lr_find(num_it=40, show_plot=False, stop_div=False)
    assert len(learn.recorder.lr_finder.losses)==40
    unchanged(before, everything(learn))

def test_lr_find_refuses_to_use_up_a_generator():
    learn = mk(dls=(iter(batches(100)), VALID))
    with pytest.raises(TypeError, match='use up the list_iterator'): learn.lr_find(show_plot=False)
    assert len(list(learn.dls.train))==100

def test_lr_find_that_stops_at_once_says_so():
    learn = mk(loss_func=lambda p, y: F.mse_loss(p, y)*math.nan)
    before = weights(learn.model)
    with pytest.raises(ValueError, match='too few to suggest.*start_lr'): learn.lr_find(show_plot=False)
    assert same(learn.model, before)
    with pytest.raises(ValueError, match='num_it is 0'): learn.lr_find(num_it=0, show_plot=False)

def test_expanded_buffers_can_be_noted():
    model = mk_model()
    model.register_buffer('ids', torch.arange(3).expand(2, -1))
    with torch.inference_mode(): model.seen = torch.zeros(2)
    mk(model=model).lr_find(show_plot=False)

# Suggestions

def curves():
    g = torch.Generator().manual_seed(0)
    for n in (20, 85, 200):
        for noise in (0., .02, .2):
            lrs = [10**(-7+8*i/n) for i in range(n)]
            yield lrs,[2/(1+math.exp(8*(i/n-.6))) + math.exp(40*(i/n-.95)) + noise*torch.randn((), generator=g).item() for i in range(n)],n

def test_slide_is_the_rule_in_numpy():
    for lrs,losses,n in curves():
        for kw in (dict(), dict(lr_diff=5, thresh=.02, adjust_value=.7), dict(lr_diff=10, thresh=100.)):
            g,d,t = np.gradient(losses),kw.get('lr_diff', 15),kw.get('thresh', .005)
            r,l = -1,-1-d
            lr = lrs[l]
            while l>=-n and abs(g[r]-g[l])>t: lr,r,l = lrs[l],r-1,l-1
            lr *= kw.get('adjust_value', 1.)
            got = slide(lrs, losses, n, **kw)
            assert got[0]==lr==got[1][0] and got[1][1]==pytest.approx(np.interp(np.log10(lr), np.log10(lrs), losses))

def test_lr_find_names_its_suggestions():
    def mine(lrs, losses, num_it): return .5,(lrs[0], losses[0])
    learn = mk_finder()
    res = learn.lr_find(num_it=40, show_plot=False, suggest_funcs=(SuggestionMethod.Minimum, SuggestionMethod.Steep, mine, partial(slide, lr_diff=5)))
    assert res._fields==('minimum', 'steep', 'mine', 'slide') and res.mine==.5
    f = learn.recorder.lr_finder
    lrs,losses = f.lrs[4:-5],f.losses[4:-5]
    assert res.minimum==minimum(lrs, losses, 40)[0] and res.slide==slide(lrs, losses, 40, lr_diff=5)[0]
    assert learn.lr_find(num_it=40, show_plot=False, suggest_funcs=None) is None

# Plots

def test_plots():
    import matplotlib.pyplot as plt
    learn = mk_finder()
    with pytest.raises(ValueError, match='lr_find'): learn.recorder.plot_lr_find()
    learn.recorder._clear()
    with pytest.raises(ValueError, match='nothing was recorded'): learn.recorder.plot_sched()
    learn.fit(1)
    assert [o.get_ylabel() for o in learn.recorder.plot_sched()]==['lr']
    learn.fit_one_cycle(1)
    ax,bx = learn.recorder.plot_sched(figsize=(3, 2))
    assert ax.lines[0].get_ydata().tolist()==learn.recorder.hps['lr'] and bx.get_ylabel()=='mom'
    assert len(learn.recorder.plot_sched('mom'))==1
    with pytest.raises(ValueError, match="'wd'"): learn.recorder.plot_sched(['lr', 'wd'])
    res = learn.lr_find(num_it=40)
    line,point = learn.recorder.plot_lr_find(skip_end=3).lines
    assert line.get_xdata().tolist()==learn.recorder.lr_finder.lrs[:-3] and point.get_xdata()[0]==res.valley
    fig = learn.recorder.plot_lr_find(suggestions=[(.1, (.1, 2.))], nms=['mine'], return_fig=True)
    assert [o.get_text() for o in fig.axes[0].get_legend().get_texts()]==['mine: 1.00e-01']
    plt.close('all')

# The finder in a fit of one's own

class Learned(Module):
    "A loss with a parameter of its own"
    def __init__(self):
        self.scale = nn.Parameter(torch.ones(1))
    def forward(self, pred, y): return F.mse_loss(pred*self.scale, y)

@pytest.mark.parametrize('end', ['runs', 'diverges', 'cancelled', 'fails'])
@pytest.mark.parametrize('opt', [torch.optim.SGD, partial(torch.optim.SGD, momentum=.9), torch.optim.AdamW])
def test_a_finder_in_a_fit_restores_weights_and_optimizer(end, opt):
    model = nn.Sequential(nn.Linear(2, 4), nn.BatchNorm1d(4), nn.Linear(4, 1))
    model.register_buffer('seen', torch.zeros(()), persistent=False)
    learn = mk(model=model, opt_func=opt, loss_func=Learned())
    learn.fit(1)
    tensors = [*model.parameters(), *model.buffers(), *learn.loss_func.parameters()]
    before,state = [o.clone() for o in tensors],deepcopy(learn.opt.state_dict())
    def stop(cb):
        cb.model.seen += 1
        if end=='cancelled' and cb.iter==2: raise CancelFitException
        if end=='fails' and cb.iter==2: raise ValueError('there')
    finder = LRFinder(1e-3, 1e9 if end=='diverges' else 10, num_it=7, stop_div=end=='diverges')
    with suppress(ValueError): learn.fit(3, cbs=[finder, Callback(after_batch=stop)])
    assert all(map(torch.equal, tensors, before)) and len(finder.lrs)==dict(runs=7, diverges=len(finder.lrs), cancelled=2, fails=2)[end]
    torch.testing.assert_close(learn.opt.state_dict(), state, rtol=0, atol=0)
    learn.fit(1)
    assert not torch.equal(tensors[0], before[0])
