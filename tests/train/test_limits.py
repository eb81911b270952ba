"Limits of batches, rehearsals, sanity checks and the search for a batch size, compared to shorter loops and runs without them"
import gc, multiprocessing, weakref
from functools import cache
import pytest, torch
from helpers import Module, TRAIN, VALID, act, batches, cover, covering, ending, listener, mk_learner, quiet, same
from learnloop import (
    Callback, CancelFitException, DetectAnomaly, Deterministic, FastDevRun, LimitBatches, OverfitBatches, ReloadLoaders,
    SanityCheck, ShortEpochCallback, event, on)
from learnloop.train.limits import FirstBatches
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, IterableDataset, TensorDataset

@cache
def rows(n, seed=0): return TensorDataset(*(torch.cat(o) for o in zip(*batches(n, seed=seed), strict=True)))

class Stream(IterableDataset):
    def __init__(self, n): self.n = n
    def __iter__(self): return iter(batches(self.n))

LOADERS = dict(list=batches, loader=lambda n: DataLoader(rows(n), batch_size=4), stream=lambda n: DataLoader(Stream(n), batch_size=None))
SHARES  = [(None, 7), (1, 1), (3, 3), (7, 7), (9, 7), (.3, 3), (1/7, 1), (.001, 1), (1., 7)]

class Seen(Callback):
    "Counts batches by phase, with what `pct_train` and `n_iter` were"
    order = 99
    def __init__(self): self.trained,self.validated,self.pcts,self.lens = [],[],[],[]
    def before_train(self): self.trained.append(0)
    def before_validate(self): self.validated.append(0)
    def after_batch(self):
        (self.trained if self.learn.training else self.validated)[-1] += 1
        if self.learn.training:
            self.pcts.append(self.learn.pct_train)
            self.lens.append(self.learn.n_iter)

@pytest.mark.parametrize('n,want', SHARES[1:])
def test_first_batches_has_the_length_that_it_yields(n, want):
    few = FirstBatches(batches(7), n)
    assert len(few)==len(list(few))==want==len(list(few))

# ---- The first batches of a loader

@pytest.mark.parametrize('n', [True, 0, -1, 0., -.1, 1.1, '2', None, float('nan')])
def test_bad_limits(n):
    with pytest.raises(ValueError, match='must be a number of batches'): FirstBatches(TRAIN, n)
    with pytest.raises(ValueError, match='n is'): OverfitBatches(n)
    if n is None: return
    with pytest.raises(ValueError, match='valid is'): LimitBatches(valid=n)

@pytest.mark.parametrize('pct', [0, 2, True, -.1, 'x', None])
def test_bad_pct(pct):
    with pytest.raises(ValueError, match='pct is'): ShortEpochCallback(pct)

# ---- Fewer batches

@pytest.mark.parametrize('kind', LOADERS)
@pytest.mark.parametrize('n,want', SHARES)
def test_limits_shorten_epochs_and_validations(kind, n, want):
    mk = LOADERS[kind]
    learn,seen = mk_learner(dls=(mk(7), mk(7)), defaults=True),Seen()
    run = lambda: quiet(learn, 3, cbs=[LimitBatches(n, n), seen])
    if isinstance(n, float) and kind=='stream':
        with pytest.raises(ValueError, match='has no length'): run()
        assert seen.trained==[] and learn.count.batches==0
        return
    if kind=='stream' and n==9:
        with pytest.warns(UserWarning, match='length of 9 but returned 7'): run()
        return
    run()
    assert seen.trained==seen.validated==[want]*3
    if kind=='stream' and n is None: return
    assert seen.pcts==pytest.approx([(i+1)/(3*want) for i in range(3*want)])  # one sum, one product
    assert seen.lens==[want]*3*want

