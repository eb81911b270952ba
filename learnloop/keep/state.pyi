# Written by `python -m tools.stubs` from `state.py`: methods that other modules patch on are here, too
"""What decides how training goes on: captured, compared with what is there, and put back"""

from learnloop.loop.place import Place
from pathlib import Path
from typing import Any

__all__ = ['Checkpointer', 'kind_of_loader', 'check_plain', 'check_weights']

class Checkpointer:
    """Captures the state of a learner's fit, compares it with what is there, and puts it back"""
    learn: Any
    marks: dict
    noted: Any
    held: dict
    had_workers: list
    state_fails: bool
    has_loaded: bool
    asked: Any
    config: Any
    about: Any
    def __init__(self, learn: Any) -> None:
        """- `learn`: The learner whose fits it keeps"""
    def forget(self) -> Any:
        """Have no notes of a fit"""
    def note_workers(self) -> Any:
        """Note whose workers are there, before a pass begins"""
    def by_state(self, dl: Any) -> bool:
        """Tell whether `dl` comes to its place by its own state, and not through its batches

        - `dl`: Loader: any iterable of batches
        """
    def running_workers(self) -> list:
        """Tell which loaders have their persistent workers running

        Returns: Names of loaders
        """
    def shared_dls(self) -> dict:
        """Find what the learner goes through: its loaders, or of each the parts that are for this process

        Returns: Loader, or None, by 'train' and 'valid'
        """
    def capture(self, place: Place, weights: bool=True, shared: bool=False) -> dict:  # keep/state.py
        """Capture the whole state at `place`

        - `place`: Where the fit is
        - `weights`: With the weights and the optimizer's state? What stays in memory needn't have them
        - `shared`: With what each process of the run has for itself? All of them capture at once then

        Returns: Tensors are those in use, not copies
        """
    def put_together(self) -> Any:  # keep/state.py
        """Have callbacks hold what is of all processes, in all of them at once; nothing where they have parted"""
    def _may_differ(self, state: Any) -> Any:  # keep/state.py
        """Select from `state` all that a process may have for itself: not weights, the optimizer and the history"""
    def _gather_own(self, state: Any) -> Any:  # keep/state.py
        """Gather what each process has otherwise than the first, as `ranks`; its gradients are for a file of its own"""
    def _rng_at(self, place: Any) -> Any: ...  # keep/state.py
    def _cb_states(self, place: Any) -> Any: ...  # keep/state.py
    def _loader_state(self, place: Any) -> Any: ...  # keep/state.py
    def _last_batch(self, place: Any) -> Any:  # keep/state.py
        """What proves that a pass comes to `place` by the same batches, and the random numbers that one was made with"""
    def _workers_at(self, place: Any) -> Any:  # keep/state.py
        """Whose workers were there before the pass that is to begin again"""
    def _module_state(self) -> Any:  # keep/state.py
        """What of the model, beside its `state_dict`, decides how it goes on"""
    def _in_sight(self) -> Any:  # keep/state.py
        """What is to be seen of the last epoch and batch, and hyper-parameters as they will be at the end of the fit"""
    def mk_config(self) -> dict:  # keep/state.py
        """Collect what a fit that resumes must have in common with the one that was saved

        Returns: Plain data
        """
    def describe_run(self) -> dict:  # keep/state.py
        """Describe the run, once in a fit

        Returns: Plain data
        """
    def compare(self, old: dict, new: dict, accept: Any, where: Any, facts: Any=...) -> list:  # keep/state.py
        """Refuse differences that aren't accepted

        - `old`: What the state was saved with, as `mk_config` makes it
        - `new`: What there is now
        - `accept`: Names of what may differ; True for all
        - `where`: Where the state is from, for the message
        - `facts`: Descriptions of both runs; empty for a checkpoint that has none

        Returns: Changes that the fit should warn of
        """
    def _check_after(self, loop: Any, file: Any) -> Any:  # keep/state.py
        """Refuse hyper-parameters for the end of the fit that the optimizer does not have"""
    def check(self, origin: Any) -> Any:  # keep/state.py
        """Refuse a state that wouldn't fit this learner, before anything is changed

        - `origin`: What a fit is to go on from
        """
    def _check_rng(self, states: Any, where: Any, at: Any) -> Any: ...  # keep/state.py
    def restore(self, origin: Any) -> Any:  # keep/state.py
        """Have all state as in `origin`

        - `origin`: What the fit goes on from
        """
    def _load_cbs(self, origin: Any, undo: Any, last: Any=False) -> Any: ...  # keep/state.py
    def _restore_modules(self, origin: Any) -> Any: ...  # keep/state.py
    def _restore_length(self, s: Any) -> Any: ...  # keep/state.py
    def restore_end(self, loop: dict) -> Any:  # keep/state.py
        """Have hyper-parameters and length as they are after the fit, if it was over

        - `loop`: Of a state
        """
    def _restore_sight(self, s: Any, whole: Any) -> Any:  # keep/state.py
        """Have modules in their modes, and what was to be seen of the last batch; if `whole`, of the last epoch, too"""
    def load(self, origin: Any, whole: bool) -> Any:  # keep/state.py
        """Fire the `load` phase around putting back the state

        - `origin`: What is to be put back
        - `whole`: What was to be seen of the last epoch, too?
        """

def kind_of_loader(dl: Any) -> str | None:
    """Name what takes up a loader's state

    - `dl`: Loader: any iterable of batches

    Returns: None for what has no state
    """

def check_plain(file: Any, state: dict, step: int) -> Any:
    """Refuse a `state` without its weights that makes no sense in itself

    - `file`: What was read, for the message
    - `state`: What was read
    - `step`: Optimizer steps that the checkpoint is of
    """

def check_weights(folder: Path, state: dict) -> Any:
    """Refuse weights and optimizers that are none

    - `folder`: Of the checkpoint, for the message
    - `state`: With `model` and `opt`
    """
