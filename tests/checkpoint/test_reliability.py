"""Failures in training and their results: 84 numbered cases. Names of tests in all files contain the numbers

Control flow: 1 a cancel of the batch in each of its events, 2 of the epoch in `after_epoch`, 3 of the fit around it, 4 in an evaluation, 5 of a batch where
there is none, 6 of the other part, 7 of the step too early, 8 an error in `after_cancel_…`, 9 in each event, 10 in two clean-ups, 11 a fit in a fit, 12 an
evaluation in a batch, 13 callbacks that come and go, 14 names that are taken, 15 misspelt events, 16 `n_epoch` and loaders changed on the way, 17 a set-up
that fails, 18 a fit after all that, 19 threads.

Data: 20 nothing to train on, 21 to validate on, 22 no length, 23 an iterator that is exhausted, 24 kinds of batches, 25 no targets, 26 a last batch of one,
27 items that differ, 28 `StopIteration` in an item, 29 a wrong length, 30 an error in a worker, 31 one that is killed, 32 that hangs, 33 data that changed,
34 targets that don't fit.

Numbers: 35 a loss of NaN, 36 gradients that overflow, 37 a metric of NaN, 38 a loss that can't be trained on, 39 an optimizer that can't train, 40 NaN in a window.

Checkpoints: 41 truncated, 42 a flipped bit, 43 zeros, 44 manifests, 45 all damaged, 46 another model, 47 optimizer, 48 callbacks, 49 version, 50 state that
can't be saved, 51 hostile files, 52 killed while saving, 53 best and oldest, 54 leftovers, 55 two at once, 56 a failure in the background, 57 weights that change
meanwhile, 58 exact in every setting, 59 stopped anywhere, 60 other workers and batches, 61 tied weights, buffers, EMA, 62 other devices.

Processes: 63 Ctrl-C, 64 in the optimizer, 65 SIGTERM, 66 SIGKILL, 67 a full disk, 68 folders that can't be used, 69 a power cut, 70 TMPDIR, 71 no memory for a copy,
72 none for a batch, 73 clocks."""
from contextlib import nullcontext
import gc, multiprocessing, re, shutil, threading, weakref
from copy import deepcopy
from functools import partial
from multiprocessing.connection import wait
from pathlib import Path
import pytest, torch
from helpers import FIT, Spec, TRAIN, VALID, all_events, batches, check, covering, mk_learner, players, quiet, same, usual_events
from learnloop import (Checks, Callback, CancelBatchException, CancelEpochException, CancelFitException, CancelStepException, CancelTrainException,
    EMA, Learner, UncaughtCancelError, before_batch_cb, mse, newest_checkpoint)
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset

X,Y = TRAIN[0]
WAIT = 60  # seconds within which a worker must have ended; never waited for otherwise

def test_every_case_has_a_test():
    found = set()
    for f in Path(__file__).parents[1].rglob('test_*.py'):
        for s in re.findall(r'^def test_cases?_((?:\d+_|to_|and_)+)', f.read_text(), re.M):
            ns = [int(o) for o in re.findall(r'\d+', s)]
            found.update(range(ns[0], ns[1]+1) if '_to_' in s else ns)
    assert found==set(range(1, 85)), found ^ set(range(1, 85))

# --- control flow

momentum = partial(torch.optim.SGD, momentum=.9)

def spied(acts, events=None, cbs=(), **kwargs):
    "A learner with a callback that acts, by (event, n-th call), and the events that it heard"
    trace = []
    spec = Spec('a', events=tuple(events or all_events(FIT)))
    return mk_learner([*players([spec], {('a', *k):v for k,v in acts.items()}, trace), *cbs], opt_func=momentum, **kwargs),trace

def heard(trace, e): return sum(o[0]==e for o in trace)

def is_as_new(learn):
    "Check that the learner trains like a new one with the same weights and optimizer state"
    for cb in [o for o in learn.cbs if type(o).__name__!='TrainEvalCallback']: learn.remove_cb(cb)
    fresh = mk_learner(opt_func=learn.opt_func)
    fresh.model.load_state_dict(learn.model.state_dict())
    if learn._opt: fresh.create_opt().load_state_dict(deepcopy(learn.opt.state_dict()))
    for o in (learn, fresh): o.fit(2)
    assert same(learn.model, fresh.model) and learn.open==[] and learn.exception is None
    return True


