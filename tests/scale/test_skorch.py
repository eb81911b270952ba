"Callbacks of skorch in two processes: their values, stops, and files"
import os
import pytest, torch
from skorch.callbacks import Callback, Checkpoint, EarlyStopping, LRScheduler, TensorBoard
from torch.optim.lr_scheduler import ReduceLROnPlateau
from test_interop import mk, weights
from together import same, together

pytestmark = pytest.mark.filterwarnings('ignore')

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
    def is_equal(learn): return all(map(torch.equal, *learn.team.gather(weights(learn))))
    for hook in 'on_batch_end','on_epoch_end':
        for who in 0,1:
            learn = mk()
            learn.fit(4, cbs=Stops(hook, who))
            res[hook,who] = learn.count.batches,is_equal(learn)
    writer,seen = Writer(),[]
    class Sees(Callback):
        def on_train_end(self, net, **kwargs): seen.extend(net.history[:, ('train_loss','valid_loss')])
    learn = mk(lr=.9)
    cbs = [LRScheduler(ReduceLROnPlateau, monitor='valid_loss', patience=0), EarlyStopping(patience=3), TensorBoard(writer), Sees(),
        Checkpoint(dirname=folder, load_best=True)]
    learn.fit(6, cbs=cbs)
    res['history'] = [list(map(float, o)) for o in seen]
    res['recorder'] = [list(map(float, o)) for o in learn.recorder.values]
    res['equal'] = is_equal(learn)
    res['wrote'] = learn.team.gather(writer.n>0)==[True, False]
    return res

def test_skorch_callbacks_work_in_two_processes(tmp_path):
    res = same(together(run, str(tmp_path/'best')))
    for who in 0,1: assert res['on_batch_end',who]==(9, True) and res['on_epoch_end',who]==(12, True)
    assert res['equal'] and res['wrote'] and (tmp_path/'best'/'params.pt').exists()
    assert len(res['history'])>1
    for a,b in zip(res['history'], res['recorder'], strict=False): assert a==pytest.approx(b, rel=1e-5)  # float32
