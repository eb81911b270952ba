"Which parameters train: replaced layers, losses with parameters, learning rates of `opt_func`, several optimizers"
from copy import deepcopy
from functools import partial
import pytest, torch
from helpers import LR, Module, TRAIN, VALID, mk_learner, same, weights
from learnloop import (
    Callback, Checks, DataLoaders, EMA, GradientAccumulation, GradientClip, GradualUnfreezing, Learner, MicroBatch, SAM,
    TrainEvalCallback, get_hypers)
from learnloop.loop.optimizer import n_groups
from learnloop.loop.loss import loss_module
from torch import nn
from torch.nn import functional as F
from torch.nn.utils import prune

SGD,AdamW = torch.optim.SGD,torch.optim.AdamW
def net():
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 4), nn.Linear(4, 1))
def layers(m): return [list(o.parameters()) for o in m if list(o.parameters())]
def mk(opt_func=SGD, lr=LR, **kwargs): return mk_learner(**dict(model=net()) | kwargs, opt_func=opt_func, lr=lr)
def replace(learn): learn.model[3] = nn.Linear(4, 1)

# --- 1: what the optimizer holds

FITS = dict(fit=lambda o, **kw: o.fit(1, **kw), one_cycle=lambda o, **kw: o.fit_one_cycle(1, **kw), steps=lambda o, **kw: o.fit(max_steps=2, **kw))

@pytest.mark.parametrize('how', FITS)
@pytest.mark.parametrize('opt_func', [SGD, partial(AdamW, weight_decay=.1), lambda ps: SGD(ps, lr=.1)], ids=['class', 'partial', 'function'])
def test_point_1_a_replaced_layer_is_refused_by_name_and_trains_with_a_new_optimizer(how, opt_func):
    learn,fit = mk(opt_func),FITS[how]
    fit(learn)
    replace(learn)
    was = weights(learn.model)
    with pytest.raises(ValueError, match=r'3\.weight, 3\.bias came after the optimizer was created.*reset_opt=True'): fit(learn)
    assert same(learn.model, was) and learn.open==[]
    fit(learn, reset_opt=True)
    assert all(not torch.equal(a, b) for a,b in zip(was[-2:], weights(learn.model[3]), strict=True))
    fit(learn)

def test_callbacks_that_replace_layers_in_before_fit_are_an_error():
    class Replace(Callback):
        def before_fit(self): replace(self.learn)
    with pytest.raises(ValueError, match=r'3\.weight') as e: mk().fit(1, cbs=[Replace(), Checks()])
    assert any('before_fit' in o and 'create_opt' in o for o in e.value.__notes__)
    class Remake(Replace):
        def before_fit(self):
            super().before_fit()
            self.learn.create_opt()
    mk().fit(1, cbs=[Remake(), Checks()])

@pytest.mark.parametrize('several', [False, True])
def test_point_1_of_an_instance_new_parameters_are_refused(several):
    def make(m, lr=.1):
        if several: return dict(a=SGD(m[0].parameters(), lr=lr), b=SGD(m[2].parameters(), lr=lr))
        return SGD([*m[0].parameters(), *m[2].parameters()], lr=lr)
    model = net()
    learn = mk(make(model), model=model)
    with pytest.warns(UserWarning, match='2 parameters require gradients but are in no group'): learn.fit(1)
    learn.fit(1)  # told once
    learn.model[2] = nn.Linear(4, 4)
    came = r'2\.weight, 2\.bias came after the optimizer was passed.*learn.opt_func = SGD'
    with pytest.raises(ValueError, match=came): learn.fit(1)
    with pytest.raises(ValueError, match=came), pytest.warns(UserWarning, match='in no group'): learn.fit(1, reset_opt=True)  # the same is no new one
    learn.opt_func = make(nn.ModuleList([model[0], nn.Tanh(), learn.model[2]]))
    with pytest.warns(UserWarning, match='in no group'): learn.fit(1, reset_opt=True)
    learn.fit(1)

