"""Phrases that readers had to read twice, in the lines that a change adds: `python -m tools.phrases [--base REV]`

`tools/phrases.txt` has each phrase and what to write instead. The change is what isn't committed yet or, in a clean checkout, the last commit. This
lists and never fails: a phrase may be right where it stands."""
import re, subprocess
from argparse import ArgumentParser
from pathlib import Path

ROOT = Path(__file__).parents[1]
# Generated modules repeat their notebooks
WHERE = '*.py','*.ipynb','*.md',':!learnloop',':!tests',':!README.md',':!tools/phrases.*'

def phrases(text=None):
    "Pairs of a compiled phrase and what to write instead"
    lines = (text or (ROOT/'tools/phrases.txt').read_text()).splitlines()
    return [(re.compile(o.split('\t')[0], re.I), o.split('\t')[1]) for o in lines if o and o[0]!='#']

def git(*args): return subprocess.run(['git', *args], cwd=ROOT, capture_output=True, text=True, timeout=60).stdout

def added(diff):
    "File and text of each line that `diff` adds, of cells without JSON's quotes; outputs of cells are left out"
    file,is_output = None,False
    for o in diff.splitlines():
        if o.startswith('+++ '): file,is_output = o[6:],False
        elif o.startswith('+'):
            text = o[1:].strip()
            if file.endswith('.ipynb'):
                if m := re.match(r'"(outputs|source)":', text): is_output = m[1]=='outputs'
                if not text.startswith('"') or re.match(r'"\w+":', text): continue
                text = re.sub(r'^"|(\\n)?",?$', '', text)
            if not is_output: yield file,text

def unclear(lines, known):
    "File, phrase, better phrase, and text for each unclear phrase in `lines`"
    return [(file, m[0].strip(), better, text) for file,text in lines for o,better in known if (m := o.search(text))]

def main():
    p = ArgumentParser(description='List unclear phrases in what a change adds')
    p.add_argument('--base', help='Commit to compare with; by default HEAD or, if nothing has changed since, the commit before it')
    base = p.parse_args().base
    diff = git('diff', '-U0', base or 'HEAD', '--', *WHERE) or ('' if base else git('diff', '-U0', 'HEAD~1', 'HEAD', '--', *WHERE))
    found = unclear(added(diff), phrases())
    for file,phrase,better,text in found[:40]: print(f'{file}: {phrase!r} — better: {better}\n    {text[:120]}')
    if found: print(f'phrases: {len(found)} in what this change adds may be unclear (CONTRIBUTING.md, "Write plainly")')

if __name__=='__main__': main()
