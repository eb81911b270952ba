"Warm-up, early stopping, and the best weights loaded at the end"
import tempfile, torch
from functools import partial
from learnloop import DataLoaders, GradientClip, Learner, TorchScheduler
from learnloop.interop.transformers import Transformers
from sklearn.datasets import load_digits
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader
from transformers import EarlyStoppingCallback, get_linear_schedule_with_warmup, set_seed

set_seed(0)
x,y = load_digits(return_X_y=True)
items = [dict(x=o, labels=int(y[i])) for i,o in enumerate(torch.tensor(x/16).float())]
train,valid = items[:150],items[150:400]

class Digits(nn.Module):
    "A model that returns its loss, as those of transformers do"
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))
    def forward(self, x, labels):
        logits = self.layers(x)
        return dict(loss=F.cross_entropy(logits, labels), logits=logits)

dls = DataLoaders(DataLoader(train, 10), DataLoader(valid, 50), device='cpu')
warmup = partial(get_linear_schedule_with_warmup, num_warmup_steps=30, num_training_steps=40*15)
learn = Learner(dls, Digits(), opt_func=partial(torch.optim.AdamW, weight_decay=0.), lr=.02, path=tempfile.mkdtemp(),
    cbs=[GradientClip(1.), TorchScheduler(warmup, 'step')])
stop = Transformers(EarlyStoppingCallback(2), load_best_model_at_end=True)
learn.fit(40, cbs=stop)
print('best at step', stop.trainer.state.best_global_step)
print('losses:', *[o[1] for o in learn.recorder.values], learn.validate()[0])
