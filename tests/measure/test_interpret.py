"Interpretation: against computations by hand, on every kind of loader, and without a trace on the learner"
import gc, weakref
from functools import partial
import matplotlib.pyplot as plt
import pytest, torch
from helpers import covering, same
from learnloop import (Callback, ClassificationInterpretation, CrossEntropyLossFlat, DataLoaders, Interpretation, Learner, MSELossFlat,
    SegmentationInterpretation, accuracy, set_seed)
from learnloop.measure.image import show_image
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
    learn = Learner(DataLoaders(train, train if valid is None else valid, device='cpu'), nn.Linear(4, n_out) if model is None else model,
        loss_func or CrossEntropyLossFlat(), torch.optim.SGD, lr=.1, **kwargs)
    learn.logger = lambda row: None
    return learn

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

def test_inputs_are_not_stored_but_taken_from_the_dataset():
    ds = Items()
    interp = Interpretation.from_learner(mk(), dl=DataLoader(ds, 5))
    ds.asked.clear()
    assert torch.equal(interp.inputs(7), X[7]) and ds.asked==[7]

def test_inputs_of_batches_are_not_held():
    refs,learn = [],mk()
    def watch(cb): refs.append(weakref.ref(cb.learn.xb[0]))
    with learn.added_cbs(Callback(before_batch=watch)): interp = Interpretation.from_learner(learn)
    gc.collect()
    assert [r() for r in refs]==[None]*5 and len(interp)==N

def test_no_learner_and_nothing_on_the_device_is_kept():
    learn = mk()
    interp = Interpretation.from_learner(learn, dl=LOADERS['batches']())
    assert not any(o.requires_grad for o in (interp.preds, interp.losses, interp.decoded))
    ref = weakref.ref(learn.model)
    del learn
    gc.collect()
    assert ref() is None and len(interp)==N

def test_several_inputs_and_dicts():
    class Two(nn.Linear):
        def forward(self, a, b): return super().forward(a+b)
    ds = [(X[i], X[i], Y[i]) for i in range(N)]
    a,b = Interpretation.from_learner(mk(model=Two(4, C)), dl=DataLoader(ds, 5)).inputs(3)
    assert torch.equal(a, X[3]) and torch.equal(b, X[3])
    class Named(nn.Linear):
        def forward(self, x, labels):
            out = super().forward(x)
            return dict(loss=F.cross_entropy(out, labels), logits=out)
    learn = mk(model=Named(4, C), loss_func=None)
    learn.loss_func = None
    learn.show_results(dl=DataLoader([dict(x=X[i], labels=Y[i]) for i in range(N)], 5), n=3)
    interp = Interpretation.from_learner(learn, dl=DataLoader([dict(x=X[i], labels=Y[i]) for i in range(N)], 5), with_loss=False)
    assert torch.equal(interp.inputs(2)['x'], X[2]) and len(interp)==N and interp.preds.shape==(N, C)

def test_without_targets_there_are_no_losses():
    interp = Interpretation.from_learner(mk(), dl=DataLoader(TensorDataset(X), 5), with_loss=False)
    assert interp.losses is None and interp.targs is None and len(interp.show_results([0, 1]).rows)==3
    with pytest.raises(ValueError, match='no losses'): interp.top_losses()

@pytest.mark.parametrize('f,err,msg', [(lambda: Interpretation.from_learner(mk(), dl=[]), ValueError, 'no batch'),
    (lambda: Interpretation.from_learner(mk()).top_losses(0), ValueError, 'k=0'), (lambda: Interpretation.from_learner(mk()).show_results([]), ValueError, 'idxs'),
    (lambda: mk(loss_func=MSELossFlat(), n_out=1) and ClassificationInterpretation(torch.rand(3), torch.rand(3)), ValueError, 'must be classes'),
    (lambda: ClassificationInterpretation(torch.tensor([0, 4]), torch.tensor([0, 1]), vocab='ab').confusion_matrix(), ValueError, 'vocab needs 5'),
    (lambda: mk().tta(), ValueError, 'aug is None'), (lambda: mk().tta(n=0, aug=lambda x: x), ValueError, 'one pass'),
    (lambda: mk().tta(dl=gen(), aug=lambda x: x), ValueError, 'read again'), (lambda: mk().tta(aug=[[(X[:3],)]]), ValueError, 'same items'),
    (lambda: mk().show_results(n=0), ValueError, 'idxs'), (lambda: mk().show_results(dl=[]), ValueError, 'no batch')])
