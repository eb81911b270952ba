"pytorch-accelerated itself: its unmodified callbacks in our fit, and its trainer's trace beside ours. Run by `python -m tools.interop accelerated`"
import contextlib, io, os
from functools import partial
import pytest, torch
from helpers import quiet
from learnloop import DataLoaders, GradientAccumulation, Learner, as_cb
from learnloop.interop.accelerated import Accelerated
from torch import nn
from torch.utils.data import TensorDataset

pytestmark = pytest.mark.skipif('INTEROP' not in os.environ, reason='needs the environment of `python -m tools.interop accelerated`')
pa = pytest.importorskip('pytorch_accelerated')
from pytorch_accelerated.callbacks import (
    EarlyStoppingCallback, ModelEmaCallback, SaveBestModelCallback, StopTrainingError, TerminateOnNaNCallback, TrainerCallback)

torch.set_num_threads(1)
HOOKS = [k for k in vars(TrainerCallback) if k.startswith('on_')]

def data(n, seed):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(n, 2, generator=g)
    return TensorDataset(x, (x[:,0]>0).long() + (x[:,1]>0).long())
TRAIN,VALID = data(22, 0),data(10, 1)  # the last batches are smaller

def mk_model(seed=0):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 3))

SGD = partial(torch.optim.SGD, momentum=.9)
def mk_learn(lr=.1, model=None, **kwargs):
    dls = DataLoaders(*(torch.utils.data.DataLoader(o, batch_size=4) for o in (TRAIN, VALID)), device='cpu')
    learn = Learner(dls, model or mk_model(), nn.CrossEntropyLoss(), SGD, lr=lr, **kwargs)
    learn.logger = lambda row: None
    return learn

def run_theirs(cbs, n=2, lr=.1, model=None, valid=VALID, **kwargs):
    "Train with their trainer on the same data, model and optimizer"
    model = model or mk_model()
    trainer = pa.Trainer(model, nn.CrossEntropyLoss(), SGD(model.parameters(), lr=lr), callbacks=cbs)
    kw = dict(shuffle=False, num_workers=0, batch_size=4)
    with contextlib.redirect_stdout(io.StringIO()):
        trainer.train(TRAIN, n, valid, 4, train_dataloader_kwargs=kw, eval_dataloader_kwargs=kw, **kwargs)
    return trainer

def value(o):
    "Return the comparable part of an argument"
    if isinstance(o, torch.Tensor): return tuple(o.shape),str(o.dtype),round(float(o.detach()), 4) if o.dim()==0 else None
    if isinstance(o, dict): return {k:value(v) for k,v in o.items()}
    if isinstance(o, (list,tuple)): return [value(v) for v in o]
    return round(o, 4) if isinstance(o, float) else o

class Recording(TrainerCallback):
    "Record each hook, with its arguments and the state of the trainer"
    def __init__(self): self.trace = []

def _note(name):
    def _hook(self, trainer, **kwargs):
        h = trainer.run_history
        row = name,value(kwargs),h.current_epoch,{k:value(list(h.get_metric_values(k))) for k in sorted(h.get_metric_names())}
        if name!='on_init_end': row += trainer.model.training,trainer.run_config.num_epochs,trainer.run_config.gradient_accumulation_steps
        self.trace.append(row)
    return _hook
for k in HOOKS: setattr(Recording, k, _note(k))

def same_weights(a, b): return all(torch.equal(p, q) for p,q in zip(a.state_dict().values(), b.state_dict().values(), strict=True))

def traces(n=2, their_kw=None, our_cbs=(), stop=None, **kwargs):
    a,b = Recording(),Recording()
    trainer = run_theirs([a, *([stop()] if stop else [])], n, **kwargs, **(their_kw or {}))
    learn = mk_learn(model=kwargs.get('model') and mk_model())
    if kwargs.get('valid', 1) is None: learn.dls = DataLoaders(learn.dls.train, device='cpu')
    with learn.no_logging(): learn.fit(n, cbs=[*our_cbs, b, *([stop()] if stop else [])])
    return a.trace,b.trace,trainer,learn

def test_the_trace_is_that_of_their_trainer():
    a,b,trainer,learn = traces(3)
    assert a==b
    assert {o[0] for o in a}==set(HOOKS)-{'on_stop_training_error', 'on_evaluation_run_start', 'on_evaluation_run_end'}
    assert same_weights(trainer.model, learn.model)

@pytest.mark.parametrize('hook', ['on_train_epoch_start', 'on_train_step_start', 'on_train_epoch_end', 'on_eval_epoch_start', 'on_eval_step_start', 'on_eval_step_end',
    'on_eval_epoch_end', 'on_train_step_end'])
def test_the_trace_of_a_run_that_is_stopped_anywhere(hook):
    class Stop(TrainerCallback): pass
    def _stop(self, trainer, **kwargs):
        if trainer.run_history.current_epoch==2: raise StopTrainingError('enough')
    setattr(Stop, hook, _stop)
    a,b,trainer,learn = traces(5, stop=Stop)
    assert a==b
    assert same_weights(trainer.model, learn.model)==(hook!='on_train_step_end')  # their trainer had not made this step yet

