"""Generate pages from the package: all names, events and cancel exceptions, and a gallery of callbacks

Nothing on these pages is written by hand. Names come from `learnloop.__all__`, methods of a learner from the pages that document them, and events from the
table of phases. A short fit shows what the learner holds at each event. Pictures are the outputs of notebooks.
"""
import inspect, learnloop, re
from functools import cache
from importlib import import_module
from os.path import relpath
from pathlib import Path
from learnloop import Callback, PHASES, Phase, synth_learner
from tools.house import ROOT, modules
from tools.site.nav import LESSONS, WINGS
from tools.site.prose import PICTURE, card, cards, img

FOLDER = 'reference'
MANY = 8  # An event with more callbacks shows only their number
HELD = 'batch', 'xb', 'yb', 'pred', 'loss', 'loss_grad'
# Events outside of phases whose row of the table has no line of code
SAID = dict(after_create='has been created, or when a callback was added to it', after_record='has recorded a validation or an epoch; `record` holds the values',
    after_rewind='has gone back to an earlier place, before training continues there',
    after_exception='gets a new error, before the error leaves the phase')

CANCELS = [p.cancel.__name__ for p in PHASES if getattr(p, 'cancel', None)]

# ---- names

@cache
def home(name):
    "Return the wing and the module of `name`"
    mod = learnloop._lazy.get(name) or getattr(getattr(learnloop, name), '__module__', None)
    if mod is None or mod.count('.')!=2: mod = next(o for o in (f'learnloop.{k}' for k in modules(ROOT)) if name in getattr(import_module(o), '__all__', ()))
    return tuple(mod.split('.')[1:])

def line(name):
    "Describe `name` in a line: the first of its docstring or its class's docstring, or its contents"
    o = getattr(learnloop, name)
    own = inspect.isclass(o) or inspect.isroutine(o)
    doc = o.__doc__ if own else type(o).__doc__ if type(o).__module__.startswith('learnloop.') else None
    held = [p.name for p in o] if isinstance(o, tuple) else [] if own else vars(o)
    return (doc or ', '.join(f'`{k}`' for k in held)).strip().split('\n')[0]

def public_callbacks():
    "List the names of all callbacks"
    classes = {k:getattr(learnloop, k) for k in sorted(learnloop.__all__, key=str.lower)}
    return [k for k,o in classes.items() if inspect.isclass(o) and issubclass(o, Callback) and o is not Callback]

def _heading(name): return f'`{name}` {{ #{name.lower()} .doc }}'

def _link(name, texts, at=None):
    "Link to the description of `name` on its page or the page `at`, or to the page"
    if name in CANCELS: return f'[`{name}`](events.md#{name.lower()})'
    at = at or Path(*home(name)).with_suffix('.md')
    if at not in texts: return f'`{name}`'
    anchor = f'#{name.lower()}' if _heading(name) in texts[at] else ''
    return f'[`{name}`]({relpath(at, FOLDER)}{anchor})'

def _table(rows):
    cells = [(k, v.replace('|', '\\|')) for k,v in rows]
    return '\n'.join(['| name | description |', '| --- | --- |', *(f'| {k} | {v} |' for k,v in cells)])

def methods(texts):
    "Method of a learner -> its page, and the first line of its description"
    res = {}
    for at,md in texts.items():
        for name,text in re.findall(r'^#+ `(Learner\.\w+)` \{ #\S+ \.doc \}$(.*?)(?=^#+ |\Z)', md, re.M|re.S):
            about = re.search(r'^```\n+\*?([^\n`#|<*][^\n]*?)\*?$', text, re.M)
            if about: res[name] = at,about[1]
    return dict(sorted(res.items()))

