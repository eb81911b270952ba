"A fit with rewinds is bit-identical to one without the abandoned parts"
import os, random
from copy import copy
import pytest, torch
from benchmarks.disk import Disk, Watch, lay_out
from fastcore.basics import noop
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset, Sampler
from learnloop import (
    EMA, Callback, CancelBatchException, CancelStepException, CancelTrainException, CheckpointCallback, GradientAccumulation, Learner,
    Place, RewindException, Snapshots, UncaughtCancelError, newest_checkpoint)

X = torch.randn(40, 4, generator=torch.Generator().manual_seed(1))
N = 5  # batches of an epoch

class Noisy(Dataset):
    def __len__(self): return len(X)
    def __getitem__(self, i): return X[i]+.01*torch.randn(4),X[i].sum()[None]

def mk(cbs=None, **kwargs):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.Dropout(.2), nn.ReLU(), nn.Linear(8, 1))
    learn = Learner((DataLoader(Noisy(), 8, **dict(shuffle=True) | kwargs), [(X, X.sum(1, True))]), model, F.mse_loss, lr=.02, cbs=cbs)
    learn.logger = noop
    return learn

class Back(Callback):
    "Goes back in `event` of a place, once"
    read_only = True
    def __init__(self, event, at, rank=None, **how): self.event,self.at,self.rank,self.how,self.came,self.done = event,at,rank,how,[],False
    def after_rewind(self): self.came.append(self.learn.place)
    def go(self):
        learn = self.learn
        if self.done or (learn.epoch, learn.n_done)!=self.at or self.rank not in (None, learn.team.rank): return
        self.done = True
        learn.rewind(**self.how)

for _e in ('before_epoch between_batches after_fetch before_batch after_pred after_loss before_step after_opt_step cleanup_step after_batch after_train before_validate '
    'after_validate after_epoch cleanup_epoch').split(): setattr(Back, _e, lambda self, e=_e: self.go() if e==self.event else None)

class Halve(Callback):
    "Halves the rate from a place on"
    order,run_valid = 61,False
    def __init__(self, at): self.at = at
    def before_batch(self):
        if (self.learn.epoch, self.learn.iter)>=self.at:
            for g in self.learn.opt.param_groups: g['lr'] *= .5

def left_by(learn):
    rec = learn.recorder
    return ([*learn.model.state_dict().values()], [v for s in learn.opt.state.values() for v in s.values()], torch.tensor(rec.losses),
        torch.tensor([v or 0. for o in rec.values for v in o], dtype=torch.float64), torch.tensor([*vars(learn.count).values()]), torch.get_rng_state())

def fitted(*cbs, own=(), **kwargs):
    learn = mk(**kwargs)
    learn.fit_one_cycle(3, cbs=[*own, *cbs])
    return learn

# ---- equal to the fit without the detour

@pytest.fixture(scope='module')
def plain():
    learn = fitted()
    return learn,left_by(learn)

def flat(parts): return [t for o in parts for t in (o if isinstance(o, list) else [o])]
def equal(learn, ref): return all(torch.equal(*o) for o in zip(flat(left_by(learn)), flat(ref), strict=True))

EVENTS = [('between_batches', 3), ('after_fetch', 3), ('after_loss', 3), ('before_step', 3), ('after_opt_step', 3), ('cleanup_step', 3), ('after_batch', 3), ('after_train', 5), ('before_validate', 5),
    ('after_validate', 1), ('after_epoch', 1), ('cleanup_epoch', 1)]

PLACES = [Place(0), Place(0, 'train', 3), Place(1), Place(1, 'train', 2), Place(1, 'validate'), Place(2)]

@pytest.mark.parametrize('event,n,to', [(*o, to) for i,o in enumerate(EVENTS) for to in PLACES[i%2::3]][::4])
def test_a_fit_can_rewind_from_any_event_to_any_place(event, n, to, plain):
    learn = fitted(Snapshots(4, keep=9), back := Back(event, (2, n), to=to))
    assert back.done and back.came==[Place(1, 'train', N) if to.next=='validate' else to]
    assert equal(learn, plain[1])

OWN = dict(accumulation=lambda: [GradientAccumulation(24)], ema=lambda: [EMA(.9)], workers=list)

@pytest.mark.parametrize('own', OWN)
def test_a_rewind_with_half_the_rate(own, plain):
    kwargs = dict(workers=dict(num_workers=2)).get(own, {})
    ref = fitted(Halve((1, 2)), own=OWN[own](), **kwargs)
    state = left_by(ref)
    lr = plain[0].recorder.hps['lr'][N+2]/2
    learn = fitted(Snapshots(4, keep=9), back := Back('after_batch', (2, 1), batches=4, lr=lr), own=OWN[own](), **kwargs)
    assert back.came==[Place(1, 'train', 2)] and equal(learn, state)

