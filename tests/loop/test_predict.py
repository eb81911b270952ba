"`learn.predict` of one item: with or without its target, for every kind of loader; a batch is never mistaken for an item"
import pytest, torch
from collections import namedtuple
from helpers import Module, silent
from learnloop import AccumMetric, Callback, DataLoaders, Learner
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset, IterableDataset, default_collate

N,F_IN = 6,4
X,Z = torch.randn(N, F_IN, generator=torch.Generator().manual_seed(0)),torch.arange(N*1.)
Y = torch.arange(N)%3
Pair = namedtuple('Pair', 'x y')

class Graph:
    "An object with its target, as PyTorch Geometric has them; or a batch of them"
    def __init__(self, x, y=None): self.x,self.y = x,y
def to_graphs(items): return Graph(*(None if o[0] is None else torch.stack(o) for o in zip(*((i.x, i.y) for i in items), strict=True)))
def to_pair(items): return torch.stack([o['x'] for o in items]),torch.stack([o['y'] for o in items])

class Net(Module):
    "Scores of three classes for inputs in whatever form"
    def __init__(self):
        torch.manual_seed(0)
        self.l = nn.Linear(F_IN, 3)
        self.seen = []
    def forward(self, x, z=None, y=None):
        self.seen.append(x)
        if isinstance(x, Graph): x = x.x
        if isinstance(x, dict): x,z = x['x'],x.get('z')
        if isinstance(x, (tuple,list)): x,z = x
        if x.dtype==torch.int64: x = nn.functional.one_hot(x, F_IN).float().mean(1)  # tokens, of any number
        return self.l(x if z is None else x+z[:,None].float())

class Items(Dataset):
    "A data set of `items`, of any type"
    def __init__(self, items): self.items,self.n_read = items,0
    def __len__(self): return len(self.items)
    def __getitem__(self, i):
        self.n_read += 1
        return self.items[i]

class Stream(IterableDataset):
    def __init__(self, items): self.items = items
    def __iter__(self): return iter(self.items)

def texts(items):
    "Pad lists of tokens, as a collate function of a tokenizer does"
    xs,ys = zip(*items, strict=True)
    n = max(map(len, xs))
    return torch.stack([nn.functional.pad(torch.as_tensor(x), (0, n-len(x))) for x in xs]),torch.stack(ys)

def to_dict(items): return dict(zip('xy', default_collate(items), strict=True))

TOKENS = [torch.arange(i+2)%F_IN for i in range(N)]
# How an item looks, whole and without its target; the arguments of the loaders; for dicts, a target's name
KINDS = dict(
    tuples  = (lambda i: (X[i], Y[i]), lambda i: X[i], {}),
    lists   = (lambda i: [X[i], Y[i]], lambda i: X[i], {}),
    named   = (lambda i: Pair(X[i], Y[i]), lambda i: X[i], {}),
    arrays  = (lambda i: (X[i].numpy(), int(Y[i])), lambda i: X[i].numpy(), {}),
    two     = (lambda i: (X[i], Z[i], Y[i]), lambda i: (X[i], Z[i]), {}),
    numbers = (lambda i: (X[i], float(Z[i]), int(Y[i])), lambda i: (X[i], float(Z[i])), {}),
    inner   = (lambda i: ((X[i], Z[i]), Y[i]), lambda i: (X[i], Z[i]), {}),
    of_dict = (lambda i: (dict(x=X[i], z=Z[i]), Y[i]), lambda i: dict(x=X[i], z=Z[i]), {}),
    dicts   = (lambda i: dict(x=X[i], z=Z[i], y=Y[i]), lambda i: dict(x=X[i], z=Z[i]), dict(targ='y')),
    n_inp   = (lambda i: (X[i], Z[i]), None, dict(n_inp=2)),
    bare    = (lambda i: X[i], None, {}),
    stacked = (lambda i: X[i], None, dict(collate_fn=torch.stack)),
    graphs  = (lambda i: Graph(X[i], Y[i]), lambda i: Graph(X[i]), dict(targ='y', collate_fn=to_graphs)),
    records = (lambda i: dict(x=X[i], y=Y[i]), None, dict(collate_fn=to_pair)),
    made    = (lambda i: (X[i], Y[i]), None, dict(targ='y', collate_fn=to_dict)),
    tokens  = (lambda i: (TOKENS[i], Y[i]), None, dict(collate_fn=texts)))
