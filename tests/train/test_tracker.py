"Trackers: the best value, stopping, saving, plateaus, NaN, spikes, time, and validation within epochs"
import math, operator, pytest, torch, numpy as np, learnloop.train.tracker as tracker
from pathlib import Path
from helpers import LR, Module, TRAIN, VALID, batches, cover, mk_learner, mk_model, same, weights, quiet
from hypothesis import assume, given, strategies as st
from learnloop import (
    Callback, CancelBatchException, CancelEpochException, CancelFitException, CancelTrainException, CancelValidException, EarlyStoppingCallback,
    ReduceLROnPlateau, SaveModelCallback, SpikeDetection, TerminateOnNaNCallback, TimeLimit, TrackerCallback, ValidateCallback, ValueMetric)
from torch import nn
from torch.nn import functional as F

NAN,INF = math.nan,math.inf
TRACKERS = [TrackerCallback, EarlyStoppingCallback, SaveModelCallback, ReduceLROnPlateau]
FINE = st.integers(-8, 8).map(lambda o: o/4)  # dyadic: sums and differences are exact
VALUES = st.lists(FINE | st.sampled_from([NAN, INF, -INF]), min_size=1, max_size=12)

def scripted(values, cbs=None, **kwargs):
    "A learner whose metric `score` is `values[epoch]`; None for a validation that is cancelled after it began"
    learn = mk_learner(cbs, defaults=True, metrics=ValueMetric(lambda: values[learn.epoch], 'score', better='more'), **kwargs)
    def before_validate(cb):
        if values[cb.epoch] is None: raise CancelValidException
    cb = Callback(before_validate=before_validate)
    cb.order = 99
    learn.add_cb(cb)
    return learn

def run(values, cb, n=None, **kwargs):
    learn = scripted(values, **kwargs)
    learn.fit(len(values) if n is None else n, cbs=cb)
    return learn

def heard(e, f, order=99, **attrs):
    cb = Callback(**{e:f})
    cb.order,cb.name = order,f'heard_{e}_{abs(order)}'
    for k,v in attrs.items(): setattr(cb, k, v)
    return cb

# What is best

def naive_best(values, less, delta):
    "Best so far and whether it is new, after each value"
    best,res = None,[]
    for v in values:
        new = math.isfinite(v) and (best is None or (v<best-delta if less else v>best+delta))
        if new: best = v
        res.append((best, new))
    return res

class Log(TrackerCallback):
    def after_epoch(self):
        super().after_epoch()
        self.__dict__.setdefault('_log', []).append((self.best, self.new_best))

@pytest.mark.parametrize('comp', [operator.lt, np.less, torch.lt, operator.gt, np.greater, torch.gt], ids=lambda o: f'{o.__module__}.{o.__name__}')
@pytest.mark.parametrize('delta', [0., .5])
def test_any_comparison_will_do_and_torch_lt_on_floats_is_no_type_error(comp, delta):
    values = [1., 2., .75, .25, NAN, -3., -2.5, INF, -INF, 3.]
    run(values, cb := Log('score', comp, delta))
    assert cb._log==naive_best(values, comp in (operator.lt, np.less, torch.lt), delta)

@pytest.mark.parametrize('cls', TRACKERS)
def test_unknown_monitor_is_an_error_before_anything_is_trained_and_no_fuzzy_match(cls):
    learn = mk_learner(defaults=True, metrics=F.l1_loss)
    with pytest.raises(ValueError, match="unknown monitor 'val_loss'; did you mean 'valid_loss'.*train_loss, valid_loss, l1_loss"): learn.fit(1, cbs=cls('val_loss'))
    assert learn.count.batches==0 and same(learn.model, mk_model())

def test_a_monitor_of_validation_without_validation_is_an_error():
    with pytest.raises(ValueError, match='no validation loader'): mk_learner(defaults=True, dls=(TRAIN,)).fit(1, cbs=TrackerCallback())

