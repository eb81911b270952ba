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

def __getattr__(name):
    "Tell what a name of another system is called here"
    import dis, sys
    def _advice(): return called_here('class', name) or did_you_mean(name, [o for o in globals() if o[0]!='_'])
    f = sys._getframe(1)
    # Python replaces an AttributeError of `from learnloop import name` by an error of its own
    if dis.opname[f.f_code.co_code[f.f_lasti]]=='IMPORT_FROM':
        raise ImportError(f"cannot import name {name!r} from 'learnloop' ({__file__}){_advice()}", name=name, path=__file__)
    raise NoAttribute(f"module 'learnloop' has no attribute {name!r}", None if name[:1]=='_' else _advice)
