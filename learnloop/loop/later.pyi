# Written by `python -m tools.stubs` from `later.py`: methods that other modules patch on are here, too
"""Methods that are there before the module that has them is imported"""

from typing import Any

__all__ = ['bring', 'Later', 'knows_patches']

def bring(module: str) -> Any:
    """Import `module`, whose methods take their places; one that somebody has replaced stays so

    - `module`: Its path, such as `learnloop.train.lr_find`
    """

class Later:
    """In place of a method or property that `module` patches onto `cls`: asked for, it has the module imported"""
    cls: Any
    name: str
    module: str
    def __init__(self, cls: Any, name: str, module: str) -> None:
        """- `name`: Of the method
        - `module`: Its path, such as `learnloop.train.lr_find`
        """
    def __get__(self, o: Any, cls: Any=None) -> Any: ...
    def __set__(self, o: Any, v: Any) -> Any: ...

def knows_patches(cls: Any) -> Any:
    """Have `cls` know the methods that modules patch onto it which are imported later: a decorator"""
