"""Measure costs that don't depend on the model's arithmetic: many small tensors, many callbacks, and short fits

"10,000 tensors" is a step of a model whose weights are that many small tensors, as a ratio to the loop by hand, in chunks that take turns (`benchmarks.chunks`).
The others are milliseconds of CPU time beyond a loop by hand over as many batches: setting up a fit with 500 callbacks, creating a learner and fitting eight
batches, and another fit of eight batches. They take turns, in a new order each round.

    python -m benchmarks.tensors
    python -m benchmarks.tensors --rounds 2 --n 100   # a quick look
"""
import gc, io, random, time, torch
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from contextlib import redirect_stdout
from functools import partial
from torch import nn
from torch.optim import SGD
from benchmarks import results
from benchmarks.chunks import LOADERS
from benchmarks.contenders import quiet
from benchmarks.overhead import AGAIN, EVENTS, SHORT, Bench, noops
from benchmarks.works import WORKS, Work, by_hand, by_learner, new_batches, new_learner, new_model, new_opt

N_TENSORS,N_CALLBACKS = 10_000,500
FIRST,FURTHER = 'a learner and a fit of 8 batches','a further fit of 8 batches'
LIMITS = {FIRST:2., FURTHER:1.5}
MS = 'ms beyond by hand'

class Many(nn.Module):
    "A model of `n` small tensors, all of them used"
    def __init__(self, n):
        super().__init__()
        self.ws = nn.ParameterList(nn.Parameter(torch.randn(4)) for _ in range(n))
    def forward(self, x): return x@torch.stack([*self.ws]).mean(0)

def _many_batch(g): return torch.randn(8, 4, generator=g),torch.randn(8, generator=g)

def tensor_rows(bench, n):
    work = Work(partial(Many, n), _many_batch, SGD, 1e-2, loss=nn.functional.mse_loss)
    way = partial(bench.way, work=work, mk=LOADERS['list'])
    ways = {'by hand':way(by_hand), 'learnloop':way(by_learner), AGAIN:way(by_hand)}
    yield from bench.rows(f'{n:,} tensors', ways, dict(learnloop=1.))

# ---- short fits

def timed(f, *args, **kwargs):
    "Return the CPU milliseconds of a call, and its result"
    gc.collect()
    gc.freeze()
    start = time.process_time()
    res = f(*args, **kwargs)
    return 1e3*(time.process_time()-start),res

def fit(learn):
    with learn.no_bar(), learn.no_logging(): learn.fit(1)

def hand_twice(work, seed, dl):
    "Return the milliseconds of a loop by hand, and of continuing it"
    model = new_model(work, seed)
    def first():
        opt = new_opt(work, model)
        by_hand(work, model, dl, opt=opt)
        return opt
    ms,opt = timed(first)
    return ms,timed(by_hand, work, model, dl, opt=opt)[0]

def learner_twice(work, seed, dl, n_cbs=0):
    "Return the same for a learner"
    from learnloop import Callback
    model,cbs = new_model(work, seed),noops(Callback, n_cbs, EVENTS)
    def first():
        learn = new_learner(work, model, dl, cbs)
        fit(learn)
        return learn
    ms,learn = timed(first)
    return ms,timed(fit, learn)[0]

def short_rows(seed, rounds, n_cbs):
    work = WORKS['tiny']
    dl,order = new_batches(work, seed, SHORT),random.Random(seed)
    ways = dict(hand=partial(hand_twice, work, seed, dl), learner=partial(learner_twice, work, seed, dl),
        many=partial(learner_twice, work, seed, dl, n_cbs=n_cbs))
    got = {k:[] for k in ways}
    with redirect_stdout(io.StringIO()):
        for i in range(rounds+1):  # the first warms up
            outs = {k:ways[k]() for k in order.sample([*ways], len(ways))}
            if i:
                for k,o in outs.items(): got[k].append(o)
    gc.unfreeze()
    def _more(a, b, i): return [x[i]-y[i] for x,y in zip(got[a], got[b], strict=True)]
    for i,k in enumerate((FIRST, FURTHER)): yield results.row('tiny', k, _more('learner', 'hand', i), unit=MS, limit=LIMITS[k])
    yield results.row('tiny', f'setting up {n_cbs} callbacks', _more('many', 'learner', 0), unit='ms beyond a learner without', limit=100.)

# ---- the run

def measure(args):
    bench = Bench(args.rounds, args.chunks, args.seed)
    return [*tensor_rows(bench, args.n), *short_rows(args.seed, 4*args.rounds, args.n_cbs)]

def parse_args(argv=None):
    cfg = results.settings()
    p = ArgumentParser('python -m benchmarks.tensors', description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    p.add_argument('--n', type=int, default=N_TENSORS, help='tensors; default: %(default)s')
    p.add_argument('--n-cbs', type=int, default=N_CALLBACKS, help='callbacks; default: %(default)s')
    p.add_argument('--rounds', type=int, default=3, help='fits of many tensors, four times as many short ones; default: %(default)s')
    p.add_argument('--chunks', type=int, default=cfg.chunks, help='default: %(default)s (settings.ini)')
    p.add_argument('--seed', type=int, default=cfg.seed, help='default: %(default)s (settings.ini)')
    results.add_options(p)
    return p.parse_args(argv)

def main(argv=None):
    args = parse_args(argv)
    torch.set_num_threads(1)
    quiet()
    return results.report(args, partial(measure, args), rounds=args.rounds, chunks=args.chunks)

if __name__=='__main__': main()
