# Written by `python -m tools.stubs` from `optimizer.py`: methods that other modules patch on are here, too
"""Real torch optimizers: groups of layers, fastai's hyper-parameters, no decay of norms and biases, freezing"""

from collections.abc import Callable
from functools import partial
from torch import nn
from typing import Any

__all__ = ['HYPERS', 'trainable_params', 'is_norm', 'norm_params', 'no_decay_params', 'why_shapeless', 'opts', 'hyper_groups', 'n_groups', 'held_params', 'hyper_names', 'get_hypers', 'get_hyper', 'spread_hyper', 'split_decay', 'set_hypers', 'is_opt', 'default_lr', 'make_opt', 'HeldParams', 'opt_recipe', 'remake_func', 'freeze_to', 'step', 'zero_grad']

HYPERS: dict

def trainable_params(model: nn.Module) -> list:
    """List the parameters of `model` that require gradients: the default splitter, one group

    - `model`: Model to train

    Returns: Its parameters that require gradients, in the order of `model.parameters()`
    """

def is_norm(module: nn.Module) -> bool:
    """Tell whether `module` is a normalization layer

    - `module`: Any module

    Returns: True where its class, or a base class, is named like `LayerNorm`, `LlamaRMSNorm` or `BatchNorm2d`
    """

def norm_params(model: nn.Module) -> set:
    """Collect the parameters of normalization layers in `model`

    - `model`: Model to search

    Returns: The parameters that belong to normalization layers themselves, not to their children
    """

def no_decay_params(model: nn.Module) -> set:
    """Collect the parameters of `model` that weight decay leaves alone by default: norms and biases

    - `model`: Model to search

    Returns: Parameters of norms, and each whose own name ends in `bias` or begins with `bias_`, as an LSTM's do
    """

def why_shapeless(model: nn.Module) -> str:
    """Tell which parameter of `model` has no shape yet, and what helps

    - `model`: Model to search

    Returns: '' if all parameters have one
    """

def opts(opt: Any) -> list:
    """List the torch optimizers in `opt`

    - `opt`: Torch optimizer, dict of them by name, or None

    Returns: The torch optimizers
    """

def hyper_groups(opt: Any) -> list:
    """List the torch groups of `opt`, each with the index of its splitter group; a group made elsewhere is the next one

    - `opt`: Torch optimizer, or dict of them by name

    Returns: Pairs: the index of a splitter group, and a torch group
    """

def n_groups(opt: Any) -> int:
    """Count the splitter groups of `opt`

    - `opt`: Torch optimizer, or dict of them by name

    Returns: Number of groups that the splitter made
    """

def held_params(opt: Any) -> dict:
    """Collect the parameters that `opt` holds

    - `opt`: Torch optimizer, or dict of them by name

    Returns: The parameters in its groups, as keys in their order, each once
    """

def hyper_names(names: Any) -> set:
    """Find the short names of `names`

    - `names`: Of hyper-parameters, short or torch's own

    Returns: Short names; the name itself where there is no short one
    """

def get_hypers(opt: Any) -> list:
    """Read the hyper-parameters of `opt` under their short names

    - `opt`: Torch optimizer, or dict of them by name

    Returns: One dict for each splitter group, with those of `lr wd mom sqr_mom eps` that exist: floats, not views
    """

def get_hyper(opt: Any, name: str) -> list:
    """Read one hyper-parameter of `opt`

    - `opt`: Torch optimizer, or dict of them by name
    - `name`: One of `lr wd mom sqr_mom eps`, or torch's name

    Returns: Its value in each splitter group, plain numbers; a group that has none is given another's
    """

def spread_hyper(name: str, val: Any, n: int, key: str | None=None, old: Any=0.0) -> list:
    """List the values that `val` stands for, checked

    - `name`: Of the hyper-parameter
    - `val`: A number, a list with one for each splitter group, or a `slice`
    - `n`: Number of splitter groups
    - `key`: Torch's name, where it is another
    - `old`: What it replaces: a tuple of numbers, as `betas` is, is one value

    Returns: A plain number, or a tuple of them, for each splitter group
    """

