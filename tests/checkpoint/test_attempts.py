"A fit that goes back: each log has at most one number for an attempt and a step, and its last attempt is the fit without the detour"
import csv, json, sys
from types import SimpleNamespace
import pytest
from helpers import fake_platform
from test_rewind import Back, mk
from learnloop import (
    Callback, CheckpointCallback, CSVLogger, Fingerprint, JSONLogger, MLflowCallback, Place, Snapshots, SpikeRecovery, TensorBoardCallback, WandbCallback)
from learnloop.see.fingerprint import read_fingerprint
from learnloop.see.runs import Run
from learnloop.see.tensorboard import read_scalars

# Lists of rewinds: the event, the place where it is raised, and where to
DETOURS = dict(
    batches=[('after_batch', (1, 3), dict(batches=2))],
    epochs=[('after_batch', (1, 3), dict(to=Place(0, 'train', 2)))],
    validation=[('after_validate', (1, 1), dict(to=Place(1)))],
    before_validation=[('before_validate', (1, 5), dict(batches=3))],
    end_of_epoch=[('between_batches', (1, 2), dict(to=Place(0, 'train', 5)))],
    start=[('after_epoch', (1, 1), dict(to=Place(0)))],
    twice=[('after_batch', (1, 3), dict(to=Place(0, 'train', 3))), ('after_batch', (2, 2), dict(to=Place(1, 'train', 4)))])

def fit(folder, logger, detour=(), later=None):
    learn = mk()
    learn.path = folder
    backs = [Back(event, at, **how) for event,at,how in detour]
    for i,o in enumerate(backs): o.name = f'back_{i}'
    learn.fit_one_cycle(3, cbs=[Snapshots(4, keep=9), logger, *backs])
    assert all(o.done for o in backs)
    if later: learn.rewind(to=later).resume()
    return learn

def csv_numbers(folder):
    with open(folder/'history.csv', newline='') as f: rows = [*csv.DictReader(f)]
    return [(int(o.get('attempt', 1)), int(o['step']), k, float(v)) for o in rows for k,v in o.items() if v and k not in ('step','attempt')]

def json_numbers(folder):
    rows = map(json.loads, (folder/'history.jsonl').read_text().splitlines())
    return [(o.get('attempt', 1), o['step'], k, v) for o in rows for k,v in o.items() if k not in ('step','attempt')]

def tb_numbers(folder):
    res = []
    for p in sorted({o.parent for o in (folder/'tb').rglob('events*')}):
        attempt,*run = p.relative_to(folder/'tb').parts if 'attempt' in str(p.relative_to(folder/'tb')) else ('attempt_1', *p.relative_to(folder/'tb').parts)
        res += [(int(attempt[8:]), step, '/'.join([*run, tag]), v) for tag,pts in read_scalars(p).items() for step,v in pts]
    return res

LOGS = dict(csv=(lambda: CSVLogger(every_steps=1, block=3), csv_numbers), json=(lambda: JSONLogger(every_steps=1, block=3), json_numbers),
    tensorboard=(lambda: TensorBoardCallback('tb', every_steps=1, block=4, graph=False), tb_numbers))

def check(numbers, plain, twice=()):
    "At most one number for each attempt and step; the last ones are those of the fit without a detour"
    keys = [o[:3] for o in numbers]
    twice = [k for k in keys if k[2] not in ('epoch','time') and keys.count(k)>1]  # a row and a step have an epoch each
    assert not twice
    last = {(step, k):v for _,step,k,v in sorted(numbers, key=lambda o: o[0])}
    assert last=={(step, k):v for _,step,k,v in plain}

@pytest.fixture(scope='module', params=LOGS)
def log(request, tmp_path_factory):
    mk_logger,numbers = LOGS[request.param]
    folder = tmp_path_factory.mktemp('plain')
    fit(folder, mk_logger())
    return SimpleNamespace(mk=mk_logger, numbers=numbers, plain=numbers(folder), rows=Run(folder).rows, name=request.param)

@pytest.mark.every(3)  # each detour once
@pytest.mark.parametrize('detour', DETOURS.values(), ids=DETOURS)
def test_each_attempt_logs_each_number_once(log, detour, tmp_path):
    fit(tmp_path, log.mk(), detour)
    found = log.numbers(tmp_path)
    check(found, log.plain)
    assert {o[0] for o in found}=={*range(1, len(detour)+2)}
    assert Run(tmp_path).rows==log.rows

