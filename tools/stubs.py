"""Stubs: what editors and type checkers are to know of the package, one beside each module: `python -m tools.stubs`

Methods come by `@patch`, from higher wings, too; callbacks are attributes of the learner, and read its attributes as theirs; exceptions
and events are made from a table. A program that only reads the source sees none of that. So `make export` writes a `.pyi` for each
module, from its source (signatures, docstrings, with comments on parameters among them) and from the package as it runs. `--check`
says whether they are as they would be written. What modules that are imported later patch on is written, too, for `learnloop.loop.later`.
"""
import ast, inspect, sys, textwrap
from enum import Enum
from functools import cache
from importlib import import_module
from operator import attrgetter
from fastcore.docments import docments
from learnloop import Callback, DataLoaders, Learner, synth_learner
from learnloop.loop.flow import CancelException, event
from tools.house import PKG, ROOT, floors, modules, siblings

HEAD = '# Written by `python -m tools.stubs` from {}: methods that other modules patch on are here, too\n'
KEPT = 'property','staticmethod','classmethod','contextmanager'  # decorators that say what a call is like
# What the source doesn't tell, or tells too narrowly: a model has attributes of its own, a loss function any arguments
TYPES = {  # chkstyle: ignore-node
    ('_Reader', 'learn'):Learner, ('_Declares', 'order'):float, ('Learner', 'dls'):DataLoaders, ('Learner', 'n_epoch'):int,
    ('Loop', 'epoch'):int, ('Learner', 'bs'):int}
FREE = 'model','forward_model','opt','loss','loss_func','metrics'

# ---- names

def of_module(mod): return import_module(f'{PKG}.{mod}' if mod else PKG)

@cache
def bound(mod):
    "Name -> the import, as a statement with an absolute path, that binds it in `mod`; names that are defined there are imported from it"
    tree,res = modules(ROOT)[mod].tree,{}
    package = f'{PKG}.{mod}'.split('.')
    for o in tree.body:
        if isinstance(o, ast.Import):
            for a in o.names: res[a.asname or a.name.split('.')[0]] = f'import {a.name}' + (f' as {a.asname}' if a.asname else '')
        elif isinstance(o, ast.ImportFrom):
            base = '.'.join([*package[:-o.level], *filter(None, [o.module])]) if o.level else o.module
            for a in o.names: res[a.asname or a.name] = f'from {base} import {a.name}' + (f' as {a.asname}' if a.asname else '')
        elif isinstance(o, (ast.ClassDef, ast.FunctionDef)): res.setdefault(o.name, f'from {PKG}.{mod} import {o.name}')
    return res

def names_in(text): return {o.id for o in ast.walk(ast.parse(text)) if isinstance(o, ast.Name)}
def type_text(o):
    "The annotation `o`, without quotes around what is defined later: stubs need none"
    return o.value if isinstance(o, ast.Constant) and isinstance(o.value, str) else ast.unparse(o)

def home(cls): return cls.__module__.removeprefix(f'{PKG}.')

class Names:
    "The imports of a stub: grows by what its lines name"
    def __init__(self, mod): self.mod,self.imports = mod,{'Any':'from typing import Any'}
    def need(self, text, mod):
        "Have the names in the expression `text`, as `mod` means them"
        for k in sorted(names_in(text)):
            if (imp := bound(mod).get(k)) is None: continue
            v = getattr(of_module(mod), k, None)
            if isinstance(v, type) and v.__module__.startswith(PKG) and v.__name__==k: imp = f'from {v.__module__} import {k}'  # one path to each
            if imp==f'from {PKG}.{self.mod} import {k}': continue
            if self.imports.setdefault(k, imp)!=imp: raise ValueError(f'{self.mod}: {k} is both `{self.imports[k]}` and `{imp}`')
        return text
    def cls(self, c):
        "Have the class `c`, by name"
        if c.__module__!='builtins' and home(c)!=self.mod: self.imports[c.__name__] = f'from {c.__module__} import {c.__name__}'
        return c.__name__

