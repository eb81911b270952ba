"""Measure the cost of a call of another system's callback

A fit runs with a foreign callback that handles every hook of a training batch and does nothing. The wall time that its adapter spends in each event of a batch is
measured; the medians of the events are added up and divided by the number of calls per batch. So the cost of a call includes the adapter's work and the call
itself, without the cost of an empty handler, which is subtracted. In the first column, hooks receive the arguments of their first call again, in the second
their real ones.

`python -m benchmarks.interop` measures all systems, `python -m benchmarks.interop keras fastai` some.
"""
import sys, torch
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections import defaultdict
from copy import copy
from functools import partial
from importlib import import_module
from math import inf
from statistics import median
from time import perf_counter_ns
from types import MethodType
from torch import nn
from torch.nn import functional as F
from benchmarks.overhead import show
from learnloop import Callback, Learner
from learnloop.interop.core import Adapter, adapters
from learnloop.app.settings import run_settings

LIMIT = 2.  # µs per call, without arguments
N = 1000    # Batches of a fit

# Hooks that are called once per training batch
def _heard(adapter):
    inner = {'before_fetch','after_fetch'} | {e for e in Learner([1], nn.Linear(1, 1))._recurring}
    skipped = ['on_prediction_step', 'on_substep_end', 'on_batch_begin']
    if adapter.system=='Keras': skipped.append('on_batch_end')  # called by the hook of training
    names = dict.fromkeys(o.name for o in adapter.hooks if o.event in inner and o.name not in skipped)
    return [o for o in names if not any(w in o for w in ('valid','eval','test','predict','cancel'))]

def _frozen(adapter):
    "Return a subclass whose hooks always receive their first arguments"
    def _first(f):
        kept = []
        def _f(o):
            if not kept: kept.append(f(o))
            return kept[0]
        return f and _f
    hooks = [copy(o) for o in adapter.hooks]
    for o in hooks: o.args,o.kwargs = _first(o.args),_first(o.kwargs)
    return type(adapter.__name__, (adapter,), dict(hooks=hooks, __module__=adapter.__module__))

def _foreign(adapter, n_calls=None):
    "Make a callback of the adapter's system that does nothing, or counts its calls"
    module = import_module(adapter.__module__)
    if adapter.system=='skorch': module = import_module('skorch.callbacks')
    base = getattr(module, 'TrainerCallback', None) or module.Callback
    def _noop(self, *args, **kwargs): pass
    def _count(self, *args, **kwargs): n_calls.append(1)
    return type('Noop', (base,), dict.fromkeys(_heard(adapter), _noop if n_calls is None else _count))()

# ---- fits

class Clock(Callback):
    "Times the handlers of adapters, and its own empty one"
    order = inf
    def __init__(self): self.times,self.now = defaultdict(list),defaultdict(int)
    def wrap_handler(self, who, event, f):
        return MethodType(partial(_timed, self.now, event, f), who) if isinstance(who, Adapter) else f
    def cleanup_fetch(self):
        for k,v in self.now.items(): self.times[k].append(v)
        self.now.clear()
        _timed(self.now, 'empty', MethodType(_empty, self), self)

def _empty(self, **_): pass
def _timed(now, event, f, who, /, **kwargs):
    start = perf_counter_ns()
    f(**kwargs)
    now[event] += perf_counter_ns()-start

def fitted(cb, n, *cbs):
    batch = torch.zeros(1, 1),torch.zeros(1, 1)
    learn = Learner([batch]*n, nn.Linear(1, 1), F.mse_loss, torch.optim.SGD, lr=0., cbs=[cb, *cbs])
    with learn.no_logging(), learn.no_bar(): learn.fit(1)

def calls_a_batch(adapter):
    n = []
    fitted(adapter(_foreign(adapter, n)), 10)
    return len(n)/10

def call_us(system, adapter):
    "Return the microseconds of a call of a hook by `adapter`"
    fitted(adapter(_foreign(system)), N, clock := Clock())
    empty = median(clock.times.pop('empty'))
    total = sum(median(o)-empty for o in clock.times.values() if len(o)>N/2)
    return total/1000/calls_a_batch(system)

def main():
    cfg,known = run_settings('bench', seed=42, rounds=15),{k:o for k,o in adapters().items() if k!='ignite'}  # whose handlers are functions
    p = ArgumentParser('python -m benchmarks.interop', description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    p.add_argument('systems', nargs='*', help=f'of {", ".join(known)}; all by default')
    p.add_argument('--rounds', type=int, default=cfg.rounds,
        help='fits, of which the median counts; default: %(default)s (settings.ini)')
    args = p.parse_args()
    torch.set_num_threads(1)
    if unknown := set(args.systems)-set(known):
        p.error(f'no system {", ".join(sorted(unknown))}: there are {", ".join(known)}')
    rows = []
    for o in args.systems or known:
        print(o, file=sys.stderr)
        cls = known[o]
        without,full = (median(call_us(cls, c) for _ in range(args.rounds)) for c in (_frozen(cls), cls))
        met = 'yes' if without<=LIMIT else 'no'
        rows.append([cls.system, f'{calls_a_batch(cls):g}', f'{without:.2f}', f'{full:.2f}', met])
    head = 'callback of','calls a batch','arguments excluded','included',f'met: at most {LIMIT:g}'
    show('µs a hook call', [*head], rows)

if __name__=='__main__': main()
