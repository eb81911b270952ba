"""Properties that every callback of the package has

Introspection finds the callbacks, so a new one is tested as soon as it is written: each by a quarter of the tests, with `ALL_CASES=1` by all."""
import gc, importlib, inspect, pkgutil, sys, warnings, weakref
from functools import partial
from tempfile import mkdtemp
from types import SimpleNamespace
import learnloop, pytest, torch
from helpers import LR, act, batches, ending, fake_platform, listener, mk_model, reread, same
from learnloop import Callback, DataLoaders, Learner
from torch.nn import functional as F

# Constructor arguments, by the name of the class; functions get a folder of the test's own
MADE_WITH = dict(  # chkstyle: ignore-node
    ShortEpochCallback=dict(pct=.5), OverfitBatches=dict(n=2), FastDevRun=dict(n=2),
    ReloadLoaders=dict(every_epochs=1, f=lambda folder: lambda learn: learn.dls.train),
    StepLimit=dict(max_steps=2), Adapter=dict(callback=lambda folder: SimpleNamespace()), CheckpointCallback=dict(folder=lambda folder: mkdtemp(dir=folder)),
    Accelerated=dict(callback=lambda folder: importlib.import_module('learnloop.interop.accelerated').LogMetricsCallback()),
    FastAI=dict(callback=lambda folder: importlib.import_module('test_interop_fastai').Counts()),
    FastNLP=dict(callback=lambda folder: importlib.import_module('test_interop_fastnlp').Stateful()),
    TrainingEngine=dict(callback=lambda folder: importlib.import_module('test_interop_engine').Everything()),
    Lightning=dict(callback=lambda folder: importlib.import_module('test_interop_lightning').Everything()),
    Transformers=dict(callback=lambda folder: importlib.import_module('learnloop.interop.transformers').TrainerCallback()),
    Keras=dict(callback=lambda folder: importlib.import_module('test_interop_keras').mk_recorder([])),
    Skorch=dict(callback=lambda folder: importlib.import_module('test_interop_skorch').mk_recorder([])),
    **{o:dict(monitor='train_loss') for o in ('TrackerCallback', 'EarlyStoppingCallback', 'ReduceLROnPlateau')},
    SaveModelCallback=dict(monitor=lambda folder: lambda r: len(r.values), comp=lambda folder: torch.gt, fname=lambda folder: folder/'model'),
    TimeLimit=dict(hours=1), ValidateEvery=dict(every_epochs=2),
    ValidateCallback=dict(every_steps=2, dl=batches(2, seed=1), name='test'),
    GradientCheckpointing=dict(modules=lambda folder: torch.nn.Linear),
    ParamScheduler=dict(scheds={'lr': [lambda pct: .1*(1-pct)]}), LRFinder=dict(num_it=2), GradualUnfreezing=dict(at={0:0}),
    TorchScheduler=dict(sched=lambda folder: partial(torch.optim.lr_scheduler.StepLR, step_size=1), unit='step'),
    CutMix=dict(ndim=1),
    MixHandler=dict(mix=lambda folder: lambda xb, perm, lam: (xb, 1.)),
    CSVLogger=dict(fname=lambda folder: folder/'history.csv'), JSONLogger=dict(fname=lambda folder: folder/'history.jsonl'),
    Fingerprint=dict(fname=lambda folder: folder/'fingerprint.bin'),
    TensorBoardCallback=dict(log_dir=lambda folder: folder/'logs'))
NEEDS_LENGTH = {'ShortEpochCallback', 'ParamScheduler', 'Scheduler'}  # schedules that must know how many batches there will be
NOT_ALONE = {'SpikeRecovery'}  # it needs `Snapshots` beside it
FAKE = {'WandbCallback':'wandb', 'MLflowCallback':'mlflow'}  # packages that aren't installed

def subclasses(cls): return [o for c in cls.__subclasses__() for o in (c, *subclasses(c))]
def found():
    "Return all callbacks of the package, except those that another one adds and removes, whose names begin with `_`"
    for m in pkgutil.walk_packages(learnloop.__path__, 'learnloop.'):
        if not m.name.endswith('__main__'): importlib.import_module(m.name)  # its import is a run
    return sorted({o for o in subclasses(Callback) if o.__module__.split('.')[0]=='learnloop' and o.__name__[0]!='_' and o.__name__ not in NOT_ALONE}, key=lambda o: o.__name__)
CALLBACKS = found()

@pytest.fixture(params=CALLBACKS, ids=lambda o: o.__name__)
def make(request, tmp_path, monkeypatch):
    "Return a function that makes a callback of the class under test"
    cls,kwargs = request.param,MADE_WITH.get(request.param.__name__, {})
    monkeypatch.chdir(tmp_path)  # some write to the current folder
    if nm := FAKE.get(cls.__name__): monkeypatch.setitem(sys.modules, nm, fake_platform())
    params = [p.name for p in list(inspect.signature(cls).parameters.values()) if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD]
    if missing := [o for o in params if o not in kwargs]:
        pytest.fail(f'{cls.__module__}.{cls.__name__} needs {", ".join(missing)}: add arguments to test with to MADE_WITH in {__file__}')
    return lambda: cls(**{k:v(tmp_path) if callable(v) else v for k,v in kwargs.items()})

