"What a graph can't know: found while a step is tried, put back, and seen before the next step; nothing is said of torch's own layers"
import builtins, random, sys, time, types
from collections import OrderedDict, deque
from datetime import datetime
from functools import cached_property, partial
from time import perf_counter
import numpy as np
import pytest, torch
from torch import nn
from torch.func import functional_call, grad_and_value
from torch.fx.experimental.proxy_tensor import make_fx
from torch.nn import functional as F
from torch.nn.utils import parametrizations
from helpers import mk_learner
from learnloop.scale.watch import Places, Watch, tried, why_flow, why_hooked

N,HIST,TABLE,SEEN = 0,[],dict(a=1),set()
SCALE,CONFIG,STATE = 2.,types.SimpleNamespace(alpha=1., unread=0),np.ones(3)
MEM = torch.zeros(3)
X = torch.ones(2, 3)

class Net(nn.Module):
    "A layer, and a function of one's own"
    shared = 0
    def __init__(self, f=None, **kw):
        super().__init__()
        self.lin,self.f = nn.Linear(3, 3),f
        for k,v in kw.items(): setattr(self, k, v)
    def forward(self, x): return self.f(self, self.lin(x))

# ---- each changes something that isn't a tensor of the model's
def count(m, x):
    m.k += 1
    return x
def count_private(m, x):
    m._k = m._k+1
    return x
def append(m, x):
    m.hist.append(1)
    return x
def key(m, x):
    m.d['n'] = m.d.get('n', 0)+1
    return x
def nested(m, x):
    m.d['a'][0].add(len(m.d['a'][0]))
    return x
def add_attr(m, x):
    m.new = 1
    return x
def del_attr(m, x):
    del m.k
    return x
def keep_pred(m, x):
    m.last = x
    return x
def of_class(m, x):
    type(m).shared += 1
    return x
def of_object(m, x):
    m.o.n += 1
    return x
def mode(m, x):
    m.lin.training = not m.lin.training
    return x
def a_global(m, x):
    global N
    N += 1
    return x
def a_new_global(m, x):
    global FRESH
    FRESH = 1
    return x
def a_list(m, x):
    HIST.append(1)
    return x
def a_set(m, x):
    SEEN.add(len(SEEN))
    return x
def a_table(m, x):
    TABLE['a'] += 1
    return x
def a_namespace(m, x):
    CONFIG.alpha *= 2
    return x
def deeper(m, x): return a_global(m, x)
def of_function(m, x):
    of_function.n = getattr(of_function, 'n', 0)+1
    return x
def default(m, x, seen=[]):  # noqa: B006
    seen.append(1)
    return x
def in_array(m, x):
    STATE[0] += 1
    return x
def in_tensor(m, x):
    MEM.add_(1)
    return x
def py_random(m, x): return x*random.random()
def np_random(m, x): return x*float(np.random.rand())  # noqa: NPY002
def own_random(m, x): return x*m.gen.random()
def own_torch(m, x): return x*torch.rand(3, generator=m.gen)
def seeds(m, x):
    torch.manual_seed(3)
    return x*torch.rand(3)
def prints(m, x):
    print('x')
    return x
def clock(m, x): return x*time.time()
def opens(m, x):
    if x.shape[0]<100: open(__file__).close()
    return x
def opens_never(m, x):
    if x.shape[0]>100: open('nowhere')
    return x
def stopwatch(m, x): return x*perf_counter()
def day(m, x): return x*isinstance(datetime.now(), datetime)
def dtype(m, x):
    torch.set_default_dtype(torch.float64)
    return x
def new_weight(m, x):
    m.lin.bias = nn.Parameter(torch.zeros(3))
    return x
def new_layer(m, x):
    if not hasattr(m, 'more'): m.more = nn.ReLU()
    return x
def counter():
    n = 0
    def _f(m, x):
        nonlocal n
        n += 1
        return x
    return _f
def hooks(m, x):
    m.lin.register_forward_hook(lambda *a: None)
    return x

class Slots:
    __slots__ = 'n',
    def __init__(self): self.n = 0

