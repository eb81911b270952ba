# Written by `python -m tools.stubs`, with methods that other modules patch on
from typing import Any, Literal
import contextlib
import learnloop.app.synth
import learnloop.checkpoint
import learnloop.checkpoint.checkpoint
import learnloop.checkpoint.recover
import learnloop.checkpoint.rewind
import learnloop.checkpoint.storage
import learnloop.data.loaders
import learnloop.loop
import learnloop.loop.callback
import learnloop.loop.denominator
import learnloop.loop.engines
import learnloop.loop.fit_checks
import learnloop.loop.flow
import learnloop.loop.learner
import learnloop.loop.place
import learnloop.loop.predict
import learnloop.loop.prefetch
import learnloop.loop.steps
import learnloop.loop.team
import learnloop.measure
import learnloop.measure.hook
import learnloop.measure.recorder
import learnloop.measure.throughput
import learnloop.scale
import learnloop.see
import learnloop.see.fingerprint
import learnloop.see.flight
import learnloop.see.log
import learnloop.see.progress
import learnloop.see.report
import learnloop.see.show
import learnloop.see.tensorboard
import learnloop.see.trace
import learnloop.train
import learnloop.train.averaging
import learnloop.train.clip
import learnloop.train.heal
import learnloop.train.limits
import learnloop.train.lr_find
import learnloop.train.mixup
import learnloop.train.precision
import learnloop.train.rnn
import learnloop.train.schedule
import learnloop.train.torchsched
import learnloop.train.tracker
import learnloop.train.training
import learnloop.train.validate
import pathlib
import torch
import torch._inductor
import torch.amp
import torch.nn.modules.module
import types
MYPY: Literal[False]  # mypy treats it as True
__all__ = ['Learner', 'one_turn', 'use_dl', 'format_value', 'print_row', 'move_model', 'TrainEvalCallback', 'default_cb', 'default_engine', 'end_run']
if MYPY:
    class _LearnerMethods:
        if MYPY:
            def show_results(self, ds_idx: Any = 1, dl: Any = None, n: int = 9, show: Any = None, act: Any = None, vocab: Any = None, **kwargs: Any) -> Any:
                """Show inputs, predictions and targets of the first items; mark wrong predictions

                Parameters:
                    ds_idx: Loader in `dls`, by index or name
                    dl: Another loader to use instead
                    n: Number of items, from the first
                    show: Function `show(ax, x, y, pred)` that draws an item, with `pred` decoded; None for images or a table
                    act: Function applied to predictions; None for the loss function's `activation`, if it has one
                    vocab: Names of classes; None for `dls.vocab` or the dataset's `classes`
                    kwargs: Arguments of `Interpretation.show_results`"""
            def tta(self, ds_idx: Any = 1, dl: Any = None, n: int = 4, aug: Any = None, beta: float | None = 0.25, use_max: bool = False, act: Any = None) -> tuple:
                """Predict with test-time augmentation

                Parameters:
                    ds_idx: Loader in `dls`, by index or name
                    dl: Another loader to use instead
                    n: Number of passes, if `aug` is a single function
                    aug: Function that augments a batch's inputs; or a list of functions, or of loaders of the same items
                    beta: Weight of predictions without augmentation; None to return both, `(augmented, plain)`
                    use_max: Take the maximum of all predictions instead of the mean?
                    act: Function applied before averaging; None for the loss function's `activation`, if it has one
                Returns: Predictions and targets, as from `get_preds`"""
            def fine_tune(self, epochs: int, base_lr: float | None = None, freeze_epochs: int = 1, lr_mult: Any = 100, pct_start: Any = 0.3, div: Any = 5.0, **kwargs: Any) -> None:
                """Train the last group, then all of them

                Parameters:
                    epochs: Epochs with all groups
                    base_lr: Highest learning rate, halved for the second part; None for the learner's, or else 2e-3
                    freeze_epochs: Earlier epochs in which only the last group trains
                    lr_mult: Factor by which the first group's learning rate is lower than the last one's
                    pct_start: Fraction of the second part in which learning rates rise
                    div: Learning rates start at `base_lr/2/div`
                    kwargs: Arguments of `fit_one_cycle`; checkpoints of `resume=folder` are in `frozen` and `unfrozen`"""
            def fit_flat_cos(self, n_epoch: int | None = None, lr: Any = None, div_final: Any = 100000.0, pct_start: Any = 0.75, wd: Any = None, cbs: Any = None, reset_opt: bool = False, start_epoch: int = 0, **kwargs: Any) -> None:
                """Train with a learning rate that is constant, then falls

                Parameters:
                    n_epoch: Epochs to train for; None if `max_steps` is given
                    lr: Learning rate; None for the learner's
                    div_final: The learning rate ends at `lr/div_final`
                    pct_start: Fraction of the training in which the learning rate is constant
                    wd: Weight decay; None for the learner's
                    cbs: Callbacks for this fit only
                    reset_opt: Create a new optimizer first?
                    start_epoch: Number of the first epoch; the schedule also begins there
                    kwargs: Arguments of `fit`, such as `resume`, `max_steps` or `accept`; `total_steps` of `ParamScheduler`"""
            def fit_one_cycle(self, n_epoch: int | None = None, lr_max: Any = None, div: Any = 25.0, div_final: Any = 100000.0, pct_start: Any = 0.25, wd: Any = None, moms: Any = None, cbs: Any = None, reset_opt: bool = False, start_epoch: int = 0, **kwargs: Any) -> None:
                """Train with a learning rate that rises and falls

                Parameters:
                    n_epoch: Epochs to train for; None if `max_steps` is given
                    lr_max: Highest learning rate; None for the learner's
                    div: The learning rate starts at `lr_max/div`
                    div_final: The learning rate ends at `lr_max/div_final`
                    pct_start: Fraction of the training in which the learning rate rises
                    wd: Weight decay; None for the learner's
                    moms: Momentum at the start, the peak and the end; None for the learner's, if the optimizer has momentum
                    cbs: Callbacks for this fit only
                    reset_opt: Create a new optimizer first?
                    start_epoch: Number of the first epoch; the schedule also begins there
                    kwargs: Arguments of `fit`, such as `resume`, `max_steps` or `accept`; `total_steps` of `ParamScheduler`"""
            def fit_sgdr(self, n_cycles: int, cycle_len: int, lr_max: Any = None, cycle_mult: int = 2, cbs: Any = None, reset_opt: bool = False, wd: Any = None, start_epoch: int = 0, **kwargs: Any) -> None:
                """Train with a learning rate that falls in repeated cycles

                Parameters:
                    n_cycles: Number of cycles
                    cycle_len: Epochs of the first cycle
                    lr_max: Learning rate at the start of each cycle; None for the learner's
                    cycle_mult: Ratio of the lengths of consecutive cycles; 1 for equal lengths
                    cbs: Callbacks for this fit only
                    reset_opt: Create a new optimizer first?
                    wd: Weight decay; None for the learner's
                    start_epoch: Number of the first epoch; the schedule also begins there
                    kwargs: Arguments of `fit`, such as `resume`, `max_steps` or `accept`; `total_steps` of `ParamScheduler`"""
            def fit_wsd(self, n_epoch: int | None = None, lr: Any = None, pct_warmup: Any = 0.05, pct_decay: Any = 0.2, div: Any = 25.0, div_final: Any = 100000.0, decay: Any = ..., wd: Any = None, cbs: Any = None, reset_opt: bool = False, start_epoch: int = 0, **kwargs: Any) -> None:
                """Train with a learning rate that rises, is constant, and falls

                Parameters:
                    n_epoch: Epochs to train for; None if `max_steps` is given
                    lr: Learning rate of the stable part; None for the learner's
                    pct_warmup: Fraction of the training in which the learning rate rises, linearly
                    pct_decay: Fraction of the training, at the end, in which it falls
                    div: The learning rate starts at `lr/div`
                    div_final: And ends at `lr/div_final`
                    decay: Shape of the decay: a function of `(start, end)`
                    wd: Weight decay; None for the learner's
                    cbs: Callbacks for this fit only
                    reset_opt: Create a new optimizer first?
                    start_epoch: Number of the first epoch; the schedule also begins there
                    kwargs: Arguments of `fit`, such as `resume`, `max_steps` or `accept`; `total_steps` of `ParamScheduler`"""
            def lr_find(self, start_lr: Any = 1e-07, end_lr: Any = 10, num_it: int = 100, stop_div: bool = True, show_plot: bool = True, suggest_funcs: Any = ...) -> tuple | None:
                """Find a learning rate, and leave the learner unchanged

                Parameters:
                    start_lr: First learning rate, or a list with one for each group
                    end_lr: Last learning rate, in the same form
                    num_it: Number of batches
                    stop_div: Stop when the loss explodes?
                    show_plot: Plot the losses?
                    suggest_funcs: One or a list of the functions in `SuggestionMethod`; None for no suggestion
                Returns: Suggestions, named after the functions"""
            def find_batch_size(self, mk_dl: Any, start: int = 2, max_bs: int = 8192, n_steps: int = 3) -> int:
                """Find the largest batch size that fits in memory, and leave the learner unchanged

                Parameters:
                    mk_dl: Function from a batch size to a training loader
                    start: First size to try
                    max_bs: Largest size to try
                    n_steps: Training batches for each size: an optimizer creates its state in the first
                Returns: The largest of `start`, `2*start`, … that fits in memory and for which there is a batch"""
            def to_channelslast(self) -> learnloop.loop.learner.Learner:
                """Use channels-last memory format from here on

                Returns: The learner itself"""
            def to_contiguous(self) -> learnloop.loop.learner.Learner:
                """Use the ordinary memory format from here on

                Returns: The learner itself"""
            def export(self, file: Any = 'export', meta: dict | None = None) -> pathlib.Path:
                """Write the model's weights and buffers, for inference

                Parameters:
                    file: Name below `path`, or an absolute path; the suffix `.safetensors` is added
                    meta: Your own JSON data, such as class names
                Returns: Path of the file"""
            def replay_batch(self) -> types.SimpleNamespace:
                """Run the failed batch again, with its random numbers and callbacks, without changing the learner

                Returns: `xb`, `yb`, `pred`, `loss`, `grads` by name, and `callbacks`: their names by event"""
            def to_bf16(self) -> learnloop.loop.learner.Learner:
                """Train in mixed precision with bfloat16

                Returns: The learner itself"""
            def to_fp16(self, **kwargs: Any) -> learnloop.loop.learner.Learner:
                """Train in mixed precision with float16

                Parameters:
                    kwargs: Arguments of `torch.amp.GradScaler`
                Returns: The learner itself"""
            def to_fp32(self) -> learnloop.loop.learner.Learner:
                """Train in float32 again

                Returns: The learner itself"""
            def to_ddp(self, per_process: bool = False, timeout: float = 600.0, prepare: Any = ..., **kwargs: Any) -> learnloop.loop.learner.Learner:
                """Train in all processes that were started together, by `DistributedDataParallel`; a single process trains as before

                Parameters:
                    per_process: Is a loader's batch size per process, as in torch? Else it is for all processes
                    timeout: Seconds to wait for other processes, if the process group is created here
                    prepare: Function of torch's wrapper, called when a wrapper is created, for example to register a comm hook
                    kwargs: Arguments of torch's `DistributedDataParallel`
                Returns: The learner itself"""
            def to_fsdp(self, units: Any = None, sharded_files: bool = False, per_process: bool = False, timeout: float = 600.0, **kwargs: Any) -> learnloop.loop.learner.Learner:
                """Train in all processes that were started together, with a sharded model; a single process trains as before

                Parameters:
                    units: Function that returns the modules of the model to gather as units; None for its children
                    sharded_files: Does each process write its part of a checkpoint? Else the first one writes all
                    per_process: As for `to_ddp`
                    timeout: As for `to_ddp`
                    kwargs: Arguments of torch's `fully_shard`
                Returns: The learner itself"""
            def fuse(self, max_shapes: int = 4, backend: str | None = None, cache: Any = None, background: bool = False, check_every: int | None = 64, **options: Any) -> learnloop.loop.learner.Learner:
                """Compile the training steps of this learner's fits

                Parameters:
                    max_shapes: Number of batch shapes that get a graph; other batches run uncompiled
                    backend: 'inductor', 'cudagraph', or 'aten' (slow, needs no compiler); None for the device's
                    cache: Folder for compiled libraries; None for `LEARNLOOP_FUSE_CACHE`, or one in the user's cache
                    background: Compile in a thread, while training continues uncompiled?
                    check_every: Compare the first step, and steps 64, 128, 256, …, with uncompiled ones; None for never
                    options: For `torch._inductor.config`
                Returns: The learner itself"""
            def fuse_report(self) -> Any:
                """Report which steps were fused, which weren't, and why"""
            def report(self, path: Any = 'report.html', cbs: Any = None, shapes: bool = False, n_preds: int = 0, title: str | None = None) -> pathlib.Path:
                """Write an HTML report of the training

                Parameters:
                    path: Output file, relative to `learn.path` unless it is absolute
                    cbs: Callbacks that were passed to `fit` only, such as its `Tracer` or `CheckpointCallback`
                    shapes: Run a batch through the model, to show output shapes?
                    n_preds: Number of validation items to predict and show
                    title: Heading; None: one with the model's class
                Returns: Path of the file, which notebooks show as a link"""
            def blame(self, n: int = 9, step: int | None = None, folder: Any = 'flight') -> learnloop.see.flight.Blame:
                """Find the rows with the largest losses that a `FlightRecorder` recorded; call it in all processes

                Parameters:
                    n: Maximum number of rows
                    step: Only this step (training batches counted from 1); None: all kept steps
                    folder: Relative to `path`, as in `FlightRecorder`
                Returns: Displayed as a table; `rows` has the indices, and `show_results` shows the items"""
            def train_batch(self) -> Any:
                """Train on a batch, by one turn; override it to take several"""
            def valid_batch(self) -> Any:
                """Compute prediction and loss of a validation batch; override it for another kind of loss"""
            def forward(self) -> Any:
                """Call the model on `xb`"""
            def calc_loss(self) -> Any:
                """Compute the loss of the turn, or of the batch, firing events; within a turn it may run again"""
            def set_loss(self, res: Any, name: str | None = None) -> Any:
                """Set the loss from `res`: `loss_grad` with its graph, `loss` a detached copy, and `loss_parts`

                Parameters:
                    res: Return value of a loss function: see `split_loss`
                    name: Name of this loss, if the batch has several"""
            def turn(self, loss: Any = None, opt: str | None = None, name: str | None = None, counts: bool = True, grads: Any = None, create_graph: bool = False, retain_graph: bool = False, closure: bool | None = None, denominator: Any = None) -> Any:
                """Take a turn within a batch: compute a loss and its gradients, and step

                Parameters:
                    loss: Function without arguments that returns the loss; an optimizer may call it again. None for `loss_func`
                    opt: Name of its optimizer in `learn.opt`; None for all optimizers
                    name: Name of the turn; None for `opt`
                    counts: Count its step in `count.opt_steps`? Usually False for a critic
                    grads: Function that returns the gradients, as a list or a dict by name
                    create_graph: Can gradients be differentiated? Needed by second-order optimizers
                    retain_graph: Keep the graph for another turn?
                    closure: Give the optimizer's `step` a closure? None for only if it needs one
                    denominator: What the loss is averaged over: a number, or a function without arguments; None for items"""
            def scale_loss(self, k: Any) -> Any:
                """Multiply `loss_grad`, or the gradients that replace it, by `k`; call it in `before_backward`

                Parameters:
                    k: Number, or scalar tensor"""
            def backward(self) -> Any:
                """Run the *backward* phase, which adds the gradients of the loss"""
            def fit(self, n_epoch: int | None = None, lr: Any = None, wd: Any = None, cbs: Any = None, reset_opt: bool = False, start_epoch: int = 0, max_steps: int | None = None, steps_per_epoch: int | None = None, resume: Any = None, accept: Any = (), keep_failed: bool = False, fuse: Any = None, replay: Any = None) -> None:
                """Train for `n_epoch` epochs, validating after each

                Parameters:
                    n_epoch: Epochs to train for; may be None if `max_steps` is given
                    lr: Learning rate: a number, a list with one per group, or a slice; None for the learner's
                    wd: Weight decay; None for the learner's
                    cbs: Callbacks for this fit only
                    reset_opt: Create a new optimizer first?
                    start_epoch: Number of the first epoch; earlier ones count as done
                    max_steps: Stop after this many optimizer steps, and validate
                    steps_per_epoch: Optimizer steps per epoch; None for a whole pass through the loader
                    resume: Checkpoint to resume, or folder of a run for its newest one; `n_epoch` is then the total
                    accept: Settings that may differ from the checkpoint, by the names that the error gives; True for all
                    keep_failed: Copy the state before each batch, to resume or replay it after an error?
                    fuse: True, or a dict of arguments of `learn.fuse`: compile steps from now on; False: stop compiling
                    replay: Folder of another run: repeat its `learn.tell` commands at the same places"""
            def no_logging(self) -> contextlib.AbstractContextManager[Any]:
                """Print nothing inside a `with` block"""
            def create_opt(self) -> Any:
                """Create a new `opt` with `opt_func`, from the groups of `splitter`"""
            def set_hypers(self, **hypers: Any) -> Any:
                """Set hyper-parameters: within a fit for the rest of it, unless a schedule sets them; outside for later fits

                Parameters:
                    hypers: By name, short or torch's own: a number, a list with one per group, or `slice(first, last)`"""
            def freeze_to(self, n: int) -> Any:
                """Train the groups from `n` on, and all norms if `train_bn`

                Parameters:
                    n: Groups before this one are frozen; negative counts from the end"""
            def freeze(self) -> Any:
                """Train the last group only"""
            def unfreeze(self) -> Any:
                """Train all groups"""
            def validate(self, ds_idx: Any = 1, dl: Any = None, cbs: Any = None) -> list | None:
                """Compute loss and metrics

                Parameters:
                    ds_idx: Loader in `dls`, by index or name
                    dl: Any other loader
                    cbs: Callbacks for this evaluation only
                Returns: Loss, metrics and loss parts, as the recorder's named `Scores`; None without a recorder"""
            def loss_not_reduced(self) -> contextlib.AbstractContextManager[Any]:
                """Make `loss_func` return the loss of each item inside a `with` block"""
            def get_preds(self, ds_idx: Any = 1, dl: Any = None, with_input: bool = False, with_decoded: bool = False, with_loss: bool = False, act: Any = None, inner: bool = False, reorder: bool = True, cbs: Any = None, **kwargs: Any) -> tuple:
                """Gather predictions and targets

                Parameters:
                    ds_idx: Loader in `dls`, by index or name
                    dl: Any other loader
                    with_input: Return inputs, first?
                    with_decoded: Return decisions, after the targets? Made by the loss function's `decodes`, if it has one; else by `decode_preds`, which knows torch's losses, and targets that are classes
                    with_loss: Return the loss of each item, last? See `loss_not_reduced`
                    act: Applied to predictions; None for the loss function's `activation`, if it has one
                    inner: Skip the `evaluate` phase? For callbacks that already opened a `validate` phase
                    reorder: Return them in the data set's order?
                    cbs: Callbacks for this evaluation only
                    kwargs: Arguments of `GatherPredsCallback`
                Returns: Inputs if requested, predictions, targets, then decisions and losses if requested"""
            def predict(self, item: Any, act: Any = None, with_input: bool = False) -> tuple:
                """Predict one `item`, decoded as `get_preds` does

                Parameters:
                    item: An item of the training set; or without its target: an input, a tuple of several inputs, or a dict
                    act: Applied to the prediction; None for the loss function's `activation`, if it has one
                    with_input: Return the input, first?
                Returns: The input, if requested, the decoded prediction, and the prediction, all of one item"""
            def log(self, name: str, value: Any) -> Any:
                """Record `value`: within a batch, for the mean over the epoch; between batches, as the epoch's value

                Parameters:
                    name: Name of the column; within a batch, it gets the prefix `train_` or `valid_`
                    value: A number, or a tensor of one element"""
            def save(self, file: Any, with_opt: bool = True) -> pathlib.Path | None:
                """Save weights and optimizer

                Parameters:
                    file: Name below `path/model_dir`, an absolute path, or a binary file
                    with_opt: Also save the optimizer?
                Returns: Path of the file; None if a callback cancelled it"""
            def state_of_opt(self, together: bool = True) -> dict | None:
                """Return the state of the optimizer

                Parameters:
                    together: Join sharded tensors? All processes take part in that
                Returns: From `opt_state`; if the optimizer was switched, with a recipe to make it"""
            def load(self, file: Any, device: Any = None, with_opt: bool = True, strict: bool = True, weights_only: bool = True, digest: str | None = None) -> learnloop.loop.learner.Learner:
                """Load weights and optimizer; after an error, nothing has changed

                Parameters:
                    file: As for `save`
                    device: Device to which the file is read first; None for the CPU
                    with_opt: Also load the optimizer? An error if the file has none
                    strict: Must the names of weights be equal? Shapes always must
                    weights_only: Accepted as in torch.load, but without effect: reading never runs code
                    digest: Expected hash of the file; None: in a fit, the hash of the file that the fit wrote
                Returns: The learner itself"""
            def hold_file(self, file: Any, who: str) -> contextlib.AbstractContextManager[Any]:
                """Lock `file` inside a `with` block; raise an error if another fit has it

                Parameters:
                    file: As for `save`
                    who: The writer, for the message"""
            def save_checkpoint(self, folder: Any, **info: Any) -> learnloop.checkpoint.storage.Checkpoint | None:
                """Save the whole state in `folder`, as a checkpoint named by the number of optimizer steps

                Parameters:
                    folder: Folder of the run
                    info: Plain data for the manifest
                Returns: None if a callback cancelled it"""
            def switch_opt(self, opt_func: Any, lr: Any = None, wd: float | None = None) -> Any:
                """Replace the optimizer, even during a fit

                Parameters:
                    opt_func: As for `Learner`: class, partial, function of groups, instance, or a dict of instances
                    lr: Learning rate: a number, a list or a slice; if given, a schedule of `lr` ends here
                    wd: Weight decay, likewise; None for the learner's, or the optimizer's default"""
            def summary(self, batch: Any = None) -> Any:
                """Show the layers with their output shapes, the loss, optimizers and callbacks; print it in a script

                Parameters:
                    batch: A batch in the form of the loader's; None for the training loader's first batch"""
            def load_checkpoint(self, folder: Any, accept: Any = True) -> learnloop.loop.learner.Learner:
                """Restore the whole state of a checkpoint, checked before anything changes

                Parameters:
                    folder: Folder of a run (for its newest checkpoint) or of a checkpoint, or a `Checkpoint`
                    accept: Settings that may differ from the checkpoint: see `fit`
                Returns: The learner itself"""
            def resume(self, accept: Any = ()) -> None:
                """Continue the interrupted fit, from the exact batch

                Parameters:
                    accept: `'batches'`: accept other batches than before"""
            def undone(self, device: Any = None, of: Any = None) -> contextlib.AbstractContextManager[Any]:
                """Restore the learner, or `of`, at the end of a `with` block to its state at the start

                Parameters:
                    device: Device for the copies of tensors; None for the device of each tensor
                    of: Modules, optimizers and other objects to restore; None for the whole learner"""
            def rewind(self, to: Any = None, batches: int | None = None, **changes: Any) -> learnloop.loop.learner.Learner:
                """Go back to an earlier place of the fit, with `changes`

                Parameters:
                    to: A `Place`, or a checkpoint; None to go back by `batches`
                    batches: Number of batches to go back from the current place
                    changes: Hyper-parameters, as for `set_hypers`; `skip_batches`, `skip_rows`
                Returns: The learner itself, if no fit is running: `resume` continues from there"""
            def tell(self, command: str = '', end: bool = False, **hypers: Any) -> None:
                """Send a command to the running fit, from another cell or thread; the fit acts between two batches, in all processes

                Parameters:
                    command: `pause`, `go`, `validate`, `save`, `rewind 20` or `stop`; '' to set hyper-parameters
                    end: End the schedules of these hyper-parameters? Otherwise their remaining values are scaled
                    hypers: Numbers by name, such as `lr=1e-4`"""
            def no_bar(self) -> contextlib.AbstractContextManager[Any]:
                """Fit and evaluate without `ProgressCallback` inside a `with` block"""
            def show_training_loop(self, verbose: bool = False) -> learnloop.see.show.TrainingLoop:
                """Show which callbacks run in which events

                Parameters:
                    verbose: Also show events that no callback has?
                Returns: Displayed by notebooks; `print` it elsewhere"""
            def declare(self, *rows: Any) -> learnloop.loop.flow.Flow:
                """Add phases and events for callbacks

                Parameters:
                    rows: A `Phase`, an `Event`, or the name of a single event
                Returns: The flow itself"""
            def inside(self, phase: str) -> bool:
                """Whether `phase` is open

                Parameters:
                    phase: Name of a declared phase"""
            def __call__(self, event: Any, **kwargs: Any) -> Any:
                """Fire `event`

                Parameters:
                    event: Name of an event, or a sequence of them
                    kwargs: Arguments of the handlers"""
            def with_events(self, phase: str, f: Any, *args: Any, **kwargs: Any) -> Any:
                """Run `f(*args, **kwargs)` as the body of `phase`, with its events around it

                Parameters:
                    phase: Name of a declared phase
                    f: The body of the phase: a function
                    args: To `f`
                    kwargs: To `f`"""
            def add_cb(self, cb: Any) -> learnloop.loop.flow.Flow:
                """Add a callback; its name becomes an attribute of the learner

                Parameters:
                    cb: Anything that `mk_cb` accepts
                Returns: The flow itself"""
            def remove_cb(self, cb: Any) -> learnloop.loop.flow.Flow:
                """Remove a callback, if the learner has it

                Parameters:
                    cb: A callback, or a class: then all callbacks of that class
                Returns: The flow itself"""
            def add_cbs(self, cbs: Any) -> learnloop.loop.flow.Flow:
                """Add callbacks, all or none

                Parameters:
                    cbs: One callback, or a list
                Returns: The flow itself"""
            def remove_cbs(self, cbs: Any) -> learnloop.loop.flow.Flow:
                """Remove callbacks

                Parameters:
                    cbs: One, or a list of callbacks and classes
                Returns: The flow itself"""
            def added_cbs(self, cbs: Any) -> contextlib.AbstractContextManager[Any]:
                """Add `cbs` inside a `with` block

                Parameters:
                    cbs: One callback, or a list"""
            def removed_cbs(self, cbs: Any) -> contextlib.AbstractContextManager[Any]:
                """Remove `cbs` inside a `with` block

                Parameters:
                    cbs: One, or a list of callbacks and classes; missing ones are ignored"""
            def ordered_cbs(self, event: str) -> list:
                """List the callbacks that handle `event`, muted ones included

                Parameters:
                    event: Name of an event
                Returns: Callbacks, in the order in which they run"""
        else:
            from learnloop.measure.interpret import show_results as show_results
            from learnloop.measure.interpret import tta as tta
            from learnloop.train.schedule import fine_tune as fine_tune
            from learnloop.train.schedule import fit_flat_cos as fit_flat_cos
            from learnloop.train.schedule import fit_one_cycle as fit_one_cycle
            from learnloop.train.schedule import fit_sgdr as fit_sgdr
            from learnloop.train.schedule import fit_wsd as fit_wsd
            from learnloop.train.lr_find import lr_find as lr_find
            from learnloop.train.limits import find_batch_size as find_batch_size
            from learnloop.train.training import to_channelslast as to_channelslast
            from learnloop.train.training import to_contiguous as to_contiguous
            from learnloop.checkpoint.export import export as export
            from learnloop.checkpoint.failed_batch import replay_batch as replay_batch
            from learnloop.train.precision import to_bf16 as to_bf16
            from learnloop.train.precision import to_fp16 as to_fp16
            from learnloop.train.precision import to_fp32 as to_fp32
            from learnloop.scale.distributed import to_ddp as to_ddp
            from learnloop.scale.distributed import to_fsdp as to_fsdp
            from learnloop.scale.fuse import fuse as fuse
            from learnloop.scale.fuse import fuse_report as fuse_report
            from learnloop.see.report import report as report
            from learnloop.see.flight import blame as blame
            from learnloop.loop.learner import train_batch as train_batch
            from learnloop.loop.learner import valid_batch as valid_batch
            from learnloop.loop.learner import forward as forward
            from learnloop.loop.learner import calc_loss as calc_loss
            from learnloop.loop.learner import set_loss as set_loss
            from learnloop.loop.learner import turn as turn
            from learnloop.loop.learner import scale_loss as scale_loss
            from learnloop.loop.learner import backward as backward
            from learnloop.loop.learner import fit as fit
            from learnloop.loop.learner import no_logging as no_logging
            from learnloop.loop.learner_opt import create_opt as create_opt
            from learnloop.loop.learner_opt import set_hypers as set_hypers
            from learnloop.loop.learner_opt import freeze_to as freeze_to
            from learnloop.loop.learner_opt import freeze as freeze
            from learnloop.loop.learner_opt import unfreeze as unfreeze
            from learnloop.loop.evaluate import validate as validate
            from learnloop.loop.predict import loss_not_reduced as loss_not_reduced
            from learnloop.loop.predict import get_preds as get_preds
            from learnloop.loop.predict import predict as predict
            from learnloop.measure.recorder import log as log
            from learnloop.checkpoint.saving import save as save
            from learnloop.checkpoint.saving import state_of_opt as state_of_opt
            from learnloop.checkpoint.saving import load as load
            from learnloop.checkpoint.saving import hold_file as hold_file
            from learnloop.checkpoint.checkpoint import save_checkpoint as save_checkpoint
            from learnloop.loop.switch_opt import switch_opt as switch_opt
            from learnloop.measure.hook import summary as summary
            from learnloop.checkpoint.resume import load_checkpoint as load_checkpoint
            from learnloop.checkpoint.resume import resume as resume
            from learnloop.checkpoint.undo import undone as undone
            from learnloop.checkpoint.rewind import rewind as rewind
            from learnloop.checkpoint.steer import tell as tell
            from learnloop.see.progress import no_bar as no_bar
            from learnloop.see.show import show_training_loop as show_training_loop
            from learnloop.loop.flow import declare as declare
            from learnloop.loop.flow import inside as inside
            from learnloop.loop.flow import __call__ as __call__
            from learnloop.loop.flow import with_events as with_events
            from learnloop.loop.callback import add_cb as add_cb
            from learnloop.loop.callback import remove_cb as remove_cb
            from learnloop.loop.callback import add_cbs as add_cbs
            from learnloop.loop.callback import remove_cbs as remove_cbs
            from learnloop.loop.callback import added_cbs as added_cbs
            from learnloop.loop.callback import removed_cbs as removed_cbs
            from learnloop.loop.callback import ordered_cbs as ordered_cbs
