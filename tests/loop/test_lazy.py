"`import learnloop` imports the core; everything else is imported on first access, in any order"
import os, subprocess, sys
from importlib import import_module
import learnloop, pytest
from learnloop import Learner, Recorder
from learnloop.loop.lazy import LAZY, with_lazy_methods
from tools import stubs
from tools.house import ROOT, modules

HEAVY = 'matplotlib tensorboard rich IPython pandas sklearn safetensors filelock torchmetrics torch._dynamo torch._inductor'.split()

BROUGHT = '''
before = {*sys.modules}
import learnloop
print(dict(new=[*sys.modules.keys()-before], frozen=gc.get_freeze_count()))'''

ASK = '''
import learnloop
from importlib import import_module
from learnloop.loop.lazy import LAZY, LazyMethod
HOME = dict(Flow='loop.flow', Learner='loop.learner', Recorder='measure.recorder', Trace='see.trace')
gc.freeze()
def at(path):
    mod,_,name = path.rpartition('.')
    return getattr(import_module(mod), name)
'''

# In forks, each of which asks for one module first, by one of its names, a method or itself
FIRST = ASK + f'''
mods = {[f'learnloop.{o}' for o in modules(ROOT) if not o.endswith('__main__')]!r}
mods = [o for o in mods if o not in sys.modules][::{1 if os.environ.get('ALL_CASES') else 4}]
''' + '''
def ask(mod, how):
    names = [k for k,m in learnloop._lazy.items() if m==mod]
    methods = [o.rpartition('.')[::2] for o in LAZY.get(mod.removeprefix('learnloop.'), '').split() if '.' in o]
    methods = [(at(f'learnloop.{HOME[c]}.{c}'), k) for c,k in methods]
    if methods: assert mod not in sys.modules
    assert all(type(vars(c)[k]) is LazyMethod and k in dir(c) for c,k in methods)
    ways = [lambda: import_module(mod)]
    if names: ways.append(lambda: getattr(learnloop, names[0]))
    if methods: ways.append(lambda: hasattr(*methods[0]))
    ways[how%len(ways)]()
    m = sys.modules[mod]
    found = [getattr(learnloop, k) for k in names]
    assert found==[getattr(m, k) for k in names] and not set(names)-set(dir(learnloop))
    assert all(vars(learnloop)[k] is o for k,o in zip(names, found))
    for c,k in methods:
        real = vars(c)[k]
        assert type(real) is not LazyMethod and (real is None or getattr(real, 'fget', real).__module__==mod), real
for i,o in enumerate(mods): in_fork(ask, o, i)'''

REPLACED = ASK + '''
from unittest import mock
from learnloop import Learner
def overrides():
    class Mine(Learner):
        def fit_one_cycle(self, n): return 'mine', super().fit_one_cycle
    learn = Mine([(torch.ones(1, 1), torch.ones(1, 1))], torch.nn.Linear(1, 1))
    name,f = learn.fit_one_cycle(1)
    assert name=='mine' and f.__func__ is vars(Learner)['fit_one_cycle'] and f.__self__ is learn
def replaced(use):
    def fine_tune(self): return 'theirs'
    Learner.fine_tune = fine_tune
    use()
    assert 'learnloop.train.schedule' in sys.modules and Learner.fine_tune is fine_tune
def by_patch():
    from fastcore.basics import patch
    @patch
    def fine_tune(self:Learner): return self._orig_fine_tune
    assert Learner.fine_tune(Learner.__new__(Learner)).__func__.__module__=='learnloop.train.schedule'
def mocked():
    with mock.patch.object(Learner, 'fit_wsd', lambda self: 'mocked'): assert Learner.__new__(Learner).fit_wsd()=='mocked'
    assert Learner.fit_wsd.__module__=='learnloop.train.schedule'
def an_attribute_of_its_own():
    learn = Learner.__new__(Learner)
    learn.report = 7
    assert learn.report==7 and vars(Learner)['report'].__module__=='learnloop.see.report'
    del learn.report
    assert callable(learn.report)
def a_property():
    try: Learner.__new__(Learner).trace = 7
    except AttributeError as e: assert 'has no setter' in str(e) and 'learnloop.see.trace' in sys.modules
    else: assert False
in_fork(overrides)
for use in (lambda: Learner.fit_one_cycle, lambda: learnloop.SchedCos, lambda: Learner.lr_find): in_fork(replaced, use)
for f in (by_patch, mocked, an_attribute_of_its_own, a_property): in_fork(f)'''

