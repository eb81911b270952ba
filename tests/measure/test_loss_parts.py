"Losses of several parts: what is trained on, and what the table, loggers, trackers and checkpoints make of the rest"
import csv, json, math, operator
from collections import namedtuple
import pytest, torch
from learnloop import (
    AvgLoss, Callback, CheckpointCallback, CSVLogger, DataLoaders, EarlyStoppingCallback, GradientAccumulation, JSONLogger, Learner,
    MicroBatch, Recorder, SAM, SaveModelCallback,
    TensorBoardCallback, TorchScheduler, ValidateCallback, accuracy, event, mae, on)
from learnloop.interop import fastai
from learnloop.interop.keras import Keras
from learnloop.loop.loss import EachItem, own_loss, split_loss
from learnloop.see.progress import _Lines, _Notebook
from learnloop.see.report import report_from
from learnloop.see.tensorboard import read_tensorboard
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

X,Y = (torch.randn(22, 4, generator=torch.Generator().manual_seed(s)) for s in (0, 1))
TRAIN = [(X[i:i+8], Y[i:i+8]) for i in range(0, 22, 8)]  # the last one is short
VALID = [(X[:5], Y[:5]), (X[5:7], Y[5:7])]

def terms(pred, y): return F.mse_loss(pred, y),pred.abs().mean()/3
def summed(pred, y): return dict(zip(('fit','size'), terms(pred, y), strict=True))
def model(seed=0):
    torch.manual_seed(seed)
    return nn.Linear(4, 4)

def mk(loss=summed, m=None, dls=None, **kwargs):
    dls = dls or DataLoaders(TRAIN, VALID, device='cpu')
    learn = Learner(dls, m or model(), loss, torch.optim.SGD, lr=.1, **kwargs)
    learn.table_rows = []
    learn.logger = lambda row: learn.table_rows.append(row)
    return learn

def by_hand(n_epoch=2, total=sum):
    "Weights, and means over items of the terms, in training and validation, of the last epoch"
    m = model()
    opt = torch.optim.SGD(m.parameters(), lr=.1)
    def mean(rows): return [sum(v[i].item()*n for v,n in rows)/sum(n for _,n in rows) for i in (0, 1)]
    for _ in range(n_epoch):
        rows = []
        for x,y in TRAIN:
            ts = terms(m(x), y)
            total(ts).backward()
            opt.step()
            opt.zero_grad()
            rows.append(([t.detach() for t in ts], len(x)))
    with torch.no_grad(): valid = [(terms(m(x), y), len(x)) for x,y in VALID]
    return m.weight,mean(rows),mean(valid)

def row(learn): return dict(zip(learn.recorder.columns, learn.recorder.values[-1], strict=True))

Both = namedtuple('Both', 'fit size')
RETURNS = dict(
    sum=(summed, sum), named_tuple=(lambda p,y: Both(*terms(p, y)), sum),
    loss=(lambda p,y: summed(p, y) | dict(loss=sum(terms(p, y))), sum),
    weighted=(lambda p,y: dict(loss=terms(p, y)[0]-.5*terms(p, y)[1]) | summed(p, y), lambda ts: ts[0]-.5*ts[1]),
    tuple=(lambda p,y: (sum(terms(p, y)), summed(p, y)), sum),
    logged=(lambda p,y: (sum(terms(p, y)), dict(loss=5., out=p) | {k:v.item() for k,v in summed(p, y).items()}, p), sum))

@pytest.mark.parametrize('what', RETURNS)
def test_what_a_loss_function_returns(what):
    f,total = RETURNS[what]
    learn = mk(f)
    learn.fit(2)
    weight,train,valid = by_hand(total=total)
    assert torch.equal(learn.model.weight, weight)
    r = row(learn)
    assert list(r)[2:]==['train_fit', 'valid_fit', 'train_size', 'valid_size']
    assert [r['train_fit'], r['train_size']]==train and [r['valid_fit'], r['valid_size']]==valid
    assert math.isclose(r['train_loss'], total(train), rel_tol=1e-6) and math.isclose(r['valid_loss'], total(valid), rel_tol=1e-6)

def test_a_tuple_is_its_first():
    a,b = mk(lambda p,y: (F.mse_loss(p, y), p)),mk(F.mse_loss)
    for o in (a, b): o.fit(2)
    assert torch.equal(a.model.weight, b.model.weight) and a.table_rows==[[*o[:-1], a.table_rows[i][-1]] for i,o in enumerate(b.table_rows)]

