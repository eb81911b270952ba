# Written by `python -m tools.stubs` from `switch_opt.py`: methods that other modules patch on are here, too
"""Switch to another optimizer in the middle of a fit: schedules, checkpoints and accumulation go on with it"""



__all__ = []
