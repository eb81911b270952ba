"Stand-ins for the optimizers, loaders, batches and models of other packages, with the same interface"
from collections import defaultdict
from functools import partial
import os, signal
import pytest, torch
from helpers import check, quiet, same, weights
from learnloop import *
from learnloop.data.begin import goes_by_state, loader_state
from learnloop.loop.opt_mode import with_modes
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

g = torch.Generator().manual_seed(0)
TRAIN,VALID = ([((x := torch.randn(8, 4, generator=g)), x.sum(1, keepdim=True)) for _ in range(n)] for n in (6, 2))

def mk(opt_func=torch.optim.SGD, cbs=None, dls=(TRAIN, VALID), **kwargs):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 1))
    own = opt_func is torch.optim.SGD or isinstance(opt_func, type) and issubclass(opt_func, ScheduleFree|Averages|Sharp)
    return Learner(dls, model, F.mse_loss, partial(opt_func, lr=.1) if own else opt_func, cbs=cbs, **kwargs)

# ---- optimizers

class ScheduleFree(torch.optim.Optimizer):
    "As SGDScheduleFree of schedulefree: its mode is in the groups, and it steps in that of training alone"
    def __init__(self, params, lr=.1, momentum=.9, starts=False):
        super().__init__(params, dict(lr=lr, momentum=momentum, k=0, train_mode=starts))
    @torch.no_grad()
    def _move(self, trains):
        for g in self.param_groups:
            if g['train_mode']==trains: continue
            for p in g['params']:
                if 'z' in self.state[p]: p.lerp_(self.state[p]['z'], 1-g['momentum'] if trains else 1-1/g['momentum'])
            g['train_mode'] = trains
    def train(self): self._move(True)
    def eval(self): self._move(False)
    @torch.no_grad()
    def step(self, closure=None):
        for g in self.param_groups:
            if not g['train_mode']: raise Exception('Optimizer was not in train mode when step is called')
            g['k'] += 1
            for p in g['params']:
                if p.grad is None: continue
                z = self.state[p].setdefault('z', p.clone())
                c,m,lr = 1/g['k'],g['momentum'],g['lr']
                p.lerp_(z, c).add_(p.grad, alpha=lr*(m*(1-c)-1))
                z.sub_(p.grad, alpha=lr)

class Wrapper:
    "As ScheduleFreeWrapper: no optimizer of torch's class, and its mode is in no state"
    def __init__(self, base): self.base,self.momentum,self.train_mode,self.k = base,.9,False,0
    param_groups,state = property(lambda self: self.base.param_groups),property(lambda self: self.base.state)
    def state_dict(self): return self.base.state_dict()
    def load_state_dict(self, sd): self.base.load_state_dict(sd)
    def zero_grad(self, set_to_none=True): self.base.zero_grad(set_to_none)
    @torch.no_grad()
    def _move(self, trains):
        for p in [p for g in self.param_groups for p in g['params']] if trains!=self.train_mode else ():
            if 'z' in self.state[p]: p.lerp_(self.state[p]['z'], 1-self.momentum if trains else 1-1/self.momentum)
        self.train_mode = trains
    def train(self): self._move(True)
    def eval(self): self._move(False)
    @torch.no_grad()
    def step(self, closure=None):
        assert self.train_mode
        for g in self.param_groups:
            for p in g['params']:
                z = self.state[p].setdefault('z', p.clone())
                z.sub_(p.grad, alpha=g['lr'])
                p.lerp_(z, .2)

class Averages(torch.optim.SGD):
    "As SPlus: `eval` needs a step before, and keeps what it replaces in its state"
    def __init__(self, params, lr=.1):
        super().__init__(params, lr)
        for g in self.param_groups: g['train_mode'] = True
    @torch.no_grad()
    def step(self, closure=None):
        super().step()
        for p in [p for g in self.param_groups for p in g['params']]:
            self.state[p].setdefault('ema', torch.zeros_like(p)).lerp_(p, .1)
    @torch.no_grad()
    def eval(self):
        for g in self.param_groups:
            for p in g['params'] if g['train_mode'] else ():
                self.state[p]['buffer'] = p.clone()
                p.copy_(self.state[p]['ema'])
            g['train_mode'] = False
    @torch.no_grad()
    def train(self):
        for g in self.param_groups:
            for p in g['params'] if not g['train_mode'] else (): p.copy_(self.state[p].pop('buffer'))
            g['train_mode'] = True