@pytest.mark.parametrize('res,error', [
    (dict(fit=torch.ones(2)), "'fit' is no scalar to be added up, it is float32 \\(2\\): call what is to be trained on 'loss'"),
    (dict(fit=torch.tensor(1.), right=torch.tensor(3)), "'right' is no scalar"), ({}, 'it is empty'), (dict(fit=True), "'fit' is no scalar"),
    (dict(loss=.5), 'the loss is 0.5, a float: loss_func must return a tensor, a dict of scalars, or a tuple with the loss first'),
    ([torch.tensor(1.)], 'a list: loss_func must'), ((), 'a tuple: loss_func must'), (({}, torch.tensor(1.)), 'a dict: loss_func must')])
def test_what_is_refused(res, error):
    with pytest.raises(TypeError, match=error): split_loss(res)
    learn = mk(lambda p,y: res)
    with pytest.raises(TypeError, match=error): learn.validate()

def test_an_ordinary_fit_is_as_it_was():
    learn = mk(lambda p,y: F.mse_loss(p, y), cbs=Callback(after_batch=lambda cb: seen.append(cb.learn.loss_parts)))
    seen = []
    learn.fit(1)
    assert [o[0] for o in learn.table_rows]==['epoch', 0] and learn.table_rows[0]==['epoch', 'train_loss', 'valid_loss', 'time']
    assert seen==[{}]*5 and 'parts' not in learn.recorder.state_dict()

def test_titles_wait_for_the_first_batch():
    learn = mk()
    learn.fit(2)
    learn.fit(1)
    names = ['epoch', 'train_loss', 'valid_loss', 'train_fit', 'valid_fit', 'train_size', 'valid_size', 'time']
    assert [o for o in learn.table_rows if o[0]=='epoch']==[names, names]
    assert learn.recorder.metric_names==names and {*map(len, learn.recorder.values)}=={6}
    learn.loss_func = F.mse_loss
    learn.fit(1)
    assert learn.recorder.columns==['train_loss', 'valid_loss']

def test_parts_of_a_few_batches(tmp_path):
    "Empty where a phase had none, means over the items of those that had"
    def f(p, y): return (F.mse_loss(p, y), dict(late=p.mean()) if learn.training and learn.epoch==1 and learn.iter>0 else {})
    learn,vals = mk(f, metrics=mae),[]
    @on(event.after_batch, when=lambda o: o.loss_parts)
    def with_part(cb): vals.append((cb.learn.loss_parts['late'].item(), cb.learn.bs))
    learn.fit(3, cbs=with_part)
    rec = learn.recorder
    assert rec.columns==['train_loss', 'valid_loss', 'mae', 'train_late', 'valid_late'] and [*map(len, rec.values)]==[3, 5, 5]
    assert rec.values[1][3:]==[sum(v*n for v,n in vals)/sum(n for _,n in vals), None] and rec.values[2][3:]==[None, None] and len(vals)==2
    lines = str(rec).splitlines()
    assert lines[0].split()[-1]=='valid_late' and len(lines)==4
    assert 'train_late' in learn.report(tmp_path/'r.html').read_text()

def test_metrics_on_training_batches():
    learn = mk(metrics=mae)
    learn.recorder.train_metrics = True
    learn.fit(1)
    assert learn.recorder.columns==['train_loss', 'train_mae', 'valid_loss', 'valid_mae', 'train_fit', 'valid_fit', 'train_size', 'valid_size']
    assert None not in learn.recorder.values[0] and row(learn)['valid_mae']==learn.validate()[1]

def test_a_column_that_is_taken():
    learn = mk(metrics=lambda p,y: 0., loss=lambda p,y: dict(loss=F.mse_loss(p, y), acc=.5))
    learn.metrics[0].__name__ = 'valid_acc'
    with pytest.raises(ValueError, match="column is 'valid_acc', and there is such a column"): learn.fit(1)

def test_a_callback_adds_a_part():
    def after_loss(cb): cb.learn.loss_parts['out'] = cb.learn.pred.detach().mean()
    learn = mk(F.mse_loss, cbs=Callback(after_loss=after_loss))
    learn.fit(1)
    assert learn.recorder.columns[2:]==['train_out', 'valid_out'] and None not in learn.recorder.values[0]

