"An edited checkpoint is refused by an error before anything changes, or the resumed fit is bit-identical"
import json, shutil, warnings, zipfile
from collections import OrderedDict
import pytest, torch
from helpers import check
from learnloop import CheckpointCallback, GradientAccumulation, list_checkpoints
from learnloop.checkpoint.files import read_state, write_state
from test_checkpoint import everything, mk_learner, mk_loader, quiet, reseal
from torch import nn

def mk(opt=torch.optim.AdamW): return mk_learner(opt=opt, cbs=GradientAccumulation(n_batches=2), dl=mk_loader(generator=torch.Generator().manual_seed(4)))

@pytest.fixture(scope='module')
def saved(tmp_path_factory):
    "Return two checkpoints of a run, within a window and at the end of an epoch, and the final state"
    folder = tmp_path_factory.mktemp('edited')
    learn = quiet(mk(), 2, cbs=CheckpointCallback(folder, every_steps=2, every_epochs=1, keep=None))
    there = {o.manifest['next']:o for o in reversed(list_checkpoints(folder)) if o.step<6}
    return [there['train'], there['epoch']],everything(learn)

def edited(c, folder, name, f):
    "Copy the checkpoint `c`, and edit its file `name` with `f`, which returns the new content or changes it in place"
    to = shutil.copytree(c.path, folder/c.path.name)
    if name=='manifest.json': reseal(to, **f(dict(c.manifest)))
    else:
        o = json.loads((to/name).read_text()) if name.endswith('.json') else torch.load(to/name)
        o = o if (new := f(o)) is None else new
        if name.endswith('.json'): (to/name).write_text(json.dumps(o))
        else: torch.save(o, to/name)
        reseal(to)
    return to

def put(*at):
    "Return a decorator: `put(*at)(f)` edits a state by replacing the value at the place `at` by `f(value)`"
    def _with(f):
        def _edit(o):
            for k in at[:-1]: o = o[k]
            o[at[-1]] = f(o[at[-1]])
        return _edit
    return _with

def drop(*at):
    def _edit(o):
        for k in at[:-1]: o = o[k]
        del o[at[-1]]
    return _edit

def doubling(n=60):
    o = [0]
    for _ in range(n): o = [o, o]
    return o

def overlapping(t): return torch.zeros(t.numel()).as_strided(t.shape, [1]*t.dim())
def expanded(t): return torch.zeros(1).expand(t.shape)
def in_more_memory(t): return torch.cat([t.flatten(), torch.ones(5)])[:t.numel()].view(t.shape)
def turned(t): return t.t().contiguous().t()
TENSORS = dict(sparse=lambda t: t.to_sparse(), csr=lambda t: t.to_sparse_csr(), meta=lambda t: t.to('meta'),
    quantized=lambda t: torch.quantize_per_tensor(t, .1, 0, torch.qint8), complex=lambda t: t.to(torch.complex64), whole=lambda t: t.long(),
    booleans=lambda t: t>0, longer=lambda t: torch.cat([t, t]), deeper=lambda t: t[None], flat=lambda t: t.flatten(),
    empty=lambda t: t[:0], huge=lambda t: torch.zeros(1).expand(10**12), number=lambda t: 1., text=lambda t: 'x', none=lambda t: None, nested=lambda t: {'a':t})
SAME = dict(in_more_memory=in_more_memory, turned=turned, requires_grad=lambda t: t.clone().requires_grad_(), a_parameter=lambda t: nn.Parameter(t))
WEIGHT,AVG = put('0.weight'),put('state', 0, 'exp_avg')
def noted(v):
    def _edit(o): o._metadata = v
    return _edit
def without_names(o):
    for g in o['param_groups']: g['params'] = [0]*len(g['params'])

STEPS = dict(vector=lambda t: t.expand(3).clone(), nan=lambda t: t*torch.nan, negative=lambda t: -t, boolean=lambda t: t>0, complex=lambda t: t+0j,
    text=lambda t: 'x', none=lambda t: None, sparse=lambda t: t[None].to_sparse(), meta=lambda t: t.to('meta'), number=lambda t: t.item())
RATES = dict(nan=torch.nan, negative=-.1, text='0.1', none=None, listed=[.1], vector=torch.ones(3), complex=1j, boolean=True)

