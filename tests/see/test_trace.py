"A tracer records what ran, how long it took and how it ended, without changing it"
import gc, gzip, json, traceback, weakref
from itertools import count
from types import MethodType, SimpleNamespace
import pytest, torch
from hypothesis import given, settings
from torch import nn
from torch.nn import functional as F
from learnloop.loop.callback import Callback, on
from helpers import mk_learner, players, same
from learnloop.data.checks import *
from learnloop.loop.flow import *
from learnloop.loop.learner import Learner, TrainEvalCallback
from learnloop.see.timeline import _unpacked, _us, load_trace
from learnloop.see.trace import Trace, TraceRow, Tracer
from learnloop.train.training import GradientAccumulation
from test_properties import programs

def mk_learn(*cbs, n=2, cls=Learner):
    torch.manual_seed(0)
    data = [(torch.randn(4, 2), torch.randn(4, 1)) for _ in range(n)]
    model = nn.Sequential(nn.Linear(2, 3), nn.Dropout(.5), nn.Linear(3, 1))
    return cls((data, data[:1]), model, F.mse_loss, lr=.1, default_cbs=False, cbs=[TrainEvalCallback, *cbs])

class Log(Callback):
    "Hears every event without a tracer's help; raises `exc` in `at`"
    def __init__(self, at=None, exc=None, name='logs'): self.seen,self.at,self.exc,self.name = [],at,exc,name
    def hear(self, event):
        self.seen.append(event)
        if event==self.at and self.exc: raise self.exc
    def handlers(self, event): return [MethodType(lambda self, **kw: self.hear(event), self)]

def test_failure_is_recorded_to_the_end():
    def fail(cb): raise KeyError('x')
    learn = mk_learn(Callback(before_backward=fail))
    with pytest.raises(KeyError) as e: learn.fit(1, cbs=(t := Tracer()))
    assert [(o.event, o.callback, o.outcome) for o in t.rows if o.callback in ('','fail')][-9:]==[
        ('before_backward','',''), ('before_backward','fail','KeyError'), ('after_exception','',''),
        *((f'cleanup_{o}', '', 'failed') for o in ('backward','turn','batch','train','epoch','fit'))]
    assert e.value.__notes__[0].startswith('learnloop: in Callback(fail).before_backward; epoch 0, batch 0')
    assert len(traceback.extract_tb(e.value.__traceback__))>0

def nothing(cb): pass

def test_muted_callbacks_have_no_turn_and_a_muted_tracer_records_nothing():
    log = Log()
    log.run_train = False
    learn = mk_learn(log, t := Tracer())
    t.clear()
    learn.fit(1)
    assert all(o.epoch is not None and o.iter==0 for o in t.rows if o.callback=='logs' and o.event=='after_batch')
    assert t.turns().count(('after_batch','logs'))==1
    t.clear()
    t.run = False
    n = len(log.seen)
    learn.fit(1)
    assert t.rows==[] and len(log.seen)>n and t.run

def test_memory_is_bounded():
    learn = mk_learn()
    learn.fit(2, cbs=(t := Tracer(max_rows=5)))
    learn.fit(2, cbs=(whole := Tracer(max_rows=None)))
    assert t.rows==whole.rows[-5:]
    assert str(t.sequence()).startswith(f'… {len(whole.rows)-5:,} earlier rows dropped') and 'dropped' not in str(whole.sequence())
    assert t.phases().keys()==whole.phases().keys()  # totals are of everything
    for o in (0, True, False, 1.5, '9'):
        with pytest.raises(ValueError, match=f'max_rows is {o!r}'): Tracer(max_rows=o)

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
    lines = [o.split() for o in str(t.sequence()).splitlines()]
    assert ['before_step', 'f', '6', '0–1', '0–2'] in lines and ['before_step', 'f', '(RuntimeError)', '1', '2', '0'] in lines
    assert lines[-1]==['cleanup_fit', 'failed', '1']
    assert repr(t)=='Tracer' and repr(learn.trace)==str(t)
    md = t.sequence()._repr_markdown_().splitlines()
    assert len(md)==len(lines)+1 and {o.count('|') for o in md}=={7}
    short = t.sequence(verbose=True, n_lines=5)
    assert len(str(short).splitlines())==8 and 'not shown' in str(short)
    assert str(Tracer().sequence()).split()==['event', 'callbacks', 'outcome', 'times', 'epoch', 'iter']

