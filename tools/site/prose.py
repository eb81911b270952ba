"Prepare markdown for a page: formulas that need no network, and a check that each sentence before a colon is followed by what it announces"
import re
from os.path import relpath
from latex2mathml.converter import convert

# Code, in fences or in backticks, stays as it is
_CODE = re.compile(r'(^ *```.*?^ *```\s*?$|`[^`\n]+`)', re.S|re.M)
_BLOCK,_INLINE = re.compile(r'\$\$(.+?)\$\$', re.S),re.compile(r'(?<![\\$\w])\$(?!\s)([^$\n]+?)(?<!\s)\$(?![\w$])')
_ANNOUNCED = re.compile(r'\s*(\$\$|#+ .*\.doc \}$|```|~~~|[-*+] |\d+\. |\||<|!\[|!!!|\?\?\?|> |code →|    )')

def outside_code(f, s):
    "Apply `f` to the parts of `s` that are not code"
    return ''.join(o if i%2 else f(o) for i,o in enumerate(_CODE.split(s)))

def math(s):
    "Convert formulas between dollars to MathML, which browsers draw without a script"
    def _all(s):
        s = _BLOCK.sub(lambda m: f'\n<div class="formula">{convert(m[1].strip(), display="block")}</div>\n', s)
        return _INLINE.sub(lambda m: convert(m[1]), s)
    return outside_code(_all, s)

def unfinished(md):
    "List paragraphs that end in a colon before a heading, another paragraph, or the end"
    code = []
    def _hide(m):
        code.append(m[0])
        return f'```{len(code)-1}' if m[0].lstrip().startswith('```') else 'code'
    blocks = [o.strip('\n') for o in re.split(r'\n\s*\n', _CODE.sub(_hide, md)) if o.strip()]
    return [o.strip() for o,then in zip(blocks, [*blocks[1:], ''], strict=True)
        if re.search(r'(?<=[\w)*_`"\'.])\s*:$', o) and not re.match(r'\s*(#|\||<|```|!!!|[-*+] )', o) and not _ANNOUNCED.match(then)]

PICTURE = r'!\[(?P<alt>[^\]]*)\]\((?P<file>[\w.-]+)\)|(?P<svg><svg.*?</svg>)'

def card(title, about, shown=''):
    "Make a card of a gallery: a title, a sentence, and a picture or code"
    return '\n\n'.join(['<div class="card" markdown="1">', f'**{title}**', *filter(None, (about, shown)), '</div>'])

def cards(found): return '\n\n'.join(['<div class="cards" markdown="1">', *found, '</div>'])

def img(at, m, folder):
    "Return the picture that `PICTURE` matched in the page `at`, for a page in `folder`"
    return m['svg'] or f'<img alt="{m["alt"]}" src="{relpath(at.parent/m["file"], folder)}" loading="lazy">'
