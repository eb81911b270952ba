"Throughput by a clock that the tests wind: what is counted, what is not, and where it is shown"
import csv, json
from types import SimpleNamespace
import learnloop.measure.throughput, pytest, torch
from helpers import VALID, batches, covering, listener, mk_learner, same
from learnloop import (Callback, CancelBatchException, CancelEpochException, CancelFitException, CancelTrainException, CheckpointCallback, CSVLogger,
    DataLoaders, GradientAccumulation, JSONLogger, SanityCheck, Throughput, ValidateCallback, ValidateEvery)
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

@pytest.fixture
def clock(monkeypatch):
    o = SimpleNamespace(now=1000.)
    monkeypatch.setattr(learnloop.measure.throughput, 'perf_counter', lambda: o.now)
    return o

class Loader(list):
    "Batches that take `secs` each to come, and `begin` to begin with"
    def __init__(self, bs, clock, secs=0., begin=0.): self[:],self.clock,self.secs,self.begin = bs,clock,secs,begin
    def __iter__(self):
        self.clock.now += self.begin
        return self.batches()
    def batches(self):
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

def skip(cb): raise CancelEpochException
def approx(**kwargs): return pytest.approx(kwargs)
def some(d, *names): return {k:d[k] for k in names}

def test_what_is_measured(clock):
    learn = mk(clock, [cb := Throughput()])
    learn.fit(2)
    assert cb.epochs[0]==cb.epochs[1]|dict(epoch=0, peak_memory_mb=cb.epochs[0]['peak_memory_mb'])
    assert some(cb.epochs[1], 'samples_per_sec', 'batches_per_sec', 'steps_per_sec', 'data_wait', 'valid_samples_per_sec', 'train_secs')==approx(
        samples_per_sec=1., batches_per_sec=.25, steps_per_sec=.25, data_wait=.25, valid_samples_per_sec=4., train_secs=16.)
    assert (cb.samples_per_sec, cb.data_wait, cb.valid_samples_per_sec)==(1., .25, 4.) and cb.peak_memory_mb>10

@pytest.mark.parametrize('wait', [0., 1., 9.])
def test_nothing_but_the_fetch_is_waiting(clock, wait):
    slow = [takes(clock, ['before_fetch', 'before_batch', 'after_batch', 'after_fetch', 'before_train', 'after_train', 'after_epoch'], 1, f'slow{i}', order=o)
        for i,o in enumerate((-100, 0, 100))]
    learn = mk(clock, [cb := Throughput(), *slow], wait=wait, step=0)
    learn.fit(1)
    # twelve seconds of callbacks with each batch, six with the fetch that finds none; the three before the first fetch come before the clock runs
    assert cb.epochs[0]['train_secs']==4*wait + 4*12 + 6 - 3
    assert cb.epochs[0]['data_wait']*cb.epochs[0]['train_secs']==pytest.approx(4*wait)

def test_slow_callbacks_are_part_of_training_and_what_is_between_epochs_is_not(clock):
    learn = mk(clock, [cb := Throughput(), takes(clock, 'after_batch', 4, 'log', run_valid=False), takes(clock, ['after_epoch', 'before_epoch', 'before_train'], 100, 'saves')])
    learn.fit(2)
    assert [o['train_secs'] for o in cb.epochs]==[32, 32] and cb.samples_per_sec==.5

def test_the_loader_may_take_a_while_to_begin(clock):
    "A fit that is resumed goes through the batches that are done"
    learn = mk(clock, [cb := Throughput()])
    learn.dls.train.begin = 100.
    learn.fit(1)
    assert cb.epochs[0]['train_secs']==16 and cb.epochs[0]['data_wait']==.25

@pytest.mark.parametrize('how', ['validate', 'get_preds', 'inner', 'nested'])
def test_evaluations_within_training_are_left_out(clock, how):
    def again(cb):
        if [o.name for o in cb.learn.open].count('evaluate')<2: cb.learn.validate(dl=VALID[:1])
    def check(cb):
        if cb.learn.iter!=1: return
        if how=='validate': cb.learn.validate()
        elif how=='nested': cb.learn.validate(cbs=Callback('again', after_batch=again))
        else: cb.learn.get_preds(inner=how=='inner')
    learn = mk(clock, [cb := Throughput(), Callback('check', after_step=check)])
    learn.fit(1)
    assert some(cb.epochs[0], 'train_secs', 'data_wait', 'samples_per_sec', 'valid_samples_per_sec')==approx(
        train_secs=16., data_wait=.25, samples_per_sec=1., valid_samples_per_sec=4.)

