"Callbacks of transformers' Trainer, written from its documents: only where a test asks for it, it is imported. With it: tests/interop/real_transformers.py"
import dataclasses, json, math, sys
from functools import partial
import learnloop, numpy as np, pytest, torch
from helpers import CANCEL_OF, TRAIN, VALID, act, batches, covering, listener, mk_model
from learnloop import (AvgMetric, Callback, CancelSaveException, DataLoaders, EarlyStoppingCallback, FetchPredsCallback, GradientAccumulation, GradientClip,
    Learner, Recorder, SanityCheck, SaveModelCallback, TorchScheduler, ValidateCallback)
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
    with learn.no_logging(): learn.fit(n_epoch)
    return learn
def quiet(learn, *args, **kwargs):
    with learn.no_logging(): learn.fit(*args, **kwargs)
    return learn
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

def test_processing_class_and_options_hold_for_all():
    a,b = Record(),Record()
    fit([Transformers(a, name='a', processing_class='tok'), Transformers(b, name='b', logging_strategy='steps', logging_steps=2)])
    for o in (a, b): assert o.short.count('l')==3+2+1 and all(k['processing_class']=='tok' for n,_,k in o.seen if n!='on_init_end')

def test_logs():
    learn = quiet(mk([GradientClip(1.), cb := Record()], metrics=F.l1_loss), 1)
    train,ev,end = cb.logs()
    raw = learn.recorder.raw_losses
    assert train==dict(loss=pytest.approx(sum(raw)/3), grad_norm=pytest.approx(learn.gradient_clip.grad_norm.item()), learning_rate=.1, epoch=1.)
    assert list(ev)==['eval_loss', 'eval_l1_loss', 'eval_runtime', 'eval_samples_per_second', 'eval_steps_per_second', 'epoch']
    assert [ev['eval_loss'], ev['eval_l1_loss']]==learn.recorder.values[-1][1:]
    assert list(end)==['train_runtime', 'train_samples_per_second', 'train_steps_per_second', 'train_loss', 'epoch'] and end['train_loss']==pytest.approx(sum(raw)/3)
    metrics = next(k['metrics'] for n,_,k in cb.seen if n=='on_evaluate')
    assert metrics is ev
    history = cb.seen[-1][1]['log_history']
    assert history==[{**o, 'step':3} for o in (train, ev, end)]

def test_metrics_of_training_do_not_change_the_names_of_those_of_validation():
    cbs = [learnloop.TrainEvalCallback(), Recorder(train_metrics=True), cb := Record()]
    quiet(Learner(DataLoaders(TRAIN, VALID), mk_model(), F.mse_loss, metrics=F.l1_loss, default_cbs=False, cbs=cbs), 1)
    assert list(cb.logs()[1])[:2]==['eval_loss', 'eval_l1_loss']

def test_loss_is_the_mean_since_the_last_log_over_steps():
    cb = Record()
    learn = quiet(mk([GradientAccumulation(n_batches=2), Transformers(cb, logging_strategy='steps', logging_steps=2)], n=5), 1)
    r = learn.recorder.raw_losses
    assert [o['loss'] for o in cb.logs() if 'loss' in o]==[pytest.approx((sum(r[:2])/2 + sum(r[2:4])/2)/2)]
    assert cb.logs()[-1]['train_loss']==pytest.approx((sum(r[:2])/2 + sum(r[2:4])/2 + r[4])/3)

def test_nothing_waits_for_the_device_in_a_step(monkeypatch):
    synced = []
    monkeypatch.setattr(torch.Tensor, 'item', lambda self: synced.append(1) or float(self.detach().numpy()))
    cb = Record({('on_step_end', 2): lambda control: synced.append('step')})
    quiet(mk([cb], valid=None), 1)
    assert synced[0]=='step'

