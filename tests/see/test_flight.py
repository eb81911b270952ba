"A `FlightRecorder` keeps the last steps, also of an interrupted or killed fit, and names the rows that broke it"
import math
import pytest, torch
from helpers import Boom, silent
from learnloop import (Alternate, Callback, DataLoaders, FlightRecorder, GradientAccumulation, GradientClip, Learner, MicroBatch, TerminateOnNaNCallback, Zip,
    set_seed)
from learnloop.app.cli import main
from learnloop.see import flight
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

g = torch.Generator().manual_seed(0)
X = torch.randn(60, 5, generator=g)
Y = torch.randint(3, (60,), generator=g)

def mk_learner(path, loss=F.cross_entropy, data=None, n_out=3, cbs=(), **kwargs):
    set_seed(0)
    dl = DataLoader(TensorDataset(X, Y) if data is None else data, 8, shuffle=True, **kwargs) if not hasattr(data, '__iter__') else data
    return silent(Learner(DataLoaders(dl, device='cpu'), nn.Linear(5, n_out), loss, torch.optim.SGD, lr=.1, path=path, cbs=[*cbs]))
def fit(learn, n=2, cbs=(), **kwargs):
    with learn.no_bar(): learn.fit(n, cbs=[*cbs, FlightRecorder()], **kwargs)
    return learn
def records(path): return [r for *_,f in flight._files(path/'flight') for r in flight._read(f)]
def plain(rs): return [(*r[:7], None if r.losses is None else r.losses.tolist()) for r in rs]

@pytest.mark.parametrize('kind', ['plain','micro','clip','accumulate','unreduced'])
def test_records_have_the_tensors_of_steps(kind, tmp_path):
    cbs = dict(micro=[MicroBatch(3)], clip=[GradientClip(.01)], accumulate=[GradientAccumulation(n_batches=2)]).get(kind, [])
    loss = nn.CrossEntropyLoss(label_smoothing=.1, reduction='none' if kind=='unreduced' else 'mean')
    each,want,norms = nn.CrossEntropyLoss(label_smoothing=.1, reduction='none'),[],[]
    def mean(cb): cb.learn.loss_grad = cb.learn.loss_grad.mean()
    def step(cb): norms.append(math.sqrt(sum(float(p.grad.square().sum()) for p in cb.learn.model.parameters())))
    see = Callback('see', before_step=step)
    see.order = 10.4  # before gradients are clipped
    def see_batch(cb):
        learn = cb.learn
        want.append((learn.count.batches+1, learn.rows, each(learn.model(learn.x), learn.y).tolist(), learn.opt.param_groups[0]['lr']))
    cbs = [*cbs, see, Callback('see_batch', before_batch=see_batch), *([Callback('mean', after_loss=mean)] if kind=='unreduced' else [])]
    fit(mk_learner(tmp_path, loss), cbs=cbs)
    got = records(tmp_path)
    assert [(r.step, r.rows, r.lr) for r in got]==[(n, rows, lr) for n,rows,_,lr in want] and len(got)==16
    for r,(_,_,losses,_) in zip(got, want, strict=True):
        torch.testing.assert_close(torch.tensor(r.losses), torch.tensor(losses))
        assert r.loss==pytest.approx(sum(losses)/len(losses)) and r.denominator==len(losses)
    assert [r.grad_norm for r in got if r.grad_norm is not None]==pytest.approx(norms)

@pytest.mark.every(2)
@pytest.mark.parametrize('at', [1, 7, 8, 13])
def test_a_resumed_fit_keeps_what_an_uninterrupted_one_does(at, tmp_path):
    fit(mk_learner(tmp_path/'whole'))
    now = [at]
    def stop(cb):
        if [cb.learn.count.batches]==now: raise Boom
    for _ in range(2):
        learn = mk_learner(tmp_path/'parts', cbs=[Callback('stop', before_fetch=stop)])
        try: fit(learn, resume=tmp_path/'parts/run')
        except Boom: now[0] = None
    assert plain(records(tmp_path/'parts'))==plain(records(tmp_path/'whole'))

