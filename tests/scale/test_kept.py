"With several processes, runs survive signals, errors and kills, and resume with any number of processes"
import errno, io, os, signal, warnings
import pytest, torch
from contextlib import nullcontext
from functools import partial
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset
from learnloop import (
    EMA, Callback, CancelSaveException, CheckpointCallback, Learner, PeerError, SaveModelCallback, accuracy, list_checkpoints, load_export, set_seed)
from learnloop.checkpoint import storage
from learnloop.checkpoint.interrupt import Terminated
from runs import equal, near
from together import LIMIT, ending, same, together

N = 46
X = torch.linspace(-1, 1, N)[:,None].repeat(1, 3)
Y = (X.sum(1)>0).long()

def mk(kind=None, drop=0., path='.', **kwargs):
    set_seed(3)
    model = nn.Sequential(nn.Linear(3, 8), nn.Dropout(drop), nn.Linear(8, 2))
    dls = DataLoader(TensorDataset(X, Y), 8, shuffle=True),DataLoader(TensorDataset(X, Y), 16)
    learn = Learner(dls, model, F.cross_entropy, torch.optim.AdamW, lr=.02, metrics=accuracy, path=path, model_dir='.', **kwargs)
    learn.logger = lambda *a: None
    if kind=='sharded': learn.to_fsdp(sharded_files=True, timeout=LIMIT)
    elif kind: getattr(learn, f'to_{kind}')(timeout=LIMIT)
    return learn

def whole(t): return getattr(t, 'full_tensor', lambda: t)().detach().clone()
def weights(learn): return {k:whole(v) for k,v in learn.model.state_dict().items()}
def state_of(learn):
    "Return the state of a learner as plain data"
    opt = {f'{i}.{k}':whole(v) for i,s in learn.opt.state_dict()['state'].items() for k,v in s.items()}
    r = learn.recorder
    return dict(weights=weights(learn), opt=opt, raw=list(r.raw_losses), values=[*map(list, r.values)], count=dict(vars(learn.count)))

class At(Callback):
    "Calls `f` after batch `n` of the fit, in one process"
    run_valid,read_only = False,True
    def __init__(self, n, f, rank=0, rank_invariant=True): self.n,self.f,self.rank,self.rank_invariant = n,f,rank,rank_invariant
    def after_batch(self):
        if self.learn.count.batches==self.n and self.learn.team.rank==self.rank: self.f()

class Before(At):
    "Calls `f` between two batches"
    def after_batch(self): pass
    def between_batches(self):
        if self.learn.count.batches==self.n and self.learn.team.rank==self.rank: self.f()

def boom(): raise ValueError('boom')
def kill(sig): return lambda: os.kill(os.getpid(), sig)

def fit(folder, kind=None, n=2, cbs=(), drop=0., every=1, said=None, path='.', **kwargs):
    learn = mk(kind, drop, path=path)
    saver = [CheckpointCallback(folder, every_steps=every, keep=None, **kwargs)] if folder else []
    with warnings.catch_warnings(record=True, action='always') as ws: learn.fit(n, cbs=[*saver, *cbs], resume=folder)
    if said is not None: said += [str(w.message) for w in ws]
    return learn

class Stop(Exception): in_all = True  # all processes raise it

class ForAll(Before):
    def between_batches(self):
        if self.learn.count.batches==self.n: self.f()

def stop(): raise Stop

def part(folder, kind, at, **kwargs):
    "Run until all processes stop, after batch `at`; the learner is lost"
    with pytest.raises(Stop): fit(folder, kind, cbs=[ForAll(at, stop)], **kwargs)

# ---- the same number of processes, bit for bit

def resumed(root, kind):
    "Compare a whole run with one that stops in the middle of an epoch and, with DDP, one that stops at its end"
    want,res = state_of(fit(None, kind, drop=.4)),[]
    for at in (3, 6) if kind=='ddp' else (3,):
        part(root/f'{kind}-{at}', kind, at, drop=.4)
        res.append(equal(state_of(fit(root/f'{kind}-{at}', kind, drop=.4)), want))
    return res,want

@pytest.mark.parametrize('kind', ['ddp', 'fsdp'])
def test_a_run_resumes_bit_for_bit_with_dropout(kind, tmp_path):
    (a,w),(b,v) = together(resumed, tmp_path, kind)
    assert a==b and all(a)
    assert equal(w, v), 'weights, losses or counts of the processes differ'

# ---- another number of processes

def on(n, f, *args): return [f(*args)] if n==1 else together(f, *args, n=n)

