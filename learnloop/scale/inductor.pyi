# Written by `python -m tools.stubs` from `inductor.py`: methods that other modules patch on are here, too
"""One function of tensors as a shared library, or as a CUDA graph"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

__all__ = ['TESTED', 'why_no_compiler', 'trace', 'replayed', 'cache_folder', 'build', 'load', 'reduce_overhead']

TESTED: tuple

def why_no_compiler() -> str:
    """Tell what is missing on this machine for graphs on the CPU

    Returns: '' if all is there
    """

def trace(f: Callable, args: list) -> tuple:
    """Write down what `f` does as a graph

    - `f`: Function of tensors; what it writes to them in place is part of the graph
    - `args`: Tensors like those that it will get

    Returns: The graph, a `GraphModule`; tensors that it takes besides `args`, after them
    """

def replayed(gm: Any) -> Callable:
    """Run a graph operation by operation

    - `gm`: A graph, as `trace` makes it

    Returns: Takes a list of tensors, returns a list of tensors
    """

def cache_folder(folder: Any=None) -> Path:
    """Find the folder in which libraries are kept

    - `folder`: Where; None for `LEARNLOOP_FUSE_CACHE`, or a folder in the user's cache

    Returns: It exists
    """

def build(gm: Any, args: list, folder: Any, on_new: Any=..., **options: Any) -> tuple:
    """Compile a graph to a shared library, unless that was done before

    - `gm`: A graph, as `trace` makes it
    - `args`: Tensors like those that it will get
    - `folder`: Where libraries are kept
    - `on_new`: Called with the folder before a compiler is: it takes a while
    - `options`: For `torch._inductor.config`

    Returns: Path of the library; was it there?
    """

def load(path: Any) -> Callable:
    """Load a compiled graph

    - `path`: Of a library that `build` made

    Returns: Takes a list of tensors, returns a list of tensors
    """

def reduce_overhead(gm: Any, args: list) -> Callable:
    """Compile a graph as `torch.compile(mode='reduce-overhead')` does, with CUDA graphs

    - `gm`: A graph, as `trace` makes it
    - `args`: Tensors like those that it will get

    Returns: Takes a list of tensors, returns a list of tensors
    """