else:
    class _LearnerMethods:
        from learnloop.measure.interpret import show_results as show_results
        from learnloop.measure.interpret import tta as tta
        from learnloop.train.schedule import fine_tune as fine_tune
        from learnloop.train.schedule import fit_flat_cos as fit_flat_cos
        from learnloop.train.schedule import fit_one_cycle as fit_one_cycle
        from learnloop.train.schedule import fit_sgdr as fit_sgdr
        from learnloop.train.schedule import fit_wsd as fit_wsd
        from learnloop.train.lr_find import lr_find as lr_find
        from learnloop.train.limits import find_batch_size as find_batch_size
        from learnloop.train.training import to_channelslast as to_channelslast
        from learnloop.train.training import to_contiguous as to_contiguous
        from learnloop.checkpoint.export import export as export
        from learnloop.checkpoint.failed_batch import replay_batch as replay_batch
        from learnloop.train.precision import to_bf16 as to_bf16
        from learnloop.train.precision import to_fp16 as to_fp16
        from learnloop.train.precision import to_fp32 as to_fp32
        from learnloop.scale.distributed import to_ddp as to_ddp
        from learnloop.scale.distributed import to_fsdp as to_fsdp
        from learnloop.scale.fuse import fuse as fuse
        from learnloop.scale.fuse import fuse_report as fuse_report
        from learnloop.see.report import report as report
        from learnloop.see.flight import blame as blame
        from learnloop.loop.learner import train_batch as train_batch
        from learnloop.loop.learner import valid_batch as valid_batch
        from learnloop.loop.learner import forward as forward
        from learnloop.loop.learner import calc_loss as calc_loss
        from learnloop.loop.learner import set_loss as set_loss
        from learnloop.loop.learner import turn as turn
        from learnloop.loop.learner import scale_loss as scale_loss
        from learnloop.loop.learner import backward as backward
        from learnloop.loop.learner import fit as fit
        from learnloop.loop.learner import no_logging as no_logging
        from learnloop.loop.learner_opt import create_opt as create_opt
        from learnloop.loop.learner_opt import set_hypers as set_hypers
        from learnloop.loop.learner_opt import freeze_to as freeze_to
        from learnloop.loop.learner_opt import freeze as freeze
        from learnloop.loop.learner_opt import unfreeze as unfreeze
        from learnloop.loop.evaluate import validate as validate
        from learnloop.loop.predict import loss_not_reduced as loss_not_reduced
        from learnloop.loop.predict import get_preds as get_preds
        from learnloop.loop.predict import predict as predict
        from learnloop.measure.recorder import log as log
        from learnloop.checkpoint.saving import save as save
        from learnloop.checkpoint.saving import state_of_opt as state_of_opt
        from learnloop.checkpoint.saving import load as load
        from learnloop.checkpoint.saving import hold_file as hold_file
        from learnloop.checkpoint.checkpoint import save_checkpoint as save_checkpoint
        from learnloop.loop.switch_opt import switch_opt as switch_opt
        from learnloop.measure.hook import summary as summary
        from learnloop.checkpoint.resume import load_checkpoint as load_checkpoint
        from learnloop.checkpoint.resume import resume as resume
        from learnloop.checkpoint.undo import undone as undone
        from learnloop.checkpoint.rewind import rewind as rewind
        from learnloop.checkpoint.steer import tell as tell
        from learnloop.see.progress import no_bar as no_bar
        from learnloop.see.show import show_training_loop as show_training_loop
        from learnloop.loop.flow import declare as declare
        from learnloop.loop.flow import inside as inside
        from learnloop.loop.flow import __call__ as __call__
        from learnloop.loop.flow import with_events as with_events
        from learnloop.loop.callback import add_cb as add_cb
        from learnloop.loop.callback import remove_cb as remove_cb
        from learnloop.loop.callback import add_cbs as add_cbs
        from learnloop.loop.callback import remove_cbs as remove_cbs
        from learnloop.loop.callback import added_cbs as added_cbs
        from learnloop.loop.callback import removed_cbs as removed_cbs
        from learnloop.loop.callback import ordered_cbs as ordered_cbs
