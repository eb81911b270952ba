"Recorder and metrics: exact for any batch sizes, stable columns, errors before training"
import math, re
from functools import partial
import pytest, torch, torchmetrics
from helpers import silent, quiet
from learnloop import (
    SWA, AccumMetric, Callback, DataLoaders, DictMetric, FlightRecorder, Learner,
    Metric, Perplexity, Recorder, ValidateCallback, ValueMetric, accuracy, as_metric, error_rate, mae)
from learnloop.measure.metric import mk_metrics
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

def data(n=22, seed=0):
    x = torch.randn(n, 4, generator=torch.Generator().manual_seed(seed))
    return TensorDataset(x, (x.sum(1)>0).long())

def mk(metrics=accuracy, cbs=None, **kwargs):
    dls = DataLoaders.from_dsets(data(), data(10, 1), bs=4, device='cpu')
    return silent(Learner(dls, nn.Linear(4, 2), F.cross_entropy, torch.optim.SGD, metrics=metrics, cbs=cbs, lr=.1, **kwargs))

def fitted(learn, n=1, **kwargs):
    with learn.no_bar(): learn.fit(n, **kwargs)
    return learn

def test_a_fit_whose_optimizer_has_no_lr(tmp_path):
    class Drift(torch.optim.Optimizer):
        def __init__(self, params): super().__init__(params, dict(k=.1))
        @torch.no_grad()
        def step(self, closure=None):
            for p in self.param_groups[0]['params']: p -= .1*p.grad
    dls = DataLoaders.from_dsets(data(), data(10, 1), bs=4, device='cpu')
    learn = fitted(silent(Learner(dls, nn.Linear(4, 2), F.cross_entropy, Drift)), cbs=FlightRecorder(folder=tmp_path))
    assert len(learn.recorder.lrs)==6 and all(map(math.isnan, learn.recorder.lrs)) and math.isfinite(learn.recorder.values[-1][1])
    with pytest.raises(ValueError, match="unknown hyper-parameter 'lr' for Drift, which has k") as e: fitted(learn, cbs=SWA(swa_lr=.1))
    assert not any('then' in o for o in e.value.__notes__)

def column(learn, name): return [dict(zip(learn.recorder.columns, o, strict=True))[name] for o in learn.recorder.values]

def whole(learn, f):
    "`f` of all validation items at once"
    x,y = learn.dls.valid_ds.tensors
    learn.model.eval()
    with torch.no_grad(): return f(learn.model(x), y).item()

def test_means_are_those_of_all_items():
    learn = fitted(mk([accuracy, error_rate]))
    loss,acc,err = learn.recorder.values[-1][1:]
    assert math.isclose(loss, whole(learn, F.cross_entropy), rel_tol=1e-6)  # sums of floats in another order
    assert math.isclose(acc, whole(learn, accuracy), rel_tol=1e-6) and math.isclose(acc+err, 1, rel_tol=1e-6)

def test_train_loss_is_the_mean_over_the_items_of_the_epoch():
    got = []
    learn = fitted(mk(cbs=Callback('see', after_batch=lambda cb: got.append((cb.loss.item(), cb.bs)) if cb.training else None)))
    want = sum(l*n for l,n in got)/sum(n for _,n in got)
    assert math.isclose(column(learn, 'train_loss')[0], want, rel_tol=1e-12)
    assert learn.recorder.raw_losses==[l for l,_ in got] and len(learn.recorder.lrs)==len(learn.recorder.losses)==6

def test_torchmetrics_and_collections():
    ms = torchmetrics.MetricCollection(dict(acc=torchmetrics.Accuracy(task='multiclass', num_classes=2), f1=torchmetrics.F1Score(task='multiclass', num_classes=2)))
    learn = fitted(mk([accuracy]), 2)
    other = fitted(mk(ms), 2)
    assert other.recorder.columns==['train_loss', 'valid_loss', 'acc', 'f1']
    assert math.isclose(column(other, 'acc')[1], whole(other, accuracy), rel_tol=1e-6) and 'accuracy' in learn.recorder.columns
    one = fitted(mk(torchmetrics.Accuracy(task='multiclass', num_classes=2)))
    assert math.isclose(one.recorder.values[0][-1], whole(one, accuracy), rel_tol=1e-6)

