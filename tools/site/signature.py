"""Convert the output of `show_doc` to a heading, a call, and a table of parameters

nbdev writes a rule, a link to the source, a heading, a block of code with one line per parameter, and the docstring. A reader needs the name, the call, and
the meaning of each parameter, in this order. The table is as wide as the page, so that long comments wrap instead of being cut off.
"""
import ast, inspect, io, re, textwrap, tokenize
from functools import cache, cached_property
from importlib import import_module
from tools.site.prose import outside_code

WIDTH = 88  # Columns of code that fit on a page without a scrollbar
_DOC = re.compile(r'^(?:---\n+)?(?:\[source\]\((?P<url>[^)]*)\)\S*(?:[^\n]*\})?\n+)?(?P<level>#{2,4}) (?P<name>[\w.]+)\n+'
    r'```python\n(?P<code>.*?)\n```\n*(?P<rest>.*)$', re.S)

def _object(url, name):
    "Return the documented object, or None if it cannot be found"
    module = re.search(r'/blob/\w+/(learnloop/[\w/]+)\.py', url or '')
    if not module: return None
    res = import_module(module[1].replace('/', '.'))
    for o in name.split('.'): res = inspect.getattr_static(res, o, None)
    return res

def _code(s): return f'`{s}`' if s else ''
def _cell(s): return outside_code(lambda o: o.replace('|', '\\|'), s or '')
def _typed(s): return '' if s in (None, 'None', 'NoneType') else re.sub(r'\b(?:\w+\.)+(\w+)', r'\1', s)

def _comments(code):
    "Line -> the comment at its end, joined with comment lines below it"
    res,at = {},None
    for o in tokenize.generate_tokens(io.StringIO(code).readline):
        if o.type!=tokenize.COMMENT: continue
        n,text = o.start[0],o.string[1:].strip()
        if o.line.strip().startswith('#') and at: res[at] += ' '+text
        else: at,res[n] = n,text
    return res

def signature(code):
    "Parse the signature `code` to rows of name, type, default and meaning, and a row for the result; None if it is not Python"
    code = re.sub(r'=<[^<>\n]*>', '=...', code)+'\n    pass'
    try: f = ast.parse(code).body[0]
    except SyntaxError: return None
    def text(o): return ast.get_source_segment(code, o) if o else ''
    about,a = _comments(code),f.args
    def row(o, star='', default=None): return [star+o.arg, text(o.annotation), text(default), o.lineno]
    both = a.posonlyargs+a.args
    rows = [row(o, default=d) for o,d in zip(both, [None]*(len(both)-len(a.defaults))+a.defaults, strict=True)]
    if a.posonlyargs: rows.insert(len(a.posonlyargs), ['/', '', '', None])
    if a.vararg: rows.append(row(a.vararg, '*'))
    elif a.kwonlyargs: rows.append(['*', '', '', None])
    rows += [row(o, default=d) for o,d in zip(a.kwonlyargs, a.kw_defaults, strict=True)]
    if a.kwarg: rows.append(row(a.kwarg, '**'))
    last = {n:i for i,(*_,n) in enumerate(rows)}  # a comment belongs to the last parameter of its line; a comment below all parameters belongs to the result
    params = [(nm, _typed(typ), dflt, about.get(n, '') if last[n]==i else '') for i,(nm,typ,dflt,n) in enumerate(rows)]
    below = [o for n,o in about.items() if n>max([n or 0 for n in last], default=0)]
    return params,('*returns*', _typed(text(f.returns)), '', ' '.join(below))

def _call(name, params, res, kind):
    "Write the call, wrapped to `WIDTH`"
    args = ', '.join(f'{nm}={default}' if default else nm for nm,_,default,_ in params)
    if kind=='property': args = ''
    elif kind: name = f'{kind} {name}'
    ret = f' -> {res}' if res else ''
    one = name+ret if kind=='property' else f'{name}({args}){ret}'
    if len(one)<=WIDTH: return one
    return f'{name}(\n'+textwrap.fill(args, WIDTH, initial_indent='    ', subsequent_indent='    ', break_long_words=False)+f'\n){ret}'

def _table(params, ret):
    "Make a table of documented parameters; the last row is the result"
    rows = [(_code(nm), _code(typ), _code(default), about) for nm,typ,default,about in params if nm not in '*/']
    if not any(about or typ and not default for _,typ,default,about in rows): rows = []
    if ret[3]: rows.append((ret[0], _code(ret[1]), '', ret[3]))
    if not rows: return ''
    used = [i for i in range(4) if any(o[i] for o in rows)]
    head = 'name', 'type', 'default', 'meaning'
    lines = [[head[i] for i in used], ['---']*len(used), *([_cell(o[i]) for i in used] for o in rows)]
    table = '\n'.join(f"| {' | '.join(o)} |" for o in lines)
    return f'<div class="params" markdown="1">\n\n{table}\n\n</div>'

def _kind(o, code):
    "Return the word before the call, for anything but a function"
    if inspect.isclass(o): return 'class'
    if isinstance(o, (property,cached_property)): return 'property'
    return 'async' if code.startswith('async') else ''

# The text that `learnloop.loop.help` adds to docstrings; the page shows it as a table
_PARAMS = re.compile(r'\n\n(?:Parameters:(?:\n    .*)+\n?)?(?:Returns: .*)?\Z')

@cache  # pages are made twice, the second time as plain markdown
def doc_md(s, name=None):
    "Convert the markdown `s` of `show_doc` for a page; `name` replaces a name without its class. Other markdown is unchanged"
    m = _DOC.match(s.strip())
    if not m: return s
    name,code = name or m['name'],m['code']
    head = f"{m['level']} `{name}` {{ #{name.lower()} .doc }}"
    link = f"[source]({m['url']}){{ .source data-search-exclude }}" if m['url'] else ''
    parsed = signature(code)
    if parsed:
        params,ret = parsed
        table = _table(params, ret)
        code = _call(name, params, '' if ret[3] else ret[1], _kind(_object(m['url'], name), code))
    else: table = ''
    return '\n\n'.join(filter(None, [head, link, f'```python\n{code}\n```', _PARAMS.sub('', m['rest'].strip()), table]))
