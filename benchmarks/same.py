"""Check whether losses and weights equal those of another commit, to the bit: `python -m benchmarks.same --against COMMIT`

Both versions run the same programs, each in a separate process: the demo, three lessons of the commit, and fits that are whole, or interrupted and resumed. Their
losses, tables of epochs and weights are compared by `torch.equal`. The exit status is 1 if anything differs, or if a resumed fit differs from a whole one.
"""
import contextlib, io, json, os, signal, subprocess, sys, tempfile, torch, warnings
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from pathlib import Path
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset
from benchmarks.versions import BOOT, ROOT, all_modules, git, versions

LESSONS = 'gan','hugging_face'  # and `nothing_lost`, which needs processes to kill

# ---- in the process of a version: a program returns name -> a tensor, or a list of them

def of_learner(learn):
    "Return the results of the last fit, and the weights"
    values = [[float(v) for v in row if isinstance(v, (int, float))] for row in learn.recorder.values]
    return dict(losses=torch.tensor([float(o) for o in learn.recorder.losses]), epochs=[torch.tensor(o, dtype=torch.float64) for o in values],
        weights=[o.detach().clone() for o in learn.model.state_dict().values()])

def demo():
    "Run three epochs of the demo"
    from learnloop.app.demo import demo
    with tempfile.TemporaryDirectory() as d: return of_learner(demo(epochs=3, folder=Path(d)))

def lesson(path):
    "Run a notebook; return the results of its learners after each cell that trains"
    os.environ |= dict(MPLBACKEND='agg', HF_HUB_OFFLINE='1', TRANSFORMERS_VERBOSITY='error', HF_HUB_DISABLE_PROGRESS_BARS='1')
    from learnloop import Learner
    ns = {k:v for m in all_modules() for k,v in vars(m).items() if k[0]!='_'} | dict(__name__='__main__')  # `*` of another version may import other names
    res,seen = {},{}
    for i,c in enumerate(json.loads(Path(path).read_text())['cells']):
        if c['cell_type']=='code': exec(compile(''.join(c['source']), c['id'], 'exec'), ns)
        for k,o in ns.items():
            if not isinstance(o, Learner) or seen.get((k, id(o)), 0)==o.count.batches: continue
            seen[k, id(o)] = o.count.batches
            res |= {f'cell {i} {k} {nm}':v for nm,v in of_learner(o).items()}
    return res

def features(which):
    "Make new callbacks, by name"
    from learnloop import EMA, GradientAccumulation, MixUp
    every = dict(ema=lambda: EMA(.9), mixup=MixUp, accumulation=lambda: GradientAccumulation(n_acc=48))
    return [every[o]() for o in which]

class Stop(Exception): "An interruption"

def resumed(which, stop_at=None):
    "Fit with the callbacks `which`; if `stop_at` is given, fail at that batch, and resume in a new learner"
    from learnloop import Callback, CheckpointCallback, DataLoaders, Learner
    def _learner(seed):
        torch.manual_seed(0)
        xs = torch.randn(320, 8)
        model = nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(.2), nn.Linear(16, 3))
        ds = TensorDataset(xs, xs[:,:3].argmax(1))
        torch.manual_seed(seed)
        return Learner(DataLoaders(DataLoader(ds, 16, shuffle=True), DataLoader(ds, 64)), model, F.cross_entropy)
    def _stop(cb):
        if cb.learn.count.batches==stop_at: raise Stop
    with tempfile.TemporaryDirectory() as d:
        learn,cbs = _learner(1),[CheckpointCallback(d), Callback(name='stop', before_batch=_stop)]
        with contextlib.suppress(Stop): learn.fit_one_cycle(3, lr_max=.01, cbs=[*features(which), *cbs])
        if stop_at is None: return of_learner(learn)
        learn = _learner(1)
        learn.fit_one_cycle(3, lr_max=.01, cbs=[*features(which), CheckpointCallback(d), Callback(name='stop', before_batch=lambda cb: None)], resume=d)
        return of_learner(learn)

def nothing_lost(root):
    "Run the lesson of that name: a fit that is killed twice and resumed"
    def _run(folder, kill_at):
        code = f'{BOOT}from benchmarks.same import train; train({folder!r}, {kill_at})'
        return subprocess.run([sys.executable, '-c', code, root, str(ROOT)], capture_output=True, text=True, timeout=300)
    with tempfile.TemporaryDirectory() as d:
        for kill_at in (23, 33): assert _run(d, kill_at).returncode==-signal.SIGKILL
        if (res := _run(d, -1)).returncode: raise RuntimeError(res.stderr)
        return torch.load(Path(d)/'result.pt')

