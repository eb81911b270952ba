"Classify digits in one cycle, with accuracy and F1"
import torch
from fastai.basics import *
from fastai.callback.schedule import *
from fastai.metrics import F1Score
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

set_seed(0)
x,y = (tensor(o) for o in load_digits(return_X_y=True))
train,valid = (TensorDataset(x[i].float()/16, y[i]) for i in (slice(1400), slice(1400, None)))
dls = DataLoaders(DataLoader(train, 64, shuffle=True), DataLoader(valid, 64), device='cpu')
model = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10))
learn = Learner(dls, model, CrossEntropyLossFlat(), partial(OptimWrapper, opt=torch.optim.AdamW),
    metrics=[accuracy, F1Score(average='macro')])
learn.fit_one_cycle(4, .02)
print('losses:', *L(learn.recorder.values).itemgot(1))
