"In this script, the learner takes the step, so its loss is all that remains of the old step function. Handlers, metrics and the evaluator are unchanged"
import torch
from ignite.engine import Events, create_supervised_evaluator
from ignite.handlers import EMAHandler
from ignite.metrics import MeanSquaredError, RunningAverage
from learnloop import DataLoaders, Learner
from learnloop.interop.ignite import Ignite
from sklearn.datasets import load_digits
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

class Sparse(nn.Sequential):
    "An autoencoder that returns its own loss"
    def forward(self, x):
        hidden = self[1](self[0](x))
        return F.mse_loss(self[2](hidden), x) + 1e-4*hidden.abs().mean()

torch.manual_seed(0)
x = torch.tensor(load_digits().data, dtype=torch.float32)/16
train_dl = DataLoader(x[:1500], 50, shuffle=True, generator=torch.Generator().manual_seed(1))
valid_dl = DataLoader(TensorDataset(x[1500:], x[1500:]), 99)
model = Sparse(nn.Linear(64, 24), nn.ReLU(), nn.Linear(24, 64))
learn = Learner(DataLoaders(train_dl), model, opt_func=torch.optim.Adam, lr=.01)

ig,losses = Ignite(),[]
RunningAverage(output_transform=lambda loss: loss).attach(ig.trainer, 'loss')
averaged = EMAHandler(model, momentum=.05)
averaged.attach(ig.trainer)
evaluator = create_supervised_evaluator(nn.Sequential(*averaged.ema_model), dict(mse=MeanSquaredError()))
ig.trainer.add_event_handler(Events.EPOCH_COMPLETED, lambda: losses.append(evaluator.run(valid_dl).metrics['mse']))
learn.fit(4, cbs=ig)
print('losses:', *losses)