def train(folder, kill_at):
    "Fit with checkpoints, and be killed at the batch `kill_at`"
    from learnloop import Callback, CheckpointCallback, Learner, accuracy
    from learnloop.app.demo import cnn, digits
    def _kill(cb):
        if cb.learn.count.batches==kill_at: os.kill(os.getpid(), signal.SIGKILL)
    warnings.simplefilter('ignore')
    torch.set_num_threads(1)
    torch.manual_seed(42)
    cbs = [CheckpointCallback(f'{folder}/checkpoints', every_steps=10, every_epochs=1), Callback(name='kill', before_batch=_kill)]
    learn = Learner(digits(bs=128), cnn(), F.cross_entropy, lr=.02, metrics=accuracy, cbs=cbs)
    learn.recorder.add_time = False
    learn.fit_one_cycle(3, resume=f'{folder}/checkpoints')
    torch.save(of_learner(learn), f'{folder}/result.pt')

def run_program(name, file, **kwargs):
    "Run a program in this process, and save its results to `file`"
    torch.set_num_threads(1)
    warnings.simplefilter('ignore')
    with contextlib.redirect_stdout(io.StringIO()): res = globals()[name](**kwargs)
    torch.save(res, file)

# ---- here

FEATURES = [], ['ema'], ['mixup'], ['accumulation'], ['ema', 'mixup', 'accumulation']

def programs(commit):
    "Name of each program -> its function and arguments"
    res = dict(demo=('demo', {}))
    there = git('ls-tree', '-r', '--name-only', commit, 'nbs').splitlines()
    for o in LESSONS: res[f'lesson {o}'] = 'lesson',dict(path=next(p for p in there if p.endswith(f'_{o}.ipynb')))
    res['lesson nothing_lost'] = 'nothing_lost',{}
    for o in FEATURES:
        for stop_at in (None, 27): res[f"fit, {' '.join(o) or 'plain'}" + (', resumed' if stop_at else '')] = 'resumed',dict(which=o, stop_at=stop_at)
    return res

def same(a, b):
    "Whether two results are equal to the bit; NaN equals NaN"
    if isinstance(a, torch.Tensor): return a.dtype==b.dtype and torch.equal(a.nan_to_num(), b.nan_to_num()) and torch.equal(a.isnan(), b.isnan())
    if isinstance(a, dict): return a.keys()==b.keys() and all(same(a[k], b[k]) for k in a)
    return len(a)==len(b) and all(map(same, a, b))

def differs(a, b): return ', '.join(k for k in {**a, **b} if k not in a or k not in b or not same(a[k], b[k]))

def main():
    p = ArgumentParser('python -m benchmarks.same', description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    p.add_argument('--against', metavar='COMMIT', required=True, help='the version to compare with')
    p.add_argument('--only', metavar='TEXT', default='', help='programs whose name has it')
    args = p.parse_args()
    results,bad = {},0
    with versions(args.against) as both, tempfile.TemporaryDirectory() as d:
        before = both[0]
        for name,(f,kwargs) in programs(args.against).items():
            if args.only not in name: continue
            if f=='lesson': kwargs = dict(path=str(before.root/kwargs['path']))
            res = []
            for o in both:
                more = dict(root=str(o.root)) if f=='nothing_lost' else {}
                o.ask(run_program, name=f, file=(file := f'{d}/{o.name}.pt'), **kwargs, **more)
                res.append(torch.load(file))
            results[name] = res
            diff = differs(*res)
            if name.endswith(', resumed') and (whole := results.get(name.removesuffix(', resumed'))) and not same(whole[1], res[1]): diff += ' (and not what the whole fit has)'
            bad += bool(diff)
            n = sum(len(v) for k,v in res[1].items() if k.endswith('losses'))
            print(f"{'DIFFERS' if diff else 'same':8}{name:48}" + (diff or f'{n:,} losses'), flush=True)
    print(f"{len(results)-bad} of {len(results)} programs have the losses and weights of {args.against}")
    return int(bad>0)

if __name__=='__main__': sys.exit(main())
