"Settings that would have no effect are refused: of loaders, a rate beside an optimizer, a value that a schedule sets again"
import pytest, torch
from functools import partial
from helpers import TRAIN, covering, mk_learner
from learnloop import SWA, Callback, DataLoaders, Learner, LRFinder, ParamScheduler, SchedCos, Scheduler, TorchScheduler, get_hypers
from torch import nn
from torch.nn import functional as F
from torch.optim import SGD, AdamW
from torch.optim.lr_scheduler import LambdaLR
from torch.utils.data import DataLoader, TensorDataset

DS = TensorDataset(torch.randn(20, 2), torch.randn(20, 1))

@pytest.mark.parametrize('k,v', dict(bs=64, valid_bs=64, batch_size=64, shuffle=False, drop_last=True, num_workers=2).items())
@pytest.mark.parametrize('mk', [lambda: DataLoaders.from_dsets(DS, DS, bs=8), lambda: DataLoaders.from_tensors(DS.tensors, bs=8),
    lambda: DataLoaders(TRAIN), DataLoaders], ids=range(4))
def test_a_setting_of_loaders_is_refused(mk, k, v):
    dls = mk()
    with pytest.raises(AttributeError, match=rf'dls.{k} = {v} would change nothing.*{"bs" if k=="batch_size" else k}={v}'): setattr(dls, k, v)
    assert k not in vars(dls)

def test_other_attributes_of_loaders_are_kept():
    dls = DataLoaders.from_dsets(DS, DS, bs=8, valid_bs=16)
    dls.vocab,dls.train = 'ab',(new := DataLoader(DS, 4))
    assert dls.vocab=='ab' and dls.train is new and dls.bs==4 and DataLoaders(TRAIN).bs is None and DataLoaders().bs is None

def opt_of(m, lr=.5): return SGD(m.parameters(), lr)
GIVEN = dict(instance=lambda m: opt_of(m), several=lambda m: dict(a=opt_of(m[0]), b=opt_of(m[1])))
def two(): return nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))

@pytest.mark.parametrize('how', GIVEN)
def test_an_optimizer_with_its_own_rate_and_a_rate_are_refused(how):
    m = two()
    with pytest.raises(ValueError, match=r'lr=0.01 would be ignored.*its own learning rate 0.5'): Learner(TRAIN, m, F.mse_loss, GIVEN[how](m), lr=.01)
    learn = Learner(TRAIN, m, F.mse_loss, GIVEN[how](m))
    assert learn.lr==.5
    with pytest.raises(ValueError, match='lr=0.01 would be ignored'): learn.lr = .01
    with pytest.raises(ValueError, match='splitter would be ignored'): Learner(TRAIN, m, F.mse_loss, GIVEN[how](m), splitter=lambda m: [list(o.parameters()) for o in m])
    learn.lr = None
    with learn.no_bar(), learn.no_logging(): learn.fit(1, lr=.02)
    assert get_hypers(learn.opt)[-1]['lr']==.02
    for f in (SGD, partial(SGD, momentum=.5), partial(SGD, lr=.3), lambda ps: SGD(ps, .1)): assert Learner(TRAIN, two(), F.mse_loss, f, lr=.01).lr==.01

class Own(Scheduler):
    owns = ['wd']
    def values(self): return dict(wd=.01)

SCHEDULES = dict(one_cycle=lambda o, cbs: o.fit_one_cycle(1, .1, cbs=cbs), cosine=lambda o, cbs: o.fit_flat_cos(1, .1, cbs=cbs),
    params=lambda o, cbs: o.fit(1, cbs=[ParamScheduler(dict(lr=SchedCos(.1, .01))), *cbs]),
    swa=lambda o, cbs: o.fit(1, cbs=[SWA(start_pct=.5, swa_lr=.01), *cbs]),
    torchs=lambda o, cbs: o.fit(1, cbs=[TorchScheduler(partial(LambdaLR, lr_lambda=lambda n: .9**n), 'step'), *cbs]),
    finder=lambda o, cbs: o.fit(1, cbs=[LRFinder(num_it=3), *cbs]))

@pytest.mark.parametrize('event', ['before_fit', 'before_epoch', 'before_batch', 'after_batch', 'after_epoch'])
@pytest.mark.parametrize('how', SCHEDULES)
def test_a_value_that_a_schedule_sets_again_is_refused(how, event):
    learn = mk_learner(defaults=True)
    names = dict(one_cycle='ParamScheduler', cosine='ParamScheduler', params='ParamScheduler', swa='SWA', torchs='TorchScheduler', finder='LRFinder')
    cb = Callback(**{event:lambda cb: cb.learn.set_hypers(lr=.3)})
    cb.order = 70
    with learn.no_bar(), learn.no_logging(), pytest.raises(ValueError, match=rf'set_hypers\(lr=0.3\): {names[how]}.* sets lr repeatedly in this fit.*learn.remove_cb\(learn\.\w+\)'):
        SCHEDULES[how](learn, [cb])

def test_names_of_torch_mean_the_same():
    learn = mk_learner(defaults=True, opt_func=AdamW)
    for hypers in (dict(weight_decay=.1), dict(wd=.1)):
        with learn.no_bar(), learn.no_logging(), pytest.raises(ValueError, match='Own.* sets wd'):
            learn.fit(1, cbs=[Own(), Callback(before_epoch=lambda cb, hypers=hypers: cb.learn.set_hypers(**hypers))])

def edit(learn, k, v):
    for g in learn.opt.param_groups: g[dict(lr='lr', wd='weight_decay')[k]] = v
SETS = dict(set=lambda o, k, v: o.set_hypers(**{k:v}), edit=edit, torchs=lambda o, k, v: o.set_hypers(**{dict(lr='lr', wd='weight_decay')[k]:v}))
BETWEEN = dict(nothing=lambda o: None, read=lambda o: o.lr, other=lambda o: o.fit(1, lr=.3, wd=.2), validate=lambda o: o.validate(),
    schedule=lambda o: o.fit_one_cycle(1, .2), find=lambda o: o.lr_find(num_it=3, show_plot=False, suggest_funcs=None),
    reset=lambda o: o.fit(1, reset_opt=True), failed=lambda o: pytest.raises(ZeroDivisionError, o.fit, 1, lr=.4, cbs=Callback(after_epoch=lambda cb: 1/0)))

@covering(2, between=BETWEEN, first=[True, False], how=SETS, k=['lr', 'wd'],
    of=[dict(opt_func=SGD), dict(opt_func=AdamW, lr=.01, wd=.01), dict(opt_func=partial(SGD, lr=.2, weight_decay=.1))])
def test_a_value_that_is_set_between_fits_lasts(how, first, between, k, of):
    learn,seen = mk_learner(defaults=True, **dict(lr=None) | of),[]
    with learn.no_bar(), learn.no_logging():
        if first: learn.fit(1, lr=.07)
        SETS[how](learn, k, .05)
        BETWEEN[between](learn)
        learn.fit(1, cbs=Callback(before_epoch=lambda cb: seen.append(get_hypers(cb.learn.opt)[0])))
    assert seen[0][k]==.05 and (k=='wd' or learn.lr==.05)
