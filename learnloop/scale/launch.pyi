# Written by `python -m tools.stubs` from `launch.py`: methods that other modules patch on are here, too
"""A function in several processes, from a notebook or a script, and what came of it"""

from typing import Any

__all__ = ['launch']

class _Crew:
    """The processes of a launch"""
    children: list
    store: Any
    def __init__(self, f: Any, args: Any, n: Any, folder: Any) -> None: ...
    @property
    def left(self) -> Any: ...
    @property
    def failed(self) -> Any: ...
    def signal(self, sig: Any) -> Any: ...
    def look(self, seconds: Any) -> Any:
        """Take what comes from the children, waiting for it up to `seconds`"""
    def end(self) -> Any:
        """End those that are left"""
    def _run(self, timeout: Any) -> Any:  # scale/launch.py
        """Wait until all are over, or one has failed"""
    def _late(self, timeout: Any) -> Any:  # scale/launch.py
        """The error of processes that take too long, with where they are"""
    def _results(self) -> Any:  # scale/launch.py
        """What the function returned, by rank; or raise what went wrong"""

def launch(f: Any, *args: Any, n: int=2, timeout: float | None=None) -> dict:
    """Run `f(*args)` in `n` processes that can train together

    - `f`: Function
    - `args`: To `f`
    - `n`: Processes
    - `timeout`: Seconds after which they are ended; None to wait as long as it takes

    Returns: What `f` returned, by rank
    """
