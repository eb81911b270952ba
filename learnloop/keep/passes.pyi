# Written by `python -m tools.stubs` from `passes.py`: methods that other modules patch on are here, too
"""Passes that begin in the middle: how a fit that goes on comes to the batch that is next, with the same random numbers"""

from learnloop.loop.place import Pass
from torch.utils.data import DataLoader
from torch.utils.data import Dataset
from typing import Any

__all__ = ['SeededItems', 'random_states', 'set_random_states', 'items_draw', 'batches_draw', 'goes_by_state', 'persistent', 'start_workers', 'why_inexact', 'begin_at', 'KeptPass', 'copy_batch']

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

def random_states(learn: Any) -> dict:
    """Read the states of all generators that training draws from

    - `learn`: A learner

    Returns: By the name of the generator
    """

def set_random_states(learn: Any, states: dict) -> Any:
    """Have the generators in `states` as they were

    - `learn`: A learner
    - `states`: By the name of the generator
    """

def items_draw(dl: DataLoader) -> bool:
    """Whether items of `dl` may draw random numbers from the generators that a fit uses

    - `dl`: A loader
    """

def batches_draw(dl: DataLoader) -> bool:
    """Whether making a batch of `dl` from its indices may draw random numbers

    - `dl`: A loader
    """

def goes_by_state(dl: Any) -> bool:
    """Whether the state that `dl` has of itself is what a fit goes on from, rather than going through its batches again

    - `dl`: Loader: any iterable of batches
    """

def persistent(dl: Any) -> Any:
    """Find the loader in `dl` whose workers persist

    - `dl`: Loader: any iterable of batches
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

def begin_at(dl: Any, n: int, state: Any=None, had_workers: bool=False, rewind: Any=...) -> tuple:
    """Begin a pass through `dl` at batch `n`

    - `dl`: Loader: any iterable of batches
    - `n`: Batches that are done
    - `state`: Of the loader itself, if it goes by that
    - `had_workers`: Were workers that persist there already, when the pass began?
    - `rewind`: Sets the random numbers that the pass began with

    Returns: An iterator, and a string that says how it came there
    """

class KeptPass(Pass):
    """A pass that begins where the fit goes on, with the random numbers that it began with the first time"""
    keeper: Any
    n_taken: Any
    n_done: Any
    heard_at: Any
    def __init__(self, learn: Any, dl: Any, keeper: Any) -> None:
        """- `learn`: The learner that takes its batches
        - `dl`: Loader: any iterable of batches
        - `keeper`: Who keeps the fit, and its random numbers
        """
    def begin(self) -> Any: ...
    def _go_on(self, origin: Any) -> Any:  # keep/passes.py
        """Come to the batch that is next, and have all state as it was there"""
    def _careful(self, batches: Any) -> Any:  # keep/passes.py
        """`batches`, made with care; None where no code that may draw random numbers makes them in this process"""
    @property
    def making(self) -> Any:  # keep/passes.py
        """What makes the batch that is being made, None if there is none"""

def copy_batch(b: Any) -> Any:
    """Copy the tensors of `b`

    - `b`: A batch: tensors in any nesting
    """
