# Written by `python -m tools.stubs` from `keras.py`: methods that other modules patch on are here, too
"""Keras callbacks run as they are"""

from learnloop.interop.core import Adapter
from learnloop.interop.core import Facade
from torch import nn
from typing import Any

__all__ = ['Callback', 'LearningRate', 'Optimizer', 'KerasModel', 'Model', 'Keras']

class _Hooks:
    def on_train_begin(self, logs: Any=None) -> Any:
        """Called before the first epoch"""
    def on_train_end(self, logs: Any=None) -> Any:
        """Called after the last epoch, with the values of that epoch"""
    def on_epoch_begin(self, epoch: Any, logs: Any=None) -> Any:
        """Called before an epoch"""
    def on_epoch_end(self, epoch: Any, logs: Any=None) -> Any:
        """Called after an epoch, with its values"""
    def on_train_batch_begin(self, batch: Any, logs: Any=None) -> Any: ...
    def on_train_batch_end(self, batch: Any, logs: Any=None) -> Any: ...
    def on_batch_begin(self, batch: Any, logs: Any=None) -> Any:
        """Called before a training batch"""
    def on_batch_end(self, batch: Any, logs: Any=None) -> Any:
        """Called after a training batch, with the values so far"""
    def on_test_begin(self, logs: Any=None) -> Any:
        """Called before a validation"""
    def on_test_end(self, logs: Any=None) -> Any:
        """Called after a validation, with its values"""
    def on_test_batch_begin(self, batch: Any, logs: Any=None) -> Any:
        """Called before a batch of validation"""
    def on_test_batch_end(self, batch: Any, logs: Any=None) -> Any:
        """Called after a batch of validation, with the values so far"""
    def on_predict_begin(self, logs: Any=None) -> Any:
        """Called before predictions"""
    def on_predict_end(self, logs: Any=None) -> Any:
        """Called after predictions"""
    def on_predict_batch_begin(self, batch: Any, logs: Any=None) -> Any:
        """Called before a batch to predict"""
    def on_predict_batch_end(self, batch: Any, logs: Any=None) -> Any:
        """Called after a batch to predict, with the outputs"""

class Callback(_Hooks):
    """Base class with the hooks of a Keras callback, for use without Keras"""
    params: Any
    _model: Any
    def set_params(self, params: Any) -> Any:
        """Take the settings of the fit

        - `params`: `verbose`, `epochs` (None if only `max_steps` says when to stop) and `steps` (None if nobody knows)
        """
    def set_model(self, model: Any) -> Any:
        """Take the model

        - `model`: What stands for the model
        """
    @property
    def model(self) -> Any:
        """What stands for the model: a `Model` of this module"""

class _Live(Facade):
    """A number, read anew each time, that has what Keras' variables have"""
    system: str
    refused: Any
    def takes(self, k: Any) -> Any: ...
    def numpy(self) -> Any: ...
    def __array__(self, dtype: Any=None, copy: Any=None) -> Any: ...
    def __format__(self, spec: Any) -> Any: ...
    def __repr__(self) -> Any: ...
    @property
    def shape(self) -> Any: ...
    @property
    def ndim(self) -> Any: ...
    @property
    def aggregation(self) -> Any: ...
    @property
    def synchronization(self) -> Any: ...
    @property
    def trainable(self) -> Any: ...
    @property
    def overwrite_with_gradient(self) -> Any: ...
    @property
    def constraint(self) -> Any: ...
    @property
    def regularizer(self) -> Any: ...
    @property
    def dtype(self) -> Any: ...
    @property
    def name(self) -> Any: ...
    @property
    def path(self) -> Any: ...
    @property
    def value(self) -> Any: ...

class LearningRate(_Live):
    """The learning rate as Keras' optimizers have it: whenever it is read as a number, it is the present one"""
    _ratios: list
    def __init__(self, learn: Any) -> None:
        """- `learn`: The learner"""
    def __float__(self) -> Any: ...
    def assign(self, value: Any) -> Any:
        """Set it, the groups in their ratios

        - `value`: The new one
        """
    def assign_add(self, value: Any) -> Any:
        """Raise it

        - `value`: What is added
        """
    def assign_sub(self, value: Any) -> Any:
        """Lower it

        - `value`: What is subtracted
        """

