"""Errors: error responses of the API, and an unreachable service."""

from __future__ import annotations

import builtins
from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class RequestFault:
    """A fault of a request. ``pointer`` (RFC 6901) leads to it."""

    pointer: str
    detail: str


class ApiError(Exception):
    """An error response of the API. Each code has its own class, and a code that this version does not know is a plain ``ApiError``."""

    def __init__(self, status: int, problem: Mapping[str, object], body: object) -> None:
        """Takes the fields of a problem (RFC 9457). An answer of another server, such as a proxy, has the code ``unexpected_answer``."""
        detail = _text_or(problem.get("detail"), f"The service answered with status {status}.")
        super().__init__(detail)
        self.detail = detail
        self.status = status
        self.code = _text_or(problem.get("code"), "unexpected_answer")
        self.request_id: str | None = _text_or(problem.get("request_id"), "") or None
        #: Whether the same request may succeed later.
        self.retryable = problem.get("retryable") is True
        #: Faults of the request, only with ``invalid_request``.
        self.errors: Sequence[RequestFault] = _faults_of(problem.get("errors"))
        #: The body of the answer, parsed if it is JSON.
        self.body = body

    def __reduce__(self) -> tuple[type[ApiError], tuple[int, Mapping[str, object], object]]:
        """Makes it picklable, so that it can pass between processes."""
        problem = {"detail": self.detail, "code": self.code, "request_id": self.request_id, "retryable": self.retryable}
        faults = [{"pointer": each.pointer, "detail": each.detail} for each in self.errors]
        return type(self), (self.status, {**problem, "errors": faults}, self.body)


class ConnectionError(builtins.ConnectionError):
    """The service could not be reached, or a stream to it broke off and cannot be resumed."""


def _text_or(value: object, fallback: str) -> str:
    return value if isinstance(value, str) else fallback


def _faults_of(value: object) -> list[RequestFault]:
    faults = value if isinstance(value, list) else []
    return [RequestFault(str(each.get("pointer")), str(each.get("detail"))) for each in faults if isinstance(each, dict)]
