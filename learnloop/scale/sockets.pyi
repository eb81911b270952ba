# Written by `python -m tools.stubs` from `sockets.py`: methods that other modules patch on are here, too
"""What connects this process with others, and how to cut it"""

from typing import Any

__all__ = ['connections', 'cut', 'open_ones']

def connections() -> dict:
    """Find the TCP connections of this process

    Returns: Inode -> the address here and the one there, each a host and a port; without one there, it waits for calls
    """

def cut(inodes: Any) -> Any:
    """Shut connections down, for both ends, whoever holds them

    - `inodes`: Those of connections
    """

def open_ones(inodes: Any) -> set:
    """Find which connections are open, without reading from them

    - `inodes`: Those of connections

    Returns: Of `inodes`, those whose other end is there
    """