class Lookahead(torch.optim.Optimizer):
    "As that of pytorch_optimizer: torch's constructor is never called, and its state has no `param_groups`"
    def __init__(self, opt):
        self.optimizer,self.n,self.state,self.defaults = opt,0,defaultdict(dict),dict(lookahead_k=3, **opt.defaults)
        for p in self._params(): self.state[p]['slow'] = p.detach().clone()
    param_groups = property(lambda self: self.optimizer.param_groups)
    def _params(self): return [p for g in self.param_groups for p in g['params']]
    def zero_grad(self, set_to_none=True): self.optimizer.zero_grad(set_to_none)
    def state_dict(self):
        slow = {(0, i):dict(self.state[p]) for i,p in enumerate(self._params())}
        return dict(lookahead_state=slow, n=self.n, base_optimizer=self.optimizer.state_dict())
    def load_state_dict(self, sd):
        self.optimizer.load_state_dict(sd['base_optimizer'])
        self.n = sd['n']
        for i,p in enumerate(self._params()): self.state[p] = {k:v.clone() for k,v in sd['lookahead_state'][0, i].items()}
    @torch.no_grad()
    def step(self, closure=None):
        self.optimizer.step(closure)
        self.n += 1
        for p in self._params() if self.n%3==0 else ():
            self.state[p]['slow'].lerp_(p, .5)
            p.copy_(self.state[p]['slow'])

class NoClosureError(Exception): pass
class Sharp(torch.optim.Optimizer):
    "As SAM of pytorch_optimizer: `closure` has a default, and None is an error"
    def __init__(self, params, lr=.1, rho=.05):
        super().__init__(params, dict(lr=lr, rho=rho))
        self.base = torch.optim.SGD(self.param_groups, lr)
        self.param_groups = self.base.param_groups
    def load_state_dict(self, sd):
        super().load_state_dict(sd)
        self.base.param_groups = self.param_groups
    @torch.no_grad()
    def step(self, closure=None):
        if closure is None: raise NoClosureError('Sharp requires closure.')
        ps = [p for g in self.param_groups for p in g['params']]
        old,norm = [p.clone() for p in ps],torch.stack([p.grad.norm() for p in ps]).norm()
        for p in ps: p.add_(p.grad*self.param_groups[0]['rho']/norm)
        self.zero_grad()
        with torch.enable_grad(): closure()
        for p,w in zip(ps, old, strict=True): p.copy_(w)
        self.base.step()

MODAL = dict(native=ScheduleFree, on=partial(ScheduleFree, lr=.1, starts=True), wrapper=lambda ps: Wrapper(torch.optim.SGD(ps, .1)), averages=Averages)
OPTS = MODAL | dict(lookahead=lambda ps: Lookahead(torch.optim.SGD(ps, .1, momentum=.9)), sharp=Sharp)

class Stop(Callback):
    "Ends the fit once, before batch `at`, or in the validation after it"
    read_only = True
    def __init__(self, at, in_validation): self.at,self.in_validation,self.done = at,in_validation,False
    def _is_due(self, here):
        due = not self.done and here and self.learn.inside('fit') and self.learn.count.opt_steps==self.at
        self.done |= due
        return due
    def between_batches(self):
        if self._is_due(not self.in_validation): raise KeyboardInterrupt
    def after_batch(self):
        if self._is_due(self.in_validation and not self.learn.training): os.kill(os.getpid(), signal.SIGINT)

def by_hand(opt_func, n_epoch):
    "The weights that are trained, and those of evaluation, by a loop by hand"
    model = mk().model
    opt = opt_func(list(model.parameters()))
    for _ in range(n_epoch):
        if with_modes(opt): opt.train()
        for x,y in TRAIN:
            def closure(x=x, y=y):
                opt.zero_grad()
                loss = F.mse_loss(model(x), y)
                loss.backward()
                return loss
            closure()
            opt.step(closure) if isinstance(opt, Sharp) else opt.step()
            opt.zero_grad()
    trained = weights(model)
    if with_modes(opt): opt.eval()
    return trained,weights(model)