def test_a_large_trace_without_repetition_is_shown_in_reasonable_work():
    rows = [TraceRow(f'e{i*i%97}', f'c{i%89}', '', 1, i, None) for i in range(3000)]
    class Many(Trace):
        rows = property(lambda self: rows)
    assert len(str(Many().sequence(n_lines=10)).splitlines())==13

# ---- times

def ticks():
    "A clock that is looked at each microsecond"
    return count(0, 1000).__next__

class Clock:
    "One that stands still, unless it is told to go on"
    now = 0
    def __call__(self): return self.now

def test_times_by_phase_and_callback():
    clock = Clock()
    def takes(ms):
        def f(cb=None): clock.now += ms*1_000_000
        return f
    class Slow(nn.Linear):
        def forward(self, x):
            takes(5)()
            return super().forward(x)
    def loss(pred, y):
        takes(2)()
        return F.mse_loss(pred, y)
    learn = Learner([(torch.zeros(1, 2), torch.zeros(1, 1))]*3, Slow(2, 1), loss, default_cbs=False, cbs=[TrainEvalCallback, Callback('slow', before_step=takes(10))])
    learn.fit(2, cbs=Tracer(clock=clock))
    times = learn.trace.phases()
    assert {k:(times[k][0], round(times[k][1]*1e3)) for k in ('fit', 'epoch', 'batch', 'pred', 'loss', 'step', 'backward')}==dict(
        fit=(1, 102), epoch=(2, 102), batch=(6, 102), pred=(6, 30), loss=(6, 12), step=(6, 60), backward=(6, 0))
    top = learn.trace.totals()[0]
    assert (top['callback'], top['event'], top['calls'], round(top['seconds'], 6), top['outcomes'])==('slow', 'before_step', 6, .06, {})
    assert [o.seconds for o in learn.trace.rows if o.callback=='slow']==[.01]*6
    assert ['slow', 'before_step', '6', '60.0', 'ms', '10.0', 'ms', '58.8%'] in [o.split() for o in str(learn.trace).splitlines()]
    learn.trace.clear()
    assert learn.trace.phases()=={} and learn.trace.totals()==[] and learn.trace.cancels==[]

# ---- why

def stepped(max_rows=10_000, n=6, n_epoch=2, **kwargs):
    "A fit in which every second step is skipped"
    learn = mk_learn(GradientAccumulation(n_batches=2), n=n)
    learn.fit(n_epoch, cbs=Tracer(max_rows, clock=ticks()), **kwargs)
    return learn.trace

@pytest.mark.parametrize('what', ['step', 'batch', 'fetch', 'before_step', 'after_loss', 'loss'])
def test_why_says_that_rows_were_dropped(what):
    "Part of the last epoch is kept, and none of the first"
    t = stepped(60, n=20)
    kept = next(o for o in t.rows if o.iter is not None)
    for epoch in (0,1):
        got = t.why(what, epoch=epoch)
        if epoch==1 and what in ('before_step', 'after_loss', 'loss'): assert 'fired and' in got or 'fired, but' in got  # the last time
        else: assert got.startswith(f'not all rows of epoch {epoch} are kept: rows are kept from epoch 1, iter {kept.iter} on')
        if what=='step': assert got.endswith('; GradientAccumulation raised CancelStepException in before_step: 10 times')
        if what=='batch': assert 'CancelStep' not in got
    assert 'no longer recorded' in t.why('before_step', epoch=0, iter=1)
    for e in ('before_fit', 'before_epoch', 'after_train'): assert t.why(e, epoch=None if e=='before_fit' else 0).startswith(f'{e} is no longer recorded: rows are kept')
    assert t.why('before_fit', callback='train_eval').startswith('before_fit is no longer recorded')
    assert t.why('train', epoch=0)=='train ran' and t.why('cleanup_fit')=='cleanup_fit fired, but called no callback'

def act(e): raise e

