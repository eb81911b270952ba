"A process that is alone answers for all, and a loop asks it nothing that costs or changes anything"
import warnings
import pytest, torch
from helpers import check, listener, mk_learner, weights
from learnloop import CancelBatchException, CancelStepException
from learnloop.loop.team import SingleProcess

def test_one_process_is_the_first_of_one():
    team,said = SingleProcess(mk_learner()),[]
    team.first(said.append, 1)
    assert said==[1] and team.gather('a')==['a'] and team.from_first(said) is said and team.most(3)==3
    assert (team.processes, team.rank, team.world, team.is_first, team.broken, team.spreads)==(None, 0, 1, True, False, False)
    with pytest.raises(KeyError): team.first({}.__getitem__, 'k')
    assert team.mean(t := torch.tensor(2.), weight=3) is t and team.share(said, training=True) is said

def test_items_of_all_processes_are_those_of_this_one():
    seen = []
    learn = mk_learner()
    learn.fit(1, cbs=listener('sees', ['after_batch'], lambda cb, e: seen.append((cb.learn.n_items, cb.learn.bs))))
    assert seen and all(n==bs>0 for n,bs in seen) and learn.team.world==1

@pytest.mark.parametrize('e,cancel', [('before_batch', CancelBatchException), ('after_loss', CancelBatchException), ('before_step', CancelStepException)])
def test_nobody_is_told_of_a_cancel(e, cancel):
    "As `tell` is for others: a peer that would say something else is not asked while there is no team"
    class Loud(SingleProcess):
        def tell(self, e): raise AssertionError('nobody hears that')
    def hear(cb, e): raise cancel
    learns = [mk_learner(cbs=[listener('cancels', [e], hear)]) for _ in range(2)]
    learns[0].team = Loud(learns[0])
    with warnings.catch_warnings(record=True):
        for o in learns: o.fit(1)
    check(*map(weights, (o.model for o in learns)))

def test_one_of_several_processes_that_nobody_joined_is_warned(monkeypatch):
    monkeypatch.setenv('WORLD_SIZE', '2')
    monkeypatch.setenv('RANK', '0')
    with pytest.warns(UserWarning, match=r'2 processes .* each trains by itself: with learn\.to_ddp'): mk_learner().fit(1)
    monkeypatch.setenv('WORLD_SIZE', '1')
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        mk_learner().fit(1)
