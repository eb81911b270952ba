# Written by `python -m tools.stubs` from `mixup.py`: methods that other modules patch on are here, too
"""Train on pairs of items mixed into one, which keeps a model from being too sure"""

from learnloop.loop.callback import Callback
from typing import Any

__all__ = ['MixHandler', 'MixUp', 'CutMix']

class MixHandler(Callback):
    """Mix each item of a training batch with another, targets and all, as `mix` says"""
    run_valid: bool
    rank_invariant: bool
    mix: Any
    _lam: Any
    _partner: Any
    _own: Any
    _is_mixed: bool
    alpha: float
    per_item: bool
    distrib: Any
    _reduced: Any
    def __init__(self, alpha: float=0.5, mix: Any=None, per_item: bool=True) -> None:
        """- `alpha`: Both parameters of the Beta distribution: higher for more even mixes
        - `mix`: `mix(xb, perm, lam)` returns new inputs and the share that is own; None if a subclass defines it
        - `per_item`: A λ for each item, where the loss function allows it? Or one for the batch
        """
    def before_train(self) -> Any: ...
    def before_batch(self) -> Any: ...  # train/mixup.py
    def _check_items(self, o: Any) -> Any: ...  # train/mixup.py
    def after_pred(self) -> Any: ...  # train/mixup.py
    def after_loss(self) -> Any: ...  # train/mixup.py
    def cleanup_batch(self) -> Any: ...  # train/mixup.py
    def _set_loss(self) -> Any: ...  # train/mixup.py
    def _put_back(self) -> Any: ...  # train/mixup.py
    def before_turn(self) -> Any: ...  # train/mixup.py
    def cleanup_turn(self) -> Any: ...  # train/mixup.py
    def _mixed(self, pred: Any, *yb: Any) -> Any:  # train/mixup.py
        """The loss of `yb` and that of the partners' targets, mixed"""
    def before_backward(self) -> Any: ...  # train/mixup.py

class MixUp(MixHandler):
    """Mix inputs as weighted means (Zhang et al. 2018)"""
    def __init__(self, alpha: float=0.4, per_item: bool=True) -> None:
        """- `alpha`: Both parameters of the Beta distribution: higher for more even mixes
        - `per_item`: A λ for each item, where the loss function allows it? Or one for the batch
        """
    def mix(self, xb: Any, perm: Any, lam: Any) -> tuple:
        """Blend `xb` and its partners

        - `xb`: Inputs, in any nesting, (n, …) each
        - `perm`: Partners, (n,)
        - `lam`: λ, (n,) or (1,)

        Returns: New inputs, and the share that is own: at least a half
        """

class CutMix(MixHandler):
    """Paste a box of each partner (Yun et al. 2019)"""
    ndim: int
    def __init__(self, alpha: float=1.0, ndim: int=2) -> None:
        """- `alpha`: Both parameters of the Beta distribution; at 1 all areas are as likely
        - `ndim`: Dimensions of the box, the last ones of inputs: 2 for images, 1 for series, 3 for volumes
        """
    def mix(self, xb: Any, perm: Any, lam: Any) -> tuple:
        """Paste the same box of its partner into each item of `xb`

        - `xb`: Inputs, in any nesting, (n, …) each, of one size in the last `ndim` dimensions
        - `perm`: Partners, (n,)
        - `lam`: Share of the area to keep, (1,)

        Returns: New inputs, and the share that was kept
        """
