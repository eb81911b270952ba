# Written by `python -m tools.stubs` from `accelerated.py`: methods that other modules patch on are here, too
"""Its callbacks in `learn.fit(cbs=[…])` as they are; its loop beside ours, event by event"""

from dataclasses import dataclass
from learnloop.interop.core import Adapter
from learnloop.interop.core import Facade
from torch import nn
from typing import Any

__all__ = ['InMemoryRunHistory', 'TrainerCallback', 'StopTrainingError', 'RunHistory', 'TrainerRunConfig', 'CallbackHandler', 'Trainer', 'Accelerated', 'LogMetricsCallback']

InMemoryRunHistory: Any

class _TrainerHooks:
    def on_init_end(self, trainer: Any, **kwargs: Any) -> Any: ...
    def on_training_run_start(self, trainer: Any, **kwargs: Any) -> Any: ...
    def on_train_epoch_start(self, trainer: Any, **kwargs: Any) -> Any: ...
    def on_train_step_start(self, trainer: Any, **kwargs: Any) -> Any: ...
    def on_train_step_end(self, trainer: Any, batch: Any, batch_output: Any, **kwargs: Any) -> Any: ...
    def on_train_epoch_end(self, trainer: Any, **kwargs: Any) -> Any: ...
    def on_eval_epoch_start(self, trainer: Any, **kwargs: Any) -> Any: ...
    def on_eval_step_start(self, trainer: Any, **kwargs: Any) -> Any: ...
    def on_eval_step_end(self, trainer: Any, batch: Any, batch_output: Any, **kwargs: Any) -> Any: ...
    def on_eval_epoch_end(self, trainer: Any, **kwargs: Any) -> Any: ...
    def on_training_run_epoch_end(self, trainer: Any, **kwargs: Any) -> Any: ...
    def on_training_run_end(self, trainer: Any, **kwargs: Any) -> Any: ...
    def on_evaluation_run_start(self, trainer: Any, **kwargs: Any) -> Any: ...
    def on_evaluation_run_end(self, trainer: Any, **kwargs: Any) -> Any: ...
    def on_stop_training_error(self, trainer: Any, **kwargs: Any) -> Any: ...

class TrainerCallback(_TrainerHooks):
    """Base of callbacks that are written from the documents of pytorch-accelerated: its hooks, with their arguments"""

class StopTrainingError(Exception):
    """Raised by a callback to stop the run"""

class RunHistory:
    """Values of metrics, by name, and the number of the epoch"""
    _epoch: int
    _prefix: str
    _metrics: dict
    def __init__(self) -> None: ...
    @property
    def current_epoch(self) -> int: ...
    @property
    def metric_name_prefix(self) -> str: ...
    def get_metric_names(self) -> Any:
        """Name the metrics that have values"""
    def get_metric_values(self, metric_name: str) -> list:
        """Return all values of a metric

        - `metric_name`: As it was updated

        Returns: Empty for one without values
        """
    def get_latest_metric(self, metric_name: str) -> Any:
        """Return the last value of a metric

        - `metric_name`: As it was updated; an error if it wasn't
        """
    def update_metric(self, metric_name: str, metric_value: Any) -> Any:
        """Add a value to a metric

        - `metric_name`: The prefix is put before it
        - `metric_value`: Of any type
        """
    def _increment_epoch(self) -> Any: ...
    def _set_epoch(self, epoch: Any) -> Any: ...
    def set_metric_name_prefix(self, prefix: str='') -> Any:  # interop/accelerated.py
        """Mark the metrics of another model, say

        - `prefix`: Put before the names of metrics that are updated from here on
        """
    def delete_metric(self, metric_name: str) -> Any:  # interop/accelerated.py
        """Forget a metric

        - `metric_name`: As it was updated
        """
    def reset(self) -> Any:  # interop/accelerated.py
        """Forget all values and the prefix, and begin at epoch 1"""

