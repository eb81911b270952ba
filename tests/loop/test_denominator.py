"Parts of a batch make the step of the whole, or the loss function is named"
import math, warnings
import pytest, torch
from learnloop import GradientAccumulation, MicroBatch, Perplexity
from means import DECLARED, KNOWN, MEANS, REFUTED, W, apart, by_hand, cut, fitted, main, mk, mk_data, sizes_of, trimmed

N = 17
WAYS = dict(accumulated=lambda k, n: [GradientAccumulation(n_batches=k)], counted=lambda k, n: [GradientAccumulation(N)],
    parts=lambda k, n: [MicroBatch(n)], both=lambda k, n: [MicroBatch(n), GradientAccumulation(n_batches=k)])

def drawn(name, table, way, seed):
    "The learner that fits the batches of a drawn split, what it said, and the whole"
    g = torch.Generator().manual_seed(seed)
    make,kind = table[name]
    whole = mk_data(kind, N, g)
    k = 1 if way=='parts' else 2+seed%4
    batches = cut(whole, sizes_of(N, k, g))
    if kind=='ragged': batches = [*map(trimmed, batches)]
    return make,kind,whole,batches,WAYS[way](k, 2+seed%3)

@pytest.mark.parametrize('way', WAYS)
@pytest.mark.parametrize('name', [*KNOWN, *MEANS])
def test_parts_make_the_step_of_the_whole(name, way):
    for seed in range(3):
        make,kind,whole,batches,cbs = drawn(name, KNOWN|MEANS, way, seed)
        learn,said = fitted(make(), kind, batches, cbs)
        net,before,_ = by_hand(make(), kind, whole)
        assert not said, said
        assert apart(learn.model, net)<1e-9
        if way=='parts': assert learn.recorder.values[0][0]==pytest.approx(before, rel=1e-6)
        elif kind!='bf16': assert learn.recorder.values[0][0]==pytest.approx(before, rel=1e-5)

@pytest.mark.parametrize('name', [*KNOWN, *MEANS])
def test_an_evaluation_of_batches_is_that_of_the_whole(name):
    make,kind = (KNOWN|MEANS)[name]
    for seed in range(3):
        g = torch.Generator().manual_seed(seed)
        whole = mk_data(kind, N, g)
        batches = cut(whole, sizes_of(N, 4, g))
        if kind=='ragged': batches = [*map(trimmed, batches)]
        learn = mk(make(), kind, batches, metrics=Perplexity())
        want = main(make()(learn.model(whole[0]), *whole[1:])).item()
        loss,perplexity,*_ = learn.validate(dl=batches)
        assert loss==pytest.approx(want, rel=1e-6) and perplexity==pytest.approx(math.exp(min(want, 700)), rel=1e-4)

@pytest.mark.parametrize('name', REFUTED)
def test_a_loss_that_is_no_known_mean_is_named(name):
    for seed in range(2):
        for way in WAYS:
            make,kind,_,batches,cbs = drawn(name, REFUTED, way, seed)
            _,said = fitted(make(), kind, batches, cbs)
            assert name in said and said.startswith('refused')==('MicroBatch' in str(cbs)), (way, said)
            assert said.count('no mean over items')==1
        make,kind,_,batches,_ = drawn(name, REFUTED, 'accumulated', seed)
        learn = mk(make(), kind, batches)
        with pytest.warns(UserWarning, match=f'Evaluation: the loss function .*{name}'): learn.validate(dl=batches)
        with warnings.catch_warnings():
            warnings.simplefilter('error')
            learn.validate(dl=batches)  # once
            for o in ('batches', 'items', 'sum'): mk(make(), kind, batches, denominator=o).validate(dl=batches)

@pytest.mark.parametrize('name', DECLARED)
def test_a_declared_denominator_makes_them_right(name):
    make,kind = REFUTED[name]
    f,how = make(),DECLARED[name]
    if not how: f.denominator = lambda p, y: W.bfloat16()[y].sum(dtype=torch.float64)
    try:
        for way in WAYS:
            _,_,whole,batches,cbs = drawn(name, REFUTED, way, 1)
            learn,said = fitted(f, kind, batches, cbs, **how)
            net,_,after = by_hand(f, kind, whole)
            assert not said and apart(learn.model, net)<(1e-9 if kind!='bf16' else 1e-2)
            if kind!='bf16': assert learn.validate(dl=batches)[0]==pytest.approx(after, rel=1e-6)
    finally: vars(f).pop('denominator', None)
