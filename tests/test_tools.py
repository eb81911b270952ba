"Tools for developers: jobs in forks, notebooks, planted faults. Each check can fail"
import json, os, re, subprocess, sys
from importlib import import_module
from itertools import combinations, product
import pytest
from helpers import as_script, cover
from tools import mutants
from tools.house import ROOT, modules, patches

def python(*args, **kwargs):
    "Run this Python with `args` in the project; returns exit status and output"
    res = subprocess.run([sys.executable, *map(str, args)], cwd=ROOT, capture_output=True, text=True, timeout=100, **kwargs)
    return res.returncode,res.stdout + res.stderr

FORKS = '''
import atexit, os, sys, tempfile, time
from tools.forks import run_all
def job(o):
    print('in', o, flush=True)
    if o=='raises': raise ValueError('why')
    if o=='killed': os.kill(os.getpid(), 9)
    if o=='loops': time.sleep(60)
    if o=='child': os.system('echo from a child')
    if o=='patches': sys.patched = True
    if o=='atexit': atexit.register(print, 'at the end')
    return 3 if o=='three' else hasattr(sys, 'patched') and o!='patches'
with tempfile.TemporaryDirectory() as d:
    for o in run_all(job, sys.argv[1:], n_procs=1, timeout=1): print(o.job, o.rc, o.out.split(), os.path.exists(d))
'''

def test_a_fork_ends_as_a_script_does_and_does_not_reach_the_next():
    jobs = dict(patches=(0, []), fine=(0, []), three=(3, []), raises=(1, ['ValueError:', 'why']), killed=(-9, []), child=(0, ['from', 'a', 'child']),
        atexit=(0, ['at', 'the', 'end']), loops=(None, []))
    status,text = python('-c', FORKS, *jobs)
    assert status==0, text
    for line,(job,(rc,out)) in zip(text.splitlines(), jobs.items(), strict=True):
        assert line.startswith(f"{job} {rc} ['in', '{job}'") and line.endswith(f"{str(out)[1:-1]}] True"), line

def notebook(path, *cells):
    "Write a notebook of code `cells` to `path`"
    path.parent.mkdir(exist_ok=True)
    cells = [dict(cell_type='code', id=str(i), metadata={}, execution_count=None, outputs=[], source=o) for i,o in enumerate(cells)]
    path.write_text(json.dumps(dict(cells=cells, metadata={}, nbformat=4, nbformat_minor=5)))

def test_notebooks_run_apart_where_they_are_and_a_failure_shows(tmp_path):
    notebook(tmp_path/'a'/'bad.ipynb', 'import torch', '#| slow\n1/0', 'print("got so far")', 'assert torch is None, "this is why"')
    notebook(tmp_path/'a'/'patches.ipynb', 'import torch; torch.patched = True')
    notebook(tmp_path/'b'/'apart.ipynb', 'import torch, os, learnloop', 'assert not hasattr(torch, "patched")', f'assert os.getcwd()=={str(tmp_path/"b")!r}', '1+1')
    res = as_script(ROOT/'tools/notebooks.py', tmp_path, '--save')
    text = res.out
    assert res.rc==1, text
    assert 'this is why' in text and 'ZeroDivisionError' not in text, text
    last = next(o for o in text.splitlines() if o.startswith('notebooks: '))
    assert last.startswith('notebooks: 2 of 3 passed; not ') and last.endswith('bad.ipynb'), text
    saved = [json.loads(p.read_text())['cells'][-1]['outputs'] for p in (tmp_path/'b'/'apart.ipynb', tmp_path/'a'/'bad.ipynb')]
    assert saved[0] and not saved[1], saved

def test_each_module_has_tests():
    "A test file with its name, or tests that use what it exports or patches"
    files = [*(ROOT/'tests').rglob('test_*.py')]
    names,used = ' '.join(p.stem for p in files),{*re.findall(r'[\w.]+', ' '.join(p.read_text() for p in files))}
    words = used | {o for k in used for o in k.split('.')}
    def _has(mod, m): return {f'learnloop.{mod}', *import_module(f'learnloop.{mod}').__all__, *(k for *_,k in patches(m) if k[0]!='_')}
    bare = [o for o,m in modules(ROOT).items() if o.split('.')[1] not in names and not words & _has(o, m)]
    assert {*bare}=={'interop.fastai_opt', 'measure.combine', 'measure.trial', 'scale.traced', 'train.by_turns'}, \
        'parts of fastai, of the recorder, of training and of compiled steps, which their tests try'

@pytest.mark.parametrize('sizes,n', [((9, 3, 2), (9, 27)), ((5, 4, 3, 2, 2), (5, 20)), ((1, 1), (1, 1)), ((40, 6), (40, 240))])
def test_cases_that_cover_are_few_and_have_every_value_or_pair(sizes, n, monkeypatch):
    monkeypatch.delenv('ALL_CASES', raising=False)
    whole = [*product(*map(range, sizes))]
    for t in (1, 2):
        got = cover(whole, t)
        assert got==cover(whole, t) and n[t-1]<=len(got)<=1.3*n[t-1] and got==[o for o in whole if o in got]
        for at in combinations(range(len(sizes)), t): assert {tuple(o[i] for i in at) for o in got}=={tuple(o[i] for i in at) for o in whole}
    uses = [sum(o[1]==v for o in cover(whole)) for v in range(sizes[1])]
    assert max(uses)-min(uses)<=1, 'and each as often as the others'
    monkeypatch.setenv('ALL_CASES', '1')
    assert cover(whole)==whole

def test_an_editable_install_is_found_beside_a_folder_of_its_name(tmp_path):
    "As in the folder where `git clone` has made the checkout"
    (tmp_path/'learnloop').mkdir()
    env = {k:v for k,v in os.environ.items() if k!='PYTHONPATH'}
    code = 'from importlib.util import find_spec; assert find_spec("learnloop").origin'  # a namespace package has none
    res = subprocess.run([sys.executable, '-c', code], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=100)
    assert res.returncode==0, res.stderr

def test_each_planted_fault_has_one_place_and_its_tests_a_file():
    "So that a change to a line that a fault replaces is seen at once, and not only where faults are planted"
    for o in mutants.FAULTS:
        assert mutants.one(ROOT/'learnloop', f'{o.module}.py').read_text().count(o.old)==1, o.what
        assert all(mutants.one(ROOT/'tests', k) for k in o.tests.split() if k.endswith('.py'))
