# Written by `python -m tools.stubs` from `loaders.py`: methods that other modules patch on are here, too
"""Any iterable is a loader: keeping loaders together, taking batches from them, saying what failed"""

from typing import Any
import torch

__all__ = ['batch_len', 'check_loader', 'why_empty', 'DataLoaders', 'mk_dls', 'in_order', 'batches_of', 'rows_of', 'check_same', 'replay', 'set_epoch', 'leaves', 'Endless', 'Until', 'bare', 'source_teller']

def batch_len(dl: Any) -> int | None:
    """Get the length of `dl` if it has one

    - `dl`: Loader: any iterable of batches

    Returns: Number of batches; None if the loader doesn't know
    """

def check_loader(name: str, o: Any) -> Any:
    """Raise a TypeError unless `o` can be a loader

    - `name`: What it is called, for the message
    - `o`: Given as a loader
    """

def why_empty(dl: Any) -> str:
    """Say which loader yielded no batch, why, and what helps

    - `dl`: A loader that yielded nothing

    Returns: A sentence without a full stop
    """

class DataLoaders:
    """Keep loaders together, under names and numbers: `train` is 0 and `valid` is 1"""
    _names: list
    device: Any
    n_inp: int | None
    targ_is_inp: bool
    row_id: Any
    bs_of: Any
    _targ: Any
    def __init__(self, *loaders: Any, device: torch.device | str | None=None, n_inp: int | None=None, targ: str | int | tuple | None=None, targ_is_inp: bool=False, row_id: Any=None, bs_of: Any=None, **named: Any) -> None:
        """- `loaders`: Any iterables of batches: the training loader, the validation loader (or None), and more
        - `device`: Where batches go; None: `default_device()`
        - `n_inp`: Inputs in a tuple batch, for `split_batch`; None: all but the last element
        - `targ`: Targets in dict batches, by name; in tuples, by number, inputs or not
        - `targ_is_inp`: Does the model get targets in dict batches, too?
        - `row_id`: Name or number of the element with a key for each item, for `learn.rows`; or a function of a batch
        - `bs_of`: Function of a batch that returns the number of its items; None: count them
        - `named`: More loaders by name, such as `test=dl`
        """
    @property
    def targ(self) -> Any:
        """Names of targets in a dict batch, numbers of those in a tuple; None if there are none"""
    @targ.setter
    def targ(self, v: Any) -> Any: ...
    def __len__(self) -> Any: ...
    def __bool__(self) -> Any: ...
    def __iter__(self) -> Any: ...
    def __repr__(self) -> Any: ...
    def __setattr__(self, k: Any, v: Any) -> Any: ...  # data/loaders.py
    def __getitem__(self, k: int | str) -> Any:  # data/loaders.py
        """Get a loader by name or number

        - `k`: Name or number
        """
    def name_of(self, k: int | str) -> str | None:  # data/loaders.py
        """Get the name of the loader that `k` means

        - `k`: Number or name

        Returns: None if there is no such number
        """
    def one_batch(self) -> tuple:  # data/loaders.py
        """Get a training batch, leaving random number generators and the loader as they were

        Returns: First batch of the training loader, on `device`
        """
    def to(self, device: torch.device | str) -> Any:  # data/loaders.py
        """Send later batches to `device`

        - `device`: Where batches go from now on
        """
    @classmethod
    def from_dsets(cls, train_ds: Any, valid_ds: Any=None, *more: Any, bs: int | None=64, valid_bs: int | None=None, shuffle: bool=True, device: torch.device | str | None=None, n_inp: int | None=None, targ: str | int | tuple | None=None, targ_is_inp: bool=False, row_id: Any=None, bs_of: Any=None, **kwargs: Any) -> Any:  # data/loaders.py
        """Make loaders: a shuffled one for `train_ds`, and for the others ones that go in order through all items"""
    @classmethod
    def from_tensors(cls, train: Any, valid: Any=None, *more: Any, valid_pct: float | None=None, seed: int=0, bs: int=64, valid_bs: int | None=None, shuffle: bool=True, drop_last: bool=False, generator: torch.Generator | None=None, device: torch.device | str | None=None, n_inp: int | None=None, targ: str | int | tuple | None=None, targ_is_inp: bool=False, row_id: Any=None, bs_of: Any=None) -> Any:  # data/tensors.py
        """Make loaders of rows of tensors: a shuffled one for `train`, and ones that go in order through the others"""
    @property
    def train_ds(self) -> Any:
        """Training dataset, if there is one"""
    @property
    def valid_ds(self) -> Any:
        """Validation dataset, if there is one"""
    @property
    def names(self) -> Any:
        """Of the loaders"""
    @property
    def loaders(self) -> Any:
        """The loaders, in order"""
    @property
    def bs(self) -> Any:
        """Items in a training batch"""

