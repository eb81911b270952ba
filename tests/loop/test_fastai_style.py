"A module written for fastai's callback core works: only its import line is learnloop's"
from pathlib import Path
import fastai_style as cbs, pytest, torch
from helpers import LR, TRAIN, VALID, mk_learner, mk_model, same
from learnloop import FetchPredsCallback, GatherPredsCallback
from torch.nn import functional as F

def test_only_the_import_line_is_learnloops():
    code = Path(cbs.__file__).read_text().splitlines()
    assert [o for o in code if 'import' in o and 'learnloop' in o]==['from learnloop import *']

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

def test_peek():
    learn = mk_learner([cbs.Peek])
    learn.fit(2)
    rows = learn.peek.seen
    assert [o['iter'] for o in rows]==[0, 1, 2, 0, 1]*2 and [o['epoch'] for o in rows]==[0]*5 + [1]*5
    assert [o['training'] for o in rows]==[o['mode'] for o in rows]==[o['is_train_dl'] for o in rows]==[o['grad'] for o in rows]==[True, True, True, False, False]*2
    assert [o['train_iter'] for o in rows]==[0, 1, 2, 3, 3, 3, 4, 5, 6, 6] and [o['n_iter'] for o in rows]==[3, 3, 3, 2, 2]*2
    for o in rows: assert o['no_grad'] and o['equal'] and o['learn'] and o['opt'] and o['loss_func'] and o['same']==(True, True) and o['pred']==(4, 1) and o['n_epoch']==2

@pytest.mark.filterwarnings("ignore:.*shadows the attribute 'count'")  # fastai's learner has no `count`
def test_gradient_accumulation():
    learn = mk_learner([cbs.GradientAccumulation(n_acc=8)])
    learn.fit(2)
    want = by_hand(lambda m, x, y: plain(m, x, y)/2, step=lambda i, *_: i%2, n_epoch=2)
    torch.testing.assert_close(learn.model.state_dict(), want.state_dict())
    assert learn.count.opt_steps==3

def test_functions():
    learn = mk_learner([cbs.double, cbs.function_cb])
    learn.steps = []
    try: learn.fit(1)
    finally: learn.remove_cbs([cbs.double, cbs.function_cb])
    assert learn.steps==[0, 1, 2]
    assert same(learn.model, by_hand(lambda m, x, y: plain(m, 2*x, y)))

def test_calling_by_name():
    learn = mk_learner([cbs.ExtendedEvents])
    learn.fit(1)
    assert learn.extended_events.seen==['helped', 'after_fit']

def test_gather_and_fetch():
    learn = mk_learner([GatherPredsCallback(with_input=True)])
    learn.fit(2, cbs=FetchPredsCallback(cbs=[learn.gather_preds]))
    assert torch.equal(learn.gather_preds.inputs, torch.cat([x for x,_ in VALID]))
    preds,targs = learn.get_preds()
    assert torch.equal(learn.gather_preds.preds, preds) and torch.equal(learn.gather_preds.targets, targs)
