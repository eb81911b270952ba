"torchrun accepts the commands of the page on clusters, and the page's SLURM script works as it says"
import os, re, shlex, signal, subprocess
from pathlib import Path
import pytest
from fastcore.nbio import read_nb
from together import LIMIT
from torch.distributed.run import get_args_parser

PAGE = '\n'.join(c.source for c in read_nb(Path(__file__).parents[2]/'nbs/explanations/01_clusters.ipynb').cells)
SHELL = re.findall(r'^```sh\n(.*?)^```', PAGE, flags=re.M|re.S)
SLURM, = (o for o in SHELL if '#SBATCH' in o)
COMMANDS = [shlex.split(l.partition('torchrun ')[2], comments=True) for o in SHELL for l in o.replace('\\\n', ' ').splitlines() if 'torchrun ' in l]

@pytest.mark.parametrize('args', COMMANDS, ids=' '.join)
def test_torchrun_accepts_each_command(args):
    opts = get_args_parser().parse_args([o for o in args if o!='&'])
    assert opts.training_script=='train.py' and opts.training_script_args==[] and (opts.standalone or opts.rdzv_backend=='c10d')

def test_torchrun_has_the_options_that_the_page_names():
    named = set(re.findall(r'`torchrun (--[\w-]+)', PAGE)) | set(re.findall(r'`(--(?:nnodes|max-restarts|shutdown-timeout|rdzv-id|signals-to-handle|local-ranks-filter|log-dir)\b)', PAGE))
    assert len(named)>=7 and named<=set(get_args_parser()._option_string_actions)

# Replacements for SLURM's commands: each logs its arguments
FAKES = dict(scontrol='echo "$@" >> log; [ "$1" = show ] && echo host0; true', scancel='echo "$@" >> log; kill -TERM "$(cat pid)"',
    srun='echo "$@" >> log\ntrap \'kill $!; exit 143\' TERM\necho $$ > pid\n[ -e status ] && exit "$(cat status)"\nsleep 60 &\necho > ready\nwait')

@pytest.fixture
def job(tmp_path):
    "Return a function that starts the page's script; reading `ready` waits until training has begun"
    for k,text in FAKES.items():
        (tmp_path/k).write_text(f'#!/bin/sh\n{text}\n')
        (tmp_path/k).chmod(0o755)
    os.mkfifo(tmp_path/'ready')
    env = os.environ | dict(PATH=f'{tmp_path}:{os.environ["PATH"]}', SLURM_JOB_ID='17', SLURM_NNODES='4', SLURM_JOB_NODELIST='host[0-3]')
    started = []
    def _start(**files):
        for k,v in files.items(): (tmp_path/k).write_text(v)
        started.append(subprocess.Popen(['bash', '-c', SLURM], cwd=tmp_path, env=env))
        return started[0]
    yield _start
    for p in started:
        p.kill()
        p.wait()

def test_a_job_whose_time_is_up_saves_and_is_queued_again(job, tmp_path):
    p = job()
    (tmp_path/'ready').read_text()
    p.send_signal(signal.SIGUSR1)
    assert p.wait(LIMIT)==0
    show,run,cancel,requeue = (tmp_path/'log').read_text().splitlines()
    assert 'host[0-3]' in show and '--rdzv-endpoint host0:29400' in run and '--rdzv-id 17-0' in run and '--nnodes 4' in run
    assert (cancel, requeue)==('--signal=TERM 17.0', 'requeue 17')

@pytest.mark.parametrize('status', ['0', '3'])
def test_a_job_that_ends_by_itself_is_not_queued_again(status, job, tmp_path):
    assert job(status=status).wait(LIMIT)==int(status)
    assert 'requeue' not in (tmp_path/'log').read_text()
