"Classify digits with a one-cycle schedule; stop early, and go back to the best epoch"
import tempfile, torch, lightning as L
from lightning.pytorch.callbacks import EarlyStopping, LearningRateMonitor, ModelCheckpoint
from lightning.pytorch.loggers import CSVLogger
from sklearn.datasets import load_digits
from torch import nn
from torch.nn import functional as F
from torch.optim.lr_scheduler import OneCycleLR
from torch.utils.data import DataLoader, TensorDataset

class Digits(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net,self.losses = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10)),[]
    def training_step(self, batch, batch_idx): return F.cross_entropy(self.net(batch[0]), batch[1])
    def validation_step(self, batch, batch_idx): self.log('val_loss', F.cross_entropy(self.net(batch[0]), batch[1]))
    def on_validation_end(self): self.losses.append(self.trainer.callback_metrics['val_loss'].item())
    def configure_optimizers(self):
        opt = torch.optim.SGD(self.parameters(), lr=.1, momentum=.9)
        sched = OneCycleLR(opt, .5, total_steps=self.trainer.estimated_stepping_batches)
        return dict(optimizer=opt, lr_scheduler=dict(scheduler=sched, interval='step'))

L.seed_everything(0)
x,y = (torch.tensor(o) for o in load_digits(return_X_y=True))
train,valid = (TensorDataset(x[i].float()/16, y[i]) for i in (slice(1400), slice(1400, None)))
train,valid,folder = DataLoader(train, 64, shuffle=True),DataLoader(valid, 64),tempfile.mkdtemp()
save = ModelCheckpoint(folder, monitor='val_loss')
trainer = L.Trainer(max_epochs=12, accelerator='cpu', num_sanity_val_steps=0, logger=CSVLogger(folder),
    callbacks=[EarlyStopping('val_loss', patience=2), LearningRateMonitor(), save], log_every_n_steps=10)
trainer.fit(model := Digits(), train, valid)
trainer.validate(model, valid, ckpt_path=save.best_model_path)
print('losses:', *model.losses)
