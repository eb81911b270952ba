"Callbacks of skorch in two processes: their values, stops, and files"
import os
import pytest, torch
from helpers import silent
from learnloop import DataLoaders, Learner
from skorch.callbacks import Callback, Checkpoint, EarlyStopping, LRScheduler, TensorBoard
from torch import nn
from torch.nn import functional as F
from torch.optim.lr_scheduler import ReduceLROnPlateau
from torch.utils.data import DataLoader, TensorDataset
from together import same, together

pytestmark = pytest.mark.filterwarnings('ignore')

def mk(lr=.1):
    g = torch.Generator().manual_seed(0)
    x = torch.randn(24, 3, generator=g)
    dl = DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), 4)  # 6 batches
    torch.manual_seed(1)
    return silent(Learner(DataLoaders(dl, dl), nn.Linear(3, 1), F.mse_loss, torch.optim.SGD, lr=lr).to_ddp())

class Stops(Callback):
    def __init__(self, hook, rank): self.hook,self.rank = hook,rank
    def _at(self, hook, net):
        here = hook==self.hook and int(os.environ['RANK'])==self.rank and len(net.history)==2
        if here and (hook=='on_epoch_end' or len(net.history[-1, 'batches'])==3): raise KeyboardInterrupt
    def on_batch_end(self, net, **kwargs): self._at('on_batch_end', net)
    def on_epoch_end(self, net, **kwargs): self._at('on_epoch_end', net)

class Writer:
    n = 0
    def add_scalar(self, **kwargs): self.n += 1
    def close(self): pass

def run(folder):
    res = {}
    def weights(learn): return learn.team.gather([p.detach().clone() for p in learn.model.parameters()])
    for hook in 'on_batch_end','on_epoch_end':
        for who in 0,1:
            learn = mk()
            learn.fit(4, cbs=Stops(hook, who))
            res[hook,who] = learn.count.batches,all(map(torch.equal, *weights(learn)))
    writer,seen = Writer(),[]
    class Sees(Callback):
        def on_train_end(self, net, **kwargs): seen.extend(net.history[:, ('train_loss','valid_loss')])
    learn = mk(.9)
    cbs = [LRScheduler(ReduceLROnPlateau, monitor='valid_loss', patience=0), EarlyStopping(patience=3), TensorBoard(writer), Sees(),
        Checkpoint(dirname=folder, load_best=True)]
    learn.fit(6, cbs=cbs)
    res['history'] = [list(map(float, o)) for o in seen]
    res['recorder'] = [list(map(float, o)) for o in learn.recorder.values]
    res['equal'] = all(map(torch.equal, *weights(learn)))
    res['wrote'] = learn.team.gather(writer.n>0)==[True, False]
    return res

def test_skorch_callbacks_work_in_two_processes(tmp_path):
    res = same(together(run, str(tmp_path/'best')))
    for who in 0,1: assert res['on_batch_end',who]==(9, True) and res['on_epoch_end',who]==(12, True)
    assert res['equal'] and res['wrote'] and (tmp_path/'best'/'params.pt').exists()
    assert len(res['history'])>1
    for a,b in zip(res['history'], res['recorder'], strict=False): assert a==pytest.approx(b, rel=1e-5)  # float32
