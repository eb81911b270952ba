# Written by `python -m tools.stubs` from `log.py`: methods that other modules patch on are here, too
"""What a run was like, kept while it runs: CSV, JSON lines, Weights & Biases, MLflow, and platforms of your own"""

from contextlib import contextmanager
from learnloop.loop.callback import Callback
from pathlib import Path
from typing import Any

__all__ = ['Logger', 'put_at', 'CSVLogger', 'JSONLogger', 'WandbCallback', 'MLflowCallback']

class Logger(Callback):
    """Hand losses, learning rates and metrics to `log_metrics`, which prints them: for another platform, override that"""
    order: int
    run_valid: bool
    safe_in_evaluate: bool
    fit_only: bool
    writes: bool
    rank_invariant: bool
    hypers: Any
    failures: Any
    now: float
    is_point: bool
    patience: float
    _begun: Any
    _warned: bool
    _resumed: bool
    _run_file: Any
    _seen: int
    run_folder: Any
    every_steps: int | None
    block: Any
    _points: list
    run_label: Any
    name: str
    def __init__(self, every_steps: int | None=None, block: int=100, group: str | None=None, hparams: dict | None=None) -> None:
        """- `every_steps`: Optimizer steps between points of `loss` and `lr`: more cost more time; None for epochs and validations alone
        - `block`: Points to hand on at once: for each block, the device is waited for
        - `group`: Name that runs of one experiment share, such as its folds; for `runs` and `compare`
        - `hparams`: Hyper-parameters of your own, that `compare` shows
        """
    def start(self) -> Any:
        """Begin: open what has to be open"""
    def log_metrics(self, metrics: dict, step: int) -> Any:
        """Log `metrics`

        - `metrics`: Numbers by name: `loss` and `lr` of a step, or columns of the recorder; what has no value is left out
        - `step`: Optimizer steps that the learner has made; `self.now` is the time of it, `self.is_point` tells whether it is that of a step, not a row
        """
    def flush(self) -> Any:
        """Have others see what was logged, after each epoch, validation and block of points"""
    def finish(self) -> Any:
        """End: close what `start` has opened"""
    def state_dict(self) -> Any: ...
    def load_state_dict(self, sd: Any) -> Any: ...
    def before_fit(self) -> Any: ...  # see/log.py
    def before_epoch(self) -> Any: ...  # see/log.py
    @contextmanager
    def _guarded(self, *more: Any) -> Any:  # see/log.py
        """Warn of `failures`, and of `more`, once in a fit"""
    def after_batch(self) -> Any: ...  # see/log.py
    def _note(self, metrics: Any) -> Any:  # see/log.py
        """Keep a point, tensors on their device, until its block is full"""
    def _write(self) -> Any:  # see/log.py
        """Hand on the points"""
    def _log(self, metrics: Any) -> Any:  # see/log.py
        """Hand on a row"""
    def row(self) -> dict:  # see/log.py
        """Collect what is logged at the end of an epoch

        Returns: Values of the epoch that is over, by column; {} without a recorder
        """
    def after_epoch(self) -> Any: ...  # see/log.py
    def after_record(self, record: Any) -> Any: ...  # see/log.py
    def cleanup_fit(self) -> Any: ...  # see/log.py
    @property
    def _step(self) -> Any: ...

class _FileLogger(Logger):
    """Rows of a file: `_size` bytes of it are ours, `_rest` is not yet in it"""
    remove_on_fetch: bool
    _size: Any
    _rest: bytes
    fname: Any
    append: Any
    _path: Any
    _resumed: Any
    def __init__(self, fname: Any, append: Any, *args: Any) -> None: ...
    def flush(self) -> Any: ...
    def start(self) -> Any: ...
    def state_dict(self) -> Any: ...
    def load_state_dict(self, sd: Any) -> Any: ...
    def _kept(self, data: Any) -> Any:  # see/log.py
        """How many bytes of `data` are rows up to where the learner is"""
    def _to_disk(self) -> Any: ...  # see/log.py
    @property
    def run_folder(self) -> Any: ...

