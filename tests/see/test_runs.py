"Runs on disk: each way to end, damaged files, and folders that are no runs"
import glob, math, os
from functools import partial
from pathlib import Path
import pytest, torch
from helpers import as_script, mk_learner
from learnloop import Callback, CheckpointCallback, CSVLogger, EarlyStoppingCallback, Recorder, Tracer, mae, on
from learnloop.see.runfile import LOCK, is_held, open_run, read_run
from learnloop.see.runs import Run, _age_of, runs

def run_in(folder, n=3, cbs=(), logger=CSVLogger, resume=None, **kwargs):
    learn = mk_learner([Recorder(), *([logger()] if logger else []), *cbs], path=folder, metrics=mae, **kwargs)
    with learn.no_logging():
        try: learn.fit(n, resume=resume)
        except (MemoryError,KeyboardInterrupt): pass
    return learn

def test_while_it_runs_and_when_it_is_done(tmp_path):
    seen = []
    def look(cb): seen.append((runs(tmp_path)[0].state, is_held(tmp_path/LOCK)))
    run_in(tmp_path, 2, [Callback(after_batch=look)])
    assert {*seen}=={('running', True)} and Run(tmp_path).state=='done' and is_held(tmp_path/LOCK) is False

KILLED = '''
import os, signal, sys
from learnloop import *
def end(cb):
    if cb.count.opt_steps==15: os.kill(os.getpid(), signal.SIGKILL)
learn = synth_learner(path=sys.argv[1], cbs=[CSVLogger(), CheckpointCallback(sys.argv[1])])
learn.fit(4, cbs=Callback(after_batch=end))
'''
def test_a_killed_run_can_resume(tmp_path):
    (tmp_path/'x.py').write_text(KILLED)
    assert as_script(tmp_path/'x.py', tmp_path/'run').rc==-9
    run = Run(tmp_path/'run')
    assert (run.state, run.epochs, run.n_epoch, run.resumes_from)==('killed', 1, 4, 'from step 10')
    assert is_held(tmp_path/'run'/LOCK) is False, 'the system has let go of it'

@pytest.mark.parametrize('logger', [CSVLogger, None])
@pytest.mark.parametrize('n', [1, 2, 5])
def test_a_run_that_stopped_early_does_not_resume_but_a_finished_one_does(n, logger, tmp_path):
    "As a fit finds it that is run again"
    cbs = lambda: [EarlyStoppingCallback(patience=2, min_delta=1e9), CheckpointCallback(tmp_path)]
    run_in(tmp_path, n, cbs(), logger)
    run = Run(tmp_path)
    early = run.epochs<n
    assert (run.resumes_from=='no: stopped early')==early==(n==5) and (early or run.resumes_from==f'from step {3*n}')
    assert (run_in(tmp_path, 2*n, cbs(), logger, resume=tmp_path).count.epochs==run.epochs)==early

def test_a_fit_within_another_leaves_its_file_alone(tmp_path):
    inner = mk_learner([Recorder(), CSVLogger('inner.csv')], path=tmp_path)
    def go(cb):
        with inner.no_logging(): inner.fit(1)
    run_in(tmp_path, 2, [Callback(before_validate=on('before_validate', once=1)(go))])
    assert (read_run(tmp_path)['n_epoch'], read_run(tmp_path)['state'])==(2, 'done') and (tmp_path/'inner.csv').exists()

def test_another_process_that_has_the_folder_keeps_its_file(tmp_path):
    from filelock import FileLock
    (tmp_path/'run.json').write_text('{"version": 1, "state": "running"}')
    with FileLock(tmp_path/LOCK):
        assert open_run(mk_learner(), tmp_path) is None
        run_in(tmp_path, 1)
    assert read_run(tmp_path)=={'version':1, 'state':'running'} and (tmp_path/'history.csv').exists()

def test_a_file_that_cannot_be_written_ends_no_fit(tmp_path):
    (tmp_path/'run.json').mkdir()
    assert run_in(tmp_path, 2).count.epochs==2
    assert (tmp_path/'history.csv').read_text().count('\n')==3

def test_facts_that_fail_end_no_fit(tmp_path, monkeypatch):
    def broken(learn): raise RuntimeError('no')
    monkeypatch.setattr('learnloop.see.runfile.run_facts', broken)
    assert run_in(tmp_path, 1).count.epochs==1 and read_run(tmp_path)['facts']=={'not_told':'RuntimeError: no'}

# ---- without run.json

def checkpoints_only(folder): return run_in(folder, 3, [CheckpointCallback(folder)], None)

def test_weights_are_not_read_and_no_code_runs(tmp_path, monkeypatch):
    checkpoints_only(tmp_path)
    read = []
    import io
    true_open = io.open
    def spy(file, *args, **kwargs):
        read.append(Path(str(file)).name)
        return true_open(file, *args, **kwargs)
    monkeypatch.setattr('builtins.open', spy)
    monkeypatch.setattr('io.open', spy)
    loads = []
    true_load = torch.load
    monkeypatch.setattr(torch, 'load', lambda *a, **kw: loads.append(kw.get('weights_only')) or true_load(*a, **kw))
    run = Run(tmp_path)
    assert run.row() and run.settings and run.series
    assert 'manifest.json' in read and not {'model.pt','opt.pt'} & {*read} and all(loads)