CHANGES = dict(
    count=(count, 'changes k', dict(k=0)), count_private=(count_private, 'changes _k', dict(_k=0)), append=(append, 'in hist', dict(hist=[])),
    deque=(append, 'in hist', dict(hist=deque([1]))), key=(key, 'in d', dict(d=OrderedDict())),
    nested=(nested, 'in d', dict(d=dict(a=[set()]))), add_attr=(add_attr, 'changes new', {}), del_attr=(del_attr, 'changes k', dict(k=0)),
    keep_pred=(keep_pred, 'changes last', dict(last=None)), of_class=(of_class, 'Net.shared', {}),
    of_object=(of_object, 'changes o.n', dict(o=types.SimpleNamespace(n=0))), slots=(of_object, 'changes o.n', dict(o=Slots())),
    mode=(mode, 'lin.training', {}), a_global=(a_global, 'the global N', {}), a_new_global=(a_new_global, 'the global FRESH', {}),
    a_list=(a_list, 'the global HIST', {}), a_set=(a_set, 'the global SEEN', {}), a_table=(a_table, 'the global TABLE', {}),
    a_namespace=(a_namespace, 'the global CONFIG.alpha', {}), deeper=(deeper, 'the global N', {}),
    of_function=(of_function, 'of_function.n', {}), default=(default, 'a default of default', {}), in_array=(in_array, 'the global STATE', {}),
    in_tensor=(in_tensor, 'register_buffer', {}), py_random=(py_random, "Python's random", {}), np_random=(np_random, "NumPy's random", {}),
    own_random=(own_random, 'draws from gen', dict(gen=random.Random(1))),
    np_generator=(own_random, 'draws from gen', dict(gen=np.random.default_rng(1))), takes=(lambda m, x: x*next(m.it), 'may use it, a list_iterator', dict(it=iter([1]*9))),
    own_torch=(own_torch, 'may use gen, a Generator', dict(gen=torch.Generator())),
    seeds=(seeds, 'seeds', {}), stopwatch=(stopwatch, 'stopwatch asks time', {}), day=(day, 'day asks datetime', {}),
    prints=(prints, 'prints', {}), clock=(clock, 'clock asks time', {}), opens=(opens, 'opens calls open', {}),
    dtype=(dtype, 'default dtype', {}), new_weight=(new_weight, 'lin.bias', {}), new_layer=(new_layer, 'changes more', {}),
    closure=(counter(), 'changes n of', {}), partial=(partial(default, seen=[]), 'in f', {}), hooks=(hooks, 'changes lin.', {}))
UNSEEN_IN_TRACE = {'in_tensor','new_weight'}   # torch refuses the one, see test_why_flow, and `functional_call` puts back the other

@pytest.fixture
def net(request):
    f,why,kw = CHANGES[request.param]
    return Net(f, **kw),why

def np_state(): return repr(np.random.get_state(legacy=False))  # noqa: NPY002

def state(m):
    "All that a case of `CHANGES` may change"
    own = [repr(v) for k,v in vars(m).items() if k[0]!='_' or k=='_k']
    gen,o = vars(m).get('gen'),vars(m).get('o')
    gen = gen.getstate() if isinstance(gen, random.Random) else gen.bit_generator.state if isinstance(gen, np.random.Generator) else 0
    cells = [c.cell_contents for c in getattr(m.f, '__closure__', None) or ()]
    layer = vars(m.lin).keys(),m.lin.training,id(m.lin.bias),len(m.lin._forward_hooks)
    torchs = torch.get_rng_state().tolist(),torch.initial_seed(),torch.get_default_dtype()
    names = N,'FRESH' in globals(),HIST,SEEN,TABLE,CONFIG,STATE.tolist(),MEM.tolist(),time,perf_counter,datetime,'open' in globals()
    funcs = vars(of_function),default.__defaults__,getattr(m.f, 'keywords', 0)
    return repr((vars(m).keys(), [*m._modules], own, gen, o and o.n, cells, layer, torchs, names, funcs, Net.shared, random.getstate(), np_state()))

