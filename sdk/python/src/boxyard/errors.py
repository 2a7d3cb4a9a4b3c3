"""Errors by code. ``box_not_found`` is a ``BoxNotFoundError``, and each is an ``ApiError``."""

from ._errors import ApiError, ConnectionError, RequestFault
from ._generated import error_classes
from ._generated.error_classes import *  # noqa: F403

__all__ = ["ApiError", "ConnectionError", "RequestFault"]
__all__ += error_classes.__all__
