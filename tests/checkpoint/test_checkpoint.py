"A fit that is stopped anywhere and resumed from its folder ends with the weights, optimizer, history and random numbers of an undisturbed one"
import json, math, random, re, shutil, signal, threading, warnings
from contextlib import nullcontext, suppress
from copy import deepcopy
from functools import partial
from pathlib import Path
import numpy as np, pytest, torch
from helpers import FIT, At, Boom, Module, boom, check, cover, covering, mk_learner as mk_line, plainly, silent, usual_events
from learnloop import (
    AccumMetric, BnFreeze, Callback, Checkpoint, CheckpointCallback, CutMix, DamagedCheckpoint, EarlyStoppingCallback, EMA, GradientAccumulation,
    GradientClip, GradualUnfreezing, Learner, LimitBatches, MCDropoutCallback, MicroBatch, MixedPrecision, MixUp, OverfitBatches,
    ReduceLROnPlateau, ReloadLoaders, SAM, SeededItems, SWA, TorchScheduler, TruePrecision, ValidateCallback,
    ValidateEvery, WeightAveraging, accuracy, event, list_checkpoints, newest_checkpoint, on, set_seed)
from learnloop.checkpoint.storage import HashingFile, locked_folder
from learnloop.checkpoint import checkpoint as checkpoint_module
from learnloop.checkpoint.resume_point import _take_own, read_resume_point
from learnloop.loop.place import drop_batch, Pass
from learnloop.train.limits import FirstBatches
from learnloop.loop.flow import Phase
from learnloop.measure.metric import Metric
from learnloop.measure.series import Series
from torch import nn
from torch.nn import functional as F
from torch.optim import lr_scheduler as torch_scheds
from torch.utils.data import DataLoader, Dataset, IterableDataset, RandomSampler, TensorDataset, default_collate
from torchmetrics.classification import MulticlassAccuracy
from test_storage import reseal
from where import tells_where

N_EPOCH = 3

# --- data and learners

class Noisy(Dataset):
    "Items with noise of all three generators"
    def __init__(self, n=22): self.x = torch.linspace(-1, 1, n)[:,None].repeat(1, 3)
    def __len__(self): return len(self.x)
    def __getitem__(self, i):
        return self.x[i] + .1*torch.randn(3) + .1*random.random() + .1*float(np.random.rand()),(self.x[i].sum()>0).long()  # noqa: NPY002

class Stream(IterableDataset):
    "The same without a length, or an index"
    def __iter__(self): return (Noisy()[i] for i in torch.randperm(22).tolist())

def plain(n=22):
    x = torch.linspace(-1, 1, n)[:,None].repeat(1, 3)
    return TensorDataset(x, (x.sum(1)>0).long())

