# Written by `python -m tools.stubs` from `settings.py`: methods that other modules patch on are here, too
"""What a run reads from `settings.ini`, over the defaults that the code gives it"""

from fastcore.basics import AttrDict
from typing import Any

__all__ = ['run_settings']

def run_settings(section: str, /, **defaults: Any) -> AttrDict:
    """Read `section` of the nearest `settings.ini`, in the current folder or above it, over `defaults`

    - `section`: What runs, and its section of the file: 'demo', 'bench', 'tests'
    - `defaults`: All keys of the section, each with its default: a bool, int, float, str or Path

    Returns: `defaults`, with the values of the file in place of its own
    """
