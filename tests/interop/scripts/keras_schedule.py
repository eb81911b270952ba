"A schedule, early stopping and a checkpoint of the best, which is loaded again"
import os, tempfile
os.environ['KERAS_BACKEND'] = 'torch'
import keras
from keras import layers
from sklearn.datasets import load_digits

keras.utils.set_random_seed(0)
x,y = load_digits(return_X_y=True)
x = (x/16).astype('float32').reshape(-1, 8, 8, 1)
train,valid = (x[:700], y[:700]),(x[700:], y[700:])

model = keras.Sequential([keras.Input((8, 8, 1)), layers.Conv2D(8, 3, activation='relu'),
    layers.BatchNormalization(momentum=.9), layers.Flatten(), layers.Dense(10)])
model.compile('sgd', keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=['accuracy'])

best = os.path.join(tempfile.mkdtemp(), 'best.keras')
warmup = keras.callbacks.LearningRateScheduler(lambda epoch, lr: .1*min(1, (epoch+1)/3)*.9**epoch)
stop = keras.callbacks.EarlyStopping('val_loss', patience=2, min_delta=.02)
checkpoint = keras.callbacks.ModelCheckpoint(best, 'val_accuracy', save_best_only=True)
history = model.fit(*train, batch_size=64, epochs=30, validation_data=valid, shuffle=False, verbose=2,
    callbacks=[warmup, stop, checkpoint])
model = keras.saving.load_model(best)
print('stopped after epoch', stop.stopped_epoch, model.evaluate(*valid, verbose=0))
print('losses:', *history.history['val_loss'])
