"Log files after fits that succeeded, failed or resumed"
import csv, errno, json, math, os, shutil, signal, sys
from types import SimpleNamespace
import pytest, torch
from helpers import StopAt, VALID, batches, covering, fail, fake_platform, kill, mk_learner, quiet
from learnloop import (Callback, CheckpointCallback, CSVLogger,
    JSONLogger, Logger, MLflowCallback, Recorder, ValidateCallback, WandbCallback, mae)

def learner(cb, cbs=(), **kwargs): return mk_learner([Recorder(), cb, *cbs], **kwargs)

class Notes(Logger):
    "What it was told"
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.told = []
    def start(self): self.told.append('start')
    def log_metrics(self, metrics, step): self.told.append((step, sorted(metrics)))
    def flush(self): self.told.append('flush')
    def finish(self): self.told.append('finish')

ROW,POINT = ['mae', 'train_loss', 'valid_loss'],['loss', 'lr']

def test_validations_within_an_epoch_come_in_order():
    cb = Notes(every_steps=1)
    learner(cb, [ValidateCallback(every_steps=2), ValidateCallback(every_epochs=1, dl=VALID, name='test')]).fit(1)
    assert [o for o in cb.told if o not in ('start','flush','finish')]==[(1, POINT), (2, POINT), (2, ['valid_loss']), (3, POINT), (3, ['test_loss', *ROW[1:]])]

@pytest.mark.parametrize('what', [lambda l: l.validate(), lambda l: l.get_preds(), lambda l: l.predict(torch.zeros(2)),
    lambda l: l.lr_find(num_it=9, suggest_funcs=None, show_plot=False), lambda l: l.summary()], ids=['validate','get_preds','predict','lr_find','summary'])
def test_only_fits_are_logged(what, tmp_path):
    files = [CSVLogger(tmp_path/'a.csv', every_steps=1), JSONLogger(tmp_path/'a.jsonl')]
    learn = learner(cb := Notes(every_steps=1), files)
    learn.fit(1)
    told,before = list(cb.told),[o.read_bytes() for o in sorted(tmp_path.iterdir())]
    what(learn)
    assert cb.told==told and [o.read_bytes() for o in sorted(tmp_path.iterdir())]==before

def test_nothing_to_log_is_an_error():
    with pytest.raises(ValueError, match='give every_steps'): mk_learner([Notes()]).fit(1)
    learn = mk_learner([cb := Notes(every_steps=1)])
    learn.fit(1)
    assert len(cb.told)==6

def test_bad_arguments():
    for kw in (dict(every_steps=0), dict(every_steps=.5), dict(block=0)):
        with pytest.raises(ValueError, match=f'{[*kw][0]} is'): CSVLogger(**kw)

def test_the_base_prints(capsys):
    learn = quiet(learner(Logger(), metrics=mae), 1)
    assert capsys.readouterr().out==''
    learn.fit(1)
    assert 'step 6: train_loss ' in capsys.readouterr().out

# Files

def rows(path):
    if path.suffix=='.jsonl': return list(map(json.loads, path.read_text().splitlines()))
    with open(path, newline='') as f: return [{k:float(v) for k,v in o.items() if v} for o in csv.DictReader(f)]

FILES = pytest.mark.parametrize('cls,name', [(CSVLogger,'a.csv'), (JSONLogger,'a.jsonl')], ids=['csv','json'])

@FILES
def test_rows_are_the_recorders(cls, name, tmp_path):
    learn,want = learner(cls(name), metrics=mae, path=tmp_path),[]
    for n in (2, 1):
        learn.fit(n)
        want += [[i, learn.count.opt_steps-3*(n-1-i), *v] for i,v in enumerate(learn.recorder.values)]
    assert [list(o.values()) for o in rows(tmp_path/name)]==want, 'to the last digit'
    if cls is CSVLogger: assert (tmp_path/name).read_text().count('epoch,step,train_loss,valid_loss,mae\n')==1

@FILES
def test_a_new_learner_overwrites_the_file_unless_it_appends(cls, name, tmp_path):
    for append,n in ((False, 1), (False, 1), (True, 2), (True, 3), (False, 1)):
        learner(cls(tmp_path/name, append=append)).fit(1)
        assert len(rows(tmp_path/name))==n

@FILES
def test_a_row_torn_by_a_power_cut_is_cut(cls, name, tmp_path):
    learn = learner(cls(tmp_path/name))
    learn.fit(2)
    whole = (tmp_path/name).read_bytes()
    for n in (1, 5, len(whole.splitlines(keepends=True)[-1])-1):
        (tmp_path/name).write_bytes(whole[:-n])
        learn.fit(1)
        got = (tmp_path/name).read_bytes()
        assert got.startswith(b''.join(whole.splitlines(keepends=True)[:-1])) and rows(tmp_path/name)[-1]['step']==learn.count.opt_steps

