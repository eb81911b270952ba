"Unmodified Lightning callbacks do the same in our fit, which calls hooks as Lightning's trainer does"
import logging, warnings
from datetime import timedelta
import pytest, torch
from fastcore.basics import listify
from learnloop import DataLoaders, Learner, SanityCheck, ValidateCallback
from learnloop.interop.lightning import Callback as StandIn, Lightning
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

warnings.simplefilter('ignore')  # Lightning warns of old APIs, workers and missing loggers
import lightning.pytorch as pl
from lightning.pytorch.callbacks import EarlyStopping, ModelCheckpoint

pytestmark = pytest.mark.filterwarnings('ignore')
for o in ('lightning.pytorch', 'lightning.fabric', 'lightning', 'lightning.pytorch.utilities.rank_zero'): logging.getLogger(o).setLevel(logging.ERROR)
HOOKS = [k for k in dir(pl.Callback) if k.startswith('on_') or k in ('setup', 'teardown')]
METRICS = 'train_loss', 'train_loss_step', 'train_loss_epoch', 'val_loss', 'test_loss'
TRAIN,VALID,TEST = (2,0),(2,1),(1,2)

def loader(n, seed, bs=4):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(bs*n-1, 2, generator=g)  # the last batch is smaller
    return DataLoader(TensorDataset(x, x@torch.tensor([[1.], [-2.]]) + .5), bs)

def mk_model():
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return torch.nn.Linear(2, 1)

class Line(pl.LightningModule):
    "The model, loss and optimizer of `mk_learner` as a LightningModule"
    def __init__(self):
        super().__init__()
        self.model = mk_model()
    def forward(self, x): return self.model(x)
    def training_step(self, batch, batch_idx):
        loss = F.mse_loss(self(batch[0]), batch[1])
        self.log('train_loss', loss, on_step=True, on_epoch=True)
        return loss
    def _eval(self, name, batch):
        loss = F.mse_loss(self(batch[0]), batch[1])
        self.log(name, loss)
        return loss
    def validation_step(self, batch, batch_idx): return self._eval('val_loss', batch)
    def test_step(self, batch, batch_idx): return self._eval('test_loss', batch)
    def predict_step(self, batch, batch_idx): return self(batch[0])
    def configure_optimizers(self): return torch.optim.SGD(self.parameters(), lr=.1)

def mk_learner(cbs=None, valid=VALID, **kwargs):
    dls = DataLoaders(loader(*TRAIN), loader(*valid) if valid else None, loader(*TEST), device='cpu')
    learn = Learner(dls, mk_model(), F.mse_loss, torch.optim.SGD, lr=.1, cbs=cbs, **kwargs)
    learn.logger = lambda row: None
    return learn

def mk_trainer(cbs, n_epoch=2, **kwargs):
    return pl.Trainer(**dict(max_epochs=n_epoch, accelerator='cpu', logger=False, enable_progress_bar=False, enable_model_summary=False,
        enable_checkpointing=any(isinstance(o, pl.callbacks.Checkpoint) for o in cbs), callbacks=listify(cbs), num_sanity_val_steps=0) | kwargs)

def plain(o):
    "Return the comparable part of an argument"
    if isinstance(o, torch.Tensor): return ('tensor', tuple(o.shape), round(o.item(), 5) if o.numel()==1 else round(o.sum().item(), 4))
    if isinstance(o, dict): return {k:plain(v) for k,v in o.items()}
    if isinstance(o, (list,tuple)): return type(o).__name__,[plain(v) for v in o]
    return o if isinstance(o, (int,float)) else str(getattr(o, 'value', o)) if isinstance(o, str) else type(o).__name__

class Recorder(pl.Callback):
    "Record every hook and the state of the trainer; call `do` at the `n`-th call of `at`"
    def __init__(self, at=None, do=None, n=1, trace=None, who=''): self.at,self.do,self.n,self.who,self.trace = at,do,n,who,[] if trace is None else trace

