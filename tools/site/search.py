"""What the search of the site finds first

Zensical's search wants all words of a query, and orders what it finds by where they are, in a title, in the path of a page or in its text, how near to each
other, and how near to the beginning; what is equal stays in the order of the index. It knows no weights of pages and no other words for the same. So the index
is put in the order of the navigation, and titles get words that are searched and not seen: a page's summary, which its author wrote in the words that
people search for, other words for the same, and dots before what is looked up less, which are words that nobody types.
"""
import re

# A word of titles and summaries -> what else people call it. A word is found by what it begins with: `multiple` by `multi`, but not `profile` by `profiling`
ALSO = {'several':'multiple', 'learning rate':'lr', 'reproduce':'reproducibility deterministic', 'profile':'profiling', 'install':'installation', 'resume':'continue',
    'getting started':'quickstart', 'predict':'inference', 'hugging face':'huggingface', 'transformers':'hugging face huggingface', 'dataloader':'data loader',
    'clip':'clipping', 'schedule':'scheduler', 'augment':'augmentation', 'validate':'validation', 'fine-tune':'finetune finetuning', 'log':'logging',
    'out of memory':'oom', 'mixed precision':'amp', 'hyper-parameter':'hyperparameter', 'weights & biases':'wandb', 'averaging':'average', 'freeze':'unfreeze',
    'progress bar':'tqdm', 'interrupt':'ctrl c', 'classification':'classifier'}
ASKED = 'start', 'howto', 'reference'  # sections that answer what people ask
LISTS = 'reference/all_names.html', 'howto/how_do_i.html'  # as do first pages of sections, they say what other pages say
_ALSO = re.compile(rf"\b({'|'.join(map(re.escape, ALSO))})s?\b", re.I)
_SUMMARY,_METHOD = re.compile(r'<p>(.*?)</p>', re.S),re.compile(r'<code>\w+\.\w+</code>$')

def page_of(item): return item['location'].partition('#')[0]

def _hidden(s): return f'<span hidden="hidden">{s}</span>' if s else ''

def _dots(item):
    "How much less than others `item` is looked up: what happens inside, how callbacks of other systems run, methods"
    return 2*(item['path'][0]=='Internals' or 'Other systems' in item['path']) + bool(_METHOD.match(item['title']))

def _title(item):
    "The title of `item`, with words that are not to be seen"
    summary = _SUMMARY.search(item['text']) if item['level']==1 else None
    said = summary[1] if summary else ''
    words = dict.fromkeys(ALSO[k.lower()] for k in _ALSO.findall(f"{item['title']} {said}".replace('&amp;', '&')))
    return _hidden('· '*_dots(item))+item['title']+_hidden(' '.join(['', *words, said]).rstrip())

def _lists(item):
    "Is `item` a part of a page that lists what others say?"
    return item['level']>1 and (page_of(item).endswith('/index.html') or page_of(item) in LISTS)

def findable(index, order):
    "`index`, with its items in the `order` of pages, those first that answer a question, and titles that people find"
    asked = sorted(order, key=lambda o: '/' in o and o.split('/')[0] not in ASKED)
    place = {o:i for i,o in enumerate(asked)}
    items = sorted(index['items'], key=lambda o: place[page_of(o)])
    return index | dict(items=[o | dict(title=_title(o)) for o in items if not _lists(o)])
