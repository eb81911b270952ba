# Written by `python -m tools.stubs` from `fastai.py`: methods that other modules patch on are here, too
"""Run fastai's callbacks, and yours that were written for fastai, in `learn.fit(cbs=[…])` as they are"""

from learnloop.interop.core import Adapter
from learnloop.loop.flow import Events
from typing import Any

__all__ = ['CancelFitException', 'CancelEpochException', 'CancelTrainException', 'CancelValidException', 'CancelBatchException', 'CancelBackwardException', 'CancelStepException', 'event', 'Callback', 'FastAI']

CancelFitException: Any

CancelEpochException: Any

CancelTrainException: Any

CancelValidException: Any

CancelBatchException: Any

CancelBackwardException: Any

CancelStepException: Any

event: Events

class Callback:
    """Listens to fastai's events: has what fastai's `Callback` has, for code that was written for that"""
    learn: Any
    order: int
    run: bool
    run_train: bool
    run_valid: bool
    _default: str
    after_create: Any
    before_fit: Any
    before_epoch: Any
    before_train: Any
    before_batch: Any
    after_pred: Any
    after_loss: Any
    before_backward: Any
    after_cancel_backward: Any
    after_backward: Any
    before_step: Any
    after_cancel_step: Any
    after_step: Any
    after_cancel_batch: Any
    after_batch: Any
    after_cancel_train: Any
    after_train: Any
    before_validate: Any
    after_cancel_validate: Any
    after_validate: Any
    after_cancel_epoch: Any
    after_epoch: Any
    after_cancel_fit: Any
    after_fit: Any
    def __init__(self, *, after_create: Any=..., before_fit: Any=..., before_epoch: Any=..., before_train: Any=..., before_batch: Any=..., after_pred: Any=..., after_loss: Any=..., before_backward: Any=..., after_cancel_backward: Any=..., after_backward: Any=..., before_step: Any=..., after_cancel_step: Any=..., after_step: Any=..., after_cancel_batch: Any=..., after_batch: Any=..., after_cancel_train: Any=..., after_train: Any=..., before_validate: Any=..., after_cancel_validate: Any=..., after_validate: Any=..., after_cancel_epoch: Any=..., after_epoch: Any=..., after_cancel_fit: Any=..., after_fit: Any=..., **events: Any) -> None:
        """- `events`: Functions that take the callback, by the name of the event; None for none"""
    def __repr__(self) -> Any: ...
    def __dir__(self) -> Any: ...
    def __getattr__(self, k: Any) -> Any: ...
    def __setattr__(self, k: Any, v: Any) -> Any: ...
    def __call__(self, event_name: Any) -> Any: ...
    @property
    def name(self) -> Any:
        """Under which the learner has it as an attribute"""

class _Checked(Adapter):
    system: str
    bases: Any
    prefix: Any
    unfit: Any
    Trainer: Any
    parts: Any
    def _check_foreign(self) -> Any: ...
    def hears(self, name: Any) -> Any: ...
    def _dispatches(self) -> Any: ...
    def _is_theirs(self, name: Any) -> Any: ...

class _Called(_Checked):
    _begun: Any
    def translated(self, e: Any) -> Any: ...
    def _pairs(self, phase: Any) -> Any: ...
    def _caller(self, e: Any) -> Any: ...

class _Ended(_Called):
    _begun: bool
    _at: Any
    def handlers(self, event: Any) -> Any: ...
    def _outside(self) -> Any: ...
    def _fire(self, e: Any) -> Any: ...
    def _finish(self, phase: Any) -> Any:
        """Do what an error has kept from being done; one that was removed on the way has left"""
    def before_fit(self) -> Any: ...
    def cleanup_fit(self) -> Any: ...
    def before_evaluate(self) -> Any: ...
    def after_evaluate(self) -> Any: ...
    def cleanup_evaluate(self) -> Any: ...

class _Kept(_Ended):
    _given: Any
    def _has_state(self) -> Any: ...
    def saved_state(self) -> Any: ...
    def load_saved_state(self, sd: Any) -> Any: ...
    def _restore(self, sd: Any) -> Any: ...

class FastAI(_Kept):
    """Runs a callback of fastai's"""
    hooks: list
    run: Any
    run_train: Any
    run_valid: Any
    order: Any
    remove_on_fetch: Any
    _undo: dict
    @property
    def own_name(self) -> Any: ...
    @property
    def group(self) -> Any: ...
    def listens(self, inner: Any, training: Any) -> Any: ...
    def after_create(self) -> Any: ...
    def __setattr__(self, k: Any, v: Any) -> Any: ...
