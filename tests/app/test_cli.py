"The command: its help, errors, output, closed pipes and interrupts"
import json, os, re, sys
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
import learnloop, pytest, torch
from helpers import quiet
from learnloop.app import cli
from tools.forks import run_all

pytestmark = pytest.mark.usefixtures('elsewhere')

@pytest.fixture
def calls(monkeypatch):
    "Record calls of `demo` instead of running it, with the real options; an exception put into the list is raised instead"
    res = []
    def _demo(**kw):
        if res: raise res.pop()
        res.append(kw)
    _demo.__doc__,real = cli.demo.__doc__,cli._demo_options
    def _options(parser):
        with pytest.MonkeyPatch.context() as m:
            m.setattr(cli, 'demo', demo)
            real(parser)
    demo = cli.demo
    monkeypatch.setattr(cli, '_demo_options', _options)
    monkeypatch.setattr(cli, 'demo', _demo)
    return res

def test_help(run):
    code,out,_ = run('--help')
    assert code==0 and 'demo' in out and '--version' in out
    code,out,_ = run('demo', '--help')
    assert code==0
    text = ' '.join(out.split())
    docs = dict(epochs='Number of epochs', bs='Images in a batch', lr='Highest learning rate', seed='Seed of weights', folder='Folder in which')
    for k,val in dict(epochs=10, bs=64, lr=.01, seed=42, folder='runs').items():
        assert f'--{k} {k.upper()} {docs[k]}' in text and f'(default: {val})' in text

    assert run()==run('--help')

@pytest.mark.parametrize('args,msg', [
    ('--epochs 0',    "argument --epochs: '0' must be a whole number, 1 or more"), ('--epochs 2.5', "'2.5' must be a whole number"),
    ('--epochs many', "'many' must be a whole number, 1 or more"), ('--bs 0', "argument --bs: '0' must be"), ('--seed -1', 'whole number, 0 or more'),
    ('--lr 0',        "argument --lr: '0' must be a number above 0"), ('--lr nan', "'nan' must be"), ('--lr inf', "'inf' must be"),
    ('--epoks 3',     'unrecognized arguments: --epoks 3')])
def test_wrong_options(args, msg, run, calls):
    code,out,err = run('demo', *args.split())
    assert (code,out,calls)==(2, '', []) and msg in err and 'Traceback' not in err

@pytest.mark.parametrize('args', [['dmo'], ['--epochs']])
def test_wrong_command(args, run):
    code,_,err = run(*args)
    assert code==2 and 'command' in err

@pytest.mark.parametrize('text,msg', [('epochs = ten', "'ten' is not a valid int"), ('epochs = 0', "'0' must be a whole number, 1 or more"),
    ('epoks = 3', "unknown key 'epoks'"), ('epochs', 'parsing errors')])
def test_wrong_settings(text, msg, run, calls, tmp_path):
    (tmp_path/'settings.ini').write_text(f'[demo]\n{text}')
    code,_,err = run('demo')
    assert code==2 and msg in err and not calls

@pytest.mark.parametrize('missing', [['sklearn'], ['matplotlib'], ['sklearn', 'matplotlib']])
def test_missing_extras(missing, run, calls, monkeypatch):
    monkeypatch.setattr(cli, 'find_spec', lambda o: None if o in missing else find_spec(o))
    assert run('demo')==(1, '', f"learnloop demo needs {' and '.join(missing)}: pip install 'learnloop[demo]'\n") and not calls

def test_folder_that_cannot_be(run, tmp_path):
    (tmp_path/'file').write_text('')
    code,_,err = run('demo', '--folder', 'file/x')
    assert code==1 and 'file/x' in err and 'Traceback' not in err and len(err.splitlines())==1

@pytest.fixture
def saved(tmp_path):
    "The folder of a run with two checkpoints"
    quiet(learnloop.synth_learner(), 2, cbs=learnloop.CheckpointCallback(tmp_path/'run', best=1))
    return tmp_path/'run'

def test_checkpoints_are_listed(run, saved):
    before = sorted(o.relative_to(saved) for o in saved.rglob('*'))
    code,out,err = run('checkpoints', saved)
    head,*rows = out.splitlines()
    steps = [o.step for o in learnloop.list_checkpoints(saved)]
    assert (code,err)==(0, '') and head.split()==['step', 'epoch', 'written', 'MB', 'metrics'] and [int(o.split()[0]) for o in rows]==steps and len(steps)==2
    assert all('valid_loss ' in o and o.split()[2].count('-')==2 for o in rows) and sorted(o.relative_to(saved) for o in saved.rglob('*'))==before

def test_damaged_checkpoints_are_named(run, saved):
    p = learnloop.list_checkpoints(saved)[0].path/'opt.pt'
    p.write_bytes(p.read_bytes()[:-1])
    code,out,err = run('checkpoints', saved)
    bad,good = out.splitlines()[1:]
    assert (code,err)==(1, '') and f'{p} has ' in bad and 'damaged' not in good and 'were written' not in good

@pytest.mark.parametrize('folder,msg', [('nowhere', 'no folder nowhere'), ('empty', 'no checkpoints in empty'), ('file', "folder is 'file'")])
def test_checkpoints_that_are_not_there(folder, msg, run, tmp_path):
    (tmp_path/'empty').mkdir()
    (tmp_path/'file').write_text('')
    code,out,err = run('checkpoints', folder)
    assert (code,out)==(1, '') and err.startswith('learnloop checkpoints: ') and msg in err and len(err.splitlines())==1

# ---- report and trace

