"History, metrics, predictions and files of several processes are those of one process"
import csv, json
import learnloop, pytest, torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset
from learnloop import *
from learnloop.measure.interpret import Interpretation
from learnloop.measure.metric import Metric
from learnloop.measure.metrics import AvgSmoothLoss, Dice, DictMetric, JaccardCoeff, Perplexity, accuracy, skm_metric
from learnloop.measure.throughput import Throughput
from learnloop.see.log import CSVLogger, JSONLogger
from learnloop.see.timeline import load_trace
from learnloop.see.trace import Tracer
from runs import equal, mk_learner, near
from together import ending, same, together

N,NV,BS = 44,21,8 # 6 batches, the last of 4 items; in validation the last of 5 batches has one

def data(n):
    g = torch.Generator().manual_seed(n)
    x = torch.randn(n, 4, generator=g)
    return TensorDataset(x, (x[:,0]>0).long())

def mk(loss=F.cross_entropy, nv=NV, **kwargs):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
    dls = DataLoaders(DataLoader(data(N), BS, shuffle=True), DataLoader(data(nv), 5))
    return Learner(dls, model, loss, lr=.05, **kwargs)

def fit(learn, n=1, *args, **kwargs):
    with learn.no_logging(): learn.fit(n, *args, **kwargs)

def history(learn):
    r = learn.recorder
    return dict(values=[*map(list, r.values)], raw=[*r.raw_losses], losses=[*r.losses], lrs=[*r.lrs], iters=[*r.iters],
        sizes=[*r._sizes], names=r.metric_names, log=r.log[:-1], smooth=learn.smooth_loss)

def agree(f, *args, n=2):
    "Call `f` in `n` processes; check that results are bit-identical in all, and those of one process within rounding"
    one = f(*args)
    first,*others = together(f, *args, n=n)
    for o in others: assert equal(first, o), (first, o)
    for k in one if isinstance(one, dict) else ():
        assert near(one[k], first[k]), (k, one[k], first[k])
    assert near(one, first), (one, first)
    return first

class Seen(Metric):
    sync = dict(n='sum', total='sum')
    def reset(self): self.n,self.total = 0,torch.zeros(2)
    def accumulate(self, learn): self.n,self.total = self.n+learn.bs,self.total+learn.pred.sum(0)
    value = property(lambda self: self.n)

def metrics():
    def scores(pred, y): return pred
    return [accuracy, rmse_of, skm_metric('f1_score', average='macro'), Perplexity(), AvgSmoothLoss(), Dice(), JaccardCoeff(), Seen(),
        DictMetric(AccuracyToo, pred=lambda learn: learn.pred, targ=None, ignore=1)]

def rmse_of(pred, y): return (pred[:,0]-y).square().mean()
def AccuracyToo(pred, y): return accuracy(pred, y)

def everything():
    learn = mk(metrics=metrics()).to_ddp()
    learn.recorder.train_metrics = True
    fit(learn, 2)
    res = history(learn) | dict(valid=learn.validate(), more=learn.validate(dl=[(torch.ones(1, 4), torch.tensor([1]))]))
    res['preds']  = learn.get_preds(with_input=True, with_loss=True, with_decoded=True)
    res['act']    = learn.get_preds(act=torch.sigmoid)[0]
    res['events'] = learn.get_preds(cbs=Callback(after_pred=lambda cb: None))
    res['train']  = learn.get_preds(0)  # shuffled in training, and in order here
    res['fewer']  = learn.get_preds(dl=DataLoader(data(5), 2))
    res['item']   = learn.predict(torch.ones(4))
    top = Interpretation.from_learner(learn)
    res['top'],res['tta'] = top.top_losses(5),learn.tta(aug=lambda x: x+.1, n=2)
    return res

@pytest.mark.parametrize('n', [2, 4])
def test_case_84_numbers_of_several_processes_are_those_of_one(n): agree(everything, n=n)

def test_parts_of_the_loss_are_recorded_by_all():
    def f(alone):
        def loss(pred, y):
            res = dict(loss=F.cross_entropy(pred, y))
            if alone or learn.team.rank==1: res['late'] = pred.square().mean()
            return res | dict(size=pred.mean())
        learn = mk(loss, metrics=accuracy).to_ddp()
        fit(learn, 2)
        return history(learn) | dict(valid=learn.validate())
    agree(f, True)
    a,b = together(f, False)
    assert equal(a, b) and a['names']==['epoch','train_loss','valid_loss','accuracy','train_size','valid_size','train_late','valid_late','time']