def names(texts):
    "Write the page of all public names, by wing"
    groups = {k:[] for k in WINGS}
    for k in sorted(learnloop.__all__, key=str.lower): groups[home(k)[0]].append(k)
    md = ['# All names', '*Every public name of learnloop with a one-line description: the API at a glance*',
        'The methods of a learner, and all names that `from learnloop import *` imports. Each links to its reference.',
        '## Methods of a learner', _table((_link(k, texts, at), about) for k,(at,about) in methods(texts).items())]
    for k in WINGS: md += [f'## {WINGS[k]}', _table((_link(o, texts), line(o)) for o in groups[k])] if groups[k] else []
    return '\n\n'.join(md)

# ---- events

def held():
    "Event -> attributes of the learner that hold values of the current training batch"
    old,seen = {},{}
    def hear(e):
        def _f(learn):
            now = {k:getattr(learn, k, None) for k in HELD}
            if e=='before_fetch': old.update(now)
            if not learn.training or not (learn.inside('batch') or learn.inside('fetch')): return
            seen.setdefault(e, [k for k,v in now.items() if v is not None and v is not old.get(k)])
        return _f
    events = [e for p in PHASES for e in p.events if e not in ('after_create', 'after_exception')]
    learn = synth_learner(n_train=128)
    with learn.no_logging(), learn.no_bar(): learn.fit(1, cbs=Callback('listener', **{e:hear(e) for e in events}))
    return seen

def _and(words): return ' and '.join(filter(None, [', '.join(words[:-1]), *words[-1:]]))

def _where(phase): return f"in {_and([f'*{o}*' for o in phase.inside])}" if phase.inside else 'outside of all phases'

def when(phase, event):
    "Say when `event` of `phase` fires"
    name,exc = f'*{phase.name}*',getattr(phase, 'cancel', None)
    if not isinstance(phase, Phase):
        if event in SAID: return f'when the learner {SAID[event]}.'
        return f"{_where(phase)}, {'after' if event.startswith('after') else 'with'} {phase.does if ',' in phase.does else f'`{phase.does}`'}."
    if event.startswith('before_'):
        skip = f' To skip the rest of it, raise [`{exc.__name__}`](#{exc.__name__.lower()}) here or in any event before `after_{phase.name}`.' if exc else ''
        return f'when {name} begins.{skip}'
    if event.startswith('after_cancel_'): return f'when [`{exc.__name__}`](#{exc.__name__.lower()}) was raised in {name}, before `after_{phase.name}`.'
    if event.startswith('cleanup_'): return f'last in {name}, whether it was done, cancelled or failed.'
    return f'when {name} ends, whether it was done or cancelled, but not after an error.'

def _phase(p):
    "Describe a phase"
    inner = [f'*{o.name}*' for o in PHASES if isinstance(o, Phase) and p.name in o.inside]
    body = f' Its body is `{p.does}`.' if p.does else f' It contains {_and(inner)}.' if inner else ''
    return f'## The phase {p.name}\n\nIt runs {_where(p)}.{body}'

def events(texts):
    "Write the page of events and exceptions; each has a heading, so that the search finds it"
    has,cbs = held(),public_callbacks()
    md = ['# Events and exceptions', '*Every event that a callback can handle, such as `before_batch`, and every cancel exception, such as `CancelFitException`*',
        'A phase *x* fires `before_x` and runs its body. If its exception was raised, it fires `after_cancel_x`. Then it fires `after_x` and, in any case, '
        '`cleanup_x`. A callback handles an event by a method with the name of the event, or by a function: `Callback(after_loss=f)`. '
        '[How it works](how_it_works.html) explains the reasons.']
    for p in PHASES:
        level = '###' if isinstance(p, Phase) else '##'
        if isinstance(p, Phase): md.append(_phase(p))
        for e in p.events:
            there = f" The learner holds {_and([f'`{k}`' for k in has[e]])} of this batch." if has.get(e) else ''
            hear = [_link(k, texts) for k in cbs if callable(getattr(getattr(learnloop, k), e, None))]
            if len(hear)>MANY: hear = [f'{len(hear)} of the [callbacks](callbacks.md)']
            heard = f'\n\nHandled by {_and(hear)}.' if hear else ''
            md.append(f'{level} `{e}` {{ #{e} }}\n\n`{e}` fires {when(p, e)}{there}{heard}')
    md.append('## Cancel exceptions\n\nAny callback may raise them, in any event of the phase. All are subclasses of `CancelException`, which is not an `Exception`, '
        'so `except Exception` does not catch one by accident. [Flow](flow.html) shows how they work.')
    for p in PHASES:
        if not getattr(p, 'cancel', None): continue
        k = p.cancel.__name__
        md.append(f'### `{k}` {{ #{k.lower()} }}\n\nSkips the rest of *{p.name}*. Then `{p.after_cancel}`, `{p.after}` and `{p.cleanup}` fire.')
    return '\n\n'.join(md)