ADAPTERS = '''
import sys, learnloop
from learnloop import *
from learnloop.app.synth import synth_learner
class Mine(Callback):
    def after_batch(self): pass
    def improve(self): pass
learn = synth_learner(cbs=Mine)
with learn.no_bar(), learn.no_logging(): learn.fit_one_cycle(1, max_steps=2)
assert not hasattr(learn, 'test') and not hasattr(learnloop, 'F1Score') and not hasattr(Mine(), 'gather_preds')
assert not {'learnloop.interop.keras', 'learnloop.interop.fastai'} & {*sys.modules}
from learnloop.interop import core
for o in core.adapters(): pass
theirs = 'llm fastNLP pytorch_accelerated fastai lightning pytorch_lightning transformers keras ignite skorch pandas matplotlib accelerate sklearn datasets'
assert not (there := {*theirs.split()} & {o.partition('.')[0] for o in sys.modules}), there'''

BOOT = '''
import gc, os, sys, torch
def in_fork(f, *args):
    sys.stdout.flush()
    pid = os.fork()
    if pid==0:
        code = 1
        try:
            f(*args)
            sys.stdout.flush()
            code = 0
        except BaseException as e: print(args, repr(e), flush=True)
        finally: os._exit(code)
    if os.waitpid(pid, 0)[1]: print('failed:', *args, flush=True)
for o in sys.argv[1:]:
    in_fork(exec, o, globals())
    print('====', flush=True)'''

@pytest.fixture(scope='module')
def said():
    "What codes print, each in a process of its own, where torch is imported and learnloop isn't"
    codes = dict(brought=BROUGHT, first=FIRST, replaced=REPLACED, adapters=ADAPTERS)
    cmd,env = [sys.executable, '-c', BOOT, *codes.values()],os.environ | dict(PYTHONPATH=str(ROOT))
    out = subprocess.run(cmd, capture_output=True, text=True, timeout=200, cwd=ROOT, env=env)
    assert out.returncode==0, out.stderr
    return dict(zip(codes, out.stdout.split('====\n'), strict=False))

def core(said): return {o.removeprefix('learnloop.') for o in eval(said['brought'])['new']}

def test_the_import_brings_the_core_alone_and_leaves_nothing_frozen(said):
    out = eval(said['brought'])
    # a new module that no learner needs belongs into the table
    assert len([o for o in out['new'] if o.startswith('learnloop')])<=72 and 'learnloop' in out['new']
    assert not {*out['new']} & {*HEAVY} and out['frozen']==0

def test_any_name_or_module_can_be_the_first(said): assert said['first']==''
def test_a_subclass_and_a_replaced_method(said): assert said['replaced']==''
def test_adapters_load_only_for_an_error_and_import_no_other_system(said): assert said['adapters']==''

def test_errors_for_unknown_names_suggest_lazy_ones():
    with pytest.raises(AttributeError, match="did you mean 'GradientClip'"): _ = learnloop.GradientClipp

def test_star_brings_all_that_is_public():
    got = {}
    exec('from learnloop import *', got)
    assert {*got}-{'__builtins__'}=={*learnloop.__all__}<={*dir(learnloop)} and len(learnloop.__all__)==len({*learnloop.__all__})

def test_the_table_has_all_patched_names(said):
    for mod in LAZY: import_module(f'learnloop.{mod}')
    def home(o): return o.__module__.removeprefix('learnloop.')
    want = {(home(f), f'{cls.__name__}.{k}') for cls in (Learner, Recorder) for k,f in stubs.patched(cls).items()
        if home(f) not in (*core(said), home(cls)) and k[0]!='_'}
    assert want<={(mod, k) for mod,names in LAZY.items() for k in names.split() if '.' in k}

def test_a_class_without_an_entry_stays_as_it_is():
    class Other: x = 1
    was = [*vars(Other)]
    assert with_lazy_methods(Other) is Other and [*vars(Other)]==was
