"""Time several ways of training in turns, within one fit each

To time whole fits one after the other would measure the machine, whose other load changes within seconds. So each way trains in its own thread, over a loader
that stops after a chunk of about 20 ms and lets the next way continue; only one of them runs at any time. Each chunk is compared with the first way's
chunk of the same round. The clock is the CPU time of the process, so that helper threads count, too.

A way is a function of `(tick, n)`. It trains on `n` batches, over a loader that calls `tick()` before it makes a batch. `LOADERS` makes such loaders with the
types that people use, because a library may treat each type differently.
"""
import gc, random, threading, time, torch
from functools import partial
from statistics import median
from torch.utils.data import DataLoader, Dataset, TensorDataset

CHUNK = .02   # Approximate CPU seconds of the first way
WARM = 3      # Chunks that don't count: first steps, compilation, and first comparisons of graphs

class Stopped(Exception):
    "Ends a way because another one failed"

class Lane:
    "A way of training, and its turns"
    def __init__(self, name, way, relay):
        self.name,self.way,self.relay = name,way,relay
        self.may_go,self.secs,self.left,self.is_over = threading.Semaphore(0),[],1,False
    def tick(self):
        "Count a requested batch; after a chunk of them, let the next way continue"
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
    "Ways of training that take turns"
    def __init__(self, ways, n_chunks, per):
        self.n_chunks,self.per,self.n,self.error = n_chunks,per,n_chunks*per+1,None  # the last batch ends the last chunk
        self.threads = torch.get_num_threads()
        self.lanes = [Lane(k, f, self) for k,f in ways.items()]
    def pass_on(self, lane):
        "Let the next unfinished lane continue"
        i = self.lanes.index(lane)
        for o in (*self.lanes[i+1:], *self.lanes[:i+1]):
            if not o.is_over: return o.may_go.release()
    def run(self):
        threads = [threading.Thread(target=o.run, name=o.name, daemon=True) for o in self.lanes]
        for t in threads: t.start()
        self.lanes[0].may_go.release()
        for t in threads: t.join()
        if self.error is not None: raise self.error
        return {o.name:o.secs[1:self.n_chunks+1] for o in self.lanes}  # time before the first batch is set-up

def race(
    ways:dict,     # Functions of `(tick, n)`, by name
    n_chunks:int,  # Measured chunks of each way
    per:int,       # Batches of a chunk
    warm:int=WARM  # Chunks before them
)->dict: # Seconds of each chunk, by name
    "Let `ways` train in turns, a chunk each"
    gc.collect()
    gc.freeze()  # collections would visit all imported objects
    try: res = Relay(ways, warm+n_chunks, per).run()
    finally: gc.unfreeze()
    return {k:v[warm:] for k,v in res.items()}

def ratios(
    ways:dict,    # Functions of `(tick, n)`, by name; the others are compared with the first
    n_chunks:int, # Chunks of each way in a round
    per:int,      # Batches of a chunk
    rounds:int,   # Fits of each way
    order:random.Random, # Draws the order of turns; every second round reverses the order of the previous one
    **kwargs      # For `race`
)->dict: # Ratios of all chunks, by name
    "Let `ways` race `rounds` times; compare each chunk with the first way's chunk of the same turn"
    base,res,names = next(iter(ways)),{k:[] for k in ways},[*ways]
    for i in range(rounds):
        # there and back, because the previous way affects the processor's caches
        names = names[::-1] if i%2 else order.sample(names, len(names))
        secs = race({k:ways[k] for k in names}, n_chunks, per, **kwargs)
        for k,v in secs.items(): res[k] += [a/b for a,b in zip(v, secs[base], strict=True)]
    return res

def fitting(way, n=10, chunk=CHUNK):
    "Return how many batches `way` trains on in `chunk` seconds"
    while True:
        secs = median(race(dict(one=way), 3, n, warm=1)['one'])
        if secs>=chunk/8 or n>=10_000: return max(1, round(chunk*n/secs))
        n *= 4

# ---- loaders that tick

class Cycled(list):
    "A list of `n` batches: repetitions of `batches`"
    def __init__(self, batches, n, tick):
        super().__init__(batches[i%len(batches)] for i in range(n))
        self.tick = tick
    def __iter__(self):
        for b in super().__iter__():
            self.tick()
            yield b

class Generated:
    "Batches from a new generator in each epoch"
    def __init__(self, batches, tick): self.batches,self.tick = batches,tick
    def __iter__(self):
        for b in self.batches:
            self.tick()
            yield b

class Items(Dataset):
    "A typical custom dataset"
    def __init__(self, xs, ys): self.xs,self.ys = xs,ys
    def __len__(self): return len(self.xs)
    def __getitem__(self, i): return self.xs[i],self.ys[i]

def ready(batches, n, tick):
    "Make a `DataLoader` of ready-made batches, for libraries that require one"
    def collate(b):
        tick()
        return b[0]
    return DataLoader([batches[i%len(batches)] for i in range(n)], batch_size=1, collate_fn=collate)

def of_items(cls, batches, n, tick):
    "Make a shuffling `DataLoader` over a data set of class `cls` with the items of `batches`"
    xs,ys = (torch.cat([b[k] for b in batches]).repeat(-(-n//len(batches)), *[1]*(batches[0][k].dim()-1)) for k in (0, 1))
    bs = len(batches[0][0])
    ds = cls(xs[:n*bs], ys[:n*bs])
    def getitems(idxs):  # as torch's fetcher does for a data set without such a method
        tick()
        return [ds[i] for i in idxs]
    ds.__getitems__ = getitems  # set on the object, so that libraries see the original class
    return DataLoader(ds, batch_size=bs, shuffle=True)

def of_tensors(batches, n, tick):
    "Make the loader of `DataLoaders.from_tensors` for the same rows"
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
