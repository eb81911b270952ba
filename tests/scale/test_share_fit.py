"Two processes train on their shards of a stream. `test_rows_shared.py` and `test_share.py` have loaders of other kinds"
import datasets, pytest, torch, warnings
from datasets.distributed import split_dataset_by_node
from learnloop import Learner, set_seed
from together import LIMIT, together
from torch import nn
from torch.nn import functional as F
from weakref import WeakSet
with warnings.catch_warnings(action='ignore'): from torchdata.stateful_dataloader import StatefulDataLoader

pytestmark = pytest.mark.filterwarnings('ignore:.set_vital. is deprecated')  # which torchdata calls
datasets.disable_progress_bars()
N = 22
X = torch.linspace(-1, 1, N)[:,None].repeat(1, 3)
Y = (X.sum(1)>0).long()

def _own(shards, n):
    ds = datasets.Dataset.from_dict(dict(x=X[:n].tolist(), y=Y[:n].tolist())).with_format('torch').to_iterable_dataset(num_shards=shards)
    def _collate(b): return torch.stack([o['x'] for o in b]),torch.stack([o['y'] for o in b])
    def _f():
        set_seed(3)
        learn = Learner([], nn.Linear(3, 2), F.cross_entropy, lr=.01).to_ddp(timeout=LIMIT)
        learn.dls.train = StatefulDataLoader(split_dataset_by_node(ds, learn.team.rank, learn.team.world), 4, collate_fn=_collate)
        with learn.no_logging(), learn.no_bar(), warnings.catch_warnings(record=True, action='always') as ws: learn.fit(1)
        said = [str(w.message) for w in ws if 'different numbers' in str(w.message)]
        return [p.detach().clone() for p in learn.model.parameters()],learn.count.samples,learn.count.batches,said
    return _f

def both_streams(): return _own(4, 22)(),_own(3, 17)()

def test_fits_on_streams_that_hugging_face_split():
    "The second stream has shards of different lengths: the pass ends with the shortest, and a warning says so"
    ranks = together(both_streams)
    (a,n,n_batches,_),(b,m,*_) = (o[0] for o in ranks)
    assert all(map(torch.equal, a, b)) and (n,m,n_batches)==(22,22,3)
    (a,n,n_batches,said),(b,m,*_) = (o[1] for o in ranks)
    assert all(map(torch.equal, a, b)) and (n,m,n_batches)==(16,16,2) and len(said)==1

def loaders_in_memory():
    class Loader(list): __hash__ = object.__hash__
    learn = Learner([(X[:4], Y[:4])], nn.Linear(3, 2), F.cross_entropy, lr=.01).to_ddp(timeout=LIMIT)
    alive = WeakSet()
    with learn.no_logging(), learn.no_bar():
        for _ in range(3):
            alive.add(dl := Loader([(X[:4], Y[:4])]))
            learn.validate(dl=dl)
            learn.fit(1)
    return len(alive)

def test_shared_loaders_are_released():
    assert max(together(loaders_in_memory))==1
