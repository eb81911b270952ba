# Written by `python -m tools.stubs` from `resume.py`: methods that other modules patch on are here, too
"""A fit begins where another one stopped: from a folder, in the same process, or in the batch that failed"""

from contextlib import contextmanager
from learnloop.keep.state import Checkpointer
from learnloop.keep.storage import Checkpoint
from learnloop.loop.engine import Engine
from typing import Any

__all__ = ['Origin', 'read_origin', 'FitKeeper', 'overrides']

class Origin:
    """What a fit goes on from"""
    state: dict
    where: Any
    args: Any
    of: Any
    batch: Any
    how: str
    hypers: dict
    accept: bool
    options: dict
    changes: Any
    before: dict
    there: Any
    def __init__(self, state: dict, where: Any, args: Any=None, of: Any=None, batch: Any=None) -> None:
        """- `state`: As `Checkpointer.capture` makes it
        - `where`: Where it is from, for messages: the folder of a checkpoint, or some words
        - `args`: Arguments of the fit that was interrupted; None for a checkpoint
        - `of`: The model and the optimizer that it is of, if they are still there
        - `batch`: The batch that is next, if its loader gives each once
        """
    def __repr__(self) -> Any: ...
    @property
    def place(self) -> Any:
        """Where the fit goes on"""

def read_origin(c: Checkpoint) -> Origin:
    """Read all of the checkpoint `c`

    - `c`: One that was verified
    """

class FitKeeper(Checkpointer, Engine):
    """Starts fits where others stopped, notes what resuming needs, and saves or ends them between two batches"""
    level: int
    saves_fits: bool
    signals: Any
    savers: list
    no_place: dict
    why_not: str
    origin: Any
    args: dict
    ask: Any
    keeps: Any
    kept: Any
    n_passes: int
    tried: list
    agreed: int
    asked: Any
    config: Any
    about: Any
    marks: dict
    held: dict
    def __init__(self, learn: Any) -> None:
        """- `learn`: The learner whose fits it keeps"""
    def _checkpoint_cbs(self) -> Any: ...
    def listen(self, name: str) -> Any:
        """Handle one more signal, if any is handled

        - `name`: Of a signal
        """
    def rest(self, learn: Any, next: Any, inner: Any) -> Any: ...
    def batches(self, learn: Any, p: Any, inner: Any) -> Any: ...
    @contextmanager
    def running(self, learn: Any, what: Any) -> Any: ...
    @contextmanager
    def _signalled(self, is_fit: Any) -> Any:
        """Handle signals, unless that is done already, or is not for this thread to do"""
    def between(self) -> Any:  # keep/resume.py
        """Save what is due, and act on signals"""
    def _agree(self) -> Any:  # keep/resume.py
        """What is to be done between these two batches in all processes, as one of them got a signal, or by its clock"""
    def _agree_at_end(self) -> Any:  # keep/resume.py
        """Have signals that came after the last batch be those of all processes"""
    def enter(self, given: Any) -> Any:  # keep/resume.py
        """Check what the fit is to resume, and give it the callbacks that this takes

        - `given`: `learn.fit_args`: what the fit was given
        """
    def start(self, learn: Any, inner: Any) -> Any: ...  # keep/resume.py
    def _pick(self, resume: Any) -> Any:  # keep/resume.py
        """Find the folder that `resume` names, the checkpoint to resume from, or None, and the names of all that are there"""
    def _try_loaders(self) -> Any:  # keep/resume.py
        """Warn of loaders whose batches a resumed fit would not see, and find out whether the state of the loader is exact"""
    def _find(self, resume: Any, accept: Any) -> Any:  # keep/resume.py
        """What to go on from in the folder or the `Origin` `resume`, or None"""
    def _other_options(self, s: Any) -> Any:  # keep/resume.py
        """Options of the optimizer that aren't those of the saved run: values of the groups, by name"""
    def same_for_all(self, find: Any, folder: Any) -> Checkpoint | None:  # keep/resume.py
        """Call `find` in the first process, and have the checkpoint that it finds in all of them

        - `find`: Function of `folder` that returns a `Checkpoint`, or None
        - `folder`: Of a run, or of a checkpoint, or a `Checkpoint`

        Returns: None if it found none
        """
    def take_own(self, origin: Origin) -> Any:  # keep/resume.py
        """Put into the state of `origin` what this process had for itself or, with another number of them, what all had

        - `origin`: As it was read
        """
    def _take_of_others(self, origin: Any, ranks: Any) -> Any:  # keep/resume.py
        """Make one state for all processes of what another number of them had"""
    def _why_inexact(self, ranks: Any, rngs: Any) -> Any:  # keep/resume.py
        """Tell what another number of processes can't have as it was"""
    def _other_numbers(self, states: Any) -> Any:  # keep/resume.py
        """Random `states` for this process, made of those of the first; generators of loaders are as in that"""
    def _take_for_same(self, origin: Any) -> Any:  # keep/resume.py
        """Compare no optimizers where `origin` was switched to what the learner has already"""
    def at(self, where: Any) -> Any: ...  # keep/resume.py
    def _has_no_validation(self) -> Any: ...  # keep/resume.py
    def arrive(self) -> Any:  # keep/resume.py
        """Put the state back for good: the fit goes on from here"""
    def begin_pass(self) -> Origin | None:  # keep/resume.py
        """Hear that a pass of training begins

        Returns: What the fit goes on from in this pass
        """
    def rewind(self) -> Any:  # keep/resume.py
        """Set the random numbers that the pass began with, the first time"""
    def is_whole(self) -> bool:  # keep/resume.py
        """Whether the fit is at a place that it can resume from"""
    def in_own_validation(self) -> bool:  # keep/resume.py
        """Whether the fit is in its own validation, which a resumed fit starts again: a callback may evaluate in it"""
    def can_save(self) -> bool:  # keep/resume.py
        """Whether the state is one to be saved: of a fit at such a place, or of a learner at rest"""
    def why_no_place(self) -> str:  # keep/resume.py
        """Tell why there is no going on from where the training is

        Returns: '' if there is one
        """
    def _check_overrides(self, wants: Any) -> Any:  # keep/resume.py
        """Say at the start what a fit that `wants` to go on can't have"""
    def _keep_state(self) -> Any:  # keep/resume.py
        """Copy the whole state here"""
    def _pause(self) -> Any:  # keep/resume.py
        """Keep what it takes to go on from where the fit is now"""
    def _why_lost(self) -> Any:  # keep/resume.py
        """Why the batch that is being made, if one is, can't be made again; '' if it can"""
    @property
    def resuming(self) -> Any:
        """Is the fit on its way to the place that it goes on from?"""
    @property
    def saves_on_error(self) -> Any:
        """Is there a checkpoint after an error?"""

def overrides(learn: Any, name: str) -> list:
    """Find what stands for `Learner`'s method `name` in `learn`

    - `learn`: A learner
    - `name`: Of a method

    Returns: Functions, the one that is called first in front
    """