@pytest.mark.parametrize('cls', [*TRACKERS, ValidateCallback])
def test_without_a_recorder_the_error_says_so(cls):
    with pytest.raises(ValueError, match='add_cb\\(Recorder'): mk_learner().fit(1, cbs=cls(every_steps=1) if cls is ValidateCallback else cls())

@pytest.mark.parametrize('kwargs,err,match', [
    (dict(monitor=len), ValueError, "better='less' or better='more'"), (dict(comp=operator.lt, better='less'), ValueError, 'both given'),
    (dict(better='min'), ValueError, "'less' or 'more'"), (dict(mode='max'), TypeError, "it is better here .*'more' for 'max'"), (dict(monitor=3), TypeError, 'monitor is 3'), (dict(min_delta=-1), ValueError, 'min_delta is -1'),
    (dict(min_delta=NAN), ValueError, 'min_delta'), (dict(comp='min'), TypeError, "comp is 'min'")])
def test_arguments_are_checked(kwargs, err, match):
    with pytest.raises(err, match=match): TrackerCallback(**kwargs)

@pytest.mark.parametrize('cls,kwargs,match', [(EarlyStoppingCallback, dict(patience=0), 'whole number'), (EarlyStoppingCallback, dict(patience=1.5), 'whole number'),
    (EarlyStoppingCallback, dict(patience=True), 'whole number'), (EarlyStoppingCallback, dict(start_from_epoch=-1), 'whole number'), (ReduceLROnPlateau, dict(factor=.1), 'factor'),
    (ReduceLROnPlateau, dict(factor=1.), 'factor'), (ReduceLROnPlateau, dict(patience=0), 'whole number'), (ReduceLROnPlateau, dict(cooldown=-1), 'whole number'),
    (SaveModelCallback, dict(every_epoch=-1), 'whole number'), (SaveModelCallback, dict(every_epoch=1.5), 'whole number'), (SaveModelCallback, dict(keep=0), 'whole number'),
    (SaveModelCallback, dict(keep=True), 'whole number'), (ValidateCallback, {}, 'the fit validates on this loader'), (ValidateCallback, dict(every_steps=1, when=print), None),
    (ValidateCallback, dict(every_steps=0), None), (ValidateCallback, dict(every_epochs=1.5), None), (ValidateCallback, dict(every_steps=1, name='a b'), None)])
def test_arguments_of_other_trackers_are_checked(cls, kwargs, match):
    with pytest.raises(ValueError, match=match): cls(**kwargs)

def test_a_function_of_the_recorder_can_be_monitored():
    learn = mk_learner(defaults=True)
    learn.fit(3, cbs=(cb := TrackerCallback(lambda r: sum(r.values[-1]), operator.lt)))
    assert cb.best==min(map(sum, learn.recorder.values))

@pytest.mark.parametrize('v', [[1., 2.], 'a', torch.zeros(2)])
def test_a_value_that_is_no_number_is_an_error(v):
    with pytest.raises(TypeError, match='must be a number'): run([v], TrackerCallback('score'))

@pytest.mark.parametrize('cls', TRACKERS)
def test_a_cancelled_validation_is_passed_over_and_no_index_error(cls, tmp_path):
    kwargs = dict(patience=2) if cls in (EarlyStoppingCallback, ReduceLROnPlateau) else {}
    learn = run([1., None, None, None, 0.], cb := cls('score', **kwargs), path=tmp_path)
    assert cb.best==1. and len(learn.recorder.values)==5 and getattr(cb, 'wait', 1)==1
    assert learn.opt.param_groups[0]['lr']==LR

def test_loaded_state_is_reset_by_the_second_fit_not_the_resumed_one():
    run([5., 4.], old := EarlyStoppingCallback('score', patience=5))
    new = EarlyStoppingCallback('score', patience=5)
    new.load_state_dict(old.state_dict())
    learn = scripted([5., 4., 3., 2.], new)
    learn.fit(3, start_epoch=2)
    assert (new.best, new.wait)==(5., 2)
    learn.fit(1)
    assert (new.best, new.wait)==(5., 0)