def _prune(learn):
    prune.l1_unstructured(learn.model[0], 'weight', .5)
    learn.fit(1)
    prune.remove(learn.model[0], 'weight')
def _cycle(learn):
    learn.freeze()
    learn.fit(1)
    learn.unfreeze()
def _own_group(learn):
    learn.model.append(nn.Linear(1, 1))
    learn.opt.add_param_group(dict(params=list(learn.model[4].parameters())))
def _find(learn):
    learn.lr_find(num_it=20, show_plot=False, suggest_funcs=None)
    learn.fit(1, cbs=GradualUnfreezing({0:-1, 1:0}))
    learn.unfreeze()
SAME = dict(half=lambda o: o.model.half().float(), double=lambda o: o.model.to(torch.float64).to(torch.float32), prune=_prune, cycle=_cycle,
    group=_own_group, find=_find, weights=lambda o: o.model.load_state_dict(net().state_dict()),
    tie=lambda o: setattr(o.model[2], 'bias', o.model[0].bias), gone=lambda o: o.model.__setitem__(2, nn.Identity()))
@pytest.mark.every(2)
@pytest.mark.parametrize('how', SAME)
def test_changes_that_keep_parameters_are_no_error(how):
    learn = mk(splitter=layers)
    learn.fit(1)
    SAME[how](learn)
    learn.fit(1)
    other = deepcopy(learn)
    other.fit(1)
    replace(other)
    with pytest.raises(ValueError, match=r'3\.weight'): other.fit(1)
    learn.fit(1)

# --- 2: a loss that learns

class Weighted(Module):
    def __init__(self):
        self.w = nn.Parameter(torch.ones(1))
        self.register_buffer('scale', torch.ones(1))
    def forward(self, pred, y): return F.mse_loss(pred*self.w, y)*self.scale.sum()

LOSSES = dict(module=lambda m: m, partial=lambda m: partial(m), method=lambda m: m.forward)
@pytest.mark.parametrize('kind', LOSSES)
@pytest.mark.parametrize('splitter', [None, layers], ids=['one', 'several'])
def test_point_2_parameters_of_a_loss_train_with_the_head(kind, splitter):
    loss,model = Weighted(),net()
    learn = mk(loss_func=LOSSES[kind](loss), model=model, **({} if splitter is None else dict(splitter=splitter)))
    assert n_groups(learn.create_opt())==(1 if splitter is None else 3)
    learn.fit(2)
    m,w = net(),nn.Parameter(torch.ones(1))
    opt = SGD([*m.parameters(), w], lr=LR)
    for x,y in TRAIN*2:
        F.mse_loss(m(x)*w, y).backward()
        opt.step()
        opt.zero_grad()
    assert same(model, m) and torch.equal(loss.w, w) and not torch.equal(w, torch.ones(1))
    if splitter is None: return
    learn.freeze()
    learn.fit(1, lr=[0., 0., .1])
    assert not torch.equal(loss.w, w) and same(learn.model[0], m[0])
    learn.fit(1, lr=0.)
    assert loss.w.grad is None

def test_point_2_an_optimizer_that_was_given_has_it_or_is_refused():
    loss,model = Weighted(),net()
    with pytest.raises(ValueError, match=r'Weighted\.w of the loss function would never train.*requires_grad_\(False\)'):
        mk(SGD(model.parameters(), lr=.1), loss_func=loss, model=model).fit(1)
    class OwnRule(SGD):
        "Trains the weight of the loss outside of its groups"
        def __init__(self, params, loss, **kw):
            super().__init__(params, **kw)
            self.w = loss.w
        def step(self, closure=None):
            with torch.no_grad(): self.w += self.w.grad
            self.w.grad = None
            return super().step(closure)
    other = Weighted()
    mk(OwnRule(model.parameters(), other, lr=.1), loss_func=other, model=model).fit(1)
    assert other.w.item()!=1
    learn = mk(SGD([*model.parameters(), *loss.parameters()], lr=.1), loss_func=loss, model=model)
    learn.fit(1)
    assert loss.w.item()!=1
    learn = mk(lambda gs: SGD([*gs, dict(params=list(loss.parameters()))], lr=.1), loss_func=loss, model=model)
    learn.fit(1)
    assert len(learn.opt.param_groups)==2
    learn = mk(lambda gs: SGD(learn_only(gs, model), lr=.1), loss_func=Weighted(), model=model)
    with pytest.raises(ValueError, match=r'Weighted\.w'): learn.fit(1)