@pytest.mark.parametrize('at,exc,place,want', [
    ('after_loss', CancelBatchException, dict(epoch=1, iter=1), 'Callback(ex) raised CancelBatchException in after_loss, which skipped the rest of the batch phase'),
    ('before_step', CancelBatchException, dict(epoch=1, iter=1), 'Callback(ex) raised CancelBatchException in before_step, which skipped the rest of the batch phase'),
    ('after_batch', CancelTrainException, dict(epoch=1, iter=2), 'Callback(ex) raised CancelTrainException in after_batch, which skipped the rest of the train phase'),
    ('after_step', CancelEpochException, dict(epoch=1, iter=1),
        'step ran, then Callback(ex) raised CancelEpochException in after_step, which skipped the rest of the epoch phase'),
    ('after_batch', CancelFitException, dict(epoch=2, iter=0), 'Callback(ex) raised CancelFitException in after_batch, which skipped the rest of the fit phase'),
    ('before_step', RuntimeError, dict(epoch=1, iter=1), 'Callback(ex) raised RuntimeError in before_step'),
    ('before_step', KeyboardInterrupt, dict(epoch=2, iter=1), 'Callback(ex) raised KeyboardInterrupt in before_step')])
@pytest.mark.parametrize('max_rows', [None, 8])
def test_why_of_a_phase_that_an_outer_cancel_skipped(at, exc, place, want, max_rows):
    def f(cb):
        if cb.training and (cb.epoch, cb.iter)==(1,1): raise exc
    learn = mk_learn(Callback('ex', **{at:f}), n=4)
    t = Tracer(max_rows)
    try: learn.fit(3, cbs=t)
    except (RuntimeError,KeyboardInterrupt): assert not issubclass(exc, CancelException)
    assert t.why('step', **place)==want

class Torn(list):
    def __iter__(self):
        yield self[0]
        raise OSError('the disk')

LOST = [('before_epoch', CancelEpochException, 'epoch'), ('before_fetch', CancelEpochException, 'epoch'), ('before_train', CancelTrainException, 'train'),
    ('before_fit', CancelFitException, 'fit')]
@pytest.mark.parametrize('at,exc,catcher', LOST)
def test_why_of_a_cancel_outside_of_batches(at, exc, catcher):
    learn = mk_learn(Callback('ex', **{at: lambda cb: act(exc)}))
    learn.fit(2, cbs=Tracer())
    why,said = learn.trace.why,f'Callback(ex) raised {exc.__name__} in {at}'
    for what,place in (('step', dict(iter=0)), ('step', dict(iter=1)), ('batch', dict(iter=0)), ('step', {}), ('before_step', dict(iter=1)), ('train', {}), ('epoch', {})):
        got = why(what, epoch=0, **place)
        if what==catcher: assert got==said
        elif what=='epoch' and catcher=='train': assert got=='epoch ran'
        else: assert said in got and f'skipped the rest of the {catcher} phase' in got, (what, place, got)
    if catcher=='train': assert why('batch', epoch=0, iter=0, training=False)=='batch ran' and why('validate', epoch=1)=='validate ran'

def test_why_of_a_loader_that_fails():
    learn = mk_learn()
    learn.dls.train = Torn(learn.dls.train)
    with pytest.raises(OSError, match='the disk'): learn.fit(1, cbs=Tracer())
    for what in ('batch', 'step', 'after_loss'): assert 'OSError was raised in the body of fetch' in learn.trace.why(what, epoch=0, iter=1)
    assert learn.trace.why('step', epoch=0, iter=0)=='step ran' and 'recorded is epoch 0' in learn.trace.why('evaluate')
    assert [o.message for o in learn.trace.errors]==['the disk']
    assert 'OSError was raised in the body of fetch: 1 time\n' in str(learn.trace)+'\n'

def test_messages_are_kept_short_and_never_in_the_way(tmp_path):
    class Odd(CancelStepException):
        def __str__(self): raise RuntimeError('no words')
    texts = iter(['x'*999, '\ud800', None])
    def f(cb):
        if cb.training: raise CancelStepException(s) if (s := next(texts)) else Odd
    learn = mk_learn(Callback('ex', before_step=f), n=3)
    learn.fit(1, cbs=Tracer())
    assert [o.message for o in learn.trace.cancels]==['x'*200, '?', '']
    new = load_trace(learn.trace.save(tmp_path/'t.json'))
    assert new.cancels==learn.trace.cancels
    old = json.loads((tmp_path/'t.json').read_text())['learnloop']
    old['cancels'] = [o[:-1] for o in old['cancels']]  # as files had them before
    assert [o[:-1] for o in _unpacked(old).cancels]==[o[:-1] for o in new.cancels]

