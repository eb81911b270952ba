# Written by `python -m tools.stubs` from `metrics.py`: methods that other modules patch on are here, too
"""Numbers that tell how good a model is, exact whatever the sizes of the batches"""

from typing import Any
import torch

__all__ = ['LOSSES', 'accuracy', 'error_rate', 'top_k_accuracy', 'accuracy_multi', 'mse', 'mae', 'msle', 'Metric', 'check_better', 'AvgMetric', 'as_metric', 'mk_metrics', 'accumulate_all', 'rmse', 'exp_rmspe', 'foreground_acc', 'Dice', 'JaccardCoeff', 'AccumMetric', 'skm_metric', 'optim_metric', 'TorchMetric', 'AvgLoss', 'Perplexity', 'LossPart', 'LossMetric', 'LossMetrics', 'Smoother', 'AvgSmoothLoss', 'ValueMetric', 'LearnerView', 'DictMetric', 'need_better', 'undeclared']

LOSSES: dict

def accuracy(pred: Any, targ: Any, axis: int=-1) -> torch.Tensor:
    """Compute the share of items whose highest score is that of their class

    - `pred`: Scores of classes, (n, …) with the classes along `axis`; for one score an item, see `accuracy_multi`
    - `targ`: Indices of classes, the shape of `pred` without `axis`
    - `axis`: Where the classes are

    Returns: Between 0 and 1
    """

def error_rate(pred: Any, targ: Any, axis: int=-1) -> torch.Tensor:
    """Compute 1 - `accuracy`

    - `pred`: Scores of classes, (n, …) with the classes along `axis`
    - `targ`: Indices of classes
    - `axis`: Where the classes are

    Returns: Between 0 and 1
    """

def top_k_accuracy(pred: Any, targ: Any, k: int=5, axis: int=-1) -> torch.Tensor:
    """Compute the share of items whose class is among the `k` with the highest scores

    - `pred`: Scores of classes, (n, …) with the classes along `axis`
    - `targ`: Indices of classes, the shape of `pred` without `axis`
    - `k`: How many classes may be named
    - `axis`: Where the classes are

    Returns: Between 0 and 1
    """

def accuracy_multi(pred: Any, targ: Any, thresh: float=0.5, sigmoid: bool=True) -> torch.Tensor:
    """Compute the share of answers that are right

    - `pred`: Scores, of any shape: one for each item, or several
    - `targ`: Zeros and ones, as many elements
    - `thresh`: Probability above which it is a yes
    - `sigmoid`: Make probabilities of scores? Not if they are

    Returns: Between 0 and 1
    """

def mse(pred: Any, targ: Any) -> torch.Tensor:
    """Compute the mean squared error

    - `pred`: Predictions, of any shape
    - `targ`: Targets, as many elements

    Returns: In squared units of the target
    """

def mae(pred: Any, targ: Any) -> torch.Tensor:
    """Compute the mean absolute error

    - `pred`: Predictions, of any shape
    - `targ`: Targets, as many elements

    Returns: In units of the target
    """

def msle(pred: Any, targ: Any) -> torch.Tensor:
    """Compute the mean squared error of log(1+…)

    - `pred`: Predictions above -1, of any shape
    - `targ`: Targets above -1, as many elements
    """

class Metric:
    """A number computed over all batches of a phase: define `accumulate` and `value`, and `reset` to start anew"""
    sync: Any
    better: Any
    def reset(self) -> Any:
        """Forget what was accumulated"""
    def accumulate(self, learn: Any) -> Any:
        """Take in a batch

        - `learn`: The learner: `pred`, `yb`, `loss`, `bs`, …
        """
    @property
    def value(self) -> Any:
        """What came out; None if there was nothing"""
    @property
    def name(self) -> Any:
        """Title of its column"""
    def check(self, n_targs: int) -> Any:
        """Raise an error if it can't be computed from a prediction and `n_targs` targets

        - `n_targs`: Number of targets in the batch
        """
    @property
    def n_listed(self) -> Any:
        """How many values its lists have so far"""
    def __repr__(self) -> Any: ...
    def _declare(self, better: Any, func: Any) -> Any:  # measure/metrics.py
        """Note which value is better: as `better` says, else as an attribute of `func` or of its innermost function says"""
    def together(self, team: Any, n_before: int=0) -> Any:  # measure/metrics.py
        """Have in each process what all of them have accumulated

        - `peers`: Whoever speaks for the processes: `learn.team`
        - `n_before`: Values at the head of the first process's lists that are of all: those that a checkpoint had
        """
    def check_sync(self) -> Any:  # measure/metrics.py
        """Refuse a metric of which nobody says how processes put it together"""
    def joint(self, team: Any, n_before: int=0) -> Any:  # measure/metrics.py
        """Make a copy that has what all processes have accumulated

        - `peers`: As for `together`
        - `n_before`: As for `together`
        """
    def _copy(self) -> Any: ...  # measure/metrics.py

