"The learner: weights of hand-written loops, kinds of batches and loaders, evaluation without side effects, bad input, no references kept"
import gc, math, random, weakref
from collections import UserDict, namedtuple
from contextlib import suppress
from copy import deepcopy
from functools import partial
from types import SimpleNamespace
import numpy as np, pytest, torch
from helpers import LR, Module, TRAIN, VALID, batches, covering, ending, listener, mk_learner, mk_model, plainly, same, silent, weights
from learnloop import (Callback, CancelBatchException, CancelEpochException, CancelFitException, CancelStepException, CancelTrainException,
    Checks, DataLoaders, DictMetric, Learner, TrainEvalCallback, accuracy, before_batch_cb,
    MSELossFlat, event, on)
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, IterableDataset, TensorDataset

# Weights

def deep_model(seed=0):
    "Layers that differ between training and evaluation, that weight decay leaves alone, and a bare parameter"
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return nn.Sequential(nn.Linear(2, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(.3), nn.Linear(8, 4), nn.LayerNorm(4), nn.Linear(4, 1))

def decay_groups(model, wd):
    "Biases and norms, which are not to decay, apart from the rest"
    off = [p for m in model.modules() for n,p in m.named_parameters(recurse=False) if n=='bias' or 'Norm' in type(m).__name__]
    rest = [p for p in model.parameters() if not any(p is o for o in off)]
    return [dict(params=rest, weight_decay=wd), dict(params=off, weight_decay=0.)]

def shuffling(n=22, bs=4, seed=0):
    "Shuffling loader with a ragged last batch, and one for validation; all of it drawn from the global generator"
    x = torch.randn(n, 2, generator=torch.Generator().manual_seed(seed))
    ds = TensorDataset(x, x.sum(1, keepdim=True))
    return DataLoader(ds, bs, shuffle=True),DataLoader(ds, bs)

def by_hand(model, opt, train, valid, n_epoch, step=None):
    "The loop that one writes by hand"
    losses = []
    for _ in range(n_epoch):
        model.train()
        for i,(x,y) in enumerate(train):
            loss = F.mse_loss(model(x), y)
            loss.backward()
            if step is None or step(i):
                opt.step()
                opt.zero_grad()
            losses.append(loss.item())
        model.eval()
        with torch.no_grad():
            for x,y in valid: F.mse_loss(model(x), y)
    return losses

OPTS = dict(sgd=(torch.optim.SGD, dict(lr=.1)), momentum=(torch.optim.SGD, dict(lr=.01, momentum=.9)),
    nesterov=(torch.optim.SGD, dict(lr=.01, momentum=.9, nesterov=True)),
    sgd_wd=(torch.optim.SGD, dict(lr=.1, weight_decay=.1)), adamw=(torch.optim.AdamW, dict(lr=.01, weight_decay=.1)), adam=(torch.optim.Adam, dict(lr=.01)),
    rmsprop=(torch.optim.RMSprop, dict(lr=.01, momentum=.5)))

@pytest.mark.every(2)
@pytest.mark.parametrize('name', OPTS)
def test_weights_equal_those_of_a_hand_written_loop(name):
    cls,kw = OPTS[name]
    model,other = deep_model(),deep_model()
    wd = kw.get('weight_decay', cls([torch.zeros(1)], lr=1.).defaults['weight_decay'])
    torch.manual_seed(1)
    losses = by_hand(model, cls(decay_groups(model, wd), **kw), *shuffling(), n_epoch=3)
    torch.manual_seed(1)
    got = []
    learn = mk_learner([Callback('rec', after_batch=lambda cb: got.append(cb.loss.item()) if cb.training else None)], dls=shuffling(), model=other,
        opt_func=partial(cls, **{k:v for k,v in kw.items() if k!='lr'}), lr=kw['lr'])
    learn.fit(3)
    assert same(model, other)  # the buffers of BatchNorm, too
    assert got==losses and len(got)==18

def test_fits_in_a_row_are_one_long_one():
    one,two = mk_learner(opt_func=partial(torch.optim.SGD, momentum=.9)),mk_learner(opt_func=partial(torch.optim.SGD, momentum=.9))
    one.fit(4)
    two.fit(1)
    two.fit(3)
    assert same(one.model, two.model) and vars(one.count)==vars(two.count)
    two.fit(1, reset_opt=True)
    one.fit(1)
    assert not same(one.model, two.model)

def test_loss_is_a_detached_copy_of_loss_grad():
    seen = []
    class Edit(Callback):
        def after_loss(self):
            seen.append((self.loss.requires_grad, self.loss.item()==self.loss_grad.item(), self.loss.data_ptr()!=self.loss_grad.data_ptr()))
            if self.training: self.learn.loss_grad *= 2
        def after_batch(self): seen.append(self.loss.item())
    model = mk_model()
    learn = mk_learner([Edit], dls=(TRAIN[:1], None))
    learn.fit(1)
    x,y = TRAIN[0]
    loss = F.mse_loss(model(x), y)
    (2*loss).backward()
    torch.optim.SGD(model.parameters(), lr=LR).step()
    assert seen==[(False, True, True), loss.item()] and same(model, learn.model)

# Attributes and counters

@pytest.mark.parametrize('kw,want', [
    (dict(max_steps=5), dict(epochs=2, opt_steps=5)), (dict(max_steps=2), dict(epochs=1, opt_steps=2)),
    (dict(n_epoch=1, max_steps=9), dict(epochs=1, opt_steps=3)),
    (dict(n_epoch=3, steps_per_epoch=2), dict(epochs=3, opt_steps=6)), (dict(n_epoch=2, steps_per_epoch=5), dict(epochs=2, opt_steps=10)),
    (dict(max_steps=5, steps_per_epoch=2), dict(epochs=3, opt_steps=5)), (dict(max_steps=3), dict(epochs=1, opt_steps=3))])
def test_limits_in_steps(kw, want):
    ran = []
    learn = mk_learner([Callback('v', after_validate=lambda cb: ran.append(cb.pct_train))])
    learn.fit(**kw)
    assert {k:vars(learn.count)[k] for k in want}==want and len(ran)==want['epochs']
    assert learn.pct_train==pytest.approx(1.) or kw.get('max_steps', 0)>want['opt_steps']
    learn.fit(1)
    assert learn.count.opt_steps==want['opt_steps']+3  # nothing of the limit is left

def test_steps_are_real_ones():
    "An accumulated batch is no step"
    class Skip(Callback):
        def before_step(self):
            if self.iter%2==0: raise CancelStepException
    learn = mk_learner([Skip], dls=(batches(8), None))
    learn.fit(max_steps=3)
    assert vars(learn.count)==dict(epochs=1, batches=6, opt_steps=3, samples=24)

# Batches and loaders

Pair = namedtuple('Pair', 'a b')
class Dot(Module):
    "Takes an input in any of several ways"
    def __init__(self):
        self.w = nn.Parameter(torch.ones(2))
    def forward(self, a, b=None):
        if isinstance(a, dict): a,b = a['a'],a['b'][0]
        return (a*self.w).sum(-1) + (0 if b is None else b.sum(-1))
class OwnLoss(Dot):
    "Returns its own loss, as Hugging Face's models do"
    def __init__(self, how):
        super().__init__()
        self.how = how
    def forward(self, a, labels=None):
        out = dict(logits=(p := super().forward(a)), loss=None if labels is None else (p-labels).square().mean())
        return out if self.how=='dict' else SimpleNamespace(**out)

A,B,Y = torch.ones(3, 2),torch.full((3, 2), 2.),torch.zeros(3)
def mse(pred, y): return F.mse_loss(pred, y)
def no_targets(pred): return pred.square().mean()

@pytest.mark.parametrize('batch,loss_func,xb,yb', [
    pytest.param((A, Y), mse, (A,), (Y,), id='tuple'), pytest.param([A, Y], mse, (A,), (Y,), id='list'),
    pytest.param((A, B, Y), mse, (A, B), (Y,), id='two inputs'), pytest.param(A, no_targets, (A,), (), id='tensor'),
    pytest.param((A,), no_targets, (A,), (), id='tuple of one'), pytest.param(dict(a=A, b=B), no_targets, (dict(a=A, b=B),), (), id='dict'),
    pytest.param(Pair(A, Y), mse, (A,), (Y,), id='namedtuple'), pytest.param((dict(a=A, b=[B]), Y), mse, (dict(a=A, b=[B]),), (Y,), id='nested')])
def test_kinds_of_batches(batch, loss_func, xb, yb):
    seen = []
    learn = mk_learner([Callback('see', before_batch=lambda cb: seen.append((cb.xb, cb.yb, cb.bs)))], dls=([batch]*2, [batch]), model=Dot(), loss_func=loss_func)
    learn.fit(1)
    assert learn.count.opt_steps==2 and learn.count.samples==6
    for got in seen: torch.testing.assert_close(got, (xb, yb, 3), rtol=0, atol=0)

@pytest.mark.parametrize('how', ['dict', 'attribute'])
@pytest.mark.parametrize('loss_func', [None, lambda pred: 1/0])
def test_model_with_its_own_loss(how, loss_func):
    model = OwnLoss(how)
    learn = mk_learner(dls=([dict(a=A, labels=Y)], [dict(a=A)] if loss_func is None else None), model=model, loss_func=loss_func)
    learn.fit(1)
    a = torch.ones(2, requires_grad=True)
    ((A*a).sum(-1)-Y).square().mean().backward()
    assert torch.equal(model.w, torch.ones(2)-LR*a.grad)

class Stream(IterableDataset):
    def __iter__(self): yield from ((x[0], y[0]) for x,y in TRAIN)

@pytest.mark.parametrize('mk,n,n_iter', [(lambda: TRAIN, 3, 3), (lambda: (b for b in TRAIN), 3, None), (lambda: DataLoader(Stream(), 2), 2, None),
    (lambda: map(tuple, TRAIN), 3, None), (lambda: DataLoader(TensorDataset(*TRAIN[0]), 3), 2, 2),
    (lambda: DataLoader(TensorDataset(*TRAIN[0]), 3, drop_last=True), 1, 1)],
    ids=['list', 'generator', 'stream', 'iterator', 'loader', 'drop_last'])
def test_kinds_of_loaders(mk, n, n_iter):
    seen = []
    learn = mk_learner([Callback('see', after_batch=lambda cb: seen.append((cb.n_iter, cb.pct_train)))], dls=(mk(), None))
    learn.fit(1)
    assert learn.count.batches==n and {o for o,_ in seen}=={n_iter}
    if n_iter: assert seen[-1][1]==pytest.approx(1.)

# Evaluation leaves things as they were

class Noisy(Callback):
    "Draws from all generators, and counts, in evaluation"
    n = 0
    def state_dict(self): return dict(n=self.n)
    def load_state_dict(self, sd): self.n = sd['n']
    @on(event.after_batch, every=100)
    def never(self): pass
    def before_batch(self):
        if not self.training:
            self.n += 1
            random.random()
            np.random.rand()  # noqa: NPY002
            torch.rand(1)

def state(learn):
    "What an evaluation must not change"
    attrs = 'dl', 'n_iter', 'iter', 'bs', 'batch', 'pred', 'loss', 'loss_grad', 'training', 'epoch', 'n_epoch', 'train_iter', 'pct_train', 'final_record'
    return dict({k:id(getattr(learn, k)) if k in ('dl', 'batch', 'pred', 'loss', 'loss_grad', 'final_record') else getattr(learn, k) for k in attrs},
        xb=[id(o) for o in learn.xb or ()], yb=[id(o) for o in learn.yb or ()], outcome=dict(learn.outcome), count=dict(vars(learn.count)),
        modes=[m.training for m in learn.model.modules()], grads=[p.grad is None for p in learn.model.parameters()],
        params=[o.numpy().tobytes() for o in weights(learn.model)], open=list(learn.open), cbs=list(learn.cbs), run=[o.run for o in learn.cbs],
        states=[o.state_dict() for o in learn.cbs], python=random.getstate(),
        numpy=np.random.get_state()[1].tobytes(),  # noqa: NPY002  the global state is the matter
        torch=torch.get_rng_state().numpy().tobytes(),
        record=deepcopy(learn.recorder.values) if hasattr(learn, 'recorder') else None, opt=learn._opt and str(learn._opt.state_dict()))

def changed(before, learn):
    "Names of what differs: a diff of the states themselves would fill pages"
    after = state(learn)
    return [k for k in before if before[k]!=after[k]]

EVALUATIONS = [lambda o: o.validate(), lambda o: o.validate(0), lambda o: o.validate(dl=TRAIN),
    lambda o: o.get_preds(), lambda o: o.get_preds(0, with_loss=True), lambda o: o.predict(torch.zeros(2)), lambda o: o.validate(cbs=Noisy(name='other')),
    lambda o: ending(lambda: o.validate(dl=[*VALID, (torch.zeros(1, 3), Y)]))]
NAMES = ['validate', 'validate0', 'dl', 'get_preds', 'get_preds0', 'predict', 'cbs', 'failing']

@pytest.mark.parametrize('evaluate', EVALUATIONS, ids=NAMES)
@pytest.mark.parametrize('fitted', [False, True])
def test_evaluation_leaves_everything_as_it_was(evaluate, fitted):
    learn = mk_learner([Noisy], dls=shuffling(), model=deep_model())
    if fitted: learn.fit(1)
    learn.model[1].eval()
    learn.model[3].train()  # modes are kept module by module
    before = state(learn)
    evaluate(learn)
    assert changed(before, learn)==[]

@pytest.mark.every(2)
@covering(evaluate=EVALUATIONS, e=['before_batch', 'after_pred', 'before_step', 'after_batch', 'after_train', 'after_epoch', 'before_fetch'])
def test_case_12_an_evaluation_inside_a_fit_does_not_change_it(evaluate, e):
    def hear(cb, _):
        if not cb.training and e.endswith(('batch', 'fetch')): return
        before = state(cb.learn)
        evaluate(cb.learn)
        assert changed(before, cb.learn)==[]
    def run(cbs):
        torch.manual_seed(3)
        learn = mk_learner([Noisy, *cbs], dls=shuffling(), model=deep_model(), opt_func=torch.optim.AdamW)
        learn.fit(2)
        return learn
    learn,plain = run([listener('a', [e], hear, run_valid=False)]),run([])
    assert same(learn.model, plain.model) and vars(learn.count)==vars(plain.count)

def test_generator_of_a_loader_is_put_back():
    def run(n):
        dl = DataLoader(TensorDataset(*TRAIN[0]), 2, shuffle=True, generator=torch.Generator().manual_seed(5))
        learn = mk_learner(dls=(dl, None))
        for _ in range(n): learn.validate(0)
        learn.fit(1)
        return learn.model
    assert same(run(0), run(2))

# Predictions

def dataset(n=10):
    x = torch.arange(2.*n).view(n, 2)
    return TensorDataset(x, x.sum(1, keepdim=True))

@pytest.fixture
def learn():
    ds = dataset()
    return mk_learner(dls=(DataLoader(ds, 3, shuffle=True, drop_last=True), DataLoader(ds, 4)))

def test_get_preds_in_the_order_of_the_data(learn):
    x,y = dataset().tensors
    for kw in ({}, dict(ds_idx=0), dict(ds_idx='train'), dict(dl=learn.dls.train)):
        preds,targs = learn.get_preds(**kw)
        assert torch.equal(targs, y)
        torch.testing.assert_close(preds, learn.model(x).detach())
        assert not preds.requires_grad
    assert len(learn.get_preds(0, reorder=False)[0])==9

def test_get_preds_returns_the_requested_values(learn):
    x,y = dataset().tensors
    learn.loss_func = Decoding()
    pred = learn.model(x).detach()
    for kw,want in [(dict(with_input=True), (x, pred.exp(), y)), (dict(with_loss=True), (pred.exp(), y, (pred-y).square().squeeze(1))),
        (dict(with_decoded=True), (pred.exp(), y, pred.exp().round())), (dict(act=torch.tanh), (pred.tanh(), y)),
        (dict(with_preds=False), (None, y)), (dict(with_targs=False), (pred.exp(), None)),
        (dict(with_input=True, with_decoded=True, with_loss=True), (x, pred.exp(), y, pred.exp().round(), (pred-y).square().squeeze(1)))]:
        got = learn.get_preds(**kw)
        assert len(got)==len(want)
        for o,p in zip(got, want, strict=True): torch.testing.assert_close(o, p)
    assert learn.loss_func.reduction=='mean'

class Decoding(nn.MSELoss):
    def activation(self, pred): return pred.exp()
    def decodes(self, pred): return pred.round()

def test_predictions_to_a_folder(learn, tmp_path):
    preds,targs = learn.get_preds()
    assert learn.get_preds(save_preds=tmp_path/'p', save_targs=tmp_path/'t', with_preds=False, with_targs=False)==(None, None)
    for folder,want in (('p', preds), ('t', targs)):
        files = sorted((tmp_path/folder).iterdir())
        assert [o.name for o in files]==['0.pt', '1.pt', '2.pt']
        assert torch.equal(torch.cat([torch.load(o) for o in files]), want)

def test_loss_not_reduced():
    class Own:
        reduction = 'sum'
        def __call__(self, pred, y): return F.mse_loss(pred, y, reduction=self.reduction)
    for f in (F.mse_loss, nn.MSELoss(), MSELossFlat(), nn.L1Loss(reduction='sum'), Own(), lambda p, y: (p-y).pow(2).mean(), partial(F.mse_loss, reduction='sum')):
        learn,was = mk_learner(loss_func=f),getattr(f, 'reduction', None)
        with suppress(ValueError), learn.loss_not_reduced():
            for o in (learn, deepcopy(learn)): assert o.loss_func(A, B).numel() in (3, 6)
            assert learn.loss_func.reduction==getattr(f, 'reduction', 'none')=='none'
            raise ValueError
        assert learn.loss_func is f and learn.loss_func(A, B).shape==() and getattr(f, 'reduction', None)==was

def test_a_decorated_function_makes_a_callback_for_each_learner():
    @before_batch_cb
    def negate(cb, xb, yb):
        seen.append(cb.learn)
        return xb,yb
    seen,negate.order = [],7
    learns = [mk_learner([negate], dls=(TRAIN[:1], None)) for _ in range(3)]  # as a cell that is run again
    for o in learns: o.fit(1)
    assert seen==learns and len({id(o.negate) for o in learns})==3 and all(o.negate.order==7 for o in learns)
    with pytest.raises(ValueError, match='two callbacks named .negate'): learns[2].add_cb(negate)
    assert 'negate' not in [o.name for o in learns[2].remove_cb(negate).cbs] and hasattr(learns[1], 'negate')
    learns[2].fit(1, cbs=negate)
    assert seen[3:]==learns[2:] and not hasattr(learns[2], 'negate')

# Bad input

NO_LOSS = dict(loss_func=None)
@pytest.mark.parametrize('mk,fit,error,want', [
    (dict(loss_func=partial(F.mse_loss, reduction='none')), {}, ValueError, r'shape \(4, 1\).*scalar'),
    (NO_LOSS, {}, ValueError, 'no loss.*loss_func'),
    (dict(loss_func=lambda *args: 3.), {}, TypeError, '3.0, a float.*tensor'),
    (dict(dls=([], VALID)), {}, ValueError, 'training loader is empty'),
    (dict(dls=DataLoader(TensorDataset(*TRAIN[0]), 8, drop_last=True)), {}, ValueError, 'training loader is empty.*4 items, batch_size=8, drop_last=True'),
    (dict(dls=iter([])), {}, ValueError, 'training loader .* exhausted iterator'),
    *(({}, dict(n_epoch=o), ValueError, 'n_epoch is .*whole number, 0 or more') for o in (-1, 1.5, '3', True, math.nan)),
    ({}, dict(n_epoch=None), ValueError, 'n_epoch is None.*max_steps'),
    *(({}, {'n_epoch': 1, k: o}, ValueError, f'{k} is {o!r}') for k,o in (('max_steps', 0), ('steps_per_epoch', -1), ('start_epoch', -1), ('max_steps', 2.5), ('max_steps', True))),
    ({}, dict(n_epoch=1, lr='fast'), ValueError, "lr='fast'"), ({}, dict(n_epoch=1, lr=-1), ValueError, 'lr=-1'),
    ({}, dict(n_epoch=1, lr=[.1, .2]), ValueError, 'has 2 values for 1'), ({}, dict(n_epoch=1, wd=math.nan), ValueError, 'wd=nan'),
    (dict(model=mk_model().requires_grad_(False)), {}, ValueError, 'requires? gradients'),
    (dict(opt_func=3), {}, TypeError, 'opt_func=3'), (dict(splitter=lambda m: []), {}, ValueError, 'splitter'),
], ids=plainly)
def test_bad_input_is_refused_with_its_reason(mk, fit, error, want):
    learn = mk_learner(**mk)
    before = weights(learn.model)
    with pytest.raises(error, match=want): learn.fit(**(fit or dict(n_epoch=1)), cbs=Checks())
    assert same(learn.model, before) and learn.count.opt_steps==0
    assert learn.open==[]

@pytest.mark.parametrize('kw,error,want', [(dict(model=3), TypeError, 'model is 3'), (dict(model=mk_model), TypeError, 'must be an nn.Module'),
    (dict(loss_func=3), TypeError, 'loss_func is 3'), (dict(splitter=3), TypeError, 'splitter is 3'), (dict(dls=3), TypeError, '(?i)loader'), (dict(dls=VALID[0]), TypeError, 'is not a loader')])
def test_bad_parts_of_a_learner(kw, error, want):
    kw = dict(dls=TRAIN, model=mk_model(), loss_func=F.mse_loss) | kw
    with pytest.raises(error, match=want): Learner(**kw)

def test_params_frozen_after_the_optimizer_was_made():
    learn = mk_learner()
    learn.fit(1)
    learn.model.requires_grad_(False)
    with pytest.raises(ValueError, match='none of the 2 parameters.*unfreeze'): learn.fit(1)

@pytest.mark.parametrize('k', ['x', 'y'])
def test_only_xb_and_yb_can_be_assigned(k):
    learn = mk_learner()
    with pytest.raises(AttributeError, match=rf'assign the tuple learn\.{k}b'): setattr(learn, k, 3)
    assert getattr(learn, k) is None
    setattr(learn, f'{k}b', (A,))
    assert getattr(learn, k) is A
    setattr(learn, f'{k}b', (A, B))
    assert getattr(learn, k)==(A, B)

def test_evaluation_without_a_loader():
    learn = mk_learner(dls=TRAIN)
    for f in (learn.validate, learn.get_preds):
        with pytest.raises(ValueError, match='no validation loader'): f()
    with pytest.raises(IndexError, match='no loader 7'): learn.validate(7)
    with pytest.raises(KeyError, match="no loader 'trian'.*did you mean 'train'"): learn.get_preds('trian')

def test_losses_without_a_loss_function():
    learn = mk_learner(loss_func=None)
    assert learn.get_preds()[0].shape==(8, 1)
    with pytest.raises(ValueError, match='no loss_func'): learn.get_preds(with_loss=True)
    learn.validate()

# Nothing is kept

class Weak(Callback):
    "Weak references to what a batch is made of, and how many of the batches before are alive when the next is fetched"
    order = 50
    def __init__(self): self.refs,self.alive = [],[]
    def after_loss(self): self.refs.append([weakref.ref(o) for o in (self.x, self.y, self.pred, self.loss_grad)])
    def before_fetch(self):
        gc.collect()
        self.alive.append(sum(r() is not None for o in self.refs for r in o))

def fresh_batches(n=4):
    for _ in range(n): yield torch.randn(4, 2),torch.randn(4, 1)

@pytest.mark.parametrize('kw', [dict(n_epoch=1), dict(max_steps=3), dict(n_epoch=2, steps_per_epoch=2)], ids=plainly)
@pytest.mark.parametrize('defaults', [False, True])
def test_no_batch_is_kept_when_the_next_is_fetched(kw, defaults):
    learn = mk_learner(defaults=defaults, dls=(fresh_batches(), None))
    weak = Weak()
    with learn.no_bar(), learn.no_logging(): learn.fit(**kw, cbs=weak)
    assert len(weak.refs)>=3 and weak.alive==[0]*len(weak.alive)

CANCELS = CancelTrainException,CancelEpochException,CancelFitException
ENDS = [(e, o) for e in ('before_batch', 'after_loss', 'before_step', 'after_batch') for o in (CancelBatchException, *CANCELS, ValueError, KeyboardInterrupt)] + \
    [('after_fetch', o) for o in (*CANCELS, ValueError)] + [('cleanup_batch', ValueError), ('after_exception', KeyboardInterrupt)]

@pytest.mark.parametrize('e,what', ENDS)
def test_no_batch_is_kept_after_a_cancel_or_an_exception(e, what):
    refs,alive = [],[]
    def hear(cb, _):
        refs.extend(map(weakref.ref, [*(cb.learn.batch or ()), *([] if cb.learn.pred is None else [cb.learn.pred])]))
        raise what
    def look(*_):
        gc.collect()
        alive.append(sum(o() is not None for o in refs))
    cbs = [listener('a', [e], hear, run_valid=False), listener('b', ['after_train', 'after_epoch', 'after_fit'], look)]
    if e=='after_exception': cbs.append(listener('c', ['after_loss'], lambda cb, _: 1/0))
    learn = mk_learner(cbs, dls=(fresh_batches(2), None))
    with suppress(ValueError, KeyboardInterrupt, ZeroDivisionError): learn.fit(1)
    look()
    assert refs and not any(alive)

def test_a_learner_that_is_dropped_is_freed():
    learn = mk_learner(defaults=True)
    with learn.no_bar(), learn.no_logging(): learn.fit(1)
    learn.validate()
    ref,model = weakref.ref(learn),weakref.ref(learn.model)
    del learn
    gc.collect()
    assert ref() is None and model() is None

# Losses that broadcast

class Absolute(nn.Module):
    def forward(self, pred, targ): return (pred-targ).abs().mean()
def outer(pred, targ): return ((pred-targ)**2).mean()
COLUMN,FLAT_Y = torch.arange(8.)[:,None],torch.arange(8.)
def one_fit(loss_func, x=COLUMN, y=FLAT_Y, model=None, n=2):
    learn = Learner([(x, y)]*2, model or nn.Linear(1, 1), loss_func, torch.optim.SGD, lr=1e-3, default_cbs=False, cbs=[TrainEvalCallback(), Checks()])
    learn.fit(n)
    return learn

@pytest.mark.parametrize('loss_func', [outer, lambda p,t: (t-p).abs().mean(), Absolute(), partial(outer), nn.PoissonNLLLoss(), lambda p,t: torch.maximum(p, t).mean()])
def test_a_loss_that_broadcasts_is_one_warning(loss_func):
    with pytest.warns(UserWarning, match=r'shape \(8, 1\) and targets of shape \(8,\) to \(8, 8\)') as w: learn = one_fit(loss_func)
    assert len(w)==1
    learn.fit(1)  # warnings are errors
    model = nn.Sequential(nn.Linear(1, 1), nn.Flatten(0))
    with pytest.warns(UserWarning, match=r'shape \(8,\) and targets of shape \(8, 1\)'): one_fit(loss_func, y=COLUMN, model=model)

# Decoding and losses of items

ITEMS = torch.randn(10, 3, generator=torch.Generator().manual_seed(0)),torch.arange(10)%4
def told(loss_func, x=ITEMS[0], y=ITEMS[1], n_out=4):
    torch.manual_seed(0)
    return Learner(DataLoaders([(x, y)], [(x[:6], y[:6]), (x[6:], y[6:])], device='cpu'), nn.Linear(3, n_out), loss_func, default_cbs=False, cbs=TrainEvalCallback())
OF_SCORES = [F.binary_cross_entropy_with_logits, nn.BCEWithLogitsLoss(), partial(F.binary_cross_entropy_with_logits, reduction='sum'), nn.MultiLabelSoftMarginLoss()]

@pytest.mark.parametrize('loss_func', OF_SCORES, ids=plainly)
def test_point_16_yes_or_no_is_decided(loss_func):
    learn = told(loss_func, y=(ITEMS[0][:,:2]>0).float(), n_out=2)
    preds,_,decided = learn.get_preds(with_decoded=True)
    assert torch.equal(decided, preds>0) and torch.equal(learn.predict(ITEMS[0][2])[0], decided[2])
    assert torch.equal(learn.get_preds(with_decoded=True, act=torch.sigmoid)[2], decided), 'of what the model returns'

def test_point_16_probabilities_and_what_is_no_decision():
    learn = told(F.binary_cross_entropy, y=(ITEMS[0][:,:2]>0).float(), n_out=2)
    learn.model = nn.Sequential(learn.model, nn.Sigmoid())
    preds,_,decided = learn.get_preds(with_decoded=True)
    assert torch.equal(decided, preds>.5)
    learn = told(F.mse_loss, y=ITEMS[0], n_out=3)
    preds,_,decided = learn.get_preds(with_decoded=True)
    assert torch.equal(decided, preds)
    learn = told(lambda p,t: F.cross_entropy(p, t))  # targets tell, where they are
    preds,_,decided = learn.get_preds(with_decoded=True)
    assert torch.equal(decided, preds.argmax(1)) and torch.equal(learn.predict(ITEMS[0][0])[0], decided[0])

class Own(Module):
    def __init__(self, **attrs):
        self.__dict__.update(attrs)
    def forward(self, pred, targ): return F.cross_entropy(pred, targ)
def lax(pred, targ, **kwargs): return F.cross_entropy(pred, targ)
def handing_on(pred, targ, **kwargs): return Own()(pred, targ, **kwargs)
UNREDUCED = [F.cross_entropy, nn.CrossEntropyLoss(reduction='sum'), partial(F.cross_entropy, reduction='sum'), partial(nn.CrossEntropyLoss()),
    lambda p,t: F.cross_entropy(p, t), Own(), Own(reduction='mean'), lax, handing_on, lambda p,t: F.cross_entropy(p, t, reduction='none')]

@pytest.mark.parametrize('loss_func', UNREDUCED, ids=plainly)
def test_point_16_any_loss_has_losses_of_items(loss_func):
    learn = told(loss_func)
    had = getattr(getattr(loss_func, 'func', loss_func), 'reduction', None)
    losses = learn.get_preds(with_loss=True)[-1]
    torch.testing.assert_close(losses, F.cross_entropy(learn.model(ITEMS[0]), ITEMS[1], reduction='none').detach())
    assert learn.loss_func is loss_func and getattr(getattr(loss_func, 'func', loss_func), 'reduction', None)==had

def test_a_loss_that_compares_items_has_no_losses_of_items():
    def pairs(pred, targ): return (pred[0]-pred[1]).square().mean()
    with pytest.warns(UserWarning, match='the losses of items.*pairs.*IndexError'): res = told(pairs).get_preds(with_loss=True)
    assert res[0].shape==(10, 4) and res[-1] is None
    def broken(pred, targ): raise TypeError('mine')
    with pytest.warns(UserWarning, match='mine'): told(broken).get_preds(with_loss=True)

# Dict batches

class Named(Module):
    "Takes its inputs by name"
    def __init__(self, n_out=4):
        self.l = nn.Linear(3, n_out)
    def forward(self, x, scale=None): return self.l(x if scale is None else x*scale)
def dicts(**more): return [dict(x=ITEMS[0][i:i+5], label=ITEMS[1][i:i+5], **{k:v[i:i+5] for k,v in more.items()}) for i in (0, 5)]
def named(b=None, targ='label', loss_func=F.cross_entropy, **kwargs):
    torch.manual_seed(0)
    b = dicts() if b is None else b
    return silent(Learner(DataLoaders(b, b, targ=targ, device='cpu'), Named(), loss_func, torch.optim.SGD, **kwargs))

def test_point_17_targets_by_name():
    learn = named(metrics=[accuracy])
    torch.manual_seed(0)
    tuples = [(o['x'], o['label']) for o in dicts()]
    twin = silent(Learner((tuples, tuples), Named(), F.cross_entropy, torch.optim.SGD, metrics=[accuracy]))
    for o in (learn, twin):
        with o.no_bar(): o.fit(2)
    assert same(weights(learn.model), weights(twin.model)) and learn.recorder.values==twin.recorder.values
    for a,b in zip(learn.get_preds(with_decoded=True, with_loss=True), twin.get_preds(with_decoded=True, with_loss=True), strict=True): assert torch.equal(a, b)
    assert torch.equal(learn.get_preds()[1], ITEMS[1])
    inp,dec,pred = learn.predict(dict(x=ITEMS[0][3]), with_input=True)
    assert torch.equal(inp['x'], ITEMS[0][3]) and dec==pred.argmax() and torch.equal(pred, learn.get_preds()[0][3])
    assert torch.equal(learn.predict(dict(x=ITEMS[0][3], label=ITEMS[1][3]))[1], pred), 'with its target, too'

def test_point_17_datasets_and_other_mappings():
    ds = [dict(x=x, label=y) for x,y in zip(*ITEMS, strict=True)]
    dls = DataLoaders.from_dsets(ds, ds, bs=5, targ='label', device='cpu')
    learn = silent(Learner(dls, Named(), F.cross_entropy, metrics=accuracy))
    learn.fit(1)
    assert torch.equal(learn.get_preds(0)[1], ITEMS[1]) and learn.show_results(n=2).rows[1][3]
    learn = named([UserDict(o) for o in dicts()], cbs=Callback('see', before_batch=lambda cb: kinds.append(type(cb.xb[0]))))
    kinds = []
    learn.fit(1)
    assert set(kinds)=={UserDict} and learn.batch is None
    metric = DictMetric(accuracy, pred=lambda learn: learn.pred, targ='label')
    assert named(metrics=[metric]).validate()[1]==named(metrics=[accuracy]).validate()[1]
    assert '10 params' not in repr(learn.summary())

@pytest.mark.parametrize('targ,exc,match', [('labels', ValueError, "no target.*did you mean 'label'"), (['label', 'weights'], ValueError, "no 'weights'")])
def test_point_17_names_that_are_not_there(targ, exc, match):
    with pytest.raises(exc, match=match): named(targ=targ).fit(1)

def test_point_17_a_callback_may_change_the_kind_of_a_batch():
    def to_tuple(self): self.learn.xb = (self.learn.xb[0]['x'],)
    def to_dict(self): self.learn.xb = (dict(x=self.learn.xb[0], scale=torch.tensor(1.)),)
    def to_two(self): self.learn.xb = self.learn.xb[0]['x'],torch.tensor(1.)
    def bare(self): self.learn.xb = dict(x=self.learn.x)
    want = named()
    want.fit(1)
    for f in (to_tuple, to_two, lambda cb: (to_tuple(cb), to_dict(cb))):
        learn = named()
        learn.fit(1, cbs=Callback(before_batch=f))
        assert same(weights(learn.model), weights(want.model))
    tuples = [(o['x'], o['label']) for o in dicts()]
    def of_tuples():
        torch.manual_seed(0)
        return silent(Learner((tuples, tuples), Named(), F.cross_entropy, torch.optim.SGD))
    learn = of_tuples()
    learn.fit(1, cbs=Callback(before_batch=to_dict))
    assert same(weights(learn.model), weights(want.model))
    with pytest.raises(TypeError, match=r'xb is \{.*must be a tuple, such as'): of_tuples().fit(1, cbs=Callback(before_batch=bare))

# --- real steps

def test_point_7_the_loop_counts_and_announces_all_steps():
    "An override of `_step`, or of `_do_grad_opt` with steps of its own, leaves `max_steps` and the event as they are"
    class Signs(Learner):
        def _step(self):
            for p in self.model.parameters(): p.grad.sign_()
            self.opt.step()
    class Twice(Learner):
        def _do_grad_opt(self):
            self.with_events('backward', self._backward)
            for _ in range(2): self.with_events('step', self.opt.step)
            self.with_events('zero_grad', self._zero_grad)
    for cls,n in ((Learner, 1), (Signs, 1), (Twice, 2)):
        seen = []
        look = listener('look', ['after_opt_step', 'after_step'], lambda cb, e, to=seen: to.append((e, cb.learn.count.opt_steps, cb.learn.model.weight.grad is None)))
        learn = mk_learner([look], cls=cls)
        learn.fit(max_steps=4)
        assert learn.count.opt_steps==4 and learn.count.batches==4//n
        assert seen==[(e, i+1, False) for i in range(4) for e in ('after_opt_step', 'after_step')]

def test_a_step_after_the_last_batch_counts():
    (learn := mk_learner([Callback(after_train=lambda cb: cb.learn.with_events('step', cb.learn.opt.step))])).fit(1)
    assert learn.count.opt_steps==len(TRAIN)+1

def test_an_override_that_counts_its_step_counts_it_once():
    class Counts(Learner):
        def _step(self):
            self.opt.step()
            self.count.opt_steps += self.iter!=1
    learn,heard = mk_learner(cls=Counts),[]
    learn.fit(1, cbs=listener('look', ['after_opt_step'], lambda cb, e: heard.append(cb.learn.iter)))
    learn.fit(max_steps=4)
    assert learn.count.opt_steps==len(heard)+4==len(TRAIN)+4

def test_point_7_unreachable_max_steps_are_a_warning():
    class ByHand(Learner):
        def _do_grad_opt(self):
            self.loss_grad.backward()
            self.opt.step()
            self.opt.zero_grad()
            if self.count.batches==5: raise CancelFitException
    learn = mk_learner(cls=ByHand)
    with pytest.warns(UserWarning, match="max_steps is 2, but epoch 0 took no counted optimizer step.*learn.turn"): learn.fit(max_steps=2)
