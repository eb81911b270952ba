"""Select the part of a notebook that its reference page shows: public names only

Nothing is listed by hand. A name is private if it begins with an underscore, or if the class that it is patched onto does. The page omits cells that define
only private names, and examples that use one. If all cells below some prose are omitted, only its paragraphs that mention a public name are kept.
"""
import ast, learnloop, re

_EXPORTED,_UNSEEN = re.compile(r'^#\|\s*exports?\b', re.M),re.compile(r'^#\|\s*(hide|default_exp|exporti)\b', re.M)
_DEFS = ast.FunctionDef,ast.AsyncFunctionDef,ast.ClassDef
HEADING = re.compile(r'(#+) ')

def is_private(name): return any(re.match('_(?!_)', o) for o in name.split('.'))

def defined(s):
    "List the names that the cell `s` defines: `Class.method` for a patch"
    res = []
    for o in ast.parse(s).body:
        if isinstance(o, _DEFS):
            patched = not isinstance(o, ast.ClassDef) and o.args.args and any('patch' in ast.unparse(d) for d in o.decorator_list)
            res.append(f'{ast.unparse(o.args.args[0].annotation)}.{o.name}' if patched else o.name)
        elif isinstance(o, ast.Assign): res += [ast.unparse(n) for t in o.targets for n in getattr(t, 'elts', [t])]
        elif isinstance(o, ast.AnnAssign): res.append(ast.unparse(o.target))
    return res

def inside(cells):
    "Return the ids of code cells that show only private names, and of prose followed by no other cells"
    texts = {c['id']:''.join(c['source']) for c in cells}
    names = {k:defined(s) for k,s in texts.items() if _EXPORTED.search(s)}
    code = {k for k,v in names.items() if v and all(map(is_private, v))}
    private = {o for v in names.values() for k in v for o in k.split('.') if is_private(o)}
    used = re.compile(rf"(?<!\w)({'|'.join(map(re.escape, private)) or '(?!)'})\b")
    code |= {c['id'] for c in cells if c['cell_type']=='code' and c['id'] not in names and used.search(texts[c['id']])}
    prose,at,own = set(),None,[]
    for c in [*cells, dict(id=None, cell_type='markdown')]:
        if c['cell_type']=='code':
            if not _UNSEEN.search(texts[c['id']]): own.append(c['id'])
            continue
        if own and code.issuperset(own): prose.add(at)
        at,own = c['id'],[]
    return code,prose-{None}

def of_public(s):
    "Keep the paragraphs of the prose `s` that mention a public name"
    def _is_public(o): return any(k in learnloop.__all__ for k in re.findall(r'`(?:learn\.)?(\w+)', o)) or '`learn.' in o
    res,is_kept = [],False
    for o in re.split(r'\n\s*\n', s):
        is_kept = _is_public(o) or is_kept and re.match(r'\s*([-*>|]|\d+\.) ', o) is not None  # a list goes with the sentence before it
        if is_kept: res.append(o)
    return '\n\n'.join(res)

def pruned(chunks, prose):
    "Remove paragraphs about internals from the chunks in `prose`, and headings with nothing below them"
    res = []
    for i in reversed(range(len(chunks))):
        s = chunks[i]
        m = HEADING.match(s)
        is_last = not res or m and (then := HEADING.match(res[-1])) and len(then[1])<=len(m[1]) and not res[-1].split('\n')[0].endswith('.doc }')
        if i in prose:
            if not m: s = of_public(s)
            elif is_last:
                head,_,rest = s.partition('\n')
                rest = of_public(rest)
                s = rest and f'{head}\n\n{rest}'
        if s: res.append(s)
    return res[::-1]