def test_a_tracer_that_comes_in_a_batch_counts_from_there():
    def add(cb):
        if cb.epoch==1 and cb.iter==1 and cb.training: cb.learn.add_cb(Tracer(clock=count(10**15, 1000).__next__))
    learn = mk_learn(Callback(after_pred=add), n=3)
    learn.fit(2)
    t = learn.trace
    assert sum(s for _,s in t.phases().values())<1e-2 and all((o.seconds or 0)<1e-3 for o in t.rows)
    for o in (dict(what='fit'), dict(what='epoch', epoch=1), dict(what='batch', epoch=1, iter=1)): assert t.why(**o)==f"{o['what']} had begun before the tracer was added"
    assert t.why('batch', epoch=1, iter=2)=='batch ran' and t.why('epoch', epoch=0)=='epoch 0 did not begin; recorded is epoch 1'

def test_why_of_a_batch_that_no_loader_has():
    "A cancel of training is no reason why validation had no more batches"
    def f(cb):
        if cb.training and cb.iter==1: raise CancelTrainException
    learn = mk_learn(Callback('ex', after_batch=f), n=3)
    learn.fit(1, cbs=Tracer())
    assert 'CancelTrainException' in learn.trace.why('batch', epoch=0, iter=2)
    assert learn.trace.why('batch', epoch=0, iter=2, training=False)=='batch of epoch 0, iter 2 did not begin; recorded is epoch 0'

def test_why_of_the_last_fit():
    "A fit's cancels say nothing about a later one"
    def f(cb):
        if stop: raise CancelFitException
    learn = mk_learn(t := Tracer(), Callback('ex', after_epoch=f))
    stop = True
    learn.fit(3)
    assert 'CancelFitException' in t.why('epoch', epoch=2)
    stop = False
    learn.fit(2)
    assert t.why('epoch', epoch=2)=='epoch 2 did not begin; recorded are epochs 0–1'

def test_why_of_an_exception_from_the_loop():
    class Own(Learner):
        def _step(self): raise CancelStepException if self.iter==0 else ValueError
    learn = mk_learn(cls=Own)
    with pytest.raises(ValueError): learn.fit(1, cbs=Tracer())
    t = learn.trace
    assert t.why('step', epoch=0, iter=0)=='CancelStepException was raised in the body of step'
    assert t.why('step', epoch=0, iter=1)=='ValueError was raised in the body of step'
    assert t.why('zero_grad', epoch=0, iter=1)=='ValueError was raised in the body of step'
    assert [o.phase for o in t.cancels]==['step'] and [o.exception for o in t.errors]==['ValueError']

def test_a_cancel_that_passes_through_turns_is_recorded_once():
    e = CancelFitException()
    def inner(cb):
        if cb.learn.phases['evaluate'] in cb.learn.open: raise e
    class Peek(Callback):
        def after_epoch(self): self.learn.validate()
    learn = mk_learn(Peek(), Callback('inner', after_loss=inner))
    for _ in range(2):
        learn.fit(2, cbs=Tracer())
        assert [(o.callback, o.event, o.phase) for o in learn.trace.cancels]==[('inner', 'after_loss', 'fit')]
        assert [o.outcome for o in learn.trace.rows if o.callback=='peek']==['CancelFitException']

@pytest.mark.parametrize('args,msg', [(('stp',), "'stp' is not a phase or event; did you mean 'step'"), (('fetch',0,1), 'fetch is not inside a batch'),
    (('epoch',0,1), 'not inside a batch'), (('step',0,0,'gradient_accumulation'), "name an event, such as 'before_step'"),
    (('before_step',0,0,'gradient_acumulation'), "did you mean 'gradient_accumulation'")])
def test_bad_questions(args, msg):
    with pytest.raises(ValueError, match=msg): stepped().why(*args)

def test_nothing_recorded():
    t = Tracer()
    with pytest.raises(ValueError, match='nothing was recorded'): t.why('step')
    assert 'nothing recorded' in str(t.timeline()) and '<svg' in t.timeline()._repr_html_()
    assert str(t).split()[:2]==['phase', 'times'] and t.phases()=={} and '| phase' in t._repr_markdown_()
    with pytest.raises(AttributeError, match='no trace was recorded: call learn.add_cb'): str(mk_learn().trace)
    assert not hasattr(mk_learn(), 'trace')

