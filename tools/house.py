"""Measure the size of the project: `python -m tools.house`

It prints each figure beside the one kept in `tools/house.json` and beside the budget. `--list FIGURE` shows its parts. `--check`, as in `make check`,
fails if a figure is worse than the kept one. `--keep` stores the current figures, so that the reviewer of a change sees them.
"""
import ast, io, json, os, re, subprocess, sys, tokenize
from argparse import ArgumentParser
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT,PKG = Path(__file__).parents[1],'learnloop'
KEPT = ROOT/'tools/house.json'

# ---- modules

CORE = f'{PKG}/loop',f'{PKG}/data'

class Module(NamedTuple):
    path: str # Below the root
    tree: ast.Module

@cache
def modules(root):
    "Name, such as `loop.flow`, -> `Module`"
    files = [p for p in sorted((root/PKG).rglob('*.py')) if p.stem[0]!='_']
    return {'.'.join(p.relative_to(root/PKG).with_suffix('').parts): Module(str(p.relative_to(root)), ast.parse(p.read_text())) for p in files}

LAYOUT = {getattr(tokenize, o) for o in 'COMMENT NL NEWLINE INDENT DEDENT ENDMARKER'.split()}

def code_tokens(path):
    "Return the tokens of a Python file without comments, blank lines and docstrings"
    text,left_out = path.read_text(),set()
    for o in ast.walk(ast.parse(text)):
        body = getattr(o, 'body', None) if isinstance(o, (ast.Module, ast.FunctionDef, ast.ClassDef)) else None
        if body and isinstance(body[0], ast.Expr) and isinstance(getattr(body[0].value, 'value', None), str):
            left_out |= {*range(body[0].lineno, body[0].end_lineno+1)}
    return [t for t in tokenize.generate_tokens(io.StringIO(text).readline) if t.type not in LAYOUT and t.start[0] not in left_out]

@cache
def code_lines(path): return {i for t in code_tokens(path) for i in range(t.start[0], t.end[0]+1)}

def tokens(path):
    "Count the tokens of a module, without imports and `__all__`"
    def _is_head(o): return isinstance(o, (ast.Import, ast.ImportFrom)) or isinstance(o, ast.Assign) and getattr(o.targets[0], 'id', '')=='__all__'
    left_out = {i for o in filter(_is_head, ast.walk(ast.parse(path.read_text()))) for i in range(o.lineno, o.end_lineno+1)}
    return sum(t.start[0] not in left_out for t in code_tokens(path))

def code_in(*folders):
    "Count the code lines of each Python file below `folders`"
    return lambda root: {str(p.relative_to(root)):len(code_lines(p)) for o in folders for p in sorted((root/o).rglob('*.py')) if p.name!='_modidx.py'}

def core_tokens(root): return {str(p.relative_to(root)):tokens(p) for o in CORE for p in sorted((root/o).rglob('*.py'))}

def functions(root):
    "Place of each function -> number of its code lines"
    return {f'{m.path}:{o.lineno}':len(code_lines(root/m.path) & {*range(o.lineno, o.end_lineno+1)})
        for m in modules(root).values() for o in ast.walk(m.tree) if isinstance(o, ast.FunctionDef)}

def generated(root):
    "List generated files in git"
    found = subprocess.run(['git', 'ls-files', '*.pyi', '*_modidx.py'], cwd=root, capture_output=True, text=True).stdout.split()
    return dict.fromkeys(found, 1)

def patches(mod):
    "Yield line, class and name of each method that a module patches onto a class"
    for o in mod.tree.body:
        if not isinstance(o, ast.FunctionDef) or not any(ast.unparse(d).startswith('patch') for d in o.decorator_list): continue
        cls = o.args.args[0].annotation
        for c in cls.elts if isinstance(cls, ast.Tuple) else [cls]: yield o.lineno,ast.unparse(c),o.name

# ---- the running package

_ASK = f"""import json, {PKG}, {PKG}.loop.opt_state
(learn := {PKG}.synth_learner()).fit(1)
parts = dict(learn=learn, team=learn.team, data_pass=learn.data_pass, OptState={PKG}.loop.opt_state.OptState).items()
print(json.dumps([f'{{k}}.{{nm}}' for k,o in parts for nm in dir(o) if nm[:2]!='__']))"""

@cache
def attributes(root):
    "List the names of a learner after a fit, and of the objects that hold parts of its state"
    env = os.environ | dict(PYTHONPATH=str(root), PYTHONWARNINGS='ignore')
    return json.loads(subprocess.run([sys.executable, '-c', _ASK], cwd=root, capture_output=True, text=True, env=env, check=True).stdout.splitlines()[-1])

# ---- figures

class Figure(NamedTuple):
    name: str
    find: object        # Function of the root that returns place -> number
    whole: object = sum # Function of the numbers
    budget: int = 0     # The aim

FIGURES = [  # chkstyle: ignore-node
    Figure('code lines of loop and data',  code_in(*CORE), budget=2900),
    Figure('tokens of loop and data',      core_tokens, budget=30_000),
    Figure('code lines of the package',    code_in(PKG), budget=24_200),
    Figure('code lines of a module',       code_in(PKG), max, budget=500),
    Figure('code lines of a function',     functions, max, budget=60),
    Figure('code lines of tools',          code_in('tools'), budget=900),
    Figure('code lines of tests',          code_in('tests'), budget=32_000),
    Figure('generated files',              generated, budget=2),
    Figure('public names of a learner',    lambda root: {k:1 for k in attributes(root) if '._' not in k}, budget=140),
    Figure('private names of a learner',   lambda root: {k:1 for k in attributes(root) if '._' in k}, budget=60),
    # `patch` keeps the first method by this name
    Figure('methods replaced elsewhere',   lambda root: {k:1 for k in attributes(root) if re.match(r'learn\._orig_(?!__)', k)})]

def measure(fig, root): return fig.whole(fig.find(root).values())

def check(now, kept):
    "Print figures that are worse than the kept ones; return the exit status"
    worse = [k for k,v in now.items() if v>kept.get(k, 0)]
    for k in worse: print(f'house: worse: {k}: {now[k]}, was {kept.get(k, 0)} (`--list {k!r}` shows its parts)')
    if worse: print('house: undo the increase; if it is necessary, `python -m tools.house --keep` stores it for the reviewer to see')
    return int(bool(worse))

def main():
    p = ArgumentParser('python -m tools.house', description=__doc__.split('\n')[0])
    p.add_argument('--list', choices=[o.name for o in FIGURES], metavar='FIGURE', help='show the parts of a figure: %(choices)s')
    p.add_argument('--check', action='store_true', help='compare with the kept figures')
    p.add_argument('--keep', action='store_true', help='store the figures')
    args = p.parse_args()
    if args.list:
        for k,v in sorted(next(o for o in FIGURES if o.name==args.list).find(ROOT).items(), key=lambda o: o[1]): print(f'{v:6} {k}')
        return 0
    now = {o.name:measure(o, ROOT) for o in FIGURES}
    if args.keep: KEPT.write_text(json.dumps(now, indent=1)+'\n')
    kept = json.loads(KEPT.read_text())
    if args.check: return check(now, kept)
    print(f"{'':30}{'kept':>10}{'now':>10}{'budget':>10}")
    for o in FIGURES: print(f'{o.name:30}{kept.get(o.name, 0):10,}{now[o.name]:10,}{o.budget:10,}')
    return 0

if __name__=='__main__': sys.exit(main())
