"Suggestions of `lr_find` have all digits, and show three"
import torch
from learnloop import SuggestionMethod, synth_learner

def test_three_digits():
    torch.manual_seed(0)
    learn = synth_learner(n_train=30)
    found = learn.lr_find(1e-4, show_plot=False, suggest_funcs=[SuggestionMethod.Valley, SuggestionMethod.Steep])
    lrs = learn.recorder.lr_finder.suggestions
    assert found._fields==('valley', 'steep') and found==(lrs['valley'][0], lrs['steep'][0])==(found.valley, found.steep)
    assert repr(found)==f'SuggestedLRs(valley={found.valley:.3g}, steep={found.steep:.3g})' and isinstance(found, tuple)
    assert 'lr' not in vars(learn) and found._replace(valley=1.).valley==1.
