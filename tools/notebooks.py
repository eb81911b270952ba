"""Run notebooks as `nbdev-test` does, each in its own process, which needn't import torch again

`python -m tools.notebooks [FILE or FOLDER ...] [--save] [--timing]`: all of `nbs` without arguments. Patches of one notebook
don't affect the next, and each begins with the same random state. Cells are run by `nbdev.test.test_nb`, with the flags and limits of `pyproject.toml`."""
import os, sys, torch
from argparse import ArgumentParser
from functools import partial
from pathlib import Path
from nbdev.config import get_config
from nbdev.test import test_nb
from tools.forks import run_all, warm

ROOT,TIMEOUT = Path(__file__).parents[1],600
# Imported before the first fork. `torch._dynamo` is what the first optimizer of a process imports
WARM = 'torch','torch._dynamo','torch.utils.tensorboard','torchmetrics','matplotlib.pyplot','sklearn.datasets','rich'

def notebooks(paths):
    "List the notebooks in `paths`, which are files or folders"
    files = [p for o in paths for p in ([o] if o.suffix=='.ipynb' else sorted(o.rglob('*.ipynb')))]
    return [o.resolve() for o in reversed(files) if '.ipynb_checkpoints' not in o.parts]  # the longest are the tutorials

def run_one(fn, save):
    "Run the notebook `fn`; return the exit status"
    torch.manual_seed(42)
    cfg = get_config(ROOT)
    return not test_nb(fn, skip_flags=cfg.tst_flags.split(), basepath=ROOT, save=save, cell_timeout=cfg.cell_timeout, cell_timing_min=cfg.cell_timing_min)[0]

def main(args):
    p = ArgumentParser(description='Run notebooks, each in its own process')
    p.add_argument('paths', nargs='*', type=Path, default=[ROOT/'nbs'], help='Notebooks and folders')
    p.add_argument('--save', action='store_true', help='Store the outputs in notebooks that pass')
    p.add_argument('--timing', action='store_true', help='Show how long each took')
    opts = p.parse_args(args)
    if not (files := notebooks(opts.paths)): sys.exit(f'notebooks: found none in {" ".join(map(str, opts.paths))}')
    warm(*WARM[:None if len(files)>3 else 1])
    bad = []
    for o in run_all(partial(run_one, save=opts.save), files, timeout=TIMEOUT):
        name = os.path.relpath(o.job)
        if o.rc!=0: bad.append(name)
        if o.rc!=0: print(f'FAIL {name}: ' + (f'took more than {TIMEOUT} s' if o.rc is None else f'exit status {o.rc}'))
        elif opts.timing: print(f'ok   {name:45}{o.seconds:5.1f} s')
        if o.out: print(o.out, end='' if o.out[-1]=='\n' else '\n', flush=True)
    print(f'notebooks: {len(files)-len(bad)} of {len(files)} passed' + (f'; not {" ".join(bad)}' if bad else ''))
    return int(bool(bad))

if __name__=='__main__': sys.exit(main(sys.argv[1:]))
