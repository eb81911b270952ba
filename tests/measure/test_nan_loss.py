"A training loss that is NaN: the fit says so by the end of the epoch, once, with its first batch, unless something handles it"
import math, warnings
import pytest, torch
from learnloop import Callback, CancelBatchException, CancelFitException, CancelTrainException, CheckFinite, DataLoaders, Learner, SpikeDetection
from learnloop import TerminateOnNaNCallback
from torch import nn
from torch.nn import functional as F

N = 6  # batches in an epoch
DATA = [(torch.randn(4, 2, generator=torch.Generator().manual_seed(i)), torch.randn(4, 1, generator=torch.Generator().manual_seed(9+i))) for i in range(N)]

class Spoil(Callback):
    "Make the loss `value` in the batches `at`, pairs of epoch and batch, or from the first of them on"
    order = -5
    def __init__(self, *at, value=math.nan, stays=False): self.at,self.value,self.stays = at,value,stays
    def after_loss(self):
        if not self.learn.training: return
        here = self.learn.epoch,self.learn.iter
        if here in self.at or self.stays and here>=self.at[0]:
            self.learn.loss_grad = self.learn.loss_grad*self.value
            self.learn.loss = self.learn.loss_grad.detach().clone()

def mk(dl=DATA, **kw):
    torch.manual_seed(0)
    return Learner(DataLoaders(dl, DATA[:1], device='cpu'), nn.Linear(2, 1), F.mse_loss, torch.optim.SGD, lr=1e-3, **kw)

def said(*cbs, n_epoch=3, dl=DATA, **kw):
    "The warnings of a fit, each with the epoch and the batch in which it came"
    learn,seen = mk(dl),[]
    with warnings.catch_warnings():
        warnings.simplefilter('always')
        warnings.showwarning = lambda m, *args: seen.append((str(m), learn.epoch, learn.iter))
        with learn.no_logging(), learn.no_bar(): learn.fit(n_epoch, cbs=[*cbs], **kw)
    return seen

@pytest.mark.parametrize('value', [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize('epoch', [0, 1, 2])
@pytest.mark.parametrize('batch', [0, 2, N-1])
def test_the_first_batch_is_named_once_by_the_end_of_its_epoch(epoch, batch, value):
    (m,e,_), = said(Spoil((epoch, batch), value=value))
    assert e==epoch and m.startswith(f'epoch {epoch}: the training loss is {value} in batch {batch}, and not finite in')
    assert "CheckFinite()" in m and f'of {N} batches' in m

@pytest.mark.parametrize('dl', [DATA, (o for o in DATA)], ids=['list', 'no length'])
def test_each_way_that_an_epoch_ends(dl):
    dl = dl if isinstance(dl, list) else type('Stream', (), dict(__iter__=lambda self: iter(DATA)))()
    for act in (lambda cb: None, lambda cb: cb.iter==4 and _raise(CancelTrainException), lambda cb: cb.iter==4 and _raise(CancelFitException)):
        (m,*_), = said(Spoil((0, 2)), Callback(after_backward=act), n_epoch=1, dl=dl)
        assert 'in batch 2,' in m
    (m,*_), = said(Spoil((0, 2)), n_epoch=None, max_steps=4)
    assert 'in batch 2,' in m

def _raise(e): raise e

def test_whoever_looks_at_losses_learns_of_it_at_once():
    "A look costs what it costs; nothing is fetched for the sake of the warning"
    look = Callback(after_batch=lambda cb: cb.learn.training and cb.learn.recorder.losses and None)
    look.order = 99
    (m,e,i), = said(Spoil((1, 2), stays=True), look)
    assert (e, i)==(1, 3) and 'is nan in batch 2' in m and '1 of 3 batches so far' in m

def test_nothing_is_fetched_before_the_end_of_the_epoch():
    learn,looks = mk(),[]
    real = type(learn.recorder._raw).tolist
    def tolist(self):
        looks.append(learn.train_iter)
        return real(self)
    with pytest.MonkeyPatch.context() as mp, learn.no_logging(), learn.no_bar():
        mp.setattr(type(learn.recorder._raw), 'tolist', tolist)
        learn.fit(2)
    assert {*looks}<={0, N, 2*N}

@pytest.mark.parametrize('cb', [CheckFinite('skip'), CheckFinite('stop'), SpikeDetection(warmup=1), TerminateOnNaNCallback()], ids=lambda o: f'{type(o).__name__} {getattr(o, "action", "")}')
def test_what_handles_it_is_left_to_it(cb): assert said(cb, Spoil((0, 2), (1, N-1)))==[]

@pytest.mark.parametrize('exc', [CancelFitException, CancelTrainException])
def test_a_callback_that_stops_at_once_has_seen_it(exc):
    def stop(cb):
        if cb.learn.training and cb.learn.loss.isnan(): raise exc
    assert said(Spoil((0, 2)), Callback(after_batch=stop), n_epoch=1)==[]

def test_other_errors_are_their_own():
    with pytest.raises(ZeroDivisionError): said(Spoil((0, 1), stays=True), Callback(after_backward=lambda cb: cb.iter==3 and 1/0))

def test_a_search_for_a_learning_rate_diverges_in_peace():
    learn = mk()
    with learn.no_logging(), learn.no_bar(): learn.lr_find(end_lr=1e12, num_it=30, show_plot=False)
    assert not all(map(math.isfinite, learn.recorder.raw_losses)) or learn.recorder.raw_losses==[]

def test_batches_without_a_loss_are_not_counted():
    (m,*_), = said(Spoil((0, 3)), Callback(before_batch=lambda cb: cb.iter==1 and cb.training and _raise(CancelBatchException)), n_epoch=1)
    assert 'in batch 2 of those that have a loss' in m

def test_each_fit_says_it_anew():
    learn = mk()
    for _ in range(2):
        with pytest.warns(UserWarning, match='in batch [02]'), learn.no_logging(), learn.no_bar(): learn.fit(1, cbs=Spoil((0, 2)))
