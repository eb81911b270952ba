"""Per-step overhead of PyTorch training-loop libraries over a hand-written loop.

Every contender trains the same seeded model for one epoch, with plain SGD, on the same in-memory, pre-collated
batches served by the same kind of `DataLoader`, on one CPU thread, without validation, logging or progress bar.
What differs is only what the library does around `forward; loss; backward; step; zero_grad`.

A contender is a function `(model, loss_func, dl, noops)` that fits `model` in place for one epoch of `dl`;
`noops(Base)` gives the callbacks to attach (none, or `N_CBS` objects whose per-batch hooks do nothing), so that
the second variant of each contender, `name+cbs`, prices event dispatch. To add one, decorate a function with `@contender`.

Measurement: contenders are interleaved in rounds, in a new random order each. In a round a contender gets a fresh model and is
timed on a fit of `SHORT` batches and on a fit of the whole epoch; the difference is the cost of steps alone (`us/step`), and what
the short fit costs beyond its steps is the fixed price of a fit, construction included (`fit ms`). The clock is the CPU time of the
process, which a busy machine disturbs less than wall time does (`--wall` for that). Ratios and overheads are taken against `raw` in
the same round; the table holds medians over rounds, and `x best` is the ratio of the best rounds. `raw_again` is a control: its
distance from 1.00 is the noise. The final weights are compared with those of `raw` (`=raw`).

    python -m benchmarks.overhead --models tiny mlp cnn --contenders raw fastai --json out.json
    python -m benchmarks.overhead --models --imports        # only import time and installed size, each in fresh processes
"""
import argparse, contextlib, gc, io, json, logging, os, platform, random, statistics, subprocess, sys, tempfile, time, warnings
from collections import namedtuple
from functools import partial
from importlib import metadata
from operator import itemgetter

os.environ.setdefault('KERAS_BACKEND', 'torch')
import torch
from torch import nn
from torch.nn import functional as F
from torch.optim import SGD
from torch.utils.data import DataLoader
from learnloop.settings import run_settings

LR, N_CBS, SHORT = 1e-2, 5, 8

# ---------------------------------------------------------------- work

Work = namedtuple('Work', 'model shape n_out bs n')

def _cnn():
    def block(i,o): return nn.Conv2d(i, o, 3, stride=2, padding=1), nn.BatchNorm2d(o), nn.ReLU()
    return nn.Sequential(*block(1,8), *block(8,16), *block(16,32), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32,10))

WORKS = dict(
    tiny=Work(lambda: nn.Sequential(nn.Linear(10,32), nn.ReLU(), nn.Linear(32,2)), (10,), 2, 32, 2000),
    mlp =Work(lambda: nn.Sequential(nn.Linear(784,256), nn.ReLU(), nn.Linear(256,256), nn.ReLU(), nn.Linear(256,10)), (784,), 10, 64, 500),
    cnn =Work(_cnn, (1,28,28), 10, 32, 150))

def new_model(work): torch.manual_seed(42); return work.model()

def new_batches(work):
    g = torch.Generator().manual_seed(0)
    return [(torch.randn(work.bs, *work.shape, generator=g), torch.randint(work.n_out, (work.bs,), generator=g)) for _ in range(work.n)]

def loader(batches, collate=itemgetter(0)):
    "A real `DataLoader`, as some libraries insist on one, which hands out the ready-made `batches` as they are"
    return DataLoader(batches, batch_size=1, shuffle=False, collate_fn=collate)

# ---------------------------------------------------------------- contenders

Contender = namedtuple('Contender', 'name func dist imp hooks')
CONTENDERS = {}

def contender(dist=None, imp=None, hooks=''):
    "Register a contender: the pip distribution, the modules to import (to time that), and the per-batch hooks its callbacks have"
    def _f(f): CONTENDERS[f.__name__] = Contender(f.__name__, f, dist, imp, hooks.split()); return f
    return _f

def noop(*args, **kwargs): pass

