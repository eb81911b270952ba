"Interpretation: compared to computations by hand, for every kind of loader, without side effects on the learner"
import matplotlib.pyplot as plt, pytest, torch
from helpers import silent
from learnloop import (ClassificationInterpretation, CrossEntropyLossFlat, DataLoaders, Interpretation, Learner, MSELossFlat,
    SegmentationInterpretation)
from learnloop.measure.losses import BCEWithLogitsLossFlat
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset, IterableDataset, Subset, TensorDataset

N,C = 22,3
def data():
    g = torch.Generator().manual_seed(0)
    return torch.randn(N, 4, generator=g),torch.randint(C, (N,), generator=g)
X,Y = data()

class Items(Dataset):
    def __init__(self): self.asked = []
    def __len__(self): return N
    def __getitem__(self, i):
        self.asked.append(i)
        return X[i],Y[i]
class Stream(IterableDataset):
    def __iter__(self): return zip(X, Y, strict=True)
def gen(): yield from DataLoader(TensorDataset(X, Y), 5)
LOADERS = dict(dataset=lambda: DataLoader(Items(), 5), shuffled=lambda: DataLoader(TensorDataset(X, Y), 5, shuffle=True, drop_last=True),
    subset=lambda: DataLoader(Subset(TensorDataset(X, Y), range(N)), 5), whole=lambda: DataLoader([(X[:9], Y[:9]), (X[9:], Y[9:])], batch_size=None),
    stream=lambda: DataLoader(Stream(), 5), batches=lambda: [(X[i:i+5], Y[i:i+5]) for i in range(0, N, 5)], generator=gen)
each_loader = pytest.mark.parametrize('mk_dl', LOADERS.values(), ids=LOADERS)

def mk(valid=None, loss_func=None, n_out=C, model=None, **kwargs):
    torch.manual_seed(0)
    train = DataLoader(TensorDataset(X, Y), 5, shuffle=True)
    return silent(Learner(DataLoaders(train, train if valid is None else valid, device='cpu'), nn.Linear(4, n_out) if model is None else model,
        loss_func or CrossEntropyLossFlat(), torch.optim.SGD, lr=.1, **kwargs))

@pytest.fixture(autouse=True)
def no_figures():
    yield
    plt.close('all')

# Gathering

@each_loader
def test_top_losses_are_those_computed_by_hand(mk_dl):
    "Plain loaders of every kind; in fastai, they fail"
    learn = mk()
    interp = Interpretation.from_learner(learn, dl=mk_dl())
    with torch.no_grad(): losses = F.cross_entropy(learn.model(X), Y, reduction='none')
    vals,idxs,items = interp.top_losses(items=True)
    torch.testing.assert_close(losses[idxs], vals)  # batches of another size add up in another order
    assert sorted(idxs.tolist())==list(range(N)) and (vals.diff()<=0).all()
    assert torch.equal(torch.stack(items), X[idxs])
    assert interp.top_losses(3)[1].tolist()==idxs[:3].tolist() and interp.top_losses(2, largest=False)[1].tolist()==idxs[-2:].flip(0).tolist()
    assert len(interp.top_losses(99)[0])==N

def test_without_targets_there_are_no_losses():
    interp = Interpretation.from_learner(mk(), dl=DataLoader(TensorDataset(X), 5), with_loss=False)
    assert interp.losses is None and interp.targs is None and len(interp.show_results([0, 1]).rows)==3
    with pytest.raises(ValueError, match='no losses'): interp.top_losses()

@pytest.mark.parametrize('f,err,msg', [(lambda: Interpretation.from_learner(mk(), dl=[]), ValueError, 'no batch'),
    (lambda: Interpretation.from_learner(mk()).top_losses(0), ValueError, 'k=0'), (lambda: Interpretation.from_learner(mk()).show_results([]), ValueError, 'idxs'),
    (lambda: mk(loss_func=MSELossFlat(), n_out=1) and ClassificationInterpretation(torch.rand(3), torch.rand(3)), ValueError, 'must be classes'),
    (lambda: ClassificationInterpretation(torch.tensor([0, 4]), torch.tensor([0, 1]), vocab='ab').confusion_matrix(), ValueError, 'it needs 5 names'),
    (lambda: mk().tta(), ValueError, 'aug is None'), (lambda: mk().tta(n=0, aug=lambda x: x), ValueError, 'one pass'),
    (lambda: mk().tta(dl=gen(), aug=lambda x: x), ValueError, 'must be repeatable'), (lambda: mk().tta(aug=[[(X[:3],)]]), ValueError, 'same items'),
    (lambda: mk().show_results(n=0), ValueError, 'idxs'), (lambda: mk().show_results(dl=[]), ValueError, 'no batch')])
@pytest.mark.filterwarnings('ignore:nothing was evaluated')
def test_errors_say_what_to_do(f, err, msg):
    with pytest.raises(err, match=msg): f()

# Looking

def test_several_labels_are_named():
    loss = BCEWithLogitsLossFlat()
    learn = mk([(X, F.one_hot(Y, C).float())], loss_func=loss)
    rows = Interpretation.from_learner(learn, vocab=['x', 'y', 'z']).show_results([0]).rows
    p = torch.sigmoid(learn.model(X[0]))>.5
    assert rows[1][2]==(', '.join(n for n,on in zip('xyz', p, strict=True) if on) or 'none') and rows[1][3]=='xyz'[Y[0]]

