"Callbacks in the style of fastai's documentation; only the import line differs"
import torch
from fastcore.all import store_attr
from learnloop import *

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

@before_batch_cb
def double(self, xb, yb): return tuple(2*o for o in xb),yb

def after_step(self): self.learn.steps.append(self.train_iter)
function_cb = Callback(after_step=after_step)

class ExtendedEvents(Callback):
    "Calls methods by name"
    def before_fit(self): self.seen = [self('helper'), event.after_fit]
    def helper(self): return 'helped'
