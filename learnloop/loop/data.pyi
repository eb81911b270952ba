# Written by `python -m tools.stubs` from `data.py`: methods that other modules patch on are here, too
"""Any iterable is a loader and anything may be a batch: keeping loaders together, taking batches apart, leaving no trace."""

from contextlib import contextmanager
from typing import Any
import torch

__all__ = ['default_device', 'batch_parts', 'batch_like', 'batch_map', 'to_device', 'split_batch', 'by_name', 'join_batch', 'find_bs', 'unpack', 'describe', 'all_rngs', 'rng_states', 'preserve_rng', 'own_stream', 'set_seed', 'no_random', 'batch_len', 'in_order', 'why_empty', 'error_frames', 'next_batch', 'set_epoch', 'Endless', 'Until', 'check_loader', 'DataLoaders', 'mk_dls', 'to_detach', 'to_concat', 'detuplify']

def default_device() -> torch.device:
    """Find the device to train on

    Returns: The accelerator in use, such as `cuda:0`; `cpu` if there is none
    """

def batch_parts(b: Any) -> Any:
    """The values that `b` holds, in order; None if `b` is no container"""

def batch_like(b: Any, vals: Any) -> Any:
    """A container of the type of `b`, its names or keys kept, that holds `vals`"""

def batch_map(b: Any, meth: Any, f: Any) -> Any:
    """Apply `f` to whatever in `b` has a method `meth`"""

def to_device(b: Any, device: torch.device | str) -> Any:
    """Move whatever has a `to` method to `device`, and leave the rest of `b` as it is

    - `b`: Batch: a tensor, or tensors in any nesting of tuples, lists, mappings, named tuples and dataclasses
    - `device`: Where its tensors go
    """

def split_batch(b: Any, n_inp: int | None=None, targ: str | tuple | None=None) -> tuple[tuple, tuple]:
    """Split `b` into inputs and targets

    - `b`: Batch, as the loader gave it
    - `n_inp`: How many of a tuple's first elements are inputs; None: all but the last, or the only one
    - `targ`: Name of the target in a mapping, or names; None: the mapping is all input

    Returns: Inputs and targets: `(xb, yb)`
    """

def by_name(xb: Any, b: Any) -> bool:
    """Whether a model takes `xb` by name, as `model(**xb[0])`

    - `xb`: Inputs
    - `b`: The batch that they are of, as the loader gave it
    """

def join_batch(xb: Any, yb: Any, b: Any, targ: str | tuple | None=None) -> Any:
    """Put inputs and targets together

    - `xb`: Inputs
    - `yb`: Targets
    - `b`: The batch that they are of, as the loader gave it
    - `targ`: As for `split_batch`
    """

def find_bs(b: Any) -> int:
    """Count the items in `b`

    - `b`: Batch, nested or not

    Returns: First dimension of the first tensor that has one; without tensors `len(b)`, else 1
    """

def unpack(b: Any, device: torch.device, n_inp: int | None=None, targ: str | tuple | None=None) -> tuple[tuple, tuple, int]:
    """Move `b`, split it and count its items

    - `b`: Batch, as the loader gave it
    - `device`: Where its tensors go
    - `n_inp`: How many of a tuple's first elements are inputs; None: all but the last, or the only one
    - `targ`: Name of the target in a mapping, or names; None: the mapping is all input

    Returns: Inputs, targets, and the number of items: `(xb, yb, bs)`
    """

def describe(b: Any, n_max: int=8) -> str:
    """Summarise the structure of `b` in a line

    - `b`: Batch, or anything else
    - `n_max`: Elements shown of each container, so that a long list stays one line

    Returns: Structure, dtypes and shapes; the device where it isn't the CPU
    """

def all_rngs(dls: Any) -> Any:
    """Of each random number generator, its name, what reads its state, and what sets it"""

def rng_states(dls: Any) -> Any: ...

@contextmanager
def preserve_rng(*dls: Any) -> Any:
    """Put the state of all random number generators back on exit, whatever happened, and the number of evaluations

    - `dls`: Loaders whose own generators are put back as well
    """

@contextmanager
def own_stream(*dls: Any) -> Any:
    """Have all random number generators draw others inside a `with` block, new ones in each, and put their states back on exit

    - `dls`: Loaders whose own generators do as well
    """

def set_seed(s: int, reproducible: bool=False) -> Any:
    """Seed Python, torch on all devices, and NumPy if it is imported

    - `s`: Seed, from 0 to 2**32-1 for NumPy's sake
    - `reproducible`: Only deterministic algorithms, too? Slower; an operation that has none is an error
    """

@contextmanager
def no_random(seed: int=42) -> Any:
    """Run a `with` block with a seed of its own, and put all generators back after it

    - `seed`: What is seeded with, inside
    """

