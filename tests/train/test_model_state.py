"Models whose forward pass changes buffers or attributes, and sparse gradients: features that run the model again match the loop by hand"
import gc, pytest, torch
from collections import deque
from copy import deepcopy
from functools import partial
from helpers import Module, same, quiet
from learnloop import Callback, CheckFinite, FlightRecorder, GradientAccumulation, GradientCheckpointing, GradientClip, Learner, MicroBatch, SAM
from torch import nn
from torch.nn import functional as F
from torch.nn.utils.parametrizations import spectral_norm

g = torch.Generator().manual_seed(0)
batches = [(torch.randn(n, 6, generator=g), torch.randint(2, (n,), generator=g)) for n in (8, 8, 5)]

BOXES = dict(states=lambda q: [(q,)], list=lambda q: [q], dict=lambda q: {0:q}, empty=lambda q: {}, deque=lambda q: deque([q], 2), none=lambda q: None)

class Queue(nn.Linear):
    "Adds the mean of earlier inputs, which a buffer or an attribute holds, changed in place or replaced"
    def __init__(self, kind):
        super().__init__(6, 6)
        self.kind,q = kind,torch.zeros(9, 6)
        if kind in BOXES: self.q = BOXES[kind](q)
        elif kind=='attribute': self.q = q
        else: self.register_buffer('q', q, persistent=kind!='replaced')
    def forward(self, x):
        q = self.q if self.kind not in BOXES else self.q[0][0] if self.kind in ('states','none') and self.q else self.q[0] if self.q else torch.zeros(9, 6)
        new,res = torch.cat([x.detach(), q])[:9],super().forward(x*(1+q.mean()))+q.mean(0)
        if self.kind=='buffer': q.copy_(new)
        elif self.kind in ('list','dict','empty'): self.q[0] = new
        elif self.kind=='deque': self.q.appendleft(new)
        else: self.q = [(new,)] if self.kind in BOXES else new
        return res
class Annealed(nn.Linear):
    "Counts its calls, in an attribute or in a dict, and scales its output by them"
    def __init__(self, counts):
        super().__init__(6, 6)
        self.n,self.counts = counts
    def forward(self, x):
        if self.counts: self.counts['n'] += 1
        else: self.n += 1
        return super().forward(x)/(self.counts['n'] if self.counts else self.n)
KINDS = {k:partial(Queue, k) for k in ('buffer','replaced','attribute',*BOXES)} | dict(
    int=lambda: Annealed((0, None)), float=lambda: Annealed((0., None)), counts=lambda: Annealed((0, dict(n=0))),
    spectral=lambda: spectral_norm(nn.Linear(6, 6)), norm=lambda: nn.BatchNorm1d(6))

class Centered(Module):
    "As DINO's loss: a buffer has the mean of earlier predictions"
    def __init__(self):
        self.register_buffer('center', torch.zeros(2))
    def forward(self, pred, y):
        loss = F.cross_entropy(pred-self.center.clone(), y)
        self.center.mul_(.5).add_(pred.detach().mean(0))
        return loss

def mk(kind):
    torch.manual_seed(0)
    return nn.Sequential(KINDS[kind](), nn.Tanh(), nn.Linear(6, 2))

def fitted(model, cbs=None, n_epoch=2, loss=F.cross_entropy, valid=batches, **kwargs):
    quiet(Learner((batches, valid), model, loss, torch.optim.SGD, lr=.1, **kwargs), n_epoch, cbs=cbs)
    return model

@pytest.mark.parametrize('kind', KINDS)
@pytest.mark.parametrize('event', ['after_pred', 'after_loss', 'before_step', 'between_batches'])
def test_evaluation_does_not_change_training(kind, event):
    def evaluate(cb):
        if cb.training: cb.learn.get_preds() if cb.iter%2 else cb.learn.validate()
    assert same(fitted(mk(kind), Callback(**{event:evaluate})), fitted(mk(kind)))

def test_evaluation_does_not_change_the_state_of_a_loss():
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

@pytest.mark.every(2, 1)
@pytest.mark.parametrize('kind', KINDS)
def test_recomputed_activations_equal_those_of_the_first_pass(kind):
    assert same(fitted(mk(kind), GradientCheckpointing(lambda m: [m[0]])), fitted(mk(kind)))

@pytest.mark.every(2)
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

