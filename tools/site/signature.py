"""What `show_doc` wrote of a function or class, as a page shows it: heading, call, and a table of parameters

nbdev writes a rule, a link to the source, a heading, a block of code with a parameter a line, and the docstring. A reader looks for the name, how it is
called, and what each parameter means, in this order; the table is as wide as the page, so that a long comment is wrapped and not cut off.
"""
import inspect, re, textwrap
from importlib import import_module
from tools.site.prose import outside_code

WIDTH = 88  # columns of code that a page shows without a scrollbar
_DOC = re.compile(r'^(?:---\n+)?(?:\[source\]\((?P<url>[^)]*)\)\S*(?:[^\n]*\})?\n+)?(?P<level>#{2,4}) (?P<name>[\w.]+)\n+'
    r'```python\n(?P<code>.*?)\n```\n*(?P<rest>.*)$', re.S)
_PARAM = re.compile(r'^    (?P<name>\*{0,2}\w+|\*|/)(?::(?P<type>.+?))?(?:=(?P<default>.+?))?,(?: # (?P<about>.*))?$')
_RETURN = re.compile(r'^\)(?:->(?P<type>.+?))?:(?: # (?P<about>.*))?$')

def _object(url, name):
    "What is documented, or None where it can't be had"
    module = re.search(r'/blob/\w+/(learnloop/[\w/]+)\.py', url or '')
    if not module: return None
    res = import_module(module[1].replace('/', '.'))
    for o in name.split('.'): res = getattr(res, o, None)
    return res

def _code(s): return f'`{s}`' if s else ''
def _cell(s): return outside_code(lambda o: o.replace('|', '\\|'), s or '')
def _typed(s): return '' if s in (None, 'NoneType') else re.sub(r'\b(?:\w+\.)+(\w+)', r'\1', s)

def _call(name, params, res, is_class):
    "How it is called, wrapped"
    args = ', '.join(f"{o['name']}={o['default']}" if o['default'] else o['name'] for o in params)
    ret = f' -> {res}' if res else ''
    one = f"{'class ' if is_class else ''}{name}({args}){ret}"
    if len(one)<=WIDTH: return one
    start = one[:one.index('(')+1]
    return start+'\n'+textwrap.fill(args, WIDTH, initial_indent='    ', subsequent_indent='    ', break_long_words=False)+f'\n){ret}'

def _table(params, ret):
    "Parameters that somebody said something of; the result is the last row"
    rows = [(_code(o['name']), _code(_typed(o['type'])), _code(o['default']), o['about'] or '') for o in params if o['name'] not in '*/']
    if ret and ret['about']: rows.append(('*returns*', _code(_typed(ret['type'])), '', ret['about']))
    if not any(o[3] or o[1] for o in rows): return ''
    used = [i for i in range(4) if any(o[i] for o in rows)]
    head = 'name', 'type', 'default', 'meaning'
    lines = [[head[i] for i in used], ['---']*len(used), *([_cell(o[i]) for i in used] for o in rows)]
    table = '\n'.join(f"| {' | '.join(o)} |" for o in lines)
    return f'<div class="params" markdown="1">\n\n{table}\n\n</div>'

def doc_md(s):
    "The markdown `s` of `show_doc` as a page has it; other markdown as it is"
    m = _DOC.match(s.strip())
    if not m: return s
    lines,name = m['code'].split('\n'),m['name']
    head = f"{m['level']} `{name}` {{ #{name.lower()} .doc }}"
    link = f"[source]({m['url']}){{ .source }}\n" if m['url'] else ''
    is_class = inspect.isclass(_object(m['url'], name))
    params = [_PARAM.match(o) for o in lines[1:-1]]
    ret = _RETURN.match(lines[-1]) if len(lines)>1 else None
    if len(lines)>1 and (not ret or None in params): call,table = m['code'],''
    elif len(lines)>1:
        params = [o.groupdict() for o in params]
        call,table = _call(name, params, _typed(ret['type']), is_class),_table(params, ret)
    else: call,table = re.sub(r'^(def|class) \w+', ('class ' if is_class else '')+name, m['code']).rstrip(':'),''
    return '\n\n'.join(filter(None, [head, link, f'```python\n{call}\n```', m['rest'].strip(), table]))
