"""One epoch by hand, by learnloop and by its peers

A contender is a function of `(model, loss_func, dl, noops)` that trains `model` in place on one epoch of `dl` by plain SGD, without validation, logs or a
progress bar. `noops(Base)` returns the callbacks to attach: none, or some whose per-batch hooks do nothing. To add a contender, decorate a function with
`@contender`.
"""
import logging, os, tempfile, torch, warnings
from functools import partial
from operator import itemgetter
from typing import NamedTuple
from torch import nn
from torch.optim import SGD
from torch.utils.data import DataLoader

LR = 1e-2

class Contender(NamedTuple):
    func: object
    module: str|None # What users import; None for the hand-written loops
    hooks: list      # Per-batch events that its callbacks may have
    needs: str|None  # Another required module

CONTENDERS = {}

def contender(module=None, hooks='', needs=None):
    "Register a contender"
    def _f(f):
        CONTENDERS[f.__name__] = Contender(f, module, hooks.split(), needs)
        return f
    return _f

def loader(batches, collate_fn=itemgetter(0)):
    "Make a `DataLoader` of the ready-made `batches`, for libraries that require one"
    return DataLoader(batches, batch_size=1, collate_fn=collate_fn)

def quiet():
    "Set the variables that peers read when imported, and silence their messages about themselves"
    os.environ.update(KERAS_BACKEND='torch', TRANSFORMERS_VERBOSITY='error')
    warnings.filterwarnings('ignore')
    for nm in ('lightning.pytorch', 'lightning.pytorch.utilities.rank_zero', 'ignite', 'accelerate'):
        logging.getLogger(nm).setLevel(logging.ERROR)

@contender()
def raw(model, loss_func, dl, noops):
    opt = SGD(model.parameters(), lr=LR)
    model.train()
    for xb,yb in dl:
        pred = model(xb)
        loss = loss_func(pred, yb)
        loss.backward()
        opt.step()
        opt.zero_grad()

@contender()
def raw_again(model, loss_func, dl, noops):
    "A control: its distance from 1 is noise"
    raw(model, loss_func, dl, noops)

@contender()
def raw_item(model, loss_func, dl, noops):
    "Read each loss, as code that shows or logs it in every step does"
    losses = []
    def _loss(pred, yb):
        losses.append((loss := loss_func(pred, yb)).item())
        return loss
    raw(model, _loss, dl, noops)

_events = 'before_batch after_pred after_loss before_backward after_backward before_step after_step after_batch'

@contender('learnloop', _events)
def learnloop(model, loss_func, dl, noops):
    from learnloop import Callback, DataLoaders, Learner
    learn = Learner(DataLoaders(dl), model, loss_func, opt_func=SGD, lr=LR, cbs=noops(Callback))
    with learn.no_bar(), learn.no_logging(): learn.fit(1)

@contender('fastai.learner', _events)
def fastai(model, loss_func, dl, noops):
    from fastai.callback.core import Callback
    from fastai.data.core import DataLoaders
    from fastai.learner import Learner
    from fastai.optimizer import OptimWrapper
    opt_func = partial(OptimWrapper, opt=SGD)
    learn = Learner(DataLoaders(dl, loader([])), model, loss_func, opt_func=opt_func, lr=LR, cbs=noops(Callback))
    with learn.no_logging(): learn.fit(1)  # `fastai.learner` alone has no progress bar

_hooks = 'on_train_batch_start on_before_backward on_after_backward on_before_optimizer_step on_before_zero_grad on_train_batch_end'

@contender('lightning.pytorch', _hooks)
def lightning(model, loss_func, dl, noops, barebones=False):
    import lightning.pytorch as pl
    class Module(pl.LightningModule):
        def __init__(self):
            super().__init__()
            self.model = model
        def training_step(self, b, i): return loss_func(self.model(b[0]), b[1])
        def configure_optimizers(self): return SGD(self.parameters(), lr=LR)
    off = {} if barebones else dict.fromkeys(('logger','enable_checkpointing','enable_progress_bar','enable_model_summary'), False)
    pl.Trainer(max_epochs=1, accelerator='cpu', devices=1, callbacks=noops(pl.Callback), barebones=barebones, **off).fit(Module(), dl)

