"transformers' callbacks do the same in our fit, which calls hooks as Trainer does. Run by `python -m tools.interop transformers`"
import io, math, warnings
from contextlib import redirect_stdout
from inspect import signature
import pytest, torch
from helpers import quiet
from learnloop import DataLoaders, GradientAccumulation, GradientClip, Learner
from learnloop.interop import transformers as ours
from learnloop.interop.transformers import Transformers
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader
with warnings.catch_warnings(action='ignore'):
    import transformers
    from transformers import EarlyStoppingCallback, PrinterCallback, Trainer, TrainerCallback, TrainingArguments
    from transformers.trainer_callback import TrainerControl
transformers.logging.set_verbosity_error()
torch.set_num_threads(1)

HOOKS = [k for k in vars(TrainerCallback) if k.startswith('on_')]

class Line(nn.Module):
    "A line that returns its loss"
    def __init__(self):
        super().__init__()
        with torch.random.fork_rng():
            torch.manual_seed(0)
            self.lin = nn.Linear(2, 1)
    def forward(self, x, labels):
        pred = self.lin(x)
        return dict(loss=F.mse_loss(pred, labels), logits=pred)

def data(n, seed):
    x = torch.randn(n, 2, generator=torch.Generator().manual_seed(seed))
    return [dict(x=o, labels=o@torch.tensor([[1.], [-2.]]) + .5) for o in x.unbind()]
def collate(items): return {k:torch.stack([o[k] for o in items]).view(len(items), -1) for k in items[0]}
TRAIN,VALID = data(28, 1),data(10, 2)

TIMES = 'eval_runtime','eval_samples_per_second','eval_steps_per_second','train_runtime','train_samples_per_second','train_steps_per_second'
def untimed(d): return {k:'time' if k in TIMES else v for k,v in d.items() if k!='total_flos'}  # Trainer has 0, except for models of transformers

class Record(TrainerCallback):
    "Record every hook with its arguments, and do `acts[hook, step]`"
    def __init__(self, acts=()): self.acts,self.seen,self.weights = dict(acts),[],[]

def _recorder(k):
    def on(self, args, state, control, **kwargs):
        s,ps = state,list(kwargs['model'].parameters())
        row = dict(hook=k, flags=[o for o in ours._flags if getattr(control, o)], n_logs=len(s.log_history)) | {o:getattr(s, o) for o in STATE}
        row |= {o:len(v) if v is not None and 'loader' in o else v is None for o,v in kwargs.items() if o not in ('logs', 'metrics', 'lr_scheduler')}
        self.seen.append(row | {o:untimed(kwargs[o]) for o in ('logs', 'metrics') if o in kwargs})
        grads = k in ('on_pre_optimizer_step', 'on_optimizer_step')
        self.weights.append([p.grad.clone() if grads else p.detach().clone() for p in ps])
        if (act := self.acts.get((k, s.global_step))): return act(control)
    return on
STATE = ('global_step', 'epoch', 'max_steps', 'num_train_epochs', 'best_metric', 'best_global_step', 'logging_steps', 'is_local_process_zero', 'is_world_process_zero',
    'is_hyper_param_search')
for k in HOOKS:
    if k!='on_push_begin': setattr(Record, k, _recorder(k))

class Theirs(Trainer):
    def _get_train_sampler(self, *args): return torch.utils.data.SequentialSampler(self.train_dataset)

def theirs(folder, cbs, n_epoch=2, n_acc=1, train=TRAIN, valid=VALID, model=Line, collate=collate, **kwargs):
    "Train with Trainer"
    args = dict(output_dir=folder/'theirs', per_device_train_batch_size=4, per_device_eval_batch_size=4, num_train_epochs=n_epoch,
        gradient_accumulation_steps=n_acc, max_grad_norm=1., report_to='none', use_cpu=True, disable_tqdm=True, logging_strategy='epoch', eval_strategy='epoch',
        save_strategy='no', metric_for_best_model='loss', optim='sgd', learning_rate=.05, lr_scheduler_type='constant', dataloader_pin_memory=False,
        remove_unused_columns=False, label_names=['labels'])
    tr = Theirs(model(), TrainingArguments(**args | kwargs), collate, train_dataset=train, eval_dataset=valid, callbacks=cbs)
    tr.remove_callback(PrinterCallback)
    with redirect_stdout(io.StringIO()): tr.train()
    return tr

