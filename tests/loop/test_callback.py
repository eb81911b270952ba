"Callbacks: checked names, filters, attributes, adding and removing, and the stand-in for evaluation"
from contextlib import suppress
from copy import deepcopy
import pytest, torch
from helpers import FIT, TRAIN, VALID, act, all_events, covering, events_of, listener, mk_learner
from learnloop import (Callback, CancelFitException, Flow, Learner, TrainEvalCallback, event, mk_cb, on)

def hearing(name, *events, to, **attrs):
    "A callback that appends (event, name) to `to`"
    return listener(name, events, lambda cb, e: to.append((e, cb.name)), **attrs)

def names(cbs): return [o.name for o in cbs]

# Names of events

@pytest.mark.parametrize('name,want', [('befor_fit', 'before_fit'), ('before_bacth', 'before_batch'), ('after_Loss', 'after_loss'),
    ('afterLoss', 'after_loss'), ('afterfit', 'after_fit'), ('after_validation', 'after_validate'), ('after_epochs', 'after_epoch'),
    ('clean_fit', 'cleanup_fit'), ('cleanup_batches', 'cleanup_batch'), ('after_cancel_bacth', 'after_cancel_batch'), ('before_zerograd', 'before_zero_grad')])
def test_case_15_a_slip_in_a_method_is_found_when_the_class_is_defined(name, want):
    with pytest.raises(ValueError, match=f"unknown event '{name}' in Mine; did you mean '{want}'"): type('Mine', (Callback,), {name: print})
    with pytest.raises(ValueError, match=f"unknown event '{name}' in Callback.*'{want}'"): Callback(**{name: print})
    with pytest.raises(ValueError, match=f"unknown event '{name}'.*'{want}'"): on(name)

@pytest.mark.parametrize('cb', [type('Mine', (Callback,), dict(before_lunch=lambda self: None)), Callback('mine', cleanup_lunch=print),
    Callback('mine', lunch=print), Callback(mine=on('lunch')(lambda cb: None))], ids=['method', 'function', 'any name', 'on'])
def test_events_that_the_learner_does_not_declare_are_refused_when_added(cb):
    with pytest.raises(ValueError, match="unknown event '.*lunch' in .*: Flow does not declare it"): Flow().add_cb(cb)

# Functions and filters

def counted(**kwargs):
    "A method and a function, both filtered, and the list of calls at which each ran"
    ran = []
    class Mine(Callback):
        n = 0
        def before_batch(self): self.n += 1
        @on('before_batch', **kwargs)
        def any_name(self): ran.append(('method', self.n))
    @on('before_batch', **kwargs)
    def func(cb): ran.append(('function', cb.learn.mine.n))
    return [Mine(), mk_cb(func)],ran

@pytest.mark.parametrize('kwargs,want', [({}, [1, 2, 3, 4, 5, 6]), (dict(every=2), [2, 4, 6]), (dict(every=1), [1, 2, 3, 4, 5, 6]), (dict(once=3), [3]),
    (dict(once=1), [1]), (dict(when=lambda learn: learn.mine.n>4), [5, 6])])
def test_filters(kwargs, want):
    cbs,ran = counted(**kwargs)
    flow = Flow().add_cbs(cbs)
    for _ in range(6): flow('before_batch')
    assert ran==[(o, n) for n in want for o in ('method', 'function')]

@pytest.mark.parametrize('kwargs', [dict(every=4), dict(once=5)])
def test_filters_count_over_fits_and_saves(kwargs):
    (cb,_),ran = counted(**kwargs)
    mk_learner([cb], dls=(TRAIN, None)).fit(1)
    assert cb.calls and ran==[]
    (new,_),ran = counted(**kwargs)
    new.load_state_dict(deepcopy(cb.state_dict()))
    mk_learner([new], dls=(TRAIN, None)).fit(1)
    assert [o for _,o in ran]==[{4: 1, 5: 2}[next(iter(kwargs.values()))]]

@pytest.mark.parametrize('f,error,want', [
    (lambda: on('after_batch', every=0), ValueError, 'every is 0.*1 or more'), (lambda: on('after_batch', once=-1), ValueError, 'once is -1'),
    (lambda: on('after_batch', every=1.5), ValueError, r'every is 1\.5'), (lambda: on('after_batch', every=True), ValueError, 'every is True'),
    (lambda: on('after_batch', every=2, once=1), ValueError, '2 of every, once and when given: use one'),
    (lambda: Callback(after_batch=3), TypeError, 'must be callable'),
    *((lambda o=o: mk_cb(o), TypeError, 'is not a callback: pass a Callback') for o in (3, 'after_batch', None, print, Learner, object())),
])
def test_bad_arguments(f, error, want):
    with pytest.raises(error, match=want): f()

