"Reports: a single file that shows every kind of run, for browsers, printers and screen readers"
import json, math, re, warnings
from html.parser import HTMLParser
from pathlib import Path
import pytest, torch
from fastcore.basics import listify
from helpers import LR, Module, TRAIN, VALID, check, covering, mk_learner, mk_model, quiet, weights
from learnloop import (
    Callback, CancelFitException, CancelStepException, CheckpointCallback, CSVLogger, DataLoaders, Fingerprint, JSONLogger, Learner,
    SaveModelCallback, TensorBoardCallback, Terminated, Tracer, ValueMetric, synth_learner)
from learnloop.app.cli import write_report
from learnloop.see.page import Numbers, shown
from learnloop.see.report import KeepWarnings, _columns, _grouped, report_from, results_of
from torch import nn
from torch.nn import functional as F

VOID = {'meta','img'}
class Page(HTMLParser):
    "A page as nested lists, checked on the way: every element is closed where it should be"
    def __init__(self, text):
        super().__init__()
        self.stack,self.els = [('', {}, [])],[]
        self.feed(text)
        self.close()
        assert len(self.stack)==1, [o[0] for o in self.stack]
    def handle_starttag(self, tag, attrs):
        assert len({k for k,_ in attrs})==len(attrs), attrs
        self.els.append(el := (tag, dict(attrs), []))
        self.stack[-1][2].append(el)
        if tag not in VOID: self.stack.append(el)
    def handle_startendtag(self, tag, attrs): assert self.stack[-1][0]=='svg', f'<{tag}/> is no HTML'
    def handle_endtag(self, tag): assert self.stack.pop()[0]==tag, tag
    def handle_data(self, data): self.stack[-1][2].append(data)
    def all(self, *tags): return [o for o in self.els if o[0] in tags]
    def texts(self, *tags): return [text(o) for o in self.all(*tags)]
    def rows(self, caption):
        "Cells of the table with that caption"
        t = next(o for o in self.all('table') if text(o[2][0]).startswith(caption))
        return [[text(c) for c in r[2]] for part in t[2][1:] for r in part[2]]
    def facts(self): return {text(o[2][0]):text(o[2][1]) for o in self.all('div') if o[2] and o[2][0][0]=='dt'}

def text(el): return el if isinstance(el, str) else ''.join(map(text, el[2]))
def within(el): return [el, *(p for o in el[2] if not isinstance(o, str) for p in within(o))]

def read(path):
    "The page at `path`: a whole document, without scripts or addresses elsewhere, for all readers"
    src = path.read_text()
    assert src.startswith('<!doctype html>\n<html lang="en">') and 'DOCTYPE' not in src[20:]
    page = Page(src)
    assert not page.all('script','iframe','object','embed','link','form','base')
    for tag,attrs,_ in page.els:
        assert not [k for k in attrs if k.startswith('on')], (tag, attrs)
        for k in ('src','href','xlink:href','srcset'): assert attrs.get(k, '#')[0]=='#' or attrs[k].startswith('data:image/png;base64,'), attrs[k][:99]
    assert 'url(' not in src and '@import' not in src
    ids = [a['id'] for _,a,_ in page.els if 'id' in a]
    assert len(set(ids))==len(ids) and {a['href'][1:] for _,a,_ in page.all('a')}==set(ids)=={a['aria-labelledby'] for _,a,_ in page.all('section')}
    heads = [int(o[0][1]) for o in page.all('h1','h2','h3','h4')]
    assert heads[0]==1 and heads.count(1)==1 and all(b-a<=1 for a,b in zip(heads, heads[1:], strict=False))
    assert [len(page.all(o)) for o in ('header','nav','main','footer','time')]==[1]*5 and len([o for o in page.all('head')[0][2] if o[0]=='title'])==1
    for t in page.all('table'):
        assert t[2][0][0]=='caption' and text(t[2][0])
        n = len(t[2][1][2][0][2])
        assert all(c[1]['scope']=='col' and c[0]=='th' for c in t[2][1][2][0][2])
        for r in t[2][2][2]: assert r[2][0][1]['scope']=='row' and [c[0] for c in r[2]]==['th',*['td']*(n-1)]
    for o in page.all('svg'): assert o[1]['role']=='img' and [c[0] for c in o[2][:2]]==['title','desc'] and text(o[2][0]) and text(o[2][1])
    for o in page.all('img'): assert o[1]['alt']
    for o in page.all('div'): assert o[1].get('class')!='wide' or (o[1]['role'], o[1]['tabindex'])==('region','0') and o[1]['aria-label']
    for o in ('viewport','color-scheme'): assert any(a.get('name')==o for _,a,_ in page.all('meta'))
    assert 'prefers-color-scheme:dark' in src and '@media print' in src
    assert 'object at 0x' not in src and '&amp;lt;' not in src, 'escaped twice'
    return page