def test_case_7_a_step_cannot_be_cancelled_before_it_has_begun():
    learn,_ = spied({('before_backward', 1): CancelStepException})
    with pytest.raises(UncaughtCancelError, match='CancelStepException was raised by A in before_backward.*raise .*CancelBackwardException there'): learn.fit(1)

@pytest.mark.parametrize('x,exc', [('batch', CancelBatchException), ('epoch', CancelEpochException), ('fit', CancelFitException)])
def test_case_8_an_error_that_follows_a_cancel_shows_both(x, exc):
    learn,trace = spied({(f'before_{x}', 1): exc, (f'after_cancel_{x}', 1): ValueError('the second')})
    with pytest.raises(ValueError, match='the second') as e: learn.fit(1)
    assert isinstance(e.value.__context__, exc) and heard(trace, f'cleanup_{x}')==heard(trace, 'cleanup_fit')==1
    assert is_as_new(learn)

@covering(who=['a', 'b'], e=usual_events(FIT))
def test_case_9_an_error_says_where_it_comes_from(e, who):
    learn = mk_learner(players([Spec('a'), Spec('b', order=1)], {(who, e, 1): (err := KeyError('mine'))}, []))
    with pytest.raises(KeyError) as info: learn.fit(1)
    note, = (o for o in err.__notes__ if 'learnloop: in ' in o)
    assert info.value is err and note.startswith(f'learnloop: in {who.title()}.{e}') and info.traceback[-1].name=='act'
    assert ('epoch 0' in note)==('cleanup_fit'!=e) or 'fit' in e
    assert (', batch 0 of training' in note)==(e in ('after_pred', 'after_loss', 'after_opt_step') or e.split('_', 1)[1] in ('batch', 'turn', 'backward', 'step', 'zero_grad'))
    assert is_as_new(learn)

class Mute(Exception):
    def __str__(self): raise ZeroDivisionError
class Odd:
    dtype = property(lambda self: 1/0)
    shape = ()

@pytest.mark.parametrize('e', ['before_fit', 'after_pred', 'cleanup_batch', 'after_fit'])
def test_case_9_an_error_that_cannot_be_described_is_raised(e):
    learn,trace = spied({(e, 1): Mute()}, dls=([(X, Y, Odd())], None), loss_func=lambda pred, *y: pred.sum())
    learn.dls.n_inp = 1
    with pytest.raises(Mute): learn.fit(1)
    assert heard(trace, 'cleanup_fit')==1 and heard(trace, 'after_exception')==1

@pytest.mark.parametrize('e', ['after_batch', 'cleanup_batch', 'cleanup_step', 'after_fetch', 'cleanup_fetch'])
def test_case_9_an_error_that_is_gone_holds_nothing(e):
    batch = []
    def look(cb):
        if cb.learn.batch is not None: batch.append(weakref.ref(cb.learn.batch[0]))
        raise KeyError('mine')
    learn,_ = spied({(e, 1): look}, dls=(((X.clone(), Y.clone()) for _ in range(2)), None))
    gc.disable()
    try:
        try: learn.fit(1)
        except KeyError as err: assert err.args==('mine',)
        assert all(o() is None for o in batch)
    finally: gc.enable()

def test_case_13_callbacks_come_and_go_within_an_event():
    heard = []
    def cb(name, order, f=None):
        def before_batch(self):
            heard.append(name)
            if f and heard.count(name)==1: f(self.learn)
        res = Callback(name=name, before_batch=before_batch)
        res.order = order
        return res
    c = cb('c', 3)
    def leave(learn): learn.remove_cb(learn.a)
    def change(learn): learn.remove_cb(c).add_cb(cb('new', 0))
    learn = mk_learner([cb('a', 1, leave), cb('b', 2, change), c, cb('d', 4)], dls=(TRAIN[:2], None))
    learn.fit(1)
    assert heard==['a', 'b', 'd', 'new', 'b', 'd']  # a removed callback is not called, none is skipped, and a new one waits for the next event