@pytest.fixture(scope='module')
def left(tmp_path_factory):
    "The folder of a run, with what the commands read"
    d = tmp_path_factory.mktemp('left')
    learn = quiet(learnloop.synth_learner(cbs=[learnloop.CSVLogger(d/'history.csv'), learnloop.Tracer()]), 2)
    learn.trace.save(d/'trace.json.gz')
    (d/'file').write_text('{}')
    (d/'empty').mkdir()
    return d

@pytest.mark.parametrize('args,path', [([], '{}/report.html'), (['-o', 'out.html'], 'out.html'), (['--output', '{}/sub.html'], '{}/sub.html')])
def test_report(args, path, run, left):
    path = path.format(left)
    assert run('report', left, *(o.format(left) for o in args))==(0, f'Report: {path}; open it in any browser\n', '')
    page = Path(path).read_text()
    assert '<table' in page and 'valid_loss' in page

def test_trace(run, left):
    code,out,err = run('trace', left/'trace.json.gz')
    assert (code,err,out)==(0, '', f"{learnloop.load_trace(left/'trace.json.gz')}\n") and 'recorder' in out

@pytest.mark.parametrize('args,msg', [
    ('report nowhere', 'no such folder'), ('report {}/file', 'is a file'), ('report {}/empty', 'no files of a run'), ('report {} -o {}/empty', 'is a folder'),
    ('report {} -o {}/file/x.html', '/file is a file'), ('trace nowhere', 'no such file'), ('trace {}', 'is a folder'), ('trace {}/file', 'is not a trace'),
    ('trace {}/history.csv', 'is not a trace')])
def test_an_unreadable_file_or_folder_is_an_error_of_one_line(args, msg, run, left):
    code,out,err = run(*(o.format(left) for o in args.split()))
    assert (code,out)==(1, '') and err.startswith(f'learnloop {args.split()[0]}: ') and msg in err and len(err.splitlines())==1

@pytest.mark.parametrize('args', [['report'], ['trace'], ['report', 'a', 'b'], ['doctor', 'now'], ['trace', 'a', '-o', 'b']])
def test_wrong_arguments(args, run):
    code,out,err = run(*args)
    assert (code,out)==(2, '') and err.startswith('usage: ')

# ---- output that ends early

@pytest.mark.parametrize('args', [['doctor'], ['--help']])
def test_a_closed_pipe_is_quiet(args, tmp_path):
    "The pipe has no reader when the first line is written"
    def with_closed_pipe(args):
        r,w = os.pipe()
        os.close(r)
        os.dup2(w, 1)
        sys.argv,sys.stdout = ['learnloop', *args],open(1, 'w', closefd=False)
        sys.stderr = open(2, 'w', closefd=False)
        try: cli.main()
        except SystemExit as e: return e.code
    res, = run_all(with_closed_pipe, [args], timeout=100)
    assert (res.rc, res.out)==(141, '')

def test_a_bug_has_its_traceback_and_an_interrupt_has_none(run, calls):
    calls.append(ValueError('a bug'))
    with pytest.raises(ValueError, match='a bug'): run('demo')
    calls.append(KeyboardInterrupt())
    assert run('demo')==(130, '', 'learnloop demo: interrupted\n')

def test_the_demo_gets_98_percent(run, tmp_path):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    status,out,err = run('demo', '--folder', tmp_path/'out')
    assert status==0 and err=='', err
    at, = (tmp_path/'out').iterdir()
    assert len(EventAccumulator(str(at)).Reload().Scalars('loss'))==10*23
    assert sorted(o.name.split('.')[0] for o in at.iterdir())==['digits', 'events', 'run', 'valid']
    assert (at/'digits.png').read_bytes()[:4]==b'\x89PNG'
    assert out.count('loss_grad.backward()')==1 and out.rstrip().endswith('p.grad = None')
    assert 'epoch  train_loss  valid_loss  accuracy' in out and float(re.search(r'Validation accuracy: ([\d.]+)%', out)[1])>=98
    assert f'Figure: {at}/digits.png' in out and f'Logs:   {at}; open them with: tensorboard --logdir {tmp_path}/out' in out

# ---- for programs

def outputs(capsys, *argv):
    "What `learnloop` with `argv` prints, read as JSON"
    with suppress(SystemExit): cli.main([*argv, '--json'])
    return json.loads(capsys.readouterr().out, parse_constant=lambda o: pytest.fail(f'{o} is not JSON'))

def test_json_has_what_tables_and_pages_say(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for k in 'ab':
        torch.manual_seed(ord(k))
        learn = learnloop.synth_learner(path=f'runs/{k}', metrics=learnloop.mae)
        with learn.no_logging(): learn.fit(2, cbs=[learnloop.CSVLogger(), learnloop.Fingerprint()])
    capsys.readouterr()
    found = outputs(capsys, 'runs')
    assert [o['name'] for o in found]==['a', 'b'] and found[1]['results']['mae']['last']==pytest.approx(learn.recorder.values[-1][-1])
    assert found==outputs(capsys, 'runs', 'runs/*') and found[0]['state']=='done' and found[0]['resume'].startswith('no')
    report = outputs(capsys, 'report', 'runs/a')
    assert report['name']=='a' and [o['epoch'] for o in report['rows']]==[0, 1] and not (tmp_path/'runs/a/report.html').exists()
    differ,same = outputs(capsys, 'diff', 'runs/a', 'runs/b'),outputs(capsys, 'diff', 'runs/a', 'runs/a')
    assert (differ['equal'], differ['step'])==(False, 1) and (same['equal'], same['step'])==(True, None)

def test_a_command_for_a_run_where_no_fit_runs_is_refused(run, tmp_path):
    for folder,why in ((tmp_path, 'no fit is running in'), (tmp_path/'none', 'none')):
        code,_,err = run('tell', folder, 'stop')
        assert code==1 and why in err
    assert not [*tmp_path.iterdir()]
