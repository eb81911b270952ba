# Written by `python -m tools.stubs` from `several.py`: methods that other modules patch on are here, too
"""One batch of each loader at a time, or batches of each by turns; a fit that is resumed goes on with the same ones"""

from typing import Any

__all__ = ['Feed', 'Several', 'Zip', 'Alternate']

class Feed:
    """The batches of `dl`, pass after pass, and its place in them"""
    again_by: Any
    end: Any
    dl: Any
    epoch: int | None
    by_state: Any
    batches: Any
    n_pass: int
    n: int
    total: int
    is_over: bool
    last: Any
    has_drawn: bool
    warm: Any
    rngs: list
    def __init__(self, dl: Any, epoch: int | None=None) -> None:
        """- `dl`: Loader: any iterable of batches
        - `epoch`: Its number, for samplers that go by it; None: they are told nothing
        """
    def begin(self) -> Any:
        """Begin a pass"""
    def take(self) -> Any:
        """Take the next batch of this pass"""
    def _tell(self) -> Any: ...
    def place(self, own: bool=True) -> dict:  # data/several.py
        """Tell where it is

        - `own`: With the state that the loader has of itself, if it is to go by that?

        Returns: Plain data and tensors
        """
    def go_to(self, place: dict) -> Any:  # data/several.py
        """Come to the `place`

        - `place`: What `place` returned
        """

class Several:
    """Loaders that are gone through together: what `Zip` and `Alternate` have in common"""
    is_several: bool
    resumes_exactly: bool
    tells_source: bool
    _ref: Any
    _next: Any
    epoch: int
    is_named: Any
    stopped_by: Any
    parts: Any
    stop: Any
    def __init__(self, loaders: Any, stop: Any=None) -> None:
        """- `loaders`: A tuple of loaders, or a dict
        - `stop`: When a pass is over: 'shortest', 'longest', or the name or number of the loader that decides
        """
    def __iter__(self) -> Any: ...
    def __bool__(self) -> Any: ...
    def __getstate__(self) -> Any: ...
    def __repr__(self) -> Any: ...
    def _check_stop(self, stop: Any) -> Any:  # data/several.py
        """The name of the loader that decides, 'shortest', 'longest' or None"""
    def __copy__(self) -> Any: ...  # data/several.py
    def in_order(self) -> Any:  # data/several.py
        """Have each loader go through its data in order and completely"""
    def set_epoch(self, epoch: int) -> Any:  # data/several.py
        """Have the next pass be that of `epoch`

        - `epoch`: Number, from 0
        """
    def state_dict(self) -> dict:  # data/several.py
        """Return the place in each loader

        Returns: Plain data and tensors
        """
    def load_state_dict(self, sd: dict) -> Any:  # data/several.py
        """Have the next pass begin at the place in `sd`

        - `sd`: What `state_dict` returned
        """
    def facts(self) -> dict:  # data/several.py
        """Tell what a run that goes on must have in common with the one before

        Returns: Plain data, by loader
        """
    def why_empty(self) -> str:  # data/several.py
        """Say why there was no batch

        Returns: A sentence without a full stop
        """
    @property
    def _iterator(self) -> Any:
        """The pass that is going on, if one is"""
    @_iterator.setter
    def _iterator(self, v: Any) -> None: ...
    @property
    def num_workers(self) -> Any:
        """Of all its loaders"""
    @property
    def persistent_workers(self) -> Any:
        """Do workers of any persist?"""

class _Together:
    """A pass through several loaders"""
    of: Any
    source: Any
    is_making: bool
    before: dict
    feeds: dict
    def __init__(self, of: Any, state: Any=None) -> None: ...
    def __iter__(self) -> Any: ...
    def __next__(self) -> Any: ...
    def state_dict(self) -> Any: ...
    def _take(self, nm: Any) -> Any: ...  # data/several.py
    def _over(self, nm: Any) -> Any: ...  # data/several.py
    def _anew(self, nm: Any) -> Any:  # data/several.py
        """Begin the loader `nm` anew, unless that ends the pass: the first batch"""
    @property
    def takes_from(self) -> Any: ...

class Zip(Several):
    """A batch of each loader at a time: a tuple, or a dict by the loaders' names"""
    passes: Any
    n_inps: Any
    def __init__(self, *loaders: Any, stop: Any='shortest', n_inp: Any=None, **named: Any) -> None:
        """- `loaders`: Any iterables of batches
        - `stop`: 'shortest', 'longest', or the name or number of the one that decides; others begin anew
        - `n_inp`: Inputs in the batch of each: a number, a list, or a dict by name; None: all but the last element
        - `named`: Loaders by name, instead
        """
    def _in_turn(self) -> Any:  # data/several.py
        """Names of loaders, in the order in which they are asked"""
    def first_turns(self) -> list:  # data/several.py
        """List the loaders in the order in which they are asked first

        Returns: Names
        """
    def __len__(self) -> Any: ...  # data/several.py
    @property
    def source(self) -> Any:  # data/several.py
        """Where each of the last batches is from: a tuple, or a dict by name; None where no loader says so"""

class Alternate(Several):
    """Batches of the loaders in turns; `learn.source` is the name of the one that a batch is of"""
    passes: Any
    weights: Any
    def __init__(self, *loaders: Any, stop: Any=None, weights: Any=None, **named: Any) -> None:
        """- `loaders`: Any iterables of batches, named by their numbers
        - `stop`: When a pass is over: None: when all are through; else as for `Zip`
        - `weights`: Batches of each for those of others: numbers by name, or a list, or 'lengths'; None: as many
        - `named`: Loaders by name, instead
        """
    def first_turns(self) -> list:
        """List the loaders in the order in which they are asked first

        Returns: Names
        """
    def __len__(self) -> Any: ...
    @property
    def source(self) -> Any:
        """Name of the loader that the last batch is of; `a/b` if that is one of several, too"""
    def _until(self, nm: Any, n: Any) -> Any:  # data/several.py
        """Batches that come before the loader `nm`, of length `n`, is found to be through"""
