"skorch's callbacks, in our fits and in those of a real `NeuralNet` with equal weights and batches"
import json, pickle
from functools import partial
import numpy as np, pytest, torch
from helpers import Module, covering, listener
from learnloop import (CancelBatchException, CancelEpochException, CancelFitException, DataLoaders, Learner, SanityCheck,
    ValidateCallback, accuracy)
from learnloop.interop import as_cb
from learnloop.interop.core import coverage
from learnloop.interop.skorch import Skorch
from skorch import NeuralNetClassifier
from skorch.callbacks import (BatchScoring, Callback, Checkpoint, EarlyStopping, EpochScoring, Freezer, GradientNormClipping,
    Initializer, LRScheduler, ProgressBar, TrainEndCheckpoint,
    WarmRestartLR)
from skorch.dataset import Dataset
from skorch.helper import predefined_split
from torch import nn
from torch.nn import functional as F
from torch.optim.lr_scheduler import CosineAnnealingLR, ReduceLROnPlateau, StepLR
from torch.utils.data import DataLoader, TensorDataset

HOOKS = [o for o in dir(Callback) if o.startswith('on_')]
G = torch.Generator().manual_seed(3)
X,Y = torch.randn(50, 6, generator=G),torch.randint(3, (50,), generator=G)
X_,Y_ = torch.randn(22, 6, generator=G),torch.randint(3, (22,), generator=G)
TRAIN,VALID = TensorDataset(X, Y),TensorDataset(X_, Y_)

def model():
    torch.manual_seed(5)
    return nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 3))

def mk_net(cbs=(), n_epoch=4, lr=.1, cls=NeuralNetClassifier, **kwargs):
    return cls(model(), criterion=nn.CrossEntropyLoss, optimizer=torch.optim.SGD, optimizer__momentum=.9, lr=lr, max_epochs=n_epoch, batch_size=8,
        train_split=predefined_split(Dataset(X_, Y_)), callbacks=list(cbs), verbose=0, **kwargs)

def mk_learner(lr=.1, cbs=None, metrics=None, dls=None, loss=None, m=None):
    dls = dls or DataLoaders(DataLoader(TRAIN, 8), DataLoader(VALID, 8), device='cpu')
    return Learner(dls, m or model(), loss or nn.CrossEntropyLoss(), partial(torch.optim.SGD, momentum=.9), lr=lr, metrics=metrics, cbs=cbs)

class Keeps(Callback):
    "The history, wherever it is"
    def on_train_begin(self, net, **kwargs): self.net_ = net
    @property
    def history(self): return self.net_.history

def fit(learn, n=4, cbs=(), **kwargs):
    "Fit, and return the net that callbacks had"
    keeps = Keeps()
    with learn.no_logging(): learn.fit(n, cbs=[*cbs, keeps], **kwargs)
    return keeps.net_

def clean(history, *less):
    "Rows without times, as plain data"
    less = 'dur','valid_acc','valid_acc_best',*less
    return [{k:v for k,v in o.items() if k not in less} for o in json.loads(json.dumps(list(history), default=float))]

def equal_weights(a, b): return all(torch.equal(x, y) for x,y in zip(a.state_dict().values(), b.state_dict().values(), strict=True))

def mk_recorder(trace, name='a', hooks=('initialize', *HOOKS), act=None):
    "A callback that appends (name, hook, what it was given) to `trace`, and does `act[hook, n-th call]`"
    calls = dict.fromkeys(hooks, 0)
    def _hook(k):
        def _f(self, *args, **kwargs):
            trace.append((name, k, *(sorted(kwargs)), *([kwargs['training']] if 'training' in kwargs else [])))
            calls[k] += 1
            if f := (act or {}).get((k, calls[k])): f(self, *args)
            return getattr(Callback, k)(self, *args, **kwargs)
        return _f
    return type('Records', (Callback,), {k:_hook(k) for k in hooks})()

