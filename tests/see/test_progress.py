"What a fit shows in terminals, notebooks and pipes; it restores screen and logger, and a batch costs no synchronization"
import io, json, re, sys, threading, warnings
from itertools import count
from types import SimpleNamespace
import pexpect, pytest, torch
from helpers import TRAIN, as_script, covering, in_terminal, mk_learner
from learnloop import (Checks, Callback, FetchPredsCallback, ProgressCallback, Recorder, ShowGraph, event, on, Pass)
from learnloop.see import progress
from learnloop.loop.learner import print_row
from learnloop.measure.series import Scalars

TIMEOUT = 60  # of a process, most of it torch's import on a busy machine

class Clock:
    "Advances by `step` at each look"
    def __init__(self, step): self.now,self.step = 0.,step
    def __call__(self):
        self.now += self.step
        return self.now

class Screen(progress._Lines):
    "A display that remembers"
    has_bar = True
    def __init__(self): self.lines,self.drawn,self.above,self.n_closed = [],[],[],0
    def show(self, s, is_title): self.lines.append(s)
    def bar(self, bars):
        self.bars = bars
        self.drawn.append(bars[-1])
        self.above.append(bars[:-1])
    def close(self): self.n_closed += 1

@pytest.fixture
def clock(monkeypatch):
    monkeypatch.setattr(progress, 'monotonic', res := Clock(1.))
    return res

@pytest.fixture
def screens(clock, monkeypatch):
    "The displays that are made, with a redrawing due at each batch"
    res = []
    def mk(plain): return res.append(Screen()) or res[-1]
    monkeypatch.setattr(progress, '_mk_display', mk)
    return res

def learner(cbs=None, recorder=True, **kwargs):
    return mk_learner([*[Recorder(add_time=False)]*recorder, ProgressCallback(), *(cbs or [])], **kwargs)

class Unsized:
    def __init__(self, bs): self.bs = bs
    def __iter__(self): return iter(self.bs)
class Sized(Unsized):
    "Says that it has `n` batches"
    def __init__(self, bs, n): self.bs,self.n = bs,n
    def __len__(self): return self.n

@pytest.mark.parametrize('n,start', [(2, 0), (11, 0), (3, 1)])
def test_bars_count_epochs_from_1_and_everything_else_from_0(n, start, screens, tmp_path, capsys):
    from learnloop import CheckpointCallback, list_checkpoints
    learn = learner([CheckpointCallback(tmp_path, keep=None)])
    learn.fit(n, start_epoch=start)
    want = [*range(start, n)]
    assert list(dict.fromkeys(int(re.match(r'epoch +(\d+) of', o[0])[1]) for o, in screens[0].above))==[o+1 for o in want]
    assert len({len(o[0]) for o, in screens[0].above})==1, 'its bar does not jump'
    assert [int(o.split()[0]) for o in screens[0].lines[1:]]==want
    assert [o.epoch for o in list_checkpoints(tmp_path)]==want and [int(o[1]) for o in list_checkpoints(tmp_path).rows()]==want
    capsys.readouterr()
    learner([CheckpointCallback(tmp_path)]).fit(n+1, start_epoch=start, resume=tmp_path)
    assert f'epoch {n}\n' in capsys.readouterr().out, 'the epoch at which it resumes'

@pytest.mark.parametrize('dl', [Unsized(TRAIN), Sized(TRAIN, 2), Sized(TRAIN, 9)])
def test_unknown_and_wrong_length(dl, screens):
    n = getattr(dl, 'n', None)
    learn = learner(dls=(dl,))
    if n is None: learn.fit(1)
    else:
        with pytest.warns(UserWarning, match=f'length of {n} but returned 3'): learn.fit(1, cbs=Checks())
    assert [o[1:3] for o in screens[0].drawn]==[(i, n if n and i<=n else None) for i in range(4)]
    assert ('3 batches' in screens[0].drawn[-1][3])==(n!=9)

