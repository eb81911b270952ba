"That `help` shows what each parameter means, for whatever the package has"
import inspect
import pytest
from learnloop import Learner
from learnloop.loop.help import ParamDoc

def test_a_function_without_source_has_its_docstring():
    ns = {}
    exec('def f(a):\n    "Do it"', ns)
    ns['f'].__doc__ = ParamDoc('Do it', ns['f'])
    assert inspect.getdoc(ns['f'])=='Do it'

@pytest.mark.parametrize('name', ['fit_one_cycle', 'fit_flat_cos', 'fit_sgdr', 'fit_wsd'])
def test_every_fit_names_what_it_hands_on(name): assert '`resume`' in inspect.getdoc(getattr(Learner, name))
