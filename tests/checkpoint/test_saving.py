"A saved file is whole or absent, loading changes everything or nothing, and training on from a file equals training without a stop"
import io, json, os, stat, sys
from collections import OrderedDict
from copy import deepcopy
from functools import partial
from pathlib import Path
import numpy as np, pytest, torch
from helpers import LR, Module, as_script, batches, covering, same, silent
from hypothesis import given, strategies as st
from learnloop import Callback, DataLoaders, Learner
from learnloop.checkpoint.files import atomic_write, read_state, write_state
from learnloop.checkpoint.export import load_export, load_learner
from learnloop.checkpoint.saving import load_model, save_model
from torch import nn
from torch.nn import functional as F

SGD = partial(torch.optim.SGD, momentum=.9)
def net(): return nn.Sequential(nn.Linear(2, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, 1))
def halves(m): return [[*m[:2].parameters()], [*m[3].parameters()]]
def two_opts(groups):
    a,b = (g['params'] for g in groups)
    return dict(body=torch.optim.SGD(a, lr=LR, momentum=.9), head=torch.optim.Adam(b, lr=LR))

def mk(path='.', opt_func=SGD, seed=0, model=None, **kwargs):
    "A silent learner on a small network"
    torch.manual_seed(seed)
    dls = DataLoaders(batches(4), batches(2, seed=1), device='cpu')
    lr = None if isinstance(opt_func, torch.optim.Optimizer) else LR
    return silent(Learner(dls, net() if model is None else model, F.mse_loss, opt_func, lr=lr, path=path, **kwargs))

def opt_state(opt): return {k:opt_state(o) for k,o in opt.items()} if isinstance(opt, dict) else opt and opt.state_dict()
def state(learn): return deepcopy((dict(learn.model.state_dict()), opt_state(learn.opt)))
def equal(a, b):
    "Equality of nested data, bit for bit"
    if isinstance(a, torch.Tensor): return isinstance(b, torch.Tensor) and a.dtype==b.dtype and torch.equal(a, b)
    if isinstance(a, dict): return list(a)==list(b) and all(equal(a[k], b[k]) for k in a)
    if isinstance(a, (list,tuple)): return type(a) is type(b) and len(a)==len(b) and all(map(equal, a, b))
    return type(a) is type(b) and a==b
def names(folder): return sorted(o.name for o in folder.iterdir())

# Files

@covering(2, there=[True, False], error=[OSError(28, 'No space left on device'), KeyboardInterrupt(), MemoryError()], at=['write', 'fsync', 'replace'])
def test_a_failed_write_leaves_the_old_file_and_no_other(tmp_path, monkeypatch, at, error, there):
    path = tmp_path/'a.pth'
    if there: path.write_bytes(b'old')
    def fail(*args): raise error
    if at!='write': monkeypatch.setattr(os, at, fail)
    with pytest.raises(type(error)) as e, atomic_write(path) as f:
        f.write(b'new')
        if at=='write': fail()
    assert e.value is error and str(path) in error.__notes__[-1]
    assert names(tmp_path)==['a.pth']*there and (not there or path.read_bytes()==b'old')

def test_data_are_synced_before_the_rename_and_the_rename_before_the_end(tmp_path, monkeypatch):
    done,fsync,replace = [],os.fsync,os.replace
    def synced(fd):
        done.append('folder' if stat.S_ISDIR(os.fstat(fd).st_mode) else ('file', os.fstat(fd).st_size))
        fsync(fd)
    def replaced(*args):
        done.append('replace')
        replace(*args)
    monkeypatch.setattr(os, 'fsync', synced)
    monkeypatch.setattr(os, 'replace', replaced)
    with atomic_write(tmp_path/'a') as f: f.write(b'12345')
    assert done==[('file', 5), 'replace', 'folder']

