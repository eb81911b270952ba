"Each command for a running fit acts once, at a logged place, after kills too; a replay is bit-identical; a bad command changes nothing"
import os, random, re, threading
from functools import partial
from itertools import count
import pytest, torch
from helpers import check, silent
from learnloop import (Callback, CheckpointCallback, CSVLogger, DataLoaders, EMA, GradientAccumulation, Learner, SWA,
    Snapshots, TorchScheduler, list_checkpoints, set_seed)
from learnloop.app import cli
from learnloop.checkpoint.steer import Steering, parse_command, read_commands, send_command
from torch import nn
from torch.nn import functional as F
from torch.optim import lr_scheduler as ts
from torch.utils.data import DataLoader, TensorDataset

N,N_EPOCH = 8,3  # batches of an epoch, epochs

@pytest.fixture(autouse=True)
def fast(monkeypatch):
    "The fit looks into the folder at each batch"
    monkeypatch.setattr(Steering, 'every', 0)

def mk(cbs=(), opt=torch.optim.AdamW, valid=True, **kwargs):
    set_seed(3)
    x = torch.linspace(-1, 1, 4*N)[:,None].repeat(1, 3)
    ds = TensorDataset(x, (x.sum(1)>0).long())
    model = nn.Sequential(nn.Linear(3, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(.3), nn.Linear(8, 2))
    dls = DataLoaders(DataLoader(ds, 4, shuffle=True), DataLoader(ds, 8) if valid else None)
    return silent(Learner(dls, model, F.cross_entropy, opt, lr=.02, cbs=[*cbs], **kwargs))

class Tells(Callback):
    "Gives commands: functions of the learner, or their text, by the number of batches that are done"
    read_only,run_valid = True,False
    def __init__(self, at): self.at = at
    def after_batch(self):
        for o in self.at.get(self.learn.count.batches, ()): o(self.learn) if callable(o) else self.learn.tell(o)

def result(learn):
    r = learn.recorder
    return dict(weights={k:v.clone() for k,v in learn.model.state_dict().items()}, opt=learn.opt.state_dict()['state'], raw=list(r.raw_losses),
        lrs=list(r.lrs), hps={k:list(v) for k,v in r.hps.items()}, values=r.values, count=vars(learn.count), rng=torch.get_rng_state())

def steering(learn): return next(o for o in learn.engines if isinstance(o, Steering))
def brief(log): return [(o['text'], o['epoch'], o['batch'], o['refused']) for o in log]

# ---- What is a command

@pytest.mark.parametrize('text,want', [('lr=1e-4', ('set', dict(lr=1e-4), False)), ('lr=1 wd=0 end', ('set', dict(lr=1., wd=0.), True)), ('pause', ('pause', None, False)),
    ('rewind 20', ('rewind', 20, False)), (' stop ', ('stop', None, False))])
def test_commands_are_parsed(text, want): assert parse_command(text)==want

BAD = ['', 'end', 'lr', 'lr=', 'lr=fast', 'lr=nan', 'lr=inf', 'lr=1 lr=2', 'lr=1 stop', 'stop 3', 'rewind', 'rewind 0', 'rewind -1', 'rewind 1.5', 'lr = 1', '__import__("os")',
    'a.b=1', 'lr=1;rm', 'eval 1']
@pytest.mark.parametrize('text', BAD)
def test_bad_commands_are_refused(text, tmp_path):
    with pytest.raises(ValueError, match='is not a command'): parse_command(text)
    with pytest.raises(ValueError, match='is not a command'): send_command(tmp_path, text)
    assert not [*tmp_path.iterdir()]

def test_a_mistake_in_tell_is_an_error_for_its_caller():
    learn,seen = mk(),[]
    with pytest.raises(RuntimeError, match='no fit of this learner is running'): learn.tell(lr=1.)
    def tries(learn):
        for text,kw in (('stopp', {}), ('', dict(lr='fast')), ('', dict(lrr=1.))):
            with pytest.raises(ValueError): learn.tell(text, **kw)
            seen.append(text)
    learn.fit(1, cbs=Tells({2:[tries]}))
    assert len(seen)==3 and not steering(learn).log

# ---- A bad command breaks nothing: it is refused, and the run is the one without it

REFUSED = {'lr=-1':'0 or more', 'momentum=2':'must stay below 1', 'nesterov=1':'unknown hyper-parameter', 'eval("1")':'is not a command', '\0\xff':'is not a command', 'save':'no CheckpointCallback', 'validate':'no validation loader',
    'mom=.9':'must stay below 1', 'wd=1e400':'is not a command', '[]':'is not a command', 'betas=.5':'must stay below 1'}

@pytest.mark.parametrize('text', REFUSED)
def test_a_bad_command_in_a_file_is_refused_and_breaks_nothing(text, tmp_path):
    def write(learn):
        (tmp_path/'tell').mkdir()
        (tmp_path/'tell'/'1').write_bytes(text.encode('latin1'))
        (tmp_path/'tell'/'2').mkdir()  # no file at all
        os.mkfifo(tmp_path/'tell'/'3') # reading it would never end
    def run(*cbs):
        learn = mk([CSVLogger(append=False)], valid=False, path=tmp_path)
        learn.fit_one_cycle(1, cbs=[*cbs])
        return learn
    learn = run(Tells({3:[write]}))
    found = [o for o in read_commands(tmp_path) if o['id']=='1']
    assert len(found)==1 and found[0]['refused'] and REFUSED[text] in found[0]['result']
    assert all(o['refused'] for o in read_commands(tmp_path)) and len(read_commands(tmp_path))==1
    a,b = result(learn),result(run())
    check(a|dict(values=0), b|dict(values=0))

# ---- Schedules

@pytest.mark.parametrize('cb,text,why', [(lambda: SWA(start_pct=.1, swa_lr=.01), 'lr=.01', 'SWA sets lr'), (lambda: TorchScheduler(partial(ts.StepLR, step_size=3), 'step'), 'wd=.1', 'separate groups for norms'),
    (lambda: TorchScheduler(partial(ts.LambdaLR, lr_lambda=lambda n: n>6), 'step'), 'lr=.01', 'no factor changes 0')])
def test_a_command_that_a_schedule_does_not_allow_is_refused(cb, text, why):
    learn = mk(opt=torch.optim.SGD)
    learn.fit(1, cbs=[cb(), Tells({5:[text]})])
    (o,) = steering(learn).log
    assert o['refused'] and why in o['result']

# ---- In order, once, with a replay that has equal bits

VERBS = ['lr=.01', 'lr=.03', 'wd=.1', 'lr=.02 wd=0', 'validate', 'save', 'eps=1e-6', 'nothing', 'lr=-1', 'mom=.8 end', 'lr=.005 end']

def program(seed, folder, n=100):
    "`n` random commands at random batches, from memory and from files; in a pause, another thread gives the next commands"
    rng,at,total,number = random.Random(seed),{},N*N_EPOCH,count()
    def from_file(text, learn):
        try: send_command(folder, text)
        except ValueError: (folder/'tell').mkdir(exist_ok=True), (folder/'tell'/f'bad-{next(number)}').write_text(text)
    def in_pause(learn):
        learn.tell('pause')
        def others():
            learn.tell(lr=.015)
            learn.tell('go')
        threading.Timer(.01, others).start()
    for _ in range(n):
        text = rng.choice(VERBS)
        f = partial(from_file, text) if rng.random()<.5 or text=='nothing' else text
        at.setdefault(rng.randrange(1, total), []).append(f)
    at.setdefault(rng.randrange(1, total-1), []).append(in_pause)
    return at

FITS = dict(fit=lambda learn, **kw: learn.fit(N_EPOCH, **kw), one_cycle=lambda learn, **kw: learn.fit_one_cycle(N_EPOCH, **kw),
    steps=lambda learn, **kw: learn.fit(None, max_steps=7, cbs=[EMA(.8), GradientAccumulation(8), *kw.pop('cbs')], **kw))

@pytest.mark.parametrize('fit', FITS)
def test_100_commands_at_random_places_and_a_replay_has_equal_bits(fit, tmp_path):
    seed,a,b = len(fit),tmp_path/'a',tmp_path/'b'
    def run(folder, *cbs, **kw):
        learn = mk()
        FITS[fit](learn, cbs=[CheckpointCallback(folder, every_steps=5), *cbs], **kw)
        return learn
    one = run(a, Tells(program(seed, a)))
    two = run(b, replay=a)
    check(result(two), result(one))
    log = read_commands(a)
    assert brief(read_commands(b))==brief(log) and len({o['id'] for o in log})==len(log)
    assert brief(log)==sorted(brief(log), key=lambda o: o[1:3]) and {o['refused'] for o in log}=={True, False}
    if fit!='steps': assert len(log)>=100

def test_a_replay_of_a_run_without_commands_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError, match='commands.json'): mk().fit(1, replay=tmp_path)
    (tmp_path/'commands.json').write_text('{"version":1,"commands":[{"text":3}]}')
    with pytest.raises(ValueError, match='is not a log of commands'): mk().fit(1, replay=tmp_path)

