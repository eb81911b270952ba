"Runs of two processes, of which random ones are killed, end as if nobody had: a part of what `python -m benchmarks.crash -n 200 --processes 2` does"
import os, subprocess, sys
from pathlib import Path

ROOT,KILLS = Path(__file__).parents[2],4

def test_case_77_a_run_whose_processes_are_killed_at_any_time_ends_like_one_that_is_not():
    cmd = [sys.executable, '-m', 'benchmarks.crash', '-n', str(KILLS), '--processes', '2', '--setups', 'ddp_windows', 'sharded']
    p = subprocess.run(cmd, cwd=ROOT, capture_output=True, text=True, timeout=500, env=os.environ | dict(OMP_NUM_THREADS='1'))
    assert p.returncode==0, p.stdout+p.stderr
    rows = {o.split()[0]:[int(n) for n in o.split()[1:]] for o in p.stdout.splitlines()[1:]}
    runs,kills,_,lost = rows['all']
    assert kills==KILLS and not lost and runs>1 and all(o[1] for o in rows.values()), p.stdout
