# Written by `python -m tools.stubs` from `fuse.py`: methods that other modules patch on are here, too
"""`learn.fuse()`: forward, loss, backward, clipping and the optimizer's step as one compiled function"""

from typing import Any

__all__ = ['Region', 'why_unfusable', 'Fuser', 'difference', 'FuseReport']

class Region:
    """How far a graph reaches: `name` is 'whole', 'grads', or '' for nothing; `why` it reaches no further"""
    parts: dict
    name: str
    why: str
    after: Any
    def __init__(self, learn: Any, no_step: Any='') -> None:
        """- `learn`: The learner, in training
        - `no_step`: Why the optimizer's step can't be traced
        """
    def parts_of(self, event: Any) -> list:
        """List what the trace calls in place of the handlers of `event`

        - `event`: Its name

        Returns: Pairs: callback, `InGraph` with a function
        """
    def _shorten(self, event: Any, who: Any, part: Any) -> Any: ...
    def flags(self) -> tuple:
        """Collect what the callbacks' parts depend on

        Returns: What graphs depend on, of those who take part
        """
    def later(self, *events: Any) -> Any:
        """Go through the handlers to call once the graph has run

        - `events`: Their names
        """

def why_unfusable(learn: Any) -> str:
    """Tell which property of the learner rules out compiled steps

    - `learn`: A learner

    Returns: '' if nothing is in the way
    """

class Fuser:
    """Run turns of a learner as compiled functions"""
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
    graphs: list
    refused: dict
    seen: Any
    plans: dict
    no_step: str
    capturable: bool
    last: Any
    args: dict
    version: Any
    opt: Any
    region: Any
    device: Any
    is_whole: bool
    skips_turn: bool
    why: Any
    ids: Any
    values: Any
    facts: Any
    ask_step: Any
    step_facts: Any
    own: Any
    params: list
    no_grads: Any
    states: Any
    counted: list
    numbers: Any
    group_key: Any
    n_handles: Any
    takers: list
    note_to: list
    parts: dict
    plan: Any
    after_forward: Any
    def __init__(self, learn: Any, max_shapes: Any, backend: Any, cache: Any, background: Any, check_every: Any, options: Any) -> None:
        """- `learn`: The learner
        - `max_shapes`: As for `learn.fuse`
        - `backend`: As for `learn.fuse`
        - `cache`: As for `learn.fuse`
        - `background`: As for `learn.fuse`
        - `check_every`: As for `learn.fuse`
        - `options`: For `torch._inductor.config`
        """
    def __getstate__(self) -> Any: ...
    def __setstate__(self, state: Any) -> Any: ...
    def forget(self) -> Any:
        """Drop all compiled steps"""
    def _tell(self, why: Any) -> Any:  # scale/fuse.py
        """Warn of `why`, once"""
    def _leave(self, why: Any) -> Any:  # scale/fuse.py
        """Leave the turn to the loop"""
    def run(self) -> bool:  # scale/fuse.py
        """Run the batch, or the open turn, as a compiled step if possible

        Returns: Has the fuser run it?
        """
    def _run_graph(self, graph: Any) -> Any: ...  # scale/fuse.py
    def _look_around(self) -> Any:  # scale/fuse.py
        """Note which callbacks take part, and what rules out compiled steps"""
    def _look_at_region(self) -> Any:  # scale/fuse.py
        """Find how far a compiled step reaches"""
    @property
    def _kind(self) -> Any:  # scale/fuse.py
        """The backend in use"""
    def _gather(self) -> str:  # scale/fuse.py
        """Collect the arguments of a compiled step in `args`

        Returns: Why there can't be a compiled step; '' if nothing is in the way
        """
    def _take_params(self, ids: Any) -> Any:  # scale/fuse.py
        """Note the parameters and the state of the optimizer"""
    def _recount(self) -> Any: ...  # scale/fuse.py
    def _take_numbers(self, now: Any) -> Any:  # scale/fuse.py
        """Note the settings of the optimizer's groups"""
    def _why_hooked(self) -> Any:  # scale/fuse.py
        """Which hooks torch's guards don't see; asked only after somebody has registered a hook somewhere"""
    def _take_plan(self, facts: Any) -> Any:  # scale/fuse.py
        """Find the plan of a step for `facts`, or make it"""
    def _new_plan(self, named: Any, is_cast: Any, pattern: Any) -> Any: ...  # scale/fuse.py
    def _find(self) -> Any:  # scale/fuse.py
        """The graph whose guards hold for this step, or a new one; a reason, if there can't be one"""
    def _why_no_more(self, key: Any) -> Any:  # scale/fuse.py
        """Why there is no other graph for `key`"""
    def _take(self, graph: Any, outs: Any) -> Any:  # scale/fuse.py
        """Give the learner what the compiled step returned, and run what follows"""
    def _call_late(self, *events: Any) -> Any:  # scale/fuse.py
        """Call the handlers that waited for the graph"""
    def _go_on(self, grads: Any) -> Any:  # scale/fuse.py
        """Run the phases that follow the forward pass, with `grads`"""
    def _take_both_ways(self, graph: Any) -> Any:  # scale/fuse.py
        """Run the open turn in the ordinary way, and compare the compiled step with it"""
    def _ordinary(self) -> Any:  # scale/fuse.py
        """Make the open turn in the ordinary way; return its loss, and its gradients, if these are where the graph ends"""
    def _names(self) -> dict:  # scale/fuse.py
        """Name the tensors of the model, the loss function and the optimizer's state

        Returns: By `id`
        """

class _Graph:
    """A compiled step, for batches of one kind"""
    fuser: Any
    key: Any
    plan: Any
    n: int
    doubts: int
    failed: str
    check_at: Any
    step: Any
    start: Any
    note: dict
    def __init__(self, fuser: Any, key: Any) -> None: ...
    def fits(self, fuser: Any) -> Any:
        """Is it valid for the step that the fuser has gathered?"""
    def ready(self) -> Any:
        """It, or the reason why it isn't there"""
    def outs(self, args: Any, trial: Any=None) -> Any:
        """What the step returns for `args`; `trial` runs the library in its own way"""
    def _compiled(self, args: Any, trial: Any) -> Any: ...
    def _refuse(self, e: Any) -> Any:  # scale/fuse.py
        """Note why the step can't be compiled, and raise what is to become of it"""
    def _make(self, library: Any, gm: Any, args: Any) -> Any:  # scale/fuse.py
        """Compile the graph `gm` for `library`, perhaps in a thread"""
    def _build(self, library: Any, gm: Any, args: Any) -> Any: ...  # scale/fuse.py
    def _library_of(self, gm: Any, args: Any) -> Any: ...  # scale/fuse.py
    def _judge(self, why: Any) -> Any:  # scale/fuse.py
        """Keep the graph, compare it again, or give it up: `why` it is wrong, '' if it isn't"""
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
