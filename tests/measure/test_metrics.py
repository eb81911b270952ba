"Metrics over uneven batches equal those of all items at once, by scikit-learn, scipy, torchmetrics or a formula"
import pickle
from contextlib import nullcontext
from copy import copy, deepcopy
from functools import partial
from types import SimpleNamespace
import numpy as np, pytest, sklearn.metrics as skm, torch, torchmetrics as tm
from fastcore.nbio import read_nb
from helpers import Module, covering, mk_learner
from hypothesis import given, strategies as st
from learnloop.measure import metrics as M
from learnloop.data.loaders import DataLoaders
from learnloop.loop.learner import Learner
from learnloop.measure.metric import *
from learnloop.measure.metrics import *
from learnloop.measure.series import *
from pathlib import Path
from scipy import stats
from torch import nn
from torch.nn import functional as F

SPLITS = [(40,), (16, 16, 8), (39, 1), (1, 2, 37), tuple([3]*13+[1])]
NB = Path(__file__).parents[2]/'nbs'/'measure'/'00_metrics.ipynb'

def notebook_table():
    "The table of fastai's names in the notebook, and the functions beside it"
    cells = [''.join(c.source) for c in read_nb(NB).cells if c.cell_type=='code']
    scope = dict(vars(M), SimpleNamespace=SimpleNamespace, F=F, torch=torch)
    for c in cells:
        if '\nFASTAI = ' in c or 'def examples(' in c: exec(c, scope)
    return scope
NOTEBOOK = notebook_table()
DATA = NOTEBOOK['examples']()

def in_batches(m, pred, targ, split, loss=None):
    "The value of a metric, computed in batches of the sizes in `split`"
    m, = mk_metrics(m)
    m.reset()
    for p,y in zip(pred.split(split), targ.split(split), strict=True):
        l = loss(p, y) if loss else torch.zeros(())
        m.accumulate(SimpleNamespace(pred=p, yb=(y,), y=y, bs=len(y), loss=l, loss_grad=l))
    return m.value

def np_(*ts): return [o.numpy() for o in ts]
def two(f, **kw): return lambda p, y: f(*np_(y, p.argmax(1)), **kw)
def yes_no(f, **kw): return lambda p, y: f(*np_(y, p.sigmoid()>=.5), **kw)
def flat(f, **kw): return lambda p, y: f(*np_(y.flatten(), p.flatten()), **kw)
def overlap(p, y):
    p,y = (p.argmax(1)==1).numpy(),(y==1).numpy()
    return (p&y).sum(),p.sum()+y.sum()
