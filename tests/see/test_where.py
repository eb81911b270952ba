"Messages of failing tests name the step in which two trainings differ"
import pytest, torch
from helpers import batches, mk_learner
from learnloop import event, on
from torch import nn
from where import explained, steps, tells_where, where_steps

DATA = batches(12)

def fit(cbs=()): mk_learner([*cbs], dls=(DATA,)).fit(2)

def at(n, f):
    @on(event.before_step, once=n)
    def change(cb): f(cb.learn)
    return change

def double(learn):
    for p in learn.model.parameters(): p.grad.mul_(2)

def notes(e): return '\n'.join(e.value.__notes__)

def test_a_test_that_passes_runs_nothing():
    def never(): raise RuntimeError
    with tells_where(never, never): pass

@pytest.mark.parametrize('n', (1, 5, 12))
def test_a_gradient_that_was_changed(n):
    with pytest.raises(AssertionError) as e, tells_where(fit, lambda: fit([at(n, double)])): raise AssertionError
    so_far = f'Equal for {n-1} step' if n>1 else 'In step 1 '
    assert so_far in notes(e) and 'the gradients differed' in notes(e) and f'step {n}' in notes(e)

def test_what_cannot_be_compared_says_why():
    def broken(): raise KeyError('x')
    with pytest.raises(AssertionError) as e, tells_where(broken, broken): raise AssertionError
    assert "could not be compared: KeyError: 'x'" in notes(e)

def by_hand(n=6, at=None):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1))
    opt = torch.optim.SGD(model.parameters(), lr=.1)
    for i,(x,y) in enumerate(DATA[:n]):
        ((model(x)-y)**2).mean().backward()
        if i==at: model[1].weight.grad.mul_(1.01)
        opt.step()
        opt.zero_grad()

def test_steps_of_any_trainer():
    seen = []
    for kw in ({}, {}, dict(at=3), dict(n=4)):
        with steps() as o: by_hand(**kw)
        seen.append(o)
    assert where_steps(seen[0], seen[1])=='Equal in all 6 steps of torch optimizers.'
    assert where_steps(seen[0], seen[2]).startswith('Equal for 3 steps; in step 4 gradients of shape [1, 3] have the norms ')
    assert where_steps(seen[0], seen[3])=='Equal for 4 steps, and then only one of the two goes on.'
    assert where_steps(seen[0], seen[2], tol=.1)=='Equal in all 6 steps of torch optimizers.' and 'No torch optimizer' in where_steps([], seen[0])

def test_learnloops_own_steps_are_heard():
    with steps() as a: fit()
    assert len(a)==24 and all(o['gradients'] and o['weights'] for o in a)

def test_an_assertion_keeps_its_message():
    with pytest.raises(AssertionError, match='mine') as e, explained(lambda: 'why'): raise AssertionError('mine')
    assert notes(e)=='why'