def _hook(k):
    def f(self, trainer, pl_module, *args, **kwargs):
        t = trainer
        rec = dict(hook=k, args=[plain(o) for o in args], kwargs=plain(kwargs), epoch=t.current_epoch, step=t.global_step, fn=plain(t.state.fn),
            stepped=t.fit_loop.epoch_loop._batches_that_stepped, sanity=t.sanity_checking, training=t.training, validating=t.validating)
        if k!='setup': rec |= dict(metrics={m:round(float(t.callback_metrics[m]), 5) for m in METRICS if m in t.callback_metrics})
        if k!='on_train_batch_end': rec |= dict(grad=[p.grad is not None for p in pl_module.parameters()])
        if k!='on_before_zero_grad': rec |= dict(stage=plain(t.state.stage))
        if k.startswith('on_train_batch') or k=='on_before_zero_grad': rec.pop('grad', None)
        self.trace.append(rec | dict(who=self.who))
        if k==self.at and sum(o['hook']==k for o in self.trace)==self.n: self.do(trainer)
    return f
for _k in HOOKS: setattr(Recorder, _k, _hook(_k))

def names(trace): return [o['hook'] for o in trace]
def compare(ours, theirs):
    for i,(a,b) in enumerate(zip(ours, theirs, strict=False)): assert a==b, (names(theirs)[max(i-3, 0):i+1], {k:(a[k], b[k]) for k in a if a[k]!=b.get(k)})
    assert names(ours)==names(theirs)

def run_both(mk_cbs, mk_ours=lambda: [], n_epoch=2, valid=VALID, error=None, sanity=0, **kwargs):
    "Fit with the same callbacks in both; check that traces and weights are equal; return learner and trainer"
    ours,theirs = mk_cbs(),mk_cbs()
    learn,trainer,module = mk_learner(mk_ours(), valid),mk_trainer(theirs, n_epoch, num_sanity_val_steps=sanity, **kwargs),Line()
    def fit(f):
        if error is None: return f()
        with pytest.raises(error): f()
    fit(lambda: learn.fit(n_epoch, cbs=ours))
    fit(lambda: trainer.fit(module, loader(*TRAIN), loader(*valid) if valid else None))
    if not valid or error:  # learnloop drops gradients after the step, Lightning before the next backward pass and before validation
        for o in (*ours, *theirs): o.trace[:] = [{k:v for k,v in r.items() if k!='grad'} for r in o.trace]
    for a,b in zip(ours, theirs, strict=True): compare(a.trace, b.trace)
    for a,b in zip(learn.model.parameters(), module.model.parameters(), strict=True): assert torch.equal(a, b)
    return learn,trainer

def stop(trainer): trainer.should_stop = True
def fail(trainer): raise ValueError('a test')

def test_hooks_of_the_standin_are_theirs():
    import inspect
    for k in HOOKS: assert list(inspect.signature(getattr(StandIn, k)).parameters)==list(inspect.signature(getattr(pl.Callback, k)).parameters)
    assert {k for k in dir(pl.Callback) if k[0]!='_'}<=set(dir(StandIn))
    assert {h.name for h in Lightning.hooks}==set(HOOKS)

def test_trace(): run_both(lambda: [Recorder()])
def test_trace_with_a_sanity_check(): run_both(lambda: [Recorder()], lambda: [SanityCheck(2)], sanity=2)

@pytest.mark.parametrize('n', [1, 2])
@pytest.mark.parametrize('at', ['setup', 'on_fit_start', 'on_train_start', 'on_train_epoch_start', 'on_train_batch_start', 'on_before_backward',
    'on_train_batch_end', 'on_validation_start', 'on_validation_batch_end', 'on_validation_end', 'on_train_epoch_end', 'on_train_end'])
def test_stop_trace(at, n): run_both(lambda: [Recorder(at, stop, n)], n_epoch=3)

@pytest.mark.parametrize('at', ['setup', 'on_fit_start', 'on_train_start', 'on_train_epoch_start', 'on_train_batch_start', 'on_before_zero_grad',
    'on_after_backward', 'on_before_optimizer_step', 'on_train_batch_end', 'on_validation_start', 'on_validation_batch_start', 'on_validation_batch_end',
    'on_validation_end', 'on_train_epoch_end', 'on_train_end', 'on_fit_end', 'teardown'])
def test_error_trace(at): run_both(lambda: [Recorder(at, fail)], error=ValueError)

