"Keras callbacks: order and arguments of hooks, stops, learning rate, weights, logs, state; `tests/interop/real_keras.py` uses the real package"
import copy, json, math
from collections import Counter
import numpy as np, pytest, torch
from helpers import TRAIN, VALID, batches, cover, listener, mk_model, quiet, reread, weights
from learnloop import (CancelBatchException, CancelEpochException, CancelTrainException, DataLoaders,
    EMA, GradientAccumulation, GradientClip, Learner, MixedPrecision, ParamScheduler, Recorder, mae)
from learnloop.interop import as_cb
from learnloop.interop.keras import Callback, Model, Optimizer
from torch import nn
from torch.nn import functional as F

HOOKS = [o for o in dir(Callback) if o.startswith('on_')]
TRAINING = [o for o in HOOKS if 'predict' not in o]
def plain(v):
    "Floats to 5 digits; of arrays type and shape"
    if isinstance(v, dict): return {k:plain(o) for k,o in v.items()}
    return (type(v).__name__, v.shape) if hasattr(v, 'shape') else round(v, 5) if isinstance(v, float) else v

def mk_recorder(trace, name='a', act=None, hooks=HOOKS, base=Callback):
    "Make a callback with `hooks` that appends (hook, arguments) to `trace`, and does `act[hook, n-th call](callback)`"
    calls = Counter()
    def _hook(k):
        def _f(self, *args, **kwargs):
            trace.append((name, k, *map(plain, args), *([plain(kwargs)] if kwargs else [])))
            calls[k] += 1
            if f := (act or {}).get((k, calls[k])): f(self)
            return getattr(base, k)(self, *args, **kwargs)
        return _f
    return type(f'Rec{name.title()}', (base,), {k:_hook(k) for k in hooks})()

def mk_learner(cbs=None, dls=(TRAIN,VALID), train_metrics=True, **kwargs):
    learn = Learner(DataLoaders(*dls), kwargs.pop('model', None) or mk_model(), F.mse_loss, **dict(opt_func=torch.optim.SGD, lr=.1, metrics=mae)|kwargs, cbs=cbs)
    if hasattr(learn, 'recorder'): learn.recorder.train_metrics = train_metrics
    return learn

def fit(learn, n_epoch=1, **kwargs):
    return quiet(learn, n_epoch, **kwargs)
def names(trace, name='a'): return [o[1] for o in trace if o[0]==name]
def stop(self): self.model.stop_training = True

BATCH = 'on_train_batch_begin', 'on_batch_begin', 'on_train_batch_end', 'on_batch_end'
TEST = 'on_test_begin', *('on_test_batch_begin', 'on_test_batch_end')*2, 'on_test_end'
EPOCH = 'on_epoch_begin', *BATCH*3, *TEST, 'on_epoch_end'

def test_every_hook_is_called_in_turn():
    trace = []
    learn = fit(mk_learner(), 2, cbs=mk_recorder(trace))
    assert names(trace) == ['on_train_begin', *EPOCH, *EPOCH, 'on_train_end']
    loss,mae_,vloss,vmae = (round(o, 5) for o in learn.recorder.values[-1])
    end = dict(loss=loss, mae=mae_, val_loss=vloss, val_mae=vmae)
    assert trace[0][2:]==({},) and trace[1][2:]==(0, {}) and trace[2][2:]==(0, dict(logs={}))
    assert trace[-3:] == [('a', 'on_test_end', dict(loss=vloss, mae=vmae)), ('a', 'on_epoch_end', 1, end), ('a', 'on_train_end', end)]

def test_batch_logs_are_the_mean_over_all_items_so_far():
    trace,bs = [],[tuple(o[:n] for o in b) for n,b in zip((4, 1, 3), batches(3), strict=True)]
    learn = fit(mk_learner(dls=(bs, bs[:2]), lr=0), cbs=mk_recorder(trace))
    ends = {k:[o[-1]['logs'] for o in trace if o[1]==k] for k in ('on_train_batch_end', 'on_test_batch_end')}
    for k,dl in (('on_train_batch_end', bs), ('on_test_batch_end', bs[:2])):
        for i in range(len(dl)):
            x,y = (torch.cat(o) for o in zip(*dl[:i+1], strict=True))
            pred = learn.model(x)
            assert ends[k][i]['loss']==pytest.approx(F.mse_loss(pred, y).item(), abs=1e-4) and ends[k][i]['mae']==pytest.approx(F.l1_loss(pred, y).item(), abs=1e-4)

