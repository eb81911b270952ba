"An autoencoder with two losses: it draws the digit again, and tells which one it is"
import torch, lightning as L
from sklearn.datasets import load_digits
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

class AutoEncoder(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 8))
        self.decoder = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 64))
        self.classify,self.losses = nn.Linear(8, 10),[]
    def forward(self, x):
        z = self.encoder(x)
        return self.decoder(z),self.classify(z)
    def training_step(self, batch, batch_idx):
        x,y = batch
        drawn,told = self(x)
        drawn,told = F.mse_loss(drawn, x),F.cross_entropy(told, y)
        self.log_dict(dict(drawn=drawn, told=told), prog_bar=True)
        return drawn + .1*told
    def on_train_batch_end(self, outputs, batch, batch_idx): self.last = outputs['loss'].item()
    def on_train_epoch_end(self): self.losses.append(self.last)
    def configure_optimizers(self): return torch.optim.Adam(self.parameters(), lr=.01)

L.seed_everything(0)
x,y = (torch.tensor(o) for o in load_digits(return_X_y=True))
data = TensorDataset(x.float()/16, y)
trainer = L.Trainer(max_epochs=4, accelerator='cpu', gradient_clip_val=.5, logger=False, enable_checkpointing=False)
trainer.fit(model := AutoEncoder(), DataLoader(data, 64, shuffle=True))
print('losses:', *model.losses)