# ---- what is written

def type_of(o):
    "The type of the expression `o`, if it tells"
    if isinstance(o, ast.Constant): return 'Any' if o.value in (None, ...) else type(o.value).__name__
    if isinstance(o, ast.JoinedStr): return 'str'
    if isinstance(o, ast.UnaryOp): return 'bool' if isinstance(o.op, ast.Not) else type_of(o.operand)
    if isinstance(o, (ast.List, ast.ListComp)): return 'list'
    if isinstance(o, (ast.Dict, ast.DictComp)): return 'dict'
    if isinstance(o, ast.Call) and isinstance(o.func, ast.Name) and o.func.id in ('Path', 'dict', 'list', 'set'): return o.func.id
    return 'Any'

def assigned(node):
    "Pairs of target and value in an assignment, those of tuples one by one; a value that can't be told apart is None"
    for t in node.targets:
        if isinstance(t, (ast.Tuple, ast.List)):
            vals = node.value.elts if isinstance(node.value, ast.Tuple) and len(node.value.elts)==len(t.elts) else [None]*len(t.elts)
            yield from zip(t.elts, vals, strict=True)
        else: yield t,node.value

def constant(o):
    "Is the default `o` one that a reader understands without the module?"
    if isinstance(o, ast.Tuple): return all(map(constant, o.elts))
    return isinstance(o, ast.Constant) or isinstance(o, ast.UnaryOp) and constant(o.operand)

def param_docs(f):
    "What comments say of the parameters of the function `f`, in lines, and of what it returns"
    try: docs = docments(f, args_kwargs=True)
    except (TypeError, ValueError, OSError, SyntaxError, KeyError): return [],''
    said = {k:' '.join(v.split()) for k,v in docs.items() if v and k not in ('self', 'cls')}
    returns = said.pop('return', '')
    return [f'- `{k}`: {v}' for k,v in said.items()],f'Returns: {returns}' if returns else ''

def docstring(node, f=None):
    "The docstring of `node`, with what comments say of the parameters of `f`"
    params,returns = param_docs(f) if f is not None else ([], '')
    text = '\n\n'.join(filter(None, [ast.get_docstring(node), '\n'.join(params), returns]))
    return text and '"""' + text.replace('\\', r'\\').replace('"""', r'\"""') + ('\n' if '\n' in text else '') + '"""'

def indented(s): return textwrap.indent(s, '    ')

def is_patch(node): return any(ast.unparse(d).startswith('patch') for d in node.decorator_list)

def decorators(node):
    for d in node.decorator_list:
        text = ast.unparse(d)
        if text in KEPT or text.endswith('.setter'): yield f'@{text}'
        if text.startswith('patch') and 'as_prop=True' in text: yield '@property'
        if text.startswith('patch') and 'cls_method=True' in text: yield '@classmethod'

def parameters(node, f):
    "Those of `node`; of `f` where a decorator made something else of it, with the annotations that `node` has"
    args = node.args
    every = [*args.posonlyargs, *args.args, *args.kwonlyargs]
    try: names = list(inspect.signature(f).parameters.values())
    except (TypeError, ValueError): return ast.unparse(args)
    if [o.name for o in names if o.kind not in (o.VAR_POSITIONAL, o.VAR_KEYWORD)]==[o.arg for o in every]: return ast.unparse(args)
    types = {a.arg:ast.unparse(a.annotation) for a in every if a.annotation}
    stars,res = {inspect.Parameter.VAR_POSITIONAL:'*', inspect.Parameter.VAR_KEYWORD:'**'},[]
    for i,o in enumerate(names):
        if o.kind==o.KEYWORD_ONLY and all(p.kind<o.VAR_POSITIONAL for p in names[:i]): res.append('*')
        res.append(stars.get(o.kind, '') + o.name + (f': {types[o.name]}' if o.name in types else '') + ('' if o.default is o.empty else '=...'))
    return ', '.join(res)

