"Runs with a planted change: `diff_runs` finds its step and its kind"
import random
from contextlib import suppress
from functools import cache, partial
from itertools import permutations
import pytest, torch
from torch import nn
from torch.nn import functional as F
from helpers import covering
from learnloop import (Callback, CancelBackwardException, CancelBatchException, CancelFitException, CancelStepException,
    Fingerprint, Learner, TrainEvalCallback, diff_runs, set_seed)
from learnloop.app.cli import main
from learnloop.see import fingerprint as fp

N,DETAIL = 24,6

def at(when, k, f):
    "Return a callback that calls `f` at the event `when` of batch `k`, from 1 on"
    def run(cb):
        if cb.learn.count.batches+1==k and cb.learn.training: f(cb)
    return Callback('planted', **{when:run})

def mk_model(): return nn.Sequential(nn.Linear(3, 6), nn.BatchNorm1d(6), nn.ReLU(), nn.Dropout(.3), nn.Linear(6, 2))

def mk_batches(n=N): return [(torch.randn(5, 3), torch.randn(5, 2)) for _ in range(n)]

def fit(path, cbs=(), opt=torch.optim.AdamW, seed=0, n_epoch=1, batches=None, model=None, every=1, change=None, loss=F.mse_loss, lr=.01, **kwargs):
    set_seed(seed)
    model = model or mk_model()
    batches = batches or mk_batches()
    if change: change(model, batches)
    own = [TrainEvalCallback(), Fingerprint(every_steps=every, detail=DETAIL, **kwargs)]
    learn = Learner((batches, None), model, loss, opt_func=opt, lr=lr, path=path, cbs=[*own, *cbs], default_cbs=False)
    learn.fit(n_epoch)
    return learn

def edit(get, cb):
    with torch.no_grad(): get(cb).view(-1)[1] += 1e-3

def lasts(when, k, f):
    "Return a callback that calls `f` at the event `when` of batch `k`, and what `f` returned at the end of the batch"
    def begin(cb):
        if cb.learn.count.batches+1==k: cb.undo = f(cb)
    def end(cb): vars(cb).pop('undo', lambda: None)()
    return Callback('planted', **{when:begin}, cleanup_batch=end)

def setting(k, get, nm, v, when='before_batch'):
    "Return a callback that sets the attribute or key `nm` of `get(cb)` to `v`, in batch `k` alone"
    def begin(cb):
        o = get(cb)
        o = o if isinstance(o, dict) else vars(o)
        was,o[nm] = o[nm],v
        return partial(o.__setitem__, nm, was)
    return lasts(when, k, begin)

def weight(cb): return cb.learn.model[0].weight
def cancel(exc):
    def f(cb): raise exc
    return f

def swap(cb): cb.learn.xb = (cb.learn.xb[0][[1, 0, *range(2, 5)]],)
def draw(cb): torch.rand(1)
def draw_python(cb): random.random()
def noise(cb): cb.learn.xb = (cb.learn.xb[0]+torch.randn_like(cb.learn.xb[0])*1e-6,)
def targets(cb): edit(lambda cb: cb.learn.yb[0], cb)
def grad(cb): edit(lambda cb: weight(cb).grad, cb)
def double_grads(cb):
    for p in cb.learn.model.parameters(): p.grad.mul_(2)
def scaled(cb): cb.learn.loss_grad = cb.learn.loss_grad*1.5
def state(cb): return next(v for v in cb.learn.opt.state[weight(cb)].values() if torch.is_tensor(v) and v.dim())
def group(cb): return cb.learn.opt.param_groups[0]
def module(i, cb): return cb.learn.model[i]
def rounded(cb):
    def hook(m, args, res): return res.bfloat16().float()
    h = cb.learn.model.register_forward_hook(hook)
    return h.remove
def other_loss(cb):
    was,cb.learn.loss_func = cb.learn.loss_func,F.l1_loss
    return lambda: setattr(cb.learn, 'loss_func', was)

