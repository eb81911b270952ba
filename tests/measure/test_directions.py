"Whether higher or lower values of a metric are better: declared or known, never guessed from its name"
import pytest
from functools import partial
from helpers import mk_learner
from learnloop import (AccumMetric, AvgMetric, CheckpointCallback, CSVLogger, DictMetric, EarlyStoppingCallback, Metric, ReduceLROnPlateau, Run,
    SaveModelCallback, TrackerCallback, ValueMetric, accuracy, compare, error_rate, mae, mse, rmse, runs)
from learnloop.measure.metric import mk_metrics
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

NEED = dict(tracker=lambda k, p, **kw: TrackerCallback(k, **kw), stop=lambda k, p, **kw: EarlyStoppingCallback(k, **kw),
    save=lambda k, p, **kw: SaveModelCallback(k, **kw), plateau=lambda k, p, **kw: ReduceLROnPlateau(k, **kw),
    checkpoint=lambda k, p, **kw: CheckpointCallback(p/'ck', best=1, monitor=k, **kw))

@pytest.mark.every(3)
@pytest.mark.parametrize('name', NAMES)
def test_directions_are_not_guessed_from_names(name, tmp_path):
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

def away(pred, targ): return (pred-targ).abs().mean()
def test_known_directions():
    tm = pytest.importorskip('torchmetrics')
    def better(o): return mk_metrics(o)[0].better
    assert [better(o) for o in (accuracy, partial(accuracy, axis=1), AvgMetric(accuracy, 'a'), DictMetric(accuracy), tm.R2Score())]==['more']*5
    less = error_rate, mae, mse, rmse, F.mse_loss, nn.L1Loss(), partial(F.cross_entropy, label_smoothing=.1), tm.MeanSquaredError(), AccumMetric(mae)
    assert [better(o) for o in less]==['less']*9
    assert [better(o) for o in (away, F.cosine_similarity, AvgMetric(accuracy, 'b', then=lambda v: 1-v), tm.MeanMetric(), lambda p, y: accuracy(p, y))]==[None]*5
    for bad in ('min', 'Less', True, 0, 'less is better'):
        with pytest.raises(ValueError, match="must be 'less' or 'more'"): AvgMetric(away, better=bad)
