"More callbacks of other packages, unmodified: each runs in its own trainer and in ours. Run by `python -m tools.interop more`"
import os
os.environ |= dict(KERAS_BACKEND='torch', SWANLAB_MODE='disabled')
import warnings
from functools import partial
import pytest, torch
from learnloop import DataLoaders, Learner, mae
from learnloop.interop import as_cb
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

def line():
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return nn.Linear(2, 1)

def fitted(*cbs, model=None, n_epoch=N_EPOCHS, loss_func=F.mse_loss, **kwargs):
    learn = Learner(DataLoaders(*loaders()), model or line(), loss_func, torch.optim.SGD, lr=LR, **kwargs)
    with learn.no_logging(), learn.no_bar(): learn.fit(n_epoch, cbs=cbs)
    return learn

# ---------------------------------------------------------------- Keras
def keras_model():
    import keras
    keras.device('cpu').__enter__()
    m = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1, kernel_initializer=keras.initializers.RandomNormal(seed=1))])
    m.compile(keras.optimizers.SGD(LR), 'mse', metrics=['mae'])
    return m

def keras_both(mk):
    "The callback that `mk` makes, after a fit of Keras and one of ours"
    import keras
    theirs,ours = mk(),mk()
    keras_model().fit(*TRAIN, batch_size=BS, epochs=N_EPOCHS, validation_data=VALID, callbacks=[theirs], verbose=0, shuffle=False)
    loss = keras.losses.MeanSquaredError()
    learn = Learner(DataLoaders(*loaders()), keras_model(), lambda p, y: loss(y, p), torch.optim.SGD, lr=LR, metrics=mae)
    learn.recorder.train_metrics = True
    with learn.no_logging(), learn.no_bar(): learn.fit(N_EPOCHS, cbs=ours)
    return theirs,ours

def test_tqdm(capfd):
    with tried('keras', 'tqdm', 'TqdmCallback'):
        from tqdm.keras import TqdmCallback
        theirs,ours = keras_both(partial(TqdmCallback, verbose=0, leave=False))
        assert ours.epoch_bar.n==theirs.epoch_bar.n==N_EPOCHS and ours.epoch_bar.postfix==theirs.epoch_bar.postfix

def test_livelossplot_keras():
    with tried('keras', 'livelossplot', 'PlotLossesKeras'):
        from livelossplot.inputs.keras import PlotLossesCallback
        def history(cb): return {k:[(o.step, round(float(o.value), 5)) for o in v] for k,v in cb.liveplot.logger.log_history.items()}
        theirs,ours = map(history, keras_both(partial(PlotLossesCallback, outputs=[])))
        assert ours==theirs and {'loss','val_loss'}<={*ours}

@pytest.fixture
def logged(monkeypatch):
    "What is given to `swanlab.log`"
    import swanlab
    seen = []
    monkeypatch.setattr(swanlab, 'log', lambda data, step=None, **kwargs: seen.append((step, data)))
    yield seen
    swanlab.finish()  # it has taken over Ctrl-C

# What torch's optimizers have besides is no hyper-parameter of fastai's
LEFT_OUT = 'time second flos grad_norm epoch/train_loss dampening nesterov maximize differentiable'.split()

def without_times(rows):
    "Without times; and learnloop measures no norm that nobody asks for, and its training loss is a mean, where fastai smooths"
    return [(s, {k:round(float(v), 4) for k,v in d.items() if isinstance(v, (int,float)) and not any(w in k for w in LEFT_OUT)}) for s,d in rows]

def test_swanlab_keras(logged):
    with tried('keras', 'swanlab', 'SwanLabCallback'):
        from swanlab.integration.keras import SwanLabCallback
        keras_both(partial(SwanLabCallback, project='p', mode='disabled'))
        n = len(logged)//2
        assert n and without_times(logged[:n])==without_times(logged[n:])

# ---------------------------------------------------------------- transformers
def tiny_bert():
    from transformers import BertConfig, BertForSequenceClassification
    with torch.random.fork_rng():
        torch.manual_seed(0)
        sizes = dict(vocab_size=20, hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8)
        return BertForSequenceClassification(BertConfig(**sizes, hidden_dropout_prob=0., attention_probs_dropout_prob=0.))

def tokens(n, seed):
    g = torch.Generator().manual_seed(seed)
    return [dict(input_ids=torch.randint(0, 20, (6,), generator=g), labels=torch.randint(0, 2, (), generator=g)) for _ in range(n)]

def hf_both(mk, tmp_path, **args):
    from transformers import Trainer, TrainingArguments
    items,res = tokens(16, 0),[]
    class InOrder(Trainer):
        def _get_train_sampler(self, *args): return torch.utils.data.SequentialSampler(items)
    for who in ('theirs', 'ours'):
        cb,model = mk(),tiny_bert()
        if who=='theirs':
            kw = dict(report_to=[], use_cpu=True, disable_tqdm=True, learning_rate=.01, lr_scheduler_type='constant', max_grad_norm=0., optim='sgd', num_train_epochs=N_EPOCHS,
                per_device_train_batch_size=BS, logging_steps=2, save_strategy='no', dataloader_pin_memory=False)
            InOrder(model, TrainingArguments(str(tmp_path/who), **kw | args), train_dataset=items, callbacks=[cb]).train()
        else:
            learn = Learner(DataLoader(items, BS), model, None, torch.optim.SGD, lr=.01, wd_bn_bias=True)
            hf = as_cb(cb)
            hf.options |= dict(output_dir=str(tmp_path/who), logging_strategy='steps', logging_steps=2, save_strategy='no') | args
            with learn.no_logging(), learn.no_bar(): learn.fit(N_EPOCHS, cbs=hf)
        res.append((cb, model))
    return res

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
        assert n==12 and seen[:n]==seen[n:] and seen[0]!=seen[-1]==(.5, .25)

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
        theirs = TheirLearner(TheirDataLoaders(*loaders(), device='cpu'), line(), F.mse_loss, partial(OptimWrapper, opt=torch.optim.SGD), lr=LR)
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
        model = line()
        engine = create_supervised_trainer(model, torch.optim.SGD(model.parameters(), LR), F.mse_loss)
        theirs,_ = attached(engine),engine.run(loaders()[0], N_EPOCHS)
        ig = Ignite()
        ours = attached(ig.trainer)
        fitted(ig)
        def history(cb): return {k:[(o.step, round(float(o.value), 5)) for o in v] for k,v in cb.liveplot.logger.log_history.items()}
        assert history(ours)==history(theirs) and history(ours)['loss']

# ---------------------------------------------------------------- Lightning
def test_finetuning_scheduler_is_refused(tmp_path):
    with tried('lightning', 'finetuning-scheduler', 'FinetuningScheduler') as t:
        from finetuning_scheduler import FinetuningScheduler
        t.refuses(lambda: fitted(FinetuningScheduler(), path=tmp_path), match='FinetuningScheduler')
