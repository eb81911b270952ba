# Written by `python -m tools.stubs` from `batch.py`: methods that other modules patch on are here, too
"""Anything may be a batch: moving it, taking it apart, describing it, joining what came out"""

from typing import Any
import torch

__all__ = ['BATCH_ARGS', 'as_device', 'default_device', 'batch_parts', 'batch_like', 'batch_map', 'to_device', 'AlsoInput', 'as_targs', 'split_batch', 'by_name', 'join_batch', 'find_bs', 'first_len', 'narrow_batch', 'unpack', 'batch_args', 'row_keys', 'describe', 'BatchSample', 'facts_of', 'to_detach', 'to_concat', 'detuplify', 'batch_digest']

BATCH_ARGS: tuple

def as_device(device: torch.device | str) -> torch.device:
    """Get `device` with the index that its tensors have

    - `device`: Such as `'cuda'`

    Returns: Such as `cuda:0`
    """

def default_device() -> torch.device:
    """Find the device to train on

    Returns: The accelerator in use, such as `cuda:0`; `cpu` if there is none
    """

def batch_parts(b: Any) -> list | None:
    """List the values that `b` holds, in order

    - `b`: Anything

    Returns: None if it is no container
    """

def batch_like(b: Any, vals: Any) -> Any:
    """Make a container like `b` that holds `vals`

    - `b`: A container
    - `vals`: As many values as it holds, in order
    """

def batch_map(b: Any, meth: str, f: Any) -> Any:
    """Apply `f` to whatever in `b` has a method `meth`

    - `b`: A container, nested in any way, or a value
    - `meth`: Name of a method
    - `f`: Function of what has such a method
    """

def to_device(b: Any, device: torch.device | str) -> Any:
    """Move whatever has a `to` method to `device`, and leave the rest of `b` as it is

    - `b`: Batch: a tensor, or tensors in any nesting of tuples, lists, mappings, named tuples and dataclasses
    - `device`: Where its tensors go
    """

class AlsoInput(tuple):
    """Names of targets that are inputs as well"""
    __slots__: Any

def as_targs(targ: Any) -> tuple:
    """Make a tuple of what tells the targets

    - `targ`: A name or a number, several of them, or None

    Returns: Empty for None
    """

def split_batch(b: Any, n_inp: int | None=None, targ: str | int | tuple | None=None, row_id: Any=None) -> tuple[tuple, tuple]:
    """Split `b` into inputs and targets

    - `b`: Batch, as the loader gave it
    - `n_inp`: How many of a tuple's first elements are inputs; None: all but the last, or the only one
    - `targ`: Names of targets in a mapping; numbers of those in a tuple, inputs or not
    - `row_id`: Name or number of the element with a key for each item, which is neither; or a function of the batch

    Returns: Inputs and targets: `(xb, yb)`
    """

def by_name(xb: Any, b: Any) -> bool:
    """Whether a model takes `xb` by name, as `model(**xb[0])`

    - `xb`: Inputs
    - `b`: The batch that they are of, as the loader gave it
    """

def join_batch(xb: Any, yb: Any, b: Any, targ: str | int | tuple | None=None) -> Any:
    """Put inputs and targets together

    - `xb`: Inputs
    - `yb`: Targets
    - `b`: The batch that they are of, as the loader gave it
    - `targ`: As for `split_batch`
    """

def find_bs(b: Any, n_inp: int | None=None, targ: str | int | tuple | None=None, row_id: Any=None, bs_of: Any=None, unsure: Any=...) -> int:
    """Count the items in `b`

    - `b`: Batch, nested or not, as the loader gave it
    - `n_inp`: As for `split_batch`
    - `targ`: As for `split_batch`
    - `row_id`: As for `split_batch`
    - `bs_of`: Function of the batch that returns the number; None: count
    - `unsure`: Called with two numbers if `b` may have either

    Returns: Rows of the targets; without targets those of the inputs; without tensors `len(b)`, else 1
    """

def first_len(b: Any) -> int | None:
    """Count the rows of the first tensor in `b` that has rows

    - `b`: Predictions, or anything else

    Returns: None if there is no tensor with rows
    """

def narrow_batch(b: Any, at: slice, n: int) -> Any:
    """Take the items `at` of the batch `b`

    - `b`: A batch, or its inputs, or its targets, nested in any way
    - `at`: Which items
    - `n`: How many items it has
    """

def unpack(b: Any, device: torch.device, n_inp: int | None=None, targ: str | int | tuple | None=None, row_id: Any=None, bs_of: Any=None, unsure: Any=...) -> tuple[tuple, tuple, int]:
    """Move `b`, split it and count its items

    - `b`: Batch, as the loader gave it
    - `device`: Where its tensors go
    - `n_inp`: How many of a tuple's first elements are inputs; None: all but the last, or the only one
    - `targ`: As for `split_batch`
    - `row_id`: As for `split_batch`
    - `bs_of`: As for `find_bs`
    - `unsure`: As for `find_bs`

    Returns: Inputs, targets, and the number of items: `(xb, yb, bs)`
    """

def batch_args(dls: Any, n: int=3) -> list:
    """List what `dls` know of batches

    - `dls`: `DataLoaders`, or whatever has a `train` loader
    - `n`: How many of `BATCH_ARGS`: `split_batch` takes three, `unpack` and `find_bs` take four

    Returns: Arguments, in this order
    """

def row_keys(b: Any, row_id: Any) -> list:
    """List the keys of the items in `b`

    - `b`: Batch, as the loader gave it
    - `row_id`: As for `split_batch`
    """

def describe(b: Any, n_max: int=8) -> str:
    """Summarise the structure of `b` in a line

    - `b`: Batch, or anything else
    - `n_max`: Elements shown of each container, so that a long list stays one line

    Returns: Structure, dtypes and shapes; the device where it isn't the CPU
    """

class BatchSample:
    """A few values of the batch `b`, copied"""
    parts: list
    def __init__(self, b: Any, n: int=64) -> None:
        """- `b`: As the loader gave it
        - `n`: How many values are kept at most
        """
    def facts(self, i: int=0) -> dict | None:
        """Return a hash of the values, and what they look like

        - `i`: The number of the batch

        Returns: Plain data: `batch`, `hash`, and `looks` for messages; None if no value could be read
        """

def facts_of(last: Any) -> dict | None:
    """Return what is noted of a batch as plain data

    - `last`: The number of a batch and its `BatchSample`, or what this function returned; None if there is none

    Returns: See `BatchSample.facts`
    """

def to_detach(b: Any, cpu: bool=True) -> Any:
    """Detach every tensor in `b` from its graph

    - `b`: Tensors in any nesting
    - `cpu`: Also move them to the CPU, where there is more room?
    """

def to_concat(bs: Any, dim: int=0) -> Any:
    """Concatenate results batch by batch: tensors along `dim`, containers element by element

    - `bs`: Results of a batch each, all of one structure
    - `dim`: Dimension to join along: that of the items
    """

def detuplify(t: Any) -> Any:
    """Take the element out of a tuple of one

    - `t`: Tuple of inputs or targets, or anything else
    """

def batch_digest(b: Any, n: int=64) -> str:
    """Hash the structure of `b` and at most `n` values of it

    - `b`: A batch, an item or a tensor
    - `n`: Values of its tensors that are hashed, all in all

    Returns: 16 hexadecimal digits
    """
