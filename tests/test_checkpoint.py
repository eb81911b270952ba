"Fits that go on from a folder: stopped anywhere, they end with the weights, the optimizer, the history and the random numbers of one that never was"
import json, math, os, random, shutil, threading, time, warnings
from copy import deepcopy
from functools import partial
from pathlib import Path
import numpy as np, pytest, torch
from learnloop import (AccumMetric, BnFreeze, Callback, CancelFitException, CheckpointCallback, CutMix, DataLoaders, EarlyStoppingCallback, EMA, GradientAccumulation, GradientClip, GradualUnfreezing, Learner,
    LimitBatches, MCDropoutCallback, MicroBatch, MixedPrecision, MixUp, OverfitBatches, Recorder, ReduceLROnPlateau, ReloadLoaders, SAM, SaveModelCallback, SeededItems, SWA, TorchScheduler, TrackerCallback,
    ValidateCallback, ValidateEvery, WeightAveraging, accuracy, event, list_checkpoints, on, set_seed)
from learnloop.checkpoint import _seek
from learnloop.data import preserve_rng
from learnloop.flow import PHASES
from learnloop.metrics import Metric
from torch import nn
from torch.nn import functional as F
from torch.optim import lr_scheduler as torch_scheds
from torch.utils.data import BatchSampler, DataLoader, Dataset, IterableDataset, RandomSampler, Sampler, TensorDataset

N_EPOCH = 3

@pytest.fixture(autouse=True)
def fast(monkeypatch):
    "Waiting for the disk is tested elsewhere"
    monkeypatch.setattr('os.fsync', lambda fd: None)

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

class ByEpoch(Sampler):
    "Shuffles by the number of the epoch, as a distributed sampler does"
    def __init__(self, n): self.n,self.epoch = n,-1
    def __len__(self): return self.n
    def set_epoch(self, epoch): self.epoch = epoch
    def __iter__(self): return iter(torch.randperm(self.n, generator=torch.Generator().manual_seed(self.epoch)).tolist())

class Stateful:
    "A loader that knows where it is; torch's generators have no part in it"
    def __init__(self, bs): self.bs,self.rand,self.at,self.order = bs,random.Random(5),0,None
    def __len__(self): return len(self.bs)
    def __iter__(self):
        if self.order is None or self.at>=len(self.bs): self.at,self.order = 0,self.rand.sample(range(len(self.bs)), len(self.bs))
        while self.at<len(self.bs):
            self.at += 1
            yield self.bs[self.order[self.at-1]]
        self.order = None
    def state_dict(self): return dict(at=self.at, order=self.order, rand=self.rand.getstate())
    def load_state_dict(self, sd):
        self.at,self.order = sd['at'],sd['order']
        self.rand.setstate(sd['rand'])

def plain(n=22):
    x = torch.linspace(-1, 1, n)[:,None].repeat(1, 3)
    return TensorDataset(x, (x.sum(1)>0).long())

