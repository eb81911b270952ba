# Written by `python -m tools.stubs` from `tracker.py`: methods that other modules patch on are here, too
"""Stop, save, validate, or lower the learning rate, when a number says so"""

from learnloop.loop.callback import Callback
from typing import Any

__all__ = ['TrackerCallback', 'EarlyStoppingCallback', 'CheckFinite', 'TerminateOnNaNCallback', 'SpikeDetection', 'TimeLimit', 'SaveModelCallback', 'ReduceLROnPlateau', 'ValidateCallback', 'ValidateEvery']

class _FitState(Callback):
    """A callback whose state, `_start`, begins anew with each fit, unless it has just been loaded"""
    remove_on_fetch: bool
    safe_in_evaluate: bool
    fit_only: bool
    reset_on_fit: bool
    rank_invariant: bool
    _loaded: bool
    _begun: bool
    _start: dict
    stop_reason: Any
    state_schema: dict
    def reset(self) -> Any:
        """Forget what was seen"""
    def before_fit(self) -> Any: ...
    def cleanup_fit(self) -> Any: ...
    def state_dict(self) -> Any: ...
    def load_state_dict(self, sd: Any) -> Any: ...
    def _tell(self, s: Any) -> Any: ...
    def _end_fit(self, why: Any) -> Any: ...

class TrackerCallback(_FitState):
    """Follow a monitored value: the `best` so far, and whether the last one was a `new_best`"""
    order: int
    _start: dict
    monitor: Any
    comp: Any
    min_delta: float
    reset_on_fit: bool
    better: Any
    _num: Any
    _comp: Any
    seen_at: Any
    new_best: bool
    best: Any
    def __init__(self, monitor: Any='valid_loss', comp: Any=None, min_delta: float=0.0, reset_on_fit: bool=True, *, better: str | None=None) -> None:
        """- `monitor`: Name of the value, or a function of the recorder that returns it after each epoch
        - `comp`: Function of two values that tells whether the first is better, in place of `better`
        - `min_delta`: A new best is better by more than this
        - `reset_on_fit`: Begin anew with each fit?
        - `better`: Which value is better: 'less' or 'more'; None if the metric declares it
        """
    def before_fit(self) -> Any: ...
    def after_epoch(self) -> Any: ...
    def after_record(self, record: Any) -> Any: ...
    def act(self, val: float) -> Any:
        """Do something about a value, when `best` and `new_best` are up to date: for subclasses

        - `val`: The value
        """
    def is_better(self, a: float, b: float) -> bool:  # train/tracker.py
        """Tell whether `a` is better than `b`

        - `a`: A value
        - `b`: Another

        Returns: `min_delta` has no part in it
        """
    @property
    def rule(self) -> Any:  # train/tracker.py
        """Which value is better, for messages: 'less is better', or 'more is better'"""
    def _improves(self, v: Any, best: Any) -> Any: ...  # train/tracker.py
    def _observe(self, v: Any) -> Any: ...  # train/tracker.py
    @property
    def what(self) -> Any:  # train/tracker.py
        """What is monitored, for messages"""
    def _check_monitor(self) -> Any: ...  # train/tracker.py

class EarlyStoppingCallback(TrackerCallback):
    """Stop the fit when the monitored value does not improve any more"""
    order: int
    run_valid: bool
    _start: Any
    patience: Any
    start_from_epoch: Any
    baseline: float | None
    check_finite: bool
    stopping_threshold: float | None
    divergence_threshold: float | None
    wait: Any
    stop_reason: Any
    def __init__(self, monitor: Any='valid_loss', comp: Any=None, min_delta: float=0.0, patience: int=1, reset_on_fit: bool=True, *, baseline: float | None=None, stopping_threshold: float | None=None, divergence_threshold: float | None=None, check_finite: bool=False, start_from_epoch: int=0, better: str | None=None) -> None:
        """- `monitor`: As in `TrackerCallback`
        - `comp`: As in `TrackerCallback`
        - `min_delta`: As in `TrackerCallback`
        - `patience`: Values without improvement at which to stop: more for noisier ones
        - `reset_on_fit`: Begin anew with each fit? If not, a fit that was stopped stays so
        - `baseline`: Only what is better than this is an improvement
        - `stopping_threshold`: Stop as soon as the value is better than this
        - `divergence_threshold`: Stop as soon as it is worse than this
        - `check_finite`: Stop as soon as it is infinite or NaN? Otherwise that is no improvement
        - `start_from_epoch`: Values of earlier epochs are ignored: the first ones may be misleading
        - `better`: As in `TrackerCallback`
        """
    def before_fit(self) -> Any: ...
    def cleanup_load(self) -> Any: ...
    def act(self, val: Any) -> Any: ...
    def cleanup_batch(self) -> Any: ...
    def cleanup_epoch(self) -> Any: ...
    def _observe(self, v: Any) -> Any: ...  # train/tracker.py
    def _why(self, val: Any) -> Any:  # train/tracker.py
        """Why to stop at `val`, or None"""
    def _stop(self, what: Any) -> Any: ...  # train/tracker.py

