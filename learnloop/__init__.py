"The fastai-style training loop, on plain PyTorch"
__version__ = '0.1.0'

from learnloop.flow import *
from learnloop.callback import *
from learnloop.data import *
from learnloop.optimizer import *
from learnloop.learner import *
from learnloop.metrics import *
from learnloop.recorder import *
from learnloop.progress import *
from learnloop.log import *
from learnloop.hook import *
from learnloop.trace import *
