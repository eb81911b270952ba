"TensorBoard's files after fits that succeeded, failed or resumed"
import errno, os, shutil, sys, threading
from functools import partial
from itertools import count
import numpy as np, pytest, torch
from helpers import Module, StopAt, TRAIN, VALID, batches, cover, fail, mk_learner, quiet
from learnloop import (Callback, CancelBatchException, CancelEpochException, CancelFitException, CheckpointCallback,
    CrossEntropyLossFlat, DataLoaders, Learner, Recorder, TensorBoardCallback, Throughput, Tracer, ValidateCallback,
    mae, on, read_tensorboard, GradientAccumulation, GradientClip)
from learnloop.see import tensorboard as tb_mod
from learnloop.data.batch import tensors_in
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.compat.proto.graph_pb2 import GraphDef
from tensorboard.plugins.hparams import metadata, plugin_data_pb2
from torch import nn
from torch.nn import functional as F
from torch.utils.data import TensorDataset

def learner(cb, cbs=(), **kwargs): return mk_learner([Recorder(), cb, *cbs], **kwargs)
def steps(pts): return [o[0] for o in pts]
def approx(vals): return pytest.approx(vals, rel=1e-6)
def log(folder): return EventAccumulator(str(folder), size_guidance=dict(scalars=0, tensors=0, images=0, histograms=0)).Reload()
def served(folder):
    "As TensorBoard's server reads it"
    from tensorboard.backend.event_processing.plugin_event_accumulator import EventAccumulator as Served
    return Served(str(folder)).Reload()
def tags(folder, kind='scalars'): return sorted(log(folder).Tags()[kind])

@pytest.fixture
def tb(tmp_path): return TensorBoardCallback(tmp_path/'log', every_steps=1)

# Curves

def test_columns_of_callbacks_have_charts_of_their_own(tb):
    class Odd(Callback):
        epoch_columns = 'valid_odd',
        def after_epoch(self): self.learn.recorder.row['valid_odd'] = 3.
    learn = learner(tb, [t := Throughput(columns=['samples_per_sec', 'data_wait']), ValidateCallback(dl=VALID, name='data'), Odd()])
    learn.fit(2)
    want = {f'throughput/{k}':[pytest.approx(o[k], rel=.01, abs=.01) for o in t.epochs] for k in t.epoch_columns} | {'odd/valid_odd':[3.]*2}
    there = log(tb.log_dir)
    assert {k:[o.value for o in there.Scalars(k)] for k in want}==want and not [k for k in tags(tb.log_dir/'valid') if 'sec' in k or 'wait' in k]

def test_samples_as_x_axis(tmp_path):
    tb = TensorBoardCallback(tmp_path, every_steps=2, unit='samples')
    learn = learner(tb, dls=(TRAIN*2, VALID))
    learn.fit(2)
    pts,bs = read_tensorboard(tmp_path),len(TRAIN[0][0])
    assert steps(pts['loss'])==[bs*o for o in (2, 4, 6, 8, 10, 12)] and steps(pts['valid_loss'])==[6*bs, 12*bs]
    other = TensorBoardCallback(tmp_path)
    with pytest.raises(ValueError, match="unit is 'steps', but the log to continue has 'samples'"): other.load_state_dict(tb.state_dict())

def test_default_folder_is_new_each_time(tmp_path, monkeypatch):
    class Now(tb_mod.datetime):
        @classmethod
        def now(cls): return cls(2024, 5, 6, 7, 8, 9)
    monkeypatch.setattr(tb_mod, 'datetime', Now)
    dirs = []
    for _ in range(3):
        learn = learner(tb := TensorBoardCallback(), path=tmp_path)
        learn.fit(1)
        dirs.append(tb.log_dir)
        learn.fit(1)
        assert tb.log_dir==dirs[-1], 'a second fit goes on in the same'
    assert dirs==[tmp_path/'runs'/o for o in ('20240506-070809', '20240506-070809-1', '20240506-070809-2')]

