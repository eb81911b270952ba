"More callbacks of other packages, unmodified: each runs in its own trainer and in ours. Run by `python -m tools.interop more`"
import os
os.environ |= dict(KERAS_BACKEND='torch', SWANLAB_MODE='disabled')
import warnings
from functools import partial
import pytest, torch
from helpers import mk_model, quiet
from learnloop import DataLoaders, Learner
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset
from wild import tried

pytestmark = pytest.mark.filterwarnings('ignore')
warnings.simplefilter('ignore')
torch.set_num_threads(1)
BS,LR,N_EPOCHS = 4,.125,3

def data(n, seed):
    x = torch.randn(n, 2, generator=torch.Generator().manual_seed(seed))
    return x,x@torch.tensor([[1.], [-2.]]) + .5
TRAIN,VALID = data(16, 0),data(8, 1)
def loaders(): return [DataLoader(TensorDataset(*o), BS) for o in (TRAIN, VALID)]

def fitted(*cbs, **kwargs): return quiet(Learner(DataLoaders(*loaders()), mk_model(), F.mse_loss, torch.optim.SGD, lr=LR, **kwargs), N_EPOCHS, cbs=cbs)

# ---------------------------------------------------------------- Keras
def keras_both(mk):
    "Fit with Keras and with learnloop; return the two callbacks that `mk` made"
    from wild_keras import both
    return both(lambda who: mk(), N_EPOCHS)

def plots(cb): return {k:[(o.step, round(float(o.value), 5)) for o in v] for k,v in cb.liveplot.logger.log_history.items()}

def test_tqdm(capfd):
    with tried('keras', 'tqdm', 'TqdmCallback'):
        from tqdm.keras import TqdmCallback
        theirs,ours = keras_both(partial(TqdmCallback, verbose=0, leave=False))
        assert ours.epoch_bar.n==theirs.epoch_bar.n==N_EPOCHS and ours.epoch_bar.postfix==theirs.epoch_bar.postfix

def test_livelossplot_keras():
    with tried('keras', 'livelossplot', 'PlotLossesKeras'):
        from livelossplot.inputs.keras import PlotLossesCallback
        theirs,ours = map(plots, keras_both(partial(PlotLossesCallback, outputs=[])))
        assert ours==theirs and {'loss','val_loss'}<={*ours}

@pytest.fixture
def logged(monkeypatch):
    "Collect what is passed to `swanlab.log`"
    import swanlab
    seen = []
    monkeypatch.setattr(swanlab, 'log', lambda data, step=None, **kwargs: seen.append((step, data)))
    yield seen
    swanlab.finish()  # it has taken over Ctrl-C

# fastai has no such hyper-parameters, but torch's optimizers do
LEFT_OUT = 'time second flos grad_norm epoch/train_loss dampening nesterov maximize differentiable'.split()

def without_times(rows):
    "Leave out times, and values that differ on purpose: learnloop measures norms on request only, and its training loss is a mean, where fastai smooths"
    return [(s, {k:round(float(v), 4) for k,v in d.items() if isinstance(v, (int,float)) and not any(w in k for w in LEFT_OUT)}) for s,d in rows]

def test_swanlab_keras(logged):
    with tried('keras', 'swanlab', 'SwanLabCallback'):
        from swanlab.integration.keras import SwanLabCallback
        keras_both(partial(SwanLabCallback, project='p', mode='disabled'))
        n = len(logged)//2
        assert n and without_times(logged[:n])==without_times(logged[n:])

# ---------------------------------------------------------------- transformers
def hf_both(mk, tmp_path):
    "Train with the Trainer and with learnloop; return the callback that `mk` made, and the model, of each"
    from wild_transformers import ours, theirs
    cbs = mk(),mk()
    return [(cb, f(tmp_path/f.__name__, [cb], N_EPOCHS, logging_strategy='steps', logging_steps=2).model) for f,cb in zip((theirs, ours), cbs, strict=True)]

