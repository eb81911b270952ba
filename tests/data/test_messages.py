"Mistakes that users of other libraries make first: each message names the value, the rule and the fix"
import re
from functools import partial
import pytest, torch
from learnloop import *
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

X,Y = torch.randn(8, 4),torch.arange(8)%3
BATCHES,DS = [(X, Y)]*2,TensorDataset(X, Y)

class Two(nn.Linear):
    def __init__(self): super().__init__(4, 3)
    def forward(self, x, n): return super().forward(x+n)
class Named(nn.Linear):
    def __init__(self): super().__init__(4, 3)
    def forward(self, x): return super().forward(x)
class Batch(Named):
    def forward(self, batch): return super().forward(batch['x'])
class Takes(Callback):
    def before_batch(self, learn): pass
DICT = dict(x=X, y=Y)

def mk(b=None, model=None, loss_func=F.cross_entropy, dls=None, **kwargs):
    return Learner(([b]*2,)*2 if b is not None else dls or (BATCHES, BATCHES), model or nn.Linear(4, 3), loss_func, **kwargs)
def fit(*args, **kwargs):
    with (learn := mk(*args, **kwargs)).no_logging(): learn.fit(1)
def later_loss():
    (learn := mk()).loss_func = nn.CrossEntropyLoss
    learn.fit(1)
def later_opt():
    (learn := mk()).opt = torch.optim.SGD(nn.Linear(4, 3).parameters())
    learn.fit(1)

