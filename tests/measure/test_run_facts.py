"The description of a run is plain data: complete, the same in each process, without private data"
import json, os, random
from functools import partial
from pathlib import Path
import numpy as np, pytest, torch
from helpers import mk_learner
from learnloop import Callback, CheckpointCallback, CSVLogger, Learner, Recorder, run_facts
from learnloop.measure.describe import described
from learnloop.data.rng import read_rngs, same_states
from learnloop.measure.about import about_run, _find_commit
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

@pytest.mark.parametrize('o, want', [(True, True), (3, 3), (.5, .5), (float('nan'), 'nan'), (-float('inf'), '-inf'), (None, None),
    (torch.tensor(2), 2), (torch.zeros(3), 'Tensor (3,) torch.float32 30098db4'), (torch.zeros(1, device='meta'), 'Tensor (1,) torch.float32'),
    ((1, 'a'), [1, 'a']), ([*range(99)], [*range(50), '… of 99']), (Path('a/b'), 'b'), ('x'*300, 'x'*199+'…'), (nn.Linear, 'Linear'),
    (partial(nn.Linear, bias=False), {'class':'Linear', 'bias':False}), (nn.ReLU(), {'class':'ReLU', 'inplace':False}), (max, 'max'),
    (object(), 'object'), ('a/b', 'a/b'), ({1:{2:3}}, {'1':{'2':3}}),
    ({object():1}, {'<object object>':1})], ids=lambda o: type(o).__name__)
def test_an_object_in_plain_data(o, want):
    assert described(o)==want

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
    assert _find_commit(inner)==(None if how in ('unborn','broken','none') else HASH)

def test_describing_a_run_draws_no_random_numbers_even_if_a_repr_does():
    class Drawing:
        def __repr__(self): return f'{torch.rand(2).shape} {np.random.rand(2).shape} {len([random.random()])}'  # noqa: NPY002
    class Flow(nn.Linear):
        def extra_repr(self): return repr(Drawing())
    class Held(Callback):
        def __init__(self): self.held = Drawing()
    np.random.seed(0)  # noqa: NPY002
    model = Flow(1, 1)
    model.own = Drawing()
    learn,was = Learner([(torch.zeros(2, 1), torch.zeros(2, 1))], model, nn.functional.mse_loss, cbs=Held()),read_rngs()
    about_run(learn)
    assert [k for k,v in read_rngs().items() if not same_states(v, was[k])]==[]
