"""Solve one problem with a hand-written loop and with learnloop: lines of code, time, accuracy, and whether the weights are equal

Both train the same network on handwritten digits with a one-cycle schedule and gradient clipping, validate after each epoch, keep the weights of the best
epoch, and write checkpoints from which a run resumes. They take turns; the time is a ratio within each round.

    python -m benchmarks.problem
    python -m benchmarks.problem --rounds 1 --epochs 2   # a quick look
"""
import contextlib, inspect, io, os, tempfile, time, torch
from argparse import ArgumentParser
from functools import partial
from pathlib import Path
from torch import nn
from torch.nn import functional as F
from torch.optim import AdamW
from torch.optim.lr_scheduler import OneCycleLR
from benchmarks import results
from learnloop import GradientClip, Learner, SaveModelCallback, TorchScheduler, accuracy
from learnloop.app.demo import cnn, digits

def plain(folder, epochs, lr=.01):
    model = cnn()
    opt = AdamW(model.parameters(), lr=lr)
    train,valid = digits()
    sched = OneCycleLR(opt, lr, total_steps=epochs*len(train))
    file,start,best,best_state = folder/'last.pt',0,0.,None
    if file.exists():
        state = torch.load(file)
        model.load_state_dict(state['model'])
        opt.load_state_dict(state['opt'])
        sched.load_state_dict(state['sched'])
        torch.set_rng_state(state['rng'])
        start,best,best_state = state['epoch'],state['best'],state['best_state']
    for epoch in range(start, epochs):
        model.train()
        train_loss = 0.
        for xb,yb in train:
            loss = F.cross_entropy(model(xb), yb)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.)
            opt.step()
            opt.zero_grad()
            sched.step()
            train_loss += loss.detach()*len(yb)
        model.eval()
        valid_loss,n_right = 0.,0
        with torch.no_grad():
            for xb,yb in valid:
                pred = model(xb)
                valid_loss += F.cross_entropy(pred, yb)*len(yb)
                n_right += (pred.argmax(1)==yb).sum()
        acc = (n_right/len(valid.dataset)).item()
        print(epoch, (train_loss/len(train.dataset)).item(), (valid_loss/len(valid.dataset)).item(), acc)
        if acc>best: best,best_state = acc,{k:v.clone() for k,v in model.state_dict().items()}
        state = dict(model=model.state_dict(), opt=opt.state_dict(), sched=sched.state_dict(), rng=torch.get_rng_state(),
            epoch=epoch+1, best=best, best_state=best_state)
        torch.save(state, file.with_suffix('.tmp'))
        os.replace(file.with_suffix('.tmp'), file)
    model.load_state_dict(best_state)
    return model

def ours(folder, epochs, lr=.01):
    model,dls = cnn(),digits()
    opt = AdamW(model.parameters(), lr=lr)
    sched = partial(OneCycleLR, max_lr=lr, total_steps=epochs*len(dls.train))
    cbs = [GradientClip(1.), TorchScheduler(sched, 'step'), SaveModelCallback('accuracy')]
    learn = Learner(dls, model, F.cross_entropy, opt, metrics=accuracy, path=folder, cbs=cbs)
    learn.fit(epochs, resume=folder/'run')
    return model

WAYS = {'hand-written loop':plain, 'learnloop':ours}

def n_lines(f): return sum(bool(o.strip()) for o in inspect.getsource(f).splitlines())

def run(f, epochs):
    "Return the CPU seconds of `f` for `epochs`, its model, and the model's accuracy on validation digits"
    torch.manual_seed(42)
    with tempfile.TemporaryDirectory() as d, contextlib.redirect_stdout(io.StringIO()):
        start = time.process_time()
        model = f(Path(d), epochs)
        secs = time.process_time()-start
    x,y = digits().valid.dataset[:]
    with torch.no_grad(): return secs,model,(model.eval()(x).argmax(1)==y).float().mean().item()

def measure(rounds, epochs):
    "Measure all rounds; return rows, or raise an error if weights differ"
    secs,accs = {k:[] for k in WAYS},{}
    for i in range(rounds+1):
        models = {}
        for k,f in WAYS.items() if i%2 else reversed(WAYS.items()):
            s,models[k],accs[k] = run(f, epochs)
            if i: secs[k].append(s)  # the first round warms up
        a,b = (o.state_dict() for o in models.values())
        if not all(torch.equal(a[k], b[k]) for k in a): raise RuntimeError('the two models have other weights')
    base = secs['hand-written loop']
    for k,f in WAYS.items():
        yield results.row(k, 'lines', [n_lines(f)], 'lines of code')
        yield results.row(k, 'time', [x/y for x,y in zip(secs[k], base, strict=True)])
        yield results.row(k, 'accuracy', [accs[k]], 'accuracy')

def main():
    p = ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument('--rounds', type=int, default=8, help='fits of each that count')
    p.add_argument('--epochs', type=int, default=10)
    results.add_options(p)
    args = p.parse_args()
    torch.set_num_threads(1)
    results.report(args, lambda: [*measure(args.rounds, args.epochs)])

if __name__=='__main__': main()
