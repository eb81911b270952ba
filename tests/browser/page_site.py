"""The built site in a browser: the search finds the right pages, and nothing on a page is cut off, broken, pale, or out of order

The tests read `_docs/`, which `make docs` writes, and build it if it is missing.
"""
import os, random, re, subprocess, sys, threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
import pytest
from pages import LIMIT, SHOTS, tab
from playwright.sync_api import TimeoutError
from tools.site.nav import WINGS

ROOT = Path(__file__).parents[2]
DOCS = ROOT/'_docs'
WIDE,PHONE = 1280,375
PICTURED = 'index', 'start/five_minutes', 'tutorials/images', 'loop/learner', 'reference/events'
# Query -> beginnings of the right addresses, one of which the first result must have
QUERIES = {
    'progress bar off': 'howto/howto_watching.html#train-without',
    'imbalanced sampler': 'howto/howto_data.html#a-weighted-sampler',
    'export onnx': 'howto/howto_saving.html#export-to-onnx',
    'seed': 'howto/howto_training.html#reproduce',
    'num_workers': 'howto/howto_speed.html#load-data-faster',
    'huggingface dataset': 'howto/howto_data.html#use-a-hugging-face-data-set',
    'class weights': 'howto/howto_data.html#class-weights',
    'save best model': 'howto/howto_saving.html#save-the-best-model',
    'fit_one_cycle': 'train/schedule.html#learner.fit_one_cycle',
    'learning rate scheduler': 'howto/howto_training.html#a-learning-rate-schedule',
    'custom metric': 'howto/howto_watching.html#a-custom-metric',
    'cancel batch': 'reference/events.html',
    'batch size': 'howto/howto_scale.html#batch-size',
    'history': 'howto/howto_watching.html#the-history',
    'logging': 'howto/howto_watching.html#log-to-tensorboard see/log',
    'transfer learning': 'howto/howto_training.html#fine-tune tutorials/hugging_face',
    'quickstart': 'start/five_minutes',
    'installation': 'index.html#install',
    'debug': 'start/when_training',
    'NaN': 'start/when_training_goes_wrong.html#nan',
    'CancelFitException': 'reference/events.html#cancelfitexception',
    'before_batch': 'reference/events.html#before_batch',
    'callbacks': 'reference/callbacks',
    'save model': 'checkpoint/saving.html#save_model howto/howto_saving',
    'load model': 'checkpoint/saving.html#load_model howto/howto_saving',
    'resume training': 'howto/howto_saving.html#resume',
    'predict': 'loop/predict howto/howto_saving.html#predict',
    'inference': 'start/five_minutes.html#save howto/howto_saving.html#predict loop/predict checkpoint/export',
    'regression': 'howto/howto_data.html#regression',
    'custom loss': 'howto/howto_data.html#a-custom-loss',
    'csv': 'howto/howto_data.html#train-on-a-csv-file see/log.html#csvlogger tutorials/tabular',
    'tabular': 'tutorials/tabular',
    'image augmentation': 'tutorials/images',
    'language model': 'tutorials/language_model tutorials/hugging_face.html#a-language-model',
    'multi gpu': 'howto/howto_scale start/notebook_to_cluster.html#2-several-gpus',
    'mixed precision': 'howto/howto_speed.html#mixed-precision train/precision',
    'slow training': 'howto/howto_speed',
    'out of memory': 'train/heal.html',
    'early stopping': 'howto/howto_training.html#early-stopping',
    'learning rate finder': 'train/lr_find',
    'gradient accumulation': 'howto/howto_training.html#gradient-accumulation',
    'gradient clipping': 'howto/howto_training.html#clip-gradients',
    'freeze layers': 'howto/howto_training.html#freeze-layers',
    'EMA': 'howto/howto_training.html#ema train/averaging.html#ema',
    'metrics': 'measure/metrics',
    'confusion matrix': 'measure/interpret',
    'tensorboard': 'see/tensorboard',
    'wandb': 'see/log.html#wandbcallback',
    'slurm': 'explanations/clusters.html#slurm howto/howto_scale.html#run-on-slurm',
    'fastai': 'coming/coming_from_fastai explanations/moved_scripts.html#fastai',
    'lightning': 'coming/coming_from_lightning explanations/moved_scripts.html#lightning',
    'keras': 'coming/coming_from_keras explanations/moved_scripts.html#keras',
    'huggingface trainer': 'coming/coming_from_transformers explanations/moved_scripts.html#transformers'}

