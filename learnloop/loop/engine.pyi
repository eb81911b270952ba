# Written by `python -m tools.stubs` from `engine.py`: methods that other modules patch on are here, too
"""An engine runs parts of the loop in its own way: it resumes, fetches ahead, synchronises processes, or compiles a turn"""

from contextlib import contextmanager
from typing import Any

__all__ = ['Engine', 'Stack']

class Engine:
    """One way to run the loop; a hook that a subclass overrides gets what is inside, `inner`, and may call it"""
    level: int
    around: str
    takes: str
    saves_fits: bool
    compiles: bool
    @contextmanager
    def running(self, learn: Any, what: str) -> Any:
        """Enclose a fit or an evaluation, outside its events: open and close what it needs

        - `learn`: The learner
        - `what`: 'fit' or 'evaluate'
        """
    def start(self, learn: Any, inner: Any) -> Any:
        """Return where the fit starts, before any of its events

        - `learn`: The learner
        - `inner`: Call `inner(learn)` for the place of the next engine
        """
    def batches(self, learn: Any, p: Any, inner: Any) -> Any:
        """Return the batches of a pass

        - `learn`: The learner
        - `p`: The `Pass` that begins, after `before_train` or `before_validate`
        - `inner`: Call `inner(learn, p)` for the batches of the next engine
        """
    def rest(self, learn: Any, next: str, inner: Any) -> Any:
        """Act at a place where no batch is held and the state is whole

        - `learn`: The learner
        - `next`: What comes next: 'fit' (its body), 'epoch', 'validate', 'batch', 'fetch'
        - `inner`: Call `inner(learn, next)`
        """
    def body(self, learn: Any, phase: str, f: Any) -> Any:
        """Run the body of a phase

        - `learn`: The learner
        - `phase`: One of `around`
        - `f`: The body, a function without arguments
        """
    def take(self, learn: Any, what: str, inner: Any) -> bool:
        """Run a whole pass, batch or turn in place of the loop, if it can

        - `learn`: The learner
        - `what`: One of `takes`
        - `inner`: Call `inner(learn, what)` to let the next engine try

        Returns: Did it?
        """
    def ended(self, learn: Any, phase: Any, e: Any, inner: Any) -> Any:
        """Return what acts in place of an exception

        - `learn`: The learner
        - `phase`: The innermost open `Phase`
        - `e`: What was raised in it, a cancel or an error
        - `inner`: Call `inner(learn, phase, e)`
        """

class Stack:
    """Engines, each hook composed to one function, the outermost first; None for a hook that no engine overrides"""
    engines: Any
    start: Any
    batches: Any
    rest: Any
    ended: Any
    takes: dict
    bodies: dict
    def __init__(self, engines: Any=(), phases: Any=()) -> None:
        """- `engines`: Any order
        - `phases`: Names of all phases
        """
    def _with(self, hook: Any) -> Any: ...
    def _chain(self, hook: Any, what: Any=None) -> Any: ...
    def is_around(self, names: Any, but: Any=()) -> bool:
        """Tell whether an engine runs around one of these phases

        - `names`: Of phases
        - `but`: Engines that don't count
        """
    @contextmanager
    def running(self, learn: Any, what: str) -> Any:
        """Enclose a fit or an evaluation in all engines

        - `learn`: The learner
        - `what`: 'fit' or 'evaluate'
        """
