# Written by `python -m tools.stubs` from `learner.py`: methods that other modules patch on are here, too
"""The training loop, on one screen, and the learner that runs it on any model, loader and optimizer"""

from contextlib import contextmanager
from learnloop.data.loaders import DataLoaders
from learnloop.keep.checkpoint import CheckpointCallback
from learnloop.keep.storage import Checkpoint
from learnloop.loop.callback import Callback
from learnloop.loop.fit_checks import Checks
from learnloop.loop.flow import Flow
from learnloop.loop.place import Pass
from learnloop.loop.predict import FetchPredsCallback
from learnloop.loop.predict import GatherPredsCallback
from learnloop.loop.prefetch import Prefetch
from learnloop.loop.steps import StepLimit
from learnloop.measure.hook import ActivationStats
from learnloop.measure.hook import HookCallback
from learnloop.measure.recorder import Recorder
from learnloop.measure.throughput import Throughput
from learnloop.see.fingerprint import Fingerprint
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
from learnloop.train.lr_find import LRFinder
from learnloop.train.mixup import CutMix
from learnloop.train.mixup import MixHandler
from learnloop.train.mixup import MixUp
from learnloop.train.precision import MixedPrecision
from learnloop.train.precision import TruePrecision
from learnloop.train.rnn import ModelResetter
from learnloop.train.rnn import RNNCallback
from learnloop.train.rnn import RNNRegularizer
from learnloop.train.schedule import GradualUnfreezing
from learnloop.train.schedule import ParamScheduler
from learnloop.train.torchsched import TorchScheduler
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

__all__ = ['Learner', 'format_value', 'print_row', 'TrainEvalCallback', 'default_cb', 'keeps_fits', 'before_batch_cb']

