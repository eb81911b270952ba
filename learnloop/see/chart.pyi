# Written by `python -m tools.stubs` from `chart.py`: methods that other modules patch on are here, too
"""Line charts and timelines as SVG: legible in light and dark, read out, and made without a plotting package"""

from typing import Any

__all__ = ['Svg', 'line_chart', 'timeline_chart', 'escape_text', 'line_sample']

class Svg(str):
    """The text of a picture, which a notebook shows"""
    def _repr_html_(self) -> Any: ...

def line_chart(series: dict, title: str='', x: str='', y: str='', log: bool=False, width: int=640, height: int=260, legend: bool=True) -> Svg:
    """Draw `series` as lines, long ones by their extremes

    - `series`: Name -> pair of xs and ys; values that are None, NaN or infinite are left out
    - `title`: Written above
    - `x`: Name of the horizontal axis
    - `y`: Name of the vertical axis; '' for that of a single series, unless that is the title
    - `log`: Logarithmic vertical axis? Values of 0 and less are left out
    - `width`: Units of the drawing, in which letters are 12 high; it shrinks to fit where it is shown
    - `height`: Of the whole, in the same units
    - `legend`: Which line is which, if there are several? See `line_sample`

    Returns: The picture
    """

def timeline_chart(lanes: Any, title: str='', unit: str='ms', width: int=640) -> Svg:
    """Draw when each of `lanes` was at work

    - `lanes`: Pairs of a name and a list of (start, length, label), times in seconds
    - `title`: Written above
    - `unit`: Of the axis: `s`, `ms` or `µs`
    - `width`: Units of the drawing, in which letters are 12 high; the height follows from the number of lanes

    Returns: The picture
    """

def escape_text(s: Any) -> str:
    """Write `s` so that it is no markup, in HTML and XML, in attributes too

    - `s`: Anything; `str` of it is written
    """

def line_sample(i: int) -> Svg:
    """Draw a sample of the line `i`

    - `i`: Number of the line in its chart, from 0

    Returns: Small, and silent for screen readers
    """
