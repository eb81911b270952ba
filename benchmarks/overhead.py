"""Measure the cost of a training step in learnloop and its peers, as a ratio to a loop written by hand

Ways of training take turns in chunks of about 20 ms within one fit (`benchmarks.chunks`), on one thread, so that other load on the machine affects all of them
equally. Each row is the median over chunks of all rounds; a round is one fit of each way. "by hand, again" is a control: its distance from 1 is noise. There are

- `works`: models with their optimizers, over a list of batches, by a learner with its default callbacks;
- `variants` with the smallest model: callbacks that do nothing, a progress bar in a terminal, metrics;
- `loaders`: other loaders than a list, with the smallest model;
- `peers`, where they are installed, with the smallest model, over a `DataLoader` of ready-made batches. Install them in a separate environment:

    python3 -m venv ../peers
    ../peers/bin/pip install -c constraints.txt -e . pytorch-ignite lightning skorch \\
        pytorch-accelerated keras transformers accelerate fastai
    ../peers/bin/python -m benchmarks.overhead --groups peers

`--against COMMIT` compares with learnloop at another commit: both versions in turns, each in its own process. "times raw" is the median over rounds of the
ratio to the hand-written loop in the same process and round. "more" is the median of the differences, with the middle half of them.

If the torchvision that fastai installs doesn't match the build of torch, uninstall it: it isn't needed here.
"""
import fcntl, gc, io, os, pty, random, struct, subprocess, sys, termios, time, torch
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from contextlib import contextmanager, redirect_stdout
from functools import partial
from importlib import import_module
from statistics import median
from typing import NamedTuple
from torch import nn
from torch.nn import functional as F
from benchmarks import chunks, results
from benchmarks.chunks import LOADERS, fitting, ratios
from benchmarks.contenders import CONTENDERS, loader, quiet
from benchmarks.results import quartiles
from benchmarks.versions import versions
from benchmarks.works import WORKS, by_hand, by_learner, new_batches, new_learner, new_model

N_CBS = 5   # Callbacks that do nothing
SHORT = 8   # Batches of the short fit
PRICED = 'tiny'
AGAIN = 'by hand, again'
GROUPS = 'works','variants','loaders','peers'
EVENTS = 'before_batch after_pred after_loss before_backward after_backward before_step after_step after_batch'.split()
NOOPS,BAR,METRICS = f'{N_CBS} no-op callbacks on {len(EVENTS)} events','progress bar in a terminal','3 metrics in validation'
LIMITS = {'own Dataset':1., 'generator':1., NOOPS:.9, BAR:1.05}

def noop(*args, **kwargs): "An empty hook of a callback"

def noops(base, n, hooks):
    "Make `n` callbacks of different classes, since some libraries refuse two of one class"
    return [type(f'Noop{i}', (base,), dict.fromkeys(hooks, noop))() for i in range(n)]

# ---- ways of training

class Bench(NamedTuple):
    rounds: int # Fits of each way
    chunks: int # In each
    seed: int
    chunk: float = chunks.CHUNK

    def rows(self, group, ways, limits, **kwargs):
        "Return the rows of `ways`; the others are compared with the first"
        print(f'  {group}: {", ".join(ways)}', file=sys.stderr, flush=True)
        per = fitting(next(iter(ways.values())), chunk=self.chunk)
        with redirect_stdout(io.StringIO()): res = ratios(ways, self.chunks, per, self.rounds, random.Random(self.seed))
        return [results.row(group, k, v, limit=limits.get(k), per=per, **kwargs) for k,v in [*res.items()][1:]]

    def way(self, f, work, mk=LOADERS['list']):
        "Make a way of training from `f(work, model, dl)`"
        batches = new_batches(work, self.seed, 50)
        def train(tick, n): f(work, new_model(work, self.seed), mk(batches, n, tick))
        return train

def work_rows(bench, names):
    for k in names:
        way = partial(bench.way, work=WORKS[k])
        ways = {'by hand':way(by_hand), 'learnloop':way(by_learner), AGAIN:way(by_hand)}
        yield from bench.rows(k, ways, dict(learnloop=WORKS[k].limit))

def loader_rows(bench):
    from learnloop import DataLoaders
    for k,mk in LOADERS.items():
        if k=='list' or mk is chunks.of_tensors and not hasattr(DataLoaders, 'from_tensors'): continue
        way = partial(bench.way, work=WORKS[PRICED], mk=mk)
        ways = {'by hand':way(by_hand), 'learnloop':way(by_learner), AGAIN:way(by_hand)}
        yield from bench.rows(f'{PRICED}, {k}', ways, {'learnloop':LIMITS.get(k)})

