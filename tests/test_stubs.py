"Stubs have the names, signatures and docs of modules; an editor finds the definitions; the script that uses all of it runs"
import ast, inspect, os, runpy, shutil, sys, warnings
from functools import cache
from importlib import import_module
import jedi, pytest
from learnloop import Learner, event, synth_learner
from tools import stubs
from tools.forks import run_all
from tools.house import PKG, ROOT, modules

@cache
def stub(mod): return ast.parse(stubs.module_stub(mod))
def body(node): return [o for p in node.body for o in (body(p) if isinstance(p, ast.If) else [p])]  # what mypy reads
def classes(tree): return {o.name:o for o in body(tree) if isinstance(o, ast.ClassDef)}
def members(tree, cls):
    "What the class `cls` has, with what is patched onto it"
    every = classes(tree)
    return [o for k in (f'_{cls}Methods', cls) if k in every for o in body(every[k])]
@cache
def defs(path): return {o.name for o in ast.walk(modules(ROOT)[path.removeprefix(f'{PKG}.')].tree) if isinstance(o, ast.FunctionDef)}
def functions(nodes): return {o.name:o for o in nodes if isinstance(o, ast.FunctionDef)}
def names(nodes): return {getattr(o, 'name', None) or o.target.id for o in nodes if isinstance(o, (ast.FunctionDef, ast.ClassDef, ast.AnnAssign))}

def params(node):
    a = node.args
    return [o.arg for o in (*a.posonlyargs, *a.args, a.vararg, *a.kwonlyargs, a.kwarg) if o]

def differs(node, f):
    "Does the stub `node` of the function `f` have other parameters?"
    try: there = [*inspect.signature(f).parameters]
    except (TypeError, ValueError): return False
    return inspect.isfunction(f) and there!=params(node)

@pytest.mark.every(3)
@pytest.mark.parametrize('mod', modules(ROOT))
def test_stubs_have_the_public_names(mod):
    m,tree = import_module(f'{PKG}.{mod}'),stub(mod)
    assert set(m.__all__)<=names(body(tree)), set(m.__all__)-names(body(tree))
    assert not [k for k,o in functions(body(tree)).items() if k in m.__all__ and differs(o, getattr(m, k))]
    for cls in classes(tree):
        if not (c := getattr(m, cls, None)) or mod=='interop.fastai': continue  # loops give those fastai's names
        mine = {k for k,f in vars(c).items() if inspect.isfunction(f) and k[0]!='_' and k in defs(f.__module__)}  # not what loops set
        assert mine<=names(members(tree, cls)), f'{cls}: {mine-names(members(tree, cls))}'
        assert not [k for k,o in functions(members(tree, cls)).items() if k in vars(c) and differs(o, vars(c)[k])], cls

def inherited(cls):
    "Names in the stubs of `cls` and its bases"
    return {k for c in cls.__mro__ if c.__module__.startswith(PKG) for k in names(members(stub(c.__module__.removeprefix(f'{PKG}.')), c.__name__))}

def test_the_stub_of_a_learner_has_all_its_attributes():
    learn = synth_learner()
    there = {k for k in dir(learn) if k[0]!='_'}
    assert there<=inherited(Learner), there-inherited(Learner)
    assert {'fit', 'lr_find', 'get_preds', 'recorder', 'progress', 'train_eval', 'xb', 'pred', 'opt', 'x', 'forward_model', 'ema'}<=inherited(Learner)
    assert not {'fit_generator', 'to_parallel', '_orig__tip'} & inherited(Learner), 'names of other systems, that only tell where to go'

def test_docstrings_have_the_comments_on_parameters():
    doc = ast.get_docstring(functions(members(stub('loop.learner'), 'Learner'))['fit'])
    assert doc.startswith('Train for `n_epoch` epochs') and 'max_steps: Stop after this many optimizer steps' in doc

def test_the_stubs_in_git_are_as_they_would_be_written():
    assert (ROOT/PKG/'py.typed').exists()
    want = dict(zip(stubs.KEPT, (stubs.package_stub(), stubs.module_stub('loop.learner')), strict=True))
    assert {k:(ROOT/k).read_text() for k in want}==want, 'python -m tools.stubs'

# ---- in an editor, where nothing was built

@pytest.fixture(scope='module')
def clone(tmp_path_factory):
    "What git has of the package"
    path = tmp_path_factory.mktemp('clone')
    shutil.copytree(ROOT/PKG, path/PKG, ignore=shutil.ignore_patterns('*.pyi', '_modidx.py', '__pycache__'))
    for k in stubs.KEPT: shutil.copy(ROOT/k, path/k)
    return path

@pytest.mark.parametrize('name,file,doc', [('learn.fit', 'loop/learner', 'Train for `n_epoch`'), ('learn.lr_find', 'train/lr_find', 'Find a learning rate'), ('EMA', 'train/averaging', 'moving average')])
def test_an_editor_completes_documents_and_finds_definitions(clone, name, file, doc):
    code = f'from learnloop import EMA, Callback, synth_learner\nlearn = synth_learner()\n{name}'
    script,at = jedi.Script(code, path=clone/'script.py', project=jedi.Project(clone, sys_path=[str(clone), *sys.path], load_unsafe_extensions=False)),(3, len(name))
    assert name.split('.')[-1] in [o.name for o in script.complete(*at)] and doc in ''.join(o.docstring() for o in script.help(*at))
    assert clone/PKG/f'{file}.py' in [o.module_path for o in script.goto(*at, follow_imports=True)]

def test_the_typed_script_runs(tmp_path):
    def run(script):
        os.chdir(tmp_path)
        warnings.simplefilter('error')
        runpy.run_path(script, run_name='__main__')
    res, = run_all(run, [ROOT/'tests/typed_script.py'], timeout=300)
    assert res.rc==0, res.out

# ---- at run time, as in Jupyter

def interpreter(code): return jedi.Interpreter(code, [dict(learn=synth_learner(), event=event)])

@pytest.mark.parametrize('code,want', [('learn.fit_o', 'fit_one_cycle'), ('learn.recorder.plot_l', 'plot_loss'), ('event.before_b', 'before_batch')])
def test_completion_at_run_time(code, want): assert want in [o.name for o in interpreter(code).complete()]
