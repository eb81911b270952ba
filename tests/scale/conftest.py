"What tests of several processes share"
import pytest

@pytest.fixture(autouse=True)
def fast(monkeypatch):
    "Waiting for the disk is tested elsewhere; forks inherit this"
    monkeypatch.setattr('os.fsync', lambda fd: None)