def test_a_link_is_followed(tmp_path):
    (tmp_path/'disk').mkdir()
    (tmp_path/'a').symlink_to(tmp_path/'disk'/'b')
    with atomic_write(tmp_path/'a') as f: f.write(b'1')
    assert (tmp_path/'a').is_symlink() and (tmp_path/'disk'/'b').read_bytes()==b'1'

FULL = """
import resource, sys, torch
from learnloop.checkpoint.files import write_state
write_state(sys.argv[1], dict(x=torch.zeros(3)))
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
write_state(sys.argv[1], dict(x=torch.ones(100_000)))
"""
def test_a_full_disk_leaves_the_old_file(tmp_path):
    file = tmp_path/'a.pth'
    (script := tmp_path.with_suffix('.py')).write_text(FULL)
    res = as_script(script, file)
    assert torch.equal(read_state(file)['x'], torch.zeros(3)) and names(tmp_path)==['a.pth']
    assert 'OSError: [Errno 27] File too large' in res.out and str(file) in res.out and 'RuntimeError' not in res.out

plain = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
nested = st.recursive(plain, lambda o: st.lists(o, max_size=3) | st.dictionaries(st.text(), o, max_size=3) | st.tuples(o, o), max_leaves=8)
@given(st.dictionaries(st.text(), nested, max_size=4))
def test_plain_data_come_back_as_they_were(sd):
    f = io.BytesIO()
    write_state(f, sd)
    f.seek(0)
    assert equal(read_state(f), sd)

@pytest.mark.parametrize('o', [1j, 2**100, torch.float16, torch.device('cpu'), torch.Size([1, 2]), {1, 2}, OrderedDict(a=1),
    {(1, 'a'): 2, None: 3}, nn.Parameter(torch.ones(2))], ids=lambda o: type(o).__name__)
def test_other_plain_data_come_back(o):
    f = io.BytesIO()
    write_state(f, dict(o=o))
    f.seek(0)
    assert equal(read_state(f)['o'], o)

class Odd: pass
@pytest.mark.parametrize('bad,where', [(np.float64(1), 'numpy.float64'), (np.zeros(2), 'numpy.ndarray'), (Odd(), 'Odd'), (nn.Linear(1, 1), 'Linear'),
    (lambda: 0, 'function'), (b'', 'bytes'), (os.environ, '_Environ')])
def test_data_that_cannot_be_read_are_not_written(tmp_path, bad, where):
    write_state(tmp_path/'a.pth', dict(x=1))
    with pytest.raises(TypeError, match=rf"state\['cb'\]\['best'\]\[1\] is a .*{where}"): write_state(tmp_path/'a.pth', dict(cb=dict(best=[0, bad])))
    assert names(tmp_path)==['a.pth'] and read_state(tmp_path/'a.pth')==dict(x=1)

class Evil:
    def __init__(self, path): self.path = path
    def __reduce__(self): return os.mkdir,(str(self.path),)

def test_a_refused_object_is_named(tmp_path):
    torch.save(dict(model=Evil(tmp_path/'gotcha')), tmp_path/'a.pth')
    with pytest.raises(ValueError, match='a.pth holds Python objects .*mkdir.*refused'): read_state(tmp_path/'a.pth')

@given(st.data())
@pytest.mark.filterwarnings('ignore')  # torch has opinions about odd pickles
def test_a_damaged_file_is_a_clear_error(tmp_path_factory, data):
    file,f = tmp_path_factory.mktemp('damaged')/'a.pth',io.BytesIO()
    torch.save(dict(model=dict(a=torch.zeros(9))), f)
    whole = f.getvalue()
    file.write_bytes(data.draw(st.binary(max_size=60) | st.integers(0, len(whole)-1).map(lambda n: whole[:n])))
    with pytest.raises(ValueError, match='a.pth'): read_state(file)

def test_a_missing_file_names_what_is_there(tmp_path):
    learn = mk(tmp_path)
    with pytest.raises(FileNotFoundError, match=r'no \.pth file is there'): learn.load('best')
    for nm in ('best_1', 'last'): learn.save(nm)
    with pytest.raises(FileNotFoundError, match=r"did you mean 'best_1.pth'\? \(there is best_1.pth, last.pth\)"): learn.load('best1')

