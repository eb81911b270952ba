"Which value of a metric is better: declared or known, the same for all who need it, whatever its name is"
import operator, re
import pytest, torch
from functools import partial
from helpers import mk_learner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from learnloop import (AccumMetric, AvgMetric, CheckpointCallback, CSVLogger, DictMetric, EarlyStoppingCallback, Metric, ReduceLROnPlateau, Run,
    SaveModelCallback, TrackerCallback, ValidateCallback, ValueMetric, accuracy, compare, error_rate, list_checkpoints, mae, mse, rmse, runs)
from learnloop.measure.metrics import mk_metrics
from learnloop.see.report import report_from
from torch import nn
from torch.nn import functional as F

BOTH = "better='less' or better='more'"
NAMES = ['euros', 'abs_dev', 'my_loss', 'error_free', 'score', 'accuracy', 'valid_kl', 'mae', 'wer'] # of functions, each of which may be either

def scripted(name, values, better, how):
    "A metric called `name` that has `values`, one for each epoch, and declares which is better"
    it = iter(values)
    class Scripted(Metric):
        sync = {}
        def accumulate(self, learn): pass
        value = property(lambda self: next(it))
    Scripted.name = name
    if how=='class':
        Scripted.better = better
        return Scripted()
    f = lambda: next(it)
    if how=='attribute': f.better = better
    return ValueMetric(f, name, better if how=='argument' else None)

def mk(name, values, better, how, folder): return mk_learner(defaults=True, metrics=scripted(name, values, better, how), path=folder)
def fit(learn, n, cbs):
    with learn.no_logging(): learn.fit(n, cbs=cbs)

@given(name=st.sampled_from(NAMES) | st.from_regex('[a-z_]{3,9}', fullmatch=True).filter(lambda o: not o.startswith(('train_', 'valid_'))),
    values=st.lists(st.integers(-20, 20).map(lambda o: o/4), min_size=2, max_size=4, unique=True), better=st.sampled_from(['less', 'more']),
    how=st.sampled_from(['class', 'attribute', 'argument']))
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_all_who_need_it_go_by_what_is_declared(name, values, better, how, tmp_path_factory):
    folder,pick = tmp_path_factory.mktemp('a'),min if better=='less' else max
    learn,best = mk(name, values, better, how, folder),pick(values)
    cbs = save,track,stop = SaveModelCallback(name),TrackerCallback(name),EarlyStoppingCallback(name, patience=9)
    fit(learn, len(values), [*cbs, ReduceLROnPlateau(name, patience=9), CheckpointCallback(folder/'ck', keep=1, best=1, monitor=name), CSVLogger()])
    assert [o.best for o in cbs]==[best]*3 and save.best_save['epoch']==values.index(best) and f'{better} is better'==stop.rule
    assert {o.metrics[name] for o in list_checkpoints(folder/'ck')}=={best, values[-1]}
    assert Run(folder).best(name)[:2]==(name, best) and compare([folder], by=name).best()[1]==best
    said = [o for o in re.findall(r'(lowest|highest) (\S+) in epoch (\d+)', report_from(folder).read_text()) if float(o[1])==pytest.approx(best, abs=.01)]
    assert ('lowest' if better=='less' else 'highest', values.index(best)) in [(a, int(c)) for a,_,c in said]
    (folder/'run.json').unlink()  # then a checkpoint knows
    assert Run(folder).best(name)[:2]==(name, best)

NEED = dict(tracker=lambda k, p, **kw: TrackerCallback(k, **kw), stop=lambda k, p, **kw: EarlyStoppingCallback(k, **kw),
    save=lambda k, p, **kw: SaveModelCallback(k, **kw), plateau=lambda k, p, **kw: ReduceLROnPlateau(k, **kw),
    checkpoint=lambda k, p, **kw: CheckpointCallback(p/'ck', best=1, monitor=k, **kw))