def mk_model(): return nn.Sequential(nn.Linear(3, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(.3), nn.Linear(8, 2))
def mk_loader(ds=None, **kwargs): return DataLoader(ds or plain(), **dict(batch_size=4) | ({} if {'sampler','batch_sampler'} & set(kwargs) or isinstance(ds, Stream) else dict(shuffle=True)) | kwargs)
def mk_learner(ds=None, opt=torch.optim.AdamW, cbs=(), metrics=accuracy, model=mk_model, dl=None, splitter=None, **kwargs):
    set_seed(3)
    model = model()
    dl = mk_loader(ds, **kwargs) if dl is None else dl() if callable(dl) else dl
    return Learner((dl, DataLoader(plain(8), 4)), model, F.cross_entropy, opt(model) if getattr(opt, '__name__', '')=='<lambda>' else opt, lr=.01, cbs=cbs, metrics=metrics,
        **dict(splitter=splitter) if splitter else {})

def by_layer(model): return [list(model[0].parameters())+list(model[1].parameters()), list(model[4].parameters())]

class Tied(nn.Module):
    "Tied weights; buffers that are saved, and that aren't, and decide what comes out"
    def __init__(self):
        super().__init__()
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
    r = learn.recorder
    return dict(model={k:v.clone() for k,v in learn.model.state_dict().items()}, opt=[deepcopy(o.state_dict()) for o in (learn.opt.values() if isinstance(learn.opt, dict) else [learn.opt])],
        buffers={k:v.clone() for k,v in learn.model.named_buffers()}, raw=list(r.raw_losses), lrs=list(r.lrs), values=r.values, records=r.records, hps=r.hps, iters=r.iters, count=vars(learn.count),
        frozen=[p.requires_grad for p in learn.model.parameters()], cbs={o.name:o.state_dict() for o in learn.cbs}, rng=[torch.get_rng_state(), random.getstate(), np.random.get_state(legacy=False)])

def check(a, b, at=''):
    assert type(a) is type(b), f'{at}: {a!r}, {b!r}'
    if isinstance(a, torch.Tensor): assert torch.equal(a, b), at
    elif isinstance(a, np.ndarray): assert (a==b).all(), at
    elif isinstance(a, dict):
        assert a.keys()==b.keys(), f'{at}: {set(a)^set(b)}'
        for k in a: check(a[k], b[k], f'{at}.{k}')
    elif isinstance(a, (list,tuple)):
        assert len(a)==len(b), f'{at}: {len(a)}, {len(b)}'
        for i,(x,y) in enumerate(zip(a, b, strict=True)): check(x, y, f'{at}[{i}]')
    else: assert a==b or (a!=a and b!=b), f'{at}: {a!r}, {b!r}'

class Boom(Exception): pass

class Stop(Callback):
    "Raises at the `n`-th call of `name`, if ever; always there, as the set of callbacks is compared"
    order = 65
    def __init__(self, name='after_batch', n=None):
        super().__init__(name='stop', **{name: Stop.hit})
        self.n,self.seen = n,0
    def hit(self):
        self.seen += 1
        if self.seen==self.n: raise Boom

FITS = dict(fit=lambda learn, **kw: learn.fit(N_EPOCH, **kw), short=lambda learn, **kw: learn.fit(2, **kw), one_cycle=lambda learn, **kw: learn.fit_one_cycle(N_EPOCH, **kw),
    max_steps=lambda learn, **kw: learn.fit(None, max_steps=13, **kw), steps_per_epoch=lambda learn, **kw: learn.fit(N_EPOCH, steps_per_epoch=4, **kw))

def run(make, fit='fit', stop=None, folder=None, cbs=(), **kwargs):
    "A new process, as far as a learner can tell"
    learn = make()
    save = [] if folder is None else [CheckpointCallback(folder, every_steps=kwargs.pop('every', 1), every_epochs=1, keep=None, best=0)]
    with learn.no_logging(), learn.no_bar(): FITS[fit](learn, cbs=[*cbs, Stop(*stop or ()), *save], **dict(resume=folder)|kwargs)
    return learn

def chain(make, fit, stops, folder, **kwargs):
    "Stopped again and again, and gone on with"
    for o in stops:
        with pytest.raises(Boom): run(make, fit, o, folder, **kwargs)
    return run(make, fit, None, folder, **kwargs)

# --- every event

def mk_all(): return mk_learner(Noisy(11), cbs=[GradientAccumulation(n_batches=2), EMA(.5), Counts()], metrics=[accuracy, Total()])

EVENTS = [e for p in PHASES if p.name not in ('after_create','after_record','after_exception','evaluate','sanity','load') for e in p.events if 'cancel' not in e]

@pytest.fixture(scope='module')
def whole_run(tmp_path_factory):
    calls,mp = {},pytest.MonkeyPatch()
    mp.setattr('os.fsync', lambda fd: None)
    def hear(e):
        def f(cb): calls[e] = calls.get(e, 0)+1
        return f
    class Spy(Callback): order = Stop.order
    learn = run(mk_all, 'short', None, tmp_path_factory.mktemp('whole'), cbs=[Spy(name='spy', **{e:hear(e) for e in EVENTS})])
    mp.undo()
    return state(learn),calls

@pytest.mark.parametrize('e', EVENTS)
def test_stopped_at_every_event_it_ends_the_same(e, whole_run, tmp_path):
    want,calls = whole_run
    for n in sorted({1, calls[e]//2+1}):
        learn = chain(mk_all, 'short', [(e, n)], tmp_path/str(n))
        check(state(learn), want, f'{e} {n}')

# --- every setting: a chain of three stops

def workers(ds, **kw): return mk_learner(ds, num_workers=2, **kw)
def two_opts(model): return dict(a=torch.optim.SGD(model[0].parameters(), .1, momentum=.9), b=torch.optim.AdamW([*model[1].parameters(), *model[4].parameters()], .01))
def unfrozen(): return mk_learner(splitter=by_layer, cbs=[GradualUnfreezing({0:-1, 1:0})])
def frozen():
    learn = mk_learner(cbs=[BnFreeze()])
    learn.model[1].requires_grad_(False)
    return learn
class OwnSampler(RandomSampler): "Draws its order from a generator of its own"
def own_sampler(): return mk_learner(sampler=OwnSampler(plain(), generator=torch.Generator().manual_seed(8)))
def own_batches(): return mk_learner(dl=lambda: DataLoader(plain(), batch_sampler=BatchSampler(RandomSampler(plain(), generator=torch.Generator().manual_seed(8)), 4, False)))
def tensors(n=5): return [(torch.randn(4, 3, generator=torch.Generator().manual_seed(i)), torch.randint(0, 2, (4,))) for i in range(n)]

SETUPS = dict(
    plain    = mk_learner,
    noisy    = lambda: mk_learner(Noisy()),
    sgd      = lambda: mk_learner(opt=partial(torch.optim.SGD, momentum=.9)),
    seeded   = lambda: mk_learner(SeededItems(Noisy(), 5)),
    stream   = lambda: mk_learner(Stream(), metrics=None),
    sampler  = own_sampler,
    batches  = own_batches,
    by_epoch = lambda: mk_learner(sampler=ByEpoch(22)),
    loader_g = lambda: mk_learner(generator=torch.Generator().manual_seed(6)),
    stateful = lambda: mk_learner(dl=lambda: Stateful(tensors())),
    listed   = lambda: mk_learner(dl=tensors),
    accum    = lambda: mk_learner(cbs=[GradientAccumulation(10), GradientClip(.5)]),
    ema      = lambda: mk_learner(cbs=[EMA(.5)]),
    swa      = lambda: mk_learner(cbs=[SWA(start_pct=.3, swa_lr=.02)]),
    swa_norm = lambda: mk_learner(Noisy(), cbs=[WeightAveraging(every_epochs=1, buffers='recompute', at_end=False)]),
    bf16     = lambda: mk_learner(cbs=[MixedPrecision('bf16')]),
    fp16     = lambda: mk_learner(cbs=[MixedPrecision('fp16', growth_interval=3), Overflow(), GradientAccumulation(n_batches=2)]),
    mixup    = lambda: mk_learner(cbs=[MixUp(.4)]),
    sam      = lambda: mk_learner(cbs=[SAM()]),
    micro    = lambda: mk_learner(cbs=[MicroBatch(2)]),
    mc       = lambda: mk_learner(cbs=[MCDropoutCallback(), Counts()]),
    plateau  = lambda: mk_learner(cbs=[ReduceLROnPlateau(patience=1), EarlyStoppingCallback(patience=5)]),
    by_step  = lambda: mk_learner(cbs=[TorchScheduler(partial(torch_scheds.StepLR, step_size=2), unit='step'), ValidateCallback(every_steps=4)]),
    by_epoch_sched = lambda: mk_learner(cbs=[TorchScheduler(partial(torch_scheds.ExponentialLR, gamma=.5), unit='epoch'), ValidateEvery(2)]),
    by_value = lambda: mk_learner(cbs=[TorchScheduler(partial(torch_scheds.ReduceLROnPlateau, patience=0), unit='validate')]),
    unfreeze = unfrozen,
    frozen   = frozen,
    two_opts = lambda: mk_learner(opt=lambda model: two_opts(model)),
    tied     = lambda: mk_learner(model=Tied),
    accmet   = lambda: mk_learner(metrics=[AccumMetric(accuracy, flatten=False), Total()]),
    limited  = lambda: mk_learner(cbs=[LimitBatches(4, 1)]),
    overfit  = lambda: mk_learner(Noisy(), cbs=[OverfitBatches(2)]),
    reload   = lambda: mk_learner(cbs=[ReloadLoaders(2, reloaded)]))
EXCLUSIVE = 'plateau', 'by_step', 'by_epoch_sched', 'by_value', 'two_opts', 'swa'  # others set lr
CHAINS = [[('before_backward', 5), ('after_epoch', 1), ('after_batch', 3)], [('before_validate', 1), ('after_batch', 6), ('after_train', 1)], [('after_fetch', 8), ('after_validate', 1), ('before_step', 2)]]

@pytest.mark.parametrize('i,setup', list(enumerate(SETUPS)), ids=SETUPS)
def test_stopped_three_times_it_ends_the_same(i, setup, tmp_path):
    make,fits = SETUPS[setup],[o for o in FITS if o!='short' and (o!='one_cycle' or setup not in EXCLUSIVE)]
    fit = fits[i%len(fits)]
    if setup=='stateful' and fit=='steps_per_epoch': fit = 'fit'
    got = chain(make, fit, CHAINS[i%3], tmp_path, every=2)
    check(state(got), state(run(make, fit)), fit)