def test_a_rewind_after_the_fit_is_logged_as_an_attempt(log, tmp_path):
    fit(tmp_path, log.mk(), later=Place(1, 'train', 3))
    check(log.numbers(tmp_path), log.plain)
    assert {o[0] for o in log.numbers(tmp_path)}=={1, 2} and Run(tmp_path).rows==log.rows

class Kill(Back):
    def go(self):
        if (self.learn.epoch, self.learn.n_done)==self.at and self.learn.keeper.attempt==self.how['attempt']: raise MemoryError('a fault')

@pytest.mark.every(4)  # each log and each place once
@pytest.mark.parametrize('attempt,at', [(0, (1, 4)), (1, (0, 4)), (1, (2, 1))])
def test_a_killed_and_resumed_fit_logs_each_number_once(log, attempt, at, tmp_path):
    "The fit fails before or after it goes back, and a new one resumes it"
    def go(*more):
        learn = mk()
        learn.path = tmp_path
        back = Back('between_batches', (1, 5), to=Place(0, 'train', 3))
        backs,folder = [] if resumed(tmp_path) else [back],tmp_path/'checkpoints'
        learn.fit_one_cycle(3, cbs=[CheckpointCallback(folder, every_steps=2, keep=99), log.mk(), *more, *backs], resume=folder)
    def resumed(folder): return any(json.loads(o.read_text()).get('attempt') for o in folder.rglob('manifest.json'))
    with pytest.raises(MemoryError): go(Kill('after_batch', at, attempt=attempt))
    go()
    check(log.numbers(tmp_path), log.plain)
    if log.name!='tensorboard': assert Run(tmp_path).rows==log.rows  # else a checkpoint's recorder comes first

def fingerprint_of(folder):
    f = read_fingerprint(folder)
    return [*f],f.before,f.when(),f.hypers,f.edits,[f.detail(i) for i in range(len(f.when()))]

@pytest.mark.every(4)
@pytest.mark.parametrize('detail', [1, 4])
@pytest.mark.parametrize('detour', [*DETOURS.values(), ()], ids=[*DETOURS, 'after_the_fit'])
def test_a_fingerprint_equals_that_of_a_fit_without_the_rewind(detour, detail, tmp_path):
    fit(tmp_path/'plain', Fingerprint(detail=detail))
    fit(tmp_path/'back', Fingerprint(detail=detail), detour, later=None if detour else Place(1, 'train', 3))
    assert fingerprint_of(tmp_path/'back')==fingerprint_of(tmp_path/'plain')

@pytest.mark.every(2)
@pytest.mark.parametrize('is_users', [False, True])
@pytest.mark.parametrize('name', ['wandb','mlflow'])
@pytest.mark.parametrize('detour', DETOURS.values(), ids=DETOURS)
def test_a_platform_has_a_run_for_each_attempt(name, is_users, detour, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, name, m := fake_platform())
    mk_logger = lambda: dict(wandb=WandbCallback, mlflow=MLflowCallback)[name](every_steps=1, block=3)
    def go(detour):
        m.open,m.runs,m.run = [],[],None
        mine = m.init() if is_users else None
        fit(tmp_path, mk_logger(), detour)
        assert m.open==([mine] if is_users else [])
        return [(i, *o) for i,r in enumerate(m.runs, 1) for o in r.kept]
    plain,found = go([]),go(detour)
    check(found, plain)
    assert len(m.runs)==len(detour)+1
    if name=='wandb': assert {o.kwargs['group'] for o in m.runs[1:]}<={o.id for o in m.runs}
    assert [f'{i}' in str(o.kwargs['tags']) for i,o in enumerate(m.runs[1:], 2)]==[True]*len(detour)

class Spike(Callback):
    order,run_valid = 5,False
    def after_loss(self):
        if self.learn.count.batches==8: self.learn.loss_grad = self.learn.loss_grad*float('nan')

def test_the_report_says_where_the_fit_went_back(tmp_path):
    learn = mk()
    learn.path = tmp_path
    back = Back('after_batch', (2, 3), batches=2, lr=.001)
    learn.fit(3, cbs=[Snapshots(4, keep=9), recovery := SpikeRecovery(batches=1), Spike(), back])
    page = learn.report(cbs=recovery).read_text()
    assert 'Where the fit went back' in page and 'SpikeRecovery: the loss was nan' in page and 'lr=0.001' in page and 'raised in after_batch' in page
