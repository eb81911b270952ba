"A change between a stop and a resume is refused, warned of, or has the same result, as the table in the docs says"
import json, math, os, random, re, shutil, subprocess, sys, textwrap, warnings
from functools import partial
from pathlib import Path
import numpy as np, pytest, torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset, IterableDataset, RandomSampler, Subset, TensorDataset, WeightedRandomSampler
from learnloop import (EMA, Callback, CheckpointCallback, DataLoaders, GradientAccumulation, GradientClip, KeepWarnings,
    Learner, MixedPrecision, MixUp, Tracer, event, on, set_seed, synth_learner)
from learnloop.checkpoint.changes import changed_facts
from learnloop.checkpoint.storage import list_checkpoints
from learnloop.measure.about import about_run
from learnloop.measure.describe import code_digest
from helpers import Module, as_script, check

N = 24
def rows(n=N, k=1.): return (torch.arange(3.*n).view(n, 3)*k).sin(), torch.arange(float(n)).view(n, 1).cos()

class Items(Dataset):
    "Items that are made when they are asked for"
    def __init__(self, k=1., n=N): self.k,self.n = k,n
    def __len__(self): return self.n
    def __getitem__(self, i): return torch.tensor([i, i*self.k, 1.]).sin(),torch.tensor([math.cos(i)])

class Net(Module):
    def __init__(self, scale=1., act=F.relu):
        self.a,self.bn,self.b,self.scale,self.act = nn.Linear(3, 4),nn.BatchNorm1d(4),nn.Linear(4, 1),scale,act
    def forward(self, x): return self.b(self.act(self.bn(self.a(x))))*self.scale

class Renamed(Module):
    "As `Net`"
    def __init__(self, scale=1., act=F.relu):  # with a comment
        self.a,self.bn,self.b,self.scale,self.act = nn.Linear(3, 4),nn.BatchNorm1d(4),nn.Linear(4, 1),scale,act
    def forward(self, inputs): return self.b(self.act(self.bn(self.a(inputs))))*self.scale

class Twice(Net):
    def forward(self, x): return 2*self.b(self.act(self.bn(self.a(x))))

def named(cls):
    cls.__name__ = cls.__qualname__ = 'Model'
    return cls

def mk_model(act=nn.ReLU, p=.1, **bn): return nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4, **bn), act(), nn.Dropout(p), nn.Linear(4, 1))

def encoder(**kwargs): return nn.Sequential(nn.Linear(3, 4), nn.TransformerEncoderLayer(4, 2, 4, **kwargs), nn.Linear(4, 1))

class Scaled(Module):
    "A loss with an argument"
    def __init__(self, w=1.):
        self.weight = w
    def forward(self, p, y): return self.weight*F.mse_loss(p, y)

class Noise(Callback):
    def __init__(self, std=.1): self._s = std
    def after_batch(self): self.last = self._s
def noise(f): return type('Noise', (Callback,), dict(after_batch=f))()

def closed(k): return lambda p, y: k*F.mse_loss(p, y)

def flipped(items): return tuple(torch.stack(o).flip(0) for o in zip(*items, strict=True))
def first(items): return tuple(torch.stack(o) for o in zip(*items, strict=True))

def mk_dl(ds=None, bs=4, **kwargs):
    if 'sampler' not in kwargs: kwargs.setdefault('shuffle', True)
    return DataLoader(TensorDataset(*rows()) if ds is None else ds, bs, **kwargs)

def mk_learn(model=mk_model, loss=F.mse_loss, opt=torch.optim.Adam, dl=mk_dl, cbs=list, cls=Learner, **kwargs):
    set_seed(0)
    return cls(DataLoaders(dl(), DataLoader(TensorDataset(*rows(8)), 4)), model(), loss, opt, lr=.01, cbs=cbs(), **kwargs)

def fit(folder=None, n=2, how='fit', accept=(), fit_args=None, setup=None, **kwargs):
    learn = mk_learn(**kwargs)
    with learn.no_logging(): getattr(learn, how)(n, **(dict(resume=folder, accept=accept) if folder else {}), **(fit_args or {}))
    return learn

