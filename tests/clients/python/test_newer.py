"""Answers of a service that is newer than the SDK: real answers, plus values and fields that this SDK does not know."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from boxyard import ApiError
from boxyard.models import BoxStatus, FileEntryType, Permission
from boxyard.operations import get_box, get_me, get_version, list_boxes, list_events, list_files
from given import Given, both

Change = Callable[[Any], Any]


class Newer(httpx.BaseTransport, httpx.AsyncBaseTransport):
    """A transport that changes the service's answers to those a newer service sends."""

    def __init__(self, change: Change) -> None:
        self._change = change
        self._ways = (httpx.HTTPTransport(), httpx.AsyncHTTPTransport())

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        answer = self._ways[0].handle_request(request)
        return self._renew(answer, answer.read())

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        answer = await self._ways[1].handle_async_request(request)
        return self._renew(answer, await answer.aread())

    def _renew(self, answer: httpx.Response, content: bytes) -> httpx.Response:
        headers = {key: value for key, value in answer.headers.items() if key not in {"content-length", "transfer-encoding"}}
        return httpx.Response(answer.status_code, headers=headers, json=self._change(json.loads(content)))


def newer(given: Given, change: Change) -> Any:
    kind = httpx.Client if given.kind == "blocking" else httpx.AsyncClient
    return given.other_yard(http_client=kind(transport=Newer(change), timeout=300), attempts=1)


def add_fields(value: Any) -> Any:
    """Adds a new field to each object."""
    if isinstance(value, list):
        return [add_fields(each) for each in value]
    if not isinstance(value, dict):
        return value
    # Names given by a project or a program are not fields.
    return {**{key: add_fields(each) for key, each in value.items()}, "new_field": {"new": ["value"]}}


def put(path: str, new: Any) -> Change:
    """Puts a value at a path such as ``a/b``. ``*`` means each element."""

    def change(value: Any, names: list[str] | None = None) -> Any:
        first, *rest = re.split("/", path) if names is None else names
        if first == "*":
            return [change(each, rest) if rest else new for each in value]
        return {**value, first: change(value[first], rest) if rest else new}

    return change


@both
async def test_a_value_that_is_not_known_is_a_plain_text(given: Given) -> None:
    box = await newer(given, put("status", "hibernated")).call(get_box(given.project, "web"))
    assert (type(box.status), box.status) == (str, "hibernated")
    assert box.to_dict()["status"] == "hibernated"
    assert box.status not in list(BoxStatus)

    me = await newer(given, put("permissions", ["read", "paint"])).call(get_me())
    assert me.permissions == [Permission.READ, "paint"]
    assert [type(each) for each in me.permissions] == [Permission, str]

    entries = await newer(given, put("files/*/type", "portal")).call(list_files(given.project, "web", path="/etc"))
    assert {entry.type_ for entry in entries.files} == {"portal"}

    version = await newer(given, put("api_version", "v2")).call(get_version())
    assert version.api_version == "v2"


@both
async def test_a_value_that_is_known_is_of_its_class(given: Given) -> None:
    assert (await given.yard.call(get_box(given.project, "web"))).status is BoxStatus.RUNNING
    entries = (await given.yard.call(list_files(given.project, "web", path="/etc"))).files
    assert entries
    assert all(isinstance(entry.type_, FileEntryType) for entry in entries)


@both
async def test_fields_that_are_not_known_are_kept(given: Given) -> None:
    box = await newer(given, add_fields).call(get_box(given.project, "web"))
    assert (box.name, box["new_field"], box.config["new_field"]) == ("web", {"new": ["value"]}, {"new": ["value"]})
    names = [each.name async for each in newer(given, add_fields).list(list_boxes(given.project))]
    assert names == ["web"]


@both
async def test_events_of_types_that_are_not_known_come(given: Given) -> None:
    yard = newer(given, lambda page: add_fields(put("events/*/type", "box.painted")(page)))
    page = await yard.call(list_events(given.project))
    assert {event.type_ for event in page.events} == {"box.painted"}
    async for event in yard.events(given.project):
        assert (event.type_, event["new_field"]) == ("box.painted", {"new": ["value"]})
        break


@both
async def test_a_refusal_with_a_code_that_is_not_known_is_an_api_error(given: Given) -> None:
    with pytest.raises(ApiError) as caught:
        await newer(given, put("code", "too_colourful")).call(get_box(given.project, "none"))
    assert (type(caught.value), caught.value.code, caught.value.status) == (ApiError, "too_colourful", 404)