def per_class(f): return lambda p, y: np.mean([f((p.argmax(1)==c).numpy().ravel(), (y==c).numpy().ravel()) for c in range(4)])
def text(ids): return [' '.join(map(str, o.tolist())) for o in ids]
macro = dict(average='macro')
BY_HAND = dict(  # chkstyle: ignore-node
    APScoreBinary     = lambda p, y: skm.average_precision_score(*np_(y, p.softmax(1)[:,1])),
    APScoreMulti      = lambda p, y: skm.average_precision_score(*np_(y, p.sigmoid())),
    BalancedAccuracy  = two(skm.balanced_accuracy_score),
    BrierScore        = lambda p, y: ((p.softmax(1)[:,1]-y)**2).mean().item(),
    BrierScoreMulti   = lambda p, y: ((p.sigmoid()-y)**2).mean().item(),
    CohenKappa        = two(skm.cohen_kappa_score),
    F1Score           = two(skm.f1_score),
    F1ScoreMulti      = yes_no(skm.f1_score, **macro),
    FBeta             = two(skm.fbeta_score, beta=2),
    FBetaMulti        = yes_no(skm.fbeta_score, beta=2, **macro),
    HammingLoss       = lambda p, y: (p.argmax(1)!=y).float().mean().item(),
    HammingLossMulti  = lambda p, y: ((p>=0)!=y).float().mean().item(),
    Jaccard           = two(skm.jaccard_score, **macro),
    JaccardMulti      = yes_no(skm.jaccard_score, **macro),
    MatthewsCorrCoef  = two(skm.matthews_corrcoef),
    MatthewsCorrCoefMulti = lambda p, y: np.corrcoef(*np_((p>=0).flatten(), y.flatten()))[0,1],
    Precision         = two(skm.precision_score, **macro),
    PrecisionMulti    = yes_no(skm.precision_score, **macro),
    Recall            = two(skm.recall_score, **macro),
    RecallMulti       = yes_no(skm.recall_score, **macro),
    RocAuc            = lambda p, y: skm.roc_auc_score(*np_(y, p.softmax(1)), multi_class='ovr'),
    RocAucBinary      = lambda p, y: skm.roc_auc_score(*np_(y, p[:,1]-p[:,0])),
    RocAucMulti       = lambda p, y: skm.roc_auc_score(*np_(y, p)),
    ExplainedVariance = lambda p, y: 1-((y-p).var()/y.var()).item(),
    R2Score           = lambda p, y: 1-(((y-p)**2).mean()/y.var(correction=0)).item(),
    PearsonCorrCoef   = lambda p, y: np.corrcoef(*np_(p.flatten(), y.flatten()))[0,1],
    SpearmanCorrCoef  = lambda p, y: np.corrcoef(*map(stats.rankdata, np_(p.flatten(), y.flatten())))[0,1],
    Dice              = lambda p, y: 2*overlap(p, y)[0]/overlap(p, y)[1],
    DiceMulti         = per_class(lambda p, y: 2*(p&y).sum()/(p.sum()+y.sum())),
    JaccardCoeff      = lambda p, y: overlap(p, y)[0]/(overlap(p, y)[1]-overlap(p, y)[0]),
    JaccardCoeffMulti = per_class(lambda p, y: (p&y).sum()/(p|y).sum()),
    CorpusBLEUMetric  = lambda p, y: tm.functional.text.bleu_score(text(p.argmax(-1)), [[o] for o in text(y)]).item(),
    Perplexity        = lambda p, y: F.cross_entropy(p.flatten(0, -2), y.flatten()).exp().item())

@covering(split=SPLITS, name=BY_HAND)
def test_a_row_of_the_table_is_exact_whatever_the_batches(name, split):
    kind,code = NOTEBOOK['FASTAI'][name].split(': ', 1)
    pred,targ = DATA[kind]
    loss = (lambda p, y: F.cross_entropy(p.flatten(0, -2), y.flatten())) if kind=='texts' else None
    assert in_batches(eval(code, NOTEBOOK), pred, targ, split, loss)==pytest.approx(BY_HAND[name](pred, targ), rel=2e-5)  # float32

FUNCTIONS = dict(  # chkstyle: ignore-node
    accuracy         = ('four', accuracy, two(skm.accuracy_score)),
    error_rate       = ('four', error_rate, lambda p, y: 1-skm.accuracy_score(*np_(y, p.argmax(1)))),
    top_k_accuracy   = ('four', partial(top_k_accuracy, k=2), lambda p, y: skm.top_k_accuracy_score(*np_(y, p), k=2)),
    accuracy_multi   = ('multi', accuracy_multi, lambda p, y: ((p>0)==y).float().mean().item()),
    accuracy_multi_probs = ('multi', partial(accuracy_multi, sigmoid=False, thresh=.3), lambda p, y: ((p>.3)==y).float().mean().item()),
    foreground_acc   = ('image4', foreground_acc, lambda p, y: (p.argmax(1)==y)[y!=0].float().mean().item()),
    foreground_acc_2 = ('image4', partial(foreground_acc, bkg_idx=2), lambda p, y: (p.argmax(1)==y)[y!=2].float().mean().item()),
    mse  = ('numbers', mse, flat(skm.mean_squared_error)),
    mae  = ('numbers', mae, flat(skm.mean_absolute_error)),
    rmse = ('numbers', rmse, flat(skm.root_mean_squared_error)),
    msle = ('positive', msle, flat(skm.mean_squared_log_error)),
    exp_rmspe = ('numbers', exp_rmspe, lambda p, y: (((y.exp()-p.exp())/y.exp())**2).mean().sqrt().item()))
