"The page of a comparison: self-contained, with correct numbers, for any runs"
import json
from html.parser import HTMLParser
import pytest, torch
from helpers import mk_learner, quiet
from learnloop import Callback, CSVLogger, EMA, GradientClip, Recorder, Tracer, mae
from learnloop.app.cli import main
from learnloop.see.compare import Comparison, compare
from learnloop.see.page import sort_script

def run_in(folder, n=3, cbs=(), logger=CSVLogger, **kwargs):
    learn = mk_learner([Recorder(), *([logger()] if logger else []), *cbs], path=folder, metrics=mae, **kwargs)
    return quiet(learn, n)

def leave(folder, **columns):
    folder.mkdir(parents=True, exist_ok=True)
    rows = [f'{i},{10*i+10},'+','.join(map(str, r)) for i,r in enumerate(zip(*columns.values(), strict=True))]
    (folder/'history.csv').write_text('\n'.join([f'epoch,step,{",".join(columns)}', *rows, '']))

class Tables(HTMLParser):
    "Cells by row, of each table by its caption; of each cell its text and what it is sorted by"
    def __init__(self, src):
        super().__init__()
        self.tables,self.at,self.scripts,self.tags = {},None,[],[]
        self.feed(src)
    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag in ('caption','th','td','script'): self.at,self.key,self.text = tag,dict(attrs).get('data-v'),''
        if tag=='caption': self.rows = []
        if tag=='tr': self.rows.append([])
    def handle_data(self, s):
        if self.at: self.text += s
    def handle_endtag(self, tag):
        if tag=='caption': self.tables[self.text] = self.rows
        if tag in ('th','td'): self.rows[-1].append((self.text, self.key))
        if tag=='script': self.scripts.append(self.text)
        if tag==self.at: self.at = None

def page_of(c, tmp_path):
    src = c.save(tmp_path/'out'/'c.html').read_text()
    return src,Tables(src)

def texts(rows): return [[t.strip() for t,_ in r] for r in rows]

def test_numbers_are_those_of_the_runs(tmp_path):
    learns = {f'{lr}':run_in(tmp_path/f'{lr}', lr=lr) for lr in (.01, .1)}
    c = compare(tmp_path)
    _,page = page_of(c, tmp_path)
    head,*rows = page.tables['Metrics, best and last']
    assert [t for t,_ in head]==['run', *(f'{k}, {w}' for k in ('valid_loss','train_loss','mae') for w in ('best','at','last'))]
    for (name,_),*cells in rows:
        rec = learns[name].recorder
        for k,(best,at,last) in zip(('valid_loss','train_loss','mae'), zip(*[iter(cells)]*3, strict=True), strict=True):
            vals = [r[rec.columns.index(k)] for r in rec.values]
            assert float(best[1])==pytest.approx(min(vals), rel=1e-5) and float(last[1])==pytest.approx(vals[-1], rel=1e-5)
            assert (at[0], int(at[1]))==(f'epoch {vals.index(min(vals))}', vals.index(min(vals)))
    run,value = c.best()
    assert value==min(o.results['valid_loss']['best'] for o in c.runs) and run.name in page.tables['Runs'][1][0][0]+page.tables['Runs'][2][0][0]

def test_settings_that_differ_and_only_those(tmp_path):
    torch.manual_seed(0)
    run_in(tmp_path/'a', lr=.1, cbs=[EMA(.9)])
    torch.manual_seed(0)
    run_in(tmp_path/'b', lr=.2, cbs=[GradientClip(1.)])
    c = compare(tmp_path)
    assert c.differing()=={'optimizer.lr':[.1, .2], 'callbacks.ema.class':['EMA', None], 'callbacks.gradient_clip.class':[None, 'GradientClip']}
    head,*rows = texts(page_of(c, tmp_path)[1].tables['Settings that differ'])
    assert head==['setting', 'a', 'b']
    assert sorted(rows)==[['callbacks.ema.class', 'EMA', ''], ['callbacks.gradient_clip.class', '', 'GradientClip'], ['optimizer.lr', '0.1', '0.2']]

def test_no_history_at_all(tmp_path):
    (tmp_path/'run.json').write_text('{"version": 1, "state": "failed", "error": "OSError: x"}')
    src,page = page_of(compare(tmp_path), tmp_path)
    assert 'No run has a history' in src and 'OSError: x' in src and compare(tmp_path).best()==(None, None)

def test_text_that_is_markup_is_text(tmp_path):
    bad = '<script>alert(1)</script>"&'
    folder = tmp_path/'x<b>'
    leave(folder, **{'valid_loss':[1], bad.replace('"', '').replace('/', ''):[2]})
    (folder/'run.json').write_text(json.dumps(dict(version=1, state=bad, error=bad, facts={'a':{bad:bad}})))
    leave(tmp_path/'y', valid_loss=[2])
    (tmp_path/'y'/'run.json').write_text(json.dumps(dict(version=1, state='done', facts={'a':{bad:1}})))
    src,page = page_of(compare(tmp_path), tmp_path)
    assert page.scripts==[sort_script()] and '<b>' not in src and src.count('<script')==1
    assert 'srcdoc' in compare(tmp_path)._repr_html_() and '<script' not in compare(tmp_path)._repr_html_()

def test_cost_of_callbacks(tmp_path):
    class Slow(Callback):
        def after_batch(self): sum(range(20_000))
    run_in(tmp_path/'a', cbs=[Tracer(), Slow()])
    run_in(tmp_path/'b')
    head,*rows = page_of(compare(tmp_path), tmp_path)[1].tables['Time that callbacks took']
    assert [r[0][0].strip() for r in rows]==['a'] and 'slow' in [t for t,_ in head] and float(dict(zip([t for t,_ in head], rows[0], strict=True))['slow'][1])>0

def test_from_a_shell(tmp_path, capsys, monkeypatch):
    for i in range(2): leave(tmp_path/'runs'/f'r{i}', valid_loss=[1+i])
    monkeypatch.chdir(tmp_path)
    main(['compare', 'runs/*'])
    assert capsys.readouterr().out=='Comparison: compare.html; open it in any browser\n' and (tmp_path/'compare.html').is_file()
    main(['compare', 'runs/r0', 'runs/r1', '-o', 'sub/x.html', '--by', 'valid_loss'])
    assert (tmp_path/'sub/x.html').is_file()
    capsys.readouterr()
    main(['runs', 'runs'])
    assert [o.split()[0] for o in capsys.readouterr().out.splitlines()]==['run', 'r0', 'r1']
    for args,msg in ((['runs', 'nowhere'], "pattern is 'nowhere'"), (['compare', 'runs', '--by', 'x'], "by is 'x'"), (['compare', 'runs', '-o', 'runs'], 'is a folder')):
        with pytest.raises(SystemExit) as e: main(args)
        assert e.value.code==1 and msg in capsys.readouterr().err

def test_in_print(tmp_path):
    leave(tmp_path/'a', valid_loss=[1])
    c = compare(tmp_path, title='Mine')
    assert isinstance(c, Comparison) and repr(c)==repr(c.runs) and c.title=='Mine'
