"""The house in figures: its wings, what crosses between them, what is hidden, and how it is laid out

`python -m tools.house` prints them beside those that are kept in `tools/house.json`, and beside the budget, where there is one. With `--check`, as `make check` runs it, a
figure that got worse is an error that names the files; one that got better asks to be kept, by `--keep`, so that it stays. What a
change needs to be worse is kept in the same way, for its reviewer to see. `--root DIR` looks at another checkout, `--against DIR`
compares with one, which may have its modules in a flat folder.
"""
import ast, io, json, os, re, subprocess, sys, tokenize
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections import Counter
from functools import cache
from pathlib import Path
from typing import NamedTuple
from fastcore.nbio import read_nb

ROOT,PKG = Path(__file__).parents[1],'learnloop'
KEPT = ROOT/'tools/house.json'
WIDTH = 120
# The architecture, in one place: imports go down this list only
WINGS = dict(  # chkstyle: ignore-node
    app     = 'what runs from a shell',
    see     = 'looking at a run',
    interop = 'callbacks of other systems',
    scale   = 'more than one process, less than one interpreter',
    keep    = 'nothing lost',
    train   = 'what changes training',
    measure = 'numbers about it',
    loop    = 'the loop itself',
    data    = 'loaders and batches')

# ---- notebooks

DEFS = ast.FunctionDef,ast.ClassDef

def exports(c): return c.cell_type=='code' and {'export','exports'} & set(c.directives)
def code(c): return '\n'.join(l for l in c.source.splitlines() if not l.startswith('#|'))
# A callback's answers to events aren't API: the loop calls them
def is_api(nm): return nm=='__init__' or not re.match('_|(before|after|cleanup|then)_', nm)
def public(c): return [o.name for o in ast.parse(code(c)).body if isinstance(o, DEFS) and is_api(o.name)]

@cache
def notebooks(root):
    "Path below `root` -> cells of each notebook"
    found = [p for p in sorted((root/'nbs').rglob('*.ipynb')) if '.ipynb_checkpoints' not in p.parts]
    return {str(p.relative_to(root)):list(read_nb(p).cells) for p in found}

def idle(cells):
    "Public symbols of each exported cell, with its id, that no example below it has"
    for i,c in enumerate(cells):
        if not exports(c): continue
        later = '\n'.join(code(o) for o in cells[i+1:] if o.cell_type=='code' and not exports(o))
        for nm in public(c):
            if not re.search(rf'\b{nm}\b', later): yield c.id,nm

def is_shown(c):
    "Does the page show anything of the cell? Of an exported one it shows the docs of what is public"
    if c.cell_type!='code': return bool(c.source.strip())
    if {'hide','include:'} & set(c.directives): return False
    return bool(public(c)) if 'export' in c.directives else bool(code(c).strip())

ANNOUNCED = re.compile(r'\s*([-*+|>!<$`]|\d+\.|\[|    )')  # lists, tables, quotes, pictures, formulas, code

def loose_colons(cells):
    "Sentences that end in a colon before nothing, or before another sentence, in the page as it is shown"
    shown = [c for c in cells if is_shown(c)]
    for c,after in zip(shown, [*shown[1:], None], strict=True):
        if c.cell_type!='markdown': continue
        paras = [o for o in re.split(r'\n\s*\n', re.sub(r'^```.*?^```', '```', c.source.strip(), flags=re.M|re.S))]
        ends = [*paras[1:], after.source if after and after.cell_type=='markdown' else '`' if after else '']
        for text,then in zip(paras, ends, strict=True):
            if text.rstrip().endswith(':') and not ANNOUNCED.match(then): yield c.id,text.splitlines()[-1][-60:]

# ---- modules

class Module(NamedTuple):
    path: str     # Below the root
    lines: list   # As `nbdev-export` has written them
    tree: ast.Module

@cache
def modules(root):
    "Name, such as `loop.flow`, -> `Module`"
    res = {}
    for p in sorted((root/PKG).rglob('*.py')):
        if p.stem[0]=='_': continue
        src = p.read_text()
        name = '.'.join(p.relative_to(root/PKG).with_suffix('').parts)
        res[name] = Module(str(p.relative_to(root)), src.splitlines(), ast.parse(src))
    return res

