"Train flat, then with a cosine; keep the best weights, and stop when nothing gets better"
import tempfile, torch
from fastai.basics import *
from fastai.callback.all import *
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

set_seed(0)
x,y = (tensor(o) for o in load_digits(return_X_y=True))
train,valid = (TensorDataset(x[i].float()/16, y[i]) for i in (slice(300), slice(1400, None)))
dls = DataLoaders(DataLoader(train, 32, shuffle=True), DataLoader(valid, 64), device='cpu')
model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))
sgd = partial(OptimWrapper, opt=partial(torch.optim.SGD, momentum=.9))
learn = Learner(dls, model, CrossEntropyLossFlat(), sgd, metrics=accuracy, path=tempfile.mkdtemp())
best,stop = SaveModelCallback(monitor='accuracy'),EarlyStoppingCallback(monitor='valid_loss', patience=2)
learn.fit_flat_cos(30, .3, cbs=[best, stop, GradientClip(1.)])
print('losses:', *L(learn.recorder.values).itemgot(1))
