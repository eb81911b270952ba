# Written by `python -m tools.stubs` from `callback.py`: methods that other modules patch on are here, too
"""What listens to events: classes, functions, filters, and how they come and go"""

from learnloop.loop.fit_checks import Checks
from learnloop.loop.learner import Learner
from learnloop.loop.learner import TrainEvalCallback
from learnloop.measure.recorder import Recorder
from learnloop.see.progress import ProgressCallback
from typing import Any

__all__ = ['makers', 'on', 'Callback', 'mk_cb', 'as_list', 'InGraph']

makers: list

class on:
    """Hear `event`, at every call or at some: a decorator for methods and functions"""
    held_back: str
    event: str
    every: int | None
    once: int | None
    when: Any
    def __init__(self, event: str, every: int | None=None, once: int | None=None, when: Any=None) -> None:
        """- `event`: Name of an event: `event.after_batch`
        - `every`: Run at calls `every`, `2*every`, …
        - `once`: Run at this call only, the first being 1
        - `when`: Run if `when(learn)` is true
        """
    def __call__(self, f: Any) -> Any: ...
    def _run(self, f: Any, key: Any, cb: Any, /, **kwargs: Any) -> Any:
        """Call `f(cb)` if the filter lets this call pass"""
    def __str__(self) -> Any: ...

class _Reader:
    """Reads what it doesn't have from its `learn`"""
    learn: Learner
    _default: str
    _live: Any
    # The learner's
    batch: Any
    bodies: Any
    bs: Any
    cbs: Any
    count: Any
    counts_steps: Any
    created: Any
    data_pass: Any
    defaults: Any
    device: Any
    dl: Any
    dls: Any
    epoch: Any
    epochs_before: Any
    evaluated: Any
    events: Any
    exception: Any
    failed: Any
    final_record: Any
    forward_model: Any
    fuser: Any
    has_stepped: Any
    iter: Any
    keeper: Any
    keeps: Any
    last_cancels: Any
    logger: Any
    loss: Any
    loss_func: Any
    loss_grad: Any
    loss_module: Any
    loss_parts: Any
    lr: Any
    may_have_parts: Any
    metrics: Any
    mid_batch: Any
    model: Any
    model_dir: Any
    moms: Any
    n_done: Any
    n_epoch: Any
    n_items: Any
    n_iter: Any
    one_turn: Any
    open: Any
    open_turn: Any
    opt: Any
    opt_at_start: Any
    opt_func: Any
    outcome: Any
    outer_phases: Any
    part: Any
    path: Any
    paused: Any
    pct_train: Any
    team: Any
    phases: Any
    place: Any
    pred: Any
    predicting: Any
    resuming: Any
    rows: Any
    saved: Any
    saved_hashes: Any
    smooth_loss: Any
    source: Any
    splitter: Any
    start_place: Any
    table: Any
    team: Any
    trace: Any
    train_bn: Any
    train_iter: Any
    train_pass: Any
    training: Any
    turn_key: Any
    turn_name: Any
    turn_opt: Any
    turn_params: Any
    valid_grad: Any
    version: Any
    was_unsure: Any
    wd: Any
    wd_bn_bias: Any
    x: Any
    xb: Any
    y: Any
    yb: Any
    train_eval: TrainEvalCallback
    checks: Checks
    recorder: Recorder
    progress: ProgressCallback
    def __getattr__(self, k: Any) -> Any: ...
    def __setattr__(self, k: Any, v: Any) -> Any: ...
    def __dir__(self) -> Any: ...

class _Named(_Reader):
    """Has a name that may be set until it is in a learner"""
    _name: Any
    @property
    def name(self) -> Any:
        """Its name: an attribute of the learner while it is there, and the key of its state in checkpoints"""
    @name.setter
    def name(self, v: Any) -> Any: ...
    def __repr__(self) -> Any: ...
    @property
    def calls(self) -> Any:
        """How often filtered methods were called"""
    @property
    def label(self) -> Any:
        """What it is called in messages"""

class _Declares(_Named):
    """What a callback declares of itself, with defaults that hold for any callback"""
    order: float
    run: bool
    run_train: bool
    run_valid: bool
    read_only: bool
    rank_invariant: bool
    fit_only: bool
    safe_in_evaluate: bool
    remove_on_fetch: bool
    writes: bool
    handles_nan: bool
    needs_length: bool
    owns: Any
    in_charge_of: dict
    epoch_columns: Any
    provides: Any
    state_schema: dict
    opt_switched: Any
    wrap_handler: Any
    take_ahead: Any
    use_live_weights: Any
    together: Any

