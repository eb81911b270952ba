"Hooks hear what goes through modules and are gone whatever happens; a summary shows what is there, and leaves no trace"
import gc, math, os, random, subprocess, sys, weakref
from collections import namedtuple
from copy import deepcopy
from dataclasses import dataclass
import numpy as np, pytest, torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, IterableDataset, TensorDataset
from helpers import act, covering, listener, same
from learnloop.loop.callback import Callback
from learnloop.data.loaders import DataLoaders
from learnloop.data.rng import preserve_rng
from learnloop.loop.flow import CancelBatchException, CancelFitException, CancelStepException
from learnloop.measure.hook import (ActivationStats, Hook, HookCallback, Hooks, dummy_eval, hook_output, hook_outputs, model_sizes,
    num_features_model, summarize, total_params)
from learnloop.loop.learner import Learner, TrainEvalCallback

def data(n=8): return TensorDataset(torch.randn(n, 1, 6, 6), torch.randint(0, 3, (n,)))

def mk_model(): return nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(inplace=True), nn.Dropout(.5), nn.Flatten(), nn.Linear(64, 3))

def mk_learn(model=None, train=None, **kwargs):
    train = DataLoader(data(), 4, shuffle=True) if train is None else train
    return Learner(train, model or mk_model(), F.cross_entropy, default_cbs=False, **{'cbs': TrainEvalCallback, **kwargs})

def n_hooks(model): return sum(len(m._forward_hooks)+len(m._forward_pre_hooks) for m in model.modules())
def rows(res): return {o.name:o for o in res.rows}

def test_rows_are_leaves_in_call_order_with_shapes_and_parameters():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.last,self.first = nn.Linear(3, 2),nn.Sequential(nn.Linear(5, 3), nn.Tanh())
        def forward(self, x): return self.last(self.first(x))
    res = mk_learn(Net(), [torch.randn(4, 5)]).summary()
    assert [(o.name, o.type, o.output, o.n_params, o.trainable) for o in res.rows]==[
        ('first.0', 'Linear', 'float32 (4, 3)', 18, 'yes'), ('first.1', 'Tanh', 'float32 (4, 3)', 0, ''), ('last', 'Linear', 'float32 (4, 2)', 8, 'yes')]
    assert (res.n_params, res.n_trainable)==(26, 26)

def test_leaves_no_trace():
    class Loud(Callback):
        calls_ = 0
        def handlers(self, e): return [self.hear]
        def hear(self): self.calls_ += 1
    loud = Loud()
    learn = mk_learn(cbs=[TrainEvalCallback, loud])
    learn.fit(1)
    learn.model[0].eval()
    learn.model[5].weight.grad = torch.ones_like(learn.model[5].weight)
    def state():
        m = learn.model
        return ([o.training for o in m.modules()], [o.clone() for o in m.state_dict().values()], [p.grad is None for p in m.parameters()],
            loud.calls_, n_hooks(m), learn.training, dict(learn.outcome), vars(learn.count).copy(), learn.train_iter, learn.xb, learn.pred, learn.loss)
    before = state()
    def draws(): return torch.rand(1).item(),random.random(),np.random.rand()  # noqa: NPY002
    with preserve_rng(): want = draws()
    learn.summary()
    assert draws()==want
    assert all(map(torch.equal, before[1], state()[1])) and torch.is_grad_enabled()
    assert [o for i,o in enumerate(before) if i!=1]==[o for i,o in enumerate(state()) if i!=1]
    learn.summary(next(iter(learn.dls.train)))

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

def test_in_a_fit():
    shown = []
    def show(cb):
        before = cb.pred,cb.learn.xb,cb.model.training
        shown.append(cb.learn.summary())
        assert before==(cb.pred, cb.learn.xb, cb.model.training)
    def run(*cbs):
        torch.manual_seed(3)
        learn = mk_learn(train=DataLoader(data(), 4, shuffle=True, generator=torch.Generator().manual_seed(1)))
        learn.fit(1, cbs=cbs)
        return list(learn.model.parameters())
    assert all(map(torch.equal, run(Callback(after_loss=show)), run())) and len(shown)==2

class Stream(IterableDataset):
    def __iter__(self): yield from ((torch.randn(1, 6, 6), 0) for _ in range(8))