@pytest.mark.parametrize('name', NAMES)
def test_nothing_is_guessed_from_a_name(name, tmp_path):
    for mk_cb in NEED.values():
        learn = mk(name, [1., 2.], None, 'argument', tmp_path)
        with pytest.raises(ValueError, match=f'{name!r} is better: give {BOTH}'): fit(learn, 1, mk_cb(name, tmp_path))
        assert learn.count.batches==0
        learn = mk(name, [1., 2.], None, 'argument', tmp_path)
        fit(learn, 2, mk_cb(name, tmp_path, better='less'))
    fit(mk(name, [1., 2.], None, 'argument', tmp_path), 2, CSVLogger())
    for f in (Run(tmp_path).best, lambda k: compare([tmp_path], by=k).best()):
        with pytest.raises(ValueError, match=BOTH): f(name)
    assert compare([tmp_path], by=name, better='more').best()[1]==2. and repr(runs([tmp_path], name)) and compare([tmp_path], by=name).page()

def test_runs_that_contradict_each_other_have_no_best(tmp_path):
    for nm,better in (('a', 'less'), ('b', 'more'), ('c', None)): fit(mk('x', [1., 2.], better, 'argument', tmp_path/nm), 2, CSVLogger())
    with pytest.raises(ValueError, match=BOTH): compare(tmp_path, by='x').best()
    assert compare([tmp_path/'b', tmp_path/'c'], by='x').best()[1]==2., 'one that does not know goes by the others'
    assert compare(tmp_path, by='x', better='less').best()[1]==1.

def away(pred, targ): return (pred-targ).abs().mean()
def test_what_is_known():
    tm = pytest.importorskip('torchmetrics')
    def better(o): return mk_metrics(o)[0].better
    assert [better(o) for o in (accuracy, partial(accuracy, axis=1), AvgMetric(accuracy, 'a'), DictMetric(accuracy), tm.R2Score())]==['more']*5
    less = error_rate, mae, mse, rmse, F.mse_loss, nn.L1Loss(), partial(F.cross_entropy, label_smoothing=.1), tm.MeanSquaredError(), AccumMetric(mae)
    assert [better(o) for o in less]==['less']*9
    assert [better(o) for o in (away, F.cosine_similarity, AvgMetric(accuracy, 'b', then=lambda v: 1-v), tm.MeanMetric(), lambda p, y: accuracy(p, y))]==[None]*5
    for bad in ('min', 'Less', True, 0, 'less is better'):
        with pytest.raises(ValueError, match="must be 'less' or 'more'"): AvgMetric(away, better=bad)

def test_a_tracker_goes_by_the_metric_of_the_learner_that_it_is_in(tmp_path):
    cb = TrackerCallback('x')
    for better,want in (('less', 1.), ('more', 3.), ('less', 1.)):
        fit(mk('x', [2., 1., 3.], better, 'class', tmp_path), 3, cb)
        assert cb.best==want and cb.rule==f'{better} is better'

def test_validations_of_another_loader_go_by_the_metrics():
    learn = mk_learner(defaults=True, metrics=[mae, away])
    with learn.no_logging():
        learn.fit(2, cbs=[ValidateCallback(every_epochs=1, dl=learn.dls.valid, name='other'), cb := TrackerCallback('other_mae')])
        with pytest.raises(ValueError, match=BOTH):
            learn.fit(1, cbs=[ValidateCallback(every_epochs=1, dl=learn.dls.valid, name='other'), TrackerCallback('other_away')])
    assert cb.rule=='less is better' and cb.best is not None

@pytest.mark.parametrize('comp,rule', [(operator.lt, 'less is better'), (torch.gt, 'more is better')])
def test_fastais_comp_is_a_declaration(comp, rule, tmp_path):
    fit(mk('euros', [1., 2.], None, 'class', tmp_path), 2, cb := TrackerCallback('euros', comp))
    assert cb.rule==rule
