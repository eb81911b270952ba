"Losses with several parts: which value trains, and how tables, loggers, trackers and checkpoints use the others"
import operator
import pytest, torch
from helpers import silent
from learnloop import (
    Callback, CheckpointCallback, CSVLogger, DataLoaders, EarlyStoppingCallback, Learner,
    Recorder, SaveModelCallback,
    TorchScheduler, event, mae, on)
from learnloop.interop.keras import Keras
from learnloop.loop.loss import own_loss, split_loss
from learnloop.see.progress import _Lines, _Notebook
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

def row(learn): return dict(zip(learn.recorder.columns, learn.recorder.values[-1], strict=True))

@pytest.mark.parametrize('res,error', [
    (dict(fit=torch.ones(2)), "'fit' is not a float scalar but float32 \\(2\\): name the value to train on 'loss'"),
    (dict(fit=torch.tensor(1.), right=torch.tensor(3)), "'right' is not a float scalar"), ({}, 'it is empty'), (dict(fit=True), "'fit' is not a float scalar"),
    (dict(loss=.5), 'the loss is 0.5, a float: loss_func must return a tensor, a dict of scalars, or a tuple with the loss first'),
    ([torch.tensor(1.)], 'a list: loss_func must'), ((), 'a tuple: loss_func must'), (({}, torch.tensor(1.)), 'a dict: loss_func must')])
def test_what_is_refused(res, error):
    with pytest.raises(TypeError, match=error): split_loss(res)
    learn = mk(lambda p,y: res)
    with pytest.raises(TypeError, match=error): learn.validate()

def test_a_column_that_is_taken():
    learn = mk(metrics=lambda p,y: 0., loss=lambda p,y: dict(loss=F.mse_loss(p, y), acc=.5))
    learn.metrics[0].__name__ = 'valid_acc'
    with pytest.raises(ValueError, match="has the column 'valid_acc', but this column already exists"): learn.fit(1)

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

@pytest.mark.parametrize('out', [(X, Y), (X.mean(), Y.mean()), dict(a=X, b=X.mean()), [X.mean()], (X, X.sum().int())])
def test_a_model_without_a_loss(out):
    assert own_loss(out)[0] is None
    learn = mk_own('alone')
    learn.model.give = lambda *_: out
    with pytest.raises(ValueError, match="no loss: give the learner a loss_func, or a model that returns its own loss: alone, in a tuple .*the model returned"):
        learn.fit(1)

# who goes by the columns

@pytest.mark.parametrize('known', [False, True])
@pytest.mark.parametrize('mk_cb,error', [
    (lambda p: SaveModelCallback('valid_siz', better='less'), "unknown monitor 'valid_siz'; did you mean 'valid_size'"),
    (lambda p: SaveModelCallback('valid_size'), "better='less' or better='more'"),
    (lambda p: CheckpointCallback(p/'c', best=1, monitor='valid_siz', better='less'), 'best=1 needs the column'),
    (lambda p: CheckpointCallback(p/'c', best=1, monitor='valid_size'), "better='less' or better='more'"),
    (lambda p: TorchScheduler(torch.optim.lr_scheduler.ReduceLROnPlateau, unit='validate', monitor='valid_siz'), 'monitor is')])
def test_refused_before_anything_is_trained(mk_cb, error, known, tmp_path):
    learn = mk(path=tmp_path)
    if known: learn.fit(1)
    w = learn.model.weight.clone()
    with pytest.raises(ValueError, match=error): learn.fit(1, cbs=mk_cb(tmp_path))
    assert torch.equal(learn.model.weight, w)
    learn.fit(1)  # and nobody waits any more

NAMES = ['epoch', 'step', 'train_loss', 'valid_loss', 'train_fit', 'valid_fit', 'train_size', 'valid_size']

def test_csv_is_continued_by_another_learner(tmp_path):
    mk(path=tmp_path).fit(1, cbs=CSVLogger('h.csv'))
    mk(path=tmp_path).fit(1, cbs=CSVLogger('h.csv', append=True))
    lines = (tmp_path/'h.csv').read_text().splitlines()
    assert lines[0].split(',')==NAMES and len(lines)==3
    other = mk(lambda p,y: p.square().mean(), path=tmp_path)
    w = other.model.weight.clone()
    with pytest.raises(ValueError, match='has the columns epoch, step, .* give it another fname'): other.fit(1, cbs=CSVLogger('h.csv', append=True))
    assert torch.equal(other.model.weight, w) and (tmp_path/'h.csv').read_text().splitlines()==lines

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
    return silent(Turns(DataLoaders(TRAIN, VALID, device='cpu'), model(), None, torch.optim.SGD, lr=.1))

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

def test_plot_metrics():
    learn = mk(metrics=mae)
    with pytest.raises(ValueError, match='nothing to plot'): learn.recorder.plot_metrics()
    learn.fit(3)
    axes = learn.recorder.plot_metrics()
    assert [(o.get_title(), [p.get_label() for p in o.lines]) for o in axes]==[('loss', ['train_loss', 'valid_loss']), ('mae', ['mae']),
        ('fit', ['train_fit', 'valid_fit']), ('size', ['train_size', 'valid_size'])]
    assert [*axes[3].lines[1].get_ydata()]==[o[-1] for o in learn.recorder.values]
    assert len(learn.recorder.plot_metrics(['size']))==1
    with pytest.raises(ValueError, match="there is no 'kl' to plot; choose from loss, mae"): learn.recorder.plot_metrics(['kl'])

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

def test_the_loss_is_tried_only_on_request():
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