def mk_learner(folder, n_acc=1, train=TRAIN, cbs=(), bs=4, **kwargs):
    dls = DataLoaders(DataLoader(train, bs, collate_fn=collate), DataLoader(VALID, 4, collate_fn=collate), device='cpu')
    cbs = [GradientClip(1.), *[GradientAccumulation(n_batches=n_acc)]*(n_acc>1), *cbs]
    return Learner(dls, Line(), opt_func=torch.optim.SGD, lr=.05, path=folder, cbs=cbs, **kwargs)

def fit(folder, cbs, n_epoch=2, n_acc=1, train=TRAIN, max_steps=None, **kwargs):
    "Train with learnloop"
    learn = mk_learner(folder, n_acc, train)
    cbs = [Transformers(o, **kwargs, name=f't{i}') for i,o in enumerate(cbs)]
    with learn.no_logging(): learn.fit(None if max_steps else n_epoch, max_steps=max_steps, cbs=cbs)
    return learn

def same(a, b):
    "Return whether `a` and `b` are equal, up to the rounding of floats"
    if isinstance(a, dict): return isinstance(b, dict) and list(a)==list(b) and all(same(a[k], b[k]) for k in a)
    if isinstance(a, float) and isinstance(b, (int,float)): return math.isclose(a, b, rel_tol=2e-6)  # Trainer sums losses in another order
    return a==b

def compare(folder, n_epoch=2, n_acc=1, acts=(), n_cbs=1, train=TRAIN, **kwargs):
    "Check that Trainer and our fit record the same; return our learner and callbacks"
    want,got = ([Record(acts if i==n_cbs-1 else ()) for i in range(n_cbs)] for _ in range(2))
    theirs(folder, want, n_epoch, n_acc, train, **kwargs)
    learn = fit(folder, got, n_epoch, n_acc, train, **kwargs)
    for a,b in zip(want, got, strict=True):
        assert [o['hook'] for o in a.seen]==[o['hook'] for o in b.seen]
        for i,(x,y) in enumerate(zip(a.seen, b.seen, strict=True)): assert same(x, y), (i, x, y)
        for i,(x,y) in enumerate(zip(a.weights, b.weights, strict=True)):
            if n_acc in (1, 2, 4): assert all(map(torch.equal, x, y)), a.seen[i]
            else: torch.testing.assert_close(x, y)  # Trainer rounds a division by 3 at another place
    return learn,got

def flag(name, value=True):
    def act(control): setattr(control, name, value)
    return act

def test_stand_ins_have_the_signatures_of_the_real_ones():
    assert {k for k in dir(ours.TrainerCallback) if k.startswith('on_')}==set(HOOKS)
    for k in HOOKS: assert list(signature(getattr(ours.TrainerCallback, k)).parameters)==list(signature(getattr(TrainerCallback, k)).parameters), k
    assert list(signature(ours.TrainerControl).parameters)==list(signature(TrainerControl).parameters)
    known = set(signature(transformers.TrainerState).parameters)
    assert {k for k in vars(ours.TrainerState()) if k!='learn'}<=known
    assert set(ours.ARGUMENTS)<=set(signature(TrainingArguments).parameters)
    assert {o.name:o.value for o in ours.SaveStrategy}=={o.name:o.value for o in transformers.trainer_utils.SaveStrategy}
    assert ours.IntervalStrategy.EPOCH==transformers.trainer_utils.IntervalStrategy.EPOCH

def test_every_hook_is_in_the_table(): assert {h.name for h in Transformers.hooks}|set(Transformers.missing)==set(HOOKS)

@pytest.mark.parametrize('n_acc', [1, 2, 3, 7, 8])
def test_trace_and_weights(tmp_path, n_acc): compare(tmp_path, n_acc=n_acc)

@pytest.mark.parametrize('kwargs', [
    dict(logging_strategy='steps', logging_steps=2), dict(logging_strategy='steps', logging_steps=3, logging_first_step=True), dict(logging_strategy='no'),
    dict(eval_strategy='steps', eval_steps=3), dict(eval_strategy='no', metric_for_best_model=None), dict(eval_delay=2), dict(eval_strategy='steps', eval_steps=2, eval_delay=5),
    dict(save_strategy='steps', save_steps=3), dict(save_strategy='epoch'), dict(save_strategy='best'), dict(save_strategy='epoch', load_best_model_at_end=True),
    dict(save_strategy='best', load_best_model_at_end=True), dict(eval_strategy='steps', logging_strategy='steps', logging_steps=.25, eval_steps=.3),
    dict(metric_for_best_model='eval_loss', greater_is_better=True), dict(logging_strategy='steps', eval_strategy='steps', save_strategy='steps', logging_steps=2, eval_steps=2, save_steps=2)],
    ids=str)
