"Plots: one style, nothing printed beside them, and errors that name the package to install"
import pytest, sys, torch
from helpers import real_kernel
from learnloop import ActivationStats, ClassificationInterpretation, DataLoaders, Learner, accuracy, plot_style
from learnloop.measure.display import draw_legend, draws, pyplot
from torch import nn

plt = pytest.importorskip('matplotlib.pyplot')
@pytest.fixture(scope='module')
def learn():
    "A learner after a fit, with an activation statistic"
    g = torch.Generator().manual_seed(0)
    x = torch.rand(32, 1, 4, 4, generator=g)
    data = x,(x.flatten(1).sum(1)>8).long()
    dls = DataLoaders.from_tensors(data, data, bs=8)
    model = nn.Sequential(nn.Flatten(), nn.Linear(16, 8), nn.ReLU(), nn.Linear(8, 2))
    res = Learner(dls, model, nn.functional.cross_entropy, metrics=accuracy, lr=.01)
    res.stats = ActivationStats(with_hist=True)
    with res.no_logging(), res.no_bar():
        res.lr_find(num_it=30, show_plot=False)
        res.fit_one_cycle(3, cbs=res.stats)
    return res

def interp(learn): return ClassificationInterpretation.from_learner(learn)

PLOTS = dict(loss=lambda o, **k: o.recorder.plot_loss(**k), lr_find=lambda o, **k: o.recorder.plot_lr_find(**k),
    finder=lambda o, **k: o.recorder.lr_finder.plot(**k), color_dim=lambda o, **k: o.stats.color_dim(0, **k),
    confusion=lambda o, **k: interp(o).plot_confusion_matrix(**k))
MANY = dict(metrics=lambda o: o.recorder.plot_metrics(), sched=lambda o: o.recorder.plot_sched(), layers=lambda o: o.stats.plot_layer_stats(),
    results=lambda o: o.show_results(n=3), top=lambda o: interp(o).plot_top_losses(3))

@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close('all')

def says(o):
    "What a notebook would print of `o`"
    from IPython.core.formatters import DisplayFormatter
    return DisplayFormatter().format(o)

@pytest.mark.parametrize('name', [*PLOTS, *MANY])
def test_prints_nothing_and_returns_axes(name, learn):
    res = (PLOTS | MANY)[name](learn)
    assert says(res)==({}, {})
    axs = [res] if name in PLOTS else res
    assert all(isinstance(o, plt.Axes) and says(o)==({}, {}) for o in axs)
    assert all(o.figure.get_facecolor()[3]==0 and o.get_facecolor()[3]==0 for o in axs), 'a page shows through'
    assert says(plt.subplots()[1])[0], 'axes of others are told as ever'

def test_an_error_is_the_plots_own(learn):
    with pytest.raises(TypeError, match="unexpected keyword argument 'axes'"): learn.recorder.plot_loss(axes=1)
    @draws
    def f(): raise ValueError('mine')
    with pytest.raises(ValueError, match='mine'): f()
    assert plt.rcParams['text.color']==plt.rcParamsDefault['text.color']

def test_losses_of_a_short_fit_are_all_drawn():
    learn = Learner([(torch.ones(2, 3), torch.ones(2, 1))]*4, nn.Linear(3, 1), nn.functional.mse_loss)
    with pytest.raises(ValueError, match='nothing to plot: fit first'): learn.recorder.plot_loss()
    assert learn.recorder.columns==learn.recorder.values==[]
    with learn.no_logging(), learn.no_bar():
        learn.fit(1)
        assert [len(o.get_xdata()) for o in learn.recorder.plot_loss().lines]==[4], 'fewer than are left out at the start'
        learn.fit(2)
    assert [len(o.get_xdata()) for o in learn.recorder.plot_loss().lines]==[3]

@pytest.mark.every(2)
@pytest.mark.parametrize('name', [*PLOTS, *MANY, 'find', 'pyplot', 'style'])
def test_without_matplotlib(name, learn, monkeypatch):
    "Each plot says what to install"
    for k in [k for k in sys.modules if k.split('.')[0]=='matplotlib']: monkeypatch.delitem(sys.modules, k)
    monkeypatch.setitem(sys.modules, 'matplotlib', None)
    more = dict(find=lambda o: o.lr_find(), pyplot=lambda o: pyplot(), style=lambda o: plot_style().__enter__())
    with pytest.raises(ImportError) as e: (PLOTS | MANY | more)[name](learn)
    assert str(e.value)=="plots need matplotlib: pip install 'learnloop[plots]'"

# ---- colours

# Machado et al. (2009), table 1, severity 1: what linear red, green and blue become for people without one kind of cones

# ---- a real kernel, where the first plot loads the backend of notebooks

CELLS = dict(setup="""
get_ipython().config.InlineBackend.rc = {'figure.dpi':50, 'text.color':'navy'}  # as a profile has it
import sys, warnings, logging
sys.path[:0] = %r
import torch
from learnloop import Learner
dl = [(torch.ones(2, 3), torch.ones(2, 1))]*4
learn = Learner((dl, dl), torch.nn.Linear(3, 1), torch.nn.functional.mse_loss)
def session(): return [*warnings.filters],warnings.showwarning,logging.root.level,[*logging.root.handlers],sys.excepthook,sys.displayhook
learn.fit(1)  # imports packages that add filters of their own
was = session()
learn.fit(2)
""", ours='learn.recorder.plot_loss();', theirs="""
import matplotlib.pyplot as plt
plt.plot([1, 2])
learn.fit(1)""", again='learn.recorder.plot_metrics();', own='plt.plot([2, 1]);', state="""
expected = {**plt.rcParamsDefault, 'interactive':True, 'figure.dpi':50, 'text.color':'navy', 'backend':plt.rcParams['backend']}
print({k for k,v in plt.rcParams.items() if v!=expected[k]}, plt.get_fignums(), [a for a,b in zip(session(), was, strict=True) if a!=b])""")

@pytest.mark.filterwarnings('ignore')
def test_a_notebook_shows_each_plot():
    "Ours, the user's, ours again: without a magic, in three cells; the settings of the session are the user's, too"
    with real_kernel(MPLBACKEND=None) as run:
        res = {k:run(v%(sys.path,) if k=='setup' else v) for k,v in CELLS.items()}
    assert {k:r['status'] for k,(r,_) in res.items()}==dict.fromkeys(CELLS, 'ok'), {k:r.get('traceback') for k,(r,_) in res.items()}
    pictures = {k:sum('image/png' in m['content'].get('data', ()) for m in msgs) for k,(_,msgs) in res.items()}
    assert pictures==dict(setup=0, ours=1, theirs=1, again=1, own=1, state=0)
    assert [m['content']['text'] for m in res['state'][1] if m['msg_type']=='stream']==['set() [] []\n']

@pytest.mark.parametrize('log', [False, True])
@pytest.mark.parametrize('size', [(6.4, 4.8), (3, 2)])
def test_no_legend_covers_a_line(size, log):
    g = torch.Generator().manual_seed(0)
    for n in 1,3:
        with plot_style(): ax = pyplot().subplots(figsize=size)[1]
        for i,o in enumerate([torch.tensor([.1, 2.]*20), *torch.rand(n, 40, generator=g)+.1]): ax.plot(o, label=f'curve {i}')
        if log: ax.set_yscale('log')
        draw_legend(ax)
        ax.figure.draw_without_rendering()
        box = ax.get_legend().get_window_extent()
        assert not any(o.get_path().transformed(o.get_transform()).intersects_bbox(box, filled=False) for o in ax.lines)
        plt.close(ax.figure)