WHOLE = dict(every_steps=.5, block=0, norms_every_steps=0, histograms_every_steps=-1, examples=-1, examples_every_epochs=0, n_embed=0)
@pytest.mark.parametrize('k,v,rule', [*((*o, 'a whole number') for o in WHOLE.items()), ('embed', 'body', 'a module of the model'), ('show', 3, r'a function show\(x, y, pred\)'),
    ('hparams', [1], 'a dict, such as'), ('unit', 'epochs', "'steps' or 'samples'")])
def test_wrong_arguments_are_refused(k, v, rule):
    with pytest.raises(TypeError if k in ('embed', 'show', 'hparams') else ValueError, match=f'{k} is .*: it must be {rule}'): TensorBoardCallback(**{k:v})

def test_missing_tensorboard_is_an_error_before_training(monkeypatch, tb):
    monkeypatch.setitem(sys.modules, 'torch.utils.tensorboard', None)
    learn = learner(tb)
    with pytest.raises(ImportError, match='pip install tensorboard'): learn.fit(1)
    assert learn.count.batches==0

# What it leaves

IN_BATCH = 'before_batch','after_loss','after_batch'
ENDS = [(how, at) for how in (ValueError, KeyboardInterrupt, CancelFitException, CancelEpochException, None)
    for at in ('before_epoch', *IN_BATCH, 'before_validate', 'after_validate', 'after_epoch')]

@pytest.mark.every(2)
@pytest.mark.parametrize('how,at', cover([*ENDS, *((CancelBatchException, o) for o in IN_BATCH)]))
def test_it_leaves_nothing_behind(how, at, tmp_path):
    def stop(cb, where):
        if how and cb.learn.training is where: raise how
    from torch.nn.modules import module as m
    before = threading.enumerate(),len(os.listdir('/proc/self/fd'))
    for where in (True, False):
        tb = TensorBoardCallback(tmp_path, every_steps=1, norms_every_steps=1, histograms_every_steps=1)
        learn = learner(tb, [Callback(**{at:partial(stop, where=where)})])
        tb.embed = learn.model
        names = [o.name for o in learn.cbs]
        try: learn.fit(2)
        except (ValueError, KeyboardInterrupt) as e: assert type(e) is how
        assert [o.name for o in learn.cbs]==names and tb._writers=={} and not learn.model._forward_hooks
        assert not m._global_forward_hooks and not m._global_forward_pre_hooks
        if os.path.exists(tmp_path): log(tmp_path)
    assert (threading.enumerate(),len(os.listdir('/proc/self/fd')))==before

def test_a_folder_that_cannot_be_or_goes_away(tmp_path):
    (tmp_path/'file').write_text('')
    learn = learner(TensorBoardCallback(tmp_path/'file'/'log', norms_every_steps=1, histograms_every_steps=1))
    with pytest.warns(UserWarning, match='TensorBoardCallback has a gap') as w: learn.fit(2)
    assert learn.count.opt_steps==6 and len(w)==1
    for name,n in (('before_epoch', 2), ('before_batch', 1), ('before_validate', 1), ('after_epoch', 3)):
        away = Callback(**{name: on(name, once=n)(lambda cb: shutil.rmtree(tmp_path/'log'))})
        tb = TensorBoardCallback(tmp_path/'log', every_steps=1, norms_every_steps=1, histograms_every_steps=1)
        learn = learner(tb, [away])
        tb.embed = learn.model
        with pytest.warns(UserWarning, match='has a gap.*FileNotFoundError.*was removed') as w: learn.fit(3)
        assert len(w)==1 and learn.count.opt_steps==9 and tb._writers=={} and not (tmp_path/'log').exists()

