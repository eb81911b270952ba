# Written by `python -m tools.stubs` from `checkpoint.py`: methods that other modules patch on are here, too
"""The whole state of a fit on disk: saved between two batches, at the ends of epochs, and when something fails"""

from learnloop.loop.callback import Callback
from learnloop.loop.place import Place
from typing import Any

__all__ = ['CheckpointCallback', 'checkpoint_names', 'save_state']

class CheckpointCallback(Callback):
    """Save checkpoints of the whole state in `folder`, and delete those that needn't be kept"""
    order: Any
    writes: bool
    read_only: bool
    remove_on_fetch: bool
    fit_only: bool
    rank_invariant: bool
    folder: Any
    every_steps: int | None
    every_epochs: int | None
    every_minutes: float | None
    keep: int | None
    best: int
    monitor: str
    on_error: bool
    background: bool
    better: Any
    _better: str | None
    is_open: bool
    _lock: Any
    _last: Any
    _attrs: dict
    _wanted: Any
    _writing: Any
    _error: Any
    _unwritten: Any
    _sound: set
    _ended: bool
    _time: Any
    _steps: Any
    _told: bool
    def __init__(self, folder: Any, every_steps: int | None=None, every_epochs: int | None=None, every_minutes: float | None=None, keep: int | None=2, best: int=0, monitor: str='valid_loss', better: str | None=None, on_error: bool=True, background: bool=False) -> None:
        """- `folder`: Of this run alone; made if need be
        - `every_steps`: Optimizer steps between two of them
        - `every_epochs`: Epochs; 1 if nothing else is given
        - `every_minutes`: Minutes, of the clock
        - `keep`: How many of the newest are kept; None for all
        - `best`: How many of the best are kept as well
        - `monitor`: The column of the recorder that says which are best
        - `better`: Which value of `monitor` is better: 'less' or 'more'; None if its metric declares it
        - `on_error`: Save when an exception ends the fit, Ctrl-C and SIGTERM included?
        - `background`: Write beside the training, from a copy in memory?
        """
    def save(self, **info: Any) -> None:  # keep/checkpoint.py
        """Save a checkpoint here or, in the middle of a batch, when it is done

        - `info`: Plain data for the manifest
        """
    def _catch_up(self) -> Any:  # keep/checkpoint.py
        """Have the last one written, if it was not to be written in the background"""
    def before_fit(self) -> Any: ...  # keep/checkpoint.py
    def _open(self, state: Any) -> Any: ...  # keep/checkpoint.py
    def _prune(self) -> Any: ...  # keep/checkpoint.py
    def after_create(self) -> Any: ...  # keep/checkpoint.py
    def _check_monitor(self) -> Any: ...  # keep/checkpoint.py
    def _check_folder(self, state: Any) -> Any: ...  # keep/checkpoint.py
    def before_epoch(self) -> Any: ...  # keep/checkpoint.py
    def before_train(self) -> Any: ...  # keep/checkpoint.py
    def is_late(self) -> bool:  # keep/checkpoint.py
        """Whether the clock wants a checkpoint, or what was to be written in the background wasn't"""
    def look(self) -> Any:  # keep/checkpoint.py
        """Save if it is time to, between two batches"""
    def _is_ending(self) -> Any:  # keep/checkpoint.py
        """Is it `after_epoch`, and others aren't done yet?"""
    def after_epoch(self) -> Any: ...  # keep/checkpoint.py
    def after_exception(self) -> Any: ...  # keep/checkpoint.py
    def cleanup_fit(self) -> Any: ...  # keep/checkpoint.py
    def _write_now(self, folder: Any, state: Any, info: Any) -> Any: ...  # keep/checkpoint.py
    def _finish(self, folder: Any, step: Any, files: Any, info: Any) -> Any: ...  # keep/checkpoint.py
    def _is_sound(self, c: Any) -> Any:  # keep/checkpoint.py
        """Was `c` written by this process, or verified by it?"""
    def _write_aside(self, folder: Any, state: Any, info: Any) -> Any: ...  # keep/checkpoint.py
    def join(self) -> Any:  # keep/checkpoint.py
        """Wait until what is written in the background is there"""
    def _raise_error(self) -> Any: ...  # keep/checkpoint.py
    def _warn_of_attributes(self) -> Any: ...  # keep/checkpoint.py

def checkpoint_names(folder: Any) -> list:
    """List the names of the checkpoints in `folder`

    - `folder`: Of a run

    Returns: Oldest first
    """

def save_state(learn: Any, folder: Any, place: Place, write: Any, **info: Any) -> bool:
    """Fire the `save` phase around writing the whole state

    - `learn`: The learner
    - `folder`: Of the run
    - `place`: Where the fit is
    - `write`: Called as `write(folder, state, info)`
    - `info`: Plain data for the manifest

    Returns: Was it done? A callback may have cancelled it
    """