def test_several_losses_in_a_batch():
    class Two(Learner):
        def _do_one_batch(self):
            for name in ('critic','generator'):
                self.pred = self.forward_model(*self.xb)
                self.set_loss(summed(self.pred, *self.yb) if name=='critic' else self.pred.square().mean(), name)
                if self.training: self._do_grad_opt()
    seen = []
    def hear(cb): seen.append({k:(v.dim(), v.requires_grad) for k,v in cb.learn.loss_parts.items()})
    learn = Two((TRAIN, VALID), model(), F.mse_loss, torch.optim.SGD, lr=.1)
    learn.logger = lambda row: None
    learn.fit(1, cbs=[Callback(after_batch=hear), SaveModelCallback('valid_generator', comp=operator.lt)])
    assert seen==[dict.fromkeys(('critic','critic_fit','critic_size','generator'), (0, False))]*5
    r = row(learn)
    assert r['train_generator']==pytest.approx(r['train_loss']) and math.isclose(r['train_critic'], r['train_critic_fit']+r['train_critic_size'], rel_tol=1e-6)

def test_no_waiting_for_the_device(monkeypatch):
    def refuse(self): raise AssertionError('waits for the device')
    @on(event.before_train)
    def begin(cb):
        for k in ('item','__float__','__bool__'): monkeypatch.setattr(torch.Tensor, k, refuse)
    @on(event.after_batch, when=lambda o: o.training and o.iter==2)
    def end(cb): monkeypatch.undo()
    mk().fit(1, cbs=[begin, end])

# the model's own loss

class Own(nn.Linear):
    def forward(self, x, y=None):
        out = super().forward(x)
        return self.give(out, None if y is None else sum(terms(out, y)), y)

GIVES = dict(
    logits_loss=lambda s,out,loss,y: (out, loss), loss_logits=lambda s,out,loss,y: (loss, out),
    named=lambda s,out,loss,y: dict(loss=loss, logits=out, size=out.abs().mean().detach()),
    detection=lambda s,out,loss,y: summed(out, y) if s.training else out,
    alone=lambda s,out,loss,y: out if loss is None else loss)

def mk_own(what, **kwargs):
    torch.manual_seed(0)
    m = type(what, (Own,), dict(give=GIVES[what]))(4, 4)
    return mk(None, m, DataLoaders(TRAIN, VALID, device='cpu', n_inp=2), **kwargs)

@pytest.mark.parametrize('what', GIVES)
def test_a_models_own_loss(what):
    learn = mk_own(what)
    learn.fit(2)
    weight,train,valid = by_hand()
    assert torch.equal(learn.model.weight, weight)
    r = row(learn)
    assert math.isclose(r['train_loss'], sum(train), rel_tol=1e-6)
    if what=='detection': assert [r[k] for k in ('valid_loss','train_fit','valid_fit','train_size')]==[None, train[0], None, train[1]]
    else: assert math.isclose(r['valid_loss'], sum(valid), rel_tol=1e-6)
    assert ('valid_size' in r)==(what in ('named','detection'))

@pytest.mark.parametrize('what', ['logits_loss', 'loss_logits'])
def test_the_rest_of_a_tuple_is_the_prediction(what):
    def size(pred): return pred.abs().mean()
    learn = mk_own(what, metrics=size)
    learn.fit(1)
    with torch.no_grad(): want = nn.Linear.forward(learn.model, X[:7])
    assert math.isclose(row(learn)['size'], size(want).item(), rel_tol=1e-6)
    torch.testing.assert_close(learn.get_preds()[0], want)
    torch.testing.assert_close(learn.get_preds(cbs=Callback(after_pred=lambda cb: None))[0], want)  # with events
    torch.testing.assert_close(learn.predict(X[0])[1], want[0])

@pytest.mark.parametrize('out', [(X, Y), (X.mean(), Y.mean()), dict(a=X, b=X.mean()), [X.mean()], (X, X.sum().int())])
def test_a_model_without_a_loss(out):
    assert own_loss(out)[0] is None
    learn = mk_own('alone')
    learn.model.give = lambda *_: out
    with pytest.raises(ValueError, match="no loss: give the learner a loss_func, or a model that returns its own loss: alone, in a tuple .*the model returned"):
        learn.fit(1)

