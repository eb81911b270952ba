"A resumed run has the counters, flags and hidden states in plain attributes of its model"
import os, random
from collections import Counter, OrderedDict, deque, namedtuple
from copy import deepcopy
from functools import partial
from types import SimpleNamespace
import numpy as np, pytest, torch
from helpers import Boom, Module, check
from torch import nn
from learnloop import Callback, Snapshots
from learnloop.checkpoint.attributes import FirstAttributes
from torch.nn import functional as F
from torch.nn.utils import parametrize
from test_checkpoint import At, chain, mk_learner, run, state

def _number(o):
    if isinstance(o, dict): o = [*o.values()]
    return sum(map(_number, o)) if isinstance(o, list|tuple|deque|np.ndarray) else float(o or 0)

# First value of an attribute, and its value after a forward pass over inputs whose mean is `v`
KEPT = dict(number=(0., lambda o, v: o+v.item()), flag=(False, lambda o, v: True), text=('', lambda o, v: str(v.item())), tensor=(None, lambda o, v: v.clone()),
    in_place=(torch.zeros(()), lambda o, v: o.add_(v)), array=(np.zeros(1), lambda o, v: o+v.item()), grows=([], lambda o, v: [*o, v.item()]),
    listed=([torch.zeros(())], lambda o, v: [v.clone()]), queue=(deque(maxlen=2), lambda o, v: o.append(v.clone()) or o),
    tables=({'a':(0, [0.])}, lambda o, v: {'a':(o['a'][0]+1, [v.item()])}), shared=({}, lambda o, v: o.update(v=v.clone()) or o))

class Keeps(Module):
    "Computes with the attribute `kept`, of which `other` has a copy or the same object"
    width = 3
    def __init__(self, kind):
        self.lin,self.other,self.kept,self.update = nn.Linear(3, 2),Module(),deepcopy(KEPT[kind][0]),KEPT[kind][1]
        self.other.kept,self.view = self.kept,self.lin.weight.data
    def forward(self, x):
        res = self.lin(x)*(1+.1*_number(self.kept)+_number(self.other.kept))
        self.kept = self.update(self.kept, x.detach().mean())
        self.last,self.aux = x,res.mean()  # nothing reads these
        assert self.view.data_ptr()==self.lin.weight.data_ptr()
        return res
class Hidden(nn.Sequential):
    "Has a hidden state"
    def reset(self): self.h = torch.zeros(3)
    def forward(self, x):
        self.h = (self.h+x.mean(0)).detach()
        return super().forward(x+self.h)
class Fades(Module):
    "A loss that goes by the number of its calls"
    n = 0
    def forward(self, pred, targ):
        self.n += 1
        return F.cross_entropy(pred, targ)/self.n
    def denominator(self, pred, targ): return len(targ)
class Sizeless(tuple):
    def __len__(self): raise TypeError('it has no length')
class Usual(Module):
    "Has torch's own modules with state, attributes that the first batch makes, and objects that no checkpoint can hold"
    def __init__(self):
        self.rnn,self.enc = nn.LSTM(3, 4, batch_first=True),nn.TransformerEncoderLayer(4, 2, 8, batch_first=True)
        self.bn,self.drop,self.lin,self.mask = nn.BatchNorm1d(4),nn.Dropout(.1),nn.Linear(4, 2),None
        self.irreps,self.weights = Sizeless((1, 2)),[self.lin.weight]  # as of e3nn
        self.loop = [self.irreps]
        self.loop.append(self.loop)
    def forward(self, x):
        if self.mask is None: self.mask,self.n_made,self.fn = torch.zeros(1, 1),1,lambda: None
        return self.lin(self.drop(self.bn(self.enc(self.rnn(x[:,None])[0], self.mask)[:,-1])))
Pair = namedtuple('Pair', 'h n')
class Many(Module):
    "Has other containers and objects with state, and objects that training makes shared; a hook refers to a dict; the class is parametrized"
    def __init__(self):
        self.lin,self.inner,self.ctx,self.w = nn.Linear(3, 2),Module(),None,nn.Parameter(torch.ones(2))
        self.counts,self.pair,self.state,self.layers = Counter(),Pair(0., 0),SimpleNamespace(n=0),OrderedDict(lin=self.lin)
        self.rand,self.gen,self.table = random.Random(3),torch.Generator().manual_seed(3),{'n':0}
        self.lin.register_forward_hook(lambda m, i, o, d=self.table: o*(1+.1*d['n']))
        parametrize.register_parametrization(self, 'w', nn.Tanh())
    def forward(self, x):
        if self.ctx is None: self.ctx = self.inner.ctx = {'n':0}
        self.counts['x'] += 1
        self.state.n += 1
        self.ctx['n'] += 1
        self.table['n'] += 1
        self.pair,self.layers['n'] = Pair(x.detach().mean(), self.pair.n+1),len(self.layers)
        res = self.counts['x']+self.state.n+self.inner.ctx['n']+self.pair.h+self.pair.n+self.rand.random()+torch.rand((), generator=self.gen)
        return self.lin(x)+.1*res*self.w