def test_a_replay_that_never_comes_to_a_place_says_so(tmp_path):
    mk().fit(2, cbs=[CheckpointCallback(tmp_path), Tells({N+3:['lr=.1']})])
    with pytest.warns(UserWarning, match='never reached their places: 1'): mk().fit(1, replay=tmp_path)

def test_a_command_that_is_too_late_warns_and_the_next_fit_starts_without_it(tmp_path):
    learn = mk()
    last = Callback(cleanup_fit=lambda cb: (cb.learn.tell('stop'), send_command(tmp_path, 'stop')))
    with pytest.warns(UserWarning, match='before it acted on stop, stop'): learn.fit(1, cbs=[CheckpointCallback(tmp_path), Tells({3:['lr=.1']}), last])
    assert len(read_commands(tmp_path))==1 and not (tmp_path/'tell').exists()
    send_command(tmp_path, 'stop')  # left there by a run that was killed
    learn.fit(1, cbs=CheckpointCallback(tmp_path))
    assert learn.count.batches==2*N and not (tmp_path/'commands.json').exists()

# ---- Stop, save, pause

def test_stop_saves_a_checkpoint_and_the_fit_resumes(tmp_path):
    whole = mk()
    whole.fit_one_cycle(2)
    learn = mk()
    with pytest.warns(UserWarning, match='before it acted on lr=9'): learn.fit_one_cycle(2, cbs=Tells({5:['stop', 'lr=9']}), resume=tmp_path)
    assert learn.count.batches==5 and learn.outcome['fit']=='cancelled' and list_checkpoints(tmp_path)[-1].manifest['batch']==5
    again = mk()
    again.fit_one_cycle(2, resume=tmp_path)
    check(result(again), result(whole))
    assert brief(read_commands(tmp_path))==[('stop', 0, 5, False)]

