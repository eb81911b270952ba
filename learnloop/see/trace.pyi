# Written by `python -m tools.stubs` from `trace.py`: methods that other modules patch on are here, too
"""What ran, in which order, how long it took and how it ended: each phase, each event, and each callback's turn in it"""

from dataclasses import dataclass
from learnloop.loop.callback import Callback
from learnloop.see.timeline import Timeline
from pathlib import Path
from typing import Any
from typing import NamedTuple

__all__ = ['TraceRow', 'of_turn', 'TraceCancel', 'Trace', 'Tracer']

@dataclass(slots=True)
class TraceRow:
    """An event that fired, or a callback's turn in it"""
    event: str
    callback: str
    outcome: str
    depth: int
    epoch: int | None
    iter: int | None
    start: float = ...
    seconds: float | None = ...
    held_back: bool = ...
    turn: str = ...

def of_turn(what: str, turn: str | None) -> str:
    """Name `what` and the turn to which it belongs

    - `what`: Name of a phase, or of an event
    - `turn`: Name of the turn in which it was, if that has one
    """

class TraceCancel(NamedTuple):
    """An exception that ended a phase: who raised it (name, and class as a label) in which event,
    what it ended, where, which inner phases were done, what it says, and in whose turn of the batch
    """
    exception: Any
    callback: Any
    label: Any
    event: Any
    phase: Any
    epoch: Any
    iter: Any
    training: Any
    start: Any
    done: Any
    message: Any = ...
    turn: Any = ...
    def __str__(self) -> Any: ...
    @property
    def in_event(self) -> Any:
        """The event, and whose turn it was"""

