"""Write a stub beside each module, for editors and type checkers: `python -m tools.stubs`

They can't read from the source that `@patch` adds methods to classes of other modules, that callbacks are attributes of the learner and read its attributes
as their own, and that exceptions and events are created from a table. The two stubs in `KEPT` are in git, so that editors know a learner in a plain clone.
`make export` and an installation write all stubs, for type checkers. This module reads only the source and imports nothing from the package.
"""
import ast, io, re, tokenize
from functools import cache
from pathlib import Path

ROOT,PKG = Path(__file__).parents[1],'learnloop'
KEPT = f'{PKG}/__init__.pyi',f'{PKG}/loop/learner.pyi'  # in git
HEAD = '# Written by `python -m tools.stubs`, with methods that other modules patch on\n'
# Types that the source lacks. Attributes in `FREE` may be of any type: models have their own attributes, loss functions take any arguments
TYPES = {('Callback', 'learn'):'Learner', ('Callback', 'order'):'float', ('Learner', 'dls'):'DataLoaders', ('Learner', 'epoch'):'int',
    ('Learner', 'n_epoch'):'int', ('Learner', 'bs'):'int'}
OURS = dict(NamedTuple='from typing import NamedTuple', AbstractContextManager='from contextlib import AbstractContextManager')
FREE = 'model','forward_model','opt','loss','loss_func','metrics'

# ---- the source of the package

@cache
def modules():
    "Module, such as `loop.flow` -> its tree, and line -> the comment there"
    res = {}
    for p in sorted((ROOT/PKG).rglob('*.py')):
        if p.stem[0]=='_': continue
        src = p.read_text()
        notes = {o.start[0]:o.string.strip('# ') for o in tokenize.generate_tokens(io.StringIO(src).readline) if o.type==tokenize.COMMENT}
        res['.'.join(p.relative_to(ROOT/PKG).with_suffix('').parts)] = ast.parse(src),notes
    return res

def body(mod, kind): return [o for o in modules()[mod][0].body if isinstance(o, kind)]
def assigned(mod, name):
    "Return the literal that `mod` assigns to `name`"
    return next(ast.literal_eval(o.value) for o in body(mod, ast.Assign) if getattr(o.targets[0], 'id', '')==name)

@cache
def bound(mod):
    "Name -> statement that imports it, with an absolute path, for names that `mod` imports or defines"
    res,here = {},f'{PKG}.{mod}'.split('.')
    for o in body(mod, (ast.Import, ast.ImportFrom)):
        base = '' if isinstance(o, ast.Import) else 'from ' + '.'.join([*(here[:-o.level] if o.level else []), *filter(None, [o.module])]) + ' '
        for a in o.names: res[a.asname or a.name.split('.')[0]] = f'{base}import {a.name}' + (f' as {a.asname}' if a.asname else '')
    return res | {o.name:f'from {PKG}.{mod} import {o.name}' for o in body(mod, (ast.ClassDef, ast.FunctionDef))}

@cache
def public():
    "Name -> module, of all names that `from learnloop import *` imports"
    tree = ast.parse((ROOT/PKG/'__init__.py').read_text())
    imports = [o for part in tree.body if isinstance(part, ast.Try) for o in part.body if isinstance(o, ast.ImportFrom)]
    now = {a.name:o.module for o in imports for a in o.names if not a.asname}
    return now | {k:f'{PKG}.{mod}' for mod,names in assigned('loop.lazy', 'LAZY').items() for k in names.split() if '.' not in k}

@cache
def rows(): return [o for o in body('loop.flow', ast.Assign) if getattr(o.targets[0], 'id', '')=='PHASES'][0].value.elts

@cache
def events():
    "List the names of all events, from the table of phases"
    def _of(o):
        name = o.args[0].value
        if o.func.id=='Event': return [name]
        cancels = not any(k.arg=='cancel' and k.value.value is None for k in o.keywords)
        return [f'{k}_{name}' for k in ('before', *['after_cancel'][:cancels], 'after', 'cleanup')]
    return [e for o in rows() for e in _of(o)]

