# Written by `python -m tools.stubs` from `transformers.py`: methods that other modules patch on are here, too
"""Callbacks that were written for transformers' `Trainer` run as they are"""

from enum import StrEnum
from learnloop.interop.core import Adapter
from learnloop.interop.core import Facade
from learnloop.interop.core import Hook
from typing import Any

__all__ = ['IntervalStrategy', 'SaveStrategy', 'TrainingArguments', 'TrainerState', 'ExportableState', 'TrainerControl', 'TrainerCallback', 'Transformers']

class IntervalStrategy(StrEnum):
    """When to log or to evaluate: a string, as well"""
    NO = 'no'
    STEPS = 'steps'
    EPOCH = 'epoch'

class SaveStrategy(StrEnum):
    """When to save: a string, as well"""
    NO = 'no'
    STEPS = 'steps'
    EPOCH = 'epoch'
    BEST = 'best'

class TrainingArguments(Facade):
    """What hooks find as `args`; one that isn't here is an error to read"""
    system: str
    refused: Any
    def __init__(self, learn: Any, output_dir: Any=None, eval_strategy: Any=None, eval_steps: Any=None, eval_delay: Any=0, logging_strategy: Any='epoch', logging_steps: Any=500, logging_first_step: Any=False, save_strategy: Any=None, save_steps: Any=500, load_best_model_at_end: Any=False, metric_for_best_model: Any='loss', greater_is_better: Any=None, run_name: Any=None, project: Any='huggingface') -> None:
        """- `learn`: The learner
        - `output_dir`: Folder for what `should_save` saves; None for the learner's `path/model_dir`
        - `eval_strategy`: Evaluate by 'epoch', by 'steps', or 'no'; None: 'epoch' if there is a loader for it
        - `eval_steps`: Steps between evaluations, or their share of all if below 1; None for `logging_steps`
        - `eval_delay`: Epochs, or steps, before the first evaluation
        - `logging_strategy`: Log by 'epoch', by 'steps', or 'no'
        - `logging_steps`: Steps between logs, or their share of all if below 1
        - `logging_first_step`: Log the first step, too?
        - `save_strategy`: By 'epoch', by 'steps', at the 'best', or 'no'; None: 'best' to load that, else 'no'
        - `save_steps`: Steps between saves, or their share of all if below 1
        - `load_best_model_at_end`: Load the best weights at the end of the fit?
        - `metric_for_best_model`: Metric that tells which model is best, with `eval_` before its name or without
        - `greater_is_better`: Is more of it better? None for what the metric declares; not of a loss
        - `run_name`: Name of the run, for callbacks that log
        - `project`: Name of the project, for callbacks that log
        """
    def takes(self, k: Any) -> Any: ...
    def __setattr__(self, k: Any, v: Any) -> Any: ...  # interop/transformers.py
    def to_dict(self) -> dict:  # interop/transformers.py
        """Put all arguments into a dict of plain values

        Returns: Values by name, as far as they are known
        """
    def to_json_string(self) -> str:  # interop/transformers.py
        """Write all arguments as JSON"""
    def to_sanitized_dict(self) -> dict:  # interop/transformers.py
        """Put all arguments into a dict, with strings for what is no number

        Returns: Numbers, truth values and strings
        """
    def __repr__(self) -> Any: ...  # interop/transformers.py
    @property
    def do_eval(self) -> Any: ...
    @property
    def learning_rate(self) -> Any: ...
    @property
    def weight_decay(self) -> Any: ...
    @property
    def adam_beta1(self) -> Any: ...
    @property
    def adam_beta2(self) -> Any: ...
    @property
    def adam_epsilon(self) -> Any: ...
    @property
    def num_train_epochs(self) -> Any: ...
    @property
    def max_steps(self) -> Any: ...
    @property
    def per_device_train_batch_size(self) -> Any: ...
    @property
    def per_device_eval_batch_size(self) -> Any: ...
    @property
    def gradient_accumulation_steps(self) -> Any: ...
    @property
    def max_grad_norm(self) -> Any: ...
    @property
    def mixed_precision(self) -> Any: ...
    @property
    def fp16(self) -> Any: ...
    @property
    def bf16(self) -> Any: ...
    @property
    def train_batch_size(self) -> Any: ...
    @property
    def eval_batch_size(self) -> Any: ...
    @property
    def activation_checkpointing(self) -> Any: ...
    @property
    def gradient_checkpointing(self) -> Any: ...
    @property
    def disable_tqdm(self) -> Any: ...
    @property
    def use_cpu(self) -> Any: ...
    @property
    def device(self) -> Any: ...
    @property
    def n_gpu(self) -> Any: ...
    @property
    def dataloader_drop_last(self) -> Any: ...
    @property
    def dataloader_num_workers(self) -> Any: ...
    @property
    def dataloader_pin_memory(self) -> Any: ...
    @property
    def dataloader_persistent_workers(self) -> Any: ...
    @property
    def world_size(self) -> Any: ...
    @property
    def process_index(self) -> Any: ...
    @property
    def local_process_index(self) -> Any: ...
    @property
    def local_rank(self) -> Any: ...
    @property
    def should_log(self) -> Any: ...
    @property
    def should_save(self) -> Any: ...
    @property
    def auto_find_batch_size(self) -> Any: ...
    @property
    def enable_jit_checkpoint(self) -> Any: ...
    @property
    def eval_on_start(self) -> Any: ...
    @property
    def hub_always_push(self) -> Any: ...
    @property
    def log_on_each_node(self) -> Any: ...
    @property
    def logging_nan_inf_filter(self) -> Any: ...
    @property
    def push_to_hub(self) -> Any: ...
    @property
    def remove_unused_columns(self) -> Any: ...
    @property
    def save_on_each_node(self) -> Any: ...
    @property
    def save_only_model(self) -> Any: ...
    @property
    def use_liger_kernel(self) -> Any: ...
    @property
    def deepspeed(self) -> Any: ...
    @property
    def deepspeed_plugin(self) -> Any: ...
    @property
    def hub_model_id(self) -> Any: ...
    @property
    def hub_private_repo(self) -> Any: ...
    @property
    def hub_revision(self) -> Any: ...
    @property
    def hub_token(self) -> Any: ...
    @property
    def liger_kernel_config(self) -> Any: ...
    @property
    def neftune_noise_alpha(self) -> Any: ...
    @property
    def save_total_limit(self) -> Any: ...
    @property
    def tf32(self) -> Any: ...
    @property
    def torch_empty_cache_steps(self) -> Any: ...
    @property
    def trackio_bucket_id(self) -> Any: ...
    @property
    def trackio_space_id(self) -> Any: ...
    @property
    def trackio_static_space_id(self) -> Any: ...
    @property
    def include_num_input_tokens_seen(self) -> Any: ...
    @property
    def restore_callback_states_from_checkpoint(self) -> Any: ...
    @property
    def skip_memory_metrics(self) -> Any: ...
    @property
    def debug(self) -> Any: ...
    @property
    def report_to(self) -> Any: ...