def test_a_pause_waits_between_two_batches_and_commands_act_in_it(tmp_path):
    learn,seen = mk(),[]
    def later():
        seen.append(learn.count.batches)
        learn.tell('validate')
        learn.tell('go')
    learn.fit(1, cbs=Tells({3:['pause', lambda o: threading.Timer(.1, later).start()]}))
    assert seen==[3] and [o[:3] for o in brief(steering(learn).log)]==[('pause', 0, 3), ('validate', 0, 3), ('go', 0, 3)]
    assert learn.count.batches==N

def test_a_rewind_keeps_earlier_commands_and_drops_later_ones(tmp_path):
    def run(at, **kw):
        learn = mk()
        with_ = [CheckpointCallback(tmp_path/str(len(at)), every_steps=5), Snapshots(every_steps=4, keep=9)]
        learn.fit_one_cycle(N_EPOCH, cbs=[*with_, Tells(at)], **kw)
        return learn
    once = lambda text: (lambda learn: learn.keeper.attempt or learn.tell(text))
    at = {3:['lr=.05'], 5:[once('wd=.3')], 9:[once('validate')], 11:[once('lr=.9')], 13:[once('rewind 7')]}
    a,plain = run(at),run({3:['lr=.05'], 5:['wd=.3']})
    b = run({}, replay=tmp_path/str(len(at)))
    def weights(learn): return {k:v.clone() for k,v in learn.model.state_dict().items()}
    check(weights(b), weights(a))
    check(weights(a), weights(plain))
    assert [o['text'] for o in steering(b).log]==[o['text'] for o in steering(a).log] and a.keeper.attempt==b.keeper.attempt==1

@pytest.mark.parametrize('cbs,n', [([], 3), ([Snapshots()], 30)])
def test_a_rewind_that_is_not_possible_is_refused(cbs, n):
    learn = mk()
    learn.fit(1, cbs=[*cbs, Tells({5:[f'rewind {n}']})])
    (o,) = steering(learn).log
    assert o['refused'] and learn.count.batches==N and learn.outcome['fit']=='done'

