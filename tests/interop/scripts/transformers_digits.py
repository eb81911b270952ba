"A small vision transformer learns digits, with accuracy, and logs for TensorBoard"
import tempfile, torch
from sklearn.datasets import load_digits
from transformers import Trainer, TrainingArguments, ViTConfig, ViTForImageClassification, set_seed
from transformers.integrations import TensorBoardCallback

set_seed(0)
x,y = load_digits(return_X_y=True)
x = torch.tensor(x/16).float().view(-1, 1, 8, 8)
items = [dict(pixel_values=o, labels=int(y[i])) for i,o in enumerate(x)]
train,valid = items[:1400],items[1400:]

config = ViTConfig(image_size=8, patch_size=2, num_channels=1, hidden_size=32, intermediate_size=64,
    num_hidden_layers=2, num_attention_heads=4, num_labels=10)
model = ViTForImageClassification(config)

def accuracy(p): return dict(accuracy=(p.predictions.argmax(1)==p.label_ids).mean())

args = TrainingArguments(tempfile.mkdtemp(), num_train_epochs=4, per_device_train_batch_size=64,
    per_device_eval_batch_size=64, learning_rate=3e-3, optim='adamw_torch', lr_scheduler_type='constant',
    train_sampling_strategy='sequential', eval_strategy='epoch', logging_strategy='epoch', save_strategy='no',
    report_to='none', run_name='digits', use_cpu=True)
trainer = Trainer(model, args, train_dataset=train, eval_dataset=valid, compute_metrics=accuracy,
    callbacks=[TensorBoardCallback()])
trainer.train()
print('losses:', *[o['eval_loss'] for o in trainer.state.log_history if 'eval_loss' in o])