def fit(learn, n=2, **kwargs):
    with learn.no_bar(): return quiet(learn, n, **kwargs)

def decimals(s): return len(s.partition('.')[2])
def check_rows(rows, vals, n=1):
    "Do `rows`, after `n` columns, have the values `vals` of train_loss, valid_loss and l1_loss, each with as many decimals wherever it stands?"
    assert [[float(o) for o in r[n:]] for r in rows]==[[pytest.approx(v, abs=6e-5) for v in r] for r in vals]
    places = [[decimals(o) for o in r[n:]] for r in rows]
    assert len({n for r in places for n in r[:2]})==1==len({r[2] for r in places}), places

def test_the_numbers_are_the_recorders(tmp_path):
    learn = fit(synth_learner(metrics=[F.l1_loss], path=tmp_path), 3)
    page = read(learn.report())
    head,*want = page.rows('Loss and metrics')
    assert head==['epoch','train_loss','valid_loss','l1_loss'] and [o[0] for o in want]==['0','1','2']
    check_rows(want, learn.recorder.values)
    facts = page.facts()
    assert facts['Epochs']=='3' and facts['Optimizer steps']=='30' and facts['Samples']=='480' and facts['Last fit']=='finished'
    assert facts['valid_loss']==want[-1][2] and facts['Parameters']=='2'
    loss,l1 = page.all('svg')
    rec = learn.recorder
    assert f'train: 30 values, first {rec.losses[0]:.4g}, last {rec.losses[-1]:.4g}' in text(loss) and f'last {rec.values[-1][2]:.4g}' in text(l1)
    assert any(o=='lr was 0.1 in all batches.' for o in page.texts('p'))
    assert page.rows('Loaders')[1:]==[['train','DataLoader','10','16','TensorDataset','160'], ['valid','DataLoader','2','16','TensorDataset','32']]
    assert 'Not in this report' in page.texts('h2') and any('fit with a Tracer()' in o for o in page.texts('li'))

def test_a_report_has_everything_in_the_folder(tmp_path):
    def skip(learn):
        if learn.iter==1: raise CancelStepException
    def warn(learn): warnings.warn('mind the <gap>', stacklevel=1)
    saver,keep = CheckpointCallback(tmp_path/'ckpt', best=1),KeepWarnings()
    learn = synth_learner(metrics=[F.l1_loss], path=tmp_path, cbs=[Tracer(), Callback(before_step=skip), Callback(before_train=warn)])
    with pytest.warns(UserWarning, match='gap'): fit(learn, 3, cbs=[saver, keep, SaveModelCallback(fname='m')])
    saved = SaveModelCallback()
    page = read(learn.report('a/b/run.html', cbs=[saver, keep, saved], shapes=True, n_preds=3))
    assert page.rows('Warnings')[1:]==[['UserWarning', 'mind the <gap>', page.rows('Warnings')[1][2], '3']]
    assert page.rows('What was cancelled')[1]==['skip', 'CancelStepException', 'before_step', '3', 'epoch 0, batch 1', 'epoch 2, batch 1']
    phases = {o[0].strip():o for o in page.rows('Time by phase')}
    assert {'fit', *(3*i*'\xa0'+o for i,o in ((1,'epoch'), (2,'train'), (3,'batch')))}<={o[0] for o in page.rows('Time by phase')}
    assert phases['step'][1]=='30' and phases['fit'][3]=='100' and 'evaluate' not in phases, 'the predictions of the report are no part of the run'
    assert {'skip','recorder'}<={o[0] for o in page.rows('Time by callback')}
    best = min(learn.recorder.values, key=lambda o: o[1])
    said = next(o[2] for o in page.rows('Loss and') if o[0]==str(learn.recorder.values.index(best)))
    assert any(o.startswith('Best: ') and f'valid_loss {said} after' in o for o in page.texts('p'))
    assert any(f'valid_loss {said}' in o[3] for o in page.rows('Checkpoints')), 'as many decimals everywhere'
    assert len(page.rows('First items'))==4 and page.rows('Layers')[0]==['name','type','output','parameters','trainable']
    assert 'Not in this report' not in page.texts('h2')

