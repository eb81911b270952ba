"What a fit shows in terminals, notebooks and pipes; that screen and logger are left as they were; and what a batch costs"
import json, os, re, subprocess, sys
from itertools import count
from threading import Timer
from types import SimpleNamespace
import pexpect, pytest, torch
from helpers import TRAIN, VALID, mk_learner
from learnloop import (Callback, CancelEpochException, CancelFitException, FetchPredsCallback, ProgressCallback, Recorder, event, on,
    progress)
from learnloop.learner import print_row
from learnloop.metrics import mae

TIMEOUT = 100  # of a process, most of it torch's import on a busy machine

class Clock:
    "Advances by `step` at each look"
    def __init__(self, step): self.now,self.step = 0.,step
    def __call__(self):
        self.now += self.step
        return self.now

class Screen(progress._Lines):
    "A display that remembers"
    has_bar = True
    def __init__(self): self.lines,self.bars,self.n_closed = [],[],0
    def show(self, s, is_title): self.lines.append(s)
    def bar(self, *args): self.bars.append(args)
    def close(self): self.n_closed += 1

@pytest.fixture
def clock(monkeypatch):
    monkeypatch.setattr(progress, 'monotonic', res := Clock(1.))
    return res

@pytest.fixture
def screens(clock, monkeypatch):
    "The displays that are made, with a redrawing due at each batch"
    res = []
    def mk(): return res.append(Screen()) or res[-1]
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

def test_plain_lines(capsys):
    learn = learner(metrics=mae)
    learn.fit(2)
    out = capsys.readouterr().out.splitlines()
    assert out[0].split()==['epoch', 'train_loss', 'valid_loss', 'mae']
    assert [o.split() for o in out[1:]]==[[str(i), *(f'{v:.6f}' for v in vals)] for i,vals in enumerate(learn.recorder.values)]
    assert len({len(o) for o in out})==1, 'columns are aligned'

def test_default_and_time_column(capsys):
    learn = mk_learner(defaults=True)
    assert isinstance(learn.progress, ProgressCallback)
    learn.fit(1)
    assert [o.split()[-1] for o in capsys.readouterr().out.splitlines()]==['time', '00:00']

def test_a_value_wider_than_its_title_and_none(capsys):
    lines = progress._Lines()
    for o in (['epoch', 'loss'], [0, 123456789.]), (['epoch', 'loss'], [1, None]):
        for vals in o: lines.row(vals)
        lines.widths = None
    assert capsys.readouterr().out.splitlines()==['epoch      loss', '    0  123456789.000000', 'epoch      loss', '    1          ']

def test_silent(capsys):
    learn = learner()
    with learn.no_logging():
        learn.fit(1)
        learn.validate()
    learn.validate()
    learn.get_preds()
    assert capsys.readouterr().out==''

def test_silence_needs_no_display(screens):
    learn = learner()
    with learn.no_logging(): learn.fit(1)
    assert not screens

def test_no_bar(capsys, screens):
    learn = learner()
    with learn.no_bar():
        assert not hasattr(learn, 'progress')
        learn.fit(1)
    assert not screens and len(capsys.readouterr().out.splitlines())==2
    assert learn.progress in learn.cbs

def test_own_logger_is_kept_and_bar_shown(screens):
    learn,rows = learner(),[]
    learn.logger = rows.append
    learn.fit(1)
    assert rows==[['epoch', 'train_loss', 'valid_loss'], [0, *learn.recorder.values[0]]]
    assert learn.logger==rows.append and screens[0].lines==[] and screens[0].bars

STOPS = [None, CancelFitException, CancelEpochException, RuntimeError, KeyboardInterrupt]
@pytest.mark.parametrize('at', ['before_fit', 'after_batch', 'before_validate', 'after_validate', 'cleanup_train', 'after_fit'])
@pytest.mark.parametrize('exc', STOPS)
def test_all_is_left_as_it_was(exc, at, screens):
    def stop(cb):
        if exc and not (exc is CancelEpochException and at.endswith('fit')): raise exc
    learn = learner([(cb := Callback(**{at:stop}, name='stop'))])
    cb.order = 99
    for i in range(2):
        try: learn.fit(2)
        except (RuntimeError,KeyboardInterrupt) as e: assert type(e) is exc
        assert learn.logger is print_row and progress._open==[] and learn.progress._bars==[]
        assert [o.n_closed for o in screens]==[1]*(i+1)
    learn.remove_cb(learn.stop)
    learn.fit(1)
    assert len(screens[-1].lines)==2

def mute(learn): learn.progress.run = False
def remove(learn): learn.remove_cb(ProgressCallback)
def set_aside(learn):
    with learn.removed_cbs(ProgressCallback): learn.validate()

@pytest.mark.parametrize('act', [mute, remove, set_aside])
def test_muted_or_removed_within_a_fit(act, screens):
    learn = learner([Callback(after_loss=on(event.after_loss, once=2)(lambda cb: act(cb.learn)))])
    learn.fit(1)
    assert screens[0].n_closed==1 and progress._open==[] and learn.logger is print_row