def peer_rows(bench, names):
    work,batches = WORKS[PRICED],new_batches(WORKS[PRICED], bench.seed, 50)
    def train(c, tick, n): c.func(new_model(work, bench.seed), F.cross_entropy, LOADERS['DataLoader of batches'](batches, n, tick), partial(noops, n=0, hooks=()))
    ways = {'by hand' if k=='raw' else k:partial(train, CONTENDERS[k]) for k in ('raw', *(o for o in names if o!='raw'))}
    return bench.rows(f'{PRICED}, by its peers', ways, {})

# ---- variants

def by_metrics(work, model, dl):
    from learnloop import accuracy, error_rate
    model.eval()
    sums,n = torch.zeros(4),0
    def third(pred, y): return (pred.argmax(1)==0).float().mean()
    with torch.no_grad():
        for xb,yb in dl:
            pred = model(xb)
            sums += len(xb)*torch.stack([work.loss(pred, yb), accuracy(pred, yb), error_rate(pred, yb), third(pred, yb)])
            n += len(xb)
    return sums/n

def by_learner_metrics(work, model, dl):
    from learnloop import accuracy, error_rate
    def third(pred, y): return (pred.argmax(1)==0).float().mean()
    learn = new_learner(work, model, dl, metrics=[accuracy, error_rate, third])
    with learn.no_bar(), learn.no_logging(): return learn.validate(dl=dl)

def with_bar(work, model, dl, n_ways):
    "Train with the default bar. Since its clock runs while others train, it is drawn less often, by the number of ways"
    from learnloop import ProgressCallback
    def slower(learn): next(o for o in learn.cbs if isinstance(o, ProgressCallback)).every_seconds *= n_ways
    by_learner(work, model, dl, prepare=slower, bar=True)

def without_bar(work, model, dl):
    from learnloop import ProgressCallback
    by_learner(work, model, dl, prepare=lambda learn: learn.remove_cb(ProgressCallback), bar=True)

@contextmanager
def terminal():
    "Make `sys.stdout` a terminal in a `with` block; another process discards its output"
    master,slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack('HHHH', 40, 100, 0, 0))
    reader = subprocess.Popen([sys.executable, '-c', 'import os\nwhile os.read(0, 65536): pass'], stdin=master, stderr=subprocess.DEVNULL)
    was,term = sys.stdout,os.environ.get('TERM')
    try:
        os.environ['TERM'] = 'xterm-256color'
        with os.fdopen(slave, 'w') as sys.stdout: yield
    finally:
        sys.stdout = was
        if term is None: del os.environ['TERM']
        else: os.environ['TERM'] = term
        os.close(master)
        reader.kill()
        reader.wait()

