# Written by `python -m tools.stubs` from `averaging.py`: methods that other modules patch on are here, too
"""`EMA` and `SWA`: train one set of weights, evaluate with the average of those that it passed through"""

from contextlib import contextmanager
from learnloop.loop.callback import Callback
from torch import nn
from typing import Any

__all__ = ['WeightAveraging', 'EMA', 'SWA']

class WeightAveraging(Callback):
    """Average the weights after optimizer steps, with equal weight, and evaluate with the average"""
    order: int
    safe_in_evaluate: bool
    fit_only: bool
    rank_invariant: bool
    state_schema: Any
    needs_length: Any
    every_steps: Any
    every_epochs: int | None
    start_step: int
    start_epoch: int
    start_pct: float
    buffers: str
    at_end: bool
    _device: Any
    _mine: list
    _last: int
    _stepped: bool
    n_steps: int
    averages: dict
    live: dict
    stats: dict
    _pairs: Any
    n_averaged: int
    def __init__(self, every_steps: int | None=None, every_epochs: int | None=None, start_step: int=0, start_epoch: int=0, start_pct: float=0.0, buffers: str='copy', device: Any=None, at_end: bool=True) -> None:
        """- `every_steps`: Optimizer steps from one update to the next; None for 1, or for `every_epochs`
        - `every_epochs`: Epochs from one update to the next, which is then before validation
        - `start_step`: Optimizer steps, in all fits, before the average begins
        - `start_epoch`: First epoch of a fit that is averaged
        - `start_pct`: Part of a fit before the average begins
        - `buffers`: The model's own, 'average', or 'recompute' those of batch norms: see below
        - `device`: Where averages are kept, 'cpu' to save memory; None for where the weights are
        - `at_end`: Leave the averages in the model after a fit?
        """
    def reset(self) -> Any:
        """Forget the averages: they begin anew after the next step"""
    def average(self, avgs: Any, news: Any, n: Any) -> Any:
        """Take up `news` in `avgs`; override this for another kind of average

        - `avgs`: The averages, a list of tensors, changed in place
        - `news`: The weights, likewise
        - `n`: How many have been averaged
        """
    def _tensors(self, model: Any) -> Any:  # train/averaging.py
        """What is averaged of `model`, by name"""
    def update(self) -> Any:  # train/averaging.py
        """Take up the weights as they are"""
    def _check_fit(self, now: Any) -> Any:  # train/averaging.py
        """Refuse the tensors `now` if the averages aren't of those"""
    def _pair(self) -> Any:  # train/averaging.py
        """Averages, weights, and whether those are alike in type and device"""
    def cleanup_epoch(self) -> Any: ...  # train/averaging.py
    def after_opt_step(self) -> Any: ...  # train/averaging.py
    def cleanup_step(self) -> Any: ...  # train/averaging.py
    def in_graph(self, event: Any) -> Any: ...  # train/averaging.py
    def after_train(self) -> Any: ...  # train/averaging.py
    def _have_buffers_of_first(self) -> Any:  # train/averaging.py
        """Statistics are those of the first process, of which others have their own until an epoch is over"""
    def _update_if(self, due: Any, pct: Any) -> Any: ...  # train/averaging.py
    def _swap_in(self, model: Any) -> Any: ...  # train/averaging.py
    def _swap_out(self, model: Any) -> Any: ...  # train/averaging.py
    def _norm_stats(self, model: Any) -> Any:  # train/averaging.py
        """Statistics of batch norms, if they are recomputed, by name"""
    def _recompute(self, model: Any, stats: Any) -> Any: ...  # train/averaging.py
    @contextmanager
    def swapped(self, model: nn.Module | None=None) -> Any:  # train/averaging.py
        """Put the averaged weights into the model inside a `with` block: to export it, for instance

        - `model`: Where they go; None for the learner's
        """
    def before_epoch(self) -> Any: ...  # train/averaging.py
    def before_validate(self) -> Any: ...  # train/averaging.py
    def cleanup_validate(self) -> Any: ...  # train/averaging.py
    def after_fit(self) -> Any: ...  # train/averaging.py
    def before_fit(self) -> Any: ...  # train/averaging.py
    def _holds_averages(self, model: Any) -> Any: ...  # train/averaging.py
    def state_dict(self) -> dict:  # train/averaging.py
        """Return the averages

        Returns: `averages`, `live` and `stats` by name, where there are any, and counts
        """
    def load_state_dict(self, sd: dict) -> Any:  # train/averaging.py
        """Take up averages

        - `sd`: What `state_dict` returned
        """
    def before_save(self) -> Any: ...  # train/averaging.py
    def after_load(self) -> Any: ...  # train/averaging.py
    def use_live_weights(self, state: dict) -> Any:  # train/averaging.py
        """Have the weights that are trained in `state`, and not the averages, if those are in the model for a validation

        - `state`: Of a checkpoint: `model`, and `callbacks` by name
        """

class EMA(WeightAveraging):
    """Keep an exponential moving average of the weights, and evaluate with it"""
    decay: float
    warmup: bool
    def __init__(self, decay: float=0.999, warmup: bool=True, half_life: float | None=None, **kwargs: Any) -> None:
        """- `decay`: Weight of the past in an update; .9999 for long runs
        - `warmup`: Begin with less: (1+n)/(10+n) at update n? Else short runs remember their first weights
        - `half_life`: Optimizer steps after which a weight counts half, in place of `decay`
        - `kwargs`: To `WeightAveraging`: every_steps, start_step, start_epoch, buffers, device, at_end, …
        """
    def average(self, avgs: Any, news: Any, n: Any) -> Any: ...

class SWA(WeightAveraging):
    """Average the weights at the ends of the last epochs, and evaluate with the average"""
    owns: Any
    in_charge_of: Any
    swa_lr: Any
    anneal_pct: float
    _lrs: list
    _switched: bool
    def __init__(self, start_pct: float=0.75, swa_lr: Any=None, anneal_pct: float=0.05, buffers: str='copy', **kwargs: Any) -> None:
        """- `start_pct`: Part of the fit before the average begins: that of Izmailov et al. (arXiv 1803.05407)
        - `swa_lr`: Learning rate from there on, a number or a list with one per group; None to leave it
        - `anneal_pct`: Part of the fit in which the learning rate goes there, by half a cosine
        - `buffers`: 'recompute' if there are batch norms
        - `kwargs`: To `WeightAveraging`: every_epochs or every_steps, start_epoch, device, at_end, …
        """
    def before_fit(self) -> Any: ...  # train/averaging.py
    def cleanup_fit(self) -> Any: ...  # train/averaging.py
    def before_train(self) -> Any: ...  # train/averaging.py
    def before_batch(self) -> Any: ...  # train/averaging.py
    def _all_lrs(self) -> Any:  # train/averaging.py
        """What each group has of its own: those that were added since, what they came with"""
    def opt_switched(self, given: Any) -> Any:  # train/averaging.py
        """Go on from the learning rate of the new optimizer

        - `given`: Names of the hyper-parameters that the switch named
        """
    def state_dict(self) -> dict:  # train/averaging.py
        """Return the averages, and the learning rate to go back to, if the optimizer was changed in the fit

        Returns: As `WeightAveraging` has it
        """
    def load_state_dict(self, sd: dict) -> Any:  # train/averaging.py
        """Take up averages

        - `sd`: What `state_dict` returned
        """
