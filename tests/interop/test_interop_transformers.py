"Callbacks of transformers' Trainer, from its documentation. A test imports the package only if it needs it; see tests/interop/real_transformers.py"
import dataclasses, json, math, sys
import learnloop, numpy as np, pytest, torch
from helpers import CANCEL_OF, TRAIN, VALID, act, batches, covering, listener, mk_model, quiet
from learnloop import (AvgMetric, Callback, CancelSaveException, DataLoaders, FetchPredsCallback, GradientAccumulation, GradientClip,
    Learner, SanityCheck, ValidateCallback)
from learnloop.interop import transformers as T
from learnloop.interop.core import as_cb
from learnloop.interop.transformers import ExportableState, TrainerCallback, TrainerControl, Transformers
from torch.nn import functional as F

HOOKS = [k for k in dir(TrainerCallback) if k.startswith('on_') and k!='on_push_begin']
SHORT = dict(on_step_begin='(', on_pre_optimizer_step='p', on_optimizer_step='o', on_substep_end='-', on_step_end=')', on_epoch_begin='E', on_epoch_end='e', on_train_begin='T',
    on_train_end='t', on_prediction_step='v', on_log='l', on_evaluate='m', on_predict='M', on_save='s', on_init_end='i')

class Record(TrainerCallback):
    "Notes every hook; does what `acts` says at (hook, step)"
    def __init__(self, acts=(), trace=None, name=''): self.acts,self.seen,self.trace,self.name = dict(acts),[],trace,name
    def __getattr__(self, k): raise AttributeError(k)
    @property
    def short(self): return ''.join(SHORT[k] for k,_,_ in self.seen)
    def logs(self): return [kwargs['logs'] for k,_,kwargs in self.seen if k=='on_log']
def _hook(k):
    def on(self, args, state, control, **kwargs):
        self.seen.append((k, dict(vars(state)), kwargs))
        if self.trace is not None: self.trace.append((k, self.name))
        what = self.acts.get((k, state.global_step))
        if callable(what) and not isinstance(what, type): return what(control)
        if what is not None: raise what
    return on
for _k in HOOKS: setattr(Record, _k, _hook(_k))

def mk(cbs=(), n=3, bs=4, valid=VALID, **kwargs):
    cbs = [cbs] if isinstance(cbs, (TrainerCallback, Callback)) else list(cbs)
    return Learner(DataLoaders(batches(n, bs), valid), mk_model(), F.mse_loss, torch.optim.SGD, lr=.1, cbs=cbs, **kwargs)
def fit(cbs, n_epoch=2, **kwargs):
    learn = mk(cbs, **kwargs)
    return quiet(learn, n_epoch)
def flag(k, v=True): return lambda control: setattr(control, k, v)
STOP = flag('should_training_stop')

# Hooks and what they are given

def test_every_hook_in_its_place():
    cb = Record()
    fit(cb)
    assert cb.short=='iT' + 'E(po)(po)(po)elvvlm'*2 + 'lt'

def test_arguments():
    learn = fit(cb := Record())
    for k,state,kwargs in cb.seen:
        assert set(kwargs)=={'model', 'processing_class', 'optimizer', 'lr_scheduler', 'train_dataloader', 'eval_dataloader'} | dict(
            on_log={'logs'}, on_evaluate={'metrics'}).get(k, set()), k
        assert kwargs['model'] is learn.model and (kwargs['optimizer'] is learn.opt or k=='on_init_end')
        assert kwargs['train_dataloader'] is (None if k=='on_init_end' else learn.dls.train)
        assert state['max_steps']==(0 if k=='on_init_end' else 6) and state['num_train_epochs']==(0 if k=='on_init_end' else 2)
    assert [s['global_step'] for k,s,_ in cb.seen if k=='on_step_end']==list(range(1, 7))
    assert [s['epoch'] for k,s,_ in cb.seen if k=='on_step_end']==pytest.approx([1/3, 2/3, 1, 4/3, 5/3, 2])
    assert [s['epoch'] for k,s,_ in cb.seen if k=='on_step_begin']==pytest.approx([0, 1/3, 2/3, 1, 4/3, 5/3])
    assert [k['eval_dataloader'] for _,_,k in cb.seen].index(learn.dls.valid)==cb.short.index('v')

# Accumulation: a step is an update

