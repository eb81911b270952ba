"A rewind may be raised in any event: one rule gives the events that fire then, and everything is restored"
import pytest, torch
from fastcore.basics import noop
from torch import nn
from torch.nn import functional as F
from learnloop import (
    Callback, CancelBackwardException, CancelBatchException, CancelEpochException, CancelEvaluateException,
    CancelFitException, CancelStepException, CancelTrainException,
    CancelTurnException, CancelValidException, CancelZeroGradException, Learner, Place, SanityCheck, Snapshots, UncaughtCancelError)

X = torch.randn(20, 2, generator=torch.Generator().manual_seed(1))
START,TO = Place(0),Place(0, 'train', 3)  # a snapshot is exactly at each of them

def mk(*cbs):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(2, 4), nn.Dropout(.2), nn.Linear(4, 1))
    learn = Learner(([(x, x.sum(1, True)) for x in X.split(4)], [(X, X.sum(1, True))]), model, F.mse_loss, lr=.02)
    learn.logger = noop
    return learn,[Snapshots(1, keep=99), SanityCheck(1), *cbs]

class Hears(Callback):
    "Calls `heard(learn, event)` in all events"
    def __init__(self, name, order, heard): self.name,self.order,self.heard = name,order,heard
    def handlers(self, event):
        def _f(self, **kwargs): self.heard(self.learn, event)
        return [_f.__get__(self)]

def cancels(e, n, c): return {(i, e, n):c for i in range(2)}
DO = { # Actions by epoch, event and batch: cancels of each phase, evaluations, and a save
    **cancels('before_batch', 0, CancelBatchException), **cancels('after_loss', 1, CancelTurnException), **cancels('before_backward', 2, CancelBackwardException),
    **cancels('before_step', 3, CancelStepException), **cancels('before_zero_grad', 3, CancelZeroGradException), (1, 'after_batch', 4):CancelTrainException,
    (0, 'before_validate', None):CancelValidException, (1, 'after_validate', None):CancelEpochException,
    (0, 'after_batch', 2):lambda learn: learn.validate(), (1, 'after_loss', 2):lambda learn: learn.get_preds(), (0, 'after_epoch', None):lambda learn: learn.validate(),
    (1, 'before_epoch', None):lambda learn: learn.validate(), (1, 'after_batch', 3):lambda learn: learn.get_preds(inner=True),
    (1, 'between_batches', 3):lambda learn: learn.with_events('save', noop), (1, 'after_fetch', 4):lambda learn: learn.rewind(to=Place(1, 'train', 3))}

def program():
    gone = []
    def heard(learn, event):
        if names(learn)==('fit', 'epoch', 'evaluate') and event=='before_evaluate' and learn.epoch==1: raise CancelEvaluateException
        if not learn.inside('epoch') or learn.inside('evaluate') or learn.inside('train') and learn.inside('validate'): return
        n = None if 'epoch' in event or 'valid' in event else learn.n_done if event in ('between_batches', 'after_fetch') else learn.iter
        f = DO.get((learn.epoch, event, n))
        if isinstance(f, type): raise f
        if f and (event!='after_fetch' or not gone):
            gone.extend([1]*(event=='after_fetch'))
            f(learn)
    return Hears('program', 50, heard)

def names(learn): return tuple(p.name for p in learn.open)

def all_events():
    "Return each event, with the open phases, its number in the fit and an earlier place; and the final state"
    seen,n,been = {},[0],[]
    def heard(learn, event):
        if event=='between_batches' and (learn.epoch, learn.n_done)==(TO.epoch, TO.batch): been.append(1)
        inside,others = names(learn),[o for o,e in seen if e==event]
        is_new = inside and inside not in others and (len(others)<3 or not any(o==inside for o,_ in seen))
        if is_new: seen[inside, event] = n[0],TO if been else START
        n[0] += 1
    learn,cbs = mk(program(), Hears('lists', 99, heard))
    learn.fit(2, cbs=cbs)
    return seen,left_by(learn)

def left_by(learn):
    rec = learn.recorder
    return [*learn.model.state_dict().values(), *(v for s in learn.opt.state.values() for v in s.values()), torch.tensor(rec.losses), torch.tensor(rec.lrs),
        torch.tensor([v or 0. for o in rec.values for v in o], dtype=torch.float64), torch.tensor([*vars(learn.count).values()]), torch.get_rng_state()]

