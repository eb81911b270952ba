"Losses compared to PyTorch's functions and formulas: shapes, axes, reductions, types, devices"
import pickle
from copy import deepcopy
import pytest, torch
from helpers import covering
from learnloop.measure.losses import *
from torch.nn import functional as F

NUMBERS = [MSELossFlat, L1LossFlat, BCEWithLogitsLossFlat, BCELossFlat]
FLAT = [*NUMBERS, CrossEntropyLossFlat, LabelSmoothingCrossEntropyFlat, FocalLossFlat]
REDUCTIONS = 'mean','sum','none'
def scores(*shape, c=3): return torch.randn(*shape[:1], c, *shape[1:]),torch.randint(c, shape)
def focal(pred, targ, gamma, weight=None):
    "Lin et al. 2017, eq. 5, word by word, in double: loss of each item, and its weight"
    p_t = pred.double().softmax(1).gather(1, targ[:,None]).squeeze(1)
    alpha = torch.ones_like(p_t) if weight is None else weight.double()[targ]
    return -alpha*(1-p_t)**gamma*p_t.log(),alpha

def test_not_flattened_the_shape_stays():
    pred,targ = scores(2, 4, 5)
    f = CrossEntropyLossFlat(axis=-1, flatten=False, reduction='none')
    assert torch.equal(f(pred.movedim(1, -1), targ), F.cross_entropy(pred, targ, reduction='none'))
    assert MSELossFlat(flatten=False, reduction='none')(pred, pred).shape==pred.shape

@pytest.mark.parametrize('cls', NUMBERS)
def test_other_numbers_of_elements_are_an_error(cls):
    with pytest.raises(ValueError, match=rf'{cls.__name__}: predictions of shape \(4, 1\), targets of shape \(3,\): they must have the same number'):
        cls()(torch.rand(4, 1), torch.rand(3))

@pytest.mark.parametrize('cls', FLAT[4:])
@pytest.mark.parametrize('targ,match', [(torch.zeros(5, dtype=torch.long), 'one index for each'), (torch.zeros(4, 3, dtype=torch.long), 'one index for each'),
    (torch.zeros(4), 'must be integers')])
def test_classes_that_do_not_fit_are_an_error(cls, targ, match):
    with pytest.raises(ValueError, match=match): cls()(torch.zeros(4, 3), targ)

def test_activation_and_decodes_of_others():
    x = torch.randn(4, 3)
    assert torch.equal(BCEWithLogitsLossFlat().activation(x), x.sigmoid())
    assert torch.equal(BCEWithLogitsLossFlat(thresh=.7).decodes(x.sigmoid()), x.sigmoid()>.7)
    for f in (MSELossFlat(), L1LossFlat(), BCELossFlat()): assert f.decodes(f.activation(x)) is x and not f.y_int

@pytest.mark.parametrize('cls', [*FLAT, LabelSmoothingCrossEntropy, FocalLoss, DiceLoss])
def test_copied_and_pickled_they_are_the_same(cls):
    f = cls(reduction='sum')
    pred,targ = (torch.rand(4, 3), torch.rand(4, 3)) if cls in NUMBERS else scores(4)
    for g in (deepcopy(f), pickle.loads(pickle.dumps(f))):
        assert g.reduction=='sum' and torch.equal(g(pred, targ), f(pred, targ)) and cls.__name__ in repr(g)

@covering(2, reduction=REDUCTIONS, gamma=[0, .5, 1, 2, 5], weighted=[False, True])
def test_focal_loss_by_the_papers_equation(gamma, weighted, reduction):
    pred,targ = scores(6, 4)
    w = torch.tensor([.2, 1., 3.]) if weighted else None
    loss,alpha = focal(pred, targ, gamma, w)
    want = dict(none=loss, sum=loss.sum(), mean=loss.sum()/alpha.sum())[reduction]
    for f in (FocalLoss(gamma, w, reduction), FocalLossFlat(gamma=gamma, weight=w, reduction=reduction, axis=1)):
        torch.testing.assert_close(f(pred, targ).double().flatten(), want.flatten(), rtol=1e-5, atol=1e-6)  # float32

@pytest.mark.parametrize('weighted', [False, True])
def test_focal_loss_without_gamma_is_cross_entropy_ignored_items_and_all(weighted):
    pred,targ = scores(6)
    targ[2],w = -100,torch.tensor([1., 2., 3.]) if weighted else None
    torch.testing.assert_close(FocalLoss(0, w)(pred, targ), F.cross_entropy(pred, targ, w))

@pytest.mark.parametrize('gamma', [.5, 1, 2])
def test_focal_loss_has_finite_gradients_where_it_is_certain(gamma):
    pred = torch.tensor([[200., 0.], [0., 200.]], requires_grad=True)
    FocalLoss(gamma)(pred, torch.zeros(2, dtype=torch.long)).backward()
    assert torch.isfinite(pred.grad).all()

def test_focal_loss_refuses():
    with pytest.raises(ValueError, match='gamma is -1'): FocalLoss(-1)
    with pytest.raises(TypeError, match='indices of classes'): FocalLoss()(torch.zeros(2, 3), torch.zeros(2, 3))

def test_weights_of_yes_or_no_classes_keep_the_shape():
    pred,targ,w = torch.randn(4, 3),torch.randint(2, (4, 3)),torch.tensor([1., 2., 3.])
    for k in ('weight', 'pos_weight'):
        assert torch.equal(BCEWithLogitsLossFlat(**{k:w})(pred, targ), F.binary_cross_entropy_with_logits(pred, targ.float(), **{k:w}))
    with pytest.raises(ValueError, match='weights are by class'): BCEWithLogitsLossFlat(pos_weight=w, flatten=True)

@pytest.mark.parametrize('square', [False, True])
def test_dice_loss_by_closed_form(square):
    pred,targ = scores(2, 4, 5)
    p = pred.softmax(1)
    loss = DiceLoss(reduction='none', square_in_union=square)(pred, targ)
    for i in range(2):
        for c in range(3):
            t = (targ[i]==c).float()
            areas = (p[i,c]**2 if square else p[i,c]).sum() + t.sum()
            torch.testing.assert_close(loss[i,c], 1-2*(p[i,c]*t).sum()/areas, atol=1e-5, rtol=1e-5)  # without `smooth`
    for r in ('mean', 'sum'): torch.testing.assert_close(DiceLoss(reduction=r, square_in_union=square)(pred, targ), getattr(loss, r)())
    torch.testing.assert_close(DiceLoss(axis=-1, square_in_union=square)(pred.movedim(1, -1), targ), loss.sum())  # fastai's default
    with pytest.raises(ValueError, match='without axis 1'): DiceLoss()(pred, targ[:,None])
