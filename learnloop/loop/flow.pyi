# Written by `python -m tools.stubs` from `flow.py`: methods that other modules patch on are here, too
"""Phases, their events, and the exceptions that skip them: one table, one runner"""

from contextlib import contextmanager
from learnloop.see.show import TrainingLoop
from typing import Any

__all__ = ['PHASES', 'CancelFitException', 'CancelSanityException', 'CancelEpochException', 'CancelTrainException', 'CancelEvaluateException', 'CancelValidException', 'CancelBatchException', 'CancelTurnException', 'CancelBackwardException', 'CancelStepException', 'CancelZeroGradException', 'CancelSaveException', 'event', 'CancelException', 'UncaughtCancelError', 'Phase', 'Event', 'Events', 'near_miss', 'Flow', 'in_phase']

PHASES: tuple

class CancelFitException(CancelException):
    """Skip the rest of the `fit` phase"""

class CancelSanityException(CancelException):
    """Skip the rest of the `sanity` phase"""

class CancelEpochException(CancelException):
    """Skip the rest of the `epoch` phase"""

class CancelTrainException(CancelException):
    """Skip the rest of the `train` phase"""

class CancelEvaluateException(CancelException):
    """Skip the rest of the `evaluate` phase"""

class CancelValidException(CancelException):
    """Skip the rest of the `validate` phase"""

class CancelBatchException(CancelException):
    """Skip the rest of the `batch` phase"""

class CancelTurnException(CancelException):
    """Skip the rest of the `turn` phase"""

class CancelBackwardException(CancelException):
    """Skip the rest of the `backward` phase"""

class CancelStepException(CancelException):
    """Skip the rest of the `step` phase"""

class CancelZeroGradException(CancelException):
    """Skip the rest of the `zero_grad` phase"""

class CancelSaveException(CancelException):
    """Skip the rest of the `save` phase"""

event: Events

class CancelException(BaseException):
    """Root of the exceptions that skip the rest of a phase; raised by callbacks, caught by `Flow.with_events` alone"""
    callback: Any
    event: Any
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """- `args`: As of any exception
        - `kwargs`: Attributes, for whoever catches it
        """

class UncaughtCancelError(RuntimeError):
    """A `CancelException` was raised that none of the open phases takes"""

class Phase:
    """A row of the phase table: a stretch of the loop with events around it and an exception that skips the rest of it"""
    name: str
    inside: Any
    does: str
    like: str | None
    per_batch: bool | None
    cancel: Any
    catches: Any
    before: str
    after: str
    cleanup: str
    after_cancel: Any
    events: list
    def __init__(self, name: str, inside: str='', does: str='', cancel: Any=True, like: str | None=None, per_batch: bool | None=None) -> None:
        """- `name`: In snake case: `gan_step` has the events `before_gan_step`, …, `cleanup_gan_step`
        - `inside`: Names of the phases that it may run in, separated by spaces; '' for none, or any
        - `does`: Its body in a line of code, for `show_training_loop`; '' if the body is other phases
        - `cancel`: Its exception: a `CancelException` class, a name for one, None, True for the usual name
        - `like`: Phase whose events stand in for callbacks that know only those: `fit` for `evaluate`
        - `per_batch`: Does it recur with each batch, and is muted by `run_train`? None: by `inside`
        """
    def __repr__(self) -> Any: ...

class Event:
    """A row of the phase table that is a single event"""
    name: str
    inside: Any
    does: str
    events: list
    def __init__(self, name: str, inside: str='', does: str='') -> None:
        """- `name`: Any name, such as `verify_batch`
        - `inside`: Names of the phases in which it fires, separated by spaces
        - `does`: What has just been done, in a line of code, for `show_training_loop`
        """
    def __repr__(self) -> Any: ...

class Events:
    """The names of events as attributes"""
    after_create: str
    before_fit: str
    after_cancel_fit: str
    after_fit: str
    cleanup_fit: str
    before_epoch: str
    after_cancel_epoch: str
    after_epoch: str
    cleanup_epoch: str
    before_train: str
    after_cancel_train: str
    after_train: str
    cleanup_train: str
    before_validate: str
    after_cancel_validate: str
    after_validate: str
    cleanup_validate: str
    between_batches: str
    before_fetch: str
    after_fetch: str
    cleanup_fetch: str
    before_batch: str
    after_cancel_batch: str
    after_batch: str
    cleanup_batch: str
    before_turn: str
    after_cancel_turn: str
    after_turn: str
    cleanup_turn: str
    after_pred: str
    after_loss: str
    before_backward: str
    after_cancel_backward: str
    after_backward: str
    cleanup_backward: str
    before_step: str
    after_cancel_step: str
    after_step: str
    cleanup_step: str
    after_opt_step: str
    before_zero_grad: str
    after_cancel_zero_grad: str
    after_zero_grad: str
    cleanup_zero_grad: str
    after_record: str
    before_evaluate: str
    after_cancel_evaluate: str
    after_evaluate: str
    cleanup_evaluate: str
    before_sanity: str
    after_cancel_sanity: str
    after_sanity: str
    cleanup_sanity: str
    before_save: str
    after_cancel_save: str
    after_save: str
    cleanup_save: str
    before_load: str
    after_load: str
    cleanup_load: str
    after_exception: str
    def __init__(self, names: Any) -> None:
        """- `names`: Names of events"""
    def __iter__(self) -> Any: ...
    def __contains__(self, k: Any) -> Any: ...

