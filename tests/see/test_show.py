"`show_training_loop`: which callbacks run where, in which order and when, as text, Markdown and HTML"
from functools import partial
import pytest
from helpers import act, listener, mk_learner
from learnloop import Callback, Tracer, event, on
from learnloop.app.synth import synth_learner

def whisper(cb): "Says nothing"

def line(loop, e): return next((o.strip() for o in str(loop).splitlines() if o.strip().startswith(f'- {e}: ')), None)

def test_as_text():
    learn = mk_learner([listener('a', ['before_step', 'after_batch'], act, run_valid=False), Callback('b', after_loss=whisper)])
    text = str(learn.show_training_loop())
    assert all(o in text for o in ('- before_step: a (train)', '- after_loss: b', '- after_batch: train_eval (train), a (train)', 'loss_grad.backward()'))
    assert 'after_cancel_step' not in text and '- after_cancel_step: ' in str(learn.show_training_loop(verbose=True))
    lines = text.splitlines()
    depth = {o.strip(): len(o)-len(o.lstrip()) for o in lines}
    assert depth['fit']<depth['epoch']<depth['train']<depth['batch']<depth['step']<depth['- before_step: a (train)']
    assert 'before_step: a (train)' in learn.show_training_loop()._repr_markdown_()

def late(learn): return learn.epoch>2

@pytest.mark.parametrize('kwargs,mark', [(dict(every=10), ' (every 10)'), (dict(every=1), ''), ({}, ''), (dict(once=3), ' (once, at call 3)'),
    (dict(when=late), ' (when late)'), (dict(when=lambda learn: True), ' (when …)'), (dict(when=partial(late)), ' (when …)')])
def test_filters(kwargs, mark):
    @on(event.after_loss, **kwargs)
    def note(cb): "Notes"
    assert line(mk_learner([note]).show_training_loop(), 'after_loss')==f'- after_loss: note{mark}'
    class Note(Callback):
        @on(event.after_loss, **kwargs)
        def say(self): "Notes"
    assert line(mk_learner([Note()]).show_training_loop(), 'after_loss')==f'- after_loss: note{mark}'

def test_filters_of_those_that_stand_in():
    @on(event.before_fit, every=2)
    def setup(cb): "Sets up"
    assert 'setup (every 2)' in line(mk_learner([setup]).show_training_loop(), 'before_evaluate')

def test_callbacks_are_in_the_order_in_which_they_run():
    heard = []
    def hear(cb, e): heard.append((e, cb.name))
    cbs = [listener(nm, ['before_train', 'after_train', 'cleanup_train'], hear, order=o) for nm,o in (('a', 2), ('b', 1), ('c', 2))]
    learn = mk_learner(cbs)
    loop = learn.show_training_loop()
    learn.fit(1)
    for e in ('before_train', 'after_train', 'cleanup_train'):
        names = [nm for nm in line(loop, e).split(': ')[1].split(', ') if nm!='train_eval']
        assert names==[nm for o,nm in heard if o==e], e

def test_one_that_hears_everything_is_named_once():
    plain,traced = (str(synth_learner(cbs=o).show_training_loop()) for o in (None, Tracer()))
    head,body = plain.split('\n', 1)
    assert head=='# engines: Rewinder > FitKeeper > Steering > Plain' and traced==f'{head}\n- every event: tracer\n{body}'
    html = synth_learner(cbs=Tracer()).show_training_loop(verbose=True)._repr_html_()
    assert html.count('tracer')==1
