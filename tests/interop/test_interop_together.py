"Callbacks of all seven systems in one fit: names, stops, resuming, and errors"
from collections import Counter
import pytest, torch
from helpers import TRAIN, VALID, covering, mk_model, same, silent
from learnloop import Callback, DataLoaders, Learner
from learnloop.interop import accelerated, as_cb, engine, fastai, fastnlp, keras, lightning, transformers
from learnloop.interop.core import Adapter, adapters
from torch.nn import functional as F

BASES = dict(engine=engine.Callback, fastnlp=fastnlp.Callback, accelerated=accelerated.TrainerCallback, fastai=fastai.Callback, lightning=lightning.Callback,
    transformers=transformers.TrainerCallback, keras=keras.Callback)
HOOKS = {k:[o for o in dict.fromkeys(h.name for h in adapters()[k].hooks) if o not in ('set_model', 'set_params')] for k in BASES}
ALL = pytest.mark.parametrize('system', BASES)

def mk(cbs=None, dls=(TRAIN,VALID), **kwargs):
    return silent(Learner(DataLoaders(*dls), mk_model(), F.mse_loss, torch.optim.SGD, lr=.1, cbs=cbs, **kwargs))

def recording(system, trace, acts=None, name='Noted', hooks=None):
    "Return a callback that appends (system, hook) to `trace`, and each time does `acts[hook]`"
    def _hook(k):
        def _f(self, *args, **kwargs):
            trace.append((system, k))
            what = (acts or {}).get(k)
            if isinstance(what, type): raise what
            return what(self, *args, **kwargs) if what else None
        return _f
    return type(name, (BASES[system],), {k:_hook(k) for k in hooks or HOOKS[system]})()

def adapters(learn): return [o for o in learn.cbs if isinstance(o, Adapter)]

# ---- names
@ALL
def test_one_callback_is_in_a_learner_once(system):
    cb = recording(system, [])
    with pytest.raises(ValueError, match='is already in the learner'): mk().fit(1, cbs=[cb, as_cb(cb, name='other')])
    learn = mk(cb)
    with pytest.raises(ValueError, match='is already in the learner'): learn.fit(1, cbs=cb)
    assert len(adapters(learn))==1

@ALL
def test_predictions_with_a_foreign_callback(system):
    trace = []
    mk().get_preds(cbs=recording(system, trace))
    assert bool(trace)==(system!='engine')

def test_as_cb_refuses_objects_without_hooks_or_of_two_systems():
    class Both(lightning.Callback, keras.Callback): pass
    for f in (as_cb, mk): pytest.raises(TypeError, f, Both()).match('has bases of Lightning and Keras')
    with pytest.raises(TypeError, match="order is 'x': it must be a number"): as_cb(keras.Callback(), order='x')
    for o in BASES:
        for what in (3, None, lambda *args: None):
            with pytest.raises(TypeError, match='no hook'): as_cb(what, system=o)

# ---- stops and errors
STOPS = dict(engine=lambda cb, *args, **kwargs: setattr(cb.engine, 'should_stop_training', True), fastnlp=fastnlp.EarlyStopException,
    accelerated=accelerated.StopTrainingError, fastai=fastai.CancelFitException, lightning=lambda cb, trainer, *args, **kwargs: setattr(trainer, 'should_stop', True),
    transformers=lambda cb, args, state, control, **kwargs: setattr(control, 'should_training_stop', True),
    keras=lambda cb, *args, **kwargs: setattr(cb.model, 'stop_training', True))
WHERE = dict(engine=['on_batch_start', 'on_optimizer_step', 'on_epoch_end'], fastnlp=['on_after_optimizers_step', 'on_train_batch_end', 'on_evaluate_end'],
    accelerated=['on_train_step_end', 'on_eval_epoch_end'], fastai=['after_step', 'before_validate'], lightning=['on_train_batch_end', 'on_validation_end'],
    transformers=['on_step_end', 'on_evaluate'], keras=['on_train_batch_end', 'on_epoch_end'])