def test_no_number_of_epochs(screens):
    learner().fit(max_steps=4)
    assert list(dict.fromkeys(o[0].strip() for o, in screens[0].above))==['epoch 1', 'epoch 2', 'epoch 2 of 2']
    assert screens[0].above[-1][0][1:3]==(1., 1)

def test_evaluation_within_a_fit_leaves_its_bar(screens):
    def look(cb):
        if cb.learn.training and cb.learn.iter==1: cb.learn.validate()
    learn = learner([FetchPredsCallback(), Callback(after_batch=look)])
    learn.fit(1)
    assert len(screens)==1 and len(screens[0].lines)==2 and screens[0].n_closed==1
    labels = [o[0].split()[-1] for o in screens[0].drawn]
    assert labels==(['train']*2 + ['validate']*3 + ['predict']*3)*2

def syncs(monkeypatch, learn):
    "How often a fit waits for the device"
    n = count()
    def counted(f): return lambda self: [next(n), f(self)][1]
    with monkeypatch.context() as m:
        for k in ('item', 'tolist', '__float__'): m.setattr(torch.Tensor, k, counted(getattr(torch.Tensor, k)))
        learn.fit(2)
    return next(n)

def test_no_sync_but_for_a_drawing(screens, clock, monkeypatch):
    learn = learner(dls=(TRAIN*20,))
    with learn.no_bar(): base = syncs(monkeypatch, learn)
    clock.step = 0.  # nothing is ever due
    assert syncs(monkeypatch, learn)==base and screens[-1].drawn==[]
    clock.step = 1.
    assert syncs(monkeypatch, learn)>base and len(screens[-1].drawn)==122

class Handle:
    def __init__(self): self.shown = []
    def update(self, data, raw): self.shown.append(data)

@pytest.fixture
def notebook(monkeypatch):
    "Have a live notebook as the place, with all changes shown at once; a list of states for each output"
    outs = []
    def display(data):
        outs.append(Handle())
        outs[-1].update(data, raw=True)
        return outs[-1]
    monkeypatch.setattr(progress, '_display', display)
    monkeypatch.setattr(progress, 'perf_counter', Clock(1.))
    monkeypatch.setattr(progress, '_waits', 0)
    def mk(plain): return progress._InnerNotebook(True, progress._open[0]) if progress._open else progress._Notebook()
    monkeypatch.setattr(progress, '_mk_display', mk)
    return outs

def states(notebook, key='text/html'):
    "Those of the one output"
    out, = notebook
    return [o[key] for o in out.shown]

def test_notebook_evaluation_vanishes_and_interrupt_leaves_the_table(clock, notebook):
    learn = learner([Callback(after_validate=on(event.after_validate, once=2)(lambda cb: (_ for _ in ()).throw(KeyboardInterrupt)))])
    learn.validate()
    assert '<progress' in states(notebook)[0] and states(notebook)[-1]==''
    notebook.clear()
    with pytest.raises(KeyboardInterrupt): learn.fit(2)
    assert 'progress' not in states(notebook)[-1] and '<tr>' in states(notebook)[-1]

def two_threads():
    "Fit in two threads; the one that began first ends first"
    begun,ended,errors = threading.Event(),threading.Event(),[]
    def first(cb):
        if cb.learn.iter==1: assert begun.wait(TIMEOUT)
    def second(cb):
        if cb.learn.iter: return
        begun.set()
        assert ended.wait(TIMEOUT)
    def fit(look):
        try: learner([Callback(after_batch=look, name='look')]).fit(2)
        except BaseException as e: errors.append(e)
    ts = [threading.Thread(target=fit, args=[o]) for o in (first, second)]
    ts[0].start()
    while not progress._open and ts[0].is_alive(): ts[0].join(.01)
    ts[1].start()
    ts[0].join(TIMEOUT)
    ended.set()
    ts[1].join(TIMEOUT)
    assert not errors and progress._open==[]

