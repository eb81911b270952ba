"Ctrl-C ends a script with one line that says what was saved, and how to continue"
import re, sys
import pytest
from helpers import as_script, mk_learner
from learnloop import *
from learnloop.checkpoint import interrupt

SCRIPT = """
import os, signal
from learnloop import CheckpointCallback, event, on
from learnloop.app.synth import synth_learner

@on(event.before_step, once=3)
def ctrl_c(cb): os.kill(os.getpid(), signal.SIGINT)

learn = synth_learner()
with learn.no_logging(): {}
"""
ENDS = dict(resume=("learn.fit(2, cbs=ctrl_c, resume='run')", r"saved in run.step-000000003\. .*fit\(…, resume='run'\)"),
    callback=("learn.fit(2, cbs=[ctrl_c, CheckpointCallback('run')])", r"saved in run.step-000000003\. .*fit\(…, resume='run'\)"),
    nothing=('learn.fit(2, cbs=ctrl_c)', r"nothing was saved\. fit\(…, resume='folder'\)"))

@pytest.mark.parametrize('name', ENDS)
def test_ctrl_c_ends_a_script_with_one_line(name, tmp_path):
    code,want = ENDS[name]
    (tmp_path/'train.py').write_text(SCRIPT.format(code))
    res = as_script(tmp_path/'train.py')
    *_,first,last = res.out.splitlines()
    assert first=='Ctrl-C: stopping after this batch; press it again to stop at once'
    assert re.search(f'^KeyboardInterrupt in epoch 0, batch 3; {want}', last), res.out
    assert 'Traceback' not in res.out and 'learn.resume()' not in res.out and res.rc==1

def test_only_the_interrupted_fit_prints_the_line(monkeypatch):
    monkeypatch.setattr(interrupt, '_is_script', lambda: True)
    seen = []
    monkeypatch.setattr(sys, 'excepthook', lambda *args: seen.append(args))
    @on(event.between_batches, once=2)
    def stop(cb): raise KeyboardInterrupt
    learn = mk_learner([stop], defaults=True)
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt) as e, learn.no_logging(): learn.fit(1)
        stop_again = learn.cbs[-1]
        stop_again.calls.clear()
    other = ValueError()
    sys.excepthook(ValueError, other, None)
    assert seen==[(ValueError, other, None)] and 'learnloop: learn.resume() continues the fit' in e.value.__notes__
    sys.excepthook(KeyboardInterrupt, e.value, None)
    assert len(seen)==1
    assert not any(c.cell_contents is e.value for c in sys.excepthook.__closure__)
