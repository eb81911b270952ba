# Written by `python -m tools.stubs` from `training.py`: methods that other modules patch on are here, too
"""Accumulation, clipping, frozen statistics, memory: what changes how a batch becomes a step"""

from collections.abc import Callable
from learnloop.loop.callback import Callback
from torch import nn
from typing import Any
import torch

__all__ = ['GradientAccumulation', 'refuse_own_steps', 'refuse_closure', 'refuse_graph', 'grads_now', 'refuse_supplied', 'clip_grad_adaptive_', 'part_here', 'grad_norm', 'GradientClip', 'set_bn_eval', 'BnFreeze', 'ChannelsLast', 'MCDropoutCallback', 'GradientCheckpointing', 'MoveModulesToDeviceCallback', 'MicroBatch', 'SAM']

class GradientAccumulation(Callback):
    """Step the optimizer once for several batches, by the gradient of their union"""
    order: int
    run_valid: bool
    safe_in_evaluate: bool
    fit_only: bool
    rank_invariant: bool
    _is_checked: bool
    _open: dict
    state_schema: dict
    n_acc: Any
    n_batches: Any
    _count: Callable | None
    _windows: dict
    _was: dict
    _n_items: Any
    def __init__(self, n_acc: Any=32, n_batches: Any=None, count: Callable | None=None) -> None:
        """- `n_acc`: Samples that make a step, or what `count` counts; or a function from the epoch to this number
        - `n_batches`: Batches that make a step, rather than samples; or a function from the epoch to this number
        - `count`: From the learner to what its loss is a mean of, in which `n_acc` is counted; None for samples
        """
    @property
    def _window(self) -> Any: ...
    @property
    def _size(self) -> Any: ...
    def before_fit(self) -> Any: ...
    def _refuse_closure(self) -> Any: ...
    def before_turn(self) -> Any: ...
    def state_dict(self) -> Any: ...
    def load_state_dict(self, sd: Any) -> Any: ...
    def _refuse_shared(self) -> Any:  # train/training.py
        """Refuse a turn that would add to gradients of another's window"""
    def before_backward(self) -> Any: ...  # train/training.py
    def cleanup_backward(self) -> Any: ...  # train/training.py
    def _counted(self) -> Any:  # train/training.py
        """Count the items that the loss is a mean of, in all processes, and what it counts here"""
    def _check_size(self) -> Any:  # train/training.py
        """Warn, at the first batch, of a window that is no larger than a batch"""
    def _due(self) -> Any: ...  # train/training.py
    def before_step(self) -> Any: ...  # train/training.py
    @property
    def _is_last(self) -> Any: ...  # train/training.py
    def _goes_on(self) -> Any:  # train/training.py
        """Is it sure that no step follows this turn?"""
    def after_step(self) -> Any: ...  # train/training.py
    def cleanup_step(self) -> Any: ...  # train/training.py
    def cleanup_turn(self) -> Any: ...  # train/training.py
    def _clear(self) -> Any: ...  # train/training.py
    def before_zero_grad(self) -> Any: ...  # train/training.py
    def in_graph(self, event: Any) -> Any: ...  # train/training.py
    def _flush(self) -> Any: ...  # train/training.py
    def after_fetch(self) -> Any: ...  # train/training.py
    def after_cancel_train(self) -> Any: ...  # train/training.py
    def cleanup_train(self) -> Any: ...  # train/training.py

def refuse_own_steps(cb: Any) -> Any:
    """Refuse learners that go backward and step by themselves, and so tell nobody whose turn it is

    - `cb`: A callback, in `before_fit`
    """

def refuse_closure(cb: Any, why: str) -> Any:
    """Refuse an optimizer that evaluates the loss itself

    - `cb`: A callback, in `before_fit` or `before_turn`
    - `why`: What it can't do with a closure
    """

def refuse_graph(cb: Any, why: str) -> Any:
    """Refuse a turn whose gradients are to be differentiated

    - `cb`: A callback, in `before_turn`
    - `why`: What would be wrong with the graph
    """

def grads_now(learn: Any) -> list:
    """Note which gradients there are

    - `learn`: The learner, in `before_turn`

    Returns: For each parameter of the turn: it, its gradient, and how often that was changed in place
    """

def refuse_supplied(cb: Any, had: Any, why: str) -> Any:
    """Refuse gradients that somebody supplied and cancelled *backward*, since `had` was noted

    - `cb`: A callback, after the backward pass
    - `had`: What `grads_now` gave, before it
    - `why`: What would be wrong with them
    """

def clip_grad_adaptive_(params: Any, factor: float=0.01, eps: float=0.001, norm_type: float=2.0) -> None:
    """Clip gradients, unit by unit, to `factor` times the norm of their weights

    - `params`: Parameters with gradients, which are changed in place
    - `factor`: Largest ratio of the norms of gradient and weight: lambda; the paper's value
    - `eps`: Smallest norm that a weight is taken to have
    - `norm_type`: Order of the norm
    """

def part_here(t: Any) -> torch.Tensor:
    """Take the part of `t` that this process has: all of it, but for parameters of `to_fsdp` and their gradients

    - `t`: Tensor
    """

