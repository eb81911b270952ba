"Tensors in parts: found in a state, put back, and read from files, of which none runs code"
import io, json, pickle, zipfile
import pytest, torch
from copy import deepcopy
from hypothesis import given, settings, strategies as st
from learnloop.checkpoint.shards import copy_state, digests, find_own, put_own, put_shards, read_shards, take_shards
from learnloop.checkpoint.storage import DamagedCheckpoint

class Cut(torch.Tensor):
    "A tensor that says it is one of several parts"
    def full_tensor(self): return self.as_subclass(torch.Tensor)

def cut(*vals): return torch.tensor(vals).as_subclass(Cut)

def test_shards_are_put_back_in_their_places():
    plain = torch.arange(2)
    state = {'a':{'b.c':cut(1., 2.), 'b':{'c':cut(3.)}}, 'l':[cut(4.), 'x', (plain,)]}
    rest = take_shards(state)
    shards = rest.pop('shards')
    assert [*shards]==['a.b.c', "a.b.c'", 'l.0'] and rest['l'][1:]==['x', (plain,)]
    again = put_shards(rest, {k:v.full_tensor() for k,v in shards.items()})
    assert torch.equal(again['a']['b.c'], torch.tensor([1., 2.])) and torch.equal(again['a']['b']['c'], torch.tensor([3.]))
    assert torch.equal(again['l'][0], torch.tensor([4.])) and again['l'][2][0] is plain
    with pytest.raises(DamagedCheckpoint, match="refers to 'l.0', but no file"): put_shards(rest, {k:v for k,v in shards.items() if k!='l.0'})

def write(folder, rows=((0, 2), (2, 1)), **changes):
    "Files of a tensor of three rows, in parts by first row and number, and their table with `changes` of the tensor's facts"
    t,chunks = torch.arange(6.).reshape(3, 2),[]
    for i,(first,n) in enumerate(rows):
        f = io.BytesIO()
        torch.save(t[first:first+n].clone(), f)
        (folder/f'__{i}_0.distcp').write_bytes(b'..' + f.getvalue())
        chunks.append(dict(offsets=[first, 0], sizes=[n, 2], file=f'__{i}_0.distcp', start=2, length=len(f.getvalue())))
    (folder/'shards.json').write_text(json.dumps(dict(w=dict(dtype='float32', size=[3, 2], chunks=chunks) | changes)))
    return t

@pytest.mark.parametrize('rows', [((0, 3),), ((0, 2), (2, 1)), ((2, 1), (0, 1), (1, 1))])
def test_any_parts_make_the_tensor(rows, tmp_path): assert torch.equal(write(tmp_path, rows), read_shards(tmp_path)['w'])

@pytest.mark.parametrize('changes,why', [(dict(dtype='save'), "dtype 'save'"), (dict(size=[4, 2]), 'parts of another size'),
    (dict(chunks=3), 'chunks is 3'), (dict(more=1), "'more'")])
def test_a_table_that_makes_no_sense_is_refused(changes, why, tmp_path):
    write(tmp_path, **changes)
    with pytest.raises(DamagedCheckpoint, match=why): read_shards(tmp_path)

def test_a_file_that_is_missing_outside_or_another_is_refused(tmp_path):
    write(tmp_path)
    (tmp_path/'__1_0.distcp').unlink()
    with pytest.raises(DamagedCheckpoint, match="names '__1_0.distcp', which does not exist"): read_shards(tmp_path)
    (tmp_path/'__1_0.distcp').write_bytes((tmp_path/'__0_0.distcp').read_bytes())
    with pytest.raises(DamagedCheckpoint, match='has no part of w'): read_shards(tmp_path)
    table = json.loads((tmp_path/'shards.json').read_text())
    table['w']['chunks'][1]['file'] = '../elsewhere'
    (tmp_path/'shards.json').write_text(json.dumps(table))
    with pytest.raises(DamagedCheckpoint, match='elsewhere'): read_shards(tmp_path)
    (tmp_path/'shards.json').write_text('{')
    with pytest.raises(DamagedCheckpoint, match='unreadable'): read_shards(tmp_path)

class Evil:
    def __reduce__(self): return print, ('code ran',)

