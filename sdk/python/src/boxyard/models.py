"""What requests and answers are made of; a field that was not given or not answered is ``UNSET``."""

from ._generated import models
from ._generated.models import *  # noqa: F403
from ._generated.types import UNSET, File, Unset

__all__ = ["UNSET", "File", "Unset"]
__all__ += models.__all__
