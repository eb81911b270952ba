"""Measure the cost of several processes in learnloop and its peers, as a ratio to a `DistributedDataParallel` loop written by hand

    python -m benchmarks.processes                  # everything, about ten minutes on two cores
    python -m benchmarks.processes fits meetings    # parts of it

- **fits**: all contenders train the same model from the same weights on the same batches, in the same processes, in turns, in a new order each round. "CPU" is
  the time of all processes together, with threads of gloo and autograd; "wall" is the time of the slowest one. Ratios are to `raw` in the same round, medians over
  rounds. The distance of `raw_again` from 1 is noise. A fit includes the loader, the wrapper, the optimizer and the loop. "fit ms" is its cost beyond its
  steps. "= raw" compares the weights.
- **scaling**: a step of learnloop and of `raw` with 1, 2 and 4 processes.
- **meetings**: a meeting of `learn.team` beside its collectives, for 2 and 4 processes, and the bytes sent, by the counters of the loopback interface.
- **callbacks**: the cost of a callback that does nothing, isn't marked by `rank_invariant`, and handles one event.
- **files**: a checkpoint saved and resumed by 1, 2 and 4 processes.
- On paper, after the meetings: messages and bytes per step for up to 1,024 ranks, by the formulas of `paper`, with the latency measured here.

Processes are pinned to cores by rank, the same for all contenders. Peers take part where they are installed: see `benchmarks.overhead`.
"""
import gc, io, logging, math, os, random, sys, tempfile, time, torch
import torch.distributed as dist
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from contextlib import redirect_stdout, suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from statistics import median
from typing import NamedTuple
from torch import nn
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel
from torch.optim import SGD
from torch.utils.data import DataLoader, DistributedSampler
from benchmarks.contenders import LR, quiet
from benchmarks.overhead import show
from benchmarks.works import _mlp
from learnloop import Callback, DataLoaders, Learner
from learnloop.scale.launch import launch
from learnloop.scale.team import find_team

SHORT = 8      # Batches of the short fit
LIMIT = 900    # Seconds for a launch; hung processes are killed
N_MEETS = 2000

# ---- the work

class GPT(nn.Module):
    "A small causal transformer over tokens (bs, seq), with a vocabulary of `n_vocab`"
    def __init__(self, n_vocab=128, seq=64, dim=128, n_layers=2, n_heads=4):
        super().__init__()
        layer = partial(nn.TransformerEncoderLayer, dim, n_heads, 4*dim, dropout=0., batch_first=True, norm_first=True)
        self.embed,self.place = nn.Embedding(n_vocab, dim),nn.Parameter(torch.randn(seq, dim)/50)
        self.layers,self.head = nn.ModuleList(layer() for _ in range(n_layers)),nn.Linear(dim, n_vocab)
        self.register_buffer('mask', nn.Transformer.generate_square_subsequent_mask(seq), persistent=False)
    def forward(self, x):
        x = self.embed(x)+self.place
        for o in self.layers: x = o(x, src_mask=self.mask, is_causal=True)
        return self.head(x).transpose(1, 2)

class Rows:
    "A dataset that returns batches of items at once, for speed"
    def __init__(self, x, y): self.x,self.y = x,y
    def __len__(self): return len(self.x)
    def __getitem__(self, i): return self.x[i],self.y[i]
    def __getitems__(self, idxs): return self.x[idxs],self.y[idxs]

def as_is(b): return b

class Work(NamedTuple):
    model: object # Makes it
    data: object  # Makes so many items
    bs: int       # Of all processes
    n: int        # Batches of a fit
    target: float # What a fit of learnloop may cost at most, times that of raw

def vectors(dim, n): return Rows(torch.randn(n, dim), torch.randint(10, (n,)))
def tokens(n):
    t = torch.randint(128, (n, 65))
    return Rows(t[:,:-1], t[:,1:])

WORKS = {
    'mlp 512':     Work(partial(_mlp, 512, 512, 512, 10), partial(vectors, 512), 64, 100, 1.08),
    'mlp 64':      Work(partial(_mlp, 64, 64, 64, 10),    partial(vectors, 64),  64, 100, 1.20),
    'transformer': Work(GPT,                                tokens,                32,  40, 1.03)}

def new_model(work, seed):
    torch.manual_seed(seed)
    return work.model()

# ---- the contenders: each trains `model` in place, on one epoch of `data` in batches of `bs` in all processes

