"The pages *Coming from …*: scripts are complete, losses are compared, and tables of names match the error messages"
import json, re
from pathlib import Path
import pytest
from fastcore.nbio import read_nb
from learnloop.interop.names import NameTable, names
from tools import interop

NBS = Path(__file__).parents[2]/'nbs'
PAGES = sorted((NBS/'coming').glob('*.ipynb'))
SYSTEMS = dict(coming_from_pytorch='PyTorch', coming_from_fastai='fastai', coming_from_lightning='Lightning', coming_from_keras='Keras', coming_from_transformers='transformers')
MOVED = [(o['system'], o['topic']) for o in interop.kept('script')]
each_page = pytest.mark.parametrize('page', PAGES, ids=lambda p: p.stem[3:])
each_pair = pytest.mark.parametrize('system,topic', MOVED)

def shown(cell): return ''.join(''.join(o.get('data', {}).get('text/markdown', '')) for o in cell.get('outputs', ()))

# ---- names

@each_page
def test_tables_of_names_are_whole_and_those_that_errors_use(page):
    system = SYSTEMS[page.stem[3:]]
    made = [(re.search(r"NameTable\('(.+)', '(.+)'\)$", c.source), shown(c)) for c in read_nb(page).cells]
    made = {m.groups():text for m,text in made if m}
    for (of,kind),text in made.items():
        assert text==NameTable(of, kind)._repr_markdown_(), f'run `python -m tools.notebooks {page} --save`: {of}, {kind}'
    want = {(o.system, o.kind) for o in names() if o.system==system and o.here!=o.theirs}
    if system=='fastai': want = want-{('fastai', 'event')} | {('fastai 1', 'event'), ('fastai 2.0', 'event')}
    assert want==made.keys()

def test_fastais_events_need_no_table_but_are_named_as_ours():
    assert all(o.theirs==o.here for o in names() if (o.system, o.kind)==('fastai', 'event') and o.here)

# ---- scripts

@each_pair
def test_both_scripts_are_shown_whole_and_in_order(system, topic):
    moved = interop.Moved(system, topic)
    old,new = (f.read_text().strip().splitlines() for f in moved.files)
    diff = moved._repr_markdown_().split('```diff\n')[1].removesuffix('\n```').splitlines()
    assert [o[1:] for o in diff if o[0]!='+']==old and [o[1:] for o in diff if o[0]!='-']==new
    assert any(o[0]==' ' for o in diff), 'what stays is there once'

# ---- losses

@pytest.fixture
def printing(tmp_path, monkeypatch):
    "Have a script print losses, and others be kept of it and of the one that it was made from"
    def _f(theirs, ours, here=None):
        said = ' '.join(map(str, ours if here is None else here))
        (tmp_path/'sys_one_ours.py').write_text(f"print('an epoch')\nprint('losses: {said}')\n")
        (tmp_path/'kept.json').write_text(json.dumps([dict(kind='script', system='sys', topic='one', theirs=theirs, ours=ours)]))
        monkeypatch.setattr(interop, 'SCRIPTS', tmp_path)
        monkeypatch.setattr(interop, 'KEPT', tmp_path/'kept.json')
        return lambda **kwargs: interop.same_losses('sys', 'one', **kwargs)
    return _f

@pytest.mark.parametrize('ours', [[1.00002, .5], [1., float('nan')], [1.], [1., .5, .25]])
def test_losses_that_differ_are_an_error(printing, ours):
    same = printing([1., .5], ours)
    with pytest.raises(ValueError, match='differ by|zip'): same()

@each_page
def test_each_page_says_what_changes_and_what_is_missing(page):
    heads = [l for c in read_nb(page).cells if c.cell_type=='markdown' for l in c.source.splitlines() if l.startswith('## ')]
    assert [o for o in heads if o!='## Your callbacks'][1:]==['## What changes', '## What is missing here', '## Names']
