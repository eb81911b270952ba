# Written by `python -m tools.stubs` from `core.py`: methods that other modules patch on are here, too
"""What the adapters have in common: a table from foreign hooks to events, and a stand-in for the foreign trainer"""

from learnloop.loop.callback import Callback
from learnloop.measure.table import Table
from typing import Any

__all__ = ['as_cb', 'Hook', 'done', 'not_failed', 'Facade', 'attr', 'Adapter', 'HookTable', 'system_of', 'adapters', 'names_others', 'sharing', 'public_names', 'Coverage', 'compare_names', 'coverage']

def as_cb(callback: Any, order: Any=None, name: str | None=None, system: str | None=None) -> Callback:
    """Make a callback of a foreign one

    - `callback`: A callback of another system, or a class of them to make one of
    - `order`: Its place among ours; None for the system's
    - `name`: Its name in the learner; None for one made of the system's and its own
    - `system`: Its module, such as `keras`, where the type doesn't tell; None to go by the type

    Returns: An adapter; of ours, the callback itself
    """

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

def done(phase: str) -> Any:
    """Ask whether the last `phase` was done: neither cancelled nor failed

    - `phase`: Of ours
    """

def not_failed(phase: str) -> Any:
    """Ask whether the last `phase` ended in any other way than by an error

    - `phase`: Of ours
    """

class Facade:
    """What foreign callbacks find as their trainer: refuses to read what isn't there, and to set what nobody would heed"""
    system: str
    refused: Any
    _called: str
    def __init__(self, learn: Any, **own: Any) -> None:
        """- `learn`: The learner that it stands for
        - `own`: Attributes that it has besides those of its class
        """
    def _has(self) -> Any: ...
    def _is_own(self, k: Any) -> Any: ...
    def _no_attribute(self, k: Any, why: Any='') -> Any: ...
    def __getattr__(self, k: Any) -> Any: ...
    def __setattr__(self, k: Any, v: Any) -> Any: ...
    def takes(self, k: Any) -> bool:
        """Whether callbacks may share a new `k`: neither a slip of the pen nor a name of the learner's, set in vain

        - `k`: Name of an attribute that there isn't
        """

def attr(path: str, settable: bool=False) -> property:
    """Make a property of a stand-in: what is found at `path`

    - `path`: From the stand-in, with dots, such as `learn.model`
    - `settable`: May callbacks set it, too?
    """

