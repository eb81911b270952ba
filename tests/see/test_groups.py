"Groups and hyper-parameters of runs: `runs` and `compare` show those of the logger, with the numbers of NumPy"
import json, math, time
from pathlib import Path
import numpy as np, pytest, torch
from helpers import mk_learner, plainly
from hypothesis import HealthCheck, given, settings, strategies as st
from learnloop import Callback, CSVLogger, JSONLogger, Logger, Recorder, TensorBoardCallback, mae
from learnloop.app.cli import main
from learnloop.see.compare import compare
from learnloop.see.report import report_from
from learnloop.see.runfile import run_label
from learnloop.see.runs import Run
from test_compare import page_of, texts

@pytest.fixture(autouse=True)
def quick(monkeypatch):
    "Fix the clock, so that a run has the same age wherever it is shown"
    now = time.time()+9
    monkeypatch.setattr('learnloop.see.runs.time.time', lambda: now)

def fit(folder, *loggers, n=2, cbs=(), **kwargs):
    learn = mk_learner([Recorder(), *loggers, *cbs], path=folder, metrics=mae, **kwargs)
    with learn.no_logging():
        try: learn.fit(n)
        except MemoryError: pass
    return learn

def leave(folder, group, state='done', better=None, **columns):
    "What a run leaves, with given histories of metrics"
    folder.mkdir(parents=True)
    facts = dict(group=group) if group else {}
    (folder/'run.json').write_text(json.dumps(dict(version=1, state=state, updated=1., better=better or {}, facts=facts)))
    rows = [f'{i},{10*i+10},'+','.join(map(str, r)) for i,r in enumerate(zip(*columns.values(), strict=True))]
    (folder/'history.csv').write_text('\n'.join([f'epoch,step,{",".join(columns)}', *rows, '']))

# ---- hyper-parameters

LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9)
VALUES = st.recursive(LEAVES | st.lists(LEAVES, max_size=3), lambda o: st.dictionaries(st.text('abc', min_size=1, max_size=3), o, max_size=3), max_leaves=6)

def flat(d, at=''): return {k:v for nm,o in d.items() for k,v in (flat(o, f'{at}{nm}.') if isinstance(o, dict) else {f'{at}{nm}':o}).items()}
def in_json(v): return [in_json(o) for o in v] if isinstance(v, list) else str(v) if isinstance(v, float) and not math.isfinite(v) else v

@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(hparams=st.dictionaries(st.text(min_size=1, max_size=6).filter(lambda o: '.' not in o), VALUES, max_size=4))
def test_groups_are_read_as_given(hparams, tmp_path_factory):
    folder = tmp_path_factory.mktemp('run')
    label = run_label('a', hparams)
    assert repr(label['hparams'])==repr(flat(hparams))
    learn = mk_learner([Recorder(), CSVLogger(hparams=hparams)], path=folder)
    hparams['later'] = 1  # a logger keeps what it was given
    with learn.no_logging(): learn.fit(1)
    del hparams['later']
    json.loads((folder/'run.json').read_text(), parse_constant=lambda o: pytest.fail(f'{o} is not JSON'))
    got = {k.removeprefix('hparams.'):v for k,v in Run(folder).settings.items() if k.startswith('hparams.')}
    assert repr(got)==repr({k:in_json(v) for k,v in flat(hparams).items()})

@pytest.mark.parametrize('hparams, text', [([1], r'hparams is \[1\]: it must be a dict'), ('a', "hparams is 'a'"), (dict(act=torch.relu), 'act is <built-in'),
    (dict(a=dict(b=[{1}])), r'a\.b is \{1\}: it must be a number, text'), (dict(x=torch.ones(2)), 'x is tensor'), ({1:2}, 'has the name 1: names must be text'),
    ({'':2}, "has the name '': names must"), (dict(x=1j), r'x is 1j'), (dict(x=b'a'), "x is b'a'"), (dict(x=[{}]), r'x is \{\}')], ids=plainly)
@pytest.mark.parametrize('logger', [Logger, CSVLogger, JSONLogger, TensorBoardCallback])
def test_what_is_refused_before_a_fit(hparams, text, logger):
    with pytest.raises(TypeError, match=text): logger(hparams=hparams)

def test_two_values_of_one_name_are_refused():
    with pytest.raises(ValueError, match=r"hparams has 'a\.b' twice"): run_label(hparams={'a.b':1, 'a':{'b':2}})

