"""A developer's inner loop: run one notebook, and the tests of its module

`python -m tools.quick trace` or `python -m tools.quick nbs/see/03_trace.ipynb`; `make quick NB=trace` exports first. The tests are those in the folder of
the wing that have the module's name, those that `ALSO` has, or else those that use what the module exports."""
import ast, re, subprocess, sys
from pathlib import Path

ROOT,PKG = Path(__file__).parents[1],'learnloop'
# Tests of a module that don't have its name: it is a part of what they try
ALSO = {  # chkstyle: ignore-node
    'keep.passes':'checkpoint stateful', 'keep.resume':'checkpoint pause', 'keep.state':'checkpoint', 'keep.undo':'interrupt',
    'data.checks':'messages', 'loop.learner':'evaluation trains', 'loop.learner_opt':'trains optimizer', 'loop.evaluate':'evaluation', 'loop.place':'learner', 'loop.turn':'turns', 'measure.table':'recorder', 'measure.trial':'recorder metrics',
    'loop.steps':'learner', 'loop.errors':'learner', 'measure.about':'run_facts', 'measure.describe':'run_facts', 'see.progress':'watch', 'see.timeline':'trace', 'see.why':'trace', 'see.page':'report compare', 'see.runfile':'runs', 'scale.pure':'fuse'}

def notebook(name, root=ROOT):
    "The notebook that `name` means: a path, or the name of its file, with or without its number"
    if name.endswith('.ipynb'): return Path(name).resolve()
    nbs = [p for p in sorted((root/'nbs').rglob('*.ipynb')) if '.ipynb_checkpoints' not in p.parts]
    found = [p for p in nbs if name in (p.stem, re.sub(r'^\d+_', '', p.stem), f'{p.parent.name}.{p.stem[3:]}')]
    if len(found)!=1: sys.exit(f"quick: {len(found)} notebooks are named {name!r}; give one of {' '.join(str(p.relative_to(root)) for p in found or nbs)}")
    return found[0]

def module(nb):
    "The module that notebook `nb` writes, such as 'see.trace', or None"
    found = re.search(r'"#\| *default_exp +([\w.]+)', nb.read_text())
    return found and found[1]

def public(path):
    "The names that `__all__` of the module at `path` has"
    found = [o.value for o in ast.parse(path.read_text()).body if isinstance(o, ast.Assign) and ast.unparse(o.targets[0])=='__all__']
    return ast.literal_eval(found[0]) if found else []

def tests_of(mod, root=ROOT):
    "The test files of the module `mod`, such as 'see.trace'"
    wing,_,name = mod.rpartition('.')
    files = sorted((root/'tests'/wing).glob('test_*.py'))
    names = '|'.join([name, *ALSO.get(mod, '').split()])
    if named := [p for p in files if re.search(rf'_({names})(_|$)', p.stem)]: return named
    uses = '|'.join(map(re.escape, [mod, *public(root/PKG/f"{mod.replace('.', '/')}.py")]))
    return [p for p in files if re.search(rf'\b({uses})\b', p.read_text())]

def main(args):
    if len(args)!=1: sys.exit('quick: which notebook? Such as `make quick NB=trace`')
    nb = notebook(args[0])
    cmds = [['tools.notebooks', nb, '--timing']]
    if mod := module(nb):
        tests = tests_of(mod)
        if tests: cmds.append(['pytest', '-q', '-x', '-n', 'auto', *tests])
        cmds.append(['pytest', '-q', '-n', '0', ROOT/'tests/test_notebooks.py', '-k', f'{nb.stem} or {mod}'])
        print(f"quick: {nb.name}, {mod}, {' '.join(p.name for p in tests) or 'no test file'}", flush=True)
    return max(subprocess.run([sys.executable, '-m', *map(str, o)], cwd=ROOT).returncode for o in cmds)

if __name__=='__main__': sys.exit(main(sys.argv[1:]))