ENDS = dict(engine=('on_train_start', 'on_train_end'), fastnlp=('on_train_begin', 'on_train_end'), accelerated=('on_training_run_start', 'on_training_run_end'),
    fastai=('before_fit', 'after_fit'), lightning=('on_fit_start', 'on_fit_end'), transformers=('on_train_begin', 'on_train_end'), keras=('on_train_begin', 'on_train_end'))

@pytest.fixture(scope='module')
def whole():
    "Count the calls of each hook in a fit of two epochs"
    mk().fit(2, cbs=[recording(o, trace := []) if not i else recording(o, trace) for i,o in enumerate(BASES)])
    return Counter(trace)

@pytest.mark.parametrize('system,hook', [(k, o) for k,v in WHERE.items() for o in v])
def test_a_stop_by_one_callback_ends_the_fit_for_all(system, hook, whole):
    trace,acts = [],{hook:STOPS[system]}
    cbs = [recording(o, trace, acts if o==system else None) for o in BASES]
    (learn := mk()).fit(2, cbs=cbs)
    calls = Counter(trace)
    assert sum(calls.values())<sum(whole.values())
    assert all(calls[o,begin]==calls[o,end]==1 for o,(begin,end) in ENDS.items())
    assert adapters(learn)==[] and learn.epoch==0
    for p in learn.model.parameters(): p.grad = None  # a step may have been left without its zero_grad
    trace.clear()
    acts.clear()
    learn.fit(2, cbs=cbs)
    assert Counter(trace)==whole

# ---- coming and going, copies
EVENTS = 'before_fit before_epoch before_fetch before_batch after_batch cleanup_batch after_train before_validate after_epoch'.split()
@covering(order=[-20, 100], event=EVENTS)
def test_all_can_be_removed_and_added_during_a_fit(event, order):
    cbs,done = [recording(o, []) for o in BASES],[]
    def swap(cb):
        if done: return
        done.append(cb.learn.remove_cbs(cbs))
        assert adapters(cb.learn)==[]
        cb.learn.add_cbs(cbs)
    (cb := Callback('swap', **{event:swap})).order = order
    (learn := mk([*cbs, cb])).fit(2)
    assert done and len(adapters(learn))==len(BASES)

def test_callbacks_do_not_change_training():
    a,b = mk(),mk()
    a.fit(2)
    b.fit(2, cbs=[recording(o, []) for o in BASES])
    assert same(a.model, b.model)

# ---- resuming
@pytest.mark.parametrize('epoch,batch', [(0, 1), (1, 2)])
def test_a_resumed_run_ends_as_an_uninterrupted_one(tmp_path, epoch, batch):
    def run(folder, at=None, **kwargs):
        def fail(cb):
            if cb.learn.training and (cb.learn.epoch, cb.learn.iter)==at: raise RuntimeError
        steps,trace = [],[]
        told = recording('transformers', trace, dict(on_step_end=lambda cb, args, state, control, **kwargs: steps.append(state.global_step)))
        cbs = [*(recording(o, trace) for o in BASES if o!='transformers'), told, Callback('fail', before_batch=fail)]
        learn = mk()
        try: learn.fit(3, cbs=cbs, resume=folder, **kwargs)
        except RuntimeError: assert at
        return learn,steps,trace
    whole,steps,trace = run(tmp_path/'whole')
    run(tmp_path/'broken', (epoch, batch))
    learn,new,more = run(tmp_path/'broken', accept=['callbacks'])
    assert same(whole.model, learn.model) and new==steps[-len(new):] and steps[-1]==9
    assert ('fastnlp', 'on_load_model') not in more and ('fastnlp', 'on_save_model') not in trace
    hooks = dict(engine='on_batch_end', fastnlp='on_train_batch_end', accelerated='on_train_step_end', fastai='after_step', lightning='on_train_batch_end', keras='on_train_batch_end')
    assert {Counter(more)[o] for o in hooks.items()}=={len(new)}
