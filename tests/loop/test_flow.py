"Control flow: events of each phase × ways to leave it, clean-ups, notes, and phases that users add"
import os, traceback
from contextlib import suppress
from copy import deepcopy
from functools import partial
import pytest, torch
from helpers import (CANCEL_OF, FIT, TRAIN, VALID, Reference, Spec, all_events, act, compare, covering, ending, events_of, listener, mk_learner,
    phase_of, players, same)
from learnloop import (Callback, CancelException, CancelFitException, Event, Flow, Learner, Phase, UncaughtCancelError, in_phase)
from learnloop.loop.flow import mid_batch, per_batch

EVALUATE = 'evaluate', 'validate', 'fetch', 'batch'
ERRORS = 'ValueError', 'KeyboardInterrupt'
TWO = [Spec('a'), Spec('b', order=1)]  # the first acts, the second only listens

def ways_out(i, phases, *cancels):
    """Return ways to leave a phase at the `i`-th event: cancels of `phases`, cancels that no phase catches, errors, muting, removal

    Every third one, so that three successive events have all; with `ALL_CASES=1`, each event has all."""
    ways = [None, *(CANCEL_OF[x] for x in phases if x in CANCEL_OF), 'CancelSaveException', *cancels, *ERRORS, 'mute', 'remove']
    return ways if os.environ.get('ALL_CASES') else ways[i%3::3]

def leading_to(e, n=1):
    "Return the actions that let the event `e` fire"
    if e.startswith('after_cancel_'): return {('a', f'before_{phase_of(e)}', n): CANCEL_OF[phase_of(e)]}
    return {('a', 'before_batch', 1): 'TypeError'} if e=='after_exception' else {}

def check_pairs(trace):
    "Assert that each `before_x` has exactly one `cleanup_x`, innermost first, and that `after_exception` fires at most once"
    for name in {o[1] for o in trace}:
        begun = []
        for e in (e for e,nm,_ in trace if nm==name):
            if e.startswith('before_'): begun.append(phase_of(e))
            if e.startswith('cleanup_'): assert begun.pop()==phase_of(e)
        assert begun==[]
    assert sum(o[:2]==('after_exception', 'b') for o in trace)<=1

@pytest.mark.parametrize('i,e', [*enumerate(all_events(FIT))])
def test_cases_1_to_3_matrix_of_fit(i, e):
    for what in ways_out(i, FIT, 'CancelEvaluateException'):
        _,trace,end = compare(TWO, leading_to(e) | {('a', e, 1): what})
        check_pairs(trace)
        assert ('after_exception', 'b', None) in trace or end=='returns', what

# the first batch of validation is the fourth of the epoch, its fetch the fifth
IN_VALIDATION = [(o, 5 if 'fetch' in o else 4) for o in all_events(['fetch', 'batch'])[:-1]]
@pytest.mark.parametrize('e,n', IN_VALIDATION)
def test_cases_5_and_6_matrix_of_validation_in_a_fit(e, n):
    for what in [CANCEL_OF[o] for o in ('fit', 'epoch', 'train', 'validate', 'batch', 'step')] + ['ValueError', 'remove']:
        check_pairs(compare(TWO, leading_to(e, n) | {('a', e, n): what})[1])

@pytest.mark.parametrize('i,e', [*enumerate(all_events(EVALUATE))])
def test_case_4_matrix_of_evaluation(i, e):
    for what in ways_out(i, EVALUATE, 'CancelFitException'): check_pairs(compare(TWO, leading_to(e) | {('a', e, 1): what}, run='evaluate')[1])

@pytest.mark.parametrize('i,x,e', [(i, x, e) for x in ('sanity', 'save', 'load') for i,e in enumerate([*events_of(x), 'body', 'after_exception'])])
def test_matrix_of_the_other_phases(i, x, e):
    for what in ways_out(i, (), 'CancelSanityException', 'CancelEvaluateException'): compare_phase(x, e, what)