class _Settings(Facade):
    system: str
    _called: str
    refused: Any
    def takes(self, k: Any) -> Any: ...
    def _of(self, name: Any, attribute: Any) -> Any: ...
    def _clip(self, algorithm: Any) -> Any: ...
    @property
    def loss_scale_factor(self) -> Any: ...
    @property
    def gradient_accumulation_steps(self) -> Any: ...
    @property
    def built(self) -> Any: ...
    @property
    def clipnorm(self) -> Any: ...
    @property
    def ema_overwrite_frequency(self) -> Any: ...
    @property
    def weight_decay(self) -> Any: ...
    @property
    def global_clipnorm(self) -> Any: ...
    @property
    def clipvalue(self) -> Any: ...
    @property
    def use_ema(self) -> Any: ...
    @property
    def ema_momentum(self) -> Any: ...

class Optimizer(_Settings):
    """What Keras' callbacks find as `model.optimizer`"""
    __class__: Any
    def __init__(self, learn: Any) -> None:
        """- `learn`: The learner"""
    @property
    def learning_rate(self) -> Any:
        """The present one; assign a number to set it"""
    @learning_rate.setter
    def learning_rate(self, v: Any) -> Any: ...
    def get_config(self) -> dict:  # interop/keras.py
        """Return the settings, as plain data

        Returns: What Keras' optimizers have, and what torch's has besides
        """
    @property
    def name(self) -> Any: ...
    @property
    def iterations(self) -> Any:
        """Steps that were taken"""

class KerasModel(nn.Module):
    """A Keras model as a module that trains in training mode"""
    net: Any
    def __init__(self, net: Any) -> None:
        """- `net`: The Keras model, made with the backend `torch`"""
    def forward(self, *args: Any, **kwargs: Any) -> Any: ...

class _Network(Facade):
    system: str
    _called: str
    @property
    def _network(self) -> Any:
        """The learner's model, if it is one of Keras"""
    def __getattr__(self, k: Any) -> Any: ...
    @property
    def name(self) -> Any:
        """The model's, if it is one of Keras, else that of its class"""
    @property
    def trainable(self) -> Any:
        """Does any parameter learn?"""
    @property
    def compute_dtype(self) -> Any:
        """That of the autocast, if there is one, else the weights'"""
    @property
    def built(self) -> Any: ...
    @property
    def dtype(self) -> Any: ...
    @property
    def variable_dtype(self) -> Any: ...

