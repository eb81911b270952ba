"Durations in the units that fit"
import pytest
from learnloop.measure.display import human_time

@pytest.mark.parametrize('s,want', [(0, '0 µs'), (1e-9, '0.00 µs'), (9.99e-6, '9.99 µs'), (9.996e-6, '10.0 µs'), (9.994e-4, '999 µs'),
    (9.9951e-4, '1.00 ms'), (.09994, '99.9 ms'), (.0999501, '100 ms'), (.99951, '1.00 s'), (59.94, '59.9 s'), (None, '')])
def test_three_digits(s, want): assert human_time(s)==want
