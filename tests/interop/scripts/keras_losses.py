"One body, two heads and two losses: which digit it is, and how much ink there is"
import os
os.environ['KERAS_BACKEND'] = 'torch'
import keras, numpy as np
from keras import layers
from sklearn.datasets import load_digits

x,y = load_digits(return_X_y=True)
x = (x/16).astype('float32')
targets = dict(digit=y, ink=x.mean(1, keepdims=True))

inputs = keras.Input((64,))
body = layers.Dense(32, activation='relu')(inputs)
model = keras.Model(inputs, dict(digit=layers.Dense(10, name='digit')(body), ink=layers.Dense(1, name='ink')(body)))
loss = dict(digit=keras.losses.SparseCategoricalCrossentropy(from_logits=True), ink='mse')
model.compile(keras.optimizers.SGD(.02, momentum=.9), loss, loss_weights=dict(digit=1., ink=2.))
rng = np.random.default_rng(0)
model.set_weights([rng.uniform(-.2, .2, w.shape) for w in model.weights])

history = model.fit(x[:1400], {k:v[:1400] for k,v in targets.items()}, batch_size=64, epochs=5, shuffle=False,
    validation_data=(x[1400:], {k:v[1400:] for k,v in targets.items()}), verbose=2)
preds = model.predict(x[1400:], verbose=0)
print('right', (preds['digit'].argmax(1)==y[1400:]).mean())
print('losses:', *history.history['val_loss'])