def sampler(cls, **kwargs): return lambda: (lambda ds: mk_dl(ds, sampler=cls(ds, **kwargs)))(TensorDataset(*rows()))
def weighted(w): return lambda: mk_dl(sampler=WeightedRandomSampler(w, N))
def seeded(s): return lambda: mk_dl(generator=torch.Generator().manual_seed(s))
def adam(**kwargs): return partial(torch.optim.Adam, **kwargs)
def sgd(**kwargs): return partial(torch.optim.SGD, momentum=.9, **kwargs)
def cbs(*fs): return lambda: [f() for f in fs]
def every(n):
    @on(event.after_batch, every=n)
    def f(cb): cb.learn.n_seen = 1
    return lambda: [f]
def own_cls(f): return type('Own', (Learner,), dict(_do_one_batch=f))

# By the row of the table: pairs of what the run had, and what it has now (arguments of `fit`), and the name that the message has
CHANGES = {  # chkstyle: ignore-node
 'a layer, such as an activation':
    [(dict(model=mk_model), dict(model=partial(mk_model, nn.GELU)), 'model.layers.2'),
     (dict(model=mk_model), dict(model=lambda: nn.Sequential(*mk_model(), nn.Tanh())), 'model.layers.5'),
     (dict(model=lambda: nn.Sequential(nn.Linear(3, 1), nn.Dropout(.1))), dict(model=lambda: nn.Sequential(nn.Linear(3, 1), nn.AlphaDropout(.1))), 'model.layers.1')],
 "an argument of a layer: a dropout probability, BatchNorm's `momentum` or `eps`":
    [(dict(), dict(model=partial(mk_model, p=.2)), "model.layers.3 was 'Dropout(p=0.1, inplace=False)' and is 'Dropout(p=0.2, inplace=False)'"),
     (dict(), dict(model=partial(mk_model, momentum=.2)), 'model.layers.1'), (dict(), dict(model=partial(mk_model, eps=1e-3)), 'model.layers.1'),
     (dict(model=encoder), dict(model=partial(encoder, activation=F.gelu)), 'model.layers.1'), (dict(model=encoder), dict(model=partial(encoder, norm_first=True)), 'model.layers.1')],
 "the code of your own module, or a number or function that it holds":
    [(dict(model=named(Net)), dict(model=named(Twice)), 'model.code.'), (dict(model=Net), dict(model=partial(Net, .5)), 'model.layers.(model)'),
     (dict(model=Net), dict(model=partial(Net, act=F.gelu)), 'model.layers.(model)')],
 'another loss function':
    [(dict(), dict(loss=F.l1_loss), 'loss_func'), (dict(loss=nn.MSELoss()), dict(loss=nn.L1Loss()), 'loss_func'),
     (dict(loss=partial(F.mse_loss)), dict(loss=partial(F.l1_loss)), 'settings.loss')],
 "the code of your own loss function, or a number that it uses":
    [(dict(loss=lambda p, y: F.mse_loss(p, y)), dict(loss=lambda p, y: F.l1_loss(p, y)), 'settings.loss.code'),
     (dict(loss=lambda p, y: 2*F.mse_loss(p, y)), dict(loss=lambda p, y: 3*F.mse_loss(p, y)), 'settings.loss.code'),
     (dict(loss=closed(1)), dict(loss=closed(2)), 'settings.loss.holds.k was 1 and is 2')],
 "an argument of a loss module or of a `partial`":
    [(dict(loss=nn.SmoothL1Loss()), dict(loss=nn.SmoothL1Loss(beta=.5)), 'settings.loss.beta was 1.0 and is 0.5'), (dict(loss=Scaled()), dict(loss=Scaled(2.)), 'settings.loss.holds.weight'),
     (dict(loss=nn.MSELoss()), dict(loss=nn.MSELoss(reduction='sum')), 'settings.loss.reduction'),
     (dict(loss=partial(F.huber_loss, delta=1.)), dict(loss=partial(F.huber_loss, delta=2.)), 'settings.loss.delta')],
 "the optimizer's class, or a hyper-parameter":
    [(dict(), dict(opt=torch.optim.AdamW), 'optimizer'), (dict(), dict(opt=adam(weight_decay=.1)), 'wd'), (dict(), dict(fit_args=dict(lr=.5)), 'lr'), (dict(), dict(opt=adam(betas=(.8, .99))), 'mom')],
 "an option of the optimizer: `amsgrad`, `maximize`, `nesterov`":
    [(dict(), dict(opt=adam(amsgrad=True)), 'optimizer.amsgrad was False and is True'), (dict(), dict(opt=adam(maximize=True)), 'optimizer.maximize'), (dict(opt=sgd()), dict(opt=sgd(nesterov=True)), 'optimizer.nesterov')],
 "the sizes of the data, of batches, the number of workers, or the class of a sampler or data set":
    [(dict(), dict(dl=lambda: mk_dl(TensorDataset(*rows(20)))), 'items'), (dict(), dict(dl=lambda: mk_dl(bs=8)), 'batch_size'), (dict(), dict(dl=lambda: mk_dl(shuffle=False)), 'sampler'),
     (dict(), dict(dl=lambda: mk_dl(num_workers=1)), 'workers'), (dict(), dict(dl=lambda: mk_dl(Subset(TensorDataset(*rows(30)), range(N)))), 'dataset')],
 "the contents of the data set":
    [(dict(), dict(dl=lambda: mk_dl(TensorDataset(*rows(k=2)))), 'data.train.dataset.holds.tensors'), (dict(dl=lambda: mk_dl(Items())), dict(dl=lambda: mk_dl(Items(2.))), 'data.train.some_items'),
     (dict(dl=lambda: mk_dl([*zip(*rows(), strict=True)])), dict(dl=lambda: mk_dl([*zip(*rows(k=2), strict=True)])), 'data.train.some_items'),
     (dict(dl=lambda: [rows(4)]*3), dict(dl=lambda: [rows(4, 2)]*3), 'data.train.some_items')],
 "a function or an argument of a loader: `collate_fn`, `generator`, `replacement`, weights of a sampler":
    [(dict(), dict(dl=lambda: mk_dl(collate_fn=first)), 'data.train.collate_fn'), (dict(dl=lambda: mk_dl(collate_fn=first)), dict(dl=lambda: mk_dl(collate_fn=flipped)), 'data.train.collate_fn'),
     (dict(), dict(dl=seeded(1)), 'data.train.generator'), (dict(dl=seeded(1)), dict(dl=seeded(2)), 'data.train.generator'),
     (dict(dl=sampler(RandomSampler)), dict(dl=sampler(RandomSampler, replacement=True)), 'data.train.sampler.replacement'), (dict(dl=weighted(torch.ones(N))), dict(dl=weighted(torch.arange(N)+1.)), 'data.train.sampler')],
 "a callback that acts is added, or is missing":
    [(dict(), dict(cbs=cbs(EMA)), 'callbacks')],
 "the code of your own callback, or an argument of it":
    [(dict(cbs=lambda: [noise(lambda self: 1)]), dict(cbs=lambda: [noise(lambda self: 2)]), 'callbacks.noise.code'), (dict(cbs=cbs(Noise)), dict(cbs=cbs(partial(Noise, .2))), 'callbacks.noise.holds._s was 0.1 and is 0.2'),
     (dict(cbs=lambda: [Callback(after_batch=lambda cb: 1)]), dict(cbs=lambda: [Callback(after_batch=lambda cb: 2)]), 'callbacks.after_batch.after_batch.code'), (dict(cbs=every(2)), dict(cbs=every(3)), 'callbacks.f')],
 "an argument of learnloop's callbacks: a decay, a number of samples, a threshold, the mode of mixed precision":
    [(dict(cbs=cbs(partial(EMA, .9))), dict(cbs=cbs(partial(EMA, .5))), 'callbacks.ema.decay was 0.9 and is 0.5'), (dict(cbs=cbs(partial(GradientAccumulation, 8))), dict(cbs=cbs(partial(GradientAccumulation, 12))), 'callbacks.gradient_accumulation'),
     (dict(cbs=cbs(partial(GradientClip, 1.))), dict(cbs=cbs(partial(GradientClip, .1))), 'callbacks.gradient_clip'), (dict(cbs=cbs(partial(MixUp, .4))), dict(cbs=cbs(partial(MixUp, .2))), 'callbacks.mix_up.alpha'),
     (dict(cbs=cbs(partial(MixedPrecision, 'bf16'))), dict(cbs=cbs(partial(MixedPrecision, 'fp16'))), 'callbacks.mixed_precision')],
 "an argument of a schedule, such as `pct_start`":
    [(dict(how='fit_one_cycle'), dict(how='fit_one_cycle', fit_args=dict(pct_start=.5)), 'callbacks.fit_schedule.scheds'), (dict(how='fit_one_cycle'), dict(how='fit_one_cycle', fit_args=dict(div=10)), 'callbacks.fit_schedule.scheds')],
 "the code of your own learner": [(dict(cls=own_cls(lambda self: (Learner._do_one_batch(self), 1))), dict(cls=own_cls(lambda self: Learner._do_one_batch(self))), 'settings.learner.code')],
 "the version of torch, Python, NumPy or learnloop": [(dict(), dict(setup=('torch.__version__', '1.2.3')), 'versions.torch'), (dict(), dict(setup=('platform.python_version', lambda: '3.99.1')), 'versions.python'),
    (dict(), dict(setup=('learnloop.__version__', '0.0.1')), 'versions.learnloop')],
 "a logger, or another callback that declares `read_only`": [(dict(), dict(cbs=cbs(KeepWarnings, Tracer)), None)],
 "names of variables, comments and docstrings in your code":
    [(dict(loss=lambda p, y: F.mse_loss(p, y), model=named(Net)), dict(loss=lambda a, b: F.mse_loss(a, b), model=named(Renamed)), None)],
 "more epochs, if no schedule depends on their number": [(dict(n=1), dict(n=2), None)],
 "a setting of torch's numerics": [(dict(), dict(setup=('torch.get_float32_matmul_precision', lambda: 'medium')), 'numerics.matmul_precision')],
}

