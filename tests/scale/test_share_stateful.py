"Loaders with a state of their own, and streams: shared, and gone on with"
import pytest, torch, warnings
import datasets
from datasets.distributed import split_dataset_by_node
from learnloop.data.begin import iter_from, goes_by_state
from learnloop.data.rng import read_rngs, write_rngs
from learnloop.scale.share import _is_sharded, share
from share_team import Stand, each_rank, passes
from test_share import Items, Stream, alone, together
from torch.utils.data import IterableDataset, TensorDataset
with warnings.catch_warnings(action='ignore'): from torchdata.stateful_dataloader import StatefulDataLoader

pytestmark = pytest.mark.filterwarnings('ignore:.set_vital. is deprecated')  # which torchdata calls
datasets.disable_progress_bars()

class Place(IterableDataset):
    "A stream that knows its place, and draws"
    def __init__(self, n): self.n,self.at = n,0
    def __iter__(self):
        while self.at<self.n:
            self.at += 1
            yield self.at-1+torch.rand(1).item()
        self.at = 0
    def state_dict(self): return dict(at=self.at)
    def load_state_dict(self, sd): self.at = sd['at']

def hf(rank, world, shuffled):
    ds = datasets.Dataset.from_dict(dict(x=list(range(24)))).to_iterable_dataset(num_shards=4)
    if shuffled: ds = ds.shuffle(seed=1, buffer_size=5)
    return split_dataset_by_node(ds, rank, world)
def xs(b): return torch.tensor([o['x'] for o in b])

KINDS = dict(map=lambda **kw: StatefulDataLoader(TensorDataset(torch.arange(11)), 4, shuffle=True, collate_fn=lambda b: torch.stack([o for o, in b]), **kw),
    noisy=lambda **kw: StatefulDataLoader(Items(11), 4, shuffle=True, **kw),
    stream=lambda **kw: StatefulDataLoader(Place(11), 4, **kw),
    no_state=lambda **kw: StatefulDataLoader(Stream(11, 'order'), 4, **kw))

@pytest.mark.parametrize('workers', [0, 1])
@pytest.mark.parametrize('kind', KINDS)
def test_parts_are_those_of_one_process(kind, workers):
    if kind=='stream' and workers: pytest.skip('its place is in the worker')
    def mk(): return KINDS[kind](num_workers=workers)
    got = together(each_rank(mk, 3, passes(1), training=False), 1)
    if kind!='stream': assert got==alone(mk, 1)
    else: assert [int(v) for b in got[0] for v in b]==list(range(11))

@pytest.mark.parametrize('n', [0, 1, 2])
@pytest.mark.parametrize('workers', [0, 1])
@pytest.mark.parametrize('kind', KINDS)
def test_a_pass_goes_on_where_each_rank_was(kind, workers, n):
    if kind=='stream' and workers: pytest.skip('its place is in the worker')
    def mk(): return KINDS[kind](num_workers=workers)
    starts,states,want = [],[],[]
    def _stop(dl, team):
        starts.append(read_rngs([dl]))
        it = iter(dl)
        for _ in range(n): next(it)
        states.append((dl.state_dict() if goes_by_state(dl) else None, read_rngs([dl])))
        return [(b.tolist(), dl.n_items(i+n)) for i,b in enumerate(it)]
    def _go_on(dl, team):
        write_rngs(starts[team.rank], [dl])
        it,how = iter_from(dl, n, states[team.rank][0])
        assert (how=='by its own state')==(states[team.rank][0] is not None)
        write_rngs(states[team.rank][1])
        return [(b.tolist(), dl.n_items(i+n)) for i,b in enumerate(it)]
    want = each_rank(mk, 2, _stop)
    assert sum(m for _,m in want[0])==11-4*n and each_rank(mk, 2, _go_on)==want

@pytest.mark.parametrize('shuffled', [False, True])
def test_a_stream_that_hugging_face_split_is_taken_as_it_is(shuffled):
    said,seen = [],[]
    for rank in range(2):
        dl = share(StatefulDataLoader(hf(rank, 2, shuffled), 4, collate_fn=xs), Stand(rank, 2, said), True)
        assert _is_sharded(dl) and not dl.is_sure and dl.n_items(0) is None
        whole = [b.tolist() for b in dl]
        seen += sum(whole, [])
        again = share(StatefulDataLoader(hf(rank, 2, shuffled), 4, collate_fn=xs), Stand(rank, 2, said), True)
        it,_ = iter_from(again, 2)
        assert [b.tolist() for b in it]==whole[2:]
    assert sorted(seen)==list(range(24))

def test_a_stream_of_hugging_face_that_nobody_split_is_cut():
    def mk(): return StatefulDataLoader(datasets.Dataset.from_dict(dict(x=list(range(10)))).to_iterable_dataset(), 4, collate_fn=xs)
    assert together(each_rank(mk, 2, passes(1)), 1)==[[[0,1,2,3],[4,5,6,7],[8,9]]]