def learn_only(groups, model): return [{**g, 'params': [p for p in g['params'] if any(p is o for o in model.parameters())]} for g in groups]

@pytest.mark.parametrize('kind', LOSSES)
@pytest.mark.parametrize('how', ['validate', 'get_preds'])
def test_point_2_a_loss_moves_with_the_model(how, kind):
    loss = Weighted()
    learn = Learner(DataLoaders(TRAIN, VALID, device='meta'), net(), LOSSES[kind](loss), SGD, default_cbs=False, cbs=TrainEvalCallback)
    try: getattr(learn, how)()
    except NotImplementedError: assert how=='get_preds'  # which brings predictions to the CPU, and these have none
    assert loss.scale.device.type==loss.w.device.type=='meta'

# --- 3: the learning rate that `opt_func` names

def two_lrs(groups): return SGD([{**g, 'lr': .25*(i+1)} for i,g in enumerate(groups)], momentum=.5)
OWN = dict(partial=(partial(SGD, lr=.5, momentum=.3), .5), function=(lambda ps: SGD(ps, lr=.5), .5), kwargs=(lambda ps, **kw: SGD(ps, lr=.25, **kw), .25),
    groups=(two_lrs, [.25, .5, .75]), several=(lambda gs: dict(a=SGD(gs[:1], lr=.1), b=AdamW(gs[1:], lr=.2)), [.1, .2, .2]), bare=(SGD, 1e-3),
    no_lr=(partial(torch.optim.Adadelta, rho=.8), 1e-3), asks=(lambda ps, lr: SGD(ps, lr=lr), 1e-3),
    default=(lambda ps, lr=.7: SGD(ps, lr=lr/7), pytest.approx(.1)))
def lrs(learn): return [g['lr'] for g in get_hypers(learn.opt)]
def every(v): return v if isinstance(v, list) else [v]*3

@pytest.mark.parametrize('k', OWN)
def test_point_3_the_rate_of_opt_func_counts_unless_another_is_given(k):
    f,lr = OWN[k]
    def mk3(**kw): return mk(f, splitter=layers, **dict(lr=None) | kw)
    learn = mk3()
    assert learn.lr==lr and learn._opt is None
    learn.fit(1)
    assert learn.lr==lr and lrs(learn)==every(lr)
    learn.fit(1, lr=.01)
    assert lrs(learn)==[.01]*3 and learn.lr==lr
    learn.fit(1)
    assert lrs(learn)==every(lr)
    top = []
    learn.fit_one_cycle(1, cbs=Callback('top', after_epoch=lambda cb: top.extend(cb.learn.fit_schedule.scheds['lr'](.25))))
    assert top==every(lr)
    learn.lr_find(num_it=20, show_plot=False, suggest_funcs=None)
    assert lrs(learn)==every(lr) and learn.lr==lr
    if k=='kwargs': return  # its two rates are an error of Python's
    named = mk3(lr=.02)
    named.fit(1)
    assert named.lr==.02 and lrs(named)==[.02]*3
    named.lr = .03
    named.fit(1)
    assert lrs(named)==[.03]*3

# --- 4: who goes by one optimizer

class Turns(Learner):
    def _do_grad_opt(self): super()._do_grad_opt()
def two(m): return dict(body=SGD(m[0].parameters(), lr=.1), rest=SGD([*m[2].parameters(), *m[3].parameters()], lr=.1))
ONE = [GradientAccumulation(n_batches=2), GradientClip(), GradientClip(.1, algorithm='value'), SAM(), MicroBatch(2)]

