# Written by `python -m tools.stubs` from `opt_mode.py`: methods that other modules patch on are here, too
"""Schedule-free optimizers train one set of weights and evaluate another: the learner switches them, as it switches the model"""

from learnloop.loop.callback import Callback
from typing import Any

__all__ = ['with_modes', 'OptMode', 'check_momentum', 'OptModes']

def with_modes(opt: Any) -> list:
    """List the optimizers in `opt` that have `train()` and `eval()`

    - `opt`: Torch optimizer, a dict of them by name, or None

    Returns: Of torch optimizers
    """

class OptMode:
    """The mode of the optimizers of a learner: `train` and `eval` switch it"""
    is_train: bool
    live: list
    _versions: list
    def __init__(self) -> None: ...
    def train(self, opt: Any) -> Any:
        """Put the training weights into the model

        - `opt`: As for `with_modes`
        """
    def eval(self, opt: Any, keep: bool=True) -> Any:
        """Put the averaged weights into the model

        - `opt`: As for `with_modes`
        - `keep`: Keep a copy of the weights that are trained? They are to be trained further
        """
    def have_live(self, live: list) -> Any:
        """Take copies of `live` as the weights that are trained

        - `live`: Tensors, in the order of parameters in the optimizers
        """

def check_momentum(learn: Any, hypers: Any) -> Any:
    """Refuse a new momentum for an optimizer with modes, in the middle of its training

    - `learn`: A learner
    - `hypers`: Names of the hyper-parameters that are about to be set
    """

class OptModes(Callback):
    """Switches the mode of optimizers that have one"""
    order: int
    safe_in_evaluate: bool
    rank_invariant: bool
    state_schema: dict
    opt_mode: Any
    _was_train: Any
    def before_train(self) -> Any: ...
    def before_validate(self) -> Any: ...
    def cleanup_validate(self) -> Any: ...
    def after_fit(self) -> Any: ...
    def cleanup_fit(self) -> Any: ...
    def opt_switched(self, given: Any) -> Any:
        """Switch the new optimizer to the mode of the fit

        - `given`: Names of the hyper-parameters that the switch named
        """
    def state_dict(self) -> dict:  # loop/opt_mode.py
        """Return the mode of optimizers that have one, and the weights that are trained if the model has the averages

        Returns: Empty for most optimizers
        """
    def load_state_dict(self, sd: dict) -> Any:  # loop/opt_mode.py
        """Switch the optimizers; their states, and the weights, are loaded after that

        - `sd`: What `state_dict` returned
        """
    def before_save(self) -> Any: ...  # loop/opt_mode.py
    def cleanup_save(self) -> Any: ...  # loop/opt_mode.py
    def before_load(self) -> Any: ...  # loop/opt_mode.py
    def after_load(self) -> Any: ...  # loop/opt_mode.py