@pytest.mark.parametrize('n_batches,want', [(1, '(po)(po)(po)(po)(po)'), (2, '(-po)(-po)(po)'), (3, '(--po)(-po)'), (5, '(----po)'), (9, '(----po)')])
@pytest.mark.parametrize('length', [True, False])
def test_accumulation(n_batches, want, length):
    cb = Record()
    learn = mk([GradientAccumulation(n_batches=n_batches), cb], n=5)
    if not length:
        learn.dls.train = (o for o in batches(5))
        want = want if n_batches in (1, 5) else '(' + {2:'-po)(-po)(-po)', 3:'--po)(--po)', 9:'-----po)'}[n_batches]  # the last step comes when there is no more batch
    quiet(learn, 1)
    assert cb.short=='iTE' + want + 'elvvlmlt'
    n = [s['global_step'] for k,s,_ in cb.seen if k=='on_step_end']
    assert n==list(range(1, learn.count.opt_steps+1))
    assert cb.seen[-1][1]['epoch']==1. and cb.seen[-1][1]['max_steps']==(learn.count.opt_steps if length else math.inf)

def test_natural_end_cancels_nothing():
    cb = Record()
    learn = mk(cb)
    outs = []
    learn.add_cb(listener('spy', ['cleanup_train', 'cleanup_epoch'], lambda cb, e: outs.append(cb.learn.outcome[e[8:]]), order=99))
    quiet(learn, 2)
    assert outs==['done']*4 and learn.outcome['fit']=='done'

# Flags

@pytest.mark.parametrize('at,n_batches', [(('on_train_begin', 0), 1), (('on_epoch_begin', 0), 1), (('on_step_begin', 1), 2), (('on_pre_optimizer_step', 1), 2), (('on_optimizer_step', 1), 2),
    (('on_step_end', 2), 2), (('on_epoch_end', 3), 3), (('on_log', 3), 3), (('on_prediction_step', 3), 3), (('on_evaluate', 3), 3), (('on_epoch_begin', 3), 4)], ids=str)
def test_stop(at, n_batches):
    learn = fit(cb := Record({at: STOP}), 5)
    assert learn.count.batches==n_batches and learn.outcome['fit']=='cancelled'
    assert len(learn.recorder.values)==(n_batches+2)//3 and learn.recorder.values[-1][1] is not None  # evaluated and recorded
    assert cb.short.endswith('elvvlmlt')

def test_evaluation_in_a_step_changes_no_weights():
    torch.manual_seed(0)
    a = fit(Record({('on_step_end', n): flag('should_evaluate') for n in range(6)}))
    b = fit(Record())
    assert all(map(torch.equal, a.model.parameters(), b.model.parameters()))

def test_no_loader_to_evaluate_on():
    cb = Record()
    fit(cb, valid=None)
    assert cb.short=='iT' + 'E(po)(po)(po)el'*2 + 'lt'
    with pytest.raises(ValueError, match="eval_strategy is 'epoch', but there is no validation loader"): fit(Transformers(Record(), eval_strategy='epoch'), valid=None)
    for at in (('on_step_end', 1), ('on_epoch_end', 3)):
        with pytest.raises(ValueError, match='the learner has no validation loader'): fit(Record({at: flag('should_evaluate')}), valid=None)

def test_a_save_that_is_cancelled_writes_nothing(tmp_path):
    class NoSave(Callback):
        def before_save(self): raise CancelSaveException
    learn = mk([cb := Record({('on_step_end', 2): flag('should_save')}), NoSave], path=tmp_path)
    quiet(learn, 1)
    assert 's' not in cb.short and not (tmp_path/'models').exists()

def away(pred, targ): return (pred-targ).abs().mean()
def test_whether_more_of_the_best_metric_is_better_is_not_guessed():
    for better,pick in (('less', min), ('more', max)):
        metric = AvgMetric(away, better=better)
        quiet(learn := mk(Transformers(cb := Record(), metric_for_best_model='away'), metrics=metric), 3)
        assert cb.seen[-1][1]['best_metric']==pick(v[2] for v in learn.recorder.values)
    with pytest.raises(ValueError, match="it is unknown whether less or more of 'away' is better: pass greater_is_better"):
        quiet(learn := mk(Transformers(Record(), metric_for_best_model='away'), metrics=away), 1)

# Control

def test_a_control_can_be_returned():
    learn = fit(cb := Record({('on_step_end', 2): lambda control: TrainerControl(should_training_stop=True)}))
    assert learn.count.batches==2
    class Plain:
        should_training_stop,should_epoch_stop,should_save,should_evaluate,should_log = True,False,False,False,False
    assert fit(Record({('on_step_end', 2): lambda control: Plain()})).count.batches==2
    with pytest.raises(TypeError, match='on_step_end returned 3, which has no should_training_stop'): fit(Record({('on_step_end', 2): lambda control: 3}))
    assert cb.seen

