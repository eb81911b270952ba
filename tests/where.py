"""Where two trainings part: what tests add to their message when weights that should be the same aren't

Fits of learnloop are run again, each with a `Fingerprint`, and compared by `diff_runs`; other trainers by what their torch optimizers are given in each step, and
make of it. Nothing of it runs in a test that passes.
"""
import json, runpy, sys
from contextlib import contextmanager, suppress
from itertools import zip_longest
from pathlib import Path
from tempfile import TemporaryDirectory
from learnloop import Fingerprint, Learner, diff_runs
from torch.optim import optimizer

# ---- fits of learnloop

@contextmanager
def fingerprinted(folder):
    "Each learner that is made in here notes what it does in `folder`, a run that goes on included"
    init,path = Learner.__init__,Path(folder).resolve()/'fingerprint.bin'
    def noting(self, *args, **kwargs):
        init(self, *args, **kwargs)
        self.add_cb(Fingerprint(detail=1, fname=path))
    Learner.__init__ = noting
    try: yield
    finally: Learner.__init__ = init

def noted(folder, f, *args):
    "`f(*args)`, fingerprinted: for other processes"
    with fingerprinted(folder): return f(*args)

def where(a, b, tol=0.):
    "In which step the fits part that `a(folder)` and `b(folder)` run, and in what"
    def _both():
        with TemporaryDirectory() as tmp:
            folders = [Path(tmp, o) for o in 'ab']
            for f,folder in zip((a, b), folders, strict=True): f(folder)
            return str(diff_runs(*folders, tol=tol))
    return told(_both)

def told(why):
    "What `why()` returns, or why it doesn't: a test says what it found, whatever comes of this"
    try: return why()
    except Exception as e: return f'They could not be compared: {type(e).__name__}: {e}'

@contextmanager
def tells_where(a, b, tol=0.):
    "If what is asserted in here doesn't hold, say where the fits that the functions `a` and `b` run part"
    with explained(lambda: where(*[lambda folder, f=f: noted(folder, f) for f in (a, b)], tol)): yield

@contextmanager
def explained(why):
    "If what is asserted in here doesn't hold, add what `why()` says"
    try: yield
    except AssertionError as e:
        e.add_note(told(why))
        raise

# ---- any trainer

@contextmanager
def steps():
    "A list that gets, for each step of a torch optimizer, its gradients and the weights that it leaves: pairs of shape and norm"
    seen = []
    def _norms(opt, of): return sorted((str([*o.shape]), float(o.norm())) for g in opt.param_groups for p in g['params'] if (o := of(p)) is not None)
    def _after(opt, args, kwargs):  # and not before: a closure may make the gradients
        seen.append(dict(gradients=_norms(opt, lambda p: p.grad), weights=_norms(opt, lambda p: p.detach())))
    handle = optimizer.register_optimizer_step_post_hook(_after)
    try: yield seen
    finally: handle.remove()

def where_steps(a, b, tol=0.):
    "The first of the `steps` in which two trainings part, and in what"
    if not (a and b): return 'No torch optimizer made a step in one of them.'
    for i,(x,y) in enumerate(zip_longest(a, b)):
        if x is None or y is None: return f'Equal for {i} steps, and then only one of the two goes on.'
        for kind in ('gradients','weights'):
            for p,q in zip_longest(x[kind], y[kind]):
                if p is None or q is None or p[0]!=q[0]: return f'Equal for {i} steps; in step {i+1} there are {kind} of other shapes: {p} and {q}.'
                if abs(p[1]-q[1])>tol*max(abs(p[1]), abs(q[1])):
                    return f'Equal for {i} steps; in step {i+1} {kind} of shape {p[0]} have the norms {p[1]:.9g} and {q[1]:.9g}.'
    return f'Equal in all {len(a)} steps of torch optimizers.'

def run_noted(script, file):
    "Run a script, and write its steps to a file"
    sys.argv = [script]
    sys.path.insert(0, str(Path(script).parent))
    with steps() as seen, suppress(SystemExit): runpy.run_path(script, run_name='__main__')
    Path(file).write_text(json.dumps(seen))

if __name__=='__main__': run_noted(*sys.argv[1:])