class Trace:
    """What a `Tracer` recorded, or `load_trace` read: tables, timelines, and answers"""
    _rows: Any
    _stretches: Any
    _cancels: Any
    _errors: Any
    _totals: dict
    _phases: dict
    _inside: dict
    _whose: dict
    _recurring: set
    _is_noted: bool
    _names: set
    _muted: dict
    _at: Any
    _t0: int
    _unix: int
    _exported: Any
    _repr_markdown_: Any
    def __init__(self, max_rows: int | None=10000) -> None:
        """- `max_rows`: Rows kept, the last ones; None for all"""
    @property
    def rows(self) -> list:
        """The rows that were kept, oldest first"""
    def events(self) -> list:
        """List the events that fired

        Returns: Names, oldest first
        """
    def turns(self) -> list:
        """List the turns of callbacks

        Returns: Pairs of event and name of callback, oldest first
        """
    def clear(self) -> Any:
        """Forget all that was recorded"""
    def phases(self) -> dict:  # see/trace.py
        """Tell how long each phase took in all

        Returns: Name of a phase -> (times, seconds)
        """
    def _in_order(self) -> Any:  # see/trace.py
        """Totals of the phases that ran, outer ones first; of the only turn of a batch only if somebody cancelled it"""
    def depth(self, phase: str) -> int:  # see/trace.py
        """Tell how many phases were open when `phase` was, itself included; a turn without a name isn't one

        - `phase`: Its name, one of those that `phases` has

        Returns: 1 for the outermost
        """
    def totals(self) -> list:  # see/trace.py
        """Tell how long each callback took in each event in all, the longest first

        Returns: Dicts of `callback`, `event`, `filter`, `calls`, `held_back`, `seconds` and `outcomes`, exceptions by name
        """
    def _turn_totals(self) -> Any: ...  # see/trace.py
    def _tally(self, texts: Any, note: Any='') -> Any:  # see/trace.py
        """Count `texts`, the most frequent first, with a `note` on the last"""
    def _among(self) -> Any:  # see/trace.py
        """A hint that older cancels are forgotten"""
    def _tables(self) -> Any: ...  # see/trace.py
    def sequence(self, verbose: bool=False, n_lines: int=100) -> _Text:  # see/trace.py
        """Show what ran in order, repetitions folded

        - `verbose`: Also show events that nobody heard and in which all went well?
        - `n_lines`: Lines shown, the last ones

        Returns: Shows itself in notebooks; `print` it elsewhere
        """
    def _n_dropped(self) -> Any:  # see/trace.py
        """Number of rows that are gone"""
    def _total(self, event: Any, callback: Any='', filter: Any='') -> Any: ...  # see/trace.py
    def _phase_total(self, name: Any) -> Any: ...  # see/trace.py
    def _lasts(self, phase: Any) -> Any:  # see/trace.py
        """Does `phase` last longer than a batch? A fetch, beside it, doesn't"""
    def _spans(self) -> Any:  # see/trace.py
        """All spans that are known, oldest first"""
    def _found(self, phase: Any, epoch: Any=None, iter: Any=None, training: Any=True, turn: Any=None) -> Any:  # see/trace.py
        """Spans of `phase` at a place, oldest first"""
    def why(self, what: str, epoch: int | None=None, iter: int | None=None, callback: str | None=None, training: bool=True) -> str:  # see/why.py
        """Tell whether `what` ran, and if not, why

        - `what`: Name of a phase, of an event, or of work that has one event alone, such as `pred`
        - `epoch`: None for all that is known of `what`
        - `iter`: Of a batch in the epoch
        - `callback`: Name of one: did it have its turn in the event `what`, and if not, why?
        - `training`: Is the batch one of training, or of validation?

        Returns: Of the last time, if there were several
        """
    def _turns(self, phase: Any, at: Any) -> Any:  # see/why.py
        """Names of the turns of which to tell of `phase`, one after the other: None if they needn't be told apart"""
    def _at_of(self, phase: Any, at: Any) -> Any:  # see/why.py
        """The place `at` as `phase` knows it: what is around turns belongs to none"""
    def _phase_of(self, event: Any, at: Any=None) -> Any:  # see/why.py
        """The phase of `event`; of several the one that was there, such as the turn, or the batch that has none"""
    def _find(self, phase: Any, at: Any) -> Any: ...  # see/why.py
    def _why_phase(self, phase: Any, at: Any) -> Any:  # see/why.py
        """Whether `phase` ran at a place, and if not, why"""
    def _blames(self, phase: Any, at: Any) -> Any:  # see/why.py
        """What cancels and errors did to `phase`, and how often"""
    def _around(self, phase: Any) -> Any:  # see/why.py
        """`phase`, and those in which it runs, inner ones first"""
    def _why_not(self, phase: Any, at: Any) -> Any:  # see/why.py
        """Why there is no span of `phase` at a place"""
    def _left_out(self, phase: Any, s: Any) -> Any:  # see/why.py
        """Why the span `s` went without `phase`, which runs in it"""
    def _skips(self, c: Any, phase: Any, at: Any) -> Any:  # see/why.py
        """Did `c`, a cancel or an error, skip `phase` at a place?"""
    def _unknown(self, phase: Any, at: Any) -> Any:  # see/why.py
        """What to say of a place that nothing is known of"""
    def _first_kept(self) -> Any:  # see/why.py
        """The span of the first row that is in a batch"""
    def _kept(self) -> Any: ...  # see/why.py
    def _is_cut(self, phase: Any, at: Any) -> Any:  # see/why.py
        """Were rows of `phase` dropped in the epoch of `at`? What lasts longer than a batch needs none"""
    def _why_event(self, event: Any, phase: Any, at: Any, callback: Any) -> Any:  # see/why.py
        """Whether `event` fired, who heard it, and why not"""
    def _muting(self, event: Any, callback: Any, s: Any) -> Any:  # see/why.py
        """Which flags muted `callback` in `event`"""
    def _why_no_event(self, event: Any, phase: Any, at: Any) -> Any:  # see/why.py
        """Why there is no row of `event` at a place"""
    def _slices(self) -> Any:  # see/timeline.py
        """What took time, oldest phases first, then the rows"""
    def timeline(self, epoch: int | None=None, iter: int | None=None, training: bool=True) -> Timeline:  # see/timeline.py
        """Draw what ran when

        - `epoch`: None for the whole run
        - `iter`: Of a batch in it; None for the whole epoch
        - `training`: Is the batch one of training, or of validation?

        Returns: Shows itself in notebooks; `print` it elsewhere
        """
    def _lanes(self, slices: Any) -> Any:  # see/timeline.py
        """Slices by lane: phases and work, outer ones first, then callbacks"""
    def _chrome_events(self, pid: Any=None) -> Any:  # see/timeline.py
        """Events of the Chrome format, in microseconds since the trace began"""
    def save(self, path: Any, team: Any=None) -> Path:  # see/timeline.py
        """Write a file that Perfetto and Chrome open, and `load_trace` reads

        - `path`: `trace.json`, or `trace.json.gz` to have it compressed; not below `learn.path`, as a trace has no learner
        - `team`: Processes whose traces are to be in one file: `learn.team`; all of them call this, and the first writes

        Returns: Where it is
        """
    def _content(self, pid: Any, name: Any=None) -> Any: ...  # see/timeline.py
    def _packed(self) -> Any:  # see/timeline.py
        """All of it as plain data"""
    def _export(self) -> Any:  # see/timeline.py
        """The file of torch's profiler, compressed"""
    def _profile_events(self) -> Any:  # see/timeline.py
        """What torch's profiler recorded, as it exports it, in our time"""
    @property
    def cancels(self) -> Any:
        """The last 5,000 `TraceCancel`s, oldest first"""
    @property
    def errors(self) -> Any:
        """The last 100 other exceptions, likewise"""