def test_lr_scheduler():
    cb = Record()
    quiet(mk([TorchScheduler(partial(torch.optim.lr_scheduler.StepLR, step_size=1, gamma=.5), 'step'), Transformers(cb, logging_strategy='steps', logging_steps=1)]), 1)
    sched = next(k['lr_scheduler'] for n,_,k in cb.seen if n=='on_step_end')
    assert isinstance(sched, torch.optim.lr_scheduler.StepLR)
    assert [o['learning_rate'] for o in cb.logs() if 'loss' in o]==[.1, .05, .025]

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

def test_no_step_no_hook_of_a_step():
    class NoStep(Callback):
        def before_step(self): raise learnloop.CancelStepException
    cb = Record()
    learn = quiet(mk([NoStep, cb]), 2)
    assert cb.short=='iT' + 'E(---evvlm'*2 + 'lt' and learn.count.opt_steps==0
    assert cb.logs()[-1]['train_loss']==0

@pytest.mark.parametrize('acc,n_fit,want', [
    (None, dict(n_epoch=2), (6, 2)), (GradientAccumulation(n_batches=2), dict(n_epoch=2), (4, 2)), (GradientAccumulation(8), dict(n_epoch=2), (math.inf, 2)),
    (None, dict(max_steps=4), (4, 2)), (None, dict(n_epoch=3, steps_per_epoch=2), (6, 3)),
    (GradientAccumulation(n_batches=lambda e: 3), dict(n_epoch=2), (2, 2))], ids=str)
def test_max_steps(acc, n_fit, want):
    learn = quiet(mk([*[acc]*(acc is not None), cb := Record()]), **n_fit)
    begin = next(s for k,s,_ in cb.seen if k=='on_train_begin')
    assert (begin['max_steps'], begin['num_train_epochs'])==want
    assert cb.seen[-1][1]['max_steps'] in (learn.count.opt_steps, math.inf) or isinstance(acc, GradientAccumulation) and acc.n_batches is None
    assert learn.outcome['fit']=='done' and cb.short.count(')')==learn.count.opt_steps

def test_samples_of_a_step_are_known_by_the_second_epoch():
    quiet(mk([GradientAccumulation(8), cb := Record()]), 2)
    assert [s['max_steps'] for k,s,_ in cb.seen if k=='on_epoch_end']==[math.inf, 4]

# Flags

def test_natural_end_cancels_nothing():
    cb = Record()
    learn = mk(cb)
    outs = []
    learn.add_cb(listener('spy', ['cleanup_train', 'cleanup_epoch'], lambda cb, e: outs.append(cb.learn.outcome[e[8:]]), order=99))
    quiet(learn, 2)
    assert outs==['done']*4 and learn.outcome['fit']=='done'

@pytest.mark.parametrize('at,n_batches', [(('on_train_begin', 0), 1), (('on_epoch_begin', 0), 1), (('on_step_begin', 1), 2), (('on_pre_optimizer_step', 1), 2), (('on_optimizer_step', 1), 2),
    (('on_step_end', 2), 2), (('on_epoch_end', 3), 3), (('on_log', 3), 3), (('on_prediction_step', 3), 3), (('on_evaluate', 3), 3), (('on_epoch_begin', 3), 4)], ids=str)
def test_stop(at, n_batches):
    learn = fit(cb := Record({at: STOP}), 5)
    assert learn.count.batches==n_batches and learn.outcome['fit']=='cancelled'
    assert len(learn.recorder.values)==(n_batches+2)//3 and learn.recorder.values[-1][1] is not None  # evaluated and recorded
    assert cb.short.endswith('elvvlmlt')

def test_epoch_stop():
    learn = fit(cb := Record({('on_step_end', 2): flag('should_epoch_stop')}))
    assert cb.short=='iT' + 'E(po)(po)elvvlm' + 'E(po)(po)(po)elvvlm' + 'lt' and learn.outcome['fit']=='done'

def test_others_hear_of_the_batch_that_stopped():
    seen = []
    spy = listener('spy', ['after_batch', 'cleanup_batch'], lambda cb, e: seen.append(e), order=99, run_valid=False)
    fit([Record({('on_step_end', 1): STOP}), spy], 1)
    assert seen==['after_batch', 'cleanup_batch']

