"""Run the tests of `tests/interop` with the real packages, each in an environment of its own beside the project's

`python -m tools.interop` runs all, `python -m tools.interop fastai keras` some. An environment sees the project's own
packages, torch among them, through a `.pth` file; what it installs itself comes first.
"""
import os, subprocess, sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
SITE = next((ROOT/'.venv/lib').glob('python3.*/site-packages'))
# System -> what pip is given, in turns. fastai asks for torchvision, which need not match torch; fastNLP for an old rich
ENVS = dict(  # chkstyle: ignore-node
    accelerated=['pytorch-accelerated==0.1.61 accelerate torchmetrics -c'],
    fastai=['--no-deps fastai==2.8.12', 'fastdownload fastprogress fasttransform plum-dispatch cloudpickle pandas '
        'scikit-learn matplotlib pillow pyyaml -c'],
    fastnlp=['setuptools<80', '--no-deps fastNLP==1.0.1', 'prettytable sacremoses -c'],
    keras=['keras==3.15.1 -c'],
    lightning=['lightning==2.6.6 -c'],
    transformers=['transformers==5.23.0 accelerate -c'])

def make_env(system):
    "Install what `system` needs, once for each version of its line above; returns the environment's Python"
    env = ROOT/'.venv-interop'/system
    python,ready = env/'bin/python',env/'ready'
    if ready.exists() and ready.read_text()==repr(ENVS[system]): return python
    subprocess.run([sys.executable, '-m', 'venv', '--clear', env], check=True)
    own = next((env/'lib').glob('python3.*/site-packages'))
    (own/'project.pth').write_text(f'import site; site.addsitedir({str(SITE)!r})\n')
    for line in ENVS[system]:
        args = [o for a in line.split() for o in ([a, 'constraints.txt'] if a=='-c' else [a])]
        subprocess.run([python, '-m', 'pip', 'install', '-q', *args], check=True, cwd=ROOT)
    ready.write_text(repr(ENVS[system]))
    return python

def main(systems):
    if unknown := set(systems) - set(ENVS):
        sys.exit(f'no system {", ".join(sorted(unknown))}: there are {", ".join(ENVS)}')
    failed = []
    for o in systems or ENVS:
        print(f'\n--- {o}: {", ".join(ENVS[o])}', flush=True)
        # the packages are older than this Python, NumPy and torch: their own warnings are none of ours
        cmd = [make_env(o), '-m', 'pytest', '-q', '-W', 'default', f'tests/interop/real_{o}.py']
        if subprocess.run(cmd, cwd=ROOT, env=os.environ | dict(INTEROP='1'), timeout=900).returncode: failed.append(o)
    sys.exit(f'failed: {", ".join(failed)}' if failed else 0)

if __name__=='__main__': main(sys.argv[1:])
