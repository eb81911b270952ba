# Written by `python -m tools.stubs` from `errors.py`: methods that other modules patch on are here, too
"""What an error in a fit says of itself: where it happened, with what, and what helps. And what it holds no longer"""

from typing import Any

__all__ = ['where', 'is_oom', 'torch_advice', 'tip', 'let_go']

def where(learn: Any) -> str:
    """Tell where `learn` is, for the note on an error

    - `learn`: A learner

    Returns: '' outside of fits and evaluations
    """

def is_oom(e: BaseException) -> bool:
    """Whether `e` is about want of memory

    - `e`: An error
    """

def torch_advice(learn: Any, e: BaseException) -> str:
    """Tell what helps against a message of torch

    - `learn`: A learner, in a batch
    - `e`: An error of the model or the loss function

    Returns: '' if nothing is known of it
    """

def tip(learn: Any, e: BaseException) -> str:
    """Tell what helps against `e`

    - `learn`: A learner
    - `e`: An error in one of its phases

    Returns: '' if nothing is known of it
    """

def let_go(learn: Any, e: BaseException) -> Any:
    """Stop the workers that `learn` takes batches from; if memory ran out, free what the traceback of `e` holds

    - `learn`: A learner
    - `e`: An error that leaves its fit, or its evaluation
    """
