# Written by `python -m tools.stubs` from `losses.py`: methods that other modules patch on are here, too
"""Losses that forgive shapes, and know what a prediction means"""

from torch import nn
from typing import Any
import torch

__all__ = ['BaseLoss', 'MSELossFlat', 'L1LossFlat', 'CrossEntropyLossFlat', 'LabelSmoothingCrossEntropy', 'LabelSmoothingCrossEntropyFlat', 'FocalLoss', 'FocalLossFlat', 'BCEWithLogitsLossFlat', 'BCELossFlat', 'DiceLoss']

class BaseLoss(nn.Module):
    """A loss of torch's on flattened predictions and targets; subclasses say what predictions mean"""
    y_int: bool
    func: Any
    axis: int
    flatten: bool
    floatify: bool
    is_2d: bool
    def __init__(self, loss_cls: Any, *args: Any, axis: int=-1, flatten: bool=True, floatify: bool=False, is_2d: bool=True, **kwargs: Any) -> None:
        """- `loss_cls`: Class of the loss, or a function that makes one
        - `args`: To `loss_cls`
        - `axis`: Where predictions have the classes
        - `flatten`: Flatten? If not, shapes stay, but for the classes, which go to dimension 1
        - `floatify`: Make floats of predictions and targets? float32, or double if predictions are
        - `is_2d`: Do predictions have an axis of classes?
        - `kwargs`: To `loss_cls`
        """
    def forward(self, pred: Any, targ: Any, **kwargs: Any) -> torch.Tensor:
        """Compute the loss

        - `pred`: Predictions, of any shape
        - `targ`: As many elements; with classes: indices, for all other axes, or probabilities, of the same shape
        - `kwargs`: To the loss

        Returns: A scalar, or unreduced, flattened like the targets: `view(bs, -1)` has a row for each item
        """
    def activation(self, x: Any) -> Any:
        """Leave `x` as it is: subclasses make probabilities

        - `x`: What the model returns
        """
    def decodes(self, x: Any) -> Any:
        """Leave `x` as it is: subclasses decide

        - `x`: What `activation` returns
        """
    def extra_repr(self) -> Any: ...
    def denominator(self, pred: Any, targ: Any, **kwargs: Any) -> Any:  # measure/losses.py
        """Find what the loss is a mean of

        - `pred`: Predictions
        - `targ`: Targets
        - `kwargs`: As for the loss
        """
    def _match_elements(self, pred: Any, targ: Any) -> Any: ...  # measure/losses.py
    def _match_classes(self, pred: Any, targ: Any) -> Any: ...  # measure/losses.py
    @property
    def reduction(self) -> Any:
        """What becomes of the losses of items: 'mean', 'sum' or 'none'"""
    @reduction.setter
    def reduction(self, v: Any) -> None: ...

class _Elementwise(BaseLoss):
    """A loss of each element on its own: there are no classes"""
    def __init__(self, *args: Any, axis: int=-1, floatify: bool=True, **kwargs: Any) -> None:
        """- `args`: To torch's loss
        - `axis`: Ignored: there are no classes
        - `floatify`: Compute in float32?
        - `kwargs`: To `BaseLoss` and torch's loss
        """

class MSELossFlat(_Elementwise):
    """Mean squared error"""
    loss_cls: Any

class L1LossFlat(_Elementwise):
    """Mean absolute error"""
    loss_cls: Any

class _Classes:
    """What scores of classes mean"""
    y_int: bool
    axis: int
    def activation(self, x: Any) -> Any:
        """Make probabilities of scores"""
    def decodes(self, x: Any) -> Any:
        """Choose the class that is most probable"""

class CrossEntropyLossFlat(_Classes, BaseLoss):
    """Cross entropy of scores and classes"""
    loss_cls: Any
    def __init__(self, *args: Any, axis: int=-1, **kwargs: Any) -> None:
        """- `args`: To `nn.CrossEntropyLoss`, such as a weight for each class
        - `axis`: Where predictions have the classes: 1 for images
        - `kwargs`: To `BaseLoss` and `nn.CrossEntropyLoss`
        """

