"Tables: every cell is in its column, in print and in Markdown, whatever it contains"
import pytest
from learnloop.measure.table import Table

ROWS = [['name', 'n', 'note'], ['a|b', '1,234', 'two\nlines'], ['<b>', '-.5e-3', None], ['', 7, 'x'*30]]

def test_columns_line_up():
    lines = str(Table(ROWS)).splitlines()
    assert len(Table([['a', 'bcd'], ['xyz', '1']]).__str__().splitlines())==2 and repr(Table(ROWS))==str(Table(ROWS))
    table = Table([['layer', 'n'], ['a', '10'], ['bc', '7']])
    assert str(table).splitlines()==['layer   n', 'a      10', 'bc      7'] and lines[0].startswith('name')

def test_cells_cannot_end_a_row():
    lines = Table(ROWS)._repr_markdown_().splitlines()
    assert len(lines)==len(ROWS)+1 and {o.replace('\\|', '').count('|') for o in lines}=={4} and not any('<' in o for o in lines)

def test_rows_of_different_lengths_are_an_error():
    with pytest.raises(ValueError, match='argument 2 is'): Table([['a', 'b'], ['1']])
