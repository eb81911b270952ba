"""Test the package as users install it: build a wheel, install it in a new environment, import every module, run the command

An editable install hides faults of a wheel: a module that isn't packaged, a dependency that only developers have, a
file that is read from the checkout. Everything here runs in a temporary folder, and each step has a time limit.
"""
import os, subprocess, sys, tempfile, venv
from pathlib import Path
from time import perf_counter
from zipfile import ZipFile

ROOT = Path(__file__).parents[1]
PKG = 'learnloop'

# Imported with warnings as errors, since each user would see a warning of a module
IMPORTS = f"""
import pkgutil, sys
from importlib import import_module
import {PKG}
assert {PKG}.__file__.startswith(sys.prefix), f'{{{PKG}.__file__}} is not in {{sys.prefix}}'
names = [m.name for m in pkgutil.walk_packages({PKG}.__path__, '{PKG}.') if not m.name.endswith('.__main__')]
for nm in names: import_module(nm)
print(*names)
"""

def run(*args, limit, cwd):
    "Return the output of a command, which may take `limit` seconds; if it fails, show all it printed"
    env = {k:v for k,v in os.environ.items() if k not in ('PYTHONPATH','PYTHONHOME','VIRTUAL_ENV')}
    try: res = subprocess.run([str(o) for o in args], cwd=cwd, env=env, timeout=limit, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    except subprocess.TimeoutExpired as e: sys.exit(f"{e}\n{(e.output or b'').decode()}")
    if res.returncode: sys.exit(f"wheel: exit status {res.returncode} of {' '.join(map(str, args))}\n{res.stdout}")
    return res.stdout

def build_wheel(d):
    "Build a wheel in `d` through a source distribution, so that neither uses a stale `build/` folder; return it"
    run(sys.executable, '-m', 'build', '--outdir', d, ROOT, limit=900, cwd=d)
    whl, = d.glob('*.whl')
    has = {n for n in ZipFile(whl).namelist() if n.startswith(f'{PKG}/')}
    want = {str(p.relative_to(ROOT)) for o in ('*.py', '*.pyi', 'py.typed', '*.txt', '*.css', '*.js') for p in (ROOT/PKG).rglob(o)}
    if has!=want: sys.exit(f'wheel: packaged, but not in {PKG}/: {sorted(has-want)}; in it, but not packaged: {sorted(want-has)}')
    return whl

def main():
    t = perf_counter()
    with tempfile.TemporaryDirectory() as tmp:
        d = Path(tmp).resolve()
        whl = build_wheel(d)
        venv.create(d/'env', symlinks=True)
        py,exe = d/'env/bin/python',d/'env/bin'/PKG
        # compiling all of torch would take longer than the rest
        install = 'pip', '--python', py, 'install', '-q', '--no-compile', '-c', ROOT/'constraints.txt'
        run(sys.executable, '-m', *install, whl, limit=900, cwd=d)
        names = run(py, '-I', '-W', 'error', '-c', IMPORTS, limit=600, cwd=d).split()
        run(exe, 'doctor', limit=600, cwd=d)  # it trains, saves, resumes and logs, also in two processes
        print(f'wheel: {whl.name} works on its own, {len(names)} modules, {perf_counter()-t:.0f} s')

if __name__=='__main__': main()
