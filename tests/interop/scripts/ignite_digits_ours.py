"The same digits in learnloop: the handler of batches is kept, and the metrics are a row of the recorder's table"
import torch
from ignite.engine import Events
from learnloop import DataLoaders, Learner, accuracy
from learnloop.interop.ignite import Ignite
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split

torch.manual_seed(0)
x,y = load_digits(return_X_y=True)
data = TensorDataset(torch.tensor(x, dtype=torch.float32)/16, torch.tensor(y))
train,valid = random_split(data, [1500, 297])
train_dl = DataLoader(train, batch_size=50, shuffle=True, generator=torch.Generator().manual_seed(1))
valid_dl = DataLoader(valid, batch_size=99)

model = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10))
learn = Learner(DataLoaders(train_dl, valid_dl), model, nn.CrossEntropyLoss(), torch.optim.SGD,
    lr=.5, metrics=accuracy)
ig = Ignite()

@ig.trainer.on(Events.ITERATION_COMPLETED(every=10))
def log_training(engine):
    print(f"epoch {engine.state.epoch}, iteration {engine.state.iteration}: {engine.state.output:.3f}")

learn.fit(4, cbs=ig)
print('losses:', *(row[1] for row in learn.recorder.values))
