"""Measure the cost of fingerprints, as CPU time of a step relative to a fit without them

Learners that differ in nothing else train in turns within one fit each, a chunk of batches at a time (`benchmarks.chunks`). Each chunk is compared with the
plain learner's chunk of the same round. `idle` is a second plain learner: its distance from 1 is noise. The transformer has 10 million weights and sees 2,048
tokens per step. Its optimizer is AdamW, so 40 million numbers are hashed in each step. The other benchmarks use the same mlp, whose step takes half a millisecond.

    python -m benchmarks.fingerprint
    python -m benchmarks.fingerprint --rounds 1 --chunks 4   # a quick look
"""
import random, tempfile, torch
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from functools import partial
from pathlib import Path
from torch.optim import AdamW
from benchmarks import works
from benchmarks.chunks import Cycled, fitting, ratios
from benchmarks.results import add_options, report, row, settings
from benchmarks.works import Transformer, Work, new_batches, new_model, text_batch, tokens_loss
from learnloop import Fingerprint, Learner, TrainEvalCallback
from learnloop.see.fingerprint import read_fingerprint

LIMIT = 1.05
_big = partial(Transformer, n_tokens=2000, length=128, d=480, n_layers=3, n_heads=8, drop=0.)
WORKS = {'transformer': Work(_big, partial(text_batch, 16, 128, 2000), AdamW, 1e-4, loss=tokens_loss), 'mlp': works.WORKS['mlp']}
HOWS = {'idle': None, 'every step': dict(), 'every 10th': dict(every_steps=10)}  # Arguments of the Fingerprint; None for no Fingerprint

def way(work, path, seed, how, tick, n):
    "Train on `n` batches; `how` has arguments of the Fingerprint, None for no Fingerprint"
    batches,cbs = Cycled(new_batches(work, seed, 4), n, tick),[TrainEvalCallback()] + ([] if how is None else [Fingerprint(**how)])
    Learner(batches, new_model(work, seed), work.loss, work.opt, lr=work.lr, path=path, cbs=cbs, default_cbs=False).fit(1)

def measure(args):
    rows = []
    for name in args.works:
        work = WORKS[name]
        with tempfile.TemporaryDirectory() as tmp:
            hows = dict(without=None) | HOWS
            ways = {k:partial(way, work, f'{tmp}/{k}', args.seed, how) for k,how in hows.items()}
            for k in hows: Path(tmp, k).mkdir()
            # the cost includes fetching and writing: a chunk has ten rows of every tenth step
            per = 10 if name=='transformer' else max(100, fitting(ways['without']))
            got = ratios(ways, args.chunks, per, args.rounds, random.Random(args.seed), warm=1)
            there = read_fingerprint(f'{tmp}/every step')
            limits = {'every step': LIMIT} if name=='transformer' else {}
            rows += [row(name, k, got[k], 'times without', limits.get(k)) for k in HOWS]
            rows.append(row(name, 'the file', [len(there.data)/len(there)], 'bytes a row, without details'))
    return rows

def main():
    cfg = settings()
    p = ArgumentParser('python -m benchmarks.fingerprint', description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    p.add_argument('--works', nargs='+', choices=WORKS, default=[*WORKS], help='default: all')
    p.add_argument('--rounds', type=int, default=2, help='fits of each; default: %(default)s')
    p.add_argument('--chunks', type=int, default=6, help='of a fit; default: %(default)s')
    p.add_argument('--seed', type=int, default=cfg.seed, help='of weights and order; default: %(default)s (settings.ini)')
    add_options(p)
    args = p.parse_args()
    torch.set_num_threads(1)
    report(args, lambda: measure(args))

if __name__=='__main__': main()
