"ignite's real handlers: each runs in ignite's trainer and in ours, with equal weights and data, and the results are compared"
import itertools, sys
from functools import partial
from operator import attrgetter
import pytest, torch
from helpers import same
from ignite.engine import Engine, Events, create_supervised_evaluator, create_supervised_trainer
from ignite.handlers import (
    Checkpoint, CosineAnnealingScheduler, DiskSaver, EarlyStopping, EMAHandler, ModelCheckpoint, PiecewiseLinear, TimeLimit, Timer)
from ignite.metrics import Average, MeanAbsoluteError, RunningAverage
from learnloop import CheckpointCallback, DataLoaders, Learner, SanityCheck, ValidateCallback, as_cb
from learnloop.interop import coverage, ignite
from learnloop.interop.core import HookTable, adapters
from learnloop.interop.ignite import Ignite
from torch import nn
from torch.nn import functional as F

ALL = [o for o in Events if o.name!='EXCEPTION_RAISED']

def mk_model():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(2, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Dropout(.2), nn.Linear(4, 1))
def mk_batches(n, seed, bs=4):
    g = torch.Generator().manual_seed(seed)
    xs = [torch.randn(bs, 2, generator=g) for _ in range(n)]
    return [(x, x.sum(1, keepdim=True)) for x in xs]
TRAIN,VALID = mk_batches(4, 1),mk_batches(2, 2)

class Theirs:
    "ignite's own trainer and evaluator, with the validation as the last handler of the epoch"
    def __init__(self, attach, lr=.1, train=TRAIN, valid=VALID, n_epoch=3, metrics=True, own_valid=True, **kwargs):
        self.model = mk_model()
        self.opt = torch.optim.SGD(self.model.parameters(), lr)
        self.trainer = create_supervised_trainer(self.model, self.opt, F.mse_loss)
        self.evaluator = create_supervised_evaluator(self.model, dict(mae=MeanAbsoluteError()) if metrics else {})
        self.kept = attach(self)
        if valid and own_valid: self.trainer.add_event_handler(Events.EPOCH_COMPLETED, lambda: self.evaluator.run(valid))
        torch.manual_seed(42)
        self.trainer.run(train, max_epochs=n_epoch, **kwargs)

class Ours:
    "The same in our loop"
    def __init__(self, attach, lr=.1, train=TRAIN, valid=VALID, n_epoch=3, metrics=True, own_valid=True, cbs=(), make=True, **kwargs):
        self.model = mk_model()
        self.learn = Learner(DataLoaders(train, valid if own_valid else None), self.model, F.mse_loss, partial(torch.optim.SGD, lr=lr), lr=lr)
        self.opt = self.learn.create_opt()
        trainer = None if make else create_supervised_trainer(self.model, self.opt, F.mse_loss)
        self.ig = Ignite(trainer, metrics=dict(mae=MeanAbsoluteError()) if metrics else None)
        self.trainer,self.evaluator = self.ig.trainer,self.ig.evaluator
        self.kept = attach(self)
        torch.manual_seed(42)
        with self.learn.no_logging(): self.learn.fit(n_epoch, cbs=[self.ig, *cbs], **kwargs)

def both(attach, **kwargs):
    theirs,ours = (cls(attach, **kwargs) for cls in (Theirs, Ours))
    assert same(theirs.model, ours.model)
    return theirs,ours

def recording(t, events=ALL):
    "Note each event of both engines, with what handlers read"
    trace = []
    def _note(engine, *args, who, name, **kwargs):
        s = engine.state
        batch = None if s.batch is None else s.batch[0].sum().item()
        output = s.output if s.output is None or isinstance(s.output, float) else tuple(o.sum().item() for o in s.output)
        trace.append((who, name, s.epoch, s.iteration, s.max_epochs, s.epoch_length, batch, output, dict(s.metrics), args, kwargs, t.model.training))
    for who in ('trainer', 'evaluator'):
        for e in events: getattr(t, who).add_event_handler(e, _note, who=who, name=e.name)
    return trace
