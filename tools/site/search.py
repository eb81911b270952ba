"""What the search of the site finds first

Zensical's search wants all words of a query, and orders what it finds by where they are, in a title, in the path of a page or in its text, how near to each
other, and how near to the beginning; what is equal stays in the order of the index. It knows no weights of pages and no other words for the same. So the index
is put in the order of the navigation, and titles get words that are searched and not seen: a page's summary, which its author wrote in the words that
people search for, other words for the same, and dots before what is looked up less, which are words that nobody types.
"""
import re

# A word of titles and summaries -> what else people call it. A word is found by what it begins with: `multiple` by `multi`, but not `profile` by `profiling`
ALSO = {'several':'multiple', 'learning rate':'lr', 'reproduce':'reproducibility deterministic', 'profile':'profiling', 'install':'installation',
    'resume':'continue', 'getting started':'quickstart', 'predict':'inference', 'hugging face':'huggingface', 'transformers':'hugging face huggingface',
    'dataloader':'data loader', 'clip':'clipping', 'schedule':'scheduler', 'augment':'augmentation', 'validate':'validation', 'log':'logging',
    'fine-tune':'finetune finetuning transfer learning', 'mixed precision':'amp', 'hyper-parameter':'hyperparameter',
    'searching':'sweep tuning', 'weights & biases':'wandb', 'averaging':'average', 'freeze':'unfreeze', 'progress bar':'tqdm disable jupyter silent quiet',
    'interrupt':'ctrl c', 'classification':'classifier', 'data set':'dataset', 'nan':'loss', 'different learning rates':'discriminative layerwise',
    'own dataset':'streaming iterable', 'supported versions':'windows macos linux python version supported', 'n minutes':'time limit',
    'compare two runs':'cross validation k fold'}
# Words of titles and summaries that answer what people ask -> what they type first, and then find first
FIRST = {'reproduce a run':'seed random seed reproducible', 'warm-up':'warmup', 'another optimizer':'optimizer', 'pandas':'history', 'log to tensorboard':'logging tensorboard logger',
    'save the best model':'save best model checkpoint modelcheckpoint', 'coming from fastai':'fastai', 'coming from lightning':'lightning trainer',
    'coming from keras':'keras', 'coming from transformers':'transformers trainer', 'out of memory':'oom',
    'train without progress bar':'progress bar off turn off logging'}
ASKED = 'start', 'howto', 'reference'  # sections that answer what people ask
LISTS = 'reference/all_names.html', 'howto/how_do_i.html'  # as do first pages of sections, they say what other pages say
_ALSO,_FIRST = (re.compile(rf"\b({'|'.join(map(re.escape, o))})s?\b", re.I) for o in (ALSO, FIRST))
_SUMMARY,_NAME = re.compile(r'<p>(.*?)</p>', re.S),re.compile(r'<code>(?!Cancel)([A-Z]\w+)(\.\w+)?</code>$')
_CAMEL = re.compile(r'(?<=[a-z])(?=[A-Z])')

def page_of(item): return item['location'].partition('#')[0]

def _hidden(s): return f'<span hidden="hidden">{s}</span>' if s else ''

def _dots(item):
    "How much less than others `item` is looked up: what happens inside, how callbacks of other systems run, methods, classes"
    less = item['path'][0]=='Internals' or 'Other systems' in item['path'] or 'moved_scripts' in item['location']
    name = _NAME.match(item['title'])
    return 4*less + (1+bool(name[2]) if name else 0)

def _title(item):
    "The title of `item`, with words that are not to be seen"
    summary = _SUMMARY.search(item['text']) if item['level']==1 else None
    said,dots = summary[1] if summary else '',_dots(item)
    words = dict.fromkeys(ALSO[k.lower()] for k in _ALSO.findall(f"{item['title']} {said}".replace('&amp;', '&')))
    camel = [_CAMEL.sub(' ', o) for o in re.findall(r'^<code>(Cancel\w+)</code>$', item['title'])]  # as people write it
    first = ''.join(f'{o} ' for o in (*camel, *(FIRST[k.lower()] for k in _FIRST.findall(item['title']))))
    return _hidden('· '*dots+first)+item['title']+_hidden(' '.join(['', *words, said]).rstrip())

def _lists(item):
    "Is `item` a part of a page that lists what others say?"
    return item['level']>1 and (page_of(item).endswith('/index.html') or page_of(item) in LISTS)

def findable(index, order):
    "`index`, with its items in the `order` of pages, those first that answer a question, and titles that people find"
    asked = sorted(order, key=lambda o: '/' in o and o.split('/')[0] not in ASKED)
    place = {o:i for i,o in enumerate(asked)}
    items = sorted(index['items'], key=lambda o: place[page_of(o)])
    return index | dict(items=[o | dict(title=_title(o)) for o in items if not _lists(o)])
