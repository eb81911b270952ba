"`learn.log`: means over the epoch, columns that come up, files, resuming, evaluations, and what is refused"
import csv, json, math, warnings
import pytest, torch
from helpers import batches, mk_learner
from learnloop import (
    CSVLogger, Callback, CheckpointCallback, EarlyStoppingCallback, JSONLogger, Learner, Recorder, ReduceLROnPlateau, SaveModelCallback,
    TorchScheduler, TrainEvalCallback, event, list_checkpoints, on, read_tensorboard)
from torch import nn

DATA,VALID = [*batches(4), *batches(1, bs=1, seed=7)],batches(2, seed=1)  # the last batch has one item

def mk(cbs=(), **kwargs): return mk_learner([Recorder(add_time=False), *cbs], dls=(DATA, VALID), **kwargs)
def column(learn, name):
    i = learn.recorder.columns.index(name)
    return [row[i] if i<len(row) else None for row in learn.recorder.values]
def quietly(learn, *args, **kwargs):
    with learn.no_logging(): learn.fit(*args, **kwargs)
    return learn

class Says(Callback):
    "Logs the number of the batch in training, its negative in validation"
    def after_loss(self):
        learn = self.learn
        learn.log('i', torch.tensor(float(learn.iter))) if learn.training else learn.log('i', -learn.iter)

def test_means_are_weighted_by_items_and_of_training_and_validation_apart():
    learn = quietly(mk([Says()]), 2)
    want = (0*4+1*4+2*4+3*4+4*1)/17
    assert column(learn, 'train_i')==pytest.approx([want]*2) and column(learn, 'valid_i')==pytest.approx([-.5]*2)
    assert learn.recorder.columns[:2]==['train_loss', 'valid_loss']

@pytest.mark.parametrize('e', ['before_batch', 'after_pred', 'before_step', 'after_step', 'before_zero_grad', 'after_batch', 'cleanup_batch'])
@pytest.mark.parametrize('order', [-60, 60])
def test_any_event_of_a_batch_will_do(e, order):
    class Late(Callback):
        def hear(self):
            if self.learn.training: self.learn.log('x', 2.)
    setattr(Late, e, Late.hear)
    cb = Late()
    cb.order = order
    learn = quietly(mk([cb]), 2)
    assert column(learn, 'train_x')==[2., 2.] and 'valid_x' not in learn.recorder.columns

def test_between_batches_the_last_value_counts():
    class Epochs(Callback):
        def before_epoch(self): self.learn.log('n', 1)
        def after_train(self): self.learn.log('n', self.learn.epoch+10)
        def after_epoch(self): self.learn.log('end', torch.tensor([.5]))
    learn = quietly(mk([Epochs()]), 3)
    assert column(learn, 'n')==[10., 11., 12.] and column(learn, 'end')==[.5]*3

def test_now_and_then():
    @on(event.after_batch, every=3)
    def now(cb): cb.learn.log('rare', cb.learn.epoch)
    learn = mk([])
    quietly(learn, 3, cbs=now)
    assert column(learn, 'train_rare')[0]==0. and len(learn.recorder.values)==3

def test_another_fit_has_no_column_of_it():
    learn = mk([])
    quietly(learn, 1, cbs=Says())
    quietly(learn, 1)
    assert 'train_i' not in learn.recorder.columns and all(len(o)==2 for o in learn.recorder.values)

def test_values_keep_what_they_were_and_no_graph():
    class Edits(Callback):
        def after_loss(self):
            self.v = self.learn.loss_grad*0 + 1
            self.learn.log('one', self.v)
            self.v.data.zero_()
    learn = quietly(mk([Edits()]), 1)
    mean = next(m for m in learn.recorder.train_mets if m.name=='one')
    assert column(learn, 'train_one')==[1.] and not any(isinstance(v, torch.Tensor) and v.requires_grad for v in vars(mean.vals).values())

def test_files_have_the_columns(tmp_path):
    learn = mk([Says(), CSVLogger(tmp_path/'a.csv'), JSONLogger(tmp_path/'a.jsonl')])
    quietly(learn, 2)
    rows = [*csv.DictReader((tmp_path/'a.csv').read_text().splitlines())]
    assert [float(o['train_i']) for o in rows]==pytest.approx(column(learn, 'train_i'), rel=1e-4)
    told = [json.loads(o) for o in (tmp_path/'a.jsonl').read_text().splitlines()]
    assert any('valid_i' in str(o) for o in told)

def test_tensorboard_has_them(tmp_path):
    from learnloop import TensorBoardCallback
    quietly(mk([Says(), TensorBoardCallback(tmp_path)]), 2)
    assert any('i' in k.split('/')[-1].split('_') or k.endswith('/i') or 'i/' in k for k in read_tensorboard(tmp_path))

def test_a_report_has_them(tmp_path):
    learn = quietly(mk([Says()]), 2)
    assert 'train_i' in learn.report(tmp_path/'r.html').read_text()

