# Written by `python -m tools.stubs` from `torchsched.py`: methods that other modules patch on are here, too
"""Any scheduler of `torch.optim.lr_scheduler`, stepped when it should be"""

from learnloop.loop.callback import Callback
from typing import Any

__all__ = ['TorchScheduler']

class TorchScheduler(Callback):
    """Step a scheduler of torch's"""
    order: float
    run_valid: bool
    safe_in_evaluate: bool
    fit_only: bool
    rank_invariant: bool
    sched: Any
    unit: str
    monitor: str
    _seen: int
    _due: dict
    _scheds: dict
    _was: dict
    _added: set
    _patched: list
    _sizes: dict
    _by_value: set
    _begun: bool
    _switched: bool
    _is_over: bool
    owns: Any
    in_charge_of: Any
    def __init__(self, sched: Any, unit: str, monitor: str='valid_loss') -> None:
        """- `sched`: Function of the optimizer that makes it, such as `partial(StepLR, step_size=3)`; or a dict of them
        - `unit`: When to step it: after each 'step' of the optimizer, each 'epoch', or each validation ('validate')
        - `monitor`: Column of the recorder for schedulers that look at a value, with the unit 'validate'
        """
    def _clear(self) -> Any: ...
    def before_fit(self) -> Any: ...  # train/torchsched.py
    def _bind(self) -> Any:  # train/torchsched.py
        """Make the schedulers for the optimizer that the learner has"""
    def _make(self, f: Any, opt: Any) -> Any: ...  # train/torchsched.py
    def cleanup_fit(self) -> Any: ...  # train/torchsched.py
    def _release(self, os: Any) -> Any:  # train/torchsched.py
        """Have the optimizers `os` as they were without schedulers"""
    def _check_unit(self) -> Any:  # train/torchsched.py
        """Refuse a scheduler that needs a value and wouldn't get one"""
    def _monitored(self) -> Any:  # train/torchsched.py
        """What the recorder has for `monitor` in the epoch that ends"""
    def _step(self, value: Any=None) -> Any:  # train/torchsched.py
        """Step, if the optimizer has since the last time"""
    def _check_groups(self, k: Any, sched: Any) -> Any: ...  # train/torchsched.py
    def after_batch(self) -> Any: ...  # train/torchsched.py
    def after_fetch(self) -> Any: ...  # train/torchsched.py
    def after_epoch(self) -> Any: ...  # train/torchsched.py
    def after_record(self, record: Any) -> Any: ...  # train/torchsched.py
    def state_dict(self) -> dict:  # train/torchsched.py
        """Return the state of the schedulers

        Returns: Plain data; empty outside of fits
        """
    def _groups(self) -> Any: ...  # train/torchsched.py
    def _values(self) -> Any:  # train/torchsched.py
        """What schedulers go on from, in each of torch's groups"""
    def load_state_dict(self, sd: dict) -> Any:  # train/torchsched.py
        """Take up the state of the schedulers

        - `sd`: What `state_dict` returned
        """
    def _take_up(self) -> Any: ...  # train/torchsched.py
    def opt_switched(self, given: Any) -> Any:  # train/torchsched.py
        """Go on with the new optimizer of the learner, or end if `lr` was given

        - `given`: Names of the hyper-parameters that the switch named: `lr`, `wd`
        """
    def _end(self) -> Any:  # train/torchsched.py
        """Set nothing any more in this fit"""