# By name: the kind to find, and a function of the step that returns the callback
PLANTED = {
    'an item of a batch':      ('batch', lambda k: at('before_batch', k, partial(edit, lambda cb: cb.learn.xb[0]))),
    'a target':                ('batch', lambda k: at('before_batch', k, targets)),
    'two items swapped':       ('batch', lambda k: at('before_batch', k, swap)),
    'an augmentation':         ('batch', lambda k: at('before_batch', k, noise)),
    'a draw':                  ('random numbers', lambda k: at('before_batch', k, draw)),
    'a draw in Python':        ('random numbers', lambda k: at('before_batch', k, draw_python)),
    'a weight':                ('weights', lambda k: at('before_batch', k, partial(edit, weight))),
    'a weight after the step': ('weights', lambda k: at('after_step', k, partial(edit, weight))),
    'a weight by its data':    ('weights', lambda k: at('before_batch', k, lambda cb: weight(cb).data.view(-1)[1:2].add_(1e-3))),
    'a buffer by its data':    ('buffers', lambda k: at('before_batch', k, lambda cb: module(1, cb).running_mean.data[1:2].add_(1e-3))),
    'a buffer':                ('buffers', lambda k: at('before_batch', k, partial(edit, lambda cb: module(1, cb).running_mean))),
    'a buffer at the end':     ('buffers', lambda k: at('after_opt_step', k, partial(edit, lambda cb: module(1, cb).running_var))),
    'momentum of a norm':      ('buffers', lambda k: setting(k, partial(module, 1), 'momentum', .2)),
    'dropout':                 ('loss', lambda k: setting(k, partial(module, 3), 'p', .9)),
    'dropout off':             ('loss', lambda k: setting(k, partial(module, 3), 'training', False)),
    'precision':               ('loss', lambda k: lasts('before_batch', k, rounded)),
    'a loss function':         ('loss', lambda k: lasts('before_batch', k, other_loss)),
    'a cancelled batch':       ('loss', lambda k: at('before_batch', k, cancel(CancelBatchException))),
    'a gradient':              ('gradients', lambda k: at('after_backward', k, grad)),
    'gradients twice as large':('gradients', lambda k: at('before_step', k, double_grads)),
    'the loss to go back from':('gradients', lambda k: at('after_loss', k, scaled)),
    'no backward pass':        ('gradients', lambda k: at('before_backward', k, cancel(CancelBackwardException))),
    'no step':                 ('weights', lambda k: at('before_step', k, cancel(CancelStepException))),
    'lr':                      ('weights', lambda k: setting(k, group, 'lr', .02)),
    'lr just before the step': ('weights', lambda k: setting(k, group, 'lr', .02, 'before_step')),
    'weight decay':            ('weights', lambda k: setting(k, group, 'weight_decay', .5)),
    "the optimizer's state":   ('optimizer state', lambda k: at('after_opt_step', k, partial(edit, state)))}

def cases():
    r = random.Random(19)
    return [(nm, r.randrange(1, N+1), r.choice(['AdamW','SGD'])) for nm in PLANTED]

OPTS = dict(AdamW=torch.optim.AdamW, SGD=partial(torch.optim.SGD, momentum=.9, weight_decay=.01))

@pytest.fixture(scope='module')
def unchanged(tmp_path_factory):
    "Make a run without a change, once for each optimizer; return a function that returns its folder"
    @cache
    def made(opt):
        fit(folder := tmp_path_factory.mktemp(opt), [Callback('planted', before_batch=lambda cb: None)], OPTS[opt])
        return folder
    return made

@pytest.mark.every(2)
@pytest.mark.parametrize('name, k, opt', cases())
def test_a_planted_change_is_found(name, k, opt, unchanged, tmp_path):
    kind,mk = PLANTED[name]
    fit(tmp_path, [mk(k)], OPTS[opt])
    res = diff_runs(unchanged(opt), tmp_path)
    assert (res.step, res.kind)==(k, kind), str(res)