def test_why_of_an_event():
    class Muted(Callback):
        run_train = False
        def after_loss(self): pass
        def after_epoch(self): pass
    @on(event.after_loss, every=2)
    def second(cb): pass
    @on(event.after_loss, when=lambda learn: False)
    def never(cb): pass
    def off(cb):
        if cb.epoch==1: cb.learn.last.run = False
    raises = Callback('raises', after_pred=lambda cb: act(CancelBatchException) if cb.training and cb.iter==1 else None)
    last = Callback('last', after_pred=nothing)
    learn = mk_learn(Muted(), second, never, Callback(before_epoch=off), raises, last)
    learn.fit(2, cbs=Tracer())
    def why(event, iter=0, epoch=0, **kwargs): return learn.trace.why(event, epoch=epoch, iter=iter, **kwargs)
    assert why('after_loss')=='after_loss fired and called second (filtered out: every 2), never (filtered out: when …); muted was muted: run_train = False'
    assert why('after_loss', callback='muted')=='muted was muted in after_loss: run_train = False'
    assert why('after_loss', callback='muted', training=False)=='after_loss: muted'
    assert why('after_loss', callback='last')=='last has no handler for after_loss, or was not in the learner'
    assert why('after_loss', iter=1)==('after_loss did not fire: Callback(raises) raised CancelBatchException in after_pred, which skipped the rest of the batch phase')
    assert why('after_pred', iter=1, callback='last')=='last was not called in after_pred: raises (raised CancelBatchException) before it'
    assert why('after_pred', epoch=1, callback='last')=='last was muted in after_pred: run = False'
    assert why('before_batch')=='before_batch fired, but called no callback'
    assert why('after_cancel_step')=='after_cancel_step did not fire: step ran'
    assert [(o['calls'], o['filtered_out'], o['filter']) for o in learn.trace.totals() if o['callback']=='second']==[(4, 2, 'every 2')]
    assert 'filtered out 2 times (every 2)' in str(learn.trace)

# ---- turns

class Duel(Learner):
    "A critic's turn and a generator's, each with a part of the model"
    def train_batch(self):
        for o in ('critic', 'generator'): self.turn(lambda: self.loss_func(self.forward(), *self.yb), opt=o, counts=o!='critic')

def duel(*cbs, n_epoch=2):
    "A fit in which the generator's second step is cancelled, and the critic's turn in the second epoch"
    def skip(cb):
        if cb.turn_name=='generator' and cb.iter==1: raise CancelStepException
    def cut(cb):
        if cb.turn_name=='critic' and cb.epoch==1: raise CancelTurnException
    learn = mk_learn(Callback(before_step=skip), Callback(after_loss=cut), *cbs, cls=Duel)
    learn.opt_func = dict(critic=torch.optim.SGD(learn.model[0].parameters(), lr=.1), generator=torch.optim.SGD(learn.model[2].parameters(), lr=.1))
    learn.fit(n_epoch, cbs=Tracer(clock=ticks()))
    return learn.trace

SKIPPED,CUT = 'Callback(skip) raised CancelStepException in before_step of turn generator','Callback(cut) raised CancelTurnException in after_loss of turn critic'
@pytest.mark.every(2)
@pytest.mark.parametrize('args,want', [
    (('step',0,0), 'step of turn critic ran; step of turn generator ran'), (('step',0,1), f'step of turn critic ran; {SKIPPED}'),
    (('step',1,0), f'{CUT}, which skipped the rest of the turn phase; step of turn generator ran'),
    (('step',0), f'step of turn critic ran: 2 times; step of turn generator ran: 1 time; {SKIPPED}: 1 time'),
    (('step',), f'step began 6 times: done 4, cancelled 2, failed 0; {SKIPPED}: 2 times; {CUT}, which skipped the rest of the turn phase: 2 times'),
    (('turn',0,0), 'turn critic ran; turn generator ran'), (('turn',1,0), f'{CUT}; turn generator ran'), (('turn critic',1,0), CUT),
    (('turn critic',), f'turn critic began 4 times: done 2, cancelled 2, failed 0; {CUT}: 2 times'),
    (('turn',0), 'turn critic ran: 2 times; turn generator ran: 2 times'), (('batch',1,0), 'batch ran'),
    (('after_step',0,0), 'after_step of turn critic fired, but called no callback; after_step of turn generator fired, but called no callback'),
    (('after_opt_step',0,0), 'after_opt_step of turn critic did not fire: step of turn critic ran; after_opt_step of turn generator fired, but called no callback'),
    (('before_step',0,1,'skip'), 'before_step of turn critic: skip; before_step of turn generator: skip (raised CancelStepException)'),
    (('before_step',1,0), f'before_step of turn critic did not fire: {CUT}, which skipped the rest of the turn phase; before_step of turn generator fired and called skip'),
    (('after_loss',1,0,'skip'), 'skip was not called in after_loss of turn critic: cut (raised CancelTurnException) before it; skip has no handler for after_loss of turn generator, or was not in the learner'),
    (('after_loss',0,0,None,False), 'after_loss fired and called cut'), (('step',0,0,None,False), 'step did not begin: batch ran without it, since it was in validation'),
    (('turn',0,7), 'turn of epoch 0, iter 7 did not begin; recorded are epochs 0–1')], ids=str)
