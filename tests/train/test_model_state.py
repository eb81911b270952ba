"Models whose forward pass changes buffers or plain attributes, and sparse gradients: whatever runs the model again is as by hand"
import pytest, torch
from copy import deepcopy
from functools import partial
from helpers import same
from learnloop import Callback, CheckFinite, FlightRecorder, GradientAccumulation, GradientCheckpointing, GradientClip
from learnloop import Learner, MicroBatch, SAM
from torch import nn
from torch.nn import functional as F
from torch.nn.utils.parametrizations import spectral_norm

g = torch.Generator().manual_seed(0)
batches = [(torch.randn(n, 6, generator=g), torch.randint(2, (n,), generator=g)) for n in (8, 8, 5)]

class Queue(nn.Linear):
    "Adds the mean of earlier inputs, which a buffer or an attribute holds, changed in place or replaced"
    def __init__(self, kind):
        super().__init__(6, 6)
        self.kind,q = kind,torch.zeros(9, 6)
        if kind=='states': self.q = [(q,)]
        elif kind=='attribute': self.q = q
        else: self.register_buffer('q', q, persistent=kind!='replaced')
    def forward(self, x):
        q = self.q[0][0] if self.kind=='states' else self.q
        new,res = torch.cat([x.detach(), q])[:9],super().forward(x)+q.mean(0)
        if self.kind=='buffer': q.copy_(new)
        else: self.q = [(new,)] if self.kind=='states' else new
        return res
KINDS = {k:partial(Queue, k) for k in ('buffer','replaced','attribute','states')} | dict(
    spectral=lambda: spectral_norm(nn.Linear(6, 6)), norm=lambda: nn.BatchNorm1d(6))

class Centered(nn.Module):
    "As DINO's loss: a buffer has the mean of earlier predictions"
    def __init__(self):
        super().__init__()
        self.register_buffer('center', torch.zeros(2))
    def forward(self, pred, y):
        loss = F.cross_entropy(pred-self.center.clone(), y)
        self.center.mul_(.5).add_(pred.detach().mean(0))
        return loss

def mk(kind):
    torch.manual_seed(0)
    return nn.Sequential(KINDS[kind](), nn.Tanh(), nn.Linear(6, 2))

def fitted(model, cbs=None, n_epoch=2, loss=F.cross_entropy, valid=batches, **kwargs):
    learn = Learner((batches, valid), model, loss, torch.optim.SGD, lr=.1, **kwargs)
    with learn.no_logging(): learn.fit(n_epoch, cbs=cbs)
    return model

@pytest.mark.parametrize('kind', KINDS)
@pytest.mark.parametrize('event', ['after_pred', 'after_loss', 'before_step', 'between_batches'])
def test_an_evaluation_leaves_training_alone(kind, event):
    def evaluate(cb):
        if cb.training: cb.learn.get_preds() if cb.iter%2 else cb.learn.validate()
    assert same(fitted(mk(kind), Callback(**{event:evaluate})), fitted(mk(kind)))

def test_a_loss_with_state_is_left_alone_too():
    def evaluate(cb): cb.learn.validate(dl=batches)
    def run(cbs):
        loss = Centered()
        return fitted(nn.Linear(6, 2), cbs, loss=loss, valid=None, denominator='items'),loss.center
    res = []
    for cbs in ([], Callback(before_step=evaluate), SAM(1e-12)):
        torch.manual_seed(0)
        res.append(run(cbs))
    (a,at),*others = res
    for b,there in others: torch.testing.assert_close((a.state_dict(), at), (b.state_dict(), there))

@pytest.mark.parametrize('kind', KINDS)
def test_recomputed_activations_are_those_of_the_first_pass(kind):
    assert same(fitted(mk(kind), GradientCheckpointing(lambda m: [m[0]])), fitted(mk(kind)))

@pytest.mark.parametrize('kind', KINDS)
def test_both_passes_of_sam_begin_with_the_same_state(kind):
    model = mk(kind)
    opt = torch.optim.SGD(model.parameters(), lr=.1)
    for x,y in batches:
        moved = deepcopy(model)
        F.cross_entropy(model(x), y).backward()
        norm = torch.stack([p.grad.norm() for p in model.parameters()]).norm()
        with torch.no_grad():
            for p,q in zip(moved.parameters(), model.parameters(), strict=True): p += q.grad*(.05/norm)
        F.cross_entropy(moved(x), y).backward()
        for p,q in zip(moved.parameters(), model.parameters(), strict=True): q.grad = p.grad
        opt.step()
        opt.zero_grad()
    torch.testing.assert_close(fitted(mk(kind), SAM(.05), 1).state_dict(), model.state_dict())

@pytest.mark.parametrize('kind,name', [('buffer', '0'), ('replaced', '0'), ('spectral', '0.parametrizations.weight.0'), ('norm', '0')])
def test_parts_that_are_not_the_batch_are_named(kind, name):
    with pytest.warns(UserWarning, match=f'MicroBatch: with {name} in training mode'): fitted(mk(kind), MicroBatch(3))

class Bag(nn.Module):
    "Embeddings of 7 rows, some of which a batch has twice"
    def __init__(self, sparse):
        super().__init__()
        torch.manual_seed(0)
        self.emb,self.lin = nn.Embedding(7, 3, sparse=sparse),nn.Linear(3, 2)
    def forward(self, x): return self.lin(self.emb((x[:,:2].abs()*3).long().clamp(max=6)).mean(1))

@pytest.mark.parametrize('mk_cbs', [lambda: GradientClip(.1), lambda: GradientClip(.01, algorithm='value'), lambda: GradientClip(.05, algorithm='adaptive'),
    lambda: GradientClip(.1, norm_type=float('inf'), skip_nonfinite=True), SAM, lambda: CheckFinite('skip'), FlightRecorder, lambda: MicroBatch(3),
    lambda: [GradientAccumulation(n_batches=2), GradientClip(.1)]])
def test_sparse_gradients_train_as_dense_ones(mk_cbs, tmp_path):
    a,b = (fitted(Bag(o), mk_cbs(), path=tmp_path/str(o)) for o in (True, False))
    torch.testing.assert_close(a.state_dict(), b.state_dict())
    assert not same(b, Bag(False))