@pytest.mark.filterwarnings('ignore:nothing was evaluated')
def test_errors_say_what_to_do(f, err, msg):
    with pytest.raises(err, match=msg): f()

# The learner stays as it is

LOOKS = dict(interpret=lambda o: Interpretation.from_learner(o), show=lambda o: o.show_results(), tta=lambda o: o.tta(aug=lambda x: x+torch.randn_like(x)),
    predict=lambda o: o.predict(X[0]), preds=lambda o: o.get_preds(), validate=lambda o: o.validate())
@pytest.mark.parametrize('look', LOOKS.values(), ids=LOOKS)
def test_looking_keeps_training_history_modes_and_random_numbers(look):
    "fastai: validate, get_preds and show_results replace recorder.values"
    a,b = (mk(metrics=accuracy) for _ in range(2))
    for o in (a, b):
        torch.manual_seed(3)
        o.fit(2)
    rec,counts,modes = str(a.recorder.state_dict()),vars(a.count).copy(),[m.training for m in a.model.modules()]
    rng = torch.get_rng_state()
    look(a)
    assert str(a.recorder.state_dict())==rec and vars(a.count)==counts and torch.equal(torch.get_rng_state(), rng)
    assert [m.training for m in a.model.modules()]==modes and not a.open and all(p.grad is None for p in a.model.parameters())
    for o in (a, b):
        torch.manual_seed(4)
        o.fit(1)
    assert same(a.model, b.model)

@pytest.mark.parametrize('look', LOOKS.values(), ids=LOOKS)
def test_looking_in_a_fit_changes_nothing(look):
    a,b = (mk(metrics=accuracy) for _ in range(2))
    torch.manual_seed(3)
    a.fit(2, cbs=Callback(after_batch=lambda cb: look(cb.learn) if cb.training and cb.iter==1 else None))
    torch.manual_seed(3)
    b.fit(2)
    assert same(a.model, b.model) and a.recorder.values==b.recorder.values

def test_show_results_reads_no_more_batches_than_it_needs_and_no_running_epoch():
    ds = Items()
    mk().show_results(dl=DataLoader(ds, 5, shuffle=True), n=6)
    assert ds.asked[:10]==list(range(10)) and set(ds.asked[10:])<=set(range(10))  # in order; then the items shown

@pytest.mark.parametrize('workers', [0, 1])
def test_show_results_leaves_a_loader_that_is_being_read_alone(workers):
    "Persistent workers have one iterator, and a new one would end the epoch that reads the old"
    n = []
    def look(cb):
        if cb.learn.phases['evaluate'] in cb.learn.open: return
        if not cb.training and cb.iter==2: cb.learn.show_results(n=2)
        n.append(cb.iter)
    dl = DataLoader(TensorDataset(X, Y), 5, num_workers=workers, persistent_workers=bool(workers))
    mk(dl).fit(1, cbs=Callback(after_batch=look))
    assert n==[0, 1, 2, 3, 4]*2

# Looking

def test_a_table_marks_what_is_wrong():
    interp = ClassificationInterpretation(torch.eye(3), torch.tensor([0, 1, 0]), torch.tensor([.5, 1., 2.]), torch.tensor([0, 1, 2]), lambda i: f'text|{i}', 'abc')
    t = interp.show_results([0, 2])
    assert t.rows==[['item', 'input', 'prediction', 'target', 'loss', ''], ['0', 'text|0', 'a', 'a', '0.50', ''], ['2', 'text|2', 'c', 'a', '2.00', 'wrong']]
    assert r'text\|2' in t._repr_markdown_() and len({len(o.split(' | ')) for o in t._repr_markdown_().splitlines()})==1
    assert len(str(t).splitlines())==3

def test_a_regression_has_nothing_that_is_wrong():
    interp = Interpretation(torch.zeros(2, 1), torch.ones(2, 1), inputs=lambda i: torch.ones(1))
    assert interp.show_results([0, 1]).rows==[['item', 'input', 'prediction', 'target'], ['0', '1', '0', '1'], ['1', '1', '0', '1']]

def test_several_labels_are_named():
    loss = BCEWithLogitsLossFlat()
    learn = mk([(X, F.one_hot(Y, C).float())], loss_func=loss)
    rows = Interpretation.from_learner(learn, vocab=['x', 'y', 'z']).show_results([0]).rows
    p = torch.sigmoid(learn.model(X[0]))>.5
    assert rows[1][2]==(', '.join(n for n,on in zip('xyz', p, strict=True) if on) or 'none') and rows[1][3]=='xyz'[Y[0]]

