# Written by `python -m tools.stubs` from `image.py`: methods that other modules patch on are here, too
"""Tensors as pictures: what is an image, drawn by matplotlib, and as Pillow has it"""

from torch import Tensor
from typing import Any

__all__ = ['is_image', 'stretch', 'show_image', 'to_pil']

def is_image(x: Any) -> bool:
    """Whether `x` is a tensor that can be shown as an image: (1,h,w) or (3,h,w)

    - `x`: Anything
    """

def stretch(x: Tensor) -> Tensor:
    """Stretch the range of `x` to 0 to 1, if it goes beyond

    - `x`: Image of any type, in any layout

    Returns: As it is, if of uint8; else floats from 0 to 1
    """

def show_image(ax: Any, x: Tensor, **kwargs: Any) -> None:
    """Draw an image, its range stretched to 0 to 1 if it goes beyond

    - `ax`: Axes to draw on
    - `x`: Image, (1,h,w) or (3,h,w)
    - `kwargs`: To `ax.imshow`
    """

def to_pil(x: Any) -> Any:
    """Make an image of Pillow's of `x`, its range stretched to 0 to 1 if it goes beyond

    - `x`: Image, (1,h,w) or (3,h,w), or a mask, (h,w): a tensor or an array
    """
