# Written by `python -m tools.stubs` from `loss.py`: methods that other modules patch on are here, too
"""What it may return, its parts that learn, the loss of each item, and what predictions mean"""

from contextlib import contextmanager
from typing import Any

__all__ = ['split_loss', 'named_loss', 'own_loss', 'innermost', 'EachItem', 'loss_modules', 'decode_preds', 'watch_broadcast']

def split_loss(res: Any) -> tuple:
    """Take what a loss function returned apart

    - `res`: The loss; a dict, or a named tuple, of parts; or a tuple: the loss, and perhaps a dict of parts

    Returns: The loss to train on, None if there is none; scalars by name, with their graphs
    """

def named_loss(out: Any) -> Any:
    """Find what a model calls `loss`: a key of a dict, with parts beside it, or an attribute

    - `out`: What a model returned
    """

def own_loss(out: Any) -> tuple:
    """Find the loss that a model computed by itself

    - `out`: What a model returned

    Returns: What `split_loss` takes, None without a loss; and the prediction
    """

def innermost(f: Any) -> Any:
    """Take `partial`s off `f`

    - `f`: A function, perhaps in `partial`s
    """

class EachItem:
    """The loss function `f`, returning the loss of each item"""
    reduction: str
    f: Any
    reduced: Any
    failed: bool
    whole: Any
    def __init__(self, f: Any) -> None:
        """- `f`: A loss function"""
    def __getattr__(self, k: Any) -> Any: ...
    def __call__(self, pred: Any, *yb: Any) -> Any: ...
    def _items(self, pred: Any, *yb: Any) -> Any: ...
    def _one_by_one(self, n: Any, *args: Any) -> Any: ...

def loss_modules(loss_func: Any) -> list:
    """Find the modules that `loss_func` is made of

    - `loss_func`: A loss function

    Returns: It, or what it is a `partial` or a method of, if that is a module
    """

def decode_preds(loss_func: Any, preds: Any, targs: Any=None, out: Any=None) -> Any:
    """Decide on predictions: classes, yes or no

    - `loss_func`: The learner's; one that has `decodes` is asked
    - `preds`: Predictions, items first
    - `targs`: Targets, to go by if nothing is known of the loss function
    - `out`: What the model returned, if `preds` are made of it
    """

@contextmanager
def watch_broadcast(pred: Any, yb: Any, what: Any='the loss function', fix: Any=', or use a loss that does, such as MSELossFlat', is_over: Any=...) -> Any:
    """Warn if, inside a `with` block, a loss or a metric compares each prediction with each target

    - `pred`: What the model returned
    - `yb`: Targets
    - `what`: What is computed, for the warning
    - `fix`: What else helps
    - `is_over`: Function that says that it has been computed
    """