def test_the_best_of_saved_models(tmp_path):
    learn = fit(synth_learner(path=tmp_path, cbs=SaveModelCallback()), 3)
    page,cb = read(learn.report()),learn.save_model
    s = cb.best_save
    said = page.rows('Loss and')[1+s['epoch']][2]
    assert f'Best model: {s["path"]}, with valid_loss {said} in epoch {s["epoch"]}.' in page.texts('p') and float(said)==pytest.approx(s['value'], rel=1e-3)
    assert {decimals(o[3]) for o in page.rows('Models that')[1:]}=={decimals(said)}

def never(path): return synth_learner(path=path)
def raised(path):
    def fail(learn):
        if learn.epoch==1 and learn.iter==3: raise RuntimeError('a bug')
    learn = synth_learner(path=path, cbs=[Tracer(), Callback(before_batch=fail)])
    with pytest.raises(RuntimeError, match='a bug'): fit(learn, 3)
    return learn
def interrupted(path):
    def fail(learn): raise KeyboardInterrupt
    learn = synth_learner(path=path, cbs=[Callback(before_fit=fail)])
    with pytest.raises(KeyboardInterrupt): fit(learn)
    return learn
def stopped(path):
    def stop(learn): raise CancelFitException
    return fit(synth_learner(path=path, cbs=[Callback(before_validate=stop)]))
def no_recorder(path): return fit(mk_learner(path=path))
def bare(path): return mk_learner(path=path)
def no_valid(path): return fit(Learner(TRAIN, mk_model(), F.mse_loss, torch.optim.SGD, lr=LR, path=path))
def no_train(path): return Learner(DataLoaders(None, VALID), mk_model(), F.mse_loss, path=path)
def no_length(path): return fit(Learner(DataLoaders((b for b in TRAIN), VALID), mk_model(), F.mse_loss, lr=LR, path=path), 1)
def two_opts(path):
    m = nn.Sequential(mk_model(), nn.Linear(1, 1))
    opts = dict(a=torch.optim.SGD(m[0].parameters(), lr=.1), b=torch.optim.Adam(m[1].parameters()))
    return fit(Learner(DataLoaders(TRAIN, VALID), m, F.mse_loss, opts, path=path))
def own_loss(path):
    class Own(Module):
        def __init__(self):
            self.lin = nn.Linear(2, 1)
        def forward(self, x, y): return dict(loss=F.mse_loss(p := self.lin(x), y), pred=p)
    return fit(Learner(DataLoaders(TRAIN, VALID, n_inp=2), Own(), lr=LR, path=path))
def lazy(path): return Learner(DataLoaders(TRAIN, VALID), nn.LazyLinear(1), F.mse_loss, path=path)
def no_params(path): return Learner(DataLoaders(TRAIN, VALID), nn.Identity(), F.mse_loss, path=path)
def nans(path):
    def nan(pred, y): return torch.tensor(float('nan'))
    with pytest.warns(UserWarning, match='the training loss is inf'): return fit(synth_learner(path=path, metrics=[nan], lr=1e30))
def odd_metrics(path):
    class Odd:
        def __repr__(self): return '<b>odd</b>'
    def words(pred, y): return '<i>fine</i>'
    from learnloop import Metric
    class Thing(Metric):
        name = 'thing'
        def reset(self): pass
        def accumulate(self, learn): pass
        value = property(lambda self: Odd())
    class Vec(Thing):
        name,value = 'vec',property(lambda self: torch.arange(3))
    return fit(synth_learner(path=path, metrics=[Thing(), Vec()]))
def foreign_dls(path):
    from types import SimpleNamespace
    return fit(Learner(SimpleNamespace(train=TRAIN, valid=VALID, device='cpu'), mk_model(), F.mse_loss, lr=LR, path=path))
MADE = [foreign_dls, never, raised, interrupted, stopped, no_recorder, bare, no_valid, no_train, no_length, two_opts, own_loss, lazy, no_params, nans,
    odd_metrics]

