"Each argument that is a path works with each kind of path as documented, or an error names the argument, the value and the rule"
import io, os, re, shutil
from contextlib import redirect_stderr
from copy import deepcopy
from pathlib import Path
import pytest, torch
from helpers import check
from learnloop import (
    Callback, Checkpoint, CheckpointCallback, CSVLogger, Fingerprint, JSONLogger, Learner, TensorBoardCallback, Tracer, compare, diff_runs,
    list_checkpoints, load_export, load_model, load_trace, newest_checkpoint, report_from, runs, save_model)
from learnloop.app.cli import main
from learnloop.checkpoint.storage import prune
from test_checkpoint import At, Boom, boom, by_layer, mk_learner, mk_model, quiet, what_trains

# ---- the places, below the current folder, which is the home folder, too

STEP = 'step-000000006'
VALUES = dict(run='run', run_slash='run/', run_home='~/run', run_path=Path('run'), run_link='run_link', checkpoint=f'run/{STEP}', checkpoint_slash=f'run/{STEP}/',
    checkpoint_object=lambda: Checkpoint(f'run/{STEP}'), checkpoint_link='checkpoint_link', renamed='renamed', renamed_object=lambda: Checkpoint('renamed'),
    torn='torn/torn-000000003', no_checkpoint='run/step-000000099', in_checkpoint=f'run/{STEP}/more', file_in_checkpoint=f'run/{STEP}/model.pt',
    runs='runs', empty='empty', missing='missing', missing_deep='missing/deep', weights='models/model.pth', export='export.safetensors', trace='trace.json', text='notes.txt',
    text_path=Path('notes.txt'), below_file='notes.txt/deep', broken_link='broken_link', nothing='', none=None, number=3, true=True, as_bytes=b'run', as_list=['run'],
    zero='run\0', no_home='~nobody-of-this-name/run')
CHECKPOINTS = f'run/{STEP}/', f'runs/a/{STEP}/', 'renamed/', 'torn/torn-000000003/'
RUN = {'run','run_slash','run_home','run_path','run_link'}
NEW = {'empty','missing','missing_deep'}

@pytest.fixture(scope='module')
def sandbox(tmp_path_factory):
    "A run, one that was stopped within a batch, a folder of runs, and files"
    home = tmp_path_factory.mktemp('places')
    with pytest.MonkeyPatch.context() as m:
        m.chdir(home)
        def cbs(folder): return [CheckpointCallback(folder), CSVLogger(f'{folder}/history.csv'), Fingerprint(fname=f'{folder}/fingerprint.bin')]
        learn = quiet(mk_learner(cbs=Tracer()), 1, cbs=cbs('run'))
        with pytest.raises(Boom): quiet(mk_learner(), 1, cbs=[At('after_loss', 4, boom), CheckpointCallback('torn')])
        for k in 'ab': shutil.copytree('run', f'runs/{k}')
        shutil.copytree(f'run/{STEP}', 'renamed')
        learn.save('model')
        learn.export('export')
        learn.trace.save('trace.json')
        Path('notes.txt').write_text('some words')
        Path('empty').mkdir()
        for link,to in (('run_link', 'run'), ('checkpoint_link', f'run/{STEP}'), ('broken_link', 'nowhere')): Path(link).symlink_to(to)
    return home

def files(folder):
    every = [os.path.join(d, o) for d,folders,names in os.walk(folder) for o in (*folders, *names) if o not in ('.lock','.run.lock')]
    return {os.path.relpath(o, folder):os.path.isfile(o) and ((st := os.stat(o)).st_size, st.st_mtime_ns) for o in every}

# ---- the arguments: what is called, the name in its errors, and the places that it takes

def fit(*args, **kw): return quiet(mk_learner(), *args, **kw)
def bare(): return mk_learner()
def command(*args):
    err = io.StringIO()
    try:
        with redirect_stderr(err): main([*map(str, args)])
    except SystemExit as e:
        if e.code: raise ValueError(err.getvalue()) from e
def logs(cb): return quiet(mk_learner(), 1, cbs=cb)
def of_run(): return compare('run')

