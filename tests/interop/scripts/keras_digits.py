"Classify digits, with metrics and a log as CSV"
import csv, os, tempfile
os.environ['KERAS_BACKEND'] = 'torch'
import keras, numpy as np
from keras import layers
from sklearn.datasets import load_digits

x,y = load_digits(return_X_y=True)
x = (x/16).astype('float32')
train,valid = (x[:1400], y[:1400]),(x[1400:], y[1400:])

model = keras.Sequential([keras.Input((64,)), layers.Dense(32, activation='relu'), layers.Dense(10)])
model.compile(keras.optimizers.Adam(.01, epsilon=1e-8), metrics=['accuracy'],
    loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True))
rng = np.random.default_rng(0)
model.set_weights([rng.uniform(-.2, .2, w.shape) for w in model.weights])

log = os.path.join(tempfile.mkdtemp(), 'log.csv')
model.fit(*train, batch_size=64, epochs=5, validation_data=valid, shuffle=False, verbose=2,
    callbacks=[keras.callbacks.CSVLogger(log)])
print(model.evaluate(*valid, verbose=0, return_dict=True))
with open(log) as f: rows = [*csv.DictReader(f)]
print('losses:', *[float(o['val_loss']) for o in rows])