@pytest.mark.parametrize('step', [0., 1.])
def test_fits_in_two_threads_of_a_notebook(step, clock, notebook, monkeypatch):
    "Rows that wait for the next drawing, where no time goes by, are shown at the end"
    monkeypatch.setattr(progress, 'perf_counter', Clock(step))
    two_threads()
    assert states(notebook)[-1].count('<tr>')==6 and '<progress' not in states(notebook)[-1]

def test_fits_in_two_threads_of_a_terminal(clock, monkeypatch, capsys):
    made = []
    monkeypatch.setattr(progress, '_Terminal', lambda: made.append(Screen()) or made[-1])
    monkeypatch.setattr(progress, '_is_tty', lambda f: True)
    two_threads()
    assert len(made)==1 and len(made[0].lines)==3 and len(capsys.readouterr().out.splitlines())==3

class Gone(io.StringIO):
    "A pipe or a terminal whose reader goes away after `n` writes"
    encoding = 'utf-8'
    def __init__(self, n=0, tty=True):
        super().__init__()
        self.n,self.tty,self.error = n,tty,OSError if tty else BrokenPipeError
    def isatty(self): return self.tty
    def write(self, s):
        self.n -= 1
        if self.n<0: raise self.error('gone')
        return super().write(s)
    def flush(self):
        if self.n<0: raise self.error('gone')

def fit_at(monkeypatch, stdout):
    "A fit that writes to `stdout`"
    learn = learner()
    with monkeypatch.context() as m:
        m.setattr(sys, 'stdout', stdout)
        learn.fit(2)
        assert sys.stdout is stdout, 'nothing of rich is left there'
        learn.validate()
    assert len(learn.recorder.values)==2 and progress._open==[] and learn.logger is print_row
    return learn

@covering(n=range(0, 40, 3), tty=[True, False])
def test_a_reader_that_goes_away_does_not_stop_the_fit(n, tty, clock, monkeypatch):
    monkeypatch.setenv('TERM', 'xterm')
    f = Gone(n, tty=tty)
    with warnings.catch_warnings(record=True, action='always') as seen:
        fit_at(monkeypatch, f)
    told = [str(o.message) for o in seen]
    assert all(f'progress cannot be shown ({f.error.__name__}: gone)' in o for o in told) and len(told)<=2, 'one for the fit, and one for the evaluation'
    assert bool(told)==(f.n<0)
    from rich import get_console
    get_console()._buffer.clear()

def test_no_stdout_is_silence(clock, monkeypatch): fit_at(monkeypatch, None)

def test_front_end_that_fails_gets_lines(clock, notebook, monkeypatch, capsys):
    n = count()
    def broken(data):
        if next(n)>1: raise RuntimeError('no comm')
        return SimpleNamespace(update=lambda data, raw: broken(data))
    monkeypatch.setattr(progress, '_display', broken)
    learn = learner([ShowGraph()])
    with pytest.warns(UserWarning, match='RuntimeError: no comm') as seen: learn.fit(2)
    assert len(seen)==1
    assert [o.split()[0] for o in capsys.readouterr().out.splitlines()]==['0', '1'], 'the rows that came after it failed'

def test_interrupt_while_it_draws(clock, notebook, monkeypatch):
    n = count()
    def stop(self, *args):
        if next(n)==3: raise KeyboardInterrupt
    monkeypatch.setattr(progress._Notebook, 'bar', stop)
    learn = learner()
    with pytest.raises(KeyboardInterrupt): learn.fit(1)
    assert progress._open==[] and learn.logger is print_row and '<tr>' in states(notebook)[-1]

@pytest.mark.parametrize('kwargs', [dict(every_seconds=-1), dict(delay='1'), dict(delay=float('nan'))])
def test_bad_arguments(kwargs):
    with pytest.raises(ValueError, match=f'{next(iter(kwargs))} is .*number of seconds'): ProgressCallback(**kwargs)