class Boom(Exception): pass
def run(folder, stop=None):
    def boom(cb):
        if cb.learn.count.opt_steps==stop: raise Boom
    class Every(Callback):
        def after_step(self): self.learn.log('step', self.learn.count.opt_steps)
        def before_train(self): self.learn.log('lr', self.learn.opt.param_groups[0]['lr'])
    learn = mk([Every(), Callback('boom', after_batch=boom)])
    save = [CheckpointCallback(folder, every_steps=1)] if folder else []
    quietly(learn, 3, cbs=save, resume=folder, **dict(accept=True) if folder else {})
    return learn

@pytest.mark.parametrize('stop', [3, 5, 8])
def test_a_resumed_fit_has_the_same_means(stop, tmp_path):
    with pytest.raises(Boom): run(tmp_path, stop)
    a,b = run(tmp_path),run(None)
    assert a.recorder.values==b.recorder.values and a.recorder.columns==b.recorder.columns

def logs(e, name='n', order=0, value=lambda learn: -learn.epoch):
    "A callback that logs a value in the event `e`"
    cb = Callback('logs', **{e:lambda cb: cb.learn.log(name, value(cb.learn))})
    cb.order = order
    return cb

EVENTS = ['before_epoch', 'before_train', 'after_train', 'before_validate', 'after_validate', 'after_epoch', 'between_batches', 'after_fetch']

@pytest.mark.parametrize('e', EVENTS)
@pytest.mark.parametrize('mk_cb', [
    lambda p, k, b: EarlyStoppingCallback(k, better=b, patience=2), lambda p, k, b: SaveModelCallback(k, better=b),
    lambda p, k, b: ReduceLROnPlateau(k, better=b), lambda p, k, b: CheckpointCallback(p/'c', keep=1, best=1, monitor=k, better=b)])
def test_what_is_logged_between_batches_can_be_monitored_from_the_first_epoch_on(e, mk_cb, tmp_path):
    for better in ('less', 'more'):
        cb = mk_cb(tmp_path/better, 'n', better)
        learn = quietly(mk([logs(e)], path=tmp_path/better), 4, cbs=cb)
        assert column(learn, 'n')==[-i for i in range(len(learn.recorder.values))]
        if isinstance(cb, EarlyStoppingCallback): assert len(learn.recorder.values)==(4 if better=='less' else 3) and cb.best==(-3 if better=='less' else 0)
        if isinstance(cb, SaveModelCallback): assert cb.best_save['epoch']==(3 if better=='less' else 0)
        if isinstance(cb, CheckpointCallback):
            kept = [o.metrics['n'] for o in list_checkpoints(tmp_path/better/'c')]
            assert kept==([-3.] if better=='less' else [0., -3.])

@pytest.mark.parametrize('name', ['train_i', 'valid_i'])
@pytest.mark.parametrize('declare', [dict(better='less'), dict(better='more'), dict(comp=torch.lt)])
def test_what_is_logged_in_batches_can_be_monitored(name, declare, tmp_path):
    cb = SaveModelCallback(name, **declare)
    learn = quietly(mk([Says()], path=tmp_path), 3, cbs=cb)
    assert cb.best==column(learn, name)[0]
    Sched = torch.optim.lr_scheduler.ReduceLROnPlateau
    quietly(mk([Says()]), 3, cbs=TorchScheduler(Sched, unit='validate', monitor=name))

def test_a_logged_value_needs_a_direction_before_training_starts():
    for cb in (EarlyStoppingCallback('train_i'), CheckpointCallback('nowhere', best=1, monitor='train_i')):
        learn = mk([Says()])
        with pytest.raises(ValueError, match="better='less' or better='more'"): quietly(learn, 1, cbs=cb)
        assert learn.count.batches==0

def test_a_name_that_nothing_logs_is_a_warning_after_the_first_epoch_and_comes_later(tmp_path):
    def now_and_then(cb):
        if cb.learn.epoch>1: cb.learn.log('late', cb.learn.epoch)
    learn = mk([Callback('now', after_train=now_and_then)], path=tmp_path)
    with pytest.warns(UserWarning, match="unknown monitor 'late'.*there are train_loss, valid_loss.*No callback logged it") as told:
        quietly(learn, 4, cbs=(cb := SaveModelCallback('late', better='more')))
    assert len(told)==1 and cb.best==3.

def test_a_name_that_nothing_can_log_is_an_error_before_training_starts():
    learn = mk([])
    with pytest.raises(ValueError, match="unknown monitor 'valid_los'; did you mean 'valid_loss'"): quietly(learn, 1, cbs=EarlyStoppingCallback('valid_los', better='less'))
    assert learn.count.batches==0

def test_a_row_that_is_written_takes_no_more():
    with pytest.raises(ValueError, match='row is written already'): quietly(mk([logs('after_epoch', order=55)]), 1)

