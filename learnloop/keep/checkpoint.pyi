# Written by `python -m tools.stubs` from `checkpoint.py`: methods that other modules patch on are here, too
"""Nothing lost: the whole state of a fit on disk, and fits that go on from it as if they had never stopped"""

from learnloop.loop.callback import Callback
from torch.utils.data import Dataset
from typing import Any

__all__ = ['SeededItems', 'CheckpointCallback']

class SeededItems(Dataset):
    """The items of the dataset `ds`, each with random numbers of its own, from `seed`, the epoch and its index"""
    ds: Any
    seed: Any
    epoch: Any
    def __init__(self, ds: Any, seed: int=0) -> None:
        """- `ds`: Dataset with numbered items
        - `seed`: Any whole number
        """
    def __len__(self) -> Any: ...
    def set_epoch(self, epoch: int) -> Any:
        """Have items as they are in `epoch`

        - `epoch`: Of training, counted over all fits
        """
    def __getitem__(self, i: Any) -> Any: ...

class CheckpointCallback(Callback):
    """Save checkpoints of the whole state in `folder`, and delete those that needn't be kept"""
    order: Any
    writes: bool
    only_looks: bool
    safe_in_evaluate: bool
    remove_on_fetch: bool
    folder: Any
    every_steps: int | None
    every_minutes: float | None
    every_epochs: Any
    keep: int | None
    best: int
    monitor: str
    on_error: bool
    background: bool
    larger: Any
    _open: Any
    _writing: Any
    _error: Any
    _wanted: Any
    _last: Any
    _sound: set
    _between: Any
    _ended: bool
    _told: bool
    _attrs: dict
    _steps: Any
    _time: Any
    _unwritten: Any
    def __init__(self, folder: Any, every_steps: int | None=None, every_epochs: int | None=None, every_minutes: float | None=None, keep: int | None=2, best: int=0, monitor: str='valid_loss', larger: bool | None=None, on_error: bool=True, background: bool=False) -> None:
        """- `folder`: Of this run alone; made if need be
        - `every_steps`: Optimizer steps between two of them
        - `every_epochs`: Epochs; 1 if nothing else is given
        - `every_minutes`: Minutes, of the clock
        - `keep`: How many of the newest are kept; None for all
        - `best`: How many of the best are kept as well
        - `monitor`: The column of the recorder that says which are best
        - `larger`: Are larger values better? None to go by the name: not for losses and errors, `mae` and `perplexity` too
        - `on_error`: Save when an exception ends the fit, Ctrl-C and SIGTERM included?
        - `background`: Write beside the training, from a copy in memory?
        """
    def before_fit(self) -> Any: ...  # keep/checkpoint.py
    def _check_folder(self) -> Any: ...  # keep/checkpoint.py
    def before_evaluate(self) -> Any:  # keep/checkpoint.py
        """An evaluation is not saved"""
    def before_epoch(self) -> Any: ...  # keep/checkpoint.py
    def before_train(self) -> Any: ...  # keep/checkpoint.py
    def _is_ending(self) -> Any:  # keep/checkpoint.py
        """Is it `after_epoch`, and others, such as the recorder, aren't done yet?"""
    def _look(self) -> Any:  # keep/checkpoint.py
        """Save if it is time to, between two batches"""
    def after_epoch(self) -> Any: ...  # keep/checkpoint.py
    def save(self, **info: Any) -> None:  # keep/checkpoint.py
        """Save a checkpoint here or, in the middle of a batch, when it is done

        - `info`: Plain data for the manifest
        """
    def _write_now(self, folder: Any, state: Any, info: Any) -> Any: ...  # keep/checkpoint.py
    def _finish(self, folder: Any, step: Any, files: Any, info: Any) -> Any: ...  # keep/checkpoint.py
    def _is_sound(self, c: Any) -> Any:  # keep/checkpoint.py
        """Was `c` written by this process, or verified by it?"""
    def _write_aside(self, folder: Any, state: Any, info: Any) -> Any: ...  # keep/checkpoint.py
    def _join(self) -> Any: ...  # keep/checkpoint.py
    def _raise(self) -> Any: ...  # keep/checkpoint.py
    def _check_attributes(self) -> Any: ...  # keep/checkpoint.py
    def after_exception(self) -> Any: ...  # keep/checkpoint.py
    def cleanup_fit(self) -> Any: ...  # keep/checkpoint.py
    def after_create(self) -> Any: ...  # keep/interrupt.py
