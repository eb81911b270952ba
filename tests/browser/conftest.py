"""A browser for all tests of this folder, and where its pictures go. `make browser` runs them: a browser takes some preparing

The files aren't called `test_…`, so that `pytest` alone passes them by.
"""
import pytest, sys
from pathlib import Path
sys.path.insert(0, str(Path(__file__).parent))
import chromium

SHOTS = Path(__file__).parents[2]/'_proc'/'browser'

@pytest.fixture(scope='session')
def browser():
    if chromium.find() is None: pytest.fail('there is no Chromium: make browser installs it')
    with chromium.browser() as b: yield b

@pytest.fixture
def visit(browser):
    "Open a page, which is closed after the test"
    pages = []
    def _f(url, **kwargs):
        pages.append(p := browser.page(url.as_uri() if isinstance(url, Path) else url, **kwargs))
        return p
    yield _f
    for o in pages: o.close()

@pytest.fixture(scope='session')
def shots():
    "Folder for pictures, to be looked at by a person"
    SHOTS.mkdir(parents=True, exist_ok=True)
    return SHOTS

@pytest.fixture(scope='session', autouse=True)
def own_folders(tmp_path_factory):
    "Jupyter, IPython and matplotlib leave nothing in the home folder, and find no settings there"
    d = tmp_path_factory.mktemp('home')
    with pytest.MonkeyPatch.context() as m:
        for k in ('JUPYTER_CONFIG_DIR','JUPYTER_DATA_DIR','JUPYTER_RUNTIME_DIR','IPYTHONDIR','MPLCONFIGDIR'): m.setenv(k, str(d/k.lower()))
        yield
