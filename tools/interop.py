"""Run the tests of `tests/interop` with the real packages, each in an environment of its own beside the project's

`python -m tools.interop` runs all tests. `python -m tools.interop fastai wild` runs those of a system's own callbacks (`real_*.py`), and in `wild`
those of callbacks that other packages have for it (`wild_*.py`). `more` has packages that were first tried without any preparation (`more_*.py`).
Each environment also sees the packages of the project's environment, torch among them, by a `.pth` file; its own packages come first.
The results for each callback are printed as a table and stored in `tests/interop/tested.json`, from which the page *Tested with* is made.
"""
import json, os, subprocess, sys, sysconfig
from datetime import date
from difflib import unified_diff
from pathlib import Path
from runpy import run_path
from tempfile import TemporaryDirectory
from learnloop.measure.table import Table

ROOT = Path(__file__).parents[1]
SITE = sysconfig.get_path('purelib')  # of the environment that runs this
KEPT,SCRIPTS = ROOT/'tests/interop/tested.json',ROOT/'tests/interop/scripts'
FASTAI = '--no-deps fastai==2.8.12', 'fastdownload fastprogress fasttransform plum-dispatch cloudpickle pandas scikit-learn matplotlib pillow pyyaml -c'
# System -> arguments of pip, one call after the other. fastai asks for torchvision, which need not match torch; fastNLP for an old rich
ENVS = dict(  # chkstyle: ignore-node
    accelerated=['pytorch-accelerated==0.1.61 accelerate torchmetrics -c'],
    fastai=[*FASTAI],
    fastnlp=['setuptools<80', '--no-deps fastNLP==1.0.1', 'prettytable sacremoses -c'],
    keras=['keras==3.15.1 -c'],
    lightning=['lightning==2.6.6 -c'],
    models=['transformers==5.23.0 accelerate peft==0.21.2 torch_geometric==2.8.1 -c', '--no-deps timm==1.0.31'],  # timm asks for torchvision
    transformers=['transformers==5.23.0 accelerate -c'],
    wild=[*FASTAI, 'lightning==2.6.6 keras==3.15.1 transformers==5.23.0 accelerate==1.15.0 pytorch-ignite==0.5.5 skorch==1.4.0 -c',
        'optuna==5.0.0 optuna-integration==5.0.0 wandb==0.31.0 tensorboardX==2.6.5 codecarbon==3.3.2 comet-ml==3.58.8 neptune==1.14.0.post2 torchmetrics==1.9.0 -c',
        'ray[tune]==2.60.0 mlflow==3.17.2 dvclive==3.49.1 -c'],
    more=[*FASTAI, 'lightning==2.6.6 keras==3.15.1 transformers==5.23.0 accelerate==1.15.0 pytorch-ignite==0.5.5 -c',
        'trl==1.16.0 sentence-transformers==6.2.0 swanlab==0.10.3 livelossplot==0.6.1 finetuning-scheduler==2.14.1 -c'])

def make_env(system):
    "Install what `system` needs, once for each version of its line above; returns the environment's Python"
    env = ROOT/'.venv-interop'/system
    python,ready = env/'bin/python',env/'ready'
    if ready.exists() and ready.read_text()==repr(ENVS[system]): return python
    subprocess.run([sys.executable, '-m', 'venv', '--clear', env], check=True)
    own = next((env/'lib').glob('python3.*/site-packages'))
    (own/'project.pth').write_text(f'import site; site.addsitedir({SITE!r})\n')
    subprocess.run([python, '-m', 'pip', 'install', '-q', '-U', 'pip'], check=True)  # an old one takes hours to choose versions
    for line in ENVS[system]:
        args = [o for a in line.split() for o in ([a, 'constraints.txt'] if a=='-c' else [a])]
        subprocess.run([python, '-m', 'pip', 'install', '-q', *args], check=True, cwd=ROOT)
    ready.write_text(repr(ENVS[system]))
    return python

def test_files(system):
    if system not in ('wild','more'): return [f'tests/interop/real_{system}.py', 'tests/interop/wild_coverage.py']
    return sorted(str(o.relative_to(ROOT)) for o in (ROOT/'tests/interop').glob(f'{system}_*.py'))

def run(system, rows):
    "Run the tests of `system`; returns whether they passed. Rows are appended to the file `rows`"
    # the packages are older than this Python, NumPy and torch: their own warnings aren't ours
    cmd,env = [make_env(system), '-m', 'pytest', '-q', '-n', '0', '-W', 'default'],os.environ | dict(INTEROP='1', INTEROP_ROWS=str(rows))
    # a process for each file: trackers keep settings of their first run
    codes = [subprocess.run([*cmd, o], cwd=ROOT, env=env, timeout=1800).returncode for o in test_files(system)]
    return not any(codes)