def test_a_device_that_is_not_there_is_not_the_files_fault(tmp_path):
    mk(tmp_path).save('a')
    with pytest.raises(Exception) as e: mk(tmp_path).load('a', device='xpu' if torch.cuda.is_available() else 'cuda')
    assert 'a.pth' not in str(e.value)

# Weights

@pytest.fixture
def group():
    torch.distributed.init_process_group('gloo', store=torch.distributed.HashStore(), rank=0, world_size=1)
    yield
    torch.distributed.destroy_process_group()

def compiled(m): return torch.compile(m, backend='eager')
WRAPS = dict(compiled=compiled, parallel=nn.DataParallel, ddp=nn.parallel.DistributedDataParallel,
    both=lambda m: compiled(nn.DataParallel(m)), within=lambda m: nn.Sequential(*m[:3], compiled(m[3])),
    deep=lambda m: nn.DataParallel(nn.Sequential(nn.DataParallel(compiled(m[0])), *m[1:])))
@pytest.mark.parametrize('wrap', WRAPS.values(), ids=WRAPS)
def test_keys_have_no_wrapper_prefixes(tmp_path, group, wrap):
    plain,model = net(),wrap(net())
    save_model(tmp_path/'wrapped', model)
    assert [*read_state(tmp_path/'wrapped')['model']]==[*plain.state_dict()]
    load_model(tmp_path/'wrapped', plain)
    assert all(torch.equal(a, b) for a,b in zip(plain.state_dict().values(), model.state_dict().values(), strict=True))
    save_model(tmp_path/'plain', other := net())
    load_model(tmp_path/'plain', model)
    assert all(torch.equal(a, b) for a,b in zip(other.state_dict().values(), model.state_dict().values(), strict=True))

@pytest.mark.parametrize('prefix', ['_orig_mod.', 'module.', 'module._orig_mod.'])
def test_prefixes_in_other_files_are_removed(tmp_path, prefix):
    m = net()
    torch.save({prefix+k:v for k,v in m.state_dict().items()}, tmp_path/'a')
    load_model(tmp_path/'a', new := net())
    assert same(m, new)

def test_modules_that_rename_old_keys_are_left_to_torch(tmp_path):
    m = nn.utils.parametrizations.weight_norm(nn.Linear(2, 3))
    old = OrderedDict(bias=m.bias.detach(), weight_g=torch.full((3, 1), 2.), weight_v=torch.ones(3, 2))
    torch.save(old, tmp_path/'a')
    load_model(tmp_path/'a', m)
    assert torch.equal(m.parametrizations.weight.original0, old['weight_g'])

def test_strict_false_loads_what_is_common(tmp_path):
    save_model(tmp_path/'a', m := net())
    more = nn.Sequential(*net(), nn.Linear(1, 1))
    with pytest.raises(ValueError, match=r"the file lacks '4.weight', '4.bias' \(strict=False"): load_model(tmp_path/'a', more)
    load_model(tmp_path/'a', more, strict=False)
    assert torch.equal(m[0].weight, more[0].weight)
    with pytest.raises(ValueError, match="the model has no '3.weight', '3.bias'"): load_model(tmp_path/'a', m[:3])

# Training on from a file

FORMS = dict(sgd=dict(opt_func=SGD), nesterov=dict(opt_func=partial(torch.optim.SGD, momentum=.8, nesterov=True), wd=.1),
    adam=dict(opt_func=torch.optim.Adam), adamw=dict(opt_func=torch.optim.AdamW), rmsprop=dict(opt_func=partial(torch.optim.RMSprop, momentum=.5)),
    groups=dict(opt_func=torch.optim.AdamW, splitter=halves), several=dict(opt_func=two_opts, splitter=halves), adagrad=dict(opt_func=torch.optim.Adagrad),
    nadam=dict(opt_func=torch.optim.NAdam))