EDITS = {f'weight {k}':('model.pt', WEIGHT(f)) for k,f in (TENSORS|SAME).items()} | {f'exp_avg {k}':('opt.pt', AVG(f)) for k,f in (TENSORS|SAME).items()} | {
    'weight double':('model.pt', WEIGHT(lambda t: t.double())), 'weight lost':('model.pt', drop('0.weight')), 'weight more':('model.pt', lambda o: o.update(more=torch.ones(1))),
    'weight number as name':('model.pt', lambda o: o.update({5:torch.ones(1)})), 'count of floats':('model.pt', put('1.num_batches_tracked')(lambda t: t.float())),
    'buffer complex':('model.pt', put('1.running_mean')(lambda t: t.to(torch.complex64))), 'weights a list':('model.pt', lambda o: [*o.values()]), 'weights doubled':('model.pt', lambda o: o.update(a=doubling())),
    'notes a number':('model.pt', noted(3)), 'notes odd':('model.pt', noted(OrderedDict({'1':3}))), 'version text':('model.pt', noted(OrderedDict({'1':{'version':'x'}}))),
    'weights put in place':('model.pt', noted(OrderedDict({'0':{'assign_to_params_buffers':True}}))),
    'exp_avg half':('opt.pt', AVG(lambda t: t.half())), 'exp_avg double':('opt.pt', AVG(lambda t: t.double())), 'exp_avg lost':('opt.pt', drop('state', 0, 'exp_avg')),
    'exp_avg expanded':('opt.pt', put('state', 3, 'exp_avg')(expanded)), 'exp_avg overlapping':('opt.pt', put('state', 0, 'exp_avg')(overlapping)),
    **{f'step {k}':('opt.pt', put('state', 0, 'step')(f)) for k,f in STEPS.items()},
    **{f'lr {k}':('opt.pt', put('param_groups', 0, 'lr')(lambda t, v=v: v)) for k,v in RATES.items()},
    **{f'betas {k}':('opt.pt', put('param_groups', 0, 'betas')(lambda t, v=v: v)) for k,v in dict(short=(.9,), nan=(.9, torch.nan), number=.9, text='ab').items()},
    'amsgrad text':('opt.pt', put('param_groups', 0, 'amsgrad')(lambda v: 'x')), 'eps lost':('opt.pt', drop('param_groups', 0, 'eps')), 'params twice':('opt.pt', without_names),
    'params names':('opt.pt', put('param_groups', 0, 'param_names')(lambda v: v[:1])), 'params more':('opt.pt', put('param_groups', 0, 'params')(lambda v: [*v, 77])),
    'params text':('opt.pt', put('param_groups', 0, 'params')(lambda v: 'ab')), 'groups none':('opt.pt', put('param_groups')(lambda v: [])), 'groups twice':('opt.pt', put('param_groups')(lambda v: v*2)),
    'state unknown':('opt.pt', put('state')(lambda v: v | {99:v[0]})), 'state doubled':('opt.pt', put('state', 0)(lambda v: v | dict(a=doubling()))), 'state a list':('opt.pt', put('state')(lambda v: [*v.values()])),
    'made odd':('opt.pt', lambda o: o.update(made=3)), 'made of nothing':('opt.pt', lambda o: o.update(made=dict(cls='os:system', defaults={}))),
    **{f'{nm} {k}':('tensors.pt', put(nm)(f)) for nm in ('rng.now.torch', 'rng.fit.loader0_0_generator') for k,f in TENSORS.items() if k not in ('quantized','csr','deeper','flat','whole')},
    **{f'epoch {v}':('state.json', put('loop', 'epoch')(lambda _, v=v: v)) for v in (10**18, 2**70, -1, 7, .5, True, None, [1], {'$float':'nan'})},
    **{f'epochs {v}':('state.json', put('loop', 'count', 'epochs')(lambda _, v=v: v)) for v in (10**18, -1, {'a':1}, {'$float':'nan'})},
    **{f'batch {v}':('state.json', put('loop', 'batch')(lambda _, v=v: v)) for v in (10**18, 3, {'$float':'nan'})}, 'base far':('state.json', put('loop', 'base')(lambda _: -10**18)),
    'pct nan':('state.json', put('loop', 'pct_train')(lambda _: {'$float':'nan'})), 'pct inf':('state.json', put('loop', 'pct_train')(lambda _: {'$float':'inf'})),
    'lr a number':('state.json', put('config', 'lr')(lambda _: 5)), 'steps other':('state.json', put('loop', 'count', 'opt_steps')(lambda v: v+1)),
    'hypers unknown':('state.json', put('loop')(lambda o: o | dict(after=dict(speed=[1]), epoch=2, count=o['count'] | dict(epochs=2), next='epoch', batch=0))),
    'manifest step':('manifest.json', lambda m: dict(step=m['step']+1)), 'manifest epoch':('manifest.json', lambda m: dict(epoch=10**18)), 'manifest next':('manifest.json', lambda m: dict(next='validate'))}
ACCEPTED = {f'{k} {o}' for k in ('weight','exp_avg') for o in SAME} - {'exp_avg requires_grad', 'exp_avg a_parameter'} | {'step number'}

