"Models that bring their loss, on batches that are dicts: those of transformers, with random weights, as a hand-written loop trains them"
import os
from copy import deepcopy
from functools import partial
import pytest, torch
from helpers import same
from torch.nn import functional as F
from torch.utils.data import DataLoader
from learnloop import (ActivationStats, Callback, CancelBatchException, DataLoaders, DictMetric, GradientAccumulation, HookCallback,
    Learner, accuracy, describe, get_hypers, hook_outputs, to_concat, to_detach)
os.environ |= dict(HF_HUB_OFFLINE='1', TRANSFORMERS_VERBOSITY='error')
transformers = pytest.importorskip('transformers')
transformers.logging.set_verbosity_error()

VOCAB = 12
def bert(**kwargs):
    torch.manual_seed(0)
    return transformers.BertForSequenceClassification(transformers.BertConfig(vocab_size=VOCAB, hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=32, max_position_embeddings=16, num_labels=3, **kwargs))

def gpt(dropout=.1, **kwargs):
    torch.manual_seed(0)
    return transformers.GPT2LMHeadModel(transformers.GPT2Config(vocab_size=VOCAB, n_embd=16, n_layer=1, n_head=2, n_positions=16,
        bos_token_id=1, eos_token_id=1, pad_token_id=0, resid_pdrop=dropout, embd_pdrop=dropout, attn_pdrop=dropout, **kwargs))

def items(n=10, seed=1, lengths=(3, 9)):
    g = torch.Generator().manual_seed(seed)
    def ids(): return torch.randint(1, VOCAB, (int(torch.randint(*lengths, (), generator=g)),), generator=g)
    return [dict(input_ids=o, labels=o.sum()%3) for o in (ids() for _ in range(n))]

def pad(items):
    ids = torch.nn.utils.rnn.pad_sequence([o['input_ids'] for o in items], batch_first=True)
    return dict(input_ids=ids, attention_mask=(ids>0).long(), labels=torch.stack([o['labels'] for o in items]))

def pad_lm(items):
    b = pad(items)
    return b | dict(labels=b['input_ids'].where(b['input_ids']>0, -100))

def mk_learn(model, collate=pad, opt_func=torch.optim.SGD, lr=.1, **kwargs):
    train,valid = items(),items(10, seed=2)
    return Learner(DataLoaders(DataLoader(train, 4, collate_fn=collate), DataLoader(valid, 4, collate_fn=collate)), model, opt_func=opt_func, lr=lr, **kwargs)

def hand_written(model, dls, opt, n_epoch):
    losses = []
    for _ in range(n_epoch):
        model.train()
        for b in dls.train:
            loss = model(**b).loss
            loss.backward()
            opt.step()
            opt.zero_grad()
            losses.append(loss.item())
        model.eval()
        with torch.no_grad():
            for b in dls.valid: model(**b)
    return losses

@pytest.mark.parametrize('opt_func', [partial(torch.optim.SGD, momentum=.9), partial(torch.optim.AdamW, weight_decay=0.)], ids=['SGD', 'AdamW'])
@pytest.mark.parametrize('mk,collate', [(bert, pad), (gpt, pad_lm)], ids=['classifier', 'language model'])
def test_weights_and_losses_are_those_of_a_hand_written_loop(mk, collate, opt_func):
    learn,model = mk_learn(mk(), collate, opt_func, .01),mk()
    torch.manual_seed(1)
    learn.fit(2)
    torch.manual_seed(1)
    losses = hand_written(model, learn.dls, opt_func(model.parameters(), lr=.01), 2)
    assert same(learn.model, model) and learn.recorder.raw_losses==losses

def test_accuracy_and_loss_are_those_computed_by_hand():
    learn = mk_learn(bert(), metrics=[DictMetric(accuracy)])
    learn.fit(1)
    _,loss,acc = learn.recorder.values[-1]
    right,total = 0,0.
    with torch.no_grad():
        for b in learn.dls.valid:  # of 4, 4 and 2 reviews
            out = learn.model.eval()(**b)
            right += (out.logits.argmax(-1)==b['labels']).sum().item()
            total += out.loss.item()*len(b['labels'])
    assert acc==pytest.approx(right/10) and loss==pytest.approx(total/10)
    assert learn.validate()==pytest.approx([loss, acc])