def as_made(learn): pass
def frozen(kw): return dict(train_bn=False, **kw),Learner.freeze,lambda o: o.fit(1),lambda o: (o.fit(1), o.unfreeze(), o.fit(1))
def regrouped(opt_func, before, after): return dict(opt_func=opt_func),as_made,lambda o: o.fit(1, wd=before),lambda o: (o.fit(1, wd=after), o.fit(1))
# Arguments, how a learner is prepared, and what it does before the file is saved and after it is loaded
STORIES = {k:(kw, as_made, lambda o: o.fit(1), lambda o: o.fit(2)) for k,kw in FORMS.items()} | dict(
    frozen=frozen(FORMS['groups']), frozen_sgd=frozen(dict(splitter=halves)),
    # the file has fewer groups than the optimizer in use, or more than a new one
    **{f'{nm} {a} {b}':regrouped(opt, a, b) for nm,opt in dict(SGD=SGD, AdamW=partial(torch.optim.AdamW, weight_decay=0.)).items()
        for a,b in ((None, .1), (.1, None), (.1, .2))})

@pytest.mark.parametrize('fresh', [False, True], ids=['same', 'fresh'])
@pytest.mark.parametrize('story', STORIES)
def test_training_on_from_a_file_equals_training_without_a_stop(tmp_path, story, fresh):
    kw,prepare,first,rest = STORIES[story]
    prepare(learn := mk(tmp_path, **kw))
    first(learn)
    learn.save('a')
    rest(learn)
    want = state(learn)
    prepare(learn := mk(tmp_path, seed=1, **kw) if fresh else learn)
    learn.load('a')
    rest(learn)
    assert equal(state(learn), want)

def test_an_optimizer_given_as_instance(tmp_path):
    def one(seed):
        torch.manual_seed(seed)
        model = net()
        return mk(tmp_path, torch.optim.Adam(model.parameters(), lr=.02), model=model)
    learn = one(0)
    learn.fit(1)
    learn.set_hypers(lr=.03)
    learn.save('a')
    learn.fit(1)
    other = one(1).load('a')
    other.fit(1)
    assert equal(state(learn), state(other)) and other.opt.param_groups[0]['lr']==.03

def test_loading_in_a_fit_keeps_the_optimizer_that_schedulers_hold(tmp_path):
    learn = mk(tmp_path)
    learn.fit(1)
    learn.save('a')
    def reload(cb):
        opt = learn.opt
        learn.load('a')
        assert learn.opt is opt and not any(g['weight_decay'] for g in opt.param_groups)
    learn.fit(1, wd=.1, cbs=Callback(after_train=reload))
    assert same(learn.model, mk(tmp_path, seed=3).load('a').model)

# All or nothing

def spoil(what):
    def f(sd):
        m,g = sd['model'],sd['opt']['param_groups'][0]
        if   what=='missing': del m['0.bias']
        elif what=='unexpected': m['9.bias'] = torch.zeros(1)
        elif what=='shape': m['3.weight'] = torch.zeros(1, 5)
        elif what=='no tensor': m['3.weight'] = 3
        elif what=='no model': del sd['model']
        elif what=='no opt': del sd['opt']
        elif what=='names': g['param_names'][0] = 'x'
        elif what=='more': g['params'],g['param_names'] = [*g['params'], 99],[*g['param_names'], 'x']
        elif what=='groups': sd['opt']['param_groups'].append(dict(g))
        elif what=='class': del g['momentum']
        elif what=='several': sd['opt'] = dict(a=sd['opt'], b=sd['opt'])
    return f
