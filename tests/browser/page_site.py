"""The site as a browser shows it: what its search finds, and that nothing of a page is cut off, broken, pale, or out of order

It looks at `_docs/`, which `make docs` has made, and makes it where there is none.
"""
import random, re, subprocess, sys, threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
import pytest
from pages import SHOTS

ROOT = Path(__file__).parents[2]
DOCS = ROOT/'_docs'
WIDE,PHONE = 1280,375
# What people type, and the pages of which one has to come first
QUERIES = {'CancelFitException':'reference/events', 'before_batch':'reference/events', 'getting started':'start/five_minutes', 'custom callback':'start/first_callback',
    'save model':'howto/', 'load model':'howto/', 'regression':'howto/ tutorials/', 'multi gpu':'howto/ tutorials/more start/notebook_to',
    'mixed precision':'howto/', 'early stopping':'howto/', 'learning rate finder':'train/lr_find start/five howto/', 'resume training':'howto/',
    'gradient accumulation':'howto/ train/training', 'freeze layers':'howto/', 'tensorboard':'see/tensorboard howto/', 'checkpoint':'keep/checkpoint howto/',
    'predict':'howto/ loop/predict', 'custom loss':'howto/', 'lightning':'coming/ interop/lightning', 'keras':'coming/ interop/keras',
    'fastai':'coming/ interop/fastai', 'trainer':'coming/', 'reproducible':'howto/', 'image augmentation':'tutorials/images', 'tabular':'tutorials/tabular',
    'language model':'tutorials/language', 'NaN':'start/when howto/ train/tracker', 'slurm':'explanations/clusters start/notebook howto/', 'EMA':'train/averaging howto/'}