def test_validations_by_steps(clock):
    learn = mk(clock, [cb := Throughput(), ValidateCallback(every_steps=2)])
    learn.fit(1)
    assert cb.epochs[0]['train_secs']==16

def test_other_validations_have_no_speed(clock):
    learn = mk(clock, [cb := Throughput(), SanityCheck(1)])
    learn.fit(1, cbs=Callback('skip', before_train=skip))
    assert some(cb.epochs[0], 'valid_samples_per_sec', 'samples_per_sec', 'train_secs')==dict(valid_samples_per_sec=None, samples_per_sec=None, train_secs=None)

def test_validation_left_out(clock):
    learn = mk(clock, [cb := Throughput(), ValidateEvery(2)])
    learn.fit(2)
    assert [o['valid_samples_per_sec'] for o in cb.epochs]==[None, 4.]

def test_evaluations_outside_a_fit_leave_it_as_it_was(clock):
    learn = mk(clock, [cb := Throughput()])
    learn.validate()
    assert cb.epochs==[] and cb.samples_per_sec is None and repr(cb)=='Throughput()'
    learn.fit(1)
    before = repr(cb),dict(cb.epochs[0]),cb.state_dict()
    learn.validate()
    learn.get_preds()
    assert (repr(cb), cb.epochs[0], cb.state_dict())==before

def test_steps_are_those_that_were_taken(clock):
    learn = mk(clock, [cb := Throughput(), GradientAccumulation(8)])
    learn.fit(1)
    assert (cb.batches_per_sec, cb.steps_per_sec, cb.samples_per_sec)==(.25, .125, 1.)

def test_window(clock):
    waits = iter([9., 9., 1., 1., 1.])
    def slower(cb): clock.now += next(waits, 0)
    learn = mk(clock, [cb := Throughput(window=2), Callback('s', after_step=slower)], step=0)
    seen = []
    learn.add_cb(Callback('look', before_fetch=lambda _: seen.append(cb.samples_per_sec) if learn.training else None))
    learn.fit(1)
    # looked at before the mark of the batch that is over
    assert seen==[None, None, .4, .4, pytest.approx(8/12)] and cb.samples_per_sec==2 and cb.epochs[0]['samples_per_sec']==pytest.approx(16/24)
    assert len(cb._marks)==3

def test_window_over_epochs(clock):
    learn = mk(clock, [cb := Throughput(window=100)])
    learn.fit(3)
    assert cb.samples_per_sec==1 and cb._marks[-1].samples==48

def test_loaders_without_length(clock):
    learn = mk(clock, [cb := Throughput()], defaults=True)
    learn.dls = DataLoaders(iter(Loader(batches(4), clock, 1)), None)
    learn.fit(1)
    assert cb.epochs[0]['samples_per_sec']==1 and cb.epochs[0]['valid_samples_per_sec'] is None

@pytest.mark.parametrize('n_workers', [0, 1])
def test_data_loaders(n_workers):
    xb,yb = (torch.cat(o) for o in zip(*batches(4), strict=True))
    dl = DataLoader(TensorDataset(xb, yb), batch_size=4, num_workers=n_workers)
    learn = mk_learner([cb := Throughput()], dls=(dl, None), defaults=True)
    with learn.no_logging(): learn.fit(1)
    assert 0<cb.data_wait<=1 and cb.samples_per_sec>0 and cb._marks[-1].samples==16

def at(e, exc, i=1):
    def hear(cb, _):
        if cb.learn.training and cb.learn.iter==i and cb.learn.epoch==0: raise exc
    return listener('stop', [e], hear, order=99)

@pytest.mark.parametrize('exc,secs', [(CancelBatchException, 16), (CancelTrainException, 8), (CancelEpochException, 8)])
def test_cancels(clock, exc, secs):
    learn = mk(clock, [cb := Throughput(), at('after_loss', exc)])
    learn.fit(2)
    assert [o['train_secs'] for o in cb.epochs]==[secs, 16] and cb.epochs[0]['data_wait']==.25
    assert (cb.epochs[0]['valid_samples_per_sec'] is None)==(exc is CancelEpochException)

