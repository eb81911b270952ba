"What `validate` returns: a list whose values have names"
import copy, pickle
import pytest
from helpers import batches, mk_learner
from learnloop import CheckpointCallback, Callback, Recorder, Scores, mae

def mk(cbs=(), metrics=mae): return mk_learner([Recorder(add_time=False), *cbs], dls=(batches(3), batches(2, seed=1)), metrics=metrics)

def test_a_list_with_names():
    learn = mk()
    res = learn.validate()
    loss,err = res
    assert res==[loss, err] and isinstance(res, list) and (res.valid_loss, res.mae)==(loss, err)==(res['valid_loss'], res['mae'])==(res[0], res[-1])
    assert res.names==learn.recorder.valid_names and res.to_dict()==dict(valid_loss=loss, mae=err) and type(res[:1]) is list
    assert repr(res)==f'Scores(valid_loss={loss:.4g}, mae={err:.4g})' and {'mae', 'to_dict'}<={*dir(res)}
    assert learn.final_record is None

def test_names_that_are_none():
    res = Scores([1.], ['valid_loss'])
    with pytest.raises(AttributeError, match="no 'acc' among valid_loss"): res.acc  # noqa: B018
    with pytest.raises(KeyError, match="no 'acc' among valid_loss"): res['acc']
    assert repr(Scores([1., None], ['a'])).startswith('Scores([1, None])') and repr(Scores([None, 2], ['a', 'b']))=='Scores(a=None, b=2)'

@pytest.mark.parametrize('dup', [copy.copy, copy.deepcopy, lambda o: pickle.loads(pickle.dumps(o))])
def test_copies_keep_them(dup):
    res = dup(Scores([1., 2.], ['a', 'b']))
    assert type(res) is Scores and res==[1., 2.] and res.names==['a', 'b']

def test_parts_that_come_up_in_it_have_names():
    def loss(pred, y): return dict(l1=(pred-y).abs().mean(), l2=(pred-y).square().mean())
    learn = mk_learner([Recorder(add_time=False)], dls=(batches(3), batches(2, seed=1)), loss_func=loss)
    res = learn.validate()
    assert res.names==['valid_loss', 'valid_l1', 'valid_l2'] and res.valid_loss==pytest.approx(res.valid_l1+res.valid_l2)

def test_a_checkpoint_of_a_fit_that_evaluates_is_plain(tmp_path):
    def look(cb): cb.learn.evaluate_on(cb.learn.dls.valid)
    learn = mk([Callback('evaluates', after_step=look)])
    with learn.no_logging(): learn.fit(1, cbs=CheckpointCallback(tmp_path, every_steps=1))
    again = mk([Callback('evaluates', after_step=look)])
    with again.no_logging(): again.fit(2, resume=tmp_path)
    assert len(again.recorder.values)==2 and again.recorder.values[0]==learn.recorder.values[0]
