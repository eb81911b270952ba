"""What a user writes, with everything that only stubs tell: mypy finds nothing to say, and it runs

Methods that come by `@patch`, callbacks as attributes of the learner, its attributes in a callback, names made from a table."""
import tempfile, torch
from contextlib import suppress
from pathlib import Path
from torch import nn
from torch.nn import functional as F
from learnloop import (
    Callback, CancelBatchException, CheckpointCallback, CSVLogger, DataLoaders, EarlyStoppingCallback, EMA, GradientClip,
    Learner, ParamScheduler, Phase, SchedCos, Tracer, event, list_checkpoints, mae, on, rmse, set_seed, synth_learner)

class SkipLarge(Callback):
    "Reads fall through to the learner"
    order = 5.5
    def before_fit(self) -> None: self.n_skipped = 0
    def after_loss(self) -> None:
        if self.training and self.loss > 1e4:
            self.n_skipped += 1
            raise CancelBatchException
    @on(event.after_batch, every=10)
    def look(self) -> None: assert len(self.xb)==1 and self.model.training==self.training and self.opt is self.learn.opt
    def after_epoch(self) -> None: assert self.epoch<self.n_epoch and self.recorder.lrs

class TwoTurns(Learner, phases=[Phase('second', 'train')]):
    "Pieces of the loop are there to be overridden"
    def one_batch(self, i: int, b: object) -> None:
        super().one_batch(i, b)
        self.with_events('second', lambda: None)

def line(folder: Path) -> Learner:
    "Fit a line in every way"
    set_seed(42)
    learn = synth_learner(metrics=[mae, rmse], path=folder)
    print(learn.summary())
    print(learn.show_training_loop())
    with learn.no_bar(), learn.no_logging():
        learn.lr_find(num_it=10)
        learn.fit(1, lr=.1, cbs=[SkipLarge(), GradientClip(1.), EMA()])
        learn.fit_one_cycle(2, lr_max=.1)
        learn.fit_flat_cos(1, lr=.05)
        learn.fit(2, cbs=[CSVLogger(folder/'history.csv'), EarlyStoppingCallback(patience=3)])
        learn.fit(2, cbs=CheckpointCallback(folder/'run'))
        learn.fit(4, resume=folder/'run')
        learn.fit(1, cbs=ParamScheduler({'lr': SchedCos(.1, .01)}))
        with learn.added_cbs(Tracer()): learn.fit(1)
    return learn

def look(learn: Learner, folder: Path) -> None:
    "Ask what came of it"
    print(learn.recorder.metric_names, learn.recorder.values[-1], learn.final_record, learn.count.opt_steps)
    print(learn.trace, learn.validate(), list_checkpoints(folder/'run')[-1].step)
    preds,targs = learn.get_preds()
    item,_ = learn.dls.train_ds[0]
    decoded,pred = learn.predict(item)
    learn.save('model')
    learn.load('model').export('learner')
    learn.unfreeze()
    learn.set_hypers(lr=1e-3, wd=0.)
    print(preds.shape==targs.shape, decoded, pred, learn.epoch+1, learn.opt.param_groups[0]['lr'], learn.progress.name, learn.device, learn.x is None)

def mistakes(learn: Learner) -> None:
    "What mypy finds, or it would complain that there is nothing to ignore"
    with suppress(AttributeError): learn.fti(1)  # type: ignore[attr-defined]
    with suppress(AttributeError): print(event.befor_batch)  # type: ignore[attr-defined]
    with suppress(TypeError): learn.fit(1, max_step=3)  # type: ignore[call-arg]
    with suppress(ValueError, TypeError): learn.fit('1')  # type: ignore[arg-type]

def main() -> None:
    with tempfile.TemporaryDirectory() as d:
        folder = Path(d)
        look(line(folder), folder)
    batches = [(x, 2*x) for x in torch.randn(5, 16, 1)]
    dls = DataLoaders(batches[:4], batches[4:])
    learn = TwoTurns(dls, nn.Linear(1, 1), F.mse_loss, cbs=Callback(after_batch=lambda cb: print(cb.iter, end=' ')))
    learn.add_cb(SkipLarge())
    learn.fit(1)
    learn.remove_cb(SkipLarge)
    learn('after_create')
    mistakes(learn)

if __name__=='__main__': main()
