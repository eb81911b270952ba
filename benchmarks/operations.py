"""Interrupt a small run at each of its file operations: by an error, a kill, or a power cut

`python -m benchmarks.crash --every-operation`. The run saves a checkpoint after each step and epoch, keeps the newest and the best, and also writes the best weights to a file. Checkpoints share the
parts of its history, which are small, so that there are several. It runs in four ways: saving directly or in the background, each with and without a rewind that abandons a checkpoint and halves the rate.

For each operation in turn, there are four kinds of fault. The operation fails once, with EIO and with ENOSPC. It and all later operations fail. The run is killed after it. The power is cut after it, and the disk is then in any of the states that `benchmarks.disk` finds.

After each fault, there must be a checkpoint to resume from. It must not be older than the last one whose save had returned, it must equal one that the run wrote, and it must be from the new attempt once that is saved. No checkpoint may be damaged.
The resumed run must end with the same files as an undisturbed run, bit for bit. Equal states are tried once. All checkpoints are verified. For each newest checkpoint, one state is resumed to the end, and one in ten of the others.
"""
import contextlib, errno, os, random, shutil, sys, tempfile, time, torch, traceback, warnings
from itertools import product
from pathlib import Path
from unittest import mock
from torch import nn
from torch.nn import functional as F
from benchmarks.crash import difference, result
from benchmarks.disk import Disk, Watch, lay_out, tree_hash
from learnloop import Callback, CheckpointCallback, Learner, SaveModelCallback, list_checkpoints, newest_checkpoint, set_seed
from learnloop.measure.series import Series
from learnloop.checkpoint.files import read_state

N_EPOCH,ERRORS = 2,(errno.EIO,errno.ENOSPC)

class GoBack(Callback):
    "Rewinds once in a run, from its last batch to the end of the first epoch."
    read_only = rank_invariant = True
    def after_batch(self):
        learn = self.learn
        if learn.training and not learn.keeper.attempt and learn.count.batches==4: learn.rewind(batches=1, lr=.05)

def train(root, background, goes_back):
    "Continue the run in the folder `root`; return its results"
    with contextlib.chdir(root), mock.patch.multiple(Series, part=1, merge=2):  # paths are equal, and the history has parts, which checkpoints share
        set_seed(3)
        x,folder = torch.linspace(-1, 1, 12).reshape(2, 2, 3),Path('run')
        model = nn.Sequential(nn.Linear(3, 2), nn.Dropout(.3), nn.Linear(2, 1), nn.Flatten(0))
        dls,best = ([(o, o.sum(1)) for o in x], [(x[0], x[0].sum(1))]),SaveModelCallback(fname='best')
        learn = Learner(dls, model, F.mse_loss, torch.optim.Adam, lr=.1, cbs=best, path='.', model_dir='.')
        saver = CheckpointCallback(folder, every_steps=1, every_epochs=1, keep=2 if goes_back else 1, best=1, background=background)
        with learn.no_bar(), learn.no_logging(): learn.fit(N_EPOCH, cbs=[saver, *[GoBack()]*goes_back], resume=folder)
        return result(learn, folder)

def saved(log):
    "List for each save in `log`: the number of operations until it was durable, its attempt and step, and the index of the rename that named it"
    res,at = [],(0, 0)
    for i,(kind,*args) in enumerate(log):
        if kind!='move' or not args[1].startswith('run/step-'): continue
        step = int(args[1][9:])
        at = at[0]+(step<at[1]),step
        end = next((j for j,o in enumerate(log) if j>i and o==('sync', 'run')), None)
        if end is not None: res.append((end+1, at, i))
    return res