def test_a_tuple_with_a_loss_func_is_the_prediction():
    class Two(nn.Linear):
        def forward(self, x): return super().forward(x),x.mean()
    learn = mk(lambda p,y: F.mse_loss(p[0], y)*(1+0*p[1]), Two(4, 4))
    learn.fit(1)
    assert isinstance(learn.get_preds()[0], tuple)

# evaluations

def test_validate():
    learn = mk()
    vals = learn.validate()  # before any fit
    assert learn.recorder.valid_names==['valid_loss', 'valid_fit', 'valid_size'] and math.isclose(vals[0], vals[1]+vals[2], rel_tol=1e-6)
    learn.fit(1)
    assert learn.table_rows[0]==learn.recorder.metric_names and len(learn.table_rows)==2  # they were known
    before = [*learn.recorder.values]
    r = row(learn)
    assert learn.validate()==[r[k] for k in learn.recorder.valid_names] and [*learn.recorder.values]==before

def test_an_evaluation_within_a_batch():
    seen = []
    def check(cb):
        was = dict(cb.learn.loss_parts)
        vals = cb.learn.validate()
        seen.append((len(vals), {k:v.item() for k,v in cb.learn.loss_parts.items()}=={k:v.item() for k,v in was.items()}))
    learn,plain = mk(cbs=on(event.after_loss, when=lambda o: o.training)(check)),mk()
    for o in (learn, plain): o.fit(2)
    assert seen==[(3, True)]*6 and [*learn.recorder.values]==[*plain.recorder.values]

def each_by_hand(pred, y): return (pred-y).square().mean(1)+pred.abs().mean(1)/3

def test_losses_of_items():
    learn = mk()
    learn.fit(1)
    pred,y,loss = learn.get_preds(with_loss=True)
    torch.testing.assert_close(loss, each_by_hand(pred, y))
    def heeds(p, y, reduction='mean'):
        loss = each_by_hand(p, y)
        return dict(loss=loss if reduction=='none' else loss.mean(), size=p.abs().mean())
    calls = []
    def counted(*args, **kwargs): return calls.append(1) or heeds(*args, **kwargs)
    counted.__wrapped__ = heeds
    torch.testing.assert_close(EachItem(counted)(pred, y), each_by_hand(pred, y))
    assert calls==[1]

def test_lr_find_and_other_metrics():
    learn = mk(metrics=AvgLoss())
    learn.lr_find(num_it=40, show_plot=False)
    learn.fit(1)
    assert row(learn)['loss']==row(learn)['valid_loss']

# who goes by the columns

@pytest.mark.parametrize('mk_cb', [
    lambda: SaveModelCallback('valid_size', comp=operator.lt), lambda: EarlyStoppingCallback('train_size', comp=operator.lt),
    lambda: TorchScheduler(torch.optim.lr_scheduler.ReduceLROnPlateau, unit='validate', monitor='valid_size')])
def test_monitored(mk_cb, tmp_path):
    learn = mk(path=tmp_path)
    learn.fit(2, cbs=mk_cb())
    learn.fit(1, cbs=mk_cb())  # when it is known from the start

def test_the_best_by_a_part(tmp_path):
    learn = mk(path=tmp_path)
    cb = SaveModelCallback('valid_size', comp=operator.lt)
    learn.fit(3, cbs=[cb, CheckpointCallback(tmp_path/'c', best=1, keep=1, monitor='valid_size', better='less')])
    assert cb.best==min(o[-1] for o in learn.recorder.values)

@pytest.mark.parametrize('known', [False, True])
@pytest.mark.parametrize('mk_cb,error', [
    (lambda p: SaveModelCallback('valid_siz', better='less'), "unknown monitor 'valid_siz'; did you mean 'valid_size'"),
    (lambda p: SaveModelCallback('valid_size'), "better='less' or better='more'"),
    (lambda p: CheckpointCallback(p/'c', best=1, monitor='valid_siz', better='less'), 'the 1 best by'),
    (lambda p: CheckpointCallback(p/'c', best=1, monitor='valid_size'), "better='less' or better='more'"),
    (lambda p: TorchScheduler(torch.optim.lr_scheduler.ReduceLROnPlateau, unit='validate', monitor='valid_siz'), 'monitor is')])
