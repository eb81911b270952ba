"Callbacks written for fastai run unmodified, without fastai installed"
import sys
from copy import deepcopy
from functools import partial
from operator import attrgetter
from types import ModuleType, SimpleNamespace
import learnloop, numpy as np, pytest, torch
from fastcore.foundation import L
from helpers import LR, TAKEN_BY, TRAIN, VALID, covering, ending, mk_model, reread, silent, quiet
from learnloop import Callback as Ours, DataLoaders, LRFinder, Learner
from learnloop.interop import as_cb, fastai as fa
from learnloop.interop.fastai import Callback, event
from torch.nn import functional as F

def mk(cbs=None, dls=(TRAIN,VALID), loss_func=F.mse_loss, opt=torch.optim.SGD, **kwargs):
    return silent(Learner(DataLoaders(*dls), mk_model(), loss_func, opt, lr=LR, cbs=cbs, **kwargs))

def recording(trace, name='rec', acts=None, events=tuple(event), **attrs):
    "A foreign callback that appends its events to `trace`, and does what `acts` says at (event, n-th call): raise, or call a function of it"
    acts,calls = acts or {},{}
    def method(e):
        def f(self):
            trace.append((name, e))
            calls[e] = calls.get(e, 0)+1
            what = acts.get((e, calls[e]))
            if isinstance(what, type): raise what
            if what: what(self)
        return f
    return type(name.title(), (Callback,), {e:method(e) for e in events} | attrs)()

BATCH = 'before_batch after_pred after_loss'.split()
STEP  = 'before_backward after_backward before_step after_step after_batch'.split()
def validation(n): return ['before_validate', *(BATCH+['after_batch'])*n, 'after_validate']
EPOCH = ['before_epoch', 'before_train', *(BATCH+STEP)*3, 'after_train', *validation(2), 'after_epoch']
def names(trace): return [e for _,e in trace]

# ---------------------------------------------------------------- events

THEIRS = [k for k in fa._what]

def mute(k, v=False): return lambda self: setattr(self, k, v)

def test_muted_on_the_way_until_the_end_of_the_fit():
    trace = []
    learn = mk(cbs=(cb := recording(trace, acts={('after_pred', 2): mute('run')})))
    learn.fit(2)
    assert names(trace)==['after_create', 'before_fit', 'before_epoch', 'before_train', *BATCH, *STEP, *BATCH[:2]] and cb.run
    trace.clear()
    learn.fit(1)
    assert names(trace)==['before_fit', *EPOCH, 'after_fit']

# ---------------------------------------------------------------- muting and order

def test_order_is_theirs_and_ours():
    trace = []
    def ours(order): return Ours(f'o{order}', after_loss=lambda self: trace.append((self.name, 'after_loss')))
    cbs = [recording(trace, 'c', order=30, events=['after_loss']), recording(trace, 'a', order=-30, events=['after_loss']), recording(trace, 'b', order=-30, events=['after_loss'])]
    extra = ours(7)
    extra.order = 7
    mk(dls=(TRAIN[:1],)).fit(1, cbs=[*cbs, extra, as_cb(recording(trace, 'd', order=90, events=['after_loss']), order=-40)])
    assert [o for o,_ in trace]==['d', 'a', 'b', 'o7', 'c']

# ---------------------------------------------------------------- exceptions
@covering(exc=THEIRS, e=['before_step', 'before_backward', 'before_validate', 'after_pred', 'after_epoch'], catch=[True, False])
def test_ours_is_theirs_in_their_code(e, exc, catch):
    "A cancel of ours that comes up through a foreign callback can be caught there, and is ours again if it isn't"
    got,raised = [],[]
    def call(self):
        if got: return
        try: self.learn('after_cancel_train')
        except getattr(fa, exc) as err:
            got.append(err)
            if not catch: raise
    def stop(self):
        raised.append(getattr(learnloop, exc)('why'))
        raise raised[-1]
    learn = mk()
    open_ = ['fit','epoch'] + dict(before_step=['train','batch','step'], before_backward=['train','batch','backward'], before_validate=['validate'], after_pred=['train','batch'], after_epoch=[])[e]
    end = ending(partial(learn.fit, 1, cbs=[Callback(**{e:call}), Ours(name='stops', after_cancel_train=stop)]))
    assert isinstance(got[0], Exception) and got[0].args==('why',) and end==('returns' if catch or TAKEN_BY[exc] in open_ else 'UncaughtCancelError')
    assert raised[0].callback=='Callback(stops)' and got[0].__cause__ is (raised[0] if catch else None)

