"""Measure compiled steps: their cost as a ratio to a loop written by hand, the time to build a graph, and the accuracy of weights

Ways take turns in chunks within one fit (`benchmarks.chunks`), on one thread: by hand; a learner after `learn.fuse()`; with `--compile`, the loop by hand over
`torch.compile(model)`; and the loop by hand again, whose distance from 1 is noise. Graphs are built before the measured chunks. "edited" is a fit with a
callback that changes gradients before each step, so that the part after the gradients isn't compiled.

"built" is the wall time that a fit waits for its graph: in a fresh process with an empty cache, and then in another process. With `--cache FOLDER`, graphs are
taken from there, and this part is omitted.

"losses" is the largest difference of the first ten losses to those of an ordinary fit. "weights" is the distance of weights from those of an ordinary fit after
200 steps, as a multiple of a yardstick: the distance between two ordinary fits whose initial weights differ by a factor of 1+1e-7. Both are medians over 16
initial weights, because rounding changes the sign of a ReLU's input in some fits and not in others: a distance is then about 1e-6 or about 1e-3.

    python -m benchmarks.fuse
    python -m benchmarks.fuse --models tiny --rounds 1 --cache /tmp/fused   # a quick look
    python -m benchmarks.fuse --check                                       # five runs; fails if a target is missed
"""
import json, subprocess, sys, tempfile, torch
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from statistics import median
from benchmarks import results
from benchmarks.contenders import quiet
from benchmarks.overhead import AGAIN, Bench
from benchmarks.works import WORKS, by_hand, by_learner, new_batches, new_learner, new_model, new_opt

import_module('learnloop.scale.fuse')  # adds a method to the learner

EDITED = 'tiny, gradients edited'
EDIT_LIMIT = .27
N_STEPS,N_LOSSES,N_SEEDS = 200,10,16
LOSS_LIMIT,YARD_LIMIT = 1e-6,3.
PARTS = 'ratio','build','accuracy'

# ---- ways of training

def fused(work, model, dl, cbs=(), **kwargs):
    "Train with a fused learner; return it"
    return by_learner(work, model, dl, cbs=cbs, prepare=lambda learn: learn.fuse(**kwargs))

def compiled(work, model, dl): by_hand(work, torch.compile(model), dl)

def edit_grads(params):
    "Edit gradients, as a callback might"
    torch._foreach_mul_([p.grad for p in params], .9)

def edited_by_hand(work, model, dl):
    opt,params = new_opt(work, model),[*model.parameters()]
    model.train()
    for xb,yb in dl:
        loss = work.loss(model(xb), yb)
        loss.backward()
        edit_grads(params)
        opt.step()
        opt.zero_grad()

def new_editor():
    from learnloop import Callback
    class EditGrads(Callback):
        def before_fit(self): self.params = [*self.learn.model.parameters()]
        def before_step(self): edit_grads(self.params)
    return EditGrads()

def edited(work, model, dl, **kwargs): return fused(work, model, dl, cbs=[new_editor()], **kwargs)

def whole(region, f, *args, **kwargs):
    "Let `f` train, and check that its steps were fused as far as `region` says"
    learn = f(*args, **kwargs)
    rep = learn.fuse_report()
    if region not in rep.fused or rep.fused[region]<sum(rep.eager.values()): raise RuntimeError(f'steps were not fused:\n{rep}')

def ratio_rows(bench, name, options, compiles):
    way = partial(bench.way, work=WORKS['tiny' if name==EDITED else name])
    f,by,region,limit = (edited,edited_by_hand,'grads',EDIT_LIMIT) if name==EDITED else (fused,by_hand,'whole',WORKS[name].fused)
    ways = {'by hand':way(by), 'fused':way(partial(whole, region, f, **options))}
    if compiles and name!=EDITED: ways['torch.compile(model)'] = way(compiled)
    return bench.rows(name, ways | {AGAIN:way(by)}, dict(fused=limit))

# ---- building

def build_once(name, options, seed):
    "Print how the graph of a fit was built in this process"
    work = WORKS[name]
    learn = fused(work, new_model(work, seed), new_batches(work, seed, 4), **options)
    print(json.dumps([(o.get('seconds'), o.get('was there')) for o in learn.fuse_report().graphs]))

def ask_build(name, options, seed):
    cmd = [sys.executable, '-m', 'benchmarks.fuse', '--one', name, '--seed', str(seed), '--options', json.dumps(options)]
    out = subprocess.run(cmd, capture_output=True, text=True, timeout=1800)
    graphs = json.loads(out.stdout.splitlines()[-1]) if not out.returncode else []
    if not graphs or any(o[0] is None for o in graphs): raise RuntimeError(f'{name}: nothing was built: {out.stdout[-500:]} {out.stderr[-2000:]}')
    return graphs

