# Written by `python -m tools.stubs` from `agree.py`: methods that other modules patch on are here, too
"""What one process of a run cancels, all cancel, and no two of them wait for each other at different places"""

from learnloop.loop.team import SingleProcess
from typing import Any

__all__ = ['POINTS', 'points_needed', 'TeamEngine']

POINTS: dict

def points_needed(learn: Any) -> dict:
    """Find where processes have to meet in a batch, as a callback may have cancelled something before

    - `learn`: A learner

    Returns: Of a point, the callbacks and events that make it needed, by `POINTS`
    """

class TeamEngine(SingleProcess):
    """Speaks for the other processes of a run: meets them, and does what was agreed"""
    broken: Any
    shards: Any
    spreads: Any
    team: Any
    engine: Any
    per_process: bool
    rank: Any
    world: Any
    is_first: Any
    points: set
    passed: int
    in_forward: bool
    met_forward: bool
    unsynced: dict
    shares: dict
    sizes: list
    flag: Any
    wanted: int
    heard: int
    apart: int
    since: int
    looked_at: float
    defer_sync: bool
    def __init__(self, learn: Any, team: Any, engine: Any, per_process: bool=False) -> None:
        """- `learn`: The learner that asks
        - `team`: The processes
        - `engine`: What exchanges gradients
        - `per_process`: Is the size of a loader's batch that of one process?
        """
    def __getstate__(self) -> Any: ...
    def _take_bodies(self) -> Any: ...
    def failed(self, e: Any) -> Any: ...
    def first(self, f: Any, *args: Any) -> Any: ...
    def from_first(self, o: Any) -> Any: ...
    def gather(self, o: Any) -> Any: ...
    def write_shards(self, folder: Any, tensors: dict) -> dict:
        """Write what this process has of `tensors` in `folder`

        - `folder`: New folder, the same for all processes
        - `tensors`: By name

        Returns: Size and hash, by name of a file
        """
    def run(self, f: Any, *args: Any, **kwargs: Any) -> Any:  # scale/agree.py
        """Run `f`, the body of the innermost phase, and meet the others there

        - `f`: Function
        - `args`: To `f`
        - `kwargs`: To `f`
        """
    def _enter(self, name: Any) -> Any: ...  # scale/agree.py
    def _finish(self, name: Any) -> Any: ...  # scale/agree.py
    def _begin_pass(self, name: Any) -> Any:  # scale/agree.py
        """Agree on where to meet in each batch"""
    def _is_due(self, point: Any) -> Any:  # scale/agree.py
        """Do all meet at `point` of this turn?"""
    def _is_again(self, point: Any) -> Any:  # scale/agree.py
        """Is `point` one of a turn that went backward before? Then what may be cancelled since then is missed here"""
    def _begin_turn(self) -> Any: ...  # scale/agree.py
    def _begin_again(self) -> Any:  # scale/agree.py
        """The model may be called once more: in a part of the batch, at other weights, in a line search"""
    def forward(self) -> Any:  # scale/agree.py
        """Meet before the model is called, if something is exchanged there"""
    def aside(self) -> Any: ...  # scale/agree.py
    def tell(self, e: Any) -> Any: ...  # scale/agree.py
    def _misses(self, name: Any) -> Any:  # scale/agree.py
        """Do others wait where this process won't come, as it skips the rest of the phase `name`?"""
    def _check_known(self, e: Any, name: Any) -> Any:  # scale/agree.py
        """Refuse a cancel that the others can't hear of"""
    def agree(self, rows: list, mine: str='') -> Any:  # scale/agree.py
        """Raise the outermost of what was cancelled, unless it was raised here

        - `rows`: Of a meeting, in which somebody cancels something
        - `mine`: The phase that this process cancels
        """
    def share(self, dl: Any, training: Any) -> Any: ...  # scale/agree.py
    def _forget_loaders(self) -> Any:  # scale/agree.py
        """Keep what is taken of the learner's own loaders, whose workers may go on"""
    def _count(self, b: Any) -> Any: ...  # scale/agree.py
    def count_items(self, i: Any) -> Any: ...  # scale/agree.py
    def _fetch(self, f: Any, *args: Any, **kwargs: Any) -> Any:  # scale/agree.py
        """Fetch a batch, in all processes or in none"""
    def _weigh(self) -> Any:  # scale/agree.py
        """Have processes count by their items, as gradients are averaged over processes"""
    def sync_grads(self) -> Any: ...  # scale/agree.py
    def _note_unsynced(self) -> Any:  # scale/agree.py
        """Note which gradients of this turn were not exchanged"""
    def restored(self, exchange: Any) -> Any: ...  # scale/agree.py
    def again(self) -> Any: ...  # scale/agree.py
    def most(self, n: Any) -> Any: ...  # scale/agree.py
    def mean(self, t: Any, weight: Any=1.0) -> Any: ...  # scale/agree.py
    def between(self, code: Any=0) -> Any: ...  # scale/agree.py
    def _flush(self) -> Any:  # scale/agree.py
        """Hear what was wanted when that was last exchanged"""
    def _hear(self, code: Any) -> Any:  # scale/agree.py
        """Have `code`, which all have heard at the end of a pass, be what `between` returns next"""
    def _take_heard(self) -> Any: ...  # scale/agree.py
    def begin(self) -> Any: ...  # scale/agree.py
    def _seed(self, seed: Any) -> Any: ...  # scale/agree.py
    @property
    def exchange(self) -> Any:
        """Optimizers whose gradients are not exchanged yet, and how torch arranged others"""