def test_runs_that_differ_from_the_start(tmp_path):
    fit(tmp_path/'a')
    fit(tmp_path/'b', change=lambda model, batches: model[4].weight.data.mul_(2))
    res = diff_runs(tmp_path/'a', tmp_path/'b')
    assert (res.step, res.kind, res.tensor)==(1, 'weights', '4.weight') and str(res).startswith('Different from the start: the weights')
    fit(tmp_path/'c', seed=1)
    assert (diff_runs(tmp_path/'a', tmp_path/'c').step, diff_runs(tmp_path/'a', tmp_path/'c').kind)==(1, 'weights')

def test_weights_that_have_changed_places(tmp_path):
    def run(path, turned):
        torch.manual_seed(5)
        a,b = nn.Linear(3, 3, bias=False),nn.Linear(3, 3, bias=False)
        fit(path, model=nn.Sequential(b, a, nn.Linear(3, 2)) if turned else nn.Sequential(a, b, nn.Linear(3, 2)))
    run(tmp_path/'a', False)
    run(tmp_path/'b', True)
    res = diff_runs(tmp_path/'a', tmp_path/'b')
    assert (res.step, res.kind, res.tensor)==(1, 'weights', '0.weight')

@pytest.mark.every(2)
@pytest.mark.parametrize('when,exc,said', [('before_batch', CancelBatchException, ' and the weights were the same, but the batch was cancelled'), ('after_opt_step', ValueError, ' and the weights were the same, but the batch failed'),
    ('after_loss', CancelBatchException, ', the weights and the loss were the same, but the batch was cancelled'),
    ('before_step', CancelStepException, ', the weights, the loss and the gradients were the same, but the batch made no optimizer step')])
def test_a_batch_that_ended_early_in_one_run_is_named(when, exc, said, tmp_path):
    fit(tmp_path/'a')
    with suppress(ValueError): fit(tmp_path/'b', [at(when, 7, cancel(exc('planted')))])
    for pair in permutations('ab'):
        text = str(diff_runs(*(tmp_path/o for o in pair)))
        assert f'in step 7 the batch{said} in one of the runs.' in text

def test_unused_generators_do_not_matter(tmp_path):
    def start(seed): return Callback(before_fit=lambda cb: random.seed(seed))
    def draws(seed): return [start(seed), at('before_batch', 7, lambda cb: edit_by(random.random()*1e-3, cb))]
    def edit_by(v, cb): cb.learn.xb = (cb.learn.xb[0]+v,)
    fit(tmp_path/'a', [start(1)])
    fit(tmp_path/'b', [start(2)])
    assert diff_runs(tmp_path/'a', tmp_path/'b').equal
    for i in (1, 2): fit(tmp_path/f'{i}', draws(i))
    res = diff_runs(tmp_path/'1', tmp_path/'2')
    assert (res.step, res.kind)==(7, 'batch') and 'Random numbers also differed (python)' in str(res)

def test_dropout_from_another_seed(tmp_path):
    for i in (1, 2): fit(tmp_path/f'{i}', [Callback(before_fit=lambda cb, i=i: torch.manual_seed(i))])
    res = diff_runs(tmp_path/'1', tmp_path/'2')
    assert (res.step, res.kind)==(1, 'random numbers') and '(torch)' in str(res)

def test_hyper_parameters_that_differ_are_named(tmp_path):
    fit(tmp_path/'a')
    fit(tmp_path/'b', [setting(5, group, 'lr', .5)])
    assert 'lr was 0.01 and 0.5' in str(diff_runs(tmp_path/'a', tmp_path/'b'))

# ---- changes between two steps

def data(get): return lambda cb: get(cb).data.view(-1)[1:2].add_(1e-3)
def in_place(get): return partial(edit, get)
def bias(cb): return cb.learn.model[4].bias
def var(cb): return cb.learn.model[1].running_var
def avg(cb): return cb.learn.opt.state[bias(cb)]['exp_avg']