def test_refused_before_anything_is_trained(mk_cb, error, known, tmp_path):
    learn = mk(path=tmp_path)
    if known: learn.fit(1)
    w = learn.model.weight.clone()
    with pytest.raises(ValueError, match=error): learn.fit(1, cbs=mk_cb(tmp_path))
    assert torch.equal(learn.model.weight, w)
    learn.fit(1)  # and nobody waits any more

def test_a_loss_without_parts_is_not_waited_for(tmp_path):
    learn,n = mk(F.mse_loss, path=tmp_path),[]
    with pytest.raises(ValueError, match="unknown monitor 'valid_kl'"):
        learn.fit(1, cbs=[SaveModelCallback('valid_kl'), Callback(before_batch=lambda cb: n.append(1))])
    assert not n

NAMES = ['epoch', 'step', 'train_loss', 'valid_loss', 'train_fit', 'valid_fit', 'train_size', 'valid_size']

@pytest.mark.parametrize('every', [None, 1])
def test_csv(every, tmp_path):
    learn = mk(path=tmp_path)
    learn.fit(2, cbs=CSVLogger('h.csv', every_steps=every, block=1))
    with open(tmp_path/'h.csv') as f: rows = [*csv.DictReader(f)]
    assert [k for k in rows[0] if k not in ('loss','lr')]==NAMES
    assert [float(rows[-1][k]) for k in NAMES[2:]]==learn.recorder.values[-1] and len(rows)==(8 if every else 2)

def test_csv_goes_on_in_another_process(tmp_path):
    mk(path=tmp_path).fit(1, cbs=CSVLogger('h.csv'))
    mk(path=tmp_path).fit(1, cbs=CSVLogger('h.csv', append=True))
    lines = (tmp_path/'h.csv').read_text().splitlines()
    assert lines[0].split(',')==NAMES and len(lines)==3
    other = mk(lambda p,y: p.square().mean(), path=tmp_path)
    w = other.model.weight.clone()
    with pytest.raises(ValueError, match='has the columns epoch, step, .* give it another fname'): other.fit(1, cbs=CSVLogger('h.csv', append=True))
    assert torch.equal(other.model.weight, w) and (tmp_path/'h.csv').read_text().splitlines()==lines

def test_other_logs(tmp_path):
    learn = mk(path=tmp_path)
    learn.fit(2, cbs=[JSONLogger('h.jsonl'), TensorBoardCallback('tb', examples=0), ValidateCallback(every_steps=2)])
    rows = [json.loads(o) for o in (tmp_path/'h.jsonl').read_text().splitlines()]
    assert [*rows[-1]]==NAMES and [o['valid_size'] for o in rows if 'train_loss' not in o]==[o['values']['valid_size'] for o in learn.recorder.records]
    curves,k = read_tensorboard(tmp_path/'tb'),learn.recorder.columns.index('train_size')
    torch.testing.assert_close(torch.tensor([v for _,v in curves['train_size']]), torch.tensor([o[k] for o in learn.recorder.values]))
    assert curves['valid_size'][-1][1]==pytest.approx(learn.recorder.values[-1][-1])
    assert 'valid_size' in report_from(tmp_path).read_text()

def test_resumed_in_the_middle_of_an_epoch(tmp_path):
    whole = mk()
    whole.fit(3)
    def kill(cb): raise KeyboardInterrupt
    learn = mk()
    with pytest.raises(KeyboardInterrupt):
        learn.fit(3, cbs=[CheckpointCallback(tmp_path, every_steps=1), on(event.before_batch, when=lambda o: o.training and o.epoch==1 and o.iter==2)(kill)])
    again = mk(m=model(1))
    again.fit(3, resume=tmp_path, accept='callbacks', cbs=EarlyStoppingCallback('valid_size', comp=operator.lt, patience=9))
    assert torch.equal(again.model.weight, whole.model.weight)
    assert [*again.recorder.values]==[*whole.recorder.values] and again.recorder.metric_names==whole.recorder.metric_names
    shown = Recorder()
    shown.load_state_dict(again.recorder.state_dict())
    assert str(shown)==str(again.recorder) and shown.parts==['train_fit', 'valid_fit', 'train_size', 'valid_size']

