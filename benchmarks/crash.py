"""Kill runs, restart them until they are done, and compare them with undisturbed ones

The script of a run trains a small network with `fit(…, resume=folder)`. Its process is killed by SIGKILL, at a random time or at a random operation on files
(a write, a sync, a rename, a deletion). The script is then run again, until it is done. Its results must equal those of an undisturbed run, bit for bit: weights,
optimizer, history, counters, states of callbacks, CSV files, and the kept checkpoints, the best among them. After each kill, the folder must have a
checkpoint to resume from, if it had one before.

    python -m benchmarks.crash -n 200
    python -m benchmarks.crash -n 200 --processes 2
    python -m benchmarks.crash --every-operation

Processes are forked from this one, which has imported torch and never trains, so they start at once. Each has a time limit and its own process group. With
several processes, the first one is killed at an operation, and then any of them, or all, at a random time; the others must end by themselves. Only the leader of
a group is killed, since the workers of a loader often live on for some seconds. Files are not synced to the disk: that matters for power failures, not for kills.
"""
import hashlib, os, random, select, shutil, signal, sys, tempfile, threading, time, torch, traceback, warnings
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from contextlib import suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset, TensorDataset
from learnloop import (EMA, Callback, CheckpointCallback, CSVLogger, GradientAccumulation, GradientClip, Learner, MixedPrecision, PeerError,
    ReduceLROnPlateau, SaveModelCallback, SeededItems, Snapshots, accuracy, launch, list_checkpoints, newest_checkpoint, set_seed)
from learnloop.checkpoint.files import read_state, write_state
from learnloop.checkpoint.saving import whole
from learnloop.checkpoint.steer import Steering, read_commands, send_command
from learnloop.checkpoint.storage import HashingFile

N_EPOCH,EVERY,KILLS,LIMIT = 3,2,6,60  # Epochs, steps between checkpoints, maximum kills of a run, seconds for a process

# ---- setups

class Noisy(Dataset):
    "Items with noise of two generators"
    def __init__(self, n=24): self.x = torch.linspace(-1, 1, n)[:,None].repeat(1, 3)
    def __len__(self): return len(self.x)
    def __getitem__(self, i): return self.x[i] + .1*torch.randn(3) + .1*random.random(),(self.x[i].sum()>0).long()

def plain(n=24):
    x = torch.linspace(-1, 1, n)[:,None].repeat(1, 3)
    return TensorDataset(x, (x.sum(1)>0).long())

SGD = partial(torch.optim.SGD, momentum=.9)

