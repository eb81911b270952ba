"What a user sees of an error: IPython folds the loop's frames"
import re, traceback
import pytest
from helpers import mk_learner
from learnloop import *

class Buggy(Callback):
    def after_pred(self): self.helper()
    def helper(self): raise ZeroDivisionError('a bug')

def shown(e):
    "The frames of `e` that IPython shows, as text"
    from IPython.core.ultratb import VerboseTB
    return re.sub(r'\x1b\[[0-9;]*m', '', '\n'.join(VerboseTB(theme_name='nocolor').structured_traceback(type(e), e, e.__traceback__)))

LOOP = 'learnloop/loop/'+'flow'  # no line of this file has it
RUNS = dict(fit=lambda o: o.fit(1), one_cycle=lambda o: o.fit_one_cycle(1), validate=lambda o: o.validate(), get_preds=lambda o: o.get_preds())

@pytest.mark.parametrize('run', RUNS)
def test_ipython_shows_the_frames_of_the_user_alone(run, monkeypatch):
    learn = mk_learner([Buggy()])
    for full in (False, True):
        if full: monkeypatch.setenv('LEARNLOOP_FULL_TRACEBACK', '1')
        with pytest.raises(ZeroDivisionError) as e: RUNS[run](learn)
        text = shown(e.value)
        assert (LOOP in text)==full and 'self.helper()' in text and 'RUNS[run](learn)' in text
        plain = traceback.format_exception(e.value)
        assert 'in helper' in plain[-3] and sum(LOOP in o for o in plain)>3, 'plain Python shows all, the user last'

def test_an_error_of_learnloop_itself_shows_where_it_was_raised():
    with pytest.raises(ValueError) as e: mk_learner().fit(-1)
    assert 'n_epoch is -1' in shown(e.value) and 'check_whole' in shown(e.value)