def test_trl_bema(tmp_path):
    with tried('transformers', 'trl', 'BEMACallback'):
        from trl import BEMACallback
        (theirs,m),(ours,n) = hf_both(partial(BEMACallback, update_freq=2), tmp_path)
        assert all(map(torch.equal, m.state_dict().values(), n.state_dict().values()))
        assert all(map(torch.equal, theirs.running_model.state_dict().values(), ours.running_model.state_dict().values()))
        assert not all(map(torch.equal, ours.running_model.state_dict().values(), n.state_dict().values()))
        assert (tmp_path/'ours'/'bema'/'model.safetensors').exists()

def test_trl_rich_progress(tmp_path, capfd):
    with tried('transformers', 'trl', 'RichProgressCallback'):
        from trl import RichProgressCallback
        hf_both(RichProgressCallback, tmp_path)

def test_sentence_transformers(tmp_path):
    with tried('transformers', 'sentence-transformers', 'SpladeRegularizerWeightSchedulerCallback'):
        from sentence_transformers.sparse_encoder.callbacks.splade_callbacks import SpladeRegularizerWeightSchedulerCallback
        from sentence_transformers.sparse_encoder.losses import SpladeLoss
        seen = []
        def mk():
            loss = SpladeLoss.__new__(SpladeLoss)
            nn.Module.__init__(loss)
            loss.document_regularizer_weight,loss.query_regularizer_weight = .5,.25
            class Noting(SpladeRegularizerWeightSchedulerCallback):
                def on_step_end(self, *args, **kwargs): seen.append((loss.document_regularizer_weight, loss.query_regularizer_weight))
            return Noting(loss)
        hf_both(mk, tmp_path)
        n = len(seen)//2
        assert n==21 and seen[:n]==seen[n:] and seen[0]!=seen[-1]==(.5, .25)

def test_swanlab_transformers(logged, tmp_path):
    with tried('transformers', 'swanlab', 'SwanLabCallback'):
        from swanlab.integration.transformers import SwanLabCallback
        hf_both(partial(SwanLabCallback, project='p', mode='disabled'), tmp_path)
        n = len(logged)//2
        assert n and without_times(logged[:n])==without_times(logged[n:])

# ---------------------------------------------------------------- fastai
def test_swanlab_fastai(logged):
    with tried('fastai', 'swanlab', 'SwanLabCallback'):
        from fastai.data.core import DataLoaders as TheirDataLoaders
        from fastai.learner import Learner as TheirLearner
        from fastai.optimizer import OptimWrapper
        from swanlab.integration.fastai import SwanLabCallback
        theirs = TheirLearner(TheirDataLoaders(*loaders(), device='cpu'), mk_model(), F.mse_loss, partial(OptimWrapper, opt=torch.optim.SGD), lr=LR)
        with theirs.no_logging(): theirs.fit(N_EPOCHS, cbs=SwanLabCallback(project='p', mode='disabled'))
        n = len(logged)
        fitted(SwanLabCallback(project='p', mode='disabled'))
        assert n and without_times(logged[:n])==without_times(logged[n:])

# ---------------------------------------------------------------- ignite
def test_livelossplot_ignite():
    with tried('ignite', 'livelossplot', 'PlotLossesIgnite'):
        from ignite.engine import create_supervised_trainer
        from ignite.metrics import RunningAverage
        from learnloop.interop.ignite import Ignite
        from livelossplot.inputs.pytorch_ignite import PlotLossesCallback
        def attached(engine):
            RunningAverage(output_transform=lambda o: o).attach(engine, 'loss')
            cb = PlotLossesCallback(outputs=[])
            cb.attach(engine)
            return cb
        model = mk_model()
        engine = create_supervised_trainer(model, torch.optim.SGD(model.parameters(), LR), F.mse_loss)
        theirs,_ = attached(engine),engine.run(loaders()[0], N_EPOCHS)
        ig = Ignite()
        ours = attached(ig.trainer)
        fitted(ig)
        assert plots(ours)==plots(theirs) and plots(ours)['loss']

# ---------------------------------------------------------------- Lightning
def test_finetuning_scheduler_is_refused(tmp_path):
    with tried('lightning', 'finetuning-scheduler', 'FinetuningScheduler') as t:
        from finetuning_scheduler import FinetuningScheduler
        t.refuses(lambda: fitted(FinetuningScheduler(), path=tmp_path), match='FinetuningScheduler')
