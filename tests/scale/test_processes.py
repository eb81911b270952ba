"What `python -m benchmarks.processes` measures is what it says: the same fit by all, and numbers of all processes put together"
from functools import partial
from benchmarks import processes as bench
from benchmarks.works import _mlp
from together import together

WORK = bench.Work(partial(_mlp, 16, 16, 10), partial(bench.vectors, 16), 8, 12, 2.)

def test_contenders_train_alike():
    for res,apart in together(bench.train_by_turns, WORK, ['raw','learnloop'], 2, 42):
        assert {k:(len(v), {len(o) for o in v}) for k,v in res.items()}=={'raw':(2, {4}), 'learnloop':(2, {4})}
        assert apart['raw']==0 and apart['learnloop']<1e-6
        assert all(0<o for rounds in res.values() for one in rounds for o in one)

def test_numbers_of_processes_are_put_together_by_round():
    assert bench.joined([[[1, 5], [2, 6]], [[10, 3], [20, 9]]], sum, max)==[[11, 5], [22, 9]]
    fit = bench.Fit(.008, .1, .1+.008, .2)
    assert abs(fit.step_us(108)-1000)<1e-6 and abs(fit.fit_ms(108))<1e-6

def test_a_callback_that_hears_one_event_costs_a_meeting_a_batch():
    fits,n = together(bench.train_with_callbacks, WORK, 1, 42)[0],WORK.n
    meets = {k:v[0][2]-fits['nothing'][0][2] for k,v in fits.items()}
    assert meets.pop('nothing')==0 and {*meets.values()}<={n, n+1}, meets  # of passes between batches there is one more
