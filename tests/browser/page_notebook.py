"A notebook with fits, executed by a real kernel, saved, opened again, and looked at as a page"
import pytest, sys

LIMIT = 120
N = 60  # batches of most of the fits
CELLS = ['''
import torch
from learnloop import *
from learnloop.synth import synth_learner
def learner(n_train=60, **kw):
    torch.manual_seed(0)
    learn = synth_learner(n_train=n_train, metrics=[mae, rmse], opt_func=torch.optim.SGD, lr=.01, **kw)
    learn.progress.delay = 0
    return learn
learn = learner(n_train=3000)
''', '''
learn.fit(3)
''', '''
list(learn.recorder.values), learn.recorder.columns
''', '''
def nested(cb):
    if cb.learn.training and cb.learn.epoch==1 and cb.learn.iter==30:
        learner().fit(2)
        cb.learn.validate()
outer = learner(cbs=Callback(after_batch=nested))
outer.fit(2)
''', '''
learn.validate();
''', '''
def stop(cb):
    if cb.learn.training and cb.learn.epoch==1 and cb.learn.iter==30: raise RuntimeError('broken on purpose')
failing = learner(cbs=Callback(after_batch=stop))
try: failing.fit(3)
except RuntimeError as e: print(e)
''', '''
graphed = learner(cbs=ShowGraph())
graphed.fit(3)
''', '''
learn.show_training_loop()
''', '''
traced = learner(cbs=Tracer())
with traced.no_logging(): traced.fit(1)
traced.trace
''']
SETUP,FIT,VALUES,NESTED,VALIDATE,FAILING,GRAPH,LOOP,TRACE = range(len(CELLS))

@pytest.fixture(scope='session')
def executed(tmp_path_factory):
    "The notebook as it was saved, and for each cell what its front end was told to display, in turn"
    import nbformat
    from jupyter_client.kernelspec import KernelSpec
    from nbclient import NotebookClient
    told = [[] for _ in CELLS]
    class Client(NotebookClient):
        def process_message(self, msg, cell, cell_index):
            if msg['msg_type'] in ('display_data', 'update_display_data', 'stream'): told[cell_index].append((msg['msg_type'], msg['content'], msg['header']['date']))
            return super().process_message(msg, cell, cell_index)
    d = tmp_path_factory.mktemp('notebook')
    nb = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(o.strip()) for o in CELLS])
    client = Client(nb, timeout=LIMIT, allow_errors=True, startup_timeout=LIMIT, resources=dict(metadata=dict(path=str(d))))
    client.create_kernel_manager()
    client.km._kernel_spec = KernelSpec(argv=[sys.executable, '-m', 'ipykernel_launcher', '-f', '{connection_file}'], language='python', display_name='Python')
    try: client.execute()
    finally:  # a notebook that is broken is shown, too
        nbformat.write(nb, d/'fit.ipynb')
    return d/'fit.ipynb',told

@pytest.fixture(scope='session')
def outputs(executed):
    import nbformat
    return [c.outputs for c in nbformat.read(executed[0], 4).cells]

@pytest.fixture(scope='session')
def as_page(executed, tmp_path_factory):
    "The notebook as a page, which needs nothing from elsewhere"
    from nbconvert import HTMLExporter
    exporter = HTMLExporter(mathjax_url='', require_js_url='', jquery_url='', widget_renderer_url='', mermaid_js_url='')
    (p := tmp_path_factory.mktemp('page')/'fit.html').write_text(exporter.from_filename(str(executed[0]))[0])
    return p

@pytest.fixture
def page(as_page, visit): return visit(as_page, offline=True)

def tables(page, i): return page.js(f"[...document.querySelectorAll('.jp-Cell')[{i}].querySelectorAll('table')].map(t => [...t.rows].map(r => [...r.cells].map(c => c.innerText.trim())))")
def shown(page, i): return page.js(f"[...document.querySelectorAll('.jp-Cell')[{i}].querySelectorAll('.jp-OutputArea-output')].map(o => o.innerText.trim()).join(' ')")

def epochs(table): return [o[0] for o in table[1:]]