# ---- what came of it

def key(o): return tuple(o.get(k) or '' for k in ('kind','system','package','callback','topic','part'))

def kept(kind): return [o for o in json.loads(KEPT.read_text()) if o['kind']==kind]

def keep(rows):
    "Put `rows` among those that are kept, in place of older ones of the same"
    old = json.loads(KEPT.read_text()) if KEPT.exists() else []
    new = {key(o):o for o in old} | {key(o):o | dict(date=str(date.today())) for o in rows}
    KEPT.write_text(json.dumps(sorted(new.values(), key=key), indent=1, ensure_ascii=False) + '\n')

def callbacks(rows):
    "The table of the callbacks that were tried"
    cells = [(o['package'], o['version'], o['callback'], o['system'], o['result'], o['why']) for o in sorted(rows, key=key)]
    return Table([('package', 'version', 'callback', 'written for', 'here', 'why'), *sorted(cells, key=lambda o: o[0].lower())])

def coverages(rows):
    "The table of what stand-ins have"
    return Table([('system', 'class', 'there', 'refused', 'neither'), *((o['system'], o['part'], o['there'], o['refused'], o['neither']) for o in sorted(rows, key=key))])

# ---- scripts of other trainers, moved here

NAMES = dict(keras='Keras', lightning='Lightning')  # as they write themselves

class Moved:
    "A script and what became of it, as a diff that has every line"
    def __init__(self, system, topic): self.system,self.files = NAMES.get(system, system),[SCRIPTS/f'{system}_{topic}{o}.py' for o in ('', '_ours')]
    def _repr_markdown_(self):
        old,new = (f.read_text().strip().splitlines() for f in self.files)
        lines = [*unified_diff(old, new, n=len(old), lineterm='')][3:]
        return '\n'.join([f'**− {self.system}, + learnloop**', '', '```diff', *lines, '```'])

def losses_of(script):
    "The losses that a script prints last"
    from IPython.utils.capture import capture_output  # of what is displayed, too
    with capture_output() as said: run_path(str(SCRIPTS/f'{script}.py'), run_name='__main__')
    return [float(o) for o in said.stdout.strip().splitlines()[-1].removeprefix('losses:').split()]

ELSEWHERE = 5e-3 # Another processor adds up in another order; what that changes grows with each step

def same_losses(system, topic, tol=1e-5):
    "The table of the losses of a script, of what became of it, and of that run here: on one machine they may differ by `tol`, between two by `ELSEWHERE`"
    was = next(o for o in kept('script') if (o['system'], o['topic'])==(system, topic))
    here = losses_of(f'{system}_{topic}_ours')
    rows = list(zip(was['theirs'], was['ours'], here, strict=True))
    for i,(a,b,c) in enumerate(rows):
        for x,most,where in ((b, tol, ''), (c, ELSEWHERE, ' on another machine')):
            if abs(a-x)<=most: continue  # NaN is far
            raise ValueError(f'{system}, {topic}: the losses of epoch {i}, {a} and {x}, differ by {abs(a-x):.1e}, and may by {most}{where}')
    return Table([('epoch', NAMES.get(system, system), 'learnloop', 'learnloop, here'), *((i, *(f'{o:.6f}' for o in r)) for i,r in enumerate(rows))])

def losses(system):
    "The table of what both printed"
    rows = [o for o in kept('script') if o['system']==system]
    def _said(ns): return ' '.join(f'{o:.6f}' for o in ns)
    return Table([('script', f'losses with {system}', 'with learnloop', 'differ at most by'), *((o['topic'], _said(o['theirs']), _said(o['ours']),
        f"{max(abs(a-b) for a,b in zip(o['theirs'], o['ours'], strict=True)):.1e}") for o in sorted(rows, key=key))])

def main(systems):
    if unknown := set(systems) - set(ENVS):
        sys.exit(f'no system {", ".join(sorted(unknown))}: there are {", ".join(ENVS)}')
    failed = []
    with TemporaryDirectory() as d:
        file = Path(d)/'rows'
        for o in systems or ENVS:
            print(f'\n--- {o}: {", ".join(ENVS[o])}', flush=True)
            if not run(o, file): failed.append(o)
        rows = [*map(json.loads, file.read_text().splitlines())] if file.exists() else []
    keep(rows)
    print(callbacks([o for o in rows if o['kind']=='callback']))
    sys.exit(f'failed: {", ".join(failed)}' if failed else 0)

if __name__=='__main__': main(sys.argv[1:])
