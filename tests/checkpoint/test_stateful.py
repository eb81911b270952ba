"Loaders with their own state, torchdata's over Hugging Face's datasets among them: a fit resumes exactly, by their state or by making their batches again"
import random, signal, warnings
import datasets, pytest, torch
from helpers import Boom, covering
from learnloop import Callback, Learner, list_checkpoints, set_seed
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset
with warnings.catch_warnings(action='ignore'): from torchdata.stateful_dataloader import StatefulDataLoader

datasets.disable_progress_bars()
datasets.logging.set_verbosity_error()
N = 22
X = torch.linspace(-1, 1, N)[:,None].repeat(1, 3)
Y = (X.sum(1)>0).long()

pytestmark = pytest.mark.filterwarnings('ignore:.set_vital. is deprecated')  # which torchdata calls

class Items(Dataset):
    def __len__(self): return N
    def __getitem__(self, i): return X[i],Y[i]
class Noisy(Items):
    def __getitem__(self, i): return X[i]+.1*torch.randn(3)+.1*random.random(),Y[i]

def mine(n=N):
    w = torch.utils.data.get_worker_info()
    return torch.randperm(n, generator=torch.Generator().manual_seed(3)).tolist()[w.id if w else 0::w.num_workers if w else 1]
class Stream(IterableDataset):
    def __iter__(self): return ((X[i]+.1*torch.randn(3), Y[i]) for i in mine())
class OwnState(IterableDataset):
    "A stream that continues over epochs, and has a state"
    def __init__(self): self.at = 0
    def __iter__(self):
        while True:
            i,self.at = self.at*self.at%N,self.at+1
            yield X[i],Y[i]
            if self.at%17==0: return
    def state_dict(self): return dict(at=self.at)
    def load_state_dict(self, sd): self.at = sd['at']

def table(): return datasets.Dataset.from_dict(dict(x=X.tolist(), y=Y.tolist())).with_format('torch')
def stream(): return table().to_iterable_dataset(num_shards=4)
def collate(b): return torch.stack([o['x'] for o in b]),torch.stack([o['y'] for o in b])
def jitter(o): return dict(x=o['x']+.1*torch.randn(3), y=o['y'])

def shuffled(): return stream().shuffle(seed=1, buffer_size=7)

KINDS = dict(map=(Items, dict(shuffle=True)), tensors=(lambda: TensorDataset(X, Y), dict(shuffle=True)), noisy=(Noisy, dict(shuffle=True)),
    iterable=(Stream, {}),
    hf_map=(table, dict(shuffle=True, collate_fn=collate)), hf_iterable=(stream, dict(collate_fn=collate)), hf_shuffled=(shuffled, dict(collate_fn=collate)),
    hf_mapped=(lambda: shuffled().map(jitter), dict(collate_fn=collate)))

_used = []

@pytest.fixture(autouse=True)
def ended():
    "torchdata's loader keeps its iterator, whose workers would be forked along"
    yield
    end()
def end():
    while _used:
        it,_used[-1]._iterator = _used[-1]._iterator,None
        if hasattr(it, '_shutdown_workers'): it._shutdown_workers()
        _used.pop()

def mk_loader(cls, kind, workers, **kw):
    end()
    ds,kwargs = KINDS[kind] if isinstance(kind, str) else (kind, {})
    _used.append(dl := cls(ds(), batch_size=4, num_workers=workers, **kwargs|kw))
    return dl

def run(cls, kind, workers, at=None, folder=None, accept=(), said=None, **kw):
    "Fit as a new process would; the fit fails before batch `at`"
    set_seed(3)
    model = nn.Sequential(nn.Linear(3, 8), nn.Dropout(.3), nn.Linear(8, 2))
    learn = Learner((mk_loader(cls, kind, workers, **kw), None), model, F.cross_entropy, lr=.01)
    def f(cb):
        if cb.learn.count.batches==at: raise Boom
    with learn.no_logging(), learn.no_bar():
        if said is not None: learn.logger = lambda row: None
        learn.fit(2, cbs=Callback('stop', before_fetch=f), **dict(resume=folder, accept=accept) if folder else {})
    return [p.detach().clone() for p in model.parameters()]