def step(model, loss_func, x=X, y=None):
    "A step as it is traced: forward, loss and gradients, of inputs alone"
    ps,bs = dict(model.named_parameters()),dict(model.named_buffers())
    def f(x, ps, bs):
        def loss(ps, bs):
            out = functional_call(model, (ps, bs), x if isinstance(x, tuple) else (x,))
            out = out[0] if isinstance(out, tuple) else out
            return loss_func(out) if y is None else loss_func(out, y)
        return grad_and_value(loss)(ps, {k:b.clone() for k,b in bs.items()})
    with torch.no_grad(): return make_fx(torch.func.functionalize(f, remove='mutations_and_views'), tracing_mode='fake')(x, ps, bs)

def total(x): return x.square().mean()

@pytest.mark.parametrize('net', CHANGES, indirect=True)
def test_what_forward_changes_is_found_and_put_back(net, capsys):
    model,why = net
    was = state(model)
    with tried(model, total) as watch: total(model(X))
    assert why in watch.why
    assert state(model)==was and not capsys.readouterr().out

@pytest.mark.parametrize('net', [k for k in CHANGES if k not in UNSEEN_IN_TRACE], indirect=True)
def test_and_while_it_is_traced(net):
    model,why = net
    was = state(model)
    with tried(model, total) as watch: step(model, total)
    assert why in watch.why and state(model)==was

def test_and_if_it_fails():
    def fails(m, x):
        m.k += 1
        raise KeyError('x')
    model = Net(fails, k=0)
    with pytest.raises(KeyError), tried(model) as watch: model(X)
    assert (watch.why,model.k)==('forward changes k', 0)

def test_changes_in_the_loss_function():
    class Loss(nn.Module):
        def __init__(self):
            super().__init__()
            self.n = 0
        def forward(self, x):
            self.n += 1
            return x.mean()
    class Called:
        n = 0
        def __call__(self, x):
            self.n += 1
            return x.mean()
        def method(self, x): return self(x)
    def scaled(x, box):
        box.append(1)
        return x.mean()
    for loss,why in ((Loss(), 'loss_func.n'), (Called(), 'loss_func.n'), (Called().method, 'loss_func.n'), (partial(scaled, box=[]), 'what is in loss_func')):
        model = nn.Linear(3, 1)
        with tried(model, loss) as watch: loss(model(X))
        assert watch.why=='forward changes '+why and not getattr(loss, 'n', 0)

def test_tensors_are_put_back_without_a_word():
    model = nn.Sequential(nn.BatchNorm1d(3), nn.Dropout())
    was = [t.clone() for t in model.state_dict().values()]
    rng = torch.get_rng_state()
    with tried(model) as watch: model(X)
    assert not watch.why and all(map(torch.equal, was, model.state_dict().values())) and torch.equal(rng, torch.get_rng_state())

def test_other_threads_may_print(capsys):
    import threading
    t = threading.Thread(target=lambda: print('other'))
    with tried(nn.Linear(3, 1)) as watch:
        t.start()
        t.join()
    assert not watch.why and capsys.readouterr().out=='other\n'

def test_lazy_layers_are_refused():
    with pytest.raises(ValueError, match='0.weight has no shape yet'):
        with tried(nn.Sequential(nn.LazyLinear(3))): pass

def test_what_is_named_and_not_called_is_no_reason():
    m = Net(opens_never)
    with tried(m) as watch: m(X)
    assert not watch.why and 'open' not in globals()

# ---- no false alarms
def seq(*ls): return nn.Sequential(*ls)
def lazy():
    m = seq(nn.LazyLinear(3), nn.ReLU())
    m(X)
    return m
