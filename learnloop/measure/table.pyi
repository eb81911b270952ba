# Written by `python -m tools.stubs` from `table.py`: methods that other modules patch on are here, too
"""Rows of text: columns that line up in print, Markdown in notebooks"""

from typing import Any

__all__ = ['Table']

class Table:
    """Rows of text, the first of them the head: columns in print, Markdown in notebooks"""
    __repr__: Any
    rows: list
    sides: Any
    def __init__(self, rows: Any, sides: str='') -> None:
        """- `rows`: Lists of cells, as long as the head; cells are shown by `str`, and None is an empty one
        - `sides`: `<` or `>` for each column; '' for numbers on the right, all else on the left
        """
    def _columns(self) -> Any: ...
    def __str__(self) -> Any: ...
    def _repr_markdown_(self) -> Any: ...
