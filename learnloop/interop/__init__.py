"Callbacks of other systems, as they are"
from learnloop.interop.core import as_cb
__all__ = ['as_cb']
