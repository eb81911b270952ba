"The house's figures, on small made packages: each can fail, and says where"
import ast, json, re
import pytest
from tools import house

MODULE = '''"""Docs"""

# %% auto #0
__all__ = ['f']

# %% ../nbs/x.ipynb #1
{}
'''

def cell(source, kind='code'):
    return dict(cell_type=kind, id=f'c{abs(hash(source))%10**6}', metadata={}, source=source, **dict(outputs=[], execution_count=None) if kind=='code' else {})

@pytest.fixture
def made(tmp_path):
    "Make a checkout of modules (name -> code) and a notebook of cells"
    def _f(mods, cells=()):
        root = tmp_path/f'made{len([*tmp_path.iterdir()])}'
        for nm,src in mods.items():
            p = root/'learnloop'/f"{nm.replace('.', '/')}.py"
            p.parent.mkdir(parents=True, exist_ok=True)
            p.write_text(MODULE.format(src))
        (root/'nbs').mkdir(parents=True)
        nb = dict(cells=[*cells], metadata={}, nbformat=4, nbformat_minor=5)
        (root/'nbs/x.ipynb').write_text(json.dumps(nb))
        return root
    return _f

def figure(name): return next(o for o in house.FIGURES if o.name==name)
def of(name, root): return house.measure(figure(name), root)

FLOW,CALLBACK,TRACE = 'class Flow:\n    def run(self): pass','from .flow import Flow','from ..loop.callback import Callback\nfrom ..loop.flow import Flow'

def test_rooms_floors_and_arrows(made):
    root = made({'loop.flow':FLOW, 'loop.callback':CALLBACK, 'see.trace':TRACE})
    assert of('rooms (modules)', root)[0]==3 and of('floors', root)==(3, {'see.trace':3}) and of('arrows (imports)', root)[0]==3
    assert of('arrows between wings', root)==(2, {'learnloop/see/trace.py':['loop.callback', 'loop.flow']}) and of('imports that go up', root)[0]==0

def test_imports_that_go_up_are_found(made):
    root = made({'loop.flow':'def f():\n    from learnloop.see import trace', 'see.trace':''})
    assert of('imports that go up', root)==(1, {'learnloop/loop/flow.py':['see.trace']})

def test_a_ring_of_imports_is_an_error(made):
    root = made({'loop.flow':'from .callback import a', 'loop.callback':'from .flow import b'})
    with pytest.raises(ValueError, match=r'go round: loop\.callback, loop\.flow'): house.floors(root)

def test_a_flat_package_counts_by_where_its_modules_are_now(made):
    root = made({'flow':FLOW, 'trace':'from .flow import Flow, _hidden\na = 1'})
    assert of('arrows between wings', root)==(1, {'learnloop/trace.py':['flow']}) and of('private names imported', root)[0]==1
    assert {*of('tokens', root)[1]}=={'loop', 'see'}

@pytest.mark.parametrize('src,n', [('from .flow import _a, b, _c', 2), ('def f():\n    from learnloop.loop.flow import _a', 1), ('from learnloop import __version__', 0),
    ('from torch import _C', 0), ('from .flow import a', 0)])
def test_private_imports(src, n): assert len([*house.private_imports(ast.parse(src))])==n

@pytest.mark.parametrize('patch,n', [
    ('@patch\ndef run(self:Flow): pass', 1), ('@patch\ndef run(self:Loop): pass', 1), ('@patch\n@other\ndef run(self:(Flow,Other)): pass', 1),
    ('@patch\ndef walk(self:Flow): pass', 0), ('@patch\ndef run(self:Other): pass', 0), ('class Mine(Flow): pass\n@patch\ndef run(self:Mine): pass', 0), ('def run(self:Flow): pass', 0)])
def test_methods_that_another_module_replaces(patch, n, made):
    root = made({'loop.flow':f'{FLOW}\nclass Loop(Flow): pass', 'keep.x':f'from ..loop.flow import Flow, Loop\n{patch}'})
    assert of('methods replaced elsewhere', root)[0]==n

def test_a_patch_that_another_module_replaces_is_found(made):
    patch = 'from .a import A\n@patch\ndef f(self:A): pass'
    root = made({'loop.a':'class A: pass', 'loop.b':patch, 'see.c':f'from ..loop import b\n{patch.replace(".a", "..loop.a")}'})
    assert [*of('methods replaced elsewhere', root)[1]]==['learnloop/see/c.py']

def test_lines_are_those_that_somebody_wrote(made):
    long = f"a = '{'x'*120}'"
    root = made({'loop.a':f'{long}\n{long[:115]}\'', 'loop.b':'a = 1'})
    path = root/'learnloop/loop/b.py'
    path.write_text(path.read_text().replace('__all__', f'# {long}\n__all__').replace('x.ipynb', f'{"x"*120}.ipynb'))
    assert of('lines over 120', root)==(1, {'learnloop/loop/a.py':[7]})