def test_accuracy_of_tokens_leaves_padding_out():
    metric = DictMetric(accuracy, pred=lambda o: o.pred.logits[:,:-1], targ=lambda o: o.xb[0]['labels'][:,1:])
    learn = mk_learn(gpt(), pad_lm, metrics=[metric])
    acc = learn.validate()[1]
    hits = [learn.model.eval()(o['input_ids'][None]).logits[0,:-1].argmax(-1)==o['input_ids'][1:] for o in learn.dls.valid.dataset]
    assert acc==pytest.approx(torch.cat(hits).float().mean().item())

def test_get_preds_gives_the_models_own_output_joined():
    learn = mk_learn(bert())
    out,targs = learn.get_preds()
    assert type(out).__name__=='SequenceClassifierOutput' and targs is None and out.loss.shape==(3,)
    assert out.logits is out['logits'] and out.logits.shape==(10, 3) and not out.logits.requires_grad
    with torch.no_grad(): want = torch.cat([learn.model.eval()(**b).logits for b in learn.dls.valid])
    assert torch.equal(out.logits, want)

def test_inputs_with_get_preds():
    learn = mk_learn(bert())
    ds = items(6, lengths=(5, 6))
    inp,out,_ = learn.get_preds(dl=DataLoader(ds, 4, collate_fn=pad), with_input=True)
    assert torch.equal(inp['labels'], torch.stack([o['labels'] for o in ds])) and inp['input_ids'].shape==(6, 5) and len(out.logits)==6

@pytest.mark.parametrize('kwargs', [{}, dict(output_hidden_states=True), dict(output_hidden_states=True, output_attentions=True, attn_implementation='eager')], ids=str)
def test_outputs_nested_in_tuples_are_detached_and_joined(kwargs):
    model = bert(**kwargs)
    b = pad(items(4, lengths=(5, 6)))
    a = model(**b)
    o = to_detach(a)
    assert type(o) is type(a) and o.keys()==a.keys() and o.loss is o['loss']
    flat = [o.loss, o.logits, *(o.hidden_states or ()), *(o.attentions or ())]
    assert len(flat)==2 + 3*bool(kwargs) + 2*('output_attentions' in kwargs) and not any(t.requires_grad for t in flat) and a.loss.requires_grad
    both = to_concat([o, o])
    assert both.loss.shape==(2,) and torch.equal(both.logits, torch.cat([o.logits]*2))
    if kwargs: assert [h.shape for h in both.hidden_states]==[(8, 5, 16)]*3
    assert ('hidden_states' in both)==bool(kwargs)

def test_a_cache_in_the_output_does_no_harm():
    learn = mk_learn(gpt(use_cache=True), pad_lm)
    learn.fit(1)
    out,_ = learn.get_preds(dl=[pad_lm(items(4, lengths=(5, 6)))]*2)
    assert out.logits.shape==(8, 5, VOCAB) and out.past_key_values is None  # of no use after the batch

def test_predict_takes_an_item_with_or_without_labels():
    learn = mk_learn(bert())
    o = items(1)[0]
    want = learn.model.eval()(o['input_ids'][None]).logits[0]
    _,out = learn.predict(o)
    assert torch.equal(out['logits'], want) and out['loss'].shape==()
    learn.dls.train = [1]  # so that torch's own collate function makes the batch
    _,out = learn.predict(dict(input_ids=o['input_ids']))
    assert torch.equal(out['logits'], want) and 'loss' not in out

def test_batches_of_a_tokenizer():
    learn = mk_learn(bert(), lambda o: transformers.BatchEncoding(pad(o)))
    assert not isinstance(next(iter(learn.dls.train)), dict)
    learn.fit(1)
    model = bert()
    torch.manual_seed(0)
    assert learn.count.samples==10 and describe(learn.get_preds()[0]).startswith('SequenceClassifierOutput')
    assert 'BatchEncoding' in str(learn.summary()) and not same(learn.model, model)

