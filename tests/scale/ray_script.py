"Two CPU workers of Ray Train fit together, report each epoch, and hand over the folder of checkpoints"
import ray, ray.train, sys, torch
from pathlib import Path
from ray.train import Checkpoint, RunConfig, ScalingConfig
from ray.train.torch import TorchTrainer

def train(config):
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset
    from learnloop import Callback, CheckpointCallback, Learner

    class TellRay(Callback):
        "Tells Ray of each epoch, from all workers, as it asks for; the checkpoint is that of the first"
        rank_invariant = True
        def after_epoch(self):
            there = self.learn.team.is_first and (folder/'run').exists()
            ray.train.report(dict(epoch=self.learn.epoch, n_items=self.learn.count.samples),
                checkpoint=Checkpoint.from_directory(folder/'run') if there else None)

    folder = Path(config['folder'])
    torch.manual_seed(0)
    x = torch.randn(48, 4)
    ds = TensorDataset(x, x.sum(1, keepdim=True))
    learn = Learner((DataLoader(ds, 8, shuffle=True), DataLoader(ds, 8)), nn.Linear(4, 1), nn.functional.mse_loss, lr=.05)
    learn.logger = lambda *a: None
    learn.to_ddp()
    assert (learn.team.rank, learn.team.world)==(ray.train.get_context().get_world_rank(), 2)
    learn.fit(config['n_epoch'], resume=folder/'run', cbs=[CheckpointCallback(folder/'run'), TellRay()])
    params = [p.detach() for p in learn.model.parameters()]
    a,b = learn.team.gather(params)
    assert all(map(torch.equal, a, b))
    if learn.team.is_first: torch.save(params, folder/f"after {config['n_epoch']}.pt")

folder = sys.argv[1]
ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, configure_logging=False)
res = TorchTrainer(train, train_loop_config=dict(folder=folder, n_epoch=1), scaling_config=ScalingConfig(num_workers=2),
    run_config=RunConfig(storage_path=f'{folder}/ray')).fit()
assert res.error is None
print(res.metrics['epoch'], res.metrics['n_items'], len([*Path(res.checkpoint.path).iterdir()])>0)
ray.shutdown()
