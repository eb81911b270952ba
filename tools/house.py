"""The house in figures: its wings, what crosses between them, what is hidden, and how it is laid out

`python -m tools.house` prints them, `--against FILE` compares with figures that were kept, and fails if one got worse."""
from pathlib import Path

ROOT,PKG = Path(__file__).parents[1],'learnloop'
# The architecture, in one place: imports go down this list only
WINGS = dict(
    app     = 'what runs from a shell',
    see     = 'looking at a run',
    interop = 'callbacks of other systems',
    scale   = 'more than one process, less than one interpreter',
    keep    = 'nothing lost',
    train   = 'what changes training',
    measure = 'numbers about it',
    loop    = 'the loop itself')