class Adapter(Callback):
    """Runs a callback of another system: calls its methods in the events of `hooks`"""
    system: str
    hooks: Any
    missing: dict
    unfit: dict
    bases: Any
    prefix: str
    Trainer: Any
    parts: dict
    by_flags: bool
    for_first: Any
    remove_on_fetch: bool
    safe_in_evaluate: bool
    writes: bool
    answered: Any
    _found: Any
    foreign: Any
    trainer: Any
    name: str
    _numbered: Any
    order: Any
    rank_invariant: Any
    def __init__(self, callback: Any, order: Any=None, name: str | None=None) -> None:
        """- `callback`: The foreign callback
        - `order`: Its place among ours; None for the system's
        - `name`: Its name in the learner; None for one made of the system's and its own
        """
    @property
    def default_name(self) -> Any:
        """Made of the system's name and its own"""
    @property
    def group(self) -> Any:
        """The adapters of this system in the learner, in the order in which they run"""
    def saved_state(self) -> dict | None:  # interop/core.py
        """Ask the foreign callback for its state

        Returns: Plain data and tensors
        """
    def load_saved_state(self, sd: dict) -> Any:  # interop/core.py
        """Give the foreign callback its state back

        - `sd`: What `saved_state` returned
        """
    def _is_base(self, cls: Any) -> Any: ...  # interop/core.py
    def _overrides(self, name: Any) -> Any:  # interop/core.py
        """Has one of the callback's classes, below the system's base, a `name`?"""
    def hears(self, name: str) -> bool:  # interop/core.py
        """Whether the foreign callback has a `name` of its own

        - `name`: Name of a hook
        """
    def _check_foreign(self) -> Any:  # interop/core.py
        """Refuse classes and hooks that can't run here"""
    def _is_mixed_in(self, name: Any) -> Any:  # interop/core.py
        """Has a class a `name` that the callback derives from beside the system's base?"""
    def _enters(self, flow: Any) -> Any: ...  # interop/core.py
    def after_create(self) -> Any: ...  # interop/core.py
    def before_evaluate(self) -> Any:  # interop/core.py
        """Nothing: evaluations are for those whose table says so"""
    def translated(self, e: Any) -> Any:  # interop/core.py
        """Translate a foreign exception that steers the loop

        - `e`: What a hook raised
        """
    def _call(self, name: Any, f: Any, args: Any, kwargs: Any) -> Any: ...  # interop/core.py
    def _is_due_here(self) -> Any: ...  # interop/core.py
    def call(self, hook: str, *args: Any, **kwargs: Any) -> Any:  # interop/core.py
        """Call the foreign callback's `hook`, if it hears that

        - `hook`: Its name
        - `args`: To the hook
        - `kwargs`: To the hook
        """
    def call_all(self, hook: str, *args: Any, **kwargs: Any) -> Any:  # interop/core.py
        """Call `hook` of all in the group

        - `hook`: Its name
        - `args`: To the hook
        - `kwargs`: To the hook
        """
    def agreed(self, *flags: Any) -> list:  # interop/core.py
        """Find out what callbacks ask for in all processes together

        - `flags`: Of each: is it set in this process?

        Returns: Of each: is it set in any process?
        """
    def handlers(self, event: Any) -> Any: ...  # interop/core.py
    def _turn(self, event: Any) -> Any:  # interop/core.py
        """What this one does when it is its turn in `event`"""
    def _find_turn(self, event: Any) -> Any: ...  # interop/core.py
    def _cached(self, find: Any, key: Any) -> Any:  # interop/core.py
        """`find(key)`, found anew when callbacks have come or gone"""
    def _handler(self, h: Any) -> Any: ...  # interop/core.py
    def _has_mates(self, _: Any) -> Any: ...  # interop/core.py
    def state_dict(self) -> Any: ...  # interop/core.py
    def load_state_dict(self, sd: Any) -> Any: ...  # interop/core.py
    @property
    def foreign_name(self) -> Any: ...
    @property
    def own_name(self) -> Any:
        """Under which its state is saved: the foreign one"""
    @property
    def label(self) -> Any: ...

class HookTable(Table):
    """The hooks of an adapter, their events, and the hooks that are refused: text, and Markdown in notebooks"""
    def __init__(self, adapter: Any, base: Any=None) -> None:
        """- `adapter`: A subclass of `Adapter`
        - `base`: Class whose methods show the hooks' signatures
        """
    def _repr_markdown_(self) -> Any: ...

def system_of(cls: type) -> str | None:
    """Name the system that a class is from, by its package

    Returns: Such as `keras`; None if it is from neither a system nor its module here
    """

def adapters() -> dict:
    """Import all adapters

    Returns: Subclasses of `Adapter`, by the name of the system's module
    """

def names_others(module: str) -> Any:
    """Make the module's `__getattr__`, whose error tells what a name of the system is called here

    - `module`: Name of an adapter's module
    """

def sharing(trainer: Any) -> list:
    """Find the adapters that share `trainer`

    - `trainer`: A stand-in

    Returns: Adapters, in the order in which they run
    """

def public_names(cls: type) -> list:
    """Find the public attributes of `cls`: those that classes of its package define, and those that their methods set

    Returns: Sorted
    """

class Coverage(Table):
    """How many public attributes of a system's classes are there, refused, and neither"""
    parts: dict
    def __init__(self, parts: Any) -> None:
        """- `parts`: Of each class: its name, and lists of the names that are there, that are refused, and that are neither"""
    @property
    def n_neither(self) -> Any: ...

def compare_names(cls: type, ours: Any) -> tuple:
    """Sort the public attributes of `cls` by what they are in `ours`

    - `ours`: An object that stands for an instance of it

    Returns: Three lists of names: there, refused, neither
    """

def coverage(system: str) -> Coverage:
    """Compare stand-ins with the classes of the installed package of `system`

    - `system`: Its module, such as `keras`; its package must be installed
    """
