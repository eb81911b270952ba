"Run callbacks of other systems unchanged"
from learnloop.interop.core import as_cb, coverage
import learnloop.interop.names  # noqa: F401  tells what other systems' names are called here
__all__ = ['as_cb', 'coverage']
