# Written by `python -m tools.stubs`: methods that other modules patch on are here, too
"""One training step, traced by Dynamo into one graph of tensors, with guards that say for which steps it is valid"""
from typing import Any, Literal

MYPY: Literal[False]  # mypy takes it for True
__all__ = ['FRESH', 'ARGS', 'Unfusable', 'why_no_step', 'stand_in', 'own_attributes', 'Numbers', 'StepPlan', 'compute_numbers', 'TracedStep', 'methods_of', 'in_a_line', 'in_optimizer', 'why_untraced', 'tensors_in']

FRESH: str
ARGS: Any

class Unfusable(Exception):
    """A step can't be compiled, for the reason in the message"""
def why_no_step(opt: Any) -> str:
    """Tell why a compiled step can't include `opt.step()`

    - `opt`: An optimizer

    Returns: '' if nothing is in the way"""
def stand_in(cls: type) -> type:
    """Make a class that steps as `cls` does, and holds what the trace gives it

    - `cls`: Class of an optimizer

    Returns: Its methods, without what torch wraps around them"""
def own_attributes(opt: Any) -> list:
    """List the attributes of an optimizer, and of its classes, that torch's optimizers don't have

    - `opt`: An optimizer

    Returns: Their names"""
class Numbers:
    """The settings of an optimizer, split into numbers, which a compiled step takes as inputs, and constants"""
    values: list
    groups: list
    def __init__(self, opt: Any) -> None:
        """- `opt`: A torch optimizer"""
    def key(self) -> Any:
        """Describe what isn't a number: a compiled step is for one such description

        Returns: A string"""
class StepPlan:
    """What the trace of a step needs to know beside tensors: the fuser owns it, so no guard looks at it"""
    whole: bool
    named: bool
    cast: Any
    dtype: Any
    stand: Any
    capturable: bool
    groups: Any
    counts: Any
def compute_numbers(gm: Any, inputs: list) -> tuple:
    """Move what a graph computes from numbers alone to Python: bias corrections, for instance

    - `gm`: A graph, as `trace` makes it; it is changed
    - `inputs`: Its placeholders that stand for Python numbers

    Returns: A function that takes those numbers, and returns those that the graph takes in their place; how many"""
class TracedStep:
    """A compiled step, and the guards that say for which steps it is valid"""
    function: Any
    library: Any
    classes: list
    fast: Any
    getters: list
    methods: Any
    trial: Any
    guards: Any
    check: Any
    def __init__(self, make: Any) -> None:
        """- `make`: Function of a `_Library`, a graph and its arguments: sets `call` of the library"""
    def compile(self, args: dict, trial: Any) -> Any:
        """Trace the step, compile it, and run it

        - `args`: Of the step, by name
        - `trial`: See `_Library.trial`: it runs the library for the first time

        Returns: What the step returns"""
    def fits(self, args: Any) -> Any:
        """Do the guards hold for `args`? They don't see methods that somebody replaces"""
    def why_not(self, args: Any) -> Any:
        """Tell which guard fails, as code and the user's line"""
def methods_of(names: Any) -> Any:
    """Make a function that gets all methods of a class at once

    - `names`: The namespace of a class: `vars(cls)`

    Returns: Function of the namespace"""
def in_a_line(e: BaseException) -> str:
    """Describe an error in one line

    - `e`: Any error

    Returns: Its type, and the first line of its message"""
def in_optimizer(e: BaseException) -> bool:
    """Tell whether the optimizer's step is what can't be traced

    - `e`: What was raised in a trace"""
def why_untraced(e: BaseException) -> str:
    """Tell why a step can't be traced

    - `e`: What was raised in a trace

    Returns: A sentence with the user's line"""
def tensors_in(b: Any) -> list:
    """List the tensors in `b`

    - `b`: Tensors, in any nesting

    Returns: In their order"""