DIFF = '(a|b|yardstick)(:| is) |is not a file of a Fingerprint|has fingerprints of several runs'
FILES = {'missing','missing_deep','weights','export','trace','text','text_path','broken_link'}
HISTORY = {'missing','missing_deep','broken_link'}
ANY = {k for k,v in VALUES.items() if isinstance(v, str|Path)} - {'zero','no_home'}
NAMES = ANY - {'nothing','run_slash','checkpoint_slash','in_checkpoint','file_in_checkpoint'}
ARGS = {
    'resume':(lambda v: fit(1, resume=v, accept=True), 'resume', RUN | NEW | {'checkpoint','checkpoint_slash','checkpoint_object','checkpoint_link','none'}),
    'fine_tune':(lambda v: quiet(mk_learner(splitter=by_layer), 1, 'fine_tune', resume=v, freeze_epochs=0), 'resume', RUN | NEW | {'runs','none'}),
    'load_checkpoint':(lambda v: bare().load_checkpoint(v), 'folder',
        RUN | {'checkpoint','checkpoint_slash','checkpoint_object','checkpoint_link','renamed','renamed_object','torn'}),
    'save_checkpoint':(lambda v: bare().save_checkpoint(v), 'folder', RUN | NEW | {'runs'}),
    'CheckpointCallback':(lambda v: logs(CheckpointCallback(v)), 'folder', NEW | {'runs'}),
    'list_checkpoints':(list_checkpoints, 'folder', RUN | NEW | {'runs'}), 'newest_checkpoint':(newest_checkpoint, 'folder', RUN | NEW | {'runs'}),
    'prune':(prune, 'folder', RUN | NEW | {'runs'}),
    'learn.save':(lambda v: bare().save(v), 'file', NAMES - {'export'}), 'learn.load':(lambda v: bare().load(v), 'file', set()), 'learn.export':(lambda v: bare().export(v), 'file|export to', NAMES - {'weights','text','text_path','trace','below_file'} | {'export'}),
    'save_model':(lambda v: save_model(v, mk_model(), with_opt=False), 'file', FILES), 'load_model':(lambda v: load_model(v, mk_model()), 'file|models/model.pth|notes|export', {'weights','file_in_checkpoint','export'}),
    'load_export':(lambda v: load_export(v, mk_model()), 'file|safetensors|export', {'export'}),
    'path':(lambda v: Learner(mk_learner().dls, mk_model(), path=v), 'path', RUN | NEW | {'runs'}), 'model_dir':(lambda v: Learner(mk_learner().dls, mk_model(), model_dir=v), 'model_dir', ANY),
    'report':(lambda v: bare().report(v), 'path', FILES), 'report_from':(report_from, 'folder', RUN | {'runs'}), 'report_from to':(lambda v: report_from('run', v), 'path', FILES | {'none'}),
    'runs':(runs, 'pattern|no runs in', RUN | {'runs','as_list'}), 'compare':(compare, 'pattern|no runs in', RUN | {'runs','as_list'}), 'compare to':(lambda v: of_run().save(v), 'path', FILES),
    'diff_runs a':(lambda v: diff_runs(v, 'run'), DIFF, RUN), 'diff_runs b':(lambda v: diff_runs('run', v), DIFF, RUN),
    'diff_runs yardstick':(lambda v: diff_runs('run', 'run', yardstick=v), DIFF, RUN | {'none'}),
    'CSVLogger':(lambda v: logs(CSVLogger(v)), 'fname', HISTORY | {'none'}), 'JSONLogger':(lambda v: logs(JSONLogger(v)), 'fname', HISTORY | {'none'}), 'Fingerprint':(lambda v: logs(Fingerprint(fname=v)), 'fname', HISTORY),
    'TensorBoardCallback':(lambda v: logs(TensorBoardCallback(v, graph=False, examples=0)), 'log_dir', RUN | NEW | {'runs','none'}),
    'load_trace':(load_trace, 'path|trace', {'trace'}), 'trace.save':(lambda v: load_trace('trace.json').save(v), 'path', {'trace'}),
    'learnloop checkpoints':(lambda v: command('checkpoints', v), 'folder|no checkpoints in', RUN), 'learnloop report':(lambda v: command('report', v), 'folder', RUN | {'runs'}),
    'learnloop report -o':(lambda v: command('report', 'run', '-o', v), 'path', FILES), 'learnloop runs':(lambda v: command('runs', v), 'pattern|no runs in', RUN | {'runs'}),
    'learnloop compare':(lambda v: command('compare', v), 'pattern|no runs in', RUN | {'runs'}), 'learnloop compare -o':(lambda v: command('compare', 'run', '-o', v), 'path', FILES),
    'learnloop trace':(lambda v: command('trace', v), 'path|trace', {'trace'}), 'learnloop diff':(lambda v: command('diff', v, 'run'), DIFF, RUN)}

@pytest.mark.parametrize('arg', ARGS)
def test_a_place_is_used_or_refused_by_name(arg, sandbox, tmp_path, monkeypatch):
    "An error changes no file, and nothing is ever written into a checkpoint"
    call,name,takes = ARGS[arg]
    home,bad = tmp_path/'home',[]
    monkeypatch.setenv('HOME', str(home))
    def fresh():
        monkeypatch.chdir(tmp_path)
        shutil.rmtree(home, ignore_errors=True)
        shutil.copytree(sandbox, home, symlinks=True)
        monkeypatch.chdir(home)
    fresh()
    before = files(home)
    for kind,v in list(VALUES.items())[slice(None) if os.environ.get('ALL_CASES') else slice([*ARGS].index(arg)%3, None, 3)]:
        if callable(v): v = v()
        if arg.startswith('learnloop') and not isinstance(v, str|Path): continue
        said = None
        try: call(v)
        except (TypeError,ValueError,OSError,UserWarning) as e: said = f'{type(e).__name__}: {e}'
        now = files(home)
        if said:
            if kind in takes: bad.append(f'{kind} was refused: {said}')
            if not re.search(name, said): bad.append(f'{kind} is refused without the name: {said}')
            if now!=before: bad.append(f'{kind} is refused, and something changed')
        elif kind not in takes: bad.append(f'{kind} was taken')
        bad += [f'{kind} changed {k}' for k in now if k.startswith(CHECKPOINTS) and now[k]!=before.get(k)]
        if now!=before: fresh()
    assert not bad, '\n'.join(bad)