IMG,IDS,SEQ = torch.rand(2, 3, 8, 8),torch.tensor([[0,1,2],[3,1,0]]),torch.rand(2, 5, 4)
LAYERS = dict(
    mlp=(lambda: seq(nn.Linear(3, 4), nn.ReLU(), nn.LayerNorm(4), nn.GELU(), nn.Dropout(), nn.Linear(4, 1)), X),
    bn=(lambda: seq(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Softmax(1)), X),
    cnn=(lambda: seq(nn.Conv2d(3, 4, 3, padding=1, padding_mode='reflect'), nn.BatchNorm2d(4), nn.MaxPool2d(2),
        nn.GroupNorm(2, 4), nn.Upsample(scale_factor=2), nn.Dropout2d(),
        nn.ConvTranspose2d(4, 2, 3), nn.InstanceNorm2d(2, track_running_stats=True), nn.AdaptiveAvgPool2d(1), nn.Flatten()), IMG),
    lstm=(lambda: nn.LSTM(4, 3, num_layers=2, bidirectional=True, dropout=.1, batch_first=True), SEQ), gru=(lambda: nn.GRU(4, 3), SEQ),
    rnn=(lambda: nn.RNN(4, 3), SEQ), cell=(lambda: nn.LSTMCell(4, 3), SEQ[0]), bag=(lambda: nn.EmbeddingBag(5, 3), IDS),
    embedding=(lambda: nn.Embedding(5, 3, padding_idx=0, max_norm=None), IDS),
    encoder=(lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8, batch_first=True), 2, enable_nested_tensor=False), SEQ),
    attention=(lambda: Attend(), SEQ), spectral=(lambda: parametrizations.spectral_norm(nn.Linear(3, 4)), X),
    weight_norm=(lambda: parametrizations.weight_norm(nn.Linear(3, 4)), X), prelu=(lambda: seq(nn.PReLU(), nn.RReLU(), nn.AlphaDropout()), X),
    lazy=(lazy, X), params=(lambda: Params(), X), compiled=(lambda: torch.compile(seq(nn.Linear(3, 2)), backend='eager'), X),
    script=(lambda: Net(lambda m, x: x*SCALE), X))
class Attend(nn.Module):
    def __init__(self):
        super().__init__()
        self.att = nn.MultiheadAttention(4, 2, batch_first=True, dropout=.1)
    def forward(self, x): return self.att(x, x, x)[0]
class Params(nn.Module):
    def __init__(self):
        super().__init__()
        self.ps,self.d = nn.ParameterList([torch.ones(3)]*2),nn.ParameterDict(dict(a=torch.ones(3)))
        self.register_buffer('scale', torch.ones(3))
    @property
    def twice(self): return 2*self.scale
    def forward(self, x): return x*self.ps[0]*self.ps[1]*self.d['a']*self.twice

@pytest.mark.parametrize('nm', LAYERS)
@pytest.mark.parametrize('traced', [False,True])
def test_no_false_alarm(nm, traced):
    if traced and nm=='compiled': pytest.skip('torch.compile does not trace into a graph of another')
    make,x = LAYERS[nm]
    model = make()
    lists = [(m, k, [*v]) for m in model.modules() if isinstance(m, nn.RNNBase) for k,v in vars(m).items() if k.startswith('_flat')]
    watch = Watch(model, total)
    if nm!='compiled': model(x)   # which may compile now
    for _ in range(2):
        with tried(model, total) as seen:
            if traced: step(model, total, x)
            else:
                out = model(x)
                total(out[0] if isinstance(out, tuple) else out).backward()
        assert not seen.why and not why_hooked(model, total)
        assert watch.changed()==''
    for m,k,v in lists: assert all(a is b for a,b in zip(vars(m)[k], v, strict=True))
    for p in model.parameters(): p.data.sub_(.1)   # as an optimizer does
    model.load_state_dict(model.state_dict())
    assert watch.changed()==''

def test_a_cached_property_is_made_once():
    class Cached(nn.Linear):
        @cached_property
        def size(self): return self.in_features
        def forward(self, x): return super().forward(x)*self.size
    m = Cached(3, 1)
    with tried(m) as watch: m(X)
    assert watch.why=='forward changes size'
    m(X)
    with tried(m) as watch: m(X)
    assert watch.why==''

class Odd:
    "Raises where it is asked"
    def __getattr__(self, k): raise RuntimeError('asked')

def test_odd_attributes_do_no_harm():
    m = Net(lambda m, x: x, odd=Odd(), error=KeyError('x'), own=[], view=memoryview(b'x'), objects=np.array([object()]), kind=Odd)
    m.own.append(m)
    watch = Watch(m)
    with tried(m) as seen: m(X)
    assert not seen.why and watch.changed()==''

