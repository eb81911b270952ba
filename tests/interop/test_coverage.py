"Stand-ins for trainers: which attributes of the real trainers they have, and which they refuse"
import pytest
from learnloop.app.synth import synth_learner
from learnloop.interop import as_cb, coverage
from learnloop.interop.core import Coverage, Facade, adapters, _compare_names, name_rows, replacements
from learnloop.interop.transformers import TrainerCallback

class StandIn(Facade):
    system,_called,shares = 'Example','Trainer',True
    refused = dict(fit='call learn.fit(n) yourself', xyz='', epoks='there are learn.epoch and learn.n_epoch')
    @property
    def epoch(self): return self.learn.epoch
    @property
    def fails(self): raise RuntimeError('no fit')

@pytest.fixture
def stand_in(): return StandIn(synth_learner())

def test_what_is_refused_cannot_be_set(stand_in):
    with pytest.raises(AttributeError, match='setting it would change nothing: call learn.fit'): stand_in.fit = 1
    stand_in.shared = 1
    assert stand_in.shared==1 and not hasattr(stand_in, 'fit')

def test_each_name_is_there_or_refused_or_neither(stand_in):
    class Theirs:
        epoch,fails,fit,loss = 0,0,0,0
    assert _compare_names(Theirs, stand_in)==(['epoch', 'fails'], ['fit'], ['loss'])  # a property that fails now is there
    cov = Coverage({'Trainer': _compare_names(Theirs, stand_in), 'Other': ([], [], [f'n{i}' for i in range(14)])})
    assert cov.n_neither==15 and 'n11, …' in str(cov) and 'n12' not in str(cov) and len(cov.parts['Other']['neither'])==14

def test_each_refused_name_of_the_table_is_refused_by_a_stand_in():
    def _below(cls): return [o for c in cls.__subclasses__() for o in (c, *_below(c))]
    [*adapters()]
    stand_ins = _below(Facade)
    for system,kind in name_rows():
        if not kind.startswith('no ') or kind=='no hooks' or system=='skorch': continue  # these are no Facades
        names = set(replacements(system, kind))
        assert any(o.system==system and names<=set(o.refused) for o in stand_ins), (system, kind)

def test_an_unknown_system():
    with pytest.raises(ValueError, match="system is 'keros': it must be one of"): coverage('keros')

# ---- callbacks of two systems

class Reports:
    "What another package's callbacks derive from, too"
    def on_run_initialized(self): pass

def mixed(name):
    def hook(self, *args, **kwargs): pass
    return type('Mixed', (Reports, TrainerCallback), {name:hook})

def test_hooks_of_a_mixin_are_its_own():
    cb = as_cb(mixed('on_run_initialized')())
    assert cb.hears('on_run_initialized') and not cb.hears('on_log')
    with pytest.raises(TypeError, match='on_lag is not a hook of transformers; did you mean .on_log'): as_cb(mixed('on_lag')())