@pytest.fixture(scope='session')
def site():
    "The address of the built site"
    if not (DOCS/'index.html').exists(): subprocess.run([sys.executable, '-m', 'tools.build_docs'], cwd=ROOT, check=True, timeout=170)
    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *args): pass
    with ThreadingHTTPServer(('127.0.0.1', 0), partial(Quiet, directory=DOCS)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f'http://127.0.0.1:{server.server_port}/'
        server.shutdown()

def names(): return sorted(str(o.relative_to(DOCS)) for o in DOCS.rglob('*.html') if o.name!='404.html')

# ---- search

@pytest.fixture(scope='session')
def found(site, browser):
    "Query -> addresses, the best first"
    page,res = browser.new_page(viewport=dict(width=WIDE, height=900)),{}
    page.goto(site)
    page.get_by_role('button', name='Search').first.click()
    box = page.get_by_role('combobox')
    for q in QUERIES:
        box.fill('')
        page.get_by_role('option').first.wait_for(state='detached')
        box.fill(q)
        page.get_by_role('option').first.wait_for()
        res[q] = [o.get_attribute('href').removeprefix(site) for o in page.get_by_role('option').all()[:5]]
    page.close()
    return res

@pytest.mark.parametrize('query', QUERIES)
def test_search(query, found):
    first = found[query][0].split('?')[0]
    assert any(first.startswith(o) for o in QUERIES[query].split()), found[query]

# ---- pages

FACTS = """() => {
  const at = e => (e.closest('[id]')?.id || '') + ' ' + e.tagName + ' ' + (e.textContent || e.alt || '').trim().slice(0, 60)
  const main = document.querySelector('article') || document.body
  const shown = e => e.getClientRects().length && getComputedStyle(e).visibility != 'hidden'
  const scrolls = e => { for (; e && e != document.body; e = e.parentElement) if (/auto|scroll/.test(getComputedStyle(e).overflowX)) return true; return false }
  const width = document.documentElement.clientWidth
  const rgb = s => { const [r, g, b, a] = (s.match(/[\\d.]+/g) || [0, 0, 0, 0]).map(Number); return [r, g, b, a ?? 1] }
  const over = (f, b) => f.slice(0, 3).map((v, i) => v*f[3] + b[i]*(1-f[3]))
  const behind = e => { const seen = []; for (; e; e = e.parentElement) { const c = rgb(getComputedStyle(e).backgroundColor); seen.push(c); if (c[3] == 1) break }
    return seen.reverse().reduce((b, c) => over(c, b), [255, 255, 255]) }
  const light = c => { const [r, g, b] = c.map(v => (v /= 255) <= .03928 ? v/12.92 : ((v+.055)/1.055)**2.4); return .2126*r + .7152*g + .0722*b }
  const contrast = (a, b) => { const [x, y] = [light(a), light(b)]; return (Math.max(x, y)+.05)/(Math.min(x, y)+.05) }
  const pale = {}
  const walk = document.createTreeWalker(main, NodeFilter.SHOW_TEXT)
  while (walk.nextNode()) {
    const e = walk.currentNode.parentElement
    if (!walk.currentNode.textContent.trim() || !shown(e) || e.closest('svg, .headerlink, iframe, .output [style*=color]')) continue
    const b = behind(e), c = contrast(over(rgb(getComputedStyle(e).color), b), b)
    if (c < 4.5) pale[e.className + ' ' + getComputedStyle(e).color] ??= c.toFixed(2) + ' ' + at(e)
  }
  const heads = [...main.querySelectorAll('h1, h2, h3, h4, h5, h6')].filter(shown).map(h => +h.tagName[1])
  return {
    overflow: document.documentElement.scrollWidth > width + 1 ? document.documentElement.scrollWidth : 0,
    cut: [...main.querySelectorAll('pre, code, table, svg, img, .formula')].filter(e => shown(e) && e.getBoundingClientRect().right > width + 1 && !scrolls(e)).map(at),
    pictures: [...main.querySelectorAll('img')].filter(e => e.loading != 'lazy' && e.complete && !e.naturalWidth).map(e => e.src),
    silent: [...main.querySelectorAll('img')].filter(e => !e.alt.trim()).map(e => e.src.slice(0, 80)),
    order: heads[0] != 1 || heads.filter(o => o == 1).length != 1 || heads.some((o, i) => i && o > heads[i-1]+1) ? heads : 0,
    pale: Object.values(pale),
  }
}"""

def look(page, url):
    page.goto(url)
    return {k:v for k,v in page.evaluate(FACTS).items() if v}

@pytest.mark.parametrize('scheme', ['light', 'dark'])
def test_pages_on_a_screen(site, browser, scheme):
    page,bad = browser.new_page(viewport=dict(width=WIDE, height=900), color_scheme=scheme),{}
    for o in names():
        if facts := look(page, site+o): bad[o] = facts
    page.close()
    assert not bad, '\n'.join(f'{k}: {v}' for k,v in bad.items())

def test_pages_on_a_phone(site, browser):
    page,bad = browser.new_page(viewport=dict(width=PHONE, height=800), is_mobile=True),{}
    for o in names():
        if facts := look(page, site+o): bad[o] = facts
    page.close()
    assert not bad, '\n'.join(f'{k}: {v}' for k,v in bad.items())

def test_pictures_of_pages_for_a_person(site, browser):
    SHOTS.mkdir(parents=True, exist_ok=True)
    picked = [o for o in names() if o.split('/')[0] in ('start', 'reference') or o=='index.html'] + ['train/training.html', 'loop/learner.html']
    for scheme in ('light', 'dark'):
        for width in (WIDE, PHONE):
            page = browser.new_page(viewport=dict(width=width, height=1000), color_scheme=scheme)
            for o in picked:
                page.goto(site+o)
                page.screenshot(path=SHOTS/f'site-{re.sub(r"[/.]", "-", o)}-{width}-{scheme}.png')
            page.close()

def test_nothing_is_asked_of_others(site, browser):
    page,asked = browser.new_page(),[]
    page.on('request', lambda r: asked.append(r.url))
    for o in random.Random(0).sample(names(), 12): page.goto(site+o)
    page.close()
    assert asked and not [o for o in asked if not o.startswith((site, 'data:', 'blob:'))]

# ---- links, which need no browser

def test_each_link_leads_somewhere():
    ids,bad = {},[]
    def of(path):
        if path not in ids: ids[path] = set(re.findall(r'\bid="?([^"\s>]+)', path.read_text()))
        return ids[path]
    for o in names():
        at = DOCS/o
        for href in re.findall(r'<a\b[^>]*?href="?([^"\s>]+)', at.read_text()):
            if re.match(r'[a-z]+:', href) or href.startswith('//'): continue
            path,_,anchor = href.replace('&amp;', '&').partition('#')
            to = (at.parent/path).resolve() if path else at
            if to.is_dir(): to = to/'index.html'
            if not to.exists() or anchor and to.suffix=='.html' and anchor not in of(to): bad.append(f'{o}: {href}')
    assert not bad, '\n'.join(bad)

def test_markdown_lies_beside_each_page():
    assert all((DOCS/f'{o}.md').read_text().startswith('# ') for o in names())
    assert len((DOCS/'llms.txt').read_text().splitlines())==len(names())+2
