"A small GPT learns to write as Python's own documentation does, by steps of two batches"
import builtins, tempfile, torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainerCallback, TrainingArguments, set_seed

set_seed(0)
text = '\n'.join(o.__doc__ for o in vars(builtins).values() if isinstance(o, type) and o.__doc__)
chars = sorted(set(text))
ids = torch.tensor([chars.index(o) for o in text[:32*280]]).view(-1, 32)
labels = ids.masked_fill(torch.arange(32)==0, -100)  # nothing foretells the first
items = [dict(input_ids=o, labels=labels[i]) for i,o in enumerate(ids)]
train,valid = items[:240],items[240:280]

config = GPT2Config(vocab_size=len(chars), n_positions=64, n_embd=32, n_layer=2, n_head=4, resid_pdrop=0., embd_pdrop=0.,
    attn_pdrop=0., bos_token_id=0, eos_token_id=0)

class Writes(TrainerCallback):
    "Has the model go on after a few letters"
    def on_evaluate(self, args, state, control, model, **kwargs):
        start = torch.tensor([[chars.index(o) for o in 'Return ']])
        out = model.generate(start, max_new_tokens=20, do_sample=False, pad_token_id=0)
        print(state.global_step, repr(''.join(chars[i] for i in out[0])))

args = TrainingArguments(tempfile.mkdtemp(), num_train_epochs=12, per_device_train_batch_size=8,
    gradient_accumulation_steps=2, per_device_eval_batch_size=8, learning_rate=.005, optim='adamw_torch',
    lr_scheduler_type='cosine', train_sampling_strategy='sequential', eval_strategy='epoch', logging_strategy='epoch',
    save_strategy='no', report_to='none', use_cpu=True)
trainer = Trainer(GPT2LMHeadModel(config), args, train_dataset=train, eval_dataset=valid, callbacks=[Writes()])
trainer.train()
print('losses:', *[o['eval_loss'] for o in trainer.state.log_history if 'eval_loss' in o])
