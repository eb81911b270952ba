"""Run two versions of the package, each in a separate process: this checkout, and a commit in a git worktree

Both run the benchmarks of this checkout: `Version.ask` calls a function of a benchmark in the process. Modules that have another name in a version are found by
their contents.
"""
import json, os, subprocess, sys, tempfile
from contextlib import ExitStack, contextmanager
from importlib import import_module
from importlib.machinery import ModuleSpec
from pathlib import Path
from pkgutil import walk_packages
from types import ModuleType

ROOT,PKG = Path(__file__).parents[1],'learnloop'
# The package comes first from its own root, never from where it is installed for development; then this checkout, which has one, too
BOOT = f"""
import sys
root,here = sys.argv[1:3]
sys.meta_path[:] = [o for o in sys.meta_path if not getattr(o, '__module__', '').startswith('__editable__')]
sys.path[:0] = [root]
import {PKG}
sys.path[:0] = [here]
import benchmarks.versions as versions
sys.meta_path.append(versions.FindMoved())
versions.check_home(root)
"""

def git(*args): return subprocess.run(['git', '-C', ROOT, *args], check=True, capture_output=True, text=True).stdout.strip()

@contextmanager
def checkout(commit):
    "A git worktree of `commit` in a temporary folder, inside a `with` block"
    with tempfile.TemporaryDirectory() as d:
        tree = str(Path(d).resolve()/'tree')
        git('worktree', 'add', '--detach', tree, commit)
        try: yield Path(tree)
        finally: git('worktree', 'remove', '--force', tree)

# ---- in the process of a version

class Moved(ModuleType):
    "A module that has another name in this version: attributes are looked up in all modules"
    def __getattr__(self, k):
        if k[:2]=='__': raise AttributeError(k)
        for m in all_modules():
            if k in vars(m): return getattr(m, k)
        raise AttributeError(f'{k} of {self.__name__} is nowhere in {PKG}')

def all_modules():
    "List the modules of the package"
    folders = import_module(PKG).__path__
    return [import_module(o.name) for o in walk_packages(folders, f'{PKG}.') if not o.name.rpartition('.')[2].startswith('_')]

class FindMoved:
    "An import hook for modules that were not found"
    def find_spec(self, name, path=None, target=None):
        if name.startswith(f'{PKG}.'): return ModuleSpec(name, self, is_package=name.count('.')==1)
    def create_module(self, spec): return Moved(spec.name)
    def exec_module(self, module): "Do nothing, since there is no code to run"

def check_home(root):
    "Raise an error unless the imported version is the one in `root`"
    files = [f for k,m in sys.modules.items() if k.split('.')[0]==PKG and (f := getattr(m, '__file__', None))]
    if bad := [f for f in files if Path(root).resolve() not in Path(f).resolve().parents]: sys.exit(f'{bad[0]} should be in {root}')

def serve(root):
    "Answer calls, one per line, until there are no more"
    answers = os.fdopen(os.dup(1), 'w')
    os.dup2(2, 1)  # printed text is not an answer
    for line in sys.stdin:
        module,name,kwargs = json.loads(line)
        print(json.dumps(getattr(import_module(module), name)(**kwargs)), file=answers, flush=True)
        check_home(root)

# ---- here

class Version:
    "A process with the package from `root`"
    def __init__(self, name, root):
        self.name,self.root,self.errors = name,root,tempfile.TemporaryFile('w+')  # an unread pipe would fill up
        env = os.environ | dict(PYTHONPATH='', OMP_NUM_THREADS='1')
        cmd = [sys.executable, '-c', f'{BOOT}versions.serve(root)', str(root), str(ROOT)]
        self.process = subprocess.Popen(cmd, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, text=True, cwd=root, env=env)
    def ask(self, f, **kwargs):
        "Call the function `f` of a benchmark in that process"
        module = sys.modules['__main__'].__spec__.name if f.__module__=='__main__' else f.__module__
        print(json.dumps([module, f.__name__, kwargs]), file=self.process.stdin, flush=True)
        if line := self.process.stdout.readline(): return json.loads(line)
        self.errors.seek(0)
        raise RuntimeError(f'{self.name} failed:\n{self.errors.read()[-3000:]}')
    def close(self):
        self.process.stdin.close()
        try: self.process.wait(10)
        except subprocess.TimeoutExpired: self.process.kill()
        self.errors.close()

@contextmanager
def versions(commit):
    "Provide `commit` and this checkout as `Version`s in a `with` block"
    with ExitStack() as todo:
        roots = {commit: todo.enter_context(checkout(commit)), 'now': ROOT}
        res = [Version(k, v) for k,v in roots.items()]
        for o in res: todo.callback(o.close)
        yield res