@pytest.mark.every(2)
@pytest.mark.parametrize('edit', EDITS)
def test_an_edited_checkpoint_is_refused_whole_or_resumed_bit_by_bit(edit, saved, tmp_path):
    (name,f),(there,end) = EDITS[edit],saved
    ways,n = [lambda learn, path: learn.load_checkpoint(path), lambda learn, path: quiet(learn, 2, resume=path.parent)],[*EDITS].index(edit)
    both = [*zip(there, ways if n%2 else ways[::-1], strict=True)]
    for i,(c,go) in enumerate(both if edit in ACCEPTED else [both[n//2%2]]):
        with warnings.catch_warnings():
            warnings.simplefilter('ignore')  # of torch, on sparse and quantized tensors
            path = edited(c, tmp_path/str(i), name, f)
        learn = mk()
        learn.create_opt()
        before = everything(learn)
        try: go(learn, path)
        except ValueError as e:
            check(everything(learn), before, edit)
            assert str(tmp_path) in str(e), f'{edit}: {e}'
            continue
        assert edit in ACCEPTED or edit=='weight double', edit
        if learn.paused is None and learn.count.epochs==2: check(everything(learn), end, edit)

@pytest.mark.parametrize('name', ['model.pt','opt.pt','tensors.pt'])
def test_what_would_unpack_to_more_than_its_size_is_refused_before_it_is_read(name, saved, tmp_path, monkeypatch):
    c = saved[0][0]
    path = shutil.copytree(c.path, tmp_path/c.path.name)
    with zipfile.ZipFile(c.path/name) as old, zipfile.ZipFile(path/name, 'w', zipfile.ZIP_DEFLATED) as new:
        for o in old.infolist(): new.writestr(o.filename, old.read(o))
    reseal(path)
    read,load = [],torch.load
    monkeypatch.setattr(torch, 'load', lambda f, *args, **kw: (read.append(str(f)), load(f, *args, **kw))[1])
    with pytest.raises(ValueError, match=f'{name}.* would unpack to more than its size'): mk().load_checkpoint(path)
    assert not any(name in o for o in read)

def test_a_part_that_occurs_often_is_no_bomb(tmp_path):
    "A hyper-parameter that all groups share is written once"
    g = dict(betas=(.9, .999), name='x'*9)
    write_state(tmp_path/'a.pth', dict(groups=[dict(g) for _ in range(5000)]))
    assert len(read_state(tmp_path/'a.pth')['groups'])==5000
    torch.save(dict(a=doubling()), tmp_path/'b.pth')
    with pytest.raises(ValueError, match='b.pth'): read_state(tmp_path/'b.pth')

@pytest.mark.parametrize('opt', ['SGD','Adagrad','RMSprop','Rprop','ASGD','Adadelta','Adamax','NAdam','RAdam','Adafactor','Muon'])
def test_the_state_of_each_of_torchs_optimizers_is_known(opt, tmp_path):
    "A tensor of another shape is refused, and so is a state that lacks one"
    args = dict(momentum=.9) if opt in ('SGD','RMSprop') else {}
    def learner():
        def mk_opt(params, **kw): return getattr(torch.optim, opt)(params, **args | kw)
        return mk_learner(opt=mk_opt, model=lambda: nn.Sequential(nn.Linear(3, 2, bias=False)))
    c = quiet(learner(), 1).save_checkpoint(tmp_path/'run')
    want = c.read('opt.pt')
    learner().load_checkpoint(c)
    tensors = [k for k,v in want['state'][0].items() if isinstance(v, torch.Tensor) and v.dim()]
    assert tensors
    for i,k in enumerate(tensors):
        for j,f in enumerate([put('state', 0, k)(lambda t: torch.cat([t, t]))] + [drop('state', 0, k)]*(len(want['state'][0])>1)):
            path = edited(c, tmp_path/f'{i}{j}', 'opt.pt', f)
            with pytest.raises(ValueError, match='opt|state'): learner().load_checkpoint(path)

def test_a_state_that_shares_memory_is_loaded_apart(saved, tmp_path):
    "Two parts of one memory, as after an edit, would be written twice in each step"
    c = saved[0][0]
    def share(o):
        s = o['state'][1]
        both = torch.stack([s['exp_avg'], s['exp_avg_sq']])
        s['exp_avg'],s['exp_avg_sq'] = both
    learn = mk().load_checkpoint(edited(c, tmp_path, 'opt.pt', share))
    check(learn.opt.state_dict(), mk().load_checkpoint(c).opt.state_dict())
    s = learn.opt.state_dict()['state'][1]
    assert s['exp_avg'].untyped_storage().data_ptr()!=s['exp_avg_sq'].untyped_storage().data_ptr()