@cache
def homes(): return {k.split('.')[-1]:k.split('.')[0] for k in modules(ROOT)}
def wing(mod): return mod.split('.')[0] if '.' in mod else homes().get(mod, '')  # a flat one counts where it is now
def floor(mod): return [*WINGS].index(wing(mod))

def siblings(tree, mod, folders=(PKG, *(f'{PKG}.{w}' for w in WINGS))):
    "The package's modules that the syntax `tree` of `mod` imports, however it spells the import; `folders` are no modules"
    here = f'{PKG}.{mod}'.split('.')
    for o in ast.walk(tree):
        if isinstance(o, ast.Import): names = [a.name for a in o.names]
        elif isinstance(o, ast.ImportFrom):
            base = '.'.join([*here[:-o.level], *filter(None, [o.module])] if o.level else [o.module])
            # `from learnloop.loop import flow` has the module on the right, where `from learnloop.loop.flow import event` hasn't
            names = [f'{base}.{a.name}' for a in o.names if a.name!='__version__'] if base in folders else [base]
        else: continue
        yield from (n.removeprefix(f'{PKG}.') for n in names if f'{n}.'.startswith(f'{PKG}.'))

def private_imports(tree):
    "Names with an underscore that a module takes from another one of the package, with the line"
    for o in ast.walk(tree):
        if not isinstance(o, ast.ImportFrom) or not (o.level or o.module.split('.')[0]==PKG): continue
        yield from ((o.lineno, a.name) for a in o.names if a.name[0]=='_' and a.name!='__version__')

@cache
def arrows(root):
    "Module -> the modules that it imports"
    mods = modules(root)
    return {k:{o for o in siblings(m.tree, k) if o in mods}-{k} for k,m in mods.items()}

@cache
def floors(root):
    "The floor of each module: 1 for one that imports none, else one above the highest that it imports"
    res,left = {},dict(arrows(root))
    while left:
        ready = [k for k,v in left.items() if v<=res.keys()]
        if not ready: raise ValueError(f'imports go round: {", ".join(left)}')
        for k in ready: res[k] = 1+max((res[o] for o in left.pop(k)), default=0)
    return res

def docstrings(tree):
    "Docstrings and lines of imports and `__all__`, as pairs of the first and last line"
    for o in ast.walk(tree):
        body = getattr(o, 'body', None) if isinstance(o, (ast.Module, *DEFS)) else None
        if body and isinstance(body[0], ast.Expr) and isinstance(getattr(body[0].value, 'value', None), str):
            yield body[0].lineno,body[0].end_lineno
        if isinstance(o, (ast.Import,ast.ImportFrom)): yield o.lineno,o.end_lineno
        if isinstance(o, ast.Assign) and getattr(o.targets[0], 'id', '')=='__all__': yield o.lineno,o.end_lineno

def tokens(mod):
    "Number of Python tokens of a module, without docstrings, comments and imports"
    left_out = {i for a,b in docstrings(mod.tree) for i in range(a, b+1)}
    layout = {getattr(tokenize, o) for o in 'COMMENT NL NEWLINE INDENT DEDENT ENDMARKER'.split()}
    found = tokenize.generate_tokens(io.StringIO('\n'.join(mod.lines)+'\n').readline)
    return sum(t.type not in layout and t.start[0] not in left_out for t in found)

def code_lines(text, tree):
    "Numbers of the lines that hold code: no blank lines, comments and docstrings"
    left_out = {i for o in ast.walk(tree) for i in range(*_docstring(o))}
    layout = {getattr(tokenize, o) for o in 'COMMENT NL NEWLINE INDENT DEDENT ENDMARKER'.split()}
    res = set()
    for t in tokenize.generate_tokens(io.StringIO(text).readline):
        if t.type not in layout: res.update(range(t.start[0], t.end[0]+1))
    return res-left_out

def _docstring(o):
    body = getattr(o, 'body', None) if isinstance(o, (ast.Module, *DEFS)) else None
    is_doc = body and isinstance(body[0], ast.Expr) and isinstance(getattr(body[0].value, 'value', None), str)
    return (body[0].lineno, body[0].end_lineno+1) if is_doc else (0, 0)

@cache
def code_of(root):
    "Module -> numbers of its lines of code"
    return {k:code_lines('\n'.join(m.lines)+'\n', m.tree) for k,m in modules(root).items()}

