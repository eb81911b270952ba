"""Measure the cost of reading `learn.rows` in each step, of `FlightRecorder` and of `Snapshots`, as CPU time of a step relative to a fit without them

Learners that differ in nothing else train in turns within one fit each, a chunk of batches at a time (`benchmarks.chunks`). Each chunk is compared with the
plain learner's chunk of the same round. `idle` is a second plain learner: its distance from 1 is noise. All of them train on the same `DataLoader` of tensors,
because rows are indices into its dataset. Where a callback reads rows, the plain learner has one that reads the batch.

    python -m benchmarks.rows
    python -m benchmarks.rows --rounds 1 --chunks 4   # a quick look
"""
import random, tempfile, torch
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from functools import partial
from pathlib import Path
from torch.utils.data import BatchSampler, DataLoader, SequentialSampler, TensorDataset
from benchmarks.chunks import fitting, ratios
from benchmarks.results import add_options, report, row, settings
from benchmarks.works import WORKS, new_batches, new_model
from learnloop import Callback, DataLoaders, FlightRecorder, Learner, Snapshots

def see(cb): return cb.learn.batch
def read(cb): return cb.learn.rows
def calls(f): return [Callback('calls', before_batch=f)]
HOWS = dict(tiny=dict(without=lambda: calls(see), idle=lambda: calls(see)) | {'rows read': lambda: calls(read)},
    mlp=dict(without=list, idle=list, FlightRecorder=lambda: [FlightRecorder()]),
    transformer=dict(without=list, idle=list, Snapshots=lambda: [Snapshots(every_steps=50)])) # a chunk has two of them
LIMITS = {'rows read': 1.02, 'FlightRecorder': 1.03, 'Snapshots': 1.03}

class Ticking(BatchSampler):
    "`n` batches of indices, in repeated order"
    def __init__(self, n_rows, bs, n, tick):
        super().__init__(SequentialSampler(range(n_rows)), bs, False)
        self.n,self.tick = n,tick
    def __len__(self): return self.n
    def __iter__(self):
        idxs = [*super().__iter__()]
        for i in range(self.n):
            self.tick()
            yield idxs[i%len(idxs)]

class Rows(TensorDataset):
    "A dataset that returns a batch at once"
    def __getitems__(self, idxs): return [t[idxs] for t in self.tensors]

def way(work, path, seed, mk_cbs, tick, n):
    "Train on `n` batches"
    batches = new_batches(work, seed, 8)
    x,y = (torch.cat(o) for o in zip(*batches, strict=True))
    dl = DataLoader(Rows(x, y), batch_sampler=Ticking(len(x), len(batches[0][0]), n, tick), collate_fn=tuple)
    learn = Learner(DataLoaders(dl, device='cpu'), new_model(work, seed), work.loss, work.opt, lr=work.lr, path=path, cbs=mk_cbs())
    with learn.no_bar(), learn.no_logging(): learn.fit(1)

def measure(args):
    rows = []
    for name in args.works:
        with tempfile.TemporaryDirectory() as tmp:
            hows = HOWS[name]
            ways = {k:partial(way, WORKS[name], Path(tmp)/k, args.seed, how) for k,how in hows.items()}
            for k in hows: Path(tmp, k).mkdir()
            got = ratios(ways, args.chunks, max(100, fitting(ways['without'])), args.rounds, random.Random(args.seed))
            rows += [row(name, k, got[k], 'times without', LIMITS.get(k)) for k in [*hows][1:]]
    return rows

def main():
    cfg = settings()
    p = ArgumentParser('python -m benchmarks.rows', description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    p.add_argument('--works', nargs='+', choices=HOWS, default=[*HOWS], help='default: all')
    p.add_argument('--rounds', type=int, default=3, help='fits of each; default: %(default)s')
    p.add_argument('--chunks', type=int, default=30, help='of a fit; default: %(default)s')
    p.add_argument('--seed', type=int, default=cfg.seed, help='of weights and order; default: %(default)s (settings.ini)')
    add_options(p)
    args = p.parse_args()
    torch.set_num_threads(1)
    report(args, lambda: measure(args))

if __name__=='__main__': main()
