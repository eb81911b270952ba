"The same handlers on the engines of a learner, which validates by itself"
import tempfile, torch
from functools import partial
from ignite.engine import Events
from ignite.handlers import CosineAnnealingScheduler, EarlyStopping, ModelCheckpoint, create_lr_scheduler_with_warmup
from ignite.metrics import Accuracy
from learnloop import DataLoaders, Learner
from learnloop.interop.ignite import Ignite
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x,y = load_digits(return_X_y=True)
data = TensorDataset(torch.tensor(x, dtype=torch.float32)/16, torch.tensor(y))
train_dl = DataLoader(data, batch_size=64, shuffle=True, generator=torch.Generator().manual_seed(1))
valid_dl = DataLoader(TensorDataset(*data[:500]), batch_size=100)
model = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10))
learn = Learner(DataLoaders(train_dl, valid_dl), model, nn.CrossEntropyLoss(),
    partial(torch.optim.SGD, momentum=.9), lr=.3)

ig = Ignite(metrics=dict(accuracy=Accuracy()))
cosine = CosineAnnealingScheduler(learn.create_opt(), 'lr', .3, .01, cycle_size=600)
ig.trainer.add_event_handler(Events.ITERATION_STARTED, create_lr_scheduler_with_warmup(cosine, 0., 30))
stopper = EarlyStopping(2, lambda engine: engine.state.metrics['accuracy'], ig.trainer)
saver = ModelCheckpoint(tempfile.mkdtemp(), 'best', score_function=stopper.score_function)
ig.evaluator.add_event_handler(Events.COMPLETED, stopper)
ig.evaluator.add_event_handler(Events.COMPLETED, saver, dict(model=model))

learn.fit(20, cbs=ig)
print('losses:', *(row[1] for row in learn.recorder.values))
