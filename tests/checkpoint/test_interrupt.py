"After Ctrl-C, SIGTERM or SIGUSR1 anywhere, the run stops between two batches, and resumes to the same result"
import asyncio, multiprocessing, os, shutil, signal, subprocess, sys, threading, time, warnings
from contextlib import contextmanager, suppress
from functools import partial
from itertools import product
import pytest, torch
from torch.utils.data import DataLoader
from helpers import TRAIN, covering, mk_learner as mk_line, same
from learnloop import Callback, CheckpointCallback, Interrupted, Terminated, list_checkpoints, newest_checkpoint
from test_pause import EVENTS, FITS, SETUPS, At, Boom, Noisy, boom, check, go_on, mk_learner, noisy_collate, quiet, state, whole

@pytest.fixture(autouse=True)
def no_script(monkeypatch):
    "Make the process look like a notebook, in which Ctrl-C ends no script"
    monkeypatch.delattr(sys.modules['__main__'], '__file__', raising=False)

INT,TERM,USR1 = signal.SIGINT,signal.SIGTERM,signal.SIGUSR1
LEAVES = {INT:KeyboardInterrupt, TERM:Terminated}
WAIT = 100  # Seconds before a process that should have ended is killed, on a busy machine, too

@contextmanager
def handled(**new):
    "Handlers by the name of their signal, inside a `with` block, after which they must still be there"
    olds = {k:signal.signal(getattr(signal, k), h) for k,h in new.items()}
    try:
        yield
        assert all(signal.getsignal(getattr(signal, k)) is h for k,h in new.items())
    finally:
        for k,h in olds.items(): signal.signal(getattr(signal, k), h)

@pytest.fixture(autouse=True)
def handlers():
    with handled(SIGTERM=signal.SIG_DFL, SIGUSR1=signal.SIG_DFL, SIGINT=signal.default_int_handler): yield

def send(*signums): return lambda learn: [signal.raise_signal(o) for o in signums]

def interrupted(learn, fit, *cbs, error=KeyboardInterrupt, **kwargs):
    "Run a fit that `error` ends, and look whether the learner is as good as new"
    with pytest.raises(error): quiet(learn, FITS[fit], cbs=list(cbs), **kwargs)
    assert learn.open==[] and learn.keeper.signals is learn.batch is None
    return learn

def spread(names): return [(name, *[('ema','fit'), ('accum','one_cycle'), ('noisy','max_steps'), ('bf16','steps_per_epoch'), ('plain','fit')][i%5]) for i,name in enumerate(names)]

@pytest.mark.every(2)  # in training, validation, between them, in the middle of a batch, before the first and after the last
@pytest.mark.parametrize('name,setup,fit', spread(EVENTS))
def test_cases_63_and_65_a_fit_interrupted_at_any_event_resumes_exactly(name, setup, fit):
    signum = [INT, TERM][EVENTS.index(name)%2]
    learn = interrupted(SETUPS[setup](), fit, cb := At(name, 1, 2, 5, f=send(signum)), error=LEAVES[signum])
    while learn.paused:
        try: go_on(learn)
        except LEAVES[signum]: pass
    assert cb.seen>1 or name in ('after_fit','cleanup_fit')
    check(state(learn), whole(setup, fit))

@covering(signum=LEAVES, name=[e for e in EVENTS if e.split('_', 1)[1] in ('batch','pred','loss','backward','step','zero_grad')])
def test_a_fit_stops_after_the_batch_in_which_a_signal_arrives(name, signum, capsys):
    over = []
    cb = Callback(name='over', cleanup_batch=lambda cb: over.append(cb.learn.outcome['batch']))
    learn = interrupted(mk_line(), 'fit', At(name, 2, f=send(signum)), cb, error=LEAVES[signum])
    with (ref := mk_line()).no_logging(): ref.fit(None, max_steps=2)
    assert over==['done']*2 and learn.count.opt_steps==2 and same(learn.model, ref.model)
    assert capsys.readouterr().err.count('stopping after this batch')==1

