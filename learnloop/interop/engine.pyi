# Written by `python -m tools.stubs` from `engine.py`: methods that other modules patch on are here, too
"""Callbacks that were written for a `TrainingEngine` run as they are"""

from learnloop.interop.core import Adapter
from learnloop.interop.core import Facade
from typing import Any

__all__ = ['Logger', 'Config', 'Engine', 'Callback', 'TrainingEngine']

class Logger(Facade):
    """Prints what callbacks have to say, unless the learner is silent"""
    system: str
    warning: Any
    error: Any
    def info(self, msg: Any) -> Any:
        """Print `msg`

        - `msg`: What to say
        """

class Config(Facade):
    """The engine's configuration, so far as its own callbacks read it: `config.logging`"""
    system: str
    Logging: Any
    def __init__(self, learn: Any) -> None:
        """- `learn`: The learner"""

class Engine(Facade):
    """What callbacks find as their `engine`"""
    system: str
    should_stop_training: bool
    refused: Any
    _before: int
    _rows: int
    _running: bool
    def __init__(self, learn: Any) -> None:
        """- `learn`: The learner that it stands for"""
    @property
    def global_step(self) -> Any:
        """Optimizer steps in this fit; one that is just being reported doesn't count yet, as with the later engine"""
    @property
    def epoch(self) -> Any: ...
    @property
    def model(self) -> Any: ...
    @property
    def device(self) -> Any: ...
    @property
    def dataloader(self) -> Any: ...
    @property
    def optimizer(self) -> Any: ...
    @property
    def scheduler(self) -> Any: ...
    @property
    def scaler(self) -> Any: ...
    @property
    def rank(self) -> Any: ...
    @property
    def callbacks(self) -> Any: ...

class _Hooks:
    def on_train_start(self, logs: Any=None) -> Any:
        """Before the first epoch"""
    def on_epoch_start(self, epoch: Any, logs: Any=None) -> Any:
        """Before an epoch"""
    def on_batch_start(self, epoch: Any, batch_idx: Any, logs: Any=None) -> Any:
        """Before a batch of training"""
    def on_optimizer_step(self, epoch: Any, batch_idx: Any, logs: Any=None) -> Any:
        """After a step that was taken, gradients still there"""
    def on_train_step_end(self, epoch: Any, batch_idx: Any, loss: Any, metrics: Any, logs: Any=None) -> Any:
        """After backward, and the step if any"""
    def on_batch_end(self, epoch: Any, batch_idx: Any, logs: Any=None) -> Any:
        """After a batch of training"""
    def on_validation_start(self, epoch: Any, logs: Any=None) -> Any:
        """Before validation"""
    def on_validation_end(self, epoch: Any, logs: Any=None) -> Any:
        """After validation"""
    def on_save_checkpoint(self, epoch: Any, logs: Any=None) -> Any:
        """After weights were saved"""
    def on_epoch_end(self, epoch: Any, logs: Any=None) -> Any:
        """After an epoch, its validation and its checkpoint"""
    def on_exception(self, exception: Any, logs: Any=None) -> Any:
        """After an error in the fit"""
    def on_train_end(self, logs: Any=None) -> Any:
        """At the end of the fit, however it came about"""

class Callback(_Hooks):
    """Base class of callbacks for a TrainingEngine, whose hooks do nothing"""
    _engine: Any
    def __init__(self) -> None: ...
    @property
    def engine(self) -> Any:
        """The engine"""
    def set_engine(self, engine: Any) -> Any:
        """Take note of the engine

        - `engine`: The engine, or what stands for it
        """
    def get_checkpoint_state(self) -> dict | None:
        """Return what is needed to go on later

        Returns: Plain data and tensors; None for nothing
        """
    def load_checkpoint_state(self, state: dict | None) -> Any:
        """Take up `state`

        - `state`: What `get_checkpoint_state` returned
        """

class _Told:
    """What hooks are told, and when"""
    _reported: Any
    _given: Any
    def _epoch(self) -> Any: ...
    def _batch(self) -> Any: ...
    def _step(self) -> Any: ...
    def _valid(self) -> Any: ...
    def _end(self) -> Any: ...
    def _unreported(self) -> Any: ...
    def _in_epoch(self) -> Any: ...
    def _validated(self) -> Any: ...
    def _saved(self) -> Any: ...

class _Run:
    """What the engine itself does, besides calling hooks"""
    def before_fit(self) -> Any: ...
    def cleanup_fit(self) -> Any: ...
    def before_epoch(self) -> Any: ...
    def before_step(self) -> Any: ...
    def cleanup_batch(self) -> Any: ...
    def before_fetch(self) -> Any: ...
    def _share(self) -> Any: ...
    def then_cleanup_epoch(self) -> Any:
        """Stop if a callback said so"""

class _State:
    """What a callback brings along: its engine and its state"""
    _due: Any
    _reported: Any
    def after_create(self) -> Any: ...
    def saved_state(self) -> Any: ...
    def load_saved_state(self, sd: Any) -> Any: ...
    def _give(self, started: Any=False) -> Any: ...
    def then_before_fit(self) -> Any:
        """Give callbacks that have just been started their state back"""

class TrainingEngine(_Told, _Run, _State, Adapter):
    """Runs callbacks of a TrainingEngine"""
    system: str
    bases: Any
    Trainer: Any
    order: int
    run_valid: bool
    by_flags: bool
    hooks: list