@pytest.mark.filterwarnings('ignore:To copy construct from a tensor')  # by Hugging Face's own formatter
@pytest.mark.every(2)
@covering(workers=[0, 2], kind=KINDS, cls=[DataLoader, StatefulDataLoader])
def test_every_kind_of_loader_resumes_exactly(cls, kind, workers, tmp_path):
    want = run(cls, kind, workers)
    for i,at in enumerate([3, 8] if workers==0 else [8]):  # in the first epoch, and in the second
        with pytest.raises(Boom): run(cls, kind, workers, at, tmp_path/str(i))
        assert list_checkpoints(tmp_path/str(i))[-1].manifest['next']=='train'
        assert all(map(torch.equal, run(cls, kind, workers, folder=tmp_path/str(i)), want))

class Exact(StatefulDataLoader): resumes_exactly = True

@pytest.mark.parametrize('cls,kind,workers,how', [(StatefulDataLoader, 'tensors', 2, 'by its own state'), (StatefulDataLoader, 'hf_map', 0, 'by its own state'),
    (StatefulDataLoader, OwnState, 0, 'by its own state'), (Exact, 'hf_iterable', 0, 'by its own state'),
    (StatefulDataLoader, 'noisy', 2, 'making 3 batches again, because its own state may not be exact')])
def test_a_resumed_fit_logs_how_it_reached_its_batch(cls, kind, workers, how, tmp_path, capsys):
    want = run(cls, kind, workers)
    with pytest.raises(Boom): run(cls, kind, workers, 3, tmp_path)
    capsys.readouterr()
    assert all(map(torch.equal, run(cls, kind, workers, folder=tmp_path, said=True), want))
    assert f'epoch 0, batch 3 ({how})' in capsys.readouterr().out

@pytest.mark.parametrize('old,new', [(DataLoader, StatefulDataLoader), (StatefulDataLoader, DataLoader)])
@pytest.mark.parametrize('kind', ['map', 'hf_shuffled'])
def test_another_kind_of_loader_is_refused_by_name_unless_it_is_accepted(kind, old, new, tmp_path):
    with pytest.raises(Boom): run(old, kind, 0, 3, tmp_path)
    with pytest.raises(ValueError, match=rf"loader was '{old.__name__}' and is '{new.__name__}'.*accept=\['loader'\]"): run(new, kind, 0, folder=tmp_path)
    with pytest.warns(UserWarning, match='not exact: loader was'): run(new, kind, 0, folder=tmp_path, accept=['loader'])

def test_a_state_of_other_workers_is_not_loaded(tmp_path):
    with pytest.raises(Boom): run(StatefulDataLoader, 'map', 0, 3, tmp_path)
    with pytest.warns(UserWarning, match='not exact: workers was 0 and is 1'): run(StatefulDataLoader, 'map', 1, folder=tmp_path, accept=['workers'])

@pytest.mark.parametrize('workers', [0, 2])
def test_ctrl_c_with_a_loader_that_keeps_its_iterator(workers):
    ds = TensorDataset(torch.randn(40, 4), torch.randn(40, 1))
    learn = Learner(StatefulDataLoader(ds, 4, num_workers=workers), nn.Linear(4, 1), F.mse_loss, default_cbs=False)
    was = signal.signal(signal.SIGINT, signal.default_int_handler)  # it may have been ignored
    try:
        with pytest.raises(KeyboardInterrupt): learn.fit(1, cbs=Callback(after_loss=lambda cb: signal.raise_signal(signal.SIGINT)))
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally: signal.signal(signal.SIGINT, was)

class Tokenised(IterableDataset):
    "A stream of Hugging Face's inside of one's own"
    def __init__(self, ds): self.ds = ds
    def __iter__(self): yield from self.ds
    def state_dict(self): return self.ds.state_dict()
    def load_state_dict(self, sd): self.ds.load_state_dict(sd)

def test_a_shuffle_buffer_inside_your_own_dataset_is_filled_again():
    from learnloop.checkpoint.passes import goes_by_state
    ds = datasets.Dataset.from_dict(dict(x=list(range(8)))).to_iterable_dataset()
    assert not goes_by_state(StatefulDataLoader(Tokenised(ds), 2)) and not goes_by_state(StatefulDataLoader(ds, 2))
