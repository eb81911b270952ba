"The demo splits its digits into training and validation set"
from learnloop.app import demo

def test_digits_are_split_without_overlap():
    dls = demo.digits(bs=100)
    train,valid = dls.train_ds,dls.valid_ds
    assert len(train)==1438 and len(valid)==359 and not set(train.indices)&set(valid.indices)
    assert valid.indices==demo.digits().valid_ds.indices!=demo.digits(seed=1).valid_ds.indices