def grad_norm(learn: Any, grads: list, norm_type: float=2.0) -> torch.Tensor:
    """Compute the norm of all `grads` together, in all processes

    - `learn`: The learner
    - `grads`: Gradients; with `to_fsdp` each process has parts of them
    - `norm_type`: Order of the norm

    Returns: Scalar
    """

class GradientClip(Callback):
    """Clip gradients before each optimizer step"""
    order: int
    run_valid: bool
    fit_only: bool
    rank_invariant: bool
    max_norm: float | None
    norm_type: float
    algorithm: str
    skip_nonfinite: bool
    grad_norm: Any
    def __init__(self, max_norm: float | None=None, norm_type: float=2.0, algorithm: str='norm', skip_nonfinite: bool=False) -> None:
        """- `max_norm`: Largest norm, value or ratio of norms; None for 1, or .01 if it's 'adaptive'
        - `norm_type`: Order of the norm; inf for the largest absolute value
        - `algorithm`: 'norm' of all gradients, 'value' of each element, or 'adaptive' to the weights' norm
        - `skip_nonfinite`: Cancel steps whose gradients have an infinite norm, or NaN? Waits for the device
        """
    def before_fit(self) -> Any: ...
    def before_step(self) -> Any: ...
    def in_graph(self, event: Any) -> Any: ...  # train/training.py

def set_bn_eval(model: nn.Module, use_eval: bool=True) -> None:
    """Put frozen batch norms in eval mode: those with parameters, none of which requires gradients

    - `model`: Searched for layers with running statistics
    - `use_eval`: False for training mode
    """

class BnFreeze(Callback):
    """Keep frozen batch norms in eval mode while training"""
    rank_invariant: bool
    def before_train(self) -> Any: ...

class ChannelsLast(Callback):
    """Have weights and inputs of 4 and 5 dimensions in channels-last memory format"""
    order: int
    rank_invariant: bool
    _turned: list
    def __init__(self) -> None: ...
    def before_fit(self) -> Any: ...
    def before_batch(self) -> Any: ...
    def cleanup_fit(self) -> Any: ...

class MCDropoutCallback(Callback):
    """Keep dropout active in validation and prediction"""
    rank_invariant: bool
    _undo: list
    def __init__(self) -> None: ...
    def before_validate(self) -> Any: ...
    def cleanup_validate(self) -> Any: ...

class GradientCheckpointing(Callback):
    """Compute what modules keep for the backward pass again, rather than keep it"""
    fit_only: bool
    rank_invariant: bool
    modules: Any
    _kept: list
    def __init__(self, modules: Any) -> None:
        """- `modules`: Whose insides to compute again: a class, a list of modules, or a function from the model to a list"""
    def _find(self, model: Any) -> Any: ...
    def before_fit(self) -> Any: ...
    def cleanup_fit(self) -> Any: ...

class MoveModulesToDeviceCallback(Callback):
    """Move the modules that are attributes of the learner to its device"""
    order: int
    rank_invariant: bool
    def before_fit(self) -> Any: ...

class MicroBatch(Callback):
    """Take each batch through model and backward in parts: less memory, and the same step"""
    order: int
    run_valid: bool
    fit_only: bool
    rank_invariant: bool
    size: Any
    _whole: Any
    _made: Any
    _left: list
    _seen: list
    _grads: list
    _n: int
    _had: Any
    _joined: Any
    _autocast: Any
    _others: Any
    _defers: Any
    def __init__(self, size: int=8) -> None:
        """- `size`: Items in a part, at most"""
    def _clear(self) -> Any: ...
    def _next(self) -> Any: ...
    def before_fit(self) -> Any: ...
    def _refuse_closure(self) -> Any: ...
    def before_turn(self) -> Any: ...
    def after_loss(self) -> Any: ...
    def before_backward(self) -> Any: ...
    def after_backward(self) -> Any: ...  # train/training.py
    def _settle(self, k: Any) -> Any:  # train/training.py
        """Make the mean of the gradients that the parts have added to those that were there before"""
    def _refuse_loss(self) -> Any: ...  # train/training.py
    def _keep_up(self, n: Any) -> Any:  # train/training.py
        """Have `n` parts, as other processes do; gradients are exchanged with the last"""
    def after_cancel_turn(self) -> Any: ...  # train/training.py
    def cleanup_turn(self) -> Any: ...  # train/training.py

class SAM(Callback):
    """Step by the gradient at the worst place near the weights: sharpness-aware minimisation"""
    order: int
    run_valid: bool
    fit_only: bool
    rank_invariant: bool
    rho: float
    _home: list
    _aside: list
    _rng: Any
    _autocast: Any
    _had: Any
    def __init__(self, rho: float=0.05) -> None:
        """- `rho`: Distance of that place, in the norm over all weights; the paper's default"""
    def before_fit(self) -> Any: ...
    def _refuse_closure(self) -> Any: ...
    def before_turn(self) -> Any: ...
    def before_backward(self) -> Any: ...
    def after_backward(self) -> Any: ...
    def cleanup_backward(self) -> Any: ...  # train/training.py
    def in_graph(self, event: Any) -> Any: ...  # train/training.py
