# Written by `python -m tools.stubs` from `ignite.py`: methods that other modules patch on are here, too
"""ignite's handlers run on engines that the learner drives"""

from learnloop.interop.core import Adapter
from typing import Any

__all__ = ['Ignite']

class Ignite(Adapter):
    """Runs ignite's handlers: those that are attached to its `trainer` and its `evaluator`"""
    system: str
    order: int
    hooks: Any
    prefix: Any
    by_flags: bool
    bases: Any
    missing: dict
    parts: dict
    trainer: Any
    evaluator: Any
    _settings: Any
    output_transform: Any
    val_output_transform: Any
    engines: list
    _asked: bool
    _ran: bool
    _is_worn: bool
    _modes: Any
    _grads: dict
    _since: dict
    _taken: dict
    _known: Any
    _first: int
    def __init__(self, trainer: Any=None, order: Any=None, name: str | None=None, output_transform: Any=None, val_output_transform: Any=None, metrics: dict | None=None) -> None:
        """- `trainer`: An ignite `Engine` whose handlers are to run; None to make one
        - `order`: Its place among ours; None for 52, behind the recorder
        - `name`: Its name in the learner; None for `ignite`
        - `output_transform`: Makes the trainer's output of x, y, y_pred and loss; None for ignite's: the loss
        - `val_output_transform`: The evaluator's of x, y and y_pred; None for ignite's: the pair of y_pred and y
        - `metrics`: Metrics of ignite, by name, for the evaluator
        """
    @property
    def engine(self) -> Any:
        """The engine at work: the innermost; None in what isn't announced"""
    def hears(self, name: Any) -> Any:
        """- `name`: events are told by the methods below, one by one"""
    def _check_foreign(self) -> Any:
        """Nothing: an engine has no hooks of its own"""
    def _fire(self, name: Any, *args: Any, **kwargs: Any) -> Any:  # interop/ignite.py
        """Call the handlers of an event of the engine at work"""
    def after_create(self) -> Any:  # interop/ignite.py
        """Nothing: it has its engines"""
    def _begin(self, engine: Any, dl: Any, length: Any, **limits: Any) -> Any:  # interop/ignite.py
        """Begin a run of `engine`"""
    def _complete(self, name: Any) -> Any: ...  # interop/ignite.py
    def _heed(self, together: Any=False) -> Any:  # interop/ignite.py
        """Stop as handlers have asked for: of several processes, in all of them, in places to which all of them come"""
    def before_fit(self) -> Any: ...  # interop/ignite.py
    def before_epoch(self) -> Any: ...  # interop/ignite.py
    def before_train(self) -> Any: ...  # interop/ignite.py
    def after_train(self) -> Any: ...  # interop/ignite.py
    def then_cleanup_epoch(self) -> Any: ...  # interop/ignite.py
    def after_fit(self) -> Any: ...  # interop/ignite.py
    def cleanup_fit(self) -> Any: ...  # interop/ignite.py
    def _note_place(self) -> Any: ...  # interop/ignite.py
    def after_exception(self) -> Any: ...  # interop/ignite.py
    def before_fetch(self) -> Any: ...  # interop/ignite.py
    def after_fetch(self) -> Any: ...  # interop/ignite.py
    def before_batch(self) -> Any: ...  # interop/ignite.py
    def after_batch(self) -> Any: ...  # interop/ignite.py
    def before_zero_grad(self) -> Any: ...  # interop/ignite.py
    def _is_mine(self) -> Any:  # interop/ignite.py
        """Is the validation that begins a run of the evaluator?"""
    def before_validate(self) -> Any: ...  # interop/ignite.py
    def after_validate(self) -> Any: ...  # interop/ignite.py
    def cleanup_validate(self) -> Any: ...  # interop/ignite.py
    def evaluate(self, dl: Any=None) -> Any:  # interop/ignite.py
        """Validate on `dl` as a run of the evaluator, which its `run` does

        - `dl`: Loader; None for that of validation
        """
    def _check_step(self) -> Any:  # interop/ignite.py
        """Refuse a trainer whose step does what the learner doesn't"""
    def _check_trained(self) -> Any:  # interop/ignite.py
        """Refuse a trainer, or handlers, made for something else than the learner trains"""
    def _with_state(self) -> Any:  # interop/ignite.py
        """Handlers by class and number"""
    def saved_state(self) -> Any: ...  # interop/ignite.py
    def load_saved_state(self, sd: Any) -> Any: ...  # interop/ignite.py
    def _check_place(self, length: Any) -> Any:  # interop/ignite.py
        """Refuse a fit that begins elsewhere than the state says that a script has loaded into the trainer"""
    @property
    def own_name(self) -> Any: ...
    @property
    def foreign_name(self) -> Any: ...
    @property
    def default_name(self) -> Any: ...
    @property
    def label(self) -> Any: ...
    @property
    def group(self) -> Any:
        """Each has its own engines"""
