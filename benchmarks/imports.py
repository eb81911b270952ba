"""Measure the CPU time of `import learnloop` beyond torch

Each measurement is a fresh process that imports torch first, and then the module; bytecode exists. A garbage collection is due soon after `import torch`. If it
visits torch's objects during the import of the module, it takes about 100 ms of this time.

    python -m benchmarks.imports
    python -m benchmarks.imports --modules learnloop fastai.learner --rounds 5
"""
import os, subprocess, sys
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from importlib.util import find_spec
from benchmarks import results
from benchmarks.contenders import CONTENDERS, quiet

HEAVY = {'matplotlib','tensorboard','IPython'}
LIMITS = dict(learnloop=40.)

# torch is imported first, so that it isn't counted
_import = '''
import sys, time, torch
before,start = set(sys.modules),time.process_time()
import {}
print(1e3*(time.process_time()-start), *(sys.modules.keys()-before))'''

def one(module):
    "Return milliseconds, and the imported modules of `HEAVY`"
    cmd = sys.executable,'-c',_import.format(module)
    env = {k:v for k,v in os.environ.items() if k!='PYTHONDONTWRITEBYTECODE'}  # else each process compiles all modules again
    ms,*names = subprocess.run(cmd, capture_output=True, text=True, check=True, timeout=600, env=env).stdout.splitlines()[-1].split()
    return float(ms),sorted(HEAVY.intersection(names))

def installed(modules):
    for o in modules:
        if find_spec(o.partition('.')[0]) is None: print(f'{o}: left out: not installed', file=sys.stderr)
        else: yield o

def measure(args):
    "Measure all modules in turns; return the rows"
    modules = [*installed(args.modules)]
    for o in modules: one(o)  # writes bytecode
    outs = {o:[] for o in modules}
    for _ in range(args.rounds):
        for o in modules: outs[o].append(one(o))
    for k,v in outs.items():
        yield results.row('import', k, [o[0] for o in v], unit='ms beyond torch', limit=LIMITS.get(k), heavy=v[0][1])

def parse_args(argv=None):
    cfg = results.settings()
    modules = [*dict.fromkeys(o.module for o in CONTENDERS.values() if o.module)]
    p = ArgumentParser('python -m benchmarks.imports', description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    p.add_argument('--modules', nargs='*', default=modules, help='default: learnloop and its peers')
    p.add_argument('--rounds', type=int, default=cfg.rounds, help='default: %(default)s (settings.ini)')
    results.add_options(p)
    return p.parse_args(argv)

def main(argv=None):
    args = parse_args(argv)
    quiet()
    return results.report(args, lambda: [*measure(args)], rounds=args.rounds)

if __name__=='__main__': main()
