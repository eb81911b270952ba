# Written by `python -m tools.stubs` from `share.py`: methods that other modules patch on are here, too
"""Of each batch the part of this process: the same batches, in the same order, for any number of processes"""

from typing import Any

__all__ = ['part_of', 'is_sharded', 'share']

def part_of(n: int, rank: int, world: int) -> slice:
    """Say which of `n` items are for the process `rank`

    - `n`: Items
    - `rank`: Number of the process
    - `world`: How many there are
    """

class _Passing:
    """A loader that takes from another, `dl`, and has the state of that, if it has one"""
    passes_on: bool
    def __getattr__(self, k: Any) -> Any: ...
    def _state_dict(self) -> Any: ...
    def _load_state_dict(self, sd: Any) -> Any: ...
    @property
    def resumes_exactly(self) -> Any: ...

class _Narrowed(_Passing):
    """Of each batch of the loader `dl`, or of `pool` of them together, the part of a process"""
    leaves_out: Any
    dl: Any
    team: Any
    training: Any
    pool: Any
    count: Any
    rank: Any
    world: Any
    crc: int
    size: Any
    has_warned: bool
    is_sure: Any
    rngs: Any
    stream: Any
    begins_at: Any
    def __init__(self, dl: Any, team: Any, training: Any, pool: Any, count: Any) -> None: ...
    def __len__(self) -> Any: ...
    def __iter__(self) -> Any: ...
    def n_items(self, i: Any) -> Any:
        """Number of items of the last batch, in all processes"""
    def _parts(self, batches: Any) -> Any: ...  # scale/share.py
    def _take(self, batches: Any) -> Any: ...  # scale/share.py
    def _state_dict(self) -> Any: ...  # scale/share.py
    def _load_state_dict(self, sd: Any) -> Any: ...  # scale/share.py

def is_sharded(dl: Any) -> bool:
    """Whether `dl` gives each process batches of its own

    - `dl`: Loader: any iterable of batches
    """

def share(dl: Any, team: Any, training: bool, per_process: bool=False, count: Any=...) -> Any:
    """Make a loader of the parts of `dl` that are for this process

    - `dl`: Loader: any iterable of batches
    - `team`: The processes: has `rank`, `world`, `from_first` and `gather`
    - `training`: Is it for training? Then a batch with fewer items than processes is left out
    - `per_process`: Are batches those of a process? Then those of a step are put together
    - `count`: Function of a batch that returns the number of its items
    """