def check_better(better: Any, what: str='better') -> str | None:
    """Refuse `better` unless it is 'less', 'more' or None

    - `better`: 'less', 'more', or None
    - `what`: Name of the argument, for the message

    Returns: `better`
    """

class AvgMetric(Metric):
    """Mean over all items of `func(pred, *yb)`, a batch counting by its items: right for accuracy, wrong for F1"""
    sync: dict
    watched: Any
    func: Any
    metric_name: str | None
    weight: Any
    then: Any
    vals: Any
    sizes: Any
    def __init__(self, func: Any, metric_name: str | None=None, weight: Any=None, then: Any=None, better: str | None=None) -> None:
        """- `func`: Function of prediction and targets that returns the mean over a batch, a scalar
        - `metric_name`: Title of its column; None for the function's name
        - `weight`: Function of prediction and targets: how much a batch counts; None for its number of items
        - `then`: Function of the mean over all, such as `math.sqrt`; None for the mean itself
        - `better`: Which value is better: 'less' or 'more'; None for `func.better`, unless there is a `then`
        """
    def reset(self) -> Any: ...
    def accumulate(self, learn: Any) -> Any: ...
    @property
    def value(self) -> Any: ...
    @property
    def name(self) -> Any: ...
    def check(self, n_targs: Any) -> Any: ...
    def _scalar(self, v: Any) -> Any: ...  # measure/metrics.py
    def _watch(self, *args: Any) -> Any:  # measure/metrics.py
        """Call `func` for the first time, and warn if it broadcasts predictions and targets"""

def as_metric(make: Any) -> Any:
    """Have `mk_metrics` make something else of a function than an `AvgMetric`

    - `make`: Called with the function, returns its `Metric`; `AccumMetric` for whatever must see all items at once
    """

def mk_metrics(ms: Any) -> list:
    """Make metrics of whatever is given

    - `ms`: A metric, a function, a torchmetrics object or collection, or a list of such

    Returns: `Metric`s
    """

def accumulate_all(metrics: Any, learn: Any, note: Any) -> Any:
    """Have `metrics` take in a batch, in their order: those of plain functions without a call of their own

    - `metrics`: `Metric`s
    - `learn`: The learner, after a batch: `pred`, `yb`, `loss`, `bs`, …
    - `note`: Called with an error and the metric that it comes from, before it goes on
    """

def rmse(pred: Any, targ: Any) -> torch.Tensor:
    """Compute the root of the mean squared error

    - `pred`: Predictions, of any shape
    - `targ`: Targets, as many elements

    Returns: In units of the target
    """

def exp_rmspe(pred: Any, targ: Any) -> torch.Tensor:
    """Compute the root of the mean squared relative error, of exponentials

    - `pred`: Logarithms of predictions, of any shape
    - `targ`: Logarithms of targets, as many elements

    Returns: As a share of the target
    """

def foreground_acc(pred: Any, targ: Any, bkg_idx: int=0, axis: int=1) -> torch.Tensor:
    """Compute the share of pixels outside of the background whose class is right

    - `pred`: Scores of classes, (n, n_classes, …)
    - `targ`: Indices of classes, (n, …) or (n, 1, …)
    - `bkg_idx`: Index of the background
    - `axis`: Where the classes are

    Returns: Between 0 and 1; nan if all is background
    """

class Dice(Metric):
    """Overlap of predictions and targets in class 1, of two"""
    sync: dict
    better: str
    _by_sklearn: str
    axis: int
    overlap: int
    areas: int
    def __init__(self, axis: int=1) -> None:
        """- `axis`: Where predictions have the classes"""
    def reset(self) -> Any: ...
    def accumulate(self, learn: Any) -> Any: ...
    def _refuse(self, n: Any) -> Any: ...
    def _ratio(self, overlap: Any, areas: Any) -> Any: ...
    @property
    def value(self) -> Any: ...

