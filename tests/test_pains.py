"The most frequent complaints about other trainers; the numbers are the rows of FEATURES, section 4"
from copy import deepcopy
import pytest, torch
from helpers import quiet, same
from learnloop import *
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

def mk_data(n=96, seed=0):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(n, 4, generator=g)
    return TensorDataset(x, x.sum(1, keepdim=True)+.1*torch.randn(n, 1, generator=g))

def mk_learn(bs=16, seed=0, shuffle=False, opt_func=torch.optim.SGD, drop=0., valid=True, **kwargs):
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Dropout(drop), nn.Linear(8, 1)).double()
    def to64(ds): return TensorDataset(*(o.double() for o in ds.tensors))
    dls = DataLoader(to64(mk_data()), bs, shuffle=shuffle),DataLoader(to64(mk_data(40, 1)), 16) if valid else None
    return Learner(dls, model, F.mse_loss, opt_func, lr=.1, **kwargs)

def test_3_accumulated_micro_batches_give_the_weights_of_the_big_batch():
    big = quiet(mk_learn(bs=40), 2, cbs=GradientClip(.5))  # 40 + 40 + 16 items
    small = quiet(mk_learn(bs=8), 2, cbs=[GradientAccumulation(n_batches=5), GradientClip(.5)])
    # sums in another order round differently
    for a,b in zip(big.model.parameters(), small.model.parameters(), strict=True): torch.testing.assert_close(a, b, rtol=1e-12, atol=1e-14)
    assert big.count.opt_steps==small.count.opt_steps==6 and small.count.batches==24
    assert small.recorder.values[0][0]==pytest.approx(big.recorder.values[0][0], rel=1e-12), 'the losses are those of the batches, not divided'
    assert len(small.recorder.raw_losses)==24 and max(small.recorder.raw_losses)>.1, 'and not divided by the number of batches'

LOOKS = dict(validate=Learner.validate, get_preds=Learner.get_preds, predict=lambda o: o.predict(torch.zeros(4).double()),
    lr_find=lambda o: o.lr_find(num_it=30, show_plot=False), summary=Learner.summary, show_results=Learner.show_results)

@pytest.mark.parametrize('look', LOOKS.values(), ids=LOOKS)
def test_7_looking_leaves_history_and_everything_else_alone(look):
    learn = quiet(mk_learn(shuffle=True, metrics=mae, cbs=EMA(at_end=False)), 2)
    before = deepcopy((learn.recorder.state_dict(), learn.model.state_dict(), learn.opt.state_dict(), vars(learn.count))),torch.get_rng_state()
    with learn.no_logging(): look(learn)
    after = (learn.recorder.state_dict(), learn.model.state_dict(), learn.opt.state_dict(), vars(learn.count)),torch.get_rng_state()
    assert str(before)==str(after) and same(learn.model, learn.model) and torch.equal(before[1], after[1])

LOOKERS = dict(nobody=list, sanity=lambda: SanityCheck(2), validation=lambda: ValidateCallback(every_steps=2), ema=lambda: EMA(at_end=False),
    validate=lambda: Callback(after_step=lambda cb: cb.learn.validate()), fingerprint=lambda: Fingerprint(detail=5), flight=FlightRecorder,
    tensorboard=lambda: TensorBoardCallback('log', every_steps=1, norms_every_steps=1, histograms_every_steps=1, hparams=dict(a=1)))

@pytest.mark.parametrize('mk', LOOKERS.values(), ids=LOOKERS)
def test_22_what_looks_on_the_way_changes_no_random_number(mk, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    plain = quiet(mk_learn(shuffle=True, drop=.3, valid=False), 2)
    torch.manual_seed(0)
    learn = mk_learn(shuffle=True, drop=.3)
    # iterating a loader draws a seed for its workers, at the end of each epoch, too, as in a loop by hand: the same here by putting it back
    dl,state = learn.dls.valid,[]
    keep = Callback(before_validate=lambda cb: state.append(torch.get_rng_state()), cleanup_validate=lambda cb: torch.set_rng_state(state.pop()))
    assert dl is not None and same(plain.model, learn.add_cbs(mk()) and quiet(learn, 2, cbs=keep).model)
