"The steps that build the site, on pages of a few lines. `tests/browser` checks the result in a browser"
import json, re, subprocess
from pathlib import Path
import pytest
from tools.house import ROOT, modules
from tools.build_docs import of_readme, search_of_files
from tools.site.nav import grouped, is_inside, leaves, nav, overviews
from tools.site.prose import math
from tools.site.public import inside, pruned
from tools.site.signature import doc_md

def shown(code, name='f', mod='loop/learner', rest='*What it does*'):
    "What `show_doc` writes"
    url = f'https://github.com/learnloop/learnloop/blob/main/learnloop/{mod}.py#L7'
    return f'---\n\n[source]({url}){{target="_blank" style="float:right"}}\n\n### {name}\n\n```python\n{code}\n```\n\n{rest}'

# ---- signatures

def test_a_parameter_is_documented_once():
    code = 'def fit(\n    n_epoch:int, # How often\n)->Learner: # Itself'
    got = doc_md(shown(code, 'fit', rest='*What it does*\n\nParameters:\n    n_epoch: How often\nReturns: Itself'), 'Learner.fit')
    assert got.split('\n\n')==['### `Learner.fit` { #learner.fit .doc }',
        '[source](https://github.com/learnloop/learnloop/blob/main/learnloop/loop/learner.py#L7){ .source data-search-exclude }',
        f'```python\n{code}\n```', '*What it does*']
    assert doc_md('## Any\n\ntext')=='## Any\n\ntext'

# ---- prose

def test_formulas_are_drawn_and_code_is_not():
    got = math('A rate $\\eta$ costs `$5` and\n\n```\n$x$\n```\n\n$$\\frac{a}{b}$$')
    assert got.count('<math')==2 and '`$5`' in got and '```\n$x$\n```' in got and '$$' not in got and 'display="block"' in got

# ---- public things only

def cells_of(*sources): return [dict(id=str(i), cell_type='markdown' if s[0] not in '#>' else 'code', source=s.removeprefix('>')) for i,s in enumerate(sources)]

@pytest.mark.parametrize('sources,code,prose', [
    (['How it works inside', '#| export\ndef _f(): pass', '>_f()'], '12', '0'),
    (['A helper', '#| export\n_x = _y = 1\n_z:int = 2', '#| hide\n_x+1'], '12', '0'),
    (['Both', '#| export\n@patch\ndef _f(self:A): pass', '>1+1'], '1', ''),
    (['Both', '#| exports\n@patch(as_prop=True)\ndef f(self:_A): pass', '#| export\ndef g(): return _f'], '1', ''),
    (['Users', '#| export\nclass A:\n    def _f(self): pass', '>a._f()'], '', ''),
    (['Magic', '#| export\ndef __getattr__(k): pass', '>own._g_h()'], '', ''),
    (['An import', '#| export\nimport math', 'More', '#| exporti\ndef _g(): pass'], '', '')])
def test_what_is_inside_a_page(sources, code, prose): assert inside(cells_of(*sources))==({*code}, {*prose})

def test_prose_of_the_inside_stays_where_it_is_about_public_names():
    chunks = ['# T', '*about*', 'Of the inside', 'A bit on `_x`.\n\nWhat `Learner` does', '## Empty', 'Of it', '## Full', 'Text', '## Own\n\nGone.\n\nOf `learn.fit`']
    assert pruned(chunks, {2, 3, 4, 5, 8})==['# T', '*about*', 'What `Learner` does', '## Full', 'Text', '## Own\n\nOf `learn.fit`']

def test_no_table_has_an_empty_header():
    cells = {(str(o.relative_to(ROOT)), c['id']):''.join(c['source']) for o in (ROOT/'nbs').rglob('*.ipynb') for c in json.loads(o.read_text())['cells'] if c['cell_type']=='markdown'}
    assert not [k for k,s in cells.items() if re.search(r'^\|[ |]*\n\|[-:| ]+$', s, re.M)]

def test_each_tutorial_draws_a_picture():
    outputs = {o.name:[k for c in json.loads(o.read_text())['cells'] for r in c.get('outputs', []) for k,v in r.get('data', {}).items()
        if k=='image/png' or '<svg' in ''.join(v)] for o in (ROOT/'nbs/tutorials').glob('*.ipynb')}
    assert outputs and all(outputs.values()), [k for k,v in outputs.items() if not v]