@contender('lightning.pytorch', _hooks)
def lightning_barebones(model, loss_func, dl, noops):
    "Lightning's own mode for measuring its overhead"
    lightning(model, loss_func, dl, noops, barebones=True)

@contender('ignite.engine', 'GET_BATCH_STARTED GET_BATCH_COMPLETED ITERATION_STARTED ITERATION_COMPLETED')
def ignite(model, loss_func, dl, noops):
    from ignite.engine import Events, create_supervised_trainer
    trainer = create_supervised_trainer(model, SGD(model.parameters(), lr=LR), loss_func)
    for cb in noops(object):
        for h in CONTENDERS['ignite'].hooks: trainer.add_event_handler(Events[h], getattr(cb, h))
    trainer.run(dl, max_epochs=1)

@contender('pytorch_accelerated', 'on_train_step_start on_train_step_end')
def pytorch_accelerated(model, loss_func, dl, noops):
    from pytorch_accelerated import Trainer, callbacks as C
    cbs = [C.MoveModulesToDeviceCallback, C.TerminateOnNaNCallback] + noops(C.TrainerCallback)  # its defaults without bar and table
    trainer = Trainer(model, loss_func, SGD(model.parameters(), lr=LR), callbacks=cbs)
    dl_kwargs = dict(shuffle=False, num_workers=0, pin_memory=False)
    trainer.train(dl.dataset, 1, per_device_batch_size=1, collate_fn=dl.collate_fn, train_dataloader_kwargs=dl_kwargs)

@contender('transformers.trainer', 'on_step_begin on_pre_optimizer_step on_optimizer_step on_step_end', needs='accelerate')
def hf_trainer(model, loss_func, dl, noops):
    from transformers import PrinterCallback, Trainer, TrainerCallback, TrainingArguments
    class WithLoss(nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model
        def forward(self, x, y): return dict(loss=loss_func(self.model(x), y))
    class InOrder(Trainer):
        def get_train_dataloader(self): return self.accelerator.prepare(loader(dl.dataset, partial(_as_dict, dl.collate_fn)))
    args = TrainingArguments(tempfile.gettempdir(), report_to=[], logging_strategy='no', save_strategy='no', num_train_epochs=1,
        max_grad_norm=0, disable_tqdm=True, use_cpu=True, remove_unused_columns=False, per_device_train_batch_size=1)
    opt = SGD(model.parameters(), lr=LR)
    opts = opt,torch.optim.lr_scheduler.LambdaLR(opt, lambda i: 1.)  # its default decays the rate
    trainer = InOrder(WithLoss(), args, train_dataset=dl.dataset, optimizers=opts, callbacks=noops(TrainerCallback))
    trainer.remove_callback(PrinterCallback)
    trainer.train()

def _as_dict(collate, b): return dict(zip('xy', collate(b), strict=True))

@contender('keras', 'on_train_batch_begin on_train_batch_end')
def keras(model, loss_func, dl, noops):
    import keras
    m = keras.Sequential([keras.layers.TorchModuleWrapper(model)])
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)  # it would cast targets to float before a plain function
    m.compile(optimizer=keras.optimizers.SGD(LR), loss=loss, jit_compile=False)
    m.fit(dl, epochs=1, verbose=0, shuffle=False, callbacks=noops(keras.callbacks.Callback))

@contender('skorch', 'on_batch_begin on_batch_end on_grad_computed')
def skorch(model, loss_func, dl, noops):
    from skorch import NeuralNet
    from skorch.callbacks import Callback
    cbs = [(f'noop{i}',cb) for i,cb in enumerate(noops(Callback))]
    net = NeuralNet(model, criterion=partial(_Loss, loss_func), optimizer=SGD, lr=LR, max_epochs=1, train_split=None, verbose=0,
        iterator_train=lambda ds, **kwargs: dl, callbacks=cbs)
    net.partial_fit(dl.dataset)

class _Loss(nn.Module):
    "`f` as a module, as skorch requires"
    def __init__(self, f):
        super().__init__()
        self.f = f
    def forward(self, pred, yb): return self.f(pred, yb)
