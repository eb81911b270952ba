"`learn.log`: means over the epoch, new columns, resuming, evaluations, and errors"
import warnings
import pytest, torch
from helpers import Boom, batches, mk_learner, quiet
from learnloop import Callback, CheckpointCallback, Learner, Recorder, SaveModelCallback, TrainEvalCallback
from torch import nn

DATA,VALID = [*batches(4), *batches(1, bs=1, seed=7)],batches(2, seed=1)  # the last batch has one item

def mk(cbs=(), **kwargs): return mk_learner([Recorder(add_time=False), *cbs], dls=(DATA, VALID), **kwargs)
def column(learn, name):
    i = learn.recorder.columns.index(name)
    return [row[i] if i<len(row) else None for row in learn.recorder.values]

class Says(Callback):
    "Logs the number of the batch in training, its negative in validation"
    def after_loss(self):
        learn = self.learn
        learn.log('i', torch.tensor(float(learn.iter))) if learn.training else learn.log('i', -learn.iter)

def test_means_are_weighted_by_items_and_of_training_and_validation_apart():
    learn = quiet(mk([Says()]), 2)
    want = (0*4+1*4+2*4+3*4+4*1)/17
    assert column(learn, 'train_i')==pytest.approx([want]*2) and column(learn, 'valid_i')==pytest.approx([-.5]*2)
    assert learn.recorder.columns[:2]==['train_loss', 'valid_loss']

def run(folder, stop=None):
    def boom(cb):
        if cb.learn.count.opt_steps==stop: raise Boom
    class Every(Callback):
        def after_step(self): self.learn.log('step', self.learn.count.opt_steps)
        def before_train(self): self.learn.log('lr', self.learn.opt.param_groups[0]['lr'])
    learn = mk([Every(), Callback('boom', after_batch=boom)])
    save = [CheckpointCallback(folder, every_steps=1)] if folder else []
    quiet(learn, 3, cbs=save, resume=folder, **dict(accept=True) if folder else {})
    return learn

@pytest.mark.parametrize('stop', [3, 8])
def test_a_resumed_fit_has_the_same_means(stop, tmp_path):
    with pytest.raises(Boom): run(tmp_path, stop)
    a,b = run(tmp_path),run(None)
    assert a.recorder.values==b.recorder.values and a.recorder.columns==b.recorder.columns

def logs(e, name='n', order=0, value=lambda learn: -learn.epoch):
    "A callback that logs a value in the event `e`"
    cb = Callback('logs', **{e:lambda cb: cb.learn.log(name, value(cb.learn))})
    cb.order = order
    return cb

def test_a_name_that_nothing_logs_is_a_warning_after_the_first_epoch_and_comes_later(tmp_path):
    def now_and_then(cb):
        if cb.learn.epoch>1: cb.learn.log('late', cb.learn.epoch)
    learn = mk([Callback('now', after_train=now_and_then)], path=tmp_path)
    with pytest.warns(UserWarning, match="unknown monitor 'late'.*there are train_loss, valid_loss.*No callback logged it") as told:
        quiet(learn, 4, cbs=(cb := SaveModelCallback('late', better='more')))
    assert len(told)==1 and cb.best==3.

def test_a_row_that_is_written_takes_no_more():
    with pytest.raises(ValueError, match='row has already been written'): quiet(mk([logs('after_epoch', order=55)]), 1)

@pytest.mark.parametrize('stop', [5, 8])
def test_a_resumed_fit_still_monitors_it(stop, tmp_path):
    def fit(folder, stop=None):
        def boom(cb):
            if cb.learn.training and cb.learn.count.opt_steps==stop: raise Boom
        cbs = [Says(), Callback('boom', after_batch=boom), logs('after_train')]
        save = SaveModelCallback('n', better='more')
        quiet(mk(cbs, path=tmp_path), 4, cbs=[save, CheckpointCallback(folder, every_steps=1)] if folder else save, resume=folder,
            **dict(accept=True) if folder else {})
        return save
    with pytest.raises(Boom): fit(tmp_path/'c', stop)
    assert fit(tmp_path/'c').best==fit(None).best==0.

def test_without_a_recorder_nothing_is_kept():
    learn = Learner(DATA, nn.Linear(2, 1), nn.functional.mse_loss, default_cbs=False, cbs=[TrainEvalCallback(), Says()])
    learn.fit(1)

@pytest.mark.parametrize('name,value,said', [('train_x', 1., 'prefixes that the recorder adds'), ('', 1., 'must be a string'), (3, 1., 'must be a string'), ('x', torch.ones(2), r'shape \(2,\)'),
    ('x', 'a', 'got a str'), ('x', None, 'got a NoneType'), ('x', [1.], 'got a list')])
def test_refused(name, value, said):
    with pytest.raises(ValueError, match=said): quiet(mk([Callback('bad', after_loss=lambda cb: cb.learn.log(name, value))]), 1)

def test_a_name_that_is_taken():
    from learnloop import mae
    with pytest.raises(ValueError, match="has the column 'train_loss'"): quiet(mk([Callback('v', after_loss=lambda cb: cb.learn.log('loss', 1.))]), 1)
    with pytest.raises(ValueError, match='column already exists'): quiet(mk([Callback('v', before_train=lambda cb: cb.learn.log('mae', 1.))], metrics=mae), 1)

def test_outside_of_an_epoch():
    learn = mk([])
    with pytest.raises(ValueError, match='no epoch is open'): learn.log('x', 1.)
    with pytest.raises(ValueError, match='no epoch is open'): quiet(mk([Callback('a', before_fit=lambda cb: cb.learn.log('x', 1.))]), 1)

# ---- fused, and in parts

def test_a_callback_that_logs_is_heard_beside_a_graph():
    def mk_fused(fuse):
        logs = Callback('logs_x', after_batch=lambda cb: cb.learn.training and cb.learn.log('x', cb.learn.loss))
        learn = mk_learner([Recorder(add_time=False), logs], dls=(batches(40), VALID))
        return quiet(learn.fuse(backend='aten') if fuse else learn, 1)
    a,b = mk_fused(True),mk_fused(False)
    assert sum(a.fuse_report().fused.values())>20 and column(a, 'train_x')==pytest.approx(column(b, 'train_x'), rel=1e-5)

def test_a_model_that_logs_is_not_made_a_graph():
    class Tells(nn.Linear):
        def forward(self, x):
            res = super().forward(x)
            if self.training: self.learn.log('size', res.abs().mean())
            return res
    def fit(fuse):
        torch.manual_seed(0)
        model = Tells(2, 1)
        learn = mk_learner([Recorder(add_time=False)], model=model, dls=(batches(20), VALID))
        object.__setattr__(model, 'learn', learn)
        return quiet(learn.fuse(backend='aten') if fuse else learn, 1)
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')  # that says why
        a = fit(True)
    b = fit(False)
    assert column(a, 'train_size')==column(b, 'train_size') and column(a, 'train_size')[0]>0
