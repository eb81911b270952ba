# Written by `python -m tools.stubs` from `fast_step.py`: methods that other modules patch on are here, too
"""Step SGD and Adam on a CPU 2 to 4 times faster than torch, bit-identical"""

from typing import Any

__all__ = ['fast_step']

def fast_step(o: Any) -> bool:
    """Step `o` with the arithmetic of torch's own step, in fewer calls

    - `o`: Torch optimizer

    Returns: Whether it was stepped; if not, nothing has changed
    """
