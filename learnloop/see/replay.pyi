# Written by `python -m tools.stubs` from `replay.py`: methods that other modules patch on are here, too
"""The step in which two runs part, made again: the first module whose inputs agree and whose outputs don't"""

from learnloop.loop.callback import Callback
from pathlib import Path
from torch import Tensor
from typing import Any

__all__ = ['ulps', 'StepDiff', 'diff_steps', 'run_checkpoints', 'replay_runs']

class _Watch(Callback):
    """Records the step `step`, then ends the fit"""
    order: Any
    step: Any
    modules: list
    record: dict
    _hooks: list
    grads: dict
    def __init__(self, step: Any) -> None: ...
    def before_batch(self) -> Any: ...
    def _note(self, nm: Any, m: Any, args: Any, res: Any) -> Any: ...
    def after_step(self) -> Any: ...  # see/replay.py
    def after_batch(self) -> Any: ...  # see/replay.py
    def cleanup_fit(self) -> Any: ...  # see/replay.py
    def _off(self) -> Any: ...  # see/replay.py

def ulps(a: Tensor, b: Tensor) -> Tensor:
    """Count the steps from `a` to `b` through the numbers of their type

    - `a`: Floating-point numbers
    - `b`: As many of the same type

    Returns: Whole numbers of 64 bits; -1 where one of them is no number, and the bits are others
    """

class StepDiff:
    """Where two records of a step differ, in words when printed"""
    __repr__: Any
    module: Any
    kind: str
    distance: str
    rows: list
    text: str
    equal: bool
    def __init__(self, a: dict, b: dict) -> None:
        """- `a`: What `record_step` returned
        - `b`: Likewise, of another learner, or of another machine
        """
    def __str__(self) -> Any: ...
    def _table(self) -> Any: ...
    def _repr_markdown_(self) -> Any: ...
    def _of_begin(self, a: Any, b: Any) -> Any:  # see/replay.py
        """What differs before the first module is called"""
    def _of_calls(self, a: Any, b: Any) -> Any:  # see/replay.py
        """What differs in the forward pass"""
    def _of_backward(self, a: Any, b: Any) -> Any:  # see/replay.py
        """What differs in the backward pass"""

def diff_steps(a: dict, b: dict) -> StepDiff:
    """Find the first module that made a difference

    - `a`: What `Learner.record_step` returned
    - `b`: Likewise, of another learner, or read from another machine's file

    Returns: Has `module`, `kind` ('forward', 'loss', 'backward', 'weights'), `distance`
    """

def run_checkpoints(run: Any) -> Path | None:
    """Find the folder in which a run has its checkpoints

    - `run`: Folder of a run, or file of its fingerprints

    Returns: It, or the one in it that has checkpoints; None if there is none, or several
    """

def replay_runs(a: Any, b: Any, make: Any, make_b: Any=None, step: int | None=None, **kwargs: Any) -> StepDiff:
    """Make the step again in which two runs part, with the code of both, and find the first module that differs

    - `a`: Folder of a run that was fitted with a `Fingerprint` and a `CheckpointCallback`
    - `b`: Another one
    - `make`: Function that makes the learner of the first run
    - `make_b`: That of the second one; None for the same
    - `step`: The step to make again; None for the first one that differs
    - `kwargs`: To `record_step`
    """
