# Written by `python -m tools.stubs` from `fastnlp.py`: methods that other modules patch on are here, too
"""Callbacks and callback functions that were written for fastNLP's `Trainer` run as they are"""

from learnloop.interop.core import Adapter
from learnloop.interop.core import Facade
from typing import Any

__all__ = ['Callback', 'EarlyStopException', 'Event', 'Filter', 'on', 'Driver', 'Evaluator', 'Trainer', 'FastNLP']

class _Hooks:
    def on_after_trainer_initialized(self, trainer: Any, driver: Any) -> Any:
        """When it is added to a learner"""
    def on_sanity_check_begin(self, trainer: Any) -> Any:
        """Before the sanity check, if there is one"""
    def on_sanity_check_end(self, trainer: Any, sanity_check_res: Any) -> Any:
        """After it, with what came out"""
    def on_train_begin(self, trainer: Any) -> Any:
        """Before the first epoch"""
    def on_train_end(self, trainer: Any) -> Any:
        """At the end of the fit, however it came about"""
    def on_train_epoch_begin(self, trainer: Any) -> Any:
        """Before an epoch of training"""
    def on_train_epoch_end(self, trainer: Any) -> Any:
        """After it, and before validation; `cur_epoch_idx` is that of the next"""
    def on_fetch_data_begin(self, trainer: Any) -> Any:
        """Before the next batch is taken"""
    def on_fetch_data_end(self, trainer: Any) -> Any:
        """After that, also if there was none"""
    def on_train_batch_begin(self, trainer: Any, batch: Any, indices: Any) -> Any:
        """Before a batch, which may be changed in place"""
    def on_train_batch_end(self, trainer: Any) -> Any:
        """After a batch, which is counted"""
    def on_exception(self, trainer: Any, exception: Any) -> Any:
        """After an error in the fit, or an EarlyStopException"""
    def on_save_model(self, trainer: Any) -> Any:
        """Before weights are saved"""
    def on_load_model(self, trainer: Any) -> Any:
        """Before weights are loaded"""
    def on_save_checkpoint(self, trainer: Any) -> Any:
        """Return what must be saved to go on later"""
    def on_load_checkpoint(self, trainer: Any, states: Any) -> Any:
        """Take that up"""
    def on_before_backward(self, trainer: Any, outputs: Any) -> Any:
        """Before backward, with what the model returned and the loss"""
    def on_after_backward(self, trainer: Any) -> Any:
        """After backward"""
    def on_before_optimizers_step(self, trainer: Any, optimizers: Any) -> Any:
        """Before a step that will be taken"""
    def on_after_optimizers_step(self, trainer: Any, optimizers: Any) -> Any:
        """After a step that was taken"""
    def on_before_zero_grad(self, trainer: Any, optimizers: Any) -> Any:
        """Before gradients are dropped"""
    def on_after_zero_grad(self, trainer: Any, optimizers: Any) -> Any:
        """After gradients were dropped"""
    def on_evaluate_begin(self, trainer: Any) -> Any:
        """Before a validation in the fit"""
    def on_evaluate_end(self, trainer: Any, results: Any) -> Any:
        """After it, with loss and metrics by name"""

class Callback(_Hooks):
    """Base class of callbacks for fastNLP's Trainer"""
    @property
    def callback_name(self) -> Any:
        """Under which its state is saved"""
    @property
    def need_reproducible_sampler(self) -> Any:
        """Must a resumed run go on at the batch where it ended? Here, this is no matter of the callbacks"""

class EarlyStopException(BaseException):
    """Ends the fit"""
    msg: Any
    def __init__(self, msg: Any='') -> None:
        """- `msg`: Why"""

class Event:
    """A hook, and which of its calls are heard; also as `Event.on_train_batch_end(every=10)`"""
    value: str
    every: int | None
    once: int | None
    filter_fn: Any
    on_after_trainer_initialized: Any
    on_sanity_check_begin: Any
    on_sanity_check_end: Any
    on_train_begin: Any
    on_train_end: Any
    on_train_epoch_begin: Any
    on_train_epoch_end: Any
    on_fetch_data_begin: Any
    on_fetch_data_end: Any
    on_train_batch_begin: Any
    on_train_batch_end: Any
    on_exception: Any
    on_save_model: Any
    on_load_model: Any
    on_save_checkpoint: Any
    on_load_checkpoint: Any
    on_before_backward: Any
    on_after_backward: Any
    on_before_optimizers_step: Any
    on_after_optimizers_step: Any
    on_before_zero_grad: Any
    on_after_zero_grad: Any
    on_evaluate_begin: Any
    on_evaluate_end: Any
    def __init__(self, value: str, every: int | None=None, once: int | None=None, filter_fn: Any=None) -> None:
        """- `value`: Name of the hook
        - `every`: At calls `every`, `2*every`, …
        - `once`: At this call only, the first being 1
        - `filter_fn`: When `filter_fn(filter, trainer)` is true
        """
    def __repr__(self) -> Any: ...

