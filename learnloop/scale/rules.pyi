# Written by `python -m tools.stubs` from `rules.py`: methods that other modules patch on are here, too
"""What an optimizer does to one weight, written so that it can become part of a compiled graph"""

from collections.abc import Callable
from collections.abc import Iterable
from typing import Any
from typing import NamedTuple

__all__ = ['RULES', 'Rule', 'fused_rule', 'why_no_rule', 'missing_state', 'has_state', 'n_steps', 'step_by_rules']

RULES: dict

class Rule(NamedTuple):
    """What an optimizer does in a step, as a formula"""
    flags: Any
    hypers: Any
    update: Any
    state: Any
    step: Any

def fused_rule(cls: type, *, hypers: Callable, flags: Callable | None=None, state: Iterable | Callable=()) -> Callable:
    """Register a function as what the optimizers of class `cls` do to a weight

    - `hypers`: Of a group and the number of this step: a tuple of floats
    - `flags`: Of a group: a hashable tuple of what decides about operations; None if nothing does
    - `state`: Names of a weight's tensors of state; or a function of flags, if they depend on these

    Returns: Decorator of an update; it returns it as it is
    """

def why_no_rule(opt: Any) -> str:
    """Tell why `opt` can't be stepped by rules

    - `opt`: Torch optimizer

    Returns: In a few words; '' if there is a rule that does what its step does
    """

def missing_state(opt: Any) -> list:
    """List the weights whose state `opt` has yet to make

    - `opt`: Torch optimizer that has a rule

    Returns: Weights that require gradients and lack a tensor that their rule writes
    """

def has_state(opt: Any) -> bool:
    """Tell whether each weight of `opt` has the state that its rule writes

    - `opt`: Torch optimizer that has a rule

    Returns: False before its first step, if that makes state: this step is its own
    """

def n_steps(opt: Any) -> list:
    """Count the steps that each group of `opt` has made, by the state of its weights

    - `opt`: Torch optimizer that has a rule

    Returns: An int for each group; 0 where its weights don't count
    """

def step_by_rules(opt: Any) -> Any:
    """Step `opt` by its rule, operation by operation

    - `opt`: Torch optimizer that has a rule, and its state
    """
