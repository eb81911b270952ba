"""Measure the cost of a checkpoint, as a ratio to `torch.save` with fsync

The model has 100 MB, and Adam's state three times that. All ways take turns, in a new order each round. Ratios are to `torch.save` in the same round (for
stalls, to a plain copy of the state; for reading, to `torch.load`). Numbers are medians over rounds, except "at best", which compares the fastest of each
and so excludes other load on the machine. "save" is `learn.save_checkpoint`: hash, sync, rename. "stall" is how long a `CheckpointCallback` with
`background=True` delays training. "resume" finds the newest checkpoint, verifies it, and restores all state.

The second table shows the cost of saving a tiny model with a long history: after 1,000, 60,000 and 1,000,000 batches with a one-cycle schedule, and after as
many epochs of one batch. A `CheckpointCallback` saves every 100 batches. "at most" is the slowest save, in which parts of the history are closed.

    python -m benchmarks.checkpoint
"""
import os, random, shutil, sys, tempfile, time, torch
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from copy import deepcopy
from pathlib import Path
from statistics import median
from torch import nn
from torch.nn import functional as F
from learnloop import CheckpointCallback, Learner, newest_checkpoint
from learnloop.checkpoint.saving import model_state, opt_state

TARGETS = dict(save=2, stall=2)
LENGTHS,LONGER = (1000, 60_000, 1_000_000),1.5  # Batches of a history; maximum ratio of later saves to the first

def mk_learner(mb):
    "Make a learner whose weights take `mb` MB, after a step of Adam"
    torch.manual_seed(0)
    model = nn.Sequential(*[nn.Linear(1024, 1024) for _ in range(round(mb*1e6/4/1024/1025))])
    x = torch.randn(2, 1024)
    learn = Learner([(x, x)]*2, model, F.mse_loss, torch.optim.Adam, lr=1e-4)
    with learn.no_logging(), learn.no_bar(): learn.fit(1)
    return learn

def state(learn): return dict(model=model_state(learn.model), opt=opt_state(learn.opt, learn.model))
def n_bytes(p): return sum(o.stat().st_size for o in p.rglob('*')) if p.is_dir() else p.stat().st_size

class Works:
    "The timed operations; each returns seconds"
    def __init__(self, learn, folder):
        self.learn,self.folder,self.n = learn,folder,0
        self.saver = CheckpointCallback(folder/'aside', every_epochs=1000, background=True)
    def new(self, name):
        self.n += 1
        return self.folder/f'{name}{self.n}'

    def torch_save(self):
        p = self.new('plain')
        start = time.perf_counter()
        with open(p, 'wb') as f:
            torch.save(state(self.learn), f)
            f.flush()
            os.fsync(f.fileno())
        res = time.perf_counter()-start
        self.plain = p
        return res
    def save(self):
        start = time.perf_counter()
        self.saved = self.learn.save_checkpoint(self.new('ours'))
        return time.perf_counter()-start
    def copy(self):
        start = time.perf_counter()
        deepcopy(state(self.learn))
        return time.perf_counter()-start
    def stall(self):
        self.saver.folder,self.saver.learn,self.saver._last = self.new('aside'),self.learn,None
        start = time.perf_counter()
        self.saver.save()
        res = time.perf_counter()-start
        self.saver.join()
        return res
    def torch_load(self):
        start = time.perf_counter()
        sd = torch.load(self.plain, weights_only=True)
        self.learn.model.load_state_dict(sd['model'])
        self.learn.opt.load_state_dict(sd['opt'])
        return time.perf_counter()-start
    def resume(self):
        start = time.perf_counter()
        self.learn.load_checkpoint(self.saved.path.parent)
        return time.perf_counter()-start

def lengthen(rec, n, epochs=False):
    "Add `n` batches to the history of the recorder `rec`, each as a separate epoch if `epochs`"
    first = len(rec.lrs)
    new = [.1+i%97/7 for i in range(first, first+n)]
    for o in (rec.raw_losses, rec.lrs, *rec.hps.values()): o += new
    rec._sizes += [64]*n
    if epochs:
        rec.values += [[o, o/2, None] for o in new]
        rec.iters += range(first+1, first+n+1)

