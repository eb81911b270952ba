"If one of two processes runs out of memory, both repeat the turn in halves, and the weights are those of a run with enough memory"
import pytest, torch
from learnloop import Callback, GradientAccumulation, HealMemory
from runs import differ, mk_learner, weights
from together import LIMIT, together

def fit(room, cbs=(), rank=1):
    class Room(Callback):
        "Raises in one process, above so many items"
        rank_invariant,run_valid = True,False
        def after_pred(self):
            if self.learn.team.rank==rank and len(self.learn.pred)>room: raise torch.OutOfMemoryError('no room')
    learn = mk_learner()
    learn.to_ddp(timeout=LIMIT)
    learn.fit(2, cbs=[Room(), *cbs])
    return weights(learn.model)

def job(accumulates):
    import warnings
    warnings.simplefilter('ignore')
    def cbs(): return [GradientAccumulation(16)] if accumulates else []
    return fit(99, cbs()),fit(2, [HealMemory(), *cbs()]),fit(1, [HealMemory(), *cbs()], rank=0)

@pytest.mark.parametrize('accumulates', [False, True])
def test_both_processes_repeat_the_turn(accumulates):
    (whole,*healed),other = together(job, accumulates)
    for a,b in zip(healed, other[1:], strict=True):
        assert all(map(torch.equal, a, b)) and differ(a, whole)<2e-5
