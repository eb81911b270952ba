# Written by `python -m tools.stubs` from `show.py`: methods that other modules patch on are here, too
"""The loop drawn: phases in phases, and in each event the callbacks that will run"""

from learnloop.loop.flow import Flow
from typing import Any

__all__ = ['TrainingLoop']

class TrainingLoop:
    """The phases of a flow, nested, and who hears their events: boxes in notebooks, lists in Markdown, text elsewhere"""
    rows: Any
    def __init__(self, flow: Flow, verbose: bool=False) -> None:
        """- `flow`: The flow to show, as it is at this moment
        - `verbose`: Also show events that no callback has?
        """
    def __repr__(self) -> Any: ...
    def __str__(self) -> Any: ...  # see/show.py
    def _repr_markdown_(self) -> Any: ...  # see/show.py
    def _repr_html_(self) -> Any: ...  # see/show.py