DATA['positive'] = tuple(o.abs() for o in DATA['numbers'])

@covering(split=SPLITS, name=FUNCTIONS)
def test_metrics_averaged_per_batch_give_wrong_epoch_values(name, split):
    kind,f,want = FUNCTIONS[name]
    pred,targ = DATA[kind]
    assert in_batches(f, pred, targ, split)==pytest.approx(want(pred, targ), rel=2e-5)  # float32
    assert float(f(pred, targ))==pytest.approx(want(pred, targ), rel=2e-5)

def test_functions_refuse_wrong_shapes():
    with pytest.raises(ValueError, match='k is 5: it must be 1 to 3'): top_k_accuracy(torch.zeros(2, 3), torch.zeros(2))
    with pytest.raises(ValueError, match='differ in shape'): top_k_accuracy(torch.zeros(2, 3), torch.zeros(2, 1), k=1)
    for f in (accuracy_multi, rmse, msle, exp_rmspe):
        with pytest.raises(ValueError, match='differ in number'): f(torch.zeros(3), torch.zeros(4))

def test_accum_metric_knows_its_name_and_its_limits():
    def f(pred, targ, scale): return scale*(pred-targ).abs().max()
    assert AccumMetric(f, scale=2).name=='f' and AccumMetric(partial(f, scale=2)).name=='f' and AccumMetric(f, name='g').name=='g'
    assert in_batches(AccumMetric(f, scale=2), torch.ones(4), torch.zeros(4), (3, 1))==2
    assert AccumMetric(f).value is None
    with pytest.raises(ValueError, match="'no', 'sigmoid'"): AccumMetric(f, activation='tanh')
    with pytest.raises(TypeError, match='DictMetric'): AccumMetric(f).check(0)
    with pytest.raises(TypeError, match='the batch has 2'): AccumMetric(f).check(2)
    AccumMetric(f).check(1)

def test_a_metric_of_all_items_gets_one_list_of_them():
    "As detectors predict: a dict for each item; with as many boxes as an item has"
    items = [(torch.randn(3, 4+i%3), dict(boxes=torch.rand(i%3+1, 4))) for i in range(11)]
    batches = [tuple(zip(*items[i:i+3], strict=True)) for i in range(0, 11, 3)]
    class Detector(nn.Linear):
        def forward(self, images, targets): return [dict(boxes=self.weight+o.mean()) for o in images]
    def apart(preds, targs): return sum((a['boxes'][0]-b['boxes'].mean(0)).abs().sum().item() for a,b in zip(preds, targs, strict=True))
    learn = Learner(DataLoaders(batches, n_inp=2, targ=1), Detector(4, 1), metrics=AccumMetric(apart))
    want = apart(learn.model(*zip(*items, strict=True)), [t for _,t in items])
    assert learn.validate(dl=batches)[-1]==pytest.approx(want)

def test_scikit_learn_by_name_or_function():
    assert skm_metric('f1_score').func is skm.f1_score and skm_metric(skm.f1_score, name='f1').name=='f1'
    with pytest.raises(ValueError, match="no metric 'nothing'"): skm_metric('nothing')

def test_scikit_learn_is_imported_only_when_used(monkeypatch):
    monkeypatch.setitem(__import__('sys').modules, 'sklearn', None)
    monkeypatch.setitem(__import__('sys').modules, 'sklearn.metrics', None)
    with pytest.raises(ImportError, match='pip install'): skm_metric('f1_score')

@pytest.mark.parametrize('do_neg', [True, False])
def test_optim_metric_finds_the_best_of_a_grid(do_neg):
    pred,targ = torch.rand(200),torch.randint(2, (200,)).bool()
    def f1(pred, targ, thresh): return skm.f1_score(*np_(targ, pred>thresh), zero_division=0.)
    f = optim_metric(f1, 'thresh', (.2, .7), tol=.05, do_neg=do_neg, get_x=True)
    grid = np.linspace(.2, .7, 11)
    vals = [f1(pred, targ, x) for x in grid]
    best,x = f(pred, targ)
    assert best==(max if do_neg else min)(vals) and x==pytest.approx(grid[vals.index(best)])
    g = optim_metric(f1, 'thresh', (.2, .7), tol=.05, do_neg=do_neg)
    assert mk_metrics(g)[0].name=='opt_f1' and in_batches(g, pred, targ, (150, 50))==best

