"A run that stops inside an accumulation window resumes there with any number of processes"
import os, shutil, warnings
import torch
from helpers import Module
from learnloop import EMA, Callback, CheckpointCallback, DataLoaders, GradientAccumulation, GradientClip
from runs import TOL, Line, differ, mk_learner, weights
from together import ALL, together
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, IterableDataset

STOPS = range(1, 7) # batches after which runs stop, of the 6 of an epoch

# ---- state that differs between processes: gradients in a window, buffers, state of the loss function and of a callback

class Adaptive(Module):
    "Scales its input by a persistent and another running mean, with batch norm and dropout"
    def __init__(self):
        self.register_buffer('mean', torch.zeros(5))
        self.register_buffer('size', torch.zeros(5), persistent=False)
        self.layers = nn.Sequential(nn.Linear(5, 8), nn.BatchNorm1d(8), nn.Dropout(.3), nn.Linear(8, 1))
    def forward(self, x):
        y = self.layers(x*(1+self.mean)*(1+self.size))
        if self.training:
            self.mean.lerp_(x.detach().mean(0), .5)
            self.size.lerp_(x.detach().abs().mean(0), .5)
        return y

class Scaled(Module):
    "A loss with a parameter, unknown to torch's wrappers"
    def __init__(self):
        self.k = nn.Parameter(torch.ones(()))
    def forward(self, p, y): return F.mse_loss(p*self.k, y) + .1*(self.k-2)**2

class Worst(Scaled):
    "The same, divided by the largest error so far"
    def __init__(self):
        super().__init__()
        self.register_buffer('most', torch.zeros(()))
    def forward(self, p, y):
        if p.requires_grad: self.most.copy_(torch.maximum(self.most, (p-y).abs().max().detach()))
        return super().forward(p, y)/(1+self.most)

class Branches(Module):
    "Uses the second branch in every third batch"
    def __init__(self):
        self.a,self.b,self.n = nn.Linear(5, 1),nn.Linear(5, 1),nn.Buffer(torch.zeros((), dtype=torch.long))
    def forward(self, x):
        y = self.a(x)
        if not self.training: return y
        self.n += 1
        return y+self.b(x) if self.n%3==1 else y

class Wobble(Callback):
    "Scales the loss by state of this process"
    run_valid = False
    seen = 0.
    def after_loss(self):
        self.seen += self.learn.xb[0].abs().sum().item()
        self.learn.loss_grad = self.learn.loss_grad*(1+self.seen%1)
    def state_dict(self): return super().state_dict() | dict(seen=self.seen)
    def load_state_dict(self, sd): self.seen = sd.get('seen', 0.)

class Endless(IterableDataset):
    "A stream without a length"
    def __iter__(self):
        ds = Line(45, 0, torch.float32)
        yield from (ds[i] for i in range(len(ds)))

def stream_dls(): return DataLoaders(DataLoader(Endless(), 8), DataLoader(Line(13, 1, torch.float32), 8))

def windows(n): return lambda: [GradientAccumulation(n_batches=n), GradientClip(.5), EMA(.8)]
def items(): return [GradientAccumulation(20), EMA(.8)]
adam = dict(opt=torch.optim.AdamW, lr=.02)
SETUPS = dict(batches=dict(cbs=windows(4)), items=dict(cbs=items, loss=Scaled) | adam, stream=dict(cbs=windows(9), dls=stream_dls),
    branches=dict(cbs=windows(3), model=Branches, wrap=dict(find_unused_parameters=True)),
    own=dict(cbs=lambda: [*windows(4)(), Wobble()], model=Adaptive, loss=Worst))
# Where runs stop; the window of `items` has 3 batches, and that of `own` has 4
AT = dict(batches=2, items=2, stream=1, branches=3, own=2)
CASES = {('ddp', nm):STOPS if ALL else (k,) for nm,k in AT.items()} | {('fsdp', 'items'):(2,), ('sharded', 'items'):(1,)}
if ALL: CASES['fsdp', 'own'] = 3,
NEAR = [(how, nm) for how,nm in CASES if nm!='own'] # results of `own` depend on the number of processes

