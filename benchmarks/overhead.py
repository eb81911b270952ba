"""What a training step costs in learnloop and its peers, as a ratio to a hand-written loop

Everyone trains the same model from the same weights on the same ready-made batches, on one thread; what differs is what is done
around `forward, loss, backward, step, zero_grad`. They take turns, in rounds, in a new order each. In each round everyone is
timed on a fit of a few batches and on one of the whole epoch: their difference is the cost of steps alone ("us/step"), and
what the short one costs beyond its steps is the price of a fit ("fit ms"). The clock is the CPU time of the process,
which a busy machine disturbs less than time by the wall. Ratios are to `raw` in the same round, and all numbers are medians over
rounds; how far `raw_again` is from 1 tells the noise. "= raw" compares the final weights.

Peers take part where they are installed; better not beside what the project is developed with:

    python3 -m venv ../peers
    ../peers/bin/pip install -c constraints.txt -e . pytorch-ignite lightning skorch \\
        pytorch-accelerated keras transformers accelerate fastai
    ../peers/bin/python -m benchmarks.overhead

`--against COMMIT` compares with learnloop itself as it was: both versions in turns, a process each. "times raw" is the median over rounds of the
ratio to the hand-written loop in the same process and round, "more" the median of the differences, beside the middle half of them.

What the loaders that people have cost is in `benchmarks.loaders`, and printed as well.

If the torchvision that fastai brings doesn't match the build of torch, uninstall it: nothing here needs it.
"""
import gc, io, random, subprocess, sys, time, torch
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from contextlib import redirect_stdout
from functools import partial
from importlib import import_module
from operator import sub, truediv
from statistics import median
from typing import NamedTuple
from torch import nn
from torch.nn import functional as F
from benchmarks.contenders import CONTENDERS, loader, quiet
from benchmarks.versions import versions

N_CBS = 5   # in the variant of a contender with callbacks
SHORT = 8   # batches of the short fit
PRICED = 'tiny'  # where callbacks are timed: a call costs the same with any model, and here the noise is least

# ---- the work

class Work(NamedTuple):
    model: object # Makes it
    shape: tuple  # Of an input
    n_out: int    # Classes
    bs: int
    n: int        # Batches an epoch
    target: float # What a step of learnloop may cost at most, times that of raw

def _mlp(*ns):
    layers = [o for i,j in zip(ns, ns[1:], strict=False) for o in (nn.Linear(i,j), nn.ReLU())]
    return nn.Sequential(*layers[:-1])

def _cnn():
    def block(i, o): return nn.Conv2d(i, o, 3, stride=2, padding=1), nn.BatchNorm2d(o), nn.ReLU()
    return nn.Sequential(*block(1,8), *block(8,16), *block(16,32), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32,10))

tiny = Work(partial(_mlp, 10, 32, 2),         (10,),      2, 32, 2000, 1.05)
mlp  = Work(partial(_mlp, 784, 256, 256, 10), (784,),    10, 64,  500, 1.02)
cnn  = Work(_cnn,                             (1,28,28), 10, 32,  150, 1.02)
WORKS = dict(tiny=tiny, mlp=mlp, cnn=cnn)

def new_model(work, seed):
    torch.manual_seed(seed)
    return work.model()

def new_batches(work, seed):
    g = torch.Generator().manual_seed(seed)
    def _one(): return torch.randn(work.bs, *work.shape, generator=g),torch.randint(work.n_out, (work.bs,), generator=g)
    return [_one() for _ in range(work.n)]

# ---- steps

class Variant(NamedTuple):
    name: str
    n_cbs: int

def noop(*args, **kwargs): "What a hook of a callback does here"

def noops(base, n, hooks):
    "`n` callbacks, each of a class of its own, as some libraries refuse two of one"
    return [type(f'Noop{i}', (base,), dict.fromkeys(hooks, noop))() for i in range(n)]

