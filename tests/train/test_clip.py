"Clipping, compared to PyTorch's and to the equation of the paper"
import math
import pytest, torch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils import clip_grad_norm_, clip_grad_value_
from torch.testing import assert_close
from helpers import LR, act, listener, mk_model, same, weights
from learnloop.train.clip import *
from test_training import data, fitted

@pytest.mark.parametrize('norm_type', [1., 2., math.inf])
@pytest.mark.parametrize('algorithm', ['norm', 'value'])
def test_clipping_matches_pytorch(algorithm, norm_type):
    bs = data([4]*3)
    learn = fitted(bs, GradientClip(.3, norm_type, algorithm))
    m = mk_model()
    for x,y in bs:
        m.zero_grad()
        F.mse_loss(m(x), y).backward()
        norm = clip_grad_norm_(m.parameters(), .3 if algorithm=='norm' else math.inf, norm_type)
        if algorithm=='value': clip_grad_value_(m.parameters(), .3)
        with torch.no_grad():
            for p in m.parameters(): p.add_(p.grad, alpha=-LR)
    assert same(learn.model, m) and torch.equal(learn.gradient_clip.grad_norm, norm)

@pytest.mark.parametrize('shape', [(), (5,), (3, 4), (3, 2, 3, 3)], ids=str)
def test_adaptive_clipping_is_equation_3(shape):
    torch.manual_seed(0)
    p = nn.Parameter(torch.randn(shape))
    with torch.no_grad(): (p if p.dim()<2 else p[0]).zero_()  # the norm of zeros counts as eps
    p.grad = g = torch.randn(shape)*.05
    units = [((), ())] if p.dim()<2 else [((i,), (i,)) for i in range(len(p))]
    want = g.clone()
    for i,_ in units:
        w,n = max(p[i].norm().item(), 1e-3),g[i].norm().item()
        if n/w>.01: want[i] = g[i]*(.01*w/n)
    clip_grad_adaptive_([p])
    assert_close(p.grad, want, rtol=1e-5, atol=0)
    assert not torch.equal(want, torch.zeros(shape)) and p.grad is g

@pytest.mark.parametrize('skip', [False, True])
def test_gradients_that_are_not_finite(skip):
    "Clipping spreads them, as torch's does, unless such steps are skipped"
    bs = data([4]*3)
    bs[1] = bs[1][0]*math.inf,bs[1][1]
    learn = fitted(bs, GradientClip(skip_nonfinite=skip))
    assert all(w.isfinite().all() for w in weights(learn.model))==skip and learn.count.opt_steps==3-skip
    if skip: assert same(learn.model, fitted([bs[0], bs[2]], GradientClip()).model)

def test_clipping_without_gradients():
    for o in ('norm', 'value', 'adaptive'):
        stop = listener('stop', ['before_backward'], lambda cb, e: act(cb, 'CancelBackwardException'))
        assert same(fitted(data([4]), stop, GradientClip(algorithm=o)).model, mk_model())

@pytest.mark.parametrize('kw', [dict(algorithm='l2'), dict(max_norm=0), dict(max_norm=-1.), dict(max_norm='1')], ids=str)
def test_clipping_checks_its_arguments(kw):
    with pytest.raises(ValueError, match=next(iter(kw))): GradientClip(**kw)
