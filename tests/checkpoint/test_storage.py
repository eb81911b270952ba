"Checkpoints on disk are whole or absent after any failure, damaged files are named, and reading runs no code"
import errno, hashlib, json, math, os, pickle, shutil, signal, sys, tempfile, time
from collections import Counter, OrderedDict, defaultdict, namedtuple
from datetime import datetime
from enum import IntEnum
from functools import partial
from itertools import product
from pathlib import Path
import numpy as np, pytest, torch
from helpers import cover, covering, mk_learner, same, weights, quiet
from hypothesis import given, strategies as st
from learnloop import (Callback, Checkpoint, CheckpointCallback, DamagedCheckpoint, list_checkpoints, load_export, load_learner, load_model, newest_checkpoint)
from learnloop.checkpoint.files import read_state
from learnloop.checkpoint.storage import HashingFile, _sealed, from_plain, locked_folder, new_checkpoint, prune, to_plain
from learnloop.checkpoint import storage
from learnloop.app.cli import show_checkpoints
from learnloop.measure.series import Frozen, Series
from learnloop.see.report import report_from
from learnloop.checkpoint.schema import misfit
from torch import nn

@pytest.fixture
def folder(tmp_path): return tmp_path/'run'

def put(folder, step, value=None, **info):
    "Write a checkpoint whose files say `value`"
    v = float(step if value is None else value)
    with new_checkpoint(folder, step, **info) as write:
        write('model.pt', dict(w=torch.full((300,), v)))
        write('state.json', dict(v=v))
    return folder/f'step-{step:09d}'

def value(c):
    "Return the value in a checkpoint, verified"
    c.verify()
    assert c.read('model.pt')['w'].tolist()==[v := c.read('state.json')['v']]*300
    return v

def names(folder): return sorted(p.name for p in folder.iterdir() if p.name!='.lock')
def steps(folder): return [o.step for o in list_checkpoints(folder) if not o.damage]
def step_names(*steps): return [f'step-{o:09d}' for o in steps]

# ---- plain data

def alike(a, b):
    "Equality of values and of types, NaN included"
    if type(a) is not type(b): return False
    if isinstance(a, (torch.Tensor,np.ndarray)): return a.dtype==b.dtype and a.shape==b.shape and alike(a.tolist(), b.tolist())
    if isinstance(a, float): return a==b and math.copysign(1, a)==math.copysign(1, b) or a!=a and b!=b
    if isinstance(a, dict): return len(a)==len(b) and all(alike(x, y) for x,y in zip(a.items(), b.items(), strict=True))
    if isinstance(a, set): return len(a)==len(b) and all(any(alike(x, y) for y in b) for x in a)
    return len(a)==len(b) and all(map(alike, a, b)) if isinstance(a, (list,tuple)) else a==b

def there_and_back(o):
    plain = to_plain(o, tensors := {})
    return from_plain(json.loads(json.dumps(plain, allow_nan=False)), tensors)

ints,floats,texts = st.integers(-2**70, 2**70),st.floats(),st.text(max_size=5) | st.sampled_from(['', '$', '$tensor', '$items', '$x', '0', '1', 'a', 'a.b', 'b', "a'"])
keys = st.recursive(st.none() | st.booleans() | ints | floats.filter(lambda f: f==f) | texts, lambda o: st.lists(o, max_size=3).map(tuple), max_leaves=4)
dtypes = [torch.float32, torch.bfloat16, torch.float64, torch.int64, torch.bool, torch.uint8, torch.complex64]
shapes = st.lists(st.integers(0, 3), max_size=3)
def _tensor(shape, dtype): return (torch.arange(math.prod(shape))%3).reshape(shape).to(dtype)
arrays = st.builds(lambda shape, dtype: np.arange(math.prod(shape)).reshape(shape).astype(dtype), shapes.filter(len), st.sampled_from(['f2', 'f4', 'f8', 'i1', 'i8', 'u2', 'u8', '?']))
long = st.integers(60, 70).flatmap(lambda n: st.sampled_from([0, 1., True, -0., float('nan'), 2**63, -2**63, 2**63-1]).map(lambda v: [v]*n))
sets = st.sets(keys, max_size=3) | st.lists(keys, max_size=3).map(Counter)
leaves = st.none() | st.booleans() | ints | floats | texts | st.builds(_tensor, shapes, st.sampled_from(dtypes)) | arrays | long | sets
nested = st.recursive(leaves, lambda o: st.lists(o, max_size=4) | st.lists(o, max_size=4).map(tuple) | st.dictionaries(keys, o, max_size=4), max_leaves=12)

@given(nested)
def test_what_is_saved_comes_back(o): assert alike(there_and_back(o), o)

@pytest.mark.parametrize('o', [[1]*65 + [True], [1.]*65 + [1], [True]*70, [0]*70 + [2**63], [-2**63]*70, [0.]*70 + [math.nan, math.inf, -0.]], ids=repr)
def test_long_lists_keep_their_types(o): assert alike(there_and_back(o), o)

@pytest.mark.parametrize('o,want', [(np.float64(.1), .1), (np.float32(.5), .5), (np.float64('nan'), math.nan), (np.int64(3), 3), (np.uint64(2**64-1), 2**64-1),
    (np.bool_(True), True), (np.array(2.), 2.), (np.float16(.5), .5), (OrderedDict(a=1), dict(a=1)), (nn.Parameter(torch.ones(2)), torch.ones(2))], ids=repr)
def test_numbers_of_numpy_become_pythons(o, want): assert alike(there_and_back(o), want)

@pytest.mark.parametrize('a', [np.arange(6)[::-2], np.arange(6).reshape(2, 3).T, np.arange(3, dtype='>i4'), np.zeros((0, 3), 'f4')], ids=repr)
def test_arrays_of_any_layout(a):
    b = there_and_back(a)
    assert np.array_equal(a, b) and a.dtype.kind==b.dtype.kind and a.dtype.itemsize==b.dtype.itemsize and a.shape==b.shape

class Level(IntEnum): low = 1
class Odd(torch.Tensor): pass
Pair = namedtuple('Pair', 'a b')

