"One process reads files that two processes wrote together"
import json, torch
from together import together
from learnloop.checkpoint.shards import read_shards
from learnloop.scale.sharded import write_shards
from learnloop.scale.team import find_team

SIZES = dict(even=(4, 3), uneven=(5, 2), few=(1, 2))

def whole(nm): return torch.arange(float(torch.Size(SIZES[nm]).numel())).reshape(SIZES[nm])

def write(folder):
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Shard, distribute_tensor
    team,mesh = find_team(),init_device_mesh('cpu', (2,))
    tensors = {nm:distribute_tensor(whole(nm), mesh, [Shard(0)]) for nm in SIZES} | dict(step=torch.tensor(7), half=torch.ones(2).bfloat16())
    return write_shards(folder, tensors, team)

def test_one_process_reads_tensors_of_two(tmp_path):
    files = together(write, tmp_path)
    assert files[0]==files[1] and {'shards.json', '__0_0.distcp', '__1_0.distcp'}<={*files[0]}
    assert {nm:(tmp_path/nm).stat().st_size for nm in files[0]}=={nm:o['size'] for nm,o in files[0].items()}
    assert {o.name for o in tmp_path.iterdir()}=={*files[0]}  # nothing else: no table that is a pickle
    again = read_shards(tmp_path)
    assert all(torch.equal(again[nm], whole(nm)) for nm in SIZES) and again['step']==7 and again['half'].dtype==torch.bfloat16
    rows = {c['file']:c['sizes'][0] for c in json.loads((tmp_path/'shards.json').read_text())['uneven']['chunks']}
    assert rows=={'__0_0.distcp':3, '__1_0.distcp':2}
