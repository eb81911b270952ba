# Written by `python -m tools.stubs` from `learner.py`: methods that other modules patch on are here, too
"""The training loop, on one screen, and the learner that runs it on any model, loader and optimizer"""

from contextlib import contextmanager
from learnloop.keep.checkpoint import CheckpointCallback
from learnloop.keep.storage import Checkpoint
from learnloop.loop.callback import Callback
from learnloop.loop.data import DataLoaders
from learnloop.loop.flow import Flow
from learnloop.measure.hook import ActivationStats
from learnloop.measure.hook import HookCallback
from learnloop.measure.hook import ModelSummary
from learnloop.measure.recorder import Recorder
from learnloop.measure.throughput import Throughput
from learnloop.see.log import CSVLogger
from learnloop.see.log import JSONLogger
from learnloop.see.log import MLflowCallback
from learnloop.see.log import WandbCallback
from learnloop.see.progress import ProgressCallback
from learnloop.see.progress import ShowGraph
from learnloop.see.report import KeepWarnings
from learnloop.see.tensorboard import TensorBoardCallback
from learnloop.see.trace import Tracer
from learnloop.train.averaging import EMA
from learnloop.train.averaging import SWA
from learnloop.train.averaging import WeightAveraging
from learnloop.train.limits import DetectAnomaly
from learnloop.train.limits import Deterministic
from learnloop.train.limits import FastDevRun
from learnloop.train.limits import LimitBatches
from learnloop.train.limits import OverfitBatches
from learnloop.train.limits import ReloadLoaders
from learnloop.train.limits import SanityCheck
from learnloop.train.limits import ShortEpochCallback
from learnloop.train.mixup import CutMix
from learnloop.train.mixup import MixHandler
from learnloop.train.mixup import MixUp
from learnloop.train.precision import MixedPrecision
from learnloop.train.precision import TruePrecision
from learnloop.train.rnn import ModelResetter
from learnloop.train.rnn import RNNCallback
from learnloop.train.rnn import RNNRegularizer
from learnloop.train.schedule import GradualUnfreezing
from learnloop.train.schedule import LRFinder
from learnloop.train.schedule import ParamScheduler
from learnloop.train.schedule import TorchScheduler
from learnloop.train.tracker import CheckFinite
from learnloop.train.tracker import EarlyStoppingCallback
from learnloop.train.tracker import ReduceLROnPlateau
from learnloop.train.tracker import SpikeDetection
from learnloop.train.tracker import TerminateOnNaNCallback
from learnloop.train.tracker import TimeLimit
from learnloop.train.tracker import TrackerCallback
from learnloop.train.tracker import ValidateEvery
from learnloop.train.training import BnFreeze
from learnloop.train.training import ChannelsLast
from learnloop.train.training import GradientAccumulation
from learnloop.train.training import GradientCheckpointing
from learnloop.train.training import GradientClip
from learnloop.train.training import MCDropoutCallback
from learnloop.train.training import MicroBatch
from learnloop.train.training import MoveModulesToDeviceCallback
from learnloop.train.training import SAM
from pathlib import Path
from torch import nn
from types import SimpleNamespace
from typing import Any

__all__ = ['Loop', 'format_value', 'print_row', 'say', 'Learner', 'is_oom', 'TrainEvalCallback', 'default_cb', 'loss_modules', 'StepLimit', 'check_whole', 'innermost', 'replaced', 'GatherPredsCallback', 'decode_preds', 'FetchPredsCallback', 'before_batch_cb']

class Loop(Flow):
    """The training loop: every method is a piece that a subclass may override"""
    _over: bool
    iter: int
    batch: Any
    pred: Any
    loss_grad: Any
    loss: Any
    _unseen: bool
    _own_count: bool
    epoch: int
    dl: Any
    n_iter: Any
    _dev: Any
    _n_inp: Any
    _targ: Any
    _making: Any
    xb: Any
    yb: Any
    rows: Any
    bodies: Any
    _rush: Any
    def _do_fit(self) -> Any: ...
    def _do_epoch(self) -> Any: ...
    def _do_epoch_train(self) -> Any: ...
    def _do_epoch_validate(self, ds_idx: Any=1, dl: Any=None) -> Any: ...
    def all_batches(self) -> Any:
        """Run `one_batch` for each batch of `dl`"""
    def one_batch(self, i: int, b: Any) -> Any:
        """Take the batch `b` through the `batch` phase

        - `i`: Its number in the epoch, from 0
        - `b`: What the loader gave
        """
    def _do_one_batch(self) -> Any: ...
    @property
    def _named(self) -> Any:  # loop/learner.py
        """Does the model take `xb` by name? Asked at each call: a callback may have made something else of it"""
    def _check_targ(self, b: Any) -> Any:  # loop/learner.py
        """Refuse a batch without targets, except for inference"""
    def _do_loss(self) -> Any: ...  # loop/learner.py
    def _own_loss(self) -> Any: ...  # loop/learner.py
    def _first_loss(self, pred: Any, *yb: Any) -> Any: ...  # loop/learner.py
    def _do_grad_opt(self) -> Any: ...  # loop/learner.py
    def _backward(self) -> Any: ...  # loop/learner.py
    def _step(self) -> Any: ...  # loop/learner.py
    def _zero_grad(self) -> Any: ...  # loop/learner.py
    def _take_step(self, f: Any, *args: Any, **kwargs: Any) -> Any:  # loop/learner.py
        """Run `f`, the body of *step*, then count the step and say so: whatever `f` is, and nothing of this is left to it"""
    def _counts_itself(self, f: Any) -> Any: ...  # loop/learner.py
    def _epochs(self) -> Any:  # loop/learner.py
        """Count `epoch` up to `n_epoch`, which callbacks may change on the way"""
    def _pick(self, ds_idx: Any, dl: Any) -> Any:  # loop/learner.py
        """The loader that is meant: None if it is the one for validation, and there is none"""
    def _use(self, dl: Any) -> Any: ...  # loop/learner.py
    def _trained(self) -> Any:  # loop/learner.py
        """Is the training of this epoch done already?"""
    def _mark(self, where: Any) -> Any:  # loop/learner.py
        """Called at the start of a fit, when its callbacks have begun, and before each epoch and its validation"""
    def _begin(self) -> Any:  # loop/learner.py
        """An iterator over `dl`, and how many of its batches are done already"""
    def _fetch(self, batches: Any) -> Any: ...  # loop/learner.py
    def _leave(self, batches: Any) -> Any:  # loop/learner.py
        """Drop the batch, and `batches`, too, unless there is an error"""
    def _drop_batch(self) -> Any: ...  # loop/learner.py
    def _check_length(self, n: Any) -> Any:  # loop/learner.py
        """Say so if the loader gave more or fewer batches than its length, or none to train on"""