def test_rate_counts_from_where_a_run_resumes(screens, clock, monkeypatch):
    clock.step = 0.
    def later(cb): clock.now += .04
    learn = learner([cb := Callback(after_batch=later, name='later')], dls=(TRAIN*20, None))
    cb.order = -20
    class Later(Pass):
        def __enter__(self):
            super().__enter__()
            self.n_taken = self.n_done = len([next(self.batches) for _ in range(20)])
            return self
    monkeypatch.setattr('learnloop.loop.learner.Pass', Later)
    learn.fit(1)
    assert all(o[3].split()[2]=='25/s' for o in screens[0].drawn if o[1]>20) and len(screens[0].drawn)>5
    assert screens[0].drawn[-1][1]>50

@pytest.mark.parametrize('plain', [True, False])
def test_only_the_first_process_shows_something(plain, clock, monkeypatch, capsys):
    monkeypatch.setattr(progress, '_is_tty', lambda f: True)
    monkeypatch.setenv('RANK', '1')
    learn = mk_learner([Recorder(), ProgressCallback(plain=plain), ShowGraph()])
    learn.fit(1)
    learn.validate()
    assert capsys.readouterr().out=='' and learn.logger is print_row and progress._open==[]
    learn.logger = (rows := []).append
    learn.fit(1)
    assert len(rows)==2, 'a logger of your own has its rows'

def svgs(html): return re.findall('<svg.*?</svg>', html, flags=re.S)
def said(html): return re.search('<desc>(.*?)</desc>', html)[1]

def test_graph_without_recorder_validation_or_batches(clock, notebook):
    learner([ShowGraph()], recorder=False).fit(1)
    assert not svgs(states(notebook)[-1])
    notebook.clear()
    learner([ShowGraph()], dls=(TRAIN, None)).fit(1)
    assert 'valid' not in said(states(notebook)[-1])
    notebook.clear()
    learner([ShowGraph()]).fit(0)
    assert 'no values' in said(states(notebook)[-1])
    with pytest.raises(ValueError, match='fit first'): ShowGraph().chart()

def test_graph_of_many_batches_is_small(clock):
    learn = learner([show := ShowGraph(log=True)])
    learn.fit(1)
    rec = learn.recorder
    rec._raw,rec.iters,rec.values = Scalars(1/(i+1) for i in range(100_000)),list(range(1, 100_000)),[[0.,1.]]*99_999
    (xs,ys),(vx,vy) = show.series().values()
    assert len(xs)==len(ys)<=1000 and xs[-1]==100_000 and ys[-1]==rec.losses[-1] and len(vx)==len(vy)<=1000 and vx[-1]==99_999
    assert len(show.chart())<60_000 and [len(show.spark(n)[0]) for n in (1, 8, 30)]==[1, 8, 30]

SETUP = '''
import sys, torch
from itertools import count
from threading import Thread, Timer
from learnloop import *
from learnloop.see import progress
progress._waits = 0
clock = count()
progress.monotonic = lambda: next(clock)*.2
data = [(torch.ones(4, 1), torch.ones(4, 1))]*20
def learner(f=None, **kw):
    torch.manual_seed(0)
    cbs = [Callback(after_batch=f, name='f')] if f else []
    learn = Learner((data, data[:9]), torch.nn.Linear(1, 1), torch.nn.functional.mse_loss, cbs=cbs, **kw)
    learn.recorder.add_time = False
    return learn
'''

def test_stored_outputs_of_a_notebook_are_the_table_alone(tmp_path):
    code = SETUP + 'learner().fit(2)\nlearner().validate();'
    (script := tmp_path/'nb.py').write_text(f'from execnb.shell import CaptureShell; import json; print(json.dumps(CaptureShell(mpl_format=None).run({code!r})))')
    out = as_script(script, timeout=TIMEOUT)
    assert out.rc==0, out.out
    res, = json.loads(out.out)
    assert res['output_type']=='display_data', res
    assert ''.join(res['data']['text/html']).count('<tr>')==3 and 'progress' not in str(res)