# Evaluations and predictions

def test_a_callback_without_prediction_hooks_is_not_set_up_for_predictions():
    cb = mk_recorder([], hooks=TRAINING)
    mk_learner(as_cb(cb)).get_preds()
    assert cb.params is None

# Stops

@pytest.mark.every(2)
@pytest.mark.parametrize('at,n_batches,n_epochs', [(('on_train_begin', 1), 1, 1), (('on_epoch_begin', 1), 1, 1), (('on_train_batch_begin', 2), 2, 1),
    (('on_batch_end', 1), 1, 1), (('on_train_batch_end', 3), 3, 1), (('on_train_batch_end', 5), 5, 2), (('on_test_begin', 1), 3, 1), (('on_test_batch_end', 2), 3, 1),
    (('on_test_end', 2), 6, 2), (('on_epoch_end', 1), 3, 1), (('on_epoch_end', 3), 9, 3)], ids=str)
def test_a_stop_ends_training_after_the_batch_and_the_fit_after_the_epoch(at, n_batches, n_epochs):
    trace,ours = [],[]
    hear = listener('ours', ['after_batch', 'after_epoch', 'after_fit', 'cleanup_epoch'], lambda cb, e: ours.append(e), order=99, run_valid=False)
    learn = fit(mk_learner(), 3, cbs=[mk_recorder(trace, act={at: stop}), mk_recorder(trace, 'b'), hear])
    for o in 'ab':
        n = Counter(names(trace, o))
        assert n['on_train_batch_begin']==n['on_train_batch_end']==n_batches==learn.count.batches and n['on_epoch_begin']==n['on_epoch_end']==n['on_test_end']==n_epochs
        assert names(trace, o)[-2:]==['on_epoch_end', 'on_train_end'] and n['on_test_batch_end']==2*n_epochs
    assert Counter(ours)==dict(after_batch=n_batches, after_epoch=n_epochs, cleanup_epoch=n_epochs, after_fit=1)  # learnloop's callbacks miss no event
    assert len(learn.recorder.values)==n_epochs and learn.outcome['fit']=='cancelled'

# Cancels and errors of other callbacks

def cancel(at, exc, n=1, order=0, run_valid=False):
    calls = Counter()
    def hear(cb, e):
        calls[e] += 1
        if calls[e]==n: raise exc
    return listener('cancels', [at], hear, order=order, run_valid=run_valid)

ENDS = dict(on_train_begin='on_train_end', on_epoch_begin='on_epoch_end', on_train_batch_begin='on_train_batch_end', on_test_begin='on_test_end',
    on_test_batch_begin='on_test_batch_end')
def unpaired(trace):
    "Return hooks that begin without an end in the right place, and ends without a beginning"
    open_,bad = [],[]
    for nm in (o for o in names(trace) if o in ENDS or o in ENDS.values()):
        if nm in ENDS: open_.append(nm)
        elif open_ and ENDS[open_[-1]]==nm: open_.pop()
        else: bad.append(nm)
    return open_ + bad

IN_BATCH = 'before_batch','after_pred','after_loss','before_step','after_batch'
IN_TRAIN = *IN_BATCH,'before_train','after_train','before_fetch'
CUTS = {CancelBatchException:IN_BATCH, CancelTrainException:IN_TRAIN, CancelEpochException:(*IN_TRAIN, 'before_epoch')}

@pytest.mark.parametrize('exc,at,order', cover((exc, at, order) for exc,ats in CUTS.items() for at in ats for order in (0, 99)), ids=lambda o: getattr(o, '__name__', o))
def test_beginnings_and_ends_stay_in_pairs(exc, at, order):
    trace = []
    fit(mk_learner(), 2, cbs=[mk_recorder(trace), cancel(at, exc, order=order)])
    assert unpaired(trace)==[]
    assert names(trace)[-len(EPOCH)-1:]==[*EPOCH, 'on_train_end']

