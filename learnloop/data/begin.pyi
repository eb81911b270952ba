# Written by `python -m tools.stubs` from `begin.py`: methods that other modules patch on are here, too
"""How a pass through a loader begins at any batch, with the same random numbers"""

from torch.utils.data import DataLoader
from torch.utils.data import Dataset
from typing import Any

__all__ = ['SeededItems', 'items_draw', 'batches_draw', 'sampler_draws', 'goes_by_state', 'loader_state', 'persistent', 'start_workers', 'why_inexact', 'begin_at']

class SeededItems(Dataset):
    """The items of the dataset `ds`, each with random numbers of its own, from `seed`, the epoch and its index"""
    ds: Any
    seed: Any
    epoch: Any
    def __init__(self, ds: Any, seed: int=0) -> None:
        """- `ds`: Dataset with numbered items
        - `seed`: Any whole number
        """
    def __len__(self) -> Any: ...
    def set_epoch(self, epoch: int) -> Any:
        """Have items as they are in `epoch`

        - `epoch`: Of training, counted over all fits
        """
    def __getitem__(self, i: Any) -> Any: ...

def items_draw(dl: DataLoader) -> bool:
    """Whether items of `dl` may draw random numbers from the generators that a fit uses

    - `dl`: A loader
    """

def batches_draw(dl: DataLoader) -> bool:
    """Whether making a batch of `dl` from its indices may draw random numbers

    - `dl`: A loader
    """

def sampler_draws(dl: DataLoader) -> bool:
    """Whether samplers of `dl` may draw random numbers in the middle of a pass

    - `dl`: A loader
    """

def goes_by_state(dl: Any) -> bool:
    """Whether the state that `dl` has of itself is what a fit goes on from, rather than going through its batches again

    - `dl`: Loader: any iterable of batches
    """

def loader_state(dl: Any) -> dict | None:
    """Return the state of the loader `dl` itself

    - `dl`: Loader: any iterable of batches

    Returns: None if it has none after all: that of a loader inside it, for instance, which has none
    """

def persistent(dl: Any) -> list:
    """List the loaders in `dl` whose workers persist

    - `dl`: Loader: any iterable of batches

    Returns: Of `DataLoader`s; several if `dl` goes through several
    """

def start_workers(dl: Any) -> bool:
    """Start the workers of `dl`, if they persist and are not there yet

    - `dl`: Loader: any iterable of batches

    Returns: Were they started now?
    """

def why_inexact(dl: Any) -> str:
    """Tell why a fit with `dl` can't be gone on with exactly in the middle of an epoch

    - `dl`: Loader to train on: any iterable of batches

    Returns: '' if nothing is known against it
    """

def begin_at(dl: Any, n: int, state: Any=None, had_workers: bool=False, rewind: Any=..., first: Any=..., want: dict | None=None, put: Any=...) -> tuple:
    """Begin a pass through `dl` at batch `n`

    - `dl`: Loader: any iterable of batches
    - `n`: Batches that are done
    - `state`: Of the loader itself, if it goes by that
    - `had_workers`: Were workers that persist there already, when the pass began?
    - `rewind`: Sets the random numbers that the pass began with
    - `first`: Sets those before its first batch, where others drew in between
    - `want`: What was noted of one of those batches, for `replay`; None: nothing is compared
    - `put`: Sets random numbers: those that this batch was made with, if they were noted

    Returns: An iterator, and a string that says how it came there
    """
