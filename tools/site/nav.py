"The navigation: lessons first, then the reference with a group for each wing, then internals"
import re
from importlib import import_module
from os.path import relpath
from pathlib import Path
import learnloop
from tools.house import ROOT, modules, patches

LESSONS = dict(start='Start here', tutorials='Tutorials', howto='How do I …', coming='Coming from …')
WINGS = dict(loop='The loop', data='Data', train='Training', measure='Measuring', checkpoint='Saving and resuming', see='Watching a run',
    scale='Speed and scale', interop='Other systems', app='Command line')
# Sections that begin with a list of their pages; the others begin with an ordinary page
ABOUT = dict(tutorials='Whole tasks, from data to a trained model', coming='Scripts before and after, and names that differ',
    reference='Every page of the API, by purpose')
# Pages of `explanations` that answer a user's question; the others explain internals
ELSEWHERE = dict(clusters='howto', tested_with='coming', moved_scripts='coming', when_to_use='start', glossary='start')

def is_inside(page):
    "Whether the module of `page` provides nothing to users: no public name, and no method for a class of another module"
    mod,name = f'{page.parent.name}.{page.stem}',page.stem
    if page.parent.name in ('interop', 'app') or mod not in modules(ROOT): return page.parent.name=='interop' and name in ('core', 'names', 'facts')
    own = {*import_module(f'learnloop.{mod}').__all__}
    return not (own & {*learnloop.__all__} or any(cls not in own and cls[0]!='_' and k[0]!='_' for _,cls,k in patches(modules(ROOT)[mod])))

def grouped(pages):
    "Return section -> its pages, in the order of notebooks, and the same for internals"
    groups = {k:[] for k in ('', *LESSONS, *WINGS, 'reference')}
    inside = {k:[] for k in ('How it works', *WINGS.values())}
    for o in sorted(pages, key=lambda o: o.stem in ELSEWHERE):
        folder = ELSEWHERE.get(o.stem, o.parent.name)
        if folder=='explanations': inside['How it works'].append(o)
        elif folder in WINGS and is_inside(o): inside[WINGS[folder]].append(o)
        else: groups[folder].append(o)
    return groups,inside

def _rows(pages, texts, folder):
    "List `pages` with their summaries"
    found = [(o, re.match(r'# (.*)\n+\*(.*)\*', texts[o])) for o in pages]
    return '\n'.join(f'- [{m[1]}]({relpath(o, folder)}): {m[2]}' for o,m in found)

def overviews(texts):
    "Path -> markdown of the first page of each section: a line for each page"
    groups,res = grouped(texts)[0],{}
    for k in LESSONS:
        if k in ABOUT and groups[k]: res[Path(k, 'index.md')] = [f'# {LESSONS[k]}', f'*{ABOUT[k]}*', _rows(groups[k], texts, k)]
    md = ['# Reference', f"*{ABOUT['reference']}*", _rows(groups['reference'], texts, 'reference')]
    for k in WINGS: md += [f'## {WINGS[k]}', _rows(groups[k], texts, 'reference')] if groups[k] else []
    res[Path('reference', 'index.md')] = md
    return {k:'\n\n'.join(v)+'\n' for k,v in res.items()}

def nav(pages):
    "Return the tree of titles and `pages`"
    groups,inside = ({k:[*map(str, sorted(v, key=lambda o: o.name!='index.md'))] for k,v in o.items() if v} for o in grouped(pages))
    lessons = [{LESSONS[k]:groups[k]} for k in LESSONS if k in groups]
    wings = [{WINGS[k]:groups[k]} for k in WINGS if k in groups]
    reference = {'Reference':[*groups.get('reference', []), *wings]}
    return [*({'Home':o} for o in groups.get('', [])), *lessons, reference, {'Internals':[{k:v} for k,v in inside.items()]}]

def leaves(tree):
    "List the pages of a navigation, in order"
    if isinstance(tree, str): return [tree]
    return [p for o in (tree.values() if isinstance(tree, dict) else tree) for p in leaves(o)]