def test_all_ran_and_nothing_was_fetched(outputs, page, shots):
    assert not [o for c in outputs for o in c if o.output_type=='error']
    page.shot(shots/'notebook.png')
    urls,errors = page.said()
    assert urls==[page.url] and errors==[]
    assert page.all('progress')==[], 'no bar is left'

def test_table_of_a_fit(outputs, page):
    values,columns = eval(outputs[VALUES][0].data['text/plain'])
    (head,*rows), = tables(page, FIT)
    assert head==['epoch', *columns, 'time'] and len(rows)==len(values)==3
    assert [[float(o) for o in r[1:-1]] for r in rows]==[pytest.approx(v, abs=1e-6) for v in values]
    res, = outputs[FIT]
    assert res.output_type=='display_data' and res.data['text/plain'].split()==[o for r in (head, *rows) for o in r]

def test_while_it_runs(executed, visit, shots, tmp_path):
    kinds,contents,times = zip(*executed[1][FIT], strict=True)
    assert kinds==('display_data', *['update_display_data']*(len(kinds)-1)), 'one output'
    assert len({o['transient']['display_id'] for o in contents})==1
    htmls = [o['data']['text/html'] for o in contents]
    n_rows = [o.count('<tr') for o in htmls]
    assert n_rows==sorted(n_rows) and set(n_rows)=={1, 2, 3, 4}, 'a row for each epoch, and none is ever lost'
    bars = ['<progress' in o for o in htmls]
    assert sum(bars)>3 and not bars[-1]
    secs = (times[-1]-times[0]).total_seconds()
    assert len(htmls)<=10*secs + 2*len(set(n_rows)) + 1, f'{len(htmls)} drawings in {secs} s'
    live = next(o for o in reversed(htmls) if '<progress' in o)
    (tmp_path/'live.html').write_text(f'<!doctype html><title>live</title><body style="font-family:sans-serif">{live}')
    page = visit(tmp_path/'live.html', height=250)
    at,end = page.js("(o => [o.value, o.max])(document.querySelector('progress'))")
    assert 0<at<=end and 'epoch ' in page.text and '/s' in page.text
    page.shot(shots/'notebook-live.png', full=False)

def test_fit_within_a_fit(outputs, page):
    assert not [o for o in outputs[NESTED] if o.output_type=='stream'], 'lines beside the tables'
    assert [epochs(o) for o in tables(page, NESTED)]==[['0', '1']]*2
    assert shown(page, NESTED).count('train_loss')==2

def test_validation_leaves_nothing(page): assert shown(page, VALIDATE)==''

def test_fit_that_raises(page):
    table, = tables(page, FAILING)
    assert epochs(table)==['0'] and shown(page, FAILING).endswith('broken on purpose')

def test_graph(outputs, page):
    table, = tables(page, GRAPH)
    assert epochs(table)==['0', '1', '2'] and len(outputs[GRAPH])==1
    svg = f"document.querySelectorAll('.jp-Cell')[{GRAPH}].querySelector('svg')"
    box = page.js(f"(o => [o.width, o.height])({svg}.getBoundingClientRect())")
    assert box[0]>300 and box[1]>100
    lines = page.js(f"[...{svg}.querySelectorAll('path,polyline')].map(o => o.getTotalLength())")
    assert max(lines)>100, 'a curve'
    assert page.js(f"{svg}.getAttribute('role')")=='img'
    assert any(role=='image' and 'loss' in name.lower() for role,name in page.reading()), 'what a screen reader says'

def test_training_loop(page):
    text = shown(page, LOOP)
    for o in ('fit', 'epoch', 'before_fit', 'after_batch', 'recorder', 'progress'): assert o in text

def test_trace(page):
    phases = {o[0]:o[1] for o in tables(page, TRACE)[0][1:]}
    assert phases['fit']=='1' and phases['step']==str(N)

def test_phone(as_page, visit, shots):
    page = visit(as_page, offline=True, width=390, height=800)
    page.shot(shots/'notebook-phone.png')
    svg = f"document.querySelectorAll('.jp-Cell')[{GRAPH}].querySelector('svg').getBoundingClientRect()"
    assert page.js(f'{svg}.right')<=390, 'the graph is as wide as the page at most'
