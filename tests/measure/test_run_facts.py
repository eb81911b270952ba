"What a run is, as plain data: whole, the same in each process, and nothing that is nobody's business"
import json, os, subprocess, sys
from functools import partial
from pathlib import Path
import pytest, torch
from helpers import mk_learner
from learnloop import Callback, CheckpointCallback, CSVLogger, EarlyStoppingCallback, ParamScheduler, Recorder, SchedCos, run_facts
from learnloop.measure.describe import described
from learnloop.measure.about import find_commit, flat_facts
from torch import nn

class Secretive(Callback):
    def __init__(self, api_key='s3cret-1', url='https://me:s3cret-2@host/x', folder='/home/s3cret-3/runs', token='s3cret-4',
        opts=(('password', 1),), nested=None, **more):
        self.api_key,self.url,self.folder,self.token,self.nested,self.more = api_key,url,folder,token,nested or {'Auth':'s3cret-5'},more

def test_no_secret_and_no_path_gets_out(monkeypatch):
    monkeypatch.setenv('MY_S3CRET', 's3cret-6')
    learn = mk_learner([Recorder(), Secretive(extra='s3cret-7'), CSVLogger(Path('/home/s3cret-8/a.csv')), CheckpointCallback('/home/s3cret-9/run')])
    text = json.dumps(run_facts(learn))
    assert 's3cret' not in text and str(Path.home()) not in text and os.uname().nodename not in text
    told = run_facts(learn)['callbacks']['secretive']
    assert len(told.pop('code'))==8 and told=={'class':'Secretive', 'url':'(an address)', 'folder':'runs', 'nested':{}}

def test_json_can_hold_all_of_it_and_it_is_small():
    cbs = [Recorder(), EarlyStoppingCallback(min_delta=float('inf')), ParamScheduler({'lr':SchedCos(1e-3, 1e-5)})]
    facts = run_facts(mk_learner(cbs, metrics=[nn.L1Loss()]))
    text = json.dumps(facts, allow_nan=False)
    assert json.loads(text)==facts and len(text)<10_000
    assert facts['callbacks']['param_scheduler']['scheds']=={'lr':'SchedCos(0.001, 1e-05)'}

@pytest.mark.parametrize('o, want', [(True, True), (3, 3), (.5, .5), (float('nan'), 'nan'), (-float('inf'), '-inf'), (None, None),
    (torch.tensor(2), 2), (torch.zeros(3), 'Tensor (3,) torch.float32 008321eb'), (torch.zeros(1, device='meta'), 'Tensor (1,) torch.float32'),
    ((1, 'a'), [1, 'a']), ([*range(99)], [*range(50), '… of 99']), (Path('a/b'), 'b'), ('x'*300, 'x'*199+'…'), (nn.Linear, 'Linear'),
    (partial(nn.Linear, bias=False), {'class':'Linear', 'bias':False}), (nn.ReLU(), {'class':'ReLU', 'inplace':False}), (max, 'max'),
    (object(), 'object'), ('a/b', 'a/b'), ({1:{2:3}}, {'1':{'2':3}}),
    ({object():1}, {'<object object>':1})], ids=lambda o: type(o).__name__)
def test_an_object_in_plain_data(o, want):
    assert described(o)==want

def test_what_contains_itself_comes_to_an_end():
    o = []
    o.append(o)
    assert described(o)==[[[[['list']]]]]

def test_in_a_fit_the_learning_rate_is_that_before_the_schedule():
    seen = []
    learn = mk_learner([Recorder(), ParamScheduler({'lr':SchedCos(1e-3, 1e-5)})], lr=.25)
    learn.fit(1, cbs=Callback(after_batch=lambda cb: seen.append(run_facts(cb.learn)['optimizer']['lr'])))
    assert {*seen}=={.25}

