# Written by `python -m tools.stubs` from `team.py`: methods that other modules patch on are here, too
"""The processes of a run: who they are, where they meet, and how the error of one reaches all"""

from typing import Any

__all__ = ['PeerError', 'Team', 'find_team', 'leave_group']

class PeerError(RuntimeError):
    """Another process of the run failed, or is gone: the message says which, and how"""

class Team:
    """The processes of a run, on the default group of torch, which is made if there is none"""
    rank: Any
    world: Any
    group: Any
    flags: Any
    store: Any
    error: str
    runs: list
    n_meets: int
    seconds: float
    listeners: list
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
    def _check(self) -> Any: ...  # scale/team.py
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
    def fail(self, e: Any) -> Any:  # scale/team.py
        """Part from the others, telling them of `e`; or learn what parted them

        - `e`: An error in this process
        """
    def _ask(self, e: Any) -> Any:  # scale/team.py
        """What parted the processes, as an error"""
    def _hang_up(self) -> Any:  # scale/team.py
        """End what the others wait for, and give them time to read why"""
    @property
    def is_first(self) -> Any:
        """Does this process write, print, and decide?"""
    @property
    def broken(self) -> Any:
        """Has an error parted the processes?"""

def find_team(timeout: float=600.0) -> Team | None:
    """Find the team of this process, the same for all learners; it is made if processes were started together

    - `timeout`: Seconds that a process waits for the others, if the group is to be made

    Returns: None if this process is alone
    """

def leave_group() -> Any:
    """End the default group of this process, if it has one"""