class Callback(_Declares):
    """Listens to the events of a learner: subclass it, or give functions by event: `Callback(after_batch=f)`"""
    foreign: Any
    _copy_of: Any
    _events: dict
    _event_args: Any
    name: str | None
    _calls: dict
    run: bool
    # Events
    def after_create(self) -> Any: ...
    def before_fit(self) -> Any: ...
    def after_cancel_fit(self) -> Any: ...
    def after_fit(self) -> Any: ...
    def cleanup_fit(self) -> Any: ...
    def before_epoch(self) -> Any: ...
    def after_cancel_epoch(self) -> Any: ...
    def after_epoch(self) -> Any: ...
    def cleanup_epoch(self) -> Any: ...
    def before_train(self) -> Any: ...
    def after_cancel_train(self) -> Any: ...
    def after_train(self) -> Any: ...
    def cleanup_train(self) -> Any: ...
    def before_validate(self) -> Any: ...
    def after_cancel_validate(self) -> Any: ...
    def after_validate(self) -> Any: ...
    def cleanup_validate(self) -> Any: ...
    def between_batches(self) -> Any: ...
    def before_fetch(self) -> Any: ...
    def after_fetch(self) -> Any: ...
    def cleanup_fetch(self) -> Any: ...
    def before_batch(self) -> Any: ...
    def after_cancel_batch(self) -> Any: ...
    def after_batch(self) -> Any: ...
    def cleanup_batch(self) -> Any: ...
    def before_turn(self) -> Any: ...
    def after_cancel_turn(self) -> Any: ...
    def after_turn(self) -> Any: ...
    def cleanup_turn(self) -> Any: ...
    def after_pred(self) -> Any: ...
    def after_loss(self) -> Any: ...
    def before_backward(self) -> Any: ...
    def after_cancel_backward(self) -> Any: ...
    def after_backward(self) -> Any: ...
    def cleanup_backward(self) -> Any: ...
    def before_step(self) -> Any: ...
    def after_cancel_step(self) -> Any: ...
    def after_step(self) -> Any: ...
    def cleanup_step(self) -> Any: ...
    def after_opt_step(self) -> Any: ...
    def before_zero_grad(self) -> Any: ...
    def after_cancel_zero_grad(self) -> Any: ...
    def after_zero_grad(self) -> Any: ...
    def cleanup_zero_grad(self) -> Any: ...
    def after_record(self, record: Any) -> Any: ...
    def before_evaluate(self) -> Any: ...
    def after_cancel_evaluate(self) -> Any: ...
    def after_evaluate(self) -> Any: ...
    def cleanup_evaluate(self) -> Any: ...
    def before_sanity(self) -> Any: ...
    def after_cancel_sanity(self) -> Any: ...
    def after_sanity(self) -> Any: ...
    def cleanup_sanity(self) -> Any: ...
    def before_save(self) -> Any: ...
    def after_cancel_save(self) -> Any: ...
    def after_save(self) -> Any: ...
    def cleanup_save(self) -> Any: ...
    def before_load(self) -> Any: ...
    def after_load(self) -> Any: ...
    def cleanup_load(self) -> Any: ...
    def after_exception(self) -> Any: ...
    def __init_subclass__(cls, **kwargs: Any) -> None: ...
    def __init__(self, name: str | None=..., *, after_create: Any=..., before_fit: Any=..., after_cancel_fit: Any=..., after_fit: Any=..., cleanup_fit: Any=..., before_epoch: Any=..., after_cancel_epoch: Any=..., after_epoch: Any=..., cleanup_epoch: Any=..., before_train: Any=..., after_cancel_train: Any=..., after_train: Any=..., cleanup_train: Any=..., before_validate: Any=..., after_cancel_validate: Any=..., after_validate: Any=..., cleanup_validate: Any=..., between_batches: Any=..., before_fetch: Any=..., after_fetch: Any=..., cleanup_fetch: Any=..., before_batch: Any=..., after_cancel_batch: Any=..., after_batch: Any=..., cleanup_batch: Any=..., before_turn: Any=..., after_cancel_turn: Any=..., after_turn: Any=..., cleanup_turn: Any=..., after_pred: Any=..., after_loss: Any=..., before_backward: Any=..., after_cancel_backward: Any=..., after_backward: Any=..., cleanup_backward: Any=..., before_step: Any=..., after_cancel_step: Any=..., after_step: Any=..., cleanup_step: Any=..., after_opt_step: Any=..., before_zero_grad: Any=..., after_cancel_zero_grad: Any=..., after_zero_grad: Any=..., cleanup_zero_grad: Any=..., after_record: Any=..., before_evaluate: Any=..., after_cancel_evaluate: Any=..., after_evaluate: Any=..., cleanup_evaluate: Any=..., before_sanity: Any=..., after_cancel_sanity: Any=..., after_sanity: Any=..., cleanup_sanity: Any=..., before_save: Any=..., after_cancel_save: Any=..., after_save: Any=..., cleanup_save: Any=..., before_load: Any=..., after_load: Any=..., cleanup_load: Any=..., after_exception: Any=..., **events: Any) -> None:
        """- `name`: Its name in the learner and in checkpoints; None: the class's or the first function's
        - `events`: Functions that take the callback, by the name of the event that they hear
        """
    def state_dict(self) -> dict:  # loop/callback.py
        """Return what must be saved to go on later

        Returns: Plain data and tensors
        """
    def load_state_dict(self, sd: dict) -> Any:  # loop/callback.py
        """Take up the state in `sd`

        - `sd`: What `state_dict` returned
        """
    def _functions(self) -> Any:  # loop/callback.py
        """Functions given to the constructor, and methods decorated by `on`, by name"""
    def _heard(self, event: Any) -> Any:  # loop/callback.py
        """Bound methods that hear `event`, each with the `on` that filters it, or None"""
    def handlers(self, event: str) -> list:  # loop/callback.py
        """Find what hears `event`: a `__call__` of its own, as in fastai, or what is named like it or decorated by `on`

        - `event`: Name of an event

        Returns: Bound methods, in the order in which they run
        """
    def call_filters(self, event: str) -> list:  # loop/callback.py
        """Tell which calls of `event` are let pass

        - `event`: Name of an event

        Returns: Strings such as `every 10`, one for each method or function of its own; '' for one that hears every call
        """
    def listens(self, inner: bool, training: bool) -> bool:  # loop/callback.py
        """Whether it hears anything now

        - `inner`: Is the event inside a batch?
        - `training`: Is the batch one of training?
        """
    def _find_methods(self, flow: Any, name: Any) -> Any:  # loop/callback.py
        """What `cb(name)` calls: the handlers of an event, or a method; a misspelt event is an error"""
    def _is_muted(self, flow: Any, name: Any) -> Any: ...  # loop/callback.py
    def __call__(self, name: str, *args: Any, **kwargs: Any) -> Any:  # loop/callback.py
        """Call what hears the event `name`, or its method of that name, as in fastai

        - `name`: Name of an event, or of any method
        """
    def may_hear(self) -> set | None:  # loop/callback.py
        """Collect names in which those of all events that it hears are, so that it isn't asked about others

        Returns: Names, those of other things, too; None for perhaps all events
        """
    def _enters(self, flow: Any) -> Any:  # loop/callback.py
        """Called just before its name is looked at, and it is added to `flow`"""
    def in_graph(self, event: str) -> InGraph | None:  # loop/callback.py
        """Tell what stands for the handler of `event` in a compiled step

        - `event`: Name of an event between the model and the end of the step

        Returns: None if only the handler itself will do
        """

def mk_cb(o: Any) -> Callback:
    """Make a callback of `o`

    - `o`: A callback, a subclass of `Callback`, a function decorated by `@on`, or a callback of another system
    """

def as_list(o: Any) -> list:
    """Make a list of `o`

    - `o`: One thing, a list or other iterable of them, or None

    Returns: Empty for None
    """

class InGraph:
    """What stands for the handler of an event in a compiled step"""
    f: Any
    flags: Any
    hypers: Any
    after: Any
    def __init__(self, f: Any=None, flags: Any=..., hypers: Any=..., after: Any=None) -> None:
        """- `f`: Traced in the handler's place, as `f(h, v)`: `h` are `hypers`, `v` as below; None for nothing
        - `flags`: Function, called at each step: what `f` depends on; another answer is another graph
        - `hypers`: Likewise: numbers that `f` depends on, which may differ from step to step: tensors in `h`, ()
        - `after`: When the handler itself is called: None for never, 'backward' before the step, 'step' after it
        """
