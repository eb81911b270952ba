"That stubs tell what is there: names, signatures, docs; that the script which uses all of it runs; and that completion at run time works"
import ast, inspect, os, subprocess, sys
from importlib import import_module
import jedi, pytest
import learnloop
from learnloop import Callback, CancelFitException, Learner, event, synth_learner
from tools import stubs
from tools.house import PKG, ROOT, modules

def stub(mod): return ast.parse((ROOT/PKG/f"{mod.replace('.', '/')}.pyi").read_text())
def classes(tree): return {o.name:o for o in tree.body if isinstance(o, ast.ClassDef)}
def functions(node): return {o.name:o for o in node.body if isinstance(o, ast.FunctionDef)}
def names(node): return {getattr(o, 'name', None) or o.target.id for o in node.body if isinstance(o, (ast.FunctionDef, ast.ClassDef, ast.AnnAssign))}

def params(node):
    a = node.args
    return [o.arg for o in (*a.posonlyargs, *a.args, a.vararg, *a.kwonlyargs, a.kwarg) if o]

def differs(node, f):
    "Does the stub `node` of the function `f` have other parameters?"
    try: there = [*inspect.signature(f).parameters]
    except (TypeError, ValueError): return False
    return inspect.isfunction(f) and there!=params(node)

@pytest.mark.parametrize('mod', modules(ROOT))
def test_stubs_have_what_is_public(mod):
    m,tree = import_module(f'{PKG}.{mod}'),stub(mod)
    assert set(m.__all__)<=names(tree), set(m.__all__)-names(tree)
    assert not [k for k,o in functions(tree).items() if differs(o, getattr(m, k))]
    for cls,node in classes(tree).items():
        c = getattr(m, cls)
        mine = {k for k,f in vars(c).items() if inspect.isfunction(f) and k[0]!='_'}
        assert mine<=names(node), f'{cls}: {mine-names(node)}'
        assert not [k for k,o in functions(node).items() if k in vars(c) and differs(o, vars(c)[k])], cls

def inherited(cls):
    "Names in the stubs of `cls` and its bases"
    return {k for c in cls.__mro__ if c.__module__.startswith(PKG) for k in names(classes(stub(c.__module__.removeprefix(f'{PKG}.')))[c.__name__])}

def test_a_learner_has_all_that_it_has():
    learn = synth_learner()
    there = {k for k in dir(learn) if k[0]!='_'}
    assert there<=inherited(Learner), there-inherited(Learner)
    assert {'fit', 'lr_find', 'get_preds', 'recorder', 'progress', 'train_eval', 'xb', 'pred', 'opt', 'x', 'forward_model', 'ema'}<=inherited(Learner)
    assert not {'fit_generator', 'to_parallel', '_orig__tip'} & inherited(Learner), 'names of other systems, that only tell where to go'

def test_a_callback_has_events_and_reads_from_the_learner():
    there = inherited(Callback)
    assert {*event}<=there and {'model', 'xb', 'pred', 'loss', 'opt', 'epoch', 'recorder', 'learn', 'run_valid', 'state_dict'}<=there and 'fit' not in there
    assert params(functions(classes(stub('loop.callback'))['Callback'])['after_record'])==['self', 'record']

def test_names_that_are_made_from_a_table():
    flow = classes(stub('loop.flow'))
    assert CancelFitException.__name__ in flow and {*event}<=names(flow['Events']) and '__getattr__' not in names(flow['Events'])

def test_docstrings_have_the_comments_on_parameters():
    doc = ast.get_docstring(functions(classes(stub('loop.learner'))['Learner'])['fit'])
    assert doc.startswith('Train for `n_epoch` epochs') and '- `max_steps`: Stop after so many optimizer steps' in doc

def test_the_package_names_what_is_public():
    tree = ast.parse((ROOT/PKG/'__init__.pyi').read_text())
    assert {a.asname for o in tree.body if isinstance(o, ast.ImportFrom) for a in o.names}=={*learnloop.__all__} and (ROOT/PKG/'py.typed').exists()

def test_stale_stubs_are_named(monkeypatch, capsys):
    path = ROOT/PKG/'loop/flow.pyi'
    monkeypatch.setattr(stubs, 'stubs', lambda: {p:p.read_text() for p in (ROOT/PKG).rglob('*.pyi')} | {path:'another'})
    assert stubs.main(['--check'])==1 and capsys.readouterr().out.split()[-1]=='learnloop/loop/flow.pyi'

def test_the_typed_script_runs(tmp_path):
    env = os.environ | dict(PYTHONPATH=str(ROOT))
    out = subprocess.run([sys.executable, '-W', 'error', ROOT/'tests/typed_script.py'], capture_output=True, text=True, timeout=300, cwd=tmp_path, env=env)
    assert out.returncode==0, out.stderr

# ---- at run time, as in Jupyter

def interpreter(code): return jedi.Interpreter(code, [dict(learn=synth_learner(), event=event)])

@pytest.mark.parametrize('code,want', [('learn.fit_o', 'fit_one_cycle'), ('learn.rec', 'recorder'), ('learn.recorder.plot_l', 'plot_loss'), ('learn.get_p', 'get_preds'), ('event.before_b', 'before_batch'),
    ('learn.show_tr', 'show_training_loop')])
def test_completion_at_run_time(code, want): assert want in [o.name for o in interpreter(code).complete()]

def test_signatures_at_run_time():
    "As Jupyter's Shift-Tab shows them"
    fit = synth_learner().fit
    assert [*inspect.signature(fit).parameters][:3]==['n_epoch', 'lr', 'wd'] and inspect.getdoc(fit).startswith('Train for `n_epoch`')
    assert 'num_it' in inspect.signature(Learner.lr_find).parameters and [*inspect.signature(Callback).parameters][1:3]==['after_create', 'before_fit']