@pytest.mark.parametrize('cbs', [7, [7], 'before_fit', print, [TrainEvalCallback, torch.nn.Linear]])
def test_objects_that_are_no_callbacks_are_refused(cbs):
    learn = mk_learner(cbs=[])
    for f in (lambda: mk_learner().fit(1, cbs=cbs), lambda: learn.validate(cbs=cbs), lambda: learn.add_cbs(cbs),
        lambda: Learner(TRAIN, torch.nn.Linear(2, 1), cbs=cbs)):
        with pytest.raises((TypeError, ValueError), match='is not a callback|two callbacks'): f()
    assert names(learn.cbs)==['train_eval']

# Names of callbacks

class MySuperCallback(Callback): pass
def whisper(cb): pass

def test_a_callback_belongs_to_one_learner_once():
    cb,a = MySuperCallback(),Flow()
    a.add_cb(cb)
    with pytest.raises(ValueError, match='already in this learner'): a.add_cb(cb)
    with pytest.raises(ValueError, match='in another learner'): Flow().add_cb(cb)
    Flow().add_cb(a.remove_cb(cb) and cb)

def test_name_changed_while_there_leaves_nothing_behind():
    flow,cb = Flow(),MySuperCallback()
    flow.add_cb(cb)
    with suppress(ValueError): cb.name = 'other'
    assert getattr(flow, cb.name) is cb
    flow.remove_cb(cb)
    assert not hasattr(flow, 'my_super') and not hasattr(flow, 'other')

# Attributes

def test_reads_fall_through_and_writes_do_not():
    learn = mk_learner([MySuperCallback])
    cb = learn.my_super
    assert cb.model is learn.model and cb.dls is learn.dls
    cb.own = 3
    assert not hasattr(learn, 'own')

def test_shadowing_warns_at_the_write():
    learn = mk_learner([MySuperCallback])
    with pytest.warns(UserWarning, match="MySuperCallback.loss shadows .*'loss'.* self.learn.loss") as ws: learn.my_super.loss = 3
    assert ws[0].filename==__file__
    learn.my_super.loss = 4  # said once
    learn.my_super.learn.loss = 5
    assert learn.loss==5

@pytest.mark.parametrize('exc', [AttributeError('inner'), KeyError('inner'), ValueError('inner')])
def test_error_of_a_property_is_its_own(exc):
    class Mine(Callback):
        @property
        def broken(self): raise exc
    for cb in (Mine(), mk_learner([Mine]).mine):
        with pytest.raises(type(exc), match='inner'): _ = cb.broken

# Order and muting

def test_order():
    heard = []
    cbs = [hearing(o, 'before_fit', to=heard, order=n) for o,n in dict(a=1, b=0, c=1, d=-5, e=.5, f=0).items()]
    flow = Flow().add_cbs(cbs)
    flow('before_fit')
    assert [o for _,o in heard]==names(flow.ordered_cbs('before_fit'))==list('dbfeac')
    flow.c.order = -6
    heard.clear()
    flow('before_fit')
    assert [o for _,o in heard]==list('cdbfea')
    assert flow.ordered_cbs('after_fit')==[]

@pytest.mark.parametrize('attrs,want', [(dict(run_train=False), {False}), (dict(run_valid=False), {True}),
    (dict(run_train=False, run_valid=False), set()), ({}, {True, False})])
def test_all_events_inside_a_batch_obey_run_train_and_run_valid(attrs, want):
    heard = {}
    def hear(cb, e):
        heard.setdefault(e, set()).add(cb.training)
        act(cb, 'CancelStepException' if e=='before_step' and cb.name=='z' else None)
    both = ('after_pred', 'after_loss', *events_of('batch'))
    inner = [*both, *(e for x in ('backward', 'step', 'zero_grad') for e in events_of(x))]
    rest = [o for o in all_events(FIT) if o not in inner]
    learn = mk_learner([listener('a', [*inner, *rest], hear, **attrs), listener('z', ['before_step'], hear, order=9)])
    learn.fit(1)
    fire = {o for o in inner if not o.startswith('after_cancel')} | {'after_cancel_step'}
    for e in fire: assert heard.get(e, set())-{None}==(want if e in both else want & {True}) or e=='before_step'
    assert {o for o in heard if o in rest}>={'before_fit', 'before_fetch', 'after_validate', 'cleanup_fit'}

def test_muting_inside_an_event_works_at_once_and_for_the_fit():
    heard = []
    def mute(cb, e):
        if cb.learn.count.batches==2: cb.learn.b.run = False
    learn = mk_learner([listener('a', ['before_batch'], mute), hearing('b', 'before_batch', 'after_fit', to=heard)], dls=(TRAIN, None))
    learn.fit(1)
    assert heard==[('before_batch', 'b')]*2 and learn.b.run

