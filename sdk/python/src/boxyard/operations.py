"""Every operation of the API, as a function that creates a request. A client sends it with ``call`` or ``list``."""

from ._calls import Answer, Call, PagedCall
from ._generated import api
from ._generated.api import *  # noqa: F403

__all__ = ["Answer", "Call", "PagedCall"]
__all__ += api.__all__