def names(trace): return [(o[0], o[1]) for o in trace]
def plainly(trace):
    "But for what the model's mode is before its first batch of all, which ignite has not touched then, and outputs of the last epoch"
    return [o[:-1] for o in trace]

@pytest.mark.parametrize('make', [True, False])
def test_every_event_is_fired_in_turn_and_handlers_read_the_same(make):
    theirs,ours = Theirs(recording),Ours(recording, make=make)
    assert names(ours.kept)==names(theirs.kept) and len(ours.kept)==3*(2+4*4 + 4+2*4)+2+2
    assert plainly(ours.kept)==plainly(theirs.kept)
    within = [o for o in ours.kept if o[1].startswith('ITERATION')]
    assert all(o[-1]==(o[0]=='trainer') for o in within) and same(theirs.model, ours.model)

STOPS = [('ITERATION_COMPLETED', 6), ('ITERATION_COMPLETED', 8), ('ITERATION_STARTED', 6), ('GET_BATCH_STARTED', 6), ('GET_BATCH_COMPLETED', 6),
    ('EPOCH_STARTED', 2), ('EPOCH_COMPLETED', 2), ('STARTED', 1)]
def stopping(t, event, n, how, **kwargs):
    trace,calls = recording(t),itertools.count(1)
    @t.trainer.on(Events[event])
    def stop():
        if next(calls)==n: getattr(t.trainer, how)(**kwargs)
    return trace

@pytest.mark.every(2)
@pytest.mark.parametrize(('event', 'n'), [o for o in STOPS if o[0] not in ('STARTED', 'EPOCH_STARTED')])
@pytest.mark.parametrize('silently', [False, True])
def test_terminate_epoch(event, n, silently):
    attach = partial(stopping, event=event, n=n, how='terminate_epoch', **(dict(skip_epoch_completed=True) if silently else {}))
    theirs,ours = Theirs(attach, own_valid=not silently),Ours(attach, own_valid=not silently)  # for theirs there is no validation without the event
    assert plainly(ours.kept)==plainly(theirs.kept)
    assert ('trainer', 'TERMINATE_SINGLE_EPOCH') in names(ours.kept) or event=='EPOCH_COMPLETED'

def test_terminate_epoch_before_there_is_a_batch_is_an_error():
    def attach(t): t.trainer.add_event_handler(Events.EPOCH_STARTED, lambda: t.trainer.terminate_epoch())
    with pytest.raises(RuntimeError, match='before the first batch'): Ours(attach)

@pytest.mark.every(2)
@pytest.mark.parametrize(('how', 'event'), [(how, event) for event in ('ITERATION_COMPLETED', 'EPOCH_STARTED', 'STARTED', 'EPOCH_COMPLETED')
    for how in ('terminate', 'terminate_epoch') if how=='terminate' or 'STARTED' not in event])  # the others are errors in ignite
def test_stopping_the_evaluator_does_not_stop_the_fit(how, event):
    def attach(t):
        trace = recording(t)
        t.evaluator.add_event_handler(Events[event], lambda: getattr(t.evaluator, how)())
        return trace
    theirs,ours = Theirs(attach, metrics=False),Ours(attach, metrics=False)
    assert plainly(ours.kept)==plainly(theirs.kept) and same(theirs.model, ours.model)

def test_handlers_hear_the_validation_of_an_epoch_once():
    def attach(t):
        t.trainer.add_event_handler(Events.EPOCH_COMPLETED(every=2), lambda: t.evaluator.run(VALID))
        runs = []
        t.evaluator.add_event_handler(Events.COMPLETED, lambda: runs.append(t.trainer.state.epoch))
        return runs
    ours = Ours(attach, n_epoch=4)
    assert ours.kept==[1, 2, 3, 4] and len(ours.learn.recorder.values)==4
    ours = Ours(attach, n_epoch=2, cbs=[SanityCheck(1), ValidateCallback(every_steps=1, dl=VALID, name='more')])
    assert ours.kept==[1, 2]

