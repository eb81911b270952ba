"A single process answers for all processes, and the loop asks it nothing that costs or changes anything"
import pytest, warnings
from helpers import mk_learner
from learnloop.loop.team import SingleProcess

def test_a_process_that_joined_no_group_is_warned(monkeypatch):
    monkeypatch.setattr(SingleProcess, 'warned', False)  # and put back: other tests have theirs told of once, too
    monkeypatch.setenv('WORLD_SIZE', '2')
    monkeypatch.setenv('RANK', '0')
    with pytest.warns(UserWarning, match=r'2 processes .* each trains its own model: call learn\.to_ddp'): mk_learner().fit(1)
    monkeypatch.setenv('WORLD_SIZE', '1')
    with warnings.catch_warnings(action='error'):
        mk_learner().fit(1)
