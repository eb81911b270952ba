"A small vision transformer learns digits, with accuracy, and logs for TensorBoard"
import tempfile, torch
from functools import partial
from learnloop import DataLoaders, DictMetric, GradientClip, Learner, accuracy
from learnloop.interop.transformers import Transformers
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader
from transformers import ViTConfig, ViTForImageClassification, set_seed
from transformers.integrations import TensorBoardCallback

set_seed(0)
x,y = load_digits(return_X_y=True)
x = torch.tensor(x/16).float().view(-1, 1, 8, 8)
items = [dict(pixel_values=o, labels=int(y[i])) for i,o in enumerate(x)]
train,valid = items[:1400],items[1400:]

config = ViTConfig(image_size=8, patch_size=2, num_channels=1, hidden_size=32, intermediate_size=64,
    num_hidden_layers=2, num_attention_heads=4, num_labels=10)
model = ViTForImageClassification(config)

dls = DataLoaders(DataLoader(train, 64), DataLoader(valid, 64), device='cpu')
learn = Learner(dls, model, opt_func=partial(torch.optim.AdamW, weight_decay=0.), lr=3e-3,
    metrics=DictMetric(accuracy), cbs=GradientClip(1.))
learn.fit(4, cbs=Transformers(TensorBoardCallback(), output_dir=tempfile.mkdtemp(), run_name='digits'))
print('losses:', *[o[1] for o in learn.recorder.values])