def near_miss(name: str) -> str | None:
    """Find the built-in event that `name` seems to misspell

    - `name`: Name of a method

    Returns: The built-in event that it looks like a slip of, or None
    """

class Flow:
    """Phases, the callbacks that hear their events, and the runner of both"""
    table: Any
    keeps: Any
    bodies: dict
    _cbs: Any
    open: list
    outcome: dict
    exception: Any
    created: bool
    phases: dict
    events: list
    _inner: set
    _recurring: set
    _inside: dict
    _bodies: dict
    _muted: Any
    team: Any
    last_cancels: dict
    _cleanups: list
    version: int
    _handlers: Any
    _valid_handlers: Any
    _train_handlers: Any
    _ears: Any
    _last_trace: Any
    def __init_subclass__(cls, phases: Any=(), **kwargs: Any) -> None: ...
    def __init__(self) -> None: ...
    @property
    def training(self) -> Any:
        """True while training, False in validation and outside: which of `run_train` and `run_valid` counts"""
    @training.setter
    def training(self, v: Any) -> Any: ...
    def _where(self) -> Any: ...
    def _doing(self) -> Any: ...
    def _tip(self, e: Any) -> Any:
        """- `e`: and what helps"""
    def _changed(self, muted: Any=False) -> Any:
        """Forget who hears what: callbacks came or went; or were `muted`, and lists made for that before are there"""
    def _recurs(self, o: Any) -> Any:  # loop/flow.py
        """Does the row `o` recur with each batch? It says so, or lies in one that does, or, a phase, beside those that do"""
    def declare(self, *rows: Any) -> Flow:  # loop/flow.py
        """Add phases and events that callbacks may hear

        - `rows`: A `Phase`, an `Event`, or the name of a single event

        Returns: The flow itself
        """
    def _within(self, name: Any) -> Any:  # loop/flow.py
        """Names of the phases that may run inside `name`, at any depth"""
    def _check_rows(self, rows: Any) -> Any: ...  # loop/flow.py
    def _phase(self, name: Any) -> Any:  # loop/flow.py
        """The declared phase `name`"""
    def inside(self, phase: str) -> bool:  # loop/flow.py
        """Whether `phase` is open

        - `phase`: Name of a declared phase
        """
    def per_batch(self, name: str) -> bool:  # loop/flow.py
        """Whether it recurs with each batch

        - `name`: Of a declared phase or event
        """
    @property
    def mid_batch(self) -> Any:  # loop/flow.py
        """Is a phase open that recurs with each batch?"""
    def recurs(self, name: str) -> bool:  # loop/flow.py
        """Whether `name` recurs with each batch: `run_train` and `run_valid` mute such events

        - `name`: Of a phase, or of an event
        """
    def _can_hear(self, who: Any, event: Any) -> Any: ...  # loop/flow.py
    def _ordered(self, event: Any=None) -> Any: ...  # loop/flow.py
    def _handlers_of(self, who: Any, event: Any) -> Any:  # loop/flow.py
        """Bound methods of `who` for `event`, those of the phase that it stands in for included"""
    def _wrapped(self, who: Any, event: Any, fs: Any) -> Any:  # loop/flow.py
        """Let callbacks with a `wrap_handler`, such as a tracer, have a hand in the methods of others"""
    def _listens(self, who: Any, event: Any, training: Any) -> Any: ...  # loop/flow.py
    def _collect(self, event: Any, training: Any) -> Any:  # loop/flow.py
        """The methods to call at `event`, in order"""
    def listeners(self, event: str) -> list:  # loop/flow.py
        """List who hears `event` in the present mode

        - `event`: Name of an event

        Returns: Callbacks, and the flow itself, in their order
        """
    def fire_for(self, event: str, cbs: Any) -> Any:  # loop/flow.py
        """Fire `event` for `cbs` alone

        - `event`: Name of an event
        - `cbs`: Callbacks, some of those that hear it
        """
    def apart(self) -> Flow:  # loop/flow.py
        """Make a copy with attributes of its own, whose events nobody hears

        Returns: A copy, with `heard`: bound methods by event
        """
    def _hear(self, fs: Any, event: Any, kwargs: Any=None) -> Any: ...  # loop/flow.py
    def _blame(self, e: Any, f: Any, event: Any) -> Any:  # loop/flow.py
        """Say on `e`, which `f` raised in `event`, where it came from"""
    def __call__(self, event: Any, **kwargs: Any) -> Any:  # loop/flow.py
        """Fire `event`

        - `event`: Name of an event, or a sequence of them
        - `kwargs`: Handed on to those who hear it
        """
    def begin_again(self, phase: str) -> Any:  # loop/flow.py
        """Fire `before_x` of `phase` once more, while that goes on: clean-ups are planned already

        - `phase`: Name of a phase that is open
        """
    def with_events(self, phase: str='', f: Any=None, *args: Any, **kwargs: Any) -> Any:  # loop/flow.py
        """Run `f(*args, **kwargs)` as the body of `phase`, its events around it

        - `phase`: Name of a declared phase
        - `f`: Its body, a function
        - `args`: To `f`
        - `kwargs`: To `f`
        """
    def _tell(self, p: Any, e: Any) -> Any:  # loop/flow.py
        """Tell other processes of the cancel `e`, which the phase `p` takes; raise, without `p` return, what acts instead"""
    def _in_flight(self, e: Any) -> Any:  # loop/flow.py
        """Is `e` an error, and what goes on: `e`, or what acts in its place, of another process for instance"""
    def _say_where(self, e: Any) -> Any: ...  # loop/flow.py
    def take_bodies(self, **bodies: Any) -> Any:  # loop/flow.py
        """Have bodies of phases of this flow handed to methods, as `bodies` of the class says for all

        - `bodies`: Phase -> name of the method that its body is handed to
        """
    def _unwind(self, depth: Any, err: Any=None, who: Any=None) -> Any:  # loop/flow.py
        """Run clean-ups of phases deeper than `depth`, or those of `who`; return what is in flight; without `err`, raise it"""
    def _merge(self, err: Any, e: Any, ending: Any) -> Any:  # loop/flow.py
        """What is in flight when `e` is raised on top of `err`, and whether the innermost phase is ending"""
    def _announce(self, e: Any) -> Any:  # loop/flow.py
        """Fire `after_exception` for an error that is new"""
    def taker(self, e: CancelException) -> int | None:  # loop/flow.py
        """Find the open phase that takes `e`, the innermost

        - `e`: One that was raised

        Returns: Its index in `open`
        """
    def _uncaught(self, e: Any) -> Any: ...  # loop/flow.py
    def add_cb(self, cb: Any) -> Flow:  # loop/callback.py
        """Add a callback; also as an attribute under its name

        - `cb`: What `mk_cb` takes

        Returns: The flow itself
        """
    def remove_cb(self, cb: Any) -> Flow:  # loop/callback.py
        """Remove a callback, if it is there

        - `cb`: A callback, or a class: all of it

        Returns: The flow itself
        """
    def _drop_cb(self, cb: Any) -> Any: ...  # loop/callback.py
    def _have_cbs(self, was: Any) -> Any:  # loop/callback.py
        """Add what came into the list of callbacks since it `was` as given, and remove what left it; all or nothing"""
    def add_cbs(self, cbs: Any) -> Flow:  # loop/callback.py
        """Add callbacks, all or none

        - `cbs`: One callback, or a list

        Returns: The flow itself
        """
    def remove_cbs(self, cbs: Any) -> Flow:  # loop/callback.py
        """Remove callbacks

        - `cbs`: One, or a list of callbacks and classes

        Returns: The flow itself
        """
    @contextmanager
    def added_cbs(self, cbs: Any) -> Any:  # loop/callback.py
        """Have `cbs` inside a `with` block

        - `cbs`: One callback, or a list
        """
    @contextmanager
    def removed_cbs(self, cbs: Any) -> Any:  # loop/callback.py
        """Do without `cbs` inside a `with` block

        - `cbs`: One, or a list of callbacks and classes; those that aren't there are passed over
        """
    def ordered_cbs(self, event: str) -> list:  # loop/callback.py
        """List the callbacks that hear `event`, muted ones included

        - `event`: Name of an event

        Returns: Callbacks, in the order in which they run
        """
    @property
    def trace(self) -> Any:  # see/trace.py
        """The `Tracer` that is there, or what the last one recorded"""
    def show_training_loop(self, verbose: bool=False) -> TrainingLoop:  # see/show.py
        """Show which callback runs where

        - `verbose`: Also show events that no callback has?

        Returns: Shows itself in notebooks; `print` it elsewhere
        """
    @property
    def cbs(self) -> Any:
        """The callbacks: a list, of which each change acts at once"""
    @cbs.setter
    def cbs(self, v: Any) -> None: ...

def in_phase(phase: str) -> Any:
    """Run a method of a learner as the body of `phase`, its events around it: a decorator

    - `phase`: Name of a phase that the learner declares
    """
