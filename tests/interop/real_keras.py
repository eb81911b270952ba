"Keras' callbacks do the same in our fit as in `model.fit`. Run by `python -m tools.interop keras`"
import os
os.environ['KERAS_BACKEND'] = 'torch'
from collections import Counter
import keras, pytest, torch
from helpers import quiet
from keras import callbacks as kc
from learnloop import DataLoaders, Learner, mae
from torch import nn
from torch.nn import functional as F

pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation doesn't accept a copy:DeprecationWarning")  # torch's tensors, in Keras
keras.device('cpu').__enter__()
torch.set_num_threads(1)
BS,LR = 4,.125  # a power of two: lr times gradient is exact, whether fused with the subtraction or not
HOOKS = [f'on_{o}' for o in ('train_begin train_end epoch_begin epoch_end train_batch_begin train_batch_end batch_begin batch_end test_begin test_end '
    'test_batch_begin test_batch_end predict_begin predict_end predict_batch_begin predict_batch_end').split()]

def data(n, seed):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(n, 2, generator=g)
    return x,x@torch.tensor([[1.], [-2.]]) + .5 + .3*torch.randn(n, 1, generator=g)
TRAIN,VALID = data(10, 0),data(6, 1)  # the last batch is smaller

def mk_model():
    "Make a Keras model, which is a torch module on this backend; it is the same at each call"
    m = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1, kernel_initializer=keras.initializers.RandomNormal(seed=1))])
    m.compile(keras.optimizers.SGD(LR), 'mse', metrics=['mae'])
    return m

def split(d): return list(zip(*(o.split(BS) for o in d), strict=True))
def mk_learner(valid=True, lr=LR, train=TRAIN, **kwargs):
    "Fit in our loop with the same data, weights, loss and optimizer"
    m = mk_model()
    loss = keras.losses.MeanSquaredError()
    learn = Learner(DataLoaders(split(train), split(VALID) if valid else None), m, lambda p, y: loss(y, p), torch.optim.SGD, lr=lr, metrics=mae, **kwargs)
    learn.recorder.train_metrics = True  # as in Keras
    return learn

def keras_fit(n_epoch, cbs, valid=True, lr=LR, train=TRAIN, **kwargs):
    m = mk_model()
    m.optimizer.learning_rate = lr
    m.fit(*train, batch_size=BS, epochs=n_epoch, validation_data=VALID if valid else None, callbacks=cbs, verbose=0, shuffle=False, **kwargs)
    return m
def our_fit(n_epoch, cbs, valid=True, lr=LR, train=TRAIN, **kwargs):
    learn = quiet(mk_learner(valid, lr, train), n_epoch, cbs=cbs, **kwargs)
    return learn

def weights(m): return [o.detach().clone() for o in m.state_dict().values()]
def same(a, b): return all(map(torch.equal, *map(weights, (a, b)))) and len(weights(a))==len(weights(b))

def plain(v):
    "Return a comparable value: floats to 5 digits, as Keras takes means in float32; type and shape of arrays"
    if isinstance(v, float): return float(f'{v:.5g}') if v==v else 'nan'
    if isinstance(v, dict): return [(k, plain(o)) for k,o in v.items()]
    if isinstance(v, list): return [plain(o) for o in v]
    return (type(v).__name__, v.shape) if hasattr(v, 'shape') else v

def mk_recorder(trace, name='a', act=None):
    "Make a callback that has all hooks, and does `act[hook, n-th call](callback)`"
    calls = Counter()
    def _hook(k):
        def _f(self, *args, **kwargs):
            trace.append((name, k, plain(list(args)), plain(kwargs)))
            calls[k] += 1
            if f := (act or {}).get((k, calls[k])): f(self)
            getattr(kc.Callback, k)(self, *args, **kwargs)
        return _f
    def set_model(self, model):
        trace.append((name, 'set_model'))
        kc.Callback.set_model(self, model)
    def set_params(self, params):
        trace.append((name, 'set_params', plain(params)))
        kc.Callback.set_params(self, params)
    return type(f'Recorder{name.title()}', (kc.Callback,), {k:_hook(k) for k in HOOKS}|dict(set_model=set_model, set_params=set_params))()

def traces(n_epoch=2, act=None, fails=None, **kwargs):
    "Return what our loop and Keras call, and the weights afterwards"
    res = []
    for f in (keras_fit, our_fit):
        trace = []
        try: o = f(n_epoch, [mk_recorder(trace, 'a', act), mk_recorder(trace, 'b')], **kwargs)
        except Exception as e:
            assert fails is not None and type(e) is fails
            o = None
        res.append((trace, o if o is None or isinstance(o, keras.Model) else o.model))
    (theirs,m),(ours,l) = res
    if fails: return ours,theirs
    assert ours==theirs and same(m, l)
    return ours