# What is refused

@pytest.mark.parametrize('name', ['metrics', 'weights', 'trainable_variables'])
def test_attributes_that_need_keras_say_so(name):
    with pytest.raises(AttributeError, match="Keras's Model has no attribute '(metrics|weights)' unless Keras is imported"): getattr(Model(mk_learner()), name)

# What can be read

def test_settings_of_the_optimizer():
    opt = Model(mk_learner(opt_func=torch.optim.AdamW, cbs=[GradientClip(.5), GradientAccumulation(12), EMA(.9)])).optimizer
    opt.learn.create_opt()
    cfg = opt.get_config()
    ours = dict(learning_rate=.1, weight_decay=.01, beta_1=.9, beta_2=.999, epsilon=1e-8, amsgrad=False, maximize=False, decoupled_weight_decay=True)
    assert cfg==ours | dict(name='AdamW', clipnorm=None, clipvalue=None, global_clipnorm=.5, use_ema=True, ema_momentum=.9, ema_overwrite_frequency=None,
        gradient_accumulation_steps=3, loss_scale_factor=None)
    assert json.loads(json.dumps(cfg))==cfg and type(opt) is Optimizer and opt.__class__.__name__=='AdamW'==opt.name and isinstance(opt, Optimizer)
    bare = Model(fit(mk_learner(cbs=GradientClip(.5, algorithm='value')))).optimizer
    assert (bare.clipvalue, bare.global_clipnorm, bare.use_ema, bare.weight_decay, bare.gradient_accumulation_steps)==(.5, None, False, None, None)

def test_steps_are_counted_as_they_are_taken():
    seen = []
    class Looks(Callback):
        def on_train_begin(self, logs=None): self.n = self.model.optimizer.iterations
        def on_train_batch_end(self, batch, logs=None): seen.append((int(self.n), self.n.numpy().item()))
    learn = fit(mk_learner(), 2, cbs=Looks())
    n = Model(learn).optimizer.iterations
    assert seen==[(i, i) for i in range(1, 7)] and n==6 and n.dtype=='int64' and n.shape==() and f'{n}'=='6'==repr(n) and [*range(n)][-1]==5
    with pytest.raises(AttributeError, match='the loop counts the steps'): n.assign(0)

def test_the_learning_rate_is_raised_and_lowered():
    rate = Model(fit(mk_learner())).optimizer.learning_rate
    rate.assign_add(.2)
    assert float(rate)==pytest.approx(.3)
    rate.assign_sub(.1)
    assert rates(rate.learn)==[pytest.approx(.2)] and rate.value.item()==float(rate) and (rate.shape, rate.ndim, rate.name, rate.trainable)==((), 0, 'learning_rate', False)

def test_history_has_the_logs_of_callbacks():
    told = []
    class Tells(Callback):
        def on_epoch_end(self, epoch, logs=None):
            told.append((epoch, logs))
            assert self.model.history.epoch==[e for e,_ in told]
        def on_train_batch_end(self, batch, logs=None): assert self.model.history.epoch==[e for e,_ in told]
    cb = Tells()
    fit(mk_learner(), 3, cbs=cb)
    h = cb.model.history
    assert h.history=={k:[logs[k] for _,logs in told] for k in ('loss', 'mae', 'val_loss', 'val_mae')} and h.epoch==[0, 1, 2] and h.params==dict(verbose=1, epochs=3, steps=3)

def test_shape_and_kind_of_the_model(capsys):
    model = Model(mk_learner(model=nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2), nn.Linear(2, 1)).double()))
    assert model.count_params()==18 and model.name=='Sequential' and model.dtype==model.variable_dtype==model.compute_dtype=='float64'
    assert model.trainable and Model(fit(mk_learner())).metrics_names==['loss', 'mae']
    assert model.loss is F.mse_loss and list(model.torch_params)==[k for k,_ in model.named_parameters()] and model.built
    lines = []
    model.summary(print_fn=lines.append)
    model.summary()
    assert capsys.readouterr().out.splitlines()==lines and any('BatchNorm1d' in o for o in lines) and any('13 parameters' in o for o in lines)
    model.learn.model.requires_grad_(False)
    assert not model.trainable and Model(mk_learner(cbs=MixedPrecision('bf16'))).compute_dtype=='bfloat16'