def test_points_wait_for_room_on_a_full_disk(tmp_path, monkeypatch):
    full = []
    def fsync(fd):
        if full: raise OSError(errno.ENOSPC, 'No space left on device')
    monkeypatch.setattr('os.fsync', fsync)
    fill = Callback(before_epoch=lambda cb: full.append(1) if cb.learn.epoch in (1, 2) else full.clear())
    learn = learner(TensorBoardCallback(tmp_path, every_steps=1), [fill])
    seen = []
    learn.add_cb(Callback(cleanup_epoch=lambda cb: seen.append(steps(read_tensorboard(tmp_path)['loss'])[-1])))
    with pytest.warns(UserWarning, match='No space left') as w: learn.fit(4)
    pts = read_tensorboard(tmp_path)
    assert len(w)==1 and seen==[3, 3, 3, 12] and steps(pts['loss'])==[*range(1, 13)] and steps(pts['valid_loss'])==[3, 6, 9, 12]

@pytest.mark.parametrize('cbs', [[], [GradientClip], [partial(GradientAccumulation, 8)]])
def test_norms_are_those_of_each_step_before_clipping(cbs, tmp_path):
    want = []
    def note(cb): want.append([torch.linalg.vector_norm(o.detach()).item() for p in cb.learn.model.parameters() for o in (p.grad, p)])
    learn = learner(TensorBoardCallback(tmp_path, norms_every_steps=2), [f() for f in cbs], dls=(batches(8),), splitter=lambda m: [[m.weight], [m.bias]])
    learn.add_cb(cb := Callback(before_step=note))
    cb.order = 10.2
    learn.fit(1)
    pts = read_tensorboard(tmp_path)
    names = [f'norms/{k}/{i}' for i in range(2) for k in ('gradients','weights')]
    for k,vals in zip(names, zip(*want[1::2], strict=True), strict=True): assert pts[k]==[(2*(i+1), approx(v)) for i,v in enumerate(vals)]

# Norms and histograms

# The graph

def graph_of(model, xb, **kwargs):
    "Nodes by name"
    import tempfile
    from pathlib import Path
    with tempfile.TemporaryDirectory() as d:
        def loss_func(pred, *yb): return tensors_in(pred)[0].float().square().mean()
        dls = DataLoaders([(*xb, torch.zeros(len(xb[0])))], device='cpu')
        quiet(Learner(dls, model, loss_func, cbs=TensorBoardCallback(Path(d), **kwargs)), 1)
        g = GraphDef()
        g.ParseFromString(log(d)._graph)
    nodes = {o.name:o for o in g.node}
    assert len(nodes)==len(g.node), 'names are unique'
    assert all(i in nodes for o in g.node for i in o.input), 'edges come from nodes'
    return nodes

def shape(node): return [o.size for o in node.attr['_output_shapes'].list.shape[0].dim]

class Res(Module):
    def __init__(self):
        self.a,self.b,self.scale = nn.Linear(3, 3),nn.Linear(3, 3),nn.Parameter(torch.ones(3))
    def forward(self, x): return x + self.scale*self.b(F.relu(self.a(x)))

def inputs(nodes): return {k:set(o.input) for k,o in nodes.items()}

def test_graph_has_modules_as_scopes():
    "Paths are scopes; a sum and a product between modules are gone through"
    nodes = graph_of(nn.Sequential(nn.Linear(2, 3), Res(), nn.Linear(3, 1)), [torch.randn(4, 2)])
    assert inputs(nodes)=={'input':set(), '0/Linear':{'input'}, '1/a/Linear':{'0/Linear'}, '1/b/Linear':{'1/a/Linear'},
        '2/Linear':{'0/Linear', '1/b/Linear'}, 'loss':{'2/Linear'}}
    assert shape(nodes['0/Linear'])==[4, 3] and nodes['0/Linear'].op=='Linear'

