"Models of all kinds, and arguments of DDP and FSDP: two processes train as one does"
import copy, warnings
import pytest, torch, torch.distributed as dist
from helpers import Module, silent
from learnloop import EMA, Callback, DataLoaders, GradientAccumulation, GradientClip, Learner
from learnloop.scale.team import Team, find_team
from learnloop.loop.loss import loss_module
from torch import nn
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from together import ending, same, together

NEAR = 2e-5
cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason='needs CUDA')

def mk(model=None, loss=F.mse_loss, n=34, opt=torch.optim.SGD, lr=.1, **kwargs):
    "Return a learner that is the same in all processes"
    g = torch.Generator().manual_seed(0)
    x = torch.randn(n, 5, generator=g)
    ds = TensorDataset(x, x.sum(1, keepdim=True))
    torch.manual_seed(1)
    model = model() if model else plain()
    torch.manual_seed(2)
    return silent(Learner(DataLoaders(DataLoader(ds, 8, shuffle=True), DataLoader(ds, 8)), model, loss, opt, lr=lr, **kwargs))

def plain(): return nn.Sequential(nn.Linear(5, 16), nn.Tanh(), nn.Linear(16, 1))
def normed(): return nn.Sequential(nn.Linear(5, 16), nn.BatchNorm1d(16), nn.Tanh(), nn.Linear(16, 1))
def lazy(): return nn.Sequential(nn.LazyLinear(8), nn.Linear(8, 1))
def meta(): return plain().to('meta')

def conv():
    "Return a model whose weights aren't contiguous"
    net = nn.Sequential(nn.Unflatten(1, (5, 1, 1)), nn.Conv2d(5, 8, 3, padding=1), nn.Flatten(), nn.Linear(8, 1))
    return net.to(memory_format=torch.channels_last)

class Unused(Module):
    "Doesn't use a layer"
    def __init__(self):
        self.a,self.b = nn.Linear(5, 1),nn.Linear(5, 1)
    def forward(self, x): return self.a(x)

class Tied(Module):
    "Two layers share a weight; blocks are in a list"
    def __init__(self):
        self.a,self.b,self.head = nn.Linear(5, 5),nn.Linear(5, 5),nn.Linear(5, 1)
        self.b.weight = self.a.weight
        self.blocks = nn.ModuleList([nn.Linear(5, 5) for _ in range(2)])
    def forward(self, x):
        x = torch.tanh(self.a(x))
        for o in self.blocks: x = torch.tanh(o(x))
        return self.head(torch.tanh(self.b(x)))

class Odd(Module):
    "Complex weights, integer ones, a Boolean buffer"
    def __init__(self):
        self.c,self.d = nn.Linear(5, 1, dtype=torch.complex64),nn.Linear(5, 1)
        self.i = nn.Parameter(torch.arange(3), requires_grad=False)
        self.register_buffer('is_on', torch.ones(2, dtype=torch.bool))
    def forward(self, x): return self.c(x.to(torch.complex64)).abs() + self.d(x)

class Sparse(Module):
    def __init__(self):
        self.e,self.l = nn.Embedding(4, 3, sparse=True),nn.Linear(3, 1)
    def forward(self, x): return self.l(self.e((x[:,0]>0).long()))

class Scaled(Module):
    "A loss with a parameter"
    def __init__(self):
        self.k = nn.Parameter(torch.tensor(.3))
    def forward(self, p, y): return ((p-y*self.k)**2).mean()

class Thaw(Callback):
    "Freezes the first layer in each second epoch, and in some batches"
    rank_invariant = True
    def before_epoch(self): self.learn.model[0].requires_grad_(self.epoch%2==1)
    def before_batch(self):
        if self.training: self.learn.model[2].requires_grad_(self.epoch!=1 or self.iter%4!=2)

def values(learn):
    "Return the unsharded parameters and buffers of a learner and its loss"
    ms = [learn.model] + ([loss_module(learn)] if loss_module(learn) is not None else [])
    ts = [t for m in ms for t in (*m.parameters(), *m.buffers())]
    return [getattr(t, 'full_tensor', lambda t=t: t)().detach().clone() for t in ts]

