"""Measure the cost of watching a run: 100,000 tiny batches with progress, recorder, CSV and tracer

Each variant trains in its own process, whose output goes to a file (a log) or to a terminal, a pty of 120 columns that reads everything. Just before, the same
process trains on the same batches by hand: "times raw" is the ratio to that. The clock is the CPU time of the process. Variants take turns, in a new order each
round; times are the best of the rounds, ratios the median. "bare" has nothing that watches. The others add what their name says to it, and the recorder.

Memory is the growth during half a fit, once it is under way, as Python's own allocator counts it, per batch. "recorder" is the part that the modules `recorder`
and `metrics` keep: the floats of each batch, from which curves are drawn. In a terminal, rich adds some hundred kB: it remembers the widths of the last 4,096
texts. "RSS" is the growth of the whole process meanwhile, without that part; an allocator that frees late makes it noisy.

    python -m benchmarks.watch
    python -m benchmarks.watch -n 2000 --rounds 1   # a quick look
"""
import gc, json, os, pty, random, re, select, subprocess, sys, tempfile, time, tracemalloc, torch
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from fcntl import ioctl
from pathlib import Path
from statistics import median
from struct import pack
from termios import TIOCSWINSZ
from torch import nn
from torch.nn import functional as F
from benchmarks.overhead import show
from learnloop import Callback, CSVLogger, Learner, ProgressCallback, Recorder, Tracer, TrainEvalCallback

ROOT = Path(__file__).parents[1]
EPOCHS,LR,LIMIT = 10,.01,900
RECORD,BAR,CSV,TRACE = 'recorder','progress','csv','tracer'
VARIANTS = dict(  # chkstyle: ignore-node
    bare=(), recorder=(RECORD,), progress=(RECORD,BAR), csv=(RECORD,CSV), tracer=(RECORD,TRACE), log=(RECORD,BAR,CSV,TRACE), terminal=(RECORD,BAR,CSV,TRACE))
NAMES = dict(log='all four, a log file', terminal='all four, a terminal')

# ---- in a separate process

