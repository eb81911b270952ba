# Written by `python -m tools.stubs` from `tensorboard.py`: methods that other modules patch on are here, too
"""A run in TensorBoard: training and validation in one chart, hyper-parameters, norms, the model's graph, examples"""

from learnloop.loop.callback import Callback
from learnloop.see.log import Logger
from pathlib import Path
from typing import Any

__all__ = ['TensorBoardCallback', 'read_tensorboard', 'read_scalars']

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
    def _rows_places(self) -> Any:  # see/tensorboard.py
        """`_places` of all that rows may have, by name"""
    def _point_places(self, name: Any) -> Any: ...  # see/tensorboard.py
    def after_record(self, record: Any) -> Any: ...  # see/tensorboard.py
    def _open(self, run: Any='') -> Any:  # see/tensorboard.py
        """The writer of a folder"""
    def _add(self, pts: Any, step: Any) -> Any: ...  # see/tensorboard.py
    def _take_up(self) -> Any:  # see/tensorboard.py
        """Find out from which step on earlier points don't count; is it the log of a new run?"""

class TensorBoardCallback(_RunLog):
    """Log a run to TensorBoard: losses, metrics, hyper-parameters, the model's graph, examples, and more if asked"""
    hypers: Any
    _embedded: Any
    norms_every_steps: int | None
    histograms_every_steps: int | None
    examples: Any
    n_embed: Any
    examples_every_epochs: Any
    unit: str
    graph: bool
    show: Any
    embed: Any
    log_dir: Any
    _dir: Any
    _is_new: Any
    _writers: dict
    _loaders: list
    _spent: dict
    _at_start: dict
    def __init__(self, log_dir: Any=None, every_steps: int=10, block: int=100, unit: str='steps', norms_every_steps: int | None=None, histograms_every_steps: int | None=None, graph: bool=True, hparams: dict | None=None, examples: int=9, examples_every_epochs: int=1, show: Any=None, embed: Any=None, n_embed: int=1000, group: str | None=None) -> None:
        """- `log_dir`: Folder of this run, below `learn.path` unless it is absolute; None for a new one in `runs` there
        - `every_steps`: Optimizer steps between points of `loss` and `optimizer/…`: more points cost more time
        - `block`: Points to write at once: for each block, the device is waited for
        - `unit`: The x axis: optimizer 'steps', or 'samples'
        - `norms_every_steps`: Optimizer steps between norms of gradients and weights; None for none
        - `histograms_every_steps`: Optimizer steps between their histograms; None for none
        - `graph`: Draw the model, from its first batch?
        - `hparams`: Hyper-parameters of your own, to compare runs by, besides those of the optimizer
        - `examples`: Validation items to show with their predictions; 0 for none
        - `examples_every_epochs`: Epochs between examples
        - `show`: Function `show(x, y, pred)` that returns text or an image, (c,h,w) or (h,w); None for the usual
        - `embed`: Module whose outputs for validation items the projector draws, at the end of a fit
        - `n_embed`: Items to draw so
        - `group`: Name that runs of one experiment share, such as its folds; for `runs` and `compare`
        """
    @property
    def writer(self) -> Any:  # see/tensorboard.py
        """torch's `SummaryWriter` of the log directory, while a fit runs"""
    @property
    def _step(self) -> Any: ...  # see/tensorboard.py
    def _remove_helpers(self, cls: Any=...) -> Any: ...  # see/tensorboard.py
    def _began(self, is_new: Any) -> Any: ...  # see/tensorboard.py
    def _ended(self, writer: Any) -> Any: ...  # see/tensorboard.py
    def cleanup_fit(self) -> Any: ...  # see/tensorboard.py
    def _write_histograms(self, tags: Any, hists: Any) -> Any: ...  # see/tensorboard.py
    def before_fit(self) -> Any: ...  # see/tensorboard.py
    def _check_spread(self) -> Any:  # see/tensorboard.py
        """Refuse to look at parameters of which this process has but a part"""
    def _begin_hparams(self) -> Any: ...  # see/tensorboard.py
    def _end_hparams(self, writer: Any) -> Any: ...  # see/tensorboard.py
    def before_validate(self) -> Any: ...  # see/tensorboard.py
    def cleanup_validate(self) -> Any: ...  # see/tensorboard.py
    def _write_examples(self, items: Any) -> Any: ...  # see/tensorboard.py
    def _write_embeddings(self, writer: Any) -> Any: ...  # see/tensorboard.py
    def _timings(self) -> Any:  # see/tensorboard.py
        """Seconds until now, by phase and by callback"""
    def row(self) -> Any: ...  # see/tensorboard.py
    @property
    def _orig__step(self) -> Any: ...
    @property
    def run_folder(self) -> Any: ...

def read_tensorboard(log_dir: Any) -> dict:
    """Read the curves that a `TensorBoardCallback` wrote

    - `log_dir`: Folder of a run

    Returns: Lists of (step, value): `loss` and `lr` of steps, the recorder's columns, and the rest
    """

def read_scalars(folder: Any) -> dict:
    """Read the curves in the event files of `folder`

    - `folder`: With event files, not those in folders below

    Returns: Lists of (step, value), by tag
    """

class _Helper(Callback):
    """What a `TensorBoardCallback` adds for a while"""
    remove_on_fetch: bool
    rank_invariant: bool
    log: Any
    name: str
    def __init__(self, log: Any) -> None: ...

class _Graph(_Helper):
    order: int
    run_valid: bool
    nodes: dict
    made: dict
    stack: list
    hooks: list
    names: dict
    def before_batch(self) -> Any: ...
    def _enter(self, m: Any, args: Any) -> Any: ...
    def _leave(self, m: Any, args: Any, out: Any) -> Any: ...
    def after_loss(self) -> Any: ...
    def cleanup_batch(self) -> Any: ...
    def _sources(self, args: Any) -> Any:  # see/tensorboard.py
        """Names of the nodes whose outputs the tensors in `args` were made of; of the last one, where nobody knows"""
