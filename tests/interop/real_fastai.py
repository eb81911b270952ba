"fastai's own callbacks, unmodified, in learnloop's fit: they do their job, and see what they see in fastai's Learner"
import csv, importlib, itertools, math, pkgutil, random, sys
from functools import partial
from pathlib import Path
sys.path.insert(0, str(Path(__file__).parents[2]))
import fastai.callback, numpy as np, pytest, torch
from fastai.callback import all as fc
from fastai.callback.core import event
from fastai.data.core import DataLoaders as TheirDataLoaders
from fastai.learner import Learner as TheirLearner, Recorder as TheirRecorder
from fastai.losses import CrossEntropyLossFlat
from fastai.optimizer import OptimWrapper
from helpers import LR, TRAIN, VALID, mk_model, same, silent as quiet
from learnloop import DataLoaders, Learner
from learnloop.interop.fastai import FastAI
from torch import nn
from torch.nn import functional as F

pytestmark = pytest.mark.filterwarnings('ignore:.*weights_only', 'ignore::DeprecationWarning')
torch.set_num_threads(1)

def sgd(momentum=0.): return partial(torch.optim.SGD, momentum=momentum)
def ours(cbs=None, model=None, loss_func=F.mse_loss, dls=(TRAIN,VALID), opt=sgd, **kwargs):
    return Learner(DataLoaders(*dls), model or mk_model(), loss_func, opt(), lr=LR, cbs=cbs, **kwargs)
def theirs(cbs=None, model=None, loss_func=F.mse_loss, dls=(TRAIN,VALID), opt=sgd, **kwargs):
    "fastai's learner over the same torch optimizer, without its progress bar"
    learn = TheirLearner(TheirDataLoaders(*dls, device='cpu'), model or mk_model(), loss_func, partial(OptimWrapper, opt=opt()), lr=LR, cbs=cbs, **kwargs)
    return quiet(learn.remove_cb(fc.ProgressCallback))
def both(mk_cbs, n_epoch=3, seed=7, **kwargs):
    "Fit both learners with callbacks that `mk_cbs` makes"
    res = []
    for f in (ours, theirs):
        learn,cbs = quiet(f(**{k:v() if k in ('model','loss_func') else v for k,v in kwargs.items()})),mk_cbs()
        torch.manual_seed(seed)
        learn.fit(n_epoch, cbs=cbs)
        res += [learn, cbs]
    return res

# ---------------------------------------------------------------- TensorBoard, processes

# ---------------------------------------------------------------- traces
EVENTS = [o for o in vars(event) if o[0]!='_' and o!='after_create']

def seen(cb, e):
    "Return what the callback sees of the learner at event `e`, as comparable values"
    res = [e, cb.epoch, cb.n_epoch, cb.train_iter, round(cb.pct_train, 9)]
    if e.endswith('fit') or e.endswith('epoch'): return tuple(res)
    res += [cb.training, cb.n_iter if 'batch' in e else None, cb.dl is (cb.dls.train if cb.training else cb.dls.valid)]
    if not e.endswith(('batch','pred','loss','backward','step')): return tuple(res)
    res += [cb.iter, tuple(cb.x.shape), tuple(cb.y.shape), len(cb.xb), len(cb.yb), cb.model.training, cb.opt.hypers[-1]['lr']]
    if e!='before_batch' and 'cancel' not in e and e!='after_batch': res += [tuple(cb.pred.shape)]
    if e in ('after_loss','before_backward','after_backward','before_step','after_step'): res += [cb.loss.item(), cb.loss_grad.item()]
    if e in ('before_step','after_backward','after_step'): res += [cb.model.weight.grad is not None, cb.model.weight.flatten()[0].item()]
    return tuple(res)

def players(acts, trace, specs=(('a', 0), ('b', 5), ('c', 70)), exc=fc, **attrs):
    "Return callbacks that record all events, and do `acts[name, event, n-th call]`"
    def mk(name, order):
        calls = {}
        def hear(e):
            def f(self):
                trace.append((name, *seen(self, e)))
                calls[e] = calls.get(e, 0)+1
                what = acts.get((name, e, calls[e]))
                if callable(what): what(self)
                elif what: raise getattr(fc, what)
            return f
        cls = type(name.title(), (fc.Callback,), {e:hear(e) for e in EVENTS} | dict(order=order) | attrs)
        return cls()
    return [mk(*o) for o in specs]

