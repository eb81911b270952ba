"""Measure the cost of a tracer per event

Two learners train the same tiny model on the same ready-made batches, one with a `Tracer` and one without. They take turns, in a new order each round, and are
timed by the CPU time of the process, because other load affects it less than wall time. The difference in a round, divided by the number of events in it, is the
cost of an event; the result is the median over rounds. The first row has a learner with its default callbacks only, and includes their turns. The second row has
five more callbacks that handle every event of a batch; the added cost is divided by their turns. `idle` is a second learner without a tracer: its distance from 0
is noise.

`python -m benchmarks.trace`
"""
import gc, random, sys, time, torch
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from statistics import median
from torch import nn
from torch.nn import functional as F
from benchmarks.overhead import show
from learnloop import Callback, Learner, Tracer
from learnloop.app.settings import run_settings

LIMIT = 3. # µs per event
HOOKS = [f'{k}_{p}' for p in ('batch','backward','step','zero_grad') for k in ('before','after','cleanup')] + ['after_pred', 'after_loss']

def noop(cb): "An empty handler"

def mk_learner(batches, n_cbs, traced):
    cbs = [type(f'Noop{i}', (Callback,), dict.fromkeys(HOOKS, noop))() for i in range(n_cbs)]
    learn = Learner(batches, nn.Linear(4, 1), F.mse_loss, torch.optim.SGD, lr=0., cbs=cbs + [Tracer()]*traced)
    learn.logger = noop
    return learn

def timed_fit(learn):
    gc.collect()
    gc.freeze()
    with learn.no_logging(), learn.no_bar():
        start = time.process_time()
        learn.fit(1)
        return time.process_time()-start

def measure(n_cbs, n, rounds, seed):
    "Return µs per event with and without a tracer, events per batch, and turns per batch"
    g = torch.Generator().manual_seed(seed)
    batches,order = [(torch.randn(8, 4, generator=g), torch.randn(8, 1, generator=g)) for _ in range(n)],random.Random(seed)
    learns = dict(off=mk_learner(batches, n_cbs, False), idle=mk_learner(batches, n_cbs, False), on=mk_learner(batches, n_cbs, True))
    for o in learns.values(): timed_fit(o)
    trace = learns['on'].trace
    trace.clear()
    times = {k:[] for k in learns}
    for i in range(rounds):
        for k in order.sample([*learns], len(learns)): times[k].append(timed_fit(learns[k]))
        print(f'  round {i+1}/{rounds}', file=sys.stderr)
    turns = sum(o['calls'] for o in trace.totals())/rounds
    events = sum(o.n for o in trace._totals.values())/rounds - turns
    diff = {k:[(a-b)/events*1e6 for a,b in zip(times[k], times['off'], strict=True)] for k in ('on','idle')}
    return median(diff['on']),min(diff['on']),median(diff['idle']),events/n,turns/n

def main():
    cfg = run_settings('bench', seed=42, rounds=15)
    p = ArgumentParser('python -m benchmarks.trace', description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    p.add_argument('--rounds', type=int, default=cfg.rounds, help='default: %(default)s (settings.ini)')
    p.add_argument('--batches', type=int, default=3000, help='of a fit; default: %(default)s')
    p.add_argument('--seed', type=int, default=cfg.seed, help='of batches and order; default: %(default)s (settings.ini)')
    args = p.parse_args()
    torch.set_num_threads(1)
    (cost,best,idle,events,turns),(more,best5,idle5,_,turns5) = (measure(o, args.batches, args.rounds, args.seed) for o in (0,5))
    def _per_turn(a, b): return (b-a)*events/(turns5-turns)
    rows = [[nm, f'{v:.2f}', f'{least:.2f}', f'{noise:+.2f}', f'{LIMIT:.0f}', 'yes' if v<=LIMIT else 'no'] for nm,v,least,noise in (
        (f'an event ({events:.0f} and {turns:.0f} turns a batch)', cost, best, idle),
        (f"a callback's turn in one ({turns5:.0f} a batch)", _per_turn(cost, more), _per_turn(best, best5), idle5))]
    show('tracer', ['recording', 'µs', 'best', 'idle', 'at most', 'met'], rows)

if __name__=='__main__': main()