def test_graph_of_a_compiled_model_is_its_modules():
    model = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))
    model.compile(backend='eager')
    nodes = graph_of(model, [torch.randn(4, 2)])
    assert [(o.name, list(o.input)) for o in nodes.values()]==[('input', []), ('0/Linear', ['input']), ('1/ReLU', ['0/Linear']), ('2/Linear', ['1/ReLU'])]

# Hyper-parameters

def hparams(folder):
    meta = log(folder).SummaryMetadata(metadata.SESSION_START_INFO_TAG)
    data = plugin_data_pb2.HParamsPluginData.FromString(meta.plugin_data.content)
    return {k:getattr(v, v.WhichOneof('kind')) for k,v in data.session_start_info.hparams.items()}

def test_hparams_are_in_the_run_itself(tmp_path):
    learn = learner(TensorBoardCallback(tmp_path, hparams=dict(width=3, kind='a', deep=True, sizes=(1, 2))), opt_func=partial(torch.optim.SGD, momentum=.9))
    learn.fit_one_cycle(2, .2, wd=.01)
    got = hparams(tmp_path)
    assert got.pop('lr')==approx(.2), 'the highest, not the one that the schedule begins with'
    assert got==dict(width=3., kind='a', deep=True, sizes='[1, 2]', model='Linear', loss_func='mse_loss', optimizer='SGD', n_epoch=2., wd=.01, mom=.9)
    assert metadata.SESSION_END_INFO_TAG in log(tmp_path).Tags()['tensors'] and [o.name for o in tmp_path.iterdir() if o.is_dir()]==['valid']

# Examples

def images(folder): return log(folder/'valid').Images('predictions')
def texts(folder): return [o.tensor_proto.string_val[0].decode() for o in log(folder/'valid').Tensors('predictions/text_summary')]

def classifier(tmp_path, x, n_class=3, vocab=None, loss_func=None, **kwargs):
    torch.manual_seed(0)
    y = torch.arange(len(x))%n_class
    tb = TensorBoardCallback(tmp_path, **kwargs)
    dls = DataLoaders.from_dsets(*[TensorDataset(x, y)]*2, bs=8, device='cpu')
    if vocab: dls.vocab = vocab
    return Learner(dls, nn.Sequential(nn.Flatten(), nn.LazyLinear(n_class)), loss_func or F.cross_entropy, lr=.1, cbs=tb)

def pixels(o):
    from io import BytesIO
    from PIL import Image
    return np.asarray(Image.open(BytesIO(o.encoded_image_string)))

@pytest.mark.parametrize('c,size', [(1, (28, 28)), (3, (20, 40)), (3, (300, 200))])
def test_examples_of_images(c, size, tmp_path):
    quiet(classifier(tmp_path, torch.randn(16, c, *size)*5, vocab=['cat','dog','a fish of some length that fits nowhere']), 2)
    imgs = images(tmp_path)
    assert [o.step for o in imgs]==[2, 4]
    p = pixels(imgs[0])
    k = 128/max(size)
    assert p.shape==(3*(round(size[0]*k)+18+6)+6, 3*(round(size[1]*k)+6)+6, 3) or p.shape[0]>p.shape[1]//2
    assert (p[...,0]>p[...,2]+80).any() if c==1 else p.std()>20, 'what is wrong is in red'

def test_examples_by_functions_that_draw(tmp_path):
    draw = lambda x: x.expand(3, -1, -1),lambda x: x[0],lambda x: (x*255).byte(),lambda x: x[0].numpy()
    for i,show in enumerate([lambda x, y, pred, f=f: f(x) for f in draw]):
        quiet(classifier(tmp_path/str(i), torch.rand(16, 1, 8, 8), show=show, examples=4), 1)
        assert pixels(images(tmp_path/str(i))[0]).shape==(2*134+6, 2*134+6, 3)