def test_all_processes_record_what_callbacks_log():
    "Means over all items, or over those of the one process that logs; between batches, the value of the first process"
    class Logs(Callback):
        rank_invariant = True
        def after_loss(self): self.learn.log('size', self.pred.square().mean())
        def after_epoch(self): self.learn.log('counted', self.learn.epoch+self.learn.team.rank*100)
    def f():
        learn = mk(metrics=accuracy).to_ddp()
        fit(learn, 2, cbs=Logs())
        return history(learn)
    agree(f)
    def of_one():
        def late(cb):
            if cb.learn.team.rank==1 and cb.learn.training: cb.learn.log('late', 3.)
        learn = mk(metrics=accuracy).to_ddp()
        fit(learn, 2, cbs=Callback('late_one', after_batch=late))
        return history(learn)
    a,b = together(of_one)
    assert equal(a, b) and a['names']==['epoch','train_loss','valid_loss','accuracy','train_late','time'], a['names']

CANCELS = [('before_batch','Batch'), ('after_pred','Batch'), ('before_backward','Backward'), ('before_step','Step'), ('after_step','Train'),
    ('after_batch','Train'), ('after_loss','Epoch'), ('after_batch','Fit'), ('before_validate','Valid'), ('before_fit','Fit'),
    ('after_train','Epoch'), ('before_epoch','Epoch')]

def test_the_history_after_a_cancel_of_one_process():
    "Rank 1 cancels in the third batch; the history is that of a single process that does so"
    def f(e, what):
        def always(cb):
            if cb.learn.team.rank==cb.learn.team.world-1: raise getattr(learnloop, f'Cancel{what}Exception')
        def third(cb):
            if cb.learn.training and cb.learn.iter==2: always(cb)
        learn,per_batch = mk(metrics=accuracy).to_ddp(),e.split('_')[1] in ('batch','pred','loss','backward','step')
        fit(learn, 2, cbs=Callback(name='stop', **{e:third if per_batch else always}))
        res = history(learn) if learn.recorder.log else dict(raw=learn.recorder.raw_losses)
        fit(learn)
        return [res, history(learn)]
    def every(): return {f'{e} {what}':f(e, what) for e,what in CANCELS}
    agree(every)

