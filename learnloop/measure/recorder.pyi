# Written by `python -m tools.stubs` from `recorder.py`: methods that other modules patch on are here, too
"""What happened in a fit: losses and learning rates by batch, loss and metrics by epoch"""

from learnloop.loop.callback import Callback
from learnloop.measure.table import Table
from typing import Any

__all__ = ['Recorder', 'Scores']

class Recorder(Callback):
    """Record losses, learning rates and metrics; write a row to `learn.logger` after each epoch"""
    order: int
    remove_on_fetch: bool
    safe_in_evaluate: bool
    rank_invariant: bool
    _is_open: bool
    _is_titled: bool
    state_schema: dict
    add_time: bool
    train_metrics: bool
    valid_metrics: bool
    beta: float
    train_mets: list
    valid_mets: list
    _stashed: list
    log: list
    _tried: list
    _fits: bool
    columns: list
    parts: list
    _parts_of: Any
    _logged: list
    _own: dict
    _waiting: list
    _unseen: list
    _may_log: bool
    _written: Any
    _noted: dict
    _raw: Any
    _sizes: Any
    _lrs: Any
    values: Any
    iters: Any
    records: Any
    _smooth: list
    _smoother: Any
    _names: list
    _given: Any
    hps: dict
    row: dict
    _begun: int
    _keys: list
    _n_joint: Any
    _n_before: dict
    _joined: Any
    _whole: Any
    _smoother_there: Any
    error: Any
    _since: Any
    _nan_told: bool
    _start: Any
    _logger: Any
    _seconds: Any
    lr_finder: Any
    _known: Any
    def __init__(self, add_time: bool=True, train_metrics: bool=False, valid_metrics: bool=True, beta: float=0.98) -> None:
        """- `add_time`: A column with the duration of the epoch?
        - `train_metrics`: Metrics on training batches, too? They cost time in each
        - `valid_metrics`: Metrics in validation?
        - `beta`: Weight of the past in `smooth_loss`
        """
    def _clear(self) -> Any: ...
    def _make_metrics(self) -> Any: ...
    @property
    def train_names(self) -> Any:
        """Names of what training gives: the titles of its columns"""
    @property
    def valid_names(self) -> Any:
        """Names of what a validation gives: the titles of its columns"""
    def names_for(self, of: str) -> list:  # measure/recorder.py
        """List the names of what an evaluation gives: loss, metrics, parts of the loss

        - `of`: Name of the set that is evaluated

        Returns: Of strings, no two alike
        """
    def _follow(self) -> Any:  # measure/recorder.py
        """Begin to note which batches losses are of, if other processes have a part in them"""
    def _smooth_there(self) -> Any:  # measure/recorder.py
        """Keep the running mean as it is after the last of the losses that are of the run"""
    def _check_sync(self) -> Any: ...  # measure/recorder.py
    def before_fit(self) -> Any: ...  # measure/recorder.py
    def _own_columns(self, ours: Any) -> Any:  # measure/recorder.py
        """Columns of callbacks, as keys; refuse those of the recorder, `ours`, and two of one name"""
    def _add_columns(self, titles: Any) -> Any:  # measure/recorder.py
        """Have columns of `titles` for parts"""
    def _meet(self, names: Any) -> Any:  # measure/recorder.py
        """Have means, and columns, of parts of the loss with these `names`; those of turns come up in training alone"""
    def _add_parts(self, titles: Any) -> Any: ...  # measure/recorder.py
    def _title(self) -> Any:  # measure/recorder.py
        """Write the titles, once"""
    def _write(self, row: Any, logger: Any=None) -> Any: ...  # measure/recorder.py
    @property
    def metric_names(self) -> list:  # measure/recorder.py
        """Titles of the table's columns; a callback that reads them before the first batch finds the loss's parts among them

        Returns: `epoch`, then the columns, then `time`
        """
    def when_known(self, column: str, check: Any, logged: bool=False) -> bool:  # measure/recorder.py
        """Call `check` later if `column` may be that of a part of the loss, or of a logged value, that isn't known yet

        - `column`: That may come up
        - `check`: Called without arguments when the parts of the loss are known, or after the first epoch
        - `logged`: May the column be one that a callback logs?

        Returns: May the column still come up?
        """
    def _check_unseen(self) -> Any:  # measure/recorder.py
        """Warn of columns that nothing logged in the first epoch"""
    def _settle(self, parts: Any) -> Any:  # measure/recorder.py
        """Have columns for `parts`, and tell who waited for them"""
    @property
    def directions(self) -> dict:  # measure/recorder.py
        """Collect which values of columns are better: 'less' or 'more'

        Returns: Title -> 'less' or 'more'; a column that isn't there is undeclared
        """
    def cleanup_fit(self) -> Any: ...  # measure/recorder.py
    def before_epoch(self) -> Any: ...  # measure/recorder.py
    def before_train(self) -> Any: ...  # measure/recorder.py
    def before_validate(self) -> Any: ...  # measure/recorder.py
    def cleanup_epoch(self) -> Any: ...  # measure/recorder.py
    def after_batch(self) -> Any: ...  # measure/recorder.py
    def _values(self, mets: Any) -> Any: ...  # measure/recorder.py
    def after_train(self) -> Any: ...  # measure/recorder.py
    def after_validate(self) -> Any: ...  # measure/recorder.py
    def after_epoch(self) -> Any: ...  # measure/recorder.py
    def cleanup_train(self) -> Any: ...  # measure/recorder.py
    def _tell_nan(self, vals: Any) -> Any:  # measure/recorder.py
        """Warn, once in a fit, if one of the losses `vals` of the epoch is not finite, and no callback handles that"""
    def before_evaluate(self) -> Any: ...  # measure/recorder.py
    def cleanup_evaluate(self) -> Any: ...  # measure/recorder.py
    def _join_losses(self) -> Any: ...  # measure/recorder.py
    def together(self) -> Any:  # measure/recorder.py
        """Have the losses of batches so far be those of the run, and what goes into a checkpoint: in all processes at once"""
    def _catch_up(self) -> Any:  # measure/recorder.py
        """Have losses be those of the run, unless they are, or no training began"""
    def _join(self, mets: Any) -> Any: ...  # measure/recorder.py
    def _share_parts(self) -> Any:  # measure/recorder.py
        """Have the same columns for parts of the loss, and for what is logged, in all processes: one may have it first"""
    def _take_from_first(self, took: Any) -> Any:  # measure/recorder.py
        """Have what callbacks have put into the row as the first process has it; return its time"""
    def record(self, name: str, values: dict) -> Any:  # measure/recorder.py
        """Keep the `values` of a validation within an epoch, and fire `after_record` with them

        - `name`: What was evaluated: `valid`, or the name of another loader
        - `values`: Numbers, by the names under which they can be monitored
        """
    @property
    def raw_losses(self) -> Any:  # measure/recorder.py
        """Training loss of each batch"""
    @property
    def losses(self) -> Any:  # measure/recorder.py
        """Smoothed training loss, one for each batch"""
    @property
    def seconds(self) -> Any:  # measure/recorder.py
        """Seconds that the last fit took, or has taken so far; None before the first"""
    def _log_column(self, title: Any) -> Any: ...  # measure/recorder.py
    def _log_in_batch(self, name: Any, value: Any) -> Any: ...  # measure/recorder.py
    def _log_of_epoch(self, name: Any, value: Any) -> Any: ...  # measure/recorder.py
    @property
    def lrs(self) -> Any:  # measure/recorder.py
        """Learning rate of the last group, one for each batch"""
    def plot_loss(self, skip_start: int=5, with_valid: bool=True, log: bool=False, show_epochs: bool=False, ax: Any=None) -> Any:  # measure/recorder.py
        """Plot training loss by batch and validation loss by epoch

        - `skip_start`: Batches to leave out at the start, where the loss falls off a cliff; if there are more
        - `with_valid`: The validation loss, too?
        - `log`: Logarithmic axis for the loss?
        - `show_epochs`: A vertical line at the end of each epoch?
        - `ax`: Axes to draw on; None for new ones
        """
    def plot_metrics(self, names: Any=None) -> list:  # measure/recorder.py
        """Plot columns by epoch

        - `names`: What to plot, as titles without `train_` and `valid_`; None for all

        Returns: The axes, one for each
        """
    def _table(self) -> Table:  # measure/recorder.py
        """Write the epochs, without times"""
    def __repr__(self) -> Any: ...  # measure/recorder.py
    def __str__(self) -> Any: ...  # measure/recorder.py
    def _repr_markdown_(self) -> Any: ...  # measure/recorder.py
    def state_dict(self) -> dict:  # measure/recorder.py
        """Return the history

        Returns: Plain data
        """
    def load_state_dict(self, sd: dict) -> Any:  # measure/recorder.py
        """Take up a history

        - `sd`: What `state_dict` returned
        """
    def plot_sched(self, keys: Any=None, figsize: Any=None) -> list:  # train/schedule.py
        """Plot scheduled hyper-parameters by batch

        - `keys`: Which, a name or a list; None for all that were scheduled
        - `figsize`: Width and height in inches; None for 4 by 3 for each plot

        Returns: The axes
        """
    def plot_lr_find(self, skip_end: int=5, return_fig: bool=False, suggestions: Any=None, nms: Any=None, ax: Any=None) -> Any:  # train/lr_find.py
        """Plot the curve of the last `learn.lr_find`

        - `skip_end`: Batches to leave out at the end, where the loss explodes
        - `return_fig`: Return the figure? A notebook shows that twice, if a cell ends in it
        - `suggestions`: Results of the functions, each `(lr, (lr, loss))`; None for those of the last `lr_find`
        - `nms`: Their names
        - `ax`: Axes to draw on; None for new ones
        """

class _FirstLoss(Callback):
    order: int
    run_valid: bool
    remove_on_fetch: bool
    read_only: bool
    rank_invariant: bool
    def after_loss(self) -> Any: ...
    def after_batch(self) -> Any: ...
    def look(self) -> Any: ...
    def in_graph(self, event: Any) -> Any: ...  # measure/recorder.py

class Scores(list):
    """What an evaluation found: a list of values, whose names are attributes and keys"""
    names: Any
    def __init__(self, values: Any=(), names: Any=()) -> None:
        """- `values`: Loss, metrics, parts of the loss
        - `names`: Their names, as many
        """
    def to_dict(self) -> dict:
        """Return a dict, for a tracker or a file

        Returns: Values by name
        """
    def __getattr__(self, k: Any) -> Any: ...
    def __getitem__(self, k: Any) -> Any: ...
    def __dir__(self) -> Any: ...
    def __repr__(self) -> Any: ...
