"Changes to the list of callbacks during a fit, also when Ctrl-C interrupts between two of them"
import copy, pytest
from helpers import TRAIN, VALID, mk_learner
from learnloop import *
from learnloop.loop.learner import move_model
from learnloop.loop.learner_opt import check_held
from torch import nn
from torch.nn import functional as F

class Counts(Callback):
    def __init__(self, name): super().__init__(name)
    n,cleaned = 0,0
    def after_batch(self): self.n += 1
    def cleanup_fit(self): self.cleaned += 1

def test_callbacks_come_and_go_at_once_when_the_list_is_assigned():
    old,new = Counts('old'),Counts('new')
    @on(event.before_epoch, once=2)
    def change(o): o.learn.cbs = [*[c for c in o.learn.cbs if c is not old], new]
    learn = mk_learner([old, change])
    learn.fit(2)
    n = len(TRAIN)+len(VALID)
    assert old.n==new.n==n and old.cleaned==1 and old.learn is None and old not in learn.cbs and not hasattr(learn, 'old')
    assert new.learn is learn and learn.new is new

def test_a_change_of_the_list_that_is_refused_changes_nothing():
    learn = mk_learner([Counts('a')])
    before = learn.cbs
    with pytest.raises(ValueError, match='two callbacks'): learn.cbs = [*before, Counts('a')]
    with pytest.raises(TypeError, match='is not a callback'): learn.cbs = [*before, 3]
    with pytest.raises(AttributeError): learn.cbs.append(Counts('b'))
    assert learn.cbs==before==copy.copy(learn).cbs

@pytest.mark.parametrize('at', range(1, 9))
def test_ctrl_c_loses_no_callback_that_was_to_come_back(at, monkeypatch):
    learn = mk_learner([Counts('a'), Counts('b'), Counts('c')])
    before,n,changed = [*learn.cbs],[0],type(learn)._changed
    def interrupted(self, *args, **kwargs):
        n[0] += 1
        if n[0]==at: raise KeyboardInterrupt
        return changed(self, *args, **kwargs)
    with monkeypatch.context() as m:
        m.setattr(type(learn), '_changed', interrupted)
        try:
            with learn.removed_cbs(Counts): pass
        except KeyboardInterrupt: pass
        m.undo()
    learn._changed()
    assert [*learn.cbs]==before and all(getattr(learn, o.name) is o for o in before)

def test_a_prediction_that_a_callback_cancels_can_be_unpacked():
    def cancel(cb): raise CancelValidException
    learn = mk_learner([Callback(before_validate=cancel)])
    decoded,pred = learn.predict(TRAIN[0][0][0])
    assert decoded is None and pred is None
    assert learn.predict(TRAIN[0][0][0], with_input=True)==(None, None, None)
    assert learn.get_preds(with_decoded=True)==(None, None, None)

def test_the_model_moves_before_its_optimizer_is_made():
    "To another kind of device, `model.to` makes other parameters"
    dls = DataLoaders(TRAIN, device='meta')
    for make in (lambda o: o.create_opt(), lambda o: o.freeze_to(0), lambda o: o.set_hypers(lr=.1), lambda o: o._prepare_opt(None, None, False, None)):
        learn = Learner(dls, nn.Linear(2, 1), F.mse_loss)
        make(learn)
        move_model(learn)
        check_held(learn)
        assert {*learn.opt.param_groups[0]['params']}<={*learn.model.parameters()}

@pytest.mark.parametrize('how', ['train', 'batch', 'epoch', 'fit'])
def test_a_layer_that_a_batch_replaces_is_reported_in_a_fit_of_one_epoch(how):
    cancel = dict(batch=CancelBatchException, epoch=CancelEpochException, fit=CancelFitException).get(how)
    def replace(cb):
        if not cb.learn.training or cb.learn.iter!=1: return
        cb.learn.model[1] = nn.Linear(3, 1)
        if cancel: raise cancel
    learn = mk_learner([Callback(before_batch=replace), Checks()], model=nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1)))
    with pytest.warns(UserWarning, match='2 parameters require gradients but are in no group, so they never train: 1.weight, 1.bias') as ws: learn.fit(1)
    assert len([w for w in ws if 'no group' in str(w.message)])==1
