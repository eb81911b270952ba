"PyTorch's iterator without its profiler block: the same batches, draws, errors and end"
from itertools import product
import pytest, torch
from helpers import check, silent
from learnloop import DataLoaders, Learner, Zip, set_seed
from learnloop.data.begin import Endless
from learnloop.data.loaders import Until, batches_of
from torch import nn
from torch.nn import functional as F
from torch.profiler import profile
from torch.utils.data import DataLoader, Dataset, TensorDataset
from torch.utils.data.dataloader import _BaseDataLoaderIter, _SingleProcessDataLoaderIter

class Noisy(Dataset):
    def __init__(self, at=lambda i: None): self.at = at
    def __len__(self): return 14
    def __getitem__(self, i):
        self.at(i)
        return torch.tensor([float(i)])+torch.randn(1),torch.tensor(i%2)

LOADERS = dict(noisy=lambda **kw: DataLoader(Noisy(), 4, **kw), shuffled=lambda **kw: DataLoader(Noisy(), 4, shuffle=True, **kw),
    dropped=lambda **kw: DataLoader(Noisy(), 4, shuffle=True, drop_last=True, **kw), single=lambda **kw: DataLoader(Noisy(), None, **kw),
    rows=lambda **kw: DataLoader(TensorDataset(torch.arange(9), torch.arange(9)), 2, shuffle=True, **kw))

def is_quick(it): return isinstance(it, _SingleProcessDataLoaderIter) and type(it).__next__ is not _BaseDataLoaderIter.__next__

@pytest.mark.parametrize('kind,profiled', [*product(LOADERS, (False, True))])
def test_batches_draws_and_attributes_match_pytorch(kind, profiled):
    res = []
    for begin in (iter, batches_of):
        set_seed(1)
        seen = []
        for _ in range(2):
            it = begin(LOADERS[kind]())
            assert is_quick(it)==(begin is batches_of)
            seen.append((len(it), torch.get_rng_state()))
            for i in range(20):
                try:
                    if profiled and i==2:
                        with profile() as p: b = next(it)
                        assert any('DataLoader' in o.key for o in p.key_averages())
                    else: b = next(it)
                except StopIteration: break
                seen.append((b, it._num_yielded, torch.get_rng_state()))
            with pytest.raises(StopIteration): next(it)
        res.append([seen])
    check(*res)

@pytest.mark.parametrize('wrap', [lambda dl: dl, Endless, lambda dl: Until(dl, bool), lambda dl: Zip(dl)])
def test_errors_name_items_wherever_passes_begin(wrap):
    def fail(i):
        if i==5: raise ValueError('five')
    learn = silent(Learner(DataLoaders(wrap(DataLoader(Noisy(fail), 4)), device='cpu'), nn.Linear(1, 2), F.cross_entropy))
    with pytest.raises(ValueError) as e: learn.fit(1)
    assert any('item 5, of items 4 to 7' in o for o in e.value.__notes__)

def test_until_begins_as_its_loader_does_and_asks_before_each():
    begun,asked = [],[]
    class Dl(list):
        def __iter__(self):
            begun.append(1)
            return super().__iter__()
    it = iter(Until(Dl([1,2,3]), lambda: asked.append(1) or len(asked)>2))
    assert begun==[1] and not asked and [*it]==[1,2] and len(asked)==3
