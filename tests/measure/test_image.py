"Images: what is drawn is what was given, its range stretched only if it has to be"
import pytest, torch
from learnloop.measure.image import is_image, stretch, to_pil

@pytest.mark.parametrize('x,want', [([0., .5], [0., .5]), ([.25, .75], [.25, .75]), ([-1., 1.], [0., 1.]), ([0., 4.], [0., 1.]), ([2., 2.], [0., 0.]),
    ([-2., .5], [0., 1.])], ids=str)
def test_only_what_goes_beyond_is_stretched(x, want): assert stretch(torch.tensor(x)).tolist()==want

@pytest.mark.parametrize('dtype', [torch.uint8, torch.int64, torch.float16, torch.bool], ids=str)
def test_any_type_and_nothing_written_into(dtype):
    x = torch.tensor([[[0, 1], [2, 3]]]).to(dtype)
    before = x.clone()
    img = to_pil(x)
    assert torch.equal(x, before) and img.mode=='L' and img.size==(2, 2)
    assert list(img.tobytes())=={torch.uint8:[0, 1, 2, 3], torch.bool:[0, 255, 255, 255]}.get(dtype, [0, 85, 170, 255])

def test_channels_and_odd_values():
    x = torch.zeros(3, 2, 4)
    x[0] = 1.
    assert to_pil(x).mode=='RGB' and to_pil(x).getpixel((0, 0))==(255, 0, 0) and to_pil(x.numpy()).size==(4, 2)
    assert list(to_pil(torch.tensor([[[.5, float('nan')]]])).tobytes())==[128, 0]
    assert is_image(x) and not is_image(x[0]) and not is_image(x[:2]) and not is_image('x') and not is_image(x[:,:1])
