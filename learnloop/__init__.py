"The fastai-style training loop, on plain PyTorch"
__version__ = '0.1.0'

import gc as _gc, torch as _torch
_thaws = not _gc.get_freeze_count()  # the program may have frozen objects itself
if _thaws: _gc.freeze()  # a garbage collection is due after `import torch`; visiting all objects of torch takes longer than this import
# What each learner needs
from learnloop.loop.flow import (
    PHASES, CancelBackwardException, CancelBatchException, CancelEpochException, CancelEvaluateException,
    CancelException, CancelFitException, CancelSanityException, CancelSaveException, CancelStepException,
    CancelTrainException, CancelTurnException, CancelValidException, CancelZeroGradException, Event, Flow, Phase,
    RewindException, UncaughtCancelError, event, in_phase)
from learnloop.loop.help import show_params as _show_params
from learnloop.loop.lazy import LAZY as _LAZY, load_lazy as _load_lazy
from learnloop.loop.callback import Callback, InGraph, before_batch_cb, mk_cb, on
from learnloop.data.batch import default_device, describe, find_bs, to_concat, to_detach, to_device
from learnloop.data.loaders import DataLoaders, in_order
from learnloop.data.tensors import TensorLoader
from learnloop.data.rng import no_random, preserve_rng, set_seed
from learnloop.loop.place import Pass, Place
from learnloop.loop.optimizer import get_hyper, get_hypers, is_norm, norm_params, set_hypers, trainable_params
from learnloop.loop.loss import decode_preds
from learnloop.loop.steps import StepLimit
from learnloop.data.begin import SeededItems
from learnloop.loop.learner import Learner, TrainEvalCallback, default_cb
import learnloop.loop.learner_opt, learnloop.loop.evaluate
from learnloop.loop.fit_checks import Checks
from learnloop.loop.predict import FetchPredsCallback, GatherPredsCallback
from learnloop.measure.metric import AvgMetric, Metric, TorchMetric, ValueMetric, as_metric
from learnloop.measure.metrics import (
    AccumMetric, AvgLoss, AvgSmoothLoss, Dice, DictMetric, JaccardCoeff, LossMetric, LossMetrics, Perplexity,
    accuracy, accuracy_multi, error_rate, exp_rmspe, foreground_acc, mae, mse, msle, optim_metric, rmse,
    skm_metric, top_k_accuracy)
from learnloop.measure.recorder import Recorder
from learnloop.measure.scores import Scores
from learnloop.checkpoint.saving import load_model, save_model
from learnloop.checkpoint.storage import Checkpoint, DamagedCheckpoint, list_checkpoints, newest_checkpoint
from learnloop.checkpoint.interrupt import Interrupted, Terminated
from learnloop.checkpoint.checkpoint import CheckpointCallback
import learnloop.loop.switch_opt, learnloop.checkpoint.resume, learnloop.checkpoint.undo, learnloop.checkpoint.steer
from learnloop.checkpoint.rewind import Snapshots, change_hypers
from learnloop.see.progress import ProgressCallback, ShowGraph
from learnloop.interop import as_cb
_show_params()
if _thaws: _gc.unfreeze()
from learnloop import app, checkpoint, data, interop, loop, measure, scale, see, train

# Public names that are imported on first use -> their modules
_lazy = {k:f'learnloop.{mod}' for mod,names in _LAZY.items() for k in names.split() if '.' not in k}

__all__ = [k for k,v in {**globals(), **_lazy}.items() if k[0]!='_' and type(v).__name__!='module']  # not the wings

def __dir__(): return [*{*globals(), *__all__}]

def __getattr__(name):
    "Import the module of `name`; for an unknown name, raise an error that gives learnloop's name for it"
    if name in _lazy:
        globals()[name] = res = getattr(_load_lazy(_lazy[name]), name)
        return res
    from learnloop.data.checks import NoAttribute, called_here, did_you_mean
    raise NoAttribute(f'module {__name__!r} has no attribute {name!r}',
        lambda: called_here('class', name) or did_you_mean(name, __all__))
