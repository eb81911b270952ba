"Questions that adapters ask of a learner, and the state of callbacks that don't declare one"
from learnloop import Callback, SanityCheck
from learnloop.app.synth import synth_learner
from learnloop.interop.facts import (evaluation_kind, is_valid_dl, n_open, storable)
import torch

def quiet(*cbs, learn=None, **kwargs):
    learn = learn or synth_learner(**kwargs)
    with learn.no_logging(): learn.fit(1, cbs=cbs)
    return learn

def test_copies_that_are_stored_are_not_trained_along():
    t = torch.ones(2, requires_grad=True)
    res = storable(t)
    with torch.no_grad(): t.add_(1)
    assert res.tolist()==[1, 1] and not res.requires_grad

def test_kinds_of_evaluations():
    seen = []
    class Looks(Callback):
        def before_validate(self): seen.append((evaluation_kind(self.learn), n_open(self.learn, 'validate'), is_valid_dl(self.learn)))
        def after_epoch(self): self.learn.validate(dl=self.learn.dls.train)
    learn = quiet(Looks(), SanityCheck(1))
    with learn.added_cbs(Looks()): learn.validate()
    assert seen==[('sanity', 1, True), ('epoch', 1, True), ('within', 1, False), ('outside', 1, True)]
