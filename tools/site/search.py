"""What the search of the site finds first

Zensical's search wants all words of a query, and orders what it finds by where they are, in a title, in the path of a page or in its text, how near to each
other, and how near to the beginning; what is equal stays in the order of the index. It knows no weights of pages and no other words for the same. So the index
is put in the order of the navigation, and titles get words that are searched and not seen: a page's summary, which its author wrote in the words that
people search for, other words for the same, and a dot before what is looked up less.
"""
import re

# A word of titles -> what else people call it. What begins with a word is found by it: `multi` by `multi-GPU`, but not `profile` by `profiling`
ALSO = {'several':'multiple multi', 'learning rate':'lr', 'reproduce':'reproducibility reproducible deterministic', 'profile':'profiling profiler',
    'install':'installation setup', 'resume':'continue restart', 'predict':'inference', 'hugging face':'huggingface', 'dataloader':'data loader', 'clip':'clipping',
    'schedule':'scheduler', 'augment':'augmentation', 'validate':'validation', 'validating':'validation', 'fine-tune':'finetune finetuning transfer', 'out of memory':'oom',
    'mixed precision':'amp automatic', 'hyper-parameters':'hyperparameters tuning', 'weights & biases':'wandb', 'checkpoint':'checkpointing',
    'averaging':'average', 'slow':'training', 'log':'logging', 'transformers':'huggingface hugging face', 'freeze':'freezing unfreeze', 'progress bar':'tqdm', 'interrupt':'ctrl-c', 'classification':'classifier'}
ASKED = 'start', 'howto', 'reference'  # sections that answer what people ask
_ALSO = re.compile(rf"\b({'|'.join(map(re.escape, ALSO))})(?=s?\b)", re.I)
_SUMMARY,_METHOD = re.compile(r'<p>(.*?)</p>', re.S),re.compile(r'<code>\w+\.\w+</code>$')

def page_of(item): return item['location'].partition('#')[0]

def _hidden(s): return f'<span hidden>{s}</span>'

def _title(item):
    "The title of `item`, with words that are not to be seen"
    title,summary = item['title'].replace('&amp;', '&'),_SUMMARY.search(item['text'])
    title = _ALSO.sub(lambda m: f'{_hidden(ALSO[m[1].lower()]+" ")}{m[1]}', title).replace('&', '&amp;')
    if item['level']==1 and summary: title += _hidden(' '+summary[1])
    return _hidden('· '*(2*(item['path'][0]=='Internals') + bool(_METHOD.match(item['title']))))+title

def _lists(item):
    "Is `item` a part of a page that lists what others say?"
    page = page_of(item)
    return item['level']>1 and (page.endswith('/index.html') or page in ('reference/all_names.html', 'howto/how_do_i.html'))

def findable(index, order):
    "`index`, with its items in the `order` of pages, those first that answer a question, and titles that people find"
    asked = sorted(order, key=lambda o: '/' in o and o.split('/')[0] not in ASKED)
    place = {o:i for i,o in enumerate(asked)}
    items = sorted(index['items'], key=lambda o: place[page_of(o)])
    return index | dict(items=[o | dict(title=_title(o)) for o in items if not _lists(o)])