def table(nb):
    "Return the effects in the notebook's table, by what changed"
    cells = json.loads(Path(nb).read_text())['cells']
    text = next(o for o in (''.join(c['source']) for c in cells) if '| what changed |' in o)
    rows = [[o.strip() for o in line.strip('|').split('|')] for line in text.splitlines() if line.startswith('|')]
    return {k:how for k,how,*_ in rows[2:]}
TABLE = table(Path(__file__).parents[2]/'nbs/checkpoint/06_resume.ipynb')

def test_the_table_has_a_row_for_each_change():
    assert {*TABLE}=={*CHANGES} and {*TABLE.values()}=={'refused', 'warned', 'the same result'}

def outcome(folder, new, accept=()):
    "Resume from a copy of the folder; return the effect, the message and the learner"
    folder = shutil.copytree(folder, folder.parent/f'{folder.name}-{len([*folder.parent.iterdir()])}')
    with warnings.catch_warnings(record=True, action='always') as told:
        try: learn = fit(folder, accept=accept, **new)
        except ValueError as e: return 'refused',str(e),None
    told = [str(o.message) for o in told if 'differs from this one' in str(o.message)]
    assert len(told)<2
    return ('warned', told[0], learn) if told else ('the same result', '', learn)

@pytest.mark.parametrize('row,i', [(k, i) for k,cases in CHANGES.items() for i in range(0, len(cases), 1 if os.environ.get('ALL_CASES') else 4)])
def test_each_change_has_the_effect_that_the_table_gives(row, i, tmp_path, monkeypatch):
    old,new,name = CHANGES[row][i]
    fit(tmp_path/'run', **dict(dict(n=2 if 'how' in old else 1) | old))
    trained = len(list_checkpoints(tmp_path/'run'))
    if setup := new.get('setup'): monkeypatch.setattr(*setup)
    how,said,learn = outcome(tmp_path/'run', {k:v for k,v in new.items() if k!='setup'})
    assert how==TABLE[row] and (name or '') in said, said
    if how=='the same result': return check(dict(learn.model.state_dict()), dict(fit(**{k:v for k,v in old.items() if k!='n'}).model.state_dict()))
    assert 'accept=' in said
    if how=='refused': assert len(list_checkpoints(tmp_path/'run'))==trained
    if i and not os.environ.get('ALL_CASES'): return
    names = eval(re.search(r'accept=(\[.*?\])', said)[1])
    assert outcome(tmp_path/'run', {k:v for k,v in new.items() if k!='setup'}, names)[0]==('the same result')

