"Run a function in several processes, which are ended when they exceed a time limit"
import os
import torch._dynamo  # noqa: F401  DDP needs it: 2 s in each of the processes, unless it is here  # chkstyle: ignore
from learnloop.scale.launch import launch

LIMIT = 400 # Seconds. Only a test that hangs takes so long, even on a busy machine
SOON = 150  # Seconds, less than LIMIT: what ends sooner didn't wait for the limit
ALL = bool(os.environ.get('ALL_CASES'))

def together(f, *args, n=2, timeout=LIMIT):
    "Call `f(*args)` in `n` processes; return the results as a list, by rank"
    res = launch(f, *args, n=n, timeout=timeout)
    return [res[r] for r in range(n)]

def ending(f, *args):
    "Return the result of `f(*args)`, or the type and text of its error"
    try: return f(*args)
    except BaseException as e: return type(e).__name__,str(e)

def same(vals):
    "Return the value that all ranks returned"
    assert all(o==vals[0] for o in vals), vals
    return vals[0]
