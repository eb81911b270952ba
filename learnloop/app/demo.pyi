# Written by `python -m tools.stubs` from `demo.py`: methods that other modules patch on are here, too
"""`learnloop demo` trains a small network on handwritten digits, and is the example to read first"""

from learnloop.data.loaders import DataLoaders
from learnloop.loop.learner import Learner
from pathlib import Path
from torch import nn
from typing import Any

__all__ = ['digits', 'cnn', 'plot_fit', 'demo']

def digits(seed: int=42, bs: int=64) -> DataLoaders:
    """Load handwritten digits, split at random

    - `seed`: Of the split, which should be the same for all runs that are compared
    - `bs`: Images in a batch

    Returns: Batches of images, (n,1,8,8) with values from 0 to 1, and classes, (n,)
    """

def cnn(n_out: int=10, width: int=16) -> nn.Sequential:
    """Make a small convolutional network with batch normalization

    - `n_out`: Number of classes
    - `width`: Channels of the first layer; each one after has twice as many, on a quarter of the area

    Returns: From images, (n,1,8,8), to scores, (n,n_out)
    """

def plot_fit(learn: Learner) -> Any:
    """Draw losses, accuracy, learning rate and predictions of a learner

    - `learn`: After a fit with `accuracy` among its metrics
    """

def demo(epochs: int=10, bs: int=64, lr: float=0.01, seed: int=42, folder: Path=...) -> Learner:
    """Train a small convolutional network on handwritten digits

    - `epochs`: Times that the network sees each training image
    - `bs`: Images in a batch
    - `lr`: Highest learning rate of the one-cycle schedule
    - `seed`: Seed of weights, of shuffling, and of the split into training and validation images
    - `folder`: Where a folder with the logs and the figure is made

    Returns: After training
    """