def side_by_side(acts, n_epoch=2, **kwargs):
    traces,models,ends = [],[],[]
    for f in (ours, theirs):
        trace = []
        learn = quiet(f())
        if f is theirs: learn.remove_cb(TheirRecorder)  # it fails after a cancel in before_epoch
        try: learn.fit(n_epoch, cbs=players(acts, trace, **kwargs))
        except Exception as e: ends.append(type(e).__name__)
        else: ends.append('returns')
        traces.append(trace)
        models.append(learn.model)
    return traces,models,ends

def check(acts, **kwargs):
    (a,b),(m,n),ends = side_by_side(acts, **kwargs)
    i = next((i for i,(o,p) in enumerate(itertools.zip_longest(a, b)) if o!=p), None)
    assert a==b, f'{ends} after {a[max(0, i-3):i]}: ours {a[i:i+3]}, theirs {b[i:i+3]}'
    assert same(m, n) and ends==['returns']*2 and len(a)>0
    return a

def test_trace():
    a = check({})
    assert len(a)>100 and {o[1] for o in a}=={o for o in EVENTS if 'cancel' not in o}

OPEN = dict(CancelFitException=('fit','epoch','train','validate','batch','backward','step','pred','loss'), CancelEpochException=('epoch','train','validate','batch','backward','step','pred','loss'),
    CancelTrainException=('train','batch','backward','step','pred','loss'), CancelValidException=('validate',), CancelBatchException=('batch','backward','step','pred','loss'),
    CancelBackwardException=('backward',), CancelStepException=('step',))
def can(exc, e):
    "Return whether fastai catches `exc` raised in `e`. It doesn't in the last events of the phase itself"
    phases,own = OPEN[exc],OPEN[exc][0]
    return 'cancel' not in e and e.rpartition('_')[2] in phases and e!=f'after_{own}'

@pytest.mark.parametrize('exc,e', [(x, e) for x in OPEN for e in EVENTS if can(x, e)])
@pytest.mark.parametrize('who,n', [('a', 1), ('b', 2)])
def test_trace_with_a_cancel(exc, e, who, n):
    n = min(n, 1) if e.endswith('fit') else n
    check({(who, e, n): exc})

def test_traces_of_random_programs():
    rng = random.Random(42)
    pairs = [(x, e) for x in OPEN for e in EVENTS if can(x, e)]
    for _ in range(60):
        acts = {(rng.choice('abc'), e, rng.randint(1, 4)): x for x,e in rng.sample(pairs, 4)}
        (a,b),(m,n),ends = side_by_side(acts, n_epoch=3)
        if ends[1]=='returns': assert a==b and same(m, n) and ends[0]=='returns', acts
        else:  # no open phase catches this cancel: fastai raises it; learnloop raises UncaughtCancelError, and still calls after_fit
            assert ends[0]=='UncaughtCancelError' and a[:len(b)]==b and {o[1] for o in a[len(b):]}<={'after_fit'}, acts

# ---------------------------------------------------------------- fastai's callbacks
def weights_equal(mk_cbs, **kwargs):
    a,cbs_a,b,cbs_b = both(mk_cbs, **kwargs)
    assert same(a.model, b.model) and not same(a.model, mk_model() if 'model' not in kwargs else kwargs['model']())
    return a,cbs_a,b,cbs_b

def test_gradient_clip():
    weights_equal(lambda: [fc.GradientClip(.1)])
    learn,norms = quiet(ours()),[]
    class Look(fc.Callback):
        order = 20
        def before_step(self): norms.append(torch.cat([p.grad.flatten() for p in self.model.parameters()]).norm().item())
    learn.fit(1, cbs=[fc.GradientClip(.1), Look()])
    assert norms and max(norms)<=.1+1e-6

@pytest.mark.parametrize('n_acc', [4, 8, 10])
def test_gradient_accumulation(n_acc):
    a,*_ = weights_equal(lambda: [fc.GradientAccumulation(n_acc)], n_epoch=4)
    assert a.count.opt_steps==12*4//(4*math.ceil(n_acc/4)) and a.count.batches==12

def bad_valid(): return [(x, -5*y) for x,y in VALID]  # gets worse as training goes on
@pytest.mark.parametrize('patience', [1, 2])
def test_early_stopping(patience, capsys):
    a,_,b,_ = weights_equal(lambda: [fc.EarlyStoppingCallback(patience=patience)], n_epoch=10, dls=(TRAIN, bad_valid()))
    assert a.epoch==b.epoch==patience and a.count.epochs==patience+1 and a.outcome['fit']=='cancelled'
    out = capsys.readouterr().out.splitlines()
    assert out[0]==out[1]=='No improvement since epoch 0: early stopping'
    assert len(a.recorder.values)==patience+1  # the row of the last epoch is there

