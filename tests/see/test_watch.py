"The benchmark of what it costs to watch a run: that it measures and reports. A fit that keeps more than the recorder's floats of each batch fails here, too"
import json, pytest, sys, torch
from pathlib import Path
sys.path.append(str(Path(__file__).parents[2]))
from benchmarks import watch

@pytest.fixture(autouse=True)
def one_thread():
    n = torch.get_num_threads()
    yield
    torch.set_num_threads(n)

def test_nothing_is_kept_of_a_batch_but_the_recorders_floats(tmp_path, capsys):
    watch.child('log', 2000, True, tmp_path)
    kept,recorder = json.loads((tmp_path/'result.json').read_text())['grown']
    assert kept-recorder<10, 'bytes for each batch: an object has 16 at least'
    assert 24<=recorder<150
    assert len((tmp_path/'history.csv').read_text().splitlines())==1+watch.EPOCHS and 'train_loss' in capsys.readouterr().out

def test_terminal_reads_all_and_says_what_failed():
    assert watch.in_terminal([sys.executable, '-c', 'print("x"*99_998, end="")'])==99_998
    with pytest.raises(RuntimeError, match='broken on purpose'): watch.in_terminal([sys.executable, '-c', 'raise SystemExit("broken on purpose")'])

def test_table(monkeypatch, capsys):
    ran = []
    def _run(variant, n, memory=False):
        ran.append((variant, n, memory))
        return dict(raw=n*1e-5, own=n*2e-5, wall=1., rss=3., grown=[50., 48.], out=1234, csv=0)
    monkeypatch.setattr(watch, 'run', _run)
    monkeypatch.setattr(sys, 'argv', ['watch', '-n', '1000', '--rounds', '2', '--variants', 'log', 'terminal'])
    watch.main()
    names = ['bare', 'log', 'terminal']
    assert sorted(ran)==sorted([(o, 1000, False) for o in names]*2 + [(o, 1000, True) for o in names])
    out = capsys.readouterr().out
    assert '| all four, a terminal | 20.0 | 2.00 | +0.0 | 3 | 1,234 | 1,234 | 0 |' in out and '| all four, a log file | 50.0 | 48.0 | 2.0 |' in out

@pytest.mark.parametrize('args', ['-n 50', '-n many', '--variants nothing'])
def test_wrong_arguments(args, monkeypatch, capsys):
    monkeypatch.setattr(sys, 'argv', ['watch', *args.split()])
    with pytest.raises(SystemExit, match='2'): watch.main()
