# Written by `python -m tools.stubs` from `learner_opt.py`: methods that other modules patch on are here, too
"""Making it, its learning rate, freezing, and checks that it holds all that is to train"""



__all__ = []