class TrainerState(Facade):
    """How far training is"""
    system: str
    refused: dict
    def __init__(self, learn: Any=None) -> None:
        """- `learn`: The learner"""
    def takes(self, k: Any) -> Any:
        """- `k`: these are the control's"""
    def _begin(self) -> Any: ...
    @property
    def stateful_callbacks(self) -> dict:  # interop/transformers.py
        """What the callbacks of the learner, and the control, tell as their state

        Returns: By the name of the class; a list, if there are several of one
        """
    def save_to_json(self, json_path: str) -> Any:  # interop/transformers.py
        """Write the state to a file, as JSON

        - `json_path`: The file
        """

class ExportableState:
    """Base of callbacks whose state is saved: what their `state` returns"""
    def state(self) -> dict:
        """Return the state

        Returns: With `args` of the constructor, and `attributes`
        """
    @classmethod
    def from_state(cls, state: dict) -> Any:
        """Make one with that state

        - `state`: What `state` returned
        """

class TrainerControl(Facade, ExportableState):
    """What callbacks ask for"""
    system: str
    def __init__(self, should_training_stop: bool=False, should_epoch_stop: bool=False, should_save: bool=False, should_evaluate: bool=False, should_log: bool=False) -> None:
        """- `should_training_stop`: End the fit? Looked at after each batch, and after each epoch
        - `should_epoch_stop`: End the epoch? Looked at after each batch
        - `should_save`: Save? Looked at after each step, and after each epoch, as the others are
        - `should_evaluate`: Evaluate?
        - `should_log`: Log?
        """
    def state(self) -> Any: ...
    def __repr__(self) -> Any: ...

class TrainerCallback:
    """Base of callbacks for transformers' Trainer: hooks that do nothing"""
    on_init_end: Any
    on_train_begin: Any
    on_train_end: Any
    on_epoch_begin: Any
    on_epoch_end: Any
    on_step_begin: Any
    on_pre_optimizer_step: Any
    on_optimizer_step: Any
    on_substep_end: Any
    on_step_end: Any
    on_evaluate: Any
    on_save: Any
    on_log: Any
    on_prediction_step: Any
    on_push_begin: Any
    def on_predict(self, args: Any, state: Any, control: Any, metrics: Any, **kwargs: Any) -> Any:
        """Called after predictions outside of a fit

        - `args`: `TrainingArguments`
        - `state`: `TrainerState`
        - `control`: `TrainerControl`
        - `metrics`: Loss, if there are targets, and times
        - `kwargs`: As for the others
        """