def test_predictions_and_evaluations_in_a_callback():
    x,y = (torch.cat(o).numpy() for o in zip(*VALID, strict=True))
    net = nn.Sequential(nn.Linear(x.shape[1], 4), nn.Dropout(.5), nn.BatchNorm1d(4), nn.Linear(4, 1))
    seen,trace = [],[]
    class Draws(Callback):
        def on_epoch_end(self, epoch, logs=None):
            m = self.model
            state = {k:v.clone() for k,v in net.state_dict().items()}
            preds,x_t = m.predict(x, batch_size=2, verbose=0),torch.tensor(x)
            assert isinstance(preds, np.ndarray)
            for o in (m.predict_on_batch(x), m(x_t).detach().numpy()): np.testing.assert_allclose(preds, o, rtol=1e-5)
            assert np.array_equal(m.predict([x]), m.predict(x.astype('float64'))) and np.allclose(m.predict(VALID), preds, rtol=1e-6)
            assert net.training is False or all(o.training for o in net.modules())
            loss,mae_ = m.evaluate(x, y, batch_size=2)
            assert [loss, mae_]==pytest.approx([logs['val_loss'], logs['val_mae']], rel=1e-5) and m.evaluate()==pytest.approx([loss, mae_], rel=1e-5)
            assert m.test_on_batch(x, y, return_dict=True)==pytest.approx(dict(loss=loss, mae=mae_), rel=1e-5)
            assert all(torch.equal(v, state[k]) for k,v in net.state_dict().items())
            assert not torch.equal(m(x_t, training=True), m(x_t, training=True))  # dropout
            net.load_state_dict(state)
            seen.append(epoch)
    one,two = (fit(mk_learner(model=copy.deepcopy(net) if i else net), 2, cbs=[mk_recorder(trace)]*(not i) + [Draws()]*(not i)) for i in range(2))
    assert seen==[0, 1] and names(trace)==['on_train_begin', *EPOCH, *EPOCH, 'on_train_end'] and len(one.recorder.values)==len(two.recorder.values)==2

@pytest.mark.parametrize('x', [dict(a=np.ones(2)), 3], ids=['dict', 'number'])
def test_wrong_data_is_refused(x):
    with pytest.raises(TypeError, match='it must be an array, a list of arrays, or a loader of batches'): Model(mk_learner()).predict(x)

def test_no_logs_without_a_recorder_or_before_it():
    with pytest.raises(ValueError, match=r'RecA \(Keras\): the logs of on_train_batch_end come from the recorder, but none is active'):
        fit(mk_learner().remove_cb(Recorder), cbs=mk_recorder([]))
    with pytest.raises(ValueError, match='whose order is 50: the order 20 must be higher'): fit(mk_learner(), cbs=as_cb(mk_recorder([]), order=20))
    trace = []
    fit(mk_learner().remove_cb(Recorder), cbs=as_cb(mk_recorder(trace, hooks=['on_epoch_begin']), order=20))
    assert trace==[('a', 'on_epoch_begin', 0, {})]

# Learning rate

def rates(learn): return [g['lr'] for g in learn.opt.param_groups]
def two_groups(lrs=(.01, .04)):
    learn = mk_learner(model=nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1)), splitter=lambda m: [list(o.parameters()) for o in m])
    learn.set_hypers(lr=list(lrs))
    return learn

def test_the_learning_rate_can_be_read_in_any_way():
    learn = two_groups()
    rate = Model(learn).optimizer.learning_rate
    assert float(rate)==.04 and rate==.04 and rate<.05 and rate>=.04 and rate!=.1 and 2*rate==rate*2==.08 and rate/2==.02 and 1-rate==.96 and -rate==-.04
    assert np.array(rate)==.04 and np.asarray(rate, dtype=np.float32).dtype==np.float32 and rate.numpy().shape==() and f'{rate:.3f}'=='0.040' and repr(rate)=='0.04'
    assert (rate*np.ones(2)).tolist()==[.04]*2 and np.float32(rate)==np.float32(.04) and math.log(rate)==math.log(.04) and rate**2==.04**2
    learn.set_hypers(lr=.5)
    assert float(rate)==.5  # it reads the current rate

