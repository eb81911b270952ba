# Written by `python -m tools.stubs` from `place.py`: methods that other modules patch on are here, too
"""A place, a pass through the data, and the plain engine: what the loop needs to begin anywhere"""

from learnloop.loop.engine import Engine
from typing import Any
from typing import NamedTuple

__all__ = ['PASS_FIELDS', 'Place', 'Pass', 'Plain']

PASS_FIELDS: dict

class Place(NamedTuple):
    """Where a fit is: the number of the epoch, what is next in it, and how many of its batches are done"""
    epoch: Any
    next: Any = ...
    batch: Any = ...

class Pass:
    """A pass through the batches of `dl`"""
    learn: Any
    dl: Any
    batches: Any
    teller: Any
    n_taken: int
    n_done: int
    is_over: bool
    at_exit: list
    begin: Any
    kept: Any
    rested_at: Any
    heard_at: Any
    def __init__(self, learn: Any, dl: Any) -> None:
        """- `learn`: The learner that takes them
        - `dl`: Loader: any iterable of batches
        """
    def __getstate__(self) -> Any: ...
    def close(self) -> Any:
        """Hold neither the loader nor what is taken from it"""
    def __enter__(self) -> Any: ...
    def __iter__(self) -> Any: ...
    def __next__(self) -> Any: ...
    def __exit__(self, kind: Any, e: Any, tb: Any) -> None: ...
    @property
    def at_rest(self) -> Any:
        """Is it between two batches?"""

class Plain(Engine):
    """The innermost engine: what happens where no other one does something else"""
    level: Any
    around: str
    def start(self, learn: Any, inner: Any) -> Any: ...
    def batches(self, learn: Any, p: Any, inner: Any) -> Any: ...
    def body(self, learn: Any, phase: Any, f: Any) -> Any: ...
