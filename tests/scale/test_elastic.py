"Processes that torch's agent, as in `torchrun`, restarts"
import os, signal
import torch
from torch import nn
from torch.distributed.launcher.api import LaunchConfig, elastic_launch
from torch.utils.data import DataLoader, TensorDataset
from learnloop import Callback, CheckpointCallback, Learner
from together import LIMIT, together
from tools.forks import run_all

class KillOnce(Callback):
    "Kills a process once, as if its host lost power: nothing is cleaned up"
    rank_invariant,n = True,0
    def __init__(self, folder): self.folder = folder
    def after_batch(self):
        self.n += self.learn.training
        if not self.folder or not self.learn.training or self.learn.team.rank or self.learn.count.batches!=15: return
        try: (self.folder/'killed').touch(exist_ok=False)
        except FileExistsError: return
        os.kill(os.getpid(), signal.SIGKILL)

def fit(folder, is_killed):
    "Fit with checkpoints; one process may be killed, once"
    torch.manual_seed(0)
    x = torch.randn(48, 4)
    ds = TensorDataset(x, x.sum(1, keepdim=True))
    model = nn.Sequential(nn.Linear(4, 8), nn.Dropout(.5), nn.Linear(8, 1))
    learn = Learner((DataLoader(ds, 4, shuffle=True), DataLoader(ds, 8)), model, nn.functional.mse_loss, lr=.05, cbs=KillOnce(folder if is_killed else None))
    learn.logger = lambda *a: None
    learn.to_ddp(timeout=LIMIT)
    learn.fit(2, resume=folder/'run', cbs=CheckpointCallback(folder/'run', every_steps=4))
    got = [p.detach() for p in model.parameters()]
    assert len({str(o) for o in learn.team.gather(got)})==1
    if learn.team.is_first: torch.save([got, learn.count.batches, learn.kill_once.n, os.environ.get('TORCHELASTIC_RESTART_COUNT')], folder/'done.pt')

def agent(folder):
    "Start two processes, and restart them once"
    config = LaunchConfig(1, 1, 2, run_id='test', rdzv_backend='c10d', rdzv_endpoint='localhost:0', max_restarts=1, monitor_interval=.1, start_method='fork')
    elastic_launch(config, fit)(folder, True)

def test_a_killed_process_is_restarted(tmp_path):
    "77: all processes restart, and resume from the last checkpoint with equal results"
    for o in ('whole', 'killed'): (tmp_path/o).mkdir()
    together(fit, tmp_path/'whole', False)
    ended, = run_all(agent, [tmp_path/'killed'], timeout=LIMIT)
    assert ended.rc==0, ended.out
    (want,n,*_),(got,m,done,restarts) = (torch.load(tmp_path/o/'done.pt') for o in ('whole', 'killed'))
    assert (tmp_path/'killed'/'killed').exists() and restarts=='1'
    assert m==n==24 and done==12, 'from step 12 on, the last that was kept'
    assert all(map(torch.equal, got, want))