class TwoLosses(nn.Module):
    def forward(self, pred, y):
        self.l1,self.l2 = (pred-y).abs().mean(),(pred-y).square().mean()
        return self.l1+self.l2

def test_loss_metrics_read_the_loss_functions_attributes():
    bs = [(torch.randn(n, 2), torch.randn(n, 1)) for n in (4, 1)]
    learn = mk_learner(defaults=True, dls=DataLoaders(bs, bs, device='cpu'), loss_func=TwoLosses(),
        metrics=LossMetrics('l1, l2', 'first,second')+[F.l1_loss])
    with learn.no_logging(): learn.fit(1)
    loss,a,b,l1 = learn.validate()
    assert a==pytest.approx(l1) and a+b==pytest.approx(loss) and learn.recorder.valid_names[1:3]==['first', 'second']
    assert [o.name for o in LossMetrics(['a', 'b'])]==['a', 'b'] and LossMetric('l1').name=='l1'
    with pytest.raises(ValueError): LossMetrics('a,b', 'c')
    learn.metrics = [LossMetric('l3')]
    with pytest.raises(AttributeError, match='l3'): learn.validate()

@pytest.mark.parametrize('block', (1, 2, 3, 256))
def test_scalars_of_any_kind_are_floats_in_their_order(block):
    s,v = Scalars(block=block),torch.tensor(.1, dtype=torch.float64)
    for o in (v, torch.tensor(2), True, v, torch.tensor(2), torch.tensor(7), torch.tensor([3., 5.]), torch.tensor([8.])): s.append(o)
    assert len(s)==8 and s.tolist()==[.1, 2., 1., .1, 2., 7., 4., 8.] and set(map(type, s.tolist()))=={float}

class Out(dict): __getattr__ = dict.get
class DictModel(Module):
    def __init__(self, **kw):
        self.l = nn.Linear(4, 3)
    def forward(self, x, labels):
        logits = self.l(x)
        return Out(loss=F.cross_entropy(logits.flatten(0, -2), labels.flatten()), logits=logits)

def dict_batches(*sizes):
    g = torch.Generator().manual_seed(0)
    return [dict(x=torch.randn(n, 4, generator=g), labels=torch.randint(3, (n,), generator=g)) for n in sizes]

def test_dict_metric_refuses():
    bs = dict_batches(4)
    def refuses(m, exc, match):
        learn = Learner(DataLoaders(bs, bs, device='cpu'), DictModel(), metrics=m)
        with learn.no_logging(), pytest.raises(exc, match=match): learn.fit(1)
    refuses(accuracy, TypeError, r'use DictMetric\(accuracy\)')
    refuses(DictMetric(accuracy, pred='scores'), ValueError, "no 'scores' in the model's output")
    refuses(DictMetric(accuracy, targ='targets'), ValueError, "no 'targets' in the batch")
    with pytest.raises(ValueError, match='takes one metric, not 2'): DictMetric([accuracy, error_rate])

# --- series

row = st.lists(st.none() | st.integers(-2**70, 2**70) | st.floats(allow_nan=False), max_size=3)
values = st.floats(allow_nan=False) | st.integers(-9, 2**64) | st.none() | row | st.dictionaries(st.text(max_size=2), row, max_size=2)
OPS = dict(append=lambda o, v, i: o.append(v), extend=lambda o, v, i: o.extend([v]*(i%9)), iadd=lambda o, v, i: o.__iadd__([v]*(i%9)),
    setitem=lambda o, v, i: o.__setitem__(slice(i, i+1), [v]), insert=lambda o, v, i: o.insert(i, v), pop=lambda o, v, i: o and o.pop(i%len(o)),
    delete=lambda o, v, i: o.__delitem__(slice(i, None)), remove=lambda o, v, i: o and o.remove(o[0]),
    reverse=lambda o, v, i: o.reverse(), imul=lambda o, v, i: o.__imul__(i%3), clear=lambda o, v, i: o.clear())

