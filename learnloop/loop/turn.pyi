# Written by `python -m tools.stubs` from `turn.py`: methods that other modules patch on are here, too
"""What a batch is in training: a loss, its gradients and a step, once, or several times with optimizers that alternate"""

from torch import Tensor
from typing import Any
import torch

__all__ = ['LOSS_FIELDS', 'ADDED', 'needs_closure', 'asks_for_closure', 'ambient_autocast', 'Closure', 'Turn']

LOSS_FIELDS: tuple

ADDED: str

def needs_closure(opt: Any) -> bool:
    """Tell whether the step of `opt` needs a closure

    - `opt`: Torch optimizer

    Returns: Must its `step` be given an argument, or did it fail without one?
    """

def asks_for_closure(opt: Any, e: Exception) -> bool:
    """Tell whether `e` says that the step of `opt` needs a closure, and remember that

    - `opt`: Torch optimizer, or dict of them by name
    - `e`: What its step raised, called without arguments
    """

def ambient_autocast(device: torch.device) -> Any:
    """Tell how to open autocast as it is now, for what computes a loss again later

    - `device`: Where the model is
    """

class Closure:
    """The loss of a turn and its gradients, evaluated as often as an optimizer asks"""
    learn: Any
    turn: Any
    opt: Any
    _first: Any
    _autocast: Any
    def __init__(self, learn: Any, turn: Any, asks: Any) -> None:
        """- `learn`: The learner
        - `turn`: The turn
        - `asks`: The optimizers that ask for it
        """
    def begin(self) -> Any:
        """Note how the loss is computed"""
    def step(self) -> Any:
        """Step the optimizer"""
    def evaluate(self) -> Tensor:  # loop/turn.py
        """Compute the loss, and its gradients, at the weights as they are

        Returns: The loss, a scalar without graph
        """

class Turn:
    """A loss that is a function, an optimizer, and what is to become of its step"""
    learn: Any
    loss: Any
    key: Any
    name: Any
    grads: Any
    create_graph: Any
    retain_graph: Any
    counts: Any
    scale: float
    stepped: bool
    denominator: Any
    own: Any
    closure: Any
    _had: list
    def __init__(self, learn: Any, loss: Any=None, opt: Any=None, name: Any=None, counts: Any=True, grads: Any=None, create_graph: Any=False, retain_graph: Any=False, closure: Any=None) -> None:
        """- `learn`: The learner that takes it
        - `loss`: Function without arguments that returns the loss; None for `loss_func`'s
        - `opt`: Name of its optimizer in `learn.opt`; None for all there are
        - `name`: What it is called; None for `opt`
        - `counts`: Is its step one of `count.opt_steps`?
        - `grads`: Function without arguments that returns gradients
        - `create_graph`: Can gradients be differentiated?
        - `retain_graph`: Is the graph needed again, by another turn?
        - `closure`: Give the optimizer's `step` a closure? None: if it needs one
        """
    def __repr__(self) -> Any: ...
    def drop_grads(self) -> Any:  # loop/turn.py
        """Drop the gradients of a cancelled turn, and keep those of a window of accumulation, unless they made a step"""
    def backward(self) -> Any:  # loop/turn.py
        """Add the gradients of the loss to `.grad` of the parameters: the body of *backward*"""
    def step(self) -> Any:  # loop/turn.py
        """Step the optimizer: the body of *step*"""
    @property
    def opt(self) -> Any:
        """Its optimizer, which may be switched"""
    @property
    def rows(self) -> Any:
        """The rows that its loss is computed with: see `Learner.rows`"""
