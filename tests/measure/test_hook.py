"Hooks see the outputs of modules and are removed after any failure; a summary is complete and leaves no trace"
from copy import deepcopy
from dataclasses import dataclass
import pytest, torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset
from helpers import Module, act, as_script, covering, listener, same, quiet
from learnloop.loop.callback import Callback
from learnloop.data.loaders import DataLoaders
from learnloop.measure.hook import (ActivationStats, HookCallback, Hooks, dummy_eval, hook_output, hook_outputs, model_sizes,
    num_features_model)
from learnloop.loop.learner import Learner, TrainEvalCallback

def data(n=8): return TensorDataset(torch.randn(n, 1, 6, 6), torch.randint(0, 3, (n,)))

def mk_model(): return nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(inplace=True), nn.Dropout(.5), nn.Flatten(), nn.Linear(64, 3))

def mk_learn(model=None, train=None, **kwargs):
    train = DataLoader(data(), 4, shuffle=True) if train is None else train
    return Learner(train, model or mk_model(), F.cross_entropy, default_cbs=False, **{'cbs': TrainEvalCallback, **kwargs})

def n_hooks(model): return sum(len(m._forward_hooks)+len(m._forward_pre_hooks) for m in model.modules())

def test_training_is_the_same_after_it():
    def run(look):
        torch.manual_seed(3)
        learn = mk_learn()
        if look: learn.summary()
        learn.fit(1)
        if look: learn.summary()
        learn.fit(1)
        return list(learn.model.parameters())
    assert all(map(torch.equal, run(False), run(True)))

@pytest.mark.parametrize('exc', [RuntimeError, KeyboardInterrupt])
def test_a_forward_that_fails(exc):
    class Fail(nn.Module):
        def forward(self, x): raise exc('no')
    model = nn.Sequential(nn.Linear(3, 3), Fail(), nn.Linear(3, 3))
    learn = mk_learn(model, [(torch.randn(2, 3), torch.zeros(2))])
    model.train()
    model[0].eval()
    with pytest.raises(exc, match='no') as e: learn.summary()
    assert n_hooks(model)==0 and torch.is_grad_enabled() and [m.training for m in model.modules()]==[True,False,True,True]
    if exc is RuntimeError: assert e.value.__notes__==['learnloop: in learn.summary, xb (float32 (2, 3)); the last layer that ran is 0']

@dataclass
class Data: logits:torch.Tensor

def test_models_without_parameters_or_not_yet():
    res = mk_learn(nn.Flatten(), [torch.randn(2, 3, 3)]).summary()
    assert (res.n_params, res.n_trainable)==(0, 0) and res.rows[0].trainable=='' and '0 parameters' in str(res)
    res = mk_learn(nn.Sequential(nn.LazyLinear(2)), [torch.randn(2, 3)]).summary()
    assert (res.rows[0].type, res.n_params)==('Linear', 8)

def test_frozen_group():
    learn = mk_learn(nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3)), [torch.randn(2, 3)], splitter=lambda m: [list(o.parameters()) for o in m])
    learn.freeze()
    res = learn.summary()
    assert [o.trainable for o in res.rows]==['no', 'yes'] and (res.n_params, res.n_trainable)==(24, 12)
    assert all(o.endswith(', frozen')==('group 0' in o) for o in res.lines if 'group' in o)

def test_text_and_markdown():
    res = mk_learn(metrics=None).summary()
    text,md = str(res).splitlines(),res._repr_markdown_().splitlines()
    assert repr(res)==str(res) and {o[text[2].index('type')-1] for o in text[2:9]}=={' '}
    assert text[-4:]==['243 parameters, 243 of them trainable', 'Loss: cross_entropy',
        'Optimizer: AdamW, made at the first fit', 'Callbacks: train_eval']
    assert {o.count('|') for o in md if o.startswith('|')}=={6} and sum(o.startswith('|') for o in md)==len(res.rows)+2

# Hook and Hooks

def none(m, inp, out): pass
def mlp(inplace=False): return nn.Sequential(nn.Linear(3, 4), nn.ReLU(inplace=inplace), nn.Linear(4, 2))

def test_hooks_are_removed_if_registering_fails():
    m = nn.Linear(1, 1)
    with pytest.raises(AttributeError): Hooks([m, None], none)
    assert n_hooks(m)==0