@pytest.mark.parametrize('valid', [True, False])
def test_a_fit_has_the_same_trace_and_weights(valid):
    trace = traces(valid=valid)
    assert {o[1] for o in trace} == {'set_model', 'set_params', *(o for o in HOOKS if 'predict' not in o and (valid or 'test' not in o))}
    end = [o for o in trace if o[:2]==('a', 'on_epoch_end')][-1]
    assert [k for k,_ in end[2][1]] == ['loss', 'mae', 'val_loss', 'val_mae'][:4 if valid else 2]

def stop(self): self.model.stop_training = True
@pytest.mark.parametrize('at', [*((k, n) for k in HOOKS if 'predict' not in k for n in (1, 2)), ('on_train_batch_end', 3), ('on_epoch_end', 3)], ids=str)
def test_a_stop_has_the_same_trace_and_weights(at): traces(n_epoch=3, act={at: stop})

@pytest.mark.parametrize('at', [k for k in HOOKS if 'predict' not in k])
def test_an_error_has_the_same_trace(at):
    def _fail(self): raise ZeroDivisionError
    ours,theirs = traces(act={(at, 1): _fail}, fails=ZeroDivisionError)
    if at in ('on_train_end', 'on_test_end'):  # these are clean-ups in our loop: after an error of one callback, the others still run
        assert ours.pop()[:2]==('b', at)
    assert ours==theirs and theirs[-1][:2]==('a', at)

def test_evaluation_and_prediction_have_the_same_traces():
    theirs,ours,learn,m = [],[],mk_learner(),mk_model()
    m.evaluate(*VALID, batch_size=BS, verbose=0, callbacks=[mk_recorder(theirs)])
    m.predict(VALID[0], batch_size=BS, verbose=0, callbacks=[mk_recorder(theirs)])
    with learn.no_logging():
        learn.validate(cbs=mk_recorder(ours))
        learn.get_preds(cbs=mk_recorder(ours))
    assert ours==theirs

# Keras' callbacks in both trainers

BEST = dict(monitor='val_loss', patience=1)
NOISY = dict(lr=.5)  # the loss grows in each epoch

@pytest.mark.parametrize('restore', [True, False])
@pytest.mark.parametrize('kwargs,lr', [(BEST, .5), (dict(BEST, min_delta=.01), .25), (dict(monitor='val_mae', min_delta=.005, patience=2), .25),
    (dict(monitor='loss', min_delta=.1), .25), (dict(BEST, baseline=.3, min_delta=.01), .25), (dict(BEST, start_from_epoch=2), .5)], ids=str)
def test_early_stopping(kwargs, lr, restore):
    theirs,ours = (kc.EarlyStopping(restore_best_weights=restore, **kwargs) for _ in range(2))
    m,learn = keras_fit(12, [theirs], lr=lr),our_fit(12, ours, lr=lr)
    assert 0<ours.stopped_epoch==theirs.stopped_epoch==learn.epoch and len(learn.recorder.values)==learn.epoch+1<12
    assert ours.best==pytest.approx(theirs.best) and ours.best_epoch==theirs.best_epoch
    assert same(m, learn.model)

@pytest.mark.parametrize('kwargs', [{}, dict(cooldown=2), dict(min_lr=.1), dict(min_delta=.5)], ids=str)
def test_reduce_lr_on_plateau(kwargs):
    rates = []
    class Rate(kc.Callback):
        def on_epoch_begin(self, epoch, logs=None): rates[-1].append(float(self.model.optimizer.learning_rate))
    models = []
    for f in (keras_fit, our_fit):
        rates.append([])
        models.append(f(10, [kc.ReduceLROnPlateau(factor=.5, patience=1, **kwargs), Rate()], **NOISY))
    assert rates[0]==rates[1] and rates[0][-1]<.5
    assert same(models[0], models[1].model)

def broken(): return TRAIN[0],torch.where(torch.arange(10)[:,None]==5, float('nan'), TRAIN[1])
def test_terminate_on_nan(capsys):
    trace,n = [[], []],[]
    for t,f in zip(trace, (keras_fit, our_fit), strict=True):
        f(3, [kc.TerminateOnNaN(), mk_recorder(t)], train=broken())
        n.append(sum(o[1]=='on_train_batch_end' for o in t))
    assert trace[0]==trace[1] and n==[2, 2] and trace[1][-1][1]=='on_train_end'
    assert capsys.readouterr().out.count('Batch 1: Invalid loss, terminating training')==2


def torch_learner():
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return Learner(DataLoaders(split(TRAIN), split(VALID)), nn.Linear(2, 1), F.mse_loss, torch.optim.SGD, lr=.25)
