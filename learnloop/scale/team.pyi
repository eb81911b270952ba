# Written by `python -m tools.stubs` from `team.py`: methods that other modules patch on are here, too
"""The processes of a run: who they are, where they meet, and how the error of one reaches all"""

from torch import Tensor
from typing import Any

__all__ = ['PeerError', 'leave_group', 'Team', 'find_team']

class PeerError(RuntimeError):
    """Another process of the run failed, or is gone: the message says which, and how"""

def leave_group(e: Any=None) -> Any:
    """End the default group of this process, if it has one, leaving word for others that still wait

    - `e`: The error that ends this process; None for the one that Python has reported, if any
    """

class Team:
    """The processes of a run, on the default group of torch, which is made if there is none"""
    timeout: float
    pid: Any
    rank: Any
    world: Any
    group: Any
    flags: Any
    store: Any
    error: Any
    _in_first: bool
    runs: list
    n_meets: int
    seconds: float
    listeners: list
    _mine: Any
    _every: Any
    _sum: Any
    _row: Any
    _rows: list
    _port: Any
    _made: dict
    def __init__(self, timeout: float=600.0) -> None:
        """- `timeout`: Seconds that a process waits for the others"""
    def __repr__(self) -> Any: ...
    def __deepcopy__(self, memo: Any) -> Any:
        """- `memo`: there is one a process, and a copy of a learner is in it, too"""
    def meet(self, kind: str, cancel: str='', number: int=0) -> list:  # scale/team.py
        """Tell the others where this process is, and hear where they are

        - `kind`: Where this process is, in at most 32 bytes
        - `cancel`: The phase that it is about to end
        - `number`: Anything that the others may want to know

        Returns: A tuple of the three from each process, by rank
        """
    def _exchange(self, kind: Any) -> Any:  # scale/team.py
        """The rows of all processes, one after the other"""
    def _all_gather(self, rows: Any, t: Any, kind: Any) -> Any:  # scale/team.py
        """Have `t` of each process in `rows`"""
    def _wait(self, kind: Any, f: Any, *args: Any, **kwargs: Any) -> Any:  # scale/team.py
        """Wait for the collective that `f` starts"""
    def _look_up(self, kind: Any, waited: Any) -> Any:  # scale/team.py
        """See what keeps the others"""
    def gather(self, o: Any) -> list:  # scale/team.py
        """Give all processes what each of them has

        - `o`: Plain data and tensors

        Returns: By rank
        """
    def from_first(self, o: Any) -> Any:  # scale/team.py
        """Give all processes what the first one has

        - `o`: Plain data and tensors; only that of the first process counts
        """
    def first(self, f: Any, *args: Any) -> Any:  # scale/team.py
        """Run `f(*args)` in the first process alone; an error of it is one of all

        - `f`: Function, which may not meet the others
        - `args`: To `f`
        """
    def take_most(self, t: Tensor) -> Any:  # scale/team.py
        """Exchange numbers beside what else goes on, unmet: all processes do so in the same order

        - `t`: Numbers, in whose place come the largest that any process gave
        """
    def _find_made(self, before: Any) -> Any:  # scale/team.py
        """Find the connections that came with the groups, before anything is asked of them"""
    def _is_between(self, here: Any, there: Any) -> Any: ...  # scale/team.py
    def find_ends(self) -> Any:  # scale/team.py
        """Find the connections between processes of the run, those of groups that others have made, too"""
    def fail(self, e: Any) -> Any:  # scale/team.py
        """Part from the others, telling them of `e`; or learn what parted them

        - `e`: An error in this process
        """
    def _say(self, text: Any) -> Any:  # scale/team.py
        """Tell all what parted them; returns what was said first"""
    def _ask(self, e: Any) -> Any:  # scale/team.py
        """What parted the processes"""
    def _left(self, gone: Any) -> Any:  # scale/team.py
        """What is known of processes that are gone"""
    def _keep_groups(self) -> Any:  # scale/team.py
        """Have gloo's groups never be destroyed"""
    def _hang_up(self) -> Any:  # scale/team.py
        """End what the others wait for, and give them time to read why"""
    def _watch(self) -> Any:  # scale/team.py
        """End what waits for a process that has failed, where a cut connection doesn't: on accelerators"""
    @property
    def is_first(self) -> Any:
        """Does this process write, print, and decide?"""
    @property
    def broken(self) -> Any:
        """Has an error parted the processes?"""

def find_team(timeout: float=600.0) -> Team | None:
    """Find the team of this process, the same for all learners; it is made if processes were started together

    - `timeout`: Seconds that a process waits for the others, if the team is made by this call

    Returns: None if this process is alone
    """