def test_added_within_a_fit(screens):
    learn = mk_learner([Recorder(), Callback(before_train=on(event.before_train, once=1)(lambda cb: cb.learn.add_cb(ProgressCallback)))])
    with learn.no_logging(): learn.fit(2)
    assert not screens, 'it shows something from the next fit on'
    learn.fit(1)
    assert screens[0].bars

def test_bars(screens):
    learner().fit(2)
    bars = screens[0].bars
    assert [o[:3] for o in bars if o[0].startswith('epoch 1/2')]==[('epoch 1/2 train   ', i, 3) for i in range(4)] + [('epoch 1/2 validate', i, 2) for i in range(3)]
    assert all(('loss' in o[3])==('train' in o[0] and (o[1]>1 or 'epoch 2' in o[0] and o[1])) for o in bars)

@pytest.mark.parametrize('dl', [Unsized(TRAIN), Sized(TRAIN, 2), Sized(TRAIN, 9)])
def test_unknown_and_wrong_length(dl, screens):
    n = getattr(dl, 'n', None)
    learn = learner(dls=(dl,))
    if n is None: learn.fit(1)
    else:
        with pytest.warns(UserWarning, match=f'length of {n} and gave 3'): learn.fit(1)
    assert [o[1:3] for o in screens[0].bars]==[(i, n if n and i<=n else None) for i in range(4)]
    assert ('3 batches' in screens[0].bars[-1][3])==(n!=9)

def test_no_number_of_epochs(screens):
    learner().fit(max_steps=4)
    assert {o[0].strip() for o in screens[0].bars}=={'epoch 1 train', 'epoch 1 validate', 'epoch 2 train', 'epoch 2/2 validate'}

def test_evaluation_shows_a_bar_if_it_lasts(screens, clock):
    learn = learner()
    learn.validate()
    learn.get_preds()
    assert [[o[:3] for o in s.bars] for s in screens]==[[('validate', i, 2) for i in range(3)]]*2
    assert all(s.lines==[] and s.n_closed==1 for s in screens)
    clock.step = .05
    learn.validate()
    assert screens[-1].bars==[]

def test_evaluation_within_a_fit_leaves_its_bar(screens):
    def look(cb):
        if cb.learn.training and cb.learn.iter==1: cb.learn.validate()
    learn = learner([FetchPredsCallback(), Callback(after_batch=look)])
    learn.fit(1)
    assert len(screens)==1 and len(screens[0].lines)==2 and screens[0].n_closed==1
    labels = [o[0].split()[-1] for o in screens[0].bars]
    assert labels==['train']*2 + ['validate']*6 + ['train']*2 + ['validate']*6

def test_without_recorder(screens):
    learn = learner(recorder=False)
    learn.fit(1)
    assert screens[0].lines==[] and len(screens[0].bars)==7
    assert not any('loss' in o[3] for o in screens[0].bars)

@pytest.mark.parametrize('exc', [None, RuntimeError])
def test_learner_within_a_learner_has_lines_alone(exc, clock, capsys, monkeypatch):
    made = []
    monkeypatch.setattr(progress, '_Terminal', lambda: made.append(Screen()) or made[-1])
    monkeypatch.setattr(progress, '_is_tty', lambda f: True)
    def inner(cb):
        learn = learner()
        learn.fit(1)
        learn.validate()
        if exc: raise exc
    learn = learner([Callback(before_train=inner)])
    if exc: pytest.raises(exc, learn.fit, 1)
    else: learn.fit(1)
    assert len(made)==1 and len(made[0].lines)==2-bool(exc) and progress._open==[]
    assert len(capsys.readouterr().out.splitlines())==2

@pytest.mark.parametrize('step', [.001, .03, .3, 5.])
def test_drawings_keep_their_distance(step, clock, monkeypatch):
    times,screen,clock.step = [],Screen(),step
    screen.bar = lambda *args: times.append(clock.now)
    monkeypatch.setattr(progress, '_mk_display', lambda: screen)
    learner(dls=(TRAIN*50,)).fit(4)
    assert times[0]>=.5
    assert all(b-a>=.1 for a,b in zip(times, times[1:], strict=False))

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
    assert syncs(monkeypatch, learn)==base and screens[-1].bars==[]
    clock.step = 1.
    assert syncs(monkeypatch, learn)>base and len(screens[-1].bars)==122

class Handle:
    def __init__(self): self.shown = []
    def update(self, data, raw): self.shown.append(data)

def notebook(monkeypatch, learn, f):
    "What a live notebook displays: a list of states for each output"
    import IPython.display
    outs = []
    def display(data, raw, display_id):
        outs.append(Handle())
        outs[-1].update(data, raw)
        return outs[-1]
    monkeypatch.setattr(IPython.display, 'display', display)
    monkeypatch.setattr(progress, '_mk_display', lambda: progress._Notebook(SimpleNamespace(display_pub=None)))
    f()
    return [o.shown for o in outs]