class OneByOne(torch.optim.SGD):
    "Updates a parameter at a time; `hook(i)` is called after each"
    def step(self, closure=None):
        for i,p in enumerate(self.param_groups[0]['params']):
            p.data -= .1*p.grad
            self.hook(i)

def in_step(f, at=0, step=2):
    "A learner that calls `f(learn)` within its `step`-th optimizer step, when one of the two parameters is updated"
    learn = mk_line(opt_func=OneByOne)
    learn.create_opt().hook = lambda i: f(learn) if i==at and learn.count.opt_steps==step-1 else None
    return learn

@pytest.mark.parametrize('signum', LEAVES)
@pytest.mark.parametrize('at', [0, 1])
def test_case_64_weights_are_never_half_updated(at, signum, tmp_path):
    learn,ref = interrupted(in_step(send(signum), at), 'fit', CheckpointCallback(tmp_path), error=LEAVES[signum]),in_step(lambda learn: None)
    ref.fit(None, max_steps=2)
    assert same(learn.model, ref.model)
    c = newest_checkpoint(tmp_path)
    assert c.step==2 and LEAVES[signum].__name__ in c.manifest['error']

def test_a_second_ctrl_c_stops_within_the_batch_and_saves_a_torn_checkpoint(tmp_path):
    learn = interrupted(in_step(send(INT, INT)), 'fit', CheckpointCallback(tmp_path, every_steps=1))
    ref = in_step(lambda learn: None)
    ref.fit(None, max_steps=2)
    w,b = zip(learn.model.parameters(), ref.model.parameters(), strict=True)
    assert torch.equal(*w) and not torch.equal(*b) and learn.count.opt_steps==1
    assert [(o.step, o.consistent) for o in list_checkpoints(tmp_path)]==[(1, True), (1, False)] and newest_checkpoint(tmp_path).step==1
    with pytest.raises(RuntimeError, match='nothing to resume'): learn.resume()
    learn.opt.hook = lambda i: None
    learn.fit(1)

@pytest.mark.parametrize('name', ['before_fit', 'before_epoch', 'before_train', 'after_fetch', 'after_loss', 'after_train', 'before_validate', 'after_epoch', 'cleanup_fit'])
def test_case_63_a_second_ctrl_c_acts_at_once_in_any_event(name):
    after = []
    interrupted(mk_line(), 'fit', At(name, 1, f=lambda learn: [send(INT, INT)(learn), after.append(1)]))
    assert not after

@pytest.mark.parametrize('signums,leaves', [((TERM, TERM), Terminated), ((TERM, TERM, TERM), Terminated), ((INT, TERM), Terminated), ((TERM, INT), KeyboardInterrupt)])
def test_what_a_second_signal_does(signums, leaves, tmp_path):
    "Clusters send SIGTERM twice, to the process and to its group: that is no reason to tear the batch"
    learn = interrupted(in_step(send(*signums)), 'fit', CheckpointCallback(tmp_path, every_steps=9), error=leaves)
    assert learn.count.opt_steps==(2 if leaves is Terminated else 1)
    assert list_checkpoints(tmp_path)[-1].consistent==(leaves is Terminated)

@covering(2, signum=LEAVES, fit=FITS, item=[0, 5, 17], saves=[False, True])
def test_a_signal_in_a_fetch_acts_at_once_only_if_the_fetch_can_be_repeated(item, fit, signum, saves, tmp_path):
    global n_reads  # which a copy of the data, to try it, shares
    n_reads,after = 0,[]
    def at(i):
        global n_reads
        n_reads += 1
        if n_reads==item+1: after.append(signal.raise_signal(signum))
    learn = interrupted(mk_learner(Noisy(at=at)), fit, *[CheckpointCallback(tmp_path)]*saves, error=LEAVES[signum])
    assert len(after)==(not saves) and (learn.train_iter*4>item)==(not saves)
    go_on(learn)
    check(state(learn), whole('noisy', fit))

