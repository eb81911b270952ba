"Each callback of the package works in two processes as in one. The tests find callbacks by introspection, so they test a new one at once"
import sys, traceback
from pathlib import Path
import pytest, torch
from helpers import LR, batches, fake_platform, mk_model, silent
from learnloop import DataLoaders, Learner
from learnloop.scale.agree import points_needed
from runs import TOL, check_alike, train
from test_contract import CALLBACKS, FAKE, MADE_WITH
from together import together
from torch.nn import functional as F

OURS = [o for o in CALLBACKS if not o.__module__.startswith('learnloop.interop')]  # they have other tests
# Each process mixes its part with its own random numbers, and other values overflow in parts than in the whole
OWN_WAYS = {'MixUp', 'CutMix', 'MixHandler', 'MixedPrecision'}

ROUGH = dict(TruePrecision=.1)  # sums of parts are rounded, too

def mk(cls, folder):
    if nm := FAKE.get(cls.__name__): sys.modules[nm] = fake_platform()
    return cls(**{k:v(folder) if callable(v) else v for k,v in MADE_WITH.get(cls.__name__, {}).items()})

def mk_learner(cls, folder):
    cb = mk(cls, folder)
    learn = silent(Learner(DataLoaders(batches(3), batches(2, seed=1)), mk_model(), F.mse_loss, torch.optim.SGD, lr=LR, metrics=[F.l1_loss], path=folder))
    return learn.remove_cb(type(cb)).add_cb(cb)

def fit(learn):
    "Fit and evaluate; return results, and the events at which processes have to meet"
    learn.fit(2)
    vals,preds = learn.validate(),learn.get_preds()[0]
    learn.training = True
    return dict(vals=vals, preds=preds, meets=sorted(k for k,v in points_needed(learn).items()))

def all_of_them(folder):
    res = {}
    for cls in OURS:
        torch.manual_seed(42)
        where = Path(folder)/cls.__name__
        where.mkdir(exist_ok=True, parents=True)
        try: res[cls.__name__] = train(lambda cls=cls, where=where: mk_learner(cls, where), fit=fit)
        except Exception:
            res[cls.__name__] = traceback.format_exc()
            break  # an error disconnects the processes
    return res

@pytest.mark.filterwarnings('ignore:Prefetch skips')  # where processes share batches
def test_each_callback_works_in_two_processes_as_in_one(tmp_path):
    ranks,one = together(all_of_them, tmp_path/'two'),all_of_them(tmp_path/'one')
    bad = {}
    for nm,o in one.items():
        for r in ranks: assert nm in r and not isinstance(r[nm], str), r.get(nm)
        try: check(nm, [r[nm] for r in ranks], o)
        except AssertionError as e: bad[nm] = str(e).splitlines()[:3]
    assert not bad, bad

def check(nm, ranks, one):
    check_alike(ranks, ranks[0] if nm in OWN_WAYS else one, ROUGH.get(nm, TOL))
    a,b = (o['came'] for o in ranks)
    assert a['vals']==b['vals'], 'other values'
    assert torch.equal(a['preds'], b['preds']) and a['preds'].shape==(8, 1), 'other predictions'
    assert a['meets']==[], 'it is not declared rank_invariant'

def test_all_callbacks_are_rank_invariant():
    assert [o.__name__ for o in OURS if not o.rank_invariant]==[]
