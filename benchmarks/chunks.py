"""Ways of training, timed in turns within one fit each

Whole fits in turn measure the machine: what else it does changes within seconds. So each way trains in a thread of its own, over a loader that
stops after a chunk of some 20 ms, and lets the next way go on: exactly one of them runs at any time. Each chunk is compared with the chunk of
the first way in the same round, a moment ago. The clock is the CPU time of the process, so that helpers' threads count, too.

A way is a function of `(tick, n)`. It trains on `n` batches, over a loader that calls `tick()` before it makes one. `Ticking` makes such
loaders of those that people have, of the same types, as a library may treat these each in its own way.
"""
import gc, random, threading, time, torch
from functools import partial
from statistics import median
from torch.utils.data import DataLoader, Dataset, TensorDataset

CHUNK = .02   # Seconds of CPU time of the first way, about
WARM = 3      # Chunks before those that count: first steps, graphs being built, and the first comparisons of these

class Stopped(Exception):
    "Ends a way since another one failed"

class Lane:
    "One way, and its turns"
    def __init__(self, name, way, relay):
        self.name,self.way,self.relay = name,way,relay
        self.may_go,self.secs,self.left,self.is_over = threading.Semaphore(0),[],1,False
    def tick(self):
        "A batch is asked for: after a chunk of them, have the next way go on"
        self.left -= 1
        if self.left: return
        self.secs.append(time.process_time()-self.start)
        self.left = self.relay.per
        self.relay.pass_on(self)
        self.wait()
    def wait(self):
        self.may_go.acquire()
        if self.relay.error is not None: raise Stopped
        self.start = time.process_time()
    def run(self):
        try:
            torch.set_num_threads(self.relay.threads)
            self.wait()
            self.way(self.tick, self.relay.n)
            if len(self.secs)<=self.relay.n_chunks: raise RuntimeError(f'made {len(self.secs)-1} chunks of {self.relay.n_chunks}')
        except BaseException as e:
            if self.relay.error is None:
                e.add_note(f'in {self.name}')
                self.relay.error = e
        finally:
            self.is_over = True
            self.relay.pass_on(self)

class Relay:
    "Ways that take turns"
    def __init__(self, ways, n_chunks, per):
        self.n_chunks,self.per,self.n,self.error = n_chunks,per,n_chunks*per+1,None  # the last batch ends the last chunk
        self.threads = torch.get_num_threads()
        self.lanes = [Lane(k, f, self) for k,f in ways.items()]
    def pass_on(self, lane):
        "Have the next lane go on that isn't over"
        i = self.lanes.index(lane)
        for o in (*self.lanes[i+1:], *self.lanes[:i+1]):
            if not o.is_over: return o.may_go.release()
    def run(self):
        threads = [threading.Thread(target=o.run, name=o.name, daemon=True) for o in self.lanes]
        for t in threads: t.start()
        self.lanes[0].may_go.release()
        for t in threads: t.join()
        if self.error is not None: raise self.error
        return {o.name:o.secs[1:self.n_chunks+1] for o in self.lanes}  # before the first batch is set-up

def race(
    ways:dict,     # Functions of `(tick, n)`, by name
    n_chunks:int,  # Chunks of each that count
    per:int,       # Batches of a chunk
    warm:int=WARM  # Chunks before those
)->dict: # Seconds of each chunk, by name
    "Have `ways` train in turns, a chunk each, round and round"
    gc.collect()
    gc.freeze()  # collections would walk through all that was imported
    try: res = Relay(ways, warm+n_chunks, per).run()
    finally: gc.unfreeze()
    return {k:v[warm:] for k,v in res.items()}

def ratios(
    ways:dict,    # Functions of `(tick, n)`, by name; the first is what the others are compared with
    n_chunks:int, # Chunks of each in a round
    per:int,      # Batches of a chunk
    rounds:int,   # Fits of each
    order:random.Random, # Draws in which order they take turns; every other round has that of the one before, reversed
    **kwargs      # For `race`
)->dict: # Ratios of all chunks, by name
    "Have `ways` race `rounds` times; compare each chunk with that of the first way in the same turn"
    base,res,names = next(iter(ways)),{k:[] for k in ways},[*ways]
    for i in range(rounds):
        # there and back: what a way leaves in the processor's caches depends on which one went before
        names = names[::-1] if i%2 else order.sample(names, len(names))
        secs = race({k:ways[k] for k in names}, n_chunks, per, **kwargs)
        for k,v in secs.items(): res[k] += [a/b for a,b in zip(v, secs[base], strict=True)]
    return res

def fitting(way, n=10, chunk=CHUNK):
    "So many batches make a chunk: those that `way` needs `chunk` seconds for"
    while True:
        secs = median(race(dict(one=way), 3, n, warm=1)['one'])
        if secs>=chunk/8 or n>=10_000: return max(1, round(chunk*n/secs))
        n *= 4

# ---- loaders that tick

class Cycled(list):
    "A list of `n` batches: those of `batches`, again and again"
    def __init__(self, batches, n, tick):
        super().__init__(batches[i%len(batches)] for i in range(n))
        self.tick = tick
    def __iter__(self):
        for b in super().__iter__():
            self.tick()
            yield b

class Generated:
    "Batches from a generator, anew in each epoch"
    def __init__(self, batches, tick): self.batches,self.tick = batches,tick
    def __iter__(self):
        for b in self.batches:
            self.tick()
            yield b

class Items(Dataset):
    "A dataset as people write it"
    def __init__(self, xs, ys): self.xs,self.ys = xs,ys
    def __len__(self): return len(self.xs)
    def __getitem__(self, i): return self.xs[i],self.ys[i]

def ready(batches, n, tick):
    "A `DataLoader`, as some libraries insist on one, which hands out ready-made batches"
    def collate(b):
        tick()
        return b[0]
    return DataLoader([batches[i%len(batches)] for i in range(n)], batch_size=1, collate_fn=collate)

def of_items(cls, batches, n, tick):
    "A shuffling `DataLoader` over a data set of class `cls` with the items of `batches`"
    xs,ys = (torch.cat([b[k] for b in batches]).repeat(-(-n//len(batches)), *[1]*(batches[0][k].dim()-1)) for k in (0, 1))
    bs = len(batches[0][0])
    ds = cls(xs[:n*bs], ys[:n*bs])
    def getitems(idxs):  # as torch's fetcher does for a data set without such a method
        tick()
        return [ds[i] for i in idxs]
    ds.__getitems__ = getitems  # of the object: its class stays what a library knows
    return DataLoader(ds, batch_size=bs, shuffle=True)

def of_tensors(batches, n, tick):
    "What `DataLoaders.from_tensors` makes of the same rows"
    from learnloop import DataLoaders
    dl = DataLoaders.from_tensors(of_items(TensorDataset, batches, n, tick).dataset.tensors, bs=len(batches[0][0])).train
    def begin(self):
        for b in super(type(self), self).__iter__():
            tick()
            yield b
    dl.__class__ = type('Ticking', (type(dl),), dict(__iter__=begin))
    return dl

# By name, functions of `(batches, n, tick)`
LOADERS = {'list': Cycled, 'DataLoader of batches': ready, 'TensorDataset': partial(of_items, TensorDataset), 'own Dataset': partial(of_items, Items),
    'generator': lambda batches, n, tick: Generated(Cycled(batches, n, noop), tick), 'tensors in memory': of_tensors}
def noop(*args, **kwargs): pass
