"If one process cancels, all do: in the same batch, with the same events"
import re, warnings
from itertools import product
import learnloop, pytest, torch
from helpers import Module, act, cover
from learnloop import EMA, PHASES, Callback, CancelBatchException, DataLoaders, Event, GradientAccumulation, GradientClip, MicroBatch, SAM, event
from learnloop.scale.agree import POINTS
from learnloop.scale.team import find_team
from runs import check_alike, mk_dls, mk_learner as mk_any, mlp, train, weights
from together import ending, together

CANCELS = {k:getattr(learnloop, f'Cancel{v}Exception') for k,v in dict(fit='Fit', epoch='Epoch', train='Train', validate='Valid',
    batch='Batch', turn='Turn', backward='Backward', step='Step', zero_grad='ZeroGrad').items()}
# Event of a training batch -> phases that are open then, the innermost last
OPEN = dict(between_batches='', before_fetch='', after_fetch='', before_batch='batch', before_turn='batch turn', after_pred='batch turn', after_loss='batch turn',
    before_backward='batch turn backward', after_backward='batch turn backward', before_step='batch turn step', after_opt_step='batch turn step',
    after_step='batch turn step', before_zero_grad='batch turn zero_grad', after_zero_grad='batch turn zero_grad', after_turn='batch turn', after_batch='batch')
IN_TRAIN = [(e, c) for e,names in OPEN.items() for c in ['fit', 'train', *names.split()]]
IN_VALID = [(e, c) for e in ('before_batch', 'after_pred', 'after_loss', 'after_batch') for c in ('fit', 'epoch', 'validate', 'batch')]
# CancelTrain in `after_train` only skips what other callbacks do there. Of one rank it is an error by name, as the recorders put their numbers together there
AROUND = [(e, c) for e,cs in dict(before_fit='fit', before_epoch='fit epoch', before_train='fit epoch train', after_train='fit epoch',
    before_validate='fit epoch validate', after_validate='fit epoch', after_epoch='fit', after_fit='fit').items() for c in cs.split()]

def test_the_points_of_a_batch_have_its_events_in_the_order_in_which_they_fire():
    seen,every = [],[e for es in POINTS.values() for e in es]
    mk_learner([Callback(**{e:lambda cb, e=e: seen.append(e) for e in every})]).fit(1)
    seen = seen[:(n := seen.index('cleanup_batch')+1)]
    assert seen==[e for e in every if e in seen] and len({*every})==len(every)>n
    singles = {o.name for o in PHASES if isinstance(o, Event)}  # they may depend on something, such as a skipped step
    assert {e for e in every if 'cancel' not in e}-singles<={*seen}

def mk_learner(*args, **kwargs): return mk_any(*args, **dict(dls=lambda: mk_dls(29)) | kwargs)

class Stop(Callback):
    "Cancels in one rank, or in a single process, in the third batch of the second epoch"
    def __init__(self, at, cancel, training, rank=1):
        self.cancel,self.valid,self.rank,self.in_batch = CANCELS[cancel],not training,rank,at in OPEN
        super().__init__(name='stopper', **{at:type(self).stop})
    def stop(self):
        learn = self.learn
        if learn.team.world>1 and learn.team.rank!=self.rank: return
        if self.in_batch:
            if (learn.epoch, learn.n_done, learn.training)!=(1, 1 if self.valid else 2, not self.valid): return
        elif learn.inside('epoch') and learn.epoch!=1: return
        raise self.cancel

class Noted(Callback):
    "Notes the events that it hears"
    rank_invariant,order = True,-20
    def __init__(self): self.seen = []
for e in event:
    if e!='after_create': setattr(Noted, e, lambda self, *, e=e, **kw: self.seen.append(f'{e} {self.learn.epoch}.{self.learn.iter}'))

def fits(cases, training):
    "Return the result of a fit for each pair of event and cancel"
    res = []
    for at,cancel in cases:
        t = Noted()
        o = train(lambda at=at, cancel=cancel, t=t: mk_learner([Stop(at, cancel, training), t]))
        res.append(o | dict(seen=t.seen))
    return res

def outside(seen): return [o.partition('.')[0] for o in seen if not per_batch(o)]
def elsewhere(seen): return [o for o in seen if per_batch(o) and o.split()[1] not in ('1.1', '1.2')]
def per_batch(o): return not re.match('[a-z_]+_(fit|epoch|train|validate|record|save|load) ', o)

