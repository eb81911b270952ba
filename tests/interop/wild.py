"""What tests with packages from the wild share: each callback that was tried becomes a row, which the page *Tested with* shows

`tools.interop` names in `INTEROP_ROWS` the file to which rows are appended, as a JSON object a line.
"""
import json, os, struct, subprocess, sys
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
import pytest
from where import explained, where_steps

SCRIPTS = Path(__file__).parent/'scripts'

def write_row(**row):
    if file := os.environ.get('INTEROP_ROWS'):
        with open(file, 'a') as f: f.write(json.dumps(row) + '\n')

def first_line(e): return f'{type(e).__name__}: {e}'.splitlines()[0]

class Trial:
    "What came of a callback"
    def __init__(self): self.result,self.why = 'works',''
    def refuses(self, f, match):
        "See that `f` is refused before training, by an error that matches"
        with pytest.raises((TypeError,ValueError,AttributeError), match=match) as e: f()
        self.result,self.why = 'refused',str(e.value).splitlines()[0]

@contextmanager
def tried(system, package, callback):
    "Note what comes of the `callback` of `package`, the name of a distribution, in learnloop; `system` is whose trainer it was written for"
    trial = Trial()
    try: yield trial
    except BaseException as e:
        if not isinstance(e, pytest.skip.Exception): trial.result,trial.why = 'fails',first_line(e)
        raise
    finally: write_row(kind='callback', system=system, package=package, version=version(package), callback=callback, result=trial.result, why=trial.why)

def run_python(*args):
    "What Python with `args` prints"
    env = os.environ | dict(PYTHONPATH=str(SCRIPTS.parents[2]), OMP_NUM_THREADS='1')
    out = subprocess.run([sys.executable, *args], capture_output=True, text=True, timeout=300, env=env)
    assert not out.returncode, out.stderr[-3000:]
    return out.stdout

def run_script(name):
    "The losses that a script prints in its last line, after `losses:`"
    return [float(o) for o in run_python(SCRIPTS/f'{name}.py').strip().splitlines()[-1].removeprefix('losses:').split()]

def where_scripts(names, folder, tol):
    "In which step of their optimizers two scripts part"
    files = [Path(folder, f'{nm}.json') for nm in names]
    for nm,file in zip(names, files, strict=True): run_python(SCRIPTS.parents[1]/'where.py', SCRIPTS/f'{nm}.py', file)
    return where_steps(*(json.loads(o.read_text()) for o in files), tol)

def compare_scripts(system, topic, tol=0.):
    "Run `{system}_{topic}.py` and `{system}_{topic}_ours.py`, and see that losses are alike, apart from `tol`"
    names = f'{system}_{topic}',f'{system}_{topic}_ours'
    theirs,ours = map(run_script, names)
    write_row(kind='script', system=system, topic=topic, theirs=theirs, ours=ours, tol=tol)
    with TemporaryDirectory() as tmp, explained(lambda: where_scripts(names, tmp, tol)):
        assert theirs and ours==pytest.approx(theirs, rel=tol, abs=tol)

def wandb_records(folder):
    "Read the records in the file of an offline run, which consists of blocks of 32 KiB"
    from wandb.proto import wandb_internal_pb2
    file, = folder.glob('wandb/offline-run-*/*.wandb')
    data,pos,part = file.read_bytes(),7,b''
    while pos+7<len(data):
        left = 32768 - pos%32768
        if left<7:
            pos += left
            continue
        n,kind = struct.unpack('<HB', data[pos+4:pos+7])
        part,pos = part+data[pos+7:pos+7+n],pos+7+n
        if kind not in (1, 4): continue  # not yet the end of a record
        record,part = wandb_internal_pb2.Record.FromString(part),b''
        yield record
