"""Refusals of valid-looking requests that are right although the OpenAPI document's schemas allow the requests, with reasons."""

from __future__ import annotations

import re
from typing import Any

import schemathesis
from schemathesis.specs.openapi.checks import RejectedPositiveData, positive_data_acceptance

#: Code of a refusal, pattern for each fault's pointer and detail, or for its detail without faults (None: any), and why no schema can
#: express it.
RIGHT_REFUSALS = (
    ("idempotency_key_reused", None, "the key was given with another request before"),
    ("path_invalid", None, "names of more than 255 bytes, ways out of the box, and places where nothing is mounted"),
    ("invalid_request", r"/query/continuation_token: must be the next_continuation_token of a previous page", "tokens are opaque: only pages give them"),
    ("invalid_request", r"/query/path: requires exactly one of path and path_base64", "OpenAPI has no rules between parameters"),
    ("invalid_request", r"/query/since: must be .*", "cursors are opaque: only answers give them"),
    ("invalid_request", r"/query: name, shared and image are there for archives", "OpenAPI has no rules between query and body"),
    ("invalid_request", r"/query/name: is required with an archive", "OpenAPI has no rules between query and body"),
    ("invalid_request", r"/(query/)?\w+_base64: must be base64 of an absolute path", "no pattern finds a NUL in base64"),
    ("invalid_request", r"/command: must be at most [\d,]+ (characters|bytes) in all", "no schema adds up lengths"),
    ("invalid_request", r"The body is not a tar archive\.", "what bytes are is not said by a schema"),
    ("invalid_request", r"/headers/if-none-match: must be \* .*", "the pattern of this header is passed over by schemathesis"),
    ("invalid_request", r"/needs/\d+: (must be a service of the box|must not be this service)", "what the box has"),
    ("invalid_request", r"/readiness/http: needs a port of the service", "a rule between fields of different objects"),
    ("invalid_request", r"/node: must be .*", "which nodes there are"),
    ("invalid_request", r"/url: is not a URL of .*", "which hosts a box has"),
    ("precondition_failed", None, "what version the resource has"),
    ("invalid_request", r"/\w+: is read-only and differs from the current value", "what the resource has"),
)


@schemathesis.check
def refuses_valid_data_for_a_reason(ctx: Any, response: Any, case: Any) -> bool | None:
    """Runs ``positive_data_acceptance``, except that it accepts the right refusals."""
    try:
        return positive_data_acceptance(ctx, response, case)
    except RejectedPositiveData:
        problem = response.json()
        faults = [f"{fault['pointer']}: {fault['detail']}" for fault in problem.get("errors", [])] or [problem["detail"]]
        if any(_is_right(problem["code"], faults, code, form) for code, form, _ in RIGHT_REFUSALS):
            return None
        raise


def _is_right(found: str, faults: list[str], code: str, form: str | None) -> bool:
    return found == code and (form is None or all(re.fullmatch(form, fault) for fault in faults))