# Refusals

@pytest.mark.parametrize('what', ['args', 'state', 'control'])
def test_unknown_attributes_are_refused(what):
    errors = []
    class Looks(TrainerCallback):
        def on_train_begin(self, args, state, control, **kwargs):
            o = dict(args=args, state=state, control=control)[what]
            for f in (lambda: o.should_step, lambda: setattr(o, 'should_step', 3)):
                with pytest.raises(AttributeError, match="no attribute 'should_step'") as e: f()
                errors.append(e)
    fit(Looks())
    assert len(errors)==2

def test_options_are_checked():
    with pytest.raises(TypeError, match="no argument 'eval_step'; did you mean 'eval_steps'"): Transformers(Record(), eval_step=3)
    for k,v in (('eval_strategy', 'batch'), ('logging_strategy', 'best'), ('save_strategy', 3)):
        with pytest.raises(ValueError, match=f'{k} is {v!r}: it must be one of'): mk(Transformers(Record(), **{k:v}))
    with pytest.raises(ValueError, match='logging_steps=3, and Record.*has logging_steps=2'):
        mk([Transformers(Record(), logging_steps=2, name='a'), Transformers(Record(), logging_steps=3, name='b')])
    with pytest.raises(ValueError, match="unknown metric_for_best_model 'l1'"): fit(Transformers(Record(), metric_for_best_model='l1'), metrics=F.l1_loss)
    with pytest.raises(ValueError, match="load_best_model_at_end with save_strategy='steps'"): fit(Transformers(Record(), save_strategy='steps', load_best_model_at_end=True))
    assert mk(Transformers(Record(), eval_strategy=T.IntervalStrategy.STEPS))

def test_a_recorder_is_needed():
    learn = Learner(DataLoaders(TRAIN, VALID), mk_model(), F.mse_loss, default_cbs=False, cbs=[learnloop.TrainEvalCallback(), cb := Record()])
    with pytest.raises(ValueError, match='add_cb.Recorder'): learn.fit(1)
    assert cb.short=='i'

# What can be read

class Reads(TrainerCallback):
    "Keeps what hooks are given"
    def on_train_begin(self, args, state, control, **kwargs): self.args,self.state,self.control,self.told = args,state,control,args.to_dict()

def sgd(groups, lr):
    "As there: no decay for the last group"
    return torch.optim.SGD([dict(o, weight_decay=wd) for o,wd in zip(groups, (.1, 0.), strict=True)], lr)

def test_arguments_are_those_of_the_fit():
    cbs = [GradientClip(.5), GradientAccumulation(n_batches=3), learnloop.MixedPrecision('bf16'), cb := Reads()]
    learn = mk(cbs)
    learn.opt_func,learn.splitter = sgd,lambda m: [[p for p in m.parameters() if p.ndim>1], [p for p in m.parameters() if p.ndim<2]]
    quiet(learn, 3, lr=.2)
    want = dict(learning_rate=.2, weight_decay=.1, num_train_epochs=3, max_steps=-1, per_device_train_batch_size=4, gradient_accumulation_steps=3,
        max_grad_norm=.5, bf16=True, fp16=False, use_cpu=True, eval_strategy='epoch', do_eval=True, logging_steps=500, disable_tqdm=False,
        report_to=[], run_name=None, push_to_hub=False, deepspeed=None, local_rank=-1)
    assert {k:cb.told[k] for k in want}==want
    quiet(learn, max_steps=2, n_epoch=None, cbs=[again := Reads()])
    assert again.told['max_steps']==2 and 'num_train_epochs' not in again.told

@pytest.mark.parametrize('k,instead', [('optim', 'hooks are given the `optimizer`'), ('lr_scheduler_type', 'rates are in args.learning_rate'), ('seed', 'calls set_seed'),
    ('set_save', 'Transformers.callback, save_steps=3')])
def test_arguments_without_meaning_are_refused_by_name(k, instead):
    args = fit(cb := Reads()) and cb.args
    for f in (lambda: getattr(args, k), lambda: setattr(args, k, 1)):
        with pytest.raises(AttributeError, match=f'no attribute {k!r}: .*{instead}'): f()
    assert k not in args.to_dict()

@pytest.mark.parametrize('k', ['learning_rate', 'max_steps', 'push_to_hub', 'world_size', 'report_to'])
def test_facts_are_not_to_be_set(k):
    fit(cb := Reads())
    was = getattr(cb.args, k)
    with pytest.raises(AttributeError, match=f'args.{k} can only be read'): setattr(cb.args, k, 3)
    assert getattr(cb.args, k)==was
    cb.args.run_name = 'mine'
    assert cb.args.run_name=='mine'

