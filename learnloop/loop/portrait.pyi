# Written by `python -m tools.stubs` from `portrait.py`: methods that other modules patch on are here, too
"""What a learner shows when it is printed: model, loss, optimizer, data, callbacks, and how far it is"""

from typing import Any

__all__ = ['portrait', 'as_table']

def portrait(learn: Any, lr: Any=None) -> dict:
    """Tell what `learn` is made of, and how far it is

    - `learn`: The learner, made or half-made
    - `lr`: The learning rate that it was given, if one was

    Returns: Texts by name, of what can be told
    """

def as_table(head: str, told: dict) -> str:
    """Write `told` as a table of two columns

    - `head`: What stands above the names
    - `told`: Texts by name

    Returns: Markdown
    """