def test_why_distinguishes_turns(args, want, tmp_path):
    t = duel()
    assert t.why(*args)==want==load_trace(t.save(tmp_path/'t.json')).why(*args)

def test_a_step_that_begins_again_is_one():
    learn = mk_learn()
    learn.opt_func = lambda ps: torch.optim.LBFGS(ps, max_iter=3)
    learn.fit(1, cbs=Tracer(clock=ticks()))
    t = learn.trace
    assert t.events().count('before_step')>t.phases()['step'][0]==t.events().count('cleanup_step')==2 and t.why('step', 0, 0)=='step ran' and t._at.span.parent is None
    assert [s.outcome for s in t._found('step')]==['done']*2
    check_nesting([*t._chrome_events()])

# ---- timelines

def test_timelines():
    t = stepped()
    lanes = dict(t.timeline(epoch=1, iter=2).lanes)
    want = ['fetch', 'batch', 'pred', 'loss', 'backward', 'step', 'zero_grad']
    assert [o for o in lanes if o in want]==want and {*lanes}>={'train_eval', 'gradient_accumulation'}
    assert len(lanes['batch'])==len(lanes['fetch'])==len(lanes['step'])==1 and lanes['fetch'][0][0]==0
    (a,n,_),(b,m,_) = lanes['batch'][0],lanes['step'][0]
    assert a<b<b+m<a+n
    lanes = dict(t.timeline(epoch=1).lanes)
    assert len(lanes['epoch'])==1 and len(lanes['batch'])==7 and len(lanes['step'])==6 and len(lanes['validate'])==1
    lanes = dict(t.timeline().lanes)
    assert [len(lanes[k]) for k in ('fit','epoch','train','validate','raised')]==[1, 2, 2, 2, 12] and 'batch' not in lanes
    assert 'Validation, epoch 0, iter 0' in str(t.timeline(epoch=0, iter=0, training=False))
    for o in (t.timeline(), t.timeline(epoch=0), t.timeline(epoch=0, iter=0)): assert '<svg' in o._repr_html_() and len({len(l) for l in str(o).splitlines()[1:]})==1
    with pytest.raises(ValueError, match='no timeline: epoch 7 did not begin'): t.timeline(epoch=7)

def test_timeline_of_a_fit_that_runs():
    seen = []
    def look(cb):
        if cb.epoch==1: seen.append((str(cb.learn.trace.timeline()), cb.learn.trace.why('epoch', epoch=1)))
    mk_learn(Callback(after_train=look)).fit(2, cbs=Tracer())
    assert seen[0][0].startswith('Run') and seen[0][1]=='epoch is running, or its end was not recorded'

# ---- files

def check_nesting(es):
    "Slices of a thread lie in each other, or apart"
    todo = []
    for o in sorted((o for o in es if o['ph']=='X'), key=lambda o: (o['ts'], -o['dur'])):
        while todo and todo[-1]<=o['ts']: todo.pop()
        end = round(o['ts']+o['dur'], 3)
        assert o['dur']>=0 and (not todo or end<=todo[-1]), o
        todo.append(end)