def on_screen(raw):
    "The lines that the codes which rich writes leave on a screen, and whether its cursor is shown"
    lines,row,col,shown = [''],0,0,True
    for code,ch in re.findall(r'\x1b\[([?\d;]*[A-Za-z])|([^\x1b])', raw):
        if ch=='\r': col = 0
        elif ch=='\n':
            row += 1
            if row==len(lines): lines.append('')
        elif ch: lines[row],col = lines[row][:col].ljust(col)+ch+lines[row][col+1:],col+1
        elif code=='2K': lines[row] = ''
        elif code.endswith('A'): row -= int(code[:-1])
        elif code in ('?25l','?25h'): shown = code[-1]=='h'
        else: assert code.endswith('m'), f'unknown code {code}'
    return [o.rstrip() for o in lines if o.strip()],shown

TERMINAL = SETUP + '''
def wait(cb):
    if cb.learn.epoch==0 and cb.learn.iter==5 and cb.learn.training:
        print('[resize]', file=sys.stderr)
        sys.stdin.readline()
    if cb.learn.epoch!=1 or cb.learn.iter!=5: return
    print('half a line', end='')
    print(' [ready]', file=sys.stderr)
    sys.stdin.readline()
learn = learner(wait)
try: learn.fit(3)
except KeyboardInterrupt: print('interrupted')
learn.remove_cb(learn.f)
learn.fit(1)
print(len(learn.validate()))
def other(cb):
    if cb.learn.training and cb.learn.iter==2: learner().fit(1)
learner(other, metrics=[]).fit(1)
def fail(cb):
    if cb.learn.iter==15: raise RuntimeError('oh')
try: learner(fail).fit(1)
except RuntimeError as e: print(e)
print('bye')
'''

def test_terminal(tmp_path):
    (script := tmp_path/'fit.py').write_text(TERMINAL)
    env = dict(PATH='', TERM='xterm', LANG='C.UTF-8', PYTHONUTF8='1')
    p = in_terminal([str(script)], env=env, timeout=TIMEOUT, dimensions=(24,100), echo=False)
    try:
        p.expect(r'\[resize\](.|\n)*\d/s')
        live = p.before+p.after
        p.setwinsize(24, 50)
        p.sendline()
        p.expect(r'\[ready\](.|\n)*\d/s')  # the bar is drawn anew below what is printed
        narrow,live = p.before+p.after,live+p.before+p.after
        p.setwinsize(24, 100)
        p.sendintr()
        p.sendline()
        p.expect(pexpect.EOF)
    finally: p.close(force=True)
    raw = live+p.before
    during,shown = on_screen(live)
    assert not shown and re.match(r'epoch 2 of 3 +[━╸╺]+ ', during[-2]) and re.match(r'train +[━╸╺]+ 5/20 ', during[-1]), during
    assert max(map(len, on_screen(live.split('[resize]')[0])[0]))<80
    drawn = re.sub(r'\x1b\[[?\d;]*[A-Za-z]', '', narrow).split('\n', 3)[-1]
    assert drawn.count('train')>2 and max(len(o) for o in re.split('[\r\n]', drawn))<=50, 'the window became narrower'
    assert '    0    0.2' in drawn
    lines,shown = on_screen(raw)
    assert shown, 'the cursor is back'
    assert raw.count('\x1b[?25l')==raw.count('\x1b[?25h')==5
    inner = ['epoch', '0']
    assert [w for o in lines if (w := o.split()[0])!='Ctrl-C:']==['epoch', '[resize]', '0', '[ready]', 'half', 'interrupted', 'epoch', '0', '1', 'epoch', *inner, '0', 'epoch', 'oh', 'bye'], lines
    assert p.exitstatus==0
