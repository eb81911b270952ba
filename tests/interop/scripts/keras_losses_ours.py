"One body, two heads and two losses: which digit it is, and how much ink there is"
import numpy as np, torch
from functools import partial
from learnloop import DataLoaders, Learner
from sklearn.datasets import load_digits
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

x,y = load_digits(return_X_y=True)
x,y = torch.tensor(x/16).float(),torch.tensor(y)
data = x,y,x.mean(1, keepdim=True)
train,valid = (TensorDataset(*(o[part] for o in data)) for part in (slice(1400), slice(1400, None)))

class Heads(nn.Module):
    def __init__(self):
        super().__init__()
        self.body,self.digit,self.ink = nn.Linear(64, 32),nn.Linear(32, 10),nn.Linear(32, 1)
    def forward(self, x):
        h = self.body(x).relu()
        return dict(digit=self.digit(h), ink=self.ink(h))

def loss(pred, digit, ink):
    parts = dict(digit=F.cross_entropy(pred['digit'], digit), ink=F.mse_loss(pred['ink'], ink))
    return dict(loss=parts['digit'] + 2*parts['ink'], **parts)

model,rng = Heads(),np.random.default_rng(0)
for p in model.parameters(): p.data = torch.tensor(rng.uniform(-.2, .2, p.shape[::-1]).T).float()
dls = DataLoaders(DataLoader(train, 64), DataLoader(valid, 64), n_inp=1, device='cpu')
learn = Learner(dls, model, loss, partial(torch.optim.SGD, momentum=.9), lr=.02)
learn.fit(5)
print('right', (learn.get_preds()[0]['digit'].argmax(1)==y[1400:]).float().mean().item())
print('losses:', *[o[learn.recorder.columns.index('valid_loss')] for o in learn.recorder.values])
