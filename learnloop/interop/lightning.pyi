# Written by `python -m tools.stubs` from `lightning.py`: methods that other modules patch on are here, too
"""Callbacks of `lightning.pytorch` and `pytorch_lightning` run in `learn.fit(cbs=[…])` as they are"""

from learnloop.interop.core import Adapter
from learnloop.interop.core import Facade
from typing import Any

__all__ = ['Callback', 'MetricLog', 'Module', 'Trainer', 'Lightning']

class _FitHooks:
    def setup(self, trainer: Any, pl_module: Any, stage: Any) -> Any: ...
    def teardown(self, trainer: Any, pl_module: Any, stage: Any) -> Any: ...
    def on_fit_start(self, trainer: Any, pl_module: Any) -> Any: ...
    def on_fit_end(self, trainer: Any, pl_module: Any) -> Any: ...
    def on_sanity_check_start(self, trainer: Any, pl_module: Any) -> Any: ...
    def on_sanity_check_end(self, trainer: Any, pl_module: Any) -> Any: ...
    def on_train_start(self, trainer: Any, pl_module: Any) -> Any: ...
    def on_train_end(self, trainer: Any, pl_module: Any) -> Any: ...
    def on_train_epoch_start(self, trainer: Any, pl_module: Any) -> Any: ...
    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> Any: ...
    def on_train_batch_start(self, trainer: Any, pl_module: Any, batch: Any, batch_idx: Any) -> Any: ...
    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: Any) -> Any: ...
    def on_before_zero_grad(self, trainer: Any, pl_module: Any, optimizer: Any) -> Any: ...
    def on_before_backward(self, trainer: Any, pl_module: Any, loss: Any) -> Any: ...
    def on_after_backward(self, trainer: Any, pl_module: Any) -> Any: ...
    def on_before_optimizer_step(self, trainer: Any, pl_module: Any, optimizer: Any) -> Any: ...
    def on_exception(self, trainer: Any, pl_module: Any, exception: Any) -> Any: ...
    def on_save_checkpoint(self, trainer: Any, pl_module: Any, checkpoint: Any) -> Any: ...
    def on_load_checkpoint(self, trainer: Any, pl_module: Any, checkpoint: Any) -> Any: ...

class _EvalHooks:
    def on_validation_start(self, trainer: Any, pl_module: Any) -> Any: ...
    def on_validation_end(self, trainer: Any, pl_module: Any) -> Any: ...
    def on_validation_epoch_start(self, trainer: Any, pl_module: Any) -> Any: ...
    def on_validation_epoch_end(self, trainer: Any, pl_module: Any) -> Any: ...
    def on_validation_batch_start(self, trainer: Any, pl_module: Any, batch: Any, batch_idx: Any, dataloader_idx: Any=0) -> Any: ...
    def on_validation_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: Any, dataloader_idx: Any=0) -> Any: ...
    def on_test_start(self, trainer: Any, pl_module: Any) -> Any: ...
    def on_test_end(self, trainer: Any, pl_module: Any) -> Any: ...
    def on_test_epoch_start(self, trainer: Any, pl_module: Any) -> Any: ...
    def on_test_epoch_end(self, trainer: Any, pl_module: Any) -> Any: ...
    def on_test_batch_start(self, trainer: Any, pl_module: Any, batch: Any, batch_idx: Any, dataloader_idx: Any=0) -> Any: ...
    def on_test_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: Any, dataloader_idx: Any=0) -> Any: ...
    def on_predict_start(self, trainer: Any, pl_module: Any) -> Any: ...
    def on_predict_end(self, trainer: Any, pl_module: Any) -> Any: ...
    def on_predict_epoch_start(self, trainer: Any, pl_module: Any) -> Any: ...
    def on_predict_epoch_end(self, trainer: Any, pl_module: Any) -> Any: ...
    def on_predict_batch_start(self, trainer: Any, pl_module: Any, batch: Any, batch_idx: Any, dataloader_idx: Any=0) -> Any: ...
    def on_predict_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: Any, dataloader_idx: Any=0) -> Any: ...

class Callback(_FitHooks, _EvalHooks):
    """Stand-in for Lightning's base class: all of its hooks, doing nothing"""
    @property
    def state_key(self) -> Any:
        """Name of its state in checkpoints"""
    def _generate_state_key(self, **kwargs: Any) -> Any: ...
    def state_dict(self) -> dict:
        """Return what must be saved to go on later

        Returns: Plain data and tensors
        """
    def load_state_dict(self, state_dict: dict) -> Any:
        """Take up a state

        - `state_dict`: What `state_dict` returned
        """

