# Written by `python -m tools.stubs` from `interpret.py`: methods that other modules patch on are here, too
"""What a model gets wrong: results, top losses, the confusion matrix, test-time augmentation"""

from torch import Tensor
from typing import Any

__all__ = ['Interpretation', 'ClassificationInterpretation', 'SegmentationInterpretation', 'item_at', 'find_vocab', 'item_text', 'input_and_target']

class Interpretation:
    """Predictions, targets and losses of the items of a loader, to look at"""
    preds: Any
    targs: Any
    losses: Any
    inputs: Any
    decoded: Any
    vocab: Any
    def __init__(self, preds: Any, targs: Any=None, losses: Any=None, decoded: Any=None, inputs: Any=None, vocab: Any=None) -> None:
        """- `preds`: Predictions, items first
        - `targs`: Targets
        - `losses`: Loss of each item, (n,)
        - `decoded`: Decoded predictions; None if `preds` are
        - `inputs`: Function from the number of an item to its input
        - `vocab`: Names of classes
        """
    def __len__(self) -> Any: ...
    def __repr__(self) -> Any: ...
    @classmethod
    def from_learner(cls, learn: Any, ds_idx: Any=1, dl: Any=None, act: Any=None, vocab: Any=None, with_loss: bool=True, n: int | None=None) -> Any:  # measure/interpret.py
        """Interpret the predictions of `learn`"""
    def top_losses(self, k: int | None=None, largest: bool=True, items: bool=False) -> tuple:  # measure/interpret.py
        """Find the items with the highest losses

        - `k`: How many; None for all
        - `largest`: Highest first? Else lowest first
        - `items`: Inputs of these items, too?

        Returns: Losses, (k,), numbers of items, (k,), and if asked for a list of inputs
        """
    def words(self, i: int) -> tuple:  # measure/interpret.py
        """Say in words what item `i` was taken for, what it is, and how large its loss was

        - `i`: Number of an item

        Returns: Prediction, target, loss; None where there is none
        """
    def caption(self, i: int) -> str:  # measure/interpret.py
        """The prediction, and the target if that reads differently

        - `i`: Number of an item
        """
    def is_wrong(self, i: int) -> bool:  # measure/interpret.py
        """Whether a decision differs from the target

        - `i`: Number of an item

        Returns: False for what isn't decided, such as a regression
        """
    def show_results(self, idxs: Any, show: Any=None, size: float=1.2, **kwargs: Any) -> Any:  # measure/interpret.py
        """Show inputs, predictions and targets of the items `idxs`; wrong ones are marked

        - `idxs`: Numbers of items
        - `show`: Function `show(ax, x, y, pred)` that draws an item, `pred` decoded; None for images or a table
        - `size`: Of a picture, in inches
        - `kwargs`: To `ax.imshow`, or to `show`
        """
    def _grid(self, idxs: Any, show: Any, size: Any, **kwargs: Any) -> Any:  # measure/interpret.py
        """Draw the items `idxs`, and return the axes"""
    def _draw(self, ax: Any, i: Any, **kwargs: Any) -> Any: ...  # measure/interpret.py
    def plot_top_losses(self, k: int=9, largest: bool=True, show: Any=None, **kwargs: Any) -> Any:  # measure/interpret.py
        """Show the items with the highest losses

        - `k`: How many
        - `largest`: Highest losses? Else the lowest
        - `show`: Function `show(ax, x, y, pred)` that draws an item; None for images or a table
        - `kwargs`: To `show_results`
        """
    @classmethod
    def from_batch(cls, learn: Any, n: int | None=None) -> Any:  # measure/interpret.py
        """Interpret the batch that `learn` has at hand"""

class ClassificationInterpretation(Interpretation):
    """Interpretation of a classifier: of items, or of whatever has a class, such as pixels"""
    decoded: Any
    targs: Any
    vocab: list
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """- `args`: To `Interpretation`
        - `kwargs`: To `Interpretation`
        """
    def confusion_matrix(self) -> Tensor:  # measure/interpret.py
        """Count items by class, in rows, and by predicted class, in columns

        Returns: Counts, (n_classes, n_classes)
        """
    def plot_confusion_matrix(self, normalize: bool=False, title: str='Confusion matrix', cmap: Any='Blues', norm_dec: int=2, plot_txt: bool=True, figsize: Any=(4, 4), ax: Any=None) -> Any:  # measure/interpret.py
        """Draw the confusion matrix

        - `normalize`: Shares of each row, in place of counts?
        - `title`: Above the picture
        - `cmap`: matplotlib's colour map
        - `norm_dec`: Decimals of shares
        - `plot_txt`: Write the numbers, too? They need room
        - `figsize`: Inches
        - `ax`: Axes to draw on; None for new ones
        """
    def most_confused(self, min_val: int=1) -> list:  # measure/interpret.py
        """List the classes that are most often mistaken for another

        - `min_val`: Leave out what happened less often

        Returns: Of (class, predicted class, how often), most frequent first
        """
    def print_classification_report(self, **kwargs: Any) -> None:  # measure/interpret.py
        """Print precision, recall and F1 of each class

        - `kwargs`: To scikit-learn's `classification_report`
        """

class SegmentationInterpretation(ClassificationInterpretation):
    """Interpretation of a model that finds a class for each pixel"""
    def words(self, i: Any) -> Any: ...
    def is_wrong(self, i: Any) -> Any: ...
    def _draw(self, ax: Any, i: Any, alpha: Any=0.5, **kwargs: Any) -> Any: ...
    def iou(self) -> Tensor:
        """Compute the share of pixels in common, of those that have the class or were given it

        Returns: (n_classes,), nan for a class that is nowhere
        """

def item_at(b: Any, i: Any) -> Any:
    """Item `i` of the batch `b`

    - `b`: A batch, or anything that has items, nested or not
    - `i`: Number of an item, or a slice of items
    """

def find_vocab(learn: Any, dl: Any) -> Any:
    """Find names of classes

    - `learn`: Learner, whose `dls` may have a `vocab`
    - `dl`: Loader, whose dataset may have `classes`
    """

def item_text(v: Any, vocab: Any=None) -> str:
    """Write a value in a few characters

    - `v`: A value of an item: an input, a target, a decision
    - `vocab`: Names of classes
    """

def input_and_target(xb: Any, yb: Any=()) -> tuple:
    """Find in a batch what to show, by the names that Hugging Face gives

    - `xb`: Inputs of a batch, as the learner has them
    - `yb`: Its targets

    Returns: The input that is worth showing, and the target
    """