def far(a, b): return max((x.to(torch.complex64)-y.to(torch.complex64)).abs().max().item() for x,y in zip(a, b, strict=True))

CASES = dict(  # chkstyle: ignore-node
    tied    = dict(model=Tied),
    odd     = dict(model=Odd),
    loss    = dict(loss=Scaled()))
DDPS = dict(  # chkstyle: ignore-node
    sparse  = (dict(model=Sparse), {}),
    conv    = (dict(model=conv), {}),
    unused  = (dict(model=Unused), dict(find_unused_parameters=True)),
    static  = ({}, dict(static_graph=True)),
    views   = ({}, dict(gradient_as_bucket_view=True)),
    small   = ({}, dict(bucket_cap_mb=.0001)))
FSDPS = dict(  # chkstyle: ignore-node
    list    = ({}, dict(units=lambda m: [m[0], m[2]])),
    itself  = ({}, dict(units=lambda m: [m, m[0]])),
    kept    = ({}, dict(reshard_after_forward=False)),
    unused  = (dict(model=Unused), {}))

def fitted(learn, **kwargs):
    torch.manual_seed(2)  # of the order of items
    learn.fit(2, **kwargs)
    return values(learn)

def differences(how, cases):
    "Return by case how far the weights are from those of one process, and those of the processes from each other"
    res = {}
    for nm,(made,told) in cases.items():
        alone = fitted(mk(**copy.deepcopy(made)))
        learn = getattr(mk(**copy.deepcopy(made)), how)(**told)
        vals = fitted(learn)
        res[nm] = far(alone, vals),far(*learn.team.gather(vals))
    return res

@pytest.mark.parametrize('how,more', [('to_ddp', DDPS), ('to_fsdp', FSDPS)])
def test_models_and_arguments(how, more):
    cases = {k:(v, {}) for k,v in CASES.items()} | more
    for nm,(off,apart) in same(together(differences, how, cases)).items(): assert off<=NEAR and apart==0, (nm, off, apart)

# ---- uses of a learner
def used(how):
    def join(learn): return getattr(learn, how)()
    res = {}
    def note(nm, alone, learn): res[nm] = far(values(alone), values(learn)),far(*learn.team.gather(values(learn)))
    a,b = mk(),join(mk())
    for o in a,b:
        torch.manual_seed(2)
        o.fit(3, cbs=[Thaw(), GradientClip(.1), EMA()])
    note('frozen now and then', a, b)
    res['predictions'] = torch.equal(a.get_preds()[1], b.get_preds()[1]),far([a.get_preds()[0]], [b.get_preds()[0]])
    res['validate'] = abs(a.validate()[0]-b.validate()[0])
    res['one item'] = far([a.predict(torch.ones(5))[0]], [b.predict(torch.ones(5))[0]])
    b,c = join(mk()),join(mk(normed, n=32))
    b.fit(1)
    c.fit(1)  # another one in between
    res['both'] = b.team.processes is c.team.processes,b.n_items
    res['whole'] = [nm for nm,p in b.model.named_parameters() if how=='to_fsdp' and not hasattr(p, 'placements')]
    b.fit(1)
    res['epochs'] = b.count.epochs
    res['norms'] = far(*c.team.gather(values(c)))
    return res

@pytest.mark.parametrize('how', ['to_ddp', 'to_fsdp'])
def test_a_learner_of_two_processes_is_used_like_any_other(how):
    res = same(together(used, how))
    assert res['frozen now and then'][0]<=NEAR and res['frozen now and then'][1]==0
    assert res['predictions'][0] and res['predictions'][1]<=NEAR and res['validate']<=NEAR and res['one item']<=NEAR
    assert res['both'][0] and res['whole']==[] and res['epochs']==2 and res['norms']==0