class Trial:
    "Runs in separate folders, each compared with an undisturbed one"
    def __init__(self, root, how, share, seed):
        self.root,self.how,self.share,self.rand = root,how,share,random.Random(seed)
        self.n,self.lost,self.tried,self.known,self.seen = 0,[],0,{},set()
        with Watch(self._new()) as w: self.want = train(Path(w.root), *how)
        self.log,self.disk = w.log,Disk(w.log)
        self.saved = saved(self.log)
        for _,_,i in self.saved: self._know(i)

    def _new(self):
        self.n += 1
        (path := self.root/str(self.n)).mkdir()
        return path

    def _know(self, i):
        "Remember the checkpoint that operation number `i` names"
        tmp,path = self.log[i][1:]
        tree = self.disk.tree([s for o in self.disk.upto(i) for s in o])
        self.known.setdefault(path[4:], []).append({k.removeprefix(f'{tmp}/'):b for k,b in tree.items() if k.startswith(f'{tmp}/')})

    def check(self, folder, at_least):
        "Return the checkpoint that a run in `folder` would resume from; fail if it is damaged, or from before `at_least`"
        with warnings.catch_warnings():
            warnings.simplefilter('error')
            c = newest_checkpoint(folder)
        assert ((c.attempt, c.step) if c else (0, 0))>=at_least, f'attempt and step {at_least} were saved, and the newest is {c}'
        bad = [o.damage for o in list_checkpoints(folder) if o.damage]
        assert not bad, bad
        return c

    def finish(self, root):
        "Continue the run in `root`, and compare"
        with warnings.catch_warnings():
            warnings.simplefilter('ignore')
            diff = difference(self.want, train(root, *self.how))
        assert diff is None, f'it differs {diff}'

    def attempt(self, what, f, *args):
        "Return whether the promise is kept"
        root = self._new()
        self.tried += 1
        try: f(root, *args)
        except Exception as e: self.lost.append(f'{what} (see {root}):\n{"".join(traceback.format_exception(e))}')
        else: shutil.rmtree(root)

    def fail(self, root, i, err, on):
        "Try a run in which operation number `i` fails, or all from it on"
        watch = Watch(root, i, err, on)
        try:
            with warnings.catch_warnings(), watch:
                warnings.simplefilter('ignore')
                train(root, *self.how)
        except OSError as e: assert e.errno==err, e
        self.check(root/'run', max((at for _,at,_ in saved(watch.log)), default=(0, 0)))
        self.finish(root)

    def cut(self, root, t, tree):
        "Try a run that resumes with the files of `tree` after `t` operations"
        lay_out(tree, root)
        c = self.check(root/'run', max((at for end,at,_ in self.saved if end<=t), default=(0, 0)))
        if c: assert {p.name:p.read_bytes() for p in c.path.iterdir()} in self.known[c.path.name.removeprefix('.old-')], f'{c} is not what was written'
        if (p := root/'best.pth').exists(): read_state(p)
        key = c and (c.path.name, c.manifest['blake2b'])
        if key not in self.seen or self.rand.random()<.1: self.finish(root)
        self.seen.add(key)

    def drawn(self, n): return [i for i in range(n) if self.rand.random()<self.share]

    def faults(self):
        for i in self.drawn(len(self.log)):
            for err in ERRORS:
                for on in (False, True):
                    what = f'{self.log[i][:2]}, operation {i} of {len(self.log)}, fails with {errno.errorcode[err]}{", and all that follow" if on else ""}'
                    self.attempt(what, self.fail, i, err, on)

    def kills(self):
        for t in self.drawn(len(self.log)+1): self.attempt(f'killed after {t} operations', self.cut, t, self.disk.tree([s for o in self.disk.upto(t) for s in o]))

    def power(self):
        tried = set()
        for t in self.drawn(len(self.log)+1):
            for tree in self.disk.cuts(t, self.rand):
                if (k := tree_hash(tree)) in tried: continue
                tried.add(k)
                self.attempt(f'the power is cut after {t} operations, and {sorted(tree)} are left', self.cut, t, tree)

def every_operation(share=1., seed=0, rewinds=(False, True)):
    "Try a `share` of all operations, print how many states were tried and lost, and return the number lost"
    root,lost = Path(tempfile.mkdtemp()),0
    torch.set_num_threads(1)
    print(f'{"each operation":<16}{"saved":<14}{"rewind":<8}{"of":>6}{"states":>8}{"lost":>6}')
    with mock.patch.object(os, 'fsync', lambda fd: None), mock.patch.object(time, 'time', lambda: 1e9):
        for goes_back,background in product(rewinds, (False, True)):
            (path := root/f'{background}{goes_back}').mkdir()
            trial = Trial(path, (background, goes_back), share, seed)
            for what in ('faults','kills','power'):
                trial.tried,before = 0,len(trial.lost)
                getattr(trial, what)()
                n = len(trial.lost)-before
                print(f'{dict(faults="fails", kills="before a kill", power="before a cut")[what]:<16}{"in background" if background else "at once":<14}{"yes" if goes_back else "no":<8}{len(trial.log):>6}{trial.tried:>8}{n:>6}', flush=True)
            for o in trial.lost[:5]: print(o, file=sys.stderr)
            lost += len(trial.lost)
    if not lost: shutil.rmtree(root)
    return lost
