from typing import Any

import httpx

from ...._calls import PagedCall, unexpected_answer
from ...models.audit_entry import AuditEntry
from ...models.audit_list import AuditList
from ...types import UNSET, Unset


def list_audit(
    *,
    max_results: int | Unset = 100,
    continuation_token: str | Unset = UNSET,
    project: str | Unset = UNSET,
    actor: str | Unset = UNSET,
    operation: str | Unset = UNSET,
    status: int | Unset = UNSET,
    x_request_id: str | Unset = UNSET,
    if_none_match: str | Unset = UNSET,
) -> PagedCall[AuditList, AuditEntry]:
    """Read the audit log. Newest first. Needs a token with `admin`."""
    headers: dict[str, Any] = {}
    if not isinstance(x_request_id, Unset):
        headers["X-Request-Id"] = x_request_id

    if not isinstance(if_none_match, Unset):
        headers["If-None-Match"] = if_none_match

    params: dict[str, Any] = {}

    params["max_results"] = max_results

    params["continuation_token"] = continuation_token

    params["project"] = project

    params["actor"] = actor

    params["operation"] = operation

    params["status"] = status

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "GET",
        "url": "/v1/audit",
        "params": params,
    }

    _kwargs["headers"] = headers
    return PagedCall("list_audit", _kwargs, _parse, lambda page: page.entries)


def _parse(response: httpx.Response) -> AuditList:
    if response.status_code == 200:
        response_200 = AuditList.from_dict(response.json())

        return response_200

    raise unexpected_answer(response)