def test_an_evaluator_of_ignites_own_leaves_the_mode_of_training():
    def attach(t):
        evaluator = create_supervised_evaluator(t.model, dict(mae=MeanAbsoluteError()))
        seen = []
        @t.trainer.on(Events.ITERATION_COMPLETED(every=2))
        def evaluate(): seen.append(evaluator.run(VALID).metrics['mae'])
        return seen
    theirs,ours = both(attach)
    assert ours.kept==theirs.kept and len(ours.kept)==6

def test_exceptions_are_announced_once_and_raised():
    for again in (False, True):
        seen = []
        def attach(t, again=again, seen=seen):
            @t.trainer.on(Events.EXCEPTION_RAISED)
            def note(engine, e):
                seen.append((engine.state.iteration, str(e)))
                if again: raise e
            t.evaluator.add_event_handler(Events.EXCEPTION_RAISED, lambda engine, e: seen.append(('evaluator', str(e))))
            t.trainer.add_event_handler(Events.ITERATION_COMPLETED(once=3), lambda: 1/0)
        with pytest.raises(ZeroDivisionError) as e: Ours(attach)
        assert seen==[(3, 'division by zero')] and 'learnloop: in ITERATION_COMPLETED of Ignite' in e.value.__notes__
        assert not any(o.startswith('learnloop: then') for o in e.value.__notes__)
    seen = []
    def attach(t):
        for who in ('trainer', 'evaluator'): getattr(t, who).add_event_handler(Events.EXCEPTION_RAISED, lambda engine, e, who=who: seen.append(who))
        t.evaluator.add_event_handler(Events.COMPLETED, lambda: 1/0)
        t.trainer.add_event_handler(Events.COMPLETED, lambda: seen.append('completed'))
    with pytest.raises(ZeroDivisionError): Ours(attach)
    assert seen==['evaluator', 'trainer']

def test_second_fits_start_over_and_start_epoch_counts():
    seen = []
    learn,ig = Learner(DataLoaders(TRAIN, VALID), mk_model(), F.mse_loss),Ignite()
    def note(engine): seen.append(attrgetter('epoch', 'iteration', 'max_epochs', 'max_iters')(engine.state))
    ig.trainer.add_event_handler(Events.STARTED | Events.COMPLETED, note)
    with learn.no_logging():
        for kwargs in (dict(n_epoch=2), dict(n_epoch=1), dict(n_epoch=3, start_epoch=2), dict(max_steps=6)): learn.fit(**kwargs, cbs=ig)
    assert seen==[(0, 0, 2, None), (2, 8, 2, None), (0, 0, 1, None), (1, 4, 1, None), (2, 8, 3, None), (3, 12, 3, None), (0, 0, None, 6), (2, 6, None, 6)]

# -- their handlers, in both trainers

def test_early_stopping_and_checkpoints(tmp_path):
    def attach(t):
        folder = tmp_path/type(t).__name__
        stop = EarlyStopping(1, lambda e: -e.state.metrics['mae'], t.trainer, threshold=.3)
        t.evaluator.add_event_handler(Events.COMPLETED, stop)
        best = ModelCheckpoint(folder, 'best', n_saved=2, score_function=lambda e: -e.state.metrics['mae'], score_name='mae', require_empty=False,
            global_step_transform=lambda *_: t.trainer.state.epoch)
        t.evaluator.add_event_handler(Events.COMPLETED, best, dict(model=t.model))
        every = Checkpoint(dict(model=t.model, opt=t.opt, trainer=t.trainer), DiskSaver(str(folder), require_empty=False), n_saved=None)
        t.trainer.add_event_handler(Events.EPOCH_COMPLETED, every)
        return folder,stop,best
    theirs,ours = both(attach, n_epoch=8)
    assert ours.trainer.state.epoch==theirs.trainer.state.epoch<8 and ours.kept[1].counter==theirs.kept[1].counter
    a,b = ({o.name:torch.load(o, weights_only=True) for o in t.kept[0].iterdir()} for t in (theirs, ours))
    assert a.keys()==b.keys() and len(a)>3
    for o in (a, b): [c['opt']['param_groups'][0].pop('group', None) for c in o.values() if 'opt' in c]  # the learner's name of the group
    for k,v in a.items(): assert str(sorted(v.items()))==str(sorted(b[k].items())) or 'opt' in v and v['opt']['param_groups'][0]==b[k]['opt']['param_groups'][0]

