"Processes that are started from here: what comes back of them, and what is left"
import multiprocessing as mp, os, signal, sys, time
import pytest, torch
from pathlib import Path
from learnloop import PeerError, launch
from learnloop.scale.team import find_team
from together import LIMIT,SOON,together

class Odd(Exception):
    "One that can't be made again of what it was made of"
    def __init__(self, a, b): super().__init__(f'{a} and {b}')

def alive(pid):
    "Is it there, and no zombie?"
    try: return Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()[0]!='Z'
    except OSError: return False

def who():
    names = 'RANK LOCAL_RANK WORLD_SIZE LOCAL_WORLD_SIZE'
    return [os.environ[k] for k in names.split()],torch.get_num_threads(),os.getpid(),torch.rand(1)

def test_processes_know_who_they_are():
    torch.ones(300, 300)@torch.ones(300, 300)  # with threads of a pool here, which aren't there
    rand = torch.get_rng_state()
    res = together(who, n=3)
    assert [o[0] for o in res]==[[str(r), str(r), '3', '3'] for r in range(3)]
    assert {o[1] for o in res}=={1}
    assert len({o[2] for o in res} | {os.getpid()})==4
    assert all(torch.equal(o[3], res[0][3]) for o in res), 'each begins with the random numbers of the parent'
    assert torch.equal(rand, torch.get_rng_state())
    assert 'RANK' not in os.environ and 'MASTER_PORT' not in os.environ
    assert not any(alive(o[2]) for o in res)

def test_one_process():
    def f(): return find_team(),os.environ['WORLD_SIZE']
    assert launch(f, n=1, timeout=LIMIT)=={0:(None, '1')}

def prints():
    print('one\ntwo')
    print('warned', file=sys.stderr)
    os.system('echo shell')
    print('-'*100_000)  # more than a pipe holds
    print('no end')

def test_output(capsys):
    "That of the first process is shown as it is, that of others with their rank"
    together(prints)
    out,err = capsys.readouterr()
    theirs = [o.removeprefix('rank 1: ') for o in out.splitlines() if o.startswith('rank 1: ')]
    mine = [o for o in out.splitlines() if not o.startswith('rank 1: ')]
    want = ['one', 'two', 'shell', '-'*100_000, 'no end']
    assert theirs==want and mine==want, 'no line is in another'
    assert sorted(err.splitlines())==['rank 1: warned', 'warned']

def raise_in(rank, e):
    "`e` in one process, while the others wait for it"
    team = find_team()
    try:
        if team.rank==rank: raise e
        team.gather(1)
    except Exception as e: raise team.fail(e) from None

@pytest.mark.parametrize('rank', [0, 1])
def test_the_error_that_came_first(rank):
    start = time.monotonic()
    with pytest.raises(KeyError, match='boom') as e: together(raise_in, rank, KeyError('boom'), n=3)
    assert f'rank {rank} raised this error' in e.value.__notes__[0] and 'in raise_in' in e.value.__notes__[0]
    assert time.monotonic()-start<SOON

def test_an_error_that_can_not_be_sent():
    with pytest.raises(PeerError, match='rank 1 failed: Odd: 1 and 2') as e: together(raise_in, 1, Odd(1, 2))
    assert 'in raise_in' in e.value.__notes__[0]

def test_sys_exit_does_not_end_the_parent():
    with pytest.raises(PeerError, match='rank . failed: SystemExit: 3'): together(sys.exit, 3)

def test_what_can_not_be_sent():
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

def test_time_limit(tmp_path):
    with pytest.raises(TimeoutError, match='2 of 2 processes did not finish within 3 s') as e:
        together(hang, tmp_path, timeout=3)
    assert str(e.value).count('in hang')==2, 'it says where they were'
    assert not any(map(alive, pids(tmp_path)))

def one_hangs(path):
    if os.environ['RANK']=='0': hang(path)
    raise ValueError('no wait')

def test_the_others_are_ended(tmp_path):
    "One that doesn't hear of the error isn't waited for"
    with pytest.raises(ValueError, match='no wait'): together(one_hangs, tmp_path)
    assert not alive(pids(tmp_path, 1)[0])

def deaf(path):
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    hang(path)

def parent(f, path):
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try: launch(f, path)
    except KeyboardInterrupt: os._exit(7)

@pytest.mark.parametrize('sig,f,code', [(signal.SIGINT, hang, 7), (signal.SIGINT, deaf, 7), (signal.SIGKILL, hang, -9)])
def test_the_parent_is_ended(tmp_path, sig, f, code):
    "By Ctrl-C, by a second one where the first isn't heard, or by a kill: nobody is left"
    p = mp.get_context('fork').Process(target=parent, args=(f, tmp_path))
    p.start()
    try:
        until = time.monotonic()+SOON
        while not all((tmp_path/r).exists() and (tmp_path/r).read_text() for r in '01'): assert time.monotonic()<until
        os.kill(p.pid, sig)
        if f is deaf:
            p.join(1)
            assert p.is_alive(), 'it waits for its children'
            os.kill(p.pid, sig)
        p.join(SOON)
        assert p.exitcode==code
        until = time.monotonic()+SOON
        while any(map(alive, pids(tmp_path))): assert time.monotonic()<until
    finally: p.kill()

def test_what_is_refused(monkeypatch):
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