def test_the_trace_with_accumulation():
    "Losses differ: their trainer divides them by the number of batches"
    a,b,trainer,learn = traces(their_kw=dict(gradient_accumulation_steps=2), our_cbs=[GradientAccumulation(n_batches=2)])
    def without_losses(t): return [(o[0], {k:v for k,v in o[1].items() if k!='batch_output'}, o[2], list(o[3]), *o[4:]) for o in t]
    assert without_losses(a)==without_losses(b)
    ls = [[o[1]['batch_output']['loss'][2] for o in t if o[0]=='on_train_step_end'] for t in (a, b)]
    assert ls[0][:2]==pytest.approx([o/2 for o in ls[1][:2]], abs=1e-4)
    last = [t[-1][3]['train_loss_epoch'][0] for t in (a, b)]
    assert last[0]==pytest.approx(last[1]/2, rel=.05)

def test_the_trace_of_an_evaluation():
    a,b = Recording(),Recording()
    trainer = run_theirs([a], 1)
    learn = mk_learn(cbs=[as_cb(b)])
    learn.fit(1)
    a.trace.clear()
    b.trace.clear()
    with contextlib.redirect_stdout(io.StringIO()): trainer.evaluate(VALID, 4, dict(num_workers=0))
    learn.validate()
    assert a.trace==b.trace
    assert [o[0] for o in b.trace if 'step' not in o[0]]==['on_evaluation_run_start', 'on_eval_epoch_start', 'on_eval_epoch_end', 'on_evaluation_run_end']

# Callbacks of the package
def test_early_stopping_stops_in_the_same_epoch():
    def mk(): return EarlyStoppingCallback(early_stopping_patience=2, early_stopping_threshold=.05)
    rec = Recording()
    run_theirs([rec, mk()], 30)
    n = max(o[2] for o in rec.trace)
    assert 2<n<30
    learn = quiet(mk_learn(), 30, cbs=[cb := mk()])
    assert learn.epoch+1==n and cb.early_stopping_patience_counter==2 and learn.outcome['fit']=='cancelled'

def test_save_best_loads_the_best(tmp_path):
    models = []
    for lr in (.1, 3.):
        their_model,learn = mk_model(),mk_learn(lr)
        run_theirs([SaveBestModelCallback(str(tmp_path/'a.pt'))], 4, lr, their_model)
        cb = Accelerated(SaveBestModelCallback(str(tmp_path/'b.pt')))
        with learn.no_logging(): learn.fit(4, cbs=[cb])
        assert same_weights(their_model, learn.model)
        best = cb.trainer.run_history.get_metric_values('eval_loss_epoch')
        assert cb.foreign.best_metric==min(best) and cb.foreign.best_metric_epoch==1+best.index(min(best))
        assert learn.validate()[0]==pytest.approx(min(best))
        a,b = (torch.load(tmp_path/o, weights_only=True) for o in ('a.pt', 'b.pt'))
        assert a.keys()==b.keys() and all(torch.equal(v, b['model_state_dict'][k]) for k,v in a['model_state_dict'].items())
        models.append(cb.foreign.best_metric_epoch)
    assert models[1]<4, 'the last one was the best: nothing was shown'

def test_terminate_on_nan_stops_the_fit_and_not_the_process():
    learn = mk_learn()
    with torch.no_grad(): learn.model[0].weight[0,0] = float('nan')
    rec = Recording()
    with learn.no_logging(), pytest.warns(UserWarning, match=r'asked to exit \(Exiting due to NaN loss\)'): learn.fit(3, cbs=[TerminateOnNaNCallback, rec])
    names = [o[0] for o in rec.trace]
    assert names[-2:]==['on_stop_training_error', 'on_training_run_end'] and names.count('on_train_step_start')==1
    assert learn.outcome['fit']=='cancelled'

class Noted(TrainerCallback):
    "Record the evaluation of an average, in which no other callback is called"
    def __init__(self): self.seen = []
    def on_eval_epoch_start(self, trainer, **kwargs): self.seen.append(('start', trainer.run_history.metric_name_prefix))
    def on_eval_step_end(self, trainer, batch, batch_output, **kwargs): self.seen.append(('step', batch_output['batch_size']))
    def on_eval_epoch_end(self, trainer, **kwargs): self.seen.append(('end', trainer.model is self.of.ema_model.module))

@pytest.mark.parametrize('evaluate', [True,False])
def test_ema(tmp_path, evaluate):
    def mk(name):
        inner = Noted()
        inner.of = ModelEmaCallback(.9, evaluate_during_training=evaluate, save_path=str(tmp_path/name), callbacks=[inner])
        return inner
    a,b,ra,rb = mk('a.pt'),mk('b.pt'),Recording(),Recording()
    trainer,learn = run_theirs([a.of, ra], 3),mk_learn()
    with learn.no_logging(): learn.fit(3, cbs=[b.of, rb])
    assert same_weights(a.of.ema_model, b.of.ema_model) and same_weights(trainer.model, learn.model)
    assert a.seen==b.seen and bool(a.seen)==evaluate and ra.trace==rb.trace
    assert not same_weights(b.of.ema_model.module, learn.model)
    x,y = (torch.load(tmp_path/o, weights_only=True)['model_state_dict'] for o in ('a.pt', 'b.pt'))
    assert all(torch.equal(v, y[k]) for k,v in x.items())
    if evaluate: assert 'ema_model_eval_loss_epoch' in rb.trace[-1][3] and a.of.best_metric==pytest.approx(b.of.best_metric)
