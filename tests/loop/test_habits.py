"Habits of other frameworks: they work, or the message names the value, the rule and the fix"
import warnings
from helpers import silent
import learnloop, pytest, torch
from learnloop import Callback, DataLoaders, Learner, ParamScheduler, SchedLin, accuracy
from torch import nn
from torch.nn import functional as F

torch.set_num_threads(1)
G = torch.Generator().manual_seed(0)
DATA = [(torch.randn(n, 6, generator=G), torch.randint(3, (n,), generator=G)) for n in (8, 8, 5)]

def net():
    torch.manual_seed(2)
    return nn.Linear(6, 3)
def mk(cls=Learner, **kwargs):
    return silent(cls(DataLoaders(DATA, DATA, device='cpu'), net(), F.cross_entropy, torch.optim.SGD, lr=.1, metrics=accuracy, **kwargs))
def by_hand(step, n=2):
    "The weights after `step(model, opt, x, y, epoch, i)` for each batch"
    model = net()
    opt = torch.optim.SGD(model.parameters(), lr=.1)
    for e in range(n):
        for i,(x,y) in enumerate(DATA): step(model, opt, x, y, e, i)
    return model.weight
def plain(m, o, x, y, e, i):
    F.cross_entropy(m(x), y).backward()
    o.step()
    o.zero_grad()
def decayed(m, o, x, y, e, i):
    F.cross_entropy(m(x), y).backward()
    with torch.no_grad(): m.weight.grad.add_(m.weight, alpha=.5/(1+i))
    o.step()
    o.zero_grad()
def cb(**fs): return type('Mine', (Callback,), fs)()
def does(text):
    "A handler that executes `text`"
    d = {}
    exec(f'def f(self):\n    {text}', {**vars(learnloop), 'F':F}, d)
    return d['f']

SILENT = dict(  # a handler, and the warning
    step_after_backward=('after_backward', 'self.opt.step()', r'1 optimizer step\(s\) by the loop and 1 by a callback'),
    whole_step=('before_batch', 'if self.training: F.cross_entropy(self.model(self.x), self.y).backward(); self.opt.step(); self.opt.zero_grad()', 'and 1 by a callback'),
    dropped=('after_backward', 'self.opt.zero_grad()', 'no parameter has a gradient before the first step'),
    returns_false=('after_batch', 'return False', 'after_batch of Mine returned False, but.*raise CancelFitException'),
    returns_loss=('after_loss', 'return self.loss_grad*0', r'returned float32 \(\), but.*self.learn.loss_grad'),
    returns_minus_one=('before_batch', 'return -1', 'returned -1, but'),
    model_flag=('after_batch', 'self.model.stop_training = True', 'set learn.model.stop_training, but.*is CancelFitException'),
    own_flag=('after_batch', 'self.should_stop = True', 'set Mine.should_stop, but.*is CancelFitException'),
    opt_lr=('after_batch', 'self.opt.lr = 0.', r'set learn.opt.lr, but.*use learn.set_hypers\(lr=…\)'),
    opt_wd=('after_batch', 'self.opt.weight_decay = 0.', 'set learn.opt.weight_decay, but'),
    returns_cancel=('before_epoch', 'return CancelFitException', 'before_epoch of Mine returned .*CancelFitException'),
    stop=('after_batch', 'self.learn.stop = True', 'code set learn.stop, but the loop does not read it; it is CancelFitException here'),
    stop_training=('after_epoch', 'self.learn.stop_training = True', 'code set learn.stop_training, but'),
    metrics=('before_epoch', 'if self.epoch: self.learn.metrics = [error_rate]', 'learn.metrics changed during the fit, which still computes the earlier ones'))
@pytest.mark.parametrize('n_fits', [1, 2])
@pytest.mark.parametrize('case', SILENT)
def test_code_without_effect_or_with_a_second_one_is_a_warning(case, n_fits):
    e,text,message = SILENT[case]
    learn = mk()
    if n_fits==2: learn.fit(1)
    with pytest.warns(UserWarning, match=message): learn.fit(2, cbs=cb(**{e: does(text)}))

REFUSED = dict(
    loss=('after_loss', 'self.learn.loss = self.loss_grad*2', ValueError, 'learn.loss was set to .* copy for logging.* set learn.loss_grad'),
    yb=('before_batch', 'self.learn.yb = self.y', TypeError, r'yb is int64 \(8\): it must be a tuple, such as \(y,\)'),
    xb=('before_batch', 'self.learn.xb = None', TypeError, r'xb is None: it must be a tuple, such as \(x,\)'))
@pytest.mark.parametrize('case', REFUSED)
def test_wrong_assignments_are_refused(case):
    e,text,error,message = REFUSED[case]
    with pytest.raises(error, match=message): mk().fit(2, cbs=cb(**{e: does(text)}))

