# Written by `python -m tools.stubs` from `facts.py`: methods that other modules patch on are here, too
"""Versions, device, settings, model, optimizer, data and callbacks of a run, as plain data that a file can hold"""

from typing import Any

__all__ = ['described', 'find_commit', 'run_facts', 'flat_facts']

def described(o: Any, depth: int=5) -> Any:
    """Describe `o` as plain data, the same in each process that makes it alike

    - `o`: Anything
    - `depth`: Containers and objects within each other of which more than the type is told
    """

def find_commit(folder: Any=None) -> str | None:
    """Find the commit that is checked out

    - `folder`: In a repository; None for the current one

    Returns: 40 or 64 digits; None if there is none
    """

def run_facts(learn: Any) -> dict:
    """Collect what a run is

    - `learn`: The learner, in a fit or outside of one

    Returns: Topic -> facts by name; JSON can hold all of it
    """

def flat_facts(facts: dict) -> dict:
    """Name each fact by its path

    - `facts`: As `run_facts` has them

    Returns: Name with dots -> a number, text or list
    """
