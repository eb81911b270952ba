"""A headless Chromium that is driven over a pipe, by the protocol that browsers have for their developer tools

All that it takes is Debian's Chromium: no driver that has to match its version, no port, no package. Each command has a time limit, and
the browser and its profile are gone when the `with` block is over, whatever happened.
"""
import base64, fcntl, json, os, select, shutil, subprocess, sys, tempfile
from contextlib import contextmanager
from pathlib import Path
from time import monotonic

LIMIT = 60  # seconds, for whatever is waited for: a busy machine may need many
FLAGS = '''--headless --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run --hide-scrollbars --force-color-profile=srgb
    --disable-background-networking --disable-component-update'''.split()

# The browser reads from descriptor 3 and writes to 4
START = 'import os, sys; os.dup2(int(sys.argv[1]), 3); os.dup2(int(sys.argv[2]), 4); os.execvp(sys.argv[3], sys.argv[3:])'

def find():
    "Path of the browser, or None"
    return shutil.which('chromium') or shutil.which('chromium-browser') or shutil.which('google-chrome')

class Browser:
    "Sends commands, and reads answers and events; both are JSON that ends in a zero byte"
    def __init__(self, pipe_in, pipe_out): self.pipe_in,self.pipe_out,self.n,self.rest,self.events = pipe_in,pipe_out,0,b'',[]

    def read(self, until):
        while b'\0' not in self.rest:
            if not select.select([self.pipe_out], [], [], max(until-monotonic(), 0))[0]: raise TimeoutError('the browser does not answer')
            if not (data := os.read(self.pipe_out, 1<<20)): raise EOFError('the browser has ended')
            self.rest += data
        msg,_,self.rest = self.rest.partition(b'\0')
        return json.loads(msg)

    def send(self, method, session=None, limit=LIMIT, **params):
        "The result of a command"
        self.n += 1
        msg = dict(id=self.n, method=method, params=params) | (dict(sessionId=session) if session else {})
        os.write(self.pipe_in, json.dumps(msg).encode()+b'\0')
        until = monotonic()+limit
        while (res := self.read(until)).get('id')!=self.n: self.events.append(res)
        if 'error' in res: raise RuntimeError(f"{method}: {res['error']}")
        return res['result']

    def page(self, url, **kwargs):
        "Open `url` in a new tab"
        return Page(self, url, **kwargs)