@pytest.mark.parametrize('to', [o for o in PLACES if o.next!='validate'])
def test_a_rewind_works_with_steps_per_epoch(to):
    def _fit(*cbs):
        learn = mk()
        learn.fit(3, steps_per_epoch=N+2, cbs=cbs)
        return learn
    back = Back('after_batch', (2, 3), to=to)
    learn = _fit(Snapshots(4, keep=9), back)
    assert back.came==[to] and equal(learn, left_by(_fit()))

class Short(Callback):
    "Ends the first epoch after three batches"
    def before_batch(self):
        if self.learn.training and (self.learn.epoch, self.learn.iter)==(0, 3): raise CancelTrainException

@pytest.mark.parametrize('steps,batches', [(N+2, 11), (None, 7)])
def test_a_resumed_fit_rewinds_across_epochs_of_other_lengths(steps, batches, tmp_path):
    "In another process, only the checkpoint knows how many batches the earlier epochs had"
    def _fit(folder, *cbs, **kwargs):
        learn = mk()
        learn.fit(3, steps_per_epoch=steps, cbs=[CheckpointCallback(tmp_path/folder, every_steps=2, keep=99), *([] if steps else [Short()]), *cbs], **kwargs)
        return learn
    def _back(): return Back('after_batch', (2, 1), batches=batches)
    whole = _fit('whole', one := _back())
    def stop(cb):
        if cb.learn.epoch==2: raise Killed
    with pytest.raises(Killed): _fit('parts', Callback('stop', after_batch=stop))
    two = _back()
    learn = _fit('parts', two, resume=tmp_path/'parts', accept=['callbacks'])
    assert two.came==one.came and len(two.came)==1 and equal(learn, left_by(whole))

# ---- programs of rewinds, cancels, validations and kills

CANCELS = CancelBatchException,CancelStepException,CancelTrainException

class Program(Callback):
    "Cancels and validations by place, and rewinds, each once, at places and events that were drawn"
    def __init__(self, seed, goes_back):
        r = random.Random(seed)
        self.cancels = {(r.randrange(2), r.randrange(3)):r.choice(CANCELS) for _ in range(r.randrange(3))}
        self.looks = {(r.randrange(2), r.randrange(3)) for _ in range(r.randrange(2))}
        self.backs = {(r.choice(['between_batches','after_loss','after_batch','after_validate']), r.randrange(2), r.randrange(3)):r.randrange(1, 6)
            for _ in range(r.randrange(1, 4))} if goes_back else {}
        self.kills = {(r.choice(['after_loss','after_batch','after_validate']), r.randrange(2), r.randrange(3)) for _ in range(r.randrange(1, 4))}
    def between_batches(self):
        if (self.learn.epoch, self.learn.n_done) in self.looks: self.learn.validate()
    def before_batch(self):
        if self.learn.training and (c := self.cancels.get((self.learn.epoch, self.learn.iter))) and c is not CancelStepException: raise c
    def before_step(self):
        if self.cancels.get((self.learn.epoch, self.learn.iter)) is CancelStepException: raise CancelStepException

class Killed(Exception): "Ends a fit as a kill does, but for clean-ups"

class Backs(Program):
    order,is_killed = 70,False
    def before_fit(self): self.been = set()
    def _go(self, event):
        learn = self.learn
        key = next((k for k in self.backs if k[:2]==(event, learn.epoch) and (event=='after_validate' or k[2]==learn.n_done)), None)
        if learn.inside('evaluate'): return
        if self.is_killed and (at := (event, learn.epoch, learn.n_done if event!='after_validate' else 0)) in self.kills:
            self.kills.remove(at)
            raise Killed
        if key is None or not self.been: return
        been = sorted(o for o in self.been if o<=(learn.epoch, learn.fit_state.train_pass.n_done))
        e,n = been[-min(self.backs.pop(key), len(been))]
        learn.rewind(to=Place(e, 'train', n))
    def between_batches(self):
        super().between_batches()
        self.been.add((self.learn.epoch, self.learn.n_done))
        self._go('between_batches')
    def after_loss(self):
        if self.learn.training: self._go('after_loss')
    def after_batch(self):
        if self.learn.training: self._go('after_batch')
    def after_validate(self): self._go('after_validate')

