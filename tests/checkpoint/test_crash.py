"Runs that are killed and restarted end as undisturbed ones do: a part of `python -m benchmarks.crash -n 200`"
import errno, os, random
import pytest
from benchmarks.disk import Disk, Watch, lay_out
from benchmarks.operations import every_operation
from helpers import crash

def test_case_66_a_run_that_is_killed_at_any_time_ends_like_an_undisturbed_one():
    "With random items, the best checkpoint, saves in the background and workers. Some of the kills are in a save"
    out,table = crash('-n', 8, '--setups', 'noisy', 'tracked', 'background', 'workers')
    runs,kills,in_save,lost = map(int, table[-1][1:])
    assert kills==8 and in_save and runs>1 and not lost, out  # each run is killed at most six times

# ---- each operation in turn

def test_no_operation_that_fails_or_is_the_last_loses_a_checkpoint(capfd):
    "A share of `python -m benchmarks.crash --every-operation`"
    assert not every_operation(.01 if os.environ.get('ALL_CASES') else .002, rewinds=[True])
    rows = [o.rsplit(maxsplit=3) for o in capfd.readouterr().out.splitlines()[1:]]
    assert [o.split() for o,*_ in rows]==[f'{a} {b} yes'.split() for b in ('at once','in background') for a in ('fails','before a kill','before a cut')]
    assert all(int(of)>200 and int(tried)>0==int(lost) for _,of,tried,lost in rows), rows

def left(tmp_path, f):
    "Return all contents that a power cut during `f(folder)` may leave, and those after it"
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

def test_without_a_sync_a_file_may_have_its_name_but_not_its_bytes(tmp_path):
    there,sure = left(tmp_path, lambda root: put(root, False))
    assert {repr(o) for o in there}=={repr(o) for o in ({}, {'tmp':b''}, {'tmp':b'ne'}, {'tmp':bytes(4)}, {'tmp':b'new!'}, {'file':b''}, {'file':b'ne'}, {'file':bytes(4)}, {'file':b'new!'})}
    assert sure=={}

def test_a_synced_file_is_whole_or_absent(tmp_path):
    there,sure = left(tmp_path, lambda root: put(root, True))
    assert {o['file'] for o in there if 'file' in o}=={b'new!'} and sure=={'file':b'new!'}

def test_a_renamed_folder_keeps_its_synced_files(tmp_path):
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
def test_an_operation_fails_once_or_from_then_on(on, tmp_path):
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