def test_paths(tmp_path):
    t = stepped()
    with pytest.raises(ValueError, match='must end in .json or .json.gz'): t.save(tmp_path/'run.txt')
    (tmp_path/'a').write_text('')
    with pytest.raises((FileExistsError,NotADirectoryError)): t.save(tmp_path/'a'/'run.json')
    for name,content,msg in (('x.json', b'{', 'is not a trace'), ('x.json', b'{"traceEvents": []}', 'not a trace of a Tracer'), ('x.json', b'[]', 'not a trace of a Tracer'),
        ('x.json', b'\xff\xfe', 'is not a trace'), ('x.json.gz', b'{}', 'is not a trace'), ('y.json.gz', gzip.compress(b'{"learnloop"')[:-4], 'is not a trace'),
        ('x.json', b'{"learnloop": {"format": 9}}', 'format 9'), ('x.json', b'{"learnloop": {"format": 1}}', 'is damaged'), ('x.json', b'{"learnloop": 1}', 'not a trace'),
        ('z.json.gz', gzip.compress(b'{"learnloop": 1}')[:12] + b'\xff'*9, 'is not a trace')):
        (tmp_path/name).write_bytes(content)
        with pytest.raises(ValueError, match=msg): load_trace(tmp_path/name)
    with pytest.raises(FileNotFoundError): load_trace(tmp_path/'none.json')

@pytest.mark.parametrize('ns', [0, 1, 999, 1001, 8250569, 10**12+1, *(7**i for i in range(4, 16))])
def test_numbers_of_the_file_are_exact(ns):
    "However Perfetto makes nanoseconds of them"
    us = json.loads(json.dumps(_us(ns)))
    assert int(us*1000)==round(us*1000)==ns

class FakeProfiler:
    def __init__(self, fails=''): self.calls,self.fails = [],fails
    def start(self): self._call('start')
    def step(self): self._call('step')
    def stop(self): self._call('stop')
    def _call(self, k):
        self.calls.append(k)
        if k==self.fails: raise RuntimeError(f'no {k}')
    def export_chrome_trace(self, path):
        with open(path, 'w') as f: json.dump(dict(baseTimeNanoseconds=10**18, traceEvents=[dict(name='aten::mm', ph='X', ts=5., dur=1., pid=1, tid=1)]), f)

class Once(FakeProfiler):
    "Exports each of its traces once, as torch does"
    def start(self):
        super().start()
        self.there = True
    def export_chrome_trace(self, path):
        if not self.there: raise RuntimeError('Trace is already saved.')
        super().export_chrome_trace(path)
        self.there = False
        self.calls.append('export')

def test_profile_is_in_each_file_that_is_saved(tmp_path):
    def names(name): return {o['name'] for o in json.loads(t.save(tmp_path/name).read_text())['traceEvents']}
    learn,p = mk_learn(),Once()
    learn.fit(1, cbs=(t := Tracer(profiler=p)))
    for o in ('a.json', 'b.json'): assert 'aten::mm' in names(o)
    learn.fit(1, cbs=t)
    assert 'aten::mm' in names('a.json') and p.calls.count('export')==2

@pytest.mark.parametrize('error', [RuntimeError('Trace is already saved.'), AssertionError('not initialized')])
def test_a_profile_that_cant_be_exported_is_a_warning(error, tmp_path):
    learn,p = mk_learn(),FakeProfiler()
    p.export_chrome_trace = lambda path: act(error)
    learn.fit(1, cbs=(t := Tracer(profiler=p)))
    with pytest.warns(UserWarning, match=f"without PyTorch's part, since its profiler has nothing to export: {error}") as seen: path = t.save(tmp_path/'a.json')
    assert load_trace(path).rows==t.rows and seen[0].filename==__file__
    t.save(path)  # once is enough
    with pytest.raises(TypeError, match='start, step, stop and export_chrome_trace'): Tracer(profiler=SimpleNamespace(start=1, step=1, stop=1))

def test_profiler_that_fails_and_removal():
    with pytest.raises(RuntimeError, match='no start'): mk_learn().fit(1, cbs=Tracer(profiler=FakeProfiler('start')))
    p = FakeProfiler()
    mk_learn(Tracer(profiler=p), Callback(after_pred=lambda cb: cb.learn.remove_cb(Tracer))).fit(1)
    assert p.calls==['start', 'stop']
    with pytest.raises(TypeError, match='must be a torch.profiler.profile'): Tracer(profiler=True)
    def write(cb): cb.learn.trace.save('x.json')
    with pytest.raises(RuntimeError, match='save the trace after the fit'): mk_learn(Callback(after_epoch=write)).fit(1, cbs=Tracer(profiler=FakeProfiler()))