@pytest.mark.parametrize('cbs,said', [((cb := Callback(name='one'), cb), 'one'), ((Callback(name='one'), Callback(name='one')), "two callbacks named 'one': Callback"), ((Callback(name='model'),), "would be 'model', which is an attribute of the learner")])
def test_case_14_names_that_are_taken_are_refused(cbs, said):
    learn = mk_learner()
    with pytest.raises(ValueError, match=said): learn.add_cbs(cbs)
    assert len(learn.cbs)==1 and is_as_new(learn)

def test_case_16_changes_during_a_fit_take_effect():
    learn,trace = spied({('after_epoch', 1): lambda cb: setattr(cb.learn, 'n_epoch', 3), ('before_train', 2): lambda cb: setattr(cb.learn, 'dl', TRAIN[:1]),
        ('after_epoch', 2): lambda cb: setattr(cb.learn.dls, 'train', batches(5))})
    learn.fit(2, cbs=Checks())
    assert heard(trace, 'before_epoch')==3 and learn.count.opt_steps==3+1+5

# --- data

class Items(Dataset):
    "Eight points on a line; `f(i)` may do something about number `i`, and give something else"
    def __init__(self, f=lambda i: None, n=8): self.f,self.n = f,n
    def __len__(self): return self.n
    def __getitem__(self, i):
        if i>=self.n: raise IndexError(i)
        res = self.f(i)
        return (torch.tensor([1., i/4]),torch.tensor([i/8.])) if res is None else res

def loader(f=lambda i: None, n=8, **kwargs): return DataLoader(Items(f, n), **dict(batch_size=2)|kwargs)
def at(i, f): return lambda j: f() if i==j else None
def fit(*dls, **kwargs):
    learn = mk_learner(dls=dls if len(dls)>1 else (*dls, None), defaults=True, **kwargs)
    return quiet(learn, 1)

@pytest.mark.parametrize('dl,said', [(lambda: loader(n=0), 'DataLoader over 0 items, batch_size=2, drop_last=False yielded no batch'),
    (lambda: loader(n=3, batch_size=4, drop_last=True), 'DataLoader over 3 items, batch_size=4, drop_last=True yielded no batch: use a smaller batch_size or drop_last=False'),
    (lambda: [], 'list yielded no batch')])
def test_case_20_nothing_to_train_on(dl, said):
    with pytest.raises(ValueError, match=f'the training loader is empty: {said}'): fit(dl())

@pytest.mark.parametrize('dl', [lambda: loader(n=0), lambda: [], lambda: iter([])])
def test_case_21_an_empty_validation_loader_warns_and_is_not_nan(dl):
    with pytest.warns(UserWarning, match='nothing was evaluated: .*(yielded no batch|exhausted)'): learn = fit(TRAIN, dl())
    assert learn.recorder.values[0][1] is None and learn.count.batches==3
    with pytest.warns(UserWarning, match='nothing was evaluated'): assert learn.validate(dl=dl())==[None]

def test_case_22_a_loader_without_a_length_is_enough_except_for_schedules():
    def stream(): yield from TRAIN
    assert same(fit(stream()).model, fit(TRAIN).model)
    learn = mk_learner(dls=(stream(), None))
    with pytest.raises(ValueError, match='generator, has no length.*max_steps or steps_per_epoch'): learn.fit_one_cycle(1)
    learn.dls.train = stream()
    learn.fit_one_cycle(1, max_steps=3)
    assert learn.count.opt_steps==3

def test_case_23_a_generator_is_exhausted_after_an_epoch():
    learn = mk_learner(dls=((o for o in TRAIN), None))
    with pytest.raises(ValueError, match='epoch 1: the training loader generator is an exhausted iterator: pass a list or a DataLoader'): learn.fit(2, cbs=Checks())
    assert learn.count.batches==3

SPLIT = r'all elements but the last are inputs \(xb\), unless DataLoaders\(…, n_inp=…\) gives their number'
@pytest.mark.parametrize('b,said', [(dict(x=X), r"unexpected keyword argument 'x'(.|\n)*xb \(\{'x': float32 \(4, 2\)\}\), yb \(\)(.|\n)*the model gets a dict by keyword"),
    ((X, X, Y), rf'2 positional arguments but 3 were given(.|\n)*xb \(float32 \(4, 2\), float32 \(4, 2\)\), yb \(float32 \(4, 1\)\)(.|\n)*{SPLIT}'),
    (((X, X), Y), rf"must be Tensor, not tuple(.|\n)*xb \(\(float32 \(4, 2\), float32 \(4, 2\)\)\)(.|\n)*{SPLIT}"), (((), Y), rf'must be Tensor, not tuple(.|\n)*{SPLIT}'), (3, rf'xb \(int\)(.|\n)*{SPLIT}')])
