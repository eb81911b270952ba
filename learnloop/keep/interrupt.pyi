# Written by `python -m tools.stubs` from `interrupt.py`: methods that other modules patch on are here, too
"""Ctrl-C and SIGTERM end a run between two batches, and nothing is half done"""

from typing import Any
import asyncio

__all__ = ['Terminated', 'Interrupted']

class Terminated(SystemExit):
    """The process was told to end by SIGTERM: left to itself, it exits with code 143"""
    def __init__(self) -> None: ...
    def __str__(self) -> Any: ...

class Interrupted(KeyboardInterrupt, asyncio.CancelledError):
    """Ctrl-C in a fit in a task of asyncio: it ends the task, and not the event loop"""

class _Signals:
    """The handlers of a learner, while it runs"""
    learn: Any
    pid: Any
    state: str
    old: dict
    late: list
    due: Any
    raised: bool
    is_fit: Any
    def __init__(self, learn: Any) -> None: ...
    def loaders(self) -> Any: ...
    def take(self, name: Any) -> Any: ...
    def install(self) -> Any: ...
    def give_back(self) -> Any: ...
    def __call__(self, signum: Any, frame: Any) -> Any: ...  # keep/interrupt.py
    def _inside(self) -> Any:  # keep/interrupt.py
        """Is a batch under way, of this learner or of one in whose callbacks it runs?"""
    def _end(self, e: Any, signum: Any) -> Any:  # keep/interrupt.py
        """Raise `e`, at once or between two batches"""
    def _halt(self) -> Any: ...  # keep/interrupt.py
    def _bury(self) -> Any: ...  # keep/interrupt.py
    def _save(self) -> Any: ...  # keep/interrupt.py