def ran(cb, *cbs, **kwargs):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 2), nn.Dropout(.2), nn.Linear(2, 1))
    learn = Learner(([(x, x.sum(1, True)) for x in X.split(14)], [(X, X.sum(1, True))]), model, F.mse_loss, lr=.02)
    learn.logger = noop
    learn.fit_one_cycle(2, cbs=[*cbs, cb], **kwargs)
    return learn

@pytest.mark.parametrize('seed', range(0, 120, 40))
def test_random_programs_of_detours_end_as_without_them(seed, tmp_path):
    for i in range(seed, seed+(40 if os.environ.get('ALL_CASES') else 8)):
        ref = left_by(ran(Program(i, False)))
        learn = ran(Backs(i, True), Snapshots(1+i%4, keep=20))
        assert equal(learn, ref), i
        if i%4==0: assert equal(killed(Backs(i, True), tmp_path/str(i)), ref), i

def killed(cb, folder):
    "Kill the process and start it again until one finishes; return its result. Each process knows what `cb` has done"
    cb.is_killed = True
    while True:
        again = copy(cb)
        again.learn = None
        try: return ran(again, CheckpointCallback(folder, every_steps=1, keep=20), Snapshots(2, keep=20), resume=folder)
        except Killed: pass

# ---- changes

class Again(Callback):
    "Rewinds with changes, in a fit and after it, each once, at places that were drawn"
    order,run_valid = 70,False
    def __init__(self, seed):
        r = random.Random(seed)
        changes = [lambda: dict(lr=r.uniform(.001, .02)), lambda: dict(wd=r.uniform(0, .5)), lambda: dict(skip_batches=r.randint(1, 3)),
            lambda: dict(skip_rows=r.sample(range(40), 9)), lambda: dict(lr=.003, skip_batches=1)]
        self.backs = {n:dict(batches=r.randint(1, 4), **r.choice(changes)()) for n in sorted(r.sample(range(4, 3*N+1), 4))}
        self.at,self.every = r.choice(['between_batches','after_loss','after_batch']),r.choice([1, 2, 4, 99])
    def _go(self, event):
        n = self.learn.epoch*N+self.learn.n_done
        if event==self.at and n in self.backs: raise RewindException(**self.backs.pop(n))
    def between_batches(self): self._go('between_batches')
    def after_loss(self): self._go('after_loss')
    def after_batch(self): self._go('after_batch')

class Straight(Callback):
    "Makes the changes of `rewinds` at their places, without going back"
    order,run_valid = -99,False
    def __init__(self, rewinds): self.rewinds = rewinds
    def between_batches(self):
        for o in self.rewinds:
            if o['batches']==self.learn.count.batches:
                for k in o['changes'].keys() & {'lr','wd'}: self.learn.set_hypers(**{k:o['changes'][k]})
    def before_batch(self):
        learn = self.learn
        now = [(learn.count.batches-o['batches'], o['changes']) for o in self.rewinds if o['batches']<=learn.count.batches]
        if any(i<o.get('skip_batches', 0) for i,o in now): raise CancelBatchException
        keep = [i for i,k in enumerate(learn.rows) if not any(k in o.get('skip_rows', ()) for _,o in now)]
        if not keep: raise CancelBatchException
        learn.xb,learn.yb,learn.bs = (learn.xb[0][keep],),(learn.yb[0][keep],),len(keep)

@pytest.mark.every(3)
@pytest.mark.parametrize('seed', range(12))
def test_each_rewind_keeps_the_changes_of_earlier_ones(seed, tmp_path):
    again,learn = Again(seed),mk()
    last = {k:again.backs.pop(k) for k in [max(again.backs)] if seed%2}
    savers = [CheckpointCallback(tmp_path, every_steps=4, keep=99)]*(seed%4==0)
    learn.fit(3, cbs=[again, Snapshots(again.every, keep=99), *savers])
    for o in last.values(): learn.rewind(**o).resume()
    attempts = [o['attempt'] for o in learn.keeper.rewinds]
    assert attempts==sorted({*attempts}) and attempts[-1]==4-len(again.backs)
    ref = mk()
    ref.fit(3, cbs=Straight(learn.keeper.rewinds))
    assert equal(learn, left_by(ref))

# ---- refused