def code_in(root, folder):
    "Number of code lines of each Python file below `folder`"
    found = sorted((root/folder).rglob('*.py'))
    return {str(p.relative_to(root)):len(code_lines(src := p.read_text(), ast.parse(src))) for p in found}

def functions(root):
    "Place of each function -> its code lines"
    return {f'{m.path}:{o.lineno}':len(code_of(root)[k] & {*range(o.lineno, o.end_lineno+1)})
        for k,m in modules(root).items() for o in ast.walk(m.tree) if isinstance(o, ast.FunctionDef)}

CORE = 'loop','data'
def core(f):
    "What `f` finds by module, of the wings that are the core"
    return lambda root: {k:v for k,v in f(root).items() if wing(k) in CORE}

def module_lines(root): return {k:len(v) for k,v in code_of(root).items()}
def module_tokens(root): return {k:tokens(m) for k,m in modules(root).items()}
def generated(root):
    "The generated files that git has"
    found = subprocess.run(['git', 'ls-files', '*.pyi', '*_modidx.py'], cwd=root, capture_output=True, text=True).stdout.split()
    return dict.fromkeys(found, 1)

def exported(mod):
    "Numbered lines of a module that somebody wrote: no head, no marks of cells"
    first = next((i for i,l in enumerate(mod.lines) if l.startswith('# %% ') and 'auto' not in l), len(mod.lines))
    return [(i+1, l) for i,l in enumerate(mod.lines) if i>=first and not l.startswith('# %% ')]

def cells(mod):
    "Lengths of the cells of a module, with the line where each begins"
    starts = [i for i,l in enumerate(mod.lines) if l.startswith('# %% ')]
    for a,b in zip(starts, [*starts[1:], len(mod.lines)], strict=True):
        text = '\n'.join(mod.lines[a+1:b]).strip('\n')
        if text and 'auto' not in mod.lines[a]: yield a+2,len(text.splitlines())

def is_truth(o):
    if isinstance(o, (ast.Compare, ast.BoolOp)): return True
    if isinstance(o, ast.UnaryOp): return isinstance(o.op, ast.Not)
    return isinstance(o, ast.Call) and getattr(o.func, 'id', '')=='bool'

def truth_arithmetic(tree):
    "Lines that multiply text or a list by a truth value, where `if` reads"
    for o in ast.walk(tree):
        if not isinstance(o, ast.BinOp) or not isinstance(o.op, ast.Mult): continue
        sides = o.left,o.right
        is_seq = [isinstance(s, (ast.JoinedStr, ast.List, ast.Tuple)) or isinstance(getattr(s, 'value', None), str) for s in sides]
        if any(a and is_truth(b) for a,b in zip(is_seq, reversed(sides), strict=True)): yield o.lineno

def patches(mod):
    "Line, class and name of each method that a module patches onto a class"
    for o in mod.tree.body:
        if not isinstance(o, ast.FunctionDef) or not any(ast.unparse(d).startswith('patch') for d in o.decorator_list): continue
        cls = o.args.args[0].annotation
        for c in cls.elts if isinstance(cls, ast.Tuple) else [cls]: yield o.lineno,ast.unparse(c),o.name

def replaced_methods(root):
    "Methods that a module patches onto another's class which has them, or inherits them: who reads those is misled"
    mods,where,bases,own = modules(root),{},{},{}
    for k,m in mods.items():
        for o in m.tree.body:
            if not isinstance(o, ast.ClassDef): continue
            where[o.name],bases[o.name] = k,[ast.unparse(b) for b in o.bases]
            own.setdefault(o.name, {}).update({f.name:k for f in o.body if isinstance(f, ast.FunctionDef)})
    def _has(cls, name): return name in own.get(cls, ()) or any(_has(b, name) for b in bases.get(cls, ()))
    res = {}
    for k in sorted(mods, key=floors(root).get):
        for line,cls,name in patches(mods[k]):
            if where.get(cls)!=k and _has(cls, name): res.setdefault(mods[k].path, []).append(f'{line} {cls}.{name}')
            own.setdefault(cls, {})[name] = k
    return res

# ---- the package as it runs