class Model(_Network):
    """What Keras' callbacks find as `model`"""
    stop_training: bool
    refused: Any
    call: Any
    forward: Any
    def __init__(self, learn: Any) -> None:
        """- `learn`: The learner that it stands for"""
    @property
    def optimizer(self) -> Any:
        """The `Optimizer`"""
    @property
    def history(self) -> Any:
        """Values of each epoch of this fit by name, as `fit` of Keras returns them"""
    @history.setter
    def history(self, v: Any) -> Any: ...
    def get_weights(self) -> list:  # interop/keras.py
        """Copy parameters and buffers to arrays

        Returns: In the order of the model's `state_dict`
        """
    def set_weights(self, weights: Any) -> Any:  # interop/keras.py
        """Set parameters and buffers: all or, after an error, none

        - `weights`: As `get_weights` returned them
        """
    @property
    def weights(self) -> list:  # interop/keras.py
        """Parameters and buffers

        Returns: Of Keras' variables
        """
    def count_params(self) -> int:  # interop/keras.py
        """Count the elements of all weights"""
    def summary(self, *args: Any, print_fn: Any=None, **kwargs: Any) -> Any:  # interop/keras.py
        """Print the layers and their parameters

        - `args`: To that of a Keras model
        - `print_fn`: Takes each line; None to print it
        - `kwargs`: To that of a Keras model
        """
    @property
    def metrics(self) -> Any:  # interop/keras.py
        """Keras' own metrics of the names that the learner's have; only where Keras is imported"""
    def __call__(self, *args: Any, training: bool=False, **kwargs: Any) -> Any:  # interop/keras.py
        """Call the model

        - `args`: To the model: arrays or tensors
        - `training`: Does dropout drop, and does batch norm take statistics?
        - `kwargs`: To the model
        """
    def predict(self, x: Any, batch_size: int | None=None, verbose: Any=0) -> Any:  # interop/keras.py
        """Predict, as `learn.get_preds` does

        - `x`: An array, or a list of them if the model takes several; or a loader
        - `batch_size`: Items in a batch of arrays; None for 32
        - `verbose`: Taken, and of no effect
        """
    def predict_on_batch(self, x: Any) -> Any:  # interop/keras.py
        """Predict one batch

        - `x`: As for `predict`
        """
    def evaluate(self, x: Any=None, y: Any=None, batch_size: int | None=None, verbose: Any=0, return_dict: bool=False) -> Any:  # interop/keras.py
        """Compute loss and metrics, as `learn.validate` does

        - `x`: As for `predict`; None for the validation set
        - `y`: Targets, if `x` are arrays
        - `batch_size`: Items in a batch of arrays; None for 32
        - `verbose`: Taken, and of no effect
        - `return_dict`: By name?
        """
    def test_on_batch(self, x: Any, y: Any, return_dict: bool=False) -> Any:  # interop/keras.py
        """Compute loss and metrics of one batch

        - `x`: As for `predict`
        - `y`: Targets
        - `return_dict`: By name?
        """
    @property
    def compiled(self) -> Any: ...
    @property
    def steps_per_execution(self) -> Any: ...
    @property
    def loss(self) -> Any: ...
    @property
    def named_parameters(self) -> Any: ...
    @property
    def variables(self) -> Any:
        """Parameters and buffers"""
    @property
    def trainable_variables(self) -> Any: ...
    @property
    def trainable_weights(self) -> Any: ...
    @property
    def non_trainable_variables(self) -> Any: ...
    @property
    def non_trainable_weights(self) -> Any: ...
    @property
    def torch_params(self) -> Any: ...
    @property
    def metrics_names(self) -> Any: ...

class Keras(Adapter):
    """Runs a callback of Keras 3"""
    system: str
    bases: Any
    Trainer: Any
    order: int
    hooks: Any
    unfit: Any
    parts: Any
    by_flags: bool
    _taken: Any
    for_first: Any
    remove_on_fetch: Any
    _train_logs: Any
    def hears(self, name: Any) -> Any: ...
    def before_fit(self) -> Any: ...
    def before_epoch(self) -> Any: ...
    def after_epoch(self) -> Any: ...
    def before_train(self) -> Any: ...
    def before_validate(self) -> Any: ...
    def before_batch(self) -> Any: ...
    def then_after_batch(self) -> Any: ...
    def cleanup_train(self) -> Any: ...
    def cleanup_validate(self) -> Any: ...
    def then_cleanup_validate(self) -> Any: ...
    def cleanup_epoch(self) -> Any: ...
    def _is_shipped(self, name: Any) -> Any:  # interop/keras.py
        """Is it one that comes with Keras, or derived from it?"""
    def _share(self) -> Any: ...  # interop/keras.py
    def before_fetch(self) -> Any: ...  # interop/keras.py
    def then_cleanup_epoch(self) -> Any: ...  # interop/keras.py
    def _end_batch(self, phase: Any) -> Any: ...  # interop/keras.py
    def _introduce(self, group: Any) -> Any: ...  # interop/keras.py
    def _check_recorder(self) -> Any: ...  # interop/keras.py
    def after_create(self) -> Any: ...  # interop/keras.py
    def _ended(self, what: Any) -> Any: ...  # interop/keras.py
    def _batch_logs(self) -> Any: ...  # interop/keras.py
    def _test_logs(self) -> Any: ...  # interop/keras.py
    def _epoch_logs(self) -> Any: ...  # interop/keras.py
    def _predict_logs(self) -> Any: ...  # interop/keras.py
    def saved_state(self) -> Any: ...  # interop/keras.py
    def _whereabouts(self) -> Any:  # interop/keras.py
        """What all share: whether, and when, the fit is to be stopped; the batches of an epoch that is going on"""
    def load_saved_state(self, sd: Any) -> Any: ...  # interop/keras.py
    def _restore(self) -> Any: ...  # interop/keras.py
    def then_before_fit(self) -> Any: ...  # interop/keras.py
    def then_cleanup_fit(self) -> Any: ...  # interop/keras.py