class Guarded(Keeps):
    "Makes an object in the first batch, and has a flag for that"
    ready = False
    def forward(self, x):
        if not self.ready: self.ready,self.made = True,SimpleNamespace(n=1)
        return super().forward(x)*self.made.n
class Warm(Keeps):
    "Has a flag that changes after the fourth batch, and an attribute from then on"
    def __init__(self):
        Keeps.__init__(self, 'in_place')
        self.n,self.warm,self.named,self.h = 0,False,'first',torch.zeros(1).expand(3)
    def forward(self, x):
        self.n += 1
        res,self.h = super().forward(x+self.h)*(1+self.warm+getattr(self, 'late', 0)),x.detach().mean().expand(3)
        if self.n==4: self.warm,self.late = True,1.
        return res

MODELS = {k:partial(Keeps, k) for k in KEPT} | dict(inner=lambda: nn.Sequential(nn.Linear(3, 3), Keeps('number')), hidden=lambda: Hidden(nn.Linear(3, 2)),
    usual=Usual, many=Many)

STOPS = [('before_batch', 3)], [('after_batch', 2), ('cleanup_epoch', 1)], [('cleanup_validate', 1)], [('after_loss', 7), ('before_validate', 1)]

@pytest.mark.every(3)
@pytest.mark.parametrize('name', [*MODELS, 'loss'])
def test_a_resumed_fit_has_the_plain_attributes_that_training_changed(name, tmp_path):
    def make():
        learn = mk_learner(model=MODELS.get(name, lambda: nn.Sequential(nn.Linear(3, 2))), metrics=None)
        if name=='loss': learn.loss_func = Fades()
        return learn
    want = run(make, 'short')
    for stops in STOPS if os.environ.get('ALL_CASES') else [STOPS[[*MODELS, 'loss'].index(name)%4]]:
        learn = chain(make, 'short', stops, tmp_path/f'{stops}')
        check(state(learn), state(want), f'{stops}')
        if name in KEPT: check(learn.model.kept, want.model.kept)
        if name=='shared': assert learn.model.other.kept is learn.model.kept

def test_attributes_that_training_does_not_change_come_from_the_new_model(tmp_path):
    def make(width):
        learn = mk_learner(model=partial(Keeps, 'number'), metrics=None)
        learn.model.width = width
        return learn
    with pytest.raises(Boom): run(partial(make, 4), 'short', ('after_batch', 3), tmp_path)
    with pytest.warns(UserWarning, match='width was 4 and is 5'): assert run(partial(make, 5), 'short', None, tmp_path).model.width==5

def test_an_attribute_that_cannot_be_saved_is_named_in_a_warning(tmp_path):
    def make(): return mk_learner(model=partial(Guarded, 'number'), metrics=None)
    with pytest.raises(Boom): run(make, 'short', ('after_batch', 3), tmp_path)
    with pytest.warns(UserWarning, match='training changed the attributes made, but'): run(make, 'short', None, tmp_path)

@pytest.mark.parametrize('how', ['rewind','keep_failed'])
def test_in_the_same_process_attributes_go_back_to_their_first_values(how):
    def make(): return mk_learner(model=Warm, metrics=None)
    want,learn = run(make, 'short'),make()
    def back(learn):
        if learn.count.opt_steps==4 and not learn.keeper.rewinds: learn.rewind(batches=3)
    if how=='rewind': run(lambda: learn, 'short', cbs=[Snapshots(every_steps=2), Callback(name='back', after_batch=back)])
    else:
        stop = At('after_loss', 4)
        with pytest.raises(Boom): learn.fit(2, cbs=[stop], keep_failed=True)
        learn.model.named,stop.n = 'by hand',None
        learn.resume()
        assert learn.model.named=='by hand'
    for k in ('model','buffers','raw'): check(state(learn)[k], state(want)[k], k)
    assert {k:v for k,v in vars(learn.model).items() if type(v) in (int,bool)}=={k:v for k,v in vars(want.model).items() if type(v) in (int,bool)}

def test_a_tensor_that_was_on_the_cpu_stays_there():
    learn = mk_learner(model=partial(Keeps, 'listed'))
    first,learn.model.made = FirstAttributes(learn),torch.ones(2)
    learn.model.kept[0] += 1
    changed = first.changed()
    changed['.made'][1] = False
    first.learn = SimpleNamespace(model=learn.model, loss_func=learn.loss_func, device=torch.device('meta'))
    first.put(changed)
    assert [learn.model.kept[0].device.type, learn.model.made.device.type]==['cpu','meta']

def test_attributes_that_a_new_callback_sets_in_before_fit_stay(tmp_path):
    def make(): return mk_learner(model=partial(Keeps, 'number'), metrics=None)
    def sets(learn): learn.model.width,learn.model.made = 5,1
    with pytest.raises(Boom): run(make, 'short', ('after_batch', 3), tmp_path)
    learn = run(make, 'short', None, tmp_path, cbs=[Callback(name='sets', before_fit=sets)], accept='callbacks')
    assert (learn.model.width,learn.model.made)==(5, 1)
