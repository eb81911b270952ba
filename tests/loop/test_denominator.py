"Parts of a batch make the step of the whole, or the loss function is named"
import math, os, pytest, threading, torch, warnings
from helpers import Module, silent
from learnloop import Callback, DataLoaders, GradientAccumulation, Learner, MicroBatch, Perplexity
from means import C, DECLARED, KNOWN, MEANS, REFUTED, T, W, apart, by_hand, cut, fitted, main, mk, mk_data, noisy, sizes_of, trimmed
from learnloop.loop.denominator import known_denominator
from torch import nn
from torch.nn import functional as F

N,SEEDS = 17,range(3 if os.environ.get('ALL_CASES') else 1)
WAYS = dict(accumulated=lambda k, n: [GradientAccumulation(n_batches=k)], counted=lambda k, n: [GradientAccumulation(N)],
    parts=lambda k, n: [MicroBatch(n)], both=lambda k, n: [MicroBatch(n), GradientAccumulation(n_batches=k)])

def drawn(name, table, way, seed):
    "Return a loss function, its kind of data, a batch, a drawn split of it, and callbacks"
    g = torch.Generator().manual_seed(seed)
    make,kind = table[name]
    whole = mk_data(kind, N, g)
    k = 1 if way=='parts' else 2+seed%4
    batches = cut(whole, sizes_of(N, k, g))
    if kind=='ragged': batches = [*map(trimmed, batches)]
    return make,kind,whole,batches,WAYS[way](k, 2+seed%3)

@pytest.mark.every(2)
@pytest.mark.parametrize('way', WAYS)
@pytest.mark.parametrize('name', [*KNOWN, *MEANS])
def test_parts_make_the_step_of_the_whole(name, way):
    for seed in SEEDS:
        make,kind,whole,batches,cbs = drawn(name, KNOWN|MEANS, way, seed)
        learn,said = fitted(make(), kind, batches, cbs)
        net,before,_ = by_hand(make(), kind, whole)
        assert not said, said
        assert apart(learn.model, net)<1e-9
        if way=='parts': assert learn.recorder.values[0][0]==pytest.approx(before, rel=1e-6)
        elif kind!='bf16': assert learn.recorder.values[0][0]==pytest.approx(before, rel=1e-5)

@pytest.mark.every(2, 1)
@pytest.mark.parametrize('name', [*KNOWN, *MEANS])
def test_evaluating_batches_gives_the_loss_of_the_whole(name):
    make,kind = (KNOWN|MEANS)[name]
    for seed in SEEDS:
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
    for seed in SEEDS:
        for way in WAYS:
            make,kind,_,batches,cbs = drawn(name, REFUTED, way, seed)
            _,said = fitted(make(), kind, batches, cbs)
            assert name in said and said.startswith('refused')==('MicroBatch' in str(cbs)), (way, said)
            assert said.count('not a mean over items')==1
        make,kind,_,batches,_ = drawn(name, REFUTED, 'accumulated', seed)
        learn = mk(make(), kind, batches)
        with pytest.warns(UserWarning, match=f'Evaluation: the loss function .*{name}'): learn.validate(dl=batches)
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

@pytest.mark.every(2)
@pytest.mark.parametrize('name', [k for k in KNOWN if 'sum' not in k and 'total' not in k and k not in ('dice', 'ctc', 'ctc_function')])
def test_the_loss_of_an_item_is_that_of_a_batch_of_one(name):
    make,kind = KNOWN[name]
    whole = mk_data(kind, N, torch.Generator().manual_seed(1))
    learn = mk(make(), kind, [whole])
    losses = learn.get_preds(dl=cut(whole, [9, 8]), with_loss=True)[-1]
    one = [main(make()(learn.model(x), *y)).item() for x,*y in cut(whole, [1]*N)]
    assert losses.tolist()==pytest.approx([0. if math.isnan(o) else o for o in one], rel=1e-6)

def test_losses_that_draw_random_numbers_are_not_refuted_for_that_and_draw_the_same():
    for f in (noisy, lambda p, y: F.mse_loss(F.dropout(p), y)):
        learn = mk(f, 'numbers', cut(mk_data('numbers', N, torch.Generator().manual_seed(0)), [8, 9]))
        torch.manual_seed(0)
        learn.fit(1, cbs=GradientAccumulation(n_batches=2))
        twin = mk(f, 'numbers', learn.dls.train, denominator='items')
        torch.manual_seed(0)
        twin.fit(1, cbs=GradientAccumulation(n_batches=2))
        assert apart(learn.model, twin.model)==0

