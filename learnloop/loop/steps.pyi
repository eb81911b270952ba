# Written by `python -m tools.stubs` from `steps.py`: methods that other modules patch on are here, too
"""Epochs, or a whole fit, that end after a number of optimizer steps"""

from learnloop.loop.callback import Callback
from typing import Any

__all__ = ['StepLimit']

class StepLimit(Callback):
    """End epochs, or the fit, by number of optimizer steps: the loader seems to end there"""
    order: int
    safe_in_evaluate: bool
    fit_only: bool
    rank_invariant: bool
    state_schema: dict
    max_steps: int | None
    steps_per_epoch: int | None
    first: Any
    begun: Any
    dl_: Any
    endless: Any
    _pass: Any
    def __init__(self, max_steps: int | None=None, steps_per_epoch: int | None=None) -> None:
        """- `max_steps`: Optimizer steps in this fit
        - `steps_per_epoch`: Optimizer steps an epoch
        """
    def before_fit(self) -> Any: ...
    def before_train(self) -> Any: ...
    def after_batch(self) -> Any: ...
    def state_dict(self) -> Any: ...
    def load_state_dict(self, sd: Any) -> Any: ...
    def _is_over(self) -> Any: ...  # loop/steps.py
    def _tell_progress(self) -> Any: ...  # loop/steps.py
    @property
    def done(self) -> Any:  # loop/steps.py
        """Whether the fit has had all its steps"""
    def after_train(self) -> Any: ...  # loop/steps.py
