"A fit with several turns that is killed before a batch, or rewound, ends as the uninterrupted one, tables included"
import os, pytest, torch
from functools import cache
from benchmarks.crash import difference as differ
from helpers import quiet
from learnloop import (
    EMA, Callback, CancelBatchException, CheckpointCallback, DataLoaders, GradientAccumulation, Learner, MixedPrecision, Place, Snapshots, on)
from torch import nn
from torch.nn import functional as F

N = 5 # batches of an epoch

class Net(nn.ModuleList):
    def forward(self, x): return self[1](self[0](x).mean(1))

class Turns(Learner):
    "The table's turn has a sparse gradient; `late` has none in the first batches of an epoch, but two from then on"
    def train_batch(self):
        def loss(head): return F.mse_loss(self.model[head](self.model[0](self.x).mean(1)), self.y)
        self.turn(lambda: loss(1), 'table')
        for nm in ('late','again') if self.iter>1 else (): self.turn(lambda: loss(2), 'late', name=nm, counts=nm=='again')

def mk():
    g = torch.Generator().manual_seed(0)
    model = Net([nn.Embedding(5, 3, sparse=True), nn.Linear(3, 1), nn.Linear(3, 1)])
    with torch.no_grad():
        for p in model.parameters(): p.copy_(torch.randn(p.shape, generator=g))
    bs = [(torch.randint(5, (4, 2), generator=g), torch.randn(4, 1, generator=g)) for _ in range(N)]
    opts = dict(table=torch.optim.SGD(model[0].parameters(), lr=.1, momentum=.9), late=torch.optim.Adam([*model[1:].parameters()], lr=.1))
    return Turns(DataLoaders(bs, bs[:2], device='cpu'), model, F.mse_loss, opts)

class Skips(Callback):
    "Cancels *after_batch* before the batch is counted"
    order,run_valid,read_only = -30,False,True
    def after_batch(self):
        if self.learn.iter!=2: raise CancelBatchException

CBS = dict(plain=list, skips=lambda: [Skips()], window=lambda: [GradientAccumulation(n_batches=3)],
    ema=lambda: [EMA(.9)], fp16=lambda: [MixedPrecision('fp16', init_scale=8., growth_interval=2)], fp16_window=lambda: [*CBS['fp16'](), *CBS['window']()])

def dense(state): return [{k:v.to_dense() if isinstance(v, torch.Tensor) and v.is_sparse else v for k,v in s.items()} for s in state.values()]
def fitted(feature, *cbs, **kwargs):
    learn = quiet(mk(), 2, cbs=[*CBS[feature](), *cbs], **kwargs)
    r = learn.recorder
    rows = [dict(zip(r.columns, o, strict=True)) for o in r.values]
    return learn.model.state_dict(),[dense(o.state) for o in learn.opt.values()],rows,vars(learn.count)

@cache
def straight(feature): return fitted(feature)

class Killed(Exception): pass
STEP = 2 if os.environ.get('ALL_CASES') else 4

@pytest.mark.parametrize('feature', CBS)
def test_a_fit_killed_before_a_batch_resumes(feature, tmp_path):
    for n in range(1+[*CBS].index(feature)%STEP, 2*N, STEP):
        def kill(cb, n=n):
            if cb.epoch*N+cb.n_done==n: raise Killed
        with pytest.raises(Killed): fitted(feature, CheckpointCallback(tmp_path/str(n), every_steps=1, keep=99), on('after_fetch')(kill))
        assert not differ(fitted(feature, resume=tmp_path/str(n), accept=['callbacks']), straight(feature)), n

@pytest.mark.parametrize('feature', CBS)
def test_a_fit_rewound_to_a_place_ends_as_without(feature):
    for n in range([*CBS].index(feature)%(STEP//2), N, STEP//2):
        gone = set()
        def back(cb, n=n, gone=gone):
            if cb.iter<N-1 or gone: return
            gone.add(n)
            cb.learn.rewind(to=Place(0, 'train', n))
        assert not differ(fitted(feature, Snapshots(1, keep=99), on('after_loss')(back)), straight(feature)), n

def test_a_fit_rewound_with_other_rates_of_two_optimizers():
    rates,todo = [.02, .03],[dict(to=Place(1, 'train', 2), lr=[.02, .03])]
    def back(cb):
        if (cb.epoch, cb.iter)==(1, 3) and todo: cb.learn.rewind(**todo.pop())
    def change(cb):
        if (cb.epoch, cb.iter)==(1, 2): cb.learn.set_hypers(lr=rates)
    assert not differ(fitted('plain', Snapshots(1, keep=99), on('after_loss')(back)), fitted('plain', on('before_batch')(change)))