def test_evaluate_in_a_step():
    cb,early = Record({('on_step_end', 2): flag('should_evaluate')}),EarlyStoppingCallback(patience=99)
    modes = []
    spy = listener('spy', ['after_loss'], lambda cb, e: modes.append(cb.learn.model.training) if cb.learn.iter==2 else None, run_valid=False)
    learn = quiet(mk([cb, early, spy]), 1)
    assert cb.short=='iTE(po)(po)vvlm(po)elvvlmlt'
    assert [o['step'] for o in learn.recorder.records]==[2] and modes==[True]
    want = [k['metrics']['eval_loss'] for n,_,k in cb.seen if n=='on_evaluate']
    assert learn.recorder.records[0]['values']['valid_loss']==want[0] and learn.recorder.values[0][1]==want[1]
    assert early.best==min(want)

def test_evaluation_in_a_step_changes_no_weights():
    torch.manual_seed(0)
    a = fit(Record({('on_step_end', n): flag('should_evaluate') for n in range(6)}))
    b = fit(Record())
    assert all(map(torch.equal, a.model.parameters(), b.model.parameters()))

def test_evaluation_of_an_epoch_can_be_called_off():
    learn = fit(cb := Record({('on_epoch_end', 3): flag('should_evaluate', False)}))
    assert cb.short=='iT' + 'E(po)(po)(po)el' + 'E(po)(po)(po)elvvlm' + 'lt'
    assert learn.recorder.values[0][1] is None and learn.recorder.values[1][1] is not None

def test_no_loader_to_evaluate_on():
    cb = Record()
    fit(cb, valid=None)
    assert cb.short=='iT' + 'E(po)(po)(po)el'*2 + 'lt'
    with pytest.raises(ValueError, match="eval_strategy is 'epoch', and there is no validation loader"): fit(Transformers(Record(), eval_strategy='epoch'), valid=None)
    for at in (('on_step_end', 1), ('on_epoch_end', 3)):
        with pytest.raises(ValueError, match='there is no validation loader'): fit(Record({at: flag('should_evaluate')}), valid=None)

def test_save(tmp_path):
    cb = Record({('on_step_end', 2): flag('should_save'), ('on_epoch_end', 6): flag('should_save')})
    learn = mk(cb, path=tmp_path)
    quiet(learn, 2)
    assert cb.short=='iT' + 'E(po)(po)s(po)elvvlm' + 'E(po)(po)(po)elvvlms' + 'lt'
    assert sorted(o.name for o in (tmp_path/'models').iterdir())==['checkpoint-2.pth', 'checkpoint-6.pth']
    learn.load('checkpoint-6')
    learn.save('outside')
    assert cb.short.count('s')==2

def test_a_save_that_is_cancelled_is_none(tmp_path):
    class NoSave(Callback):
        def before_save(self): raise CancelSaveException
    learn = mk([cb := Record({('on_step_end', 2): flag('should_save')}), NoSave], path=tmp_path)
    quiet(learn, 1)
    assert 's' not in cb.short and not (tmp_path/'models').exists()

def test_saves_of_others_are_heard_of(tmp_path):
    quiet(mk([SaveModelCallback('train_loss'), cb := Record()], path=tmp_path), 1)
    assert cb.short=='iTE(po)(po)(po)elvvlmslt'

@pytest.mark.parametrize('strategy,want', [('epoch', [3, 6]), ('best', [3]), ('no', []), ('steps', [4, 6])])
def test_save_strategies(tmp_path, strategy, want):
    learn = mk(Transformers(cb := Record(), save_strategy=strategy, save_steps=4, output_dir=tmp_path/'out', greater_is_better=True), path=tmp_path)  # the loss falls
    quiet(learn, 2)
    assert [s['global_step'] for k,s,_ in cb.seen if k=='on_save']==want
    assert sorted(o.name for o in tmp_path.glob('out/*'))==[f'checkpoint-{n}.pth' for n in want]
    assert cb.seen[-1][1]['best_global_step']==(None if strategy=='no' else 3)
    assert cb.seen[-1][1]['best_model_checkpoint']==(str(tmp_path/'out/checkpoint-3.pth') if 3 in want else None)

