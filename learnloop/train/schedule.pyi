# Written by `python -m tools.stubs` from `schedule.py`: methods that other modules patch on are here, too
"""Hyper-parameters that change while a model trains: shapes, the fits that use them, torch's own schedulers, and a finder of learning rates"""

from collections.abc import Callable
from learnloop.loop.callback import Callback
from typing import Any

__all__ = ['SuggestionMethod', 'annealer', 'SchedLin', 'SchedCos', 'SchedNo', 'SchedExp', 'SchedPoly', 'combine_scheds', 'combined_cos', 'check_owners', 'ParamScheduler', 'GradualUnfreezing', 'TorchScheduler', 'LRFinder', 'valley', 'slide', 'minimum', 'steep']

SuggestionMethod: Any

def annealer(f: Any) -> Callable:
    """Make a shape of a formula: a decorator

    - `f`: Function of `(start, end, pct)`, all numbers, and of what else it needs

    Returns: Function of `(start, end)` and the rest; returns a function of `pct`
    """

def SchedLin(start: Any, end: Any) -> Callable:
    """Go from `start` to `end` at the same pace

    - `start`: Value at 0: a number, or a list with one for each group
    - `end`: Value at 1, likewise

    Returns: Function of `pct`
    """

def SchedCos(start: Any, end: Any) -> Callable:
    """Go from `start` to `end` along half a cosine

    - `start`: Value at 0: a number, or a list with one for each group
    - `end`: Value at 1, likewise

    Returns: Function of `pct`
    """

def SchedNo(start: Any, end: Any) -> Callable:
    """Stay at `start`

    - `start`: Value throughout: a number, or a list with one for each group
    - `end`: Taken for the sake of the others' form

    Returns: Function of `pct`
    """

def SchedExp(start: Any, end: Any) -> Callable:
    """Go from `start` to `end` by factors

    - `start`: Value at 0: a number, or a list with one for each group
    - `end`: Value at 1, likewise

    Returns: Function of `pct`
    """

def SchedPoly(start: Any, end: Any, power: Any) -> Callable:
    """Go from `start` to `end` by the power `power` of `pct`

    - `start`: Value at 0: a number, or a list with one for each group
    - `end`: Value at 1, likewise
    - `power`: Above 1 it leaves slowly, below 1 it leaves fast

    Returns: Function of `pct`
    """

def combine_scheds(pcts: Any, scheds: Any) -> Callable:
    """Run `scheds` one after the other

    - `pcts`: Share of each part, summing to 1
    - `scheds`: Functions of `pct`, each of which goes through its own 0 to 1

    Returns: Function of `pct`
    """

def combined_cos(pct: Any, start: Any, middle: Any, end: Any) -> Callable:
    """Go from `start` to `middle` to `end` along cosines

    - `pct`: Share of the way from `start` to `middle`
    - `start`: Value at 0: a number, or a list with one for each group
    - `middle`: Value at `pct`, likewise
    - `end`: Value at 1, likewise

    Returns: Function of `pct`
    """

def check_owners(cb: Any) -> Any:
    """Refuse `cb` if another callback sets what it sets

    - `cb`: A callback in a learner, with `owns`: names of the hyper-parameters that it sets
    """

class ParamScheduler(Callback):
    """Set hyper-parameters, and attributes, before each training batch"""
    order: int
    run_valid: bool
    safe_in_evaluate: bool
    state_schema: dict
    scheds: dict
    total_steps: int | None
    _first: Any
    _was: dict
    def __init__(self, scheds: dict, total_steps: int | None=None) -> None:
        """- `scheds`: Functions of `pct_train`, or lists of them with one for each group, by hyper-parameter, or by dotted path from the learner
        - `total_steps`: Optimizer steps that the schedule takes, for loaders without a length; None to go by `pct_train`
        """
    @property
    def owns(self) -> Any: ...
    @property
    def puts_back(self) -> Any:
        """Hyper-parameters as they will be at the end of the fit, by name"""
    @property
    def pct(self) -> Any:
        """Share of the schedule that is done, from 0 to 1"""
    def before_fit(self) -> Any: ...
    def before_evaluate(self) -> Any:
        """A schedule is a fit's alone"""
    def cleanup_fit(self) -> Any: ...
    def before_train(self) -> Any: ...  # train/schedule.py
    def before_batch(self) -> Any: ...  # train/schedule.py
    def _values(self, pct: Any, check: Any=False) -> Any:  # train/schedule.py
        """What to set at `pct`, by name"""
    def _get(self, k: Any) -> Any: ...  # train/schedule.py
    def _set(self, vals: Any) -> Any: ...  # train/schedule.py
    def _place(self, k: Any) -> Any:  # train/schedule.py
        """The object that has the attribute `k`, and its name there"""
    def state_dict(self) -> dict:  # train/schedule.py
        """Return when the schedule began, if that is needed to go on

        Returns: Plain data; empty outside of fits
        """
    def load_state_dict(self, sd: dict) -> Any:  # train/schedule.py
        """Take up the schedule where it was

        - `sd`: What `state_dict` returned
        """

class GradualUnfreezing(Callback):
    """Unfreeze groups at given epochs"""
    freezes: bool
    at: dict
    def __init__(self, at: dict) -> None:
        """- `at`: First group to train, as in `freeze_to`, by the epoch from which on it holds: `{0:-1, 2:-2, 4:0}`"""
    def before_fit(self) -> Any: ...
    def before_evaluate(self) -> Any:
        """Evaluation trains nothing"""
    def before_epoch(self) -> Any: ...