class _State(Adapter):
    _given: Any
    def saved_state(self) -> Any: ...
    def load_saved_state(self, sd: Any) -> Any: ...
    def state_dict(self) -> Any: ...
    def load_state_dict(self, sd: Any) -> Any: ...

class Transformers(_State):
    """Runs callbacks of transformers' Trainer"""
    order: int
    system: str
    bases: Any
    Trainer: Any
    by_flags: bool
    missing: dict
    unfit: dict
    parts: dict
    remove_on_fetch: Any
    hooks: Any
    options: Any
    def __init__(self, callback: Any, order: Any=None, name: str | None=None, processing_class: Any=None, **args: Any) -> None:
        """- `callback`: The foreign callback
        - `order`: Its place among ours; None for after the schedulers and trackers
        - `name`: Its name in the learner; None for one made of `transformers` and its own
        - `processing_class`: What hooks are given under that name: a tokenizer, say
        - `args`: As for `TrainingArguments`; what is given to one callback holds for all of a fit
        """
    def after_create(self) -> Any: ...  # interop/transformers.py
    def _configure(self) -> Any:  # interop/transformers.py
        """Put together what the callbacks of the learner were given as arguments"""
    def _check_args(self) -> Any:  # interop/transformers.py
        """Refuse arguments that don't go with each other, or with the learner"""
    def _plan(self, n_iter: Any=None) -> Any:  # interop/transformers.py
        """Find out how many steps there will be"""
    def answered(self, hook: Hook, result: Any) -> Any:  # interop/transformers.py
        """Take the control that a hook returned

        - `hook`: The hook that was called
        - `result`: What it returned
        """
    def _tell(self, name: Any, **kwargs: Any) -> Any: ...  # interop/transformers.py
    def _log(self, logs: Any) -> Any: ...  # interop/transformers.py
    def before_fit(self) -> Any: ...  # interop/transformers.py
    def before_epoch(self) -> Any: ...  # interop/transformers.py
    def before_train(self) -> Any: ...  # interop/transformers.py
    def before_fetch(self) -> Any: ...  # interop/transformers.py
    def before_batch(self) -> Any: ...  # interop/transformers.py
    def _share(self) -> Any:  # interop/transformers.py
        """Have what is asked for in one process be asked for in all"""
    def _no_step(self) -> Any: ...  # interop/transformers.py
    def after_batch(self) -> Any: ...  # interop/transformers.py
    def then_after_batch(self) -> Any: ...  # interop/transformers.py
    def _count(self) -> Any: ...  # interop/transformers.py
    def _step_flow(self) -> Any:  # interop/transformers.py
        """Ask for what is due by steps"""
    def _epoch_flow(self) -> Any:  # interop/transformers.py
        """Ask for what is due by epochs"""
    def _act(self) -> Any:  # interop/transformers.py
        """Do what was asked for in a step"""
    def _sum_losses(self) -> Any:  # interop/transformers.py
        """The sum of the losses of the steps since the last time"""
    def _log_train(self) -> Any: ...  # interop/transformers.py
    def _kind(self) -> Any:  # interop/transformers.py
        """Of an 'epoch', asked for in a 'step', 'outside' of a fit, or to 'predict'; None if not for foreign callbacks"""
    def _evaluate(self) -> Any: ...  # interop/transformers.py
    def before_validate(self) -> Any: ...  # interop/transformers.py
    def after_validate(self) -> Any: ...  # interop/transformers.py
    def then_after_validate(self) -> Any: ...  # interop/transformers.py
    def _file(self, n: Any) -> Any: ...  # interop/transformers.py
    def _save(self) -> Any: ...  # interop/transformers.py
    def _is_saved(self) -> Any: ...  # interop/transformers.py
    def after_save(self) -> Any: ...  # interop/transformers.py
    def _late_step(self) -> Any:  # interop/transformers.py
        """End a step that was taken after the last batch, or in one whose end was cancelled"""
    def _end_epoch(self) -> Any:  # interop/transformers.py
        """Do what comes before `on_epoch_end`"""
    def after_train(self) -> Any: ...  # interop/transformers.py
    def then_after_train(self) -> Any: ...  # interop/transformers.py
    def cleanup_epoch(self) -> Any: ...  # interop/transformers.py
    def then_cleanup_epoch(self) -> Any: ...  # interop/transformers.py
    def after_fit(self) -> Any: ...  # interop/transformers.py
    def then_cleanup_fit(self) -> Any: ...  # interop/transformers.py
    def before_evaluate(self) -> Any: ...  # interop/transformers.py
    def cleanup_evaluate(self) -> Any: ...  # interop/transformers.py
    def _take_up(self, sd: Any) -> Any: ...  # interop/transformers.py