def finish(folder, kind, drop=0.):
    said = []
    return state_of(fit(folder, kind, drop=drop, said=said)),[o for o in said if o.startswith('not exact')]

@pytest.mark.parametrize('kind', ['ddp', 'sharded'])
def test_case_81_a_run_resumes_with_another_number_of_processes(kind, tmp_path):
    want,_ = finish(None, None)
    for n,at in ((1,3), (4,8)): on(n, part, tmp_path/'run', kind, at)
    (a,said),(b,_) = on(2, finish, tmp_path/'run', kind)
    assert equal(a, b) and near(a, want) and not said
    assert len(a['raw'])==12

def in_parts(folder, kind, at=None):
    "Fit in epochs of four steps, so passes through the data span epochs"
    learn = mk(kind)
    cbs = [CheckpointCallback(folder, every_steps=1, keep=None)] if folder else []
    try: learn.fit(4, cbs=[*cbs, *([ForAll(at, stop)] if at else [])], resume=folder, steps_per_epoch=4)
    except Stop: return None
    return state_of(learn)

def test_passes_that_span_epochs_resume_with_another_number_of_processes(tmp_path):
    for n,at in ((1,3), (2,7)): on(n, in_parts, tmp_path/'run', 'ddp', at)
    got,want = on(1, in_parts, tmp_path/'run', 'ddp')[0],on(1, in_parts, None, None)[0]
    assert near(got, want) and len(got['raw'])==16

def drawing_part(folder): part(folder, 'ddp', 8, drop=.4)

def test_a_warning_says_that_dropout_is_not_exact_with_another_number(tmp_path):
    for n,m in ((1,2), (2,1)):
        folder = tmp_path/f'{n}'
        on(n, drawing_part, folder)
        (got,said),*_ = on(m, finish, folder, 'ddp', .4)
        was,now = ('one process' if k==1 else f'{k} processes' for k in (n, m))
        assert said==[f'not exact: the run had {was} and has {now}: random numbers in the model differ; the batches and their order are the same']
        assert len(got['raw'])==12

# ---- signals to one process

def steps_in(folder): return [o.step for o in list_checkpoints(folder, verify=False)]

def told(root, kind, rank_invariant):
    "Return the results of signals to one process, by name"
    res,want = {},state_of(fit(None, kind, drop=.4))
    learn = mk(kind, .4)
    learn.fit(2, cbs=[CheckpointCallback(root/'usr1', every_epochs=9, keep=None), At(3, kill(signal.SIGUSR1), 1, rank_invariant)])
    res['usr1'] = steps_in(root/'usr1'),equal(state_of(learn), want)
    learn = mk(kind, .4)
    with pytest.raises(KeyboardInterrupt): learn.fit(2, cbs=At(3, kill(signal.SIGINT), 1, rank_invariant))
    at = learn.count.opt_steps
    learn.resume()
    res['int'] = at,equal(state_of(learn), want)
    learn = mk(kind, .4)
    with pytest.raises(Terminated):
        learn.fit(2, cbs=[CheckpointCallback(root/'term', every_epochs=9), At(4, kill(signal.SIGTERM), 1, rank_invariant)])
    at = learn.count.opt_steps
    res['term'] = at,steps_in(root/'term'),equal(state_of(fit(root/'term', kind, drop=.4)), want)
    learn = mk(kind, .4)
    def _late(cb):
        if cb.learn.team.rank: os.kill(os.getpid(), signal.SIGTERM)
    with pytest.raises(Terminated): learn.fit(2, cbs=Callback(after_fit=_late))
    res['late'] = equal(state_of(learn), want)
    return res

@pytest.mark.parametrize('kind,rank_invariant', [('ddp',True), ('fsdp',False)])
def test_case_80_a_signal_to_one_process_reaches_all(kind, rank_invariant, tmp_path):
    "At once if processes meet between batches; else at the end of a pass, or after about 50 ms"
    res = same(together(told, tmp_path, kind, rank_invariant))
    steps,exact = res['usr1']
    assert exact and len(steps)==2 and 3<=steps[0]<=(9 if rank_invariant else 3) and steps[-1]==12
    at,exact = res['int']
    assert exact and 3<=at<=(9 if rank_invariant else 3)
    at,steps,exact = res['term']
    assert exact and steps==[at] and 4<=at<=(6 if rank_invariant else 4)
    assert res['late']

# ---- saving

