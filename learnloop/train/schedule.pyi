# Written by `python -m tools.stubs` from `schedule.py`: methods that other modules patch on are here, too
"""Hyper-parameters that change while a model trains: shapes, and the fits that use them"""

from collections.abc import Callable
from learnloop.loop.callback import Callback
from typing import Any

__all__ = ['annealer', 'SchedLin', 'SchedCos', 'SchedNo', 'SchedExp', 'SchedPoly', 'combine_scheds', 'combined_cos', 'GradualUnfreezing', 'Scheduler', 'ParamScheduler', 'check_owners']

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

class GradualUnfreezing(Callback):
    """Unfreeze groups at given epochs"""
    fit_only: bool
    rank_invariant: bool
    in_charge_of: dict
    at: dict
    def __init__(self, at: dict) -> None:
        """- `at`: First group to train, as in `freeze_to`, by the epoch from which on it holds: `{0:-1, 2:-2, 4:0}`"""
    def before_fit(self) -> Any: ...
    def before_epoch(self) -> Any: ...

class Scheduler(Callback):
    """Set hyper-parameters before each training batch of a fit: a subclass says which in `owns`, and to what in `values`"""
    order: int
    run_valid: bool
    safe_in_evaluate: bool
    fit_only: bool
    needs_length: bool
    rank_invariant: bool
    total_steps: Any
    _first: Any
    _was: dict
    _now: dict
    _ended: Any
    _switched: bool
    _n_groups: Any
    _n_known: Any
    state_schema: dict
    in_charge_of: Any
    def __init__(self, total_steps: int | None=None) -> None:
        """- `total_steps`: Optimizer steps it takes, for loaders without a length; None to go by `pct_train`"""
    def values(self) -> dict:
        """Return what to set for the batch that begins: for subclasses

        Returns: A number, or a list with one for each group, by name
        """
    @property
    def pct(self) -> Any:
        """Share of the schedule that is done, from 0 to 1"""
    def before_fit(self) -> Any: ...
    def before_batch(self) -> Any: ...
    def cleanup_fit(self) -> Any: ...  # train/schedule.py
    def _read(self, k: Any) -> Any: ...  # train/schedule.py
    def _write(self, vals: Any) -> Any: ...  # train/schedule.py
    def _attr(self, path: Any) -> Any:  # train/schedule.py
        """The object that has the attribute at `path`, dotted, from the learner, and the attribute's name"""
    def opt_switched(self, given: Any) -> Any:  # train/schedule.py
        """Go on with the new optimizer of the learner

        - `given`: Names of the hyper-parameters that the switch named: `lr`, `wd`
        """
    def _meet_groups(self) -> Any:  # train/schedule.py
        """Note what groups that were added since have of their own"""
    def _for_groups(self, v: Any) -> Any:  # train/schedule.py
        """The value `v`, or as many as there are groups by now"""
    def _in_force(self, vals: Any) -> Any:  # train/schedule.py
        """What there is, of the names of `vals`: where a schedule has ended, what the optimizer has"""
    def before_train(self) -> Any: ...  # train/schedule.py
    def state_dict(self) -> dict:  # train/schedule.py
        """Return when the schedule began, if that is needed to go on

        Returns: Plain data; empty outside of fits
        """
    def load_state_dict(self, sd: dict) -> Any:  # train/schedule.py
        """Take up the schedule where it was

        - `sd`: What `state_dict` returned
        """

class ParamScheduler(Scheduler):
    """Set hyper-parameters, and attributes, before each training batch"""
    scheds: dict
    owns: Any
    def __init__(self, scheds: dict, total_steps: int | None=None) -> None:
        """- `scheds`: By hyper-parameter, or dotted path from the learner: a function of `pct`, or one for each group
        - `total_steps`: As in `Scheduler`
        """
    def values(self) -> Any: ...
    def before_fit(self) -> Any: ...
    def _values_at(self, pct: Any) -> Any: ...

def check_owners(cb: Any) -> Any:
    """Refuse `cb` if another callback sets what it sets

    - `cb`: A callback in a learner, with `owns`: names of the hyper-parameters that it sets
    """