def compare_phase(x, e, what):
    "Run the phase `x` with the action `what` at the event `e`, in a flow and in the reference"
    acts,trace = (leading_to(e) if e!='after_exception' else {('a', 'body', 1): 'TypeError'}) | {('a', e, 1): what},[]
    specs = [Spec(o.name, o.order, events=[*o.events, 'body']) for o in TWO]
    flow,ref = Flow().declare('body'),Reference(specs, acts)
    flow.add_cbs(players(specs, acts, trace))
    # an evaluation around it, so that there is an outer phase to cancel
    def run(phase, fire): return ending(partial(phase, 'evaluate', partial(phase, x, partial(fire, 'body'))))
    ends = run(flow.with_events, flow),run(ref.phase, ref.fire)
    assert trace==ref.trace and ends[0]==ends[1]
    assert flow.open==[]
    check_pairs(trace)

def heard(run, **acts):
    "Return the events of a fit of one batch, and its ending; `acts`: event -> action"
    trace = []
    learn = mk_learner([listener('a', all_events(FIT), lambda cb, e: (trace.append(e), act(cb, acts.get(e))))], dls=(TRAIN[:1], None))
    end = ending(lambda: run(learn))
    ours = 'fetch','turn','opt_step'  # that fastai doesn't have
    return [e for e in trace if phase_of(e) not in ours and not e.startswith('cleanup')],end

BEGIN = ['before_fit', 'before_epoch', 'before_train', 'before_batch']
BATCH = ['after_pred', 'after_loss', 'before_backward', 'after_backward', 'before_step', 'after_step', 'before_zero_grad', 'after_zero_grad']
FINISH = ['after_batch', 'after_train', 'after_epoch', 'after_fit']
def cut(first, *last): return BEGIN + BATCH[:BATCH.index(first)+1] + list(last)

# fastai's traces, typed from its documentation and from running it
@pytest.mark.parametrize('e,cancel,want', [
    ('before_fit', None, BEGIN+BATCH+FINISH),
    ('before_backward', 'backward', [*BEGIN, 'after_pred', 'after_loss', 'before_backward', 'after_cancel_backward', *BATCH[3:], *FINISH]),
    ('before_step', 'step', [*cut('before_step'), 'after_cancel_step', *BATCH[5:], *FINISH]),
    ('before_zero_grad', 'zero_grad', [*cut('before_zero_grad'), 'after_cancel_zero_grad', 'after_zero_grad', *FINISH]),
    ('before_step', 'batch', cut('before_step', 'after_cancel_batch', *FINISH)),
    ('after_pred', 'train', cut('after_pred', 'after_cancel_train', *FINISH[1:])),
    ('after_loss', 'epoch', cut('after_loss', 'after_cancel_epoch', *FINISH[2:])),
    ('after_pred', 'fit', cut('after_pred', 'after_cancel_fit', 'after_fit')),
    ('before_fit', 'fit', ['before_fit', 'after_cancel_fit', 'after_fit']),
])
def test_traces_are_those_of_fastai(e, cancel, want):
    assert heard(lambda o: o.fit(1), **{e: cancel and CANCEL_OF[cancel]})==(want, 'returns')

def test_outcomes():
    "`done`, `cancelled` or `failed`, before `after_x` and `cleanup_x`; a phase that didn't run has none"
    seen = []
    def hear(cb, e):
        seen.append((e, dict(cb.learn.outcome)))
        act(cb, {'before_step': 'CancelStepException', 'before_epoch': None}.get(e))
    learn = mk_learner([listener('a', ['after_step', 'cleanup_step', 'after_zero_grad', 'before_batch', 'before_step'], hear)], dls=(TRAIN[:2], None))
    learn.fit(1)
    by_event = dict(seen)
    assert by_event['after_step']['step']==by_event['cleanup_step']['step']=='cancelled'
    assert by_event['after_zero_grad']['zero_grad']=='done'
    assert not {'backward', 'step', 'zero_grad'} & by_event['before_batch'].keys()  # nothing is left of the last batch
    assert learn.outcome['fit']==learn.outcome['epoch']=='done'

# Errors

class OddError(Exception):
    "Formats its message itself, from what no rewritten message would have"
    def __init__(self, a, b): self.a,self.b = a,b
    def __str__(self): return f'{self.a}/{self.b}'

def failing(e, n, exc):
    "A callback `a` that raises `exc` at the n-th call of the event `e`"
    return players([Spec('a', events=[e])], {('a', e, n): exc}, [])[0]

@pytest.mark.parametrize('exc', [ValueError('x', 3), ValueError(), KeyError('k'), OddError(1, 2), KeyboardInterrupt(), SystemExit(3), StopIteration(),
    GeneratorExit(), UnicodeDecodeError('utf-8', b'a', 0, 1, 'why')], ids=lambda o: type(o).__name__+str(len(o.args)))