def function(node, f, names, mod, is_method=False):
    "The stub of the function `node` of `mod`, which is `f` as it runs"
    args = ast.parse(f'def f({parameters(node, f)}): ...').body[0].args
    for o in (*args.defaults, *filter(None, args.kw_defaults)):
        if not constant(o): o.__class__,o.__dict__ = ast.Constant,dict(value=..., lineno=1, col_offset=0, kind=None)
    is_bound = is_method and not any(ast.unparse(d)=='staticmethod' for d in node.decorator_list)
    first = [*args.posonlyargs, *args.args][:is_bound]  # `self`
    for a in (*args.posonlyargs, *args.args, *args.kwonlyargs, *filter(None, [args.vararg, args.kwarg])):
        if a in first: a.annotation = None
        elif a.annotation: names.need(ast.unparse(a.annotation), mod)
        else: a.annotation = ast.Name('Any')  # or else a checker would go by the default: 1, so no name
    returns = names.need(type_text(node.returns), mod) if node.returns else 'None' if node.name in ('__init__', '__init_subclass__', '__exit__') else 'Any'
    decs = [*decorators(node)]
    if '@contextmanager' in decs: names.imports['contextmanager'] = 'from contextlib import contextmanager'
    where = f'  # {mod.replace(".", "/")}.py' if is_patch(node) else ''
    doc = docstring(node, f)
    head = f'def {node.name}({ast.unparse(args)}) -> {returns}:'
    return '\n'.join([*decs, f'{head} ...{where}' if not doc else f'{head}{where}\n{indented(doc)}'])

# ---- classes

@cache
def patched():
    "Class -> (module, function) of what is patched onto it"
    res = {}
    for mod in sorted(modules(ROOT), key=floors(ROOT).get):  # of two, the higher one counts
        for o in modules(ROOT)[mod].tree.body:
            if not isinstance(o, ast.FunctionDef) or not is_patch(o): continue
            ann = o.args.args[0].annotation
            for c in ann.elts if isinstance(ann, ast.Tuple) else [ann]:
                res.setdefault(eval(ast.unparse(c), vars(of_module(mod))), []).append((mod, o))
    return res

def as_it_runs(cls, name):
    f = vars(cls).get(name)
    if isinstance(f, property): return f.fget
    f = getattr(f, '__func__', f)
    return inspect.unwrap(f) if callable(f) else None

def attributes(node, more):
    "Attributes that methods of a class set on `self`, with their types as far as the source tells"
    res = {}
    for f in (*(o for o in node.body if isinstance(o, ast.FunctionDef)), *more):
        if not f.args.args: continue
        me,params = f.args.args[0].arg,{a.arg:a.annotation for a in (*f.args.args, *f.args.kwonlyargs)}
        for o in ast.walk(f):
            if isinstance(o, ast.AugAssign | ast.AnnAssign): continue
            for t,v in assigned(o) if isinstance(o, ast.Assign) else ():
                if not isinstance(t, ast.Attribute) or getattr(t.value, 'id', '')!=me: continue
                ann = params.get(v.id) if isinstance(v, ast.Name) else None
                typ = ast.unparse(ann) if ann is not None else type_of(v)
                res.setdefault(t.attr, set()).add(typ)
    return {k:only.pop() if len(only := typs-{'Any'})==1 else 'Any' for k,typs in res.items()}

def class_level(node):
    "Attributes in the body of a class"
    for o in node.body:
        if isinstance(o, ast.Assign):
            for t,v in assigned(o):
                if not isinstance(t, ast.Name): continue
                is_prop = isinstance(v, ast.Call) and getattr(v.func, 'id', '')=='property'
                yield t.id,'property' if is_prop else type_of(v)
        elif isinstance(o, ast.AnnAssign): yield o.target.id,ast.unparse(o.annotation)