@covering(persistent=[False, True], signum=LEAVES)
def test_cases_63_and_65_a_signal_does_not_wait_for_a_hanging_worker(signum, persistent, tmp_path):
    "Only this process gets the signal: the checkpoint is written before the hanging worker is ended"
    def f(put):
        ds,alive = Hangs(9, lambda: os.kill(os.getppid(), signum)),[]
        Noisy.__init__(ds)
        learn = mk_learner(ds, num_workers=2, persistent_workers=persistent)
        saver = CheckpointCallback(tmp_path/'run')
        real = saver._write_now
        def write(*args):
            alive.append(len(multiprocessing.active_children()))
            real(*args)
        saver._write_now = write
        try: quiet(learn, FITS['fit'], cbs=[saver])
        except BaseException as e: put((type(e).__name__, alive, learn.paused is not None))
    code,res,err = in_process(f, tmp_path)
    assert (code, res)==(0, (LEAVES[signum].__name__, [2], True)), err
    assert newest_checkpoint(tmp_path/'run').consistent

@pytest.mark.parametrize('signum', LEAVES)
def test_cases_63_and_65_a_signal_waits_until_the_error_of_a_fetch_is_saved(signum, tmp_path):
    def at(i):
        if learn.count.opt_steps==2: raise Boom
    learn = mk_learner(Noisy(at=at))
    class Saver(CheckpointCallback):
        def after_exception(self):
            signal.raise_signal(signum)
            super().after_exception()
    interrupted(learn, 'fit', Saver(tmp_path), error=Boom)
    assert newest_checkpoint(tmp_path).step==2

@pytest.mark.parametrize('workers', [1, 2])
def test_case_63_an_iterator_with_workers_resumes_at_its_place(workers):
    "It is the user's, and can't be begun again"
    class Items(Noisy):
        def __getitem__(self, i): return torch.full((3,), float(i)),torch.tensor(i%2)
    seen = []
    class Once:
        def __init__(self, it): self.it,self.n = it,0
        def __iter__(self): return self
        def __next__(self):
            self.n += 1
            if self.n==3: signal.raise_signal(INT)
            return next(self.it)
    learn = mk_learner()
    learn.dls.train = Once(iter(DataLoader(Items(), 4, num_workers=workers)))
    look = Callback(name='look', before_batch=lambda cb: seen.extend(cb.learn.x[:,0].tolist()) if cb.learn.training else None)
    with pytest.raises(KeyboardInterrupt): quiet(learn, lambda learn, **kw: learn.fit(1, **kw), cbs=look)
    with learn.no_logging(): learn.resume()
    assert seen==[float(i) for i in range(len(Items()))]

@pytest.mark.parametrize('signum', [INT, TERM])
def test_a_signal_closes_each_open_phase_once(signum):
    opened,closed,seen,phases = [],[],[],('fit','epoch','train','fetch','batch')
    fs = {f'before_{o}':lambda cb,o=o: opened.append(o) for o in phases} | {f'cleanup_{o}':lambda cb,o=o: closed.append(o) for o in phases}
    learn = mk_line([Callback(name='watcher', **fs, after_exception=lambda cb: seen.append(cb.learn.exception))])
    with pytest.raises(LEAVES[signum]) as e: learn.fit(1, cbs=At('after_loss', 2, f=send(signum)))
    assert sorted(opened)==sorted(closed) and seen==[e.value] and e.value.__notes__ and [o.name for o in learn.cbs]==['train_eval', 'watcher']
    assert all(p.grad is None for p in learn.model.parameters())