# ---- callbacks

def _sections(md, name):
    "List the descriptions of `name` and its methods on a page: each from its heading to the next one"
    return re.findall(rf'^#+ `{name}(?:\.\w+)?` {{ #\S+ \.doc }}$(.*?)(?=^#+ |\Z)', md, re.M|re.S)

def picture(name, texts):
    "Return the page and the match of the first picture in the description of `name`, or drawn by code that uses it; or None"
    at = Path(*home(name)).with_suffix('.md')
    md = texts.get(at, '')
    found = [re.search(PICTURE, o, re.S) for o in _sections(md, name)]
    drawn = re.search(rf'^```python\n(?:(?!^```)[^\n]*\n)*?[^\n]*\b{name}\((?:(?!^```)[^\n]*\n)*?^```\n+(?:<div class="output">\n)?(?:{PICTURE})', md, re.M|re.S)
    return next(((at, o) for o in (*found, drawn) if o), None)

_OUTPUT = r'(?:^``` \{ \.text \.output \}\n.*?^```$|^<div class="output">\n.*?^</div>$|^\|.*?(?=\n\n))'

def example(name, texts):
    "Return the shortest fit, or other code, that uses `name`, with its output; from its own page if possible. None if there is none"
    code = rf'^```python\n((?:(?!^```)[^\n]*\n)*?[^\n]*\b{name}\((?:(?!^```)[^\n]*\n)*?)^```\n+({_OUTPUT})'
    own = Path(*home(name)).with_suffix('.md')
    pages = {o:re.findall(code, texts[o], re.M|re.S) for o in sorted(texts, key=lambda o: (o!=own, o.parent.name not in LESSONS))}
    found = next(filter(None, pages.values()), None)
    return found and '```python\n{}```\n\n{}'.format(*min(found, key=lambda o: ('fit(' not in o[0], len(o[0]))))

def _card(name, texts):
    found = picture(name, texts)
    hears = [f'| `{e}` |' for p in PHASES for e in p.events if callable(getattr(getattr(learnloop, name), e, None))]
    shown = img(*found, FOLDER) if found else example(name, texts) or '\n'.join(['| handles |', '| --- |', *hears])
    return card(_link(name, texts), line(name), shown)

def callbacks(texts, plain=False):
    "Write the gallery of callbacks, or a list if `plain`"
    md = ['# Callbacks', '*A list of all callbacks: schedules, early stopping, checkpoints, averaging, precision, logging, plots*',
        'Pass them to a learner, or to one fit: `learn.fit(5, cbs=[EMA(), GradientClip(1.)])`. To write your own: [your first callback](first_callback.html).']
    for wing in WINGS:
        ks = [k for k in public_callbacks() if home(k)[0]==wing]
        if not ks: continue
        md.append(f'## {WINGS[wing]}')
        if plain: md.append('\n'.join(f'- {_link(k, texts)}: {line(k)}' for k in ks))
        else: md.append(cards(_card(k, texts) for k in ks))
    return '\n\n'.join(md)

def pages(texts, plain=False):
    "Path -> markdown of the generated pages, given the pages of notebooks; without HTML if `plain`"
    made = dict(callbacks=callbacks(texts, plain), events=events(texts), all_names=names(texts))
    return {Path(FOLDER, f'{k}.md'):md+'\n' for k,md in made.items()}
