# Written by `python -m tools.stubs` from `fuse.py`: methods that other modules patch on are here, too
"""`learn.fuse()`: forward, loss, backward, clipping and the optimizer's step as one compiled function"""

from learnloop.loop.engine import Engine
from typing import Any

__all__ = ['Region', 'why_unfusable', 'Fuser', 'difference', 'FuseReport']

class Region:
    """How far a graph reaches, given who listens"""
    parts: dict
    name: str
    why: str
    after: Any
    takers: Any
    def __init__(self, learn: Any) -> None:
        """- `learn`: The learner, training"""
    def _shorten(self, event: Any, who: Any, part: Any) -> Any: ...
    def flags(self) -> tuple:
        """Ask who takes part what their parts depend on

        Returns: What graphs depend on, of those who take part
        """
    def later(self, *events: Any) -> Any:
        """Tell whose handlers are to be called when the graph is done

        - `events`: Those that are over
        """

def why_unfusable(learn: Any) -> str:
    """Tell what of `learn` itself a graph can't stand for

    - `learn`: A learner

    Returns: '' if nothing is in the way
    """

class Fuser(Engine):
    """Takes turns of a learner as compiled functions"""
    level: int
    takes: str
    compiles: bool
    learn: Any
    max_shapes: Any
    backend: Any
    cache: Any
    background: Any
    check_every: Any
    options: Any
    eager: Any
    warned: set
    built: list
    ratios: list
    graphs: dict
    watches: list
    watch: Any
    version: Any
    seen: Any
    looks: dict
    last: Any
    region: Any
    never: str
    why: str
    opt: Any
    device: Any
    rule: Any
    is_whole: bool
    skips_turn: bool
    params: list
    looked: Any
    def __init__(self, learn: Any, max_shapes: Any, backend: Any, cache: Any, background: Any, check_every: Any, options: Any) -> None:
        """- `learn`: The learner
        - `max_shapes`: As for `learn.fuse`
        - `backend`: Likewise
        - `cache`: Likewise
        - `background`: Likewise
        - `check_every`: Likewise
        - `options`: For `torch._inductor.config`
        """
    def __getstate__(self) -> Any: ...
    def forget(self) -> Any:
        """Have no graphs"""
    def take(self, learn: Any, what: Any, inner: Any) -> Any: ...
    def _tell(self, why: Any) -> Any:  # scale/fuse.py
        """Warn of `why`, once"""
    def _leave(self, why: Any) -> Any:  # scale/fuse.py
        """Leave the turn to the loop"""
    def run(self) -> bool:  # scale/fuse.py
        """Take the batch, or the turn that is open, if that can be done

        Returns: Was it taken?
        """
    def _look(self) -> Any:  # scale/fuse.py
        """Look around, or at the model, if there is a reason to"""
    def _look_around(self) -> Any:  # scale/fuse.py
        """Note who listens, and what is in the way"""
    def _look_at_model(self) -> Any:  # scale/fuse.py
        """Find the watch that sees the model as it is now, which may have been so before"""
    def _tried(self, f: Any, *args: Any) -> Any:  # scale/fuse.py
        """Call `f`, which calls the model, and see that the model leaves all as it was"""
    def _watched_by(self, watch: Any) -> Any: ...  # scale/fuse.py
    @property
    def _kind(self) -> Any:  # scale/fuse.py
        """The backend that counts"""
    def _graph(self) -> Any:  # scale/fuse.py
        """The graph for the turn that is open; a reason, if there is none"""
    def _setting(self) -> Any:  # scale/fuse.py
        """What a graph depends on beside the batch and the optimizer's numbers"""
    def _flags(self) -> Any:  # scale/fuse.py
        """What decides about the optimizer's operations"""
    def _new_graph(self, key: Any) -> Any:  # scale/fuse.py
        """A graph for `key`, or the reason why there is none"""
    def _take_both_ways(self, graph: Any) -> Any:  # scale/fuse.py
        """Take the open turn in the ordinary way, and see what the graph makes of it"""

class _Graph:
    """A compiled step, for one kind of batch"""
    fuser: Any
    n: int
    doubts: int
    call: Any
    failed: str
    check_at: Any
    pure: Any
    found: Any
    slack: Any
    n_batch: Any
    setting: Any
    flags: Any
    is_flat: Any
    shapes: Any
    n_x: Any
    note: dict
    is_constant: bool
    quick: Any
    kept: Any
    state: Any
    trained: list
    has_state: Any
    strides: list
    written: Any
    def __init__(self, fuser: Any) -> None: ...
    def _make(self, make: Any, gm: Any, args: Any, start: Any) -> Any: ...
    def ready(self) -> Any:
        """It, or the reason why it isn't there"""
    def _is_same(self, learn: Any) -> Any:  # scale/fuse.py
        """Is it for a step like this? Only if that is easy to tell; else a key has to be made"""
    def _mk_quick(self) -> Any:  # scale/fuse.py
        """Make a function that takes the batch at hand, if that is like the last one; None where there is more to it"""
    def _compile(self, gm: Any, args: Any) -> Any: ...  # scale/fuse.py
    def _capture(self, gm: Any, args: Any) -> Any: ...  # scale/fuse.py
    def _note_kept(self) -> Any:  # scale/fuse.py
        """Note the tensors that are kept"""
    def _state_now(self) -> Any: ...  # scale/fuse.py
    def _args(self) -> Any:  # scale/fuse.py
        """What the function is called with"""
    def _take(self, region: Any) -> Any:  # scale/fuse.py
        """Take the open turn of the learner"""
    def _spread(self, outs: Any) -> Any:  # scale/fuse.py
        """Give the learner, and callbacks, what the function returned; the gradients are left"""
    def _tell(self, *events: Any) -> Any:  # scale/fuse.py
        """Have handlers called that waited for the graph"""
    def _go_on(self, grads: Any) -> Any:  # scale/fuse.py
        """Have the phases that follow the forward pass run, with `grads`"""
    def _tried(self, args: Any) -> Any:  # scale/fuse.py
        """What the graph makes of what is kept, and returns; all is put back"""
    def _computed(self, args: Any, rngs: Any, k: Any=1.0) -> Any:  # scale/fuse.py
        """The same by hand, operation by operation, with weights `k` times as large"""
    def _names(self) -> Any:  # scale/fuse.py
        """What is returned, and what is kept, in words"""
    def _judge(self, why: Any) -> Any:  # scale/fuse.py
        """Take note of what a comparison said: `why` the graph is wrong, '' if it isn't"""
    def _fail(self, why: Any) -> Any:  # scale/fuse.py
        """Give it up"""

def difference(name: str, fused: Any, plain: Any, by_hand: Any, scaled: Any, before: Any, slack: float) -> str:
    """Tell how `fused` differs from `plain`

    - `name`: Of the tensor
    - `fused`: As a graph has it
    - `plain`: As the ordinary step has it
    - `by_hand`: As the function has it, operation by operation
    - `scaled`: As it has it from weights that are a little larger
    - `before`: As it was before the step; None if it is new
    - `slack`: Allowed beside what scaling explains, relative to the change

    Returns: '' if they are near enough
    """

class FuseReport:
    """Which steps were fused, which weren't, and why"""
    __repr__: Any
    graphs: list
    eager: dict
    fused: Any
    region: Any
    speedup: Any
    def __init__(self, fuser: Any) -> None:
        """- `fuser`: Of a learner"""
    def __str__(self) -> Any: ...
    def _repr_markdown_(self) -> Any: ...
    def _tables(self) -> Any: ...