@dataclass(frozen=True)
class TrainerRunConfig:
    """Settings of a run"""
    num_epochs: int
    train_per_device_batch_size: int | None
    train_dl_kwargs: dict
    eval_per_device_batch_size: int | None
    eval_dl_kwargs: dict
    gradient_accumulation_steps: int
    gradient_clip_value: float | None
    train_total_batch_size: int | None
    eval_total_batch_size: int | None
    num_update_steps_per_epoch: int | None
    num_local_update_steps_per_epoch: int | None
    max_num_train_steps: int | None
    is_local_process_zero: bool
    is_world_process_zero: bool
    is_distributed: bool
    mixed_precision: str
    num_processes: int
    def __getitem__(self, k: Any) -> Any: ...
    def to_dict(self) -> dict:
        """Return the settings as a dict, for a logger

        Returns: All values, by name
        """

class CallbackHandler:
    """Calls methods of callbacks, in the order in which they were given"""
    callbacks: list
    def __init__(self, callbacks: Any=()) -> None:
        """- `callbacks`: Callbacks, or classes of them"""
    def add_callbacks(self, callbacks: Any) -> Any:
        """Add callbacks

        - `callbacks`: Callbacks, or classes of them
        """
    def add_callback(self, callback: Any) -> Any:
        """Add a callback

        - `callback`: A callback, or a class of them to make one of
        """
    def clear_callbacks(self) -> Any:
        """Remove all callbacks"""
    @property
    def callback_list(self) -> Any:
        """Names of the callbacks' classes"""
    def __iter__(self) -> Any: ...
    def call_event(self, event: str, *args: Any, **kwargs: Any) -> Any:
        """Call the method `event` of all callbacks that have one

        - `event`: Name of a method
        - `args`: To the method
        - `kwargs`: To the method
        """

class Trainer(Facade):
    """What callbacks find where the package's `Trainer` would be"""
    system: str
    refused: Any
    _guest: Any
    _output: Any
    def __init__(self, learn: Any) -> None:
        """- `learn`: The learner that it stands for"""
    def __dir__(self) -> Any: ...
    def __getattr__(self, k: Any) -> Any: ...
    def __setattr__(self, k: Any, v: Any) -> Any: ...
    @property
    def scheduler(self) -> Any: ...
    @property
    def _train_dataloader(self) -> Any: ...
    @property
    def _eval_dataloader(self) -> Any: ...
    @property
    def run_history(self) -> Any:  # interop/accelerated.py
        """Values of metrics, and the number of the epoch"""
    @property
    def run_config(self) -> Any:  # interop/accelerated.py
        """Settings of the run; None before the first"""
    def gather(self, tensor: Any, padding_value: Any=None) -> Any:  # interop/accelerated.py
        """Gather values of all processes

        - `tensor`: A tensor, or several in tuples, lists and dicts
        - `padding_value`: Not needed: processes tell each other how many values they have
        """
    def print(self, *args: Any, **kwargs: Any) -> Any:  # interop/accelerated.py
        """Print once per machine, and not under `learn.no_logging()`

        - `args`: As for Python's own
        - `kwargs`: As for Python's own
        """
    def get_model(self, keep_torch_compile: bool=True) -> nn.Module:  # interop/accelerated.py
        """Return the model without what several processes wrap it in

        - `keep_torch_compile`: Keep the wrapper that `torch.compile` makes?
        """
    def save_checkpoint(self, save_path: Any, checkpoint_kwargs: dict | None=None, save_optimizer: bool=True, save_scheduler: bool=True, save_per_node: bool=True) -> Any:  # interop/accelerated.py
        """Save model, optimizer and scheduler

        - `save_path`: As given; its folder is made if need be
        - `checkpoint_kwargs`: More to save
        - `save_optimizer`: The optimizer, too?
        - `save_scheduler`: The scheduler, too, if there is one?
        - `save_per_node`: Once per machine? Else once in all
        """
    def load_checkpoint(self, checkpoint_path: Any, load_optimizer: bool=True, load_scheduler: bool=True) -> dict:  # interop/accelerated.py
        """Load model, optimizer and scheduler; the file can't run code

        - `checkpoint_path`: As given to `save_checkpoint`
        - `load_optimizer`: The optimizer, too, if it was saved?
        - `load_scheduler`: The scheduler, too, if it was saved?

        Returns: All that the file holds
        """
    def _run_eval_epoch(self, valid_dl: Any, is_training: Any=True, is_intermediate: Any=False) -> Any: ...  # interop/accelerated.py
    def _step_end(self) -> Any: ...  # interop/accelerated.py
    def _record(self, metric: Any) -> Any:  # interop/accelerated.py
        """Add the loss of the phase that is ending to the run history"""
    @property
    def _evaluation(self) -> Any:  # interop/accelerated.py
        """What the loss of the validation that is going on is called; None if it is not for the callbacks"""
    @property
    def device(self) -> Any: ...
    @property
    def optimizer(self) -> Any: ...
    @property
    def loss_func(self) -> Any: ...
    @property
    def model(self) -> Any: ...
    @model.setter
    def model(self, v: Any) -> None: ...
    @property
    def callback_handler(self) -> Any: ...
    @callback_handler.setter
    def callback_handler(self, v: Any) -> None: ...
    @property
    def train_dataset(self) -> Any: ...
    @property
    def eval_dataset(self) -> Any: ...