@cache
def classes():
    "Name -> module and node, of each class; of several with the same name, the public one"
    res = {}
    for mod in modules():
        for o in body(mod, ast.ClassDef):
            if o.name not in res or public().get(o.name)==f'{PKG}.{mod}': res[o.name] = mod,o
    return res

@cache
def needed():
    "List names in annotations and names of base classes"
    nodes = [o for tree,_ in modules().values() for o in ast.walk(tree)]
    types = [t for o in nodes for t in (getattr(o, 'annotation', None), getattr(o, 'returns', None), *getattr(o, 'bases', ())) if t]
    return {k for t in types for k in re.findall(r'\w+', ast.unparse(t))}

def bases(name):
    "List the names of a class and of its bases in this package"
    if name not in classes(): return []
    return [name, *(k for b in classes()[name][1].bases for k in bases(ast.unparse(b)))]

@cache
def callbacks():
    "Name on the learner -> class, of public callbacks and default ones"
    def _name(o): return next((v.value for a in o.body if isinstance(a, ast.Assign) for t,v in pairs(a) if t.id=='name'),
        re.sub('(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])', '_', re.sub('(?<=.)Callback$', '', o.name)).lower())
    theirs = [k for k in classes() if 'Callback' in bases(k)[1:] and k in {*public(), *defaults()}]
    return {_name(classes()[k][1]):k for k in theirs}

def text(o): return o.value if isinstance(getattr(o, 'value', None), str) else ast.unparse(o)  # an annotation without quotes
def decorators(node): return [ast.unparse(o) for o in node.decorator_list]
def is_patch(node): return any(o.startswith('patch') for o in decorators(node))

def of(name, mod): return bound(mod).get(name, '').split(' as ')[0]  # identifies a class among those with the same name

@cache
def patched():
    "Import of a class -> name -> module and function that it patches onto the class, None instead of a function for an assignment"
    res = {}
    for mod,(tree,_) in modules().items():
        for o in tree.body:
            if isinstance(o, ast.FunctionDef) and is_patch(o):
                for k in re.findall(r'\w+', ast.unparse(o.args.args[0].annotation)): res.setdefault(of(k, mod), {})[o.name] = mod,o
            for t,_ in pairs(o) if isinstance(o, ast.Assign) else ():
                if isinstance(t, ast.Attribute): res.setdefault(of(getattr(t.value, 'id', ''), mod), {}).setdefault(t.attr, (mod, None))
    return res

# ---- functions

def params(node): return [*node.args.posonlyargs, *node.args.args, *filter(None, [node.args.vararg]), *node.args.kwonlyargs, *filter(None, [node.args.kwarg])]

def docstring(node, mod):
    "Return the docstring of `node`, with its comments on parameters and on the result"
    lines = [ast.get_docstring(node) or '']
    if isinstance(node, ast.FunctionDef):
        end,notes,at = node.body[0].lineno-1,modules()[mod][1],{o.end_lineno:o.arg for o in params(node)}
        said = {at.get(i):notes[i] for i in range(node.lineno, end) if i in notes}
        lines += ['\n'.join(f'- `{k}`: {v}' for k,v in said.items() if k)] + [f'Returns: {notes[end]}' for _ in 'r' if end in notes]
    return '\n\n'.join(filter(None, lines))

def is_plain(o):
    "Whether the default `o` is a literal"
    return all(isinstance(k, (ast.Constant, ast.UnaryOp, ast.Tuple, ast.USub, ast.Load)) for k in ast.walk(o))

