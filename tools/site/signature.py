"Convert the output of `show_doc`: a heading that links lead to, the source, the signature with a comment on each parameter, and the docstring"
import re

_DOC = re.compile(r'^(?:---\n+)?(?:\[source\]\((?P<url>[^)]*)\)\S*(?:[^\n]*\})?\n+)?(?P<level>#{2,4}) (?P<name>[\w.]+)\n+'
    r'(?P<code>```python\n.*?\n```)\n*(?P<rest>.*)$', re.S)
# The text that `learnloop.loop.help` adds to docstrings, which the signature has, too
_PARAMS = re.compile(r'\n\n(?:Parameters:(?:\n    .*)+\n?)?(?:Returns: .*)?\Z')

def doc_md(s, name=None):
    "Convert the markdown `s` of `show_doc` for a page; `name` replaces a name without its class. Other markdown is unchanged"
    m = _DOC.match(s.strip())
    if not m: return s
    name = name or m['name']
    link = f"[source]({m['url']}){{ .source data-search-exclude }}" if m['url'] else ''
    return '\n\n'.join(filter(None, [f"{m['level']} `{name}` {{ #{name.lower()} .doc }}", link, m['code'], _PARAMS.sub('', m['rest'].strip())]))
