# Written by `python -m tools.stubs` from `describe.py`: methods that other modules patch on are here, too
"""Arguments, attributes and code of an object, as plain data that is the same in each process"""

from typing import Any

__all__ = ['code_digest', 'constructor_args', 'described']

def code_digest(o: Any) -> str | None:
    """Hash the code of `o`: of a class, all its methods and those of its bases

    - `o`: A function, a method or a class

    Returns: 8 hexadecimal digits; None for code that has a version, or that isn't in Python
    """

def constructor_args(cls: Any) -> dict:
    """Read the arguments of the constructor of `cls`

    Returns: Name -> default; empty for a constructor in C
    """

class _Describing:
    """Describes an object and what it holds"""
    elsewhere: Any
    left: Any
    def __init__(self, elsewhere: Any=(), n: Any=1000) -> None: ...
    def of(self, o: Any, depth: Any, steady: Any=False) -> Any:
        """Describe `o`; if `steady`, without numbers and texts that may differ in each process"""
    def all_of(self, o: Any, depth: Any, steady: Any=False) -> Any: ...
    def _object(self, o: Any, depth: Any) -> Any:  # measure/describe.py
        """The name of a function or of the class of an object; a dict with it as `class`, if there is more to say"""
    def _held(self, o: Any) -> Any:  # measure/describe.py
        """Attributes of `o` that code depends on: of a module or a callback, its constants; of other objects, all"""

def described(o: Any, depth: int=5, elsewhere: Any=()) -> Any:
    """Describe `o` as plain data, the same in each process that makes it in the same way

    - `o`: Anything
    - `depth`: Levels of containers and objects that are described; below them, only the type is
    - `elsewhere`: Objects of which only the type is described
    """