def both(mk_cbs, n=4, less=(), lr=.1, **kwargs):
    "The same callbacks in a real net and in our fit: equal histories and weights. Returns the real net, ours, and their callbacks"
    theirs,ours = mk_cbs(),mk_cbs()
    torch.manual_seed(0)
    real = mk_net(theirs, n, lr, **kwargs).fit(X, Y)
    torch.manual_seed(0)
    learn = mk_learner(lr)
    net = fit(learn, n, ours)
    assert clean(net.history, *less)==clean(real.history, *less)
    assert equal_weights(real.module_, learn.model)
    return real,net,theirs,ours

def test_hooks_are_those_of_a_real_net_with_the_same_arguments():
    theirs,ours = [],[]
    mk_net([mk_recorder(theirs)], 2).fit(TRAIN, None)
    fit(mk_learner(), 2, [mk_recorder(ours)])
    assert ours==theirs and len(ours)>50

def test_after_a_stop_later_skorch_callbacks_hear_nothing_but_learnloops_do():
    theirs,ours,heard = [],[],[]
    def cbs(trace): return [mk_recorder(trace), mk_recorder([], act={('on_epoch_end', 2): stop}), mk_recorder(trace, 'b')]
    def stop(cb, *_): raise KeyboardInterrupt
    mk_net(cbs(theirs), 3).fit(TRAIN, None)
    with (learn := mk_learner(cbs=listener('hears', ['after_epoch'], lambda *_: heard.append(1), order=99))).no_logging(): learn.fit(3, cbs=cbs(ours))
    assert ours==theirs and heard==[1, 1]

def test_a_stop_outside_of_epochs_is_raised():
    def stop(cb, *_): raise KeyboardInterrupt
    with pytest.raises(KeyboardInterrupt): mk_net([mk_recorder([], act={('on_train_begin', 1): stop})], 3).fit(TRAIN, None)
    with pytest.raises(KeyboardInterrupt): fit(mk_learner(), 3, [mk_recorder([], act={('on_train_begin', 1): stop})])

SCHEDULES = dict(step=lambda: [LRScheduler(StepLR, step_size=2, gamma=.5)], cosine=lambda: [LRScheduler(CosineAnnealingLR, T_max=20, step_every='batch')],
    plateau=lambda: [LRScheduler(ReduceLROnPlateau, monitor='valid_loss', patience=0, factor=.3)], restart=lambda: [LRScheduler(WarmRestartLR)],
    cyclic=lambda: [LRScheduler('CyclicLR', base_lr=.01, max_lr=.2, step_size_up=5, step_every='batch')],
    function=lambda: [LRScheduler('LambdaLR', lr_lambda=lambda e: .7**e)])
def test_checkpoints(tmp_path):
    def mk():
        (folder := tmp_path/str(len(list(tmp_path.iterdir())))).mkdir()
        return [Checkpoint(dirname=str(folder), f_pickle='net.pkl', fn_prefix='best_', load_best=True),
            Checkpoint(dirname=str(folder), monitor=None, f_params='e{last_epoch[epoch]}.pt', f_optimizer=None, f_criterion=None, f_history=None, event_name=None),
            TrainEndCheckpoint(dirname=str(folder))]
    real,net,*_ = both(mk, 5, lr=.5)
    files = [sorted(o.name for o in (tmp_path/k).iterdir()) for k in '01']
    assert files[0]==files[1] and 'best_net.pkl' in files[0] and 'e5.pt' in files[1]
    for f in files[0]:
        a,b = tmp_path/'0'/f,tmp_path/'1'/f
        if f.endswith('.json'): assert clean(json.loads(a.read_text()))==clean(json.loads(b.read_text()))
        elif f.endswith('.pt'): assert str((a := torch.load(a)).get('state', a))==str((b := torch.load(b)).get('state', b)), f  # groups are numbered here
    with open(tmp_path/'1'/'best_net.pkl', 'rb') as f: loaded = pickle.load(f)
    with open(tmp_path/'0'/'best_net.pkl', 'rb') as f: theirs = pickle.load(f)
    assert type(loaded) is NeuralNetClassifier and np.array_equal(loaded.predict_proba(VALID), theirs.predict_proba(VALID)) and loaded.lr==.5

