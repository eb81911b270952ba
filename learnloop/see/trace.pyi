# Written by `python -m tools.stubs` from `trace.py`: methods that other modules patch on are here, too
"""What ran, in which order, how long it took and how it ended: each phase, each event, and each callback's turn in it"""

from dataclasses import dataclass
from learnloop.loop.callback import Callback
from pathlib import Path
from typing import Any

__all__ = ['TraceCancel', 'TraceRow', 'Trace', 'Tracer', 'Timeline', 'load_trace']

TraceCancel: Any

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
    _muted: dict
    _names: set
    _recurring: set
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
    def _counts(self, name: Any, lasting: Any=False) -> Any:  # see/trace.py
        """Of the phase `name`: times, nanoseconds, cancelled, failed, depth, does it last longer than a batch?"""
    def _total(self, event: Any, callback: Any='', filter: Any='') -> Any: ...  # see/trace.py
    def phases(self) -> dict:  # see/trace.py
        """Tell how long each phase took in all

        Returns: Name of a phase -> (times, seconds)
        """
    def _in_order(self) -> Any:  # see/trace.py
        """The phases' counts, outer phases first"""
    def totals(self) -> list:  # see/trace.py
        """Tell how long each callback took in each event in all, the longest first

        Returns: Dicts of `callback`, `event`, `filter`, `calls`, `held_back`, `seconds` and `outcomes`, a count by name of exception
        """
    def _among(self) -> Any: ...  # see/trace.py
    def _tables(self) -> Any: ...  # see/trace.py
    def sequence(self, verbose: bool=False, n_lines: int=100) -> _Text:  # see/trace.py
        """Show what ran in order, repetitions folded

        - `verbose`: Also show events that nobody heard and in which all went well?
        - `n_lines`: Lines shown, the last ones

        Returns: Shows itself in notebooks; `print` it elsewhere
        """
    def _dropped(self) -> Any: ...  # see/trace.py
    def _end(self) -> Any: ...  # see/trace.py
    def _spans(self) -> Any:  # see/trace.py
        """All phases that are known, oldest first"""
    def _found(self, phase: Any, epoch: Any=None, iter: Any=None, training: Any=True) -> Any:  # see/trace.py
        """Spans of `phase` at a place, oldest first"""
    def why(self, what: str, epoch: int | None=None, iter: int | None=None, callback: str | None=None, training: bool=True) -> str:  # see/trace.py
        """Tell whether `what` ran, and if not, why

        - `what`: Name of a phase, or of an event; of work that has one event alone, such as `pred`, that is meant
        - `epoch`: None for all that is known of `what`
        - `iter`: Of a batch in the epoch
        - `callback`: Name of one: did it have its turn in the event `what`, and if not, why?
        - `training`: Is the batch one of training, or of validation?

        Returns: Of the last time, if there were several
        """
    def _inner(self, phase: Any) -> Any:  # see/trace.py
        """Does `phase` recur with each batch?"""
    def _around(self, phase: Any) -> Any:  # see/trace.py
        """The phases in which `phase` runs, inner ones first"""
    def _why_all(self, phase: Any) -> Any:  # see/trace.py
        """What is known of all times"""
    def _why_not(self, phase: Any, epoch: Any, iter: Any, training: Any) -> Any:  # see/trace.py
        """Why there is no span of `phase` at a place"""
    def _first_kept(self) -> Any: ...  # see/trace.py
    def _kept(self) -> Any: ...  # see/trace.py
    def _forgot(self, phase: Any, epoch: Any) -> Any:  # see/trace.py
        """Were rows of `phase` in an epoch dropped? What lasts longer than a batch needs none"""
    def _partly(self, phase: Any, epoch: Any) -> Any:  # see/trace.py
        """What is still known of `phase` in an epoch whose rows were dropped, all or some"""
    def _skipped(self, c: Any, phase: Any, epoch: Any, iter: Any, training: Any) -> Any:  # see/trace.py
        """Did `c` skip `phase` at a place?"""
    def _why_event(self, event: Any, phase: Any, epoch: Any, iter: Any, callback: Any, training: Any) -> Any:  # see/trace.py
        """Whether `event` fired, who heard it, and why not"""
    def _mute(self, event: Any, callback: Any, s: Any) -> Any: ...  # see/trace.py
    def timeline(self, epoch: int | None=None, iter: int | None=None, training: bool=True) -> Timeline:  # see/trace.py
        """Draw what ran when

        - `epoch`: None for the whole run
        - `iter`: Of a batch in it; None for the whole epoch
        - `training`: Is the batch one of training, or of validation?

        Returns: Shows itself in notebooks; `print` it elsewhere
        """
    def _whole_lanes(self) -> Any: ...  # see/trace.py
    def _sorted(self, lanes: Any) -> Any: ...  # see/trace.py
    def _bar(self, start: Any, end: Any, label: Any) -> Any: ...  # see/trace.py
    def _slices(self) -> Any:  # see/trace.py
        """Events of the Chrome format, in microseconds since the trace began"""
    def save(self, path: Any) -> Path:  # see/trace.py
        """Write a file that Perfetto and Chrome open, and `load_trace` reads

        - `path`: `run.json`, or `run.json.gz` to have it compressed; not below `learn.path`, as a trace has no learner

        Returns: Where it is
        """
    def _export(self) -> Any:  # see/trace.py
        """The file of torch's profiler, compressed; torch writes it once"""
    def _profile_events(self) -> Any:  # see/trace.py
        """What torch's profiler recorded, as it exports it"""
    def _packed(self) -> Any:  # see/trace.py
        """All of it as plain data"""
    @property
    def cancels(self) -> Any:
        """The last 5,000 `TraceCancel`s, oldest first"""
    @property
    def errors(self) -> Any:
        """The last 100 other exceptions, likewise"""

