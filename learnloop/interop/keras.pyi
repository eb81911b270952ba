# Written by `python -m tools.stubs` from `keras.py`: methods that other modules patch on are here, too
"""Keras callbacks run as they are"""

from learnloop.interop.core import Adapter
from learnloop.interop.core import Facade
from typing import Any

__all__ = ['Callback', 'LearningRate', 'Optimizer', 'Model', 'Keras']

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

class LearningRate:
    """The learning rate as Keras' optimizers have it: whenever it is read as a number, it is the present one"""
    _learn: Any
    _ratios: list
    def __init__(self, learn: Any) -> None:
        """- `learn`: The learner"""
    def __float__(self) -> Any: ...
    def assign(self, value: Any) -> Any:
        """Set it, the groups in their ratios

        - `value`: The new one
        """
    def numpy(self) -> Any:
        """Return it as an array without dimensions"""
    def __array__(self, dtype: Any=None, copy: Any=None) -> Any: ...
    def __format__(self, spec: Any) -> Any: ...
    def __repr__(self) -> Any: ...

class Optimizer(Facade):
    """What Keras' callbacks find as `model.optimizer`: the learning rate"""
    system: str
    def __init__(self, learn: Any) -> None:
        """- `learn`: The learner"""
    @property
    def learning_rate(self) -> Any:
        """The present one; assign a number to set it"""
    @learning_rate.setter
    def learning_rate(self, v: Any) -> Any: ...

class Model(Facade):
    """What Keras' callbacks find as `model`"""
    system: str
    stop_training: bool
    refused: Any
    def __init__(self, learn: Any) -> None:
        """- `learn`: The learner that it stands for"""
    @property
    def optimizer(self) -> Any:
        """The `Optimizer`"""
    def get_weights(self) -> list:
        """Copy parameters and buffers to arrays

        Returns: In the order of the model's `state_dict`
        """
    def set_weights(self, weights: Any) -> Any:
        """Set parameters and buffers: all or, after an error, none

        - `weights`: As `get_weights` returned them
        """
    @property
    def metrics(self) -> Any:
        """Keras' own metrics of the names that the learner's have; only where Keras is imported"""

class Keras(Adapter):
    """Runs a callback of Keras 3"""
    system: str
    bases: Any
    Trainer: Any
    order: int
    hooks: Any
    unfit: Any
    _taken: Any
    by_flags: bool
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
