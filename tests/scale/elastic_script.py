"What `torchrun` starts and restarts: a fit with checkpoints, of which one process is killed at a batch, once"
import os, signal, sys, torch
from pathlib import Path
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from learnloop import Callback, CheckpointCallback, Learner

folder,rank,at = Path(sys.argv[1]),*map(int, sys.argv[2:4])

class KillOnce(Callback):
    "As much as a host that loses power: nothing is cleaned up"
    rank_invariant,n = True,0
    def after_batch(self):
        self.n += self.learn.training
        if not self.learn.training or self.learn.team.rank!=rank or self.learn.count.batches!=at: return
        try: (folder/'killed').touch(exist_ok=False)
        except FileExistsError: return
        os.kill(os.getpid(), signal.SIGKILL)

torch.manual_seed(0)
x = torch.randn(48, 4)
ds = TensorDataset(x, x.sum(1, keepdim=True))
model = nn.Sequential(nn.Linear(4, 8), nn.Dropout(.5), nn.Linear(8, 1))
learn = Learner((DataLoader(ds, 4, shuffle=True), DataLoader(ds, 8)), model, nn.functional.mse_loss, lr=.05, cbs=KillOnce())
learn.logger = lambda *a: None
learn.to_ddp(timeout=60)
learn.fit(2, resume=folder/'run', cbs=CheckpointCallback(folder/'run', every_steps=4))
team = learn.team
assert len({str(o) for o in team.gather([p.detach() for p in model.parameters()])})==1
if team.is_first:
    torch.save([[p.detach() for p in model.parameters()], learn.count.batches, learn.kill_once.n], folder/'done.pt')
    print('restarts', os.environ['TORCHELASTIC_RESTART_COUNT'])