@pytest.mark.parametrize('stop', [3, 5, 8, 10])
def test_a_resumed_fit_still_monitors_it(stop, tmp_path):
    def fit(folder, stop=None):
        def boom(cb):
            if cb.learn.training and cb.learn.count.opt_steps==stop: raise Boom
        cbs = [Says(), Callback('boom', after_batch=boom), logs('after_train')]
        save = SaveModelCallback('n', better='more')
        quietly(mk(cbs, path=tmp_path), 4, cbs=[save, CheckpointCallback(folder, every_steps=1)] if folder else save, resume=folder,
            **dict(accept=True) if folder else {})
        return save
    with pytest.raises(Boom): fit(tmp_path/'c', stop)
    assert fit(tmp_path/'c').best==fit(None).best==0.

def test_evaluations_leave_the_history_alone():
    learn = quietly(mk([Says()]), 1)
    before = [*learn.recorder.values],[*learn.recorder.columns]
    learn.validate()
    learn.get_preds()
    assert ([*learn.recorder.values], [*learn.recorder.columns])==before
    class Peeks(Callback):
        def after_step(self): self.learn.validate()
    a,b = (quietly(mk([Says(), *cbs]), 1) for cbs in ((), (Peeks(),)))
    assert column(a, 'train_i')==column(b, 'train_i') and column(a, 'valid_i')==column(b, 'valid_i')

def test_without_a_recorder_nothing_is_kept():
    learn = Learner(DATA, nn.Linear(2, 1), nn.functional.mse_loss, default_cbs=False, cbs=[TrainEvalCallback(), Says()])
    learn.fit(1)

@pytest.mark.parametrize('name,value,said', [('train_x', 1., 'put before it'), ('', 1., 'must be a text'), (3, 1., 'must be a text'), ('x', torch.ones(2), r'shape \(2,\)'),
    ('x', 'a', 'got a str'), ('x', None, 'got a NoneType'), ('x', [1.], 'got a list')])
def test_refused(name, value, said):
    with pytest.raises(ValueError, match=said): quietly(mk([Callback('bad', after_loss=lambda cb: cb.learn.log(name, value))]), 1)

def test_a_name_that_is_taken():
    from learnloop import mae
    with pytest.raises(ValueError, match="column is 'train_loss'"): quietly(mk([Callback('v', after_loss=lambda cb: cb.learn.log('loss', 1.))]), 1)
    with pytest.raises(ValueError, match='column of this name'): quietly(mk([Callback('v', before_train=lambda cb: cb.learn.log('mae', 1.))], metrics=mae), 1)

def test_outside_of_an_epoch():
    learn = mk([])
    with pytest.raises(ValueError, match='no epoch is open'): learn.log('x', 1.)
    with pytest.raises(ValueError, match='no epoch is open'): quietly(mk([Callback('a', before_fit=lambda cb: cb.learn.log('x', 1.))]), 1)

def test_numbers_that_are_none():
    learn = quietly(mk([Callback('n', after_loss=lambda cb: cb.learn.log('x', math.nan))]), 1)
    assert math.isnan(column(learn, 'train_x')[0])

def test_the_table_gets_the_column_when_it_comes_up():
    learn,rows = mk([Says()]),[]
    learn.logger = rows.append
    learn.fit(2)
    assert rows[-1][1:]==learn.recorder.values[-1] and 'train_i' in rows[-3] or 'train_i' in rows[1]

# ---- fused, and in parts

def test_a_callback_that_logs_is_heard_beside_a_graph():
    def mk_fused(fuse):
        logs = Callback('logs_x', after_batch=lambda cb: cb.learn.training and cb.learn.log('x', cb.learn.loss))
        learn = mk_learner([Recorder(add_time=False), logs], dls=(batches(40), VALID))
        return quietly(learn.fuse(backend='aten') if fuse else learn, 1)
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
        return quietly(learn.fuse(backend='aten') if fuse else learn, 1)
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')  # that says why
        a = fit(True)
    b = fit(False)
    assert column(a, 'train_size')==column(b, 'train_size') and column(a, 'train_size')[0]>0

def test_parts_of_a_batch_are_weighted():
    from learnloop import MicroBatch
    class Sizes(Callback):
        def after_loss(self): self.learn.log('bs', float(self.learn.bs))
    learn = quietly(mk([Sizes(), MicroBatch(2)]), 1)
    assert 'train_bs' in learn.recorder.columns

def test_a_callback_may_be_called_log():
    class Log(Callback):
        def after_loss(self): self.learn.log('x', 1.)
    learn = mk([Log()])
    quietly(learn, 1)
    assert column(learn, 'train_x')==[1.] and [o for o in learn.cbs if o.name=='log'] and not isinstance(learn.log, Callback)
    with pytest.raises(ValueError, match="two callbacks named 'log'"): learn.add_cb(Log())
    learn.remove_cb(Log)
    quietly(learn, 1)
    assert 'train_x' not in learn.recorder.columns
