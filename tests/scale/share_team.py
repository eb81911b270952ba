"Several processes in one: rank 0 goes first, and the others are told what it said"
import random, torch
from copy import deepcopy
from learnloop.scale.share import share

class Stand:
    "A team whose rank 0 writes down what it tells, for the others to read"
    def __init__(self, rank, world, said): self.rank,self.world,self.reply,self.i = rank,world,said,0
    is_first = property(lambda self: self.rank==0)
    def from_first(self, o):
        if not self.rank: self.reply.append(deepcopy(o))
        self.i += 1
        return deepcopy(self.reply[self.i-1])
    def gather(self, o): return [o]*self.world

def seed(n):
    random.seed(n)
    torch.manual_seed(n)

def each_rank(mk, world, f, training=True, per_process=False):
    "What `f` returns of the shared loader of each rank, of `mk()`, with random numbers of its own"
    said,res = [],[]
    for rank in range(world):
        seed(0 if rank==0 else 100+rank)
        team = Stand(rank, world, said)
        res.append(f(share(mk(), team, training, per_process), team))
        assert team.i==len(said)
    return res

def passes(n=2):
    "Makes a function that goes through a loader `n` times, and notes batches, sizes, the length and the checksum of each"
    def _f(dl, team):
        res = []
        for _ in range(n):
            batches,sizes = [],[]
            for i,b in enumerate(dl):
                batches.append(b)
                sizes.append(dl.n_items(i))
            res.append((batches, sizes, dl.crc))
            torch.rand(1+team.rank)  # the model draws
        return res
    return _f
