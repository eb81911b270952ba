"Runs that are killed and begun again end as if nobody had touched them: a part of what `python -m benchmarks.crash -n 200` does"
import errno, os, random
import pytest
from benchmarks.disk import Disk, Watch, lay_out
from helpers import crash

# Between them: both optimizers, one-cycle, accumulation, averages, bf16, workers that persist or don't, random items, saves in the background; all shuffle and have dropout
SETUPS = 'sgd','adamw','one_cycle','noisy','accumulation','ema','bf16','tracked','background','workers','persistent','everything'
KILLS = 12

def test_case_66_a_run_that_is_killed_at_any_time_ends_like_one_that_is_not():
    "And the kills are many, some of them in a save"
    out,table = crash('-n', KILLS, '--setups', *SETUPS)
    runs,kills,in_save,lost = map(int, table[-1][1:])
    assert kills==KILLS and in_save and runs>1 and not lost, out  # on a busy machine, each run is killed as often as it may be: six times

# ---- each operation in turn

def test_point_29_each_operation_that_fails_or_is_the_last_loses_nothing():
    "A share of `python -m benchmarks.crash --every-operation`"
    out,table = crash('--every-operation', '--share', .003)
    rows = [(' '.join(words), *map(int, ns)) for *words,a,b,c in table for ns in [(a, b, c)]]
    assert [o[0] for o in rows]==[f'{a} {b} {c}' for c in ('no', 'yes') for b in ('at once','in background') for a in ('fails','before a kill','before a cut')]
    assert all(of>200 and tried>0 and not lost for _,of,tried,lost in rows), out
    assert sum(o[2] for o in rows)>30, out

def left(tmp_path, f):
    "What may be left, of all cuts, when the power is cut while `f(folder)` runs"
    (root := tmp_path/'x').mkdir()
    with Watch(root) as w: f(root)
    disk = Disk(w.log)
    return [t for i in range(len(w.log)+1) for t in disk.cuts(i, random.Random(0))],disk.tree(disk.upto(len(w.log))[0])

def sync(p):
    fd = os.open(p, os.O_RDONLY)
    os.fsync(fd)
    os.close(fd)

def put(root, synced):
    with open(root/'tmp', 'wb') as f:
        f.write(b'new!')
        f.flush()
        if synced: os.fsync(f.fileno())
    os.rename(root/'tmp', root/'file')
    if synced: sync(root)

def test_point_29_without_a_sync_a_name_may_be_there_without_its_bytes(tmp_path):
    there,sure = left(tmp_path, lambda root: put(root, False))
    assert {repr(o) for o in there}=={repr(o) for o in ({}, {'tmp':b''}, {'tmp':b'ne'}, {'tmp':bytes(4)}, {'tmp':b'new!'}, {'file':b''}, {'file':b'ne'}, {'file':bytes(4)}, {'file':b'new!'})}
    assert sure=={}

def test_point_29_with_syncs_it_is_whole_or_not_there(tmp_path):
    there,sure = left(tmp_path, lambda root: put(root, True))
    assert {o['file'] for o in there if 'file' in o}=={b'new!'} and sure=={'file':b'new!'}

def test_point_29_folders_move_with_what_is_synced_in_them(tmp_path):
    def _f(root):
        (root/'a').mkdir()
        for o in 'xy':
            (root/'a'/o).write_bytes(o.encode())
            sync(root/'a'/o)
        sync(root/'a')
        os.rename(root/'a', root/'b')
        sync(root)
        (root/'b'/'x').unlink()
    there,sure = left(tmp_path, _f)
    assert sure=={'b':None, 'b/x':b'x', 'b/y':b'y'} and all({'b/y','b'}<={*o} for o in there if 'b' in o)
    assert any('b' in o and 'b/x' not in o for o in there) and any('a' in o and 'a/x' not in o and 'a/y' in o for o in there)
    (tmp_path/'out').mkdir()
    lay_out(sure, tmp_path/'out')
    assert (tmp_path/'out'/'b'/'x').read_bytes()==b'x'

@pytest.mark.parametrize('on', [False, True])
def test_point_29_an_operation_fails_once_or_from_then_on(on, tmp_path):
    done = []
    with Watch(tmp_path, 1, errno.ENOSPC, on) as w:
        for nm in 'abc':
            try:
                (tmp_path/nm).mkdir()
                done.append(nm)
            except OSError as e: assert e.errno==errno.ENOSPC
    assert done==(['a'] if on else ['a', 'c']) and [o[0] for o in w.log]==['mkdir', 'failed', 'failed' if on else 'mkdir']
    (tmp_path/'d').mkdir()
    assert len(w.log)==3
