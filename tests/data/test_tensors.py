"Loaders of tensor rows: the batches and draws of PyTorch's loader (`test_rows` and `test_prefetch` resume fits with them)"
import numpy as np, pytest, torch
from helpers import check, covering, silent
from learnloop import DataLoaders, Learner, TensorLoader, in_order, set_seed
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Subset, TensorDataset

def gen(seed): return None if seed is None else torch.Generator().manual_seed(seed)
def data(n=14):
    x = torch.linspace(-1, 1, n)[:,None].repeat(1, 3)
    return x,(x.sum(1)>0).long()

def trail(dl, g, n_pass=2):
    "All batches of a few passes, with the states of the generators before each fetch and after it"
    set_seed(5)
    res = []
    def note(): res.append((torch.get_rng_state(), g.get_state() if g else None))
    for _ in range(n_pass):
        note()
        batches = iter(dl)
        note()
        for b in batches:
            res.append(tuple(b))
            note()
        note()
    return res

@covering(2, n=[1, 4, 9, 12], bs=[1, 4, 20], drop=[False, True], shuffle=[False, True], seed=[None, 3])
def test_batches_and_draws_match_pytorch_at_each_fetch(n, bs, drop, shuffle, seed):
    x,y = data(n)
    a,b = gen(seed),gen(seed)
    ours = TensorLoader((x, y), bs, shuffle, drop, a)
    theirs = DataLoader(TensorDataset(x, y), batch_size=bs, shuffle=shuffle, drop_last=drop, generator=b)
    assert len(ours)==len(theirs)
    check(trail(ours, a), trail(theirs, b))

def test_rows_match_pytorch_subset():
    x,y = data(20)
    dls = DataLoaders.from_tensors((x, y), valid_pct=.25, bs=4, device='cpu')
    rows,own = dls.train.rows,dls.valid.rows
    assert sorted([*rows.tolist(), *own.tolist()])==list(range(20)) and len(own)==5
    check(trail(dls.train, None), trail(DataLoader(Subset(TensorDataset(x, y), rows.tolist()), batch_size=4, shuffle=True), None))
    again = DataLoaders.from_tensors((x, y), valid_pct=.25, bs=4, device='cpu')
    assert torch.equal(again.valid.rows, own) and not torch.equal(DataLoaders.from_tensors((x, y), valid_pct=.25, seed=1).valid.rows, own)
    check([tuple(b) for b in DataLoader(dls.train_ds, 4)], [tuple(b) for b in in_order(dls.train)])

def mk_learner(dl, valid=None, cbs=()):
    set_seed(3)
    model = nn.Sequential(nn.Linear(3, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(.3), nn.Linear(8, 2))
    return silent(Learner(DataLoaders(dl, valid, device='cpu'), model, F.cross_entropy, lr=.01, cbs=cbs))

def test_names_rows_and_arrays():
    dls = DataLoaders.from_tensors(dict(a=np.arange(6.), b=torch.arange(6)), bs=4, shuffle=False, targ='b', device='cpu')
    check([*dls.train], [dict(a=torch.arange(4.).double(), b=torch.arange(4)), dict(a=torch.tensor([4.,5.]).double(), b=torch.tensor([4,5]))])
    check([*DataLoader(dls.train_ds, 4)], [*dls.train])
    dls = DataLoaders.from_tensors((torch.arange(6),), None, (torch.arange(2),), valid_bs=1, device='cpu')
    assert dls.names==['train','dl2'] and len(dls.dl2)==2 and DataLoaders.from_tensors((torch.ones(2, device='meta'),)).device.type=='meta'

def test_predictions_come_in_order_and_of_all_rows():
    x,y = data()
    learn = mk_learner(TensorLoader((x, y), 4, True, drop_last=True))
    preds,targs = learn.get_preds(0)
    learn.model.eval()
    assert torch.equal(targs, y)
    torch.testing.assert_close(preds, learn.model(x).detach())
    assert learn.predict(x[0])[1].shape==(2,)
    dl = TensorLoader((x, y), 4)
    assert in_order(dl) is dl and [len(b[0]) for b in in_order(TensorLoader((x, y), 4, drop_last=True))]==[4,4,4,2]

def test_what_is_refused():
    x,y = data()
    for e,msg,args,kwargs in ((TypeError, 'train=float32.*such as', (x, y), {}), (ValueError, "different numbers of rows, 14, 3", (dict(a=x, b=y[:3]),), {}),
        (TypeError, "1 of train is int", ((x, 3),), {}), (TypeError, '0 of valid', ((x, y), (torch.tensor(1.), y)), {}),
        (ValueError, 'pass only one of them', ((x, y), (x, y)), dict(valid_pct=.1)), (ValueError, 'of 14 rows', ((x, y),), dict(valid_pct=.01)),
        (ValueError, 'bs is 0|bs', ((x, y),), dict(bs=0)), (TypeError, 'such as', ((),), {})):
        with pytest.raises(e, match=msg): DataLoaders.from_tensors(*args, **kwargs)
