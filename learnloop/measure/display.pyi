# Written by `python -m tools.stubs` from `display.py`: methods that other modules patch on are here, too
"""What showing a run takes: durations as people write them, matplotlib if it is there, one process that speaks"""

from typing import Any

__all__ = ['format_time', 'short_time', 'is_main_process', 'pyplot']

def format_time(s: float) -> str:
    """Write a duration of `s` seconds

    - `s`: Seconds

    Returns: `mm:ss`, or `h:mm:ss`
    """

def short_time(s: float) -> str:
    """Write a short duration of `s` seconds, in the unit that fits

    - `s`: Seconds

    Returns: `12.3 µs`, `4.56 ms`, `7.89 s`; from a minute on as `format_time` has it
    """

def is_main_process() -> bool:
    """Is this the only process, or the first of several?"""

def pyplot() -> Any:
    """`matplotlib.pyplot`, imported now"""