@pytest.mark.parametrize('name', ['after_loss', 'before_fetch', 'after_validate', 'before_epoch'])
def test_the_message_of_ctrl_c_names_resume(name, capsys):
    learn = mk_learner()
    with pytest.raises(KeyboardInterrupt) as e: quiet(learn, FITS['fit'], cbs=At(name, 1, f=send(INT)))
    assert 'learnloop: learn.resume() continues the fit' in e.value.__notes__
    assert capsys.readouterr().err in ('', 'Ctrl-C: stopping after this batch; learn.resume() continues the fit; press it again to stop at once\n')
    go_on(learn)
    check(state(learn), whole('plain', 'fit'))

@pytest.mark.parametrize('run', ['validate', 'lr_find', 'find_batch_size', 'term', 'last'])
def test_the_message_of_ctrl_c_does_not_name_resume_where_nothing_can_resume(run, capsys):
    signum = TERM if run=='term' else INT
    learn = mk_line([At('cleanup_fit' if run=='last' else 'after_pred', 1, f=send(signum))])
    runs = dict(validate=learn.validate, lr_find=lambda: learn.lr_find(show_plot=False),
        find_batch_size=lambda: learn.find_batch_size(lambda bs: TRAIN, max_bs=4))
    with learn.no_logging(), pytest.raises(LEAVES[signum]) as e: runs.get(run, lambda: learn.fit(1))()
    assert 'resume' not in ''.join(getattr(e.value, '__notes__', ())) + capsys.readouterr().err
    assert learn.paused is None or run=='term'

# Evaluation, lr_find, sanity checks

@pytest.mark.parametrize('signum', LEAVES)
@pytest.mark.parametrize('run', ['validate', 'get_preds'])
def test_an_evaluation_ends_after_its_batch(run, signum):
    n = []
    learn = mk_learner(cbs=[Callback(name='counts', after_batch=lambda cb: n.append(1)), At('after_pred', 1, f=send(signum))])
    want = state(learn)
    with pytest.raises(LEAVES[signum]): getattr(learn, run)()
    assert len(n)==1 and learn.paused is None
    check(state(learn), want)

@pytest.mark.parametrize('name', ['before_fit', 'before_fetch', 'after_loss', 'after_train', 'cleanup_fit'])
def test_an_interrupted_lr_find_is_undone(name):
    learn = mk_learner()
    want = state(learn)
    learn.add_cb(At(name, 1, f=send(INT)))
    with learn.no_logging(), pytest.raises(KeyboardInterrupt): learn.lr_find(show_plot=False)
    learn.remove_cb(At)
    check(state(learn), want)
    with pytest.raises(RuntimeError, match='nothing to resume'): learn.resume()
    quiet(learn, FITS['fit'])

# Evaluations that a callback runs in a fit

OUTSIDE = 'between_batches','before_fetch','cleanup_fetch','before_epoch','before_train','after_train','cleanup_train','after_epoch','cleanup_epoch'
def _predict(learn, cb):
    with learn.added_cbs([cb]): learn.predict(torch.zeros(3))
RUNS = dict(validate=lambda learn, cb: learn.validate(cbs=cb), get_preds=lambda learn, cb: learn.get_preds(cbs=cb), predict=_predict)
PAIRS = list(product(RUNS, LEAVES))
EVALUATES = [(e, *o) for i,e in enumerate([*EVENTS, 'between_batches']) for o in (PAIRS if e=='between_batches' else PAIRS[i%6:i%6+1])]

def evaluating(run, signum, ended):
    "A function that evaluates its learner, and gets a signal meanwhile"
    def f(learn):
        cb = At('after_pred', 1, f=send(signum))
        cb.name = 'inner'
        RUNS[run](learn, cb)
        ended.append(learn.count.opt_steps)
    return f

