# Written by `python -m tools.stubs` from `limits.py`: methods that other modules patch on are here, too
"""Short runs on purpose: a few batches, the same few again, a rehearsal, validation first, the largest batch"""

from learnloop.data.loaders import Until
from learnloop.loop.callback import Callback
from typing import Any

__all__ = ['LimitBatches', 'ShortEpochCallback', 'OverfitBatches', 'FastDevRun', 'SanityCheck', 'ReloadLoaders', 'DetectAnomaly', 'Deterministic', 'FirstBatches']

class LimitBatches(Callback):
    """End epochs and validations after a number of batches: the loaders seem to be that short"""
    order: int
    remove_on_fetch: bool
    safe_in_evaluate: bool
    fit_only: bool
    rank_invariant: bool
    train: Any
    valid: Any
    def __init__(self, train: Any=None, valid: Any=None) -> None:
        """- `train`: Batches of an epoch, or share of them as a float; None for all
        - `valid`: Batches of a validation, likewise
        """
    def before_fit(self) -> Any: ...
    def before_train(self) -> Any: ...
    def before_validate(self) -> Any: ...
    def _limit(self, n: Any, training: Any) -> Any: ...

class ShortEpochCallback(LimitBatches):
    """End epochs after the share `pct` of their batches"""
    def __init__(self, pct: float=0.01, short_valid: bool=True) -> None:
        """- `pct`: Share of the batches, above 0 and up to 1; there is always one
        - `short_valid`: Shorten validation, too?
        """

class OverfitBatches(Callback):
    """Train on the same few batches in each epoch, and validate on them, too"""
    order: int
    remove_on_fetch: bool
    safe_in_evaluate: bool
    fit_only: bool
    rank_invariant: bool
    n: Any
    _source: Any
    _kept: list
    _drawn: Any
    def __init__(self, n: Any=1) -> None:
        """- `n`: Number of training batches to keep, or share of them as a float; they are held in memory"""
    def before_fit(self) -> Any: ...
    def before_train(self) -> Any: ...
    def before_validate(self) -> Any: ...
    def _use_kept(self) -> Any: ...
    def _take(self, dl: Any) -> Any: ...
    def state_dict(self) -> Any: ...
    def load_state_dict(self, sd: Any) -> Any: ...

class FastDevRun(LimitBatches):
    """Make the fit a rehearsal: one epoch of `n` batches, `n` to validate on, and callbacks with `writes = True` muted"""
    def __init__(self, n: Any=1) -> None:
        """- `n`: Batches to train and to validate on, each"""
    def before_fit(self) -> Any: ...

class SanityCheck(Callback):
    """Validate on a few batches before the first epoch, without a trace"""
    order: Any
    fit_only: bool
    rank_invariant: bool
    n: Any
    resumed: bool
    result: Any
    def __init__(self, n: int=2, resumed: bool=False) -> None:
        """- `n`: Batches; -1 for all
        - `resumed`: Also if the fit begins at a later epoch than the first? It was checked before, then
        """
    def before_fit(self) -> Any: ...
    def _validate(self) -> Any: ...

class ReloadLoaders(Callback):
    """Replace the training loader every few epochs"""
    fit_only: bool
    rank_invariant: bool
    every_epochs: Any
    _f: Any
    _found: Any
    _last: dict
    _is_new: bool
    def __init__(self, every_epochs: int, f: Any) -> None:
        """- `every_epochs`: Epochs for which a loader is used
        - `f`: Function of the learner, returns a loader to train on, or that and one to validate on
        """
    def before_fit(self) -> Any: ...
    def cleanup_fit(self) -> Any: ...
    def before_epoch(self) -> Any: ...
    def _reload(self) -> Any: ...
    def state_dict(self) -> Any: ...
    def load_state_dict(self, sd: Any) -> Any: ...

class DetectAnomaly(Callback):
    """Have torch name the operation that a NaN gradient came from"""
    fit_only: bool
    rank_invariant: bool
    check_nan: bool
    _was: Any
    def __init__(self, check_nan: bool=True) -> None:
        """- `check_nan`: Raise an error at a NaN? Else only errors in backward are traced to forward"""
    def before_fit(self) -> Any: ...
    def cleanup_fit(self) -> Any: ...

class Deterministic(Callback):
    """Let torch use deterministic algorithms only"""
    rank_invariant: bool
    warn_only: bool
    _was: Any
    def __init__(self, warn_only: bool=False) -> None:
        """- `warn_only`: Warn of operations that have none, rather than raise an error?"""
    def before_fit(self) -> Any: ...
    def cleanup_fit(self) -> Any: ...

class FirstBatches(Until):
    """The first `n` batches of `dl`: none is fetched beyond, and its iterator is let go there"""
    dl: Any
    n: Any
    def __init__(self, dl: Any, n: Any) -> None:
        """- `dl`: Loader: any iterable of batches
        - `n`: Number of batches, or share of its length as a float, rounded up
        """
    def __len__(self) -> Any: ...
    def __iter__(self) -> Any: ...
    def __repr__(self) -> Any: ...