EVENTS,PLAIN = all_events()

def rule(learn, inside, event, to):
    "Return the events between the raise and the place: clean-ups of ending phases, then `before_x` of those that begin again"
    if 'evaluate' in inside: running = inside[:inside.index('evaluate')-1]  # it was called in an event of the phase around it, not in its body
    else: running = inside[:-1] if event in learn.phases[inside[-1]].events else inside
    stay = [p for p in ('fit', 'epoch', 'train')[:3 if to.next=='train' else 1] if p in running]
    again = [f'before_{p}' for p in ('epoch', 'train') if p not in stay] if to.next=='train' else []
    return [*(f'cleanup_{p}' for p in reversed(inside[len(stay):])), *again, 'before_load', 'after_load', 'cleanup_load', 'after_rewind']

def test_each_phase_and_event_is_in_the_table():
    learn,_ = mk()
    assert {e for _,e in EVENTS}>={*learn.events} - {'after_create', 'after_exception', 'after_record', 'after_cancel_fit', 'after_cancel_sanity', 'after_cancel_save'}
    assert {p for o,_ in EVENTS for p in o}=={*learn.phases}

@pytest.mark.every(3)
@pytest.mark.parametrize('inside,event', EVENTS, ids=lambda o: '-'.join(o) if isinstance(o, tuple) else o)
def test_a_rewind_in_any_event_fires_the_events_of_the_rule(inside, event):
    (at,to),n,log,places = EVENTS[inside, event],[0],[],[]
    def logs(learn, event):
        if n[0]>at: log.append(event)
    def goes(learn, event):
        n[0] += 1
        if n[0]!=at+1: return
        assert (names(learn), event)==(inside, it)
        learn.rewind(to=to)
    it = event
    learn,cbs = mk(program(), Hears('goes', 99, goes), Hears('logs', -99, logs), Callback('sees', after_rewind=lambda cb: places.append(cb.learn.place) if n[0]>at else None))
    if 'epoch' not in inside:
        with pytest.raises(UncaughtCancelError, match='RewindException was raised'): learn.fit(2, cbs=cbs)
        return
    learn.fit(2, cbs=cbs)
    want = rule(learn, inside, event, to)
    assert log[:len(want)]==want and places[0]==to
    assert all(torch.equal(*o) for o in zip(left_by(learn), PLAIN, strict=True))

# ---- Two exceptions at once: the first is in flight, a clean-up raises the second

class Error(Exception): pass

# (first, second) -> what comes of the fit
IN_FLIGHT = {('error', 'rewind'):'error', ('rewind', 'error'):'error', (CancelFitException, 'rewind'):'cancelled', ('rewind', CancelFitException):'back',
    (CancelEpochException, 'rewind'):'back', ('rewind', CancelEpochException):'back', (CancelBatchException, 'rewind'):'back', ('rewind', CancelBatchException):'back',
    ('rewind', 'rewind'):'back'}

@pytest.mark.parametrize('first,second', IN_FLIGHT)
def test_of_two_exceptions_at_once_one_wins(first, second):
    raised,places = [],[]
    def raises(event, what, to):
        def _f(cb):
            learn = cb.learn
            if event in raised or (learn.epoch, learn.iter)!=(1, 2) or not learn.training: return
            raised.append(event)
            if what=='rewind': learn.rewind(to=to)
            raise Error if what=='error' else what
        return Callback(event, **{event:_f})
    learn,cbs = mk(raises('after_loss', first, TO), raises('cleanup_turn', second, START), Callback('sees', after_rewind=lambda cb: places.append(cb.learn.place)))
    want = IN_FLIGHT[first, second]
    if want=='error':
        with pytest.raises(Error) as e: learn.fit(2, cbs=cbs)
        assert first!='error' or any('RewindException' in o for o in e.value.__notes__)
    else: learn.fit(2, cbs=cbs)
    assert raised==['after_loss', 'cleanup_turn'] and learn.outcome['fit']==dict(error='failed', cancelled='cancelled', back='done')[want]
    assert places==([TO if first=='rewind' else START] if want=='back' else [])