# Early stopping

def naive_stop(values, less, delta, patience):
    "Number of epochs that run"
    wait = 0
    for i,(_,new) in enumerate(naive_best(values, less, delta)):
        wait = 0 if new else wait+1
        if wait>=patience: return i+1
    return len(values)

@given(values=VALUES, less=st.booleans(), delta=st.sampled_from([0., .25, 1.]), patience=st.integers(1, 4))
def test_early_stopping_matches_a_naive_version(values, less, delta, patience):
    cb = EarlyStoppingCallback('score', operator.lt if less else operator.gt, delta, patience)
    assert len(run(values, cb).recorder.values)==naive_stop(values, less, delta, patience)

@pytest.mark.parametrize('kwargs,values,n,why', [
    (dict(stopping_threshold=.5), [1., .5, .25, 0.], 3, 'better than 0.5'),
    (dict(divergence_threshold=5.), [1., 5., 6., 0.], 3, 'worse than 5'),
    (dict(check_finite=True), [1., NAN, 0.], 2, 'is nan'),
    (dict(check_finite=True), [1., INF, 0.], 2, 'is inf'),
    (dict(), [1., NAN, INF, 0.], 4, None),
    (dict(patience=2), [1., NAN, INF, 0.], 3, 'not improved 2 times'),
    (dict(patience=2, baseline=.5), [3., 2., 1.], 2, 'not improved'),    # improving, but never better than the baseline
    (dict(patience=2, baseline=.5), [3., .25, .3, .2, .1], 5, None),
    (dict(patience=1, start_from_epoch=3), [0., 1., 2., 3., 2., 5., 1.], 6, 'best is 2')])
def test_other_conditions(kwargs, values, n, why):
    learn = run(values, cb := EarlyStoppingCallback('score', **dict(comp=operator.lt, patience=9)|kwargs))
    assert len(learn.recorder.values)==n and (why is None)==(cb.stop_reason is None) and (why or '') in (cb.stop_reason or '')

def recording(values, name='x'):
    "Record `values` under `name`, one after each step"
    it = iter(values)
    return heard('after_batch', lambda cb: cb.recorder.row.update(new := {name:next(it)}) or cb.recorder.record('x', new), order=55, run_valid=False, epoch_columns={name:'more'})

def test_a_stop_within_an_epoch_ends_training_there_and_the_epoch_in_good_order():
    seen = []
    learn = mk_learner(defaults=True)
    cbs = [heard(e, lambda cb, e=e: seen.append(e)) for e in ('after_train', 'before_validate', 'after_epoch')]
    learn.fit(3, cbs=[recording([2., 1., 0., 5., 4., 3.]), EarlyStoppingCallback('x'), *cbs])
    assert seen==['after_train', 'before_validate', 'after_epoch'] and learn.count.batches==learn.count.opt_steps==2
    assert len(learn.recorder.values)==1 and None not in learn.recorder.values[0] and learn.outcome['fit']=='cancelled'

# Plateaus

class Groups(Module):
    def __init__(self):
        self.a,self.b = nn.Linear(2, 2),nn.Linear(2, 1)
        with torch.no_grad():
            for p in self.parameters(): p.fill_(.25)
    def forward(self, x): return self.b(self.a(x))
def splitter(m): return [list(m.a.parameters()), list(m.b.parameters())]

def torch_lrs(values, less, delta, patience, cooldown, min_lr, lrs):
    "The learning rates after each value, by torch's own scheduler"
    opt = torch.optim.SGD([dict(params=[nn.Parameter(torch.zeros(1))], lr=lr) for lr in lrs])
    sched = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, 'min' if less else 'max', factor=.5, patience=patience-1, threshold=delta,
        threshold_mode='abs', cooldown=cooldown, min_lr=min_lr, eps=0)
    res = []
    for v in values:
        sched.step(v)
        res.append([g['lr'] for g in opt.param_groups])
    return res