# -- state

def stateful(t):
    stop = EarlyStopping(50, lambda e: -e.state.metrics['mae'], t.trainer)
    t.evaluator.add_event_handler(Events.COMPLETED, stop)
    sched = CosineAnnealingScheduler(t.opt, 'lr', .1, .01, 10)
    t.trainer.add_event_handler(Events.ITERATION_STARTED, sched)
    ema = EMAHandler(t.model, momentum=.1)
    ema.attach(t.trainer)
    RunningAverage(output_transform=lambda o: o).attach(t.trainer, 'running')
    Average().attach(t.trainer, 'mean')
    t.trainer.state_dict_user_keys.append('mine')
    t.trainer.state.mine = 0
    @t.trainer.on(Events.ITERATION_COMPLETED)
    def count(engine): engine.state.mine += 2
    return stop,sched,ema,recording(t)

@pytest.mark.parametrize('every', [dict(every_steps=3), dict(every_epochs=1)])
def test_a_resumed_fit_equals_an_uninterrupted_one(tmp_path, every):
    whole = Ours(stateful)
    def stateful_and_broken(t):
        res = stateful(t)
        t.trainer.add_event_handler(Events.ITERATION_STARTED(once=8), lambda: 1/0)
        return res
    with pytest.raises(ZeroDivisionError): Ours(stateful_and_broken, cbs=[CheckpointCallback(tmp_path, **every)])
    rest = Ours(stateful, resume=tmp_path, accept=['callbacks'])
    def batches_of(t): return [o for o in plainly(t.kept[3]) if o[1] in ('ITERATION_COMPLETED', 'EPOCH_COMPLETED', 'COMPLETED')]
    n = len(batches_of(rest))
    assert batches_of(rest)==batches_of(whole)[-n:] and n==len(batches_of(whole))-(11 if 'every_steps' in every else 9)
    assert same(rest.model, whole.model) and same(rest.kept[2].ema_model, whole.kept[2].ema_model)
    assert rest.kept[0].state_dict()==whole.kept[0].state_dict() and rest.kept[1].state_dict()==whole.kept[1].state_dict()
    assert rest.trainer.state.metrics==whole.trainer.state.metrics and rest.trainer.state.mine==whole.trainer.state.mine==24

def test_state_loaded_by_ignites_own_checkpoint():
    sd = dict(epoch=2, epoch_length=4, max_epochs=3)
    def attach(t): t.trainer.load_state_dict(sd)
    with pytest.raises(ValueError, match=r'from iteration 8, in epoch 2, but this fit begins with epoch 0: start_epoch=2'): Ours(attach)
    ours = Ours(attach, start_epoch=2)
    assert ours.trainer.state.iteration==12 and ours.trainer.state.epoch==3
    with ours.learn.no_logging(): ours.learn.fit(1, cbs=ours.ig)  # a run that is done begins anew, as in ignite
    assert ours.trainer.state.iteration==4

# -- what can't be