def parts(data, bs, n):
    "The loader of this process's items, with torch alone"
    return DataLoader(data, bs//n, sampler=DistributedSampler(data, shuffle=False), collate_fn=as_is)

def steps(model, dl, opt, backward=torch.Tensor.backward):
    model.train()
    for xb,yb in dl:
        loss = F.cross_entropy(model(xb), yb)
        backward(loss)
        opt.step()
        opt.zero_grad()

def raw(model, data, bs, n):
    wrapped = DistributedDataParallel(model) if n>1 else model
    dl = parts(data, bs, n) if n>1 else DataLoader(data, bs, collate_fn=as_is)
    steps(wrapped, dl, SGD(model.parameters(), lr=LR))

def raw_again(model, data, bs, n): raw(model, data, bs, n)

def learnloop(model, data, bs, n, cbs=()):
    dls = DataLoaders(DataLoader(data, bs, collate_fn=as_is))
    learn = Learner(dls, model, F.cross_entropy, opt_func=SGD, lr=LR, cbs=cbs).to_ddp()
    with learn.no_bar(), learn.no_logging(): learn.fit(1)
    return learn

def accelerate(model, data, bs, n):
    from accelerate import Accelerator, DataLoaderConfiguration
    acc = Accelerator(cpu=True, dataloader_config=DataLoaderConfiguration(split_batches=True))
    *those,dl = acc.prepare(model, SGD(model.parameters(), lr=LR), DataLoader(data, bs, collate_fn=as_is))
    steps(those[0], dl, those[1], acc.backward)

def lightning(model, data, bs, n):
    import lightning.pytorch as pl
    class Module(pl.LightningModule):
        def __init__(self):
            super().__init__()
            self.model = model
        def training_step(self, b, i): return F.cross_entropy(self.model(b[0]), b[1])
        def configure_optimizers(self): return SGD(self.parameters(), lr=LR)
    off = dict.fromkeys(('logger','enable_checkpointing','enable_progress_bar','enable_model_summary'), False)
    kwargs = dict(max_epochs=1, accelerator='cpu', devices=n, strategy='ddp', use_distributed_sampler=False)
    pl.Trainer(**kwargs, **off).fit(Module(), parts(data, bs, n))

def ignite(model, data, bs, n):
    from ignite.engine import create_supervised_trainer
    wrapped = DistributedDataParallel(model)
    trainer = create_supervised_trainer(wrapped, SGD(model.parameters(), lr=LR), F.cross_entropy)
    trainer.run(parts(data, bs, n), max_epochs=1)

def fastai(model, data, bs, n):
    "fastai's loop around torch's own wrapper: its `distrib_ctx` takes only accelerators"
    from fastai.data.core import DataLoaders
    from fastai.learner import Learner
    from fastai.optimizer import OptimWrapper
    wrapped,none = DistributedDataParallel(model),DataLoader([])
    learn = Learner(DataLoaders(parts(data, bs, n), none), wrapped, F.cross_entropy, opt_func=partial(OptimWrapper, opt=SGD), lr=LR)
    with learn.no_logging(): learn.fit(1)

CONTENDERS = dict(raw=raw, raw_again=raw_again, learnloop=learnloop, accelerate=accelerate, lightning=lightning, ignite=ignite, fastai=fastai)
NEEDS = dict(accelerate='accelerate', lightning='lightning.pytorch', ignite='ignite.engine', fastai='fastai.learner')

def installed():
    "Return contenders whose library can be imported; print the others"
    for nm in CONTENDERS:
        try: import_module(NEEDS.get(nm, 'torch'))
        except ImportError as e: print(f'{nm}: left out: {e}', file=sys.stderr)
        else: yield nm

# ---- in the processes

def settle():
    "Create the process group, pin this process to a core, and silence messages"
    quiet()
    logging.disable(logging.WARNING)
    os.environ['TORCHELASTIC_RUN_ID'] = 'bench'  # tells Lightning that the processes exist already
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, 'sched_getaffinity') else []
    if cores: os.sched_setaffinity(0, {cores[int(os.environ['RANK'])%len(cores)]})
    return find_team()

def together():
    if dist.is_initialized(): dist.barrier()

def clock(f, *args):
    "Return CPU and wall seconds of `f(*args)` in this process, and its result"
    gc.collect()
    gc.freeze()
    together()
    cpu,wall = time.process_time(),time.perf_counter()
    with redirect_stdout(io.StringIO()): res = f(*args)
    return time.process_time()-cpu,time.perf_counter()-wall,res

