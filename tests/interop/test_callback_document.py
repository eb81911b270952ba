"Examples from fastai's page on callbacks, with learnloop's `Callback` and with the one for fastai's code"
from types import SimpleNamespace
import learnloop, pytest
from learnloop.interop import fastai

MODULES = [learnloop, fastai]
pytestmark = pytest.mark.parametrize('m', MODULES, ids=['learnloop', 'interop'])

class TstLearner:
    def __init__(self, b): self.b = b
def plain(cb, learn):
    cb.learn = learn
    return cb

def test_a_method_is_called_by_its_name(m):
    class T(m.Callback):
        def call_me(self): return 'maybe'
    assert T()('call_me')=='maybe' and T()(m.event.before_fit) is None
    assert [T()(o) for o in ('batch_begin', 'on_train_begin', 'on_epoch_end', 'validation_step', 'nonsense')]==[None]*5

def test_an_error_is_the_callbacks_own(m):
    class TstCallback(m.Callback):
        def batch_begin(self): self.learn.b = 1 + 'a'
    with pytest.raises(TypeError, match='unsupported operand'): plain(TstCallback(), TstLearner(1))('batch_begin')
    with pytest.raises(AttributeError, match='c'): getattr(plain(TstCallback(), TstLearner(1)), 'c')  # noqa: B009

def test_muted_callbacks_return_none(m):
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