class JaccardCoeff(Dice):
    """Intersection over union of predictions and targets in class 1, of two"""
    _by_sklearn: str
    def _ratio(self, overlap: Any, areas: Any) -> Any: ...

class AccumMetric(Metric):
    """`func(pred, targ)` of all items at once"""
    sync: dict
    func: Any
    dim_argmax: int | None
    activation: str
    thresh: float | None
    kwargs: Any
    to_np: bool
    invert_arg: bool
    flatten: bool
    metric_name: str | None
    preds: list
    targs: list
    def __init__(self, func: Any, dim_argmax: int | None=None, activation: str='no', thresh: float | None=None, to_np: bool=False, invert_arg: bool=False, flatten: bool=True, name: str | None=None, better: str | None=None, **kwargs: Any) -> None:
        """- `func`: Function of all predictions and all targets
        - `dim_argmax`: Where the classes are, to predict the highest; None to keep scores
        - `activation`: 'sigmoid'; 'softmax' over `dim_argmax`; 'binarysoftmax': the last class alone
        - `thresh`: Predictions from here on are True; None to keep them
        - `to_np`: Give `func` NumPy arrays?
        - `invert_arg`: Call `func(targ, pred)`, as scikit-learn has it?
        - `flatten`: Flatten both?
        - `name`: Title of its column; None for the function's name
        - `better`: Which value is better: 'less' or 'more'; None for `func.better`
        - `kwargs`: To `func`
        """
    def reset(self) -> Any: ...
    def accumulate(self, learn: Any) -> Any: ...
    @property
    def value(self) -> Any: ...
    def check(self, n_targs: Any) -> Any: ...
    def _predict(self, pred: Any) -> Any: ...  # measure/metrics.py
    @property
    def name(self) -> Any:
        """Title of its column"""

def skm_metric(func: Any, is_class: bool=True, thresh: float | None=None, axis: int=-1, activation: str | None=None, **kwargs: Any) -> AccumMetric:
    """Make a metric of one of scikit-learn's

    - `func`: Function of scikit-learn, or its name in `sklearn.metrics`
    - `is_class`: Are classes predicted? Then the highest scores, or with `thresh` those above it
    - `thresh`: Probability from which a class is predicted, where each is a yes or no
    - `axis`: Where the classes are
    - `activation`: See `AccumMetric`; None for 'sigmoid' where classes have a `thresh`, else 'no'
    - `kwargs`: To `AccumMetric`, such as `better`, `flatten` and `name`, and to `func`
    """

def optim_metric(f: Any, argname: str, bounds: Any, tol: float=0.01, do_neg: bool=True, get_x: bool=False) -> Any:
    """Make a metric with the best of `f` over an argument

    - `f`: Function of predictions, targets, and `argname`
    - `argname`: Name of the argument to choose
    - `bounds`: Its lowest and its highest value
    - `tol`: Step between values that are tried
    - `do_neg`: Is a high value of `f` a good one?
    - `get_x`: Return the argument, too?
    """

class TorchMetric(Metric):
    """An object with `update(pred, *yb)`, `compute()` and `reset()`, as in torchmetrics"""
    sync: dict
    metric: Any
    metric_name: str | None
    n: int
    def __init__(self, metric: Any, metric_name: str | None=None, better: str | None=None) -> None:
        """- `metric`: The object
        - `metric_name`: Title of its column; None for the name of its class, in small letters
        - `better`: Which value is better: 'less' or 'more'; None for what `metric.higher_is_better` says
        """
    def reset(self) -> Any: ...
    def accumulate(self, learn: Any) -> Any: ...
    @property
    def value(self) -> Any: ...
    @property
    def name(self) -> Any: ...
    def check_sync(self) -> Any:
        """Refuse what isn't of torchmetrics"""
    def together(self, team: Any, n_before: Any=0) -> Any: ...
    def joint(self, team: Any, n_before: Any=0) -> Any: ...
    def _copy(self) -> Any: ...  # measure/metrics.py

class AvgLoss(AvgMetric):
    """Mean of the loss over all items"""
    name: str
    better: str
    check: Any
    def __init__(self) -> None: ...
    def accumulate(self, learn: Any) -> Any: ...

class Perplexity(AvgLoss):
    """Exponential of the mean loss"""
    name: str
    @property
    def value(self) -> Any: ...