# ---- the site

TEXTS = {Path(o):f'# {Path(o).stem}\n\n*About {Path(o).stem}*\n' for o in ('index.md', 'start/five.md', 'howto/freeze.md', 'coming/torch.md', 'explanations/clusters.md', 'explanations/tested_with.md',
    'explanations/how_it_works.md', 'loop/learner.md', 'loop/team.md', 'interop/core.md', 'interop/keras.md', 'reference/events.md')}

def test_each_page_is_in_the_navigation_once():
    texts = TEXTS | overviews(TEXTS)
    got = nav(texts)
    assert sorted(leaves(got))==sorted(map(str, texts))
    assert [[*o][0] for o in got]==['Home', 'Start here', 'How do I …', 'Coming from …', 'Reference', 'Internals']
    assert [leaves(o)[0] for o in got[1:5]]==['start/five.md', 'howto/freeze.md', 'coming/index.md', 'reference/index.md']
    assert leaves(got[-1])==['explanations/how_it_works.md', 'loop/team.md', 'interop/core.md']

def test_what_is_inside():
    pages = [Path(*o.split('.')).with_suffix('.md') for o in modules(ROOT) if o.count('.')==1]
    inside = {str(o.with_suffix('')) for o in pages if is_inside(o)}
    assert {'loop/team', 'loop/lazy', 'interop/names'}<=inside
    assert not inside & {'loop/learner', 'loop/callback', 'loop/flow', 'measure/recorder', 'train/schedule', 'checkpoint/saving', 'see/report', 'interop/keras', 'app/cli'}
    assert sum(map(len, grouped(pages)[1].values()))==len(inside)

def test_links_of_the_readme_lead_to_the_repository():
    got = of_readme('[a](five.html#b) ![alt `c`](images/x.png) [`Learner`](https://example.org)', {'five':'nbs/start/00_five.ipynb'})
    picture = '<picture><source media="(prefers-color-scheme: dark)" srcset="nbs/images/x-dark.png"><img alt="alt c" src="nbs/images/x.png"></picture>'
    assert got==f"[a](nbs/start/00_five.ipynb) {picture} [`Learner`](https://example.org)"

OURS = re.compile(r'https?://(learnloop\.github\.io|github\.com/learnloop)')

def targets(md):
    "Addresses of links and pictures in markdown, outside of code"
    md = re.sub(r'^```.*?^```|`[^`\n]*`', '', md, flags=re.M|re.S)
    return re.findall(r'\]\(([^)\s]+)\)|(?:src|srcset|href)="([^"]+)"', md)

def anchors(md): return {re.sub(r'[^\w\- ]', '', o.lower()).replace(' ', '-') for o in re.findall(r'^#+ (.+)$', md, re.M)}

@pytest.mark.parametrize('name', ['README.md', 'CONTRIBUTING.md', 'CHANGELOG.md'])
def test_each_link_and_picture_works_in_the_repository_alone(name):
    tracked = {*subprocess.run(['git', 'ls-files'], cwd=ROOT, text=True, capture_output=True, check=True, timeout=60).stdout.split('\n')}
    dead = []
    for o in map(''.join, targets((ROOT/name).read_text())):
        if o.startswith('https://') and not OURS.match(o): continue  # a standard that is described elsewhere
        path,_,anchor = o.partition('#')
        found = not path or path.rstrip('/') in tracked or any(t.startswith(path.rstrip('/')+'/') for t in tracked)
        if found and anchor: found = anchor in anchors((ROOT/(path or name)).read_text())
        if not found: dead.append(o)
    assert not dead

def test_the_search_of_files_needs_no_fetch(tmp_path):
    (tmp_path/'assets/javascripts/workers').mkdir(parents=True)
    (tmp_path/'assets/javascripts/workers/search.1.min.js').write_text('f("</script>")')
    (tmp_path/'search.json').write_text('{"items": []}')
    (tmp_path/'worker.js').write_text('const text = WORKER')
    search_of_files(tmp_path)
    assert (tmp_path/'search.js').read_text()=='var __index = {"items": []}'
    script = (tmp_path/'worker.js').read_text().removeprefix('const text = ')
    assert '</script>' not in script and json.loads(script)=='f("</script>")'