def train_by_turns(work, names, rounds, seed):
    "In each process, return for each contender rounds of CPU and wall seconds of a short and a long fit, and its weights"
    settle()
    n,order = int(os.environ['WORLD_SIZE']),random.Random(seed)
    torch.manual_seed(seed)
    data = work.data(work.n*work.bs)
    short = Rows(data.x[:SHORT*work.bs], data.y[:SHORT*work.bs])
    res,weights = {o:[] for o in names},{}
    for i in range(-1, rounds):  # the first warms up
        for nm in order.sample(names, len(names)):
            both = []
            for items in (short, data):
                model = new_model(work, seed)
                both += clock(CONTENDERS[nm], model, items, work.bs, n)[:2]
            weights[nm] = nn.utils.parameters_to_vector(model.parameters()).detach()
            if i>=0: res[nm].append(both)
    return res,{k:(v-weights['raw']).abs().max().item() for k,v in weights.items()}

class Fit(NamedTuple):
    "The cost of a contender's round, in all processes together"
    short_cpu: float
    short_wall: float
    cpu: float
    wall: float
    def step_us(self, n): return 1e6*(self.cpu-self.short_cpu)/(n-SHORT)
    def fit_ms(self, n): return 1e3*self.short_cpu-SHORT*self.step_us(n)/1e3

def joined(ranks, *fs):
    "Combine the rounds of all processes: each number of a round by its function in `fs`"
    return [[f(o) for f,o in zip(fs, zip(*each, strict=True), strict=True)] for each in zip(*ranks, strict=True)]

def ratio(rounds, base, key): return median(getattr(a, key)/getattr(b, key) for a,b in zip(rounds, base, strict=True))

# ---- fits

def fit_row(name, mine, base, n, diff):
    step,fit = median(o.step_us(n) for o in mine),median(o.fit_ms(n) for o in mine)
    ratios = [f'{ratio(mine, base, k):.3f}' for k in ('cpu','wall')]
    return [name, *ratios, f'{step:.0f}', f'{fit:.1f}', f'to {diff:.0e}' if diff else 'exactly']

def fits(args):
    met,names = [],[*installed()]
    for nm,work in WORKS.items():
        by_rank = launch(train_by_turns, work, names, args.rounds, args.seed, n=2, timeout=LIMIT)
        rounds = {o:[Fit(*r) for r in joined([res[o] for res,_ in by_rank.values()], sum, max, sum, max)] for o in names}
        rows = [fit_row(o, rounds[o], rounds['raw'], work.n, max(d[o] for _,d in by_rank.values())) for o in names]
        show(f'{nm}: 2 processes, {work.n} batches of {work.bs}', ['contender', 'CPU, times raw', 'wall', 'CPU us/step', 'fit ms', '= raw'], rows)
        got = ratio(rounds['learnloop'], rounds['raw'], 'cpu')
        met.append([f'{nm}: CPU of a fit, times raw', f'{work.target:.2f}', f'{got:.3f}', 'yes' if got<=work.target else 'no'])
    show('learnloop', ['target', 'at most', 'measured', 'met'], met)

# ---- scaling

def scaling(args):
    work,rows = WORKS['mlp 512'],[]
    for n in (1, 2, 4):
        by_rank = launch(train_by_turns, work, ['raw', 'learnloop'], args.rounds, args.seed, n=n, timeout=LIMIT)
        both = [[Fit(*r) for r in joined([res[o] for res,_ in by_rank.values()], sum, max, sum, max)] for o in ('raw', 'learnloop')]
        us = [f'{median(r.step_us(work.n) for r in o)/n:.0f}' for o in both]
        rows.append([f'{n}', *us, *(f'{ratio(*reversed(both), k):.3f}' for k in ('cpu','wall')), f'{max(d["learnloop"] for _,d in by_rank.values()):.0e}'])
    show('mlp 512: CPU of a process', ['processes', 'raw us/step', 'learnloop', 'fit, CPU times raw', 'wall', 'weights apart'], rows)

# ---- meetings

def sent():
    "Return the bytes sent over the loopback interface by all programs; 0 if unknown"
    with suppress(OSError, StopIteration):
        return int(next(l for l in Path('/proc/net/dev').read_text().splitlines() if l.split()[0]=='lo:').split()[9])
    return 0