WORKS = dict(
    own_backward=('before_backward', 'self.loss_grad.backward(); raise CancelBackwardException', plain),
    own_step=('before_step', 'self.opt.step(); raise CancelStepException', plain),
    zero_first=('before_backward', 'self.opt.zero_grad()', plain),
    own_flag=('after_batch', 'self.stop = self.done = True', plain),
    logged_loss=('after_loss', 'self.learn.loss = self.loss_grad*1', plain),
    lr=('before_batch', 'self.learn.lr = .5/(1+self.iter)', lambda m, o, x, y, e, i: (o.param_groups[0].update(lr=.5/(1+i)), plain(m, o, x, y, e, i))),
    wd=('before_batch', 'self.learn.wd = .5/(1+self.iter)', decayed),
    returns_none=('after_batch', 'return None', plain))
@pytest.mark.parametrize('case', WORKS)
def test_habits_with_a_clear_meaning_work(case):
    e,text,step = WORKS[case]
    learn = mk()
    learn.fit(2, cbs=cb(**{e: does(text)}))
    learn.fit(0, cbs=Callback(after_batch=lambda s: False))
    assert torch.equal(learn.model.weight, by_hand(step))

def test_a_rate_set_in_a_scheduled_fit_is_refused():
    with pytest.raises(ValueError, match='sets lr repeatedly in this fit'):
        mk().fit(1, cbs=[ParamScheduler(dict(lr=SchedLin(.1, .01))), cb(before_batch=does('self.learn.lr = 1.'))])

@pytest.mark.parametrize('k,fix', [('optimizer', 'learn.opt'), ('criterion', 'learn.loss_func'), ('scheduler', 'TorchScheduler'), ('train_dl', 'learn.dls.train'),
    ('callbacks', 'learn.cbs'), ('should_stop', 'CancelFitException'), ('losses', ''), ('history', ''), ('mine', '')])
def test_setting_attributes_of_other_frameworks_is_a_warning(k, fix):
    learn = mk()
    class Own(Learner): pass
    own = mk(Own)
    with warnings.catch_warnings(record=True, action='always') as seen:
        setattr(learn, k, 3)
        setattr(learn, k, 4)  # once
    assert [f'learn.{k}, but the loop does not read it; it is {fix}' in str(o.message) for o in seen] == [True]*bool(fix)
    assert getattr(learn, k)==4
    delattr(learn, k)
    assert not hasattr(learn, k)
    if fix!='CancelFitException': setattr(own, k, 3)  # a subclass has attributes of its own
    learn.add_cb(Callback(name=k))

@pytest.mark.parametrize('ns', [(4, 4), (4,)*5])
def test_a_loader_that_replaces_the_training_loader_has_its_own_length(ns):
    seen = []
    batches = [(torch.randn(n, 6), torch.randint(3, (n,))) for n in ns]
    learn = mk()
    learn.fit(2, cbs=[cb(before_train=does('self.learn.dl = self.other'), other=batches), Callback(after_batch=lambda s: seen.append((s.n_iter, s.pct_train)) if s.training else None)])
    assert seen[-1]==(len(ns), pytest.approx(1)) and learn.count.samples==2*sum(ns)

@pytest.mark.parametrize('args,message', [((net(), DATA), 'n_epoch is a Linear: the model and the loaders are arguments of Learner')])
def test_arguments_of_another_fit(args, message):
    with pytest.raises(TypeError, match=message): mk().fit(*args)

class NamesRate(torch.optim.SGD):
    "Names a rate of its own in the first step, as optimizers of other packages do"
    def step(self, closure=None):
        self.lr = .1
        return super().step(closure)

def flagged():
    model = net()
    model.stop_training = True
    return model
ORDINARY = dict(
    setting=dict(model=flagged), method=dict(cbs=lambda: cb(after_batch=lambda self: self)), tuple=dict(cbs=lambda: cb(after_batch=lambda self: (1, 2))),
    own_flag=dict(cbs=lambda: cb(after_batch=lambda self: setattr(self, 'should_stop', True))), opt=dict(opt=NamesRate))
@pytest.mark.parametrize('case', ORDINARY)
def test_ordinary_programs_are_not_warned(case):
    kw = ORDINARY[case]
    learn = Learner(DataLoaders(DATA, DATA, device='cpu'), kw.get('model', net)(), F.cross_entropy, kw.get('opt', torch.optim.SGD), lr=.1)
    callback = kw.get('cbs', lambda: None)()
    if case=='own_flag': callback.should_stop = False
    learn.logger = lambda row: None
    learn.fit(1, cbs=callback)
