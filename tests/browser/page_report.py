"The report, opened from disk without a network: what is on it, in light and dark, on a phone, printed, and read aloud"
import pytest, re, torch
from learnloop import Callback, CheckpointCallback, CSVLogger, Learner, TensorBoardCallback, Tracer, accuracy
from learnloop.app.demo import cnn, digits
from learnloop.see.report import report_from
from pages import SHOTS, said, tables
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

@pytest.fixture
def page(report, visit): return visit(report)

def test_opens_without_a_network(page): assert said(page)==([page.url], [])

def test_epochs(learn, page):
    rec = learn.recorder
    found = [t for t in tables(page) if t[0][0]=='epoch' and len(t)==EPOCHS+1]
    assert found, tables(page)
    head,*rows = found[0]
    for nm,vals in zip(rec.columns, zip(*rec.values, strict=True), strict=True):
        i = head.index(nm)
        assert [float(o[i]) for o in rows]==[pytest.approx(v, rel=1e-3, abs=1e-6) for v in vals], nm

def test_is_read_aloud(page):
    for role,least in dict(heading=4, img=1).items():
        n = page.get_by_role(role).count()
        assert n>=least and page.get_by_role(role, name=re.compile(r'\S')).count()==n, f'each {role} has a name'
    assert page.locator('html').get_attribute('lang')
    assert all(page.locator('th').evaluate_all('os => os.map(o => o.scope)')), 'cells of heads say of what'
    levels = page.locator('h1,h2,h3,h4,h5').evaluate_all('os => os.map(o => +o.tagName[1])')
    assert levels[0]==1 and levels.count(1)==1 and all(b<=a+1 for a,b in zip(levels, levels[1:], strict=False)), 'no level is left out'

# The colours that text and its background really have: those of the nearest element that has any
CONTRAST = '''(() => {
    const rgb = s => { const v = s.match(/[\\d.]+/g).map(Number); return v.length<4 ? [...v, 1] : v }
    const lum = v => { const [r, g, b] = v.map(o => { o /= 255; return o<=.03928 ? o/12.92 : ((o+.055)/1.055)**2.4 }); return .2126*r + .7152*g + .0722*b }
    const over = (a, b) => a.slice(0, 3).map((o, i) => o*a[3] + b[i]*(1-a[3]))
    const isDark = matchMedia('(prefers-color-scheme: dark)').matches
    const canvas = isDark && getComputedStyle(document.documentElement).colorScheme.includes('dark') ? [18, 18, 18] : [255, 255, 255]
    const back = o => { const up = []; for (; o; o = o.parentElement) up.push(rgb(getComputedStyle(o).backgroundColor))
        return up.reverse().reduce((b, a) => over(a, b), canvas) }
    const res = []
    for (const o of document.querySelectorAll('body *')) {
        if (![...o.childNodes].some(c => c.nodeType==3 && c.textContent.trim())) continue
        if (!o.checkVisibility || !o.checkVisibility() || o.closest('style,script,title,desc')) continue
        const style = getComputedStyle(o), b = back(o), isSvg = o instanceof SVGElement
        let c = rgb(isSvg && style.fill.startsWith('rgb') ? style.fill : style.color), alpha = isSvg ? +style.fillOpacity : 1
        for (let p = o; p; p = p.parentElement) alpha *= +getComputedStyle(p).opacity
        const [l, m] = [lum(over([...c.slice(0, 3), c[3]*alpha], b)), lum(b)].sort()
        res.push([(m+.05)/(l+.05), o.tagName + ': ' + o.textContent.trim().slice(0, 40)])
    }
    return res.sort((a, b) => a[0]-b[0]) })()'''

@pytest.mark.parametrize('dark', [False, True])
@pytest.mark.parametrize('device', WIDTHS)
def test_fits_and_can_be_read(device, dark, report, visit):
    page = visit(report, width=WIDTHS[device], height=800, color_scheme='dark' if dark else 'light')
    page.screenshot(path=SHOTS/f'report-{report.stem}-{device}{"-dark"*dark}.png', full_page=True)
    assert page.evaluate('document.documentElement.scrollWidth')<=WIDTHS[device], 'the page is as wide as the window'
    lum = page.evaluate("['body', 'html'].map(o => getComputedStyle(document.querySelector(o)).backgroundColor)")
    worst = page.evaluate(CONTRAST)
    assert worst[0][0]>=4.5, (lum, worst[:5])

@pytest.fixture(scope='session', params=['learner', 'folder'])
def failed(request, tmp_path_factory):
    "A report of a run that ended with an error"
    d = tmp_path_factory.mktemp('failed')
    def fail(learn):
        if learn.epoch==1: raise ValueError('a long word in a message: '+'x'*90)
    res = Learner(digits(bs=128), cnn(width=4), F.cross_entropy, lr=.01, metrics=accuracy, path=d, cbs=CSVLogger('history.csv'))
    with res.no_logging(), pytest.raises(ValueError): res.fit(2, cbs=Callback(after_loss=fail), keep_failed=True)
    return report_from(d, d/'folder-failed.html') if request.param=='folder' else res.report('learner-failed.html')

@pytest.mark.parametrize('dark', [False, True])
@pytest.mark.parametrize('device', WIDTHS)
def test_what_failed_can_be_read(device, dark, failed, visit):
    "The card is on the first screen, and what is folded opens, fits and can be read"
    page = visit(failed, width=WIDTHS[device], height=800, color_scheme='dark' if dark else 'light')
    box = page.locator('.top').bounding_box()
    assert box['y']<250 and box['x']+box['width']<=WIDTHS[device]
    assert page.locator('.top h2').inner_text().startswith('It ended with ValueError: a long word') and not page.locator('pre').is_visible()
    for o in page.locator('summary').all(): o.click()
    assert 'Traceback' in page.locator('pre').inner_text() and page.locator('details[open]').count()==page.locator('summary').count()>5
    page.screenshot(path=SHOTS/f'report-{failed.stem}-{device}{"-dark"*dark}.png', full_page=True)
    assert page.evaluate('document.documentElement.scrollWidth')<=WIDTHS[device], 'the page is as wide as the window'
    worst = page.evaluate(CONTRAST)
    assert worst[0][0]>=4.5, worst[:5]
