# Written by `python -m tools.stubs` from `progress.py`: methods that other modules patch on are here, too
"""A table of epochs, and bars for what is running: in terminals, notebooks and log files"""

from learnloop.loop.callback import Callback
from typing import Any

__all__ = ['ProgressCallback', 'ShowGraph']

class ProgressCallback(Callback):
    """Show the table of epochs, and bars for what is running"""
    order: int
    read_only: bool
    rank_invariant: bool
    every_seconds: float
    delay: float
    plain: bool
    _display: Any
    _bars: list
    _fit: Any
    _due: Any
    _next: Any
    _known: Any
    def __init__(self, every_seconds: float=0.1, delay: float=0.5, plain: bool=False) -> None:
        """- `every_seconds`: Seconds between drawings, at least: more often is flicker, and each waits for the loss
        - `delay`: Seconds before the first: what is over sooner needs no bar
        - `plain`: Plain lines, wherever it is? For front ends that show no HTML, or no updates
        """
    def before_fit(self) -> Any: ...
    def before_train(self) -> Any: ...
    def cleanup_train(self) -> Any: ...
    def before_validate(self) -> Any: ...
    def cleanup_validate(self) -> Any: ...
    def cleanup_fit(self) -> Any: ...
    def before_evaluate(self) -> Any: ...
    def cleanup_evaluate(self) -> Any: ...
    def _alone(self) -> Any: ...
    def _begin(self) -> Any: ...  # see/progress.py
    def _end(self) -> Any: ...  # see/progress.py
    def after_batch(self) -> Any: ...  # see/progress.py
    def _look(self) -> Any: ...  # see/progress.py
    def _push(self, name: Any) -> Any: ...  # see/progress.py
    def _draw(self, i: Any) -> Any: ...  # see/progress.py
    def _whole(self, now: Any) -> Any:  # see/progress.py
        """The bar of the fit"""
    def _try(self, name: Any, arg: Any) -> Any:  # see/progress.py
        """Have the display do something, or another one take its place"""
    def _row(self, vals: Any) -> Any: ...  # see/progress.py

class ShowGraph(Callback):
    """Show a graph of the losses with the table of epochs, while they change"""
    order: int
    run_valid: bool
    read_only: bool
    fit_only: bool
    rank_invariant: bool
    log: bool
    _rec: Any
    def __init__(self, log: bool=False) -> None:
        """- `log`: Logarithmic axis for the loss? The fall at the start leaves little room for the rest"""
    def before_fit(self) -> Any: ...
    def cleanup_fit(self) -> Any: ...
    def _shown_by(self) -> Any: ...
    def series(self) -> dict:  # see/progress.py
        """Return what is drawn: some hundred values of the smoothed training loss, and the validation loss of each epoch

        Returns: Name -> batches, and the losses after them
        """
    def chart(self) -> Any:  # see/progress.py
        """Draw the losses by batch"""
    def spark(self, n: int=30) -> tuple:  # see/progress.py
        """Draw the training loss as a line of block characters

        - `n`: Characters

        Returns: The line, and what stands beside it
        """

class _Lines:
    """Rows as lines, the first of them titles"""
    has_bar: bool
    is_spare: bool
    widths: Any
    bars: Any
    graph: Any
    pause: float
    def row(self, vals: Any) -> Any: ...
    def is_title(self, vals: Any) -> Any:
        """Are `vals` titles? They come first, and again when there are more columns"""
    def show(self, s: Any, is_title: Any) -> Any: ...
    def bar(self, bars: Any) -> Any:
        """There is none"""
    def keep(self, graph: Any) -> Any:
        """Nor is there a graph"""
    def close(self) -> Any:
        """Nothing is left on the screen but rows"""

class _Notebook(_Lines):
    """Bars, a graph and a table, in one output; those of a fit within the fit below"""
    handle: Any
    inner: Any
    has_bar: Any
    outer: Any
    room: bool
    rows: list
    lines: list
    svg: str
    _row_due: Any
    _svg_due: Any
    bars: Any
    graph: Any
    def __init__(self, has_bar: Any=True, outer: Any=None) -> None: ...
    def row(self, vals: Any) -> Any: ...
    def show(self, s: Any, is_title: Any) -> Any: ...
    def bar(self, bars: Any) -> Any: ...
    def keep(self, graph: Any) -> Any: ...
    def close(self) -> Any: ...
    def _draw(self, is_last: Any=False) -> Any: ...  # see/progress.py
    def _html(self) -> Any: ...  # see/progress.py
    def _text(self) -> Any: ...  # see/progress.py
