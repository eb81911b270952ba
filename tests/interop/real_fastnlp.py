"fastNLP's trainer calls hooks as our fit does, and its unmodified callbacks do the same in both"
import sys
from pathlib import Path
import pytest, torch
from torch import nn
from torch.utils.data import DataLoader

sys.path.insert(0, str(Path(__file__).parents[2]))
pytest.importorskip('fastNLP')
import fastNLP as fnlp
from fastNLP import (Callback, CheckpointCallback, EarlyStopCallback, LoadBestModelCallback, LRSchedCallback, TimerCallback,
    TorchGradClipCallback, TorchWarmupCallback, Trainer)
from fastNLP.core.metrics import Metric
from fastNLP.core.utils.exceptions import EarlyStopException
from learnloop import DataLoaders, DictMetric, GradientAccumulation, Learner, SanityCheck, ValidateCallback, ValidateEvery
from learnloop.interop import as_cb

fnlp.logger.setLevel('ERROR')
torch.set_num_threads(1)
HOOKS = [k for k in vars(Callback) if k.startswith('on_')]
LATER = [k for k in HOOKS if 'checkpoint' not in k]  # hooks that don't save or load state

class Model(nn.Module):
    "Return the loss in the output, as fastNLP's trainer expects"
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(2, 1)
    def forward(self, x, y):
        pred = self.lin(x)
        return dict(pred=pred, loss=((pred-y)**2).mean())

class MAE(Metric):
    def __init__(self):
        super().__init__(backend='torch', aggregate_when_get_metric=False)
        self.reset()
    def reset(self): self.total,self.n = 0.,0
    def update(self, pred, y): self.total,self.n = self.total+(pred-y).abs().sum().item(),self.n+len(y)
    def get_metric(self): return self.total/self.n

def mae(pred, targ): return (pred-targ).abs().mean()

def loaders(n=6):
    g = torch.Generator().manual_seed(1)
    x = torch.randn(4*n, 2, generator=g)
    items = [dict(x=o, y=o@torch.tensor([[1.], [-2.]]) + .5) for o in x]
    return DataLoader(items, batch_size=4),DataLoader(items[:8], batch_size=4)

def model():
    torch.manual_seed(0)
    return Model()

def small(o):
    "Return the part of an argument that is comparable between the trainers"
    if isinstance(o, torch.Tensor): return tuple(o.shape) if o.dim() else round(o.item(), 5)
    if isinstance(o, dict): return {k:small(v) for k,v in o.items()}
    if isinstance(o, torch.optim.Optimizer): return [type(o).__name__]
    if isinstance(o, list): return [type(p).__name__ for p in o]
    if isinstance(o, BaseException): return type(o).__name__
    return o if o is None else round(o, 5) if isinstance(o, float) else 'driver'

class Recorder(Callback):
    "Record each call of each hook, and raise `what` in the `n`-th call of `hook`"
    def __init__(self, hook=None, n=0, what=None): self.rows,self.hook,self.n,self.what = [],hook,n,what
    def hear(self, hook, trainer, args):
        known = {k:v for k,v in args[0].items() if k!='valid_loss'} if hook in ('on_evaluate_end', 'on_sanity_check_end') else None
        row = trainer.cur_epoch_idx,trainer.global_forward_batches,trainer.batch_idx_in_epoch
        begun = [trainer.n_epochs, trainer.n_batches, trainer.num_batches_per_epoch, trainer.accumulation_steps] if 'begin' in hook and 'sanity' not in hook else []
        self.rows.append((hook, *row, *begun, *([small(known)] if known is not None else map(small, args))))
        self.n -= hook==self.hook
        if hook==self.hook and self.n==0: raise self.what
def _method(k): return lambda self, trainer, *args: self.hear(k, trainer, args)
for _k in LATER: setattr(Recorder, _k, _method(_k))

def ours(cb, n_epoch=2, n=6, cbs=(), opt=torch.optim.SGD, lr=.1, **kwargs):
    "Fit with `cb`; return the learner"
    m = model()
    train,valid = loaders(n)
    learn = Learner(DataLoaders(train, valid, device='cpu'), m, None, opt(m.parameters(), lr=lr), metrics=[DictMetric(mae, 'pred', 'y')], **kwargs)
    with learn.no_logging(): learn.fit(n_epoch, cbs=[*(cb if isinstance(cb, list) else [cb]), *cbs])
    return learn

