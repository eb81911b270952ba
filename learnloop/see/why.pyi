# Written by `python -m tools.stubs` from `why.py`: methods that other modules patch on are here, too
"""Why a phase, an event or a callback's turn was missing: a trace answers in words"""



__all__ = []