@pytest.fixture(scope='session')
def site():
    "Return the address of the built site"
    if not (DOCS/'index.html').exists(): subprocess.run([sys.executable, '-m', 'tools.build_docs'], cwd=ROOT, check=True, timeout=3*LIMIT)
    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *args): pass
    with ThreadingHTTPServer(('127.0.0.1', 0), partial(Quiet, directory=DOCS)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f'http://127.0.0.1:{server.server_port}/'
        server.shutdown()

def names(): return sorted(str(o.relative_to(DOCS)) for o in DOCS.rglob('*.html') if o.name!='404.html')

# ---- search

def search(page, queries):
    "Return query -> the first addresses that the site's search shows for it"
    page.get_by_role('button', name='Search').first.click()
    box,first,res = page.get_by_role('combobox'),page.get_by_role('option').first,{}
    for q in queries:
        box.fill('')
        first.wait_for(state='detached')
        box.fill(q)
        try: first.wait_for(timeout=60_000)
        except TimeoutError: res[q] = []  # nothing is found
        else: res[q] = [re.sub(r'\?h=[^#]*', '', o.get_attribute('href')) for o in page.get_by_role('option').all()[:3]]
    return res

@pytest.fixture(scope='session')
def found(site, browser):
    with tab(browser, viewport=dict(width=WIDE, height=900)) as page:
        page.goto(site)
        return {q:[o.removeprefix(site) for o in v] for q,v in search(page, QUERIES).items()}

@pytest.mark.parametrize('query', QUERIES)
def test_search(query, found): assert found[query] and found[query][0].startswith(tuple(QUERIES[query].split())), found[query]

def test_a_result_shows_the_title_without_extra_search_words(site, browser):
    with tab(browser, viewport=dict(width=WIDE, height=900)) as page:
        page.goto(site)
        search(page, ['quickstart'])
        option = page.get_by_role('option').first
        assert option.get_by_role('heading').inner_text()=='Five minutes'
        SHOTS.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=SHOTS/'site-search.png')

def test_search_without_a_server(visit):
    first,*_ = search(visit(DOCS/'index.html'), ['CancelFitException'])['CancelFitException']
    assert first.split('?')[0]==f"{(DOCS/'reference'/'events.html').as_uri()}#cancelfitexception"

# ---- pages

