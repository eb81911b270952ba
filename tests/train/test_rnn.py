"Hidden states over batches and evaluations, and the two penalties, compared to hand-written loops"
import pytest, torch
from helpers import Module, act, ending, quiet, same
from learnloop import Callback, DataLoaders, Learner, ModelResetter, RNNCallback, RNNRegularizer, rnn_cbs
from torch import nn
from torch.nn import functional as F

class Net(Module):
    "A GRU that keeps its hidden state, and returns what `rnn_cbs` wants; `kind` says how it is kept"
    def __init__(self, kind='attr', p=0., n_layers=1):
        self.gru,self.lin,self.drop,self.kind,self.n_layers,self.resets = nn.GRU(2, 4, n_layers, batch_first=True),nn.Linear(4, 1),nn.Dropout(p),kind,n_layers,0
        if kind=='buffer': self.register_buffer('h', torch.zeros(1, 3, 4), persistent=False)
        else: self.h = None
    def reset(self):
        self.resets += 1
        if self.kind=='buffer': self.h = torch.zeros(1, 3, 4)
        elif self.kind=='tuple': self.h = ()
        else: self.h = None
    def forward(self, x):
        raw,h = self.gru(x, (self.h or (None,))[0] if self.kind=='tuple' else self.h)
        self.h = (h.detach(),) if self.kind=='tuple' else h.detach()
        out = self.drop(raw)
        return (self.lin(out), [raw*0, raw], [out*0, out]) if self.kind=='lists' else (self.lin(out), raw, out)

def mk_net(*args, **kwargs):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return Net(*args, **kwargs)

def batches(n=4, seq=5, seed=0):
    g = torch.Generator().manual_seed(seed)
    return [(torch.randn(3, seq, 2, generator=g), torch.randn(3, seq, 1, generator=g)) for _ in range(n)]
KINDS = ['attr', 'tuple', 'buffer', 'lists']

def mk_learner(cbs=None, net=None, n=4, seq=5, **kwargs):
    dls = DataLoaders(batches(n, seq), batches(2, seed=1), device='cpu')
    return Learner(dls, net or mk_net(), F.mse_loss, torch.optim.SGD, lr=.1, cbs=rnn_cbs() if cbs is None else cbs, **kwargs)

def by_hand(net, n_epoch, alpha=0., beta=0., seq=5):
    "The loop, with hidden states carried on within an epoch, and the penalties as Merity et al. write them; returns raw losses"
    opt,losses = torch.optim.SGD(net.parameters(), lr=.1),[]
    for _ in range(n_epoch):
        net.reset()
        net.train()
        for x,y in batches(seq=seq):
            pred,raw,out = net(x)
            loss = F.mse_loss(pred, y)
            losses.append(loss.item())
            if alpha: loss = loss + alpha*out.square().sum()/out.numel()
            if beta and seq>1: loss = loss + beta*sum((raw[:,i+1]-raw[:,i]).square().sum() for i in range(seq-1))/raw[:,1:].numel()
            loss.backward()
            opt.step()
            opt.zero_grad()
    return losses

def test_hidden_states_last_from_batch_to_batch_and_not_longer():
    learn,net = quiet(mk_learner(), 3),mk_net()
    losses = by_hand(net, 3)
    assert same(learn.model, net) and learn.recorder.raw_losses==losses
    assert learn.model.h is None

@pytest.mark.parametrize('alpha,beta', [(2., 0.), (0., 1.), (2., 1.), (.5, 3)])
@pytest.mark.parametrize('seq', [5, 2, 1])
def test_penalties_are_those_of_the_paper(alpha, beta, seq):
    learn,net = quiet(mk_learner(rnn_cbs(alpha, beta), seq=seq), 2),mk_net()
    losses = by_hand(net, 2, alpha, beta, seq)
    for a,b in zip(learn.model.parameters(), net.parameters(), strict=True): torch.testing.assert_close(a, b)  # sums in another order
    torch.testing.assert_close(learn.recorder.raw_losses, losses)

def test_without_weights_nothing_changes():
    a,b = quiet(mk_learner(), 2),quiet(mk_learner([ModelResetter(), RNNCallback(), RNNRegularizer()]), 2)
    assert same(a.model, b.model)

@pytest.mark.every(2)
@pytest.mark.parametrize('kind', KINDS)
@pytest.mark.parametrize('how', ['validate', 'get_preds', 'predict'])
def test_evaluation_within_an_epoch_does_not_touch_the_memory(kind, how):
    "What training goes on with is bit for bit what it had"
    def evaluate(cb):
        if how=='predict': cb.learn.predict(torch.zeros(5, 2)) if kind!='buffer' else cb.learn.get_preds()
        else: getattr(cb.learn, how)()
    a,b = (mk_learner(net=mk_net(kind)) for _ in range(2))
    quiet(a, 2)
    quiet(b, 2, cbs=Callback(after_step=evaluate))
    assert same(a.model, b.model) and a.recorder.values==b.recorder.values

@pytest.mark.parametrize('what', [ValueError, KeyboardInterrupt, 'CancelFitException'])
def test_no_memory_is_held_after_a_fit(what):
    learn = mk_learner()
    ending(lambda: quiet(learn, 1, cbs=Callback(after_loss=lambda cb: act(cb, what))))
    assert learn.model.h is None and learn.rnn.raw_out is None

@pytest.mark.parametrize('kind', KINDS)
def test_predictions_and_metrics_get_no_tuple(kind):
    learn = mk_learner(net=mk_net(kind), metrics=F.l1_loss)
    quiet(learn, 1)
    preds,targs = learn.get_preds()
    assert preds.shape==targs.shape==(6, 5, 1) and len(learn.recorder.values[0])==3

def test_a_regularizer_alone_says_what_it_needs():
    with pytest.raises(ValueError, match='needs an RNNCallback'): quiet(mk_learner([RNNRegularizer(1.)], net=nn.Linear(2, 1)), 1)
    with pytest.raises(ValueError, match='must return a tuple'): quiet(mk_learner(rnn_cbs(1.), net=nn.Linear(2, 1)), 1)

def test_a_tuple_of_another_length_is_an_error():
    class Two(nn.Linear):
        def forward(self, x): return super().forward(x),x
    with pytest.raises(ValueError, match='a tuple of 2'): quiet(mk_learner([RNNCallback()], net=Two(2, 1)), 1)

@pytest.mark.parametrize('kwargs', [dict(alpha=-1), dict(beta='1'), dict(alpha=True), dict(beta=float('nan')), dict(alpha=float('inf'))])
def test_bad_weights(kwargs):
    with pytest.raises(ValueError, match='it must be a number'): RNNRegularizer(**kwargs)
