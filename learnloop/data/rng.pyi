# Written by `python -m tools.stubs` from `rng.py`: methods that other modules patch on are here, too
"""Leaving no trace: seeds, states that are put back, a stream of its own for each evaluation"""

from contextlib import contextmanager
from typing import Any

__all__ = ['set_seed', 'all_rngs', 'read_rngs', 'write_rngs', 'same_states', 'preserve_rng', 'no_random', 'branch_rngs', 'own_stream']

def set_seed(s: int, reproducible: bool=False) -> Any:
    """Seed Python, torch on all devices, and NumPy if it is imported

    - `s`: Seed, from 0 to 2**32-1 for NumPy's sake
    - `reproducible`: Only deterministic algorithms, too? Slower; an operation that has none is an error
    """

def all_rngs(dls: Any=()) -> Any:
    """Go through all random number generators that a fit may draw from

    - `dls`: Loaders whose own generators are wanted as well
    """

def read_rngs(dls: Any=()) -> dict:
    """Read the states of all random number generators

    - `dls`: Loaders whose own generators are read as well

    Returns: State by name
    """

def write_rngs(states: dict, dls: Any=()) -> Any:
    """Set the generators that are there to their `states`

    - `states`: What `read_rngs` returned
    - `dls`: The loaders that it was given
    """

def same_states(a: Any, b: Any) -> bool:
    """Whether `a` and `b` are equal

    - `a`: A state of a generator, or states by name
    - `b`: Another one
    """

@contextmanager
def preserve_rng(*dls: Any) -> Any:
    """Put the state of all random number generators back on exit, whatever happened, and the number of evaluations

    - `dls`: Loaders whose own generators are put back as well
    """

@contextmanager
def no_random(seed: int=42) -> Any:
    """Run a `with` block with a seed of its own, and put all generators back after it

    - `seed`: What is seeded with, inside
    """

def branch_rngs(n: int, own: Any=()) -> Any:
    """Go on with other random numbers, in torch on the CPU, Python and NumPy, told apart by `n`

    - `n`: Number of the branch
    - `own`: More generators that branch off
    """

@contextmanager
def own_stream(*dls: Any) -> Any:
    """Draw other random numbers inside a `with` block, new ones in each, and put all states back on exit

    - `dls`: Loaders whose own generators do as well
    """
