"A tracer records what ran and how it ended, and changes nothing about it"
import gc, traceback, weakref
from types import MethodType
import pytest, torch
from torch import nn
from torch.nn import functional as F
from learnloop.callback import Callback, on
from learnloop.flow import *
from learnloop.learner import Learner, TrainEvalCallback
from learnloop.trace import TraceRow, Tracer

def mk_learn(*cbs, n=2, cls=Learner):
    torch.manual_seed(0)
    data = [(torch.randn(4, 2), torch.randn(4, 1)) for _ in range(n)]
    model = nn.Sequential(nn.Linear(2, 3), nn.Dropout(.5), nn.Linear(3, 1))
    return cls((data, data[:1]), model, F.mse_loss, lr=.1, default_cbs=False, cbs=[TrainEvalCallback, *cbs])

class Log(Callback):
    "Hears every event without a tracer's help; raises `exc` in `at`"
    def __init__(self, at=None, exc=None, name='log'): self.seen,self.at,self.exc,self.name = [],at,exc,name
    def hear(self, event):
        self.seen.append(event)
        if event==self.at and self.exc: raise self.exc
    def handlers(self, event): return [MethodType(lambda self, **kw: self.hear(event), self)]

EXCS = [None, CancelBatchException, CancelFitException, CancelValidException, RuntimeError, KeyboardInterrupt]

def run(at, exc, trace):
    "Fit with a callback that raises `exc` at `at`: what it heard, what left `fit`, and the weights"
    log = Log(at, exc and exc('why'))
    learn = mk_learn(log)
    err = None
    try: learn.fit(2, cbs=Tracer() if trace else None)
    except BaseException as e: err = e
    notes = [type(err).__name__, str(err), *getattr(err, '__notes__', [])]
    return log.seen, notes, dict(learn.outcome), list(learn.model.parameters()), torch.rand(1)

@pytest.mark.parametrize('exc', EXCS)
@pytest.mark.parametrize('at', [e for e in event if not e.endswith(('save','load','sanity','evaluate')) and e!='after_create'])
def test_all_runs_as_without(at, exc):
    (seen,notes,outcome,ps,rnd),(seen2,notes2,outcome2,ps2,rnd2) = (run(at, exc, o) for o in (False,True))
    assert seen==seen2 and notes==notes2 and outcome==outcome2
    assert all(torch.equal(*o) for o in zip([*ps, rnd], [*ps2, rnd2], strict=True))

@pytest.mark.parametrize('exc', EXCS)
@pytest.mark.parametrize('at', ['before_fit', 'after_pred', 'before_step', 'after_validate', 'cleanup_batch', 'after_cancel_batch'])
def test_events_are_those_that_fire(at, exc):
    "A callback that comes first and hears all knows what fires, but for clean-ups, of which it is last: those are checked in number"
    witness,tracer = Log(name='witness'),Tracer()
    witness.order = -1e9
    learn = mk_learn(witness, Log(at, exc and exc('why')))
    try: learn.fit(2, cbs=tracer)
    except BaseException as e: assert exc and (isinstance(e, exc) or isinstance(e.__cause__, exc))
    fired = witness.seen[1:]  # `after_create` was before the tracer's time
    assert sorted(tracer.events())==sorted(fired)
    def _no_cleanup(es): return [o for o in es if not o.startswith('cleanup_')]
    assert _no_cleanup(tracer.events())==_no_cleanup(fired)

def test_cleanup_event_comes_before_its_turns():
    class A(Callback):
        def cleanup_fit(self): pass
    class B(A): pass
    learn = mk_learn(A(), B())
    learn.fit(1, cbs=(t := Tracer()))
    assert [(o.event, o.callback) for o in t.rows[-3:]]==[('cleanup_fit',''), ('cleanup_fit','b'), ('cleanup_fit','a')]

def test_rows_have_outcome_epoch_iter_and_depth():
    def skip(cb):
        if cb.training and cb.epoch==1: raise CancelBatchException
    learn = mk_learn(Callback(after_pred=skip))
    learn.fit(2, cbs=(t := Tracer()))
    i = next(i for i,o in enumerate(t.rows) if o.outcome=='CancelBatchException')
    assert t.rows[i-1:i+4]==[
        TraceRow('after_pred', '', '', 4, 1, 0), TraceRow('after_pred', 'skip', 'CancelBatchException', 4, 1, 0),
        TraceRow('after_cancel_batch', '', 'cancelled', 4, 1, 0), TraceRow('after_batch', '', 'cancelled', 4, 1, 0),
        TraceRow('after_batch', 'train_eval', '', 4, 1, 0)]
    assert t.rows[0]==TraceRow('before_fit', '', '', 1, None, None) and t.rows[-1]==TraceRow('cleanup_fit', '', 'done', 1, None, None)
    assert {o.outcome for o in t.rows if o.event.startswith('before_') and not o.callback}=={''}

