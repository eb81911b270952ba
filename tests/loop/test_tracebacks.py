"Tracebacks: the frame that raised the error comes last"
import traceback, pytest
from helpers import mk_learner
from learnloop import *

class Buggy(Callback):
    def after_pred(self): self.helper()
    def helper(self): raise ZeroDivisionError('a bug')

RUNS = dict(fit=lambda o: o.fit(1), one_cycle=lambda o: o.fit_one_cycle(1), validate=lambda o: o.validate(), get_preds=lambda o: o.get_preds())

@pytest.mark.parametrize('run', RUNS)
def test_the_users_frame_is_the_last(run):
    learn = mk_learner([Buggy()])
    with pytest.raises(ZeroDivisionError) as e: RUNS[run](learn)
    frames = traceback.extract_tb(e.value.__traceback__)
    assert [o.name for o in frames][-2:]==['after_pred', 'helper'] and '<lambda>' in [o.name for o in frames]

def test_an_error_of_learnloop_itself_shows_where_it_was_raised():
    with pytest.raises(ValueError, match='n_epoch is -1') as e: mk_learner().fit(-1)
    assert 'check_whole' in [o.name for o in traceback.extract_tb(e.value.__traceback__)]