def test_case_24_a_batch_that_does_not_fit_is_shown_and_how_to_split_it(b, said):
    with pytest.raises(TypeError, match=said): fit([b])

@pytest.mark.parametrize('b,said', [((X, None), r'yb \(None\)'), ((None, None), r'xb \(None\)'), (X, rf"missing 1 required positional argument: 'target'(.|\n)*yb \(\)(.|\n)*{SPLIT}"),
    ((X,), r'yb \(\)')])
def test_case_25_targets_that_are_missing(b, said):
    with pytest.raises((TypeError,AttributeError), match=said): fit([b])

def test_case_26_a_last_batch_that_is_smaller():
    learn = fit(TRAIN, [(X, Y), (X[:1], Y[:1])])
    with torch.no_grad(): want = F.mse_loss(learn.model(torch.cat([X, X[:1]])), torch.cat([Y, Y[:1]]))
    assert abs(learn.recorder.values[0][1]-want.item())<1e-6  # a mean over items, in float32
    with pytest.raises(ValueError, match=r'more than 1 value per channel when training(.|\n)*xb \(float32 \(1, 2\)\)'):
        fit(loader(n=3), model=nn.Sequential(nn.BatchNorm1d(2), nn.Linear(2, 1)))

def ended(f):
    "Return the error of `f()` and its text; while it exists, no worker process does"
    before = set(multiprocessing.active_children())
    with pytest.raises(Exception) as e: f()
    for o in set(multiprocessing.active_children())-before: assert wait([o.sentinel], WAIT), 'a worker is left'
    return e.value,'\n'.join([str(e.value), *getattr(e.value, '__notes__', ())])

WORKERS = pytest.mark.parametrize('workers', [0, 2])
@WORKERS
def test_case_27_items_that_differ_are_named(workers):
    def odd(): return torch.ones(3),torch.ones(1)
    e,said = ended(lambda: fit(loader(at(5, odd), num_workers=workers)))
    assert isinstance(e, RuntimeError) and 'equal size' in said and 'fetching items 4 to 5' in said and 'got 2 of 4 batches of training' in said

@WORKERS
@pytest.mark.parametrize('kw', [{}, dict(steps_per_epoch=3), dict(max_steps=3)], ids=str)
def test_case_28_a_stop_iteration_of_an_item_is_an_error(workers, kw):
    learn = mk_learner(dls=(loader(at(3, lambda: next(iter([]))), num_workers=workers), None))
    e,said = ended(lambda: learn.fit(None if kw.get('max_steps') else 1, **kw))
    assert isinstance(e, RuntimeError) and isinstance(e.__cause__, StopIteration) and 'would take it for the end of the data' in said
    assert ('item 3, of ' in said)==(not workers) and 'items 2 to 3' in said and re.search(r'got 1 of (4|\?) batches', said) and learn.count.batches==1

class Counted(list):
    def __len__(self): return 4

@pytest.mark.parametrize('n', [3, 5])
def test_case_29_a_wrong_length_warns(n):
    with pytest.warns(UserWarning, match=f'the loader has a length of 4 but returned {n} batches'): learn = fit(Counted(batches(n)))
    assert learn.count.batches==n
    with pytest.warns(UserWarning, match=f'the loader has a length of 4 but returned {n} batches'): learn.validate(dl=Counted(batches(n)))

@pytest.mark.parametrize('workers,persistent', [(0, False), (2, False), (2, True)])
def test_case_30_an_error_in_a_worker_keeps_its_type_and_ends_the_workers(workers, persistent):
    dl = loader(at(3, lambda: {}['key']), num_workers=workers, persistent_workers=persistent)
    if persistent:
        with pytest.raises(KeyError, match='key'): fit(dl)
        return dl._iterator._shutdown_workers()
    e,said = ended(lambda: fit(dl))
    assert type(e) is KeyError and 'key' in said and 'items 2 to 3' in said and ('item 3' in said)==(not workers)

