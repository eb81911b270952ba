"Where a fit is, events between two batches, and fits that begin in the middle"
import copy
import pytest, torch
from helpers import TRAIN, VALID, mk_learner, quiet, same, silent
from learnloop import Callback, CheckpointCallback, event, list_checkpoints
from learnloop.loop.evaluate import evaluate_on

N = len(TRAIN)
def told(res, f, *events): return Callback(name='told', **{e:lambda cb, e=e: res.append((e, f(cb.learn))) for e in events})

def test_an_evaluation_leaves_the_place_of_the_training_around_it():
    seen = []
    inner = Callback(name='inner', before_evaluate=lambda cb: seen.append(cb.learn.place.batch), after_batch=lambda cb: seen.append(cb.learn.place.batch))
    quiet(mk_learner([Callback(name='outer', between_batches=lambda cb: cb.learn.n_done==2 and evaluate_on(cb.learn, VALID, inner))], defaults=True), 1)
    assert seen==[2]*(1+len(VALID))

def test_a_pass_is_at_rest_between_two_batches_alone():
    seen = []
    events = 'before_train','between_batches','before_fetch','after_fetch','before_batch','after_loss','after_batch','after_train'
    def rests(learn): return bool((p := learn.fit_state.train_pass) and p.at_rest)
    quiet(mk_learner([told(seen, rests, *events)], dls=(TRAIN, None), defaults=True), 1)
    for e,at_rest in seen[:-3]: assert at_rest==(e in ('between_batches','before_fetch')), e
    assert [o for o in seen[-3:]]==[('before_fetch', True), ('after_fetch', False), ('after_train', False)]

def test_a_checkpoint_that_is_due_comes_before_any_handler(tmp_path):
    seen = []
    cb = Callback(name='mine', between_batches=lambda cb: seen.append([o.step for o in list_checkpoints(tmp_path)][-1:]))
    cb.order = -1000
    quiet(mk_learner([cb], dls=(TRAIN, None), defaults=True), 1, cbs=CheckpointCallback(tmp_path, every_steps=1))
    assert seen==[[], *([i] for i in range(1, N+1))]

def test_without_an_engine_that_saves_fits_the_error_says_so():
    learn = mk_learner(defaults=True)
    learn.engines.remove(learn.keeper)
    quiet(learn, 1)
    with pytest.raises(ValueError, match='need an engine that saves fits'): quiet(learn, 1, resume='x')
    with pytest.raises(ValueError, match='need an engine that saves fits'): quiet(learn, 1, keep_failed=True)

def test_a_copy_of_a_learner_has_no_iterator():
    res = []
    learn = quiet(mk_learner([Callback(name='mine', after_batch=lambda cb: res or res.append(copy.copy(cb.learn.fit_state.train_pass)))], defaults=True), 1)
    assert copy.deepcopy(res[0]).batches is None and learn.fit_state.train_pass.dl is None and 'between_batches' in event

class Decays(Callback):
    "Changes weights between batches, and knows how often"
    n = 0
    def between_batches(self):
        self.n += 1
        with torch.no_grad():
            for p in self.learn.model.parameters(): p.mul_(.9)
    def state_dict(self): return dict(n=self.n)
    def load_state_dict(self, sd): self.n = sd.get('n', 0)

@pytest.mark.parametrize('kw', [{}, dict(keep_failed=True), 'folder'], ids=str)
@pytest.mark.parametrize('at', [1, 3, N+1, N+2])
def test_a_change_between_batches_happens_once_if_the_next_fetch_is_interrupted(kw, at, tmp_path):
    def run(stop=False, **kwargs):
        def before_fetch(cb):
            seen.append(1)
            if stop and cb.learn.training and len([o for o in seen if o])==at: raise KeyboardInterrupt
        seen = []
        torch.manual_seed(0)
        learn = silent(mk_learner([Decays(), Callback(name='stop', before_fetch=before_fetch)], dls=(TRAIN, None), defaults=True))
        try: learn.fit(2, **kwargs)
        except KeyboardInterrupt:
            if 'resume' in kwargs: return run(**kwargs)
            seen.extend([0]*100)
            learn.resume()
        return learn
    whole = run()
    got = run(True, **(dict(resume=tmp_path) if kw=='folder' else kw))
    assert got.decays.n==whole.decays.n and same(got.model, whole.model)

def test_undone_restores_the_state_of_the_fit():
    learn = mk_learner()
    learn.fit(2)
    was = learn.place,{**vars(learn.fit_state)}
    with learn.undone(): learn.fit(1)
    assert (learn.place, vars(learn.fit_state))==was
