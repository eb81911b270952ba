# Written by `python -m tools.stubs` from `predict.py`: methods that other modules patch on are here, too
"""Predictions for a data set, for batches or for one item, decoded by what the loss function knows"""

from learnloop.loop.callback import Callback
from typing import Any

__all__ = ['GatherPredsCallback', 'FetchPredsCallback']

class GatherPredsCallback(Callback):
    """Gather predictions, targets, inputs and losses of a validation"""
    run_train: bool
    rank_invariant: bool
    with_input: bool
    with_loss: bool
    with_preds: bool
    with_targs: bool
    save_preds: Any
    save_targs: Any
    concat_dim: int
    pickle_protocol: int
    _saves: Any
    run: bool
    _parts: list
    inputs: list
    preds: list
    targets: list
    losses: list
    _like: Any
    _input: Any
    def __init__(self, with_input: bool=False, with_loss: bool=False, save_preds: Any=None, save_targs: Any=None, with_preds: bool=True, with_targs: bool=True, concat_dim: int=0, pickle_protocol: int=2) -> None:
        """- `with_input`: Inputs, too?
        - `with_loss`: The loss of each item, too? Needs an unreduced loss: see `loss_not_reduced`
        - `save_preds`: Folder to write each batch's predictions to, as `0.pt`, `1.pt`, …
        - `save_targs`: Folder to write each batch's targets to, likewise
        - `with_preds`: Keep predictions? Without, there is room for any number if they are saved
        - `with_targs`: Keep targets?
        - `concat_dim`: Dimension along which batches are put together
        - `pickle_protocol`: Of the files that are written
        """
    def all_tensors(self) -> list:
        """Return inputs (if wanted), predictions, targets, losses (if wanted)

        Returns: In the order that `get_preds` returns; None for what was not kept
        """
    def before_validate(self) -> Any: ...  # loop/predict.py
    def _start(self) -> Any: ...  # loop/predict.py
    def _make_folders(self) -> Any: ...  # loop/predict.py
    def before_batch(self) -> Any: ...  # loop/predict.py
    def after_batch(self) -> Any: ...  # loop/predict.py
    def after_validate(self) -> Any: ...  # loop/predict.py
    def _join(self, os: Any) -> Any: ...  # loop/predict.py
    def _save(self, i: Any, preds: Any, targs: Any) -> Any: ...  # loop/predict.py
    def _keep_part(self) -> Any: ...  # loop/predict.py
    def _gather_parts(self) -> Any: ...  # loop/predict.py
    def _save_all(self, batches: Any) -> Any: ...  # loop/predict.py

class FetchPredsCallback(Callback):
    """Fetch predictions in each epoch, after validation"""
    remove_on_fetch: bool
    rank_invariant: bool
    ds_idx: Any
    dl_: Any
    cbs_: Any
    preds: Any
    how: dict
    def __init__(self, ds_idx: Any=1, dl: Any=None, with_input: bool=False, with_decoded: bool=False, cbs: Any=None, reorder: bool=True) -> None:
        """- `ds_idx`: Which of `dls`, by index or name
        - `dl`: Any other loader
        - `with_input`: Inputs, too?
        - `with_decoded`: Decoded predictions, too?
        - `cbs`: Callbacks to do without meanwhile, besides those with `remove_on_fetch`
        - `reorder`: In the data set's order?
        """
    def after_validate(self) -> Any: ...