@pytest.mark.parametrize('cb', ONE, ids=repr)
def test_callbacks_that_need_turns_refuse_a_learner_without_them(cb):
    learn = mk(cls=Turns)
    was = weights(learn.model)
    with pytest.raises(ValueError, match=f'{cb.label} works by turns, but Turns overrides `_do_grad_opt`'): learn.fit(1, cbs=cb)
    assert same(learn.model, was) and learn.count.opt_steps==0
    learn.validate(cbs=cb)
    learn.get_preds(cbs=cb)
    learn.fit(1, cbs=EMA())
    learn = mk()
    learn._do_grad_opt = lambda: None
    with pytest.raises(ValueError, match='overrides'): learn.fit(1, cbs=cb)
    for kw in (dict(opt_func=two(m := net()), model=m), dict(opt_func=dict(all=SGD((m := net()).parameters(), lr=.1)), model=m), dict(splitter=layers)):
        mk(**kw).fit(1, cbs=cb)

@pytest.mark.parametrize('counts,n', [(True, 6), (False, 0)])
def test_point_4_a_step_of_a_turn_counts_or_not(counts, n):
    heard = []
    learn = mk(opt_func=two(m := net()), model=m, cbs=[Callback(after_opt_step=lambda cb: heard.append(cb.turn_name))])
    learn.train_batch = lambda: [learn.turn(lambda: learn.loss_func(learn.forward(), *learn.yb), opt=o, counts=counts) for o in learn.opt]
    learn.fit(1)
    assert learn.count.opt_steps==len(heard)==n and heard==['body', 'rest']*(n//2)
    assert not same(learn.model, net())

@pytest.mark.parametrize('kind', LOSSES)
def test_point_2_a_loss_with_parameters_is_saved_and_resumed(kind, tmp_path):
    def run(n, boom=False, **kwargs):
        w = Weighted()
        learn = mk(loss_func=LOSSES[kind](w), path=tmp_path)
        def fail(cb):
            if boom and cb.learn.count.batches==4: raise MemoryError
        try: learn.fit(n, cbs=Callback(name='fail', before_batch=fail), **kwargs)
        except MemoryError: pass
        return learn,w
    _,want = run(3)
    run(3, boom=True, resume=tmp_path/'run')
    learn,got = run(3, resume=tmp_path/'run', accept='callbacks')
    assert torch.equal(got.w, want.w) and not torch.equal(got.w, Weighted().w) and loss_module(learn) is got
    learn.save('a')
    new = Weighted()
    mk(loss_func=LOSSES[kind](new), path=tmp_path).load('a')
    assert torch.equal(new.w, want.w)

def test_point_7_a_step_is_not_counted_by_the_loop_and_by_hand():
    class Twice(Learner):
        def _do_grad_opt(self):
            self.backward()
            self.with_events('step', self._step)
            self.count.opt_steps += 1
    with pytest.raises(ValueError, match='increased count.opt_steps by 2, but took 1 optimizer'): mk_learner(cls=Twice).fit(1, cbs=Checks())

def test_a_flag_that_ends_a_fit_elsewhere_is_named():
    def stop(cb): cb.learn.should_stop = True
    learn = Learner([(torch.ones(2, 1), torch.ones(2, 1))], nn.Linear(1, 1), nn.functional.mse_loss)
    with learn.no_logging(), pytest.warns(UserWarning, match=r'code set learn.should_stop, but the loop does not read it; it is CancelFitException here') as ws:
        learn.fit(3, cbs=Callback(after_batch=stop))
    assert len(ws)==1

@pytest.mark.parametrize('kind', ['yield 1', 'await later()'])
def test_a_handler_that_a_call_does_not_run_is_refused(kind):
    scope = {}
    exec(f"{'async ' if 'await' in kind else ''}def after_batch(self): {kind}", scope)
    with pytest.raises(TypeError, match='an event passes it only the callback .and does not wait for yield or await'):
        mk_learner(cbs=[type('Later', (Callback,), dict(after_batch=scope['after_batch']))()])
