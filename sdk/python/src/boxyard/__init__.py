"""
A typed client of Boxyard, a self-hosted box service.

``Boxyard`` blocks, ``AsyncBoxyard`` is awaited. Every operation of the API is in ``boxyard.operations``, what they take and give in
``boxyard.models``, and their refusals by code in ``boxyard.errors``.
"""

from ._async_box import AsyncBoxHandle
from ._async_client import AsyncBoxyard
from ._async_driver import AsyncByteStream
from ._async_streams import AsyncPortStream, AsyncTerminalStream
from ._errors import ApiError, ConnectionError, RequestFault
from ._sync_box import BoxHandle
from ._sync_client import Boxyard
from ._sync_driver import ByteStream
from ._sync_streams import PortStream, TerminalStream
from ._terminal import ExecEnd, OutputPiece

__all__ = (
    "ApiError",
    "AsyncBoxHandle",
    "AsyncBoxyard",
    "AsyncByteStream",
    "AsyncPortStream",
    "AsyncTerminalStream",
    "BoxHandle",
    "Boxyard",
    "ByteStream",
    "ConnectionError",
    "ExecEnd",
    "OutputPiece",
    "PortStream",
    "RequestFault",
    "TerminalStream",
)