@pytest.mark.every(3)
@pytest.mark.parametrize('name,run,signum', EVALUATES)
def test_a_signal_in_the_evaluation_of_a_callback_saves_the_fit_where_it_is(name, run, signum, tmp_path, capsys):
    "The callback completes, so nothing in it is repeated or skipped; the next place between batches is saved"
    (ended,learn),is_over = ([], mk_learner()),name in ('after_fit', 'cleanup_fit')
    interrupted(learn, 'fit', At(name, 1, f=evaluating(run, signum, ended)), CheckpointCallback(tmp_path, every_epochs=9), error=LEAVES[signum])
    assert len(ended)==(not name.endswith('_validate')) and bool(learn.paused)==(not is_over)
    if ended and not is_over: assert learn.count.opt_steps<=ended[0]+1  # no batch more than the one that is begun
    if name=='between_batches': assert learn.paused.place==(0, 'train', 0)
    err,c = capsys.readouterr().err,newest_checkpoint(tmp_path)
    assert c.step==learn.count.opt_steps
    if name in OUTSIDE: assert err=={INT:'Ctrl-C: stopping after this evaluation; learn.resume() continues the fit; press it again to stop at once\n',
        TERM:'SIGTERM: stopping after this evaluation\n'}[signum]
    other = mk_learner()
    quiet(other, FITS['fit'], cbs=At(name, f=boom), resume=shutil.copytree(tmp_path, tmp_path/'copy'), accept='callbacks')
    if learn.paused: go_on(learn)
    for o in (learn, other): check(dict(o.model.state_dict()), whole('plain')['model'])
    if not is_over: check(state(learn), whole('plain'))

@pytest.mark.parametrize('name', ['before_epoch', 'before_train', 'between_batches', 'after_train'])
@pytest.mark.parametrize('signum', [*LEAVES, USR1])
def test_predictions_without_a_phase_of_their_own_are_not_taken_for_the_validation(name, signum, tmp_path):
    def f(learn): learn.get_preds(cbs=Callback(after_pred=lambda cb: signal.raise_signal(signum) if not cb.learn.iter else None), inner=True)
    saver,learn = CheckpointCallback(tmp_path, every_epochs=9, keep=None),mk_learner()
    if signum==USR1: quiet(learn, FITS['fit'], cbs=[saver, At(name, 1, f=f)])
    else: interrupted(learn, 'fit', saver, At(name, 1, f=f), error=LEAVES[signum])
    first = list_checkpoints(tmp_path)[0].manifest
    assert (first['next'], first['batch'])==(('validate', 0) if name=='after_train' else ('train', int((name, signum)==('between_batches', USR1))))
    if learn.paused: go_on(learn)
    check(state(learn), whole('plain'))

# Handlers

@pytest.mark.parametrize('how', ['fit', 'error', 'cancel', 'evaluate', 'ctrl_c', 'nested'])
def test_handlers_are_restored(how):
    def h(signum, frame): pass
    seen = []
    def look(learn):
        seen.append([signal.getsignal(o) for o in (INT, TERM)])
        if how=='error': raise Boom
        if how=='cancel': raise learn.phases['fit'].cancel
        if how=='ctrl_c': signal.raise_signal(INT)
        if how=='nested': learn.validate()
    learn = mk_line([At('before_batch', 1, f=look)])
    with handled(SIGINT=h, SIGTERM=h):
        try: learn.validate() if how=='evaluate' else learn.fit(1)
        except (Boom, KeyboardInterrupt): pass
    assert seen and all(type(o).__name__=='Signals' for o in seen[0])

def test_handlers_from_before_are_called():
    heard = []
    def h(signum, frame): heard.append(signum)
    for signum,error in LEAVES.items():
        with handled(SIGINT=h, SIGTERM=h): interrupted(mk_line(), 'fit', At('after_loss', 1, f=send(signum)), error=error)
    assert heard==[INT, TERM]

