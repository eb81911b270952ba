"The command: its help, what it refuses, that the demo does what it promises, and that the doctor finds what is wrong"
import os, re, subprocess, sys, tomllib
from importlib.util import find_spec
from pathlib import Path
import pexpect, pytest, torch
import learnloop
from helpers import in_terminal
from learnloop import Learner
from learnloop.app import cli
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
    with learnloop.keep.storage.locked_folder(saved): assert run('checkpoints', saved)[0]==0

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

# ---- doctor

def sections(out):
    "The lines of each section, and what stands below"
    parts = [o.splitlines() for o in out.rstrip().split('\n\n')]
    return {o[0]:o[1:] for o in parts[:4]},parts[4:]

def test_doctor(run):
    code,out,err = run('doctor')
    found,rest = sections(out)
    assert (code,err,rest)==(0, '', [['all is well']]) and '\x1b' not in out
    assert [*found]==['versions', 'devices', 'extras', 'self-test']
    firsts = {k:[o[:19].strip() for o in v] for k,v in found.items()}
    assert firsts['versions']==['learnloop', 'Python', 'system', *cli._NEEDED] and firsts['extras']==[*cli._EXTRAS]
    assert firsts['self-test']==['fit on cpu', 'save and resume', 'load with workers', 'write a log']
    for lines in found.values(): assert all(re.match(r'  \S.{15,} \S', o) and o[19:21]=='  ' and o[21]!=' ' and o==o.rstrip() for o in lines), lines
    assert all(o[21:31]=='ok        ' for o in found['self-test'])
    assert f'learnloop          {learnloop.__version__}' in out and sys.executable in out and torch.__version__ in out

def test_doctor_leaves_nothing(run, tmp_path, monkeypatch):
    (tmp := tmp_path/'tmp').mkdir()
    monkeypatch.setattr('tempfile.tempdir', str(tmp))
    before = torch.get_rng_state()
    assert run('doctor')[0]==0
    assert [*tmp.iterdir()]==[] and [o.name for o in tmp_path.iterdir()]==['tmp'] and torch.equal(torch.get_rng_state(), before)

@pytest.mark.parametrize('name,n', [('_try_fit', 1), ('_try_resume', 1), ('_try_workers', 1), ('_try_log', 1), ('_fit', 3)])
def test_doctor_names_what_fails_and_tries_the_rest(name, n, run, monkeypatch):
    def _broken(*args, **kw): raise OSError('no space left\non the device')
    monkeypatch.setattr(cli, name, _broken)
    code,out,err = run('doctor')
    rows = sections(out)[0]['self-test']
    failed = [o for o in rows if o[21:27]=='FAILED']
    assert (code,err,len(rows),len(failed))==(1, '', 4, n) and all(o.endswith('OSError: no space left') for o in failed)
    assert out.count('Traceback')==out.count('OSError: no space left\non the device')==n and out.endswith(f'\n{n} of the checks failed\n')

@pytest.mark.parametrize('name,msg', [('fit', 'should fall'), ('resume', 'other weights'), ('workers', 'differ'), ('log', 'nothing was written')])
def test_checks_of_doctor_can_fail(name, msg, tmp_path, monkeypatch):
    fit,from_dsets = cli._fit,cli.DataLoaders.from_dsets
    def _up(*args):
        learn = fit(*args)
        learn.recorder.values.reverse()
        return learn
    def _shuffled(ds, **kw): return from_dsets(ds, **kw | dict(shuffle=True, num_workers=0, timeout=0))
    if name=='workers': monkeypatch.setattr(cli.DataLoaders, 'from_dsets', _shuffled)
    else: monkeypatch.setattr(cli, '_fit', dict(fit=_up, resume=lambda n, resume=None: fit(n+(resume is not None)), log=lambda n, cbs: fit(n))[name])
    args = dict(fit=['cpu'], resume=[tmp_path], workers=[], log=[tmp_path/'log'])[name]
    with pytest.raises(RuntimeError, match=msg): getattr(cli, f'_try_{name}')(*args)