@covering(what=[(bias, 'weights', '4.bias'), (var, 'buffers', '1.running_var'), (avg, 'optimizer state', 'exp_avg of 4.bias')], how=[data, in_place],
    place=[('before_batch', 8, 8, True), ('between_batches', 8, 8, True), ('before_batch', N, N, True), ('after_epoch', 0, N+1, True),
        ('before_train', N+1, N+1, True), ('after_batch', 8, 8, False), ('after_batch', N, N, False)])
def test_a_change_between_steps_is_attributed_to_its_tensor(what, how, place, tmp_path):
    (get,kind,name),(when,k,step,early) = what,place
    def hit(cb):
        n = cb.learn.count.batches+(when!='after_batch')
        if n==k if when!='after_epoch' else not cb.learn.epoch: how(get)(cb)
    fit(tmp_path/'a', [Callback('planted', **{when:lambda cb: None})], n_epoch=2)
    fit(tmp_path/'b', [Callback('planted', **{when:hit})], n_epoch=2)
    res = diff_runs(tmp_path/'a', tmp_path/'b')
    assert (res.step, res.kind, res.tensor, res.early)==(step, kind, name, early), str(res)
    assert 'the optimizer' not in str(res).replace('the optimizer step', '').replace('optimizer state', '')

def test_large_tensors_are_compared_too(tmp_path):
    def model():
        torch.manual_seed(0)
        return nn.Sequential(nn.Linear(3, 300), nn.ReLU(), nn.Linear(300, 300), nn.Linear(300, 300), nn.Linear(300, 2))
    fit(tmp_path/'a', model=model())
    fit(tmp_path/'b', [at('before_batch', 8, data(lambda cb: module(3, cb).weight))], model=model())
    res = diff_runs(tmp_path/'a', tmp_path/'b')
    assert (res.step, res.kind, res.tensor)==(8, 'weights', '3.weight')

def test_a_forward_pass_with_the_same_loss(tmp_path):
    "Outputs of another sign, where all targets are 0"
    def swap(cb): cb.learn.pred = -cb.learn.pred
    equal = [(torch.randn(4, 3), torch.zeros(4, 2)) for _ in range(N)]
    fit(tmp_path/'a', batches=equal)
    fit(tmp_path/'b', [at('after_pred', 8, swap)], batches=equal)
    res = diff_runs(tmp_path/'a', tmp_path/'b')
    assert (res.step, res.kind)==(8, 'prediction') and 'as was the loss, but the prediction differed. The cause is the forward pass' in str(res)

# ---- files that aren't whole, and other models