@pytest.mark.parametrize('signum', LEAVES)
@pytest.mark.parametrize('k', range(1, 5))
def test_a_signal_while_handlers_change_is_not_lost(k, signum, monkeypatch):
    "No handler of the fit is left, and the signal isn't lost"
    real,n = signal.signal,[0]
    def set_handler(*args):
        n[0] += 1
        res = real(*args)
        if n[0]==k: signal.raise_signal(signum)
        return res
    def h(signum, frame): raise LEAVES[signum]
    learn = mk_line()
    with handled(SIGINT=h, SIGTERM=h):
        monkeypatch.setattr(signal, 'signal', set_handler)
        with pytest.raises(LEAVES[signum]): learn.fit(1)
        monkeypatch.undo()
    assert n[0]>=k and learn.keeper.signals is None and learn.open==[]
    learn.fit(1)

def test_case_19_a_fit_in_another_thread_has_no_handlers_and_warns_of_it(tmp_path):
    seen,said = [],[]
    def run():
        look = At('before_batch', 1, f=lambda learn: seen.append([signal.getsignal(o) for o in (INT, TERM)]))
        with warnings.catch_warnings(record=True, action='always') as ws: mk_line([look]).fit(1, cbs=CheckpointCallback(tmp_path))
        said.extend(str(o.message) for o in ws)
    t = threading.Thread(target=run)
    t.start()
    t.join(WAIT)
    assert said==['no signal reaches a fit outside the main thread: Ctrl-C and SIGTERM will not save a checkpoint'] and list_checkpoints(tmp_path)
    assert seen==[[signal.default_int_handler, signal.SIG_DFL]]

async def _direct(f): f()
async def _child(f): await asyncio.create_task(_direct(f))
async def _gathered(f): await asyncio.gather(_direct(f), asyncio.sleep(0))
async def _group(f):
    async with asyncio.TaskGroup() as g: g.create_task(_direct(f))

def by_run(co): asyncio.run(co)
def by_loop(co):
    loop = asyncio.new_event_loop()
    try:
        loop.run_until_complete(co)
        loop.run_until_complete(asyncio.sleep(0))  # where the loop is whole
    finally: loop.close()

@covering(2, how=[_direct, _child, _gathered, _group], by=[by_run, by_loop], name=['after_loss', 'after_batch', 'after_epoch'])
def test_ctrl_c_in_a_task_ends_only_the_task_and_keeps_the_pause(how, by, name):
    learn = mk_line([At(name, 2, f=send(INT))])
    if how is _group and by is by_loop:  # a group passes over tasks that were cancelled
        try: by(how(lambda: learn.fit(2)))
        except KeyboardInterrupt: pytest.fail('it has ended the event loop, and would end pytest')
    else:
        with pytest.raises(KeyboardInterrupt): by(how(lambda: learn.fit(2)))
    (ref := mk_line()).fit(2)
    assert learn.paused or name=='after_epoch'
    if learn.paused: learn.resume()
    assert same(learn.model, ref.model)

def test_a_task_can_catch_ctrl_c_and_the_event_loop_continues():
    (learn,other),seen = (mk_line([At('after_loss', 2, f=send(INT))]) for _ in 'ab'),[]
    async def train():
        try: learn.fit(2)
        except KeyboardInterrupt as e: seen.append(type(e))
        learn.resume()
        return 'trained'
    async def main():
        res = await asyncio.create_task(train())
        t = asyncio.create_task(_direct(lambda: other.fit(2)))
        await asyncio.wait([t])
        return res,t.cancelled()
    loop = asyncio.new_event_loop()
    try: assert loop.run_until_complete(main())==('trained', True)
    finally: loop.close()
    assert seen==[Interrupted] and other.paused

def test_a_closed_stderr_does_not_stop_the_handling_of_a_signal(monkeypatch):
    "Ctrl-C in `python train.py 2>&1 | tee log` ends tee, too"
    r,w = os.pipe()
    os.close(r)
    with open(w, 'w') as f:
        monkeypatch.setattr(sys, 'stderr', f)
        learn = interrupted(in_step(send(INT)), 'fit')
        monkeypatch.undo()
        try: f.close()
        except BrokenPipeError: pass
    assert learn.count.opt_steps==2