def time_meetings():
    "In each process, return CPU and wall seconds of a meeting and of bare collectives, and the bytes that all processes sent"
    team = settle()
    row,every,number,mb = (torch.zeros(o, dtype=torch.uint8) for o in (72, 72*team.world, 1, 2**20))
    group = dict(group=team.group)
    def _times(f, n):
        for _ in range(n): f()
    works = {'team.meet': lambda: team.meet('bench'), 'all_gather of 72 bytes': lambda: dist.all_gather_single(every, row, **group),
        'all_reduce of a number': lambda: dist.all_reduce(number, **group), 'all_reduce of 1 MB': lambda: dist.all_reduce(mb, **group)}
    res = {}
    for k,f in works.items():
        n = N_MEETS//20 if 'MB' in k else N_MEETS
        f()
        before = sent()
        *times,_ = clock(_times, f, n)
        together()
        res[k] = [*(t/n for t in times), (sent()-before)/n]
    return res

def meetings(args):
    "Print the cost of meetings; return wall seconds, bytes per process and CPU seconds, by operation and number of processes"
    rows,res = {},{}
    for n in (2, 4):
        tries = [launch(time_meetings, n=n, timeout=LIMIT) for _ in range(3)]
        for k in tries[0][0]:
            cpu,wall,b = map(median, zip(*joined([[o[r][k] for o in tries] for r in range(n)], max, max, max), strict=True))
            rows.setdefault(k, [k]).extend([f'{1e6*cpu:.0f}', f'{1e6*wall:.0f}', f'{b/n:,.0f}'])
            res[k,n] = wall,b/n,cpu
    heads = [f'{n}: {o}' for n in (2, 4) for o in ('CPU us', 'wall us', 'bytes')]
    show('what each process pays for a collective; bytes with their headers, by TCP', ['', *heads], rows.values())
    return res

# ---- on paper

