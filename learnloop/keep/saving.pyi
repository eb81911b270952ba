# Written by `python -m tools.stubs` from `saving.py`: methods that other modules patch on are here, too
"""Weights and optimizer in a file that is whole or not there, and that can't run code"""

from collections import OrderedDict
from contextlib import contextmanager
from learnloop.loop.learner import Learner
from pathlib import Path
from torch import Tensor
from torch import nn
from typing import Any

__all__ = ['sync_folder', 'atomic_write', 'hash_file', 'lock_file', 'find_unsafe', 'write_state', 'read_state', 'unwrapper', 'whole', 'cut_like', 'cut_named', 'model_state', 'can_copy', 'state_for', 'param_names', 'opt_state', 'is_torch_opt', 'save_model', 'load_model', 'load_export', 'load_learner']

def sync_folder(folder: Any) -> None:
    """Force the names of the files in `folder` to the disk, where the system can

    - `folder`: Path
    """

@contextmanager
def atomic_write(path: Any) -> Any:
    """Replace the file `path` at the end of a `with` block, or leave it as it was if there is an error

    - `path`: Where the file will be, its folder made if need be; a link is followed
    """

def hash_file(f: Any) -> str:
    """Compute the hash of the rest of the file

    - `f`: Binary file, open for reading

    Returns: Hexadecimal
    """

def lock_file(path: Path, busy: str) -> tuple:
    """Lock the file `path`, or raise a RuntimeError

    - `path`: Of the lock; its folder exists
    - `busy`: What to say if another one has it

    Returns: The lock, and the status of its file, by which it is known; None where the file system has no locks
    """

def find_unsafe(o: Any) -> str | None:
    """Find what only code could read in `o`: say where it is, and of which type

    - `o`: State: tensors and plain data, nested

    Returns: Such as `['f'] is a torch.nn.Linear`; None if there is nothing
    """

def write_state(file: Any, state: dict) -> str | None:
    """Write `state` so that `read_state` can read it

    - `file`: Path, written atomically, or a binary file
    - `state`: Tensors and plain data, nested

    Returns: Hash of the file; None if `file` is a file object
    """

def read_state(file: Any, device: Any=None) -> dict:
    """Read what `write_state` wrote: tensors and plain data, never code

    - `file`: Path, or a binary file
    - `device`: Where its tensors are put; None for the CPU

    Returns: What was written
    """

def unwrapper(model: nn.Module) -> Any:
    """Find the wrappers in `model`

    - `model`: Wrapped or not, at any depth
    """

def whole(o: Any) -> Any:
    """Put tensors together that are sharded over processes, in all of them: see `cut_like`

    - `o`: State: tensors, nested in dicts and lists, of which processes may hold parts
    """

def cut_like(v: Any, t: Any) -> Any:
    """Cut `v` as `t` is sharded over processes

    - `v`: Anything; a tensor is cut
    - `t`: The tensor that it goes into
    """

def cut_named(o: Any, params: dict) -> Any:
    """Cut tensors that are in `o` under the name of a parameter, such as averages of weights, as that one is sharded

    - `o`: State of a callback, or of several: tensors and plain data, nested in dicts
    - `params`: Of the model, by name
    """

def model_state(model: nn.Module, together: bool=True) -> OrderedDict:
    """Get the state of `model` under the keys of the user's module

    - `model`: Wrapped or not
    - `together`: Put together what is sharded? All processes take part in that

    Returns: As `model.state_dict()`
    """

def can_copy(v: Any, t: Tensor) -> bool:
    """Whether `v` can be copied into `t` without a change of its values: a tensor of the same shape and kind of numbers

    - `v`: What a file has
    - `t`: What it is for
    """

def state_for(model: nn.Module, sd: dict, where: Any, strict: bool=True, tip: str='') -> OrderedDict:
    """Compare the state `sd` with `model`, and give it the keys that `model` has as it is

    - `model`: Wrapped or not
    - `sd`: State of such a model, from a file
    - `where`: The file, for the message
    - `strict`: Must the names be the same? Shapes must be in any case
    - `tip`: End of the message where another `strict` would help

    Returns: What `model.load_state_dict` takes
    """

def param_names(model: nn.Module) -> dict:
    """Name the parameters of `model` as the user's module does

    - `model`: Wrapped or not

    Returns: Name by parameter
    """

def opt_state(opt: Any, model: nn.Module, together: bool=True) -> dict | None:
    """Get the state of `opt`, its parameters with names

    - `opt`: torch optimizer, dict of them, or None
    - `model`: Whose parameters it trains
    - `together`: Put together what is sharded? All processes take part in that

    Returns: As `opt.state_dict()`, with `param_names` in each group; of a wrapper without groups, it is in `own`
    """

def is_torch_opt(o: Any) -> bool:
    """Whether the class of `o` is one of `torch.optim`, and no subclass

    - `o`: Optimizer
    """

def save_model(file: Any, model: nn.Module, opt: Any=None, with_opt: bool=True) -> None:
    """Save `model` and `opt` to `file`

    - `file`: Path, or a binary file
    - `model`: Its weights and buffers are saved
    - `opt`: torch optimizer, or dict of them
    - `with_opt`: Save `opt`, too?
    """

def load_model(file: Any, model: nn.Module, opt: Any=None, with_opt: bool=True, device: Any=None, strict: bool=True, weights_only: bool=True) -> None:
    """Load `model` and `opt` from `file`

    - `file`: Path, or a binary file
    - `model`: Where weights and buffers go
    - `opt`: torch optimizer, or dict of them, for the same parameters as when it was saved
    - `with_opt`: Load `opt`, too?
    - `device`: Where the file's tensors are put on the way; None for the CPU
    - `strict`: Must the names be the same? Shapes must be in any case
    - `weights_only`: Taken as torch's: whatever it says, a file that only code could read is refused
    """

def load_export(file: Any, model: nn.Module) -> dict:
    """Fill `model` from a file of `export`

    - `file`: Path of a file that `export` wrote
    - `model`: Of the same architecture

    Returns: `version` of learnloop, class of the `model`, `n_inp`, `targ` if there is one, and the user's `meta`
    """

def load_learner(file: Any, model: nn.Module, loss_func: Any=None, device: Any=None, **kwargs: Any) -> Learner:
    """Make a learner for inference of a file of `export`

    - `file`: Path of a file that `export` wrote
    - `model`: Of the same architecture
    - `loss_func`: Its `activation` and `decodes` are applied to predictions
    - `device`: Where to predict; None: `default_device()`
    - `kwargs`: To `Learner`

    Returns: In evaluation mode, the user's `meta` as an attribute
    """