# ---------------------------------------------------------------- what a skipped after_… leaves behind
class Swaps(Callback):
    "As fastai's MixUp"
    run_valid = False
    def before_train(self): self.old_lf,self.learn.loss_func = self.learn.loss_func,self.lf
    def after_train(self): self.learn.loss_func = self.old_lf
    def lf(self, pred, *yb): return self.old_lf(pred, *yb)*2

@pytest.mark.parametrize('what', [fa.CancelEpochException, fa.CancelTrainException, fa.CancelFitException, KeyboardInterrupt])
def test_a_swapped_loss_function_is_put_back(what):
    learn = mk(cbs=[Swaps(), recording([], acts={('after_step', 2): what}, order=3)])
    if what is KeyboardInterrupt:
        with pytest.raises(what): learn.fit(3)
    else: learn.fit(3)
    assert learn.loss_func is F.mse_loss and learn.count.batches>=1
    learn.fit(1)

def test_a_logger_is_put_back_after_an_error():
    class Logs(Callback):
        def before_fit(self): self.old,self.learn.logger = self.learn.logger,self.log
        def log(self, row): pass
        def after_fit(self): raise RuntimeError
    learn = mk()
    logger = learn.logger
    with pytest.raises(ValueError): learn.fit(1, cbs=[Logs(), recording([], acts={('after_step', 1): ValueError})])
    assert learn.logger is logger

# ---------------------------------------------------------------- evaluations
def test_those_that_hear_nothing_of_an_evaluation_are_left_alone():
    trace = []
    learn = mk(cbs=[recording(trace, 'fits', events=['before_fit','before_epoch','before_train','after_train','after_epoch','after_fit']),
        recording(trace, 'train', events=['before_fit','before_batch','after_batch','after_fit'], run_valid=False)])
    learn.validate()
    learn.get_preds()
    assert trace==[]

def test_point_30_distributed_trainer_is_refused_by_name():
    cls = type('DistributedTrainer', (fa.Callback,), dict(__module__='fastai.distributed'))
    with pytest.raises(TypeError, match="DistributedTrainer .fastai. can't be used in learnloop: .*learn.forward_model to DistributedDataParallel"): mk().fit(1, cbs=cls())

def test_point_30_a_batch_that_a_callback_runs_is_there_afterwards():
    class Runs(fa.Callback):
        def before_fit(self):
            self.learn._split(VALID[0])
            seen.append((self.xb, self.yb))
        def after_epoch(self):
            self.learn.one_batch(0, VALID[1])
            seen.append((self.pred.shape, self.xb, self.learn.train_iter))
    seen,learn = [],mk()
    learn.fit(1, cbs=Runs())
    assert seen==[((VALID[0][0],), (VALID[0][1],)), (VALID[1][1].shape, (VALID[1][0],), 3)] and learn.pred is learn.xb is None and learn.count.batches==3

# ---------------------------------------------------------------- refusals
@pytest.mark.parametrize('nm,msg', [('before_bach', "did you mean 'before_batch'"), ('after_steps', "did you mean 'after_step'"), ('beforeFit', "did you mean 'before_fit'"),
    ('after_cancel_batches', "did you mean 'after_cancel_batch'"), ('cleanup_fit', 'is an event of learnloop, not of fastai'), ('before_zero_grad', 'is an event of learnloop')])
def test_names_that_would_never_be_called(nm, msg):
    with pytest.raises(TypeError, match=msg): as_cb(type('Typo', (Callback,), {nm: lambda self: None}))

def test_unknown_functions():
    with pytest.raises(TypeError, match="after_validates=….: not an event of fastai; did you mean 'after_validate'"): Callback(after_validates=print)
    with pytest.raises(AttributeError, match='did you mean'): event.before_fitt  # noqa: B018

def test_two_of_a_name_and_two_learners():
    assert [o.name for o in mk(cbs=[Swaps(), Swaps()]).cbs[-2:]]==['fastai_swaps', 'fastai_swaps_2']
    cb = Swaps()
    learn = mk(cbs=cb)
    with pytest.raises(ValueError, match=r'Swaps \(fastai\) belongs to another learner'): mk(cbs=cb)
    assert cb.learn.learn is learn
    learn.remove_cb(cb)
    assert cb.learn is None
    mk(cbs=cb).fit(1)

