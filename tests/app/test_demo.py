"That the demo does what it promises"
import learnloop
from learnloop import Learner
from learnloop.app import demo
from torch.nn import functional as F

def test_demo_gets_98_percent(tmp_path, capsys):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    learn = demo.demo(folder=tmp_path)
    assert learn.final_record[-1]>=.98
    assert f'Validation accuracy: {learn.final_record[-1]:.2%}' in capsys.readouterr().out
    log = EventAccumulator(str(learn.tensor_board.log_dir)).Reload()
    assert len(log.Scalars('loss'))==len(learn.recorder.lrs)==10*23

def test_digits_are_split_without_overlap():
    dls = demo.digits(bs=100)
    train,valid = dls.train_ds,dls.valid_ds
    assert len(train)==1438 and len(valid)==359 and not set(train.indices)&set(valid.indices)
    assert valid.indices==demo.digits().valid_ds.indices!=demo.digits(seed=1).valid_ds.indices

def test_figure_marks_what_is_wrong_in_colour_and_text():
    learn = Learner(demo.digits(), demo.cnn(width=2), F.cross_entropy, metrics=learnloop.accuracy)
    with learn.no_logging(): learn.fit(1)
    targs = learn.get_preds()[1]
    logits = F.one_hot(targs)*.1
    logits[[7,99,300]] = logits[[7,99,300]].roll(1, 1)*100  # wrong, and sure of it
    learn.get_preds = lambda: (logits, targs)
    fig = demo.plot_fit(learn)
    main,preds = fig.axes[:3],fig.axes[3:]
    assert [o.get_title().split()[0] for o in main]==['Loss', 'Validation', 'Learning'] and all(o.get_xlabel() and o.get_ylabel() for o in main)
    wrong = preds[:3]
    assert {o.get_title() for o in wrong}=={f'{(targs[i]+1)%10} (is {targs[i]})' for i in (7, 99, 300)}
    assert all(o.title.get_color()=='crimson' and o.spines.left.get_visible() for o in wrong)
    assert not any(o.spines.left.get_visible() or '(is' in o.get_title() for o in preds[3:])