@pytest.mark.parametrize('mk', [lambda: DataLoader(data(), 4), lambda: DataLoader(Stream(), 4), lambda: [(torch.randn(4, 1, 6, 6), torch.zeros(4))],
    lambda: DataLoader(data(), 4, num_workers=1), lambda: DataLoaders(DataLoader(data(), 4))])
def test_any_loader(mk): assert rows(mk_learn(train=mk()).summary())['5'].output=='float32 (4, 3)'

def test_refuses_to_lose_a_batch():
    gen = ((torch.randn(4, 1, 6, 6), torch.zeros(4).long()) for _ in range(2))
    learn = mk_learn(train=gen)
    with pytest.raises(TypeError, match='would lose a batch') as e: learn.summary()
    assert 'learn.summary(batch)' in e.value.__notes__[-1]
    assert rows(learn.summary((torch.randn(2, 1, 6, 6), None)))['5'].output=='float32 (2, 3)'
    learn.fit(1)
    assert learn.count.batches==2

def test_without_batches():
    with pytest.raises(ValueError, match='yielded no batch'): mk_learn(train=[]).summary()
    learn = mk_learn()
    learn.dls = DataLoaders(None, [1])
    with pytest.raises(ValueError, match='no training loader'): learn.summary()

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

class Calls(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(3, 3)
    def forward(self, x):
        for n in (4, 3, 2, 2, 1): x = self.lin(x[:n])
        return x

def test_modules_called_several_times():
    res = mk_learn(Calls(), [torch.randn(4, 3)]).summary()
    assert [o.output for o in res.rows]==['float32 (4, 3), float32 (3, 3), float32 (2, 3) × 2, … 1 more'] and res.n_params==12

def test_shared_and_unused_parameters():
    model = nn.Module()
    model.a,model.b,model.c,model.spare,model.none = nn.Linear(3, 3),nn.Linear(3, 3, bias=False),nn.Linear(3, 3),nn.Linear(3, 1),nn.Identity()
    model.b.weight = model.c.weight = model.a.weight
    model.own = nn.Parameter(torch.ones(3))
    model.a.bias.requires_grad_(False)
    model.forward = lambda x: model.c(model.b(model.a(x)))*model.own
    res = mk_learn(model, [torch.randn(2, 3)]).summary()
    assert [(o.name, o.output[:1], o.n_params, o.trainable) for o in res.rows]==[
        ('a', 'f', 12, 'partly'), ('b', 'f', 0, 'tied'), ('c', 'f', 3, 'yes'), ('', 'f', 3, 'yes'), ('spare', '–', 4, 'yes')]
    assert sum(o.n_params for o in res.rows)==res.n_params==sum(p.numel() for p in model.parameters())==22
    assert res.n_trainable==19

Out = namedtuple('Out', 'logits hidden')

@dataclass
class Data: logits:torch.Tensor

@pytest.mark.parametrize('wrap,want', [(lambda o: (o, [o]), '(float32 (2, 3), [float32 (2, 3)])'), (lambda o: dict(a=o), "{'a': float32 (2, 3)}"),
    (lambda o: Out(o, None), 'Out(logits=float32 (2, 3), hidden=None)'), (Data, 'Data(logits=float32 (2, 3))'), (lambda o: None, 'None')])
def test_outputs_of_any_kind(wrap, want):
    class Wrap(nn.Module):
        def forward(self, x): return wrap(x)
    res = mk_learn(nn.Sequential(nn.Linear(3, 3), Wrap()), [torch.randn(2, 3)]).summary()
    assert res.rows[1].output==want and want in str(res)

def test_dict_batches_and_several_inputs():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.lin = nn.Linear(3, 2)
        def forward(self, a, b, labels=None): return self.lin(a+b)
    a = torch.randn(4, 3)
    res = mk_learn(Net(), [dict(a=a, b=a, labels=a)]).summary()
    assert res.rows[0].output=='float32 (4, 2)' and res.title.startswith("Net, input {'a'")
    assert mk_learn(Net(), [(a, a, a)]).summary().title=='Net, input (float32 (4, 3), float32 (4, 3))'
    assert mk_learn(Net(), DataLoaders([(a, a)], n_inp=2)).summary().rows[0].output=='float32 (4, 2)'

def test_models_without_parameters_or_not_yet():
    res = mk_learn(nn.Flatten(), [torch.randn(2, 3, 3)]).summary()
    assert (res.n_params, res.n_trainable)==(0, 0) and res.rows[0].trainable=='' and '0 parameters' in str(res)
    res = mk_learn(nn.Sequential(nn.LazyLinear(2)), [torch.randn(2, 3)]).summary()
    assert (res.rows[0].type, res.n_params)==('Linear', 8)

def test_optimizers():
    def lines(learn): return [o for o in learn.summary().lines if 'ptimizer' in o or 'group' in o]
    assert lines(mk_learn())==['Optimizer: AdamW, made at the first fit']
    assert lines(mk_learn(opt_func=lambda ps, lr: torch.optim.SGD(ps, lr)))==['Optimizer: <lambda>, made at the first fit']
    model = mk_model()
    split = dict(opt_func=torch.optim.SGD, splitter=lambda m: [list(m[:2].parameters()), list(m[2:].parameters())])
    learn = mk_learn(model, **split)
    learn.summary()
    assert learn._opt is None
    learn.set_hypers(lr=slice(.01, .1), mom=.9)
    learn.freeze()
    res = lines(learn)
    assert res[0]=='Optimizer: SGD' and res[1].strip().startswith('group 0: ') and 'lr=0.01, momentum=0.9' in res[1]
    assert 'frozen' not in res[-1] and 'lr=0.1' in res[-1] and 'group 1' in res[-1]
    model = mk_model()
    a,b = torch.optim.SGD(model[0].parameters(), .1),torch.optim.Adam(model[5].parameters(), .2)
    res = lines(mk_learn(model, opt_func=dict(body=a, head=b)))
    assert [res[0], res[2]]==['Optimizer body: SGD', 'Optimizer head: Adam'] and 'lr=0.2' in res[3]

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

@pytest.mark.parametrize('wrap', [lambda m: torch.compile(m, backend='eager'), lambda m: m.compile(backend='eager') or m])
def test_compiled_models(wrap):
    learn = mk_learn(wrap(mk_model()))
    res = learn.summary()
    learn.fit(1)
    assert [o.name for o in res.rows]==[o.name for o in learn.summary().rows]==list('012345') and n_hooks(learn.model)==0

def test_nothing_stays_alive():
    learn = mk_learn()
    refs = []
    learn.model[0].register_forward_hook(lambda m, args, out: refs.append(weakref.ref(out)))
    res = learn.summary()
    gc.collect()
    assert refs[0]() is None and res.rows

def test_a_model_that_draws_numbers_or_wants_gradients():
    class Noise(nn.Module):
        def forward(self, x):
            self.grad = torch.is_grad_enabled()
            return x+torch.randn_like(x)
    model = nn.Sequential(nn.Linear(3, 3), Noise())
    learn = mk_learn(model, [torch.zeros(2, 3)])
    torch.manual_seed(1)
    learn.summary()
    assert not model[1].grad and torch.rand(1)==torch.rand(1, generator=torch.Generator().manual_seed(1))

def test_lazy_layers_that_were_not_called():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.a,self.b = nn.LazyLinear(2),nn.LazyLinear(2)
        def forward(self, x): return self.a(x)
    res = mk_learn(Net(), [torch.randn(2, 3)]).summary()
    assert [(o.type, o.n_params) for o in res.rows]==[('Linear', 8), ('LazyLinear', 0)] and res.n_params==8

# Hook and Hooks

def none(m, inp, out): pass
def mlp(inplace=False): return nn.Sequential(nn.Linear(3, 4), nn.ReLU(inplace=inplace), nn.Linear(4, 2))

def test_a_hook_hears_what_goes_in_and_out():
    model,x = mlp(),torch.randn(5, 3)
    with Hook(model[2], lambda *args: args) as hook: pred = model(x)
    m,inp,out = hook.stored
    assert m is model[2] and torch.equal(inp[0], model[:2](x)) and torch.equal(out, pred) and n_hooks(model)==0
    assert not out.requires_grad and not inp[0].requires_grad
    hook.stored = None
    model(x)
    assert hook.stored is None

def test_hooks_are_removed_if_registering_fails():
    m = nn.Linear(1, 1)
    with pytest.raises(AttributeError): Hooks([m, None], none)
    assert n_hooks(m)==0

@pytest.mark.parametrize('exc', [RuntimeError, KeyboardInterrupt])
def test_hooks_are_removed_if_hook_func_fails(exc):
    def fail(m, inp, out): raise exc('no')
    model = mlp()
    with pytest.raises(exc, match='no'), Hooks(model, fail): model(torch.ones(1, 3))
    assert n_hooks(model)==0

@pytest.mark.parametrize('is_forward', [True, False])
def test_a_hook_does_not_change_outputs_or_gradients(is_forward):
    m = nn.Linear(3, 1)
    want = torch.autograd.grad(m(torch.ones(1, 3)).sum(), m.weight)[0]
    with Hook(m, lambda *_: 'another', is_forward, detach=False) as hook: out = m(torch.ones(1, 3))
    assert isinstance(out, torch.Tensor) and hook.stored==('another' if is_forward else None)
    assert torch.equal(torch.autograd.grad(out.sum(), m.weight)[0], want)

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

@pytest.mark.parametrize('inplace', [True, False])
def test_backward_hooks_are_not_the_deprecated_ones_and_allow_layers_in_place(inplace):
    model,x = mlp(inplace),torch.randn(5, 3)
    with hook_outputs(model, grad=True) as hooks: model(x).square().sum().backward()
    a = model[0](x)
    b = a.relu()
    c = model[2](b)
    want = torch.autograd.grad(c.square().sum(), [a, b, c])
    for o,w in zip(hooks.stored, want, strict=True): assert len(o)==1 and torch.equal(o[0], w)
    assert all(m._backward_hooks=={} for m in model)

def test_gradients_of_several_outputs():
    class Two(nn.Module):
        def forward(self, x): return dict(a=x*2, b=(x*3, torch.ones(2)))
    m,x = Two(),torch.ones(2, requires_grad=True)
    with hook_output(m, grad=True) as hook:
        out = m(x)
        (out['a'].sum()+2*out['b'][0].sum()).backward()
        assert [o.tolist() for o in hook.stored]==[[1., 1.], [2., 2.]]
        m(x)['b'][0].sum().backward()
    assert hook.stored[0] is None and hook.stored[1].tolist()==[1., 1.]

def test_no_gradient_is_heard_after_removal_or_without_a_graph():
    model = mlp()
    with hook_output(model[0], grad=True) as hook:
        with torch.no_grad(): model(torch.ones(1, 3))
        pred = model(torch.ones(1, 3))
    pred.sum().backward()
    assert hook.stored is None and model[0].weight.grad is not None

def test_a_copy_of_a_hooked_model_is_not_listened_to():
    model = mlp()
    with hook_outputs(model) as hooks:
        copied = deepcopy(model)
        model(torch.ones(1, 3))
        before = hooks.stored
        copied(torch.zeros(1, 3))
        assert all(map(torch.equal, before, hooks.stored))

def test_a_hook_holds_no_graph_after_the_batch():
    model = mlp()
    with hook_outputs(model), hook_outputs(model, grad=True): ref = weakref.ref(pred := model(torch.ones(1, 3)))
    del pred
    gc.collect()
    assert ref() is None

# Sizes

def test_dummy_eval_leaves_no_trace():
    model = mk_model()[:4]
    model[1].momentum = .5
    before = weights_of(model)
    with preserve_rng(): want = torch.rand(3)
    assert dummy_eval(model, (8, 8)).shape==(1, 4, 6, 6)
    assert torch.equal(torch.rand(3), want) and model.training and model[1].training and same(before, weights_of(model)) and n_hooks(model)==0

def weights_of(model): return [o.clone() for o in model.state_dict().values()]

@pytest.mark.parametrize('conv,size,want', [(nn.Conv2d(3, 6, 3), (8, 8), [6, 6, 6]), (nn.Conv2d(4, 6, 3, groups=2), (8, 8), [6, 6, 6]),
    (nn.Conv1d(2, 5, 3), (8,), [5, 6]), (nn.Conv3d(1, 2, 1).double(), (2, 2, 2), [2, 2, 2, 2])])
def test_sizes_of_any_convolution(conv, size, want):
    model = nn.Sequential(nn.Sequential(conv), nn.ReLU())
    assert [list(o[1:]) for o in model_sizes(model, size)]==[want]*2 and num_features_model(model, size)==want[0]

def test_children_that_are_not_called_and_outputs_of_any_kind():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv,self.spare,self.lstm = nn.Conv2d(1, 4, 3),nn.Linear(1, 1),nn.LSTM(6, 2, batch_first=True)
        def forward(self, x): return self.lstm(self.conv(x)[:,0])
    assert model_sizes(Net(), (8, 8))==[(1, 4, 6, 6), None, (1, 6, 2)]

def test_a_model_without_convolutions_says_what_is_missing():
    with pytest.raises(ValueError, match='Sequential has no convolution'): dummy_eval(mlp())

def test_hooks_of_sizes_go_if_the_forward_fails():
    model = mk_model()
    with pytest.raises(RuntimeError): model_sizes(model, (64, 64))  # the head fits images of 6 by 6
    assert n_hooks(model)==0 and all(m.training for m in model.modules())

def test_total_params():
    model = nn.Sequential(lin := nn.Linear(3, 3), lin, nn.ReLU())
    lin.bias.requires_grad_(False)
    assert total_params(model)==(12, 9) and total_params(nn.ReLU())==(0, 0)

# HookCallback

def fit(cb, n=1, model=None, train=None, valid=None, **kwargs):
    learn = mk_learn(model or mlp(), DataLoaders(train or [(torch.randn(4, 3), torch.tensor([0, 1, 0, 1])) for _ in range(6)], valid),
        cbs=[TrainEvalCallback, cb], **kwargs)
    if n: learn.fit(n)
    return learn

def test_outputs_are_kept_by_default_and_hooks_go():
    cb,last = HookCallback(include_paramless=True),[]
    learn = fit(cb, 0)
    learn.fit(1, cbs=Callback(after_pred=lambda o: last.append(o.pred.detach().clone())))
    assert cb.names==['0', '1', '2'] and torch.equal(cb.hooks.stored[2], last[-1]) and n_hooks(learn.model)==0
    assert fit(cb := HookCallback()) and cb.names==['0', '2']

def test_modules_can_be_given_and_are_found_anew_in_each_fit():
    heard = []
    loss = nn.CrossEntropyLoss()
    model = mlp()
    cb = HookCallback([model[1], loss], hook=lambda m, i, o: heard.append(type(m).__name__))
    learn = fit(cb, 0, model)
    learn.loss_func = loss
    learn.fit(1)
    assert cb.names==['1', 'CrossEntropyLoss'] and heard==['ReLU', 'CrossEntropyLoss']*6
    cb = HookCallback()
    learn = fit(cb)
    learn.model = nn.Sequential(nn.Linear(3, 2))
    learn.fit(1, reset_opt=True)
    assert cb.names==['0']

def test_a_subclass_may_define_hook():
    class Mine(HookCallback):
        def hook(self, m, inp, out): return self.learn.iter,inp[0].shape
    fit(cb := Mine())
    assert cb.hooks.stored==[(5, (4, 3)), (5, (4, 4))]

@pytest.mark.parametrize('every,want', [(None, 12), (1, 12), (4, 3), (5, 3), (100, 1)])
def test_every_counts_batches_of_training(every, want):
    heard = []
    cb = HookCallback(every=every, hook=lambda m, i, o: heard.append(cb.train_iter) if cb.training else None)
    learn = fit(cb, 2)
    assert heard[::2]==list(range(0, 12, every or 1)) and len(heard)==2*want and n_hooks(learn.model)==0

@pytest.mark.parametrize('every', [0, -1, 1.5, True])
def test_every_is_checked(every):
    with pytest.raises(ValueError, match='every is'): HookCallback(every=every)

def test_evaluations_are_heard_unless_every_says_otherwise():
    batch = torch.randn(4, 3),torch.tensor([0, 1, 0, 1])
    for every,want in ((None, 2), (2, 0)):
        heard = []
        learn = fit(HookCallback(every=every, hook=lambda *_, heard=heard: heard.append(1)), 0, valid=[batch])
        learn.validate()
        assert len(heard)==want and n_hooks(learn.model)==0
        learn.get_preds()
        assert len(heard)==2*want and n_hooks(learn.model)==0

EVENTS = 'before_fit','before_train','before_batch','after_pred','after_loss','after_backward','after_step','after_batch','cleanup_batch', \
    'before_validate','after_validate','after_epoch','after_fit','cleanup_fit'

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

@pytest.mark.parametrize('e', ['before_epoch', 'after_pred', 'after_batch'])
@pytest.mark.parametrize('kwargs', [{}, dict(every=1), dict(remove_end=False)], ids=str)
def test_hooks_go_with_the_callback(e, kwargs):
    learn = fit(cb := HookCallback(**kwargs), 0)
    learn.fit(1, cbs=Callback(**{e:lambda o: o.learn.remove_cb(cb)}))
    assert n_hooks(learn.model)==0

def test_a_failing_hook_takes_all_hooks_with_it():
    def fail(m, inp, out): raise RuntimeError('no')
    learn = fit(cb := HookCallback(hook=fail), 0)
    with pytest.raises(RuntimeError, match='no'): learn.fit(1)
    assert n_hooks(learn.model)==0
    learn.remove_cb(cb).fit(1)

def test_two_fits_do_not_hook_twice():
    heard = []
    learn = fit(HookCallback(remove_end=False, hook=lambda *_: heard.append(1)), 2)
    learn.fit(1)
    assert len(heard)==2*18 and n_hooks(learn.model)==2

def test_hooks_that_stay_hear_the_model_until_remove():
    learn = fit(cb := HookCallback(remove_end=False))
    pred = learn.model(torch.ones(1, 3))
    assert torch.equal(cb.hooks.stored[-1], pred)
    cb.remove()
    assert n_hooks(learn.model)==0
    cb.remove()

def test_gradients_in_a_fit():
    got,want = [],[]
    cb = HookCallback(is_forward=False, hook=lambda m, _, g: got.append(g[0]) if m.out_features==2 else None)
    learn = fit(cb, 0)
    learn.fit(1, cbs=Callback(after_pred=lambda o: o.pred.register_hook(lambda g: want.append(g))))
    assert len(got)==6 and all(map(torch.equal, got, want))

@pytest.mark.parametrize('cb', [HookCallback, ActivationStats, lambda: HookCallback(is_forward=False), lambda: ActivationStats(is_forward=False)])
def test_weights_are_those_of_a_fit_without_hooks(cb):
    def run(*cbs):
        torch.manual_seed(3)
        learn = mk_learn(train=DataLoader(data(), 4, shuffle=True))
        learn.fit(2, cbs=cbs)
        return learn.model
    assert same(run(cb()), run())

@pytest.mark.parametrize('wrap', [lambda m: torch.compile(m, backend='eager'), lambda m: m.compile(backend='eager') or m])
@pytest.mark.parametrize('every', [None, 2])
def test_compiled_models_are_heard(wrap, every):
    heard = []
    learn = fit(HookCallback(every=every, hook=lambda *_: heard.append(1)), 0, wrap(mlp()))
    with learn.removed_cbs(HookCallback): learn.fit(1)  # compiled without hooks
    learn.fit(1)
    assert len(heard)==2*(3 if every else 6) and n_hooks(learn.model)==0
    stats = ActivationStats()
    learn.fit(1, cbs=stats)
    assert stats.names==['0', '2'] and not stats.stats['mean'].isnan().any()

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

def test_modules_called_several_times_per_batch_have_the_statistics_of_all_calls():
    outs = []
    model = nn.Sequential(Calls(), nn.Flatten())
    cb = ActivationStats(with_hist=True)
    learn = mk_learn(model, [(torch.randn(4, 3), torch.tensor([0]))], cbs=[TrainEvalCallback, cb])
    with Hook(model[0].lin, lambda m, i, o: outs.append(o.flatten())): learn.fit(1)
    o,s = torch.cat(outs),cb.stats
    assert o.numel()==36
    torch.testing.assert_close(torch.stack([s[k][0,0] for k in ('mean', 'std', 'near_zero')]),
        torch.stack([o.mean(), o.std(), (o.abs()<=.05).float().mean()]))
    assert torch.equal(s['hist'][0,0], o.abs().histc(40, 0, 10))

class Odd(nn.Module):
    "Puts out what `wrap` makes of its input"
    def __init__(self, wrap):
        super().__init__()
        self.wrap,self.lin = wrap,nn.Linear(3, 2)
    def forward(self, x): return self.wrap(self.lin(x))

def odd_stats(wrap, n=1):
    model = Odd(wrap)
    learn = Learner([torch.randn(4, 3)], model, lambda o: model.lin.weight.sum(), cbs=(res := ActivationStats(modules=[model, model.lin])))
    with learn.no_logging(): learn.fit(n)
    return res

@pytest.mark.parametrize('wrap,isnan', [(lambda o: (o, None), False), (lambda o: dict(n=torch.arange(3), a=[o]), False), (lambda o: Data(o), False),
    (lambda o: o.bfloat16(), False), (lambda o: o.half(), False), (lambda o: o.double(), False), (lambda o: o.sum(), False),
    (lambda o: o.argmax(1), True), (lambda o: None, True), (lambda o: o[:0], True)])
def test_outputs_that_are_tuples_dicts_half_precision_or_no_floats(wrap, isnan):
    mean = odd_stats(wrap, 2).stats['mean']
    assert mean.isnan().tolist()==[[isnan, False]]*2 and mean.dtype==torch.float32

def test_half_precision_is_measured_in_single():
    mean,std,near_zero = odd_stats(lambda o: torch.tensor([60000., 50000., .06]).half()).layer_stats(0)[:,0]
    want = torch.tensor([60000., 50000., .06]).half().float()  # their sum is beyond half precision
    torch.testing.assert_close((mean, std), (want.mean(), want.std()))
    assert near_zero==0

@pytest.mark.parametrize('wrap,std', [(lambda o: o[:1,:1], math.nan), (lambda o: o*0+torch.tensor([1., 3.]), torch.tensor([1., 3.]*4).std().item())])
def test_the_deviation_is_the_samples(wrap, std):
    assert odd_stats(wrap).layer_stats(0)[1].item()==pytest.approx(std, nan_ok=True)

def test_looking_is_when_the_device_is_waited_for(monkeypatch):
    def no(self, *args, **kwargs): raise AssertionError('a look at a value, in the loop')
    learn = fit(stats := ActivationStats(with_hist=True), 0, opt_func=torch.optim.SGD)
    with monkeypatch.context() as m:
        for o in ('item', 'tolist', 'cpu', 'numpy', '__bool__', '__float__'): m.setattr(torch.Tensor, o, no)
        learn.fit(1)
    assert len(stats.stats['mean'])==6

def test_many_batches_go_into_blocks(monkeypatch):
    train = [(torch.randn(4, 3), torch.tensor([0, 1, 0, 1])) for _ in range(600)]
    learn = fit(stats := ActivationStats(), 0, train=train)
    learn.fit(1, cbs=Callback(after_batch=lambda o: stats.stats if o.iter==300 else None))
    assert len(stats._new)<256
    assert stats.stats['mean'].shape==(600, 2) and len(stats._blocks)==1

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

def test_an_evaluation_inside_of_a_batch_leaves_its_hooks():
    heard,batch = [],(torch.randn(4, 3), torch.tensor([0, 1, 0, 1]))
    learn = fit(HookCallback(every=1, is_forward=False, hook=lambda *_: heard.append(1)), 0, valid=[batch])
    learn.fit(1, cbs=Callback(after_loss=lambda o: o.learn.validate() if o.training else None))
    assert len(heard)==12

def test_history_is_that_of_the_last_fit():
    learn = fit(stats := ActivationStats(), 2)
    learn.fit(1)
    assert stats.stats['mean'].shape==(6, 2)

@pytest.mark.parametrize('every', [1, 2, 4])
def test_every_thins_out_statistics(every):
    every_batch,some = ActivationStats(),ActivationStats(every=every)
    some.name = 'some'
    learn = fit(every_batch, 0)
    learn.fit(2, cbs=some)
    assert some._iters==list(range(0, 12, every)) and torch.equal(some.stats['mean'], every_batch.stats['mean'][::every])

def test_the_batch_that_failed_is_there_up_to_the_failure():
    class Fail(nn.Module):
        n = 0
        def forward(self, x):
            self.n += 1
            if self.n==3: raise RuntimeError('no')
            return x
    learn = fit(stats := ActivationStats(), 0, nn.Sequential(nn.Linear(3, 3), Fail(), nn.Linear(3, 2)))
    with pytest.raises(RuntimeError, match='no'): learn.fit(1)
    assert stats.stats['mean'].isnan().tolist()==[[False, False]]*2 + [[False, True]]

def test_skipped_batches_and_steps():
    def skip(cb):
        if cb.iter==1: raise CancelBatchException
        if cb.iter==2: raise CancelStepException
        if cb.iter==4: raise CancelFitException
    learn = fit(stats := ActivationStats(), 0)
    learn.fit(1, cbs=Callback(before_batch=lambda cb: skip(cb) if cb.iter!=2 else None, before_step=lambda cb: skip(cb) if cb.iter==2 else None))
    assert stats._iters==[0, 2, 3] and len(stats.stats['mean'])==3

def test_nan_shows():
    model = mlp()
    learn = fit(stats := ActivationStats(with_hist=True), 0, model)
    def poison(cb):
        if cb.iter==2:
            with torch.no_grad(): model[2].weight.fill_(float('nan'))
    learn.fit(1, cbs=Callback(before_batch=poison))
    assert stats.stats['mean'].isnan().tolist()==[[False, False]]*2 + [[False, True]] + [[True, True]]*3

def test_looking_before_there_is_anything_says_so():
    stats = ActivationStats()
    with pytest.raises(ValueError, match='nothing was recorded'): stats.stats  # noqa: B018
    fit(stats)
    with pytest.raises(ValueError, match='with_hist=True'): stats.hist(0)
    with pytest.raises(ValueError, match=r"no layer 7 among 2: 0, 2$"): stats.layer_stats(7)
    with pytest.raises(ValueError, match=r"no layer 'o'"): stats.plot_layer_stats('o')

def test_plots():
    plt = pytest.importorskip('matplotlib.pyplot')
    fit(stats := ActivationStats(with_hist=True, every=2))
    axs = stats.plot_layer_stats()
    assert [len(o.lines) for o in axs]==[2, 2, 2] and axs[0].lines[0].get_xdata().tolist()==[0, 2, 4]
    torch.testing.assert_close(torch.as_tensor(axs[2].lines[1].get_ydata()), stats.layer_stats('2')[2])
    assert [len(o.lines) for o in stats.plot_layer_stats('2')]==[1]*3
    ax = stats.color_dim(0)
    assert ax.images[0].get_array().shape==(40, 3) and ax.images[0].get_extent()==[0, 6, 0, 10]
    assert stats.color_dim('2', ax=ax) is ax and ax.get_title()=='layer 2'
    plt.close('all')

def test_gradient_statistics():
    grads = []
    stats = ActivationStats(is_forward=False)
    learn = fit(stats, 0)
    learn.fit(1, cbs=Callback(after_pred=lambda o: o.pred.register_hook(lambda g: grads.append(g))))
    torch.testing.assert_close(stats.layer_stats('2')[1], torch.stack([o.std() for o in grads]))

# ---- summary prints where nothing else shows it

@pytest.mark.parametrize('ps1', [None, '>>> ', 'In : '])
def test_a_script_prints_the_summary_and_a_prompt_shows_it(ps1, monkeypatch, capsys, tmp_path):
    if ps1 is None: monkeypatch.delattr(sys, 'ps1', raising=False)
    else: monkeypatch.setattr(sys, 'ps1', ps1, raising=False)
    learn = mk_learn()
    res = learn.summary()
    assert capsys.readouterr().out==(f'{res}\n' if ps1 is None else '') and res.n_params
    summarize(learn)
    learn.report(tmp_path/'report.html')
    assert capsys.readouterr().out==''

@pytest.mark.parametrize('args', [['train.py'], ['-c', 'import train'], ['-m', 'train']], ids=str)
def test_each_way_to_run_a_script_prints_the_summary_once(args, tmp_path):
    (tmp_path/'train.py').write_text('from learnloop.app.synth import synth_learner\nsynth_learner().summary()\n')
    env = os.environ | dict(PYTHONPATH=os.pathsep.join(filter(None, (os.getcwd(), os.environ.get('PYTHONPATH')))))
    res = subprocess.run([sys.executable, *args], cwd=tmp_path, capture_output=True, text=True, timeout=120, env=env)
    assert res.returncode==0 and res.stdout.count('2 parameters')==1, res.stdout+res.stderr

@pytest.mark.parametrize('kw', [dict(remove_end=False), dict(every=2), {}], ids=str)
def test_compiled_code_runs_again_after_a_fit_with_several_hooks(kw):
    import torch._dynamo
    from learnloop import synth_learner
    cbs = [ActivationStats(**kw), HookCallback(**kw)]
    learn = synth_learner(cbs=cbs)
    with learn.no_logging(): learn.fit(1)
    assert torch._dynamo.eval_frame._stance.stance=='default'
