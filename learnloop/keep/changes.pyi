# Written by `python -m tools.stubs` from `changes.py`: methods that other modules patch on are here, too
"""Two descriptions of a run compared: which differences a resumed fit refuses, and which it warns of"""

from typing import Any
from typing import NamedTuple

__all__ = ['Change', 'changed_facts', 'said', 'names_of', 'is_accepted']

class Change(NamedTuple):
    """A fact that differs from what it was"""
    name: Any
    was: Any
    now: Any
    is_refused: Any
    def __str__(self) -> Any: ...

def changed_facts(old: dict, new: dict) -> list:
    """List the facts that differ, as far as the result of a fit depends on them

    - `old`: Facts of the run that was saved, as `about_run` collects them
    - `new`: Facts of this one

    Returns: A `Change` for each
    """

def said(changes: Any) -> str:
    """Put `changes` in one line

    - `changes`: As `changed_facts` lists them
    """

def names_of(changes: Any) -> list:
    """List the names by which `changes` can be accepted: of more than six, their topics

    - `changes`: As `changed_facts` lists them

    Returns: Names for `accept`
    """

def is_accepted(name: str, accept: Any) -> bool:
    """Tell whether `accept` has `name`, or the beginning of it

    - `name`: Of a fact
    - `accept`: Names; that of a topic accepts all facts in it
    """