FACTS = """() => {
  const at = e => (e.closest('[id]')?.id || '') + ' ' + e.tagName + ' ' + (e.textContent || e.alt || '').trim().slice(0, 60)
  const main = document.querySelector('article'), style = e => getComputedStyle(e), box = e => e.getBoundingClientRect()
  const shown = e => e.getClientRects().length && style(e).visibility != 'hidden'
  const width = document.documentElement.clientWidth
  // elements wider than the ancestor that clips them, or than the page, without an ancestor that scrolls
  const cut = e => {
    const right = Math.max(box(e).right, box(e).left + e.scrollWidth)
    for (let o = e; o != document.documentElement; o = o.parentElement) {
      if (/auto|scroll/.test(style(o).overflowX)) return false
      if (/hidden|clip/.test(style(o).overflowX) && right > box(o).right + 1) return true
    }
    return right > width + 1
  }
  const heads = [...main.querySelectorAll('h1, h2, h3, h4, h5, h6')].filter(shown).map(h => +h.tagName[1])
  const lines = e => { const r = document.createRange(); r.selectNodeContents(e); return new Set([...r.getClientRects()].map(o => Math.round(o.top))).size }
  return {
    overflow: document.documentElement.scrollWidth > width + 1 ? document.documentElement.scrollWidth : 0,
    cut: [...main.querySelectorAll('pre, code, table, svg, img, math')].filter(e => shown(e) && cut(e)).map(at),
    broken: [...main.querySelectorAll('img')].filter(e => e.loading != 'lazy' && e.complete && !e.naturalWidth).map(e => e.src),
    silent: [...document.querySelectorAll('img')].filter(e => !e.alt.trim()).map(e => e.src.slice(0, 80)),
    headless: [...main.querySelectorAll('thead')].filter(e => shown(e) && !e.textContent.trim()).map(e => at(e.parentElement)),
    private: [...main.querySelectorAll('h1, h2, h3, h4, h5, h6')].map(e => e.textContent).filter(s => /(^|\\.)_[a-z]/i.test(s)),
    struck: [...main.querySelectorAll('a')].filter(e => /underline/.test(style(e).textDecorationLine) && !(parseFloat(style(e).textUnderlineOffset) >= 3)).map(at),
    unindented: [...main.querySelectorAll('td')].filter(e => /^\u00a0/.test(e.textContent) && lines(e) > 1).map(at),
    order: heads[0] != 1 || heads.filter(o => o == 1).length != 1 || heads.some((o, i) => i && o > heads[i-1]+1) ? heads : [],
  }
}"""

# Text with too little contrast: an example for each pair of colours. Other tests check outputs and charts, which bring their own colours
PALE = """() => {
  const rgb = s => { const [r, g, b, a] = (s.match(/[\\d.]+/g) || [0, 0, 0, 0]).map(Number); return [r, g, b, a ?? 1] }
  const over = (f, b) => f.slice(0, 3).map((v, i) => v*f[3] + b[i]*(1-f[3]))
  const light = c => { const [r, g, b] = c.map(v => (v /= 255) <= .03928 ? v/12.92 : ((v+.055)/1.055)**2.4); return .2126*r + .7152*g + .0722*b }
  const contrast = (a, b) => { const [x, y] = [light(a), light(b)]; return (Math.max(x, y)+.05)/(Math.min(x, y)+.05) }
  const known = new Map([[null, {opacity: 1, back: [255, 255, 255]}]])
  const about = e => {
    if (!known.has(e)) {
      const style = getComputedStyle(e), parent = about(e.parentElement)
      const own = e.matches('svg, script, style, .headerlink, iframe, dialog, .output [style*=color]') || parent.own
      known.set(e, {own, style, opacity: parent.opacity * style.opacity, back: over(rgb(style.backgroundColor), parent.back)})
    }
    return known.get(e)
  }
  const pale = {}, walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  while (walk.nextNode()) {
    const e = walk.currentNode.parentElement, {own, style, opacity, back} = about(e)
    if (own || !opacity || style.visibility == 'hidden' || !walk.currentNode.textContent.trim() || !e.getClientRects().length) continue
    const [r, g, b, a] = rgb(style.color), c = contrast(over([r, g, b, a*opacity], back), back)
    if (c < 4.5) pale[e.className + style.color + back] ??= `${c.toFixed(2)} ${e.closest('[id]')?.id || ''} ${e.tagName}.${e.className} ${e.textContent.trim().slice(0, 60)}`
  }
  return Object.values(pale)
}"""

SCHEMES = dict(light='default', dark='slate')
STILL = '*, ::before, ::after { transition: none !important }'  # colours must not be read while they change
SECTIONS = '', 'reference', *sorted(o.name for o in (ROOT/'nbs').iterdir() if [*o.glob('*.ipynb')])

def section(name): return str(Path(name).parent).strip('.')