def test_groups_that_differ_are_told_each_and_there_may_be_no_optimizer():
    learn = mk_learner(splitter=lambda m: [[p] for p in m.parameters()])
    assert 'made_by' in run_facts(learn)['optimizer']
    learn.fit(1, lr=slice(.1, .2))
    assert run_facts(learn)['optimizer']['lr']==pytest.approx([.1, .2])
    assert run_facts(learn)['optimizer']['groups']==2

def test_two_processes_tell_the_same(tmp_path):
    (tmp_path/'x.py').write_text('import json\nfrom learnloop import *\nset_seed(1)\nlearn = synth_learner(cbs=[EMA(.9), GradientClip(1.)])\nprint(json.dumps(run_facts(learn)))\n')
    told = [subprocess.run([sys.executable, '-W', 'ignore', 'x.py'], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=True).stdout for _ in range(2)]
    assert told[0]==told[1] and json.loads(told[0])['numerics']['seed']==1

def test_looking_changes_nothing():
    learn = mk_learner([Recorder()])
    learn.fit(1)
    before = torch.get_rng_state(),[p.clone() for p in learn.model.parameters()],[*learn.cbs]
    run_facts(learn)
    assert torch.equal(torch.get_rng_state(), before[0]) and [*learn.cbs]==before[2]
    assert all(torch.equal(a, b) for a,b in zip(learn.model.parameters(), before[1], strict=True))

def test_lazy_and_no_parameters():
    assert run_facts(mk_learner(model=nn.LazyLinear(1)))['model']['parameters']==0

HASH = 'ab'*20
@pytest.mark.parametrize('how', ['branch', 'packed', 'detached', 'worktree', 'unborn', 'broken', 'none'])
def test_the_commit_of_a_repository(how, tmp_path):
    git,inner = tmp_path/'.git',tmp_path/'src'/'pkg'
    inner.mkdir(parents=True)
    if how!='none': (git/'refs/heads').mkdir(parents=True)
    if how!='none': (git/'HEAD').write_text(f'{HASH}\n' if how=='detached' else 'ref: refs/heads/main\n')
    if how in ('branch','worktree'): (git/'refs/heads/main').write_text(f'{HASH}\n')
    if how=='packed': (git/'packed-refs').write_text(f'# pack-refs with: peeled\n{"cd"*20} refs/heads/xmain\n{HASH} refs/heads/main\n')
    if how=='broken': (git/'refs/heads/main').write_text('no hash\n')
    if how=='worktree':
        (tree := git/'worktrees/w').mkdir(parents=True)
        (tree/'HEAD').write_text('ref: refs/heads/main\n')
        (tree/'commondir').write_text('../..\n')
        (inner/'.git').write_text(f'gitdir: {tree}\n')
    assert find_commit(inner)==(None if how in ('unborn','broken','none') else HASH)

def test_names_with_dots():
    assert flat_facts({'a':{'b':{'c':1}, 'd':[1, 2]}, 'e':None})=={'a.b.c':1, 'a.d':[1, 2], 'e':None}

def test_the_commit_is_found_without_git(tmp_path):
    repo,work = tmp_path/'repo',tmp_path/'work'
    (repo/'.git/refs/heads').mkdir(parents=True)
    (repo/'.git/HEAD').write_text('ref: refs/heads/main\n')
    assert find_commit(repo) is None
    (repo/'.git/packed-refs').write_text('# pack-refs\n' + 'b'*40 + ' refs/heads/main\n')
    assert find_commit(repo)=='b'*40
    (repo/'.git/refs/heads/main').write_text('a'*40+'\n')
    (repo/'deep/er').mkdir(parents=True)
    assert find_commit(repo/'deep/er')=='a'*40
    own = repo/'.git/worktrees/work'
    own.mkdir(parents=True)
    (own/'HEAD').write_text('ref: refs/heads/main\n')
    (own/'commondir').write_text('../..\n')
    work.mkdir()
    (work/'.git').write_text(f'gitdir: {own}\n')
    assert find_commit(work)=='a'*40
