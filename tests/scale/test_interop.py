"Callbacks of other systems in two processes: their ranks, stops, and files"
import csv, os
from itertools import count
import pytest, torch
from helpers import silent
from learnloop import CancelFitException, DataLoaders, Learner
from learnloop.interop import accelerated, engine, fastai, fastnlp, ignite, keras, lightning, transformers
from learnloop.scale.agree import points_needed
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset
from test_interop_together import BASES, STOPS
from together import ending, same, together

pytestmark = pytest.mark.filterwarnings('ignore')

def mk(*cbs, lr=.1):
    g = torch.Generator().manual_seed(0)
    x = torch.randn(24, 3, generator=g)
    dl = DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), 4)  # 6 batches
    torch.manual_seed(1)
    return silent(Learner(DataLoaders(dl, dl), nn.Linear(3, 1), F.mse_loss, torch.optim.SGD, lr=lr, cbs=cbs).to_ddp())

def weights(learn): return [p.detach().clone() for p in learn.model.parameters()]

# ---- stops that one process requests, in the third batch of the second epoch
HOOKS = dict(engine='on_batch_end', fastnlp='on_train_batch_end', accelerated='on_train_step_end', fastai='after_batch', lightning='on_train_batch_end',
    transformers='on_step_end', keras='on_train_batch_end')
def stopping(system, rank):
    "Return a callback of `system` that stops the fit in the ninth batch, in one process"
    calls = count(1)
    def f(self, *args, **kwargs):
        if next(calls)!=9 or int(os.environ['RANK'])!=rank: return
        if isinstance(STOPS[system], type): raise STOPS[system]
        STOPS[system](self, *args, **kwargs)
    return type('Stop', (BASES[system],), {HOOKS[system]:f, 'run_valid':False})()

def stop_ignite(rank):
    from ignite.engine import Events
    ig = ignite.Ignite()
    @ig.trainer.on(Events.ITERATION_COMPLETED(once=9))
    def stop(engine):
        if int(os.environ['RANK'])==rank: engine.terminate()
    return ig

def points(learn):
    "Return where processes have to meet in a training batch"
    learn.training = True
    return sorted(points_needed(learn))

def stopped():
    "Return by system and process: batches, steps, where processes meet in a batch, and whether weights are equal"
    res = {}
    for system in (*HOOKS, 'ignite'):
        for rank in 0,1:
            learn = mk(stop_ignite(rank) if system=='ignite' else stopping(system, rank))
            learn.fit(3)
            ws = learn.team.gather(weights(learn))
            res[system,rank] = learn.count.batches,learn.count.opt_steps,points(learn),all(map(torch.equal, *ws))
    return res

def test_if_one_process_stops_all_do():
    res = same(together(stopped))
    for (name,_),(n_batches,n_steps,where,equal) in res.items():
        assert equal and (n_batches, n_steps)==(9, 9), (name, n_batches, n_steps)
        assert bool(where)==(name in ('fastai', 'fastnlp', 'accelerated')), (name, where)

# ---- ranks
def who():
    res = {}
    class L(lightning.Callback):
        def on_fit_start(self, trainer, pl_module):
            t,s,r = trainer,trainer.strategy,trainer.global_rank
            res['lightning'] = t.global_rank,t.local_rank,t.node_rank,t.world_size,t.num_devices,t.num_nodes,t.is_global_zero
            x = torch.tensor(r+1.)
            res['reduce'] = s.reduce(x).item(),s.reduce(x, reduce_op='sum').item(),s.broadcast(f'of {r}'),s.broadcast(r, src=1)
            res['decide'] = s.reduce_boolean_decision(r==0),s.reduce_boolean_decision(r==0, all=False)
            s.barrier()
        def on_train_epoch_end(self, trainer, pl_module):
            pl_module.log('rank', float(trainer.global_rank), sync_dist=True)
            res['synced'] = trainer.callback_metrics['rank'].item()
    class T(transformers.TrainerCallback):
        def on_train_begin(self, args, state, control, **kwargs):
            res['transformers'] = args.process_index,args.world_size,args.local_rank,state.is_world_process_zero,state.is_local_process_zero
    class A(accelerated.TrainerCallback):
        def on_training_run_start(self, trainer):
            c,a = trainer.run_config,trainer._accelerator
            res['accelerated'] = c.is_world_process_zero,c.is_local_process_zero,c.num_processes,c.is_distributed,a.process_index
            res['sizes'] = c.train_per_device_batch_size,c.train_total_batch_size,c.num_update_steps_per_epoch
            r = a.process_index
            res['gather'] = trainer.gather(torch.arange(r+1)+10*r, padding_value=10).tolist()
            a.wait_for_everyone()
    class N(fastnlp.Callback):
        def on_train_begin(self, trainer):
            d = trainer.driver
            res['fastnlp'] = d.global_rank,d.world_size,d.is_distributed(),d.broadcast_object(d.global_rank, src=1)
            d.barrier()
    class E(engine.Callback):
        def on_train_start(self, logs=None): res['engine'] = self.engine.rank
    mk(L(), T(), A(), N(), E()).fit(1)
    return res

