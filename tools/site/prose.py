"Draw formulas, which need no network"
import re
from latex2mathml.converter import convert

# Code, in fences or in backticks, stays as it is
_CODE = re.compile(r'(^ *```.*?^ *```\s*?$|`[^`\n]+`)', re.S|re.M)
_BLOCK,_INLINE = re.compile(r'\$\$(.+?)\$\$', re.S),re.compile(r'(?<![\\$\w])\$(?!\s)([^$\n]+?)(?<!\s)\$(?![\w$])')

def outside_code(f, s):
    "Apply `f` to the parts of `s` that are not code"
    return ''.join(o if i%2 else f(o) for i,o in enumerate(_CODE.split(s)))

def math(s):
    "Convert formulas between dollars to MathML, which browsers draw without a script"
    def _all(s):
        s = _BLOCK.sub(lambda m: f'\n<div class="formula">{convert(m[1].strip(), display="block")}</div>\n', s)
        return _INLINE.sub(lambda m: convert(m[1]), s)
    return outside_code(_all, s)
