"The command: its help, what it refuses, and that the demo does what it promises"
import subprocess, sys
from importlib.util import find_spec
from pathlib import Path
import pexpect, pytest, torch
import learnloop
from learnloop import Learner, cli
from torch.nn import functional as F

TIMEOUT = 300  # for a machine that is busy with other tests; by itself, the demo takes some ten seconds

@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    "A folder without settings, and one thread: several that wait for each other are slow where other tests run, too"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv('OMP_NUM_THREADS', '1')
    n = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(n)

@pytest.fixture
def run(capsys):
    "Run the command in this process: exit status, output and errors"
    def _f(*args):
        try: cli.main([*map(str, args)])
        except SystemExit as e: res = e.code
        else: res = 0
        return res, *capsys.readouterr()
    return _f

@pytest.fixture
def calls(monkeypatch):
    "What `demo` was called with, instead of a demo; its options stay those of the real one"
    res = []
    def _demo(**kw): res.append(kw)
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
    docs = dict(epochs='Times that', bs='Images in a batch', lr='Highest learning rate', seed='Seed of weights', folder='Where a folder')
    for k,val in dict(epochs=10, bs=64, lr=.01, seed=42, folder='runs').items():
        assert f'--{k} {k.upper()} {docs[k]}' in text and f'(default: {val})' in text

def test_version(run): assert run('--version')==(0, f'learnloop {learnloop.__version__}\n', '')

def test_options_reach_the_demo(run, calls, tmp_path):
    assert run('demo')==(0, '', '')
    assert run('demo', '--epochs', 3, '--bs', 32, '--lr', '1e-3', '--seed', 0, '--folder', 'a/b')==(0, '', '')
    assert calls==[dict(epochs=10, bs=64, lr=.01, seed=42, folder=Path('runs')), dict(epochs=3, bs=32, lr=.001, seed=0, folder=Path('a/b'))]

def test_settings_are_the_defaults(run, calls, tmp_path):
    (tmp_path/'settings.ini').write_text('[demo]\nepochs = 3\nfolder = logs')
    run('demo')
    run('demo', '--epochs', 4)
    assert [(o['epochs'], o['folder']) for o in calls]==[(3, tmp_path/'logs'), (4, tmp_path/'logs')]

@pytest.mark.parametrize('args,msg', [
    ('--epochs 0',    "argument --epochs: '0' must be a whole number, 1 or more"), ('--epochs 2.5', "'2.5' must be a whole number"),
    ('--epochs many', "'many' must be a whole number, 1 or more"), ('--bs 0', "argument --bs: '0' must be"), ('--seed -1', 'whole number, 0 or more'),
    ('--lr 0',        "argument --lr: '0' must be a number above 0"), ('--lr nan', "'nan' must be"), ('--lr inf', "'inf' must be"),
    ('--epoks 3',     'unrecognized arguments: --epoks 3')])
def test_wrong_options(args, msg, run, calls):
    code,out,err = run('demo', *args.split())
    assert (code,out,calls)==(2, '', []) and msg in err and 'Traceback' not in err

@pytest.mark.parametrize('args', [[], ['dmo']])
def test_wrong_command(args, run):
    code,_,err = run(*args)
    assert code==2 and 'command' in err

@pytest.mark.parametrize('text,msg', [('epochs = ten', "'ten' is no int"), ('epochs = 0', "'0' must be a whole number, 1 or more"),
    ('epoks = 3', "nothing reads 'epoks'"), ('epochs', 'parsing errors')])
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
    learn = learnloop.synth_learner()
    with learn.no_logging(), learn.no_bar(): learn.fit(2, cbs=learnloop.CheckpointCallback(tmp_path/'run', best=1))
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

def test_checkpoints_of_a_run_that_goes_on(run, saved):
    with learnloop.locked_folder(saved): assert run('checkpoints', saved)[0]==0

@pytest.mark.parametrize('folder,msg', [('nowhere', 'no folder nowhere'), ('empty', 'no checkpoints in empty'), ('file', 'Not a directory')])
def test_checkpoints_that_are_not_there(folder, msg, run, tmp_path):
    (tmp_path/'empty').mkdir()
    (tmp_path/'file').write_text('')
    code,out,err = run('checkpoints', folder)
    assert (code,out)==(1, '') and err.startswith('learnloop checkpoints: ') and msg in err and len(err.splitlines())==1

