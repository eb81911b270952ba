"""A browser for all tests of this folder. `make browser` runs them: a browser takes some preparing

The files aren't called `test_…`, so that `pytest` alone passes them by.
"""
import pytest
from contextlib import ExitStack
from pages import find
from pathlib import Path
from playwright.sync_api import sync_playwright

LIMIT = 60_000  # milliseconds, for whatever is waited for: a busy machine may need many
OWN = 'HOME','TMPDIR','XDG_CONFIG_HOME','XDG_CACHE_HOME','JUPYTER_CONFIG_DIR','JUPYTER_DATA_DIR','JUPYTER_RUNTIME_DIR','IPYTHONDIR','MPLCONFIGDIR'

@pytest.fixture(scope='session', autouse=True)
def own_folders(tmp_path_factory):
    "Whatever is started leaves nothing in the home folder, and finds no settings there"
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
            page = stack.enter_context(browser.new_page(viewport=dict(width=width, height=height), is_mobile=width<600, offline=is_file, **kwargs))
            page.set_default_timeout(LIMIT)
            page.goto(url.as_uri() if is_file else url)
            return page
        yield _f
