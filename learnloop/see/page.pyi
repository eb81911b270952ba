# Written by `python -m tools.stubs` from `page.py`: methods that other modules patch on are here, too
"""Text, facts, tables and charts as one HTML file that loads nothing, for reports and comparisons"""

from dataclasses import dataclass
from learnloop.see.chart import Svg
from pathlib import Path
from typing import Any
from typing import NamedTuple

__all__ = ['SORT_SCRIPT', 'Html', 'el', 'Grid', 'Page', 'grids', 'Cell', 'to_number', 'shown', 'Numbers', 'folded', 'page_html', 'PageFile', 'write_page', 'small_chart', 'by_metric']

SORT_SCRIPT: str

class Html(str):
    """Markup, which a notebook shows"""
    def _repr_html_(self) -> Any: ...

def el(tag: str, *children: Any, **attrs: Any) -> Html:
    """Make an element

    - `tag`: Its name
    - `children`: Those that are neither `Html` nor `Svg` are escaped, None is left out
    - `attrs`: A `_` becomes a `-`, and is left out at the end; None is left out
    """

@dataclass
class Grid:
    """A table"""
    caption: str
    head: list
    rows: list
    most: int = ...
    sortable: bool = ...

@dataclass
class Page:
    """What is on a page"""
    title: str
    about: str = ...
    facts: dict = ...
    sections: dict = ...
    script: str = ...
    top: list = ...

def grids(caption: str, head: list, rows: list) -> list:
    """Make a table of rows, if there are any

    - `caption`: Of the table
    - `head`: Titles of its columns
    - `rows`: Each as long as that

    Returns: Of a `Grid`, or of none if there are no rows
    """

class Cell(NamedTuple):
    """A cell of a table: what it says, what it is sorted by (None for that), and a picture before it"""
    text: Any
    value: Any = ...
    mark: Any = ...

def to_number(v: Any) -> float | None:
    """Read `v` as a number

    - `v`: Anything

    Returns: None if it is no number
    """

def shown(v: Any) -> str:
    """Write `v` for people

    - `v`: Anything

    Returns: '' for None
    """

class Numbers(dict):
    """Name of a metric, without `train_` and `valid_` -> the format of its values"""
    def __init__(self, cols: Any=None) -> None:
        """- `cols`: Name of a column -> values"""
    def see(self, cols: dict) -> Any:
        """Choose formats for metrics that weren't seen before

        - `cols`: Name of a column -> values
        """
    def cell(self, name: str, v: Any) -> Any:
        """Write `v` for a table

        - `name`: Of a column
        - `v`: One of its values, whatever that is
        """

def folded(summary: str, *parts: Any) -> Html:
    """Make a part that opens by a click

    - `summary`: What is there to be clicked
    - `parts`: What it opens, as in a section; text in several lines stands as it is
    """

def page_html(page: Page) -> str:
    """Write `page` as HTML

    - `page`: What is on it

    Returns: The whole file
    """

class PageFile(Any):
    """Path of a page, which a notebook shows as a link"""
    def _repr_html_(self) -> Any: ...

def write_page(path: Path, collect: Any, team: Any=None) -> PageFile:
    """Write the page of `collect()` to `path`

    - `path`: Where to; a place that can't be written to is an error before anything is collected
    - `collect`: Called without arguments for the `Page`
    - `peers`: The learner's processes: all of them collect, and one writes
    """

def small_chart(series: dict, title: str, x: str, legend: bool=True) -> Svg:
    """Draw a chart that has its place beside others

    - `series`: As `line_chart` has them
    - `title`: Written above
    - `x`: Name of the horizontal axis
    - `legend`: Which line is which?

    Returns: The picture
    """

def by_metric(names: Any) -> dict:
    """Group columns by what they measure: `train_f1` and `valid_f1` are both `f1`

    - `names`: Of columns

    Returns: Name without `train_` and `valid_` -> the names
    """