@pytest.mark.parametrize('v', [.02, np.float32(.02), torch.tensor(.02)], ids=lambda o: type(o).__name__)
def test_groups_keep_their_ratios(v):
    learn = two_groups()
    opt = Model(learn).optimizer
    opt.learning_rate = v
    assert rates(learn)==pytest.approx([.005, .02])
    opt.learning_rate.assign(.4)
    assert rates(learn)==pytest.approx([.1, .4])
    opt.learning_rate = 0.
    assert rates(learn)==[0, 0]
    opt.learning_rate = .4
    assert rates(learn)==pytest.approx([.1, .4])  # also through 0

def test_a_learning_rate_is_not_set_where_a_schedule_would_set_it_again():
    class Halve(Callback):
        def on_epoch_begin(self, epoch, logs=None): self.model.optimizer.learning_rate = self.model.optimizer.learning_rate/2
    with pytest.raises(ValueError, match=r'learning_rate = 0.05: ParamScheduler \(param_scheduler\) sets the learning rate in this fit'):
        fit(mk_learner(), cbs=[Halve(), ParamScheduler({'lr': lambda pct: .1})])
    assert rates(fit(mk_learner(), 3, cbs=Halve()))==[.1/8]

# Weights

@pytest.mark.parametrize('dtype', [torch.float32, torch.float64, torch.bfloat16, torch.float16])
def test_weights_and_buffers_come_back_bit_for_bit(dtype):
    learn = mk_learner(model=nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3), nn.Linear(3, 1)).to(dtype), dls=([(x.to(dtype), y.to(dtype)) for x,y in TRAIN],))
    model = Model(learn)
    before,ws,params = weights(learn.model),model.get_weights(),list(learn.model.parameters())
    assert all(isinstance(o, np.ndarray) for o in ws) and len(ws)==len(learn.model.state_dict())
    fit(learn)
    assert not all(map(torch.equal, weights(learn.model), before))
    model.set_weights(ws)
    assert all(map(torch.equal, weights(learn.model), before)) and all(a is b for a,b in zip(params, learn.model.parameters(), strict=True))
    assert all(a.dtype==b.dtype for a,b in zip(weights(learn.model), before, strict=True))

def test_bad_weights_change_nothing():
    learn = mk_learner()
    model,before = Model(learn),weights(learn.model)
    w,b = model.get_weights()
    with pytest.raises(ValueError, match='set_weights: got 1 arrays, but Linear has 2'): model.set_weights([w])
    with pytest.raises(ValueError, match=r'bias has the shape \(1,\), but got \(3,\)'): model.set_weights([w+1, np.zeros(3)])
    assert all(map(torch.equal, weights(learn.model), before)) and b.shape==(1,)

# State: this class has the name of Keras' own, and counts like it

class EarlyStopping(Callback):
    __module__ = 'keras.src.callbacks.early_stopping'
    def __init__(self, patience=2): self.patience,self.wait = patience,0
    def on_train_begin(self, logs=None): self.wait,self.stopped_epoch,self.best,self.best_epoch,self.best_weights = 0,0,None,0,None
    def on_epoch_end(self, epoch, logs=None):
        if self.best is None or logs['val_loss']<self.best-.5: self.best,self.best_epoch,self.wait,self.best_weights = np.float64(logs['val_loss']),epoch,0,self.model.get_weights()
        else:
            self.wait += 1
            if self.wait>=self.patience: self.model.stop_training,self.stopped_epoch = True,epoch
    def on_train_end(self, logs=None): self.model.set_weights(self.best_weights)

