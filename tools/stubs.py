"""Write a stub beside each module, for editors and type checkers: `python -m tools.stubs`

They can't read from the source that `@patch` adds methods to classes of other modules, that callbacks are attributes of the learner, and that exceptions
and events are created from a table. So this module imports the package, and writes what is there. The two stubs in `KEPT` are in git, so that editors know
a learner in a plain clone. `make export` writes all.
"""
import ast, inspect, learnloop, pkgutil, re, sys, textwrap
from enum import Enum
from functools import cache
from importlib import import_module
from pathlib import Path
from fastcore.basics import camel2snake
from learnloop import Callback, Learner, event, synth_learner
from learnloop.loop.help import show_params

ROOT,PKG = Path(__file__).parents[1],'learnloop'
KEPT = f'{PKG}/__init__.pyi',f'{PKG}/loop/learner.pyi'  # in git
HEAD = '# Written by `python -m tools.stubs`, with methods that other modules patch on\n'

@cache
def modules():
    "Import all modules: name, such as `loop.flow` -> module"
    names = [o.name for o in pkgutil.walk_packages(learnloop.__path__, f'{PKG}.') if not o.ispkg and o.name.split('.')[-1][0]!='_']
    res = {o.removeprefix(f'{PKG}.'):import_module(o) for o in sorted(names)}
    show_params()
    return res

class Text(str):
    "Shown in a signature as it is"
    __repr__ = str.__str__

def is_ours(o): return (getattr(o, '__module__', None) or '').startswith(f'{PKG}.')
def classes(mod): return [o for k,o in vars(mod).items() if isinstance(o, type) and o.__module__==mod.__name__ and o.__name__==k and k[0]!='_']
def function(o): return getattr(o, '__func__', None) or getattr(o, 'fget', None) or getattr(o, 'func', None) or o

@cache
def tree(o):
    "Parse the source of a class or function; it is empty for what a table created"
    try: return ast.parse(textwrap.dedent(inspect.getsource(o)))
    except (OSError, TypeError): return ast.parse('')

@cache
def methods(cls):
    "Name -> function, or the object that wraps it, of public and special methods"
    special = {k for k in vars(cls) if k[:2]=='__' and not hasattr(cls, '_fields')}-{'__getattr__', '__class__'}
    return {k:o for k,o in vars(cls).items() if (k[0]!='_' or k in special) and inspect.isfunction(f := function(o)) and f.__name__==k}

@cache
def patched(cls):
    "Name -> function that a module patches onto `cls`"
    own = {o.name for o in ast.walk(tree(cls)) if isinstance(o, ast.FunctionDef)}
    return {k:o for k,o in methods(cls).items() if own and inspect.isfunction(o) and k not in own and is_ours(o)}

def type_text(o, where=None):
    "Write the annotation `o`, found in the namespace `where`; `Any` if it is no type"
    if isinstance(o, str):
        try: o = eval(o, vars(learnloop) | (where or {}))
        except (NameError, SyntaxError): return 'Any'
    if o is None: return 'None'
    if o is inspect.Parameter.empty or not isinstance(o, type) and not hasattr(o, '__args__'): return 'Any'
    text = inspect.formatannotation(o).replace('NoneType', 'None')
    return 'Any' if re.search(r'\._[A-Z]', text) else text

def call(name, f, in_class=False):
    "Return lines that declare the function `f`: parameters, simple defaults, the result, the docstring with comments on parameters"
    sig = inspect.signature(f)
    def _param(i, o):
        simple = o.default is o.empty or isinstance(o.default, str|int|float|None|tuple) and '<' not in repr(o.default)
        typ = o.empty if in_class and not i else Text(type_text(o.annotation, f.__globals__))
        return o.replace(annotation=typ, default=o.default if simple else Text('...'))
    ret = 'None' if name in ('__init__', '__init_subclass__') else type_text(sig.return_annotation, f.__globals__)
    if inspect.isgeneratorfunction(inspect.unwrap(f)) and inspect.unwrap(f) is not f: ret = 'contextlib.AbstractContextManager[Any]'
    sig = sig.replace(parameters=[_param(*o) for o in enumerate(sig.parameters.values())], return_annotation=Text(ret))
    return [f'def {name}{sig}:', *quoted(f.__doc__ and inspect.getdoc(f))]

def quoted(doc): return indented(ast.unparse(ast.parse(repr(str(doc)))).splitlines() if doc else ['...'])
def indented(lines): return [f'    {o}'.rstrip() for o in lines or ['...']]

def value_type(v): return type_text(type(v)) if type(v) in (bool, int, float, str, list, dict) or is_ours(type(v)) and not isinstance(v, type) else 'Any'

@cache
def examples():
    "Objects whose attributes are known, by class: a learner and values in modules"
    values = [o for m in modules().values() for o in vars(m).values() if is_ours(type(o)) and hasattr(o, '__dict__')]
    return {type(o):o for o in values} | {Learner:synth_learner()}

def callbacks():
    "Name on the learner -> class, of public callbacks"
    cbs = [o for k in learnloop.__all__ if isinstance(o := getattr(learnloop, k), type) and issubclass(o, Callback) and o is not Callback]
    return {o.name if isinstance(o.name, str) else camel2snake(re.sub('Callback$', '', o.__name__)):o for o in cbs}

