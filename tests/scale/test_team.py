"Processes exchange values, and an error or the death of one ends the others. Several checks share a launch"
import multiprocessing as mp, os, signal, socket, sys, time
from contextlib import suppress
import pytest, torch, torch.distributed as dist
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from helpers import silent
from learnloop import Callback, Learner, PeerError
from learnloop.scale.team import _connections, find_team
from together import LIMIT, SOON, ending, together

def mk_learn(*cbs, **kwargs):
    torch.manual_seed(0)
    x = torch.randn(32, 4)
    ds = TensorDataset(x, x.sum(1, keepdim=True))
    return silent(Learner((DataLoader(ds, 8), DataLoader(ds, 8)), nn.Linear(4, 1), nn.functional.mse_loss, cbs=cbs, lr=.1)).to_ddp(**kwargs)

class At(Callback):
    "Calls `f` at `event` of batch 2 in the process `rank`"
    def __init__(self, event, rank, f, rank_invariant=False):
        super().__init__(name='at', **{event: At.hit})
        self.rank,self.f,self.rank_invariant = rank,f,rank_invariant
    def hit(self):
        if self.learn.team.rank==self.rank and self.learn.iter==2: self.f()

def boom(): raise ValueError('boom')
def kill(): os.kill(os.getpid(), signal.SIGKILL)

def exchanged():
    team = find_team()
    assert find_team() is team, 'all learners share one'
    r = team.rank
    assert team.gather(dict(r=r, t=torch.full((r+1,), r)))[-1]['t'].tolist()==[team.world-1]*team.world
    assert team.gather('x'*1000*r)==['x'*1000*i for i in range(team.world)]
    assert team.from_first(['a', r])==['a', 0]
    done = []
    team.first(done.append, r)
    assert done==([0] if team.is_first else [])
    rows = team.meet('here', number=-r)
    assert rows==[('here', '', -i) for i in range(team.world)]
    n = team.n_meets
    team.meet('x'*40)
    assert team.n_meets==n+1 and team.seconds>0
    return repr(team)

@pytest.mark.parametrize('n', [2, 4, 9])  # with more than eight, the first process collects the rows
def test_processes_exchange_values(n): assert together(exchanged, n=n)==[f'Team(rank={i}, world={n})' for i in range(n)]

def refusals():
    team,res = find_team(),[]
    def write(): raise NotADirectoryError('no such folder')
    res.append(ending(team.first, write))
    assert not team.broken, 'an error of all keeps the connection'
    res.append(ending(team.gather, At))  # no plain data: an error before anything is exchanged
    team.meet('still there')
    res.append(ending(team.meet, 'save' if team.is_first else 'backward'))
    return res

def test_all_processes_raise_the_error_of_one():
    (a,pa,ma),(b,pb,mb) = together(refusals)
    assert a==('NotADirectoryError', 'no such folder')
    assert b==('PeerError', 'rank 0 failed: NotADirectoryError: no such folder')
    assert ma==mb==('RuntimeError', 'the processes are at different places: rank 0 at save, rank 1 at backward. '
        'All of them must run the same steps of a fit')

def fit(event, rank, f, rank_invariant=False, limit=LIMIT):
    "Return type and text of the error that ends a fit, of its cause, its time, and the errors of later calls"
    learn = mk_learn(At(event, rank, f, rank_invariant), timeout=limit)
    try: learn.fit(1)
    except BaseException as e:
        res = type(e).__name__,str(e),type(e.__cause__).__name__,time.monotonic()
        again = [ending(learn.fit, 1), ending(learn.validate), ending(lambda: mk_learn().fit(1))]
        return *res,again

