"TensorBoard, served over what `TensorBoardCallback` has written: its scalars by HTTP, and its page in the browser"
import json, os, re, subprocess, sys
from contextlib import contextmanager
from threading import Timer
from time import monotonic, sleep
from urllib.parse import quote
from urllib.request import ProxyHandler, build_opener
import pytest, torch
from learnloop import TensorBoardCallback, mae
from learnloop.synth import synth_learner

LIMIT = 120
EPOCHS,N = 4,10  # the first half in a run that ends, the rest in one that goes on from it
TRAIN,VALID = 'first','first/valid'  # a chart has the same name in both, and a curve for each

def learner(d, log):
    torch.manual_seed(0)
    return synth_learner(n_train=N, metrics=mae, cbs=TensorBoardCallback(d/log, every_steps=1))

@pytest.fixture(scope='session')
def runs(tmp_path_factory):
    "A folder with the logs of a run, and the learner that has ended it"
    d = tmp_path_factory.mktemp('runs')
    for n in (EPOCHS//2, EPOCHS):
        learn = learner(d, 'logs/first')
        with learn.no_logging(): learn.fit(n, resume=d/'checkpoints')
    return d/'logs',learn

@contextmanager
def tensorboard(folder, *args):
    "The address of TensorBoard over `folder`, in a `with` block"
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
        p.communicate(timeout=10)

@pytest.fixture(scope='session')
def served(runs):
    with tensorboard(runs[0]) as url: yield url

@pytest.fixture(scope='session', params=['fast', 'slow'])
def either(request, runs):
    "Both ways in which TensorBoard reads logs: they differ in what they take for a run that was resumed"
    with tensorboard(runs[0], '--load_fast', 'true' if request.param=='fast' else 'false') as url: yield url

def get(url, path):
    with build_opener(ProxyHandler({})).open(f'{url}data/plugin/{path}', timeout=30) as f: return json.load(f)

def loaded(url, path, is_there):
    "What `path` gives when all is loaded"
    until = monotonic()+LIMIT
    while not is_there(res := get(url, path)):
        assert monotonic()<until, f'{path} gives {res}'
        sleep(.1)
    return res

def ready(url): return loaded(url, 'scalars/tags', lambda o: 'loss' in o.get(TRAIN, ()) and 'metrics/mae' in o.get(VALID, ()))

def scalars(url, run, tag, n):
    "Steps and values of the `n` points that there should be"
    points = loaded(url, f'scalars/scalars?run={quote(run)}&tag={quote(tag)}', lambda o: len(o)>=n)
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

# Its page is made of components that have documents of their own
DEEP = """((sel, root=document) => { const out = []
    const walk = o => { for (const e of o.querySelectorAll('*')) { if (e.matches(sel)) out.push(e); if (e.shadowRoot) walk(e.shadowRoot) } }
    walk(root.shadowRoot || root)
    return out })"""
CURVES = f"{DEEP}('tf-scalar-card').map(c => [c.tag, {DEEP}('path.line', c).map(o => (o.getAttribute('d') || '').split('L').length)])"

def test_page_of_scalars(served, visit, shots):
    ready(served)
    page = visit(f'{served}#scalars', width=1400, height=1000)
    page.wait_for(f"{CURVES}.some(([tag, lines]) => tag=='loss' && lines.includes({EPOCHS*N}) && lines.includes({EPOCHS}))")
    page.shot(shots/'tensorboard-scalars.png', full=False, settle=1)

def test_page_of_time_series(served, visit, shots, runs):
    ready(served)
    page = visit(served, width=1400, height=1000)
    rec = runs[1].recorder
    card = page.wait_for("[...document.querySelectorAll('scalar-card')].map(o => o.innerText).find(o => /^loss\\s/.test(o) && /first\\/valid/.test(o))")
    numbers = [float(o) for o in card.split() if re.fullmatch(r'[\d.e-]*\d', o)]
    for last in (rec.raw_losses[-1], rec.values[-1][1]): assert any(o==pytest.approx(last, rel=1e-3) for o in numbers), (last, card)
    assert EPOCHS*N in numbers
    page.shot(shots/'tensorboard.png', full=False, settle=1)

def test_page_of_graph(served, visit, shots):
    page = visit(f'{served}#graphs', width=1400, height=1000)
    names = page.wait_for(f"(names => names.length>1 && names)({DEEP}('g.node').map(o => o.getAttribute('data-name')))")
    assert any('loss' in o for o in names), names
    page.shot(shots/'tensorboard-graph.png', full=False, settle=1)

def test_page_of_hparams(served, visit, shots):
    page = visit(f'{served}#hparams', width=1400, height=1000)
    cells = page.wait_for(f"(cells => cells.includes('first') && cells)({DEEP}('vaadin-grid-cell-content').map(o => o.innerText.trim()))")
    assert 'RegModel' in cells and 'mse_loss' in cells, cells
    page.shot(shots/'tensorboard-hparams.png', full=False, settle=1)