def test_what_is_refused():
    learn = Learner(DataLoaders(TRAIN, VALID), mk_model(), F.mse_loss)
    ig,model = Ignite(),mk_model()
    opt = torch.optim.SGD(model.parameters(), .1)
    for name,match in dict(run='learn.fit', set_data='ReloadLoaders', interrupt='resume=folder').items():
        with pytest.raises(TypeError, match=rf'{name}\(\) of an engine that a learner runs: .*{match}'): getattr(ig.trainer, name)()
    for kwargs in (dict(max_epochs=2), dict(max_iters=3), dict(epoch_length=1)):
        with pytest.raises(ValueError, match='one pass through the loader'): ig.evaluator.run(VALID, **kwargs)
    with pytest.raises(ValueError, match='no learner has this Ignite'): ig.evaluator.run(VALID)
    for o in (EarlyStopping(1, len, ig.trainer), Timer(), TimeLimit(1), MeanAbsoluteError(), PiecewiseLinear(opt, 'lr', [(0, .1), (4, .5)]), EMAHandler(model)):
        with pytest.raises(TypeError, match=r'is not an Engine: attach it'): learn.fit(1, cbs=o)
    with pytest.raises(ValueError, match='is your own.*output_transform'): as_cb(Engine(lambda engine, batch: None))
    with pytest.raises(ValueError, match='made for another model'): learn.fit(1, cbs=create_supervised_trainer(model, opt, F.mse_loss))
    with pytest.raises(ValueError, match='another optimizer'): learn.fit(1, cbs=create_supervised_trainer(learn.model, opt, F.mse_loss))
    ig.trainer.add_event_handler(Events.ITERATION_STARTED(every=2), PiecewiseLinear(opt, 'lr', [(0, .1), (4, .5)]))
    with pytest.raises(ValueError, match='another optimizer'): learn.fit(1, cbs=ig)
    ig = Ignite()
    ig.trainer.add_event_handler(Events.ITERATION_STARTED, PiecewiseLinear(learn.opt, 'lr', [(0, .1), (4, .5)]))
    with pytest.raises(ValueError, match='PiecewiseLinear and .* both set the learning rate'): learn.fit_one_cycle(1, cbs=ig)
    assert learn.count.batches==0

@pytest.mark.parametrize(('kwargs', 'match'), [(dict(gradient_accumulation_steps=2), r'GradientAccumulation\(n_batches=2\)'),
    (dict(prepare_batch=lambda batch, device, non_blocking: batch), 'prepare_batch, which the learner'), (dict(model_fn=lambda model, x: model(2*x)), 'model_fn, which the learner')])
def test_a_step_that_does_more_than_the_learner_is_refused(kwargs, match):
    learn = Learner(DataLoaders(TRAIN, VALID), mk_model(), F.mse_loss)
    trainer = create_supervised_trainer(learn.model, learn.create_opt(), F.mse_loss, **kwargs)
    with pytest.raises(ValueError, match=match): learn.fit(1, cbs=trainer)

def test_data_of_a_trainer_that_was_given_stay_the_learners():
    learn = Learner(DataLoaders(TRAIN, VALID), mk_model(), F.mse_loss)
    for event,act,match in ((Events.ITERATION_COMPLETED, lambda e: e.set_data(VALID), 'ReloadLoaders'), (Events.EPOCH_STARTED, lambda e: e.interrupt(), 'resume=folder')):
        trainer = create_supervised_trainer(learn.model, learn.create_opt(), F.mse_loss)
        trainer.add_event_handler(event, act)
        with learn.no_logging(), pytest.raises(TypeError, match=match): learn.fit(1, cbs=trainer)

def test_it_is_found_and_covers_all():
    learn = Learner(DataLoaders(TRAIN, VALID), mk_model(), F.mse_loss)
    trainer = create_supervised_trainer(learn.model, learn.create_opt(), F.mse_loss)
    cb = as_cb(trainer)
    assert type(cb) is Ignite is adapters()['ignite'] and cb.trainer is trainer and isinstance(Ignite().trainer, Engine)
    c = coverage('ignite')
    assert c.n_neither==0 and c.parts['Engine']['refused']==['interrupt', 'run', 'set_data']
    assert {o.name for o in Events}=={row[0] for row in HookTable(Ignite).rows[1:]}

def test_without_ignite_the_error_says_what_to_install(monkeypatch):
    ignite._ignite.cache_clear()
    ignite._engines.cache_clear()
    monkeypatch.setitem(sys.modules, 'ignite', None)
    with pytest.raises(ImportError, match='pip install pytorch-ignite'): Ignite()
