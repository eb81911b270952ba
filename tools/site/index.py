"""Generate pages from the package: all names, events and cancel exceptions, and callbacks

Nothing on these pages is written by hand. Names come from `learnloop.__all__`, methods of a learner from the pages that document them, and events from the
table of phases.
"""
import inspect, learnloop, re
from functools import cache
from importlib import import_module
from os.path import relpath
from pathlib import Path
from learnloop import Callback, PHASES, Phase
from tools.house import ROOT, modules
from tools.site.nav import WINGS

FOLDER = 'reference'
MANY = 8  # An event with more callbacks shows only their number
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
    cbs = public_callbacks()
    md = ['# Events and exceptions', '*Every event that a callback can handle, such as `before_batch`, and every cancel exception, such as `CancelFitException`*',
        'A phase *x* fires `before_x` and runs its body. If its exception was raised, it fires `after_cancel_x`. Then it fires `after_x` and, in any case, '
        '`cleanup_x`. A callback handles an event by a method with the name of the event, or by a function: `Callback(after_loss=f)`. '
        '[How it works](how_it_works.html) explains the reasons.']
    for p in PHASES:
        level = '###' if isinstance(p, Phase) else '##'
        if isinstance(p, Phase): md.append(_phase(p))
        for e in p.events:
            hear = [_link(k, texts) for k in cbs if callable(getattr(getattr(learnloop, k), e, None))]
            if len(hear)>MANY: hear = [f'{len(hear)} of the [callbacks](callbacks.md)']
            heard = f'\n\nHandled by {_and(hear)}.' if hear else ''
            md.append(f'{level} `{e}` {{ #{e} }}\n\n`{e}` fires {when(p, e)}{heard}')
    md.append('## Cancel exceptions\n\nAny callback may raise them, in any event of the phase. All are subclasses of `CancelException`, which is not an `Exception`, '
        'so `except Exception` does not catch one by accident. [Flow](flow.html) shows how they work.')
    for p in PHASES:
        if not getattr(p, 'cancel', None): continue
        k = p.cancel.__name__
        md.append(f'### `{k}` {{ #{k.lower()} }}\n\nSkips the rest of *{p.name}*. Then `{p.after_cancel}`, `{p.after}` and `{p.cleanup}` fire.')
    return '\n\n'.join(md)

# ---- callbacks

def callbacks(texts):
    "Write the page of callbacks, by wing"
    md = ['# Callbacks', '*A list of all callbacks: schedules, early stopping, checkpoints, averaging, precision, logging, plots*',
        'Pass them to a learner, or to one fit: `learn.fit(5, cbs=[EMA(), GradientClip(1.)])`. To write your own: [your first callback](first_callback.html).']
    for wing in WINGS:
        ks = [k for k in public_callbacks() if home(k)[0]==wing]
        if ks: md += [f'## {WINGS[wing]}', '\n'.join(f'- {_link(k, texts)}: {line(k)}' for k in ks)]
    return '\n\n'.join(md)

def pages(texts):
    "Path -> markdown of the generated pages, given the pages of notebooks"
    made = dict(callbacks=callbacks(texts), events=events(texts), all_names=names(texts))
    return {Path(FOLDER, f'{k}.md'):md+'\n' for k,md in made.items()}