def plateau_lrs(values, cb, lrs, n=None):
    res = []
    learn = scripted(values, model=Groups(), splitter=splitter)
    log = heard('after_epoch', lambda o: res.append([g['lr'] for g in o.opt.param_groups]))
    learn.fit(len(values), lr=lrs, cbs=[cb, log])
    return res

@given(values=st.lists(FINE | st.just(NAN), min_size=1, max_size=14), less=st.booleans(), delta=st.sampled_from([0., .25]),
    patience=st.integers(1, 3), cooldown=st.integers(0, 3), min_lr=st.sampled_from([0., 2**-6]))
def test_plateau_matches_pytorch(values, less, delta, patience, cooldown, min_lr):
    lrs = [2**-5, 2**-3]
    cb = ReduceLROnPlateau('score', operator.lt if less else operator.gt, delta, patience, factor=2, min_lr=min_lr, cooldown=cooldown)
    assert plateau_lrs(values, cb, lrs)==torch_lrs(values, less, delta, patience, cooldown, min_lr, lrs)

def test_plateau_sets_the_lr_of_several_optimizers_and_of_tensors():
    def opt_func(groups, lr=None):
        a,b = nn.Parameter(torch.zeros(1)),[p for g in groups for p in g['params']]
        return dict(a=torch.optim.SGD([a], lr=.5), b=torch.optim.Adam(b, lr=torch.tensor(.25)))
    learn = scripted([1., 1.], opt_func=None, lr=None)
    learn.opt_func = opt_func(learn.model.parameters() and [dict(params=list(learn.model.parameters()))])
    learn.fit(2, cbs=ReduceLROnPlateau('score', factor=2))
    assert learn.opt['a'].param_groups[0]['lr']==.25 and learn.opt['b'].param_groups[0]['lr'].item()==.125

# Saving

class Weights(Callback):
    "Weights after each epoch"
    order = 100
    def before_fit(self): self.seen = []
    def after_epoch(self): self.seen.append(weights(self.learn.model))

def saver(values, tmp_path, n=None, cbs=(), **kwargs):
    learn = scripted(values, path=tmp_path)
    learn.fit(len(values) if n is None else n, cbs=[cb := SaveModelCallback('score', **kwargs), w := Weights(), *cbs])
    return learn,cb,w.seen
def files(tmp_path): return sorted(o.stem for o in (tmp_path/'models').glob('*')) if (tmp_path/'models').exists() else []

@pytest.mark.parametrize('values', [[1., 3., 2.], [3., 1., 2.], [1., 2., 3.], [NAN, 2., INF]])
def test_the_best_is_loaded_after_the_fit(values, tmp_path):
    learn,cb,seen = saver(values, tmp_path)
    i = values.index(max(o for o in values if math.isfinite(o)))
    assert same(weights(learn.model), seen[i]) and not any(same(seen[i], o) for o in seen[:i]+seen[i+1:])
    assert files(tmp_path)==['model'] and cb.last_saved_path==tmp_path/'models'/'model.pth'
    assert [(o['epoch'], o['value'], o['step']) for o in cb.saves]==[(i, values[i], 3*(i+1))]

@pytest.mark.parametrize('err', [ValueError, KeyboardInterrupt])
def test_nothing_is_loaded_after_an_error(err, tmp_path):
    def fail(cb):
        if cb.epoch==2: raise err
    learn = scripted([3., 1., 2.], path=tmp_path)
    with pytest.raises(err): learn.fit(3, cbs=[SaveModelCallback('score'), w := Weights(), heard('before_train', fail)])
    assert same(weights(learn.model), w.seen[1])

@pytest.mark.parametrize('values', [[NAN, NAN], [None, None], [NAN, INF]])
def test_case_37_nothing_saved_is_a_warning_and_no_file_not_found_nor_a_stale_file(values, tmp_path):
    other = mk_learner(model=mk_model(1), path=tmp_path)
    other.save('model', with_opt=False)
    with pytest.warns(UserWarning, match='nothing was saved'): learn,cb,seen = saver(values, tmp_path)
    assert same(weights(learn.model), seen[-1]) and cb.last_saved_path is None
    other.load('model', with_opt=False)
    assert same(other.model, mk_model(1))  # untouched