@pytest.mark.parametrize('row', CHANGES)
def test_the_same_run_has_the_same_facts(row):
    for old,new,_ in CHANGES[row]:
        for kw in (old, new):
            kw = {k:v for k,v in kw.items() if k not in ('setup','n')}
            facts = [about_run(mk_learn(**{k:v for k,v in kw.items() if k not in ('how','fit_args')}))|dict(fresh=True) for _ in range(2)]
            assert facts[0]==facts[1] and not changed_facts(*facts)

# --- the same program describes itself in the same way

SCRIPT = """
    import itertools, json, random, sys, tempfile, threading, time, uuid
    from pathlib import Path
    import torch
    from torch import nn
    from torch.nn import functional as F
    from torch.utils.data import DataLoader, Dataset
    from learnloop import *
    from learnloop.measure.about import about_run
    T0,RUN_ID = time.time(),uuid.uuid4().hex
    class Thing: pass
    class Items(Dataset):
        def __init__(self):
            self.began,self.name,self.lock,self.names,self.tags = time.time(),uuid.uuid4().hex,threading.Lock,{'b', 'a', 'c'},frozenset('xyz')
            self.thing,self.f,self.folder,self.rng = Thing(),lambda x: x in {'left', 'right', 'up'},Path(tempfile.mkdtemp()),random.Random()
            self.count,self.thing.me,self.words = itertools.count(),self.thing,{f'{o}': 1 for o in {*map(str, range(99))}}
        def __len__(self): return 9
        def __getitem__(self, i): return torch.full((2,), i+self.rng.random()),torch.zeros(1)
    class Own(Callback):
        def __init__(self): self.t,self.tmp,self.made = time.perf_counter(),tempfile.mkdtemp(),Thing()
        def after_batch(self): return T0,RUN_ID,{'some', 'more', 'words'}
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.l,self.f,self.opts = nn.Linear(2, 1),F.relu,{'p', 'q', 'r'}
        def forward(self, x): return self.f(self.l(x)) if 'a' in {'a', 'b', 'c'} else x
        def extra_repr(self): return f'f={Thing()}'
    def main():
        t,ident,words = time.time(),uuid.uuid4().hex,{'d', 'e', 'f'}
        loss = lambda p, y: F.mse_loss(p, y)*(1 if t and ident and words else 2)
        return Learner((DataLoader(Items(), 2, shuffle=True), [(torch.ones(2, 2), torch.ones(2, 1))]), Net(), loss,
            cbs=[Own(), Callback('f', after_batch=lambda cb: print(t, ident))])
    facts = about_run(main())
    del facts['numerics']['seed'],facts['versions']  # which other imports would change
    Path(sys.argv[1]).write_text(json.dumps(facts))
"""

