# Written by `python -m tools.stubs` from `trial.py`: methods that other modules patch on are here, too
"""A metric that fails would do so at the end of the first epoch, so each is tried before anything is trained"""

from typing import Any

__all__ = ['try_metrics', 'note_metric', 'find_loss_parts']

def try_metrics(learn: Any, metrics: Any) -> bool:
    """Try copies of `metrics` on a batch of validation; raise the error of one that can't work, with its name

    - `learn`: The learner, before its first batch of training
    - `metrics`: `Metric`s of its validation

    Returns: Whether they were tried
    """

def note_metric(e: Any, m: Any, more: Any='') -> Any:
    """Note on the error `e` which metric it is of

    - `e`: An error
    - `m`: The metric that it comes from
    - `more`: What else is known
    """

def find_loss_parts(learn: Any) -> list:
    """Try the loss on a batch, to find the names of its parts

    - `learn`: The learner, before its first batch of training

    Returns: Names; empty if the loss has no parts, or can't be tried
    """