@pytest.mark.parametrize('name', OPTS)
def test_optimizers_of_other_packages_train_as_in_a_loop_by_hand(name):
    learn = quiet(mk(OPTS[name], dls=(TRAIN, VALID)), 1)
    assert same(weights(learn.model), by_hand(OPTS[name], 1)[1])
    if name in MODAL: assert not same(*by_hand(OPTS[name], 1))

@pytest.mark.every(2)
@pytest.mark.parametrize('name', MODAL)
def test_all_that_evaluates_or_saves_has_the_averages_and_changes_nothing(name, tmp_path):
    plain,seen = quiet(mk(MODAL[name]), 2),[]
    def look(cb):
        learn = cb.learn
        if learn.count.opt_steps!=9 or not learn.training: return
        before = weights(learn.model)
        learn.validate(cbs=Callback(name='see', after_batch=lambda o: seen.append(weights(o.learn.model))))
        learn.get_preds()
        learn.save(tmp_path/'a.pth')
        check(before, weights(learn.model))
        assert not same(before, seen[-1])
        load_model(tmp_path/'a.pth', other := mk().model)
        check(weights(other), seen[-1])
    learn = quiet(mk(MODAL[name], SanityCheck(1)), 2, cbs=Callback(name='look', after_batch=look))
    assert seen and same(plain.model, learn.model)
    learn.save(tmp_path/'b.pth')
    other = mk(MODAL[name])
    other.load(tmp_path/'b.pth')
    assert same(quiet(other, 1).model, quiet(learn, 1).model)

@pytest.mark.every(2)
@pytest.mark.parametrize('how', ['memory', 'disk'])
@pytest.mark.parametrize('at', [(3, False), (6, True), (8, False), (12, True)], ids=str)
@pytest.mark.parametrize('name', OPTS)
def test_a_resumed_fit_is_bit_identical(name, at, how, tmp_path):
    whole = quiet(mk(OPTS[name]), 2)
    learn = mk(OPTS[name])
    with pytest.raises(KeyboardInterrupt), learn.no_logging(): learn.fit(2, cbs=Stop(*at), **(dict(resume=tmp_path) if how=='disk' else {}))
    if with_modes(learn.opt): assert not any(g.get('train_mode', getattr(learn.opt, 'train_mode', False)) for g in learn.opt.param_groups)
    if how=='disk': learn = quiet(mk(OPTS[name]), 2, resume=tmp_path)
    else:
        learn.validate()
        with learn.no_logging(): learn.resume()
    assert same(learn.model, whole.model)

def test_momentum_of_a_schedule_free_optimizer_stays(tmp_path):
    with (learn := mk(ScheduleFree)).no_logging(): learn.fit_one_cycle(1, .1)
    assert learn.opt.param_groups[0]['momentum']==.9
    with pytest.raises(ValueError, match='momentum of ScheduleFree must not change'), learn.no_logging(): learn.fit_one_cycle(1, .1, moms=(.95, .85, .95))

def test_a_switch_to_a_schedule_free_optimizer_in_a_fit():
    @on(event.after_batch, once=3)
    def switch(cb): cb.learn.switch_opt(ScheduleFree)
    learn = quiet(mk(), 1, cbs=switch)
    assert learn.count.opt_steps==6 and not learn.opt.param_groups[0]['train_mode']

@pytest.mark.parametrize('how', ['class', 'partial', 'instance'])
def test_an_optimizer_that_chooses_its_own_learning_rate(how):
    Adafactor = pytest.importorskip('transformers').optimization.Adafactor
    if how=='instance':
        learn = mk()
        learn.opt_func = Adafactor(learn.model.parameters())
    else: learn = mk(Adafactor if how=='class' else partial(Adafactor, lr=None))
    before = weights(learn.model)
    quiet(learn, 1)
    assert not same(before, weights(learn.model)) and all(lr!=lr for lr in learn.recorder.lrs) and learn.opt.param_groups[0]['lr'] is None
    repr(learn)
    with pytest.raises(ValueError, match='choose its own lr.*create the optimizer with a number'): learn.set_hypers(lr=.1)

# ---- lazy layers

LAZY = dict(adagrad=lambda o: o.fit(1), keep_failed=lambda o: o.fit(1, keep_failed=True),
    save=lambda o: o.save('x'), export=lambda o: o.export('x'), lr_find=lambda o: o.lr_find())