def test_case_32_a_worker_that_hangs_is_an_error_in_time(monkeypatch):
    cls = torch.utils.data.dataloader._MultiProcessingDataLoaderIter
    get = cls._try_get_data  # on a busy machine, a worker may need more than a second to start
    monkeypatch.setattr(cls, '_try_get_data', lambda self, timeout: get(self, timeout if self._rcvd_idx else 100))
    _,said = ended(lambda: fit(loader(at(3, threading.Event().wait), num_workers=2, timeout=1)))
    assert 'timed out after 1 second' in said and 'got 1 of 4 batches' in said

@pytest.mark.parametrize('b,loss,said', [((X, Y[:,0]), lambda p,y: F.cross_entropy(p.repeat(1, 3), y), r'yb \(float32 \(4\)\), pred float32 \(4, 1\)'),
    ((X, torch.zeros(4, 1).long()), F.binary_cross_entropy_with_logits, r'yb \(int64 \(4, 1\)\), pred float32 \(4, 1\)'), ((X, torch.zeros(3, 1)), F.mse_loss, r'yb \(float32 \(3, 1\)\), pred float32 \(4, 1\)')])
def test_case_34_targets_that_do_not_fit_are_shown(b, loss, said):
    with pytest.raises(Exception, match=rf'batch 0 of training, xb \(float32 \(4, 2\)\), {said}'): fit([b], loss_func=loss)

def test_case_34_devices_are_shown():
    away = before_batch_cb(lambda self, xb, yb: (xb, (yb[0].to('meta'),)))
    with pytest.raises(RuntimeError, match=r'batch 0 of training, xb \(float32 \(4, 2\)\), yb \(float32 \(4, 1\) meta\), pred float32 \(4, 1\)'): fit(TRAIN, cbs=[away])

# --- checkpoints

@pytest.mark.parametrize('version,n,suffixes', [(1, 1, {'.pt', '.json'}), (2, 50, {'.pt', '.json', '.f64', '.i64'})])
def test_case_49_a_checkpoint_of_an_older_layout_can_be_resumed(version, n, suffixes, tmp_path):
    """`mk().fit(1, resume=folder)` wrote it. Later versions must be able to read it

    That of layout 2 was written with `Series.part = 70`, then loaded and saved by hand: closed parts of the history have their own files."""
    def mk(): return mk_learner([EMA(.5)], dls=(TRAIN*n, VALID), defaults=True, opt_func=torch.optim.AdamW, metrics=mse)
    shutil.copytree(Path(__file__).parent/f'layout_{version}', tmp_path/'run')
    c = newest_checkpoint(tmp_path/'run')
    assert c.manifest['version']==version and {Path(o).suffix for o in c.manifest['files']}==suffixes
    check(dict(mk().load_checkpoint(tmp_path/'run').model.state_dict()), dict(torch.load(c.path/'model.pt', weights_only=True)))
    learn,whole = quiet(mk(), 2, resume=tmp_path/'run'),quiet(mk(), 2)
    for a,b in zip(learn.model.parameters(), whole.model.parameters(), strict=True): assert torch.allclose(a, b, rtol=1e-5)  # rounding of another machine
    assert learn.recorder.raw_losses==pytest.approx(whole.recorder.raw_losses, rel=1e-3, abs=1e-9) and len(learn.recorder.values)==2
    assert learn.recorder.lrs==whole.recorder.lrs and len(learn.recorder.lrs)==learn.count.opt_steps==2*len(TRAIN)*n

# --- passes within passes, and their iterators

@pytest.mark.parametrize('exc', [CancelTrainException, CancelEpochException, CancelFitException])
def test_workers_end_with_the_pass_that_is_cancelled(exc):
    left,before,x = [],set(multiprocessing.active_children()),dict(CancelTrainException='train', CancelEpochException='epoch', CancelFitException='fit')[exc.__name__]
    def count(cb): left.append(set(multiprocessing.active_children())-before)
    learn,_ = spied({('after_batch', 2): exc, (f'after_cancel_{x}', 1): count}, dls=(loader(num_workers=2), None))
    learn.fit(1)
    assert left==[set()]

def test_a_loader_is_closed_in_the_thread_that_opened_it():
    closed = []
    def rows():
        try: yield from TRAIN
        finally: closed.append(threading.current_thread())
    learn,_ = spied({('after_batch', 2): KeyError('mine')}, dls=(rows(), None))
    other = iter(loader(num_workers=1))
    with pytest.raises(KeyError): learn.fit(1)
    learn.dls.train = learn.dl = None
    gc.collect()
    other._shutdown_workers()
    assert closed==[threading.main_thread()]

