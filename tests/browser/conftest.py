"""A browser for all tests of this folder, which `make browser` runs, since they need Chromium

The files aren't called `test_…`, so `pytest` alone doesn't collect them.
"""
import pytest
from contextlib import ExitStack
from pages import find, tab
from pathlib import Path
from playwright.sync_api import sync_playwright

OWN = 'HOME','TMPDIR','XDG_CONFIG_HOME','XDG_CACHE_HOME','JUPYTER_CONFIG_DIR','JUPYTER_DATA_DIR','JUPYTER_RUNTIME_DIR','IPYTHONDIR','MPLCONFIGDIR'

@pytest.fixture(scope='session', autouse=True)
def own_folders(tmp_path_factory):
    "Give all processes empty folders in place of the home folder, so they find no settings and leave no files there"
    with pytest.MonkeyPatch.context() as m:
        for k in OWN: m.setenv(k, str(tmp_path_factory.mktemp(k.lower())))
        yield

@pytest.fixture(scope='session')
def browser(own_folders):
    if find() is None: pytest.fail('there is no Chromium: make browser installs it')
    with sync_playwright() as p, p.chromium.launch(executable_path=find()) as b: yield b

@pytest.fixture
def visit(browser):
    "Open an address, or a file without a network, in a new page that is closed after the test"
    with ExitStack() as stack:
        def _f(url, width=1200, height=900, **kwargs):
            is_file = isinstance(url, Path)
            page = stack.enter_context(tab(browser, viewport=dict(width=width, height=height), is_mobile=width<600, offline=is_file, **kwargs))
            page.goto(url.as_uri() if is_file else url)
            return page
        yield _f
