# Written by `python -m tools.stubs` from `core.py`: methods that other modules patch on are here, too
"""What the adapters have in common: a table from foreign hooks to events, and a stand-in for the foreign trainer"""

from learnloop.loop.callback import Callback
from typing import Any

__all__ = ['Hook', 'Facade', 'Adapter', 'system_of', 'HookTable', 'adapters', 'as_cb']

class Hook:
    """A row of an adapter's table: a method of foreign callbacks, and the event in which it is called"""
    name: str
    event: str
    args: Any
    kwargs: Any
    when: Any
    evaluate: bool
    note: str
    def __init__(self, name: str, event: str, args: Any=None, kwargs: Any=None, when: Any=None, evaluate: bool=False, note: str='') -> None:
        """- `name`: The method
        - `event`: The event of ours
        - `args`: Function of the adapter: the positional arguments, as a tuple; None for none
        - `kwargs`: Function of the adapter: the keyword arguments, as a dict
        - `when`: Function of the adapter: is it called this time? None for always
        - `evaluate`: Is it also called in evaluations, as `learn.validate` makes them?
        - `note`: What the table of the docs says of it
        """
    def __repr__(self) -> Any: ...

class Facade:
    """What foreign callbacks find where their own trainer would be: what it doesn't have is an error to read and, if that would change nothing, to set"""
    system: str
    refused: Any
    def __init__(self, learn: Any) -> None:
        """- `learn`: The learner that it stands for"""
    def _has(self) -> Any: ...
    def __getattr__(self, k: Any) -> Any: ...
    def __setattr__(self, k: Any, v: Any) -> Any: ...
    def takes(self, k: Any) -> bool:
        """Whether callbacks may share a new `k`: a slip of the pen, or what the learner has under that name, would be set in vain

        - `k`: Name of an attribute that there isn't
        """

class Adapter(Callback):
    """Runs a callback of another system: calls its methods in the events of `hooks`"""
    system: str
    hooks: Any
    missing: dict
    bases: Any
    prefix: str
    Trainer: Any
    loads_last: bool
    remove_on_fetch: bool
    safe_in_evaluate: bool
    writes: bool
    foreign: Any
    trainer: Any
    name: Any
    _numbered: Any
    order: Any
    def __init__(self, callback: Any, order: Any=None, name: str | None=None) -> None:
        """- `callback`: The foreign callback
        - `order`: Its place among ours; None for the system's
        - `name`: Its name in the learner; None for one made of the system's and its own
        """
    @property
    def default_name(self) -> Any:
        """Made of the system's name and its own"""
    @property
    def own_name(self) -> Any:
        """Under which its state is saved: by default the name of the foreign class, or function"""
    @property
    def label(self) -> Any: ...
    @property
    def group(self) -> Any:
        """The adapters of this system in the learner, in the order in which they run"""
    def _enters(self, flow: Any) -> Any: ...  # interop/core.py
    def hears(self, name: str) -> bool:  # interop/core.py
        """Whether the foreign callback has a `name` of its own

        - `name`: Name of a hook
        """
    def _check(self) -> Any:  # interop/core.py
        """Refuse hooks that can't be called"""
    def translated(self, e: Any) -> Any:  # interop/core.py
        """Translate a foreign exception that steers the loop

        - `e`: What a hook raised
        """
    def call(self, hook: str, *args: Any, **kwargs: Any) -> Any:  # interop/core.py
        """Call the foreign callback's `hook`, if it hears that

        - `hook`: Its name
        - `args`: To the hook
        - `kwargs`: To the hook
        """
    def _call(self, name: Any, f: Any, args: Any, kwargs: Any) -> Any: ...  # interop/core.py
    def handlers(self, event: Any) -> Any: ...  # interop/core.py
    def _kept(self, find: Any, k: Any) -> Any:  # interop/core.py
        """`find(k)`, found anew when callbacks come or go"""
    def _turn(self, event: Any) -> Any:  # interop/core.py
        """What this one does when it is its turn in `event`"""
    def _find_turn(self, event: Any) -> Any: ...  # interop/core.py
    def _caller(self, h: Any) -> Any: ...  # interop/core.py
    def _others(self, _: Any) -> Any: ...  # interop/core.py
    def after_create(self) -> Any: ...  # interop/core.py
    def before_evaluate(self) -> Any:  # interop/core.py
        """Nothing: evaluations are for those whose table says so"""
    def saved_state(self) -> dict | None:  # interop/core.py
        """Ask the foreign callback for its state

        Returns: Plain data and tensors
        """
    def load_saved_state(self, sd: dict) -> Any:  # interop/core.py
        """Give the foreign callback its state back

        - `sd`: What `saved_state` returned
        """
    def state_dict(self) -> Any: ...  # interop/core.py
    def load_state_dict(self, sd: Any) -> Any: ...  # interop/core.py

def system_of(cls: Any) -> Any:
    """The module of the adapter for a class, by the package that the class is from"""

class HookTable:
    """The hooks of an adapter, the events in which they are called, and those that are refused: text, and Markdown in notebooks"""
    head: Any
    rows: Any
    def __init__(self, adapter: Any, base: Any=None) -> None:
        """- `adapter`: A subclass of `Adapter`
        - `base`: Class whose methods show the hooks' signatures
        """
    def __repr__(self) -> Any: ...
    def _repr_markdown_(self) -> Any: ...

def adapters() -> list:
    """Import all adapters

    Returns: Subclasses of `Adapter`
    """

def as_cb(callback: Any, order: Any=None, name: str | None=None, system: str | None=None) -> Callback:
    """Make a callback of a foreign one

    - `callback`: A callback of another system, or a class of them to make one of
    - `order`: Its place among ours; None for the system's
    - `name`: Its name in the learner; None for one made of the system's and its own
    - `system`: `engine`, `fastnlp`, `accelerated`, `fastai`, `lightning`, `transformers` or `keras`; None to go by the type

    Returns: An adapter; of ours, the callback itself
    """