# ---- DDP only
def ddp_only():
    res,hooked = {},[]
    a,b = mk(),mk().to_ddp(static_graph=True)
    res['static'] = far(*(fitted(o, cbs=GradientAccumulation(24)) for o in (a, b)))<=NEAR
    rates = [o.lr_find(num_it=25) for o in (mk(), mk().to_ddp())]
    res['lr_find'] = torch.allclose(*(torch.tensor([*map(float, o)]) for o in rates), rtol=.01)
    def hook(state, bucket):
        hooked.append(bucket.buffer().numel())
        return dist.all_reduce(bucket.buffer().div_(2), async_op=True).get_future().then(lambda o: o.value()[0])
    a,b = mk(),mk().to_ddp(prepare=lambda m: m.register_comm_hook(None, hook))
    res['hook'] = far(*(fitted(o, cbs=GradientAccumulation(n_batches=2)) for o in (a, b))),len(hooked)==b.count.opt_steps==6
    b = mk(opt=torch.optim.AdamW, lr=.01)
    torch.manual_seed(dist.get_rank())
    b.fit(1)  # each by itself, in an order of its own
    b.to_ddp().fit(1)
    res['late'] = far(*b.team.gather(values(b)))
    c = copy.deepcopy(b)
    c.fit(1)
    res['copy'] = far(*c.team.gather(values(c))),c.team.processes is b.team.processes,c.team.learn is c,far(values(b), values(c))>0
    class Inner(Callback):
        rank_invariant = True
        def after_epoch(self):
            self.learn.other = mk().to_ddp()
            self.learn.other.fit(1)
    b = mk().to_ddp()
    b.fit(1, cbs=Inner())
    a.create_opt()
    res['nested'] = far(*b.team.gather(values(b.other)))
    f = b.model.forward
    b.forward_model = torch.compile(b.model, backend='eager')
    b.fit(1)
    res['compiled'] = far(*b.team.gather(values(b))),b.model.forward==f
    return res

def test_arguments_hooks_and_copies_of_ddp():
    res = same(together(ddp_only))
    off,is_once_a_step = res.pop('hook')
    assert off<=NEAR and is_once_a_step
    assert res==dict(static=True, lr_find=True, late=0, copy=(0, True, True, True), nested=0, compiled=(0, True))

# ---- refused
def refused():
    find_team()
    from torch.distributed.fsdp import CPUOffloadPolicy, fully_shard
    def has_forward(learn, m):
        learn.forward_model = m
        return learn
    sharded = mk()
    fully_shard(sharded.model)
    opted = mk()
    opted.create_opt()
    net = plain()
    given = Learner(mk().dls, net, F.mse_loss, torch.optim.SGD(net.parameters(), lr=.1))
    cases = dict(  # chkstyle: ignore-node
        lazy      = mk(lazy).to_ddp,
        meta      = mk(meta).to_fsdp,
        strided   = mk(conv).to_fsdp,
        twice     = mk().to_ddp().to_ddp,
        both      = mk().to_ddp().to_fsdp,
        model     = Learner(mk().dls, DistributedDataParallel(plain()), F.mse_loss).to_ddp,
        forward   = has_forward(m := mk(), DistributedDataParallel(m.model)).to_ddp,
        sharded   = sharded.to_ddp,
        opted     = opted.to_fsdp,
        given     = given.to_fsdp,
        foreign   = lambda: mk().to_fsdp(units=lambda m: [nn.Linear(2, 2)]),
        number    = lambda: mk().to_fsdp(units=lambda m: [1]),
        names     = lambda: mk().to_fsdp(units='blocks'),
        offload   = lambda: mk().to_fsdp(offload_policy=CPUOffloadPolicy()))
    return {k:ending(f) for k,f in cases.items()}

REFUSED = dict(  # chkstyle: ignore-node
    lazy    = 'to_ddp: 0.weight has no shape yet: call the model on a batch first',
    meta    = 'to_fsdp: 0.weight is on the meta device',
    strided = 'to_fsdp: 1.weight is not contiguous',
    twice   = 'to_ddp: this learner already trains in several processes',
    both    = 'to_fsdp: this learner already trains in several processes',
    model   = 'is already a DistributedDataParallel',
    forward = 'is already a DistributedDataParallel',
    sharded = 'to_ddp: the model is already sharded by fully_shard: use to_fsdp',
    opted   = 'to_fsdp replaces the parameters',
    given   = 'to_fsdp replaces the parameters',
    foreign = 'which is not a module of the model',
    number  = 'units returned 1, which is not a module',
    names   = "units is 'blocks': it must be a function",
    offload = 'offload_policy keeps weights on the CPU')

