"A compiled fit that rewinds or resumes ends with exactly the weights of an uninterrupted one"
from functools import partial
import pytest, torch
from fastcore.basics import noop
from learnloop import EMA, Callback, CheckpointCallback, DataLoaders, Learner, Place, Snapshots
from learnloop.data.batch import tensors_in
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

OPTS = dict(adam=torch.optim.AdamW, momentum=partial(torch.optim.SGD, momentum=.9), sgd=torch.optim.SGD)

def fit(opt, *cbs, n=4, items=42, backend='aten', cache=None, **how):
    "Train with dropout, shuffling and an average; the last batch of an epoch is short, so it has no graph at first"
    torch.manual_seed(0)
    x = torch.randn(items, 4)
    model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Dropout(.2), nn.Tanh(), nn.Linear(8, 1))
    y = x.sum(1, True)
    learn = Learner(DataLoaders(DataLoader(TensorDataset(x, y), 4, shuffle=True), [(x, y)]), model, F.mse_loss, OPTS[opt], lr=.02)
    learn.logger = noop
    learn.fuse(backend=backend, cache=cache, check_every=8)
    learn.fit(n, cbs=[EMA(), *cbs], **how)
    return learn

def equal(a, b):
    assert vars(a.count)==vars(b.count) and sum(a.engines.fuser.eager.values())<=5 and not any(g.failed for g in a.engines.fuser.graphs)
    for o in (a, b): assert all(p.isfinite().all() for p in o.model.parameters())
    x,y = ([*o.model.state_dict().items(), *((k, v) for i,s in o.opt.state_dict()['state'].items() for k,v in s.items()),
        *enumerate(tensors_in(o.saved))] for o in (a, b))
    assert len(x)==len(y)
    for (k,v),(_,w) in zip(x, y, strict=True): assert torch.equal(v, w), k

def once(at, f):
    "Return a callback that calls `f` after the batch at `at`, in the first attempt"
    def after_batch(cb):
        learn = cb.learn
        if learn.training and (learn.epoch, learn.iter)==at and not learn.keeper.attempt: f(learn)
    return Callback('once', after_batch=after_batch)
def halved(to): return once((to.epoch, to.batch-1), lambda learn: learn.set_hypers(lr=.01))

PLACES = dict(sgd=((2, 6), Place(1, 'train', 2)), momentum=((1, 9), Place(0, 'train', 4)), adam=((3, 10), Place(2, 'train', 10)))

@pytest.mark.every(3, 1)
@pytest.mark.parametrize('opt', OPTS)
def test_a_compiled_fit_rewinds(opt, tmp_path):
    at,to = PLACES[opt]
    plain = fit(opt, halved(to))
    for keep in (Snapshots(4, keep=20), CheckpointCallback(tmp_path, every_steps=4, keep=20)):
        learn = fit(opt, keep, once(at, lambda learn: learn.rewind(to, lr=.01)))
        assert learn.keeper.attempt
        equal(learn, plain)

def test_a_compiled_fit_rewinds_to_its_start():
    learn = fit('sgd', Snapshots(4, keep=20), once((1, 3), lambda learn: learn.rewind(Place(0))))
    equal(learn, fit('sgd'))

def test_a_compiled_fit_rewinds_on_the_real_compiler(tmp_path):
    plain,to = fit('adam', halved(Place(1, 'train', 2)), items=40, backend='inductor', cache=tmp_path),Place(1, 'train', 2)
    learn = fit('adam', Snapshots(4, keep=20), once((2, 6), lambda learn: learn.rewind(to, lr=.01)), items=40, backend='inductor', cache=tmp_path)
    equal(learn, plain)

@pytest.mark.every(3, 2)
@pytest.mark.parametrize('opt', OPTS)
def test_a_compiled_fit_resumes(opt, tmp_path):
    "In another learner, with another graph"
    plain = fit(opt, items=40)
    fit(opt, CheckpointCallback(tmp_path, every_steps=7), n=2, items=40)
    equal(fit(opt, items=40, resume=tmp_path), plain)
