"Callbacks that change while a fit goes on: by their list, and when Ctrl-C comes between two of them"
import copy, pytest
from helpers import TRAIN, VALID, mk_learner
from learnloop import *

class Counts(Callback):
    def __init__(self, name): super().__init__(name)
    n,cleaned = 0,0
    def after_batch(self): self.n += 1
    def cleanup_fit(self): self.cleaned += 1

@pytest.mark.parametrize('how', ['append', 'extend', 'insert', 'iadd', 'assign'])
def test_what_comes_into_the_list_of_callbacks_hears_the_rest(how):
    cb = Counts('cb')
    def add(cbs, learn):
        if how=='insert': cbs.insert(0, cb)
        elif how=='iadd': cbs += [cb]
        elif how=='assign': learn.cbs = [*cbs, cb]
        else: getattr(cbs, how)(cb if how=='append' else [cb])
    @on(event.before_epoch, once=2)
    def change(o): add(o.learn.cbs, o.learn)
    learn = mk_learner([change])
    learn.fit(2)
    assert cb.n==len(TRAIN)+len(VALID) and cb.learn is learn and learn.cb is cb

def test_a_change_of_the_list_that_is_refused_changes_nothing():
    learn = mk_learner([Counts('a')])
    before = [*learn.cbs]
    with pytest.raises(ValueError, match='two callbacks'): learn.cbs.append(Counts('a'))
    with pytest.raises(TypeError, match='is no callback'): learn.cbs.append(3)
    assert [*learn.cbs]==before and copy.copy(learn).cbs==before

@pytest.mark.parametrize('at', range(1, 9))
def test_ctrl_c_loses_no_callback_that_was_to_come_back(at, monkeypatch):
    learn = mk_learner([Counts('a'), Counts('b'), Counts('c')])
    before,n,changed = [*learn.cbs],[0],type(learn)._changed
    def interrupted(self, *args, **kwargs):
        n[0] += 1
        if n[0]==at: raise KeyboardInterrupt
        return changed(self, *args, **kwargs)
    with monkeypatch.context() as m:
        m.setattr(type(learn), '_changed', interrupted)
        try:
            with learn.removed_cbs(Counts): pass
        except KeyboardInterrupt: pass
        m.undo()
    learn._changed()
    assert [*learn.cbs]==before and all(getattr(learn, o.name) is o for o in before)