def attributes(cls):
    "Public attribute -> type: those that methods set, those of an example, of a learner also its callbacks"
    code = [tree(cls), *map(tree, patched(cls).values())]
    stored = [o for t in code for o in ast.walk(t) if isinstance(o, ast.Attribute) and isinstance(o.ctx, ast.Store)]
    res = {o.attr:'Any' for o in stored if getattr(o.value, 'id', '')=='self'}
    res |= {k:'float' if type(v) is int else value_type(v) for k,v in vars(cls).items() if not (is_ours(type(v)) and hasattr(v, '__get__'))}
    res |= {k:type_text(v) for k,v in vars(cls).get('__annotations__', {}).items()}
    if cls in examples(): res |= {k:value_type(v) for k,v in vars(examples()[cls]).items()}
    if issubclass(cls, Learner): res |= {k:type_text(o) for k,o in callbacks().items()}
    if cls is Callback: res |= {k:'Any' for k in (*event, *dir(examples()[Learner]))} | dict(learn=type_text(Learner))
    return {k:v for k,v in res.items() if k[0]!='_' and k not in methods(cls)}

def class_stub(cls):
    "Return lines that declare a class: attributes, methods, and first a base class with patched methods"
    fields,lines = [k for k in getattr(cls, '_fields', ()) if '_fields' not in vars(cls.__base__.__base__)],[]
    bases = ['typing.NamedTuple'] if fields else [type_text(o) for o in cls.__bases__ if o is not object]
    lines += [f'{k}: Any' + ' = ...'*(k in cls._field_defaults) for k in fields]
    # a clone has no stubs of a learner's bases
    patches = {k:f for c in (cls.__mro__ if cls is Learner else [cls]) for k,f in patched(c).items() if not fields}
    for k,o in methods(cls).items():
        kind = type(o).__name__ if isinstance(o, staticmethod|classmethod) else ''
        if k not in patches and inspect.isfunction(o) or kind: lines += [*[f'@{kind}']*bool(kind), *call(k, function(o), in_class=kind!='staticmethod')]
        elif k not in patches: lines.append(f'{k}: {type_text(inspect.signature(function(o)).return_annotation, function(o).__globals__)}')
    head = []
    if patches:
        bases.insert(0, base := f'_{cls.__name__}Methods')
        found = [f'from {o.__module__} import {k} as {k}' for k,o in patches.items()]
        defs = [o for k,f in patches.items() for o in call(k, f, in_class=True)]
        # mypy reads the branch `if MYPY`, pyright the other one, jedi both branches of the first class
        both = ['if MYPY:', *indented(defs), 'else:', *indented(found)]
        head = ['if MYPY:', *indented([f'class {base}:', *indented(both)]), 'else:', *indented([f'class {base}:', *indented(found)])]
    attrs = [f'{k} = ...' if issubclass(cls, Enum) else f'{k}: {v}' for k,v in attributes(cls).items() if k not in fields]
    body = [*(quoted(cls.__doc__) if cls.__doc__ else []), *indented([*attrs, *lines])]
    return [*head, f'class {cls.__name__}({", ".join(bases)}):'.replace('()', ''), *body]

def module_stub(name):
    "Return the stub of the module `name`"
    mod = modules()[name]
    ours = classes(mod)
    lines = [o for c in ours for o in class_stub(c)]
    for k in mod.__all__:
        v = getattr(mod, k)
        if inspect.isfunction(v): lines += call(k, v)
        elif k not in [o.__name__ for o in ours]: lines.append(f'{k}: {value_type(v)}')
    # imports in stubs of classes lead here
    theirs = {k for m in modules().values() for c in classes(m) for k,f in patched(c).items() if f.__module__==mod.__name__}
    lines += [f'def {k}(*args: Any) -> Any: ...' for k in sorted(theirs-{*mod.__all__})]
    imports = {o for o in re.findall(r'(?<![\w.])((?:[a-z_]\w*\.)*[a-z_]\w*)(?=\.\w)', '\n'.join(lines)) if o in sys.modules}
    head = [HEAD + 'from typing import Any, Literal', *(f'import {o}' for o in sorted(imports)), 'MYPY: Literal[False]  # mypy treats it as True']
    return '\n'.join([*head, f'__all__ = {mod.__all__!r}', *lines, ''])

def package_stub():
    "Return the stub of the package: an import of each public name"
    def _home(k): return next(m for m in modules().values() if k in m.__all__ and getattr(m, k) is getattr(learnloop, k))
    homes = {k:_home(k) for k in sorted(learnloop.__all__)}
    return '\n'.join([HEAD + '__version__: str', *(f'from {m.__name__} import {k} as {k}' for k,m in homes.items()), f'__all__ = {[*homes]!r}', ''])

def write():
    want = {ROOT/PKG/f"{k.replace('.', '/')}.pyi":module_stub(k) for k in modules()} | {ROOT/PKG/'__init__.pyi':package_stub()}
    for p in {*(ROOT/PKG).rglob('*.pyi')}-want.keys(): p.unlink()
    for p,s in want.items(): p.write_text(s)

if __name__=='__main__': write()