class Filter:
    """Lets some calls of a hook through"""
    every: int | None
    once: int | None
    filter_fn: Any
    num_called: int
    num_executed: int
    def __init__(self, every: int | None=None, once: int | None=None, filter_fn: Any=None) -> None:
        """- `every`: As in `Event`
        - `once`: Likewise
        - `filter_fn`: Likewise
        """
    def passes(self, trainer: Any) -> bool:
        """Count a call, and say whether it goes through

        - `trainer`: For `filter_fn`
        """
    def __call__(self, f: Any) -> Any: ...
    def state_dict(self) -> dict:
        """Return the counters

        Returns: `num_called`, the call that is asked about included, and `num_executed`, without it
        """
    def load_state_dict(self, state: dict) -> Any:
        """Take up counters

        - `state`: What `state_dict` returned
        """

def on(event: Any, marker: Any=None) -> Any:
    """Have a function hear `event`: it can then be passed as a callback

    - `event`: An `Event`, fastNLP's own or the one here
    - `marker`: There are no markers here: which fits a function is for is said by passing it to them
    """

class _Devices(Facade):
    system: str
    def set_model_mode(self, mode: Any) -> Any: ...
    def move_data_to_device(self, batch: Any) -> Any: ...
    def tensor_to_numeric(self, tensor: Any, reduce: Any=None) -> Any: ...
    def is_distributed(self) -> Any: ...
    def get_local_rank(self) -> Any: ...
    def barrier(self) -> Any: ...
    def broadcast_object(self, obj: Any, src: Any=0, group: Any=None) -> Any: ...

class Driver(_Devices):
    """What callbacks find as `trainer.driver`"""
    refused: Any
    __class__: Any
    def __init__(self, learn: Any) -> None:
        """- `learn`: The learner"""
    @property
    def fp16(self) -> Any:
        """Are batches computed with float16?"""
    def takes(self, k: Any) -> Any: ...
    def unwrap_model(self) -> Any:
        """Return the model, without wrappers"""
    @property
    def model(self) -> Any: ...
    @property
    def optimizers(self) -> Any: ...
    @property
    def model_device(self) -> Any: ...
    @property
    def data_device(self) -> Any: ...
    @property
    def global_rank(self) -> Any: ...
    @property
    def world_size(self) -> Any: ...
    @property
    def local_rank(self) -> Any: ...

class Evaluator(Facade):
    """What callbacks find as `trainer.evaluator`; without a loader for validation, there is none"""
    system: str
    _busy: bool
    refused: Any
    def takes(self, k: Any) -> Any: ...
    def move_data_to_device(self, batch: Any) -> Any:
        """Move `batch` to the learner's device

        - `batch`: Tensors, nested in any way
        """
    def run(self, num_eval_batch_per_dl: int=-1) -> dict:
        """Validate, and call no hook for it

        - `num_eval_batch_per_dl`: All batches: there is no other number here

        Returns: Loss and metrics by name
        """
    @property
    def model(self) -> Any: ...
    @property
    def device(self) -> Any: ...
    @property
    def driver(self) -> Any: ...
    @property
    def model_use_eval_mode(self) -> Any: ...

class _Counters(Facade):
    def _limit(self) -> Any: ...
    @property
    def accumulation_steps(self) -> Any: ...
    @property
    def num_batches_per_epoch(self) -> Any: ...
    @property
    def n_batches(self) -> Any: ...
    @property
    def n_epochs(self) -> Any: ...
    @n_epochs.setter
    def n_epochs(self, v: Any) -> Any: ...
    @property
    def cur_epoch_idx(self) -> Any: ...
    @property
    def global_forward_batches(self) -> Any: ...
    @property
    def batch_idx_in_epoch(self) -> Any: ...

