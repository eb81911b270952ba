"Engines: their hooks and order; an engine that passes everything on changes nothing"
import pytest, torch
from contextlib import contextmanager
from helpers import TRAIN, VALID, mk_learner, quiet, same
from hypothesis import given, settings, strategies as st
from learnloop import Callback, CancelBatchException, CancelStepException
from learnloop.loop.engines import Engine, EngineStack

HOOKS = 'running','start','batches','at_rest','body','take','ended'
PHASES_IN_FIT = 'fit','epoch','train','validate','fetch','batch','turn','backward','step','zero_grad'

def mk_engine(name, said, hooks, around='*', level=20):
    "An engine that overrides `hooks`, notes each call, and passes it on"
    def note(*what): said.append((name, *what))
    class Noting(Engine):
        def __init__(self): self.level,self.around,self.takes = level,around if isinstance(around, str) else ' '.join(around),'pass batch turn'
    @contextmanager
    def running(self, learn, what):
        note('begin', what)
        try: yield
        finally: note('end', what)
    def start(self, learn, inner):
        note('start')
        return inner(learn)
    def batches(self, learn, p, inner):
        note('batches')
        return inner(learn, p)
    def at_rest(self, learn, next, inner):
        note('at_rest', next)
        inner(learn, next)
    def body(self, learn, phase, f):
        note('body', phase)
        res = f()
        note('body is over', phase)
        return res
    def take(self, learn, what, inner):
        note('take', what)
        return inner(learn, what)
    def ended(self, learn, phase, e, inner):
        note('ended', phase.name, type(e).__name__)
        return inner(learn, phase, e)
    for h in hooks: setattr(Noting, h, locals()[h])
    return Noting()

@settings(deadline=None)
@given(engines=st.lists(st.tuples(st.sets(st.sampled_from(HOOKS)), st.lists(st.sampled_from(PHASES_IN_FIT), unique=True), st.integers(0, 40)), max_size=3),
    cancels=st.sampled_from([None, CancelStepException, CancelBatchException]))
def test_engines_that_pass_everything_on_change_nothing(engines, cancels):
    def run(with_engines):
        torch.manual_seed(0)
        events = []
        def cancel(cb):
            if cancels and cb.learn.iter==1: raise cancels
        cbs = [Callback(name='c', before_step=cancel), Callback(name='heard', **{e:(lambda cb, e=e: events.append(e)) for e in ('before_fit', 'between_batches', 'after_batch', 'after_step', 'after_epoch')})]
        learn = mk_learner(cbs, dls=(TRAIN, VALID), defaults=True)
        if with_engines: learn.engines += [mk_engine(i, [], hooks, tuple(around), level) for i,(hooks,around,level) in enumerate(engines)]
        quiet(learn, 2)
        return learn,events,learn.get_preds()[0]
    (a,heard,preds),(b,want,plain) = run(True),run(False)
    assert same(a.model, b.model) and heard==want and torch.equal(preds, plain)

def test_hooks_are_called_in_the_order_that_the_page_tells():
    said,learn = [],mk_learner(dls=(TRAIN[:1], VALID[:1]), defaults=True)
    learn.engines.append(mk_engine('e', said, HOOKS, PHASES_IN_FIT))
    quiet(learn, 1, cbs=[Callback(between_batches=lambda cb: None)])
    got = [o[1:] for o in said if o[1] not in ('body', 'body is over')]
    train = ['at_rest batch', 'at_rest fetch', 'take batch', 'take turn', 'at_rest batch', 'at_rest fetch']
    want = ['begin fit', 'start', 'at_rest fit', 'at_rest epoch', 'batches', 'take pass', *train, 'at_rest validate', 'batches', 'take pass', 'at_rest batch', 'at_rest batch', 'end fit']
    assert [' '.join(o) for o in got]==want
    assert [o[2] for o in said if o[1]=='body']==['fit', 'epoch', 'train', 'fetch', 'batch', 'turn', 'backward', 'step', 'zero_grad', 'fetch', 'validate', 'fetch', 'batch', 'fetch']
    said.clear()
    quiet(learn, 1)
    assert 'at_rest fetch' not in [' '.join(o[1:]) for o in said]  # no handler of `between_batches` can have changed anything

def test_the_lowest_level_is_outermost_and_clean_ups_go_the_other_way():
    said = []
    stack = EngineStack()
    stack.compose([mk_engine(n, said, HOOKS, 'step', n) for n in (30, 0, 20)], ['step'])
    with stack.running(None, 'fit'):
        stack.at_rest(None, 'batch')
        assert stack.bodies['step'](None, 'step', lambda: 5)==5
    firsts = [o[0] for o in said]
    assert firsts==[0, 20, 30, 0, 20, 30, 0, 20, 30, 30, 20, 0, 30, 20, 0]

def test_a_turn_that_an_engine_takes_is_not_run_by_the_loop():
    class Doubles(Engine):
        takes = 'turn'
        def take(self, learn, what, inner):
            learn.calc_loss()
            (2*learn.loss_grad).backward()
            learn.with_events('step', learn._step)
            learn.opt.zero_grad()
            return True
    torch.manual_seed(0)
    a = mk_learner(defaults=True, lr=.02)
    torch.manual_seed(0)
    b = mk_learner(defaults=True, lr=.01)
    b.engines.append(Doubles())
    quiet(a, 1)
    quiet(b, 1)
    assert a.count.opt_steps==b.count.opt_steps>0
    for p,q in zip(a.model.parameters(), b.model.parameters(), strict=True): torch.testing.assert_close(p, q)

def test_the_result_of_ended_decides():
    class Forgives(Engine):
        def ended(self, learn, phase, e, inner): return CancelBatchException() if isinstance(e, ZeroDivisionError) else inner(learn, phase, e)
    def fail(cb):
        if cb.learn.iter==1 and cb.learn.training: raise ZeroDivisionError
    learn = mk_learner(Callback(name='f', after_pred=fail), defaults=True)
    with pytest.raises(ZeroDivisionError): quiet(learn, 1)
    learn.engines.append(Forgives())
    quiet(learn, 1)
    assert learn.outcome['fit']=='done'

def test_an_engine_that_fails_to_open_leaves_the_learner_as_it_was():
    class Closed(Engine):
        @contextmanager
        def running(self, learn, what):
            raise OSError('locked')
            yield
    learn = mk_learner(defaults=True)
    learn.engines.append(Closed())
    with pytest.raises(OSError, match='locked'): quiet(learn, 1)
    assert learn.fit_state.args is None and not learn.open
    learn.engines.pop()
    quiet(learn, 1)
    assert learn.count.epochs==1 and learn.fit_state.args is None

def test_a_phase_that_no_learner_declares_is_an_error_before_the_fit():
    learn = mk_learner()
    learn.engines.append(mk_engine('typo', [], ['body'], 'bacth'))
    with pytest.raises(ValueError, match="unknown phase 'bacth'; did you mean 'batch'"): learn.fit(1)
    assert learn.count.batches==0 and 'Noting' in repr(learn.engines)

def test_mistakes_in_engines_are_named():
    with pytest.raises(ValueError, match="Late.batchs would never be called; did you mean 'batches'"):
        class Late(Engine):
            def batchs(self, learn, p, inner): return inner(learn, p)
    learn = mk_learner()
    learn.engines.append(Engine)
    with pytest.raises(TypeError, match=r'has the class Engine: append Engine\(\)'): learn.fit(1)

def test_an_engine_may_have_other_methods():
    for k in 'restart state stats started batch compile'.split(): type('Own', (Engine,), {k:lambda self: None})
