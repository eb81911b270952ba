# Written by `python -m tools.stubs` from `show.py`: methods that other modules patch on are here, too
"""The loop drawn: phases in phases, and in each event the callbacks that will run"""

from learnloop.loop.flow import Flow
from typing import Any

__all__ = ['TrainingLoop']

class TrainingLoop:
    """The phases of a flow, nested, and who hears their events: boxes in notebooks, lists in Markdown, text elsewhere"""
    everywhere: list
    rows: Any
    def __init__(self, flow: Flow, verbose: bool=False) -> None:
        """- `flow`: The flow to show, as it is at this moment
        - `verbose`: Also show events that nobody hears?
        """
    def _all(self, flow: Any) -> Any:
        """Rows of the table, then what was declared later"""
    def _event(self, flow: Any, e: Any, verbose: Any) -> Any: ...
    def _rows(self, flow: Any, rows: Any, verbose: Any, seen: Any) -> Any: ...
    def __repr__(self) -> Any: ...
    def _lines(self, rows: Any=None, depth: Any=0) -> Any:  # see/show.py
        """Rows, with their depth"""
    def __str__(self) -> Any: ...  # see/show.py
    def _repr_markdown_(self) -> Any: ...  # see/show.py
    def _html(self, rows: Any) -> Any: ...  # see/show.py
    def _repr_html_(self) -> Any: ...  # see/show.py