def test_what_cannot_be_put_back_is_told_before():
    m = Net(it=iter([1,2]), gen=torch.Generator())
    was = m.gen.get_state()
    with tried(m) as seen:
        assert seen.why=='forward may use it, a list_iterator, which a graph can not'
        torch.rand(3, generator=m.gen)
    assert torch.equal(m.gen.get_state(), was)

class OutOfContext:
    def __getattribute__(self, k): raise RuntimeError('outside of a request')
def deep():
    res = []
    for _ in range(20_000): res = [res]
    return res
def wide(): return {i:[i] for i in range(30_000)}
BEYOND = dict(proxy=(OutOfContext, 'held, a OutOfContext, which raises RuntimeError when it is looked at'),
    deep=(deep, 'RecursionError'), wide=(wide, 'more than 20,000 objects'), program=(lambda: dict(sys.modules), 'which a graph can not'),
    learner=(lambda: mk_learner(), 'held, a Learner, which a graph can not'))
@pytest.mark.parametrize('nm', BEYOND)
def test_a_model_with_too_much_in_sight_is_refused_at_once(nm):
    make,why = BEYOND[nm]
    m = Net(lambda m, x: x*m.held)
    vars(m)['held'],begun = make(),time.process_time()
    Watch(m)
    with tried(m) as watch: pass
    assert why in watch.why and time.process_time()-begun<20

def test_arrays_of_any_kind():
    masked = np.ma.masked_array([1.,2.], [False,True])
    for a in (np.ma.masked, masked, np.zeros(0), np.array(['a',None]), np.rec.array([(1,2.)], dtype=[('a',int),('b',float)])):
        m = Net(lambda m, x: x*m.held.size)
        m.held = a
        with tried(m) as watch: m(X)
        assert not watch.why and not Watch(m).changed()
    m.held = masked
    watch = Watch(m)
    masked[0] = 5
    assert watch.changed()=='held'

def test_scripted_modules_are_closed():
    with pytest.warns(DeprecationWarning): m = seq(torch.jit.script(nn.Linear(3, 3)))
    with tried(m) as seen: m(X)
    assert seen.why=='forward may use 0, a RecursiveScriptModule, which a graph can not' and Watch(m).changed()=='' and not why_hooked(m)

# ---- before each step
def model():
    def f(m, x): return x*SCALE*CONFIG.alpha*m.o.n*STATE[0]*MEM[0]*m.sizes[0]*len(TABLE)*Net.shared*helper(x)
    plain = dict(o=types.SimpleNamespace(n=1, unread=1), sizes=[1,[2]], opts=dict(a=1), table=np.ones(2), plain=torch.ones(2))
    return Net(f, drop=nn.Dropout(.1), bn=nn.BatchNorm1d(3), **plain)
def helper(x): return x*DEEP
DEEP = 3

def set_(o, k, v): return lambda m: setattr(o(m), k, v)
def own(m): return m
SWAPS = {'drop.p':set_(lambda m: m.drop, 'p', .3), 'new':set_(own, 'new', 1), 'training':lambda m: setattr(m, 'training', False), 'drop.training':lambda m: m.drop.eval(), 'f':set_(own, 'f', len),
    'forward':set_(own, 'forward', len), 'lin.weight':set_(lambda m: m.lin, 'weight', nn.Parameter(torch.ones(3, 3))), 'lin.bias':set_(lambda m: m.lin, 'bias', None),
    'bn.running_mean':set_(lambda m: m.bn, 'running_mean', torch.ones(3)), 'more':set_(own, 'more', nn.ReLU()), 'drop':lambda m: delattr(m, 'drop'), 'lin':set_(own, 'lin', nn.Linear(3, 3)),
    'what is in sizes':lambda m: m.sizes.append(3), 'what is in opts':lambda m: m.opts.update(b=2), 'o.n':set_(lambda m: m.o, 'n', 2), 'table':lambda m: m.table.fill(3),
    'plain':lambda m: m.plain.add_(1), 'requires_grad of lin.weight':lambda m: m.lin.weight.requires_grad_(False), 'lin has forward hooks':lambda m: m.lin.register_forward_hook(print),
    'lin has forward pre-hooks':lambda m: m.lin.register_forward_pre_hook(print), 'lin has backward hooks':lambda m: m.lin.register_full_backward_hook(print),
    'lin has backward pre-hooks':lambda m: m.lin.register_full_backward_pre_hook(print), 'lin.weight has hooks of its gradient':lambda m: m.lin.weight.register_hook(print),
    'lin.bias has hooks of its gradient':lambda m: m.lin.bias.register_post_accumulate_grad_hook(print), 'drop.q':lambda m: m.drop.register_buffer('q', torch.ones(1))}