def test_notebook_has_one_output(clock, monkeypatch):
    learn = learner(metrics=mae)
    shown, = notebook(monkeypatch, learn, lambda: learn.fit(2))
    assert shown[0]['text/html'].count('<tr>')==1, 'titles come at once'
    assert '<progress value="2" max="3"' in shown[3]['text/html'] and 'epoch 1/2 train' in shown[3]['text/html']
    last = shown[-1]
    assert 'progress' not in last['text/html'] and last['text/html'].count('<tr>')==3
    assert re.findall('<t[hd]>([^<]*)', last['text/html'])==last['text/plain'].split()

def test_notebook_evaluation_vanishes_and_interrupt_leaves_the_table(clock, monkeypatch):
    learn = learner([Callback(after_validate=on(event.after_validate, once=2)(lambda cb: (_ for _ in ()).throw(KeyboardInterrupt)))])
    shown, = notebook(monkeypatch, learn, learn.validate)
    assert '<progress' in shown[0]['text/html'] and shown[-1]['text/html']==''
    shown, = notebook(monkeypatch, learn, lambda: pytest.raises(KeyboardInterrupt, learn.fit, 2))
    assert 'progress' not in shown[-1]['text/html'] and '<tr>' in shown[-1]['text/html']

def test_notebook_escapes_names_and_needs_no_length(clock, monkeypatch):
    def f(pred, y): return (pred-y).mean()
    f.__name__ = '<b>&'
    learn = learner(metrics=f, dls=(Unsized(TRAIN), VALID))
    shown, = notebook(monkeypatch, learn, lambda: learn.fit(1))
    assert '<th>&lt;b&gt;&amp;</th>' in shown[-1]['text/html']
    assert '<progress style' in shown[3]['text/html']

SETUP = '''
import signal, sys, torch
from itertools import count
from threading import Timer
from learnloop import *
from learnloop import progress
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

def test_stored_outputs_of_a_notebook_are_the_table_alone():
    code = SETUP + 'learner().fit(2)\nlearner().validate();'
    run = f'from execnb.shell import CaptureShell; import json; print(json.dumps(CaptureShell(mpl_format=None).run({code!r})))'
    out = subprocess.run([sys.executable, '-c', run], capture_output=True, text=True, timeout=TIMEOUT)
    assert out.returncode==0, out.stderr
    res, = json.loads(out.stdout)
    assert res['output_type']=='display_data', res
    assert ''.join(res['data']['text/html']).count('<tr>')==3 and 'progress' not in str(res)

def test_pipe_gets_each_line_at_once_and_rich_stays_out():
    code = SETUP + 'learner(lambda cb: cb.learn.training or cb.learn.iter or sys.stdin.readline()).fit(2)\nprint("rich" in sys.modules, "IPython" in sys.modules)'
    env = {k:v for k,v in os.environ.items() if k!='PYTHONUNBUFFERED'}
    with subprocess.Popen([sys.executable, '-c', code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env) as p:
        timer = Timer(TIMEOUT, p.kill)  # a line that is held back would be waited for, and the fit goes on when it is told to
        timer.start()
        try:
            lines = [p.stdout.readline()]
            for _ in range(2):
                print(file=p.stdin, flush=True)
                lines.append(p.stdout.readline())
            assert lines[0].split()==['epoch', 'train_loss', 'valid_loss'] and [o.split()[0] for o in lines[1:]]==['0', '1']
            assert p.communicate(timeout=TIMEOUT)[0]=='False False\n'
        finally:
            timer.cancel()
            p.kill()

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
    if cb.learn.epoch!=1 or cb.learn.iter!=5: return
    print('half a line', end='')
    print(' [ready]', file=sys.stderr)
    signal.pause()
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
    p = pexpect.spawn(sys.executable, [str(script)], env=env, timeout=TIMEOUT, encoding='utf-8', dimensions=(24,100), echo=False)
    try:
        p.expect(r'\[ready\](.|\n)*loss [\d.]+')  # the bar is drawn anew below what is printed
        live = p.before+p.after
        p.sendintr()
        p.expect(pexpect.EOF)
    finally: p.close(force=True)
    raw = live+p.before
    during,shown = on_screen(live)
    assert not shown and re.match(r'epoch 2/3 train +[━╸╺]+ 5/20 ', during[-1]), during
    lines,shown = on_screen(raw)
    assert shown, 'the cursor is back'
    assert raw.count('\x1b[?25l')==raw.count('\x1b[?25h')==5
    inner = ['epoch', '0']
    assert [w for o in lines if (w := o.split()[0])!='Ctrl-C:']==['epoch', '0', '[ready]', 'half', 'interrupted', 'epoch', '0', '1', 'epoch', *inner, '0', 'epoch', 'oh', 'bye'], lines
    assert p.exitstatus==0