def test_state_goes_round():
    learn = fitted(mk(), 2)
    r = Recorder()
    r.load_state_dict(learn.recorder.state_dict())
    assert r.state_dict()==learn.recorder.state_dict() and r.losses==learn.recorder.losses and str(r)==str(learn.recorder)

# Metrics are tried before training

def refused(metrics, match, exc=Exception, **kwargs):
    learn = mk(metrics, **kwargs)
    with pytest.raises(exc, match=match) as e, learn.no_bar(): learn.fit(1)
    assert learn.count.batches==learn.count.opt_steps==0, 'something was trained'
    return e.value

def mismatch(pred, targ): return (pred-targ.view(-1, 1)[:-1]).mean()
def words(pred, targ): return 'good'
def nothing(pred, targ): return None
def vector(pred, targ): return pred.argmax(1)==targ
@as_metric(AccumMetric)
def no_such(pred, targ): return pred.no_such_method()
class Bad(Metric):
    def accumulate(self, learn): learn.pred.view(-1, 7)
    value = None

@pytest.mark.every(2)
@pytest.mark.parametrize('metric,match', [(mismatch, 'mismatch'), (words, "words returned 'good'"), (nothing, 'nothing returned None'), (vector, 'vector.*scalar'),
    (mae, 'mae'), (no_such, 'no_such'), (lambda: Bad(), 'bad'), (lambda: torchmetrics.MeanSquaredError(), 'meansquarederror'),
    (lambda: DictMetric(accuracy), 'accuracy')], ids=lambda o: getattr(o, '__name__', str(o)))
def test_a_metric_that_fails_does_so_before_training(metric, match):
    made = metric() if getattr(metric, '__name__', '')=='<lambda>' else metric
    refused([accuracy, made], match)
    learn = mk(made)
    for _ in range(2):  # and again, until it's mended
        with pytest.raises(Exception, match=match), learn.no_bar(): learn.fit(1)
    learn.metrics = [accuracy]
    assert fitted(learn).recorder.values

@pytest.mark.parametrize('name,how', [('f1_score', ''), ('roc_auc_score', ''), ('r2_score', ', is_class=False')])
def test_point_15_scikit_learns_as_they_are(name, how):
    f = getattr(pytest.importorskip('sklearn.metrics'), name)
    for m in (f, partial(f, sample_weight=None)): refused(m, re.escape(f"skm_metric({name!r}{how})"), TypeError)
    mk_metrics([skm.mean_squared_error, skm.accuracy_score] if (skm := pytest.importorskip('sklearn.metrics')) else [])  # the same either way round

@as_metric(partial(AccumMetric, flatten=False))
def needs_all(pred, targ):
    if len(targ)<10: raise ValueError('Only one class present in y_true')
    return 1.
class OfFit(Metric):
    def reset(self): pass
    def accumulate(self, learn): self.v = learn.recorder.lrs[-1] + learn.helper.ready
    @property
    def value(self): return self.v
class Helper(Callback):
    def after_train(self): self.ready = 1.
    def metric(self, pred, targ): return self.ready
class OnceTrained(Metric):
    def accumulate(self, learn): self.v = learn.smooth_loss+1
    value = property(lambda self: self.v)

def test_point_15_a_failure_for_want_of_items_is_no_mistake():
    helper = Helper()
    learn = mk([needs_all, OfFit(), helper.metric, OnceTrained(), ValueMetric(lambda: helper.ready, 'late')], cbs=helper)
    assert fitted(learn).recorder.values[-1][2:4]==[1., 1.1]

class Odd(nn.Linear):
    "A model that keeps count, in every way"
    def __init__(self):
        super().__init__(4, 2)
        self.n,self.seen,self.last = 0,[],None
        self.register_buffer('calls', torch.zeros(()))
    def forward(self, x):
        self.n,self.last = self.n+1,x
        self.seen.append(len(x))
        self.calls += 1
        if self.n==1: self.first = x
        return super().forward(x) + .1*torch.randn(1)

