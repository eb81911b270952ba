"Runs of two processes that are killed at random resume with equal results: a part of `python -m benchmarks.crash -n 200 --processes 2`"
import pytest
from helpers import crash

@pytest.mark.every(2)
@pytest.mark.parametrize('setup', ['sharded', 'ddp_windows'])
def test_case_77_a_killed_run_resumes_with_equal_results(setup):
    "The first kill is at a file operation, so it doesn't depend on time"
    out,table = crash('-n', 1, '--processes', 2, '--setups', setup)
    runs,kills,_,lost = map(int, table[-1][1:])
    assert kills==1 and runs and not lost, out