def format_value(v: Any) -> str:
    """Write a value as in the table of epochs

    - `v`: A number, a string, None

    Returns: 6 decimals for a float, nothing for None
    """

def print_row(row: Any) -> Any:
    """Print a row of the table of epochs

    - `row`: Values of the columns
    """

def say(s: Any) -> Any:
    """Print `s` now, in a log file, too; whoever read it may be gone, which ends no training"""

class Learner(Loop):
    """Loaders, model, loss and optimizer, and the loop that trains them"""
    defaults: list
    dls: DataLoaders
    model: Any
    opt_func: Any
    splitter: Any
    path: Path
    wd: float | None
    wd_bn_bias: bool
    train_bn: bool
    moms: Any
    model_dir: Any
    logger: Any
    metrics: Any
    loss_func: Any
    opt: Any
    dl: Any
    n_iter: Any
    loss: Any
    _forward_model: Any
    final_record: Any
    n_epoch: int
    epoch: int
    iter: int
    n_done: int
    train_iter: int
    pct_train: float
    bs: int
    count: Any
    created: bool
    _device: Any
    _own_lr: Any
    _holds: Any
    _fit_args: dict
    training: bool
    _going: Any
    _making: Any
    _deaf: Any
    _own: Any
    _loss_call: Any
    _rush: Any
    predicting: Any
    batch: Any
    xb: Any
    yb: Any
    pred: Any
    _over: Any
    paused: Any
    _passes: int
    _held: dict
    _ask: Any
    _marks: dict
    _noted: Any
    failed: Any
    _why_not: str
    _asked: Any
    _conf: Any
    _base: Any
    _warmed: Any
    _n_fetched: Any
    _no_place: dict
    _validates_as_ever: bool
    _handled: Any
    _halt: Any
    _still: bool
    rows: Any
    _unseen: Any
    _dev: Any
    _n_inp: Any
    _targ: Any
    _own_count: Any
    saved: Any
    # Callbacks, while they are there
    fetch_preds: FetchPredsCallback
    gather_preds: GatherPredsCallback
    step_limit: StepLimit
    train_eval: TrainEvalCallback
    recorder: Recorder
    activation_stats: ActivationStats
    hook: HookCallback
    throughput: Throughput
    gradual_unfreezing: GradualUnfreezing
    lr_finder: LRFinder
    param_scheduler: ParamScheduler
    torch_scheduler: TorchScheduler
    check_finite: CheckFinite
    early_stopping: EarlyStoppingCallback
    reduce_lr_on_plateau: ReduceLROnPlateau
    spike_detection: SpikeDetection
    terminate_on_na_n: TerminateOnNaNCallback
    time_limit: TimeLimit
    tracker: TrackerCallback
    validate_every: ValidateEvery
    detect_anomaly: DetectAnomaly
    deterministic: Deterministic
    fast_dev_run: FastDevRun
    limit_batches: LimitBatches
    overfit_batches: OverfitBatches
    reload_loaders: ReloadLoaders
    sanity_check: SanityCheck
    short_epoch: ShortEpochCallback
    bn_freeze: BnFreeze
    channels_last: ChannelsLast
    gradient_accumulation: GradientAccumulation
    gradient_checkpointing: GradientCheckpointing
    gradient_clip: GradientClip
    mc_dropout: MCDropoutCallback
    micro_batch: MicroBatch
    move_modules_to_device: MoveModulesToDeviceCallback
    sam: SAM
    ema: EMA
    swa: SWA
    weight_averaging: WeightAveraging
    mixed_precision: MixedPrecision
    true_precision: TruePrecision
    cut_mix: CutMix
    mix_handler: MixHandler
    mix_up: MixUp
    model_resetter: ModelResetter
    rnn: RNNCallback
    rnn_regularizer: RNNRegularizer
    checkpoint: CheckpointCallback
    progress: ProgressCallback
    show_graph: ShowGraph
    tracer: Tracer
    csv_logger: CSVLogger
    json_logger: JSONLogger
    m_lflow: MLflowCallback
    wandb: WandbCallback
    tensor_board: TensorBoardCallback
    keep_warnings: KeepWarnings
    def __init__(self, dls: Any, model: nn.Module, loss_func: Any=None, opt_func: Any=..., lr: float | None=None, splitter: Any=..., cbs: Any=None, metrics: Any=None, path: Any='.', model_dir: Any='models', wd: float | None=None, wd_bn_bias: bool=False, train_bn: bool=True, moms: Any=(0.95, 0.85, 0.95), default_cbs: bool=True) -> None:
        """- `dls`: `DataLoaders`, a tuple of loaders (train, valid, …), or any iterable of batches to train on
        - `model`: Called as `model(*xb)`, or `model(**batch)` for a batch that is a dict
        - `loss_func`: Called as `loss_func(pred, *yb)`; None for the training set's own, or for a model that returns its loss
        - `opt_func`: torch optimizer: class, partial or instance (which keeps its own settings), or a dict of instances
        - `lr`: Learning rate of fits that don't name one; None for `opt_func`'s own, if it names one, or else 1e-3
        - `splitter`: Function from the model to its parameters, or to lists of them, earliest layers first
        - `cbs`: Callbacks to keep
        - `metrics`: Functions of (pred, *yb), `Metric`s, torchmetrics objects
        - `path`: Folder below which callbacks write by default
        - `model_dir`: Folder below `path` for what `save` writes
        - `wd`: Weight decay; None for the optimizer's own default
        - `wd_bn_bias`: Decay norms and biases, too? They have no scale to be kept small
        - `train_bn`: Train norms in frozen groups, too? Their statistics belong to the new data
        - `moms`: Momentum at the start, the peak and the end of one-cycle schedules
        - `default_cbs`: Add `Learner.defaults`?
        """
    @property
    def device(self) -> Any:  # loop/learner.py
        """Where batches go: the loaders' device; without one, where the model is if that is an accelerator; else the machine's best"""
    def _where(self) -> Any: ...  # loop/learner.py
    def __repr__(self) -> Any: ...  # loop/learner.py
    def _tip(self, e: Any) -> Any: ...  # loop/learner.py
    def _tip_of_call(self, e: Any, s: Any) -> Any: ...  # loop/learner.py
    def _let_go(self, e: Any) -> Any:  # loop/learner.py
        """Have the error `e` hold no workers, and no tensors if memory ran out"""
    def create_opt(self) -> Any:  # loop/learner.py
        """Make `opt` anew, by `opt_func`, from the groups of `splitter`"""
    def _own_lrs(self) -> Any:  # loop/learner.py
        """The learning rate of the optimizer itself, as it was given or as `opt_func` makes it; None if somebody else's counts"""
    def _named_lr(self) -> Any:  # loop/learner.py
        """The learning rate that somebody named, for fits that don't: the optimizer's own, or the learner's; None if nobody did"""
    @property
    def loss_module(self) -> Any:  # loop/learner.py
        """What of the loss function has a state: a module, or a list of them as one; None if there is none"""
    def _loss_params(self) -> Any:  # loop/learner.py
        """What the loss function has to learn, by name"""
    def _lost(self) -> Any:  # loop/learner.py
        """Names of what the loss function has to learn, and no optimizer holds"""
    def _to_device(self) -> Any:  # loop/learner.py
        """Have model and loss function where batches go"""
    def _split(self, model: Any) -> Any:  # loop/learner.py
        """What `splitter` gives, with what the loss function has to learn in the last group"""
    def set_hypers(self, **hypers: Any) -> Any:  # loop/learner.py
        """Set hyper-parameters of the optimizer, checked before any is changed

        - `hypers`: By name (`lr`, `wd`, `mom`, `sqr_mom`, `eps`, or torch's own): a number, a list with one per group, `slice(first, last)`
        """
    def freeze_to(self, n: int) -> Any:  # loop/learner.py
        """Train the groups from `n` on, and norms everywhere if `train_bn`

        - `n`: Groups before this one are frozen; negative counts from the end
        """
    def freeze(self) -> Any:  # loop/learner.py
        """Train the last group alone"""
    def unfreeze(self) -> Any:  # loop/learner.py
        """Train all groups"""
    def fit(self, n_epoch: int | None=None, lr: Any=None, wd: Any=None, cbs: Any=None, reset_opt: bool=False, start_epoch: int=0, max_steps: int | None=None, steps_per_epoch: int | None=None, resume: Any=None, accept: Any=(), keep_failed: bool=False) -> None:  # loop/learner.py
        """Train for `n_epoch` epochs, validating after each

        - `n_epoch`: Epochs to train for; None if `max_steps` says when to stop
        - `lr`: Learning rate, in any form that `set_hypers` takes; None for the learner's
        - `wd`: Weight decay; None for the learner's
        - `cbs`: Callbacks for this fit only
        - `reset_opt`: Begin with a new optimizer?
        - `start_epoch`: Number of the first epoch; those before it are taken as done
        - `max_steps`: Stop after so many optimizer steps, and validate
        - `steps_per_epoch`: Optimizer steps an epoch; None for a whole pass through the loader
        - `resume`: Folder of checkpoints: go on from the newest one there, and save there; `n_epoch` is the total
        - `accept`: What may be different from the checkpoint, by the names that the error gives; True for all
        - `keep_failed`: Copy the state before each batch, so that after an error `learn.resume()` is exact and `learn.replay_batch()` works?
        """
    def _prepare_opt(self, lr: Any, wd: Any, reset_opt: Any, check: Any) -> Any:  # loop/learner.py
        """Have an optimizer with the settings that a fit asks for; if `check`, one that holds all that is to be trained"""
    @contextmanager
    def _signals(self) -> Any: ...  # keep/interrupt.py
    def _fit_helpers(self, cbs: Any, resume: Any, accept: Any, keep_failed: Any) -> Any: ...  # keep/checkpoint.py
    def _end(self) -> Any:  # loop/learner.py
        """Leave the learner as good as new"""
    def _check_fit(self, n_epoch: Any, start_epoch: Any, max_steps: Any, steps_per_epoch: Any) -> Any:  # loop/learner.py
        """Refuse what can't be fitted, before anything runs"""
    def _check_params(self) -> Any: ...  # loop/learner.py
    def _check_held(self, note: Any=None) -> Any: ...  # loop/learner.py
    @contextmanager
    def _as_found(self, dl: Any) -> Any:  # loop/learner.py
        """Put back, at the end of a `with` block, what an evaluation changes"""
    @contextmanager
    def _apart(self, deaf: Any) -> Any:  # loop/learner.py
        """Have an evaluation to itself, inside a `with` block: without callbacks of one that it is in, and with `deaf` and those that gather hearing nothing"""
    def _evaluate(self, dl: Any, cbs: Any=None, inner: Any=False, deaf: Any=(), loss: Any=None, rush: Any=None) -> Any:  # loop/learner.py
        """Validate on `dl`, with `cbs`, and leave things as they were"""
    def validate(self, ds_idx: Any=1, dl: Any=None, cbs: Any=None) -> list | None:  # loop/learner.py
        """Compute loss and metrics

        - `ds_idx`: Which of `dls`, by index or name
        - `dl`: Any other loader
        - `cbs`: Callbacks for this evaluation only

        Returns: Loss and metrics, as `recorder.metric_names` has them; None without a recorder
        """
    def _loader(self, ds_idx: Any, dl: Any) -> Any: ...  # loop/learner.py
    @contextmanager
    def loss_not_reduced(self) -> Any:  # loop/learner.py
        """Have `loss_func` return the loss of each item, inside a `with` block"""
    def _is_taken(self, name: Any, cbs: Any) -> Any:  # loop/learner.py
        """Is `name` that of one of `cbs`, or of something that is here to stay, callbacks of the evaluation that is going on being none of that?"""
    def _pred_loss(self, each: Any, pred: Any, *yb: Any) -> Any:  # loop/learner.py
        """The loss, by `each` item if that is given, in this call alone: an evaluation inside this one has the ordinary loss; None without targets"""
    def _is_alone(self, cb: Any) -> Any:  # loop/learner.py
        """Does nobody but `cb` hear anything of a batch, but for those that only look when it is over?"""
    def _predict_all(self, cb: Any, batches: Any) -> Any:  # loop/learner.py
        """Take `batches` through the model, without events that nobody hears and a loss that nobody sees; are some left for the ordinary way?"""
    def get_preds(self, ds_idx: Any=1, dl: Any=None, with_input: bool=False, with_decoded: bool=False, with_loss: bool=False, act: Any=None, inner: bool=False, reorder: bool=True, cbs: Any=None, **kwargs: Any) -> tuple:  # loop/learner.py
        """Gather predictions and targets

        - `ds_idx`: Which of `dls`, by index or name
        - `dl`: Any other loader
        - `with_input`: Return inputs, first?
        - `with_decoded`: Return what `decode_preds` makes of predictions, after the targets?
        - `with_loss`: Return the loss of each item, last? See `loss_not_reduced`
        - `act`: Applied to predictions; None for the loss function's `activation`, if it has one
        - `inner`: Skip the `evaluate` phase: for callbacks that are in a `validate` of their own
        - `reorder`: In the data set's order?
        - `cbs`: Callbacks for this evaluation only
        - `kwargs`: To `GatherPredsCallback`

        Returns: inputs?, predictions, targets, decoded?, losses?
        """
    def predict(self, item: Any, act: Any=None, with_input: bool=False) -> tuple:  # loop/learner.py
        """Predict one `item`

        - `item`: An input, a tuple of inputs if the model takes several, or a dict; without a target
        - `act`: Applied to the prediction; None for the loss function's `activation`
        - `with_input`: Return the input, first?

        Returns: The input, if wanted, the decoded prediction, and the prediction, all of one item
        """
    @contextmanager
    def no_logging(self) -> Any:  # loop/learner.py
        """Print nothing, inside a `with` block"""
    def to_detach(self, b: Any, cpu: bool=True) -> Any:  # loop/learner.py
        """Detach all tensors in `b`

        - `b`: Tensors, nested in any way
        - `cpu`: Move them to the CPU?
        """
    def _saved_at(self, file: Any) -> Any: ...  # keep/saving.py
    def save(self, file: Any, with_opt: bool=True) -> Path | None:  # keep/saving.py
        """Save weights and optimizer

        - `file`: Name, below `path/model_dir`; an absolute path; a binary file
        - `with_opt`: The optimizer, too?

        Returns: Where it is; None if a callback cancelled it
        """
    def _save(self, file: Any) -> Any: ...  # keep/saving.py
    def _restart_opt(self) -> Any:  # keep/saving.py
        """Have the optimizer as it is before the first fit; the object stays, as schedulers may hold it"""
    def _take_opt(self, sd: Any, where: Any, tip: Any='') -> Any:  # keep/saving.py
        """Optimizers and the states to load, checked"""
    def load(self, file: Any, device: Any=None, with_opt: bool=True, strict: bool=True, weights_only: bool=True) -> Learner:  # keep/saving.py
        """Load weights and optimizer: all or, after an error, nothing

        - `file`: As for `save`
        - `device`: Where the file's tensors are put on the way; None for the CPU
        - `with_opt`: The optimizer, too? An error if the file has none
        - `strict`: Must the names of weights be the same? Shapes must be in any case
        - `weights_only`: Taken as torch's: whatever it says, a file that only code could read is refused

        Returns: The learner itself
        """
    def _load(self, file: Any, with_opt: Any, strict: Any) -> Any: ...  # keep/saving.py
    def export(self, file: Any='export', meta: dict | None=None) -> Path:  # keep/saving.py
        """Write weights and buffers for inference

        - `file`: Name, below `path`, or an absolute path; its suffix is `.safetensors`, written or not
        - `meta`: Anything that JSON can hold

        Returns: Where it is
        """
    @property
    def smooth_loss(self) -> Any:  # measure/recorder.py
        """Smoothed training loss; None before the first batch, or without a recorder"""
    def _try_size(self, dl: Any, bs: Any, n_steps: Any) -> Any:  # train/limits.py
        """Train on batches of `bs`, and undo that; return why it can't be done, None if it can"""
    def find_batch_size(self, mk_dl: Any, start: int=2, max_bs: int=8192, n_steps: int=3) -> int:  # train/limits.py
        """Find the batch size that memory has room for; the learner stays as it is

        - `mk_dl`: Function from a batch size to a training loader
        - `start`: First size to try
        - `max_bs`: Largest size to try
        - `n_steps`: Batches to train on with each: an optimizer makes its state in the first

        Returns: The largest of `start`, `2*start`, … that fits in memory, and of which there is a batch
        """
    def to_fp32(self) -> Learner:  # train/precision.py
        """Train in float32, as without any of these

        Returns: The learner itself
        """
    def to_bf16(self) -> Learner:  # train/precision.py
        """Train in mixed precision with bfloat16

        Returns: The learner itself
        """
    def to_fp16(self, **kwargs: Any) -> Learner:  # train/precision.py
        """Train in mixed precision with float16

        - `kwargs`: To `torch.amp.GradScaler`

        Returns: The learner itself
        """
    def to_channelslast(self) -> Learner:  # train/training.py
        """Use channels-last memory format from here on

        Returns: The learner itself
        """
    def to_contiguous(self) -> Learner:  # train/training.py
        """Use the ordinary memory format from here on

        Returns: The learner itself
        """
    def summary(self, batch: Any=None) -> ModelSummary:  # measure/hook.py
        """Show the layers, with the shapes that a batch takes, and what trains them

        - `batch`: A batch as a loader gives it; None for the first of the training loader

        Returns: Shows itself in notebooks; `print` it elsewhere
        """
    def _peek(self, device: Any) -> Any: ...  # measure/hook.py
    def show_results(self, ds_idx: Any=1, dl: Any=None, n: int=9, show: Any=None, act: Any=None, vocab: Any=None, **kwargs: Any) -> Any:  # measure/interpret.py
        """Show inputs, predictions and targets of some items; wrong ones are marked

        - `ds_idx`: Which of `dls`, by index or name
        - `dl`: Any other loader
        - `n`: Items, from the first on
        - `show`: Function `show(ax, x, y, pred)` that draws an item, `pred` decoded; None for images or a table
        - `act`: Applied to predictions; None for the loss function's `activation`, if it has one
        - `vocab`: Names of classes; None for those of `dls.vocab` or of the dataset's `classes`
        - `kwargs`: To `Interpretation.show_results`
        """
    def tta(self, ds_idx: Any=1, dl: Any=None, n: int=4, aug: Any=None, beta: float | None=0.25, use_max: bool=False, act: Any=None) -> tuple:  # measure/interpret.py
        """Predict with test-time augmentation

        - `ds_idx`: Which of `dls`, by index or name
        - `dl`: Any other loader
        - `n`: Passes with `aug`, if that is one function
        - `aug`: Function of a batch's inputs that returns new ones; or a list of functions, or of loaders of the same items, a pass for each
        - `beta`: Share of predictions without augmentation; None to return both, `(augmented, plain)`
        - `use_max`: The highest of all predictions, in place of the mean?
        - `act`: Applied to predictions before the mean; None for the loss function's `activation`, if it has one

        Returns: Predictions and targets, as of `get_preds`
        """
    @contextmanager
    def no_bar(self) -> Any:  # see/progress.py
        """Fit and evaluate without `ProgressCallback`, inside a `with` block"""
    def fit_one_cycle(self, n_epoch: int | None=None, lr_max: Any=None, div: Any=25.0, div_final: Any=100000.0, pct_start: Any=0.25, wd: Any=None, moms: Any=None, cbs: Any=None, reset_opt: bool=False, start_epoch: int=0, **kwargs: Any) -> None:  # train/schedule.py
        """Train with a learning rate that rises and falls

        - `n_epoch`: Epochs to train for; None if `max_steps` says when to stop
        - `lr_max`: Highest learning rate; None for the learner's
        - `div`: It starts at `lr_max/div`
        - `div_final`: And ends at `lr_max/div_final`
        - `pct_start`: Share of the training in which it rises
        - `wd`: Weight decay; None for the learner's
        - `moms`: Momentum at the start, the peak and the end; None for the learner's `moms`, if the optimizer knows one (SGD's 0, too)
        - `cbs`: Callbacks for this fit only
        - `reset_opt`: Begin with a new optimizer?
        - `start_epoch`: Number of the first epoch; the schedule begins there, too
        - `kwargs`: `max_steps` and `steps_per_epoch` of `fit`, `total_steps` of `ParamScheduler`
        """
    def fit_flat_cos(self, n_epoch: int | None=None, lr: Any=None, div_final: Any=100000.0, pct_start: Any=0.75, wd: Any=None, cbs: Any=None, reset_opt: bool=False, start_epoch: int=0, **kwargs: Any) -> None:  # train/schedule.py
        """Train with a learning rate that stays, then falls

        - `n_epoch`: Epochs to train for; None if `max_steps` says when to stop
        - `lr`: Learning rate; None for the learner's
        - `div_final`: It ends at `lr/div_final`
        - `pct_start`: Share of the training in which it stays
        - `wd`: Weight decay; None for the learner's
        - `cbs`: Callbacks for this fit only
        - `reset_opt`: Begin with a new optimizer?
        - `start_epoch`: Number of the first epoch; the schedule begins there, too
        - `kwargs`: `max_steps` and `steps_per_epoch` of `fit`, `total_steps` of `ParamScheduler`
        """
    def fit_sgdr(self, n_cycles: int, cycle_len: int, lr_max: Any=None, cycle_mult: int=2, cbs: Any=None, reset_opt: bool=False, wd: Any=None, start_epoch: int=0, **kwargs: Any) -> None:  # train/schedule.py
        """Train with a learning rate that falls again and again

        - `n_cycles`: Number of cycles
        - `cycle_len`: Epochs of the first
        - `lr_max`: Learning rate at the start of each; None for the learner's
        - `cycle_mult`: How much longer each is than the one before; 1 for equal lengths
        - `cbs`: Callbacks for this fit only
        - `reset_opt`: Begin with a new optimizer?
        - `wd`: Weight decay; None for the learner's
        - `start_epoch`: Number of the first epoch; the schedule begins there, too
        - `kwargs`: `max_steps` and `steps_per_epoch` of `fit`, `total_steps` of `ParamScheduler`
        """
    def fit_wsd(self, n_epoch: int | None=None, lr: Any=None, pct_warmup: Any=0.05, pct_decay: Any=0.2, div: Any=25.0, div_final: Any=100000.0, decay: Any=..., wd: Any=None, cbs: Any=None, reset_opt: bool=False, start_epoch: int=0, **kwargs: Any) -> None:  # train/schedule.py
        """Train with a learning rate that rises, stays and falls

        - `n_epoch`: Epochs to train for; None if `max_steps` says when to stop
        - `lr`: Learning rate of the stable part; None for the learner's
        - `pct_warmup`: Share of the training in which it rises, in a line
        - `pct_decay`: Share of the training in which it falls, at the end
        - `div`: It starts at `lr/div`
        - `div_final`: And ends at `lr/div_final`
        - `decay`: Shape of the decay: a function of `(start, end)`
        - `wd`: Weight decay; None for the learner's
        - `cbs`: Callbacks for this fit only
        - `reset_opt`: Begin with a new optimizer?
        - `start_epoch`: Number of the first epoch; the schedule begins there, too
        - `kwargs`: `max_steps` and `steps_per_epoch` of `fit`, `total_steps` of `ParamScheduler`
        """
    def fine_tune(self, epochs: int, base_lr: float | None=None, freeze_epochs: int=1, lr_mult: Any=100, pct_start: Any=0.3, div: Any=5.0, **kwargs: Any) -> None:  # train/schedule.py
        """Train the last group, then all of them

        - `epochs`: Epochs with all groups
        - `base_lr`: Highest learning rate while groups are frozen; half of it, for the last group, afterwards; None for the learner's, or 2e-3 if it names none
        - `freeze_epochs`: Epochs with the last group alone, before
        - `lr_mult`: How much lower the first group's learning rate is than the last one's
        - `pct_start`: Share of the second part in which learning rates rise
        - `div`: They start so much lower
        - `kwargs`: To `fit_one_cycle`, both times; checkpoints of `resume=folder` are below it, in `frozen` and `unfrozen`
        """
    @contextmanager
    def undone(self, device: Any=None) -> Any:  # train/schedule.py
        """Put the learner back, at the end of a `with` block, as it was at its start: weights, optimizer, counters, history, callbacks, random numbers

        - `device`: Where copies of tensors are kept; None for where they are
        """
    def lr_find(self, start_lr: Any=1e-07, end_lr: Any=10, num_it: int=100, stop_div: bool=True, show_plot: bool=True, suggest_funcs: Any=...) -> tuple | None:  # train/schedule.py
        """Find a learning rate; the learner stays as it is

        - `start_lr`: First learning rate, or a list with one for each group
        - `end_lr`: Learning rate at which it would end, likewise
        - `num_it`: Batches
        - `stop_div`: Stop when the loss explodes?
        - `show_plot`: Plot the losses?
        - `suggest_funcs`: One or a list of the functions in `SuggestionMethod`; None for no suggestion

        Returns: Suggestions, named after the functions
        """
    def _place(self) -> Any:  # keep/checkpoint.py
        """Where the fit is: the epoch, what is next in it, and how many of its batches are done"""
    def _capture(self, place: Any, weights: Any=True) -> Any:  # keep/checkpoint.py
        """The whole state at `place`, of tensors as they are, not copied"""
    def _now(self, place: Any) -> Any: ...  # keep/checkpoint.py
    def _states(self, place: Any) -> Any: ...  # keep/checkpoint.py
    def _module_state(self, place: Any) -> Any:  # keep/checkpoint.py
        """What of the model, beside its `state_dict`, decides how it goes on"""
    def _in_sight(self) -> Any:  # keep/checkpoint.py
        """What is to be seen of the epoch and the batch that were last, and hyper-parameters as they will be at the end of the fit"""
    def _put_in_sight(self, going: Any, whole: Any) -> Any:  # keep/checkpoint.py
        """Have modules in the modes that they had, and what was to be seen of the last batch; if `whole`, of the last epoch, too"""
    def _put_after(self, loop: Any) -> Any:  # keep/checkpoint.py
        """Have hyper-parameters as they are after the fit, if it was over: a schedule puts them back then"""
    def _loader_state(self, place: Any) -> Any: ...  # keep/checkpoint.py
    def _warm(self, place: Any=None) -> Any:  # keep/checkpoint.py
        """Of which loaders have the workers that persist been started, before the pass that is to begin again?"""
    def _config(self) -> Any:  # keep/checkpoint.py
        """What a resumed fit must have in common with the one that was saved"""
    def _save_whole(self, folder: Any, place: Any, write: Any, **info: Any) -> Any:  # keep/checkpoint.py
        """Fire the `save` phase around `write(folder, state, info)`"""
    def save_checkpoint(self, folder: Any, **info: Any) -> Checkpoint | None:  # keep/checkpoint.py
        """Save the whole state in `folder`, as a checkpoint named by the number of optimizer steps

        - `folder`: Of the run
        - `info`: Plain data for the manifest

        Returns: None if a callback cancelled it
        """
    def _sole_writer(self, folder: Any) -> Any:  # keep/checkpoint.py
        """A lock on `folder`, unless the fit that is going on has it"""
    def _mark(self, where: Any) -> Any: ...  # keep/checkpoint.py
    def _trained(self) -> Any: ...  # keep/checkpoint.py
    def _take_off(self) -> Any:  # keep/checkpoint.py
        """Find what the fit is to go on from, and have it begin there"""
    def _none_to_validate(self) -> Any: ...  # keep/checkpoint.py
    def _begin(self) -> Any: ...  # keep/checkpoint.py
    def _pass(self) -> Any: ...  # keep/checkpoint.py
    def _check_overrides(self, wants: Any) -> Any:  # keep/checkpoint.py
        """Say at the start what a fit that `wants` to go on can't have"""
    def _why_no_place(self) -> Any:  # keep/checkpoint.py
        """Why there is no going on from where the training is, '' if there is"""
    def _check_pass(self, going: Any) -> Any:  # keep/checkpoint.py
        """Refuse to go on in another place than `going` says"""
    def _find(self, resume: Any, accept: Any) -> Any:  # keep/checkpoint.py
        """The state to go on from, or None"""
    def _check_state(self, going: Any) -> Any: ...  # keep/checkpoint.py
    def _check_rest(self, going: Any) -> Any:  # keep/checkpoint.py
        """Refuse what of the state in `going`, beside weights and optimizer, wouldn't fit this learner"""
    def _check_rng(self, states: Any, where: Any, at: Any) -> Any:  # keep/checkpoint.py
        """Try random `states`, and put back those that there were"""
    def _put_back(self, going: Any) -> Any:  # keep/checkpoint.py
        """Have all state as in `going`, random numbers last"""
    def _put_modules(self, going: Any) -> Any: ...  # keep/checkpoint.py
    def _put_length(self, s: Any) -> Any:  # keep/checkpoint.py
        """Let a fit that a callback ended early be over"""
    def _load_cbs(self, going: Any, undo: Any, last: Any=False) -> Any: ...  # keep/checkpoint.py
    def _load_state(self, going: Any, whole: Any) -> Any:  # keep/checkpoint.py
        """Fire the `load` phase around putting back the state, and what was to be seen"""
    def _arrive(self, going: Any) -> Any:  # keep/checkpoint.py
        """Put the state back for good: the fit goes on from here"""
    def _whole(self) -> Any:  # keep/checkpoint.py
        """Is the fit at a place that it can go on from: between two batches of training, or in the validation of an epoch?"""
    def _can_begin_again(self) -> Any:  # keep/checkpoint.py
        """Could the batch that is being made, if one is, be made once more?"""
    def _can_save(self) -> Any: ...  # keep/checkpoint.py
    def _why_lost(self, kept: Any) -> Any:  # keep/checkpoint.py
        """Why the batch that is being made, if one is, can't be made again; '' if it can"""
    def load_checkpoint(self, folder: Any, accept: Any=True) -> Learner:  # keep/checkpoint.py
        """Have the whole state as it was saved, checked before anything is changed

        - `folder`: Of a run, for its newest checkpoint, or of a checkpoint, or a `Checkpoint`
        - `accept`: What may be different from the checkpoint: see `fit`

        Returns: The learner itself
        """
    def resume(self) -> None:  # keep/checkpoint.py
        """Go on with the fit that was interrupted, from the very batch"""
    def replay_batch(self) -> SimpleNamespace:  # keep/checkpoint.py
        """Run the batch that failed again, with its random numbers and callbacks, and leave everything as it is, the optimizer included

        Returns: `xb`, `yb`, `pred`, `loss`, `grads` by name, and `heard`: by event, the callbacks that hear it
        """
    def report(self, path: Any='report.html', cbs: Any=None, shapes: bool=False, n_preds: int=0, title: str | None=None) -> Path:  # see/report.py
        """Write what is known of the training to an HTML file

        - `path`: Where to; below `learn.path`, unless it is absolute
        - `cbs`: Callbacks of the fit that were there for it alone: its `Tracer`, `CheckpointCallback`, `SaveModelCallback`, `KeepWarnings`
        - `shapes`: Run a batch through the model, for the shapes in its table?
        - `n_preds`: Examples of the validation set to predict and to show
        - `title`: Heading; None for one with the model's class

        Returns: The file; notebooks show a link to it
        """
    @property
    def x(self) -> Any:
        """The element of `xb`; all of it if there are several, None if there is none"""
    @x.setter
    def x(self, v: Any) -> None: ...
    @property
    def y(self) -> Any:
        """The element of `yb`; all of it if there are several, None if there is none"""
    @y.setter
    def y(self, v: Any) -> None: ...
    @property
    def forward_model(self) -> Any:
        """What is called: `model`, unless set to a wrapper of it"""
    @forward_model.setter
    def forward_model(self, v: Any) -> None: ...
    @property
    def lr(self) -> Any:
        """Learning rate of fits that name none"""
    @lr.setter
    def lr(self, v: Any) -> None: ...

