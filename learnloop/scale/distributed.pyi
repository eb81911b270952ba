# Written by `python -m tools.stubs` from `distributed.py`: methods that other modules patch on are here, too
"""The same script alone or under `torchrun`: `learn.to_ddp()`, `learn.to_fsdp()`"""

from typing import Any

__all__ = ['Engine', 'have_of_first', 'DDP', 'FSDP', 'find_units']

class Engine:
    """Exchanges gradients by itself, once a backward pass is over"""
    synced: bool
    left_out: Any
    spreads: bool
    shards: bool
    order: list
    own: Any
    learn: Any
    team: Any
    kwargs: Any
    params: list
    def __init__(self, learn: Any, team: Any, **kwargs: Any) -> None:
        """- `learn`: The learner whose model it is
        - `team`: The processes
        - `kwargs`: To torch's own
        """
    def __getstate__(self) -> Any: ...
    def meets_in_forward(self) -> bool:
        """Whether something is exchanged when the model is called next"""
    def begin_fit(self) -> Any:
        """A fit begins"""
    def begin_pass(self) -> Any:
        """A pass through data begins"""
    def restored(self, order: list) -> Any:
        """The state of each process was just restored

        - `order`: What `order` was when the state was captured
        """
    def begin_turn(self, turn: Any) -> Any:
        """A turn begins

        - `turn`: The turn that begins
        """
    def end_backward(self) -> Any:
        """Gradients of a turn are there"""
    def end_turn(self) -> Any:
        """The turn is over, whatever came of it"""
    def end_train(self) -> Any:
        """All batches of training are done, in all processes"""
    def end_pass(self) -> Any:
        """The pass is over, whatever came of it"""
    def average(self, params: list, size: int=...) -> Any:  # scale/distributed.py
        """Average gradients over processes; one that is None counts as zeros where other processes have it

        - `params`: Whose gradients
        - `size`: Bytes to exchange at a time
        """

def have_of_first(model: Any, team: Any, params: bool=True) -> Any:
    """Have weights of the first process in all of them

    - `model`: Module
    - `team`: The processes
    - `params`: Parameters, too, or buffers alone?
    """

class DDP(Engine):
    """torch's `DistributedDataParallel`"""
    own: Any
    module: Any
    made_for: Any
    n_synced: int
    hooks: Any
    prepare: Any
    order: list
    kept: Any
    synced: bool
    def __init__(self, learn: Any, team: Any, prepare: Any=..., **kwargs: Any) -> None:
        """- `learn`: The learner whose model it is
        - `team`: The processes
        - `prepare`: Function of the wrapper, called when one is made
        - `kwargs`: To the wrapper
        """
    def _facts(self, inner: Any) -> Any: ...
    def meets_in_forward(self) -> Any: ...
    def begin_fit(self) -> Any: ...
    def restored(self, order: Any) -> Any: ...
    def begin_turn(self, turn: Any) -> Any: ...
    def end_turn(self) -> Any: ...
    def end_train(self) -> Any: ...
    def call(self, inner: Any, *args: Any, **kwargs: Any) -> Any:  # scale/distributed.py
        """Call the model, and have gradients exchanged in the backward pass that follows

        - `inner`: What is called in a process that is alone
        - `args`: To it
        - `kwargs`: To it
        """
    def _note_order(self) -> Any:  # scale/distributed.py
        """Note in which order gradients come, as torch does in the first backward pass"""
    def _make(self, inner: Any, now: Any) -> Any: ...  # scale/distributed.py
    def _rehearse(self, order: Any) -> Any:  # scale/distributed.py
        """Exchange zeros in the `order` in which gradients came before, as torch arranges its buckets by it; was that done?"""
    def _mark_used(self) -> Any:  # scale/distributed.py
        """Mark parameters with gradients as used in this window, as torch's module would have done: it leaves others alone"""
    def end_backward(self) -> Any: ...  # scale/distributed.py

class FSDP(Engine):
    """torch's `fully_shard`"""
    spreads: bool
    kept: list
    shards: bool
    synced: bool
    def __init__(self, learn: Any, team: Any, sharded_files: bool=False, **kwargs: Any) -> None:
        """- `learn`: The learner whose model it is
        - `team`: The processes
        - `sharded_files`: Does each process write its part of a checkpoint?
        - `kwargs`: Nothing: torch has it, in the model
        """
    def meets_in_forward(self) -> Any: ...
    def begin_pass(self) -> Any: ...
    def end_pass(self) -> Any: ...
    def begin_turn(self, turn: Any) -> Any: ...
    def end_turn(self) -> Any: ...
    def end_train(self) -> Any: ...
    def call(self, inner: Any, *args: Any, **kwargs: Any) -> Any:
        """Call the model, in all processes together

        - `inner`: What is called in a process that is alone
        - `args`: To it
        - `kwargs`: To it
        """
    def average(self, params: list, size: int=...) -> Any:  # scale/distributed.py
        """Average gradients over processes; of the model torch has done so, or else can't

        - `params`: Whose gradients: those of which torch doesn't know
        - `size`: Bytes to exchange at a time
        """

def find_units(model: Any, units: Any=None) -> list:
    """Find what of `model` is to be put together at a time

    - `model`: Module
    - `units`: Function from the model to modules of it; None for its children

    Returns: Those within others first; the model itself is none
    """