def test_checkpoints_need_a_folder(run, tmp_path):
    (tmp_path/'settings.ini').write_text('[demo]\nepochs = ten')
    code,_,err = run('checkpoints')
    assert code==2 and 'required: folder' in err

def test_a_bug_has_its_traceback(monkeypatch):
    def _demo(**kw): raise ValueError('a bug')
    _demo.__doc__ = ''
    monkeypatch.setattr(cli, '_demo_options', lambda parser: None)
    monkeypatch.setattr(cli, 'demo', _demo)
    with pytest.raises(ValueError, match='a bug'): cli.main(['demo'])

def test_ctrl_c():
    p = pexpect.spawn(sys.executable, ['-m', 'learnloop', 'demo', '--epochs', '10000'], timeout=TIMEOUT, encoding='utf-8', dimensions=(60,120))
    try:
        p.expect(r'\d+/23 ')
        p.sendintr()
        p.expect(pexpect.EOF)
    finally: p.close(force=True)
    assert p.exitstatus==130 and 'learnloop demo: interrupted' in p.before and 'Traceback' not in p.before
    assert p.before.rindex('\x1b[?25h')>p.before.rfind('\x1b[?25l')

def test_demo_in_an_epoch(tmp_path):
    out = subprocess.run([sys.executable, '-m', 'learnloop', 'demo', '--epochs', '1', '--folder', str(tmp_path/'out')], capture_output=True,
        text=True, timeout=TIMEOUT)
    assert out.returncode==0 and out.stderr=='', out.stderr
    run, = (tmp_path/'out').iterdir()
    assert sorted(o.name.split('.')[0] for o in run.iterdir())==['digits', 'events']
    assert (run/'digits.png').read_bytes()[:4]==b'\x89PNG'
    assert '- after_batch: train_eval (train), progress, recorder' in out.stdout
    assert 'epoch  train_loss  valid_loss  accuracy' in out.stdout and 'Validation accuracy: ' in out.stdout
    assert f'Figure: {run}/digits.png' in out.stdout and f'Logs:   {run}; open them with: tensorboard --logdir {tmp_path}/out' in out.stdout

def test_demo_gets_98_percent(tmp_path, capsys):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    learn = cli.demo(folder=tmp_path)
    assert learn.final_record[-1]>=.98
    assert f'Validation accuracy: {learn.final_record[-1]:.2%}' in capsys.readouterr().out
    log = EventAccumulator(str(learn.tensor_board.log_dir)).Reload()
    assert len(log.Scalars('loss/train'))==len(learn.recorder.lrs)==10*23 and len(log.Scalars('metrics/accuracy'))==10

def test_digits_are_split_without_overlap():
    dls = cli.digits(bs=100)
    train,valid = dls.train_ds,dls.valid_ds
    assert len(train)==1438 and len(valid)==359 and not set(train.indices)&set(valid.indices)
    assert valid.indices==cli.digits().valid_ds.indices!=cli.digits(seed=1).valid_ds.indices

def test_figure_marks_what_is_wrong_in_colour_and_text():
    learn = Learner(cli.digits(), cli.cnn(width=2), F.cross_entropy, metrics=learnloop.accuracy)
    with learn.no_logging(): learn.fit(1)
    targs = learn.get_preds()[1]
    logits = F.one_hot(targs)*.1
    logits[[7,99,300]] = logits[[7,99,300]].roll(1, 1)*100  # wrong, and sure of it
    learn.get_preds = lambda: (logits, targs)
    fig = cli.plot_fit(learn)
    main,preds = fig.axes[:3],fig.axes[3:]
    assert [o.get_title().split()[0] for o in main]==['Loss', 'Validation', 'Learning'] and all(o.get_xlabel() and o.get_ylabel() for o in main)
    wrong = preds[:3]
    assert {o.get_title() for o in wrong}=={f'{(targs[i]+1)%10} (is {targs[i]})' for i in (7, 99, 300)}
    assert all(o.title.get_color()=='crimson' and o.spines.left.get_visible() for o in wrong)
    assert not any(o.spines.left.get_visible() or '(is' in o.get_title() for o in preds[3:])
