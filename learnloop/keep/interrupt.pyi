# Written by `python -m tools.stubs` from `interrupt.py`: methods that other modules patch on are here, too
"""Ctrl-C and SIGTERM end a run between two batches, and nothing is half done"""

from contextlib import contextmanager
from typing import Any
import asyncio

__all__ = ['Terminated', 'Interrupted', 'Signals']

class Terminated(SystemExit):
    """The process was told to end by SIGTERM: left to itself, it exits with code 143"""
    def __init__(self) -> None: ...
    def __str__(self) -> Any: ...

class Interrupted(KeyboardInterrupt, asyncio.CancelledError):
    """Ctrl-C in a fit in a task of asyncio: it ends the task, and not the event loop"""

class Signals:
    """The signal handlers of a learner, while it runs"""
    learn: Any
    is_fit: bool
    pid: Any
    state: str
    old: dict
    late: list
    due: Any
    raised: bool
    wants_save: bool
    def __init__(self, learn: Any, is_fit: bool) -> None:
        """- `learn`: The learner that runs
        - `is_fit`: Is it a fit that can be gone on with?
        """
    @property
    def wish(self) -> int:
        """What it wants of all processes: 1 to save, 2 and 3 to end as by Ctrl-C and by SIGTERM; 0 for nothing"""
    def agree(self, wish: int) -> BaseException:
        """Have the run end as `wish` says, 2 or 3

        - `wish`: As `wish` of any process

        Returns: The same of all processes: none of them takes it for an error of another
        """
    def loaders(self) -> list:
        """The loaders whose workers may die

        Returns: None for what there is not
        """
    def take(self, name: str) -> Any:
        """Handle the signal `name`, unless it is ignored

        - `name`: Such as 'SIGINT'; of a signal that this system doesn't have, nothing is taken
        """
    def _install(self, saves: Any) -> Any: ...  # keep/interrupt.py
    def _give_back(self) -> Any: ...  # keep/interrupt.py
    def _put_back(self, o: Any, h: Any) -> Any: ...  # keep/interrupt.py
    def __call__(self, signum: Any, frame: Any) -> Any: ...  # keep/interrupt.py
    def must_wait(self, in_callback: bool=False) -> bool:  # keep/interrupt.py
        """Whether a batch, or an evaluation that a callback runs, has to end first, of this learner or of one around it

        - `in_callback`: Does a callback of this learner run an evaluation of another one?
        """
    def _is_waiting(self) -> Any:  # keep/interrupt.py
        """Does the learner wait for a batch, and can that be ended?"""
    def _ends_evaluation(self) -> Any:  # keep/interrupt.py
        """Does the run stop after the evaluation of a callback, rather than after a batch?"""
    def _can_resume(self) -> Any:  # keep/interrupt.py
        """Can `learn.resume()` continue the fit? After the last epoch, nothing is left"""
    def _end(self, e: Any, signum: Any) -> Any:  # keep/interrupt.py
        """Raise `e`, at once or between two batches"""
    def between(self) -> Any:  # keep/interrupt.py
        """Raise what is due, unless a batch or a callback's evaluation has to end first; several processes agree before"""
    def _bury(self) -> Any: ...  # keep/interrupt.py
    @contextmanager
    def handled(self, saves: bool) -> Any:  # keep/interrupt.py
        """Have signals wait, inside a `with` block

        - `saves`: Is SIGUSR1 to have something saved?
        """