def test_best_is_loaded_at_the_end(tmp_path):
    kept = {}
    def keep(cb, e): kept[cb.learn.count.opt_steps] = [p.detach().clone() for p in cb.learn.model.parameters()]
    learn = mk([Transformers(cb := Record(), greater_is_better=True, load_best_model_at_end=True), listener('keep', ['after_epoch'], keep)], path=tmp_path)
    quiet(learn, 2)
    assert all(map(torch.equal, learn.model.parameters(), kept[3])) and cb.seen[-1][1]['best_metric']==learn.recorder.values[0][1]

def away(pred, targ): return (pred-targ).abs().mean()
def test_whether_more_of_the_best_metric_is_better_is_not_guessed():
    for better,pick in (('less', min), ('more', max)):
        metric = AvgMetric(away, better=better)
        quiet(learn := mk(Transformers(cb := Record(), metric_for_best_model='away'), metrics=metric), 3)
        assert cb.seen[-1][1]['best_metric']==pick(v[2] for v in learn.recorder.values)
    with pytest.raises(ValueError, match="nothing declares whether less or more of 'away' is better: give greater_is_better"):
        quiet(learn := mk(Transformers(Record(), metric_for_best_model='away'), metrics=away), 1)

@pytest.mark.parametrize('greater', [False, True])
def test_best_metric(greater):
    quiet(learn := mk(Transformers(cb := Record(), metric_for_best_model='l1_loss', greater_is_better=greater), metrics=F.l1_loss), 3)
    vals = [v[2] for v in learn.recorder.values]
    assert cb.seen[-1][1]['best_metric']==(max if greater else min)(vals)
    assert [s['best_metric'] for k,s,_ in cb.seen if k=='on_evaluate'][0] is None  # it is updated afterwards, as there

@pytest.mark.parametrize('kwargs,n_eval', [(dict(eval_strategy='steps', eval_steps=2), 3), (dict(eval_strategy='steps', eval_steps=.5), 2), (dict(eval_strategy='steps', eval_steps=4), 2),
    (dict(eval_strategy='no'), 0), (dict(eval_delay=2), 1), (dict(eval_strategy='steps', eval_steps=2, eval_delay=5), 1), (dict(eval_strategy='steps', logging_steps=3), 2)])
def test_eval_strategies(kwargs, n_eval):
    fit(Transformers(cb := Record(), **kwargs))
    assert cb.short.count('m')==n_eval and cb.short.count('v')==2*n_eval

@pytest.mark.parametrize('kwargs,n_log', [(dict(logging_strategy='no'), 0), (dict(logging_strategy='steps', logging_steps=2), 3), (dict(logging_strategy='steps', logging_steps=1/3), 3),
    (dict(logging_strategy='steps', logging_steps=4, logging_first_step=True), 2), (dict(logging_strategy='steps'), 0)])
def test_logging_strategies(kwargs, n_log):
    fit(Transformers(cb := Record(), **kwargs))
    assert sum('loss' in o for o in cb.logs())==n_log

def test_flags_are_reset():
    seen = []
    class Flags(Record):
        def on_step_begin(self, args, state, control, **kwargs): seen.append([getattr(control, k) for k in T._flags])
    cb = Flags({('on_epoch_end', 3): flag('should_epoch_stop'), ('on_evaluate', 3): flag('should_log')})
    fit(cb)
    assert seen==[[False]*5]*6
    learn = mk(Record({('on_step_end', 1): STOP}))
    for _ in range(2):
        quiet(learn, 2)
        assert learn.transformers_record.trainer.control.should_training_stop
    assert learn.count.batches==2

# Control