def test_titles_on_displays(capsys):
    rows = [['epoch', 'train_loss'], ['epoch', 'train_loss', 'train_kl'], [0, .5, .25], ['epoch', 'train_loss', 'train_kl', 'x'], [1, .5, .25, 1.]]
    note = _Notebook(False)
    note._draw = lambda *_: None
    for o in rows: note.row(o)
    assert note.rows[0].count('<th')==3 and [o.count('<td') for o in note.rows]==[0, 3, 0, 4] and [len(o.split()) for o in note.lines]==[3, 3, 4, 4]
    lines = _Lines()
    for o in rows[:3]: lines.row(o)
    assert [o.split() for o in capsys.readouterr().out.splitlines()]==[rows[0], rows[1], ['0', '0.500000', '0.250000']]

def test_classes_and_parts():
    "The first try of metrics takes the loss apart, too"
    y = (X[:, 0]>0).long()
    b = [(X, y)]
    class Needs(AvgLoss):
        name = 'again'
        def accumulate(self, learn):
            super().accumulate(learn)
            assert learn.loss.dim()==0
    learn = mk(lambda p,y: dict(ce=F.cross_entropy(p, y), size=p.abs().mean()), dls=DataLoaders(b, b, device='cpu'), metrics=[accuracy, Needs()])
    learn.fit(1)
    assert row(learn)['again']==row(learn)['valid_loss']

def test_the_names_of_other_systems():
    "Whose rows are made of the recorder's"
    learn = mk(metrics=mae)
    seen = {}
    class Theirs:
        def set_params(self, params): pass
        def set_model(self, model): pass
        def on_epoch_end(self, epoch, logs=None): seen.update(logs)
    learn.fit(2, cbs=Keras(Theirs()))
    names = dict(loss='train_loss', val_loss='valid_loss', val_mae='mae', fit='train_fit', val_fit='valid_fit', size='train_size', val_size='valid_size')
    assert seen=={k:row(learn)[v] for k,v in names.items()}

class Turns(Learner):
    "Two turns in a batch; in the first epoch, the first alone"
    def pull(self): return summed(self.forward_model(*self.xb), *self.yb)
    def push(self): return self.forward().square().mean()
    def train_batch(self):
        self.turn(self.pull, name='critic', counts=False)
        if self.epoch: self.turn(self.push, name='generator')
    def valid_batch(self): self.set_loss(self.forward_model(*self.xb).square().mean(), 'generator')

def mk_turns():
    learn = Turns(DataLoaders(TRAIN, VALID, device='cpu'), model(), None, torch.optim.SGD, lr=.1)
    learn.logger = lambda row: None
    return learn

def test_turns():
    learn,m = mk_turns(),model()
    learn.fit(2, cbs=EarlyStoppingCallback('train_critic_fit', patience=9, comp=operator.lt))
    opt = torch.optim.SGD(m.parameters(), lr=.1)
    def step(loss):
        loss.backward()
        opt.step()
        opt.zero_grad()
        return loss.item()
    def mean(vals): return sum(v*len(x) for v,(x,_) in zip(vals, TRAIN, strict=True))/22
    first = [step(sum(terms(m(x), y))) for x,y in TRAIN]
    both = [(step(sum(terms(m(x), y))), step(m(x).square().mean())) for x,y in TRAIN]
    assert torch.equal(learn.model.weight, m.weight)
    rows = [dict(zip(learn.recorder.columns, o, strict=False)) for o in learn.recorder.values]
    assert rows[0]['train_loss'] is None and rows[0]['train_critic']==mean(first)
    assert [rows[1][k] for k in ('train_loss','train_critic','train_generator')]==[mean([o[1] for o in both]), *map(mean, zip(*both, strict=True))]
    assert rows[1]['valid_loss']==rows[1]['valid_generator'] and 'valid_critic' not in rows[1]

@pytest.mark.parametrize('cb', [MicroBatch(3), SAM(), GradientAccumulation(n_batches=2)])
def test_parts_with_other_callbacks(cb):
    "Those of the batch: of all its pieces, of the first of two passes"
    learn,plain = mk(),mk()
    for o in (learn, plain): o.fit(1, lr=0., cbs=cb if o is learn else None)
    torch.testing.assert_close(torch.tensor(learn.recorder.values[0]), torch.tensor(plain.recorder.values[0]))
    assert learn.recorder.columns==plain.recorder.columns

