# Written by `python -m tools.stubs` from `skorch.py`: methods that other modules patch on are here, too
"""Run skorch's callbacks, and yours that were written for skorch, in `learn.fit(cbs=[…])` as they are"""

from learnloop.interop.core import Adapter
from typing import Any

__all__ = ['Skorch']

class Skorch(Adapter):
    """Runs a callback of skorch"""
    system: str
    bases: Any
    hooks: Any
    unfit: Any
    for_first: Any
    order: int
    _taken: Any
    Trainer: Any
    parts: dict
    by_flags: bool
    def before_fit(self) -> Any: ...
    def before_epoch(self) -> Any: ...
    def _enter(self, name: Any) -> Any: ...  # interop/skorch.py
    def before_train(self) -> Any: ...  # interop/skorch.py
    def before_validate(self) -> Any: ...  # interop/skorch.py
    def before_batch(self) -> Any: ...  # interop/skorch.py
    def after_batch(self) -> Any: ...  # interop/skorch.py
    def then_after_batch(self) -> Any: ...  # interop/skorch.py
    def cleanup_train(self) -> Any: ...  # interop/skorch.py
    def then_cleanup_validate(self) -> Any: ...  # interop/skorch.py
    def _leave(self, phase: Any) -> Any: ...  # interop/skorch.py
    def after_epoch(self) -> Any: ...  # interop/skorch.py
    def then_after_epoch(self) -> Any: ...  # interop/skorch.py
    def _share(self) -> Any: ...  # interop/skorch.py
    def before_fetch(self) -> Any: ...  # interop/skorch.py
    def then_cleanup_epoch(self) -> Any: ...  # interop/skorch.py
    def _call(self, name: Any, f: Any, args: Any, kwargs: Any) -> Any: ...  # interop/skorch.py
    def _check_monitor(self) -> Any: ...  # interop/skorch.py
    def after_create(self) -> Any: ...  # interop/skorch.py
    def then_cleanup_fit(self) -> Any: ...  # interop/skorch.py
    def saved_state(self) -> Any: ...  # interop/skorch.py
    def _fitted(self) -> Any: ...  # interop/skorch.py
    def load_saved_state(self, sd: Any) -> Any: ...  # interop/skorch.py
    def _restore(self) -> Any: ...  # interop/skorch.py
    def then_before_fit(self) -> Any:  # interop/skorch.py
        """Have what was loaded once more, after the hooks that forget it"""
    def then_before_epoch(self) -> Any: ...  # interop/skorch.py