SPOILT = {'missing':"lacks '0.bias'", 'unexpected':"has no '9.bias'", 'no tensor':"'3.weight' is", 'no model':'not a file of learn.save',
    'shape':r"'3.weight' is float32 \(1, 4\) in the model, but float32 \(1, 5\)", 'no opt':'with_opt=False', 'names':"it has no '0.weight'",
    'more':"it has 'x', which this SGD doesn't train", 'groups':'groups of', 'class':"needs 'momentum'", 'several':"has optimizers 'a', 'b'"}
@covering(used=[False, True], what=SPOILT)
def test_failed_optimizer_restore_is_an_error_and_a_failed_load_changes_nothing(tmp_path, what, used):
    "fastai: optimizer load failure is a bare except and a warning"
    mk(tmp_path).save('a') and (src := mk(tmp_path)).fit(1)
    sd = read_state(src.save('a'))
    spoil(what)(sd)
    torch.save(sd, tmp_path/'models'/'b.pth')
    learn = mk(tmp_path, seed=1)
    if used: learn.fit(1, wd=.1)
    before,opt = state(learn),learn.opt
    with pytest.raises(ValueError, match=SPOILT[what]) as e: learn.load('b')
    assert 'b.pth' in str(e.value)
    assert equal(state(learn), before) and learn.opt is opt and learn.saved is None
    learn.fit(1)

@pytest.mark.parametrize('opt_func', [torch.optim.Adam, torch.optim.RMSprop, two_opts])
def test_another_kind_of_optimizer_is_an_error(tmp_path, opt_func):
    learn = mk(tmp_path)
    learn.fit(1)
    learn.save('a')
    other = mk(tmp_path, opt_func, splitter=halves if opt_func is two_opts else lambda m: [*m.parameters()])
    with pytest.raises(ValueError, match='a.pth'): other.load('a')
    assert other._opt is None
    other.load('a', with_opt=False)
    assert same(other.model, learn.model) and other._opt is None

class Two(Module):
    def __init__(self):
        self.a,self.b = nn.Linear(2, 2, bias=False),nn.Linear(2, 2, bias=False)
    def forward(self, x): return self.b(self.a(x)).sum(1, keepdim=True)

@pytest.mark.parametrize('splitter', [lambda m: [m.b.weight, m.a.weight], lambda m: [[m.b.weight], [m.a.weight]]])
def test_state_goes_by_name_whatever_the_order(tmp_path, splitter):
    "torch itself would give a layer the momentum of its neighbour"
    learn = mk(tmp_path, model=Two())
    learn.fit(1)
    learn.save('a')
    other = mk(tmp_path, model=Two(), splitter=splitter).load('a')
    for k in 'ab':
        p,q = (getattr(o.model, k).weight for o in (learn, other))
        assert torch.equal(learn.opt.state[p]['momentum_buffer'], other.opt.state[q]['momentum_buffer'])
    learn.fit(1)
    other.fit(1)
    assert same(learn.model, other.model)

def test_a_group_cannot_have_the_hyper_parameters_of_two(tmp_path):
    learn = mk(tmp_path, splitter=halves)
    learn.fit(1)
    learn.save('a')
    with pytest.raises(ValueError, match='one group here is several groups in the file'): mk(tmp_path).load('a')

def test_a_file_without_names_goes_by_number(tmp_path):
    learn = mk(tmp_path)
    learn.fit(1)
    torch.save(dict(model=learn.model.state_dict(), opt=learn.opt.state_dict()), tmp_path/'a.pth')
    assert equal(state(mk(tmp_path, seed=1).load(tmp_path/'a')), state(learn))
    with pytest.raises(ValueError, match=r'groups of \[6\] parameters, but SGD has groups of \[4, 2\]'): mk(tmp_path, splitter=halves).load(tmp_path/'a')

def test_load_model_and_save_model(tmp_path):
    m,n = net(),net()
    a,b = (torch.optim.Adam(o.parameters()) for o in (m, n))
    m(torch.ones(4, 2)).sum().backward()
    a.step()
    save_model(tmp_path/'a', m, a)
    load_model(tmp_path/'a', n, b)
    assert same(m, n) and equal(a.state_dict(), b.state_dict())
    save_model(tmp_path/'b', m)
    with pytest.raises(ValueError, match='before there was an optimizer'): load_model(tmp_path/'b', n, b)
    load_model(tmp_path/'b', n)