# ---------------------------------------------------------------- the learner that it sees
class Probe(Callback):
    "Calls a function of itself at an event"
    def __init__(self, f, e='after_loss'): self.f,self.e,self.res = f,e,[]
    def __call__(self, event_name):
        if event_name==self.e and (self.training or event_name not in fa._inner): self.res.append(self.f(self))

def at(f, e='after_loss', n_epoch=1, cbs=(), **kwargs):
    learn = mk(**kwargs)
    learn.fit(n_epoch, cbs=[(probe := Probe(f, e)), *cbs])
    return probe.res

def test_new_names_are_shared_among_callbacks_and_gone_after_the_fit():
    class Sets(Callback):
        def before_fit(self): self.learn.scaler = 3
    learn = mk()
    learn.fit(1, cbs=[Sets(), probe := Probe(lambda self: self.scaler)])
    assert probe.res==[3]*3 and not hasattr(learn, 'scaler')
    learn.mine = 4  # of the user
    def bump(self): self.learn.mine += 1
    learn.fit(1, cbs=Callback(after_step=bump))
    assert learn.mine==7

@pytest.mark.parametrize('k', ['fit', 'count', 'cbs', 'recorder', 'x', '_cbs', 'learn', 'train_eval'])
def test_bad_writes(k):
    with pytest.raises(AttributeError): at(lambda self: setattr(self.learn, k, 1))

def test_shadowing_warns():
    cb = Swaps()
    mk(cbs=cb)
    with pytest.warns(UserWarning, match="shadows the attribute 'loss'"): cb.loss = 3
    cb.count = cb.best = 3  # names that fastai's learner hasn't

def test_hypers():
    learn = mk(splitter=lambda m: [[m.weight], [m.bias]], opt=partial(torch.optim.SGD, momentum=.9))
    def play(self):
        opt = self.opt
        opt.set_hyper('lr', slice(.01, .1))
        opt.hypers[0]['mom'] = .5
        res = [dict(h) for h in opt.hypers]
        opt.set_hyper('lr', np.array([.2, .3]))
        res.append([h['lr'] for h in opt.hypers])
        opt.set_hypers(lr=L(.4), mom=np.float64(.8))
        res.append([(h['lr'], h['mom']) for h in opt.hypers])
        return res
    learn.fit(1, cbs=(probe := Probe(play)))
    a,b,c,d = probe.res[0]
    assert a['lr']==pytest.approx(.01) and b['lr']==pytest.approx(.1) and (a['mom'], b['mom'])==(.5, .9) and c==[.2, .3] and d==[(.4, .8)]*2
    assert [g['lr'] for g in learn.opt.param_groups]==[.4]*2 and isinstance(learn.opt, torch.optim.SGD)
    with pytest.raises(ValueError, match="unknown hyper-parameter 'lrr'"): at(lambda self: self.opt.set_hyper('lrr', 1))

def test_optimizer():
    def play(self):
        opt = self.opt
        assert opt is self.opt and opt.opt is self.learn.learn.opt and opt.param_groups[0] is opt.opt.param_groups[0]
        p,ps,state,h = opt.all_params()[0]
        assert p is self.model.weight and len(opt.param_lists)==2 and len(opt.all_params(slice(1, None)))==1 and h['lr']==LR and opt.frozen_idx==0
        opt.freeze()
        frozen = opt.frozen_idx,p.requires_grad
        opt.unfreeze()
        opt.load_state_dict(opt.state_dict())
        opt.clear_state()
        return frozen,len(opt.state),p.requires_grad,len(opt.all_params(with_grad=True))
    learn = mk(splitter=lambda m: [[m.weight], [m.bias]], opt=partial(torch.optim.SGD, momentum=.9))
    learn.fit(1, cbs=(probe := Probe(play, 'after_backward')))
    assert probe.res==[((1, False), 0, True, 1)] + [((1, False), 0, True, 1)]*2

def test_several_optimizers():
    model = mk_model()
    opts = dict(w=torch.optim.SGD([model.weight], lr=.1), b=torch.optim.Adam([model.bias], lr=.01))
    learn = silent(Learner(DataLoaders(TRAIN, VALID), model, F.mse_loss, opts))
    learn.fit(1, cbs=(probe := Probe(lambda self: ([h['lr'] for h in self.opt.hypers], sorted(self.opt.state_dict()), len(self.opt.param_groups)))))
    assert probe.res[0]==([.1, .01], ['b', 'w'], 2)