def make_noops(hooks, n, base):
    "`n` instances of as many subclasses of `base` (some libraries refuse two of one class), each `hook` doing nothing"
    return [type(f'Noop{i}', (base,), dict.fromkeys(hooks, noop))() for i in range(n)]

@contender()
def raw(model, loss_func, dl, noops):
    opt = SGD(model.parameters(), lr=LR)
    model.train()
    for xb,yb in dl:
        pred = model(xb)
        loss = loss_func(pred, yb)
        loss.backward()
        opt.step()
        opt.zero_grad()

@contender()
def raw_again(model, loss_func, dl, noops): raw(model, loss_func, dl, noops)

@contender()
def raw_list(model, loss_func, dl, noops):
    "The same loop over a plain list: what `DataLoader` itself costs"
    raw(model, loss_func, dl.dataset, noops)

@contender()
def raw_item(model, loss_func, dl, noops):
    "The same loop reading the loss every step, as anything that shows or logs it must"
    opt = SGD(model.parameters(), lr=LR)
    losses = []
    model.train()
    for xb,yb in dl:
        loss = loss_func(model(xb), yb)
        loss.backward()
        opt.step()
        opt.zero_grad()
        losses.append(loss.item())

@contender('learnloop', 'learnloop', 'before_batch after_pred after_loss before_backward after_backward before_step after_step after_batch')
def learnloop(model, loss_func, dl, noops):
    from learnloop import Learner, DataLoaders, Callback
    learn = Learner(DataLoaders(dl, loader([])), model, loss_func, opt_func=SGD, lr=LR, cbs=noops(Callback))
    with learn.no_bar(): learn.fit(1)

@contender('fastai', 'fastai.learner', 'before_batch after_pred after_loss before_backward after_backward before_step after_step after_batch')
def fastai(model, loss_func, dl, noops):
    from fastai.learner import Learner
    from fastai.callback.core import Callback
    from fastai.data.core import DataLoaders
    from fastai.optimizer import OptimWrapper
    learn = Learner(DataLoaders(dl, loader([])), model, loss_func, opt_func=partial(OptimWrapper, opt=SGD), lr=LR, cbs=noops(Callback))
    learn.logger = noop
    with learn.no_bar() if hasattr(learn, 'progress') else contextlib.nullcontext(): learn.fit(1)

@contender('lightning', 'lightning.pytorch', 'on_train_batch_start on_before_backward on_after_backward on_before_optimizer_step on_before_zero_grad on_train_batch_end')
def lightning(model, loss_func, dl, noops, **kwargs):
    import lightning.pytorch as pl
    class Module(pl.LightningModule):
        def __init__(self): super().__init__(); self.model = model
        def training_step(self, b, i): return loss_func(self.model(b[0]), b[1])
        def configure_optimizers(self): return SGD(self.parameters(), lr=LR)
    opts = dict(logger=False, enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False) | kwargs
    pl.Trainer(max_epochs=1, accelerator='cpu', devices=1, callbacks=noops(pl.Callback), **opts).fit(Module(), dl)

@contender('lightning', None, 'on_train_batch_start on_before_backward on_after_backward on_before_optimizer_step on_before_zero_grad on_train_batch_end')
def lightning_barebones(model, loss_func, dl, noops):
    "Lightning's own mode for measuring its overhead: everything optional off"
    lightning(model, loss_func, dl, noops, barebones=True, logger=None, enable_checkpointing=None, enable_progress_bar=None, enable_model_summary=None)

@contender('pytorch-ignite', 'ignite.engine', 'GET_BATCH_STARTED GET_BATCH_COMPLETED ITERATION_STARTED ITERATION_COMPLETED')
def ignite(model, loss_func, dl, noops):
    from ignite.engine import create_supervised_trainer, Events
    trainer = create_supervised_trainer(model, SGD(model.parameters(), lr=LR), loss_func)
    for cb in noops(object):
        for h in CONTENDERS['ignite'].hooks: trainer.add_event_handler(Events[h], getattr(cb, h))
    trainer.run(dl, max_epochs=1)