def test_impossible_rewinds_are_refused():
    def go(**kwargs): return lambda cb: cb.learn.rewind(**kwargs)
    def at_3(how): return Callback(after_batch=lambda cb: cb.learn.rewind(**how) if cb.learn.training and cb.learn.iter==3 else None)
    for error,message,how,cbs in ((ValueError, 'can only go back', dict(to=Place(2)), [Snapshots(2)]), (ValueError, 'has trained on fewer', dict(batches=99), [Snapshots(2)]),
        (ValueError, 'unknown hyper-parameter', dict(batches=1, lrr=1), [Snapshots(2)]), (ValueError, 'use fit\\(cbs=Snapshots', dict(batches=1), []), (ValueError, 'give one of them', {}, []),
        (RuntimeError, 'would repeat forever', dict(batches=2), [Snapshots(2)])):
        with pytest.raises(error, match=message): mk().fit(1, cbs=[*cbs, at_3(how)])
    for e in ('before_fit', 'after_fit', 'cleanup_fit'):
        with pytest.raises(UncaughtCancelError, match='RewindException'): mk().fit(1, cbs=[Snapshots(2), Callback(**{e:go(batches=1)})])
    learn = mk()
    learn.dls.train = iter([(X, X.sum(1, True))]*3)
    with pytest.raises(ValueError, match='returns each training batch only once'): learn.fit(1, cbs=Snapshots(2))
    with pytest.raises(RuntimeError, match='no fit to rewind'): mk().rewind(batches=1)

# ---- between fits

def test_a_rewind_after_the_fit(plain):
    learn = fitted(Snapshots(4, keep=9))
    learn.rewind(to=Place(1, 'train', 2))
    assert learn.count.batches==N+2
    learn.resume()
    assert equal(learn, plain[1])

# ---- on disk

def test_a_run_killed_around_a_rewind_never_resumes_in_the_abandoned_part(tmp_path, plain):
    "After each operation on files around a rewind, and the run that resumes ends like one that was left alone"
    lr,done = plain[0].recorder.hps['lr'][N+1]/2,set()
    ref = left_by(fitted(Halve((1, 1))))
    (root := tmp_path/'run').mkdir()
    def cbs(folder): return [CheckpointCallback(folder, every_steps=2), Back('between_batches', (1, 4), batches=3, lr=lr)]
    with Watch(root) as w: mk().fit_one_cycle(3, cbs=cbs(root))
    disk,committed = Disk(w.log),False
    for i in range(len(w.log)+1):
        (folder := tmp_path/str(i)).mkdir()
        lay_out(disk.tree([o for part in disk.upto(i) for o in part]), folder)
        c = newest_checkpoint(folder)
        if c is None: continue
        assert committed<=c.attempt  # once it is there, it stays
        committed = committed or bool(c.attempt)
        if (c.attempt, c.step) in done or c.step not in (6, 8): continue
        done.add((c.attempt, c.step))
        learn = mk()
        learn.fit_one_cycle(3, cbs=cbs(folder) if not c.attempt else cbs(folder)[:1], resume=folder)
        assert equal(learn, ref), (i, c)
    assert {(0, 8), (1, 6)}<=done, done

# ---- loaders

class ByEpoch(Sampler):
    "Shuffles by the epoch from `set_epoch`, as torch's `DistributedSampler` does"
    epoch = 0
    def set_epoch(self, epoch): self.epoch = epoch
    def __len__(self): return len(X)
    def __iter__(self): return iter(torch.randperm(len(X), generator=torch.Generator().manual_seed(self.epoch)).tolist())

@pytest.mark.parametrize('to', [Place(0, 'train', 3), Place(1, 'train', 2)])
def test_samplers_get_the_epoch_of_the_rewind(to):
    own = dict(shuffle=False, sampler=ByEpoch())
    learn = fitted(Snapshots(4, keep=9), back := Back('after_loss', (2, 3), to=to), **own)
    assert back.done and equal(learn, left_by(fitted(**own)))

class Cached(Noisy):
    "Keeps each item, with its noise"
    def __init__(self): self.items = {}
    def __getitem__(self, i):
        if i not in self.items: self.items[i] = super().__getitem__(i)
        return self.items[i]
class Counts(Noisy):
    "Items depend on the number of earlier reads"
    n = 0
    def __getitem__(self, i):
        self.n += 1
        return X[i]+self.n/100,X[i].sum()[None]

@pytest.mark.parametrize('where', ['train', 'valid'])
@pytest.mark.parametrize('ds', [Cached, Counts])
@pytest.mark.parametrize('saves', [Snapshots, CheckpointCallback])
def test_a_fit_that_cannot_rewind_exactly_warns(saves, ds, where, tmp_path):
    learn = mk()
    setattr(learn.dls, where, DataLoader(ds(), 8))
    with pytest.warns(UserWarning, match='^DataLoader: .*so a resumed fit will not be exact'), learn.no_bar():
        learn.fit(2, cbs=saves(*[tmp_path] if saves is CheckpointCallback else []))