def test_recorder():
    rows = []
    learn = mk(metrics=[F.l1_loss])
    def look(self):
        rec = self.recorder
        rows.append((rec.values[-1], rec.log, list(rec.iters)))
        assert rec.metric_names==['epoch', 'train_loss', 'valid_loss', 'l1_loss', 'time'] and rec.metrics.attrgot('name')==['l1_loss']
        assert isinstance(rec.losses[-1], torch.Tensor) and len(rec.losses)==len(rec.lrs)
        assert rec.losses[-1].item()==pytest.approx(self.learn.learn.recorder.losses[-1])
        assert self.smooth_loss is rec.losses[-1] and rec.smooth_loss.value is rec.losses[-1] and rec.smooth_loss.count==self.train_iter
        rec.hps = dict(lr=rec.lrs)
    cb = Callback(after_epoch=look)
    cb.order = 51
    for _ in range(2): learn.fit(2, cbs=cb)
    assert [o for o,*_ in rows[2:]]==learn.recorder.values and [i for *_,i in rows]==[[3], [3, 6]]*2 and learn.recorder.hps=={'lr':learn.recorder.lrs}
    assert [o[1][0] for o in rows]==[0, 1]*2 and rows[0][1][-1][:3]=='00:'

def test_attributes_before_there_is_anything():
    def look(self): return self.loss.item(),hasattr(self, 'smooth_loss'),self.train_iter,self.epoch
    assert at(look, 'before_fit')==[(0., False, 0, 0)]

def test_loaders():
    def look(self): return self.dls.train is self.dls[0],self.dls.valid is self.dls[1],str(self.dls.device),self.dls.n_inp,len(self.dls)
    assert at(look)[0]==(True, True, 'cpu', 1, 2)
    assert at(lambda self: hasattr(self.dls, 'n_inp'), 'before_fit')==[False]

def test_callbacks_by_name_and_class():
    swaps = Swaps()
    def look(self):
        assert self.swaps is swaps and self.learn.probe is self and swaps in self.cbs and swaps in self.learn.ordered_cbs('before_train')
        return hasattr(self, 'lr_finder'),hasattr(self, 'gather_preds'),[o for o in self.cbs if isinstance(o, Swaps)]
    assert at(look, cbs=[swaps])[0]==(False, False, [swaps])
    learn = mk(cbs=[fits := Probe(lambda self: hasattr(self, 'lr_finder'), 'after_fit'), swaps := Swaps()])
    learn.fit(1, cbs=LRFinder(num_it=2))
    learn.fit(1)
    assert fits.res==[True, False]
    learn = mk(cbs=(probe := Probe(lambda self: hasattr(self, 'gather_preds'), 'before_validate')))
    learn.get_preds()
    learn.validate()
    assert probe.res==[True, False]

def test_progress():
    def graph(self): self.progress.mbar.update_graph([([0], [1.])], (0, 1), (0, 2))
    probe = Probe(lambda self: self.progress.mbar.graph, 'after_fit')
    learn = mk()
    learn.fit(1, cbs=[Callback(after_epoch=graph), probe])
    assert probe.res==[([([0], [1.])], (0, 1), (0, 2))]
    with learn.no_bar(): learn.fit(1, cbs=(probe := Probe(lambda self: hasattr(self.learn, 'progress'))))
    assert probe.res[0] is False

def test_other_methods(tmp_path):
    learn = mk(path=tmp_path)
    def play(self):
        with self.learn.lock, self.learn.no_mbar(), self.learn.no_logging() as l:
            assert l is self.learn and not self.create_mbar
            assert len(self.learn.validate())==1  # fastai's would wait for the lock for ever
        assert self.create_mbar and self.learn.to_detach(self.loss).requires_grad is False and len(list(self.parameters()))==2
        file = self.learn.save('here')
        with torch.no_grad(): self.model.weight.zero_()
        assert self.learn.load('here', weights_only=False) is self.learn and self.model.weight.any()
        with self.learn.removed_cbs(swaps) as l: assert l is self.learn and swaps not in self.cbs
        with self.learn.added_cbs(Counts()): assert self.counts
        self.learn.add_cb(Counts()).remove_cb(Counts)
        with self.learn.loss_not_reduced(): assert self.loss_func(self.pred, self.y).shape==self.y.shape
        return file
    swaps = recording([], 'swaps')
    learn.fit(1, cbs=[probe := Probe(play), swaps])
    assert probe.res[0]==tmp_path/'models'/'here.pth'
    with pytest.raises(RuntimeError, match='fit was called inside a fit'): at(lambda self: self.learn.fit(1))
    with pytest.raises(AttributeError, match="not an event of fastai; did you mean 'after_loss'"): at(lambda self: self.learn('after_losses'))

