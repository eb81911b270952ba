# Written by `python -m tools.stubs` from `watch.py`: methods that other modules patch on are here, too
"""Which of the things that a model reads and writes are no inputs of a compiled graph: found before one is trusted, and looked at before each step"""

from torch import nn
from typing import Any

__all__ = ['Places', 'tried', 'why_hooked', 'Watch', 'why_flow']

class Places:
    """Where `model` and `loss_func` may read or write what is no tensor of theirs"""
    model: Any
    loss_func: Any
    own: dict
    most: Any
    names: Any
    closed: list
    seen: dict
    spaces: list
    globals: dict
    modules: Any
    boxes: Any
    cells: Any
    tensors: Any
    arrays: Any
    gens: list
    drawn: list
    asks: list
    def __init__(self, model: nn.Module, loss_func: Any=None) -> None:
        """- `model`: Model whose forward is followed
        - `loss_func`: Function, partial, method or module that is called after it
        """
    def look(self, o: Any, at: str) -> Any:
        """Note what may change in `o`, and in what it holds

        - `o`: Any object
        - `at`: Where it was found
        """
    def _space(self, o: Any, vals: Any, names: Any, say: Any) -> Any:  # scale/watch.py
        """Note values by name, and look at them

        - `o`: Whose they are
        - `vals`: Values by name, to look at
        - `names`: Those that matter; None for all
        - `say`: Function of a name that tells where it is
        """

class tried:
    """Find what forward and loss do, in the body, that a graph would not: `why`; all is put back as it was"""
    model: Any
    loss_func: Any
    why: str
    places: Any
    kept: list
    modes: Any
    ears: Any
    ends: Any
    asked: Any
    def __init__(self, model: nn.Module, loss_func: Any=None) -> None:
        """- `model`: Model that the body calls, eagerly or while it is traced
        - `loss_func`: What it calls after that
        """
    def __enter__(self) -> Any: ...
    def __exit__(self, *exc: Any) -> None: ...

def why_hooked(model: nn.Module, loss_func: Any=None) -> str:
    """Tell which hooks would run in a step

    - `model`: Model whose modules and weights are looked at
    - `loss_func`: Loss function, which may be a module, too

    Returns: Such as 'layer1 has forward hooks'; '' if there are none
    """

class Watch:
    """Tell whether what `model` and `loss_func` depend on, beside their inputs, is as it was when this was made"""
    places: Any
    getters: list
    dicts: list
    views: Any
    empty: list
    sized: Any
    names: list
    weights: list
    spaces: Any
    cells: list
    tensors: list
    arrays: list
    flags: list
    modes: Any
    old: Any
    hooked: Any
    kept_spaces: list
    kept_boxes: list
    kinds: list
    is_same: Any
    def __init__(self, model: nn.Module, loss_func: Any=None) -> None:
        """- `model`: Model whose attributes, hooks, weights and globals are watched
        - `loss_func`: What is called after it
        """
    def _note(self) -> Any:  # scale/watch.py
        """Note how all is now"""
    def _rare(self) -> Any: ...  # scale/watch.py
    def changed(self) -> str:  # scale/watch.py
        """Tell what has changed since this was made

        Returns: Where something is different now, such as `layer2.p`; '' if all is as it was
        """
    def _what(self) -> Any:  # scale/watch.py
        """Find what has changed, by name; if nothing has, note how it is"""
    def leave_out(self, tensors: Any) -> Any:  # scale/watch.py
        """Have what is in `tensors` change as it likes

        - `tensors`: Those that need not be watched
        """

def why_flow(e: BaseException) -> str:
    """Tell whether `e` comes of code that asks for values, and of which line

    - `e`: What was raised while a graph was made

    Returns: A sentence with the line of the user's code; '' for an error of another kind
    """
