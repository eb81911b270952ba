"""What a step costs over the loaders that people have, as a ratio to a hand-written loop over the same one

A list of batches, a `TensorDataset`, a `Dataset` of one's own, a generator: what a fit notes of random numbers depends on who
makes the batches. Each fit is timed alone and with a `CheckpointCallback`, which saves at its end and on errors. "step" is the cost of
steps alone: the difference of a long epoch and a short one. "epoch" is that of one more epoch of a single batch. Called by `benchmarks.overhead`.
"""
import gc, random, shutil, tempfile, time, torch
from statistics import median
from torch.nn import functional as F
from torch.optim import SGD
from torch.utils.data import DataLoader, Dataset, TensorDataset
from learnloop import CheckpointCallback, Learner

LR = 1e-2
TARGETS = dict(step=(1.05, 1.15), epoch=(1.3, None))  # alone, with a `CheckpointCallback`

class Items(Dataset):
    "A dataset as people write it"
    def __init__(self, xs, ys): self.xs,self.ys = xs,ys
    def __len__(self): return len(self.xs)
    def __getitem__(self, i): return self.xs[i],self.ys[i]

class Generated:
    "Batches from a generator, anew in each epoch"
    def __init__(self, batches): self.batches = batches
    def __iter__(self):
        for b in self.batches: yield b  # noqa: UP028  a generator is what is timed

def _items(cls, batches, shuffle=True):
    xs,ys = map(torch.cat, zip(*batches, strict=True))
    return DataLoader(cls(xs, ys), batch_size=len(batches[0][0]), shuffle=shuffle)

LOADERS = dict(list=list, TensorDataset=lambda b: _items(TensorDataset, b), Dataset=lambda b: _items(Items, b), generator=Generated)

def raw(model, dl, n):
    opt = SGD(model.parameters(), lr=LR)
    start = time.process_time()
    for _ in range(n):
        model.train()
        for xb,yb in dl:
            loss = F.cross_entropy(model(xb), yb)
            loss.backward()
            opt.step()
            opt.zero_grad()
    return time.process_time()-start

def ours(model, dl, n, cbs=()):
    learn = Learner(dl, model, F.cross_entropy, opt_func=SGD, lr=LR, cbs=cbs)
    with learn.no_bar(), learn.no_logging():
        start = time.process_time()
        learn.fit(n)
        return time.process_time()-start

def saving(model, dl, n):
    folder = tempfile.mkdtemp()
    try: return ours(model, dl, n, CheckpointCallback(folder, every_minutes=60))
    finally: shutil.rmtree(folder)

WAYS = dict(raw=raw, raw_again=raw, learnloop=ours, saving=saving)

def per(f, new_model, mk, short, full):
    "Seconds that one more batch, or one more epoch, takes: `short` and `full` are (batches, epochs)"
    gc.collect()
    gc.freeze()
    (a,i),(b,j) = short,full
    return (f(new_model(), mk(b), j)-f(new_model(), mk(a), i))/(b*j-a*i)

def measure_loaders(new_model, batches, rounds, seed):
    "By loader and by what is timed, the seconds of each of `WAYS` in each round"
    n,order,res = len(batches),random.Random(seed),{}
    works = dict(step=((8, 1), (n, 1)), epoch=((1, 8), (1, n//4)))
    for nm,mk in LOADERS.items():
        dls = {k:mk(batches[:k]) for k in (1, 8, n)}
        for k,(short,full) in works.items():
            rows = res[nm,k] = {w:[] for w in WAYS}
            for f in WAYS.values(): f(new_model(), dls[short[0]], short[1])  # warm up
            for _ in range(rounds):
                for w in order.sample([*WAYS], len(WAYS)): rows[w].append(per(WAYS[w], new_model, dls.get, short, full))
    return res

def ratios(rows): return {k:median(a/b for a,b in zip(v, rows['raw'], strict=True)) for k,v in rows.items()}

def loader_rows(res):
    "Of each loader and what is timed, the row of a table"
    for (nm,k),rows in res.items():
        r,targets = ratios(rows),TARGETS[k]
        said = [f'{r[w]:.3f}' + ('' if t is None else f' ({"met" if r[w]<=t else "missed"}: {t})') for w,t in zip(('learnloop','saving'), targets, strict=True)]
        yield [nm, k, f'{median(rows["raw"])*1e6:.1f}', f'{r["raw_again"]:.3f}', *said]