IMAGES = torch.rand(5, 3, 6, 6)
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

def test_show_image_leaves_the_tensor_alone():
    x = torch.randn(3, 4, 4)
    before = x.clone()
    show_image(plt.subplots()[1], x)
    assert torch.equal(x, before)

def test_plot_top_losses_shows_the_worst_first():
    interp = Interpretation.from_learner(mk())
    rows = interp.plot_top_losses(4).rows[1:]
    assert [int(r[0]) for r in rows]==interp.top_losses(4)[1].tolist()

# Classes

@pytest.mark.parametrize('loss_func', [CrossEntropyLossFlat(), F.cross_entropy, nn.CrossEntropyLoss()])
def test_confusion_matrix_is_scikit_learns(loss_func):
    from sklearn.metrics import confusion_matrix
    learn = mk(loss_func=loss_func)
    interp = ClassificationInterpretation.from_learner(learn)
    assert interp.confusion_matrix().tolist()==confusion_matrix(Y, learn.model(X).argmax(1)).tolist() and interp.vocab==[0, 1, 2]

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

def test_report(capsys):
    from sklearn.metrics import classification_report
    learn = mk()
    ClassificationInterpretation.from_learner(learn, vocab='abc').print_classification_report()
    assert capsys.readouterr().out.strip()==classification_report(Y, learn.model(X).argmax(1), target_names=list('abc'), zero_division=0).strip()

def test_binary_classes():
    y = (X[:,0]>0).float()
    learn = mk([(X, y)], loss_func=BCEWithLogitsLossFlat(), model=nn.Sequential(nn.Linear(4, 1), nn.Flatten(0)))
    interp = ClassificationInterpretation.from_learner(learn)
    assert interp.confusion_matrix().sum()==N and interp.vocab==[0, 1]

def test_names_of_classes_come_from_the_dataset():
    ds = TensorDataset(X, Y)
    ds.classes = ['ant', 'bee', 'cat']
    learn = mk(DataLoader(Subset(ds, range(9)), 3))
    assert ClassificationInterpretation.from_learner(learn).vocab==ds.classes
    assert learn.show_results(n=1).rows[1][3]==ds.classes[Y[0]]

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

def test_tta_of_loaders_equals_tta_of_functions():
    learn = mk()
    a,b = learn.tta(n=1, aug=lambda x: x+1)[0],learn.tta(aug=[DataLoader(TensorDataset(X+1, Y), 7, shuffle=True)])[0]
    torch.testing.assert_close(a, b)  # batches of another size add up in another order

def test_passes_and_calls_of_tta_draw_different_numbers_and_programs_the_same():
    learn,seen = mk(),[]
    set_seed(3)
    def noisy(x):
        seen.append(n := torch.randn(()).item())
        return x+n
    a = learn.tta(n=3, aug=noisy)[0]
    assert len(set(seen))==len(seen)==3*5
    assert not torch.equal(a, learn.tta(n=3, aug=noisy)[0])
    set_seed(3)
    assert torch.equal(a, learn.tta(n=3, aug=noisy)[0])

def test_tta_averages_after_the_activation():
    learn = mk()
    preds,_ = learn.tta(n=2, aug=lambda x: x*3)
    torch.testing.assert_close(preds.sum(1), torch.ones(N))

# One item

def test_predict_on_plain_datasets_decodes():
    "In fastai, predict fails on torch's loaders"
    learn = mk(DataLoader(Items(), 5))
    for i in range(4):
        dec,probs = learn.predict(learn.dls.valid_ds[i][0])
        with torch.no_grad(): want = learn.model(X[i]).softmax(0)
        torch.testing.assert_close(probs, want)
        assert dec==want.argmax()

def test_predict_of_a_loss_of_torchs_gives_scores_and_a_class():
    learn = mk(loss_func=F.cross_entropy)
    dec,pred = learn.predict(X[0])
    assert dec==pred.argmax() and pred.shape==(C,) and not pred.sum().isclose(torch.tensor(1.))
    assert learn.predict(X[0], act=partial(torch.softmax, dim=1))[1].sum().isclose(torch.tensor(1.))

# Memory

