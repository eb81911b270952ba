"""Measure the cost of predictions: `learn.get_preds` on 100,000 rows, as a ratio to an inference loop written by hand

The loop by hand calls the model in evaluation mode, without gradients, moves predictions to the CPU, keeps them and the targets, and joins them at the end. Both
have the same model and loader: slices of tensors in memory, and a `DataLoader` over a `TensorDataset`, which collates items. The learner has its default
callbacks, including the progress bar, whose output is discarded. The ways take turns, in a new order each round. The clock is the CPU time of the process, on
one thread, because other load affects it less than wall time. Ratios are to the loop in the same round; numbers are medians over rounds. "again" is the loop
again: its distance from 1 is noise.

    python -m benchmarks.inference
    python -m benchmarks.inference --rounds 3 --rows 20000   # a quick look
"""
import gc, io, random, sys, time, torch
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from contextlib import redirect_stdout
from functools import partial
from statistics import median
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset
from benchmarks.results import add_options, report, row, settings
from benchmarks.works import _mlp
from learnloop import DataLoaders, Learner

WIDTH,N_OUT = 64,10
MODELS = dict(small=partial(_mlp, WIDTH, 128, N_OUT), mlp=partial(_mlp, WIDTH, 256, 256, N_OUT))
SIZES = 64,256,1024
TARGETS = dict(slices=1.15, DataLoader=1.05)

def loaders(rows, bs, seed):
    "Return loaders of the same rows: slices in memory, and a `DataLoader`"
    g = torch.Generator().manual_seed(seed)
    x,y = torch.randn(rows, WIDTH, generator=g),torch.randint(N_OUT, (rows,), generator=g)
    return dict(slices=list(zip(x.split(bs), y.split(bs), strict=True)), DataLoader=DataLoader(TensorDataset(x, y), bs))

def by_hand(model, dl):
    model.eval()
    preds,targs = [],[]
    with torch.no_grad():
        for xb,yb in dl:
            preds.append(model(xb).cpu())
            targs.append(yb)
    return torch.cat(preds),torch.cat(targs)

def timed(f):
    gc.collect()
    with redirect_stdout(io.StringIO()):
        start = time.process_time()
        res = f()
        return time.process_time()-start,res

def measure(model, dl, rounds, seed):
    "Return the seconds of each way, by round; predictions must be equal"
    learn,order = Learner(DataLoaders(None, dl, device='cpu'), model, F.cross_entropy),random.Random(seed)
    what = dict(hand=partial(by_hand, model, dl), again=partial(by_hand, model, dl), learnloop=learn.get_preds)
    res = {k:[] for k in what}
    for i in range(rounds+1):  # the first warms up
        outs = {k:timed(what[k]) for k in order.sample([*what], len(what))}
        assert all(torch.equal(a, b) for a,b in zip(outs['hand'][1], outs['learnloop'][1], strict=True))
        if i:
            for k,(secs,_) in outs.items(): res[k].append(secs)
    return res

def rows_of(rows, bs, name, kind, res):
    "Return the rows of one model, batch size and loader"
    group = f'{name}, batches of {bs}, {kind}'
    for k,label,limit in (('learnloop', 'get_preds', TARGETS[kind]), ('again', 'by hand, again', None)):
        ratios = [a/b for a,b in zip(res[k], res['hand'], strict=True)]
        us = 1e6*median(a-b for a,b in zip(res[k], res['hand'], strict=True))/-(-rows//bs)
        yield row(group, label, ratios, limit=limit, us_more=us)

def parse_args(argv=None):
    cfg = settings()
    p = ArgumentParser('python -m benchmarks.inference', description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    p.add_argument('--rows', type=int, default=100_000, help='default: %(default)s')
    p.add_argument('--models', nargs='*', choices=MODELS, default=[*MODELS])
    p.add_argument('--sizes', nargs='*', type=int, default=SIZES, help='of batches; default: %(default)s')
    p.add_argument('--rounds', type=int, default=cfg.rounds, help='default: %(default)s (settings.ini)')
    p.add_argument('--seed', type=int, default=cfg.seed, help='of weights, rows and order; default: %(default)s (settings.ini)')
    add_options(p)
    return p.parse_args(argv)

def measure_all(args):
    "Return the rows of all models, sizes and loaders"
    for nm in args.models:
        for bs in args.sizes:
            for kind,dl in loaders(args.rows, bs, args.seed).items():
                print(f'  {nm} {bs} {kind}', file=sys.stderr, flush=True)
                torch.manual_seed(args.seed)
                yield from rows_of(args.rows, bs, nm, kind, measure(MODELS[nm](), dl, args.rounds, args.seed))

def main(argv=None):
    args = parse_args(argv)
    torch.set_num_threads(1)
    return report(args, lambda: [*measure_all(args)], rounds=args.rounds, predicted=args.rows)

if __name__=='__main__': main()