def test_undetached_outputs_are_the_very_tensors():
    model = mlp()
    with hook_output(model[0], detach=False) as hook: model(torch.ones(1, 3)).sum().backward()
    assert hook.stored.grad_fn is not None

@pytest.mark.parametrize('inplace', [True, False])
def test_kept_outputs_are_not_overwritten_by_layers_that_work_in_place(inplace):
    model,x = mlp(inplace),torch.randn(5, 3)
    with hook_outputs(model) as hooks: model(x)
    want = F.linear(x, model[0].weight, model[0].bias)
    assert torch.equal(hooks.stored[0], want) and torch.equal(hooks.stored[1], want.relu()) and len(hooks)==3 and hooks[0].stored is hooks.stored[0]

def test_a_copy_of_a_hooked_model_is_not_listened_to():
    model = mlp()
    with hook_outputs(model) as hooks:
        copied = deepcopy(model)
        model(torch.ones(1, 3))
        before = hooks.stored
        copied(torch.zeros(1, 3))
        assert all(map(torch.equal, before, hooks.stored))

# Sizes

@pytest.mark.parametrize('conv,size,want', [(nn.Conv2d(3, 6, 3), (8, 8), [6, 6, 6]), (nn.Conv2d(4, 6, 3, groups=2), (8, 8), [6, 6, 6]),
    (nn.Conv1d(2, 5, 3), (8,), [5, 6]), (nn.Conv3d(1, 2, 1).double(), (2, 2, 2), [2, 2, 2, 2])])
def test_sizes_of_any_convolution(conv, size, want):
    model = nn.Sequential(nn.Sequential(conv), nn.ReLU())
    assert [list(o[1:]) for o in model_sizes(model, size)]==[want]*2 and num_features_model(model, size)==want[0]

def test_a_model_without_convolutions_says_what_is_missing():
    with pytest.raises(ValueError, match='Sequential has no convolution'): dummy_eval(mlp())

def test_hooks_of_sizes_go_if_the_forward_fails():
    model = mk_model()
    with pytest.raises(RuntimeError): model_sizes(model, (64, 64))  # the head fits images of 6 by 6
    assert n_hooks(model)==0 and all(m.training for m in model.modules())

# HookCallback

def fit(cb, n=1, model=None, train=None, valid=None, **kwargs):
    learn = mk_learn(model or mlp(), DataLoaders(train or [(torch.randn(4, 3), torch.tensor([0, 1, 0, 1])) for _ in range(6)], valid),
        cbs=[TrainEvalCallback, cb], **kwargs)
    if n: learn.fit(n)
    return learn

@pytest.mark.parametrize('every', [0, -1, 1.5, True])
def test_every_is_checked(every):
    with pytest.raises(ValueError, match='every is'): HookCallback(every=every)

EVENTS = 'before_fit','before_train','before_batch','after_pred','after_loss','after_backward','after_step','after_batch','cleanup_batch', \
    'before_validate','after_validate','after_epoch','after_fit','cleanup_fit'

@pytest.mark.every(2)
@covering(kwargs=[{}, dict(every=1), dict(is_forward=False), dict(remove_end=False)],
    exc=['ValueError', 'KeyboardInterrupt', 'CancelBatchException', 'CancelEpochException', 'CancelFitException'],
    e=EVENTS)
def test_hooks_are_gone_after_any_failure(e, exc, kwargs):
    cb,batch = HookCallback(**kwargs),(torch.randn(4, 3), torch.tensor([0, 1, 0, 1]))
    learn = fit(cb, 0, valid=[batch])
    for order in (-99, 99):
        if order<0 and e=='cleanup_fit' and kwargs=={'remove_end':False}: continue  # that clean-up comes after ours: all is well until then
        try: learn.fit(1, cbs=listener('stop', [e], lambda cb, _: act(cb, exc), order=order))
        except BaseException as err:
            assert type(err).__name__ in (exc, 'UncaughtCancelError')
            assert n_hooks(learn.model)==0
        else: assert n_hooks(learn.model)==0 or kwargs=={'remove_end':False}
        learn.fit(1)
        assert learn.outcome['fit']=='done' and n_hooks(learn.model)==2*(kwargs=={'remove_end':False})

@pytest.mark.parametrize('cb', [HookCallback, ActivationStats, lambda: HookCallback(is_forward=False), lambda: ActivationStats(is_forward=False)])
def test_weights_are_those_of_a_fit_without_hooks(cb):
    def run(*cbs):
        torch.manual_seed(3)
        learn = mk_learn(train=DataLoader(data(), 4, shuffle=True))
        learn.fit(2, cbs=cbs)
        return learn.model
    assert same(run(cb()), run())