def test_what_leaves_fit_is_the_original(exc):
    args = exc.args
    learn = mk_learner([failing('after_loss', 2, exc)])
    with pytest.raises(type(exc)) as info: learn.fit(1)
    assert info.value is exc and exc.args==args
    assert any(o.name=='act' for o in traceback.extract_tb(exc.__traceback__))
    note = '\n'.join(exc.__notes__)
    assert all(o in note for o in ('A.after_loss', 'epoch 0', 'batch 1 of training', 'float32 (4, 2)'))
    assert len(exc.__notes__)==1

@pytest.mark.parametrize('e,n,want', [('before_fit', 1, []), ('before_epoch', 2, ['epoch 1']), ('after_train', 1, ['epoch 0']),
    ('before_batch', 4, ['epoch 0', 'batch 0 of validation']), ('cleanup_batch', 2, ['epoch 0', 'batch 1']), ('after_fit', 1, [])])
def test_the_note_of_an_error_has_its_place(e, n, want):
    with pytest.raises(ValueError) as info: mk_learner([failing(e, n, ValueError)]).fit(2)
    [note] = info.value.__notes__
    assert f'A.{e}' in note and all(o in note for o in want)

@pytest.mark.every(3)
@covering(e=[o for o in all_events(FIT) if o not in events_of('validate') and not o.startswith('after_cancel')], what=[*ERRORS, 'CancelBatchException', 'CancelFitException'])
def test_case_18_a_learner_is_as_new_after_an_error_or_a_cancel(e, what):
    kw = dict(opt_func=partial(torch.optim.SGD, momentum=.9), dls=(TRAIN, VALID))
    learn,fresh = mk_learner(**kw),mk_learner(**kw)
    before = learn.cbs
    acts = leading_to(e) | {('a', e, 1): what}
    assert ending(lambda: learn.fit(2, cbs=players(TWO, acts, [])))!='returns' or what not in ERRORS
    assert learn.cbs==before and not hasattr(learn, 'a')
    assert (learn.open, learn.exception, learn.batch, learn.xb, learn.yb, learn.pred, learn.loss_grad)==([], *[None]*6)
    assert all(p.grad is None for p in learn.model.parameters())
    fresh.create_opt()
    fresh.model.load_state_dict(learn.model.state_dict())
    fresh.opt.load_state_dict(deepcopy(learn.opt.state_dict()))  # torch would share the momentum
    learn.fit(2)
    fresh.fit(2)
    assert same(learn.model, fresh.model)

def test_after_exception_sees_the_error_and_the_batch():
    seen = []
    def hear(cb, e): seen.append((cb.learn.exception, cb.xb is not None, [o.name for o in cb.learn.open]))
    exc = ValueError('x')
    with suppress(ValueError): mk_learner([failing('after_loss', 1, exc), listener('b', ['after_exception'], hear)]).fit(1)
    assert seen==[(exc, True, ['fit', 'epoch', 'train', 'batch', 'turn'])]

def test_error_in_after_exception_is_a_note_and_the_others_still_hear():
    heard = []
    def hear(cb, e):
        heard.append(cb.name)
        act(cb, {'a': TypeError('one'), 'b': CancelFitException}.get(cb.name))
    cbs = [listener(o, ['after_exception'], hear) for o in 'abc']
    with pytest.raises(ValueError) as info: mk_learner(cbs, loss_func=raising(ValueError('x'))).fit(1)
    assert heard==['a', 'b', 'c']
    notes = '\n'.join(info.value.__notes__)
    assert all(o in notes for o in ('TypeError: one', 'A.after_exception', 'CancelFitException', 'B.after_exception'))

def raising(exc):
    "A loss function that raises `exc`"
    def loss_func(*args): raise exc
    return loss_func

# Clean-ups

