"Serve the site that `make docs` built, and open it in a browser: `python -m tools.serve [PORT]`; Ctrl-C ends it"
import sys, webbrowser
from contextlib import suppress
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

SITE = Path(__file__).parents[1]/'_docs'

def server(port=0):
    "A server of the site, for this machine only; port 0 takes any that is free"
    if not (SITE/'index.html').exists(): sys.exit(f'serve: {SITE} has no site: run `make docs` first')
    return ThreadingHTTPServer(('127.0.0.1', port), partial(SimpleHTTPRequestHandler, directory=SITE))

def main(args):
    with server(*map(int, args)) as s, suppress(KeyboardInterrupt):
        url = f'http://127.0.0.1:{s.server_port}/'
        print(f'The site is at {url}; Ctrl-C ends it', flush=True)
        webbrowser.open(url)
        s.serve_forever()

if __name__=='__main__': main(sys.argv[1:])