def test_weights_alone(tmp_path):
    learn = mk(tmp_path)
    learn.fit(1)
    assert [*read_state(learn.save('a', with_opt=False))]==['model']
    torch.save(learn.model.state_dict(), tmp_path/'models'/'b.pth')
    for nm in 'ab':
        with pytest.raises(ValueError, match='has no optimizer: load it with_opt=False'): mk(tmp_path).load(nm)
        assert same(mk(tmp_path, seed=1).load(nm, with_opt=False).model, learn.model)

@pytest.mark.parametrize('sd', [[1, 2], dict(a=1), dict(model=3), {}])
def test_a_file_of_something_else_is_an_error(tmp_path, sd):
    torch.save(sd, tmp_path/'a.pth')
    with pytest.raises(ValueError, match='a.pth is not a file of learn.save'): mk().load(tmp_path/'a.pth')

# The learner

@pytest.mark.parametrize('file,at', [('a', 'models/a.pth'), ('sub/a', 'models/sub/a.pth'), ('a.ckpt', 'models/a.ckpt'), ('loss-0.35', 'models/loss-0.35.pth'),
    ('v1.2', 'models/v1.2.pth'), ('a.pth', 'models/a.pth')])
def test_files_go_to_model_dir(tmp_path, file, at):
    learn = mk(tmp_path)
    assert learn.save(file)==tmp_path/at and (tmp_path/at).is_file()
    assert learn.load(file) is learn
    assert learn.save(tmp_path/'x'/'y')==tmp_path/'x'/'y.pth'

@pytest.mark.parametrize('phase', ['save', 'load'])
def test_events_around_saving_and_loading(tmp_path, phase):
    learn,seen = mk(tmp_path),[]
    learn.fit(1)
    learn.save('a')
    def on(e): return lambda cb: seen.append((e, sorted(learn.saved)))
    with learn.added_cbs(Callback(**{e:on(e) for e in learn.phases[phase].events})): getattr(learn, phase)('a')
    assert seen==[(f'{o}_{phase}', ['model', 'opt']) for o in ('before', 'after', 'cleanup')]
    assert learn.saved is None and learn.outcome[phase]=='done'

@pytest.mark.parametrize('error', [ZeroDivisionError, KeyboardInterrupt])
@pytest.mark.parametrize('event', ['before_save', 'after_save', 'before_load', 'after_load'])
def test_an_error_of_a_callback_leaves_the_learner_usable(tmp_path, event, error):
    learn = mk(tmp_path)
    file = learn.save('a')
    def fail(cb): raise error
    with pytest.raises(error), learn.added_cbs(Callback(**{event:fail})): getattr(learn, event.split('_')[1])('a')
    assert learn.open==[] and learn.saved is None and names(file.parent)==['a.pth']
    learn.load('a').fit(1)

# Export

class Tied(Module):
    "Tied weights, a transposed parameter, a buffer that is a part of another, an integer and an empty one"
    def __init__(self):
        self.emb,self.out = nn.Embedding(5, 3),nn.Linear(3, 5, bias=False)
        self.out.weight = self.emb.weight
        self.t = nn.Parameter(torch.randn(2, 4).t())
        whole = torch.randn(6)
        buffers = dict(first=torch.randn(6)[:3], whole=whole, part=whole[:3], n=torch.tensor(3), none=torch.zeros(0), none2=torch.zeros(0))
        for k,v in buffers.items(): self.register_buffer(k, v)
    def forward(self, x): return self.out(self.emb(x)).mean(1)*self.t.sum()*self.part.sum()