@covering(e=['before_fetch', 'after_fetch', 'before_batch', 'after_loss', 'after_batch'], exc=[CancelFitException, ValueError, KeyboardInterrupt])
def test_fits_that_end_early(clock, e, exc):
    learn = mk(clock, [cb := Throughput(), at(e, exc)])
    before = list(learn.cbs)
    try: learn.fit(2)
    except (ValueError, KeyboardInterrupt) as o: assert type(o) is exc
    assert cb.epochs==[] and cb._clock is None and learn.cbs==before and cb.samples_per_sec is not None
    learn.remove_cb(learn.stop)
    learn.fit(1)
    assert cb.epochs[0]['train_secs']==16

def test_an_evaluation_that_fails_within_training(clock):
    def check(cb):
        if cb.learn.iter!=1: return
        with pytest.raises(ValueError, match='oh'): cb.learn.validate(cbs=Callback('oh', after_loss=oh))
    def oh(cb): raise ValueError('oh')
    learn = mk(clock, [cb := Throughput(), Callback('check', after_step=check)])
    try: learn.fit(1)
    except ValueError: pass
    learn.remove_cb(learn.check)
    learn.fit(1)
    assert cb.epochs[-1]['train_secs']==16

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

def test_table_of_epochs(clock):
    rows = []
    learn = mk(clock, [Throughput(columns=['samples_per_sec', 'data_wait', 'valid_samples_per_sec'])], metrics=[F.l1_loss])
    learn.logger = rows.append
    learn.fit(2)
    assert rows[0]==['epoch', 'train_loss', 'valid_loss', 'l1_loss', 'samples_per_sec', 'data_wait', 'valid_samples_per_sec', 'time']
    assert [r[4:7] for r in rows[1:]]==[[1., .25, 4.]]*2 and learn.final_record[3:]==[1., .25, 4.]
    assert [len(o) for o in learn.recorder.values]==[6, 6] and learn.recorder.values[0][:3]!=[None]*3

def test_validations_within_epochs_have_no_such_values(clock):
    rows = []
    learn = mk(clock, [Throughput(columns='data_wait'), ValidateCallback(every_steps=3)])
    learn.logger = rows.append
    learn.fit(1)
    assert [len(o) for o in rows]==[5]*3 and rows[1][3] is None and rows[2][3]==.25
    assert len(learn.validate())==1

def test_large_numbers_are_whole(clock):
    learn = mk(clock, [cb := Throughput()], step=.001, wait=.0002)
    learn.fit(1)
    row = dict(zip(learn.recorder.columns, learn.recorder.values[0], strict=True))
    assert row['samples_per_sec']==round(4/.0012) and isinstance(row['samples_per_sec'], int) and cb.samples_per_sec==pytest.approx(4/.0012)

def test_columns_are_as_before_without_it():
    learn = mk_learner(defaults=True)
    with learn.no_logging(): learn.fit(1)
    assert learn.recorder.columns==['train_loss', 'valid_loss']

def test_cancelled_training_leaves_its_columns_empty(clock):
    def skip(cb):
        if cb.learn.epoch==0: raise CancelTrainException
    learn = mk(clock, [Throughput(columns=['samples_per_sec', 'data_wait']), Callback('skip', before_train=skip)], valid=None)
    learn.fit(2)
    assert [o[-2:] for o in learn.recorder.values]==[[None, None], [1., .25]]

def test_loggers_get_it(clock, tmp_path):
    learn = mk(clock, [Throughput(columns=['samples_per_sec', 'data_wait', 'peak_memory_mb']), CSVLogger(), JSONLogger()], path=tmp_path)
    learn.fit(2)
    rows = list(csv.DictReader((tmp_path/'history.csv').read_text().splitlines()))
    assert [float(o['samples_per_sec']) for o in rows]==[1., 1.] and float(rows[0]['peak_memory_mb'])>10
    assert [json.loads(o)['data_wait'] for o in (tmp_path/'history.jsonl').read_text().splitlines()]==[.25, .25]

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

def test_weights_are_the_same_with_it():
    models = []
    for cbs in ([], [Throughput()]):
        learn = mk_learner(cbs, defaults=True)
        with learn.no_logging(): learn.fit(2)
        models.append(learn.model)
    assert same(*models)