@FILES
@pytest.mark.parametrize('text', ['x,y\n1,2\n', '[1, 2]\n', '{"a": 1}\n', '\n'])
def test_another_file_is_refused(cls, name, text, tmp_path):
    (tmp_path/name).write_text(text)
    for append in (False, True):
        learn = learner(cls(tmp_path/name, append=append))
        with pytest.raises(ValueError, match='line 1 of .*: give it another fname'): learn.fit(1)
        assert (tmp_path/name).read_text()==text and learn.count.batches==0

def test_json_takes_new_columns_and_csv_warns(tmp_path):
    def more(cb): cb.learn.recorder.record('odd', dict(odd=1, worse=math.inf, bad=math.nan, low=-math.inf))
    learner(JSONLogger(tmp_path/'a.jsonl'), [Callback(after_train=more)]).fit(1)
    assert rows(tmp_path/'a.jsonl')[0]==dict(epoch=0, step=3, odd=1, worse='Infinity', bad='NaN', low='-Infinity')
    with pytest.warns(UserWarning, match='no column for odd, worse, bad, low'): learner(CSVLogger(tmp_path/'a.csv'), [Callback(after_train=more)]).fit(1)

def test_a_name_in_two_lines_is_refused(tmp_path):
    metric = lambda pred, y: torch.tensor(1.)
    metric.__name__ = 'a\nb'
    learn = learner(CSVLogger(tmp_path/'a.csv'), metrics=metric)
    with pytest.raises(ValueError, match=r"the column 'a\\nb' has a line break, which would break the file"): learn.fit(1)
    assert learn.count.batches==0 and not (tmp_path/'a.csv').exists()
    learner(JSONLogger(tmp_path/'a.jsonl'), metrics=metric).fit(1)
    assert rows(tmp_path/'a.jsonl')[0]['a\nb']==1

def test_read_log_needs_pandas(tmp_path, monkeypatch):
    learn = learner(CSVLogger('a.csv'), path=tmp_path)
    monkeypatch.setitem(sys.modules, 'pandas', None)
    with pytest.raises(ImportError, match='CSVLogger.read_log needs pandas: pip install pandas'): learn.csv_logger.read_log()
    monkeypatch.setitem(sys.modules, 'pandas', SimpleNamespace(read_csv=lambda p: p))
    assert learn.csv_logger.read_log()==tmp_path/'a.csv'

# What can't be written

@FILES
def test_a_folder_that_cannot_be_made_is_a_warning_and_training_goes_on(cls, name, tmp_path):
    (tmp_path/'file').write_text('')
    for p in (tmp_path/'file'/name, tmp_path):
        learn = learner(cls(p))
        with pytest.warns(UserWarning, match=f'{cls.__name__} has a gap, but training continues: .*Error: .*{p.parent.name}') as w: learn.fit(2)
        assert len(w)==1 and learn.count.opt_steps==6

@FILES
def test_rows_wait_for_room_on_a_full_disk(cls, name, tmp_path, monkeypatch):
    full = []
    def fsync(fd):
        if full: raise OSError(errno.ENOSPC, 'No space left on device')
    monkeypatch.setattr('os.fsync', fsync)
    learn = learner(cls(tmp_path/name), [Callback(before_epoch=lambda cb: full.append(1) if cb.learn.epoch in (1, 2) else full.clear())])
    seen = []
    learn.add_cb(Callback(cleanup_epoch=lambda cb: seen.append(len(rows(tmp_path/name)))))
    with pytest.warns(UserWarning, match='No space left') as w: learn.fit(4)
    assert len(w)==1 and seen==[1, 1, 1, 4] and [o['step'] for o in rows(tmp_path/name)]==[3, 6, 9, 12]

def test_other_errors_are_not_hidden():
    class Bad(Logger):
        def log_metrics(self, metrics, step): raise KeyError('mine')
    with pytest.raises(KeyError, match='mine'): learner(Bad()).fit(1)

# Runs that go on

def train(folder, stop=None, every=1, n=3):
    logs = [CSVLogger(folder/'a.csv', every_steps=every), JSONLogger(folder/'a.jsonl', every_steps=every)]
    saver = CheckpointCallback(folder/'run', every_steps=4, every_epochs=2, on_error=False)
    learn = learner(logs[0], [*logs[1:], ValidateCallback(every_steps=2, dl=VALID, name='test'), stop or StopAt(), saver],
        dls=(batches(5),VALID), opt_func=torch.optim.AdamW, metrics=mae)
    return quiet(learn, n, resume=folder/'run')