def test_save_model(tmp_path, capsys):
    learn,twin = quiet(ours(dls=(TRAIN, bad_valid()), path=tmp_path)),quiet(ours())
    cb = fc.SaveModelCallback(fname='best')
    learn.fit(4, cbs=[cb])
    twin.fit(1)
    assert same(learn.model, twin.model) and Path(cb.last_saved_path)==tmp_path/'models'/'best.pth'  # the best was epoch 0's
    assert 'Better model found at epoch 0' in capsys.readouterr().out
    assert torch.equal(torch.load(cb.last_saved_path, weights_only=True)['model']['weight'], twin.model.weight)
    learn.fit(3, cbs=fc.SaveModelCallback(fname='each', every_epoch=True, with_opt=True))
    learn.fit(1, cbs=fc.SaveModelCallback(fname='end', at_end=True))
    assert {o.name for o in (tmp_path/'models').iterdir()}=={'best.pth','each_0.pth','each_1.pth','each_2.pth','end.pth'}
    learn.load('each_0')

def test_reduce_lr_on_plateau(capsys):
    learn = quiet(ours(dls=(TRAIN, bad_valid())))
    learn.fit(4, cbs=fc.ReduceLROnPlateau(factor=2., min_lr=.03))
    assert learn.recorder.lrs[::3]==pytest.approx([LR, LR, LR/2, .03]) and 'reducing lr to 0.05' in capsys.readouterr().out
    wrapped = theirs(dls=(TRAIN, bad_valid()))
    wrapped.fit(4, cbs=fc.ReduceLROnPlateau(factor=2., min_lr=.03))
    assert set(wrapped.recorder.lrs)=={LR}  # on a torch optimizer, fastai's callback has no effect: it changes copies

def test_csv_logger(tmp_path):
    rows = []
    for f in (ours, theirs):
        learn,cb = f(path=tmp_path, metrics=[F.l1_loss]),fc.CSVLogger(f'{f.__name__}.csv')
        logger = learn.logger = rows.append
        learn.fit(2, cbs=cb)
        assert learn.logger is logger and cb.file.closed
    a,b = (list(csv.reader((tmp_path/f'{o}.csv').read_text().splitlines())) for o in ('ours','theirs'))
    assert a[0]==b[0]==['epoch','train_loss','valid_loss','l1_loss','time'] and len(a)==len(b)==3
    for p,q in zip(a[1:], b[1:], strict=True): assert p[0]==q[0] and [float(o) for o in p[2:4]]==pytest.approx([float(o) for o in q[2:4]], rel=1e-5)
    # train_loss is the mean of the epoch in learnloop, and the smoothed loss of all batches so far in fastai
    learn = quiet(ours(path=tmp_path, cbs=fc.CSVLogger('kept.csv')))
    learn.fit(2)
    before = (tmp_path/'kept.csv').read_text()
    learn.validate()
    learn.get_preds()
    assert (tmp_path/'kept.csv').read_text()==before  # fastai's validate empties it
    assert len(learn.fastai_csv_logger.foreign.read_log())==2

@pytest.mark.parametrize('f', [ours, theirs])
def test_terminate_on_nan(f):
    def loss(pred, y):
        is_bad = learn.training and (learn.epoch, learn.iter)==(1, 1)
        return F.mse_loss(pred, y)*(math.nan if is_bad else 1.)
    learn = quiet(f(loss_func=loss))
    learn.fit(5, cbs=fc.TerminateOnNaNCallback())
    assert learn.train_iter==5 and learn.epoch==1  # its own TrainEvalCallback comes first

def classes(n, seed): return [(x, (y[:, 0]>0).long()) for x,y in (TRAIN if seed==0 else VALID)]
def mk_classifier():
    with torch.random.fork_rng():
        torch.manual_seed(5)
        return nn.Linear(2, 2)
@pytest.mark.parametrize('kwargs', [dict(), dict(model=mk_classifier, loss_func=CrossEntropyLossFlat, dls=(classes(3, 0), classes(2, 1)))], ids=['regression','stacked targets'])
def test_mixup(kwargs):
    a,cbs,b,_ = weights_equal(lambda: [fc.MixUp(.4)], **kwargs)
    assert len(cbs[0].lam)==4 and a.loss_func is not cbs[0].lf

