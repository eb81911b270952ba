"After recovery from a spike or NaN, the weights equal those of a run without the skipped batches or rows"
from functools import partial
import pytest, torch
from helpers import batches, check, silent
from learnloop import CancelBatchException, Callback, FlightRecorder, Learner, Snapshots, SpikeRecovery, set_seed
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

BS,N = 4,15
X,Y = map(torch.cat, zip(*batches(N, BS), strict=True))

def mk(bad=(), val=1e4, **kwargs):
    set_seed(1)
    x = X.clone()
    x[list(bad)] = val
    return silent(Learner(DataLoader(TensorDataset(x, Y), BS), nn.Sequential(nn.Linear(2, 4), nn.Dropout(.2), nn.Linear(4, 1)), F.mse_loss,
        partial(torch.optim.SGD, momentum=.9), lr=.02, **kwargs))

class Without(Callback):
    "Leaves out batches"
    order = -99
    def __init__(self, which): self.which = which
    def before_batch(self):
        if self.learn.iter in self.which: raise CancelBatchException

def weights(learn): return {k:v.clone() for k,v in learn.model.state_dict().items()}

@pytest.mark.parametrize('val', [1e4, float('nan')])
@pytest.mark.parametrize('at,back', [(9, 0), (9, 3), (N-1, 2), (5, 9)])
def test_the_weights_equal_those_of_a_run_without_the_batches(val, at, back):
    learn = mk([at*BS], val)
    learn.fit(1, cbs=[Snapshots(every_steps=4, keep=9), cb := SpikeRecovery(back, warmup=3, rtol=50.)])
    other = mk([at*BS], val)
    other.fit(1, cbs=Without(range(max(at-back, 0), at+1)))
    check(weights(learn), weights(other))
    (o,) = cb.recovered
    assert (o['epoch'], o['iter'], o['skip_batches'])==(0, at, min(back, at)+1)

def test_rows_that_are_blamed_are_left_out(tmp_path):
    at,row = 9,9*BS+2
    learn = mk([row], path=tmp_path)
    learn.fit(2, cbs=[Snapshots(every_steps=4, keep=9), FlightRecorder(), cb := SpikeRecovery(3, rows=1, warmup=3, rtol=50.)])
    assert [o['skip_rows'] for o in cb.recovered]==[[row]]
    class LessRow(Callback):
        "The same batch without the row"
        order = -99
        def before_batch(self):
            learn = self.learn
            if learn.iter==at: learn.xb,learn.yb,learn.bs = (learn.xb[0][[0, 1, 3]],),(learn.yb[0][[0, 1, 3]],),3
    other = mk([row])
    other.fit(2, cbs=LessRow())
    check(weights(learn), weights(other))

def test_spike_recovery_gives_up_and_lists_its_attempts():
    learn = mk([BS*i for i in (5, 8, 11)])
    with pytest.raises(RuntimeError, match=r'after 2 rewinds \(epoch 0, batch 5: .*; epoch 0, batch 8: '):
        learn.fit(1, cbs=[Snapshots(every_steps=2, keep=9), SpikeRecovery(1, most=2, warmup=3, rtol=50.)])

def test_spike_recovery_names_the_callbacks_that_it_needs():
    with pytest.raises(ValueError, match=r'Snapshots\(every_steps=50\)'): mk().fit(1, cbs=SpikeRecovery())
    with pytest.raises(ValueError, match=r'add FlightRecorder'): mk().fit(1, cbs=[Snapshots(), SpikeRecovery(rows=2)])
