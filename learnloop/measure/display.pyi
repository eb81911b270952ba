# Written by `python -m tools.stubs` from `display.py`: methods that other modules patch on are here, too
"""What showing a run takes: durations as people write them, plots in one style, one process that speaks"""

from contextlib import contextmanager
from typing import Any

__all__ = ['PALETTE', 'format_time', 'human_time', 'is_main_process', 'told_error', 'error_line', 'pyplot', 'plot_style', 'draws', 'settle_axes', 'draw_legend']

PALETTE: tuple

def format_time(s: float) -> str:
    """Write a duration of `s` seconds

    - `s`: Seconds

    Returns: `mm:ss`, or `h:mm:ss`
    """

def human_time(s: float | None) -> str:
    """Write a duration of `s` seconds in units that fit it

    - `s`: Seconds; None for unknown

    Returns: With three digits below a minute, and with two units at most above
    """

def is_main_process() -> bool:
    """Is this the only process, or the first of several?"""

def told_error(e: BaseException) -> dict:
    """Write down what there is to say of `e`

    - `e`: What was raised

    Returns: `kind`, `message`, `notes`, a list, and `traceback`: text
    """

def error_line(e: BaseException) -> str:
    """Write down in a line what `e` is, without the name of whoever's home it was in

    - `e`: What was raised

    Returns: At most 300 letters
    """

def pyplot() -> Any:
    """Import `matplotlib.pyplot`, and load its backend"""

@contextmanager
def plot_style(ink: str='#7f7f7f', **rc: Any) -> Any:
    """Draw with matplotlib as learnloop's own plots are drawn; what you have set in `rcParams` stays as it is

    - `ink`: Of text, axes and grid; `'black'` for what is to be printed
    - `rc`: More of matplotlib's `rcParams`
    """

def draws(f: Any) -> Any:
    """Have `f` draw in our style, unless it is given axes, which have theirs; notebooks print nothing of what it returns

    - `f`: Function that draws, and returns axes, or a list of them; on `ax`, if it is given that
    """

def settle_axes(ax: Any) -> None:
    """Have whole numbers across, and of lines that are all at one level the value alone upward

    - `ax`: Axes with lines
    """

def draw_legend(ax: Any) -> None:
    """Show which line is which; raise the upper limit of `ax` if the legend would cover a line

    - `ax`: Axes with lines that have labels
    """
