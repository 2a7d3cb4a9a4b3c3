"""
A typed client of Boxyard, a self-hosted box service.

``Boxyard`` blocks, and ``AsyncBoxyard`` is awaited. ``boxyard.operations`` has every operation of the API, ``boxyard.models`` their inputs
and outputs, and ``boxyard.errors`` their errors by code.
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