def test_training_without_labels_says_what_is_missing():
    learn = mk_learn(bert(), lambda o: {k:v for k,v in pad(o).items() if k!='labels'})
    with pytest.raises(ValueError, match='no loss: give the learner a loss_func, or a model that returns its own loss'): learn.fit(1)
    learn.loss_func = lambda pred: F.cross_entropy(pred.logits, torch.zeros(len(pred.logits)).long())
    learn.fit(1)
    assert learn.recorder.values[-1][0]>0

def test_groups_of_parameters_freeze_and_take_their_learning_rates():
    learn = mk_learn(bert(), splitter=lambda m: [list(m.bert.parameters()), list(m.classifier.parameters())], train_bn=False)
    learn.freeze()
    before = deepcopy(learn.model)
    learn.fit(1)
    assert same(learn.model.bert, before.bert) and not same(learn.model.classifier, before.classifier)
    learn.unfreeze()
    learn.fit(1, lr=slice(.01, .1))
    assert not same(learn.model.bert, before.bert) and [o['lr'] for o in get_hypers(learn.opt)]==pytest.approx([.01, .1])

def test_summary_of_a_dict_batch_leaves_no_trace():
    learn = mk_learn(bert())
    before = deepcopy(learn.model)
    res = learn.summary(pad(items(4, lengths=(5, 6))))
    assert {o.name:o.output for o in res.rows}['classifier']=='float32 (4, 3)' and 'Loss: by the model' in res.lines
    assert same(learn.model, before) and learn.model.training==before.training and learn._opt is None

def test_accumulated_tokens_make_the_step_of_one_big_batch():
    ds = items(8, seed=3)
    def tokens(learn): return (learn.xb[0]['labels'][:,1:]!=-100).sum()
    def run(bs, cbs):
        learn = Learner(DataLoader(ds, bs, collate_fn=pad_lm), gpt(0.), opt_func=torch.optim.SGD, lr=.1, cbs=cbs)
        learn.fit(1)
        return learn
    many,one = run(2, GradientAccumulation(n_batches=4, count=tokens)),run(8, None)
    assert many.count.opt_steps==one.count.opt_steps==1
    # sums in another order, so equal up to rounding; the mean of means would be off by some 1e-3
    for (k,a),b in zip(many.model.named_parameters(), one.model.parameters(), strict=True): torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-6, msg=k)

def test_hooks_hear_layers_that_return_tuples_and_take_keywords():
    learn = mk_learn(bert())
    learn.fit(1, cbs=(stats := ActivationStats(modules=[*learn.model.bert.encoder.layer, learn.model])))
    assert stats.stats['mean'].shape==(3, 3) and not stats.stats['mean'].isnan().any()
    learn.fit(1, cbs=(cb := HookCallback()))
    assert cb.names[0]=='bert.embeddings.word_embeddings' and cb.hooks.stored[-1].shape==(2, 3)
    b = pad(items(4, lengths=(5, 6)))
    with hook_outputs([learn.model], grad=True) as hooks: learn.model(**b).loss.backward()
    assert hooks.stored[0][0]==1 and hooks.stored[0][1].shape==(4, 3)

def test_no_batch_or_output_stays_in_the_learner():
    learn = mk_learn(bert())
    learn.fit(1)
    assert [learn.xb, learn.yb, learn.pred, learn.batch, learn.loss_grad]==[None]*5

def test_a_skipped_batch_has_no_output():
    def skip(cb):
        if not cb.training and cb.iter==1: raise CancelBatchException
    learn = mk_learn(bert(), metrics=[DictMetric(accuracy)])
    out,_ = learn.get_preds(cbs=Callback(before_batch=skip))
    assert len(out.logits)==6
    learn.fit(1, cbs=Callback(before_batch=skip))
    assert None not in learn.recorder.values[-1]