BAD = [Path('x'), lambda: 0, Level.low, Pair(1, 2), frozenset([1]), 1j, b'x', defaultdict(int), datetime(2020, 1, 1), range(3), torch.float32,
    torch.Size([1]), torch.ones(2).as_subclass(Odd), nn.Linear(1, 1), np.array(['a']), np.array([None]), np.datetime64('2020-01-01'), np.longdouble(1), np.ones(2, 'c8'),
    np.str_('a')]
WRAPS = dict(dict=lambda o: dict(tracker=dict(best=o)), list=lambda o: dict(tracker=dict(best=[1, o])), deep=lambda o: dict(tracker=dict(best=(0, {3:o}))))

@covering(bad=BAD, wrap=WRAPS)
def test_case_50_state_that_cannot_be_read_back_is_refused_by_its_place(bad, wrap):
    with pytest.raises(TypeError, match=r"^callbacks\.tracker\.best(\.1(\.3)?)? is .*which a checkpoint can't hold: return numbers"): to_plain(WRAPS[wrap](bad), {}, 'callbacks')

def test_an_odd_key_is_refused_by_its_place():
    with pytest.raises(TypeError, match=r"^a\.key (Posix)?Path\('x'\) is"): to_plain(dict(a={Path('x'):1}), {})

# ---- order of what reaches the disk

def logged(monkeypatch):
    "The operations that touch the disk, from now on"
    log = []
    def _wrap(nm, describe):
        f = getattr(os, nm)
        def _f(*args, **kw):
            log.append((nm, *describe(*args, **kw)))
            return f(*args, **kw)
        monkeypatch.setattr(os, nm, _f)
    def _short(p): return Path(p).name[1:4] if Path(p).name.startswith(('.tmp','.del')) else Path(p).name
    _wrap('fsync', lambda fd: (_short(os.readlink(f'/proc/self/fd/{fd}')),))
    for nm in ('rename','mkdir'): _wrap(nm, lambda *a, **kw: tuple(_short(o) for o in a[:2] if isinstance(o, (str,os.PathLike))))
    for nm in ('unlink','rmdir'): _wrap(nm, lambda p, **kw: (_short(p),))
    write = HashingFile.write
    def _write(self, b):
        if log[-1:]!=[('write', Path(self.f.name).name)]: log.append(('write', Path(self.f.name).name))
        return write(self, b)
    monkeypatch.setattr(HashingFile, 'write', _write)
    return log

def test_data_then_manifest_then_folder_then_name_and_only_then_deletions(tmp_path, monkeypatch):
    log = logged(monkeypatch)
    folder = tmp_path/'a'/'run'
    put(folder, 1)
    name, = step_names(1)
    files = [o for nm in ('model.pt','state.json','manifest.json') for o in (('write', nm), ('fsync', nm))]
    made = [('mkdir', 'a'), ('fsync', tmp_path.name), ('mkdir', 'run'), ('fsync', 'a')]
    assert log==[*made, ('mkdir', 'tmp'), *files, ('fsync', 'tmp'), ('rename', 'tmp', name), ('fsync', 'run')]
    log.clear()
    put(folder, 1, 2)
    assert [o for o in log if o[0]!='unlink']==[('mkdir', 'tmp'), *files, ('fsync', 'tmp'), ('rename', name, f'.old-{name}'), ('rename', 'tmp', name), ('fsync', 'run'), ('rename', f'.old-{name}', 'del'), ('rmdir', 'del')]
    assert all(o[0]!='unlink' for o in log[:log.index(('fsync', 'run'))]) and log[-1][0]=='rmdir'

def test_large_pieces_are_hashed_as_well(tmp_path):
    f,data = HashingFile(tmp_path/'x'),os.urandom(3*2**20)
    for part in (data[:10], data[10:], torch.arange(2**19).numpy()): f.write(part)
    both = data + torch.arange(2**19).numpy().tobytes()
    assert f.close()==dict(size=len(both), blake2b=hashlib.blake2b(both, digest_size=32).hexdigest()) and (tmp_path/'x').read_bytes()==both

# ---- damage

