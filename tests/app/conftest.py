"Fixtures for the tests of the command"
import pytest, torch
from learnloop.app import cli

@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    "A folder without settings, and one thread: several that wait for each other are slow where other tests run, too"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv('OMP_NUM_THREADS', '1')
    n = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(n)

@pytest.fixture
def run(capsys):
    "Run the command in this process: exit status, output and errors"
    def _f(*args):
        try: cli.main([*map(str, args)])
        except SystemExit as e: res = e.code
        else: res = 0
        return res, *capsys.readouterr()
    return _f