class MetricLog:
    """A logger, as Lightning's callbacks know it, that keeps in `history` what it is given"""
    save_dir: Any
    log_dir: Any
    name: str
    version: str
    history: list
    def __init__(self) -> None: ...
    def log_metrics(self, metrics: dict, step: int | None=None) -> Any:
        """Keep `metrics`

        - `metrics`: Numbers, by name
        - `step`: Optimizer steps before
        """
    def log_hyperparams(self, params: Any, *args: Any) -> Any:
        """Do nothing: settings are no metrics

        - `params`: Anything
        - `args`: Not used
        """
    def after_save_checkpoint(self, checkpoint_callback: Any) -> Any:
        """Do nothing: files are there already

        - `checkpoint_callback`: Who saved one
        """
    def save(self) -> Any:
        """Do nothing: there is no file"""
    def finalize(self, status: str) -> Any:
        """Do nothing

        - `status`: 'success' or 'failed'
        """

class _Part(Facade):
    system: str
    def __init__(self, trainer: Any) -> None: ...

class Module(_Part):
    """What callbacks find where their `LightningModule` would be: the model, with what Lightning adds to one"""
    automatic_optimization: bool
    def __getattr__(self, k: Any) -> Any: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
    def optimizers(self) -> object:
        """Return the optimizer, or the list of them

        Returns: Not in a list, if there is one
        """
    def lr_schedulers(self) -> None:
        """Return no schedulers: schedules are callbacks here

        Returns: As in Lightning without any
        """
    def log(self, name: str, value: Any, on_step: Any=None, on_epoch: Any=None, reduce_fx: Any='mean', batch_size: int | None=None, **kwargs: Any) -> Any:  # interop/lightning.py
        """Log a value: it goes into `trainer.callback_metrics`

        - `name`: Under which it can be monitored
        - `value`: A number, or a tensor with one
        - `on_step`: Does the last value count? By default, in training batches
        - `on_epoch`: Does the mean over the batches of an epoch count? By default, in validation batches
        - `reduce_fx`: No other is there
        - `batch_size`: Weight of the value in the mean; None for the batch's number of items
        - `kwargs`: What Lightning's `log` has besides, without effect here
        """
    def log_dict(self, dictionary: dict, **kwargs: Any) -> Any:  # interop/lightning.py
        """Log several values

        - `dictionary`: Values, by name
        - `kwargs`: To `log`
        """
    @property
    def trainer(self) -> Any: ...
    @property
    def device(self) -> Any: ...
    @property
    def current_epoch(self) -> Any: ...
    @property
    def global_step(self) -> Any: ...
    @property
    def logger(self) -> Any: ...
    @property
    def loggers(self) -> Any: ...

class _About(Facade):
    """What the trainer says of data, callbacks and folders"""
    @property
    def num_training_batches(self) -> Any: ...
    @property
    def val_check_interval(self) -> Any: ...
    @property
    def check_val_every_n_epoch(self) -> Any: ...
    @property
    def max_epochs(self) -> Any: ...
    @property
    def num_val_batches(self) -> Any: ...
    @property
    def enable_validation(self) -> Any: ...
    @property
    def train_dataloader(self) -> Any: ...
    @property
    def val_dataloaders(self) -> Any: ...
    @property
    def default_root_dir(self) -> Any: ...
    @property
    def log_dir(self) -> Any: ...
    @property
    def callbacks(self) -> Any: ...
    @property
    def early_stopping_callbacks(self) -> Any: ...
    @property
    def checkpoint_callbacks(self) -> Any: ...
    @property
    def early_stopping_callback(self) -> Any: ...
    @property
    def checkpoint_callback(self) -> Any: ...