def test_cut_and_damaged_files_are_reported(tmp_path):
    fit(tmp_path/'a')
    data = (tmp_path/'a/fingerprint.bin').read_bytes()
    whole = fp.FingerprintFile(data)
    for n in (len(data)-1, len(data)//2, whole.size-40, len(fp._MAGIC)+3):
        (tmp_path/'b.bin').write_bytes(data[:n])
        there = fp.read_fingerprint(tmp_path/'b.bin')
        if not len(there):
            with pytest.raises(ValueError, match=f'the last {there.lost:,} of its bytes'): diff_runs(tmp_path/'a', tmp_path/'b.bin')
            continue
        res = diff_runs(tmp_path/'a', tmp_path/'b.bin')
        assert res.equal and there.lost>0 and f'The file of B is cut or damaged: {there.lost:,} bytes' in str(res)
    r = random.Random(3)
    for _ in range(40):
        bad,i = bytearray(data),r.randrange(len(data))
        bad[i] ^= 1 << r.randrange(8)
        (tmp_path/'b.bin').write_bytes(bad)
        try: res = diff_runs(tmp_path/'a', tmp_path/'b.bin')
        except ValueError as e: assert any(o in str(e) for o in ('not a file of a Fingerprint', 'of another version', 'cut or damaged'))
        else: assert res.equal and 'cut or damaged' in str(res)
    (tmp_path/'b.bin').write_bytes(data.replace(b'fingerprint 3', b'fingerprint 2', 1))
    with pytest.raises(ValueError, match='from the Fingerprint of another version'): diff_runs(tmp_path/'a', tmp_path/'b.bin')

def test_other_models_and_runs_without_fingerprints(tmp_path):
    fit(tmp_path/'a')
    fit(tmp_path/'b', model=nn.Linear(3, 2))
    res = diff_runs(tmp_path/'a', tmp_path/'b')
    assert res.kind=='model' and res.tensor=='0.weight' and 'The models differ: 0.weight is torch.float32 (6, 3) in A, and not there in B' in str(res)
    fit(tmp_path/'c', model=nn.Sequential(nn.Linear(3, 7), nn.BatchNorm1d(7), nn.ReLU(), nn.Dropout(.3), nn.Linear(7, 2)))
    assert '(6, 3) in A, and torch.float32 (7, 3) in B' in str(diff_runs(tmp_path/'a', tmp_path/'c'))
    (tmp_path/'d').mkdir()
    with pytest.raises(FileNotFoundError, match='Fingerprint'): diff_runs(tmp_path/'a', tmp_path/'d')
    with pytest.raises(FileNotFoundError, match="b is '.*e': it must be the folder of a run that was fitted with a Fingerprint.*doesn't exist"): diff_runs(tmp_path/'a', tmp_path/'e')
    (tmp_path/'d/fingerprint.bin').write_bytes(b'something else')
    with pytest.raises(ValueError, match='not a file of a Fingerprint'): diff_runs(tmp_path/'a', tmp_path/'d')
    with pytest.raises(ValueError, match='tol=-1'): diff_runs(tmp_path/'a', tmp_path/'a', tol=-1)

def test_no_step_in_common(tmp_path):
    fit(tmp_path/'a', every=5)
    fit(tmp_path/'b', [at('after_batch', 4, cancel(CancelFitException))])
    with pytest.raises(ValueError, match='no step in common'): diff_runs(tmp_path/'a', tmp_path/'b')

# ---- near

def test_runs_that_differ_by_rounding_are_within_the_tolerance(tmp_path):
    def scale(model, batches):
        for p in model.parameters(): p.data.mul_(1+1e-7)
    fit(tmp_path/'a', opt=OPTS['SGD'])
    fit(tmp_path/'b', opt=OPTS['SGD'], change=scale)
    assert not diff_runs(tmp_path/'a', tmp_path/'b').equal
    near = diff_runs(tmp_path/'a', tmp_path/'b', tol=1e-3)
    assert near.equal and 'within the tolerance' in str(near)
    fit(tmp_path/'c', [at('before_step', 9, double_grads)], OPTS['SGD'], change=scale)
    res = diff_runs(tmp_path/'a', tmp_path/'c', tol=1e-4, yardstick=tmp_path/'b')
    assert (res.step, res.kind)==(9, 'gradients')
    assert '1e-7' in res.curve() and '<svg' in res.curve('weights')

# ---- the command

def test_the_exit_code_of_the_command_says_whether_runs_differ(tmp_path, capsys):
    fit(tmp_path/'a')
    fit(tmp_path/'b', [at('before_step', 3, double_grads)])
    main(['diff', str(tmp_path/'a'), str(tmp_path/'a')])
    assert capsys.readouterr().out=='Equal for all 24 steps that both have.\n'
    with pytest.raises(SystemExit) as e: main(['diff', str(tmp_path/'a'), str(tmp_path/'b')])
    assert e.value.code==1 and capsys.readouterr().out.startswith('Equal for 2 steps; in step 3 the batch, the weights')
    with pytest.raises(SystemExit) as e: main(['diff', str(tmp_path/'a'), str(tmp_path)])
    assert 'fingerprints of several runs' in capsys.readouterr().err
    with pytest.raises(SystemExit): main(['diff', str(tmp_path/'a'), str(tmp_path/'b'), '--tol', 'x'])
    assert 'tol' in capsys.readouterr().err
