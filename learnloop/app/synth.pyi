# Written by `python -m tools.stubs` from `synth.py`: methods that other modules patch on are here, too
"""A learner on a line with noise, in a call: for examples, experiments and tests of callbacks"""

from learnloop.data.loaders import DataLoaders
from learnloop.loop.learner import Learner
from torch import nn
from typing import Any

__all__ = ['synth_dls', 'RegModel', 'synth_learner']

def synth_dls(a: float=2.0, b: float=3.0, bs: int=16, n_train: int=10, n_valid: int=2, seed: int=42) -> DataLoaders:
    """Make loaders of points on a line, with noise

    - `a`: Slope of the line
    - `b`: Its value at 0
    - `bs`: Items in a batch
    - `n_train`: Batches to train on
    - `n_valid`: Batches to validate on
    - `seed`: Of the data; shuffling draws from torch's own generator

    Returns: Of batches `(x, y)`, each (bs, 1)
    """

class RegModel(nn.Module):
    """The line `a*x + b`, with `a` and `b` to be found"""
    a: Any
    b: Any
    def __init__(self) -> None: ...
    def forward(self, x: Any) -> Any:
        """Compute the line at `x`

        - `x`: Of any shape
        """

def synth_learner(n_train: int=10, n_valid: int=2, bs: int=16, lr: float=0.1, model: Any=None, seed: int=42, **kwargs: Any) -> Learner:
    """Make a learner that finds a line

    - `n_train`: Batches to train on
    - `n_valid`: Batches to validate on
    - `bs`: Items in a batch
    - `lr`: Learning rate
    - `model`: Any model from (n, 1) to (n, 1); None for a `RegModel`
    - `seed`: Of the data
    - `kwargs`: To `Learner`

    Returns: With mean squared error
    """
