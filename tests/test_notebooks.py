"House rules of notebooks and modules; CONTRIBUTING.md gives the reasons"
import ast, inspect, re
from dataclasses import is_dataclass
from importlib import import_module
from pathlib import Path
import pytest
from fastcore.docments import docments
from fastcore.nbio import read_nb
from learnloop.loop.flow import event

PKG = 'learnloop'
ROOT = Path(__file__).parents[1]
IMPORTS = ast.Import,ast.ImportFrom
DEFS = ast.FunctionDef,ast.ClassDef

def exports(c): return c.cell_type=='code' and {'export','exports'} & set(c.directives)
def code(c): return '\n'.join(l for l in c.source.splitlines() if not l.startswith('#|'))
# A callback's answers to events aren't API: the loop calls them
def is_api(nm): return nm=='__init__' or not re.match('_|(before|after|cleanup|then)_', nm)
def of_private(o): return isinstance(o, ast.FunctionDef) and o.args.args and ast.unparse(o.args.args[0].annotation or o)[0]=='_'
def public(c): return [o.name for o in ast.parse(code(c)).body if isinstance(o, DEFS) and is_api(o.name) and not of_private(o)]

def idle(cells):
    "Yield the public symbols of each exported cell, with its id, that no example below it uses"
    for i,c in enumerate(cells):
        if not exports(c): continue
        later = '\n'.join(code(o) for o in cells[i+1:] if o.cell_type=='code' and not exports(o))
        for nm in public(c):
            if not re.search(rf'\b{nm}\b', later): yield c.id,nm

def private_imports(tree):
    "Yield the private names that a module imports from another module of the package, with their lines"
    for o in ast.walk(tree):
        if not isinstance(o, ast.ImportFrom) or not (o.level or o.module.split('.')[0]==PKG): continue
        yield from ((o.lineno, a.name) for a in o.names if a.name[0]=='_' and a.name!='__version__')

def module(cells):
    "The module that the notebook of `cells` writes, or None"
    src = '\n'.join(c.source for c in cells if c.cell_type=='code')
    m = re.search(r'^#\| *default_exp +(\S+)', src, flags=re.M)
    return m and m[1]

def documented(o):
    "`o` and, of a class, the methods that no base has, and documents, already; a dataclass has its fields as parameters"
    if not inspect.isclass(o) or is_dataclass(o): yield o
    if not inspect.isclass(o): return
    assert inspect.getdoc(o), f'{o} has no docstring'
    for k,f in vars(o).items():
        known = is_dataclass(o) if k=='__init__' else any(hasattr(b, k) for b in o.__mro__[1:])
        if inspect.isfunction(f) and is_api(k) and not known: yield f

ALL = {p:[*read_nb(p).cells] for p in sorted((ROOT/'nbs').rglob('*.ipynb')) if '.ipynb_checkpoints' not in p.parts}
NBS = {p:m for p,cells in ALL.items() if (m := module(cells))}
SOURCES = {m:(ROOT/PKG/f"{m.replace('.','/')}.py").read_text() for m in NBS.values()}
EXPORTED = [(f'{p.stem}, {c.id}', c) for p in NBS for c in ALL[p] if exports(c)]

def none_of(found):
    "Assert that `found`, pairs of a place and what is wrong there, is empty"
    bad = [f'{where}: {what}' for where,what in found]
    assert not bad, '\n'.join(bad)

def test_each_opens_with_title_and_summary():
    msg = 'first cell must be `# Title` and `> summary` alone: nbdev drops from the docs what follows there'
    none_of((p.stem, msg) for p,cells in ALL.items() if not re.fullmatch(r'# [^\n]+\n\n> [^\n]+', cells[0].source))

def test_outputs_warn_of_nothing_and_name_no_place_of_a_machine():
    def text(c): return '\n'.join(''.join(o.get('text', '')) for o in c.get('outputs', ()) if o.output_type=='stream')
    none_of((f'{p.stem}, {c.id}', f'{at[0]!r} is for nobody who reads: mend the example, or show the warning by catching it')
        for p,cells in ALL.items() for c in cells if (at := re.search(r'/\S+\.py:\d+|\w+Warning: ', text(c))))

