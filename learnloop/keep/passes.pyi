# Written by `python -m tools.stubs` from `passes.py`: methods that other modules patch on are here, too
"""Passes that begin in the middle: how a fit that goes on comes to the batch that is next, with the same random numbers"""

from typing import Any

__all__ = ['random_states', 'set_random_states', 'try_loader', 'parts_of', 'KeptPass', 'copy_batch', 'being_made']

def random_states(learn: Any) -> dict:
    """Read the states of all generators that training draws from

    - `learn`: A learner

    Returns: By the name of the generator
    """

def set_random_states(learn: Any, states: dict) -> Any:
    """Have the generators in `states` as they were

    - `learn`: A learner
    - `states`: By the name of the generator
    """

def try_loader(dl: Any, epoch: int=0) -> tuple:
    """Try on copies of `dl` whether a fit that resumes would see the same batches

    - `dl`: Loader: any iterable of batches
    - `epoch`: The epoch that its `set_epoch` gets

    Returns: Whether its state leads back to a place, None if that is unknown; and the fault, '' if there is none
    """

def parts_of(dl: Any) -> list:
    """List the loaders that `dl` goes through

    - `dl`: Loader: any iterable of batches

    Returns: `dl` itself, if it is no `Zip` or `Alternate`
    """

class KeptPass:
    """What resuming needs of a pass: it begins where the fit resumes, with the random numbers of its first beginning"""
    p: Any
    keeper: Any
    last: Any
    def __init__(self, p: Any, keeper: Any) -> None:
        """- `p`: The `Pass`
        - `keeper`: The engine that saves and resumes the fit
        """
    def begin(self, inner: Any) -> Any:
        """Return the batches from where the fit resumes

        - `inner`: Function that returns the batches of the engines inside
        """
    def _go_on(self, origin: Any, dl: Any) -> Any:  # keep/passes.py
        """Come to the batch that is next, and have all state as it was there"""
    def _careful(self, batches: Any) -> Any:  # keep/passes.py
        """`batches`, made with care; None where no code that may draw random numbers makes them in this process"""
    def _sampled(self, batches: Any, careful: Any) -> Any:  # keep/passes.py
        """The batches of the pass, a few values of which are noted"""

def copy_batch(b: Any) -> Any:
    """Copy the tensors of `b`

    - `b`: A batch: tensors in any nesting
    """

def being_made(p: Any) -> Any:
    """Find what makes the batch that is being made

    - `p`: A `Pass`, or None
    """
