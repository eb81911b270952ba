"Fingerprints: which changes the hashes detect, the file, and unchanged training"
import errno, random
from functools import partial
import pytest, torch
from torch import Tensor, nn
from torch.nn import functional as F
from learnloop import Callback, CheckpointCallback, Fingerprint, Learner, TrainEvalCallback, diff_runs, event, on, set_seed
from learnloop.see import fingerprint as fp, hashes
from learnloop.see.fingerprint import about_run, read_fingerprint
from learnloop.see.hashes import tensor_hash

def mk_learn(path='.', cbs=(), n=24, model=None, opt=torch.optim.AdamW, **kwargs):
    set_seed(0)
    model = model() if model else nn.Sequential(nn.Linear(3, 6), nn.BatchNorm1d(6), nn.Dropout(.3), nn.Linear(6, 2))
    batches = [(torch.randn(5, 3), torch.randn(5, 2)) for _ in range(n)]
    return Learner((batches, batches[:2]), model, F.mse_loss, opt_func=opt, path=path, cbs=[TrainEvalCallback(), *cbs], default_cbs=False, **kwargs)

def weights(learn): return [o.clone() for o in learn.model.state_dict().values()]
def same(a, b): return all(map(torch.equal, a, b))

# ---- hashes

BIG = 3*hashes._WIDTH+17, hashes._LARGE+5

@pytest.mark.parametrize('dtype', [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.complex64, torch.complex128, torch.int64,
    torch.int32, torch.uint8, torch.bool], ids=str)
@pytest.mark.parametrize('n', [1, 2, 31, *BIG])
def test_any_change_of_any_element_is_seen(dtype, n):
    r = random.Random(n)
    x = (torch.randn(n)*40).to(dtype) if dtype!=torch.bool else torch.rand(n)>.5
    own = tensor_hash(x)
    flat = (torch.view_as_real(x) if x.is_complex() else x).reshape(-1)
    raw = flat.view(torch.uint8)
    for _ in range(12):
        i,bit = r.randrange(len(raw)),0 if dtype==torch.bool else r.randrange(8)
        raw[i] ^= 1 << bit
        h = tensor_hash(x)
        raw[i] ^= 1 << bit
        assert h!=own
    assert tensor_hash(x)==own

def test_shapes_types_and_places_among_others_count():
    x,y = torch.arange(6.),torch.arange(6.)+1
    res = [tensor_hash(o) for o in (x, x.view(2, 3), x.view(3, 2), x.int(), torch.empty(0), torch.empty(0, 2), torch.tensor(0.))]
    assert len({*res})==len(res)
    assert tensor_hash(x, y)!=tensor_hash(y, x) and tensor_hash(x, x)!=tensor_hash(x)

@pytest.mark.parametrize('n', [6, *BIG])
def test_how_it_lies_in_memory_doesnt_count(n):
    x = torch.randn(n, 2)
    views = [x.t().contiguous().t(), torch.cat([x, x], 1)[:, :2], nn.Parameter(x), x.clone().requires_grad_()*1]
    assert {tensor_hash(o) for o in views}=={tensor_hash(x)}
    img = torch.randn(2, 3, 4, 4)
    assert tensor_hash(img.to(memory_format=torch.channels_last))==tensor_hash(img)
    z = torch.randn(n, dtype=torch.complex64)
    assert tensor_hash(z.conj())==tensor_hash(z.conj().resolve_conj())!=tensor_hash(z)

@pytest.mark.filterwarnings('ignore:Sparse CSR')
def test_unusual_tensors():
    x = torch.eye(3)
    assert tensor_hash(x.to_sparse())==tensor_hash(x.to_sparse())!=tensor_hash(2*x.to_sparse())
    assert tensor_hash(x.to_sparse_csr())!=tensor_hash(2*x.to_sparse_csr())
    class Own(Tensor): pass
    assert tensor_hash(x.as_subclass(Own))==tensor_hash(x)
    x8 = x.to(torch.float8_e4m3fn)
    assert tensor_hash(x8)!=tensor_hash((2*x).to(torch.float8_e4m3fn))

