"After a power cut right after a save, the disk has a checkpoint to resume from"
import os, posix, shutil, subprocess
from contextlib import contextmanager
import pytest, torch
from learnloop import Callback, CheckpointCallback, list_checkpoints, newest_checkpoint, synth_learner

def sh(*args): return subprocess.run(args, check=True, capture_output=True, text=True, timeout=60)

@contextmanager
def mounted(image, at):
    "The ext4 file system in the file `image`, mounted at the folder `at` in a `with` block"
    at.mkdir()
    sh('mount', '-o', 'loop', str(image), str(at))
    try: yield at
    finally: sh('umount', '-l', str(at))

@pytest.fixture
def disk(tmp_path, monkeypatch):
    "Return `f(use, look)`: `use(folder, cut)` works on a small disk, `cut()` cuts the power, and `look(folder)` reads the disk after each cut"
    def _f(use, look):
        image,after = tmp_path/'disk.img',[]
        def _cut(): after.append(shutil.copyfile(image, tmp_path/f'after-{len(after)}.img'))  # the data that reached the disk, without those in memory
        with mounted(image, tmp_path/'disk') as folder: use(folder, _cut)
        res = []
        for i,o in enumerate(after):
            with mounted(o, tmp_path/f'again-{i}') as folder: res.append(look(folder))  # the journal is replayed
        return res
    try:
        with open(tmp_path/'disk.img', 'wb') as f: f.truncate(2**24)
        sh('mkfs.ext4', '-q', str(tmp_path/'disk.img'))
        with mounted(tmp_path/'disk.img', tmp_path/'probe'): pass
    except (OSError,subprocess.SubprocessError) as e: pytest.skip(f'only root can mount a disk in a file ({e})')
    monkeypatch.setattr(os, 'fsync', posix.fsync)  # other tests do without
    return _f

def newest(folder):
    "Return the contents of the newest checkpoint in `folder`, by file"
    c = newest_checkpoint(folder)
    return {p.name:p.read_bytes() for p in sorted(c.path.iterdir())}

def test_case_69_a_save_that_has_returned_is_on_the_disk(disk):
    want = []
    def _use(folder, cut):
        learn = synth_learner(n_train=8, opt_func=torch.optim.AdamW)
        def _before_batch(cb):
            if not list_checkpoints(folder/'run'): return
            want.append(newest(folder/'run'))
            (folder/f'unsynced-{len(want)}').write_bytes(b'x'*5000)
            cut()
        with learn.no_logging(): learn.fit(1, cbs=[CheckpointCallback(folder/'run', keep=1, every_steps=2), Callback(before_batch=_before_batch)])
    def _look(folder): return newest(folder/'run'),[len(p.read_bytes()) for p in folder.glob('unsynced-*')]
    there = disk(_use, _look)
    assert len(want)>4 and len({o['manifest.json'] for o in want})>2
    assert [o for o,_ in there]==want
    assert sum(5000 in sizes for _,sizes in there)<len(there), 'the cut loses nothing: this test could not fail'