def check_parted(res, rank, name, text):
    mine,others = res[rank],res[:rank]+res[rank+1:]
    assert mine[:2]==(name, text)
    for o in others:
        assert o[0]=='PeerError' and o[2]!='NoneType', o
        want = f'rank {rank} failed: {name}: {text}'.removesuffix(': ')
        assert o[1].startswith(want) and 'in At.after_loss; epoch 0, batch 2 of training' in o[1], o
    times = [o[3] for o in res]
    assert max(times)-min(times)<SOON, 'they waited for the limit of the fit'
    for o in res:
        for err in o[4]: assert err[0]=='PeerError' and err[1].startswith('the processes are disconnected: '), err

@pytest.mark.parametrize('rank,rank_invariant,n', [(0, False, 2), (1, True, 2), (2, False, 3)])
def test_an_error_of_one_ends_the_fit_of_all(rank, rank_invariant, n):
    "74: it is noticed in a meeting, or in an exchange of gradients, and the process lives on"
    check_parted(together(fit, 'after_loss', rank, boom, rank_invariant, n=n), rank, 'ValueError', 'boom')

def ctrl_c(): raise KeyboardInterrupt
def test_ctrl_c_or_exit_of_one_ends_the_fit_of_all():
    check_parted(together(fit, 'after_loss', 1, ctrl_c), 1, 'KeyboardInterrupt', '')
    check_parted(together(fit, 'after_loss', 0, lambda: sys.exit(3)), 0, 'SystemExit', '3')

@pytest.mark.parametrize('where', ['loader', 'model', 'save'])
def test_an_error_of_loader_model_or_file_reaches_all(where, tmp_path):
    "Case 74"
    def f():
        learn = mk_learn()
        if where=='loader' and learn.team.rank==1: learn.dls.train.collate_fn = lambda b: boom()
        if where=='model' and learn.team.rank==1: learn.model.forward = lambda x: boom()
        if where=='save': return ending(learn.team.first, boom)
        return ending(learn.fit, 1)
    a,b = together(f)
    if where=='save': a,b = b,a
    assert b==('ValueError', 'boom')
    assert a[0]=='PeerError' and 'failed: ValueError: boom' in a[1]

def fail_while_gloo_waits():
    team = find_team()
    if team.is_first: return team.store.wait(['parted'])
    team.all_reduce_max(torch.tensor(1))
    res = team.fail(ValueError('boom'))
    team.store.set('parted', '')
    return str(res),dist.is_initialized()

def test_an_error_does_not_wait_for_gloo(monkeypatch):
    "As if gloo didn't notice that a connection was cut, and waited forever"
    monkeypatch.setattr('learnloop.scale.team._cut', lambda inodes: None)
    assert together(fail_while_gloo_waits, timeout=60)[1]==('boom', False)

def told_by(event, rank, f, rank_invariant, folder):
    res = fit(event, rank, f, rank_invariant)
    with open(f'{folder}/{os.environ["RANK"]}', 'w') as o: o.write(' '.join(map(str, res[:2])))

@pytest.mark.parametrize('rank,rank_invariant', [(0, True), (2, False)])
def test_the_others_report_a_killed_process(rank, rank_invariant, tmp_path):
    "Also rank 0, as another process keeps the store"
    start = time.monotonic()
    with pytest.raises(PeerError, match=f'rank {rank} was killed by SIGKILL'):
        together(told_by, 'after_loss', rank, kill, rank_invariant, tmp_path, n=3)
    assert time.monotonic()-start<SOON
    said = [(tmp_path/str(r)).read_text() for r in range(3) if r!=rank]
    text = f'PeerError rank {rank} died without an error message, perhaps killed: see what the launcher of the processes reports'
    assert said==[text]*2

def own_store(port, rank, f, rank_invariant=False):
    "As `torchrun` with a store of rank 0"
    os.environ.update(TORCHELASTIC_USE_AGENT_STORE='False', MASTER_PORT=str(port))
    return fit('after_loss', rank, f, rank_invariant)

def told_with_own_store(port, rank, f, folder):
    res = own_store(port, rank, f)
    with open(f'{folder}/{os.environ["RANK"]}', 'w') as o: o.write(' '.join(map(str, res[:2])))