@pytest.mark.parametrize('why', SWAPS)
def test_watch_sees(why):
    m = model()
    watch = Watch(m, total)
    assert watch.changed()=='' and watch.changed()==''
    SWAPS[why](m)
    assert watch.changed()==why and watch.changed()==why   # until another is made
    assert Watch(m, total).changed()==''

@pytest.mark.parametrize('k,v,why', [('SCALE', 3., 'the global SCALE'), ('CONFIG', types.SimpleNamespace(alpha=2), 'the global CONFIG'), ('DEEP', 4, 'the global DEEP'), ('helper', len, 'the global helper')])
def test_watch_sees_globals(k, v, why, monkeypatch):
    watch = Watch(model(), total)
    monkeypatch.setitem(globals(), k, v)
    assert watch.changed()==why
    monkeypatch.undo()
    assert watch.changed()==''

def test_watch_sees_what_globals_hold(monkeypatch):
    watch = Watch(model(), total)
    swaps = {'the global CONFIG.alpha':lambda: monkeypatch.setattr(CONFIG, 'alpha', 5), 'Net.shared':lambda: monkeypatch.setattr(Net, 'shared', 3),
        'what is in the global TABLE':lambda: monkeypatch.setitem(TABLE, 'b', 2)}
    for why,f in swaps.items():
        f()
        assert watch.changed()==why
        monkeypatch.undo()
        assert watch.changed()==''
    STATE[1] += 1
    assert watch.changed()=='the global STATE'
    STATE[1] -= 1
    assert watch.changed()==''
    monkeypatch.setattr(CONFIG, 'unread', 7)   # which no code names
    assert watch.changed()==''
    MEM.add_(0)
    assert watch.changed()=='the global MEM'

def test_watch_sees_closures_and_loss_functions():
    n,box = 1,[]
    def loss(x): return x.mean()*n+len(box)
    watch = Watch(nn.Linear(3, 1), loss)
    n = 2
    assert watch.changed().startswith('n of ')
    n = 1
    assert watch.changed()==''
    box.append(1)
    assert watch.changed().startswith('what is in box of ')
    ce = nn.CrossEntropyLoss(label_smoothing=.1, weight=torch.ones(3))
    watch = Watch(nn.Linear(3, 3), ce)
    ce.label_smoothing = .2
    assert watch.changed()=='loss_func.label_smoothing'
    part = partial(F.cross_entropy, label_smoothing=.1)
    watch = Watch(nn.Linear(3, 3), part)
    part.keywords['label_smoothing'] = .2
    assert watch.changed()=='what is in loss_func'

def test_watch_sees_global_hooks_and_modes():
    watch = Watch(nn.Linear(3, 1))
    h = nn.modules.module.register_module_forward_hook(lambda *a: None)
    try: assert watch.changed()=='all modules have forward hooks'
    finally: h.remove()
    assert watch.changed()==''
    with torch.no_grad(): assert watch.changed()=='the default dtype, or whether gradients are on'
    assert watch.changed()==''

def test_hooks_elsewhere_do_not_matter():
    watch = Watch(nn.Linear(3, 1))
    nn.Linear(3, 1).register_forward_hook(print)
    m = nn.Linear(3, 1)
    m.register_state_dict_pre_hook(print)
    assert watch.changed()=='' and why_hooked(m)==''

def test_values_that_are_equal_have_not_changed():
    m = model()
    watch = Watch(m, total)
    m.drop.p,m.sizes = float('0.1'),[1,[2]]
    assert watch.changed()==''
    m.sizes.append(1)   # the new list
    assert watch.changed()!=''