def batch_len(dl: Any) -> int | None:
    """Get the length of `dl` if it has one

    - `dl`: Loader: any iterable of batches

    Returns: Number of batches; None if the loader doesn't know
    """

def in_order(dl: Any) -> Any:
    """Get a loader that goes through the dataset of `dl` in order and completely

    - `dl`: Loader: any iterable of batches
    """

def why_empty(dl: Any) -> Any:
    """Sentence that says which loader yielded no batch, why, and what helps"""

def error_frames(e: Any) -> Any:
    """The frames that the error `e` came through, outermost first"""

def next_batch(batches: Any) -> Any:
    """The next batch; the StopIteration of an item is an error, not the end of the data"""

def set_epoch(dl: Any, epoch: Any) -> Any:
    """Tell samplers and datasets whose order or items depend on the number of the epoch"""

class Endless:
    """Go through `dl` again and again; a new iteration goes on where the last one stopped"""
    passes_on: bool
    dl: Any
    _it: Any
    _n: int
    _start: dict
    _passes: int
    def __init__(self, dl: Any) -> None:
        """- `dl`: Loader: any iterable of batches"""
    def __iter__(self) -> Any: ...
    def state_dict(self) -> dict:
        """Return the place in the data

        Returns: Batches taken in this pass, and the random numbers that it began with
        """
    def load_state_dict(self, sd: dict) -> Any:
        """Go to the place in `sd`, by going through the pass again

        - `sd`: What `state_dict` returned
        """
    def __repr__(self) -> Any: ...
    def _next(self) -> Any: ...  # loop/data.py
    def _begin(self, n: Any=0) -> Any: ...  # loop/data.py

class Until:
    """The batches of `dl`, until `is_over()`, which is asked before each"""
    passes_on: bool
    dl: Any
    is_over: Any
    def __init__(self, dl: Any, is_over: Any) -> None:
        """- `dl`: Loader: any iterable of batches
        - `is_over`: Function without arguments
        """
    def __iter__(self) -> Any: ...
    def __repr__(self) -> Any: ...

def check_loader(name: str, o: Any) -> Any:
    """Raise a TypeError unless `o` can be a loader

    - `name`: What it is called, for the message
    - `o`: Given as a loader
    """

class DataLoaders:
    """Keep loaders together, under names and numbers: `train` is 0 and `valid` is 1"""
    _names: list
    device: Any
    n_inp: int | None
    def __init__(self, *loaders: Any, device: torch.device | str | None=None, n_inp: int | None=None, targ: str | tuple | None=None, **named: Any) -> None:
        """- `loaders`: Any iterables of batches: the training loader, the validation loader (or None), and more
        - `device`: Where batches go; None: `default_device()`
        - `n_inp`: Inputs in a tuple batch, for `split_batch`; None: all but the last element
        - `targ`: Name of the target in batches that are dicts, or names; None: such a batch is all input
        - `named`: More loaders by name, such as `test=dl`
        """
    def __len__(self) -> Any: ...
    def __bool__(self) -> Any: ...
    def __iter__(self) -> Any: ...
    def __repr__(self) -> Any: ...
    def __getitem__(self, k: int | str) -> Any:  # loop/data.py
        """Get a loader by name or number

        - `k`: Name or number
        """
    def one_batch(self) -> Any:  # loop/data.py
        """Get a training batch, leaving random number generators and the loader as they were"""
    def to(self, device: torch.device | str) -> Any:  # loop/data.py
        """Send later batches to `device`

        - `device`: Where batches go from now on
        """
    @classmethod
    def from_dsets(cls, train_ds: Any, valid_ds: Any=None, *more: Any, bs: int | None=64, valid_bs: int | None=None, shuffle: bool=True, device: torch.device | str | None=None, n_inp: int | None=None, targ: str | tuple | None=None, **kwargs: Any) -> Any:  # loop/data.py
        """Make loaders: a shuffled one for `train_ds`, and for the others ones that go in order through all items"""
    @property
    def train_ds(self) -> Any:
        """Dataset of the training loader, if it has one"""
    @property
    def valid_ds(self) -> Any:
        """Dataset of the validation loader, if it has one"""
    @property
    def targ(self) -> Any:
        """Names of targets in a dict batch; None if there are none"""
    @targ.setter
    def targ(self, v: Any) -> None: ...
    @property
    def names(self) -> Any:
        """Names of the loaders"""
    @property
    def loaders(self) -> Any:
        """The loaders, in order"""

def mk_dls(o: Any) -> DataLoaders:
    """Make `DataLoaders` of whatever somebody has

    - `o`: `DataLoaders`, or anything with a `train` loader; a tuple of loaders; or one training loader

    Returns: `o` itself where it has a `train` loader
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
