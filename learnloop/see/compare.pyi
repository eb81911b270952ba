# Written by `python -m tools.stubs` from `compare.py`: methods that other modules patch on are here, too
"""Several runs on one page: curves over each other, what differs in their settings, what came of it, and what it cost"""

from learnloop.see.page import Page
from learnloop.see.page import PageFile
from typing import Any

__all__ = ['compare', 'Comparison']

def compare(pattern: Any='runs', by: str | None=None, title: str | None=None, better: str | None=None) -> Comparison:
    """Lay runs beside each other

    - `pattern`: A folder of runs; a pattern such as `'runs/lr-*'`, each match a run; a list of them
    - `by`: The metric that tells which is best; None for `valid_loss`, or what there is
    - `title`: Heading; None for how many there are
    - `better`: Which value of `by` is better: 'less' or 'more'; None for what the runs have noted

    Returns: Shows itself in notebooks; `save` it elsewhere
    """

class Comparison:
    """Several runs, side by side: a page in notebooks, a table in print"""
    runs: Any
    title: Any
    def __init__(self, found: Any, title: str | None=None) -> None:
        """- `found`: `Runs`
        - `title`: Heading; None for how many there are
        """
    def __repr__(self) -> Any: ...
    def _repr_html_(self) -> Any: ...
    def save(self, path: Any='compare.html') -> PageFile:
        """Write the page to a file

        - `path`: Where to

        Returns: Notebooks show a link to it
        """
    def differing(self) -> dict:  # see/compare.py
        """Collect the settings that aren't the same in all runs

        Returns: Name -> the values, one for each run, None where it has none
        """
    def _settings(self, most: Any=5) -> Any: ...  # see/compare.py
    def _curves(self) -> Any: ...  # see/compare.py
    def _names(self) -> Any: ...  # see/compare.py
    def _overview(self) -> Any: ...  # see/compare.py
    def _numbers(self) -> Any: ...  # see/compare.py
    def _metric_names(self) -> Any: ...  # see/compare.py
    @property
    def by(self) -> Any:  # see/compare.py
        """The metric that tells which run is best: `valid_loss`, unless another one was named, or there is none"""
    def _metrics(self) -> Any: ...  # see/compare.py
    def _groups(self) -> Any: ...  # see/compare.py
    def best(self) -> tuple:  # see/compare.py
        """Find the best run; an error if nothing declares which value is better, or if runs contradict each other

        Returns: The run and its value; None twice if no run has one
        """
    def _direction(self) -> Any: ...  # see/compare.py
    def _best(self) -> Any: ...  # see/compare.py
    def _costs(self) -> Any: ...  # see/compare.py
    def page(self) -> Page:  # see/compare.py
        """Make the page"""
