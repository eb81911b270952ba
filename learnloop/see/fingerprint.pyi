# Written by `python -m tools.stubs` from `fingerprint.py`: methods that other modules patch on are here, too
"""Hashes of each step, in some ninety bytes, by which two runs can be compared"""

from learnloop.loop.callback import Callback
from typing import Any
from typing import NamedTuple

__all__ = ['STREAMS', 'KINDS', 'FUSED', 'NO_STEP', 'CANCELLED', 'FAILED', 'hash_parts', 'tensor_hash', 'StepRow', 'pack_block', 'sound_blocks', 'FingerprintFile', 'read_fingerprint', 'Fingerprint']

STREAMS: tuple

KINDS: tuple

FUSED: int

NO_STEP: int

CANCELLED: int

FAILED: int

def hash_parts(tensors: Any, norms: bool=False) -> tuple:
    """Hash `tensors`, and wait for nothing

    - `tensors`: Of any kind, on any devices
    - `norms`: Their norms, too?

    Returns: Scalars on the devices: hashes that are to be folded, and norms of what is no whole number
    """

def tensor_hash(*tensors: Any) -> str:
    """Hash `tensors`, their shapes and types: bit for bit the same, or another hash

    - `tensors`: In an order that counts

    Returns: 16 hexadecimal digits
    """

class StepRow(NamedTuple):
    """What is known of a step of training: hashes, 0 for what wasn't there, and numbers"""
    step: Any
    epoch: Any
    flags: Any
    python: Any
    numpy: Any
    torch: Any
    device: Any
    hypers: Any
    lr: Any
    batch: Any
    prediction: Any
    loss: Any
    gradients: Any
    weights: Any
    buffers: Any
    state: Any
    loss_value: Any
    grad_norm: Any
    weight_norm: Any
    weight_sum: Any
    buffer_sum: Any
    state_sum: Any
    @property
    def streams(self) -> Any:
        """Hashes of the states of random numbers before the forward pass"""
    @property
    def hashes(self) -> Any:
        """Hashes of what `KINDS` has"""
    @property
    def after(self) -> Any:
        """Those of what the next step begins with"""
    @property
    def sums(self) -> Any:
        """What weights, buffers and the state added up to before the forward pass"""

def pack_block(kind: bytes, data: bytes) -> bytes:
    """Put a kind, a length and a checksum before `data`

    - `kind`: One letter
    - `data`: Contents
    """

def sound_blocks(data: bytes, start: int, kinds: bytes) -> Any:
    """Find the blocks in `data` whose checksums are right

    - `data`: Of a file
    - `start`: Where the first block begins
    - `kinds`: Letters of the kinds that there are
    """

class FingerprintFile:
    """What a `Fingerprint` wrote, read back"""
    path: Any
    size: Any
    abouts: list
    hypers: list
    tables: list
    before: dict
    _details: dict
    edits: list
    lost: int
    data: Any
    n_dropped: Any
    def __init__(self, data: bytes, path: Any='') -> None:
        """- `data`: All of it
        - `path`: Of the file, for messages
        """
    def __len__(self) -> Any: ...
    def __iter__(self) -> Any: ...
    def _gaps(self) -> Any: ...
    def row(self, i: Any) -> StepRow:  # see/fingerprint.py
        """Unpack a row

        - `i`: Its number, negative from the end

        Returns: With its fields by name
        """
    def when(self) -> list:  # see/fingerprint.py
        """Tell when there are details

        Returns: Pairs: step, and whether it is of the time after it
        """
    def detail(self, i: int) -> tuple:  # see/fingerprint.py
        """Read a detail: hashes of each tensor

        - `i`: Its number in `when`, negative from the end

        Returns: Step, whether it is of the time after it, and hashes by kind and name of the tensor
        """
    @property
    def about(self) -> Any:
        """What the run is"""

def read_fingerprint(path: Any, what: str='path') -> FingerprintFile:
    """Read what a `Fingerprint` wrote

    - `path`: The file, or the folder of a run
    - `what`: Name of the argument that has it, for the message
    """