class LossPart(AvgLoss):
    """Mean of a part of the loss over all items of the batches that have it"""
    better: Any
    name: Any
    part: str
    def __init__(self, part: str) -> None:
        """- `part`: Its name in `learn.loss_parts`"""
    def accumulate(self, learn: Any) -> Any: ...
    def add(self, value: Any, n: int) -> Any:
        """Have `value` in the mean

        - `value`: A scalar tensor
        - `n`: Items that it is the mean of
        """

class LossMetric(AvgMetric):
    """Mean over all items of an attribute of the loss function"""
    check: Any
    attr: str
    def __init__(self, attr: str, nm: str | None=None, better: str | None=None) -> None:
        """- `attr`: Its name: a scalar that the loss function sets at each call
        - `nm`: Title of its column; None for `attr`
        - `better`: Which value is better: 'less' or 'more'
        """
    def accumulate(self, learn: Any) -> Any: ...

def LossMetrics(attrs: Any, nms: Any=None) -> list:
    """Make a metric of each of several attributes of the loss function

    - `attrs`: Names of attributes: a list, or a string with commas between them
    - `nms`: Titles of their columns, likewise; None for `attrs`

    Returns: Of `LossMetric`s
    """

class Smoother:
    """Debiased exponential mean of a series of numbers"""
    beta: float
    val: float
    n: int
    def __init__(self, beta: float=0.98) -> None:
        """- `beta`: Weight of the past: the mean reaches back some 1/(1-beta) = 50 values"""
    def __call__(self, v: float) -> float:
        """Take in `v`

        - `v`: Next value

        Returns: The mean so far
        """

class AvgSmoothLoss(Metric):
    """Exponential mean of the training loss"""
    name: str
    better: str
    sync: dict
    beta: float
    vals: Any
    def __init__(self, beta: float=0.98) -> None:
        """- `beta`: Weight of the past"""
    def reset(self) -> Any: ...
    def accumulate(self, learn: Any) -> Any: ...
    def together(self, team: Any, n_before: Any=0) -> Any: ...
    @property
    def value(self) -> Any: ...

class ValueMetric(Metric):
    """A value that is computed elsewhere, by a callback for instance"""
    sync: dict
    func: Any
    metric_name: str | None
    def __init__(self, func: Any, metric_name: str | None=None, better: str | None=None) -> None:
        """- `func`: Called without arguments, returns the value
        - `metric_name`: Title of its column; None for the function's name
        - `better`: Which value is better: 'less' or 'more'; None for `func.better`
        """
    def accumulate(self, learn: Any) -> Any:
        """Nothing: `func` knows"""
    @property
    def value(self) -> Any: ...
    @property
    def name(self) -> Any:
        """Title of its column"""

class LearnerView:
    """The learner, with some attributes in place of its own"""
    def __init__(self, learn: Any, **attrs: Any) -> None:
        """- `learn`: The learner
        - `attrs`: What is read in place of its own
        """
    def __getattr__(self, k: Any) -> Any: ...

class DictMetric(Metric):
    """A metric of what is inside: scores in the model's output, labels in a batch that is a dict"""
    metric: Any
    pred: Any
    targ: Any
    ignore: int | None
    def __init__(self, metric: Any, pred: Any='logits', targ: Any='labels', ignore: int | None=-100) -> None:
        """- `metric`: Whatever `mk_metrics` takes: a function, a `Metric`, a torchmetrics object
        - `pred`: Where in `learn.pred` the scores are: key, attribute or index; or a function of the learner
        - `targ`: Where in the batch's dict the targets are; or a function of the learner; None for `learn.y`
        - `ignore`: Whole-number target that doesn't count; None if all do
        """
    def reset(self) -> Any: ...
    def check_sync(self) -> Any: ...
    def together(self, team: Any, n_before: Any=0) -> Any: ...
    def joint(self, team: Any, n_before: Any=0) -> Any: ...
    def accumulate(self, learn: Any) -> Any: ...
    def check(self, n_targs: Any) -> Any: ...
    @property
    def name(self) -> Any: ...
    @property
    def value(self) -> Any: ...
    @property
    def better(self) -> Any: ...
    @property
    def n_listed(self) -> Any: ...

def need_better(better: str | None, column: str, where: str) -> str:
    """Raise an error if nothing declares whether less or more of `column` is better

    - `better`: What is declared
    - `column`: Name of the value
    - `where`: Who needs it, for the message

    Returns: `better`
    """

def undeclared(column: str) -> str:
    """Say which values need a declaration, for the end of a message

    - `column`: Name of a value that has no column yet

    Returns: '' for a loss
    """