def test_metrics_of_the_learner_are_in_the_rows():
    learn = mk_learner(metrics=accuracy)
    net = fit(learn, 6, [EarlyStopping('accuracy', lower_is_better=False, patience=1, sink=lambda *_, **__: None)])
    assert net.history[:, 'accuracy']==[o[2] for o in learn.recorder.values] and len(net.history)<6

def test_set_params_of_the_optimizer():
    class Sets(Callback):
        def on_epoch_begin(self, net, **kwargs):
            n = len(net.history)
            if n==2: net.set_params(lr=.03)
            if n==3: net.set_params(optimizer__momentum=.5, optimizer__param_groups__0__weight_decay=.1)
    _,net,*_ = both(lambda: [Sets()])
    assert net.lr==.03 and net.optimizer_.param_groups[0]['momentum']==.5
    learn = mk_learner()
    with pytest.raises(ValueError, match='sets the learning rate in this fit'), learn.no_logging(): learn.fit_one_cycle(4, cbs=Sets())

def test_set_params_of_callbacks_and_of_the_module():
    class Sets(Callback):
        def on_train_begin(self, net, **kwargs):
            net.set_params(callbacks__EarlyStopping__patience=7, verbose=3)
            self.params = net.get_params()
            with pytest.raises(ValueError, match='are those of the learner'): net.set_params(module__hidden=3)
    stop,sets = EarlyStopping(),Sets()
    net = fit(mk_learner(), 1, [stop, sets])
    assert stop.patience==7 and net.verbose==3 and sets.params['callbacks__EarlyStopping'] is stop
    assert {'lr', 'batch_size', 'max_epochs', 'module', 'criterion', 'callbacks__train_loss__on_train'}<=set(sets.params)

def test_predictions_are_those_of_a_real_net_and_leave_the_mode():
    real = mk_net().initialize()
    learn = mk_learner()
    net = Skorch.Trainer(learn)
    learn.model.train()
    assert np.array_equal(net.predict(X), real.predict(X)) and np.array_equal(net.predict_proba(VALID), real.predict_proba(VALID))
    assert torch.equal(net.forward(X), real.forward(X)) and all(m.training for m in learn.model.modules())
    assert list(net.classes_)==[0, 1, 2] and net.score(X, Y)==real.score(X, Y) and net.get_loss(pred := net.infer(X), Y)==real.get_loss(pred, Y)
    logp = Skorch.Trainer(mk_learner(loss=F.nll_loss, m=nn.Sequential(model(), nn.LogSoftmax(1))))
    assert np.allclose(logp.predict_proba(X).sum(1), 1, atol=1e-6)  # float32

def test_attributes_of_a_net_work_or_are_refused():
    found = coverage('skorch')
    assert found.n_neither==0 and len(found.parts['NeuralNet']['there'])>40
    net = Skorch.Trainer(mk_learner())
    for k in found.parts['NeuralNet']['refused']:
        with pytest.raises(AttributeError, match=f'NeuralNetClassifier has no attribute {k!r}: '):
            net.fit(X, Y) if k=='fit' else getattr(net, k)
    for k in found.parts['NeuralNet']['there']: getattr(net, k)
    for k in ('lr', 'module_', 'max_epochs', 'callbacks_'):
        with pytest.raises(AttributeError, match='would change nothing: change it in the learner'): setattr(net, k, 1)
    net.shared = 1
    assert net.shared==1 and 'shared' not in net.get_params()

def test_several_optimizers():
    m = model()
    opts = dict(a=torch.optim.SGD(m[0].parameters(), .1), b=torch.optim.Adam([*m[1].parameters(), *m[3].parameters()], .1))
    learn = Learner(DataLoaders(DataLoader(TRAIN, 8), device='cpu'), m, F.cross_entropy, opts)
    net = fit(learn, 1, [GradientNormClipping(1.), ProgressBar()])
    assert net.optimizer==dict(a=torch.optim.SGD, b=torch.optim.Adam)==net.get_params()['optimizer']
    with pytest.raises(AttributeError, match=r"since the learner has several: a, b: read net.learn.opt\['…'\]"): _ = net.optimizer_
    with pytest.raises(ValueError, match='pass it f_optimizer=None'): learn.fit(1, cbs=Checkpoint('train_loss_best'))