def test_a_second_fit_does_not_load_the_best_of_the_first(tmp_path):
    learn = scripted([9., 1., 2.], SaveModelCallback('score'), path=tmp_path)
    learn.fit(1)
    learn.fit(3, start_epoch=1, cbs=(w := Weights()))
    assert same(weights(learn.model), w.seen[1])
    learn = scripted([9., 1., 2.], cb := SaveModelCallback('score', reset_on_fit=False), path=tmp_path)
    learn.fit(1)
    first = weights(learn.model)
    learn.fit(3, start_epoch=1)
    assert same(weights(learn.model), first) and cb.best==9.

def test_a_fit_that_is_cancelled_before_it_begins_loads_nothing(tmp_path):
    learn = scripted([9.], SaveModelCallback('score'), path=tmp_path)
    learn.fit(1)
    learn.model.load_state_dict(mk_model(1).state_dict())
    def cancel(cb): raise CancelFitException
    for order in (0, 99):
        learn.fit(1, cbs=heard('before_fit', cancel, order=order))
        assert same(learn.model, mk_model(1))
    learn.fit(0)
    assert same(learn.model, mk_model(1))

def test_every_epoch_and_at_end_need_no_monitor(tmp_path):
    learn = mk_learner(dls=(TRAIN,), path=tmp_path, cbs=[SaveModelCallback('no such thing', every_epoch=2, at_end=True)])
    learn.fit(3)
    assert files(tmp_path)==['model', 'model_0', 'model_2']

@pytest.mark.parametrize('kwargs,want', [(dict(keep=9), ['model_step1', 'model_step2', 'model_step3']), (dict(every_epoch=True), ['model_0'])], ids=str)
def test_the_best_of_a_validation_in_an_epoch_is_saved_and_not_each_epochs_file(kwargs, want, tmp_path):
    cbs = [ValidateCallback(every_steps=1, dl=VALID, name='test'), SaveModelCallback('test_loss', **kwargs)]
    quiet(mk_learner(cbs, defaults=True, dls=(TRAIN,), path=tmp_path), 1)
    assert files(tmp_path)==want

@given(values=st.lists(FINE | st.just(NAN), min_size=1, max_size=10), keep=st.integers(2, 4), less=st.booleans())
def test_keep_has_the_k_best_and_not_the_first_k(tmp_path_factory, values, keep, less):
    tmp_path = tmp_path_factory.mktemp('keep')
    assume(not all(map(math.isnan, values)))
    learn,cb,seen = saver(values, tmp_path, keep=keep, comp=operator.lt if less else operator.gt)
    fine = sorted((o for o in values if not math.isnan(o)), reverse=not less)
    assert sorted((o['value'] for o in cb.saves), reverse=not less)==fine[:keep]
    assert files(tmp_path)==sorted(o['name'] for o in cb.saves)==sorted(f"model_step{o['step']}" for o in cb.saves)
    assert same(weights(learn.model), seen[values.index(fine[0])])

def test_a_file_is_evicted_after_its_replacement_is_written(tmp_path):
    learn = scripted([1., 2., 3., 4.], path=tmp_path)
    there = []
    cbs = [SaveModelCallback('score', keep=2), heard('before_save', lambda cb: there.append(files(tmp_path)))]
    learn.fit(4, cbs=cbs)
    assert there==[[], ['model_step3'], ['model_step3', 'model_step6'], ['model_step6', 'model_step9']]
    assert files(tmp_path)==['model_step12', 'model_step9']

