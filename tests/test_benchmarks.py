"Benchmarks: ways of training take turns, kept results are correct, and each benchmark runs"
import json, random, warnings
from functools import partial
from types import SimpleNamespace
import pytest, torch
from benchmarks import checkpoint, chunks, fuse, inference, memory, overhead, results, tensors
from benchmarks.works import WORKS, by_hand, by_learner, new_batches, new_model

@pytest.fixture(autouse=True)
def settings_of_torch():
    n = torch.get_num_threads()
    with warnings.catch_warnings(action='ignore'):  # a fit in a thread hears no signals, and benchmarks silence peers
        yield
    torch.set_num_threads(n)

# ---- taking turns

def writes(log, name):
    def way(tick, n):
        for _ in range(n):
            tick()
            log.append(name)
    return way

def test_ways_take_turns_in_chunks_of_batches():
    log = []
    secs = chunks.race({k:writes(log, k) for k in 'abc'}, 3, 2, warm=1)
    assert ''.join(log)=='aabbcc'*4+'abc'  # the batch after the last chunk ends it
    assert [len(secs[k]) for k in 'abc']==[3, 3, 3] and all(o>=0 for v in secs.values() for o in v)

def test_ratios_are_to_the_first_way_in_the_same_turn(monkeypatch):
    secs = dict(b=[2., 9.], a=[1., 3.])
    monkeypatch.setattr(chunks, 'race', lambda ways, *args: {k:secs[k] for k in ways})
    assert chunks.ratios(dict(a=None, b=None), 2, 1, 2, random.Random(0))==dict(a=[1.]*4, b=[2., 3.]*2)

@pytest.mark.parametrize('k', [k for k in chunks.LOADERS if k!='tensors in memory'])
def test_loaders_tick_once_a_batch(k):
    log,batches = [],new_batches(WORKS['tiny'], 0, 3)
    dl = chunks.LOADERS[k](batches, 5, lambda: log.append('tick'))
    for xb,yb in dl:
        log.append('batch')
        assert xb.shape==(32, 10) and yb.shape==(32,)
    assert log==['tick', 'batch']*5

# ---- what is trained

@pytest.mark.every(2)
@pytest.mark.parametrize('k', WORKS)
def test_a_learner_trains_as_the_loop_by_hand(k):
    work = WORKS[k]
    def weights(f):
        model = new_model(work, 1)
        torch.manual_seed(2)
        f(work, model, new_batches(work, 0, 4))
        return [*model.state_dict().values()]
    assert all(torch.equal(a, b) for a,b in zip(weights(by_hand), weights(by_learner), strict=True))

# ---- what is kept

def test_rows_have_medians_quartiles_and_runs():
    a,b,c = ([results.row('tiny', 'x', [v-1, v, v+1], limit=1.)] for v in (1., 3., 2.))
    o = results.together([a, c, b])[0]
    assert o['runs']==[1., 2., 3.] and o['median']==2. and (o['low'], o['high'])==(1.5, 2.5) and o['n']==9
    assert results.is_met(a[0]) and not results.is_met(o) and results.is_met(o | dict(median=1.05)) and results.is_met(o | dict(limit=None)) is None

def test_a_page_shows_the_kept_results(tmp_path, monkeypatch):
    monkeypatch.setattr(results, 'FOLDER', tmp_path)
    results.write(tmp_path/'a.json', [results.row('tiny', 'x', [.5]), results.row('tiny', 'y', [2.], unit='seconds'), results.row('mlp', 'z', [3.])])
    head,_,*rows = results.page('a', 'times by hand', groups='t').partition('\n\n')[0].splitlines()
    assert rows==['| tiny | x | 0.500 | 0.500 | times by hand |'] and torch.__version__ in results.page('a')
    with pytest.raises(ValueError, match='no row'): results.page('a', 'metres')

@pytest.mark.parametrize('p', sorted(results.FOLDER.glob('*.json')), ids=lambda p: p.stem)
def test_kept_results_can_be_shown(p):
    assert 'python -m benchmarks.' in results.page(p.stem) and all(o['low']<=o['median']<=o['high'] for o in results.read(p.stem)['rows'])

# ---- each benchmark, as small as can be

@pytest.fixture(autouse=True)
def frozen(monkeypatch):
    "What is there before a race stays out of garbage collections after it, too"
    monkeypatch.setattr('gc.unfreeze', lambda: None)

@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(chunks, 'CHUNK', .001)
    monkeypatch.setattr(overhead.Bench, '__new__', partial(_bench, overhead.Bench.__new__))
def _bench(new, cls, rounds, chunks, seed, chunk=None): return new(cls, rounds, chunks, seed, .001)

def runs(module, *argv, tmp_path):
    rows = module.main([*argv, '--json', str(tmp_path/'a.json')])
    assert json.loads((tmp_path/'a.json').read_text())['rows']==rows
    return {(o['group'], o['name']):o for o in rows}

def test_overhead(small, tmp_path):
    got = runs(overhead, '--rounds', '1', '--chunks', '2', '--models', 'tiny', '--contenders', 'learnloop', tmp_path=tmp_path)
    assert {k for _,k in got}>={'learnloop', overhead.AGAIN, overhead.NOOPS, overhead.BAR, overhead.METRICS}
    assert {g for g,_ in got}>={'tiny', 'tiny, generator', 'tiny, own Dataset', 'tiny, by its peers'}

def test_fuse(small, tmp_path):
    args = '--rounds', '1', '--chunks', '2', '--models', 'tiny', fuse.EDITED, '--backend', 'aten', '--steps', '12', '--seeds', '1', '--parts', 'ratio', 'accuracy'
    got = runs(fuse, *args, tmp_path=tmp_path)
    assert {('tiny', 'fused'), (fuse.EDITED, 'fused')}<={*got} and results.is_met(got['tiny', 'losses']) and results.is_met(got['tiny', 'weights'])

def test_inference(tmp_path):
    got = runs(inference, '--rounds', '1', '--rows', '200', '--models', 'small', '--sizes', '64', tmp_path=tmp_path)
    assert len(got)==4

@pytest.mark.parametrize('what', ['torch_save torch_load', 'save resume', 'copy stall'])
def test_checkpoint(what, tmp_path):
    works = checkpoint.Works(checkpoint.mk_learner(5), tmp_path)
    assert all(getattr(works, nm)()>0 for nm in what.split())

@pytest.mark.skipif(not memory.Path('/proc/self/status').exists(), reason='reads /proc')
def test_memory(tmp_path, monkeypatch, capsys):
    def here(cmd, **kwargs):
        "Do in this process what another one would do, and return its output"
        memory.one(*cmd[4:6], float(cmd[7]))
        return SimpleNamespace(returncode=0, stdout=capsys.readouterr().out)
    monkeypatch.setattr(memory.subprocess, 'run', here)
    real = memory.status  # a peak of its own: that of this process may be older
    monkeypatch.setattr(memory, 'status', lambda key: real(key) + (1 if key=='VmHWM' else -1)*10_000)
    got = runs(memory, '--rounds', '1', '--mb', '1', '--whats', 'fit', tmp_path=tmp_path)
    assert {*got}=={('peak memory', 'two epochs')}

def test_tensors(small, tmp_path):
    got = runs(tensors, '--rounds', '1', '--chunks', '1', '--n', '20', '--n-cbs', '3', tmp_path=tmp_path)
    assert {k for _,k in got}>={'learnloop', tensors.FIRST, tensors.FURTHER}
