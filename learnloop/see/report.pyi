# Written by `python -m tools.stubs` from `report.py`: methods that other modules patch on are here, too
"""What a run was, on one page that opens from disk, prints, and is read out: of a learner, or of what a run left"""

from learnloop.loop.callback import Callback
from pathlib import Path
from typing import Any

__all__ = ['report_from', 'KeepWarnings']

def report_from(folder: Any, path: Any=None, title: str | None=None) -> Path:
    """Write what a run has left in `folder` to an HTML file

    - `folder`: Of a run: with histories, event files, checkpoints, traces, at any depth down to five
    - `path`: Where to; None for `report.html` in `folder`
    - `title`: Heading; None for one with the folder's name

    Returns: The file; notebooks show a link to it
    """

class KeepWarnings(Callback):
    """Keep the warnings that are shown in a fit, for its report"""
    order: Any
    fit_only: bool
    read_only: bool
    safe_in_evaluate: bool
    remove_on_fetch: bool
    rank_invariant: bool
    most: int
    seen: dict
    _before: Any
    def __init__(self, most: int=100) -> None:
        """- `most`: Different ones that are kept, the first ones"""
    def _keep(self, message: Any, category: Any, filename: Any, lineno: Any, file: Any=None, line: Any=None) -> Any: ...
    def before_fit(self) -> Any: ...
    def cleanup_fit(self) -> Any: ...
    def state_dict(self) -> Any: ...
    def load_state_dict(self, sd: Any) -> Any: ...
    @property
    def rows(self) -> list:
        """The warnings: kind, text, place, how often"""
