"Callbacks: names checked when written, filters, attributes, coming and going, and the stand-in for evaluation"
import inspect
from contextlib import suppress
import pytest, torch
from helpers import FIT, TRAIN, VALID, act, all_events, listener, mk_learner
from learnloop import (Callback, CancelBatchException, CancelFitException, Flow, Learner, TrainEvalCallback, event, mk_cb, on)

def hearing(name, *events, to, **attrs):
    "A callback that appends (event, name) to `to`"
    return listener(name, events, lambda cb, e: to.append((e, cb.name)), **attrs)

def names(cbs): return [o.name for o in cbs]

# Names of events

@pytest.mark.parametrize('name,want', [('befor_fit', 'before_fit'), ('before_bacth', 'before_batch'), ('after_Loss', 'after_loss'),
    ('afterLoss', 'after_loss'), ('afterfit', 'after_fit'), ('after_validation', 'after_validate'), ('after_epochs', 'after_epoch'),
    ('clean_fit', 'cleanup_fit'), ('cleanup_batches', 'cleanup_batch'), ('after_cancel_bacth', 'after_cancel_batch'), ('before_zerograd', 'before_zero_grad')])
def test_slip_in_a_method_is_found_when_the_class_is_defined(name, want):
    with pytest.raises(ValueError, match=f"unknown event '{name}' in Mine; did you mean '{want}'"): type('Mine', (Callback,), {name: print})
    with pytest.raises(ValueError, match=f"unknown event '{name}' in Callback.*'{want}'"): Callback(**{name: print})
    with pytest.raises(ValueError, match=f"unknown event '{name}'.*'{want}'"): on(name)

# Functions and filters

@pytest.mark.parametrize('f,error,want', [
    (lambda: on('after_batch', every=0), ValueError, 'every is 0.*1 or more'), (lambda: on('after_batch', once=-1), ValueError, 'once is -1'),
    (lambda: on('after_batch', every=1.5), ValueError, r'every is 1\.5'), (lambda: on('after_batch', every=True), ValueError, 'every is True'),
    (lambda: on('after_batch', every=2, once=1), ValueError, '2 of every, once and when given; use one'),
    (lambda: on('after_batch', when=3), TypeError, 'when=3'), (lambda: on(print), TypeError, 'name of an event'),
    (lambda: Callback(after_batch=3), TypeError, 'after_batch=3'),
    *((lambda o=o: mk_cb(o), TypeError, 'is no callback: give a Callback') for o in (3, 'after_batch', None, print, Learner, object())),
])
def test_bad_arguments(f, error, want):
    with pytest.raises(error, match=want): f()

@pytest.mark.parametrize('cbs', [7, [7], 'before_fit', print, [TrainEvalCallback, torch.nn.Linear]])
def test_what_is_no_callback_is_refused_everywhere(cbs):
    learn = mk_learner(cbs=[])
    for f in (lambda: mk_learner().fit(1, cbs=cbs), lambda: learn.validate(cbs=cbs), lambda: learn.add_cbs(cbs),
        lambda: Learner(TRAIN, torch.nn.Linear(2, 1), cbs=cbs)):
        with pytest.raises((TypeError, ValueError), match='is no callback|two callbacks'): f()
    assert names(learn.cbs)==['train_eval']

# Names of callbacks

class MySuperCallback(Callback): pass
def whisper(cb): pass

def test_a_class_named_like_a_method_of_the_learner():
    class FitCallback(Callback): pass
    with pytest.raises(ValueError, match="would be 'fit'"): mk_learner().add_cb(FitCallback)

def test_name_changed_while_there_leaves_nothing_behind():
    flow,cb = Flow(),MySuperCallback()
    flow.add_cb(cb)
    with suppress(ValueError): cb.name = 'other'
    assert getattr(flow, cb.name) is cb
    flow.remove_cb(cb)
    assert not hasattr(flow, 'my_super') and not hasattr(flow, 'other')

# Attributes

@pytest.mark.parametrize('k,want', [('modell', "neither MySuperCallback nor its learner has an attribute 'modell'; did you mean 'model'"),
    ('pred_', "'pred_'; did you mean 'pred'"), ('_private', "'_private'"), ('__len__', '__len__')])
def test_missing_attribute(k, want):
    cb = mk_learner([MySuperCallback]).my_super
    with pytest.raises(AttributeError, match=want): getattr(cb, k)
    assert not hasattr(cb, k)

@pytest.mark.parametrize('exc', [AttributeError('inner'), KeyError('inner'), ValueError('inner')])
def test_error_of_a_property_is_its_own(exc):
    class Mine(Callback):
        @property
        def broken(self): raise exc
    for cb in (Mine(), mk_learner([Mine]).mine):
        with pytest.raises(type(exc), match='inner'): _ = cb.broken

# Coming and going

@pytest.mark.parametrize('how', ['remove', 'mute'])
def test_those_who_go_are_not_called_in_after_exception_either(how):
    heard = []
    def send(cb, e): act(cb.learn.b, how)
    learn = mk_learner([listener('a', ['after_exception'], send), hearing('b', 'after_exception', to=heard)], loss_func=lambda *args: 1/0)
    with pytest.raises(ZeroDivisionError): learn.fit(1)
    assert heard==[]

def test_cancel_in_a_cleanup_at_removal_takes_effect():
    heard = []
    b = listener('b', ['cleanup_batch'], lambda cb, e: act(cb, CancelBatchException))
    class Remover(Callback):
        @on(event.after_pred, once=1)
        def remove(self): self.learn.remove_cb(b)
    mk_learner([b, Remover, hearing('c', 'after_loss', 'after_cancel_batch', to=heard, order=5)], dls=(TRAIN[:2], None)).fit(1)
    assert heard==[('after_cancel_batch', 'c'), ('after_loss', 'c')]