def bar_rows(bench):
    way = partial(bench.way, work=WORKS[PRICED])
    ways = {'without':way(without_bar), BAR:way(partial(with_bar, n_ways=2))}
    per = fitting(way(by_hand), chunk=10*bench.chunk)  # each chunk has several drawings
    print(f'  {BAR}', file=sys.stderr, flush=True)
    with terminal(): res = ratios(ways, max(bench.chunks//4, 1), per, bench.rounds, random.Random(bench.seed))
    yield results.row(PRICED, BAR, res[BAR], unit='times without', limit=LIMITS[BAR], per=per)

def variant_rows(bench):
    from learnloop import Callback
    way = partial(bench.way, work=WORKS[PRICED])
    def more(work, model, dl): by_learner(work, model, dl, cbs=noops(Callback, N_CBS, EVENTS))
    yield from bench.rows(PRICED, {'by hand':way(by_hand), NOOPS:way(more)}, LIMITS)
    ways = {'by hand':way(by_metrics), METRICS:way(by_learner_metrics)}
    yield from bench.rows(PRICED, ways, LIMITS)
    yield from bar_rows(bench)

# ---- another version

def timed_fit(f, work, model, batches):
    "Time one epoch of `batches`, in seconds"
    dl = loader(batches)
    gc.unfreeze()
    gc.collect()
    gc.freeze()
    with redirect_stdout(io.StringIO()):
        start = time.process_time()
        f(work, model, dl)
        return time.process_time()-start

class Round(NamedTuple):
    step_us: float
    fit_ms: float
    weights: torch.Tensor

def one_round(f, work, batches, seed):
    "Train a new model: a few batches, then an epoch"
    model = new_model(work, seed)
    short,full = (timed_fit(f, work, model, o) for o in (batches[:SHORT], batches))
    step = (full-short)/(len(batches)-SHORT)
    return Round(step*1e6, (short-SHORT*step)*1e3, nn.utils.parameters_to_vector(model.parameters()).detach())

def ask_rounds(model, seed, n_cbs, scale=1.):
    "Run a round by hand and one of learnloop, in a process with one version; return their costs, and the sum of weights in hexadecimal"
    from learnloop import Callback
    quiet()
    torch.set_num_threads(1)
    work = WORKS[model]
    batches = new_batches(work._replace(n=max(int(work.n*scale), 2*SHORT)), seed)
    def with_noops(work, model, dl): by_learner(work, model, dl, cbs=noops(Callback, n_cbs, EVENTS))
    base,ours = (one_round(f, work, batches, seed) for f in (by_hand, with_noops))
    return dict(raw=base.step_us, step=ours.step_us, fit=ours.fit_ms, weights=ours.weights.numpy().tobytes().hex())

def version_row(model, n_cbs, before, now):
    "Return the cost of steps in two versions, and the difference relative to the loop by hand"
    def _ratio(rounds): return [o['step']/o['raw'] for o in rounds]
    diffs = [b-a for a,b in zip(_ratio(before), _ratio(now), strict=True)]
    low,high = quartiles(diffs)
    name = f'{model}, {n_cbs} callbacks' if n_cbs else model
    def _mid(k): return [f'{median(o[k] for o in rounds):.1f}' for rounds in (before, now)]
    is_same = all(o['weights']==before[0]['weights'] for o in (*before, *now))
    ratios = [f'{median(_ratio(o)):.3f}' for o in (before, now)]
    more = [f'{median(diffs):+.3f}', f'{low:+.3f} … {high:+.3f}']
    return [name, *_mid('step'), *ratios, *more, *_mid('fit'), 'exactly' if is_same else 'NO']

def compare_versions(args):
    "Time this checkout and a commit in turns, each in its own process, one at a time"
    rows,order = [],random.Random(args.seed)
    with versions(args.against) as both:
        for model,n_cbs in [(m, n) for m in args.models for n in ((0, N_CBS) if m==PRICED else (0,))]:
            for o in both: o.ask(ask_rounds, model=model, seed=args.seed, n_cbs=n_cbs, scale=.1)  # warm up
            res = {o.name:[] for o in both}
            for i in range(args.rounds):
                for o in order.sample(both, 2): res[o.name].append(o.ask(ask_rounds, model=model, seed=args.seed, n_cbs=n_cbs))
                print(f'  {model} {n_cbs or ""} round {i+1}/{args.rounds}', file=sys.stderr)
            rows.append(version_row(model, n_cbs, *res.values()))
    show(f'learnloop, {args.against} and now', ['model', 'us/step', 'now', 'times raw', 'now', 'more', 'middle half', 'fit ms', 'now', 'weights alike'], rows)

def show(title, cols, rows):
    "Print a markdown table"
    lines = [cols, ['---']+['---:']*(len(cols)-1), *rows]
    print(f'\n### {title}\n\n' + '\n'.join(f"| {' | '.join(o)} |" for o in lines), flush=True)

# ---- the run

def installed(names):
    "Return those of `names` whose library can be imported; print the others"
    for nm in names:
        try:
            for m in (CONTENDERS[nm].needs, CONTENDERS[nm].module): import_module(m or 'torch')
        except ImportError as e: print(f'{nm}: left out: {e}', file=sys.stderr)
        else: yield nm

def parse_args(argv=None):
    cfg = results.settings()
    p = ArgumentParser('python -m benchmarks.overhead', description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    p.add_argument('--groups', nargs='*', choices=GROUPS, default=[*GROUPS], help='default: all')
    p.add_argument('--models', nargs='*', choices=WORKS, default=[*WORKS], help='of `works`, and of --against; default: all')
    p.add_argument('--contenders', nargs='*', choices=CONTENDERS, default=[*CONTENDERS], help='of `peers`, besides raw and learnloop')
    p.add_argument('--against', metavar='COMMIT', help='compare with learnloop as it was there, and nothing else')
    p.add_argument('--rounds', type=int, default=cfg.rounds, help='fits of each; default: %(default)s (settings.ini)')
    p.add_argument('--chunks', type=int, default=cfg.chunks, help='that count in each fit; default: %(default)s (settings.ini)')
    p.add_argument('--seed', type=int, default=cfg.seed, help='of weights, batches and order; default: %(default)s (settings.ini)')
    p.add_argument('--threads', type=int, default=1, help='default: %(default)s; the CPU time of all counts')
    results.add_options(p)
    return p.parse_args(argv)

def measure(args):
    "Measure all requested groups; return their rows"
    bench,rows = Bench(args.rounds, args.chunks, args.seed),[]
    if 'works' in args.groups: rows += work_rows(bench, args.models)
    if 'variants' in args.groups: rows += variant_rows(bench)
    if 'loaders' in args.groups: rows += loader_rows(bench)
    if 'peers' in args.groups: rows += peer_rows(bench, [*installed(o for o in CONTENDERS if o in {'raw','learnloop',*args.contenders})])
    return rows

def main(argv=None):
    args = parse_args(argv)
    torch.set_num_threads(args.threads)
    quiet()
    if args.against: return compare_versions(args)
    return results.report(args, partial(measure, args), rounds=args.rounds, chunks=args.chunks)

if __name__=='__main__': main()