class Learner(_LearnerMethods, learnloop.loop.flow.Flow):
    """Loaders, model, loss and optimizer, and the loop that trains them"""
    fit_state: learnloop.loop.place.FitState
    metrics: list
    final_record: Any
    count: Any
    engines: learnloop.loop.engines.EngineStack
    epoch: int
    dls: learnloop.data.loaders.DataLoaders
    model: learnloop.app.synth.RegModel
    opt_func: Any
    lr: Any
    splitter: Any
    path: Any
    model_dir: str
    wd_bn_bias: bool
    train_bn: bool
    moms: Any
    logger: learnloop.see.log.Logger
    loss_func: Any
    loss_denominator: learnloop.loop.denominator.LossDenominator
    n_epoch: int
    train_iter: int
    pct_train: float
    last_cancels: dict
    pred: Any
    loss_grad: Any
    loss: Any
    loss_parts: dict
    open_turn: Any
    data_pass: Any
    paused: Any
    failed: Any
    table: Any
    n_done: Any
    turn_name: Any
    denominator: Any
    valid_grad: bool
    keeper: Any
    resuming: Any
    x: Any
    y: Any
    forward_model: Any
    opt: Any
    wd: Any
    saved: Any
    open: list
    outcome: dict
    exception: Any
    phases: dict
    events: list
    evaluation: learnloop.loop.flow.Evaluation
    team: learnloop.loop.team.SingleProcess
    dl: Any
    n_iter: Any
    iter: int
    batch: Any
    source: Any
    xb: Any
    yb: Any
    bs: int
    n_items: int
    train_eval: learnloop.loop.learner.TrainEvalCallback
    checks: learnloop.loop.fit_checks.Checks
    recorder: learnloop.measure.recorder.Recorder
    progress: learnloop.see.progress.ProgressCallback
    step_limit: learnloop.loop.steps.StepLimit
    fetch_preds: learnloop.loop.predict.FetchPredsCallback
    gather_preds: learnloop.loop.predict.GatherPredsCallback
    checkpoint: learnloop.checkpoint.checkpoint.CheckpointCallback
    snapshots: learnloop.checkpoint.rewind.Snapshots
    show_graph: learnloop.see.progress.ShowGraph
    prefetch: learnloop.loop.prefetch.Prefetch
    activation_stats: learnloop.measure.hook.ActivationStats
    hook: learnloop.measure.hook.HookCallback
    throughput: learnloop.measure.throughput.Throughput
    gradual_unfreezing: learnloop.train.schedule.GradualUnfreezing
    param_scheduler: learnloop.train.schedule.ParamScheduler
    scheduler: learnloop.train.schedule.Scheduler
    torch_scheduler: learnloop.train.torchsched.TorchScheduler
    ema: learnloop.train.averaging.EMA
    swa: learnloop.train.averaging.SWA
    weight_averaging: learnloop.train.averaging.WeightAveraging
    lr_finder: learnloop.train.lr_find.LRFinder
    check_finite: learnloop.train.tracker.CheckFinite
    early_stopping: learnloop.train.tracker.EarlyStoppingCallback
    reduce_lr_on_plateau: learnloop.train.tracker.ReduceLROnPlateau
    save_model: learnloop.train.tracker.SaveModelCallback
    spike_detection: learnloop.train.tracker.SpikeDetection
    terminate_on_na_n: learnloop.train.tracker.TerminateOnNaNCallback
    time_limit: learnloop.train.tracker.TimeLimit
    tracker: learnloop.train.tracker.TrackerCallback
    validate_every: learnloop.train.validate.ValidateEvery
    detect_anomaly: learnloop.train.limits.DetectAnomaly
    deterministic: learnloop.train.limits.Deterministic
    fast_dev_run: learnloop.train.limits.FastDevRun
    limit_batches: learnloop.train.limits.LimitBatches
    overfit_batches: learnloop.train.limits.OverfitBatches
    reload_loaders: learnloop.train.limits.ReloadLoaders
    sanity_check: learnloop.train.limits.SanityCheck
    short_epoch: learnloop.train.limits.ShortEpochCallback
    gradient_clip: learnloop.train.clip.GradientClip
    bn_freeze: learnloop.train.training.BnFreeze
    channels_last: learnloop.train.training.ChannelsLast
    gradient_accumulation: learnloop.train.training.GradientAccumulation
    gradient_checkpointing: learnloop.train.training.GradientCheckpointing
    mc_dropout: learnloop.train.training.MCDropoutCallback
    micro_batch: learnloop.train.training.MicroBatch
    move_modules_to_device: learnloop.train.training.MoveModulesToDeviceCallback
    sam: learnloop.train.training.SAM
    spike_recovery: learnloop.checkpoint.recover.SpikeRecovery
    heal_memory: learnloop.train.heal.HealMemory
    mixed_precision: learnloop.train.precision.MixedPrecision
    true_precision: learnloop.train.precision.TruePrecision
    cut_mix: learnloop.train.mixup.CutMix
    mix_handler: learnloop.train.mixup.MixHandler
    mix_up: learnloop.train.mixup.MixUp
    model_resetter: learnloop.train.rnn.ModelResetter
    rnn: learnloop.train.rnn.RNNCallback
    rnn_regularizer: learnloop.train.rnn.RNNRegularizer
    tracer: learnloop.see.trace.Tracer
    csv_logger: learnloop.see.log.CSVLogger
    json_logger: learnloop.see.log.JSONLogger
    m_lflow: learnloop.see.log.MLflowCallback
    wandb: learnloop.see.log.WandbCallback
    tensor_board: learnloop.see.tensorboard.TensorBoardCallback
    keep_warnings: learnloop.see.report.KeepWarnings
    fingerprint: learnloop.see.fingerprint.Fingerprint
    flight_recorder: learnloop.see.flight.FlightRecorder
    def __init__(self, dls: Any, model: torch.nn.modules.module.Module, loss_func: Any = None, opt_func: Any = ..., lr: float | None = None, splitter: Any = ..., cbs: Any = None, metrics: Any = None, path: Any = '.', model_dir: Any = 'models', wd: float | None = None, wd_bn_bias: bool = False, train_bn: bool = True, moms: Any = (0.95, 0.85, 0.95), default_cbs: bool = True, denominator: Any = None) -> None:
        ...
    def all_batches(self) -> Any:
        """Run `one_batch` for each batch of `dl`"""
    def one_batch(self, i: int, b: Any) -> Any:
        """Run the `batch` phase for the batch `b`

        Parameters:
            i: Its index in the pass, from 0
            b: What the loader returned"""
    place: Any
    rows: list | None
    device: Any
    @staticmethod
    def to_detach(b: Any, cpu: bool = True) -> Any:
        """Detach all tensors in `b` from their graphs

        Parameters:
            b: Tensors, nested in any way
            cpu: Move them to the CPU, which has more memory?"""
    smooth_loss: Any