def test_an_error_after_a_signal_has_a_note():
    learn = mk_line([At('after_loss', 1, f=send(TERM)), At('after_batch', 1, f=lambda learn: 1/0)])
    with pytest.raises(ZeroDivisionError) as e: learn.fit(1)
    assert any('Terminated' in o for o in e.value.__notes__)
    learn.remove_cbs([At])
    learn.fit(1)

# SIGUSR1

@pytest.mark.parametrize('how', ['own', 'temporary', 'resume'])
def test_sigusr1_saves_and_training_continues(how, tmp_path):
    saver = CheckpointCallback(tmp_path, every_steps=100)
    learn = mk_learner(Noisy(), cbs=[saver]*(how=='own'))
    kw = dict(resume=tmp_path) if how=='resume' else {}
    at,saved = At('after_loss', 2, f=send(USR1)),[]
    look = At('before_fetch', 4, f=lambda learn: saved.extend(o.step for o in list_checkpoints(tmp_path)))
    quiet(learn, FITS['fit'], cbs=[at, look]+[saver]*(how=='temporary'), **kw)
    assert saved==[2]
    check(state(learn)['model'], whole('noisy')['model'])

def test_sigusr1_keeps_its_handler_where_nothing_is_saved():
    heard = []
    def h(signum, frame): heard.append(signum)
    with handled(SIGUSR1=h): mk_line([At('before_batch', 1, f=lambda learn: heard.append(signal.getsignal(USR1) is h))]).fit(1)
    assert heard==[True]

# Processes

def child(f, q, err):
    os.setsid()
    warnings.simplefilter('ignore')
    fd = os.open(err, os.O_WRONLY|os.O_CREAT)
    os.dup2(fd, 2)
    os.dup2(fd, 1)
    sys.stderr = os.fdopen(2, 'w', closefd=False)
    sys.stdout = os.fdopen(1, 'w', closefd=False)
    for o,h in ((INT, signal.default_int_handler), (TERM, signal.SIG_DFL), (USR1, signal.SIG_DFL)): signal.signal(o, h)
    f(q.put)

def until_gone(group, seconds):
    "Wait until the system has removed the last process of `group`: one that has ended is there until another process asks for its status"
    until = time.monotonic()+seconds
    with suppress(ProcessLookupError):
        while time.monotonic()<until:
            os.killpg(group, 0)
            threading.Event().wait(.01)

def in_process(f, tmp_path):
    "Run `f` in a process group of its own, which must end; return its exit code, the value that it passed to its argument, and its output"
    ctx = multiprocessing.get_context('fork')
    q,err = ctx.SimpleQueue(),tmp_path/'stderr'
    p = ctx.Process(target=child, args=(f, q, err))
    p.start()
    p.join(WAIT)
    ended = p.exitcode is not None
    if ended: until_gone(p.pid, 20)
    try: os.killpg(p.pid, signal.SIGKILL)
    except ProcessLookupError: left = False
    else: left = True
    assert ended and not left, ('it hangs' if not ended else 'processes are left', err.read_text())
    return p.exitcode,None if q.empty() else q.get(),err.read_text()

@pytest.mark.parametrize('saves', [False, True])
def test_case_65_sigterm_is_exit_code_143(saves, tmp_path):
    def f(put): quiet(mk_learner(), FITS['fit'], cbs=[At('before_step', 3, f=send(TERM))] + [CheckpointCallback(tmp_path/'run', every_steps=50)]*saves)
    code,_,err = in_process(f, tmp_path)
    assert code==143 and 'Traceback' not in err
    if saves: assert newest_checkpoint(tmp_path/'run').step==3

class Hangs(Noisy):
    "Item `at` tells its process that it is made, and never is"
    def __init__(self, at, go): self.hang,self.go = at,go
    def __getitem__(self, i):
        if i==self.hang and torch.utils.data.get_worker_info():
            self.go()
            threading.Event().wait()
        return Noisy.__getitem__(self, i)

