# Written by `python -m tools.stubs` from `undo.py`: methods that other modules patch on are here, too
"""A `with` block at whose end the learner is what it was at its start"""



__all__ = []
