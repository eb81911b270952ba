"Programs whose results were once silently wrong: overrides, callbacks and code before a fit take effect, or a warning says so"
import pytest, torch
from helpers import TRAIN, VALID, mk_learner, same, weights
from learnloop import Callback, CheckpointCallback, DataLoaders, Learner, MicroBatch, SAM
from learnloop.checkpoint.passes import try_loader
from torch import nn
from torch.nn import functional as F

class Equal(Learner):
    "Equality by value takes away its hash"
    def __eq__(self, o): return isinstance(o, Equal)
class Empty(Learner):
    def __len__(self): return 0

@pytest.mark.parametrize('cls', [Equal, Empty])
def test_a_learner_may_define_equality_and_length(cls):
    def run(cls):
        torch.manual_seed(0)
        a,b = (mk_learner(cls=cls, defaults=True) for _ in range(2))
        with a.no_logging(), b.no_logging():
            a.fit(1, cbs=Callback(after_batch=lambda cb: cb.learn.inside('evaluate') or cb.learn.validate()))
            vals = [a.recorder.values[0], a.validate(), b.validate(), *a.get_preds(), b.predict(VALID[0][0][0])[0], torch.rand(1)]
        return [torch.as_tensor(o) for o in vals] + weights(a.model)
    assert all(map(torch.equal, run(cls), run(Learner)))

@pytest.mark.parametrize('cb', [None, SAM, lambda: MicroBatch(2)], ids=['plain', 'sam', 'micro'])
def test_backward_counts_wherever_gradients_are_added(cb):
    def n_calls(k):
        calls = []
        def f(self):
            calls.append(self.open_turn.repeats)
            return getattr(Learner, k)(self)
        mk_learner([cb()] if cb else [], type('Own', (Learner,), {k:f})).fit(1)
        return calls
    assert n_calls('backward')==n_calls('_backward') and len(n_calls('backward'))==(1+(cb is not None))*len(TRAIN)

def test_an_override_of_backward_may_open_the_phase_itself_except_for_parts():
    class Own(Learner):
        def backward(self): self.with_events('backward', lambda: self.loss_grad.backward())
    own,plain = mk_learner([SAM()], Own),mk_learner([SAM()])
    for learn in (own, plain): learn.fit(1)
    assert same(own.model, plain.model)
    with pytest.raises(ValueError, match=r'Own.backward opens the phase \*backward\* again'): mk_learner([MicroBatch(2)], Own).fit(1)

def test_a_list_of_engines_may_be_assigned():
    learn,plain = mk_learner(),mk_learner()
    learn.engines = [e for e in learn.engines if e.saves_fits or not e.compiles]
    learn.validate()
    for o in (learn, plain): o.fit(1)
    assert same(learn.model, plain.model)

def test_a_batch_may_be_left_without_a_loss():
    def skip(cb): cb.learn.loss_grad,cb.learn.loss = None,torch.tensor(1.)
    learn = mk_learner([Callback(after_loss=skip)])
    had = weights(learn.model)
    learn.fit(1)
    assert all(map(torch.equal, had, weights(learn.model)))

def test_an_override_of_backward_without_its_phase_is_refused():
    class Own(Learner):
        def backward(self): self.loss_grad.backward()
    with pytest.raises(ValueError, match=r'Own.backward did not run the phase \*backward\*'): mk_learner(cls=Own).fit(1)

def test_gradients_from_before_a_fit_are_not_in_its_first_step():
    once,twice = mk_learner(),mk_learner()
    F.mse_loss(twice.model(TRAIN[0][0]), TRAIN[0][1]).backward()
    for learn in (once, twice): learn.fit(1)
    assert same(once.model, twice.model)

@pytest.mark.parametrize('k,v,at', [('loss', lambda l: l.loss*2, 'after_loss'), ('opt_func', lambda l: torch.optim.Adam, 'before_epoch')])
def test_an_assignment_without_effect_is_a_warning(k, v, at):
    learn = mk_learner(Callback(**{at:lambda cb: setattr(cb.learn, k, v(cb.learn))}), defaults=True)
    with learn.no_logging(), pytest.warns(UserWarning, match=f'set learn.{k}'): learn.fit(1)

def test_an_assignment_with_effect_is_no_warning():
    def scale(cb): cb.learn.loss_grad,cb.learn.loss = cb.learn.loss_grad*2,cb.learn.loss*2
    def switch(cb): cb.learn.switch_opt(torch.optim.Adam)
    learn = mk_learner([Callback(after_loss=scale, name='scale'), Callback(before_epoch=switch, name='switch')], defaults=True)
    learn.opt_func = torch.optim.RMSprop  # before the fit
    with learn.no_logging(): learn.fit(1)

class Restarts:
    "A stream without a length, whose state is that of the next pass once it has returned its last batch"
    def __init__(self, n, early): self.n,self.early,self.i = n,early,0
    def __iter__(self):
        for i in range(self.i, self.n):
            self.i = 0 if self.early and i+1==self.n else i+1
            yield torch.tensor([[float(i)]]),torch.zeros(1, 1)
        self.i = 0
    def state_dict(self): return dict(i=self.i)
    def load_state_dict(self, sd): self.i = sd['i']

@pytest.mark.parametrize('n', [3, 40, 65, 200, 3000])
def test_a_loader_whose_state_restarts_early_is_detected(n):
    assert try_loader(Restarts(n, False))==(True, '') and try_loader(Restarts(n, True))[0] is False

class Boom(Exception): pass
class Critic(Learner):
    "Two critics; the counted loss comes only in every second batch"
    def train_batch(self):
        self.turn(lambda: self.model[0](self.xb[0]).square().mean(), opt='d', counts=False)
        if self.iter%2: self.turn(lambda: self.model[1](self.xb[0]).square().mean(), opt='g')

def test_parts_of_batches_before_the_first_counted_loss_are_in_a_resumed_history(tmp_path):
    def run(at, folder, **kwargs):
        torch.manual_seed(0)
        model = nn.ModuleList([nn.Linear(2, 1), nn.Linear(2, 1)])
        opt = {k:torch.optim.SGD(m.parameters(), .1) for k,m in zip('dg', model, strict=True)}
        learn = mk_learner(cls=Critic, dls=DataLoaders([(x,) for x,_ in TRAIN], n_inp=1), model=model, loss_func=None, opt_func=opt, defaults=True)
        def stop(cb):
            if cb.learn.count.batches==at: raise Boom
        try: learn.fit(1, cbs=[CheckpointCallback(folder, every_steps=1), Callback(name='stop', before_fetch=stop)], accept=True, **kwargs)
        except Boom: return
        return learn.recorder.values
    want = run(-1, tmp_path/'whole')
    for at in (1, 2):
        assert run(at, tmp_path/f'{at}') is None and run(-1, tmp_path/f'{at}', resume=tmp_path/f'{at}')==want