class TorchScheduler(Callback):
    """Step a scheduler of torch's"""
    order: float
    run_valid: bool
    safe_in_evaluate: bool
    sched: Any
    unit: str
    monitor: str
    _scheds: dict
    _was: dict
    _added: set
    _patched: list
    _seen: int
    _due: dict
    _by_value: Any
    def __init__(self, sched: Any, unit: str, monitor: str='valid_loss') -> None:
        """- `sched`: Function of the optimizer that makes a scheduler, such as `partial(StepLR, step_size=3)`; a dict of them for several optimizers
        - `unit`: When to step it: after each 'step' of the optimizer, each 'epoch', or each validation ('validate')
        - `monitor`: Column of the recorder for schedulers that look at a value, with the unit 'validate'
        """
    @property
    def owns(self) -> Any: ...
    def before_evaluate(self) -> Any:
        """A schedule is a fit's alone"""
    def before_fit(self) -> Any: ...  # train/schedule.py
    def _make(self, f: Any, opt: Any) -> Any: ...  # train/schedule.py
    def cleanup_fit(self) -> Any: ...  # train/schedule.py
    def _check_unit(self) -> Any:  # train/schedule.py
        """Refuse a scheduler that needs a value and wouldn't get one"""
    def _monitored(self) -> Any:  # train/schedule.py
        """What the recorder has for `monitor` in the epoch that ends"""
    def _step(self, value: Any=None) -> Any:  # train/schedule.py
        """Step, if the optimizer has since the last time"""
    def after_batch(self) -> Any: ...  # train/schedule.py
    def after_fetch(self) -> Any: ...  # train/schedule.py
    def after_epoch(self) -> Any: ...  # train/schedule.py
    def after_record(self, record: Any) -> Any: ...  # train/schedule.py
    def state_dict(self) -> dict:  # train/schedule.py
        """Return the state of the schedulers

        Returns: Plain data; empty outside of fits
        """
    def _values(self) -> Any:  # train/schedule.py
        """What schedulers go on from, in each of torch's groups"""
    def load_state_dict(self, sd: dict) -> Any:  # train/schedule.py
        """Take up the state of the schedulers

        - `sd`: What `state_dict` returned
        """
    def _take_up(self) -> Any: ...  # train/schedule.py

class LRFinder(Callback):
    """Train with a rising learning rate"""
    order: int
    run_valid: bool
    owns: Any
    fit_label: str
    _sched: Any
    num_it: Any
    stop_div: bool
    lrs: list
    losses: list
    suggestions: dict
    _best: Any
    _smooth: Any
    _lr: Any
    def __init__(self, start_lr: Any=1e-07, end_lr: Any=10, num_it: int=100, stop_div: bool=True) -> None:
        """- `start_lr`: First learning rate, or a list with one for each group
        - `end_lr`: Learning rate at which it would end, likewise
        - `num_it`: Batches
        - `stop_div`: Stop when the smoothed loss is 4 times the best so far, or not finite?
        """
    def before_fit(self) -> Any: ...
    def before_evaluate(self) -> Any:
        """There is nothing to find in an evaluation"""
    def before_train(self) -> Any: ...
    def before_batch(self) -> Any: ...
    def after_batch(self) -> Any: ...
    def after_train(self) -> Any: ...
    def before_validate(self) -> Any: ...
    def suggest(self, funcs: Any) -> tuple:  # train/schedule.py
        """Suggest learning rates

        - `funcs`: One function such as those in `SuggestionMethod`, or a list

        Returns: Named after the functions: learning rates
        """
    def plot(self, skip_end: int=5, suggestions: Any=None, nms: Any=None, ax: Any=None) -> Any:  # train/schedule.py
        """Plot loss by learning rate

        - `skip_end`: Batches to leave out at the end, where the loss explodes
        - `suggestions`: Results of the functions, each `(lr, (lr, loss))`; None for those of `suggest`
        - `nms`: Their names
        - `ax`: Axes to draw on; None for new ones
        """

def valley(lrs: Any, losses: Any, num_it: int) -> tuple:
    """Suggest the middle of the longest valley

    - `lrs`: Learning rates, rising, (n,)
    - `losses`: Smoothed losses, (n,)
    - `num_it`: Number of batches that were asked for

    Returns: The learning rate, and the point `(lr, loss)` on the curve
    """

def slide(lrs: Any, losses: Any, num_it: int, lr_diff: int=15, thresh: float=0.005, adjust_value: float=1.0) -> tuple:
    """Suggest where an interval that slides down the curve finds like slopes at its ends

    - `lrs`: Learning rates, rising, (n,)
    - `losses`: Smoothed losses, (n,)
    - `num_it`: Number of batches that were asked for
    - `lr_diff`: Width of the interval, in batches
    - `thresh`: How much the slopes, in loss by batch, may differ
    - `adjust_value`: Factor for what is found

    Returns: The learning rate, and the point `(lr, loss)` on the curve
    """

def minimum(lrs: Any, losses: Any, num_it: int) -> tuple:
    """Suggest a tenth of the learning rate with the lowest loss

    - `lrs`: Learning rates, rising, (n,)
    - `losses`: Smoothed losses, (n,)
    - `num_it`: Number of batches that were asked for

    Returns: The learning rate, and the point `(lr, loss)` on the curve: the lowest one
    """

def steep(lrs: Any, losses: Any, num_it: int) -> tuple:
    """Suggest the learning rate where the loss falls fastest

    - `lrs`: Learning rates, rising, (n,)
    - `losses`: Smoothed losses, (n,)
    - `num_it`: Number of batches that were asked for

    Returns: The learning rate, and the point `(lr, loss)` on the curve
    """
