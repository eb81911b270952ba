"Warm-up, early stopping, and the best weights loaded at the end"
import tempfile, torch
from sklearn.datasets import load_digits
from torch import nn
from torch.nn import functional as F
from transformers import EarlyStoppingCallback, Trainer, TrainingArguments, set_seed

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

args = TrainingArguments(tempfile.mkdtemp(), num_train_epochs=40, per_device_train_batch_size=10,
    per_device_eval_batch_size=50, learning_rate=.02, optim='adamw_torch', lr_scheduler_type='linear', warmup_steps=30,
    train_sampling_strategy='sequential', eval_strategy='epoch', logging_strategy='epoch', save_strategy='epoch',
    load_best_model_at_end=True, metric_for_best_model='loss', report_to='none', use_cpu=True)
trainer = Trainer(Digits(), args, train_dataset=train, eval_dataset=valid, callbacks=[EarlyStoppingCallback(2)])
trainer.train()
print('best at step', trainer.state.best_global_step)
losses = [o['eval_loss'] for o in trainer.state.log_history if 'eval_loss' in o]
print('losses:', *losses, trainer.evaluate()['eval_loss'])
