"""Open notebooks, reports, TensorBoard and the built site in a headless Chromium, and check what is on the page: `python -m tools.browser`

Installs Debian's Chromium where there is none. Arguments go to pytest, such as `-k report`. Pictures are left in `_proc/browser`, to be looked at.
"""
import os, shutil, signal, subprocess, sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = ROOT/'tests'/'browser'
PACKAGES = 'chromium','fonts-liberation'
LIMIT = 900  # seconds for all tests
TEST_LIMIT = 200  # for each: Playwright has no limit for a script that doesn't return

def install():
    "Install Chromium, or say who can"
    sudo = [] if os.geteuid()==0 else ['sudo', '-n']
    cmd = f"apt-get install -y --no-install-recommends {' '.join(PACKAGES)}"
    if shutil.which('apt-get') is None or sudo and shutil.which('sudo') is None:
        sys.exit(f'browser: there is no Chromium here, and no way to install it; as root on Debian: {cmd}')
    env = [*sudo, 'env', 'DEBIAN_FRONTEND=noninteractive']
    for o in ('apt-get -q update', f'{cmd} -q'):
        print(f'browser: {o}', flush=True)
        try: res = subprocess.run([*env, *o.split()], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=LIMIT)
        except subprocess.TimeoutExpired: sys.exit(f'browser: {o} took more than {LIMIT} s')
        if res.returncode: sys.exit(f'browser: {o} failed, with exit status {res.returncode}\n{res.stdout[-2000:]}')

def main(args):
    sys.path.insert(0, str(PAGES))
    from pages import find
    if find() is None: install()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit('browser: ended by SIGTERM'))
    # in a session of its own, so that nothing which the tests start outlives them;
    # Chromium and the kernel have their own, and end when whoever started them does
    cmd = [sys.executable, '-m', 'pytest', '-q', '-o', f'faulthandler_timeout={TEST_LIMIT}', '-o', 'faulthandler_exit_on_timeout=true']
    p = subprocess.Popen([*cmd, *map(str, sorted(PAGES.glob('page_*.py'))), *args], cwd=ROOT, stdin=subprocess.DEVNULL, start_new_session=True)
    try: return p.wait(LIMIT)
    except subprocess.TimeoutExpired: return f'browser: the tests took more than {LIMIT} s'
    finally:
        for sig in (signal.SIGINT, signal.SIGKILL):
            try:
                os.killpg(p.pid, sig)
                p.wait(20)
            except (subprocess.TimeoutExpired,ProcessLookupError): continue

if __name__=='__main__': sys.exit(main(sys.argv[1:]))
