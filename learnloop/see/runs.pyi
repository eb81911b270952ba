# Written by `python -m tools.stubs` from `runs.py`: methods that other modules patch on are here, too
"""What runs have left on disk, listed: how each ended, how good it was, and whether it can go on"""

from learnloop.measure.table import Table
from pathlib import Path
from typing import Any

__all__ = ['DAMAGED', 'Runs', 'runs', 'Run', 'walk_run', 'read_history', 'parsed', 'is_metric', 'check_one_run', 'age_of', 'mean_and_std', 'RunGroup']

DAMAGED: tuple

class Runs(list):
    """A list of `Run`s, a table in notebooks and in print"""
    by: Any
    better: Any
    head: Any
    def table(self) -> Table:
        """Make the table"""
    @property
    def metric(self) -> str | None:
        """Name the metric that the runs are compared by

        Returns: None if no run has one
        """
    @property
    def groups(self) -> list:
        """Collect the runs of each group

        Returns: Of `RunGroup`
        """
    def group_table(self) -> Table | None:
        """Make the table of the groups

        Returns: None if no run has a group
        """
    def _tables(self) -> Any: ...
    def __repr__(self) -> Any: ...
    def _repr_markdown_(self) -> Any: ...

def runs(pattern: Any='runs', by: str | None=None, better: str | None=None) -> Runs:
    """List the runs in a folder

    - `pattern`: A folder of runs, or of one; a pattern such as `'runs/lr-*'`, each match a run; a list of them
    - `by`: The metric to tell the best of; None for `valid_loss`, or what there is
    - `better`: Which value of `by` is better: 'less' or 'more'; None for what the runs have noted

    Returns: By name
    """

class Run:
    """What a run has left in a folder, read when it's asked for"""
    declared: dict
    folder: Any
    name: Any
    unread: list
    files: Any
    _saved: Any
    _rows: Any
    _plain: Any
    def __init__(self, folder: Any) -> None:
        """- `folder`: Of the run, with all below it"""
    def __repr__(self) -> Any: ...
    def about(self) -> dict:
        """What `run.json` says, the latest if there are several; {} if there is none"""
    def checkpoints(self) -> list:
        """All checkpoints, oldest first; only their manifests are read"""
    def sound(self) -> list:
        """Those that a fit can go on from, by what their manifests say and by the sizes of their files"""
    def _try(self, what: Any, f: Any, *args: Any) -> Any:  # see/runs.py
        """What `f` makes of `args`; None, with a note in `unread`, if what it reads is damaged"""
    @property
    def state(self) -> Any:  # see/runs.py
        """`done`, `running`, `failed`, `interrupted`, `killed`, or `unknown`"""
    @property
    def error(self) -> Any:  # see/runs.py
        """What ended it, in a line; None if nothing did"""
    @property
    def epochs(self) -> Any:  # see/runs.py
        """Epochs that are over; None if nobody knows"""
    @property
    def n_epoch(self) -> Any:  # see/runs.py
        """Epochs that it was to have; None if nobody knows"""
    @property
    def updated(self) -> Any:  # see/runs.py
        """When something was last written, as `time.time()` counts"""
    @property
    def goes_on(self) -> Any:  # see/runs.py
        """From where a fit would resume, or why it can't"""
    def _is_stopped(self) -> Any:  # see/runs.py
        """Did `EarlyStoppingCallback` end the run? It refuses to resume it"""
    @property
    def rows(self) -> Any:  # see/runs.py
        """Dicts of `epoch`, `step` and the numbers of each row that was logged"""
    def _of_histories(self) -> Any: ...  # see/runs.py
    @property
    def _state(self) -> Any:  # see/runs.py
        """What the newest checkpoint has beside the weights"""
    def _of_recorder(self) -> Any: ...  # see/runs.py
    def _of_events(self) -> Any: ...  # see/runs.py
    def _epoch_rows(self) -> Any: ...  # see/runs.py
    @property
    def series(self) -> Any:  # see/runs.py
        """Of each column, its values: triples of epoch (None if unknown), step and value"""
    @property
    def directions(self) -> dict:  # see/runs.py
        """Collect which values of metrics are better, as the run has noted it

        Returns: Metric -> 'less' or 'more'; one that isn't there is undeclared
        """
    @property
    def results(self) -> Any:  # see/runs.py
        """Of each metric a dict of `last`, `best`, and where that was: `epoch` and `step`; None if no direction is known"""
    @property
    def settings(self) -> Any:  # see/runs.py
        """What the run was, by names with dots: as `run.json` says, or what checkpoints have of that"""
    @property
    def seconds(self) -> Any:  # see/runs.py
        """How long it took, in all its sessions; None if nobody noted that"""
    @property
    def group(self) -> str | None:  # see/runs.py
        """Name that the runs of one experiment share

        Returns: None for a run by itself
        """
    @property
    def samples_per_sec(self) -> Any:  # see/runs.py
        """Samples trained on in a second, validations and all else included; None if nobody noted that"""
    @property
    def costs(self) -> Any:  # see/runs.py
        """Seconds that callbacks took, by name: of the `Tracer` that was there, or of a saved trace; {} without one"""
    def best(self, by: str | None=None) -> tuple:  # see/runs.py
        """Tell the best value, and when it was; an error if nothing declares which value is better

        - `by`: Name of a metric; None for `valid_loss`, or the first there is

        Returns: Name, value, and the epoch or else the step; of None if there is none
        """
    def _best(self, by: Any) -> Any:  # see/runs.py
        """As `best`, and without a value where nothing declares which one is better"""
    def row(self, by: str | None=None, now: float | None=None) -> tuple:  # see/runs.py
        """Tell of the run in a row of a table

        - `by`: As for `best`
        - `now`: The time; None for that of the clock

        Returns: Name, state, epochs, best, when, age, duration, where it goes on
        """
    def to_dict(self) -> dict:  # see/runs.py
        """Return what is known of the run

        Returns: Plain data
        """