def build_rows(name, options, seed):
    cold,warm = (ask_build(name, options, seed) for _ in range(2))
    for k,graphs in (('built, cold', cold), ('built, warm', warm)):
        yield results.row(name, k, [sum(secs for secs,_ in graphs)], unit='seconds by the wall', from_disk=all(there for _,there in graphs))

# ---- accuracy

def losses_and_weights(name, seed, n, options=None, scale=1.):
    "Return losses and weights of a fit on `n` batches; fused if there are options"
    from learnloop import Callback
    work,losses = WORKS[name],[]
    class Losses(Callback):
        read_only = True
        def after_batch(self): losses.append(self.learn.loss.item())
    model = new_model(work, seed)
    with torch.no_grad(): [p.mul_(scale) for p in model.parameters()]
    learn = new_learner(work, model, new_batches(work, seed, n), [Losses()])
    if options is not None: learn.fuse(**options)
    torch.manual_seed(seed)
    with learn.no_bar(), learn.no_logging(): learn.fit(1)
    return torch.tensor(losses, dtype=torch.float64),torch.cat([p.detach().double().flatten() for p in model.parameters()])

def accuracy_rows(name, options, seed, n=N_STEPS, n_seeds=N_SEEDS):
    "Compare fused fits with ordinary ones for several initial weights, since rounding affects each differently"
    def _apart(a, b): return torch.linalg.vector_norm(a[1]-b[1]).item()
    losses,apart,yards = [],[],[]
    for s in range(seed, seed+n_seeds):
        eager,scaled = (losses_and_weights(name, s, n, scale=o) for o in (1., 1+1e-7))
        ours = losses_and_weights(name, s, n, options)
        losses.append((ours[0]-eager[0])[:N_LOSSES].abs().max().item())
        apart.append(_apart(ours, eager))
        yards.append(_apart(scaled, eager))
    yield results.row(name, 'losses', [max(losses)], unit='largest difference', limit=LOSS_LIMIT, of_seeds=losses)
    yield results.row(name, 'weights', [median(apart)/median(yards)], unit='times the yardstick', limit=YARD_LIMIT, distances=apart, yardsticks=yards)

# ---- the run

def measure(args, options):
    bench,rows = Bench(args.rounds, args.chunks, args.seed, .05),[]
    for k in args.models:
        print(f'{k}:', file=sys.stderr, flush=True)
        if 'build' in args.parts and not args.cache and k!=EDITED and not args.built:
            rows += build_rows(k, options, args.seed)
        if 'ratio' in args.parts: rows += ratio_rows(bench, k, options, args.compile)
        if 'accuracy' in args.parts and k!=EDITED: rows += accuracy_rows(k, options, args.seed, args.steps, args.seeds)
    args.built = True  # the cache is empty only in the first run
    return rows

@contextmanager
def cache(folder):
    "Provide a folder for graphs in a `with` block: `folder`, or a temporary one"
    if folder: yield folder
    else:
        with tempfile.TemporaryDirectory() as d: yield d

def parse_args(argv=None):
    cfg = results.settings()
    p = ArgumentParser('python -m benchmarks.fuse', description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    names = [*WORKS, EDITED]
    p.add_argument('--models', nargs='*', choices=names, default=names, help='default: all')
    p.add_argument('--parts', nargs='*', choices=PARTS, default=[*PARTS], help='default: all')
    p.add_argument('--compile', action='store_true', help='time torch.compile(model), too')
    p.add_argument('--cache', metavar='FOLDER', help='keep graphs there, and take them from there')
    p.add_argument('--backend', help='of learn.fuse(); None for what the device is for')
    p.add_argument('--rounds', type=int, default=cfg.fits, help='fits of each, for which graphs are loaded anew; default: %(default)s (settings.ini)')
    p.add_argument('--chunks', type=int, default=2*cfg.chunks, help='that count in each fit; default: %(default)s')
    p.add_argument('--steps', type=int, default=N_STEPS, help='after which weights are compared; default: %(default)s')
    p.add_argument('--seeds', type=int, default=N_SEEDS, help='first weights with which they are; default: %(default)s')
    p.add_argument('--seed', type=int, default=cfg.seed, help='default: %(default)s (settings.ini)')
    p.add_argument('--one', metavar='MODEL', help='build in this process')
    p.add_argument('--options', help='of learn.fuse(), with --one')
    results.add_options(p)
    return p.parse_args(argv)

def main(argv=None):
    args = parse_args(argv)
    args.built = False
    torch.set_num_threads(1)
    quiet()
    if args.one: return build_once(args.one, json.loads(args.options), args.seed)
    with cache(args.cache) as d:
        options = dict(cache=d, backend=args.backend)
        return results.report(args, partial(measure, args, options), rounds=args.rounds, chunks=args.chunks)

if __name__=='__main__': main()
