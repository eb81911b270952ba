"Several fits in one folder, one after another, at the same time, nested or resumed, load only their own files"
import math, threading, warnings
from copy import deepcopy
import pytest
from helpers import Boom, as_script, check, covering, mk_learner, mk_model
from hypothesis import HealthCheck, given, settings, strategies as st
from learnloop import Callback, CheckpointCallback, SaveModelCallback, TrackerCallback, ValueMetric

class InMemory(TrackerCallback):
    "Keeps the weights of the best epoch, and of the last"
    best_weights = last_weights = None
    def act(self, val):
        if self.new_best: self.best_weights = self.weights()
    def weights(self): return deepcopy(dict(self.learn.model.state_dict()))
    def after_epoch(self):
        super().after_epoch()
        self.last_weights = self.weights()

class Fold:
    "A fit whose metric `score` is `values[epoch]`, with the weights that it should end with"
    def __init__(self, path, values, seed=0, better='more', cbs=(), **kwargs):
        score = ValueMetric(lambda: values[self.learn.epoch], 'score', better)
        self.learn,self.n = mk_learner(cbs, defaults=True, model=mk_model(seed), metrics=score, path=path),len(values)
        self.memory,self.save = InMemory('score'),SaveModelCallback('score', **kwargs)
    def fit(self, *cbs, **kwargs):
        with self.learn.no_logging(), warnings.catch_warnings():
            warnings.filterwarnings('ignore', '.*so nothing was saved')
            self.learn.fit(self.n, cbs=[self.memory, self.save, *cbs], **kwargs)
        return self
    def check(self):
        want = self.memory.best_weights or self.memory.last_weights
        check(dict(self.learn.model.state_dict()), want)

VALUES = st.lists(st.integers(-4, 4).map(float) | st.just(math.nan), min_size=1, max_size=4)

@given(folds=st.lists(st.tuples(VALUES, st.sampled_from(['less', 'more']), st.sampled_from([None, 1, 2]), st.booleans()), min_size=2, max_size=4))
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_one_after_another_each_ends_with_its_own_best(folds, tmp_path):
    old = None
    for i,(values,better,keep,again) in enumerate(folds):
        if again and old is not None:  # the same learner and callback, once more
            old.fit().check()
        old = Fold(tmp_path, values, i, better, keep=keep).fit()
        old.check()

def in_thread(f):
    "Run `f` in another thread: the error that it raised, or None"
    res = []
    def _run():
        try: res.append(f() and None)
        except BaseException as e: res.append(e)
    t = threading.Thread(target=_run, daemon=True)
    t.start()
    t.join(120)
    assert not t.is_alive()
    return res[0]

@covering(how=['nested', 'thread'], at=['before_epoch', 'before_batch', 'after_epoch'], apart=['', 'fname', 'path'], keep=[None, 2], every=[False, 1])
def test_of_two_fits_with_the_same_file_the_second_is_refused(how, at, apart, keep, every, tmp_path):
    kwargs = dict(keep=keep, every_epoch=every)
    a = Fold(tmp_path, [2., 3., 1.], 0, **kwargs)
    b = Fold(tmp_path/'b' if apart=='path' else tmp_path, [1., 5., 4.], 1, fname='b' if apart=='fname' else 'model', **kwargs)
    errors = []
    def begin_other(cb):
        if errors: return
        if how=='thread': errors.append(in_thread(b.fit))
        else:
            errors.append(None)
            try: b.fit()
            except RuntimeError as e: errors[0] = e
    a.fit(Callback('begin_other', **{at:begin_other}))
    if apart: assert errors==[None]
    else:
        assert len(errors)==1 and str(tmp_path/'models'/'model') in str(errors[0]) and 'another fit' in str(errors[0]) and 'SaveModelCallback' in str(errors[0])
        assert b.learn.count.batches==0
        b.fit()  # when the first is over, it may
    if not every:
        a.check()
        b.check()

def test_a_second_process_with_the_same_file_is_refused(tmp_path):
    (script := tmp_path/'other.py').write_text(f'''if 1:
        from learnloop import SaveModelCallback, synth_learner
        learn = synth_learner(path={str(tmp_path)!r})
        try: learn.fit(1, cbs=SaveModelCallback())
        except RuntimeError as e: print('refused:', learn.count.batches, e)
        else: print('done')''')
    said = []
    def begin_other(cb):
        if not said: said.append(as_script(script))
    a = Fold(tmp_path, [2., 1.]).fit(Callback('begin_other', before_train=begin_other))
    assert 'refused: 0 SaveModelCallback: another fit' in said[0].out and f'{tmp_path}/models/model.pth' in said[0].out, said[0]
    a.check()