def timed_fit(var, model, batches):
    c,dl = CONTENDERS[var.name],loader(batches)
    gc.unfreeze()
    gc.collect()
    gc.freeze()  # or else collections during this fit would walk through all that other contenders imported
    with redirect_stdout(io.StringIO()):
        start = time.process_time()
        c.func(model, F.cross_entropy, dl, partial(noops, n=var.n_cbs, hooks=c.hooks))
        return time.process_time()-start

class Round(NamedTuple):
    step_us: float
    fit_ms: float
    weights: torch.Tensor

def one_round(var, work, batches, seed):
    "Train a new model: a few batches, then an epoch"
    model = new_model(work, seed)
    short,full = (timed_fit(var, model, o) for o in (batches[:SHORT], batches))
    step = (full-short)/(len(batches)-SHORT)
    return Round(step*1e6, (short-SHORT*step)*1e3, nn.utils.parameters_to_vector(model.parameters()).detach())

def measure(work, variants, rounds, seed):
    "The `rounds` of each of `variants`"
    batches,order = new_batches(work, seed),random.Random(seed)
    for o in variants: one_round(o, work, batches[:work.n//10], seed)  # warm up
    res = {o:[] for o in variants}
    for i in range(rounds):
        for o in order.sample(variants, len(variants)): res[o].append(one_round(o, work, batches, seed))
        print(f'  round {i+1}/{rounds}', file=sys.stderr)
    return res

def compare(f, rounds, base):
    "The median of `f(step, step of base)` over rounds"
    return median(f(a.step_us, b.step_us) for a,b in zip(rounds, base, strict=True))

def call_ns(res, name):
    "What a call of a callback's hook costs; None if that was not measured"
    var = Variant(name, N_CBS)
    return 1e3*compare(sub, res[var], res[Variant(name, 0)])/(N_CBS*len(CONTENDERS[name].hooks)) if var in res else None

# ---- imports

HEAVY = {'matplotlib','tensorboard','IPython'}

# torch comes first, so that it isn't counted
_import = '''
import sys, time, torch
before,start = set(sys.modules),time.process_time()
import {}
print(time.process_time()-start, *(sys.modules.keys()-before))'''

def import_cost(module, n=3):
    "CPU seconds beyond torch's own, the median of `n` fresh processes, and which of `HEAVY` come along"
    cmd = sys.executable,'-c',_import.format(module)
    outs = [subprocess.run(cmd, capture_output=True, text=True, check=True).stdout.splitlines()[-1].split() for _ in range(n)]
    return median(float(o[0]) for o in outs),sorted(HEAVY.intersection(outs[0]))

# ---- report

def show(title, cols, rows):
    "Print a markdown table"
    lines = [cols, ['---']+['---:']*(len(cols)-1), *rows]
    print(f'\n### {title}\n\n' + '\n'.join(f"| {' | '.join(o)} |" for o in lines), flush=True)

def step_row(res, var):
    rounds,base,ns = res[var],res[Variant('raw', 0)],call_ns(res, var.name)
    step,fit = (median(getattr(o, k) for o in rounds) for k in ('step_us','fit_ms'))
    diff = (rounds[-1].weights-base[-1].weights).abs().max().item()
    return [var.name, f'{step:.1f}', f'{compare(truediv, rounds, base):.3f}', f'{compare(sub, rounds, base):+.1f}', f'{fit:.1f}',
        f'to {diff:.0e}' if diff else 'exactly', '' if ns is None else f'{ns:.0f}']

def target_rows(steps, imports):
    "What learnloop has to reach, beside what it did"
    def _row(what, limit, val, fmt): return [what, f'{limit:{fmt}}', f'{val:{fmt}}', 'yes' if val<=limit else 'no']
    for m,res in steps.items():
        ratio = compare(truediv, res[Variant('learnloop', 0)], res[Variant('raw', 0)])
        yield _row(f'{m}: step, times raw', WORKS[m].target, ratio, '.3f')
        if (ns := call_ns(res, 'learnloop')) is not None: yield _row('no-op callback, ns a call', 150, ns, '.0f')
    secs,heavy = imports['learnloop']
    yield _row('import, CPU s beyond torch', .15, secs, '.3f')
    yield [f"import, of {', '.join(sorted(HEAVY))}", 'none', ', '.join(heavy) or 'none', 'no' if heavy else 'yes']

# ---- another version

def ask_rounds(model, seed, n_cbs, scale=1.):
    "A round of raw and one of learnloop, in a process that has one version of it: their costs, and the sum of weights in hexadecimal"
    quiet()
    torch.set_num_threads(1)
    work = WORKS[model]
    batches = new_batches(work._replace(n=max(int(work.n*scale), 2*SHORT)), seed)
    base,ours = (one_round(Variant(nm, n), work, batches, seed) for nm,n in (('raw', 0), ('learnloop', n_cbs)))
    return dict(raw=base.step_us, step=ours.step_us, fit=ours.fit_ms, weights=ours.weights.numpy().tobytes().hex())

def quartiles(vals): return [sorted(vals)[int(q*(len(vals)-1)+.5)] for q in (.25, .75)]

def version_row(model, n_cbs, before, now):
    "What steps cost in two versions, and by how much more of raw's time the second does"
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
    "Time this checkout and a commit in turns, each in a process of its own, one at a time"
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

# ---- the run

def installed(names):
    "Those of `names` whose library can be imported; says which can't"
    for nm in names:
        try:
            for m in (CONTENDERS[nm].needs, CONTENDERS[nm].module): import_module(m or 'torch')
        except ImportError as e: print(f'{nm}: left out: {e}', file=sys.stderr)
        else: yield nm

def parse_args():
    from learnloop.app.settings import run_settings
    cfg = run_settings('bench', seed=42, rounds=15)
    p = ArgumentParser('python -m benchmarks.overhead', description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    p.add_argument('--models', nargs='*', choices=WORKS, default=[*WORKS], help='none: imports only')
    p.add_argument('--contenders', nargs='*', choices=CONTENDERS, default=[*CONTENDERS], help='besides raw and learnloop')
    p.add_argument('--no-loaders', action='store_true', help='leave out what other loaders than a list of batches cost, and epochs of one batch')
    p.add_argument('--against', metavar='COMMIT', help='compare with learnloop as it was there, and nothing else')
    p.add_argument('--rounds', type=int, default=cfg.rounds, help='default: %(default)s (settings.ini)')
    p.add_argument('--seed', type=int, default=cfg.seed, help='of weights, batches and order; default: %(default)s (settings.ini)')
    p.add_argument('--threads', type=int, default=1, help='default: %(default)s; the CPU time of all counts')
    return p.parse_args()

def main():
    args = parse_args()
    torch.set_num_threads(args.threads)
    quiet()
    if args.against: return compare_versions(args)
    names = [*installed(o for o in CONTENDERS if o in {'raw','learnloop',*args.contenders})]
    steps = {}
    for m in args.models:
        print(f'{m}: {WORKS[m].n} steps', file=sys.stderr)
        variants = [Variant(nm, n) for nm in names for n in (0,N_CBS) if not n or m==PRICED and CONTENDERS[nm].hooks]
        steps[m] = res = measure(WORKS[m], variants, args.rounds, args.seed)
        rows = [step_row(res, o) for o in variants if not o.n_cbs]
        show(m, ['contender', 'us/step', 'times raw', 'us more', 'fit ms', '= raw', 'ns/callback'], rows)
    if not args.no_loaders:
        from benchmarks.loaders import loader_rows, measure_loaders
        res = measure_loaders(partial(new_model, WORKS[PRICED], args.seed), new_batches(WORKS[PRICED], args.seed), args.rounds, args.seed)
        show(f'{PRICED}: loaders', ['loader', 'of a', 'raw us', 'raw again', 'learnloop', 'with CheckpointCallback'], loader_rows(res))
    imports = {o:import_cost(o) for o in dict.fromkeys(CONTENDERS[nm].module for nm in names) if o}
    rows = [[k, f'{secs:.3f}', ', '.join(heavy)] for k,(secs,heavy) in imports.items()]
    show('import', ['module', 'CPU s beyond torch', 'heavy modules'], rows)
    show('learnloop', ['target', 'at most', 'measured', 'met'], target_rows(steps, imports))

if __name__=='__main__': main()