@pytest.mark.parametrize('name', LAZY)
def test_an_uninitialized_model_is_an_error_that_says_so(name, tmp_path):
    learn = Learner((TRAIN, VALID), nn.LazyLinear(1), F.mse_loss, torch.optim.Adagrad if name=='adagrad' else torch.optim.SGD, path=tmp_path)
    with pytest.raises(ValueError) as e, learn.no_logging(): LAZY[name](learn)
    said = str(e.value)+''.join(getattr(e.value, '__notes__', ()))
    assert 'weight has no shape yet, because the model was never called: run a batch through it first' in said
    learn.model(TRAIN[0][0])
    with learn.no_logging(): LAZY['adagrad'](learn)

# ---- loaders and batches

class Prepared(DataLoader):
    "As a loader that accelerate prepared: it has the methods, and hands them on to a loader that has none"
    def __init__(self, ds, **kwargs):
        super().__init__(ds, **kwargs)
        self.base = DataLoader(ds, **kwargs)
    def state_dict(self): return self.base.dl_state_dict
    def load_state_dict(self, sd): self.base.load_state_dict(sd)

@pytest.mark.parametrize('how', ['memory', 'disk'])
def test_a_loader_without_usable_state_is_iterated_again(how, tmp_path):
    ds = TensorDataset(*(torch.cat(o) for o in zip(*TRAIN, strict=True)))
    def learner():
        return mk(dls=(Prepared(ds, batch_size=8, shuffle=True), Prepared(ds, batch_size=8)))
    whole,learn = quiet(learner(), 2),learner()
    assert goes_by_state(learn.dls.train) and loader_state(learn.dls.train) is None
    with pytest.raises(KeyboardInterrupt), learn.no_logging(): learn.fit(2, cbs=Stop(8, False), **(dict(resume=tmp_path) if how=='disk' else {}))
    if how=='disk': learn = quiet(learner(), 2, resume=tmp_path)
    else:
        with learn.no_logging(): learn.resume()
    assert same(learn.model, whole.model)
    with learn.no_logging(): learn.lr_find(show_plot=False)
    with learn.no_logging(): learn.fit(1, keep_failed=True)

class Graphs:
    "As a batch of PyTorch Geometric: an object with attributes, which moves, and whose length is that of something else"
    def __init__(self, x, y, of): self.x,self.y,self.of,self.num_graphs = x,y,of,len(y)
    batch_size = property(lambda self: self.num_graphs)
    def to(self, device, non_blocking=False): return Graphs(*(o.to(device) for o in (self.x, self.y, self.of)))
    def __len__(self): return 3

class Pool(nn.Linear):
    def forward(self, b): return torch.zeros(b.num_graphs, 1).index_add(0, b.of, super().forward(b.x)).squeeze(-1)

def test_batches_of_graphs_have_their_targets_by_name():
    bs = [Graphs(torch.randn(5*n, 3), torch.randn(n), torch.arange(n).repeat(5)) for n in (4, 4, 2)]
    learn = Learner(DataLoaders(bs, bs, targ='y'), Pool(3, 1), F.mse_loss)
    quiet(learn, 1)
    assert learn.count.samples==10
    with torch.no_grad(): losses = torch.cat([F.mse_loss(learn.model(b), b.y, reduction='none') for b in bs])
    assert learn.validate()[0]==pytest.approx(losses.mean().item(), rel=1e-5)
    preds,targs = learn.get_preds()
    assert preds.shape==targs.shape==(10,)
    learn.dls.targ = 'z'
    with pytest.raises(ValueError, match=r"targ=\('z',\).*Graphs"), learn.no_logging(): learn.fit(1)

# ---- models

class Output(dict): pass

def test_predictions_leave_out_the_keys_to_ignore_at_inference():
    class Net(nn.Linear):
        class config: keys_to_ignore_at_inference = ['past_key_values']
        def forward(self, x): return Output(logits=super().forward(x), past_key_values=object())
    seen = []
    learn = Learner((TRAIN, VALID), Net(4, 1), lambda p, y: F.mse_loss(p['logits'], y))
    preds,_ = learn.get_preds(cbs=Callback(after_pred=lambda cb: seen.append([*cb.learn.pred])))
    assert type(preds) is Output and [*preds]==['logits'] and preds['logits'].shape==(16, 1) and seen[0]==['logits', 'past_key_values']
