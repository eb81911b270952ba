"The pages *How do I …*: each entry is short, shows something, and links to more"
import re
from pathlib import Path
import pytest
from fastcore.nbio import mk_cell, read_nb

ROOT = Path(__file__).parents[1]/'nbs'/'howto'
PAGES = sorted(ROOT.glob('0[1-9]_*.ipynb'))

def is_shown(cell): return cell.cell_type=='code' and not re.match(r'#\| *hide', cell.source)

def entries(cells):
    "Pairs of a heading, and its prose and code cells, in order"
    found = []
    for c in cells:
        if c.cell_type!='markdown': found and found[-1][1].append(c)
        else:
            before,*parts = re.split(r'^## ', c.source, flags=re.M)
            if found: found[-1][1].append(before)
            for o in parts:
                head,_,text = o.partition('\n')
                found.append((head, [text]))
    return found

def faults(cells):
    "What is wrong with an entry's `cells`"
    code,prose = [o for o in cells if not isinstance(o, str)],' '.join(o for o in cells if isinstance(o, str))
    shown = [o for o in code if is_shown(o)]
    if not shown: yield 'shows no code'
    yield from (f'has a cell of {n} lines' for o in shown if (n := len(o.source.splitlines()))>10)
    if not re.search(r'\]\([\w./:-]+\.html(#[\w.-]+)?\)', prose): yield 'has no link'
    if not any(o.outputs or re.search(r'^assert ', o.source, re.M) for o in shown): yield 'neither shows nor asserts anything'
    if not cells[0].strip(): yield 'begins without a sentence'

ALL = [(p.stem, *o) for p in PAGES for o in entries(read_nb(p).cells)]

@pytest.mark.parametrize('page,head,cells', ALL, ids=[f'{o[0]}: {o[1]}' for o in ALL])
def test_an_entry_is_short_and_leads_on(page, head, cells): assert not [*faults(cells)]

def test_the_first_page_lists_all_entries():
    listed = [''.join(o.data['text/markdown']) for c in read_nb(ROOT/'00_how_do_i.ipynb').cells for o in c.get('outputs', ())]
    names = re.findall(r'^- \[(.+)\]\((\w+)\.html#', '\n'.join(listed), re.M)
    assert len(ALL)>=30
    assert names==[(head, page[3:]) for page,head,_ in ALL], 'store it again: python -m tools.notebooks nbs/howto/00_how_do_i.ipynb --save'

@pytest.mark.parametrize('source,want', [
    ('x = 1\nassert x', []), ('x = 1', ['neither shows nor asserts anything']), ('assert 1\n'*11, ['has a cell of 11 lines']),
    ('#| hide\nassert 1', ['shows no code', 'neither shows nor asserts anything'])])
def test_faults_are_found(source, want):
    cell = mk_cell(source, outputs=[])
    assert [*faults(['Do this.', cell, '[More](a.html)'])]==want
    assert 'has no link' in faults(['Do this.', cell])