class NoSave(Callback):
    "Cancels saving in one process"
    def __init__(self, rank): self.rank = rank
    def before_save(self):
        if self.learn.team.rank==self.rank: raise CancelSaveException

class Full:
    "A disk that is full after `n` files"
    def __init__(self, n): self.n,self.close = n,storage.HashingFile.close
    def __enter__(self):
        def _close(f):
            self.n -= 1
            if self.n<0: raise OSError(errno.ENOSPC, 'No space left on device')
            return self.close(f)
        storage.HashingFile.close = _close
    def __exit__(self, *_): storage.HashingFile.close = self.close

def saves(root, kind):
    "Return the results of saving, by name"
    res,want = {},state_of(fit(None, kind, drop=.4))
    learn = fit(root/'cancelled', kind, drop=.4, cbs=[NoSave(1)])
    res['cancelled'] = steps_in(root/'cancelled')==[] and equal(state_of(learn), want)
    for k in (kind=='ddp',):  # in the background
        with Full(18): res[f'full, {k}'] = ending(partial(fit, root/f'full{k}', kind, drop=.4, background=k))
        first = steps_in(root/f'full{k}')
        res[f'again, {k}'] = len(first)>1 and [o.damage for o in list_checkpoints(root/f'full{k}')]==['']*len(first)
        res[f'on, {k}'] = equal(state_of(fit(root/f'full{k}', kind, drop=.4)), want)
    learn = fit(None, kind, n=2, drop=.4)
    was,c = state_of(learn),learn.save_checkpoint(root/'one')
    res['file'] = learn.save(root/'weights').name
    learn.export(root/'export')
    learn.save(f := io.BytesIO())
    f.seek(0)
    other = mk(kind)
    def _like(o): return equal(weights(o), was['weights']) and equal(state_of(o)['opt'], was['opt'])
    res['load'] = _like(other.load(root/'weights'))
    res['load from memory'] = _like(mk(kind).load(f))
    res['load_checkpoint'] = [equal(state_of(mk(kind).load_checkpoint(o)), was) for o in (c, root/'one')]
    load_export(root/'export', plain := mk().model)
    res['export'] = equal(dict(plain.state_dict()), was['weights'])
    learn = mk(kind, cbs=[EMA(.8)])
    learn.fit(1)
    learn.save(root/'averaged')
    def _averages(o): return {k:whole(v) for k,v in o.ema.averages.items()}
    res['averages'] = [equal(_averages(mk(how, cbs=[EMA(.8)]).load(root/'averaged')), _averages(learn)) for how in (kind, None)]
    best = SaveModelCallback(fname='best', monitor='valid_loss')
    learn = fit(None, kind, cbs=[best], path=root)
    res['best'] = best.best==min(v[1] for v in learn.recorder.values) and (root/'best.pth').is_file()
    return res

@pytest.mark.parametrize('kind', ['ddp', 'fsdp'])
def test_case_79_saving_works_and_a_full_disk_is_an_error_in_all(kind, tmp_path):
    a,b = together(saves, tmp_path, kind)
    for k in (kind=='ddp',):
        mine,theirs = a.pop(f'full, {k}'),b.pop(f'full, {k}')
        assert mine[0]=='OSError' and 'No space left' in mine[1], mine
        assert theirs[0]=='PeerError' and 'rank 0 failed: OSError' in theirs[1] and 'No space left' in theirs[1], theirs
    assert same([a, b])==dict(cancelled=True, file='weights.pth', load=True, averages=[True, True], export=True, best=True,
        load_checkpoint=[True, True]) | {f'again, {k}':True, f'on, {k}':True, 'load from memory':True}
    assert sorted(o.name for o in tmp_path.iterdir() if o.is_file())==['averaged.pth', 'best.pth', 'export.safetensors', 'weights.pth']

# ---- errors and kills of one process

def resumes_exactly(folder, kind):
    return equal(state_of(fit(folder, kind, drop=.4)), state_of(fit(None, kind, drop=.4)))

def fails(folder, kind, where):
    learn = mk(kind, .4)
    how = (lambda: boom()) if where!='killed' else kill(signal.SIGKILL)
    cbs = [CheckpointCallback(folder, every_steps=2, keep=None), At(7, how, 1, rank_invariant=where!='meets')]
    res = ending(partial(learn.fit, 2, cbs=cbs, keep_failed=where=='kept'))
    again = ending(learn.resume)
    replayed = ending(lambda: [*learn.replay_batch().grads]) if where=='kept' else None
    return res,again,replayed

