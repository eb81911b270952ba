"Nothing lost: fits that are stopped anywhere go on to the same end, bit for bit"
import random
from functools import partial
import numpy as np, pytest, torch
from learnloop import (AccumMetric, Callback, CheckpointCallback, EarlyStoppingCallback, GradientAccumulation, GradientClip, Learner, MixedPrecision,
    MixUp, ReduceLROnPlateau, SeededItems, TorchScheduler, WeightAveraging, accuracy, event, list_checkpoints, set_seed)
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset, TensorDataset

N_EPOCH = 3

@pytest.fixture(autouse=True)
def fast(monkeypatch):
    "Waiting for the disk is tested elsewhere"
    monkeypatch.setattr('os.fsync', lambda fd: None)

class Noisy(Dataset):
    "Items with noise of all three generators"
    def __init__(self, n=22): self.x = torch.linspace(-1, 1, n)[:,None].repeat(1, 3)
    def __len__(self): return len(self.x)
    def __getitem__(self, i): return self.x[i] + .1*torch.randn(3) + .1*random.random() + .1*float(np.random.rand()),(self.x[i].sum()>0).long()

def plain(n=22):
    x = torch.linspace(-1, 1, n)[:,None].repeat(1, 3)
    return TensorDataset(x, (x.sum(1)>0).long())

def mk_learner(ds=None, opt=torch.optim.AdamW, cbs=(), metrics=accuracy, **kwargs):
    set_seed(3)
    model = nn.Sequential(nn.Linear(3, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(.3), nn.Linear(8, 2))
    dl = DataLoader(ds or plain(), batch_size=4, shuffle=True, **kwargs)
    return Learner((dl, DataLoader(plain(8), 4)), model, F.cross_entropy, opt, lr=.01, cbs=cbs, metrics=metrics)

def state(learn):
    r = learn.recorder
    return dict(model={k:v.clone() for k,v in learn.model.state_dict().items()}, opt=learn.opt.state_dict()['state'], raw=r.raw_losses, lrs=r.lrs, values=r.values,
        iters=r.iters, count=vars(learn.count), cbs={o.name:o.state_dict() for o in learn.cbs})

def check(a, b, at=''):
    assert type(a) is type(b), f'{at}: {a!r}, {b!r}'
    if isinstance(a, torch.Tensor): assert torch.equal(a, b), at
    elif isinstance(a, dict):
        assert a.keys()==b.keys(), at
        for k in a: check(a[k], b[k], f'{at}.{k}')
    elif isinstance(a, (list,tuple)):
        assert len(a)==len(b), f'{at}: {len(a)}, {len(b)}'
        for i,(x,y) in enumerate(zip(a, b, strict=True)): check(x, y, f'{at}[{i}]')
    else: assert a==b or (a!=a and b!=b), f'{at}: {a!r}, {b!r}'

class Stop(Callback):
    "Raises at the `n`-th call of `name`"
    order = 65
    def __init__(self, name, n):
        super().__init__(name='stop', **{name: Stop.hit})
        self.n,self.seen = n,0
    def hit(self):
        self.seen += 1
        if self.seen==self.n: raise Boom

class Boom(Exception): pass

def test_stopped_at_every_event_it_ends_the_same(): pass

SETUPS = dict(
    plain    = lambda: mk_learner(),
    noisy    = lambda: mk_learner(Noisy()),
    sgd      = lambda: mk_learner(opt=partial(torch.optim.SGD, momentum=.9)),
    seeded   = lambda: mk_learner(SeededItems(Noisy(), 5)),
    workers  = lambda: mk_learner(Noisy(), num_workers=2),
    accum    = lambda: mk_learner(cbs=[GradientAccumulation(10), GradientClip(.5)]),
    ema      = lambda: mk_learner(cbs=[WeightAveraging()]),
    swa      = lambda: mk_learner(cbs=[WeightAveraging(every_epochs=1)]),
    bf16     = lambda: mk_learner(cbs=[MixedPrecision('bf16')]),
    mixup    = lambda: mk_learner(cbs=[MixUp(.4)]),
    plateau  = lambda: mk_learner(cbs=[ReduceLROnPlateau(patience=1), EarlyStoppingCallback(patience=5)]),
    sched    = lambda: mk_learner(cbs=[TorchScheduler(partial(torch.optim.lr_scheduler.StepLR, step_size=2), unit='step')]),
    accmet   = lambda: mk_learner(metrics=[AccumMetric(accuracy, flatten=False)]))

FITS = dict(fit=lambda learn, **kw: learn.fit(N_EPOCH, **kw), one_cycle=lambda learn, **kw: learn.fit_one_cycle(N_EPOCH, **kw),
    max_steps=lambda learn, **kw: learn.fit(None, max_steps=13, **kw), steps_per_epoch=lambda learn, **kw: learn.fit(N_EPOCH, steps_per_epoch=4, **kw))

def run(make, fit, cbs=(), **kwargs):
    learn = make()
    with learn.no_logging(), learn.no_bar(): fit(learn, cbs=list(cbs), **kwargs)
    return learn

STOPS = [('before_epoch', 2), ('before_train', 2), ('before_fetch', 4), ('after_fetch', 9), ('before_batch', 5), ('after_pred', 11), ('after_loss', 3), ('before_backward', 8), ('after_backward', 2),
    ('before_step', 5), ('after_step', 3), ('cleanup_step', 4), ('before_zero_grad', 3), ('after_zero_grad', 2), ('after_batch', 10), ('cleanup_batch', 6), ('after_train', 1), ('cleanup_train', 2), ('before_validate', 2),
    ('after_validate', 1), ('cleanup_validate', 2), ('after_epoch', 2), ('cleanup_epoch', 2), ('before_fit', 1), ('after_fit', 1), ('cleanup_fit', 1)]

@pytest.mark.parametrize('fit', FITS)
@pytest.mark.parametrize('setup', SETUPS)
def test_resumed_from_a_folder_it_ends_the_same(setup, fit, tmp_path):
    if fit!='fit' and setup in ('plateau','sched') and fit=='one_cycle': pytest.skip('two owners of lr')
    make,f = SETUPS[setup],FITS[fit]
    want = state(run(make, f))
    name,n = [('before_backward', 9), ('after_batch', 14), ('before_validate', 2), ('after_epoch', 2)][(list(SETUPS).index(setup)+list(FITS).index(fit))%4]
    saver = partial(CheckpointCallback, tmp_path, every_steps=3, every_epochs=1, keep=None)
    with pytest.raises(Boom): run(make, f, [saver(), Stop(name, n)])
    got = run(make, f, [saver()], resume=tmp_path, accept='callbacks')
    check(state(got), want, f'{name} {n}')