class Fingerprint(Callback):
    """Note what each step of training was, as hashes, so that runs can be compared: see `diff_runs`"""
    order: Any
    run_valid: bool
    safe_in_evaluate: bool
    fit_only: bool
    remove_on_fetch: bool
    writes: bool
    read_only: bool
    rank_invariant: bool
    _size: Any
    _rest: bytes
    _last: Any
    _begun: bool
    _resumed: bool
    _warned: bool
    _row: Any
    _is_main: bool
    _run_file: Any
    _left: Any
    every_steps: Any
    detail: Any
    fname: Any
    _steps: list
    _tables: list
    _places: Any
    _seen: Any
    _hypers: Any
    _known: Any
    _now: Any
    _path: Any
    def __init__(self, every_steps: int=1, detail: int=100, fname: Any='fingerprint.bin') -> None:
        """- `every_steps`: Batches of training from one row to the next
        - `detail`: Batches from one detail, a hash of each tensor, to the next; what was noted is fetched then
        - `fname`: Below `learn.path`, unless it is absolute
        """
    def in_graph(self, event: Any) -> Any: ...
    def before_fit(self) -> Any: ...
    def before_train(self) -> Any: ...
    def cleanup_epoch(self) -> Any: ...
    def cleanup_fit(self) -> Any: ...
    def state_dict(self) -> Any: ...
    def load_state_dict(self, sd: Any) -> Any: ...
    def _begin(self, n: Any) -> Any:  # see/fingerprint.py
        """Begin the row of batch `n`, if it is to have one"""
    def before_batch(self) -> Any: ...  # see/fingerprint.py
    def _note_batch(self) -> Any: ...  # see/fingerprint.py
    def _state(self) -> Any:  # see/fingerprint.py
        """Pairs of name and tensor of parameters, of buffers, of the optimizer's state; what that has beside tensors"""
    def _versions(self, state: Any) -> Any:  # see/fingerprint.py
        """What is another value if something in `state` was replaced, or changed in place"""
    def _note_state(self, state: Any, when: Any='') -> Any:  # see/fingerprint.py
        """Hash what the next step begins with"""
    def _note_detail(self, state: Any, is_after: Any=True) -> Any:  # see/fingerprint.py
        """Hash each tensor of it"""
    def _leave(self, state: Any, step: Any) -> Any:  # see/fingerprint.py
        """Keep what the step left, so that a change before the next one can be told"""
    def _note_edits(self, state: Any, step: Any) -> Any:  # see/fingerprint.py
        """Note sums of `state`, and which tensor has changed since the last step"""
    def after_load(self) -> Any: ...  # see/fingerprint.py
    def _note_hypers(self) -> Any: ...  # see/fingerprint.py
    def after_step(self) -> Any: ...  # see/fingerprint.py
    def after_batch(self) -> Any: ...  # see/fingerprint.py
    def cleanup_batch(self) -> Any: ...  # see/fingerprint.py
    def _end(self) -> Any:  # see/fingerprint.py
        """Note what came of the batch"""
    def _keep(self) -> Any: ...  # see/fingerprint.py
    def cleanup_train(self) -> Any: ...  # see/fingerprint.py
    def _flush(self) -> Any:  # see/fingerprint.py
        """Fetch what was noted, and write it"""
    def _encode(self, steps: Any) -> Any:  # see/fingerprint.py
        """Blocks of rows, of states before them that nobody knows of yet, and of details"""
    def _extras(self, step: Any, hashes: Any) -> Any:  # see/fingerprint.py
        """Blocks of the details of `step`, and of hyper-parameters, if they are others by then"""
    def _start(self) -> Any:  # see/fingerprint.py
        """Have a file whose rows are those before now"""
    def _kept(self, data: Any, n: Any) -> Any:  # see/fingerprint.py
        """What of `data` is of the first `n` batches"""