def case(kind, where, folder):
    try: return together(fails, folder, kind, where)
    except PeerError as e: return str(e)

@pytest.mark.parametrize('kind,where', [('ddp','meets'), ('ddp','kept'), ('fsdp','kept'), ('ddp','killed')])
def test_case_74_an_error_of_one_process_leaves_the_last_checkpoint(kind, where, tmp_path):
    "No torn file is left, and a process can still replay its batch alone"
    folder,res = tmp_path/'run',case(kind, where, tmp_path/'run')
    if where=='killed': assert 'rank 1 was killed by SIGKILL' in res
    else:
        (a,again,replayed),(b,_,mine) = res
        assert b[:2]==('ValueError', 'boom') and a[0]=='PeerError' and 'rank 1 failed: ValueError: boom' in a[1]
        assert again[0]=='RuntimeError' and 'one process failed' in again[1]
        if where=='kept' and kind=='ddp': assert replayed==mine==['0.weight', '0.bias', '2.weight', '2.bias']
        elif where=='kept': assert mine[0]=='RuntimeError' and 'use to_ddp' in mine[1]
    assert steps_in(folder)==[2, 4, 6] and not [*folder.glob('torn-*')] and not [*folder.glob('.tmp-*')]
    assert same(together(resumes_exactly, folder, kind))

def dies(folder, kind):
    "The first process is killed while it writes the fourth checkpoint"
    class Die(Full):
        def __enter__(self):
            super().__enter__()
            write = storage.HashingFile.close
            def _close(f):
                try: return write(f)
                except OSError: os.kill(os.getpid(), signal.SIGKILL)
            storage.HashingFile.close = _close
    with Die(17) if os.environ['RANK']=='0' else nullcontext(): fit(folder, kind, drop=.4)

def test_case_78_a_process_killed_during_a_save_leaves_earlier_checkpoints(tmp_path):
    folder = tmp_path/'run'
    with pytest.raises(PeerError, match='rank 0 was killed by SIGKILL'): together(dies, folder, 'ddp')
    assert steps_in(folder)==[1, 2, 3] and len([*folder.glob('.tmp-*')])==1
    assert same(together(resumes_exactly, folder, 'ddp')) and not [*folder.glob('.tmp-*')]

def apart(root):
    "Try to resume with a separate disk for each process, where different runs were saved"
    learn,folder = mk('ddp'),root/os.environ['RANK']/'run'
    return ending(partial(learn.fit, 2, resume=folder)),ending(partial(learn.load_checkpoint, folder)),learn.team.broken

def test_case_83_processes_with_different_checkpoints_raise_an_error(tmp_path):
    for r in '01': part(tmp_path/r/'run', None, 4)
    for *errors,is_broken in together(apart, tmp_path):
        assert not is_broken, 'not all processes raise it'
        for kind,text in errors: assert kind=='ValueError' and 'is not the same for all processes' in text

# ---- files of several processes

def sharded(root):
    want = state_of(fit(None, 'fsdp', drop=.4))
    def _fit(cbs=(), **kw):
        learn = mk('sharded', .4)
        learn.fit(2, cbs=[CheckpointCallback(root/'run', every_steps=1, keep=None, **kw), *cbs], resume=root/'run')
        return equal(state_of(learn), want)
    with pytest.raises(Stop): _fit([ForAll(8, stop)])
    files = sorted(list_checkpoints(root/'run')[-1].manifest['files'])
    with Full(4): full = ending(partial(_fit, background=True))
    return _fit(),files,full,want

def alone_from(folder):
    learn = mk().load_checkpoint(folder)
    return state_of(learn)

def test_each_process_writes_its_part(tmp_path):
    (exact,files,full,want),(b,_,theirs,_) = together(sharded, tmp_path)
    assert exact and b
    assert [o for o in files if 'distcp' in o or 'shards' in o]==['__0_0.distcp', '__1_0.distcp', 'shards.json']
    assert full[0]=='OSError' and theirs[0]=='PeerError', (full, theirs)
    last = list_checkpoints(tmp_path/'run')[-1]
    assert not last.damage and last.manifest['version']==3 and not [*(tmp_path/'run').glob('.tmp*')]
    with pytest.warns(UserWarning, match='not exact: the run had 2 processes and has one process'): assert equal(alone_from(last), want)
    file = last.path/'__1_0.distcp'
    file.write_bytes(bytes([o^(i==50) for i,o in enumerate(file.read_bytes())]))
    with pytest.raises(ValueError, match='__1_0.distcp is damaged'): alone_from(last)