def test_max_steps_counts_within_the_limit():
    learn,seen = mk_learner(dls=(batches(7), VALID)),Seen()
    learn.fit(max_steps=5, cbs=[LimitBatches(2), seen])
    assert seen.trained==[2, 2, 1] and learn.count.opt_steps==5
    assert seen.pcts==pytest.approx([.2, .4, .6, .8, 1.])
    quiet(learn := mk_learner(dls=(batches(7), VALID)), max_steps=3, cbs=[ShortEpochCallback(.9), seen := Seen()])
    assert seen.trained==[3]

ENDS = [None, CancelFitException, ValueError, KeyboardInterrupt]

@pytest.mark.parametrize('e', [None, KeyboardInterrupt])
def test_worker_processes_end_with_the_fit(e):
    dl = DataLoader(rows(8), batch_size=4, num_workers=1)
    learn = mk_learner(dls=(dl, dl))
    ending(lambda: learn.fit(2, cbs=[LimitBatches(2, 2), Callback(after_batch=lambda cb: act(cb, e) if cb.learn.epoch else None)]))
    gc.collect()
    assert multiprocessing.active_children()==[]

# ---- The same batches

def test_overfit_leaves_other_evaluations_alone():
    learn = mk_learner(cbs=[OverfitBatches(), seen := Seen()], defaults=True, dls=(TRAIN, batches(5, seed=1)))
    inside = []
    with learn.no_logging(): learn.fit(1, cbs=Callback(after_train=lambda cb: inside.append((cb.learn.validate(), cb.learn.get_preds()[0].shape))))
    assert seen.validated[-1]==1 and inside[0][1]==(20, 1)
    assert seen.validated[0]==5
    learn.validate()
    assert seen.validated[-1]==5

# ---- A rehearsal

@pytest.mark.parametrize('kwargs,want', [(dict(n_epoch=5), [0]), (dict(n_epoch=5, start_epoch=3), [3]), (dict(n_epoch=3, start_epoch=3), []), (dict(max_steps=50), [0])])
def test_a_rehearsal_is_the_first_epoch_of_the_fit(kwargs, want):
    epochs = []
    mk_learner().fit(**kwargs, cbs=[FastDevRun(), Callback(before_epoch=lambda cb: epochs.append(cb.epoch))])
    assert epochs==want

# ---- Validation first

def rich_model():
    "With buffers and dropout, so that modes and random numbers matter"
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return nn.Sequential(nn.Linear(2, 8), nn.BatchNorm1d(8), nn.Dropout(.3), nn.Linear(8, 1))

class Counter(Callback):
    "State that evaluations change, and a filter"
    def __init__(self): self.n,self.heard = 0,[]
    def state_dict(self): return dict(Callback.state_dict(self), n=self.n)
    def load_state_dict(self, sd):
        Callback.load_state_dict(self, sd)
        self.n = sd['n']
    def after_batch(self): self.n += 1
    @on(event.before_batch, every=3)
    def third(self): self.heard.append((self.learn.epoch, self.learn.iter, self.learn.training))

def checked_run(cbs, n_epoch=3):
    torch.manual_seed(1)
    dl = DataLoader(rows(8), batch_size=4, shuffle=True)
    valid = DataLoader(rows(5, seed=2), batch_size=4, shuffle=True)
    learn = mk_learner(dls=(dl, valid), model=rich_model(), defaults=True, metrics=[F.l1_loss], cbs=[counter := Counter()])
    quiet(learn, n_epoch, cbs=cbs)
    return learn,counter,torch.get_rng_state()

@pytest.mark.every(2)
@pytest.mark.parametrize('n', [1, 2, 5, -1])
def test_a_sanity_check_changes_nothing(n):
    "Lightning #6988: validation before the first epoch changed the shuffling of the training set"
    (a,ca,ra),(b,cb,rb) = checked_run([]),checked_run([check := SanityCheck(n), seen := Seen()])
    assert seen.validated[0]==(5 if n==-1 else n)
    assert same(a.model, b.model) and torch.equal(ra, rb) and (ca.n, ca.calls)==(cb.n, cb.calls)
    assert vars(a.count)==vars(b.count) and a.recorder.state_dict()==b.recorder.state_dict() and a.final_record==b.final_record
    assert len(check.result)==2

