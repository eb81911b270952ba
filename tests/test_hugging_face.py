"Models that compute their loss, on batches that are dicts: models of transformers match a hand-written loop"
import os
from functools import partial
import pytest, torch
from helpers import same
from torch.nn import functional as F
from torch.utils.data import DataLoader
from learnloop import (DataLoaders, DictMetric, GradientAccumulation, Learner, accuracy, to_concat, to_detach)
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
def test_weights_and_losses_match_a_hand_written_loop(mk, collate, opt_func):
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

def test_get_preds_joins_the_outputs_of_the_model():
    learn = mk_learn(bert())
    out,targs = learn.get_preds()
    assert type(out).__name__=='SequenceClassifierOutput' and targs is None and out.loss.shape==(3,)
    assert out.logits is out['logits'] and out.logits.shape==(10, 3) and not out.logits.requires_grad
    with torch.no_grad(): want = torch.cat([learn.model.eval()(**b).logits for b in learn.dls.valid])
    assert torch.equal(out.logits, want)

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

def test_predict_takes_an_item_with_or_without_labels():
    learn = mk_learn(bert())
    o = items(1)[0]
    want = learn.model.eval()(o['input_ids'][None]).logits[0]
    _,out = learn.predict(o)
    assert torch.equal(out['logits'], want) and out['loss'].shape==()
    learn.dls.train = [1]  # so that torch's own collate function makes the batch
    _,out = learn.predict(dict(input_ids=o['input_ids']))
    assert torch.equal(out['logits'], want) and 'loss' not in out

def test_training_without_labels_says_what_is_missing():
    learn = mk_learn(bert(), lambda o: {k:v for k,v in pad(o).items() if k!='labels'})
    with pytest.raises(ValueError, match="no loss: the model's own loss is None.*from 'labels'"): learn.fit(1)
    learn.loss_func = lambda pred: F.cross_entropy(pred.logits, torch.zeros(len(pred.logits)).long())
    learn.fit(1)
    assert learn.recorder.values[-1][0]>0

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