@pytest.mark.parametrize('first', [None, ValueError('first')])
def test_case_10_errors_of_cleanups_never_mask_and_are_all_in_notes(first):
    heard,later = [],[]
    def hear(cb, e):
        heard.append((e, cb.name))
        raise TypeError(f'{e} of {cb.name}')
    cleanups = [f'cleanup_{o}' for o in ('batch', 'train', 'epoch', 'fit')]
    cbs = [listener('b', cleanups, hear), listener('c', cleanups, hear), listener('d', cleanups, lambda cb, e: later.append(e), order=-1)]
    learn = mk_learner([*cbs, failing('after_loss', 1, first)])
    with pytest.raises(type(first or TypeError())) as info: learn.fit(1)
    want = [(e, o) for e in cleanups for o in 'cb']
    assert heard==want and later==cleanups
    if first is None: assert str(info.value)=='cleanup_batch of c'
    else: assert info.value is first
    notes = '\n'.join(info.value.__notes__)
    assert all(f'{o.upper()}.{e}' in notes for e,o in want)
    assert all(f'TypeError: {e} of {o}' in notes for e,o in want[first is None:])

def test_of_two_cancels_in_cleanups_the_outer_wins():
    for first,second in (('fit', 'train'), ('train', 'fit')):
        trace = compare([Spec('a'), Spec('b')], {('b', 'cleanup_batch', 1): CANCEL_OF[first], ('a', 'cleanup_batch', 1): CANCEL_OF[second]})[1]
        assert ('after_cancel_fit', 'a', 'cancelled') in trace and not any('after_cancel_train' in o for o in trace)

@pytest.mark.parametrize('attrs', [dict(run=False), dict(run_train=False, run_valid=False)])
def test_cleanups_are_never_muted(attrs):
    heard = []
    def hear(cb, e):
        heard.append(e)
        if e=='before_batch':
            for k,v in attrs.items(): setattr(cb, k, v)
    mk_learner([listener('a', ['before_batch', 'after_batch', 'cleanup_batch'], hear)]).fit(1)
    assert heard==['before_batch', 'cleanup_batch']

# Cancels

@pytest.mark.parametrize('e,cancel', [('before_fit', 'CancelBatchException'), ('after_epoch', 'CancelTrainException'), ('after_pred', 'CancelStepException'),
    ('cleanup_batch', 'CancelStepException'), ('before_batch', 'CancelSaveException')])
def test_an_uncaught_cancel_names_callback_event_and_open_phases(e, cancel):
    opened = []
    def hear(cb, _):
        opened.extend(o.name for o in cb.learn.open)
        act(cb, cancel)
    with pytest.raises(UncaughtCancelError) as info: mk_learner([listener('a', [e], hear)]).fit(1)
    msg = str(info.value)
    assert all(o in msg for o in (cancel, 'A', e, ' > '.join(opened)))
    assert isinstance(info.value.__cause__, CancelException)

def test_cancel_outside_of_all_phases():
    learn = mk_learner([listener('a', ['after_pred'], lambda cb, e: act(cb, 'CancelFitException'))])
    with pytest.raises(UncaughtCancelError, match='CancelFitException .*by A in after_pred.*open: none'): learn('after_pred')

def test_no_phase_catches_the_base_class_of_cancels():
    with pytest.raises(UncaughtCancelError): mk_learner([failing('after_pred', 1, CancelException)]).fit(1)

def test_case_11_a_nested_fit_is_an_error_and_ends_the_outer_one():
    learn = mk_learner([listener('a', ['after_epoch'], lambda cb, e: cb.learn.fit(1))])
    with pytest.raises(RuntimeError, match='inside a fit'): learn.fit(1)
    assert learn.outcome['fit']=='failed'
    learn.remove_cb(learn.a).fit(1)

# Phases and events that users add

class Rollouts(Learner, phases=[Phase('rollout', inside='epoch'), Phase('gan_step', inside='batch', cancel='CancelGan'), Event('scored', inside='batch')]):
    def _do_epoch(self):
        self.with_events('rollout', lambda: None)
        super()._do_epoch()
    def _do_grad_opt(self):
        super()._do_grad_opt()
        self.with_events('gan_step', lambda: self('scored', score=3))

def test_phases_of_a_class():
    trace = []
    def hear(cb, e): trace.append(e)
    def scored(cb, score): trace.append(score)
    events = [*events_of('rollout'), *events_of('gan_step')]
    learn = mk_learner([listener('a', ['after_cancel_gan_step', *events], hear), Callback(scored=scored)], cls=Rollouts, dls=(TRAIN[:1], None))
    learn.fit(1)
    assert trace==['before_rollout', 'after_rollout', 'cleanup_rollout', 'before_gan_step', 3, 'after_gan_step', 'cleanup_gan_step']
    assert learn.outcome['rollout']==learn.outcome['gan_step']=='done'

