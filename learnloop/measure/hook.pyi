# Written by `python -m tools.stubs` from `hook.py`: methods that other modules patch on are here, too
"""What happens inside a model: hear its layers, watch their activations, list their shapes"""

from contextlib import contextmanager
from dataclasses import dataclass
from learnloop.loop.callback import Callback
from learnloop.loop.learner import Learner
from torch import nn
from typing import Any
import torch

__all__ = ['Hook', 'tensors_in', 'Hooks', 'hook_output', 'hook_outputs', 'HookCallback', 'uncompiled', 'ActivationStats', 'summarize', 'kept_buffers', 'LayerRow', 'ModelSummary', 'label_of', 'total_params', 'dummy_eval', 'model_sizes', 'num_features_model']

class Hook:
    """Have `hook_func` hear what goes through `m`, until `remove`, or in a `with` block"""
    m: nn.Module
    hook_func: Any
    detach: bool
    cpu: bool
    stored: Any
    hook: Any
    def __init__(self, m: nn.Module, hook_func: Any, is_forward: bool=True, detach: bool=True, cpu: bool=False) -> None:
        """- `m`: The module to listen to
        - `hook_func`: `hook_func(m, inputs, output)`, or `hook_func(m, (), grads)`; `stored` has its value
        - `is_forward`: Going forward? Otherwise going backward
        - `detach`: Give it tensors without their graph? With it, `stored` may keep a whole graph alive
        - `cpu`: Move them to the CPU first? Each time, that waits for the device
        """
    def _call(self, m: Any, inp: Any, out: Any) -> Any: ...
    def _watch(self, m: Any, inp: Any, out: Any) -> Any: ...
    def remove(self) -> Any:
        """Stop listening; `stored` stays"""
    def __deepcopy__(self, memo: Any) -> Any:
        """- `memo`: so that `_call` can tell a copy of the model"""
    def __enter__(self) -> Any: ...
    def __exit__(self, *args: Any) -> None: ...

def tensors_in(o: Any) -> list:
    """List the tensors in `o`, in order

    - `o`: A tensor, or containers of tensors in any nesting

    Returns: Tensors alone; what is none is passed over
    """

class Hooks:
    """A `Hook` for each of several modules"""
    hooks: list
    def __init__(self, ms: Any, hook_func: Any, is_forward: bool=True, detach: bool=True, cpu: bool=False) -> None:
        """- `ms`: The modules to listen to
        - `hook_func`: As in `Hook`
        - `is_forward`: Going forward? Otherwise going backward
        - `detach`: Give it tensors without their graph?
        - `cpu`: Move them to the CPU first?
        """
    @property
    def stored(self) -> list:
        """What `hook_func` returned last, for each module"""
    def remove(self) -> Any:
        """Stop listening"""
    def __getitem__(self, i: Any) -> Any: ...
    def __len__(self) -> Any: ...
    def __enter__(self) -> Any: ...
    def __exit__(self, *args: Any) -> None: ...

def hook_output(module: nn.Module, detach: bool=True, cpu: bool=False, grad: bool=False) -> Hook:
    """Keep the output of `module`

    - `module`: The module to listen to
    - `detach`: A copy, without graph? Otherwise the very tensor
    - `cpu`: On the CPU?
    - `grad`: The gradients of what comes out, a tuple, in place of what comes out?

    Returns: With the last output in `stored`
    """

def hook_outputs(modules: Any, detach: bool=True, cpu: bool=False, grad: bool=False) -> Hooks:
    """Keep the outputs of `modules`

    - `modules`: The modules to listen to
    - `detach`: Copies, without graph?
    - `cpu`: On the CPU?
    - `grad`: Gradients, in place of outputs?

    Returns: With the last output of each in `stored`
    """

class HookCallback(Callback):
    """Have `hook` hear modules in fits and evaluations; what it returned last is in `hooks.stored`"""
    hook: Any
    hooks: Any
    rank_invariant: bool
    modules: Any
    include_paramless: bool
    every: int | None
    remove_end: bool
    is_forward: bool
    detach: bool
    cpu: bool
    names: list
    _on: Any
    def __init__(self, modules: Any=None, every: int | None=None, remove_end: bool=True, is_forward: bool=True, detach: bool=True, cpu: bool=True, include_paramless: bool=False, hook: Any=None) -> None:
        """- `modules`: The modules to listen to; None for all layers of the model
        - `every`: Only in each n-th batch of training, from the first; None for all there is
        - `remove_end`: Remove hooks at the end? Else, after a fit that went well, by the next or `remove`
        - `is_forward`: Going forward? Otherwise going backward
        - `detach`: Give `hook` tensors without their graph?
        - `cpu`: Move them to the CPU first? Saves the device's memory, and waits for it
        - `include_paramless`: Layers without parameters, too, if `modules` is None?
        - `hook`: Called as `hook(m, inputs, output)`; None for the method, which copies the output
        """
    def before_fit(self) -> Any: ...
    def before_batch(self) -> Any: ...
    def cleanup_batch(self) -> Any: ...
    def cleanup_fit(self) -> Any: ...
    def remove(self) -> Any:  # measure/hook.py
        """Remove the hooks, if there are any"""
    def _register(self) -> Any: ...  # measure/hook.py