def test_a_term_whose_weight_grows_later_is_found():
    scale = dict(w=0.)
    def late(p, y): return F.mse_loss(p, y)+scale['w']*F.mse_loss(p, y).sqrt()
    learn = mk(late, 'numbers', cut(mk_data('numbers', 40, torch.Generator().manual_seed(0)), [4]*10))
    def warm_up(cb): scale['w'] = .1*(cb.learn.iter>2)
    with pytest.raises(ValueError, match='MicroBatch: the loss function .*late is not a mean'):
        learn.fit(1, cbs=[MicroBatch(2), Callback(before_batch=warm_up)])

@pytest.mark.parametrize('name', ['ce_weights', 'ragged', 'total', 'mse'])
def test_an_interrupted_accumulation_window_resumes(name, tmp_path):
    make,kind = KNOWN[name]
    batches = cut(mk_data(kind, 20, torch.Generator().manual_seed(3)), [3, 6, 2, 9])
    def stop(cb):
        if cb.learn.n_done!=2: return
        cb.learn.save_checkpoint(tmp_path)
        raise RuntimeError('stopped')
    one = mk(make(), kind, batches, GradientAccumulation(n_batches=4))
    one.fit(1)
    learn = mk(make(), kind, batches, GradientAccumulation(n_batches=4))
    with pytest.raises(RuntimeError, match='stopped'): learn.fit(1, cbs=Callback(name='stop', between_batches=stop))
    again = mk(make(), kind, batches, GradientAccumulation(n_batches=4))
    again.fit(1, resume=tmp_path, accept=['callbacks'])
    assert again.count.opt_steps==1 and apart(one.model, again.model)<1e-12

def test_parts_of_the_loss_have_denominators_of_their_own():
    def both(p, y): return dict(loss=F.cross_entropy(p, y, W), plain=F.cross_entropy(p, y))
    both.denominator = lambda p, y: dict(loss=W[y].sum())
    whole = mk_data('classes', N, torch.Generator().manual_seed(0))
    batches = cut(whole, [3, 5, 9])
    learn = mk(both, 'classes', batches)
    scores = learn.validate(dl=batches)
    want = both(learn.model(whole[0]), whole[1])
    assert scores[0]==pytest.approx(want['loss'].item()) and scores[1]==pytest.approx(want['plain'].item())
    def odd(p, y): return dict(loss=F.mse_loss(p, y), root=F.mse_loss(p, y).sqrt())
    learn,said = fitted(odd, 'numbers', cut(mk_data('numbers', N, torch.Generator().manual_seed(0)), [3, 5, 9]), MicroBatch(2))
    assert "the part 'root' of the loss function" in said

def test_micro_batches_name_modules_with_batch_statistics():
    learn = mk(F.cross_entropy, 'classes', [mk_data('classes', 16, torch.Generator().manual_seed(0))])
    learn.model.lin = nn.Sequential(nn.Linear(5, 4), nn.BatchNorm1d(4)).double()
    with pytest.warns(UserWarning, match='lin.1 .*as batch norm does'): learn.fit(1, cbs=MicroBatch(4))

@pytest.mark.parametrize('said', [3, 'steps', [1]])
def test_a_denominator_is_checked(said):
    with pytest.raises(ValueError, match='denominator is'): mk(F.mse_loss, 'numbers', [], denominator=said)

class Tokens(Module):
    "A model that computes its loss: of the next token, or of each"
    def __init__(self, how):
        self.how,self.emb,self.lin = how,nn.Embedding(9, 5),nn.Linear(5, 9)
        nn.init.zeros_(self.lin.weight)  # untrained: all losses are alike
    def forward(self, ids, labels, num_items_in_batch=None):
        out = self.lin(self.emb(ids))
        x,y = (out[:, :-1], labels[:, 1:]) if self.how=='next' else (out, labels)
        w = torch.arange(9).to(out)+1 if self.how=='odd' else None
        return dict(loss=F.cross_entropy(x.flatten(0, 1), y.flatten(), w), logits=out)

@pytest.mark.parametrize('how', ['next', 'each', 'odd'])
def test_models_that_compute_their_loss(how):
    torch.manual_seed(0)
    ids = torch.randint(9, (N, T))
    batches = [dict(ids=o, labels=o.masked_fill(torch.rand(o.shape)<.3, -100)) for o in ids.split([2, 7, 8])]
    whole = {k:torch.cat([b[k] for b in batches]) for k in batches[0]}
    def mk_own(dl, *cbs):
        torch.manual_seed(0)
        return silent(Learner(DataLoaders(dl, dl, device='cpu'), Tokens(how).double(), None, torch.optim.SGD, lr=1., cbs=cbs))
    one,many = mk_own([whole]),mk_own(batches, GradientAccumulation(n_batches=3))
    with warnings.catch_warnings(record=True, action='always') as ws:
        one.fit(3)
        many.fit(3)
    if how=='odd': assert sum('the loss that Tokens returns' in str(o.message) for o in ws)==1
    else:
        assert not ws and apart(one.model, many.model)<1e-7
        assert one.recorder.values[-1][1]==pytest.approx(many.recorder.values[-1][1], rel=1e-6)