def test_their_exceptions_skip_them():
    gan = Rollouts.table[-2].cancel
    assert gan.__name__=='CancelGan' and issubclass(gan, CancelException)
    trace = []
    def hear(cb, e):
        trace.append(e)
        act(cb, gan if e=='before_gan_step' else None)
    mk_learner([listener('a', [*events_of('gan_step'), 'after_cancel_gan_step', 'scored', 'after_batch'], hear)], cls=Rollouts, dls=(TRAIN[:1], None)).fit(1)
    assert trace==['before_gan_step', 'after_cancel_gan_step', 'after_gan_step', 'cleanup_gan_step', 'after_batch']

@pytest.mark.parametrize('attr', ['run_train', 'run_valid'])
def test_filters_hold_in_phases_that_repeat_with_each_batch(attr):
    flow,trace = Flow().declare(Phase('play', inside='batch'), Phase('move', inside='play'), Phase('rest', inside='train'), Phase('nap', inside='epoch'), Event('won', inside='move')),[]
    events = ['before_play', 'before_move', 'won', 'before_rest', 'before_nap']
    flow.add_cb(listener('a', events, lambda cb, e: trace.append(e), **{attr: False}))
    flow.training = attr=='run_train'
    flow(events)
    assert trace==['before_nap']
    flow.training = not flow.training
    flow(events)
    assert trace[1:]==events

def test_event_with_arguments():
    got = []
    flow = Flow().declare('verify_batch').add_cb(Callback(verify_batch=lambda cb, xb, n=1: got.append((xb, n))))
    flow('verify_batch', xb=3)
    flow('verify_batch', xb=4, n=2)
    assert got==[(3, 1), (4, 2)]
    with pytest.raises(TypeError) as info: flow('verify_batch', y=1)
    assert 'verify_batch' in info.value.__notes__[0]

@pytest.mark.parametrize('f,want', [
    (lambda o: o('befor_fit'), "unknown event 'befor_fit'; did you mean 'before_fit'"),
    (lambda o: o(['before_fit', 'lunch']), "unknown event 'lunch'"),
    (lambda o: o.with_events('epoc', print), "unknown phase 'epoc'; did you mean 'epoch'"),
    (lambda o: o.ordered_cbs('after_bacth'), "unknown event 'after_bacth'; did you mean 'after_batch'"),
    (lambda o: o.declare('after_loss'), "'after_loss' is already declared"),
    (lambda o: o.declare(Phase('fit')), 'is already declared'),
    (lambda o: Phase('GanStep'), "'GanStep'.*snake case"),
    (lambda o: Event('verify batch'), "'verify batch'.*identifier"),
])
def test_bad_names(f, want):
    with pytest.raises(ValueError, match=want): f(Flow())

@pytest.mark.parametrize('row,want', [
    (lambda: Phase('x', inside='bacth'), "did you mean 'batch'"), (lambda: Phase('x', like='fitt'), "did you mean 'fit'"),
    (lambda: Phase('x', cancel=ValueError), 'argument 1 must be str'), (lambda: Event('x', inside='nowhere'), "'nowhere', which is not a phase")])
def test_rows_are_checked_before_any_is_added(row, want):
    flow = Flow()
    before = list(flow.events)
    with pytest.raises((ValueError, TypeError), match=want): flow.declare(Phase('fine'), row())
    assert flow.events==before and 'fine' not in flow.phases

# Methods as phases, and phases beside batches

class Critic(Learner, phases=[Phase('critic_step', inside='batch')]):
    @in_phase('critic_step')
    def critic_step(self, a, *args, b=2, phase='x', f='y', **kwargs):
        "Learn"
        return a,args,b,phase,f,kwargs,self.open[-1].name

def test_point_8_a_method_is_run_as_a_phase():
    trace = []
    learn = mk_learner([listener('a', [*events_of('critic_step'), 'after_cancel_critic_step'], lambda cb, e: trace.append(e))], cls=Critic)
    assert learn.critic_step(1, 3, b=4, phase='p', f='g', self_=5)==(1, (3,), 4, 'p', 'g', dict(self_=5), 'critic_step')
    assert trace==['before_critic_step', 'after_critic_step', 'cleanup_critic_step'] and not learn.open
    assert Critic.critic_step.__name__=='critic_step' and Critic.critic_step.__doc__=='Learn'
    cancel = learn.phases['critic_step'].cancel
    def skip(self): raise cancel
    with learn.added_cbs(Callback(before_critic_step=skip)): assert learn.critic_step(1) is None
    assert trace[-3:]==['after_cancel_critic_step', 'after_critic_step', 'cleanup_critic_step']