def test_doctor_says_how_to_install_what_is_missing(run, monkeypatch):
    monkeypatch.setattr(cli, '_version', lambda o: None if o in ('safetensors', 'mlflow', 'tensorboard') else '1.0')
    monkeypatch.setattr(cli, '_checks', lambda folder: [])
    code,out,_ = run('doctor')
    found = sections(out)[0]
    missing = {o.split()[0]:o.split('missing   ')[1] for v in found.values() for o in v if 'missing' in o}
    assert code==0 and missing==dict(safetensors="pip install 'learnloop[export]', for weights without pickle", mlflow='pip install mlflow, for MLflowCallback',
        tensorboard='pip install tensorboard')

def test_doctor_knows_the_packages_of_the_project():
    project = tomllib.loads((Path(__file__).parents[2]/'pyproject.toml').read_text())['project']
    def _names(deps): return {re.split('[<>=]', o)[0] for o in deps}
    assert _names(project['dependencies'])==set(cli._NEEDED)
    for k,(_,pip) in cli._EXTRAS.items():
        if m := re.fullmatch(r"'learnloop\[(\w+)\]'", pip): assert k in _names(project['optional-dependencies'][m[1]])
        else: assert pip==k
    extras = set(project['optional-dependencies'])-{'dev', 'browser'}
    assert all(o in str(cli._EXTRAS) for k in extras for o in _names(project['optional-dependencies'][k]))

def test_doctor_shows_accelerators(monkeypatch):
    def _memory(i):
        if i: raise RuntimeError('CUDA error: out of memory\nmore')
        return 60e9,80e9
    fakes = dict(is_available=lambda: True, device_count=lambda: 2, mem_get_info=_memory, get_device_name='H{}'.format)
    for k,f in fakes.items(): monkeypatch.setattr(torch.cuda, k, f)
    monkeypatch.setattr(cli, 'default_device', lambda: torch.device('cuda:0'))
    res = dict(cli._devices())
    assert res['cuda:0']=='H0, 60.0 of 80.0 GB free' and res['cuda:1']=='H1, which fails: RuntimeError: CUDA error: out of memory' and res['used']=='cuda:0'
    assert [k for k,_ in cli._checks(Path())][:2]==['fit on cpu', 'fit on cuda:0']

def test_doctor_interrupted(run, monkeypatch):
    def _stop(folder): raise KeyboardInterrupt
    monkeypatch.setattr(cli, '_try_log', _stop)
    code,_,err = run('doctor')
    assert (code,err)==(130, 'learnloop doctor: interrupted\n')

# ---- report and trace

@pytest.fixture(scope='module')
def left(tmp_path_factory):
    "The folder of a run, with what the commands read"
    d = tmp_path_factory.mktemp('left')
    learn = learnloop.synth_learner(cbs=[learnloop.CSVLogger(d/'history.csv'), learnloop.Tracer()])
    with learn.no_logging(), learn.no_bar(): learn.fit(2)
    learn.trace.save(d/'trace.json.gz')
    (d/'file').write_text('{}')
    (d/'empty').mkdir()
    return d

@pytest.mark.parametrize('args,path', [([], '{}/report.html'), (['-o', 'out.html'], 'out.html'), (['--output', '{}/sub.html'], '{}/sub.html')])
def test_report(args, path, run, left):
    path = path.format(left)
    assert run('report', left, *(o.format(left) for o in args))==(0, f'Report: {path}, which any browser opens\n', '')
    page = Path(path).read_text()
    assert '<table' in page and 'valid_loss' in page

def test_trace(run, left):
    code,out,err = run('trace', left/'trace.json.gz')
    assert (code,err,out)==(0, '', f"{learnloop.load_trace(left/'trace.json.gz')}\n") and 'recorder' in out