def test_each_system_reports_the_rank():
    every = together(who)
    for r,o in enumerate(every):
        first = r==0
        assert o['lightning']==(r, r, 0, 2, 2, 1, first)
        assert o['reduce']==(1.5, 3., 'of 0', 1) and o['decide']==(False, True) and o['synced']==.5
        assert o['transformers']==(r, 2, r, first, first)
        assert o['accelerated']==(first, first, 2, True, r)
        assert o['sizes']==(2, 4, 6) and o['gather']==[0, 10, 11]
        assert o['fastnlp']==(r, 2, True, 1) and o['engine']==r

# ---- requests of one process, files, errors
def asks(folder):
    seen = []
    class Ask(transformers.TrainerCallback):
        "The first process decides, as many of them do"
        def on_step_end(self, args, state, control, **kwargs):
            if state.is_world_process_zero and state.global_step==4: control.should_evaluate = control.should_save = True
        def on_evaluate(self, args, state, control, metrics, **kwargs): seen.append((state.global_step, round(metrics['eval_loss'], 4)))
        def on_save(self, args, state, control, **kwargs): seen.append('saved')
    class CSVLogger(keras.Callback):
        def on_epoch_end(self, epoch, logs=None):
            with open(f'{folder}/log.csv', 'a') as f: csv.writer(f).writerow([epoch, os.environ['RANK']])
    learn = mk(transformers.Transformers(Ask(), eval_strategy='no', output_dir=folder), CSVLogger())
    learn.fit(2)
    class Odd(keras.Callback):
        def on_train_batch_end(self, batch, logs=None): raise CancelFitException
    return seen,ending(mk(Odd()).fit, 1)

def test_if_one_process_requests_an_evaluation_all_evaluate(tmp_path):
    seen,(kind,text) = same(together(asks, str(tmp_path)))
    assert [o[0] if o!='saved' else o for o in seen]==[4, 'saved']
    assert (tmp_path/'log.csv').read_text().split()==['0,0', '1,0']
    assert [p.name for p in tmp_path.glob('*.pth')]==['checkpoint-4.pth']
    assert kind=='RuntimeError' and 'Odd (Keras): on_train_batch_end raised CancelFitException' in text

class Agrees(fastai.Callback):
    rank_invariant = True
    def before_step(self): pass

class Silent(fastai.Callback):
    def before_step(self): pass

def test_a_foreign_callback_may_declare_that_it_is_rank_invariant():
    assert points(mk(Silent()))==['step'] and not points(mk(Agrees()))

# ---- ignite, whose handlers read ranks from ignite.distributed
def ignites(folder):
    from ignite.engine import Events
    from ignite.handlers import Checkpoint, DiskSaver, EarlyStopping
    from ignite.metrics import Average, MeanAbsoluteError
    ig,seen = ignite.Ignite(metrics=dict(mae=MeanAbsoluteError())),[]
    Average().attach(ig.trainer, 'mean')
    learn = mk(ig)
    ig.evaluator.add_event_handler(Events.COMPLETED, EarlyStopping(1, lambda e: -e.state.metrics['mae'], ig.trainer, threshold=.05))
    ig.trainer.add_event_handler(Events.EPOCH_COMPLETED, Checkpoint(dict(model=learn.model), DiskSaver(folder, require_empty=False), n_saved=None))
    @ig.trainer.on(Events.EPOCH_COMPLETED)
    def note(engine): seen.append((engine.state.epoch, engine.state.iteration, engine.state.epoch_length, engine.state.metrics['mean']))
    @ig.trainer.on(Events.ITERATION_COMPLETED(every=4))
    def evaluate(engine): seen.append(ig.evaluator.run(learn.dls.valid).metrics['mae'])
    learn.fit(8)
    return learn.count.epochs,seen,[o.numpy() for o in weights(learn)]

def test_ignite_handlers_work_in_two_processes(tmp_path):
    (n,seen,ws),other = together(ignites, str(tmp_path))
    assert other[:2]==(n, seen) and all((a==b).all() for a,b in zip(ws, other[2], strict=True))  # metrics are of both together
    assert n<8 and sorted(os.listdir(tmp_path))==sorted(f'model_{6*i+6}.pt' for i in range(n))