@pytest.mark.parametrize('where', ['train', 'valid', 'around'])
def test_case_75_if_one_process_cancels_all_do(where):
    cases = dict(train=cover(IN_TRAIN), valid=cover(IN_VALID), around=cover(AROUND))[where]
    (r0,r1),alone = together(fits, cases, where=='train'),fits(cases, where=='train')
    for case,a,b,one in zip(cases, r0, r1, alone, strict=True):
        check_alike([a, b], one, but=['outcome'])
        assert b['seen']==one['seen'] and b['outcome']==one['outcome'], case
        if where=='around': continue
        # the other process learns of it before gradients are exchanged, before a step, or at the end of a pass
        assert a['outcome']['fit']==one['outcome']['fit'], case
        assert outside(a['seen'])==outside(one['seen']) and elsewhere(a['seen'])==elsewhere(one['seen']), case

class Centred(torch.nn.Module):
    "A squared error of predictions minus a running centre, a buffer that training moves"
    def __init__(self):
        super().__init__()
        self.register_buffer('centre', torch.zeros(1))
    def forward(self, pred, y):
        if torch.is_grad_enabled(): self.centre.lerp_(pred.detach().mean(0), .1)
        return (pred-self.centre-y).square().mean()
    def denominator(self, pred, y): return len(pred)

def normed(): return torch.nn.Sequential(torch.nn.Linear(5, 8), torch.nn.BatchNorm1d(8), torch.nn.Linear(8, 1))

def at_end(cancel):
    "Return a callback that cancels in one rank when the loader is exhausted"
    return Callback(name='stopper', after_fetch=lambda cb: act(cb, cancel if cb.team.rank and cb.training and cb.batch is None else None))

def buffers(cases):
    "Return for each cancel the weights and buffers of model, loss and averages after the fit"
    res = []
    for at,cancel in cases:
        loss,ema,stop = Centred(),EMA(.9, buffers='average'),Stop(at, cancel, True) if at!='end' else at_end(CANCELS[cancel])
        learn = mk_learner([stop, ema], model=normed, loss=loss).to_ddp()
        learn.fit(2)
        res.append([*weights(learn.model), loss.centre, *(ema.averages or {}).values()])
    return res

def test_buffers_are_equal_in_all_processes_after_any_cancel():
    cases = cover([o for o in (*IN_TRAIN, ('after_step', 'epoch'), ('end', 'train'), ('end', 'fit'), *AROUND) if o!=('after_fit', 'fit')])  # it only skips the averages of one rank
    for case,a,b in zip(cases, *together(buffers, cases), strict=True): assert all(map(torch.equal, a, b)), case

def skip_rest():
    return train(lambda: mk_learner([Stop('after_train', 'train', True)]))

def test_skipping_the_rest_of_an_event_in_one_rank_is_an_error():
    said = together(ending, skip_rest)
    assert any('the processes are at different places' in o[1] for o in said), said

class By(Callback):
    "Cancels what `by` has for the rank, at one event of a batch"
    def __init__(self, at, by, iter=2):
        self.by,self.at_batch = by,iter
        super().__init__(name='by', **{at:type(self).stop})
    def stop(self):
        what = self.by.get(self.learn.team.rank) if self.learn.team.world>1 else self.by['alone']
        if what and self.learn.training and self.learn.iter==self.at_batch: raise CANCELS[what]

SEVERAL = [('after_loss', {0:'batch', 1:'train', 'alone':'train'}), ('after_loss', {0:'fit', 1:'turn', 'alone':'fit'}), ('before_step', {1:'step', 2:'step', 'alone':'step'}),
    ('after_backward', {2:'batch', 'alone':'batch'}), ('after_pred', {0:'turn', 1:'turn', 2:'turn', 'alone':'turn'}), ('after_batch', {2:'train', 'alone':'train'}),
    ('before_zero_grad', {1:'zero_grad', 'alone':'zero_grad'}), ('after_backward', {1:'backward', 'alone':'backward'}), ('after_backward', {2:'turn', 'alone':'turn'}),
    ('after_step', {1:'batch', 'alone':'batch'}), ('after_zero_grad', {1:'turn', 'alone':'turn'})]
WITH = dict(none=list, parts=lambda: [MicroBatch(2)], windows=lambda: [GradientAccumulation(n_batches=2)], sharp=lambda: [SAM()],
    clip=lambda: [GradientClip(.5)])

def several(how, cases):
    return [train(lambda at=at, by=by, nm=nm: mk_learner([By(at, by), *WITH[nm]()]), how) for (at,by),nm in cases]

@pytest.mark.parametrize('how', ['ddp', 'fsdp'])
def test_the_outermost_of_several_cancels_acts(how):
    "In three processes, with callbacks that repeat the forward pass or delay the step"
    cases = cover(product(SEVERAL, WITH))
    if how=='fsdp': cases = [*cases[::3], (SEVERAL[3], 'clip')]  # the norm of shards is a collective
    ranks,alone = together(several, how, cases, n=3),several(how, cases)
    for i,one in enumerate(alone): check_alike([o[i] for o in ranks], one, but=['outcome'])

