# Written by `python -m tools.stubs` from `team.py`: methods that other modules patch on are here, too
"""What the loop asks of those that train with it, answered by a process that is alone"""

from typing import Any

__all__ = ['SingleProcess']

class SingleProcess:
    """The only process of a run: what a learner asks of its team, answered without any"""
    team: Any
    rank: int
    world: int
    is_first: bool
    broken: bool
    spreads: bool
    shards: bool
    defer_sync: bool
    said: bool
    learn: Any
    def __init__(self, learn: Any) -> None:
        """- `learn`: The learner that asks"""
    def tell(self, e: Any) -> Any:
        """Say that something was cancelled here

        - `e`: A `CancelException` that was raised here
        """
    def failed(self, e: Any) -> Any:
        """Say that an error ends what goes on here

        - `e`: An error
        """
    def between(self, code: int=0) -> int:
        """Agree on what is to be done between two batches

        - `code`: What this process wants to be done between two batches: the larger, the more urgent

        Returns: What is to be done now, in all of them
        """
    def run(self, f: Any, *args: Any, **kwargs: Any) -> Any:
        """Run `f`, the body of the innermost phase

        - `f`: Function
        - `args`: To `f`
        - `kwargs`: To `f`
        """
    def begin(self) -> Any:  # loop/team.py
        """A fit begins, and nothing of it was read or drawn yet"""
    def share(self, dl: Any, training: bool) -> Any:  # loop/team.py
        """Find what of `dl` is for this process

        - `dl`: Loader: any iterable of batches
        - `training`: Is it for training?
        """
    def restored(self, exchange: dict) -> Any:  # loop/team.py
        """Take note that weights, buffers and gradients of this process were just restored

        - `exchange`: What `exchange` was when the state was captured
        """
    def count_items(self, i: int) -> int:  # loop/team.py
        """Count the items of the batch in all processes

        - `i`: The number of the batch
        """
    def sync_grads(self) -> Any:  # loop/team.py
        """Have gradients be those of the run, before somebody reads them: after a deferred turn they aren't yet"""
    def mean(self, t: Any, weight: Any=1.0) -> Any:  # loop/team.py
        """Take the weighted mean over all processes

        - `t`: Scalar tensor
        - `weight`: How much that of this process counts
        """
    def again(self) -> Any:  # loop/team.py
        """The turn went backward, and is about to call the model again: have no process go there that has cancelled it"""
    def most(self, n: int) -> int:  # loop/team.py
        """Give all processes the largest of the numbers that they have

        - `n`: A whole number of this process

        Returns: The largest of any process
        """
    def first(self, f: Any, *args: Any) -> Any:  # loop/team.py
        """Run `f(*args)` in the first process alone; an error of it is one of all

        - `f`: Function
        - `args`: To `f`
        """
    def from_first(self, o: Any) -> Any:  # loop/team.py
        """Give all processes what the first one has

        - `o`: Plain data and tensors; only that of the first process counts
        """
    def gather(self, o: Any) -> list:  # loop/team.py
        """Give all processes what each of them has

        - `o`: Plain data and tensors

        Returns: By rank
        """
    def aside(self) -> Any:  # loop/team.py
        """Have the learner be alone, inside a `with` block, unless its model is spread over processes"""
    @property
    def exchange(self) -> Any:
        """How gradients are exchanged from here on, for a checkpoint"""
