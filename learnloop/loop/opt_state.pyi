# Written by `python -m tools.stubs` from `opt_state.py`: methods that other modules patch on are here, too
"""Snapshots of a learner's optimizer, to compare with and to restore"""

from typing import Any

__all__ = ['OptState', 'release_opt', 'opt_for_resume']

class OptState:
    """A snapshot of the optimizer of a learner"""
    learn: Any
    whole: bool
    opts: Any
    held: Any
    trains: dict
    _learner: dict
    _groups: list
    _states: list
    _cbs: list
    def __init__(self, learn: Any, whole: bool=True) -> None:
        """- `learn`: The learner
        - `whole`: Keep the optimizer and its state, too? Else `restore` makes a new one if it was replaced
        """
    @property
    def groups(self) -> list:
        """The settings of each group, as they were"""
    def changed(self) -> bool:
        """Whether the learner has another optimizer now, or one that holds other parameters"""
    def restore(self, frozen: bool=True) -> Any:
        """Put everything back

        - `frozen`: Freeze and unfreeze parameters as they were, too?
        """
    def _put_groups(self, is_kept: Any) -> Any: ...  # loop/opt_state.py
    def _put_states(self) -> Any: ...  # loop/opt_state.py

def release_opt(learn: Any) -> Any:
    """Drop the references to the optimizer, which is about to be replaced; note how the first one was made

    - `learn`: The learner
    """

def opt_for_resume(learn: Any, resume: Any) -> Any:
    """Restore the optimizer of the start of the last fit, if that fit failed and `resume` continues it

    - `learn`: The learner
    - `resume`: As for `fit`
    """
