"After a rewind, the state and files of each callback of the package, and the weights, equal those of a fit without it"
import hashlib, pytest, shutil, torch
from fastcore.basics import noop
from torch import nn
from torch.nn import functional as F
from helpers import LR, batches
from test_contract import CALLBACKS, make  # noqa: F401 chkstyle: ignore
from learnloop import Callback, DataLoaders, Learner, Place, SaveModelCallback, Snapshots, TimeLimit
from learnloop.see.flight import _read

def fit(mk_cb, folder, back):
    torch.manual_seed(42)
    model = nn.Sequential(nn.Linear(2, 4), nn.Dropout(.2), nn.Linear(4, 1))
    learn = Learner(DataLoaders(batches(3), batches(2, seed=1)), model, F.mse_loss, lr=LR, metrics=[F.l1_loss], path=folder)
    learn.logger = noop
    backs = {1:Place(0, 'train', 1), 2:Place(2)}
    def go(cb):
        if to := backs.pop(cb.learn.epoch, None): cb.learn.rewind(to=to)
    cb,late = mk_cb(),Callback('back', after_batch=go)
    late.order = 99
    learn.remove_cb(type(cb)).add_cb(cb)
    learn.fit(3, cbs=[Snapshots(1, keep=99), *[late]*back])
    assert (not backs)==back
    return learn,cb

# These end the fit before the rewind, or their files show the abandoned stretch, which `test_attempts` tests
LEFT_OUT = {'FastDevRun', 'LRFinder', 'StepLimit', 'Snapshots', 'Logger', 'CSVLogger', 'JSONLogger', 'Fingerprint', 'TensorBoardCallback', 'WandbCallback', 'MLflowCallback',
    'CheckpointCallback'}
TIMED = {'Throughput', 'TimeLimit', 'Skorch', 'Transformers'}  # whose state has seconds

def plain(o, timed):
    "`o` as plain data, without its numbers if some are times"
    if isinstance(o, dict): return {k:plain(v, timed) for k,v in o.items()}
    if isinstance(o, list|tuple): return [plain(v, timed) for v in o]
    if isinstance(o, float|int) and timed: return 0
    return o.tolist() if isinstance(o, torch.Tensor) else o

def left_by(learn, cb, folder):
    rec = getattr(learn, 'recorder', None)
    files = {str(p.relative_to(folder)):hashlib.blake2b(p.read_bytes()).hexdigest() for p in sorted(folder.rglob('*')) if p.is_file() and p.suffix!='.bin'}
    flight = {'flight':repr([o for p in folder.rglob('*.bin') for o in _read(p)])}  # its blocks may be others
    res = dict(model=learn.model.state_dict(), opt=learn.opt.state_dict(), count=vars(learn.count), losses=rec and rec.losses)
    return plain(res, False) | plain(dict(state=cb.state_dict(), values=rec and rec.values), type(cb).__name__ in TIMED) | files | flight

@pytest.mark.every(5)
@pytest.mark.filterwarnings('ignore:SaveModelCallback. the fit went back')
@pytest.mark.parametrize('make', [o for o in CALLBACKS if o.__name__ not in LEFT_OUT], indirect=True, ids=lambda o: o.__name__)
def test_a_callback_ends_as_without_the_rewind(make, tmp_path):  # noqa: F811
    got = []
    for back in (False, True):
        (folder := tmp_path/'run').mkdir()
        got.append(left_by(*fit(make, folder, back), tmp_path))
        shutil.rmtree(folder)
    for k in {**got[0], **got[1]}: assert got[0].get(k)==got[1].get(k), k

# ---- What depends on luck, or on the clock

def mk(folder):
    torch.manual_seed(42)
    learn = Learner(DataLoaders(batches(3), batches(2, seed=1)), nn.Linear(2, 1), F.mse_loss, lr=LR, path=folder)
    learn.logger = noop
    return learn

# Values to follow, by epoch: of the first attempt, which ends after epoch 2, and of the second, which begins in epoch 1
@pytest.mark.parametrize('second,best', [((4.,), 1), ((6., 7., 6.5), 1), ((6., 4.5, 7.), 2)])
@pytest.mark.parametrize('keep', [None, 2])
def test_the_best_file_is_not_from_the_abandoned_part(keep, second, best, tmp_path):
    learn,weights = mk(tmp_path),{}
    second = (*second, 8., 8.)[:3]
    value = lambda rec: (5., 3., 1.)[learn.epoch] if not learn.keeper.attempt else second[learn.epoch-1]
    def after(cb):
        weights[learn.epoch] = learn.model.weight.detach().clone()
        if learn.epoch==2 and not learn.keeper.attempt: learn.rewind(to=Place(1, 'train', 1), lr=LR/2)
    (last := Callback('last', after_epoch=after)).order = 99
    save = SaveModelCallback(value, better='less', keep=keep)
    with pytest.warns(UserWarning, match='the fit went back, but files .*(model|model_step3) of epoch 0'): learn.fit(4, cbs=[Snapshots(1, keep=99), save, last])
    assert save.best_save['epoch']==best and save.best==min(second) and torch.equal(learn.model.weight, weights[best])
    assert {p.stem for p in tmp_path.rglob('*.pth')}=={o['name'] for o in save.saves}
    for o in save.saves: assert torch.equal(torch.load(o['path'])['model']['weight'], weights[o['epoch']])

def test_a_rewind_does_not_extend_the_time_limit(monkeypatch, tmp_path):
    now = [0.]
    monkeypatch.setattr('learnloop.train.tracker.monotonic', lambda: now[0])
    learn,done = mk(tmp_path),[]
    def after(cb):
        now[0] += 1
        if not cb.learn.training or learn.count.batches!=4 or done: return
        done.append(1)
        learn.rewind(batches=3)
    learn.fit(9, cbs=[Snapshots(1, keep=99), limit := TimeLimit(seconds=12), Callback(after_batch=after)])
    assert limit.stop_reason and limit.spent==now[0]