class CheckFinite(_FitState):
    """Raise an error, skip the step, or stop the fit before an infinite or NaN loss or gradient gets to the weights"""
    handles_nan: bool
    order: int
    _start: dict
    action: str
    grads: bool
    patience: Any
    reset_on_fit: bool
    skipped: Any
    def __init__(self, action: str='raise', grads: bool=True, patience: int=5, reset_on_fit: bool=True) -> None:
        """- `action`: `raise` a FloatingPointError, `skip` the step, or `stop` the fit
        - `grads`: Look at gradients, too?
        - `patience`: Steps skipped in a row at which the fit stops
        - `reset_on_fit`: Count skipped steps anew with each fit?
        """
    def after_loss(self) -> Any: ...
    def before_step(self) -> Any: ...
    def cleanup_zero_grad(self) -> Any: ...
    @property
    def _now(self) -> Any:
        """What is known of the optimizer whose turn it is: of the only one, in attributes"""
    def in_graph(self, event: Any) -> Any: ...  # train/tracker.py
    def _of_all(self, why: Any) -> Any:  # train/tracker.py
        """What is wrong with the loss, here or in another process"""
    def _check_grads(self) -> Any: ...  # train/tracker.py
    def _act(self, why: Any) -> Any: ...  # train/tracker.py
    def _end_fit(self, why: Any) -> Any: ...  # train/tracker.py
    def _skip_step(self) -> Any: ...  # train/tracker.py

class TerminateOnNaNCallback(CheckFinite):
    """Stop the fit before a loss or a gradient that is infinite or NaN gets to the weights"""
    def __init__(self) -> None: ...

class SpikeDetection(_FitState):
    """Skip batches whose loss is far above the mean of those before; stop the fit if they don't end"""
    handles_nan: bool
    order: int
    run_valid: bool
    _start: dict
    window: Any
    warmup: Any
    rtol: float
    atol: float
    patience: Any
    reset_on_fit: bool
    def __init__(self, window: int=10, warmup: int=10, rtol: float=2.0, atol: float=0.0, patience: int=5, reset_on_fit: bool=True) -> None:
        """- `window`: Losses in the mean
        - `warmup`: Batches before the first that may be skipped: the mean of a few tells little
        - `rtol`: A spike is above the mean by more than this share of it, …
        - `atol`: … and by more than this
        - `patience`: Spikes in a row at which the fit stops: 1 for the first
        - `reset_on_fit`: Begin anew with each fit?
        """
    def after_loss(self) -> Any: ...
    @property
    def _now(self) -> Any:
        """Losses of the turn that goes on: of the only one, in attributes"""
    def in_graph(self, event: Any) -> Any: ...  # train/tracker.py
    def _is_spike(self, v: Any) -> Any: ...  # train/tracker.py
    def _skip_batch(self, v: Any) -> Any: ...  # train/tracker.py

class TimeLimit(_FitState):
    """End the fit when its time is up, with a last validation"""
    order: int
    run_valid: bool
    _since: Any
    _start: dict
    seconds: Any
    reset_on_fit: bool
    _asks_at: int
    spent: Any
    stop_reason: str
    def __init__(self, hours: float=0.0, minutes: float=0.0, seconds: float=0.0, reset_on_fit: bool=True) -> None:
        """- `hours`: These …
        - `minutes`: … and these …
        - `seconds`: … are added
        - `reset_on_fit`: All of the time for each fit?
        """
    def before_fit(self) -> Any: ...
    def cleanup_fit(self) -> Any: ...
    def state_dict(self) -> Any: ...
    def before_train(self) -> Any: ...
    def before_batch(self) -> Any: ...
    def after_epoch(self) -> Any: ...
    def after_fit(self) -> Any: ...
    def _end_in_time(self) -> Any:
        """Have this epoch be the last if the time is up"""
    def _is_up(self) -> Any:  # train/tracker.py
        """Is the time up, by the clock of the first process, which says when to ask again"""
    @property
    def elapsed(self) -> Any:  # train/tracker.py
        """Seconds of the limit that are used up"""

