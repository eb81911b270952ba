"Throughput with a fake clock: what is counted, and where it is shown"
from types import SimpleNamespace
import learnloop.measure.throughput, pytest, torch
from helpers import VALID, batches, listener, mk_learner, same
from learnloop import (Callback, CancelTrainException, CheckpointCallback, Throughput)

@pytest.fixture
def clock(monkeypatch):
    o = SimpleNamespace(now=1000.)
    monkeypatch.setattr(learnloop.measure.throughput, 'perf_counter', lambda: o.now)
    return o

class Loader(list):
    "Batches that take `secs` each to come"
    def __init__(self, bs, clock, secs=0.): self[:],self.clock,self.secs = bs,clock,secs
    def __iter__(self):
        for b in super().__iter__():
            self.clock.now += self.secs
            yield b

def takes(clock, e, secs, name='slow', order=0, **attrs):
    "A callback that takes `secs` in the event `e`"
    def hear(cb, e): clock.now += secs
    return listener(name, [e] if isinstance(e, str) else e, hear, order=order, **attrs)

def mk(clock, cbs=(), wait=1., step=3., n=4, valid=VALID, defaults=True, **kwargs):
    "`n` batches of 4, each of which takes `wait` to come, and `step` to train on; 2 of `VALID`, each of which takes 1"
    cbs = [takes(clock, 'after_pred', step, run_valid=False), takes(clock, 'after_pred', 1, 'valid_slow', run_train=False), *cbs]
    learn = mk_learner(cbs, dls=(Loader(batches(n), clock, wait), valid), defaults=defaults, **kwargs)
    learn.logger = print
    return learn

def approx(**kwargs): return pytest.approx(kwargs)
def some(d, *names): return {k:d[k] for k in names}

@pytest.mark.parametrize('wait', [0., 1., 9.])
def test_nothing_but_the_fetch_is_waiting(clock, wait):
    slow = [takes(clock, ['before_fetch', 'before_batch', 'after_batch', 'after_fetch', 'before_train', 'after_train', 'after_epoch'], 1, f'slow{i}', order=o)
        for i,o in enumerate((-100, 0, 100))]
    learn = mk(clock, [cb := Throughput(), *slow], wait=wait, step=0)
    learn.fit(1)
    # twelve seconds of callbacks with each batch, six with the fetch that finds none; the three before the first fetch come before the clock runs
    assert cb.epochs[0]['train_secs']==4*wait + 4*12 + 6 - 3
    assert cb.epochs[0]['data_wait']*cb.epochs[0]['train_secs']==pytest.approx(4*wait)

def test_evaluations_outside_a_fit_leave_it_as_it_was(clock):
    learn = mk(clock, [cb := Throughput()])
    learn.validate()
    assert cb.epochs==[] and cb.samples_per_sec is None and repr(cb)=='Throughput()'
    learn.fit(1)
    before = repr(cb),dict(cb.epochs[0]),cb.state_dict()
    learn.validate()
    learn.get_preds()
    assert (repr(cb), cb.epochs[0], cb.state_dict())==before

def test_added_or_removed_within_a_fit(clock):
    cb = Throughput()
    def add(o):
        if o.learn.epoch==1: o.learn.add_cb(cb)
    learn = mk(clock, [Callback('adds', before_epoch=add)])
    learn.fit(2)
    assert cb.epochs==[] and cb.samples_per_sec is None
    learn.remove_cb(learn.adds)
    learn.add_cb(Callback('removes', after_step=lambda o: o.learn.remove_cb(cb)))
    learn.fit(1)
    assert cb.learn is None and not [o for o in learn.cbs if type(o).__name__[0]=='_']

def test_without_a_recorder(clock):
    learn = mk(clock, [cb := Throughput()], defaults=False)
    learn.fit(1)
    assert cb.epochs[0]['samples_per_sec']==1