def test_evaluation_keeps_no_batch():
    learn,refs = mk([(X.clone(), Y)]*3),[]
    learn.show_results()
    def watch(cb): refs.append(weakref.ref(cb.learn.pred))
    with learn.added_cbs(Callback(after_pred=watch)): interp = Interpretation.from_learner(learn)
    gc.collect()
    assert [r() for r in refs]==[None]*3 and len(interp)==3*N
    assert learn.xb is None and learn.pred is None

# Any loss function

class Own(nn.Module):
    def forward(self, pred, targ): return F.cross_entropy(pred, targ)

LOSSES = dict(function=F.cross_entropy, torch=nn.CrossEntropyLoss(), by_hand=lambda p,t: F.cross_entropy(p, t), own=Own())

@covering(loader=LOADERS, loss=LOSSES)
def test_point_16_interpretation_of_any_loss(loss, loader):
    mk_dl,loss_func = LOADERS[loader],LOSSES[loss]
    learn = mk(loss_func=loss_func)
    interp = ClassificationInterpretation.from_learner(learn, dl=mk_dl())
    out = learn.model(X).detach()
    want = F.cross_entropy(out, Y, reduction='none')
    torch.testing.assert_close(interp.losses, want)
    assert torch.equal(interp.decoded, out.argmax(1)) and interp.top_losses(1)[1]==want.argmax()
    assert interp.confusion_matrix().diag().sum()==(out.argmax(1)==Y).sum()

def test_point_16_without_losses_if_there_are_none():
    def pairs(pred, targ): return (pred[0]-pred[1]).square().mean()
    with pytest.warns(UserWarning, match='no losses of items'): interp = ClassificationInterpretation.from_learner(mk(loss_func=pairs))
    assert interp.losses is None and interp.confusion_matrix().sum()==N

@pytest.mark.parametrize('loss_func', [F.binary_cross_entropy_with_logits, nn.BCEWithLogitsLoss(), F.binary_cross_entropy_with_logits])
def test_point_16_interpretation_of_yes_and_no(loss_func):
    x,y = X,(X[:,:1]>0).float()
    learn = mk([(x, y)], loss_func, n_out=1)
    interp = ClassificationInterpretation.from_learner(learn)
    assert torch.equal(interp.decoded, (learn.model(x)[:,0]>0).long()) and interp.confusion_matrix().sum()==N

@pytest.mark.parametrize('f', [Interpretation.from_learner, lambda learn, dl: learn.show_results(dl=dl), lambda learn, dl: learn.tta(dl=dl, aug=lambda x: x)])
def test_point_16_a_dataset_is_no_loader(f):
    with pytest.raises(TypeError, match='dl=TensorDataset is not a loader.*wrap the dataset'): f(mk(), dl=TensorDataset(X, Y))

# The first items, and the batch at hand

@pytest.mark.parametrize('n,want', [(1, 1), (5, 5), (7, 7), (99, N)])
def test_the_first_items_are_those_of_all(n, want):
    learn = mk()
    some,whole = (Interpretation.from_learner(learn, dl=LOADERS['batches'](), n=o) for o in (n, None))
    assert len(some)==want and len(whole)==N
    for o in ('preds', 'decoded', 'targs', 'losses'): torch.testing.assert_close(getattr(some, o), getattr(whole, o)[:n])
    assert all(torch.equal(some.inputs(i), whole.inputs(i)) for i in range(want))

@pytest.mark.parametrize('n', [None, 2])
def test_the_batch_at_hand_is_what_the_model_has_just_predicted(n):
    seen = []
    def look(cb): seen.append((Interpretation.from_batch(cb.learn, n), cb.learn.pred.detach().clone(), *cb.xb, *cb.yb))
    learn = mk()
    with learn.added_cbs(Callback(after_batch=look)): learn.fit(1)
    for interp,pred,x,y in seen:
        assert len(interp)==len(pred[:n]) and torch.equal(interp.targs, y[:n]) and not interp.preds.requires_grad
        torch.testing.assert_close(interp.preds, pred[:n].softmax(-1))
        assert torch.equal(interp.decoded, pred[:n].argmax(-1)) and torch.equal(interp.inputs(0), x[0])
        assert interp.losses is None and interp.is_wrong(0)==(interp.decoded[0]!=y[0])
        assert interp.caption(0)==(f'{int(y[0])}' if not interp.is_wrong(0) else f'{int(interp.decoded[0])} (is {int(y[0])})')