def test_a_model_that_computes_its_loss():
    class Own(Module):
        def __init__(self):
            self.m = model()
        def forward(self, x, y): return F.cross_entropy(self.m(x), y)
    learn = Learner(DataLoaders(DataLoader(TRAIN, 8), DataLoader(VALID, 8), device='cpu', n_inp=2), Own(), opt_func=torch.optim.SGD, lr=.1)
    net = fit(learn, 2, [GradientNormClipping(1.), EarlyStopping(), ProgressBar()])
    assert type(net).__name__=='NeuralNet' and net.get_params()['criterion'] is None and len(net.history[:, 'valid_loss'])==2
    with pytest.raises(AttributeError, match='the model computes its loss itself'): _ = net.criterion_

@pytest.mark.parametrize('dls', ['lists', 'no dataset', 'no tensors', 'no validation'])
def test_other_loaders(dls):
    xs,ys = [X[:8], X[8:20]],[Y[:8], Y[8:20]]
    pairs = [*zip(xs, ys, strict=True)]
    made = dict(lists=(pairs, pairs), no_validation=(pairs,), no_tensors=(DataLoader([*zip(X, Y, strict=True)], 8),)*2)
    class Loader:
        def __iter__(self): return iter(pairs)
        def __len__(self): return 2
    trace = []
    class Sees(Callback):
        def on_train_begin(self, net, X, y, **kwargs): trace.append((type(X).__name__, y is None))
        def on_epoch_end(self, net, dataset_train, dataset_valid, **kwargs): trace.append((type(dataset_train).__name__, dataset_valid is None))
    learn = mk_learner(dls=DataLoaders(*made.get(dls.replace(' ', '_'), (Loader(), Loader())), device='cpu'))
    net = fit(learn, 1, [Sees(), EpochScoring('accuracy', lower_is_better=False)])
    kind = {'lists': 'Dataset', 'no validation': 'Dataset', 'no dataset': '_NoItems', 'no tensors': '_Items'}[dls]
    assert trace[1]==(kind, dls=='no validation') and trace[0]==(('Tensor', False) if kind=='Dataset' else (kind, True))
    assert ('accuracy' in net.history[-1])==(dls!='no validation')
    if dls!='no dataset': return
    with pytest.raises(TypeError, match=r"ProgressBar.batches_per_epoch='count'"): fit(learn, 1, [ProgressBar()])
    fit(learn, 2, [ProgressBar('count')])

def test_evaluations_within_a_fit_are_not_announced():
    plain_,more = [],[]
    fit(mk_learner(), 2, [mk_recorder(plain_)])
    learn = mk_learner(cbs=[SanityCheck(), ValidateCallback(every_steps=2)])
    net = fit(learn, 2, [mk_recorder(more)])
    assert more==plain_ and net.history[:, 'valid_batch_count']==[3, 3]
    before = str(net.history)
    learn.add_cb(mk_recorder(more))
    learn.validate()
    learn.get_preds()
    assert str(net.history)==before and more==plain_

def test_a_skipped_batch_leaves_no_trace():
    def skip(cb, _):
        if cb.learn.training and cb.learn.iter==1: raise CancelBatchException
    trace = []
    for e in ('before_batch', 'after_loss'):
        for order in (-1, 99):
            net = fit(mk_learner(cbs=listener('skips', [e], skip, order=order)), 1, [mk_recorder(trace := [])])
            assert net.history[-1, 'train_batch_count']==6 and all(len(b)==2 for b in net.history[-1, 'batches'])
            assert sum(o[1]=='on_batch_end' for o in trace)==9