class SaveModelCallback(TrackerCallback):
    """Save the model when the monitored value improves, and load the best after the fit"""
    order: int
    writes: bool
    _epoch_done: bool
    _n: int
    _hold: Any
    _start: Any
    fname: Any
    every_epoch: Any
    at_end: bool
    with_opt: bool
    keep: int | None
    _keeps_best: bool
    saves: list
    def __init__(self, monitor: Any='valid_loss', comp: Any=None, min_delta: float=0.0, fname: Any='model', every_epoch: Any=False, at_end: bool=False, with_opt: bool=False, reset_on_fit: bool=True, *, keep: int | None=None, better: str | None=None) -> None:
        """- `monitor`: As in `TrackerCallback`
        - `comp`: As in `TrackerCallback`
        - `min_delta`: As in `TrackerCallback`
        - `fname`: Name of the file, below `learn.path/learn.model_dir`
        - `every_epoch`: Save each epoch, as `fname_0`, …, or each k-th, and not the best?
        - `at_end`: Save when the fit is over, and not the best?
        - `with_opt`: The optimizer, too?
        - `reset_on_fit`: Begin anew with each fit?
        - `keep`: Files to keep: the k best or, with `every_epoch`, the k last; None for 1, or all
        - `better`: As in `TrackerCallback`
        """
    def after_epoch(self) -> Any: ...
    def after_record(self, record: Any) -> Any: ...
    def act(self, val: Any) -> Any: ...
    def after_fit(self) -> Any: ...
    def before_fit(self) -> Any: ...  # train/tracker.py
    def cleanup_fit(self) -> Any: ...  # train/tracker.py
    def _save(self, name: Any, val: Any=None) -> Any: ...  # train/tracker.py
    def _by_rank(self, pick: Any) -> Any:  # train/tracker.py
        """The best of `saves`, with `max`, or the worst, with `min`"""
    def _check_monitor(self) -> Any: ...  # train/tracker.py
    def _load_best(self) -> Any: ...  # train/tracker.py
    @property
    def last_saved_path(self) -> Any:  # train/tracker.py
        """Where the last file is; None if there is none"""
    @property
    def best_save(self) -> Any:  # train/tracker.py
        """What is known of the best file: `name`, `path`, `value`, `epoch`; None if there is none"""

class ReduceLROnPlateau(TrackerCallback):
    """Lower the learning rate when the monitored value does not improve any more"""
    order: int
    owns: Any
    _start: Any
    patience: Any
    cooldown: Any
    factor: float
    min_lr: float
    wait: int
    cooling: Any
    def __init__(self, monitor: Any='valid_loss', comp: Any=None, min_delta: float=0.0, patience: int=1, factor: float=10.0, min_lr: float=0.0, reset_on_fit: bool=True, *, cooldown: int=0, better: str | None=None) -> None:
        """- `monitor`: As in `TrackerCallback`
        - `comp`: As in `TrackerCallback`
        - `min_delta`: As in `TrackerCallback`
        - `patience`: Values without improvement at which to lower it
        - `factor`: What it is divided by
        - `min_lr`: It isn't lowered below this
        - `reset_on_fit`: Begin anew with each fit?
        - `cooldown`: Values after a reduction that don't count
        - `better`: As in `TrackerCallback`
        """
    def before_fit(self) -> Any: ...
    def act(self, val: Any) -> Any: ...

class ValidateCallback(Callback):
    """Validate on further loaders after each epoch, or within epochs"""
    order: int
    run_valid: bool
    remove_on_fetch: bool
    safe_in_evaluate: bool
    fit_only: bool
    rank_invariant: bool
    every_steps: int | None
    every_epochs: Any
    when: Any
    ds_idx: Any
    dl_: Any
    dl_name: str | None
    cbs_: Any
    name: str
    _seen: int
    provides: Any
    epoch_columns: Any
    def __init__(self, every_steps: int | None=None, every_epochs: int | None=None, when: Any=None, ds_idx: Any=1, dl: Any=None, name: str | None=None, cbs: Any=None) -> None:
        """- `every_steps`: After each so many optimizer steps
        - `every_epochs`: After each so many epochs; None: each, if nothing else says when
        - `when`: Function of the learner, asked after each optimizer step
        - `ds_idx`: Which of `learn.dls`, by index or name
        - `dl`: Any other loader
        - `name`: What the values' names begin with; None: the loader's name in `learn.dls`
        - `cbs`: Callbacks for these evaluations only
        """
    def state_dict(self) -> Any: ...
    def load_state_dict(self, sd: Any) -> Any: ...
    def before_fit(self) -> Any: ...  # train/tracker.py
    def after_batch(self) -> Any: ...  # train/tracker.py
    def after_fetch(self) -> Any: ...  # train/tracker.py
    def _validate_if_due(self) -> Any: ...  # train/tracker.py
    def after_epoch(self) -> Any: ...  # train/tracker.py
    def _validate(self) -> Any: ...  # train/tracker.py
    def _at(self) -> Any:  # train/tracker.py
        """The epoch, as a fraction within it"""

class ValidateEvery(Callback):
    """Validate after each so many epochs only, and after the last"""
    order: int
    rank_invariant: bool
    every_epochs: Any
    def __init__(self, every_epochs: int) -> None:
        """- `every_epochs`: Epochs from one validation to the next"""
    def before_validate(self) -> Any: ...
