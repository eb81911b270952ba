"Generated pages are complete and correct, and the search index is ordered"
import re
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

# ---- callbacks

def test_each_callback_is_listed_once():
    cbs = {k for k in learnloop.__all__ if isinstance(o := getattr(learnloop, k), type) and issubclass(o, Callback)}-{'Callback'}
    assert sorted(re.findall(r'^- \[?`(\w+)`', index.callbacks({}), re.M))==sorted(cbs)

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
    (item('a.html#x', 'Another optimizer'), 'optimizer Another optimizer'),
    (item('a.html#x', 'Logger', path=('Internals', 'Looking')), '· · · · Logger'), (item('a.html#x', 'Keras', path=('Reference', 'Other systems')), '· · · · Keras')])
def test_titles_get_words_that_are_not_seen(o, title):
    got = findable(dict(items=[o]), ['a.html'])['items'][0]
    assert re.sub(r'</?span[^>]*>', '', got['title'])==title and plain(got['title'])==o['title'] and got['text']==o['text']