@pytest.mark.parametrize('what,n', [(CancelEpochException, 2), (CancelFitException, 1)])
def test_an_epoch_that_is_left_has_no_end(what, n):
    def leave(cb, _):
        if cb.learn.epoch==0 and cb.learn.iter==1: raise what
    trace = []
    net = fit(mk_learner(cbs=listener('leaves', ['after_loss'], leave)), 2, [mk_recorder(trace)])
    assert [o[1] for o in trace].count('on_epoch_end')==n-1 and len(net.history)==n and [o[1] for o in trace][-1]=='on_train_end'

@pytest.mark.parametrize('cb,why', [(lambda: EarlyStopping('valid_acc'), "add EpochScoring.'accuracy', name='valid_acc'"), (lambda: Checkpoint(), 'no validation loader')])
def test_unknown_monitors_are_refused_before_training(cb, why):
    learn = mk_learner(dls=DataLoaders(DataLoader(TRAIN, 8), device='cpu'))
    before = model()
    with pytest.raises(ValueError, match=why): learn.fit(1, cbs=cb())
    assert equal_weights(learn.model, before)

def test_one_added_in_a_fit_begins_there():
    trace,new = [],[]
    act = {('on_epoch_end', 1): lambda cb, net: net.learn.add_cb(mk_recorder(new, 'new'))}
    fit(mk_learner(), 2, [mk_recorder(trace, act=act)])
    assert [o[1] for o in new[:3]]==['initialize', 'on_train_begin', 'on_epoch_begin']

RESUMED = dict(stop=lambda: [EarlyStopping(patience=2, load_best=True, sink=lambda *_, **__: None)], **SCHEDULES,
    scores=lambda: [EpochScoring('accuracy', lower_is_better=False, on_train=True, name='acc'), BatchScoring('accuracy', on_train=True, name='bacc')],
    init=lambda: [Initializer('3.bias', fn=partial(nn.init.constant_, val=.3), at=2), Freezer('0.*', at=2)])
@pytest.mark.every(2)
@covering(kind=RESUMED, at=[('after_loss', 1, 3), ('before_validate', 1, None), ('before_epoch', 2, None)])
def test_a_resumed_fit_is_the_same(kind, at, tmp_path):
    whole = mk_learner(.4)
    want = fit(whole, 5, RESUMED[kind]())
    event,epoch,i = at
    def fail(cb, _):
        if cb.learn.epoch==epoch and (i is None or cb.learn.iter==i) and cb.learn.inside('epoch'): raise RuntimeError('crash')
    learn = mk_learner(.4, cbs=listener('crash', [event], fail, order=200))
    with pytest.raises(RuntimeError, match='crash'): fit(learn, 5, RESUMED[kind](), resume=tmp_path, keep_failed=True)
    learn = mk_learner(.4)
    net = fit(learn, 5, RESUMED[kind](), resume=tmp_path, accept=True)
    assert equal_weights(learn.model, whole.model) and clean(net.history)==clean(want.history)

def test_a_fit_that_was_stopped_is_not_taken_up_again(tmp_path):
    def stop(cb, *_): raise KeyboardInterrupt
    def cbs(): return [mk_recorder([], act={('on_epoch_end', 2): stop})]
    learn = mk_learner()
    fit(learn, 5, cbs(), resume=tmp_path)
    again = mk_learner()
    fit(again, 5, cbs(), resume=tmp_path)
    assert again.count.epochs==learn.count.epochs==2 and equal_weights(learn.model, again.model)

def test_state_may_be_loaded_by_hand_before_a_fit():
    class Counts(Callback):
        def on_train_begin(self, net, **kwargs): self.n_ = 0
        def on_epoch_end(self, net, **kwargs): self.n_ += 1
    def mk(): return [as_cb(o) for o in (SCHEDULES['function']()[0], Counts())]
    learn,old,new = mk_learner(),mk(),mk()
    fit(learn, 2, old)
    for a,b in zip(old, new, strict=True): b.load_saved_state(a.saved_state())
    lr = learn.opt.param_groups[0]['lr']
    net = fit(learn, 4, new, start_epoch=2, lr=lr)
    assert lr==pytest.approx(.049) and net.history[:, 'event_lr']==pytest.approx([.1, .07, .049, .0343]) and new[1].foreign.n_==4
