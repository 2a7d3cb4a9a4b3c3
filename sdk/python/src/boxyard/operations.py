"""Every operation of the API: functions that make requests, which a client sends by ``call`` or ``list``."""

from ._calls import Answer, Call, PagedCall
from ._generated.api import *  # noqa: F403
from ._generated.api import __all__ as _names

__all__ = ("Answer", "Call", "PagedCall", *_names)
