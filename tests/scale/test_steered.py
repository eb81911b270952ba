"Commands act once, in order, at the same place in both processes, and a replay is bit-identical"
import random, time
from learnloop import Callback, CheckpointCallback, Snapshots
from learnloop.checkpoint.steer import Steering, read_commands
from runs import mk_learner, weights
from together import LIMIT, ending, same, together

N = 40
VERBS = 'lr=.01','lr=.03','wd=.1','validate','save','lr=-1','lr=.02 wd=0','mom=.8 end','nothing','rewind 3'

class Tells(Callback):
    "The first process gives commands, at random batches"
    read_only = rank_invariant = True
    run_valid = False
    def __init__(self, folder, n): self.folder,self.rng,self.n = folder,random.Random(5),n
    def after_batch(self):
        if not self.learn.team.is_first: return
        for _ in range(self.rng.randrange(8)):
            if not self.n: return
            self.n -= 1
            text = self.rng.choice(VERBS)
            if text in ('nothing', 'lr=-1') or self.rng.random()<.5: self.write(text)
            else: self.learn.tell(text)
    def write(self, text):
        (self.folder/'tell').mkdir(exist_ok=True)
        (self.folder/'tell'/f'{time.time_ns():020d}-{self.n}').write_text(text)

def fit(folder, n, replay=None):
    Steering.every = 0
    learn = mk_learner()
    learn.to_ddp(timeout=LIMIT)
    tells = [Tells(folder, n)] if n else []
    learn.fit_one_cycle(5, .05, cbs=[CheckpointCallback(folder, every_steps=5), Snapshots(every_steps=4, keep=99), *tells], replay=replay)
    s = next(o for o in learn.engines if isinstance(o, Steering))
    return dict(weights=[o.tolist() for o in weights(learn.model)], opt=str(learn.opt.state_dict()), count=dict(vars(learn.count)),
        log=s.log, raw=[float(o) for o in learn.recorder.raw_losses], attempt=learn.keeper.attempt)

def other_rank(folder):
    learn = mk_learner()
    learn.to_ddp(timeout=LIMIT)
    said = []
    def tells(cb):
        if cb.learn.team.rank: said.append(ending(cb.learn.tell, 'stop'))
    learn.fit(1, cbs=Callback(after_batch=tells))
    return said[:1]

def job(folder):
    one = fit(folder/'a', N)
    return one,fit(folder/'b', 0, replay=folder/'a'),other_rank(folder)

def test_commands_act_in_two_processes_and_a_replay_is_bit_identical(tmp_path):
    res = together(job, tmp_path)
    one,again = same([o[0] for o in res]),same([o[1] for o in res])
    assert again==one
    log = read_commands(tmp_path/'a')
    assert log==one['log'] and len(log)==N and one['attempt'] and {o['refused'] for o in log}=={True, False}
    assert [o['id'] for o in log]==[o['id'] for o in read_commands(tmp_path/'b')]
    assert not res[0][2] and 'tell the first process' in res[1][2][0][1]