def flip(p):
    b = bytearray(p.read_bytes())
    b[len(b)//2] ^= 1
    p.write_bytes(b)
def zero_tail(p): p.write_bytes((b := p.read_bytes())[:-16] + bytes(len(b[-16:])))
def shorten(p, n): os.truncate(p, n(p.stat().st_size))
DAMAGE = dict(a_byte_less=lambda p: shorten(p, lambda n: n-1), half=lambda p: shorten(p, lambda n: n//2), nothing=lambda p: shorten(p, lambda n: 0),
    a_byte_more=lambda p: p.write_bytes(p.read_bytes() + b'\0'), one_bit=flip, zero_tail=zero_tail, removed=lambda p: p.unlink(), swapped=None,
    a_folder=lambda p: (p.unlink(), p.mkdir()))
FILES = 'model.pt','opt.pt','tensors.pt','state.json','manifest.json'

@pytest.fixture(scope='module')
def runs(tmp_path_factory):
    "A folder with checkpoints of three places, and the weights at the end of the fit"
    folder = tmp_path_factory.mktemp('runs')/'run'
    learn = quiet(mk(), 2, cbs=CheckpointCallback(folder, every_steps=2, keep=None))
    return folder,weights(learn.model)

def mk(): return mk_learner(opt_func=torch.optim.Adam, defaults=True)

@pytest.fixture
def damaged(runs, tmp_path):
    folder = shutil.copytree(runs[0], tmp_path/'run')
    return folder,list_checkpoints(folder)

@covering(file=FILES, how=DAMAGE)
def test_cases_41_to_44_a_damaged_file_is_named_and_the_fit_resumes_from_the_checkpoint_before(how, file, damaged, runs):
    folder,there = damaged
    newest,before = there[-1],there[-2]
    if how=='swapped': (newest.path/file).write_bytes((before.path/file).read_bytes())
    else: DAMAGE[how](newest.path/file)
    with pytest.raises(DamagedCheckpoint, match=f'{newest.path.name}/{file} '): Checkpoint(newest.path).verify()
    assert [bool(o.damage) for o in list_checkpoints(folder)][-2:]==[False, True]
    learn = mk()
    with learn.no_logging(), learn.no_bar(), pytest.warns(UserWarning, match=f'resuming from .*{before.path.name}, because newer ones cannot be used: .*{newest.path.name}/{file} '):
        learn.fit(2, resume=folder)
    assert same(weights(learn.model), runs[1]) and learn.count.opt_steps==6
    assert not list_checkpoints(folder)[-1].damage  # it was written again

def test_any_bit_of_any_byte(tmp_path):
    c = Checkpoint(put(tmp_path, 1, metrics=dict(a=.5)))
    for nm in ('state.json','manifest.json'):
        good = (c.path/nm).read_bytes()
        for i in range(0, 8*len(good), 13):
            b = bytearray(good)
            b[i//8] ^= 1<<i%8
            (c.path/nm).write_bytes(b)
            with pytest.raises(DamagedCheckpoint, match=nm): Checkpoint(c.path).verify()
        (c.path/nm).write_bytes(good)
    assert value(Checkpoint(c.path))==1

def reseal(path, **changes):
    "Make the manifest agree with the files as they are, as somebody with bad intentions would"
    body = json.loads((path/'manifest.json').read_text()) | changes
    body['files'] = {nm:dict(size=len(b := (path/nm).read_bytes()), blake2b=hashlib.blake2b(b, digest_size=32).hexdigest()) for nm in body['files']}
    (path/'manifest.json').write_text(_sealed({k:v for k,v in body.items() if k!='blake2b'}))

def test_case_49_a_newer_layout_is_named_and_skipped(folder):
    put(folder, 1)
    reseal(put(folder, 2), version=storage.VERSION+1, learnloop='99.0')
    with pytest.warns(UserWarning, match=r'manifest.json was written by learnloop 99\.0, in layout 4: this version reads layouts up to 3, so update learnloop'): assert newest_checkpoint(folder).step==1

def test_case_45_all_damaged_is_one_error_that_lists_them(folder):
    for i in (1, 2): flip(put(folder, i)/'model.pt')
    before = names(folder)
    with pytest.raises(DamagedCheckpoint, match=r'no checkpoint to resume from: .*step-000000002/model.pt is damaged.*; .*step-000000001/model.pt is damaged'): newest_checkpoint(folder)
    learn = mk()
    with learn.no_logging(), learn.no_bar(), pytest.raises(DamagedCheckpoint, match='no checkpoint to resume from'): learn.fit(1, resume=folder)
    assert names(folder)==before and learn.count.opt_steps==0

def test_a_checkpoint_under_the_name_of_another(folder):
    put(folder, 1)
    os.rename(put(folder, 2), folder/'step-000000003')
    with pytest.warns(UserWarning, match='step-000000003/manifest.json is from step 2'): assert value(newest_checkpoint(folder))==1

def test_a_manifest_that_is_too_deep_to_parse(folder):
    p = put(folder, 1)
    (p/'manifest.json').write_text('['*100_000)
    assert 'manifest.json is damaged' in Checkpoint(p).damage

def test_a_disk_that_cannot_be_read_is_damage(folder, monkeypatch):
    put(folder, 1)
    bad,digest = put(folder, 2)/'model.pt',hashlib.file_digest
    def _digest(f, *args):
        if f.name==str(bad): raise OSError(errno.EIO, 'Input/output error')
        return digest(f, *args)
    monkeypatch.setattr(hashlib, 'file_digest', _digest)
    with pytest.warns(UserWarning, match=r'step-000000002/model.pt is unreadable \(\[Errno 5\]'): assert newest_checkpoint(folder).step==1

# ---- hostile files

class Evil:
    def __init__(self, marker): self.marker = str(marker)
    def __reduce__(self): return os.mkdir,(self.marker,)

EVIL = dict(raw=lambda o, p: p.write_bytes(pickle.dumps(o)), zip=torch.save, legacy=lambda o, p: torch.save(o, p, _use_new_zipfile_serialization=False),
    inside=lambda o, p: torch.save(dict(model=dict(w=torch.ones(1), x=o), opt=o), p))

@covering(how=EVIL, file=FILES)
def test_case_51_a_hostile_pickle_in_a_checkpoint_does_not_run(file, how, damaged, tmp_path):
    folder,there = damaged
    for o in there[:-1]: shutil.rmtree(o.path)
    EVIL[how](Evil(tmp_path/'evil'), (p := there[-1].path)/file)
    if file!='manifest.json': reseal(p)
    learn = mk()
    before = weights(learn.model)
    def _resume(): learn.fit(2, resume=folder)
    for f in (_resume, *(partial(learn.load_checkpoint, o) for o in (folder, p, Checkpoint(p))), partial(Checkpoint(p).read, file)):
        with learn.no_logging(), learn.no_bar(), pytest.raises(ValueError, match=file): f()
    list_checkpoints(folder)
    assert not (tmp_path/'evil').exists() and same(learn.model, before) and not learn.count.opt_steps

@pytest.mark.parametrize('how', EVIL)
def test_case_51_a_hostile_pickle_elsewhere_does_not_run(how, tmp_path):
    EVIL[how](Evil(tmp_path/'evil'), p := tmp_path/'x.pth')
    shutil.copy(p, s := tmp_path/'x.safetensors')
    learn = mk()
    before = weights(learn.model)
    reads = [partial(f, p) for f in (learn.load, read_state, partial(load_model, model=learn.model))]
    reads += [partial(f, s, learn.model) for f in (load_export, load_learner)]
    for f in reads:
        with pytest.raises(ValueError, match=r'x\.(pth|safetensors)'): f()
        with open(p, 'rb') as file, pytest.raises(ValueError): read_state(file)
    assert not (tmp_path/'evil').exists() and same(learn.model, before)

# ---- failures while writing

OPS = 'write','fsync','rename','mkdir'

class Fail:
    "Raise `err` at the `n`-th operation on files"
    def __init__(self, monkeypatch, n, err, ops=OPS):
        self.n,self.err,self.count,self.hit = n,err,0,None
        for nm in ops:
            o = HashingFile if nm=='write' else os
            monkeypatch.setattr(o, nm, self.wrap(nm, getattr(o, nm)))
    def wrap(self, nm, f):
        def _f(*args, **kwargs):
            self.count += 1
            if self.count==self.n:
                self.hit = nm
                raise self.err
            return f(*args, **kwargs)
        return _f

def n_ops(monkeypatch, f):
    "How many operations `f` takes"
    with monkeypatch.context() as m:
        o = Fail(m, 0, None)
        f()
    return o.count

ERRORS = OSError(errno.ENOSPC, 'No space left on device'),OSError(errno.EIO, 'Input/output error'),KeyboardInterrupt(),MemoryError()

@pytest.mark.parametrize('err', ERRORS, ids=lambda e: type(e).__name__ + str(getattr(e, 'errno', '')))
@pytest.mark.parametrize('again', [False, True], ids=['new', 'of a step that is there'])
def test_case_67_a_failure_at_each_operation_leaves_what_was_there(err, again, tmp_path, monkeypatch):
    total = n_ops(monkeypatch, lambda: (put(tmp_path/'x', 1), put(tmp_path/'x', 1 if again else 2, 9))) - n_ops(monkeypatch, lambda: put(tmp_path/'y', 1))
    assert total>=8
    hit = set()
    total -= again  # the last of all moves the old one out of the way: see below
    for n in range(1, total+1):
        folder = tmp_path/f'run{n}'
        put(folder, 1)
        err.__dict__.pop('__notes__', None)
        with monkeypatch.context() as m, pytest.raises(type(err)) as e:
            f = Fail(m, n, err)
            put(folder, 1 if again else 2, 9)
        hit.add(f.hit)
        assert e.value is err
        note = e.value.__notes__[-1]
        assert str(folder/step_names(1 if again else 2)[0]) in note and ('bytes are free' in note)==(getattr(err, 'errno', 0)==errno.ENOSPC), note
        last = n==total  # syncing the folder, when the new one is there already
        assert names(folder)==(step_names(1) if again else step_names(1, 2) if last else step_names(1))
        assert value(newest_checkpoint(folder))==(9 if last else 1)
        put(folder, 3)
        assert value(newest_checkpoint(folder))==3
    assert hit==set(OPS)

def test_a_replaced_checkpoint_that_could_not_be_deleted_is_not_used(folder, monkeypatch):
    put(folder, 1)
    total = n_ops(monkeypatch, lambda: put(folder, 1, 9))
    with monkeypatch.context() as m:
        Fail(m, total, OSError(errno.EIO, 'Input/output error'))
        put(folder, 1, 8)  # the new one is there: no error
    assert names(folder)==['.old-step-000000001', 'step-000000001'] and value(newest_checkpoint(folder))==8
    with monkeypatch.context() as m:
        def _unlink(*args, **kwargs): raise OSError(errno.EIO, 'Input/output error')
        m.setattr(os, 'unlink', _unlink)
        put(folder, 1, 7)  # the folder aside is half deleted
    put(folder, 2)
    prune(folder, 1)
    assert [o.step for o in list_checkpoints(folder)]==[2] and not [o for o in names(folder) if o[:4]=='.old']

def test_a_deletion_syncs_the_other_name_first(folder, monkeypatch):
    "A power cut between could leave it under its own name, half deleted"
    for i in (1, 2, 3): put(folder, i)
    log = logged(monkeypatch)
    prune(folder, 1)
    kinds = [o[0] for o in log]
    assert kinds[:3]==['rename','rename','fsync'] and log[2]==('fsync', 'run') and {'unlink','rmdir'}=={*kinds[3:]}

def test_disk_full_where_no_folder_could_be_made(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Fail(monkeypatch, 1, OSError(errno.ENOSPC, 'No space left on device'))
    with pytest.raises(OSError) as e: put(Path('a/b'), 1)
    assert 'bytes are free' in e.value.__notes__[-1] and not (tmp_path/'a').exists()

def forked(f):
    "Run `f` in a process of its own, for at most a minute, and have its exit code; torch's operations on several threads aren't for there"
    if not (pid := os.fork()):
        code = 1
        try:
            signal.alarm(60)
            f()
            code = 0
        except BaseException as e: print(repr(e), getattr(e, '__notes__', ''), file=sys.stderr, flush=True)
        finally: os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

def test_case_68_a_read_only_folder_is_found_at_the_start():
    mk().create_opt()  # the other user may not be able to read the modules that this imports
    with tempfile.TemporaryDirectory() as d:
        put(folder := Path(d)/'run', 1)
        os.chmod(d, 0o755)
        (folder/'.lock').unlink(missing_ok=True)
        os.chmod(folder, 0o555)
        def _f():
            if os.getuid()==0: os.seteuid(65534)  # file modes don't restrict root
            assert value(newest_checkpoint(folder))==1 and steps(folder)==[1]
            learn = mk()
            with pytest.raises(PermissionError, match=str(folder)): learn.fit(1, cbs=CheckpointCallback(folder))
            assert learn.count.batches==0
            with pytest.raises(PermissionError) as e: put(folder, 2)
            assert 'step-000000002' in e.value.__notes__[-1]
        try: assert forked(_f)==0
        finally: os.chmod(folder, 0o755)

@pytest.mark.parametrize('sub', ['', 'below'])
def test_case_68_a_file_in_the_way_is_found_at_the_start(sub, tmp_path):
    (tmp_path/'run').write_text('x')
    learn = mk()
    with learn.no_logging(), pytest.raises(OSError, match='folder is .* is a file'): learn.fit(1, cbs=CheckpointCallback(tmp_path/'run'/sub))
    with pytest.raises(OSError, match=str(tmp_path/'run')): list_checkpoints(tmp_path/'run'/sub)
    assert learn.count.batches==0 and (tmp_path/'run').read_text()=='x'

def test_case_68_a_folder_removed_during_a_fit_is_created_again(tmp_path):
    folder,learn = tmp_path/'run',mk()
    def _remove(cb):
        if cb.learn.count.batches==4: shutil.rmtree(folder)
    with learn.no_logging(), learn.no_bar(), pytest.warns(UserWarning, match='run was deleted: it is created again'):
        learn.fit(3, cbs=[CheckpointCallback(folder, every_steps=1), Callback(before_batch=_remove)])
    assert steps(folder)==[8, 9] and learn.count.batches==9

# ---- locks and leftovers

def test_case_55_a_second_run_in_one_folder_is_refused(folder):
    with locked_folder(folder):
        with pytest.raises(RuntimeError, match='another run writes its checkpoints to .*run: give each'), locked_folder(folder): pass
        with pytest.raises(RuntimeError, match='another run'), locked_folder(folder.parent/'x'/'..'/'run'): pass
        def _other():
            storage._held.clear()  # of its parent
            with pytest.raises(RuntimeError, match='another run writes'), locked_folder(folder): pass
        assert forked(_other)==0
    with locked_folder(folder): pass

def test_a_forked_process_does_not_hold_the_lock_of_its_killed_parent(folder):
    "As workers of a loader are, which may outlive a killed run"
    (r,w),(is_there,there) = os.pipe(),os.pipe()
    def _run():
        with locked_folder(folder):
            if not os.fork():
                os.close(w)
                os.write(there, b'x')
                os.read(r, 1)  # until the test has ended
                os._exit(0)
            os.read(is_there, 1)
            os.kill(os.getpid(), signal.SIGKILL)
    try:
        assert forked(_run)==-signal.SIGKILL
        with locked_folder(folder): pass
    finally:
        for o in (w, r, is_there, there): os.close(o)

def test_a_file_system_without_locks_warns(folder, monkeypatch):
    import fcntl
    def _flock(*args): raise OSError(errno.ENOLCK, 'No locks available')
    monkeypatch.setattr(fcntl, 'flock', _flock)
    with pytest.warns(UserWarning, match='a file system without locks'), locked_folder(folder):
        put(folder, 1)
        with pytest.raises(RuntimeError, match='another run'), locked_folder(folder): pass
        shutil.rmtree(folder)
        with pytest.warns(UserWarning, match='run was deleted: it is created again'): put(folder, 2)
    assert names(folder)==step_names(2)

def is_locked(folder):
    "Is `folder` locked for another process?"
    def _f():
        storage._held.clear()  # of its parent
        with locked_folder(folder): pass
    return forked(_f)!=0

@pytest.mark.parametrize('touch', [lambda f: shutil.copytree(f, f.with_name('backup')), lambda f: (f/'.lock').read_bytes(), lambda f: open(f/'.lock', 'a').close(),
    lambda f: forked(lambda: open(f/'.lock', 'a').close()), lambda f: forked(lambda: None)], ids=['backup','read','append','in a fork','fork'])
def test_opening_the_lock_file_does_not_release_the_lock(touch, folder):
    with locked_folder(folder):
        touch(folder)
        assert is_locked(folder)
        put(folder, 1)
    assert not is_locked(folder)

def other_run(folder, done=False):
    "Start a process that deletes `folder`, creates it, saves step 5, and keeps the lock until the returned function is called"
    (a,b),(c,d) = os.pipe(),os.pipe()
    if not (pid := os.fork()):
        try:
            os.close(d)
            signal.alarm(60)
            storage._held.clear()
            shutil.rmtree(folder)
            with locked_folder(folder):
                put(folder, 5)
                if not done:
                    os.write(b, b'x')
                    os.read(c, 1)
            os.write(b, b'x')
        finally: os._exit(0)
    for o in (b, c): os.close(o)
    def _end():
        os.close(d)
        os.waitpid(pid, 0)
        os.close(a)
    if os.read(a, 1)==b'x': return _end
    _end()
    pytest.fail('the other run could not lock the folder')

@pytest.mark.parametrize('done', [False, True], ids=['it goes on','it is done'])
def test_a_folder_that_another_run_has_locked_is_left_alone(done, folder):
    with locked_folder(folder):
        for i in (5, 6): put(folder, i)
        end = other_run(folder, done)
        try:
            for f in (lambda: put(folder, 7), lambda: put(folder, 5), lambda: prune(folder, 1)):
                with pytest.raises(RuntimeError, match='or its file .lock was deleted while this run was using it, and ' + ('it has step-000000005' if done else 'another run writes there')): f()
                assert names(folder)==step_names(5)
        finally: end()
    assert value(newest_checkpoint(folder))==5 and not is_locked(folder)

def test_a_fit_stops_if_another_run_locks_its_folder(tmp_path):
    folder,learn,ends = tmp_path/'run',mk(),[]
    def _take(cb):
        if cb.learn.count.batches==4: ends.append(other_run(folder))
    try:
        with learn.no_logging(), learn.no_bar(), pytest.raises(RuntimeError, match='another run writes there now'):
            learn.fit(4, cbs=[CheckpointCallback(folder, every_steps=1, keep=1), Callback(before_batch=_take)])
        assert names(folder)==step_names(5) and learn.count.batches==5
    finally:
        for o in ends: o()

def test_a_deleted_lock_file_is_created_and_locked_again(folder):
    with locked_folder(folder):
        put(folder, 1)
        (folder/'.lock').unlink()
        with pytest.warns(UserWarning, match='its file .lock was deleted while this run was using it: it is locked again'): put(folder, 2)
        put(folder, 3)
        assert is_locked(folder)
        (folder/'.lock').rename(folder/'x')
        (folder/'.lock').touch()
        with pytest.warns(UserWarning, match='it is locked again'): prune(folder, 2)
        assert is_locked(folder) and steps(folder)==[2, 3]
        os.rename(folder, folder.with_name('old'))
        shutil.copytree(folder.with_name('old'), folder)
        with pytest.warns(UserWarning, match='it is locked again'): put(folder, 4)
        assert steps(folder)==[2, 3, 4] and is_locked(folder) and not is_locked(folder.with_name('old'))

def test_a_folder_whose_link_has_changed_is_refused(tmp_path):
    (link := tmp_path/'run').symlink_to(tmp_path/'a')
    for o in 'ab': (tmp_path/o).mkdir()
    put(tmp_path/'b', 9)
    with locked_folder(link):
        with pytest.raises(RuntimeError, match='another run'), locked_folder(tmp_path/'a'): pass
        put(link, 1)
        link.unlink()
        link.symlink_to(tmp_path/'b')
        with pytest.raises(RuntimeError, match='it has step-000000009'): put(link, 2)
    assert steps(tmp_path/'a')==[1] and steps(tmp_path/'b')==[9]

def test_case_54_leftovers_are_deleted_and_never_read(folder):
    put(folder, 1)
    shutil.copytree(put(folder, 5), folder/'.tmp-000000006-abcd')
    os.rename(folder/'step-000000005', folder/'.del-step-000000005-abcd')
    shutil.copytree(folder/'step-000000001', folder/'.old-step-000000001')
    (folder/'.tmp-probe').write_text('x')
    assert steps(folder)==[1] and newest_checkpoint(folder).step==1
    with locked_folder(folder): assert names(folder)==step_names(1)

def test_a_checkpoint_between_the_two_renames_is_found_and_restored(folder):
    os.rename(put(folder, 3), folder/'.old-step-000000003')
    assert steps(folder)==[3] and value(newest_checkpoint(folder))==3 and newest_checkpoint(folder).consistent
    with locked_folder(folder): assert names(folder)==step_names(3)
    assert value(newest_checkpoint(folder))==3

def test_what_a_kill_left_aside_does_not_stop_the_next_save(folder):
    shutil.copytree(put(folder, 3), folder/'.old-step-000000003')
    put(folder, 3, 9)
    assert names(folder)==step_names(3) and value(newest_checkpoint(folder))==9

@pytest.mark.parametrize('again', [False, True], ids=['next step', 'same step'])
def test_case_52_killed_at_each_operation_with_one_kept_there_is_always_one(again, tmp_path, monkeypatch):
    ops = 'fsync','rename','mkdir','unlink','rmdir'
    def _save(folder):
        with locked_folder(folder):
            put(folder, 1 if again else 2, 9)
            prune(folder, 1)
    def _killed(folder, n):
        with pytest.MonkeyPatch.context() as m:
            class Kill(Fail):
                err = property(lambda self: os.kill(os.getpid(), signal.SIGKILL), lambda self, v: None)
            Kill(m, n, None, ops)
            _save(folder)
    n,code,seen = 0,-signal.SIGKILL,set()
    while code:
        folder,n = tmp_path/f'run{n}',n+1
        put(folder, 1)
        code = forked(lambda folder=folder, n=n: _killed(folder, n))
        assert code in (0, -signal.SIGKILL)
        seen.add(v := value(newest_checkpoint(folder)))
        with locked_folder(folder): assert value(newest_checkpoint(folder))==v and all(o[:4]=='step' for o in names(folder))
        _save(folder)
        assert names(folder)==step_names(1 if again else 2) and value(newest_checkpoint(folder))==9
    assert n>10 and seen=={1, 9}

# ---- which are kept

def kept(folder, **kwargs):
    prune(folder, **kwargs)
    return steps(folder)

@pytest.mark.parametrize('kwargs,want', [(dict(keep=1), [5]), (dict(keep=2), [4, 5]), (dict(keep=None), [1, 2, 3, 4, 5]), (dict(keep=9), [1, 2, 3, 4, 5]),
    (dict(keep=1, best=1), [1, 5]), (dict(keep=2, best=2), [1, 3, 4, 5]), (dict(keep=1, best=1, better='more'), [4, 5]), (dict(keep=1, best=3), [1, 3, 4, 5]),
    (dict(keep=1, best=9), [1, 3, 4, 5]), (dict(keep=1, best=2, monitor='x'), [5]), (dict(keep=None, best=1), [1, 2, 3, 4, 5])], ids=repr)
def test_case_53_the_last_and_the_best_are_kept(kwargs, want, folder):
    for i,v in enumerate([.1, math.nan, .2, .5, None], 1): put(folder, i, metrics=dict(loss=v) if v is not None else {})
    assert kept(folder, **dict(dict(monitor='loss', better='less'), **kwargs))==want

def test_which_are_best_is_never_guessed(folder):
    for i in (1, 2, 3): put(folder, i, metrics=dict(abs_dev=1/i, valid_loss=i))
    with pytest.raises(ValueError, match="better='less' or better='more'"): prune(folder, keep=1, best=1, monitor='abs_dev')
    assert kept(folder, keep=1, best=1, monitor='valid_loss')==[1, 3]

@pytest.mark.parametrize('better', ['less', 'more'])
def test_case_37_nan_is_never_the_best(better, folder):
    for i,v in enumerate([math.nan, .3, math.nan, math.nan], 1): put(folder, i, metrics=dict(loss=v))
    assert kept(folder, keep=1, best=1, monitor='loss', better=better)==[2, 4]

def test_a_damaged_checkpoint_does_not_count_and_stays(folder):
    for i in (1, 2, 3): put(folder, i)
    flip(folder/'step-000000003'/'model.pt')
    prune(folder, 1)
    assert names(folder)==step_names(2, 3) and steps(folder)==[2]

def test_keeping_none_is_refused(folder):
    put(folder, 1)
    with pytest.raises(ValueError, match='keep is 0: a fit resumes from the newest'): prune(folder, 0)
    assert steps(folder)==[1]

def test_no_fit_resumes_from_a_torn_checkpoint_and_the_last_is_kept(folder):
    for i in (1, 2): put(folder, i, consistent=False)
    put(folder, 1)
    assert newest_checkpoint(folder).step==1 and [o.consistent for o in list_checkpoints(folder)]==[True, False, False]
    prune(folder, 1)
    assert names(folder)==['step-000000001', 'torn-000000002']

# ---- time, places, names

def test_case_70_tmpdir_has_no_effect(folder, monkeypatch):
    for v in ('TMPDIR','TEMP','TMP'): monkeypatch.setenv(v, '/nowhere')
    monkeypatch.setattr(tempfile, 'tempdir', None)
    put(folder, 1)
    assert value(newest_checkpoint(folder))==1

def test_case_73_a_clock_that_jumps_back_has_no_effect(folder, monkeypatch):
    now = time.time()
    for i in range(1, 4):
        monkeypatch.setattr(time, 'time', lambda i=i: now-1e6*i)
        os.utime(put(folder, i), (now-1e6*i,)*2)
    assert newest_checkpoint(folder).step==3 and kept(folder, keep=2)==[2, 3]

@pytest.mark.parametrize('info,err,msg', [(dict(version=3), ValueError, "'version' is reserved for the manifest"), (dict(files={}), ValueError, "'files'"), (dict(blake2b=1), ValueError, "'blake2b'"),
    (dict(note=Path('x')), TypeError, 'not JSON serializable')])
def test_bad_info_is_refused_before_anything_is_written(info, err, msg, folder):
    with pytest.raises(err, match=msg): put(folder, 1, **info)
    assert not folder.exists()

def test_info_is_read_as_json_has_it(folder):
    put(folder, 1, a=(1, 2), b={1:2, '1':3}, metrics=dict(loss=math.nan, best=math.inf))
    c, = list_checkpoints(folder)
    assert (c.damage, c.manifest['a'], c.manifest['b'], c.metrics['best'])==('', [1, 2], {'1':3}, math.inf) and c.metrics['loss']!=c.metrics['loss']

def test_checkpoints_are_listed_in_a_table(folder):
    put(folder, 1, epoch=0, metrics=dict(loss=.25, note='x'))
    put(folder, 2, consistent=False)
    flip(put(folder, 3)/'model.pt')
    a,b,c = str(list_checkpoints(folder)).splitlines()[1:]
    assert a.split()[:2]==['1', '0'] and a.endswith('loss 0.25') and b.endswith('saved in the middle of a batch') and 'step-000000003/model.pt is damaged' in c
    assert list_checkpoints(folder, verify=False)[-1].damage=='' and list_checkpoints(folder.parent/'nothing')==[]

ODD = [None, True, 'x', '', -1, 1.5, math.nan, math.inf, -1e300, 10**15, 10**400, [], [1], {}, {'a':{}}, 'a|b\nc', '\ud800']

OF_MANIFEST = 'time epoch next batch step version learnloop torch python files metrics consistent metrics.loss metrics.other size blake2b'.split()
@pytest.mark.parametrize('at,v', [*cover(product(OF_MANIFEST, ODD)), *product(['metrics.loss'], ODD[:-2])], ids=repr)
def test_an_odd_manifest_breaks_neither_lists_nor_pruning(at, v, folder):
    for i in (1, 2, 3): put(folder, i, metrics=dict(loss=i), epoch=0, next='epoch', batch=0)
    p = folder/'step-000000002'
    body = {k:o for k,o in json.loads((p/'manifest.json').read_text()).items() if k!='blake2b'}
    if at[:8]=='metrics.': body['metrics'][at[8:]] = v
    elif at in ('size','blake2b'): body['files']['model.pt'][at] = v
    else: body[at] = v
    (p/'manifest.json').write_text(_sealed(body))
    there = list_checkpoints(folder)
    assert [o.step for o in there]==[1, 2, 3] and len(str(there).splitlines())==4 and len(there._repr_markdown_().splitlines())==5
    str(there).encode()
    assert show_checkpoints(folder)==(not there[1].damage)
    assert isinstance(report_from(folder), Path)
    assert newest_checkpoint(folder).step==3
    if there[1].damage: assert 'manifest.json' in there[1].damage or 'model.pt' in there[1].damage
    prune(folder, keep=1, best=1, monitor='loss', better='less')
    is_less = at=='metrics.loss' and type(v) in (int,float) and v<1
    assert [o.step for o in list_checkpoints(folder) if not o.damage]==([2, 3] if is_less else [1, 3])

@pytest.mark.parametrize('nm', ['../x','','.','..','a/b','a\0b','\ud800','C:x'])
def test_only_names_of_files_are_read(nm, folder):
    p = put(folder, 1)/'manifest.json'
    body = {k:o for k,o in json.loads(p.read_text()).items() if k!='blake2b'}
    body['files'][nm] = dict(size=1, blake2b='')
    p.write_text(_sealed(body))
    assert 'is not the manifest of a checkpoint' in Checkpoint(p.parent).damage

MISFITS = [(3, int, None), (True, int, 'it is True'), (-1, int, 'whole number, 0 or more'), (2**63, int, 'whole'), (3, float, None), (math.nan, float, None), ('3', float, 'a number'),
    (None, (int, None), None), ('x', (int, None), "it is 'x', but must be a whole number, 0 or more or None"), ('a', {'a','b'}, None), ([], {'a','b'}, "must be one of 'a', 'b'"),
    ([1, 2], [int], None), ((1, 2), [int], None), ([1, 'x'], [int], "1 is 'x'"), ('ab', [str], 'must be a list'), ([1, math.inf], [float], None), ([1, None], [float], '1 is None'),
    ({}, {'a':int}, "it has no 'a'"), ({'a':1}, {'a?':int}, None), ({}, {'a?':int}, None), ({'b':1}, {'a?':int}, "it has an unknown entry 'b'"), ({'b':1, 3:2}, {'*':int}, None),
    ({'a':{'b':['x']}}, {'a':{'b':[int]}}, "a.b.0 is 'x'"), (3, {}, 'must be a dict'), (3, ..., None), (torch.ones(1), torch.Tensor, None), (3, torch.Tensor, 'a tensor'), (3, list, 'a list')]

@pytest.mark.parametrize('o,schema,want', MISFITS, ids=range(len(MISFITS)))
def test_a_schema_says_what_is_wrong_and_where(o, schema, want):
    got = misfit(o, schema)
    assert got is None if want is None else want in got

def test_a_part_of_a_tensor_is_written_alone():
    to_plain(dict(a=torch.zeros(1000)[:2]), tensors := {})
    assert tensors['a'].untyped_storage().nbytes()==8

# ---- parts of the history that don't change any more

def grown(folder, step, history, apart=True):
    "Write a checkpoint of `history`, a `Series` by name; the files of its closed parts"
    parts = {}
    plain = to_plain(history, tensors := {}, parts=parts)
    with new_checkpoint(folder, step) as write:
        for nm,o in {'state.json':plain, 'tensors.pt':tensors, **parts}.items(): write(nm, o, apart)
    return [folder/f'step-{step:09d}'/nm for nm in parts]

def inodes(files): return {p.name:p.stat().st_ino for p in files}
def floats(n, first=0): return Series(i/7 for i in range(first, first+n))
N = Series.part

@pytest.mark.parametrize('o', [floats(3*N), floats(N-1), floats(0), Series(range(N+3)), Series([2**63]*N), Series([.5]*N + [1]*N + [None]*N), Series([1, .5]*N),
    Series([math.inf, -0., 1e-310]*N), Series([[i, None, float(i), 'x', dict(a=[i])] for i in range(N+2)]), Series([(i, {0:{i}}) for i in range(N+2)]),
    Series([[.1]*70]*N), Series([True]*N)], ids=lambda o: f'{len(o)}-{o[:1]!r}'[:30])
def test_a_series_comes_back(o, folder):
    for v in (o, o.frozen(), dict(a=[o, {'$series':1}])):
        grown(folder, 1, v)
        (c := Checkpoint(folder/'step-000000001')).verify()
        assert alike(plainly_lists(c.plain()), plainly_lists(v))
    assert alike(there_and_back(o), list(o))  # without parts it is a list

def plainly_lists(o):
    if isinstance(o, dict): return {k:plainly_lists(v) for k,v in o.items()}
    return [*map(plainly_lists, o)] if isinstance(o, (list,Frozen)) else o

def test_a_value_that_cannot_be_saved_is_refused_in_a_series_too():
    with pytest.raises(TypeError, match=r"^callbacks\.a\.3 is .*which a checkpoint can't hold"): to_plain(dict(a=Series([1, 2, 3, Path('x'), *[0]*N])), {}, 'callbacks', {})
    plain = to_plain(dict(a=Series([torch.ones(2)]*N)), tensors := {}, parts=(parts := {}))
    assert not parts and len(from_plain(plain, tensors)['a'])==N  # tensors are no text: they are written with the others

def test_a_closed_part_is_written_once_for_each_of_two_chains(folder):
    "Two in a row share no file, so that a damaged one leaves the other"
    files = [inodes(grown(folder, i, dict(a=floats(2*N+i), b=floats(N+i, 5)))) for i in range(1, 7)]
    assert all(o.keys()==files[0].keys() and len(o)==3 for o in files)
    for a,b,c in zip(files, files[1:], files[2:], strict=False): assert a==c and not set(a.values()) & set(b.values())
    for o in list_checkpoints(folder):
        assert not o.damage and o.plain()==dict(a=floats(2*N+o.step), b=floats(N+o.step, 5)) and o.manifest['version']==2

def test_a_new_part_is_written_and_old_parts_are_shared(folder):
    files = [inodes(grown(folder, i, floats(2*N + N*(i>2)))) for i in range(1, 5)]
    assert len(files[1])==2 and len(files[2])==3 and {k:files[2][k] for k in files[0]}==files[0] and {k:files[3][k] for k in files[1]}==files[1]

def test_a_damaged_part_leaves_the_checkpoint_before(folder):
    for i in range(1, 5): files = grown(folder, i, floats(N+i))
    with open(files[0], 'r+b') as f: f.write(b'\xff')
    with pytest.warns(UserWarning, match=r'history-.*is damaged'): assert newest_checkpoint(folder).step==3
    assert [bool(o.damage) for o in list_checkpoints(folder)]==[False, True, False, True]

def to_link(p):
    os.rename(p, aside := p.with_suffix('.aside'))
    p.symlink_to(aside.name)

@pytest.mark.parametrize('change', [lambda p: p.write_bytes(b'x'*p.stat().st_size), lambda p: p.write_bytes(b'x'), Path.unlink, to_link], ids=['written', 'cut', 'gone', 'link'])
def test_a_part_that_was_changed_is_not_shared(change, folder):
    for i in (1, 2): files = grown(folder, i, floats(N))
    for o in (folder/'step-000000001'/files[0].name, files[0]):
        change(o)
        if o.exists() and not o.is_symlink(): os.utime(o, ns=(time.time_ns()+10**10,)*2)  # clocks of file systems are coarse
    new, = grown(folder, 3, floats(N))
    assert not new.is_symlink() and Checkpoint(new.parent).verify() and Checkpoint(new.parent).plain()==floats(N)

def test_a_part_is_written_again_where_there_are_no_links(folder, monkeypatch):
    def no_link(*args, **kw): raise OSError(errno.EPERM, 'no links here')
    monkeypatch.setattr(os, 'link', no_link)
    files = [inodes(grown(folder, i, floats(N))) for i in range(1, 4)]
    assert len({n for o in files for n in o.values()})==3 and all(not o.damage and o.plain()==floats(N) for o in list_checkpoints(folder))

def test_a_part_that_the_manifest_lacks_is_not_read(folder):
    grown(folder, 1, floats(N))
    c = Checkpoint(folder/'step-000000001')
    for nm in ('../step-000000001/state.json', 'history-0.f64'):
        with pytest.raises(DamagedCheckpoint, match='has no file'): c.part(nm)

def test_a_checkpoint_without_closed_parts_has_layout_1(folder):
    grown(folder, 1, dict(a=floats(N-1)))
    c = Checkpoint(folder/'step-000000001')
    assert c.verify()['version']==1 and sorted(c.manifest['files'])==['state.json', 'tensors.pt'] and c.read('state.json')=={'a':{'$numbers':'a'}}

def test_a_history_that_was_read_is_not_written_again(folder, monkeypatch):
    for i in (1, 2): grown(folder, i, floats(3*N))
    s = Checkpoint(folder/'step-000000002').plain()
    s.append(1.)
    monkeypatch.setattr(storage, '_encode', None)
    grown(folder, 3, s)
    assert Checkpoint(folder/'step-000000003').plain()==[*floats(3*N), 1.]