def views(i, name):
    """List the widths at which to check page number `i`, each with the colour schemes to check there

    `ALL_CASES=1` checks all. Otherwise each page is checked on the phone, prose also on the desktop, and contrast at one width in one scheme."""
    if os.environ.get('ALL_CASES'): return [(o, SCHEMES) for o in (WIDE, PHONE)]
    pale = {(WIDE, PHONE)[i%2]: [*SCHEMES][i//2%2:][:1]}
    return [(o, pale.get(o, [])) for o in (WIDE, PHONE) if o==PHONE or o in pale or section(name) not in WINGS]

def faults_of(page, width, schemes):
    "List the faults of `page` at this width, and its pale text in each colour scheme"
    page.set_viewport_size(dict(width=width, height=900))
    facts = page.evaluate(FACTS)
    for o in schemes:  # as the button in the head does
        page.locator('body').evaluate('(o, scheme) => o.setAttribute("data-md-color-scheme", scheme)', SCHEMES[o])
        facts[f'pale, {o}'] = page.evaluate(PALE)
    return {k:v for k,v in facts.items() if v}

def test_each_page_has_a_section(site): assert {*map(section, names())}<={*SECTIONS}

@pytest.mark.parametrize('of', SECTIONS)
def test_pages(of, site, browser):
    bad = {}
    with tab(browser) as page:
        page.route('**/search.json', lambda o: o.abort())  # each page would read the index again
        for i,o in enumerate(names()):
            if section(o)!=of: continue
            page.goto(site+o)
            page.add_style_tag(content=STILL)
            for width,schemes in views(i, o):
                if facts := faults_of(page, width, schemes): bad[f'{o} at {width}'] = facts
    assert not bad, '\n'.join(f'{k}: {v}' for k,v in bad.items())

@pytest.mark.parametrize('scheme,width', [('light', WIDE), ('dark', PHONE)])
def test_pages_have_the_scheme_of_the_system(scheme, width, site, browser):
    SHOTS.mkdir(parents=True, exist_ok=True)
    with tab(browser, viewport=dict(width=width, height=1000), color_scheme=scheme) as page:
        for o in PICTURED:
            page.goto(f'{site}{o}.html')
            assert page.locator('body').get_attribute('data-md-color-scheme')==SCHEMES[scheme]
            page.screenshot(path=SHOTS/f"site-{o.replace('/', '-')}-{width}-{scheme}.png")

def test_pages_load_nothing_from_other_sites(site, browser):
    asked = []
    with tab(browser) as page:
        page.on('request', lambda r: asked.append(r.url))
        for o in random.Random(0).sample(names(), 12): page.goto(site+o)
    assert asked and not [o for o in asked if not o.startswith((site, 'data:', 'blob:'))]

# ---- links and files, which need no browser

def anchors(path): return {*re.findall(r'\b(?:id|name)="?([^"\s>]+)', path.read_text())}

def test_each_link_leads_somewhere(site):
    ids,bad = {},[]
    for o in names():
        at = DOCS/o
        for href in re.findall(r'<(?:a|img)\b[^>]*?(?:href|src)="?([^"\s>]+)', at.read_text()):
            if re.match(r'[a-z]+:', href) or href.startswith('//'): continue
            path,_,anchor = href.replace('&amp;', '&').partition('#')
            to = (at.parent/path).resolve() if path else at
            if to.is_dir(): to /= 'index.html'
            if to not in ids: ids[to] = anchors(to) if to.suffix=='.html' and to.exists() else set()
            if not to.exists() or anchor and to.suffix=='.html' and anchor not in ids[to]: bad.append(f'{o}: {href}')
    assert not bad, '\n'.join(bad)

def test_markdown_lies_beside_each_page(site):
    assert all((DOCS/f'{o}.md').read_text().startswith('# ') for o in names())
    assert len((DOCS/'llms.txt').read_text().splitlines())==len(names())+2

def test_links_of_markdown_lead_somewhere(site):
    bad = [f'{o}: {to}' for o in names() for to in re.findall(r'\]\((?![a-z]+:)([^)#\s]+\.md)', (DOCS/f'{o}.md').read_text())
        if not (DOCS/o).parent.joinpath(to).exists()]
    assert not bad, '\n'.join(bad)