# Warnings

def test_waiting_is_said_once(clock):
    learn = mk(clock, [Throughput()], wait=9., step=1.)
    with pytest.warns(UserWarning) as ws: learn.fit(2)
    assert [str(o.message) for o in ws]==['90% of the 40 s of training in epoch 0 went by waiting for batches, which no workers make: '
        'in a DataLoader, num_workers=4 has them made meanwhile']
    learn.fit(1)

@pytest.mark.parametrize('kwargs,wait,step', [(dict(warn_above=None), 9., 1.), (dict(warn_above=.95), 9., 1.), ({}, 1., .1), ({}, 9., 9.)])
def test_what_is_no_reason_to_warn(clock, kwargs, wait, step): mk(clock, [Throughput(**kwargs)], wait=wait, step=step).fit(1)

def test_warning_with_workers(clock):
    learn = mk(clock, [Throughput()], wait=9., step=1.)
    learn.dls.train.num_workers = 2
    with pytest.warns(UserWarning, match='which 2 workers make: give it more than 2, or make an item of the data set cheaper'): learn.fit(1)

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

def test_what_is_queued_counts(clock, gpu, monkeypatch):
    def sync(d): clock.now += 16
    monkeypatch.setattr(torch.cpu, 'synchronize', sync)
    learn = mk(clock, [cb := Throughput()], valid=None)
    learn.fit(1)
    assert cb.samples_per_sec==.5

def test_devices_that_count_nothing(monkeypatch):
    assert learnloop.measure.throughput._peak_mb(torch.device('meta')) is None
    learnloop.measure.throughput._wait_for(torch.device('meta'))
    monkeypatch.setattr('sys.platform', 'win32')
    assert learnloop.measure.throughput._peak_mb(torch.device('cpu')) is None

# Arguments

@pytest.mark.parametrize('kwargs,msg', [(dict(window=0), 'window is 0'), (dict(window=1.5), 'window is 1.5'), (dict(warn_above=50), 'warn_above is 50'),
    (dict(warn_above='a'), "warn_above is 'a': it must be a share"),
    (dict(columns=['sample_per_sec']), "unknown column 'sample_per_sec'; did you mean 'samples_per_sec'"), (dict(columns='time'), "unknown column 'time'")])
def test_arguments(kwargs, msg):
    with pytest.raises(ValueError, match=msg): Throughput(**kwargs)

@pytest.mark.parametrize('columns', [None, 3, dict(data_wait=1)], ids=str)
def test_columns_are_a_list(columns):
    with pytest.raises(TypeError, match=r'columns is .*: it must be a list of names, of samples_per_sec, .*, peak_memory_mb'): Throughput(columns=columns)

def test_two_of_them(clock):
    cbs = Throughput(window=2),Throughput()
    cbs[1].name = 'other'
    learn = mk(clock, [cbs[0], Callback('away', before_train=lambda cb: cb.learn.remove_cb(cbs[1]) if cb.learn.epoch else None), cbs[1]])
    learn.fit(2)
    assert [len(o.epochs) for o in cbs]==[2, 1] and cbs[0].epochs[1]['samples_per_sec']==cbs[1].epochs[0]['samples_per_sec']==1
    assert not [o for o in learn.cbs if isinstance(o, learnloop.measure.throughput._BeforeFetch)]

def test_two_decimals_at_most(clock):
    learn = mk(clock, [Throughput()], step=.33, wait=.0456)
    learn.fit(1)
    assert learn.recorder.columns[2:]==['samples_per_sec', 'data_wait'] and learn.recorder.values[0][2:]==[10.65, .12]
    learn = mk(clock, [Throughput()], step=.003, wait=0)
    learn.fit(1)
    assert learn.recorder.values[0][2:]==[1333, 0]

def test_repr(clock):
    learn = mk(clock, [cb := Throughput()], step=.001, wait=.001)
    learn.fit(1)
    assert repr(cb)=='Throughput(2,000 samples/s, 500.0 steps/s, 50% of the time waiting for data)'

def test_no_column_at_all(clock):
    learn = mk(clock, [cb := Throughput(columns=())])
    learn.fit(1)
    assert learn.recorder.columns==['train_loss', 'valid_loss'] and cb.samples_per_sec==1