def is_oom(e: Any) -> Any: ...

class TrainEvalCallback(Callback):
    """Count iterations; set device and mode of the model"""
    order: int
    run_valid: bool
    _on: Any
    def before_fit(self) -> Any: ...
    def before_evaluate(self) -> Any: ...
    def _place(self) -> Any: ...
    def before_train(self) -> Any: ...
    def before_validate(self) -> Any: ...
    def after_batch(self) -> Any: ...
    def after_epoch(self) -> Any: ...

def default_cb(cls: Any) -> Any:
    """Have every learner begin with a callback of `cls`, unless it is made with `default_cbs=False`"""

def loss_modules(loss_func: Any) -> list:
    """Find the modules that `loss_func` is made of

    - `loss_func`: A loss function

    Returns: It, or what it is a `partial` or a method of, if that is a module
    """

class StepLimit(Callback):
    """End epochs, or the fit, by number of optimizer steps: the loader seems to end there"""
    order: int
    safe_in_evaluate: bool
    state_schema: dict
    max_steps: int | None
    steps_per_epoch: int | None
    first: Any
    begun: Any
    source: Any
    endless: Any
    _pass: Any
    def __init__(self, max_steps: int | None=None, steps_per_epoch: int | None=None) -> None:
        """- `max_steps`: Optimizer steps in this fit
        - `steps_per_epoch`: Optimizer steps an epoch
        """
    def before_fit(self) -> Any: ...
    def before_evaluate(self) -> Any:
        """An evaluation has no steps"""
    def before_train(self) -> Any: ...
    @property
    def done(self) -> Any: ...
    def after_batch(self) -> Any: ...
    def after_train(self) -> Any: ...
    def state_dict(self) -> Any: ...
    def load_state_dict(self, sd: Any) -> Any: ...
    def _is_over(self) -> Any: ...  # loop/learner.py
    def _count(self) -> Any: ...  # loop/learner.py