def test_trace_of_evaluations():
    a,b = Recorder(),Recorder()
    learn = mk_learner([a])
    trainer,module = mk_trainer([b]),Line()
    learn.fit(1)
    trainer.fit_loop.max_epochs = 1
    trainer.fit(module, loader(*TRAIN), loader(*VALID))
    learn.validate()
    trainer.validate(module, loader(*VALID), verbose=False)
    learn.validate(2)
    trainer.test(module, loader(*TEST), verbose=False)
    learn.get_preds()
    trainer.predict(module, loader(*VALID))
    compare(a.trace, b.trace)

def test_trace_of_validation_between_batches():
    a,b = Recorder(),Recorder()
    learn = mk_learner([a, ValidateCallback(every_steps=1)])
    learn.fit(1)
    mk_trainer([b], 1, val_check_interval=1).fit(Line(), loader(*TRAIN), loader(*VALID))
    theirs,ours = names(b.trace),names(a.trace)
    # Lightning calls `on_train_batch_end` before the validation, and validates once after the last batch; learnloop validates again after the epoch
    assert sorted(set(ours))==sorted(set(theirs))
    assert ours.count('on_validation_end')==theirs.count('on_validation_end')+1==3

def test_early_stopping():
    def mk(): return EarlyStopping('val_loss', patience=1, min_delta=.4)
    a,b = mk(),mk()
    learn = mk_learner()
    learn.fit(20, cbs=[a])
    mk_trainer([b], 20).fit(Line(), loader(*TRAIN), loader(*VALID))
    assert 0<a.stopped_epoch==b.stopped_epoch==learn.epoch<19
    assert torch.isclose(a.best_score, b.best_score) and a.stopping_reason==b.stopping_reason and a.wait_count==b.wait_count
    assert len(learn.recorder.values)==a.stopped_epoch+1
    with pytest.raises(RuntimeError, match='EarlyStopping'): learn.fit(1, cbs=[EarlyStopping('val_los')])
    learn.fit(1)

@pytest.mark.parametrize('kwargs', [dict(every_n_train_steps=1, save_top_k=-1), dict(save_top_k=1), dict(monitor='train_loss', save_top_k=-1),
    dict(every_n_epochs=2, save_top_k=-1), dict(monitor='val_loss', save_on_train_epoch_end=False, save_top_k=-1), dict(save_weights_only=True),
    dict(save_last='link', monitor='val_loss'), dict(monitor='val_loss', every_n_train_steps=2, save_top_k=-1),
    dict(train_time_interval=timedelta(0), save_top_k=-1), dict(monitor='val_loss', mode='max')])
def test_model_checkpoint_writes_the_same_files(tmp_path, kwargs):
    a,b = (ModelCheckpoint(tmp_path/o, '{epoch}-{step}-{train_loss:.3f}', **kwargs) for o in 'ab')
    learn = mk_learner()
    learn.fit(3, cbs=[a])
    mk_trainer([b], 3).fit(Line(), loader(*TRAIN), loader(*VALID))
    assert (files := sorted(o.name for o in (tmp_path/'a').iterdir()))==sorted(o.name for o in (tmp_path/'b').iterdir()) and files
    for o in files:
        x,y = (torch.load(tmp_path/f/o, weights_only=True)['state_dict'].values() for f in 'ab')
        assert all(torch.equal(p, q) for p,q in zip(x, y, strict=True))
    mk_learner().load(tmp_path/'a'/files[0], with_opt=not kwargs.get('save_weights_only'))

def test_state_goes_on_from_a_checkpoint(tmp_path):
    es,mc = EarlyStopping('val_loss', patience=7),ModelCheckpoint(tmp_path, save_last=True, monitor='val_loss')
    mk_learner().fit(3, cbs=[es, mc])
    new_es,new_mc = EarlyStopping('val_loss', patience=7),ModelCheckpoint(tmp_path, save_last=True, monitor='val_loss')
    mk_learner([new_es, new_mc]).load(mc.last_model_path)
    assert new_es.best_score==es.best_score and new_mc.best_model_score==mc.best_model_score and new_mc.best_model_path==mc.best_model_path