# --- numbers

@pytest.mark.parametrize('loss,exc,said', [(lambda p,y: (p-y)**2, ValueError, r'the loss has shape \(4, 1\), but backward needs a scalar'), (lambda p,y: F.mse_loss(p, y).detach(), ValueError, r'the loss, float32 \(\), does not require gradients: it was detached'),
    (lambda p,y: (p>y).sum(), ValueError, r'the loss, int64 \(\), does not require gradients'), (lambda p,y: 5, TypeError, 'the loss is 5, a int: loss_func must return a tensor'), (lambda p,y: None, ValueError, 'no loss: loss_func returned None')])
def test_case_38_a_loss_that_cannot_be_trained_on(loss, exc, said):
    with pytest.raises(exc, match=said): fit(TRAIN, loss_func=loss)

@pytest.mark.parametrize('kw,said', [(dict(model=nn.Identity()), 'none of the 0 parameters'), (dict(model=nn.Linear(2, 1).requires_grad_(False)), 'requires gradients: call `requires_grad_'),
    (dict(model=nn.Linear(2, 1).requires_grad_(False), opt_func=torch.optim.SGD(nn.Linear(2, 1).requires_grad_(False).parameters(), lr=.1)), 'none of the 2 parameters in the optimizer')])
def test_case_39_an_optimizer_that_cannot_train(kw, said):
    learn = mk_learner(**kw)
    with pytest.raises(ValueError, match=said): learn.fit(1)
    assert learn.count.batches==0

@pytest.mark.filterwarnings('ignore:no parameter has a gradient')
def test_case_39_an_optimizer_of_another_model():
    "Copies of weights in another precision may be meant, so they are no error"
    for dtype in (torch.float32, torch.float64):
        opt,err = torch.optim.SGD(nn.Linear(2, 1, dtype=dtype).parameters(), lr=.1),ValueError if dtype is torch.float32 else ()
        with (pytest.raises(err, match='train nothing') if err else nullcontext(),
            pytest.warns(UserWarning, match='2 parameters .* in no group, so they never train: weight, bias')):
            fit(TRAIN, opt_func=opt)

# --- memory

class Hungry(nn.Linear):
    "Holds a lot of one batch, and then wants more than any machine has"
    held = None
    def forward(self, x):
        pred = super().forward(x)
        if self.held is None:
            big = torch.zeros(1000)+pred.sum()
            self.held = weakref.ref(x),weakref.ref(pred),weakref.ref(big)
            return pred+torch.empty(2**60)
        return pred

def test_case_72_an_error_raised_from_out_of_memory_holds_no_memory():
    ref = []
    def loss(pred, y):
        ref.append(weakref.ref(pred))
        try: return torch.empty(2**60)
        except RuntimeError as e: raise ValueError('mine') from e
    with pytest.raises(ValueError, match='mine') as e: fit(TRAIN, loss_func=loss)
    assert ref[0]() is None and e.value.__cause__ is not None

def test_case_72_an_error_that_caused_itself_ends():
    def loss(pred, y):
        try: return torch.empty(2**60)
        except RuntimeError as e: raise e from e
    with pytest.raises(RuntimeError, match='allocate'): fit(TRAIN, loss_func=loss)

@pytest.mark.parametrize('run', [partial(Learner.fit, n_epoch=1), Learner.validate, Learner.get_preds])
def test_case_72_out_of_memory_is_explained_and_frees_the_batch(run):
    model = Hungry(2, 1)
    learn = mk_learner(dls=[(x.clone(), y) for x,y in TRAIN], model=model)
    learn.dls.valid = learn.dls.train
    gc.disable()
    try:
        with pytest.raises(RuntimeError, match="can't allocate memory") as e: run(learn)
        assert [o() for o in model.held[1:]]==[None, None]  # while the error is there, as in a notebook
    finally: gc.enable()
    said = '\n'.join(e.value.__notes__)
    assert 'xb (float32 (4, 2))' in said and 'learn.find_batch_size' in said
    learn.fit(1)
    assert learn.count.batches==3