class TrainEvalCallback(learnloop.loop.callback.Callback):
    """Count iterations; set the device and mode of the model"""
    order: float
    run_valid: bool
    rank_invariant: bool
    def before_fit(self) -> Any:
        ...
    def before_evaluate(self) -> Any:
        ...
    def before_train(self) -> Any:
        ...
    def before_validate(self) -> Any:
        ...
    def after_batch(self) -> Any:
        ...
    def after_epoch(self) -> Any:
        ...
def one_turn(learn: Any) -> bool:
    """Whether a training batch is one turn, as without overrides

    Parameters:
        learn: The learner"""
def use_dl(learn: Any, dl: Any) -> bool:
    """Make `dl` the loader of the next pass

    Parameters:
        learn: The learner
        dl: Loader: any iterable of batches, or None
    Returns: Is there one?"""
def format_value(v: Any) -> str:
    """Format a value for the epoch table

    Parameters:
        v: A number, a string, None
    Returns: 6 decimals for a float, '' for None"""
def print_row(row: Any) -> Any:
    """Print a row of the epoch table

    Parameters:
        row: Values of the columns"""
def move_model(learn: Any) -> Any:
    """Move the model and the loss function to `learn.device`

    Parameters:
        learn: The learner"""
def default_cb(cls: Any) -> Any:
    """Add a callback of `cls` to every new learner, unless it is made with `default_cbs=False`

    Parameters:
        cls: A subclass of `Callback`"""
def default_engine(cls: Any) -> Any:
    """Give every new learner an engine of `cls`

    Parameters:
        cls: A subclass of `Engine`, made with the learner"""
def end_run(learn: Any) -> Any:
    """Drop the batch; at the end of a fit or an evaluation outside a fit, release the loader and unmute callbacks

    Parameters:
        learn: The learner"""
def backward(*args: Any) -> Any: ...
def calc_loss(*args: Any) -> Any: ...
def fit(*args: Any) -> Any: ...
def forward(*args: Any) -> Any: ...
def no_logging(*args: Any) -> Any: ...
def scale_loss(*args: Any) -> Any: ...
def set_loss(*args: Any) -> Any: ...
def train_batch(*args: Any) -> Any: ...
def turn(*args: Any) -> Any: ...
def valid_batch(*args: Any) -> Any: ...
