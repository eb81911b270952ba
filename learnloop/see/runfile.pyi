# Written by `python -m tools.stubs` from `runfile.py`: methods that other modules patch on are here, too
"""`run.json`: what a run is, how far it came, how long it took, and how it ended"""

from pathlib import Path
from typing import Any

__all__ = ['LOCK', 'is_held', 'run_label', 'run_labels', 'RunFile', 'open_run', 'read_run', 'plain']

LOCK: str

def is_held(path: Any) -> bool | None:
    """Whether some process holds the lock `path`

    - `path`: Of a file for a lock

    Returns: None if that can't be found out
    """

def run_label(group: str | None=None, hparams: dict | None=None) -> dict:
    """Check what a user says about a run

    - `group`: Name that runs of one experiment share; None for a run by itself
    - `hparams`: Hyper-parameters by name: numbers, text, bools, None, lists of these; dicts are flattened

    Returns: `group` and `hparams`, as plain data
    """

def run_labels(learn: Any) -> dict:
    """Collect what the loggers of `learn` say about the run; an error if they contradict each other

    - `learn`: The learner, in a fit

    Returns: `group` and `hparams`, where they were given
    """

class RunFile:
    """`run.json` in the folder of a run, while a fit runs"""
    every: float
    learn: Any
    folder: Path
    path: Any
    n_users: int
    told: Any
    _lock: Any
    facts: Any
    _costs: dict
    _begun: Any
    _samples: Any
    _before: dict
    started: Any
    _written: Any
    def __init__(self, learn: Any, folder: Any) -> None:
        """- `learn`: The learner, in a fit
        - `folder`: Of the run; it exists
        """
    def _content(self, state: Any, error: Any) -> Any:
        """What is written"""
    def write(self, state: str, error: str | None=None) -> Any:
        """Write it; the fit goes on where that can't be

        - `state`: `running`, `done`, `failed`, or `interrupted`
        - `error`: What ended it
        """
    def note(self) -> Any:
        """Write how far it came, if it's time to"""
    def close(self) -> Any:  # see/runfile.py
        """Say how the fit ended, when the last of the users is done"""

def open_run(learn: Any, folder: Any) -> RunFile | None:
    """Begin to write `run.json` in `folder`, or join who does

    - `learn`: The learner, in a fit
    - `folder`: Of the run; it exists

    Returns: None if another run has the folder
    """

def read_run(folder: Any) -> dict:
    """Read `run.json` in `folder`

    - `folder`: Of a run

    Returns: {} if there is none, or if it is damaged
    """

def plain(o: Any) -> Any:
    """Convert keys that aren't text, and numbers that aren't finite, to text

    - `o`: Numbers, texts, and dicts, lists and tuples of these
    """
