"Recorder and metrics: exact for any sizes of batches, columns that stay where they belong, errors before training"
import math
import pytest, torch, torchmetrics
from learnloop import (AvgLoss, AvgSmoothLoss, Callback, CancelEpochException, CancelTrainException, CancelValidException, DataLoaders, Learner, Recorder,
    ValueMetric, accuracy, error_rate, event, mae, mk_metrics, on)
from torch import nn
from torch.nn import functional as F
from torch.utils.data import TensorDataset

def data(n=22, seed=0):
    x = torch.randn(n, 4, generator=torch.Generator().manual_seed(seed))
    return TensorDataset(x, (x.sum(1)>0).long())

def mk(metrics=accuracy, cbs=None, **kwargs):
    dls = DataLoaders.from_dsets(data(), data(10, 1), bs=4, device='cpu')
    learn = Learner(dls, nn.Linear(4, 2), F.cross_entropy, torch.optim.SGD, metrics=metrics, cbs=cbs, lr=.1, **kwargs)
    learn.logger = lambda row: None
    return learn

def fitted(learn, n=1, **kwargs):
    with learn.no_bar(): learn.fit(n, **kwargs)
    return learn

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

@pytest.mark.parametrize('e,exc,empty', [('before_train', CancelTrainException, {'train_loss'}), ('before_validate', CancelValidException, {'valid_loss', 'accuracy'}),
    ('before_epoch', CancelEpochException, {'train_loss', 'valid_loss', 'accuracy'}), ('after_train', CancelEpochException, {'valid_loss', 'accuracy'})])
def test_columns_stay_where_they_belong(e, exc, empty):
    def skip(cb): raise exc
    cb = Callback(**{f'skip_{e}': on(e, once=2)(skip)})
    cb.order = 99
    learn = fitted(mk(cbs=cb), 3)
    for i,row in enumerate(learn.recorder.values):
        assert {k for k,v in zip(learn.recorder.columns, row, strict=True) if v is None}==(empty if i==1 else set())

def test_train_metrics_have_columns_of_their_own():
    learn = mk()
    learn.recorder.train_metrics = True
    assert fitted(learn).recorder.columns==['train_loss', 'train_accuracy', 'valid_loss', 'valid_accuracy']
    assert None not in learn.recorder.values[0]

@pytest.mark.parametrize('bad', [math.nan, math.inf])
def test_losses_that_are_not_finite_are_recorded(bad):
    @on(event.after_loss, once=3)
    def spoil(cb): cb.learn.loss.fill_(bad)
    r = fitted(mk(cbs=spoil)).recorder
    assert not math.isfinite(r.raw_losses[2]) and not math.isfinite(r.losses[2]) and all(map(math.isfinite, r.losses[3:]))
    assert not math.isfinite(r.values[0][0])

def three(pred, y, extra): return pred.sum()
def alone(pred): return pred.sum()
@pytest.mark.parametrize('f', [three, alone])
def test_wrong_signature_is_found_before_anything_is_trained(f):
    learn = mk(f)
    before = learn.model.weight.clone()
    for _ in range(2):  # the second fit finds nothing left over from the first
        with learn.no_bar(), pytest.raises(TypeError, match=f'metric {f.__name__}.*prediction and 1 target'): learn.fit(1)
    assert torch.equal(learn.model.weight, before) and [o.name for o in learn.cbs]==['train_eval', 'recorder', 'progress']

def test_evaluation_in_the_middle_of_a_validation():
    @on(event.after_batch, every=2)
    def ask(cb):
        if not cb.training and len(cb.learn.open)<5: got.append(cb.learn.validate(0))
    got = []
    torch.manual_seed(0)
    plain = fitted(mk([accuracy, torchmetrics.Accuracy(task='multiclass', num_classes=2)]), 2)
    torch.manual_seed(0)
    asked = fitted(mk([accuracy, torchmetrics.Accuracy(task='multiclass', num_classes=2)], cbs=ask), 2)
    assert got and asked.recorder.values==plain.recorder.values and asked.recorder.losses==plain.recorder.losses

def test_no_validation_loader_no_columns():
    learn = Learner([(torch.randn(4, 4), torch.zeros(4).long())], nn.Linear(4, 2), F.cross_entropy, metrics=accuracy)
    learn.logger = lambda row: None
    with pytest.warns(UserWarning, match='accuracy.*train_metrics'): assert fitted(learn).recorder.metric_names==['epoch', 'train_loss', 'time']

def test_metrics_by_name():
    assert [o.name for o in mk_metrics([AvgLoss(), AvgSmoothLoss, ValueMetric(lambda: 1, 'one'), mae])]==['loss', 'smooth_loss', 'one', 'mae']
    with pytest.raises(ValueError, match='two metrics named'): mk_metrics([mae, mae])
    with pytest.raises(TypeError, match='is no metric'): mk_metrics(['accuracy'])

def test_state_goes_round():
    learn = fitted(mk(), 2)
    r = Recorder()
    r.load_state_dict(learn.recorder.state_dict())
    assert r.state_dict()==learn.recorder.state_dict() and r.losses==learn.recorder.losses and str(r)==str(learn.recorder)

def test_nobody_asks_the_learner_for_what_a_callback_lacks(tmp_path, monkeypatch):
    "That would compare the name with all that the learner has, for each callback and point of a log"
    from learnloop import CSVLogger, EarlyStoppingCallback, TensorBoardCallback, ValidateCallback, callback
    asked,before = [],callback._Reader.__getattr__
    monkeypatch.setattr(callback._Reader, '__getattr__', lambda self, k: asked.append(k) or before(self, k))
    learn = mk(cbs=[CSVLogger(tmp_path/'a.csv'), TensorBoardCallback(tmp_path, every_steps=1), ValidateCallback(every_steps=2), EarlyStoppingCallback()])
    fitted(learn)
    assert not {'epoch_columns', 'provides'} & set(asked)

def test_a_column_of_two_callbacks_is_there_once():
    class Own(Callback): epoch_columns = ['own']
    def put(cb): cb.learn.recorder.row['own'] = 3
    learn = fitted(mk(cbs=[Own(after_train=put), Own('other')]))
    assert learn.recorder.columns==['train_loss', 'valid_loss', 'accuracy', 'own'] and learn.recorder.values[0][3]==3