@pytest.mark.parametrize('n', [1, 16, 17, 40_000])
def test_sums_of_bytes_are_exact_however_they_are_multiplied(n, monkeypatch):
    "Extremes too: floats have each whole number up to 2**24, in any order and under autocast"
    dev = torch.device('cpu')
    rows = torch.randint(-128, 128, (n, hashes._LINE), dtype=torch.int8)
    rows[0] = torch.where(hashes._factors(dev)[:, 0]>0, 127, -128)
    want = hashes._products(rows)
    i = n//2
    assert want[i].tolist()==[sum(a*b for a,b in zip(rows[i].tolist(), col, strict=True)) for col in hashes._factors(dev).T.tolist()]
    monkeypatch.setattr('torch.backends.mkldnn.is_available', lambda: False)
    with torch.autocast('cpu', torch.bfloat16): assert torch.equal(hashes._products(rows), want)
    assert want.dtype is torch.int32 and want.abs().max()<2**24

def test_factors_are_odd_and_many():
    f = hashes._factors(torch.device('cpu'))
    assert (f%2!=0).all() and f.min()==-127 and f.max()==127 and len({*map(tuple, f.tolist())})==hashes._LINE

# ---- training is the same

def test_a_fused_step_stays_fused_and_has_no_gradients(tmp_path):
    def fit(path, cbs):
        learn = mk_learn(path, cbs, model=partial(nn.Linear, 3, 2), opt=torch.optim.SGD)
        learn.fuse(backend='aten', check_every=None)
        learn.fit(1)
        return learn
    plain,looked = fit(tmp_path, []),fit(tmp_path/'a', [Fingerprint(detail=5)])
    assert plain.fuse_report().fused==looked.fuse_report().fused
    assert same(weights(plain), weights(looked))
    rows = [*read_fingerprint(tmp_path/'a')]
    fused = [bool(o.flags & fp.FUSED) for o in rows]
    assert sum(fused)==plain.fuse_report().fused['whole']==23 and all((o.gradients==bytes(6))==f for o,f in zip(rows, fused, strict=True))
    mk_learn(tmp_path/'b', [Fingerprint(detail=5)], model=partial(nn.Linear, 3, 2), opt=torch.optim.SGD).fit(1)
    near = diff_runs(tmp_path/'a', tmp_path/'b', tol=1e-5)
    assert near.equal

# ---- what is written