def test_a_failed_fit_loads_no_file_of_an_earlier_run(tmp_path):
    class Best(Callback):
        "As fastai's SaveModelCallback"
        def before_fit(self): pass
        def after_epoch(self): self.learn.save('best')
        def after_fit(self): self.learn.load('best')
    learn = mk(path=tmp_path)
    learn.fit(1, cbs=Best())
    torch.nn.init.zeros_(learn.model.weight)
    fail = recording([], acts={('before_batch', 1): ValueError})
    with pytest.raises(ValueError): learn.fit(1, cbs=[Best(), fail])
    assert not learn.model.weight.any()
    learn.fit(1)
    late = recording([], acts={('before_epoch', 2): ValueError})
    with pytest.raises(ValueError): learn.fit(2, cbs=[Best(), late])
    torch.testing.assert_close(learn.model.weight.detach(), torch.load(tmp_path/'models'/'best.pth')['model']['weight'])

# ---------------------------------------------------------------- state
class Counts(Callback):
    "Has state of several kinds, and a constructor's argument"
    def __init__(self, patience=2): self.patience = patience
    def before_fit(self): self.n,self.best,self.seen,self.model_,self.run = 0,np.float64(9.),L(),self.model,True
    def after_step(self):
        self.n += 1
        self.best = min(self.best, np.float64(self.loss.item()))
        self.seen.append({'mean': self.loss.mean()})

def test_state_round_trip():
    learn = mk(cbs=(cb := Counts()))
    learn.fit(1)
    sd = learn.fastai_counts.state_dict()
    assert set(sd['Counts'])=={'n','best','seen'} and type(sd['Counts']['best']) is float
    other = mk(cbs=(new := Counts(5)))
    other.fastai_counts.load_state_dict(reread(sd))
    assert new.n==3 and new.best==cb.best and new.patience==5
    other.fit(1)
    assert new.n==6 and len(new.seen)==6 and isinstance(new.seen, L)  # it goes on
    other.fit(1)
    assert new.n==3  # and begins anew

def test_state_of_its_own():
    class Own(Callback):
        n = 0
        def after_step(self): self.n += 1
        def state_dict(self): return dict(steps=self.n)
        def load_state_dict(self, sd): self.n = sd['steps']
    learn = mk(cbs=(cb := Own()))
    learn.fit(1)
    assert learn.fastai_own.state_dict()=={'Own':{'steps':3}}
    learn.fastai_own.load_state_dict({'Own':{'steps':7}})
    assert cb.n==7

# ---------------------------------------------------------------- whole where reading is concerned
def test_the_row_of_a_second_fit_is_its_own():
    learn = mk()
    learn.fit(1)
    rows = []
    learn.fit(1, cbs=Callback(after_epoch=lambda self: rows.append(self.recorder.log)))
    assert rows==[[0, *learn.recorder.values[0]]]

def test_the_recorder_forwards_unknown_names_to_the_learner():
    "fastai's callbacks ask their learner for what they don't have"
    def look(self):
        rec = self.recorder
        assert rec.final_record==self.learn.final_record==rec.values[-1] and isinstance(rec.values[-1], L) and rec.epoch==self.epoch and rec.n_epoch==1
        return rec.name,rec.run,rec.run_valid,rec.cancel_train,rec.cancel_valid,self.progress.name,self.progress.run,self.progress.dls is self.dls
    learn = mk()
    cb = Callback(after_epoch=lambda self: res.append(look(self)))
    cb.order,res = 60,[]
    learn.fit(1, cbs=cb)
    assert res==[('recorder', True, True, False, False, 'progress', True, True)]
    assert at(lambda self: hasattr(self, 'final_record'), 'before_fit')==[False]

REFUSED = [('learn', 'predict', r'learn.get_preds\(dl=\[batch\]\)'), ('learn', 'export', 'nothing pickles a learner'), ('learn', 'validation_context', 'no block can be'), ('learn', 'gather_args', 'until fastai.callback.wandb is imported'),
    ('recorder', 'after_epoch', "learnloop's own Recorder handles its own events"), ('recorder', 'start_epoch', 'recorder.log'), ('progress', 'pbar', 'progress.mbar'), ('opt', 'cbs', 'no step callbacks'),
    ('opt', 'fwd_map', "fastai's names"), ('dls', 'test_dl', "only fastai's own loaders"), ('dls.train', 'show_results', "only fastai's own loaders"), ('dl', 'after_item', "only fastai's own loaders"), ('dls.train', 'n', 'a list has none')]