def test_shared_tensors_are_exported_and_come_back_shared(tmp_path):
    torch.manual_seed(0)
    m = Tied()
    x = torch.arange(4)[None]
    file = Learner([(x,)], m, path=tmp_path).export('a')
    new = Tied()
    load_export(file, new)
    assert same(m, new) and torch.equal(m(x), new(x)) and new.out.weight is new.emb.weight
    assert all(torch.equal(a, b) for a,b in zip(m.state_dict().values(), new.state_dict().values(), strict=True))
    from safetensors import safe_open
    with safe_open(file, 'pt') as f: assert len({'emb.weight', 'out.weight'} & set(f.keys()))==1
    assert m.t.stride()==(1,4), 'the model stays as it was'

@pytest.mark.parametrize('name', ['m.pkl', 'm.pth', 'm.pt', 'm.onnx', 'm.bin', 'best.model'])
def test_export_refuses_names_of_other_kinds_of_files(name, tmp_path):
    learn = mk(tmp_path)
    for o in (name, tmp_path/name):
        with pytest.raises(ValueError, match=rf"{name}', but export always writes a safetensors file.* Give '.*{Path(name).stem}'"): learn.export(o)
    assert not any(tmp_path.iterdir())
    for o in ('a', 'b.safetensors', 'v1.2', tmp_path/'C.SafeTensors'): assert learn.export(o).suffix.lower()=='.safetensors'

def test_save_warns_that_it_writes_no_safetensors(tmp_path):
    with pytest.warns(UserWarning, match=r'm\.safetensors will be a file of torch\.save: learn\.export writes safetensors'): mk(tmp_path).save('m.safetensors')

def test_models_that_cannot_be_exported_are_refused(tmp_path):
    learn = mk(tmp_path)
    with pytest.raises(TypeError, match='meta='): learn.export(meta=dict(f=net))
    class Extra(nn.Linear):
        def get_extra_state(self): return dict(a=1)
        def set_extra_state(self, sd): pass
    with pytest.raises(TypeError, match="'_extra_state' is a dict"): Learner([], Extra(1, 1), path=tmp_path).export()
    assert names(tmp_path)==[]

def test_errors_of_load_export(tmp_path):
    mk(tmp_path).export('a')
    with pytest.raises(FileNotFoundError, match="did you mean 'a.safetensors'"): load_export(tmp_path/'ab', net())
    before = deepcopy(model := nn.Sequential(*net(), nn.Linear(1, 1)))
    with pytest.raises(ValueError, match='from a Sequential, is from a different model.*lacks'): load_export(tmp_path/'a', model)
    assert same(model, before)
    (tmp_path/'b.safetensors').write_bytes((tmp_path/'a.safetensors').read_bytes()[:50])
    with pytest.raises(ValueError, match='b.safetensors is damaged'): load_export(tmp_path/'b', net())
    from safetensors.torch import save_file
    save_file(dict(a=torch.zeros(1)), tmp_path/'c.safetensors', metadata=dict(learnload=json.dumps({})))
    with pytest.raises(ValueError, match='c.safetensors is not a file of learn.export'): load_export(tmp_path/'c', net())

def test_export_without_safetensors_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, 'safetensors.torch', None)
    with pytest.raises(ImportError, match=r"pip install 'learnloop\[export\]'"): mk(tmp_path).export()

def test_a_failed_export_leaves_the_old_file(tmp_path, monkeypatch):
    file = mk(tmp_path).export()
    old = file.read_bytes()
    def fail(*args): raise OSError(28, 'No space left on device')
    monkeypatch.setattr(os, 'fsync', fail)
    with pytest.raises(OSError): mk(tmp_path, seed=1).export()
    assert file.read_bytes()==old and names(tmp_path)==[file.name]