@pytest.mark.every(2)
@pytest.mark.parametrize('make', MADE, ids=lambda o: o.__name__)
def test_any_learner_has_a_report(make, tmp_path):
    learn = make(tmp_path)
    page = read(learn.report('x.html'))
    how = dict(never='not trained yet', raised='ended with an error', stopped='was stopped', bare='not trained yet', interrupted='not trained yet')
    assert page.facts()['Last fit']==how.get(make.__name__, 'finished' if learn.count.batches else 'not trained yet')
    assert ('Curves' in page.texts('h2'))==(hasattr(learn, 'recorder') and learn.count.batches>0)
    if make is raised: assert page.rows('Errors')[1][:4]==['fail', 'RuntimeError', 'before_batch', '1'] and len(page.rows('Loss and'))==2
    if make is odd_metrics: assert '<b>odd</b>' in page.rows('Loss and')[1] and 'tensor([0, 1, 2])' in page.rows('Loss and')[1]

EVIL = '<script>alert("1")</script>','"><img src=x onerror=alert(1)>',"' onload='x","</style></title><script>x",'a\x00b\ud800','&amp;','</textarea>','日本語','x'*300
@pytest.mark.every(2)
@pytest.mark.parametrize('evil', EVIL, ids=ascii)
def test_names_are_text(evil, tmp_path):
    cls = type(evil.replace('\x00', '').replace('\ud800', ''), (nn.Linear,), {})
    def metric(pred, y): return (pred-y).abs().mean()
    metric.__name__ = evil
    model = nn.Sequential()
    model.add_module(evil.replace('.', '') or 'a', cls(2, 1))
    ds = [(x[0], torch.tensor(i%2)) for i,(x,_) in enumerate(TRAIN*2)]
    learn = Learner(DataLoaders(TRAIN, VALID), model, F.mse_loss, lr=LR, metrics=[metric], path=tmp_path, cbs=[Callback(after_batch=lambda learn: None, name='evil')])
    learn.dls.vocab = [evil, 'b']
    def warn(learn): warnings.warn(evil, stacklevel=1)
    with pytest.warns(UserWarning): fit(learn, 1, cbs=[keep := KeepWarnings(), tracer := Tracer(), Callback(before_fit=warn, name=None)])
    page = read(learn.report('e.html', cbs=[keep, tracer], n_preds=2, title=evil, shapes=True))
    shown = evil.replace('\x00', '\ufffd').replace('\ud800', '\ufffd')
    assert page.texts('h1')==[shown] and shown in page.rows('Loss and')[0] and shown in page.rows('Warnings')[1][1] and len(ds)==6
    if evil.isprintable() and '.' not in evil: assert any(shown in o for o in page.rows('Layers')[1])

@pytest.mark.parametrize('kw', [{}, dict(shapes=True), dict(n_preds=4)], ids=str)
def test_the_learner_is_as_it_was(kw, tmp_path):
    model = nn.Sequential(nn.Linear(1, 4), nn.BatchNorm1d(4), nn.Dropout(), nn.Linear(4, 1))
    learn = fit(synth_learner(model=model, path=tmp_path, cbs=[Tracer()]))
    model.train()
    def state():
        plain = [weights(model), dict(vars(learn.count)), [list(o) for o in learn.recorder.values], torch.get_rng_state(), learn.opt.state_dict()]
        return plain,(list(learn.cbs), dict(learn.outcome), model.training, learn.open)
    (plain,rest),page = state(),read(learn.report(**kw))
    check(plain, state()[0])
    assert rest==state()[1] and page
    fresh = synth_learner(path=tmp_path)
    read(fresh.report())
    assert fresh._opt is None

def test_an_unwritable_path_is_an_error_before_any_work(tmp_path):
    class Loader(list):
        def __iter__(self): raise AssertionError('too late')
    learn = Learner(DataLoaders(TRAIN, Loader(VALID)), mk_model(), F.mse_loss, path=tmp_path)
    (tmp_path/'file').write_text('x')
    with pytest.raises(IsADirectoryError, match='path is .* must be a file to write, such as report.html, but this is a folder'): learn.report(tmp_path, n_preds=3)
    with pytest.raises(OSError) as e: learn.report('file/x.html', n_preds=3)
    assert 'file' in str(e.value) + ''.join(getattr(e.value, '__notes__', ())) and (tmp_path/'file').read_text()=='x'
    with pytest.raises(ValueError, match='no validation loader'): Learner(TRAIN, mk_model(), F.mse_loss, path=tmp_path).report(n_preds=1)
    assert sorted(o.name for o in tmp_path.iterdir())==['file']

