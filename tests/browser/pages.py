"Helpers for tests of pages: the browser, a tab, the folder for pictures, tables, and requests and messages of a page"
import shutil
from contextlib import contextmanager
from pathlib import Path

SHOTS = Path(__file__).parents[2]/'_proc'/'browser'  # pictures, for a person
LIMIT = 300  # seconds; only a browser or server that hangs takes so long, even on a busy machine

def find():
    "Path of the browser, or None"
    return shutil.which('chromium') or shutil.which('chromium-browser') or shutil.which('google-chrome')

@contextmanager
def tab(browser, **kwargs):
    "Open a page that is closed at the end of the `with` block"
    with browser.new_page(**kwargs) as page:
        page.set_default_timeout(1000*LIMIT)
        yield page

def tables(at):
    "Return the rows of text of each table of a page, or of a part of it"
    return at.locator('table').evaluate_all('os => os.map(t => [...t.rows].map(r => [...r.cells].map(c => c.innerText.trim())))')

def said(page):
    "Return the addresses that the page requested, and its console messages and errors"
    return [o.url for o in page.requests()],[f'{o.type}: {o.text}' for o in page.console_messages()]+[str(o) for o in page.page_errors()]
