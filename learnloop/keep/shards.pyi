# Written by `python -m tools.stubs` from `shards.py`: methods that other modules patch on are here, too
"""Tensors that several processes wrote, each its part: found in a state, and read by any number of processes"""

from typing import Any

__all__ = ['take_shards', 'put_shards', 'copy_state', 'read_shards', 'digests', 'find_own', 'put_own']

def take_shards(state: dict) -> dict:
    """Take the tensors out of `state` that are sharded over processes

    - `state`: Tensors and plain data, nested

    Returns: The same with marks, and the tensors by name as `shards`
    """

def put_shards(o: Any, tensors: dict) -> Any:
    """Put tensors back in the places of their marks

    - `o`: What `take_shards` left, or a part of it
    - `tensors`: What it took, by name
    """

def copy_state(state: Any) -> Any:
    """Copy `state`

    - `state`: Tensors and plain data, nested
    """

def read_shards(folder: Any, rank: int | None=None) -> dict:
    """Read tensors that any number of processes wrote

    - `folder`: Of a checkpoint whose files were verified
    - `rank`: Read the tensors that this process had for itself; None for those of the whole run

    Returns: Whole tensors by name, on the CPU
    """

def digests(state: Any) -> Any:
    """Compute a checksum of each value in `state`, for a comparison with another process

    - `state`: Tensors and plain data, nested in dicts
    """

def find_own(state: dict, mine: dict, first: dict, at: tuple=()) -> Any:
    """Find what this process has otherwise than the first

    - `state`: Of this process
    - `mine`: Its `digests`
    - `first`: Those of the first process
    - `at`: Where `state` is in a larger one
    """

def put_own(state: dict, own: list, folder: Any) -> Any:
    """Change the state of the first process to that of another one

    - `state`: Of the first process, changed in place
    - `own`: What `find_own` found in another one
    - `folder`: Of the checkpoint, for messages
    """