def test_an_error_leaves_the_old_report(tmp_path):
    learn = synth_learner(path=tmp_path)
    old = learn.report().read_bytes()
    learn.model.forward = lambda x: 1/0
    with pytest.raises(ZeroDivisionError): learn.report(n_preds=1)
    assert (tmp_path/'report.html').read_bytes()==old and len(list(tmp_path.iterdir()))==1

@pytest.mark.parametrize('event', ['before_fit', 'after_epoch', 'before_batch', 'after_exception', 'cleanup_fit'])
def test_within_a_fit(event, tmp_path):
    def write(learn): pages.append(read(learn.report(f'{len(pages)}.html')))
    def fail(learn):
        if event=='after_exception' and learn.epoch: raise RuntimeError
    pages = []
    learn = synth_learner(path=tmp_path, n_train=2, cbs=[Tracer(), Callback(**{event:write}), Callback(after_train=fail)])
    if event=='after_exception':
        with pytest.raises(RuntimeError): fit(learn)
    else: fit(learn)
    assert pages and pages[-1].facts()['Last fit']=='going on'

def test_the_path_is_a_link_in_notebooks(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    learn = synth_learner()
    path = learn.report("a b/it's 1#.html")
    assert isinstance(path, Path) and path._repr_html_()=='<a href="a%20b/it%27s%201%23.html">a b/it&#x27;s 1#.html</a>'
    assert learn.report(tmp_path/'x.html')._repr_html_()=='<a href="x.html">x.html</a>'
    assert learn.report(tmp_path.parent/f'{tmp_path.name}x.html')._repr_html_().startswith('<a href="file:///')

def digits(n=6, c=1):
    g = torch.Generator().manual_seed(0)
    return [(torch.randn(4, c, 5, 6, generator=g), torch.randint(3, (4,), generator=g)) for _ in range(n)]

@pytest.mark.parametrize('c', [1, 3])
def test_images_of_examples(c, tmp_path):
    learn = Learner(DataLoaders(digits(c=c), digits(2, c)), nn.Sequential(nn.Flatten(), nn.Linear(30*c, 3)), F.cross_entropy, path=tmp_path)
    page = read(learn.report(n_preds=5))
    imgs = page.all('img')
    assert len(imgs)==5 and len(page.all('figcaption'))==5
    targs,preds = digits(2, c)[0][1].tolist(),learn.get_preds()[0].argmax(1).tolist()
    for i in range(4): assert imgs[i][1]['alt']==f'item {i}, predicted {preds[i]}, is {targs[i]}'
    assert [o[1].get('class')=='wrong' for o in page.all('figcaption')][:4]==[p!=t for p,t in zip(preds[:4], targs, strict=True)]

def test_large_models_are_put_together(tmp_path):
    def block(): return nn.Sequential(*[nn.Linear(2, 2) for _ in range(9)])
    model = nn.ModuleDict(dict(a=nn.Sequential(*[block() for _ in range(10)]), b=nn.Linear(2, 2)))
    page = read(Learner(DataLoaders(TRAIN, VALID), model, F.mse_loss, path=tmp_path).report())
    rows = page.rows('Layers')
    assert rows[0]==['name','type','layers','parameters','trainable'] and [o[0] for o in rows[1:]]==[*(f'a.{i}' for i in range(10)), 'b']
    assert rows[1][1:]==['Sequential','9','54','yes']
    assert len(_grouped([]))==0

# KeepWarnings
def warns(cat, msg): return lambda learn: warnings.warn(msg, cat, stacklevel=1)

def test_warnings_are_kept_and_shown():
    learn = synth_learner(cbs=[KeepWarnings(), Callback(before_fit=warns(UserWarning, 'one')), Callback(after_epoch=warns(FutureWarning, 'two'))])
    hook = warnings.showwarning
    with pytest.warns(UserWarning, match='one'), pytest.warns(FutureWarning, match='two'):
        inside = warnings.showwarning
        fit(learn, 2)
        assert warnings.showwarning==inside
    assert warnings.showwarning==hook
    assert [(o[0], o[1], o[3]) for o in learn.keep_warnings.rows]==[('UserWarning','one',1), ('FutureWarning','two',2)]
    with pytest.warns(UserWarning): warnings.warn('outside', stacklevel=1)
    assert len(learn.keep_warnings.rows)==2

def test_only_so_many_are_kept_and_they_survive_a_checkpoint():
    def many(learn):
        for i in range(5): warnings.warn(f'w{i}', stacklevel=1)
    learn = synth_learner(cbs=[KeepWarnings(most=3), Callback(before_fit=many)])
    with pytest.warns(UserWarning): fit(learn, 1)
    assert [o[1] for o in learn.keep_warnings.rows]==['w0','w1','w2']
    other = KeepWarnings()
    other.load_state_dict(json.loads(json.dumps(learn.keep_warnings.state_dict())))
    assert other.rows==learn.keep_warnings.rows

# From a folder

def test_torn_and_odd_histories(tmp_path):
    (tmp_path/'a.jsonl').write_text('{"epoch":0,"step":5,"valid_loss":"NaN","<b>":1}\n{"epoch":1,"step":10,"valid_loss":0.5}\n{"epo')
    (tmp_path/'b.csv').write_text('epoch,step,valid_loss\n0,5,0.25\n1,10,\n2,15,inf\n3')
    (tmp_path/'c.csv').write_text('name,price\n1,2\n')
    (tmp_path/'d.csv').write_bytes(bytes(range(256))*9)
    (tmp_path/'e.jsonl').write_text('[1]\n')
    (tmp_path/'f.csv').write_text('')
    (tmp_path/'g.csv').write_text('epoch,step\n')
    (tmp_path/'h.json').write_text('not json')
    page = read(report_from(tmp_path))
    assert page.texts('h2')==['History: a.jsonl','History: b.csv'] and page.rows('Loss and')[1][2:]==['nan','1']

LEFT = dict(csv=lambda d: CSVLogger(), json=lambda d: JSONLogger(), tensorboard=lambda d: TensorBoardCallback('tb'), fingerprint=lambda d: Fingerprint(),
    checkpoints=lambda d: [CSVLogger('logs/a.csv'), CheckpointCallback(d/'saved')])
@pytest.mark.every(2)
@covering(n=[2, 5], by=LEFT)
def test_a_folder_of_several_runs_is_refused(by, n, tmp_path):
    for i in range(n): fit(synth_learner(path=tmp_path/f'folds/{i}', seed=i), 1, cbs=LEFT[by](tmp_path/f'folds/{i}'))
    names = ['0/logs', '1/logs'] if by=='checkpoints' else ['0/tb', '1/tb'] if by=='tensorboard' else ['0', '1']
    for f in (lambda: report_from(tmp_path/'folds'), lambda: write_report(tmp_path/'folds', as_json=True)):
        with pytest.raises(ValueError, match=f'holds {n} runs: {", ".join(names)}.*: learnloop compare .*folds'): f()
    assert not (tmp_path/'folds/report.html').exists() and report_from(tmp_path/'folds/1').exists()

@pytest.mark.parametrize('gz', ['', '.gz'])
def test_a_trace(gz, tmp_path):
    learn = fit(synth_learner(path=tmp_path, cbs=[Tracer()]))
    learn.trace.save(tmp_path/f'trace.json{gz}')
    (tmp_path/'other.json').write_text('{"traceEvents": [{"name":"x","ph":"X","ts":0,"dur":1,"pid":0,"tid":0}]}')
    page = read(report_from(tmp_path))
    assert f'Time: trace.json{gz}' in page.texts('h2') and {o[0].strip():o[1] for o in page.rows('Time by phase')}['step']=='20'

BAD = {'a.csv':b'epoch,step,valid_loss\n0,,1.0\n', 'b.csv':b'epoch,step,valid_loss\n0,1,"'+b'9'*200_000+b'"\n', 'c.jsonl':b'{"epoch":{},"step":[],"loss":1}\n',
    'd.jsonl':b'['*100_000, 'e.json.gz':b'not gzip', 'f.csv':None, 'g.json':b'{"traceEvents":[{"args":{"name":"phases and callbacks"}}],"learnloop":{"format":1}}'}
def test_one_damaged_file_is_no_reason_to_do_without_the_others(tmp_path):
    fit(synth_learner(path=tmp_path), 2, cbs=CSVLogger())
    for nm,data in BAD.items(): (tmp_path/nm).symlink_to('/nowhere') if data is None else (tmp_path/nm).write_bytes(data)
    page = read(report_from(tmp_path))
    assert page.texts('h2')==['History: history.csv', 'Not read', 'Settings', 'Versions'] and len(page.rows('Loss and'))==3
    told = [o.removeprefix(f'{tmp_path}/').split(':')[0] for o in page.texts('li') if str(tmp_path) in o]
    assert sorted(told)==sorted(BAD)
    (tmp_path/'history.csv').unlink()
    assert read(report_from(tmp_path)).texts('h2')==['Not read', 'Settings', 'Versions']
    (tmp_path/'run.json').unlink()
    with pytest.raises(FileNotFoundError, match='nothing to report; not read: .*a.csv: KeyError'): report_from(tmp_path)

NOTED = dict(csv=lambda d: CSVLogger(), fingerprint=lambda d: Fingerprint(), tensorboard=lambda d: TensorBoardCallback('logs'), checkpoints=CheckpointCallback,
    all=lambda d: [CSVLogger(), Fingerprint(), TensorBoardCallback('logs'), CheckpointCallback(d/'saved')])
@pytest.mark.every(2)
@pytest.mark.parametrize('epoch,by', [(i, o) for i in (0, 1) for o in NOTED if i or o!='checkpoints'])  # before the first step none is saved
def test_a_failure_is_reported_from_any_file(epoch, by, tmp_path):
    def fail(cb):
        if cb.learn.epoch==epoch: raise ValueError('boom')
    with pytest.raises(ValueError): fit(synth_learner(path=tmp_path), cbs=[*listify(NOTED[by](tmp_path)), Callback(after_loss=fail)])
    page = read(report_from(tmp_path))
    assert 'It ended with ValueError: boom' in page.texts('h2') and page.facts()['Epochs']==f'{epoch}'

def test_groups_of_optimizers_can_be_told_apart(tmp_path):
    learn = fit(Learner(DataLoaders(TRAIN, VALID), mk_model(), F.mse_loss, lr=LR, opt_func=torch.optim.AdamW, path=tmp_path), 1)
    learn.set_hypers(wd=.1)
    groups = [o.split(':')[0] for o in read(learn.report()).texts('li') if o.startswith('group')]
    assert groups==['group 0', 'group 0, no decay']
    model = nn.Sequential(nn.Linear(1, 2), nn.Linear(2, 1))
    opts = dict(body=torch.optim.SGD(model[0].parameters(), .1), head=torch.optim.Adam(model[1].parameters(), .2))
    page = read(Learner(DataLoaders(TRAIN, VALID), model, F.mse_loss, opt_func=opts, path=tmp_path).report())
    assert {k:v for k,v in page.facts().items() if k.startswith('Optimizer ')}=={'Optimizer body':'SGD', 'Optimizer head':'Adam', **{k:v for k,v in page.facts().items() if k=='Optimizer steps'}}
    assert [o.split(':')[0] for o in page.texts('li') if o.startswith('group')]==['group 0', 'group 0']

def test_nothing_to_report(tmp_path):
    with pytest.raises(FileNotFoundError, match='has no files of a run: no run.json, no history'): report_from(tmp_path)
    with pytest.raises(FileNotFoundError, match='no such folder'): report_from(tmp_path/'nowhere')
    (tmp_path/'f').write_text('')
    with pytest.raises(NotADirectoryError, match='is a file'): report_from(tmp_path/'f')
    assert [o.name for o in tmp_path.iterdir()]==['f']

@pytest.mark.parametrize('name,better,best', [('mae', 'less', 'lowest 1'), ('euros', 'less', 'lowest 1'), ('my_loss', 'more', 'highest 3'), ('abs_dev', None, None)])
def test_point_24_the_best_is_the_best(tmp_path, name, better, best):
    vals = iter([2., 1., 3.])
    learn = mk_learner(path=tmp_path, defaults=True, metrics=ValueMetric(lambda: next(vals), name, better))
    fit(learn, 3, cbs=CSVLogger())
    for page in (learn.report(), report_from(tmp_path)):
        texts = read(page).texts('p', 'li', 'td', 'dd', 'div', 'span')
        said = [o for o in texts if re.search(r'(lowest|highest) \S+ in epoch', o)]
        assert any('lowest' in o for o in said), 'of the losses'
        assert any(best in o for o in said) if best else not any(name in o for o in said)

def test_which_way_a_part_of_a_loss_is_better_is_not_guessed(tmp_path):
    def loss(pred, y): return dict(mse=F.mse_loss(pred, y), spread=pred.std())
    learn = fit(Learner(DataLoaders(TRAIN, VALID), mk_model(), loss, torch.optim.SGD, lr=LR, denominator='batches'))
    assert learn.recorder.parts==['train_mse', 'valid_mse', 'train_spread', 'valid_spread']
    series = {k:[(i, i, v) for i,v in enumerate(vs)] for k,vs in _columns(learn.recorder).items()}
    assert {k for k,o in results_of(series, learn.recorder.directions).items() if o['best'] is not None}=={'train_loss','valid_loss'}

# ---- what ended a run

def card(page):
    "Title, facts, advice and traceback of what is on top; None if there is nothing"
    found = [o for o in page.all('div') if o[1].get('class')=='top']
    if not found: return None
    top, = found
    assert page.els.index(top)<min(page.els.index(o) for o in page.els if o[1].get('class')=='cards'), 'it is seen first'
    of = lambda tag: [text(o) for o in within(top) if o[0]==tag]
    return of('h2')[0],dict(zip(of('dt'), of('dd'), strict=True)),of('li'),''.join(of('pre'))

class Boom(Callback):
    def __init__(self, e): self.e = e
    def after_loss(self):
        if self.learn.epoch==1 and self.learn.iter==4: raise self.e

def failing(path, e=None, cbs=(), **kwargs):
    learn = synth_learner(path=path)
    e = e or ValueError('odd <b>batch</b>')
    with pytest.raises(type(e)): fit(learn, 3, cbs=[Boom(e), *cbs], **kwargs)
    return learn

def test_a_report_shows_the_kept_predictions(tmp_path):
    learn = failing(tmp_path, keep_failed=True, cbs=[saver := CheckpointCallback(tmp_path/'c', every_steps=5), tracer := Tracer()])
    said = ' '.join(card(read(learn.report(cbs=[saver, tracer])))[2])
    assert 'learn.replay_batch()' in said and 'learn.resume()' in said and 'keep_failed' not in said
    assert f"resume='{tmp_path/'c'}') resumes from step 1" in said and 'Boom raised ValueError in after_loss' in said
    with pytest.raises(ValueError): learn.replay_batch()
    assert card(read(learn.report()))[0]=='It ended with ValueError: odd <b>batch</b>', 'a replay leaves all as it is'

@pytest.mark.parametrize('e,said', [(KeyboardInterrupt(), 'interrupted, by Ctrl-C'), (SystemExit(3), 'called sys.exit'), (Terminated(), 'SIGTERM')], ids=str)
def test_an_interrupt_is_named(e, said, tmp_path):
    learn = failing(tmp_path, e, cbs=[CSVLogger()])
    for path in (learn.report(), report_from(tmp_path, tmp_path/'folder.html')):
        page = read(path)
        assert said in card(page)[0] and card(page)[1]['When']=='epoch 1, batch 4 of training'
        assert {page.facts().get('Last fit'), page.facts().get('The run')}=={None, 'was interrupted'}

def test_an_error_outside_of_callbacks_has_its_phase(tmp_path):
    learn = synth_learner(path=tmp_path)
    learn.model.forward = lambda x: 1/0
    with pytest.raises(ZeroDivisionError): fit(learn)
    assert card(read(learn.report()))[1]['Raised by']=='the loop itself, in the batch phase'

@pytest.mark.parametrize('secs,said', [(.25, '250 ms'), (75, '1 min 15 s'), (7300, '2 h 2 min')])
def test_the_duration_has_units(secs, said, tmp_path):
    learn = fit(synth_learner(path=tmp_path))
    learn.recorder._seconds = secs
    assert read(learn.report()).facts()['Duration']==said

def test_one_number_of_decimals():
    for vals,said in (([2.5, .1234567, .0051], ['2.500000', '0.123457', '0.005100']), ([1., .5], ['1.0', '0.5']), ([3, 20], ['3', '20']), ([0., 0.], ['0', '0']),
        ([1e-12, 1.], ['1.0000e-12', '1.0000e+00']), ([12345.678, 1000.5], ['12346', '1000']), ([math.nan, .25], ['nan', '0.25']), ([], [])):
        num = Numbers(dict(train_a=vals))
        assert [shown(num.cell('valid_a', v)) for v in vals]==said, vals
    assert [num.cell('b', o) for o in (None, 'x', True)]==[None, 'x', True] and shown(num.cell('b', 1/3))=='0.33333'
