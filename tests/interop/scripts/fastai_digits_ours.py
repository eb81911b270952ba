"Classify digits in one cycle, with accuracy and F1"
import torch
from learnloop import DataLoaders, Learner, accuracy, set_seed, skm_metric
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

set_seed(0)
x,y = (torch.tensor(o) for o in load_digits(return_X_y=True))
train,valid = (TensorDataset(x[i].float()/16, y[i]) for i in (slice(1400), slice(1400, None)))
dls = DataLoaders(DataLoader(train, 64, shuffle=True), DataLoader(valid, 64), device='cpu')
model = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10))
learn = Learner(dls, model, nn.CrossEntropyLoss(), torch.optim.AdamW,
    wd_bn_bias=True,  # as torch's optimizers do in fastai
    metrics=[accuracy, skm_metric('f1_score', average='macro')])
learn.fit_one_cycle(4, .02)
print('losses:', *[o[1] for o in learn.recorder.values])
