"Classify digits, with a metric of torchmetrics and a log as CSV"
import csv, tempfile, torch, lightning as L
from lightning.pytorch.loggers import CSVLogger
from sklearn.datasets import load_digits
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset
from torchmetrics.classification import MulticlassAccuracy

class Digits(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10))
        self.acc = MulticlassAccuracy(10)
    def training_step(self, batch, batch_idx):
        x,y = batch
        loss = F.cross_entropy(self.net(x), y)
        self.log('train_loss', loss, on_step=True, on_epoch=True)
        return loss
    def validation_step(self, batch, batch_idx):
        x,y = batch
        pred = self.net(x)
        self.acc(pred, y)
        self.log_dict(dict(val_loss=F.cross_entropy(pred, y), val_acc=self.acc))
    def configure_optimizers(self): return torch.optim.Adam(self.parameters(), lr=.01)

L.seed_everything(0)
x,y = (torch.tensor(o) for o in load_digits(return_X_y=True))
train,valid = (TensorDataset(x[i].float()/16, y[i]) for i in (slice(1400), slice(1400, None)))
logger = CSVLogger(tempfile.mkdtemp())
trainer = L.Trainer(max_epochs=3, logger=logger, enable_checkpointing=False, accelerator='cpu')
trainer.fit(Digits(), DataLoader(train, 64, shuffle=True), DataLoader(valid, 64))
with open(logger.experiment.metrics_file_path) as f: rows = [*csv.DictReader(f)]
print('losses:', *[o['val_loss'] for o in rows if o['val_loss']])
