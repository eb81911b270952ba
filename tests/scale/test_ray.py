"Workers of Ray Train train together in Ray's process group"
import importlib.util, os, subprocess, sys
import pytest
from pathlib import Path
from together import LIMIT

@pytest.mark.skipif(not importlib.util.find_spec('ray'), reason="ray isn't installed: pip install 'learnloop[ray]'")
def test_two_workers_of_ray(tmp_path):
    "They train together, and Ray gets their checkpoint"
    cmd = [sys.executable, str(Path(__file__).with_name('ray_script.py')), str(tmp_path)]
    env = os.environ | dict(PYTHONWARNINGS='ignore', RAY_USAGE_STATS_ENABLED='0', RAY_AUTH_MODE='disabled')
    p = subprocess.run(cmd, capture_output=True, text=True, timeout=LIMIT, env=env)
    assert p.returncode==0, p.stderr[-3000:]
    assert p.stdout.split()[-3:]==['0', '48', 'True']
    assert (tmp_path/'after 1.pt').exists() and any((tmp_path/'run').iterdir())
