# Written by `python -m tools.stubs`: methods that other modules patch on are here, too
"""Which rows broke the run: the rows of each step of training and the loss of each, kept in a file that survives the run"""
from typing import Any, Literal
from learnloop.loop.callback import Callback
from learnloop.loop.learner import Learner
from learnloop.measure.table import Table

MYPY: Literal[False]  # mypy takes it for True
__all__ = ['FlightRecorder', 'Blame', 'find_blame']


class FlightRecorder(Callback):
    """Note the rows of each step of training, the loss of each row, and the step's numbers: see `learn.blame`"""
    order: float
    run_valid: bool
    safe_in_evaluate: bool
    fit_only: bool
    remove_on_fetch: bool
    writes: bool
    read_only: bool
    rank_invariant: bool
    patience: float
    most: Any
    max_mb: float
    folder: Any
    def __init__(self, max_mb: float=64, folder: Any='flight') -> None:
        """- `max_mb`: What each process keeps at most, in megabytes: the oldest steps are deleted
        - `folder`: Below `learn.path`, unless it is absolute; each process writes files of its own there"""
    def in_graph(self, event: Any) -> Any:
        ...
    def before_fit(self) -> Any:
        ...
    def before_step(self) -> Any:
        ...
    def cleanup_batch(self) -> Any:
        ...
    def cleanup_epoch(self) -> Any:
        ...
    def cleanup_fit(self) -> Any:
        ...
    def state_dict(self) -> Any:
        ...
if MYPY:
    class _BlameMethods:
        if MYPY:
            def show_results(self, show: Any=None, **kwargs: Any) -> Any:
                """Show the items, with what the model makes of them now, and the losses that were recorded

                - `show`: Function `show(ax, x, y, pred)` that draws an item, `pred` decoded; None for images or a table
                - `kwargs`: To `Interpretation.show_results`

                Returns: The axes, or a table"""
        else:
            from learnloop.see.flight import show_results as show_results
else:
    class _BlameMethods:
        from learnloop.see.flight import show_results as show_results
class Blame(_BlameMethods):
    """Rows with large losses, the worst first: a table when shown"""
    learn: Any
    losses: Any
    rows: Any
    sources: Any
    steps: Any
    def __init__(self, found: Any, learn: Any=None) -> None:
        """- `found`: Tuples of score, loss, row, name of the loader, step
        - `learn`: The learner, whose items `show_results` shows"""
    def __len__(self) -> Any:
        ...
    def table(self) -> Table:
        """Make a table of the rows, their losses and steps"""
    def __repr__(self) -> Any:
        ...
def find_blame(folder: Any, n: int=9, step: int | None=None) -> Blame:
    """Find the rows with the largest losses

    - `folder`: That a `FlightRecorder` wrote, or that of the run
    - `n`: Rows, at most
    - `step`: Only of this step: batches of training from 1 on; None for all steps that are kept"""
def blame(self: Learner, n: int=9, step: int | None=None, folder: Any='flight') -> Blame:
    ...
def show_results(self: Blame, show: Any=None, **kwargs: Any) -> Any:
    ...