def test_rows_and_details(tmp_path):
    losses = []
    learn = mk_learn(tmp_path, [Fingerprint(detail=10), Callback('note', after_loss=lambda cb: losses.append(cb.learn.loss.item()))])
    learn.dls.valid = None
    learn.fit(2)
    there = read_fingerprint(tmp_path)
    assert [(o.step, o.epoch) for o in there]==[(i+1, i//24) for i in range(48)] and there.lost==0
    assert there.when()==[(1, False), *[(i, True) for i in (10, 20, 30, 40, 48)]]
    assert not any(o.flags for o in there) and all(o.gradients!=bytes(6) for o in there)
    norm = sum((p.detach()**2).sum() for p in learn.model.parameters())**.5
    assert there.row(-1).weight_norm==pytest.approx(norm.item(), rel=1e-5) and [o.loss_value for o in there]==losses
    names = [k for k in there.detail(1)[2]]
    assert names[0]==('gradients', '0.weight') and ('buffers', '1.running_mean') in names and ('optimizer state', 'exp_avg of 3.bias') in names

def test_it_says_when_weights_were_changed_between_steps(tmp_path):
    @on(event.before_batch, once=7)
    def change(cb):
        with torch.no_grad(): cb.model[0].weight.add_(1)
    mk_learn(tmp_path, [change, Fingerprint()]).fit(1)
    assert sorted(read_fingerprint(tmp_path).before)==[1, 7]

@pytest.mark.parametrize('data', ['scaled', 'one', 'zeros', 'swapped'])
@pytest.mark.parametrize('dtype', [torch.float32, torch.float64, torch.bfloat16], ids=str)
def test_an_edit_without_a_version_is_seen_before_the_forward_pass(data, dtype, tmp_path):
    edits = dict(scaled=lambda d: d.mul_(2), one=lambda d: d[1, 1:2].neg_(), zeros=lambda d: d.zero_(),
        swapped=lambda d: d.copy_(d.flip(0).clone()))
    def train(path, edit):
        torch.manual_seed(3)
        model = nn.Sequential(nn.Linear(3, 5), nn.Linear(5, 1)).to(dtype)
        @on(event.before_batch, once=5)
        def change(cb): edit(model[0].weight.data)
        batches = [(torch.randn(4, 3).to(dtype), torch.randn(4, 1).to(dtype)) for _ in range(8)]
        Learner(batches, model, F.mse_loss, path=path, cbs=[TrainEvalCallback(), change, Fingerprint()], default_cbs=False).fit(1)
        return [o.sums for o in read_fingerprint(path)]
    a,b = train(tmp_path/'a', lambda d: None),train(tmp_path/'b', edits[data])
    assert a[:4]==b[:4] and a[4][0]!=b[4][0] and a[4][1]==b[4][1]

def test_a_wrapped_model_has_the_names_of_the_plain_one(tmp_path):
    def wrapped(): return nn.DataParallel(nn.Sequential(nn.Linear(3, 6), nn.BatchNorm1d(6), nn.Dropout(.3), nn.Linear(6, 2)))
    mk_learn(tmp_path/'a', [Fingerprint()], n=3).fit(1)
    mk_learn(tmp_path/'b', [Fingerprint()], n=3, model=wrapped).fit(1)
    res = diff_runs(tmp_path/'a', tmp_path/'b')
    assert res.equal and 'model.class' in res.settings

def test_only_the_first_process_writes(monkeypatch, tmp_path):
    monkeypatch.setenv('RANK', '1')
    mk_learn(tmp_path, [Fingerprint()]).fit(1)
    assert not list(tmp_path.iterdir())

def test_another_file_is_not_overwritten(tmp_path):
    learn = mk_learn(tmp_path)
    learn.fit(1)
    (tmp_path/'fingerprint.bin').write_bytes(b'something else')
    with pytest.raises(ValueError, match='not a file of a Fingerprint'): learn.fit(1, cbs=Fingerprint())

def test_a_full_disk_stops_no_training(tmp_path, monkeypatch):
    real,full = fp.put_at,[True]
    def put_at(*args):
        if full[0]: raise OSError(errno.ENOSPC, 'No space left on device')
        return real(*args)
    monkeypatch.setattr(fp, 'put_at', put_at)
    @on(event.before_batch, once=15)
    def free(cb): full[0] = False
    with pytest.warns(UserWarning, match='gap, but training continues') as w: mk_learn(tmp_path, [free, Fingerprint(detail=5)]).fit(1)
    assert len(w)==1 and [o.step for o in read_fingerprint(tmp_path)]==[*range(1, 25)], 'what could not be written is tried again'

# ---- resuming

def runs(path, k=None, n_epoch=3):
    "A run that is interrupted at batch `k`, then goes on, or not"
    def stop(cb):
        if cb.learn.count.batches+1==k: raise KeyboardInterrupt
    def cbs(stops): return [Fingerprint(detail=7), *([Callback('stop', before_step=stop)] if stops else [])]
    saver = CheckpointCallback(path/'c', every_steps=10)
    if k is None: return mk_learn(path, [*cbs(False), saver]).fit(n_epoch)
    with pytest.raises(KeyboardInterrupt): mk_learn(path, [*cbs(True), saver]).fit(n_epoch)
    def never(cb): pass
    learn = mk_learn(path, [Fingerprint(detail=7), Callback('stop', before_step=never)])
    learn.fit(n_epoch, resume=path/'c')

@pytest.mark.every(2, 1)
@pytest.mark.parametrize('k', [11, 33])
def test_a_resumed_run_has_the_rows_of_an_uninterrupted_one(k, tmp_path):
    runs(tmp_path/'a')
    runs(tmp_path/'b', k)
    a,b = (read_fingerprint(tmp_path/o) for o in 'ab')
    assert a.data==b.data and a.before==b.before and a.when()[:-1]==b.when()[:-1]
    res = diff_runs(tmp_path/'a', tmp_path/'b')
    assert res.equal and len(a)==72

# ---- what the run is

def test_asking_for_the_first_items_draws_nothing():
    class Augmented:
        def __len__(self): return 10
        def __getitem__(self, i): return torch.rand(2)+random.random()
    ds = Augmented()
    dl = torch.utils.data.DataLoader(ds, 2, shuffle=True)
    set_seed(3)
    learn = Learner(dl, nn.Linear(2, 2), lambda p: p.sum(), default_cbs=False)
    learn.create_opt()
    a = torch.get_rng_state(),random.getstate()
    first = about_run(learn)['data']
    assert torch.equal(a[0], torch.get_rng_state()) and a[1]==random.getstate() and first==about_run(learn)['data']