def test_the_longest_cell(made):
    root = made({'loop.a':'a = 1\n\nb = 2\n\n# %% ../nbs/x.ipynb #2\nc = 3', 'loop.b':'a = 1'})
    assert of('lines of the longest cell', root)==(3, {'learnloop/loop/a.py:7':3})

def test_tokens_are_counted_without_docstrings_comments_and_imports(made):
    root = made({'loop.a':'import os\nfrom os import (path,\n    sep)\ndef f(a):  # a comment\n    "Docs, of\\n    two lines"\n    return a'})
    assert of('tokens', root)==(8, {'loop':8})  # def f ( a ) : return a

@pytest.mark.parametrize('src,n', [("'s'*(n!=1)", 1), ("f'{a}'*bool(b)", 1), ("[a]*(not b)", 1), ("(b and c)*'x'", 1), ("', '*(k in d)", 1), ("'-'*20", 0), ("[0]*n", 0), ("a*(b>0)", 0),
    ("(1,)*len(b)", 0)])
def test_arithmetic_on_truth_values(src, n): assert len([*house.truth_arithmetic(ast.parse(src))])==n

EXPORT,HIDDEN,EXAMPLE = '#| export\ndef f(): pass','#| export\ndef _f(): pass','f()'

@pytest.mark.parametrize('cells,n', [([EXPORT, EXAMPLE], 0), ([EXAMPLE, EXPORT], 1), ([EXPORT, '#| export\ng = f'], 1), ([HIDDEN], 0), ([EXPORT, '#| hide\nf()'], 0), ([EXPORT, 'ff()'], 1)])
def test_public_cells_without_an_example(cells, n, made): assert of('public cells without example', made({}, map(cell, cells)))[0]==n

@pytest.mark.parametrize('cells,n', [
    (['Look:', EXAMPLE], 0), (['Look:', EXPORT, EXAMPLE], 0), (['Look:'], 1), (['Look:', 'And more.'], 1), (['Look:', HIDDEN, 'And more.'], 1), (['Look:', HIDDEN, EXAMPLE], 0),
    (['Look:', '#| hide\nf()'], 1), (['Look:', '- a list'], 0), (['Look:', '## Next'], 1), (['Look:\n\n- a\n- b'], 0), (['Look:\n\nA sentence.'], 1), (['Look:\n\n| a | b |'], 0), (['Look:\n\n```\na:\n\nb\n```'], 0),
    (['Look.', 'And.'], 0), (['Look:', '#| exports\ndef _f(): pass'], 0)])
def test_colons_before_nothing(cells, n, made):
    kinds = ['markdown' if re.match('[A-Z#-]', c) and not c.startswith('#|') else 'code' for c in cells]
    assert of('colons before nothing', made({}, map(cell, cells, kinds)))[0]==n

# ---- what is kept

@pytest.fixture
def kept(made, monkeypatch, tmp_path):
    "A checkout with one long line in each of two modules, whose figures are kept; returns a function that checks another"
    monkeypatch.setattr(house, 'FIGURES', [figure('lines over 120'), figure('lines of the longest cell'), figure('tokens')])
    monkeypatch.setattr(house, 'KEPT', tmp_path/'kept.json')
    def _root(a, b): return made({f'loop.{k}':'\n'.join([f"a = '{'x'*120}'"]*n) for k,n in dict(a=a, b=b).items()})
    house.keep(_root(1, 1))
    return lambda a, b: house.check(_root(a, b), json.loads((tmp_path/'kept.json').read_text()))

def test_the_same_is_fine(kept, capsys): assert (kept(1, 1), capsys.readouterr().out)==(0, '')

def test_what_got_worse_is_named(kept, capsys):
    assert kept(1, 3)==1
    out = capsys.readouterr().out
    assert 'worse: lines over 120: 4, was 2\n  learnloop/loop/b.py: 3, was 1: 7, 8, 9' in out and 'worse: lines of the longest cell: 3, was 1' in out
    assert 'a.py' not in out and '--keep' in out and 'tokens' not in out

def test_what_got_better_is_to_be_kept(kept, capsys):
    assert kept(1, 0)==1
    assert 'better: lines over 120: 1, was 2' in (out := capsys.readouterr().out) and 'keeps what got better' in out

def test_lines_may_move(kept, capsys): assert kept(0, 2)==1 and 'lines over' not in capsys.readouterr().out  # the cell is longer

def test_figures_of_the_package_as_it_runs():
    star,private,n,names = house.ask(house.ROOT)
    assert star['loop.learner']>2 and sum(private.values())==len(names)<n and '_step' in names and private['loop.learner']>10

def test_kept_figures_are_those_that_there_are():
    kept = json.loads(house.KEPT.read_text())
    assert [*kept]==[o.name for o in house.FIGURES if o.is_kept]
    for fig in house.FIGURES:
        if fig.is_kept: assert kept[fig.name]['whole']==fig.whole(kept[fig.name]['places'].values())
