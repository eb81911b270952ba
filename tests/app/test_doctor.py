"`learnloop doctor` finds faults, says how to fix them, and leaves no files"
import re, subprocess, sys, tomllib
from pathlib import Path
import learnloop, pytest, torch
from learnloop.app import doctor

pytestmark = pytest.mark.usefixtures('elsewhere')

def sections(out):
    "Return the lines of each section, and what follows the sections"
    parts = [o.splitlines() for o in out.rstrip().split('\n\n')]
    return {o[0]:o[1:] for o in parts[:5]},parts[5:]

@pytest.fixture
def alone(monkeypatch):
    "Skip the check that starts processes, which takes seconds"
    monkeypatch.setattr(doctor, '_try_processes', lambda *args: 'two')

def test_doctor(run):
    code,out,err = run('doctor')
    found,rest = sections(out)
    assert (code,err,rest)==(0, '', [['all is well']]) and '\x1b' not in out
    assert [*found]==['versions', 'devices', 'processes', 'extras', 'self-test']
    firsts = {k:[o[:19].strip() for o in v] for k,v in found.items()}
    assert firsts['versions']==['learnloop', 'Python', 'system', *doctor._NEEDED] and firsts['extras']==[*doctor._EXTRAS]
    assert firsts['self-test']==['fit on cpu', 'save and resume', 'load with workers', 'write a log', 'train together']
    assert firsts['processes']==['backends', 'torchrun', 'start by', 'shared memory', 'host']
    for lines in found.values(): assert all(re.match(r'  \S.{15,} \S', o) and o[19:21]=='  ' and o[21]!=' ' and o==o.rstrip() for o in lines), lines
    assert all(o[21:31]=='ok        ' for o in found['self-test'])
    assert f'learnloop          {learnloop.__version__}' in out and sys.executable in out and torch.__version__.split('+')[0] in out

@pytest.mark.parametrize('name,n', [('_try_workers', 1), ('_try_processes', 1), ('_fit', 3)])
def test_doctor_names_what_fails_and_tries_the_rest(name, n, alone, run, monkeypatch):
    def _broken(*args, **kw): raise OSError('no space left\non the device')
    monkeypatch.setattr(doctor, name, _broken)
    code,out,err = run('doctor')
    rows = sections(out)[0]['self-test']
    failed = [o for o in rows if o[21:27]=='FAILED']
    assert (code,err,len(rows),len(failed))==(1, '', 5, n) and all(o.endswith('OSError: no space left') for o in failed)
    assert out.count('Traceback')==out.count('OSError: no space left\non the device')==n and out.endswith(f'\n{n} of the checks failed\n')

@pytest.mark.parametrize('name,msg', [('fit', 'should fall'), ('resume', 'other weights'), ('workers', 'differ'), ('log', 'nothing was written')])
def test_checks_of_doctor_can_fail(name, msg, tmp_path, monkeypatch):
    fit,from_dsets = doctor._fit,doctor.DataLoaders.from_dsets
    def _up(*args):
        learn = fit(*args)
        learn.recorder.values.reverse()
        return learn
    def _shuffled(ds, **kw): return from_dsets(ds, **kw | dict(shuffle=True, num_workers=0, timeout=0))
    if name=='workers': monkeypatch.setattr(doctor.DataLoaders, 'from_dsets', _shuffled)
    else: monkeypatch.setattr(doctor, '_fit', dict(fit=_up, resume=lambda n, resume=None: fit(n+(resume is not None)), log=lambda n, cbs: fit(n))[name])
    args = dict(fit=['cpu'], resume=[tmp_path], workers=[], log=[tmp_path/'log'])[name]
    with pytest.raises(RuntimeError, match=msg): getattr(doctor, f'_try_{name}')(*args)