def mk_dls(o: Any) -> DataLoaders:
    """Make `DataLoaders` of whatever somebody has

    - `o`: `DataLoaders`, or anything with a `train` loader; a tuple of loaders; or one training loader

    Returns: `o` itself where it has a `train` loader
    """

def in_order(dl: Any) -> Any:
    """Get a loader that goes through the dataset of `dl` in order and completely

    - `dl`: Loader: any iterable of batches
    """

def batches_of(dl: Any) -> Any:
    """Begin a pass through `dl`

    - `dl`: Loader: any iterable of batches
    """

def rows_of(batches: Any) -> list | tuple | dict | None:
    """Return the indices, in the dataset, of the items in the batch that `batches` gave last

    - `batches`: Iterator that `batches_of` returned, or one that takes from it

    Returns: Of several loaders a tuple or a dict; None if nothing knows the indices
    """

def check_same(dl: Any, want: dict, b: Any) -> Any:
    """Refuse a batch that isn't the one that the interrupted fit saw

    - `dl`: Loader that gave `b`
    - `want`: What was noted of the batch when the interrupted fit saw it: see `BatchSample.facts`
    - `b`: The batch that `dl` gives now; None if it ended
    """

def replay(dl: Any, batches: Any, n: int, want: dict | None=None, put: Any=...) -> Any:
    """Take `n` batches once more, and check one of them

    - `dl`: Loader that `batches` is of
    - `batches`: Iterator at its beginning
    - `n`: How many batches are taken
    - `want`: What was noted of one of them; None: nothing is compared
    - `put`: Sets random numbers: those that this batch was made with, if they were noted
    """

def set_epoch(dl: Any, epoch: int) -> Any:
    """Tell samplers and datasets whose order or items depend on the number of the epoch

    - `dl`: A loader
    - `epoch`: Number, from 0
    """

def leaves(dl: Any) -> list:
    """List the loaders that `dl` takes its batches from

    - `dl`: Loader: any iterable of batches

    Returns: `dl` itself, if it takes from no other
    """

class Endless:
    """Go through `dl` again and again; a new iteration goes on where the last one stopped"""
    passes_on: bool
    dl: Any
    _it: Any
    _n: int
    _start: dict
    _passes: int
    last: Any
    _warm: bool
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
    def _next(self) -> Any: ...  # data/loaders.py
    def _start_workers(self, warm: Any) -> Any:  # data/loaders.py
        """Start persistent workers if the pass began with them: a loader draws one more number to start them"""
    def _begin(self, n: Any=0, several: Any=None, want: Any=None) -> Any: ...  # data/loaders.py
    @property
    def n_done(self) -> Any:
        """Batches taken in this pass"""

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

def bare(dl: Any) -> Any:
    """Take `Until` off `dl`

    - `dl`: Loader: any iterable of batches
    """

def source_teller(dl: Any) -> Any:
    """Find what in `dl` says where its batches come from

    - `dl`: Loader: any iterable of batches
    """