def test_plot_metrics():
    learn = mk(metrics=mae)
    with pytest.raises(ValueError, match='nothing to plot'): learn.recorder.plot_metrics()
    learn.fit(3)
    axes = learn.recorder.plot_metrics()
    assert [(o.get_title(), [p.get_label() for p in o.lines]) for o in axes]==[('loss', ['train_loss', 'valid_loss']), ('mae', ['mae']),
        ('fit', ['train_fit', 'valid_fit']), ('size', ['train_size', 'valid_size'])]
    assert [*axes[3].lines[1].get_ydata()]==[o[-1] for o in learn.recorder.values]
    assert len(learn.recorder.plot_metrics(['size']))==1
    with pytest.raises(ValueError, match="there is no 'kl' to plot; there are loss, mae"): learn.recorder.plot_metrics(['kl'])

# Callbacks that write a header of their own

def csv_logger(base, reads=True):
    "A callback that replaces the logger, in the manner of fastai's `CSVLogger`"
    class WritesCSV(base):
        order = 60
        def before_fit(self):
            self.written = [[*self.recorder.metric_names]] if reads else []
            self.old_logger,self.learn.logger = self.logger,self.write
        def write(self, row):
            self.written.append([*row])
            self.old_logger(row)
        def after_fit(self): self.learn.logger = self.old_logger
    return WritesCSV()

ONE_TITLE = dict(torchs=F.mse_loss, lambdas=lambda p, y: F.mse_loss(p, y), parts=summed, logged=RETURNS['logged'][0], module=nn.MSELoss())
@pytest.mark.parametrize('base', [Callback, fastai.Callback], ids=['ours', 'fastais'])
@pytest.mark.parametrize('valid', [VALID, None], ids=['valid', 'alone'])
@pytest.mark.parametrize('train', [TRAIN, DataLoader(TensorDataset(X, Y), 8, shuffle=True)], ids=['list', 'loader'])
@pytest.mark.parametrize('loss', ONE_TITLE)
def test_a_header_of_ones_own_is_the_only_one(base, train, valid, loss):
    def fit(*cbs):
        learn = mk(ONE_TITLE[loss], nn.Sequential(model(), nn.BatchNorm1d(4), nn.Dropout(.5)), DataLoaders(train, valid, device='cpu'))
        torch.manual_seed(1)
        learn.fit(2, cbs=list(cbs))
        return learn,learn.model.state_dict()
    cb = csv_logger(base)
    (learn,weights),(_,want) = fit(cb),fit()
    torch.testing.assert_close(weights, want, rtol=0, atol=0)
    names = learn.recorder.metric_names
    assert cb.written[0]==names and len(names)==len(set(names)) and [o[0] for o in cb.written]==['epoch', 0, 1] and {*map(len, cb.written)}=={len(names)}
    assert learn.table_rows==cb.written  # what showed the table before has its titles, too, once

def test_a_logger_whose_callback_reads_no_titles_gets_them_once():
    for loss,n in ((F.mse_loss, 0), (ONE_TITLE['lambdas'], 1), (summed, 1)):
        learn,cb = mk(loss),csv_logger(Callback, reads=False)
        learn.fit(2, cbs=cb)
        assert [o[0] for o in cb.written].count('epoch')==n and [o[0] for o in learn.table_rows]==['epoch', 0, 1]

def test_the_loss_is_tried_only_if_somebody_asks():
    calls = []
    def loss(p, y):
        calls.append(len(y))
        return F.mse_loss(p, y)
    mk(loss, denominator='items').fit(1)
    n = len(calls)
    mk(loss, denominator='items').fit(1, cbs=csv_logger(Callback))
    assert n==len(TRAIN+VALID) and len(calls)==2*n+1

@pytest.mark.parametrize('loader', [lambda: iter(TRAIN*2), lambda: DataLoader(TensorDataset(X, Y), 8, num_workers=1)])
def test_where_the_loss_cant_be_tried_titles_come_again_with_its_parts(loader):
    learn,cb = mk(dls=DataLoaders(loader(), None, device='cpu')),csv_logger(Callback)
    learn.fit(1, cbs=cb)
    assert cb.written[:2]==[['epoch', 'train_loss', 'time'], ['epoch', 'train_loss', 'train_fit', 'train_size', 'time']] and len(cb.written)==3
