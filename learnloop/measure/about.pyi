# Written by `python -m tools.stubs` from `about.py`: methods that other modules patch on are here, too
"""Versions, device, settings, model, optimizer, data and callbacks of a run, as plain data that a file can hold"""

from typing import Any

__all__ = ['find_commit', 'run_facts', 'flat_facts', 'about_run']

def find_commit(folder: Any=None) -> str | None:
    """Find the commit that is checked out

    - `folder`: In a repository; None for the current one

    Returns: 40 or 64 digits; None if there is none
    """

def run_facts(learn: Any) -> dict:
    """Describe the run that `learn` is for

    - `learn`: The learner, in a fit or outside of one

    Returns: Topic -> facts by name; JSON can hold all of it
    """

def flat_facts(facts: dict) -> dict:
    """Name each fact by its path

    - `facts`: As `run_facts` has them

    Returns: Name with dots -> a number, text or list
    """

def about_run(learn: Any) -> dict:
    """Describe the run as far as training depends on it, with a hash of some items

    - `learn`: The learner, in a fit or outside of one

    Returns: Topic -> facts by name, plain data
    """
