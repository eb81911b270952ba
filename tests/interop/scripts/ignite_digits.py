"Handwritten digits: ignite's trainer, and an evaluator with metrics that a handler runs after each epoch"
import torch
from ignite.engine import Events, create_supervised_evaluator, create_supervised_trainer
from ignite.metrics import Accuracy, Loss
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split

torch.manual_seed(0)
x, y = load_digits(return_X_y=True)
data = TensorDataset(torch.tensor(x, dtype=torch.float32) / 16, torch.tensor(y))
train, valid = random_split(data, [1500, 297])
train_loader = DataLoader(train, batch_size=50, shuffle=True, generator=torch.Generator().manual_seed(1))
valid_loader = DataLoader(valid, batch_size=99)

model = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
criterion = nn.CrossEntropyLoss()

trainer = create_supervised_trainer(model, optimizer, criterion)
evaluator = create_supervised_evaluator(model, metrics={"accuracy": Accuracy(), "loss": Loss(criterion)})
losses = []

@trainer.on(Events.ITERATION_COMPLETED(every=10))
def log_training(engine):
    print(f"epoch {engine.state.epoch}, iteration {engine.state.iteration}: {engine.state.output:.3f}")

@trainer.on(Events.EPOCH_COMPLETED)
def log_validation(engine):
    metrics = evaluator.run(valid_loader).metrics
    losses.append(metrics["loss"])
    print(f"epoch {engine.state.epoch}: accuracy {metrics['accuracy']:.3f}")

trainer.run(train_loader, max_epochs=4)
print("losses:", *losses)
