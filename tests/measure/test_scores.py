"`validate` returns a list whose values have names"
import pytest
from helpers import batches, mk_learner
from learnloop import Recorder, Scores, mae

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
