"""Errors by their codes: ``box_not_found`` is a ``BoxNotFoundError``, and all are ``ApiError``."""

from ._errors import ApiError, ConnectionError, RequestFault  # noqa: A004
from ._generated.error_classes import *  # noqa: F403
from ._generated.error_classes import __all__ as _names

__all__ = ("ApiError", "ConnectionError", "RequestFault", *_names)