def function(node, mod, need, in_class=False, doc=''):
    "Return the lines of a stub for the function `node` of `mod`; `need` imports the names in its annotations"
    decs,doc,node = ' '.join(decorators(node)),doc if doc is None else docstring(node, mod),ast.parse(ast.unparse(node)).body[0]
    keep = [o for o in decorators(node) if o in ('staticmethod', 'classmethod', 'property') or o.endswith('.setter')]
    keep += ['property' for o in ('as_prop=True', 'cached_property') if o in decs] + ['classmethod' for o in ['cls_method=True'] if o in decs]
    a = node.args
    if 'annealer' in decs: a.args = [o for o in a.args if o.arg!='pct']  # the decorated function takes it later
    if 'use_kwargs(event' in decs and mod=='loop.callback': a.kwonlyargs,a.kw_defaults = [ast.arg(e) for e in events()],[ast.Constant(...)]*len(events())
    me = [*a.posonlyargs, *a.args][:in_class and 'staticmethod' not in keep]
    for o in params(node):
        is_any = o.annotation is None or isinstance(o.annotation, ast.Tuple)  # a patch for several classes
        o.annotation = None if o in me else ast.Name('Any' if is_any else need(text(o.annotation), mod))
    a.defaults,a.kw_defaults = ([o if o is None or is_plain(o) else ast.Constant(...) for o in ds] for ds in (a.defaults, a.kw_defaults))
    ret = need('AbstractContextManager[Any]', mod) if 'contextmanager' in decs else need(text(node.returns), mod) if node.returns else 'None' if node.name in ('__init__', '__init_subclass__', '__exit__') else 'Any'
    return [*(f'@{o}' for o in keep), f'def {node.name}({ast.unparse(a)}) -> {ret}:', *quoted(doc)]

def quoted(doc): return indented(ast.unparse(ast.parse(repr(doc))).splitlines() if doc else ['...'])
def indented(lines): return [f'    {o}'.rstrip() for o in lines]

# ---- classes

def type_of(o):
    "Infer the type of the expression `o`, if possible"
    if isinstance(o, ast.Constant): return 'Any' if o.value in (None, ...) else type(o.value).__name__
    if isinstance(o, ast.Call) and getattr(o.func, 'id', '') in ('Path', 'dict', 'list', 'set'): return o.func.id
    if isinstance(o, ast.UnaryOp) and isinstance(o.op, ast.Not): return 'bool'
    return {ast.JoinedStr:'str', ast.List:'list', ast.ListComp:'list', ast.Dict:'dict', ast.DictComp:'dict'}.get(type(o), 'Any')

def pairs(node):
    "Yield pairs of target and value of an assignment, unpacking tuples; the value is None if it can't be unpacked"
    for t in node.targets:
        if not isinstance(t, (ast.Tuple, ast.List)): yield t,node.value
        elif isinstance(node.value, ast.Tuple) and len(node.value.elts)==len(t.elts): yield from zip(t.elts, node.value.elts, strict=True)
        else: yield from ((o, None) for o in t.elts)

def attributes(node, methods):
    "Public attribute that a class or its `methods` set -> its type, as far as the source shows it"
    res = {}
    def _add(k, typ): res.setdefault(k, set()).add(typ)
    for o in node.body:
        if isinstance(o, ast.AnnAssign): _add(o.target.id, text(o.annotation))
        for t,v in pairs(o) if isinstance(o, ast.Assign) else ():
            if isinstance(t, ast.Name): _add(t.id, type_of(v))
    for f in methods:
        types = {a.arg:text(a.annotation) for a in params(f) if a.annotation}
        for o in ast.walk(f):
            for t,v in pairs(o) if isinstance(o, ast.Assign) and f.args.args else ():
                if isinstance(t, ast.Attribute) and getattr(t.value, 'id', '')==f.args.args[0].arg: _add(t.attr, types.get(getattr(v, 'id', ''), type_of(v)))
    return {k:only.pop() if len(only := typs-{'Any'})==1 else 'Any' for k,typs in res.items() if k[0]!='_'}

def functions(node): return [o for o in node.body if isinstance(o, ast.FunctionDef)]
def patches(name, mod):
    "Name -> module and function, of patches onto the class `name` of `mod`, and for the learner also onto its bases"
    above = [patched().get(of(k, classes()[k][0]), {}) for k in bases(name)] if name=='Learner' else []
    return {k:v for o in (*above, patched().get(of(name, mod), {})) for k,v in o.items()}