@pytest.mark.parametrize('keep', [None, 2])
def test_a_failing_save_costs_no_file(keep, tmp_path):
    def fail(cb):
        if cb.epoch==2: raise OSError('disk full')
    learn = scripted([1., 2., 3.], path=tmp_path)
    with pytest.raises(OSError): learn.fit(3, cbs=[cb := SaveModelCallback('score', keep=keep), w := Weights(), heard('before_save', fail)])
    assert all(Path(o['path']).exists() for o in cb.saves) and len(cb.saves)==(keep or 1)
    learn.load(cb.saves[-1]['name'], with_opt=False)
    assert same(weights(learn.model), w.seen[1])

def test_a_resumed_run_loads_the_best_from_before_the_crash(tmp_path):
    _,old,seen = saver([1., 5.], tmp_path)
    learn = scripted([1., 5., 2., 3.], new := SaveModelCallback('score'), path=tmp_path)
    new.load_state_dict(old.state_dict())
    learn.fit(4, start_epoch=2)
    assert same(weights(learn.model), seen[1]) and new.best==5.

# NaN

class Broken(Module):
    "A line whose loss or gradients break in the third training batch, or in validation"
    def __init__(self, how):
        self.lin,self.how,self.n = mk_model(),how,0
    def forward(self, x):
        res = self.lin(x)
        self.n += self.training
        if self.n!=3 or self.how=='valid' or not self.training: return res+NAN if self.how=='valid' and not self.training else res
        if self.how=='grad': return res + (self.lin.weight.sum()*0).sqrt()
        return res + dict(nan=NAN, inf=INF)[self.how]

def all_finite(m): return all(o.isfinite().all() for o in m.state_dict().values())

@pytest.mark.parametrize('how,why', [('nan', 'loss is nan'), ('inf', 'loss is inf'), ('grad', 'gradient of lin.weight')])
def test_weights_stay_finite_as_nan_is_found_before_the_step(how, why):
    learn = mk_learner(defaults=True, model=Broken(how))
    learn.fit(2, cbs=(cb := TerminateOnNaNCallback()))
    want = mk_learner(dls=(TRAIN[:2],VALID))
    want.fit(1)
    assert all_finite(learn.model) and same(learn.model.lin, want.model) and learn.count.opt_steps==2
    assert why in cb.stop_reason and 'epoch 0, batch 2 of training' in cb.stop_reason and learn.outcome['fit']=='cancelled'
    learn.fit(1, cbs=cb)  # nothing broken is left in gradients
    assert all_finite(learn.model) and cb.stop_reason is None and learn.count.opt_steps==5

def test_nan_in_validation_ends_the_fit():
    learn = mk_learner(defaults=True, model=Broken('valid'))
    learn.fit(3, cbs=(cb := TerminateOnNaNCallback()))
    assert learn.count.epochs==0 and learn.count.batches==3 and 'batch 0 of validation' in cb.stop_reason

def test_nan_in_an_evaluation_within_a_fit_ends_it_and_outside_is_returned():
    learn = mk_learner(TerminateOnNaNCallback(), defaults=True, model=Broken('valid'))
    assert math.isnan(learn.validate()[0]) and learn.terminate_on_na_n.stop_reason is None
    learn.fit(1, cbs=ValidateCallback(every_steps=2))
    assert learn.count.batches==2 and learn.terminate_on_na_n.stop_reason and learn.open==[] and not learn.training
    learn.get_preds()

def test_losses_of_items_and_sparse_gradients_are_looked_at():
    emb = nn.Sequential(nn.Embedding(4, 2, sparse=True), nn.Linear(2, 1))
    dls = ([(torch.tensor([1, 1]), torch.zeros(2, 1))], [(torch.tensor([1]), torch.zeros(1, 1))])
    learn = mk_learner(defaults=True, model=emb, dls=dls)
    learn.fit(1, cbs=TerminateOnNaNCallback())
    assert learn.count.opt_steps==1
    def per_item(pred, y): return F.mse_loss(pred, y, reduction='none')/(y-y[0]).abs()
    learn = mk_learner(defaults=True, loss_func=per_item)
    learn.fit(1, cbs=(cb := TerminateOnNaNCallback()))
    assert 'not finite' in cb.stop_reason

# Spikes

