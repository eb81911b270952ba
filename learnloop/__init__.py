"The fastai-style training loop, on plain PyTorch"
__version__ = '0.1.0'

import gc as _gc, torch as _torch  # torch comes as it comes without us
# An import makes no garbage, and its many new objects would set off a search for it, at worst through all that torch has made, for
# longer than the import itself takes. So nobody searches meanwhile; whoever had turned that off finds it off.
_collects = _gc.isenabled()
_gc.disable()
try:  # What each learner needs
    from learnloop.loop.flow import (
        PHASES, CancelBackwardException, CancelBatchException, CancelEpochException, CancelEvaluateException,
        CancelException, CancelFitException, CancelSanityException, CancelSaveException, CancelStepException,
        CancelTrainException, CancelTurnException, CancelValidException, CancelZeroGradException, Event, Flow, Phase, UncaughtCancelError,
        event, in_phase)
    from learnloop.loop.help import show_params as _show_params
    from learnloop.loop.later import bring as _bring
    from learnloop.loop.callback import Callback, InGraph, mk_cb, on
    from learnloop.data.batch import default_device, describe, find_bs, to_concat, to_detach, to_device
    from learnloop.data.loaders import DataLoaders, in_order
    from learnloop.data.tensors import TensorLoader
    from learnloop.data.rng import no_random, preserve_rng, set_seed
    from learnloop.loop.place import Pass, Place
    from learnloop.loop.optimizer import get_hyper, get_hypers, is_norm, norm_params, set_hypers, trainable_params
    from learnloop.loop.loss import decode_preds
    from learnloop.loop.steps import StepLimit
    from learnloop.data.begin import SeededItems
    from learnloop.loop.learner import Learner, TrainEvalCallback, before_batch_cb, default_cb
    import learnloop.loop.learner_opt, learnloop.loop.evaluate
    from learnloop.loop.fit_checks import Checks
    from learnloop.loop.predict import FetchPredsCallback, GatherPredsCallback
    from learnloop.measure.metrics import (
        AccumMetric, AvgLoss, AvgMetric, AvgSmoothLoss, Dice, DictMetric, JaccardCoeff, LossMetric, LossMetrics,
        Metric, Perplexity, TorchMetric, ValueMetric, accuracy, accuracy_multi, as_metric, error_rate, exp_rmspe,
        foreground_acc, mae, mse, msle, optim_metric, rmse, skm_metric, top_k_accuracy)
    from learnloop.measure.recorder import Recorder, Scores
    from learnloop.keep.saving import load_export, load_learner, load_model, save_model
    from learnloop.keep.storage import Checkpoint, DamagedCheckpoint, list_checkpoints, newest_checkpoint
    from learnloop.keep.interrupt import Interrupted, Terminated
    from learnloop.keep.checkpoint import CheckpointCallback
    import learnloop.loop.switch_opt, learnloop.keep.resume, learnloop.keep.undo
    from learnloop.see.progress import ProgressCallback, ShowGraph
    from learnloop.interop import as_cb
    _show_params()
finally:
    if _collects: _gc.enable()

# What is imported when it is asked for: module -> its names. Methods that a module patches on wait for it: see `loop.later`
_later = {  # chkstyle: ignore-node
    'data.several': 'Alternate Zip',
    'loop.prefetch': 'Prefetch',
    'measure.losses': '''BCELossFlat BCEWithLogitsLossFlat BaseLoss CrossEntropyLossFlat DiceLoss FocalLoss FocalLossFlat L1LossFlat
        LabelSmoothingCrossEntropy LabelSmoothingCrossEntropyFlat MSELossFlat''',
    'measure.hook': '''ActivationStats Hook HookCallback Hooks ModelSummary dummy_eval hook_output hook_outputs model_sizes
        num_features_model total_params''',
    'measure.display': 'plot_style',
    'measure.image': 'show_image',
    'measure.about': 'run_facts',
    'measure.interpret': 'ClassificationInterpretation Interpretation SegmentationInterpretation',
    'measure.throughput': 'Throughput',
    'train.schedule': '''GradualUnfreezing ParamScheduler SchedCos SchedExp SchedLin SchedNo SchedPoly Scheduler annealer
        combine_scheds combined_cos''',
    'train.torchsched': 'TorchScheduler',
    'train.lr_find': 'LRFinder SuggestionMethod',
    'train.tracker': '''CheckFinite EarlyStoppingCallback ReduceLROnPlateau SaveModelCallback SpikeDetection TerminateOnNaNCallback
        TimeLimit TrackerCallback ValidateCallback ValidateEvery''',
    'train.limits': '''DetectAnomaly Deterministic FastDevRun LimitBatches OverfitBatches ReloadLoaders SanityCheck
        ShortEpochCallback''',
    'train.training': '''BnFreeze ChannelsLast GradientAccumulation GradientCheckpointing GradientClip MCDropoutCallback MicroBatch
        MoveModulesToDeviceCallback SAM set_bn_eval''',
    'train.averaging': 'EMA SWA WeightAveraging',
    'train.precision': 'MixedPrecision TruePrecision',
    'train.mixup': 'CutMix MixHandler MixUp',
    'train.rnn': 'ModelResetter RNNCallback RNNRegularizer rnn_cbs',
    'scale.launch': 'launch',
    'scale.fuse': 'FuseReport',
    'scale.team': 'PeerError Team',
    'see.trace': 'Trace Tracer',
    'see.timeline': 'Timeline load_trace',
    'see.log': 'CSVLogger JSONLogger Logger MLflowCallback WandbCallback',
    'see.tensorboard': 'TensorBoardCallback read_tensorboard',
    'see.report': 'KeepWarnings report_from',
    'see.runs': 'Run runs',
    'see.compare': 'compare',
    'see.fingerprint': 'Fingerprint',
    'see.diff': 'diff_runs',
    'see.replay': 'diff_steps replay_runs',
    'app.synth': 'RegModel synth_dls synth_learner'}
_later = {k:f'learnloop.{mod}' for mod,names in _later.items() for k in names.split()}

__all__ = [k for k,v in {**globals(), **_later}.items() if k[0]!='_' and type(v).__name__!='module']  # not the wings

def __dir__(): return [*{*globals(), *__all__}]

def __getattr__(name):
    "Import what has `name`, if something has; else tell what a name of another system is called here"
    if name in _later:
        globals()[name] = res = getattr(_bring(_later[name]), name)
        return res
    from learnloop.data.checks import NoAttribute, called_here, did_you_mean
    raise NoAttribute(f'module {__name__!r} has no attribute {name!r}',
        lambda: called_here('class', name) or did_you_mean(name, __all__))

def _with_modules(wing):
    "Have the modules of `wing` be attributes of it, as all that is imported is, before they are imported"
    from importlib import import_module
    from pkgutil import iter_modules
    m = import_module(f'learnloop.{wing}')
    def _modules(): return [o.name for o in iter_modules(m.__path__)]
    def _get(name):
        if name[:1]!='_' and name in _modules(): return _bring(f'{m.__name__}.{name}')
        raise AttributeError(f'module {m.__name__!r} has no attribute {name!r}')
    m.__getattr__,m.__dir__ = _get,lambda: [*{*vars(m), *_modules()}]

for _o in ('data', 'loop', 'measure', 'train', 'keep', 'scale', 'interop', 'see', 'app'): _with_modules(_o)
