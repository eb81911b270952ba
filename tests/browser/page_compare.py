"The comparison of runs, opened from disk without a network: sorted by a click or a key, in light and dark, on a phone"
import pytest, torch
from learnloop import CheckpointCallback, CSVLogger, Tracer, compare, synth_learner
from pages import SHOTS, said, tables
from torch.nn import functional as F

WIDTHS = dict(desktop=1280, phone=375)

@pytest.fixture(scope='session')
def comparison(tmp_path_factory):
    "The page of six runs, in which something differs"
    n,d = torch.get_num_threads(),tmp_path_factory.mktemp('runs')
    torch.set_num_threads(1)
    for i,lr in enumerate((.3, .01, .1, 1., .03, .5)):
        torch.manual_seed(0)
        learn = synth_learner(lr=lr, metrics=F.l1_loss, path=d/f'lr-{lr}')
        cbs = [CSVLogger(every_steps=1), CheckpointCallback(d/f'lr-{lr}'), *([Tracer()] if i else [])]
        with learn.no_logging(), learn.no_bar(): learn.fit(2+i, cbs=cbs)
    torch.set_num_threads(n)
    return compare(d).save(d/'compare.html')

@pytest.fixture
def page(comparison, visit): return visit(comparison)

def test_opens_without_a_network_or_an_error(page): assert said(page)==([page.url], [])

def column(page, table, name):
    rows = next(t for t in tables(page) if len(t[0])>2 and name in t[0] and table in t[0])
    return [r[rows[0].index(name)] for r in rows[1:]]

def test_a_click_sorts_and_another_one_turns_it_round(page):
    before = column(page, 'state', 'best valid_loss')
    head = page.get_by_role('button', name='best valid_loss')
    head.click()
    assert column(page, 'state', 'best valid_loss')==sorted(before, key=float)!=before
    assert head.locator('..').get_attribute('aria-sort')=='ascending'
    head.focus()
    page.keyboard.press('Enter')
    assert [float(o.split()[0]) for o in column(page, 'state', 'best valid_loss')]==sorted(map(float, before), reverse=True)
    assert page.locator('[aria-sort]').count()==1
    page.get_by_role('button', name='run').first.click()
    assert page.locator('[aria-sort]').count()==1

@pytest.mark.parametrize('scheme', ['light', 'dark'])
@pytest.mark.parametrize('width', WIDTHS)
def test_pictures(scheme, width, comparison, visit):
    page = visit(comparison, WIDTHS[width], color_scheme=scheme)
    assert page.evaluate('document.documentElement.scrollWidth')<=WIDTHS[width], 'only tables scroll sideways'
    fore,back = (page.locator(o).first.evaluate(f'o => getComputedStyle(o).{k}') for o,k in (('th button', 'color'), ('body', 'backgroundColor')))
    assert (fore, back)==(('rgb(28, 32, 38)', 'rgb(255, 255, 255)') if scheme=='light' else ('rgb(230, 232, 236)', 'rgb(21, 23, 28)'))
    SHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SHOTS/f'compare-{width}-{scheme}.png', full_page=True)
