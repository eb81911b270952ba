"A small GPT learns to write as Python's own documentation does, by steps of two batches"
import builtins, torch
from functools import partial
from learnloop import DataLoaders, GradientAccumulation, GradientClip, Learner, TorchScheduler
from torch.utils.data import DataLoader
from transformers import GPT2Config, GPT2LMHeadModel, TrainerCallback, get_cosine_schedule_with_warmup, set_seed

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

dls = DataLoaders(DataLoader(train, 8), DataLoader(valid, 8), device='cpu')
cosine = partial(get_cosine_schedule_with_warmup, num_warmup_steps=0, num_training_steps=12*15)
learn = Learner(dls, GPT2LMHeadModel(config), opt_func=partial(torch.optim.AdamW, weight_decay=0.), lr=.005,
    cbs=[GradientAccumulation(n_batches=2), GradientClip(1.), TorchScheduler(cosine, 'step')])
learn.fit(12, cbs=Writes())
print('losses:', *[o[1] for o in learn.recorder.values])