class Tracer(Callback, Trace):
    """Record each event, each callback's turn in it, and their times; `print` it, or look at it in a notebook"""
    order: Any
    only_looks: bool
    _now: Any
    profiler: Any
    _profiling: bool
    _exported: bytes
    _inside: dict
    _whose: dict
    _t0: Any
    _unix: Any
    _recurring: Any
    def __init__(self, max_rows: int | None=10000, name: str | None=None, profiler: Any=None, clock: Any=...) -> None:
        """- `max_rows`: Rows kept, the last ones: some hundred batches, 3 MB with the cancels; None for all. Totals are of everything
        - `name`: Its name in the learner; None for `tracer`
        - `profiler`: A `torch.profiler.profile`: started and stopped with the fit, stepped after each batch of training, and part of what `save` writes
        - `clock`: Function that tells the time in nanoseconds
        """
    def _push(self, p: Any, state: Any) -> Any: ...  # see/trace.py
    def _sync(self, depth: Any, event: Any='') -> Any:  # see/trace.py
        """Have as many phases open as the learner has, up to `depth`"""
    def _begin(self, p: Any) -> Any:  # see/trace.py
        """Open `p`, which a turn of the learner's own may have done"""
    def _clean(self, s: Any, total: Any) -> Any:  # see/trace.py
        """Record that a clean-up fires"""
    def _close(self, s: Any, heard: Any, counts: Any) -> Any:  # see/trace.py
        """Close the span `s`, the innermost"""
    def _hears(self, event: Any) -> Any: ...  # see/trace.py
    def _sure(self) -> Any:  # see/trace.py
        """The version of who hears what at which the tracer is known to hear everything"""
    def handlers(self, event: str) -> list:  # see/trace.py
        """Hear `event`, whatever it is

        - `event`: Name of an event

        Returns: A method that records the event, and those of a subclass
        """
    def _enters(self, flow: Any) -> Any: ...  # see/trace.py
    def _notice(self, event: Any) -> Any: ...  # see/trace.py
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
    def _profile(self, start: Any) -> Any: ...  # see/trace.py

class _Text:
    """Tables, each with its head, and lines of text"""
    __repr__: Any
    parts: list
    def __init__(self, *parts: Any) -> None: ...
    def __str__(self) -> Any: ...
    def _repr_markdown_(self) -> Any: ...

class Timeline:
    """When each phase and each callback was at work: a picture in notebooks, text elsewhere"""
    __repr__: Any
    seconds: Any
    unit: Any
    _k: Any
    title: str
    lanes: list
    def __init__(self, title: str, lanes: Any) -> None:
        """- `title`: Written above
        - `lanes`: Pairs of a name and a list of (start, length, label), times in seconds
        """
    def _bar(self, bars: Any, n: Any=60) -> Any: ...
    def __str__(self) -> Any: ...
    def _repr_html_(self) -> Any: ...

def load_trace(path: Any) -> Trace:
    """Read a trace

    - `path`: Of a file that `save` wrote

    Returns: Its tables, as they were
    """