class Fussy(Module):
    "Cancels a batch in the model"
    def __init__(self):
        self.inner,self.n = mlp(),0
    def forward(self, x):
        self.n += 1
        if self.n==3 and find_team() and find_team().rank==1: raise CancelBatchException
        return self.inner(x)

def test_a_cancel_outside_of_callbacks_is_an_error():
    a,b = together(ending, lambda: train(lambda: mk_learner(model=Fussy)))
    assert b[0]=='RuntimeError' and 'was raised by no callback but the model' in b[1]
    assert a[0]=='PeerError' and 'rank 1 failed: RuntimeError: CancelBatchException was raised by no callback' in a[1]

class Late(Callback):
    "Adds a callback during training, which cancels"
    def before_batch(self):
        if self.learn.train_iter==1: self.learn.add_cb(Callback(after_loss=self.stop))
    def stop(self, cb):
        if cb.learn.team.rank==1 and cb.learn.train_iter==3: raise CancelBatchException
    rank_invariant = True

class Raises(Callback):
    def after_loss(self):
        if self.learn.team.rank==1 and self.learn.train_iter==3: raise ValueError('too much')

def test_errors_and_late_callbacks_end_all_fits():
    a,b = together(ending, lambda: train(lambda: mk_learner([Raises()])))
    assert b==('ValueError', 'too much')
    assert a[0]=='PeerError' and 'rank 1 failed: ValueError: too much (in Raises.after_loss; epoch 0, batch 3' in a[1]
    a,b = together(ending, lambda: train(lambda: mk_learner([Late()])))
    assert b[0]=='RuntimeError' and 'Raise it in a callback that is there when training begins' in b[1] and a[0]=='PeerError'

def fails_late(cb):
    if cb.learn.team.rank==1: raise ValueError('too late')

def test_an_error_in_a_clean_up_is_raised_in_all():
    a,b = together(ending, lambda: train(lambda: mk_learner([Callback(cleanup_validate=fails_late)])))
    assert b[0]=='ValueError' and a[0]=='PeerError' and 'rank 1 failed: ValueError: too late' in a[1]

def moves(cb):
    if cb.learn.team.rank==1: cb.learn.model[0].bias.data += 1

def moved():
    "Return the warnings when one process changes its weights between passes"
    with warnings.catch_warnings(record=True, action='always') as ws: train(lambda: mk_learner([Callback(before_validate=moves)]))
    return [str(o.message) for o in ws]

def test_weights_that_differ_are_reported():
    a,b = together(moved)
    assert any('weights or hyper-parameters of rank 1 differ from those of rank 0' in o for o in a) and not b

def knows_first(learn):
    "One process creates its optimizer before all of them validate"
    if learn.team.world>1 and learn.team.is_first: learn.opt  # noqa: B018
    learn.validate()

def created():
    with warnings.catch_warnings(record=True, action='always') as ws: train(mk_learner, fit=knows_first)
    return [str(o.message) for o in ws]

def test_an_optimizer_that_one_process_created_earlier_is_no_difference(): assert together(created)==[[], []]

def unlike():
    "Train with loaders of different lengths; rank 1 has fewer batches"
    def mk():
        dls = DataLoaders(Own(5-find_team().rank if find_team() else 4), None)
        return mk_learner(dls=lambda: dls)
    with warnings.catch_warnings(record=True, action='always') as ws:
        res = train(mk)
    return res | dict(said=[str(o.message) for o in ws])

class Own(list):
    "Batches of a process, so many"
    is_sharded = True
    def __init__(self, n):
        g = torch.Generator().manual_seed(1)
        super().__init__((torch.randn(4, 5, generator=g), torch.randn(4, 1, generator=g)) for _ in range(n))

def test_case_76_loaders_of_different_lengths():
    a,b = together(unlike)
    assert a['counts']==b['counts'] and a['counts']['batches']==8
    assert all(map(torch.equal, a['weights'], b['weights']))
    assert sum('the pass ends with the shortest, on rank 1' in o for o in a['said'])>=1

def test_a_pass_that_is_cancelled_before_its_first_batch_keeps_the_order():
    def rows(at, cancel):
        seen = []
        def look(cb): seen.extend((cb.learn.epoch, cb.learn.iter, int(i)) for i in cb.learn.rows if cb.learn.training)
        def stop(cb):
            if cb.learn.training and cb.learn.epoch==1 and not cb.learn.n_done: raise CANCELS[cancel]
        learn = mk_learner([Callback(name='look', before_batch=look), Callback(name='stop', **{at:stop})])
        if find_team(): learn.to_ddp()
        learn.fit(3)
        return sorted(seen)
    def every(): return [rows(*o) for o in product(('before_train', 'between_batches', 'before_fetch', 'before_batch'), ('train', 'epoch'))]
    assert [sorted(a+b) for a,b in zip(*together(every), strict=True)]==every()