def put_at(path: Path, size: int, data: bytes) -> int:
    """Write `data` after the first `size` bytes of the file `path`, all of it or nothing

    - `path`: Of a file
    - `size`: Bytes of it that stay; what comes after them is dropped
    - `data`: What to write there

    Returns: The file's new size
    """

class CSVLogger(_FileLogger):
    """Write a row for each epoch, and each validation within one, to a CSV file"""
    _head: int
    _starts: bytes
    _rest: Any
    _names: Any
    def __init__(self, fname: Any='history.csv', append: bool=False, every_steps: int | None=None, block: int=100, group: str | None=None, hparams: dict | None=None) -> None:
        """- `fname`: Below `learn.path`, unless it is absolute
        - `append`: Keep rows of other runs?
        - `every_steps`: Optimizer steps between rows with `loss` and `lr`; None for none of these
        - `block`: Rows of steps to write at once
        - `group`: Name that runs of one experiment share, such as its folds; for `runs` and `compare`
        - `hparams`: Hyper-parameters of your own, that `compare` shows
        """
    def _step_of(self, line: Any, i: Any) -> Any: ...
    def start(self) -> Any: ...
    def log_metrics(self, metrics: Any, step: Any) -> Any: ...
    def read_log(self) -> Any:
        """Read the file, by pandas"""
    def _name_columns(self) -> Any: ...  # see/log.py
    def _check_columns(self) -> Any:  # see/log.py
        """Refuse a file that has other columns"""

class JSONLogger(_FileLogger):
    """Write a JSON object in a line for each epoch, and each validation within one"""
    _head: int
    _starts: bytes
    def __init__(self, fname: Any='history.jsonl', append: bool=False, every_steps: int | None=None, block: int=100, group: str | None=None, hparams: dict | None=None) -> None:
        """- `fname`: Below `learn.path`, unless it is absolute
        - `append`: Keep rows of other runs?
        - `every_steps`: Optimizer steps between rows with `loss` and `lr`; None for none of these
        - `block`: Rows of steps to write at once
        - `group`: Name that runs of one experiment share, such as its folds; for `runs` and `compare`
        - `hparams`: Hyper-parameters of your own, that `compare` shows
        """
    def _step_of(self, line: Any, i: Any) -> Any: ...
    def log_metrics(self, metrics: Any, step: Any) -> Any: ...

class _RunLogger(Logger):
    """Logs to a run of a platform: one that is open, or one that it begins, and ends"""
    name: Any
    kwargs: Any
    run_id: Any
    _run: Any
    _is_mine: bool
    def __init__(self, name: Any, every_steps: Any, block: Any, kwargs: Any) -> None: ...
    def _take(self, run: Any, begin: Any, **again: Any) -> Any:
        """Take the `run` that is open, or `begin` one, or the one of `run_id` `again`"""
    def state_dict(self) -> Any: ...
    def load_state_dict(self, sd: Any) -> Any: ...

class WandbCallback(_RunLogger):
    """Log losses, learning rates and metrics to Weights & Biases"""
    failures: Any
    run_id: Any
    _run: Any
    def __init__(self, every_steps: int | None=10, block: int=100, **kwargs: Any) -> None:
        """- `every_steps`: Optimizer steps between points of `loss` and `lr`; None for none of these
        - `block`: Points to hand on at once
        - `kwargs`: To `wandb.init`: project, name, config, mode, …
        """
    def start(self) -> Any: ...
    def log_metrics(self, metrics: Any, step: Any) -> Any: ...
    def finish(self) -> Any: ...

class MLflowCallback(_RunLogger):
    """Log losses, learning rates and metrics to MLflow"""
    failures: Any
    run_id: Any
    _run: Any
    def __init__(self, every_steps: int | None=10, block: int=100, **kwargs: Any) -> None:
        """- `every_steps`: Optimizer steps between points of `loss` and `lr`; None for none of these
        - `block`: Points to hand on at once
        - `kwargs`: To `mlflow.start_run`: run_name, experiment_id, tags, …
        """
    def start(self) -> Any: ...
    def log_metrics(self, metrics: Any, step: Any) -> Any: ...
    def finish(self) -> Any: ...
