# Written by `python -m tools.stubs` from `lr_find.py`: methods that other modules patch on are here, too
"""Train with a learning rate that rises, look at the losses, choose one; nothing of it stays"""

from learnloop.loop.callback import Callback
from typing import Any

__all__ = ['SuggestionMethod', 'valley', 'slide', 'minimum', 'steep', 'LRFinder']

SuggestionMethod: Any

def valley(lrs: Any, losses: Any, num_it: int) -> tuple:
    """Suggest the middle of the longest valley

    - `lrs`: Learning rates, rising, (n,)
    - `losses`: Smoothed losses, (n,)
    - `num_it`: Number of batches that were asked for

    Returns: The learning rate, and the point `(lr, loss)` on the curve
    """

def slide(lrs: Any, losses: Any, num_it: int, lr_diff: int=15, thresh: float=0.005, adjust_value: float=1.0) -> tuple:
    """Suggest where an interval that slides down the curve finds like slopes at its ends

    - `lrs`: Learning rates, rising, (n,)
    - `losses`: Smoothed losses, (n,)
    - `num_it`: Number of batches that were asked for
    - `lr_diff`: Width of the interval, in batches
    - `thresh`: How much the slopes, in loss by batch, may differ
    - `adjust_value`: Factor for what is found

    Returns: The learning rate, and the point `(lr, loss)` on the curve
    """

def minimum(lrs: Any, losses: Any, num_it: int) -> tuple:
    """Suggest a tenth of the learning rate with the lowest loss

    - `lrs`: Learning rates, rising, (n,)
    - `losses`: Smoothed losses, (n,)
    - `num_it`: Number of batches that were asked for

    Returns: The learning rate, and the point `(lr, loss)` on the curve: the lowest one
    """

def steep(lrs: Any, losses: Any, num_it: int) -> tuple:
    """Suggest the learning rate where the loss falls fastest

    - `lrs`: Learning rates, rising, (n,)
    - `losses`: Smoothed losses, (n,)
    - `num_it`: Number of batches that were asked for

    Returns: The learning rate, and the point `(lr, loss)` on the curve
    """

class LRFinder(Callback):
    """Train with a rising learning rate"""
    order: int
    run_valid: bool
    owns: Any
    in_charge_of: dict
    fit_only: bool
    needs_length: bool
    rank_invariant: bool
    handles_nan: bool
    _sched: Any
    num_it: Any
    stop_div: bool
    lrs: list
    losses: list
    suggestions: dict
    restores: bool
    _undo: Any
    _best: Any
    _smooth: Any
    _lr: Any
    def __init__(self, start_lr: Any=1e-07, end_lr: Any=10, num_it: int=100, stop_div: bool=True, restores: bool=True) -> None:
        """- `start_lr`: First learning rate, or a list with one for each group
        - `end_lr`: Learning rate at which it would end, likewise
        - `num_it`: Batches
        - `stop_div`: Stop when the smoothed loss is 4 times the best so far, or not finite?
        - `restores`: Restore weights and optimizer at the end of the fit?
        """
    def before_fit(self) -> Any: ...
    def cleanup_fit(self) -> Any: ...
    def before_train(self) -> Any: ...
    def before_batch(self) -> Any: ...
    def after_batch(self) -> Any: ...
    def after_train(self) -> Any: ...
    def before_validate(self) -> Any: ...
    def suggest(self, funcs: Any) -> tuple:  # train/lr_find.py
        """Suggest learning rates

        - `funcs`: One function such as those in `SuggestionMethod`, or a list

        Returns: Named after the functions: learning rates
        """
    def plot(self, skip_end: int=5, suggestions: Any=None, nms: Any=None, ax: Any=None) -> Any:  # train/lr_find.py
        """Plot loss by learning rate

        - `skip_end`: Batches to leave out at the end, where the loss explodes
        - `suggestions`: Results of the functions, each `(lr, (lr, loss))`; None for those of `suggest`
        - `nms`: Their names
        - `ax`: Axes to draw on; None for new ones
        """