def test_examples_of_images_as_targets(tmp_path):
    x = torch.rand(8, 1, 8, 8)
    tb = TensorBoardCallback(tmp_path, examples=1)
    learn = Learner(DataLoaders.from_dsets(*[TensorDataset(x, (x[:,0]>.5).long())]*2, bs=4, device='cpu'), nn.Conv2d(1, 2, 1), CrossEntropyLossFlat(axis=1), cbs=tb)
    with learn.no_logging(): learn.fit(1)
    assert pixels(images(tmp_path)[0]).shape==(128+12, 3*128+2*2+12, 3), 'input, target, prediction'

class Lm(Module):
    "A language model as those of Hugging Face are: (n,t) to a loss and scores, (n,t,c)"
    def __init__(self, n=30):
        self.emb,self.out = nn.Embedding(n, 4),nn.Linear(4, n)
    def forward(self, input_ids, attention_mask=None, labels=None):
        logits = self.out(self.emb(input_ids))
        return logits if labels is None else dict(loss=F.cross_entropy(logits.flatten(0, 1), labels.flatten()), logits=logits)

@pytest.mark.parametrize('kind', ['dict', 'tensors', 'torch', 'square'])
def test_examples_of_language_models(kind, tmp_path):
    torch.manual_seed(0)
    n = 30 if kind=='square' else 12  # as many positions as classes, where axes don't tell
    model,x,y = Lm(),torch.arange(4*n).view(4, n)%30,torch.arange(1, 4*n+1).view(4, n)%30
    if kind=='dict': b,lf = dict(input_ids=x, attention_mask=torch.ones_like(x), labels=y),None
    elif kind=='tensors': b,lf = (x, y),lambda pred, y: F.cross_entropy(pred.flatten(0, 1), y.flatten())
    else: b,lf = (x, y),lambda pred, y: F.cross_entropy(pred, y)
    with torch.no_grad(): want = model(x).argmax(-1)
    if kind in ('torch','square'): model.register_forward_hook(lambda m, inp, out: out.transpose(1, 2))
    quiet(Learner(([b], [b]), model, lf, lr=0., cbs=TensorBoardCallback(tmp_path, examples=2)), 1)
    def first(v): return ', '.join(map(str, v[:8].tolist()))+', …'
    assert texts(tmp_path)[0].splitlines()[2:]==[f'| {first(x[i])} | {first(y[i])} | **{first(want[i])}** |' for i in range(2)]

def test_examples_of_dicts_lists_and_without_targets(tmp_path):
    class M(Module):
        def __init__(self):
            self.a = nn.Linear(2, 1)
        def forward(self, x, words=None): return dict(loss=self.a(x).square().mean(), out=self.a(x))
    b = [dict(x=torch.randn(4, 2), words=['a', 'b', 'c', 'd'])]
    quiet(Learner((b, b), M(), cbs=TensorBoardCallback(tmp_path, examples=2)), 1)
    assert len(texts(tmp_path)[0].splitlines())==4
    learner(TensorBoardCallback(tmp_path/'none', examples=0)).fit(1)
    assert tags(tmp_path/'none'/'valid', 'tensors')==[]

# Timings, embeddings

def test_timings_of_a_tracer(tmp_path):
    learn = learner(TensorBoardCallback(tmp_path), [Tracer()])
    learn.fit(2)
    learn.fit(1)
    pts = read_tensorboard(tmp_path)
    for k in ('time/phases/train', 'time/phases/validate', 'time/phases/backward', 'time/callbacks/recorder'):
        assert steps(pts[k])==[3, 6, 9] and all(v>0 for _,v in pts[k])
    assert not any('/_' in o or o.endswith(('epoch','fit')) for o in pts if o.startswith('time/'))

class Side(nn.Module):
    "A part of a model, that hands on `f` of what it gets"
    def __init__(self, f): self.f = super().__init__() or f
    def forward(self, x): return self.f(x)

WIDTHS = count(1)
@pytest.mark.parametrize('what,n_warnings', [(lambda x: None, 0), (lambda x: x.mean(), 1), (lambda x: x.repeat(1, next(WIDTHS)), 1), (lambda x: x[:1].expand(9, 2), 1),
    (lambda x: dict(a=x), 0)], ids=['nothing','scalar','widths','items','dict'])