def test_costs_of_a_tracer_and_of_a_saved_trace(tmp_path):
    learn = run_in(tmp_path/'a', 1, [Tracer()])
    assert Run(tmp_path/'a').costs['recorder']>0
    (tmp_path/'b').mkdir()
    learn.trace.save(tmp_path/'b'/'t.json')
    assert Run(tmp_path/'b').costs['recorder']>=Run(tmp_path/'a').costs['recorder']  # it was saved later
    assert Run(tmp_path/'b').state=='unknown'

# ---- damage

def test_damaged_checkpoints(tmp_path):
    checkpoints_only(tmp_path)
    new = Run(tmp_path).checkpoints[-1]
    assert Run(tmp_path).resumes_from=='from step 9'
    os.truncate(new.path/'model.pt', 10)
    assert Run(tmp_path).resumes_from=='from step 6'
    for o in Run(tmp_path).checkpoints: (o.path/'manifest.json').write_text('{}')
    assert Run(tmp_path).resumes_from==f'no: {new.path.name} is damaged' and Run(tmp_path).row()

def test_a_recorder_that_cannot_be_read_is_noted(tmp_path):
    checkpoints_only(tmp_path)
    run = Run(tmp_path)
    run._state['callbacks']['recorder'] = {'raw':3}
    assert run.rows==[] and len(run.unread)==1 and 'step-000000009' in run.unread[0] and run.row()

# ---- which are runs

def leave(folder, text='epoch,step,valid_loss\n0,1,.5\n', name='h.csv'):
    folder.mkdir(parents=True, exist_ok=True)
    (folder/name).write_text(text)

def test_folders_patterns_and_lists(tmp_path, monkeypatch):
    for nm in ('lr-10', 'lr-2', 'lr-1', 'deep/er/x'): leave(tmp_path/nm)
    for nm in ('lr-1/sub', '.hidden'): leave(tmp_path/nm)
    leave(tmp_path/'notes', 'a,b\n1,2\n', 'data.csv')
    leave(tmp_path, 'hello', 'readme.txt')
    assert [o.name for o in runs(tmp_path)]==['x', 'lr-1', 'lr-2', 'lr-10'], 'in the order of their numbers'
    monkeypatch.chdir(tmp_path)
    assert [o.name for o in runs('lr-*')]==['lr-1', 'lr-2', 'lr-10'] and [o.name for o in runs('./*')]==['deep', 'lr-1', 'lr-2', 'lr-10']
    assert [o.name for o in runs(['lr-2', 'lr-1', 'lr-2'])]==['lr-2', 'lr-1']
    assert [o.name for o in runs(sorted(glob.glob('*')))]==['x', 'lr-1', 'lr-10', 'lr-2'], 'what a shell makes of *'
    assert [o.name for o in runs('lr-1')]==['lr-1']

def test_names_that_are_the_same_get_more_of_their_paths(tmp_path):
    for nm in ('a/run', 'b/run'): leave(tmp_path/nm)
    assert [o.name for o in runs(tmp_path)]==['a/run', 'b/run']

def test_the_table_in_print_and_in_notebooks(tmp_path):
    leave(tmp_path/'a|b')
    run_in(tmp_path/'c')
    found = runs(tmp_path, by='mae')
    head,row,_ = repr(found).splitlines()
    assert head.split()==['run','state','epochs','best','at','age','took','resumes'] and row.split()[:4]==['c', 'done', '3/3', 'mae']
    assert 'a\\|b' in found._repr_markdown_()

def test_nan_is_not_the_best(tmp_path):
    leave(tmp_path/'a', 'epoch,step,valid_loss,accuracy\n0,1,nan,.5\n1,2,.3,nan\n2,3,.4,.6\n')
    leave(tmp_path/'b', 'epoch,step,valid_loss\n0,1,nan\n')
    a,b = runs(tmp_path)
    assert a.best()==('valid_loss', .3, 'epoch 1') and math.isnan(b.best()[1]) and b.row()
    for better,want in (('more', (.6, 'epoch 2')), ('less', (.5, 'epoch 0'))):
        assert runs(tmp_path, 'accuracy', better)[0].best('accuracy')==('accuracy', *want)

def test_the_best_of_a_metric_is_not_guessed(tmp_path):
    leave(tmp_path/'a', 'epoch,step,abs_dev\n0,1,.5\n1,2,.4\n')
    found = runs(tmp_path, 'abs_dev')
    with pytest.raises(ValueError, match="better='less' or better='more'"): found[0].best('abs_dev')
    assert found[0].row()[3:5]==['', ''] and found[0].results['abs_dev']==dict(last=.4, best=None, epoch=None, step=None)
    for kw in (dict(by='abs_dev', better='min'), dict(better='less')):
        with pytest.raises(ValueError, match='better is'): runs(tmp_path, **kw)

def test_ages():
    assert [_age_of(o) for o in (-5, 59, 61, 3599, 7300, 90_000)]==['0 s', '59 s', '1 min', '60 min', '2 h', '1 d']

def test_hyper_parameters_that_differ_are_columns(tmp_path):
    for nm,hp in dict(a=dict(width=8, same=1), b=dict(width=16, same=1, act='relu'), c={}).items():
        run_in(tmp_path/nm, 1, logger=partial(CSVLogger, hparams=hp))
    head,*rows = repr(runs(tmp_path)).splitlines()
    assert head.split()[-4:]==['resumes', 'width', 'same', 'act'] and rows[1].split()[-3:]==['16', '1', 'relu']
    assert repr(runs([tmp_path/'a', tmp_path/'b'])).splitlines()[0].split()[-3:]==['resumes', 'width', 'act']
