"Runs of two processes, of which random ones are killed, end as if nobody had: a part of what `python -m benchmarks.crash -n 200 --processes 2` does"
import pytest
from helpers import crash

@pytest.mark.parametrize('setup', ['ddp_windows', 'sharded'])
def test_case_77_a_run_whose_processes_are_killed_at_any_time_ends_like_one_that_is_not(setup):
    "The first kill is at an operation on files: it happens however long a run takes"
    out,table = crash('-n', 1, '--processes', 2, '--setups', setup)
    runs,kills,_,lost = map(int, table[-1][1:])
    assert kills==1 and runs and not lost, out