def test_embeddings_of_models_without_one_are_refused(what, n_warnings, tmp_path, recwarn):
    class M(Module):
        def __init__(self):
            self.side,self.lin = Side(what),nn.Linear(2, 1)
        def forward(self, x):
            self.side(x)
            return self.lin(x)
    learn = learner(tb := TensorBoardCallback(tmp_path, every_steps=1), model=M())
    tb.embed = learn.model.side
    learn.fit(2)
    assert len(recwarn)==n_warnings
    assert learn.count.opt_steps==6 and len(read_tensorboard(tmp_path)['loss'])==6 and not learn.model.side._forward_hooks

# Runs that go on

def train(folder, stop=None, every=1, n=3, **kwargs):
    tb = TensorBoardCallback(folder/'tb', every_steps=every, norms_every_steps=1, histograms_every_steps=5, **kwargs)
    saver = CheckpointCallback(folder/'run', every_steps=4, every_epochs=2, on_error=False)
    cbs = [ValidateCallback(every_steps=2, dl=VALID, name='test'), stop or StopAt(), saver]
    learn = learner(tb, cbs, dls=(batches(5),VALID), opt_func=torch.optim.AdamW, metrics=mae)
    return quiet(learn, n, resume=folder/'run')

@pytest.mark.every(2, 1)
@pytest.mark.parametrize('every,unit,name,stops', [(1, 'steps', 'after_batch', [3]), (2, 'samples', 'after_batch', [5, 9]), (1, 'samples', 'after_batch', [6, 8, 8]),
    (2, 'steps', 'after_epoch', [10])], ids=str)
def test_resumed_runs_have_the_curves_of_one(name, stops, every, unit, tmp_path):
    train(tmp_path/'a', every=every, unit=unit)
    for o in stops:
        with pytest.raises(MemoryError): train(tmp_path/'b', StopAt(o, fail, name), every, unit=unit)
    train(tmp_path/'b', every=every, unit=unit)
    assert read_tensorboard(tmp_path/'a'/'tb')==read_tensorboard(tmp_path/'b'/'tb'), 'one curve, no point twice'
    for o in ('a','b'): assert [h.step for h in log(tmp_path/o/'tb').Histograms('weights/weight')][-1]==15*(1 if unit=='steps' else 4)

def test_a_failing_picture_does_not_stop_training(tmp_path, monkeypatch):
    learn = learner(TensorBoardCallback(tmp_path, show=lambda x, y, pred: 1/0, every_steps=1))
    with pytest.warns(UserWarning, match='has a gap, but training continues: ZeroDivisionError') as w: learn.fit(2)
    assert len(w)==1 and learn.count.opt_steps==6 and len(read_tensorboard(tmp_path)['loss'])==6
    def bad(*args): raise RuntimeError('odd')
    monkeypatch.setattr(tb_mod, '_graph_def', bad)
    learn = learner(TensorBoardCallback(tmp_path/'b', every_steps=1))
    with pytest.warns(UserWarning, match='RuntimeError: odd') as w: learn.fit(1)
    assert len(w)==1 and len(learn.cbs)==3 and len(read_tensorboard(tmp_path/'b')['loss'])==3

def test_resumed_runs_as_the_server_of_tensorboard_reads_them(tmp_path):
    for at in (7, 13):
        with pytest.raises(MemoryError): train(tmp_path, StopAt(at, fail))
    train(tmp_path)
    for run,tag,want in (('', 'loss', [*range(1, 16)]), ('valid', 'loss/epoch', [5, 10, 15]), ('test', 'loss', [2, 4, 6, 8, 10, 12, 14])):
        assert [o.step for o in served(tmp_path/'tb'/run).Tensors(tag)]==want