IMAGES = torch.rand(5, 3, 6, 6)
@pytest.mark.every(2)
@pytest.mark.parametrize('x', [IMAGES, IMAGES[:,:1], IMAGES*8-3, (IMAGES*255).byte(), IMAGES.half(), torch.zeros(5, 1, 6, 6), torch.full((5, 3, 6, 6), 7.)])
def test_images_are_drawn(x):
    interp = ClassificationInterpretation(torch.eye(3)[[0, 1, 2, 0, 1]], torch.tensor([0, 1, 0, 0, 1]), None, torch.tensor([0, 1, 2, 0, 1]), lambda i: x[i], 'abc')
    axs = interp.show_results(range(5))
    assert [o.get_title() for o in axs[:5]]==['a', 'b', 'c (is a)', 'a', 'b'] and len(axs)>=5
    inks = [o.title.get_color() for o in axs[:3]]
    assert inks[0]==inks[1]!='crimson' and inks[2]=='crimson'
    assert all(len(o.images)==1 for o in axs[:5]) and not any(len(o.images) for o in axs[5:])
    plt.gcf().set_dpi(10)  # quickly
    plt.gcf().canvas.draw()

def test_a_function_of_the_users_draws():
    seen = []
    def show(ax, x, y, pred, c):
        seen.append((x.tolist(), int(y), int(pred), c))
        ax.plot(x)
    learn = mk()
    learn.show_results(n=2, show=show, c='red')
    assert seen==[(X[i].tolist(), int(Y[i]), int(learn.model(X[i]).argmax()), 'red') for i in range(2)]

# Classes

def test_most_confused_and_the_plot():
    t,d = torch.tensor([0]*5+[1]*5+[2]*2),torch.tensor([0,0,0,1,1]+[1,1,1,1,2]+[2,0])
    interp = ClassificationInterpretation(d, t, decoded=d, vocab=['ant', 'bee', 'cat'])
    assert interp.confusion_matrix().tolist()==[[3,2,0],[0,4,1],[1,0,1]]
    assert interp.most_confused()==[('ant','bee',2), ('bee','cat',1), ('cat','ant',1)] and interp.most_confused(2)==[('ant','bee',2)]
    ax = interp.plot_confusion_matrix(normalize=True)
    assert {(round(o.get_position()[0]),round(o.get_position()[1])):o.get_text() for o in ax.texts}=={
        (0,0):'0.60', (1,0):'0.40', (1,1):'0.80', (2,1):'0.20', (0,2):'0.50', (2,2):'0.50'}
    assert (ax.get_ylabel(),ax.get_xlabel())==('actual','predicted') and [o.get_text() for o in ax.get_xticklabels()]==['ant','bee','cat']
    assert interp.plot_confusion_matrix(plot_txt=False, ax=ax) is ax

def test_classes_that_are_nowhere_and_targets_to_ignore():
    interp = ClassificationInterpretation(torch.eye(4)[[0, 1, 1]], torch.tensor([0, -100, 1]), decoded=torch.tensor([0, 1, 1]))
    assert interp.confusion_matrix().diag().tolist()==[1, 1, 0, 0] and interp.confusion_matrix().sum()==2
    interp.plot_confusion_matrix(normalize=True)
    interp.print_classification_report()

def test_segmentation():
    x = torch.rand(6, 1, 4, 4)
    y = (x[:,0]>.5).long()
    learn = mk([(x, y)], loss_func=CrossEntropyLossFlat(axis=1), model=nn.Conv2d(1, 2, 1))
    interp = SegmentationInterpretation.from_learner(learn)
    p = learn.model(x).argmax(1)
    both,either = torch.stack([((p==c)&(y==c)).sum() for c in range(2)]),torch.stack([((p==c)|(y==c)).sum() for c in range(2)])
    torch.testing.assert_close(interp.iou(), both.double()/either, equal_nan=True)
    assert len(interp.plot_top_losses(2)[0].images)==2 and interp.confusion_matrix().sum()==y.numel()

# Test-time augmentation

def test_tta_is_the_mean_by_hand():
    learn = mk(loss_func=F.cross_entropy)
    fs = [lambda x: x+1, lambda x: x*2, lambda x: (x.flip(1),)]
    with torch.no_grad(): plain,*augs = learn.model(X),learn.model(X+1),learn.model(X*2),learn.model(X.flip(1))
    got = {k:learn.tta(aug=fs, **kw)[0] for k,kw in dict(d={}, h=dict(beta=.5), m=dict(use_max=True), n=dict(beta=None)).items()}
    mean = torch.stack(augs).mean(0)
    torch.testing.assert_close(got['d'], .25*plain+.75*mean)
    torch.testing.assert_close(got['h'], .5*plain+.5*mean)
    torch.testing.assert_close(got['m'], torch.stack([plain, *augs]).amax(0))
    torch.testing.assert_close(got['n'][0], mean)
    torch.testing.assert_close(got['n'][1], plain)
    assert torch.equal(learn.tta(aug=fs)[1], Y)

# Any loss function

@pytest.mark.parametrize('loss_func', [F.binary_cross_entropy_with_logits, nn.BCEWithLogitsLoss(), F.binary_cross_entropy_with_logits])
def test_point_16_interpretation_of_yes_and_no(loss_func):
    x,y = X,(X[:,:1]>0).float()
    learn = mk([(x, y)], loss_func, n_out=1)
    interp = ClassificationInterpretation.from_learner(learn)
    assert torch.equal(interp.decoded, (learn.model(x)[:,0]>0).long()) and interp.confusion_matrix().sum()==N

@pytest.mark.parametrize('f', [Interpretation.from_learner, lambda learn, dl: learn.show_results(dl=dl), lambda learn, dl: learn.tta(dl=dl, aug=lambda x: x)])
def test_point_16_a_dataset_is_no_loader(f):
    with pytest.raises(TypeError, match='dl=TensorDataset is not a loader.*DataLoaders.from_dsets'): f(mk(), dl=TensorDataset(X, Y))