def check_whole(what: Any, v: Any, low: Any=1) -> Any:
    """Return `v` if it is a whole number from `low` on; `what` names it in the error"""

def innermost(f: Any) -> Any:
    """Take `partial`s off `f`

    - `f`: A function, perhaps in `partial`s
    """

@contextmanager
def replaced(o: Any, k: Any, v: Any) -> Any: ...

class GatherPredsCallback(Callback):
    """Gather predictions, targets, inputs and losses of a validation"""
    run_train: bool
    with_input: bool
    with_loss: bool
    with_preds: bool
    with_targs: bool
    save_preds: Any
    save_targs: Any
    concat_dim: int
    pickle_protocol: int
    _saves: Any
    inputs: list
    preds: list
    targets: list
    losses: list
    _input: Any
    def __init__(self, with_input: bool=False, with_loss: bool=False, save_preds: Any=None, save_targs: Any=None, with_preds: bool=True, with_targs: bool=True, concat_dim: int=0, pickle_protocol: int=2) -> None:
        """- `with_input`: Inputs, too?
        - `with_loss`: The loss of each item, too? Needs an unreduced loss: see `loss_not_reduced`
        - `save_preds`: Folder to write each batch's predictions to, as `0.pt`, `1.pt`, …
        - `save_targs`: Folder to write each batch's targets to, likewise
        - `with_preds`: Keep predictions? Without, there is room for any number if they are saved
        - `with_targs`: Keep targets?
        - `concat_dim`: Dimension along which batches are put together
        - `pickle_protocol`: Of the files that are written
        """
    def all_tensors(self) -> list:
        """Return inputs (if wanted), predictions, targets, losses (if wanted)

        Returns: In the order that `get_preds` returns; None for what was not kept
        """
    def before_validate(self) -> Any: ...  # loop/learner.py
    def before_batch(self) -> Any: ...  # loop/learner.py
    def after_batch(self) -> Any: ...  # loop/learner.py
    def after_validate(self) -> Any: ...  # loop/learner.py
    def _join(self, os: Any) -> Any: ...  # loop/learner.py
    def _save(self, preds: Any, targs: Any) -> Any: ...  # loop/learner.py

