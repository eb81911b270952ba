"What a learner shows when it is printed: nothing is computed for it, and nothing goes wrong"
from helpers import batches, mk_learner
from learnloop import Callback, DataLoaders, Learner, Recorder
from learnloop.loop.portrait import portrait
from torch import nn
from torch.nn import functional as F

def told(learn, k): return portrait(learn, vars(learn).get('_given_lr'))[k]

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

def test_what_is_odd_is_left_out():
    assert told(Learner((Odd(), None), nn.Linear(2, 1), F.mse_loss), 'data').startswith('train, on ')
    learn = Learner(batches(1), nn.LazyLinear(1), F.mse_loss)
    assert told(learn, 'model')=='LazyLinear, whose first batch makes its parameters'
    assert 'data' not in portrait(Learner(DataLoaders(device='cpu'), nn.Linear(2, 1)))

def test_half_made():
    assert repr(Learner.__new__(Learner))=='Learner'
    class Peeks(Learner):
        def add_cbs(self, cbs):
            self.seen = repr(self)
            return super().add_cbs(cbs)
    assert Peeks(batches(1), nn.Linear(2, 1), F.mse_loss).seen.startswith('Peeks\n  model      Linear, 3 parameters')
    del (learn := mk_learner([])).model
    assert 'model' not in portrait(learn) and 'loss' in portrait(learn)