@pytest.mark.skipif(torch.accelerator.is_available(), reason='of machines without an accelerator')
def test_models_and_arguments_that_cannot_work_are_refused():
    res = same(together(refused))
    for k,text in REFUSED.items(): assert res[k] and text in res[k][1], (k, res[k])

def unused():
    learn = mk(Unused).to_ddp()
    try: learn.fit(1)
    except RuntimeError as e: return '\n'.join(e.__notes__),learn.count.opt_steps

def test_a_weight_without_gradient_is_named_before_a_step():
    notes,n_steps = same(together(unused))
    assert 'b.weight, b.bias got no gradient' in notes and 'to_ddp(find_unused_parameters=True)' in notes and n_steps==0

@pytest.mark.parametrize('how,kwargs,text', [
    ('to_ddp', dict(find_unused=True), "'find_unused' of DistributedDataParallel; did you mean 'find_unused_parameters'"),
    ('to_ddp', dict(process_group=None), 'learnloop sets it'),
    ('to_fsdp', dict(reshard_after_fwd=True), "did you mean 'reshard_after_forward'")])
def test_arguments_are_checked_alone_too(how, kwargs, text):
    with pytest.raises(TypeError, match=text.replace('(', r'\(')): getattr(mk(), how)(**kwargs)

def sharded_by_hand():
    from torch.distributed.fsdp import fully_shard
    find_team()
    a,b = mk(),mk()
    fully_shard(b.model[0])
    fully_shard(b.model)
    b.to_fsdp()
    return far(fitted(a), fitted(b)),ending(mk_sharded().to_fsdp, lambda m: [])

def mk_sharded():
    from torch.distributed.fsdp import fully_shard
    learn = mk()
    fully_shard(learn.model)
    return learn

def test_sharded_by_hand():
    off,(kind,text) = same(together(sharded_by_hand))
    assert off<=NEAR and kind=='TypeError' and 'already sharded' in text

# ---- processes that were not joined
def not_joined():
    learn = mk()
    with warnings.catch_warnings(record=True, action='always') as said:
        for _ in range(2): learn.fit(1)
    return len([o for o in said if '2 processes were started together, but each trains its own model' in str(o.message)]),learn.team.world

def test_a_warning_names_processes_that_were_not_joined_once():
    assert together(not_joined)==[(1, 1), (0, 1)]

# ---- one GPU
@pytest.fixture
def one_process():
    "A group of one process, with NCCL for what is on the GPU"
    dist.init_process_group('cpu:gloo,cuda:nccl', init_method='tcp://127.0.0.1:0', rank=0, world_size=1)
    yield Team()
    dist.destroy_process_group()

def on_gpu(team, how, **kwargs):
    "A learner whose team is of one process: `find_team` makes none of one"
    learn = mk(lambda: plain().cuda(), opt=torch.optim.AdamW, lr=.01)
    learn.dls.device = 'cuda'
    return getattr(learn, how)(**kwargs)

@cuda
@pytest.mark.parametrize('how', ['to_ddp', 'to_fsdp'])
def test_one_gpu(how, one_process, monkeypatch):
    monkeypatch.setattr('learnloop.scale.distributed.find_team', lambda timeout: one_process)
    alone,learn = on_gpu(one_process, 'to_bf16'),on_gpu(one_process, how).to_bf16()
    assert far(fitted(alone), fitted(learn))<=NEAR
    assert learn.team.processes is one_process and learn.n_items==learn.bs

@cuda
@pytest.mark.parametrize('how', ['to_ddp', 'to_fsdp'])
def test_no_step_waits_for_the_gpu(how, one_process, monkeypatch):
    "But for those of torch's first steps, in which it makes its buckets"
    monkeypatch.setattr('learnloop.scale.distributed.find_team', lambda timeout: one_process)
    class Watch(Callback):
        order,rank_invariant = -1000,True
        def before_batch(self):
            if self.training and self.epoch==1: torch.cuda.set_sync_debug_mode('error')
        def cleanup_batch(self): torch.cuda.set_sync_debug_mode('default')
    learn = on_gpu(one_process, how)
    for name in 'recorder','progress': learn.remove_cb(getattr(learn, name))
    learn.fit(2, cbs=Watch())
    assert learn.count.opt_steps==10
