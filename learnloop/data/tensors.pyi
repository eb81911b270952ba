# Written by `python -m tools.stubs` from `tensors.py`: methods that other modules patch on are here, too
"""Loaders of rows of tensors: whole batches taken by index, in the order of torch's own loader"""

from torch import Tensor
from torch.utils.data import BatchSampler
from torch.utils.data import DataLoader
from torch.utils.data import Dataset
from typing import Any
import torch

__all__ = ['check_tensors', 'NamedRows', 'RowBatches', 'take_rows', 'TensorLoader']

def check_tensors(name: str, o: Any) -> Any:
    """Raise an error unless `o` is tensors with the same number of rows

    - `name`: What they are called, for the message
    - `o`: Given as tensors with a row for each item: a tuple, a list, or a dict
    """

class NamedRows(Dataset):
    """The rows of a dict of tensors as items, each a dict"""
    tensors: Any
    def __init__(self, tensors: dict) -> None:
        """- `tensors`: Tensors of as many rows, by name"""
    def __len__(self) -> Any: ...
    def __getitem__(self, i: Any) -> Any: ...

class RowBatches(BatchSampler):
    """Batches of indices as torch's `BatchSampler` gives them, each a tensor or a range"""
    def __iter__(self) -> Any: ...

def take_rows(t: Tensor, idxs: Any) -> Tensor:
    """Take the rows `idxs` of `t`

    - `t`: With a row for each item
    - `idxs`: Indices: a range, a tensor, or a list

    Returns: A copy
    """

class TensorLoader(DataLoader):
    """Batches of rows of `tensors`: those of a `DataLoader` over them, taken whole"""
    tensors: Any
    rows: Tensor | None
    def __init__(self, tensors: Any, bs: int=64, shuffle: bool=False, drop_last: bool=False, generator: torch.Generator | None=None, rows: Tensor | None=None) -> None:
        """- `tensors`: A tuple of tensors with a row for each item, or a dict
        - `bs`: Rows in a batch
        - `shuffle`: Another order in each pass?
        - `drop_last`: Leave out a last batch of fewer rows?
        - `generator`: Draws the order; None: torch's own, which `set_seed` seeds
        - `rows`: Which rows are the items; None: all
        """
    def __iter__(self) -> Any: ...
    def __repr__(self) -> Any: ...
    def unshuffled(self) -> Any:
        """Return a loader of all rows in order: itself, if it is one"""