def test_the_oldest_steps_go(tmp_path, monkeypatch):
    monkeypatch.setattr(FlightRecorder, 'patience', -1.)
    learn = mk_learner(tmp_path)
    with learn.no_bar(): learn.fit(40, cbs=FlightRecorder(max_mb=.01))
    files,steps = flight._files(tmp_path/'flight'),[r.step for r in records(tmp_path)]
    assert sum(f.stat().st_size for *_,f in files)<.01*2**20+1000 and steps==[*range(steps[0], 321)] and steps[0]>200

def test_another_fit_starts_over(tmp_path):
    for _ in range(2): fit(mk_learner(tmp_path), 1)
    assert [r.step for r in records(tmp_path)]==[*range(1, 9)]

def spoilt(v):
    x = X.clone()
    x[33] = v
    return TensorDataset(x, Y)

@pytest.mark.parametrize('cbs', [(), (TerminateOnNaNCallback,)])
def test_the_row_that_made_it_nan(cbs, tmp_path, recwarn):
    learn = fit(mk_learner(tmp_path, data=spoilt(math.nan)), cbs=[o() for o in cbs])
    assert learn.blame(40).rows[0]==33 and math.isnan(learn.blame(1).losses[0])

def test_the_row_that_broke_the_weights(tmp_path):
    learn = fit(mk_learner(tmp_path, data=spoilt(1e5)), 3)  # which makes all losses large from then on
    first = next(r.step for r in records(tmp_path) if 33 in r.rows)
    assert 33 in learn.blame(2).rows and learn.blame(1, step=first).rows==[33]
    with pytest.raises(ValueError, match='step=99: 1 to 24 are kept'): learn.blame(step=99)

def test_an_error_names_its_batch(tmp_path):
    y = Y.clone()
    y[20] = 7  # no such class
    with pytest.raises(IndexError): fit(mk_learner(tmp_path, data=TensorDataset(X, y)))
    assert 20 in records(tmp_path)[-1].rows and records(tmp_path)[-1].loss is None

@pytest.mark.parametrize('how', ['zip', 'alternate', 'stream'])
def test_rows_of_several_loaders(how, tmp_path):
    def dl(): return DataLoader(TensorDataset(X, Y), 8, shuffle=True)
    if how=='zip': data = Zip(dl(), dl(), n_inp=1)
    elif how=='alternate': data = Alternate(a=dl(), b=dl())
    else: data = [(X[:8], Y[:8])]
    class Both(nn.Linear):
        def forward(self, x, *_): return super().forward(x)
    learn = mk_learner(tmp_path, lambda pred, y, *_: F.cross_entropy(pred, y), data)
    learn.model = Both(5, 3)
    fit(learn, 1)
    got = records(tmp_path)
    assert {r.source for r in got}==dict(zip={'0','1'}, alternate={'a','b'}, stream={None})[how]
    if how=='stream': assert got[0].rows is None and len(learn.blame())==0
    else: assert learn.blame(5).show_results().rows[0][0]=='item'

def test_the_command(tmp_path, capsys, monkeypatch):
    learn = fit(mk_learner(tmp_path, data=spoilt(1e5)))
    main(['blame', str(tmp_path), '-n', '3'])
    out = capsys.readouterr().out
    assert out.split()[:3]==['row','loss','step'] and '33' in out.split() and out.count('\n')==4
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path/'made_here.py').write_text('def mk(): return learn')
    import made_here
    made_here.learn = learn
    main(['blame', str(tmp_path), '--step', '3', '--learner', 'made_here:mk'])
    assert 'prediction' in capsys.readouterr().out
    with pytest.raises(SystemExit): main(['blame', str(tmp_path/'flight'/'no')])
    assert 'blame' in capsys.readouterr().err
@pytest.mark.parametrize('v', [0, -1])
def test_it_needs_room(v):
    with pytest.raises(ValueError, match=f'max_mb is {v}'): FlightRecorder(v)