class _Files(_Counters):
    def _tell(self, name: Any) -> Any: ...
    def save_model(self, folder: Any, only_state_dict: Any=True, model_save_fn: Any=None) -> Any: ...
    def load_model(self, folder: Any, only_state_dict: Any=True, model_load_fn: Any=None, strict: Any=True) -> Any: ...
    def save_checkpoint(self, folder: Any, only_state_dict: Any=True, model_save_fn: Any=None) -> Any: ...
    def load_checkpoint(self, folder: Any) -> Any: ...

class Trainer(_Files):
    """What callbacks find as their `trainer`"""
    system: str
    on: Any
    refused: Any
    def __init__(self, learn: Any) -> None:
        """- `learn`: The learner that it stands for"""
    def move_data_to_device(self, batch: Any) -> Any:
        """Move `batch` to the learner's device

        - `batch`: Tensors, nested in any way
        """
    def extract_loss_from_outputs(self, outputs: Any) -> Any:
        """Return the loss

        - `outputs`: As `on_before_backward` gets them
        """
    def add_callback_fn(self, event: Any, fn: Any) -> Any:
        """Have `fn` hear `event`; if added in a fit, until that ends

        - `event`: As for `on`
        - `fn`: The function
        """
    def _add(self, callback: Any) -> Any: ...
    @property
    def model(self) -> Any: ...
    @property
    def device(self) -> Any: ...
    @property
    def model_device(self) -> Any: ...
    @property
    def data_device(self) -> Any: ...
    @property
    def optimizers(self) -> Any: ...
    @property
    def fp16(self) -> Any: ...
    @property
    def train_dataloader(self) -> Any: ...
    @property
    def dataloader(self) -> Any: ...
    @property
    def evaluate_dataloaders(self) -> Any: ...
    @property
    def evaluator(self) -> Any: ...
    @property
    def callback_handler(self) -> Any: ...

class _Base(Adapter):
    def _all(self, name: Any, *args: Any) -> Any: ...
    def _begin(self, epoch: Any) -> Any: ...
    def _settle(self, *what: Any) -> Any:
        """End those of `what` that were begun, and left"""

class _Trains(_Base):
    def before_train(self) -> Any: ...
    def after_train(self) -> Any: ...
    def then_after_train(self) -> Any: ...
    def before_fetch(self) -> Any: ...
    def after_fetch(self) -> Any: ...
    def before_batch(self) -> Any: ...
    def then_before_batch(self) -> Any: ...
    def then_after_loss(self) -> Any: ...
    def after_batch(self) -> Any: ...
    def then_after_batch(self) -> Any: ...

class _Validates(_Trains):
    def before_validate(self) -> Any: ...
    def then_before_fetch(self) -> Any: ...
    def after_validate(self) -> Any: ...
    def then_after_validate(self) -> Any: ...
    def after_evaluate(self) -> Any: ...

class _Fits(_Validates):
    def before_fit(self) -> Any: ...
    def after_cancel_epoch(self) -> Any: ...
    def after_epoch(self) -> Any: ...
    def after_fit(self) -> Any: ...
    def cleanup_fit(self) -> Any: ...
    def then_cleanup_fit(self) -> Any: ...

class _Saves(_Fits):
    def saved_state(self) -> Any: ...
    def load_saved_state(self, sd: Any) -> Any: ...
    def before_save(self) -> Any: ...
    def after_load(self) -> Any: ...

class FastNLP(_Saves):
    """Runs callbacks and functions that were written for fastNLP's Trainer"""
    system: str
    bases: Any
    Trainer: Any
    order: int
    hooks: Any
    parts: Any
    _given: str | None
    _monitor: Any
    _filters: dict
    _numbered: Any
    def __init__(self, callback: Any, order: Any=None, name: str | None=None, monitor: Any=None, larger_better: bool=True) -> None:
        """- `callback`: A callback of fastNLP, or a function decorated by `on`
        - `order`: Its place among ours; None for 52, after the recorder
        - `name`: Its name in the learner and the key of its state; None for its `callback_name`
        - `monitor`: What callbacks monitor that don't say it themselves, as fastNLP's Trainer has it
        - `larger_better`: Is more of `monitor` better?
        """
    @property
    def own_name(self) -> Any: ...
    @staticmethod
    def marked(f: Any) -> Any: ...
    def _enters(self, flow: Any) -> Any: ...
    def after_create(self) -> Any: ...
    def translated(self, e: Any) -> Any: ...
    def _call(self, name: Any, f: Any, args: Any, kwargs: Any) -> Any: ...