def test_arguments_as_json(tmp_path):
    fit(Transformers(cb := Reads(), run_name='first', save_strategy='best', output_dir=tmp_path))
    assert json.loads(cb.args.to_json_string())==cb.told and cb.told['run_name']=='first' and type(cb.told['save_strategy']) is str
    flat = cb.args.to_sanitized_dict()
    assert flat['report_to']=='[]' and flat['train_batch_size']==4 and flat['save_strategy']=='best' and {type(o) for o in flat.values()}<={bool, int, float, str}

def test_state_as_json(tmp_path):
    fit([cb := Reads(), Counter(2), Transformers(Counter(3), name='other')])
    cb.state.save_to_json(tmp_path/'state.json')
    told = json.loads((tmp_path/'state.json').read_text())
    assert told['global_step']==6 and [o['step'] for o in told['log_history']]==[3, 3, 6, 6, 6] and told['trial_name'] is None and 'total_flos' not in told
    assert [o['attributes'] for o in told['stateful_callbacks']['Counter']]==[dict(n=212), dict(n=218)]
    assert told['stateful_callbacks']['TrainerControl']['args']==dict.fromkeys(T._flags, False) | dict(should_training_stop=True)
    for k in ('total_flos', 'num_input_tokens_seen', 'load_from_json'):
        with pytest.raises(AttributeError, match=f'no attribute {k!r}: '): getattr(cb.state, k)

@pytest.mark.parametrize('package,name,own,env', [('transformers', 'DVCLiveCallback', dict(_log_model=True), {}), ('dvclive', 'DVCLiveCallback', dict(_log_model=True), {}),
    ('transformers', 'NeptuneCallback', dict(_log_checkpoints='best'), {}), ('transformers', 'MLflowCallback', {}, dict(HF_MLFLOW_LOG_ARTIFACTS='true')), ('ray', 'RayTrainReportCallback', {}, {})])
def test_uploads_of_a_folder_that_is_not_written_are_refused(monkeypatch, package, name, own, env):
    for k,v in env.items(): monkeypatch.setenv(k, v)
    cls = type(name, (TrainerCallback,), own | dict(__module__=f'{package}.integrations'))
    with pytest.raises(TypeError, match=f'{name} .transformers. expects a checkpoint folder'): Transformers(cls())
    assert Transformers(type(name, (TrainerCallback,), own))  # of somebody else's

@pytest.fixture
def real():
    "transformers itself: from its import on, hooks are given instances of its classes"
    return pytest.importorskip('transformers.trainer_callback'),pytest.importorskip('transformers.training_args').TrainingArguments

def test_arguments_state_and_control_are_of_their_classes(real, recwarn, capsys):
    callbacks,args_cls = real
    fit(cb := Reads())
    for o,cls in ((cb.args, args_cls), (cb.state, callbacks.TrainerState), (cb.control, callbacks.TrainerControl)):
        assert isinstance(o, cls)
        for k in [k for k in dir(cls) if k[0]!='_' and k not in vars(o)]:  # nothing is theirs unseen: no default of their package
            owner = next(c for c in type(o).__mro__ if k in vars(c))
            assert not owner.__module__.startswith('transformers.'), (cls, k)
    assert cb.args.eval_strategy is type(cb.args.eval_strategy)('epoch') and type(cb.args.eval_strategy).__module__=='transformers.trainer_utils'
    assert dataclasses.asdict(cb.args).keys()==cb.told.keys() and dataclasses.asdict(cb.state)['global_step']==6
    assert {*dataclasses.asdict(cb.control)}=={*T._flags} and "learning_rate=0.1" in repr(cb.args)
    with pytest.raises(AttributeError, match="'optim': hooks are given the `optimizer`"): print(cb.args.optim)
    with pytest.raises(AttributeError, match="did you mean 'should_training_stop'"): cb.control.should_train_stop = True
    assert 'accelerate' not in sys.modules and not recwarn.list and not capsys.readouterr().err

def test_all_that_their_classes_have_is_there_or_refused(real): assert learnloop.interop.core.coverage('transformers').n_neither==0

# Fits, errors, cancels

@pytest.mark.every(2)
@covering(what=[ValueError, KeyboardInterrupt],
    at=[('on_train_begin', 0), ('on_epoch_begin', 0), ('on_step_begin', 1), ('on_optimizer_step', 1), ('on_step_end', 2), ('on_epoch_end', 3), ('on_log', 3),
        ('on_prediction_step', 3), ('on_evaluate', 3), ('on_train_end', 6)])
