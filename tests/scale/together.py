"What tests of several processes share: a function run in some, that are ended when they take too long"
import torch._dynamo  # noqa: F401  DDP needs it: 2 s in each of the processes, unless it is here  # chkstyle: ignore
from learnloop.scale.launch import launch

LIMIT = 150 # Seconds: ten times what any of them takes on a busy machine
SOON = 60  # Seconds in which whoever needs no limit is done, on a busy machine, too

def together(f, *args, n=2, timeout=LIMIT):
    "What `f(*args)` returned in each of `n` processes, by rank, in a list"
    res = launch(f, *args, n=n, timeout=timeout)
    return [res[r] for r in range(n)]

def ending(f, *args):
    "What becomes of `f(*args)`: its result, or the type and text of its error, for processes that are to fail and tell"
    try: return f(*args)
    except BaseException as e: return type(e).__name__,str(e)

def same(vals):
    "The value that all ranks have returned"
    assert all(o==vals[0] for o in vals), vals
    return vals[0]