def theirs(cb, n_epoch=2, n=6, sanity=0, opt=torch.optim.SGD, lr=.1, **kwargs):
    "Train with `cb`; return the trainer"
    m = model()
    train,valid = loaders(n)
    res = Trainer(m, train, opt(m.parameters(), lr=lr), driver='torch', device='cpu', n_epochs=n_epoch, evaluate_dataloaders=valid, metrics=dict(mae=MAE()),
        callbacks=cb if isinstance(cb, list) else [cb], progress_bar=None, **kwargs)
    res.run(num_eval_sanity_batch=sanity)
    return res

def same(a, b): return all(map(torch.equal, a.state_dict().values(), b.state_dict().values()))
def diff(a, b): return next(((i, o, p) for i,(o,p) in enumerate(zip(a, b, strict=False)) if o!=p), (len(a), len(b)))

def compare(mk=Recorder, sanity=0, cbs=(), **kwargs):
    a,b = mk(),mk()
    learn = ours(a, cbs=[*cbs, *([SanityCheck(sanity)] if sanity else [])])
    trainer = theirs(b, sanity=sanity, **kwargs)
    assert a.rows==b.rows, diff(a.rows, b.rows)
    assert same(learn.model, trainer.model)
    return a.rows

def test_trace():
    rows = compare(sanity=1)
    assert {o[0] for o in rows}==set(LATER)-{'on_exception', 'on_save_model', 'on_load_model'} and len(rows)==2*(1+6*10+2+3)+5

def test_trace_with_accumulated_gradients():
    rows = compare(cbs=[GradientAccumulation(n_batches=2)], accumulation_steps=2)
    assert [o[0] for o in rows].count('on_after_optimizers_step')==6 and [o[0] for o in rows].count('on_after_backward')==12

def test_trace_with_validation_every_few_batches():
    a,b = Recorder(),Recorder()
    ours(a, cbs=[ValidateCallback(every_steps=4), ValidateEvery(9)])
    theirs(b, evaluate_every=4)
    *a,begin,end,_ = a.rows  # our fit always validates after the last epoch
    assert (begin[0], end[0])==('on_evaluate_begin', 'on_evaluate_end') and a==b.rows[:-1], diff(a, b.rows)

@pytest.mark.parametrize('what', [EarlyStopException('enough'), ValueError('no'), KeyboardInterrupt()], ids=lambda o: type(o).__name__)
@pytest.mark.parametrize('hook,n', [(k, 1 if k in ('on_train_begin', 'on_evaluate_end', 'on_train_epoch_end') else 2) for k in LATER
    if k not in ('on_after_trainer_initialized', 'on_exception', 'on_train_end', 'on_save_model', 'on_load_model') and 'sanity' not in k])
def test_trace_of_what_ends_early(hook, n, what):
    a,b,ends = Recorder(hook, n, what),Recorder(hook, n, what),[]
    for f,rec in ((ours, a), (theirs, b)):
        try: f(rec)
        except BaseException as e: ends.append(e)
        else: ends.append(None)
    assert a.rows==b.rows, diff(a.rows, b.rows)
    assert a.rows[-2][0]=='on_exception' and a.rows[-1][0]=='on_train_end'
    if isinstance(what, KeyboardInterrupt): assert ends==[what, None]  # their trainer swallows it
    else: assert ends==[what, what] if isinstance(what, ValueError) else ends==[None, None]

def test_early_stop_stops_in_the_same_epoch_with_the_same_state():
    def mk(): return EarlyStopCallback('mae', larger_better=True, patience=2)  # it falls, which is not an improvement here
    a,b,rec,rec2 = mk(),mk(),Recorder(),Recorder()
    learn,trainer = ours([a, rec], 9),theirs([b, rec2], 9)
    assert rec.rows==rec2.rows and same(learn.model, trainer.model)
    assert trainer.cur_epoch_idx==3==len(learn.recorder.values) and learn.outcome['fit']=='cancelled'
    ad = as_cb(a)
    sd = ad.state_dict()
    assert list(sd)==['EarlyStopCallback#monitor-mae#patience-2'] and sd[a.callback_name]['states']==b.on_save_checkpoint(None)
    new = as_cb(mk())
    new.load_state_dict(sd)
    assert (new.foreign.wait, new.foreign.monitor_value)==(a.wait, a.monitor_value)

def files(folder): return sorted(o.parent.name for o in folder.rglob('*.pkl.tar'))

