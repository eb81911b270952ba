"Turns with each feature: bit-identical to the hand-written loop, or refused by name before a weight changes"
import signal
import pytest, torch
from helpers import At, Boom, same, weights
from learnloop import CheckpointCallback, CSVLogger, EMA, GradientAccumulation, GradientClip, MicroBatch, MixedPrecision, MixUp, SAM, Tracer
from turn_loops import (
    BS, LOOPS, N, SCALE, Accumulated, Averaged, Bf16, Clipped, ClippedAdaptive, ClippedValue, Fp16, Hand, InParts, Mixed, Sharp, by_hand)

@pytest.fixture(autouse=True)
def apart(monkeypatch, tmp_path):
    "Each test writes to its own folder"
    monkeypatch.chdir(tmp_path)

def fit(learn, *args, **kwargs):
    torch.manual_seed(0)
    with learn.no_logging(): getattr(learn, kwargs.pop('how', 'fit'))(*args or (1,), **kwargs)
    return learn

def equal(learn, hand):
    assert same(learn.model, hand.model)
    assert learn.recorder.raw_losses==pytest.approx(hand.losses, rel=1e-6) and len(hand.losses)==N
    assert learn.open==[] and learn.open_turn is None and all(p.grad is None for p in learn.model.parameters())

CLOSURE = "can't be used with LBFGS"
FEATURES = dict(
    plain=(list, Hand, {}),
    accumulation=(lambda: [GradientAccumulation(n_batches=2)], Accumulated, dict(lbfgs=CLOSURE, wolfe=CLOSURE)),
    norm=(lambda: [GradientClip(.1)], Clipped, {}),
    value=(lambda: [GradientClip(.01, algorithm='value')], ClippedValue, {}),
    adaptive=(lambda: [GradientClip(.05, algorithm='adaptive')], ClippedAdaptive, {}),
    finite=(lambda: [GradientClip(.1, skip_nonfinite=True)], Clipped, {}),
    sam=(lambda: [SAM()], Sharp, dict(lbfgs=CLOSURE, wolfe=CLOSURE)),
    micro=(lambda: [MicroBatch(BS//2)], InParts, dict(lbfgs=CLOSURE, wolfe=CLOSURE, pcgrad='supplies gradients')),
    bf16=(lambda: [MixedPrecision('bf16')], Bf16, {}),
    fp16=(lambda: [MixedPrecision('fp16', init_scale=SCALE, growth_interval=4)], Fp16, dict(lbfgs=CLOSURE, wolfe=CLOSURE)),
    mixup=(lambda: [MixUp(per_item=False)], Mixed, dict.fromkeys(('gan', 'wgan', 'dcgan', 'phases'), 'needs a loss_func') | dict(fixmatch="has a loss that doesn't call learn.loss_func")),
    csv=(lambda: [CSVLogger()], Hand, {}),
    tracer=(lambda: [Tracer()], Hand, {}))
ONCE = 'dcgan', {'sam', 'micro'}  # its graph is built outside the turn, and freed before the loss is computed again

@pytest.mark.parametrize('feature', FEATURES)
@pytest.mark.parametrize('name', LOOPS)
def test_each_feature_is_as_by_hand_or_refused(name, feature):
    cbs,kind,refused = FEATURES[feature]
    learn = LOOPS[name].learner(cbs())
    was = weights(learn.model)
    if name==ONCE[0] and feature in ONCE[1]:
        with pytest.raises(RuntimeError) as e: fit(learn)
        assert 'which SAM, MicroBatch and closures call again' in ''.join(e.value.__notes__)
    elif name in refused:
        with pytest.raises(ValueError, match=refused[name]): fit(learn)
        assert same(learn.model, was) and learn.count.opt_steps==0 and learn.open==[]
    else:
        hand = by_hand(name, kind)
        equal(fit(learn), hand)
        assert learn.count.opt_steps==sum(n for k,n in hand.steps.items() if k!='critic')
        assert not same(learn.model, was)

# --- stops in the middle of a turn

N_TURNS = dict(wgan=6, gan=2, dcgan=2, phases=2)
IN_A_TURN = 'before_turn','after_loss','after_backward','before_step','after_step','before_zero_grad','after_turn','cleanup_turn'
WITH = {k:FEATURES[k][:2] for k in ('plain', 'accumulation', 'fp16')} | dict(ema=(lambda: [EMA(.9, warmup=False, at_end=False)], Averaged))
def features_of(name): return [k for k in WITH if name not in ('lbfgs','wolfe') or k in ('plain','ema')]
STOPS = [(name, features_of(name)[(i+j)%len(features_of(name))], e) for j,name in enumerate(LOOPS) for i,e in enumerate(IN_A_TURN) if (i+j)%3==0]

@pytest.mark.every(3)
@pytest.mark.parametrize('name,feature,event', STOPS)
def test_a_fit_resumes_after_an_error_in_a_turn(name, feature, event):
    cbs,kind = WITH[feature]
    learn = LOOPS[name].learner(cbs())
    with pytest.raises(Boom): fit(learn, cbs=At(event, 5), keep_failed=True)
    assert learn.open==[] and learn.open_turn is None and all(p.grad is None for p in learn.model.parameters())
    torch.manual_seed(1)
    with learn.no_logging(): learn.resume()
    equal(learn, by_hand(name, kind))

@pytest.mark.every(3)
@pytest.mark.parametrize('how', ['killed','interrupted'])
@pytest.mark.parametrize('name,feature', [(name, o) for name in LOOPS for o in features_of(name)])
def test_another_learner_resumes_from_a_checkpoint(name, feature, how, tmp_path):
    cbs,kind = WITH[feature]
    if how=='killed':
        cb = CheckpointCallback(tmp_path, every_steps=3, on_error=False)
        with pytest.raises(Boom): fit(LOOPS[name].learner(cbs()), cbs=[cb, At('before_turn', 9*N_TURNS.get(name, 1))])
    else:
        cb,was = CheckpointCallback(tmp_path),signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            with pytest.raises(KeyboardInterrupt):
                fit(LOOPS[name].learner(cbs()), cbs=[cb, At('after_loss', 5, lambda cb: signal.raise_signal(signal.SIGINT))])
        finally: signal.signal(signal.SIGINT, was)
    learn = LOOPS[name].learner(cbs())
    torch.manual_seed(1)
    with learn.no_logging(): learn.fit(1, resume=tmp_path, accept=['callbacks'])
    equal(learn, by_hand(name, kind))
