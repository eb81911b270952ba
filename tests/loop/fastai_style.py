"Callbacks in the style of fastai's documentation; only the import line differs"
import torch
from fastcore.all import L, store_attr
from learnloop import *

class TerminateOnNaN(Callback):
    "Stop when the loss is NaN"
    order = -9
    def after_batch(self):
        if torch.isinf(self.loss) or torch.isnan(self.loss): raise CancelFitException

class GradientAccumulation(Callback):
    "Step when `n_acc` items have been seen"
    order,run_valid = TrainEvalCallback.order+1,False
    def __init__(self, n_acc=32): store_attr()
    def before_fit(self): self.count = 0
    def after_loss(self): self.learn.loss_grad /= self.n_acc/find_bs(self.learn.yb)
    def before_step(self):
        self.learn.loss_grad *= self.n_acc/find_bs(self.learn.yb)
        self.count += find_bs(self.learn.yb)
        if self.count<self.n_acc: raise CancelBatchException()
        self.count = 0

class ShortEpoch(Callback):
    "Run `pct` of an epoch"
    def __init__(self, pct=.01, short_valid=True): self.pct,self.short_valid = pct,short_valid
    def after_batch(self):
        if self.iter/self.n_iter<self.pct: return
        if self.training: raise CancelTrainException
        if self.short_valid: raise CancelValidException

class CollectData(Callback):
    "Keep what goes through"
    def before_fit(self): self.data = L()
    def after_batch(self): self.data.append(self.learn.to_detach((self.xb, self.yb, self.pred, self.loss)))

class Swap(Callback):
    "A mix-up of sorts: another batch and another loss function while training"
    run_valid = False
    def before_train(self): self.old_lf,self.learn.loss_func = self.learn.loss_func,self.lf
    def after_train(self): self.learn.loss_func = self.old_lf
    def after_cancel_fit(self): self.after_train()
    def before_batch(self):
        self.learn.xb = tuple(o.flip(0) for o in self.xb)
        self.learn.yb = (self.y.flip(0),)
    def lf(self, pred, *yb): return self.old_lf(pred, *yb)*2

class Finder(Callback):
    "Go through learning rates, without validation, and put the model back"
    run_after = TerminateOnNaN
    def __init__(self, start=1e-3, mult=4., num_it=5): store_attr()
    def before_fit(self): self.lrs,self.losses,self.old = [],[],{k:v.clone() for k,v in self.model.state_dict().items()}
    def before_batch(self): self.learn.opt.param_groups[0]['lr'] = self.start*self.mult**self.train_iter
    def after_batch(self):
        self.lrs.append(self.opt.param_groups[0]['lr'])
        self.losses.append(self.loss.item())
        if self.train_iter>=self.num_it: raise CancelFitException()
    def before_validate(self): raise CancelValidException()
    def after_fit(self):
        self.learn.opt.zero_grad()
        self.model.load_state_dict(self.old)

class Peek(Callback):
    "Read everything that is documented"
    order = 80
    def before_fit(self): self.seen = []
    def after_loss(self):
        self.seen.append(dict(n_epoch=self.n_epoch, n_iter=self.n_iter, epoch=self.epoch, iter=self.iter, train_iter=self.train_iter,
            training=self.training, is_train_dl=self.dl is self.dls.train, same=(self.x is self.xb[0], self.y is self.yb[0]),
            grad=self.loss_grad.requires_grad, no_grad=not self.loss.requires_grad, equal=torch.equal(self.loss, self.loss_grad.detach()),
            pred=tuple(self.pred.shape), learn=self.learn.model is self.model, cbs=len(self.cbs), opt=self.opt is self.learn.opt,
            loss_func=self.loss_func is self.learn.loss_func, mode=self.model.training))

def raise_at(name, exc):
    "A callback that raises `exc` at its first event `name`"
    def f(self):
        if self.learn.raised: return
        self.learn.raised = True
        raise exc()
    return Callback(**{name: f})

@before_batch_cb
def double(self, xb, yb): return tuple(2*o for o in xb),yb

def after_step(self): self.learn.steps.append(self.train_iter)
function_cb = Callback(after_step=after_step)

class ExtendedEvents(Callback):
    "Calls methods by name"
    def before_fit(self): self.seen = [self('helper'), event.after_fit]
    def helper(self): return 'helped'