class History:
    "A tiny run after `n` batches, to save"
    def __init__(self, folder, n, epochs=False):
        x = torch.randn(8, 4)
        self.learn,self.epochs,self.saver = Learner([(x, x)]*4, nn.Linear(4, 4), F.mse_loss, torch.optim.Adam),epochs,CheckpointCallback(folder)
        with self.learn.no_logging(), self.learn.no_bar(): self.learn.fit_one_cycle(1)
        lengthen(self.learn.recorder, n-4, epochs)
        self.saver.learn = self.learn
    def save(self):
        "Time a save after 100 more batches, in seconds"
        self.learn.count.opt_steps += 100
        lengthen(self.learn.recorder, 100, self.epochs)
        start = time.perf_counter()
        self.saver.save()
        return time.perf_counter()-start

def histories(root, rounds=40):
    "Print the cost of saves by the length of the history; return whether those of batches meet the target"
    print(f'\n{"history":<17}{"save, ms":>10}{"at most":>9}{"ratio":>7}{"files":>7}{"MB":>7}')
    ok = True
    for epochs in (False, True):
        runs,times = {n:History(root/f'{n}-{epochs}', n, epochs) for n in LENGTHS},{n:[] for n in LENGTHS}
        for _ in range(rounds+3):  # the first three write the whole history, for each of the two chains
            for n in random.sample(LENGTHS, len(LENGTHS)): times[n].append(runs[n].save())
        for n,ts in times.items():
            ts,c = ts[3:],newest_checkpoint(runs[n].saver.folder)
            ratio = median(b/a for a,b in zip(times[LENGTHS[0]][3:], ts, strict=True))
            ok &= (good := epochs or ratio<=LONGER)
            row = f'{1e3*median(ts):>10.1f}{1e3*max(ts):>9.1f}{ratio:>7.2f}{len(c.manifest["files"]):>7}{n_bytes(c.path)/1e6:>7.1f}'
            print(f'{n:>9,} {"epochs" if epochs else "batches"}{row}' + f': the target is {LONGER}'*(not good))
    return ok

def weights(root, rounds, mb):
    "Print the cost of large checkpoints; return whether the targets are met"
    works,pairs,times = Works(mk_learner(mb), root),[('torch_save','save'), ('copy','stall'), ('torch_load','resume')],{}
    for _ in range(rounds+1):  # the first warms up
        for pair in pairs:  # the second reads what the first writes
            for nm in random.sample(pair, 2): times.setdefault(nm, []).append(getattr(works, nm)())
        sizes = [n_bytes(works.plain), n_bytes(works.saved.path)]
        for o in root.iterdir(): shutil.rmtree(o) if o.is_dir() else o.unlink()
    print(f'weights {mb:g} MB, with Adam; {rounds} rounds\n{"":<8}{"s":>8}  {"ratio":>6}  {"at best":>7}  to')
    missed = False
    for base,nm in pairs:
        ratio = median(b/a for a,b in zip(times[base][1:], times[nm][1:], strict=True))
        missed |= (bad := ratio>TARGETS.get(nm, ratio))
        print(f'{nm:<8}{median(times[nm][1:]):>8.3f}  {ratio:>6.2f}  {min(times[nm])/min(times[base]):>7.2f}  {base}, {median(times[base][1:]):.3f} s' + f': the target is {TARGETS.get(nm)}'*bad)
    print(f'{"bytes":<8}{sizes[1]/1e6:>6.1f}MB  {sizes[1]/sizes[0]:>6.3f}  {"":>7}  torch_save')
    return not missed

def main(argv=None):
    "Print the tables; return 1 if a target is missed"
    p = ArgumentParser('benchmarks.checkpoint', description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    p.add_argument('--rounds', type=int, default=9, help='of the first table; 0 to leave it out (default: %(default)s)')
    p.add_argument('--mb', type=float, default=100, help='of weights (default: %(default)s)')
    p.add_argument('--folder', default=None, help='on the disk that is measured (default: where temporary files are)')
    opt = p.parse_args(argv)
    root,ok = Path(tempfile.mkdtemp(dir=opt.folder)),True
    try:
        if opt.rounds: ok = weights(root, opt.rounds, opt.mb)
        return not (histories(root) and ok)
    finally: shutil.rmtree(root)

if __name__=='__main__': sys.exit(main())
