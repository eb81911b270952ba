"The figures of the project, on small generated packages: each can fail, and names the place"
import json, pytest
from tools import house

@pytest.fixture
def made(tmp_path):
    "Make a checkout of modules, name -> code"
    def _f(mods):
        root = tmp_path/f'made{len([*tmp_path.iterdir()])}'
        for nm,src in mods.items():
            p = root/'learnloop'/f"{nm.replace('.', '/')}.py"
            p.parent.mkdir(parents=True, exist_ok=True)
            p.write_text(f'"""Docs"""\n\n# %% auto #0\n__all__ = []\n\n# %% ../nbs/x.ipynb #1\n{src}\n')
        return root
    return _f

def figure(name): return next(o for o in house.FIGURES if o.name==name)
def of(name, root): return house.measure(figure(name), root)

def test_code_is_counted_without_docstrings_comments_and_imports(made):
    root = made({'loop.a':'import os\nfrom os import (path,\n    sep)\ndef f(a):  # a comment\n    "Docs, of\\n    two lines"\n\n    return a', 'see.b':'a = 1\nb = (2,\n  3)'})
    assert of('tokens of loop and data', root)==8  # def f ( a ) : return a
    assert [of(k, root) for k in ('code lines of loop and data', 'code lines of the package', 'code lines of a module', 'code lines of a function')]==[6, 10, 6, 2]

def test_methods_that_another_module_replaces(monkeypatch):
    monkeypatch.setattr(house, 'attributes', lambda root: ['learn.fit', 'learn._orig_fit', 'learn._orig__step', 'learn._orig___call__'])
    assert of('methods replaced elsewhere', house.ROOT)==2

@pytest.mark.parametrize('was,rc,want', [(dict(a=2, b=2), 0, ''), (dict(a=1, b=2), 1, 'worse: a: 2, was 1'), (dict(a=2, b=3), 0, '')])
def test_figures_may_only_get_better(was, rc, want, monkeypatch, capsys):
    monkeypatch.setattr(house, 'FIGURES', [house.Figure('a', None), house.Figure('b', None)])
    assert house.check(dict(a=2, b=2), was)==rc and want in capsys.readouterr().out

def test_kept_figures_are_those_that_there_are():
    assert [*json.loads(house.KEPT.read_text())]==[o.name for o in house.FIGURES]
    assert {'learn.fit', 'learn._step', 'team.gather', 'data_pass.n_done'}<={*house.attributes(house.ROOT)}
