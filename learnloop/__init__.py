"The fastai-style training loop, on plain PyTorch"
__version__ = '0.1.0'

from learnloop.loop.flow import (
    PHASES, CancelBackwardException, CancelBatchException, CancelEpochException, CancelEvaluateException,
    CancelException, CancelFitException, CancelSanityException, CancelSaveException, CancelStepException,
    CancelTrainException, CancelTurnException, CancelValidException, CancelZeroGradException, Event, Flow, Phase, UncaughtCancelError,
    event, in_phase)
from learnloop.loop.callback import Callback, mk_cb, on
from learnloop.loop.batch import default_device, describe, find_bs, to_concat, to_detach, to_device
from learnloop.loop.data import DataLoaders, in_order
from learnloop.loop.tensors import TensorLoader
from learnloop.loop.rng import no_random, preserve_rng, set_seed
from learnloop.loop.place import Pass, Place
from learnloop.loop.optimizer import get_hyper, get_hypers, is_norm, norm_params, set_hypers, trainable_params
from learnloop.loop.loss import decode_preds
from learnloop.loop.steps import StepLimit
from learnloop.loop.prefetch import Prefetch
from learnloop.loop.begin import SeededItems
from learnloop.loop.several import Alternate, Zip
from learnloop.loop.learner import Learner, Loop, TrainEvalCallback, before_batch_cb, default_cb
from learnloop.loop.predict import FetchPredsCallback, GatherPredsCallback
from learnloop.measure.metrics import (
    AccumMetric, AvgLoss, AvgMetric, AvgSmoothLoss, Dice, DictMetric, JaccardCoeff, LossMetric, LossMetrics,
    Metric, Perplexity, TorchMetric, ValueMetric, accuracy, accuracy_multi, as_metric, error_rate, exp_rmspe,
    foreground_acc, mae, mse, msle, optim_metric, rmse, skm_metric, top_k_accuracy)
from learnloop.measure.losses import (
    BCELossFlat, BCEWithLogitsLossFlat, BaseLoss, CrossEntropyLossFlat, DiceLoss, FocalLoss, FocalLossFlat,
    L1LossFlat, LabelSmoothingCrossEntropy, LabelSmoothingCrossEntropyFlat, MSELossFlat)
from learnloop.measure.recorder import Recorder
from learnloop.measure.hook import (
    ActivationStats, Hook, HookCallback, Hooks, ModelSummary, dummy_eval, hook_output, hook_outputs, model_sizes,
    num_features_model, total_params)
from learnloop.measure.image import show_image
from learnloop.measure.interpret import ClassificationInterpretation, Interpretation, SegmentationInterpretation
from learnloop.measure.throughput import Throughput
from learnloop.train.schedule import (
    GradualUnfreezing, ParamScheduler, SchedCos, SchedExp, SchedLin, SchedNo, SchedPoly, Scheduler, annealer,
    combine_scheds, combined_cos)
from learnloop.train.torchsched import TorchScheduler
from learnloop.train.lr_find import LRFinder, SuggestionMethod
from learnloop.train.tracker import (
    CheckFinite, EarlyStoppingCallback, ReduceLROnPlateau, SaveModelCallback, SpikeDetection,
    TerminateOnNaNCallback, TimeLimit, TrackerCallback, ValidateCallback, ValidateEvery)
from learnloop.train.limits import (
    DetectAnomaly, Deterministic, FastDevRun, LimitBatches, OverfitBatches, ReloadLoaders, SanityCheck,
    ShortEpochCallback)
from learnloop.train.training import (
    BnFreeze, ChannelsLast, GradientAccumulation, GradientCheckpointing, GradientClip, MCDropoutCallback,
    MicroBatch, MoveModulesToDeviceCallback, SAM, set_bn_eval)
from learnloop.train.averaging import EMA, SWA, WeightAveraging
from learnloop.train.precision import MixedPrecision, TruePrecision
from learnloop.train.mixup import CutMix, MixHandler, MixUp
from learnloop.train.rnn import ModelResetter, RNNCallback, RNNRegularizer, rnn_cbs
from learnloop.keep.saving import load_export, load_learner, load_model, save_model
from learnloop.keep.storage import Checkpoint, DamagedCheckpoint, list_checkpoints, newest_checkpoint
from learnloop.keep.interrupt import Interrupted, Terminated
from learnloop.keep.checkpoint import CheckpointCallback
from learnloop.scale.launch import launch
from learnloop.scale.team import PeerError, Team
import learnloop.loop.switch_opt, learnloop.keep.resume, learnloop.keep.undo, learnloop.scale.distributed
from learnloop.see.progress import ProgressCallback, ShowGraph
from learnloop.see.trace import Trace, Tracer
from learnloop.see.timeline import Timeline, load_trace
from learnloop.see.log import CSVLogger, JSONLogger, Logger, MLflowCallback, WandbCallback
from learnloop.see.tensorboard import TensorBoardCallback, read_tensorboard
from learnloop.see.report import KeepWarnings, report_from
from learnloop.app.synth import RegModel, synth_dls, synth_learner
import learnloop.see.show, learnloop.see.why
from learnloop.interop import as_cb

__all__ = [k for k,v in globals().items() if k[0]!='_' and type(v).__name__!='module']  # not the wings

def __getattr__(name):
    "Tell what a name of another system is called here"
    import dis, sys
    from learnloop.loop.checks import NoAttribute, called_here, did_you_mean
    def _advice(): return called_here('class', name) or did_you_mean(name, [o for o in globals() if o[0]!='_'])
    f = sys._getframe(1)
    # Python replaces an AttributeError of `from learnloop import name` by an error of its own
    if dis.opname[f.f_code.co_code[f.f_lasti]]=='IMPORT_FROM':
        raise ImportError(f"cannot import name {name!r} from 'learnloop' ({__file__}){_advice()}", name=name, path=__file__)
    raise NoAttribute(f"module 'learnloop' has no attribute {name!r}", None if name[:1]=='_' else _advice)