def paper(known):
    """Print messages and bytes of a step, by formulas of gloo's algorithms, with the latency as measured for 2 and 4 processes

    A meeting of W processes, up to 8, is the sum of a number around a ring: 2(W-1) messages of 8 bytes, one after the other. More processes meet through the first
    process, which gets W-1 rows of 72 bytes and sends all of them along a tree: ceil(log2 W) messages, one after the other. Gradients of B bytes:
    2(W-1) messages of B/W for each bucket of 25 MB.
    """
    (two,_,cpu_two),(four,_,cpu_four) = (known['team.meet', n] for n in (2, 4))
    hop,taken = (four-two)/4,max(cpu_four-cpu_two, 0)/4  # from two sequential messages to six
    fixed = max(two-2*hop, 0)
    print(f'\nmeasured: a meeting takes {1e6*two:.0f} us of 2 processes and {1e6*four:.0f} us of 4: {1e6*fixed:.0f} us, and {1e6*hop:.0f} us a message')
    print('bytes for 1 MB of gradients, beside 2(W-1)/W MB: ' + ', '.join(f'{n}: {known["all_reduce of 1 MB", n][1]/2**20:.2f} and {2*(n-1)/n:.2f}' for n in (2, 4)))
    grad = 100e6*4
    buckets = -(-grad//(25*2**20))
    def _row(n):
        if n<=8: sent,size,secs = 2*(n-1),16*(n-1),fixed + 2*(n-1)*hop
        else:
            deep = math.ceil(math.log2(n))
            sent,size,secs = n-1+deep,72*(n-1) + deep*72*n,fixed + (n-1)*taken + (1+deep)*hop
        return [f'{n:,}', f'{sent:,}', f'{size:,}', f'{1e3*secs:.1f}', f'{2*(n-1)*buckets:,.0f}', f'{2*(n-1)/n*grad/1e6:,.0f}']
    show('on paper, the busiest process in a step, with a model of 100 million parameters in float32 and meetings by gloo over one host\'s loopback',
        ['ranks', 'a meeting: messages', 'bytes', 'ms', 'gradients: messages', 'MB'], map(_row, (2, 4, 8, 64, 256, 1024)))

# ---- callbacks

EVENTS = 'nothing before_batch after_pred after_loss before_backward after_backward before_step after_opt_step after_step after_batch'.split()

def nothing(cb): "The handler of the callback"

def train_with_callbacks(work, rounds, seed):
    "In each process, return for each event rounds of CPU seconds, wall seconds and meetings of a fit with a callback that handles it"
    team,order = settle(),random.Random(seed)
    torch.manual_seed(seed)
    data,res = work.data(work.n*work.bs),{o:[] for o in EVENTS}
    for i in range(-1, rounds):
        for e in order.sample(EVENTS, len(EVENTS)):
            cbs,before = [] if e=='nothing' else [Callback('mine', **{e:nothing})],team.n_meets
            cpu,wall,_ = clock(learnloop, new_model(work, seed), data, work.bs, team.world, cbs)
            if i>=0: res[e].append([cpu, wall, team.n_meets-before])
    return res

def callbacks(args):
    work = WORKS['mlp 64']._replace(n=300)
    by_rank = launch(train_with_callbacks, work, args.rounds, args.seed, n=2, timeout=LIMIT)
    rounds = {e:joined([o[e] for o in by_rank.values()], sum, max, max) for e in EVENTS}
    def _row(e):
        cpu,wall,meets = (median(a[i]-b[i] for a,b in zip(rounds[e], rounds['nothing'], strict=True))/work.n for i in range(3))
        return [e, f'{meets:.2f}', f'{1e6*cpu/2:+.0f}', f'{1e6*wall:+.0f}']
    show('a callback that hears one event, and is not marked: what a batch costs more, 2 processes',
        ['hears', 'meetings a batch', 'CPU us of each process', 'wall us'], map(_row, EVENTS))

# ---- files

def mk_learner(engine, mb):
    "Make a learner of `engine` whose weights take `mb` MB, after a step of Adam"
    torch.manual_seed(0)
    model = nn.Sequential(*[nn.Linear(1024, 1024) for _ in range(round(mb*1e6/4/1024/1025))])
    x = torch.randn(4, 1024)
    learn = Learner([(x, x)]*2, model, F.mse_loss, torch.optim.Adam, lr=1e-4)
    learn = dict(ddp=learn.to_ddp, fsdp=learn.to_fsdp, sharded=partial(learn.to_fsdp, sharded_files=True))[engine]()
    with learn.no_logging(), learn.no_bar(): learn.fit(1)
    return learn

def save_and_resume(engine, mb, folder, rounds):
    "In each process, return rounds of wall seconds of a save and of a load"
    settle()
    learn,res = mk_learner(engine, mb),[]
    for i in range(-1, rounds):
        p = Path(folder)/f'{engine}-{os.environ["WORLD_SIZE"]}-{i}'
        times = [clock(f, p)[1] for f in (learn.save_checkpoint, learn.load_checkpoint)]
        if i>=0: res.append(times)
    return res

def files(args):
    rows,base = [],None
    for engine,n in (('ddp', 1), ('ddp', 2), ('ddp', 4), ('fsdp', 2), ('fsdp', 4), ('sharded', 2), ('sharded', 4)):
        with tempfile.TemporaryDirectory(dir=args.folder) as d:
            by_rank = launch(save_and_resume, engine, args.mb, d, args.rounds, n=n, timeout=LIMIT)
            mb = max(sum(o.stat().st_size for o in p.rglob('*') if o.is_file()) for p in Path(d).iterdir())/1e6
        times = [*map(median, zip(*joined(by_rank.values(), max, max), strict=True))]
        base = base or times
        rows.append([engine, str(n), f'{mb:.0f}', *(s for t,b in zip(times, base, strict=True) for s in (f'{t:.3f}', f'{t/b:.2f}'))])
    show(f'a checkpoint of {args.mb:g} MB of weights, with Adam: wall', ['engine', 'processes', 'MB', 'save s', 'times 1', 'resume s', 'times 1'], rows)

# ---- the run

PARTS = 'fits','scaling','meetings','callbacks','files'

def main():
    from learnloop.app.settings import run_settings
    cfg = run_settings('bench', seed=42, rounds=15)
    p = ArgumentParser('python -m benchmarks.processes', description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    p.add_argument('parts', nargs='*', default=PARTS, help=f'of {", ".join(PARTS)}; default: all')
    p.add_argument('--rounds', type=int, default=cfg.rounds, help='default: %(default)s (settings.ini)')
    p.add_argument('--seed', type=int, default=cfg.seed, help='default: %(default)s (settings.ini)')
    p.add_argument('--mb', type=float, default=50, help='of weights, for files; default: %(default)s')
    p.add_argument('--folder', default=None, help='on the disk that is measured (default: where temporary files are)')
    args = p.parse_args()
    if odd := {*args.parts}-{*PARTS}: p.error(f'no part {min(odd)!r}: there are {", ".join(PARTS)}')
    torch.set_num_threads(1)
    quiet()
    for o in args.parts:
        res = globals()[o](args)
        if o=='meetings': paper(res)

if __name__=='__main__': main()
