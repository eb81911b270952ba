"The examples of fastai's page on callbacks, and variations of them, with learnloop's `Callback` and with the one for fastai's code"
import copy, inspect, pickle
from types import SimpleNamespace
import learnloop, pytest
from fastcore.basics import get_class
from learnloop.interop import fastai

MODULES = [learnloop, fastai]
pytestmark = pytest.mark.parametrize('m', MODULES, ids=['learnloop', 'interop'])

class TstLearner:
    def __init__(self, b): self.b = b
class Slotted:
    __slots__ = 'b',
    def __init__(self, b): self.b = b
class Computed:
    "Its attribute is a property, and others are made when they are read"
    def __init__(self, b): self._b = b
    b = property(lambda self: self._b, lambda self, v: setattr(self, '_b', v))
    def __getattr__(self, k):
        if k=='made': return 'made'
        raise AttributeError(k)
Made = get_class('Made', 'b')
LEARNERS = [TstLearner, Slotted, Computed, Made, lambda b: SimpleNamespace(b=b)]
def plain(cb, learn):
    cb.learn = learn
    return cb

def test_a_method_is_called_by_its_name(m):
    class T(m.Callback):
        def call_me(self): return 'maybe'
    assert T()('call_me')=='maybe' and T()(m.event.before_fit) is None
    assert [T()(o) for o in ('batch_begin', 'on_train_begin', 'on_epoch_end', 'validation_step', 'nonsense')]==[None]*5

def test_a_function_is_a_method(m):
    def answer(self): return 'maybe',self.b
    cb = plain(m.Callback(before_fit=answer, after_fit=None), TstLearner(3))
    assert cb(m.event.before_fit)==cb.before_fit()==('maybe', 3) and cb('after_fit') is None
    assert 'before_fit' in inspect.signature(m.Callback).parameters and m.Callback(before_fit=None)('before_fit') is None

@pytest.mark.parametrize('learner', LEARNERS)
def test_attributes_are_read_from_any_learner(m, learner, capsys):
    class TstCallback(m.Callback):
        def batch_begin(self): print(self.b)
    cb = plain(TstCallback(), learner(1))
    cb('batch_begin')
    assert capsys.readouterr().out=='1\n' and 'b' in dir(cb) and hasattr(cb, 'b') and not hasattr(cb, 'c')
    assert getattr(cb, 'made', None)==('made' if learner is Computed else None)

@pytest.mark.parametrize('learner', LEARNERS)
def test_a_write_shadows_and_warns(m, learner):
    class TstCallback(m.Callback):
        def batch_begin(self): self.b += 1
        def batch_end(self): self.learn.b = self.b+1
    cb = plain(TstCallback(), learner(1))
    with pytest.warns(UserWarning, match="shadows the attribute 'b'.*self.learn.b"): cb('batch_begin')
    assert (cb.b, cb.learn.b)==(2, 1)
    cb = plain(TstCallback(), learner(1))
    cb('batch_end')
    assert (cb.b, cb.learn.b)==(2, 2)

def test_an_error_is_the_callbacks_own(m):
    class TstCallback(m.Callback):
        def batch_begin(self): self.learn.b = 1 + 'a'
    with pytest.raises(TypeError, match='unsupported operand') as e: plain(TstCallback(), TstLearner(1))('batch_begin')
    assert m is fastai or e.value.__notes__==['learnloop: in TstCallback.batch_begin']
    with pytest.raises(AttributeError, match='c'): getattr(plain(TstCallback(), TstLearner(1)), 'c')  # noqa: B009

def test_names_and_repr(m):
    class TstCallback(m.Callback): pass
    class ComplicatedNameCallback(m.Callback): pass
    assert TstCallback().name=='tst' and ComplicatedNameCallback().name=='complicated_name' and repr(plain(TstCallback(), TstLearner(1)))=='TstCallback'
    assert m.event.before_step=='before_step' and not hasattr(m.event, 'before_stp')

def test_what_mutes_it(m):
    class Hears(m.Callback):
        def before_epoch(self): return 'epoch'
        def after_batch(self): return 'batch'
        def helper(self): return 'helped'
    def heard(**kwargs):
        cb = plain(Hears(), SimpleNamespace(**{k:kwargs.pop(k) for k in ['training'] if k in kwargs}))
        for k,v in kwargs.items(): setattr(cb, k, v)
        return [cb(o) for o in ('before_epoch', 'after_batch', 'helper')]
    every,outer = ['epoch', 'batch', 'helped'],['epoch', None, 'helped']
    assert heard()==heard(run_train=False)==heard(run_valid=False)==every and heard(run_train=False, run_valid=False)==outer
    assert heard(run_train=False, training=True)==heard(run_valid=False, training=False)==outer
    assert heard(run_train=False, training=False)==heard(run_valid=False, training=True)==every
    assert heard(run=False)==[None]*3
    cb = Hears()
    cb.run = False
    assert cb('after_batch') is None and cb('after_fit') is None and cb.run and cb('after_batch')=='batch'

def test_it_is_settled_copied_and_read_through_what_it_names(m):
    class Own(m.Callback):
        _default = 'inner'
        def __init__(self, inner): self.inner = inner
        def batch_begin(self): return self.b
    cb = Own(TstLearner(5))
    assert cb('batch_begin')==5 and copy.deepcopy(cb)('batch_begin')==pickle.loads(pickle.dumps(Kept[m])).b==5 and m.Callback()._default=='learn'
    with pytest.raises(AttributeError): getattr(Own.__new__(Own), 'inner')  # noqa: B009
    cb.order,cb.run_train = 7,False
    assert (cb.order, cb.run_train, cb.run)==(7, False, True)

class Ours(learnloop.Callback): pass
class Theirs(fastai.Callback): pass
Kept = {m:plain(o(), TstLearner(5)) for m,o in zip(MODULES, (Ours, Theirs), strict=True)}
