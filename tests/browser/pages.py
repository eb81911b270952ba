"What several pages need: the browser, where pictures of them go, their tables, and what they did that isn't to be seen"
import shutil
from pathlib import Path

SHOTS = Path(__file__).parents[2]/'_proc'/'browser'  # to be looked at by a person

def find():
    "Path of the browser, or None"
    return shutil.which('chromium') or shutil.which('chromium-browser') or shutil.which('google-chrome')

def tables(at):
    "For each table of a page, or of a part of it, the rows of text"
    return at.locator('table').evaluate_all('os => os.map(t => [...t.rows].map(r => [...r.cells].map(c => c.innerText.trim())))')

def said(page):
    "The addresses that were asked for, and all that scripts wrote to the console or failed with"
    return [o.url for o in page.requests()],[f'{o.type}: {o.text}' for o in page.console_messages()]+[str(o) for o in page.page_errors()]