@covering(what=[None, CancelFitException, ValueError, KeyboardInterrupt], e=['before_fit', 'after_pred', 'after_fit'])
def test_run_is_reset_after_a_fit(e, what):
    def mute(cb, _):
        for o in cb.learn.cbs[1:]: o.run = False
        act(cb, what)
    learn,temp = mk_learner([listener('a', [e], mute), MySuperCallback]),Callback('temp', after_fit=whisper)
    with suppress(ValueError, KeyboardInterrupt): learn.fit(1, cbs=temp)
    assert all(o.run for o in (*learn.cbs, temp))

# Coming and going

@pytest.mark.parametrize('how', ['remove', 'mute'])
def test_removed_callbacks_do_not_hear_after_exception(how):
    heard = []
    def send(cb, e): act(cb.learn.b, how)
    learn = mk_learner([listener('a', ['after_exception'], send), hearing('b', 'after_exception', to=heard)], loss_func=lambda *args: 1/0)
    with pytest.raises(ZeroDivisionError): learn.fit(1)
    assert heard==[]

@pytest.mark.parametrize('gone', [0, -20, 20])
def test_removing_a_callback_leaves_the_cleanups_of_the_others_in_their_place(gone):
    heard = []
    a,b = hearing('a', 'after_pred', 'cleanup_batch', 'cleanup_train', to=heard),hearing('b', 'cleanup_batch', 'cleanup_fit', to=heard, order=gone)
    class Remover(Callback):
        @on(event.after_pred, once=2)
        def remove(self): self.learn.remove_cb(b)
    mk_learner([a, b, Remover], dls=(TRAIN, None)).fit(1)
    assert [o for o in heard if o[1]=='a']==[('after_pred', 'a'), ('cleanup_batch', 'a')]*3 + [('cleanup_train', 'a')]
    assert [e for e,o in heard if o=='b']==['cleanup_batch', 'cleanup_batch', 'cleanup_fit']
    assert heard[heard.index(('cleanup_fit', 'b'))+1]==('cleanup_batch', 'a')  # at once

class FailingCreate(Callback):
    def after_create(self): raise ValueError('no')

@pytest.mark.parametrize('bad', [3, MySuperCallback, FailingCreate, Callback('fit', after_fit=whisper)])
def test_case_17_a_failing_third_callback_takes_the_first_two_with_it(bad):
    learn = mk_learner()
    before = learn.cbs
    cbs = [MySuperCallback, Callback('b', after_fit=whisper), bad]
    for f in (learn.add_cbs, lambda o: learn.fit(1, cbs=o), lambda o: learn.validate(cbs=o)):
        with pytest.raises((TypeError, ValueError)): f(cbs)
        assert learn.cbs==before and not hasattr(learn, 'my_super') and not hasattr(learn, 'b')
    assert cbs[1].learn is None
    learn.fit(1)

def test_one_failing_cleanup_does_not_keep_the_others_from_being_removed():
    heard = []
    def hear(cb, e):
        heard.append(cb.name)
        raise ValueError(cb.name)
    two = [listener(o, ['cleanup_save'], hear) for o in 'ab']
    flow = Flow().add_cbs(two)
    with pytest.raises(ValueError): flow.with_events('save', lambda: flow.remove_cbs(two))
    assert flow.cbs==() and sorted(heard)==['a', 'b'] and [o.learn for o in two]==[None, None]

def test_removed_cbs_keep_their_place_among_equals():
    flow = Flow().add_cbs([Callback(o, after_fit=whisper) for o in 'abcd'])
    with flow.removed_cbs([flow.b, flow.d, MySuperCallback]):
        assert names(flow.cbs)==['a', 'c'] and not hasattr(flow, 'b')
        flow.add_cb(Callback('e', after_fit=whisper)).remove_cb(flow.c)
    assert names(flow.cbs)==['a', 'b', 'd', 'e'] and flow.b.learn is flow
    with suppress(ValueError), flow.removed_cbs(flow.a): raise ValueError
    assert names(flow.ordered_cbs('after_fit'))==['a', 'b', 'd', 'e']
STAND_IN = ['before_fit', 'after_fit', 'cleanup_fit']

def test_stand_in_is_not_called_inside_a_fit():
    heard = []
    class Mine(Callback):
        def after_batch(self):
            if self.training: self.learn.validate()
    mk_learner([hearing('a', *STAND_IN, 'after_exception', to=heard), Mine]).fit(1)
    assert [e for e,_ in heard]==STAND_IN

# Evaluation outside a fit (Departure 1)

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

def test_point_9_outside_of_a_learner():
    class T(Callback):
        def before_fit(self): return 'fit'
        def other(self, n, k=1): return n+k
    t = T()
    assert (t('before_fit'), t('after_batch'), t('other', 1, k=2))==('fit', None, 3)
    with pytest.raises(ValueError, match="'after_bacth' in T; did you mean 'after_batch'"): t('after_bacth')
    assert Callback(after_batch=lambda self: 5)('after_batch')==5
    assert Spy()('after_batch') is None