# ---- any program

@given(programs())
@settings(max_examples=settings.default.max_examples//3)
def test_any_program_runs_the_same_and_is_recorded(program):
    specs,acts = program
    def run(*cbs):
        heard = []
        learn = mk_learner([*players(specs, acts, heard), *cbs])
        try: learn.fit(2)
        except BaseException as e: return learn,heard,f'{type(e).__name__}: {e}, {getattr(e, "__notes__", None)}'
        return learn,heard,''
    (a,heard,end),(b,heard2,end2) = run(),run(t := Tracer(clock=ticks(), max_rows=None))
    assert heard==heard2 and end==end2 and same(a.model, b.model)
    assert [(e, nm) for e,nm in t.turns() if nm in 'abc']==[o[:2] for o in heard]
    assert t._at.span.parent is None  # all that began has ended
    for o in ('batch', 'step', 'train', 'epoch', 'fit'): assert t.phases().get(o, (0,))[0]==t.events().count(f'before_{o}')==t.events().count(f'cleanup_{o}')
    check_nesting([*t._chrome_events()])
    new = _unpacked(json.loads(json.dumps(t._packed())))
    assert new.rows==t.rows and str(new)==str(t)
    assert all(s.by for s in t._spans() if s.outcome!='done')
    for nm in ('step', 'batch', 'validate', 'after_loss', 'cleanup_step'):
        for place in ({}, dict(epoch=0), dict(epoch=1), dict(epoch=9)): assert new.why(nm, **place)==t.why(nm, **place)
        for i in range(4) if nm!='validate' else (): assert new.why(nm, epoch=0, iter=i)==t.why(nm, epoch=0, iter=i)

def test_it_is_the_first_even_of_those_that_come_first():
    early = Callback('early', before_step=lambda cb: act(CancelStepException), cleanup_step=nothing)
    early.order = -float('inf')
    learn = mk_learn(early)
    for cbs in ([Tracer()], [Tracer(name='one'), Tracer(name='other')]):
        learn.fit(1, cbs=cbs)
        t = cbs[0]
        i = next(i for i,o in enumerate(t.rows) if o.callback=='early')
        assert [(o.event, o.callback, o.outcome) for o in t.rows[i-1:i+5]]==[('before_step','',''), ('before_step','early','CancelStepException'),
            ('after_cancel_step','','cancelled'), ('after_step','','cancelled'), ('cleanup_step','','cancelled'), ('cleanup_step','early','')]

def test_point_8_a_phase_beside_the_batch_is_one_of_each_batch(tmp_path):
    class Augments(Learner, phases=[Phase('augment', inside='train validate')]):
        def one_batch(self, i, b):
            self.with_events('augment', lambda: b)
            super().one_batch(i, b)
    def skip(self):
        if self.training and self.n_done==1: raise self.learn.phases['augment'].cancel
    learn = mk_learn(Callback('skipper', before_augment=skip), n=3, cls=Augments)
    learn.fit(2, cbs=Tracer())
    learn.trace.save(tmp_path/'t.json')
    for t in (learn.trace, load_trace(tmp_path/'t.json')):
        assert [o.iter for o in t.rows if o.event=='before_augment' and o.callback=='']==[0, 1, 2, 0]*2
        assert t.why('augment', epoch=1, iter=0)=='augment ran'
        assert t.why('augment', epoch=1, iter=1)=='Callback(skipper) raised CancelAugmentException in before_augment'

@pytest.mark.parametrize('k,v', [('learnloop', 3), ('ranks', 1), ('ranks', [3]), ('muted', 1), ('inside', [1]), ('inside', 3), ('phases', [1]), ('totals', {'a': 1}), ('names', None), ('rows', 'x')])
def test_files_without_a_trace_are_refused(k, v, tmp_path):
    learn = mk_learn(Tracer())
    learn.fit(1)
    learn.trace.save(tmp_path/'a.json')
    content = json.loads((tmp_path/'a.json').read_text())
    if k not in ('learnloop', 'ranks'): content['learnloop'][k] = v
    else: content[k] = v
    (tmp_path/'a.json').write_text(json.dumps(content))
    with pytest.raises(ValueError, match=r'a\.json (is damaged|is not a trace)'): str(load_trace(tmp_path/'a.json'))