def property_stub(name, p=None):
    doc = inspect.getdoc(p) if p is not None else None
    if isinstance(getattr(p, 'fget', None), attrgetter) and doc==inspect.getdoc(attrgetter): doc = None  # that of the function
    res = f'@property\ndef {name}(self) -> Any:' + (f'\n{indented(docstring(ast.parse(repr(doc))))}' if doc else ' ...')
    if p is not None and p.fset: res += f'\n@{name}.setter\ndef {name}(self, v: Any) -> None: ...'
    return res

def class_stub(node, names, extra=()):
    "The stub of a class: attributes first, then its methods, then those that were patched on; `extra` comes before them"
    mod,cls = names.mod,getattr(of_module(names.mod), node.name)
    more = patched().get(cls, [])
    methods,attrs = {},dict(class_level(node))
    for m,f in (*((mod, o) for o in node.body if isinstance(o, ast.FunctionDef)), *more):
        if f.name=='__getattr__' and isinstance(f.body[-1], ast.Raise) and len(f.body)==1: continue  # it has no more, but says so well
        is_more = any(ast.unparse(d).endswith('.setter') for d in f.decorator_list)
        methods[f.name] = (f'{methods[f.name]}\n' if is_more else '') + function(f, None if is_more else as_it_runs(cls, f.name), names, m, is_method=True)
    for k,typ in attributes(node, [f for m,f in more]).items(): attrs.setdefault(k, typ)
    for k in learner_data() if cls is Learner else (): attrs.setdefault(k, 'Any')
    for k,v in vars(cls).items():
        if isinstance(v, property): methods.setdefault(k, property_stub(k, v))
        elif k not in methods and is_set_outside(k, v): attrs.setdefault(k, 'Any')
        if isinstance(v, property) and is_written(cls, k):
            del methods[k]
            attrs[k] = 'Any'
    given = {o.target.id for o in node.body if isinstance(o, ast.AnnAssign) and o.value}  # fields of a dataclass that have a default
    if issubclass(cls, Enum): lines = [f'{o.name} = {o.value!r}' for o in cls]
    else: lines = [f'{k}: {type_in(node, k, typ, names)}' + (' = ...' if k in given else '') for k,typ in attrs.items() if k not in methods]
    bases = ', '.join(base_stub(o, names) for o in node.bases)
    if 'NamedTuple' in bases: lines = [f'{k}: Any' + (' = ...' if k in cls._field_defaults else '') for k in cls._fields]
    body = [*filter(None, [docstring(node)]), *lines, *extra, *methods.values()]
    decs = ''.join(f'@{ast.unparse(d)}\n' for d in node.decorator_list if names_in(ast.unparse(d))=={'dataclass'} and names.need('dataclass', mod))
    return f'{decs}class {node.name}({bases}):\n'.replace('()', '') + indented('\n'.join(body or ['...']))

def base_stub(o, names):
    "A base of a class; one that is made by a call is looked through if it is a named tuple"
    if not isinstance(o, ast.Call): return names.need(ast.unparse(o), names.mod)
    if getattr(o.func, 'id', '')!='namedtuple': return 'Any'
    names.imports['NamedTuple'] = 'from typing import NamedTuple'
    return 'NamedTuple'

def is_set_outside(k, v):
    "Is the value `v` of a class an attribute, not what Python, `patch` or the names of other systems have put there?"
    return not k.startswith(('__', '_orig_', '_abc_')) and type(v).__name__ not in ('Elsewhere', 'Later')

def is_written(cls, k):
    "Is the property `k` of `cls` an attribute that can be set in a base of it?"
    had = next((vars(b)[k] for b in cls.__mro__[1:] if k in vars(b)), None)
    return had is not None and (not isinstance(had, property) or had.fset is not None)

def type_in(node, k, typ, names):
    "The type of the attribute `k` of a class, with what it names"
    given = TYPES.get((node.name, k))
    if isinstance(given, type): return names.cls(given)
    return names.need('Any' if k in FREE else typ, names.mod)

# ---- what no source has