class Stopped(Exception): in_all = True # all processes raise it

class Stop(Callback):
    "Ends the fit after `n` batches"
    read_only = rank_invariant = True
    def __init__(self, n): self.n = n
    def between_batches(self):
        if self.learn.count.batches==self.n: raise Stopped

def fit(how, nm, folder=None, stop=None, keep_failed=False):
    """Return the weights of model and loss after an epoch, and warnings of differences

    A fit that is stopped resumes in this process, unless it has a folder: then no weights are returned"""
    kw = dict(SETUPS[nm])
    cbs,wrap,loss = kw.pop('cbs')(),kw.pop('wrap', {}),kw.pop('loss', lambda: F.mse_loss)()
    learn = mk_learner(cbs, loss=loss, **kw)
    if how=='sharded': learn.to_fsdp(sharded_files=True)
    elif how: getattr(learn, f'to_{how}')(**wrap)
    saver = [CheckpointCallback(folder, every_epochs=9)] if folder else []
    with learn.no_logging(), warnings.catch_warnings(record=True, action='always') as ws:
        try: learn.fit(1, cbs=[*saver, last := Stop(stop)], resume=folder, keep_failed=keep_failed)
        except Stopped:
            if folder: return None,[]
            last.n = None
            learn.resume()
    modules = [learn.model, *([loss] if isinstance(loss, nn.Module) else [])]
    return [w for m in modules for w in weights(m)],[str(w.message) for w in ws if 'not exact' in str(w.message)]

def each_stop(root, cases=CASES):
    "Return results of whole runs, and of ones that stop and resume with as many processes, from a folder and in memory"
    res = {}
    for (how,nm),stops in cases.items():
        at = root/f'{how} {nm}'
        whole,_ = fit(how, nm)
        for k in stops:
            fit(how, nm, at/'run', k)
            if os.environ['RANK']=='0': shutil.copytree(at/'run', at/f'{k}')
        in_memory = [fit(how, nm, stop=2), fit(how, nm, stop=5, keep_failed=True)] if nm in ('items', 'own') else []
        res[how,nm] = whole,fit(how, nm, at/'run'),*in_memory
    return res

def resumed(root, stops, alone=False):
    "Return results of runs that resume where others stopped"
    return {(how,nm):[fit(None if alone else how, nm, root/f'{how} {nm}'/f'{k}')[0] for k in CASES[how,nm] if k in stops] for how,nm in NEAR}

def by_three(root): return resumed(root, (1, 3)),each_stop(root/'again', {('fsdp', 'items'):(2,)})

def check_exact(ranks):
    for case in ranks[0]:
        for whole,*ends in (r[case] for r in ranks):
            for got,said in ends: assert all(map(torch.equal, whole, got)) and not said, (case, differ(whole, got), said)

def test_a_run_stopped_inside_a_window_resumes_exactly(tmp_path):
    "Bit for bit with the same number of processes, and within rounding with another number"
    two = together(each_stop, tmp_path/'two')
    check_exact(two)
    for at in ('one', 'three'): shutil.copytree(tmp_path/'two', tmp_path/at)
    three = together(by_three, tmp_path/'three', n=3)
    check_exact([again for _,again in three])
    for got in (resumed(tmp_path/'one', STOPS, alone=True), *(o for o,_ in three)):
        far = {case:far for case,every in got.items() if every and max(far := [differ(two[0][case][0], o) for o in every])>TOL}
        assert not far, far
    _,said = fit(None, 'own', tmp_path/'one'/'ddp own'/'2')
    assert said==['not exact: the run had 2 processes and has one process: random numbers in the model differ; the first process decides the state of '
        'buffers of the model, buffers of the loss function, Wobble; the batches and their order are the same']
