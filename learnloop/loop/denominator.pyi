# Written by `python -m tools.stubs` from `denominator.py`: methods that other modules patch on are here, too
"""The denominator of a loss: declared, known, or refuted"""

from torch import Tensor
from typing import Any

__all__ = ['SUM', 'ITEMS', 'MEAN_HELP', 'joined', 'as_size', 'mean_of_all', 'target_weights', 'known_denominator', 'counts_of', 'refute_mean', 'find_form', 'MeanOf', 'Joined']

SUM: Any

ITEMS: str

MEAN_HELP: str

def joined(ds: Any) -> Any:
    """Join the denominators `ds` of the parts of a batch

    - `ds`: Denominators
    """

def as_size(d: Any) -> Any:
    """Write the denominator `d` in a list: -1 for a sum

    - `d`: Denominator
    """

def mean_of_all(vals: Any, sizes: Any) -> tuple:
    """Compute the loss of all batches together

    - `vals`: Losses of batches
    - `sizes`: Their denominators, by `as_size`

    Returns: The loss, NaN if nothing counts, and its denominator
    """

def target_weights(targ: Any, weight: Any=None, ignore_index: int | None=-100) -> Tensor:
    """Compute how much each target counts in a mean

    - `targ`: Indices of classes, of any shape
    - `weight`: Weight of each class, (n_classes,)
    - `ignore_index`: Target that doesn't count

    Returns: Of the shape of `targ`
    """

def known_denominator(loss_func: Any) -> Any:
    """Find what `loss_func` says that it is a mean of, or what is known of torch's

    - `loss_func`: A loss function
    """

def counts_of(targs: Any) -> list:
    """Count the targets of each batch that are not ignored

    - `targs`: Targets of cross entropies, of several batches

    Returns: Of numbers
    """

def refute_mean(loss_func: Any, pred: Any, yb: Any, n: int, keep: Any=(), is_random: bool=True) -> dict:
    """Try whether the loss of random predictions differs from the mean over parts of them

    - `loss_func`: A loss function
    - `pred`: Predictions of a batch; their shapes count
    - `yb`: Targets of it: shapes and values count
    - `n`: Items in it
    - `keep`: Objects that the loss function may refer to, and that are not to be copied
    - `is_random`: Have random predictions and targets? Else those of the batch

    Returns: Part of the loss, 'loss' for itself -> why it isn't a mean over items
    """

def find_form(learn: Any) -> str | None:
    """Find the form of the loss that a model computes

    - `learn`: A learner whose model computed the loss of a batch

    Returns: 'shifted' or 'plain'; 'items' for a mean over items; None if it is another loss
    """

class MeanOf:
    """What the loss of a learner is a mean of"""
    declared: Any
    told: set
    f: Any
    known: Any
    n: int
    shapes: set
    why: dict
    form: str
    total: Any
    reduction: Any
    def __init__(self, declared: Any=None) -> None:
        """- `declared`: Function of (pred, *yb), or 'items', 'batches' or 'sum'; None for what is known"""
    def _forget(self, f: Any) -> Any: ...
    def _refresh(self, f: Any) -> Any: ...
    def find(self, learn: Any, part: str='loss') -> Any:
        """Find the denominator of the batch at hand, if it is declared or known

        - `learn`: The learner, with the loss of a batch
        - `part`: Name of a part of the loss
        """
    def in_training(self, learn: Any) -> Any:
        """Find how much a batch of training counts in a mean that promises nothing, at little cost

        - `learn`: The learner, after a batch
        """
    def weighs(self, learn: Any) -> bool:
        """Tell whether the loss may be a mean of something else than items

        - `learn`: The learner

        Returns: The same in all processes
        """
    def state(self) -> dict:
        """Return what was found out, for a checkpoint or for other processes

        Returns: Plain data
        """
    def load(self, learn: Any, sd: dict) -> Any:
        """Take over what was found out

        - `learn`: The learner
        - `sd`: What `state` returned
        """
    def _form_of(self, learn: Any) -> Any:  # loop/denominator.py
        """The denominator of the loss that the model computed"""
    def __call__(self, learn: Any, part: str='loss') -> Any:  # loop/denominator.py
        """Find the denominator of the batch at hand

        - `learn`: The learner, with the loss of a batch
        - `part`: Name of a part of the loss
        """
    def _look(self, learn: Any) -> Any:  # loop/denominator.py
        """Probe the loss function, if that is due"""
    def units(self, learn: Any, part: str='loss', who: str='', how: str='') -> Any:  # loop/denominator.py
        """Find how much the batch at hand counts; warn once if that is unknown

        - `learn`: The learner, with the loss of a batch
        - `part`: Name of a part of the loss
        - `who`: Who needs to know, for a warning; '' if items will do
        - `how`: What is computed without
        """
    def tell(self, learn: Any, who: Any, how: Any, part: Any='loss') -> Any:  # loop/denominator.py
        """Warn, once, that the loss has no denominator"""
    def name_of(self, learn: Any, part: Any='loss') -> Any:  # loop/denominator.py
        """Name the loss function, and perhaps a part of what it returns"""

class Joined:
    """The items and the units that gradients which wait for a step are of"""
    who: str
    how: str
    items: Any
    units: Any
    per_item: Any
    keeps: bool
    def __init__(self, who: str='', how: str='', items: Any=0, units: Any=0, per_item: Any=None, keeps: bool=True) -> None:
        """- `who`: Who joins them, for warnings
        - `how`: What is computed where units are unknown
        - `items`: Items so far, in all processes
        - `units`: Sum of the denominators
        - `per_item`: Units of an item in the first part: what is nearly so in others
        - `keeps`: Is `per_item` that of the first part? Else each part is a whole
        """
    def add(self, parts: Any) -> Any:
        """Add `parts`, pairs of items and units"""
    @property
    def factor(self) -> Any:
        """What makes the exact mean of gradients"""
