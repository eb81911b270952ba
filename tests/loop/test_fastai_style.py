"A module written for fastai's callback core works: only its import line is learnloop's"
import math
from pathlib import Path
import fastai_style as cbs, pytest, torch
from helpers import LR, TRAIN, mk_learner, mk_model
from torch.nn import functional as F

def test_only_the_import_line_is_learnloops():
    code = Path(cbs.__file__).read_text().splitlines()
    assert [o for o in code if 'import' in o and 'learnloop' in o][1:]==['from learnloop import *']

def by_hand(loss, model=None, step=None, n_epoch=1, dl=TRAIN):
    "Weights of a loop, with the loss `loss(model, x, y)`"
    model = model or mk_model()
    opt = torch.optim.SGD(model.parameters(), lr=LR)
    for i in range(n_epoch*len(dl)):
        loss(model, *dl[i%len(dl)]).backward()
        if step is None or step(i, model, opt):
            opt.step()
            opt.zero_grad()
    return model
def plain(model, x, y): return F.mse_loss(model(x), y)

def test_terminate_on_nan():
    learn = mk_learner([cbs.TerminateOnNaN], loss_func=lambda pred, y: F.mse_loss(pred, y)*(math.nan if learn.train_iter==1 else 1.))
    learn.fit(5)
    assert learn.count.batches==2 and learn.outcome['fit']=='cancelled'

@pytest.mark.filterwarnings("ignore:.*shadows the attribute 'count'")  # fastai's learner has no `count`
def test_gradient_accumulation():
    learn = mk_learner([cbs.GradientAccumulation(n_acc=8)])
    learn.fit(2)
    want = by_hand(lambda m, x, y: plain(m, x, y)/2, step=lambda i, *_: i%2, n_epoch=2)
    torch.testing.assert_close(learn.model.state_dict(), want.state_dict())
    assert learn.count.opt_steps==3

# An exception is for a phase that is open: the events at which each can be raised in fastai without leaving the fit