def walk_run(folder: Any, depth: int=5) -> tuple:
    """Find what there is in the folder of a run

    - `folder`: Of a run
    - `depth`: How deep to go

    Returns: Files below it, and folders with checkpoints, whose files aren't among them
    """

def read_history(file: Path) -> list:
    """Read a history

    - `file`: Of `CSVLogger` or `JSONLogger`

    Returns: A dict for each row; [] if it is a file of another kind
    """

def parsed(v: Any) -> Any:
    """Read a value of a history

    - `v`: As it stands in a history
    """

def is_metric(name: str) -> bool:
    """Whether it is of an epoch, rather than the loss or a hyper-parameter of a step, or the place itself

    - `name`: Of a column
    """

def check_one_run(folder: Path, files: Any) -> Any:
    """Refuse a folder that holds several runs

    - `folder`: Of a run
    - `files`: Those below it, as `walk_run` finds them
    """

def age_of(secs: float) -> str:
    """Write an age for people

    - `secs`: Since something happened
    """

def mean_and_std(vals: Any) -> tuple:
    """Compute mean and standard deviation of a sample: divided by n-1, as `numpy.std(vals, ddof=1)`

    - `vals`: Numbers, at least one

    Returns: The mean; the standard deviation, None for a single number
    """

class RunGroup:
    """Runs of one experiment, and the results of those that are done"""
    name: str
    runs: list
    done: list
    def __init__(self, name: str, runs: list) -> None:
        """- `name`: The `group=` of their loggers
        - `runs`: Its `Run`s
        """
    def __repr__(self) -> Any: ...
    @property
    def results(self) -> dict:
        """Average the results; a best is None if the runs don't agree on which value is better

        Returns: Metric -> `n`, how many runs have it, and `best` and `last`: of `mean_and_std`
        """
    def cell(self, name: str, what: str, show: Any=...) -> str:
        """Write mean ± standard deviation; say of how many runs, if not all that are done have the metric

        - `name`: Of a metric
        - `what`: 'best' or 'last'
        - `show`: How to write the mean

        Returns: '' if it isn't known
        """
