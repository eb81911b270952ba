"A schedule, early stopping and a checkpoint of the best, which is loaded again: the Keras model and its callbacks stay"
import os, tempfile
os.environ['KERAS_BACKEND'] = 'torch'
import keras, torch
from keras import layers
from learnloop import DataLoaders, Learner, accuracy
from learnloop.interop.keras import KerasModel
from sklearn.datasets import load_digits
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

keras.utils.set_random_seed(0)
x,y = load_digits(return_X_y=True)
x,y = torch.tensor(x/16).float().reshape(-1, 8, 8, 1),torch.tensor(y)
train,valid = TensorDataset(x[:700], y[:700]),TensorDataset(x[700:], y[700:])
dls = DataLoaders(DataLoader(train, 64), DataLoader(valid, 64), device='cpu')

model = keras.Sequential([keras.Input((8, 8, 1)), layers.Conv2D(8, 3, activation='relu'),
    layers.BatchNormalization(momentum=.9), layers.Flatten(), layers.Dense(10)])
learn = Learner(dls, KerasModel(model), F.cross_entropy, torch.optim.SGD, metrics=accuracy)

best = os.path.join(tempfile.mkdtemp(), 'best.keras')
warmup = keras.callbacks.LearningRateScheduler(lambda epoch, lr: .1*min(1, (epoch+1)/3)*.9**epoch)
stop = keras.callbacks.EarlyStopping('val_loss', patience=2, min_delta=.02)
checkpoint = keras.callbacks.ModelCheckpoint(best, 'val_accuracy', save_best_only=True)
learn.fit(30, cbs=[warmup, stop, checkpoint])
model.load_weights(best)
print('stopped after epoch', stop.stopped_epoch, learn.validate())
print('losses:', *stop.model.history.history['val_loss'])