@cache
def fields():
    "List public fields of a pass, which are attributes of the learner"
    calls = [o.value for o in body('loop.place', ast.Assign) if getattr(o.targets[0], 'id', '')=='PASS_FIELDS']
    return [k.arg for o in calls for k in o.keywords if k.arg[0]!='_']

def more(name, mod):
    "Return lines for attributes and methods that a class gets from a table"
    if name=='Events': return [f'{k}: str' for k in events()]
    if name=='Learner': return [*(f'{k}: Any' for k in fields()), *(f'{k}: {c}' for k,c in callbacks().items())]
    if (name, mod)!=('Callback', 'loop.callback'): return []
    heard = [f'def {k}(self{told().get(k, "")}) -> Any: ...' for k in events()]
    theirs = patches('Learner', 'loop.learner')
    data = [k for c in bases('Learner') for k in attributes(classes()[c][1], [*functions(classes()[c][1]), *(f for _,f in theirs.values() if f)])]
    props = [k for k,(_,f) in theirs.items() if not f or 'as_prop=True' in str(decorators(f))]
    return [*heard, *(f'{k}: Any' for k in dict.fromkeys([*data, *props, *fields()]) if k[0]!='_'), *(f'{k}: {c}' for k,c in callbacks().items() if c in defaults())]

@cache
def is_set(cls, name):
    "Whether the class `cls` sets the attribute `name`"
    return name in attributes(classes()[cls][1], functions(classes()[cls][1]))

def class_stub(node, mod, need):
    "Return the lines of a stub for a class: attributes, methods, patched methods"
    every = patches(node.name, mod)
    theirs = {k:o for k,o in every.items() if o[1]}
    own,names = functions(node),[need(text(o), mod) for o in node.bases if not isinstance(o, ast.Call)]
    methods = {*theirs, *(o.name for o in own)}
    attrs = attributes(node, [*own, *(f for _,f in theirs.values())]) | {k:'Any' for k in every if k not in theirs and k[0]!='_'}
    given = {o.target.id for o in node.body if isinstance(o, ast.AnnAssign) and o.value}  # fields of a dataclass with a default
    is_prop = {t.id for o in node.body if isinstance(o, ast.Assign) for t in o.targets if getattr(getattr(o.value, 'func', None), 'id', '')=='property'}
    lines = [f'{k}: {"property" if k in is_prop else need(TYPES.get((node.name, k), "Any" if k in FREE else typ), mod)}' + (' = ...' if k in given else '')
        for k,typ in attrs.items() if k not in methods]
    if any(o.endswith('Enum') for o in names): lines = [ast.unparse(o) for o in node.body if isinstance(o, ast.Assign)]
    for o in node.bases:
        if getattr(getattr(o, 'func', None), 'id', '')!='namedtuple': continue
        fields,n = text(o.args[1]).split(),sum(len(k.value.elts) for k in o.keywords if k.arg=='defaults')
        names,lines = [need('NamedTuple', mod)],[f'{k}: Any' + (' = ...' if i>=len(fields)-n else '') for i,k in enumerate(fields)]
    lines += [o for o in more(node.name, mod) if not {o.split(':')[0]} & {*attrs, *methods}]
    defs,imports = [],[]
    for m,f in (*((mod, o) for o in own), *theirs.values()):
        if f.name[0]=='_' and f.name[:2]!='__' or f.name in ('__getattr__', '__class__'): continue
        stub = function(f, m, need, in_class=True)
        if stub[0]=='@property' and any(is_set(k, f.name) for b in node.bases for k in bases(ast.unparse(b))): lines.append(f'{f.name}: Any')
        elif f in own or stub[0] in ('@property', '@classmethod'): lines += stub
        else: defs,imports = [*defs, *stub],[*imports, f'from {PKG}.{m} import {f.name} as {f.name}']
    head = []
    if imports and 'NamedTuple' not in names:
        names.insert(0, its := f'_{node.name}Methods')
        # mypy reads the branch `if MYPY`, pyright the other one, jedi both branches of the first class
        defs = ['if MYPY:', *indented(defs), 'else:', *indented(imports)]
        head = ['if MYPY:', *indented([f'class {its}:', *indented(defs)]), 'else:', *indented([f'class {its}:', *indented(imports)])]
    else: lines += defs
    lines = [*(quoted(d) if (d := ast.get_docstring(node)) else []), *indented(lines)]
    head += [f'@{need(o, mod)}' for o in decorators(node) if o.startswith('dataclass')]
    return [*head, f'class {node.name}({", ".join(names)}):'.replace('()', ''), *(lines or indented(['...']))]

