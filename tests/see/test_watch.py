"The benchmark of the cost of watching a run works, and a fit keeps only the recorder's floats of each batch"
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
    watch.child('log', 1000, True, tmp_path)
    kept,recorder = json.loads((tmp_path/'result.json').read_text())['grown']
    assert kept-recorder<10, 'bytes for each batch: an object has 16 at least'
    assert 24<=recorder<150
    assert len((tmp_path/'history.csv').read_text().splitlines())==1+watch.EPOCHS and 'train_loss' in capsys.readouterr().out

def test_terminal_reads_all_and_says_what_failed():
    assert watch.in_terminal([sys.executable, '-c', 'print("x"*99_998, end="")'])==99_998
    with pytest.raises(RuntimeError, match='broken on purpose'): watch.in_terminal([sys.executable, '-c', 'raise SystemExit("broken on purpose")'])