# ---- one checkpoint of a run

@pytest.fixture(scope='module')
def three(tmp_path_factory):
    "A run of three epochs, each with a checkpoint, and the weights in the end"
    folder = tmp_path_factory.mktemp('three')/'run'
    learn = quiet(mk_learner(), 3, cbs=CheckpointCallback(folder, keep=None))
    return folder,learn.model.state_dict()

def names(folder): return [o.path.name for o in list_checkpoints(folder)]

@pytest.mark.parametrize('how', [str, Path, Checkpoint])
@pytest.mark.parametrize('n', [6, 12, 18])
def test_a_fit_resumes_from_the_very_checkpoint_and_saves_elsewhere(how, n, three, tmp_path):
    folder,want = three
    c,before = folder/f'step-{n:09d}',files(folder)
    learn = quiet(mk_learner(), 3, resume=how(c), cbs=CheckpointCallback(tmp_path/'more', keep=None))
    check(dict(learn.model.state_dict()), dict(want))
    assert learn.count.opt_steps==18 and files(folder)==before and names(tmp_path/'more')==[f'step-{k:09d}' for k in (12, 18) if k>n]
def test_a_fit_does_not_save_beside_newer_checkpoints(three, tmp_path):
    folder,want = three
    run = shutil.copytree(folder, tmp_path/'run')
    before = files(run)
    for kw in (dict(), dict(cbs=CheckpointCallback(run))):
        learn = mk_learner()
        with pytest.raises(ValueError, match=r"resume is '.*step-000000006', but this fit would save in '.*run', which has newer checkpoints, up to step-000000018"):
            quiet(learn, 3, resume=run/'step-000000006', **kw)
        assert files(run)==before and learn.count.batches==0
    with pytest.raises(ValueError, match="which has other checkpoints, up to step-000000018"): quiet(learn, 3, resume=folder/'step-000000018', cbs=CheckpointCallback(run))
    for k in (12, 18): shutil.rmtree(run/f'step-{k:09d}')
    check(dict(quiet(mk_learner(), 3, resume=run/'step-000000006').model.state_dict()), dict(want))
    assert names(run)[-1]=='step-000000018'

def test_a_renamed_checkpoint_needs_a_folder_to_save_in(three, tmp_path):
    folder,want = three
    best = shutil.copytree(folder/'step-000000006', tmp_path/'best')
    with pytest.raises(ValueError, match="resume is '.*best', which does not show the folder of its run"): quiet(mk_learner(), 3, resume=best)
    check(dict(quiet(mk_learner(), 3, resume=best, cbs=CheckpointCallback(tmp_path/'run')).model.state_dict()), dict(want))
    assert sorted(o.name for o in tmp_path.iterdir())==['best', 'run']

def test_a_fit_that_resumed_from_a_checkpoint_can_resume_again(three, tmp_path):
    "After an interruption: in memory, and from the folder that it saved in"
    folder,want = three
    for again in (lambda learn, run: learn.resume(), lambda learn, run: quiet(learn, 3, resume=run, accept='callbacks')):
        run = tmp_path/f'{len(list(tmp_path.iterdir()))}'
        learn = mk_learner()
        with pytest.raises(KeyboardInterrupt):
            quiet(learn, 3, resume=folder/'step-000000006', cbs=[CheckpointCallback(run), At('between_batches', 10, interrupt)], accept='callbacks')
        again(learn, run)
        check(dict(learn.model.state_dict()), dict(want))
def interrupt(cb): raise KeyboardInterrupt

@pytest.mark.parametrize('event', ['before_epoch', 'between_batches', 'after_step', 'before_validate', 'after_epoch'])
def test_load_checkpoint_in_a_running_fit_is_refused_before_anything_changes(event, three):
    folder,want = three
    def go_back(cb):
        before = what_trains(cb.learn) | dict(rng=torch.get_rng_state(), epoch=cb.learn.epoch)
        before = deepcopy(before)
        with pytest.raises(RuntimeError, match='load_checkpoint was called inside a fit'): cb.learn.load_checkpoint(folder/'step-000000006')
        check(what_trains(cb.learn) | dict(rng=torch.get_rng_state(), epoch=cb.learn.epoch), before)
    learn = quiet(mk_learner(), 3, cbs=At(event, 1, go_back))
    assert learn.count.opt_steps==18
    check(dict(learn.model.state_dict()), dict(want))

def test_load_checkpoint_in_an_evaluation_is_refused(three):
    def go_back(cb): cb.learn.load_checkpoint(three[0])
    with pytest.raises(RuntimeError, match='load_checkpoint was called inside an evaluation'):
        mk_learner().validate(cbs=Callback(before_validate=go_back))
