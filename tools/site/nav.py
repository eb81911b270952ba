"The navigation: lessons first, then the reference, a group for each wing, and what happens inside apart"
from importlib import import_module
import learnloop
from learnloop._modidx import d as index

LESSONS = dict(start='Start here', tutorials='Tutorials', howto='How do I …', coming='Coming from …')
WINGS = dict(loop='The loop', measure='Measuring', train='Training', keep='Keeping', scale='Scaling', see='Looking', interop='Other systems',
    app='From a shell')
# Pages of `explanations` that answer a question of a user; the others say how it works inside
ELSEWHERE = dict(clusters='howto', tested_with='coming', moved_scripts='coming')

def is_inside(page):
    "Is the module of `page` one that users have nothing from: no name of the package, no method of a class of another module?"
    wing,name = f'learnloop.{page.parent.name}.{page.stem}',page.stem
    if page.parent.name in ('interop', 'app') or wing not in index['syms']: return page.parent.name=='interop' and name in ('core', 'names', 'facts')
    own = {*getattr(import_module(wing), '__all__', [])}
    names = [k.removeprefix(wing+'.') for k in index['syms'][wing]]
    patched = [o for o in names if '.' in o and '._' not in o and o[0]!='_' and o.split('.')[0] not in own]
    return not (own & {*learnloop.__all__} or patched)

def nav(pages):
    "A tree of titles and `pages`, in the order of their notebooks"
    groups = {k:[] for k in (*LESSONS, *WINGS, 'reference')}
    inside,top = {},[]
    for o in pages:
        folder = ELSEWHERE.get(o.stem, o.parent.name)
        if not folder: top.append(str(o))
        elif folder=='explanations': inside.setdefault('How it works', []).append(str(o))
        elif folder in WINGS and is_inside(o): inside.setdefault(WINGS[folder], []).append(str(o))
        else: groups[folder].append(str(o))
    lessons = [{LESSONS[k]:groups[k]} for k in LESSONS if groups[k]]
    reference = [{WINGS[k]:groups[k]} for k in WINGS if groups[k]]
    return [*top, *lessons, {'Reference':[*groups['reference'], *reference]}, {'Internals':[{k:v} for k,v in inside.items()]}]