# ---- Kills

OPS = 'replace','unlink','rename','rmdir'

def killed_at(n, run):
    "Run `run(count)` in a fork that ends before the `n`-th operation on files between `count(True)` and `count(False)`; how it ended"
    if not (pid := os.fork()):
        left = [None]
        def counted(f):
            def _f(*args, **kwargs):
                if left[0] is not None:
                    left[0] -= 1
                    if left[0]<0: os._exit(9)
                return f(*args, **kwargs)
            return _f
        code = 1
        try:
            for o in OPS: setattr(os, o, counted(getattr(os, o)))
            run(lambda on: left.__setitem__(0, n if on else None))
            code = 0
        finally: os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

COMMANDS = ['lr=.05', 'wd=.3', 'save', 'lr=.01']

@pytest.mark.parametrize('every', [2, 99])  # 99: it is killed before its first checkpoint
def test_a_command_acts_once_wherever_the_process_is_killed_around_it(every, tmp_path):
    def fit(folder, *cbs):
        learn = mk()
        learn.fit_one_cycle(1, cbs=[CheckpointCallback(folder, every_steps=every, on_error=False), *cbs], resume=folder)
        return learn
    def replayed(folder):
        learn = mk()
        learn.fit_one_cycle(1, replay=folder)
        return learn
    whole = fit(tmp_path/'whole', Tells({4:COMMANDS}))
    log = brief(read_commands(tmp_path/'whole'))
    for n in count():
        folder = tmp_path/str(n)
        def run(counts, folder=folder):
            def send(learn, folder=folder):
                for o in COMMANDS: send_command(folder, o)
                counts(True)
            fit(folder, Tells({4:[send], 5:[lambda learn: counts(False)], 6:[lambda learn: os._exit(7)]}))
        how = killed_at(n, run)
        assert how in (9, 7)  # at an operation, or after all of them
        learn = fit(folder)
        told = brief(read_commands(folder))
        assert [o[0] for o in told]==COMMANDS and not (folder/'tell').exists(), f'killed at operation {n}'
        # killed before the log is written, the run resumes at an earlier place, where the commands still wait
        again = replayed(folder) if told!=log else whole
        check(result(learn)['weights'], result(again)['weights'])
        if how==7: break
    assert n>5

def test_a_fit_that_resumes_in_the_process_acts_again_at_the_same_places():
    def run(fails):
        learn = mk()
        def boom(learn):
            if fails: raise OSError('boom')
        at = {3:['lr=.05'], 6:['wd=.3', 'validate'], 7:[boom]}
        try: learn.fit_one_cycle(1, cbs=Tells(at), keep_failed=True)
        except OSError:
            fails = False
            learn.resume()
        return learn
    a,b = run(False),run(True)
    check(result(a), result(b))
    assert brief(steering(a).log)==brief(steering(b).log)

# ---- The terminal

def tell(folder, *words, wait=5.):
    out = []
    t = threading.Thread(target=lambda: out.append(ending(lambda: cli.tell_run(folder, words, wait=wait))))
    t.start()
    return t,out

def ending(f):
    try: return f()
    except Exception as e: return str(e)

@pytest.mark.parametrize('words,want', [(('lr=.01', 'wd=0'), None), (('lr=-1',), 'refused.*0 or more'), (('stopp',), "did you mean 'stop'"), (('foo=1',), 'refused.*unknown hyper-parameter')])
def test_the_command_waits_for_its_result(words, want, tmp_path, capsys):
    done = []
    class Waits(Callback):
        "Keeps the fit running until the command is answered"
        read_only,run_valid = True,False
        def after_batch(self):
            if self.learn.count.batches==2: done[:] = tell(tmp_path, *words)
            if done: done[0].join(.01)
        def before_batch(self):
            if self.learn.iter>4: done[0].join(100)
    mk(opt=torch.optim.RMSprop).fit(2, cbs=[CheckpointCallback(tmp_path), Waits()])
    (said,) = done[1]
    if want: assert re.search(want, said)
    else: assert said is None and 'lr=.01 wd=0: epoch 0, batch' in capsys.readouterr().out