def batches(n):
    g = torch.Generator().manual_seed(0)
    b = torch.randn(4, 8, generator=g),torch.randn(4, 1, generator=g)
    return [b]*(n//EPOCHS)

def new_model():
    torch.manual_seed(0)
    return nn.Linear(8, 1)

def raw(dl):
    model = new_model()
    opt = torch.optim.SGD(model.parameters(), lr=LR)
    model.train()
    for _ in range(EPOCHS):
        for xb,yb in dl:
            loss = F.mse_loss(model(xb), yb)
            loss.backward()
            opt.step()
            opt.zero_grad()
    return model

class Meter(Callback):
    "Measures memory in the middle of a fit and before its last epoch, when everything else is equal"
    order = 1000
    def __init__(self): self.seen = []
    def before_epoch(self):
        if self.learn.epoch not in (EPOCHS//2, EPOCHS-1): return
        gc.collect()
        rss = int(Path('/proc/self/statm').read_text().split()[1])*os.sysconf('SC_PAGE_SIZE')
        self.seen.append((rss, tracemalloc.take_snapshot() if tracemalloc.is_tracing() else None))

def grown(before, after):
    "Return the growth between two snapshots in bytes: of everything, and of the recorder"
    diff = [(o.traceback[0].filename, o.size_diff) for o in after.compare_to(before, 'filename') if 'tracemalloc' not in o.traceback[0].filename]
    return sum(n for _,n in diff),sum(n for f,n in diff if re.search(r'learnloop/measure/(recorder|metrics|series)\.py$', f))

def timed(f):
    gc.collect()
    start = time.process_time()
    f()
    return time.process_time()-start

def child(variant, n, memory, folder):
    "Train by hand and by a learner; write the costs to `folder`"
    torch.set_num_threads(1)
    makers = {RECORD:Recorder, BAR:ProgressCallback, CSV:lambda: CSVLogger('history.csv'), TRACE:Tracer}
    dl,cbs = batches(n),[makers[o]() for o in VARIANTS[variant]]
    def _learner(dl, cbs): return Learner(dl, new_model(), F.mse_loss, torch.optim.SGD, lr=LR, path=folder, default_cbs=False, cbs=[TrainEvalCallback(), *cbs])
    learn = _learner(dl, [*cbs, meter := Meter()])
    raw(dl[:10])
    _learner(dl[:10], []).fit(1)  # warm up
    res = dict(raw=None if memory else timed(lambda: raw(dl)))
    if memory: tracemalloc.start()
    start = time.perf_counter()
    try: res |= dict(own=timed(lambda: learn.fit(EPOCHS)), wall=time.perf_counter()-start)
    finally: tracemalloc.stop()
    (rss,a),(rss2,b) = meter.seen
    between = len(dl)*(EPOCHS-1-EPOCHS//2)
    res |= dict(rss=(rss2-rss)/between, grown=[o/between for o in grown(a, b)] if memory else None)
    Path(folder, 'result.json').write_text(json.dumps(res))

# ---- in this process

def run(variant, n, memory=False):
    "Return the results of a process, and the bytes that it wrote to its output and to its CSV file"
    with tempfile.TemporaryDirectory() as d:
        cmd = [sys.executable, '-m', 'benchmarks.watch', '--child', variant, '-n', str(n), '--folder', d, *['--memory']*memory]
        out = Path(d, 'out.txt')
        if variant=='terminal': size = in_terminal(cmd)
        else:
            with open(out, 'wb') as f: subprocess.run(cmd, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=f, stderr=f, timeout=LIMIT, check=True)
            size = out.stat().st_size
        csv = Path(d, 'history.csv')
        return json.loads(Path(d, 'result.json').read_text()) | dict(out=size, csv=csv.stat().st_size if csv.exists() else 0)

def in_terminal(cmd):
    "Run `cmd` in a pty, and count the bytes that it writes"
    main,own = pty.openpty()
    ioctl(own, TIOCSWINSZ, pack('HHHH', 40, 120, 0, 0))
    p = subprocess.Popen(cmd, cwd=ROOT, stdin=own, stdout=own, stderr=own, env=os.environ | dict(TERM='xterm-256color'), start_new_session=True)
    os.close(own)
    try:
        size,data,until = 0,b'',time.monotonic()+LIMIT
        while select.select([main], [], [], max(until-time.monotonic(), 0))[0]:
            try: new = os.read(main, 1<<16)
            except OSError: break  # all writers have ended
            if not new: break
            size,data = size+len(new),(data+new)[-2000:]
        if p.wait(10): raise RuntimeError(f'{cmd} failed: {data.decode(errors="replace")}')
        return size
    finally:
        p.kill()
        p.wait()
        os.close(main)

def rows(res, n):
    base = min(o['own'] for o in res['bare'])
    for k,rounds in res.items():
        own = min(o['own'] for o in rounds)
        best = min(rounds, key=lambda o: o['own'])
        yield [NAMES.get(k, k), f'{own/n*1e6:.1f}', f"{median(o['own']/o['raw'] for o in rounds):.2f}", f'{(own-base)/n*1e6:+.1f}', f"{min(o['rss'] for o in rounds):.0f}",
            f"{best['out']:,}", f"{best['out']/best['wall']:,.0f}", f"{best['csv']:,}"]

def main():
    p = ArgumentParser('python -m benchmarks.watch', description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    p.add_argument('-n', type=int, default=100_000, help=f'batches, in {EPOCHS} epochs; default: %(default)s')
    p.add_argument('--rounds', type=int, default=3, help='default: %(default)s')
    p.add_argument('--variants', nargs='*', choices=VARIANTS, default=[*VARIANTS], help='besides bare; default: all')
    for o in ('--child', '--folder'): p.add_argument(o, help='what a process of its own is told')
    p.add_argument('--memory', action='store_true', help='the same')
    args = p.parse_args()
    if args.n<EPOCHS*10: p.error(f'-n is {args.n}: it must be {EPOCHS*10} or more, 10 batches an epoch')
    if args.child: return child(args.child, args.n, args.memory, args.folder)
    variants = ['bare', *(o for o in VARIANTS if o in args.variants and o!='bare')]
    res = {o:[] for o in variants}
    for i in range(args.rounds):
        for o in random.sample(variants, len(variants)): res[o].append(run(o, args.n))
        print(f'  round {i+1}/{args.rounds}', file=sys.stderr)
    raw_us = min(o['raw'] for rounds in res.values() for o in rounds)/args.n*1e6
    show(f'{args.n:,} batches; by hand {raw_us:.1f} us each', ['watched by', 'us/batch', 'times raw', 'us more', 'RSS, B/batch', 'output, B', 'B/s', 'CSV, B'], rows(res, args.n))
    mem = {o:run(o, args.n, memory=True)['grown'] for o in variants if o in ('bare',*NAMES)}  # counting is slow
    show('memory, bytes for each batch', ['watched by', 'all', 'recorder', 'beyond'], [[NAMES.get(k, k), f'{a:.1f}', f'{r:.1f}', f'{a-r:.1f}'] for k,(a,r) in mem.items()])

if __name__=='__main__': main()