def test_hidden_modules_are_watched_by_their_versions():
    teacher = nn.Linear(3, 3)
    m = Net(lambda m, x: m.teacher[0](x), teacher=[teacher])
    watch = Watch(m)
    with torch.no_grad(): teacher.weight.add_(1)
    assert watch.changed()=='teacher.weight'

def test_what_cannot_be_compared_is_another():
    class Odd:
        def __eq__(self, o): raise KeyError('no')
        __hash__ = None
    m = Net(odd=Odd())
    watch = Watch(m)
    assert watch.changed()==''
    m.odd = Odd()
    assert watch.changed()=='odd'

def test_objects_that_hold_much_are_read_where_code_names_them():
    class Learn:
        def __init__(self, m): self.model,self.epoch,self.n_iter,self.all = m,0,0,[self]
    m = Net(lambda m, x: x*m.learn.epoch)
    m.learn = Learn(m)
    watch = Watch(m)
    m.learn.n_iter += 1
    assert watch.changed()==''
    m.learn.epoch += 1
    assert watch.changed()=='learn.epoch'

def test_places_keep_to_users_code():
    places = Places(seq(nn.Linear(3, 3), nn.LSTM(3, 3)), F.cross_entropy)
    assert not places.globals and not places.cells and not places.asks
    assert not any(isinstance(o, types.ModuleType) and o is not builtins for o in places.seen.values())

def test_a_model_of_another_dtype_is_seen_at_once():
    m = Net()
    watch = Watch(m)
    m.double()
    assert watch.changed()=='dtype of lin.weight'

def test_large_tables_are_watched_by_their_size():
    vocab = {str(i):i for i in range(5000)}
    watch = Watch(Net(vocab=vocab))
    vocab['3'] = 7
    assert watch.changed()==''
    vocab['new'] = 7
    assert watch.changed()=='what is in vocab'

def test_modules_of_python_are_read_where_code_names_them(monkeypatch):
    cfg = types.ModuleType('cfg')
    cfg.alpha,cfg.unread = 1.,1
    monkeypatch.setitem(globals(), 'CONFIG', cfg)
    watch = Watch(model(), total)
    cfg.unread = 2
    assert watch.changed()==''
    cfg.alpha = 2.
    assert watch.changed()=='cfg.alpha'

def test_wrappers_are_looked_through():
    n = [0]
    def count(): n[0] += 1
    class Wrapped(nn.Linear):
        @property
        def twice(self): return count() or 2
        @staticmethod
        def once(): count()
        @torch.no_grad()
        def quiet(self): count()
    for k in 'twice','once','quiet':
        m = Net(lambda m, x, k=k: (m.lin.twice if k=='twice' else m.lin.once() if k=='once' else m.lin.quiet(), x)[1])
        m.lin = Wrapped(3, 3)
        with tried(m) as watch: m(X)
        assert watch.why.startswith('forward changes what is in n of') and n==[0]

# ---- control flow that asks for values
FLOWS = dict(
    asks=[lambda x: x if x.sum()>0 else -x, lambda x: x*float(x.max()), lambda x: x if torch.allclose(x, x) else -x,
        lambda x: sum(x for _ in range(x.argmax())), lambda x: x*bool(x.any())],
    shape=[lambda x: x[x>0].sum()*x, lambda x: x.unique()*1.],
    takes=[lambda x: x*x.sum(0).tolist()[0], lambda x: x*float(x.detach().numpy().sum())], changes=[lambda x: MEM.add_(1)*x])
FLOW_CASES = [(k, f) for k,fs in FLOWS.items() for f in fs]

@pytest.mark.parametrize('kind,f', FLOW_CASES)
def test_why_flow(kind, f):
    with pytest.raises(Exception) as e, pytest.warns(): # torch warns of `float(x)`
        import warnings
        warnings.warn('one at least', stacklevel=1)
        step(Net(lambda m, x: f(x)), total)
    why = why_flow(e.value)
    assert kind in why and 'test_watch.py' in why, e.value

def test_other_errors_have_no_flow(): assert why_flow(ValueError('x'))=='' and why_flow(KeyError('storage'))==''
