# Written by `python -m tools.stubs` from `pure.py`: methods that other modules patch on are here, too
"""What a learner does with a batch, from the model to the optimizer, as a pure function of tensors"""

from typing import Any

__all__ = ['Unfusable', 'tensors_in', 'put_tensors', 'layout', 'PureStep']

class Unfusable(Exception):
    """Why a step can't be compiled; it never leaves a fit"""

def tensors_in(b: Any) -> list:
    """List the tensors in `b`

    - `b`: Tensors, in any nesting

    Returns: In their order
    """

def put_tensors(b: Any, ts: Any) -> Any:
    """Make something like `b` of the tensors `ts`

    - `b`: Tensors, in any nesting
    - `ts`: Iterator over tensors, one for each of `b`
    """

def layout(b: Any) -> tuple:
    """Tell what a graph for `b` has to know of it: structure, shapes, strides, kinds of number, and what isn't a tensor

    - `b`: Tensors, in any nesting

    Returns: It can be a key
    """

class PureStep:
    """A learner's step for batches like the present one, as a function of tensors"""
    learn: Any
    whole: bool
    xb: Any
    yb: Any
    outs: Any
    unused: Any
    host: Any
    params: dict
    buffers: dict
    takers: list
    rule: Any
    groups: Any
    group_of: dict
    dtype: Any
    counts: list
    numbers: Any
    vector: Any
    like: Any
    parts: list
    notes: list
    def __init__(self, learn: Any, parts: Any, whole: bool) -> None:
        """- `learn`: The learner, in a turn of training
        - `parts`: By event, those who take part: a list of pairs, callback and `InGraph`
        - `whole`: Does the optimizer's step belong to it? Or does it end with gradients?
        """
    @property
    def trained(self) -> Any:
        """Names of the parameters that get gradients"""
    def hypers(self) -> list:  # scale/pure.py
        """Compute the numbers of this step

        Returns: Numbers
        """
    def fill(self) -> Any:  # scale/pure.py
        """Have the numbers of this step in `vector`"""
    def note_counts(self) -> Any:  # scale/pure.py
        """Note which tensors count the steps"""
    def state(self) -> dict:  # scale/pure.py
        """Find what the optimizer knows of the parameters that train

        Returns: By name of the parameter, and of what the optimizer keeps for it
        """
    def kept(self) -> list:  # scale/pure.py
        """List the tensors that are kept from step to step

        Returns: Tensors
        """
    def _loss_of(self, xb: Any, yb: Any, hs: Any) -> Any:  # scale/pure.py
        """A learner that has prediction and loss of a batch"""
    def run(self, vector: Any, *args: Any) -> tuple:  # scale/pure.py
        """Compute the step

        - `vector`: Numbers as `hypers` gives them, float64
        - `args`: Tensors of the batch, then those of `kept`, which are written to

        Returns: Tensors: the loss, and what `outs` says
        """
    def _split(self, vector: Any) -> Any:  # scale/pure.py
        """The numbers of each group, and of each who takes part"""
    def _note(self, made: Any) -> Any:  # scale/pure.py
        """Note the structure of what `made` has, and return its parts of the loss"""
    def _edited(self, grads: Any, hs: Any) -> Any:  # scale/pure.py
        """What callbacks make of `grads`, and tensors that they have to be told"""
    def named(self, outs: list) -> tuple:  # scale/pure.py
        """Take apart what `run` returned

        - `outs`: As `run` returns them

        Returns: Loss, prediction, parts of the loss by name, pairs of callback and attributes, gradients
        """
    def try_out(self) -> Any:  # scale/pure.py
        """Find weights that get no gradient, and refuse gradients that no graph can have"""
    def let_go(self) -> Any:  # scale/pure.py
        """Hold the batch no longer: only how it is built"""
    def is_fresh(self) -> bool:  # scale/pure.py
        """Has the optimizer state to make, which it does in its first step?"""