@pytest.mark.parametrize('n_acc', [1, 2])
def test_trace_of_strategies(tmp_path, n_acc, kwargs): compare(tmp_path, n_acc=n_acc, **kwargs)

ACTS = [(h, n) for h,n in (('on_train_begin', 0), ('on_epoch_begin', 0), ('on_epoch_begin', 7), ('on_step_begin', 2), ('on_pre_optimizer_step', 2), ('on_optimizer_step', 2),
    ('on_step_end', 3), ('on_step_end', 7), ('on_step_end', 14), ('on_epoch_end', 7), ('on_prediction_step', 7), ('on_log', 7), ('on_evaluate', 7), ('on_train_end', 14))]
@pytest.mark.parametrize('name', ours._flags)
@pytest.mark.parametrize('at', ACTS, ids=str)
def test_flags_are_heeded_when_theirs_are(tmp_path, at, name): compare(tmp_path, acts={at:flag(name)}, n_cbs=2)

def test_evaluate_and_predict_outside_of_a_fit(tmp_path):
    a,b = Record(),Record()
    tr = theirs(tmp_path, [a])
    learn = quiet(mk_learner(tmp_path, cbs=[b]), 2)
    n = len(b.seen)
    tr.evaluate()
    tr.predict(VALID)
    learn.validate()
    learn.get_preds()
    a,b = ([{k:v for k,v in o.items() if k not in ('n_logs', 'flags')} for o in o.seen[n:]] for o in (a, b))
    assert [o['hook'] for o in b]==['on_prediction_step']*3 + ['on_log', 'on_evaluate'] + ['on_prediction_step']*3 + ['on_predict']
    keys = 'test_runtime','test_samples_per_second','test_steps_per_second'
    for x,y in zip(a, b, strict=True):
        for o in (x, y): o['metrics'] = {k:v for k,v in o.get('metrics', {}).items() if k not in keys}
        assert same(x, y), (x, y)

# Where ours differs

def test_batches_of_a_step_count_by_their_size(tmp_path):
    "In Trainer each batch counts the same, so two samples in one batch count as much as four in another"
    train = data(26, 1)
    def final(learn): return torch.cat([p.detach().flatten() for p in learn.model.parameters()])
    their,our = final(theirs(tmp_path, [], n_acc=4, train=train)),final(fit(tmp_path, [Record()], n_acc=4, train=train))
    big = quiet(mk_learner(tmp_path, train=train, bs=16), 2)
    torch.testing.assert_close(our, final(big))
    assert not torch.allclose(their, our, atol=1e-3)

# Callbacks of transformers

@pytest.mark.parametrize('patience', [1, 2, 3])
@pytest.mark.parametrize('how', [{}, dict(eval_strategy='steps', eval_steps=2)], ids=['epoch', 'steps'])
def test_early_stopping(tmp_path, patience, how):
    "It stops at the same step as in Trainer: the loss should grow, and never does"
    kwargs = dict(metric_for_best_model='loss', greater_is_better=True) | how
    want,got = [Record(), EarlyStoppingCallback(patience)],[Record(), EarlyStoppingCallback(patience)]
    theirs(tmp_path, want, 6, **kwargs)
    learn = quiet(mk_learner(tmp_path), 6, cbs=[Transformers(got[0], **kwargs), got[1]])
    for x,y in zip(want[0].seen, got[0].seen, strict=True): assert same(x, y)
    assert learn.count.batches==(7*(patience+1) if not how else 2*(patience+1))
    assert got[1].early_stopping_patience_counter==want[1].early_stopping_patience_counter==patience

