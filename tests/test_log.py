"TensorBoard logs, read back: what is in them after fits that ended well or badly"
import subprocess, sys
import pytest, torch
from helpers import TRAIN, mk_learner
from learnloop import (Callback, CancelFitException, CancelStepException, CancelValidException, Recorder, TensorBoardCallback, event,
    mae, on)
from learnloop import log as log_mod
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

def read(folder):
    "Points by tag: lists of (step, value)"
    acc = EventAccumulator(str(folder), size_guidance=dict(scalars=0)).Reload()
    return {k:[(o.step, o.value) for o in acc.Scalars(k)] for k in acc.Tags()['scalars']}

def learner(cb, cbs=(), **kwargs): return mk_learner([Recorder(), cb, *cbs], **kwargs)
def steps(pts): return [o[0] for o in pts]
def approx(vals): return pytest.approx(vals, rel=1e-6)

@pytest.fixture
def tb(tmp_path): return TensorBoardCallback(tmp_path/'log', every_steps=1)

def test_all_of_two_fits(tb):
    learn = learner(tb, metrics=mae)
    for i in range(2):
        learn.fit(2)
        pts,rec = read(tb.log_dir),learn.recorder
        first = 6*i
        assert sorted(pts)==['loss/train', 'loss/train_epoch', 'loss/valid', 'lr', 'metrics/mae']
        assert steps(pts['loss/train'])==steps(pts['lr'])==[*range(1, first+7)], 'steps go on over fits'
        assert [v for _,v in pts['loss/train']][first:]==approx(rec.raw_losses)
        assert [v for _,v in pts['lr']][first:]==approx(rec.lrs)
        for k,vals in zip(('loss/train_epoch', 'loss/valid', 'metrics/mae'), zip(*rec.values, strict=True), strict=True):
            assert pts[k][2*i:]==[(first+3, approx(vals[0])), (first+6, approx(vals[1]))]
        assert tb.writer is None and tb._points==[]

@pytest.mark.parametrize('every,block', [(1,1), (1,4), (2,1), (2,100), (4,2), (100,1)])
def test_cadence_and_blocks(every, block, tmp_path):
    tb = TensorBoardCallback(tmp_path, every_steps=every, block=block)
    learner(tb, dls=(TRAIN*3,)).fit(2)
    assert steps(read(tmp_path).get('loss/train', []))==[*range(every, 19, every)]

def test_no_sync_within_a_block(tb, monkeypatch):
    n,f = [],torch.Tensor.tolist
    learn = learner(tb, dls=(TRAIN*50,))
    learn.remove_cb(Recorder)
    monkeypatch.setattr(torch.Tensor, 'tolist', lambda self: n.append(1) or f(self))
    learn.fit(1)
    assert len(n)==2, '150 points in blocks of 100'

@pytest.mark.parametrize('exc', [RuntimeError, KeyboardInterrupt, CancelFitException])
def test_nothing_is_lost_when_a_fit_ends_early(exc, tb):
    def stop(cb):
        if cb.learn.count.opt_steps==5: raise exc
    learn = learner(tb, [Callback(before_batch=stop)])
    if exc is CancelFitException: learn.fit(3)
    else: pytest.raises(exc, learn.fit, 3)
    pts = read(tb.log_dir)
    assert steps(pts['loss/train'])==[1, 2, 3, 4, 5] and steps(pts['loss/valid'])==[3]
    assert tb.writer is None

def test_steps_not_made_and_phases_skipped_have_no_point(tb):
    def skip(cb): raise CancelStepException
    def no_valid(cb): raise CancelValidException
    learn = learner(tb, [Callback(before_step=on(event.before_step, every=2)(skip)), Callback(before_validate=on(event.before_validate, once=1)(no_valid))])
    learn.fit(2)
    pts = read(tb.log_dir)
    assert steps(pts['loss/train'])==[1, 2, 3] and steps(pts['loss/valid'])==[3] and steps(pts['loss/train_epoch'])==[2, 3]

def test_groups_have_a_tag_each_and_train_metrics_theirs(tb):
    learn = learner(tb, splitter=lambda m: [[m.weight], [m.bias]], metrics=mae)
    learn.recorder.train_metrics = True
    learn.fit(1, lr=[.1, .2])
    pts = read(tb.log_dir)
    assert pts['lr/0'][0]==(1, approx(.1)) and pts['lr/1'][0]==(1, approx(.2))
    assert {'metrics/train_mae', 'metrics/valid_mae'}<=set(pts)

def test_evaluation_writes_nothing(tb):
    learn = learner(tb, [Callback(after_validate=lambda cb: None if cb.learn.phases['evaluate'] in cb.learn.open else cb.learn.validate())])
    learn.validate()
    learn.get_preds()
    assert not tb.log_dir.exists()
    learn.fit(1)
    pts = read(tb.log_dir)
    assert steps(pts['loss/valid'])==[3] and len(pts['loss/train'])==3

def test_without_recorder_or_validation(tb):
    learn = mk_learner([tb], dls=(TRAIN,))
    learn.fit(1)
    assert sorted(read(tb.log_dir))==['loss/train', 'lr']

def test_default_folder_is_new_each_time(tmp_path, monkeypatch):
    class Now(log_mod.datetime):
        @classmethod
        def now(cls): return cls(2024, 5, 6, 7, 8, 9)
    monkeypatch.setattr(log_mod, 'datetime', Now)
    dirs = []
    for _ in range(3):
        tb = TensorBoardCallback()
        learn = learner(tb, path=tmp_path)
        learn.fit(1)
        dirs.append(tb.log_dir)
        learn.fit(1)
        assert tb.log_dir==dirs[-1], 'a second fit goes on in the same'
    assert dirs==[tmp_path/'runs'/o for o in ('20240506-070809', '20240506-070809-1', '20240506-070809-2')]

def test_nan_is_logged(tb):
    learn = learner(tb, metrics=lambda pred, y: torch.tensor(float('nan')))
    learn.metrics[0].__name__ = 'nan'
    learn.fit(1)
    assert len(read(tb.log_dir)['metrics/nan'])==1

@pytest.mark.parametrize('kw', [dict(every_steps=0), dict(every_steps=.5), dict(block=0)])
def test_bad_values(kw):
    with pytest.raises(ValueError, match=f'{[*kw][0]} is {[*kw.values()][0]}: it must be a whole number'): TensorBoardCallback(**kw)

def test_missing_tensorboard_is_told_before_training(monkeypatch, tb):
    monkeypatch.setitem(sys.modules, 'torch.utils.tensorboard', None)
    learn = learner(tb)
    with pytest.raises(ImportError, match='pip install tensorboard'): learn.fit(1)
    assert learn.count.batches==0

def test_import_waits_for_a_fit():
    code = 'import sys, learnloop; learnloop.TensorBoardCallback(); print([o for o in ("tensorboard","rich","IPython","matplotlib","sklearn") if o in sys.modules])'
    assert subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, timeout=120, check=True).stdout=='[]\n'
