"Fixtures and settings of all tests: hypothesis's profile, seeds, thinned cases, and a check that each test leaves the process as it found it"
import gc, os, random, signal
import pytest, torch
from helpers import cover
from hypothesis import Phase, settings
from learnloop.app.settings import run_settings

cfg = run_settings('tests', seed=42, examples=25 if os.environ.get('ALL_CASES') else 12)
# A shell that starts us in the background has Ctrl-C ignored, and tests try it
if signal.getsignal(signal.SIGINT)==signal.SIG_IGN: signal.signal(signal.SIGINT, signal.default_int_handler)
os.environ['MPLBACKEND'] = 'agg'  # no window, wherever the tests run
os.fsync = lambda fd: None  # forks have it, too; tests of what is synced, and when, have their own
torch.utils.data._utils.MP_STATUS_CHECK_INTERVAL = .3  # torch waits so long for a worker that hangs, or is garbage, before it ends it: 5 s

# `ci` draws the same programs in each run, so that a failure belongs to the change under test.
# To look for new ones: `pytest --hypothesis-profile explore`
settings.register_profile('ci', derandomize=True, deadline=None, max_examples=cfg.examples)
settings.register_profile('explore', deadline=None, max_examples=20*cfg.examples)
settings.register_profile('first', settings.get_profile('ci'), phases=[Phase.explicit, Phase.generate])  # for planted faults: the first failure is enough
settings.load_profile('ci')

@pytest.fixture(scope='module', autouse=True)
def unseen():
    "Exclude all existing objects, mostly torch's, from garbage collection: otherwise each collection takes 0.3 s, and many tests start one"
    gc.collect()
    gc.freeze()

def values_of(item):
    "Return what distinguishes a case from the others of its test: the values of each `parametrize`"
    marks = [m.args[0] for m in item.iter_markers('parametrize')]
    names = [[k.strip() for k in (o.split(',') if isinstance(o, str) else o)] for o in marks]
    return tuple(tuple(id(item.callspec.params[k]) for k in ks) for ks in names)

@pytest.hookimpl(trylast=True)  # after `-k` has selected tests
def pytest_collection_modifyitems(config, items):
    """Thin out the cases of tests; `ALL_CASES=1` runs them all

    Of a test with several `parametrize`, so many combinations run that each value occurs once.
    With `@pytest.mark.every(3)`, every third case runs. With `every(3, 1)`, these are the second, the fifth, and so on."""
    if os.environ.get('ALL_CASES'): return
    groups,keep = {},set()
    for o in items: groups.setdefault(o.nodeid.partition('[')[0], []).append(o)
    for its in groups.values():
        cases = {values_of(o):o for o in its}
        if len(cases)==len(its)>1: its = [cases[o] for o in cover(cases)]
        mark = its[0].get_closest_marker('every')
        n,*start = mark.args if mark else (1,)
        keep |= {*its[start[0] if start else 0::n]}
    config.hook.pytest_deselected(items=[o for o in items if o not in keep])
    items[:] = [o for o in items if o in keep]

def switches():
    "Return the process-wide switches that a test could change for later tests"
    return dict(grad=torch.is_grad_enabled(), dtype=torch.get_default_dtype(), threads=torch.get_num_threads(),
        deterministic=torch.are_deterministic_algorithms_enabled(), sigint=signal.getsignal(signal.SIGINT), cwd=os.getcwd())

@pytest.fixture(autouse=True)
def seeded():
    "Seed the generators before a test"
    random.seed(cfg.seed)
    torch.manual_seed(cfg.seed)

@pytest.fixture(autouse=True)
def process_unchanged(monkeypatch):
    "Fail a test that changes a process-wide switch, as later tests would fail because of it"
    before = switches()
    yield
    monkeypatch.undo()  # what a test patched is put back before the comparison
    after = switches()
    torch.set_grad_enabled(before['grad'])
    os.chdir(before['cwd'])
    assert after==before, {k:(before[k], after[k]) for k in before if before[k]!=after[k]}
