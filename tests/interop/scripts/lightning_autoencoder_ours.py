"An autoencoder with two losses: it draws the digit again, and tells which one it is"
import torch
from learnloop import DataLoaders, GradientClip, Learner, set_seed
from sklearn.datasets import load_digits
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

class AutoEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 8))
        self.decoder = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 64))
        self.classify = nn.Linear(8, 10)
    def forward(self, x):
        z = self.encoder(x)
        return x,self.decoder(z),self.classify(z)

def both(pred, y):
    x,drawn,told = pred
    drawn,told = F.mse_loss(drawn, x),F.cross_entropy(told, y)
    return dict(loss=drawn + .1*told, drawn=drawn, told=told)

set_seed(0)
x,y = (torch.tensor(o) for o in load_digits(return_X_y=True))
dls = DataLoaders(DataLoader(TensorDataset(x.float()/16, y), 64, shuffle=True), None, device='cpu')
learn = Learner(dls, AutoEncoder(), both, torch.optim.Adam, lr=.01)
learn.fit(4, cbs=GradientClip(.5))
n = len(dls.train)
print('losses:', *learn.recorder.raw_losses[n-1::n])