@pytest.mark.parametrize('every', [dict(every_steps=3), dict(every_epochs=1)])
def test_fits_that_are_resumed(clock, tmp_path, every):
    def mk_(): return mk(clock, [Throughput(), CheckpointCallback(tmp_path, **every)])
    learn = mk_()
    learn.add_cb(listener('stop', ['before_batch'], lambda cb, _: stop(cb), order=99))
    def stop(cb):
        if cb.learn.training and cb.learn.epoch==1 and cb.learn.iter==3: raise KeyError('stop')
    with pytest.raises(KeyError): learn.fit(3)
    learn = mk_()
    learn.fit(3, resume=tmp_path, accept=True)
    cb = learn.throughput
    assert [o['epoch'] for o in cb.epochs]==[0, 1, 2]
    for o in cb.epochs: assert some(o, 'samples_per_sec', 'steps_per_sec', 'data_wait', 'valid_samples_per_sec')==approx(
        samples_per_sec=1., steps_per_sec=.25, data_wait=.25, valid_samples_per_sec=4.)
    assert [o[2] for o in learn.recorder.values]==[1.]*3
    plain = mk_learner(dls=(batches(4), VALID))
    plain.fit(3)
    assert same(plain.model, learn.model)

# Warnings

@pytest.mark.parametrize('kwargs,wait,step', [(dict(warn_above=None), 9., 1.), (dict(warn_above=.95), 9., 1.), ({}, 1., .1), ({}, 9., 9.)])
def test_no_warning_without_a_reason(clock, kwargs, wait, step): mk(clock, [Throughput(**kwargs)], wait=wait, step=step).fit(1)

def test_warning_with_workers(clock):
    learn = mk(clock, [Throughput()], wait=9., step=1.)
    learn.dls.train.num_workers = 2
    with pytest.warns(UserWarning, match='which 2 workers prepare: use more than 2, or make the items of the dataset cheaper'): learn.fit(1)

def test_a_long_wait_for_nothing(clock):
    def stop(cb):
        if cb.learn.training: raise CancelTrainException
    learn = mk(clock, [cb := Throughput(), Callback('stop', after_fetch=stop)], wait=9.)
    with pytest.warns(UserWarning, match='100% of the 9 s'): learn.fit(1)
    assert some(cb.epochs[0], 'samples_per_sec', 'data_wait')==dict(samples_per_sec=0, data_wait=1)

# Devices

@pytest.fixture
def gpu(monkeypatch):
    "A device whose counters are there to be looked at"
    log = []
    mod = SimpleNamespace(synchronize=lambda d: log.append('sync'), reset_peak_memory_stats=lambda d: log.append('reset'),
        max_memory_allocated=lambda d: 123e6)
    monkeypatch.setattr(torch, 'cpu', mod)
    return log

def test_the_device_is_waited_for_once_in_each_phase(clock, gpu):
    learn = mk(clock, [cb := Throughput(columns='peak_memory_mb')], n=20)
    learn.fit(2)
    assert gpu==['reset', 'sync', 'sync']*2 and cb.peak_memory_mb==123 and learn.recorder.values[0][-1]==123

def test_devices_that_count_nothing(monkeypatch):
    assert learnloop.measure.throughput._peak_mb(torch.device('meta')) is None
    learnloop.measure.throughput._wait_for(torch.device('meta'))
    monkeypatch.setattr('sys.platform', 'win32')
    assert learnloop.measure.throughput._peak_mb(torch.device('cpu')) is None

# Arguments

@pytest.mark.parametrize('kwargs,msg', [(dict(window=0), 'window is 0'), (dict(window=1.5), 'window is 1.5'), (dict(warn_above=50), 'warn_above is 50'),
    (dict(warn_above='a'), "warn_above is 'a': it must be a fraction"),
    (dict(columns=['sample_per_sec']), "unknown column 'sample_per_sec'; did you mean 'samples_per_sec'"), (dict(columns='time'), "unknown column 'time'")])
def test_arguments(kwargs, msg):
    with pytest.raises(ValueError, match=msg): Throughput(**kwargs)

@pytest.mark.parametrize('columns', [None, 3, dict(data_wait=1)], ids=str)
def test_columns_are_a_list(columns):
    with pytest.raises(TypeError, match=r'columns is .*: it must be a list of names, of samples_per_sec, .*, peak_memory_mb'): Throughput(columns=columns)
