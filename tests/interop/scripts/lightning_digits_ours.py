"Classify digits, with a metric of torchmetrics and a log as CSV"
import tempfile, torch
from learnloop import CSVLogger, DataLoaders, Learner, set_seed
from sklearn.datasets import load_digits
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset
from torchmetrics.classification import MulticlassAccuracy

set_seed(0)
x,y = (torch.tensor(o) for o in load_digits(return_X_y=True))
train,valid = (TensorDataset(x[i].float()/16, y[i]) for i in (slice(1400), slice(1400, None)))
dls = DataLoaders(DataLoader(train, 64, shuffle=True), DataLoader(valid, 64), device='cpu')
net = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10))
learn = Learner(dls, net, F.cross_entropy, torch.optim.Adam, lr=.01, metrics=MulticlassAccuracy(10), path=tempfile.mkdtemp())
learn.fit(3, cbs=CSVLogger())
print('losses:', *[o[1] for o in learn.recorder.values])