class LabelSmoothingCrossEntropy(_Classes, nn.CrossEntropyLoss):
    """Cross entropy with a share of the target spread over all classes, which are along dimension 1"""
    def __init__(self, eps: float=0.1, weight: Any=None, reduction: str='mean') -> None:
        """- `eps`: Share that is spread
        - `weight`: Weight of each class, (n_classes,)
        - `reduction`: Or 'sum', 'none'
        """
    def forward(self, pred: Any, targ: Any) -> Any:
        """Compute the loss

        - `pred`: Scores, (n, n_classes, …)
        - `targ`: Indices of classes, (n, …)
        """
    def denominator(self, pred: Any, targ: Any) -> Any:
        """Find what the loss is a mean of"""

class LabelSmoothingCrossEntropyFlat(CrossEntropyLossFlat):
    """`LabelSmoothingCrossEntropy` on flattened predictions and targets"""
    loss_cls: Any
    def __init__(self, *args: Any, axis: int=-1, eps: float=0.1, **kwargs: Any) -> None:
        """- `args`: To `BaseLoss` as those of the loss
        - `axis`: Where predictions have the classes
        - `eps`: Share that is spread
        - `kwargs`: To `BaseLoss` and `LabelSmoothingCrossEntropy`
        """

class FocalLoss(_Classes, nn.Module):
    """Cross entropy in which easy items count less; classes are along dimension 1"""
    gamma: float
    reduction: str
    ignore_index: int
    def __init__(self, gamma: float=2.0, weight: Any=None, reduction: str='mean', ignore_index: int=-100) -> None:
        """- `gamma`: How much less: 0 for cross entropy; 2 worked best in the paper
        - `weight`: Weight of each class, (n_classes,)
        - `reduction`: Or 'sum', 'none'
        - `ignore_index`: Target that doesn't count
        """
    def forward(self, pred: Any, targ: Any) -> Any:
        """Compute the loss

        - `pred`: Scores, (n, n_classes, …)
        - `targ`: Indices of classes, (n, …)
        """
    def denominator(self, pred: Any, targ: Any) -> Any:
        """Find what the loss is a mean of"""
    def extra_repr(self) -> Any: ...

class FocalLossFlat(CrossEntropyLossFlat):
    """`FocalLoss` on flattened predictions and targets"""
    loss_cls: Any
    def __init__(self, *args: Any, gamma: float=2.0, axis: int=-1, **kwargs: Any) -> None:
        """- `args`: To `BaseLoss` as those of the loss
        - `gamma`: How much less easy items count
        - `axis`: Where predictions have the classes
        - `kwargs`: To `BaseLoss` and `FocalLoss`
        """

class BCEWithLogitsLossFlat(_Elementwise):
    """Binary cross entropy of scores"""
    loss_cls: Any
    thresh: float
    def __init__(self, *args: Any, axis: int=-1, floatify: bool=True, thresh: float=0.5, flatten: bool | None=None, **kwargs: Any) -> None:
        """- `args`: To `nn.BCEWithLogitsLoss`
        - `axis`: Ignored: each element is a class of its own
        - `floatify`: Compute in float32?
        - `thresh`: Probability from which a decision is yes
        - `flatten`: None to do it if there are no weights
        - `kwargs`: To `BaseLoss` and `nn.BCEWithLogitsLoss`
        """
    def activation(self, x: Any) -> Any: ...
    def decodes(self, x: Any) -> Any: ...

class BCELossFlat(_Elementwise):
    """Binary cross entropy of probabilities"""
    loss_cls: Any

class DiceLoss(_Classes, nn.Module):
    """1 - Dice of probabilities and classes, for each item and class"""
    axis: int
    smooth: float
    reduction: str
    square_in_union: bool
    def __init__(self, axis: int=1, smooth: float=1e-06, reduction: str='sum', square_in_union: bool=False) -> None:
        """- `axis`: Where predictions have the classes
        - `smooth`: Added to overlap and areas: a class that is nowhere, and predicted nowhere, has a loss of 0
        - `reduction`: Over items and classes; or 'mean', 'none'
        - `square_in_union`: Areas of squared probabilities?
        """
    def forward(self, pred: Any, targ: Any) -> Any:
        """Compute the loss

        - `pred`: Scores, (n, …) with the classes along `axis`
        - `targ`: Indices of classes, the shape of `pred` without `axis`
        """
    def denominator(self, pred: Any, targ: Any) -> Any:
        """Find what the loss is a mean of: it is one of items"""
