"Each attribute of the installed classes is in our stand-in or refused: rows for the page *Tested with*"
import os
os.environ.setdefault('KERAS_BACKEND', 'torch')
from importlib.util import find_spec
import pytest
from learnloop.interop import coverage
from learnloop.interop.core import adapters
from wild import write_row

@pytest.mark.filterwarnings('ignore')
@pytest.mark.parametrize('system', [k for k,o in adapters().items() if o.parts and all(find_spec(p.split(':')[0].split('.')[0]) for p in o.parts)])
def test_coverage(system):
    cov = coverage(system)
    for k,o in cov.parts.items(): write_row(kind='coverage', system=system, part=k, **{what:len(names) for what,names in o.items()})
    assert not cov.n_neither, str(cov)