def test_a_control_can_be_returned():
    learn = fit(cb := Record({('on_step_end', 2): lambda control: TrainerControl(should_training_stop=True)}))
    assert learn.count.batches==2
    class Plain:
        should_training_stop,should_epoch_stop,should_save,should_evaluate,should_log = True,False,False,False,False
    assert fit(Record({('on_step_end', 2): lambda control: Plain()})).count.batches==2
    with pytest.raises(TypeError, match='on_step_end returned 3, which has no should_training_stop'): fit(Record({('on_step_end', 2): lambda control: 3}))
    assert cb.seen

def test_later_callbacks_see_the_flags_of_earlier_ones():
    seen = []
    class Sees(TrainerCallback):
        def on_step_end(self, args, state, control, **kwargs): seen.append((state.global_step, control.should_training_stop))
    fit([Record({('on_step_end', 2): lambda c: TrainerControl(should_training_stop=True)}), Sees()])
    assert seen==[(1, False), (2, True)]

# Refusals

def test_a_hook_without_counterpart_is_refused():
    class Pushes(TrainerCallback):
        def on_push_begin(self, args, state, control, **kwargs): pass
    class Slip(TrainerCallback):
        def on_step_ends(self, args, state, control, **kwargs): pass
    with pytest.raises(TypeError, match='on_push_begin has no counterpart in learnloop: nothing is pushed to a hub'): mk(Pushes())
    with pytest.raises(TypeError, match="on_step_ends is none of the hooks of transformers; did you mean 'on_step_end'"): mk(Slip())
    assert {h.name for h in Transformers.hooks}=={*HOOKS}

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

def test_what_nobody_knows_is_neither_told_nor_made_up():
    args = mk(cb := Reads()).transformers_reads.trainer.args
    for k in ('learning_rate', 'weight_decay', 'num_train_epochs', 'adam_beta1', 'dataloader_num_workers'):
        with pytest.raises(AttributeError, match=f'args.{k}: neither the learner nor a callback of its knows it'): getattr(args, k)
        assert k not in args.to_dict()
    learn = mk([GradientClip(1., algorithm='value'), GradientAccumulation(8), cb], n=3, bs=4)
    learn.dls.train = (o for o in batches(3))
    quiet(learn, 1)
    assert not {'max_grad_norm', 'gradient_accumulation_steps', 'per_device_train_batch_size', 'adam_beta1'} & {*cb.told} and cb.told['learning_rate']==.1

@pytest.mark.parametrize('k,instead', [('optim', 'hooks are given the `optimizer`'), ('lr_scheduler_type', 'rates are in args.learning_rate'), ('seed', 'calls set_seed'),
    ('set_save', 'Transformers.callback, save_steps=3')])
def test_what_cannot_be_true_is_refused_by_name(k, instead):
    args = fit(cb := Reads()) and cb.args
    for f in (lambda: getattr(args, k), lambda: setattr(args, k, 1)):
        with pytest.raises(AttributeError, match=f'no attribute {k!r}: .*{instead}'): f()
    assert k not in args.to_dict()

@pytest.mark.parametrize('k', ['learning_rate', 'max_steps', 'push_to_hub', 'world_size', 'report_to'])
def test_facts_are_not_to_be_set(k):
    fit(cb := Reads())
    was = getattr(cb.args, k)
    with pytest.raises(AttributeError, match=f'args.{k} is what the fit says'): setattr(cb.args, k, 3)
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
    with pytest.raises(TypeError, match=f'{name} .transformers. would look for a folder'): Transformers(cls())
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

def test_two_fits_count_anew():
    learn = mk(cb := Record())
    for _ in range(2):
        cb.seen = []
        quiet(learn, 1)
        assert cb.short.endswith('TE(po)(po)(po)elvvlmlt') and cb.seen[-1][1]['global_step']==3 and len(cb.seen[-1][1]['log_history'])==3

def test_a_callback_for_one_fit():
    learn = mk()
    for _ in range(2): quiet(learn, 1, cbs=[cb := Record(), Transformers(Record(), name='b')])
    assert cb.short=='iTE(po)(po)(po)elvvlmlt' and not [o for o in learn.cbs if isinstance(o, Transformers)]

