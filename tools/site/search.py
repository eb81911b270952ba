"""Improve the order of search results on the site

Zensical's search requires all words of a query. It ranks results by where the words are (in a title, in the path of a page or in its text), how close together,
and how close to the beginning; ties stay in the order of the index. It supports neither weights of pages nor synonyms. Therefore, the index is sorted by the
navigation, and titles get hidden words: the page's summary, synonyms, and dots, which push down results that are needed less often.
"""
import re

# A word of titles and summaries -> its synonyms. The search matches beginnings of words: `multi` finds `multiple`, but `profiling` does not find `profile`
ALSO = {'several':'multiple', 'learning rate':'lr', 'reproduce':'reproducibility deterministic', 'profile':'profiling', 'install':'installation',
    'resume':'continue', 'getting started':'quickstart', 'predict':'inference', 'hugging face':'huggingface', 'transformers':'hugging face huggingface',
    'dataloader':'data loader', 'clip':'clipping', 'schedule':'scheduler', 'augment':'augmentation', 'validate':'validation', 'log':'logging',
    'fine-tune':'finetune finetuning transfer learning', 'mixed precision':'amp', 'hyper-parameter':'hyperparameter',
    'searching':'sweep tuning', 'weights & biases':'wandb', 'averaging':'average', 'freeze':'unfreeze', 'progress bar':'tqdm disable jupyter silent quiet',
    'interrupt':'ctrl c', 'classification':'classifier', 'data set':'dataset', 'nan':'loss', 'different learning rates':'discriminative layerwise',
    'own dataset':'streaming iterable', 'supported versions':'windows macos linux python version supported', 'n minutes':'time limit',
    'compare two runs':'cross validation k fold'}
# Words of titles and summaries -> queries that should find these pages first
FIRST = {'reproduce a run':'seed random seed reproducible', 'warm-up':'warmup', 'another optimizer':'optimizer', 'pandas':'history', 'log to tensorboard':'logging tensorboard logger',
    'save the best model':'save best model checkpoint modelcheckpoint', 'coming from fastai':'fastai', 'coming from lightning':'lightning trainer',
    'coming from keras':'keras', 'coming from transformers':'transformers trainer', 'out of memory':'oom',
    'train without progress bar':'progress bar off turn off logging'}
ASKED = 'start', 'howto', 'reference'  # sections that answer questions
LISTS = 'reference/all_names.html', 'howto/how_do_i.html'  # like the first pages of sections, they repeat other pages
_ALSO,_FIRST = (re.compile(rf"\b({'|'.join(map(re.escape, o))})s?\b", re.I) for o in (ALSO, FIRST))
_SUMMARY,_NAME = re.compile(r'<p>(.*?)</p>', re.S),re.compile(r'<code>(?!Cancel)([A-Z]\w+)(\.\w+)?</code>$')

def page_of(item): return item['location'].partition('#')[0]

def _hidden(s): return f'<span hidden="hidden">{s}</span>' if s else ''

def _dots(item):
    "Return how far to push `item` down: internals and other systems most, then methods, then classes"
    less = item['path'][0]=='Internals' or 'Other systems' in item['path'] or 'moved_scripts' in item['location']
    name = _NAME.match(item['title'])
    return 4*less + (1+bool(name[2]) if name else 0)

def _title(item):
    "Return the title of `item` with hidden words"
    summary = _SUMMARY.search(item['text']) if item['level']==1 else None
    said,dots = summary[1] if summary else '',_dots(item)
    words = dict.fromkeys(ALSO[k.lower()] for k in _ALSO.findall(f"{item['title']} {said}".replace('&amp;', '&')))
    first = ''.join(f'{o} ' for o in (FIRST[k.lower()] for k in _FIRST.findall(item['title'])))
    return _hidden('· '*dots+first)+item['title']+_hidden(' '.join(['', *words, said]).rstrip())

def findable(index, order):
    "Sort the items of `index` by the `order` of pages, with answers to questions first, and extend their titles"
    asked = sorted(order, key=lambda o: '/' in o and o.split('/')[0] not in ASKED)
    place = {o:i for i,o in enumerate(asked)}
    items = sorted(index['items'], key=lambda o: place[page_of(o)])
    return index | dict(items=[o | dict(title=_title(o)) for o in items if not (o['level']>1 and (page_of(o).endswith('/index.html') or page_of(o) in LISTS))])