@covering(what=[ValueError, KeyboardInterrupt], e=['before_sanity', 'before_batch', 'after_loss', 'after_validate', 'cleanup_sanity'])
def test_error_in_a_sanity_check_is_heard_and_cleaned_up(e, what):
    "fastNLP runs it outside of its try: neither on_exception nor on_train_end came"
    trace = []
    learn = mk_learner(model=rich_model())
    hear = listener('hear', ['before_fit', 'before_sanity', 'after_exception', 'cleanup_sanity', 'cleanup_fit'], lambda cb, e: trace.append(e), order=-5)
    with pytest.raises(what): learn.fit(1, cbs=[SanityCheck(), hear, listener('boom', [e], lambda cb, _: act(cb, what))])
    assert trace.count('after_exception')==1 and trace[-1]=='cleanup_fit' and trace.count('cleanup_sanity')==1
    assert learn.open==[] and not learn.training and [o.name for o in learn.cbs]==['train_eval']
    learn.fit(1)

@pytest.mark.parametrize('resumed,start,want', [(False, 0, 1), (True, 0, 1), (False, 2, 0), (True, 2, 1)])
def test_a_resumed_fit_is_checked_if_asked_for(resumed, start, want):
    learn,ran = mk_learner(),[]
    learn.fit(3, start_epoch=start, cbs=[SanityCheck(resumed=resumed), Callback(before_sanity=lambda cb: ran.append(1))])
    assert len(ran)==want

def test_a_one_shot_loader_is_not_eaten_up():
    with pytest.raises(ValueError, match='would use up the list_iterator'): mk_learner(dls=(TRAIN, iter(VALID))).fit(1, cbs=SanityCheck())

# ---- Loaders that change

@pytest.mark.parametrize('every,start,want', [(1, 0, [0, 1, 2, 3, 4]), (2, 0, [0, 2, 4]), (2, 3, [3, 4]), (9, 0, [0])])
def test_loaders_are_reloaded_every_few_epochs(every, start, want):
    learn,made = mk_learner(dls=(TRAIN, VALID)),[]
    def f(learn):
        made.append(learn.epoch)
        return batches(learn.epoch+1)
    learn.fit(5, start_epoch=start, cbs=[ReloadLoaders(every, f), seen := Seen()])
    assert made==want and seen.trained==[max(o for o in made if o<=e)+1 for e in range(start, 5)]
    assert learn.dls.train is TRAIN and learn.dls.valid is VALID and set(seen.validated)=={2}

@pytest.mark.parametrize('args,e', [((0, len), ValueError), ((1.5, len), ValueError), ((True, len), ValueError), ((1, 3), TypeError)])
def test_bad_reloads(args, e):
    with pytest.raises(e, match='must be'): ReloadLoaders(*args)

# ---- Anomalies, determinism

def flags(): return (torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled(), torch.are_deterministic_algorithms_enabled(),
    torch.is_deterministic_algorithms_warn_only_enabled(), torch.backends.cudnn.benchmark)

@pytest.mark.parametrize('found,e,cls,arg', cover((found, e, *o) for found in (False, True) for e in [*ENDS, 'remove']
    for o in [(DetectAnomaly, True), (DetectAnomaly, False), (Deterministic, True)]))
def test_switches_are_put_back(cls, arg, e, found):
    learn,seen,cb = mk_learner(),[],cls(arg)
    i = 2*(cls is Deterministic)
    with torch.autograd.set_detect_anomaly(found):
        torch.backends.cudnn.benchmark = found
        before = flags()
        def stop(o):
            seen.append(flags())
            if e=='remove': learn.remove_cb(cb)
            else: act(o, e)
        ending(lambda: learn.fit(1, cbs=[cb, Callback(after_pred=stop)]))
        assert flags()==before and seen[0][i:i+2]==(True, arg)
        learn.validate(cbs=cb)
        assert flags()==before
    torch.backends.cudnn.benchmark = False

