"Programs of callbacks, drawn by hypothesis: learner and reference have the same trace, outcomes, ending and weights"
import inspect
from hypothesis import given, note, settings, strategies as st
from helpers import CANCEL_OF, FIT, Reference, Spec, TwoTurns, all_events, compare, mk_learner, same

EVENTS = all_events(FIT)
EVALUATE = all_events(['evaluate', 'validate', 'fetch', 'batch'])
ACTS = [*(CANCEL_OF[x] for x in [*FIT, 'evaluate'] if x in CANCEL_OF), 'CancelSaveException', 'ValueError', 'KeyboardInterrupt', 'mute', 'remove']

def specs(name, events):
    return st.builds(Spec, name=st.just(name), order=st.sampled_from([-20, 0, 0, 5]), run_train=st.sampled_from([True, True, False]),
        run_valid=st.booleans(), events=st.sampled_from([events, events[::2], events[1::2], [o for o in events if o[0]!='a']])
        | st.lists(st.sampled_from(events), unique=True, max_size=12))

@st.composite
def programs(draw, events=EVENTS):
    "Callbacks, and what they do at the n-th call of some of the events that they hear"
    cbs = [draw(specs(o, events)) for o in 'abc'[:draw(st.integers(1, 3))]]
    places = [(o.name, e) for o in cbs for e in o.events]
    if not places: return cbs,{}
    keys = st.tuples(st.sampled_from(places), st.integers(1, 5)).map(lambda o: (*o[0], o[1]))
    return cbs,draw(st.dictionaries(keys, st.sampled_from(ACTS), max_size=6))

@given(programs())
@settings(max_examples=2*settings.default.max_examples)
def test_learner_does_what_the_reference_does(program):
    learn,trace,end = compare(*program)
    note(f'{end}: {trace}')
    assert all(o.run for o in learn.cbs)
    assert (learn.xb, learn.yb, learn.pred, learn.batch, learn.loss_grad)==(None,)*5
    if end!='returns': assert all(o.grad is None for o in learn.model.parameters())

@given(programs())
def test_of_two_turns_too(program):
    learn,trace,end = compare(*program, cls=TwoTurns)
    note(f'{end}: {trace}')
    assert (learn.open_turn, learn.turn_name, learn.xb, learn.loss_grad)==(None,)*4

@given(programs(EVALUATE))
def test_evaluation_does_what_the_reference_does(program): compare(*program, run='evaluate')

@given(programs())
def test_after_any_program_the_learner_fits_as_a_new_one(program):
    learn,_,_ = compare(*program)
    learn.remove_cbs([o for o in learn.cbs if o.name in 'abc'])
    for p in learn.model.parameters(): p.grad = None  # a fit that was done may leave what it accumulated
    fresh = mk_learner()
    fresh.model.load_state_dict(learn.model.state_dict())
    learn.fit(2)
    fresh.fit(2)
    assert same(learn.model, fresh.model)

def test_reference_can_be_read_in_one_sitting():
    code = inspect.getsource(Reference)
    assert len([o for o in code.splitlines() if o.strip()])<=60
