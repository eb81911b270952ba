"Classify digits, with metrics and a log as CSV"
import tempfile, numpy as np, torch
from learnloop import CSVLogger, DataLoaders, Learner, accuracy
from sklearn.datasets import load_digits
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

x,y = load_digits(return_X_y=True)
x,y = torch.tensor(x/16).float(),torch.tensor(y)
train,valid = TensorDataset(x[:1400], y[:1400]),TensorDataset(x[1400:], y[1400:])

model = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10))
rng = np.random.default_rng(0)
for p in model.parameters(): p.data = torch.tensor(rng.uniform(-.2, .2, p.shape[::-1]).T).float()

dls = DataLoaders(DataLoader(train, 64), DataLoader(valid, 64), device='cpu')
learn = Learner(dls, model, F.cross_entropy, torch.optim.Adam, lr=.01, metrics=accuracy, path=tempfile.mkdtemp())
learn.recorder.train_metrics = True
learn.fit(5, cbs=CSVLogger())
print(learn.validate())
print('losses:', *[o[2] for o in learn.recorder.values])
