"""Helpers of the tests with other packages: each callback that is tried becomes a row of the page *Tested with*

`tools.interop` names the file for these rows in `INTEROP_ROWS`. Each line is a JSON object.
"""
import csv, json, os, struct, subprocess, sys, zipfile
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
    "The result for one callback"
    def __init__(self): self.result,self.why = 'works',''
    def refuses(self, f, match):
        "Check that `f` is refused before training, by an error that matches"
        with pytest.raises((TypeError,ValueError,AttributeError), match=match) as e: f()
        self.result,self.why = 'refused',str(e.value).splitlines()[0]

@contextmanager
def tried(system, package, callback):
    "Write a row on whether `callback` works in learnloop; `package` is its distribution, and `system` the trainer that it was written for"
    trial = Trial()
    try: yield trial
    except BaseException as e:
        if not isinstance(e, pytest.skip.Exception): trial.result,trial.why = 'fails',first_line(e)
        raise
    finally: write_row(kind='callback', system=system, package=package, version=version(package), callback=callback, result=trial.result, why=trial.why)

def run_python(*args):
    "Run Python with `args`; return what it prints"
    env = os.environ | dict(PYTHONPATH=str(SCRIPTS.parents[2]), OMP_NUM_THREADS='1')
    out = subprocess.run([sys.executable, *args], capture_output=True, text=True, timeout=300, env=env)
    assert not out.returncode, out.stderr[-3000:]
    return out.stdout

def run_script(name):
    "Run a script; return the losses in the last line that it prints, after `losses:`"
    return [float(o) for o in run_python(SCRIPTS/f'{name}.py').strip().splitlines()[-1].removeprefix('losses:').split()]

def where_scripts(names, folder, tol):
    "Return the optimizer step from which two scripts differ"
    files = [Path(folder, f'{nm}.json') for nm in names]
    for nm,file in zip(names, files, strict=True): run_python(SCRIPTS.parents[1]/'where.py', SCRIPTS/f'{nm}.py', file)
    return where_steps(*(json.loads(o.read_text()) for o in files), tol)

def compare_scripts(system, topic, tol=0.):
    "Run `{system}_{topic}.py` and `{system}_{topic}_ours.py`; check that their losses differ by at most `tol`"
    names = f'{system}_{topic}',f'{system}_{topic}_ours'
    theirs,ours = map(run_script, names)
    write_row(kind='script', system=system, topic=topic, theirs=theirs, ours=ours, tol=tol)
    with TemporaryDirectory() as tmp, explained(lambda: where_scripts(names, tmp, tol)):
        assert theirs and ours==pytest.approx(theirs, rel=tol, abs=tol)

def wandb_records(folder):
    "Read the records in the file of an offline W&B run, which consists of blocks of 32 KiB"
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

def wandb_values(items): return {o.key or '/'.join(o.nested_key):json.loads(o.value_json) for o in items}

def wandb_rows(folder):
    "Return the steps and values of an offline W&B run, without W&B's own values"
    found = [r.history for r in wandb_records(folder) if r.HasField('history')]
    return [(h.step.num, {k:v for k,v in sorted(wandb_values(h.item).items()) if k[0]!='_'}) for h in found]

def scalars(folder):
    "Return a TensorBoard log as (step, value) by tag"
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    acc = EventAccumulator(str(folder)).Reload()
    return {k:[(o.step, o.value) for o in acc.Scalars(k)] for k in sorted(acc.Tags()['scalars'])}

def mlflow_metrics(uri, run_id):
    "Return the metrics of an MLflow run as (step, value) by name, and the run"
    from mlflow.tracking import MlflowClient
    run = (client := MlflowClient(uri)).get_run(run_id)
    return {k:[(m.step, m.value) for m in client.get_metric_history(run_id, k)] for k in sorted(run.data.metrics)},run

def comet_messages(folder):
    "Return all messages of an offline Comet experiment, and those with metrics of the fit"
    with zipfile.ZipFile(next(folder.glob('*.zip'))) as z: messages = [json.loads(o) for o in z.read('messages.json').splitlines()]
    metrics = [m['payload']['metric'] for m in messages if m['type']=='metric_msg']
    return messages,[m for m in metrics if not m['metricName'].startswith('sys.')]

def live_rows(folder):
    "Return the rows that DVCLive wrote, without times, by file"
    def read(file): return [{k:float(v) for k,v in o.items() if k!='timestamp'} for o in csv.DictReader(file.read_text().splitlines(), delimiter='\t')]
    return {str(o.relative_to(folder)):read(o) for o in sorted(folder.rglob('*.tsv'))}

def emissions(base, begin, end):
    "Return a callback class, derived from `base`, that measures emissions from its hook `begin` to `end` and writes them to a folder"
    from codecarbon import OfflineEmissionsTracker
    class Emissions(base):
        def __init__(self, folder): self.folder = str(folder)
        def start(self, *args, **kwargs):
            self.tracker_ = OfflineEmissionsTracker(country_iso_code='FRA', output_dir=self.folder, log_level='critical', allow_multiple_runs=True)
            self.tracker_.start()
        def stop(self, *args, **kwargs): self.tracker_.stop()
    for k,f in ((begin, Emissions.start), (end, Emissions.stop)): setattr(Emissions, k, f)
    return Emissions

def same_emissions(*folders):
    "Check that each folder has one row of emissions, with the same columns"
    rows = [[*csv.DictReader((o/'emissions.csv').read_text().splitlines())] for o in folders]
    assert all(len(o)==1 and o[0].keys()==rows[0][0].keys() and float(o[0]['duration'])>0 and o[0]['country_iso_code']=='FRA' for o in rows)