def mk_model(): return nn.Sequential(nn.Linear(3, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(.3), nn.Linear(8, 2))
def mk_loader(ds=None, **kwargs):
    shuffle = {} if 'sampler' in kwargs or isinstance(ds, Stream) else dict(shuffle=True)
    return DataLoader(ds or plain(), **dict(batch_size=4) | shuffle | kwargs)
def mk_learner(ds=None, opt=torch.optim.AdamW, cbs=(), metrics=accuracy, model=mk_model, dl=None, splitter=None, train_metrics=False, **kwargs):
    set_seed(3)
    model = model()
    dl = mk_loader(ds, **kwargs) if dl is None else dl() if callable(dl) else dl
    valid = DataLoader(pictures(8) if isinstance(next(model.children()), nn.Conv2d) else plain(8), 4)
    is_made = getattr(opt, '__name__', '')=='<lambda>'  # with rates of its own
    learn = Learner((dl, valid), model, F.cross_entropy, opt(model) if is_made else opt, lr=None if is_made else .01, cbs=cbs, metrics=metrics,
        **dict(splitter=splitter) if splitter else {})
    learn.recorder.train_metrics = train_metrics
    return learn

def by_layer(model): return [list(model[0].parameters())+list(model[1].parameters()), list(model[4].parameters())]

class Tied(Module):
    "Has tied weights, and buffers, saved or not, that change its output"
    def __init__(self):
        self.a,self.b,self.drop = nn.Linear(3, 3),nn.Linear(3, 3),nn.Dropout(.2)
        self.b.weight = self.a.weight
        self.register_buffer('n', torch.zeros(()))
        self.register_buffer('loose', torch.zeros(2), persistent=False)
    def forward(self, x):
        if self.training: self.n,self.loose = self.n+1,self.loose*.9+x.mean()
        return self.b(self.drop(self.a(x)).relu())[:,:2] + self.loose*.1 + self.n.sin()*.1

class Total(Metric):
    "Accumulates in numbers and tensors"
    def reset(self): self.n,self.sum = 0,torch.zeros(())
    def accumulate(self, learn): self.n,self.sum = self.n+learn.bs,self.sum+learn.pred.sum().detach()
    @property
    def value(self): return float(self.sum/self.n)

class Overflow(Callback):
    "Gradients that overflow in some batches"
    order = 9
    def after_loss(self):
        if self.learn.training and self.learn.count.batches in (4, 9): self.learn.loss_grad = self.learn.loss_grad*1e38*1e38

class Counts(Callback):
    "State of a filter, which validation batches change, too"
    @on(event.after_batch, every=3)
    def third(self): torch.rand(())

def reloaded(learn):
    g = torch.Generator().manual_seed(learn.epoch)
    return mk_loader(plain(16+int(torch.randint(8, ())))) if learn.epoch else mk_loader(sampler=RandomSampler(plain(), generator=g))

# --- what is compared

def state(learn):
    r,opts = learn.recorder,learn.opt.values() if isinstance(learn.opt, dict) else [learn.opt]
    return dict(model={k:v.clone() for k,v in learn.model.state_dict().items()}, buffers={k:v.clone() for k,v in learn.model.named_buffers()},
        opt=[deepcopy(o.state_dict()) for o in opts], frozen=[p.requires_grad for p in learn.model.parameters()], count=vars(learn.count),
        raw=list(r.raw_losses), lrs=list(r.lrs), values=r.values, records=r.records, hps=r.hps, iters=r.iters, cbs={o.name:o.state_dict() for o in learn.cbs},
        rng=[torch.get_rng_state(), random.getstate(), np.random.get_state(legacy=False)])  # noqa: NPY002

FITS = dict(fit=lambda learn, **kw: learn.fit(N_EPOCH, **kw), short=lambda learn, **kw: learn.fit(2, **kw),
    one_cycle=lambda learn, **kw: learn.fit_one_cycle(N_EPOCH, **kw),
    max_steps=lambda learn, **kw: learn.fit(None, max_steps=13, **kw), steps_per_epoch=lambda learn, **kw: learn.fit(N_EPOCH, steps_per_epoch=4, **kw))

def run(make, fit='fit', stop=None, folder=None, cbs=(), **kwargs):
    "Fit a new learner, as a new process would"
    learn = make()
    save = [] if folder is None else [CheckpointCallback(folder, every_steps=kwargs.pop('every', 1), every_epochs=1, keep=None, best=0)]
    with learn.no_logging(), learn.no_bar(): FITS[fit](learn, cbs=[*cbs, At(*stop or ()), *save], **dict(resume=folder)|kwargs)
    return learn

def chain(make, fit, stops, folder, **kwargs):
    "Stop a fit several times, and resume it until it ends"
    for o in stops:
        with pytest.raises(Boom): run(make, fit, o, folder, **kwargs)
    return run(make, fit, None, folder, **kwargs)

# --- every event

def mk_all(): return mk_learner(Noisy(11), cbs=[GradientAccumulation(n_batches=2), EMA(.5), Counts()], metrics=[accuracy, Total()])

EVENTS = ['between_batches', *usual_events([*FIT, 'save'])]

@pytest.fixture(scope='module')
def whole_run(tmp_path_factory):
    calls = {}
    def hear(e):
        def f(cb): calls[e] = calls.get(e, 0)+1
        return f
    class Spy(Callback): order = At.order
    learn = run(mk_all, 'short', None, tmp_path_factory.mktemp('whole'), cbs=[Spy(name='spy', **{e:hear(e) for e in EVENTS})])
    return state(learn),calls

@pytest.mark.every(4)
@pytest.mark.parametrize('e', EVENTS)
def test_a_fit_that_is_stopped_at_any_event_ends_the_same(e, whole_run, tmp_path):
    want,calls = whole_run
    n = 1 if EVENTS.index(e)%2 else calls[e]//2+1
    def stopped(folder): return chain(mk_all, 'short', [(e, n)], folder)
    learn = stopped(tmp_path/'a')
    with tells_where(lambda: stopped(tmp_path/'b'), lambda: run(mk_all, 'short')): check(state(learn), want, f'{e} {n}')

# --- every setting: two stops

def two_opts(model):
    a,b = by_layer(model)
    return dict(a=torch.optim.SGD(a, .1, momentum=.9), b=torch.optim.AdamW(b, .01))
def unfrozen(): return mk_learner(splitter=by_layer, cbs=[GradualUnfreezing({0:-1, 1:0})])
def frozen():
    learn = mk_learner(cbs=[BnFreeze()])
    learn.model[1].requires_grad_(False)
    return learn
class OwnNoise(Dataset):
    "Items with noise from generators that only the dataset knows"
    def __init__(self): self.ds,self.rand,self.rng,self.old = plain(),random.Random(4),np.random.default_rng(5),np.random.RandomState(6)
    def __len__(self): return len(self.ds)
    def __getitem__(self, i): return self.ds[i][0] + self.rand.random() + float(self.rng.random()) + float(self.old.rand()),self.ds[i][1]
class Margin(Module):
    "A loss with a parameter, and buffers that it changes, enlarges and makes; only one of them is saved by its `state_dict`"
    def __init__(self):
        self.scale = nn.Parameter(torch.ones(()))
        self.register_buffer('n', torch.zeros(()))
        for k,v in dict(loose=torch.ones(()), bank=torch.zeros(0), made=None).items(): self.register_buffer(k, v, persistent=False)
    def forward(self, pred, targ):
        if self.training:
            self.n += 1
            self.loose,self.bank = self.loose*.9+pred.detach().mean(),torch.cat([self.bank, pred.detach().mean()[None]])[-5:]
            self.made = pred.detach().mean() if self.made is None else self.made*.9
        own = self.loose + self.bank.std(unbiased=False) + (0 if self.made is None else self.made)
        return F.cross_entropy(pred*(self.scale+own.sin()*.1), targ) + self.n.sin()
    def denominator(self, pred, targ): return len(pred)
def with_margin(**kw):
    learn = mk_learner(**kw)
    learn.loss_func = Margin()
    learn.opt_func = lambda params, **hypers: torch.optim.AdamW([*params, dict(params=list(learn.loss_func.parameters()))], **hypers)
    return learn
class Counted(torch.optim.SGD):
    "Keeps a count beside the states of parameters, and a negative number in its groups"
    def __init__(self, params, lr=.01):
        super().__init__(params, lr=lr, momentum=.9)
        self.defaults['slope'] = 0.
        for g in self.param_groups: g['slope'] = 0.
    def step(self, closure=None):
        self.state['k'] = self.state.get('k', torch.zeros(1)) + 1
        for g in self.param_groups:
            g['slope'] -= .1
            for p in g['params']: p.grad = None if p.grad is None else p.grad*(1+self.state['k'].sin()*g['slope'])
        return super().step(closure)
def noisy_collate(b):
    x,y = default_collate(b)
    return x+torch.randn_like(x),y
class OwnSampler(RandomSampler): "Draws its order from a generator of its own"
def own_order(): return OwnSampler(plain(), generator=torch.Generator().manual_seed(8))
def pictures(n=22):
    x = torch.linspace(-1, 1, n*16).view(n, 1, 4, 4)
    return TensorDataset(x, (x.mean((1, 2, 3))>0).long())
def tensors(n=5): return [(torch.randn(4, 3, generator=torch.Generator().manual_seed(i)), torch.randint(0, 2, (4,))) for i in range(n)]

# More kinds of loaders are in `test_same_batches`
SETUPS = dict(  # chkstyle: ignore-node
    plain    = mk_learner,
    sgd      = lambda: mk_learner(opt=partial(torch.optim.SGD, momentum=.9)),
    counted  = lambda: mk_learner(opt=Counted),
    accum    = lambda: mk_learner(cbs=[GradientAccumulation(10), GradientClip(.5)]),
    ema      = lambda: mk_learner(cbs=[EMA(.5)]),
    frozen   = frozen,
    swa_norm = lambda: mk_learner(Noisy(), cbs=[WeightAveraging(every_epochs=1, buffers='recompute', at_end=False)]),
    bf16     = lambda: mk_learner(cbs=[MixedPrecision('bf16')]),
    fp16     = lambda: mk_learner(cbs=[MixedPrecision('fp16', growth_interval=3), Overflow(), GradientAccumulation(n_batches=2)]),
    mixup    = lambda: mk_learner(cbs=[MixUp(.4)]),
    sam      = lambda: mk_learner(cbs=[SAM()]),
    micro    = lambda: mk_learner(cbs=[MicroBatch(2)]),
    mc       = lambda: mk_learner(cbs=[MCDropoutCallback(), Counts()]),
    plateau  = lambda: mk_learner(cbs=[ReduceLROnPlateau(patience=1, cooldown=1), EarlyStoppingCallback(patience=5)]),
    by_step  = lambda: mk_learner(cbs=[TorchScheduler(partial(torch_scheds.MultiStepLR, milestones=[2, 5]), unit='step'), ValidateCallback(every_steps=4)]),
    by_epoch_sched = lambda: mk_learner(cbs=[TorchScheduler(partial(torch_scheds.ExponentialLR, gamma=.5), unit='epoch'), ValidateEvery(2)]),
    by_value = lambda: mk_learner(cbs=[TorchScheduler(partial(torch_scheds.ReduceLROnPlateau, patience=0), unit='validate')]),
    unfreeze = unfrozen,
    swa      = lambda: mk_learner(cbs=[SWA(start_pct=.3, swa_lr=.02)]),
    two_opts = lambda: mk_learner(opt=lambda model: two_opts(model)),
    tied     = lambda: mk_learner(model=Tied),
    accmet   = lambda: mk_learner(metrics=[AccumMetric(accuracy, flatten=False), Total()]),
    limited  = lambda: mk_learner(cbs=[LimitBatches(4, 1)]),
    overfit  = lambda: mk_learner(Noisy(), cbs=[OverfitBatches(2)]),
    cutmix   = lambda: mk_learner(pictures(), model=lambda: nn.Sequential(nn.Conv2d(1, 4, 3), nn.Flatten(), nn.Dropout(.2), nn.Linear(16, 2)), cbs=[CutMix(.8)], metrics=None),
    own_noise = lambda: mk_learner(OwnNoise()),
    loss     = lambda: with_margin(cbs=[GradientAccumulation(n_batches=2)]),
    mets_of_training = lambda: mk_learner(metrics=[MulticlassAccuracy(num_classes=2), AccumMetric(accuracy, flatten=False), Total()], train_metrics=True),
    together = lambda: mk_learner(Noisy(), cbs=[GradientAccumulation(10), GradientClip(.5), EMA(.5), MixedPrecision('bf16'), MixUp(.4)], metrics=None),
    reload   = lambda: mk_learner(cbs=[ReloadLoaders(2, reloaded)]))
EXCLUSIVE = 'plateau', 'by_step', 'by_epoch_sched', 'by_value', 'two_opts', 'swa'  # which set lr
CHAINS = [[('before_backward', 5), ('after_epoch', 1)], [('before_validate', 1), ('after_batch', 6)], [('after_fetch', 8), ('before_step', 2)], [('after_validate', 1), ('after_train', 1)]]

@pytest.mark.every(2)
@pytest.mark.parametrize('i,setup', list(enumerate(SETUPS)), ids=SETUPS)
@pytest.mark.filterwarnings("ignore:.*in training mode, the step in parts differs")
def test_case_58_a_fit_that_is_stopped_twice_ends_the_same(i, setup, tmp_path):
    make,fits = SETUPS[setup],[o for o in FITS if o!='short' and (o!='one_cycle' or setup not in EXCLUSIVE)]
    fit = fits[i%len(fits)]
    def stopped(folder): return chain(make, fit, CHAINS[i%4], folder, every=3)
    got = stopped(tmp_path/'a')
    with tells_where(lambda: stopped(tmp_path/'b'), lambda: run(make, fit)): check(state(got), state(run(make, fit)), fit)

# --- loaders with workers

class Count(Dataset):
    "Items without random numbers, that say which they are"
    def __len__(self): return 12
    def __getitem__(self, i): return torch.full((3,), i/12.),torch.tensor(i%2)

_begun = []  # loaders whose workers may persist

def end_workers():
    "Torch waits for five seconds for those of a loader that the garbage collector finds"
    while _begun:
        dl = _begun.pop()
        it,dl._iterator = dl._iterator,None
        if it: it._shutdown_workers()

@pytest.fixture(autouse=True)
def ended():
    yield
    end_workers()

def with_workers(ds=None, persistent=False, valid=False, n=2, **kw):
    end_workers()  # of the run before
    learn = mk_learner(ds, batch_size=3, num_workers=n, persistent_workers=persistent, **kw)
    if valid: learn.dls.valid = DataLoader(plain(4), 2, num_workers=1, persistent_workers=True)
    _begun.extend([learn.dls.train, learn.dls.valid])
    return learn

WORKERS = {  # chkstyle: ignore-node
    'workers':(lambda: with_workers(Noisy(12)), 'short', [('after_batch', 3), ('before_validate', 1)]),
    'persistent seeded, valid too':(lambda: with_workers(SeededItems(Noisy(12), 5), True, True), 'fit', [('after_batch', 7), ('after_validate', 1)]),
    'steps_per_epoch':(lambda: with_workers(Count()), 'steps_per_epoch', [('after_batch', 7)]),
    'persistent, steps_per_epoch':(lambda: with_workers(Count(), True), 'steps_per_epoch', [('after_batch', 7)]),
    'seeded, collate':(lambda: with_workers(SeededItems(Noisy(12), 5), collate_fn=noisy_collate), 'short', [('after_batch', 3)]),
    'stream':(lambda: with_workers(Stream(), drop_last=True), 'short', [('after_batch', 11)])}

@pytest.mark.parametrize('name', WORKERS)
@pytest.mark.filterwarnings('ignore:.*its workers persist')
def test_case_58_workers_resume_exactly(name, tmp_path):
    make,fit,stops = WORKERS[name]
    got = chain(make, fit, stops, tmp_path, every=2)
    check(state(got), state(run(make, fit)))

def test_a_loader_that_cannot_resume_is_named_before_training(tmp_path):
    seen = []
    def fit(dl, folder, match):
        cbs = [CheckpointCallback(tmp_path/folder), Callback(before_epoch=lambda cb: seen.append(1))]
        with pytest.warns(UserWarning, match=match): quiet(mk_learner(dl=dl, metrics=None), 1, cbs=cbs)
    fit(iter(tensors()), 'a', match='training loader, list_iterator: it is an iterator')
    fit((b for b in tensors()), 'b', match='training loader, generator: it is an iterator')
    fit(DataLoader(Noisy(8), 4, num_workers=1, persistent_workers=True), 'c', match='Noisy or collate_fn may draw random numbers there.*SeededItems')
    assert len(seen)==3
    dl = DataLoader(SeededItems(Noisy(8)), 4, num_workers=1, persistent_workers=True)
    quiet(mk_learner(dl=dl, metrics=None), 1, cbs=CheckpointCallback(tmp_path/'d'))  # no warning

# --- where a fit stops

def quiet(learn, n=N_EPOCH, fit='fit', **kwargs):
    with learn.no_logging(), learn.no_bar(): getattr(learn, fit)(n, **kwargs)
    return learn

@covering(fit=['fit', 'fit_one_cycle'], n=[1, 6, 7, 17, 18])
def test_case_59_an_error_while_a_batch_is_fetched_saves_the_very_batch(fit, n, tmp_path):
    "Also the first of an epoch and the last of all; items draw random numbers"
    class Fails(Noisy):
        left = -1
        def __getitem__(self, i):
            res = super().__getitem__(i)
            self.left -= 1
            if not self.left: raise Boom
            return res
    ds = Fails()
    ds.left = 22*((n-1)//6) + 4*((n-1)%6) + 1
    with pytest.raises(Boom): quiet(mk_learner(ds), fit=fit, resume=tmp_path)
    newest = list_checkpoints(tmp_path)[-1]
    assert newest.consistent and newest.manifest['batch']==(n-1)%6 and newest.manifest['epoch']==(n-1)//6 and 'Boom' in newest.manifest['error']
    check(state(quiet(mk_learner(Fails()), fit=fit, resume=tmp_path, accept='data')), state(quiet(mk_learner(Fails()), fit=fit)))  # `left` is another

@pytest.mark.parametrize('cbs,n', [((), 1), ((), 2), ([EMA(.5)], 2), ([WeightAveraging(every_epochs=1, buffers='recompute')], 2), ([Counts()], 3)], ids=str)
def test_case_59_a_fit_stopped_within_a_validation_repeats_it(cbs, n, tmp_path):
    "The validation starts again, with the trained weights, and callbacks as they were before it"
    class Here(Callback):
        order,run_train = 99,False
        def after_batch(self):
            if self.learn.epoch==n-1 and self.learn.iter==1: boom(self)
    with pytest.raises(Boom): quiet(mk_learner(Noisy(), cbs=deepcopy(cbs)), cbs=Here(), resume=tmp_path)
    c = list_checkpoints(tmp_path)[-1]
    assert c.manifest['next']=='validate' and c.consistent and 'live' not in str(json.loads((c.path/'state.json').read_text())['callbacks'])
    check(state(quiet(mk_learner(Noisy(), cbs=deepcopy(cbs)), resume=tmp_path, accept='callbacks')), state(quiet(mk_learner(Noisy(), cbs=deepcopy(cbs)))))

def test_case_59_a_finished_run_returns_at_once_with_its_history(tmp_path, capsys):
    want,trained = state(quiet(mk_learner(cbs=[EMA(.5)]), resume=tmp_path)),[]
    learn = mk_learner(cbs=[EMA(.5)])
    learn.fit(N_EPOCH, resume=tmp_path, cbs=Callback(name='spy', before_batch=lambda cb: trained.append(1)), accept='callbacks')
    check(state(learn), want)
    assert not trained and 'its epochs are done' in capsys.readouterr().out
    assert quiet(mk_learner(cbs=[EMA(.5)]), 1, resume=tmp_path).recorder.values==learn.recorder.values  # fewer than are done

def test_a_larger_number_of_epochs_changes_a_schedule_and_is_refused(tmp_path):
    quiet(mk_learner(), 2, 'fit_one_cycle', resume=tmp_path)
    with pytest.raises(ValueError, match=r"n_epoch was 2 and is 4.*accept=\['n_epoch'\]"): quiet(mk_learner(), 4, 'fit_one_cycle', resume=tmp_path)
    learn = quiet(mk_learner(), 4, 'fit_one_cycle', resume=tmp_path, accept=['n_epoch'])
    assert len(learn.recorder.values)==4 and learn.recorder.lrs[-1]<1e-4

@pytest.mark.parametrize('reset', [True, False])
def test_an_early_stopped_run_stays_stopped(reset, tmp_path, capsys):
    def mk(): return mk_learner(cbs=[EarlyStoppingCallback(min_delta=9., patience=1, reset_on_fit=reset)])
    first = quiet(mk(), 6, resume=tmp_path)
    assert len(first.recorder.values)==2
    again = quiet(mk(), 6, resume=tmp_path)
    again.recorder._begun = first.recorder._begun  # of the epoch that early stopping prevented
    check(state(again), state(first))

@pytest.mark.parametrize('n', [12, 13, 14])
def test_a_fit_with_max_steps_that_is_done_stays_done(n, tmp_path):
    first = quiet(mk_learner(), None, max_steps=n, resume=tmp_path)
    check(state(quiet(mk_learner(), None, max_steps=n, resume=tmp_path)), state(first))
    more = quiet(mk_learner(), None, max_steps=n+3, resume=tmp_path, accept=['max_steps'])
    assert more.count.opt_steps==n+3

# --- several fits in one script

def test_fine_tune_is_two_fits(tmp_path):
    def mk(): return mk_learner(splitter=by_layer)
    want = state(quiet(mk(), 2, 'fine_tune'))
    for k in (4, 9, 25):
        try: quiet(mk(), 2, 'fine_tune', resume=tmp_path, cbs=At('after_batch', k, boom))
        except Boom: pass
    assert sorted(o.name for o in tmp_path.iterdir())==['frozen', 'unfrozen']
    check(state(quiet(mk(), 2, 'fine_tune', resume=tmp_path, cbs=At('after_batch', -1, boom))), want)

@pytest.mark.parametrize('then,what', [(lambda l, **kw: (l.freeze(), quiet(l, 2, **kw)), 'frozen'), (lambda l, **kw: quiet(l, 2, lr=.5, **kw), 'lr'),
    (lambda l, **kw: quiet(l, 2, 'fit_one_cycle', **kw), 'callbacks')])
def test_a_second_fit_in_the_same_folder_is_refused(then, what, tmp_path):
    learn = quiet(mk_learner(splitter=by_layer), 2, resume=tmp_path)
    before = state(learn)
    with pytest.raises(ValueError, match=f'{what} was'): then(learn, resume=tmp_path)
    check({k:state(learn)[k] for k in ('model', 'count', 'raw')}, {k:before[k] for k in ('model', 'count', 'raw')})

def test_running_the_same_cell_again_resumes_an_interrupted_fit(tmp_path):
    "The same learner, which is in the middle of it"
    want,learn = state(quiet(unfrozen())),unfrozen()
    for k in (3, 5):
        with pytest.raises(Boom): quiet(learn, resume=tmp_path, cbs=At('before_batch', 2+k*2, boom))
    check(state(quiet(learn, resume=tmp_path, cbs=At('before_batch', -1, boom))), want)

# --- what may differ

@pytest.mark.parametrize('change,said', [(dict(splitter=by_layer), r'lr was \[0.01\] and is \[0.01, 0.01\]'), (dict(metrics=None), r"metrics was \['accuracy'\] and is \[\]"),
    (dict(opt=lambda m: dict(a=torch.optim.AdamW(m[0].parameters()), b=torch.optim.AdamW(m[1:].parameters()))), r"optimizer was \['AdamW'\] and is \['AdamW', 'AdamW'\]"),
    (dict(opt=torch.optim.SGD), r"optimizer was \['AdamW'\] and is \['SGD'\]"), (dict(ds=plain(30)), 'train_batches was 6 and is 8.*items was 22 and is 30'), (dict(batch_size=2), 'batch_size was 4 and is 2'),
    (dict(sampler=own_order()), "sampler was 'RandomSampler' and is 'OwnSampler'"), (dict(ds=Noisy()), "dataset was 'TensorDataset' and is 'Noisy'"),
    (dict(cbs=[EMA()]), 'callbacks was .* and is .*ema'), (dict(num_workers=1), 'workers was 0 and is 1')], ids=lambda o: str(o)[:30])
def test_cases_33_47_48_and_60_a_changed_run_is_refused_field_by_field(change, said, tmp_path):
    quiet(mk_learner(), 1, resume=tmp_path)
    learn = mk_learner(**change)
    before = deepcopy(learn.model.state_dict())
    with pytest.raises(ValueError, match=said) as e: quiet(learn, 2, resume=tmp_path)
    assert 'accept=' in str(e.value) and 'give this run' in str(e.value)
    check(dict(learn.model.state_dict()), dict(before))
    assert learn.count.batches==0 and learn.open==[]

@pytest.mark.parametrize('batch_size,workers,said', [(2, 0, 'batch_size was 4 and is 2; train_batches was 6 and is 11'), (4, 1, 'workers was 0 and is 1')])
def test_case_60_another_batch_size_in_the_middle_of_an_epoch_warns_that_it_is_not_exact(batch_size, workers, said, tmp_path):
    with pytest.raises(Boom): quiet(mk_learner(), cbs=At('before_fetch', 3, boom), resume=tmp_path)
    with pytest.warns(UserWarning, match=f'not exact: {said}, so the rest of epoch 0 may repeat or skip items'):
        quiet(mk_learner(batch_size=batch_size, num_workers=workers), resume=tmp_path, accept=['batch_size', 'train_batches', 'workers', 'callbacks'])

def test_case_46_an_error_lists_all_differences_of_a_model(tmp_path):
    def other(): return nn.Sequential(nn.Linear(3, 9), nn.BatchNorm1d(9), nn.ReLU(), nn.Dropout(.3), nn.Linear(9, 2, bias=False), nn.Linear(2, 2))
    quiet(mk_learner(), 1, resume=tmp_path)
    learn = mk_learner(model=other)
    before = deepcopy(learn.model.state_dict())
    with pytest.raises(ValueError, match=r"'0.weight' is float32 \(9, 3\) in the model, but float32 \(8, 3\) in the file; .*; 4 more have other shapes or types; the file lacks '5.weight', '5.bias'; the model has no '4.bias'"):
        quiet(learn, 2, resume=tmp_path, accept=True)
    check(dict(learn.model.state_dict()), dict(before))

class Widened(nn.Sequential):
    def forward(self, x): return super().forward(x.to(self[0].weight.dtype))

@pytest.mark.parametrize('how', ['model', 'callback'])
def test_case_46_other_dtypes_are_converted_if_that_is_accepted(how, tmp_path):
    def fit(n, accept=('callbacks',), wide=True):
        def model(): return Widened(*mk_model()).to(torch.float64 if wide and how=='model' else torch.float32)
        return quiet(mk_learner(model=model, cbs=[TruePrecision(torch.float64)]*(wide and how=='callback')), n, resume=tmp_path, accept=accept)
    fit(1, wide=False)
    with pytest.raises(ValueError, match=r"'0.weight' was float32 \(8, 3\) and is float64 \(8, 3\);.*; ….*accept=\['dtype'\]"): fit(2)
    learn = fit(2, ['callbacks', 'dtype'])
    assert learn.count.opt_steps==12 and learn.model[0].weight.dtype==torch.float64
    assert fit(3).count.opt_steps==18  # from then on they are those
    learn = mk_learner()
    if how=='model':
        with pytest.raises(ValueError, match='other dtypes'): learn.load_checkpoint(tmp_path, accept='callbacks')
    assert learn.load_checkpoint(tmp_path).count.opt_steps==18 and learn.model[0].weight.dtype==torch.float32

def test_a_fit_does_not_save_beside_checkpoints_of_another_run(tmp_path):
    quiet(mk_learner(), 1, resume=tmp_path)
    with pytest.raises(ValueError, match='has checkpoints of another run, up to step 6, and this one is at step 0'): quiet(mk_learner(), 1, cbs=CheckpointCallback(tmp_path))
    with pytest.raises(TypeError, match='resume is 3'): quiet(mk_learner(), 1, resume=3)

# --- state of callbacks, and extras

class Holds(Callback):
    def __init__(self, v): self.v = v
    def state_dict(self): return dict(deep=[self.v])
    def load_state_dict(self, sd): self.v = sd['deep'][0]

@pytest.mark.parametrize('v', [Path('a'), lambda: 0, object()], ids=['path', 'lambda', 'object'])
def test_case_50_state_that_cannot_be_saved_is_refused_before_training(v, tmp_path):
    learn = mk_learner(cbs=[Holds(v)])
    with pytest.raises(TypeError, match=r"callbacks.holds.deep.0"): quiet(learn, 1, resume=tmp_path)
    assert learn.count.batches==0 and not list_checkpoints(tmp_path)

def test_case_61_gradients_of_an_open_window_and_buffers_that_are_not_persistent(tmp_path):
    def mk(): return mk_learner(model=Tied, cbs=[GradientAccumulation(n_batches=4), EMA(.5)])
    with pytest.raises(Boom):
        quiet(mk(), 1, cbs=[At('before_fetch', 3, lambda cb: cb.learn.checkpoint.save()), Named('after_loss', 4), CheckpointCallback(tmp_path)])
    state_ = json.loads((list_checkpoints(tmp_path)[0].path/'state.json').read_text())
    assert set(state_['grads'])=={'a.weight', 'a.bias', 'b.bias'} and set(state_['buffers'])=={'loose'} and state_['loop']['batch']==2
    learn = quiet(mk(), 1, resume=tmp_path, accept='callbacks')
    check(state(learn), state(quiet(mk(), 1)))
    assert learn.model.b.weight is learn.model.a.weight and learn.ema.averages

def test_case_62_a_fit_resumes_from_a_checkpoint_of_a_missing_device(tmp_path, monkeypatch):
    want = state(quiet(mk_learner(cbs=[EMA(.5)])))
    with monkeypatch.context() as mp:
        mp.setattr(torch.serialization, 'location_tag', lambda storage: 'cuda:7')  # as the file of a machine with GPUs has it
        quiet(mk_learner(cbs=[EMA(.5)]), 1, resume=tmp_path)
    with pytest.raises(RuntimeError, match='cuda|CUDA'): torch.load(list_checkpoints(tmp_path)[0].path/'model.pt', map_location=None)
    check(state(quiet(mk_learner(cbs=[EMA(.5)]), resume=tmp_path)), want)

@pytest.mark.skipif(not torch.cuda.is_available(), reason='needs CUDA')
@pytest.mark.parametrize('devices', [('cpu', 'cuda'), ('cuda', 'cpu'), ('cuda', 'cuda')], ids='-'.join)
def test_case_62_from_device_to_device(devices, tmp_path):
    "The result is exact on the same device; rounding differs between devices"
    def on(device, n, **kw):
        learn = mk_learner(Noisy(), cbs=[EMA(.5), GradientAccumulation(n_batches=2)])
        learn.dls.to(device)
        return quiet(learn, n, **kw)
    on(devices[0], 1, resume=tmp_path)
    learn,whole = on(devices[1], 3, resume=tmp_path),on(devices[1], 3)
    assert {o.device.type for o in learn.model.parameters()}=={devices[1]}=={v.device.type for s in learn.opt.state.values() for v in s.values() if v.dim()}
    for a,b in zip(learn.model.parameters(), whole.model.parameters(), strict=True):
        assert torch.equal(a, b) if devices[0]==devices[1] else torch.allclose(a, b, atol=1e-3)

class Named(At):
    def __init__(self, name, n):
        super().__init__(name, n, boom)
        self.name = f'stop_{name}'

# --- when, and which are kept

def steps_of(folder): return [(o.step, o.manifest['next']) for o in list_checkpoints(folder)]

@pytest.mark.parametrize('kwargs,want', [(dict(), [(6, 'epoch'), (12, 'epoch'), (18, 'epoch')]), (dict(every_epochs=2), [(12, 'epoch'), (18, 'epoch')]),
    (dict(every_steps=5), [(5, 'train'), (10, 'train'), (15, 'train'), (18, 'epoch')]), (dict(every_minutes=1e9), [(18, 'epoch')]),
    (dict(every_minutes=1e-9), [(i, 'epoch' if i==18 else 'train') for i in range(19)])], ids=str)
def test_checkpoints_are_saved_at_the_given_intervals(kwargs, want, tmp_path):
    quiet(mk_learner(), cbs=CheckpointCallback(tmp_path, keep=None, **kwargs))
    assert steps_of(tmp_path)==want

def test_save_in_the_middle_of_a_batch_waits_for_its_end(tmp_path):
    def save(cb):
        cb.learn.checkpoint.save(why='asked')
        with pytest.raises(RuntimeError, match='in the middle of an epoch'): cb.learn.save_checkpoint(tmp_path/'hand')
        assert not list_checkpoints(tmp_path)
    with pytest.raises(Boom): quiet(mk_learner(), cbs=[At('after_backward', 2, save), Named('after_loss', 5), CheckpointCallback(tmp_path)])
    sound = [o for o in list_checkpoints(tmp_path) if o.consistent]
    assert [(o.step, o.manifest['batch'], o.manifest['why']) for o in sound]==[(2, 2, 'asked')]
    check(state(quiet(mk_learner(), resume=tmp_path, accept='callbacks')), state(quiet(mk_learner())))

# --- by hand

def test_a_checkpoint_saved_by_hand_restores_everything(tmp_path):
    learn = quiet(mk_learner(cbs=[EMA(.5)]), 2)
    c = learn.save_checkpoint(tmp_path, note='by hand')
    assert c.step==12 and c.manifest['note']=='by hand' and c.manifest['epoch']==2
    other = mk_learner(cbs=[EMA(.5)]).load_checkpoint(tmp_path)
    check(state(other), state(learn))
    check(state(mk_learner(cbs=[EMA(.5)]).load_checkpoint(c)), state(learn))
    assert other.save_checkpoint(tmp_path/'b').manifest['epoch']==2
    def again(learn):
        set_seed(8)
        return state(quiet(learn, 1))
    check(again(other), again(learn))
    weights = torch.load(c.path/'model.pt', weights_only=True)  # without learnloop
    mk_model().load_state_dict(weights)

@pytest.mark.parametrize('own', [False, True])
@pytest.mark.parametrize('begun', [False, True])
def test_a_resumed_fit_saves_in_no_other_folder(begun, own, tmp_path):
    if begun: quiet(mk_learner(), 1, resume=tmp_path/'a')
    savers = [CheckpointCallback(tmp_path/'a', every_steps=2), CheckpointCallback(tmp_path/'b')]
    savers[0].name = 'first'
    learn = mk_learner(cbs=savers*own)
    with pytest.raises(ValueError, match=r"resume=.*/a', but CheckpointCallback saves in .*/b': .*CheckpointCallback\('.*/a', …\), or resume='.*/b'"):
        quiet(learn, 2, resume=tmp_path/'a', cbs=savers*(not own))
    assert learn.count.batches==0 and learn._opt is None and not (tmp_path/'b').exists() and len(list_checkpoints(tmp_path/'a'))==begun

# --- in the background

class Held:
    "Writing waits until it is let go"
    def __init__(self, mp):
        self.go,self.at,real = threading.Event(),[],torch.save
        def save(*args, **kwargs):
            if threading.current_thread() is not threading.main_thread():
                self.at.append(args[0])
                assert self.go.wait(100)
            return real(*args, **kwargs)
        mp.setattr(torch, 'save', save)

def test_case_57_a_save_in_the_background_copies_the_state_at_once(tmp_path, monkeypatch):
    held,weights = Held(monkeypatch),[]
    class Look(Callback):
        def after_step(self):
            weights.append(self.learn.model[0].weight.detach().clone())
            if len(weights)==5:
                assert not list_checkpoints(tmp_path) and self.learn.checkpoint._writing.is_alive()  # three steps were done meanwhile
                held.go.set()
    saver = CheckpointCallback(tmp_path, every_minutes=1e9, background=True, keep=None)
    class Ask(Callback):
        name = 'ask'
        def before_fetch(self):
            if self.learn.training and self.learn.count.opt_steps==2: saver.save()
    quiet(mk_learner(), 1, cbs=[Look(), Ask(), saver])
    first = list_checkpoints(tmp_path)[0]
    assert first.step==2 and torch.equal(first.read('model.pt')['0.weight'], weights[1]) and not torch.equal(weights[1], weights[4])
    assert [o.step for o in list_checkpoints(tmp_path)]==[2, 6] and not [t for t in threading.enumerate() if 'checkpoint' in t.name]

@pytest.mark.parametrize('when,n', [('next', 3), ('end', 6)])
def test_case_56_an_error_in_the_background_is_raised_at_the_next_save_or_the_end(when, n, tmp_path, monkeypatch):
    def fail(*args, **kwargs): raise OSError('no more room')
    quiet(learn := mk_learner(), 1, cbs=CheckpointCallback(tmp_path, background=True))
    real,n_before = checkpoint_module._write_files,learn.count.opt_steps
    saver = CheckpointCallback(tmp_path, background=True, keep=1, **dict(every_steps=2) if when=='next' else {})
    def broken(cb): monkeypatch.setattr(checkpoint_module, '_write_files', fail)
    def wait(cb):
        if saver._writing: saver._writing.join()
    with pytest.raises(OSError, match='no more room'): quiet(learn, 1, cbs=[saver, Callback(name='breaks', before_train=broken, after_loss=wait)])
    assert learn.count.opt_steps==n_before+n and learn.open==[]
    assert [o.step for o in list_checkpoints(tmp_path)]==[n_before] and newest_checkpoint(tmp_path).step==n_before  # nothing was deleted
    monkeypatch.setattr(checkpoint_module, '_write_files', real)
    quiet(learn, 1)

# --- checkpoints that somebody altered

GONE = object()
def altered(o, at, v):
    "`o` with `v` at a place in it"
    o = inner = deepcopy(o)
    for k in at[:-1]: inner = inner[k]
    if v is GONE: del inner[at[-1]]
    else: inner[at[-1]] = v
    return o

def mk_altered():
    cbs = EMA(.5),GradientAccumulation(n_batches=2),EarlyStoppingCallback(patience=9)
    return mk_learner(cbs=cbs, dl=mk_loader(generator=torch.Generator().manual_seed(4)))

def everything(learn):
    rngs = dict(torch=torch.get_rng_state(), python=random.getstate(), numpy=str(np.random.get_state()), loader=learn.dls.train.generator.get_state())  # noqa: NPY002
    return deepcopy(rngs | what_trains(learn)) | dict(callbacks=deepcopy({o.name:o.state_dict() for o in learn.cbs}))

def what_trains(learn): return dict(weights=dict(learn.model.state_dict()), opt=learn.opt.state_dict(), count=dict(vars(learn.count)))

@pytest.fixture(scope='module')
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp('altered')
    quiet(mk_altered(), 2, cbs=CheckpointCallback(folder, every_steps=2, every_epochs=1, keep=None))
    return [o for o in list_checkpoints(folder) if o.manifest['next'] in ('train','epoch')][:2]

@pytest.mark.parametrize('at,v,said', [(('loop','count','opt_steps'), 99, 'is from step 99, but the checkpoint is from step'), (('loop','next'), 'nowhere', "loop.next is 'nowhere', but must be one of"),
    (('loop','batch'), -1, 'loop.batch is -1, but must be a whole number, 0 or more'), (('loop',), GONE, "it has no 'loop'"), (('rng','now','torch'), GONE, "rng.now has no 'torch'"),
    (('callbacks','recorder','raw'), ['x'], "callbacks.recorder.raw.0 is 'x', but must be a number"), (('grads',), {'0.weight':{'$tensor':'rng.now.torch'}}, 'grads.0.weight is .* but must be'),
    (('callbacks','ema','averages'), {}, "while EMA loaded its state"), (('rng','now','numpy','state','pos'), 10**6, 'rng.now.numpy is not a state of that generator .pos is outside'),
    (('callbacks','early_stopping','wait'), 'x', "callbacks.early_stopping.wait is 'x', but must be a whole number")], ids=plainly)
def test_an_edited_state_is_refused_with_its_place(at, v, said, whole, tmp_path):
    c = whole[0]
    copy = shutil.copytree(c.path, tmp_path/c.path.name)
    (copy/'state.json').write_text(json.dumps(altered(c.read('state.json'), at, v)))
    reseal(copy)
    for f in (lambda: mk_altered().load_checkpoint(tmp_path), lambda: quiet(mk_altered(), 2, resume=tmp_path)):
        with pytest.raises(ValueError) as e: f()
        assert re.search(said, ' '.join([str(e.value), *getattr(e.value, '__notes__', ())]))

@pytest.mark.parametrize('nm', ['state.json','tensors.pt','model.pt','opt.pt'])
def test_a_file_that_the_manifest_does_not_list_is_not_read(nm, whole, tmp_path):
    copy = shutil.copytree(whole[0].path, tmp_path/whole[0].path.name)
    files = dict(whole[0].manifest['files'])
    del files[nm]
    reseal(copy, files=files)
    with pytest.raises(DamagedCheckpoint, match=f'has no {nm}'): mk_altered().load_checkpoint(tmp_path)

def test_a_callback_that_cannot_load_its_state_leaves_everything_unchanged(tmp_path):
    class Refuses(Callback):
        def state_dict(self): return dict(a=1)
        def load_state_dict(self, sd): raise KeyError('deep')
    with pytest.raises(Boom): quiet(mk_learner(cbs=[Refuses()]), cbs=[At('after_loss', 9, boom), CheckpointCallback(tmp_path, every_steps=2)], accept=True)
    learn = mk_learner(cbs=[Refuses()])
    learn.create_opt()
    torch.rand(3)
    before,rng = deepcopy(what_trains(learn)),torch.get_rng_state()
    with pytest.raises(KeyError) as e: quiet(learn, resume=tmp_path, accept=True)
    assert any('while Refuses loaded its state' in o for o in e.value.__notes__)
    check(what_trains(learn), before)
    assert torch.equal(torch.get_rng_state(), rng)

def always(pred, targ): return torch.ones(())
always.better = 'more'

@pytest.mark.parametrize('n,background', [(0, False), (0, True), (1, True), (2, True)], ids=['foreground', 'heard of at once', 'a batch later', 'two later'])
def test_a_failed_write_does_not_lose_the_best_checkpoint(n, background, tmp_path, monkeypatch):
    "All epochs are equal, so the first is the best; the disk is full for a moment as its checkpoint is written"
    real,go,calls = checkpoint_module._write_files,threading.Event(),[]
    def _fails_once(folder, step, *rest):
        calls.append(step)
        if len(calls)>1: return real(folder, step, *rest)
        assert not background or go.wait(100)
        raise OSError('no more room')
    def saver(): return CheckpointCallback(tmp_path, keep=1, best=1, monitor='always', background=background)
    def _hear(cb):
        if cb.learn.count.batches==6+n and saving._writing:
            go.set()
            saving._writing.join()
    monkeypatch.setattr(checkpoint_module, '_write_files', _fails_once)
    saving = saver()
    with pytest.raises(OSError, match='no more room'): quiet(mk_learner(metrics=always), cbs=[saving, Callback(name='hears', before_train=_hear, after_batch=_hear)])
    assert vars(saving).get('_unwritten') is None  # its memory is free
    learn = quiet(mk_learner(metrics=always), cbs=saver(), resume=tmp_path, accept='callbacks')
    assert [(o.step, o.metrics['always']) for o in list_checkpoints(tmp_path)]==[(6, 1), (18, 1)]
    check(state(learn), state(quiet(mk_learner(metrics=always))))

def test_the_next_save_first_writes_a_checkpoint_that_failed(tmp_path, monkeypatch):
    "Also where somebody catches the error"
    real,calls = checkpoint_module._write_files,[]
    def _fails_twice(folder, step, *args):
        calls.append(step)
        if len(calls)<3: raise OSError('no more room')
        return real(folder, step, *args)
    monkeypatch.setattr(checkpoint_module, '_write_files', _fails_twice)
    saver = CheckpointCallback(tmp_path, every_steps=99, keep=None, background=True)
    class Ask(Callback):
        def before_fetch(self):
            if not self.learn.training or self.learn.count.batches not in (2, 3, 4): return
            try:
                saver.save(metrics=dict(a=self.learn.count.batches))
                saver.join()
            except OSError: pass
    quiet(mk_learner(cbs=[Ask()]), 1, cbs=saver)
    assert calls==[2, 2, 2, 4, 6] and [(o.step, o.metrics.get('a')) for o in list_checkpoints(tmp_path)]==[(2, 2), (4, 4), (6, None)]

def test_case_71_without_memory_for_a_copy_the_fit_waits_for_the_write(tmp_path, monkeypatch):
    def fail(*args): raise MemoryError
    monkeypatch.setattr('learnloop.checkpoint.checkpoint._on_cpu', fail)
    with pytest.warns(UserWarning, match='no memory for a copy.*training waits for the checkpoint of step 6'): quiet(mk_learner(), 1, cbs=CheckpointCallback(tmp_path, background=True))
    assert steps_of(tmp_path)==[(6, 'epoch')]

@pytest.mark.parametrize('monitor,said', [('acuracy', "did you mean 'accuracy'.*it has train_loss, valid_loss, accuracy"), ('recall', 'it has train_loss, valid_loss, accuracy')])
def test_an_unknown_monitor_is_refused_before_training(monitor, said, tmp_path):
    learn = mk_learner()
    with learn.no_logging(), pytest.raises(ValueError, match=said): learn.fit(1, cbs=CheckpointCallback(tmp_path/'run', best=1, monitor=monitor))
    assert not learn.count.batches and not (tmp_path/'run').exists()

def test_arguments_are_checked():
    for kw in (dict(every_steps=0), dict(every_epochs=1.5), dict(keep=0), dict(best=-1), dict(every_minutes=0)):
        with pytest.raises(ValueError, match=next(iter(kw))): CheckpointCallback('run', **kw)

def test_checkpoints_left_by_a_run_killed_before_it_deleted_them_are_deleted(tmp_path, monkeypatch):
    monkeypatch.setattr('learnloop.checkpoint.checkpoint.prune', lambda *args: None)
    with (learn := mk_learner()).no_logging(): learn.fit(3, cbs=CheckpointCallback(tmp_path))
    monkeypatch.undo()
    assert len(list_checkpoints(tmp_path))==3
    with (again := mk_learner()).no_logging(): again.fit(3, cbs=CheckpointCallback(tmp_path, keep=1, best=1), resume=tmp_path)
    kept,best = [o.step for o in list_checkpoints(tmp_path)],min((o[1], i) for i,o in enumerate(learn.recorder.values))[1]
    assert kept==sorted({learn.count.opt_steps, learn.count.opt_steps//3*(best+1)})

def test_files_are_hashed_once_on_loading(tmp_path, monkeypatch):
    with mk_learner().no_logging() as learn: learn.fit(2, cbs=CheckpointCallback(tmp_path, keep=1))
    seen,verify = [],Checkpoint.verify
    monkeypatch.setattr(Checkpoint, 'verify', lambda self: seen.append(self.path) or verify(self))
    mk_learner().load_checkpoint(tmp_path)
    mk_learner().load_checkpoint(list_checkpoints(tmp_path, verify=False)[0].path)
    assert len(seen)==2

# --- folders, locks and arguments

def stopped_at(learn, n, folder=None, event='before_fetch', **kwargs):
    with learn.no_logging(), pytest.raises(Boom): learn.fit(3, cbs=[At(event, n), *kwargs.pop('cbs', [])], **(dict(resume=folder) if folder else {})|kwargs)
    return learn

def test_resuming_a_pause_of_a_fit_with_a_folder_saves_there(tmp_path):
    learn = stopped_at(mk_learner(), 4, tmp_path)
    with learn.no_logging(): learn.resume()
    assert newest_checkpoint(tmp_path).step==learn.count.opt_steps==18

def test_no_checkpoint_is_written_by_hand_after_a_stop(tmp_path):
    learn = stopped_at(mk_learner(), 9)
    with pytest.raises(RuntimeError, match=r'after an interrupted fit: learn.resume\(\)'): learn.save_checkpoint(tmp_path)
    with learn.no_logging(): learn.fit(1)
    assert learn.save_checkpoint(tmp_path)

def test_a_save_in_after_epoch_has_the_history_of_that_epoch(tmp_path):
    def asks(cb): cb.learn.checkpoint.save()
    whole = run(mk_learner, 'fit', None, None, cbs=[Callback(after_epoch=asks), CheckpointCallback(tmp_path/'whole', every_epochs=100)], resume=None)
    learn = mk_learner()
    with learn.no_logging(), pytest.raises(Boom):
        learn.fit(3, cbs=[Callback(after_epoch=asks), CheckpointCallback(tmp_path/'a', every_epochs=100, on_error=False), At('before_fetch', 15)])
    c = newest_checkpoint(tmp_path/'a')
    assert c.manifest['next']=='epoch' and 'valid_loss' in c.metrics
    with (again := mk_learner()).no_logging(): again.fit(3, resume=tmp_path/'a', accept='callbacks')
    assert again.recorder.values==whole.recorder.values

def test_save_checkpoint_in_after_epoch_is_refused_before_the_recorder_adds_its_row(tmp_path):
    with mk_learner().no_logging() as learn, pytest.raises(RuntimeError, match='before the recorder adds its row'):
        learn.fit(1, cbs=Callback(after_epoch=lambda cb: cb.learn.save_checkpoint(tmp_path)))

def test_a_fit_locks_its_folder(tmp_path):
    def lock(cb):
        with pytest.raises(RuntimeError, match='another run'), locked_folder(tmp_path): pass
    quiet(mk_learner(), 1, cbs=[CheckpointCallback(tmp_path), At('before_fetch', 1, lock)])

def test_a_run_is_refused_if_another_one_has_written_newer_checkpoints(tmp_path):
    with mk_learner().no_logging() as learn: learn.fit(1, resume=tmp_path)
    class Other(Callback):
        order = math.inf  # added before the fit's own
        def before_fit(self):
            with mk_learner().no_logging() as other: other.fit(2, resume=tmp_path)
    late = mk_learner(cbs=[Other()])
    with late.no_logging(), pytest.raises(RuntimeError, match='another run wrote to .* since this one began'): late.fit(3, resume=tmp_path, accept='callbacks')

@pytest.mark.parametrize('change', [lambda l,d: l.load_checkpoint(d), lambda l,d: l.load('w')], ids=['load_checkpoint','load'])
def test_loading_ends_a_pause(change, tmp_path):
    learn = mk_learner()
    learn.path = tmp_path
    with learn.no_logging(): learn.fit(1, resume=tmp_path/'run')
    learn.save('w')
    stopped_at(learn, 2)
    change(learn, tmp_path/'run')
    with pytest.raises(RuntimeError, match='nothing to resume'): learn.resume()

class Extra(nn.Linear):
    def get_extra_state(self): return dict(n=np.float64(1))
    def set_extra_state(self, sd): pass

def test_case_50_a_model_that_cannot_be_saved_is_found_before_training(tmp_path):
    learn = mk_learner(model=lambda: nn.Sequential(Extra(3, 2)))
    with learn.no_logging(), pytest.raises(TypeError, match=r"state of model.*_extra_state.*numpy.float64"): learn.fit(1, cbs=CheckpointCallback(tmp_path))
    assert not learn.count.batches

def test_a_failed_batch_of_an_iterator_is_not_lost():
    learn,seen = mk_learner(dl=iter(tensors()), metrics=None),[]
    look = Callback(name='look', after_step=lambda cb: seen.append(float(cb.learn.xb[0].sum())))
    with learn.no_logging(), pytest.raises(Boom): learn.fit(1, cbs=[look, At('before_backward', 3)], keep_failed=True)
    with learn.no_logging(): learn.resume()
    assert seen==[float(o[0].sum()) for o in tensors()]

def test_fewer_max_steps_than_were_made_are_refused(tmp_path):
    with mk_learner().no_logging() as learn: learn.fit(max_steps=9, resume=tmp_path)
    with pytest.raises(ValueError, match='max_steps is 7, but .* already has 9 steps of this fit'): mk_learner().fit(max_steps=7, resume=tmp_path, accept='max_steps')

def test_save_checkpoint_needs_the_lock_of_its_folder(tmp_path):
    learn = quiet(mk_learner(), 1)
    with locked_folder(tmp_path), pytest.raises(RuntimeError, match='another run writes its checkpoints'): learn.save_checkpoint(tmp_path)
    assert learn.save_checkpoint(tmp_path).step==6
    saved = []
    def by_hand(cb): saved.append(cb.learn.save_checkpoint(tmp_path/'run', mine=1))
    quiet(mk_learner(), 1, cbs=[CheckpointCallback(tmp_path/'run', keep=None, background=True), At('before_fetch', 3, by_hand)])
    assert saved[0].manifest['mine']==1 and [o.step for o in list_checkpoints(tmp_path/'run')]==[2, 6]

def test_odd_arguments_are_refused(tmp_path):
    learn = mk_learner()
    for k in ('epoch','next','batch','step','consistent'):
        with pytest.raises(ValueError, match=f"'{k}' is reserved for the manifest"): learn.save_checkpoint(tmp_path, **{k:1})
    with pytest.raises(TypeError, match='metrics is 3'): learn.save_checkpoint(tmp_path, metrics=3)
    learn.save_checkpoint(tmp_path)
    with pytest.raises(ValueError, match='is from another run'): mk_learner(opt=torch.optim.SGD).load_checkpoint(tmp_path, accept=False)

# --- a run that is done, called again

class FreezesInTraining(Callback):
    "Has a part in evaluation mode while it trains"
    def before_train(self): self.learn.model[1].eval()
class StopsInCleanUp(Callback):
    def after_epoch(self):
        if self.learn.epoch==1: self.learn.n_epoch = 2

ENDS = dict(fit=lambda l, **kw: l.fit(2, **kw), one_cycle=lambda l, **kw: l.fit_one_cycle(2, **kw), max_steps=lambda l, **kw: l.fit(max_steps=8, **kw),
    steps_per_epoch=lambda l, **kw: l.fit(2, steps_per_epoch=4, **kw), shortened=lambda l, **kw: l.fit(9, cbs=StopsInCleanUp(), **kw),
    early_stopping=lambda l, **kw: l.fit(9, cbs=EarlyStoppingCallback('train_loss', min_delta=9.), **kw), start_epoch=lambda l, **kw: l.fit(3, start_epoch=1, **kw),
    swa=lambda l, **kw: l.fit(2, cbs=SWA(swa_lr=.5, start_pct=.5), **kw), none=lambda l, **kw: l.fit(0, **kw))

OWN = ('training final_record n_epoch epoch iter n_done n_iter pct_train train_iter smooth_loss loss bs batch xb yb pred loss_grad '
    'open exception').split()

def in_sight(learn):
    "Return everything visible of a learner after a fit, except outcomes of `save` and `load`"
    r = learn.recorder
    return state(learn) | {k:getattr(learn, k) for k in OWN} | dict(modes={n:m.training for n,m in learn.model.named_modules()},
        outcome={k:v for k,v in learn.outcome.items() if k not in ('save', 'load')}, dl=[k for k in ('train', 'valid') if getattr(learn.dls, k) is learn.dl],
        grads=[p.grad for p in learn.model.parameters()], rec=r.state_dict(), table=str(r), losses=list(r.losses),
        log=r.log[:1+len(r.values[0])] if r.values else [],
        names=getattr(r, 'columns', None), valid=r.valid_names, forward=learn.forward_model is learn.model, cbs_there=[o.name for o in learn.cbs])

@covering(valid=[True, False], end=ENDS, every=[dict(), dict(every_steps=4)])
def test_a_done_run_that_is_called_again_ends_the_same(end, valid, every, tmp_path):
    def run(learn):
        with learn.no_logging(), learn.no_bar(): ENDS[end](learn, resume=tmp_path)
        return in_sight(learn)
    def mk():
        learn = mk_learner(cbs=[FreezesInTraining(), CheckpointCallback(tmp_path, **every)], metrics=accuracy if valid else None)
        if not valid: learn.dls.valid = None
        return learn
    want = run(learn := mk())
    trained = want['count']['batches']
    assert trained or end=='none'
    check(run(mk()), want)
    check(run(learn), want)  # and in the same process
    if trained: (other := mk()).model.eval()
    if trained: check(run(other), want)

def test_callbacks_of_a_resumed_fit_see_the_last_batch(tmp_path):
    "A callback finds the last loss and record in a resumed run, too"
    def seen(into):
        def look(cb): into[cb.learn.count.batches] = cb.learn.loss.item() if cb.learn.loss is not None else None,cb.learn.final_record,cb.learn.bs
        return Callback(name='look', before_batch=lambda cb: look(cb) if cb.learn.training else None)
    whole,parts = {},{}
    quiet(mk_learner(cbs=[seen(whole)]))
    for at in (6, 11):
        with pytest.raises(Boom): quiet(mk_learner(cbs=[seen(parts), At('before_step', at, boom)]), cbs=CheckpointCallback(tmp_path/str(at), every_steps=1))
        quiet(mk_learner(cbs=[seen(parts)]), resume=tmp_path/str(at), accept='callbacks')
        assert parts==whole

def of_process(folder, mk_own):
    "The state of a run that is done, as if its process had had `mk_own` of that state for itself"
    quiet(mk_learner(), 1, resume=folder)
    s = read_resume_point(newest_checkpoint(folder), mk_learner()).state
    own = mk_own(s)
    _take_own(s, [own], mk_learner(), folder)
    return s,own

def test_the_state_of_one_process_is_read_in_an_older_layout(tmp_path):
    s,own = of_process(tmp_path, lambda s: dict(rng={k:dict(v) for k,v in s['rng'].items()}, loader=dict(n=3), callbacks=dict(noise=dict(seen=.5))))
    assert s['rng'] is own['rng'] and s['loader']==dict(n=3) and s['callbacks']['noise']==dict(seen=.5) and 'recorder' in s['callbacks']

@pytest.mark.parametrize('own,why', [([[['loop', 'epoch'], -1]], 'loop.epoch is -1'), ([[['loop', 'count', 'opt_steps'], 5]], 'is from step 5'),
    ([[['grads'], {}]], 'not a place in a state'), ([[['callbacks'], {}]], 'not a place in a state'), ([[]], 'not a place in a state'),
    ([[[3], 3]], 'not a place in a state'), ([[['a', 'b'], 3]], 'no such place'), ([[['rng']]], "no 'rng'")])
def test_an_impossible_state_of_one_process_is_refused(own, why, tmp_path):
    with pytest.raises(DamagedCheckpoint, match=why): of_process(tmp_path, lambda s: own)

def test_a_run_stopped_within_an_epoch_stays_stopped(tmp_path):
    "Training was stopped before the validation, in which the fit fails and resumes"
    def cb(): return [EarlyStoppingCallback('valid_loss', stopping_threshold=9.), ValidateCallback(every_steps=2)]
    whole = mk_learner(cbs=cb())
    with whole.no_logging(), whole.no_bar(): whole.fit(2)
    assert whole.count.opt_steps==2
    broken = mk_learner(cbs=[*cb(), Callback(name='fails', before_validate=lambda cb: boom(cb) if not cb.learn.inside('evaluate') else None)])
    with broken.no_logging(), broken.no_bar(), pytest.raises(Boom): broken.fit(2, cbs=CheckpointCallback(tmp_path))
    learn = mk_learner(cbs=cb())
    with learn.no_logging(), learn.no_bar(): learn.fit(2, resume=tmp_path, accept='callbacks')
    check(in_sight(learn)['values'], in_sight(whole)['values'])
    assert learn.count.epochs==whole.count.epochs

# --- the history in parts

def test_a_save_writes_as_much_after_a_long_history_as_after_a_short_one(tmp_path, monkeypatch):
    "Bytes, calls for plain data and names that are read: of those that grow, there would be thousands"
    from learnloop.checkpoint import storage
    written,calls,write,plain = [0],[0],HashingFile.write,storage.to_plain
    def count_write(self, b):
        written[0] += len(b)
        return write(self, b)
    def count_calls(*args, **kwargs):
        calls[0] += 1
        return plain(*args, **kwargs)
    monkeypatch.setattr(HashingFile, 'write', count_write)
    monkeypatch.setattr(storage, 'to_plain', count_calls)
    def cost(n):
        learn = mk_learner()
        with learn.no_logging(): learn.fit_one_cycle(1)
        r,res = learn.recorder,[]
        def grow(n):
            for o in (r._raw.tolist(), r._lrs, *r.hps.values()): o += [i/7 for i in range(len(o), len(o)+n)]
            r._sizes += [4]*n
            r.values += [[i/7, None, 2.] for i in range(n)]
            r.iters += range(n)
        grow(n)
        for _ in range(6):
            learn.count.opt_steps += 10
            grow(10)
            written[0] = calls[0] = 0
            learn.save_checkpoint(tmp_path/str(n))
            res.append((written[0], calls[0]))
        a,b = (newest_checkpoint(tmp_path/str(n)).plain()['callbacks']['recorder'][k] for k in ('raw', 'values'))
        assert a==r.raw_losses and b==r.values
        return [max(o) for o in zip(*res[2:], strict=True)]
    few,many = cost(1000),cost(16*1024+1000)
    assert many[0]<few[0]*1.1+9000 and many[1]<few[1]*1.1+99  # names and hashes of parts are the rest

@pytest.mark.parametrize('kwargs', [dict(keep=1), dict(keep=2, background=True), dict(keep=None)], ids=str)
@pytest.mark.parametrize('at', [4, 11, 14])
def test_a_run_whose_history_has_closed_parts_resumes_exactly(at, kwargs, tmp_path, monkeypatch):
    for k,v in dict(part=2, merge=2, most=4).items(): monkeypatch.setattr(Series, k, v)
    def mk(*cbs): return mk_learner(cbs=cbs, train_metrics=True)
    with pytest.raises(Boom): quiet(mk(At('before_step', at, boom)), fit='fit_one_cycle', cbs=CheckpointCallback(tmp_path, every_steps=1, **kwargs))
    saver = CheckpointCallback(tmp_path, every_steps=1, **kwargs)
    learn,whole = quiet(mk(), fit='fit_one_cycle', cbs=saver, resume=tmp_path, accept='callbacks'),quiet(mk(), fit='fit_one_cycle')
    check(state(learn), state(whole))
    there = list_checkpoints(tmp_path)
    assert there[-1].manifest['version']==2 and not any(o.damage for o in there)
    check(state(mk().load_checkpoint(tmp_path))['raw'], state(whole)['raw'])

@pytest.mark.parametrize('event', ['before_augment', 'after_augment'])
def test_an_error_in_a_phase_beside_the_batch_saves_a_checkpoint(tmp_path, event):
    class Augments(Learner, phases=[Phase('augment', inside='train validate')]):
        def one_batch(self, i, b): super().one_batch(i, self.with_events('augment', lambda: b))
    def fail(self):
        if self.training and self.n_done==2: raise ValueError('bug')
    learn = mk_line(cls=Augments, defaults=True)
    with pytest.raises(ValueError, match='bug'):
        learn.fit(1, cbs=[CheckpointCallback(tmp_path, every_epochs=100), Callback(**{event: fail})])
    saved, = list_checkpoints(tmp_path)
    assert not saved.consistent and 'bug' in saved.manifest['error'] and saved.manifest['batch']==2

# --- subclasses that replace pieces of the loop

PIECES = '_do_fit _do_epoch _do_epoch_train _do_epoch_validate all_batches _between _fetch one_batch _do_one_batch _do_loss _do_grad_opt _backward _step _zero_grad'
def through(names):
    "A subclass whose methods call those that they override"
    exec('class Through(Learner):\n    keeps_place = True\n' + '\n'.join(f'    def {o}(self, *args, **kwargs): return super().{o}(*args, **kwargs)' for o in names.split()), globals(), there := {})
    return there['Through']
Through = through(PIECES)

class DoFit(Learner):
    def _do_fit(self):
        for e in range(self.n_epoch):
            self.epoch = e
            self.with_events('epoch', self._do_epoch)
class DoEpoch(Learner):
    def _do_epoch(self):
        self._do_epoch_train()
        self._do_epoch_validate()
class Rollout(Learner):
    keeps_place = True
    def _do_epoch(self):
        super()._do_epoch()
        torch.rand(3)
        if hasattr(self, 'checkpoint'): self.checkpoint.save()
        self.model[0].weight.data.mul_(.9)
class TwoPasses(Learner):
    keeps_place = True
    def _do_epoch_train(self):
        for _ in range(2): super()._do_epoch_train()
class AllBatches(Learner):
    def all_batches(self):
        for i,b in enumerate(self.dl): self.one_batch(i, b)
class OwnCount(Learner):
    "Keeps its count to itself"
    keeps_place = True
    def all_batches(self):
        with Pass(self, self.dl) as batches:
            i = 0
            while self._between() and self.with_events('fetch', self._fetch, batches):
                self.one_batch(i, self.batch)
                i += 1
class CopiedBatches(Learner):
    "As the loop has it"
    keeps_place = True
    def all_batches(self):
        with Pass(self, self.dl) as batches:
            while self._between() and self.with_events('fetch', self._fetch, batches):
                self.one_batch(batches.n_done, self.batch)
                batches.n_done += 1
class Wrapped(CopiedBatches):
    "Takes its batches of another loader"
    keeps_place = True
    def all_batches(self):
        self.dl = FirstBatches(self.dl, 3)
        super().all_batches()
class FetchTwo(Learner):
    "Skips every other batch"
    def _fetch(self, batches): return super()._fetch(batches) and super()._fetch(batches)
class Ahead(Learner):
    "Fetches a batch ahead"
    def _fetch(self, batches):
        self.batch = self.next if self.n_done and hasattr(self, 'next') else next(batches, None)
        self.next = next(batches, None)
        return self.batch is not None
class OneBatch(Learner):
    def one_batch(self, i, b):
        self.iter,self.bs = i,len(b[0])
        self.xb,self.yb = b[:1],b[1:]
        self.with_events('batch', self._do_one_batch)
        drop_batch(self)
REFUSED = DoFit,
WARNED = {DoEpoch:'DoEpoch._do_epoch', AllBatches:'AllBatches.all_batches'}
OTHERS = Through,Rollout,TwoPasses,OwnCount,CopiedBatches,Wrapped,FetchTwo,Ahead,OneBatch
STOPS = dict(first=('before_fetch', 1), batch=('before_fetch', 3), later=('before_fetch', 16), torn=('after_loss', 12), train=('after_train', 2), validate=('before_validate', 2),
    valid=('after_batch', 8), epoch=('after_epoch', 2), begins=('before_epoch', 2))

learns = []
def subclassed(cls, stop=None, cbs=(), how='error', **kwargs):
    learn = mk_learner(plain())
    learn.__class__ = cls
    learns[:] = [learn]
    with warnings.catch_warnings():
        warnings.filterwarnings('ignore', 'the loader has a length')
        return quiet(learn, 2, cbs=[At(*STOPS.get(stop, ('after_fit', None)), boom if how=='error' else lambda cb: signal.raise_signal(signal.SIGINT)), *cbs], **kwargs)

_ends = {}
def end_of(cls):
    if cls not in _ends: _ends[cls] = weights_of(subclassed(cls))
    return _ends[cls]
def weights_of(learn): return {k:v.clone() for k,v in learn.model.state_dict().items()}

@covering(stop=STOPS, cls=[*WARNED, *OTHERS])
def test_a_subclass_that_overrides_a_part_of_the_loop_resumes_exactly(cls, stop, tmp_path):
    def told():
        if cls in (TwoPasses,FetchTwo,Ahead,OwnCount): return warnings.catch_warnings(action='ignore')  # see below
        return pytest.warns(UserWarning, match=f'{WARNED[cls]}.*cannot be resumed in the middle of an epoch.*keeps_place = True') if cls in WARNED else nullcontext()
    saver = dict(cbs=[CheckpointCallback(tmp_path, every_steps=2, every_epochs=1, keep=None)])
    with suppress(Boom), told(): subclassed(cls, stop, **saver, resume=tmp_path)
    with told(): check(weights_of(subclassed(cls, **saver, resume=tmp_path)), end_of(cls))

HOW = [('batch','ctrl_c'), ('later','error'), ('torn','ctrl_c'), ('train','ctrl_c'), ('validate','error'), ('valid','ctrl_c'), ('epoch','ctrl_c')]
@pytest.mark.parametrize('stop,how,cls', cover((*o, cls) for o in HOW for cls in [*WARNED, *OTHERS, *REFUSED]))
def test_a_subclass_resumes_exactly_in_the_same_process_or_says_why_not(cls, stop, how):
    with suppress(Boom,KeyboardInterrupt): subclassed(cls, stop, how=how)
    learn = silent(learns[-1])
    if learn.paused is None:
        with pytest.raises(RuntimeError, match='nothing to resume'): learn.resume()
        assert cls not in REFUSED or cls.__name__ in learn.keeper.why_not or stop in ('torn','train') or how=='ctrl_c'
    else:
        assert cls not in REFUSED
        with warnings.catch_warnings(action='ignore'), learn.no_bar(): learn.resume()
        check(weights_of(learn), end_of(cls))

@pytest.mark.parametrize('kw', [dict(resume='x'), dict(keep_failed=True), dict(cbs=[CheckpointCallback('x')])], ids=str)
@pytest.mark.parametrize('cls', REFUSED, ids=lambda o: o.__name__)
def test_a_fit_whose_place_is_unknown_cannot_save_or_resume(cls, kw, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    name = next(k for k in vars(cls) if k.startswith('_') and not k.startswith('__'))
    with pytest.raises(ValueError, match=rf'{cls.__name__}.{name} overrides a part of the loop.*cannot be resumed at all.*keeps_place = True'): subclassed(cls, **kw)
    assert not [*tmp_path.iterdir()]
    subclassed(cls)

@pytest.mark.parametrize('cls,why', [(TwoPasses, 'this is pass 2 through the data'), (FetchTwo, 'FetchTwo took 2 batches of the loader, but learn.data_pass.n_done is 1'), (Ahead, 'Ahead took 2 batches of the loader, but learn.data_pass.n_done is 1'),
    (OwnCount, 'OwnCount took 1 batches of the loader, but learn.data_pass.n_done is 0')])
def test_a_warning_says_why_no_checkpoint_is_saved_within_an_epoch(cls, why, tmp_path):
    with pytest.warns(UserWarning, match=f'not saved in the middle of epoch 0: {why}') as ws: subclassed(cls, cbs=[CheckpointCallback(tmp_path, every_steps=1)])
    assert len(ws)==1

def test_a_method_set_on_the_learner_counts_as_an_override(tmp_path):
    learn = mk_learner()
    learn._do_fit = lambda: learn.with_events('epoch', learn._do_epoch)
    with pytest.raises(ValueError, match='Learner._do_fit overrides a part'): quiet(learn, resume=tmp_path)

def test_a_subclass_that_cannot_resume_within_an_epoch_refuses_such_a_checkpoint(tmp_path):
    with pytest.raises(Boom): subclassed(Learner, 'later', resume=tmp_path)
    with pytest.warns(UserWarning, match='cannot be resumed in the middle'), pytest.raises(ValueError, match="is in the middle of an epoch, before 'train': AllBatches.all_batches"):
        subclassed(AllBatches, resume=tmp_path)