def test_doctor_knows_the_packages_of_the_project():
    project = tomllib.loads((Path(__file__).parents[2]/'pyproject.toml').read_text())['project']
    def _names(deps): return {re.split(r'[\[<>=]', o)[0] for o in deps}
    assert _names(project['dependencies'])==set(doctor._NEEDED)
    for k,(_,pip) in doctor._EXTRAS.items():
        if m := re.fullmatch(r"'learnloop\[(\w+)\]'", pip): assert k in _names(project['optional-dependencies'][m[1]])
        else: assert pip==k
    extras = set(project['optional-dependencies'])-{'dev', 'browser'}
    assert all(o in str(doctor._EXTRAS) for k in extras for o in _names(project['optional-dependencies'][k]))

def test_doctor_shows_accelerators(monkeypatch):
    def _memory(i):
        if i: raise RuntimeError('CUDA error: out of memory\nmore')
        return 60e9,80e9
    fakes = dict(is_available=lambda: True, device_count=lambda: 2, mem_get_info=_memory, get_device_name='H{}'.format)
    for k,f in fakes.items(): monkeypatch.setattr(torch.cuda, k, f)
    monkeypatch.setattr(doctor, 'default_device', lambda: torch.device('cuda:0'))
    res = dict(doctor._devices())
    assert res['cuda:0']=='H0, 60.0 of 80.0 GB free' and res['cuda:1']=='H1, which fails: RuntimeError: CUDA error: out of memory' and res['used']=='cuda:0'
    assert [k for k,_ in doctor._checks(Path())][:2]==['fit on cpu', 'fit on cuda:0']

def broken(kind):
    "A stand-in for `subprocess.run` whose process hangs, fails, or trains to something else"
    def _run(command, timeout, **kw):
        if kind=='hangs': raise subprocess.TimeoutExpired(command, timeout)
        texts = dict(fails=(1, '', 'Traceback\n  in a line\nRuntimeError: no gloo'), dies=(-9, '', ''), differs=(0, 'rank 1: hello\n0.5\n', ''))
        return subprocess.CompletedProcess(command, *texts[kind])
    return _run

@pytest.mark.parametrize('kind,msg', [('hangs', '^two processes took more than 60 s$'), ('fails', '^RuntimeError: no gloo\nTraceback'), ('dies', '^exit code -9'), ('differs', 'by 5.0e-01$')])
def test_doctor_says_why_two_processes_do_not_train(kind, msg, monkeypatch):
    monkeypatch.setattr(doctor.subprocess, 'run', broken(kind))
    with pytest.raises(RuntimeError, match=msg): doctor._try_processes()

def test_doctor_knows_what_processes_need(monkeypatch):
    "It names what containers and odd hosts lack, and skips checks that cannot run"
    def _no(*args): raise OSError('no such thing')
    for total,want in ((64e6, 'too little for DataLoader workers: docker run --shm-size=8g'), (8e9, '8.0 of 8.0 GB free')):
        monkeypatch.setattr(doctor.shutil, 'disk_usage', lambda p, n=total: (n, 0, n))
        assert doctor._shared_memory().endswith(want)
    for at,want in (('127.0.1.1', 'cannot reach'), ('10.0.0.7', '10.0.0.7')):
        monkeypatch.setattr(doctor.socket, 'gethostbyname', lambda name, at=at: at)
        assert doctor._host().endswith(want)
    monkeypatch.setattr(doctor.shutil, 'disk_usage', _no)
    monkeypatch.setattr(doctor.socket, 'gethostbyname', _no)
    monkeypatch.setattr(doctor.shutil, 'which', lambda name: None)
    assert doctor._shared_memory()=='no /dev/shm' and 'no address' in doctor._host() and 'python -m' in dict(doctor._processes())['torchrun']
    assert 'train together' in dict(doctor._checks(Path()))
    monkeypatch.setattr(doctor.multiprocessing, 'get_all_start_methods', lambda: ['spawn'])
    assert 'train together' not in dict(doctor._checks(Path()))
    monkeypatch.setattr(doctor.dist, 'is_available', lambda: False)
    assert doctor._backends().startswith('none')

def test_doctor_interrupted(run, monkeypatch):
    def _stop(folder): raise KeyboardInterrupt
    monkeypatch.setattr(doctor, '_try_log', _stop)
    code,_,err = run('doctor')
    assert (code,err)==(130, 'learnloop doctor: interrupted\n')
