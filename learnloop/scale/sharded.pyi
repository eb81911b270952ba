# Written by `python -m tools.stubs` from `sharded.py`: methods that other modules patch on are here, too
"""Each process writes what it holds of the tensors, all at once, and any number of them reads it again"""

from typing import Any

__all__ = ['write_shards']

def write_shards(folder: Any, tensors: dict, team: Any) -> dict:
    """Write what each process holds of `tensors`, as files in `folder`, and a table of contents, `shards.json`

    - `folder`: New folder of a checkpoint, the same for all processes
    - `tensors`: By name; of a sharded one each process writes its part, of any other one process the whole
    - `team`: The processes

    Returns: Size and hash by name of a file, the same in all processes
    """