_ASK = '''
import json, sys
from collections import Counter
import PKG
ns = {}
exec('from PKG import *', ns)
def home(o): return (getattr(o, '__module__', None) or 'PKG').removeprefix('PKG.')
star = Counter(home(v) if home(v).split('.')[0]!='builtins' else '' for k,v in ns.items() if k[:2]!='__')
learn = ns['synth_learner']()
def owner(k):
    c = next((c for c in type(learn).__mro__ if k in vars(c)), None)
    f = None if c is None else vars(c)[k]
    return home(getattr(f, 'fget', None) or f if callable(f) or isinstance(f, property) else c or type(learn))
names = [k for k in dir(learn) if k[:2]!='__']
private = [k for k in names if k[0]=='_']
print(json.dumps([star, Counter(map(owner, private)), len(names), sorted(private)]))'''

@cache
def ask(root):
    "Names that `*` brings and private ones of a learner, both by module, and how many attributes a learner has"
    cmd = [sys.executable, '-c', _ASK.replace('PKG', PKG)]
    out = subprocess.run(cmd, cwd=root, capture_output=True, text=True, env=os.environ | dict(PYTHONPATH=str(root), PYTHONWARNINGS='ignore'))
    if out.returncode: raise RuntimeError(f'{PKG} in {root} cannot be looked at:\n{out.stderr}')
    return json.loads(out.stdout.splitlines()[-1])

# ---- figures

class Figure(NamedTuple):
    name: str
    find: object          # Function of the root: place -> a number, or what was found there
    whole: object = sum   # Of the numbers
    is_kept: bool = True  # May it only get better?
    budget: int|None = None # What it may be in the end; such a figure may get better without being kept

def by_module(f):
    "What `f` finds in each module"
    return lambda root: {m.path:[*f(m)] for m in modules(root).values()}

def by_notebook(f):
    "What `f` finds in the cells of each notebook"
    return lambda root: {p:[*f(cs)] for p,cs in notebooks(root).items()}

def by_wing(f):
    "The sum of `f` over the modules of each wing"
    def _f(root):
        res = Counter()
        for k,m in modules(root).items(): res[wing(k) or PKG] += f(m)
        return res
    return _f

def imports(root, is_meant=lambda k, o: True):
    "Modules that each module imports, those that are meant"
    return {modules(root)[k].path:sorted(o for o in os if is_meant(k, o)) for k,os in arrows(root).items()}

def goes_up(k, o): return wing(k) in WINGS and wing(o) in WINGS and floor(o)<floor(k)
def cell_lengths(root): return {f'{m.path}:{i}':n for m in modules(root).values() for i,n in cells(m)}
def too_long(m): return (i for i,l in exported(m) if len(l)>WIDTH)
def highest(numbers): return max(numbers, default=0)

FIGURES = [  # chkstyle: ignore-node
    Figure('code lines of loop and data',  core(module_lines), budget=2900),
    Figure('tokens of loop and data',      core(module_tokens), budget=30_000),
    Figure('code lines of the package',    module_lines, budget=24_200),
    Figure('code lines of a module',       module_lines, highest, budget=500),
    Figure('code lines of a function',     functions, highest, budget=60),
    Figure('code lines of tools',          lambda root: code_in(root, 'tools'), budget=900),
    Figure('code lines of tests',          lambda root: code_in(root, 'tests'), budget=32_000),
    Figure('generated files',              generated, budget=2),
    Figure('rooms (modules)',              by_module(lambda m: [m.path]), is_kept=False),
    Figure('floors',                       floors, highest),
    Figure('arrows (imports)',             imports, is_kept=False),
    Figure('arrows between wings',         lambda root: imports(root, lambda k, o: wing(k)!=wing(o))),
    Figure('imports that go up',           lambda root: imports(root, goes_up)),
    Figure('private names imported',       by_module(lambda m: private_imports(m.tree))),
    Figure('methods replaced elsewhere',   replaced_methods),
    Figure('attributes of a learner',      lambda root: {'': ask(root)[2]}, is_kept=False),
    Figure('private names of a learner',   lambda root: ask(root)[1]),
    Figure('names that * brings',          lambda root: ask(root)[0]),
    Figure(f'lines over {WIDTH}',          by_module(too_long)),
    Figure('lines of the longest cell',    cell_lengths, highest),
    Figure('public cells without example', by_notebook(idle)),
    Figure('colons before nothing',        by_notebook(loose_colons)),
    Figure("'…'*bool(x)",                  by_module(lambda m: truth_arithmetic(m.tree))),
    Figure('exported lines',               by_wing(lambda m: sum(bool(l.strip()) for _,l in exported(m))), is_kept=False),
    Figure('tokens',                       by_wing(tokens), is_kept=False)]

