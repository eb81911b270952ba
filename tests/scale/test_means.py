"Processes take the step of the whole batch, whatever its loss averages over, or a warning names the loss function"
import pytest, torch
from learnloop import AvgSmoothLoss, GradientAccumulation, MicroBatch
from learnloop.measure.metrics import Smoother
from means import C, KNOWN, MEANS, REFUTED, T, apart, by_hand, cut, fitted, mk_data, sizes_of
from together import ALL, together
from torch.nn import functional as F

N = 17
WAYS = dict(whole=(1, lambda: []), accumulated=(3, lambda: [GradientAccumulation(n_batches=3)]), parts=(1, lambda: [MicroBatch(2)]),
    both=(2, lambda: [MicroBatch(2), GradientAccumulation(n_batches=2)]))

OF_FSDP = 'ce_weights','ce_ignored','total','plain'

def steps(world, how):
    "Return, by loss and way, how far the weights and losses are from those of the whole batch, and the warnings"
    res = {}
    some = OF_FSDP if how=='fsdp' else [*(KNOWN|MEANS|REFUTED)][::5 if world==4 else 1 if ALL else 2]
    for i,(name,(make,kind)) in enumerate((KNOWN|MEANS|REFUTED).items()):
        if name not in some: continue
        for way,(k,cbs) in [*WAYS.items()][i%4::4] if how=='ddp' else WAYS.items():
            if name in REFUTED and way in ('parts', 'both'): continue
            g = torch.Generator().manual_seed(len(res))
            whole = mk_data(kind, N, g)
            sizes = sizes_of(N, k, g)
            while min(sizes)<world: sizes = sizes_of(N, k, g)
            batches = cut(whole, sizes)
            learn,said = fitted(make(), kind, batches, cbs(), how=how)
            net,before,after = by_hand(make(), kind, whole)
            off = apart(learn.model, net)
            loss = learn.recorder.values[0][0]/before-1
            valid = 0. if name in REFUTED else learn.validate(dl=batches)[0]/after-1
            res[f'{name}, {way}'] = off,loss,valid,said
    if how=='ddp' and world==2:
        batches = [mk_data('tokens', n, g)[0][:, :k] for n,k in ((5, T), (7, 2), (5, 4))]  # which differ in length
        batches = [(x, x[..., :C]) for x in batches]
        whole = tuple(torch.cat([o.flatten(0, 1) for o in b]) for b in zip(*batches, strict=True))
        learn,said = fitted(F.mse_loss, 'numbers', batches, [GradientAccumulation(n_batches=3)], how=how)
        net,before,after = by_hand(F.mse_loss, 'numbers', whole)
        learn.metrics = [AvgSmoothLoss()]
        loss,smooth = learn.validate(dl=batches)
        of,each = Smoother(),[F.mse_loss(learn.model(x), y).item() for x,y in batches]
        res['lengths, accumulated'] = apart(learn.model, net),learn.recorder.values[0][0]/before-1,loss/after-1,said
        res['smooth, evaluated'] = 0.,0.,smooth/[*map(of, each)][-1]-1,''
    return res

@pytest.mark.parametrize('n,how', [(2, 'ddp'), (4, 'ddp'), (2, 'fsdp')])
def test_processes_take_the_step_of_the_whole_batch(n, how):
    for r,res in enumerate(together(steps, n, how, n=n)):
        for k,(off,loss,valid,said) in res.items():
            name = k.split(',')[0]
            if name in REFUTED: assert r or name in said, (k, said)
            else: assert off<1e-6 and abs(loss)<1e-5 and abs(valid)<1e-5 and not said, (r, k, off, loss, valid, said)
