"Facts that callbacks declare: the page lists them all, each is needed, and nothing is guessed from a callback's class"
import ast, inspect, json, re
from pathlib import Path
import learnloop, pytest
from learnloop import Callback

PACKAGE = Path(learnloop.__file__).parent
CELLS = {o['id']:o for o in json.loads((PACKAGE.parent/'nbs'/'loop'/'01_callback.ipynb').read_text())['cells']}
PAGE = dict(ll=learnloop, re=re, inspect=inspect)
exec(''.join(CELLS['f1a90003']['source']), PAGE)  # the functions that make the tables of the page
DECLARED = {k:(default, by.split(', ') if by else []) for k,default,_,by in PAGE['declared']()}

@pytest.mark.parametrize('cell,is_method', [('f1a90004', False), ('f1a90008', True)])
def test_the_page_shows_the_tables_as_they_are(cell, is_method):
    out, = CELLS[cell]['outputs']
    lines = [o.strip() for o in out['data']['text/markdown'] if o.strip()]
    assert lines[2:]==['| ' + ' | '.join(o) + ' |' for o in PAGE['rows'](is_method)]

def test_each_declaration_is_in_a_table():
    facts = {k for k,v in vars(Callback).items() if k[0]!='_' and not callable(v) and not isinstance(v, property)}
    assert facts-{'learn', 'foreign'}==set(DECLARED)

def test_three_callbacks_or_more_need_each_flag():
    few = {k:by for k,(default, by) in DECLARED.items() if default in ('True', 'False') and len(by)<3}
    assert set(few)=={'run'}, 'which callbacks have to be switched by, and need not declare'

def test_a_callback_that_declares_nothing_may_change_anything():
    flags = {k:default for k,(default, _) in DECLARED.items() if default in ('True', 'False')}
    assert {k for k,v in flags.items() if v=='True'}=={'run', 'run_train', 'run_valid'}

def asked(path):
    "Names of attributes that the module at `path` looks for in the class of an object, or declared ones by `hasattr`"
    for o in ast.walk(ast.parse(path.read_text())):
        if not isinstance(o, ast.Call) or getattr(o.func, 'id', '') not in ('hasattr', 'getattr') or len(o.args)<2: continue
        at,name = o.args[0],getattr(o.args[1], 'value', None)
        of_type = isinstance(at, ast.Call) and getattr(at.func, 'id', '')=='type'
        if isinstance(name, str) and (of_type or o.func.id=='hasattr' and name in DECLARED): yield name

# Of loaders, batches, metrics, named tuples, any object that a compiled step reads, and foreign callbacks; and a mark of trackers
OTHERS = {'split_batch', 'to', 'is_wrapper', '_shutdown_workers', '__iter__', 'value',
    '_get_iterator', '_stateattrs', '_loaded', '__getattr__', '_fields'}

def test_no_property_of_a_callback_is_found_by_a_look_at_its_class():
    found = {name:p.name for p in PACKAGE.rglob('*.py') for name in asked(p)}
    assert set(found)==OTHERS, found
