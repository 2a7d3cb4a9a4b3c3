"""What goes wrong: refusals of the API, and a service that is not reached."""

from __future__ import annotations

import builtins
from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class RequestFault:
    """A fault of a request, found where ``pointer`` (RFC 6901) leads."""

    pointer: str
    detail: str


class ApiError(Exception):
    """A refusal by the API. Each code has a class of its own; one that this version does not know is a plain ``ApiError``."""

    def __init__(self, status: int, problem: Mapping[str, object], body: object) -> None:
        """Takes what a problem (RFC 9457) says; whoever else answered, such as a proxy, has code ``unexpected_answer``."""
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
        #: The body of the answer, parsed where it is JSON.
        self.body = body

    def __reduce__(self) -> tuple[type[ApiError], tuple[int, Mapping[str, object], object]]:
        """Lets it pass between processes."""
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