def test_case_51_a_pickle_in_a_file_is_not_executed(tmp_path, capsys):
    write(tmp_path)
    b = io.BytesIO()
    torch.save(Evil(), b)
    for evil in (b.getvalue(), pickle.dumps(Evil())):
        (tmp_path/'__1_0.distcp').write_bytes(b'..' + evil)
        table = json.loads((tmp_path/'shards.json').read_text())
        table['w']['chunks'][1]['length'] = len(evil)
        (tmp_path/'shards.json').write_text(json.dumps(table))
        with pytest.raises(DamagedCheckpoint, match='has no part of w'): read_shards(tmp_path)
    assert not capsys.readouterr().out

# ---- what a process has for itself

TENSORS = [torch.tensor(1.), torch.tensor([1., 2.]), torch.tensor([1., 2.]).bfloat16(), torch.tensor([1, 2]), torch.tensor([True]),
    torch.arange(6.).reshape(2, 3).T, torch.tensor([[0., 1.], [0., 0.]]).to_sparse(), torch.tensor([1+2j]), torch.empty(0), torch.empty(0, 1)]
values = st.sampled_from([None, 0, False, 1, 1., .5, float('nan'), 'a', '', (), [], (1,), [1], {2}, {1:0}, [torch.ones(1)], *TENSORS])
states = st.dictionaries(st.sampled_from('abc'), st.recursive(values, lambda o: st.dictionaries(st.sampled_from('abc'), o, max_size=3), max_leaves=6), max_size=3)

def said(o):
    "All of `o` as text, so that NaN is equal to itself, and 1 isn't to True"
    if isinstance(o, torch.Tensor): return f'{o.dtype}{[*o.shape]}{o.layout}{o.to_dense().tolist()}'
    if isinstance(o, dict): return '{' + ','.join(sorted(f'{k!r}:{said(v)}' for k,v in o.items())) + '}'
    return f'{type(o).__name__}({",".join(map(said, o))})' if isinstance(o, list|tuple|set) else repr(o)

@settings(max_examples=100, deadline=None)
@given(states, states)
def test_the_first_state_and_the_differences_give_another_state(first, mine):
    own = [*find_own(mine, digests(mine), digests(first))]
    assert (not own)==(said(first)==said(mine))
    again = deepcopy(first)
    put_own(again, own, 'folder')
    assert said(again)==said(mine)
    assert said(copy_state(mine))==said(mine)

def test_a_sharded_tensor_belongs_to_all_and_is_in_no_process_alone():
    assert digests({'a':cut(1.)})==digests({'a':cut(2.)})

@pytest.mark.parametrize('own', [[['b', 'c'], 1], [['a', 'b', 'c'], 1], [[], 1], [3, 1], [['a'], 1, 2], []])
def test_a_place_that_no_state_has_is_refused(own):
    with pytest.raises(DamagedCheckpoint, match='no such place'): put_own({'a':{'b':1}}, [own], 'folder')

@pytest.mark.parametrize('how', ['twice', 'more than the file', 'another type', 'compressed', 'expanded', 'dimensions'])
def test_parts_that_do_not_make_the_tensor_are_refused(how, tmp_path):
    write(tmp_path)
    table = json.loads((tmp_path/'shards.json').read_text())
    chunks = table['w']['chunks']
    def put(part):
        f = io.BytesIO()
        torch.save(part, f)
        b = f.getvalue()
        if how=='compressed':
            g = io.BytesIO()
            with zipfile.ZipFile(f) as old, zipfile.ZipFile(g, 'w', zipfile.ZIP_DEFLATED) as new:
                for o in old.infolist(): new.writestr(o.filename, old.read(o))
            b = g.getvalue()
        (tmp_path/chunks[1]['file']).write_bytes(b'..'+b)
        chunks[1]['length'] = len(b)
    if how=='twice': table['w'] |= dict(chunks=[chunks[0] | dict(sizes=[1, 2]), chunks[0]])
    elif how=='more than the file': table['w'] |= dict(size=[10**12, 2], chunks=[chunks[0] | dict(sizes=[10**12, 2])])
    elif how=='dimensions': chunks[0] |= dict(offsets=[0])
    else: put(dict(compressed=torch.zeros(1, 2), expanded=torch.zeros(1).expand(1, 10**12)).get(how, torch.zeros(1, 2, dtype=torch.float64)))
    (tmp_path/'shards.json').write_text(json.dumps(table))
    with pytest.raises(DamagedCheckpoint): read_shards(tmp_path)