@pytest.mark.parametrize('group, err', [(3, TypeError), (b'a', TypeError), ('', ValueError), (' ', ValueError), ('a\nb', ValueError)])
def test_bad_groups(group, err):
    with pytest.raises(err, match='group is .*: it must be a line of text that all runs of the group share'): CSVLogger(group=group)

@pytest.mark.parametrize('logger', [CSVLogger, JSONLogger, lambda **kw: TensorBoardCallback('.', **kw)])
def test_each_logger_that_writes_a_run_describes_it(logger, tmp_path):
    fit(tmp_path, logger(group='folds', hparams=dict(width=3, opt=dict(lr=.1))))
    run = Run(tmp_path)
    assert run.group=='folds' and run.to_dict()['group']=='folds'
    own = {k:v for k,v in run.settings.items() if 'width' in k or 'opt.' in k and 'hparams' in k}
    assert own=={'hparams.width':3, 'hparams.opt.lr':.1}, 'once, not at the callback, too'
    assert 'Your hyper-parameters' in Path(report_from(tmp_path)).read_text()

@pytest.mark.parametrize('a, b, text', [(dict(group='a'), dict(group='b'), "group='a', and JSONLogger has group='b'"),
    (dict(hparams=dict(x=1)), dict(hparams=dict(x=2)), r'hparams\.x=1, and JSONLogger has hparams\.x=2')])
def test_loggers_that_contradict_each_other_end_the_fit_before_a_batch(a, b, text, tmp_path):
    seen = []
    learn = mk_learner([Recorder(), CSVLogger(**a), JSONLogger(**b), Callback(before_batch=lambda cb: seen.append(1))], path=tmp_path)
    with pytest.raises(ValueError, match=text), learn.no_logging(): learn.fit(1)
    assert not seen and not [*tmp_path.iterdir()]
    with learn.no_logging(): learn.fit(1, cbs=[]) if learn.remove_cb(JSONLogger) else None
    assert Run(tmp_path).state=='done'

def test_compare_shows_what_differs_and_what_only_some_have(tmp_path):
    for i,hp in enumerate((dict(width=1, same=3, path='a/x'), dict(width=2, same=3, path='b/x'), dict(same=3, path='b/x', depth=None))):
        fit(tmp_path/f'{i}', CSVLogger(hparams=hp))
    c = compare(tmp_path)
    own = {k:v for k,v in c.differing().items() if k.startswith('hparams')}
    assert own=={'hparams.width':[1, 2, None], 'hparams.path':['a/x', 'b/x', 'b/x']}
    _,page = page_of(c, tmp_path)
    assert ['hparams.width', '1', '2', ''] in texts(page.tables['Settings that differ'])

# ---- groups

def test_what_is_printed(tmp_path, capsys, monkeypatch):
    for i,v in enumerate((1., 2., 4.)): leave(tmp_path/f'{i}', 'folds', valid_loss=[9., v])
    leave(tmp_path/'3', 'folds', 'failed', valid_loss=[100.])
    leave(tmp_path/'4', 'alone', valid_loss=[3.], better=dict(acc='more'), acc=[.5])
    leave(tmp_path/'5', None, valid_loss=[.001])
    leave(tmp_path/'6', 'none done', 'failed', valid_loss=[.001])
    main(['runs', str(tmp_path)])
    lines = [' '.join(o.split()) for o in capsys.readouterr().out.splitlines()]
    mean,std = np.mean([1, 2, 4]),np.std([1, 2, 4], ddof=1)
    assert lines[-4:]==['group runs done best valid_loss last valid_loss', f'folds 4 3 {mean:.5g} ± {std:.2g} {mean:.5g} ± {std:.2g}', 'alone 1 1 3 3', 'none done 1 0']
    _,page = page_of(compare(tmp_path), tmp_path)
    head,*rows = texts(page.tables['Mean ± standard deviation of the runs that are done'])
    assert head==['group', 'runs', 'done', 'valid_loss, best', 'valid_loss, last', 'acc, best', 'acc, last']
    assert rows[0][:3]==['folds', '4', '3'] and rows[0][3].endswith(f' ± {std:.2g}') and rows[1][5]=='0.5' and rows[2][3:]==['']*4
    main(['runs', str(tmp_path), '--by', 'acc'])
    assert 'best acc' in capsys.readouterr().out
    main(['runs', str(tmp_path), '--json'])
    assert [o['group'] for o in json.loads(capsys.readouterr().out)]==['folds']*4+['alone', None, 'none done']