@contender('pytorch-accelerated', 'pytorch_accelerated', 'on_train_step_start on_train_step_end')
def pytorch_accelerated(model, loss_func, dl, noops):
    from pytorch_accelerated import Trainer
    from pytorch_accelerated import callbacks as C
    cbs = [C.MoveModulesToDeviceCallback, C.TerminateOnNaNCallback] + noops(C.TrainerCallback)
    trainer = Trainer(model, loss_func, SGD(model.parameters(), lr=LR), callbacks=cbs)
    trainer.train(dl.dataset, num_epochs=1, per_device_batch_size=1, collate_fn=dl.collate_fn,
                  train_dataloader_kwargs=dict(shuffle=False, num_workers=0, pin_memory=False))

@contender('transformers', 'transformers.trainer', 'on_step_begin on_pre_optimizer_step on_optimizer_step on_step_end')
def hf_trainer(model, loss_func, dl, noops):
    from transformers import Trainer, TrainingArguments, TrainerCallback, PrinterCallback
    class WithLoss(nn.Module):
        def __init__(self): super().__init__(); self.model = model
        def forward(self, x, y): return dict(loss=loss_func(self.model(x), y))
    class MyTrainer(Trainer):  # dict batches, in order
        def get_train_dataloader(self): return self.accelerator.prepare(loader(dl.dataset, collate=lambda b: dict(zip('xy', b[0]))))
    opt = SGD(model.parameters(), lr=LR)
    args = TrainingArguments(tempfile.gettempdir(), report_to=[], logging_strategy='no', save_strategy='no', num_train_epochs=1, max_grad_norm=0,
                             disable_tqdm=True, use_cpu=True, remove_unused_columns=False, per_device_train_batch_size=1)
    sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda i: 1.)
    trainer = MyTrainer(WithLoss(), args, train_dataset=dl.dataset, optimizers=(opt,sched), callbacks=noops(TrainerCallback))
    trainer.remove_callback(PrinterCallback)
    trainer.train()

@contender('keras', 'keras', 'on_train_batch_begin on_train_batch_end')
def keras(model, loss_func, dl, noops):
    import keras
    m = keras.Sequential([keras.layers.TorchModuleWrapper(model)])
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)  # keras casts targets to float before calling a plain function
    m.compile(optimizer=keras.optimizers.SGD(LR), loss=loss, jit_compile=False)
    m.fit(dl, epochs=1, verbose=0, shuffle=False, callbacks=noops(keras.callbacks.Callback))

@contender('skorch', 'skorch', 'on_batch_begin on_batch_end on_grad_computed')
def skorch(model, loss_func, dl, noops):
    from skorch import NeuralNet
    from skorch.callbacks import Callback
    net = NeuralNet(model, criterion=partial(_Fn, loss_func), optimizer=SGD, lr=LR, max_epochs=1, train_split=None, verbose=0,
                    iterator_train=lambda ds, **kw: dl, callbacks=[(f'noop{i}',c) for i,c in enumerate(noops(Callback))])
    net.partial_fit(dl.dataset)

class _Fn(nn.Module):
    "skorch wants its criterion to be a class of modules"
    def __init__(self, f): super().__init__(); self.f = f
    def forward(self, pred, y): return self.f(pred, y)

# ---------------------------------------------------------------- timing

def quiet():
    "Silence what the libraries say about themselves"
    warnings.filterwarnings('ignore')
    os.environ.setdefault('TRANSFORMERS_VERBOSITY', 'error')
    for o in ('lightning.pytorch', 'lightning', 'lightning.pytorch.utilities.rank_zero', 'ignite', 'transformers', 'accelerate'):
        logging.getLogger(o).setLevel(logging.ERROR)

clock = time.process_time

def timed_fit(c, model, batches, n_cbs):
    dl = loader(batches)
    gc.collect()
    with contextlib.redirect_stdout(io.StringIO()):
        start = clock()
        c.func(model, F.cross_entropy, dl, partial(make_noops, c.hooks, n_cbs))
        return clock()-start

