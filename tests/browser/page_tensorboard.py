"TensorBoard over files that `TensorBoardCallback` wrote: its scalars by HTTP, and its page in the browser"
import json, os, re, subprocess, sys
from contextlib import contextmanager
from threading import Timer
from time import monotonic, sleep
from urllib.parse import quote
from urllib.request import ProxyHandler, build_opener
import pytest, torch
from learnloop import TensorBoardCallback, mae
from learnloop.app.synth import synth_learner
from pages import LIMIT, SHOTS

EPOCHS,N = 4,10  # the first half in one run, the rest in a run that resumes it
TRAIN,VALID = 'first','first/valid'  # a chart has the same name in both, and a curve for each

def learner(d, log):
    torch.manual_seed(0)
    return synth_learner(n_train=N, metrics=mae, cbs=TensorBoardCallback(d/log, every_steps=1))

@pytest.fixture(scope='session')
def runs(tmp_path_factory):
    "Return a folder with the logs of a run, and the learner that finished it"
    d = tmp_path_factory.mktemp('runs')
    for n in (EPOCHS//2, EPOCHS):
        learn = learner(d, 'logs/first')
        with learn.no_logging(): learn.fit(n, resume=d/'checkpoints')
    return d/'logs',learn

@contextmanager
def tensorboard(folder, *args):
    "Serve `folder` by TensorBoard in a `with` block; yields the address"
    cmd = [sys.executable, '-m', 'tensorboard.main', '--logdir', str(folder), '--host', '127.0.0.1', '--port', '0', '--reload_interval', '1', *args]
    p = subprocess.Popen(cmd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=os.environ|dict(PYTHONUNBUFFERED='1'))
    timer = Timer(LIMIT, p.kill)  # ends the reading below, too
    timer.start()
    try:
        said = []
        while line := p.stdout.readline():
            said.append(line)
            if m := re.search(r'http://[\d.]+:\d+/', line): break
        else: pytest.fail(f'TensorBoard did not start: {"".join(said)}')
        yield m[0]
    finally:
        timer.cancel()
        p.kill()  # the server of its data ends with it
        p.communicate(timeout=LIMIT)

@pytest.fixture(scope='session')
def served(runs):
    with tensorboard(runs[0]) as url: yield url

@pytest.fixture(scope='session', params=['fast', 'slow'])
def either(request, runs):
    "TensorBoard with each of its two readers, which treat a resumed run differently"
    with tensorboard(runs[0], '--load_fast', 'true' if request.param=='fast' else 'false') as url: yield url

def get(url, path):
    with build_opener(ProxyHandler({})).open(f'{url}data/plugin/{path}', timeout=LIMIT) as f: return json.load(f)

def loaded(f, is_there):
    "Call `f` until `is_there` accepts its result; return the result"
    until = monotonic()+LIMIT
    while not is_there(res := f()):
        assert monotonic()<until, res
        sleep(.1)
    return res

def ready(url): return loaded(lambda: get(url, 'scalars/tags'), lambda o: 'loss' in o.get(TRAIN, ()) and 'metrics/mae' in o.get(VALID, ()))

def scalars(url, run, tag, n):
    "Return steps and values of a curve, once it has `n` points"
    points = loaded(lambda: get(url, f'scalars/scalars?run={quote(run)}&tag={quote(tag)}'), lambda o: len(o)>=n)
    return [o[1] for o in points],[o[2] for o in points]

def test_scalars_by_http(either, runs):
    rec = runs[1].recorder
    tags = ready(either)
    assert set(tags)=={TRAIN, VALID}
    steps,vals = scalars(either, TRAIN, 'loss', EPOCHS*N)
    assert steps==[*range(1, EPOCHS*N+1)], 'one continuous curve'
    assert vals==pytest.approx(rec.raw_losses)
    cols = dict(zip(rec.columns, zip(*rec.values, strict=True), strict=True))
    for tag,col in {'loss':'valid_loss', 'metrics/mae':'mae'}.items():
        steps,vals = scalars(either, VALID, tag, EPOCHS)
        assert steps==[N*(i+1) for i in range(EPOCHS)] and vals==pytest.approx(cols[col]), tag

@pytest.fixture
def open_tab(served, visit):
    "Open one of TensorBoard's tabs, once its data is there, in a window that is wide enough for it"
    ready(served)
    return lambda tab: visit(f'{served}#{tab}', width=1400, height=1000)

def shoot(page, name):
    page.screenshot(path=SHOTS/name)

def test_page_of_scalars(open_tab):
    page = open_tab('scalars')
    def curves():
        "For each card, the numbers of points of its curves"
        cards = page.locator('tf-scalar-card').all()
        return {o.evaluate('o => o.tag'):o.locator('path.line').evaluate_all("os => os.map(o => (o.getAttribute('d') || '').split('L').length)") for o in cards}
    loaded(curves, lambda o: {EPOCHS*N, EPOCHS}<={*o.get('loss', ())})
    shoot(page, 'tensorboard-scalars.png')
