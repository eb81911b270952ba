"The number of items is counted for every kind of batch"
import pytest, torch
from collections import namedtuple
from dataclasses import dataclass
from helpers import Module, silent
from learnloop import Callback, DataLoaders, Learner, MicroBatch, accuracy, find_bs
from learnloop.data.batch import narrow_batch, split_batch
from fastcore.basics import noop
from torch import nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pack_sequence

Fields = namedtuple('Fields', 'x y')
@dataclass
class Data: x:object; y:object
class Custom:
    "As in torch's docs"
    def __init__(self, inp, tgt): self.inp,self.tgt = inp,tgt
    def pin_memory(self): return self
class Graphs:
    "A batch of graphs, as PyTorch Geometric makes them"
    def __init__(self, n, x, y=None): self.num_graphs,self.x,self.edge_index,self.y = n,x,torch.zeros(2, 9),y
    def to(self, device, **kwargs): return self
    def __len__(self): return 3
class Declared:
    def __init__(self, n): self.batch_size = torch.Size([n, 2])

def x(n, *size): return torch.zeros(n, *(size or (3,)))
def tokens(n): return torch.zeros(5*n+3, dtype=torch.int64)
def seqs(n): return pack_sequence([torch.zeros(1+i%3) for i in range(n)], enforce_sorted=False)
def boxes(n): return [dict(boxes=torch.zeros(1+i%3, 4), labels=torch.zeros(1+i%3)) for i in range(n)]
def images(n): return [torch.zeros(3, 4+i, 5) for i in range(n)]