def spoil(at, by=1e4):
    "Make the targets of the training batches `at`, counted over all, too large"
    def before_batch(cb):
        if cb.count.batches in at: cb.learn.yb = (cb.learn.yb[0]+by,)
    return heard('before_batch', before_batch, order=0, run_valid=False)

@pytest.mark.parametrize('by', [1e4, NAN, INF])
def test_a_spike_is_skipped_and_the_rest_is_as_without_it(by):
    bs = batches(12)
    learn = mk_learner(defaults=True, dls=(bs, VALID), lr=.01)
    learn.fit(1, cbs=[cb := SpikeDetection(warmup=4), spoil({6}, by)])
    want = mk_learner(dls=(bs[:6]+bs[7:], VALID), lr=.01)
    want.fit(1)
    assert same(learn.model, want.model) and learn.count.opt_steps==11 and [(o['epoch'], o['iter']) for o in cb.spikes]==[(0, 6)]
    assert len(learn.recorder.raw_losses)==12  # it is seen in the plot

def test_spikes_that_do_not_end_stop_the_fit():
    learn = mk_learner(defaults=True, dls=(batches(12), VALID), lr=.01)
    learn.fit(1, cbs=[cb := SpikeDetection(warmup=4, patience=3), spoil({5, 7, 8, 9})])
    assert len(cb.spikes)==4 and learn.count.opt_steps==6 and 'batch 3 in a row' in cb.stop_reason and learn.outcome['fit']=='cancelled'

# Time

class Clock:
    "A clock that is at `t`, and goes on by `step` at each training batch"
    t = 0.
    def __call__(self): return self.t

def on_time(monkeypatch, step=1., valid=0., **kwargs):
    monkeypatch.setattr(tracker, 'monotonic', clock := Clock())
    learn = mk_learner(defaults=True, dls=(batches(5), VALID), **kwargs)
    def tick(cb): clock.t += step if cb.training else valid/len(VALID)
    learn.add_cb(heard('after_batch', tick, order=-99))
    return learn

@pytest.mark.parametrize('secs,n', [(1., 2), (2.5, 4), (6., 7), (99., 15)])
def test_when_time_is_up_the_batch_that_begins_is_the_last_and_the_epoch_is_finished(secs, n, monkeypatch):
    learn = on_time(monkeypatch)
    seen = []
    learn.fit(3, cbs=[cb := TimeLimit(seconds=secs), heard('before_batch', lambda cb: seen.append((cb.iter+1, cb.n_iter)), run_valid=False)])
    assert learn.count.batches==n and len(learn.recorder.values)==math.ceil(n/5) and None not in learn.recorder.values[-1]
    assert learn.outcome['fit']=='done' and (cb.stop_reason is not None)==(n<15) and 0<learn.pct_train<=1+1e-9
    assert seen[-1][0]==seen[-1][1] and cb.elapsed==n  # accumulation sees that it is the last

def test_the_clock_starts_with_the_fit_and_the_time_used_is_saved(monkeypatch):
    learn = on_time(monkeypatch)
    cb = TimeLimit(seconds=7)
    tracker.monotonic.t = 1000.
    on_the_way = heard('after_epoch', lambda o: during.append(cb.state_dict()))
    during = []
    learn.fit(1, cbs=[cb, on_the_way])
    assert during==[cb.state_dict()]==[dict(spent=5.)] and cb.stop_reason is None
    new = TimeLimit(seconds=7)
    new.load_state_dict(cb.state_dict())
    learn.fit(9, start_epoch=1, cbs=new)
    assert learn.count.batches==8  # two seconds are left, then the last
    learn.fit(1, cbs=new)
    assert learn.count.batches==13 and new.stop_reason is None

def test_a_time_limit_needs_a_time():
    with pytest.raises(ValueError, match='0.0 seconds'): TimeLimit()
    assert TimeLimit(hours=1, minutes=1, seconds=1).seconds==3661

# Validation within epochs

