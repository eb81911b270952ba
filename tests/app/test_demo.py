"That the demo does what it promises"
from learnloop.app import demo

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
