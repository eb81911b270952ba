"A summary shows what is there, for any model and batch, and leaves no trace"
import gc, random, weakref
from collections import namedtuple
from dataclasses import dataclass
import numpy as np, pytest, torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, IterableDataset, TensorDataset
from learnloop.callback import Callback
from learnloop.data import DataLoaders, preserve_rng
from learnloop.hook import hooked
from learnloop.learner import Learner, TrainEvalCallback

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

def test_hooks_are_removed_if_registering_fails():
    m = nn.Linear(1, 1)
    with pytest.raises(AttributeError), hooked([m, None], print): pass
    assert n_hooks(m)==0

def test_hooked_does_not_change_outputs():
    m = nn.Linear(1, 1)
    with hooked([m], lambda m, out: 'another'): assert isinstance(m(torch.ones(1)), torch.Tensor)

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
    assert learn.opt is None
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
