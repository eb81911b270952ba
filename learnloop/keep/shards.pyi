# Written by `python -m tools.stubs` from `shards.py`: methods that other modules patch on are here, too
"""Tensors that several processes wrote, each its part: found in a state, and read by any number of processes"""

from typing import Any

__all__ = ['take_shards', 'put_shards', 'read_shards']

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

def read_shards(folder: Any) -> dict:
    """Read tensors that any number of processes wrote

    - `folder`: Of a checkpoint whose files were verified

    Returns: Whole tensors by name, on the CPU
    """
