"`learn.rows` names exactly the items of the batch, for each kind of loader"
import pytest, torch, warnings
from functools import partial
from helpers import covering, quiet
from learnloop import Callback, DataLoaders, Learner, MicroBatch, Prefetch
from learnloop.data.batch import row_keys
from learnloop.data.tensors import TensorLoader
from rows_seen import DATA, MADE, N, OWN, SAMPLERS, WORKERS, X, Plain, Scale, Stream, fit, loss_func, mk
from torch.utils.data import DataLoader
with warnings.catch_warnings(action='ignore'): from torchdata.stateful_dataloader import StatefulDataLoader

pytestmark = pytest.mark.filterwarnings('ignore:.set_vital. is deprecated')  # which torchdata calls

HOWS = dict(plain=(), micro=(partial(MicroBatch, 2),), ahead=(partial(Prefetch, 2, draws=False),))
def loader(data, sampler, workers, cls, made): return MADE[made](mk(data, sampler, workers, cls))

@pytest.mark.every(4)
@covering(data=DATA, sampler=SAMPLERS, workers=WORKERS, made=MADE, how=HOWS, cls=[DataLoader, StatefulDataLoader])
@pytest.mark.filterwarnings('ignore:Prefetch skips')
def test_rows_are_those_of_the_batch(data, sampler, workers, made, how, cls):
    if how=='micro' and made in ('zipped', 'named'): how = 'plain'  # whose batches have parts of different sizes
    assert fit(partial(loader, data, sampler, workers, cls, made), cbs=[f() for f in HOWS[how]])

@pytest.mark.parametrize('made', ['itself', 'alternate'])
def test_rows_of_parts(made): assert fit(lambda: MADE[made](mk('nested')), cbs=[MicroBatch(2)])

@pytest.mark.every(4)
@covering(sampler=OWN, workers=WORKERS, made=MADE, cls=[DataLoader, StatefulDataLoader])
def test_rows_of_custom_samplers(sampler, workers, made, cls):
    assert fit(partial(loader, 'plain', sampler, workers, cls, made))

@pytest.mark.every(4)
@covering(data=DATA, sampler=SAMPLERS, workers=WORKERS, made=MADE, cls=[DataLoader, StatefulDataLoader])
@pytest.mark.filterwarnings('ignore:.*its workers persist')  # so their items may draw other numbers
def test_a_resumed_fit_has_the_same_rows(data, sampler, workers, made, cls, tmp_path):
    mk_one = partial(loader, data, sampler, workers, cls if made=='itself' else DataLoader, made)
    want = fit(mk_one, evaluate=False)
    got = fit(mk_one, 5, resume=tmp_path/'run', evaluate=False)
    assert len(got)==5 and got+fit(mk_one, resume=tmp_path/'run', evaluate=False)==want

@pytest.mark.parametrize('shuffle', [False, True])
@pytest.mark.parametrize('rows', [None, torch.arange(30, 3, -3)])
def test_rows_of_tensors(shuffle, rows, tmp_path):
    def mk_one(): return TensorLoader((X, X), 4, shuffle, rows=rows)
    want = fit(mk_one)
    assert fit(mk_one, 3, resume=tmp_path/'run')+fit(mk_one, resume=tmp_path/'run')==want

def rows(dls):
    "The rows of the batches of an epoch"
    seen = []
    quiet(Learner(dls, Scale(), loss_func, torch.optim.SGD, lr=1e-6, cbs=Callback(before_batch=lambda cb: seen.append(cb.learn.rows))), 1)
    return seen

def test_batches_that_the_dataset_makes():
    assert rows(DataLoader(Plain(), None))==[[i] for i in range(N)]
    assert rows(DataLoader([(X[:4], X[:4]), (X[4:], X[4:])], None, sampler=[1,0]))==[[1], [0]]

@pytest.mark.parametrize('kind', ['tuple', 'named', 'function'])
def test_items_of_a_stream_have_keys(kind):
    def collate(items):
        x,y = (torch.stack([o[i] for o in items]) for i in (0, 1))
        ids = [f'id{o[2]}' for o in items]
        return dict(a=x, y=y, key=ids) if kind=='named' else (x, y, ids) if kind=='tuple' else (x, y)
    row_id = dict(tuple=2, named='key', function=lambda b: [f'id{int(i)}' for i in b[1]])[kind]
    dls = DataLoaders(DataLoader(Stream(), 5, collate_fn=collate), device='cpu', row_id=row_id, targ='y' if kind=='named' else None)
    assert sum(rows(dls), [])==[f'id{i}' for i in range(N)]

def test_keys_are_taken_by_name_or_number():
    b = dict(x=X, id=torch.arange(3))
    assert row_keys(b, 'id')==[0,1,2] and row_keys((X, 'ab'), -1)==['a','b'] and 'id' in b
@pytest.mark.parametrize('bad', [True, 1.5, ['id']])
def test_other_keys_are_refused(bad):
    with pytest.raises(TypeError, match='row_id'): DataLoaders([(X, X)], row_id=bad)