@pytest.mark.parametrize('who,k,why', REFUSED)
def test_errors_for_refused_names_name_the_alternative(who, k, why):
    with pytest.raises(AttributeError, match=f"stand-in for fastai's .*no attribute {k!r}.*{why}"): at(lambda self: attrgetter(f'{who}.{k}')(self))

@pytest.mark.parametrize('k', ['predict', 'tta', 'to_parallel'])
def test_what_is_refused_cannot_be_set(k):
    with pytest.raises(AttributeError, match='setting it would change nothing'): at(lambda self: setattr(self.learn, k, 1))

class Twice:
    "A loader that tells its batches' size as torch's do"
    def __init__(self, own): self.own,self.dataset,self.batch_size,self.drop_last = own,range(9),4,True
    def __len__(self): return len(self.own)
    def __iter__(self): return iter(self.own)

def test_loaders_answer_to_the_names_of_fastais():
    def look(self):
        dl,valid = self.dls.train,self.dls.valid
        assert isinstance(dl, Twice) and dl is self.dl is self.dls.loaders[0] is next(iter(self.dls))
        assert dl==self.learn.learn.dl and dl!=valid and len({dl, valid})==2
        assert torch.equal(dl.one_batch()[0], TRAIN[0][0]) and torch.equal(valid.one_batch()[0], VALID[0][0]) and [len(b) for b in dl]==[2]*3
        assert (dl.bs, self.dls.bs, valid.bs, dl.n, dl.n_inp, valid.n_inp)==(4, 4, 4, 9, 1, 1)
        assert (len(dl), dl.drop_last, dl.num_workers, str(dl.device), dl.prebatched)==(3, True, 0, 'cpu', False)
        assert dl.start==0  # of its data set
        preds,_ = self.learn.get_preds(dl=valid)
        return len(preds),len(self.learn.validate(dl=self.dls.train)),isinstance(valid, list),valid[0] is VALID[0],str(self.dls.path)
    assert at(look, dls=(Twice(TRAIN), VALID))==[(8, 1, True, True, '.')]*3

def test_loaders_may_be_any_object_with_train():
    "Anything with `train` will do for a learner"
    own = SimpleNamespace(train=Twice(TRAIN), valid=VALID)
    probe = Probe(lambda self: (self.dls.train is self.dl, self.dls.train.n_inp, self.dls.bs))
    quiet(Learner(own, mk_model(), F.mse_loss, torch.optim.SGD, lr=LR, cbs=probe), 1)
    assert probe.res==[(True, 1, 4)]*3

def test_copies_of_a_stand_in_have_loaders_of_their_own():
    def look(self):
        other,dl = deepcopy(self.learn),self.dls.train
        copied = deepcopy(dl)
        return dl.bs==other.dls.train.bs==copied.bs==4 and other.dls.train is other.dls[0] is not dl and copied!=dl
    assert at(look, 'after_fit', dls=(Twice(TRAIN), VALID))==[True]

def patched(m, **fs):
    "Have fastai's `Learner`, with functions that a package has put there"
    module = ModuleType('fastai.learner')
    module.Learner = type('Learner', (), dict(fs, __module__='fastai.learner'))
    m.setitem(sys.modules, 'fastai.learner', module)

def test_a_patch_may_not_set_attributes_of_the_learner(monkeypatch):
    def breaks(self): self.cbs = []
    patched(monkeypatch, breaks=breaks)
    with pytest.raises(AttributeError): at(lambda self: self.learn.breaks())

def test_gather_args(monkeypatch):
    def gather_args(self): return {'Learner': self, 'batch size': self.dls.bs, 'n_inp': self.dls.train.n_inp, **{f'{o}': True for o in self.cbs}}
    patched(monkeypatch, gather_args=gather_args)
    args = at(lambda self: self.learn.gather_args(), 'before_fit', metrics=[F.l1_loss])[0]
    own = args.pop('Learner')
    assert (own['lr'], own['loss_func'], own['model_dir'], own['train_bn'], own['metrics'])==(LR, F.mse_loss, 'models', True, [F.l1_loss]) and "fastai's Learner" in own['_name']
    assert args['batch size']==4 and args['n_inp']==1 and args['Probe'] is True