# ---- modules

@cache
def calls(): return [o for tree,_ in modules().values() for o in ast.walk(tree) if isinstance(o, ast.Call) and o.args]

@cache
def defaults(): return {text(o.args[0]) for o in calls() if getattr(o.func, 'id', '')=='default_cb'}

@cache
def told(): return {o.args[0].value:''.join(f', {k.arg}: Any' for k in o.keywords if k.arg) for o in calls() if getattr(o.args[0], 'value', None) in events() and o.keywords}

def value(mod, name):
    "Return the stub of `name`, to which `mod` assigns a value"
    if re.fullmatch(r'Cancel\w+Exception', name) and mod=='loop.flow': return f'class {name}(CancelException): ...'
    v = next((v for o in body(mod, ast.Assign) for t,v in pairs(o) if getattr(t, 'id', '')==name), None)
    made = getattr(getattr(v, 'func', None), 'id', '')
    return f'{name}: {made if made in classes() and classes()[made][0]==mod else type_of(v)}'

def module_stub(mod):
    "Return the stub of the module `mod`"
    tree,imports = modules()[mod][0],{}
    def _need(text, m):
        for k in {o.id for o in ast.walk(ast.parse(text)) if isinstance(o, ast.Name)}:
            if k in OURS: imports[k] = OURS[k]
            elif (imp := bound(m).get(k) or bound(mod).get(k)) and imp!=f'from {PKG}.{mod} import {k}': imports[k] = imp
        return text
    public,lines = assigned(mod, '__all__'),[]
    for o in body(mod, (ast.ClassDef, ast.FunctionDef)):
        if isinstance(o, ast.ClassDef) and o.name in {*public, *needed()}: lines += class_stub(o, mod, _need)
        elif isinstance(o, ast.FunctionDef) and o.name in public and not is_patch(o): lines += function(o, mod, _need)
    ours = {o.name:o for o in body(mod, ast.FunctionDef) if is_patch(o) and 'patch(' not in str(decorators(o)) and o.name[0]!='_' and o.name not in public}
    for o in ours.values(): lines += function(o, mod, _need, doc=None)  # imports in stubs of classes lead here
    done = {o.name for o in body(mod, (ast.ClassDef, ast.FunctionDef)) if not is_patch(o)}
    for k in re.findall(r'^    \w+: (\w+)$', '\n'.join(lines), re.M):  # callbacks
        if k in classes() and classes()[k][0]!=mod: imports.setdefault(k, f'from {PKG}.{classes()[k][0]} import {k}')
    return '\n'.join([HEAD + f'"""{ast.get_docstring(tree).splitlines()[0]}"""', 'from typing import Any, Literal', *sorted({*imports.values()}), '', 'MYPY: Literal[False]  # mypy treats it as True',
        f'__all__ = {public!r}', '', *(value(mod, k) for k in public if k not in done), '', *lines]) + '\n'

def package_stub():
    "Return the stub of the package: an import of each public name"
    lines = [f'from {mod} import {k} as {k}' for k,mod in public().items()]
    return '\n'.join([HEAD + '__version__: str', *lines, f'__all__ = {sorted(public())!r}', ''])

def write():
    want = {ROOT/PKG/f"{mod.replace('.', '/')}.pyi":module_stub(mod) for mod in modules()} | {ROOT/PKG/'__init__.pyi':package_stub()}
    for p in {*(ROOT/PKG).rglob('*.pyi')}-want.keys(): p.unlink()
    for p,s in want.items(): p.write_text(s)

if __name__=='__main__': write()
