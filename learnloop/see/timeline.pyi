# Written by `python -m tools.stubs` from `timeline.py`: methods that other modules patch on are here, too
"""When each phase and each callback was at work: a picture, and a file for Perfetto and Chrome"""

from learnloop.see.trace import Trace
from typing import Any

__all__ = ['Timeline', 'load_trace']

class Timeline:
    """When each phase and each callback was at work: a picture in notebooks, text elsewhere"""
    __repr__: Any
    title: str
    seconds: Any
    lanes: list
    unit: str
    _k: Any
    def __init__(self, title: str, lanes: Any) -> None:
        """- `title`: Written above
        - `lanes`: Pairs of a name and a list of (start, length, label), times in seconds
        """
    def __str__(self) -> Any: ...
    def _repr_html_(self) -> Any: ...
    def _bar(self, bars: Any, n: Any=60) -> Any:
        """A lane as `n` characters, each darker the more of it is taken"""

def load_trace(path: Any, rank: int=0) -> Trace:
    """Read a trace

    - `path`: Of a file that `save` wrote
    - `rank`: Of the process, where it has the traces of several

    Returns: Its tables, as they were
    """
