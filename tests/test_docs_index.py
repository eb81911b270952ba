"The pages that are made from the package are whole and true, and the index of the search is put in order"
import re
from pathlib import Path
import learnloop, pytest
from learnloop import Callback, CancelException, Event, PHASES, Phase
from tools.site import index
from tools.site.search import findable

def first_cells(md): return re.findall(r'^\| \[?`([\w.]+)`', md, re.M)

# ---- names

def test_each_public_name_has_a_row_and_a_line():
    rows = first_cells(index.names({}))
    assert sorted(rows)==sorted(learnloop.__all__)
    assert all(map(index.line, learnloop.__all__))
    assert all(index.home(k)[0] in index.WINGS for k in learnloop.__all__)

TEXTS = {Path('loop/learner.md'): """# Learner

### `Learner.fit` { #learner.fit .doc }

```python
Learner.fit(n_epoch)
```

*Train `n` epochs*

### `Learner.silent` { #learner.silent .doc }

```python
Learner.silent()
```

### `Learner` { #learner .doc }

```python
class Learner(dls)
```

*Brings together*
"""}

def test_methods_are_those_that_pages_document_with_a_line():
    assert index.methods(TEXTS)=={'Learner.fit':(Path('loop/learner.md'), 'Train `n` epochs')}
    md = index.names(TEXTS)
    assert '| [`Learner.fit`](../loop/learner.md#learner.fit) | Train `n` epochs |' in md
    assert '| [`Learner`](../loop/learner.md#learner) |' in md and '| [`DataLoaders`]' not in md, 'no link to a page that is not there'
    assert '| [`CancelFitException`](events.md#cancelfitexception) |' in md

def test_bars_stay_within_a_row():
    assert index._table([('`a`', 'x | y')]).endswith('| `a` | x \\| y |')

# ---- events

@pytest.fixture(scope='module')
def events(): return index.events({})

def test_each_event_and_exception_has_a_heading(events):
    anchors = re.findall(r'^#+ `(\w+)` \{ #(\w+) \}$', events, re.M)
    cancels = [p.cancel.__name__ for p in PHASES if getattr(p, 'cancel', None)]
    assert [k for k,_ in anchors]==[*[e for p in PHASES for e in p.events], *cancels]
    assert all(k.lower()==o.lower() for k,o in anchors)
    assert {*cancels}=={k for k in learnloop.__all__ if k.startswith('Cancel')}-{'CancelException'}
    assert not issubclass(CancelException, Exception), 'as the page says'

def test_each_event_says_when():
    assert {*index.SAID}=={p.name for p in PHASES if isinstance(p, Event) and not p.does}
    assert index.when(Event('after_x', 'batch turn', 'a = b(c)'), 'after_x')=='in *batch* and *turn*, after `a = b(c)`.'
    p = Phase('x', 'batch')
    assert index.when(p, 'before_x')=='when *x* begins. To skip the rest of it, raise [`CancelXException`](#cancelxexception) here or in any event before `after_x`.'
    assert index.when(Phase('y', cancel=None), 'before_y')=='when *y* begins.'

def test_what_is_had_of_a_batch_is_that_of_this_one():
    held = index.held()
    assert held['after_fetch']==['batch'] and held['before_batch']==['batch', 'xb', 'yb']
    assert held['after_pred']==['batch', 'xb', 'yb', 'pred'] and held['after_loss'][-2:]==['loss', 'loss_grad']
    assert not held['before_fetch'] and 'after_epoch' not in held and 'before_fit' not in held

def test_who_hears(events):
    def heard(e): return re.search(rf'^#+ `{e}` .*\n\n.*\n\n(Heard by .*)$', events, re.M)
    few = [k for k in index.public_callbacks() if callable(getattr(getattr(learnloop, k), 'after_cancel_batch', None))]
    assert 0<len(few)<=index.MANY and re.findall(r'`(\w+)`', heard('after_cancel_batch')[1])==few
    n = sum(callable(getattr(getattr(learnloop, k), 'before_fit', None)) for k in index.public_callbacks())
    assert n>index.MANY and heard('before_fit')[1]==f'Heard by {n} of the [callbacks](callbacks.md).'

# ---- callbacks