def test_two_processes_describe_the_same_program_alike(tmp_path):
    (tmp_path/'x.py').write_text(textwrap.dedent(SCRIPT))
    def run(name): return (tmp_path/name).read_text()
    other = '2' if os.environ.get('PYTHONHASHSEED')=='1' else '1'  # a hash seed that the fork hasn't
    subprocess.run([sys.executable, '-W', 'ignore', 'x.py', 'a'], cwd=tmp_path, timeout=120, check=True, env=os.environ | dict(PYTHONHASHSEED=other))
    assert as_script(tmp_path/'x.py', 'b').rc==0
    a,b = run('a'),run('b')
    assert json.loads(a)==json.loads(b) and ' at 0x' not in a
    facts = json.loads(a)
    assert facts['data']['train']['some_items']=='drawn at random' and facts['data']['train']['dataset.holds']['names']==['a', 'b', 'c']
    assert facts['settings']['loss.code'] and facts['model']['code']['Net'] and facts['callbacks']['own']['code']

# --- looking leaves no trace

class Rolls:
    "A transform with a generator of its own, as MONAI's have"
    def __init__(self): self.R = np.random.RandomState(3)
    def __call__(self, v): return v+self.R.rand()

class Drawn(Dataset):
    "Items with generators at all depths, a counter, and a file that is opened late"
    def __init__(self): self.ts,self.g,self.n,self.file = [Rolls(), {'r':Rolls()}],torch.Generator().manual_seed(5),0,None
    def __len__(self): return N
    def __getitem__(self, i):
        self.n += 1
        self.file = self.file or object()
        return torch.rand(2)+random.random()+self.ts[0](0)+self.ts[1]['r'](0)+torch.rand((), generator=self.g)+np.random.rand(),torch.zeros(1)  # noqa: NPY002

def test_describing_leaves_no_trace():
    def draws(looks):
        set_seed(1)
        ds = Drawn()
        learn = Learner((DataLoader(ds, 4, shuffle=True), None), nn.Linear(2, 1), F.mse_loss)
        for _ in range(looks): about_run(learn)
        assert ds.n==0 and ds.file is None
        return [x for x,_ in learn.dls.train]
    for a,b in zip(draws(0), draws(2), strict=True): assert torch.equal(a, b)

@pytest.mark.parametrize('dl', [lambda once: iter(once), lambda once: once, lambda once: DataLoader(once, 4), lambda once: DataLoader(Items(), 4, num_workers=1)],
    ids=['iterator', 'iterable', 'stream', 'workers'])
