# Written by `python -m tools.stubs` from `storage.py`: methods that other modules patch on are here, too
"""Checkpoints on disk: folders that are complete or don't exist, whatever happens meanwhile"""

from contextlib import contextmanager
from learnloop.measure.series import Part
from typing import Any
from typing import NamedTuple

__all__ = ['VERSION', 'to_plain', 'from_plain', 'HashingFile', 'Written', 'new_checkpoint', 'DamagedCheckpoint', 'misfit', 'as_number', 'Checkpoint', 'named_checkpoint', 'Checkpoints', 'list_checkpoints', 'newest_checkpoint', 'prune', 'locked_folder']

VERSION: int

def to_plain(o: Any, tensors: dict | None, at: str='', parts: dict | None=None) -> Any:
    """Take the tensors out of `o`, and write the rest as JSON knows it

    - `o`: Dicts, lists, tuples, sets, numbers, strings, None, tensors, NumPy's arrays and numbers, nested
    - `tensors`: Filled with the tensors, by their places; None to have numbers as text, and refuse tensors
    - `at`: Place of `o`, such as `callbacks.tracker.best`
    - `parts`: Filled with the closed parts of each `Series`, by file; None to write them with the rest
    """

def from_plain(o: Any, tensors: dict, part: Any=None) -> Any:
    """Put together again what `to_plain` took apart

    - `o`: What `to_plain` returned
    - `tensors`: And filled
    - `part`: Function from the name of a file to the `Part` in it, if there were `parts`
    """

class HashingFile:
    """A new file that knows its size and hash"""
    f: Any
    size: int
    _hash: Any
    _rest: Any
    _todo: Any
    _beside: Any
    def __init__(self, path: Any) -> None:
        """- `path`: Where it is written; it mustn't be there yet"""
    def _hash_all(self) -> Any: ...
    def write(self, b: Any) -> int:
        """Write `b`

        - `b`: Bytes

        Returns: How many
        """
    def flush(self) -> Any:
        """Hand on what is buffered"""
    def _hand_on(self) -> Any: ...
    def close(self) -> dict:  # keep/storage.py
        """Wait until it is on the disk

        Returns: Its size in bytes, and its hash
        """

class Written(NamedTuple):
    """A file for a checkpoint that is there already, beside the checkpoints of the run"""
    path: Any
    size: Any
    blake2b: Any

@contextmanager
def new_checkpoint(folder: Any, step: int, **info: Any) -> Any:
    """Write a checkpoint, in a `with` block: all of it is there afterwards or, after an error, none

    - `folder`: Where checkpoints are; made if need be
    - `step`: Number of optimizer steps, its name
    - `info`: Plain data for its manifest
    """

class DamagedCheckpoint(ValueError):
    """A checkpoint isn't what was written"""

def misfit(o: Any, schema: Any, at: str='') -> str | None:
    """Find the first place where `o` isn't as `schema` has it, and say what would be

    - `o`: What was read
    - `schema`: What it should be like
    - `at`: Its place, for the answer

    Returns: None if it fits
    """

def as_number(o: Any) -> float | None:
    """Read `o` as a float

    - `o`: Anything that JSON knows

    Returns: None if it is no number, or too large for a float
    """

class Checkpoint:
    """A checkpoint on disk: its path and what its manifest says"""
    path: Any
    manifest: dict
    damage: str
    def __init__(self, path: Any) -> None:
        """- `path`: Its folder"""
    def __repr__(self) -> Any: ...
    @property
    def _name(self) -> Any:
        """The parts of its name, unless somebody gave it another"""
    @property
    def has_own_name(self) -> Any:
        """Is its name the one that it was written with, so that its parent is the folder of its run?"""
    @property
    def step(self) -> Any:
        """Number of optimizer steps"""
    @property
    def consistent(self) -> Any:
        """Was it taken between two batches, so that a fit can go on from it?"""
    @property
    def epoch(self) -> Any:
        """Number, as in the table, of the epoch that it was taken in, or at the end of; None before the first"""
    def _read_manifest(self) -> Any: ...  # keep/storage.py
    def verify(self) -> dict:  # keep/storage.py
        """Check sizes and hashes of all files; a `DamagedCheckpoint` names the first that isn't what was written

        Returns: The manifest
        """
    def read(self, name: str, device: Any=None) -> Any:  # keep/storage.py
        """Read one of its files: tensors and plain data, never code

        - `name`: Of a file in it
        - `device`: Where its tensors are put; None for the CPU
        """
    def part(self, name: str) -> Part:  # keep/storage.py
        """Read a closed part of a series

        - `name`: Of its file
        """
    def plain(self) -> dict:  # keep/storage.py
        """Read the state that isn't weights

        Returns: By name: `loop`, `callbacks`, …
        """
    @property
    def metrics(self) -> Any:
        """Latest values of loss and metrics, by name"""
    @property
    def size(self) -> Any:
        """Bytes"""

def named_checkpoint(what: str, v: Any, must: str) -> Checkpoint | None:
    """Find the checkpoint that `v` names, rather than the folder of a run

    - `what`: Name of the argument, for the message
    - `v`: Its value: a path or a `Checkpoint`
    - `must`: What it must be, in words

    Returns: None if it is another path
    """

class Checkpoints(list):
    """A list of `Checkpoint`s, a table in notebooks and in print"""
    head: Any
    def rows(self) -> Any:
        """Make the rows of the table"""
    def __repr__(self) -> Any: ...
    def _repr_markdown_(self) -> Any: ...

def list_checkpoints(folder: Any, verify: bool=True) -> Checkpoints:
    """List the checkpoints in `folder`

    - `folder`: Of a run
    - `verify`: Check the hashes of all files, which takes reading them?

    Returns: Oldest first; a damaged one says so in `damage`
    """

def newest_checkpoint(folder: Any) -> Checkpoint | None:
    """Find the newest checkpoint that is sound and was taken between two batches

    - `folder`: Of a run

    Returns: Verified; None if there is none at all
    """

def prune(folder: Any, keep: int | None=1, best: int=0, monitor: str | None=None, better: str | None=None, sound: Any=None) -> list:
    """Delete checkpoints that needn't be kept

    - `folder`: Of a run
    - `keep`: How many of the newest are kept; None for all
    - `best`: How many of the best are kept as well
    - `monitor`: The value in their metrics that says which are best
    - `better`: Which value of it is better: 'less' or 'more'; None for a loss
    - `sound`: Function of a `Checkpoint`: can it be relied on? None to verify it

    Returns: The `Checkpoint`s that were deleted
    """

@contextmanager
def locked_folder(folder: Any) -> Any:
    """Have `folder` to oneself in a `with` block, what a killed run left there put right

    - `folder`: Of a run; made if need be
    """