def test_exported_cells_are_small_and_single():
    def most(c): return 100 if re.search(r'^class ', code(c), re.M) else 40  # a class and the methods that tell its story
    none_of((at, f'over {most(c)} lines') for at,c in EXPORTED if len(code(c).splitlines())>most(c))
    none_of((at, f'{public(c)}: nbdev would document these in reverse order') for at,c in EXPORTED if len(public(c))>1)

def test_imports_stand_alone():
    none_of((at, 'imports and code: nbdev runs the imports alone to render the docs') for at,c in EXPORTED
        if len({isinstance(o, IMPORTS) for o in ast.parse(code(c)).body})>1)

def test_public_symbols_are_exercised_below_their_definition():
    none_of((p.stem, f'never used in an example: {found}') for p in NBS if (found := [*idle(ALL[p])]))

def test_public_api_is_documented():
    known = {'self', 'return', *event}  # events are documented where they are: a callback's constructor lists them for completion
    def wrong():
        for mod in NBS.values():
            m = import_module(f'{PKG}.{mod}')
            for f in (f for nm in m.__all__ if callable(getattr(m, nm)) for f in documented(getattr(m, nm))):
                if not inspect.getdoc(f) and f.__name__!='__init__': yield f'{mod}.{f.__qualname__}','no docstring'
                bare = [k for k,v in docments(f, args_kwargs=True).items() if v is None and k not in known]
                if bare: yield f'{mod}.{f.__qualname__}',f'no docment for {bare}'
    none_of(wrong())

def test_lines_end_at_120_columns():
    none_of((m, o) for m,s in SOURCES.items() for c in s.split('\n# %% ../')[1:] for o in c.splitlines()[1:] if len(o)>120)

def test_no_private_name_is_imported():
    none_of((m, f'{o} is imported from another module') for m,s in SOURCES.items() for o in private_imports(ast.parse(s)))

@pytest.mark.parametrize('src,n', [('from .flow import _a, b, _c', 2), ('def f():\n    from learnloop.loop.flow import _a', 1), ('from learnloop import __version__', 0),
    ('from torch import _C', 0), ('from .flow import a', 0)])
def test_private_imports(src, n): assert len([*private_imports(ast.parse(src))])==n

def test_each_module_comes_from_one_notebook():
    found = ['.'.join(p.relative_to(ROOT/PKG).with_suffix('').parts) for p in (ROOT/PKG).rglob('*.py') if p.stem[0]!='_']
    assert sorted(found)==sorted(NBS.values()), 'nbdev-export never deletes a module whose notebook is gone'

def statements(f):
    "Statements of the function `f`, in the order in which they are written, without those of functions inside it"
    for o in f.body if hasattr(f, 'body') else ():
        if isinstance(o, (ast.FunctionDef,ast.ClassDef)): continue
        yield o
        yield from statements(o)
        for k in ('orelse','finalbody'): yield from statements(ast.Module(getattr(o, k, [])))
        for h in getattr(o, 'handlers', ()): yield from statements(h)

def idle_return(src):
    "Line of a test in `src` that returns before it has looked at anything, or None"
    for f in ast.walk(ast.parse(src)):
        if not isinstance(f, ast.FunctionDef) or not f.name.startswith('test_'): continue
        for o in statements(f):
            if isinstance(o, ast.Assert) or isinstance(o, ast.With) and 'pytest.' in ast.unparse(o.items[0]): break
            if isinstance(o, ast.Return) and o.value is None: return o.lineno

def test_point_32_no_test_returns_before_it_has_looked_at_anything():
    idle = [f'{p.name}:{line}' for p in sorted((ROOT/'tests').rglob('*.py')) if (line := idle_return(p.read_text()))]
    assert not idle, f'{idle}: a case that tests nothing passes for one that does: leave it out of `parametrize`, or pytest.skip(why)'

@pytest.mark.parametrize('body,want', [('if a: return', 2), ('b = 1\n if a:\n  return', 4), ('assert a\n return', None), ('with pytest.raises(E): f()\n return', None), ('return check(a)', None),
    ('def f(): return\n assert f', None), ('try: f()\n except E: return\n assert a', 3), ('for b in a:\n  if b: return\n  assert b', 3)])
def test_idle_returns_are_found(body, want): assert idle_return(f'def test_a(a):\n {body}')==want
