# Written by `python -m tools.stubs` from `tensorboard.py`: methods that other modules patch on are here, too
"""A run in TensorBoard: curves of training and validation in one chart, hyper-parameters, norms, histograms, the model's graph, examples, timings"""

from learnloop.see.log import Logger
from pathlib import Path
from typing import Any

__all__ = ['TensorBoardCallback', 'read_tensorboard']

class _RunLog(Logger):
    """A `Logger` to the event files of a run, that a checkpoint can take up"""
    _last: Any
    _is_ours: bool
    _graphed: bool
    _purge: Any
    log_dir: Any
    now: Any
    _dir: Path
    _loaders: list
    def start(self) -> Any: ...
    def log_metrics(self, metrics: Any, step: Any) -> Any: ...
    def flush(self) -> Any: ...
    def finish(self) -> Any: ...
    def state_dict(self) -> Any: ...
    def load_state_dict(self, sd: Any) -> Any: ...
    def _take_up(self, ours: Any) -> Any:  # see/tensorboard.py
        """Find out where the log begins or goes on: in a new run, which is returned, or in one that this callback has left or not"""
    def _open(self, run: Any='') -> Any:  # see/tensorboard.py
        """The writer of a folder"""
    def _add(self, pts: Any, step: Any) -> Any: ...  # see/tensorboard.py

class TensorBoardCallback(_RunLog):
    """Log a run to TensorBoard: losses, metrics, hyper-parameters, the model's graph, examples, and if asked norms, histograms and embeddings"""
    hypers: Any
    examples: Any
    examples_every_epochs: Any
    log_dir: Any
    _dir: Any
    _is_new: Any
    unit: str
    norms_every_steps: int | None
    histograms_every_steps: int | None
    graph: bool
    hparams: dict
    show: Any
    embed: Any
    n_embed: Any
    _writers: dict
    _loaders: list
    _spent: dict
    _at_start: dict
    _points_of: Any
    def __init__(self, log_dir: Any=None, every_steps: int=10, block: int=100, unit: str='steps', norms_every_steps: int | None=None, histograms_every_steps: int | None=None, graph: bool=True, hparams: dict | None=None, examples: int=9, examples_every_epochs: int=1, show: Any=None, embed: Any=None, n_embed: int=1000) -> None:
        """- `log_dir`: Folder of this run, below `learn.path` unless it is absolute; None for one in `runs` there, named after the time
        - `every_steps`: Optimizer steps between points of `loss` and `optimizer/…`: more points cost more time
        - `block`: Points to write at once: for each block, the device is waited for
        - `unit`: The x axis: optimizer 'steps', or 'samples'
        - `norms_every_steps`: Optimizer steps between norms of gradients and weights by group; None for none
        - `histograms_every_steps`: Optimizer steps between histograms of weights and gradients; None for none
        - `graph`: Draw the model, from its first batch?
        - `hparams`: Numbers and words that this run is to be compared by, besides those of the optimizer
        - `examples`: Validation items to show with their predictions; 0 for none
        - `examples_every_epochs`: Epochs between examples
        - `show`: Function `show(x, y, pred)` of an item, `pred` decoded, that returns text or an image, (c,h,w) or (h,w); None for images or a table
        - `embed`: Module whose outputs for validation items are drawn as points, in the projector, at the end of a fit
        - `n_embed`: Items to draw so
        """
    @property
    def writer(self) -> Any:
        """torch's `SummaryWriter` of the log directory, while a fit runs"""
    def _began(self, is_new: Any) -> Any: ...  # see/tensorboard.py
    def _ended(self, writer: Any) -> Any: ...  # see/tensorboard.py
    def cleanup_fit(self) -> Any: ...  # see/tensorboard.py
    def _remove_helpers(self, cls: Any=...) -> Any: ...  # see/tensorboard.py
    def after_record(self, record: Any) -> Any: ...  # see/tensorboard.py
    def _write_histograms(self, tags: Any, hists: Any) -> Any: ...  # see/tensorboard.py
    def before_fit(self) -> Any: ...  # see/tensorboard.py
    def _begin_hparams(self) -> Any: ...  # see/tensorboard.py
    def before_validate(self) -> Any: ...  # see/tensorboard.py
    def cleanup_validate(self) -> Any: ...  # see/tensorboard.py
    def _write_examples(self, xb: Any, yb: Any, pred: Any) -> Any: ...  # see/tensorboard.py
    def _write_embeddings(self, writer: Any) -> Any: ...  # see/tensorboard.py
    def _timings(self) -> Any:  # see/tensorboard.py
        """Seconds until now, by phase and by callback"""
    def _row(self) -> Any: ...  # see/tensorboard.py
    @property
    def _step(self) -> Any: ...

def read_tensorboard(log_dir: Any) -> dict:
    """Read the curves that a `TensorBoardCallback` wrote

    - `log_dir`: Folder of a run

    Returns: Lists of (step, value) by name: `loss` and `lr` of steps, the recorder's `train_loss`, `valid_loss` and metrics, and the rest
    """