def test_errors(at, what):
    learn = mk([Transformers(a := Record(), name='a'), Transformers(b := Record({at: what('mine')}), name='b'), Transformers(c := Record(), name='c')])
    with pytest.raises(what, match='mine') as e: quiet(learn, 2)
    assert f'learnloop: in {at[0]} of Record (transformers)' in e.value.__notes__
    for o in (a, b): assert o.short.count('t')==1 and o.short.endswith('t') and o.short.count('e')==o.short.count('E')-(at[0] in ('on_epoch_begin','on_step_begin','on_optimizer_step','on_step_end'))
    assert c.short.count('t')==(at[0]!='on_train_begin')  # it did not begin
    b.acts = {}
    quiet(learn, 1)
    assert learn.outcome['fit']=='done' and b.short.endswith('TE(po)(po)(po)elvvlmlt')

EVENTS = ['before_fit', 'before_epoch', 'before_train', 'before_fetch', 'after_fetch', 'before_batch', 'after_pred', 'after_loss', 'before_backward', 'after_backward', 'before_step', 'after_step',
    'before_zero_grad', 'after_zero_grad', 'after_batch', 'cleanup_batch', 'after_train', 'before_validate', 'after_validate', 'after_epoch', 'cleanup_epoch', 'after_fit']
@pytest.mark.every(2)
@covering(cancel=['step', 'batch', 'train', 'validate', 'epoch', 'fit'], e=EVENTS, order=[5, 99, -5], n_acc=[1, 2])
def test_each_hook_that_began_is_ended_after_a_cancel(e, cancel, order, n_acc):
    n = [0]
    def hear(cb, _):
        n[0] += 1
        if n[0]==(1 if e.endswith("_fit") else 2): act(cb, CANCEL_OF[cancel])
    cbs = [GradientAccumulation(n_batches=n_acc)]*(n_acc>1) + [cb := Record(), listener('canceller', [e], hear, order=order)]
    learn = mk(cbs)
    try: quiet(learn, 3)
    except learnloop.UncaughtCancelError: assert cb.short.count('T')==cb.short.count('t')
    else:
        s = cb.short[1:]
        assert s.count('T')==s.count('t')<=1 and s.count('E')==s.count('e') and s.count(')')==learn.count.opt_steps, s
        assert e=='after_step' or s.count('o')>=s.count(')'), s  # the cancel took the rest of that event
        assert s.count(')')<=s.count('(') and '((' not in s.replace('-', '') and 'EE' not in s and 'ee' not in s, s
        if 'T' in s: assert cb.seen[-1][1]['global_step']==learn.count.opt_steps and s[-1]=='t', s
    assert not learn.open
    quiet(learn, 1)

# Order

# Evaluations

def test_evaluations_of_others_in_a_fit_are_not_heard_of():
    cbs = [ValidateCallback(every_steps=1), FetchPredsCallback(), SanityCheck(), cb := Record()]
    learn = quiet(mk(cbs), 1)
    assert cb.short=='iTE(po)(po)(po)elvvlmlt' and len(learn.recorder.records)==3

class Counter(TrainerCallback, ExportableState):
    def __init__(self, step=1): self.step,self.n,self.file = step,0,'open'
    def on_step_end(self, args, state, control, **kwargs): self.n += self.step
    def on_evaluate(self, args, state, control, **kwargs): self.n += 100
    def state(self): return dict(args=dict(step=self.step), attributes=dict(n=np.int64(self.n)))

# State

def test_state_round_trip(tmp_path):
    learn = mk(Counter(2), n=2, valid=None)
    quiet(learn, 2)
    sd = learn.transformers_counter.state_dict()
    assert sd['Counter']==dict(args=dict(step=2), attributes=dict(n=8)) and type(sd['Counter']['attributes']['n']) is int
    torch.save(sd, tmp_path/'sd.pt')
    cb = Transformers(foreign := Counter(3))
    cb.load_state_dict(torch.load(tmp_path/'sd.pt', weights_only=True))
    assert (foreign.n, foreign.step, foreign.file)==(8, 3, 'open') and cb.state_dict()['trainer']==sd['trainer']

def test_as_cb():
    assert isinstance(as_cb(Counter), Transformers) and isinstance(mk().add_cb(Counter()).transformers_counter, Transformers)
    c = TrainerControl(should_save=True)
    assert TrainerControl.from_state(c.state()).state()==c.state()