class Trainer(_About):
    """What callbacks find where Lightning's `Trainer` would be"""
    system: str
    refused: Any
    should_stop: bool
    fast_dev_run: bool
    log_every_n_steps: int
    max_steps: int
    ckpt_path: Any
    _seen: Any
    def __init__(self, learn: Any) -> None:
        """- `learn`: The learner that it stands for"""
    @property
    def evaluating(self) -> Any: ...
    @property
    def callback_metrics(self) -> Any:  # interop/lightning.py
        """Tensors, by the names under which they can be monitored"""
    def _refresh(self) -> Any: ...  # interop/lightning.py
    @property
    def logged_metrics(self) -> Any:  # interop/lightning.py
        """A copy of `callback_metrics`"""
    def _keep(self, values: Any) -> Any:  # interop/lightning.py
        """Have the numbers among `values` monitored"""
    def _log(self, metrics: Any) -> Any:  # interop/lightning.py
        """Give `metrics` to the loggers"""
    def save_checkpoint(self, filepath: Any, weights_only: bool | None=False, storage_options: Any=None) -> Any:  # interop/lightning.py
        """Write weights, optimizer, counters and the state of callbacks

        - `filepath`: A relative one is below the current folder
        - `weights_only`: Leave out the optimizer and the callbacks' state?
        - `storage_options`: For other storages than Lightning's default: refused
        """
    def _stops(self) -> Any:  # interop/lightning.py
        """Does a request to stop count already?"""
    @property
    def is_global_zero(self) -> Any: ...
    @property
    def global_rank(self) -> Any: ...
    @property
    def world_size(self) -> Any: ...
    @property
    def local_rank(self) -> Any: ...
    @property
    def num_devices(self) -> Any: ...
    @property
    def num_nodes(self) -> Any: ...
    @property
    def node_rank(self) -> Any: ...
    @property
    def strategy(self) -> Any: ...
    @property
    def state(self) -> Any: ...
    @property
    def fit_loop(self) -> Any: ...
    @property
    def _logger_connector(self) -> Any: ...
    @property
    def model(self) -> Any: ...
    @property
    def current_epoch(self) -> Any: ...
    @property
    def global_step(self) -> Any: ...
    @property
    def logger(self) -> Any: ...
    @property
    def training(self) -> Any: ...
    @property
    def validating(self) -> Any: ...
    @property
    def testing(self) -> Any: ...
    @property
    def predicting(self) -> Any: ...
    @property
    def sanity_checking(self) -> Any: ...
    @property
    def optimizers(self) -> Any: ...
    @property
    def lr_scheduler_configs(self) -> Any: ...

class Lightning(Adapter):
    """Runs callbacks of Lightning"""
    system: str
    bases: Any
    Trainer: Any
    missing: Any
    by_flags: bool
    hooks: Any
    order: float
    remove_on_fetch: Any
    settings: Any
    def __init__(self, callback: Any, order: Any=None, name: str | None=None, **settings: Any) -> None:
        """- `callback`: Lightning's callback
        - `order`: Its place among ours; None: after schedules
        - `name`: Its name in the learner; None for one made of its class and its `state_key`
        - `settings`: As for Lightning's `Trainer`: logger, log_every_n_steps, default_root_dir, min_epochs, min_steps
        """
    def _survived(self, phase: Any) -> Any:
        """Tell an error in flight from one that somebody caught"""
    def cleanup_batch(self) -> Any: ...
    def cleanup_sanity(self) -> Any: ...
    def cleanup_evaluate(self) -> Any: ...
    def cleanup_fit(self) -> Any: ...
    def _is_fresh(self) -> Any: ...
    def after_create(self) -> Any: ...  # interop/lightning.py
    @property
    def default_name(self) -> Any: ...  # interop/lightning.py
    def _find_turn(self, event: Any) -> Any: ...  # interop/lightning.py
    def before_fit(self) -> Any: ...  # interop/lightning.py
    def before_epoch(self) -> Any: ...  # interop/lightning.py
    def _epoch_starts(self) -> Any: ...  # interop/lightning.py
    def _share(self) -> Any: ...  # interop/lightning.py
    def then_before_epoch(self) -> Any: ...  # interop/lightning.py
    def before_train(self) -> Any: ...  # interop/lightning.py
    def then_cleanup_batch(self) -> Any: ...  # interop/lightning.py
    def cleanup_train(self) -> Any: ...  # interop/lightning.py
    def cleanup_epoch(self) -> Any: ...  # interop/lightning.py
    def then_cleanup_epoch(self) -> Any: ...  # interop/lightning.py
    def then_cleanup_fit(self) -> Any: ...  # interop/lightning.py
    def _find_stage(self) -> Any: ...  # interop/lightning.py
    def _outermost(self) -> Any: ...  # interop/lightning.py
    def before_validate(self) -> Any: ...  # interop/lightning.py
    def cleanup_validate(self) -> Any: ...  # interop/lightning.py
    def then_cleanup_validate(self) -> Any: ...  # interop/lightning.py
    def then_cleanup_sanity(self) -> Any: ...  # interop/lightning.py
    def then_cleanup_evaluate(self) -> Any: ...  # interop/lightning.py
    def saved_state(self) -> Any: ...  # interop/lightning.py
    def before_save(self) -> Any: ...  # interop/lightning.py
    def _states(self) -> Any: ...  # interop/lightning.py
    def then_before_save(self) -> Any: ...  # interop/lightning.py
    def after_load(self) -> Any: ...  # interop/lightning.py
    def then_after_load(self) -> Any: ...  # interop/lightning.py
    @property
    def own_name(self) -> Any: ...
    @property
    def _orig_default_name(self) -> Any:
        """Made of the system's name and its own"""
