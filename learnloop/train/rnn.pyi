# Written by `python -m tools.stubs` from `rnn.py`: methods that other modules patch on are here, too
"""Hidden states that last from batch to batch, reset where they should be, and activations that stay small and slow"""

from learnloop.loop.callback import Callback
from typing import Any

__all__ = ['ModelResetter', 'RNNCallback', 'RNNRegularizer', 'rnn_cbs']

class ModelResetter(Callback):
    """Call `reset` of the model, if it has one, before training, validation and evaluation, and after the fit"""
    order: int
    rank_invariant: bool
    _kept: list
    def __init__(self) -> None: ...
    def _reset(self) -> Any:
        """Reset the model; return what that replaced: dicts, with former entries, and with former values of tensors"""
    def before_fit(self) -> Any: ...
    def before_train(self) -> Any: ...
    def before_validate(self) -> Any: ...
    def cleanup_fit(self) -> Any: ...
    def before_evaluate(self) -> Any: ...
    def cleanup_evaluate(self) -> Any: ...

class RNNCallback(Callback):
    """Take predictions out of a tuple `(pred, raw_out, out)`, and keep the other two until the end of the batch"""
    rank_invariant: bool
    raw_out: Any
    out: Any
    _outer: list
    def __init__(self) -> None: ...
    def before_batch(self) -> Any: ...
    def before_turn(self) -> Any: ...
    def after_pred(self) -> Any: ...
    def cleanup_batch(self) -> Any: ...

class RNNRegularizer(Callback):
    """Add activation and temporal activation regularization to the loss that is trained on"""
    order: int
    run_valid: bool
    rank_invariant: bool
    alpha: float
    beta: float
    def __init__(self, alpha: float=0.0, beta: float=0.0) -> None:
        """- `alpha`: Weight of the mean square of `out`, the activations after dropout; AWD-LSTM has 2
        - `beta`: Weight of the mean square of the changes of `raw_out` along dimension 1, time; AWD-LSTM has 1
        """
    def after_loss(self) -> Any: ...

def rnn_cbs(alpha: float=0.0, beta: float=0.0) -> list:
    """List the callbacks for a recurrent model that returns `(pred, raw_out, out)`

    - `alpha`: Weight of activation regularization; 0 for none
    - `beta`: Weight of temporal activation regularization; 0 for none

    Returns: Callbacks for the `cbs` of a learner
    """
