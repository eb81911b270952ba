"A training step of one's own, as ignite is made for: a sparse autoencoder, of which averaged weights are evaluated"
import torch
from ignite.engine import Engine, Events, create_supervised_evaluator
from ignite.handlers import EMAHandler
from ignite.metrics import MeanSquaredError, RunningAverage
from sklearn.datasets import load_digits
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.tensor(load_digits().data, dtype=torch.float32) / 16
train_loader = DataLoader(x[:1500], 50, shuffle=True, generator=torch.Generator().manual_seed(1))
valid_loader = DataLoader(TensorDataset(x[1500:], x[1500:]), 99)
model = nn.Sequential(nn.Linear(64, 24), nn.ReLU(), nn.Linear(24, 64))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

def train_step(engine, batch):
    model.train()
    optimizer.zero_grad()
    hidden = model[1](model[0](batch))
    loss = F.mse_loss(model[2](hidden), batch) + 1e-4 * hidden.abs().mean()
    loss.backward()
    optimizer.step()
    return loss.item()

trainer, losses = Engine(train_step), []
RunningAverage(output_transform=lambda loss: loss).attach(trainer, "loss")
averaged = EMAHandler(model, momentum=0.05)
averaged.attach(trainer)
evaluator = create_supervised_evaluator(averaged.ema_model, {"mse": MeanSquaredError()})
trainer.add_event_handler(Events.EPOCH_COMPLETED, lambda: losses.append(evaluator.run(valid_loader).metrics["mse"]))
trainer.run(train_loader, max_epochs=4)
print("losses:", *losses)
