"The optimizer is created on first access, and a snapshot restores it after any change"
import copy, inspect, io
from functools import partial
import pytest, torch
from helpers import quiet
from hypothesis import given, strategies as st
from learnloop import Callback, Learner, run_facts
from learnloop.loop.opt_state import OptState
from learnloop.loop.optimizer import held_params, hyper_groups, opts
from learnloop.loop.turn import params_of
from torch import nn
from torch.nn import functional as F
from torch.optim import SGD, Adagrad, AdamW

DATA = [(torch.linspace(-1, 1, 8).view(4, 2), torch.ones(4, 1))]*2

def mk_learner(opt_func=AdamW, cls=Learner, model=None, **kwargs):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1)) if model is None else model
    return cls((DATA, DATA), model, F.mse_loss, opt_func, **kwargs)

def fit(learn, n=1, **kwargs): return quiet(learn, n, **kwargs)

# --- when it is made

class Looks(Callback):
    def before_validate(self): self.seen = dir(self)

LOOKS = dict(  # chkstyle: ignore-node
    repr       = repr,
    markdown   = lambda l: l._repr_markdown_(),
    dir        = dir,
    vars       = vars,
    static     = lambda l: inspect.getattr_static(l, 'opt'),
    copy       = copy.copy,
    deepcopy   = copy.deepcopy,
    lr         = lambda l: l.lr,
    own_lr     = lambda l: mk_learner(lambda ps: SGD(ps, lr=.3)).lr,
    validate   = lambda l: l.validate(),
    get_preds  = lambda l: l.get_preds(),
    callback   = lambda l: l.validate(cbs=Looks()),
    facts      = run_facts,
    save       = lambda l: l.save(io.BytesIO()),
    weights    = lambda l: l.save(io.BytesIO(), with_opt=False),
    summary    = lambda l: l.summary(),
    snapshot   = lambda l: OptState(l).restore(),
    no_splits  = lambda l: setattr(l, 'opt', None))

@pytest.mark.parametrize('look', LOOKS.values(), ids=LOOKS)
def test_looking_makes_none(look):
    learn = mk_learner()
    before = dict(vars(learn.model))
    with learn.no_logging(): res = look(learn)
    assert learn._opt is None and vars(learn.model)==before
    assert not isinstance(res, Learner) or res._opt is None

READS = dict(  # chkstyle: ignore-node
    opt      = lambda l: l.opt,
    callback = lambda l: (l.add_cb(Callback(name='mine')), l.mine.opt),
    hypers   = lambda l: l.set_hypers(lr=.1),
    turn     = lambda l: params_of(l),
    create   = lambda l: l.create_opt())

@pytest.mark.parametrize('read', READS.values(), ids=READS)
@pytest.mark.parametrize('lazy', [False, True])
def test_the_first_read_makes_it_once(read, lazy):
    make = lambda: mk_learner(partial(SGD, momentum=.9), lr=.1, model=nn.Sequential(nn.LazyLinear(3), nn.LazyLinear(1)) if lazy else None)
    learn,plain = make(),make()
    read(learn)
    opt = learn._opt
    assert type(opt) is SGD and learn.opt is opt
    for o in (learn, plain):
        torch.manual_seed(1)
        fit(o, 2, lr=.1)
    assert learn.opt is opt and all(map(torch.equal, learn.model.parameters(), plain.model.parameters()))

def test_assigned_optimizers_are_used():
    learn = mk_learner()
    mine = learn.opt = SGD(learn.model.parameters(), lr=.3)
    assert fit(learn).opt is mine and learn.lr==.3
    learn.opt = None
    assert learn._opt is None and type(learn.opt) is AdamW
    two = learn.opt = dict(a=SGD(learn.model[0].parameters(), lr=.1), b=AdamW(learn.model[2].parameters()))
    assert fit(learn).opt is two

@pytest.mark.parametrize('opt_func', [AdamW, partial(SGD, lr=.2), lambda ps: SGD(ps, lr=.2, weight_decay=.1)])
@pytest.mark.parametrize('later', [{}, dict(lr=.4), dict(wd=.4)])
def test_values_of_an_assigned_optimizer_replace_those_of_the_learner(opt_func, later):
    learn = mk_learner(opt_func, lr=.1, wd=.3)
    fit(learn)
    learn.opt = SGD(learn.model.parameters(), lr=.01, weight_decay=.02)
    for k,v in later.items(): setattr(learn, k, v)  # a value that is set later counts
    want = dict(lr=.01, wd=.02) | later
    for _ in range(2):
        fit(learn)
        assert (learn.opt.param_groups[0]['lr'], learn.opt.param_groups[0]['weight_decay']) == (want['lr'], want['wd']) == (learn.lr, learn.wd)

@pytest.mark.parametrize('v', [3, SGD, {}, 'sgd', dict(a=SGD)], ids=repr)
def test_objects_that_are_no_optimizers_are_refused(v):
    learn = mk_learner()
    with pytest.raises(TypeError, match='learn.opt was set to.*must be a torch optimizer'): learn.opt = v
    assert learn._opt is None

def fails(e):
    def make(ps): raise e
    return make

@pytest.mark.parametrize('e', [ValueError('no'), TypeError('no'), MemoryError('no'), AttributeError('no x')], ids=lambda e: type(e).__name__)
@pytest.mark.parametrize('read', [lambda l: l.opt, lambda l: getattr(l, 'opt', None), lambda l: l.mine.opt, lambda l: l.set_hypers(lr=1)],
    ids=['opt', 'default', 'callback', 'hypers'])