class Scripted(nn.Linear):
    def __init__(self):
        super().__init__(6, 6)
        for k in ('a','b'): self.register_buffer(k, torch.ones(()))
    def forward(self, x):
        self.a *= .9
        self.b = self.b*.9
        return F.linear(x, self.weight, self.bias)*self.a.clone()+self.b
ODD = dict(nested=lambda: torch.nested.nested_tensor([torch.zeros(2), torch.zeros(3)]),
    jagged=lambda: torch.nested.nested_tensor([torch.zeros(2), torch.zeros(3)], layout=torch.jagged),
    sparse=lambda: torch.eye(3).to_sparse(), csr=lambda: torch.eye(3).to_sparse_csr(), shared=lambda: torch.zeros(1).expand(5),
    channels=lambda: torch.quantize_per_channel(torch.ones(3, 3), torch.ones(3), torch.zeros(3), 0, torch.qint8),
    inference=torch.inference_mode()(lambda: torch.zeros(3)))
HOWS = dict(evaluation=lambda: Callback(after_loss=lambda cb: cb.training and cb.learn.validate()), SAM=lambda: SAM(1e-12),
    checkpointing=lambda: GradientCheckpointing(lambda m: [m[0]]), parts=lambda: MicroBatch(3))

@pytest.mark.filterwarnings('ignore:.*quantize', 'ignore:.*nested tensors', 'ignore:.*CSR', 'ignore:.*TorchScript', 'ignore:.*torch.jit')
# each part changes the buffers of the scripted module, and its forward cannot be replaced
@pytest.mark.every(3)
@pytest.mark.parametrize('kind,how', [(k, h) for k in (*ODD, 'view') for h in HOWS] + [('script', h) for h in ('evaluation','SAM')])
def test_models_with_odd_tensors_and_scripted_ones_train_as_by_hand(kind, how):
    def model():
        res = mk('buffer')
        res[0] = torch.jit.script(Scripted()) if kind=='script' else nn.Linear(6, 6)
        if kind in ('sparse','csr'): res[0].register_buffer('odd', ODD[kind]())
        elif kind!='script': res[0].odd = res[2].weight.data if kind=='view' else ODD[kind]()
        return res
    torch.manual_seed(0)
    a = fitted(model(), HOWS[how]())
    torch.manual_seed(0)
    torch.testing.assert_close([*a.parameters()], [*fitted(model()).parameters()], atol=1e-5, rtol=1e-5)

def test_sam_moves_weights_that_an_attribute_shares():
    a,b = mk('norm'),mk('norm')
    a[2].shared = a[2].weight.data
    assert same(fitted(a, SAM(.5)), fitted(b, SAM(.5)))

def test_recomputing_keeps_no_copies_of_constants():
    "In a compiled model, it does not look for changes"
    model,held = mk('buffer'),[]
    model[2].register_buffer('mask', torch.zeros(2**18+1237))
    # tensors of other tests may have no shape
    def look(cb): held.append(sum(type(o) is torch.Tensor and not o.is_nested and o.shape==(2**18+1237,) for o in gc.get_objects()))
    fitted(model, [GradientCheckpointing(lambda m: [m[2]]), Callback(after_loss=look)], valid=None)
    assert {*held}=={1}
    learn = Learner((batches, None), model:=mk('attribute'), F.cross_entropy, torch.optim.SGD, lr=.1)
    model[2].register_buffer('mask', torch.zeros(1000))
    learn.forward_model = torch.compile(model, backend='eager')
    with learn.no_logging(): learn.fit(1, cbs=GradientCheckpointing(lambda m: [m[2]]))
    torch._dynamo.reset()
    assert same([*model.parameters()], [*fitted(mk('attribute'), n_epoch=1).parameters()])

class Cached(nn.Linear):
    "Makes a buffer in its first forward pass"
    def forward(self, x):
        if not hasattr(self, 'at'): self.register_buffer('at', x.new_ones(x.shape[1]))
        return super().forward(x+self.at)

def test_a_cache_is_no_state_of_parts(): fitted(Cached(6, 2), MicroBatch(3))

@pytest.mark.parametrize('kind,name', [('buffer', '0'), ('replaced', '0'), ('spectral', '0.parametrizations.weight.0'), ('norm', '0'), ('int', '0')])
def test_parts_that_are_not_the_batch_are_named(kind, name):
    with pytest.warns(UserWarning, match=f'MicroBatch: with {name} in training mode'): fitted(mk(kind), MicroBatch(3))

class Bag(Module):
    "Embeddings of 7 rows, some of which a batch has twice"
    def __init__(self, sparse):
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