LOADERS = dict(map=lambda items, **kw: DataLoader(Items(items), 2, **kw), stream=lambda items, **kw: DataLoader(Stream(items), 2, **kw),
    batches=lambda items, **kw: [*DataLoader(Items(items), 2, **kw)],
    whole=lambda items, **kw: DataLoader(Items([*DataLoader(Items(items), 2, **kw)]), batch_size=None),
    several=lambda items, **kw: DataLoader(Items(items), batch_sampler=[[0,1],[2,3],[4,5]], **kw))

def mk(kind, loader):
    whole,bare,how = KINDS[kind]
    dl = LOADERS[loader]([whole(i) for i in range(N)], **{k:v for k,v in how.items() if k=='collate_fn'})
    return Learner(DataLoaders(dl, device='cpu', **{k:v for k,v in how.items() if k!='collate_fn'}), Net(), nn.functional.cross_entropy),whole,bare

WITH_Z = 'two','numbers','inner','of_dict','dicts','n_inp'
CASES = [(k, l) for k in KINDS for l in LOADERS if 'collate_fn' not in KINDS[k][2] or l in ('map','stream','several')]

@pytest.mark.every(3)
@pytest.mark.parametrize('kind,loader', CASES)
def test_predict_gives_an_item_the_scores_of_its_batch(kind, loader):
    learn,whole,bare = mk(kind, loader)
    rng = torch.get_rng_state()
    for i in range(3):
        x = nn.functional.one_hot(TOKENS[i], F_IN).float().mean(0) if kind=='tokens' else X[i]+Z[i] if kind in WITH_Z else X[i]
        for item in (whole(i), *([bare(i)] if bare else ())):
            decision,scores = learn.predict(item)
            torch.testing.assert_close(scores, learn.model.l(x).detach())
            assert decision.shape==() and decision==scores.argmax(), 'over classes, not rows'
    assert torch.equal(torch.get_rng_state(), rng)

@pytest.mark.every(3, 1)
@pytest.mark.parametrize('kind,loader', [o for o in CASES if o[0] not in ('bare', 'stacked', 'n_inp')])
def test_a_custom_loss_decides_as_for_the_whole_data_set(kind, loader):
    "By the targets of the training set, also for an item without its target"
    learn,whole,bare = mk(kind, loader)
    learn.loss_func = lambda pred, *yb: nn.functional.cross_entropy(pred, *yb)
    want = learn.get_preds(0, with_decoded=True, reorder=False)[2]
    for i in range(3):
        for item in (whole(i), *([bare(i)] if bare else ())): assert torch.equal(learn.predict(item)[0], want[i])

@pytest.mark.parametrize('y', [torch.stack([Z, Z, Z], 1), Z, torch.stack([Y, Y, Y], 1)], ids=['numbers', 'a number', 'counts'])
def test_predict_decides_for_a_custom_loss_only_if_targets_are_classes(y):
    learn = Learner([(X, y)], Net(), lambda pred, *yb: (pred.sum()*0))
    dec,pred = learn.predict(X[0])
    assert torch.equal(dec, pred) and dec.shape==(3,)

BATCHES = dict(tuples=[X[:3], X[:1], (X[:3], Y[:3])], lists=[X[:3], [X[:3], Y[:3]]], named=[Pair(X[:3], Y[:3])], arrays=[X[:3].numpy(), X[:3]],
    two=[(X[:3], Z[:3]), (X[:3], Z[:3], Y[:3]), X[:3]], numbers=[(X[:3], Z[:3])], inner=[(X[:3], Z[:3]), ((X[:3], Z[:3]), Y[:3])],
    of_dict=[dict(x=X[:3], z=Z[:3]), (dict(x=X[:3], z=Z[:3]), Y[:3])], dicts=[dict(x=X[:3], z=Z[:3]), dict(x=X[:1])],
    n_inp=[(X[:3], Z[:3])], bare=[X[:3], X[:1]], tokens=[(torch.stack([TOKENS[0]]*3), Y[:3]), ([[0, 1], [1, 2], [2, 3]], Y[:3])])

@pytest.mark.parametrize('kind,loader', [o for o in CASES if o[0] in BATCHES])
def test_a_batch_is_no_item(kind, loader):
    learn,whole,_ = mk(kind, loader)
    for batch in BATCHES[kind]:
        with pytest.raises(ValueError, match=r'takes one item: .* is [12]-dimensional, but [01]-dimensional in the training set; it looks like a batch: use learn.get_preds'):
            learn.predict(batch)
    with pytest.raises(ValueError, match='is 0-dimensional, but 1-dimensional in .*; pass an item like those'):
        learn.predict(dict(x=X[0, 0]) if kind=='dicts' else ((dict(x=X[0, 0]), Y[0]) if kind=='of_dict' else ((X[0, 0], Z[0]), Y[0]) if kind=='inner' else X[0, 0]))
    assert learn.model.seen==[], 'refused before the model is called'

