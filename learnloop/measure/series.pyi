# Written by `python -m tools.stubs` from `series.py`: methods that other modules patch on are here, too
"""Lists that grow for as long as a run, of which a checkpoint writes each part once"""

from collections.abc import Sequence
from contextlib import contextmanager
from typing import Any

__all__ = ['Series', 'Frozen', 'Part', 'shared_parts', 'Scalars']

class Series(list):
    """A list of plain data that grows at its end, of which checkpoints write each part once"""
    part: int
    merge: int
    most: Any
    _closed: Any
    insert: Any
    pop: Any
    remove: Any
    clear: Any
    sort: Any
    reverse: Any
    def __init__(self, vals: Any=(), closed: Any=()) -> None:
        """- `vals`: Numbers, or other plain data
        - `closed`: `Part`s that come before them
        """
    def frozen(self) -> Frozen:
        """What it is now, however it grows

        Returns: To be saved, and to make a `Series` of again
        """
    def state(self) -> list|Frozen:
        """What it is now, for a `state_dict`: a list or, inside `shared_parts`, what `frozen` returns

        Returns: Plain data
        """
    def _merged(self, parts: Any) -> Any: ...
    def __reduce__(self) -> Any: ...
    def end_with(self, vals: Any, n: int) -> Any:  # measure/series.py
        """Have `vals` after the first `n` values

        - `vals`: Values
        - `n`: After so many, in place of what is there
        """

class Frozen(Sequence):
    """What a `Series` was at some time: its closed parts, not copied, and the rest"""
    parts: Any
    rest: Any
    def __init__(self, parts: Any, rest: Any) -> None:
        """- `parts`: `Part`s
        - `rest`: List of what comes after them
        """
    def frozen(self) -> Sequence:
        """Itself, as it doesn't change"""
    def __len__(self) -> Any: ...
    def __iter__(self) -> Any: ...
    def __getitem__(self, i: Any) -> Any: ...
    def __eq__(self, o: Any) -> Any: ...
    def __repr__(self) -> Any: ...
    def __deepcopy__(self, memo: Any) -> Any: ...

class Part(tuple):
    """A closed part of a `Series`: it doesn't change any more"""
    file: Any

@contextmanager
def shared_parts() -> Any:
    """Have the state of a `Series` hand out closed parts as they are, inside a `with` block: for who only writes them"""

class Scalars:
    """A list of scalars that stay on their device, in blocks, until someone looks"""
    _done: Any
    block: int
    _new: list
    _blocks: list
    def __init__(self, vals: Any=(), block: int=256) -> None:
        """- `vals`: Numbers to begin with
        - `block`: How many to stack into one tensor
        """
    def append(self, v: Any) -> Any:
        """Add `v`, without waiting for it

        - `v`: Tensor without graph, to be averaged if it has several elements; or a number
        """
    def _stack(self) -> Any: ...
    def tolist(self) -> Series:
        """Look: fetch what is new from the device

        Returns: Floats; the same `Series` each time, longer
        """
    def state(self) -> list | Frozen:
        """What it is now, for a `state_dict`

        Returns: Plain data
        """
    def __iter__(self) -> Any: ...
    def __iadd__(self, vals: Any) -> Any: ...
    def __len__(self) -> Any: ...
    def end_with(self, vals: Any, n: int) -> Any:  # measure/series.py
        """Have `vals` after the first `n` values

        - `vals`: Numbers
        - `n`: After so many, in place of what is there
        """