def test_trace_in_a_terminal_without_such_letters(left):
    "A question mark is better than a traceback"
    learn = learnloop.synth_learner(cbs=[learnloop.Tracer(), learnloop.Callback(name='café', after_batch=lambda learn: None)])
    with learn.no_logging(), learn.no_bar(): learn.fit(1)
    env = {k:v for k,v in os.environ.items() if k not in ('PYTHONUTF8', 'LC_ALL')} | dict(PYTHONIOENCODING='ascii')
    out = subprocess.run([sys.executable, '-m', 'learnloop', 'trace', learn.trace.save(left/'odd.json')], capture_output=True, timeout=TIMEOUT, env=env)
    assert out.returncode==0 and out.stderr==b'' and b'caf?' in out.stdout

@pytest.mark.parametrize('args,msg', [
    ('report nowhere', 'no folder nowhere'), ('report {}/file', 'is a file'), ('report {}/empty', 'nothing to report'), ('report {} -o {}/empty', 'is a folder'),
    ('report {} -o {}/file/x.html', '/file is a file'), ('trace nowhere', "'nowhere'"), ('trace {}', 'is a folder'), ('trace {}/file', 'is no trace'),
    ('trace {}/history.csv', 'is no trace')])
def test_what_cannot_be_read_is_one_line(args, msg, run, left):
    code,out,err = run(*(o.format(left) for o in args.split()))
    assert (code,out)==(1, '') and err.startswith(f'learnloop {args.split()[0]}: ') and msg in err and len(err.splitlines())==1

@pytest.mark.parametrize('args', [['report'], ['trace'], ['report', 'a', 'b'], ['doctor', 'now'], ['trace', 'a', '-o', 'b']])
def test_wrong_arguments(args, run):
    code,out,err = run(*args)
    assert (code,out)==(2, '') and err.startswith('usage: ')

# ---- output that ends somewhere

def started(*args, **kw):
    "The command in a process of its own, which holds its output back"
    env = {k:v for k,v in os.environ.items() if k!='PYTHONUNBUFFERED'}
    return subprocess.Popen([sys.executable, '-m', 'learnloop', *args], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=env, **kw)

@pytest.mark.parametrize('args,n', [(['doctor'], 1), (['--help'], 0)])
def test_closed_pipe_is_quiet(args, n):
    with started(*args, stdout=subprocess.PIPE) as p:
        try:
            for _ in range(n): p.stdout.readline()
            p.stdout.close()
            err = p.stderr.read()
            assert (p.wait(TIMEOUT),err)==(141, '')
        finally: p.kill()

@pytest.mark.skipif(not Path('/dev/full').exists(), reason='there is no full device here')
@pytest.mark.parametrize('args', [['checkpoints'], ['--help']])
def test_full_disk_is_one_line(args, request):
    if args!=['--help']: args = [*args, str(request.getfixturevalue('saved'))]
    with open('/dev/full', 'w') as f, started(*args, stdout=f) as p:
        try:
            err = p.communicate(timeout=TIMEOUT)[1]
            assert p.returncode==1 and err.startswith('learnloop') and 'No space left' in err and len(err.splitlines())==1, err
        finally: p.kill()

def test_a_bug_has_its_traceback(monkeypatch):
    def _demo(**kw): raise ValueError('a bug')
    _demo.__doc__ = ''
    monkeypatch.setattr(cli, '_demo_options', lambda parser: None)
    monkeypatch.setattr(cli, 'demo', _demo)
    with pytest.raises(ValueError, match='a bug'): cli.main(['demo'])

def test_ctrl_c():
    p = in_terminal(['-m', 'learnloop', 'demo', '--epochs', '10000'], timeout=TIMEOUT, dimensions=(60,120))
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
    assert sorted(o.name.split('.')[0] for o in run.iterdir())==['digits', 'events', 'valid']
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
    assert len(log.Scalars('loss'))==len(learn.recorder.lrs)==10*23

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
