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
    state_schema: dict
    names: Any
    epoch_columns: Any
    window: Any
    warn_above: float | None
    _warned: bool
    _clock: Any
    epochs: Any
    _now: dict
    _marks: Any
    _valid_since: int
    _n_valid: int
    def __init__(self, window: int=100, columns: Any=('samples_per_sec', 'data_wait'), warn_above: float | None=0.5) -> None:
        """- `window`: Batches that the attributes look back on: enough to even out the noise, few enough to see a change
        - `columns`: Columns of the table of epochs, and of loggers
        - `warn_above`: Share of waiting that is worth a warning, in an epoch with more than 5 s of training; None for no warning
        """
    def _clear(self) -> Any: ...
    def state_dict(self) -> Any: ...
    def load_state_dict(self, sd: Any) -> Any: ...
    def before_evaluate(self) -> Any: ...
    def cleanup_evaluate(self) -> Any: ...
    def before_fit(self) -> Any: ...  # measure/throughput.py
    def cleanup_fit(self) -> Any: ...  # measure/throughput.py
    def after_fetch(self) -> Any: ...  # measure/throughput.py
    def after_train(self) -> Any: ...  # measure/throughput.py
    def cleanup_train(self) -> Any: ...  # measure/throughput.py
    def _publish(self) -> Any: ...  # measure/throughput.py
    def _is_at(self, *names: Any) -> Any:  # measure/throughput.py
        """Are the innermost phases these?"""
    def before_validate(self) -> Any: ...  # measure/throughput.py
    def after_batch(self) -> Any: ...  # measure/throughput.py
    def after_validate(self) -> Any: ...  # measure/throughput.py
    def cleanup_validate(self) -> Any: ...  # measure/throughput.py
    def before_epoch(self) -> Any: ...  # measure/throughput.py
    def after_epoch(self) -> Any: ...  # measure/throughput.py
    def _warn(self) -> Any: ...  # measure/throughput.py
    def __repr__(self) -> Any: ...  # measure/throughput.py
    @property
    def samples_per_sec(self) -> Any:
        """`samples_per_sec` over the last `window` batches, of the last epoch where batches have none; None if there is nothing yet"""
    @property
    def batches_per_sec(self) -> Any:
        """`batches_per_sec` over the last `window` batches, of the last epoch where batches have none; None if there is nothing yet"""
    @property
    def steps_per_sec(self) -> Any:
        """`steps_per_sec` over the last `window` batches, of the last epoch where batches have none; None if there is nothing yet"""
    @property
    def data_wait(self) -> Any:
        """`data_wait` over the last `window` batches, of the last epoch where batches have none; None if there is nothing yet"""
    @property
    def valid_samples_per_sec(self) -> Any:
        """`valid_samples_per_sec` over the last `window` batches, of the last epoch where batches have none; None if there is nothing yet"""
    @property
    def peak_memory_mb(self) -> Any:
        """`peak_memory_mb` over the last `window` batches, of the last epoch where batches have none; None if there is nothing yet"""