def setup(opt=torch.optim.AdamW, ds=plain, fit='fit', cbs=list, background=False, **kwargs):
    "Return a function that makes a learner, the name of the method that trains it, and whether checkpoints are written in the background"
    def _learner(folder):
        set_seed(3)
        model = nn.Sequential(nn.Linear(3, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(.3), nn.Linear(8, 2))
        dl = DataLoader(ds(), batch_size=4, shuffle=True, **kwargs)
        logged = [*cbs(), CSVLogger(every_steps=1)]
        return Learner((dl, DataLoader(plain(8), 4)), model, F.cross_entropy, opt, lr=.02, cbs=logged, metrics=accuracy, path=folder, model_dir='.')
    return _learner,fit,background

def _clipped(): return [GradientAccumulation(10), GradientClip(.5)]
def _tracked(): return [ReduceLROnPlateau(patience=1), SaveModelCallback(fname='best')]
def _averaged(): return [EMA(.8)]
def _bf16(): return [MixedPrecision('bf16')]

class SaveInside(Callback):
    "Saves after every fourth batch, usually inside an accumulation window"
    read_only = rank_invariant = True
    def between_batches(self):
        if self.learn.count.batches%4==1: self.learn.checkpoint.save()
class GoBack(Callback):
    "Rewinds once in a run, in the second epoch, and halves the rate"
    read_only = rank_invariant = True
    def after_batch(self):
        learn = self.learn
        if learn.training and not learn.keeper.attempt and learn.count.batches==9: learn.rewind(batches=1, lr=.01)  # a resumed run has no earlier snapshot

class Commands(Callback):
    "Gives a command in each epoch, as a file, which the fit logs; a resumed run doesn't repeat it"
    read_only = rank_invariant = True
    def after_batch(self):
        n,folder = self.learn.count.batches,self.learn.checkpoint.folder
        if not self.learn.training or n not in TEXTS: return
        with suppress(FileNotFoundError):
            if any(o['text']==TEXTS[n] for o in read_commands(folder)): return
        if not any((folder/'tell').glob('*')): send_command(folder, TEXTS[n])
TEXTS = {3:'lr=.03', 9:'wd=.1', 15:'rewind 1'}
Steering.every = 0

def _windows(): return [*_clipped(), *_averaged(), SaveInside()]

SETUPS = dict(
    sgd=setup(SGD), adamw=setup(), one_cycle=setup(fit='fit_one_cycle'), noisy=setup(ds=Noisy), accumulation=setup(SGD, cbs=_clipped), ema=setup(cbs=_averaged),
    bf16=setup(cbs=_bf16), tracked=setup(cbs=_tracked), background=setup(fit='fit_one_cycle', background=True),
    workers=setup(ds=Noisy, num_workers=2), persistent=setup(fit='fit_one_cycle', ds=lambda: SeededItems(Noisy(), 5), num_workers=2, persistent_workers=True),
    windows=setup(ds=Noisy, num_workers=2, cbs=_windows), rewound=setup(fit='fit_one_cycle', cbs=lambda: [Snapshots(3), GoBack()]),
    told=setup(cbs=lambda: [Snapshots(3), Commands()]),
    everything=setup(ds=Noisy, fit='fit_one_cycle', num_workers=2, background=True, cbs=lambda: _clipped() + _bf16()))

# ---- results

def content(c):
    "Hash the contents of the checkpoint `c`, without clock times"
    return {nm:hashlib.blake2b((c.path/nm).read_bytes()).hexdigest() for nm in ('model.pt','opt.pt')} | dict(metrics=c.metrics, at=[c.manifest[k] for k in ('epoch','next','batch')])

def result(learn, folder):
    "Return all results of a run"
    r = learn.recorder
    own = {o.name:o.state_dict() for o in learn.cbs if o.name not in ('recorder','checkpoint')}
    files = {p.name:hashlib.blake2b(p.read_bytes()).hexdigest() for p in sorted((*learn.path.glob('*.pth'), *learn.path.glob('*.csv')))}
    there = [(o.step, o.damage, content(o)) for o in list_checkpoints(folder)]
    left = sorted(p.name for p in folder.iterdir() if p.name[0]=='.' and p.name!='.lock')
    history = dict(raw=list(r.raw_losses), lrs=list(r.lrs), iters=list(r.iters), values=list(r.values), columns=r.columns)
    return dict(model=dict(learn.model.state_dict()), opt=learn.opt.state_dict(), count=dict(vars(learn.count)), history=history, callbacks=own, files=files,
        checkpoints=there, left=left)

def difference(a, b, at=''):
    "Say where `a` and `b` differ; None if they are equal"
    if type(a) is not type(b): return f'{at}: {a!r}, {b!r}'
    if isinstance(a, torch.Tensor): return None if a.dtype==b.dtype and torch.equal(a, b) else f'{at}: {a}, {b}'
    if isinstance(a, dict):
        if list(a)!=list(b): return f'{at}: {list(a)}, {list(b)}'
        return next((d for k in a if (d := difference(a[k], b[k], f'{at}.{k}'))), None)
    if isinstance(a, (list,tuple)):
        if len(a)!=len(b): return f'{at}: {a}, {b}'
        return next((d for i,(x,y) in enumerate(zip(a, b, strict=True)) if (d := difference(x, y, f'{at}[{i}]'))), None)
    return None if a==b or a!=a and b!=b else f'{at}: {a!r}, {b!r}'

# ---- processes

OPS = 'fsync','rename','replace','mkdir','unlink','rmdir'

def count_ops(kill_at=None):
    "Count operations on files from now on, and be killed at one of them; return the counter"
    n = [0]
    def _counted(f):
        def _f(*args, **kwargs):
            n[0] += 1
            if n[0]==kill_at: os.kill(os.getpid(), signal.SIGKILL)
            return f(*args, **kwargs)
        return _f
    os.fsync = lambda fd: None
    for nm in OPS: setattr(os, nm, _counted(getattr(os, nm)))
    HashingFile.write = _counted(HashingFile.write)
    return n

def train(name, root, kill_at=None):
    "The script of the run"
    warnings.simplefilter('ignore')
    os.chdir(root)
    n,(mk,fit,background),folder = count_ops(kill_at),SETUPS[name],Path('run')
    learn = mk('.')
    saver = CheckpointCallback(folder, every_steps=EVERY, every_epochs=1, keep=1, best=1, background=background)
    with learn.no_bar(), learn.no_logging(): getattr(learn, fit)(N_EPOCH, cbs=saver, resume=folder)
    write_state('result.pt', result(learn, folder) | dict(ops=n[0]))

def spawn(f, *args, limit=LIMIT, kill_after=None, log=os.devnull):
    "Run `f` in a new process; return its exit code, negative for a signal, and its process group"
    if not (pid := os.fork()):
        code = 1
        try:
            os.setpgid(0, 0)
            fd = os.open(log, os.O_WRONLY|os.O_CREAT|os.O_APPEND)
            for o in (1, 2): os.dup2(fd, o)
            f(*args)
            code = 0
        except BaseException: traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    fd = os.pidfd_open(pid)
    try:
        if not select.select([fd], [], [], limit if kill_after is None else kill_after)[0]:
            os.kill(pid, signal.SIGKILL)
            if kill_after is None: raise TimeoutError(f'a process ran for more than {limit} s: {args}')
    finally:
        os.close(fd)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return code,pid

def end(groups):
    "Kill the remaining processes of process groups"
    for o in groups:
        try: os.killpg(o, signal.SIGKILL)
        except ProcessLookupError: pass

def run(name, root, log, **kill):
    "Run the script once; return whether it was killed, and raise an error if it failed"
    after = kill.pop('after', None)
    code,pid = spawn(train, name, root, kill.pop('at', None), kill_after=after, log=log)
    if code not in (0, -signal.SIGKILL): raise AssertionError(f'{name} ended with {code}:\n{log.read_text()}')
    return code!=0,pid

def sound(folder):
    "Return the steps of the newest checkpoint that a run can resume from, without locking or changing anything; 0 if there is none"
    with warnings.catch_warnings():
        warnings.simplefilter('error')  # none is damaged
        c = newest_checkpoint(folder)
    return c.step if c else 0

def trial(name, root, want, seconds, rng, n_max=KILLS):
    "Kill a run, at most `n_max` times, until it is done, and compare; return the number of kills, and of those inside a save"
    root.mkdir()
    kills,in_save,last,groups,again = 0,0,0,[],True
    try:
        while again:
            if kills>=n_max: kill = {}
            elif rng.random()<.5: kill = dict(at=rng.randint(1, want['ops']))
            else: kill = dict(after=rng.uniform(.02, seconds))
            again,pid = run(name, root, root/'log', **kill)
            groups.append(pid)
            step = sound(root/'run')
            assert step>=last, f'{name}: the newest checkpoint was of step {last}, and is of {step} after {kill}'
            last = step
            kills += again
            in_save += again and any(p.name.startswith(('.tmp','.old','.del')) for p in (root/'run').glob('.*'))
    finally: end(groups)
    diff = difference(want, read_state(root/'result.pt') | dict(ops=want['ops']))
    assert diff is None, f'{name}: killed {kills} times, it differs {diff}\n{(root/"log").read_text()}'
    return kills,in_save

def reference(name, root):
    "Return the results of an undisturbed run, and its seconds"
    root.mkdir()
    start = time.monotonic()
    _,pid = run(name, root, root/'log')
    end([pid])
    return read_state(root/'result.pt'),time.monotonic()-start

# ---- several processes

def _sharded(learn, **kwargs): return learn.to_fsdp(sharded_files=True, **kwargs)

# How a learner becomes one of several processes, its setup, and whether checkpoints are written in the background
SEVERAL = dict(ddp=(Learner.to_ddp, 'adamw'), ddp_noisy=(Learner.to_ddp, 'noisy'), ddp_background=(Learner.to_ddp, 'background'),
    ddp_workers=(Learner.to_ddp, 'workers'), ddp_windows=(Learner.to_ddp, 'windows'), fsdp=(Learner.to_fsdp, 'adamw'),
    fsdp_windows=(Learner.to_fsdp, 'windows'), sharded=(_sharded, 'adamw'))

def train_as_one(name, root, kill):
    "The script of one of several processes; `kill` maps ranks to the time of their kill"
    warnings.simplefilter('ignore')
    rank = int(os.environ['RANK'])
    mine = kill if rank in kill.get('ranks', ()) else {}
    if 'after' in mine:
        timer = threading.Timer(mine['after'], os.kill, (os.getpid(), signal.SIGKILL))
        timer.daemon = True
        timer.start()
    os.chdir(root)
    join,setup = SEVERAL[name]
    n,(mk,fit,background),folder = count_ops(mine.get('at')),SETUPS[setup],Path('run')
    learn = join(mk('.'), timeout=LIMIT)
    saver = CheckpointCallback(folder, every_steps=EVERY, every_epochs=1, keep=1, best=1, background=background)
    with learn.no_bar(), learn.no_logging(): getattr(learn, fit)(N_EPOCH, cbs=saver, resume=folder)
    res = whole(result(learn, folder))
    if 'after' in mine: timer.cancel()
    learn.team.first(write_state, 'result.pt', res | dict(ops=n[0]))
    return n[0],hashlib.blake2b(repr(res['model']).encode()).hexdigest()

def run_several(n, name, root, kill):
    "Run the script in `n` processes; return whether one of them was killed, and their counts by rank"
    try: res = launch(train_as_one, name, root, kill, n=n, timeout=LIMIT)
    except PeerError as e:
        if kill and 'was killed by SIGKILL' in str(e): return True,None
        raise AssertionError(f'{name}: {e}') from e
    assert len({o for _,o in res.values()})==1, f'{name}: the processes have other weights'
    return False,[res[r][0] for r in range(n)]

def reference_several(n, name, root):
    "Return the results of an undisturbed run, its operations on files by rank, and its seconds"
    root.mkdir()
    start = time.monotonic()
    _,ops = run_several(n, name, root, {})
    return read_state(root/'result.pt'),ops,time.monotonic()-start

def trial_several(n, name, root, want, ops, seconds, rng, n_max=KILLS):
    "Kill processes of a run, at most `n_max` times, until it is done, and compare; return the number of kills, and of those inside a save"
    root.mkdir()
    kills,in_save,last,again = 0,0,0,True
    while again:
        kill = {}
        if not kills: kill = dict(ranks=[0], at=rng.randint(1, ops[0]))  # happens however long the run takes
        elif kills<n_max:
            kill['ranks'] = [*range(n)] if rng.random()<.3 else [rng.randrange(n)]
            is_at = rng.random()<.5 and kill['ranks']==[0]
            kill |= dict(at=rng.randint(1, ops[0])) if is_at else dict(after=rng.uniform(.02, seconds))
        again,_ = run_several(n, name, root, kill)
        step = sound(root/'run')
        assert step>=last, f'{name}: the newest checkpoint was of step {last}, and is of {step} after {kill}'
        last = step
        kills += again
        in_save += again and any(p.name.startswith(('.tmp','.old','.del')) for p in (root/'run').glob('.*'))
    diff = difference(want, read_state(root/'result.pt') | dict(ops=want['ops']))
    assert diff is None, f'{name}: killed {kills} times, it differs {diff}'
    return kills,in_save

def warm_up():
    "Import in this process what each fork needs"
    torch.set_num_threads(1)  # a pool of threads wouldn't survive a fork
    # the first ones by the first step of an optimizer, which takes longer than all the training
    for o in ('numpy.random','torch._dynamo','torch.distributed.fsdp','torch.distributed.checkpoint'): import_module(o)

def main(argv=None):
    "Kill runs of all setups in turn"
    p = ArgumentParser('benchmarks.crash', description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    p.add_argument('-n', type=int, default=30, help='number of kills (default: %(default)s)')
    p.add_argument('--seed', type=int, default=0, help='of the times (default: %(default)s)')
    p.add_argument('--setups', nargs='+', metavar='NAME', help=f'{", ".join(SETUPS)}; of several processes {", ".join(SEVERAL)}')
    p.add_argument('--processes', type=int, default=1, help='number of processes of a run, of which random ones are killed (default: %(default)s)')
    p.add_argument('--every-operation', action='store_true', help='have each operation on files of a small run fail, be the last before a kill, and before a power cut, instead')
    p.add_argument('--share', type=float, default=1., help='of the operations that --every-operation tries (default: all)')
    opt = p.parse_args(argv)
    if opt.every_operation:
        from benchmarks.operations import every_operation
        return every_operation(opt.share, opt.seed)>0
    warm_up()
    several = opt.processes>1
    names = list(SEVERAL if several else SETUPS)
    if unknown := [o for o in opt.setups or () if o not in names]: p.error(f'no setup {unknown[0]}: there are {", ".join(names)}')
    opt.setups = opt.setups or names
    try_it,refer = (partial(f, opt.processes) for f in (trial_several, reference_several)) if several else (trial, reference)
    root,rng,tally,lost,i = Path(tempfile.mkdtemp()),random.Random(opt.seed),{o:[0, 0, 0, 0] for o in opt.setups},0,0
    wants = {o:refer(o, root/o) for o in opt.setups}
    while (n := sum(o[1] for o in tally.values()))<opt.n:
        t = tally[name := opt.setups[i%len(opt.setups)]]
        i += 1
        t[0] += 1
        try: kills,in_save = try_it(name, root/f'{name}-{i}', *wants[name], rng, min(KILLS, opt.n-n))
        except (AssertionError,TimeoutError,ValueError) as e:
            print(e, f'(see {root/f"{name}-{i}"})', file=sys.stderr, flush=True)
            t[3] += 1
            t[1] += 1
            continue
        t[1] += kills
        t[2] += in_save
        shutil.rmtree(root/f'{name}-{i}')
    lost = sum(o[3] for o in tally.values())
    print(f'{"setup":<14}{"runs":>6}{"kills":>7}{"in a save":>11}{"lost":>6}')
    for k,v in (tally | dict(all=[sum(o) for o in zip(*tally.values(), strict=True)])).items(): print(f'{k:<14}{v[0]:>6}{v[1]:>7}{v[2]:>11}{v[3]:>6}')
    if not lost: shutil.rmtree(root)
    return lost>0

if __name__=='__main__': sys.exit(main())
