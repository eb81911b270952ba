"If one of two processes rewinds, both do: with DDP, FSDP, skipped rows, an accumulation window, and a pause"
import threading, torch
from learnloop import Callback, CheckpointCallback, GradientAccumulation, MicroBatch, Place, Snapshots, list_checkpoints
from learnloop.checkpoint.steer import Steering
from helpers import Back
from runs import differ, mk_learner, weights
from together import LIMIT, same, together

def fit(how, *cbs, n=2, keeps=None, **kwargs):
    "Fit with `cbs`; return what must be equal in all processes"
    learn = mk_learner()
    if how: getattr(learn, f'to_{how}')(timeout=LIMIT)
    learn.fit_one_cycle(n, .05, cbs=[keeps or Snapshots(4, keep=9), *cbs], **kwargs)
    return dict(weights=weights(learn.model), attempt=learn.keeper.attempt, losses=[float(o) for o in learn.recorder.raw_losses],
        rows=[row[:2] for row in learn.recorder.values])

TO = dict(to=Place(1, 'train', 1))
BACK = dict(ddp=[('after_loss', 1), ('between_batches', 1)], fsdp=[('after_batch', 0)])

def job(folder):
    res = {}
    for how in ('ddp', 'fsdp'):
        res[how] = [fit(how), *(fit(how, Back(e, r, **TO)) for e,r in BACK[how])]
        res[how+'_disk'] = [res[how][0], fit(how, Back('after_batch', 1, **TO), keeps=CheckpointCallback(folder/how, every_steps=4))]
    def window(*cbs): return fit('ddp', GradientAccumulation(20), *cbs)
    res['accumulation'] = [window(), window(Back('after_loss', 1, **TO))]
    return res

def test_all_processes_rewind_with_one(tmp_path):
    ranks = together(job, tmp_path)
    for k,(plain,*others) in ranks[0].items():
        for i,o in enumerate(others, 1):
            assert o['attempt']==1 and o['losses']==plain['losses'], k
            for r in ranks: assert all(map(torch.equal, r[k][i]['weights'], plain['weights'])), k

# ---- Rows

SKIP = [3, 11, 12, 20, 21, 22, 40, *range(25, 33)]

FEW = [*range(4, 45)]  # some batches keep no row in one process, or in both

def skipping(how):
    def run(rows, *cbs): return fit(how, Back('after_batch', int(how is not None), to=Place(0), skip_rows=rows), *cbs)
    return [run(SKIP), run(FEW), run(FEW, MicroBatch(2)), run(FEW, GradientAccumulation(9), MicroBatch(1))]

def test_all_processes_skip_the_rows():
    ones,(first,*others) = skipping(None),together(skipping, 'ddp')
    for i,one in enumerate(ones):
        for r in (first, *others):
            assert all(map(torch.equal, r[i]['weights'], first[i]['weights'])) and differ(r[i]['weights'], one['weights'])<2e-5
            assert r[i]['attempt']==1
            torch.testing.assert_close(r[i]['losses'], one['losses'], rtol=1e-4, atol=1e-5)
            torch.testing.assert_close(r[i]['rows'], one['rows'], rtol=1e-4, atol=1e-5)

# ---- Another number of processes

def from_start(folder, how, resume=False):
    "Rewind to the start of an epoch, or resume from the checkpoint that was saved there"
    back = Back('after_batch', int(how is not None), to=Place(1, 'train', 0), wd=.1)
    back.done = resume
    keeps = CheckpointCallback(f'{folder}_on' if resume else folder, every_steps=5, keep=99)
    return fit(how, back, n=3, keeps=keeps, resume=_there(folder) if resume else None, accept=['callbacks.back'])

def _there(folder): return next(o for o in list_checkpoints(folder) if o.manifest['epoch']==1 and o.manifest['batch']==0)

def test_another_number_of_processes_resumes_from_the_start_of_an_epoch(tmp_path):
    one,two = from_start(tmp_path/'one', None),together(from_start, tmp_path/'two', 'ddp')[0]
    for r in (two, together(from_start, tmp_path/'one', 'ddp', True)[0], from_start(tmp_path/'two', None, True)):
        assert differ(r['weights'], one['weights'])<2e-5

# ---- A pause

def paused(folder):
    "The first process tells all to pause; one of its threads tells them to continue"
    Steering.every,order = 0,[]
    class Pauses(Callback):
        run_valid,rank_invariant,read_only = False,True,True
        def after_batch(self):
            learn = self.learn
            order.append(learn.count.batches)
            if learn.count.batches!=3 or not learn.team.is_first: return
            learn.tell('pause')
            def later():
                learn.tell(lr=.01)
                learn.tell('go')
            threading.Timer(.3, later).start()
    learn = mk_learner()
    learn.to_ddp(timeout=LIMIT)
    learn.fit(6, cbs=Pauses())
    s = next(o for o in learn.engines if isinstance(o, Steering))
    return [o.tolist() for o in weights(learn.model)],[(o['text'], o['epoch'], o['batch']) for o in s.log],order,learn.opt.param_groups[0]['lr']

def test_a_pause_holds_both_processes_and_commands_act_in_it(tmp_path):
    _,log,order,lr = same(together(paused, tmp_path))
    assert [o[0] for o in log]==['pause', 'lr=0.01', 'go'] and len({o[1:] for o in log})==1 and order==[*range(1, 37)] and lr==.01
