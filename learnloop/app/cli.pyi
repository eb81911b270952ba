# Written by `python -m tools.stubs` from `cli.py`: methods that other modules patch on are here, too
"""The command `learnloop`: train a demo, see what a run has left, and ask whether all is well here"""

from pathlib import Path
from typing import Any

__all__ = ['show_checkpoints', 'write_report', 'show_runs', 'write_comparison', 'show_trace', 'main']

def show_checkpoints(folder: Any) -> bool:
    """List the checkpoints in `folder`, and say which are damaged

    - `folder`: Of a run

    Returns: Are all of them sound?
    """

def write_report(logdir: Any, output: Any=None) -> Path:
    """Write a page of HTML about the run in `logdir`

    - `logdir`: Folder of a run
    - `output`: The file to write; None for `report.html` in `logdir`

    Returns: The file
    """

def show_runs(folders: Any, by: Any=None) -> Any:
    """List the runs in folders: how each ended, how good it was, whether it can go on

    - `folders`: Of runs, or patterns such as `'runs/lr-*'`
    - `by`: The metric to tell the best of; None for `valid_loss`, or what there is
    """

def write_comparison(folders: Any, output: Any='compare.html', by: Any=None) -> Path:
    """Write a page of HTML with runs beside each other: curves, what differs, and what came of it

    - `folders`: As for `show_runs`
    - `output`: The file to write
    - `by`: The metric that tells which run is best; None for `valid_loss`, or what there is

    Returns: The file
    """

def show_trace(file: Any) -> Any:
    """Print the tables of a saved trace

    - `file`: That `learn.trace.save` has written
    """

def main(argv: list | None=None) -> Any:
    """Run the command `learnloop`

    - `argv`: Arguments; None for those of the process
    """