def test_failure_is_recorded_to_the_end():
    def fail(cb): raise KeyError('x')
    learn = mk_learn(Callback(before_backward=fail))
    with pytest.raises(KeyError) as e: learn.fit(1, cbs=(t := Tracer()))
    assert [(o.event, o.callback, o.outcome) for o in t.rows if o.callback in ('','fail')][-8:]==[
        ('before_backward','',''), ('before_backward','fail','KeyError'), ('after_exception','',''),
        *((f'cleanup_{o}', '', 'failed') for o in ('backward','batch','train','epoch','fit'))]
    assert e.value.__notes__[0].startswith('learnloop: in Callback(fail).before_backward; epoch 0, batch 0')
    assert len(traceback.extract_tb(e.value.__traceback__))>0

def test_uncaught_cancel_names_callback_and_event():
    def oops(cb): raise CancelStepException
    with pytest.raises(UncaughtCancelError, match='by Callback[(]oops[)] in before_epoch'):
        mk_learn(Callback(before_epoch=oops)).fit(1, cbs=(t := Tracer()))
    assert ('before_epoch','oops') in t.trace()
    assert 'oops (CancelStepException)' in str(t)

def test_two_fits_and_validate_are_recorded_and_removal_ends_it():
    learn = mk_learn(Callback(after_batch=nothing), t := Tracer())
    assert t.events()==['after_create']
    t.clear()
    learn.fit(1)
    first = t.rows
    learn.fit(1)
    assert t.rows==first*2
    t.clear()
    learn.validate()
    assert t.events()[0]=='before_evaluate' and t.events()[-1]=='cleanup_evaluate'
    n = len(t.rows)
    learn.remove_cb(t)
    learn.fit(1)
    assert len(t.rows)==n and all(f.__self__ is not t for f in learn._handlers['after_batch'])

def nothing(cb): pass

def test_comes_and_goes_in_a_fit():
    t,log = Tracer(),Log()
    def add(cb):
        if cb.epoch==0 and cb.iter==0 and cb.training: cb.learn.add_cb(t)
        if cb.epoch==1 and cb.iter==0 and cb.training: cb.learn.remove_cb(t)
    learn = mk_learn(log, Callback(before_batch=add))
    learn.fit(3)
    assert 'after_create' not in t.events() and t.events()[0]=='after_pred'  # heard from the next event on
    assert [o.event for o in t.rows[-2:]]==['before_batch']*2 and t.rows[-1].epoch==1
    assert t.events().count('cleanup_epoch')==0  # it wasn't there when this epoch began, and gone before the other ended
    assert log.seen.count('cleanup_fit')==1 and log.seen.count('before_epoch')==log.seen.count('cleanup_epoch')==3

def test_callbacks_that_come_and_go():
    class Opened(Callback):
        closed = 0
        def after_create(self): pass
        def before_fit(self): pass
        def cleanup_fit(self): self.closed += 1
    o,late = Opened(),Opened()
    late.name = 'late'
    def swap(cb):
        if o in cb.learn.cbs: cb.learn.remove_cb(o).add_cb(late)
    learn = mk_learn(o, Callback(after_fit=swap))
    learn.fit(1, cbs=(t := Tracer()))
    assert o.closed==1 and late.closed==0
    assert t.events().count('cleanup_fit')==1 and t.events()[-1]=='cleanup_fit' and t.events().count('after_create')==0
    assert [e for e in t.trace() if e[1] in ('opened','late')]==[('before_fit','opened'), ('cleanup_fit','opened'), ('after_create','late')]

def test_removal_of_a_callback_in_before_x():
    class Opened(Callback):
        def cleanup_fit(self): pass
    o = Opened()
    learn = mk_learn(o, Callback(before_fit=lambda cb: cb.learn.remove_cb(o)))
    learn.fit(1, cbs=(t := Tracer()))
    assert t.events().count('cleanup_fit')==1 and t.events()[-1]=='cleanup_fit'

def test_muted_callbacks_have_no_turn_and_a_muted_tracer_records_nothing():
    log = Log()
    log.run_train = False
    learn = mk_learn(log, t := Tracer())
    t.clear()
    learn.fit(1)
    assert all(o.epoch is not None and o.iter==0 for o in t.rows if o.callback=='log' and o.event=='after_batch')
    assert t.trace().count(('after_batch','log'))==1
    t.clear()
    t.run = False
    n = len(log.seen)
    learn.fit(1)
    assert t.rows==[] and len(log.seen)>n and t.run