@cache
def named_callbacks():
    "Name on the learner -> class, of the callbacks that are public or that each learner has"
    ours = [o for o in (getattr(of_module(''), k) for k in of_module('').__all__) if isinstance(o, type) and issubclass(o, Callback) and o is not Callback]
    return {o.__new__(o).name:o for o in (*ours, *Learner.defaults)}

@cache
def learner_data():
    "Public attributes of a fresh learner that are no methods, without its callbacks"
    learn = synth_learner()
    return [k for k in dir(learn) if k[0]!='_' and not callable(inspect.getattr_static(type(learn), k, None)) and not isinstance(vars(learn).get(k), Callback)]

@cache
def told():
    "Event -> what those who hear it are given, where the package fires it"
    calls = [o for m in modules(ROOT).values() for o in ast.walk(m.tree) if isinstance(o, ast.Call) and o.args and o.keywords]
    return {o.args[0].value:[f'{k.arg}: Any' for k in o.keywords if k.arg] for o in calls if getattr(o.args[0], 'value', None) in {*event}}

def extra(node, names):
    "Lines that a class has beside its own"
    res = []
    if node.name=='Events': res = [f"{k}: str" for k in event]
    if node.name=='Learner':
        free = {k:c for k,c in named_callbacks().items() if k not in (*dir(Learner), *learner_data())}
        res = ['# Callbacks, while they are there', *(f'{k}: {names.cls(c)}' for k,c in free.items())]
    if node.name=='_Reader':
        own = {*dir(Callback), 'learn', 'name'}
        res = ["# The learner's", *(f'{k}: Any' for k in learner_data() if k not in own), *(f'{o.__new__(o).name}: {names.cls(o)}' for o in Learner.defaults)]
    if node.name=='Callback' and names.mod=='loop.callback': res = ['# Events', *(f"def {k}({', '.join(['self', *told().get(k, [])])}) -> Any: ..." for k in event)]
    return res

def value_stub(name, mod, names):
    "The stub of what an assignment of the module, or a loop, has made"
    v = getattr(of_module(mod), name, None)
    if isinstance(v, type) and issubclass(v, CancelException): return f'class {name}(CancelException):\n    """{v.__doc__}"""'
    if isinstance(v, type) or v is None: return f'{name}: Any'
    typ = type(v)
    if typ.__module__=='builtins' and typ.__name__ in ('int', 'float', 'str', 'bool', 'list', 'dict', 'tuple', 'set'): return f'{name}: {typ.__name__}'
    return f'{name}: {names.cls(typ)}' if typ.__module__.startswith(PKG) and typ.__name__[0]!='_' else f'{name}: Any'

def is_needed(tree, public):
    "Names of the classes that are public, a type in some signature, or a base of one that is needed"
    types = [t for o in ast.walk(tree) for t in (getattr(o, 'annotation', None), getattr(o, 'returns', None)) if t]
    res = {*public, *(k for t in types for k in names_in(ast.unparse(t)))}
    for o in reversed(tree.body):
        if isinstance(o, ast.ClassDef) and o.name in res: res |= {k for b in o.bases for k in names_in(ast.unparse(b))}
    return res

def module_stub(mod):
    "The stub of the module `mod`"
    m,names,body,public = modules(ROOT)[mod],Names(mod),[],set(getattr(of_module(mod), '__all__', ()))
    done = set()
    for o in m.tree.body:
        if isinstance(o, ast.ClassDef) and o.name in is_needed(m.tree, public): body.append(class_stub(o, names, extra(o, names)))
        elif isinstance(o, ast.FunctionDef):
            if o.name not in public or is_patch(o): continue
            body.append(function(o, getattr(of_module(mod), o.name), names, mod))
        else: continue
        done.add(o.name)
    body = [value_stub(k, mod, names) for k in of_module(mod).__all__ if k not in done] + body
    docs = ast.get_docstring(m.tree).split('\n')[0]
    if 'Any' not in {k for o in body for k in names_in(o)}: del names.imports['Any']
    imports = sorted({*names.imports.values()})
    all_ = f'__all__ = {[*of_module(mod).__all__]!r}'
    return '\n\n'.join([HEAD.format(f'`{mod.split(".")[-1]}.py`') + docstring(ast.parse(repr(docs))), '\n'.join(imports), all_, *body]) + '\n'