# ActivationStats

def test_statistics_are_those_computed_by_hand():
    outs = []
    def see(cb): outs.append([cb.model[0](cb.x).detach(), cb.pred.detach()])
    stats = ActivationStats(with_hist=True)
    learn = fit(stats, 0)
    learn.fit(2, cbs=Callback(before_step=see))  # the learner's own forward is heard, too: twice the same
    s = stats.stats
    assert {k:tuple(v.shape) for k,v in s.items()}==dict(mean=(12, 2), std=(12, 2), near_zero=(12, 2), hist=(12, 2, 40))
    for i,row in enumerate(outs):
        for j,o in enumerate(row):
            torch.testing.assert_close(s['mean'][i,j], o.mean())
            torch.testing.assert_close(s['std'][i,j], torch.cat([o]*2 if j==0 else [o]).std())
            torch.testing.assert_close(s['near_zero'][i,j], (o.abs()<=.05).float().mean())
            assert torch.equal(s['hist'][i,j], o.abs().histc(40, 0, 10)*(2 if j==0 else 1))
    assert torch.equal(stats.layer_stats('2'), torch.stack([s[k][:,1] for k in ('mean', 'std', 'near_zero')]))
    assert torch.equal(stats.hist(-1), s['hist'][:,1].T.log1p())

class Odd(Module):
    "Puts out what `wrap` makes of its input"
    def __init__(self, wrap):
        self.wrap,self.lin = wrap,nn.Linear(3, 2)
    def forward(self, x): return self.wrap(self.lin(x))

def odd_stats(wrap, n=1):
    model = Odd(wrap)
    quiet(Learner([torch.randn(4, 3)], model, lambda o: model.lin.weight.sum(), cbs=(res := ActivationStats(modules=[model, model.lin]))), n)
    return res

@pytest.mark.parametrize('wrap,isnan', [(lambda o: (o, None), False), (lambda o: dict(n=torch.arange(3), a=[o]), False), (lambda o: Data(o), False),
    (lambda o: o.bfloat16(), False), (lambda o: o.half(), False), (lambda o: o.double(), False), (lambda o: o.sum(), False),
    (lambda o: o.argmax(1), True), (lambda o: None, True), (lambda o: o[:0], True)])
def test_outputs_that_are_tuples_dicts_half_precision_or_no_floats(wrap, isnan):
    mean = odd_stats(wrap, 2).stats['mean']
    assert mean.isnan().tolist()==[[isnan, False]]*2 and mean.dtype==torch.float32

def test_validation_and_evaluations_are_not_recorded():
    train,valid = ([(torch.randn(4, 3), torch.tensor([0, 1, 0, 1])) for _ in range(n)] for n in (6, 2))
    def run(at):
        torch.manual_seed(1)
        learn = fit(stats := ActivationStats(with_hist=True), 0, train=train, valid=valid)
        learn.fit(2, cbs=Callback(**{at:lambda o: o.learn.validate() if o.training and o.iter==2 else None}) if at else None)
        before = stats.stats
        learn.validate()
        learn.get_preds()
        assert all(torch.equal(v, before[k]) for k,v in stats.stats.items())
        return before
    want = run(None)
    assert want['mean'].shape==(12, 2) and not want['mean'].isnan().any()
    for at in ('before_batch', 'after_pred', 'after_loss', 'after_batch'):
        assert all(torch.equal(v, want[k]) for k,v in run(at).items()), at

def test_statistics_before_a_fit_are_an_error():
    stats = ActivationStats()
    with pytest.raises(ValueError, match='nothing was recorded'): stats.stats  # noqa: B018
    fit(stats)
    with pytest.raises(ValueError, match='with_hist=True'): stats.hist(0)
    with pytest.raises(ValueError, match=r"no layer 7 among 2: 0, 2$"): stats.layer_stats(7)
    with pytest.raises(ValueError, match=r"no layer 'o'"): stats.plot_layer_stats('o')

# ---- summary prints where nothing else shows it

def test_a_script_prints_the_summary_once(tmp_path):
    (tmp_path/'train.py').write_text('from learnloop.app.synth import synth_learner\nsynth_learner().summary()\n')
    res = as_script(tmp_path/'train.py')
    assert not res.rc and res.out.count('2 parameters')==1, res.out
