"""Requests of the API as values. The functions of ``boxyard.operations`` create them, and a client sends them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Generic, Protocol, TypeVar

import httpx

from ._errors import ApiError
from ._problems import to_api_error, unexpected

T_co = TypeVar("T_co", covariant=True)
I_co = TypeVar("I_co", covariant=True)


class Page(Protocol):
    """A page of a list of any length."""

    has_more: bool
    next_continuation_token: str | None


P = TypeVar("P", bound=Page)


@dataclass(frozen=True)
class Call(Generic[T_co]):
    """A request of one operation, whose answer is a ``T_co``."""

    #: Name of the operation, such as ``create_box``.
    operation: str
    #: Arguments of ``httpx.Client.build_request``. ``url`` is a path.
    request: Mapping[str, Any]
    parse: Callable[[httpx.Response], T_co]

    def __post_init__(self) -> None:
        """
        Checks the names in the path. A URL drops the segments ``.`` and ``..`` (RFC 3986, 5.2.4), so such a name would reach another
        resource. Raises ``ValueError`` for these and for an empty name.
        """
        for segment in self.request["url"].removeprefix("/").split("/"):
            if segment in ("", ".", ".."):
                raise ValueError(f'"{segment}" is not a name: {self.operation}')

    @property
    def query(self) -> dict[str, str | list[str]]:
        """The query as text, in the form that a ticket takes."""
        params: Mapping[str, Any] = self.request.get("params") or {}
        return {key: [_text_of(each) for each in value] if isinstance(value, list) else _text_of(value) for key, value in params.items()}

    def with_content(self, content: Any, content_type: str) -> Call[T_co]:
        """The same request with these bytes as its body."""
        headers = {**self.request.get("headers", {}), "Content-Type": content_type}
        return replace(self, request={**self.request, "content": content, "headers": headers})


class PagesSeen:
    """The pages of one list so far, which detect a list without an end."""

    def __init__(self) -> None:
        """Starts before the first page."""
        self._tokens: set[str] = set()
        self._empty = 0

    def add(self, token: str, *, is_empty: bool) -> None:
        """Records a page's link to the next. Raises ``ApiError`` for a repeated token, and after too many empty pages."""
        self._empty = self._empty + 1 if is_empty else 0
        if token in self._tokens:
            raise unexpected(200, "The list does not end. The service sent the same continuation token twice.")
        if self._empty >= _EMPTY_PAGES:
            raise unexpected(200, f"The list does not end. {_EMPTY_PAGES} pages in a row were empty.")
        self._tokens.add(token)


@dataclass(frozen=True)
class PagedCall(Call[P], Generic[P, I_co]):
    """A request of a page of a list whose elements are ``I_co``."""

    items: Callable[[P], list[I_co]]

    def after(self, page: P, known: PagesSeen) -> PagedCall[P, I_co] | None:
        """The request of the next page, or None after the last. Raises ``ApiError`` for pages that would never end."""
        token = page.next_continuation_token if page.has_more else None
        if token is None:
            return None
        known.add(token, is_empty=not self.items(page))
        params = {**self.request.get("params", {}), "continuation_token": token}
        return replace(self, request={**self.request, "params": params})


@dataclass(frozen=True)
class Answer(Generic[T_co]):
    """An answer with its status and headers."""

    status: int
    headers: httpx.Headers
    body: T_co


def unexpected_answer(response: httpx.Response) -> ApiError:
    """Creates the error of an answer that the document does not describe."""
    return to_api_error(response.status_code, response.content)


def _text_of(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


#: In a row, from a service that has filtered all of them.
_EMPTY_PAGES = 100
