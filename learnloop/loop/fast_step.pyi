# Written by `python -m tools.stubs` from `fast_step.py`: methods that other modules patch on are here, too
"""Step SGD and Adam on a CPU 2 to 4 times faster than torch, bit-identical"""

from torch import Tensor
from typing import Any

__all__ = ['fast_step', 'fast_backward']

def fast_step(o: Any) -> bool:
    """Step `o` with the arithmetic of torch's own step, in fewer calls

    - `o`: Torch optimizer

    Returns: Whether it was stepped; if not, nothing has changed
    """

def fast_backward(loss: Tensor) -> None:
    """Add the gradients of `loss` to `.grad` of the leaves of its graph

    - `loss`: Scalar with a graph
    """
