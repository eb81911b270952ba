"A warm-up and a cosine, early stopping, and the best model on disk: handlers of ignite on its own engines"
import tempfile, torch
from ignite.engine import Events, create_supervised_evaluator, create_supervised_trainer
from ignite.handlers import CosineAnnealingScheduler, EarlyStopping, ModelCheckpoint, create_lr_scheduler_with_warmup
from ignite.metrics import Accuracy, Loss
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x, y = load_digits(return_X_y=True)
data = TensorDataset(torch.tensor(x, dtype=torch.float32) / 16, torch.tensor(y))
train_loader = DataLoader(data, batch_size=64, shuffle=True, generator=torch.Generator().manual_seed(1))
valid_loader = DataLoader(TensorDataset(*data[:500]), batch_size=100)
model = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.3, momentum=0.9)

trainer = create_supervised_trainer(model, optimizer, nn.CrossEntropyLoss())
metrics = {"accuracy": Accuracy(), "loss": Loss(nn.CrossEntropyLoss())}
evaluator = create_supervised_evaluator(model, metrics=metrics)
trainer.add_event_handler(Events.EPOCH_COMPLETED, lambda: evaluator.run(valid_loader))

cosine = CosineAnnealingScheduler(optimizer, "lr", 0.3, 0.01, cycle_size=600)
trainer.add_event_handler(Events.ITERATION_STARTED, create_lr_scheduler_with_warmup(cosine, 0.0, 30))
stopper = EarlyStopping(2, lambda engine: engine.state.metrics["accuracy"], trainer)
saver = ModelCheckpoint(tempfile.mkdtemp(), "best", score_function=stopper.score_function)
losses = []
evaluator.add_event_handler(Events.COMPLETED, lambda engine: losses.append(engine.state.metrics["loss"]))
evaluator.add_event_handler(Events.COMPLETED, stopper)
evaluator.add_event_handler(Events.COMPLETED, saver, {"model": model})

trainer.run(train_loader, max_epochs=20)
print("losses:", *losses)
