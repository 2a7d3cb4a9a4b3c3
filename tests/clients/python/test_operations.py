"""Compares the OpenAPI document with its Python counterpart."""

import inspect
import re
from typing import Any

import httpx
import pytest

from boxyard import errors, operations
from boxyard._generated.error_classes import ERROR_CLASSES
from boxyard._generated.marks import OPERATIONS
from boxyard.errors import ApiError
from boxyard.models import UNSET
from boxyard.operations import Call, PagedCall
from given import service

DOCUMENT: dict[str, Any] = httpx.get(f"{service().url}/openapi.json").json()
ALL: list[tuple[str, str, dict[str, Any]]] = [
    (path, method, operation) for path, methods in DOCUMENT["paths"].items() for method, operation in methods.items()
]


def snake_case(name: str) -> str:
    return re.sub(r"[A-Z]", lambda letter: f"_{letter[0].lower()}", name)


def test_there_is_nothing_else() -> None:
    names = {snake_case(operation["operationId"]) for _, _, operation in ALL}
    assert set(operations.__all__) - {"Answer", "Call", "PagedCall"} == names
    assert set(OPERATIONS) == names


@pytest.mark.parametrize(("path", "method", "operation"), ALL, ids=lambda each: each["operationId"] if isinstance(each, dict) else "")
def test_an_operation_takes_and_gives_what_the_document_says(path: str, method: str, operation: dict[str, Any]) -> None:
    name = snake_case(operation["operationId"])
    make = getattr(operations, name)
    signature = inspect.signature(make)
    assert OPERATIONS[name] == (operation["operationId"], operation["x-boxyard-retry"])

    taken = {re.sub(r"\W", "_", each["name"].lower()) for each in operation["parameters"]} - {"sec_websocket_protocol"}
    if "requestBody" in operation:
        taken.add("body")
    assert {each.rstrip("_") for each in signature.parameters} == taken
    assert all(each.annotation not in (Any, inspect.Parameter.empty) for each in signature.parameters.values())

    answer = signature.return_annotation.__args__[0]
    kinds = {kind for status, each in operation["responses"].items() if status < "300" for kind in each.get("content", {})}
    assert (answer is type(None)) == (not kinds)
    assert answer is not Any

    places = re.findall(r"{(\w+)}", path)
    rest = {each.name: UNSET for each in signature.parameters.values() if each.kind is each.KEYWORD_ONLY and each.name != "command"}
    if "body" in rest:
        rest["body"] = _Body()  # type: ignore[assignment]
    if "command" in signature.parameters:
        rest["command"] = ["true"]  # type: ignore[assignment]
    call = make(*[f"a {place}/" for place in places], **rest)
    assert isinstance(call, Call)
    assert call.operation == name
    assert call.request["method"] == method.upper()
    assert call.request["url"] == re.sub(r"{(\w+)}", r"a%20\1%2F", path)
    is_list = any(each["name"] == "continuation_token" for each in operation["parameters"])
    assert isinstance(call, PagedCall) == is_list


def test_every_error_code_has_a_class() -> None:
    for code in DOCUMENT["components"]["schemas"]["ErrorCode"]["enum"]:
        kind = getattr(errors, "".join(part.title() for part in code.split("_")) + "Error")
        assert issubclass(kind, ApiError)
        assert ERROR_CLASSES[code] is kind


class _Body:
    """Represents any body."""

    payload = b""

    def to_dict(self) -> dict[str, object]:
        return {}


@pytest.mark.parametrize("name", ["", ".", ".."])
def test_a_name_that_would_lead_to_another_resource_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="is not a name"):
        operations.delete_box("demo", name)
    with pytest.raises(ValueError, match="is not a name"):
        operations.list_boxes(name)