CASES = {
    # arguments of other names
    'fit_one_cycle lr': (lambda: mk().fit_one_cycle(1, lr=.1), "'lr'.*lr_max"),
    'fit_sgdr lr': (lambda: mk().fit_sgdr(1, 1, lr=.1), "'lr'.*lr_max"),
    'fine_tune lr': (lambda: mk().fine_tune(1, lr=.1), "'lr'.*base_lr"),
    'fine_tune n_epoch': (lambda: mk().fine_tune(n_epoch=1), "'n_epoch'.*epochs"),
    'from_dsets': (lambda: DataLoaders.from_dsets(DS, batch_size=4), "'batch_size'.*bs"),
    'validate': (lambda: mk().validate(BATCHES), r'ds_idx is \[.*index or the name.*dl=…'),
    'get_preds': (lambda: mk().get_preds(DataLoader(DS)), 'ds_idx is DataLoader.*dl=…'),
    'show_results': (lambda: mk().show_results(DataLoader(DS)), 'ds_idx is DataLoader.*dl=…'),
    # a class in place of an instance, or the other way round
    'loss class': (lambda: mk(loss_func=nn.CrossEntropyLoss), r'class CrossEntropyLoss.*function of \(pred, \*yb\).*CrossEntropyLoss\(…\)'),
    'loss partial': (lambda: mk(loss_func=partial(nn.CrossEntropyLoss, label_smoothing=.1)), r'class CrossEntropyLoss.*CrossEntropyLoss\(…\)'),
    'loss set': (later_loss, 'class CrossEntropyLoss.*give an instance'),
    'loss string': (lambda: mk(loss_func='mse'), "'mse'.*function.*F.cross_entropy"),
    'loss is opt': (lambda: mk(loss_func=torch.optim.SGD), 'class SGD.*opt_func'),
    'model class': (lambda: mk(model=nn.Linear), r'Linear.*nn.Module.*Linear\(…\)'),
    'swapped': (lambda: Learner(nn.Linear(4, 3), BATCHES, F.cross_entropy), r'a list.*nn.Module.*Learner\(dls, model'),
    'opt string': (lambda: fit(opt_func='adam'), "'adam'.*torch optimizer class"),
    'opt fails': (lambda: fit(opt_func=lambda ps, lr: torch.optim.SGD(ps, lr=lr, momentum=-1)), 'momentum.*opt_func created the optimizer with lr=0.001'),
    'metric class': (lambda: fit(metrics=type('Needs', (Metric,), dict(__init__=lambda self, task: None, accumulate=lambda self, learn: None))), r'task.*class Needs.*Needs\(…\)'),
    'metric value': (lambda: fit(metrics=[torch.tensor(.5)]), 'tensor.*is not a metric.*without calling it'),
    'metric module class': (lambda: fit(metrics=nn.MSELoss), r'MSELoss.*is not a metric.*give an instance, MSELoss\(…\)'),
    'metric dict': (lambda: fit(metrics=dict(a=accuracy)), 'is not a metric.*list'),
    'callback class': (lambda: mk(cbs=CheckpointCallback), r'folder.*class CheckpointCallback.*CheckpointCallback\(…\)'),
    'callback function': (lambda: mk(cbs=[print]), r'is not a callback.*Callback\(after_batch=f\)'),
    'scheduler': (lambda: mk(cbs=torch.optim.lr_scheduler.StepLR), r'StepLR.*is not a callback.*TorchScheduler\(f\)'),
    'device': (lambda: DataLoaders([1], device='gpu'), "device='gpu'.*'cuda'"),
    # loaders and batches
    'list of loaders': (lambda: mk(dls=[DataLoader(DS)]), r'\[DataLoader\].*tuple, \(train, valid\)'),
    'dataset': (lambda: mk(dls=DS), 'TensorDataset is not a loader.*DataLoaders.from_dsets'),
    'no targ': (lambda: fit(dict(x=X, y=Y), Named()), r"'y'.*DataLoaders\(…, targ='y'\)"),
    'no targ, taken': (lambda: fit(dict(x=X), Named()), r"no targets.*targ='name'"),
    'no targ, metric': (lambda: fit(dict(x=X), Named(), metrics=accuracy), r"accuracy.*0 target.*targ='name'"),
    'nested': (lambda: fit(((X, X), Y), Two()), r'tuple of 2.*\(a, b, y\).*n_inp=2'),
    'targ of a tuple': (lambda: mk(dls=DataLoaders(BATCHES, targ='y')).fit(1), "targ='y'.*targ=1"),
    'numpy': (lambda: fit((X.numpy(), Y.numpy())), 'ndarray.*torch.as_tensor'),
    'list of loaders to validate on': (lambda: mk(dls=(BATCHES, [DataLoader(DS)]*2)), r"valid=\[DataLoader, DataLoader\] is a list.*DataLoaders\(train, valid, test=…\)"),
    'forward of a batch': (lambda: fit(dls=DataLoaders([DICT], [DICT], targ='y'), model=Batch()), r'by keyword, so forward must take x: def forward\(self, x\)'),
    'forward of a batch, no targ': (lambda: fit(DICT, Batch()), r'by keyword, so forward must take x, y: def forward\(self, x, y\)'),
    'targ misspelt, metric': (lambda: fit(dls=DataLoaders([DICT], [DICT], targ='z'), model=Named(), metrics=accuracy), r"no target: targ=\('z',\)"),
    'from_dsets 32': (lambda: DataLoaders.from_dsets(DS, DS, 32), '32 is not a dataset.*bs=64'),
    'from_dsets valid_pct': (lambda: DataLoaders.from_dsets(DS, valid_pct=.2), "'valid_pct'.*random_split.*from_tensors"),
    'from_tensors batch_size': (lambda: DataLoaders.from_tensors((X, Y), batch_size=4), "'batch_size'.*it is bs"),
    'TensorLoader batch_size': (lambda: TensorLoader((X, Y), batch_size=4), "'batch_size'.*it is bs"),
    'rates of more groups': (lambda: mk().fit(1, lr=[.1, .2]), r'2 values for 1 parameter group\(s\): give 1$'),
    'from_tensors num_workers': (lambda: DataLoaders.from_tensors((X, Y), num_workers=2), "'num_workers'.*need no workers"),
    'DataLoaders bs': (lambda: DataLoaders(BATCHES, bs=3), r'bs=3.*create the loaders.*DataLoaders.from_dsets\(train_ds, valid_ds, bs=…\)'),
    'two loaders': (lambda: Learner(DataLoader(DS), DataLoader(DS), nn.Linear(4, 3)), r'a loader, a DataLoader.*go together: Learner\(\(train, valid\), model'),
    'two loaders and a loss': (lambda: Learner(DataLoader(DS), DataLoader(DS), nn.Linear(4, 3), F.cross_entropy), r'go together: Learner\(\(train, valid\), model'),
    'fit of loaders': (lambda: mk().fit(DataLoader(DS), DataLoader(DS)), r'n_epoch is DataLoader.*whole number.*Learner\(\(train, valid\), model'),
    'opt of another model': (lambda: later_opt(), r"none of the model's parameters.*create the optimizer for this model"),
    'opt list': (lambda: mk(opt_func=[torch.optim.SGD(nn.Linear(4, 3).parameters())]*2), r'is not an optimizer.*a dict of instances'),
    'opt string, at once': (lambda: mk(opt_func='adam'), "'adam'.*torch optimizer class"),
    'metric string': (lambda: mk(metrics='accuracy'), "metrics is 'accuracy'.*function itself"),
    'monitor of no metric': (lambda: fit(cbs=EarlyStoppingCallback('accuracy')), "unknown monitor 'accuracy'.*metrics=accuracy"),
    'val_loss': (lambda: fit(cbs=Callback(after_epoch=lambda cb: cb.val_loss)), r'learn.recorder.values\[-1\].*valid_loss'),
    'iterator': (lambda: mk(dls=iter(DataLoader(DS))).fit(2), 'iterator of a DataLoader is an exhausted iterator'),
    'learner of a tensor': (lambda: mk()(X), r'learn.predict\(item\).*learn.get_preds'),
    'MixedPrecision': (lambda: MixedPrecision(dtype='fp16'), "'dtype'.*amp_mode"),
    'GradientAccumulation': (lambda: GradientAccumulation(n_steps=3), "'n_steps'.*n_batches"),
    'fit early_stopping': (lambda: mk().fit(1, early_stopping=3), r"'early_stopping'.*EarlyStoppingCallback\(patience=…\)"),
    # handlers
    'method with an argument': (lambda: mk(cbs=Takes), r'Takes.before_batch\(self, learn\).*only the callback.*def before_batch\(self\), and use self.learn'),
    'function without argument': (lambda: mk(cbs=Callback(before_batch=lambda: 0)), r'before_batch\(\).*one argument, cb'),
    'function of two': (lambda: mk(cbs=on('after_batch', every=2)(lambda a, b: 0)), r'\(a, b\).*one argument, cb'),
    # dtypes, shapes, labels
    'labels float': (lambda: fit((X, Y.float())), r'Float(.|\n)*float32 \(8\)(.|\n)*y.long\(\)'),
    'labels column': (lambda: fit((X, Y[:,None])), r'int64 \(8, 1\)(.|\n)*y.squeeze\(-1\)'),
    'labels range': (lambda: fit((X, Y+2)), r'Target \d(.|\n)*3 classes, numbered 0 to 2, but targets go from 2 to 4(.|\n)*last layer'),
    'input double': (lambda: fit((X.double(), Y)), r'float64 \(8, 4\)(.|\n)*weights are float32.*x.float\(\)'),
    'input bytes': (lambda: fit((torch.zeros(8, 3, 8, 8).byte(), Y), nn.Sequential(nn.Conv2d(3, 3, 8), nn.Flatten())), r'uint8(.|\n)*x.float\(\)/255'),
    'channels last': (lambda: fit((torch.zeros(8, 8, 8, 3), Y), nn.Sequential(nn.Conv2d(3, 3, 8), nn.Flatten())), r'x.permute\(0, 3, 1, 2\)'),
    'features': (lambda: fit(model=nn.Linear(5, 3)), r'takes 5 features, but got 4: use nn.Linear\(4, …\)'),
    'embedding': (lambda: fit((Y, Y), nn.Embedding(2, 3)), 'num_embeddings'),
    'embedding float': (lambda: fit((Y.float(), Y), nn.Embedding(3, 3)), r'x.long\(\)'),
    'bce dtype': (lambda: fit((X, Y[:,None]%2), nn.Linear(4, 1), F.binary_cross_entropy_with_logits), r'y.float\(\)'),
    'bce shape': (lambda: fit((X, Y.float()), nn.Linear(4, 1), nn.BCEWithLogitsLoss()), r'y.unsqueeze\(-1\)'),
    'items': (lambda: fit((X, Y[:7])), '8 predictions for 7 targets')}

@pytest.mark.parametrize('name', CASES)
def test_a_mistake_is_answered_by_the_value_the_rule_and_the_fix(name):
    f,want = CASES[name]
    with pytest.raises((TypeError, ValueError, RuntimeError, IndexError, AttributeError)) as e: f()
    said = '\n'.join([str(e.value), *getattr(e.value, '__notes__', ())])
    assert re.search(f'(?s){want}', said), said
