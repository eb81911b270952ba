# Written by `python -m tools.stubs` from `checks.py`: methods that other modules patch on are here, too
"""Messages that help: what was given, what the rule is, what may have been meant"""

from contextlib import contextmanager
from pathlib import Path
from typing import Any

__all__ = ['elsewhere', 'did_you_mean', 'called_here', 'note_on', 'safely', 'NoAttribute', 'fold_frames', 'no_name', 'checked_args', 'check_whole', 'is_checkpoint', 'check_place', 'say', 'is_interactive', 'replaced', 'restored']

elsewhere: list

def did_you_mean(name: str, known: Any) -> str:
    """Suggest the nearest of `known` for a misspelt `name`, for the end of an error message

    - `name`: What was given
    - `known`: The names that there are

    Returns: `'; did you mean …?'`, or `''` if nothing is near
    """

def called_here(kind: str, name: str, of: str='') -> str:
    """Tell what a `name` of another system is called here, for the end of an error message

    - `kind`: 'event', 'argument', 'attribute' or 'class'
    - `name`: What was given
    - `of`: Of an argument: the function

    Returns: `'; it is …'`, or `''` if no other system has the name
    """

def note_on(e: BaseException, text: str) -> Any:
    """Add the note `text` to the error `e`, once, if it takes notes

    - `e`: An error
    - `text`: The note
    """

def safely(f: Any, *args: Any) -> str:
    """Make a text that is said of an error: if that fails, nothing is said

    - `f`: Function that returns text
    - `args`: To it

    Returns: What it returned; '' if it fails
    """

class NoAttribute(AttributeError):
    """An attribute is missing; what helps is found out when this is shown"""
    advice: Any
    def __init__(self, text: Any, advice: Any=None) -> None:
        """- `text`: What is missing
        - `advice`: Function that returns the end of the message
        """
    def __str__(self) -> Any: ...
    def __reduce__(self) -> Any: ...

def fold_frames(e: BaseException, tb: Any) -> Any:
    """Hide this package's frames in the tracebacks of `e` and its causes that IPython and pytest show

    - `e`: An error that leaves a method of the learner
    - `tb`: Its traceback below the frame that is running, whose variables would refer to it
    """

def no_name(module: Any, name: str, advice: Any=None) -> Exception:
    """Make the error that a module's `__getattr__` raises

    - `module`: The module
    - `name`: What it lacks
    - `advice`: Function that returns the end of the message

    Returns: An `ImportError`, or a `NoAttribute`
    """

def checked_args(f: Any=None, to: Any=(), **own: Any) -> Any:
    """Have `f` tell what an argument is called here that it doesn't take: a decorator, with or without arguments

    - `f`: A function
    - `to`: Functions that its `**kwargs` go to
    - `own`: Arguments of those that `f` sets itself -> what to give it instead
    """

def check_whole(what: str, v: Any, low: int=1) -> int:
    """Refuse what is no whole number from `low` on

    - `what`: Name of the argument, for the message
    - `v`: Its value
    - `low`: The least that it may be

    Returns: `v`
    """

def is_checkpoint(path: Path) -> bool:
    """Whether `path` is a checkpoint: by the name that it is written with, or, after a renaming, by the files in it

    - `path`: A folder, which need not exist
    """

def check_place(what: str, v: Any, must: str='the folder of a run', kind: str='folder', new: bool=False) -> Path:
    """Refuse a value that is no path, or that is a file in place of a folder, or the other way round

    - `what`: Name of the argument, for the message
    - `v`: Its value
    - `must`: What it must be, in words
    - `kind`: 'folder', 'file', or 'path', of which only the type is checked
    - `new`: May it be missing, as it will be written?

    Returns: With the home folder in place of `~`
    """

def say(s: Any) -> Any:
    """Print `s` now, in a log file, too; whoever read it may be gone, which ends no training

    - `s`: Text
    """

def is_interactive() -> bool:
    """Tell whether this is a notebook or a prompt, which shows the value of a line by itself"""

@contextmanager
def replaced(o: Any, k: str, v: Any) -> Any:
    """Have `o.k` be `v` inside a `with` block, and as it was after it

    - `o`: Any object
    - `k`: Name of an attribute, which it may lack
    - `v`: Its value meanwhile
    """

@contextmanager
def restored(o: Any, names: Any) -> Any:
    """Restore the attributes `names` of `o` at the end of a `with` block

    - `o`: Any object
    - `names`: Of attributes that it has
    """