# A batch of `n` items, and how it is split
BATCHES = dict(
    pair=lambda n: ((x(n), x(n)), {}), one=lambda n: (x(n), {}), two=lambda n: ((x(n), x(n, 4), x(n)), {}),
    nested=lambda n: (((x(n), (x(n), x(n))), [x(n)]), {}), mask=lambda n: ((x(n), x(40, 40), x(n)), {}),
    bag=lambda n: ((tokens(n), x(n, 1), x(n)), {}), bag_first=lambda n: ((x(n), tokens(n), x(n)), {}),
    bag_nested=lambda n: (((tokens(n), x(n)), x(n)), {}), bag_deep=lambda n: ((dict(text=tokens(n), offsets=x(n)), x(n)), {}),
    bag_named=lambda n: (dict(text=tokens(n), offsets=x(n), labels=x(n)), dict(targ='labels')),
    bag_own_loss=lambda n: (dict(text=tokens(n), offsets=x(n), labels=x(n)), {}), bag_targ=lambda n: ((x(n), tokens(n), x(n)), dict(targ=0)),
    ctc=lambda n: ((x(n), tokens(n), x(n), x(n)), dict(n_inp=1)), weights=lambda n: ((tokens(n), tokens(n), x(n)), {}),
    nodes=lambda n: ((tokens(n), torch.zeros(2, 9), tokens(n), x(n)), {}), scalar=lambda n: ((x(n), torch.tensor(1.)), {}),
    flat=lambda n: ((x(7, 50), x(n)), {}),
    packed=lambda n: ((seqs(n), x(n)), {}), packed_both=lambda n: ((seqs(n), seqs(n)), {}), packed_alone=lambda n: (seqs(n), {}),
    strings=lambda n: ((['a']*n, x(n)), {}), strings_named=lambda n: (dict(text=['a']*n, meta='b'), {}), words=lambda n: (['a']*n, {}),
    detection=lambda n: ((images(n), boxes(n)), {}), detection_tuples=lambda n: ((tuple(images(n)), tuple(boxes(n))), {}),
    detection_own_loss=lambda n: ((images(n), boxes(n)), dict(n_inp=2)), detection_alike=lambda n: (([x(3, 8)]*n, [dict(boxes=x(3, 4))]*n), dict(n_inp=2)),
    labelled_images=lambda n: ((images(n), x(n)), {}), listed=lambda n: ((x(n), [0]*n), {}),
    fields=lambda n: (Fields(tokens(n), x(n)), {}), data=lambda n: (Data(tokens(n), x(n)), {}), custom=lambda n: (Custom(x(n), x(n)), {}),
    custom_bag=lambda n: (Data(Fields(tokens(n), x(n)), x(n)), {}),
    graphs=lambda n: (Graphs(n, tokens(n)), {}), graphs_y=lambda n: (Graphs(n, tokens(n), x(n)), dict(targ='y')),
    graphs_pair=lambda n: ((Graphs(n, tokens(n)), x(n)), {}), declared=lambda n: (Declared(n), {}),
    function=lambda n: ((tokens(n), tokens(n)), dict(bs_of=lambda b: (len(b[0])-3)//5)))

def fail(*ns): raise AssertionError(ns)

@pytest.mark.parametrize('kind', BATCHES)
def test_items_are_counted(kind):
    for n in (1, 2, 3, 4, 20):
        b,how = BATCHES[kind](n)
        assert find_bs(b, **how, unsure=fail if n>2 else noop)==n, n

# In the loop

def texts(n=20, per=4, seed=0):
    "Batches for an `EmbeddingBag`: tokens of all texts one after the other, offsets, labels"
    g = torch.Generator().manual_seed(seed)
    res = []
    for i in range(0, n, per):
        lens = torch.randint(1, 30, (min(per, n-i),), generator=g)
        labels = torch.arange(i, i+len(lens))%2
        toks = torch.cat([torch.full((k,), int(c)) for k,c in zip(lens.tolist(), labels, strict=True)])
        res.append((toks, torch.cat([torch.zeros(1, dtype=torch.int64), lens.cumsum(0)[:-1]]), labels))
    return res
class Bag(Module):
    def __init__(self):
        self.emb = nn.EmbeddingBag(2, 2, _weight=torch.eye(2)*5)
    def forward(self, tokens, offsets): return self.emb(tokens, offsets)

def mk_learner(batches, model=None, **kwargs):
    return silent(Learner(DataLoaders(batches, batches, device='cpu', **kwargs), model or Bag(), F.cross_entropy, torch.optim.SGD, lr=0., metrics=accuracy))

@pytest.mark.parametrize('per', [3, 7, 20])
def test_texts_in_a_row(per):
    batches = texts(per=per)
    batches[0][2][0] = 1-batches[0][2][0]  # one label of 20 is wrong
    learn = mk_learner(batches)
    with learn.no_bar(): learn.fit(1)
    preds,ys,losses = learn.get_preds(with_loss=True)
    assert learn.count.samples==20 and learn.recorder.values[-1][2]==pytest.approx(.95)
    assert len(losses)==len(preds)==20 and learn.recorder.values[-1][1]==pytest.approx(float(F.cross_entropy(preds, ys)))

def test_texts_in_a_row_are_not_cut():
    learn = mk_learner(texts())
    with learn.no_bar(), pytest.raises(TypeError, match=r"batch of 4 items can't be split.*int64 \(.*GradientAccumulation"): learn.fit(1, cbs=MicroBatch(2))

def test_a_doubtful_result_is_one_warning():
    batches = [dict(a=x(6), b=x(4)), dict(a=x(6), b=x(4))]
    class Sum(Module):
        def __init__(self):
            self.w = nn.Parameter(torch.ones(()))
        def forward(self, a, b): return dict(loss=(a.sum()+b.sum())*self.w)
    learn = mk_learner(batches, Sum())
    learn.loss_func,learn.metrics = None,[]
    with learn.no_bar(), pytest.warns(UserWarning, match='6 rows in one element and 4 in another.*bs_of') as seen: learn.fit(2)
    assert len([o for o in seen if 'bs_of' in str(o.message)])==1 and learn.count.samples==24
    learn = mk_learner(batches, Sum(), bs_of=lambda b: 4)
    learn.loss_func,learn.metrics = None,[]
    with learn.no_bar(): learn.fit(1)
    assert learn.count.samples==8

@pytest.mark.parametrize('n', [0, 1.5, None])
def test_a_number_of_items_is_whole(n):
    learn = mk_learner(texts(), bs_of=lambda b: n)
    with learn.no_bar(), pytest.raises(ValueError, match='bs_of'): learn.fit(1)

@pytest.mark.parametrize('kind', ['pair','nested','mask','packed','strings','detection','listed','labelled_images','packed_both'])
def test_parts_have_their_items(kind):
    for n in (2, 5, 8):
        b = BATCHES[kind](n)[0]
        for o in split_batch(b):
            for at in (slice(0, 1), slice(1, n)):
                part, = narrow_batch(o, at, n)[:1]
                size = len if type(part) is list and kind!='nested' else find_bs  # a list of one image may be its channels
                assert size(part)==at.stop-at.start, (n, part)

CHANGES = dict(
    drops=(lambda x,y: (x[:5], y[:5]), 5), repeats=(lambda x,y: (torch.cat([x, x]), torch.cat([y, y])), 16),
    same=(lambda x,y: (x+1, y.clone()), 8), one_hot=(lambda x,y: (x, F.one_hot(y, 3).float()), 8), names=(lambda x,y: (dict(input=x), y), 8))

@pytest.mark.parametrize('how', CHANGES)
@pytest.mark.parametrize('training', [True, False])
def test_items_are_counted_again_when_a_callback_changes_the_batch(how, training):
    f,n = CHANGES[how]
    data,seen = [(torch.randn(8, 3), torch.arange(8)%3)]*2,[]
    def change(cb): cb.learn.xb,cb.learn.yb = ((o,) for o in f(cb.xb[0], cb.yb[0]))
    cbs = [Callback(name='change', before_batch=change), Callback(name='look', after_loss=lambda cb: seen.append((cb.bs, cb.n_items, cb.rows)))]
    learn = Learner((data, data), nn.Linear(3, 3), lambda p,y: F.cross_entropy(p, y), cbs=cbs, denominator='items')
    with learn.no_bar(), learn.no_logging(): (learn.fit if training else learn.validate)(1)
    assert {o[:2] for o in seen}=={(n, n)} and learn.count.samples==2*n*training
    if n!=8: assert all(rows is None for *_,rows in seen)

def test_a_change_that_may_be_a_transposition_warns_unless_the_number_is_declared():
    data = [(torch.randn(8, 3, 2), torch.arange(24).reshape(8, 3)%2)]
    def time_first(cb): cb.learn.xb,cb.learn.yb = (cb.xb[0].transpose(0, 1),),(cb.yb[0].T,)
    def fit(dls, change=time_first):
        learn = Learner(dls, nn.Linear(2, 2), lambda p,y: F.cross_entropy(p.flatten(0, 1), y.flatten()), denominator='items')
        with learn.no_bar(), learn.no_logging(): learn.fit(1, cbs=Callback(before_batch=change))
        return learn.count.samples
    with pytest.warns(UserWarning, match=r'bs=8 is a guess: a callback changed .*either 8 or 3 .*bs_of=f'): assert fit(data)==8
    assert fit(DataLoaders(data, bs_of=lambda b: len(b[0])))==8
    def tells(cb):
        time_first(cb)
        cb.learn.bs = 3
    assert fit(data, tells)==3