def files(folder): return [(folder/o).read_bytes() for o in ('a.csv', 'a.jsonl')]

@pytest.mark.every(2)
@covering(every=[None, 1, 2], at=[*(('after_batch', o) for o in ([3], [5, 9], [6, 8, 8], [15])), *(('after_epoch', o) for o in ([5], [10]))])
def test_resumed_runs_have_the_files_of_one(at, every, tmp_path):
    name,stops = at
    train(tmp_path/'a', every=every)
    for o in stops:
        with pytest.raises(MemoryError): train(tmp_path/'b', StopAt(o, fail, name), every)
    train(tmp_path/'b', every=every)
    assert files(tmp_path/'a')==files(tmp_path/'b')

def child(*args):
    "`train` in a fork, which is killed; False if it finished"
    if not (pid := os.fork()):
        try: train(*args)
        finally: os._exit(7)
    return os.waitpid(pid, 0)[1]==signal.SIGKILL

def test_killed_runs_have_the_files_of_one(tmp_path, every=2):
    train(tmp_path/'a', every=every)
    for at,name in ((5,'after_epoch'), (7,'after_batch'), (10,'before_validate'), (13,'before_step')):
        assert child(tmp_path/'b', StopAt(at, kill, name), every), 'it was to be killed'
        b = tmp_path/'b'/'a.csv'
        assert b.read_bytes()[-1:] in (b'\n', b''), 'whole rows'
        if at>=5: assert 5 in [o['step'] for o in rows(b) if 'train_loss' in o], 'a row is there as soon as it is written'
    train(tmp_path/'b', every=every)
    assert files(tmp_path/'a')==files(tmp_path/'b')

@FILES
def test_a_file_that_lost_rows_is_continued_with_a_warning(cls, name, tmp_path):
    mk = lambda: learner(cls(tmp_path/name), [CheckpointCallback(tmp_path/'run')])
    mk().fit(2)
    whole = (tmp_path/name).read_bytes()
    for text,n in ((b'', 0), (whole[:-20], 1)):
        (tmp_path/name).write_bytes(text)
        shutil.copytree(tmp_path/'run', tmp_path/'copy')
        with pytest.warns(UserWarning, match=f'has {len(text)} bytes, but had {len(whole)} at the checkpoint'): mk().fit(4, resume=tmp_path/'run')
        assert [o['step'] for o in rows(tmp_path/name)]==[3, 6, 9, 12][:n]+[9, 12]
        shutil.rmtree(tmp_path/'run')
        shutil.move(tmp_path/'copy', tmp_path/'run')

# Platforms

@pytest.fixture(params=['wandb','mlflow'])
def platform(request, monkeypatch):
    monkeypatch.setitem(sys.modules, request.param, pkg := fake_platform())
    ok,bad = dict(wandb=(0, 1), mlflow=('FINISHED', 'FAILED'))[request.param]
    return SimpleNamespace(name=request.param, cls=dict(wandb=WandbCallback, mlflow=MLflowCallback)[request.param], pkg=pkg, ok=ok, bad=bad)

def test_resumed_fits_are_one_run_of_a_platform(platform, tmp_path):
    def run(stop=None):
        quiet(learner(platform.cls(every_steps=1), [stop or StopAt(), CheckpointCallback(tmp_path, every_steps=2)]), 2, resume=tmp_path)
    with pytest.raises(MemoryError): run(StopAt(3, fail))
    run()
    one, = platform.pkg.runs
    assert one.ends==[platform.bad, platform.ok] and sorted({s for s,k,_ in one.kept if k=='loss'})==[1, 2, 3, 4, 5, 6]

def test_an_unreachable_platform_is_a_warning_and_training_goes_on(platform, monkeypatch):
    def away(*args, **kwargs): raise OSError('no network')
    learn = learner(platform.cls())
    learn.fit(1)
    run, = platform.pkg.runs
    monkeypatch.setattr(*((run, 'log') if platform.name=='wandb' else (platform.pkg, 'log_metrics')), away)
    with pytest.warns(UserWarning, match='has a gap.*no network') as w: learn.fit(2)
    monkeypatch.setattr(platform.pkg, 'init' if platform.name=='wandb' else 'start_run', away)
    with pytest.warns(UserWarning, match='has a gap.*no network'): learn.fit(1)
    assert len(w)==1 and learn.count.opt_steps==12

def test_a_missing_platform_is_an_error_before_training(platform, monkeypatch):
    monkeypatch.setitem(sys.modules, platform.name, None)
    learn = learner(platform.cls())
    with pytest.raises(ImportError, match=f'{platform.cls.__name__} needs {platform.name}: pip install {platform.name}'): learn.fit(1)
    assert learn.count.batches==0