def split_decay(opt: Any, model: nn.Module, saved: Any=None) -> None:
    """Split the groups of `opt`, once each and in place, in what decays and what doesn't

    - `opt`: Torch optimizer, or dict of them by name
    - `model`: Model that it trains: it knows norms and biases
    - `saved`: Groups of a saved state: split what is split there; None for all groups that have weight decay now
    """

def set_hypers(opt: Any, model: nn.Module, /, **hypers: Any) -> None:
    """Set hyper-parameters of `opt`: all of them or, on an error, none

    - `opt`: Torch optimizer, or dict of them by name, where a value goes to those that have such a hyper-parameter
    - `model`: Model that `opt` trains: it knows norms and biases, which `wd` leaves alone
    - `hypers`: `lr wd mom sqr_mom eps` or torch's names: a number, a list with one for each group, or a `slice`
    """

def is_opt(o: Any) -> bool:
    """Whether `o` is a torch optimizer or a dict of them

    - `o`: Any object

    Returns: A wrapper counts if it has `param_groups`; a class or an empty dict does not
    """

def default_lr(opt_func: Any) -> float | None:
    """Tell which learning rate to give to `opt_func` if nobody names one

    - `opt_func`: As for `make_opt`

    Returns: None if the optimizer's own counts
    """

def make_opt(opt_func: Any, model: nn.Module, splitter: Callable=..., lr: Any=None, wd: Any=None, wd_bn_bias: bool=False) -> Any:
    """Make the torch optimizer that trains `model`

    - `opt_func`: Torch optimizer class, partial or function of groups; or an instance, or a dict of them, kept as it is
    - `model`: Model to train
    - `splitter`: Function from `model` to parameters or to lists of them, earliest layers first
    - `lr`: Learning rate, as in `set_hypers`; None for the optimizer's own
    - `wd`: Weight decay, as in `set_hypers`; None for the optimizer's own
    - `wd_bn_bias`: Decay norms and biases too? No: a scale near zero or a small bias is no simpler model
    """

class HeldParams:
    """What `opt` holds of the parameters of `model`, noted when it is made: `check` refuses what came or went since"""
    opts: Any
    splitter: Callable | None
    own_lr: Any
    made_by: Any
    names: dict
    left: Any
    told: Any
    def __init__(self, opt: Any, model: nn.Module, splitter: Callable | None=None) -> None:
        """- `opt`: Torch optimizer, or dict of them by name
        - `model`: Model that it trains
        - `splitter`: What its groups were made by; None if it was given as it is
        """
    def _expected(self, model: Any) -> Any:
        """The parameters of `model` that the optimizers should hold"""
    def check(self, model: nn.Module, in_fit: bool=False) -> Any:
        """Refuse a `model` with parameters that the optimizers should hold and don't, by name

        - `model`: Model that is to be trained now
        - `in_fit`: Is a fit on its way? Then what nobody holds is warned of, once
        """

def opt_recipe(opt: Any) -> dict:
    """Note what another optimizer like `opt` can be made by, as plain data

    - `opt`: A torch optimizer

    Returns: `cls`, as `module:name`, and `defaults`: numbers, tuples of numbers, flags
    """

def remake_func(recipe: dict) -> partial:
    """Find what makes an optimizer as in `recipe`

    - `recipe`: As `opt_recipe` makes it

    Returns: Function of groups
    """

def freeze_to(opt: Any, n: int, keep: Any=()) -> int:
    """Freeze the splitter groups of `opt` before `n`, and train the others

    - `opt`: Torch optimizer, or dict of them by name
    - `n`: First splitter group to train, from 0; a negative one counts from the end, so -1 trains the last group only
    - `keep`: Parameters that train in frozen groups too, such as `norm_params(model)`

    Returns: The first group that trains, counted from 0
    """

def step(opt: Any) -> None:
    """Step the optimizers in `opt`

    - `opt`: Torch optimizer, or dict of them by name
    """

def zero_grad(opt: Any) -> None:
    """Drop the gradients of all parameters of `opt` to None

    - `opt`: Torch optimizer, or dict of them by name
    """