def test_one_failing_cleanup_does_not_keep_the_others_from_being_removed():
    heard = []
    def hear(cb, e):
        heard.append(cb.name)
        raise ValueError(cb.name)
    two = [listener(o, ['cleanup_save'], hear) for o in 'ab']
    flow = Flow().add_cbs(two)
    with pytest.raises(ValueError): flow.with_events('save', lambda: flow.remove_cbs(two))
    assert flow.cbs==[] and sorted(heard)==['a', 'b'] and [o.learn for o in two]==[None, None]

def test_removed_cbs_keep_their_place_among_equals():
    flow = Flow().add_cbs([Callback(o, after_fit=whisper) for o in 'abcd'])
    with flow.removed_cbs([flow.b, flow.d, MySuperCallback]):
        assert names(flow.cbs)==['a', 'c'] and not hasattr(flow, 'b')
        flow.add_cb(Callback('e', after_fit=whisper)).remove_cb(flow.c)
    assert names(flow.cbs)==['a', 'b', 'd', 'e'] and flow.b.learn is flow
    with suppress(ValueError), flow.removed_cbs(flow.a): raise ValueError
    assert names(flow.ordered_cbs('after_fit'))==['a', 'b', 'd', 'e']

# A callback's own `__call__`, and what it may be given

class Spy(Callback):
    def __init__(self): self.seen,self.ran = [],[]
    def __call__(self, event_name):
        self.seen.append(event_name)
        return super().__call__(event_name)
    def before_fit(self): self.ran.append('before_fit')
    @on(event.after_batch, every=2)
    def second(self): self.ran.append(self.iter)

def test_point_9_a_call_of_its_own_hears_each_event_by_name():
    trace,spy = [],Spy()
    learn = mk_learner([hearing('a', *all_events(FIT), 'between_batches', to=trace), spy], dls=(TRAIN[:3], VALID))
    learn.fit(1)
    assert [o for o in spy.seen if o!='after_create']==[e for e,_ in trace]
    assert spy.ran==['before_fit', 1, 0]  # counted in validation, too
    spy.seen.clear()
    learn.validate()
    assert spy.seen[0]=='before_evaluate' and spy.seen[-1]=='cleanup_evaluate' and 'before_fit' not in spy.seen

def test_point_9_without_super_its_methods_are_left_alone_and_filters_hold():
    class Deaf(Callback):
        run_train,n = False,0
        def __call__(self, event_name): self.n += event_name=='after_batch'
        def after_batch(self): raise AssertionError
    learn = mk_learner([cb := Deaf()])
    learn.fit(1)
    assert cb.n==len(VALID) and cb in learn.ordered_cbs('after_step') and cb.call_filters('after_step')==['']

def test_point_9_it_cancels_and_fails_like_a_method():
    class Stop(Callback):
        def __call__(self, e):
            if e=='after_pred': raise CancelFitException
            if e=='after_fit': raise ValueError('bug')
    with pytest.raises(ValueError) as e: mk_learner([Stop()]).fit(1)
    assert e.value.__notes__==['learnloop: in Stop.after_fit; epoch 0']

def test_point_9_a_call_for_something_else_is_refused():
    class Both(Callback):
        def __call__(self, pred, targ): return 0
    with pytest.raises(TypeError, match='Both has a __call__ of its own, which is called with the name of each event'): mk_learner([Both()])

def test_point_9_outside_of_a_learner():
    class T(Callback):
        def before_fit(self): return 'fit'
        def other(self, n, k=1): return n+k
    t = T()
    assert (t('before_fit'), t('after_batch'), t('other', 1, k=2))==('fit', None, 3)
    with pytest.raises(AttributeError, match="T has no method 'after_bacth'; did you mean 'after_batch'"): t('after_bacth')
    assert Callback(after_batch=lambda self: 5)('after_batch')==5
    assert Spy()('after_batch') is None

def test_point_9_none_is_no_function():
    cb = Callback(before_fit=None, after_fit=lambda self: None)
    assert cb.handlers('before_fit')==[] and len(cb.handlers('after_fit'))==1 and Callback(before_fit=None).name=='callback'
    mk_learner([cb]).fit(1)
    with pytest.raises(ValueError, match="unknown event 'after_lunch'"): mk_learner([Callback(after_lunch=None)])
    with pytest.raises(ValueError, match="did you mean 'before_fit'"): Callback(befor_fit=None)
    with pytest.raises(TypeError, match='a function of the callback, or None'): Callback(before_fit=3)

def test_point_9_the_signature_shows_the_events():
    class Own(Callback):
        def __init__(self, n): self.n = n
    class Plain(Callback): pass
    ps = inspect.signature(Callback).parameters
    assert [*ps]==['name', *event, 'events'] and ps['before_fit'].kind is inspect.Parameter.KEYWORD_ONLY and ps['before_fit'].default is None
    assert inspect.signature(Plain)==inspect.signature(Callback) and [*inspect.signature(Own).parameters]==['n']

@pytest.mark.parametrize('k,same,other', [('run', True, False), ('run_train', True, False), ('order', 0, 1)])
def test_point_9_setting_what_is_there_costs_nothing(k, same, other):
    learn = mk_learner([Callback('a', after_batch=lambda self: None)])
    learn.fit(1)
    version = learn.version
    setattr(learn.a, k, same)
    assert learn.version==version
    setattr(learn.a, k, other)
    assert learn.version==version+1 and getattr(learn.a, k)==other
