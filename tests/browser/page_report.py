"The report, opened from disk without a network: what is on it, in light and dark, on a phone, printed, and read aloud"
import pytest, torch
from learnloop import CheckpointCallback, CSVLogger, Learner, TensorBoardCallback, Tracer, accuracy
from learnloop.cli import cnn, digits
from learnloop.report import report_from
from torch.nn import functional as F

EPOCHS = 3
WIDTHS = dict(desktop=1200, phone=390)

@pytest.fixture(scope='session')
def learn(tmp_path_factory):
    "A learner after a fit that left all there is to report"
    n = torch.get_num_threads()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    d = tmp_path_factory.mktemp('run')
    res = Learner(digits(bs=128), cnn(width=4), F.cross_entropy, lr=.01, metrics=accuracy, path=d,
        cbs=[Tracer(), CSVLogger('history.csv'), TensorBoardCallback(d/'logs', every_steps=1), CheckpointCallback(d/'checkpoints', best=1)])
    with res.no_logging(): res.fit_one_cycle(EPOCHS)
    torch.set_num_threads(n)
    return res

@pytest.fixture(scope='session', params=['learner', 'folder'])
def report(request, learn):
    "A report by the learner itself, and one from what it left on disk"
    if request.param=='folder': return report_from(learn.path, learn.path/'folder.html')
    return learn.report('learner.html', n_preds=12, shapes=True)

def tables(page): return page.js("[...document.querySelectorAll('table')].map(t => [...t.rows].map(r => [...r.cells].map(c => c.innerText.trim())))")

def test_opens_without_a_network(report, visit):
    page = visit(report, offline=True)
    urls,errors = page.said()
    assert [o for o in urls if not o.startswith('data:')]==[page.url] and errors==[]

def test_epochs(report, learn, visit):
    page = visit(report, offline=True)
    rec = learn.recorder
    found = [t for t in tables(page) if t[0][0]=='epoch' and len(t)==EPOCHS+1]
    assert found, tables(page)
    head,*rows = found[0]
    for nm,vals in zip(rec.columns, zip(*rec.values, strict=True), strict=True):
        i = head.index(nm)
        assert [float(o[i]) for o in rows]==[pytest.approx(v, rel=1e-3, abs=1e-6) for v in vals], nm

def test_curves(report, visit):
    page = visit(report, offline=True)
    lengths = page.js("[...document.querySelectorAll('svg')].map(s => Math.max(0, ...[...s.querySelectorAll('path,polyline')].map(o => o.getTotalLength())))")
    assert len(lengths)>=2 and max(lengths)>100
    assert all(page.js("[...document.querySelectorAll('svg')].map(o => o.getAttribute('role')=='img' && !!o.querySelector('title') && o.querySelector('title').textContent.length>0)"))

def test_is_read_aloud(report, visit):
    page = visit(report, offline=True)
    said = page.reading()
    headings = [name for role,name in said if role=='heading']
    assert len(headings)>3 and all(headings) and page.js("document.querySelectorAll('h1').length")==1
    images = [name for role,name in said if role in ('image', 'img')]
    assert images and all(images), 'each picture says what it shows'
    assert page.js("document.documentElement.lang")
    assert page.js("[...document.querySelectorAll('th')].every(o => o.scope)"), 'cells of heads say of what'
    levels = page.js("[...document.querySelectorAll('h1,h2,h3,h4,h5')].map(o => +o.tagName[1])")
    assert levels[0]==1 and all(b<=a+1 for a,b in zip(levels, levels[1:], strict=False)), 'no level is left out'

# The colours that text and its background really have: those of the nearest element that has any
CONTRAST = '''(() => {
    const rgb = s => { const v = s.match(/[\\d.]+/g).map(Number); return v.length<4 ? [...v, 1] : v }
    const lum = v => { const [r, g, b] = v.map(o => { o /= 255; return o<=.03928 ? o/12.92 : ((o+.055)/1.055)**2.4 }); return .2126*r + .7152*g + .0722*b }
    const over = (a, b) => a.slice(0, 3).map((o, i) => o*a[3] + b[i]*(1-a[3]))
    const canvas = matchMedia('(prefers-color-scheme: dark)').matches && getComputedStyle(document.documentElement).colorScheme.includes('dark') ? [18, 18, 18] : [255, 255, 255]
    const back = o => { const up = []; for (; o; o = o.parentElement) up.push(rgb(getComputedStyle(o).backgroundColor)); return up.reverse().reduce((b, a) => over(a, b), canvas) }
    const res = []
    for (const o of document.querySelectorAll('body *')) {
        if (![...o.childNodes].some(c => c.nodeType==3 && c.textContent.trim()) || !o.checkVisibility || !o.checkVisibility() || o.closest('style,script,title,desc')) continue
        const style = getComputedStyle(o), b = back(o), isSvg = o instanceof SVGElement
        let c = rgb(isSvg && style.fill.startsWith('rgb') ? style.fill : style.color), alpha = isSvg ? +style.fillOpacity : 1
        for (let p = o; p; p = p.parentElement) alpha *= +getComputedStyle(p).opacity
        const [l, m] = [lum(over([...c.slice(0, 3), c[3]*alpha], b)), lum(b)].sort()
        res.push([(m+.05)/(l+.05), o.tagName + ': ' + o.textContent.trim().slice(0, 40)])
    }
    return res.sort((a, b) => a[0]-b[0]) })()'''

@pytest.mark.parametrize('dark', [False, True])
@pytest.mark.parametrize('device', WIDTHS)
def test_fits_and_can_be_read(device, dark, report, visit, shots):
    width = WIDTHS[device]
    page = visit(report, offline=True, width=width, height=800, dark=dark)
    page.shot(shots/f'report-{report.stem}-{device}{"-dark"*dark}.png')
    assert page.js('document.documentElement.scrollWidth')<=width, 'the page is as wide as the window'
    lum = page.js("getComputedStyle(document.body).backgroundColor + ' ' + getComputedStyle(document.documentElement).backgroundColor")
    worst = page.js(CONTRAST)
    assert worst[0][0]>=4.5, (lum, worst[:5])

def test_prints(report, visit):
    data = visit(report, offline=True).pdf()
    assert data[:5]==b'%PDF-' and data.count(b'/Type /Page\n')+data.count(b'/Type /Page ')+data.count(b'/Type /Page/')>=1
