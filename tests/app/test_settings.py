"`settings.ini` and its reader: conversions, errors, and a check that each key of the project's own file is read"
import ast, configparser, re
from pathlib import Path
import pytest
from fastcore.nbio import read_nb
from learnloop.app.settings import run_settings

ROOT = Path(__file__).parents[2]

@pytest.fixture
def ini(tmp_path, monkeypatch):
    "Write the text given, or nothing, as the `settings.ini` of a new current folder, and return its path"
    monkeypatch.chdir(tmp_path)
    def _f(text='', **kw):
        (p := tmp_path/'settings.ini').write_text(text, **kw)
        return p
    return _f

def same(a, b): return a==b and type(a) is type(b)

def test_without_file_the_defaults(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert dict(run_settings('demo', epochs=3, folder=Path('x')))==dict(epochs=3, folder=Path('x'))

@pytest.mark.parametrize('val,default,want', [
    ('3', 1, 3), ('-3', 1, -3), ('1_000', 1, 1000), ('1e-3', 1., 1e-3), ('2', 1., 2.),
    ('2', '1', '2'), ('', 'a', ''), ('50%', 'a', '50%'), ('a b # why', 'c', 'a b'), ('a#b', 'c', 'a#b'), ('é', 'e', 'é'),
    *((v, True, False) for v in ('0','no','No','false','off')), *((v, False, True) for v in ('1','yes','true','TRUE','on'))])
def test_values_get_the_type_of_their_default(ini, val, default, want):
    ini(f'[demo]\nk = {val}', encoding='utf-8')
    assert same(run_settings('demo', k=default).k, want)

@pytest.mark.parametrize('val,default', [
    ('ten', 1), ('1.5', 1), ('', 1), ('x', 1.), ('', 1.), ('maybe', True), ('', True), ('2', True)])
def test_bad_value_is_named(ini, val, default):
    path = ini(f'[demo]\nk = {val}')
    msg = f'{path} [demo] k: {val!r} is not a valid {type(default).__name__}; write one like {str(default)!r}'
    with pytest.raises(ValueError, match=re.escape(msg)): run_settings('demo', k=default)

@pytest.mark.parametrize('key', ['epoch', 'Epochs', 'EPOCHS', 'lr'])
def test_unknown_key_is_named(ini, key):
    path = ini(f'[demo]\n{key} = 3')
    with pytest.raises(ValueError, match=re.escape(f'{path} [demo]: unknown key {key!r}; known keys: epochs, bs')):
        run_settings('demo', epochs=1, bs=2)

@pytest.mark.parametrize('default', [None, [1], (1,2), {}, 1j])
def test_default_of_another_type_is_refused_even_without_file(tmp_path, monkeypatch, default):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(TypeError, match=r'\[demo\] k: its default is'): run_settings('demo', k=default)

@pytest.mark.parametrize('text,exc', [
    ('epochs = 3', configparser.MissingSectionHeaderError), ('[demo]\nepochs', configparser.ParsingError),
    ('[demo]\nk=1\nk=2', configparser.DuplicateOptionError), ('[demo]\n[demo]', configparser.DuplicateSectionError)])
def test_malformed_file_is_named(ini, text, exc):
    path = ini(text)
    with pytest.raises(exc, match=re.escape(str(path))): run_settings('demo', epochs=1, k=1)

def sources():
    "The project's code, but for that which shows or tests the reader itself"
    for d in ('learnloop','benchmarks','tools','tests'):
        for p in {*(ROOT/d).rglob('*.py')} - {Path(__file__)}: yield p.read_text()
    for p in {*(ROOT/'nbs').rglob('*.ipynb')} - {ROOT/'nbs/app/00_settings.ipynb'}:
        yield from (c.source for c in read_nb(p).cells if c.cell_type=='code')

def reads():
    "The (section, key) pairs of every call of `run_settings`"
    for s in sources():
        if 'run_settings' not in s: continue
        for o in ast.walk(ast.parse(s)):
            if not (isinstance(o, ast.Call) and getattr(o.func, 'id', '')=='run_settings'): continue
            assert all(k.arg for k in o.keywords), f'spell the keys out, they are looked for here: {ast.unparse(o)}'
            yield from ((o.args[0].value, k.arg) for k in o.keywords)

def test_every_key_of_the_project_is_read():
    cfg = configparser.ConfigParser()
    cfg.read(ROOT/'settings.ini')
    idle = {(sec,k) for sec in cfg.sections() for k in cfg[sec]} - set(reads())
    assert not idle, f'settings.ini has keys that no code reads: {sorted(idle)}'