class Accelerated(Adapter):
    """Runs a callback of pytorch-accelerated"""
    system: str
    bases: Any
    prefix: Any
    Trainer: Any
    order: int
    hooks: Any
    unfit: Any
    parts: Any
    _waiting: dict
    def translated(self, e: Any) -> Any: ...
    def _check_foreign(self) -> Any: ...
    def _check_recorder(self) -> Any: ...
    def before_fit(self) -> Any: ...
    def before_epoch(self) -> Any: ...
    def after_train(self) -> Any: ...
    def before_validate(self) -> Any: ...
    def after_validate(self) -> Any: ...
    def then_cleanup_validate(self) -> Any: ...
    def then_after_batch(self) -> Any: ...
    def cleanup_epoch(self) -> Any: ...  # interop/accelerated.py
    def cleanup_fit(self) -> Any: ...  # interop/accelerated.py
    def before_evaluate(self) -> Any: ...  # interop/accelerated.py
    def then_cleanup_fit(self) -> Any: ...  # interop/accelerated.py
    def _call(self, name: Any, f: Any, args: Any, kwargs: Any) -> Any: ...  # interop/accelerated.py
    def _find_turn(self, event: Any) -> Any: ...  # interop/accelerated.py
    def _hear(self, event: Any, args: Any, kwargs: Any) -> Any: ...  # interop/accelerated.py
    def saved_state(self) -> dict:  # interop/accelerated.py
        """Ask the foreign callback for its state; the run history is with the first of the group

        Returns: Plain data and tensors
        """
    def load_saved_state(self, sd: dict) -> Any:  # interop/accelerated.py
        """Give the foreign callback its state back

        - `sd`: What `saved_state` returned
        """
    def _take_up(self) -> Any:  # interop/accelerated.py
        """Load what has to wait for a trainer, or for a module that is made at the start of a run"""
    def after_create(self) -> Any: ...  # interop/accelerated.py
    @property
    def foreign_name(self) -> Any: ...
    @property
    def own_name(self) -> Any: ...

class LogMetricsCallback(TrainerCallback):
    """Logs the latest value of each metric; override `log_metrics` for another platform than the screen"""
    def on_train_epoch_end(self, trainer: Any, **kwargs: Any) -> Any: ...
    def on_eval_epoch_end(self, trainer: Any, **kwargs: Any) -> Any: ...
    def _log(self, trainer: Any, train: Any) -> Any: ...
    def log_metrics(self, trainer: Any, metrics: dict) -> Any:
        """Print the metrics

        - `trainer`: Its `print` prints once per machine
        - `metrics`: Values by name
        """