def test_point_30_callbacks_share_new_attributes_of_the_state():
    seen = []
    class Sets(TrainerCallback):
        def on_train_begin(self, args, state, control, **kwargs): state.phase = 'warmup'
    class Reads(TrainerCallback):
        def on_epoch_end(self, args, state, control, **kwargs): seen.append(state.phase)
    fit([Reads(), Sets()])
    assert seen==['warmup']*2

@covering(what=[ValueError, KeyboardInterrupt],
    at=[('on_train_begin', 0), ('on_epoch_begin', 0), ('on_step_begin', 1), ('on_optimizer_step', 1), ('on_step_end', 2), ('on_epoch_end', 3), ('on_log', 3),
        ('on_prediction_step', 3), ('on_evaluate', 3), ('on_train_end', 6)])
def test_errors(at, what):
    learn = mk([Transformers(a := Record(), name='a'), Transformers(b := Record({at: what('mine')}), name='b'), Transformers(c := Record(), name='c')])
    with pytest.raises(what, match='mine') as e: quiet(learn, 2)
    assert f'learnloop: in {at[0]} of Record (transformers)' in e.value.__notes__
    for o in (a, b): assert o.short.count('t')==1 and o.short.endswith('t') and o.short.count('e')==o.short.count('E')-(at[0] in ('on_epoch_begin','on_step_begin','on_optimizer_step','on_step_end'))
    assert c.short.count('t')==(at[0]!='on_train_begin')  # it was not begun
    b.acts = {}
    quiet(learn, 1)
    assert learn.outcome['fit']=='done' and b.short.endswith('TE(po)(po)(po)elvvlmlt')

EVENTS = ['before_fit', 'before_epoch', 'before_train', 'before_fetch', 'after_fetch', 'before_batch', 'after_pred', 'after_loss', 'before_backward', 'after_backward', 'before_step', 'after_step',
    'before_zero_grad', 'after_zero_grad', 'after_batch', 'cleanup_batch', 'after_train', 'before_validate', 'after_validate', 'after_epoch', 'cleanup_epoch', 'after_fit']
@covering(cancel=['step', 'batch', 'train', 'validate', 'epoch', 'fit'], e=EVENTS, order=[5, 99, -5], n_acc=[1, 2])
def test_what_is_begun_is_ended_whatever_is_cancelled(e, cancel, order, n_acc):
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

def test_removal_in_the_middle_ends_what_it_began():
    class Leaves(Callback):
        order = 99
        def after_batch(self):
            if self.train_iter==2: self.learn.remove_cb(Record)
    learn = mk([cb := Record(), Leaves])
    quiet(learn, 2)
    assert cb.short=='iTE(po)(po)t' and learn.count.batches==6

def test_one_that_comes_in_the_middle():
    cb = Record()
    class Adds(Callback):
        def after_batch(self):
            if self.train_iter==2 and self.training: self.learn.add_cb(cb)
    learn = quiet(mk([Adds]), 2)
    assert cb.short.startswith('i') and learn.outcome['fit']=='done'
    learn.remove_cb(Adds)
    quiet(learn, 1)
    assert cb.short.endswith('TE(po)(po)(po)elvvlmlt')

# Order

def test_order_among_themselves_and_among_ours():
    trace = []
    ours = [listener(f'o{o+2}', ['before_batch'], lambda cb, e: trace.append((e, cb.name)), order=o, run_valid=False) for o in (-2, 10, 70)]
    cbs = [Transformers(Record(trace=trace, name=nm), name=nm, order=order) for nm,order in (('a', None), ('b', None), ('c', 3))]
    quiet(mk([*cbs, *ours], n=1, valid=None), 1)
    at = [nm for k,nm in trace if k in ('before_batch', 'on_step_begin')]
    assert at==['o0', 'c', 'o12', 'a', 'b', 'o72']
    for k in ('on_train_end', 'on_epoch_end', 'on_log'): assert [nm for h,nm in trace if h==k][:3]==['c', 'a', 'b']

