# Written by `python -m tools.stubs` from `cli.py`: methods that other modules patch on are here, too
"""The command `learnloop`: train a demo, see what a run has left, and ask whether all is well here"""

from pathlib import Path
from typing import Any

__all__ = ['show_checkpoints', 'write_report', 'show_runs', 'write_comparison', 'show_trace', 'show_diff', 'show_blame', 'main']

def show_checkpoints(folder: Any) -> bool:
    """List the checkpoints in `folder`, and say which are damaged

    - `folder`: Of a run

    Returns: Are all of them sound?
    """

def write_report(logdir: Any, output: Any=None, as_json: bool=False) -> Path | None:
    """Write a page of HTML about the run in `logdir`

    - `logdir`: Folder of a run
    - `output`: The file to write; None for `report.html` in `logdir`
    - `as_json`: Print what the page would say as JSON, and write no page?

    Returns: The file
    """

def show_runs(folders: Any=(), by: Any=None, better: Any=None, as_json: bool=False) -> Any:
    """List the runs in folders: how each ended, how good it was, whether it can go on

    - `folders`: Of runs, or patterns such as `'runs/lr-*'`; none for `runs` and the current folder
    - `by`: The metric to tell the best of; None for `valid_loss`, or what there is
    - `better`: Which value of it is better: 'less' or 'more'; None for what the runs have noted
    - `as_json`: Print a list of dicts, as JSON, in place of a table?
    """

def write_comparison(folders: Any, output: Any='compare.html', by: Any=None, better: Any=None) -> Path:
    """Write a page of HTML with runs beside each other: curves, what differs, and what came of it

    - `folders`: As for `show_runs`
    - `output`: The file to write
    - `by`: The metric that tells which run is best; None for `valid_loss`, or what there is
    - `better`: Which value of it is better: 'less' or 'more'; None for what the runs have noted

    Returns: The file
    """

def show_trace(file: Any) -> Any:
    """Print the tables of a saved trace

    - `file`: That `learn.trace.save` has written
    """

def show_diff(run_a: Any, run_b: Any=None, tol: float=0.0, yardstick: Any=None, replay: Any=(), step: int | None=None, record: Any=None, against: Any=None, as_json: bool=False) -> bool:
    """Print the first step in which two runs differ

    - `run_a`: Folder of a run that was fitted with a `Fingerprint`, or its file
    - `run_b`: Another one; None with `record` or `against`
    - `tol`: As for `diff_runs`
    - `yardstick`: Likewise
    - `replay`: `module:function` that makes the learner, or one for each run: the step is made again
    - `step`: The step to make again; None for the first that differs
    - `record`: File to write the step of the first run to, for another machine
    - `against`: Such a file, to compare the step of the first run with
    - `as_json`: Print the difference as JSON?

    Returns: Are they equal?
    """

def show_blame(folder: Any, step: int | None=None, n: int=9, learner: Any=None) -> Any:
    """Print the rows with the largest losses in a run

    - `folder`: Of a run that was fitted with a `FlightRecorder`
    - `step`: Only of this step; None for all that are kept
    - `n`: Rows, at most
    - `learner`: `module:function` that makes the learner: the items are shown, too
    """

def main(argv: list | None=None) -> Any:
    """Run the command `learnloop`

    - `argv`: Arguments; None for those of the process
    """