def test_each_callback_is_in_the_gallery_once():
    cbs = {k for k in learnloop.__all__ if isinstance(o := getattr(learnloop, k), type) and issubclass(o, Callback)}-{'Callback'}
    got = re.findall(r'^\*\*\[?`(\w+)`', index.callbacks({}), re.M)
    assert {*got}==cbs and len(got)==len(cbs)
    assert sorted(re.findall(r'^- \[?`(\w+)`', index.callbacks({}, plain=True), re.M))==sorted(cbs)
    assert '<' not in index.callbacks({}, plain=True)

def a_page(ema='', method='', then=''):
    return {Path('train/averaging.md'): f'## `EMA` {{ #ema .doc }}\n\nText.\n\n{ema}\n\n### `EMA.plot` {{ #ema.plot .doc }}\n\n{method}\n\n## Else\n\n{then}\n'}

@pytest.mark.parametrize('texts,file', [(a_page('![a](b.png)', '![c](d.png)'), 'b.png'), (a_page(method='![c](d.png)'), 'd.png'),
    (a_page(then='```python\nx = 1\nlearn.fit(1, cbs=EMA(.9))\n```\n\n![e](f.png)'), 'f.png'),
    (a_page(then='```python\nEMA(.9)\n```\n\n```python\nplot()\n```\n\n![e](f.png)'), None), (a_page(then='![e](f.png)'), None), ({}, None)])
def test_a_picture_is_one_of_its_own(texts, file):
    found = index.picture('EMA', texts)
    assert (found and found[1]['file'])==file
    if file: assert f'<img alt="{found[1]["alt"]}" src="../train/{file}" loading="lazy">' in index.callbacks(texts)

@pytest.mark.parametrize('output', ["``` { .text .output }\nshown\n```", '| a |\n| --- |\n| shown |', '<div class="output">\n<b>shown</b>\n</div>'])
def test_a_callback_without_a_picture_shows_an_example(output):
    fit = '```python\nlearn.fit(1, cbs=EMA(.9))\n```'
    texts = {Path('train/averaging.md'):f'```python\nEMA(.9)\n```\n\n``` {{ .text .output }}\nrepr\n```\n\n{fit}\n\n{output}\n\nText\n'}
    assert index.example('EMA', texts)==f'{fit}\n\n{output}' and f'{fit}\n\n{output}' in index.callbacks(texts)
    assert index.example('SWA', texts) is None and '| hears |\n| --- |\n| `before_fit` |' in index.callbacks({})

# ---- search

def item(location, title, text='', level=2, path=('Reference',)): return dict(location=location, title=title, text=text, level=level, path=[*path], tags=[])
def plain(title): return re.sub(r'<span hidden="hidden">.*?</span>', '', title)

def test_what_answers_comes_first_and_lists_say_nothing_twice():
    order = 'index.html', 'start/a.html', 'tutorials/b.html', 'howto/index.html', 'howto/c.html', 'reference/all_names.html', 'train/d.html'
    items = [item(f'{o}{h}', 'A') for o in reversed(order) for h in ('#1', '#2')]
    got = [o['location'] for o in findable(dict(items=items, config=1), order)['items']]
    assert got==[f'{o}{h}' for o in ('index.html', 'start/a.html', 'howto/c.html', 'tutorials/b.html', 'train/d.html') for h in ('#1', '#2')]

@pytest.mark.parametrize('o,title', [
    (item('a.html', 'Five minutes', '<p>Getting started</p> <p>More</p>', 1), 'Five minutes quickstart Getting started'),
    (item('a.html#x', 'Five minutes', '<p>Getting started</p>'), 'Five minutes'),
    (item('a.html#x', 'Weights &amp; Biases, several <code>GPU</code>s'), 'Weights &amp; Biases, several <code>GPU</code>s wandb multiple'),
    (item('a.html#x', '<code>Learner.device</code>'), '· · <code>Learner.device</code>'), (item('a.html#x', '<code>Learner</code>'), '· <code>Learner</code>'),
    (item('a.html#x', '<code>CancelFitException</code>'), 'Cancel Fit Exception <code>CancelFitException</code>'), (item('a.html#x', 'Another optimizer'), 'optimizer Another optimizer'),
    (item('a.html#x', 'Logger', path=('Internals', 'Looking')), '· · · · Logger'), (item('a.html#x', 'Keras', path=('Reference', 'Other systems')), '· · · · Keras')])
def test_titles_get_words_that_are_not_seen(o, title):
    got = findable(dict(items=[o]), ['a.html'])['items'][0]
    assert re.sub(r'</?span[^>]*>', '', got['title'])==title and plain(got['title'])==o['title'] and got['text']==o['text']