def test_all_share_state():
    states = []
    class Sees(TrainerCallback):
        def on_step_end(self, args, state, control, **kwargs): states.append((args, state, control))
    quiet(mk([Transformers(Sees(), name='a'), Transformers(Sees(), name='b')], n=1), 1)
    assert all(x is y for x,y in zip(*states, strict=True))

# Evaluations

def test_evaluations_of_others_in_a_fit_are_not_heard_of():
    cbs = [ValidateCallback(every_steps=1), FetchPredsCallback(), SanityCheck(), cb := Record()]
    learn = quiet(mk(cbs), 1)
    assert cb.short=='iTE(po)(po)(po)elvvlmlt' and len(learn.recorder.records)==3

def test_evaluations_outside_of_a_fit():
    learn = mk(cb := Record())
    learn.validate()
    assert cb.short=='ivvlm'
    learn.get_preds()
    learn.predict(torch.zeros(2))
    assert cb.short=='ivvlm' + 'vvM' + 'vM'
    metrics = [k['metrics'] for n,_,k in cb.seen if n=='on_predict']
    assert list(metrics[0])==['test_loss', 'test_runtime', 'test_samples_per_second', 'test_steps_per_second'] and 'test_loss' not in metrics[1]
    assert metrics[0]['test_loss']==pytest.approx(learn.validate()[0])

class Counter(TrainerCallback, ExportableState):
    def __init__(self, step=1): self.step,self.n,self.file = step,0,'open'
    def on_step_end(self, args, state, control, **kwargs): self.n += self.step
    def on_evaluate(self, args, state, control, **kwargs): self.n += 100
    def state(self): return dict(args=dict(step=self.step), attributes=dict(n=np.int64(self.n)))

def test_evaluations_outside_of_a_fit_leave_things_as_they_were():
    learn = mk([cb := Counter(), Record({('on_evaluate', 3): STOP})])
    quiet(learn, 1)
    tr,before = learn.transformers_counter.trainer,cb.n
    state = {**vars(tr.state), 'log_history':list(tr.state.log_history)}
    learn.validate()
    assert (cb.n, vars(tr.state), before)==(103, state, 103)
    quiet(learn, 1)
    assert cb.n==206

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

def test_a_run_goes_on_where_it_was():
    learn = mk(first := Record())
    quiet(learn, 2)
    sd = learn.transformers_record.state_dict()
    again = mk(cb := Record())
    again.transformers_record.load_state_dict(sd)
    quiet(again, 4, start_epoch=2)
    begin = next(s for k,s,_ in cb.seen if k=='on_train_begin')
    assert (begin['global_step'], begin['epoch'], begin['max_steps'])==(6, 2., 12) and begin['best_metric']==first.seen[-1][1]['best_metric']
    assert cb.seen[-1][1]['global_step']==12 and len(cb.seen[-1][1]['log_history'])==5+5
    quiet(again, 1)
    assert cb.seen[-1][1]['global_step']==3

def test_epochs_before_the_first_count_as_steps():
    quiet(mk(cb := Record()), 3, start_epoch=1)
    assert [s['global_step'] for k,s,_ in cb.seen if k=='on_step_end']==list(range(4, 10)) and cb.seen[-1][1]['max_steps']==9

def test_two_of_a_class():
    assert [o.name for o in mk([Counter(), Counter()]).cbs[-2:]]==['transformers_counter', 'transformers_counter_2']
    learn = mk([Transformers(Counter(1), name='a'), Transformers(Counter(2), name='b')], valid=None)
    quiet(learn, 1)
    assert [o.state_dict()['Counter']['attributes']['n'] for o in (learn.a, learn.b)]==[3, 6]

def test_as_cb():
    assert isinstance(as_cb(Counter), Transformers) and isinstance(mk().add_cb(Counter()).transformers_counter, Transformers)
    c = TrainerControl(should_save=True)
    assert TrainerControl.from_state(c.state()).state()==c.state()

def test_processes(monkeypatch):
    monkeypatch.setenv('RANK', '3')
    monkeypatch.setenv('LOCAL_RANK', '0')
    s = T.TrainerState()
    assert s.is_local_process_zero and not s.is_world_process_zero
