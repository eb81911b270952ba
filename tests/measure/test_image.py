"Images are drawn as given; the range is rescaled only if necessary"
import pytest, torch
from learnloop.measure.image import _stretch

@pytest.mark.parametrize('x,want', [([0., .5], [0., .5]), ([.25, .75], [.25, .75]), ([-1., 1.], [0., 1.]), ([0., 4.], [0., 1.]), ([2., 2.], [0., 0.]),
    ([-2., .5], [0., 1.])], ids=str)
def test_only_values_out_of_range_are_rescaled(x, want): assert _stretch(torch.tensor(x)).tolist()==want
