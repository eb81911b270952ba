"Durations in the units that fit"
import pytest
from learnloop.measure.display import human_time

@pytest.mark.parametrize('s,want', [(59.96, '1 min'), (61, '1 min 1 s'), (3599, '59 min 59 s'), (3599.6, '1 h'), (3661, '1 h 1 min'),
    (86399, '1 d'), (90_000, '1 d 1 h'), (864_000, '10 d')])
def test_two_units(s, want): assert human_time(s)==want
