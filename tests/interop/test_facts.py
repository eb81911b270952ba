"What adapters ask of a learner, and of callbacks that don't say what their state is"
import numpy as np, pytest, torch
from torch import nn
from learnloop import Callback, GradientAccumulation, SanityCheck
from learnloop.app.synth import synth_learner
from learnloop.interop import as_cb, engine
from learnloop.interop.core import Facade, sharing
from learnloop.interop.facts import (batches_per_step, evaluation_kind, init_args, is_valid_dl, n_open, plain, storable,
    storable_items, validated)

def quiet(*cbs, learn=None, **kwargs):
    learn = learn or synth_learner(**kwargs)
    with learn.no_logging(): learn.fit(1, cbs=cbs)
    return learn

def test_numbers_of_numpy_are_plain_wherever_they_are():
    res = plain({np.int64(1): [np.float32(.5), (np.bool_(True),)], 'a': {np.int64(2)}})
    assert res=={1: [.5, (True,)], 'a': {2}} and [type(o) for o in (*res, *res['a'], res[1][0], res[1][1][0])]==[int, str, int, float, bool]
    arr,t = np.zeros(2),torch.tensor(1.)
    assert [o is p for o,p in zip(plain([arr, t]), (arr, t), strict=True)]==[True, True]
    assert plain([arr, 3], type)==[np.ndarray, int]

def test_copies_that_are_stored_are_not_trained_along():
    t = torch.ones(2, requires_grad=True)
    res = storable(t)
    with torch.no_grad(): t.add_(1)
    assert res.tolist()==[1, 1] and not res.requires_grad

@pytest.mark.parametrize('o', [nn.Parameter(torch.ones(1)), nn.Linear(1, 1), print, np.zeros(2), object()], ids=lambda o: type(o).__name__)
def test_what_cannot_be_stored_is_left_out_whole(o):
    with pytest.raises(TypeError, match=f'{type(o).__name__} is neither plain data nor a tensor'): storable(o)
    assert storable_items(dict(a=[1, o], b={'c': o}, d=[1]))==dict(d=[1])

def test_settings_are_arguments_of_any_base():
    class A:
        def __init__(self, a): self.a = a
    class B(A): pass
    class C(B):
        def __init__(self, c, *args): self.c = c
    assert init_args(C)=={'self', 'a', 'c', 'args'}

@pytest.mark.parametrize('acc,bs,want', [(None, None, 1), (dict(n_batches=3), None, 3), (dict(n_acc=40), 16, 3), (dict(n_acc=40), None, None),
    (dict(n_acc=40, count=lambda learn: 5), 16, None)], ids=lambda o: '-'.join(o) if isinstance(o, dict) else str(o))
def test_batches_of_a_step(acc, bs, want): assert batches_per_step(synth_learner(cbs=GradientAccumulation(**acc) if acc else None), bs)==want

def test_kinds_of_evaluations():
    seen = []
    class Looks(Callback):
        def before_validate(self): seen.append((evaluation_kind(self.learn), n_open(self.learn, 'validate'), is_valid_dl(self.learn)))
        def after_epoch(self): self.learn.validate(dl=self.learn.dls.train)
    learn = quiet(Looks(), SanityCheck(1))
    with learn.added_cbs(Looks()): learn.validate()
    assert seen==[('sanity', 1, True), ('epoch', 1, True), ('within', 1, False), ('outside', 1, True)]

def test_values_are_those_of_the_validation_that_ends():
    seen = []
    class Looks(Callback):
        order = 60
        def after_validate(self): seen.append(validated(self.learn))
    learn = quiet(Looks())
    with learn.added_cbs(Looks()): vals = learn.validate(dl=learn.dls.train)
    assert seen==[dict(valid_loss=learn.recorder.values[-1][1]), dict(valid_loss=vals[0])] and seen[0]!=seen[1]
    assert validated(synth_learner(default_cbs=False))=={}

def test_nobody_is_told_to_mean_what_is_missing():
    class Part(Facade):
        system = 'Some'
        @property
        def value(self): raise self._no_attribute('value', ' yet')
    with pytest.raises(AttributeError, match="stand-in for Some's Part has no attribute 'value' yet$"):
        _ = Part(synth_learner()).value

def test_the_muted_share_the_trainer_and_are_not_called():
    class Says(engine.Callback):
        def on_epoch_end(self, epoch, logs=None): said.append(self)
    said,learn = [],synth_learner(cbs=[as_cb(Says()), as_cb(Says())])
    a,b = learn.cbs[-2:]
    assert sharing(a.trainer)==[a, b]
    b.run = False
    a.call_all('on_epoch_end', epoch=0)
    assert said==[a.foreign] and sharing(a.trainer)==[a, b]
