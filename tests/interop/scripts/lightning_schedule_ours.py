"Classify digits with a one-cycle schedule; stop early, and go back to the best epoch"
import tempfile, torch
from functools import partial
from learnloop import DataLoaders, Learner, TorchScheduler, set_seed
from learnloop.interop.lightning import Lightning
from lightning.pytorch.callbacks import EarlyStopping, LearningRateMonitor, ModelCheckpoint
from lightning.pytorch.loggers import CSVLogger
from sklearn.datasets import load_digits
from torch import nn
from torch.nn import functional as F
from torch.optim.lr_scheduler import OneCycleLR
from torch.utils.data import DataLoader, TensorDataset

set_seed(0)
x,y = (torch.tensor(o) for o in load_digits(return_X_y=True))
train,valid = (TensorDataset(x[i].float()/16, y[i]) for i in (slice(1400), slice(1400, None)))
dls = DataLoaders(DataLoader(train, 64, shuffle=True), DataLoader(valid, 64), device='cpu')
net,folder = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10)),tempfile.mkdtemp()
learn = Learner(dls, net, F.cross_entropy, partial(torch.optim.SGD, momentum=.9), lr=.1)
save = ModelCheckpoint(folder, monitor='val_loss')
rates = Lightning(LearningRateMonitor(), logger=CSVLogger(folder), log_every_n_steps=10)
sched = TorchScheduler(partial(OneCycleLR, max_lr=.5, total_steps=12*len(dls.train)), 'step')
learn.fit(12, cbs=[sched, EarlyStopping('val_loss', patience=2), rates, save])
losses = [o[1] for o in learn.recorder.values]
learn.load(save.best_model_path)
print('losses:', *losses, learn.validate()[0])
