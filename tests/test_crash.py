"Runs that are killed and begun again end as if nobody had touched them: a part of what `python -m benchmarks.crash -n 200` does"
import subprocess, sys
from pathlib import Path
import pytest

# Between them: both optimizers, one-cycle, accumulation, averages, bf16, workers that persist or don't, random items, saves in the background; all shuffle and have dropout
SETUPS = ['sgd','adamw','one_cycle','noisy','accumulation','ema','bf16','tracked','background','workers','persistent','everything']
ROOT,KILLS = Path(__file__).parents[1],30

@pytest.fixture(scope='module')
def killed():
    "The benchmark's table: number of runs, kills, kills in a save, and runs that were lost, by setup"
    p = subprocess.run([sys.executable, '-m', 'benchmarks.crash', '-n', str(KILLS)], cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert p.returncode in (0, 1) and p.stdout, p.stderr
    return {o.split()[0]:[int(n) for n in o.split()[1:]] for o in p.stdout.splitlines()[1:]},p.stderr

@pytest.mark.parametrize('setup', SETUPS)
def test_case_66_a_run_that_is_killed_at_any_time_ends_like_one_that_is_not(setup, killed):
    rows,err = killed
    assert not rows[setup][-1], err

def test_kills_were_many_and_some_in_a_save(killed):
    runs,kills,in_save,lost = killed[0]['all']
    assert kills==KILLS and in_save>5 and runs>5 and not lost, killed
