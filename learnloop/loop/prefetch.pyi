# Written by `python -m tools.stubs` from `prefetch.py`: methods that other modules patch on are here, too
"""While a batch is trained on, the next one is made in a thread, pinned and moved"""

from learnloop.loop.callback import Callback
from typing import Any
import torch

__all__ = ['Prefetch', 'why_not_ahead', 'mover']

class Prefetch(Callback):
    """Have the next batches made in a thread, pinned and moved, while one is used"""
    read_only: bool
    rank_invariant: bool
    n: Any
    draws: bool | None
    _told: set
    def __init__(self, n: int=1, draws: bool | None=None) -> None:
        """- `n`: How many batches are made ahead: each takes memory
        - `draws`: May making a batch draw random numbers? None: by what is known of the loader
        """
    def take_ahead(self, p: Any, batches: Any) -> Any:
        """Have `batches` made ahead, if the pass is the same with that

        - `p`: The `Pass` that begins
        - `batches`: Its iterator
        """
    def _tell(self, dl: Any, why: Any) -> Any:  # loop/prefetch.py
        """Say once of each kind of loader why nothing is made ahead"""
    def _wrap(self, p: Any, device: Any, batches: Any) -> Any: ...  # loop/prefetch.py

def why_not_ahead(dl: Any, draws: bool | None=None) -> str:
    """Tell why batches of `dl` can't be made ahead with everything else as it is

    - `dl`: Loader: any iterable of batches
    - `draws`: False: making a batch draws nothing, whatever it may be

    Returns: '' if they can
    """

class _Ahead:
    """The batches of `it`, the next `depth` of which are made in a thread; from number `limit` on none is"""
    it: Any
    depth: Any
    i: Any
    limit: Any
    checks: Any
    mover: Any
    asked: Any
    first: Any
    is_closed: bool
    thread: Any
    todo: Any
    made: Any
    rows: Any
    def __init__(self, it: Any, depth: Any, i: Any, limit: Any, checks: Any, mover: Any) -> None: ...
    def __iter__(self) -> Any: ...
    def __next__(self) -> Any: ...
    def ask(self) -> Any:
        """Ask the thread for so many that `depth` are on their way"""
    def close(self) -> Any:
        """End the thread, when it is done with the batch that it makes"""
    def make(self) -> Any: ...
    def _take(self) -> Any: ...  # loop/prefetch.py
    def _start(self) -> Any: ...  # loop/prefetch.py
    @property
    def takes_from(self) -> Any: ...

def mover(device: torch.device) -> Any:
    """Find what moves batches to `device` ahead

    - `device`: Where batches go
    """