def test_the_recorder_state_inside_of_an_epoch_is_that_of_one_process():
    "Saving it changes nothing, and a fit that loads it has the same history"
    def f(how):
        def save(cb):
            r = cb.learn.recorder
            if how=='never' or not cb.learn.training or cb.learn.iter!=3 or cb.learn.epoch!=1: return
            r.together()
            state = json.loads(json.dumps(r.state_dict()))
            if how=='load': r.load_state_dict(state)
            mets = state.pop('train_mets')
            states.append(state)
            n_vals.append([len(o['vals']) for o in mets])
        states,n_vals = [],[]
        learn = mk(metrics=[accuracy, Perplexity(), AvgSmoothLoss()]).to_ddp()
        learn.recorder.train_metrics = True
        fit(learn, 2, cbs=Callback(name='save_it', after_batch=save))
        return history(learn) | dict(states=states, n=[[o//(1+(i<2 and learn.team.world>1)) for i,o in enumerate(ns)] for ns in n_vals])
    saved = agree(f, 'save')
    assert len(saved['states'][0]['raw'])==6+3 and saved['n']==[[3, 3, 3]], 'what all have, and of the smooth loss a value a batch'
    for how in ('never', 'load'):
        other = agree(f, how)
        assert equal({k:v for k,v in other.items() if k not in ('states','n')}, {k:v for k,v in saved.items() if k not in ('states','n')}), how

def test_a_metric_without_sync_is_refused_before_the_first_batch():
    class Total(Metric):
        def reset(self): self.total = 0
        def accumulate(self, learn): self.total += learn.bs
        value = property(lambda self: self.total)
    def f(how):
        learn,seen = mk(metrics=Total).to_ddp(),[]
        look = Callback(before_batch=lambda cb: seen.append(1))
        res = ending(fit, learn, 1, None, None, look) if how=='fit' else ending(learn.validate)
        return *res,len(seen)
    for how in ('fit', 'validate'):
        kind,text,n = same(together(f, how))
        assert kind=='TypeError' and n==0 and 'metric total does not declare how' in text and 'Give Total a `sync`' in text

def test_one_process_may_cancel_an_evaluation():
    def f():
        def stop(cb):
            if cb.learn.team.rank==1 and cb.learn.iter==1: raise CancelEvaluateException
        learn = mk(metrics=accuracy).to_ddp()
        return learn.validate(cbs=Callback(name='stop', after_batch=stop)),learn.validate(),len(learn.get_preds()[0])
    none,vals,n = same(together(f))
    assert none is None and n==NV and near(vals, mk(metrics=accuracy).validate())

def test_only_one_process_writes(tmp_path, capsys):
    def f(bar):
        learn = mk(metrics=accuracy, path=tmp_path, cbs=[CSVLogger('h.csv', every_steps=3), JSONLogger('h.jsonl')]).to_ddp()
        t = Throughput()
        if bar: learn.fit(2, cbs=t)
        else:
            with learn.no_bar(): learn.fit(2, cbs=t)
        return history(learn),learn.count.samples,t._n_valid
    for bar in (True, False):
        a,b = together(f, bar)
        out = capsys.readouterr().out
        assert equal(a, b) and a[1:]==(2*N, NV)
        assert 'rank 1' not in out and len(out.splitlines())==3, out
        with open(tmp_path/'h.csv', newline='') as file: rows = [*csv.DictReader(file)]
        assert [r['step'] for r in rows]==['3', '6', '6', '9', '12', '12']
        assert float(rows[-1]['valid_loss'])==a[0]['values'][-1][1]
        assert len((tmp_path/'h.jsonl').read_text().splitlines())==2

def test_traces_of_processes_are_in_one_file(tmp_path):
    def f(path):
        def log_it(cb): pass
        learn = mk(cbs=[Tracer(max_rows=None), Callback('log_it', after_batch=log_it)]).to_ddp()
        fit(learn)
        learn.trace.save(path, learn.team)
        meets = {k:n for k,(n,_) in learn.trace.phases().items() if k.startswith('meet ')}
        return str(learn.trace),meets,str(learn.show_training_loop()),learn.trace.events()
    path = tmp_path/'run.json'
    res = together(f, path)
    assert res[0][1]==res[1][1] and res[0][1]['meet between']>=6 and res[0][1]['meet end of fit']==1
    assert [str(load_trace(path, rank=r)) for r in (0, 1)]==[o[0] for o in res]
    assert not any(o.startswith('meet') for o in res[0][3])
    with pytest.raises(ValueError, match='rank is 2, but .* has the traces of 2 process'): load_trace(path, rank=2)
    events = json.loads(path.read_text())['traceEvents']
    assert {e['pid']:e['args']['name'] for e in events if e['name']=='process_name'}=={0:'rank 0', 1:'rank 1'}
    a,b = (e for e in events if e['name']=='meet end of fit')
    assert all(o['ts']-1e5<=p['ts']+p['dur'] for o,p in ((a, b), (b, a))), 'a meeting does not overlap itself, so the clocks differ by over 0.1 s'
    lines = [o.strip() for o in res[0][2].splitlines() if 'meet' in o]
    assert "meet  # 'log_it' may cancel in after_batch" in lines and 'meet' in lines
    assert 'meet' not in str(mk().show_training_loop())

class Losing(nn.Module):
    "Returns a loss of its own beside the prediction"
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(5, 1)
    def forward(self, x):
        p = self.layer(x)
        return dict(loss=p.square().mean(), logits=p)

class Boxes(nn.Module):
    "Returns a list with the boxes of each item, as detectors do"
    def __init__(self):
        super().__init__()
        self.size = nn.Parameter(torch.ones(1))
    def forward(self, x): return [dict(boxes=self.size*torch.ones(1+int(o[0]>0), 4)) | (dict(mask=o) if o[1]>0 else {}) for o in x]

def found():
    learn = mk_learner(model=Boxes, loss=lambda pred, y: pred[0]['boxes'].mean())
    learn.to_ddp()
    return [(len(o['boxes']), *o) for o in learn.get_preds()[0]]

def test_predictions_that_are_lists_of_items_are_gathered(): assert together(found)==[found()]*2 and len(found())==13

def losing():
    learn = mk_learner(model=Losing)
    learn.to_ddp()
    with pytest.warns(UserWarning, match='holds a scalar, such as its loss, and each process has that of its part'): return len(learn.get_preds()[0]['logits'])

def test_a_scalar_in_the_prediction_gets_a_warning(): assert together(losing)==[13, 13]
