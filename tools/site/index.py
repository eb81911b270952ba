"""Pages that are made from the package: all names, events and cancel exceptions, and a gallery of callbacks

Nothing of it is typed: names are `learnloop.__all__`, events come from the table of phases, what the learner has at an event is looked up in a fit, and the
pictures are those that the notebooks have drawn.
"""
import inspect, learnloop, re
from os.path import relpath
from pathlib import Path
from learnloop import Callback, PHASES, Phase, synth_learner
from tools.site.nav import WINGS

FOLDER = 'reference'
HELD = 'xb', 'yb', 'pred', 'loss', 'loss_grad'

def _line(o):
    "The first line of the docstring of `o`, if it is its own"
    doc = o.__doc__ if inspect.isclass(o) or inspect.isroutine(o) else ''
    return (doc or '').strip().split('\n')[0].replace('|', '\\|')

def _home(name):
    "Wing and module that `name` comes from"
    mod = learnloop._later.get(name) or getattr(getattr(learnloop, name), '__module__', '') or ''
    parts = mod.split('.')
    return (parts[1], parts[2]) if parts[0]=='learnloop' and len(parts)==3 else None

def _link(name, texts):
    "A link to what the page of `name` says of it, or the name"
    home = _home(name)
    at = Path(home[0], home[1]+'.md') if home else None
    if at not in texts: return f'`{name}`'
    anchor = f'#{name.lower()}' if f'{{ #{name.lower()} .doc }}' in texts[at] else ''
    return f'[`{name}`]({relpath(at, FOLDER)}{anchor})'

def names(texts):
    "All public names, by wing"
    groups = {}
    for k in sorted(learnloop.__all__, key=str.lower):
        home = _home(k)
        groups.setdefault(home[0] if home else 'loop', []).append(k)
    md = ['# All names', '*Every public name of learnloop, with its one line: the API at a glance*', 'What `from learnloop import *` brings, and what each is for.']
    for wing in WINGS:
        if wing not in groups: continue
        rows = [f'| {_link(k, texts)} | {_line(getattr(learnloop, k))} |' for k in groups[wing]]
        md += [f'## {WINGS[wing]}', '\n'.join(['| name | what it is |', '| --- | --- |', *rows])]
    return '\n\n'.join(md)

def _held():
    "Which of the batch's attributes the learner has at each event, in training"
    seen = {}
    def hear(e):
        def _f(learn):
            if learn.training or e not in seen: seen[e] = [k for k in HELD if getattr(learn, k, None) is not None]
        return _f
    events = [e for p in PHASES for e in p.events if e not in ('after_create', 'after_exception')]
    learn = synth_learner()
    with learn.no_logging(), learn.no_bar(): learn.fit(1, cbs=Callback('listener', **{e:hear(e) for e in events}))
    return seen

def _when(phase, event):
    "When `event` of `phase` fires"
    name,exc = f'*{phase.name}*',f'`{phase.cancel.__name__}`' if getattr(phase, 'cancel', None) else ''
    if not isinstance(phase, Phase): return f'After `{phase.does}`.' if event.startswith('after') and phase.does else f'Once {_where(phase)}.'
    if event.startswith('before_'): return f'When {name} begins{f"; raise {exc} here, or anywhere in it, to skip the rest of it" if exc else ""}.'
    if event.startswith('after_cancel_'): return f'When {exc} has ended {name}, before `after_{phase.name}`.'
    if event.startswith('cleanup_'): return f'Last in {name}, whatever happened: done, cancelled, or failed.'
    return f'When {name} is over, be it done or cancelled; not after an error.'

def _where(phase): return f"in {' and '.join(f'*{o}*' for o in phase.inside)}" if phase.inside else 'outside of all phases'

def events(texts):
    "Events and exceptions, each with a heading for the search to find"
    held = _held()
    md = ['# Events and exceptions', '*Every event that a callback can hear, such as `before_batch`, and every cancel exception, such as `CancelFitException`*',
        'A phase *x* fires `before_x`, then its body, `after_cancel_x` if its exception was raised, `after_x`, and last, whatever happened, `cleanup_x`. '
        'A callback hears an event by a method of its name, or as a function: `Callback(after_loss=f)`. [How it works](how_it_works.html) says why.']
    for p in PHASES:
        body = f' Its body: `{p.does}`.' if p.does and isinstance(p, Phase) else ''
        if isinstance(p, Phase): md.append(f'## The phase {p.name}\n\nIt runs {_where(p)}.{body}')
        for e in p.events:
            has = held.get(e)
            there = f" The learner has {', '.join(f'`{k}`' for k in has)}." if has else ''
            md.append(f"{'###' if isinstance(p, Phase) else '##'} `{e}` {{ #{e} }}\n\n{_when(p, e)}{there}")
    md.append('## Cancel exceptions\n\nAny callback may raise them, in any event of the phase. All are subclasses of `CancelException`, which is no `Exception`, so that no `except Exception` eats one.')
    for p in PHASES:
        if not getattr(p, 'cancel', None): continue
        nm = p.cancel.__name__
        md.append(f'### `{nm}` {{ #{nm.lower()} }}\n\nSkips the rest of *{p.name}*, and goes on with `{p.after_cancel}`, `{p.after}`, `{p.cleanup}`.')
    return '\n\n'.join(md)

def _section(md, name):
    "What a page says of `name`: from its heading to the next one of its kind"
    m = re.search(rf'^#+ `{name}` {{ #{name.lower()} \.doc }}$(.*?)(?=^#+ .*\.doc }}$|\Z)', md, re.M|re.S)
    return m[1] if m else ''

def _picture(md, name, at):
    "The first picture in what a page says of `name`, or ''"
    m = re.search(r'!\[(?P<alt>[^\]]*)\]\((?P<file>[\w.-]+)\)|(?P<svg><svg.*?</svg>)', _section(md, name), re.S)
    if not m: return ''
    if m['svg']: return m['svg']
    return f'<img alt="{m["alt"]}" src="{relpath(at.parent/m["file"], FOLDER)}" loading="lazy">'

def callbacks(texts):
    "A gallery of callbacks"
    md = ['# Callbacks', '*A gallery of all callbacks: schedules, stopping, saving, averaging, precision, logging, looking*',
        'Pass them to a learner, or to one fit: `learn.fit(5, cbs=[EMA(), GradientClip(1.)])`. To write your own: [your first callback](first_callback.html).']
    groups = {}
    for k in sorted(learnloop.__all__):
        o = getattr(learnloop, k)
        if inspect.isclass(o) and issubclass(o, Callback) and o is not Callback: groups.setdefault(_home(k), []).append(k)
    for wing in WINGS:
        cards = []
        for home,ks in groups.items():
            if home[0]!=wing: continue
            at = Path(home[0], home[1]+'.md')
            for k in ks:
                link = _link(k, texts)
                cards.append(f'<div class="card" markdown="1">\n\n**{link}**\n\n{_line(getattr(learnloop, k))}\n\n{_picture(texts.get(at, ""), k, at)}\n\n</div>')
        if cards: md += [f'## {WINGS[wing]}', '<div class="cards" markdown="1">', *cards, '</div>']
    return '\n\n'.join(md)

def pages(texts):
    "Path -> markdown of the pages that are made, given those that the notebooks make"
    made = dict(events=events, callbacks=callbacks, all_names=names)
    return {Path(FOLDER, f'{k}.md'):f(texts)+'\n' for k,f in made.items()}
