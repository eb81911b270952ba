# Written by `python -m tools.stubs` from `help.py`: methods that other modules patch on are here, too
"""`help(learn.fit)` and `learn.fit?` show what each parameter means"""

from typing import Any

__all__ = ['ParamDoc', 'show_params']

class ParamDoc(str):
    """A docstring that is shown with the comments on the parameters of `of`"""
    def __new__(cls, text: str, of: Any) -> Any:
        """- `text`: The docstring
        - `of`: The function or class
        """
    def expandtabs(self, *args: Any) -> Any: ...

def show_params() -> None:
    """Let the docstrings of all modules of the package that are imported show comments on parameters"""