def decode_preds(loss_func: Any, preds: Any, targs: Any=None, out: Any=None) -> Any:
    """Decide on predictions: classes, yes or no

    - `loss_func`: The learner's; one that has `decodes` is asked
    - `preds`: Predictions, items first
    - `targs`: Targets, to go by if nothing is known of the loss function
    - `out`: What the model returned, if `preds` are made of it
    """

class FetchPredsCallback(Callback):
    """Fetch predictions in each epoch, after validation"""
    remove_on_fetch: bool
    ds_idx: Any
    dl_: Any
    cbs_: Any
    preds: Any
    how: dict
    def __init__(self, ds_idx: Any=1, dl: Any=None, with_input: bool=False, with_decoded: bool=False, cbs: Any=None, reorder: bool=True) -> None:
        """- `ds_idx`: Which of `dls`, by index or name
        - `dl`: Any other loader
        - `with_input`: Inputs, too?
        - `with_decoded`: Decoded predictions, too?
        - `cbs`: Callbacks to do without meanwhile, besides those with `remove_on_fetch`
        - `reorder`: In the data set's order?
        """
    def after_validate(self) -> Any: ...

def before_batch_cb(f: Any) -> Callback:
    """Make a callback that changes each batch, usable as a decorator

    - `f`: Called as `f(cb, xb, yb)`, returns a new `(xb, yb)`

    Returns: Named after `f`
    """