@pytest.mark.parametrize('signum,where,persistent,resumes', [(INT, 'batch', True, True), (INT, 'hanging', False, True), (TERM, 'batch', False, True),
    (TERM, 'hanging', True, True), (INT, 'batch', True, False)])
def test_a_signal_to_the_whole_group_with_workers(signum, where, persistent, resumes, tmp_path):
    "As of Ctrl-C in a terminal or in Jupyter, and of a cluster: the workers get it, too. A new fit starts workers of its own"
    def f(put):
        ds = Noisy()
        if where=='hanging':
            ds = Hangs(9, lambda: os.killpg(0, signum))
            Noisy.__init__(ds)
        learn = mk_learner(ds, num_workers=2, persistent_workers=persistent)
        at = [At('before_step', 2, f=lambda learn: os.killpg(0, signum))]*(where=='batch')
        try: quiet(learn, FITS['fit'], cbs=[*at, CheckpointCallback(tmp_path/'run')])
        except BaseException as e: first = type(e).__name__
        ds.hang = None
        if resumes and learn.paused: learn.resume()
        with learn.no_logging(): learn.fit(1)
        put((first, learn.count.epochs))
    code,res,err = in_process(f, tmp_path)
    assert (code, res)==(0, (LEAVES[signum].__name__, 3 if resumes else 1)) and 'learnloop' not in err, err  # torch's own threads may complain
    assert [o.consistent for o in list_checkpoints(tmp_path/'run')]

@pytest.mark.parametrize('signum', [TERM, signal.SIGKILL])
def test_case_31_a_killed_worker_is_an_error_after_the_batch(signum, tmp_path):
    def f(put):
        def kill(learn):
            w = multiprocessing.active_children()[0]
            subprocess.run(['kill', f'-{int(signum)}', str(w.pid)], check=True)  # not from here: torch's workers take a SIGTERM of their parent as a farewell
            os.waitid(os.P_PID, w.pid, os.WEXITED|os.WNOWAIT)
        learn,err = mk_learner(Noisy(), num_workers=2),None
        try: quiet(learn, FITS['fit'], cbs=[At('before_step', 2, f=kill), CheckpointCallback(tmp_path/'run', every_steps=50)])
        except RuntimeError as e: err = str(e)
        put((err, learn.count.opt_steps, learn.paused is not None))
    code,(err,*res),out = in_process(f, tmp_path)
    assert code==0 and res==[2, True] and 'killed by signal' in err, (err, res, out)
    assert newest_checkpoint(tmp_path/'run').step==2

def test_processes_forked_during_a_fit_do_not_have_its_handlers(tmp_path):
    "A pool that is ended by SIGTERM would wait for them for ever"
    codes = []
    def fork(learn):
        for signum in (TERM, INT):
            ctx = multiprocessing.get_context('fork')
            there = ctx.SimpleQueue()
            def wait(there=there):
                os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
                there.put(1)
                threading.Event().wait()
            p = ctx.Process(target=wait)
            p.start()
            there.get()
            os.kill(p.pid, signum)
            p.join(WAIT)
            codes.append(p.exitcode)
            if p.exitcode is None: p.kill()
    mk_line([At('after_loss', 1, f=fork)]).fit(1)
    assert codes==[-TERM, 1]

def test_a_signal_waits_for_a_collate_function_that_draws():
    def mk(at=None):
        learn = mk_learner()
        learn.dls.train = DataLoader(learn.dls.train.dataset, 4, shuffle=True, collate_fn=noisy_collate(at, partial(signal.raise_signal, INT)))
        return learn
    learn = interrupted(mk(3), 'fit')
    assert learn.count.batches==3
    go_on(learn)
    with (again := mk()).no_logging(): again.fit(len(learn.recorder.values))
    check(state(learn), state(again))
