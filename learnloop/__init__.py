"The fastai-style training loop, on plain PyTorch"
__version__ = '0.1.0'

from learnloop.flow import *
from learnloop.callback import *
from learnloop.show import *
from learnloop.chart import *
from learnloop.data import *
from learnloop.optimizer import *
from learnloop.learner import *
from learnloop.metrics import *
from learnloop.recorder import *
from learnloop.progress import *
from learnloop.log import *
from learnloop.hook import *
from learnloop.trace import *
from learnloop.synth import *
from learnloop.losses import *
from learnloop.saving import *
from learnloop.interpret import *
from learnloop.tensorboard import *
from learnloop.schedule import *
from learnloop.tracker import *
from learnloop.training import *
from learnloop.averaging import *
from learnloop.precision import *
from learnloop.mixup import *
from learnloop.rnn import *
from learnloop.limits import *
from learnloop.throughput import *
from learnloop.storage import *
from learnloop.checkpoint import *
from learnloop.interrupt import *
from learnloop.report import *
from learnloop.interop import as_cb