@pytest.fixture
def port():
    "Return a free port outside of the range that the system gives to others"
    for port in range(15_000 + os.getpid()%10_000, 32_000):
        with suppress(OSError), socket.create_server(('127.0.0.1', port)): return port

def test_rank_0_keeps_the_store(port, tmp_path):
    check_parted(together(own_store, port, 0, boom), 0, 'ValueError', 'boom')
    with pytest.raises(PeerError, match='rank 0 was killed'): together(told_with_own_store, port, 0, kill, tmp_path)
    assert (tmp_path/'1').read_text()=='PeerError rank 0 is gone, and with it the store that holds the error'

def test_a_process_that_misses_a_meeting_is_named():
    "In all processes, also in the one that comes too late"
    done = mp.get_context('fork').Semaphore(0)  # released by the two others
    def _fit():
        res = fit('after_loss', 1, lambda: [done.acquire(timeout=SOON) for _ in range(2)], False, 15.)
        done.release()
        return res
    res = together(_fit, n=3)
    for o in res:
        assert o[0]=='PeerError' and o[1].startswith("rank 1 did not arrive at 'backward', where rank "), o
    assert max(res[r][3] for r in (0, 2))<res[1][3]

def join(path, backend='gloo'):
    "Create a group without environment variables, as other libraries do"
    rank = int(os.environ['RANK'])
    for k in ('RANK', 'WORLD_SIZE', 'LOCAL_RANK', 'MASTER_ADDR', 'MASTER_PORT'): del os.environ[k]
    dist.init_process_group(backend, init_method=f'file://{path}', rank=rank, world_size=2)
    return rank

def in_existing_group(path):
    rank,before = join(path),{*_connections()}
    learn = mk_learn()
    learn.fit(1)
    group = dist.new_group()
    assert len({*_connections()}-before)>=3, 'connections of the team or of the new group are missing'
    def wait_or_fail(): dist.all_reduce(torch.ones(1), group=group) if rank==0 else boom()
    learn.add_cb(At('after_loss', rank, wait_or_fail))
    return ending(learn.fit, 1),learn.team.rank

def test_a_fit_joins_an_existing_group(tmp_path):
    "An error also ends the wait of another process in a second group"
    (a,ra),(b,rb) = together(in_existing_group, tmp_path/'store')
    assert (ra, rb)==(0, 1) and b==('ValueError', 'boom')
    assert a[0]=='PeerError' and a[1].startswith('rank 1 failed: ValueError: boom')

def without_cpu(path):
    rank = join(path, 'cuda:gloo')
    return find_team().gather(rank),ending(dist.all_reduce, torch.ones(1))[1]

def test_a_team_works_in_a_group_without_cpu_tensors(tmp_path):
    for got,err in together(without_cpu, tmp_path/'store'): assert got==[0, 1] and 'No backend type' in err

def test_one_process_has_no_team(monkeypatch):
    monkeypatch.setenv('WORLD_SIZE', '1')
    assert find_team() is None
    dist.init_process_group('gloo', store=dist.HashStore(), rank=0, world_size=1)
    try: assert find_team() is None
    finally: dist.destroy_process_group()

def test_restarts_on_several_hosts_need_a_store_of_their_own(monkeypatch):
    from learnloop.scale import team
    env = dict(TORCHELASTIC_MAX_RESTARTS='3', TORCHELASTIC_USE_AGENT_STORE='True', LOCAL_WORLD_SIZE='2', WORLD_SIZE='4')
    for k,v in (env | dict(RANK='0')).items(): monkeypatch.setenv(k, v)
    with pytest.warns(UserWarning, match='set TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1'): assert team._store()=={}
    monkeypatch.setenv('TORCHELASTIC_USE_AGENT_STORE', 'False')
    assert team._store()=={}  # without a warning
