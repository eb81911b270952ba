"A notebook with fits, run by a real kernel, saved, opened again, and shown as a page"
import pytest, sys
from pages import LIMIT, SHOTS, said, tables

CELLS = ['''
import torch
from learnloop import *
from learnloop.app.synth import synth_learner
from learnloop.see import progress
progress._waits = 0  # else a slow drawing, on a busy machine, would suppress others
def learner(n_train=60, **kw):
    torch.manual_seed(0)
    learn = synth_learner(n_train=n_train, metrics=[mae, rmse], opt_func=torch.optim.SGD, lr=.01, **kw)
    learn.progress.delay,learn.progress.every_seconds = 0,.02
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
    "Return the saved notebook, and for each cell the display messages in their order"
    import nbformat
    from jupyter_client.kernelspec import KernelSpec
    from nbclient import NotebookClient
    told = [[] for _ in CELLS]
    class Client(NotebookClient):
        def process_message(self, msg, cell, cell_index):
            kind = msg['msg_type']
            if kind in ('display_data', 'update_display_data', 'stream'): told[cell_index].append((kind, msg['content'], msg['header']['date']))
            return super().process_message(msg, cell, cell_index)
    d = tmp_path_factory.mktemp('notebook')
    nb = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(o.strip()) for o in CELLS])
    client = Client(nb, timeout=LIMIT, allow_errors=True, startup_timeout=LIMIT, resources=dict(metadata=dict(path=str(d))))
    client.create_kernel_manager()
    client.km._kernel_spec = KernelSpec(argv=[sys.executable, '-m', 'ipykernel_launcher', '-f', '{connection_file}'], language='python', display_name='Python')
    try: client.execute()
    finally:  # show a notebook that failed, too
        nbformat.write(nb, d/'fit.ipynb')
    return d/'fit.ipynb',told

@pytest.fixture(scope='session')
def outputs(executed):
    import nbformat
    return [c.outputs for c in nbformat.read(executed[0], 4).cells]

@pytest.fixture(scope='session')
def as_page(executed, tmp_path_factory):
    "Return the notebook as a page that loads nothing from other sites"
    from nbconvert import HTMLExporter
    exporter = HTMLExporter(mathjax_url='', require_js_url='', jquery_url='', widget_renderer_url='', mermaid_js_url='')
    (p := tmp_path_factory.mktemp('page')/'fit.html').write_text(exporter.from_filename(str(executed[0]))[0])
    return p

@pytest.fixture
def page(as_page, visit): return visit(as_page)

def cell(page, i): return page.locator('.jp-Cell').nth(i)
def shown(page, i): return ' '.join(cell(page, i).locator('.jp-OutputArea-output').all_inner_texts()).strip()

def epochs(table): return [o[0] for o in table[1:]]

def test_all_cells_ran_and_the_page_loads_nothing(outputs, page):
    assert not [o for c in outputs for o in c if o.output_type=='error']
    page.screenshot(path=SHOTS/'notebook.png', full_page=True)
    assert said(page)==([page.url], [])
    assert page.locator('progress').count()==0, 'a progress bar is left'

def test_the_table_of_a_fit_has_the_recorded_values(outputs, page):
    values,columns = eval(outputs[VALUES][0].data['text/plain'])
    (head,*rows), = tables(cell(page, FIT))
    assert head==['epoch', *columns, 'time'] and len(rows)==len(values)==3
    assert [[float(o) for o in r[1:-1]] for r in rows]==[pytest.approx(v, abs=1e-6) for v in values]
    res, = outputs[FIT]
    assert res.output_type=='display_data' and res.data['text/plain'].split()==[o for r in (head, *rows) for o in r]

def test_a_running_fit_redraws_one_output(executed, visit, tmp_path):
    kinds,contents,times = zip(*executed[1][FIT], strict=True)
    assert kinds==('display_data', *['update_display_data']*(len(kinds)-1)), 'one output'
    assert len({o['transient']['display_id'] for o in contents})==1
    htmls = [o['data']['text/html'] for o in contents]
    n_rows = [o.count('<tr') for o in htmls]
    assert n_rows==sorted(n_rows) and set(n_rows)=={1, 2, 3, 4}, 'a row is missing or was removed'
    bars = ['<progress' in o for o in htmls]
    assert sum(bars)>3 and not bars[-1]
    secs = (times[-1]-times[0]).total_seconds()
    assert len(htmls)<=50*secs + 2*len(set(n_rows)) + 1, f'{len(htmls)} drawings in {secs} s'
    live = next(o for o in reversed(htmls) if '<progress' in o and '  loss ' in o)  # drawn after a batch, since a pass begins with 0
    (tmp_path/'live.html').write_text(f'<!doctype html><title>live</title><body style="font-family:sans-serif">{live}')
    page = visit(tmp_path/'live.html', height=250)
    bars = page.locator('progress').evaluate_all('os => os.map(o => [o.value, o.max])')
    assert bars and all(0<at<=end for at,end in bars)
    text = page.inner_text('body')
    assert 'epoch ' in text and '/s' in text
    page.screenshot(path=SHOTS/'notebook-live.png')

def test_a_fit_that_raises_keeps_its_rows(page):
    table, = tables(cell(page, FAILING))
    assert epochs(table)==['0'] and shown(page, FAILING).endswith('broken on purpose')

def test_the_graph_has_a_name_and_a_curve(outputs, page):
    table, = tables(cell(page, GRAPH))
    assert epochs(table)==['0', '1', '2'] and len(outputs[GRAPH])==1
    svg = cell(page, GRAPH).get_by_role('img', name='loss')  # a screen reader reads this name
    box = svg.bounding_box()
    assert box['width']>300 and box['height']>100
    lines = svg.locator('path,polyline').evaluate_all('os => os.map(o => o.getTotalLength())')
    assert max(lines)>100, 'a curve'

def test_the_graph_fits_on_a_phone(as_page, visit):
    page = visit(as_page, width=390, height=800)
    page.screenshot(path=SHOTS/'notebook-phone.png', full_page=True)
    box = cell(page, GRAPH).get_by_role('img', name='loss').bounding_box()
    assert box['x']+box['width']<=390, 'the graph is wider than the page'
