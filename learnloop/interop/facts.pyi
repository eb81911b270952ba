# Written by `python -m tools.stubs` from `facts.py`: methods that other modules patch on are here, too
"""Processes, steps, values and states as the trainers of other systems tell them, asked of a learner"""

from typing import Any

__all__ = ['has_base', 'find_cb', 'schedulers', 'batch_size', 'batches_per_step', 'whole_batch', 'evaluation_kind', 'n_open', 'is_valid_dl', 'validated', 'n_processes', 'process_rank', 'local_rank', 'plain', 'storable', 'storable_items', 'init_args']

def has_base(o: Any, *names: Any) -> bool:
    """Whether the class of `o`, or one of its bases, has one of `names`

    - `o`: Anything
    - `names`: Of classes
    """

def find_cb(learn: Any, name: str) -> Any:
    """Find the learner's first callback of a class

    - `learn`: The learner
    - `name`: Of the callback's class, or a base of that
    """

def schedulers(learn: Any) -> dict:
    """Find the schedulers of torch that step in this fit

    - `learn`: The learner

    Returns: By the names of the optimizers; empty without a `TorchScheduler`
    """

def batch_size(dl: Any) -> int | None:
    """Count the items in a batch of `dl`: by what it says or, of a list, by its first batch

    - `dl`: A loader

    Returns: None if it doesn't say
    """

def batches_per_step(learn: Any, bs: int | None) -> int | None:
    """Count the batches that make an optimizer step

    - `learn`: The learner
    - `bs`: Items in a batch; None if that isn't known

    Returns: None if nobody knows
    """

def whole_batch(learn: Any) -> Any:
    """Put inputs and targets together again

    - `learn`: The learner, in a batch
    """

def evaluation_kind(learn: Any) -> str:
    """Tell whose the validation is that is going on

    - `learn`: The learner, in a validation

    Returns: `sanity`, `epoch`, `within` a fit, as callbacks ask for it, or `outside`
    """

def n_open(learn: Any, phase: str) -> int:
    """Count the open phases of a name

    - `learn`: The learner
    - `phase`: Name of a phase

    Returns: More than 1 for one within one
    """

def is_valid_dl(learn: Any) -> bool:
    """Whether the loader in use is that for validation, wrapped or not

    - `learn`: The learner, in a validation
    """

def validated(learn: Any) -> dict:
    """Loss and metrics of the validation that is ending, by the recorder's names

    - `learn`: The learner, at the end of a validation

    Returns: None for what has no value; empty without a recorder
    """

def n_processes() -> int:
    """Count the processes that train together"""

def process_rank() -> int:
    """Number this process among all that train together

    Returns: 0 for the first; what launchers tell in `RANK`, before the processes have met
    """

def local_rank() -> int:
    """Number this process among those on the same machine"""

def plain(o: Any, other: Any=...) -> Any:
    """Make `o` plain

    - `o`: Data, nested in any way
    - `other`: Function of what is no container and no number of NumPy; it may raise a TypeError
    """

def storable(o: Any) -> Any:
    """Refuse what a checkpoint can't hold by a TypeError

    - `o`: A value, as `plain` hands it on
    """

def storable_items(d: dict, other: Any=...) -> dict:
    """Keep what a checkpoint can hold of `d`

    - `d`: Values by name
    - `other`: As for `plain`

    Returns: Copies
    """

def init_args(cls: type) -> set:
    """Names of the arguments that the constructors of `cls` and its bases take"""