def test_two_callbacks_of_a_fit_need_a_file_each(tmp_path):
    a,other = Fold(tmp_path, [1., 2.]),SaveModelCallback()
    other.name = 'other'
    with pytest.raises(RuntimeError, match='another callback'): a.fit(other)
    assert a.learn.count.batches==0
    other = SaveModelCallback(fname='other')
    other.name = 'other'
    a.fit(other)

# Another fit on another machine has no part in the lock: then the hash tells

def replace(p): p.write_bytes((p.parent/'of_another.pth').read_bytes())
CHANGES = dict(replaced=replace, deleted=lambda p: p.unlink(), cut=lambda p: p.write_bytes(p.read_bytes()[:-1]),
    flipped=lambda p: p.write_bytes(p.read_bytes()[:-1]+b'x'), touched=lambda p: p.touch(), copied=lambda p: p.write_bytes(p.read_bytes()))

def saver(learn, kind):
    "Return a callback that saves in the fit, and loads at its end"
    if kind=='ours': return SaveModelCallback('score')
    def keep(cb):
        if cb.learn.epoch==0: cb.learn.save('model', with_opt=False)
    return Callback('foreign', after_epoch=keep, after_fit=lambda cb: cb.learn.load('model', with_opt=False))

@covering(kind=['ours', 'foreign'], change=list(CHANGES), epoch=[0, 1, 2])
def test_a_file_that_someone_replaced_is_not_loaded(kind, change, epoch, tmp_path):
    a = Fold(tmp_path, [3., 2., 1.])
    mk_learner(model=mk_model(7), path=tmp_path).save('of_another', with_opt=False)
    path,is_own = tmp_path/'models'/'model.pth',change in ('touched', 'copied')
    def meddle(cb):
        if cb.learn.epoch==epoch: CHANGES[change](path)
    spoil = Callback('meddle', after_epoch=meddle)
    spoil.order = 90
    def fit():
        with a.learn.no_logging(): a.learn.fit(3, cbs=[a.memory, saver(a.learn, kind), spoil])
    if is_own: fit()
    else:
        with pytest.raises((RuntimeError, FileNotFoundError), match=f'{path}.*(replaced it|is gone).*its own file'): fit()
    check(dict(a.learn.model.state_dict()), a.memory.best_weights if is_own else a.memory.last_weights)
    a.fit().check()  # another fit writes its own

@covering(stop=[3, 4, 6, 7], keep=[None, 2], other=[False, True], values=[(3., 2., 1.), (1., 2., 3.), (2., 3., 1.)])
def test_a_resumed_run_loads_only_its_own_file(stop, keep, other, values, tmp_path):
    def fit(path, stop=None):
        def boom(cb):
            if cb.learn.training and cb.learn.count.opt_steps==stop: raise Boom
        cbs = CheckpointCallback(path/'ck', every_steps=1),Callback('boom', after_batch=boom)
        return Fold(path, values, keep=keep).fit(*cbs, resume=path/'ck', accept=True)
    with pytest.raises(Boom): fit(tmp_path/'a', stop)
    before = {o.name for o in (tmp_path/'a'/'models').glob('*')} if (tmp_path/'a'/'models').exists() else set()
    if other:
        for nm in before: mk_learner(model=mk_model(9), path=tmp_path/'a').save(nm, with_opt=False)
    want = fit(tmp_path/'b')
    best = want.save.best_save
    try: got = fit(tmp_path/'a')  # the best may be written again: the checkpoint is of before it
    except RuntimeError as e:
        assert other and best['step']<stop and f'models/{best["name"]}.pth is not the file that this fit wrote' in str(e)
    else: check(dict(got.learn.model.state_dict()), dict(want.learn.model.state_dict()))

def test_a_resumed_run_refuses_the_best_of_another(tmp_path):
    def stop(cb):
        if cb.learn.epoch==1: raise Boom
    def fit(cb=None):
        return Fold(tmp_path, [3., 2., 1.]).fit(Callback('stop', before_epoch=cb or (lambda cb: None)), CheckpointCallback(tmp_path/'ck'), resume=tmp_path/'ck', accept=True)
    with pytest.raises(Boom): fit(stop)
    Fold(tmp_path, [1.], 5).fit().check()  # another fit, in the same folder
    with pytest.raises(RuntimeError, match='model.pth is not the file that this fit wrote'): fit()

def test_a_file_that_someone_replaced_is_not_deleted(tmp_path):
    a = Fold(tmp_path, [1., 2., 3., 4.], keep=2)
    mk_learner(model=mk_model(7), path=tmp_path).save('of_another', with_opt=False)
    theirs = []
    def meddle(cb):
        if theirs or not a.save.saves: return
        theirs.append(tmp_path/'models'/f'{a.save.saves[0]["name"]}.pth')
        replace(theirs[0])
    late = Callback('meddle', after_epoch=meddle)
    late.order = 90
    a.fit(late).check()
    assert theirs[0].read_bytes()==(tmp_path/'models'/'of_another.pth').read_bytes() and len(a.save.saves)==2
