# Written by `python -m tools.stubs` from `names.py`: methods that other modules patch on are here, too
"""What other systems call their events, arguments, attributes and classes, and what that is called here"""

from learnloop.measure.table import Table
from typing import Any

__all__ = ['Name', 'names', 'find_names', 'tell', 'Elsewhere', 'NameTable']

Name: Any

def names() -> tuple:
    """Return all rows of the table

    Returns: `Name`s
    """

def find_names(kind: str, name: str, of: str='') -> list:
    """Find what `name` is

    - `kind`: 'event', 'argument', 'attribute' or 'class'
    - `name`: What it is called elsewhere
    - `of`: Of an argument: the function, whose own rows come before those of its like

    Returns: Rows, those first that say what it is here
    """

def tell(kind: str, name: str, of: str='') -> str:
    """Tell what `name` is called here

    - `kind`: 'event', 'argument', 'attribute' or 'class'
    - `name`: What it is called elsewhere
    - `of`: Of an argument: the function

    Returns: The end of an error message; `''` for a name that no system has
    """

class Elsewhere:
    """In place of an attribute that the trainers of other systems have: asked for, an error that tells what it is here"""
    name: str
    def __init__(self, name: str) -> None:
        """- `name`: Of the attribute"""
    def __get__(self, o: Any, cls: Any) -> Any: ...

class NameTable(Table):
    """The names of a system, and ours: text, and Markdown in notebooks"""
    head: Any
    names: list
    def __init__(self, system: str, *kinds: Any) -> None:
        """- `system`: As adapters have it, such as `Keras`
        - `kinds`: 'class', 'argument', 'attribute', 'event'; none for all but events, which the adapter's table has
        """
    def _with(self, code: Any) -> Any:
        """All rows, with names as `code` has them"""
    def _repr_markdown_(self) -> Any: ...