def number(v): return len(v) if isinstance(v, list) else v

def measure(fig, root):
    "The figure as a whole, and its places with what there is"
    found = {k:v for k,v in fig.find(root).items() if number(v)}
    whole = fig.whole(map(number, found.values()))
    if fig.whole is highest: found = {k:v for k,v in found.items() if v==whole}
    return whole,found

def kept_form(root):
    "What is kept: the whole of each figure that may only get better, and its numbers by place"
    res = {}
    for fig in FIGURES:
        if not fig.is_kept: continue
        whole,found = measure(fig, root)
        res[fig.name] = dict(whole=whole, places=dict(sorted((k, number(v)) for k,v in found.items())))
    return res

def verdicts(root, kept):
    "For each figure that differs from what is kept: is it worse, and what there is to say"
    for fig in FIGURES:
        if not fig.is_kept: continue
        (whole,found),was = measure(fig, root),kept.get(fig.name, dict(whole=0, places={}))
        if whole==was['whole'] or fig.budget and whole<was['whole']: continue
        yield whole>was['whole'],f"{fig.name}: {whole}, was {was['whole']}" + ''.join(
            f'\n  {k or PKG}: {number(v)}, was {was["places"].get(k, 0)}' + (f': {", ".join(map(str, v[-20:]))}' if isinstance(v, list) else '')
            for k,v in found.items() if number(v)>was['places'].get(k, 0) and whole>was['whole'])

# ---- the command

def column(root):
    "Each figure of `root` as text; those by wing also in a row for each"
    res = {}
    for fig in FIGURES:
        whole,found = measure(fig, root)
        res[fig.name] = f'{whole:,}'
        if fig.name in ('exported lines', 'tokens'): res |= {f'  {fig.name} of {k}':f'{found[k]:,}' for k in (PKG, *WINGS) if k in found and len(found)>1}
    return res

def show(columns):
    "Print the figures of each of `columns`, name -> figures"
    names = sorted({k for c in columns.values() for k in c if k in columns['now']}, key=[*columns['now']].index)
    wide = max(map(len, names))
    print(f"{'':{wide}}" + ''.join(f'{k:>12}' for k in columns))
    for nm in names: print(f'{nm:{wide}}' + ''.join(f"{c.get(nm, ''):>12}" for c in columns.values()))

def keep(root): KEPT.write_text(json.dumps(kept_form(root), indent=1, ensure_ascii=False)+'\n')

def check(root, kept):
    "Print what differs from what is kept; returns the exit status"
    found = [*verdicts(root, kept)]
    for is_worse,text in found: print(f"house: {'worse' if is_worse else 'better'}: {text}")
    if any(o for o,_ in found): print('house: mend it; what has to be is kept by `python -m tools.house --keep`, for a reviewer to see')
    elif found: print('house: `python -m tools.house --keep` keeps what got better')
    return int(bool(found))

def main():
    p = ArgumentParser('python -m tools.house', description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    p.add_argument('--root', type=Path, default=ROOT, help='checkout to look at (default: this one)')
    p.add_argument('--against', type=Path, help='another checkout, for comparison')
    p.add_argument('--list', metavar='FIGURE', help='what is found, place by place')
    p.add_argument('--check', action='store_true', help='compare with the figures that are kept')
    p.add_argument('--keep', action='store_true', help='keep the figures')
    args = p.parse_args()
    root = args.root.resolve()
    if args.keep: keep(root)
    if args.check: return check(root, json.loads(KEPT.read_text()))
    if args.list:
        fig = next((o for o in FIGURES if o.name.startswith(args.list)), None)
        if fig is None: p.error(f'no figure {args.list!r}: there are {", ".join(o.name for o in FIGURES)}')
        for k,v in measure(fig, root)[1].items(): print(f'{k or PKG}: {number(v)}', *(v if isinstance(v, list) else []), sep='\n  ')
        return 0
    if args.against: before = column(args.against.resolve())
    else: before = {k:f"{v['whole']:,}" for k,v in json.loads(KEPT.read_text()).items()}
    budget = {o.name:f'{o.budget:,}' for o in FIGURES if o.budget}
    show({'before' if args.against else 'kept':before, 'now':column(root), 'budget':budget})

if __name__=='__main__': sys.exit(main())
