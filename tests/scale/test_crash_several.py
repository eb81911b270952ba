"Runs of two processes, of which random ones are killed, end as if nobody had: a part of what `python -m benchmarks.crash -n 200 --processes 2` does"
from helpers import crash

KILLS = 2

def test_case_77_a_run_whose_processes_are_killed_at_any_time_ends_like_one_that_is_not():
    out,table = crash('-n', KILLS, '--processes', 2, '--setups', 'ddp_windows', 'sharded')
    rows = {name:[*map(int, ns)] for name,*ns in table}
    runs,kills,_,lost = rows['all']
    assert kills==KILLS and not lost and runs>1 and all(o[1] for o in rows.values()), out
