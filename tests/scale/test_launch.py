"`launch` returns the results of its processes, shows their output, passes on their errors, and leaves no process behind"
import multiprocessing as mp, os, signal, sys, time
import pytest, torch
from pathlib import Path
from learnloop import PeerError, launch
from learnloop.scale.team import find_team
from together import LIMIT,SOON,together

class Odd(Exception):
    "An exception that can't be unpickled"
    def __init__(self, a, b): super().__init__(f'{a} and {b}')

def alive(pid):
    "Does the process run? A zombie doesn't"
    try: return Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()[0]!='Z'
    except OSError: return False

def who():
    names = 'RANK LOCAL_RANK WORLD_SIZE LOCAL_WORLD_SIZE'
    return [os.environ[k] for k in names.split()],torch.get_num_threads(),os.getpid(),torch.rand(1)

def test_each_process_has_its_rank_and_the_random_state_of_the_parent():
    torch.ones(300, 300)@torch.ones(300, 300)  # starts a thread pool, which forks lack
    rand = torch.get_rng_state()
    res = together(who, n=3)
    assert [o[0] for o in res]==[[str(r), str(r), '3', '3'] for r in range(3)]
    assert {o[1] for o in res}=={1}
    assert len({o[2] for o in res} | {os.getpid()})==4
    assert all(torch.equal(o[3], res[0][3]) for o in res), 'each starts with the random state of the parent'
    assert torch.equal(rand, torch.get_rng_state())
    assert 'RANK' not in os.environ and 'MASTER_PORT' not in os.environ
    assert not any(alive(o[2]) for o in res)

def test_one_process_has_no_team():
    def f(): return find_team(),os.environ['WORLD_SIZE']
    assert launch(f, n=1, timeout=LIMIT)=={0:(None, '1')}

def prints():
    print('one\ntwo')
    print('warned', file=sys.stderr)
    os.system('echo shell')
    print('-'*100_000)  # more than a pipe holds
    print('no end')

def test_the_output_of_other_processes_has_their_rank(capsys):
    together(prints)
    out,err = capsys.readouterr()
    theirs = [o.removeprefix('rank 1: ') for o in out.splitlines() if o.startswith('rank 1: ')]
    mine = [o for o in out.splitlines() if not o.startswith('rank 1: ')]
    want = ['one', 'two', 'shell', '-'*100_000, 'no end']
    assert theirs==want and mine==want, 'lines are mixed'
    assert sorted(err.splitlines())==['rank 1: warned', 'warned']

def raise_in(rank, e):
    "Raise `e` in one process, while the others wait for it"
    team = find_team()
    try:
        if team.rank==rank: raise e
        team.gather(1)
    except Exception as e: raise team.fail(e) from None

@pytest.mark.parametrize('rank', [0, 1])
def test_the_first_error_is_raised(rank):
    start = time.monotonic()
    with pytest.raises(KeyError, match='boom') as e: together(raise_in, rank, KeyError('boom'), n=3)
    assert f'rank {rank} raised this error' in e.value.__notes__[0] and 'in raise_in' in e.value.__notes__[0]
    assert time.monotonic()-start<SOON

def test_an_error_that_cannot_be_pickled_is_described():
    with pytest.raises(PeerError, match='rank 1 failed: Odd: 1 and 2') as e: together(raise_in, 1, Odd(1, 2))
    assert 'in raise_in' in e.value.__notes__[0]

def test_sys_exit_does_not_end_the_parent():
    with pytest.raises(PeerError, match='rank . failed: SystemExit: 3'): together(sys.exit, 3)

def test_a_result_that_cannot_be_pickled_is_refused():
    with pytest.raises(TypeError, match="the result of the function, function, cannot be sent"): together(lambda: lambda: 1)

def end_by(sig):
    team = find_team()
    if team.rank==1: os.kill(os.getpid(), sig)
    team.gather(1)

def test_a_killed_process_is_named():
    start = time.monotonic()
    with pytest.raises(PeerError, match='rank 1 was killed by SIGKILL'): together(end_by, signal.SIGKILL)
    with pytest.raises(PeerError, match='rank 1 was killed by SIGTERM'): together(end_by, signal.SIGTERM)
    assert time.monotonic()-start<SOON

def hang(path):
    with open(f'{path}/{os.environ["RANK"]}', 'w') as f: f.write(str(os.getpid()))
    signal.pause()

def pids(path, n=2): return [int((path/str(r)).read_text()) for r in range(n)]

def test_processes_that_exceed_the_time_limit_are_ended(tmp_path):
    with pytest.raises(TimeoutError, match='2 of 2 processes did not finish within 8 s') as e:
        together(hang, tmp_path, timeout=8)  # seconds; on a busy machine a fork may take some
    assert str(e.value).count('in hang')==2, 'the error names where they were'
    assert not any(map(alive, pids(tmp_path)))

def one_hangs(path):
    if os.environ['RANK']=='0': hang(path)
    raise ValueError('no wait')

def test_an_error_ends_processes_that_hang(tmp_path):
    with pytest.raises(ValueError, match='no wait'): together(one_hangs, tmp_path)
    assert not alive(pids(tmp_path, 1)[0])

def deaf(path):
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    hang(path)

def parent(f, path):
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try: launch(f, path)
    except KeyboardInterrupt: os._exit(7)

def wait_for(f):
    until = time.monotonic()+SOON
    while not f():
        assert time.monotonic()<until
        time.sleep(.01)

@pytest.mark.parametrize('sig,f,code', [(signal.SIGINT, hang, 7), (signal.SIGINT, deaf, 7), (signal.SIGKILL, hang, -9)])
def test_processes_end_with_their_parent(tmp_path, sig, f, code):
    "After Ctrl-C, a second one if processes ignore the first, or a kill of the parent"
    p = mp.get_context('fork').Process(target=parent, args=(f, tmp_path))
    p.start()
    try:
        wait_for(lambda: all((tmp_path/r).exists() and (tmp_path/r).read_text() for r in '01'))
        os.kill(p.pid, sig)
        if f is deaf:
            p.join(1)
            assert p.is_alive(), 'it does not wait for its children'
            os.kill(p.pid, sig)
        p.join(SOON)
        assert p.exitcode==code
        wait_for(lambda: not any(map(alive, pids(tmp_path))))
    finally: p.kill()

def test_wrong_arguments_and_nested_launches_are_refused(monkeypatch):
    for n in (0, -1, 1.5, True, '2'):
        with pytest.raises(ValueError, match='it must be a number of processes'): launch(who, n=n)
    for t in (0, -1.):
        with pytest.raises(ValueError, match='it must be a number of seconds above 0'): launch(who, timeout=t)
    with pytest.raises(TypeError, match='launch takes a function and its arguments'): launch(3)
    monkeypatch.setattr(torch.accelerator, 'current_accelerator', lambda *a, **k: torch.device('cuda'))
    monkeypatch.setattr(torch.cuda, 'is_initialized', lambda: True)
    with pytest.raises(RuntimeError, match='this process already uses cuda.*torchrun'): launch(who)
    monkeypatch.undo()
    monkeypatch.setenv('WORLD_SIZE', '2')
    with pytest.raises(RuntimeError, match='already belongs to a process group'): launch(who)