class Broken(Dataset):
    def __len__(self): return N
    def __getitem__(self, i): raise OSError('no such file')

@pytest.mark.parametrize('dls', [DataLoaders(), DataLoaders(iter([(X, Y)])), DataLoaders(DataLoader(Broken(), 2)), DataLoaders([])], ids=['none', 'iterator', 'broken', 'empty'])
def test_without_an_item_to_compare_with_an_input_is_taken_as_it_is(dls):
    learn = Learner(dls, Net(), nn.functional.cross_entropy)
    torch.testing.assert_close(learn.predict(X[0])[1], learn.model.l(X[0]).detach())
    assert learn.predict((X[0], Z[0]))[1].shape==(3,), 'several inputs'
    learn.dls.n_inp = 1
    torch.testing.assert_close(learn.predict((X[0], Y[0]))[1], learn.model.l(X[0]).detach())

def found(ns): return [torch.randn(n, 2, generator=torch.Generator().manual_seed(i)) for i,n in enumerate(ns)]
BOXES = dict(ragged=found((3, 1, 4, 2, 0, 2, 5)), alike=found((2,)*7))
class Finds(Module):
    "Returns detections for several images: a list or tuple with an element for each image"
    def __init__(self, form, boxes):
        self.form,self.boxes = form,boxes
    def forward(self, x):
        of = [self.boxes[int(i)] for i in x[:, 0]]
        if self.form=='tensors': return of
        return (tuple if self.form=='tuple' else list)(dict(boxes=b, scores=b.sum(1)) for b in of)

@pytest.mark.parametrize('boxes', BOXES)
@pytest.mark.parametrize('form', ['dicts', 'tuple', 'tensors'])
def test_results_of_detectors_stay_with_their_items(form, boxes):
    boxes = BOXES[boxes]
    items = [(torch.tensor([i, 0.]), dict(boxes=b, n=len(b))) for i,b in enumerate(boxes)]
    def collate(os): return torch.stack([x for x,_ in os]),[y for _,y in os]
    for sizes in ((4, 3), (1,)*7, (3, 1, 3)):
        cut = [[*range(sum(sizes[:i]), sum(sizes[:i+1]))] for i in range(len(sizes))]
        learn = Learner(DataLoaders(DataLoader(items, batch_sampler=cut, collate_fn=collate), device='cpu'), Finds(form, boxes))
        preds,targs = learn.get_preds(0, reorder=False)
        if form=='tensors' and boxes[0].shape==boxes[-1].shape and 1 in sizes: continue  # each may be a batch of features
        assert len(preds)==len(targs)==7
        for b,p,y in zip(boxes, preds, targs, strict=True):
            assert torch.equal(p if form=='tensors' else p['boxes'], b) and torch.equal(y['boxes'], b) and y['n']==len(b)
        for o,b in zip(items, boxes, strict=True):
            p = learn.predict(o)[1]
            if form!='tensors': assert torch.equal(p['boxes'], b)


class Refilling:
    "Writes each batch to the same memory"
    def __init__(self): self.x,self.y = torch.empty(4, 3),torch.empty(4, dtype=torch.long)
    def __len__(self): return 3
    def __iter__(self):
        g = torch.Generator().manual_seed(0)
        for _ in range(3):
            self.x.copy_(torch.randn(4, 3, generator=g))
            self.y.copy_(torch.randint(3, (4,), generator=g))
            yield self.x,self.y

@pytest.mark.parametrize('model', [nn.Identity(), nn.Linear(3, 3)], ids=['a view', 'new'])
@pytest.mark.parametrize('cbs', [None, Callback(name='looks', before_batch=lambda cb: None)], ids=['without events', 'with events'])
def test_a_loader_may_write_batches_to_the_same_memory(model, cbs):
    def rate(pred, targ): return (pred.argmax(1)==targ).float().mean()
    fresh,dl = [(x.clone(), y.clone()) for x,y in Refilling()],Refilling()
    learn = silent(Learner(([], dl), model, F.cross_entropy, metrics=AccumMetric(rate, flatten=False)))
    got,want = (learn.get_preds(dl=o, with_input=True, with_loss=True, cbs=cbs) for o in (dl, fresh))
    for a,b in zip(got, want, strict=True): assert torch.equal(a, b)
    assert [*learn.validate(dl=dl)]==[*learn.validate(dl=fresh)]

def test_loaders_may_be_assigned_as_a_tuple_before_an_evaluation():
    learn = silent(Learner([], nn.Linear(3, 3), F.cross_entropy))
    learn.dls = [],[*Refilling()][-1:]
    assert len(learn.get_preds()[0])==4
