"Replaying a step: it names the module that differs, and leaves no hooks"
import sys
import pytest, torch
from torch import nn
from torch.nn import functional as F
from helpers import Module
from learnloop import Callback, CheckpointCallback, Fingerprint, Learner, TrainEvalCallback, diff_runs, set_seed
from learnloop.app.cli import main
from learnloop.see.fingerprint import read_fingerprint
from learnloop.see.replay import diff_steps, record_step, replay_runs, run_checkpoints

class Twice(torch.autograd.Function):
    "The same, and twice the gradient"
    @staticmethod
    def forward(ctx, x, k):
        ctx.k = k
        return x.clone()
    @staticmethod
    def backward(ctx, g): return g*ctx.k,None

class Inner(Module):
    def __init__(self, forward=1., back=1.):
        self.lin,self.k,self.back = nn.Linear(6, 6),forward,back
    def forward(self, x): return Twice.apply(self.lin(x)*self.k, self.back)

class Block(Module):
    def __init__(self, **kwargs):
        self.norm,self.inner,self.drop = nn.BatchNorm1d(6),Inner(**kwargs),nn.Dropout(.2)
    def forward(self, x): return x+self.drop(self.inner(self.norm(x)))

def mk_learn(path='.', cbs=(), loss=F.mse_loss, n=12, data=1., **kwargs):
    set_seed(0)
    model = nn.Sequential(nn.Linear(3, 6), Block(), Block(**kwargs), nn.Linear(6, 2))
    batches = [(torch.randn(5, 3)*data, torch.randn(5, 2)) for _ in range(n)]
    return Learner((batches, batches[:2]), model, loss, path=path, cbs=[TrainEvalCallback(), *cbs], default_cbs=False)

def run(path, n_epoch=2, **kwargs):
    learn = mk_learn(path, [Fingerprint(), CheckpointCallback(path/'checkpoints', every_steps=5, keep=None)], **kwargs)
    learn.fit(n_epoch)
    return path

@pytest.fixture(scope='module')
def plain(tmp_path_factory): return run(tmp_path_factory.mktemp('plain'))

def test_a_replayed_step_has_the_loss_of_the_run(plain):
    rows = {o.step:o.loss_value for o in read_fingerprint(plain)}
    for n in (1, 6, 24): assert record_step(mk_learn(), n, plain/'checkpoints')['loss'].item()==rows[n]
    assert record_step(mk_learn(), 14, n_epoch=2)['loss'].item()==rows[14], 'without checkpoints, from the start'

@pytest.mark.parametrize('change, module, kind', [(dict(forward=1+1e-6), '2.inner', 'forward'), (dict(back=1+1e-6), '2.inner', 'backward'),
    (dict(loss=F.l1_loss), None, 'loss')])
def test_the_module_that_differs_is_named(change, module, kind, plain, tmp_path):
    a,b = plain,run(tmp_path/'b', **change)
    assert diff_runs(a, b).step==1 and diff_runs(a, b).kind==dict(forward='loss', backward='gradients', loss='loss')[kind]
    res = replay_runs(a, b, mk_learn, lambda: mk_learn(**change))
    assert (res.module, res.kind)==(module, kind) and not res.equal, str(res)
    if kind=='forward': assert 'ulps' in res.distance and [o[0] for o in res.rows]==['2.inner','2.drop','2','3','the model']

def test_steps_with_another_start_are_told_apart():
    a,b = record_step(mk_learn(), 1),record_step(mk_learn(data=2.), 1)
    assert 'a different batch' in str(diff_steps(a, b))
    learn = mk_learn()
    with torch.no_grad(): learn.model[2].inner.lin.bias[0] += 1
    res = diff_steps(a, record_step(learn, 1))
    assert (res.module, res.kind)==('2.inner.lin', 'weights') and 'in 1 of 12 tensors' in str(res)
    same = diff_steps(a, record_step(mk_learn(), 1))
    assert same.equal and 'the same, bit for bit' in str(same)
    with pytest.raises(ValueError, match='records of steps 1 and 2'): diff_steps(a, record_step(mk_learn(), 2))

def test_an_error_leaves_no_hooks():
    def fail(cb): raise RuntimeError('bad')
    learn = mk_learn(cbs=[Callback('fail', after_pred=fail)])
    with pytest.raises(RuntimeError, match='bad'): record_step(learn, 1)
    assert not any(m._forward_hooks for m in learn.model.modules())

def test_steps_that_are_not_there():
    with pytest.raises(ValueError, match='step'): record_step(mk_learn(), 0)
    with pytest.raises(ValueError, match='ended before batch 30'): record_step(mk_learn(), 30, n_epoch=1)

def test_run_checkpoints_finds_the_folder(plain):
    assert {run_checkpoints(o) for o in (plain, plain/'checkpoints', plain/'fingerprint.bin')}=={plain/'checkpoints'}
    assert run_checkpoints(plain/'none') is None
    with pytest.raises(ValueError, match='are equal'): replay_runs(plain, plain, mk_learn)

def test_the_command(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, 'makers', type(sys)('makers'))
    sys.modules['makers'].old,sys.modules['makers'].new = mk_learn,lambda: mk_learn(forward=1+1e-6)
    run(tmp_path/'a')
    run(tmp_path/'b', forward=1+1e-6)
    with pytest.raises(SystemExit) as e: main(['diff', 'a', 'b', '--replay', 'makers:old', 'makers:new'])
    assert e.value.code==1 and "whose outputs don't is 2.inner (Inner)" in capsys.readouterr().out
    main(['diff', 'a', '--replay', 'makers:old', '--step', '7', '--record', 'step.pt'])
    assert 'Step 7 of a: step.pt' in capsys.readouterr().out
    main(['diff', 'a', '--replay', 'makers:old', '--against', 'step.pt'])
    assert 'Step 7 is the same' in capsys.readouterr().out
    with pytest.raises(SystemExit): main(['diff', 'b', '--replay', 'makers:new', '--against', 'step.pt'])
    assert 'begins with other weights' in capsys.readouterr().out
    for args,why in ((['a'], 'give two runs'), (['a', '--record', 'x'], 'give --replay'), (['a', '--replay', 'makers:old', '--record', 'x'], 'give --step'),
        (['a', 'b', '--replay', 'makers'], 'must be module:function'), (['a', 'b', '--replay', 'makers:none'], "no function 'none'")):
        with pytest.raises(SystemExit) as e: main(['diff', *args])
        assert e.value.code==1 and why in capsys.readouterr().err