# ---- The largest batch

class Bounded(Module):
    "Has room for `room` items, in training alone as backward takes most of the memory"
    def __init__(self, room): self.net,self.room,self.refs = rich_model(),room,[]
    def forward(self, x):
        self.refs.append(weakref.ref(x))
        if len(x)>self.room: raise torch.OutOfMemoryError('CUDA out of memory')
        return self.net(x)

def dl_of(n=64, **kwargs): return lambda bs: DataLoader(rows(n), batch_size=bs, **kwargs)

@pytest.mark.every(2)
@pytest.mark.parametrize('room,start,max_bs,want', [(100, 2, 8192, 64), (64, 2, 8192, 64), (63, 2, 8192, 32), (100, 3, 8192, 96), (2, 2, 8192, 2), (100, 2, 16, 16), (100, 2, 20, 16)])
def test_the_largest_size_is_found(room, start, max_bs, want):
    assert mk_learner(model=Bounded(room)).find_batch_size(dl_of(), start, max_bs)==want

@pytest.mark.parametrize('kwargs,start,match', [({}, 64, 'is more than the first batch has, 40'), (dict(drop_last=True), 64, 'without a batch')])
def test_a_start_beyond_the_data_is_an_error(kwargs, start, match):
    with pytest.raises(ValueError, match=match): mk_learner().find_batch_size(dl_of(10, **kwargs), start)

@pytest.mark.parametrize('start', [0, -1, 1.5, 99999])
def test_bad_start(start):
    with pytest.raises(ValueError, match='start is'): mk_learner().find_batch_size(dl_of(), start)

@pytest.mark.parametrize('fitted', [False, True])
@pytest.mark.parametrize('opt', ['class', 'instance'])
@pytest.mark.parametrize('safe', [False, True])
def test_the_search_leaves_no_trace(fitted, opt, safe):
    def mk():
        torch.manual_seed(0)
        model = Bounded(30)
        f = torch.optim.Adam if opt=='class' else torch.optim.Adam(model.parameters(), lr=.1)
        learn = mk_learner(model=model, opt_func=f, defaults=True, cbs=[cb := Counter()], metrics=[F.l1_loss])
        cb.safe_in_evaluate = safe
        if fitted: quiet(learn, 2)
        return learn,cb
    (a,ca),(b,cb) = mk(),mk()
    ps = list(b.model.parameters())
    b.model.net[0].weight.grad = grad = torch.ones(8, 2)
    rng,counts,calls,names = torch.get_rng_state(),dict(vars(b.count)),dict(cb.calls),[o.name for o in b.cbs]
    assert b.find_batch_size(dl_of(shuffle=True))==16
    assert torch.equal(torch.get_rng_state(), rng) and vars(b.count)==counts and cb.calls==calls and ca.n==cb.n
    assert all(p is q for p,q in zip(ps, b.model.parameters(), strict=True)) and b.model.net[0].weight.grad is grad
    assert [o.name for o in b.cbs]==names and same(a.model, b.model) and a.recorder.state_dict()==b.recorder.state_dict()
    assert (a._opt is None)==(b._opt is None)==(not fitted)
    assert [getattr(a, k) for k in ('epoch','n_epoch','pct_train','train_iter')]==[getattr(b, k) for k in ('epoch','n_epoch','pct_train','train_iter')]
    b.model.net[0].weight.grad = None
    for o in (a, b):
        torch.manual_seed(5)
        quiet(o, 2)
    assert same(a.model, b.model) and a.recorder.values==b.recorder.values

def test_no_search_within_a_fit():
    with pytest.raises(RuntimeError, match='inside a fit'): mk_learner().fit(1, cbs=Callback(before_epoch=lambda cb: cb.learn.find_batch_size(dl_of())))
