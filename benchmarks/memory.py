"""Measure the peak memory of a fit beyond its model, as a ratio to that of a loop written by hand

Each measurement is a new process. It makes the model, takes a small step, and notes the resident memory. Then it trains, validates or predicts on a few large
batches, which are created on request. The result is the peak minus the noted value. Both ways have the same model and batches, and no table or bar. The loop by
hand keeps its last batch, prediction and loss while the next batch is created, as such loops do. Numbers are medians over rounds. It needs `/proc`, and so Linux.

    python -m benchmarks.memory
    python -m benchmarks.memory --rounds 1 --mb 8   # a quick look
"""
import subprocess, sys
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from importlib import import_module
from pathlib import Path
from statistics import median

MB = 2**20
WIDTH,N_BATCHES = 1024,4
WHATS = dict(fit='two epochs', valid='two epochs with validation', validate='validation', preds='predictions')
WAYS = 'hand','learnloop'
LIMIT = 1.  # "not above"

def status(key):
    "Return a value of this process in MB: `VmRSS`, resident memory; `VmHWM`, its peak"
    lines = Path('/proc/self/status').read_text().splitlines()
    return next(int(o.split()[1])/1024 for o in lines if o.startswith(key))

class Batches:
    "Batches of `mb` MB, half of it inputs, created on request"
    def __init__(self, mb): self.rows = max(int(mb*MB/2/4/WIDTH), 1)
    def __len__(self): return N_BATCHES
    def __iter__(self):
        import torch
        for _ in range(N_BATCHES): yield torch.full((self.rows, WIDTH), .5), torch.zeros(self.rows, WIDTH)

def train(model, opt, dl):
    from torch.nn import functional as F
    model.train()
    for xb,yb in dl:
        opt.zero_grad()
        pred = model(xb)
        loss = F.mse_loss(pred, yb)
        loss.backward()
        opt.step()

def validate(model, dl):
    import torch
    from torch.nn import functional as F
    model.eval()
    losses = []
    with torch.no_grad():
        for xb,yb in dl:
            pred = model(xb)
            losses.append(F.mse_loss(pred, yb))
    return torch.stack(losses).mean().item()

def predict(model, dl):
    import torch
    model.eval()
    preds,targs = [],[]
    with torch.no_grad():
        for xb,yb in dl:
            preds.append(model(xb).cpu())
            targs.append(yb)
    return torch.cat(preds),torch.cat(targs)

def by_hand(what, model, opt, dl):
    if what=='validate': return validate(model, dl)
    if what=='preds': return predict(model, dl)
    for _ in range(2):
        train(model, opt, dl)
        if what=='valid': validate(model, dl)

def by_learnloop(what, model, opt, dl):
    from learnloop import DataLoaders, Learner
    from torch.nn import functional as F
    valid = None if what=='fit' else dl
    learn = Learner(DataLoaders(dl, valid, device='cpu'), model, F.mse_loss, lambda params, lr: opt, lr=.01)
    with learn.no_bar(), learn.no_logging():
        if what=='validate': return learn.validate()
        if what=='preds': return learn.get_preds()
        learn.fit(2)

def one(way, what, mb):
    "Print the increase of this process's memory at its peak, in MB"
    import gc, torch
    from torch import nn
    import_module('learnloop')  # in both ways, because an import isn't a part of a fit
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH))
    opt = torch.optim.Adam(model.parameters(), lr=.01)
    train(model, opt, [(torch.zeros(2, WIDTH), torch.zeros(2, WIDTH))])
    opt.zero_grad()
    gc.collect()
    before = status('VmRSS')
    res = dict(hand=by_hand, learnloop=by_learnloop)[way](what, model, opt, Batches(mb))
    print(status('VmHWM')-before)
    del res  # predictions are kept until here

def measure(what, mb, rounds):
    "Return the MB of each way, by round, in turns"
    res = {k:[] for k in WAYS}
    for i in range(rounds):
        for way in WAYS[::-1] if i%2 else WAYS:
            cmd = [sys.executable, '-m', 'benchmarks.memory', '--one', way, what, '--mb', str(mb)]
            out = subprocess.run(cmd, capture_output=True, text=True, timeout=600)
            if out.returncode: raise RuntimeError(f'{way}, {what}: {out.stderr}')
            res[way].append(float(out.stdout.splitlines()[-1]))
    return res

def rows_of(args):
    "Return the ratios of the two ways, for all measurements"
    from benchmarks.results import row
    for what in args.whats:
        print(f'  {WHATS[what]}', file=sys.stderr, flush=True)
        res = measure(what, args.mb, args.rounds)
        ratios = [a/b for a,b in zip(res['learnloop'], res['hand'], strict=True)]
        yield row('peak memory', WHATS[what], ratios, limit=LIMIT, mb={k:median(v) for k,v in res.items()})

def parse_args(argv=None):
    from benchmarks.results import add_options
    p = ArgumentParser('python -m benchmarks.memory', description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    p.add_argument('--rounds', type=int, default=5, help='default: %(default)s')
    p.add_argument('--mb', type=float, default=64., help='size of a batch; default: %(default)s')
    p.add_argument('--whats', nargs='*', choices=WHATS, default=[*WHATS])
    p.add_argument('--one', nargs=2, metavar=('WAY', 'WHAT'), help='measure in this process')
    add_options(p)
    return p.parse_args(argv)

def main(argv=None):
    args = parse_args(argv)
    if not Path('/proc/self/status').exists(): sys.exit('benchmarks.memory reads /proc/self/status, and this system has none')
    if args.one: return one(*args.one, args.mb)
    from benchmarks.results import report
    return report(args, lambda: [*rows_of(args)], rounds=args.rounds, batch_mb=args.mb)

if __name__=='__main__': main()