def test_declared_events_and_phases_with_arguments():
    got = []
    class Rollout(Learner, phases=[Phase('rollout', inside='batch')]): pass
    def hear(cb, **kw): got.append(kw)
    learn = mk_learn(Log(), t := Tracer(), cls=Rollout)
    learn.declare('verify_batch')
    learn.add_cb(Callback(verify_batch=hear, name='hear'))
    t.clear()
    learn('verify_batch', f=1, who=2, tracer=3)
    learn.with_events('rollout', lambda: None)
    assert got==[dict(f=1, who=2, tracer=3)]
    assert t.events()==['verify_batch', 'before_rollout', 'after_rollout', 'cleanup_rollout']
    assert ('verify_batch','hear') in t.trace()

def test_nested_events_follow_the_turn_that_fired_them():
    class Peek(Callback):
        def after_epoch(self): self.learn.validate()
        def cleanup_fit(self): self.learn.validate()
    learn = mk_learn(Peek())
    learn.fit(1, cbs=(t := Tracer()))
    es = t.events()
    assert es.count('before_evaluate')==es.count('cleanup_evaluate')==2
    i = t.rows.index(next(o for o in t.rows if (o.event,o.callback)==('cleanup_fit','peek')))
    assert (t.rows[i-1].event, t.rows[i-1].callback, t.rows[i+1].event)==('cleanup_fit','','before_evaluate')

def test_filters_keep_counting():
    calls = []
    @on(event.after_batch, every=2)
    def second(cb): calls.append(cb.train_iter)
    mk_learn(second, n=4).fit(2, cbs=Tracer())
    without = list(calls)
    calls.clear()
    mk_learn(second, n=4).fit(2)
    assert calls==without

def test_two_tracers_and_a_subclass():
    class Mine(Tracer):
        heard = 0
        def after_batch(self): self.heard += 1
    a,b = Tracer(),Mine()
    learn = mk_learn(Callback(after_batch=nothing))
    learn.fit(1, cbs=[a, b])
    assert a.rows==b.rows and b.heard==3

def test_memory_is_bounded():
    learn = mk_learn()
    learn.fit(2, cbs=(t := Tracer(max_rows=5)))
    learn.fit(2, cbs=(whole := Tracer(max_rows=None)))
    assert t.rows==whole.rows[-5:]
    assert str(t).startswith(f'… {len(whole.rows)-5:,} earlier rows dropped') and 'dropped' not in str(whole)
    with pytest.raises(ValueError, match='max_rows is 0'): Tracer(max_rows=0)

def test_holds_no_learner_batch_or_error():
    log = Log('after_loss', RuntimeError('x'))
    learn,t = mk_learn(),Tracer()
    preds = []
    learn.add_cb(Callback(after_pred=lambda cb: preds.append(weakref.ref(cb.pred))))
    learn.add_cb(log)
    with pytest.raises(RuntimeError): learn.fit(1, cbs=t)
    learn,log,ref = None,None,weakref.ref(learn)
    gc.collect()
    assert ref() is None and preds[0]() is None and len(t.rows)>5

def test_table():
    def fail(cb):
        if cb.epoch==2: raise RuntimeError('x')
    learn = mk_learn(Callback(before_step=fail, name='f'), n=3)
    t = Tracer()
    with pytest.raises(RuntimeError): learn.fit(3, cbs=t)
    lines = [o.split() for o in str(t).splitlines()]
    assert ['before_step', 'f', '6', '0–1', '0–2'] in lines and ['before_step', 'f', '(RuntimeError)', '1', '2', '0'] in lines
    assert lines[-1]==['cleanup_fit', 'failed', '1']
    assert repr(t)=='Tracer'
    md = t._repr_markdown_().splitlines()
    assert len(md)==len(lines)+1 and {o.count('|') for o in md}=={7}
    t.verbose,t.n_lines = True,5
    assert len(str(t).splitlines())==7 and 'not shown' in str(t)
    assert str(Tracer()).split()==['event', 'callbacks', 'outcome', 'times', 'epoch', 'iter']

def test_a_large_trace_without_repetition_is_shown_in_reasonable_work():
    t = Tracer(max_rows=None, n_lines=10)
    t._n = 3000
    t._rows.extend(TraceRow(f'e{i*i%97}', f'c{i%89}', '', 1, i, None) for i in range(3000))
    assert len(str(t).splitlines())==12
