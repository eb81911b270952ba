# Written by `python -m tools.stubs` from `place.py`: methods that other modules patch on are here, too
"""A place, a pass through the data, and who keeps a fit: what the loop needs to begin anywhere"""

from typing import Any
from typing import NamedTuple

__all__ = ['PASS_FIELDS', 'Place', 'Pass', 'Keeper']

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
    rested_at: Any
    heard_at: Any
    def __init__(self, learn: Any, dl: Any) -> None:
        """- `learn`: The learner that takes them
        - `dl`: Loader: any iterable of batches
        """
    def __getstate__(self) -> Any: ...
    def close(self) -> Any:
        """Hold neither the loader nor what is taken from it"""
    def begin(self) -> Any:
        """Return an iterator over the batches that are to come"""
    def __enter__(self) -> Any: ...
    def __iter__(self) -> Any: ...
    def __next__(self) -> Any: ...
    def __exit__(self, kind: Any, e: Any, tb: Any) -> None: ...
    def ahead(self, batches: Any) -> Any:  # loop/place.py
        """Have `batches` made ahead, if a callback does that

        - `batches`: Iterator, as it was begun
        """
    @property
    def at_rest(self) -> Any:
        """Is it between two batches?"""

class Keeper:
    """Keeps nothing: what a learner asks of whoever keeps its fits"""
    resuming: bool
    learn: Any
    def __init__(self, learn: Any) -> None:
        """- `learn`: The learner whose fits it keeps"""
    def running(self, is_fit: bool=False) -> Any:
        """Have signals wait for the end of a batch, inside a `with` block

        - `is_fit`: Is it a fit that can be gone on with, and not an evaluation, or what will be undone?
        """
    def enter(self, args: dict, resume: Any=None, accept: Any=()) -> list:
        """Get ready for a fit

        - `args`: Arguments of the fit
        - `resume`: What it is to go on from, as `learn.fit` was given it
        - `accept`: What may be different there

        Returns: Callbacks that it needs
        """
    def start(self) -> Place:
        """Tell where the fit begins, before any of its callbacks hears of it

        Returns: Where the fit begins
        """
    def at(self, where: str) -> Any:
        """Hear that the fit has come there

        - `where`: 'fit' when `before_fit` is over, and 'epoch' and 'validate' before either
        """
    def mk_pass(self, dl: Any) -> Pass:
        """Make a pass through `dl`

        - `dl`: Loader: any iterable of batches
        """
    def between(self) -> Any:
        """Hear that the learner is between two batches"""
    def after_between(self) -> Any:
        """Hear that callbacks have done what they do between two batches"""
    def leave(self) -> Any:
        """The fit is over"""