def test_a_loader_that_returns_each_item_once_is_not_read(dl, monkeypatch):
    read = []
    class Once(IterableDataset):
        def __iter__(self):
            for i in range(8):
                read.append(i)
                yield torch.zeros(3),torch.zeros(1)
    monkeypatch.setattr(Items, '__getitem__', lambda self, i: read.append(i))
    learn = Learner((dl(Once()), None), nn.Linear(3, 1), F.mse_loss)
    assert about_run(learn)['data']['train']['some_items'] is None and not read

# --- accepted, and old

def test_an_accepted_amsgrad_is_used(tmp_path):
    fit(tmp_path/'run', 1)
    learn = fit(tmp_path/'run', 2, opt=adam(amsgrad=True, maximize=True), accept=['optimizer'])
    assert all(g['amsgrad'] and g['maximize'] for g in learn.opt.param_groups)
    assert all('max_exp_avg_sq' in s for s in learn.opt.state.values())
    assert not fit(tmp_path/'run', 2, opt=adam(amsgrad=True), accept=True).opt.param_groups[0]['maximize']

def test_a_message_with_many_differences_is_short(tmp_path):
    def deep(p): return nn.Sequential(nn.Linear(3, 1), *[nn.Dropout(p) for _ in range(30)])
    fit(tmp_path/'run', 1, model=partial(deep, .1))
    said = outcome(tmp_path/'run', dict(model=partial(deep, .2)))[1]
    assert said.count(' was ')==11 and '… and 20 more' in said and "accept=['model.layers']" in said and len(said)<1500

def test_a_checkpoint_without_a_description_compares_its_other_facts(tmp_path, monkeypatch):
    with monkeypatch.context() as m:
        m.setattr('learnloop.checkpoint.state.Checkpointer.describe_run', lambda self: {})
        fit(tmp_path/'run', 1)
    assert outcome(tmp_path/'run', dict(model=partial(mk_model, p=.2)))[0]=='the same result'
    assert outcome(tmp_path/'run', dict(opt=torch.optim.AdamW))[0]=='refused'

def test_classes_that_refer_to_each_other_have_stable_digests(tmp_path):
    def classes(k):
        class A(Callback):
            def after_fit(self): return A,B,k
        class B(Callback):
            def after_fit(self): return A
        return A,B
    digests = [[code_digest(o) for o in classes(k)] for k in (1, 1, 2)]
    assert digests[0]==digests[1] and not {*digests[0]} & {*digests[2]}
    learn = synth_learner(cbs=[o() for o in classes(1)], path=tmp_path)
    learn.fit(1, cbs=CheckpointCallback(tmp_path))

class Strict:
    "Attributes as items, as configurations have them"
    def __getattr__(self, k): raise KeyError(k)
cyclic = [1.]
cyclic.append(cyclic)
ODD = dict(keys=Strict(), path='\udcff.png', cyclic=cyclic)
def scripted(): return torch.jit.script(nn.Linear(2, 2))
def nested(): return torch.nested.nested_tensor([torch.zeros(2), torch.zeros(3)])

@pytest.mark.filterwarnings('ignore:The PyTorch API of nested', 'ignore:.torch.jit', 'ignore:no signal')
@pytest.mark.parametrize('odd', [*ODD.values(), scripted, nested], ids=[*ODD, 'scripted', 'nested'])
def test_objects_that_are_hard_to_describe_do_not_stop_a_fit(odd, tmp_path):
    if odd in (scripted, nested): odd = odd()
    class Loss(nn.Module):
        def forward(self, p, y): return F.mse_loss(p, y)
    def mk():
        ds,loss = Items(),Loss()
        ds.odd = odd
        if not isinstance(odd, nn.Module): loss.odd = odd
        return Learner(DataLoader(ds, 4), nn.Linear(3, 1), loss, path=tmp_path)
    mk().fit(1, cbs=CheckpointCallback(tmp_path, every_steps=2))
    learn = mk()
    learn.fit(2, resume=tmp_path)
    assert learn.count.epochs==2

def test_callbacks_of_an_earlier_fit_resume_without_a_warning(tmp_path):
    n = []
    class Fails(Callback):
        def after_batch(self):
            n.append(1)
            if len(n)==7: raise OSError
    cbs = [CheckpointCallback(tmp_path, every_steps=1), Fails()]
    with pytest.raises(OSError): synth_learner().fit(2, cbs=cbs)
    learn = synth_learner()
    learn.fit(2, cbs=cbs, resume=tmp_path)
    assert learn.count.epochs==2