@pytest.mark.parametrize('of,why', [('mine', 'could not be tested on parts of a batch, as the model has hooks'), ('transformers.utils', 'is not a mean')])
def test_the_loss_of_a_model_with_hooks_is_not_tested_and_a_warning_says_so(of, why):
    model,ids = Tokens('odd'),torch.randint(9, (8, T))
    def hook(m, inp, out): pass
    hook.__module__ = of
    model.lin.register_forward_hook(hook)
    learn = Learner(DataLoaders([dict(ids=o, labels=o) for o in ids.split(4)], device='cpu'), model, None, torch.optim.SGD, cbs=GradientAccumulation(n_batches=2))
    with learn.no_logging(), pytest.warns(UserWarning, match=f'the loss that Tokens returns {why}'): learn.fit(1)

class Memory(Module):
    "A model with every kind of state; each call changes it, even in evaluation"
    def __init__(self, own):
        self.lin,self.own,self.last,self.log,self.g = nn.Linear(6, C),own,torch.zeros(6),[],torch.Generator().manual_seed(0)
        self.register_buffer('mean', torch.zeros(6))
    def forward(self, x, y=None):
        self.mean.lerp_(x.mean(0), .5)
        self.last = self.last/2+x.mean(0)+torch.rand(6, generator=self.g)
        pred = self.lin(x+self.mean+self.last)
        return self.loss(pred, y) if self.own else pred
    def loss(self, pred, y):
        self.log.append(len(y))
        return (1+len(self.log)/99)*F.cross_entropy(pred, y)

@pytest.mark.parametrize('how', ['model', 'method', 'lambda', 'locked'])
def test_a_probe_leaves_the_model_and_the_loss_function_as_they_are(how):
    lock = threading.Lock()
    def mk_one(**kwargs):
        torch.manual_seed(0)
        model = Memory(how=='model')
        def locked(pred, y):
            with lock: return model.loss(pred, y)
        loss = dict(model=None, method=model.loss, locked=locked).get(how, lambda pred, y: model.loss(pred, y))
        batches = [dict(x=torch.randn(n, 6), y=torch.randint(C, (n,))) for n in (8, 9, 8, 8)]
        if how!='model': batches = [(*o.values(),) for o in batches]
        learn = Learner(DataLoaders(batches, batches, device='cpu'), model, loss, torch.optim.SGD, lr=.1, cbs=GradientAccumulation(n_batches=2), **kwargs)
        with learn.no_logging(): learn.fit(2)
        return model
    with pytest.warns(UserWarning, match='cannot be copied' if how=='locked' else 'not a mean over items'): model = mk_one()
    want = mk_one(denominator='items')
    assert model.log==want.log and torch.equal(model.last, want.last) and torch.equal(model.g.get_state(), want.g.get_state())
    assert all(map(torch.equal, model.state_dict().values(), want.state_dict().values()))

def test_a_loss_function_may_refer_to_a_module_in_its_closure():
    lib,batches = F,[(torch.randn(n, 6), torch.randint(C, (n,))) for n in (8, 5)]
    learn = Learner(batches, nn.Linear(6, C), lambda pred, y: lib.cross_entropy(pred, y), torch.optim.SGD, cbs=GradientAccumulation(n_batches=2))
    with learn.no_logging(): learn.fit(1)  # without the warning that the loss can't be tested

def test_each_loss_of_torch_has_a_known_denominator():
    left_out = {'NLLLoss2d'}  # another name of NLLLoss
    args = dict(LinearCrossEntropyLoss=(4, C), AdaptiveLogSoftmaxWithLoss=(4, 10, [5]))
    losses = {k:getattr(nn, k)(*args.get(k, ())) for k in dir(nn) if k.endswith('Loss') and k not in left_out}
    assert [k for k,o in losses.items() if known_denominator(o) is None]==['AdaptiveLogSoftmaxWithLoss'], 'its output is no loss'

def test_linear_cross_entropy_counts_the_targets_that_are_not_ignored():
    torch.manual_seed(0)
    x,y = torch.randn(9, 4),torch.tensor([0, 1, 2, 0, 0, 2, 1, 0, 1])
    def trained(cbs):
        torch.manual_seed(1)
        learn = silent(Learner([(x, y)]*2, nn.Linear(4, 4), nn.LinearCrossEntropyLoss(4, 3, ignore_index=0), torch.optim.SGD, lr=.1))
        learn.fit(1, cbs=cbs)
        return learn.model.weight
    torch.testing.assert_close(trained([MicroBatch(2)]), trained([]))
