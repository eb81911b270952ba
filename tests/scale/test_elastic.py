"Processes that `torchrun` starts again"
import os, runpy, subprocess, sys
import torch
from pathlib import Path
from together import together

SCRIPT = Path(__file__).with_name('elastic_script.py')

def undisturbed(folder):
    sys.argv = [str(SCRIPT), str(folder), '0', '-1']
    os.environ['TORCHELASTIC_RESTART_COUNT'] = '0'
    runpy.run_path(str(SCRIPT), run_name='__main__')

def test_a_killed_process_is_started_again(tmp_path):
    "77: by torchrun, with all others, and goes on from the last checkpoint as if nothing had been"
    together(undisturbed, tmp_path)
    want,n,_ = torch.load(tmp_path/'done.pt')
    (tmp_path/'done.pt').unlink()
    folder = tmp_path/'killed'
    folder.mkdir()
    cmd = [sys.executable, '-m', 'torch.distributed.run', '--standalone', '--nproc-per-node=2', '--max-restarts=1',
        '--monitor-interval=.1', str(SCRIPT), str(folder), '0', '15']
    p = subprocess.run(cmd, capture_output=True, text=True, timeout=300, env=os.environ | dict(PYTHONWARNINGS='ignore'))
    assert p.returncode==0, p.stderr[-3000:]
    assert (folder/'killed').exists() and p.stdout.split()[-2:]==['restarts', '1']
    got,m,done = torch.load(folder/'done.pt')
    assert m==n==24 and done==12, 'from step 12 on, the last that was kept'
    assert all(map(torch.equal, got, want))
