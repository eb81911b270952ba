# Written by `python -m tools.stubs` from `precision.py`: methods that other modules patch on are here, too
"""Mixed precision on any device: `to_bf16`, and `to_fp16` with loss scaling; or the weights in another format"""

from learnloop.loop.callback import Callback
from typing import Any
import torch

__all__ = ['MixedPrecision', 'TruePrecision']

class MixedPrecision(Callback):
    """Run model and loss in autocast; with fp16, scale the loss and skip steps whose gradients overflow"""
    order: int
    safe_in_evaluate: bool
    fit_only: bool
    rank_invariant: bool
    state_schema: dict
    min_scale: float
    amp_mode: str
    kwargs: Any
    scalers: dict
    skipped: int
    _states: dict
    _checked: bool
    _autocasts: list
    _is_on: bool
    _is_ready: bool
    _had: Any
    def __init__(self, amp_mode: str='fp16', **kwargs: Any) -> None:
        """- `amp_mode`: 'bf16' needs no loss scaling, so take it where the device has it
        - `kwargs`: To `torch.amp.GradScaler`: init_scale, growth_factor, backoff_factor, growth_interval
        """
    def autocast(self) -> Any:
        """Make the autocast that batches run in, for code that calls the model elsewhere"""
    def before_batch(self) -> Any: ...
    def after_pred(self) -> Any: ...
    def after_loss(self) -> Any: ...
    def after_cancel_batch(self) -> Any: ...
    def after_batch(self) -> Any: ...
    def cleanup_batch(self) -> Any: ...
    def before_turn(self) -> Any: ...  # train/precision.py
    def cleanup_turn(self) -> Any: ...  # train/precision.py
    def _turn_on(self) -> Any: ...  # train/precision.py
    def in_graph(self, event: Any) -> Any: ...  # train/precision.py
    @property
    def scaler(self) -> Any:  # train/precision.py
        """The `GradScaler` of the turn: each turn has its own, as its gradients may be kept while another one steps"""
    def before_backward(self) -> Any: ...  # train/precision.py
    def before_step(self) -> Any: ...  # train/precision.py
    def cleanup_step(self) -> Any: ...  # train/precision.py
    def before_fit(self) -> Any: ...  # train/precision.py
    def _learned(self) -> Any:  # train/precision.py
        """What the scalers have learned, or are to begin with"""
    def state_dict(self) -> dict:  # train/precision.py
        """Return what the scalers have learned

        Returns: The scale, for how long it has held, and how many steps were skipped
        """
    def load_state_dict(self, sd: dict) -> Any:  # train/precision.py
        """Take up what scalers have learned

        - `sd`: What `state_dict` returned
        """
    def before_save(self) -> Any: ...  # train/precision.py
    def after_load(self) -> Any: ...  # train/precision.py

class TruePrecision(Callback):
    """Have weights and inputs in `dtype`"""
    order: int
    rank_invariant: bool
    dtype: torch.dtype
    _loss_dtype: Any
    def __init__(self, dtype: torch.dtype=...) -> None:
        """- `dtype`: float16 loses small gradients, as nothing scales the loss"""
    def before_fit(self) -> Any: ...
    def before_batch(self) -> Any: ...
    def after_pred(self) -> Any: ...
    def in_graph(self, event: Any) -> Any: ...  # train/precision.py