def test_param_scheduler():
    scheds = {'lr': fc.combined_cos(.25, .01, .1, .001), 'mom': fc.SchedLin(.95, .85)}
    a,(p,),b,(q,) = weights_equal(lambda: [fc.ParamScheduler(scheds)], opt=partial(sgd, .9))
    for k in scheds: assert p.hps[k]==pytest.approx(q.hps[k])
    assert a.recorder.hps==p.hps and a.recorder.lrs==pytest.approx(b.recorder.lrs)
    arrays = {'lr': fc.combined_cos(.25, np.array([.001, .01]), np.array([.01, .1]), np.array([1e-5, 1e-4]))}  # as fit_one_cycle makes them
    learn = quiet(ours(splitter=lambda m: [[m.weight], [m.bias]]))
    learn.fit(2, cbs=fc.ParamScheduler(arrays))
    assert [g['lr'] for g in learn.opt.param_groups][1]==pytest.approx(10*learn.opt.param_groups[0]['lr'])

def test_lr_finder_and_its_guards():
    learn = quiet(ours(cbs=[fc.EarlyStoppingCallback(), fc.ShowGraphCallback()]))
    lr = fc.LRFinder(num_it=8)
    before = [p.detach().clone() for p in learn.model.parameters()]
    learn.fit(100, cbs=lr)
    assert len(lr.hps['lr'])==8 and all(map(torch.equal, before, learn.model.parameters())) and lr.hps['lr'][-1]>lr.hps['lr'][0]*1e5
    assert 'nb_batches' not in vars(learn.fastai_show_graph.foreign)  # it took no part in this fit
    lr,stop = fc.LRFinder(num_it=8),fc.Callback(after_step=lambda self: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt): learn.fit(100, cbs=[lr, stop])
    assert all(map(torch.equal, before, learn.model.parameters()))  # fastai doesn't restore them

def test_all_of_its_callbacks_are_taken_or_refused():
    for m in pkgutil.iter_modules(fastai.callback.__path__):
        try: importlib.import_module(f'fastai.callback.{m.name}')
        except ImportError: pass  # a logger's package or torchvision is missing
    def subclasses(c): return [o for s in c.__subclasses__() for o in (s, *subclasses(s))]
    found = {o for o in subclasses(fc.Callback) if o.__module__.startswith('fastai.')}
    for cls in found:
        cb = cls.__new__(cls)
        if any(o.__name__ in ('TrainEvalCallback','Recorder','ProgressCallback','CastToTensor') for o in cls.__mro__):
            with pytest.raises(TypeError, match="can't be used in learnloop: learnloop"): FastAI(cb)
        else: FastAI(cb)
    assert len(found)>30

# ---------------------------------------------------------------- recorder and data
@pytest.mark.parametrize('order', [0, 49, 51, 60])
def test_the_recorders_row_in_each_event(order):
    "In each event, a callback finds the values that it finds in fastai, except train_loss"
    def rows_of(f):
        rows,events = [],'before_batch after_batch after_train before_validate after_validate after_epoch after_fit'.split()
        def see(e):
            def look(self):
                rec = self.recorder
                numbers = [o for i,o in enumerate(rec.log) if i!=1 and type(o) is not str]
                rows.append((e, [type(o).__name__ for o in rec.log], numbers, list(rec.metric_names), len(rec.values)))
            return look
        cb = fc.Callback(**{e:see(e) for e in events})
        cb.order = order
        quiet(f(metrics=F.l1_loss)).fit(2, cbs=cb)
        return rows
    a,b = rows_of(ours),rows_of(theirs)
    assert len(a)==len(b)>20 and a[-1][1][-1]=='str'
    for p,q in zip(a, b, strict=True): assert p[:2]+p[3:]==q[:2]+q[3:] and p[2]==pytest.approx(q[2], rel=1e-6)

def test_fastais_own_loaders():
    "Callbacks get fastai's loaders themselves"
    items,seen = [[(x, y) for xs,ys in o for x,y in zip(xs, ys, strict=True)] for o in (TRAIN, VALID)],[]
    def dls(): return TheirDataLoaders.from_dsets(*items, bs=4, device='cpu', num_workers=0, shuffle=False, drop_last=False)
    def look(self):
        dls = self.dls
        seen.append((dls.bs, dls.train.n_inp, dls.n_inp, len(dls.valid_ds), dls.valid.one_batch()[0].shape))
        assert dls.train is dls[0] and str(dls.device)=='cpu' and dls.after_item is dls.train.after_item
    for mk in (Learner, TheirLearner):
        learn = quiet(mk(dls(), mk_model(), F.mse_loss, lr=LR, opt_func=sgd() if mk is Learner else partial(OptimWrapper, opt=sgd())))
        with learn.no_bar(): learn.fit(1, cbs=fc.Callback(before_fit=look))
    assert seen[0]==seen[1] and seen[0][:3]==(4, 1, 1)
