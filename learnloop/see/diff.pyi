# Written by `python -m tools.stubs` from `diff.py`: methods that other modules patch on are here, too
"""The first step in which two runs differ, and what differs first within it"""

from typing import Any

__all__ = ['RunDiff', 'diff_runs']

class RunDiff:
    """Where two runs differ, in words when printed"""
    files: Any
    tol: float
    step: Any
    kind: str
    tensor: Any
    early: bool
    settings: Any
    _shares: Any
    pair: Any
    found: Any
    parted: Any
    n_equal: int
    _limit: Any
    edited: str
    distances: Any
    yard: Any
    def __init__(self, a: Any, b: Any, tol: float=0.0, yardstick: Any=None) -> None:
        """- `a`: A `FingerprintFile`
        - `b`: Another one
        - `tol`: As for `diff_runs`
        - `yardstick`: Likewise, read
        """
    def _other_models(self) -> Any:  # see/diff.py
        """Are the first tensors that the runs have details of others?"""
    def _find(self) -> Any:  # see/diff.py
        """Find the first step that differs"""
    def _kinds(self, pair: Any, parted: Any) -> Any:  # see/diff.py
        """As `_causes`; what may be as far apart as it is doesn't count"""
    def _refuse(self) -> Any: ...  # see/diff.py
    def _find_tensor(self) -> Any:  # see/diff.py
        """Find the tensor that was changed, or the first that differs in the next detail that both have"""
    @property
    def reordered(self) -> bool:  # see/diff.py
        """Are the batches of the epoch the same, in another order?"""
    def _ended(self) -> Any:  # see/diff.py
        """How the batch ended early in one of the runs, if what it didn't come to is what differs"""
    def _what(self) -> Any:  # see/diff.py
        """What happened in the step, in words"""
    def _hints(self) -> Any:  # see/diff.py
        """What else is known of the step"""
    def lines(self) -> list:  # see/diff.py
        """Say where the runs differ

        Returns: Sentences
        """
    def _damages(self) -> Any: ...  # see/diff.py
    def _table(self, most: Any=20) -> Any: ...  # see/diff.py
    def __str__(self) -> Any: ...  # see/diff.py
    def _repr_markdown_(self) -> Any: ...  # see/diff.py
    def to_dict(self) -> dict:  # see/diff.py
        """Return the first difference of the two runs

        Returns: Plain data
        """
    def curve(self, kind: str='loss') -> Any:  # see/diff.py
        """Draw how far apart the runs are, step by step, with the yardstick, if there is one

        - `kind`: Of number: 'loss', 'gradients' or 'weights'
        """
    @property
    def equal(self) -> Any:
        """Is there no difference in the steps that both have?"""

def diff_runs(a: Any, b: Any, tol: float=0.0, yardstick: Any=None) -> RunDiff:
    """Find the first step in which two runs differ, and what differs first within it

    - `a`: Folder of a run that was fitted with a `Fingerprint`, or its file
    - `b`: Another one
    - `tol`: Relative difference of loss and norms that counts as equal; 0 for not a bit
    - `yardstick`: Folder of a run like `a`, from weights times `1+1e-7`: what rounding comes to is allowed for

    Returns: Says it when printed; has `step`, `kind`, `tensor`, `settings`
    """