class Small(Series): part,merge,most = 4,2,16

@given(st.lists(st.tuples(st.sampled_from([*['extend']*9, *OPS]), values, st.integers(0, 40), st.booleans()), max_size=30))
def test_point_27_a_series_is_a_list_whose_states_do_not_change(ops):
    a,b,states = Small(),[],[]
    for nm,v,i,look in ops:
        OPS[nm](a, v, i)
        OPS[nm](b, deepcopy(v), i)
        if look: states.append((a.frozen(), deepcopy(b)))
    assert a==b and repr(a)==repr(b) and isinstance(a, list)
    for now,was in states:
        assert now==was and was==now and len(now)==len(was) and list(now)==was and deepcopy(now) is now
        sizes = [len(o) for o in now.parts]
        assert len(now.rest)<4 and set(sizes)<={4, 8, 16} and sizes.count(4)<2
        for o in (Small(now), copy(Small(now)), deepcopy(Small(now)), pickle.loads(pickle.dumps(Small(now)))):
            assert o==was
            o.append(1)
            assert o.frozen()==[*was, 1] and now==was

def test_point_27_the_state_of_a_series_shares_its_closed_parts():
    s = Series(float(i) for i in range(20*Series.part))
    a = s.frozen()
    s.append(.5)
    b = s.frozen()
    assert all(p is q for p,q in zip(a.parts, b.parts, strict=True)) and not a.rest and b.rest==[.5]

def test_point_27_rows_that_change_later_do_not_change_a_state():
    s = Series([i] for i in range(Series.part+1))
    now = s.frozen()
    s[0].append('x')
    s[-1].append('y')
    assert now[0]==[0] and now[-1]==[Series.part] and Series(now)[0] is not now[0]

def test_point_27_a_state_is_plain_data_unless_it_is_shared():
    s = Series([.5]*3*Series.part)
    a = s.state()
    with shared_parts(): b = s.state()
    assert type(a) is list and type(s.state()) is list and a==b==s and [len(o) for o in b.parts]==[Series.part]*3
    with pytest.raises(KeyError), shared_parts(): raise KeyError
    assert type(s.state()) is list

class Others:
    "Peers of a process, of which the others have `rows` to hand on"
    def __init__(self, *rows): self.rows = rows
    def gather(self, o): return [o, *self.rows]

def test_together():
    m = AvgMetric(accuracy)
    m.vals,m.sizes = Scalars([.1, .2, .3]),Series([1, 2, 3])
    joint = m.joint(Others(dict(vals=[.4, .5], sizes=[4, 5]), dict(vals=[], sizes=[])))
    assert joint.vals.tolist()==[.1, .4, .2, .5, .3] and joint.sizes==[1, 4, 2, 5, 3] and type(joint.sizes) is Series
    assert m.vals.tolist()==[.1, .2, .3] and m.n_listed==3
    m.together(Others(dict(vals=[.4], sizes=[4])), n_before=2)  # a checkpoint had the first two
    assert m.vals.tolist()==[.1, .2, .3, .4]
    d = Dice()
    d.overlap,d.areas = 0,0  # had no part in any batch
    d.together(Others(dict(overlap=torch.tensor(3), areas=torch.tensor(8))))
    assert d.value==6/8
    s = AvgSmoothLoss()
    for bs,v in ((2, 3.), (1, 1.)): s.accumulate(SimpleNamespace(loss=torch.tensor(v), loss_grad=1, bs=bs, n_items=3))
    s.together(Others([(1., 1), (4., 2)]))
    torch.testing.assert_close(torch.tensor(s.vals.tolist()), torch.tensor([(2*3+1)/3, (1+2*4)/3]))

class Odd(Metric):
    def reset(self): self.vals,self.n = [1.],2
    def accumulate(self, learn): pass
    value = 1