def test_best_weights_are_loaded(tmp_path):
    kwargs = dict(greater_is_better=True, load_best_model_at_end=True)
    tr = theirs(tmp_path, [], save_strategy='best', **kwargs)
    learn = fit(tmp_path, [Record()], output_dir=tmp_path/'ours', **kwargs)
    assert all(map(torch.equal, learn.model.parameters(), tr.model.parameters()))
    assert [o.name for o in (tmp_path/'ours').iterdir()]==['checkpoint-7.pth'] and (tmp_path/'theirs/checkpoint-7').is_dir()

# ---- the step of an accumulation window and the loss of an evaluation equal those of one large batch

def gpt2(): return transformers.GPT2LMHeadModel(transformers.GPT2Config(vocab_size=23, n_embd=16, n_layer=2, n_head=2, n_positions=16, resid_pdrop=0,
    embd_pdrop=0, attn_pdrop=0, bos_token_id=1, eos_token_id=1, pad_token_id=0))
def t5(): return transformers.T5ForConditionalGeneration(transformers.T5Config(
    vocab_size=23, d_model=16, d_kv=8, d_ff=32, num_layers=1, num_heads=2, dropout_rate=0,
    decoder_start_token_id=0))
def bert(): return transformers.BertForMaskedLM(transformers.BertConfig(vocab_size=23, hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
    intermediate_size=32, max_position_embeddings=16, hidden_dropout_prob=0, attention_probs_dropout_prob=0))
def made(arch):
    torch.manual_seed(0)
    return arch().double().eval()

def texts(n, seed):
    "Make items of different lengths, in which some tokens are no targets"
    g = torch.Generator().manual_seed(seed)
    def item():
        ids = torch.randint(2, 23, (int(torch.randint(2, 13, (), generator=g)),), generator=g)
        labels = ids.masked_fill(torch.rand(len(ids), generator=g)<.3, -100)
        labels[-1] = ids[-1]
        return dict(input_ids=ids, labels=labels)
    return [item() for _ in range(n)]
def padded(items):
    def pad(k, value): return torch.nn.utils.rnn.pad_sequence([o[k] for o in items], batch_first=True, padding_value=value)
    ids = pad('input_ids', 0)
    return dict(input_ids=ids, attention_mask=(ids>0).long(), labels=pad('labels', -100))

def off(model, want):
    "Return the largest difference of the weights of two models"
    return max(float((p-q).detach().abs().max()) for p,q in zip(model.parameters(), want.parameters(), strict=True))

@pytest.mark.parametrize('arch', [gpt2, t5, bert])
@pytest.mark.parametrize('n_acc', [1, 2, 8])
def test_windows_and_evaluations_are_those_of_one_batch(tmp_path, arch, n_acc):
    train,valid,bs = texts(42, 1),texts(22, 2),4
    want = made(arch)
    opt = torch.optim.SGD(want.parameters(), lr=.5)
    for i in range(0, len(train), bs*n_acc):
        want(**padded(train[i:i+bs*n_acc])).loss.backward()
        opt.step()
        opt.zero_grad()
    with torch.no_grad(): loss = want(**padded(valid)).loss.item()
    args = TrainingArguments(tmp_path/'theirs', per_device_train_batch_size=bs, per_device_eval_batch_size=bs, num_train_epochs=1, max_grad_norm=0,
        gradient_accumulation_steps=n_acc, learning_rate=.5, lr_scheduler_type='constant', report_to=[], disable_tqdm=True, use_cpu=True, save_strategy='no',
        optim='sgd', weight_decay=0)
    theirs = Theirs(made(arch), args, data_collator=padded, train_dataset=train, eval_dataset=valid)
    with redirect_stdout(io.StringIO()): theirs.train()
    train_off,theirs.model = off(theirs.model, want),want
    eval_off = abs(theirs.evaluate()['eval_loss']/loss-1)
    dls = DataLoaders(*[DataLoader(o, bs, collate_fn=padded) for o in (train, valid)], device='cpu')
    learn = Learner(dls, made(arch), opt_func=torch.optim.SGD, lr=.5, wd=0, path=tmp_path, cbs=GradientAccumulation(n_batches=n_acc))
    with learn.no_bar(), learn.no_logging(): learn.fit(1)
    ours = off(learn.model, want),abs(learn.recorder.values[-1][1]/loss-1)
    print(f'{arch.__name__}, accumulation {n_acc}: weights off by {ours[0]:.1e} here and {train_off:.1e} there, evaluation by {ours[1]:.1e} and {eval_off:.1e}')
    assert max(ours)<1e-7
