# Written by `python -m tools.stubs` from `last_line.py`: methods that other modules patch on are here, too
"""Ctrl-C ends a script with one line that says what was saved, and how to continue"""

from typing import Any

__all__ = ['is_script', 'last_line', 'end_in_a_line']

def is_script() -> bool:
    """Tell whether the main program is a user's script, after which no prompt follows"""

def last_line(learn: Any) -> str:
    """Tell where the fit was interrupted, what was saved, and how to continue

    - `learn`: The learner whose fit was interrupted
    """

def end_in_a_line(e: KeyboardInterrupt, learn: Any) -> Any:
    """Show `e` as one line if it ends a script

    - `e`: What ends the fit
    - `learn`: The learner
    """
