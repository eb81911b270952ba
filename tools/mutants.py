"""Plant faults in the package, one at a time, and see that a test catches each

`tools/faults.toml` lists them: each is a replacement in the text of a module. The text must be there exactly once: a fault that no longer applies fails
the run, as one that no test catches does. `python -m tools.mutants flow trace` plants those of some modules.

pytest runs in a fork of this process, which has imported torch. The fork imports the changed text in place of the module, so no file changes, and scripts
that a test starts don't have the fault. In the end, what has caught the faults must pass without them, unless `--passed` says that all tests have."""
import os, shlex, sys, time, tomllib
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import SimpleNamespace
from tools.forks import run_all, warm

ROOT,TIMEOUT = Path(__file__).parents[1],120  # a second or two is usual; a fault may loop for ever
WARM = ('torch','torch._dynamo','torch.utils.tensorboard','numpy','rich.live','rich.progress','fastcore.all','IPython','matplotlib.pyplot','torchmetrics',
    'pytest','_pytest.python','_hypothesis_pytestplugin','hypothesis.strategies')
FAULTS = [SimpleNamespace(module=k, **o) for k,v in tomllib.loads((ROOT/'tools/faults.toml').read_text())['faults'].items() for o in v]

def one(folder, name):
    "The file `name` in `folder`, in whatever wing it is"
    found = [*folder.rglob(name)]
    if len(found)!=1: sys.exit(f'{len(found)} files named {name} in {folder}: a fault needs one')
    return found[0]

def arguments(fault): return [str(one(ROOT/'tests', o).relative_to(ROOT)) if o.endswith('.py') else o for o in shlex.split(fault.tests)]

def plant(fault):
    "Have the module of `fault` imported with it"
    path,get_code = one(ROOT/'learnloop', f'{fault.module}.py'),SourceFileLoader.get_code
    if (n := (text := path.read_text()).count(fault.old))!=1: sys.exit(f'the text of {fault.what!r} is {n} times in {path.name}')
    new = compile(text.replace(fault.old, fault.new), path, 'exec', dont_inherit=True)
    SourceFileLoader.get_code = lambda self, name: new if self.path==str(path) else get_code(self, name)

def pytest(args):
    "Run pytest in a fork; returns the exit status"
    import pytest
    # asserts as they are, as rewriting them takes longer than most of the tests; nor is a smaller example looked for
    quick = ['-q', '--tb=line', '--assert=plain', '--hypothesis-profile=first', '-p', 'no:cacheprovider', '-p', 'no:xdist', '-W', 'ignore::pytest.PytestAssertRewriteWarning']
    return pytest.main([*quick, *args])

def with_fault(fault):
    plant(fault)
    return pytest(['-x', *arguments(fault)])

def main(modules, passed=False):
    "Plant the faults of `modules`, or all; returns the exit status"
    start,caught,bad = time.time(),{},0
    # With some of them a test waits for its time limit: these begin first, beside others
    faults = sorted((o for o in FAULTS if not modules or o.module in modules), key=lambda o: not getattr(o, 'waits', False))
    os.chdir(ROOT)
    warm(*WARM)
    for res in run_all(with_fault, faults, (os.cpu_count() or 1)+2, TIMEOUT):
        failed = [o.split(' - ')[0].removeprefix('FAILED ') for o in res.out.splitlines() if o.startswith('FAILED ')]
        ok = res.rc is None or res.rc==1 and failed
        why = 'takes too long' if res.rc is None else failed[0] if ok else 'SURVIVES' if res.rc==0 else f'the tests did not run: {res.out[-500:]}'
        for o in failed: caught.setdefault(o.split('/')[1], set()).add(o)
        bad += not ok
        print(f'{"ok  " if ok else "FAIL"} {res.job.module:20}{res.job.what:70} {res.seconds:4.1f} s  {why}', flush=True)
    print(f'{len(faults)-bad} of {len(faults)} faults caught in {time.time()-start:.0f} s', flush=True)
    for res in run_all(pytest, [] if passed else map(sorted, caught.values()), timeout=10*TIMEOUT):
        if res.rc: print(f'FAIL without any fault, too: {res.out[-2000:]}')
        bad += res.rc!=0
    print('mutants: failed' if bad else f'what caught them passes without them: {time.time()-start:.0f} s in all' if not passed else 'mutants: passed')
    return int(bad>0)

if __name__=='__main__': sys.exit(main({*sys.argv[1:]}-{'--passed'}, '--passed' in sys.argv))