def test_point_15_nothing_is_left_of_the_try():
    def run(metrics):
        torch.manual_seed(3)
        dl = DataLoader(data(10, 1), 4, shuffle=True, generator=torch.Generator().manual_seed(1))
        learn = silent(Learner(DataLoaders(DataLoader(data(), 4, shuffle=True), dl, device='cpu'), Odd(), F.cross_entropy, metrics=metrics))
        seen = []
        def hear(cb): seen.append((cb.model.n, cb.model.seen[:], cb.model.last, float(cb.model.calls), hasattr(cb.model, 'first'), cb.model.training))
        fitted(learn, 2, cbs=Callback(before_train=hear))
        return learn,seen[0]
    a,before = run(None)
    b,tried = run([accuracy, Perplexity()])
    assert before==tried==(0, [], None, 0., False, True)
    assert all(torch.equal(v, b.model.state_dict()[k]) for k,v in a.model.state_dict().items()) and a.model.seen==b.model.seen
    assert [o[:2] for o in a.recorder.values]==[o[:2] for o in b.recorder.values]

def test_metrics_without_validation_are_a_warning():
    def learner(**kwargs):
        return silent(Learner(DataLoader(data(), 4), nn.Linear(4, 2), F.cross_entropy, **kwargs))
    with pytest.warns(UserWarning, match='nothing computes accuracy, error_rate.*train_metrics'): fitted(learner(metrics=[accuracy, error_rate]))
    quiet = learner(metrics=accuracy)  # warnings are errors
    quiet.lr_find(show_plot=False)
    quiet.find_batch_size(lambda bs: DataLoader(data(), bs), max_bs=4)
    quiet.recorder.train_metrics = True
    assert 'train_accuracy' in fitted(quiet).recorder.columns
    fitted(learner())

def test_point_15_an_error_in_validation_names_the_metric():
    @as_metric(AccumMetric)
    def picky(pred, targ): raise ValueError('too few')
    for m in (mismatch, picky):
        with pytest.raises(Exception, match=f'of metric {m.__name__}'): mk(m).validate()

def test_no_two_values_have_one_name():
    def loss(pred, targ): return (pred.argmax(1)!=targ).float().mean()
    learn = mk([loss])
    learn.fit(1, cbs=ValidateCallback(every_epochs=1, dl=learn.dls.train, name='test'))
    row = dict(zip(learn.recorder.columns, learn.recorder.values[-1], strict=True))
    assert [*row]==['train_loss', 'valid_loss', 'loss', 'test_loss', 'test_loss_2']
    scores = learn.validate(dl=learn.dls.train)
    assert len({*scores.names})==len(scores)==2 and pytest.approx([row['test_loss'], row['test_loss_2']])==[*scores]
    learn.recorder.train_metrics = True
    with pytest.raises(ValueError, match="two columns would be named 'train_loss': rename the metric"): learn.fit(1)

class Refills:
    "A loader that fills the same `n` buffers again and again"
    def __init__(self, rows, n): self.rows,self.bufs = rows,[tuple(map(torch.zeros_like, rows[0])) for _ in range(n)]
    def __len__(self): return len(self.rows)
    def __iter__(self):
        for i,b in enumerate(self.rows):
            for to,t in zip(self.bufs[i%len(self.bufs)], b, strict=True): to.copy_(t)
            yield self.bufs[i%len(self.bufs)]

@pytest.mark.parametrize('n', [1, 2, 3])
def test_targets_in_a_buffer_that_is_filled_again_are_counted_in_time(n):
    torch.manual_seed(0)
    rows = [(torch.randn(8, 4), torch.randint(0, 3, (8,))) for _ in range(20)]
    for i,(_,y) in enumerate(rows): y[:i%7] = -100
    model = torch.nn.Linear(4, 3)
    learn = quiet(Learner((Refills(rows, n), None), model, torch.nn.functional.cross_entropy, torch.optim.SGD, lr=0.), 1)
    want = torch.nn.functional.cross_entropy(model(torch.cat([x for x,_ in rows])), torch.cat([y for _,y in rows]))
    assert learn.recorder.values[-1][0]==pytest.approx(want.item(), abs=1e-6)
