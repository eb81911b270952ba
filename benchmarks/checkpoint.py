"""What a checkpoint costs, as a ratio to `torch.save` and fsync

A model of 100 MB with Adam, whose state is three times that. Everyone takes turns, in a new order each round, and ratios are to
`torch.save` in the same round (for stalls: to a plain copy of the state, for reading: to `torch.load`); all numbers are medians over
rounds, but for "at best", which compares the fastest of each: what a machine that is busy otherwise would show if it weren't. "save" is `learn.save_checkpoint`: hashed, synced, renamed. "stall" is how long a `CheckpointCallback` with
`background=True` holds up the training. "resume" finds the newest checkpoint, verifies it, and puts all state back.

    python -m benchmarks.checkpoint
"""
import os, random, shutil, sys, tempfile, time, torch
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from copy import deepcopy
from pathlib import Path
from statistics import median
from torch import nn
from torch.nn import functional as F
from learnloop import CheckpointCallback, Learner
from learnloop.saving import _model_state, _opt_state

TARGETS = dict(save=2, stall=2)

def mk_learner(mb):
    "A learner whose weights take `mb` MB, after a step of Adam"
    torch.manual_seed(0)
    model = nn.Sequential(*[nn.Linear(1024, 1024) for _ in range(round(mb*1e6/4/1024/1025))])
    x = torch.randn(2, 1024)
    learn = Learner([(x, x)]*2, model, F.mse_loss, torch.optim.Adam, lr=1e-4)
    with learn.no_logging(), learn.no_bar(): learn.fit(1)
    return learn

def state(learn): return dict(model=_model_state(learn.model), opt=_opt_state(learn.opt, learn.model))
def n_bytes(p): return sum(o.stat().st_size for o in p.rglob('*')) if p.is_dir() else p.stat().st_size

class Works:
    "What is timed: each returns seconds"
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
        self.saver._join()
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

def main(argv=None):
    "Print the table; 1 if a target is missed"
    p = ArgumentParser('benchmarks.checkpoint', description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    p.add_argument('--rounds', type=int, default=9, help='(default: %(default)s)')
    p.add_argument('--mb', type=float, default=100, help='of weights (default: %(default)s)')
    p.add_argument('--folder', default=None, help='on the disk that is measured (default: where temporary files are)')
    opt = p.parse_args(argv)
    root = Path(tempfile.mkdtemp(dir=opt.folder))
    works,pairs,times = Works(mk_learner(opt.mb), root),[('torch_save','save'), ('copy','stall'), ('torch_load','resume')],{}
    try:
        for _ in range(opt.rounds+1):  # the first is for warming up
            for pair in pairs:  # one writes what the next reads
                for nm in random.sample(pair, 2): times.setdefault(nm, []).append(getattr(works, nm)())
            sizes = [n_bytes(works.plain), n_bytes(works.saved.path)]
            for o in root.iterdir(): shutil.rmtree(o) if o.is_dir() else o.unlink()
    finally: shutil.rmtree(root)
    print(f'weights {opt.mb:g} MB, with Adam; {opt.rounds} rounds\n{"":<8}{"s":>8}  {"ratio":>6}  {"at best":>7}  to')
    missed = False
    for base,nm in pairs:
        ratio = median(b/a for a,b in zip(times[base][1:], times[nm][1:], strict=True))
        missed |= (bad := ratio>TARGETS.get(nm, ratio))
        print(f'{nm:<8}{median(times[nm][1:]):>8.3f}  {ratio:>6.2f}  {min(times[nm])/min(times[base]):>7.2f}  {base}, {median(times[base][1:]):.3f} s' + f': the target is {TARGETS.get(nm)}'*bad)
    print(f'{"bytes":<8}{sizes[1]/1e6:>6.1f}MB  {sizes[1]/sizes[0]:>6.3f}  {"":>7}  torch_save')
    return missed

if __name__=='__main__': sys.exit(main())
