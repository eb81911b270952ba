"The comparison of two versions of the package: it finds moved modules, detects differences, and reads figures correctly"
import sys
from importlib import import_module
import pytest, torch
from benchmarks import same, versions
from benchmarks.overhead import version_row

def test_modules_that_moved_are_found_by_their_contents(monkeypatch):
    monkeypatch.setattr(sys, 'meta_path', [*sys.meta_path, versions.FindMoved()])
    moved = import_module('learnloop.nowhere.moved')
    assert (moved.EMA.__module__, moved.cnn.__module__)==('learnloop.train.averaging', 'learnloop.app.demo')
    with pytest.raises(AttributeError, match='nowhere in learnloop'): _ = moved.nothing_of_that_name
    for k in [o for o in sys.modules if o.startswith('learnloop.nowhere')]: del sys.modules[k]

def test_another_version_is_refused(tmp_path):
    versions.check_home(versions.ROOT)
    with pytest.raises(SystemExit, match='should be in'): versions.check_home(tmp_path)

T = torch.tensor
@pytest.mark.parametrize('a,b,want', [
    (dict(losses=T([1., 2.])), dict(losses=T([1., 2.])), ''), (dict(losses=T([1., 2.])), dict(losses=T([1., 2.+1e-6])), 'losses'),
    (dict(a=T([1.])), dict(a=T([1.]), b=T([1.])), 'b'), (dict(a=[T([1.])]), dict(a=[T([1.]), T([1.])]), 'a'), (dict(a=T([torch.nan])), dict(a=T([torch.nan])), ''),
    (dict(a=T([torch.nan])), dict(a=T([0.])), 'a'), (dict(a=T([1.])), dict(a=T([1.]).double()), 'a'), (dict(a=T([1., 1.])), dict(a=T([[1., 1.]])), 'a')])
def test_differences_are_seen(a, b, want): assert same.differs(a, b)==want

def test_rounds_are_compared_in_pairs():
    def _rounds(*steps): return [dict(raw=10., step=s, fit=1., weights='00') for s in steps]
    row = version_row('tiny', 0, _rounds(10, 20, 30), _rounds(11, 21, 31))
    assert row==['tiny', '20.0', '21.0', '2.000', '2.100', '+0.100', '+0.100 … +0.100', '1.0', '1.0', 'exactly']
    assert version_row('tiny', 5, _rounds(10), [dict(_rounds(10)[0], weights='01')])[-1]=='NO'