def uncompiled(model: nn.Module) -> nn.Module:
    """The module that `torch.compile` has wrapped; `model` itself if it has not

    - `model`: Any module
    """

class ActivationStats(HookCallback):
    """Record mean, standard deviation and share near zero of what layers put out in each batch of training"""
    order: int
    fit_only: bool
    run_valid: bool
    safe_in_evaluate: bool
    near: float
    bins: int
    top: float
    with_hist: bool
    _calls: dict
    _new: list
    _blocks: list
    _iters: list
    _at: Any
    def __init__(self, with_hist: bool=False, every: int=1, **kwargs: Any) -> None:
        """- `with_hist`: Histograms of magnitudes, too, for `color_dim`?
        - `every`: Look at each n-th batch, from the first
        - `kwargs`: To `HookCallback`; `is_forward=False` for gradients
        """
    def _clear(self) -> Any: ...
    def hook(self, m: Any, inp: Any, out: Any) -> Any:
        """Measure the first floating-point tensor of `out`"""
    def before_fit(self) -> Any: ...
    def before_batch(self) -> Any: ...
    def cleanup_batch(self) -> Any: ...
    def _take(self) -> Any: ...  # measure/hook.py
    def _stack(self) -> Any: ...  # measure/hook.py
    @property
    def stats(self) -> dict:  # measure/hook.py
        """Look: fetch from the device what was recorded in the last fit

        Returns: `mean`, `std`, `near_zero`: (batches, layers); perhaps `hist`: with bins
        """
    def layer_stats(self, idx: int | str) -> torch.Tensor:  # measure/hook.py
        """Get mean, standard deviation and share near zero of a layer, batch by batch

        - `idx`: The layer: its place in `names`, or its name

        Returns: (3, batches)
        """
    def _place_of(self, layer: Any) -> Any:  # measure/hook.py
        """Number of the layer that is named by its place or name"""
    def plot_layer_stats(self, idx: Any=None, figsize: Any=(9, 2)) -> list:  # measure/hook.py
        """Plot mean, standard deviation and share near zero of layers by batch

        - `idx`: Layers, by place or name: one or several; None for all
        - `figsize`: Inches

        Returns: The three axes
        """
    def hist(self, idx: int | str) -> torch.Tensor:  # measure/hook.py
        """Get the histograms of a layer, batch by batch

        - `idx`: The layer: its place in `names`, or its name

        Returns: Logarithm of 1 + number of values, (bins, batches)
        """
    def color_dim(self, idx: int | str, figsize: Any=(5, 2), ax: Any=None) -> Any:  # measure/hook.py
        """Draw the histograms of a layer side by side, magnitudes upward, batches to the right

        - `idx`: The layer: its place in `names`, or its name
        - `figsize`: Inches
        - `ax`: Axes to draw on; None for new ones
        """

def summarize(learn: Learner, batch: Any=None) -> Any:
    """Send a batch through the model, and describe the layers; prints nothing

    - `learn`: The learner
    - `batch`: As for `learn.summary`
    """

@contextmanager
def kept_buffers(*models: Any) -> Any:
    """Put buffers back at the end of a `with` block: observers of quantization write to theirs, in any mode

    - `models`: Modules
    """

@dataclass(slots=True)
class LayerRow:
    """A layer, as a batch went through it"""
    name: str
    type: str
    output: str
    n_params: int
    trainable: str

class ModelSummary:
    """What `summary` returns: text, and Markdown in notebooks"""
    type: Any
    rows: Any
    n_params: Any
    n_trainable: Any
    input: Any
    title: Any
    loss: Any
    optimizers: list
    lines: list
    def __init__(self, learn: Learner, model: nn.Module, xb: tuple=(), outputs: dict | None=None) -> None:
        """- `learn`: The learner
        - `model`: Its model, uncompiled
        - `xb`: The inputs that went through it; none if no batch did
        - `outputs`: For each layer in the order of calls, how often it had an output of which description
        """
    def _table(self) -> Any: ...
    def __repr__(self) -> Any: ...
    def _repr_markdown_(self) -> Any: ...

def label_of(o: Any) -> str:
    """Name of a function or class; of any other object, that of its class

    - `o`: A function or an object, perhaps in `partial`s
    """

def total_params(m: nn.Module) -> tuple:
    """Count parameters; those that are shared count once

    - `m`: Any module

    Returns: Number of its parameters, and of those that train
    """

def dummy_eval(m: nn.Module, size: tuple=(64, 64)) -> Any:
    """Put an image of noise through `m`

    - `m`: A model whose first parameter with more than two dimensions belongs to a convolution
    - `size`: Height and width of the image; as many numbers as the convolution has directions
    """

def model_sizes(m: nn.Module, size: tuple=(64, 64)) -> list:
    """List the shapes that come out of the children of `m`

    - `m`: The model, as for `dummy_eval`
    - `size`: Of the image

    Returns: The shape for each child of `m`; None for one that wasn't called
    """

def num_features_model(m: nn.Module, size: tuple=(64, 64)) -> int:
    """Count the features that come out of the last child of `m`

    - `m`: The model, as for `dummy_eval`
    - `size`: Of the image; larger if the model makes nothing of one so small
    """