def test_point_8_also_a_method_of_a_callback_and_one_that_calls_its_base():
    class More(Critic):
        @in_phase('critic_step')
        def critic_step(self, a): return super().critic_step(a)[0]+1
    class Mine(Callback):
        @in_phase('critic_step')
        def work(self, n): return n,self.learn.inside('critic_step')
    learn = mk_learner([Mine()], cls=More)
    assert learn.critic_step(1)==2 and learn.mine.work(3)==(3, True)

def test_point_8_generators_and_coroutines_are_refused():
    def gen(self): yield 1
    async def co(self): pass
    for f in (gen, co):
        with pytest.raises(TypeError, match=f'{f.__name__} would run after the phase'): in_phase('batch')(f)
    with pytest.raises(TypeError, match=r"like @in_phase\('batch'\)"): in_phase(lambda self: None)

def test_point_8_wrong_forms_name_the_right_one():
    learn,ran = mk_learner(),[]
    def uses(): 
        with learn.with_events('batch'): ran.append(1)
    def swapped(): learn.with_events(print, 'batch')
    def decorated():
        class Mine(Learner):
            @Learner.with_events('epoch')
            def f(self): ran.append(1)
    def on_instance():
        @learn.with_events('epoch')
        def f(): ran.append(1)
    for f,want in ((uses, "missing 1 required positional argument: 'f'"), (swapped, 'unknown phase'), (decorated, 'missing 2'), (on_instance, 'missing 1')):
        with pytest.raises((TypeError, ValueError), match=want): f()
    assert not ran and not learn.open
    with pytest.raises(ValueError, match="unknown phase 'bach'; did you mean 'batch'"): learn.with_events('bach', print)

class Augments(Learner, phases=[Phase('augment', inside='train validate'), Phase('blur', inside='augment')]):
    def one_batch(self, i, b): super().one_batch(i, self.augment(b))
    @in_phase('augment')
    def augment(self, b): return self.with_events('blur', lambda: b)

def test_point_8_a_phase_beside_the_batch_recurs_with_it():
    learn = mk_learner(cls=Augments)
    assert [o for o in learn.phases if per_batch(learn, o)]==['batch', 'turn', 'backward', 'step', 'zero_grad', 'augment', 'blur']
    assert per_batch(learn, 'after_blur') and per_batch(learn, 'after_loss') and not per_batch(learn, 'before_fetch')
    with pytest.raises(ValueError, match="unknown phase 'blurr'; did you mean 'blur'"): per_batch(learn, 'blurr')
    learn.declare(Phase('rest', inside='train', per_batch=False), Phase('round', inside='epoch', per_batch=True), Phase('play', inside='epoch'), Phase('any'))
    assert [per_batch(learn, o) for o in ('rest', 'round', 'play', 'any')]==[False, True, True, False]

@pytest.mark.parametrize('event', ['before_augment', 'before_blur', 'after_augment'])
@pytest.mark.parametrize('training', [True, False])
def test_point_8_an_error_in_it_is_of_its_batch(event, training):
    def fail(self):
        if self.training==training and self.n_done==1: raise ValueError('bug')
    seen = []
    def look(self): seen.append((mid_batch(self.learn), self.inside('batch')))
    with pytest.raises(ValueError, match='bug') as e: mk_learner([Callback(**{event: fail}), Callback(after_exception=look)], cls=Augments).fit(1)
    assert e.value.__notes__[0].startswith(f'learnloop: in Callback(fail).{event}; epoch 0, batch 1 of {"training" if training else "validation"}, batch ')
    assert seen==[(True, False)]

@pytest.mark.parametrize('cancel', [o.cancel for o in Flow.table if getattr(o, 'cancel', None)] + [CancelException])
def test_point_9_cancels_take_anything(cancel):
    e = cancel('why', 3, reason='late', data=[1])
    assert e.args==('why', 3) and e.reason=='late' and e.data==[1] and cancel().args==()
