# Written by `python -m tools.stubs` from `throughput.py`: methods that other modules patch on are here, too
"""How fast a fit goes, and what it waits for: samples and steps a second, the share of waiting for data, memory"""

from learnloop.loop.callback import Callback
from typing import Any

__all__ = ['Throughput']

class Throughput(Callback):
    """Measure samples and optimizer steps a second, the share of waiting for data, and memory"""
    order: Any
    run_train: bool
    safe_in_evaluate: bool
    rank_invariant: bool
    state_schema: dict
    epoch_columns: Any
    names: Any
    window: Any
    warn_above: float | None
    _warned: bool
    _clock: Any
    epochs: Any
    _now: dict
    _marks: Any
    _valid_since: int
    _n_valid: int
    def __init__(self, window: int=100, columns: Any=..., warn_above: float | None=0.5) -> None:
        """- `window`: Batches that the attributes look back on: enough to even out noise, few enough to see a change
        - `columns`: Columns of the table of epochs, and of loggers
        - `warn_above`: Share of waiting that is worth a warning, in epochs of over 5 s; None for none
        """
    def _clear(self) -> Any: ...
    def state_dict(self) -> Any: ...
    def load_state_dict(self, sd: Any) -> Any: ...
    def __repr__(self) -> Any: ...  # measure/throughput.py
    def _warn(self) -> Any: ...  # measure/throughput.py
    def before_fit(self) -> Any: ...  # measure/throughput.py
    def cleanup_fit(self) -> Any: ...  # measure/throughput.py
    def after_fetch(self) -> Any: ...  # measure/throughput.py
    def after_train(self) -> Any: ...  # measure/throughput.py
    def cleanup_train(self) -> Any: ...  # measure/throughput.py
    def _publish(self) -> Any: ...  # measure/throughput.py
    def before_evaluate(self) -> Any: ...  # measure/throughput.py
    def cleanup_evaluate(self) -> Any: ...  # measure/throughput.py
    def _in_own_validation(self, *inner: Any) -> Any:  # measure/throughput.py
        """Is this the epoch's validation, and in it the phases `inner`?"""
    def before_validate(self) -> Any: ...  # measure/throughput.py
    def after_batch(self) -> Any: ...  # measure/throughput.py
    def after_validate(self) -> Any: ...  # measure/throughput.py
    def cleanup_validate(self) -> Any: ...  # measure/throughput.py
    def before_epoch(self) -> Any: ...  # measure/throughput.py
    def after_epoch(self) -> Any: ...  # measure/throughput.py
    @property
    def samples_per_sec(self) -> Any:
        """`samples_per_sec` over the last `window` batches, or of the last epoch; None before"""
    @property
    def batches_per_sec(self) -> Any:
        """`batches_per_sec` over the last `window` batches, or of the last epoch; None before"""
    @property
    def steps_per_sec(self) -> Any:
        """`steps_per_sec` over the last `window` batches, or of the last epoch; None before"""
    @property
    def data_wait(self) -> Any:
        """`data_wait` over the last `window` batches, or of the last epoch; None before"""
    @property
    def valid_samples_per_sec(self) -> Any:
        """`valid_samples_per_sec` over the last `window` batches, or of the last epoch; None before"""
    @property
    def peak_memory_mb(self) -> Any:
        """`peak_memory_mb` over the last `window` batches, or of the last epoch; None before"""
