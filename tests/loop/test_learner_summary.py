"Printing a learner computes nothing and never fails"
from functools import partial
import pytest, torch
from helpers import batches, mk_learner
from learnloop import Callback, DataLoaders, Learner, Recorder, accuracy
from learnloop.loop.learner_summary import as_table, learner_summary
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

def told(learn, k): return learner_summary(learn, vars(learn).get('_given_lr'))[k]

def test_the_parts():
    ds = TensorDataset(torch.zeros(1000, 2), torch.zeros(1000, 1))
    dls = DataLoaders(DataLoader(ds, 64), DataLoader(ds, 128), device='cpu')
    model = nn.Sequential(nn.Linear(2, 4), nn.Linear(4, 1))
    model[0].requires_grad_(False)
    learn = Learner(dls, model, F.mse_loss, opt_func=torch.optim.SGD, lr=.05, metrics=accuracy)
    assert str(learn).splitlines()==['Learner', '  model      Sequential, 17 parameters, 5 of them trained', '  loss       mse_loss', '  optimizer  SGD, lr 0.05',
        '  data       train 16 batches of 64 (1,000 items), valid 8 batches of 128 (1,000 items), on cpu', '  metrics    accuracy', '  callbacks  '
        + ', '.join(o.name for o in learn.cbs), '  trained    not yet']
    assert repr(learn)==str(learn) and learn._repr_markdown_().startswith('| Learner | |\n|---|---|\n| model | Sequential, 17 ')

def test_it_takes_no_batch_and_makes_no_optimizer():
    made = []
    def opt_func(params, **kw):
        made.append(kw)
        return torch.optim.SGD(params, lr=.3)
    dl = iter(batches(2))
    learn = Learner(dl, nn.Linear(2, 1), F.mse_loss, opt_func=opt_func, default_cbs=False)
    assert told(learn, 'data')=='train ? batches, on '+str(learn.dls.device) and 'opt_func' in told(learn, 'optimizer')
    assert not made and learn._opt is None and len(list(dl))==2

@pytest.mark.parametrize('opt,want', [(partial(torch.optim.SGD, momentum=.9), 'SGD, lr 0.001'), (partial(torch.optim.SGD, lr=.2), 'SGD'), (torch.optim.Adam, 'Adam, lr 0.001')])
def test_optimizers_that_are_to_be_made(opt, want):
    assert told(Learner(batches(1), nn.Linear(2, 1), F.mse_loss, opt_func=opt), 'optimizer')==want

def test_where_it_is():
    seen = []
    learn = mk_learner([Recorder(), Callback('looks', before_step=lambda cb: seen.append(told(cb.learn, 'trained')),
        after_loss=lambda cb: cb.learn.training or seen.append(told(cb.learn, 'trained')))], dls=(batches(2), batches(1)))
    with learn.no_logging(): learn.fit(2)
    learn.validate()
    assert seen==['not yet; now in epoch 0, batch 0 of training', '0 epochs, 1 step; now in epoch 0, batch 1 of training', '0 epochs, 2 steps; now in epoch 0, batch 0 of validation',
        '1 epoch, 2 steps; now in epoch 1, batch 0 of training', '1 epoch, 3 steps; now in epoch 1, batch 1 of training', '1 epoch, 4 steps; now in epoch 1, batch 0 of validation',
        '2 epochs, 4 steps; now in an evaluation, batch 0 of validation']
    assert told(learn, 'trained')=='2 epochs, 4 steps'

class Odd:
    "A loader that answers nothing"
    def __iter__(self): raise AssertionError('somebody iterates')
    def __len__(self): raise RuntimeError('no length')
    batch_size = property(lambda self: 1/0)

def test_odd_values_are_left_out():
    assert told(Learner((Odd(), None), nn.Linear(2, 1), F.mse_loss), 'data').startswith('train, on ')
    learn = Learner(batches(1), nn.LazyLinear(1), F.mse_loss)
    assert told(learn, 'model')=='LazyLinear, lazy: the first batch creates its parameters'
    assert 'data' not in learner_summary(Learner(DataLoaders(device='cpu'), nn.Linear(2, 1)))

def test_half_made():
    assert repr(Learner.__new__(Learner))=='Learner'
    class Peeks(Learner):
        def add_cbs(self, cbs):
            self.seen = repr(self)
            return super().add_cbs(cbs)
    assert Peeks(batches(1), nn.Linear(2, 1), F.mse_loss).seen.startswith('Peeks\n  model      Linear, 3 parameters')
    del (learn := mk_learner([])).model
    assert 'model' not in learner_summary(learn) and 'loss' in learner_summary(learn)

def test_tables_escape(): assert as_table('A', dict(loss='<lambda> a|b')).endswith('| loss | &lt;lambda> a\\|b |')
