"""Jobs that each run in a process of their own, a fork of this one: what this process has imported, none of them imports again

torch takes a second or two to import, which is most of the time of a small test or notebook. What one job patches, seeds or leaves open
doesn't reach the next. Not for a process that has threads."""
import atexit, gc, os, signal, sys, tempfile, time, traceback, weakref
from collections import namedtuple
from contextlib import suppress
from importlib import import_module

# How a job ended: what was given, its exit status (negative for a signal, None if it had no more time), its output, with that of processes it started
Ended = namedtuple('Ended', 'job rc out seconds')

def warm(
    *names # Modules to import in this process; those that aren't installed are left out
):
    "Import what the jobs would, and nothing that they are to try"
    for o in names:
        with suppress(ImportError): import_module(o)
    gc.collect()
    gc.freeze()  # else each fork would look through all of it, again and again

class _Fork:
    "One job, in a process and a session of its own"
    def __init__(self, f, job):
        sys.stdout.flush()
        sys.stderr.flush()
        self.job,self.out,self.start = job,tempfile.TemporaryFile(),time.monotonic()
        self.pid = os.fork()
        if not self.pid: self._run(f)

    def _run(self, f):
        "In the child: call `f`, and end as a script does"
        rc = 1
        try:
            os.setsid()  # so that what it starts can be ended with it
            for o in list(weakref.finalize._registry): o.atexit = False  # temporary folders of the parent stay
            with open(os.devnull) as null: os.dup2(null.fileno(), 0)
            for fd in (1, 2): os.dup2(self.out.fileno(), fd)
            rc = int(f(self.job) or 0)
        except BaseException: traceback.print_exc()
        finally:
            with suppress(BaseException): atexit._run_exitfuncs()
            with suppress(BaseException): sys.stdout.flush(), sys.stderr.flush()
            os._exit(rc)

    def ended(self, timeout):
        "How it ended, or None while it runs"
        pid,status = os.waitpid(self.pid, os.WNOHANG)
        late = not pid and time.monotonic()-self.start>timeout
        if not pid and not late: return None
        self.kill()
        if late: os.waitpid(self.pid, 0)
        self.out.seek(0)
        text = self.out.read().decode(errors='replace')
        self.out.close()
        return Ended(self.job, None if late else os.waitstatus_to_exitcode(status), text, time.monotonic()-self.start)

    def kill(self):
        "End it, and what it started and left behind"
        with suppress(ProcessLookupError, PermissionError): os.killpg(self.pid, signal.SIGKILL)

def run_all(
    f,                          # Called as `f(job)` in the fork; what it returns is the exit status, None for 0
    jobs,                       # What to call it with
    n_procs:int=os.cpu_count(), # How many run at a time
    timeout:float=600           # Seconds that each has
):
    "Yield an `Ended` for each of `jobs`, in the order in which they end"
    jobs,running = list(jobs),[]
    try:
        while jobs or running:
            while jobs and len(running)<n_procs: running.append(_Fork(f, jobs.pop(0)))
            time.sleep(.01)
            for o in list(running):
                if (res := o.ended(timeout)) is None: continue
                running.remove(o)
                yield res
    finally:
        for o in running: o.kill()