# ---- what waits

@cache
def eager_imports():
    "The statements by which the package imports what each learner needs"
    return [o for part in ast.parse((ROOT/PKG/'__init__.py').read_text()).body if isinstance(part, ast.Try) for o in part.body]

@cache
def eager():
    "The modules that `import learnloop` imports, and what those import"
    def _of(body, mod): return [o for o in siblings(ast.Module(body, []), mod) if o in modules(ROOT)]
    res,left = set(),_of([o for o in eager_imports() if isinstance(o, (ast.Import, ast.ImportFrom))], '')
    while left:
        mod = left.pop()
        if mod in res: continue
        res.add(mod)
        left += _of([o for o in modules(ROOT)[mod].tree.body if isinstance(o, (ast.Import, ast.ImportFrom))], mod)
    return res

def waiting():
    "Class -> module that isn't imported with the package -> names that it patches onto the class, and sets on it"
    res = {}
    def _add(cls, mod, name):
        if name[0]!='_' and home(cls)!=mod: res.setdefault(f'{cls.__module__}.{cls.__name__}', {}).setdefault(f'{PKG}.{mod}', {})[name] = 1
    for cls,fs in patched().items():
        for mod,f in fs:
            if mod not in eager(): _add(cls, mod, f.name)
    for mod in modules(ROOT).keys()-eager():
        for o in modules(ROOT)[mod].tree.body:
            for t in o.targets if isinstance(o, ast.Assign) else ():
                cls = getattr(of_module(mod), getattr(t.value, 'id', ''), None) if isinstance(t, ast.Attribute) else None
                if isinstance(cls, type): _add(cls, mod, t.attr)
    return res

def waiting_text():
    "`_patches.py`: what `learnloop.loop.later` has to know"
    def _of(mods): return ',\n'.join(f'        {mod!r}: {" ".join(sorted(names))!r}' for mod,names in sorted(mods.items()))
    rows = ',\n'.join(f'    {cls!r}: {{\n{_of(mods)}}}' for cls,mods in sorted(waiting().items()))
    return f'"Written by `python -m tools.stubs`: what modules that are imported later patch onto classes"\nPATCHES = {{\n{rows}}}\n'

def package_stub():
    "The stub of the package: all that is public, from where it is"
    m = of_module('')
    froms = {a.asname or a.name:o.module for o in eager_imports() if isinstance(o, ast.ImportFrom) for a in o.names} | m._later
    lines = [f'from {froms[k]} import {k} as {k}' for k in m.__all__]
    return HEAD.format('`__init__.py`') + f'"""{m.__doc__}"""\n__version__: str\n' + '\n'.join(lines) + f'\n\n__all__ = {sorted(m.__all__)!r}\n'

def stubs():
    "Path -> text of all stubs"
    folder = ROOT/PKG
    for mod in modules(ROOT): of_module(mod)  # what waits for them takes its place
    res = {folder/'__init__.pyi':package_stub(), folder/'loop/_patches.py':waiting_text()}
    for mod in modules(ROOT): res[folder/f"{mod.replace('.', '/')}.pyi"] = module_stub(mod)
    return res

def main(args):
    want,there = stubs(),{*(ROOT/PKG).rglob('*.pyi')}
    stale = [p for p,text in want.items() if not p.exists() or p.read_text()!=text] + [*there-want.keys()]
    if '--check' in args:
        if stale: print('stubs: `make export` would change', *sorted(str(p.relative_to(ROOT)) for p in stale))
        return int(bool(stale))
    for p in there-want.keys(): p.unlink()
    for p,text in want.items(): p.write_text(text)

if __name__=='__main__': sys.exit(main(sys.argv[1:]))