def test_checkpoint_writes_the_same_tree(tmp_path):
    def mk(folder): return CheckpointCallback(folder, every_n_epochs=2, every_n_batches=5, last=True, topk=2, monitor='mae', larger_better=False)
    learn,trainer = ours(mk(tmp_path/'a'), 4),theirs(mk(tmp_path/'b'), 4)
    assert files(tmp_path/'a')==files(tmp_path/'b') and len(files(tmp_path/'a'))==2+1+2+4
    last = next((tmp_path/'a').rglob('model-last/*'))
    new = Learner(loaders(), model(), None, torch.optim.SGD)
    new.load(last, with_opt=False)
    assert same(new.model, learn.model) and same(new.model, trainer.model)
    [scores] = {o.read_text() for o in (tmp_path/'a').rglob('*-batch_24-mae*/*.json')}
    assert f'"mae": {learn.recorder.values[-1][2]}' in scores
    new.load(next((tmp_path/'b').rglob('model-last/*')), with_opt=False)  # a file of their trainer
    assert same(new.model, trainer.model)

def test_checkpoint_of_a_trainer_has_the_states_and_is_loaded(tmp_path):
    cbs = [CheckpointCallback(tmp_path, last=True, topk=1, monitor='mae', larger_better=False, save_object='trainer'), EarlyStopCallback('mae', patience=9)]
    assert cbs[0].need_reproducible_sampler
    learn = ours(cbs, 3)
    [last] = tmp_path.rglob('trainer-last/fastnlp_checkpoint.pkl.tar')
    new,cb = Learner(loaders(), model(), None, torch.optim.SGD),EarlyStopCallback('mae', patience=9)
    new.add_cb(cb)
    new.load(last)
    assert same(new.model, learn.model) and cb.wait==1  # it is saved after training, before the last validation
    saved = torch.load(last, weights_only=True)['fastNLP']
    assert saved['trainer_state']==dict(cur_epoch_idx=3, global_forward_batches=18, batch_idx_in_epoch=0)
    assert len(saved['callbacks']['fastnlp_checkpoint']['CheckpointCallback']['states']['topk_saver']['topk_queue'])==1

@pytest.mark.parametrize('folder', [None, 'best'])
def test_load_best_model(tmp_path, folder):
    def mk(k): return LoadBestModelCallback('mae', larger_better=True, save_folder=folder and str(tmp_path/k))  # the first epoch's is the largest
    kept = {}
    class Keep(Callback):
        def on_evaluate_end(self, trainer, results): kept[trainer.cur_epoch_idx] = {k:v.clone() for k,v in trainer.model.state_dict().items()}
    learn,trainer = ours([mk('a'), Keep()], 3),theirs(mk('b'), 3)
    assert same(learn.model, trainer.model) and all(map(torch.equal, learn.model.state_dict().values(), kept[1].values()))
    assert not files(tmp_path)

class Rates(Callback):
    "Record the learning rate of each step"
    def __init__(self): self.lrs = []
    def on_after_backward(self, trainer): self.opt = trainer.driver.optimizers[0]
    def on_before_zero_grad(self, trainer, optimizers): self.lrs.append(self.opt.param_groups[0]['lr'])

def scheduled(f, step_on):
    cb,rates = LRSchedCallback(torch.optim.lr_scheduler.StepLR(torch.optim.SGD([nn.Parameter(torch.ones(1))], lr=1), 1), step_on),Rates()
    def opt(ps, lr):
        res = torch.optim.SGD(ps, lr=lr)
        cb.scheduler = torch.optim.lr_scheduler.StepLR(res, 1, gamma=.5)
        return res
    return f([cb, rates], opt=opt).model,rates.lrs

@pytest.mark.parametrize('step_on', ['batch', 'epoch'])
def test_lr_sched(step_on):
    (a, lrs),(b, lrs2) = scheduled(ours, step_on),scheduled(theirs, step_on)
    assert lrs==lrs2==[.1*.5**(i+1 if step_on=='batch' else i//6) for i in range(12)] and same(a, b)

def test_all_seven_at_once(tmp_path):
    learn = ours([TimerCallback(), TorchWarmupCallback(.3), TorchGradClipCallback(1.), EarlyStopCallback('mae', larger_better=False, patience=2),
        CheckpointCallback(tmp_path, topk=1, monitor='mae', larger_better=False), LoadBestModelCallback('mae', larger_better=False)], 4)
    assert learn.outcome['fit']=='done' and len(files(tmp_path))==1