def test_a_resumed_fit_ends_as_one_that_was_never_interrupted():
    whole,kept = EarlyStopping(),('wait', 'stopped_epoch', 'best', 'best_epoch')
    learn = fit(mk_learner(), 20, cbs=as_cb(whole, system='keras'))
    assert 2<whole.stopped_epoch==learn.epoch<19
    for n in range(1, learn.epoch+2):
        a,b,saved = mk_learner(),mk_learner(),{}
        part,rest = (as_cb(EarlyStopping(), system='keras') for _ in range(2))
        def hear(cb, e, a=a, part=part, saved=saved, n=n):
            if a.epoch==n-1: saved.update(cb=part.state_dict(), model={k:v.clone() for k,v in a.model.state_dict().items()})
        fit(a, 20, cbs=[part, listener('saves', ['after_epoch'], hear, order=99)])
        assert set(saved['cb'])=={'EarlyStopping'}
        b.model.load_state_dict(saved['model'])
        rest.load_state_dict(reread(saved['cb']))
        fit(b, 20, cbs=rest, start_epoch=n)
        assert [getattr(rest.foreign, k) for k in kept]==[getattr(whole, k) for k in kept] and len(b.recorder.values)==learn.epoch+1-n
        assert all(map(torch.equal, weights(b.model), weights(learn.model)))

def test_loaded_state_counts_for_one_fit():
    cb,learn = as_cb(EarlyStopping(), system='keras'),mk_learner()
    fit(learn, 20, cbs=cb)
    n,sd = learn.epoch,reread(cb.state_dict())
    again = as_cb(EarlyStopping(), system='keras')
    again.load_state_dict(sd)
    assert str(again.state_dict())==str(sd)  # in no learner yet
    other = mk_learner(again)
    assert str(again.state_dict())==str(sd)
    fit(other, 20)
    assert other.recorder.values==[] and again.foreign.stopped_epoch==n  # it was stopped, and remains stopped
    other.model.load_state_dict(mk_model().state_dict())
    fit(other, 20)
    assert len(other.recorder.values)==n+1 and all(map(torch.equal, weights(other.model), weights(learn.model)))

def resumed(learn, cb, sd, at='before_train'):
    "Make a callback that loads the state after `before_fit` of the others, and again where the fit resumes, as `fit(resume=…)` does"
    return listener('resumes', ['before_fit', at] if at else ['before_fit'], lambda o, e: learn.epoch==learn.n_epoch-2 and cb.load_state_dict(sd), order=99)

@pytest.mark.parametrize('at', [('on_train_batch_end', 2), ('on_test_begin', 1), ('on_epoch_end', 1)], ids=str)
def test_a_stop_is_still_due_after_a_resume(at):
    saved,event = {},dict(on_train_batch_end='before_fetch', on_test_begin='after_validate', on_epoch_end='after_epoch')[at[0]]
    cb = as_cb(mk_recorder([], act={at: stop}))
    def hear(o, e): cb.trainer.stop_training and not saved and saved.update(cb.state_dict())
    fit(mk_learner(), 5, cbs=[cb, listener('saves', [event], hear, order=51 if event=='before_fetch' else 99)])
    assert saved['RecA']['stop_training']==('fit' if at[0]=='on_epoch_end' else 'epoch')
    trace,learn = [],mk_learner()
    other = as_cb(mk_recorder(trace))
    fit(learn, 2, cbs=[other, resumed(learn, other, reread(saved), 'before_train' if event=='before_fetch' else None)])
    if at[0]=='on_epoch_end': assert names(trace)==['on_train_begin', 'on_train_end']
    else: assert names(trace)[-2:]==['on_epoch_end', 'on_train_end'] and learn.epoch==0
    if event=='before_fetch': assert names(trace)==['on_train_begin', 'on_epoch_begin', *TEST, 'on_epoch_end', 'on_train_end']

def test_a_custom_callback_chooses_its_state():
    class Counts(Callback):
        def on_train_begin(self, logs=None): self.n = 0
        def on_epoch_end(self, epoch, logs=None): self.n += 1
        def state_dict(self): return dict(n=self.n)
        def load_state_dict(self, sd): self.n = sd['n']
    cb,other = as_cb(Counts()),as_cb(Counts())
    fit(mk_learner(), 2, cbs=cb)
    other.load_state_dict(reread(cb.state_dict()))
    fit(mk_learner(), 3, cbs=other, start_epoch=2)
    assert cb.state_dict()=={'Counts': dict(own=dict(n=2))} and other.foreign.n==3