def run_once(c, work, batches, n_cbs):
    "us/step, ms per fit, and the weights at the end"
    model = new_model(work)
    short = timed_fit(c, model, batches[:SHORT], n_cbs)
    long  = timed_fit(c, model, batches, n_cbs)
    step = (long-short)/(len(batches)-SHORT)
    return step*1e6, (short-SHORT*step)*1e3, [p.detach().clone() for p in model.parameters()]

def variants(names, cbs=True):
    "What is run: each contender without callbacks and, if it has any hooks, with"
    for n in names:
        c = CONTENDERS[n]
        yield n, c, 0
        if cbs and c.hooks: yield f'{n}+cbs', c, N_CBS

def bench(work, names, rounds, cbs=True):
    "Medians over interleaved `rounds`, per variant"
    batches = new_batches(work)
    todo,failed,res = list(variants(names, cbs)),{},{}
    for name,c,n_cbs in list(todo):  # warm up, and find out who runs at all
        try: run_once(c, work, batches[:max(4*SHORT, work.n//10)], n_cbs)
        except ImportError as e: failed[name] = f'skipped: {e}'
        except Exception as e:   failed[name] = f'failed: {type(e).__name__}: {e}'
    todo = [o for o in todo if o[0] not in failed]
    for r in range(rounds):
        for name,c,n_cbs in random.Random(r).sample(todo, len(todo)):
            step,fit,params = run_once(c, work, batches, n_cbs)
            d = res.setdefault(name, dict(step_us=[], fit_ms=[]))
            d['step_us'].append(step); d['fit_ms'].append(fit)
            d['params'] = params
        print(f'  round {r+1}/{rounds}', file=sys.stderr)
    return {k:summary(k, res[k], res) for k,_,_ in todo} | {k:dict(error=v) for k,v in failed.items()}

def summary(name, d, res):
    med,raw,params = statistics.median, res['raw']['step_us'], list(zip(d['params'], res['raw']['params']))
    out = dict(us_per_step=med(d['step_us']), ratio=med(a/b for a,b in zip(d['step_us'], raw)),
               overhead_us=med(a-b for a,b in zip(d['step_us'], raw)), fit_ms=med(d['fit_ms']),
               ratio_best=min(d['step_us'])/min(raw), equal_to_raw=all(torch.allclose(a, b, rtol=1e-4, atol=1e-6) for a,b in params),
               max_diff=max((a-b).abs().max().item() for a,b in params), rounds=d['step_us'])
    if name.endswith('+cbs'):
        plain = name.removesuffix('+cbs')
        out['cbs_us'] = med(a-b for a,b in zip(d['step_us'], res[plain]['step_us']))
        out['ns_per_call'] = 1e3*out['cbs_us']/(N_CBS*len(CONTENDERS[plain].hooks))
    return out

# ---------------------------------------------------------------- import time, installed size

_IMPORT = '''import sys,time,torch  # torch first, so that it is not counted
n,t,c = len(sys.modules),time.perf_counter(),time.process_time()
import {imp}
print(time.process_time()-c, time.perf_counter()-t, len(sys.modules)-n)'''

def import_cost(imp, n=5):
    "Median CPU and wall seconds, over `n` fresh processes, to import `imp` after torch, and how many modules that adds"
    def _one(): return map(float, subprocess.run([sys.executable, '-c', _IMPORT.format(imp=imp)], capture_output=True, text=True, check=True).stdout.split()[-3:])
    _one()  # warm the page cache
    cpu,wall,mods = zip(*(_one() for _ in range(n)))
    return dict(import_s=statistics.median(cpu), import_wall_s=statistics.median(wall), modules=int(mods[0]))

def requirements(dist, extras=(), seen=None):
    "Names of the installed distributions that `dist[extras]` needs, itself included"
    from packaging.requirements import Requirement
    from packaging.utils import canonicalize_name as canon
    seen = set() if seen is None else seen
    key = canon(dist),frozenset(extras)
    if key in seen: return set()
    try: reqs = metadata.requires(dist) or []
    except metadata.PackageNotFoundError: return set()
    seen.add(key)
    for r in map(Requirement, reqs):
        if not r.marker or any(r.marker.evaluate(dict(extra=e)) for e in ('',*extras)): requirements(r.name, r.extras, seen)
    return {name for name,_ in seen}

def size_mb(dist):
    fs = (metadata.files(dist) or []) if dist else []
    return sum(p.stat().st_size for f in fs if (p:=f.locate()).is_file() and p.suffix!='.pyc')/2**20

def footprint(c):
    "Import time, and MB and number of distributions installed beyond what torch itself brings"
    more = requirements(c.dist) - requirements('torch')
    return import_cost(c.imp) | dict(own_mb=size_mb(c.dist), total_mb=sum(map(size_mb, more)), dists=len(more), version=metadata.version(c.dist))

# ---------------------------------------------------------------- report

def md_table(cols, rows):
    return '\n'.join('| '+' | '.join(o)+' |' for o in [cols, ['---']+['---:']*(len(cols)-1), *rows])

def bench_table(res):
    rows = []
    for k,d in res.items():
        if k.endswith('+cbs'): continue
        if 'error' in d: rows.append([k, d['error'][:60]] + ['']*7); continue
        w = res.get(f'{k}+cbs', {})
        cb = [f"{w['cbs_us']:+.1f}", f"{w['ns_per_call']:.0f}"] if 'cbs_us' in w else ['','']
        eq = 'yes' if d['equal_to_raw'] else f"no ({d['max_diff']:.0e})"
        rows.append([k, f"{d['us_per_step']:.1f}", f"{d['ratio']:.2f}", f"{d['ratio_best']:.2f}", f"{d['overhead_us']:+.1f}", *cb, f"{d['fit_ms']:.1f}", eq])
    return md_table(['contender', 'us/step', 'x raw', 'x best', 'overhead us', f'+{N_CBS} callbacks us', 'ns/call', 'fit ms', '=raw'], rows)

def footprint_table(res):
    return md_table(['library', 'version', 'import CPU s (beyond torch)', 'modules', 'own MB', 'MB with deps', 'dists'],
        [[k, d['version'], f"{d['import_s']:.2f}", str(d['modules']), f"{d['own_mb']:.1f}", f"{d['total_mb']:.0f}", str(d['dists'])] for k,d in res.items()])

def main():
    cfg = run_settings('bench', seed=0, rounds=5)
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('--models', nargs='*', choices=WORKS, default=list(WORKS))
    p.add_argument('--contenders', nargs='*', choices=CONTENDERS, default=list(CONTENDERS))
    p.add_argument('--rounds', type=int, default=cfg.rounds, help='default: %(default)s, from settings.ini')
    p.add_argument('--no-cbs', action='store_true', help='leave out the variants with callbacks')
    p.add_argument('--imports', action='store_true', help='also measure import time and installed size')
    p.add_argument('--wall', action='store_true', help='time by the wall, not by the CPU time of the process')
    p.add_argument('--json', help='write everything measured here')
    a = p.parse_args()
    names = list(dict.fromkeys(['raw', *a.contenders]))
    torch.set_num_threads(1)
    quiet()
    if a.wall: globals()['clock'] = time.perf_counter
    out = dict(machine=dict(cpu=platform.processor() or platform.machine(), python=platform.python_version(), torch=torch.__version__, threads=1, clock='wall' if a.wall else 'cpu'), models={})
    for m in a.models:
        print(f'{m}: {WORKS[m].n} steps', file=sys.stderr)
        out['models'][m] = res = bench(WORKS[m], names, a.rounds, not a.no_cbs)
        print(f'\n### {m}\n\n{bench_table(res)}\n', flush=True)
    if a.imports:
        def _installed(c): return c.imp and requirements(c.dist)
        out['footprint'] = res = {n:footprint(CONTENDERS[n]) for n in names if _installed(CONTENDERS[n])}
        print(f'\n### footprint\n\n{footprint_table(res)}\n')
    if a.json:
        with open(a.json, 'w') as f: json.dump(out, f, indent=1)

if __name__=='__main__': main()