def test_validation_within_an_epoch_leaves_everything_as_it_was():
    "It must not leave the model in eval mode for the rest of the epoch, nor draw random numbers of training"
    def fit(cbs):
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(2, 4), nn.BatchNorm1d(4), nn.Dropout(.5), nn.Linear(4, 1))
        learn = mk_learner(defaults=True, model=model, metrics=F.l1_loss, opt_func=torch.optim.Adam, dls=(batches(6), VALID))
        modes = []
        learn.fit(2, cbs=[*cbs, heard('before_batch', lambda cb: modes.append((cb.model.training, cb.training)))])
        return learn,modes[:6]
    (a,_),(b,modes) = fit([]),fit([ValidateCallback(every_steps=1), ValidateCallback(every_steps=2, dl=batches(1, seed=5), name='test')])
    assert same(a.model, b.model) and a.recorder.values==[o[:3] for o in b.recorder.values] and a.recorder.raw_losses==b.recorder.raw_losses
    assert vars(a.count)==vars(b.count) and modes[0]==modes[3]==(True, True)

def test_several_loaders_go_by_their_names():
    learn = mk_learner(defaults=True, metrics=F.l1_loss)
    other = batches(2, seed=7)
    cbs = [ValidateCallback(every_epochs=1, dl=other, name='test'), ValidateCallback(every_epochs=2, ds_idx=0, name='again')]
    learn.fit(3, cbs=[*cbs, cb := TrackerCallback('test_l1_loss')])
    recs = learn.recorder.records
    assert [(o['name'], o['epoch']) for o in recs]==[('test', 0), ('test', 1), ('again', 1), ('test', 2)]
    assert list(recs[-1]['values'])==['test_loss', 'test_l1_loss'] and list(recs[-1]['values'].values())==learn.validate(dl=other)
    assert cb.best==min(o['values']['test_l1_loss'] for o in recs if o['name']=='test')
    with pytest.raises(ValueError, match="did you mean 'test_loss'"): learn.fit(1, cbs=[ValidateCallback(every_steps=1, dl=other, name='test'), TrackerCallback('tst_loss')])

def test_when_is_asked_after_each_real_step():
    asked = []
    def when(learn):
        asked.append(learn.iter)
        return learn.iter==1
    learn = mk_learner(defaults=True)
    learn.fit(2, cbs=ValidateCallback(when=when))
    assert asked==[0, 1, 2]*2 and [o['step'] for o in learn.recorder.records]==[2, 5]

def test_validation_that_cannot_be_is_an_error_before_training():
    for dls,kwargs,match in (((TRAIN,), {}, 'no validation loader'), ((TRAIN, VALID), dict(ds_idx=0, name='train'), 'choose another')):
        learn = mk_learner(defaults=True, dls=dls)
        with pytest.raises(ValueError, match=match): learn.fit(1, cbs=ValidateCallback(every_steps=1, **kwargs))
        assert learn.count.batches==0
    with pytest.raises(TypeError, match='when is 3'): ValidateCallback(when=3)

# Others

# Any end

OPEN_IN = dict(before_train=(CancelTrainException, CancelEpochException, CancelFitException, KeyboardInterrupt),
    after_loss=(CancelBatchException, CancelTrainException, CancelEpochException, CancelFitException, KeyboardInterrupt),
    after_epoch=(CancelEpochException, CancelFitException, KeyboardInterrupt))

@pytest.mark.parametrize('cls,e,what', cover((cls, e, o) for cls in TRACKERS for e,whats in OPEN_IN.items() for o in whats))
def test_trackers_survive_any_end(cls, what, e, tmp_path):
    def stop(cb):
        if cb.epoch==1: raise what
    learn = scripted([1., 2., 3.], cb := cls('score'), path=tmp_path)
    try: learn.fit(3, cbs=heard(e, stop, run_valid=False))
    except KeyboardInterrupt: pass
    assert cb.best in (1., 2., 3.) and not cb._begun
    learn.fit(3)
    assert cb.best==3. and len(learn.recorder.values)==3
