"""Types of requests and answers. A field that is missing in a request or an answer is ``UNSET``."""

from ._generated import models
from ._generated.models import *  # noqa: F403
from ._generated.types import UNSET, File, Unset

__all__ = ["UNSET", "File", "Unset"]
__all__ += models.__all__