class Page:
    "A tab"
    def __init__(self, browser, url, width=1200, height=900, dark=False, offline=False):
        self.browser,self.url = browser,url
        self.target = browser.send('Target.createTarget', url='about:blank')['targetId']
        self.session = browser.send('Target.attachToTarget', targetId=self.target, flatten=True)['sessionId']
        for o in ('Page','Runtime','Log','Network'): self.send(f'{o}.enable')
        self.send('Emulation.setDeviceMetricsOverride', width=width, height=height, deviceScaleFactor=1, mobile=width<600)
        self.send('Emulation.setEmulatedMedia', features=[dict(name='prefers-color-scheme', value='dark' if dark else 'light')])
        if offline: self.send('Network.emulateNetworkConditions', offline=True, latency=0, downloadThroughput=0, uploadThroughput=0)
        if err := self.send('Page.navigate', url=url).get('errorText'): raise RuntimeError(f'{url}: {err}')
        self.wait_for("document.readyState=='complete'")

    def send(self, method, **params): return self.browser.send(method, self.session, **params)

    def js(self, code):
        "The value of a JavaScript expression; promises are waited for"
        res = self.send('Runtime.evaluate', expression=code, returnByValue=True, awaitPromise=True, timeout=LIMIT*1000)
        if 'exceptionDetails' in res: raise RuntimeError(f"{code}: {res['exceptionDetails'].get('exception', res['exceptionDetails'])}")
        return res['result'].get('value')

    def wait_for(self, code, limit=LIMIT):
        "Wait until the expression is true; returns its value"
        until = monotonic()+limit
        while not (res := self.js(f'(()=>{{ try {{ return {code} }} catch(e) {{ return null }} }})()')):
            if monotonic()>until: raise TimeoutError(f'{self.url}: after {limit} s there is no {code}; the page says: {self.text[:2000]}')
            self.js('new Promise(done => setTimeout(done, 100))')
        return res

    text = property(lambda self: self.js('document.body ? document.body.innerText : ""'))
    def all(self, selector, what='innerText'):
        "Attribute `what` of all elements that `selector` finds"
        return self.js(f'[...document.querySelectorAll({json.dumps(selector)})].map(o => o.{what})')
    def rows(self, selector='table'):
        "The cells of the first table that `selector` finds, as lists of text"
        return self.js(f'[...document.querySelector({json.dumps(selector)}).rows].map(r => [...r.cells].map(c => c.innerText.trim()))')

    def said(self):
        "What was requested, and what console and scripts complained of"
        mine = [o for o in self.browser.events if o.get('sessionId')==self.session]
        def of(kind): return [o['params'] for o in mine if o['method']==kind]
        urls = [o['request']['url'] for o in of('Network.requestWillBeSent')]
        errors = [o['entry']['text'] for o in of('Log.entryAdded') if o['entry']['level']=='error']
        errors += [o['exceptionDetails'].get('exception', {}).get('description', o['exceptionDetails']['text']) for o in of('Runtime.exceptionThrown')]
        return urls,errors + [str(o['args']) for o in of('Runtime.consoleAPICalled') if o['type'] in ('error','assert')]

    def reading(self):
        "What a screen reader is told: pairs of role and name, in order"
        nodes = self.send('Accessibility.getFullAXTree')['nodes']
        return [(o['role']['value'], o.get('name', {}).get('value', '')) for o in nodes if not o.get('ignored')]

    def shot(self, path, full=True, settle=.1):
        "Write a picture of the page, or of what is in the window, after as many seconds as it draws"
        self.js(f'new Promise(done => setTimeout(done, {settle*1000}))')
        data = self.send('Page.captureScreenshot', format='png', captureBeyondViewport=full,
            **(dict(clip=dict(x=0, y=0, scale=1, **self._size())) if full else {}))
        Path(path).write_bytes(base64.b64decode(data['data']))
    def _size(self):
        size = self.send('Page.getLayoutMetrics')['cssContentSize']
        return dict(width=size['width'], height=min(size['height'], 12_000))
    def pdf(self): return base64.b64decode(self.send('Page.printToPDF')['data'])
    def close(self): self.browser.send('Target.closeTarget', targetId=self.target)

@contextmanager
def browser(path=None):
    "A browser with a fresh profile, in a `with` block"
    profile,(r1,w1),(r2,w2) = tempfile.mkdtemp(prefix='chromium-'),os.pipe(),os.pipe()
    fds = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 10) for fd in (r1, w2)]
    cmd = [sys.executable, '-Ic', START, *map(str, fds), path or find(), *FLAGS, '--remote-debugging-pipe', f'--user-data-dir={profile}', 'about:blank']
    env = os.environ | dict(HOME=profile, XDG_CONFIG_HOME=profile, XDG_CACHE_HOME=profile, TZ='UTC')
    log = open(os.path.join(profile, 'stderr.txt'), 'wb')
    p = subprocess.Popen(cmd, pass_fds=fds, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=env)
    for fd in (r1, w2, *fds): os.close(fd)
    try:
        res = Browser(w1, r2)
        try: res.version = res.send('Browser.getVersion')['product']
        except (EOFError,TimeoutError,BrokenPipeError) as e:
            raise RuntimeError(f"{path or find()} did not start: {Path(log.name).read_text(errors='replace')[-2000:]}") from e
        yield res
    finally:
        p.terminate()  # its helpers end when it does
        try: p.wait(5)
        except subprocess.TimeoutExpired:
            p.kill()
            p.wait()
        log.close()
        for fd in (w1, r2): os.close(fd)
        shutil.rmtree(profile, ignore_errors=True)
