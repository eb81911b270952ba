"""Simulate a disk: each operation on files may fail or be the last before a kill, and a power failure may leave any possible state

Operations of this process below a folder are recorded: a file or folder is created, written, synced, renamed, deleted or locked. They determine the possible
contents of the disk after a power failure, as in ALICE (Pillai et al., "All file systems are not created equal", OSDI 2014) and in SQLite's crash tests: bytes
are certain after a sync of their file, and names after a sync of their folder. Any part of the rest may be there or missing, in any order, and bytes may be cut
off or zero. A rename is one step. After a kill without a power failure, everything done so far is there.
"""
import builtins, errno, fcntl, hashlib, io, os
from contextlib import ExitStack
from itertools import product
from pathlib import Path
from threading import RLock
from unittest.mock import patch

# ---- recording, and failing

class Watch(ExitStack):
    "Record operations on files below the folder `root` in `log`, in a `with` block; number `fail_at` fails with `err`, and with `on` all later ones, too"
    def __init__(self, root, fail_at=None, err=errno.EIO, on=False):
        super().__init__()
        self.root,self.fail_at,self.err,self.on,self.log,self._lock = os.path.realpath(root),fail_at,err,on,[],RLock()

    def place(self, path, dir_fd=None):
        "Return `path` relative to the root, or None if it is elsewhere"
        if isinstance(path, int): path = os.readlink(f'/proc/self/fd/{path}')
        if dir_fd is not None: path = os.path.join(os.readlink(f'/proc/self/fd/{dir_fd}'), os.fspath(path))
        head,tail = os.path.split(os.path.abspath(os.fspath(path)))
        path = os.path.join(os.path.realpath(head), tail)
        return os.path.relpath(path, self.root) if path==self.root or path.startswith(self.root+os.sep) else None

    def do(self, f, op, partly=None):
        "Call `f()`, the operation `op`, unless it is due to fail"
        with self._lock:
            n = len(self.log)
            self.log.append(op)
            if self.fail_at is not None and (n==self.fail_at or self.on and n>self.fail_at):
                if partly: partly()
                self.log[-1] = ('failed', *op)
                raise OSError(self.err, os.strerror(self.err), op[1])
            try: return f()
            except BaseException:
                self.log[n] = ('failed', *op)
                raise

    def _two(self, nm, kind):
        f = getattr(os, nm)
        def _f(a, b, **kwargs):
            p,q = self.place(a, kwargs.get('src_dir_fd')),self.place(b, kwargs.get('dst_dir_fd'))
            return self.do(lambda: f(a, b, **kwargs), (kind, p, q)) if q else f(a, b, **kwargs)
        return _f

    def _one(self, nm, kind):
        f = getattr(os, nm)
        def _f(a, *args, **kwargs):
            p = self.place(a, kwargs.get('dir_fd'))
            return self.do(lambda: f(a, *args, **kwargs), (kind, p)) if p else f(a, *args, **kwargs)
        return _f

    def _os_open(self, real):
        def _f(path, flags, *args, **kwargs):
            p = self.place(path, kwargs.get('dir_fd'))
            creates = p and flags & os.O_CREAT and not os.path.lexists(os.path.join(self.root, p))
            return self.do(lambda: real(path, flags, *args, **kwargs), ('create', p)) if creates else real(path, flags, *args, **kwargs)
        return _f

    def _open(self, real):
        watch = self
        class Raw(io.FileIO):
            def write(self, b):
                b = bytes(b)
                at = os.fstat(self.fileno()).st_size if 'a' in self.mode else self.tell()
                return watch.do(lambda: io.FileIO.write(self, b), ('write', self.place, at, b), lambda: io.FileIO.write(self, b[:len(b)//2]))
        def _f(file, mode='r', *args, **kwargs):
            p = None if isinstance(file, int) or not set(mode) & set('wxa') else watch.place(file)
            if not p: return real(file, mode, *args, **kwargs)
            is_new = not os.path.lexists(file)
            raw = watch.do(lambda: Raw(file, mode.replace('b', '').replace('t', '')), ('create', p) if is_new else ('truncate', p) if 'w' in mode else ('open', p))
            raw.place = p
            return io.BufferedWriter(raw) if 'b' in mode else io.TextIOWrapper(io.BufferedWriter(raw), encoding=kwargs.get('encoding'), newline=kwargs.get('newline'))
        return _f

    def __enter__(self):
        for o,nm,f in ((builtins, 'open', self._open(open)), (io, 'open', self._open(open)), (os, 'open', self._os_open(os.open)), (os, 'rename', self._two('rename', 'move')),
            (os, 'replace', self._two('replace', 'move')), (os, 'link', self._two('link', 'link')), (os, 'mkdir', self._one('mkdir', 'mkdir')), (os, 'unlink', self._one('unlink', 'delete')),
            (os, 'remove', self._one('remove', 'delete')), (os, 'rmdir', self._one('rmdir', 'delete')), (os, 'fsync', self._one('fsync', 'sync')), (fcntl, 'flock', self._flock(fcntl.flock))):
            self.enter_context(patch.object(o, nm, f))
        return super().__enter__()

    def _flock(self, real):
        def _f(fd, how):
            p = self.place(fd) if how & fcntl.LOCK_EX else None
            return self.do(lambda: real(fd, how), ('lock', p)) if p else real(fd, how)
        return _f

# ---- after a power failure

class Disk:
    "The possible contents of a disk after the operations in `log`"
    def __init__(self, log):
        self.steps,names,self.n = [],{'.':0},1
        for i,(kind,p,*rest) in enumerate(log):
            if kind in ('create','mkdir'):
                names[p] = self.n
                self._name(i, names, p, self.n, kind=='mkdir')
                self.n += 1
            elif kind=='write': self.steps.append((i, 'bytes', names[p], *rest))
            elif kind=='truncate': self.steps.append((i, 'bytes', names[p], 0, None))
            elif kind=='delete': self._name(i, names, p, None)
            elif kind=='link':
                names[rest[0]] = names[p]
                self._name(i, names, rest[0], names[p])
            elif kind=='move':
                q,o = rest[0],names[p]
                for k in [k for k in names if k==q or k.startswith(q+'/')]: del names[k]
                for k in [k for k in names if k==p or k.startswith(p+'/')]: names[q+k[len(p):]] = names.pop(k)
                self._name(i, names, q, o, gone=p)
            elif kind=='sync': self.steps.append((i, 'sync', names[p]))
            if kind=='delete': names.pop(p, None)

    def _name(self, i, names, p, o, is_dir=None, gone=None):
        head,tail = os.path.split(p)
        there = names[head or '.']
        was = os.path.split(gone) if gone else None
        self.steps.append((i, 'name', there, tail, o, is_dir, was and (names[was[0] or '.'], was[1])))

    def upto(self, t):
        "Split the steps of the first `t` operations: those that are certainly on the disk, and those that may be"
        done = [s for s in self.steps if s[0]<t]
        synced = {}
        for s in done:
            if s[1]=='sync': synced[s[2]] = s[0]
        res = [],[]
        for s in done:
            if s[1]!='sync': res[s[0]>synced.get(s[2], -1)].append(s)
        return res

    def tree(self, steps):
        "Return path -> content after `steps`, None for folders; a step may be a pair of itself and other bytes"
        names,data,dirs = {},{},{0}
        for s in sorted(steps, key=lambda s: s[0]):
            if s[1]=='bytes':
                _,_,o,at,b = s
                if b is None: data[o] = b''
                else:
                    was = data.get(o, b'').ljust(at, b'\0')
                    data[o] = was[:at] + b + was[at+len(b):]
            else:
                _,_,there,nm,o,is_dir,was = s
                if was: names.pop(was, None)
                if o is None: names.pop((there, nm), None)
                else:
                    names[there,nm] = o
                    if is_dir: dirs.add(o)
                    elif is_dir is False: data.setdefault(o, b'')
        dirs |= {s[4] for s in self.steps if s[1]=='name' and s[5]}  # a folder that is known only by its later name
        res,todo = {},[(0, '')]
        while todo:
            here,at = todo.pop()
            for (there,nm),o in names.items():
                if there!=here: continue
                res[at+nm] = None if o in dirs else data.get(o, b'')
                if o in dirs: todo.append((o, f'{at}{nm}/'))
        return res

    def cuts(self, t, rand, n=12, few=4):
        "Yield possible contents when the power fails after `t` operations: all of them if at most `few` steps are open; else the extremes, each step missing or alone, beginnings, and `n` random ones"
        sure,open_ = self.upto(t)
        def _of(chosen): return self.tree(sure + [s for s in chosen if s is not None])
        k = len(open_)
        if k<=few: yield from map(_of, product(*([None, s, *_torn(s)] for s in open_)))
        else:
            for i in range(k):
                for v in (None, *_torn(open_[i])): yield _of([*open_[:i], v, *open_[i+1:]])
                yield _of([open_[i]])
                yield _of(open_[:i])
            yield _of(open_)
            for _ in range(n): yield _of([rand.choice([None, s, *_torn(s)]) for s in open_])

def _torn(s):
    "Return the ways in which the bytes of the step `s` may be partly written"
    if s[1]!='bytes' or not s[4]: return
    *head,b = s
    yield *head,b[:len(b)//2]
    yield *head,bytes(len(b))

def lay_out(tree, root):
    "Write the files of `tree` to the folder `root`"
    root = Path(root)
    for k in sorted(tree):
        if tree[k] is None: (root/k).mkdir()
        else: (root/k).write_bytes(tree[k])

def tree_hash(tree): return hashlib.blake2b(repr(sorted(tree.items(), key=lambda o: o[0])).encode()).hexdigest()