class _Text:
    """Tables, and lines of text"""
    __repr__: Any
    parts: list
    def __init__(self, *parts: Any) -> None: ...
    def __str__(self) -> Any: ...
    def _repr_markdown_(self) -> Any: ...

class Tracer(Callback, Trace):
    """Record each event, each callback's turn in it, and their times; `print` it, or look at it in a notebook"""
    order: Any
    read_only: bool
    rank_invariant: bool
    _now: Any
    profiler: Any
    _profiling: bool
    _exported: bytes
    _is_noted: bool
    _inside: dict
    _recurring: Any
    _whose: Any
    _t0: Any
    _unix: Any
    def __init__(self, max_rows: int | None=10000, name: str | None=None, profiler: Any=None, clock: Any=...) -> None:
        """- `max_rows`: Rows kept, the last ones: some hundred batches, 3 MB with the cancels; None for all. Totals are of everything
        - `name`: Its name in the learner; None for `tracer`
        - `profiler`: A `torch.profiler.profile`: started and stopped with the fit, stepped after each batch of training, and part of what `save` writes
        - `clock`: Function that tells the time in nanoseconds
        """
    def _push(self, p: Any, state: Any) -> Any:  # see/trace.py
        """Begin a span of the phase `p`"""
    def _sync(self, depth: Any, event: Any='') -> Any:  # see/trace.py
        """Have as many spans open as the learner has phases, up to `depth`; return the innermost"""
    def _clean(self, s: Any, fire: Any) -> Any:  # see/trace.py
        """Record that the clean-up of the span `s` fires"""
    def _close(self, s: Any, heard: Any, total: Any, lasts: Any) -> Any:  # see/trace.py
        """Close the span `s`, the innermost"""
    def _begin_run(self) -> Any: ...  # see/trace.py
    def _end_run(self) -> Any: ...  # see/trace.py
    def _met(self, kind: Any, seconds: Any) -> Any:  # see/trace.py
        """Record that processes have met"""
    def _profile(self, start: Any) -> Any:  # see/trace.py
        """Start torch's profiler, or stop it"""
    def handlers(self, event: str) -> list:  # see/trace.py
        """Hear `event`, whatever it is

        - `event`: Name of an event

        Returns: A method that records the event, and those of a subclass
        """
    def _note(self, event: Any) -> Any:  # see/trace.py
        """Write down the table of phases, and who is muted in `event`"""
    def _enters(self, flow: Any) -> Any: ...  # see/trace.py
    def wrap_handler(self, who: Any, event: str, f: Any) -> Any:  # see/trace.py
        """Have `f` recorded when its turn comes

        - `who`: A callback
        - `event`: The event that `f` hears
        - `f`: One of its handlers
        """
    def _failed(self, row: Any, e: Any, who: Any) -> Any:  # see/trace.py
        """Record that `e` left a turn of `who`, whose row is `row`"""
    def _raised(self, e: Any, s: Any, callback: Any='', label: Any='', event: Any='') -> Any:  # see/trace.py
        """Record that `e` was raised in the span `s`, and which it ends"""