def mk_learner(cb=None, cbs=()):
    "Make a learner with the default callbacks; `cb` replaces the one of its class"
    learn = Learner(DataLoaders(batches(3), batches(2, seed=1)), mk_model(), F.mse_loss, torch.optim.SGD, lr=LR, metrics=[F.l1_loss], cbs=cbs)
    if cb is not None: learn.remove_cb(type(cb)).add_cb(cb)
    return learn

def test_the_package_has_callbacks_and_all_of_the_table():
    assert {'TrainEvalCallback', 'GatherPredsCallback', *MADE_WITH}<={o.__name__ for o in CALLBACKS}

@pytest.mark.every(4, 0)
def test_two_fits_give_another_learner_the_same_weights(make):
    models = []
    for _ in range(2):
        torch.manual_seed(42)  # for callbacks that draw
        learn = mk_learner(make())
        for n in (2, 1):
            learn.fit(n)
            assert learn.outcome['fit']=='done' and learn.epoch==learn.n_epoch-1
        assert all(o.run for o in learn.cbs)
        models.append(learn.model)
    assert same(*models)

@pytest.mark.every(4, 1)
def test_a_callback_can_be_passed_to_a_fit_added_and_removed(make):
    learn,cb = mk_learner(),make()
    learn.remove_cb(type(cb))
    before = learn.cbs
    learn.fit(1, cbs=cb)
    assert learn.cbs==before and cb.learn is None and not hasattr(learn, cb.name)
    learn.add_cb(cb)
    learn.fit(1)
    with learn.removed_cbs(cb): assert cb not in learn.cbs
    learn.fit(1)

@pytest.mark.every(4, 2)
def test_another_callback_may_have_the_name_of_an_attribute(make):
    cb = make()
    learn = mk_learner(cbs=[Callback(name=k) for k in vars(cb) if k[0]!='_' and not hasattr(Learner, k) and k!=cb.name and k not in vars(mk_learner())])
    with warnings.catch_warnings(record=True, action='always') as seen:
        learn.remove_cb(type(cb)).add_cb(cb)
    assert not seen

@pytest.mark.every(4, 3)
def test_a_removed_callback_and_an_unused_learner_are_freed(make):
    gc.freeze()  # existing objects
    learn,gone = mk_learner(cb := make()),mk_learner(make())
    for o in (learn, gone):
        o.fit(1)
        o.validate()
    learn.remove_cb(cb)
    refs = dict(callback=weakref.ref(cb), learner=weakref.ref(gone), model=weakref.ref(gone.model))
    del cb, gone, o
    gc.collect()
    assert [k for k,o in refs.items() if o() is not None]==[]

@pytest.mark.every(4, 0)
def test_state_can_be_loaded_before_or_after_a_callback_is_added(make):
    cb,new,held = make(),make(),make()
    mk_learner(cb).fit(2)
    learn = mk_learner(held)
    for o in (new, held):
        o.load_state_dict(reread(cb.state_dict()))  # plain data and tensors
        assert str(o.state_dict())==str(cb.state_dict())
    mk_learner(new).fit(1)
    learn.fit(1)

@pytest.mark.every(4, 1)
def test_evaluation_does_not_change_the_state_of_a_callback(make):
    cb = make()
    learn = mk_learner(cb)
    learn.validate()
    learn.fit(1)
    before = str(cb.state_dict())
    learn.validate()
    preds,targs = learn.get_preds()
    learn.predict(torch.zeros(2))
    assert str(cb.state_dict())==before and preds.shape==targs.shape==(8, 1)
    learn.remove_cb(cb)
    learn.validate(cbs=cb)
    assert cb.learn is None

# Event and exception; in `before_fit` there is neither batch nor epoch to cancel
STOPS = [('before_fit', 'CancelFitException'), ('before_fit', 'ValueError'), ('before_batch', 'CancelBatchException'), ('before_batch', 'KeyboardInterrupt'),
    ('after_loss', 'CancelBatchException'), ('after_loss', 'CancelEpochException'), ('after_loss', 'CancelFitException'), ('after_loss', 'ValueError')]

@pytest.mark.every(4, 2)
def test_a_callback_survives_fits_that_end_early(make):
    learn = mk_learner(make())
    for e,what in STOPS:
        stop = listener('stop', [e], lambda cb, _, what=what: cb.learn.inside('sanity') or act(cb, what), order=99)  # a sanity check has no epoch to cancel
        assert ending(partial(learn.fit, 1, cbs=stop))==('returns' if what.startswith('Cancel') else what), (e, what)
    learn.fit(1)
    assert learn.outcome['fit']=='done'

@pytest.mark.every(4, 3)
@pytest.mark.filterwarnings('ignore:.*it is an iterator, so a resumed', 'ignore:Prefetch skips')  # correct here
@pytest.mark.parametrize('dls', ['no validation', 'no length'])
def test_loaders_may_lack_validation_or_length(make, dls):
    bs = batches(3)
    learn = Learner(DataLoaders(bs if dls=='no validation' else iter(bs)), mk_model(), F.mse_loss)
    learn.remove_cb(type(cb := make())).add_cb(cb)
    if dls=='no length' and type(cb).__name__=='Snapshots':
        with pytest.raises(ValueError, match='returns each training batch only once'): learn.fit(1)
        return
    if dls=='no length' and type(cb).__name__ in NEEDS_LENGTH:
        with pytest.raises(ValueError, match='has no length'): learn.fit(1)
        return
    learn.fit(1)
    assert learn.count.batches in (2, 3)