@pytest.mark.parametrize('weights_only', [True, False])
def test_weights_only_is_accepted_and_never_runs_code(weights_only, tmp_path):
    learn = mk(tmp_path)
    learn.fit(1)
    learn.save('a')
    other = mk(tmp_path, seed=1).load('a', weights_only=weights_only)
    assert all(same([a], [b]) for a,b in zip(learn.model.state_dict().values(), other.model.state_dict().values(), strict=True))
    load_model(tmp_path/'models/a.pth', net(), weights_only=weights_only)
    torch.save(dict(model=learn.model), tmp_path/'models/b.pth')
    with pytest.raises(ValueError, match='refused'): other.load('b', weights_only=weights_only)

def test_an_export_knows_the_names_of_targets(tmp_path):
    class Named(nn.Linear):
        def forward(self, x): return super().forward(x)
    b = [dict(x=torch.randn(3, 2), y=torch.zeros(3, 1))]
    learn = Learner(DataLoaders(b, targ='y'), Named(2, 1), F.mse_loss, path=tmp_path)
    other = load_learner(learn.export(), Named(2, 1), F.mse_loss)
    assert torch.equal(other.get_preds(dl=b)[0], learn.get_preds(dl=b)[0])

# --- modules with their own loading

class Grows(Module):
    "Has a buffer of any size, as observers of a model in training for quantization have"
    def __init__(self, n=0):
        self.register_buffer('seen', torch.zeros(n))
    def _load_from_state_dict(self, sd, prefix, *args):
        if isinstance(v := sd.get(f'{prefix}seen'), torch.Tensor) and v.dim()==1: self.seen = torch.zeros_like(v)
        super()._load_from_state_dict(sd, prefix, *args)
    def forward(self, x): return x

def growing(n, out=1): return nn.Sequential(nn.Linear(2, out), nn.BatchNorm1d(out), nn.Sequential(Grows(n)))

def test_a_module_with_its_own_loading_checks_itself(tmp_path):
    save_model(tmp_path/'a', growing(3))
    load_model(tmp_path/'a', m := growing(0))
    assert m[2][0].seen.shape==(3,)
    m = growing(0, out=4)
    was = {k:v.clone() for k,v in m.state_dict().items()}
    with pytest.raises(ValueError, match=r"'0.weight' is float32 \(4, 2\) in the model, but float32 \(1, 2\) in the file"): load_model(tmp_path/'a', m)
    save_model(tmp_path/'b', nn.Sequential(nn.Linear(2, 4), nn.BatchNorm1d(4), nn.Sequential(nn.Identity())))
    with pytest.raises(ValueError, match="'2.0' does not accept its state .*Missing key"): load_model(tmp_path/'b', m)
    odd = was | {'2.0.seen':torch.zeros(2, 2)}
    write_state(tmp_path/'c', dict(model=odd))
    for strict in (True, False):
        with pytest.raises(ValueError, match="'2.0' does not accept its state .*size mismatch for seen"): load_model(tmp_path/'c', m, strict=strict)
    assert all(map(torch.equal, m.state_dict().values(), was.values()))

def test_a_fit_resumes_with_a_module_with_its_own_loading(tmp_path):
    for n,n_epoch in ((3, 1), (0, 2)): (learn := mk(tmp_path, model=growing(n))).fit(n_epoch, resume=tmp_path)
    assert learn.model[2][0].seen.shape==(3,) and learn.count.opt_steps==8

def test_a_module_with_its_own_loading_is_tried_without_copying_its_hooks(tmp_path):
    class Never:
        def __deepcopy__(self, memo): raise MemoryError
        def hook(self, *args): pass
    m = growing(2)
    m[2][0].register_forward_hook(Never().hook)
    save_model(tmp_path/'a', m)
    load_model(tmp_path/'a', m)

def test_an_error_points_to_a_file_in_the_current_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    learn = Learner([], nn.Linear(1, 1), path=tmp_path/'runs')
    learn.save(tmp_path/'plain')
    with pytest.raises(FileNotFoundError, match=r"plain.pth is in the current folder.*Path\('plain.pth'\).absolute\(\)"): learn.load('./plain.pth')
    learn.load(Path('plain.pth').absolute())
