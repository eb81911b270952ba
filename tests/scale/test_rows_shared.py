"Each process knows the rows of its part of a batch, and the parts together have the rows of one process"
from learnloop.data.tensors import TensorLoader
from rows_seen import MADE, X, fit, mk
from together import together

LOADERS = dict(shuffled=mk, workers=lambda: mk(workers='2 workers'), whole=lambda: mk('whole', 'weighted'), subset=lambda: mk('subset', 'batched'),
    tensors=lambda: TensorLoader((X, X), 4, shuffle=True)) | {k:lambda f=f: f(mk()) for k,f in MADE.items() if k!='itself'}
def every(): return {k:fit(f, to=lambda learn: learn.to_ddp()) for k,f in LOADERS.items()}
def joined(parts):
    "Join the rows of the parts of a batch"
    if isinstance(parts[0], dict): return {k:joined([o[k] for o in parts]) for k in parts[0]}
    return tuple(map(joined, zip(*parts, strict=True))) if isinstance(parts[0], tuple) else sum(parts, [])

def test_the_rows_of_two_processes_are_those_of_one():
    a,b = together(every)
    for k,f in LOADERS.items():
        want = [o for o in fit(f)]
        assert [(s, joined([r, q])) for (s,r),(_,q) in zip(a[k], b[k], strict=True)]==want, k
