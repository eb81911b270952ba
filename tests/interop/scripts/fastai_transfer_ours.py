"Learn five digits, and go on to the other five: the new head alone, then all layers, the first slowly"
import torch
from functools import partial
from learnloop import DataLoaders, Learner, accuracy, set_seed
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

def loaders(which):
    x,y = (torch.tensor(o) for o in load_digits(return_X_y=True))
    x,y = x[which(y)].float()/16,y[which(y)]%5
    train,valid = (TensorDataset(x[i], y[i]) for i in (slice(700), slice(700, None)))
    return DataLoaders(DataLoader(train, 64, shuffle=True), DataLoader(valid, 64), device='cpu')
def learner(dls, model):
    def split(m): return [[*m[0].parameters()], [*m[1].parameters()]]
    sgd = partial(torch.optim.SGD, momentum=.9)
    return Learner(dls, model, nn.CrossEntropyLoss(), sgd, splitter=split, metrics=accuracy)

set_seed(0)
body = nn.Sequential(nn.Linear(64, 32), nn.ReLU())
first = learner(loaders(lambda y: y<5), nn.Sequential(body, nn.Linear(32, 5)))
first.fit(2, .1)
learn = learner(loaders(lambda y: y>=5), nn.Sequential(body, nn.Linear(32, 5)))
learn.fine_tune(3, .1, freeze_epochs=2, reset_opt=True)  # as fastai, which forgets momentum when layers are frozen
print('losses:', *[o[1] for o in learn.recorder.values])