class Learner(Flow):
    """Loaders, model, loss and optimizer, and the loop that trains them"""
    defaults: list
    mk_keeper: Any
    dls: DataLoaders
    model: Any
    opt_func: Any
    splitter: Any
    path: Any
    model_dir: Any
    wd: float | None
    wd_bn_bias: bool
    train_bn: bool
    moms: Any
    logger: Any
    metrics: Any
    loss_func: Any
    _forward_model: Any
    final_record: Any
    train_pass: Any
    n_epoch: int
    epoch: int
    train_iter: int
    pct_train: float
    count: Any
    keeper: Any
    start_place: Any
    epochs_before: int
    created: bool
    has_stepped: bool
    last_cancels: dict
    batch: Any
    source: Any
    xb: Any
    yb: Any
    pred: Any
    loss_grad: Any
    loss_parts: dict
    iter: Any
    bs: int
    n_items: Any
    loss: Any
    open_turn: Any
    dl: Any
    _dev: Any
    n_iter: Any
    _n_inp: Any
    _targ: Any
    _device: Any
    data_pass: Any
    training: bool
    saved_hashes: Any
    _opt: Any
    _given_lr: Any
    _holds: Any
    paused: Any
    _seen_hypers: dict
    fuser: Any
    opt_at_start: Any
    failed: Any
    bodies: Any
    cbs: Any
    counts_steps: Any
    evaluated: Any
    events: Any
    exception: Any
    keeps: Any
    mid_batch: Any
    open: Any
    outcome: Any
    outer_phases: Any
    peers: Any
    phases: Any
    rows: Any
    saved: Any
    trace: Any
    valid_grad: Any
    version: Any
    _makes_opt: Any
    _first_opt: Any
    _known_kind: Any
    # Callbacks, while they are there
    step_limit: StepLimit
    train_eval: TrainEvalCallback
    checks: Checks
    fetch_preds: FetchPredsCallback
    gather_preds: GatherPredsCallback
    recorder: Recorder
    checkpoint: CheckpointCallback
    progress: ProgressCallback
    show_graph: ShowGraph
    prefetch: Prefetch
    activation_stats: ActivationStats
    hook: HookCallback
    throughput: Throughput
    gradual_unfreezing: GradualUnfreezing
    param_scheduler: ParamScheduler
    torch_scheduler: TorchScheduler
    lr_finder: LRFinder
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
    tracer: Tracer
    csv_logger: CSVLogger
    json_logger: JSONLogger
    m_lflow: MLflowCallback
    wandb: WandbCallback
    tensor_board: TensorBoardCallback
    keep_warnings: KeepWarnings
    fingerprint: Fingerprint
    def __init__(self, dls: Any, model: nn.Module, loss_func: Any=None, opt_func: Any=..., lr: float | None=None, splitter: Any=..., cbs: Any=None, metrics: Any=None, path: Any='.', model_dir: Any='models', wd: float | None=None, wd_bn_bias: bool=False, train_bn: bool=True, moms: Any=(0.95, 0.85, 0.95), default_cbs: bool=True) -> None:
        """- `dls`: `DataLoaders`, a tuple of loaders (train, valid, …), or any iterable of batches to train on
        - `model`: Called as `model(*xb)`, or `model(**batch)` for a batch that is a dict
        - `loss_func`: Called as `loss_func(pred, *yb)`; None for the training set's own, or the model's
        - `opt_func`: torch optimizer: class, partial, instance, or a dict of instances
        - `lr`: Learning rate of fits that name none; None for `opt_func`'s own, or else 1e-3
        - `splitter`: Function from the model to its parameters, or to lists of them, from the inputs on
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
    def _do_fit(self) -> Any: ...
    def _do_epoch(self) -> Any: ...
    def _do_epoch_train(self) -> Any: ...
    def _do_epoch_validate(self, ds_idx: Any=1, dl: Any=None) -> Any: ...
    def all_batches(self) -> Any:
        """Run `one_batch` for each batch of `dl`"""
    def one_batch(self, i: int, b: Any) -> Any:
        """Take the batch `b` through the `batch` phase

        - `i`: Its number in the pass, from 0
        - `b`: What the loader gave
        """
    def _do_one_batch(self) -> Any: ...
    def _do_turn(self) -> Any: ...
    def train_batch(self) -> Any:  # loop/learner.py
        """What training makes of a batch: one turn; override it for several"""
    def ordinary_turn(self) -> Any:  # loop/learner.py
        """Compute the loss of a turn, then go backward and step"""
    def valid_batch(self) -> Any:  # loop/learner.py
        """What validation makes of a batch: prediction and loss; override it for a loss of another kind"""
    def _between(self) -> Any: ...  # loop/learner.py
    def mk_pass(self, dl: Any) -> Pass:  # loop/learner.py
        """Make a pass through `dl`, or what of it is for this process

        - `dl`: Loader: any iterable of batches

        Returns: A context manager, and an iterator of batches
        """
    def _fetch(self, batches: Any) -> Any: ...  # loop/learner.py
    def drop_batch(self) -> Any:  # loop/learner.py
        """Hold the batch no longer, and nothing that came of it"""
    @property
    def place(self) -> Any:  # loop/learner.py
        """Where the fit is"""
    @property
    def _named(self) -> Any:  # loop/learner.py
        """Does the model take `xb` by name? Asked at each call: a callback may have made something else of it"""
    def _unpack(self, i: Any, b: Any) -> Any:  # loop/learner.py
        """Have `b` as batch `i`, taken apart, on the device"""
    def forward(self) -> Any:  # loop/learner.py
        """Call the model on `xb`"""
    def calc_loss(self) -> Any:  # loop/learner.py
        """Compute the loss of the turn, or of the batch, with events: in a turn it may be computed again"""
    def _do_loss(self) -> Any: ...  # loop/learner.py
    def _own_loss(self) -> Any: ...  # loop/learner.py
    def _check_target(self) -> Any:  # loop/learner.py
        """Refuse a batch without the targets that `targ` names, except for inference"""
    def _refuse_none(self) -> Any: ...  # loop/learner.py
    def take_loss(self, res: Any, name: str | None=None) -> Any:  # loop/learner.py
        """Have `res` as the loss: `loss_grad` with its graph, `loss` a copy of its value, scalars beside it in `loss_parts`

        - `res`: What a loss function returned: see `split_loss`
        - `name`: Of a loss that is one of several in the batch
        """
    @property
    def may_have_parts(self) -> Any:  # loop/learner.py
        """May a loss have parts? Those of torch and of learnloop have none, in a loop that nobody has changed"""
    def turn(self, loss: Any=None, opt: str | None=None, name: str | None=None, counts: bool=True, grads: Any=None, create_graph: bool=False, retain_graph: bool=False, closure: bool | None=None) -> Any:  # loop/learner.py
        """Take a turn in a batch: a loss, its gradients, and a step

        - `loss`: Function without arguments that returns the loss, called again where need be; None for `loss_func`'s
        - `opt`: Name of its optimizer in `learn.opt`; None for all there are
        - `name`: What it is called; None for `opt`
        - `counts`: Is its step one of `count.opt_steps`? Not that of a critic
        - `grads`: Function without arguments that returns the gradients: see `take_grads`; or has added them: `ADDED`
        - `create_graph`: Can gradients be differentiated? For optimizers of second order
        - `retain_graph`: Is the graph needed again, by another turn?
        - `closure`: Give the optimizer's `step` a closure? None for if it can't do without
        """
    def _refuse_turn(self) -> Any: ...  # loop/learner.py
    def scale_loss(self, k: Any) -> Any:  # loop/learner.py
        """Multiply `loss_grad`, and gradients that somebody supplies in its place, in `before_backward`

        - `k`: Number, or scalar tensor
        """
    def take_step(self, opt: str | None=None, counts: bool=True, name: str | None=None) -> Any:  # loop/learner.py
        """Step and drop gradients, as phases, for a turn that went backward before: the last of an accumulation

        - `opt`: Name of its optimizer in `learn.opt`; None for all there are
        - `counts`: Is it one of `count.opt_steps`?
        - `name`: Of the turn; None for `opt`
        """
    def _do_grad_opt(self) -> Any: ...  # loop/learner.py
    def backward(self) -> Any:  # loop/learner.py
        """Add the gradients of the loss, as the phase *backward*"""
    def _backward(self) -> Any: ...  # loop/learner.py
    def _step(self) -> Any: ...  # loop/learner.py
    def _zero_grad(self) -> Any: ...  # loop/learner.py
    def _step_and_count(self, f: Any, *args: Any, **kwargs: Any) -> Any:  # loop/learner.py
        """Run `f`, the body of *step*, then count the step and fire `after_opt_step`

        - `f`: Function: the body of *step*
        - `args`: To `f`
        - `kwargs`: To `f`
        """
    def count_step(self) -> Any:  # loop/learner.py
        """Count a step, and fire `after_opt_step`"""
    def run_together(self, f: Any, *args: Any, **kwargs: Any) -> Any:  # loop/learner.py
        """Run `f`, the body of the innermost phase, one at which processes meet

        - `f`: Function
        - `args`: To `f`
        - `kwargs`: To `f`
        """
    def _pick(self, ds_idx: Any, dl: Any) -> Any:  # loop/learner.py
        """The loader that is meant: None if it is the one for validation, and there is none"""
    def use_dl(self, dl: Any) -> bool:  # loop/learner.py
        """Have `dl` as the loader that is gone through next

        - `dl`: Loader: any iterable of batches, or None

        Returns: Is there one?
        """
    def _where(self) -> Any: ...  # loop/learner.py
    def _doing(self) -> Any: ...  # loop/learner.py
    def _tip(self, e: Any) -> Any: ...  # loop/learner.py
    def __repr__(self) -> Any: ...  # loop/learner.py
    def _repr_markdown_(self) -> Any: ...  # loop/learner.py
    @property
    def device(self) -> Any:  # loop/learner.py
        """Where batches go: the loaders' device; else where the model is, if that is an accelerator; else the machine's best"""
    def to_device(self) -> Any:  # loop/learner.py
        """Have model and loss function where batches go"""
    def fit(self, n_epoch: int | None=None, lr: Any=None, wd: Any=None, cbs: Any=None, reset_opt: bool=False, start_epoch: int=0, max_steps: int | None=None, steps_per_epoch: int | None=None, resume: Any=None, accept: Any=(), keep_failed: bool=False, fuse: Any=None) -> None:  # loop/learner.py
        """Train for `n_epoch` epochs, validating after each

        - `n_epoch`: Epochs to train for; None if `max_steps` says when to stop
        - `lr`: Learning rate, in any form that `set_hypers` takes; None for the learner's
        - `wd`: Weight decay; None for the learner's
        - `cbs`: Callbacks for this fit only
        - `reset_opt`: Begin with a new optimizer?
        - `start_epoch`: Number of the first epoch; those before it are taken as done
        - `max_steps`: Stop after so many optimizer steps, and validate
        - `steps_per_epoch`: Optimizer steps an epoch; None for a whole pass through the loader
        - `resume`: Folder of a run, for its newest checkpoint, or one checkpoint to go on from; `n_epoch` is the total
        - `accept`: What may be different from the checkpoint, by the names that the error gives; True for all
        - `keep_failed`: Copy the state before each batch, to resume or replay it after an error?
        - `fuse`: True, or arguments of `learn.fuse` as a dict: fuse steps from here on; False: no longer
        """
    def _end(self) -> Any: ...  # loop/learner.py
    def _raise_as_all(self, e: Any) -> Any:  # loop/learner.py
        """Raise the error of another process, if `e` comes of it"""
    def _check_fit(self, n_epoch: Any, start_epoch: Any, max_steps: Any, steps_per_epoch: Any) -> Any:  # loop/learner.py
        """Refuse what can't be fitted, before anything runs"""
    def _check_params(self) -> Any: ...  # loop/learner.py
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
    def take_opt(self, sd: dict, where: Any, tip: Any='') -> list:  # keep/saving.py
        """Optimizers and the states to load, checked

        - `sd`: State of the optimizer or the optimizers, as `opt_state` makes it
        - `where`: Where it is from, for messages
        - `tip`: What would help, for the end of a message

        Returns: Pairs of an optimizer and the state that it can load
        """
    def state_of_opt(self, together: bool=True) -> dict | None:  # keep/saving.py
        """Get the state of the optimizer

        - `together`: Put together what is sharded? All processes take part in that

        Returns: As `opt_state` has it; with how to make it, where that changed
        """
    def _opt_notes(self) -> Any:  # keep/saving.py
        """How to make the optimizers again, by name, and what the learner has for them"""
    def put_opt(self, sd: dict, where: Any, tip: Any='') -> list:  # keep/saving.py
        """Have an optimizer of the class and with the groups that `sd` is of, if those changed on the way

        - `sd`: State of the optimizer or the optimizers, as `state_of_opt` makes it
        - `where`: Where it is from, for messages
        - `tip`: What would help, for the end of a message

        Returns: Pairs of an optimizer and the state that it can load
        """
    def _fits_opt(self, sd: Any, where: Any) -> Any: ...  # keep/saving.py
    def _remake_opt(self, states: Any, where: Any) -> Any:  # keep/saving.py
        """Make the optimizers that `states` are of, from their notes"""
    def load(self, file: Any, device: Any=None, with_opt: bool=True, strict: bool=True, weights_only: bool=True, digest: str | None=None) -> Learner:  # keep/saving.py
        """Load weights and optimizer: all or, after an error, nothing

        - `file`: As for `save`
        - `device`: Where the file's tensors are put on the way; None for the CPU
        - `with_opt`: The optimizer, too? An error if the file has none
        - `strict`: Must the names of weights be the same? Shapes must be in any case
        - `weights_only`: Taken as torch's: whatever it says, a file that only code could read is refused
        - `digest`: Hash that the file must have; None, in a fit, for the hash of what the fit wrote

        Returns: The learner itself
        """
    def _check_shared(self, file: Any) -> Any:  # keep/saving.py
        """Refuse a file that isn't the same for all processes"""
    @contextmanager
    def hold_file(self, file: Any, who: str) -> Any:  # keep/saving.py
        """Lock `file` inside a `with` block; raise an error if another fit has it

        - `file`: As for `save`
        - `who`: Who writes it, for the message
        """
    def _load(self, file: Any, with_opt: Any, strict: Any) -> Any: ...  # keep/saving.py
    def export(self, file: Any='export', meta: dict | None=None) -> Path:  # keep/saving.py
        """Write weights and buffers for inference

        - `file`: Name, below `path`, or an absolute path; its suffix is `.safetensors`, written or not
        - `meta`: Anything that JSON can hold

        Returns: Where it is
        """
    def _export(self, st: Any, path: Any, sd: Any, meta: Any) -> Any: ...  # keep/saving.py
    @contextmanager
    def undone(self, device: Any=None, of: Any=None) -> Any:  # keep/undo.py
        """Restore the learner, or `of`, at the end of a `with` block to its state at the start

        - `device`: Where copies of tensors are kept; None for where they are
        - `of`: Modules, optimizers and other objects to restore; None for all of the learner
        """
    @contextmanager
    def _pushed(self, dl: Any, **own: Any) -> Any:  # loop/evaluate.py
        """Give an evaluation on `dl` fields of its own inside a `with` block, and leave all else as it was"""
    def evaluate_on(self, dl: Any, cbs: Any=None, inner: bool=False, muted: Any=(), **own: Any) -> Any:  # loop/evaluate.py
        """Validate on `dl`, and leave things as they were

        - `dl`: Loader: any iterable of batches
        - `cbs`: Callbacks for this evaluation only
        - `inner`: Skip the `evaluate` phase? For callbacks that are in a `validate` of their own
        - `muted`: Callbacks that hear none of its events
        - `own`: Fields of the pass that have other values meanwhile
        """
    def validate(self, ds_idx: Any=1, dl: Any=None, cbs: Any=None) -> list | None:  # loop/evaluate.py
        """Compute loss and metrics

        - `ds_idx`: Which of `dls`, by index or name
        - `dl`: Any other loader
        - `cbs`: Callbacks for this evaluation only

        Returns: Loss, metrics and parts of the loss, as a recorder's `Scores`, which have names; None without one
        """
    def find_dl(self, ds_idx: Any=1, dl: Any=None) -> Any:  # loop/evaluate.py
        """Find the loader that is meant

        - `ds_idx`: Which of `dls`, by index or name
        - `dl`: Any other loader
        """
    def _move_first(self) -> Any:  # loop/learner_opt.py
        """Move the model before an optimizer is made or checked: on some devices, that makes other parameters"""
    def create_opt(self) -> Any:  # loop/learner_opt.py
        """Make `opt` anew, by `opt_func`, from the groups of `splitter`"""
    def _have_modes(self) -> Any:  # loop/learner_opt.py
        """Add `OptModes` where an optimizer has modes"""
    def _note_hypers(self, is_over: Any=False) -> Any:  # loop/learner_opt.py
        """Note `lr` and `wd` of the optimizer, unless a fit changes them: it does so at its end"""
    def _keep_hypers(self, names: Any=()) -> Any:  # loop/learner_opt.py
        """Take `names` of `lr` and `wd`, and those that were edited in the optimizer since they were noted, for later fits"""
    def named_lr(self) -> float | list | None:  # loop/learner_opt.py
        """Return the learning rate that was given, for fits that name none: the optimizer's own, or the learner's

        Returns: A list has one rate for each group; None if none was given
        """
    @property
    def loss_module(self) -> Any:  # loop/learner_opt.py
        """What of the loss function has a state: a module, or a list of them as one; None if there is none"""
    def _loss_params(self) -> Any:  # loop/learner_opt.py
        """What the loss function has to learn, by name"""
    def _unheld_by_loss(self) -> Any:  # loop/learner_opt.py
        """Names of what the loss function has to learn, and no optimizer holds"""
    def _split(self, model: Any) -> Any:  # loop/learner_opt.py
        """What `splitter` gives, with what the loss function has to learn in the last group"""
    def set_hypers(self, **hypers: Any) -> Any:  # loop/learner_opt.py
        """Set hyper-parameters of the optimizer: in a fit, for its rest, unless a schedule sets them; else for later fits

        - `hypers`: By name, short or torch's own: a number, a list with one per group, `slice(first, last)`
        """
    def freeze_to(self, n: int) -> Any:  # loop/learner_opt.py
        """Train the groups from `n` on, and norms everywhere if `train_bn`

        - `n`: Groups before this one are frozen; negative counts from the end
        """
    def freeze(self) -> Any:  # loop/learner_opt.py
        """Train the last group alone"""
    def unfreeze(self) -> Any:  # loop/learner_opt.py
        """Train all groups"""
    def _have_fused(self, fuse: Any) -> Any:  # loop/learner_opt.py
        """Do as `fuse` of `fit` says"""
    def _prepare_opt(self, lr: Any, wd: Any, reset_opt: Any, fuse: Any) -> Any:  # loop/learner_opt.py
        """Make or check the optimizer, and set what the fit asks for"""
    def _check_held(self, note: Any=None) -> Any:  # loop/learner_opt.py
        """Refuse a fit in which something would never train, with `note` on the error"""
    def warn_of_unheld(self) -> Any:  # loop/learner_opt.py
        """Warn of parameters that require gradients by now, and are in no group of the optimizer"""
    @contextmanager
    def loss_not_reduced(self) -> Any:  # loop/predict.py
        """Have `loss_func` return the loss of each item, inside a `with` block"""
    def get_preds(self, ds_idx: Any=1, dl: Any=None, with_input: bool=False, with_decoded: bool=False, with_loss: bool=False, act: Any=None, inner: bool=False, reorder: bool=True, cbs: Any=None, **kwargs: Any) -> tuple:  # loop/predict.py
        """Gather predictions and targets

        - `ds_idx`: Which of `dls`, by index or name
        - `dl`: Any other loader
        - `with_input`: Return inputs, first?
        - `with_decoded`: Return decisions, after the targets? The loss function's `decodes` makes them of predictions, if it has one; else `decode_preds` goes by torch's losses, and by targets that are classes
        - `with_loss`: Return the loss of each item, last? See `loss_not_reduced`
        - `act`: Applied to predictions; None for the loss function's `activation`, if it has one
        - `inner`: Skip the `evaluate` phase: for callbacks that are in a `validate` of their own
        - `reorder`: In the data set's order?
        - `cbs`: Callbacks for this evaluation only
        - `kwargs`: To `GatherPredsCallback`

        Returns: inputs?, predictions, targets, decoded?, losses?
        """
    def predict(self, item: Any, act: Any=None, with_input: bool=False) -> tuple:  # loop/predict.py
        """Predict one `item`, decoded as `get_preds` does

        - `item`: An item as the training set has it; without its target: an input, a tuple of several inputs, or a dict
        - `act`: Applied to the prediction; None for the loss function's `activation`, if it has one
        - `with_input`: Return the input, first?

        Returns: The input, if wanted, the decoded prediction, and the prediction, all of one item
        """
    def _is_taken(self, name: Any, cbs: Any) -> Any:  # loop/predict.py
        """Is `name` that of one of `cbs`, or of something that is here to stay? Callbacks of the evaluation around aren't"""
    def _is_alone(self, cb: Any) -> Any:  # loop/predict.py
        """Does nobody but `cb` hear anything of a batch, but for those that only look when it is over?"""
    def _predict_all(self, cb: Any, batches: Any) -> Any:  # loop/predict.py
        """Take `batches` through the model, without events that nobody hears; are some left for the ordinary way?"""
    def _predict_batch(self, cb: Any, i: Any, n: Any, after: Any) -> Any: ...  # loop/predict.py
    def switch_opt(self, opt_func: Any, lr: Any=None, wd: float | None=None) -> Any:  # loop/switch_opt.py
        """Replace the optimizer by another one, also in the middle of a fit

        - `opt_func`: As for `Learner`: class, partial, function of groups, instance, or a dict of instances
        - `lr`: Learning rate, in any form that `set_hypers` takes; with it, a schedule of `lr` ends here
        - `wd`: Weight decay, likewise; None for the learner's, or the optimizer's own
        """
    def summary(self, batch: Any=None) -> Any:  # measure/hook.py
        """Show the layers, with the shapes that a batch takes, and what trains them; a script prints it

        - `batch`: A batch as a loader gives it; None for the first of the training loader
        """
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
        - `aug`: Function of a batch's inputs, to new ones; or a list of functions, or of loaders of the same items
        - `beta`: Share of predictions without augmentation; None to return both, `(augmented, plain)`
        - `use_max`: The highest of all predictions, in place of the mean?
        - `act`: Applied to predictions before the mean; None for the loss function's `activation`, if it has one

        Returns: Predictions and targets, as of `get_preds`
        """
    def fuse(self, max_shapes: int=4, backend: str | None=None, cache: Any=None, background: bool=False, check_every: int | None=64, **options: Any) -> Learner:  # scale/fuse.py
        """Compile the training steps of this learner's fits

        - `max_shapes`: Shapes of batches that get a graph; others go the ordinary way
        - `backend`: 'inductor', 'cudagraph', or 'aten', slow, without compiler; None for the device's
        - `cache`: Folder for compiled libraries; None for `LEARNLOOP_FUSE_CACHE`, or one in the user's cache
        - `background`: Build in a thread, and train in the ordinary way meanwhile?
        - `check_every`: Make the first step, and number 64, 128, 256, … both ways, and compare; None for none
        - `options`: For `torch._inductor.config`

        Returns: The learner itself
        """
    def unfuse(self) -> Learner:  # scale/fuse.py
        """Train in the ordinary way from here on

        Returns: The learner itself
        """
    def fuse_report(self) -> Any:  # scale/fuse.py
        """Tell which steps were fused, which weren't, and why"""
    def find_batch_size(self, mk_dl: Any, start: int=2, max_bs: int=8192, n_steps: int=3) -> int:  # train/limits.py
        """Find the batch size that memory has room for; the learner stays as it is

        - `mk_dl`: Function from a batch size to a training loader
        - `start`: First size to try
        - `max_bs`: Largest size to try
        - `n_steps`: Batches to train on with each: an optimizer makes its state in the first

        Returns: The largest of `start`, `2*start`, … that fits in memory, and of which there is a batch
        """
    def _try_size(self, dl: Any, bs: Any, n_steps: Any) -> Any:  # train/limits.py
        """Train on batches of `bs`, and undo that; return why it can't be done, None if it can"""
    def to_channelslast(self) -> Learner:  # train/training.py
        """Use channels-last memory format from here on

        Returns: The learner itself
        """
    def to_contiguous(self) -> Learner:  # train/training.py
        """Use the ordinary memory format from here on

        Returns: The learner itself
        """
    def to_ddp(self, per_process: bool=False, timeout: float=600.0, prepare: Any=..., **kwargs: Any) -> Learner:  # scale/distributed.py
        """Train in all processes that were started together, by `DistributedDataParallel`; alone, as ever

        - `per_process`: Is the size of a loader's batch that of one process, as torch has it? Else of the run
        - `timeout`: Seconds that a process waits for others, if the group of processes is made here
        - `prepare`: Called with torch's module whenever one is made, as to register a comm hook
        - `kwargs`: To torch's `DistributedDataParallel`

        Returns: The learner itself
        """
    def to_fsdp(self, units: Any=None, sharded_files: bool=False, per_process: bool=False, timeout: float=600.0, **kwargs: Any) -> Learner:  # scale/distributed.py
        """Train in all processes that were started together, the model sharded over them; alone, as ever

        - `units`: Function from the model to the modules to put together at a time; None for its children
        - `sharded_files`: Does each process write its part of a checkpoint? Else the first writes the whole
        - `per_process`: As for `to_ddp`
        - `timeout`: As for `to_ddp`
        - `kwargs`: To torch's `fully_shard`

        Returns: The learner itself
        """
    @contextmanager
    def no_bar(self) -> Any:  # see/progress.py
        """Fit and evaluate without `ProgressCallback`, inside a `with` block"""
    def to_bf16(self) -> Learner:  # train/precision.py
        """Train in mixed precision with bfloat16

        Returns: The learner itself
        """
    def to_fp16(self, **kwargs: Any) -> Learner:  # train/precision.py
        """Train in mixed precision with float16

        - `kwargs`: To `torch.amp.GradScaler`

        Returns: The learner itself
        """
    def to_fp32(self) -> Learner:  # train/precision.py
        """Train in float32, as without any of these

        Returns: The learner itself
        """
    def save_checkpoint(self, folder: Any, **info: Any) -> Checkpoint | None:  # keep/checkpoint.py
        """Save the whole state in `folder`, as a checkpoint named by the number of optimizer steps

        - `folder`: Of the run
        - `info`: Plain data for the manifest

        Returns: None if a callback cancelled it
        """
    @property
    def smooth_loss(self) -> Any:  # measure/recorder.py
        """Smoothed training loss; None before the first batch, or without a recorder"""
    def log(self, name: str, value: Any) -> Any:  # measure/recorder.py
        """Record `value`: in a batch, for its mean over the epoch, weighted by items; between batches, for the epoch

        - `name`: Of the column; what is logged within a batch has `train_` or `valid_` before it
        - `value`: A number, or a tensor of one element
        """
    def fit_one_cycle(self, n_epoch: int | None=None, lr_max: Any=None, div: Any=25.0, div_final: Any=100000.0, pct_start: Any=0.25, wd: Any=None, moms: Any=None, cbs: Any=None, reset_opt: bool=False, start_epoch: int=0, **kwargs: Any) -> None:  # train/schedule.py
        """Train with a learning rate that rises and falls

        - `n_epoch`: Epochs to train for; None if `max_steps` says when to stop
        - `lr_max`: Highest learning rate; None for the learner's
        - `div`: It starts at `lr_max/div`
        - `div_final`: And ends at `lr_max/div_final`
        - `pct_start`: Share of the training in which it rises
        - `wd`: Weight decay; None for the learner's
        - `moms`: Momentum at the start, the peak and the end; None for the learner's, if the optimizer has any
        - `cbs`: Callbacks for this fit only
        - `reset_opt`: Begin with a new optimizer?
        - `start_epoch`: Number of the first epoch; the schedule begins there, too
        - `kwargs`: To `fit`, such as `resume`, `max_steps` or `accept`; `total_steps` of `ParamScheduler`
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
        - `kwargs`: To `fit`, such as `resume`, `max_steps` or `accept`; `total_steps` of `ParamScheduler`
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
        - `kwargs`: To `fit`, such as `resume`, `max_steps` or `accept`; `total_steps` of `ParamScheduler`
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
        - `kwargs`: To `fit`, such as `resume`, `max_steps` or `accept`; `total_steps` of `ParamScheduler`
        """
    def fine_tune(self, epochs: int, base_lr: float | None=None, freeze_epochs: int=1, lr_mult: Any=100, pct_start: Any=0.3, div: Any=5.0, **kwargs: Any) -> None:  # train/schedule.py
        """Train the last group, then all of them

        - `epochs`: Epochs with all groups
        - `base_lr`: Highest learning rate, halved for the second part; None for the learner's, or else 2e-3
        - `freeze_epochs`: Epochs with the last group alone, before
        - `lr_mult`: How much lower the first group's learning rate is than the last one's
        - `pct_start`: Share of the second part in which learning rates rise
        - `div`: They start so much lower
        - `kwargs`: To `fit_one_cycle`; checkpoints of `resume=folder` are in `frozen` and `unfrozen` there
        """
    def lr_find(self, start_lr: Any=1e-07, end_lr: Any=10, num_it: int=100, stop_div: bool=True, show_plot: bool=True, suggest_funcs: Any=...) -> tuple | None:  # train/lr_find.py
        """Find a learning rate; the learner stays as it is

        - `start_lr`: First learning rate, or a list with one for each group
        - `end_lr`: Learning rate at which it would end, likewise
        - `num_it`: Batches
        - `stop_div`: Stop when the loss explodes?
        - `show_plot`: Plot the losses?
        - `suggest_funcs`: One or a list of the functions in `SuggestionMethod`; None for no suggestion

        Returns: Suggestions, named after the functions
        """
    def load_checkpoint(self, folder: Any, accept: Any=True) -> Learner:  # keep/resume.py
        """Restore the whole state of a checkpoint, checked before anything changes

        - `folder`: Of a run, for its newest checkpoint, or of a checkpoint, or a `Checkpoint`
        - `accept`: What may be different from the checkpoint: see `fit`

        Returns: The learner itself
        """
    def resume(self, accept: Any=()) -> None:  # keep/resume.py
        """Continue the fit that was interrupted, from the very batch

        - `accept`: `'batches'`: take batches of the loader as they come, even if they are not those of before
        """
    def replay_batch(self) -> SimpleNamespace:  # keep/resume.py
        """Run the batch that failed again, with its random numbers and callbacks, and leave everything as it is

        Returns: `xb`, `yb`, `pred`, `loss`, `grads` by name, and `heard`: by event, the callbacks that hear it
        """
    def record_step(self, step: int, folder: Any=None, cbs: Any=None, n_epoch: int | None=None) -> dict:  # see/replay.py
        """Train up to the batch `step`, from the last checkpoint before it, and record what each module does in it

        - `step`: Its number, as `diff_runs` says it: batches of training from 1 on
        - `folder`: Checkpoints of the run; None for training from the start, as this learner would
        - `cbs`: Callbacks of the fit
        - `n_epoch`: Epochs of the fit; None for what the checkpoint says, or as many as it takes

        Returns: Plain data and tensors, for `write_state` and `diff_steps`
        """
    def report(self, path: Any='report.html', cbs: Any=None, shapes: bool=False, n_preds: int=0, title: str | None=None) -> Path:  # see/report.py
        """Write what is known of the training to an HTML file

        - `path`: Where to; below `learn.path`, unless it is absolute
        - `cbs`: Callbacks that were there for the fit alone, such as its `Tracer` or `CheckpointCallback`
        - `shapes`: Run a batch through the model, for the shapes in its table?
        - `n_preds`: Examples of the validation set to predict and to show
        - `title`: Heading; None for one with the model's class

        Returns: The file; notebooks show a link to it
        """
    @property
    def n_done(self) -> Any:
        """Batches of the pass so far"""
    @property
    def resuming(self) -> Any:
        """Is the fit on its way to the place that it goes on from?"""
    @property
    def turn_name(self) -> Any:
        """Whose turn it is; None for the only one of a batch, and between turns"""
    @property
    def turn_key(self) -> Any:
        """Name of the optimizer of the turn in `opt`; None for all"""
    @property
    def turn_opt(self) -> Any:
        """Optimizer of the turn, or of all"""
    @property
    def one_turn(self) -> Any:
        """Is a batch of training the ordinary one, of one turn?"""
    @property
    def turn_params(self) -> Any:
        """Parameters that the optimizer of the turn holds, or all do, frozen ones, too: keys of a dict"""
    @property
    def team(self) -> Any:
        """The processes of the run; None if this is the only one"""
    @property
    def predicting(self) -> Any:
        """Does `get_preds` or `predict` run?"""
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
    def opt(self) -> Any:
        """Torch optimizer, or dict of them; made when first read"""
    @opt.setter
    def opt(self, v: Any) -> None: ...
    @property
    def lr(self) -> Any:
        """Learning rate of fits that name none"""
    @lr.setter
    def lr(self, v: Any) -> None: ...

def format_value(v: Any) -> str:
    """Write a value as in the table of epochs

    - `v`: A number, a string, None

    Returns: 6 decimals for a float, nothing for None
    """

def print_row(row: Any) -> Any:
    """Print a row of the table of epochs

    - `row`: Values of the columns
    """

class TrainEvalCallback(Callback):
    """Count iterations; set device and mode of the model"""
    order: int
    run_valid: bool
    rank_invariant: bool
    _known: Any
    def before_fit(self) -> Any: ...
    def before_evaluate(self) -> Any: ...
    def _prepare(self) -> Any: ...
    def before_train(self) -> Any: ...
    def before_validate(self) -> Any: ...
    def after_batch(self) -> Any: ...
    def after_epoch(self) -> Any: ...

def default_cb(cls: Any) -> Any:
    """Have every learner begin with a callback of `cls`, unless it is made with `default_cbs=False`"""

def keeps_fits(cls: Any) -> Any:
    """Have `cls` keep the fits of every learner that is made from now on"""

def before_batch_cb(f: Any) -> Callback:
    """Make a callback that changes each batch, usable as a decorator

    - `f`: Called as `f(cb, xb, yb)`, returns a new `(xb, yb)`

    Returns: Named after `f`
    """