def test_the_error_of_making_it_is_shown(e, read):
    learn = mk_learner(fails(e))
    learn.add_cb(Callback(name='mine'))
    hidden = isinstance(e, AttributeError)
    with pytest.raises(RuntimeError if hidden else type(e), match='no') as err: read(learn)
    assert (err.value.__cause__ if hidden else err.value) is e
    learn.opt_func = SGD
    assert type(learn.opt) is SGD

class Forgets(Learner):
    def create_opt(self): return SGD(self.model.parameters())

def test_an_override_that_makes_none_is_named():
    with pytest.raises(RuntimeError, match='Forgets.create_opt must set opt'): mk_learner(cls=Forgets).opt  # noqa: B018

def heads(m): return [[*m[0].parameters()], [*m[2].parameters()]]

@pytest.mark.parametrize('change', [dict(opt_func=SGD), dict(splitter=heads)], ids=lambda d: [*d][0])
def test_reading_the_optimizer_does_not_fix_opt_func(change):
    learn,plain = mk_learner(),mk_learner(**change)
    learn.opt  # noqa: B018
    for k,v in change.items(): setattr(learn, k, v)
    for o in (learn, plain): fit(o)
    assert type(learn.opt) is type(plain.opt) and len(hyper_groups(learn.opt))==len(hyper_groups(plain.opt))
    opt = learn.opt
    learn.opt_func = Adagrad
    with pytest.warns(UserWarning, match='changed after a fit, but this fit keeps the optimizer: pass reset_opt=True'): fit(learn)
    assert learn.opt is opt  # it has learned something, so only reset_opt replaces it

# --- snapshots

def plain(v): return v.tolist() if isinstance(v, torch.Tensor) else v
def told(learn):
    "All that belongs to the optimizer"
    groups = [[{k:plain(v) for k,v in g.items() if k!='params'} | dict(params=[*map(id, g['params'])]) for g in o.param_groups] for o in opts(learn._opt)]
    states = [{id(p):sorted(s) for p,s in o.state.items()} for o in opts(learn._opt)]
    return dict(opt=id(learn._opt), how=(learn.opt_func, learn.wd, learn.lr), groups=groups, states=states,
        frozen=[p.requires_grad for p in learn.model.parameters()], lrs=[id(g['lr']) for _,g in hyper_groups(learn._opt) if isinstance(g['lr'], torch.Tensor)])

def add_group(learn):
    learn.opt.add_param_group(dict(params=[nn.Parameter(torch.ones(1))]))
CHANGES = dict(  # chkstyle: ignore-node
    lr       = lambda l: l.set_hypers(lr=.7),
    wd       = lambda l: l.set_hypers(wd=.2),
    group    = add_group,
    less     = lambda l: l.opt.param_groups[0].update(params=l.opt.param_groups[0]['params'][1:]),
    switch   = lambda l: l.switch_opt(SGD, lr=.2),
    again    = lambda l: l.create_opt(),
    own      = lambda l: setattr(l, 'opt', SGD(l.model.parameters(), lr=1)),
    none     = lambda l: setattr(l, 'opt', None),
    freeze   = lambda l: l.model[0].requires_grad_(False),
    func     = lambda l: setattr(l, 'opt_func', SGD),
    load     = lambda l: l.opt.load_state_dict(copy.deepcopy(l.opt.state_dict())),
    forget   = lambda l: l.opt.state.clear(),
    fit      = fit)

MADE = dict(adamw=AdamW, plain=partial(SGD, lr=.1), tensor=partial(AdamW, lr=torch.tensor(.1), weight_decay=0.), adagrad=Adagrad)

@given(st.sampled_from([*MADE]), st.lists(st.sampled_from([*CHANGES]), min_size=1, max_size=4), st.booleans())
def test_a_snapshot_restores_everything(made, changes, fitted):
    learn = mk_learner(MADE[made], splitter=heads)
    if fitted: fit(learn)
    else: learn.opt  # noqa: B018
    before,snapshot = told(learn),OptState(learn)
    for k in changes: CHANGES[k](learn)
    snapshot.restore()
    assert told(learn)==before and not snapshot.changed()

@given(st.sampled_from([*MADE]), st.lists(st.sampled_from(['lr','wd','group','switch','again','own','freeze']), min_size=1, max_size=3))
def test_the_start_of_a_fit_is_restored(made, changes):
    learn = mk_learner(MADE[made], splitter=heads)
    def change(cb):
        if learn.epoch!=1: return
        learn.before = copy.deepcopy(learn.fit_state.opt_at_start.groups)
        for k in changes: CHANGES[k](learn)
    fit(learn, 2, cbs=Callback(before_epoch=change))
    held = held_params(mk_learner(MADE[made]).opt)
    learn.fit_state.opt_at_start.restore()
    assert not learn.fit_state.opt_at_start.changed() and type(learn.opt) is type(mk_learner(MADE[made]).opt)
    assert len(held_params(learn.opt))==len(held) and all(p.requires_grad for p in learn.model.parameters())
    assert [{k:plain(v) for k,v in g.items()} for g in learn.fit_state.opt_at_start.groups]==[{k:plain(v) for k,v in g.items()} for g in learn.before]
    fit(learn)
