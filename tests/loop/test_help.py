"`help` shows the comment on each parameter"
import inspect, os, pydoc
import learnloop, pytest
from fastcore.docments import docments
from learnloop import CheckpointCallback, Learner, accuracy
from learnloop.loop.help import ParamDoc, show_params

@pytest.mark.parametrize('o,params', [(Learner.fit, 'n_epoch max_steps resume'), (Learner, 'dls model loss_func'), (CheckpointCallback, 'folder keep'),
    (CheckpointCallback.save, 'info'), (accuracy, 'pred targ'), (Learner.lr_find, 'start_lr'), (Learner.to_ddp, ''), (learnloop.EarlyStoppingCallback, 'patience'),
    (learnloop.DataLoaders.from_dsets, 'train_ds bs shuffle'), (Learner.fit_one_cycle, 'lr_max kwargs')])
def test_help_shows_each_parameter(o, params):
    text = pydoc.render_doc(o, renderer=pydoc.plaintext)
    assert all(f'    {k}: ' in text for k in params.split())
    assert inspect.getdoc(o).startswith(str(o.__doc__))

def test_public_functions_show_the_comments_on_their_parameters():
    show_params()  # a test may have imported a module directly
    objs = [getattr(learnloop, k) for k in learnloop.__all__]
    objs += [f for c in objs if isinstance(c, type) for k,f in vars(c).items() if inspect.isfunction(f) and k[0]!='_']
    ours = [o for o in objs if callable(o) and (getattr(o, '__module__', None) or '').startswith('learnloop.') and o.__doc__]
    missing = []
    for o in ours[::1 if os.environ.get('ALL_CASES') else 4]:
        try: docs = docments(o)
        except (TypeError, ValueError, OSError): continue
        missing += [f'{o.__qualname__}.{k}' for k,v in docs.items() if v and k not in ('return', 'self') and f'    {k}: ' not in inspect.getdoc(o)]
    assert not missing and len(ours)>300
    assert not [o.__qualname__ for o in ours if '    self: ' in inspect.getdoc(o)]

def test_a_function_without_source_has_its_docstring():
    ns = {}
    exec('def f(a):\n    "Do it"', ns)
    ns['f'].__doc__ = ParamDoc('Do it', ns['f'])
    assert inspect.getdoc(ns['f'])=='Do it'

@pytest.mark.parametrize('name', ['fit_one_cycle', 'fit_flat_cos', 'fit_sgdr', 'fit_wsd'])
def test_every_fit_documents_the_arguments_it_passes_on(name): assert '`resume`' in inspect.getdoc(getattr(Learner, name))