@pytest.mark.parametrize('sync,error,text', [
    (None, TypeError, "metric odd does not declare how .* Give Odd a `sync`"), (dict(n='all'), ValueError, "'all' for n: it must be 'batches' or 'sum'"),
    (dict(n='batches'), TypeError, "'batches' for n, int, but that is for lists"), (dict(vals='sum'), TypeError, "'sum' for vals, .* for numbers and tensors")])
def test_metrics_that_cannot_be_combined_are_refused(sync, error, text):
    m = Odd()
    m.sync = sync
    m.reset()
    with pytest.raises(error, match=text):
        m.check_sync()
        m.together(Others(dict(n=1, vals=[])))

def test_a_metric_may_combine_itself():
    class Own(Odd):
        def together(self, team, n_before=0): self.n = team
    Own().check_sync()
    m = DictMetric(Own)
    m.check_sync()
    m.together(3)
    assert m.metric.n==3
    with pytest.raises(TypeError, match='only those of torchmetrics'): TorchMetric(SimpleNamespace(update=1, compute=1, reset=1)).check_sync()

@pytest.mark.parametrize('n', [0, 1023, 1024, 2500, 3000])
def test_a_series_with_another_end_keeps_the_parts_before_it(n):
    s = Series(range(3000))
    parts = s.frozen().parts
    s.end_with([.5], n)
    assert s==[*range(n), .5] and [*s.frozen()]==[*s]
    kept = s.frozen().parts
    assert [a is b for a,b in zip(parts, kept, strict=False)][:n//1024]==[True]*(n//1024)
    v = Scalars(range(3000))
    v.append(torch.tensor(3.))
    v.tolist().end_with([.5], n)
    assert v.tolist()==s and len(v)==n+1

# ---- inputs of the wrong shape or kind: an error, or the right number

SCORES = torch.tensor([[2., -1., 0.], [0., 3., 1.], [1., 0., 2.], [-1., 0., 1.], [3., 1., 2.], [0., 1., -2.]])
CLASSES = torch.tensor([0, 1, 2, 0, 0, 2])  # 4 of 6 are right
LOGITS,YES = torch.tensor([2., -1., .5, -.5, 3., -2.]),torch.tensor([1, 0, 0, 0, 1, 1])  # 4 of 6, too
ONE_HOT = F.one_hot(CLASSES)
def of_batch(m):
    def f(pred, targ): return in_batches(m, pred, targ, (len(pred),))
    return f
OF_CLASSES = dict(accuracy=accuracy, error_rate=error_rate, top_k=partial(top_k_accuracy, k=1), foreground=partial(foreground_acc, axis=-1),
    sklearn=of_batch(skm_metric('accuracy_score')), f1=of_batch(skm_metric('f1_score', average='micro')),
    softmax=of_batch(AccumMetric(lambda p, y: p.mean(), activation='softmax')), binarysoftmax=of_batch(AccumMetric(lambda p, y: p.mean(), activation='binarysoftmax')),
    dice=of_batch(Dice(axis=-1)), jaccard=of_batch(JaccardCoeff(axis=-1)))
OF_NUMBERS = dict(mse=mse, mae=mae, rmse=rmse, msle=msle, exp_rmspe=exp_rmspe, accum=of_batch(AccumMetric(lambda p, y: (p-y).abs().mean())))

@pytest.mark.parametrize('targ', [YES, YES[:,None], YES.float(), YES[:,None].float(), YES.bool()], ids=lambda o: f'{o.dtype} {tuple(o.shape)}')
@pytest.mark.parametrize('name', OF_CLASSES)
def test_one_score_an_item_has_no_classes(name, targ):
    "The highest of one score is that of class 0, whatever the score is: the error names what to use"
    for pred in (LOGITS[:,None], LOGITS, LOGITS[:1,None], LOGITS[:1]):
        with pytest.raises(ValueError, match='accuracy_multi|thresh=|a score for each class'): OF_CLASSES[name](pred, targ[:len(pred)])

@pytest.mark.parametrize('targ', [YES, YES.float(), YES.bool(), YES.to(torch.uint8)], ids=lambda o: str(o.dtype))
def test_one_score_an_item_is_a_yes_or_no(targ):
    for pred in (LOGITS, LOGITS[:,None]):
        for y in (targ, targ[:,None]):
            assert accuracy_multi(pred, y)==pytest.approx(4/6) and accuracy_multi(pred.sigmoid(), y, sigmoid=False)==pytest.approx(4/6)
            assert in_batches(skm_metric('accuracy_score', thresh=.5), pred, y, (4, 2))==pytest.approx(4/6)
            assert in_batches(skm_metric('f1_score', thresh=.5), pred, y, (4, 2))==pytest.approx(2*2/(3+3))

@pytest.mark.parametrize('f', [accuracy_multi, partial(accuracy_multi, sigmoid=False)])
def test_a_yes_or_no_is_1_or_0(f):
    for bad in (CLASSES, CLASSES.float(), YES*.8+.1, YES-1, torch.where(YES==1, -100, 0), YES*255):
        with pytest.raises(ValueError, match=r'a target is [-\d.]+: it must be 0 or 1; for indices of several classes, use accuracy'): f(LOGITS, bad)
    with pytest.raises(ValueError, match='differ in number'): f(SCORES, CLASSES)

@pytest.mark.parametrize('name', ['accuracy', 'error_rate', 'top_k', 'foreground', 'sklearn'])
def test_one_hot_targets_are_no_indices(name):
    for targ in (ONE_HOT, ONE_HOT.float(), ONE_HOT.bool(), ONE_HOT*.9+.1/3):
        with pytest.raises(ValueError, match=r'give targ.argmax\(-1\) if targets are one-hot|differ in number'): OF_CLASSES[name](SCORES, targ)

ORDERS = [((4, 6), (6, 4)), ((2, 12), (4, 6)), ((2, 3, 4), (2, 4, 3)), ((4, 1, 6), (6, 4))]
@pytest.mark.parametrize('a,b', [o for a,b in ORDERS for o in ((a, b), (b, a))])
def test_elements_in_another_order_are_not_compared(a, b):
    pred,targ = torch.rand(a),torch.rand(b)
    for k,f in OF_NUMBERS.items():
        if k=='accum' and a[0]!=b[0]: continue  # no batch
        with pytest.raises(ValueError, match='elements in different orders: permute'): f(pred, targ)
    with pytest.raises(ValueError, match='different orders'): accuracy_multi(pred, targ.round())
    for f in (accuracy, error_rate, partial(foreground_acc, axis=-1)):
        with pytest.raises(ValueError, match='different orders'): f(torch.rand(*a, 3), torch.randint(3, b))

def test_classes_that_are_elsewhere_are_asked_for():
    with pytest.raises(ValueError, match=r'give the dimension of the classes, as in partial\(accuracy, axis=1\)'): accuracy(torch.rand(2, 3, 5), torch.randint(3, (2, 5)))
    for m in (Dice(axis=-1), JaccardCoeff(axis=-1)):
        with pytest.raises(ValueError, match=r"needs the scores of two classes, but there are 3 along axis -1: use skm_metric\('\w+_score', axis=-1, average='macro'\)"):
            of_batch(m)(SCORES, CLASSES)

def test_where_asking_would_wait_the_metric_is_nan():
    far = SimpleNamespace(is_cpu=False)
    res = [M._checked(torch.tensor(.5), far, torch.tensor(o), '') for o in ([True, True], [True, False])]
    assert res[0]==.5 and res[1].isnan()

def _macro_f1(pred, targ): return skm.f1_score(targ.numpy(), pred.argmax(1).numpy(), average='macro', zero_division=0.)
def _n_right(pred, targ): return (pred.argmax(1)==targ).sum()
def _share(pred, targ): return np.mean((pred.argmax(1)==targ).numpy())
_OF_BATCH = dict(accuracy=accuracy, share=_share, skm=skm_metric('f1_score', average='macro', zero_division=0.), f1=_macro_f1, n_right=_n_right, seven=lambda pred, targ: 7,
    partial=partial(tm.functional.f1_score, task='multiclass', num_classes=3, average='macro'), half=lambda pred, targ: (pred.argmax(1)==targ).half().mean(),
    std=lambda pred, targ: pred.std() if len(pred)>1 else 1/0)

@pytest.mark.parametrize('name', _OF_BATCH)
def test_a_metric_is_its_value_for_all_items_or_a_warning_names_it(name, recwarn):
    calls,f = [],_OF_BATCH[name]
    m = AvgMetric(lambda *args: calls.append(0) or f(*args), name) if callable(f) else f
    for seed in range(3):
        g = torch.Generator().manual_seed(seed)
        pred,targ = torch.randn(40, 3, generator=g),torch.randint(3, (40,), generator=g)
        batches = [*zip(pred.split((16, 16, 8)), targ.split((16, 16, 8)), strict=True)]
        learn = Learner(DataLoaders(batches, batches, device='cpu'), nn.Identity(), F.cross_entropy, metrics=m)
        want,got = learn.validate(dl=[(pred, targ)])[1],learn.validate()[1]
        is_exact = got==pytest.approx(want, rel=1e-3 if name=='half' else 1e-6)
        told = [str(o.message) for o in recwarn if 'not a mean over items' in str(o.message)]
        assert is_exact!=any(f'metric {name} is not a mean' in o for o in told)
        assert len(told)<=1 and len(calls)==(4*(seed+1) if callable(f) else 0)

def _recall(pred, targ): return (pred.argmax(1)==1)[targ==1].sum()/(targ==1).sum().clamp(min=1)
def _unpadded(pred, targ): return (pred.argmax(1)==targ)[targ!=-100].double().mean()
def _no_zeros(pred, targ): return (pred[:, 0]/targ)[targ!=0].mean()
_AT_FIRST = dict(negatives=(_recall, dict(pred=lambda p: p-torch.tensor([0., 99., 0.]))), rare=(_recall, dict(targ=lambda t: t.where(t!=1, 0))),
    padded=(_unpadded, dict(targ=lambda t: torch.cat([t[:50], t[50:].where(t[50:]<2, -100)]))),
    whole=(_unpadded, {}), positive=(_no_zeros, dict(targ=lambda t: t+1.)))

@pytest.mark.parametrize('name', _AT_FIRST)
def test_a_metric_that_is_a_mean_for_the_first_batches_alone_is_named(name, recwarn):
    f,change = _AT_FIRST[name]
    g = torch.Generator().manual_seed(0)
    pred,targ = torch.randn(80, 3, generator=g),torch.randint(3, (80,), generator=g)
    pred,targ = change.get('pred', lambda p: p)(pred),change.get('targ', lambda t: t)(targ)
    batches = [*zip(pred.split(10), targ.split(10), strict=True)]
    Learner(DataLoaders([], batches, device='cpu'), nn.Identity(), lambda p, y: p.mean(), metrics=f).validate()
    assert len([o for o in recwarn if 'is not a mean over items' in str(o.message)])==(name not in ('whole', 'positive'))

def test_a_metric_of_a_single_batch_is_tested_if_other_processes_have_parts_of_it():
    learn = Learner(DataLoaders([], device='cpu'), nn.Identity(), F.cross_entropy)
    for world in (1, 2):
        at = LearnerView(learn, pred=SCORES, yb=(CLASSES,), bs=len(SCORES), n_items=9, team=SimpleNamespace(world=world, is_first=True))
        with pytest.warns(UserWarning, match='_recall is not a mean') if world>1 else nullcontext(): AvgMetric(_recall).accumulate(at)

def test_a_metric_that_keeps_a_state_of_keras_is_refused():
    class MeanSquaredError:
        def update_state(self, y_true, y_pred): pass
        def __call__(self, y_true, y_pred): return 0.
    with pytest.raises(TypeError, match='MeanSquaredError is a Keras metric, which takes targets first'): mk_metrics(MeanSquaredError())
